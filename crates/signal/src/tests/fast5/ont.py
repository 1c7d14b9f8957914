"""What ont_fast5_api finds in multi-read FAST5 files.

Arguments: files. Output, tab-separated, a line for each read: its id, samples, their CRC32, the four
numbers of its channel as the bits of a float, its channel, run and start time.
"""
import struct
import sys
import zlib

from ont_fast5_api.fast5_interface import get_fast5_file

def bits(number):
    return struct.pack(">d", number).hex()


def text(value):
    return value.decode() if isinstance(value, bytes) else value


for name in sys.argv[1:]:
    with get_fast5_file(name, mode="r") as file:
        assert type(file).__name__ == "MultiFast5File", type(file)
        for read in sorted(file.get_reads(), key=lambda read: read.read_id):
            signal = read.get_raw_data()
            channel = read.get_channel_info()
            raw = read.handle["Raw"].attrs
            numbers = [channel[key] for key in ("digitisation", "offset", "range", "sampling_rate")]
            print(read.read_id, len(signal), zlib.crc32(signal.tobytes()), *map(bits, numbers),
                  int(channel["channel_number"]), text(read.run_id), int(raw["start_time"]),
                  sep="\t")

"""What ont_fast5_api finds in multi-read FAST5 files.

Arguments: files. Output, tab-separated, a line for each read: its id, samples, their CRC32, the four
numbers of its channel, its channel, run and start time.
"""
import sys
import zlib

from ont_fast5_api.fast5_interface import get_fast5_file

for name in sys.argv[1:]:
    with get_fast5_file(name, mode="r") as file:
        assert type(file).__name__ == "MultiFast5File", type(file)
        for read in sorted(file.get_reads(), key=lambda read: read.read_id):
            signal = read.get_raw_data()
            channel = read.get_channel_info()
            raw = read.handle["Raw"].attrs
            numbers = [channel[key] for key in ("digitisation", "offset", "range", "sampling_rate")]
            print(read.read_id, len(signal), zlib.crc32(signal.tobytes()), *map(repr, map(float, numbers)),
                  channel["channel_number"].decode(), read.run_id.decode(), int(raw["start_time"]),
                  sep="\t")

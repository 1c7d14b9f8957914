"""Does with slow5lib, through pyslow5 and through the library inside of it, what standard input says.

One command a line, fields separated by tabs:
  convert FROM TO FORMAT RECORD SIGNAL   slow5_convert: format 1 text, 2 binary; methods by number
  index FILE                             slow5_idx_create: FILE.idx
  dump FILE                              all reads, a line each, to standard output, then "."
  write FILE RECORD SIGNAL GROUPS        a file of made-up reads by pyslow5; their lines as of dump
  decode FILE TIMES                      CPU seconds to decode all records so many times, in C
Floating-point numbers are dumped as their bytes, so that nothing is lost.
"""

import ctypes
import struct
import sys
import time

import numpy
import pyslow5

LIBRARY = ctypes.CDLL(pyslow5.__file__)
LIBC = ctypes.CDLL(None)


class Methods(ctypes.Structure):
    _fields_ = [("record", ctypes.c_uint32), ("signal", ctypes.c_uint32)]


for name, result, arguments in [
    ("slow5_open", ctypes.c_void_p, [ctypes.c_char_p, ctypes.c_char_p]),
    ("slow5_close", ctypes.c_int, [ctypes.c_void_p]),
    ("slow5_idx_create", ctypes.c_int, [ctypes.c_void_p]),
    ("slow5_get_next", ctypes.c_int, [ctypes.c_void_p, ctypes.c_void_p]),
    ("slow5_rec_free", None, [ctypes.c_void_p]),
    ("slow5_convert", ctypes.c_int, [ctypes.c_void_p, ctypes.c_void_p, ctypes.c_int, Methods]),
]:
    function = getattr(LIBRARY, name)
    function.restype, function.argtypes = result, arguments
LIBC.fopen.restype, LIBC.fopen.argtypes = ctypes.c_void_p, [ctypes.c_char_p, ctypes.c_char_p]
LIBC.fclose.argtypes = [ctypes.c_void_p]


PATHS = []  # slow5_open keeps the pointer


def opened(path):
    PATHS.append(path.encode())
    handle = LIBRARY.slow5_open(PATHS[-1], b"r")
    if not handle:
        raise SystemExit(f"slow5_open fails for {path}")
    return handle


def convert(source, target, kind, record, signal):
    handle, out = opened(source), LIBC.fopen(target.encode(), b"w")
    outcome = LIBRARY.slow5_convert(handle, out, int(kind), Methods(int(record), int(signal)))
    LIBC.fclose(out)
    LIBRARY.slow5_close(handle)
    if outcome != 0:
        raise SystemExit(f"slow5_convert gives {outcome} for {source} to {target}")


def index(path):
    handle = opened(path)
    if LIBRARY.slow5_idx_create(handle) < 0:
        raise SystemExit(f"slow5_idx_create fails for {path}")
    LIBRARY.slow5_close(handle)


def bits(value, code):
    return "nan" if value != value else struct.pack(code, value).hex()


def shown(value, kind):
    """A value as text; kinds are slow5lib's: 8 float, 9 double, 12 more for arrays, 22 string."""
    if kind == 22:
        return value
    if kind > 11:
        return ",".join(shown(one, kind - 12) for one in value)
    if kind in (8, 9):
        return bits(value, "<f" if kind == 8 else "<d")
    return str(value)


def line(record, names, kinds):
    floats = [record[key] for key in ("digitisation", "offset", "range", "sampling_rate")]
    fields = [record["read_id"], str(record["read_group"])] + [bits(x, "<d") for x in floats]
    signal = record["signal"]
    fields += [str(len(signal)), ",".join(map(str, signal.tolist()))]
    # pyslow5 does not read arrays of enums (kind 23).
    fields += [shown(record[name], kind) for name, kind in zip(names, kinds) if kind != 23]
    return "\t".join(fields)


def dump(path):
    file = pyslow5.Open(path, "r")
    names, kinds = file.get_aux_names(), file.get_aux_types()
    for record in file.seq_reads(aux="all" if names else None):
        print(line(record, names, kinds))
    print(".")


def write(path, record, signal, groups):
    names = ["channel_number", "median_before", "read_number", "start_mux", "start_time", "end_reason"]
    kinds = [22, 9, 2, 4, 7, 11]
    labels = ["unknown", "partial", "mux_change", "unblock_mux_change"]
    file = pyslow5.Open(path, "w", rec_press=record, sig_press=signal)
    for group in range(int(groups)):
        header = {"asic_id": "7", "run_id": f"run{group}"}
        file.write_header(header, read_group=group, end_reason_labels=labels)
    random = numpy.random.default_rng(5)
    for number in range(12):
        read, extra = file.get_empty_record(aux=True)
        samples = 9 + number * 211
        signal_now = numpy.clip(random.normal(500, 60, samples), 0, 2047).astype(numpy.int16)
        if number == 3:
            signal_now = random.integers(-32768, 32767, samples, dtype=numpy.int16)
        if number == 4:
            signal_now = signal_now * numpy.int16(8)
        read.update(read_id=f"read_{number}", read_group=number % int(groups), digitisation=8192.0,
                    offset=5.25, range=1467.61, sampling_rate=4000.0,
                    len_raw_signal=samples, signal=signal_now)
        extra.update(channel_number=f"ch{number}", median_before=number / 7, read_number=-number,
                     start_mux=number, start_time=number << 40, end_reason=number % 4)
        print(line({**read, **extra}, names, kinds))
        file.write_record(read, extra)  # which changes both
    file.close()
    print(".")


def decode(path, times):
    seconds, reads = 0.0, 0
    for _ in range(int(times)):
        handle, record = opened(path), ctypes.c_void_p()
        get_next, reference = LIBRARY.slow5_get_next, ctypes.byref(record)
        start = time.process_time()
        while get_next(reference, handle) == 0:
            reads += 1
        seconds += time.process_time() - start
        LIBRARY.slow5_rec_free(record)
        LIBRARY.slow5_close(handle)
    print(f"{seconds}\t{reads}")


for command in sys.stdin:
    name, *arguments = command.rstrip("\n").split("\t")
    globals()[name](*arguments)
    sys.stdout.flush()

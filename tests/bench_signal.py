"""Makes the reads of the benchmark of raw signal, and measures. bench_signal.sh calls it.

  replicate FROM TO MB      uncompressed BLOW5 to as many MB of samples, under new read ids
  measure SEQLOOM DIR THREADS ROUNDS [WORDS]   WORDS: only the rows that have them
  slow5lib next|get FILE THREADS LIST    reads all reads; prints wall and CPU seconds
  ont FILE                                 as above, through ont-fast5-api

slow5lib is the one inside of pyslow5, called in C by ctypes: one call a read, or one a batch, so
that no Python object is made of any read. seqloom is measured as a whole process, start and index
included; slow5lib from slow5_open on, which leaves out what Python needs to start.
"""

import ctypes
import os
import resource
import struct
import subprocess
import sys
import time
import uuid
from pathlib import Path

BATCH_READS = 1000  # of slow5lib's own batches; slow5tools' default is 4096, blue-crab's 1000


# Making

def replicate(source, target, mb):
    """BLOW5 records without compression: length (u64), length of the id (u16), id, the rest."""
    data = Path(source).read_bytes()
    header_end = 68 + struct.unpack_from("<I", data, 64)[0]
    header, body, at = data[:header_end], [], header_end
    while data[at:] != b"5WOLB":
        (size,) = struct.unpack_from("<Q", data, at)
        body.append(data[at + 8 : at + 8 + size])
        at += 8 + size
    goal, made, copy = int(mb) << 20, 0, 0
    with open(target, "wb") as out:
        out.write(header)
        while made < goal:
            for number, record in enumerate(body):
                (id_size,) = struct.unpack_from("<H", record)
                name = str(uuid.uuid5(uuid.NAMESPACE_OID, f"{copy} {number}")).encode()
                record = struct.pack("<H", len(name)) + name + record[2 + id_size :]
                out.write(struct.pack("<Q", len(record)) + record)
                made += len(record)
            copy += 1
        out.write(b"5WOLB")


# Other people's programs, in a process of their own

class Batch(ctypes.Structure):
    """slow5_batch_t of slow5lib's slow5_mt.h."""

    _fields_ = [
        ("n_rec", ctypes.c_int32),
        ("capacity_rec", ctypes.c_int32),
        ("mem_records", ctypes.c_void_p),
        ("mem_bytes", ctypes.c_void_p),
        ("slow5_rec", ctypes.c_void_p),
        ("rid", ctypes.c_void_p),
    ]


def library():
    import pyslow5

    lib = ctypes.CDLL(pyslow5.__file__)
    pointer, integer = ctypes.c_void_p, ctypes.c_int
    batch = ctypes.POINTER(Batch)
    for name, result, arguments in [
        ("slow5_open", pointer, [ctypes.c_char_p, ctypes.c_char_p]),
        ("slow5_idx_load", integer, [pointer]),
        ("slow5_get_next", integer, [pointer, pointer]),
        ("slow5_get", integer, [ctypes.c_char_p, pointer, pointer]),
        ("slow5_init_mt", pointer, [integer, pointer]),
        ("slow5_init_batch", batch, [integer]),
        ("slow5_get_next_batch", integer, [pointer, batch, integer]),
        ("slow5_get_batch", integer, [pointer, batch, pointer, integer]),
    ]:
        function = getattr(lib, name)
        function.restype, function.argtypes = result, arguments
    return lib


def slow5lib(how, path, threads, ids):
    lib, threads = library(), int(threads)
    ids = [line.encode() for line in Path(ids).read_text().split()]
    path = path.encode()
    wall, cpu = time.perf_counter(), time.process_time()
    file = lib.slow5_open(path, b"r")
    if how == "get" and lib.slow5_idx_load(file) != 0:
        raise SystemExit("slow5_idx_load fails")
    reads = 0
    if threads == 1:
        record = ctypes.c_void_p()
        at = ctypes.byref(record)
        if how == "next":
            while lib.slow5_get_next(at, file) == 0:
                reads += 1
        else:
            for name in ids:
                reads += lib.slow5_get(name, at, file) == 0
    else:
        team, batch = lib.slow5_init_mt(threads, file), lib.slow5_init_batch(BATCH_READS)
        if how == "next":
            while reads < len(ids):  # asked for more at the end of the file, it fails
                got = lib.slow5_get_next_batch(team, batch, BATCH_READS)
                if got <= 0:
                    break
                reads += got
        else:
            for start in range(0, len(ids), BATCH_READS):
                some = ids[start : start + BATCH_READS]
                names = (ctypes.c_char_p * len(some))(*some)
                reads += lib.slow5_get_batch(team, batch, names, len(some))
    print(time.perf_counter() - wall, time.process_time() - cpu, reads)


def ont(path):
    from ont_fast5_api.fast5_interface import get_fast5_file

    wall, cpu, reads = time.perf_counter(), time.process_time(), 0
    with get_fast5_file(path, mode="r") as file:
        for read in file.get_reads():
            read.get_raw_data()
            reads += 1
    print(time.perf_counter() - wall, time.process_time() - cpu, reads)


# Measuring

def child(command):
    """Wall and CPU seconds of a process and its children."""
    before, wall = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
    done = subprocess.run(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
    wall, after = time.perf_counter() - wall, resource.getrusage(resource.RUSAGE_CHILDREN)
    if done.returncode != 0:
        raise SystemExit(f"{command}: {done.stderr.decode()[-500:]}")
    cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return wall, cpu


def asked(arguments, reads):
    """What this script says in a process of its own, run as one of the two above."""
    command = [sys.executable, __file__, *arguments]
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    if done.returncode != 0:
        raise SystemExit(f"{command}: {done.stderr[-500:]}")
    wall, cpu, got = done.stdout.split()
    if int(got) != reads:
        raise SystemExit(f"{command}: {got} of {reads} reads")
    return float(wall), float(cpu)


def tasks(seqloom, folder, threads, reads):
    """Groups of (label, what runs it); ours first."""
    ids = f"{folder}/shuffled.txt"
    counts = [1, threads] if threads > 1 else [1]
    for name, methods in [
        ("zlib-svb", "zlib svb-zd"), ("zstd-svb", "zstd svb-zd"), ("zstd-ex", "zstd ex-zd")
    ]:
        file = f"{folder}/{name}.blow5"
        record, signal = methods.split()
        said = f"BLOW5 {record}+{signal}"
        for count in counts:
            run = ["--quiet", "-t", str(count)]
            decode = [seqloom, "signal", "check", "--full", file, *run]
            get = [seqloom, "signal", "get", file, "--list", ids, "-c", record, "-s", signal,
                   "--to", "blow5", "-o", "/dev/null", *run]
            yield f"decode {said}, {count} thread{'s' * (count > 1)}", [
                ("seqloom", lambda decode=decode: child(decode)),
                ("slow5lib", lambda a=("slow5lib", "next", file, str(count), ids): asked(a, reads)),
            ]
            yield f"every read by id, shuffled, {said}, {count} thread{'s' * (count > 1)}", [
                ("seqloom", lambda get=get: child(get)),
                ("slow5lib", lambda a=("slow5lib", "get", file, str(count), ids): asked(a, reads)),
            ]
    file = f"{folder}/multi.fast5"
    decode = [seqloom, "signal", "check", "--full", file, "--quiet", "-t", "1"]
    yield "decode multi FAST5 (deflate), 1 thread", [
        ("seqloom", lambda: child(decode)),
        ("ont-fast5-api", lambda: asked(("ont", file), reads)),
    ]
    pod5, run = f"{folder}/reads.pod5", ["-t", str(threads)]
    crab = str(Path(sys.executable).parent / "blue-crab")
    for record, ours_by in [("zlib", "zlib"), ("zlib", "zlib-fast"), ("zstd", "zstd")]:
        how = [pod5, "-s", "svb-zd", *run]
        ours = [seqloom, "signal", "convert", *how, "-c", ours_by, "-o", f"{folder}/ours.blow5"]
        theirs = [crab, "p2s", *how, "-c", record, "-o", f"{folder}/theirs.blow5"]

        def blue_crab(command=theirs):
            Path(f"{folder}/theirs.blow5").unlink(missing_ok=True)
            return child(command)

        yield f"POD5 to BLOW5 {ours_by}+svb-zd, {threads} threads", [
            ("seqloom", lambda command=[*ours, "--quiet"]: child(command)), ("blue-crab", blue_crab)
        ]


def sizes(folder):
    raw = os.path.getsize(f"{folder}/raw.blow5")
    print("\n| file | MB | of the samples' bytes |\n|---|---:|---:|")
    for name, said in [
        ("raw.blow5", "BLOW5 without compression"), ("multi.fast5", "multi FAST5, deflate"),
        ("zlib-svb.blow5", "BLOW5 zlib+svb-zd"), ("zstd-svb.blow5", "BLOW5 zstd+svb-zd"),
        ("zstd-ex.blow5", "BLOW5 zstd+ex-zd"), ("reads.pod5", "POD5 (VBZ), by blue-crab"),
    ]:
        size = os.path.getsize(f"{folder}/{name}")
        print(f"| {said} | {size / 1e6:.1f} | {size / raw:.3f} |")


def measure(seqloom, folder, threads, rounds, words=""):
    threads, rounds = int(threads), int(rounds)
    reads = len(Path(f"{folder}/shuffled.txt").read_text().split())
    raw_mb = os.path.getsize(f"{folder}/raw.blow5") / 1e6
    print(f"{reads:,} reads, {raw_mb:,.0f} MB of samples, {threads} threads at most, the least of "
          f"{rounds} rounds.\n")
    print("| what | program | CPU s | wall s | CPU, ours = 1 |\n|---|---|---:|---:|---:|")
    for what, programs in tasks(seqloom, folder, threads, reads):
        if words not in what:
            continue
        best = {}
        for _ in range(rounds):
            for name, run in programs:
                wall, cpu = run()
                old = best.get(name, (wall, cpu))
                best[name] = min(wall, old[0]), min(cpu, old[1])
        ours = best["seqloom"][1]
        for name, (wall, cpu) in best.items():
            print(f"| {what} | {name} | {cpu:.2f} | {wall:.2f} | {cpu / ours:.2f} |", flush=True)
            what = ""
    if not words:
        sizes(folder)


if __name__ == "__main__":
    command, *arguments = sys.argv[1:]
    {"replicate": replicate, "measure": measure, "slow5lib": slow5lib, "ont": ont}[command](*arguments)

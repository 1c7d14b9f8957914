"""Five columns of a BAM file, by seqloom, pysam, polars-bio and oxbow: seconds, medians in turn.

    python python/bench_columns.py FILE.bam [--threads 2] [--rounds 5]

Each is run in a process of its own that reads name, reference, start, mapq and flag of every
record, and counts the rows. What is not installed is left out. pysam's loop makes a tuple of each record.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import statistics
import subprocess
import sys
import time

# The package that is installed, not its source beside this file, which lacks what the build adds.
sys.path[:] = [it for it in sys.path if os.path.abspath(it) != os.path.dirname(__file__)]

COLUMNS = ["name", "reference", "start", "mapq", "flag"]


def seqloom(path: str, threads: int) -> int:
    import seqloom as package

    batches = package.read_bam(path, columns=COLUMNS, threads=threads)
    return sum(it.num_rows for it in batches)


def seqloom_polars(path: str, threads: int) -> int:
    import polars as pl

    import seqloom as package

    lazy = package.scan_bam(path, columns=COLUMNS, threads=threads)
    # Every column is looked at, and none is kept.
    nulls = (pl.col(it).is_null().sum() for it in COLUMNS)
    return int(lazy.select(pl.len(), *nulls).collect()["len"][0])


def pysam(path: str, threads: int) -> int:
    import pysam as package

    rows = 0
    with package.AlignmentFile(path, "rb", threads=threads) as source:
        for it in source:
            place = (it.reference_name, it.reference_start)
            row = (it.query_name, *place, it.mapping_quality, it.flag)
            rows += len(row) > 0
    return rows


def pysam_one_thread(path: str, threads: int) -> int:
    return pysam(path, 1)


def polars_bio(path: str, threads: int) -> int:
    import polars as pl
    import polars_bio as package

    package.set_option("datafusion.execution.target_partitions", str(threads))
    lazy = package.scan_bam(path)
    columns = ["name", "chrom", "start", "mapping_quality", "flags"]
    nulls = (pl.col(it).is_null().sum() for it in columns)
    return int(lazy.select(columns).select(pl.len(), *nulls).collect()["len"][0])


def oxbow(path: str, threads: int) -> int:
    import oxbow as package

    fields = ["qname", "rname", "pos", "mapq", "flag"]
    source = package.from_bam(path, fields=fields, tag_defs=[])
    return sum(it.num_rows for it in source.batches())


READERS = {it.__name__: it for it in (
    seqloom, seqloom_polars, pysam, pysam_one_thread, polars_bio, oxbow,
)}


def measured(name: str, path: str, threads: int) -> dict[str, float] | None:
    """Rows, wall and processor seconds, and the largest memory of one reader."""
    line = [sys.executable, __file__, path, f"--threads={threads}", f"--only={name}"]
    # polars has a pool of threads of its own.
    done = subprocess.run(line, capture_output=True, text=True,
                          env={**os.environ, "POLARS_MAX_THREADS": str(threads)})
    if done.returncode:
        print(f"{name}: {done.stderr.strip().splitlines()[-1:]}", file=sys.stderr)
        return None
    told: dict[str, float] = json.loads(done.stdout.splitlines()[-1])
    return told


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("path")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--only", choices=READERS)
    options = parser.parse_args()
    if options.only:
        start = time.perf_counter()
        rows = READERS[options.only](options.path, options.threads)
        wall = time.perf_counter() - start
        own, children = (resource.getrusage(it) for it in
                         (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
        cpu = sum(it.ru_utime + it.ru_stime for it in (own, children))
        peak = own.ru_maxrss + children.ru_maxrss
        print(json.dumps({"rows": rows, "wall_s": wall, "cpu_s": cpu, "peak_mib": peak / 1024}))
        return
    found: dict[str, list[dict[str, float]]] = {name: [] for name in READERS}
    for _ in range(options.rounds):
        for name, runs in found.items():
            told = measured(name, options.path, options.threads)
            if told:
                runs.append(told)
    base = statistics.median(it["wall_s"] for it in found["seqloom"])
    print("reader\trows\twall_s\tcpu_s\tpeak_MiB\twall, seqloom = 1")
    for name, runs in found.items():
        if runs:
            wall, cpu, peak = (statistics.median(it[key] for it in runs)
                               for key in ("wall_s", "cpu_s", "peak_mib"))
            numbers = f"{wall:.2f}\t{cpu:.2f}\t{peak:.0f}\t{wall / base:.2f}"
            print(f"{name}\t{runs[0]['rows']:.0f}\t{numbers}")


if __name__ == "__main__":
    main()

"""What a Python thread still does while `seqloom.align` runs on another core.

    python python/bench_gil.py REF.fa R1.fq [R2.fq] [--rounds 5]

A loop counts for as long as `align(threads=1)` takes, and as long without it, in turn. Prints the
rates and the median of their ratios: 1 if the interpreter's lock is never held by the run.
"""

from __future__ import annotations

import argparse
import os
import statistics
import sys
import tempfile
import threading
import time

# The package that is installed, not its source beside this file, which lacks what the build adds.
sys.path[:] = [it for it in sys.path if os.path.abspath(it) != os.path.dirname(__file__)]

import seqloom


def rate(until: threading.Event) -> float:
    """Counts a second, of this thread."""
    start, counted = time.perf_counter(), 0
    while not until.is_set():
        counted += 1
    return counted / (time.perf_counter() - start)


def beside(reference: str, reads: list[str]) -> tuple[float, float]:
    """The rate beside a run, and the seconds that it took."""
    done = threading.Event()
    with tempfile.TemporaryDirectory() as folder:

        def work() -> None:
            try:
                seqloom.align(reference, *reads, output=f"{folder}/out.bam", threads=1)
            finally:
                done.set()

        worker, start = threading.Thread(target=work), time.perf_counter()
        worker.start()
        counted = rate(done)
        worker.join()
        return counted, time.perf_counter() - start


def alone(seconds: float) -> float:
    """The rate beside a thread that sleeps."""
    done = threading.Event()
    timer = threading.Timer(seconds, done.set)
    timer.start()
    counted = rate(done)
    timer.join()
    return counted


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("reference")
    parser.add_argument("reads", nargs="+")
    parser.add_argument("--rounds", type=int, default=5)
    options = parser.parse_args()
    ratios = []
    print("beside_per_s\talone_per_s\tratio")
    for _ in range(options.rounds):
        with_run, seconds = beside(options.reference, options.reads)
        without = alone(seconds)
        ratios.append(with_run / without)
        print(f"{with_run:.0f}\t{without:.0f}\t{ratios[-1]:.3f}", flush=True)
    print(f"median ratio {statistics.median(ratios):.3f}")


if __name__ == "__main__":
    main()

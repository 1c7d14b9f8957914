"""How much two threads of one process decode, against two processes of one thread.

    python python/bench_signal.py READS.blow5 [--rounds 5] [--times 40]

In turn; prints the ratios and their median: 1 if the interpreter's lock is never held by a decoder.
"""

from __future__ import annotations

import argparse
import statistics
import subprocess
import sys
import time

#: Decodes all reads of a file so many times and prints how long that took.
WORK = """
import sys, threading, time
from seqloom import _native
path, times, threads = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
store = _native.SignalStore(path)
ids = store.read_ids()

def work():
    for _ in range(times):
        for read_id in ids:
            store.get([read_id], 1)

workers = [threading.Thread(target=work) for _ in range(threads)]
sys.stdin.readline()
start = time.perf_counter()
[it.start() for it in workers]
[it.join() for it in workers]
print(time.perf_counter() - start)
"""


def measured(path: str, processes: int, threads: int, times: int) -> float:
    """Reads a second, relative: what all do in the time that the last one takes."""
    line = [sys.executable, "-c", WORK, path, str(times), str(threads)]
    running = [subprocess.Popen(line, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
               for _ in range(processes)]
    time.sleep(0.5)
    for it in running:
        assert it.stdin
        it.stdin.write("\n")
        it.stdin.flush()
    told = [float(it.communicate()[0]) for it in running]
    return processes * threads * times / max(told)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("reads")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--times", type=int, default=40)
    options = parser.parse_args()
    ratios = []
    for _ in range(options.rounds):
        threads = measured(options.reads, 1, 2, options.times)
        ratios.append(threads / measured(options.reads, 2, 1, options.times))
        print(f"{ratios[-1]:.3f}", flush=True)
    print(f"median ratio {statistics.median(ratios):.3f}")


if __name__ == "__main__":
    main()

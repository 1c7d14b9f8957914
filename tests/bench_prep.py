#!/usr/bin/env python3
"""Sorting and marking side by side on this machine, in one run: seqloom prep, samtools, samblaster,
sambamba, biobambam2 and Picard on the same reads, each once after a round that is thrown away.
Prints a table in Markdown; programs that are not installed are left out.

  tests/bench_prep.py SEQLOOM GROUPED_BAM WORK_FOLDER [THREADS]
"""

import os
import resource
import shutil
import subprocess
import sys
import time

PICARD_JAR = "/usr/share/java/picard.jar"
PICARD = f"java -Xmx3g -jar {PICARD_JAR}"
QUIETLY = "QUIET=true VERBOSITY=ERROR VALIDATION_STRINGENCY=SILENT"
OWN = '"$SEQLOOM" prep --mark-duplicates --duplicate-mode query --sort coordinate'

# What the table says, what is needed, and the line of a shell.
WAYS = [
    ("`seqloom prep ... -m 512M`", [], OWN + ' --quiet -t "$N" -m 512M "$IN" -o "$OUT"'),
    ("`seqloom prep ...`", [], OWN + ' --quiet -t "$N" "$IN" -o "$OUT"'),
    (
        "`samtools fixmate -m \\| sort \\| markdup`",
        ["samtools"],
        'samtools fixmate -m -u "$IN" - | samtools sort -@ "$N" -u -T "$TMP/s" - |'
        ' samtools markdup -@ "$N" -T "$TMP/m" - "$OUT"',
    ),
    (
        "`samtools view -h \\| samblaster \\| samtools sort`",
        ["samtools", "samblaster"],
        'samtools view -h "$IN" | samblaster | samtools sort -@ "$N" -T "$TMP/s" -o "$OUT" -',
    ),
    (
        "`sambamba sort`, `sambamba markdup`",
        ["sambamba"],
        'sambamba sort -q -t "$N" -l 1 --tmpdir "$TMP" -o "$TMP/1.bam" "$IN" &&'
        ' sambamba markdup -q -t "$N" --tmpdir "$TMP" "$TMP/1.bam" "$OUT"',
    ),
    (
        "`bamsormadup`",
        ["bamsormadup"],
        'bamsormadup threads="$N" tmpfile="$TMP/b" inputformat=bam M="$TMP/b.txt" < "$IN" > "$OUT"',
    ),
    (
        "Picard SortSam, MarkDuplicates",
        ["java", PICARD_JAR],
        f'{PICARD} SortSam I="$IN" O="$TMP/1.bam" SORT_ORDER=coordinate COMPRESSION_LEVEL=1'
        f' TMP_DIR="$TMP" {QUIETLY} &&'
        f' {PICARD} MarkDuplicates I="$TMP/1.bam" O="$OUT" M="$TMP/p.txt" TMP_DIR="$TMP" {QUIETLY}',
    ),
]

PAGE_BYTES = resource.getpagesize()
INTERVAL_S = 0.005
LOOKS_PER_SEARCH = 20


def group_bytes(group, members):
    """Resident memory of a process group; `members` without those that are not of it."""
    total, found = 0, []
    for process in members:
        try:
            with open(f"/proc/{process}/stat") as stat:
                fields = stat.read().rsplit(")", 1)[1].split()
        except (OSError, IndexError):
            continue
        if int(fields[2]) == group:
            total += int(fields[21]) * PAGE_BYTES
            found.append(process)
    return total, found


def run(line, environment):
    """Wall seconds, CPU seconds and peak bytes of a line of bash with all that it starts."""
    before, started = resource.getrusage(resource.RUSAGE_CHILDREN), time.monotonic()
    child = subprocess.Popen(
        ["bash", "-c", "set -o pipefail; " + line],
        env=environment,
        stdin=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        start_new_session=True,
    )
    peak_bytes, members, looks = 0, [], 0
    while child.poll() is None:
        if looks % LOOKS_PER_SEARCH == 0:
            members = [name for name in os.listdir("/proc") if name.isdigit()]
        looks += 1
        here, members = group_bytes(child.pid, members)
        peak_bytes = max(peak_bytes, here)
        time.sleep(INTERVAL_S)
    wall_s = time.monotonic() - started
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    if child.returncode != 0:
        sys.exit(f"{line}: exit code {child.returncode}: {child.stderr.read().decode()}")
    cpu_s = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return wall_s, cpu_s, peak_bytes


def is_there(program):
    return shutil.which(program) is not None or os.path.exists(program)


def main():
    seqloom, grouped, work = sys.argv[1:4]
    threads = sys.argv[4] if len(sys.argv) > 4 else str(len(os.sched_getaffinity(0)))
    scratch = os.path.join(work, "tmp")
    environment = dict(os.environ, SEQLOOM=seqloom, IN=grouped, N=threads, TMP=scratch)
    print("| program | wall s | CPU s | peak memory MB | GBh |\n|---|---:|---:|---:|---:|")
    for name, needs, line in WAYS:
        if not all(map(is_there, needs)):
            continue
        for _ in ("warm", "measured"):
            shutil.rmtree(scratch, ignore_errors=True)
            os.makedirs(scratch)
            out = os.path.join(scratch, "out.bam")
            wall_s, cpu_s, peak_bytes = run(line, dict(environment, OUT=out))
        gbh = peak_bytes / 1e9 * wall_s / 3600
        figures = f"{wall_s:.1f} | {cpu_s:.1f} | {peak_bytes / 1e6:,.0f} | {gbh:.4f}"
        print(f"| {name} | {figures} |", flush=True)
    shutil.rmtree(scratch, ignore_errors=True)


main()

#!/usr/bin/env bash
# many_threads.sh BIN_FOLDER OUT_FOLDER: the threads of hundreds of cores on the cores at hand, with
# an engine that does not align (`--engine fake`): paired FASTQ to sorted, marked BAM.
#
# 1. Spinning: alignment burns processor time. What 256 threads get done, against 2 threads.
# 2. Sleeping: alignment waits. 16 to 512 threads offer half of what the cores can carry (measured
#    first, with an engine that takes no time); what of it is achieved.
#
# Offered is what the threads would do if each had a core of its own: a read takes a thread its
# sleep and its share of the processor time that the run with the null engine needs for it. Both
# are of ingest, the phase in which reads are aligned. What follows it, duplicates and writing, has
# no engine in it and takes both cores whole: the last column says what the whole run took, against
# the offered time and the null engine's time for those phases.
#
# On a machine that others use, wall time says little: spinning is judged by processor time, and
# everything can be repeated in turn. RUNNER='nice -n -12' gives the runs the machine.
# PARTS=spin or PARTS=sleep is one of the two alone.
set -euo pipefail
bin=$1 out=$2
# A cohort of the default size is emitted by the cores alone once the last read of the input is
# seeded, and the last batches of 512 threads are a round of sleep that others do not fill: ten
# cohorts keep both small.
repeats=${REPEATS:-3} spin_us=${SPIN_US:-20} cohort=${COHORT:-100000000} parts=${PARTS:-spin sleep}
spin_templates=${SPIN_TEMPLATES:-1000000} sleep_templates=${SLEEP_TEMPLATES:-5000000}
threads_asleep=${THREADS_ASLEEP:-16 64 256 512}
mkdir -p "$out"
runner=${RUNNER:-}
cores=$(nproc)

if [ ! -s "$out/ref.fa.bwt.2bit.64" ]; then
  "$bin/seqloom-testkit" genome --length 3000000 "$out/ref.fa"
  "$bin/seqloom" index "$out/ref.fa" 2>/dev/null
fi

# pairs TEMPLATES: two files of so many pairs.
pairs() {
  local n=$1
  [ -s "$out/R2.$n.fq" ] && return
  # The fake engine does not look at bases: random ones do.
  awk -v n="$n" -v out="$out" 'BEGIN {
    srand(7)
    for (i = 0; i < 4096; i++) genome = genome substr("ACGT", int(rand() * 4) + 1, 1)
    for (i = 0; i < 100; i++) quality = quality "I"
    for (i = 0; i < n; i++)
      for (mate = 1; mate <= 2; mate++)
        printf "@read.%d\n%s\n+\n%s\n", i, substr(genome, int(rand() * 3990) + 1, 100), quality \
          > (out "/R" mate "." n ".fq")
  }'
}

# measure NAME TEMPLATES THREADS ENGINE: to the table, seconds of ingest, of the phases behind it
# and of the processor, and first touches of memory (minor page faults).
measure() {
  local json=$out/run.json reads="$out/R1.$2.fq $out/R2.$2.fq"
  # shellcheck disable=SC2086 # words
  $runner python3 - "$json" "$1" "$2" "$3" "$bin/seqloom" align --engine "fake:$4" -t "$3" -l 1 \
    -m "${MEMORY:-16G}" -K "$cohort" --quiet --json "$json" -o "$out/run.bam" "$out/ref.fa" $reads \
    <<'PYTHON'
import json, resource, subprocess, sys

path, name, templates, threads, *command = sys.argv[1:]
subprocess.run(command, check=True)
faults = resource.getrusage(resource.RUSAGE_CHILDREN).ru_minflt
report = json.load(open(path))
counts, usage = report["counts"], report["usage"]
assert counts["reads"] == 2 * int(templates) == counts["records_written"]
phases = dict(usage["phase_seconds"])
behind = sum(seconds for phase, seconds in phases.items() if phase not in ("load", "ingest"))
print(name, threads, f"{phases['ingest']:.3f} {behind:.3f} {usage['cpu_seconds']:.3f}", faults)
PYTHON
}
# column OF NAME THREADS: the median of a column of the table.
column() {
  awk -v at="$1" -v name="$2" -v t="$3" '$1 == name && $2 == t { print $at }' "$table" |
    sort -n | awk '{ v[NR] = $1 } END { print v[int((NR + 1) / 2)] }'
}
has_part() { [[ " $parts " == *" $1 "* ]]; }

table=$out/many_threads.tsv
: > "$table"
if has_part spin; then
  pairs "$spin_templates"
  for ((i = 0; i < repeats; i++)); do
    for threads in ${THREADS_SPINNING:-2 16 64 256}; do
      measure spin "$spin_templates" "$threads" "spin=${spin_us}us" >> "$table"
    done
  done
  two=$(column 5 spin 2)
  for threads in ${THREADS_SPINNING:-2 16 64 256}; do
    awk -v t="$threads" -v two="$two" -v cpu="$(column 5 spin "$threads")" -v us="$spin_us" \
      -v faults="$(column 6 spin "$threads")" \
      'BEGIN { printf "spin %s us, %4d threads: %.2f CPU s, %d first touches, throughput %.3f of 2\n",
               us, t, cpu, faults, two / cpu }'
  done
fi
if has_part sleep; then
  pairs "$sleep_templates"
  reads=$((2 * sleep_templates))
  for ((i = 0; i < repeats; i++)); do
    measure null "$sleep_templates" "$cores" "" >> "$table"
  done
  null=$(column 3 null "$cores") behind=$(column 4 null "$cores")
  echo "cores $cores, $reads reads, -K $cohort, load $(cut -d' ' -f1-3 /proc/loadavg)"
  awk -v r="$reads" -v s="$null" -v b="$behind" \
    'BEGIN { printf "null engine: ingest %.2f s (%.0f reads/s), behind it %.2f s\n", s, r / s, b }'
  # A thread's cycle is its sleep and its own work for a read: T of them make half of what fits.
  sleep_us() {
    awk -v t="$1" -v s="$null" -v r="$reads" -v c="$cores" \
      'BEGIN { printf "%.0f", (2 * t - c) * 1e6 * s / r }'
  }
  for ((i = 0; i < repeats; i++)); do
    for threads in $threads_asleep; do
      measure sleep "$sleep_templates" "$threads" "sleep=$(sleep_us "$threads")us" >> "$table"
    done
  done
  for threads in $threads_asleep; do
    awk -v t="$threads" -v s="$(column 3 sleep "$threads")" -v b="$(column 4 sleep "$threads")" \
      -v us="$(sleep_us "$threads")" -v null="$null" -v rest="$behind" -v r="$reads" -v c="$cores" \
      'BEGIN {
         cycle = us / 1e6 + c * null / r; offered = r * cycle / t
         printf "sleep %5d us, %3d threads: offered %.2f s (%.2f of capacity), ingest %.2f s: %.3f",
                us, t, offered, null / offered, s, offered / s
         printf " of the load; asleep %.3f of thread time; whole run %.2f s: %.3f\n",
                r * us / 1e6 / t / s, s + b, (offered + rest) / (s + b)
       }'
  done
fi

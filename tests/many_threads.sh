#!/usr/bin/env bash
# many_threads.sh BIN_FOLDER OUT_FOLDER: the threads of hundreds of cores on the cores at hand, with
# an engine that does not align (`--engine fake`): paired FASTQ to sorted, marked BAM.
#
# 1. Spinning: alignment burns processor time. What 256 threads get done, against 2 threads.
# 2. Sleeping: alignment waits. 16 to 512 threads offer half of what the cores can carry (measured
#    first, with an engine that takes no time); what of it is achieved.
#
# On a machine that others use, wall time says little: spinning is judged by processor time, and
# everything is repeated in turn. RUNNER='nice -n -12' gives the runs the machine.
set -euo pipefail
bin=$1 out=$2
# In-flight reads of 512 threads are a quarter of a cohort of the default size.
repeats=${REPEATS:-3} templates=${TEMPLATES:-1000000} spin_us=${SPIN_US:-20} cohort=${COHORT:-100000000}
mkdir -p "$out"
runner=${RUNNER:-}
cores=$(nproc)

if [ ! -s "$out/ref.fa.bwt.2bit.64" ]; then
  "$bin/seqloom-testkit" genome --length 3000000 "$out/ref.fa"
  "$bin/seqloom" index "$out/ref.fa" 2>/dev/null
fi
if [ ! -s "$out/R2.fq" ]; then
  # The fake engine does not look at bases: random ones do.
  awk -v n="$templates" -v out="$out" 'BEGIN {
    srand(7)
    for (i = 0; i < 4096; i++) genome = genome substr("ACGT", int(rand() * 4) + 1, 1)
    for (i = 0; i < 100; i++) quality = quality "I"
    for (i = 0; i < n; i++)
      for (mate = 1; mate <= 2; mate++)
        printf "@read.%d\n%s\n+\n%s\n", i, substr(genome, int(rand() * 3990) + 1, 100), quality \
          > (out "/R" mate ".fq")
  }'
fi
reads=$((2 * templates))

# measure NAME THREADS ENGINE: wall seconds of ingest, processor seconds of it all, to the table.
measure() {
  local json=$out/run.json
  $runner "$bin/seqloom" align --engine "fake:$3" -t "$2" -m "${MEMORY:-16G}" -K "$cohort" --quiet \
    --json "$json" -o "$out/run.bam" "$out/ref.fa" "$out/R1.fq" "$out/R2.fq"
  python3 - "$json" "$1" "$2" "$reads" <<'PYTHON'
import json, sys

path, name, threads, reads = sys.argv[1:]
report = json.load(open(path))
usage = report["usage"]
ingest = dict(usage["phase_seconds"])["ingest"]
print(name, threads, f"{ingest:.3f}", f"{usage['cpu_seconds']:.3f}", report["counts"]["reads"])
assert report["counts"]["reads"] == int(reads) == report["counts"]["records_written"]
PYTHON
}
median() { sort -n | awk '{ v[NR] = $1 } END { print v[int((NR + 1) / 2)] }'; }

table=$out/many_threads.tsv
: > "$table"
for ((i = 0; i < repeats; i++)); do
  for threads in 2 16 64 256; do measure spin "$threads" "spin=${spin_us}us" >> "$table"; done
  measure null "$cores" "" >> "$table"
done
# What the cores can carry, in reads per second of ingest; and a read's own processor time there.
null=$(awk '$1 == "null" { print $3 }' "$table" | median)
echo "cores $cores, $reads reads, -K $cohort, load $(cut -d' ' -f1-3 /proc/loadavg)"
echo "null engine: ingest of $(awk -v r=$reads -v s="$null" 'BEGIN { printf "%.0f", r / s }') reads/s"
two=$(awk '$1 == "spin" && $2 == 2 { print $4 }' "$table" | median)
for threads in 2 16 64 256; do
  cpu=$(awk -v t=$threads '$1 == "spin" && $2 == t { print $4 }' "$table" | median)
  awk -v t=$threads -v two="$two" -v cpu="$cpu" -v us="$spin_us" \
    'BEGIN { printf "spin %s us, %4d threads: %.2f CPU s, throughput %.3f of 2 threads\n",
             us, t, cpu, two / cpu }'
done
for ((i = 0; i < repeats; i++)); do
  for threads in 16 64 256 512; do
    # A thread's cycle is its sleep and its own work for a read: T of them make half of what fits.
    sleep_us=$(awk -v t=$threads -v s="$null" -v r=$reads -v c="$cores" \
      'BEGIN { printf "%d", t * 2e6 * s / r - 1e6 * s * c / r }')
    measure "sleep=$sleep_us" "$threads" "sleep=${sleep_us}us" >> "$table"
  done
done
for threads in 16 64 256 512; do
  seconds=$(awk -v t=$threads '$1 ~ /^sleep/ && $2 == t { print $3 }' "$table" | median)
  awk -v t=$threads -v s="$seconds" -v null="$null" -v r=$reads \
    'BEGIN { printf "sleep, %4d threads: offered %.0f reads/s, achieved %.0f: %.3f\n",
             t, r / null / 2, r / s, 2 * null / s }'
done

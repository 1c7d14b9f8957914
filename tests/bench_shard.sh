#!/usr/bin/env bash
# What a run in shards costs: all verbs in a row against one process, in turn, medians.
#   tests/bench_shard.sh FOLDER_OF_THE_PROGRAMS OUTPUT_FOLDER [PAIRS] [SHARDS] [ROUNDS] [THREADS]
# Human chromosome 20 where SEQLOOM_DATA is set, else a simulated genome. The one process runs
# without the certified path, which a shard has too few cohorts to build for. Fails where shards
# take more than 1.10 times the wall time or 2.5 us of CPU a record more, or other bytes come out.
set -euo pipefail
bin=$(cd "${1:?folder of the programs}" && pwd)
out=${2:?output folder}
pairs=${3:-1000000} shards=${4:-4} rounds=${5:-5} threads=${6:-2}
mkdir -p "$out"
cd "$out"

if [ -n "${SEQLOOM_DATA:-}" ]; then
  ref=chr20.fa
  [ -e "$ref" ] || gzip -dc "$SEQLOOM_DATA/refs/human_b37/chr20.b37.fa.gz" > "$ref"
else
  ref=simulated.fa
  [ -e "$ref" ] || "$bin/seqloom-testkit" genome "$ref" --length 20000000 --seed 1
fi
[ -e "$ref.bwt.2bit.64" ] || "$bin/seqloom" index "$ref"
r1=$ref.$pairs.1.fq r2=$ref.$pairs.2.fq
[ -e "$r2" ] || "$bin/seqloom-testkit" reads "$ref" --first "$r1" --second "$r2" \
  --templates "$pairs" --duplicates 0.1 --seed 7

# Cohorts of a tenth of a shard.
cohort=$((pairs * 300 / shards / 10))
align=(--no-pg --no-certified-path -K "$cohort"
  -R '@RG\tID:b\tSM:b\tLB:b\tPL:ILLUMINA' "$ref" "$r1" "$r2")

one() { "$bin/seqloom" align -t "$threads" "${align[@]}" -o one.bam; }
# Tasks by verb, one after the other; the shards by one process that keeps the index.
many() {
  "$bin/seqloom" shard plan --run run -t "$threads" --shards "$shards" "${align[@]}"
  "$bin/seqloom" shard align --run run -t "$threads" --shard "0-$((shards - 1))"
  "$bin/seqloom" shard tasks --run run > tasks.jsonl
  grep -v '"verb":"align"' tasks.jsonl | python3 -c '
import json, sys
for line in sys.stdin:
    task = json.loads(line)
    print(task["verb"], *task["arguments"])' > tasks.txt
  while read -r task; do
    # shellcheck disable=SC2086
    "$bin/seqloom" shard $task -t "$threads"
  done < tasks.txt
  "$bin/seqloom" shard gather --run run -t "$threads" -o many.bam
}

TIMEFORMAT='%R %U %S'
: > times.txt
for ((round = 0; round <= rounds; round++)); do
  for what in one many; do
    rm -rf run
    t=$({ time "$what" >/dev/null 2>"$what.log"; } 2>&1) || { cat "$what.log" >&2; exit 1; }
    # The first round touches memory and files for the first time.
    [ "$round" = 0 ] || echo "$what $t" | tee -a times.txt
  done
done
cmp one.bam many.bam
cmp one.bam.bai many.bam.bai

records=$(sed -n 's/.* \([0-9]*\) records.*/\1/p' many.log | tail -1)
python3 - "$records" <<'PY'
import statistics, sys
records = int(sys.argv[1])
times = {"one": [], "many": []}
for line in open("times.txt"):
    what, *numbers = line.split()
    wall, user, system = map(float, numbers)
    times[what].append((wall, user + system))
median = {what: [statistics.median(column) for column in zip(*rows)]
          for what, rows in times.items()}
(wall, cpu), (wall_many, cpu_many) = median["one"], median["many"]
ratio, more = wall_many / wall, (cpu_many - cpu) / records * 1e6
print(f"one process: wall {wall:.2f} s, CPU {cpu:.2f} s; in shards: wall {wall_many:.2f} s, "
      f"CPU {cpu_many:.2f} s; {records} records")
print(f"wall {ratio:.3f} times (at most 1.10), CPU {more:.2f} us a record more (at most 2.5)")
sys.exit(ratio > 1.10 or more > 2.5)
PY

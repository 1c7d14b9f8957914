#!/usr/bin/env bash
# Whole programs side by side on this machine, in one run, each twice, the first discarded (memory
# touched for the first time costs whoever comes first):
#   seqloom align
#   seqloom align, as a stream | samblaster | samtools sort
#   bwa mem | samblaster | samtools sort
# then sorting and marking alone, of several programs (bench_prep.py).
# Human chromosome 20 and dwgsim pairs where SEQLOOM_DATA is set, else a simulated genome.
#   tests/bench.sh FOLDER_OF_THE_PROGRAMS OUTPUT_FOLDER [PAIRS] [THREADS]
set -euo pipefail
bin=$(cd "${1:?folder of the programs}" && pwd)
out=${2:?output folder}
pairs=${3:-200000}
threads=${4:-$(nproc)}
here=$(cd "$(dirname "$0")" && pwd)
mkdir -p "$out"
cd "$out"

if [ -n "${SEQLOOM_DATA:-}" ]; then
  ref=chr20.fa
  [ -e "$ref" ] || gzip -dc "$SEQLOOM_DATA/refs/human_b37/chr20.b37.fa.gz" > "$ref"
else
  ref=simulated.fa
  [ -e "$ref" ] || "$bin/seqloom-testkit" genome "$ref" --length 20000000 --seed 1
fi
[ -e "$ref.sa" ] || bwa index "$ref" 2>/dev/null
[ -e "$ref.bwt.2bit.64" ] || "$bin/seqloom" index "$ref"
r1=$ref.$pairs.1.fq.gz r2=$ref.$pairs.2.fq.gz
[ -e "$r2" ] || "$bin/seqloom-testkit" reads "$ref" --first "$r1" --second "$r2" \
  --templates "$pairs" --duplicates 0.1 --seed 7

rg='@RG\tID:b\tSM:b\tLB:b\tPL:ILLUMINA'
fused() { "$bin/seqloom" align -t "$threads" -l 1 -R "$rg" -o fused.bam "$ref" "$r1" "$r2"; }
piped() {
  "$bin/seqloom" align -t "$threads" -R "$rg" --no-sort --no-mark-duplicates \
    --output-format sam -o - "$ref" "$r1" "$r2" |
    samblaster | samtools sort -@ "$threads" -l 1 -o piped.bam -
}
classic() {
  bwa mem -t "$threads" -K 100000000 -R "$rg" "$ref" "$r1" "$r2" |
    samblaster | samtools sort -@ "$threads" -l 1 -o classic.bam -
}

printf '%s, %s pairs, %s threads, %s\n' "$ref" "$pairs" "$threads" \
  "$(grep -m1 'model name' /proc/cpuinfo | cut -d: -f2 | xargs)"
TIMEFORMAT='%R %U %S'
for round in warm measured; do
  for what in fused piped classic; do
    t=$({ time "$what" >/dev/null 2>"$what.log"; } 2>&1) || { cat "$what.log" >&2; exit 1; }
    [ "$round" = warm ] ||
      awk -v w="$what" '{printf "%-8s wall %8.2f s  cpu %8.2f s  cores %.2f\n", w, $1, $2+$3, ($2+$3)/$1}' \
        <<< "$t"
  done
done

# Preparation alone, of the same reads as the aligner gives them.
grouped=$ref.$pairs.grouped.bam
[ -e "$grouped" ] || "$bin/seqloom" align -t "$threads" -R "$rg" --no-sort --no-mark-duplicates \
  -o "$grouped" "$ref" "$r1" "$r2" 2>/dev/null
"$here/bench_prep.py" "$bin/seqloom" "$grouped" . "$threads"

#!/usr/bin/env bash
# A genome with the shape of a whole human assembly, its index at two caps, and reads aligned at
# two caps: the same bytes, within the caps, the index proven, the reads judged by their truth.
#   tests/human_scale.sh FOLDER_OF_THE_PROGRAMS OUTPUT_FOLDER [BASES [PAIRS [THREADS]]]
# With the default of 3,217,348,224 bases and 2,000,000 pairs it needs 16 GiB of memory and 30 GB of
# disk (computed); the index with -m 8G alone takes 15 minutes of processor time (measured). Fewer
# BASES need less: caps shrink along.
set -euo pipefail
bin=$(cd "${1:?folder of the programs}" && pwd)
out=${2:?output folder}
whole=3217348224
bases=${3:-$whole} pairs=${4:-2000000} threads=${5:-2}
mkdir -p "$out"
cd "$out"
for tool in /usr/bin/time cmp; do command -v "$tool" > /dev/null || { echo "needs $tool"; exit 1; }; done

# mib SIZE_AT_FULL_SCALE LEAST: in MiB, what is above the least shrinks as BASES do.
mib() { echo $((($1 - $2) * bases / whole + $2)); }
# capped MIB COMMAND...: runs it with -m, says what it took, fails if its peak was above.
capped() {
  local cap=$1 peak
  shift
  echo "\$ ${*##*/} -m ${cap}M"
  /usr/bin/time -o took -f '%M %e %U %S' "$@" -m "${cap}M" 2> log || { cat log; exit 1; }
  cat log
  read -r peak wall user system < took
  echo "peak $((peak / 1024)) MiB of $cap, wall $wall s, CPU $user + $system s"
  [ "$peak" -le $((cap * 1024)) ] || { echo "the peak is above the cap"; exit 1; }
}

[ -s human.fa ] || "$bin/seqloom-testkit" genome human.fa --human-like --bases "$bases"
capped "$(mib 8192 128)" "$bin/seqloom" index -t "$threads" --no-fast-table -p a human.fa
# With the table of the certified path.
capped "$(mib 16384 128)" "$bin/seqloom" index -t "$threads" -p b human.fa
for suffix in pac ann amb bwt.2bit.64; do cmp "a.$suffix" "b.$suffix"; done
rm a.*
# Its reads of memory are all over the index: the C library is told to ask for huge pages.
GLIBC_TUNABLES=glibc.malloc.hugetlb=1 "$bin/seqloom-testkit" index -t "$threads" b
cp human.fa.alt b.alt
[ -s R2.fq ] || "$bin/seqloom-testkit" reads human.fa --first R1.fq --second R2.fq \
  --templates "$pairs" --duplicates 0.1
# What a cohort takes does not shrink with the genome.
least=1500
for cap in $(mib 12288 $least) $(mib 16384 $least); do
  capped "$cap" "$bin/seqloom" align -t "$threads" --no-pg -l 1 --json "$cap.json" \
    -o "$cap.bam" b R1.fq R2.fq
  "$bin/seqloom-testkit" report "$cap.json" off_because least_memory_bytes
done
cmp "$(mib 12288 $least).bam" "$(mib 16384 $least).bam"
"$bin/seqloom-testkit" accuracy "$(mib 12288 $least).bam"

#!/usr/bin/env bash
# The demo on a cluster of three Ray nodes on this machine: four shards of the demo's reads, one node
# killed while it aligns and one while it finishes. The BAM file must be that of one process.
#   tests/demo_cluster.sh FOLDER_OF_THE_PROGRAMS OUTPUT_FOLDER
set -euo pipefail
here=$(cd "$(dirname "$0")/.." && pwd)
bin=$(cd "${1:?folder of the programs}" && pwd)
out=${2:?output folder}
mkdir -p "$out"
cd "$out"
rm -rf demo.* one.bam* many.bam* run
say() { printf '\n== %s\n' "$*"; }

say "the demo's genome and reads"
"$bin/seqloom-testkit" genome demo.fa --length 2000000 --contigs 4 --seed 1
"$bin/seqloom-testkit" reads demo.fa --first demo_R1.fq.gz --second demo_R2.fq.gz \
  --templates 100000 --duplicates 0.15 --optical 0.3 --seed 1
"$bin/seqloom" index demo.fa

# Cohorts of 5 Mbp: with bwa's 100 Mbp the demo's reads would be a single one, and one shard.
align=(--no-pg -K 5000000 -R '@RG\tID:demo\tSM:demo\tLB:library1\tPL:ILLUMINA'
  demo.fa demo_R1.fq.gz demo_R2.fq.gz)

say "in one process"
"$bin/seqloom" align "${align[@]}" -o one.bam

say "on three nodes, of which two are killed"
"$here/.venv/bin/python" "$here/tests/shard_ray.py" "$bin/seqloom" run many.bam \
  -- --shards 4 --ranges 6 "${align[@]}"
"$bin/seqloom" shard status --run run

say "SHA-256"
sha256sum one.bam many.bam one.bam.bai many.bam.bai
cmp one.bam many.bam
cmp one.bam.bai many.bam.bai
"$bin/seqloom-testkit" accuracy many.bam

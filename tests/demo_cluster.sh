#!/usr/bin/env bash
# The demo on a cluster of three Ray nodes on this machine: four shards of the demo's reads, one node
# killed while it aligns and one while it finishes. The BAM file must be the demo's.
#   tests/demo_cluster.sh FOLDER_OF_THE_PROGRAMS OUTPUT_FOLDER
set -euo pipefail
here=$(cd "$(dirname "$0")/.." && pwd)
bin=$(cd "${1:?folder of the programs}" && pwd)
out=${2:?output folder}
mkdir -p "$out"
out=$(cd "$out" && pwd)
say() { printf '\n== %s\n' "$*"; }

say "the demo, in one process"
"$here/tests/demo.sh" "$bin" "$out"
cd "$out"
rm -rf many.bam* run

say "on three nodes, of which two are killed"
"$here/.venv/bin/python" "$here/tests/shard_ray.py" "$bin/seqloom" run many.bam \
  -- --shards 4 --ranges 6 --no-pg -K 5000000 -R '@RG\tID:demo\tSM:demo\tLB:library1\tPL:ILLUMINA' \
  demo.fa demo_R1.fq.gz demo_R2.fq.gz
"$bin/seqloom" shard status --run run

say "SHA-256"
sha256sum demo.bam many.bam demo.bam.bai many.bam.bai
cmp demo.bam many.bam
cmp demo.bam.bai many.bam.bai

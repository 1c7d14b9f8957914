#!/usr/bin/env bash
# The demo: a genome of 2 Mbp and 100,000 pairs with 15 % duplicates, made here; then the two
# commands a user needs; then what came of it, judged against the truth in the read names.
#   tests/demo.sh FOLDER_OF_THE_PROGRAMS OUTPUT_FOLDER
set -euo pipefail
bin=$(cd "${1:?folder of the programs}" && pwd)
out=${2:?output folder}
mkdir -p "$out"
cd "$out"
rm -rf demo.* demo-metrics
say() { printf '\n== %s\n' "$*"; }
run() { printf '$ %s\n' "${*/#$bin\//}"; "$@"; }

say "a genome like a small human one, and reads whose origin is known"
run "$bin/seqloom-testkit" genome demo.fa --length 2000000 --contigs 4 --seed 1
run "$bin/seqloom-testkit" reads demo.fa --first demo_R1.fq.gz --second demo_R2.fq.gz \
  --templates 100000 --duplicates 0.15 --optical 0.3 --seed 1

say "seqloom"
run "$bin/seqloom" index demo.fa
# Small cohorts and no command line in the header: demo_cluster.sh makes the same file from four shards.
run "$bin/seqloom" align --no-pg -K 5000000 -R '@RG\tID:demo\tSM:demo\tLB:library1\tPL:ILLUMINA' \
  --metrics-dir demo-metrics --json demo.json --html demo.html -o demo.bam demo.fa demo_R1.fq.gz demo_R2.fq.gz

say "what was made, in $PWD"
ls -l demo.bam demo.bam.bai demo.json demo.html demo-metrics/* | awk '{printf "%12d  %s\n", $5, $9}'

say "duplicates"
metrics=$(grep -l 'picard.sam.DuplicationMetrics' demo-metrics/*)
awk -F '\t' '
  rows && NF == 0 { exit }
  rows == 1 { for (i = 1; i <= NF; i++) name[i] = $i; rows = 2; next }
  rows == 2 { for (i = 1; i <= NF; i++) printf "%-30s %s\n", name[i], $i }
  /^## METRICS CLASS/ { rows = 1 }' "$metrics"

say "accuracy"
"$bin/seqloom-testkit" accuracy demo.bam

say "how busy the cores were"
"$bin/seqloom-testkit" report demo.json wall cpu cores busy utili rss

say "the report, one page for any browser"
echo "$PWD/demo.html"

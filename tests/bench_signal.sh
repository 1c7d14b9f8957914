#!/usr/bin/env bash
# Raw signal side by side on this machine, in one run: seqloom, slow5lib, blue-crab and
# ont-fast5-api on the same reads. Prints a table in Markdown.
#   tests/bench_signal.sh FOLDER_OF_THE_PROGRAMS OUTPUT_FOLDER [MB] [THREADS] [ROUNDS] [WORDS]
# MB: of samples.
# WORDS: only the rows that have them, such as "decode BLOW5 zlib".
# The reads are the 112 of SEQLOOM_DATA's f5c_ecoli_2kb, again and again under new ids. The files
# made of them take about five times the bytes of the samples in OUTPUT_FOLDER and are kept there.
set -euo pipefail
bin=$(cd "${1:?folder of the programs}" && pwd)
out=${2:?output folder}
mb=${3:-2048}
threads=${4:-$(nproc)}
rounds=${5:-2}
words=${6:-}
here=$(cd "$(dirname "$0")" && pwd)
python=$here/../.venv/bin/python
reads=${SEQLOOM_DATA:-/nonexistent}/nanopore/f5c_ecoli_2kb/ecoli_2kb_region/fast5_files
[ -d "$reads" ] || { echo "skipped: SEQLOOM_DATA holds no f5c_ecoli_2kb"; exit; }
[ -x "$python" ] || { echo "skipped: no Python in .venv (tests/install-needs.sh)"; exit; }
out=$out/$mb
mkdir -p "$out"

seqloom() { "$bin/seqloom" signal "$@" --quiet -t "$threads"; }
made() { [ -e "$out/$1" ]; }

made raw.blow5 || {
  seqloom convert "$reads" -c none -s none -o "$out/base.blow5" 2>/dev/null
  "$python" "$here/bench_signal.py" replicate "$out/base.blow5" "$out/raw.blow5" "$mb"
}
made zlib-svb.blow5 || seqloom convert "$out/raw.blow5" -c zlib -s svb-zd -o "$out/zlib-svb.blow5"
made zstd-svb.blow5 || seqloom convert "$out/raw.blow5" -c zstd -s svb-zd -o "$out/zstd-svb.blow5"
made zstd-ex.blow5 || seqloom convert "$out/raw.blow5" -c zstd -s ex-zd -o "$out/zstd-ex.blow5"
for name in zlib-svb zstd-svb zstd-ex; do
  made "$name.blow5.idx" || seqloom index "$out/$name.blow5"
done
made multi.fast5 || seqloom convert "$out/raw.blow5" -o "$out/multi.fast5"
made reads.pod5 ||
  "$here/../.venv/bin/blue-crab" s2p "$out/zlib-svb.blow5" -o "$out/reads.pod5" >/dev/null 2>&1
made shuffled.txt || seqloom skim --rid "$out/zlib-svb.blow5" |
  shuf --random-source=<(yes) > "$out/shuffled.txt"

"$python" "$here/bench_signal.py" measure "$bin/seqloom" "$out" "$threads" "$rounds" "$words"

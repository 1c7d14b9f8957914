#!/usr/bin/env bash
# Runs every fuzz target for some seconds: with cargo-fuzz and a nightly compiler where both are
# installed (address sanitizer and all), else with the compiler at hand and coverage alone.
#   fuzz/run.sh [SECONDS_PER_TARGET|EXECUTIONSx] [TARGET...]
set -euo pipefail
cd "$(dirname "$0")"
case ${1:-20} in
  *x) limit=-runs=${1%x} ;;
  *) limit=-max_total_time=${1:-20} ;;
esac
shift || true
targets=("$@")
[ ${#targets[@]} -gt 0 ] || targets=($(sed -n 's/^name = "\([a-z0-9_]*\)"$/\1/p' Cargo.toml))

if cargo +nightly fuzz --version >/dev/null 2>&1; then
  for target in "${targets[@]}"; do
    echo "== $target"
    cargo +nightly fuzz run "$target" -- "$limit" -rss_limit_mb=2048 -verbosity=0
  done
  exit
fi

echo "cargo-fuzz with a nightly compiler is not installed: no address sanitizer"
host=$(rustc -vV | sed -n 's/^host: //p')
export RUSTFLAGS="--cfg fuzzing -Cpasses=sancov-module -Ccodegen-units=1 \
  -Cllvm-args=-sanitizer-coverage-level=4 -Cllvm-args=-sanitizer-coverage-inline-8bit-counters \
  -Cllvm-args=-sanitizer-coverage-pc-table -Cllvm-args=-sanitizer-coverage-trace-compares"
if ! cargo fetch --target "$host"; then
  echo "fuzzing is skipped: libfuzzer-sys could not be fetched"
  exit
fi
# With --target the flags do not reach build scripts.
cargo build --release --target "$host" --bins
built=${CARGO_TARGET_DIR:-target}/$host/release
for target in "${targets[@]}"; do
  echo "== $target"
  mkdir -p "corpus/$target" "artifacts/$target"
  "$built/$target" "corpus/$target" -artifact_prefix="artifacts/$target/" \
    "$limit" -rss_limit_mb=2048 -print_final_stats=1 -verbosity=0
done

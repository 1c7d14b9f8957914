#!/usr/bin/env bash
# The vector code of the codecs under Miri, which sees every access outside of what it may touch.
# Skipped where a nightly compiler with Miri is missing.
set -euo pipefail
cd "$(dirname "$0")/.."
if ! cargo +nightly miri --version >/dev/null 2>&1; then
  echo "skipped: no nightly compiler with Miri"
  [ -z "${SEQLOOM_SKIP_LOG:-}" ] || echo "make miri: Miri is not installed" >> "$SEQLOOM_SKIP_LOG"
  exit
fi
# Vectors are chosen at run time, and Miri's machine has what it is told to have. Few cases: each
# instruction is interpreted. Isolation would keep proptest from looking for its folder.
export RUSTFLAGS="-Ctarget-feature=+ssse3" MIRIFLAGS=-Zmiri-disable-isolation PROPTEST_CASES=6
export CARGO_TARGET_DIR=${CARGO_TARGET_DIR:-target}/miri
cargo +nightly miri test -p seqloom-format --lib -- \
  slow5::stream_vbyte slow5::svb_zd slow5::ex_zd pod5::svb16

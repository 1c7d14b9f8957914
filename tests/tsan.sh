#!/usr/bin/env bash
# What threads meet at (locks, queues, the ordered commit) under ThreadSanitizer, which sees two
# accesses that nothing orders. Skipped where a nightly compiler is missing.
set -euo pipefail
cd "$(dirname "$0")/.."
host=$(rustc -vV | sed -n 's/^host: //p')
skip() {
  echo "skipped: $1"
  [ -z "${SEQLOOM_SKIP_LOG:-}" ] || echo "make tsan: ThreadSanitizer: $1" >> "$SEQLOOM_SKIP_LOG"
  exit
}
sysroot=$(rustc +nightly --print sysroot 2>/dev/null) || skip "no nightly compiler"
[ -e "$sysroot/lib/rustlib/$host/lib/librustc-nightly_rt.tsan.a" ] || skip "no runtime of it"
export CARGO_TARGET_DIR=${CARGO_TARGET_DIR:-target}/tsan
# With --target the flags do not reach build scripts and macros. The standard library is as it
# comes, not instrumented, which the second flag allows.
export RUSTFLAGS="-Zsanitizer=thread -Cunsafe-allow-abi-mismatch=sanitizer"
cargo +nightly test --target "$host" --release -p seqloom-locks -p seqloom-runtime --lib "$@"

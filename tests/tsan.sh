#!/usr/bin/env bash
# Threads under ThreadSanitizer: locks, queues, the block source, the schedulers of align (with
# engines that do not align) and of prep. The standard library is built with it too: without that,
# its joins and its mutexes look like races.
#   tests/tsan.sh [PATTERN...]   only tests with these words in their names
# Skipped where there is no nightly compiler. The source of the standard library is that of the
# compiler (rustup component rust-src), or RUST_SRC (its folder `library`), or it is taken from
# Debian's package of the compiler's version where Debian has that.
set -euo pipefail
cd "$(dirname "$0")/.."

skip() {
  echo "skipped: $1"
  [ -z "${SEQLOOM_SKIP_LOG:-}" ] || echo "make tsan: ThreadSanitizer: $1" >> "$SEQLOOM_SKIP_LOG"
  exit
}

# debian_source VERSION FOLDER: unpacks package rust-src of a version that starts so, of the
# unstable distribution, by lists and settings that are apt's in nothing but where packages are.
debian_source() {
  local version=$1 folder=$2 uri found
  uri=$({ cat /etc/apt/sources.list /etc/apt/sources.list.d/* 2>/dev/null || true; } |
    awk '!seen && /^(deb|URIs:) / && match($0, /https?:[^ ]+\/debian\/?( |$)/) {
      print substr($0, RSTART, RLENGTH); seen = 1 }')
  [ -n "$uri" ] || return 1
  mkdir -p "$folder/lists/partial"
  echo "deb $uri sid main" > "$folder/sources.list"
  local apt=(-qq -o "Dir::Etc::SourceList=$folder/sources.list" -o Dir::Etc::SourceParts=-
    -o "Dir::State::Lists=$folder/lists" -o "Dir::Cache=$folder" -o APT::Sandbox::User=root)
  apt-get "${apt[@]}" update || return 1
  found=$(apt-cache "${apt[@]}" madison rust-src |
    awk -v version="$version." '!seen && index($3, version) == 1 { print $3; seen = 1 }')
  [ -n "$found" ] || return 1
  (cd "$folder" && apt-get "${apt[@]}" download "rust-src=$found" && dpkg-deb -x rust-src_*.deb .)
}

cargo +nightly --version >/dev/null 2>&1 || skip "no nightly compiler"
target=$(realpath -m "${CARGO_TARGET_DIR:-target}")/tsan
source=${RUST_SRC:-$(rustc +nightly --print sysroot)/lib/rustlib/src/rust/library}
if [ ! -e "$source/std/src/lib.rs" ]; then
  version=$(rustc +nightly --version | grep -oE '[0-9]+\.[0-9]+' | head -1)
  source=$(echo "$target"/debian/usr/src/rustc-*/library)
  [ -e "$source/std/src/lib.rs" ] || debian_source "$version" "$target/debian" >/dev/null ||
    skip "no source of the standard library of $version"
  source=$(echo "$target"/debian/usr/src/rustc-*/library)
fi

# A race that must be found, or silence about all others would say nothing.
mkdir -p "$target"
cat > "$target/race.rs" <<'RUST'
static mut COUNT: u64 = 0;
fn main() {
    let count = || (0..1000).for_each(|_| unsafe { COUNT += 1 });
    let other = std::thread::spawn(count);
    count();
    other.join().unwrap();
}
RUST
# Its standard library is the one at hand, without the sanitizer.
rustc +nightly --edition 2024 -Zsanitizer=thread -Cunsafe-allow-abi-mismatch=sanitizer \
  -o "$target/race" "$target/race.rs"
if found=$("$target/race" 2>&1) || ! grep -q "data race" <<< "$found"; then
  echo "ThreadSanitizer finds no race where there is one" >&2
  exit 1
fi

host=$(rustc +nightly -vV | sed -n 's/^host: //p')
export __CARGO_TESTS_ONLY_SRC_ROOT=$source CARGO_TARGET_DIR=$target
export RUSTFLAGS="-Zsanitizer=thread" TSAN_OPTIONS="halt_on_error=1 ${TSAN_OPTIONS:-}"
run() {
  cargo +nightly test -Zbuild-std --target "$host" --release "$@" -- "${patterns[@]}"
}
patterns=("$@")
run -p seqloom-locks -p seqloom-rings -p seqloom-runtime --tests
run -p seqloom-io --lib
run -p seqloom-align --lib ingest
run -p seqloom-prep --lib

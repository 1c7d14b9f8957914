#!/usr/bin/env bash
# The program for aarch64 Linux, made and tried on x86-64: compiled in a folder of Debian's packages, run by QEMU's user
# emulation, its bytes compared with those of this processor. An emulated run says nothing of time, and nothing of memory
# order: the emulator's is x86-64's.
#   tests/arm64.sh [root|build|kernels|demo|digests]...   all of them without an argument, skipped where one cannot be
#     root      the cross environment, in SEQLOOM_ARM64 or seqloom-arm64 in the user's cache (470 MB are loaded, once)
#     build     a static program, target/aarch64/aarch64-unknown-linux-gnu/release/seqloom, and one for the digests
#     kernels   the tests of the vector code
#     demo      the demo: index, BAM, its index and metrics are the same files
#     digests   the commands of tests/digests.tsv
#   tests/arm64.sh where            the emulator and the program, if that is newer than the sources
#   tests/arm64.sh cargo ARG...     cargo in the cross environment
#   tests/arm64.sh with COMMAND...  a command that may start programs for aarch64
set -euo pipefail
from=$PWD
cd "$(dirname "$0")/.."
triple=aarch64-unknown-linux-gnu
folder=${SEQLOOM_ARM64:-${XDG_CACHE_HOME:-${HOME:?}/.cache}/seqloom-arm64}
root=$folder/root
qemu=$root/usr/bin/qemu-aarch64
# What this script wants to be there; another list makes the environment anew.
suite=trixie
packages="base-files bash cargo coreutils dash gcc gcc-aarch64-linux-gnu libc6-dev libc6-dev-arm64-cross libstd-rust-dev
  libstd-rust-dev:arm64 make qemu-user rustc"
target=$(realpath -m "${CARGO_TARGET_DIR:-target}")/aarch64
program=$target/$triple/release/seqloom

skip() {
  echo "skipped: $1" >&2
  [ -z "${SEQLOOM_SKIP_LOG:-}" ] || echo "make arm64: QEMU of aarch64: $1" >> "$SEQLOOM_SKIP_LOG"
  exit 0
}

# Debian's stable release, with its newer compilers; the signature is checked. Nothing of the system changes, and nothing is
# installed: the packages are unpacked, as tests/install-referees.sh does it.
make_root() {
  mkdir -p "$folder"
  exec 9> "$folder/.lock"
  flock 9
  if [ "$(cat "$root/.packages" 2>/dev/null)" = "$suite $packages" ]; then return; fi
  local mirror work names
  mirror=$(sed -n 's/^URIs: *\([^ ]*\).*/\1/p' /etc/apt/sources.list.d/*.sources 2>/dev/null |
    grep '/debian/*$' | head -n1)
  [ -n "$mirror" ] || mirror=$(awk '$1 == "deb" && $2 ~ /\/debian\/*$/ {print $2; exit}' /etc/apt/sources.list)
  work=$(mktemp -d "$folder/.work.XXXXXX")
  # shellcheck disable=SC2064 # the folder as it is now
  trap "rm -rf '$work'" EXIT
  mkdir -p "$work"/{lists/partial,cache/archives/partial,debs,root}
  local kind
  for kind in $suite $suite-backports; do
    echo "deb [signed-by=/usr/share/keyrings/debian-archive-keyring.gpg] $mirror $kind main"
  done > "$work/sources.list"
  apt() {
    apt-get -qq -oDir::State::Lists="$work/lists" -oDir::Cache="$work/cache" -oDir::Etc::SourceList="$work/sources.list" \
      -oDir::Etc::SourceParts=/dev/null -oDir::Etc::Preferences=/dev/null -oDir::Etc::PreferencesParts=/dev/null \
      -oDir::State::status=/dev/null -oAPT::Sandbox::User=root -oAPT::Architecture=amd64 -oAPT::Architectures::=amd64 \
      -oAPT::Architectures::=arm64 "$@"
  }
  apt update || skip "Debian's lists cannot be loaded"
  # Of aarch64 the standard library alone: what that would need to run there is not run.
  # shellcheck disable=SC2086 # a list of names
  names=$(apt -s --no-install-recommends -t $suite-backports install $packages | awk '/^Inst/ {print $2}' |
    grep -v ':arm64$')
  # shellcheck disable=SC2086
  (cd "$work/debs" && apt -t $suite-backports download $names libstd-rust-dev:arm64) ||
    skip "Debian's packages cannot be loaded"
  # The first one has the links of the root.
  local package
  for package in "$work"/debs/base-files_*.deb "$work"/debs/*.deb; do dpkg -x "$package" "$work/root"; done
  ln -s gcc "$work/root/usr/bin/cc" # what Debian's scripts would do
  mkdir -p "$work"/root/{src,target,cargo/registry}
  echo "$suite $packages" > "$work/root/.packages"
  rm -rf "$root"
  mv "$work/root" "$root"
}

# Whether namespaces of its own may be had, which need no right of root.
may_isolate() { unshare --user --map-root-user --mount true 2>/dev/null; }

# A command in the cross environment, in which the sources are /src.
inside() {
  local registry=${CARGO_HOME:-$HOME/.cargo}/registry
  mkdir -p "$target" "$registry"
  # shellcheck disable=SC2016 # the inner shell's
  SRC=$PWD TARGET=$target REGISTRY=$registry ROOT=$root unshare --user --map-root-user --mount sh -c '
    set -e
    mount --rbind /proc "$ROOT/proc"
    mount --rbind /dev "$ROOT/dev"
    mount --bind "$SRC" "$ROOT/src"
    mount --bind "$TARGET" "$ROOT/target"
    mount --bind "$REGISTRY" "$ROOT/cargo/registry"
    exec chroot "$ROOT" /usr/bin/env -i PATH=/usr/bin:/bin:/usr/sbin:/sbin HOME=/tmp LANG=C.UTF-8 \
      CARGO_HOME=/cargo CARGO_TARGET_DIR=/target CARGO_NET_OFFLINE=true CARGO_INCREMENTAL=0 \
      CC_aarch64_unknown_linux_gnu=aarch64-linux-gnu-gcc AR_aarch64_unknown_linux_gnu=aarch64-linux-gnu-ar \
      CARGO_TARGET_AARCH64_UNKNOWN_LINUX_GNU_LINKER=aarch64-linux-gnu-gcc \
      sh -c "cd /src && exec \"\$@\"" sh "$@"' sh "$@"
}

# cargo there, without the network: what the lock file names is loaded here.
cargo_inside() {
  "${CARGO:-cargo}" fetch --quiet --locked
  inside cargo "$@"
}

# A command for which the kernel starts programs of aarch64 by the emulator; the rest of the machine is left as it is.
# Programs see the name that they were called by (P).
with_aarch64() {
  # shellcheck disable=SC2016 # the inner shell's
  QEMU=$qemu unshare --user --map-root-user --mount sh -c '
    set -e
    mount -t binfmt_misc none /proc/sys/fs/binfmt_misc
    magic="\\x7fELF\\x02\\x01\\x01\\x00\\x00\\x00\\x00\\x00\\x00\\x00\\x00\\x00\\x02\\x00\\xb7\\x00"
    mask="\\xff\\xff\\xff\\xff\\xff\\xff\\xff\\x00\\xff\\xff\\xff\\xff\\xff\\xff\\xff\\xff\\xfe\\xff\\xff\\xff"
    printf ":qemu-aarch64:M::%s:%s:%s:PF" "$magic" "$mask" "$QEMU" > /proc/sys/fs/binfmt_misc/register
    exec "$@"' sh "$@"
}
may_start() { may_isolate && with_aarch64 "$program" --version > /dev/null 2>&1; }

# Nothing of what it is made of is newer.
is_current() {
  [ -x "$program" ] && [ -x "$qemu" ] &&
    [ -z "$(find .cargo Cargo.toml Cargo.lock crates -newer "$program" -not -path '*/tests/*' \
      \( -name '*.rs' -o -name '*.toml' -o -name Cargo.lock \) -print -quit)" ]
}

build() {
  # Static: it needs no library of the other processor here, and is what `make dist` would make.
  cargo_inside rustc --release --locked --target $triple -p seqloom --bin seqloom -- -C target-feature=+crt-static
  touch "$program"
}

# Tests in one process need no program: those that compare a vector form with the plain one.
kernels() {
  local names=() package
  for package in seqloom-format seqloom-calling seqloom-modes seqloom-runtime; do
    names+=(-p "$package")
  done
  local built
  built=$(cargo_inside test --release --locked --target $triple "${names[@]}" --lib --no-run --message-format=json |
    sed -n 's/.*"executable":"\([^"]*\)".*/\1/p')
  local filters=(slow5::stream_vbyte slow5::svb_zd slow5::ex_zd pod5::svb16 events::align hmm:: gapped:: placement:: sys::)
  local test
  for test in $built; do
    PROPTEST_CASES=${PROPTEST_CASES:-64} PROPTEST_DISABLE_FAILURE_PERSISTENCE=1 \
      "$qemu" -L "$root/usr/aarch64-linux-gnu" "$target${test#/target}" "${filters[@]}"
  done
}

demo() {
  may_start || skip "no binfmt_misc in a user namespace (Linux 6.7 has it)"
  local out=$target/demo bin=$target/demo/bin here file
  here=$(dirname "$target")/${PROFILE:-checked}
  "${CARGO:-cargo}" build --quiet --profile "${PROFILE:-checked}" -p seqloom -p seqloom-testkit
  rm -rf "$out"
  mkdir -p "$bin"
  ln -s "$program" "$bin/seqloom"
  ln -s "$here/seqloom-testkit" "$bin/seqloom-testkit"
  tests/demo.sh "$here" "$out/x86-64" > "$out/log"
  with_aarch64 tests/demo.sh "$bin" "$out/aarch64" > "$out/log-aarch64"
  for file in demo.fa.bwt.2bit.64 demo.fa.pac demo.fa.ann demo.fa.amb demo.bam demo.bam.bai; do
    cmp "$out/x86-64/$file" "$out/aarch64/$file"
  done
  # A comment has the command, with its program's folder.
  diff -r -I '^# .*seqloom align' "$out/x86-64/demo-metrics" "$out/aarch64/demo-metrics"
  sha256sum "$out/aarch64/demo.bam"
  echo "the demo's files are the same"
}

digests() {
  [ -n "${SEQLOOM_DATA:-}" ] || skip "SEQLOOM_DATA is not set"
  may_start || skip "no binfmt_misc in a user namespace (Linux 6.7 has it)"
  local test
  test=$("${CARGO:-cargo}" test --profile checked -p seqloom --test it --no-run --message-format=json |
    sed -n 's/.*"executable":"\([^"]*\/it-[^"]*\)".*/\1/p')
  # Emulated floating point takes methylation calls 60 times as long: the long tests' limits.
  (cd crates/cli && SEQLOOM_SLOW=1 SEQLOOM_PROGRAM=$program with_aarch64 "$test" --exact \
    digests::outputs_are_those_of_the_table --nocapture)
}

case ${1:-} in
  where)
    is_current || { echo "no program that is newer than the sources (make arm64)" >&2; exit 1; }
    printf '%s\n%s\n' "$qemu" "$program"
    exit ;;
  cargo) shift; make_root; cargo_inside "$@"; exit ;;
  with) shift; make_root; cd "$from"; with_aarch64 "$@"; exit ;;
esac
[ "$(uname -m)" = x86_64 ] || skip "this machine is no x86-64"
command -v apt-get > /dev/null || skip "the packages are Debian's, and there is no apt-get"
may_isolate || skip "no user namespaces"
wanted=("$@")
[ $# -gt 0 ] || wanted=(root build kernels demo digests)
for name in "${wanted[@]}"; do
  started=$SECONDS
  case $name in
    root) make_root ;;
    build | kernels | demo | digests) make_root; "$name" ;;
    *) sed -n 's/^# \?//; 5,14p' "$0" >&2; exit 2 ;;
  esac
  echo "== arm64, $name: passed in $((SECONDS - started)) s"
done

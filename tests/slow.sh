#!/usr/bin/env bash
# The long tests in parts, each of which takes less than 150 minutes on two cores and ends with a line of its own.
#   tests/slow.sh [PART...]     identity, modes, prep, shards, signal, fuzz, arm64 or rest; all without an argument
# A test of the command line belongs to the part that names its module below, and to the rest where none does.
set -euo pipefail
cd "$(dirname "$0")/.."
export SEQLOOM_SLOW=1
export RUST_TEST_THREADS=${RUST_TEST_THREADS:-$(($(nproc) + 1))}
cargo=${CARGO:-cargo}

all=(identity modes prep shards signal fuzz arm64 rest)
# Modules of crates/cli/tests/it.
declare -A modules=(
  [identity]="identity identity_scale certified_path"
  [modes]="by_score by_score_pairs by_score_planted ungapped ungapped_files spliced rna"
  [prep]="prep prep_catalogue prep_determinism prep_duplicates prep_duplicates_catalogue prep_faults prep_inputs prep_malformed prep_memory prep_orders
    prep_resume prep_steps duplicates umi umi_families metrics report_html"
  [shards]="shard shard_faults shard_memory shard_ray shard_resume shard_same_bytes shard_snakemake shard_start
    lanes stripes numa wide_places"
  [signal]="signal signal_frequency signal_hostile signal_methylation signal_pool signal_refusals signal_roundtrip
    signal_slow5tools signal_truth"
)
# Packages that are wholly of a part.
declare -A packages=(
  [prep]="seqloom-prep seqloom-report"
  [signal]="seqloom-signal seqloom-calling seqloom-columns seqloom-python-extension"
)

# Records compared with each referee: lines of program, version and number (testkit/src/referees.rs).
compared=$(mktemp)
trap 'rm -f "$compared"' EXIT
export SEQLOOM_COMPARED=$compared

run_tests() { "$cargo" test --profile checked "$@" --nocapture; }
# Words, each after an option (`-p A -p B`) or with something at its end (`a:: b::`).
each() { local option=$1 it; shift; for it in "$@"; do printf '%s %s ' "$option" "$it"; done; }
paths() { local it; for it in "$@"; do printf '%s:: ' "$it"; done; }

# shellcheck disable=SC2046,SC2086 # lists of names
part() {
  case $1 in
    fuzz)
      make fuzz fuzz-signal miri tsan
      return ;;
    arm64)
      tests/arm64.sh
      return ;;
    rest)
      local skipped=() others=() it
      for it in $(paths ${modules[*]}); do skipped+=(--skip "$it"); done
      for it in crates/cli/tests/*/main.rs; do
        it=$(basename "$(dirname "$it")")
        [ "$it" = it ] || others+=(--test "$it")
      done
      run_tests --workspace --exclude seqloom $(each --exclude ${packages[*]}) --
      run_tests -p seqloom --bins "${others[@]}" --
      run_tests -p seqloom --test it -- "${skipped[@]}"
      return ;;
    signal) tests/avx512.sh ;;
  esac
  [ -z "${packages[$1]:-}" ] || run_tests $(each -p ${packages[$1]}) --
  [ -z "${modules[$1]:-}" ] || run_tests -p seqloom --test it -- $(paths ${modules[$1]})
}

for name in ${modules[*]}; do
  [ -e "crates/cli/tests/it/$name.rs" ] || { echo "there are no tests called $name" >&2; exit 1; }
done
for name in ${packages[*]}; do
  grep -qrx "name = \"$name\"" crates/*/Cargo.toml || { echo "there is no package called $name" >&2; exit 1; }
done
wanted=("$@")
[ $# -gt 0 ] || wanted=("${all[@]}")
for name in "${wanted[@]}"; do
  [[ " ${all[*]} " == *" $name "* ]] || { echo "usage: $0 [PART...]; parts: ${all[*]}" >&2; exit 2; }
done
for name in "${wanted[@]}"; do
  started=$SECONDS
  : > "$compared"
  part "$name"
  tests/compared.sh "$compared"
  echo "== test-slow, part $name: passed in $(((SECONDS - started) / 60)) minutes"
done

#!/bin/bash
# Builds and installs seqloom into $PREFIX, as conda-build calls it.
set -euo pipefail

# The engine's flags are its own: AVX2 is found at run time to be there or not.
export CARGO_INCREMENTAL=0
if command -v cargo-bundle-licenses > /dev/null; then
  cargo-bundle-licenses --format yaml --output THIRDPARTY.yml
else
  echo "no cargo-bundle-licenses: no THIRDPARTY.yml" >&2
fi
cargo build --locked --release -p seqloom -j "${CPU_COUNT:-$(nproc)}"
program=${CARGO_TARGET_DIR:-target}/release/seqloom
install -D -m 755 "$program" "$PREFIX/bin/seqloom"
"$program" manual "$PREFIX/share/man/man1"
mkdir -p "$PREFIX/share/bash-completion/completions" "$PREFIX/share/zsh/site-functions" "$PREFIX/share/fish/vendor_completions.d"
"$program" completions bash > "$PREFIX/share/bash-completion/completions/seqloom"
"$program" completions zsh > "$PREFIX/share/zsh/site-functions/_seqloom"
"$program" completions fish > "$PREFIX/share/fish/vendor_completions.d/seqloom.fish"

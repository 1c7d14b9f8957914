#!/usr/bin/env bash
# All files of a release, in OUT/release: the archive of `make dist`, the wheel, the source as an archive, the notes of
# this version, checksums. It publishes nothing.
#   packaging/release.sh OUT
set -euo pipefail
mkdir -p "${1:?output folder}"
out=$(cd "$1" && pwd)
cd "$(dirname "$0")/.."
release=$out/release
rm -rf "$release"
mkdir "$release"

make dist OUT="$out"
cp "$out"/dist/seqloom-*.tar.gz "$release"
make wheel DIST="$release"

version=$(sed -n 's/^version = "\(.*\)"/\1/p' Cargo.toml | head -n 1)
git archive --format tar --prefix "seqloom-$version/" HEAD | gzip -n -9 > "$release/seqloom-$version-source.tar.gz"
packaging/notes.sh "$version" > "$release/NOTES.md"
(cd "$release" && sha256sum seqloom-* > SHA256SUMS && cat SHA256SUMS)

#!/usr/bin/env bash
# An archive of what a user needs: the program, man pages, completions, licences, documents; with
# checksums. The same files give the same archive.
#   tests/dist.sh FOLDER_OF_THE_PROGRAM OUTPUT_FOLDER
set -euo pipefail
program=$(cd "${1:?folder of the program}" && pwd)/seqloom
mkdir -p "${2:?output folder}"
out=$(cd "$2" && pwd)
cd "$(dirname "$0")/.."

version=$("$program" --version | cut -d ' ' -f 2)
name=seqloom-$version-$(uname -m)-linux
rm -rf "$out/$name" "$out/$name".tar.gz*
mkdir -p "$out/$name"/{bin,share/man,share/completions,docs}

install -m 755 "$program" "$out/$name/bin/seqloom"
"$program" manual "$out/$name/share/man/man1"
for shell in bash zsh fish; do
  "$program" completions "$shell" > "$out/$name/share/completions/seqloom.$shell"
done
cp README.md CHANGELOG.md ERRATA.md CITATION.cff LICENSE-MIT LICENSE-APACHE "$out/$name/"
cp docs/*.md docs/*.png "$out/$name/docs/"

# The oldest C library that has all that the program asks for.
needs=$(objdump -T "$program" | grep -o 'GLIBC_[0-9.]*' | sort -uV | tail -n 1)
tar -C "$out" --sort=name --owner=0 --group=0 --numeric-owner --mtime=@0 -cf - "$name" |
  gzip -n -9 > "$out/$name.tar.gz"
(cd "$out" && sha256sum "$name.tar.gz" > "$name.tar.gz.sha256")
rm -rf "${out:?}/$name"
echo "$out/$name.tar.gz (Linux with ${needs/_/ } or newer)"
cat "$out/$name.tar.gz.sha256"

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
name=seqloom-$version-$(tests/processor.sh "$program")-linux
# An engine that does not align writes records that are invented: it is for tests.
if ! "$program" align --engine fake ref.fa r.fq 2>&1 | grep -q "invalid value 'fake'"; then
  echo "$program has the engine of tests; build it alone, as \`make dist\` does" >&2
  exit 1
fi
rm -rf "$out/$name" "$out/$name".tar.gz*
mkdir -p "$out/$name"/{bin,share/man,share/completions,docs/how-to,docs/coming-from}

install -m 755 "$program" "$out/$name/bin/seqloom"
"$program" manual "$out/$name/share/man/man1"
for shell in bash zsh fish; do
  "$program" completions "$shell" > "$out/$name/share/completions/seqloom.$shell"
done
cp README.md CHANGELOG.md ERRATA.md CITATION.cff LICENSE-MIT LICENSE-APACHE "$out/$name/"
cp docs/*.md docs/*.png "$out/$name/docs/"
for room in how-to coming-from; do cp docs/$room/*.md "$out/$name/docs/$room/"; done

# What it asks others for: nothing, if it is static, else a C library no older than this.
if readelf -l "$program" | grep -q INTERP; then
  needs=$(objdump -T "$program" | grep -o 'GLIBC_[0-9.]*' | sort -uV | tail -n 1)
  needs="${needs/_/ } or newer"
else
  needs="no library"
fi
tar -C "$out" --sort=name --owner=0 --group=0 --numeric-owner --mtime=@0 -cf - "$name" |
  gzip -n -9 > "$out/$name.tar.gz"
(cd "$out" && sha256sum "$name.tar.gz" > "$name.tar.gz.sha256")
rm -rf "${out:?}/$name"
echo "$out/$name.tar.gz (needs $needs)"
cat "$out/$name.tar.gz.sha256"

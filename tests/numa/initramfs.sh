#!/usr/bin/env bash
# initramfs.sh OUT INIT PROGRAM DATA...: a root file system with busybox, INIT as /init, PROGRAM in
# /bin with the libraries it wants, and DATA in /data.
set -euo pipefail
out=$(realpath -m "$1") init=$2 program=$3
shift 3
root=$(mktemp -d)
trap 'rm -rf "$root"' EXIT
mkdir -p "$root"/{bin,proc,sys,dev,tmp,data}
cp "$(command -v busybox)" "$root/bin/busybox"
cp "$program" "$root/bin/"
strip --strip-debug "$root/bin/$(basename "$program")" 2>/dev/null || true
for file in "$root/bin/busybox" "$program"; do
  { ldd "$file" 2>/dev/null | grep -o '/[^ ]*' || true; } | while read -r library; do
    mkdir -p "$root$(dirname "$library")"
    cp -L "$library" "$root$library"
  done
done
cp -rL "$@" "$root/data/"
cp "$init" "$root/init"
chmod 755 "$root/init"
(cd "$root" && find . | cpio -o -H newc --quiet) > "$out"

#!/usr/bin/env bash
# Puts a Linux kernel for emulated test machines into FOLDER (kept between runs): Debian's cloud
# kernel, taken out of its package. It is not installed: that would bring an initramfs and more.
set -euo pipefail
folder=$1
[ -s "$folder/vmlinuz" ] && exit 0
mkdir -p "$folder"
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
package=$(apt-cache depends linux-image-cloud-amd64 | awk '/Depends: linux-image/ { print $2; exit }')
[ -n "$package" ] || { echo "no package linux-image-cloud-amd64 is known here" >&2; exit 1; }
apt-get download -qq "$package" 2>/dev/null
dpkg-deb --fsys-tarfile "$package"_*.deb | tar -x --wildcards './boot/vmlinuz-*'
cp boot/vmlinuz-* "$folder/vmlinuz.new"
mv "$folder/vmlinuz.new" "$folder/vmlinuz"

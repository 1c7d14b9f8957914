#!/usr/bin/env bash
# The demo with the program of an archive, unpacked in a folder that is all there is: no library, no
# /proc, no /dev. Wants to be root, and Python for the way in.
#   tests/dist_root.sh FOLDER_OF_THE_TEST_KIT FOLDER_OF_THE_ARCHIVE
set -euo pipefail
kit=$(cd "${1:?folder of the test kit}" && pwd)/seqloom-testkit
archive=$(echo "${2:?folder of the archive}"/seqloom-*.tar.gz)
archive=$(realpath "$archive")
cd "$(dirname "$0")/.."

skip() {
  echo "skipped: $1"
  [ -z "${SEQLOOM_SKIP_LOG:-}" ] || echo "make dist: an empty root: $1" >> "$SEQLOOM_SKIP_LOG"
  exit
}
[ "$(id -u)" = 0 ] || skip "only root may change the root"
command -v python3 > /dev/null || skip "no python3"

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
(cd "$(dirname "$archive")" && sha256sum --quiet -c "$(basename "$archive").sha256")
mkdir -p "$work/root/out" "$work/bin"
tar -C "$work/root" --strip-components=1 -xzf "$archive"

# The demo calls both programs by a folder's name, with files by theirs.
cp "$kit" "$work/bin/seqloom-testkit"
cat > "$work/bin/seqloom" <<PROGRAM
#!/usr/bin/env python3
import os, sys
os.chroot("$work/root")
os.chdir("/out")
os.execv("/bin/seqloom", ["seqloom", *sys.argv[1:]])
PROGRAM
chmod 755 "$work/bin/seqloom"
(cd "$work/root/out" && "$work/bin/seqloom" --version)
tests/demo.sh "$work/bin" "$work/root/out" > "$work/log" 2>&1 || { cat "$work/log"; exit 1; }
for file in demo.bam demo.bam.bai demo.html demo.json; do
  [ -s "$work/root/out/$file" ] || { echo "no $file" >&2; exit 1; }
done
echo "in an empty root: the demo passes"

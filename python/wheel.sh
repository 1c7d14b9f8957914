#!/usr/bin/env bash
# A wheel that carries the program and the extension: dist/seqloom-VERSION-cp310-abi3-PLATFORM.whl.
#   python/wheel.sh PROGRAM EXTENSION OUTPUT_FOLDER TOOLS_FOLDER
# PLATFORM is what auditwheel finds that both run on. TOOLS_FOLDER is a virtual environment with what
# builds the wheel, which is made if it is missing.
set -euo pipefail
program=$(realpath "${1:?the program}")
extension=$(realpath "${2:?the extension}")
mkdir -p "${3:?output folder}" "$(dirname "${4:?folder for tools}")"
out=$(realpath "$3")
tools=$(realpath "$4")
cd "$(dirname "$0")/.."

if [ ! -e "$tools/complete" ]; then
  rm -rf "$tools"
  python3 -m venv "$tools"
  "$tools/bin/pip" install --quiet --disable-pip-version-check --no-compile hatchling auditwheel
  touch "$tools/complete"
fi

stage=$(mktemp -d)
trap 'rm -rf "$stage"' EXIT
cp -r python/pyproject.toml python/hatch_build.py python/README.md python/seqloom "$stage"
cp Cargo.toml LICENSE-MIT LICENSE-APACHE "$stage"
# The driver of runs on many machines, of which there is one.
cp workflow/seqloom_ray.py "$stage/seqloom/ray.py"
find "$stage" -name __pycache__ -prune -exec rm -r {} +
mkdir "$stage/seqloom/_bin"
install -m 755 "$program" "$stage/seqloom/_bin/seqloom"
install -m 755 "$extension" "$stage/seqloom/_native.abi3.so"
# The tables of lines are most of them. STRIP: of another processor than this machine's.
# shellcheck disable=SC2086 # a command and its options
${STRIP:-strip} --strip-unneeded "$stage/seqloom/_bin/seqloom" "$stage/seqloom/_native.abi3.so"
"$stage/seqloom/_bin/seqloom" --dump-options |
  "$tools/bin/python" python/generate.py > "$stage/seqloom/_commands.py"

build() {
  (cd "$stage" && SEQLOOM_WHEEL_TAG="$1" SOURCE_DATE_EPOCH=315532800 \
    "$tools/bin/python" -m hatchling build -t wheel -d "$2" >/dev/null 2>&1)
}
build "cp310-abi3-linux_$(tests/processor.sh "$program")" "$stage/probe"
shown=$("$tools/bin/auditwheel" show "$stage"/probe/*.whl 2>/dev/null | tr -s '[:space:]' ' ')
platform=$(sed -nE 's/.*following platform tag: "([a-z0-9_]+)".*/\1/p' <<< "$shown")
rm -f "$out"/seqloom-*.whl
build "cp310-abi3-${platform:?auditwheel names no platform: $shown}" "$out"
ls "$out"/seqloom-*.whl

#!/usr/bin/env bash
# Installs the programs that the tests compare with: Debian packages where this runs as root on a
# Debian, and MultiQC in a virtual environment of its own (.venv). What cannot be installed is
# named; the tests that want it then say that they are skipped.
set -euo pipefail
cd "$(dirname "$0")/.."

declare -A package_of=(
  [bwa]=bwa [samtools]=samtools [sambamba]=sambamba [samblaster]=samblaster [dwgsim]=dwgsim
  [bgzip]=tabix [zstd]=zstd [java]=default-jre-headless [g++]=g++ [cmake]=cmake [gzip]=gzip
)
missing=()
for program in "${!package_of[@]}"; do
  command -v "$program" >/dev/null || missing+=("${package_of[$program]}")
done
[ -e /usr/share/java/picard.jar ] || missing+=(picard-tools)
[ -e /usr/include/zlib.h ] || missing+=(zlib1g-dev)

if [ ${#missing[@]} -gt 0 ]; then
  if [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null; then
    echo "installing: ${missing[*]}"
    apt-get update -qq
    DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends \
      "${missing[@]}" >/dev/null
  else
    echo "not installed, and no right to install: ${missing[*]}" >&2
  fi
fi

if [ ! -x .venv/bin/multiqc ]; then
  if python3 -m venv .venv && .venv/bin/pip install --quiet --disable-pip-version-check multiqc
  then echo "installed: MultiQC in .venv"
  else echo "MultiQC could not be installed in .venv" >&2
  fi
fi

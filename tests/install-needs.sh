#!/usr/bin/env bash
# Installs the programs that the tests compare with: Debian packages where this runs as root on a
# Debian, current releases of some in a folder of their own (tests/install-referees.sh), and those
# written in Python in a virtual environment of its own (.venv). What cannot be installed is named;
# the tests that want it then say that they are skipped.
#
#   tests/install-needs.sh [debian|referees|python|rust]    all but the last without an argument;
#                                                           that takes minutes
set -euo pipefail
cd "$(dirname "$0")/.."

debian() {
  local -A package_of=(
    [bwa]=bwa [samtools]=samtools [sambamba]=sambamba [samblaster]=samblaster [dwgsim]=dwgsim
    [bgzip]=tabix [zstd]=zstd [java]=default-jre-headless [g++]=g++ [cmake]=cmake [gzip]=gzip
    [gpgv]=gpgv
    [qemu-system-x86_64]=qemu-system-x86 [qemu-x86_64]=qemu-user [busybox]=busybox-static [cpio]=cpio
    [minimap2]=minimap2 [bamsormadup]=biobambam2 [nanopolish]=nanopolish [h5dump]=hdf5-tools
    [bowtie-align-s]=bowtie [bowtie2-align-s]=bowtie2 [hisat2-align-s]=hisat2 [chromium]=chromium [man]=man-db [zsh]=zsh [fish]=fish
  )
  local missing=()
  for program in "${!package_of[@]}"; do
    command -v "$program" >/dev/null || missing+=("${package_of[$program]}")
  done
  [ -e /usr/share/java/picard.jar ] || missing+=(picard-tools)
  [ -e /usr/include/zlib.h ] || missing+=(zlib1g-dev)
  if [ ! -x .venv/bin/python ]; then
    python3 -c 'import ensurepip' 2>/dev/null || missing+=(python3-venv)
  fi

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
}

# Packages of .venv that are not there yet. To look for the module that each of them brings takes no
# time, to import it would take seconds.
absent_packages() {
  .venv/bin/python - <<'PYTHON'
from importlib.util import find_spec
from pathlib import Path

package_of = {
    "multiqc": "multiqc",
    "pyslow5": "pyslow5",
    "pod5": "pod5",
    "h5py": "h5py",
    "vbz_h5py_plugin": "vbz-h5py-plugin",
    "blue_crab": "blue-crab",
    "ont_fast5_api": "ont-fast5-api",
    "pysam": "pysam",
    "isal": "isal",
    "zlib_ng": "zlib-ng",
    "oxbow": "oxbow",
    "cffconvert": "cffconvert",
    "zizmor": "zizmor",
    "hatchling": "hatchling",
    "ray": "ray",
    "snakemake": "snakemake",
    "mypy": "mypy",
    "numpy": "numpy",
    "polars": "polars",
    "pyarrow": "pyarrow",
    "pandas": "pandas",
    "duckdb": "duckdb",
    "ipykernel": "ipykernel",
    "jupyter_client": "jupyter-client",
}
# Some packages bring a program and no module.
is_there = lambda it: find_spec(it) or Path(".venv/bin", it).exists()
print(*(package for module, package in package_of.items() if not is_there(module)))
PYTHON
}

# Bytecode is made when a module is first used, which most are never.
pip_install() {
  .venv/bin/pip install --quiet --disable-pip-version-check --no-compile "$@"
}

python() {
  if [ ! -x .venv/bin/python ]; then
    python3 -m venv .venv || { echo "no virtual environment can be made in .venv" >&2; return; }
  fi
  local absent
  absent=($(absent_packages))
  if [ ${#absent[@]} = 0 ] || pip_install "${absent[@]}"; then
    return
  fi
  for package in "${absent[@]}"; do # all but those at fault
    pip_install "$package" || echo "$package could not be installed in .venv" >&2
  done
}

referees() {
  command -v apt-get >/dev/null || { echo "the current releases are packages of Debian" >&2; return; }
  tests/install-referees.sh || echo "the current releases of the referees are not all there" >&2
}

rust() {
  command -v fgumi >/dev/null || cargo install --quiet fgumi --version 0.9.0
}

case ${1:-all} in
  debian) debian ;;
  referees) referees ;;
  python) python ;;
  rust) rust ;;
  all) debian; referees; python ;;
  *) echo "usage: $0 [debian|referees|python|rust]" >&2; exit 2 ;;
esac

#!/bin/sh
# The processor that a program or library is for, as `uname -m` has it: it may be another one's than this machine's.
#   tests/processor.sh FILE
set -eu
machine=$(readelf -h "${1:?a program}" | sed -n 's/^ *Machine: *//p')
case $machine in
  AArch64) echo aarch64 ;;
  *X86-64) echo x86_64 ;;
  *) echo "$1 is for $machine" >&2; exit 1 ;;
esac

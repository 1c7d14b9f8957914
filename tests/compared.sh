#!/usr/bin/env bash
# Says how many records were compared with each program: adds up what tests have noted in a file that
# SEQLOOM_COMPARED named, lines of program, version and number.
#   tests/compared.sh FILE
set -euo pipefail
awk '{ records[$1 " " $2] += $3 } END { for (it in records) print "compared with " it ": " records[it] " records" }' \
  "${1:?file}" | sort

#!/usr/bin/env bash
# The lines of CHANGELOG.md about a version: those below `## VERSION`, or below `## Unreleased` where there is none.
#   packaging/notes.sh VERSION
set -euo pipefail
cd "$(dirname "$0")/.."
version=${1:?a version}
title=$version
grep -qxF "## $version" CHANGELOG.md || title=Unreleased
notes=$(awk -v title="## $title" '/^## / { on = $0 == title; next } on' CHANGELOG.md)
[ -n "$notes" ] || { echo "CHANGELOG.md says nothing of $version" >&2; exit 1; }
printf '%s\n' "$notes"

#!/bin/bash
# Which C++ compiler `make build` takes for the engine. Its crate calls clang from 19 and gcc from 15
# representative; older ones make it slower. Prints the value for CXX, where it is not the usual
# one, and says on standard error which it is.
set -euo pipefail

say() { echo "the engine's C++ is compiled by $1" >&2; }

if [ -n "${CXX:-}" ]; then
    say "$CXX, which CXX names"
    exit
fi

# compiles COMPILER: whether it finds its headers and library.
compiles() {
    local program
    program=$(mktemp)
    echo '#include <vector>
int main() { return (int)std::vector<int>().size(); }' |
        "$1" -x c++ - -o "$program" 2> /dev/null && "$program"
    local status=$?
    rm -f "$program"
    return $status
}

for family in clang++:19 g++:15; do
    name=${family%:*} floor=${family#*:}
    for candidate in $(seq -f "$name-%.0f" 40 -1 "$floor") "$name"; do
        command -v "$candidate" > /dev/null || continue
        version=$("$candidate" -dumpversion)
        if [ "${version%%.*}" -ge "$floor" ] && compiles "$candidate"; then
            say "$candidate $version"
            echo "$candidate"
            exit
        fi
    done
done
say "the usual compiler; clang from 19 or gcc from 15 would make it faster"

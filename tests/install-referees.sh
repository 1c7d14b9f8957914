#!/usr/bin/env bash
# Installs the current releases of the programs that tests compare with, from Debian's unstable suite (its signature
# is checked), into a folder of their own: nothing of the system changes. They run with the C library that they were
# built for. What is there already is not installed again.
#   tests/install-referees.sh [FOLDER]     FOLDER: what SEQLOOM_REFEREES says, or seqloom-referees in the user's cache
#     FOLDER/bin       samtools, bwa, bwa-mem2, bowtie2, bowtie2-build-s, picard
#     FOLDER/root      what Debian's packages hold
#     FOLDER/jars      the class path of Picard
#     FOLDER/VERSIONS  lines of package and version
set -euo pipefail
folder=${1:-${SEQLOOM_REFEREES:-${XDG_CACHE_HOME:-${HOME:?}/.cache}/seqloom-referees}}
# The least that testkit/src/referees.rs wants. The suite moves on, and a later release is the current one then.
wanted=(picard:3.5.0 samtools:1.24 bwa:0.7.19 bwa-mem2:2.3 bowtie2:2.5.5)

# The first package that is not there, or is older than wanted.
missing() {
  local it there
  for it in "${wanted[@]}"; do
    there=$(sed -n "s/^${it%:*} //p" "$folder/VERSIONS" 2>/dev/null || true)
    dpkg --compare-versions "${there:-0}" ge "${it#*:}" || { echo "${it/:/ }"; return; }
  done
}

# Picard's class path: what its jar needs and that needs in turn, each jar behind those that its manifest names, as it
# names them where the system has its own, older ones. What the installed Java is too old for (Barclay, which parses arguments) is left to the system.
class_path() {
  local java
  java=$(java -version 2>&1 | sed -n 's/.*version "\([0-9]*\).*/\1/p')
  cd "$folder/root/usr/share/java"
  python3 - "${java:-999}" <<'PYTHON' | tsort | sed "s|^|$PWD/|" | paste -sd:
import pathlib, sys, zipfile

def wants(files):
    """The Java that a jar wants, by a class's version."""
    it = next((it for it in files.namelist() if it.endswith(".class") and not it.startswith("META-INF")), None)
    return int.from_bytes(files.read(it)[6:8], "big") - 44 if it else 0

needed_by = {}
for jar in pathlib.Path().glob("*.jar"):
    with zipfile.ZipFile(jar) as files:
        if jar.is_symlink() or wants(files) > int(sys.argv[1]):
            continue
        manifest = files.read("META-INF/MANIFEST.MF").decode().replace("\r", "").replace("\n ", "")
    lines = (line.split()[1:] for line in manifest.splitlines() if line.startswith("Class-Path:"))
    needed_by[jar.name] = {pathlib.Path(pathlib.Path(it).name).resolve().name for line in lines for it in line}
jars, todo = set(), {pathlib.Path("picard.jar").resolve().name}
while todo:
    jars |= todo
    todo = {it for jar in todo for it in needed_by[jar]} & needed_by.keys() - jars
for jar in jars:
    print(*(f"{it} {jar}" for it in {jar, *needed_by[jar]} & jars), sep="\n")
PYTHON
}

picard() {
  # shellcheck disable=SC2016 # the script's own
  printf '#!/bin/sh\nexec java -cp "$(cat %s)" picard.cmdline.PicardCommandLine "$@"\n' "$folder/jars" \
    > "$folder/bin/picard"
  chmod +x "$folder/bin/picard"
  class_path > "$folder/.jars"
  mv "$folder/.jars" "$folder/jars"
}

mkdir -p "$folder"
folder=$(cd "$folder" && pwd)
exec 9> "$folder/.lock"
flock 9
if [ -z "$(missing)" ]; then
  [ -e "$folder/jars" ] || picard
  exit 0
fi
# The mirror that the system's own sources name.
mirror=$(sed -n 's/^URIs: *\([^ ]*\).*/\1/p' /etc/apt/sources.list.d/*.sources 2>/dev/null |
  grep '/debian/*$' | head -n1)
[ -n "$mirror" ] || mirror=$(awk '$1 == "deb" && $2 ~ /\/debian\/*$/ {print $2; exit}' /etc/apt/sources.list)
work=$(mktemp -d "$folder/.work.XXXXXX")
trap 'rm -rf "$work"' EXIT
mkdir -p "$work"/{lists/partial,cache/archives/partial,debs,root}
echo "deb [signed-by=/usr/share/keyrings/debian-archive-keyring.gpg] $mirror sid main" > "$work/sources.list"
apt() {
  apt-get -qq -oDir::State::Lists="$work/lists" -oDir::Cache="$work/cache" -oDir::Etc::SourceList="$work/sources.list" \
    -oDir::Etc::SourceParts=/dev/null -oDir::State::status=/dev/null -oAPT::Sandbox::User=root \
    -oAPT::Architecture=amd64 -oAPT::Architectures::=amd64 "$@"
}
apt update
cd "$work/debs"
# Picard and the jars it needs.
jars=(libpicard-java libbarclay-java libcommons-collections4-java libcommons-io-java libcommons-lang-java
  libcommons-lang3-java libcommons-math3-java libgkl-java libguava-java libhtsjdk-java libjoptsimple-java
  libcommons-compress-java libcommons-jexl2-java libjson-java libngs-java librhino-java libsnappy-java
  libcommons-logging-java libgatk-native-bindings-java libcommons-codec-java libreflections-java libjavassist-java
  libslf4j-java liblog4j2-java)
# Programs with all that they need, the C library included.
native=$(apt -s --no-install-recommends install samtools bwa bwa-mem2 bowtie2 | awk '/^Inst/ {print $2}' |
  grep -E '^(samtools|bwa|bwa-mem2|bowtie2|lib|perl|zlib)' | sort -u)
# shellcheck disable=SC2086 # a list of names
apt download "${jars[@]}" $native
for package in *.deb; do dpkg -x "$package" "$work/root"; done
for package in libpicard-java samtools bwa bwa-mem2 bowtie2; do
  echo "${package/libpicard-java/picard} $(dpkg-deb -f "${package}"_*.deb Version)"
done > "$work/VERSIONS"

root=$folder/root
rm -rf "$root" "$folder"/{bin,jars,VERSIONS}
mv "$work/root" "$root"
mkdir "$folder/bin"
loader=$(find "$root" -name ld-linux-x86-64.so.2 | head -n1)
libraries=$(find "$root" -name '*.so*' -printf '%h\n' | sort -u | grep -vE '/(perl|jni)' | paste -sd:)
# A name in bin, the program, and what it is given before its arguments: of several builds of a program the one
# that it would start itself, and of Bowtie 2 what its wrapper starts, as the wrapper does.
while read -r name program options; do
  file=$root/usr/bin/$program
  for kind in .avx2 -v256 -sse2; do
    if [ -e "$file$kind" ]; then file=$file$kind; break; fi
  done
  printf '#!/bin/sh\nexec %s --library-path %s %s %s "$@"\n' "$loader" "$libraries" "$file" "$options" \
    > "$folder/bin/$name"
done <<'PROGRAMS'
samtools samtools
bwa bwa
bwa-mem2 bwa-mem2
bowtie2 bowtie2-align-s --wrapper basic-0
bowtie2-build-s bowtie2-build-s
PROGRAMS
picard
chmod +x "$folder"/bin/*
# The file that says that all is there comes last.
mv "$work/VERSIONS" "$folder/VERSIONS"
[ -z "$(missing)" ] || { echo "Debian's unstable suite has no $(missing) or later" >&2; exit 1; }

#!/usr/bin/env bash
# Fetches programs in Java, and the jars they need, with Maven, from the registry that Maven is set up to use.
#   tests/install-jars.sh gatk|gatk-4.6|nextflow [FOLDER]
#     gatk        GATK 4.7.0.0 (360 files, 430 MB), which recalibration is compared with; FOLDER: .gatk, or what
#                 SEQLOOM_GATK says. Its htsjdk is that of tests/install-referees.sh: the registry has none
#     gatk-4.6    the GATK before it, 4.6.2.0
#     nextflow    Nextflow 24.10.5 (53 files, 40 MB), which runs the modules of packaging/nf-core in the long tests;
#                 FOLDER: .nextflow-jars, or what SEQLOOM_NEXTFLOW says
set -euo pipefail
cd "$(dirname "$0")/.."

# What is excluded is not in the central registry: the tests' recalibration, and files of this machine, do not need it.
case ${1:-} in
  gatk)
    artifact=org.broadinstitute:gatk:4.7.0.0
    folder=${2:-${SEQLOOM_GATK:-.gatk}}
    tests/install-referees.sh
    referees=${SEQLOOM_REFEREES:-${XDG_CACHE_HOME:-${HOME:?}/.cache}/seqloom-referees}
    added=("$referees"/root/usr/share/java/htsjdk-[0-9]*.jar)
    excluded=(com.github.samtools:htsjdk org.apache.orc:* com.fasterxml.jackson.module:jackson-module-scala_2.13)
    ;;
  gatk-4.6)
    artifact=org.broadinstitute:gatk:4.6.2.0
    folder=${2:-${SEQLOOM_GATK:-.gatk}}
    excluded=(org.apache.orc:* com.fasterxml.jackson.module:jackson-module-scala_2.13)
    ;;
  nextflow)
    artifact=io.nextflow:nextflow:24.10.5
    folder=${2:-${SEQLOOM_NEXTFLOW:-.nextflow-jars}}
    excluded=(io.nextflow:nf-httpfs)
    ;;
  *) echo "usage: $0 gatk|gatk-4.6|nextflow [FOLDER]" >&2; exit 2 ;;
esac
IFS=: read -r group name version <<< "$artifact"
jar=$name-$version.jar

if [ -e "$folder/$jar" ]; then
  echo "$name $version is installed in $folder"
  exit
fi
for other in "$folder/$name"-[0-9]*.jar; do
  [ ! -e "$other" ] || { echo "$other is there already: remove $folder, or give another" >&2; exit 1; }
done
command -v mvn >/dev/null || { echo "Maven (mvn) is not installed" >&2; exit 1; }

exclusions() {
  local it
  for it in "${excluded[@]}"; do
    echo "<exclusion><groupId>${it%%:*}</groupId><artifactId>${it#*:}</artifactId></exclusion>"
  done
}

# Into a folder of its own first: a folder with the name has all of it.
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cat > "$work/pom.xml" <<POM
<project xmlns="http://maven.apache.org/POM/4.0.0">
  <modelVersion>4.0.0</modelVersion>
  <groupId>seqloom</groupId>
  <artifactId>$name-referee</artifactId>
  <version>1</version>
  <packaging>pom</packaging>
  <dependencies>
    <dependency>
      <groupId>$group</groupId>
      <artifactId>$name</artifactId>
      <version>$version</version>
      <exclusions>
        $(exclusions)
      </exclusions>
    </dependency>
  </dependencies>
</project>
POM
mvn -q -B -f "$work/pom.xml" dependency:copy-dependencies -DoutputDirectory="$work/jars"
mkdir -p "$folder"
[ -z "${added:-}" ] || cp "${added[@]}" "$folder"
# The jar that tells that the program is there comes last.
find "$work/jars" -name '*.jar' ! -name "$jar" -exec mv -t "$folder" {} +
mv "$work/jars/$jar" "$folder"
echo "installed: $name $version in $folder"

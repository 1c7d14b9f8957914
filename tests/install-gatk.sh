#!/usr/bin/env bash
# Fetches GATK 4.6.2.0 and the jars it needs (363 files, 424 MB) with Maven, from the registry that
# Maven is set up to use, for the tests that compare base quality score recalibration with it.
#   tests/install-gatk.sh [FOLDER]      FOLDER: .gatk, or what SEQLOOM_GATK says
set -euo pipefail
cd "$(dirname "$0")/.."

folder=${1:-${SEQLOOM_GATK:-.gatk}}
if [ -e "$folder/gatk-4.6.2.0.jar" ]; then
  echo "GATK is installed in $folder"
  exit
fi
command -v mvn >/dev/null || { echo "Maven (mvn) is not installed" >&2; exit 1; }

# Into a folder of its own first: a folder with the name has all of it.
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
# The two exclusions are not in the central registry, and recalibration does not need them.
cat > "$work/pom.xml" <<'POM'
<project xmlns="http://maven.apache.org/POM/4.0.0">
  <modelVersion>4.0.0</modelVersion>
  <groupId>seqloom</groupId>
  <artifactId>gatk-referee</artifactId>
  <version>1</version>
  <packaging>pom</packaging>
  <dependencies>
    <dependency>
      <groupId>org.broadinstitute</groupId>
      <artifactId>gatk</artifactId>
      <version>4.6.2.0</version>
      <exclusions>
        <exclusion><groupId>org.apache.orc</groupId><artifactId>*</artifactId></exclusion>
        <exclusion>
          <groupId>com.fasterxml.jackson.module</groupId>
          <artifactId>jackson-module-scala_2.13</artifactId>
        </exclusion>
      </exclusions>
    </dependency>
  </dependencies>
</project>
POM
mvn -q -B -f "$work/pom.xml" dependency:copy-dependencies -DoutputDirectory="$work/jars"
mkdir -p "$folder"
# The jar that tells that GATK is there comes last.
find "$work/jars" -name '*.jar' ! -name 'gatk-4.6.2.0.jar' -exec mv -t "$folder" {} +
mv "$work/jars/gatk-4.6.2.0.jar" "$folder"
echo "installed: GATK 4.6.2.0 in $folder"

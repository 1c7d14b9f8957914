#!/usr/bin/env bash
# Fetches Nextflow 24.10.5 and the jars it needs (53 files, 40 MB) with Maven, from the registry that Maven is set up to
# use, for the long tests that run the modules of packaging/nf-core. Of nf-test there is no package there.
#   tests/install-nextflow.sh [FOLDER]      FOLDER: .nextflow-jars, or what SEQLOOM_NEXTFLOW says
set -euo pipefail
cd "$(dirname "$0")/.."

folder=${1:-${SEQLOOM_NEXTFLOW:-.nextflow-jars}}
if [ -e "$folder/nextflow-24.10.5.jar" ]; then
  echo "Nextflow is installed in $folder"
  exit
fi
command -v mvn >/dev/null || { echo "Maven (mvn) is not installed" >&2; exit 1; }

# Into a folder of its own first: a folder with the name has all of it.
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
# The exclusion is not in the central registry, and files of this machine do not need it.
cat > "$work/pom.xml" <<'POM'
<project xmlns="http://maven.apache.org/POM/4.0.0">
  <modelVersion>4.0.0</modelVersion>
  <groupId>seqloom</groupId>
  <artifactId>nextflow-referee</artifactId>
  <version>1</version>
  <packaging>pom</packaging>
  <dependencies>
    <dependency>
      <groupId>io.nextflow</groupId>
      <artifactId>nextflow</artifactId>
      <version>24.10.5</version>
      <exclusions>
        <exclusion><groupId>io.nextflow</groupId><artifactId>nf-httpfs</artifactId></exclusion>
      </exclusions>
    </dependency>
  </dependencies>
</project>
POM
mvn -q -B -f "$work/pom.xml" dependency:copy-dependencies -DoutputDirectory="$work/jars"
mkdir -p "$folder"
# The jar that tells that Nextflow is there comes last.
find "$work/jars" -name '*.jar' ! -name 'nextflow-24.10.5.jar' -exec mv -t "$folder" {} +
mv "$work/jars/nextflow-24.10.5.jar" "$folder"
echo "installed: Nextflow 24.10.5 in $folder"

//! Allocators that a program can be given, and the programs that others do the steps with.

use std::path::{Path, PathBuf};
use std::process::Command;

use super::PrepMemory;
use crate::programs::is_there;

/// The read group that every record gets.
pub(super) const READ_GROUP: &str = "ID:lab LB:lib SM:sample PL:ILLUMINA PU:unit";
/// The same as samtools wants it.
const READ_GROUP_LINE: &str = "@RG\\tID:lab\\tLB:lib\\tSM:sample\\tPL:ILLUMINA\\tPU:unit";
/// Folders where libraries are.
const LIBRARY_FOLDERS: [&str; 4] =
    ["/usr/lib/x86_64-linux-gnu", "/usr/lib/aarch64-linux-gnu", "/usr/lib64", "/usr/lib"];
/// Java's heap: more than these steps need of inputs of a few million records.
const JAVA: &str = "-Xmx4g";

/// Options of Java, under a name: heap, collector.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct JavaOptions {
    pub(crate) name: String,
    /// Words with spaces between.
    pub(crate) options: String,
}

impl std::str::FromStr for JavaOptions {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let wrong = || format!("{text:?} is not NAME=OPTIONS, such as parallel=-Xmx4g");
        let (name, options) = text.split_once('=').ok_or_else(wrong)?;
        let is_option = |word: &str| word.starts_with('-');
        if name.is_empty() || name.contains('-') || !options.split_whitespace().all(is_option) {
            return Err(wrong());
        }
        Ok(Self { name: name.to_owned(), options: options.to_owned() })
    }
}

/// An allocator: the system's, or a library that is preloaded.
#[derive(Debug, Clone)]
pub(crate) struct Allocator {
    /// Its name in tables.
    pub(crate) name: &'static str,
    /// What is preloaded.
    pub(crate) library: Option<PathBuf>,
}

/// The allocators that this machine has.
#[must_use]
pub(crate) fn allocators() -> Vec<Allocator> {
    let libraries: [(&'static str, &[&str]); 4] = [
        ("jemalloc", &["libjemalloc.so.2"]),
        ("tcmalloc", &["libtcmalloc_minimal.so.4", "libtcmalloc.so.4"]),
        ("tbbmalloc", &["libtbbmalloc_proxy.so.2"]),
        ("mimalloc", &["libmimalloc.so.2", "libmimalloc.so.2.0"]),
    ];
    let find = |files: &[&str]| {
        let folders = LIBRARY_FOLDERS.iter().map(Path::new);
        let mut paths = folders.flat_map(|folder| files.iter().map(|file| folder.join(file)));
        paths.find(|path| path.exists())
    };
    let mut all = vec![Allocator { name: "system", library: None }];
    for (name, files) in libraries {
        all.extend(find(files).map(|library| Allocator { name, library: Some(library) }));
    }
    all
}

/// Another program, or several in a pipe.
#[derive(Debug, Clone)]
pub(crate) struct Tool {
    /// Its name in tables.
    pub(crate) name: String,
    /// Lines of the shell; the variables in them are set for it.
    line: &'static str,
    /// Variables of this tool alone.
    own: Vec<(&'static str, String)>,
}

/// What is known of a tool.
struct Known {
    name: &'static str,
    /// What must be there.
    needs: &'static [&'static str],
    /// See [`Tool`].
    line: &'static str,
}

const PICARD_JAR: &str = "/usr/share/java/picard.jar";
const QUIETLY: &str = "QUIET=true VERBOSITY=ERROR VALIDATION_STRINGENCY=SILENT";

const ELPREP: &str = "elPrep";
const PICARD: &str = "samtools, Picard";

const TOOLS: [Known; 4] = [
    Known {
        name: "samtools, samblaster",
        needs: &["samtools", "samblaster"],
        line: r#"samtools view -h "$IN" | samblaster --ignoreUnmated | samtools view -u -F 4 - |
            samtools addreplacerg -w -m overwrite_all -r "$RG" -u - |
            samtools sort -@ "$N" -T "$TMP/sort" -o "$OUT" -"#,
    },
    Known {
        name: "sambamba",
        needs: &["samtools", "sambamba"],
        line: r#"sambamba view -q -t "$N" -f bam -l 1 -F 'not unmapped' -o "$TMP/1.bam" "$IN" &&
            samtools addreplacerg -@ "$N" -w -m overwrite_all -r "$RG" \
                -O bam,level=1 -o "$TMP/2.bam" "$TMP/1.bam" &&
            sambamba sort -q -t "$N" -l 1 --tmpdir "$TMP" -o "$TMP/3.bam" "$TMP/2.bam" &&
            sambamba markdup -q -t "$N" --tmpdir "$TMP" "$TMP/3.bam" "$OUT""#,
    },
    Known {
        name: PICARD,
        needs: &["samtools", "java", PICARD_JAR],
        line: r#"samtools view -u -F 4 "$IN" |
            $PICARD CleanSam I=/dev/stdin O=/dev/stdout COMPRESSION_LEVEL=0 $QUIETLY |
            $PICARD AddOrReplaceReadGroups I=/dev/stdin O="$TMP/1.bam" SORT_ORDER=coordinate \
                COMPRESSION_LEVEL=1 ID=lab LB=lib SM=sample PL=ILLUMINA PU=unit TMP_DIR="$TMP" \
                $QUIETLY &&
            $PICARD MarkDuplicates I="$TMP/1.bam" O="$OUT" M="$TMP/metrics.txt" TMP_DIR="$TMP" \
                $QUIETLY"#,
    },
    Known {
        name: ELPREP,
        needs: &["elprep"],
        line: r#"elprep filter "$IN" "$OUT" --filter-unmapped-reads --clean-sam \
            --replace-reference-sequences "$DICT" --replace-read-group "$GROUP" \
            --mark-duplicates --sorting-order coordinate --nr-of-threads "$N""#,
    },
];

/// The programs that this machine has: elPrep with each level of GOGC, Picard with each of the
/// options of Java.
#[must_use]
pub(crate) fn tools(gogc: &[String], java: &[JavaOptions]) -> Vec<Tool> {
    let is_here = |tool: &&Known| tool.needs.iter().all(|program| is_there(program));
    TOOLS.iter().filter(is_here).flat_map(|tool| variants(tool, gogc, java)).collect()
}

fn variants(tool: &Known, gogc: &[String], java: &[JavaOptions]) -> Vec<Tool> {
    let variant = |name: String, own| Tool { name, line: tool.line, own };
    let picard = |options: &str| {
        let line = format!("java {options} -jar {PICARD_JAR}");
        vec![("PICARD", line), ("QUIETLY", QUIETLY.to_owned())]
    };
    match tool.name {
        ELPREP if !gogc.is_empty() => {
            let with = |level: &String| {
                variant(format!("{ELPREP}, GOGC={level}"), vec![("GOGC", level.clone())])
            };
            gogc.iter().map(with).collect()
        }
        PICARD if java.is_empty() => vec![variant(PICARD.to_owned(), picard(JAVA))],
        PICARD => {
            let with =
                |of: &JavaOptions| variant(format!("{PICARD}, {}", of.name), picard(&of.options));
            java.iter().map(with).collect()
        }
        name => vec![variant(name.to_owned(), Vec::new())],
    }
}

impl Tool {
    /// Its run, by a shell that fails when any part of a pipe fails.
    pub(super) fn command(&self, experiment: &PrepMemory, out: &Path) -> Command {
        let mut command = Command::new("bash");
        command.arg("-c").arg(format!("set -o pipefail; {}", self.line));
        command.env("IN", &experiment.input).env("OUT", out).env("TMP", &experiment.work);
        command.env("DICT", &experiment.dictionary).env("N", experiment.threads.to_string());
        command.env("RG", READ_GROUP_LINE).env("GROUP", READ_GROUP);
        command.envs(self.own.iter().map(|(name, value)| (name, value)));
        command
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn elprep_has_a_variant_for_each_level_and_picard_for_all_options() {
        let named = |name: &str| TOOLS.iter().find(|tool| tool.name == name).unwrap();
        let names = |tools: &[Tool]| tools.iter().map(|it| it.name.clone()).collect::<Vec<_>>();
        let levels = ["50", "off"].map(str::to_owned);
        let elprep = variants(named(ELPREP), &levels, &[]);
        assert_eq!(names(&elprep), ["elPrep, GOGC=50", "elPrep, GOGC=off"]);
        assert_eq!(elprep[1].own, [("GOGC", "off".to_owned())]);
        assert_eq!(names(&variants(named(ELPREP), &[], &[])), ["elPrep"]);
        let java = ["g1=-Xmx2g -XX:+UseG1GC".parse::<JavaOptions>().unwrap()];
        let picard = variants(named(PICARD), &levels, &java);
        assert_eq!(names(&picard), ["samtools, Picard, g1"]);
        assert!(picard[0].own[0].1.starts_with("java -Xmx2g -XX:+UseG1GC -jar /"));
        assert!(variants(named(PICARD), &[], &[])[0].own[0].1.starts_with("java -Xmx4g -jar /"));
        assert_eq!(names(&variants(named("sambamba"), &levels, &java)), ["sambamba"]);
        for wrong in ["-Xmx2g", "x", "=-Xmx2g", "g1=Xmx2g", "-XX:A=-b"] {
            assert!(wrong.parse::<JavaOptions>().is_err(), "{wrong}");
        }
    }
}

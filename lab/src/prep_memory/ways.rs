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
const JAVA: &str = "java -Xmx4g -jar";

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
    pub(crate) name: &'static str,
    /// What must be there.
    needs: &'static [&'static str],
    /// Lines of the shell; the variables in them are set for it.
    line: &'static str,
}

const PICARD_JAR: &str = "/usr/share/java/picard.jar";
const QUIETLY: &str = "QUIET=true VERBOSITY=ERROR VALIDATION_STRINGENCY=SILENT";

const TOOLS: [Tool; 4] = [
    Tool {
        name: "samtools, samblaster",
        needs: &["samtools", "samblaster"],
        line: r#"samtools view -h "$IN" | samblaster --ignoreUnmated | samtools view -u -F 4 - |
            samtools addreplacerg -w -m overwrite_all -r "$RG" -u - |
            samtools sort -@ "$N" -T "$TMP/sort" -o "$OUT" -"#,
    },
    Tool {
        name: "sambamba",
        needs: &["samtools", "sambamba"],
        line: r#"sambamba view -q -t "$N" -f bam -l 1 -F 'not unmapped' -o "$TMP/1.bam" "$IN" &&
            samtools addreplacerg -@ "$N" -w -m overwrite_all -r "$RG" \
                -O bam,level=1 -o "$TMP/2.bam" "$TMP/1.bam" &&
            sambamba sort -q -t "$N" -l 1 --tmpdir "$TMP" -o "$TMP/3.bam" "$TMP/2.bam" &&
            sambamba markdup -q -t "$N" --tmpdir "$TMP" "$TMP/3.bam" "$OUT""#,
    },
    Tool {
        name: "samtools, Picard",
        needs: &["samtools", "java", PICARD_JAR],
        line: r#"samtools view -u -F 4 "$IN" |
            $PICARD CleanSam I=/dev/stdin O=/dev/stdout COMPRESSION_LEVEL=0 $QUIETLY |
            $PICARD AddOrReplaceReadGroups I=/dev/stdin O="$TMP/1.bam" SORT_ORDER=coordinate \
                COMPRESSION_LEVEL=1 ID=lab LB=lib SM=sample PL=ILLUMINA PU=unit TMP_DIR="$TMP" \
                $QUIETLY &&
            $PICARD MarkDuplicates I="$TMP/1.bam" O="$OUT" M="$TMP/metrics.txt" TMP_DIR="$TMP" \
                $QUIETLY"#,
    },
    Tool {
        name: "elPrep",
        needs: &["elprep"],
        line: r#"elprep filter "$IN" "$OUT" --filter-unmapped-reads --clean-sam \
            --replace-reference-sequences "$DICT" --replace-read-group "$GROUP" \
            --mark-duplicates --sorting-order coordinate --nr-of-threads "$N""#,
    },
];

/// The programs that this machine has.
#[must_use]
pub(crate) fn tools() -> Vec<Tool> {
    TOOLS
        .iter()
        .filter(|tool| tool.needs.iter().all(|program| is_there(program)))
        .cloned()
        .collect()
}

impl Tool {
    /// Its run, by a shell that fails when any part of a pipe fails.
    pub(super) fn command(&self, experiment: &PrepMemory, out: &Path) -> Command {
        let mut command = Command::new("bash");
        command.arg("-c").arg(format!("set -o pipefail; {}", self.line));
        command.env("IN", &experiment.input).env("OUT", out).env("TMP", &experiment.work);
        command.env("DICT", &experiment.dictionary).env("N", experiment.threads.to_string());
        command.env("RG", READ_GROUP_LINE).env("GROUP", READ_GROUP);
        command.env("PICARD", format!("{JAVA} {PICARD_JAR}")).env("QUIETLY", QUIETLY);
        command
    }
}

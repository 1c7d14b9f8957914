//! What runs in shards cannot do, refused before anything is read.

use std::num::NonZeroUsize;
use std::path::Path;

use seqloom_io::reads::{Compression, ReadSource};
use seqloom_terminal::{Console, UsageError};

use crate::align::AlignArguments;

/// Refuses options about what is written, which belong to `gather`.
///
/// # Errors
/// The first of them that is given.
pub(super) fn refuse_options_of_gather(align: &AlignArguments) -> Result<(), UsageError> {
    let output = &align.output;
    let options = [
        ("-o", output.output != Path::new("-")),
        ("--json", output.json.is_some()),
        ("--metrics-dir", output.metrics_dir.is_some()),
        ("--md5", output.md5),
    ];
    if let Some((option, _)) = options.into_iter().find(|(_, is_given)| *is_given) {
        let text = "belongs to `seqloom shard gather`, which writes the output";
        return Err(UsageError(format!("{option} {text}")));
    }
    if align.resume {
        let text = "--resume: what `seqloom shard` has done is kept in any case";
        return Err(UsageError(text.to_owned()));
    }
    Ok(())
}

/// Refuses options of what `who` cannot do.
///
/// # Errors
/// The first option of this kind that is given.
pub(super) fn refuse_options(align: &AlignArguments, who: &str) -> Result<(), UsageError> {
    let options = [
        ("--html", align.output.html.is_some(), "makes no page"),
        ("--input", align.sheet.is_some(), "reads one pair of files, no sheet"),
        ("--rg-from-names", align.names.rg_from_names, "wants the line itself, -R"),
        ("--stripes", align.stripes > NonZeroUsize::MIN, "writes one file"),
        ("--mode", !align.mode.mode.is_bwa(), "aligns as bwa"),
        ("--no-sort", align.no_sort, "sorts"),
    ];
    match options.into_iter().find(|(_, is_given, _)| *is_given) {
        None => Ok(()),
        Some((option, _, does)) => Err(UsageError(format!("{option}: {who} {does}"))),
    }
}

/// Refuses unaligned BAM and CRAM, which have no place where a shard could start.
///
/// # Errors
/// It is either.
pub(super) fn refuse_records(source: &ReadSource, who: &str) -> Result<(), UsageError> {
    let has_records = |file: &usize| source.format(*file).reads.has_records();
    match (0..source.files()).find(has_records) {
        None => Ok(()),
        Some(file) => Err(UsageError(format!(
            "{}: {who} reads FASTQ or FASTA, not {}; convert it with `samtools fastq`, or use \
             `seqloom align` alone",
            source.path(file).display(),
            source.format(file).reads.name()
        ))),
    }
}

/// Says which inputs cannot be read from their middle on.
pub(super) fn advise(source: &ReadSource, console: &Console) {
    for file in 0..source.files() {
        if source.format(file).compression == Compression::Zstd {
            console.info(&format!(
                "shard: {} is compressed in one piece, so every shard decompresses all that is in \
                 front of it; `seqloom fastq pad` makes BGZF, which has no such cost",
                source.path(file).display()
            ));
        }
    }
}

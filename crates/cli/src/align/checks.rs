//! Options of `align` that make no sense together, refused before anything is opened.

use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};

use seqloom_terminal::UsageError;

use super::arguments::{AlignArguments, EngineChoice};
use super::lanes::LaneSpecs;
use crate::output::files::refuse_replacing;
use crate::output::stripes;
use crate::same_file::{refuse_one_file_as_both, refuse_same_file};

/// Refuses options of another mode than the one requested.
///
/// # Errors
/// [`UsageError`] that names the mode.
pub(super) fn check_mode(arguments: &AlignArguments) -> Result<(), UsageError> {
    if !arguments.mode.mode.is_bwa() {
        if !matches!(arguments.algorithm.engine, EngineChoice::OfMode) {
            return Err(UsageError("--engine is for --mode bwa".to_owned()));
        }
        if let Some(option) = arguments.algorithm.given() {
            return Err(UsageError(format!("{option} is an option of --mode bwa")));
        }
    }
    arguments.mode.check()
}

/// Refuses options that make no sense together.
///
/// # Errors
/// [`UsageError`].
pub(crate) fn check_options(
    arguments: &AlignArguments,
    lanes: &LaneSpecs,
) -> seqloom_terminal::Result<()> {
    check_files(arguments, lanes)?;
    let is_cram = arguments.output.is_cram();
    let needs_fasta = arguments.output.reference_use(&arguments.recalibration, true).is_any();
    let (first, second) = (arguments.first.as_deref(), arguments.second.as_deref());
    let is_stdin = |path: Option<&Path>| path == Some(Path::new("-"));
    refuse_first(&[
        (
            arguments.no_sort && !arguments.duplicates.no_mark_duplicates,
            "--no-sort streams records as they are made, before duplicates are known; \
             add --no-mark-duplicates",
        ),
        (
            arguments.no_sort && arguments.recalibration.is_requested(),
            "--no-sort streams records before covariates are counted; leave one out",
        ),
        (
            arguments.no_sort && !arguments.output.metrics_request().is_empty(),
            "--no-sort streams records, and --metrics and --html count sorted ones; leave one out",
        ),
        (
            arguments.no_sort && is_cram,
            "--no-sort streams records as they are made, a few at a time, of which CRAM would make \
             slices too small to pay; leave it out, or write BAM",
        ),
        (
            arguments.reference_fasta.is_some() && !needs_fasta,
            "--reference-fasta is for CRAM, --known-sites, --metrics alignment-summary and --html; \
             nothing else looks at it",
        ),
        (
            arguments.duplicates.no_mark_duplicates
                && arguments.duplicates.barcodes.given().is_some(),
            "options of barcodes are for duplicates; leave them or --no-mark-duplicates out",
        ),
        (
            is_stdin(first) && is_stdin(second),
            "standard input cannot be both files; -p takes mates next to each other",
        ),
    ])?;
    let duplicates = &arguments.duplicates;
    duplicates.optical_distance.check(duplicates.read_name_regex.as_ref())?;
    if let (Some(first), Some(second)) = (first, second) {
        refuse_one_file_as_both(first, second, "R2 takes the mates of R1's reads")?;
    }
    let (names, has_sheet) = (&arguments.names, arguments.sheet.is_some());
    refuse_first(&[
        (
            names.sample.is_some() && !has_sheet && !names.rg_from_names,
            "--sample is the sample of --rg-from-names, or the one of --input to align",
        ),
        (
            has_sheet && arguments.no_sort,
            "--no-sort streams one pair of files; leave it or --input out",
        ),
        (
            has_sheet && arguments.mode.keeps_reads(),
            "files of reads are of one pair of files; leave them or --input out",
        ),
        (
            lanes.lanes.iter().any(|lane| lane.files.len() > 1) && arguments.input.interleaved,
            "-p takes one file with mates next to each other, not two files",
        ),
    ])?;
    Ok(())
}

/// Refuses outputs that are inputs or one another, or that are in the way.
fn check_files(arguments: &AlignArguments, lanes: &LaneSpecs) -> seqloom_terminal::Result<()> {
    arguments.output.format()?;
    let inputs = arguments.files().into_iter().chain(lanes.files().cloned());
    let inputs: Vec<PathBuf> = inputs.collect();
    let outputs = arguments.output.outputs().chain(arguments.recalibration.outputs());
    let outputs = outputs.chain(arguments.run.outputs());
    let of_reads = arguments.mode.outputs(arguments.second.is_some());
    let outputs = outputs.chain(of_reads.iter().map(|(name, path)| (*name, path.as_path())));
    refuse_same_file(inputs.iter().map(PathBuf::as_path), outputs)?;
    let is_striped = arguments.stripes > NonZeroUsize::MIN;
    if is_striped {
        stripes::check_options(&arguments.output)?;
    }
    let more = arguments.recalibration.outputs().chain(arguments.run.outputs());
    let stripes = is_striped.then(|| stripes::paths(&arguments.output.output, arguments.stripes));
    let stripes = stripes.iter().flatten().map(PathBuf::as_path);
    refuse_replacing(&arguments.output, more.map(|(_, path)| path).chain(stripes))?;
    Ok(())
}

/// Refuses for the first of these reasons that is one.
fn refuse_first(reasons: &[(bool, &str)]) -> Result<(), UsageError> {
    match reasons.iter().find(|(is_one, _)| *is_one) {
        Some((_, text)) => Err(UsageError((*text).to_owned())),
        None => Ok(()),
    }
}

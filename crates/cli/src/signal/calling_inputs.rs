//! Opening what `methylation`, `eventalign` and `train` read: alignments, reference, bases, signal.

use std::path::{Path, PathBuf};

use seqloom_calling::flow::{
    ListFiles, ReadSequences, Region, ScanFiles, SignalFiles, SignalFilesBuilder, SignalOptions,
};
use seqloom_calling::pore_model::Chemistry;
use seqloom_format::bam::Header;
use seqloom_format::index::IndexedRegion;
use seqloom_io::alignments::{AlignmentOptions, AlignmentSource};
use seqloom_io::reference::ReferenceError;
use seqloom_io::{AlignmentIndex, IndexedFasta};
use seqloom_runtime::memory::ByteSize;
use seqloom_signal::flow::inputs::Inputs;
use seqloom_signal::flow::{Input, Numbers, Sequential};
use seqloom_signal::operations::Locate;
use seqloom_terminal::error::Bug;

use super::call_arguments::CallArguments;
use super::error::PassError;
use super::model::one_chemistry;
use super::pass::Pass;
use crate::cram_input::{self, Held, waiting_bytes};
use crate::region;

/// The aligned reads, at their first record.
pub(super) struct Opened {
    pub(super) alignments: AlignmentSource,
    /// Memory of reading.
    pub(super) read_bytes: u64,
    pub(super) region: Option<Region>,
}

pub(super) fn open_alignments(
    arguments: &CallArguments,
    limit: ByteSize,
    block_bytes: u64,
    pass: &Pass<'_>,
) -> seqloom_terminal::Result<Opened> {
    let options = AlignmentOptions {
        block_bytes: block_bytes as usize,
        free_blocks: pass.threads.get().clamp(4, 64),
        max_line_bytes: (limit.0 / 16) as usize,
        max_container_bytes: cram_input::max_container_bytes(limit, pass.threads),
        ..AlignmentOptions::default()
    };
    let mut alignments = AlignmentSource::open(std::slice::from_ref(&arguments.bam), options)?;
    let fasta = Some(arguments.reference.as_path());
    let read_bytes = cram_input::refer(&mut alignments, fasta, &Held::default())?
        + waiting_bytes(cram_input::container_bytes(&alignments), pass.threads);
    let parse = |it| region::parse("--region", it, &alignments.headers()[0]);
    let region = arguments.region().map(parse).transpose()?;
    if let Some(region) = &region {
        go_to(&mut alignments, region, pass)?;
    }
    Ok(Opened { alignments, read_bytes, region })
}

/// Has the file read from where the region's records begin, if it has an index. The reader stops by
/// itself after the region.
fn go_to(
    alignments: &mut AlignmentSource,
    region: &Region,
    pass: &Pass<'_>,
) -> seqloom_terminal::Result<()> {
    let bam = alignments.path(0).display().to_string();
    let find = || AlignmentIndex::find(alignments.path(0), alignments.format(0));
    let Some(index) = alignments.can_start_anywhere(0).then(find).flatten() else {
        pass.info(&format!("{bam} has no index: it is read from its start to find the region"));
        return Ok(());
    };
    if index.is_older() {
        let index = index.path().display();
        pass.warn(&format!("{index} is older than {bam}, which is therefore read from its start"));
        return Ok(());
    }
    let start = index.first_start(&IndexedRegion {
        reference_count: alignments.headers()[0].references().len(),
        reference: usize::try_from(region.reference_id).map_err(Bug::new)?,
        bases: region.start..region.end,
    })?;
    Ok(alignments.start_at(0, start)?)
}

/// Which sequence of the FASTA each one of the header is.
pub(super) fn match_contigs(
    pass: &Pass<'_>,
    header: &Header,
    reference: &IndexedFasta,
    bam: &Path,
) -> seqloom_terminal::Result<Vec<Option<usize>>> {
    let mut contigs = Vec::new();
    for it in header.references() {
        let found = reference.find(it.name.as_bytes());
        let length = found.map(|sequence| reference.length_bp(sequence));
        if let Some(found) = length.filter(|&length| length != u64::from(it.length)) {
            let (path, name) = (reference.path().to_owned(), it.name.clone());
            let expected = it.length;
            return Err(ReferenceError::Length { path, name, found, expected }.into());
        }
        contigs.push(found);
    }
    let missing = contigs.iter().filter(|it| it.is_none()).count();
    let first = contigs.iter().position(Option::is_none).map(|at| &header.references()[at].name);
    let (path, bam) = (reference.path().display(), bam.display());
    match first {
        Some(_) if missing == contigs.len() => {
            let names = header.references().iter().map(|it| it.name.clone()).collect();
            let path = reference.path().to_owned();
            return Err(ReferenceError::Missing { path, names }.into());
        }
        Some(name) => pass.warn(&format!(
            "{path} lacks {missing} sequences of the header of {bam}, {name} the first; reads \
             aligned to them are skipped"
        )),
        None => {}
    }
    Ok(contigs)
}

pub(super) fn open_sequences(
    arguments: &CallArguments,
    pass: &Pass<'_>,
    limit: ByteSize,
) -> seqloom_terminal::Result<Option<ReadSequences>> {
    let Some(path) = &arguments.reads else {
        pass.info(
            "without --reads the bases of reads are those of the BAM; records with hard clips are \
             skipped",
        );
        return Ok(None);
    };
    let reads = ReadSequences::open(path, limit, &|| pass.watch("list reads"));
    pass.watch("list reads")?;
    let reads = reads?;
    if reads.twice() > 0 {
        let (path, twice) = (path.display(), reads.twice());
        pass.warn(&format!("{path}: {twice} names are there more than once; they are skipped"));
    }
    pass.info(&format!("{} reads in {}", reads.len(), path.display()));
    Ok(Some(reads))
}

/// Lists the reads of all files of signal; what they were made with, if the files say.
pub(super) fn open_signals(
    found: Inputs,
    pass: &Pass<'_>,
) -> seqloom_terminal::Result<(SignalFiles, Option<(Chemistry, PathBuf)>)> {
    pass.tell_apple_double(found.apple_double);
    let mut builder = SignalFilesBuilder::new(distinct(found.paths)).map_err(PassError::from)?;
    let paths = builder.paths().to_vec();
    let stage = ListFiles { paths: &paths, options: &pass.options, components: &pass.components };
    let numbers = Numbers { count: paths.len(), next: 0 };
    pass.run("list signal", numbers, &stage, |listed| {
        builder.take_listed(listed)?.map_or(Ok(()), |fault| pass.lose(&fault))
    })?;
    let must_scan = builder.must_scan();
    if let Some(first) = must_scan.first() {
        pass.info(&format!(
            "{} files have no index and are read through; `seqloom signal index {}` makes one",
            must_scan.len(),
            first.display()
        ));
    }
    let stage = ScanFiles(Locate { components: &pass.components });
    let inputs = must_scan.into_iter().map(Input::Path).collect();
    pass.run("scan signal", Sequential::new(inputs, pass.options.clone()), &stage, |scanned| {
        builder.take_scanned(scanned);
        scanned.faults().iter().try_for_each(|fault| pass.lose(fault))
    })?;
    for index in builder.old_indices() {
        pass.warn(&format!("{} is older than its file", index.display()));
    }
    let chemistry = one_chemistry(builder.kits())?;
    let options = SignalOptions { open: pass.options.clone(), ..SignalOptions::default() };
    let (signals, twice) = builder.finish(options);
    if twice > 0 {
        pass.warn(&format!("signal: {twice} read ids are there more than once; they are skipped"));
    }
    pass.info(&format!("signal: {} reads in {} files", signals.len(), paths.len()));
    Ok((signals, chemistry))
}

/// Files without those that were given before, under whatever name.
fn distinct(paths: Vec<PathBuf>) -> Vec<PathBuf> {
    let mut seen = std::collections::HashSet::new();
    let is_new = |path: &PathBuf| seen.insert(path.canonicalize().unwrap_or_else(|_| path.clone()));
    paths.into_iter().filter(is_new).collect()
}

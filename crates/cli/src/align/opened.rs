//! The inputs of `align`, open: what they are, their first reads, and the header that they lead to.

use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};

use seqloom_align::index::IndexInfo;
use seqloom_align::{
    CohortError, CohortRange, InputTags, MateOrder, Pairing, RecordTags, UmiRules, UmiSource,
};
use seqloom_format::bam::Header;
use seqloom_io::reads::{
    BlockCheck, Compression, Fetch, FetchScratch, FileStart, InputBlock, ReadFormat, ReadSource,
    ReadsError, RestartPoint, SourceOptions,
};
use seqloom_prep::partition::GenomeBins;
use seqloom_runtime::machine;
use seqloom_terminal::{Console, UsageError};

use super::arguments::AlignArguments;
use super::header::{self, HeaderParts};
use super::lanes::{self, LaneSpec};
use super::memory::{Demand, mean_read_bases};
use crate::cram_input::{max_container_bytes, waiting_bytes};
use crate::output::command_line;
use crate::output::run::{default_memory, header_bytes};

/// Blocks looked at for a read that shows the read length; empty reads may fill many.
const MAX_FIRST_BLOCKS: usize = 16;

/// Files of a lane whose reads are counted beforehand have at most so many bytes together: a tenth
/// of a second's.
const SMALL_FILES_BYTES: u64 = 4 << 20;

/// Longest record of FASTQ or FASTA: thirty times what the longest read that the engine takes
/// needs, so that comments have room, and a small part of what each worker has.
const MAX_READ_BYTES: usize = 4 << 20;

/// A part of an input, and what it takes to start there.
pub(crate) struct InputPart {
    pub(crate) range: CohortRange,
    /// Of each file, where it is within gzip.
    pub(crate) restarts: Vec<Option<RestartPoint>>,
}

impl InputPart {
    fn starts(&self) -> Vec<FileStart> {
        let restarts = self.restarts.iter().cloned().chain(std::iter::repeat(None));
        let places = self.range.start.places.iter().copied();
        places.zip(restarts).map(|(place, restart)| FileStart { place, restart }).collect()
    }
}

/// Start of reading.
#[derive(Clone, Copy)]
pub(crate) enum Start<'a> {
    Beginning,
    /// There, with a note of where in gzip others may start, so many bytes of text apart.
    Scan {
        restart_every_bytes: u64,
    },
    Part(&'a InputPart),
}

impl<'a> Start<'a> {
    pub(super) fn of(part: Option<&'a InputPart>) -> Self {
        part.map_or(Self::Beginning, Self::Part)
    }
}

/// A lane whose files are open.
pub(crate) struct OpenLane {
    pub(crate) source: ReadSource,
    pub(crate) pairing: Pairing,
    pub(crate) tags: RecordTags,
    /// Its read group line, where a sheet or names of reads have it.
    pub(super) read_group: Option<String>,
}

impl OpenLane {
    fn new(
        arguments: &AlignArguments,
        source: ReadSource,
        group: Option<(Vec<u8>, String)>,
        is_told: bool,
        umi: Option<UmiRules>,
    ) -> Self {
        let (read_group, line) = group.unzip();
        let tags = RecordTags {
            read_group,
            input: input_tags(arguments, &source),
            umi,
            drops_unaligned: arguments.mode.drops_unaligned(),
        };
        let pairing = pairing(arguments, &source);
        Self { pairing, tags, source, read_group: line.filter(|_| is_told) }
    }

    /// The names of its inputs.
    pub(super) fn inputs(&self) -> Vec<String> {
        (0..self.source.files()).map(|i| self.source.path(i).display().to_string()).collect()
    }
}

/// Lanes that are open.
pub(crate) struct OpenLanes {
    pub(crate) lanes: Vec<OpenLane>,
    /// Blocks fetched to learn the read length, of each lane.
    pub(crate) first: Vec<Vec<InputBlock>>,
    /// Reads of each lane, where they were counted.
    reads: Vec<Option<u64>>,
    pub(crate) header: Header,
    /// Suspicions about the first reads.
    warnings: Vec<String>,
}

impl OpenLanes {
    /// Opens what is aligned, or a part of it, and builds the header that it leads to.
    pub(crate) fn open(
        arguments: &AlignArguments,
        inputs: Vec<LaneSpec>,
        index: &IndexInfo,
        start: Start<'_>,
    ) -> seqloom_terminal::Result<Self> {
        let (mut sources, mut looked_at, mut umis) = (Vec::new(), Vec::new(), Vec::new());
        let (mut reads, mut warnings) = (Vec::new(), Vec::new());
        for lane in inputs {
            let source = open_source(arguments, &lane.files, start)?;
            let mut first = fetch_first(&source)?;
            check_first_container(&source, &mut first)?;
            check_mates(&source, &first)?;
            let umi = umi_rules(arguments, &source, &lane)?;
            if let (Some(umi), Start::Beginning | Start::Scan { .. }) = (&umi, start) {
                warnings.extend(look_at_first(umi, &source, &first)?);
            }
            umis.push(umi);
            reads.push(count_reads(arguments, (&source, &first), &lane.files));
            sources.push(source);
            looked_at.push((lane, first));
        }
        if arguments.input.umi_prefix.is_some() && umis.iter().all(Option::is_none) {
            let text = "--umi-prefix needs --umi, or a sheet with the column umi".to_owned();
            return Err(UsageError(text).into());
        }
        let read_groups = read_groups(arguments, &looked_at)?;
        let command_line = command_line();
        let built = header::build(&HeaderParts {
            index,
            read_groups: &read_groups,
            input: sources.first().and_then(ReadSource::header),
            sorted: !arguments.no_sort,
            command_line: (!arguments.output.no_pg).then_some(command_line.as_str()),
        })?;
        let is_told = arguments.sheet.is_some() || arguments.names.rg_from_names;
        let mut groups = built.read_groups.into_iter().zip(read_groups);
        let lane = |(source, umi)| OpenLane::new(arguments, source, groups.next(), is_told, umi);
        let lanes: Vec<OpenLane> = sources.into_iter().zip(umis).map(lane).collect();
        refuse_without_mates(arguments, &lanes)?;
        let first = looked_at.into_iter().map(|(_, first)| first).collect();
        Ok(Self { lanes, first, reads, header: built.header, warnings })
    }

    /// Says what is suspect of the first reads.
    pub(crate) fn warn(&self, console: &Console) {
        self.warnings.iter().for_each(|it| console.error(&format!("seqloom: warning: {it}")));
    }

    /// What the memory of a run of so many threads depends on, besides the `loaded_bytes` of what
    /// is held all along.
    pub(crate) fn demand(
        &self,
        arguments: &AlignArguments,
        index: &IndexInfo,
        threads: NonZeroUsize,
        loaded_bytes: u64,
    ) -> Demand {
        let lanes = &self.lanes;
        let containers = lanes.iter().map(|lane| lane.source.container_bytes()).max();
        let container_bytes = waiting_bytes(containers.unwrap_or(0), threads);
        Demand {
            index_bytes: index.memory_bytes,
            replicas: 1,
            loaded_bytes: loaded_bytes + container_bytes + header_bytes(&self.header, threads),
            threads,
            cores: machine::available_cores(),
            pairing: if arguments.mode.holds_cohorts() {
                most_held(lanes)
            } else {
                Pairing::Single
            },
            cohort_bases: arguments.input.cohort_bases,
            read_bases: self.first.iter().map(|first| mean_read_bases(first)).max().unwrap_or(0),
            reads_at_most: self.reads_at_most(),
            keeps_tags: lanes.iter().any(|lane| lane.tags.input != InputTags::Drop),
            bins: match arguments.no_sort {
                true => 0,
                false => GenomeBins::new(self.header.references()).count(),
            },
            marks_duplicates: !arguments.duplicates.no_mark_duplicates,
            lanes: lanes.len(),
        }
    }
}

impl OpenLanes {
    /// A bound of the reads of every lane, where all are files.
    fn reads_at_most(&self) -> Option<u64> {
        let lanes = self.lanes.iter().zip(&self.first).zip(&self.reads);
        let of_lane = |((lane, first), counted): ((&OpenLane, &Vec<InputBlock>), &Option<u64>)| {
            counted.or_else(|| reads_of_files(&lane.source, first))
        };
        let bounds: Option<Vec<u64>> = lanes.map(of_lane).collect();
        bounds?.into_iter().max()
    }
}

fn open_source(
    arguments: &AlignArguments,
    files: &[PathBuf],
    start: Start<'_>,
) -> seqloom_terminal::Result<ReadSource> {
    let (starts, restart_every_bytes) = match start {
        Start::Beginning => (Vec::new(), None),
        Start::Scan { restart_every_bytes } => (Vec::new(), Some(restart_every_bytes)),
        Start::Part(part) => (part.starts(), None),
    };
    let threads = arguments.run.threads.unwrap_or_else(machine::available_cores);
    let memory = arguments.run.memory.unwrap_or_else(default_memory);
    let options = SourceOptions {
        keep_comments: arguments.input.append_comments,
        assume_phred33: arguments.input.assume_phred33,
        phred64: arguments.input.phred64,
        names: arguments.input.read_names.policy(),
        max_text_bytes: MAX_READ_BYTES,
        max_container_bytes: max_container_bytes(memory, threads),
        restart_every_bytes,
        ..SourceOptions::default()
    };
    let source = ReadSource::open_at(files, options, &starts)?;
    let wants_names = arguments.sheet.is_some() || arguments.names.rg_from_names;
    if wants_names && has_records(&source) {
        let what = if arguments.sheet.is_some() { "a sheet has" } else { "--rg-from-names is for" };
        let (path, is) = (source.path(0).display(), source.format(0).reads.name());
        let text = format!("{path}: {what} FASTQ, and this is {is}");
        return Err(UsageError(text).into());
    }
    refuse_phred64(arguments, &source)?;
    Ok(source)
}

/// Refuses Phred+64 where there is no quality, or one without an offset.
fn refuse_phred64(arguments: &AlignArguments, source: &ReadSource) -> Result<(), UsageError> {
    let has_qualities = |file: &usize| {
        matches!(source.format(*file).reads, ReadFormat::Fastq | ReadFormat::WrappedFastq)
    };
    match (0..source.files()).find(|file| !has_qualities(file)) {
        Some(file) if arguments.input.phred64 => {
            let path = source.path(file).display();
            Err(UsageError(format!("--phred64 is for FASTQ, and {path} is not FASTQ")))
        }
        _ => Ok(()),
    }
}

/// Refuses options of pairs where no input has any.
fn refuse_without_mates(arguments: &AlignArguments, lanes: &[OpenLane]) -> Result<(), UsageError> {
    let has_mates = lanes.iter().any(|lane| lane.pairing != Pairing::Single);
    match arguments.mode.given_for_mates() {
        Some(option) if !has_mates => {
            Err(UsageError(format!("{option} is for mates, and the reads are single")))
        }
        _ => Ok(()),
    }
}

/// Lines of the read groups that are given: by `-R`, by names of reads, or of each lane of a sheet.
fn read_groups(
    arguments: &AlignArguments,
    lanes: &[(LaneSpec, Vec<InputBlock>)],
) -> seqloom_terminal::Result<Vec<String>> {
    let has_rows = lanes.iter().any(|(lane, _)| lane.row.is_some());
    Ok(if has_rows {
        lanes::read_group_lines(arguments.sheet.as_deref(), lanes)?
    } else {
        arguments.input.read_group.iter().cloned().collect()
    })
}

/// Whose cohorts are held: reads of one lane without mates need none.
fn most_held(lanes: &[OpenLane]) -> Pairing {
    let paired = lanes.iter().map(|lane| lane.pairing).find(|it| *it != Pairing::Single);
    paired.unwrap_or(Pairing::Single)
}

/// Whether the reads are those of BAM or CRAM.
fn has_records(source: &ReadSource) -> bool {
    source.format(0).reads.has_records()
}

/// Unaligned BAM and CRAM say themselves which reads are mates.
fn pairing(arguments: &AlignArguments, source: &ReadSource) -> Pairing {
    if source.files() == 2 {
        Pairing::TwoFiles
    } else if arguments.input.interleaved || has_records(source) {
        Pairing::Adjacent
    } else {
        Pairing::Single
    }
}

/// How UMIs are taken from a lane, if they are.
fn umi_rules(
    arguments: &AlignArguments,
    source: &ReadSource,
    lane: &LaneSpec,
) -> Result<Option<UmiRules>, UsageError> {
    let of_lane = lane.row.as_ref().and_then(|row| row.umi.as_ref());
    let Some(umi) = of_lane.or(arguments.input.umi.as_ref()) else { return Ok(None) };
    refuse_umi(arguments, source, umi)?;
    Ok(Some(UmiRules { source: umi.clone(), prefix: arguments.input.umi_prefix.clone() }))
}

/// Refuses UMIs where this input has none.
fn refuse_umi(
    arguments: &AlignArguments,
    source: &ReadSource,
    umi: &UmiSource,
) -> Result<(), UsageError> {
    let what = match umi {
        UmiSource::Reads(_) if arguments.input.umi_prefix.is_some() => {
            "read structures, and --umi-prefix is for names and comments"
        }
        UmiSource::Name => return Ok(()),
        UmiSource::Comment(_) if has_records(source) => "comments, which are those of FASTQ",
        UmiSource::Comment(_) => return Ok(()),
        UmiSource::Reads(_) if has_records(source) => "read structures, which are for FASTQ",
        UmiSource::Reads(_) if arguments.input.interleaved || !arguments.mode.mode.is_bwa() => {
            "read structures, which do not go with -p and --mode"
        }
        UmiSource::Reads([_, Some(_)]) if source.files() == 1 => {
            "read structures of two files, and this is one"
        }
        UmiSource::Reads(_) => return Ok(()),
    };
    Err(UsageError(format!("{}: --umi names {what}", source.path(0).display())))
}

/// Looks at the UMIs of the first reads: a warning where they hardly are UMIs.
///
/// # Errors
/// The first read has none.
fn look_at_first(
    umi: &UmiRules,
    source: &ReadSource,
    first: &[InputBlock],
) -> Result<Option<String>, CohortError> {
    let Some(block) = first.iter().find(|block| !block.reads.reads.is_empty()) else {
        return Ok(None);
    };
    let path = source.path(block.file).display();
    let found = umi.look_at_first(&block.reads, block.file).map_err(|error| CohortError::Umi {
        files: path.to_string(),
        record: 1,
        name: String::from_utf8_lossy(block.reads.name(0)).into_owned(),
        source: error,
    })?;
    Ok(found.map(|found| format!("{path}: {found}")))
}

fn input_tags(arguments: &AlignArguments, source: &ReadSource) -> InputTags {
    if has_records(source) {
        InputTags::Fields
    } else if arguments.input.append_comments {
        InputTags::Comments
    } else {
        InputTags::Drop
    }
}

/// The reads of a lane, where its first blocks are all of a file, or its files are so small that
/// reading them once more takes no time.
fn count_reads(
    arguments: &AlignArguments,
    (source, first): (&ReadSource, &[InputBlock]),
    files: &[PathBuf],
) -> Option<u64> {
    if let Some(last) = first.iter().find(|block| block.last) {
        let of_file = first.iter().filter(|block| block.file == last.file);
        let reads: u64 = of_file.map(|block| block.reads.reads.len() as u64).sum();
        // Its mates are in the other file.
        return Some(reads * source.files() as u64);
    }
    let is_small = source.total_bytes().is_some_and(|bytes| bytes <= SMALL_FILES_BYTES);
    if !is_small || files.iter().any(|path| path == Path::new("-")) {
        return None;
    }
    // What is wrong with them is said where they are aligned.
    let source = open_source(arguments, files, Start::Beginning).ok()?;
    let (mut scratch, mut reads) = (FetchScratch::default(), 0);
    loop {
        match source.fetch(&mut scratch).ok()? {
            Fetch::Block(block) if block.defect.is_some() => return None,
            Fetch::Block(block) => {
                reads += block.reads.reads.len() as u64;
                source.recycle(block.reads);
            }
            // BGZF that something else follows: its blocks would have to be checked first.
            Fetch::Busy => return None,
            Fetch::End => return Some(reads),
        }
    }
}

/// A bound of the reads of a lane: what the bytes of its files can hold of reads as long as the
/// first. `None` where it is a pipe, and of CRAM, whose records may take no bytes at all.
fn reads_of_files(source: &ReadSource, first: &[InputBlock]) -> Option<u64> {
    if source.format(0).reads == ReadFormat::Cram {
        return None;
    }
    let inflated = (0..source.files()).map(|file| most_inflated(source.format(file).compression));
    let bytes = source.total_bytes()?.saturating_mul(inflated.max()?);
    Some(bytes / least_record_bytes(source.format(0).reads, mean_read_bases(first)))
}

/// Bytes that a compressed byte can become at most.
fn most_inflated(compression: Compression) -> u64 {
    match compression {
        Compression::Plain => 1,
        // A match of 258 bytes in two bits (zlib's documentation: 1032:1).
        Compression::Gzip | Compression::Bgzf => 1032,
        // A block of 128 KiB of one byte in four (RFC 8878, 3.1.1.2).
        Compression::Zstd => 32 << 10,
    }
}

/// The least bytes of a record with so many bases: an empty name and no comment, tag or CIGAR.
fn least_record_bytes(reads: ReadFormat, bases: u64) -> u64 {
    match reads {
        // `@`, `+` and four line ends; bases and as many qualities.
        ReadFormat::Fastq | ReadFormat::WrappedFastq => 6 + 2 * bases,
        ReadFormat::Fasta => 3 + bases,
        // Block size, fixed fields, a name of one letter; two bases a byte, qualities.
        ReadFormat::Bam | ReadFormat::Cram => 4 + 32 + 2 + bases.div_ceil(2) + bases,
    }
}

/// Most files that are out of order show it in their first blocks, before the index is loaded.
fn check_mates(source: &ReadSource, first: &[InputBlock]) -> seqloom_terminal::Result<()> {
    if let Some(mut mates) = MateOrder::of(source) {
        first.iter().try_for_each(|block| mates.accept(block))?;
    }
    Ok(())
}

/// What is wrong with the first container of CRAM, as that its reads are aligned, shows before the
/// index is loaded.
fn check_first_container(source: &ReadSource, first: &mut [InputBlock]) -> Result<(), ReadsError> {
    if source.format(0).reads != ReadFormat::Cram {
        return Ok(());
    }
    let mut check = BlockCheck::new(source, 0);
    first.iter_mut().try_for_each(|block| check.accept(source, block))
}

/// The first block of reads, and what came on the way to it.
fn fetch_first(source: &ReadSource) -> seqloom_terminal::Result<Vec<InputBlock>> {
    let mut scratch = FetchScratch::default();
    let mut blocks = Vec::new();
    loop {
        match source.fetch(&mut scratch)? {
            Fetch::Block(block) => {
                let found = block.bases > 0 || block.defect.is_some();
                blocks.push(*block);
                if found || blocks.len() == MAX_FIRST_BLOCKS {
                    return Ok(blocks);
                }
            }
            // Who has the blocks must have them checked first: in BGZF that something else follows.
            Fetch::Busy if source.total_bytes().is_some() => return Ok(blocks),
            Fetch::Busy => {}
            Fetch::End => return Ok(blocks),
        }
    }
}

//! What became of the reads in the modes that are not bwa's: counts as Bowtie or Bowtie 2
//! prints them, and files of the reads that have placements, none, or too many. Each file has
//! its reads as the input has them, in its order, whoever finds their placements.

use std::fmt::{self, Write as _};
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};

use seqloom_align::Batch;
use seqloom_align::ingest::{BatchPart, BatchSink, LaneEnd};
use seqloom_format::bam::{Flags, RecordError, RecordRef, framed_records};
use seqloom_format::{PackedTemplates, ReadBlock};
use seqloom_io::{AtomicFile, AtomicFileError, OutputError};
use seqloom_runtime::error::{Class, Place, RunError};
use seqloom_runtime::order::Ordered;

use super::outcome_counts::{OutcomeCounts, Template, percent};
use crate::output::write_error;

/// Outcome of a read or pair.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Outcome {
    Aligned,
    Unaligned,
    /// More placements than `--max-placements`.
    Frequent,
}

/// All outcomes.
const OUTCOMES: [Outcome; 3] = [Outcome::Aligned, Outcome::Unaligned, Outcome::Frequent];

/// Whose words the counts are reported in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Wording {
    Bowtie,
    Bowtie2,
}

/// Names of a file of reads: one, or two where mates come in two files.
pub(super) fn paths(path: &Path, is_two: bool) -> Vec<PathBuf> {
    if !is_two {
        return vec![path.to_owned()];
    }
    let stem = path.file_stem().unwrap_or_default().to_string_lossy();
    let suffix = path.extension().map(|it| format!(".{}", it.to_string_lossy()));
    let suffix = suffix.unwrap_or_default();
    [1, 2].map(|mate| path.with_file_name(format!("{stem}_{mate}{suffix}"))).into()
}

/// Reads and placements. Relaxed: counts, read when the workers have ended.
#[derive(Debug, Default)]
struct Counts {
    /// By outcome.
    reads: [AtomicU64; 3],
    /// Of single reads, and of pairs.
    placements: [AtomicU64; 2],
    /// Counts as Bowtie 2 prints them.
    tally: Mutex<OutcomeCounts>,
}

/// Outcomes of all reads so far.
#[derive(Debug)]
pub(crate) struct Outcomes {
    counts: Counts,
    /// By outcome: its files, or where its reads go as well.
    files: [Vec<AtomicFile>; 3],
    /// Mates are in two files.
    is_two: bool,
    wording: Wording,
    ordered: Ordered<Texts>,
}

/// Reads of a batch, as text, by outcome and file.
#[derive(Debug, Default)]
pub(crate) struct Texts([[Vec<u8>; 2]; 3]);

impl Outcomes {
    /// Opens the files that are requested, by outcome; reads with too many placements go with those
    /// without any unless they have a file of their own.
    ///
    /// # Errors
    /// When one cannot be made.
    pub(super) fn create(
        requested: [Option<&Path>; 3],
        is_two: bool,
        wording: Wording,
    ) -> Result<Self, AtomicFileError> {
        let create = |path: Option<&Path>| -> Result<Vec<AtomicFile>, AtomicFileError> {
            let paths = path.map(|path| paths(path, is_two)).unwrap_or_default();
            paths.iter().map(|path| AtomicFile::create(path)).collect()
        };
        let [aligned, unaligned, frequent] = requested;
        Ok(Self {
            counts: Counts::default(),
            files: [create(aligned)?, create(unaligned)?, create(frequent)?],
            is_two,
            wording,
            ordered: Ordered::default(),
        })
    }

    /// The outcome whose files have the reads with this one.
    fn file_of(&self, outcome: Outcome) -> Outcome {
        match outcome {
            Outcome::Frequent if self.files[Outcome::Frequent as usize].is_empty() => {
                Outcome::Unaligned
            }
            outcome => outcome,
        }
    }

    /// Whether any file is requested.
    fn has_files(&self) -> bool {
        self.files.iter().any(|files| !files.is_empty())
    }

    /// Counts templates of a batch, and adds the text of those of its reads that are requested.
    fn add(
        &self,
        texts: &mut Texts,
        batch: &Batch,
        templates: &PackedTemplates,
    ) -> Result<(), RecordError> {
        let mut reads = [0; 3];
        let (mut placements, mut tally) = ([0; 2], OutcomeCounts::default());
        let before = (templates.first_template - batch.first_template) as usize;
        let mut input = self.has_files().then(|| batch.templates().skip(before));
        for (at, (_, records)) in templates.iter().enumerate() {
            let outcome = match self.wording {
                Wording::Bowtie => {
                    let of = judge(records)?;
                    placements[usize::from(of.is_paired)] += of.placements;
                    of.outcome
                }
                Wording::Bowtie2 => {
                    judge_by_score(records, batch.is_pair(before + at), &mut tally)?
                }
            };
            reads[outcome as usize] += 1;
            let file = self.file_of(outcome) as usize;
            let Some((first, second)) = input.as_mut().and_then(Iterator::next) else { continue };
            if self.files[file].is_empty() {
                continue;
            }
            let [one, two] = &mut texts.0[file];
            push_read(first, one);
            if let Some(second) = second {
                push_read(second, if self.is_two { two } else { one });
            }
        }
        let add = |counts: &[AtomicU64], more: &[u64]| {
            for (count, more) in counts.iter().zip(more) {
                count.fetch_add(*more, Ordering::Relaxed);
            }
        };
        add(&self.counts.reads, &reads);
        add(&self.counts.placements, &placements);
        self.counts.tally.lock().unwrap_or_else(PoisonError::into_inner).add(&tally);
        Ok(())
    }

    /// Has the text of a batch written once all before it are.
    fn deposit(&self, sequence: u64, texts: &mut Texts) -> Result<(), OutputError> {
        if !self.has_files() {
            return Ok(());
        }
        self.ordered.deposit(sequence, std::mem::take(texts), |texts| {
            for (files, texts) in self.files.iter().zip(&texts.0) {
                for (file, text) in files.iter().zip(texts) {
                    file.file().write_all(text).map_err(write_error(file.final_path()))?;
                }
            }
            Ok(())
        })
    }

    /// What there is to read once all is done, and the files, which are still to get their names.
    pub(super) fn finish(self) -> (Totals, Vec<AtomicFile>) {
        let number = |it: AtomicU64| it.into_inner();
        let Counts { reads, placements, tally } = self.counts;
        let totals = Totals {
            reads: reads.map(number),
            placements: placements.map(number),
            tally: tally.into_inner().unwrap_or_else(PoisonError::into_inner),
            wording: self.wording,
        };
        (totals, self.files.into_iter().flatten().collect())
    }
}

/// A template.
struct Judgement {
    outcome: Outcome,
    is_paired: bool,
    placements: u64,
}

/// What became of the template of these records. Of mates one may be placed alone, where the other
/// one is too short or too long; its placements are unpaired.
fn judge(records: &[u8]) -> Result<Judgement, RecordError> {
    let (mut of_mates, mut is_frequent) = ([0; 2], false);
    for body in framed_records(records) {
        let record = RecordRef::new(body?)?;
        if record.has_flags(Flags::UNMAPPED) {
            let above = record.find_aux(*b"XM")?.and_then(|value| value.as_int());
            is_frequent |= above.is_some_and(|count| count > 0);
        } else {
            of_mates[usize::from(record.has_flags(Flags::SECOND_OF_PAIR))] += 1;
        }
    }
    let [first, second] = of_mates;
    let outcome = match () {
        () if first + second > 0 => Outcome::Aligned,
        () if is_frequent => Outcome::Frequent,
        () => Outcome::Unaligned,
    };
    let is_paired = first > 0 && second > 0;
    Ok(Judgement { outcome, is_paired, placements: first.max(second) })
}

/// What became of it in the modes by score, where it is counted as Bowtie 2 does. Pairs count as
/// aligned where they are concordant.
fn judge_by_score(
    records: &[u8],
    is_paired: bool,
    tally: &mut OutcomeCounts,
) -> Result<Outcome, RecordError> {
    let mut template = Template::new(is_paired);
    for body in framed_records(records) {
        template.add(&RecordRef::new(body?)?)?;
    }
    tally.count(&template);
    Ok(if template.is_aligned() { Outcome::Aligned } else { Outcome::Unaligned })
}

/// Quality of the bases of a read of BAM that has none, as `samtools fastq` writes it: 1.
const NO_QUALITY: u8 = b'"';

/// Appends a read with the header line of the input, as FASTQ if it was that or BAM, else as FASTA.
/// A file of BAM may have reads with and without qualities, and FASTQ has them all.
fn push_read((block, at): (&ReadBlock, usize), text: &mut Vec<u8>) {
    let (bases, qualities) = (block.bases(at), block.qualities(at));
    let header = block.header_line(at);
    match header {
        Some(line) => text.extend_from_slice(line),
        None => {
            text.push(b'@');
            text.extend_from_slice(block.name(at));
        }
    }
    text.push(b'\n');
    text.extend_from_slice(bases);
    if header.is_none_or(|line| line.starts_with(b"@")) {
        text.extend_from_slice(b"\n+\n");
        text.extend_from_slice(qualities);
        text.resize(text.len() + bases.len() - qualities.len(), NO_QUALITY);
    }
    text.push(b'\n');
}

/// Totals of the outcomes of all reads.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Totals {
    reads: [u64; 3],
    placements: [u64; 2],
    tally: OutcomeCounts,
    wording: Wording,
}

impl fmt::Display for Totals {
    /// For people and for what reads the logs of the programs (MultiQC's `bowtie1` and `bowtie2`).
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.wording {
            Wording::Bowtie => self.as_bowtie(f),
            Wording::Bowtie2 => self.tally.fmt(f),
        }
    }
}

impl Totals {
    fn as_bowtie(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [aligned, unaligned, frequent] = OUTCOMES.map(|it| self.reads[it as usize]);
        let processed = aligned + unaligned + frequent;
        let share = |count: u64| format!("{count} ({:.2}%)", percent(count, processed));
        writeln!(f, "# reads processed: {processed}")?;
        writeln!(f, "# reads with at least one alignment: {}", share(aligned + frequent))?;
        writeln!(f, "# reads that failed to align: {}", share(unaligned))?;
        if frequent > 0 {
            writeln!(f, "# reads with alignments suppressed due to -m: {}", share(frequent))?;
        }
        match self.placements {
            [0, 0] => f.write_str("No alignments"),
            [singles, 0] => write!(f, "Reported {singles} alignments"),
            [0, pairs] => write!(f, "Reported {pairs} paired-end alignments"),
            [singles, pairs] => write!(
                f,
                "Reported {pairs} paired-end alignments and {singles} unpaired alignments"
            ),
        }
    }
}

impl Totals {
    /// The lines of a file of metrics.
    pub(super) fn text(&self) -> String {
        let mut text = String::new();
        // Writing to a string does not fail.
        let _ = writeln!(text, "{self}");
        text
    }
}

/// Why a batch was not taken.
#[derive(Debug, thiserror::Error)]
pub(super) enum JudgedError<E: std::error::Error + 'static> {
    #[error(transparent)]
    Sink(E),
    #[error(transparent)]
    Record(#[from] RecordError),
    #[error(transparent)]
    Reads(#[from] OutputError),
}

impl<E: RunError + 'static> RunError for JudgedError<E> {
    fn class(&self) -> Class {
        match self {
            Self::Sink(sink) => sink.class(),
            Self::Record(_) => Class::Bug,
            Self::Reads(output) => output.class(),
        }
    }

    fn place(&self) -> Place {
        match self {
            Self::Sink(sink) => sink.place(),
            Self::Record(_) => Place::default(),
            Self::Reads(output) => output.place(),
        }
    }
}

/// A sink before which it is noted what became of the reads, where that is requested.
pub(super) struct Judged<'a, S> {
    pub(super) sink: &'a S,
    pub(super) outcomes: Option<&'a Outcomes>,
}

impl<S: BatchSink> BatchSink for Judged<'_, S> {
    type Error = JudgedError<S::Error>;
    type Scratch = (S::Scratch, Texts);

    fn scratch(&self) -> Result<Self::Scratch, Self::Error> {
        Ok((self.sink.scratch().map_err(JudgedError::Sink)?, Texts::default()))
    }

    fn accept(
        &self,
        (scratch, texts): &mut Self::Scratch,
        batch: &Batch,
        templates: &PackedTemplates,
        part: BatchPart,
    ) -> Result<(), Self::Error> {
        if let Some(outcomes) = self.outcomes {
            outcomes.add(texts, batch, templates)?;
            if part == BatchPart::Last {
                outcomes.deposit(batch.sequence, texts)?;
            }
        }
        self.sink.accept(scratch, batch, templates, part).map_err(JudgedError::Sink)
    }

    fn end(&self, end: LaneEnd) {
        self.sink.end(end);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn totals_read_as_bowtie_s() {
        let t = |reads, placements, expected: &[&str]| {
            let (tally, wording) = (OutcomeCounts::default(), Wording::Bowtie);
            let totals = Totals { reads, placements, tally, wording };
            let text = totals.text();
            assert_eq!(text.lines().collect::<Vec<_>>(), expected);
        };
        t(
            [11, 7, 2],
            [11, 0],
            &[
                "# reads processed: 20",
                "# reads with at least one alignment: 13 (65.00%)",
                "# reads that failed to align: 7 (35.00%)",
                "# reads with alignments suppressed due to -m: 2 (10.00%)",
                "Reported 11 alignments",
            ],
        );
        t(
            [0, 0, 0],
            [0, 0],
            &[
                "# reads processed: 0",
                "# reads with at least one alignment: 0 (0.00%)",
                "# reads that failed to align: 0 (0.00%)",
                "No alignments",
            ],
        );
        t(
            [3, 0, 0],
            [5, 9],
            &[
                "# reads processed: 3",
                "# reads with at least one alignment: 3 (100.00%)",
                "# reads that failed to align: 0 (0.00%)",
                "Reported 9 paired-end alignments and 5 unpaired alignments",
            ],
        );
    }

    #[test]
    fn mates_of_two_files_have_two_names() {
        let t = |path: &str, is_two, expected: &[&str]| {
            let expected: Vec<PathBuf> = expected.iter().map(PathBuf::from).collect();
            assert_eq!(paths(Path::new(path), is_two), expected);
        };
        t("a/un.fq", false, &["a/un.fq"]);
        t("a/un.fq", true, &["a/un_1.fq", "a/un_2.fq"]);
        t("un", true, &["un_1", "un_2"]);
    }
}

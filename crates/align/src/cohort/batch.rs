//! A slice of a cohort: its templates, and its reads as the engine takes them.

use std::ops::Range;
use std::sync::Arc;

use seqloom_format::ReadBlock;
use seqloom_io::reads::ReadSource;

use crate::engine::{EngineReads, Read};
use crate::input::Mates;
use crate::input::error::CohortError;
use crate::input::tags::RecordTags;
use crate::input::tags::{InputTags, ReadTags};
use crate::input::umi::{UmiRules, UmiTags};

/// Reads of one file that are together in one block.
#[derive(Debug, Clone)]
pub struct Segment {
    /// The block that holds the reads.
    pub block: Arc<ReadBlock>,
    /// Which of its reads.
    pub reads: Range<usize>,
}

/// Templates of one batch, in input order.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Shape {
    /// All single.
    Singles,
    /// All pairs.
    Pairs,
    /// One entry per template: whether it is a pair.
    Mixed(Vec<bool>),
}

/// How many templates.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct TemplateCounts {
    pub(crate) pairs: usize,
    /// Single reads.
    pub(crate) singles: usize,
}

/// A slice of a cohort.
#[derive(Debug)]
pub struct Batch {
    /// Place in the output order: 0, 1, 2, ... over the whole run.
    pub sequence: u64,
    /// Cohort it belongs to.
    pub cohort: u64,
    /// Its place in the cohort.
    pub index_in_cohort: u64,
    /// Ordinal of its first read in the input (pairs count two).
    pub first_read: u64,
    /// Ordinal of its first template.
    pub first_template: u64,
    /// Pairs of the cohort before it.
    pub pairs_before: u64,
    /// Single reads of the cohort before it.
    pub singles_before: u64,
    /// How its reads form templates.
    pub shape: Shape,
    /// Reads of each file.
    pub segments: Vec<Vec<Segment>>,
    /// Number of reads.
    pub reads: usize,
    /// The file or files they come from, joined by `+`, for messages.
    pub files: Arc<str>,
    /// The numbers of mates, .1 and .2, have been taken off the names.
    pub has_cut_numbers: bool,
    /// Tags of UMIs, once they are taken.
    pub umis: UmiTags,
    /// Tags that reads brought along, once they are taken.
    pub tags: ReadTags,
    /// Which reads of each template have not passed the instrument's filter, once that is taken;
    /// nothing where all have.
    pub failed_filter: Vec<[bool; 2]>,
}

/// A read that is longer than the engine takes: what its unmapped record gets in the end.
#[derive(Debug, Clone, Copy)]
pub struct LongRead<'a> {
    /// Its template in the batch, and whether it is the second of it.
    pub(crate) place: (usize, bool),
    /// With its bases.
    pub(crate) read: Read<'a>,
}

/// The reads of a batch as the engine takes them.
#[derive(Debug, Default)]
pub struct BatchReads<'a> {
    /// All of them; those that are too long have no bases.
    pub reads: EngineReads<'a>,
    /// Those that are too long, by template and mate.
    pub long_reads: Vec<LongRead<'a>>,
}

impl Batch {
    /// The reads of one file, in order.
    fn file_reads(&self, file: usize) -> impl Iterator<Item = (&ReadBlock, usize)> {
        self.segments[file].iter().flat_map(|s| s.reads.clone().map(move |i| (&*s.block, i)))
    }

    /// Memory that the batch holds: its share of every block, and tags.
    #[must_use]
    pub(crate) fn held_bytes(&self) -> u64 {
        let share =
            |s: &Segment| (s.block.bytes.len() * s.reads.len() / s.block.reads.len().max(1)) as u64;
        let input_bytes: u64 = self.segments.iter().flatten().map(share).sum();
        let failed_filter_bytes = 2 * self.failed_filter.capacity() as u64;
        input_bytes + self.umis.held_bytes() + self.tags.held_bytes() + failed_filter_bytes
    }

    /// Checks that mates are mates, and takes the tags of all reads.
    ///
    /// # Errors
    /// Mates with different names, a template without UMI, what cannot be a tag.
    pub(crate) fn prepare(&mut self, rules: &RecordTags) -> Result<(), CohortError> {
        self.check_mates()?;
        if let Some(umi) = &rules.umi {
            self.umis = self.take_umis(umi)?;
        }
        self.tags = self.take_tags(rules.input, &rules.replaced())?;
        if rules.input == InputTags::Fields {
            self.failed_filter = self.take_failed_filter();
        }
        Ok(())
    }

    /// Number of templates.
    #[must_use]
    pub(crate) fn counts(&self) -> TemplateCounts {
        let pairs = match &self.shape {
            Shape::Pairs => self.reads / 2,
            Shape::Singles => 0,
            Shape::Mixed(is_pair) => self.reads - is_pair.len(),
        };
        TemplateCounts { pairs, singles: self.reads - 2 * pairs }
    }

    /// Whether template number `at` of the batch has two reads.
    #[must_use]
    pub fn is_pair(&self, at: usize) -> bool {
        match &self.shape {
            Shape::Singles => false,
            Shape::Pairs => true,
            Shape::Mixed(pairs) => pairs[at],
        }
    }

    /// Every template in input order: one or two reads, each as its block and index.
    pub fn templates(&self) -> impl Iterator<Item = Mates<'_>> {
        let mut first = self.file_reads(0);
        let mut second = (self.segments.len() == 2).then(|| self.file_reads(1));
        let mut index = 0;
        std::iter::from_fn(move || {
            let one = first.next()?;
            let is_pair = self.is_pair(index);
            index += 1;
            let two = is_pair.then(|| second.as_mut().map_or_else(|| first.next(), Iterator::next));
            Some((one, two.flatten()))
        })
    }

    /// The UMIs of all templates, as tags of their records.
    ///
    /// # Errors
    /// A template without one.
    fn take_umis(&self, rules: &UmiRules) -> Result<UmiTags, CohortError> {
        let mut umis = UmiTags::default();
        let mut reads_before = 0;
        for mates in self.templates() {
            umis.push(mates, rules).map_err(|source| CohortError::Umi {
                files: self.files.as_ref().to_owned(),
                record: self.record_number(reads_before),
                name: lossy(mates.0.0.name(mates.0.1)),
                source,
            })?;
            reads_before += 1 + u64::from(mates.1.is_some());
        }
        Ok(umis)
    }

    /// What the input says of the reads of all templates, as tags of their records.
    ///
    /// # Errors
    /// What cannot be a tag.
    fn take_tags(&self, kind: InputTags, replaced: &[[u8; 2]]) -> Result<ReadTags, CohortError> {
        let mut tags = ReadTags::default();
        if kind == InputTags::Drop {
            return Ok(tags);
        }
        let mut reads_before = 0;
        for (first, second) in self.templates() {
            for read in [Some(first), second] {
                let extra = read.map(|(block, i)| block.extra(i));
                tags.push(extra, kind, replaced).map_err(|source| CohortError::Tag {
                    files: self.files.as_ref().to_owned(),
                    record: self.record_number(reads_before),
                    name: read.map(|(block, i)| lossy(block.name(i))).unwrap_or_default(),
                    source,
                })?;
                reads_before += u64::from(read.is_some());
            }
        }
        Ok(tags)
    }

    /// Per template which of its reads have not passed the instrument's filter; nothing where all
    /// have.
    fn take_failed_filter(&self) -> Vec<[bool; 2]> {
        let failed = |(block, i): (&ReadBlock, usize)| block.failed_filter(i);
        let all = self.templates().map(|(one, two)| [failed(one), two.is_some_and(failed)]);
        let all: Vec<_> = all.collect();
        if all.iter().flatten().any(|&it| it) { all } else { Vec::new() }
    }

    /// The number, from 1, of the record after so many reads of the batch: in each
    /// of two files, or in the only one.
    fn record_number(&self, reads_before: u64) -> u64 {
        (self.first_read + reads_before) / self.segments.len().max(1) as u64 + 1
    }

    /// Checks that the reads of every pair are mates.
    ///
    /// # Errors
    /// Mates of different names, or in the wrong order.
    pub fn check_mates(&self) -> Result<(), CohortError> {
        let mut reads_before = 0;
        for (at, (first, second)) in self.templates().enumerate() {
            if let Some(second) = second {
                self.check_pair(at, [first, second], reads_before)?;
            }
            reads_before += 1 + u64::from(second.is_some());
        }
        Ok(())
    }

    /// Checks the mates of template `at`, which `reads_before` of the batch precede.
    fn check_pair(
        &self,
        at: usize,
        mates: [(&ReadBlock, usize); 2],
        reads_before: u64,
    ) -> Result<(), CohortError> {
        let [one, two] = mates.map(|(block, i)| block.name(i));
        if one != two {
            return Err(self.out_of_step(at, mates, false));
        }
        if self.has_cut_numbers && mates.iter().any(|(it, i)| it.cut_number(*i).is_none()) {
            return Err(self.out_of_step(at, mates, true));
        }
        if let [Some(first), Some(second)] = mates.map(|(block, i)| block.mate_number(i))
            && first >= second
        {
            return Err(self.wrong_numbers(reads_before, one, [first, second]));
        }
        Ok(())
    }

    /// The batch as the engine takes it; a read longer than `longest_bases` is there without its
    /// bases. Bases that are UMIs are left out.
    #[must_use]
    pub fn engine_reads(&self, longest_bases: usize, umi: Option<&UmiRules>) -> BatchReads<'_> {
        let TemplateCounts { pairs, singles } = self.counts();
        let mut reads =
            EngineReads { pairs: Vec::with_capacity(pairs), singles: Vec::with_capacity(singles) };
        let mut long_reads = Vec::new();
        let mut read = |place: (usize, bool), read| {
            let read = engine_read(read, usize::from(place.1), umi);
            if read.bases.len() <= longest_bases {
                return read;
            }
            long_reads.push(LongRead { place, read });
            Read { bases: b"", qualities: read.qualities.map(|_| &b""[..]), ..read }
        };
        for (i, (first, second)) in self.templates().enumerate() {
            let one = read((i, false), first);
            match second {
                Some(second) => reads.pairs.push([one, read((i, true), second)]),
                None => reads.singles.push(one),
            }
        }
        BatchReads { reads, long_reads }
    }

    /// Template number `at` of the batch has mates of different names, or without the numbers that
    /// those of the first pair have.
    fn out_of_step(
        &self,
        at: usize,
        mates: [(&ReadBlock, usize); 2],
        lacks_numbers: bool,
    ) -> CohortError {
        let name = |(block, i): (&ReadBlock, usize)| lossy(block.uncut_name(i));
        let files = self.files.as_ref().to_owned();
        let (record, [first, second]) = (self.first_template + at as u64 + 1, mates.map(name));
        match lacks_numbers {
            true => CohortError::NumbersMissing { files, record, first, second },
            false => CohortError::NamesDiffer { files, record, first, second },
        }
    }

    /// `reads_before` of the batch precede these mates.
    fn wrong_numbers(&self, reads_before: u64, name: &[u8], numbers: [u8; 2]) -> CohortError {
        let hint = match self.segments.len() {
            1 => "interleaved input has the first read of each pair first",
            _ => "give the file of first reads first, then that of their mates",
        };
        CohortError::NumbersWrong {
            files: self.files.as_ref().to_owned(),
            record: self.record_number(reads_before),
            name: lossy(name),
            first: numbers[0],
            second: numbers[1],
            hint,
        }
    }
}

/// Gives the buffers of a batch's reads back to the source, those that no other batch uses.
pub fn recycle(source: &ReadSource, segments: Vec<Vec<Segment>>) {
    for segment in segments.into_iter().flatten() {
        if let Some(block) = Arc::into_inner(segment.block) {
            source.recycle(block);
        }
    }
}

/// Read `which` (0 or 1) of a template as the engine takes it, without bases that are UMIs.
fn engine_read<'r>(
    (block, i): (&'r ReadBlock, usize),
    which: usize,
    umi: Option<&UmiRules>,
) -> Read<'r> {
    let (name, mut bases, mut qualities) = (block.name(i), block.bases(i), block.qualities(i));
    if let Some(umi) = umi {
        let template = umi.source.template(which, bases.len());
        qualities = qualities.get(template.clone()).unwrap_or_default();
        bases = &bases[template];
    }
    Read { name, bases, qualities: (qualities.len() == bases.len()).then_some(qualities) }
}

fn lossy(name: &[u8]) -> String {
    String::from_utf8_lossy(name).into_owned()
}

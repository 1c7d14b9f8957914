//! How often each group of sites is methylated: tables of calls to one table of frequencies.
//!
//! nanopolish's script (0.14, `calculate_methylation_frequency.py`) and f5c's `meth-freq` differ in
//! one thing, the calls that they leave out as ambiguous: see [`CutoffStyle`]. Both are here. Rows
//! are keyed by sequence, start and end; what a group is called is taken from its first row, so the
//! order of the inputs can show there and nowhere else.

use std::collections::HashMap;
use std::io::Write;
use std::ops::Range;
use std::path::{Path, PathBuf};

use seqloom_io::InputError;
use seqloom_io::text::for_each_line;
use seqloom_runtime::error::{Class, Place, RunError};

use super::table::{CallRow, Columns, TableError};
use super::tallies::{Absorb, Tallies};
use crate::Motif;

/// Which calls are ambiguous.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum CutoffStyle {
    /// The absolute ratio is below threshold x sites of the group: nanopolish 0.14, with 2.0.
    #[default]
    Nanopolish,
    /// The absolute ratio of the whole group is below the threshold: f5c, with 2.5.
    F5c,
}

impl CutoffStyle {
    /// The threshold that the program has where none is given, a natural log-likelihood ratio.
    #[must_use]
    pub fn default_threshold(self) -> f64 {
        match self {
            Self::Nanopolish => 2.0,
            Self::F5c => 2.5,
        }
    }
}

/// Threshold from which calls count.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Cutoff {
    /// Quantity that the threshold is compared with.
    pub style: CutoffStyle,
    /// Natural log-likelihood ratio.
    pub threshold: f64,
}

impl Cutoff {
    /// Whether a group's call is left out.
    #[must_use]
    pub(crate) fn is_ambiguous(&self, log_lik_ratio: f64, motif_count: u32) -> bool {
        let limit = match self.style {
            CutoffStyle::Nanopolish => self.threshold * f64::from(motif_count),
            CutoffStyle::F5c => self.threshold,
        };
        log_lik_ratio.abs() < limit
    }
}

/// How calls are counted.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct FrequencyOptions {
    /// Which calls count.
    pub cutoff: Cutoff,
    /// Count each site of a group by itself: every one of this motif in the group's text.
    pub splits_groups: Option<Motif>,
}

/// Why tables could not be read.
#[derive(Debug, thiserror::Error)]
pub enum FrequencyError {
    /// The file cannot be read.
    #[error(transparent)]
    Source(#[from] InputError),
    /// A line is malformed.
    #[error("{}: line {line} {source}", path.display())]
    Line {
        /// The file.
        path: PathBuf,
        /// Line, from 1.
        line: u64,
        /// The problem.
        source: TableError,
    },
    /// There is no header line.
    #[error("{}: is empty; a table of methylation calls begins with the names of its columns",
            path.display())]
    Empty {
        /// The file.
        path: PathBuf,
    },
}

impl RunError for FrequencyError {
    fn class(&self) -> Class {
        match self {
            Self::Source(source) => source.class(),
            Self::Line { .. } | Self::Empty { .. } => Class::Input,
        }
    }

    fn place(&self) -> Place {
        match self {
            Self::Source(source) => source.place(),
            Self::Line { path, line, .. } => Place::of(path).at_line(*line),
            Self::Empty { path } => Place::of(path),
        }
    }
}

/// Place of a group.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct GroupKey {
    sequence: u32,
    start: u64,
    /// Its last position.
    end: u64,
}

/// Counts of a group.
#[derive(Debug, Clone, Copy)]
struct Group {
    /// Sites by the first row.
    motif_count: u32,
    /// Length of the text, 0 for a site of a group that was split.
    text_bytes: u32,
    /// Start of its text.
    text_start: u64,
    called: u64,
    methylated: u64,
}

impl Absorb for Group {
    fn absorb(&mut self, later: &Self) {
        self.called = self.called.saturating_add(later.called);
        self.methylated = self.methylated.saturating_add(later.methylated);
    }
}

/// Counts of all groups that were seen.
#[derive(Debug)]
pub struct Frequencies {
    options: FrequencyOptions,
    names: Vec<Vec<u8>>,
    by_name: HashMap<Vec<u8>, u32>,
    /// The sequence of the row before: rows of a sequence mostly are together.
    last: u32,
    groups: Tallies<GroupKey, Group>,
    /// Texts of groups, end to end.
    texts: Vec<u8>,
    spare: Vec<u8>,
    counts_cpgs: Option<bool>,
    rows: u64,
    ambiguous: u64,
}

/// The text of a site of a group that was split.
const SPLIT: &[u8] = b"split-group";

impl Frequencies {
    /// Nothing counted.
    #[must_use]
    pub fn new(options: FrequencyOptions) -> Self {
        Self {
            options,
            names: Vec::new(),
            by_name: HashMap::new(),
            last: 0,
            groups: Tallies::default(),
            texts: Vec::new(),
            spare: Vec::new(),
            counts_cpgs: None,
            rows: 0,
            ambiguous: 0,
        }
    }

    /// Rows that were read.
    #[must_use]
    pub fn rows(&self) -> u64 {
        self.rows
    }

    /// Rows among them that were too ambiguous to count.
    #[must_use]
    pub fn ambiguous(&self) -> u64 {
        self.ambiguous
    }

    /// Counts the rows of a file; `-` is standard input.
    ///
    /// # Errors
    /// The file cannot be read, or a line is malformed.
    pub fn read(&mut self, path: &Path) -> Result<(), FrequencyError> {
        let mut columns: Option<Columns> = None;
        for_each_line(path, |line, text| {
            let wrong = |source| FrequencyError::Line { path: path.to_owned(), line, source };
            match &columns {
                None => {
                    let read = Columns::parse(text).map_err(wrong)?;
                    self.counts_cpgs.get_or_insert(read.counts_cpgs);
                    columns = Some(read);
                }
                Some(columns) => self.add(&columns.row(text).map_err(wrong)?),
            }
            Ok::<_, FrequencyError>(())
        })?;
        if columns.is_some() {
            Ok(())
        } else {
            Err(FrequencyError::Empty { path: path.to_owned() })
        }
    }

    /// Counts one row.
    pub fn add(&mut self, row: &CallRow<'_>) {
        self.rows += 1;
        if self.options.cutoff.is_ambiguous(row.log_lik_ratio, row.motif_count) {
            self.ambiguous += 1;
            return;
        }
        let sequence = self.sequence_id(row.chromosome);
        let is_methylated = row.log_lik_ratio > 0.0;
        if let Some(motif) = self.options.splits_groups
            && row.motif_count > 1
        {
            let mut first = None;
            for site in motif.sites(row.sequence) {
                let position = row.start + (site - *first.get_or_insert(site)) as u64;
                let key = GroupKey { sequence, start: position, end: position };
                self.count(key, 1, is_methylated, &[]);
            }
        } else {
            let key = GroupKey { sequence, start: row.start, end: row.end };
            self.count(key, row.motif_count, is_methylated, row.sequence);
        }
    }

    fn sequence_id(&mut self, name: &[u8]) -> u32 {
        if self.names.get(self.last as usize).is_some_and(|last| last == name) {
            return self.last;
        }
        self.last = match self.by_name.get(name) {
            Some(&known) => known,
            None => {
                let new = self.names.len() as u32;
                self.names.push(name.to_vec());
                self.by_name.insert(name.to_vec(), new);
                new
            }
        };
        self.last
    }

    fn count(&mut self, key: GroupKey, sites: u32, is_methylated: bool, text: &[u8]) {
        let called = u64::from(sites);
        let group = Group {
            motif_count: sites,
            text_bytes: text.len() as u32,
            text_start: self.texts.len() as u64,
            called,
            methylated: if is_methylated { called } else { 0 },
        };
        self.texts.extend_from_slice(text);
        if self.groups.add(key, group) {
            self.drop_unused_texts();
        }
    }

    /// Keeps the texts of the first rows only.
    fn drop_unused_texts(&mut self) {
        self.spare.clear();
        for group in self.groups.merged_values() {
            let text = text_of(group, &self.texts);
            group.text_start = self.spare.len() as u64;
            self.spare.extend_from_slice(text);
        }
        std::mem::swap(&mut self.texts, &mut self.spare);
    }

    /// Writes the table, piece by piece: sorted by the bytes of the sequence's name, start, end.
    ///
    /// # Errors
    /// Errors of `write`.
    pub fn write<E>(mut self, mut write: impl FnMut(&[u8]) -> Result<(), E>) -> Result<(), E> {
        const PIECE_BYTES: usize = 1 << 20;
        self.groups.merge();
        let motifs = if self.counts_cpgs == Some(true) { "cpgs" } else { "motifs" };
        let mut out = format!(
            "chromosome\tstart\tend\tnum_{motifs}_in_group\tcalled_sites\tcalled_sites_methylated\t\
             methylated_frequency\tgroup_sequence\n"
        )
        .into_bytes();
        let mut by_name: Vec<u32> = (0..self.names.len() as u32).collect();
        by_name.sort_unstable_by_key(|&id| &self.names[id as usize]);
        let groups = self.groups.merged();
        for id in by_name {
            let from = groups.partition_point(|(key, _)| key.sequence < id);
            for (key, group) in groups[from..].iter().take_while(|(key, _)| key.sequence == id) {
                let text = if group.text_bytes == 0 { SPLIT } else { text_of(group, &self.texts) };
                append_group(&self.names[id as usize], key.start..key.end, group, text, &mut out);
                if out.len() >= PIECE_BYTES {
                    write(&out)?;
                    out.clear();
                }
            }
        }
        write(&out)
    }
}

fn text_of<'a>(group: &Group, texts: &'a [u8]) -> &'a [u8] {
    let start = group.text_start as usize;
    texts.get(start..start + group.text_bytes as usize).unwrap_or_default()
}

fn append_group(
    name: &[u8],
    Range { start, end }: Range<u64>,
    group: &Group,
    text: &[u8],
    out: &mut Vec<u8>,
) {
    // Rows of no sites are no calls; both programs leave such groups out.
    if group.called == 0 {
        return;
    }
    out.extend_from_slice(name);
    let frequency = group.methylated as f64 / group.called as f64;
    // Writing to a Vec does not fail.
    let _ = write!(
        out,
        "\t{start}\t{end}\t{}\t{}\t{}\t{frequency:.3}\t",
        group.motif_count, group.called, group.methylated
    );
    out.extend_from_slice(text);
    out.push(b'\n');
}

#[cfg(test)]
#[path = "frequency_tests.rs"]
mod tests;

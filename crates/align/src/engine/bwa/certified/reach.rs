//! How far a match goes from a base, one way, while it occurs often enough.

use super::Tables;
use crate::search::prefetch::prefetch;
use crate::search::rows::{Interval, TwoWay};
use crate::search::text::Bases;

/// A search from one base, in steps.
#[derive(Debug, Clone, Copy)]
pub(super) struct Reach {
    backwards: bool,
    /// Where it begins: after the match's last base if it goes backwards, else at its first.
    from: usize,
    /// It goes no further.
    limit: usize,
    /// How often the match must occur.
    least: u64,
    at: usize,
    /// The match. What it is turned round is kept on the way forwards alone.
    rows: TwoWay,
    /// The match and one base more, which occurs less often.
    longer: Interval,
    phase: Phase,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Phase {
    Start,
    Table,
    Searching,
}

impl Reach {
    /// From past base `end - 1` down to base `limit`, [`Starts::string_bases`] away or more.
    ///
    /// [`Starts::string_bases`]: crate::index::Starts::string_bases
    pub(super) fn backwards(end: usize, limit: usize, least: u64) -> Self {
        Self::new(true, end, limit, least)
    }

    /// From base `start` to before base `limit`, as far away.
    pub(super) fn forwards(start: usize, limit: usize, least: u64) -> Self {
        Self::new(false, start, limit, least)
    }

    fn new(backwards: bool, from: usize, limit: usize, least: u64) -> Self {
        let (rows, longer, phase) = (TwoWay::default(), Interval::default(), Phase::Start);
        Self { backwards, from, limit, least, at: from, rows, longer, phase }
    }

    /// Goes on to another limit. It must not be there yet.
    pub(super) fn further(self, limit: usize, least: u64) -> Self {
        Self { limit, least, ..self }
    }

    /// After the way forwards, the way from the match's first base, which is not `limit`, back to
    /// it.
    pub(super) fn back(self, limit: usize, tables: &Tables<'_>) -> Self {
        tables.rows.prefetch(self.rows.rows);
        Self { backwards: true, from: self.at, limit, at: self.from, ..self }
    }

    /// The first base of the match, or after its last if it went forwards. Where it began, if the
    /// strings that the table knows are already too long.
    pub(super) fn at(&self) -> usize {
        self.at
    }

    /// The rows of the match.
    pub(super) fn rows(&self) -> Interval {
        self.rows.rows
    }

    /// The rows of the match and one base more, where it could not go there.
    pub(super) fn longer(&self) -> Interval {
        self.longer
    }

    /// One step in `read`. False when it goes no further.
    #[inline(always)]
    pub(super) fn step(&mut self, read: &Bases, tables: &Tables<'_>) -> bool {
        match self.phase {
            Phase::Start => {
                let strings = self.strings(read, tables);
                strings.into_iter().for_each(|string| prefetch(tables.starts.start_entry(string)));
                self.phase = Phase::Table;
                return true;
            }
            Phase::Table => {
                let [string, turned] = self.strings(read, tables);
                let rows = tables.start(string);
                if rows.count < self.least {
                    return false;
                }
                let strings = tables.starts.string_bases();
                if self.backwards {
                    self.at = self.from - strings;
                    self.rows.rows = rows;
                } else {
                    self.at = self.from + strings;
                    self.rows = TwoWay { rows, turned: tables.starts.start(turned) };
                }
                self.phase = Phase::Searching;
            }
            Phase::Searching => {
                let longer = match self.backwards {
                    true => TwoWay {
                        rows: tables.rows.extend(self.rows.rows, read.base(self.at - 1)),
                        turned: 0,
                    },
                    false => tables.rows.extend_forwards(self.rows, read.base(self.at)),
                };
                if longer.rows.count < self.least {
                    self.longer = longer.rows;
                    return false;
                }
                self.rows = longer;
                self.at = if self.backwards { self.at - 1 } else { self.at + 1 };
            }
        }
        tables.rows.prefetch(if self.backwards { self.rows.rows } else { self.rows.turned() });
        self.at != self.limit
    }

    /// The numbers of the string that it starts with, as it is and turned round.
    #[inline(always)]
    fn strings(&self, read: &Bases, tables: &Tables<'_>) -> [usize; 2] {
        let strings = tables.starts.string_bases();
        if self.backwards {
            [read.number(self.from - strings, strings); 2]
        } else {
            [read.number(self.from, strings), read.complement_number(self.from, strings)]
        }
    }
}

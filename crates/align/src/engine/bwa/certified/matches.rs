//! Maximal matches: bases of a read that occur often enough, and more of the read does not.

use super::Tables;
use super::reach::Reach;
use crate::search::lockstep::Search;
use crate::search::rows::Interval;
use crate::search::text::Bases;

/// A maximal match.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Match {
    /// Its first base in the read, and one past its last.
    pub(crate) bases: [usize; 2],
    pub(crate) rows: Interval,
}

/// Neighbouring strings of a read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Strings {
    /// Of each.
    pub(crate) bases: usize,
    /// Where the first starts, and the last.
    pub(crate) places: [usize; 2],
}

impl Strings {
    /// All strings of so many bases of a read that is no shorter.
    pub(crate) fn all_of(read: &Bases, bases: usize) -> Self {
        Self { bases, places: [0, read.len() - bases] }
    }
}

/// The search for all maximal matches that contain one of some [`Strings`], from the last string to
/// the first. These are no shorter than those of [`Starts`](crate::index::Starts).
///
/// What begins with a string and reaches furthest ends where a maximal match ends; that one begins
/// as far back as what ends there reaches. The next begins before it.
#[derive(Debug, Clone)]
pub(crate) struct MatchSearch<'a> {
    read: &'a Bases,
    /// The read's number, for the caller.
    pub(crate) number: usize,
    /// How often a match must occur.
    least: u64,
    string_bases: usize,
    first: usize,
    /// One past the last string that is not answered for.
    next: usize,
    /// Whether string `next` is known not to occur so often, so that no match reaches over the end
    /// of the one before.
    closed: bool,
    /// Whether a string that is not excluded most likely occurs so often.
    likely: bool,
    task: Task,
}

#[derive(Debug, Clone, Copy)]
enum Task {
    Next,
    /// How far a match with string `next - 1` at its start reaches.
    End(Reach),
    /// How far back a match begins that ends here.
    Start(usize, Reach),
}

impl<'a> MatchSearch<'a> {
    /// For `strings` of `read`, whose number is for the caller.
    pub(crate) fn new(
        read: &'a Bases,
        number: usize,
        strings: Strings,
        least: u64,
        likely: bool,
    ) -> Self {
        let Strings { bases: string_bases, places: [first, last] } = strings;
        let (next, closed) = (last + 1, last + string_bases == read.len());
        Self { read, number, least, string_bases, first, next, closed, likely, task: Task::Next }
    }

    /// One step. `excluded` says of a string that it does not occur often enough; of others it is
    /// taken that they may. `found` gets the matches. False when all are found.
    #[inline(always)]
    pub(super) fn step(
        &mut self,
        tables: &Tables<'_>,
        excluded: impl Fn(usize) -> bool,
        found: impl FnOnce(Match),
    ) -> bool {
        match &mut self.task {
            Task::Next => {
                while !self.is_over() && excluded(self.next - 1) {
                    (self.next, self.closed) = (self.next - 1, true);
                }
                if self.is_over() {
                    return false;
                }
                let string = self.next - 1;
                let end = if self.closed { string + self.string_bases } else { self.read.len() };
                self.task = if self.closed && self.likely {
                    Task::Start(end, Reach::backwards(end, 0, self.least))
                } else {
                    // That it does not occur follows for more strings from where it ends.
                    Task::End(Reach::forwards(string, end, self.least))
                };
            }
            Task::End(reach) => {
                if !reach.step(self.read, tables) {
                    let reach = *reach;
                    self.take_end(reach, tables, found);
                }
            }
            Task::Start(end, reach) => {
                if !reach.step(self.read, tables) {
                    let reached = Match { bases: [reach.at(), *end], rows: reach.rows() };
                    self.take_match(reached, found);
                }
            }
        }
        true
    }

    /// Before the first string, a match that reaches over it is one that begins further in
    /// front than the one found last.
    fn is_over(&self) -> bool {
        self.next == 0 || (self.next <= self.first && self.closed)
    }

    /// What begins with string `next - 1` reaches as far as `reach` says.
    fn take_end(&mut self, reach: Reach, tables: &Tables<'_>, found: impl FnOnce(Match)) {
        let (string, end) = (self.next - 1, reach.at());
        if end < string.max(self.first) + self.string_bases {
            // All strings that contain what was too long.
            let in_table = string + tables.starts.string_bases();
            let too_long = if end == string { in_table } else { end + 1 };
            self.next = too_long.saturating_sub(self.string_bases);
            (self.closed, self.task) = (true, Task::Next);
        } else if string == 0 {
            self.take_match(Match { bases: [0, end], rows: reach.rows() }, found);
        } else {
            self.task = Task::Start(end, reach.back(0, tables));
        }
    }

    fn take_match(&mut self, reached: Match, found: impl FnOnce(Match)) {
        self.task = Task::Next;
        let string = self.next - 1;
        if reached.bases[0] > string {
            (self.next, self.closed) = (string, true);
            return;
        }
        found(reached);
        (self.next, self.closed) = (reached.bases[0], false);
    }
}

/// A search that keeps what it finds.
#[derive(Debug)]
pub(crate) struct KeptMatches<'a> {
    pub(crate) search: MatchSearch<'a>,
    pub(crate) found: &'a mut Vec<Match>,
}

impl Search<Tables<'_>> for KeptMatches<'_> {
    #[inline(always)]
    fn step(&mut self, tables: &Tables<'_>) -> bool {
        self.search.step(tables, |_| false, |found| self.found.push(found))
    }
}

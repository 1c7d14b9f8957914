//! Simulated reads with the truth in their names (see [`crate::truth`]).
//!
//! A *fragment* is a segment of DNA glued from pieces of the genome: one for an ordinary template,
//! two for a chimera, none for a template from nowhere. Read 1 shows its first bases, read 2 the
//! reverse complement of its last, and a read longer than the fragment runs into the adapter.
//! Duplicates show an earlier fragment again under a new name.

use crate::Error;
use crate::genome::Genome;
use crate::random::Random;
use crate::truth::{self, Origin, Place};

/// A read group and its library.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ReadGroup {
    /// `ID` of the `@RG` line.
    pub id: String,
    /// `LB`.
    pub library: String,
    /// `SM`.
    pub sample: String,
}

/// What reads to make. Shares are of templates, in 0..=1.
#[derive(Debug, Clone)]
pub struct ReadOptions {
    /// Seed.
    pub seed: u64,
    /// Number of templates (pairs, or single reads).
    pub templates: u64,
    /// Two reads a template, or one.
    pub paired: bool,
    /// Shortest read.
    pub length_min_bp: usize,
    /// Longest read; lengths are uniform in between.
    pub length_max_bp: usize,
    /// Mean of the fragment length.
    pub insert_mean_bp: f64,
    /// Standard deviation of the fragment length.
    pub insert_sd_bp: f64,
    /// Substitution rate of the first base.
    pub error_first: f64,
    /// Substitution rate of the last base; grows with the square of the position in between.
    pub error_last: f64,
    /// Insertions and deletions per base.
    pub indel_rate: f64,
    /// Templates that repeat an earlier fragment.
    pub duplicate_share: f64,
    /// Of the duplicates: those next to the original on the flow cell.
    pub optical_share: f64,
    /// Templates glued from two places.
    pub chimera_share: f64,
    /// Templates shorter than a read, which therefore show the adapter.
    pub adapter_share: f64,
    /// Templates with at least one read of random bases.
    pub unmappable_share: f64,
    /// Read groups, drawn evenly; may be empty.
    pub read_groups: Vec<ReadGroup>,
}

impl Default for ReadOptions {
    fn default() -> ReadOptions {
        ReadOptions {
            seed: 1,
            templates: 10_000,
            paired: true,
            length_min_bp: 150,
            length_max_bp: 150,
            insert_mean_bp: 400.0,
            insert_sd_bp: 60.0,
            error_first: 0.001,
            error_last: 0.008,
            indel_rate: 0.0003,
            duplicate_share: 0.0,
            optical_share: 0.3,
            chimera_share: 0.01,
            adapter_share: 0.01,
            unmappable_share: 0.01,
            read_groups: Vec::new(),
        }
    }
}

/// One sequenced read.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Read {
    /// Bases, ASCII.
    pub bases: Vec<u8>,
    /// Qualities, ASCII Phred+33, as many as bases.
    pub qualities: Vec<u8>,
}

/// One template: a pair, or a single read.
#[derive(Debug, Clone, Default)]
pub struct Template {
    /// Name without `/1`, `/2`.
    pub name: Vec<u8>,
    /// Index into [`ReadOptions::read_groups`]; 0 when there are none.
    pub read_group: usize,
    /// Read 1 and, for pairs, read 2; `reads[1]` is empty for single reads.
    pub reads: [Read; 2],
}

/// Adapters of Illumina's TruSeq kits, in the reading direction of read 1 and of read 2.
const ADAPTERS: [&[u8]; 2] =
    [b"AGATCGGAAGAGCACACGTCTGAACTCCAGTCAC", b"AGATCGGAAGAGCGTCGTGTAGGGAAAGAGTGTA"];
/// Fragments kept for duplicates: the look-back of the simulator.
const KEPT: usize = 2048;
/// The first few kept fragments are drawn more often, so that large sets occur.
const FAVOURED: usize = 16;

/// A piece of the genome inside a fragment.
#[derive(Debug, Clone, Copy)]
struct Piece {
    contig: u32,
    position: u32,
    reverse: bool,
    /// First base in the fragment, and number of bases.
    offset: usize,
    length: usize,
}

#[derive(Debug, Clone, Default)]
struct Fragment {
    bases: Vec<u8>,
    pieces: Vec<Piece>,
    /// Reads that show random bases instead of the fragment.
    random: [bool; 2],
}

#[derive(Debug, Clone, Default)]
struct Kept {
    fragment: Fragment,
    reads: [Read; 2],
    read_group: usize,
    place: Place,
}

/// Makes templates one after the other.
#[derive(Debug)]
pub struct Simulator<'a> {
    genome: &'a Genome,
    options: &'a ReadOptions,
    random: Random,
    kept: Vec<Kept>,
    next_kept: usize,
    made: u64,
    template: Template,
}

impl<'a> Simulator<'a> {
    /// A simulator of `options.templates` templates.
    ///
    /// # Errors
    /// [`Error::Options`]: lengths are empty or reversed, or no contig is long enough.
    pub fn new(genome: &'a Genome, options: &'a ReadOptions) -> Result<Simulator<'a>, Error> {
        if options.length_min_bp == 0 || options.length_min_bp > options.length_max_bp {
            return Err(Error::Options("read lengths: 0 < shortest <= longest".into()));
        }
        if !genome.contigs.iter().any(|c| c.bases.len() >= 1000) {
            return Err(Error::Options("no contig of at least 1,000 bp".into()));
        }
        Ok(Simulator {
            genome,
            options,
            random: Random::new(options.seed ^ 0x5EED_0F0F_2EAD_5000),
            kept: Vec::with_capacity(KEPT),
            next_kept: 0,
            made: 0,
            template: Template::default(),
        })
    }

    /// The next template, or `None` after the last. The buffers are recycled.
    pub fn next_template(&mut self) -> Option<&Template> {
        if self.made == self.options.templates {
            return None;
        }
        let repeats = !self.kept.is_empty() && self.random.chance(self.options.duplicate_share);
        let now = if repeats { self.duplicate() } else { self.original() };
        let origins = [0, 1].map(|end| now.fragment.origins(end, now.reads[end].bases.len()));
        let second = usize::from(self.options.paired);
        let name = &mut self.template.name;
        truth::write_name(name, self.made, [&origins[0], &origins[second]], now.place);
        self.template.read_group = now.read_group;
        self.template.reads = now.reads;
        self.made += 1;
        Some(&self.template)
    }

    fn original(&mut self) -> Kept {
        let fragment = self.fragment();
        let reads = [0, 1].map(|end| self.sequence(&fragment, end));
        let read_group = self.random.index(self.options.read_groups.len());
        let place = self.place(read_group);
        let kept = Kept { fragment, reads, read_group, place };
        if self.kept.len() < KEPT {
            self.kept.push(kept.clone());
        } else {
            self.kept[self.next_kept].clone_from(&kept);
            self.next_kept = (self.next_kept + 1) % KEPT;
        }
        kept
    }

    fn duplicate(&mut self) -> Kept {
        let among = if self.random.chance(0.2) { FAVOURED } else { KEPT };
        let from = self.random.index(among.min(self.kept.len()));
        let mut now = self.kept[from].clone();
        if self.random.chance(self.options.optical_share) {
            // Mostly within 100 of the original, sometimes just beyond what counts as optical.
            now.place.x = (now.place.x + self.random.below(220) as u32).saturating_sub(105);
            now.place.y = (now.place.y + self.random.below(220) as u32).saturating_sub(105);
        } else {
            now.read_group = self.random.index(self.options.read_groups.len());
            now.place = self.place(now.read_group);
        }
        if self.random.chance(0.5) {
            now.reads = [0, 1].map(|end| self.sequence(&now.fragment, end));
        } else {
            now.reads.iter_mut().for_each(|read| jitter(&mut self.random, &mut read.qualities));
        }
        now
    }

    fn place(&mut self, read_group: usize) -> Place {
        let r = &mut self.random;
        let tile = 1000 * r.between(1, 2) + 100 * r.between(1, 2) + r.between(1, 24);
        Place {
            lane: read_group as u32 + 1,
            tile: tile as u32,
            x: r.between(1000, 32_000) as u32,
            y: r.between(1000, 32_000) as u32,
        }
    }

    fn fragment(&mut self) -> Fragment {
        let o = self.options;
        let mut fragment = Fragment::default();
        let length = self.random.normal(o.insert_mean_bp, o.insert_sd_bp).max(1.0) as usize;
        if self.random.chance(o.chimera_share) {
            // The break is anywhere: inside a read it makes a supplementary record, between the
            // reads a pair on two contigs or of an unusual orientation.
            let at = self.random.between(1, length.max(2) as u64 - 1) as usize;
            self.add_piece(&mut fragment, at);
            self.add_piece(&mut fragment, length - at.min(length));
        } else if self.random.chance(o.adapter_share) {
            let short = self.random.between(20, o.length_max_bp.max(20) as u64) as usize;
            self.add_piece(&mut fragment, short);
        } else {
            self.add_piece(&mut fragment, length);
        }
        if self.random.chance(o.unmappable_share) {
            let which = self.random.below(3);
            fragment.random = [which != 1, which != 0];
        }
        fragment
    }

    /// Appends a piece of `length` bases from a random place; tries to avoid runs of N.
    fn add_piece(&mut self, fragment: &mut Fragment, length: usize) {
        for attempt in 0.. {
            let mut at = self.random.below(self.genome.length_bp() as u64) as usize;
            let mut contig = 0;
            while at >= self.genome.contigs[contig].bases.len() {
                at -= self.genome.contigs[contig].bases.len();
                contig += 1;
            }
            let bases = &self.genome.contigs[contig].bases;
            let end = at + length;
            if attempt < 100 && (end > bases.len() || bases[at] == b'N' || bases[end - 1] == b'N') {
                continue;
            }
            let end = end.min(bases.len());
            let reverse = self.random.chance(0.5);
            fragment.pieces.push(Piece {
                contig: contig as u32,
                position: at as u32,
                reverse,
                offset: fragment.bases.len(),
                length: end - at,
            });
            if reverse {
                fragment.bases.extend(bases[at..end].iter().rev().map(|&b| complement(b)));
            } else {
                fragment.bases.extend_from_slice(&bases[at..end]);
            }
            return;
        }
    }

    /// Reads `fragment` from one end, with errors.
    fn sequence(&mut self, fragment: &Fragment, end: usize) -> Read {
        let o = self.options;
        let mut read = Read::default();
        if end == 1 && !o.paired {
            return read;
        }
        let length = self.random.between(o.length_min_bp as u64, o.length_max_bp as u64) as usize;
        let mut template = Vec::with_capacity(length + 16);
        if fragment.random[end] {
            template.extend((0..length + 16).map(|_| b"ACGT"[self.random.index(4)]));
        } else {
            let bases = fragment.bases.iter();
            let take = length + 16;
            if end == 0 {
                template.extend(bases.copied().take(take));
            } else {
                template.extend(bases.rev().map(|&b| complement(b)).take(take));
            }
            template.extend_from_slice(ADAPTERS[end]);
        }
        add_errors(&mut self.random, o, &template, length, &mut read);
        read
    }
}

impl Fragment {
    /// Where the read of `length` bases from `end` comes from, in reading order.
    fn origins(&self, end: usize, length: usize) -> Vec<Origin> {
        if self.random[end] || length == 0 {
            return Vec::new();
        }
        let total = self.bases.len();
        let length = length.min(total);
        let (from, to) = if end == 0 { (0, length) } else { (total - length, total) };
        let shown = |p: &Piece| {
            let (a, b) = (from.max(p.offset), to.min(p.offset + p.length));
            let skipped =
                if p.reverse { (p.offset + p.length).checked_sub(b) } else { Some(a - p.offset) };
            (a < b).then_some(())?;
            Some(Origin {
                contig: p.contig,
                position: p.position + skipped? as u32,
                reverse: p.reverse != (end == 1),
            })
        };
        let mut origins: Vec<Origin> = self.pieces.iter().filter_map(shown).collect();
        if end == 1 {
            origins.reverse(); // in the order in which the read shows them
        }
        origins
    }
}

/// Copies `length` bases of `template` with substitutions, indels and qualities; pads with `N` when
/// the template is too short.
fn add_errors(r: &mut Random, o: &ReadOptions, template: &[u8], length: usize, read: &mut Read) {
    let indel = rate(o.indel_rate);
    let mut at = 0;
    while read.bases.len() < length {
        let bits = r.next_u64();
        let roll = (bits >> 32) as u32;
        if at < template.len() && roll < indel {
            at += 1; // a deletion, or an insertion when the same base comes again
            if bits & 1 == 1 {
                at -= 1;
                push(read, b"ACGT"[(bits >> 1 & 3) as usize], 20);
            }
            continue;
        }
        let along = read.bases.len() as f64 / length as f64;
        let p = o.error_first + (o.error_last - o.error_first) * along * along;
        let wrong = roll.wrapping_sub(indel) < rate(p);
        let base = template.get(at).copied().unwrap_or(b'N');
        let quality = if base == b'N' {
            2
        } else {
            let best = 40 - (along * along * 10.0) as u8;
            best - (bits & 3) as u8 - if wrong { 8 + (bits >> 2 & 15) as u8 } else { 0 }
        };
        // The noise of a real run: a few bases of low quality anywhere.
        let quality = if bits >> 8 & 63 == 0 { quality.min(12) } else { quality };
        let base = if wrong { other(base, bits >> 16) } else { base };
        push(read, base, quality);
        at += 1;
    }
}

fn push(read: &mut Read, base: u8, quality: u8) {
    read.bases.push(base);
    read.qualities.push(quality + 33);
}

fn rate(p: f64) -> u32 {
    (p * f64::from(u32::MAX)) as u32
}

/// One of the three other bases.
fn other(base: u8, bits: u64) -> u8 {
    let at = b"ACGT".iter().position(|&b| b == base).unwrap_or(0) as u64;
    b"ACGT"[((at + 1 + bits % 3) & 3) as usize]
}

fn complement(base: u8) -> u8 {
    match base {
        b'A' => b'T',
        b'C' => b'G',
        b'G' => b'C',
        b'T' => b'A',
        _ => b'N',
    }
}

/// Moves some qualities by one or two, so that duplicates differ in score.
fn jitter(random: &mut Random, qualities: &mut [u8]) {
    for q in qualities {
        let bits = random.next_u64();
        if bits & 7 == 0 {
            let up = (bits >> 3 & 3) as u8;
            *q = (*q + up).saturating_sub(2).clamp(33 + 2, 33 + 41);
        }
    }
}

#[cfg(test)]
#[path = "reads_tests.rs"]
mod tests;

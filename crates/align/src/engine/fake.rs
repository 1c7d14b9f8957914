//! An engine that does not align: it takes a calibrated time per read and emits plausible records.
//!
//! With it the host can be loaded as hundreds of real cores would load it, and failures can be made
//! to happen at a chosen read.

use std::str::FromStr;
use std::time::Duration;

use seqloom_format::bam::reg2bin;
use seqloom_runtime::machine::thread_cpu_time;

use super::{CohortEngine, EngineError, EngineReads, Origin, Read, RecordSink, SeededBatch};

const LONGEST_READ_BASES: usize = 1 << 20;
/// Pauses between looks at the clock: a few microseconds.
const SPINS_PER_LOOK: usize = 64;
/// Distance between the outer ends of the two mates, in bp.
const INSERT_SIZE_BP: u64 = 400;

/// How the engine behaves: `sleep=20us`, `spin=20us`, `fail-at=N`, `panic-at=N`, `stall-at=N` for
/// `stall=3000000us`, comma-separated.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct FakeOptions {
    /// Time slept per read.
    pub sleep_per_read: Duration,
    /// Processor time burnt per read.
    pub spin_per_read: Duration,
    /// Ordinal of the pair (or single read, where there are no pairs) whose batch fails.
    pub fail_at: Option<u64>,
    /// The same, for a batch that panics.
    pub panic_at: Option<u64>,
    /// The same, for a batch whose emission takes `stall` longer.
    pub stall_at: Option<u64>,
    /// How long that batch is held up.
    pub stall: Duration,
}

impl FromStr for FakeOptions {
    type Err = EngineError;

    fn from_str(text: &str) -> Result<Self, EngineError> {
        let refuse = |part: &str| {
            EngineError::Option(format!(
                "'{part}' is no option of the fake engine; use sleep=20us, spin=20us, fail-at=N, \
                 panic-at=N, stall-at=N, stall=20us"
            ))
        };
        let mut options = Self::default();
        for part in text.split(',').filter(|part| !part.is_empty()) {
            let (key, value) = part.split_once('=').ok_or_else(|| refuse(part))?;
            let number = value.trim_end_matches("us").parse().map_err(|_| refuse(part))?;
            match key {
                "sleep" => options.sleep_per_read = Duration::from_micros(number),
                "spin" => options.spin_per_read = Duration::from_micros(number),
                "fail-at" => options.fail_at = Some(number),
                "panic-at" => options.panic_at = Some(number),
                "stall-at" => options.stall_at = Some(number),
                "stall" => options.stall = Duration::from_micros(number),
                _ => return Err(refuse(part)),
            }
        }
        Ok(options)
    }
}

/// Emits plausible records after the time that an alignment takes.
#[derive(Debug)]
pub struct FakeEngine {
    options: FakeOptions,
    contig_lengths_bp: Vec<u64>,
}

impl FakeEngine {
    /// An engine over contigs of the given lengths.
    #[must_use]
    pub fn new(options: FakeOptions, contig_lengths_bp: Vec<u64>) -> Self {
        Self { options, contig_lengths_bp }
    }

    /// Contig and 0-based position of a template that spans `span_bp`: by the hash of its name, so
    /// that copies land together. `None` where the contig is too short for it.
    fn place(&self, name: &[u8], span_bp: u64) -> Option<(i32, u64)> {
        let hash = fnv1a(name);
        let contig = hash.checked_rem(self.contig_lengths_bp.len() as u64)?;
        let room_bp = self.contig_lengths_bp[contig as usize].checked_sub(span_bp)? + 1;
        Some((contig as i32, (hash >> 8) % room_bp))
    }

    fn emit_pair(&self, mates: [Read<'_>; 2], body: &mut Vec<u8>, mut sink: impl FnMut(&[u8])) {
        let bases = mates.map(|mate| mate.bases.len() as u64);
        let span_bp = INSERT_SIZE_BP.max(bases[0]).max(bases[1]);
        let place = self.place(mates[0].name, span_bp).filter(|_| !bases.contains(&0));
        let Some((contig, start)) = place else {
            for (read, flags) in mates.into_iter().zip([0x4d, 0x8d]) {
                FakeRecord { flags, ..FakeRecord::unmapped(read) }.write(body);
                sink(body);
            }
            return;
        };
        let second = start + span_bp - bases[1];
        let span = span_bp as i32;
        let placed = [(0x63, start, second, span), (0x93, second, start, -span)];
        for (read, (flags, at, mate_at, template_length)) in mates.into_iter().zip(placed) {
            let (place, mate) = (Some((contig, at)), Some((contig, mate_at)));
            FakeRecord { read, flags, place, mate, template_length }.write(body);
            sink(body);
        }
    }

    fn emit_single(&self, read: Read<'_>, body: &mut Vec<u8>, mut sink: impl FnMut(&[u8])) {
        let bases = read.bases.len() as u64;
        let place = self.place(read.name, bases).filter(|_| bases > 0);
        let flags = if place.is_some() { 0 } else { 0x4 };
        FakeRecord { flags, place, ..FakeRecord::unmapped(read) }.write(body);
        sink(body);
    }
}

/// 64-bit FNV-1a (Fowler, Noll, Vo).
fn fnv1a(bytes: &[u8]) -> u64 {
    bytes.iter().fold(0xcbf2_9ce4_8422_2325, |hash, &byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
    })
}

struct FakeRecord<'a> {
    read: Read<'a>,
    flags: u16,
    /// Contig and 0-based position.
    place: Option<(i32, u64)>,
    mate: Option<(i32, u64)>,
    template_length: i32,
}

impl<'a> FakeRecord<'a> {
    fn unmapped(read: Read<'a>) -> Self {
        Self { read, flags: 0x4, place: None, mate: None, template_length: 0 }
    }

    /// The record as a BAM body (SAM specification section 4.2), all bases matching.
    fn write(&self, body: &mut Vec<u8>) {
        let bases = self.read.bases.len() as u32;
        let fields = |place: Option<(i32, u64)>| place.map_or((-1, -1), |(c, at)| (c, at as i32));
        let (contig, position) = fields(self.place);
        let (mate_contig, mate_position) = fields(self.mate);
        // A record without place has bin 4680 (SAM specification section 4.2.1).
        let end = i64::from(position) + self.place.map_or(1, |_| i64::from(bases));
        let (quality, operations) = if self.place.is_some() { (60, 1u16) } else { (0, 0) };
        body.clear();
        body.extend_from_slice(&contig.to_le_bytes());
        body.extend_from_slice(&position.to_le_bytes());
        body.push(self.read.name.len() as u8 + 1);
        body.push(quality);
        body.extend_from_slice(&reg2bin(position.into(), end).to_le_bytes());
        body.extend_from_slice(&operations.to_le_bytes());
        body.extend_from_slice(&self.flags.to_le_bytes());
        body.extend_from_slice(&bases.to_le_bytes());
        body.extend_from_slice(&mate_contig.to_le_bytes());
        body.extend_from_slice(&mate_position.to_le_bytes());
        body.extend_from_slice(&self.template_length.to_le_bytes());
        body.extend_from_slice(self.read.name);
        body.push(0);
        if operations > 0 {
            body.extend_from_slice(&(bases << 4).to_le_bytes());
        }
        let code = |base: &u8| match base.to_ascii_uppercase() {
            b'A' => 1,
            b'C' => 2,
            b'G' => 4,
            b'T' => 8,
            _ => 15,
        };
        for two in self.read.bases.chunks(2) {
            body.push(code(&two[0]) << 4 | two.get(1).map_or(0, code));
        }
        match self.read.qualities {
            Some(qualities) => body.extend(qualities.iter().map(|q| q.saturating_sub(33))),
            None => body.resize(body.len() + bases as usize, 0xff),
        }
        if operations > 0 {
            body.extend_from_slice(b"NMC\0");
        }
    }
}

/// Uses processor time: real work takes longer on the clock when its thread has to wait for a core.
fn burn(time: Duration) {
    let end = thread_cpu_time() + time;
    while !time.is_zero() && thread_cpu_time() < end {
        (0..SPINS_PER_LOOK).for_each(|_| std::hint::spin_loop());
    }
}

impl CohortEngine for FakeEngine {
    type Scratch = Vec<u8>;
    type Candidates = ();
    type Model = ();

    fn scratch(&self) -> Result<Vec<u8>, EngineError> {
        Ok(Vec::new())
    }

    fn seed_extend(
        &self,
        _scratch: &mut Vec<u8>,
        reads: &EngineReads<'_>,
    ) -> Result<(), EngineError> {
        let count = (2 * reads.pairs.len() + reads.singles.len()) as u32;
        if !self.options.sleep_per_read.is_zero() {
            std::thread::sleep(self.options.sleep_per_read * count);
        }
        burn(self.options.spin_per_read * count);
        Ok(())
    }

    fn infer_cohort(&self, _candidates: &[()]) -> Result<(), EngineError> {
        Ok(())
    }

    fn emit(
        &self,
        body: &mut Vec<u8>,
        seeded: SeededBatch<'_, Self>,
        sink: &mut dyn RecordSink,
    ) -> Result<(), EngineError> {
        let SeededBatch { reads, ordinals, .. } = seeded;
        let (first, count) = match reads.pairs.len() as u64 {
            0 => (ordinals.first_single, reads.singles.len() as u64),
            pairs => (ordinals.first_pair, pairs),
        };
        let holds = |at: Option<u64>| at.is_some_and(|at| (first..first + count).contains(&at));
        assert!(!holds(self.options.panic_at), "the fake engine was set to panic");
        if holds(self.options.fail_at) {
            return Err(EngineError::Failed("the fake engine was set to fail".to_owned()));
        }
        if holds(self.options.stall_at) {
            std::thread::sleep(self.options.stall);
        }
        for (i, &pair) in reads.pairs.iter().enumerate() {
            self.emit_pair(pair, body, |body| sink.record(Origin::Pair(i), body));
        }
        for (i, &read) in reads.singles.iter().enumerate() {
            self.emit_single(read, body, |body| sink.record(Origin::Single(i), body));
        }
        Ok(())
    }

    fn held_bytes(&self, (): &()) -> u64 {
        0
    }

    fn longest_read_bases(&self) -> usize {
        LONGEST_READ_BASES
    }
}

#[cfg(test)]
mod tests {
    use super::super::Ordinals;
    use super::*;
    use seqloom_format::bam::{Flags, RecordRef};

    #[test]
    fn options_are_parsed_or_refused() {
        let parsed: FakeOptions = "sleep=20us,fail-at=7,stall-at=9,stall=3us".parse().unwrap();
        assert_eq!(parsed.sleep_per_read, Duration::from_micros(20));
        assert_eq!(parsed.fail_at, Some(7));
        assert_eq!((parsed.stall_at, parsed.stall), (Some(9), Duration::from_micros(3)));
        assert!("sleep".parse::<FakeOptions>().is_err());
        assert!("nap=3".parse::<FakeOptions>().is_err());
    }

    #[test]
    fn spinning_burns_processor_time() {
        let before = thread_cpu_time();
        burn(Duration::from_millis(3));
        assert!(thread_cpu_time() - before >= Duration::from_millis(3));
        burn(Duration::ZERO);
    }

    fn records(engine: &FakeEngine, reads: &EngineReads<'_>) -> Vec<(Origin, Vec<u8>)> {
        struct Keep(Vec<(Origin, Vec<u8>)>);
        impl RecordSink for Keep {
            fn record(&mut self, origin: Origin, body: &[u8]) {
                self.0.push((origin, body.to_vec()));
            }
        }
        let mut kept = Keep(Vec::new());
        let mut scratch = engine.scratch().unwrap();
        let (candidates, ordinals) = ((), Ordinals::default());
        let seeded = SeededBatch { reads, candidates, model: None, ordinals };
        engine.emit(&mut scratch, seeded, &mut kept).unwrap();
        kept.0
    }

    /// What every record must be, whatever the contigs and the reads are.
    fn check(body: &[u8], contig_lengths_bp: &[u64]) {
        let record = RecordRef::new(body).unwrap();
        assert!(record.aux().all(|field| field.is_ok()));
        let position = i64::from(record.position());
        if record.has_flags(Flags::UNMAPPED) {
            assert_eq!((record.reference_id(), position, record.bin()), (-1, -1, 4680));
            assert_eq!(record.cigar().reference_span(), 0);
            return;
        }
        let end = position + record.cigar().reference_span();
        assert_eq!(end - position, record.base_count() as i64);
        let length_bp = contig_lengths_bp[record.reference_id() as usize] as i64;
        assert!(position >= 0 && end <= length_bp, "{position}..{end} on {length_bp} bp");
        assert_eq!(record.bin(), reg2bin(position, end));
    }

    #[test]
    fn records_are_valid_and_mates_agree() {
        fn t(contig_lengths_bp: &[u64], lengths: [usize; 2]) {
            let engine = FakeEngine::new(FakeOptions::default(), contig_lengths_bp.to_vec());
            let (bases, qualities) = ([b'G'; 1000], [b'I'; 1000]);
            let names: Vec<String> = (0..50).map(|i| format!("r{i}")).collect();
            fn read<'a>(name: &'a str, bases: &'a [u8], qualities: &'a [u8]) -> Read<'a> {
                Read { name: name.as_bytes(), bases, qualities: Some(qualities) }
            }
            let read = |name, bp: usize| read(name, &bases[..bp], &qualities[..bp]);
            let pairs = names.iter().map(|name| lengths.map(|bp| read(name, bp))).collect();
            let singles = names.iter().map(|name| read(name, lengths[0])).collect();
            let records = records(&engine, &EngineReads { pairs, singles });
            assert_eq!(records.len(), 150);
            records.iter().for_each(|(_, body)| check(body, contig_lengths_bp));
            for (i, pair) in records[..100].chunks(2).enumerate() {
                let [first, second] = [&pair[0].1, &pair[1].1].map(|b| RecordRef::new(b).unwrap());
                assert_eq!([pair[0].0, pair[1].0], [Origin::Pair(i); 2]);
                for (one, other) in [(first, second), (second, first)] {
                    assert_eq!(one.mate_reference_id(), other.reference_id());
                    assert_eq!(one.mate_position(), other.position());
                    assert_eq!(one.template_length(), -other.template_length());
                    let reverse = other.has_flags(Flags::REVERSE);
                    assert_eq!(one.has_flags(Flags::MATE_REVERSE), reverse);
                }
            }
        }
        t(&[1_000_000, 50_000], [150, 150]);
        t(&[100_000_000], [1, 1000]);
        t(&[1000], [1000, 30]);
        t(&[399], [100, 100]);
        t(&[10, 100_000], [100, 0]);
        t(&[], [100, 100]);
    }
}

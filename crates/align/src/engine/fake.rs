//! An engine that does not align: it takes a calibrated time per read and emits plausible records.
//!
//! With it the host can be loaded as hundreds of real cores would load it, and failures can be made
//! to happen at a chosen read.

use std::str::FromStr;
use std::time::{Duration, Instant};

use super::{AlignmentEngine, EngineError, EngineReads, Ordinals, Origin, Read, RecordSink};

const LONGEST_READ_BASES: usize = 1 << 20;
/// Distance between the outer ends of the two mates, in bp.
const INSERT_SIZE_BP: u64 = 400;

/// How the engine behaves: `sleep=20us`, `spin=20us`, `fail-at=N`, `panic-at=N`, comma-separated.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct FakeOptions {
    /// Time slept per read.
    pub sleep_per_read: Duration,
    /// Time burnt per read.
    pub spin_per_read: Duration,
    /// Ordinal of the template whose batch fails.
    pub fail_at: Option<u64>,
    /// Ordinal of the template whose batch panics.
    pub panic_at: Option<u64>,
}

impl FromStr for FakeOptions {
    type Err = EngineError;

    fn from_str(text: &str) -> Result<Self, EngineError> {
        let refuse = |part: &str| {
            EngineError::Option(format!(
                "'{part}' is no option of the fake engine; use sleep=20us, spin=20us, fail-at=N, panic-at=N"
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
                _ => return Err(refuse(part)),
            }
        }
        Ok(options)
    }
}

/// See the module documentation.
#[derive(Debug)]
pub struct FakeEngine {
    options: FakeOptions,
    contig_lengths_bp: Vec<u64>,
}

/// Copies of the reads of one batch.
#[derive(Debug)]
pub struct FakeCandidates {
    pairs: Vec<[OwnedRead; 2]>,
    singles: Vec<OwnedRead>,
}

#[derive(Debug)]
struct OwnedRead {
    name: Vec<u8>,
    bases: Vec<u8>,
    qualities: Option<Vec<u8>>,
}

impl OwnedRead {
    fn copy_of(read: &Read<'_>) -> Self {
        Self {
            name: read.name.to_vec(),
            bases: read.bases.to_vec(),
            qualities: read.qualities.map(<[u8]>::to_vec),
        }
    }
}

impl FakeEngine {
    /// An engine over contigs of the given lengths.
    #[must_use]
    pub fn new(options: FakeOptions, contig_lengths_bp: Vec<u64>) -> Self {
        Self { options, contig_lengths_bp }
    }

    /// Contig and 0-based position for a read name: its hash, so that copies land together.
    fn place(&self, name: &[u8]) -> (i32, u64) {
        let hash = fnv1a(name);
        let contig = (hash % self.contig_lengths_bp.len() as u64) as usize;
        let room_bp = self.contig_lengths_bp[contig].saturating_sub(2 * INSERT_SIZE_BP).max(1);
        (contig as i32, (hash >> 8) % room_bp)
    }

    fn emit_pair(&self, mates: &[OwnedRead; 2], body: &mut Vec<u8>, mut sink: impl FnMut(&[u8])) {
        let (contig, start) = self.place(&mates[0].name);
        let second = start + INSERT_SIZE_BP.saturating_sub(mates[1].bases.len() as u64);
        let tlen = (second + mates[1].bases.len() as u64 - start) as i32;
        let placed = [(0x63, start, second, tlen), (0x93, second, start, -tlen)];
        for (read, (flags, position, mate_position, template_length)) in mates.iter().zip(placed) {
            let record = FakeRecord {
                read,
                flags,
                contig,
                position,
                mate: Some((contig, mate_position)),
                template_length,
            };
            record.write(body);
            sink(body);
        }
    }
}

/// 64-bit FNV-1a (Fowler, Noll, Vo).
fn fnv1a(bytes: &[u8]) -> u64 {
    bytes.iter().fold(0xcbf2_9ce4_8422_2325, |hash, &byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
    })
}

struct FakeRecord<'a> {
    read: &'a OwnedRead,
    flags: u16,
    contig: i32,
    position: u64,
    mate: Option<(i32, u64)>,
    template_length: i32,
}

impl FakeRecord<'_> {
    /// The record as a BAM body (SAM specification section 4.2), all bases matching.
    fn write(&self, body: &mut Vec<u8>) {
        let bases = self.read.bases.len() as u32;
        let operations = u16::from(bases > 0);
        let (mate_contig, mate_position) = self.mate.unwrap_or((-1, u64::MAX));
        body.clear();
        body.extend_from_slice(&self.contig.to_le_bytes());
        body.extend_from_slice(&(self.position as i32).to_le_bytes());
        body.push(self.read.name.len() as u8 + 1);
        body.push(60);
        body.extend_from_slice(&4680u16.to_le_bytes());
        body.extend_from_slice(&operations.to_le_bytes());
        body.extend_from_slice(&self.flags.to_le_bytes());
        body.extend_from_slice(&bases.to_le_bytes());
        body.extend_from_slice(&mate_contig.to_le_bytes());
        body.extend_from_slice(&(mate_position as i32).to_le_bytes());
        body.extend_from_slice(&self.template_length.to_le_bytes());
        body.extend_from_slice(&self.read.name);
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
        match &self.read.qualities {
            Some(qualities) => body.extend(qualities.iter().map(|q| q.saturating_sub(33))),
            None => body.resize(body.len() + bases as usize, 0xff),
        }
        body.extend_from_slice(b"NMC\0");
    }
}

impl AlignmentEngine for FakeEngine {
    type Scratch = Vec<u8>;
    type Candidates = FakeCandidates;
    type Model = ();

    fn scratch(&self) -> Result<Vec<u8>, EngineError> {
        Ok(Vec::new())
    }

    fn seed_extend(
        &self,
        _scratch: &mut Vec<u8>,
        reads: &EngineReads<'_>,
    ) -> Result<FakeCandidates, EngineError> {
        let count = (2 * reads.pairs.len() + reads.singles.len()) as u32;
        if !self.options.sleep_per_read.is_zero() {
            std::thread::sleep(self.options.sleep_per_read * count);
        }
        let started = Instant::now();
        while started.elapsed() < self.options.spin_per_read * count {
            std::hint::spin_loop();
        }
        let copy_pair = |[a, b]: &[Read<'_>; 2]| [OwnedRead::copy_of(a), OwnedRead::copy_of(b)];
        Ok(FakeCandidates {
            pairs: reads.pairs.iter().map(copy_pair).collect(),
            singles: reads.singles.iter().map(OwnedRead::copy_of).collect(),
        })
    }

    fn infer_cohort(&self, _candidates: &[FakeCandidates]) -> Result<(), EngineError> {
        Ok(())
    }

    fn emit(
        &self,
        body: &mut Vec<u8>,
        candidates: FakeCandidates,
        _model: Option<&()>,
        ordinals: Ordinals,
        sink: &mut dyn RecordSink,
    ) -> Result<(), EngineError> {
        let first = ordinals.first_pair.max(ordinals.first_single);
        let count = (candidates.pairs.len() + candidates.singles.len()) as u64;
        let holds = |at: Option<u64>| at.is_some_and(|at| (first..first + count).contains(&at));
        assert!(!holds(self.options.panic_at), "the fake engine was told to panic");
        if holds(self.options.fail_at) {
            return Err(EngineError::Failed("the fake engine was told to fail".to_owned()));
        }
        for (i, mates) in candidates.pairs.iter().enumerate() {
            self.emit_pair(mates, body, |body| sink.record(Origin::Pair(i), body));
        }
        for (i, read) in candidates.singles.iter().enumerate() {
            let (contig, position) = self.place(&read.name);
            let record =
                FakeRecord { read, flags: 0, contig, position, mate: None, template_length: 0 };
            record.write(body);
            sink.record(Origin::Single(i), body);
        }
        Ok(())
    }

    fn held_bytes(&self, candidates: &FakeCandidates) -> u64 {
        let bytes = |read: &OwnedRead| (read.name.len() + 2 * read.bases.len() + 96) as u64;
        let pairs: u64 = candidates.pairs.iter().flatten().map(bytes).sum();
        pairs + candidates.singles.iter().map(bytes).sum::<u64>()
    }

    fn longest_read_bases(&self) -> usize {
        LONGEST_READ_BASES
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn options_are_parsed_or_refused() {
        let parsed: FakeOptions = "sleep=20us,fail-at=7".parse().unwrap();
        assert_eq!(parsed.sleep_per_read, Duration::from_micros(20));
        assert_eq!(parsed.fail_at, Some(7));
        assert!("sleep".parse::<FakeOptions>().is_err());
        assert!("nap=3".parse::<FakeOptions>().is_err());
    }
}

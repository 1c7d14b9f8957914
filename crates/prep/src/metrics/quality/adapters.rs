//! Whether a read starts inside an adapter: what Picard 2.27.5 counts as PCT_ADAPTER.

/// Bases of a read that are compared.
const COMPARED_BASES: usize = 16;
/// Mismatches allowed among them.
const ALLOWED_MISMATCHES: usize = 1;

/// Illumina's adapters for single-end, paired-end and indexed libraries, in either direction of
/// synthesis (Picard IlluminaUtil; one 5' adapter serves all three).
const ILLUMINA: [&str; 4] = [
    "AATGATACGGCGACCACCGAGATCTACACTCTTTCCCTACACGACGCTCTTCCGATCT",
    "AGATCGGAAGAGCTCGTATGCCGTCTTCTGCTTG",
    "AGATCGGAAGAGCGGTTCAGCAGGAATGCCGAGACCGATCTCGTATGCCGTCTTCTGCTTG",
    "AGATCGGAAGAGCACACGTCTGAACTCCAGTCACNNNNNNNNATCTCGTATGCCGTCTTCTGCTTG",
];

/// 4-bit codes of the bases that a read may start with, one a byte.
type Start = [u8; COMPARED_BASES];

/// All places of all adapters, and their reverse complements.
#[derive(Debug, Clone)]
pub(super) struct AdapterStarts {
    starts: Vec<Start>,
}

fn code_of(letter: u8) -> u8 {
    match letter {
        b'A' => 1,
        b'C' => 2,
        b'G' => 4,
        b'T' => 8,
        _ => super::observed::NO_CALL,
    }
}

/// Codes of A, C, G and T get their partner's; others stay (htsjdk SequenceUtil.complement).
fn complement(code: u8) -> u8 {
    match code {
        1 => 8,
        2 => 4,
        4 => 2,
        8 => 1,
        other => other,
    }
}

impl AdapterStarts {
    /// Picard's default adapters.
    pub(super) fn illumina() -> Self {
        let mut starts = Vec::new();
        for adapter in ILLUMINA {
            let codes: Vec<u8> = adapter.bytes().map(code_of).collect();
            for window in codes.windows(COMPARED_BASES) {
                let unknown = window.iter().filter(|&&code| code == super::observed::NO_CALL);
                if unknown.count() > ALLOWED_MISMATCHES {
                    continue;
                }
                let forward: Start = std::array::from_fn(|i| window[i]);
                starts.push(forward);
                starts.push(std::array::from_fn(|i| complement(forward[COMPARED_BASES - 1 - i])));
            }
        }
        starts.sort_unstable();
        starts.dedup();
        Self { starts }
    }

    /// Whether a read starts inside an adapter; `is_reverse` where `codes` are those of the
    /// reverse strand.
    pub(super) fn has_start_of(&self, codes: &[u8], is_reverse: bool) -> bool {
        let Some(last) = codes.len().checked_sub(COMPARED_BASES) else { return false };
        let read: Start = if is_reverse {
            std::array::from_fn(|i| complement(codes[last + COMPARED_BASES - 1 - i]))
        } else {
            std::array::from_fn(|i| codes[i])
        };
        self.starts.iter().any(|start| {
            start.iter().zip(read).filter(|&(&a, b)| a != b).count() <= ALLOWED_MISMATCHES
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_that_start_in_an_adapter() {
        let starts = AdapterStarts::illumina();
        let t = |read: &str, is_reverse, expected| {
            let codes: Vec<u8> = read.bytes().map(code_of).collect();
            assert_eq!(starts.has_start_of(&codes, is_reverse), expected, "{read}");
        };
        t("AGATCGGAAGAGCTCG", false, true);
        t("AGATCGGAAGAGCTCGTTTTTTTTTTTT", false, true);
        t("CGAGCTCTTCCGATCT", false, true); // its reverse complement
        t("ACCCCCCCCCCCGAGCTCTTCCGATCT", true, true);
        t("AGATCGGATGAGCTCG", false, true); // one mismatch
        t("AGATCGGATGAGCTCC", false, false); // two
        t("AGATCGGAAGAGCTC", false, false); // too short
        t("", false, false);
        t("CTCCAGTCACNNNNNN", false, false); // too many unknown bases
    }
}

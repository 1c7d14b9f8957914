//! Difference covers (Colbourn and Ling 2000, doi:10.1016/S0020-0190(00)00080-6; for suffixes:
//! Burkhardt and Kärkkäinen 2003): a few residues modulo `v` such that any two positions can be
//! moved on together, by less than `v`, so that both have such a residue.

/// A difference cover modulo a power of two.
#[derive(Debug)]
pub(super) struct Cover {
    modulus_log2: u32,
    /// The residues, ascending.
    residues: Vec<u32>,
    /// By difference `d`: a residue `a` for which `a + d` is one too.
    anchors: Vec<u32>,
}

impl Cover {
    /// The cover modulo `2^modulus_log2`, at most `2^31`; `None` if it were none, a bug.
    pub(super) fn new(modulus_log2: u32) -> Option<Self> {
        let modulus = 1_u64.checked_shl(modulus_log2).filter(|_| modulus_log2 < 32)?;
        let r = (0..).find(|&r: &u64| 24 * r * r + 36 * r + 13 >= modulus)?;
        // Colbourn and Ling's steps from one residue to the next: how often, and how far.
        let steps = [
            (r, 1),
            (1, r + 1),
            (r, 2 * r + 1),
            (2 * r + 1, 4 * r + 3),
            (r + 1, 2 * r + 2),
            (r, 1),
        ];
        let (mut at, mut residues) = (0, vec![0]);
        for (times, step) in steps {
            for _ in 0..times {
                at += step;
                residues.push((at % modulus) as u32);
            }
        }
        residues.sort_unstable();
        residues.dedup();
        let mut anchors = vec![u32::MAX; modulus as usize];
        for &a in &residues {
            for &b in &residues {
                anchors[((u64::from(b) + modulus - u64::from(a)) % modulus) as usize] = a;
            }
        }
        let complete = anchors.iter().all(|&anchor| anchor != u32::MAX);
        complete.then_some(Self { modulus_log2, residues, anchors })
    }

    /// `v`.
    pub(super) fn modulus(&self) -> u64 {
        1 << self.modulus_log2
    }

    /// The residues, ascending.
    pub(super) fn residues(&self) -> &[u32] {
        &self.residues
    }

    /// How far both `i` and `j` have to be moved on until both are of the sample: less than `v`.
    #[inline]
    pub(super) fn shift(&self, i: u64, j: u64) -> u64 {
        let mask = self.modulus() - 1;
        let anchor = u64::from(self.anchors[(j.wrapping_sub(i) & mask) as usize]);
        anchor.wrapping_sub(i) & mask
    }

    /// Number of positions `0 ..= symbols` in the sample.
    pub(super) fn positions(&self, symbols: u64) -> u64 {
        self.residues.iter().map(|&residue| self.positions_of(residue, symbols)).sum()
    }

    fn positions_of(&self, residue: u32, symbols: u64) -> u64 {
        symbols.checked_sub(u64::from(residue)).map_or(0, |rest| (rest >> self.modulus_log2) + 1)
    }
}

/// Where each position of the sample is among them: those of the first residue ascending, then
/// those of the next.
#[derive(Debug)]
pub(super) struct Places {
    modulus_log2: u32,
    /// By residue: the place of its first position; any number for residues that are not covered.
    starts: Vec<u64>,
}

impl Places {
    /// Those of the positions `0 ..= symbols`.
    pub(super) fn new(cover: &Cover, symbols: u64) -> Self {
        let mut starts = vec![0; cover.modulus() as usize];
        let mut next = 0;
        for &residue in &cover.residues {
            starts[residue as usize] = next;
            next += cover.positions_of(residue, symbols);
        }
        Self { modulus_log2: cover.modulus_log2, starts }
    }

    /// The place of position `at`, which is of the sample.
    #[inline]
    pub(super) fn of(&self, at: u64) -> usize {
        let residue = at & ((1 << self.modulus_log2) - 1);
        (self.starts[residue as usize] + (at >> self.modulus_log2)) as usize
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn any_two_positions_meet_the_cover_together() {
        for modulus_log2 in 0..=12 {
            let cover = Cover::new(modulus_log2).unwrap();
            let modulus = cover.modulus();
            for i in 0..modulus.min(300) {
                for j in 0..modulus {
                    let shift = cover.shift(i, j);
                    let is_in = |at: u64| cover.residues.contains(&((at % modulus) as u32));
                    assert!(shift < modulus && is_in(i + shift) && is_in(j + shift));
                }
            }
        }
    }

    #[test]
    fn covers_are_as_small_as_published() {
        let sizes = [6, 8, 9, 10].map(|log2| Cover::new(log2).unwrap().residues.len());
        assert_eq!(sizes, [10, 22, 28, 40]);
        // The largest that any reference needs.
        assert!(Cover::new(17).is_some() && Cover::new(32).is_none());
    }

    #[test]
    fn places_number_the_sample_without_a_gap() {
        let cover = Cover::new(6).unwrap();
        for symbols in [0, 1, 5, 63, 64, 65, 1000] {
            let places = Places::new(&cover, symbols);
            let in_sample = |at: &u64| cover.residues.contains(&((at % 64) as u32));
            let mut found: Vec<usize> =
                (0..=symbols).filter(in_sample).map(|at| places.of(at)).collect();
            found.sort_unstable();
            assert_eq!(found.len() as u64, cover.positions(symbols));
            assert!(found.iter().copied().eq(0..found.len()), "{symbols}");
        }
    }
}

//! Ranks of the k-mers of a reference window, on the strand that went through the pore.

use crate::Motif;
use crate::pore_model::Alphabet;

/// Which molecule a window of the reference stands for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Molecule {
    /// It is the reverse complement of the window.
    pub(crate) is_reverse: bool,
    /// Every site of this motif that is whole in the window is methylated. Takes
    /// [`Alphabet::Methylated`].
    pub(crate) methylated: Option<Motif>,
}

/// The lexicographically lowest base that an IUPAC code stands for; upper case. Anything else is A.
#[must_use]
pub const fn lowest_base(code: u8) -> u8 {
    match code.to_ascii_uppercase() {
        b'C' | b'S' | b'Y' | b'B' => b'C',
        b'G' | b'K' => b'G',
        b'T' | b'U' => b'T',
        _ => b'A',
    }
}

/// The base that pairs with `base`.
#[must_use]
pub(crate) const fn complement(base: u8) -> u8 {
    match base {
        b'A' => b'T',
        b'C' => b'G',
        b'G' => b'C',
        _ => b'A',
    }
}

/// The letter of the molecule at base `at` of `window`, which is of A, C, G and T only.
fn letter(window: &[u8], at: usize, molecule: Molecule) -> u8 {
    let base = if molecule.is_reverse { complement(window[at]) } else { window[at] };
    let is_methylated = |motif: Motif| {
        let site = at.checked_sub(motif.shift(molecule.is_reverse));
        base == motif.base() && site.is_some_and(|site| motif.is_at(window, site))
    };
    if molecule.methylated.is_some_and(is_methylated) { b'M' } else { base }
}

/// Appends the rank of each k-mer of the molecule to `ranks`, in the order of the window: for a
/// reverse molecule, the rank of the reverse complement of each. Nothing if the window is shorter
/// than a k-mer. The window is of A, C, G and T only.
pub(crate) fn push_ranks(
    window: &[u8],
    molecule: Molecule,
    alphabet: Alphabet,
    kmer_length: usize,
    ranks: &mut Vec<u32>,
) {
    let base = alphabet.letters().len() as u32;
    let Some(top) = base.checked_pow((kmer_length as u32).saturating_sub(1)) else { return };
    let mut rank = 0;
    for at in 0..window.len() {
        let code = u32::from(alphabet.rank(letter(window, at, molecule)).unwrap_or(0));
        rank = match molecule.is_reverse {
            true => rank / base + code * top,
            false => rank % top * base + code,
        };
        if at + 1 >= kmer_length {
            ranks.push(rank);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ranks(
        window: &[u8],
        is_reverse: bool,
        methylated: Option<Motif>,
        alphabet: Alphabet,
    ) -> Vec<u32> {
        let mut ranks = Vec::new();
        let molecule = Molecule { is_reverse, methylated };
        push_ranks(window, molecule, alphabet, 3, &mut ranks);
        ranks
    }

    /// Rank by the definition: letters as digits.
    fn rank(kmer: &[u8], alphabet: Alphabet) -> u32 {
        let letters = alphabet.letters();
        kmer.iter().fold(0, |rank, letter| {
            let digit = letters.iter().position(|l| l == letter).unwrap();
            rank * letters.len() as u32 + digit as u32
        })
    }

    #[test]
    fn kmers_are_ranked_on_their_own_strand() {
        let t = |window: &[u8], is_reverse, methylated, alphabet, expected: &[&[u8]]| {
            let expected: Vec<u32> = expected.iter().map(|kmer| rank(kmer, alphabet)).collect();
            assert_eq!(ranks(window, is_reverse, methylated, alphabet), expected);
        };
        t(b"", false, None, Alphabet::Nucleotide, &[]);
        t(b"AC", true, None, Alphabet::Nucleotide, &[]);
        t(b"ACGTT", false, None, Alphabet::Nucleotide, &[b"ACG", b"CGT", b"GTT"]);
        t(b"ACGTT", true, None, Alphabet::Nucleotide, &[b"CGT", b"ACG", b"AAC"]);
        t(b"ACGTT", false, None, Alphabet::Methylated, &[b"ACG", b"CGT", b"GTT"]);
        t(b"ACGTT", false, Some(Motif::Cpg), Alphabet::Methylated, &[b"AMG", b"MGT", b"GTT"]);
        t(b"ACGTT", true, Some(Motif::Cpg), Alphabet::Methylated, &[b"MGT", b"AMG", b"AAM"]);
        t(b"GACTC", false, Some(Motif::Cpg), Alphabet::Methylated, &[b"GAC", b"ACT", b"CTC"]);
        t(b"GACTC", true, Some(Motif::Cpg), Alphabet::Methylated, &[b"GTC", b"AGT", b"GAG"]);
        let t = |window, is_reverse, motif, expected| {
            t(window, is_reverse, Some(motif), Alphabet::Methylated, expected);
        };
        t(b"AGCG", false, Motif::Gpc, &[b"AGM", b"GMG"]);
        t(b"AGCG", true, Motif::Gpc, &[b"GMT", b"CGM"]);
        t(b"GATCG", false, Motif::Dam, &[b"GMT", b"MTC", b"TCG"]);
        t(b"GATCG", true, Motif::Dam, &[b"MTC", b"GMT", b"CGM"]);
        t(b"CCAGG", false, Motif::Dcm, &[b"CMA", b"MAG", b"AGG"]);
        t(b"CCAGG", true, Motif::Dcm, &[b"TGG", b"MTG", b"CMT"]);
        // A site that is cut off is none.
        t(b"GATGAT", false, Motif::Dam, &[b"GAT", b"ATG", b"TGA", b"GAT"]);
        t(b"ATCGAT", true, Motif::Dam, &[b"GAT", b"CGA", b"TCG", b"ATC"]);
    }

    #[test]
    fn a_code_becomes_its_lowest_base() {
        for (codes, base) in
            [("ANMRWVHDaXn-", b'A'), ("CSYBcs", b'C'), ("GKg", b'G'), ("TUt", b'T')]
        {
            assert!(codes.bytes().all(|code| lowest_base(code) == base), "{codes}");
        }
    }
}

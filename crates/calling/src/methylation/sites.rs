//! The single sites of called groups. A group's ratio is that of all its sites together, and
//! what is made of single sites gives it to each of them, as nanopolish does.

use super::GroupCall;
use crate::Motif;
use crate::aligned_read::AlignedRead;
use crate::hmm::kmers::lowest_base;

/// A site whose group was called.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct CalledSite {
    /// Position of the site's first base on the reference, 0-based, whatever the read's strand;
    /// the base that can be methylated is [`Motif::shift`] further.
    pub(crate) position: u64,
    /// Natural log-likelihood ratio of the group, methylated over unmethylated.
    pub(crate) log_lik_ratio: f64,
    /// Sites of the group.
    pub(crate) motif_count: u32,
}

/// Offsets of the sites in a slice of the reference, within a range of it. As the groups are found:
/// an ambiguous base counts as the lowest that it can be.
pub(crate) fn site_offsets(
    motif: Motif,
    reference: &[u8],
    from: usize,
    to: usize,
) -> impl Iterator<Item = usize> {
    // The longest motif has five bases.
    let mut bases = [0; 8];
    let slice = reference.get(from..to.min(reference.len())).unwrap_or_default();
    let mut is_site = move |window: &[u8]| {
        let bases = &mut bases[..window.len()];
        bases.iter_mut().zip(window).for_each(|(base, &code)| *base = lowest_base(code));
        motif.is_at(bases, 0)
    };
    let found = slice.windows(motif.length()).enumerate().filter(move |(_, it)| is_site(it));
    found.map(move |(offset, _)| from + offset)
}

/// Appends the sites of `calls`, in their order.
pub(crate) fn push_sites(
    motif: Motif,
    read: &AlignedRead<'_>,
    calls: &[GroupCall],
    sites: &mut Vec<CalledSite>,
) {
    for call in calls {
        // From the first base of the first site to the last one of the last.
        let from = call.first.saturating_sub(read.start) as usize;
        let to = call.last.saturating_sub(read.start) as usize + motif.length();
        sites.extend(site_offsets(motif, read.reference, from, to).map(|offset| CalledSite {
            position: read.start + offset as u64,
            log_lik_ratio: call.log_lik_methylated - call.log_lik_unmethylated,
            motif_count: call.motif_count,
        }));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sites_are_found_in_their_groups_only() {
        let t = |reference: &[u8], first: u64, last: u64, expected: &[u64]| {
            let read = AlignedRead {
                name: b"r",
                contig: b"c",
                start: 100,
                is_reverse: true,
                sequence: b"",
                reference,
                pairs: &[],
            };
            let call = GroupCall {
                first,
                last,
                motif_count: 9,
                log_lik_methylated: -1.0,
                log_lik_unmethylated: -3.5,
                context_start: 0,
                context_end: 0,
            };
            let mut sites = Vec::new();
            push_sites(Motif::Cpg, &read, &[call], &mut sites);
            assert!(sites.iter().all(|it| it.log_lik_ratio == 2.5 && it.motif_count == 9));
            assert_eq!(sites.iter().map(|it| it.position).collect::<Vec<_>>(), expected);
        };
        t(b"ACGTCGACGA", 101, 104, &[101, 104]);
        t(b"ACGTCGACGA", 101, 101, &[101]);
        t(b"ACGTCGACGA", 104, 107, &[104, 107]);
        t(b"CGCG", 100, 102, &[100, 102]);
        t(b"AYKSGACRA", 101, 106, &[101, 103]);
        // Calls of another slice are a bug elsewhere, and no panic here.
        t(b"AC", 101, 104, &[]);
        t(b"CG", 200, 300, &[]);
        t(b"", 100, 100, &[]);
    }
}

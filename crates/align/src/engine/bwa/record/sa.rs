//! SA: the other records of a read that is split.

use super::super::cigar::md::push_number;
use super::{Alignment, Pool, Recorder, SECONDARY, push_cigar_text};

/// Whether the `number`-th record of a read has an SA.
pub(super) fn has_sa(list: &[Alignment], number: usize) -> bool {
    let is_listed = |it: &Alignment| it.flags & SECONDARY == 0;
    let mut others = list.iter().enumerate().filter(|(at, _)| *at != number);
    is_listed(&list[number]) && others.any(|(_, it)| is_listed(it))
}

impl Recorder<'_> {
    /// Appends the text of SA to `out`: `name,position,strand,CIGAR,MAPQ,edits;` for each record
    /// but the `number`-th.
    pub(super) fn push_sa(
        &self,
        list: &[Alignment],
        number: usize,
        pool: &Pool,
        out: &mut Vec<u8>,
    ) {
        for (at, alignment) in list.iter().enumerate() {
            if at == number || alignment.flags & SECONDARY != 0 {
                continue;
            }
            out.extend_from_slice(&self.reference.names[alignment.sequence as usize]);
            out.push(b',');
            push_number(out, (alignment.position + 1) as u64);
            out.extend_from_slice(if alignment.reverse { b",-," } else { b",+," });
            push_cigar_text(out, alignment.operations(pool).iter().copied());
            out.push(b',');
            push_number(out, alignment.quality as u64);
            out.push(b',');
            push_number(out, alignment.edits as u64);
            out.push(b';');
        }
    }
}

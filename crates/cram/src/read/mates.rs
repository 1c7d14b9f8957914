//! Fields of mates that are in the same slice, made from each other (CRAM specification, section
//! 10.4), as samtools makes them.

use seqloom_format::bam::Flags;
use seqloom_format::bam::edit::{
    set_flags, set_mate_position, set_mate_reference_id, set_template_length,
};

use super::error::Problem;

/// A written record, as its mates need it.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Placed {
    /// Start and length of its body.
    pub(crate) body: usize,
    pub(crate) bytes: usize,
    pub(crate) flags: u16,
    pub(crate) reference_id: i32,
    /// 0-based.
    pub(crate) position: i32,
    /// 0-based place of its last base; its place where it covers none.
    pub(crate) last: i64,
    /// The next record of its template.
    pub(crate) next: Option<usize>,
    /// Whether a record before it says that it is of its template.
    pub(crate) is_named: bool,
}

/// Sets the fields of all records of which mates are in the slice.
pub(crate) fn resolve(records: &[Placed], out: &mut [u8]) -> Result<(), Problem> {
    let mut chain = Vec::new();
    for (index, record) in records.iter().enumerate() {
        if record.is_named || record.next.is_none() {
            continue;
        }
        chain.clear();
        chain.push(index);
        // Each is after the one that names it, so this ends.
        while let Some(next) = records[chain[chain.len() - 1]].next {
            chain.push(next);
        }
        resolve_one(records, &chain, out)?;
    }
    Ok(())
}

fn resolve_one(records: &[Placed], chain: &[usize], out: &mut [u8]) -> Result<(), Problem> {
    let of = |place: usize| &records[chain[place]];
    let all = || chain.iter().map(|&index| &records[index]);
    let first = of(0);
    let left = all().map(|it| it.position).min().unwrap_or(0);
    let right = all().map(|it| it.last).max().unwrap_or(0);
    let is_one_reference = all().all(|it| it.reference_id == first.reference_id);
    let length = (right - i64::from(left) + 1) as i32;
    let at_left = all().filter(|it| it.position == left).count();
    let at_right = all().filter(|it| it.last == right).count();
    let is_tie_won = at_right > 1 && first.flags & Flags::FIRST_OF_PAIR != 0;
    let is_positive = first.position == left && (first.last < right || at_left <= 1 || is_tie_won);
    for place in 0..chain.len() {
        let (own, mate) = (of(place), of((place + 1) % chain.len()));
        let mut flags = own.flags | Flags::PAIRED;
        let bit = |there: u16, bit: u16| if mate.flags & there != 0 { bit } else { 0 };
        flags |= bit(Flags::REVERSE, Flags::MATE_REVERSE);
        flags |= bit(Flags::UNMAPPED, Flags::MATE_UNMAPPED);
        let is_unmapped = flags & (Flags::UNMAPPED | Flags::MATE_UNMAPPED) != 0;
        let template = match (is_one_reference && !is_unmapped, (place == 0) == is_positive) {
            (false, _) => 0,
            (true, true) => length,
            (true, false) => length.wrapping_neg(),
        };
        let body = &mut out[own.body..own.body + own.bytes];
        set_fields(body, flags, mate, template)?;
    }
    Ok(())
}

fn set_fields(body: &mut [u8], flags: u16, mate: &Placed, length: i32) -> Result<(), Problem> {
    let set = set_flags(body, flags)
        .and_then(|()| set_mate_reference_id(body, mate.reference_id))
        .and_then(|()| set_mate_position(body, mate.position))
        .and_then(|()| set_template_length(body, length));
    set.map_err(|_| Problem::Malformed("a record has no fields; this is a bug"))
}

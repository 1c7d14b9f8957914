//! Records for temporary storage, column by column: zstd finds next to nothing in bases and
//! qualities, and what it finds in the rest it finds sooner without them between.
//!
//! A record is framed: its ordinal (8 bytes) and size (4), then BAM's bytes. It is cut in three by
//! what BAM's fixed fields say: *bases* and *qualities*, and the *rest*, which has those fields and
//! so says how to put the record together again. What is no whole record stays in the rest.

/// Before a record's bytes: its ordinal (8) and their number (4).
pub const FRAME_BYTES: usize = 12;
/// Bytes of BAM's fixed fields.
const FIXED_BYTES: usize = 32;

/// Framed records in three columns.
#[derive(Debug, Default)]
pub(super) struct Columns {
    pub(super) rest: Vec<u8>,
    pub(super) bases: Vec<u8>,
    pub(super) qualities: Vec<u8>,
    /// Records that were cut: the first ones.
    pub(super) records: u32,
}

/// Sizes of a framed record's parts, in the order in which they are.
struct Parts {
    front: usize,
    bases: usize,
    qualities: usize,
    back: usize,
}

impl Parts {
    /// Of the record whose frame and fixed fields `bytes` starts with, if they can be true.
    fn of(bytes: &[u8]) -> Option<Self> {
        let (frame, fields) = bytes.split_first_chunk::<FRAME_BYTES>()?;
        let fields = fields.first_chunk::<FIXED_BYTES>()?;
        let size = u32::from_le_bytes(*frame.last_chunk()?) as usize;
        let operations = usize::from(u16::from_le_bytes([fields[12], fields[13]]));
        let qualities =
            u32::from_le_bytes([fields[16], fields[17], fields[18], fields[19]]) as usize;
        let bases = qualities.div_ceil(2);
        let front = FRAME_BYTES + FIXED_BYTES + usize::from(fields[8]) + 4 * operations;
        let back = (FRAME_BYTES + size).checked_sub(front + bases + qualities)?;
        Some(Self { front, bases, qualities, back })
    }
}

impl Columns {
    /// Cuts `raw`, in place of what was there.
    pub(super) fn split(&mut self, raw: &[u8]) {
        let Self { rest, bases, qualities, records } = self;
        *records = 0;
        rest.clear();
        bases.clear();
        qualities.clear();
        let mut left = raw;
        while let Some(parts) = Parts::of(left) {
            let Some((front, after)) = left.split_at_checked(parts.front) else { break };
            let Some((base, after)) = after.split_at_checked(parts.bases) else { break };
            let Some((quality, after)) = after.split_at_checked(parts.qualities) else { break };
            let Some((back, after)) = after.split_at_checked(parts.back) else { break };
            rest.extend_from_slice(front);
            bases.extend_from_slice(base);
            qualities.extend_from_slice(quality);
            rest.extend_from_slice(back);
            *records += 1;
            left = after;
        }
        rest.extend_from_slice(left);
    }

    /// Appends what was split to `out`; `None` where the columns do not fit one another.
    pub(super) fn join(&self, out: &mut Vec<u8>) -> Option<()> {
        let (mut rest, mut bases, mut qualities) =
            (&self.rest[..], &self.bases[..], &self.qualities[..]);
        for _ in 0..self.records {
            let parts = Parts::of(rest)?;
            out.extend_from_slice(take(&mut rest, parts.front)?);
            out.extend_from_slice(take(&mut bases, parts.bases)?);
            out.extend_from_slice(take(&mut qualities, parts.qualities)?);
            out.extend_from_slice(take(&mut rest, parts.back)?);
        }
        out.extend_from_slice(rest);
        (bases.is_empty() && qualities.is_empty()).then_some(())
    }
}

fn take<'a>(bytes: &mut &'a [u8], count: usize) -> Option<&'a [u8]> {
    let (taken, after) = bytes.split_at_checked(count)?;
    *bytes = after;
    Some(taken)
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;
    use proptest::prelude::*;

    /// A framed record with these sizes.
    pub(crate) fn framed(name: u8, operations: u16, bases: u32, tags: usize) -> Vec<u8> {
        let mut body = vec![7; FIXED_BYTES];
        body[8] = name;
        body[12..14].copy_from_slice(&operations.to_le_bytes());
        body[16..20].copy_from_slice(&bases.to_le_bytes());
        let after = usize::from(name) + 4 * usize::from(operations) + tags;
        let bases = bases as usize;
        body.extend((0..after + bases.div_ceil(2) + bases).map(|it| (it * 31) as u8));
        let mut frame = 3_u64.to_le_bytes().to_vec();
        frame.extend_from_slice(&(body.len() as u32).to_le_bytes());
        frame.extend_from_slice(&body);
        frame
    }

    fn joined(raw: &[u8]) -> (Columns, Vec<u8>) {
        let mut columns = Columns { rest: vec![1], bases: vec![2], ..Columns::default() };
        columns.split(raw);
        let mut out = b"before".to_vec();
        columns.join(&mut out).unwrap();
        (columns, out.split_off(6))
    }

    #[test]
    fn bases_and_qualities_leave_the_rest() {
        let raw = [framed(10, 3, 151, 20), framed(1, 0, 0, 0), framed(255, 1, 4, 1)].concat();
        let (columns, joined) = joined(&raw);
        assert_eq!(joined, raw);
        assert_eq!((columns.records, columns.bases.len(), columns.qualities.len()), (3, 78, 155));
    }

    #[test]
    fn what_is_no_record_stays_in_the_rest() {
        let whole = framed(10, 3, 151, 20);
        let mut lies = whole.clone();
        lies[FRAME_BYTES + 16..FRAME_BYTES + 20].copy_from_slice(&u32::MAX.to_le_bytes());
        for tail in [&whole[..whole.len() - 1], &whole[..13], &lies, &[0; 44]] {
            let raw = [&whole, tail].concat();
            let (columns, joined) = joined(&raw);
            assert_eq!(joined, raw);
            assert!(columns.rest.ends_with(&tail[tail.len() - 1..]));
        }
    }

    #[test]
    fn columns_that_do_not_fit_are_refused() {
        let (mut columns, _) = joined(&framed(10, 3, 151, 20));
        columns.qualities.pop();
        assert!(columns.join(&mut Vec::new()).is_none());
        columns.qualities.extend([1, 2]);
        assert!(columns.join(&mut Vec::new()).is_none());
        columns.records = 2;
        assert!(columns.join(&mut Vec::new()).is_none());
    }

    proptest! {
        #[test]
        fn any_bytes_are_joined_as_they_were(
            sizes in prop::collection::vec((any::<u8>(), 0..9_u16, 0..300_u32, 0..99_usize), 0..5),
            tail in prop::collection::vec(any::<u8>(), 0..99),
        ) {
            let records: Vec<_> = sizes.iter().map(|it| framed(it.0, it.1, it.2, it.3)).collect();
            let raw = [records.concat(), tail].concat();
            prop_assert_eq!(joined(&raw).1, raw);
        }
    }
}

//! Containers in a part of an output that is put together later, when it is known how many records
//! come before it. Each is preceded by its size.

use crate::container::{Container, Region, push_region};
use crate::integers::{push_itf8, push_ltf8};
use crate::read::cursor::Cursor;
use crate::read::error::Problem;

/// Bytes of a container's size.
const SIZE_BYTES: usize = 4;
const CORRUPT: Problem = Problem::Corrupt("a container's");

impl Container {
    /// Appends it to a part of an output.
    pub fn push_part(&self, out: &mut Vec<u8>) {
        let start = out.len();
        out.extend_from_slice(&[0; SIZE_BYTES]);
        push_region(out, self.region);
        push_itf8(out, self.regions.len() as i32);
        self.regions.iter().for_each(|&it| push_region(out, it));
        push_itf8(out, self.records as i32);
        push_ltf8(out, self.bases);
        push_itf8(out, self.block_ids.len() as i32);
        self.block_ids.iter().for_each(|&id| push_itf8(out, id));
        out.extend_from_slice(&self.digest);
        push_itf8(out, self.slice_at as i32);
        out.extend_from_slice(&self.blocks);
        let size = (out.len() - start - SIZE_BYTES) as u32;
        out[start..start + SIZE_BYTES].copy_from_slice(&size.to_le_bytes());
    }

    /// The first container of what is left of a part, and its bytes there; `None` if `part` does
    /// not have all of it.
    ///
    /// # Errors
    /// It is none, or has more than `most_bytes`.
    pub fn first_of_part(part: &[u8], most_bytes: usize) -> Result<Option<(Self, usize)>, Problem> {
        let Some((size, rest)) = part.split_first_chunk::<SIZE_BYTES>() else { return Ok(None) };
        let size = u32::from_le_bytes(*size) as usize;
        if size > most_bytes {
            return Err(Problem::TooLarge(most_bytes));
        }
        let Some(bytes) = rest.get(..size) else { return Ok(None) };
        Ok(Some((Self::parse_part(bytes)?, SIZE_BYTES + size)))
    }

    fn parse_part(bytes: &[u8]) -> Result<Self, Problem> {
        let mut cursor = Cursor::new(bytes, "a container");
        let region = parse_region(&mut cursor)?;
        let regions = (0..cursor.size()?).map(|_| parse_region(&mut cursor));
        let regions = regions.collect::<Result<_, _>>()?;
        let (records, bases) = (cursor.size()? as u32, cursor.ltf8()?);
        let block_ids = (0..cursor.size()?).map(|_| cursor.itf8()).collect::<Result<_, _>>()?;
        let (digest, slice_at) = (cursor.array()?, cursor.size()?);
        let blocks = cursor.rest().to_vec();
        if slice_at > blocks.len() {
            return Err(CORRUPT);
        }
        Ok(Self { blocks, slice_at, region, regions, records, bases, block_ids, digest })
    }
}

fn parse_region(cursor: &mut Cursor<'_>) -> Result<Region, Problem> {
    Ok(Region { reference_id: cursor.itf8()?, start: cursor.itf8()?, span: cursor.itf8()? })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn container(blocks: usize) -> Container {
        let region = Region { reference_id: -2, start: 0, span: 0 };
        let one = |reference_id| Region { reference_id, start: 1 << 30, span: 7 };
        Container {
            blocks: (0..blocks).map(|it| it as u8).collect(),
            slice_at: blocks / 2,
            region,
            regions: vec![one(0), one(-1)],
            records: 12_000,
            bases: 1 << 40,
            block_ids: vec![1, 77, 4_341_315],
            digest: [9; 16],
        }
    }

    #[test]
    fn containers_come_back_one_after_the_other() {
        let all = [container(0), container(1), container(70_000)];
        let mut part = Vec::new();
        all.iter().for_each(|it| it.push_part(&mut part));
        let mut at = 0;
        for expected in &all {
            let rest = &part[at..];
            let (found, bytes) = Container::first_of_part(rest, 1 << 20).unwrap().unwrap();
            assert_eq!(format!("{found:?}"), format!("{expected:?}"));
            for cut in [0, 3, 4, bytes / 2, bytes - 1] {
                assert!(Container::first_of_part(&rest[..cut], 1 << 20).unwrap().is_none());
            }
            at += bytes;
        }
        assert_eq!(at, part.len());
    }

    #[test]
    fn what_is_none_is_refused() {
        let mut part = Vec::new();
        container(9).push_part(&mut part);
        assert!(matches!(Container::first_of_part(&part, 8), Err(Problem::TooLarge(8))));
        // Cut, with a size that says so.
        for size in 0..part.len() - SIZE_BYTES - 9 {
            let mut cut = part[..SIZE_BYTES + size].to_vec();
            cut[..SIZE_BYTES].copy_from_slice(&(size as u32).to_le_bytes());
            assert!(Container::first_of_part(&cut, 1 << 20).is_err(), "{size}");
        }
    }
}

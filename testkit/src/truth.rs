//! The truth about a simulated template, inside its read name.
//!
//! Picard and others take tile, x and y from the last three of exactly five or seven ':'-fields,
//! so the truth has to be in the first four:
//! `SIM<ordinal>:<read 1>:<read 2>:<lane>:<tile>:<x>:<y>`, where a read's field is its pieces
//! joined by `+` (a chimera has two) and a piece is `<contig index>_<position>_<F|R>`, position
//! being 1-based and leftmost, the contig index that of the FASTA file. `u` is a read from nowhere.
//! A single-end name repeats read 1's field.

/// Where a part of a read comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Origin {
    /// Index of the contig in the FASTA file, from 0.
    pub(crate) contig: u32,
    /// Leftmost reference position of the part, 0-based.
    pub(crate) position: u32,
    /// The read shows the reverse strand.
    pub(crate) reverse: bool,
}

/// A place on the flow cell.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Place {
    /// Lane, from 1.
    pub(crate) lane: u32,
    /// Tile.
    pub(crate) tile: u32,
    /// X coordinate.
    pub(crate) x: u32,
    /// Y coordinate.
    pub(crate) y: u32,
}

/// Writes a read name into `out` (cleared first).
pub(crate) fn write_name(out: &mut Vec<u8>, ordinal: u64, origins: [&[Origin]; 2], place: Place) {
    use std::io::Write;
    out.clear();
    // Writing to a Vec cannot fail.
    let _ = write!(out, "SIM{ordinal}");
    for pieces in origins {
        out.push(b':');
        if pieces.is_empty() {
            out.push(b'u');
        }
        for (i, o) in pieces.iter().enumerate() {
            let plus = if i == 0 { "" } else { "+" };
            let strand = if o.reverse { 'R' } else { 'F' };
            let _ = write!(out, "{plus}{}_{}_{strand}", o.contig, o.position + 1);
        }
    }
    let _ = write!(out, ":{}:{}:{}:{}", place.lane, place.tile, place.x, place.y);
}

/// The origins of read 1 (`second == false`) or read 2 in a simulated name: empty for a read from
/// nowhere, `None` when the name is not of this kind.
#[must_use]
pub(crate) fn origins(name: &[u8], second: bool) -> Option<Vec<Origin>> {
    if !name.starts_with(b"SIM") {
        return None;
    }
    let field = name.split(|&b| b == b':').nth(if second { 2 } else { 1 })?;
    let text = std::str::from_utf8(field).ok()?;
    if text == "u" {
        return Some(Vec::new());
    }
    text.split('+').map(origin).collect()
}

fn origin(text: &str) -> Option<Origin> {
    let mut parts = text.split('_');
    let contig = parts.next()?.parse().ok()?;
    let position: u32 = parts.next()?.parse().ok()?;
    let reverse = match parts.next()? {
        "F" => false,
        "R" => true,
        _ => return None,
    };
    Some(Origin { contig, position: position.checked_sub(1)?, reverse })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_keep_seven_fields_and_give_the_truth_back() {
        let a = [
            Origin { contig: 0, position: 0, reverse: false },
            Origin { contig: 3, position: 999, reverse: true },
        ];
        let place = Place { lane: 2, tile: 1101, x: 12_345, y: 678 };
        let mut name = b"old".to_vec();
        write_name(&mut name, 42, [&a, &[]], place);
        assert_eq!(name, b"SIM42:0_1_F+3_1000_R:u:2:1101:12345:678");
        assert_eq!(origins(&name, false), Some(a.to_vec()));
        assert_eq!(origins(&name, true), Some(vec![]));
    }

    #[test]
    fn other_names_have_no_truth() {
        for name in ["", "SIM", "SIM1:0_0_F:u:1:1:1:1", "HWI:1:2:3:4:5:6", "SIM1:0_1_X:u:1:1:1:1"] {
            assert_eq!(origins(name.as_bytes(), false), None, "{name}");
        }
    }
}

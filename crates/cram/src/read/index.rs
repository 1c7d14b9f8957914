//! What the index next to a CRAM (`.crai`) says of a region (CRAM specification 3.0, section 12).

use std::ops::Range;

/// Reference of lines of slices with records on several, as old writers have them.
const SEVERAL: i64 = -2;

/// A container by its place in the file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct ContainerPlace {
    /// Offset of its header.
    pub byte: u64,
    /// Containers with records before it.
    pub before: u64,
}

/// The text is no index.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("line {0} is not six numbers of an index of CRAM")]
pub struct BadLine(pub usize);

/// The first container that has a record which reaches into bases of a sequence (0-based), as the
/// text of the index says; `None` if none has.
///
/// # Errors
/// The first line that is none.
pub fn first_container(
    text: &[u8],
    reference: usize,
    bases: Range<u64>,
) -> Result<Option<ContainerPlace>, BadLine> {
    let mut found: Option<u64> = None;
    let mut containers = Vec::new();
    for (index, line) in text.split(|&byte| byte == b'\n').enumerate() {
        if line.is_empty() {
            continue;
        }
        let [of, start, span, container] = numbers(line).ok_or(BadLine(index + 1))?;
        let byte = u64::try_from(container).map_err(|_| BadLine(index + 1))?;
        if containers.last() != Some(&byte) {
            containers.push(byte);
        }
        let is_there = of == SEVERAL || usize::try_from(of) == Ok(reference);
        let first = u64::try_from(start - 1).unwrap_or(0);
        let end = first.saturating_add(u64::try_from(span).unwrap_or(0).max(1));
        if is_there && (of == SEVERAL || (first < bases.end && end > bases.start)) {
            found = Some(found.map_or(byte, |other| other.min(byte)));
        }
    }
    containers.sort_unstable();
    containers.dedup();
    Ok(found.map(|byte| {
        let before = containers.partition_point(|&other| other < byte) as u64;
        ContainerPlace { byte, before }
    }))
}

/// Reference, start from 1, span and the container's offset.
fn numbers(line: &[u8]) -> Option<[i64; 4]> {
    let mut fields = std::str::from_utf8(line).ok()?.trim_end_matches('\r').split('\t');
    let mut number = || fields.next()?.parse::<i64>().ok();
    let numbers = [number()?, number()?.max(0), number()?, number()?];
    // Where the slice is in its container.
    number()?;
    number()?;
    fields.next().is_none().then_some(numbers)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_container_of_a_region_is_found() {
        let text = b"0\t1\t100\t30\t9\t50\n0\t90\t50\t99\t9\t50\n1\t5\t10\t99\t60\t50\n\
                     1\t15\t10\t300\t9\t50\n-1\t0\t0\t400\t9\t50\n";
        let t = |reference, bases, expected: Option<(u64, u64)>| {
            let found = first_container(text, reference, bases).unwrap();
            assert_eq!(found.map(|it| (it.byte, it.before)), expected);
        };
        t(0, 0..1, Some((30, 0)));
        t(0, 99..120, Some((30, 0)));
        t(0, 100..120, Some((99, 1)));
        t(0, 139..1000, None);
        t(1, 0..4, None);
        t(1, 0..5, Some((99, 1)));
        t(1, 14..15, Some((300, 2)));
        t(2, 0..1000, None);
        assert_eq!(first_container(b"", 0, 0..9), Ok(None));
        let several = first_container(b"-2\t0\t0\t77\t9\t50\n", 3, 5..9).unwrap();
        assert_eq!(several, Some(ContainerPlace { byte: 77, before: 0 }));
        for bad in [
            "0\t1\t2\t3\t4\n",
            "0\t1\t2\t3\t4\t5\t6\n",
            "x\t1\t2\t3\t4\t5\n",
            "0\t1\t2\t-3\t4\t5\n",
        ] {
            let text = format!("0\t1\t2\t3\t4\t5\n{bad}");
            assert_eq!(first_container(text.as_bytes(), 0, 0..9), Err(BadLine(2)), "{bad}");
        }
    }
}

//! VCF, as far as it says where variants are: CHROM, POS, REF and INFO/END of a line.
//!
//! Source: VCF specification 4.3 (samtools/hts-specs), sections 1.4 and 1.6. A site spans the bases
//! of REF, or reaches to END where INFO has one, as htsjdk reads it.

use std::ops::Range;

/// How the first line of a VCF begins.
pub const VCF_MAGIC: &[u8] = b"##fileformat=VCF";

/// Place of a variant.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Site<'a> {
    /// CHROM
    pub sequence: &'a [u8],
    /// Its bases, 0-based; empty for a variant before the first base (POS 0).
    pub bases: Range<u32>,
}

/// Problem of a line.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum VcfError {
    /// It ends before a column that every line has.
    #[error("has no {0} column")]
    MissingColumn(&'static str),
    /// POS is not a number in 0..=2147483647.
    #[error("POS {0:?} is not a position")]
    BadPosition(String),
    /// REF is empty or reaches past 2147483647.
    #[error("REF is empty or reaches too far")]
    BadReference,
    /// INFO/END is not a number in POS..=2147483647.
    #[error("END {0:?} in INFO is not a position at or after POS")]
    BadEnd(String),
}

/// Largest position: those of BAM have 31 bits.
const MAX_POSITION: u32 = i32::MAX as u32;

/// Reads one line, without its newline; `None` for header lines and empty ones.
///
/// # Errors
/// A [`VcfError`] that names the column.
pub fn parse_line(line: &[u8]) -> Result<Option<Site<'_>>, VcfError> {
    let line = line.strip_suffix(b"\r").unwrap_or(line);
    if line.is_empty() || line[0] == b'#' {
        return Ok(None);
    }
    let mut rest = line;
    let mut next = |name| column(&mut rest).ok_or(VcfError::MissingColumn(name));
    let sequence = next("CHROM")?;
    let text = next("POS")?;
    let position = number(text).ok_or_else(|| VcfError::BadPosition(lossy(text)))?;
    next("ID")?;
    let reference = next("REF")?;
    for name in ["ALT", "QUAL", "FILTER"] {
        next(name)?;
    }
    let info = next("INFO")?;
    let last = match info_end(info) {
        Some(text) => {
            let end = number(text).filter(|&end| end >= position);
            end.ok_or_else(|| VcfError::BadEnd(lossy(text)))?
        }
        None => {
            let more = u32::try_from(reference.len()).ok().and_then(|it| it.checked_sub(1));
            let last = more.and_then(|more| position.checked_add(more));
            last.filter(|&last| last <= MAX_POSITION).ok_or(VcfError::BadReference)?
        }
    };
    Ok(Some(Site { sequence, bases: position.saturating_sub(1)..last }))
}

/// Takes the next column off the rest of a line, whose last column leaves `rest` empty.
fn column<'a>(rest: &mut &'a [u8]) -> Option<&'a [u8]> {
    if rest.is_empty() {
        return None;
    }
    let (column, after) = match memchr::memchr(b'\t', rest) {
        Some(tab) => (&rest[..tab], &rest[tab + 1..]),
        None => (*rest, &rest[rest.len()..]),
    };
    *rest = after;
    Some(column)
}

/// Value of END in INFO.
fn info_end(info: &[u8]) -> Option<&[u8]> {
    let mut at = 0;
    loop {
        let field = &info[at..];
        let end = memchr::memchr(b';', field).unwrap_or(field.len());
        if let Some(value) = field[..end].strip_prefix(b"END=") {
            return Some(value);
        }
        at += end + 1;
        if at >= info.len() {
            return None;
        }
    }
}

fn number(text: &[u8]) -> Option<u32> {
    if text.is_empty() || text.len() > 10 {
        return None;
    }
    let number = text.iter().try_fold(0_u64, |number, byte| {
        byte.is_ascii_digit().then(|| 10 * number + u64::from(byte - b'0'))
    })?;
    u32::try_from(number).ok().filter(|&number| number <= MAX_POSITION)
}

fn lossy(text: &[u8]) -> String {
    String::from_utf8_lossy(&text[..text.len().min(100)]).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines() {
        let t = |line: &str, expected: Option<(&str, Range<u32>)>| {
            let site = parse_line(line.as_bytes()).unwrap();
            let site = site.map(|it| (std::str::from_utf8(it.sequence).unwrap(), it.bases));
            assert_eq!(site, expected, "{line:?}");
        };
        t("", None);
        t("\r", None);
        t("##fileformat=VCFv4.2", None);
        t("#CHROM\tPOS", None);
        t("chr1\t10\t.\tA\tG\t.\t.\t.", Some(("chr1", 9..10)));
        t("chr1\t10\t.\tACGT\tA\t.\t.\tAC=1\tGT\t0/1\r", Some(("chr1", 9..13)));
        t("1\t10\t.\tA\t<DEL>\t.\tPASS\tEND=20", Some(("1", 9..20)));
        t("1\t10\t.\tA\t<DEL>\t.\tPASS\tSVEND=9;END=20;CIEND=1,2\tGT", Some(("1", 9..20)));
        t("1\t10\t.\tA\t<DEL>\t.\tPASS\tCIEND=9;", Some(("1", 9..10)));
        t("1\t0\t.\tN\tA\t.\t.\t.", Some(("1", 0..0)));
        t("1\t0\t.\tNAC\tA\t.\t.\t.", Some(("1", 0..2)));
        t("1\t2147483647\t.\tN\tA\t.\t.\t.", Some(("1", 2_147_483_646..2_147_483_647)));
    }

    #[test]
    fn malformed_lines() {
        let t = |line: &str, expected: VcfError| {
            assert_eq!(parse_line(line.as_bytes()), Err(expected), "{line:?}");
        };
        let position = |text: &str| VcfError::BadPosition(text.to_owned());
        let end = |text: &str| VcfError::BadEnd(text.to_owned());
        t("chr1", VcfError::MissingColumn("POS"));
        t("chr1\t1\t.\tA", VcfError::MissingColumn("ALT"));
        t("chr1\t1\t.\tA\tG\t.\t.", VcfError::MissingColumn("INFO"));
        t("chr1\t\t.\tA\tG\t.\t.\t.", position(""));
        t("chr1\t-1\t.\tA\tG\t.\t.\t.", position("-1"));
        t("chr1\t2147483648\t.\tA\tG\t.\t.\t.", position("2147483648"));
        t("chr1\t99999999999999999999\t.\tA\tG\t.\t.\t.", position("99999999999999999999"));
        t("chr1\t1 \t.\tA\tG\t.\t.\t.", position("1 "));
        t("chr1\t1\t.\t\tG\t.\t.\t.", VcfError::BadReference);
        t("chr1\t2147483647\t.\tAC\tG\t.\t.\t.", VcfError::BadReference);
        t("chr1\t5\t.\tA\tG\t.\t.\tEND=4", end("4"));
        t("chr1\t5\t.\tA\tG\t.\t.\tX;END=", end(""));
        t("chr1\t5\t.\tA\tG\t.\t.\tEND=x;END=9", end("x"));
    }
}

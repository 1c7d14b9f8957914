//! Describes the bytes after the end of compressed data, for messages.

/// Bytes that are looked at.
pub(crate) const LOOKED_AT_BYTES: usize = 64;

/// Text that is shown.
const SHOWN_LETTERS: usize = 16;

/// Describes `bytes`, the first ones after the end of gzip or BGZF data, and says how to be rid of
/// them; `at` is their offset in the file.
pub(crate) fn after_end(bytes: &[u8], at: u64) -> String {
    let what = describe(&bytes[..bytes.len().min(LOOKED_AT_BYTES)]);
    format!("{what} after the end of the compressed data; `head -c {at} FILE` leaves that out")
}

/// The formats that files are joined with, by their first bytes.
const FORMATS: [(&[u8], &str); 7] = [
    (b"\x1f\x8b", "a damaged gzip member"),
    (b"\x28\xb5\x2f\xfd", "a zstd frame"),
    (b"BZh", "bzip2 data"),
    (b"\xfd7zXZ", "xz data"),
    (b"BAM\x01", "BAM that is not compressed"),
    (b"CRAM", "CRAM"),
    (b"PK\x03\x04", "a zip archive"),
];

fn describe(bytes: &[u8]) -> String {
    if let Some((_, name)) = FORMATS.iter().find(|(magic, _)| bytes.starts_with(magic)) {
        return (*name).to_owned();
    }
    if bytes.iter().all(|&byte| byte == 0) {
        return "zeros".to_owned();
    }
    let line = bytes.split(|byte| matches!(byte, b'\n' | b'\r')).find(|line| !line.is_empty());
    let is_text = |byte: &u8| matches!(byte, b' '..=b'~' | b'\t' | b'\n' | b'\r');
    match line {
        Some(line) if bytes.iter().all(is_text) => {
            let shown = &line[..line.len().min(SHOWN_LETTERS)];
            let dots = if shown.len() < line.len() { "..." } else { "" };
            format!("text that is not compressed (\"{}{dots}\")", shown.escape_ascii())
        }
        None => "line ends".to_owned(),
        Some(_) => {
            let first: Vec<String> = bytes.iter().take(4).map(|it| format!("{it:02x}")).collect();
            format!("bytes of no known format ({})", first.join(" "))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn trailing_bytes_are_named() {
        let t = |bytes: &[u8], expected: &str| assert_eq!(describe(bytes), expected);
        t(&[0; 64], "zeros");
        t(b"\0", "zeros");
        t(b"@r1\nACGT\n", "text that is not compressed (\"@r1\")");
        t(b"\n@r1 a long header line\n", "text that is not compressed (\"@r1 a long heade...\")");
        t(b"\n\n", "line ends");
        t(b"\x28\xb5\x2f\xfd\x04", "a zstd frame");
        t(b"BZh91AY", "bzip2 data");
        t(b"BAM\x01\0", "BAM that is not compressed");
        t(b"\x1f\x8b\x07", "a damaged gzip member");
        t(b"\xff\0\x01", "bytes of no known format (ff 00 01)");
        t(b"ab\0", "bytes of no known format (61 62 00)");
        let whole = after_end(b"hello", 77);
        assert!(whole.ends_with("; `head -c 77 FILE` leaves that out"), "{whole}");
    }
}

//! One line of a SAM header as bytes: `@XX<tab>TT:value<tab>...` (SAM specification 1.3).

use crate::names::is_text;

/// The two letters after the `@`.
pub(super) fn kind(line: &[u8]) -> &[u8] {
    line.get(1..3).unwrap_or_default()
}

/// The `TT:value` fields of a line that has fields.
fn fields(line: &[u8]) -> impl Iterator<Item = &[u8]> {
    line.split(|&byte| byte == b'\t').skip(1)
}

/// Value of the first field `tag`.
pub(super) fn value(line: &[u8], tag: [u8; 2]) -> Option<&[u8]> {
    values(line, tag).next()
}

/// The values of all fields of this name.
pub(super) fn values(line: &[u8], tag: [u8; 2]) -> impl Iterator<Item = &[u8]> {
    fields(line).filter(move |field| is_field(field, tag)).map(|field| &field[3..])
}

fn is_field(field: &[u8], tag: [u8; 2]) -> bool {
    field.len() >= 3 && field[..2] == tag && field[2] == b':'
}

/// Whether the line starts with `@`, two letters, and a tab or nothing.
pub(super) fn is_header_line(line: &[u8]) -> bool {
    line.first() == Some(&b'@')
        && kind(line).len() == 2
        && kind(line).iter().all(u8::is_ascii_alphabetic)
        && matches!(line.get(3), None | Some(b'\t'))
}

/// The first field that is not two characters, a colon and printable text.
pub(super) fn bad_field(line: &[u8]) -> Option<&[u8]> {
    fields(line).find(|field| {
        let is_tagged = field.len() >= 3
            && field[0].is_ascii_alphabetic()
            && field[1].is_ascii_alphanumeric()
            && field[2] == b':';
        !is_tagged || !is_text(&field[3..])
    })
}

/// The first tag that the line has twice.
pub(super) fn repeated_tag(line: &[u8]) -> Option<&[u8]> {
    let tags = || fields(line).map(|field| &field[..field.len().min(2)]);
    let repeated = tags().enumerate().find(|(index, tag)| tags().take(*index).any(|it| it == *tag));
    repeated.map(|(_, tag)| tag)
}

/// Appends `<tab>tag:value` to a line.
pub(super) fn push(line: &mut Vec<u8>, tag: [u8; 2], value: &[u8]) {
    line.push(b'\t');
    line.extend_from_slice(&tag);
    line.push(b':');
    line.extend_from_slice(value);
}

/// The line without the fields named in `tags`.
pub(super) fn without(line: &[u8], tags: &[[u8; 2]]) -> Vec<u8> {
    let mut kept = line[..line.len().min(3)].to_vec();
    for field in fields(line).filter(|field| !tags.iter().any(|&tag| is_field(field, tag))) {
        kept.push(b'\t');
        kept.extend_from_slice(field);
    }
    kept
}

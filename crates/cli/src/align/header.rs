//! The header of the output: sequences of the index, read groups, programs.

use seqloom_align::index::IndexInfo;
use seqloom_format::bam::{Header, HeaderError, expand_escapes};
use seqloom_prep::duplicates::LibraryTable;
use seqloom_terminal::UsageError;

use super::arguments::AlignArguments;

/// Parts of the header.
pub(super) struct HeaderParts<'a> {
    pub(super) index: &'a IndexInfo,
    /// `-R` as typed, or those of all lanes.
    pub(super) read_groups: &'a [String],
    /// Header of unaligned BAM input.
    pub(super) input: Option<&'a Header>,
    pub(super) sorted: bool,
    /// `None` leaves the program line out.
    pub(super) command_line: Option<&'a str>,
}

/// A header, and the identifiers of the read groups that records get, in the order of the lines.
pub(crate) struct OutputHeader {
    pub(crate) header: Header,
    pub(super) read_groups: Vec<Vec<u8>>,
}

/// Builds the header.
///
/// # Errors
/// A read group line that is none.
pub(super) fn build(parts: &HeaderParts<'_>) -> seqloom_terminal::Result<OutputHeader> {
    let mut text = String::from("@HD\tVN:1.6\n");
    for contig in &parts.index.contigs {
        let alt = if contig.is_alt { "\tAH:*" } else { "" };
        text.push_str(&format!("@SQ\tSN:{}\tLN:{}{alt}\n", contig.name, contig.length));
    }
    let mut text = text.into_bytes();
    for line in parts.input.iter().flat_map(|header| header.lines()) {
        if keeps_input_line(line, !parts.read_groups.is_empty()) {
            text.extend_from_slice(line);
            text.push(b'\n');
        }
    }
    let mut header = Header::parse(&text).map_err(|error| UsageError(error.to_string()))?;
    let add = |line: &String| add_read_group(&mut header, line);
    let read_groups = parts.read_groups.iter().map(add).collect::<seqloom_terminal::Result<_>>()?;
    if parts.sorted {
        header.set_sort_order("coordinate", None);
    } else {
        header.set_grouped_by_name();
    }
    if let Some(command_line) = parts.command_line {
        header.add_program("seqloom", env!("CARGO_PKG_VERSION"), command_line);
    }
    Ok(OutputHeader { header, read_groups })
}

/// The libraries of an output's header. Read groups that the command gives replace those of the
/// input, and every record gets one of them.
///
/// # Errors
/// More read groups than there are numbers.
pub(crate) fn library_table(
    arguments: &AlignArguments,
    header: &Header,
) -> seqloom_terminal::Result<LibraryTable> {
    let table = LibraryTable::new(header)?;
    let are_given = arguments.input.read_group.is_some()
        || arguments.sheet.is_some()
        || arguments.names.rg_from_names;
    Ok(if are_given { table.every_record_has_the_only_read_group() } else { table })
}

/// Read groups (unless `-R` replaces them), programs and comments of the input stay.
fn keeps_input_line(line: &[u8], replaces_read_groups: bool) -> bool {
    match line.get(..3) {
        Some(b"@RG") => !replaces_read_groups,
        Some(b"@PG" | b"@CO") => true,
        _ => false,
    }
}

fn add_read_group(header: &mut Header, line: &str) -> seqloom_terminal::Result<Vec<u8>> {
    let expanded = expand_escapes(line);
    let refuse = |error: HeaderError| UsageError(format!("-R '{line}': {error}"));
    Ok(header.add_read_group(expanded.as_bytes()).map_err(refuse)?)
}

#[cfg(test)]
mod tests {
    use super::*;
    use seqloom_align::index::Contig;

    fn index() -> IndexInfo {
        let contig = |name: &str, is_alt| Contig { name: name.to_owned(), length: 9, is_alt };
        IndexInfo {
            contigs: vec![contig("c1", false), contig("c2_alt", true)],
            bases: 18,
            bwt_bytes: 0,
            sa_stride: 8,
            memory_bytes: 0,
        }
    }

    #[test]
    fn read_group_is_expanded_and_alt_contigs_are_labelled() {
        let parts = HeaderParts {
            index: &index(),
            read_groups: &[r"@RG\tID:a\tSM:s".to_owned()],
            input: None,
            sorted: true,
            command_line: None,
        };
        let built = build(&parts).unwrap();
        assert_eq!(built.read_groups, [b"a"]);
        let expected = "@HD\tVN:1.6\tSO:coordinate\n@SQ\tSN:c1\tLN:9\n\
                        @SQ\tSN:c2_alt\tLN:9\tAH:*\n@RG\tID:a\tSM:s\n";
        assert_eq!(String::from_utf8(built.header.text()).unwrap(), expected);
    }

    #[test]
    fn a_read_group_without_id_is_refused() {
        let parts = HeaderParts {
            index: &index(),
            read_groups: &[r"@RG\tSM:s".to_owned()],
            input: None,
            sorted: false,
            command_line: None,
        };
        assert!(build(&parts).is_err());
    }
}

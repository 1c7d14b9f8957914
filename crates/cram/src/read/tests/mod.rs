//! Files that others wrote, and what samtools reads of them.

mod codecs;
mod damage;
mod specification;
mod written;

use std::collections::HashMap;
use std::fs;
use std::ops::Range;
use std::path::Path;

use seqloom_format::bam::{Header, RecordRef, framed_records};
use seqloom_format::sam::append_line;

use super::{
    ContainerHead, DEFINITION_BYTES, Decoder, Defect, Problem, SequenceBases, Sources,
    check_definition, header_text,
};

/// What containers of tests may take.
const MOST_BYTES: usize = 256 << 20;

/// Bases by the header's sequences.
struct Bases(Vec<Option<Vec<u8>>>);

impl SequenceBases for Bases {
    fn length(&self, index: usize) -> Option<usize> {
        self.0.get(index)?.as_ref().map(Vec::len)
    }

    fn read(&self, index: usize, places: Range<usize>, out: &mut Vec<u8>) -> Result<(), String> {
        out.clear();
        out.extend_from_slice(&self.0[index].as_ref().unwrap()[places]);
        Ok(())
    }

    fn is_known(&self, _: usize) -> Result<bool, String> {
        Ok(true)
    }
}

/// The sequences of a FASTA.
fn fasta(path: &Path) -> HashMap<String, Vec<u8>> {
    let text = fs::read_to_string(path).unwrap();
    let mut sequences: HashMap<String, Vec<u8>> = HashMap::new();
    let mut name = String::new();
    for line in text.lines() {
        if let Some(title) = line.strip_prefix('>') {
            name = title.split_whitespace().next().unwrap().to_owned();
            sequences.entry(name.clone()).or_default();
        } else {
            let bases = sequences.get_mut(&name).unwrap();
            bases.extend(line.trim().bytes().map(|it| it.to_ascii_uppercase()));
        }
    }
    sequences
}

/// The next container of a file: its header and body.
fn container<'a>(file: &'a [u8], at: &mut usize) -> Result<(ContainerHead, &'a [u8]), Defect> {
    let ends = || Problem::Ends("a container").at(0);
    let rest = file.get(*at..).unwrap_or_default();
    let head = ContainerHead::parse(rest).map_err(|it| it.at(0))?.ok_or_else(ends)?;
    let end = head.head_bytes + head.body_bytes;
    let body = rest.get(head.head_bytes..end).ok_or_else(ends)?;
    *at += end;
    Ok((head, body))
}

/// The header and the framed records of a file.
fn read_file(
    file: &[u8],
    sequences: &HashMap<String, Vec<u8>>,
    prefix: &str,
) -> Result<(Header, Vec<u8>), Defect> {
    check_definition(file).map_err(|it| it.at(0))?;
    let mut at = DEFINITION_BYTES;
    let (head, body) = container(file, &mut at)?;
    let text = header_text(&head, body, MOST_BYTES)?;
    let header = Header::parse(&text).unwrap_or_default();
    let found = header.references().iter().map(|it| sequences.get(&it.name).cloned());
    let bases = Bases(found.collect());
    let read_groups: Vec<Vec<u8>> =
        header.read_groups().into_iter().map(|it| it.id.to_vec()).collect();
    let sources = Sources {
        sequences: &bases,
        read_groups: &read_groups,
        sequence_count: header.references().len(),
        name_prefix: prefix.as_bytes(),
    };
    let mut decoder = Decoder::new(MOST_BYTES);
    let mut out = Vec::new();
    let mut ended = false;
    while at < file.len() {
        let (head, body) = container(file, &mut at)?;
        ended = head.is_end();
        decoder.decode(&head, body, sources, &mut out)?;
    }
    if ended { Ok((header, out)) } else { Err(Problem::Ends("the file").at(at)) }
}

/// The records of a file that is right.
pub(crate) fn lines_of(file: &[u8], sequences: &HashMap<String, Vec<u8>>) -> Vec<String> {
    let (header, framed) = read_file(file, sequences, "x.cram").unwrap();
    lines(&header, &framed)
}

/// Records as lines of SAM, tags in order.
fn lines(header: &Header, framed: &[u8]) -> Vec<String> {
    let line = |body: &[u8]| {
        let mut line = Vec::new();
        append_line(&RecordRef::new(body).unwrap(), header.references(), &mut line).unwrap();
        ordered(String::from_utf8_lossy(&line).trim_end())
    };
    framed_records(framed).map(|body| line(body.unwrap())).collect()
}

/// A line with its tags in order.
fn ordered(line: &str) -> String {
    let mut fields: Vec<&str> = line.split('\t').collect();
    let tags = fields.len().min(11);
    fields[tags..].sort_unstable();
    fields.join("\t")
}

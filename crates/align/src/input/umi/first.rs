//! What the UMIs of the first reads of an input look like. The index of a sample, taken for a UMI,
//! is the same in nearly all reads: all reads at one place would be duplicates of one.

use std::collections::HashMap;
use std::fmt;

use seqloom_format::ReadBlock;

use super::{ReadStructure, UmiError, UmiRules, UmiSource, append_bases, append_text, text};

/// Templates that are looked at.
const LOOKED_AT: usize = 1000;

/// UMIs of the first reads that hardly are UMIs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OneUmi {
    /// The one of the first template.
    umi: String,
    /// Templates that have it, or whose own is their index.
    templates: usize,
    /// Templates that were looked at.
    of: usize,
    /// It is the index in the comment of its read.
    is_index: bool,
}

impl fmt::Display for OneUmi {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { umi, templates, of, is_index } = self;
        write!(f, "{templates} of the first {of} templates have ")?;
        match is_index {
            true => write!(f, "the index in their comment as their UMI ({umi})")?,
            false => write!(f, "the same UMI ({umi}), as the index of a sample is")?,
        }
        f.write_str("; --umi says where UMIs are")
    }
}

impl UmiRules {
    /// Looks at the first reads of an input: `block` is a block of file number `file`. `None` where
    /// UMIs differ as they should, or where they cannot be had from this file alone. Fewer than two
    /// templates show nothing but an index.
    ///
    /// # Errors
    /// When the first read has no UMI.
    pub fn look_at_first(
        &self,
        block: &ReadBlock,
        file: usize,
    ) -> Result<Option<OneUmi>, UmiError> {
        let mut counts: HashMap<Vec<u8>, usize> = HashMap::new();
        let (mut of, mut indices, mut first) = (0, 0, None);
        for i in 0..block.reads.len() {
            // Mates of one file are one template.
            let is_mate = i > 0 && block.name(i) == block.name(i - 1);
            if is_mate || of == LOOKED_AT {
                continue;
            }
            if block.dotted_number(i).is_some() {
                // It may be the number of a mate, which is not there yet.
                return Ok(None);
            }
            let umi = match self.of_one((block, i), file) {
                Ok(Some(umi)) => umi,
                Ok(None) => return Ok(None),
                Err(error) if i == 0 => return Err(error),
                // The run stops there.
                Err(_) => break,
            };
            of += 1;
            indices += usize::from(self.is_index(&umi, block.header_line(i)));
            first.get_or_insert_with(|| text(&umi));
            *counts.entry(umi).or_default() += 1;
        }
        let most = counts.values().copied().max().unwrap_or_default();
        // Indices are read with errors, which some software writes as they are.
        let nearly_all = |templates: usize| templates > 0 && 10 * templates >= 9 * of;
        let found = match (nearly_all(indices), nearly_all(most) && of > 1) {
            (true, _) => Some((indices, true)),
            (false, true) => Some((most, false)),
            (false, false) => None,
        };
        Ok(found.zip(first).map(|((templates, is_index), umi)| OneUmi {
            umi,
            templates,
            of,
            is_index,
        }))
    }

    /// The UMI of a read without its mate's; `None` where some of it is in another file.
    fn of_one(
        &self,
        (block, i): (&ReadBlock, usize),
        file: usize,
    ) -> Result<Option<Vec<u8>>, UmiError> {
        let mut umi = Vec::new();
        let UmiSource::Reads(structures) = &self.source else {
            append_text(self.text_of((block, i))?, &mut umi)?;
            return Ok(Some(umi));
        };
        let has_umi = |it: &Option<ReadStructure>| it.iter().any(|it| !it.umis().is_empty());
        let others = structures.iter().enumerate().filter(|(read, _)| *read != file);
        let Some(structure) = structures.get(file).and_then(Option::as_ref) else {
            return Ok(None);
        };
        if others.into_iter().any(|(_, it)| has_umi(it)) {
            return Ok(None);
        }
        super::check_length(file, block.bases(i).len(), structure)?;
        for part in structure.umis() {
            append_bases(&block.bases(i)[part.clone()], &mut umi)?;
        }
        Ok(Some(umi).filter(|umi| !umi.is_empty()))
    }

    /// Whether a UMI is the index in the comment (`1:N:0:INDEX`) of its read. A UMI of a comment is
    /// there on purpose.
    fn is_index(&self, umi: &[u8], header_line: Option<&[u8]>) -> bool {
        let is_of_comment = matches!(self.source, UmiSource::Comment(_));
        let mut words = header_line.unwrap_or_default().split(u8::is_ascii_whitespace);
        let fields: Vec<&[u8]> =
            words.nth(1).unwrap_or_default().split(|&byte| byte == b':').collect();
        let [_, [b'Y' | b'N'], _, index] = fields[..] else { return false };
        let mut letters = Vec::new();
        !is_of_comment && append_text(index, &mut letters).is_ok() && letters == umi
    }
}

#[cfg(test)]
mod tests {
    use seqloom_format::fastq::{Grammar, ParseOptions, TextRange, parse};

    use super::*;

    fn look(source: &str, headers: &[String]) -> Result<Option<String>, UmiError> {
        let text: String =
            headers.iter().map(|header| format!("@{header}\nACGT\n+\nIIII\n")).collect();
        let mut block = ReadBlock { bytes: text.into(), ..ReadBlock::default() };
        let range = TextRange { from: 0, limit: block.bytes.len(), at_eof: true };
        parse(Grammar::FourLine, &mut block, range, ParseOptions::default());
        let rules = UmiRules { source: source.parse().unwrap(), prefix: None };
        Ok(rules.look_at_first(&block, 0)?.map(|found| found.to_string()))
    }

    fn many(count: usize, header: impl Fn(usize) -> String) -> Vec<String> {
        (0..count).map(header).collect()
    }

    fn letters(n: usize) -> String {
        (0..4).map(|at| char::from(b"ACGT"[n >> (2 * at) & 3])).collect()
    }

    #[test]
    fn one_umi_of_nearly_all_is_suspect() {
        let t = |source: &str, headers: &[String], expected: Option<&str>| {
            let found = look(source, headers).unwrap();
            assert_eq!(found.is_some(), expected.is_some(), "{source}: {found:?}");
            if let (Some(found), Some(expected)) = (found, expected) {
                assert!(found.starts_with(expected), "{found}");
            }
        };
        t("name", &[], None);
        t("name", &many(1, |_| "a:AC".into()), None);
        t(
            "name",
            &many(2, |n| format!("{n}:AC")),
            Some("2 of the first 2 templates have the same"),
        );
        t("name", &many(2, |_| "a:AC".into()), None);
        t("name", &many(64, |n| format!("{n}:{}", letters(n))), None);
        let mostly = |n: usize| if n.is_multiple_of(10) { letters(n) } else { "ACGT".into() };
        t("comment", &many(2000, |n| format!("{n} 1:N:0:{}", mostly(n))), Some("90"));
        let half = |n: usize| if n.is_multiple_of(2) { letters(n) } else { "ACGT".into() };
        t("comment", &many(100, |n| format!("{n} 1:N:0:{}", half(n))), None);
        // Inline bases: all reads here have the same.
        t("read1:2M+T", &many(9, |n| n.to_string()), Some("9 of the first 9"));
        t("read2:2M+T", &many(9, |n| n.to_string()), None);
        t("read1:2M+T,read2:2M+T", &many(9, |n| n.to_string()), None);
    }

    #[test]
    fn the_index_in_the_comment_is_suspect_as_a_umi_of_the_name() {
        let found = look("name", &many(40, |n| format!("{n}:{0} 1:N:0:{0}", letters(n)))).unwrap();
        let found = found.unwrap();
        assert!(found.starts_with("40 of the first 40 templates have the index"), "{found}");
        // One read is enough.
        assert!(look("name", &["a:AC+GT 1:N:0:AC+GT".to_owned()]).unwrap().is_some());
        assert_eq!(look("name", &["a:AC+GT 1:N:0:AC+GA".to_owned()]), Ok(None));
        // A UMI of the comment is the last field of the comment.
        assert_eq!(look("comment", &["a:AC 1:N:0:AC".to_owned()]), Ok(None));
    }

    #[test]
    fn the_first_read_must_have_a_umi() {
        assert_eq!(look("name", &["a".to_owned()]), Err(UmiError::Missing("name")));
        assert_eq!(look("name", &["a:AC".to_owned(), "b".to_owned()]), Ok(None));
    }
}

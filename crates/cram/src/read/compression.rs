//! The compression header: how the records of a container are encoded (CRAM specification, section
//! 8.4).

use std::collections::HashMap;

use super::cursor::Cursor;
use super::encodings::{ArrayEncoding, Encoding, Slots};
use super::error::Problem;

/// The bases that substitutions have codes for, in the order of the substitution matrix.
const CODED: &[u8; 5] = b"ACGTN";
/// Most tags of one record, and most of all lines.
const MOST_TAGS: usize = 1 << 20;

/// Substituted bases by the base of the reference and a code.
#[derive(Debug, Clone)]
pub(crate) struct Substitutions([[u8; 4]; 256]);

impl Substitutions {
    fn of(matrix: [u8; 5]) -> Self {
        let mut rows = [[b'N'; 4]; 5];
        for ((row, reference), codes) in rows.iter_mut().zip(CODED).zip(matrix) {
            let others = CODED.iter().filter(|base| *base != reference);
            for (place, base) in others.enumerate() {
                row[usize::from(codes >> (6 - 2 * place) & 3)] = *base;
            }
        }
        // What is none of the five counts as N.
        let mut all = [rows[4]; 256];
        for (row, reference) in rows.into_iter().zip(CODED) {
            all[usize::from(*reference)] = row;
        }
        Self(all)
    }

    #[inline]
    pub(crate) fn base(&self, reference: u8, code: u8) -> u8 {
        self.0[usize::from(reference)][usize::from(code & 3)]
    }
}

/// A tag of a line.
#[derive(Debug, Clone)]
pub(crate) struct LineTag {
    pub(crate) key: [u8; 3],
    /// Which of the encodings of tags.
    pub(crate) encoding: usize,
}

/// The encodings of all series.
#[derive(Debug, Default)]
pub(crate) struct SeriesEncodings {
    pub(crate) flags: Encoding,
    pub(crate) cram_flags: Encoding,
    pub(crate) reference_id: Encoding,
    pub(crate) read_length: Encoding,
    pub(crate) position: Encoding,
    pub(crate) read_group: Encoding,
    pub(crate) mate_flags: Encoding,
    pub(crate) mate_reference: Encoding,
    pub(crate) mate_position: Encoding,
    pub(crate) template_length: Encoding,
    pub(crate) next_fragment: Encoding,
    pub(crate) tag_line: Encoding,
    pub(crate) feature_count: Encoding,
    pub(crate) feature_position: Encoding,
    pub(crate) deletion_length: Encoding,
    pub(crate) skip_length: Encoding,
    pub(crate) padding_length: Encoding,
    pub(crate) hard_clip_length: Encoding,
    pub(crate) mapping_quality: Encoding,
    pub(crate) feature_code: Encoding,
    pub(crate) substitution: Encoding,
    pub(crate) base: Encoding,
    pub(crate) quality: Encoding,
    pub(crate) name: ArrayEncoding,
    pub(crate) insertion: ArrayEncoding,
    pub(crate) soft_clip: ArrayEncoding,
    pub(crate) bases: ArrayEncoding,
    pub(crate) qualities: ArrayEncoding,
}

impl SeriesEncodings {
    /// Reads the encoding of the series with this key.
    fn read(
        &mut self,
        key: &[u8],
        cursor: &mut Cursor<'_>,
        slots: &mut Slots,
    ) -> Result<(), Problem> {
        let array = match key {
            b"RN" => Some(&mut self.name),
            b"IN" => Some(&mut self.insertion),
            b"SC" => Some(&mut self.soft_clip),
            b"BB" => Some(&mut self.bases),
            b"QQ" => Some(&mut self.qualities),
            _ => None,
        };
        if let Some(array) = array {
            *array = ArrayEncoding::parse(cursor, slots)?;
            return Ok(());
        }
        let Some(series) = self.one(key) else {
            // Series of old versions, which nothing reads.
            cursor.itf8()?;
            let size = cursor.size()?;
            cursor.take(size)?;
            return Ok(());
        };
        *series = Encoding::parse(cursor, slots)?;
        Ok(())
    }

    fn one(&mut self, key: &[u8]) -> Option<&mut Encoding> {
        Some(match key {
            b"BF" => &mut self.flags,
            b"CF" => &mut self.cram_flags,
            b"RI" => &mut self.reference_id,
            b"RL" => &mut self.read_length,
            b"AP" => &mut self.position,
            b"RG" => &mut self.read_group,
            b"MF" => &mut self.mate_flags,
            b"NS" => &mut self.mate_reference,
            b"NP" => &mut self.mate_position,
            b"TS" => &mut self.template_length,
            b"NF" => &mut self.next_fragment,
            b"TL" => &mut self.tag_line,
            b"FN" => &mut self.feature_count,
            b"FP" => &mut self.feature_position,
            b"DL" => &mut self.deletion_length,
            b"RS" => &mut self.skip_length,
            b"PD" => &mut self.padding_length,
            b"HC" => &mut self.hard_clip_length,
            b"MQ" => &mut self.mapping_quality,
            b"FC" => &mut self.feature_code,
            b"BS" => &mut self.substitution,
            b"BA" => &mut self.base,
            b"QS" => &mut self.quality,
            _ => return None,
        })
    }
}

/// All of it.
#[derive(Debug)]
pub(crate) struct CompressionHeader {
    pub(crate) keeps_names: bool,
    pub(crate) has_deltas: bool,
    pub(crate) needs_reference: bool,
    pub(crate) substitutions: Substitutions,
    pub(crate) series: SeriesEncodings,
    pub(crate) lines: Vec<Vec<LineTag>>,
    pub(crate) tags: Vec<ArrayEncoding>,
}

impl CompressionHeader {
    /// Parses it; `slots` gets the blocks that it names.
    pub(crate) fn parse(bytes: &[u8], slots: &mut Slots) -> Result<Self, Problem> {
        slots.clear();
        let mut cursor = Cursor::new(bytes, "the compression header");
        let mut header = Self {
            keeps_names: true,
            has_deltas: true,
            needs_reference: true,
            substitutions: Substitutions::of([0x1b; 5]),
            series: SeriesEncodings::default(),
            lines: Vec::new(),
            tags: Vec::new(),
        };
        let lines = header.read_preservation(&mut map(&mut cursor)?)?;
        let mut series = map(&mut cursor)?;
        for _ in 0..series.size()? {
            let key = series.take(2)?;
            header.series.read(key, &mut series, slots)?;
        }
        let mut tags = map(&mut cursor)?;
        let mut by_key = HashMap::new();
        for _ in 0..tags.size()? {
            let key = tags.itf8()?;
            by_key.insert(key, header.tags.len());
            header.tags.push(ArrayEncoding::parse(&mut tags, slots)?);
        }
        header.lines = read_lines(lines, &by_key)?;
        Ok(header)
    }

    /// The lines of tags.
    fn read_preservation<'a>(&mut self, map: &mut Cursor<'a>) -> Result<&'a [u8], Problem> {
        let mut lines: &[u8] = &[];
        for _ in 0..map.size()? {
            match map.take(2)? {
                b"RN" => self.keeps_names = map.byte()? != 0,
                b"AP" => self.has_deltas = map.byte()? != 0,
                b"RR" => self.needs_reference = map.byte()? != 0,
                b"SM" => self.substitutions = Substitutions::of(map.array()?),
                b"TD" => {
                    let size = map.size()?;
                    lines = map.take(size)?;
                }
                _ => return Err(Problem::Malformed("the preservation map has an unknown key")),
            }
        }
        Ok(lines)
    }
}

/// A map's entries, after its size in bytes.
fn map<'a>(cursor: &mut Cursor<'a>) -> Result<Cursor<'a>, Problem> {
    let size = cursor.size()?;
    Ok(Cursor::new(cursor.take(size)?, "the compression header"))
}

fn read_lines(bytes: &[u8], by_key: &HashMap<i32, usize>) -> Result<Vec<Vec<LineTag>>, Problem> {
    let text = bytes.strip_suffix(&[0]).unwrap_or(bytes);
    let mut lines = Vec::new();
    let mut count = 0;
    for line in text.split(|&byte| byte == 0) {
        let (tags, rest) = line.as_chunks::<3>();
        if !rest.is_empty() {
            return Err(Problem::Malformed("a line of tags is not of three letters each"));
        }
        count += tags.len();
        if count > MOST_TAGS {
            return Err(Problem::Malformed("there are more than a million tags in lines"));
        }
        let tag = |&key: &[u8; 3]| {
            let [a, b, kind] = key;
            let encoding = by_key.get(&i32::from_be_bytes([0, a, b, kind])).copied();
            let encoding = encoding.ok_or(Problem::Malformed("a tag has no encoding"))?;
            Ok(LineTag { key, encoding })
        };
        lines.push(tags.iter().map(tag).collect::<Result<_, _>>()?);
    }
    Ok(lines)
}

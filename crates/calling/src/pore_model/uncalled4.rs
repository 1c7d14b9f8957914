//! Models of Uncalled4: NumPy arrays in a zip archive (`.npz`).
//!
//! `current.mean` and `current.stdv` are normalised: a level is `value * pa_stdv + pa_mean`, where
//! `_pa_mean` and `_pa_stdv` are in the file. `kmer` holds the k-mers as UCS-4, one a row; where
//! `_reverse` is true (RNA) they are written in the order of the signal, 3' end first.
//!
//! A reader of its own: of zip, what NumPy writes (stored or deflated entries, sizes in the central
//! directory, no encryption, no zip64 sizes), of NumPy's format versions 1 and 2, little-endian
//! numbers in C order. Sizes are bounded before anything is inflated. Sources: PKWARE APPNOTE
//! 6.3.9; NEP 1, "A simple file format for NumPy arrays".

use libdeflater::Decompressor;

use super::{Alphabet, ModelError, ModelRequest, PoreModel};

/// Most bytes of one array. The largest in use, all 9-mers with room for 17 letters, has 18 MB.
const MAX_ARRAY_BYTES: usize = 1 << 28;
/// What a deflated byte can become at most (zlib's documentation: 1032:1).
const MAX_EXPANSION: usize = 1032;
const TRUNCATED: ModelError = ModelError::Archive("it ends too early");

/// Reads a model of Uncalled4. Where the file has no deviations (RNA004), all are
/// `missing_stdv_pa`; without one it is refused.
///
/// # Errors
/// [`ModelError`]: not such a file, a damaged one, or not what `request` requires.
pub fn parse(
    bytes: &[u8],
    missing_stdv_pa: Option<f64>,
    request: &ModelRequest,
) -> Result<PoreModel, ModelError> {
    let archive = Archive::new(bytes)?;
    let (pa_mean, pa_stdv) = (archive.scalar("_pa_mean")?, archive.scalar("_pa_stdv")?);
    let reversed = archive.flag("_reverse")?;
    let kmers = archive.letters("kmer")?;
    let kmer_length = kmers.text(0).len();
    let to_pa = |level: f64| level * pa_stdv + pa_mean;
    let means = archive.numbers("current.mean")?;
    let stdvs = archive.numbers("current.stdv")?;
    let alphabet = Alphabet::Nucleotide;
    let rows = alphabet.rows(kmer_length).ok_or(ModelError::KmerLength { kmer_length })?;
    for found in [kmers.rows, means.len()] {
        if found != rows {
            return Err(ModelError::Rows { found, expected: rows, kmer_length });
        }
    }
    let stdvs = match (stdvs.len(), missing_stdv_pa) {
        (0, Some(stdv)) => vec![stdv; rows],
        (0, None) => {
            return Err(bad_array(
                "current.stdv",
                "is empty; give one deviation for all levels (--level-stdv)",
            ));
        }
        (found, _) if found != rows => {
            return Err(ModelError::Rows { found, expected: rows, kmer_length });
        }
        _ => stdvs.into_iter().map(|stdv| stdv * pa_stdv).collect(),
    };
    let mut levels = vec![(f64::NAN, f64::NAN); rows];
    for (row, (&mean, &stdv)) in means.iter().zip(&stdvs).enumerate() {
        let rank = kmers.rank(row, alphabet, kmer_length, reversed)?;
        let level = &mut levels[rank];
        if !level.0.is_nan() {
            return Err(bad_array("kmer", "has a k-mer twice"));
        }
        *level = (to_pa(mean), stdv);
    }
    let (means, stdvs) = levels.into_iter().unzip();
    let name = archive.letters("_name").map(|name| name.text(0)).unwrap_or_default();
    let mut model = PoreModel::new(name.clone(), alphabet, kmer_length, means, stdvs)?;
    let kit = archive.letters("_kit").map(|kit| kit.text(0)).unwrap_or_default();
    model.chemistry = request.check(&model, None, [name.as_str(), kit.as_str()])?;
    Ok(model)
}

fn bad_array(array: &'static str, why: &'static str) -> ModelError {
    ModelError::Array { array, why }
}

fn u16_at(bytes: &[u8], at: usize) -> Result<usize, ModelError> {
    let field = bytes.get(at..).and_then(|rest| rest.first_chunk()).ok_or(TRUNCATED)?;
    Ok(usize::from(u16::from_le_bytes(*field)))
}

fn u32_at(bytes: &[u8], at: usize) -> Result<usize, ModelError> {
    let field = bytes.get(at..).and_then(|rest| rest.first_chunk()).ok_or(TRUNCATED)?;
    usize::try_from(u32::from_le_bytes(*field)).map_err(|_| TRUNCATED)
}

/// A file and its central directory.
struct Archive<'a> {
    bytes: &'a [u8],
    directory: &'a [u8],
    entries: usize,
}

/// One entry of the directory.
struct Entry<'a> {
    method: usize,
    packed_bytes: usize,
    plain_bytes: usize,
    local: usize,
    name: &'a [u8],
}

impl<'a> Archive<'a> {
    fn new(bytes: &'a [u8]) -> Result<Self, ModelError> {
        const END_BYTES: usize = 22;
        const MAX_COMMENT_BYTES: usize = 1 << 16;
        let from = bytes.len().saturating_sub(END_BYTES + MAX_COMMENT_BYTES);
        let tail = &bytes[from..];
        let end = tail
            .windows(END_BYTES)
            .rposition(|it| it.starts_with(b"PK\x05\x06"))
            .ok_or(ModelError::Archive("it has no zip directory"))?;
        let end = &tail[end..];
        let (size, start) = (u32_at(end, 12)?, u32_at(end, 16)?);
        let directory = bytes.get(start..).and_then(|rest| rest.get(..size)).ok_or(TRUNCATED)?;
        Ok(Self { bytes, directory, entries: u16_at(end, 10)? })
    }

    /// Bytes of the array `name`.
    fn array(&self, name: &'static str) -> Result<Vec<u8>, ModelError> {
        let mut rest = self.directory;
        for _ in 0..self.entries {
            let (entry, after) = next_entry(rest)?;
            rest = after;
            if entry.name.strip_suffix(b".npy") == Some(name.as_bytes()) {
                return self.unpack(&entry);
            }
        }
        Err(bad_array(name, "is missing"))
    }

    fn unpack(&self, entry: &Entry) -> Result<Vec<u8>, ModelError> {
        let local = self.bytes.get(entry.local..).ok_or(TRUNCATED)?;
        if !local.starts_with(b"PK\x03\x04") {
            return Err(ModelError::Archive("an entry is not where the directory has it"));
        }
        let start = 30 + u16_at(local, 26)? + u16_at(local, 28)?;
        let packed = local.get(start..).and_then(|rest| rest.get(..entry.packed_bytes));
        let packed = packed.ok_or(TRUNCATED)?;
        let bound = MAX_ARRAY_BYTES.min(packed.len().saturating_mul(MAX_EXPANSION));
        match entry.method {
            0 if packed.len() == entry.plain_bytes => Ok(packed.to_vec()),
            8 if entry.plain_bytes <= bound => {
                let mut out = vec![0; entry.plain_bytes];
                let inflated = Decompressor::new().deflate_decompress(packed, &mut out);
                (inflated == Ok(out.len()))
                    .then_some(out)
                    .ok_or(ModelError::Archive("an entry does not inflate to its stated size"))
            }
            0 | 8 => Err(ModelError::Archive("an entry's size cannot be right")),
            _ => Err(ModelError::Archive("an entry is neither stored nor deflated")),
        }
    }

    fn numbers(&self, name: &'static str) -> Result<Vec<f64>, ModelError> {
        let array = self.array(name)?;
        let (header, data) = Header::parse(&array).ok_or(bad_array(name, MALFORMED))?;
        let rows = header.rows;
        match header.kind {
            Kind::F32 => decode(data, rows, |it: [u8; 4]| f64::from(f32::from_le_bytes(it))),
            Kind::F64 => decode(data, rows, f64::from_le_bytes),
            Kind::Letters(_) | Kind::Flag => None,
        }
        .ok_or(bad_array(name, "is not made of floating-point numbers, as many as it says"))
    }

    fn scalar(&self, name: &'static str) -> Result<f64, ModelError> {
        let numbers = self.numbers(name)?;
        let [number] = numbers.as_slice() else { return Err(bad_array(name, "is not one number")) };
        number.is_finite().then_some(*number).ok_or(bad_array(name, "is not finite"))
    }

    fn flag(&self, name: &'static str) -> Result<bool, ModelError> {
        let array = self.array(name)?;
        match Header::parse(&array) {
            Some((Header { kind: Kind::Flag, rows: 1 }, &[flag])) => Ok(flag != 0),
            _ => Err(bad_array(name, "is not one truth value")),
        }
    }

    fn letters(&self, name: &'static str) -> Result<Letters, ModelError> {
        let array = self.array(name)?;
        let (header, data) = Header::parse(&array).ok_or(bad_array(name, MALFORMED))?;
        let Kind::Letters(width) = header.kind else {
            return Err(bad_array(name, "is not made of letters"));
        };
        let size = header.rows.checked_mul(width).and_then(|letters| letters.checked_mul(4));
        if size != Some(data.len()) || width == 0 || header.rows == 0 {
            return Err(bad_array(name, "is not as long as it says"));
        }
        // UCS-4 code points; of use are those of one byte, padded with 0.
        let ascii = |it: &[u8; 4]| u8::try_from(u32::from_le_bytes(*it)).unwrap_or(b'?');
        let letters = data.as_chunks().0.iter().map(ascii).collect();
        Ok(Letters { letters, width, rows: header.rows })
    }
}

fn next_entry(directory: &[u8]) -> Result<(Entry<'_>, &[u8]), ModelError> {
    if !directory.starts_with(b"PK\x01\x02") {
        return Err(ModelError::Archive("its zip directory is damaged"));
    }
    let (name_bytes, extra) = (u16_at(directory, 28)?, u16_at(directory, 30)?);
    let end = 46 + name_bytes + extra + u16_at(directory, 32)?;
    let entry = Entry {
        method: u16_at(directory, 10)?,
        packed_bytes: u32_at(directory, 20)?,
        plain_bytes: u32_at(directory, 24)?,
        local: u32_at(directory, 42)?,
        name: directory.get(46..46 + name_bytes).ok_or(TRUNCATED)?,
    };
    Ok((entry, directory.get(end..).ok_or(TRUNCATED)?))
}

fn decode<const N: usize>(
    data: &[u8],
    rows: usize,
    number: impl Fn([u8; N]) -> f64,
) -> Option<Vec<f64>> {
    let (numbers, rest) = data.as_chunks();
    (rest.is_empty() && numbers.len() == rows)
        .then(|| numbers.iter().map(|&it| number(it)).collect())
}

const MALFORMED: &str = "is not a one-dimensional NumPy array of a supported type";

#[derive(Debug, Clone, Copy, PartialEq)]
enum Kind {
    F32,
    F64,
    Flag,
    /// Text of so many letters.
    Letters(usize),
}

/// Header of an array.
#[derive(Debug, PartialEq)]
struct Header {
    kind: Kind,
    rows: usize,
}

impl Header {
    /// The header and the data after it.
    fn parse(array: &[u8]) -> Option<(Self, &[u8])> {
        let rest = array.strip_prefix(b"\x93NUMPY")?;
        let (length, start): (usize, usize) = match rest.first_chunk()? {
            [1, _] => (u16_at(rest, 2).ok()?, 4),
            [2, _] => (u32_at(rest, 2).ok()?, 6),
            _ => return None,
        };
        let text = std::str::from_utf8(rest.get(start..start.checked_add(length)?)?).ok()?;
        let value = |key: &str| Some(text.split_once(key)?.1.trim_start_matches([' ', ':']));
        if !value("'fortran_order'")?.starts_with("False") {
            return None;
        }
        let (descr, _) = value("'descr'")?.strip_prefix('\'')?.split_once('\'')?;
        let (shape, _) = value("'shape'")?.strip_prefix('(')?.split_once(')')?;
        let mut sizes = shape.split(',').map(str::trim).filter(|size| !size.is_empty());
        let rows = sizes.next().map_or(Some(1), |size| size.parse().ok())?;
        let kind = match descr {
            "<f4" => Kind::F32,
            "<f8" => Kind::F64,
            "|b1" => Kind::Flag,
            _ => Kind::Letters(descr.strip_prefix("<U")?.parse().ok()?),
        };
        sizes.next().is_none().then_some((Self { kind, rows }, &rest[start + length..]))
    }
}

/// Rows of text, all as wide as the widest.
struct Letters {
    letters: Vec<u8>,
    width: usize,
    rows: usize,
}

impl Letters {
    fn row(&self, row: usize) -> &[u8] {
        let letters = &self.letters[row * self.width..][..self.width];
        let end = letters.iter().position(|&letter| letter == 0).unwrap_or(self.width);
        &letters[..end]
    }

    fn text(&self, row: usize) -> String {
        String::from_utf8_lossy(self.row(row)).into_owned()
    }

    fn rank(
        &self,
        row: usize,
        alphabet: Alphabet,
        kmer_length: usize,
        reversed: bool,
    ) -> Result<usize, ModelError> {
        let kmer = self.row(row);
        if kmer.len() != kmer_length {
            return Err(bad_array("kmer", "has k-mers of several lengths"));
        }
        let size = alphabet.letters().len();
        let add = |rank: usize, &letter: &u8| {
            let letter = alphabet.rank(letter).ok_or(bad_array("kmer", "has other letters"))?;
            Ok(rank * size + usize::from(letter))
        };
        if reversed { kmer.iter().rev().try_fold(0, add) } else { kmer.iter().try_fold(0, add) }
    }
}

//! Files of a run directory that show whether they are as they were written.

use std::fs::File;
use std::io::{self, BufRead, BufReader, BufWriter, Read, Seek, Write};
use std::path::Path;

use seqloom_format::Persist;
use seqloom_io::AtomicFile;
use seqloom_terminal::error::Bug;
use serde::Serialize;
use serde::de::DeserializeOwned;
use sha2::{Digest, Sha256};

use crate::output::write_error;

/// Bytes as digits.
pub(super) fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// Bytes read at a time for a checksum.
const SUM_BYTES: usize = 1 << 20;
const OTHER_KIND: &str = "it is of another kind";

/// The first line of a sealed file.
fn magic(kind: &str) -> String {
    format!("seqloom {kind} 1\n")
}

/// A value with what identifies it before and its CRC32 after it.
pub(super) fn sealed(kind: &str, value: &[u8]) -> Vec<u8> {
    let mut bytes = magic(kind).into_bytes();
    bytes.extend_from_slice(value);
    crc32fast::hash(&bytes).save(&mut bytes);
    bytes
}

/// Opens what [`sealed`] made.
pub(super) fn unsealed<T: Persist>(bytes: &[u8], kind: &str) -> Result<T, &'static str> {
    let magic = magic(kind);
    let (content, checksum) = bytes.split_last_chunk::<4>().ok_or("it is too short")?;
    if crc32fast::hash(content) != u32::from_le_bytes(*checksum) {
        return Err("its checksum differs");
    }
    let value = content.strip_prefix(magic.as_bytes()).ok_or(OTHER_KIND)?;
    T::from_state(value).map_err(|_| "it is malformed")
}

/// Writes what [`sealed`] would make of many values, one after the other, which need not be in
/// memory together.
pub(super) fn write_sealed_values<T: Persist>(
    file: &AtomicFile,
    kind: &str,
    values: impl Iterator<Item = seqloom_terminal::Result<T>>,
) -> seqloom_terminal::Result<()> {
    let mut out = BufWriter::new(file.file());
    let mut checksum = crc32fast::Hasher::new();
    let mut write = |bytes: &[u8]| {
        checksum.update(bytes);
        out.write_all(bytes).map_err(write_error(file.final_path()))
    };
    write(magic(kind).as_bytes())?;
    for value in values {
        write(&value?.to_state())?;
    }
    let checksum = checksum.finalize().to_state();
    out.write_all(&checksum).and_then(|()| out.flush()).map_err(write_error(file.final_path()))?;
    Ok(())
}

/// Values of [`write_sealed_values`], whose checksum was compared.
pub(super) struct SealedValues {
    file: BufReader<File>,
    left_bytes: u64,
}

impl SealedValues {
    /// Opens a file and reads it once, for its checksum.
    ///
    /// # Errors
    /// The problem.
    pub(super) fn open(path: &Path, kind: &str) -> Result<Self, String> {
        let words = |error: io::Error| error.to_string();
        let mut file = File::open(path).map_err(words)?;
        let bytes = file.metadata().map_err(words)?.len();
        let magic = magic(kind);
        let content_bytes = bytes.checked_sub(4).ok_or("it is too short")?;
        let left_bytes = content_bytes.checked_sub(magic.len() as u64).ok_or("it is too short")?;
        let mut checksum = crc32fast::Hasher::new();
        let mut content = BufReader::with_capacity(SUM_BYTES, (&mut file).take(content_bytes));
        loop {
            let part = content.fill_buf().map_err(words)?;
            if part.is_empty() {
                break;
            }
            checksum.update(part);
            let count = part.len();
            content.consume(count);
        }
        let mut written = [0; 4];
        file.read_exact(&mut written).map_err(words)?;
        if checksum.finalize() != u32::from_le_bytes(written) {
            return Err("its checksum differs".to_owned());
        }
        file.rewind().map_err(words)?;
        let mut file = BufReader::new(file);
        let mut found = vec![0; magic.len()];
        file.read_exact(&mut found).map_err(words)?;
        let is_of_kind = found == magic.as_bytes();
        if is_of_kind { Ok(Self { file, left_bytes }) } else { Err(OTHER_KIND.to_owned()) }
    }

    /// So many of the next bytes; `None` at the end.
    ///
    /// # Errors
    /// They cannot be read.
    pub(super) fn take(&mut self, bytes: usize) -> io::Result<Option<Vec<u8>>> {
        if self.left_bytes == 0 {
            return Ok(None);
        }
        let left = self.left_bytes.checked_sub(bytes as u64);
        self.left_bytes = left.ok_or(io::ErrorKind::UnexpectedEof)?;
        let mut taken = vec![0; bytes];
        self.file.read_exact(&mut taken)?;
        Ok(Some(taken))
    }
}

/// Writes [`sealed`] to a file.
pub(super) fn write_sealed(
    file: &AtomicFile,
    kind: &str,
    value: &[u8],
) -> seqloom_terminal::Result<()> {
    let bytes = sealed(kind, value);
    Ok(file.file().write_all(&bytes).map_err(write_error(file.final_path()))?)
}

/// What a sealed JSON object begins with; digits of the SHA-256 of its other lines follow.
const SEAL: &str = "{\n  \"sha256\": \"";
/// Separator of the digits and the other lines.
const SEAL_END: &str = "\",\n";

/// A value, an object with fields, as JSON that has its own digest as its first field.
///
/// # Errors
/// It is no such value.
pub(super) fn sealed_json(value: &impl Serialize) -> seqloom_terminal::Result<String> {
    let text = serde_json::to_string_pretty(value).map_err(Bug::new)? + "\n";
    let lines = text.strip_prefix("{\n").unwrap_or_default();
    Ok(format!("{SEAL}{}{SEAL_END}{lines}", hex(&Sha256::digest(lines))))
}

/// Value that [`sealed_json`] was made of.
///
/// # Errors
/// The problem.
pub(super) fn unsealed_json<T: DeserializeOwned>(text: &[u8]) -> Result<T, String> {
    let rest = text.strip_prefix(SEAL.as_bytes()).and_then(|rest| rest.split_at_checked(64));
    let (digest, rest) = rest.ok_or("it does not begin with its SHA-256")?;
    let lines = rest.strip_prefix(SEAL_END.as_bytes()).ok_or("its SHA-256 does not end")?;
    if hex(&Sha256::digest(lines)).as_bytes() != digest {
        return Err("its SHA-256 differs".to_owned());
    }
    serde_json::from_slice(&[b"{\n", lines].concat()).map_err(|error| error.to_string())
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    #[test]
    fn values_one_by_one_are_those_that_were_written_and_any_bit_shows() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("values");
        let values = [5_u32, 0, u32::MAX];
        let file = AtomicFile::create(&path).unwrap();
        write_sealed_values(&file, "numbers", values.iter().map(|it| Ok(*it))).unwrap();
        file.commit_new().unwrap();
        let bytes = std::fs::read(&path).unwrap();
        let all: Vec<u8> = values.iter().flat_map(|it| it.to_le_bytes()).collect();
        assert_eq!(bytes, sealed("numbers", &all));
        let mut read = SealedValues::open(&path, "numbers").unwrap();
        for value in values {
            assert_eq!(read.take(4).unwrap().unwrap(), value.to_le_bytes());
        }
        assert!(read.take(4).unwrap().is_none());
        let mut read = SealedValues::open(&path, "numbers").unwrap();
        assert!(read.take(13).is_err());
        assert_eq!(SealedValues::open(&path, "letters").err().unwrap(), OTHER_KIND);
        for at in 0..bytes.len() {
            let mut bad = bytes.clone();
            bad[at] ^= 1 << (at % 8);
            std::fs::write(&path, &bad).unwrap();
            assert!(SealedValues::open(&path, "numbers").is_err(), "{at}");
            std::fs::write(&path, &bytes[..at]).unwrap();
            assert!(SealedValues::open(&path, "numbers").is_err(), "{at}");
        }
    }

    #[test]
    fn any_bit_of_a_sealed_object_shows() {
        let value = json!({"reads": 12, "shards": [{"cohort": 0}], "text": "a\nb"});
        let text = sealed_json(&value).unwrap();
        assert_eq!(unsealed_json::<Value>(text.as_bytes()), Ok(value.clone()));
        // It is JSON for others, too.
        let others: Value = serde_json::from_str(&text).unwrap();
        assert_eq!(others["shards"], value["shards"]);
        for at in 0..text.len() {
            for bit in 0..8 {
                let mut bad = text.clone().into_bytes();
                bad[at] ^= 1 << bit;
                assert!(unsealed_json::<Value>(&bad).is_err(), "{at} {bit}");
            }
            assert!(unsealed_json::<Value>(&text.as_bytes()[..at]).is_err(), "{at}");
        }
    }
}

//! Files of a run directory that show whether they are as they were written.

use std::io::Write;

use seqloom_format::state::State;
use seqloom_io::sink::atomic::AtomicFile;
use seqloom_terminal::error::Bug;
use serde::Serialize;
use serde::de::DeserializeOwned;
use sha2::{Digest, Sha256};

use crate::output::at_path;

/// Bytes as digits.
pub(super) fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// A value with what tells it from others in front and its CRC32 behind.
pub(super) fn sealed(kind: &str, value: &[u8]) -> Vec<u8> {
    let mut bytes = format!("seqloom {kind} 1\n").into_bytes();
    bytes.extend_from_slice(value);
    crc32fast::hash(&bytes).save(&mut bytes);
    bytes
}

/// What [`sealed`] made, or what is wrong with it.
pub(super) fn unsealed<T: State>(bytes: &[u8], kind: &str) -> Result<T, &'static str> {
    let magic = format!("seqloom {kind} 1\n");
    let (content, checksum) = bytes.split_last_chunk::<4>().ok_or("it is too short")?;
    if crc32fast::hash(content) != u32::from_le_bytes(*checksum) {
        return Err("its checksum differs");
    }
    let value = content.strip_prefix(magic.as_bytes()).ok_or("it is of another kind")?;
    T::from_state(value).map_err(|_| "it is malformed")
}

/// Writes [`sealed`] to a file.
pub(super) fn write_sealed(
    file: &AtomicFile,
    kind: &str,
    value: &[u8],
) -> seqloom_terminal::Result<()> {
    let bytes = sealed(kind, value);
    Ok(file.file().write_all(&bytes).map_err(at_path(file.final_path()))?)
}

/// What a sealed JSON object begins with; digits of the SHA-256 of its other lines follow.
const SEAL: &str = "{\n  \"sha256\": \"";
/// What is between the digits and the other lines.
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

/// What [`sealed_json`] was made of.
///
/// # Errors
/// What is wrong with it.
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

//! The identity of a build: a digest of the sources that decide what a run stores for itself and
//! writes, and of the versions that these are built with.
//!
//! A run that is resumed, and the tasks of a run in shards, must be of one build: the layouts of
//! private files (plans, manifests, temporary data, exchange files) have no versions of their own,
//! and halves of an output that two builds have made need not go together. Nobody has to raise a
//! number when a layout or the bytes of the output change: any change of the sources does.

use std::path::{Path, PathBuf};
use std::{env, fs, io};

/// The crates that decide it. `report` and `terminal` only say what was done.
const CRATES: [&str; 6] = ["format", "runtime", "io", "align", "prep", "cli"];

/// FNV-1a of 64 bits (RFC 9923): no secret is kept by it, and builds need no other crate for it.
struct Digest(u64);

impl Digest {
    fn add(&mut self, bytes: &[u8]) {
        // The length is a part of it, so that no byte can move from a file to the next.
        for byte in (bytes.len() as u64).to_le_bytes().iter().chain(bytes) {
            self.0 = (self.0 ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3);
        }
    }
}

fn sources(folder: &Path, found: &mut Vec<PathBuf>) -> io::Result<()> {
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        if path.is_dir() {
            sources(&path, found)?;
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            found.push(path);
        }
    }
    Ok(())
}

fn main() -> io::Result<()> {
    let here = PathBuf::from(env::var_os("CARGO_MANIFEST_DIR").unwrap_or_default());
    let crates = here.parent().unwrap_or(&here);
    let mut files = Vec::new();
    for name in CRATES {
        let folder = crates.join(name).join("src");
        println!("cargo::rerun-if-changed={}", folder.display());
        sources(&folder, &mut files)?;
    }
    let lock = crates.with_file_name("Cargo.lock");
    println!("cargo::rerun-if-changed={}", lock.display());
    files.push(lock);
    files.sort();
    let mut digest = Digest(0xcbf2_9ce4_8422_2325);
    for file in files {
        let name = file.strip_prefix(crates).unwrap_or(Path::new("Cargo.lock"));
        digest.add(name.as_os_str().as_encoded_bytes());
        digest.add(&fs::read(&file)?);
    }
    println!("cargo::rustc-env=SEQLOOM_BUILD={:016x}", digest.0);
    Ok(())
}

//! Slow disks for experiments: a shared library, compiled when an experiment runs, that is loaded
//! before the programs under test and makes their file access as slow as a modelled storage.
//!
//! The model is in `latency/latency.c`. It is preloaded, so that C libraries are slowed as our
//! own readers are; child processes share the same servers.

use std::fs::{self, File};
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::experiment::{Counters, LabError, chosen, output_of};
use crate::table::Table;

const SOURCE: &str = include_str!("../latency/latency.c");

/// Bytes of `struct state` there: numbers, 256 servers, 4 Mi pages. Zeros take no room.
const STATE_BYTES: u64 = 24 + 256 * 8 + (1 << 22) * 8;

/// A storage of some servers that each need some time for a request.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Storage {
    /// Its name.
    pub(crate) name: &'static str,
    /// Time of one request.
    pub(crate) service_ms: f64,
    /// How many requests are served at once.
    pub(crate) servers: u32,
    /// Whether each open checks it, not only the first one of a file.
    pub(crate) each_open: bool,
}

/// The storages of Gamaarachchi 2020's machines, as a model: a solid-state disk, an array of 12
/// spinning disks, and a network file system, which checks a file at each open (close-to-open
/// consistency, RFC 7530 section 10.3).
pub(crate) const STORAGES: [Storage; 3] = [
    Storage { name: "ssd", service_ms: 0.1, servers: 64, each_open: false },
    Storage { name: "raid", service_ms: 8.0, servers: 12, each_open: false },
    Storage { name: "nfs", service_ms: 1.0, servers: 8, each_open: true },
];

/// Name of the runs without a latency layer.
pub(crate) const CACHED: &str = "cached";
/// Name of the runs from the disk that has the folder.
pub(crate) const DISK: &str = "disk";

/// Where files are while a program reads them.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Medium {
    /// On a modelled storage.
    Modelled(Storage),
    /// On the disk that has the folder: their pages are evicted before each run.
    Disk,
    /// In the page cache, where the run before has left them.
    Cached,
}

impl Medium {
    /// Its name in tables.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Modelled(storage) => storage.name,
            Self::Disk => DISK,
            Self::Cached => CACHED,
        }
    }
}

/// Those of all media that are among `names`; all where that is empty.
pub(crate) fn chosen_media(names: &[String]) -> impl Iterator<Item = Medium> {
    let all = STORAGES.iter().copied().map(Medium::Modelled).chain([Medium::Disk, Medium::Cached]);
    all.filter(|medium| chosen(names, medium.name()))
}

/// The modelled storages among them.
fn chosen_storages(names: &[String]) -> impl Iterator<Item = Storage> {
    STORAGES.iter().copied().filter(|storage| chosen(names, storage.name))
}

/// Factors of a table of runs over storages.
pub(crate) const FACTORS: [&str; 3] = ["storage", "way", "workers"];

/// What reads a format, and how.
pub(crate) trait Way {
    /// Its name in tables.
    fn name(&self) -> &'static str;
}

/// The levels of a run's factors.
pub(crate) struct Levels<'a, W> {
    pub(crate) medium: Medium,
    pub(crate) way: &'a W,
    pub(crate) workers: u32,
}

impl<W: Way> Levels<'_, W> {
    /// In the order of [`FACTORS`].
    pub(crate) fn names(&self) -> Vec<String> {
        vec![self.medium.name().into(), self.way.name().into(), self.workers.to_string()]
    }
}

/// Words for the storage of that name, or for none.
pub(crate) fn words(name: &str) -> String {
    match STORAGES.iter().find(|storage| storage.name == name) {
        None if name == DISK => "this machine's disk, pages evicted before each run".to_owned(),
        None => "page cache, no layer".to_owned(),
        Some(Storage { service_ms, servers, .. }) => {
            format!("{}, {servers} servers of {service_ms} ms", name.to_uppercase())
        }
    }
}

/// The compiled library.
#[derive(Debug)]
pub(crate) struct LatencyLayer {
    library: PathBuf,
}

impl LatencyLayer {
    /// Compiles it with `cc` into `folder`.
    ///
    /// # Errors
    /// There is no C compiler, or the folder cannot be written.
    pub(crate) fn build(folder: &Path) -> Result<Self, LabError> {
        let (source, library) = (folder.join("latency.c"), folder.join("latency.so"));
        fs::write(&source, SOURCE).map_err(LabError::file(&source))?;
        let mut cc = Command::new("cc");
        cc.args(["-std=gnu11", "-O2", "-fPIC", "-shared", "-o"]).arg(&library).arg(&source);
        output_of(cc.arg("-ldl"), |_, said| {
            LabError::Prepare(format!("cc cannot compile the latency layer: {said}"))
        })?;
        Ok(Self { library })
    }

    /// Slows the files below `folder` (an absolute path) down for a program and its children, if
    /// they are to be on a storage. Its state starts from zeros in the file `state`.
    ///
    /// # Errors
    /// The file cannot be made.
    pub(crate) fn slow(
        &self,
        command: &mut Command,
        medium: Medium,
        folder: &Path,
        state: &Path,
    ) -> Result<(), LabError> {
        let Medium::Modelled(storage) = medium else { return Ok(()) };
        let file = File::create(state).map_err(LabError::file(state))?;
        file.set_len(STATE_BYTES).map_err(LabError::file(state))?;
        command
            .env("LD_PRELOAD", &self.library)
            .env("SEQLOOM_LATENCY_STATE", state)
            .env("SEQLOOM_LATENCY_FOLDER", folder)
            .env("SEQLOOM_LATENCY_SERVICE_US", format!("{}", storage.service_ms * 1000.0))
            .env("SEQLOOM_LATENCY_SERVERS", storage.servers.to_string())
            .env("SEQLOOM_LATENCY_OPENS", if storage.each_open { "1" } else { "0" });
        Ok(())
    }
}

/// Refuses programs that a preloaded library cannot slow down, if a storage is to be modelled.
///
/// # Errors
/// A program is linked statically, or cannot be read.
pub(crate) fn refuse_static(names: &[String], programs: &[&Path]) -> Result<(), LabError> {
    if chosen_storages(names).next().is_none() {
        return Ok(());
    }
    for program in programs {
        let bytes = fs::read(program).map_err(LabError::file(program))?;
        if is_static(&bytes) {
            return Err(LabError::Prepare(format!(
                "{} is linked statically: it ignores the preloaded library that models storages; \
                 take a program that is linked dynamically, or --storages {CACHED}",
                program.display()
            )));
        }
    }
    Ok(())
}

/// Whether a program is linked statically, as far as it can be read.
fn is_static(bytes: &[u8]) -> bool {
    has_interpreter(bytes) == Some(false)
}

/// Why a program of others cannot be slowed down by a preloaded library, if it cannot.
pub(crate) fn obstacle(program: &Path) -> Option<&'static str> {
    match fs::read(program) {
        Ok(bytes) => is_static(&bytes).then_some("it is linked statically"),
        Err(_) => Some("it cannot be read"),
    }
}

/// Whether an ELF file of 64 bits requires a dynamic loader, which preloads (System V ABI, chapter
/// 5, program header PT_INTERP); `None` for other files, such as scripts.
fn has_interpreter(bytes: &[u8]) -> Option<bool> {
    const PT_INTERP: u32 = 3;
    let number = |at: usize, size: usize| {
        let bytes = bytes.get(at..at.checked_add(size)?)?;
        let mut padded = [0; 8];
        padded[..size].copy_from_slice(bytes);
        usize::try_from(u64::from_le_bytes(padded)).ok()
    };
    if !bytes.starts_with(b"\x7fELF\x02\x01") {
        return None;
    }
    let (start, size, count) = (number(32, 8)?, number(54, 2)?, number(56, 2)?);
    let kind = |index: usize| number(start.checked_add(index.checked_mul(size)?)?, 4);
    Some((0..count).any(|index| kind(index) == Some(PT_INTERP as usize)))
}

/// Refuses the last run of a table on a modelled storage if it made no request: then the model was
/// not there.
///
/// # Errors
/// It made none.
pub(crate) fn refuse_unserved(medium: Medium, table: &Table) -> Result<(), LabError> {
    let column = table.columns.iter().position(|name| name == "requests");
    let (Medium::Modelled(storage), Some(row), Some(column)) = (medium, table.rows.last(), column)
    else {
        return Ok(());
    };
    match row.values.get(column) {
        Some(&requests) if requests > 0.0 => Ok(()),
        _ => Err(LabError::Failed {
            factors: row.factors.join(" "),
            why: format!(
                "no request to the modelled storage {} was counted: the program does not load the \
                 library that models it (is it linked statically?)",
                storage.name
            ),
        }),
    }
}

/// Requests served so far, and seconds spent waiting for them, summed.
#[must_use]
pub(crate) fn served(state: &Path) -> Option<(u64, f64)> {
    let file = File::open(state).ok()?;
    let mut numbers = [[0; 8]; 2];
    for (index, number) in numbers.iter_mut().enumerate() {
        file.read_exact_at(number, 8 * index as u64).ok()?;
    }
    let [requests, waited_ns] = numbers.map(u64::from_ne_bytes);
    Some((requests, waited_ns as f64 / 1e9))
}

/// As counters of a run whose files were on `storage`; none of a run without a layer.
pub(crate) fn served_by(medium: Medium, state: &Path) -> Counters {
    let served = Some(state).filter(|_| matches!(medium, Medium::Modelled(_))).and_then(served);
    let Some((requests, waited_s)) = served else { return Counters::new() };
    vec![("requests".to_owned(), requests as f64), ("waited_s".to_owned(), waited_s)]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::table::Row;
    use std::time::Instant;

    /// Time and requests of a shell line over files of a folder.
    fn timed(line: &str, storage: Storage) -> Option<(f64, u64)> {
        let folder = tempfile::tempdir().unwrap();
        let layer = match LatencyLayer::build(folder.path()) {
            Err(LabError::Start { .. }) => return None, // no C compiler: nothing to test
            other => other.unwrap(),
        };
        let data = folder.path().join("data");
        fs::create_dir(&data).unwrap();
        for name in ["a", "b", "c", "d"] {
            fs::write(data.join(name), vec![b'x'; 10_000]).unwrap();
        }
        let mut command = Command::new("sh");
        command.args(["-c", line]).current_dir(&data);
        command.env("D", &data);
        layer
            .slow(&mut command, Medium::Modelled(storage), &data, &folder.path().join("state"))
            .unwrap();
        let started = Instant::now();
        assert!(command.status().unwrap().success());
        let wall_s = started.elapsed().as_secs_f64();
        Some((wall_s, served(&folder.path().join("state")).unwrap().0))
    }

    #[test]
    fn a_static_program_is_refused_at_start_and_a_run_without_requests_after_it() {
        let folder = tempfile::tempdir().unwrap();
        // Only the fields that are looked at: 64 bits, little-endian, one program header.
        let elf = |kind: u8| {
            let mut bytes = vec![0; 64 + 56];
            bytes[..6].copy_from_slice(b"\x7fELF\x02\x01");
            (bytes[32], bytes[54], bytes[56], bytes[64]) = (64, 56, 1, kind);
            bytes
        };
        let program = |name: &str, bytes: &[u8]| {
            let path = folder.path().join(name);
            fs::write(&path, bytes).unwrap();
            path
        };
        let (fixed, dynamic) = (program("static", &elf(1)), program("dynamic", &elf(3)));
        let script = program("script", b"#!/bin/sh\n");
        let t = |storage: &str, programs: &[&Path]| {
            let names: Vec<String> = storage.split_whitespace().map(str::to_owned).collect();
            refuse_static(&names, programs).map_err(|error| error.to_string())
        };
        assert_eq!(t("raid", &[&dynamic, &script]), Ok(()));
        let said = t("raid", &[&dynamic, &fixed]).unwrap_err();
        assert!(said.contains("static is linked statically") && said.contains("cached"), "{said}");
        assert!(t("", &[&fixed]).is_err());
        assert_eq!(t("cached", &[&fixed]), Ok(()));
        assert_eq!(has_interpreter(&elf(3)[..70]), Some(true));
        assert_eq!((has_interpreter(b"\x7fELF"), has_interpreter(b"")), (None, None));
        let this = fs::read(std::env::current_exe().unwrap()).unwrap();
        assert_eq!(has_interpreter(&this), Some(cfg!(not(target_feature = "crt-static"))));

        let mut table = Table::new(&FACTORS, &["wall_s", "requests"]);
        let slow = Medium::Modelled(SLOW);
        assert!(refuse_unserved(slow, &table).is_ok());
        let factors = ["raid", "own", "8"].map(str::to_owned).to_vec();
        for (requests, medium, is_good) in [
            (0.0, slow, false),
            (0.0, Medium::Cached, true),
            (0.0, Medium::Disk, true),
            (5.0, slow, true),
        ] {
            table.rows.push(Row { factors: factors.clone(), values: vec![1.0, requests] });
            let said = refuse_unserved(medium, &table).map_err(|error| error.to_string());
            assert_eq!(said.is_ok(), is_good, "{said:?}");
            assert!(said.is_ok() || said.unwrap_err().contains("raid own 8: no request"));
        }
    }

    const SLOW: Storage = Storage { name: "", service_ms: 100.0, servers: 1, each_open: false };
    /// dd with blocks larger than the file: one open, one read (the end is no request).
    const READ: &str = "dd bs=64k of=/dev/null status=none if=$D/";

    #[test]
    fn servers_work_side_by_side_and_over_processes() {
        let all = ["a", "b", "c", "d"].map(|name| format!("{READ}{name} &")).join(" ") + " wait";
        let Some((one_s, requests)) = timed(&all, SLOW) else { return };
        assert_eq!(requests, 8);
        assert!(one_s >= 0.8, "{one_s}");
        let (four_s, _) = timed(&all, Storage { servers: 4, ..SLOW }).unwrap();
        assert!((0.2..one_s - 0.2).contains(&four_s), "{four_s}");
    }

    #[test]
    fn what_was_read_once_is_in_the_page_cache() {
        let twice = format!("{READ}a; {READ}a");
        let Some((_, requests)) = timed(&twice, SLOW) else { return };
        assert_eq!(requests, 2);
        let network = Storage { each_open: true, ..SLOW };
        assert_eq!(timed(&twice, network).unwrap().1, 3);
        // Three pages, read 100 bytes at a time: three requests and the open.
        let small = "dd bs=100 of=/dev/null status=none if=$D/b";
        assert_eq!(timed(small, SLOW).unwrap().1, 4);
        assert_eq!(timed("cat /etc/passwd > /dev/null", SLOW).unwrap().1, 0);
    }
}

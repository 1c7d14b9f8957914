//! The programs that tests compare with, each found by name and version, whichever of them comes
//! first on the PATH: those of the system, and the current releases that
//! `tests/install-needs.sh referees` installs into a folder of their own.

use std::env;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;

use crate::skip::{append_line, skip};

/// Environment variable: folder of the current releases. Else they are in
/// `$XDG_CACHE_HOME/seqloom-referees`, or in `~/.cache/seqloom-referees`.
pub(crate) const REFEREES: &str = "SEQLOOM_REFEREES";

/// Environment variable: file that collects how many records were compared with which program, a
/// line of program, version and number for each comparison. `tests/slow.sh` adds them up.
const COMPARED: &str = "SEQLOOM_COMPARED";

/// Versions of a program that tests compare with: the current one first, then that of Debian's
/// stable suite. Debian's unstable suite moves on: where it has a later release than the one named
/// here, that is the current one. The other is that version and none else.
pub type Versions = [&'static str; 2];

/// samtools.
pub const SAMTOOLS: Versions = ["1.24", "1.16.1"];
/// Picard.
pub const PICARD: Versions = ["3.5.0", "2.27.5"];
/// bwa.
pub const BWA: Versions = ["0.7.19", "0.7.17"];
/// Bowtie 2.
pub const BOWTIE2: Versions = ["2.5.5", "2.5.0"];
/// bwa-mem2, of which the stable suite has none.
pub const BWA_MEM2: &str = "2.3";

/// Programs whose versions are named above. Tests that use one as a tool, and name no version, get
/// the first of these that is installed.
const NATIVE: [(&str, Versions); 4] =
    [("samtools", SAMTOOLS), ("bwa", BWA), ("bowtie2", BOWTIE2), ("bowtie2-build-s", BOWTIE2)];

/// A program that says its version.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Found {
    path: PathBuf,
    version: String,
}

/// The folder of the current releases.
fn folder() -> Option<PathBuf> {
    let set = |name: &str| env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from);
    let cache = set("XDG_CACHE_HOME").or_else(|| set("HOME").map(|home| home.join(".cache")));
    set(REFEREES).or_else(|| cache.map(|cache| cache.join("seqloom-referees")))
}

/// The folder of the current programs, for a PATH.
pub fn programs() -> Option<PathBuf> {
    folder().map(|folder| folder.join("bin")).filter(|it| it.exists())
}

/// The upstream version of a package in `VERSIONS`, lines of name and Debian's version:
/// `1.24` of `1.24-2`, `2.3` of `2.3+ds-1`.
fn upstream(versions: &str, package: &str) -> Option<String> {
    let line = versions.lines().find_map(|line| line.strip_prefix(package)?.strip_prefix(' '))?;
    line.split(['-', '+']).next().map(str::to_owned)
}

/// The Debian package that a program is in.
fn package_of(name: &str) -> &str {
    if name.starts_with("bowtie2") { "bowtie2" } else { name }
}

/// A program among the current releases.
fn in_folder(folder: &Path, name: &str) -> Option<Found> {
    let path = folder.join("bin").join(name);
    let versions = fs::read_to_string(folder.join("VERSIONS")).ok()?;
    let version = upstream(&versions, package_of(name))?;
    path.is_file().then_some(Found { path, version })
}

/// What a program says of its version: bwa in its usage, the others by option.
fn version_said(path: &Path, name: &str) -> Option<String> {
    let mut command = Command::new(path);
    if name != "bwa" {
        command.arg("--version");
    }
    let output = command.output().ok()?;
    let said = [output.stdout, output.stderr].concat();
    let said = String::from_utf8_lossy(&said);
    let after = match name {
        "bwa" => "Version: ",
        "samtools" => "samtools ",
        _ => "version ",
    };
    let version = said.split_once(after)?.1;
    version.split(|c: char| c == '-' || c.is_whitespace()).next().map(str::to_owned)
}

/// All programs of this name: on the PATH, and among the current releases.
fn all_of(name: &str) -> Vec<Found> {
    let path = env::var_os("PATH").unwrap_or_default();
    let on_path = env::split_paths(&path).map(|folder| folder.join(name)).filter(|it| it.is_file());
    let said = |path: PathBuf| version_said(&path, name).map(|version| Found { path, version });
    let current = folder().and_then(|folder| in_folder(&folder, name));
    on_path.filter_map(said).chain(current).collect()
}

/// As [`all_of`], for each program of [`NATIVE`] run once.
fn known(name: &str) -> Vec<Found> {
    static KNOWN: [OnceLock<Vec<Found>>; NATIVE.len()] = [const { OnceLock::new() }; NATIVE.len()];
    match NATIVE.iter().position(|(it, _)| *it == name) {
        Some(at) => KNOWN[at].get_or_init(|| all_of(name)).clone(),
        None => all_of(name),
    }
}

/// Whether a program of the version that is there serves a test that wants this one: it is that
/// version, or this one is the current one and it is a later one.
fn serves(name: &str, there: &str, wanted: &str) -> bool {
    let numbers = |version: &str| -> Option<Vec<u32>> {
        version.split('.').map(|number| number.parse().ok()).collect()
    };
    let is_current = match name {
        "picard" => wanted == PICARD[0],
        "bwa-mem2" => wanted == BWA_MEM2,
        _ => NATIVE.iter().any(|(it, versions)| *it == name && versions[0] == wanted),
    };
    let later = || numbers(there).zip(numbers(wanted)).is_some_and(|(a, b)| a > b);
    there == wanted || is_current && later()
}

/// Of these programs the one of this version, else a later one where [`serves`] says so.
fn serving<'a>(found: &'a [Found], name: &str, version: &str) -> Option<&'a Found> {
    let exact = found.iter().find(|it| it.version == version);
    exact.or_else(|| found.iter().find(|it| serves(name, &it.version, version)))
}

/// Where a program of this version is; `None` after saying that the test is skipped.
pub fn find(name: &str, version: &str) -> Option<PathBuf> {
    let found = serving(&known(name), name, version).cloned();
    if found.is_none() {
        skip(&format!("{name} {version} is not installed (tests/install-needs.sh)"));
    }
    found.map(|it| it.path)
}

/// Notes that so many records were compared with those of a referee (program and version), where
/// that is collected.
pub fn compared(referee: &str, records: usize) {
    append_line(COMPARED, &format!("{referee} {records}"));
}

/// Name and version of a program that was found here; `samtools 1.24`.
pub fn name_of(program: &Path) -> String {
    let name = program.file_name().map(|name| name.to_string_lossy()).unwrap_or_default();
    let found = known(&name).into_iter().find(|it| it.path == program);
    found.map_or_else(|| name.to_string(), |it| format!("{name} {}", it.version))
}

/// Where a program is, for tests that use it as a tool: of those named in this file the current
/// version, else that of the stable suite; any other as the PATH has it.
pub fn path_of(name: &str) -> PathBuf {
    let Some((_, versions)) = NATIVE.iter().find(|(it, _)| *it == name) else {
        return name.into();
    };
    let found = known(name);
    let of = |version: &&str| serving(&found, name, version);
    versions.iter().find_map(of).map_or_else(|| name.into(), |it| it.path.clone())
}

/// A Picard.
#[derive(Debug, Clone)]
pub struct Picard {
    /// For java's `-cp`.
    class_path: String,
    version: String,
}

impl Picard {
    /// Picard of this version; `None` after saying that the test is skipped.
    pub fn find(version: &str) -> Option<Self> {
        let found = Self::installed(version).filter(|_| has_java());
        if found.is_none() {
            let needs = "tests/install-needs.sh";
            skip(&format!("java or Picard {version} is not installed ({needs})"));
        }
        found
    }

    /// The jar of the system's Picard is called by its version; the current one has its jars in a
    /// folder, and their order in a file: a jar names the system's copies of those that it needs,
    /// which must come after ours.
    fn installed(version: &str) -> Option<Self> {
        let jar = PathBuf::from(format!("/usr/share/java/picard-{version}.jar"));
        if jar.exists() {
            return Some(Self {
                class_path: jar.display().to_string(),
                version: version.to_owned(),
            });
        }
        let folder = folder()?;
        let versions = fs::read_to_string(folder.join("VERSIONS")).ok()?;
        let there = upstream(&versions, "picard").filter(|it| serves("picard", it, version))?;
        let class_path = fs::read_to_string(folder.join("jars")).ok()?.trim().to_owned();
        Some(Self { class_path, version: there })
    }

    /// Name and version: `Picard 3.5.0`.
    pub fn name(&self) -> String {
        format!("Picard {}", self.version)
    }

    /// java with its options and this Picard's classes, to be followed by a class or a file.
    pub fn java(&self, options: &[&str]) -> Command {
        let mut command = Command::new("java");
        command.args(options).args(["-cp", &self.class_path]);
        command
    }

    /// Picard itself, to be followed by a tool and its arguments. Starts and compiles fast: the
    /// data of tests is small.
    pub fn command(&self) -> Command {
        let mut command = self.java(&["-Xmx2g", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1"]);
        command.arg("picard.cmdline.PicardCommandLine");
        command
    }
}

fn has_java() -> bool {
    static FOUND: OnceLock<bool> = OnceLock::new();
    *FOUND.get_or_init(|| Command::new("java").arg("-version").output().is_ok())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn packages_have_upstream_versions() {
        let versions = "picard 3.5.0+dfsg-1\nbwa-mem2 2.3+ds-1\nbwa 0.7.19-1\nbowtie2 2.5.5-1+b1\n";
        let t = |package: &str, expected: Option<&str>| {
            assert_eq!(upstream(versions, package).as_deref(), expected, "{package}");
        };
        t("picard", Some("3.5.0"));
        t("bwa", Some("0.7.19"));
        t("bwa-mem2", Some("2.3"));
        t("bowtie2", Some("2.5.5"));
        t("samtools", None);
        t("bow", None);
    }

    #[test]
    fn a_version_is_found_whatever_the_path_has_first() {
        let folder = tempfile::tempdir().unwrap();
        let fake = |name: &str, says: &str| {
            use std::os::unix::fs::PermissionsExt;
            let path = folder.path().join(name);
            fs::write(&path, format!("#!/bin/sh\necho '{says}'\n")).unwrap();
            fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
            path
        };
        let t = |name, says, expected: Option<&str>| {
            assert_eq!(version_said(&fake(name, says), name).as_deref(), expected, "{says}");
        };
        t("samtools", "samtools 1.24\nUsing htslib 1.24", Some("1.24"));
        t("bwa", "Program: bwa\nVersion: 0.7.17-r1188\nContact", Some("0.7.17"));
        t("bowtie2", "/usr/bin/bowtie2-align-s version 2.5.0\n64-bit", Some("2.5.0"));
        t("samtools", "nothing", None);
    }

    #[test]
    fn a_later_release_serves_as_the_current_one_and_as_no_other() {
        let t = |name, there, needed, expected| {
            assert_eq!(serves(name, there, needed), expected, "{name} {there} {needed}");
        };
        t("samtools", "1.24", SAMTOOLS[0], true);
        t("samtools", "1.24.1", SAMTOOLS[0], true);
        t("samtools", "1.100", SAMTOOLS[0], true);
        t("samtools", "1.3", SAMTOOLS[0], false);
        t("samtools", "1.24", SAMTOOLS[1], false);
        t("samtools", "1.24rc", SAMTOOLS[0], false);
        t("picard", "3.10.0", PICARD[0], true);
        t("picard", "3.5.0", PICARD[1], false);
        t("bwa-mem2", "2.4", BWA_MEM2, true);
        t("nothing", "2", "1", false);
        let found = ["1.25", "1.24"].map(|it| Found { path: it.into(), version: it.to_owned() });
        assert_eq!(serving(&found, "samtools", "1.24").unwrap().version, "1.24");
        assert_eq!(serving(&found[..1], "samtools", "1.24").unwrap().version, "1.25");
        assert_eq!(serving(&found, "samtools", "1.16.1"), None);
    }

    #[test]
    fn no_picard_reads_records_with_the_library_of_another() {
        for version in PICARD {
            let Some(picard) = Picard::find(version) else { continue };
            let mut java = picard.java(&["-Xlog:class+load"]);
            java.args(["picard.cmdline.PicardCommandLine", "MarkDuplicates", "--help"]);
            let said = String::from_utf8(java.output().unwrap().stdout).unwrap();
            let source = |class: &str| {
                let line = said.lines().find(|line| line.contains(class)).expect(class);
                Path::new(line.rsplit_once("source: file:").expect(line).1).parent().unwrap()
            };
            let (own, library) = (source(" picard.cmdline."), source(" htsjdk.samtools."));
            assert_eq!(own, library, "Picard {version}");
        }
    }

    #[test]
    fn programs_say_the_version_by_which_they_are_found() {
        for (name, _) in NATIVE {
            for found in known(name) {
                let said = version_said(&found.path, name);
                assert_eq!(said.as_deref(), Some(&*found.version), "{}", found.path.display());
            }
        }
    }
}

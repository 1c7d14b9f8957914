//! The Python package: a wheel with the binary under test and the extension, installed and tried
//! by the tests in `python/tests`. Once in bare environments of the oldest Python that it is for
//! and of the newest at hand, once besides what its users have (.venv).
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;
use std::time::Duration;

use seqloom_testkit::python;
use seqloom_testkit::running::{Folders, names_in, run, run_for};
use seqloom_testkit::skip::skip;

/// Folders of this run of the tests.
static FOLDERS: Folders = Folders::new(env!("CARGO_TARGET_TMPDIR"), "python");

/// Minor versions of Python 3: the oldest that the package is for, and the newest there may be.
const OLDEST: u32 = 10;
const NEWEST: u32 = 20;

/// A file or folder of the package's source.
fn source(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../python").join(name)
}

/// The extension, of the profile that the binary is of. It is no part of what cargo builds for
/// this test: a library for interpreters cannot be linked to anything here.
fn extension() -> PathBuf {
    let built = Path::new(env!("CARGO_BIN_EXE_seqloom")).parent().unwrap();
    let profile = match built.file_name().unwrap().to_str().unwrap() {
        "debug" => "dev",
        profile => profile,
    };
    let mut command = Command::new(env!("CARGO"));
    command.args([
        "build",
        "--quiet",
        "--package",
        "seqloom-python-extension",
        "--profile",
        profile,
    ]);
    command.arg("--target-dir").arg(built.parent().unwrap());
    // The first time all that it is made of is built.
    run_for(command.current_dir(env!("CARGO_MANIFEST_DIR")), Duration::from_secs(1800)).ok();
    built.join("lib_native.so")
}

/// The wheel, made of the binary under test.
fn wheel() -> &'static Path {
    static WHEEL: OnceLock<PathBuf> = OnceLock::new();
    WHEEL.get_or_init(|| {
        let out = FOLDERS.scratch().join("dist");
        let tools = FOLDERS.cache().join("wheel-tools");
        let mut command = Command::new(source("wheel.sh"));
        command.arg(env!("CARGO_BIN_EXE_seqloom")).arg(extension());
        run(command.arg(&out).arg(tools)).ok();
        let names = names_in(&out);
        assert_eq!(names.len(), 1, "{names:?}");
        out.join(&names[0])
    })
}

/// Where Pythons may be: on the path, and in the folders of pyenv.
fn places() -> Vec<PathBuf> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let mut places: Vec<PathBuf> = std::env::split_paths(&path).collect();
    let home = std::env::var_os("HOME").map(|home| Path::new(&home).join(".pyenv"));
    let pyenv = std::env::var_os("PYENV_ROOT").map(PathBuf::from).or(home);
    let versions = pyenv.map(|root| root.join("versions"));
    if let Some(entries) = versions.and_then(|versions| fs::read_dir(versions).ok()) {
        places.extend(entries.map(|entry| entry.unwrap().path().join("bin")));
    }
    places
}

/// An interpreter of Python 3.`minor` that can make environments.
fn interpreter(minor: u32) -> Option<PathBuf> {
    let works = |program: &PathBuf| {
        let tried = Command::new(program).args(["-c", "import ensurepip, venv"]).output();
        tried.is_ok_and(|output| output.status.success())
    };
    let named = |place: PathBuf| place.join(format!("python3.{minor}"));
    places().into_iter().map(named).filter(|it| it.is_file()).find(works)
}

/// The tests of the package under an interpreter.
fn try_package(interpreter: &Path) -> Command {
    let mut command = Command::new(interpreter);
    command
        .args(["-W", "error::ResourceWarning", "-m", "unittest", "discover", "--buffer"])
        // Not where the package's source is, which lacks what the build adds.
        .current_dir(source("tests"))
        .env("PYTHONDONTWRITEBYTECODE", "1")
        .env("SEQLOOM_WHEEL", wheel());
    command
}

fn try_in_bare_environment(python: &Path) {
    let folder = FOLDERS.folder();
    let environment = folder.path().join("env");
    run(Command::new(python).args(["-m", "venv"]).arg(&environment)).ok();
    let inside = |name: &str| environment.join("bin").join(name);
    let mut install = Command::new(inside("pip"));
    install.args(["install", "--quiet", "--no-index", "--no-deps", "--disable-pip-version-check"]);
    run(install.arg(wheel())).ok();
    let shown = run(Command::new(inside("seqloom")).arg("--version")).ok().text();
    assert_eq!(shown, format!("seqloom {}\n", env!("CARGO_PKG_VERSION")));
    run(try_package(&inside("python")).env("SEQLOOM_BARE", "1")).ok().says(&["OK"]);
}

#[test]
fn the_wheel_works_in_a_bare_environment_of_the_oldest_python() {
    match interpreter(OLDEST) {
        Some(python) => try_in_bare_environment(&python),
        None => skip(&format!("no Python 3.{OLDEST}")),
    }
}

#[test]
fn the_wheel_works_in_a_bare_environment_of_the_newest_python() {
    match (OLDEST + 1..=NEWEST).rev().find_map(interpreter) {
        Some(python) => try_in_bare_environment(&python),
        None => skip("no Python newer than the oldest"),
    }
}

#[test]
fn the_package_works_with_what_its_users_have() {
    let Some(python) = python::with("pip") else { return };
    let site = FOLDERS.scratch().join("site");
    let mut install = Command::new(&python);
    install.args(["-m", "pip", "install", "--quiet", "--no-index", "--no-deps"]);
    install.args(["--disable-pip-version-check", "--target"]).arg(&site);
    run(install.arg(wheel())).ok();
    run(try_package(&python).env("PYTHONPATH", &site)).ok().says(&["OK"]);
}

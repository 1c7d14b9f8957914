//! What is under a final name at every moment, and what a failure leaves.

use std::io::{Read, Write};
use std::os::fd::AsRawFd;
use std::os::unix::fs::PermissionsExt;

use super::*;

/// Names in a folder, sorted.
fn names(folder: &Path) -> Vec<String> {
    let entries = fs::read_dir(folder).unwrap();
    let mut names: Vec<String> =
        entries.map(|it| it.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    names
}

/// A file made either way, with `bytes` in it.
fn written(path: &Path, is_named: bool, bytes: &[u8]) -> AtomicFile {
    let made =
        if is_named { AtomicFile::create_named(path.to_owned()) } else { AtomicFile::create(path) };
    let made = made.unwrap();
    assert_eq!(matches!(made.state, State::Named(_)), is_named);
    made.file().write_all(bytes).unwrap();
    made
}

#[test]
fn a_commit_replaces_what_was_there() {
    for is_named in [false, true] {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("out.bam");
        for bytes in [&b"first and longer"[..], b"second"] {
            let before = fs::read(&path).ok();
            let file = written(&path, is_named, bytes);
            assert_eq!(fs::read(&path).ok(), before, "untouched until the commit");
            file.commit().unwrap();
            assert_eq!(fs::read(&path).unwrap(), bytes);
            assert_eq!(names(folder.path()), ["out.bam"]);
        }
    }
}

#[test]
fn a_drop_leaves_nothing() {
    for is_named in [false, true] {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("out.bam");
        let file = written(&path, is_named, b"bytes");
        assert_eq!(names(folder.path()).len(), usize::from(is_named));
        drop(file);
        assert!(names(folder.path()).is_empty());
        fs::write(&path, b"old").unwrap();
        drop(written(&path, is_named, b"bytes"));
        assert_eq!(fs::read(&path).unwrap(), b"old");
    }
}

#[test]
fn a_commit_that_fails_leaves_nothing() {
    for is_named in [false, true] {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("out.bam");
        let file = written(&path, is_named, b"bytes");
        fs::create_dir(&path).unwrap();
        let error = file.commit().unwrap_err();
        assert!(error.to_string().contains("out.bam"), "{error}");
        assert_eq!(names(folder.path()), ["out.bam"]);
    }
}

#[test]
fn what_is_kept_is_gone_on_with_and_renamed_when_it_is_whole() {
    let folder = tempfile::tempdir().unwrap();
    let (path, kept) = (folder.path().join("out.bam"), folder.path().join("kept"));
    fs::write(&path, b"old").unwrap();
    for (from, bytes) in [(0, b"first part, and more"), (10, b" and the second part")] {
        let file = AtomicFile::keep(&path, &kept, from).unwrap();
        file.file().write_all(bytes).unwrap();
    }
    assert_eq!(fs::read(&path).unwrap(), b"old");
    assert!(AtomicFile::keep(&path, &kept, 99).is_err(), "bytes are missing");
    AtomicFile::keep(&path, &kept, 30).unwrap().commit().unwrap();
    assert_eq!(fs::read(&path).unwrap(), b"first part and the second part");
    assert_eq!(names(folder.path()), ["out.bam"]);
}

#[test]
fn what_is_elsewhere_has_both_names_in_the_end() {
    let folder = tempfile::tempdir().unwrap();
    let (path, written) = (folder.path().join("out.bam"), folder.path().join("written"));
    fs::write(&path, b"old").unwrap();
    assert!(AtomicFile::adopt(&path, &written).unwrap().is_none(), "there is no such file");
    fs::write(&written, b"new").unwrap();
    let adopt = || AtomicFile::adopt(&path, &written).unwrap().unwrap();
    drop(adopt());
    assert_eq!(fs::read(&path).unwrap(), b"old");
    assert_eq!(names(folder.path()), ["out.bam", "written"]);
    // Twice at once, too: rename(2) does nothing where both names are of one file.
    let both = [adopt(), adopt()];
    assert_eq!(names(folder.path()), ["out.bam", "written"], "none is hidden meanwhile");
    both.into_iter().for_each(|file| file.commit().unwrap());
    assert_eq!(fs::read(&path).unwrap(), b"new");
    assert_eq!(names(folder.path()), ["out.bam", "written"]);
    assert!(!adopt().commit_new().unwrap());
    fs::remove_file(&path).unwrap();
    assert!(adopt().commit_new().unwrap());
    assert!(AtomicFile::adopt(Path::new("/dev/null"), &written).unwrap().is_none());
}

#[test]
fn the_umask_holds() {
    let folder = tempfile::tempdir().unwrap();
    let plain = folder.path().join("plain");
    File::create(&plain).unwrap();
    let expected = fs::metadata(&plain).unwrap().permissions().mode();
    for is_named in [false, true] {
        let path = folder.path().join("out.bam");
        written(&path, is_named, b"").commit().unwrap();
        assert_eq!(fs::metadata(&path).unwrap().permissions().mode(), expected);
    }
}

#[test]
fn bad_places_are_named() {
    let folder = tempfile::tempdir().unwrap();
    let error = AtomicFile::create(&folder.path().join("missing/out.bam")).unwrap_err();
    assert_eq!(error.source.kind(), io::ErrorKind::NotFound);
    assert!(error.to_string().contains("missing/out.bam"), "{error}");
    fs::write(folder.path().join("plain"), b"").unwrap();
    let error = AtomicFile::create(&folder.path().join("plain/out.bam")).unwrap_err();
    assert_eq!(error.source.kind(), io::ErrorKind::NotADirectory);
    let error = AtomicFile::create(folder.path()).unwrap_err();
    assert_eq!(error.source.kind(), io::ErrorKind::IsADirectory);
    std::os::unix::fs::symlink("nowhere", folder.path().join("dangling")).unwrap();
    assert!(AtomicFile::create(&folder.path().join("dangling")).is_err());
}

#[test]
fn long_names_fit() {
    let folder = tempfile::tempdir().unwrap();
    let name = "n".repeat(255);
    for is_named in [false, true] {
        written(&folder.path().join(&name), is_named, b"").commit().unwrap();
        assert_eq!(names(folder.path()), [name.as_str()]);
    }
}

#[test]
fn a_link_stays_a_link() {
    let folder = tempfile::tempdir().unwrap();
    let real = folder.path().join("real");
    let link = folder.path().join("link");
    fs::write(&real, b"old").unwrap();
    std::os::unix::fs::symlink("real", &link).unwrap();
    written(&link, false, b"new").commit().unwrap();
    assert!(fs::symlink_metadata(&link).unwrap().is_symlink());
    assert_eq!(fs::read(&real).unwrap(), b"new");
}

#[test]
fn devices_and_pipes_are_written_directly() {
    let file = AtomicFile::create(Path::new("/dev/null")).unwrap();
    assert!(file.is_direct());
    file.file().write_all(b"gone").unwrap();
    file.commit().unwrap();
    assert!(!fs::metadata("/dev/null").unwrap().is_file());

    let folder = tempfile::tempdir().unwrap();
    let fifo = folder.path().join("fifo");
    let made = std::process::Command::new("mkfifo").arg(&fifo).status().unwrap();
    assert!(made.success());
    let reader = fifo.clone();
    let reader = std::thread::spawn(move || {
        let mut bytes = Vec::new();
        File::open(reader).unwrap().read_to_end(&mut bytes).unwrap();
        bytes
    });
    let file = AtomicFile::create(&fifo).unwrap();
    file.file().write_all(b"bytes").unwrap();
    file.commit().unwrap();
    assert_eq!(reader.join().unwrap(), b"bytes");
    assert_eq!(names(folder.path()), ["fifo"]);
}

#[test]
fn open_files_are_written_directly() {
    let (mut reader, writer) = io::pipe().unwrap();
    let path = |fd: i32| PathBuf::from(format!("/dev/fd/{fd}"));
    let file = AtomicFile::create(&path(writer.as_raw_fd())).unwrap();
    drop(writer);
    file.file().write_all(b"bytes").unwrap();
    file.commit().unwrap();
    let mut bytes = Vec::new();
    reader.read_to_end(&mut bytes).unwrap();
    assert_eq!(bytes, b"bytes");

    let mut regular = tempfile::NamedTempFile::new().unwrap();
    let file = AtomicFile::create(&path(regular.as_file().as_raw_fd())).unwrap();
    assert!(file.is_direct());
    file.file().write_all(b"bytes").unwrap();
    file.commit().unwrap();
    bytes.clear();
    regular.read_to_end(&mut bytes).unwrap();
    assert_eq!(bytes, b"bytes", "the file that was open, not another one under its name");
}

#[test]
fn relative_paths_have_a_folder() {
    assert_eq!(folder_of(Path::new("out.bam")), Path::new("."));
    assert_eq!(folder_of(Path::new("a/out.bam")), Path::new("a"));
    assert_eq!(folder_of(Path::new("/out.bam")), Path::new("/"));
}

fn publication(outputs: Vec<AtomicFile>, index: AtomicFile, stale: Vec<PathBuf>) -> Publication {
    Publication { outputs, index: Some(index), stale, ..Publication::default() }
}

fn commit(bam: AtomicFile, index: AtomicFile, stale: &[PathBuf]) -> Result<(), AtomicFileError> {
    publication(vec![bam], index, stale.to_vec()).commit()
}

#[test]
fn files_next_to_an_output_are_of_its_run_or_gone() {
    for is_named in [false, true] {
        let folder = tempfile::tempdir().unwrap();
        let path = |name: &str| folder.path().join(name);
        for name in ["out.bam", "out.json", "out.bam.md5", "other.json"] {
            fs::write(path(name), b"old").unwrap();
        }
        let fifo = path("fifo");
        let made = std::process::Command::new("mkfifo").arg(&fifo).status().unwrap();
        assert!(made.success());
        let run = |json: &str| Publication {
            outputs: vec![written(&path("out.bam"), is_named, b"new")],
            sidecars: vec![written(&path(json), is_named, b"new")],
            stale: vec![path("out.bam.md5"), path("none"), fifo.clone()],
            ..Publication::default()
        };
        // Dropped: as it was.
        drop(run("out.json"));
        assert_eq!(fs::read(path("out.json")).unwrap(), b"old");
        // A folder in the way of the last file: nothing of either run.
        let made = run("folder.json");
        fs::create_dir(path("folder.json")).unwrap();
        made.commit().unwrap_err();
        assert_eq!(fs::read(path("out.bam")).unwrap(), b"old");
        let before = ["fifo", "folder.json", "other.json", "out.bam", "out.json"];
        assert_eq!(names(folder.path()), before);
        run("out.json").commit().unwrap();
        assert_eq!(names(folder.path()), before);
        for name in ["out.bam", "out.json"] {
            assert_eq!(fs::read(path(name)).unwrap(), b"new");
        }
        assert_eq!(fs::read(path("other.json")).unwrap(), b"old");
    }
}

#[test]
fn a_bam_file_and_its_index_go_together() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name);
    for name in ["out.bam", "out.bam.bai", "out.bai", "out.bam.csi"] {
        fs::write(path(name), b"old").unwrap();
    }
    let bam = written(&path("out.bam"), false, b"bam");
    let index = written(&path("out.bam.bai"), false, b"index");
    let old = [path("out.bai"), path("out.bam.csi"), path("none.csi")];
    commit(bam, index, &old).unwrap();
    assert_eq!(names(folder.path()), ["out.bam", "out.bam.bai"]);
    assert_eq!(fs::read(path("out.bam")).unwrap(), b"bam");
    assert_eq!(fs::read(path("out.bam.bai")).unwrap(), b"index");
}

#[test]
fn no_old_index_stays_when_the_bam_file_cannot_be_renamed() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name);
    fs::write(path("out.bam.bai"), b"old").unwrap();
    let bam = written(&path("out.bam"), false, b"bam");
    let index = written(&path("out.bam.bai"), true, b"index");
    fs::create_dir(path("out.bam")).unwrap();
    commit(bam, index, &[]).unwrap_err();
    assert_eq!(names(folder.path()), ["out.bam"]);
}

/// Three parts of `bytes`, and their index.
fn parts(folder: &Path, is_named: bool, bytes: &[u8]) -> (Vec<AtomicFile>, AtomicFile) {
    let part = |name: &str| written(&folder.join(name), is_named, bytes);
    (["out.bam.00", "out.bam.01", "out.bam.02"].map(part).into(), part("out.bam.bai"))
}

const PARTS: [&str; 4] = ["out.bam.00", "out.bam.01", "out.bam.02", "out.bam.bai"];

#[test]
fn parts_and_their_index_appear_and_replace_others() {
    let folder = tempfile::tempdir().unwrap();
    for is_named in [false, true] {
        let (made, index) = parts(folder.path(), is_named, &[u8::from(is_named); 9]);
        fs::write(folder.path().join("out.bai"), b"old").unwrap();
        let stale = vec![folder.path().join("out.bai")];
        publication(made, index, stale).commit().unwrap();
        assert_eq!(names(folder.path()), PARTS);
        for name in PARTS {
            assert_eq!(fs::read(folder.path().join(name)).unwrap(), [u8::from(is_named); 9]);
        }
    }
}

#[test]
fn no_part_stays_when_one_cannot_be_renamed() {
    // What can be seen before anything is renamed leaves the old first part.
    for (in_the_way, left) in
        [("out.bam.02", &["out.bam.02"][..]), ("out.bam.bai", &["out.bam.00", "out.bam.bai"])]
    {
        let folder = tempfile::tempdir().unwrap();
        let (made, index) = parts(folder.path(), false, b"new");
        fs::write(folder.path().join("out.bam.00"), b"old").unwrap();
        fs::create_dir(folder.path().join(in_the_way)).unwrap();
        let error = publication(made, index, Vec::new()).commit().unwrap_err();
        assert!(error.to_string().contains(in_the_way), "{error}");
        assert_eq!(names(folder.path()), left);
        let old = fs::read(folder.path().join("out.bam.00"));
        assert!(old.is_err() || old.unwrap() == b"old");
    }
}

#[test]
fn an_old_index_that_cannot_be_removed_stops_the_commit() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name);
    fs::write(path("out.bam"), b"old").unwrap();
    fs::create_dir(path("out.bai")).unwrap();
    let bam = written(&path("out.bam"), false, b"bam");
    let index = written(&path("out.bam.bai"), false, b"index");
    let error = commit(bam, index, &[path("out.bai")]).unwrap_err();
    assert!(error.to_string().contains("out.bai"), "{error}");
    assert_eq!(names(folder.path()), ["out.bai", "out.bam"]);
    assert_eq!(fs::read(path("out.bam")).unwrap(), b"old");
}

//! Recorded machines: the files of `/sys` and `/proc` that describe one, in one short text.
//!
//! ```text
//! # a comment
//! = PATH CONTENT              a file; `\n` in the content is a new line
//! table FOLDER{} NAME...      files of numbered folders, a row for each number:
//! 0 VALUE...                  FOLDER0/NAME holds VALUE; `-` is an empty file
//! ```

use std::fs;
use std::io;
use std::path::Path;

/// Makes the files of `recording` below `root`.
///
/// # Errors
/// When the text is no recording, or a file cannot be written.
pub fn unpack(recording: &str, root: &Path) -> io::Result<()> {
    let bad = |line: &str| io::Error::other(format!("no line of a recording: {line}"));
    let mut table: Option<(&str, Vec<&str>)> = None;
    for line in recording.lines().filter(|line| !line.is_empty() && !line.starts_with('#')) {
        if let Some(file) = line.strip_prefix("= ") {
            table = None;
            let (path, content) = file.split_once(' ').unwrap_or((file, ""));
            write(&root.join(path), &content.replace("\\n", "\n"))?;
        } else if let Some(head) = line.strip_prefix("table ") {
            let mut words = head.split(' ');
            let folder = words.next().filter(|folder| folder.contains("{}"));
            table = Some((folder.ok_or_else(|| bad(line))?, words.collect()));
        } else {
            let (folder, names) = table.as_ref().ok_or_else(|| bad(line))?;
            let mut cells = line.split(' ');
            let folder = folder.replace("{}", cells.next().unwrap_or_default());
            for name in names {
                let cell = cells.next().ok_or_else(|| bad(line))?;
                let content = if cell == "-" { "" } else { cell };
                write(&root.join(&folder).join(name), content)?;
            }
        }
    }
    Ok(())
}

fn write(path: &Path, content: &str) -> io::Result<()> {
    if let Some(folder) = path.parent() {
        fs::create_dir_all(folder)?;
    }
    fs::write(path, format!("{content}\n"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_and_tables_are_unpacked() {
        let root = tempfile::tempdir().unwrap();
        let text = "# x\n= a/b one\\ntwo\ntable c/d{}/e f g\n0 1 -\n12 3-4 5\n";
        unpack(text, root.path()).unwrap();
        let read = |path: &str| fs::read_to_string(root.path().join(path)).unwrap();
        assert_eq!(read("a/b"), "one\ntwo\n");
        assert_eq!([read("c/d0/e/f"), read("c/d0/e/g")], ["1\n", "\n"]);
        assert_eq!([read("c/d12/e/f"), read("c/d12/e/g")], ["3-4\n", "5\n"]);
        for bad in ["row", "table x y\n0 1", "table x{} y z\n0 1"] {
            assert!(unpack(bad, root.path()).is_err(), "{bad}");
        }
    }
}

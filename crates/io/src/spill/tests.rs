//! What is spilled comes back, or is named as damaged.

use super::*;
use proptest::prelude::*;

fn spill(folders: &[&Path]) -> SpillFile {
    let folders: Vec<PathBuf> = folders.iter().map(|&folder| folder.to_owned()).collect();
    SpillFile::create(&folders).unwrap()
}

fn is_empty(folder: &Path) -> bool {
    std::fs::read_dir(folder).unwrap().next().is_none()
}

fn read(file: &SpillFile, extent: SpillExtent) -> Result<Vec<u8>, SpillError> {
    let mut out = b"before".to_vec();
    let result = file.read(extent, &mut out, &mut SpillScratch::new().unwrap());
    assert!(out.starts_with(b"before"));
    if result.is_err() {
        assert_eq!(out.len(), 6);
    }
    result.map(|()| out.split_off(6))
}

#[test]
fn no_name_is_ever_left() {
    let folder = tempfile::tempdir().unwrap();
    let file = spill(&[folder.path()]);
    file.append((b"bytes", Content::Bytes), &mut SpillScratch::new().unwrap()).unwrap();
    assert!(is_empty(folder.path()));
    let mut options = OpenOptions::new();
    options.read(true).write(true);
    let unlinked = open_unlinked(folder.path(), &options).unwrap();
    assert!(is_empty(folder.path()));
    unlinked.write_all_at(b"x", 0).unwrap();
}

#[test]
fn folders_take_turns() {
    let folders = [tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap()];
    let file = spill(&[folders[0].path(), folders[1].path()]);
    let mut scratch = SpillScratch::new().unwrap();
    let extents: Vec<SpillExtent> = (0..6_u8)
        .map(|i| file.append((&[i; 100], Content::Bytes), &mut scratch).unwrap())
        .collect();
    assert_eq!(extents.iter().map(|it| it.folder).collect::<Vec<_>>(), [0, 1, 0, 1, 0, 1]);
    for (i, &extent) in extents.iter().enumerate() {
        assert_eq!(read(&file, extent).unwrap(), [i as u8; 100]);
    }
    let on_disk: usize = extents.iter().map(SpillExtent::compressed_bytes).sum();
    assert_eq!(file.bytes_written(), on_disk as u64);
}

#[test]
fn bad_folders_are_named() {
    assert!(matches!(SpillFile::create(&[]), Err(SpillError::NoFolder)));
    let folder = tempfile::tempdir().unwrap();
    let missing = folder.path().join("missing");
    let error = SpillFile::create(std::slice::from_ref(&missing)).unwrap_err();
    assert!(error.to_string().contains("missing"), "{error}");
    let plain = folder.path().join("plain");
    std::fs::write(&plain, b"").unwrap();
    assert!(matches!(SpillFile::create(&[plain]), Err(SpillError::Create { .. })));
}

/// A file that every write to fails with ENOSPC.
fn full() -> (PathBuf, File) {
    let file = OpenOptions::new().read(true).write(true).open("/dev/full").unwrap();
    (PathBuf::from("full-folder"), file)
}

#[test]
fn a_full_folder_is_passed_over_and_named_when_it_is_the_last() {
    let mut scratch = SpillScratch::new().unwrap();
    let file = SpillFile::of_files(vec![full()]).unwrap();
    let error = file.append((b"bytes", Content::Bytes), &mut scratch).unwrap_err();
    assert!(error.is_no_space());
    assert!(error.to_string().contains("full-folder"), "{error}");

    let folder = tempfile::tempdir().unwrap();
    let good = (folder.path().to_owned(), open_nameless(folder.path()).unwrap());
    let file = SpillFile::of_files(vec![full(), good]).unwrap();
    for _ in 0..3 {
        let extent = file.append((b"bytes", Content::Bytes), &mut scratch).unwrap();
        assert_eq!(extent.folder, 1);
        assert_eq!(read(&file, extent).unwrap(), b"bytes");
    }
}

#[test]
fn what_is_kept_under_a_name_is_read_by_the_next_and_cut_to_its_end() {
    use seqloom_format::Persist;
    let folder = tempfile::tempdir().unwrap();
    let paths = ["a", "b"].map(|name| (folder.path().join(name), 0));
    let first = SpillFile::named(&paths).unwrap();
    let mut scratch = SpillScratch::new().unwrap();
    let kept = [
        first.append((b"one", Content::Bytes), &mut scratch),
        first.append((b"two", Content::Bytes), &mut scratch),
    ];
    let bytes = kept.map(Result::unwrap).to_state();
    let ends = first.sync().unwrap();
    let lost = first.append((b"past the end", Content::Bytes), &mut scratch).unwrap();
    drop(first);
    let next = SpillFile::named(&ends).unwrap();
    let kept = <[SpillExtent; 2]>::from_state(&bytes).unwrap();
    assert_eq!(kept.map(|it| read(&next, it).unwrap()), [b"one", b"two"]);
    assert!(matches!(read(&next, lost), Err(SpillError::Foreign)));
    assert_eq!(next.bytes_written(), ends.iter().map(|it| it.1).sum::<u64>());
    let longer: Vec<_> = ends.into_iter().map(|(path, end)| (path, end + 1)).collect();
    assert!(SpillFile::named(&longer).is_err(), "bytes are missing");
}

#[test]
fn damage_is_seen() {
    let folder = tempfile::tempdir().unwrap();
    let file = spill(&[folder.path()]);
    let raw: Vec<u8> = (0..50_000_u32).flat_map(|i| (i * i).to_le_bytes()).collect();
    let extent = file.append((&raw, Content::Bytes), &mut SpillScratch::new().unwrap()).unwrap();
    assert_eq!(read(&file, extent).unwrap(), raw);
    for offset in [0, 20, extent.compressed_bytes() as u64 / 2] {
        let mut byte = [0];
        file.parts[0].file.read_exact_at(&mut byte, offset).unwrap();
        file.parts[0].file.write_all_at(&[byte[0] ^ 0x10], offset).unwrap();
        assert!(matches!(read(&file, extent), Err(SpillError::Damaged { .. })), "{offset}");
        file.parts[0].file.write_all_at(&byte, offset).unwrap();
    }
    let wrong = SpillExtent { checksum: !extent.checksum, ..extent };
    assert!(matches!(read(&file, wrong), Err(SpillError::Damaged { .. })));
    let short = SpillExtent { raw_bytes: extent.raw_bytes - 1, ..extent };
    assert!(matches!(read(&file, short), Err(SpillError::Damaged { .. })));
    let beyond = SpillExtent { offset: 1, ..extent };
    assert!(matches!(read(&file, beyond), Err(SpillError::Foreign)));
    let other = SpillExtent { folder: 1, ..extent };
    assert!(matches!(read(&file, other), Err(SpillError::Foreign)));
    file.parts[0].file.set_len(10).unwrap();
    assert!(matches!(read(&file, extent), Err(SpillError::Read { .. })));
}

#[test]
fn many_threads_append_and_read() {
    let folder = tempfile::tempdir().unwrap();
    let file = spill(&[folder.path()]);
    std::thread::scope(|scope| {
        for thread in 0..4_u8 {
            let file = &file;
            scope.spawn(move || {
                let mut scratch = SpillScratch::new().unwrap();
                let pieces: Vec<Vec<u8>> =
                    (0..50_u8).map(|i| vec![thread ^ i; 10 + usize::from(i) * 97]).collect();
                let extents: Vec<SpillExtent> = pieces
                    .iter()
                    .map(|raw| file.append((raw, Content::Bytes), &mut scratch).unwrap())
                    .collect();
                for (raw, &extent) in pieces.iter().zip(&extents) {
                    let mut out = Vec::new();
                    file.read(extent, &mut out, &mut scratch).unwrap();
                    assert_eq!(&out, raw);
                }
            });
        }
    });
}

#[test]
fn records_are_read_as_they_were_and_damage_is_seen() {
    let folder = tempfile::tempdir().unwrap();
    let file = spill(&[folder.path()]);
    let raw: Vec<u8> = (0..99).flat_map(|it| columns::tests::framed(9, 2, it, 30)).collect();
    let mut scratch = SpillScratch::new().unwrap();
    let extent = file.append((&raw, Content::Records), &mut scratch).unwrap();
    assert_eq!(read(&file, extent).unwrap(), raw);
    let shorter = file.append((&raw[..raw.len() - 1], Content::Records), &mut scratch).unwrap();
    assert_eq!(read(&file, shorter).unwrap(), raw[..raw.len() - 1]);
    for offset in 0..extent.compressed_bytes() as u64 {
        let mut byte = [0];
        file.parts[0].file.read_exact_at(&mut byte, offset).unwrap();
        file.parts[0].file.write_all_at(&[byte[0] ^ 0x10], offset).unwrap();
        // Not every bit of zstd's frames means something.
        assert!(
            read(&file, extent).is_ok_and(|it| it == raw)
                || matches!(read(&file, extent), Err(SpillError::Damaged { .. })),
            "{offset}"
        );
        file.parts[0].file.write_all_at(&byte, offset).unwrap();
    }
    let wrong = SpillExtent { in_columns: false, ..extent };
    assert!(matches!(read(&file, wrong), Err(SpillError::Damaged { .. })));
}

proptest! {
    #[test]
    fn what_is_read_is_what_was_written(
        pieces in prop::collection::vec(prop::collection::vec(any::<u8>(), 0..500), 0..8),
    ) {
        let folder = tempfile::tempdir().unwrap();
        let file = spill(&[folder.path()]);
        let mut scratch = SpillScratch::new().unwrap();
        let contents = [Content::Bytes, Content::Records].into_iter().cycle();
        let append = |piece: (&Vec<u8>, Content)| {
            file.append((piece.0, piece.1), &mut scratch).unwrap()
        };
        let extents: Vec<SpillExtent> = pieces.iter().zip(contents).map(append).collect();
        for (raw, extent) in pieces.iter().zip(extents).rev() {
            prop_assert_eq!(&read(&file, extent).unwrap(), raw);
        }
    }
}

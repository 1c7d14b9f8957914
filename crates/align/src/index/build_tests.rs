//! Building, against the live `bwa index` and an FM-index reader of our own.

use std::fs;
use std::io::Write;
use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use flate2::Compression;
use flate2::write::GzEncoder;
use seqloom_io::InputError;
use seqloom_runtime::memory::ByteSize;
use seqloom_testkit::skip;

use super::*;

fn silent(_: Phase, _: f64) {}

fn built_with(fasta: &Path, prefix: &Path, options: &BuildOptions) -> Result<Built, BuildError> {
    build(plan(fasta, options, &silent)?, prefix, &silent)
}

fn built(fasta: &Path) -> Result<Built, BuildError> {
    built_with(fasta, fasta, &BuildOptions::default())
}

fn written(folder: &Path, name: &str, content: &[u8]) -> PathBuf {
    let path = folder.join(name);
    fs::write(&path, content).unwrap();
    path
}

fn gzipped(content: &[u8]) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::fast());
    encoder.write_all(content).unwrap();
    encoder.finish().unwrap()
}

/// Runs Debian's `bwa index`; false, after saying so, where it is not installed.
fn bwa_index(fasta: &Path, prefix: &Path) -> bool {
    let mut command = seqloom_testkit::running::words("bwa");
    command.arg("index").arg("-p").arg(prefix).arg(fasta);
    match command.stdout(Stdio::null()).stderr(Stdio::null()).status() {
        Ok(status) => {
            assert!(status.success(), "bwa index {}", fasta.display());
            true
        }
        Err(_) => {
            skip::skip("bwa is not installed");
            false
        }
    }
}

/// Builds with both and compares `.pac .ann .amb`.
fn assert_equal_to_bwa(fasta: &Path, folder: &Path) {
    let (ours, theirs) = (folder.join("ours"), folder.join("bwa"));
    let index = built_with(fasta, &ours, &BuildOptions::default()).unwrap();
    // Of a reference that repeats itself there are no samples of the text.
    let has_text_samples = IndexPaths::new(&ours).text_samples().exists();
    assert_eq!(index.files.len(), 5 + usize::from(has_text_samples));
    if !bwa_index(fasta, &theirs) {
        return;
    }
    for suffix in ["pac", "ann", "amb"] {
        let read = |prefix: &Path| fs::read(IndexPaths::new(prefix).with(suffix)).unwrap();
        assert!(read(&ours) == read(&theirs), "{}: .{suffix} differs", fasta.display());
    }
    check(&ours).unwrap();
}

#[test]
fn real_genomes_equal_bwa_s() {
    for name in ["refs/lambda/lambda_virus.fa.gz", "refs/ecoli/MG1655-K12.fasta.gz"] {
        let Some(fasta) = skip::data(name) else { return };
        assert_equal_to_bwa(&fasta, tempfile::tempdir().unwrap().path());
    }
}

#[test]
fn hard_fastas_equal_bwa_s() {
    let cases: [(&str, &str); 16] = [
        ("four bases", ">a\nACGT\n"),
        ("one base", ">a\nC\n"),
        ("one ambiguous base", ">a\nN\n"),
        ("lower case", ">a\nacgtnnnnacgt\n>b\nttttggggcccc\n"),
        ("mixed case holes", ">a\nACNNnnNNGT\nNNN\nnAC\n"),
        ("IUPAC", ">a\nRYKMSWBDHVNXU\nACGTryrryyuu\n"),
        ("gaps and stops", ">a\nAC--GT**AC-*-*\n"),
        ("CRLF", ">a b c\r\nACGTNN\r\nNNGT\r\n>d\r\nCCCCC\r\n"),
        ("CRLF and blank lines", ">a\r\nACGT\r\n\r\nACGT\r\n\r\n>b\r\nAC\r\n"),
        ("blank lines", "\n\n>a\n\nACGT\n\n\nAC\n\n>b\nGGG\n\n"),
        ("comments", ">a one two  three \nACGT\n>b\tx\ty\nAC\n>c \nAC\n>d  z\nGG\n"),
        ("no last line end", ">a\nACGTA"),
        ("holes at record edges", ">a\nACNN\n>b\nNNAC\n>c\nNNNN\n>d\nNNNN\n"),
        ("odd names", ">gi|9626243|ref|NC_001416.1| phage\nACGT\n>HLA*01:01:01=x;y\nACGTT\n"),
        ("text is a palindrome", ">a\nACGTACGTACGTACGT\n"),
        ("one symbol", ">a\nAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA\n"),
    ];
    for (what, text) in cases {
        let folder = tempfile::tempdir().unwrap();
        let plain = written(folder.path(), what, text.as_bytes());
        assert_equal_to_bwa(&plain, folder.path());
        // The same through gzip of two members, cut in the middle of a line.
        let cut = text.len() / 2;
        let members = [gzipped(&text.as_bytes()[..cut]), gzipped(&text.as_bytes()[cut..])];
        let compressed = written(folder.path(), "in.fa.gz", &members.concat());
        assert_equal_to_bwa(&compressed, folder.path());
    }
}

#[test]
fn long_and_many_records_equal_bwa_s() {
    let mut text = Vec::new();
    for record in 0_u64..700 {
        write!(text, ">contig{record} length varies").unwrap();
        let mut state = record;
        for i in 0..record * 13 % 997 + 1 {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            if i % 61 == 0 {
                text.push(b'\n');
            }
            text.push(b"ACGTACGTACGTacgtNNRn"[(state >> 40) as usize % 20]);
        }
        text.push(b'\n');
    }
    let folder = tempfile::tempdir().unwrap();
    assert_equal_to_bwa(&written(folder.path(), "many.fa", &text), folder.path());
}

/// A reader of `.bwt.2bit.64` that knows nothing but the table in the module's documentation.
struct FmIndex {
    bytes: Vec<u8>,
    rows: u64,
    stride: u64,
}

impl FmIndex {
    fn new(path: &Path, stride_log2: u32) -> Self {
        let bytes = fs::read(path).unwrap();
        let rows = i64::from_le_bytes(bytes[..8].try_into().unwrap()) as u64;
        Self { bytes, rows, stride: 1 << stride_log2 }
    }

    fn word(&self, at: u64) -> u64 {
        let at = at as usize;
        u64::from_le_bytes(self.bytes[at..at + 8].try_into().unwrap())
    }

    /// Rows whose suffix starts with a symbol below `c`, the sentinel's included.
    fn start(&self, c: u8) -> u64 {
        self.word(8 + 8 * u64::from(c)) + 1
    }

    /// Symbols `c` in rows `0..row`.
    fn occ(&self, c: u8, row: u64) -> u64 {
        let block = 48 + row / 64 * 64;
        let mask = self.word(block + 32 + 8 * u64::from(c));
        let part = mask.checked_shr(64 - (row % 64) as u32).unwrap_or(0);
        self.word(block + 8 * u64::from(c)) + u64::from(part.count_ones())
    }

    /// Rows whose suffix starts with `pattern`.
    fn search(&self, pattern: &[u8]) -> std::ops::Range<u64> {
        pattern.iter().rev().fold(0..self.rows, |rows, &c| {
            self.start(c) + self.occ(c, rows.start)..self.start(c) + self.occ(c, rows.end)
        })
    }

    /// The position of a row's suffix, by walking to a sampled row.
    fn locate(&self, mut row: u64) -> u64 {
        let mut steps = 0;
        while !row.is_multiple_of(self.stride) {
            let symbol = (0..4).find(|&c| self.occ(c, row + 1) > self.occ(c, row));
            let Some(c) = symbol else { return steps }; // the sentinel row: suffix 0
            row = self.start(c) + self.occ(c, row);
            steps += 1;
        }
        let high_at = 48 + 64 * (self.rows / 64 + 1);
        let low_at = high_at + self.rows / self.stride + 1;
        let sample = row / self.stride;
        let low = self.word(low_at + 4 * sample) & 0xFFFF_FFFF;
        steps + (u64::from(self.bytes[(high_at + sample) as usize]) << 32) + low
    }
}

#[test]
fn backward_search_finds_strings_of_e_coli_where_they_are() {
    let Some(fasta) = skip::data("refs/ecoli/MG1655-K12.fasta.gz") else { return };
    let folder = tempfile::tempdir().unwrap();
    let mut text = String::new();
    let mut decoder = flate2::read::MultiGzDecoder::new(fs::File::open(&fasta).unwrap());
    std::io::Read::read_to_string(&mut decoder, &mut text).unwrap();
    let bases: Vec<u8> = text.lines().skip(1).flat_map(str::bytes).collect();
    let mut codes: Vec<u8> =
        bases.iter().map(|b| b"ACGT".iter().position(|c| c == b).unwrap() as u8).collect();
    codes.extend(codes.clone().iter().rev().map(|code| 3 - code));

    for (stride_log2, threads) in [(3, 1), (3, 2), (0, 2)] {
        let prefix = folder.path().join(format!("{stride_log2}-{threads}"));
        let threads = NonZeroUsize::new(threads).unwrap();
        let options = BuildOptions {
            sa_stride_log2: Some(stride_log2),
            threads,
            with_0123: true,
            ..BuildOptions::default()
        };
        built_with(&fasta, &prefix, &options).unwrap();
        let paths = IndexPaths::new(&prefix);
        assert!(fs::read(paths.unpacked()).unwrap() == codes);
        let index = FmIndex::new(&paths.bwt(), u32::from(stride_log2));
        let mut state = 7_u64;
        for length in (12..60).cycle().take(2_000) {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            let at = (state >> 20) as usize % (codes.len() - length);
            let pattern = &codes[at..at + length];
            let found: Vec<u64> = index.search(pattern).map(|row| index.locate(row)).collect();
            assert!(found.contains(&(at as u64)), "{at} + {length}");
            for place in found {
                assert_eq!(&codes[place as usize..][..length], pattern);
            }
        }
        assert_eq!(index.search(&codes), index.search(&codes[..40]), "T itself, once");
    }
    let read = |name: &str| fs::read(folder.path().join(name)).unwrap();
    assert!(read("3-1.bwt.2bit.64") == read("3-2.bwt.2bit.64"), "threads change the bytes");
}

#[test]
fn a_bad_fasta_is_named() {
    let cases: [(&str, &[u8], &str); 7] = [
        ("empty", b"", "no FASTA record"),
        ("only white", b"\n\n", "no FASTA record"),
        ("duplicate", b">a\nAC\n>a\nAC\n", "record 2 (a), line 3, byte 6: the name is already"),
        ("digit", b">a\nAC1\n", "record 1 (a), line 2, byte 5: '1' in the sequence"),
        ("no bases", b">a\n>b\nAC\n", "the sequence is empty"),
        ("a FASTQ", b"@r\nACGT\n+\nIIII\n", "'@' before the first '>'"),
        ("binary", &[0x1e, 0x8b, 0, 0], "byte 0x1E before the first '>'"),
    ];
    let folder = tempfile::tempdir().unwrap();
    for (what, text, message) in cases {
        for (name, content) in [("x.fa", text.to_vec()), ("x.fa.gz", gzipped(text))] {
            let fasta = written(folder.path(), name, &content);
            let error = built(&fasta).unwrap_err().to_string();
            assert!(error.contains(message) && error.contains(name), "{what}: {error}");
            fs::remove_file(fasta).unwrap();
        }
    }
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0, "an error leaves files");
}

#[test]
fn every_cut_of_a_gzip_file_is_noticed() {
    let folder = tempfile::tempdir().unwrap();
    let text = b">a\nACGTACGTNNNNACGT\n>b\nCCCCGGGGTTTTAAAA\n";
    let whole = gzipped(text);
    for length in 0..whole.len() {
        let fasta = written(folder.path(), "cut.fa.gz", &whole[..length]);
        let error = built(&fasta).unwrap_err();
        let is_gzip = length >= 2;
        assert_eq!(
            matches!(error, BuildError::Input(InputError::Compressed { .. })),
            is_gzip,
            "{length}: {error}"
        );
    }
    // The same in the second of two members, of which the first is a FASTA by itself.
    let second = gzipped(b">c\nACGTTGCA\n");
    for length in 1..second.len() {
        let two = [&whole, &second[..length]].concat();
        let fasta = written(folder.path(), "cut.fa.gz", &two);
        let error = built(&fasta).unwrap_err();
        assert!(
            matches!(error, BuildError::Input(InputError::Compressed { .. })),
            "{length}: {error}"
        );
    }
    let mut damaged = whole;
    let crc_at = damaged.len() - 6;
    damaged[crc_at] ^= 1;
    let fasta = written(folder.path(), "damaged.fa.gz", &damaged);
    assert!(matches!(built(&fasta), Err(BuildError::Input(InputError::Compressed { .. }))));
}

#[test]
fn a_bgzf_file_without_its_last_block_is_cut() {
    use seqloom_format::bgzf::EOF_BLOCK;
    let folder = tempfile::tempdir().unwrap();
    let plain = written(folder.path(), "x.fa", b">a\nACGTACGTNNNNACGT\n");
    let Ok(bgzip) = Command::new("bgzip").arg("-k").arg(&plain).status() else {
        return skip::skip("bgzip is not installed");
    };
    assert!(bgzip.success());
    let whole = fs::read(folder.path().join("x.fa.gz")).unwrap();
    let fasta = written(folder.path(), "whole.fa.gz", &whole);
    built(&fasta).unwrap();
    let cut = written(folder.path(), "cut.fa.gz", &whole[..whole.len() - EOF_BLOCK.len()]);
    let error = built(&cut).unwrap_err();
    assert!(matches!(error, BuildError::Input(InputError::Compressed { .. })), "{error}");
}

#[test]
fn memory_is_announced_and_the_limit_kept() {
    let folder = tempfile::tempdir().unwrap();
    let fasta = written(folder.path(), "x.fa", &[b">a\n".to_vec(), vec![b'A'; 1_000]].concat());
    let mut options = BuildOptions::default();
    let needed = plan(&fasta, &options, &silent).unwrap().memory_bytes_needed;
    options.memory_limit_bytes = Some(needed - 1);
    let error = built_with(&fasta, &fasta, &options).unwrap_err();
    let expected = format!("takes at least {} of memory", ByteSize(needed));
    assert!(error.to_string().contains(&expected), "{error}");
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1, "an error leaves files");
    // Refused while reading: even the packed bases are too many.
    options.memory_limit_bytes = Some(100);
    assert!(matches!(plan(&fasta, &options, &silent), Err(BuildError::MemoryLimit { .. })));
    options.memory_limit_bytes = Some(needed);
    built_with(&fasta, &fasta, &options).unwrap();
}

/// Bases that repeat themselves: before one in `rarity` are 300 of others.
fn repetitive(bases: usize, rarity: u64) -> Vec<u8> {
    let mut state = 1_u64;
    let mut text = b">a some\n".to_vec();
    while text.len() < bases {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        let copied = (state >> 33) as usize % text.len().max(1);
        if (state >> 20).is_multiple_of(rarity) && copied > 8 && text.len() - copied > 300 {
            text.extend_from_within(copied..copied + 300);
        } else {
            text.push(b"ACGT"[(state >> 62) as usize]);
        }
    }
    text.extend(b"\n>b\nNNNNNNNNNN\n");
    text
}

#[test]
fn less_memory_means_blocks_and_the_same_files() {
    // With and without samples of the text.
    assert_blocks_make_the_same_files(4096, true);
    assert_blocks_make_the_same_files(512, false);
}

fn assert_blocks_make_the_same_files(rarity: u64, has_text_samples: bool) {
    let folder = tempfile::tempdir().unwrap();
    let fasta = written(folder.path(), "x.fa", &repetitive(5_000_000, rarity));
    let whole = folder.path().join("whole");
    let options = BuildOptions { with_0123: true, ..BuildOptions::default() };
    assert_eq!(plan(&fasta, &options, &silent).unwrap().method, Method::OnePiece);
    built_with(&fasta, &whole, &options).unwrap();
    let mut least = options.clone();
    least.memory_limit_bytes = Some(10 << 20);
    let least_bytes = plan(&fasta, &least, &silent).unwrap().memory_bytes_needed;
    let refused = built_with(&fasta, &folder.path().join("none"), &least).unwrap_err();
    assert!(matches!(refused, BuildError::MemoryLimit { .. }), "{refused}");
    let mut most_passes = 0;
    for (limit, threads) in [(least_bytes, 1), (least_bytes + (4 << 20), 1), (100 << 20, 2)] {
        let options = BuildOptions {
            memory_limit_bytes: Some(limit),
            threads: NonZeroUsize::new(threads).unwrap(),
            ..options.clone()
        };
        let planned = plan(&fasta, &options, &silent).unwrap();
        let Method::Blocks { passes } = planned.method else { panic!("{limit}: one piece") };
        most_passes = most_passes.max(passes);
        assert!(planned.memory_bytes_needed <= limit);
        let blocks = folder.path().join("blocks");
        build(planned, &blocks, &silent).unwrap();
        let text_samples = has_text_samples.then_some("tsa");
        assert_eq!(IndexPaths::new(&blocks).text_samples().exists(), has_text_samples);
        let suffixes = ["bwt.2bit.64", "pac", "ann", "amb", "fast", "0123"];
        for suffix in suffixes.into_iter().chain(text_samples) {
            let read = |prefix: &Path| fs::read(IndexPaths::new(prefix).with(suffix)).unwrap();
            assert!(read(&whole) == read(&blocks), "-m {limit} -t {threads}: .{suffix} differs");
        }
        check(&blocks).unwrap();
    }
    assert!(most_passes > 8, "{most_passes}");
    let files = 13 + 2 * usize::from(has_text_samples);
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), files, "files are left");
}

#[test]
fn other_refusals() {
    let folder = tempfile::tempdir().unwrap();
    let fasta = written(folder.path(), "x.fa", b">a\nACGT\n");
    let options = BuildOptions { sa_stride_log2: Some(7), ..BuildOptions::default() };
    assert!(matches!(plan(&fasta, &options, &silent), Err(BuildError::Stride(7))));
    let missing = folder.path().join("no such file.fa");
    let error = built(&missing).unwrap_err().to_string();
    assert!(error.contains("no such file.fa"), "{error}");
    assert!(matches!(built(folder.path()), Err(BuildError::Input(InputError::Open { .. }))));
    let nowhere = folder.path().join("no folder/x.fa");
    let error = built_with(&fasta, &nowhere, &BuildOptions::default()).unwrap_err();
    assert!(matches!(error, BuildError::Output(_)), "{error}");
}

#[test]
fn an_old_index_is_replaced_and_other_tools_files_are_reported() {
    let folder = tempfile::tempdir().unwrap();
    let fasta = written(folder.path(), "x.fa", b">a\nACGTACGT\n");
    let options = BuildOptions { with_0123: true, ..BuildOptions::default() };
    let first = built_with(&fasta, &fasta, &options).unwrap();
    assert_eq!(first.files.len(), 9);
    assert_eq!(first.files.last(), Some(&IndexPaths::new(&fasta).bwt()), "the last one named");
    assert_eq!(fs::read(IndexPaths::new(&fasta).unpacked()).unwrap(), b"\0\x01\x02\x03".repeat(4));
    // The same reference again: what bwa-mem2 has is still right.
    assert!(built(&fasta).unwrap().stale_files.is_empty());
    fs::write(&fasta, b">a\nACGTACGTA\n").unwrap();
    fs::write(IndexPaths::new(&fasta).with("sa"), b"bwa's").unwrap();
    let again = built(&fasta).unwrap();
    let paths = IndexPaths::new(&fasta);
    let dict = folder.path().join("x.dict");
    assert_eq!(again.stale_files, [paths.with("sa"), paths.unpacked(), paths.with("fai"), dict]);
    assert_eq!(check(&fasta).unwrap().bases, 9);
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 11, "nothing temporary is left");
    built_with(&fasta, &fasta, &BuildOptions { fast_table: false, ..options }).unwrap();
    let tables = [paths.fast(), paths.text_samples()];
    assert!(!tables.iter().any(|path| path.exists()), "the old tables stay");
}

#[test]
fn fai_and_dict_are_made_with_the_index_and_nowhere_else() {
    let folder = tempfile::tempdir().unwrap();
    let fasta = written(folder.path(), "x.fa", b">a\nACGTACGT\n");
    let elsewhere = tempfile::tempdir().unwrap();
    built_with(&fasta, &elsewhere.path().join("y"), &BuildOptions::default()).unwrap();
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
    let (fai, dict) = (folder.path().join("x.fa.fai"), folder.path().join("x.dict"));
    // What is there and fits stays as it is.
    fs::write(&dict, "@HD\tVN:1.0\n@SQ\tSN:a\tLN:8\tAS:mine\n").unwrap();
    let index = built(&fasta).unwrap();
    assert!(index.files.contains(&fai) && !index.files.contains(&dict), "{:?}", index.files);
    assert_eq!(fs::read_to_string(&fai).unwrap(), "a\t8\t3\t8\t9\n");
    assert!(fs::read_to_string(&dict).unwrap().contains("AS:mine"));
    assert_eq!((index.stale_files, index.not_made.len()), (Vec::new(), 0));
}

#[test]
fn the_stride_follows_from_the_length_unless_requested() {
    let folder = tempfile::tempdir().unwrap();
    let fasta = written(folder.path(), "x.fa", b">a\nACGTACGT\n");
    let of = |sa_stride_log2| {
        let options = BuildOptions { sa_stride_log2, ..BuildOptions::default() };
        plan(&fasta, &options, &silent).unwrap()
    };
    assert_eq!((of(None).sa_stride(), of(Some(5)).sa_stride()), (8, 32));
    let loaded = |stride| of(None).loaded_bytes(stride);
    assert!(loaded(8) > loaded(16) && loaded(16).is_some());
    assert_eq!([loaded(0), loaded(12), loaded(128)], [None; 3]);
    built(&fasta).unwrap();
    assert_eq!(Some(check(&fasta).unwrap().memory_bytes), loaded(8));
}

#[test]
fn progress_runs_through_the_phases() {
    let folder = tempfile::tempdir().unwrap();
    let fasta = written(folder.path(), "x.fa", b">a\nACGTACGT\n");
    let seen = std::cell::RefCell::new(Vec::new());
    let progress = |phase, done| seen.borrow_mut().push((phase, done));
    let plan = plan(&fasta, &BuildOptions::default(), &progress).unwrap();
    assert_eq!((plan.bases, plan.sequences), (8, 1));
    let announced = plan.most_output_bytes;
    build(plan, &fasta, &progress).unwrap();
    let size = |path: &Path| fs::metadata(path).unwrap().len();
    let of = |suffix: &str| size(&IndexPaths::new(&fasta).with(suffix));
    // One sample is fewer than those of rows.
    let written = of("pac") + of("bwt.2bit.64") + of("fast") + of("tsa");
    assert_eq!(announced, written + 4);
    let expected =
        [(Phase::Read, 1.0), (Phase::Sort, 0.0), (Phase::Sort, 1.0), (Phase::Write, 1.0)];
    assert_eq!(*seen.borrow(), expected);
}

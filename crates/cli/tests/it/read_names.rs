//! Names, tags and header lines that SAM does not allow: refused with their place and a way out,
//! and renamed where that is requested.

use crate::common::{SOON, folder, has, run, run_for, seqloom, words};
use crate::data::small;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

const MODES: [&str; 5] = ["bwa", "ungapped", "end-to-end", "local", "spliced"];

/// Bases that the small genome need not have.
const BASES: &str = "ACGTTGCATTGACCAGTACCAGTTACGATTACAGATTACA";

fn fastq(names: &[&str]) -> String {
    let quality = "I".repeat(BASES.len());
    names.iter().map(|name| format!("@{name}\n{BASES}\n+\n{quality}\n")).collect()
}

/// BAM, not compressed, of one sequence `c` and unaligned records of these names and tags.
fn bam(header: &[u8], sequence: &str, records: &[(&[u8], &[u8])]) -> Vec<u8> {
    let mut bytes = b"BAM\x01".to_vec();
    bytes.extend((header.len() as u32).to_le_bytes());
    bytes.extend(header);
    bytes.extend(1_u32.to_le_bytes());
    bytes.extend((sequence.len() as u32 + 1).to_le_bytes());
    bytes.extend(sequence.as_bytes());
    bytes.push(0);
    bytes.extend(1000_u32.to_le_bytes());
    for (name, tags) in records {
        let mut body = vec![0xff; 8];
        body.extend([name.len() as u8 + 1, 0, 0, 0, 0, 0, 4, 0]);
        body.extend(4_u32.to_le_bytes());
        body.extend([0xff; 8]);
        body.extend([0; 4]);
        body.extend(*name);
        body.extend(b"\0\x12\x48\x1e\x1e\x1e\x1e");
        body.extend(*tags);
        bytes.extend((body.len() as u32).to_le_bytes());
        bytes.extend(body);
    }
    bytes
}

const HEADER: &[u8] = b"@HD\tVN:1.6\tSO:unsorted\n@SQ\tSN:c\tLN:1000\n";

fn write(folder: &Path, name: &str, bytes: impl AsRef<[u8]>) -> PathBuf {
    let path = folder.join(name);
    fs::write(&path, bytes).unwrap();
    path
}

fn align(files: &[&Path], options: &[&str], out: &Path) -> Command {
    let mut command = seqloom(["align", "--quiet", "--no-pg", "-t", "1", "-m", "2G"]);
    command.arg(&small().ours).args(files).args(options).arg("-o").arg(out);
    command
}

fn prep(file: &Path, options: &[&str], out: &Path) -> Command {
    let mut command = seqloom(["prep", "--quiet", "--no-pg", "-m", "500M"]);
    command.arg(file).args(options).arg("-o").arg(out);
    command
}

/// Names of the records of a file, in order.
fn names(file: &Path) -> Vec<String> {
    let text = run(words("samtools view").arg(file)).ok().text();
    text.lines().map(|line| line.split('\t').next().unwrap().to_owned()).collect()
}

#[test]
fn reads_of_names_that_sam_does_not_allow_are_refused_or_renamed() {
    if !has("samtools") {
        return;
    }
    let here = folder();
    let out = here.path().join("out.bam");
    let long = "n".repeat(255);
    let start = fastq(&["good"]).len() + 1;
    for (name, problem, at, renamed) in [
        ("@at", "'@' in the read name", 0, "_at"),
        ("a@t", "'@' in the read name", 1, "a_t"),
        ("l\u{e9}sion", "byte 0xc3 in the read name", 1, "l__sion"),
        ("bell\u{7}", "byte 0x07 in the read name", 4, "bell_"),
        (&long, "255 bytes, more than 254", 0, ""),
    ] {
        let path = write(here.path(), "in.fq", fastq(&["good", name]));
        let place = format!("in.fq: record 2 ({}", &name.escape_debug().to_string()[..1]);
        let place =
            [place.as_str(), &format!("line 5, byte {}", start + at), problem, "--mend-names"];
        let files: [&Path; 1] = [&path];
        for mode in MODES {
            let refused = run_for(&mut align(&files, &["--mode", mode], &out), SOON);
            refused.fails_with(3).says(&place);
            assert!(!out.exists());
            run(&mut align(&files, &["--mode", mode, "--mend-names"], &out)).ok();
            let found = names(&out);
            let expected = if renamed.is_empty() { &found[1][..] } else { renamed };
            assert_eq!(found, ["good", expected], "{mode}");
            assert!(found[1].len() <= 254);
            run(&mut prep(&out, &["--sort", "queryname"], &here.path().join("p.bam"))).ok();
            fs::remove_file(&out).unwrap();
        }
        let check = run(seqloom(["fastq", "check"]).arg(&path));
        check.fails_with(3).says(&place);
        let columns = here.path().join("columns");
        let mut command = seqloom(["columns", "-o"]);
        run(command.arg(&columns).arg(&path)).fails_with(3).says(&place);
        run(command.arg("--mend-names")).ok();
    }
}

#[test]
fn mates_stay_mates_when_they_are_renamed() {
    if !has("samtools") {
        return;
    }
    let here = folder();
    let long = format!("{}\u{e9}", "n".repeat(300));
    let text = |mate: u8| fastq(&[&format!("@a/{mate} x"), &format!("{long}/{mate}"), "b"]);
    let first = write(here.path(), "1.fq", text(1));
    let second = write(here.path(), "2.fq", text(2));
    let both = write(here.path(), "both.fq", {
        let lines = |mate| text(mate).lines().map(str::to_owned).collect::<Vec<_>>();
        let (one, two) = (lines(1), lines(2));
        let reads = one.chunks(4).zip(two.chunks(4)).flat_map(|(a, b)| [a, b].concat());
        reads.map(|line| line + "\n").collect::<String>()
    });
    let out = here.path().join("out.sam");
    let stream = ["--mend-names", "--no-sort", "--no-mark-duplicates", "-p"];
    let two: [&Path; 2] = [&first, &second];
    for (files, options) in [(&two[..], &stream[..3]), (&[both.as_path()], &stream)] {
        run(&mut align(files, options, &out)).ok();
        let found = names(&out);
        assert_eq!(found.len(), 6);
        assert!(found.chunks(2).all(|mates| mates[0] == mates[1]), "{found:?}");
        assert!(found[0] == "_a" && found[2].len() == 254 && found[4] == "b", "{found:?}");
        let paired = run(words("samtools view -c -f 1").arg(&out)).ok().text();
        assert_eq!(paired.trim(), "6");
    }
}

#[test]
fn files_of_reads_have_the_new_names_and_are_read_again() {
    let here = folder();
    let long = "n".repeat(300);
    let path = write(here.path(), "in.fq", fastq(&["@at x", &format!("{long}/1 1:N:0:A"), "b"]));
    let out = here.path().join("out.bam");
    let unaligned = here.path().join("unaligned.fq");
    let option = unaligned.to_str().unwrap();
    let options = ["--mode", "ungapped", "--mend-names", "--unaligned-reads", option];
    run(&mut align(&[&path], &options, &out)).ok();
    let text = fs::read_to_string(&unaligned).unwrap();
    let titles: Vec<&str> = text.lines().step_by(4).map(str::trim_end).collect();
    assert!(titles[0] == "@_at x" && titles[2] == "@b", "{titles:?}");
    assert!(titles[1].starts_with("@nnn") && titles[1].ends_with("/1 1:N:0:A"), "{titles:?}");
    run(&mut align(&[&unaligned], &[], &out)).ok();
}

#[test]
fn records_of_names_that_sam_does_not_allow_are_refused_or_renamed() {
    if !has("samtools") {
        return;
    }
    let here = folder();
    let out = here.path().join("out.bam");
    let records: [(&[u8], &[u8]); 3] =
        [(b"good", b""), ("gr\u{fc}n".as_bytes(), b""), (b"@a", b"")];
    let file = write(here.path(), "in.bam", bam(HEADER, "c", &records));
    let text = String::from_utf8(HEADER.to_vec()).unwrap()
        + "good\t4\t*\t0\t0\t*\t*\t0\t0\tACGT\tIIII\n"
        + "gr\u{fc}n\t4\t*\t0\t0\t*\t*\t0\t0\tACGT\tIIII\n"
        + "@a\t4\t*\t0\t0\t*\t*\t0\t0\tACGT\tIIII\n";
    let sam = write(here.path(), "in.sam", text);
    for file in [&file, &sam] {
        let name = file.file_name().unwrap().to_str().unwrap();
        let place = [name, "record 2 (grün)", "byte 0xc3 in the read name", "--mend-names"];
        run(&mut prep(file, &[], &out)).fails_with(3).says(&place);
        for order in ["keep", "queryname"] {
            run(&mut prep(file, &["--mend-names", "--sort", order], &out)).ok();
            let mut found = names(&out);
            found.sort_unstable();
            assert_eq!(found, ["_a", "good", "gr__n"], "{name}, {order}");
        }
        let mut columns = seqloom(["columns", "-o"]);
        columns.arg(here.path().join("columns")).arg(file);
        run(&mut columns).fails_with(3).says(&place);
        run(columns.arg("--mend-names")).ok();
    }
    // After the header: a record, though its line begins as those of headers do.
    let text = [HEADER, b"@at\t4\t*\t0\t0\t*\t*\t0\t0\tACGT\tIIII\n"].concat();
    let sam = write(here.path(), "first.sam", text);
    let place = ["first.sam: record 1 (@at), line 3", "'@' in the read name", "--mend-names"];
    run(&mut prep(&sam, &[], &out)).fails_with(3).says(&place);
    run(&mut prep(&sam, &["--mend-names"], &out)).ok();
    assert_eq!(names(&out), ["_at"]);
    let place = ["in.bam", "record 2 (grün)", "byte 0xc3 in the read name", "--mend-names"];
    run(&mut align(&[&file], &[], &out)).fails_with(3).says(&place);
    run(&mut align(&[&file], &["--mend-names"], &out)).ok();
    assert_eq!(names(&out), ["good", "gr__n", "_a"]);
}

#[test]
fn tags_that_sam_does_not_allow_are_refused_with_their_record() {
    let here = folder();
    let out = here.path().join("out.bam");
    for (tag, problem) in [
        ("XX:H:ABC", "is not an even number of hexadecimal digits"),
        ("XX:H:0G", "is not an even number of hexadecimal digits"),
        ("XX:A: ", "is not one printable character"),
        ("XX:Z:a\u{7}b", "has a control character"),
        ("XX:i:x", "is not an integer"),
        ("XX:B:C,256", "has an element that is not an integer of its type"),
        ("1:N:0:ACGT", "is not of the form TAG:TYPE:VALUE"),
    ] {
        let one = write(here.path(), "1.fq", fastq(&["a BC:Z:A", "b", "c"]));
        let two = write(here.path(), "2.fq", fastq(&["a", &format!("b BC:Z:A\t{tag}"), "c"]));
        let words =
            ["1.fq", "2.fq", "record 2, read 'b'", problem, "-C takes comments of SAM tags"];
        for mode in MODES {
            let options = ["-C", "--mode", mode];
            run(&mut align(&[&one, &two], &options, &out)).fails_with(3).says(&words);
            assert!(!out.exists());
        }
    }
    let tags: [(&str, &[u8]); 5] = [
        ("XX", b"XXHABC\0"),
        ("XZ", b"XZZa\tb\0"),
        ("XZ", b"XZZa\nb\0"),
        ("XA", b"XAA "),
        ("XB", b"XBBq\0\0\0\0"),
    ];
    for (tag, bytes) in tags {
        let records: [(&[u8], &[u8]); 2] = [(b"a", b"BCZA\0"), (b"b", bytes)];
        let file = write(here.path(), "in.bam", bam(HEADER, "c", &records));
        let words = ["in.bam", "record 2 (b)", &format!("tag {tag} at byte 40")];
        for mode in MODES {
            let mut command = align(&[&file], &["--mode", mode], &out);
            run(&mut command).fails_with(3).says(&words);
        }
        run(&mut prep(&file, &[], &out)).fails_with(3).says(&words);
    }
}

#[test]
fn sequence_names_that_sam_does_not_allow_are_refused() {
    let here = folder();
    let out = here.path().join("out.bam");
    for (name, byte) in [("a,b", "','"), ("x(1)[y]", "'('"), ("*a", "'*'"), ("\u{e9}", "0xc3")] {
        let fasta = write(here.path(), "ref.fa", format!(">ok\n{BASES}\n>{name}\n{BASES}\n"));
        let words = ["ref.fa", "record 2", "line 3", byte, "in the name of a sequence", "rename"];
        run(seqloom(["index", "--quiet"]).arg(&fasta)).fails_with(3).says(&words);
        let header = format!("@HD\tVN:1.6\n@SQ\tSN:{name}\tLN:1000\n");
        let sam = write(here.path(), "in.sam", &header);
        let words = ["in.sam", "header line 2", byte, "in the name of a sequence", "reheader"];
        run(&mut prep(&sam, &[], &out)).fails_with(3).says(&words);
        let file = write(here.path(), "in.bam", bam(b"", name, &[]));
        let words = ["in.bam", "reference 0", byte, "in the name of a sequence", "reheader"];
        run(&mut prep(&file, &[], &out)).fails_with(3).says(&words);
    }
    // An index of a program that takes such names.
    let fasta = write(here.path(), "good.fa", format!(">a_b\n{}\n", BASES.repeat(5)));
    run(seqloom(["index", "--quiet"]).arg(&fasta)).ok();
    let annotation = here.path().join("good.fa.ann");
    let text = fs::read_to_string(&annotation).unwrap().replace("a_b", "a,b");
    fs::write(&annotation, text).unwrap();
    let reads = write(here.path(), "in.fq", fastq(&["r"]));
    let mut command = seqloom(["align", "--quiet"]);
    command.arg(&fasta).arg(&reads).arg("-o").arg(&out);
    run(&mut command).fails_with(3).says(&["good.fa.ann", "line 2", "','", "rename it"]);
}

#[test]
fn header_lines_with_a_nul_or_a_tag_twice_are_refused() {
    let here = folder();
    let out = here.path().join("out.bam");
    let reads = write(here.path(), "in.fq", fastq(&["r"]));
    for line in [r"@RG\tID:a\tID:b", r"@RG\tID:a\tSM:s\tLB:l\tSM:t"] {
        let run = run(&mut align(&[&reads], &["-R", line], &out)).fails_with(2);
        run.says(&["twice"]);
    }
    let text = [HEADER, b"@CO\tbefore\0behind\n@CO\tlast\n"].concat();
    let file = write(here.path(), "in.bam", bam(&text, "c", &[]));
    run(&mut prep(&file, &[], &out)).fails_with(3).says(&["in.bam", "header line 3", "NUL"]);
    // Padding after the last line, as the specification allows it; and a tag twice, as old
    // programs wrote it.
    let text = [HEADER, b"@PG\tID:bwa\tCL:bwa mem -R @RG\tID:a\tSM:s\n\0\0\0"].concat();
    let file = write(here.path(), "in.bam", bam(&text, "c", &[]));
    run(&mut prep(&file, &[], &out)).ok();
    let mut command = prep(&file, &["--read-group", r"@RG\tID:a\tID:b"], &out);
    run(&mut command).fails_with(2).says(&["each tag once"]);
}

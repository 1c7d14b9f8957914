//! What `prep` refuses, and how: exit code 3, a message that names file and record, no output file.

use crate::common::{SOON, folder, has, names_in, run_for, words};
use crate::prep::{hard, lines, prep, write_both};
use seqloom_testkit::skip;
use std::fs;
use std::path::{Path, PathBuf};

/// Files of `folder` with these suffixes, sorted.
fn files(folder: &Path, suffixes: &[&str]) -> Vec<PathBuf> {
    let has_suffix = |name: &String| suffixes.iter().any(|suffix| name.ends_with(suffix));
    names_in(folder).into_iter().filter(has_suffix).map(|name| folder.join(name)).collect()
}

/// Exit code and messages of a run whose output must be gone unless it succeeded.
#[track_caller]
fn outcome(input: &Path, options: &str) -> (i32, String) {
    let here = folder();
    let out = here.path().join("x.bam");
    let mut command = prep(&[input]);
    command.args(options.split_whitespace()).arg("--quiet").arg("-o").arg(&out);
    let run = run_for(&mut command, SOON).says(&[]);
    let left = names_in(here.path());
    match run.code() {
        0 => assert!(out.exists()),
        _ => assert_eq!(left, [""; 0], "{}", input.display()),
    }
    (run.code(), run.stderr)
}

/// Files under `failed` of the SAM specification's tests that are accepted, as samtools 1.24
/// accepts them: nothing depends on what is wrong with them (values of header fields and letters of
/// tags that the specification does not allow, a tag given twice, infinite numbers).
const ACCEPTED: &str = "
    aux.fail-H2 aux.fail-f3 aux.fail-format4 aux.fail-tag hdr.HD1 hdr.HD2 hdr.HD3 hdr.HD4
    hdr.HD5 hdr.HD6 hdr.PG1 hdr.PG3 hdr.RG2 hdr.RG3 hdr.RG4 hdr.RG5 hdr.SQ10
    hdr.SQ11 hdr.SQ12 hdr.SQ13 hdr.SQ4 hdr.SQ6 hdr.SQ9
";

#[test]
fn specimens_of_the_specification() {
    let (true, Some(root)) = (has("samtools"), skip::data("bam/hts-specs_test")) else { return };
    let allowed: Vec<&str> = ACCEPTED.split_whitespace().collect();
    for t in ["1", "3"] {
        let mut accepted = Vec::new();
        for file in files(&root.join("sam/failed"), &[".sam"]) {
            let name = file.file_name().unwrap().to_str().unwrap().to_owned();
            let (code, text) = outcome(&file, &format!("-t {t}"));
            if code == 0 {
                let mut view = words("samtools view --no-PG -b -o /dev/null");
                run_for(view.arg(&file), SOON).ok();
                accepted.push(name.trim_end_matches(".sam").to_owned());
                continue;
            }
            assert_eq!(code, 3, "{name}: {text}");
            assert!(text.contains(&name), "{name}: {text}");
            let place = text.contains("record ") && text.contains("byte ");
            assert!(place || text.contains("header line "), "{name}: {text}");
        }
        assert_eq!(accepted, allowed);
    }
    let passed = [root.join("sam/passed"), root.join("bam/passed"), root.join("SAMtags")];
    for file in passed.iter().flat_map(|folder| files(folder, &[".sam", ".bam"])) {
        for options in ["", "--sort coordinate", "--sort queryname"] {
            let (code, text) = outcome(&file, options);
            assert_eq!(code, 0, "{} {options}: {text}", file.display());
        }
    }
}

/// Files that samtools accepts and we do not, and the words that say why.
const REFUSED: [(&str, &str); 10] = [
    // A name of a sequence that SAM does not allow.
    ("colons.bam", "reference 5, \"chr1,chr3\""),
    // CIGAR operation B, which the specification does not have.
    ("view.003.expected.sam", "record 5 (ref1_grp1_p005), line 37, byte 1969"),
    ("view.003.sam", "record 1 (ref1_grp1_p001), line 33, byte 1649"),
    // Not sorted as the header says.
    ("2_bad_order.sam", "record 7"),
    ("mq0_2.sam", "record 2"),
    ("test_chimeras.sam", "record 3"),
    ("invalid_coord_sort_order.sam", "record 4"),
    // A sequence that the header lacks: samtools takes the record as unmapped, with a warning.
    ("merge.bed.1.sam", "record 11 (r1f1g3), line 15, byte 409"),
    ("merge.bed.2.sam", "record 4 (r1f2g3), line 8, byte 178"),
    // No EOF block.
    ("1.quickcheck.badeof.bam", "byte 1228"),
];

/// SAM and BAM files of htslib, samtools, sambamba and Picard: we accept what samtools accepts, but
/// for [`REFUSED`], and nothing else.
#[test]
fn files_of_other_tools() {
    if !has("samtools") {
        return;
    }
    let roots = ["htslib_test", "samtools_test", "sambamba_test", "picard_testdata"];
    let roots = roots.map(|name| format!("bam/{name}"));
    let Some(roots) = roots.iter().map(|root| skip::data(root)).collect::<Option<Vec<_>>>() else {
        return;
    };
    let mut found = Vec::new();
    for root in roots {
        below(&root, &mut found);
    }
    let (mut both, mut neither, mut refused, mut laxer) = (0, 0, 0, Vec::new());
    for file in &found {
        let (code, text) = outcome(file, "");
        let mut view = words("samtools view --no-PG -b -o /dev/null");
        let theirs = run_for(view.arg(file), SOON).code();
        let name = file.file_name().unwrap().to_str().unwrap().to_owned();
        match (code, theirs) {
            (0, 0) => both += 1,
            (0, _) => laxer.push(name),
            (code, _) => {
                assert_eq!(code, 3, "{name}: {text}");
                if theirs != 0 {
                    neither += 1;
                    continue;
                }
                let why = REFUSED.iter().find(|(refused, _)| *refused == name);
                let (_, why) = why.unwrap_or_else(|| panic!("{name}: {text}"));
                assert!(text.contains(why), "{name}: {text}");
                refused += 1;
            }
        }
    }
    eprintln!("{both} accepted, {neither} refused by both");
    assert!(laxer.is_empty(), "accepted against samtools: {laxer:?}");
    assert_eq!(refused, REFUSED.len());
    assert!(both > 550 && neither > 20, "{both} {neither}");
}

fn below(folder: &Path, found: &mut Vec<PathBuf>) {
    for name in names_in(folder) {
        let path = folder.join(&name);
        if path.is_dir() {
            below(&path, found);
        } else if name.ends_with(".sam") || name.ends_with(".bam") {
            found.push(path);
        }
    }
}

#[test]
fn truncated_files() {
    if !has("samtools") {
        return;
    }
    let here = folder();
    let data = hard(here.path(), 501, 2000, 4);
    let bytes = fs::read(&data.grouped).unwrap();
    let all = lines(&data.grouped);
    let cut = here.path().join("cut.bam");
    let out = here.path().join("x.bam");
    for keep in [bytes.len() - 1, bytes.len() - 28, bytes.len() - 100, bytes.len() / 2] {
        fs::write(&cut, &bytes[..keep]).unwrap();
        let (code, text) = outcome(&cut, "");
        assert_eq!(code, 3, "{keep}: {text}");
        assert!(text.contains("cut.bam") && text.contains("byte "), "{keep}: {text}");
        assert!(text.contains("--allow-truncated"), "{keep}: {text}");
        for order in ["keep", "coordinate"] {
            let mut command = prep(&[&cut]);
            command.args(["--allow-truncated", "--sort", order, "-o"]).arg(&out);
            let run = run_for(&mut command, SOON).ok();
            assert!(run.stderr.contains("cut.bam: cut short at byte"), "{}", run.stderr);
            let found = lines(&out);
            if order == "keep" {
                assert!(all.starts_with(&found), "{keep}");
            }
            assert!(found.len() >= all.len() * keep / bytes.len() / 2, "{keep}: {}", found.len());
        }
    }
    // Damage is no truncation.
    let mut damaged = bytes.clone();
    damaged[bytes.len() / 2] ^= 0x55;
    fs::write(&cut, &damaged).unwrap();
    for options in ["", "--allow-truncated"] {
        let (code, text) = outcome(&cut, options);
        assert_eq!(code, 3, "{text}");
        assert!(text.contains("cut.bam") && text.contains("record "), "{text}");
    }
    // SAM text that ends within a line.
    let text = here.path().join("hard501.sam");
    let bytes = fs::read(&text).unwrap();
    let cut = here.path().join("cut.sam");
    fs::write(&cut, &bytes[..bytes.len() - 40]).unwrap();
    let (code, text) = outcome(&cut, "");
    assert!(code == 3 || code == 0, "{text}");
}

const HEAD: &str =
    "@HD\tVN:1.6\tSO:coordinate\n@SQ\tSN:c\tLN:1000\n@SQ\tSN:d\tLN:1000\n@RG\tID:g\tSM:s\tLB:l\n";

/// A pair's read: name, FLAG, place, mate's place.
fn read(name: &str, flag: u16, pos: u32, mate: u32, tags: &str) -> String {
    format!("{name}\t{flag}\tc\t{pos}\t60\t4M\t=\t{mate}\t0\tACGT\tIIII{tags}\n")
}

#[test]
fn unsorted_input_that_claims_to_be_sorted() {
    let here = folder();
    let path = here.path().join("unsorted.sam");
    let far = "e\t0\td\t5\t60\t4M\t*\t0\t0\tACGT\tIIII\n";
    let unmapped = "u\t4\t*\t0\t0\t*\t*\t0\t0\tACGT\tIIII\n";
    let one = |pos| read("a", 0, pos, 0, "");
    let cases = [
        (vec![one(9), one(5)], "record 2"),
        (vec![one(5), one(5), one(9), one(8)], "record 4"),
        (vec![far.to_owned(), one(5)], "record 2"),
        (vec![unmapped.to_owned(), one(5)], "record 2"),
    ];
    for (records, word) in cases {
        fs::write(&path, format!("{HEAD}{}", records.concat())).unwrap();
        let (code, text) = outcome(&path, "--mark-duplicates");
        assert_eq!(code, 3, "{text}");
        assert!(text.contains("unsorted.sam") && text.contains(word), "{text}");
        assert!(text.contains("--sort coordinate"), "{text}");
        // As that advice says.
        for options in ["--sort coordinate", "--sort coordinate --mark-duplicates"] {
            let (code, text) = outcome(&path, options);
            assert_eq!(code, 0, "{text}");
        }
    }
    // Far into a large file, whatever worker sees it.
    let mut text = HEAD.to_owned();
    for n in 0..100_000 {
        text += &one(1 + n / 200);
    }
    text += &one(3);
    fs::write(&path, &text).unwrap();
    for t in ["1", "2", "8"] {
        let (code, text) = outcome(&path, &format!("-t {t}"));
        assert_eq!(code, 3, "{text}");
        assert!(text.contains("record 100001"), "{text}");
        for order in ["coordinate", "queryname"] {
            let (code, text) = outcome(&path, &format!("--sort {order} -t {t}"));
            assert_eq!(code, 0, "{text}");
        }
    }
}

/// SAM text of single reads with these names, under a header line; a name that comes again is that
/// of a secondary record.
fn named(head: &str, names: &[&str]) -> String {
    let mut seen = std::collections::HashSet::new();
    let one = |name: &str| {
        let flag = if seen.insert(name.to_owned()) { 0 } else { 256 };
        format!("{name}\t{flag}\tc\t5\t60\t4M\t*\t0\t0\tACGT\tIIII\n")
    };
    let records: String = names.iter().copied().map(one).collect();
    format!("@HD\tVN:1.6\t{head}\n@SQ\tSN:c\tLN:1000\n{records}")
}

/// What trusts that records of a template are together, with the headers that it trusts.
const TOGETHER: [(&str, &str); 5] = [
    ("SO:queryname", "--mark-duplicates"),
    ("SO:queryname", "--fix-mates --sort coordinate"),
    ("GO:query", "--remove-duplicates --sort coordinate"),
    ("SO:unsorted", "--mark-duplicates --duplicate-mode query"),
    ("SO:unsorted", "--fix-mates"),
];

#[test]
fn templates_that_are_not_together_although_they_should_be() {
    let here = folder();
    let path = here.path().join("apart.sam");
    for (head, options) in TOGETHER {
        let cases: [(&[&str], &str); 4] = [
            (&["a", "b", "a"], "record 3 has the name of record 1"),
            (&["a", "a", "b", "b", "a", "b"], "record 5 has the name of record 1"),
            (&["b", "a", "b", "a", "b"], "record 3 has the name of record 1"),
            (&["a10", "a9", "c", "a9", "a9", "a10"], "record 4 has the name of record 2"),
        ];
        for (names, words) in cases {
            fs::write(&path, named(head, names)).unwrap();
            let (code, text) = outcome(&path, options);
            assert_eq!(code, 3, "{head} {options} {names:?}: {text}");
            assert!(text.contains("apart.sam") && text.contains(words), "{text}");
            assert!(text.contains("--sort queryname"), "{text}");
        }
        // As that advice says.
        let sorted = here.path().join("sorted.sam");
        crate::prep::prep_into(&sorted, &[&path], "--sort queryname");
        let (code, text) = outcome(&sorted, options);
        assert_eq!(code, 0, "{head} {options}: {text}");
        // In any order of names, of samtools (both), of Picard, or in none.
        let orders: [&[&str]; 4] = [
            &["a9", "a9", "a10", "a10", "b"],
            &["a10", "a10", "a9", "b"],
            &["b", "a10", "c", "c", "a9"],
            &["a1", "a01", "a001"],
        ];
        for names in orders {
            fs::write(&path, named(head, names)).unwrap();
            let (code, text) = outcome(&path, options);
            assert_eq!(code, 0, "{head} {options} {names:?}: {text}");
        }
    }
    // Nobody trusts it.
    fs::write(&path, named("SO:queryname", &["a", "b", "a"])).unwrap();
    assert_eq!(outcome(&path, "--sort coordinate").0, 0);
    // Each input has names of its own.
    let (one, two) = (here.path().join("one.sam"), here.path().join("two.sam"));
    fs::write(&one, named("SO:queryname", &["a", "b", "b"])).unwrap();
    fs::write(&two, named("SO:queryname", &["b", "a", "b"])).unwrap();
    let out = here.path().join("x.sam");
    let both = |inputs: [&Path; 3]| {
        let mut command = prep(&inputs);
        run_for(command.arg("--mark-duplicates").arg("-o").arg(&out), SOON)
    };
    both([&one, &one, &one]).ok();
    fs::remove_file(&out).unwrap();
    let refused = both([&one, &two, &one]).fails_with(3);
    refused.says(&["two.sam: record 3 has the name of record 1,"]);
    assert!(!out.exists());
}

/// Far apart in a file of many blocks, whatever worker sees it, and where names are spilled.
#[test]
fn templates_far_apart_in_a_large_file() {
    let here = folder();
    let path = here.path().join("apart.sam");
    let names: Vec<String> = (0..200_000_u32).map(|n| format!("r{}", n / 2 * 7919)).collect();
    let mut names: Vec<&str> = names.iter().map(String::as_str).collect();
    let text = named("GO:query", &names);
    fs::write(&path, &text).unwrap();
    assert_eq!(outcome(&path, "--mark-duplicates -t 3").0, 0);
    let far = names[12_345];
    names.push(far);
    fs::write(&path, named("GO:query", &names)).unwrap();
    let text = outcome(&path, "--mark-duplicates -m 1M").1;
    let floor = text.split("at least ").nth(1).unwrap().split(' ').next().unwrap();
    for options in ["-t 1", "-t 2", "-t 8", &format!("-t 2 -m {floor}")] {
        let least = text.clone();
        let (code, text) = outcome(&path, &format!("--mark-duplicates {options}"));
        let words = "record 200001 has the name of record 12345,";
        assert!(code == 3 && text.contains(words), "{options}: {code} {text} {least}");
    }
}

#[test]
fn names_used_twice_while_a_mate_is_awaited() {
    let here = folder();
    let path = here.path().join("twice.sam");
    // Both wait for a mate on the other reference, where more reads are.
    let to_d = |name: &str, pos: u32| {
        format!("{name}\t65\tc\t{pos}\t60\t4M\td\t7\t0\tACGT\tIIII\tRG:Z:g\n")
    };
    let on_d = "b\t65\td\t5\t60\t4M\t=\t9\t0\tACGT\tIIII\tRG:Z:g\n";
    fs::write(&path, format!("{HEAD}{}{}{on_d}", to_d("a", 5), to_d("a", 6))).unwrap();
    for t in ["1", "4"] {
        let (code, text) = outcome(&path, &format!("--mark-duplicates -t {t}"));
        assert_eq!(code, 3, "{text}");
        assert!(text.contains("records 1 and 2") && text.contains("twice.sam"), "{text}");
    }
    // Without duplicates nobody looks.
    assert_eq!(outcome(&path, "--sort coordinate").0, 0);
}

/// One FASTQ given twice: of four reads of a name nobody can say which are mates. Picard joins a
/// read with itself, and marks none; samtools marks all; both say nothing.
#[test]
fn templates_that_are_there_twice_are_refused_in_both_modes() {
    let here = folder();
    let ends = [(99, 5, 50), (147, 50, 5)];
    let record = |name: usize, (flag, pos, mate): (u16, u32, u32)| {
        read(&format!("q{name}"), flag, pos + name as u32, mate + name as u32, "\tRG:Z:g")
    };
    // By coordinate, then by name.
    let mut sorted = HEAD.to_owned();
    for end in ends {
        (0..10).for_each(|name| sorted += &record(name, end).repeat(2));
    }
    let mut grouped = HEAD.replace("SO:coordinate", "SO:queryname");
    for name in 0..10 {
        ends.iter().for_each(|end| grouped += &record(name, *end).repeat(2));
    }
    for (file, text, expected) in [
        ("sorted.sam", sorted, "records 1 and 2 have the same name"),
        ("grouped.sam", grouped, "record 1 (q0): more than two mapped primary records"),
    ] {
        let path = here.path().join(file);
        fs::write(&path, text).unwrap();
        // The last template is a task of its own: whoever fails first, the first one is named.
        for t in [1].into_iter().chain([4; 20]) {
            let (code, text) = outcome(&path, &format!("--mark-duplicates -t {t}"));
            assert_eq!(code, 3, "{text}");
            let way_out = "was a file given twice, or do several runs use the same names?";
            assert!(text.contains(expected) && text.contains(way_out), "{text}");
        }
        // Without duplicates nobody looks.
        assert_eq!(outcome(&path, "--sort coordinate").0, 0);
    }
}

#[test]
fn read_groups_that_the_header_lacks_count_as_unknown_library() {
    if !has("samtools") {
        return;
    }
    let here = folder();
    let out = here.path().join("x.bam");
    let mut text = HEAD.to_owned();
    for (pos, flag, mate) in [(5, 99, 50), (50, 147, 5)] {
        for (name, tags) in [("a", "\tRG:Z:lost"), ("b", ""), ("c", "\tRG:Z:g")] {
            text += &read(name, flag, pos, mate, tags);
        }
    }
    let (sam, _) = write_both(here.path(), "groups", &text);
    let metrics = here.path().join("metrics");
    let mut command = prep(&[&sam]);
    command.args(["--mark-duplicates", "--metrics-dir"]).arg(&metrics).arg("-o").arg(&out);
    run_for(&mut command, SOON).fails_with(0);
    // Two pairs of the unknown library are duplicates of each other, that of library l of none.
    let marked: Vec<String> = lines(&out)
        .iter()
        .filter(|l| l.split('\t').nth(1).unwrap().parse::<u16>().unwrap() & 0x400 != 0)
        .map(|l| l.split('\t').next().unwrap().to_owned())
        .collect();
    assert_eq!(marked.len(), 2);
    assert_eq!(marked[0], marked[1]);
    assert!(["a", "b"].contains(&marked[0].as_str()), "{marked:?}");
    let text = crate::prep::metrics_body(&crate::prep::metrics_file(&metrics));
    assert!(text.contains("Unknown Library\t0\t2\t0\t0\t0\t1"), "{text}");
    assert!(text.contains("\nl\t0\t1\t0\t0\t0\t0"), "{text}");
}

#[test]
fn records_past_the_end_of_their_sequence_pass() {
    if !has("samtools") {
        return;
    }
    let here = folder();
    let out = here.path().join("x.bam");
    let over = "o\t0\tc\t990\t60\t30M\t*\t0\t0\t*\t*\n";
    let beyond = "p\t0\tc\t5000\t60\t4M\t*\t0\t0\tACGT\tIIII\n";
    let (sam, bam) = write_both(here.path(), "past", &format!("{HEAD}{over}{beyond}"));
    let mut results = Vec::new();
    for input in [&sam, &bam] {
        for options in ["", "--sort coordinate", "--sort queryname", "--mark-duplicates"] {
            let mut command = prep(&[input]);
            command.args(options.split_whitespace()).arg("-o").arg(&out);
            run_for(&mut command, SOON).fails_with(0);
            results.push(lines(&out));
        }
    }
    assert!(results.iter().all(|found| *found == results[0] && found.len() == 2), "{results:?}");
    let mut command = prep(&[&sam]);
    run_for(command.args(["--clean-sam", "-o"]).arg(&out), SOON).fails_with(0);
    assert!(lines(&out)[0].contains("\t990\t60\t11M19S\t"), "{:?}", lines(&out));
}

#[test]
fn what_is_no_alignment_file_is_named() {
    let here = folder();
    let cases: [(&str, &[u8], &str); 5] = [
        ("empty.bam", b"", "empty"),
        ("reads.fq", b"@r\nACGT\n+\nIIII\n", "FASTQ"),
        ("x.cram", b"CRAM\x03\x00aaaaaaaaaaaaaaaaaaaaaaaa", "container, byte 0: truncated"),
        ("noise.bam", b"\x00\x01\x02\x03\x04\x05", "noise.bam"),
        ("short.bam", b"BAM\x01\x10\x00\x00\x00", "short.bam"),
    ];
    for (name, bytes, word) in cases {
        let path = here.path().join(name);
        fs::write(&path, bytes).unwrap();
        let (code, text) = outcome(&path, "");
        assert_eq!(code, 3, "{name}: {text}");
        assert!(text.contains(name) && text.contains(word), "{name}: {text}");
    }
    let (code, text) = outcome(&here.path().join("absent.bam"), "");
    assert!([1, 3].contains(&code) && text.contains("absent.bam"), "{text}");
}

/// Two pairs and their header.
const PAIRS: &str = "@HD\tVN:1.6\tGO:query\n@SQ\tSN:c\tLN:1000\n@SQ\tSN:d\tLN:1000\n\
    @RG\tID:a\tSM:s\n\
    p\t99\tc\t1\t60\t4M\t=\t51\t54\tACGT\tIIII\tRX:Z:AC-GT\n\
    p\t147\tc\t51\t60\t4M\t=\t1\t-54\tACGT\tIIII\tRX:Z:AC-GT\n\
    q\t99\tc\t1\t60\t4M\t=\t51\t54\tACGT\tIIII\tRX:Z:AC-GT\n\
    q\t147\tc\t51\t60\t4M\t=\t1\t-54\tACGT\tIIII\tRX:Z:AC-GT\n";

#[test]
fn two_bam_files_joined_by_cat_are_named_as_such() {
    if !has("samtools") {
        return;
    }
    let here = folder();
    let (_, bam) = write_both(here.path(), "in", PAIRS);
    let joined = here.path().join("joined.bam");
    fs::write(&joined, fs::read(&bam).unwrap().repeat(2)).unwrap();
    for options in ["", "--allow-truncated", "--sort coordinate -t 1", "--sort coordinate -t 3"] {
        let (code, text) = outcome(&joined, options);
        assert_eq!(code, 3, "{text}");
        for word in ["joined.bam", "record 5", "two BAM files, joined by `cat`", "`samtools cat`"] {
            assert!(text.contains(word), "{word}: {text}");
        }
        assert!(!text.contains("truncated"), "{text}");
    }
    let mut more = fs::read(&bam).unwrap();
    more.extend_from_slice(&[0; 300]);
    let at = fs::metadata(&bam).unwrap().len();
    fs::write(&joined, more).unwrap();
    let (code, text) = outcome(&joined, "");
    assert_eq!(code, 3, "{text}");
    let advice = format!("zeros after the end of the compressed data; `head -c {at} FILE`");
    assert!(text.contains("joined.bam") && text.contains(&advice), "{text}");
}

#[test]
fn messages_about_records_have_file_record_name_and_a_way_out() {
    let here = folder();
    let file = here.path().join("in.sam");
    let regions = here.path().join("other.bed");
    fs::write(&regions, "chr1\t5\t9\n").unwrap();
    let t = |sam: &str, options: &str, says: &[&str]| {
        fs::write(&file, sam).unwrap();
        let (code, text) = outcome(&file, options);
        let is_of_record = says[0].contains("record");
        assert!(if is_of_record { code == 3 } else { code != 0 }, "{options}: {code}");
        assert!(says.iter().all(|word| text.contains(word)), "{options}: {text}");
        for word in ["template 0", "record 0", "template 1"] {
            assert!(!text.contains(word), "{text}");
        }
    };
    // The tag of the second pair's last record is the only one that is missing.
    let tagged = PAIRS.replace("RX:Z:AC-GT", "RX:Z:AC-GT\tMC:Z:4M");
    let at = tagged.rfind("\tMC:Z:4M").unwrap();
    let lacking = [&tagged[..at], &tagged[at + 8..]].concat();
    let duplex = "--mark-duplicates --duplicate-mode query --barcode-tag RX --duplex-umi";
    t(&lacking, duplex, &["in.sam: record 3 (q): ", "no MC", "--fix-mates adds it"]);
    let molecule = format!("{duplex} --molecular-identifier-tag MI");
    t(&lacking, &molecule, &["in.sam: record 3 (q): ", "no MC", "--fix-mates adds it"]);
    let regions = format!("--regions {}", regions.display());
    t(PAIRS, &regions, &["other.bed: ", "\"chr1\"", "has \"c\", \"d\"", "of another reference"]);
    let group = ["in.sam: ", "\"ZZ\" is not in the header, which has \"a\"", "(ID:ZZ SM:NAME)"];
    t(PAIRS, "--read-group ZZ", &group);
}

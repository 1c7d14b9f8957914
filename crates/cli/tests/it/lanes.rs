//! `align --input`: lanes of a sheet, each aligned as if alone, marked together.

use crate::common::{
    READ_GROUP, assert_same_bytes, folder, has, limit, memory_floor, names_in, run, run_into,
    seqloom, words,
};
use crate::data::{small, small_pairs};
use crate::memory::{peak_bytes, size_bytes};
use crate::prep::{assert_same_lines, header, lines};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Two lanes with half of the pairs each, in folders of their own: files by lane.
fn halves(here: &Path, rename: impl Fn(usize, &str) -> String) -> [[PathBuf; 2]; 2] {
    let reads = small_pairs();
    let texts = [&reads.first, &reads.second].map(|file| fs::read_to_string(file).unwrap());
    [0, 1].map(|lane| {
        let folder = here.join(format!("lane {lane}"));
        fs::create_dir_all(&folder).unwrap();
        [0, 1].map(|mate| {
            let records: Vec<&str> = texts[mate].lines().collect();
            let records: Vec<&[&str]> = records.chunks(4).collect();
            let half = records.len() / 2;
            let mine = if lane == 0 { &records[..half] } else { &records[half..] };
            let text: String = mine
                .iter()
                .enumerate()
                .map(|(n, it)| {
                    let name = rename(lane * half + n, &it[0][1..]);
                    format!("@{name}\n{}\n+\n{}\n", it[1], it[3])
                })
                .collect();
            let file = folder.join(format!("r{}.fq", mate + 1));
            fs::write(&file, text).unwrap();
            file
        })
    })
}

/// Lanes with so many of the pairs each, one after the other; those with an odd number are gzip.
/// Their sheet.
fn lanes_of(here: &Path, pairs: &[usize]) -> PathBuf {
    let reads = small_pairs();
    let texts = [&reads.first, &reads.second].map(|file| fs::read_to_string(file).unwrap());
    let mut rows = "sample,fastq_1,fastq_2,read_group,library\n".to_owned();
    let mut before = 0;
    for (lane, pairs) in pairs.iter().enumerate() {
        let files = [0, 1].map(|mate| {
            let lines = texts[mate].split_inclusive('\n').skip(4 * before).take(4 * pairs);
            let file = here.join(format!("{lane}_{mate}.fq"));
            fs::write(&file, lines.collect::<String>()).unwrap();
            if lane % 2 == 0 {
                return format!("{lane}_{mate}.fq");
            }
            run(words("gzip -f -1").arg(&file)).ok();
            format!("{lane}_{mate}.fq.gz")
        });
        rows += &format!("s,{},{},g{lane},l{}\n", files[0], files[1], lane % 3);
        before += pairs;
    }
    sheet(here, &rows)
}

fn as_it_is(_: usize, line: &str) -> String {
    line.to_owned()
}

fn align(sheet: &Path, out: &Path, more: &[&str]) -> Command {
    align_in_cohorts("1000000", sheet, out, more)
}

fn align_in_cohorts(bases: &str, sheet: &Path, out: &Path, more: &[&str]) -> Command {
    let mut command = seqloom(["align", "--no-pg", "-K", bases, "--input"]);
    command.arg(sheet).arg(&small().ours).args(more).arg("-o").arg(out);
    command
}

/// A sheet whose file names are relative to it.
fn sheet(here: &Path, text: &str) -> PathBuf {
    let path = here.join("lanes.csv");
    fs::write(&path, text).unwrap();
    path
}

const SHEET: &str = "sample,fastq_1,fastq_2,read_group,library,platform\n\
                     s,lane 0/r1.fq,lane 0/r2.fq,a,one,ILLUMINA\n\
                     s,lane 1/r1.fq,lane 1/r2.fq,b,one,ILLUMINA\n";

#[test]
fn lanes_are_aligned_alone_and_marked_together() {
    if !has("samtools") {
        return;
    }
    let here = folder();
    let path = |name: &str| here.path().join(name);
    let files = halves(here.path(), as_it_is);
    let out = path("out.bam");
    run(&mut align(&sheet(here.path(), SHEET), &out, &["-t", "2"])).ok();
    // Each lane alone, in the order of the input; then one after the other.
    let mut text = Vec::new();
    for (number, (pair, id)) in files.iter().zip(["a", "b"]).enumerate() {
        let line = format!(r"@RG\tID:{id}\tSM:s\tLB:one\tPL:ILLUMINA");
        let mut command = seqloom(["align", "--no-pg", "-K", "1000000", "-R", &line]);
        command.args(["--no-sort", "--no-mark-duplicates", "--output-format", "sam"]);
        let sam = path(&format!("{number}.sam"));
        run_into(command.arg(&small().ours).args(pair).args(["-o", "-"]), &sam).ok();
        text.push(fs::read_to_string(sam).unwrap());
    }
    let group = text[1].lines().find(|line| line.starts_with("@RG")).unwrap().to_owned();
    let heads = text[0].lines().take_while(|line| line.starts_with('@'));
    let (heads, first) = text[0].split_at(heads.map(|line| line.len() + 1).sum());
    let second = text[1].lines().filter(|line| !line.starts_with('@'));
    let second: String = second.map(|line| format!("{line}\n")).collect();
    fs::write(path("both.sam"), format!("{heads}{group}\n{first}{second}")).unwrap();
    let mut command = seqloom(["prep", "--no-pg", "--mark-duplicates", "--sort", "coordinate"]);
    command.args(["--duplicate-mode", "query"]).arg(path("both.sam"));
    run(command.arg("-o").arg(path("expected.bam"))).ok();
    assert_same_lines(lines(&out), lines(&path("expected.bam")), "records");
    assert_eq!(header(&out), header(&path("expected.bam")));
    let marked = lines(&out).iter().filter(|it| flags(it) & 0x400 != 0).count();
    assert!(marked > 1000, "duplicates over both lanes: {marked}");
}

fn flags(line: &str) -> u16 {
    line.split('\t').nth(1).unwrap().parse().unwrap()
}

#[test]
fn lanes_give_the_same_bytes_for_any_threads_and_memory() {
    let here = folder();
    halves(here.path(), as_it_is);
    let sheet = sheet(here.path(), &SHEET.replace('\n', "\r\n"));
    let make = |name: &str, more: &[&str]| {
        let out = here.path().join(name);
        run(&mut align(&sheet, &out, more)).ok();
        out
    };
    let one = make("1.bam", &["-t", "1"]);
    for (name, more) in [
        ("2.bam", &["-t", "2"][..]),
        ("3.bam", &["-t", "7", "-m", "620M"]),
        ("4.bam", &["-t", "7", "-m", "3G"]),
    ] {
        assert_same_bytes(&one, &make(name, more), &format!("{more:?}"));
    }
}

#[test]
fn lanes_of_unlike_lengths_give_the_same_bytes_side_by_side() {
    let here = folder();
    let sheet = lanes_of(here.path(), &[3000, 5, 0, 9000, 300, 1, 700, 6900]);
    let make = |name: &str, cohort_bases: &str, more: &[&str], says: &str| {
        let (out, json) = (here.path().join(name), here.path().join(format!("{name}.json")));
        let mut command = align_in_cohorts(cohort_bases, &sheet, &out, more);
        logs(command.arg("--json").arg(json), says);
        out
    };
    for cohort_bases in ["60000", "100000000"] {
        let one = make("1.bam", cohort_bases, &["-t", "1"], "8 lanes, 1 at a time");
        let unsaid = here.path().join("x.bam");
        let command = align_in_cohorts(cohort_bases, &sheet, &unsaid, &["-t", "7"]);
        let floor = memory_floor(&arguments_of(&command));
        for (name, more, says) in [
            ("2.bam", &["-t", "2"][..], "8 lanes, 2 at a time"),
            ("3.bam", &["-t", "7", "-m", &floor], "8 lanes, "),
            ("4.bam", &["-t", "7", "-m", "9G"], "8 lanes, "),
        ] {
            let other = make(name, cohort_bases, more, says);
            assert_same_bytes(&one, &other, &format!("{cohort_bases} {more:?}"));
        }
    }
    // Ties, samples of templates and the order of reads without a coordinate go by the order of
    // lanes.
    let json = |name: &str| {
        let text = fs::read(here.path().join(name)).unwrap();
        serde_json::from_slice::<serde_json::Value>(&text).unwrap()["counts"].clone()
    };
    assert_eq!(json("1.bam.json"), json("4.bam.json"));
}

/// Runs a command, which has this in its log.
#[track_caller]
fn logs(command: &mut Command, what: &str) {
    let said = run(command).ok().stderr;
    assert!(said.contains(what), "no {what} in {said}");
}

/// Arguments of a command, for another one.
fn arguments_of(command: &Command) -> Vec<String> {
    command.get_args().map(|it| it.to_str().unwrap().to_owned()).collect()
}

/// Reads that are nowhere, more than are sorted together: lanes are cut into blocks as one input.
#[test]
fn reads_without_a_coordinate_are_ordered_by_their_number_in_all_lanes() {
    let here = folder();
    let lanes = [17_000, 3, 16_000, 0, 9_000];
    let mut rows = "sample,fastq_1,read_group\n".to_owned();
    let mut all = String::new();
    for (lane, reads) in lanes.iter().enumerate() {
        // Bases that are nowhere in the genome, and differ from read to read.
        let record = |read: usize| {
            let bases: String = (0..100).map(|at| ["N", "A"][(read >> (at % 17)) & 1]).collect();
            format!("@r{lane}.{read}\n{bases}\n+\n{}\n", "#".repeat(100))
        };
        let text: String = (0..*reads).map(record).collect();
        fs::write(here.path().join(format!("{lane}.fq")), &text).unwrap();
        all += &text;
        rows += &format!("s,{lane}.fq,a{lane}\n");
    }
    let one_file = here.path().join("all.fq");
    fs::write(&one_file, all).unwrap();
    let sheet = sheet(here.path(), &rows);
    // Without read groups' names in the records, lanes of single reads are one file.
    let make = |name: &str, more: &[&str]| {
        let out = here.path().join(name);
        run(&mut align(&sheet, &out, more)).ok();
        out
    };
    let one = make("1.bam", &["-t", "1"]);
    assert_same_bytes(&one, &make("7.bam", &["-t", "7", "-m", "3G"]), "-t 7");
    if !has("samtools") {
        return;
    }
    let out = here.path().join("one.bam");
    let mut command = seqloom(["align", "--no-pg", "-R", READ_GROUP]);
    run(command.arg(&small().ours).arg(&one_file).arg("-o").arg(&out)).ok();
    let names = |bam: &Path| -> Vec<String> {
        lines(bam).iter().map(|it| it.split('\t').next().unwrap().to_owned()).collect()
    };
    assert_eq!(names(&one), names(&out));
    assert_eq!(names(&one).len(), lanes.iter().sum::<usize>());
}

#[test]
fn forty_lanes_stay_below_their_memory() {
    let here = folder();
    let sheet = lanes_of(here.path(), &[500; 40]);
    let one = here.path().join("1.bam");
    logs(&mut align(&sheet, &one, &["-t", "1"]), "40 lanes, 1 at a time");
    for (threads, sidecars) in [("2", "40 lanes, 2 at a time"), ("7", "40 lanes, 7 at a time")] {
        let out = here.path().join(format!("{threads}.bam"));
        let command = align(&sheet, &out, &["-t", threads]);
        let mut arguments = arguments_of(&command);
        let floor = size_bytes(&memory_floor(&arguments));
        for cap in [floor, 2 * floor] {
            let mut capped = arguments.clone();
            capped.extend(["-m".to_owned(), cap.to_string()]);
            let peak = peak_bytes(&capped, 4 * limit());
            eprintln!("40 lanes -t {threads} -m {cap}: peak {peak}");
            assert!(peak <= cap, "40 lanes -t {threads} -m {cap}: the peak was {peak}");
            assert_same_bytes(&one, &out, threads);
        }
        arguments.extend(["-m", "9G"].map(str::to_owned));
        logs(&mut seqloom(&arguments), sidecars);
        assert_same_bytes(&one, &out, threads);
    }
}

#[test]
fn of_lanes_that_fail_the_first_row_counts() {
    let here = folder();
    let sheet = lanes_of(here.path(), &[6000, 6000, 50, 100]);
    let out = here.path().join("out/x.bam");
    fs::create_dir_all(out.parent().unwrap()).unwrap();
    let fails = |says: &str| {
        let mut reported = Vec::new();
        for threads in ["1", "2", "7"] {
            let failed = run(&mut align(&sheet, &out, &["-t", threads, "-m", "9G"]));
            let failed = failed.fails_with(3).says(&[says]);
            let last = failed.stderr.lines().last().unwrap_or_default().to_owned();
            reported.push(last);
            assert_eq!(names_in(out.parent().unwrap()), Vec::<String>::new());
        }
        assert!(reported.windows(2).all(|two| two[0] == two[1]), "{reported:?}");
    };
    let damage = |name: &str, old: &str, new: &str| {
        let path = here.path().join(name);
        let text = fs::read_to_string(&path).unwrap();
        let at = text.rfind(old).unwrap();
        fs::write(&path, format!("{}{new}{}", &text[..at], &text[at + old.len()..])).unwrap();
    };
    // The third is through with it before the first has begun.
    damage("2_0.fq", "\n+\n", "\n-\n");
    fails("2_0.fq");
    // The second is gzip, cut off at its end.
    let cut = here.path().join("1_1.fq.gz");
    let bytes = fs::read(&cut).unwrap();
    fs::write(&cut, &bytes[..bytes.len() - 9]).unwrap();
    fails("1_1.fq.gz");
    damage("0_1.fq", "\n+\n", "\n-\n");
    fails("0_1.fq");
}

#[test]
fn each_lane_says_where_its_umis_are() {
    if !has("samtools") {
        return;
    }
    let here = folder();
    let umi = |number: usize| ["ACGT", "ACGA", "TTGC"][number % 3];
    halves(here.path(), |number, _| {
        format!("INS:7:HFLOW:3:1101:{number}:5:{0} x:{0}", umi(number))
    });
    let row = |lane: usize, umi: &str| {
        format!("s,lane {lane}/r1.fq,lane {lane}/r2.fq,{},one,{umi}\n", ["a", "b"][lane])
    };
    let make = |name: &str, umis: [&str; 2], more: &str| {
        let head = "sample,fastq_1,fastq_2,read_group,library,umi\n";
        let text = format!("{head}{}{}", row(0, umis[0]), row(1, umis[1]));
        let out = here.path().join(name);
        let more: Vec<&str> = more.split_whitespace().collect();
        run(&mut align(&sheet(here.path(), &text), &out, &more)).ok();
        out
    };
    let families = "--barcode-tag RX --umi-distance 1 -m 8G";
    let one = make("one.bam", ["name", "comment"], &format!("{families} -t 1"));
    for line in lines(&one) {
        let number = line.split(':').nth(5).unwrap().parse().unwrap();
        assert!(line.contains(&format!("\tRX:Z:{}", umi(number))), "{line}");
    }
    let seven = make("seven.bam", ["name", "comment"], &format!("{families} -t 7"));
    assert_same_bytes(&one, &seven, "-t 7");
    let both = make("both.bam", ["", ""], &format!("--umi name {families} -t 2"));
    assert_same_bytes(&one, &both, "--umi name");
    let first = make("first.bam", ["name", ""], "");
    for line in lines(&first) {
        assert_eq!(line.contains("\tRX:Z:"), line.contains("\tRG:Z:a"), "{line}");
    }
    let text = format!("sample,fastq_1,fastq_2,read_group,library,umi\n{}", row(0, "names"));
    let wrong = sheet(here.path(), &text);
    let refused = run(&mut align(&wrong, &here.path().join("never.bam"), &[]));
    refused.fails_with(3).says(&["line 2", "umi", "name, comment"]);
}

#[test]
fn read_groups_come_from_names_and_are_reported() {
    if !has("samtools") {
        return;
    }
    let here = folder();
    // Both lanes of one lane of the flow cell: the second gets a number.
    halves(here.path(), |number, _| format!("INS:7:HFLOW:3:1101:{number}:5 1:N:0:ACGT"));
    let text = "\u{feff}\"sample\",\"fastq_1\",\"umi\",\"patient\"\r\n\
                s,\"lane 0/r1.fq\",,p\r\ns,\"lane 1/r1.fq\",,p\r\n";
    let (out, json) = (here.path().join("x.bam"), here.path().join("x.json"));
    let sheet = sheet(here.path(), text);
    let reported = run(align(&sheet, &out, &[]).arg("--json").arg(&json)).ok().stderr;
    assert!(
        reported.contains("ignored: patient") && reported.contains("ID:HFLOW.3.2"),
        "{reported}"
    );
    let groups: Vec<String> =
        header(&out).lines().filter(|line| line.starts_with("@RG")).map(str::to_owned).collect();
    let line = |id: &str| format!("@RG\tID:{id}\tSM:s\tPL:ILLUMINA\tPU:HFLOW.3.ACGT");
    assert_eq!(groups, [line("HFLOW.3"), line("HFLOW.3.2")]);
    let json: serde_json::Value = serde_json::from_slice(&fs::read(json).unwrap()).unwrap();
    assert_eq!(json["lanes"][1]["read_group"], line("HFLOW.3.2"));
    assert_eq!(json["counts"]["reads"], 20_000);
    let of_second = lines(&out).iter().filter(|it| it.contains("\tRG:Z:HFLOW.3.2")).count();
    assert!(of_second >= 10_000, "{of_second}");
}

#[test]
fn bad_sheets_are_refused_with_their_line() {
    let here = folder();
    halves(here.path(), as_it_is);
    let refused = |text: &str, more: &[&str], code: i32, says: &[&str]| {
        let out = here.path().join("out/x.bam");
        fs::create_dir_all(out.parent().unwrap()).unwrap();
        let sheet = sheet(here.path(), text);
        run(&mut align(&sheet, &out, more)).fails_with(code).says(says);
        assert_eq!(names_in(out.parent().unwrap()), Vec::<String>::new());
    };
    let rows = |rows: &str| format!("sample,fastq_1,fastq_2,read_group\n{rows}");
    let good = "s,lane 0/r1.fq,lane 0/r2.fq,a\n";
    refused("fastq_1\nx.fq\n", &[], 3, &["no column sample", "lanes.csv"]);
    refused(&rows("s,nowhere.fq,,a\n"), &[], 3, &["line 2", "nowhere.fq"]);
    refused(
        &rows("s,lane 0/r1.fq,lane 0/../lane 0/r1.fq,a\n"),
        &[],
        3,
        &["same file", "this line"],
    );
    let twice = format!("{good}s,lane 1/r1.fq,lane 0/r2.fq,b\n");
    refused(&rows(&twice), &[], 3, &["line 3", "same file", "line 2"]);
    let group = format!("{good}s,lane 1/r1.fq,lane 1/r2.fq,a\n");
    refused(&rows(&group), &[], 3, &["line 3", "read group a", "line 2"]);
    let nameless = rows("s,lane 0/r1.fq,lane 0/r2.fq,\n");
    refused(&nameless, &[], 3, &["line 2", "read_group or a lane"]);
    let two = rows(&format!("{good}t,lane 1/r1.fq,lane 1/r2.fq,b\n"));
    refused(&two, &[], 2, &["2 samples", "s, t", "--sample"]);
    refused(&two, &["--sample", "u"], 2, &["no row of sample u", "s, t"]);
    refused(&rows(""), &[], 2, &["no row"]);
    refused(&rows("s,lane 0,,a\n"), &[], 3, &["is not a regular file"]);
    let swapped = rows("s,lane 0/r1.fq,lane 1/r2.fq,a\n");
    refused(&swapped, &[], 3, &["lane 1/r2.fq"]);
    refused(&rows(good), &["-R", READ_GROUP], 2, &["--input"]);
    refused(&rows(good), &["--no-sort", "--no-mark-duplicates"], 2, &["--no-sort"]);
    // The one sample that is requested is aligned.
    let out = here.path().join("t.bam");
    let sheet = sheet(here.path(), &two);
    run(&mut align(&sheet, &out, &["--sample", "t"])).ok();
}

#[test]
fn names_of_reads_make_the_read_group_of_a_pair() {
    if !has("samtools") {
        return;
    }
    let here = folder();
    let [[first, second], _] =
        halves(here.path(), |number, _| format!("INS:7:HFLOW:3:1101:{number}:5 :N:0:ACGT+TT"));
    let (out, json) = (here.path().join("x.bam"), here.path().join("x.json"));
    let align = |more: &[&str]| {
        let mut command = seqloom(["align", "--no-pg", "--rg-from-names"]);
        command.args(more).arg(&small().ours).args([&first, &second]).arg("-o").arg(&out);
        command
    };
    let mut command = align(&["--sample", "s 1", "--library", "l"]);
    let reported = run(command.arg("--json").arg(&json)).ok().stderr;
    assert!(reported.contains("@RG ID:HFLOW.3 SM:s 1 LB:l"), "{reported}");
    let line = "@RG\tID:HFLOW.3\tSM:s 1\tLB:l\tPL:ILLUMINA\tPU:HFLOW.3.ACGT+TT";
    assert!(header(&out).lines().any(|it| it == line), "{}", header(&out));
    assert!(lines(&out).iter().all(|it| it.contains("\tRG:Z:HFLOW.3")));
    let json: serde_json::Value = serde_json::from_slice(&fs::read(json).unwrap()).unwrap();
    assert_eq!(json["lanes"][0]["read_group"], line);
    // As if the line had been given.
    let given = here.path().join("given.bam");
    let mut command = seqloom(["align", "--no-pg", "-R", line]);
    command.arg(&small().ours).args([&first, &second]).arg("-o").arg(&given);
    run(&mut command).ok();
    assert_same_bytes(&out, &given, "-R");
    fs::remove_file(&out).unwrap();
    // Requested too little or too much, or of names that say nothing.
    run(&mut align(&[])).fails_with(2).says(&["--sample"]);
    run(&mut align(&["--sample", "s", "-R", line])).fails_with(2).says(&["--rg-from-names"]);
    run(&mut align(&["--sample", "a\tb"])).fails_with(2).says(&["control character"]);
    let mut command = seqloom(["align", "--sample", "s"]);
    command.arg(&small().ours).arg(&first).arg("-o").arg(&out);
    run(&mut command).fails_with(2).says(&["--sample", "--rg-from-names"]);
    let [[nameless, _], _] = halves(here.path(), as_it_is);
    let mut command = seqloom(["align", "--rg-from-names", "--sample", "s"]);
    command.arg(&small().ours).arg(&nameless).arg("-o").arg(&out);
    run(&mut command).fails_with(3).says(&["r1.fq", "not Illumina's", "-R"]);
    assert!(!out.exists());
}

#[test]
fn sheets_with_other_separators_capitals_and_comments_are_read() {
    let here = folder();
    halves(here.path(), as_it_is);
    let (plain, out) = (here.path().join("plain.bam"), here.path().join("x.bam"));
    run(&mut align(&sheet(here.path(), SHEET), &plain, &[])).ok();
    let commented =
        format!("# of May\n{}#s,none.fq,,c,one,ILLUMINA\n", SHEET.replacen("sample", "Sample", 1));
    for text in [SHEET.replace(',', ";"), SHEET.replace(',', "\t"), commented] {
        let said = run(&mut align(&sheet(here.path(), &text), &out, &[])).ok();
        if text.starts_with('#') {
            assert!(said.stderr.contains("start with # are ignored: 1"), "{}", said.stderr);
        }
        assert_same_bytes(&plain, &out, &text);
    }
    let unclear = "sample|fastq_1\ns|lane 0/r1.fq\n";
    let says = ["lanes.csv, line 1: no column sample", "\"sample|fastq_1\"", "semicolons or tabs"];
    let other = here.path().join("other.bam");
    run(&mut align(&sheet(here.path(), unclear), &other, &[])).fails_with(3).says(&says);
}

#[test]
fn a_sheet_without_platform_is_sent_to_its_column() {
    let here = folder();
    halves(here.path(), as_it_is);
    let sites = here.path().join("k.vcf");
    fs::write(&sites, "##fileformat=VCFv4.2\n#CHROM\tPOS\tID\tREF\tALT\tQUAL\tFILTER\tINFO\n")
        .unwrap();
    let text = "sample,fastq_1,read_group\ns,lane 0/r1.fq,a\n";
    let sites = ["--known-sites", sites.to_str().unwrap()];
    let out = here.path().join("x.bam");
    let refused = run(&mut align(&sheet(here.path(), text), &out, &sites)).fails_with(2);
    let refused =
        refused.says(&["no @RG line has one (PL)", "lanes.csv a column platform", "ILLUMINA"]);
    assert!(!refused.text().contains("--read-group"), "{}", refused.text());
    assert!(!out.exists());
}

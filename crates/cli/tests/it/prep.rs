//! What the tests of `seqloom prep` share: the command, referees, and records to compare.

use crate::common::{QUIETLY, Run, has, names_in, run, run_for, seqloom, words};
use seqloom_testkit::planted::{changed_texts, is_seen};
use seqloom_testkit::referees::{self, PICARD, Picard};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;
use std::time::Duration;

/// `seqloom prep` of these inputs, without anything that depends on the call in the header.
pub(crate) fn prep(inputs: &[&Path]) -> Command {
    let mut command = seqloom(["prep", "--no-pg"]);
    command.args(inputs);
    command
}

/// Runs `prep` of one input into `out` with the options of a line.
#[track_caller]
pub(crate) fn prep_into(out: &Path, inputs: &[&Path], options: &str) -> Run {
    run(prep(inputs).args(options.split_whitespace()).arg("-o").arg(out)).ok()
}

/// The header of a SAM or BAM file, as it is there. Needs samtools.
pub(crate) fn header(path: &Path) -> String {
    run(words("samtools view --no-PG -H").arg(path)).ok().text()
}

/// Lines of SAM without the header. Needs samtools.
pub(crate) fn lines(path: &Path) -> Vec<String> {
    let text = run(words("samtools view").arg(path)).ok().text();
    text.lines().map(str::to_owned).collect()
}

/// A line of SAM with its tags in the order of their names; without PG, which says who wrote it.
pub(crate) fn with_sorted_tags(line: &str) -> String {
    with_tags(line, |tag| !tag.starts_with("PG:"))
}

/// A line of SAM with those of its tags that are kept, in the order of their names.
pub(crate) fn with_tags(line: &str, is_kept: impl Fn(&str) -> bool) -> String {
    let mut columns: Vec<&str> = line.split('\t').collect();
    let mut tags = columns.split_off(11.min(columns.len()));
    tags.retain(|tag| is_kept(tag));
    tags.sort_unstable();
    columns.extend(tags);
    columns.join("\t")
}

/// Requires two files to hold the same records one after the other, tags being sets; how many.
#[track_caller]
pub(crate) fn assert_same_records(ours: &Path, theirs: &Path, what: &str) -> usize {
    let sets =
        |path| -> Vec<String> { lines(path).iter().map(|it| with_sorted_tags(it)).collect() };
    let ours = sets(ours);
    let records = ours.len();
    assert_same_lines(ours, sets(theirs), what);
    records
}

/// Requires that a comparison of a file of ours fails, whichever field of a record is changed in
/// it. Needs samtools.
#[track_caller]
pub(crate) fn sees_changed_records(ours: &Path, comparison: impl Fn()) {
    let sam = run(words("samtools view --no-PG -h").arg(ours)).ok().text();
    let kept = fs::read(ours).unwrap();
    let changed = changed_texts(&sam);
    assert!(changed.len() > 8, "{}", ours.display());
    for (field, text) in changed {
        let (_, bam) = write_both(ours.parent().unwrap(), "changed", &text);
        fs::rename(bam, ours).unwrap();
        is_seen(field, &comparison);
    }
    fs::write(ours, kept).unwrap();
    comparison();
}

/// Notes records that were compared with the current samtools.
pub(crate) fn compared_with_samtools(records: usize) {
    referees::compared(&referees::name_of(&referees::path_of("samtools")), records);
}

/// Notes records that were compared with the current Picard.
pub(crate) fn compared_with_picard(records: usize) {
    if let Some(picard) = Picard::find(PICARD[0]) {
        referees::compared(&picard.name(), records);
    }
}

/// Requires two streams of lines to be equal; says how many are not, and shows the first.
#[track_caller]
pub(crate) fn assert_same_lines(ours: Vec<String>, theirs: Vec<String>, what: &str) {
    assert_eq!(ours.len(), theirs.len(), "{what}: number of records");
    let differ: Vec<_> = ours.iter().zip(&theirs).filter(|(a, b)| a != b).collect();
    if let Some((a, b)) = differ.first() {
        panic!("{what}: {} of {} records differ\nours   {a}\ntheirs {b}", differ.len(), ours.len());
    }
}

/// A metrics file of Picard's without its first comments: command line and date.
pub(crate) fn metrics_body(path: &Path) -> String {
    let text = fs::read_to_string(path).unwrap();
    let (comments, body) = text.split_once("\n\n").expect("a metrics file");
    assert!(comments.starts_with("## htsjdk") && comments.lines().all(|it| it.starts_with('#')));
    body.to_owned()
}

/// The duplicate metrics in a metrics folder.
pub(crate) fn metrics_file(folder: &Path) -> PathBuf {
    let names = names_in(folder);
    let name = names.iter().find(|name| name.ends_with("markdup.txt"));
    folder.join(name.unwrap_or_else(|| panic!("no metrics in {names:?}")))
}

/// Runs Picard commands in one Java process, whose start takes longer than a run on small data;
/// gives each one's exit code. The batch program is a class of its own around Picard's.
const BATCH: &str = r#"
import java.nio.file.*;

public class Batch {
    public static void main(String[] files) throws Exception {
        StringBuilder codes = new StringBuilder();
        for (String line : Files.readAllLines(Paths.get(files[0]))) {
            String[] words = line.trim().split(" +");
            int code = 1;
            try {
                Class<?> tool = Class.forName("picard.sam." + (words[0].equals("MarkDuplicates")
                    ? "markduplicates." : "") + words[0]);
                Object program = tool.getDeclaredConstructor().newInstance();
                code = ((picard.cmdline.CommandLineProgram) program)
                    .instanceMain(java.util.Arrays.copyOfRange(words, 1, words.length));
            } catch (Throwable problem) {
                System.err.println(line + ": " + problem);
            }
            codes.append(code).append('\n');
        }
        Files.write(Paths.get(files[1]), codes.toString().getBytes());
    }
}
"#;

/// Whether `java FILE.java` works, which a mere runtime cannot do.
fn has_java_compiler() -> bool {
    static FOUND: OnceLock<bool> = OnceLock::new();
    *FOUND.get_or_init(|| {
        let modules = run(&mut words("java --list-modules")).text();
        modules.contains("jdk.compiler")
    })
}

/// Exit codes of programs of a Picard, in one process where that is possible.
pub(crate) fn picard_codes(picard: &Picard, commands: &[String]) -> Vec<i32> {
    if !has_java_compiler() {
        let code = |line: &String| {
            let mut command = picard.command();
            run(command.args(line.split_whitespace()).args(QUIETLY.split_whitespace())).code()
        };
        return commands.iter().map(code).collect();
    }
    let here = crate::common::folder();
    let path = |name: &str| here.path().join(name);
    fs::write(path("Batch.java"), BATCH).unwrap();
    let text: String = commands.iter().map(|line| format!("{line} {QUIETLY}\n")).collect();
    fs::write(path("commands"), text).unwrap();
    let mut java = picard.java(&["-Xmx2g", "-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC"]);
    java.args([path("Batch.java"), path("commands")]);
    let done = run_for(java.arg(path("codes")), Duration::from_secs(900));
    let codes = fs::read_to_string(path("codes")).unwrap_or_default();
    let codes: Vec<i32> = codes.lines().map(|line| line.parse().unwrap()).collect();
    assert_eq!(codes.len(), commands.len(), "{}", done.stderr);
    if codes.iter().any(|&code| code != 0) {
        eprintln!("{}", done.stderr);
    }
    codes
}

/// Runs programs of the current Picard that must succeed.
#[track_caller]
pub(crate) fn picard_all(commands: &[String]) {
    if let Some(picard) = Picard::find(PICARD[0]) {
        all_of_picard(&picard, commands);
    }
}

/// Runs programs of a Picard that must succeed.
#[track_caller]
pub(crate) fn all_of_picard(picard: &Picard, commands: &[String]) {
    for (code, line) in picard_codes(picard, commands).into_iter().zip(commands) {
        assert_eq!(code, 0, "{line}");
    }
}

/// Whether Picard and samtools are there.
pub(crate) fn has_referees() -> bool {
    has("picard") && has("samtools")
}

/// SAM text as a file and as BAM.
pub(crate) fn write_both(folder: &Path, name: &str, sam: &str) -> (PathBuf, PathBuf) {
    let (text, bam) = (folder.join(format!("{name}.sam")), folder.join(format!("{name}.bam")));
    fs::write(&text, sam).unwrap();
    run(words("samtools view --no-PG -b -o").arg(&bam).arg(&text)).ok();
    (text, bam)
}

/// `samtools sort` with options; the output is next to the input.
pub(crate) fn samtools_sort(bam: &Path, suffix: &str, options: &str) -> PathBuf {
    let out = bam.with_extension(suffix);
    let mut sort = words(&format!("samtools sort --no-PG {options}"));
    run(sort.arg("-o").arg(&out).arg(bam)).ok();
    out
}

/// Hard data in query-grouped order, its header saying so, and in coordinate order: made once.
#[derive(Debug)]
pub(crate) struct Hard {
    pub(crate) grouped: PathBuf,
    pub(crate) sorted: PathBuf,
    pub(crate) records: usize,
}

/// Hard data of a seed; needs samtools.
pub(crate) fn hard(folder: &Path, seed: u64, templates: usize, groups: usize) -> Hard {
    let data = seqloom_testkit::hard_data::HardData::new(seed, templates, groups);
    let name = format!("hard{seed}");
    let sam = data.sam().replacen("@HD\tVN:1.6", "@HD\tVN:1.6\tSO:unsorted\tGO:query", 1);
    let (_, grouped) = write_both(folder, &name, &sam);
    let sorted = samtools_sort(&grouped, "sorted.bam", "");
    Hard { grouped, sorted, records: data.records() }
}

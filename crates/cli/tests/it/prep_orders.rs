//! `prep --sort`: the streams of `samtools sort`, `samtools sort -n` and Picard SortSam, down to
//! ties.

use crate::common::{folder, has, run, words};
use crate::prep::{
    Hard, assert_same_lines, assert_same_records, compared_with_picard, compared_with_samtools,
    hard, has_referees, header, lines, picard_all, prep_into, samtools_sort, sees_changed_records,
};
use std::path::Path;

/// Compares the orders of samtools from both inputs; `extra` are options of ours.
#[track_caller]
fn equals_samtools(here: &Path, data: &Hard, extra: &str) {
    let out = here.join("ours.bam");
    for input in [&data.grouped, &data.sorted] {
        for (order, option) in [("coordinate", ""), ("queryname", "-n")] {
            prep_into(&out, &[input], &format!("--sort {order} {extra}"));
            let theirs = samtools_sort(input, "theirs.bam", option);
            let what = format!("{} by {order} {extra}", input.display());
            let compare = || {
                let ours = lines(&out);
                let records = ours.len();
                assert_same_lines(ours, lines(&theirs), &what);
                let top = |path| header(path).lines().next().map(str::to_owned);
                assert_eq!(top(&out), top(&theirs), "{what}");
                records
            };
            compared_with_samtools(compare());
            if data.records < 1000 {
                sees_changed_records(&out, || {
                    compare();
                });
            }
        }
    }
}

#[track_caller]
fn equals_picard(here: &Path, data: &Hard, extra: &str) {
    let out = here.join("ours.bam");
    let order = |name: &str| here.join(format!("{name}.bam"));
    let line = |name: &str| {
        format!(
            "SortSam I={} O={} SORT_ORDER={name} VALIDATION_STRINGENCY=SILENT \
             MAX_RECORDS_IN_RAM=100000 TMP_DIR={}",
            data.grouped.display(),
            order(name).display(),
            here.display()
        )
    };
    picard_all(&["coordinate", "queryname"].map(line));
    for name in ["coordinate", "queryname"] {
        prep_into(&out, &[&data.grouped], &format!("--sort {name}-picard {extra}"));
        compared_with_picard(assert_same_records(&out, &order(name), name));
        if data.records < 1000 {
            sees_changed_records(&out, || {
                assert_same_records(&out, &order(name), name);
            });
        }
    }
}

#[test]
fn orders_are_those_of_samtools() {
    if !has("samtools") {
        return;
    }
    let here = folder();
    equals_samtools(here.path(), &hard(here.path(), 201, 20_000, 4), "");
}

#[test]
fn orders_are_those_of_picard() {
    if !has_referees() {
        return;
    }
    let here = folder();
    equals_picard(here.path(), &hard(here.path(), 202, 20_000, 4), "");
}

/// A comparison that never fails may be blind.
#[test]
fn a_changed_record_is_seen_in_every_order() {
    if !has_referees() {
        return;
    }
    let here = folder();
    let few = hard(here.path(), 205, 300, 4);
    assert!(few.records < 1000);
    equals_samtools(here.path(), &few, "");
    equals_picard(here.path(), &few, "");
}

#[test]
fn keep_changes_nothing() {
    if !has("samtools") {
        return;
    }
    let here = folder();
    let data = hard(here.path(), 203, 3000, 4);
    for (input, indexed) in [(&data.grouped, false), (&data.sorted, true)] {
        let out = here.path().join("keep.bam");
        prep_into(&out, &[input], "");
        assert_same_lines(lines(&out), lines(input), "keep");
        assert_eq!(header(&out), header(input));
        // What is sorted still is, and so has an index.
        let index = here.path().join("keep.bam.bai");
        assert_eq!(index.exists(), indexed);
        let text = here.path().join("keep.sam");
        prep_into(&text, &[input], "");
        let theirs = run(words("samtools view --no-PG -h").arg(input)).ok().text();
        assert!(std::fs::read_to_string(&text).unwrap() == theirs, "SAM of {}", input.display());
    }
}

#[test]
fn an_index_of_sorted_output_answers_as_that_of_samtools() {
    if !has("samtools") {
        return;
    }
    let here = folder();
    let data = hard(here.path(), 204, 4000, 2);
    for order in ["coordinate", "coordinate-picard"] {
        let out = here.path().join("x.bam");
        prep_into(&out, &[&data.grouped], &format!("--sort {order}"));
        let theirs = here.path().join("theirs.bai");
        run(words("samtools index").arg(&out).arg(&theirs)).ok();
        for region in ["chr0:1-1000", "chr0:30000-31000", "chr1", "chr2:800-900", "*"] {
            let answer = |index: &Path| {
                run(words("samtools view -X").arg(&out).arg(index).arg(region)).ok().stdout
            };
            assert!(answer(&here.path().join("x.bam.bai")) == answer(&theirs), "{order} {region}");
        }
    }
}

#[test]
fn slow_a_million_records_spilled_and_not() {
    if !seqloom_testkit::skip::slow_tests() || !has_referees() {
        return;
    }
    let here = folder();
    let data = hard(here.path(), 205, 560_000, 4);
    assert!(data.records >= 1_000_000, "{}", data.records);
    for extra in ["-t 2 -m 200M", "-t 2 -m 8G"] {
        equals_samtools(here.path(), &data, extra);
        equals_picard(here.path(), &data, extra);
    }
}

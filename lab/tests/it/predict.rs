//! `seqloom-lab predict`: bands with what they rest on, and refusals that say what is expected.

use std::fs;

use crate::common::{Run, folder, lab, run};

fn predict(line: &str) -> Run {
    run(lab(["predict"]).args(line.split_whitespace()))
}

/// Ways, threads, and low, middle, high of each line that is no comment.
fn bands(text: &str) -> Vec<(String, u32, [f64; 3])> {
    let rows = text.lines().filter(|line| !line.starts_with('#')).skip(1);
    let row = |line: &str| {
        let fields: Vec<&str> = line.split_whitespace().collect();
        let rate = |at: usize| fields[at].parse().unwrap();
        (fields[0].to_owned(), fields[1].parse().unwrap(), [rate(2), rate(3), rate(4)])
    };
    rows.map(row).collect()
}

#[test]
fn bands_have_a_width_and_name_their_assumptions() {
    let line = "--threads 16..100 --engine-us 5 --machine nodes=4,cores=64,smt=2";
    let text = predict(line).ok().text();
    for said in ["4 nodes, 64 cores", "400, 200, 100 ns", "shipped parsing.tsv", "5 us a read"] {
        assert!(text.contains(said), "{said}: {text}");
    }
    let all = bands(&text);
    let threads: Vec<u32> = all.iter().take(4).map(|row| row.1).collect();
    assert_eq!((all.len(), threads), (5 * 4, vec![16, 32, 64, 100]));
    assert!(all.iter().all(|(_, _, rates)| rates.is_sorted() && rates[0] > 0.0), "{text}");
    let of = |way: &str| all.iter().find(|row| row.0 == way && row.1 == 100).unwrap().2;
    assert!(of("O")[2] > 1.2 * of("O")[0], "a lock's band has a width: {text}");
    assert!(of("source")[0] > of("O")[2], "{text}");
    assert_eq!(predict(line).ok().text(), text, "the same seed");
}

#[test]
fn a_table_of_ones_own_is_used_and_a_bad_one_named() {
    let here = folder();
    let table = here.path().join("parsing.tsv");
    let head = "files\tunit\tway\tlock\tthreads\twall_s\tcpu_s\tcores_busy\treads\t\
                held_ns_per_read\tshared_writes_per_read\tholds\tpreempted_holds\tload_average\n";
    let row = "single\t262144\tO\tstandard\t1\t1\t0.02\t1\t1000\t10000\t2\t1000\t0\t0\n";
    fs::write(&table, format!("{head}{row}")).unwrap();
    let line = format!("--threads 64 --parsing {}", table.display());
    let all = bands(&predict(&line).ok().text());
    // 10 us under the lock: a hundred thousand reads per second, and no more.
    assert_eq!(all.len(), 1);
    assert!(all[0].2[2] > 85.0 && all[0].2[2] <= 101.0, "{all:?}");
    fs::write(&table, format!("{head}{row}x\n")).unwrap();
    predict(&line).fails_with(3).says(&["parsing.tsv", "line 3"]);
    fs::write(&table, format!("{head}{row}{}", row.replace("10000", "NaN"))).unwrap();
    predict(&line).fails_with(3).says(&["parsing.tsv", "line 3"]);
}

#[test]
fn what_cannot_be_predicted_is_refused() {
    let t = |line: &str, said: &str| {
        predict(line).fails_with(2).says(&[said]);
    };
    t("--threads 8..4", "--threads 8..4");
    t("--machine cores=0", "cores=0");
    t("--lock none", "queueing, tinythread, spin, standard");
    t("--placement here", "one-node, interleave, replicate");
    t("--unit 5", "single 262144");
    t("--engine-us=-1", "--engine-us");
    t("--output-reads 0", "--output-reads");
    t("--output-reads 4000000000", "more than 65536");
    t("--out somewhere", "--validate");
    t("--validate / --lock spin", "--lock");
    predict("--validate /").fails_with(1).says(&["holds no curves"]);
}

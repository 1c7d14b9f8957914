//! Bands of a prediction.

use super::*;

const MACHINE: Machine = Machine { name: "made up", nodes: 4, cores: 64, smt: 2 };

fn question() -> Question {
    Question {
        threads: vec![16, 128],
        engine_us: 20.0,
        engine_bytes: 0.0,
        machine: MACHINE,
        placement: Placement::Replicated,
        lock: HandOver::constant(0.0),
        output_ns: 0.0,
        output_reads: 256,
        seed: 1,
    }
}

fn way(held_ns: f64, shared_writes: f64, hold_reads: f64) -> Way {
    let name = "B".to_owned();
    Way { name, held_ns, shared_writes, hold_reads, outside_ns: 100.0, is_locked: true }
}

#[test]
fn the_shipped_table_has_all_ways() {
    for Input { files, unit } in inputs(SHIPPED_TABLE).unwrap() {
        let all = ways(SHIPPED_TABLE, &files, &unit).unwrap();
        let names: Vec<&str> = all.iter().map(|way| way.name.as_str()).collect();
        assert_eq!(names, ["O", "D", "B", "L", "source"], "{files} {unit}");
        assert!(all.iter().all(|way| way.held_ns > 0.0 && way.hold_reads >= 1.0));
        assert!(all.iter().all(|way| way.is_locked == (way.name != "source")));
    }
    assert!(ways("a\tb\n", "single", "12288").is_err());
    assert!(ways(SHIPPED_TABLE, "none", "12288").unwrap().is_empty());
}

#[test]
fn bands_are_in_order_and_name_their_limit() {
    let mut question = question();
    question.engine_bytes = 4000.0;
    let all = ways(SHIPPED_TABLE, "single", "262144").unwrap();
    let table = question.answer(&all);
    assert_eq!(table.rows.len(), 2 * all.len());
    for row in &table.rows {
        assert!(row.values.is_sorted(), "{row:?}");
        assert!(row.values[0] > 0.0, "{row:?}");
    }
    let of = |way: &str, threads: &str, limit: &str| {
        table.value(&[way, threads, limit], "middle_reads_per_s")
    };
    assert!(of("source", "16", "engine").is_some(), "{table:?}");
    let slow = table.rows.iter().find(|row| row.factors[..2] == ["O", "128"]).unwrap();
    assert!(slow.values[2] > 1.2 * slow.values[0], "{slow:?}");
    let (slow, fast) = (of("O", "128", "input").unwrap(), of("source", "128", "engine").unwrap());
    assert!(fast > 1.5 * slow, "{fast} {slow}");
}

#[test]
fn a_lock_in_the_way_gives_its_ceiling() {
    let question = question();
    let way = way(200.0, 2.0, 1.0);
    let ([low, middle, high], limit) = question.band(&way, 128);
    assert_eq!(limit, "input");
    for (rate, level) in [(low, 0), (middle, 1), (high, 2)] {
        let level = &LEVELS[level];
        let service = 200.0 * 2.0 / level.core_gain + 2.0 * level.remote_write_ns;
        assert!((rate * service / 1e9 - 1.0).abs() < 0.03, "{rate} {service}");
    }
}

#[test]
fn an_output_in_the_way_gives_its_ceiling_whatever_its_batches_are() {
    // 20 reads are no multiple of the 16 or 32 that other stations have.
    for (hold_reads, output_reads) in [(32.0, 20), (1.0, 20), (44.0, 32), (1.0, 256)] {
        let question = Question { output_ns: 400.0, output_reads, ..question() };
        let (rates, limit) = question.band(&way(1.0, 0.01, hold_reads), 64);
        assert_eq!(limit, "output");
        let service = 400.0 + 2.0 * 200.0 / f64::from(output_reads);
        let share = rates[1] * service / 1e9;
        assert!((share - 1.0).abs() < 0.03, "{hold_reads} {output_reads}: {share}");
    }
}

#[test]
fn tables_that_cannot_be_true_are_refused_with_the_place() {
    let lines: Vec<&str> = SHIPPED_TABLE.lines().collect();
    let place = |column: &str| lines[0].split('\t').position(|name| name == column).unwrap();
    let (reads, holds) = (place("reads"), place("holds"));
    let with = |changes: &[(usize, &str)]| {
        let mut fields: Vec<&str> = lines[2].split('\t').collect();
        changes.iter().for_each(|&(at, value)| fields[at] = value);
        let text = [lines[0], lines[1], &fields.join("\t")].join("\n");
        ways(&text, "single", "262144").map_err(|error| error.line)
    };
    assert!(with(&[]).is_ok());
    for column in TIMES.iter().chain(&COUNTERS) {
        for value in ["NaN", "inf", "-inf", "-1", "1e300"] {
            assert_eq!(with(&[(place(column), value)]), Err(3), "{column} {value}");
        }
    }
    assert_eq!(with(&[(reads, "0")]), Err(3));
    assert_eq!(with(&[(reads, "4000000000"), (holds, "1")]), Err(3));
    let laws = "lock\tper_waiter_ns\twake_ns\twake_from\na\t1\t0\t1\n";
    assert!(law(laws, "a", &MACHINE).unwrap().is_some());
    for bad in ["b\tNaN\t0\t1\n", "b\t0\tinf\t1\n", "b\t0\t0\t-1\n"] {
        let found = law(&format!("{laws}{bad}"), "a", &MACHINE);
        assert_eq!(found.map_err(|error| error.line), Err(3), "{bad}");
    }
}

#[test]
fn memory_on_one_node_is_a_limit_that_copies_lift() {
    let mut question = question();
    question.engine_bytes = 100_000.0;
    let way = way(10.0, 0.1, 32.0);
    let mut rate = |placement| {
        question.placement = placement;
        question.band(&way, 64).0[1]
    };
    let [one, spread, copied] =
        [Placement::OneNode, Placement::Interleaved, Placement::Replicated].map(&mut rate);
    // 100 GB/s: a million reads of 100 kB from one node, and each crosses to it.
    assert!((one / (1e6 / 1.75) - 1.0).abs() < 0.05, "{one}");
    assert!(spread > 1.5 * one && copied > spread, "{one} {spread} {copied}");
}

#[test]
fn too_many_threads_gain_nothing() {
    let question = question();
    let way = way(1.0, 0.01, 256.0);
    let (full, over) = (question.band(&way, 128).0[1], question.band(&way, 512).0[1]);
    assert!((over / full - 1.0).abs() < 0.1, "{over} {full}");
}

#[test]
fn shipped_laws_have_the_locks_that_are_named() {
    for (name, law_name) in LOCK_NAMES {
        let Some((law_name, kind)) = law_name else { continue };
        let law = law(SHIPPED_LAWS, law_name, &MACHINE).unwrap().unwrap();
        assert_eq!(law.per_waiter_ns > 0.0, kind == LawKind::Spinning, "{name}");
        assert_eq!(law.wake_ns > 0.0, kind == LawKind::Sleeping, "{name}");
    }
    assert_eq!(law(SHIPPED_LAWS, "none", &MACHINE), Ok(None));
}

#[test]
fn all_that_is_assumed_is_said() {
    let said = question().assumptions().join("\n");
    for part in ["400, 200, 100", "1.10, 1.30, 1.60", "40.0, 100, 200", "4 nodes", "20 us"] {
        assert!(said.contains(part), "{part}: {said}");
    }
}

//! Lines of nanopolish's tables, made from a small read.

use super::*;
use crate::events::{Events, Scaling};
use crate::pore_model::Alphabet;

fn model() -> PoreModel {
    let level_mean_pa: Vec<f64> = (0..16).map(|rank| 60.0 + 3.0 * f64::from(rank)).collect();
    let level_stdv_pa = vec![1.5_f64; 16];
    let level_log_stdv = level_stdv_pa.iter().map(|s| s.ln()).collect();
    PoreModel {
        chemistry: None,
        name: "made".to_owned(),
        alphabet: Alphabet::Nucleotide,
        kmer_length: 2,
        level_mean_pa,
        level_stdv_pa,
        level_log_stdv,
    }
}

fn lines(options: TableOptions, is_reverse: bool) -> String {
    let events = ReadEvents {
        events: Events {
            start_samples: vec![0, 4, 9],
            length_samples: vec![4.0, 5.0, 3.0],
            mean_pa: vec![70.0, 81.125, 90.0],
            stdv_pa: vec![1.0, 0.5, 0.25],
        },
        of_kmer: Vec::new(),
        scaling: Scaling { shift_pa: 2.0, scale: 1.25, var: 1.44 },
        events_per_base: 1.5,
    };
    let read = AlignedRead {
        name: b"r1",
        contig: b"chr1",
        start: 100,
        is_reverse,
        sequence: b"ACGT",
        reference: b"ACRTT",
        pairs: &[],
    };
    let samples: Vec<f32> = (0..12).map(|at| 70.0 + at as f32).collect();
    let model = model();
    let table = TableRead {
        read: &read,
        index: 7,
        events: &events,
        model: &model,
        sample_rate_hz: 4000.0,
        samples_pa: &samples,
    };
    let rows = [
        EventRow { offset: 1, event: 1, rank: 4, is_bad: false },
        EventRow { offset: 1, event: 2, rank: 4, is_bad: true },
        EventRow { offset: 3, event: 0, rank: 15, is_bad: false },
    ];
    let mut out = Vec::new();
    push_header(&options, &mut out);
    push_rows(&table, &rows, &options, &mut out);
    push_summary_header(&mut out);
    push_summary(&table, &rows, b"a.fast5", b"", &mut out);
    String::from_utf8(out).unwrap()
}

const SUMMARY: &str = "read_index\tread_name\tfast5_path\tmodel_name\tstrand\tnum_events\tnum_steps\
    \tnum_skips\tnum_stays\ttotal_duration\tshift\tscale\tdrift\tvar\n\
    7\tr1\ta.fast5\t\ttemplate\t3\t0\t1\t1\t0.00\t2.000\t1.250\t0.000\t1.440\n";

#[test]
fn lines_have_the_columns_that_were_requested() {
    let expected = "contig\tposition\treference_kmer\tread_index\tstrand\tevent_index\
        \tevent_level_mean\tevent_stdv\tevent_length\tmodel_kmer\tmodel_mean\tmodel_stdv\
        \tstandardized_level\n\
        chr1\t101\tCA\t7\tt\t1\t81.12\t0.500\t0.00125\tCA\t92.00\t2.16\t-4.20\n\
        chr1\t101\tCA\t7\tt\t2\t90.00\t0.250\t0.00075\tNN\t0.00\t0.00\tinf\n\
        chr1\t103\tTT\t7\tt\t0\t70.00\t1.000\t0.00100\tTT\t133.25\t2.16\t-24.40\n";
    assert_eq!(lines(TableOptions::default(), false), format!("{expected}{SUMMARY}"));

    let all =
        TableOptions { read_names: true, scale_events: true, signal_index: true, samples: true };
    let expected = "contig\tposition\treference_kmer\tread_name\tstrand\tevent_index\
        \tevent_level_mean\tevent_stdv\tevent_length\tmodel_kmer\tmodel_mean\tmodel_stdv\
        \tstandardized_level\tstart_idx\tend_idx\tsamples\n\
        chr1\t101\tCA\tr1\tt\t1\t63.30\t0.500\t0.00125\tTG\t72.00\t1.50\t-4.83\t4\t9\
        \t57.6,58.4,59.2,60,60.8\n\
        chr1\t101\tCA\tr1\tt\t2\t70.40\t0.250\t0.00075\tNN\t0.00\t0.00\tinf\t9\t12\
        \t61.6,62.4,63.2\n\
        chr1\t103\tTT\tr1\tt\t0\t54.40\t1.000\t0.00100\tAA\t105.00\t1.50\t-28.11\t0\t4\
        \t54.4,55.2,56,56.8\n";
    assert_eq!(lines(all, true), format!("{expected}{SUMMARY}"));
}

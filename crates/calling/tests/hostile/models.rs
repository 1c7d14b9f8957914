//! Noise and damaged files through every parser of models: no panic, and the promises that
//! `exercise.rs` lists. The fuzz targets run the same functions for longer.

use proptest::prelude::*;
use seqloom_calling::pore_model::{Alphabet, ModelRequest, uncalled4};
use seqloom_testkit::damage::{Change, damaged};

use crate::exercise;
use crate::npz::{Array, npz, two_mers, ucs4};

fn changes() -> impl Strategy<Value = Vec<Change>> {
    prop::collection::vec(any::<Change>(), 0..5)
}

fn good_text() -> Vec<u8> {
    let mut text = b"#ont_model_name\tx\n#kit\tr9.4_450bps\n#k\t2\nkmer\tlevel_mean\n".to_vec();
    for rank in 0..25 {
        Alphabet::Methylated.append_kmer(rank, 2, &mut text);
        text.extend_from_slice(format!("\t{rank}.25\t1.5\t0.1\n").as_bytes());
    }
    text
}

proptest! {
    #[test]
    fn damaged_text_is_survived(changes in changes()) {
        exercise::model_text(&damaged(&good_text(), &changes));
    }

    #[test]
    fn noise_as_text_is_survived(
        text in "(([ACGTM]{1,2}|#k|#alphabet|kmer)[ \t][0-9.e-]{0,4}\t?1?\n){0,30}",
    ) {
        exercise::model_text(text.as_bytes());
    }

    #[test]
    fn damaged_archives_are_survived(changes in changes(), deflated: bool) {
        exercise::model_npz(&damaged(&npz(&two_mers(false), deflated), &changes));
    }

    #[test]
    fn noise_as_an_archive_is_survived(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
        exercise::model_npz(&bytes);
        exercise::model_npz(&[b"PK\x05\x06", bytes.as_slice()].concat());
    }
}

#[test]
fn an_archive_is_read_as_it_was_written() {
    for (deflated, reversed) in [(false, false), (true, false), (true, true)] {
        let bytes = npz(&two_mers(reversed), deflated);
        let model = uncalled4::parse(&bytes, None, &ModelRequest::default()).unwrap();
        assert_eq!((model.name.as_str(), model.kmer_length), ("dna_r9.4.", 2));
        for rank in 0..16 {
            let row = if reversed { rank % 4 * 4 + rank / 4 } else { rank };
            assert_eq!(model.level_mean_pa[rank], row as f64 * 2.0 + 10.0);
            assert_eq!(model.level_stdv_pa[rank], (row + 1) as f64 * 2.0);
        }
        exercise::model_npz(&bytes);
    }
}

#[test]
fn what_is_wrong_with_an_archive_is_said() {
    fn t(change: impl Fn(&mut Vec<Array<'static>>), expected: &str) {
        let mut arrays = two_mers(false);
        change(&mut arrays);
        let parsed = uncalled4::parse(&npz(&arrays, true), None, &ModelRequest::default());
        let message = parsed.unwrap_err().to_string();
        assert!(message.contains(expected), "{message}: no {expected}");
    }
    t(|it| drop(it.remove(1)), "'current.mean': is missing");
    t(|it| it[1].1 = "<i4", "'current.mean'");
    t(|it| it[1].2 = "(4, 4)", "'current.mean'");
    t(|it| it[1].2 = "(17,)", "as many as it says");
    t(
        |it| (it[2].2, it[2].3) = ("(0,)", Vec::new()),
        "is empty; give one deviation for all levels (--level-stdv)",
    );
    t(|it| it[2].3[3] = 0xff, "'AA'");
    t(|it| it[0].3[0] = b'C', "twice");
    t(|it| it[0].3[0] = b'M', "other letters");
    t(|it| it[0].3[4] = 0, "16 levels where 4 1-mers");
    t(|it| it[0].3[24] = 0, "several lengths");
    t(|it| it[3].3 = f64::NAN.to_le_bytes().to_vec(), "'_pa_mean': is not finite");
    t(|it| it[5].2 = "(2,)", "'_reverse': is not one truth value");
    t(|it| it[0].3 = ucs4("AA", 5), "'kmer': is not as long as it says");
    let message = uncalled4::parse(b"", None, &ModelRequest::default()).unwrap_err().to_string();
    assert!(message.contains("no zip directory"), "{message}");
}

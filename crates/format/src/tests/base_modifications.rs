//! Base modifications against the specification's own cases (hts-specs `test/SAMtags`): each SAM
//! file is compared with what its tags mean, base by base.

use std::fmt::Write;
use std::fs;

use seqloom_testkit::skip;

use crate::bam::RecordRef;
use crate::base_modifications::{Called, ModCode, ModStrand, append_modifications, decode_record};
use crate::sam::{ReferenceNames, parse_record};

/// Modifications of the base at `position` on one strand, as the expectations write them: code and
/// percentage, rounded down from the middle of the value's range.
fn shown(called: &[Called], position: usize, strand: ModStrand) -> String {
    let mut text = String::new();
    for it in called.iter().filter(|it| it.position == position && it.group.strand == strand) {
        match it.code {
            ModCode::Letter(letter) => text.push(letter.into()),
            ModCode::Chebi(number) => write!(text, "({number})").unwrap(),
        }
        let percent = (f64::from(it.probability.unwrap()) + 0.5) / 256.0 * 100.0;
        write!(text, "{percent:.0}", percent = percent.floor()).unwrap();
    }
    text
}

fn complement(base: u8) -> char {
    let pairs = b"ATCGRYKMBVDHNN";
    let at = pairs.iter().position(|&it| it == base).unwrap();
    pairs[at ^ 1].into()
}

#[test]
fn tags_mean_what_the_specification_says() {
    let Some(folder) = skip::data("bam/hts-specs_test/SAMtags") else { return };
    let mut records = 0;
    for name in ["MM-chebi", "MM-double", "MM-explicit", "MM-multi", "MM-orient"] {
        let sam = fs::read(folder.join(format!("{name}.sam"))).unwrap();
        let mut found = Vec::new();
        for line in sam.split(|&byte| byte == b'\n').filter(|l| !l.is_empty() && l[0] != b'@') {
            let (mut body, mut bases, mut called) = (Vec::new(), Vec::new(), Vec::new());
            parse_record(line, &ReferenceNames::new(&[]), &mut body).unwrap();
            decode_record(&RecordRef::new(&body).unwrap(), &mut bases, &mut called).unwrap();
            let text: String = (0..bases.len())
                .map(|at| {
                    let top = shown(&called, at, ModStrand::Same);
                    let bottom = shown(&called, at, ModStrand::Opposite);
                    let base = char::from(bases[at]);
                    format!("{base}{top}\t{}{bottom}\n", complement(bases[at]))
                })
                .collect();
            found.push(text);
            encoded_again(&called, &bases);
            records += 1;
        }
        let expected = fs::read_to_string(folder.join(format!("{name}.txt"))).unwrap();
        assert_eq!(found.join("\n"), expected, "{name}");
    }
    assert_eq!(records, 11);
}

/// What was decoded, encoded one list per group and code, means the same.
fn encoded_again(called: &[Called], bases: &[u8]) {
    let (mut mm, mut ml, mut expected) = (Vec::new(), Vec::new(), Vec::new());
    for first in called {
        let is_like = |it: &&Called| it.group == first.group && it.code == first.code;
        let like: Vec<Called> = called.iter().filter(is_like).copied().collect();
        if expected.iter().any(|it| is_like(&it)) {
            continue;
        }
        let positions = like.iter().map(|it| it.position);
        append_modifications(first.group, first.code, bases, positions, &mut mm).unwrap();
        ml.extend(like.iter().filter_map(|it| it.probability));
        expected.extend(like);
    }
    let mut again = Vec::new();
    crate::base_modifications::decode(&mm, Some(&ml), bases, &mut again).unwrap();
    assert_eq!(again, expected);
}

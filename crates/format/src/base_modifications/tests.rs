//! Lists of modifications, read, written, and malformed.

use super::*;
use proptest::prelude::*;

const READ: &[u8] = b"AGCTCTCCAGAGTCGNACGCCATYCGCGCGCCACCA";

fn decoded(mm: &str, ml: Option<&[u8]>) -> Result<Vec<(usize, String)>, ModError> {
    let mut called = Vec::new();
    decode(mm.as_bytes(), ml, READ, &mut called)?;
    let shown = |it: &Called| {
        let code = match it.code {
            ModCode::Letter(letter) => char::from(letter).to_string(),
            ModCode::Chebi(number) => format!("({number})"),
        };
        let value = it.probability.map(|value| value.to_string()).unwrap_or_default();
        (it.position, code + &value)
    };
    Ok(called.iter().map(shown).collect())
}

#[test]
fn lists_are_read() {
    let t = |mm: &str, ml: Option<&[u8]>, expected: &[(usize, &str)]| {
        let expected = expected.iter().map(|&(at, text)| (at, text.to_owned())).collect();
        assert_eq!(decoded(mm, ml), Ok(expected));
    };
    t("", None, &[]);
    t("", Some(&[]), &[]);
    t("C+m;", Some(&[]), &[]);
    t("C+m,2,2;", None, &[(6, "m"), (17, "m")]);
    t("C+mh?,2,2;", Some(&[1, 2, 3, 4]), &[(6, "m1"), (6, "h2"), (17, "m3"), (17, "h4")]);
    t("C+76792.,0;N+n,15,0;", Some(&[9, 8, 7]), &[(2, "(76792)9"), (15, "n8"), (16, "n7")]);
    t("G-m,0;T+T,0;", None, &[(1, "m"), (3, "T")]);
    t("U+g,1;", None, &[(5, "g")]);
}

#[test]
fn what_is_counted_is_reported() {
    let mut called = Vec::new();
    decode(b"C+m?,0;G-m.,0;A+a,0;", None, READ, &mut called).unwrap();
    let groups: Vec<ModGroup> = called.iter().map(|it| it.group).collect();
    let group = |base, strand, skipped| ModGroup { base, strand, skipped };
    let expected = [
        ModGroup::methylated(b'C'),
        group(b'G', ModStrand::Opposite, SkippedBases::Unmodified),
        group(b'A', ModStrand::Same, SkippedBases::Unmodified),
    ];
    assert_eq!(groups, expected);
}

#[test]
fn malformed_lists_are_refused() {
    let t = |mm: &str, ml: Option<&[u8]>, expected: &str| {
        assert_eq!(decoded(mm, ml).unwrap_err().to_string(), expected);
    };
    t("m", None, "MM, byte 0: expected one of A, C, G, T, U and N");
    t("Y+m;", None, "MM, byte 0: expected one of A, C, G, T, U and N");
    t("Cm", None, "MM, byte 1: expected + or -");
    t("C+", None, "MM, byte 2: expected the code of a modification");
    t("C+,1;", None, "MM, byte 2: expected the code of a modification");
    t("C+m1;", None, "MM, byte 3: expected a comma or semicolon");
    t("C+1m;", None, "MM, byte 3: expected a comma or semicolon");
    t("C+99999999999;", None, "MM, byte 2: expected a number of ChEBI");
    t("C+m,1", None, "MM, byte 5: expected a comma or semicolon");
    t("C+m,;", None, "MM, byte 4: expected a number of bases");
    t("C+m,-1;", None, "MM, byte 4: expected a number of bases");
    t("C+m,4294967296;", None, "MM, byte 4: expected a number of bases");
    t("C+m??;", None, "MM, byte 4: expected a comma or semicolon");
    let beyond = "the read has 15 bases of that kind, fewer than are counted";
    t("C+m,15;", None, &format!("MM, byte 4: {beyond}"));
    t("C+m,14,0;", None, &format!("MM, byte 7: {beyond}"));
    t("C+m,0;", Some(&[]), "ML has 0 values, MM has 1 modifications");
    t("C+mh,0;", Some(&[1]), "ML has 1 values, MM has 2 modifications");
    t("C+m;", Some(&[1]), "ML has 1 values, MM has 0 modifications");
}

#[test]
fn positions_that_cannot_be_are_refused() {
    let t = |positions: &[usize], why: &str| {
        let mut mm = b"before".to_vec();
        let code = ModCode::Letter(b'm');
        let positions = positions.iter().copied();
        let error =
            append_modifications(ModGroup::methylated(b'C'), code, READ, positions, &mut mm)
                .unwrap_err();
        assert!(error.to_string().ends_with(why), "{error}");
        assert_eq!(mm, b"before");
    };
    t(&[0], "the read has another base there");
    t(&[6, 6], "it does not follow the one before it");
    t(&[6, 4], "it does not follow the one before it");
    t(&[36], "the read is shorter");
    t(&[usize::MAX - 1], "the read is shorter");
}

#[test]
fn probabilities_are_in_256_parts() {
    let t = |probability: f64, expected: u8| assert_eq!(probability_code(probability), expected);
    t(0.0, 0);
    t(0.5, 128);
    t(0.8, 204);
    t(255.0 / 256.0, 255);
    t(0.9999, 255);
    t(1.0, 255);
    t(-1.0, 0);
    t(f64::NAN, 0);
}

proptest! {
    #[test]
    fn decoding_inverts_encoding(
        bases in "[ACGTN]{0,120}",
        required in prop::collection::vec(any::<bool>(), 120),
        values in prop::collection::vec(any::<u8>(), 120),
        base in prop::sample::select(b"ACGTUN".to_vec()),
        code in prop_oneof![
            prop::sample::select(b"mhfcgebaonC".to_vec()).prop_map(ModCode::Letter),
            any::<u32>().prop_map(ModCode::Chebi),
        ],
        is_opposite: bool,
        is_unknown: bool,
    ) {
        let bases = bases.as_bytes();
        let strand = if is_opposite { ModStrand::Opposite } else { ModStrand::Same };
        let skipped =
            if is_unknown { SkippedBases::Unknown } else { SkippedBases::Unmodified };
        let group = ModGroup { base, strand, skipped };
        let is_requested = |&at: &usize| group.counts(bases[at]) && required[at];
        let positions: Vec<usize> = (0..bases.len()).filter(is_requested).collect();
        let ml = &values[..positions.len()];
        let mut mm = Vec::new();
        for _ in 0..2 {
            append_modifications(group, code, bases, positions.clone(), &mut mm).unwrap();
        }
        let mut called = Vec::new();
        decode(&mm, Some(&[ml, ml].concat()), bases, &mut called).unwrap();
        let expected: Vec<Called> = [(); 2]
            .iter()
            .flat_map(|()| positions.iter().zip(ml))
            .map(|(&position, &value)| Called { position, group, code, probability: Some(value) })
            .collect();
        prop_assert_eq!(called, expected);
    }
}

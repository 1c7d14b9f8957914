//! Tests of the tag lists.

use seqloom_format::bam::edit::replace_cigar;
use seqloom_format::bam::{AuxValue, RecordRef};

use super::super::StepOptions;
use super::super::test_bodies::{apply, body, header};
use super::*;

#[test]
fn tags_are_removed_or_kept_by_name() {
    fn t(remove: &[&[u8; 2]], keep: Option<&[&[u8; 2]]>, expected: &str) {
        let options = StepOptions {
            remove_tags: remove.iter().map(|&&tag| tag).collect(),
            keep_tags: keep.map(|tags| tags.iter().map(|&&tag| tag).collect()),
            ..StepOptions::default()
        };
        let read = "r 4 * 0 0 * * 0 0 ACGT IIII";
        let line = format!("{read} NM:i:1 RG:Z:a XA:A:x NM:i:2");
        let (lines, _) = apply(&options.build(&header()).unwrap(), &[&line]);
        assert_eq!(lines, [format!("{read}{expected}")]);
    }
    t(&[], None, " NM:i:1 RG:Z:a XA:A:x NM:i:2");
    t(&[b"NM"], None, " RG:Z:a XA:A:x");
    t(&[b"XA", b"ZZ", b"RG"], None, " NM:i:1 NM:i:2");
    t(&[], Some(&[b"RG"]), " RG:Z:a");
    t(&[], Some(&[]), "");
    t(&[b"RG"], Some(&[b"RG", b"XA"]), " XA:A:x");
}

#[test]
fn a_cigar_that_lives_in_a_tag_is_not_lost() {
    let mut long = body("r 0 c 5 60 4M * 0 0 ACGT IIII NM:i:1");
    replace_cigar(&mut long, &vec![1 << 4; 70_000]).unwrap();
    let mut scratch = StepScratch::default();
    RemoveTags(vec![*b"CG", *b"NM"]).apply(&mut long, &mut scratch).unwrap();
    KeepTags(vec![]).apply(&mut long, &mut scratch).unwrap();
    assert_eq!(RecordRef::new(&long).unwrap().full_cigar().len(), 70_000);
    assert_eq!(RecordRef::new(&long).unwrap().aux().count(), 1);
    // A CG without a placeholder is a tag like any other.
    let mut other = body("r 0 c 5 60 4M * 0 0 ACGT IIII CG:Z:x");
    KeepTags(vec![]).apply(&mut other, &mut scratch).unwrap();
    assert_eq!(RecordRef::new(&other).unwrap().find_aux(*b"CG"), Ok(None::<AuxValue<'_>>));
}

//! Where records and read ends go.

use super::*;
use crate::test_records::{backing, body, references};

#[test]
fn a_lane_with_more_templates_than_it_may_have_is_refused() {
    let (backing, references) = (backing(1 << 20), references(&[1000]));
    let bins = GenomeBins::new(&references);
    let t = |lanes: usize, templates_before: u64, is_taken: bool| {
        let numbering = Numbering::of_lanes(lanes);
        let destination = Destination::by_coordinate(&bins);
        let collector = Collector::new(&backing, 256, destination, None).numbered(numbering);
        let mut templates =
            PackedTemplates { first_template: templates_before, ..Default::default() };
        for name in ["a", "b"] {
            let body = body(name, 0, 0, 5, 8);
            templates.bytes.extend((body.len() as u32).to_le_bytes());
            templates.bytes.extend(body);
            templates.ends.push(templates.bytes.len() as u32);
        }
        let mut scratch = StoreScratch::new().unwrap();
        let found = collector.collect_of_lane(lanes - 1, &templates, &mut scratch);
        match found {
            Ok(records) => assert!(is_taken && records == 2, "{lanes} {templates_before}"),
            Err(CollectError::TooManyTemplates { most, lanes: reported }) => {
                assert!(!is_taken, "{lanes} {templates_before}");
                assert_eq!((most, reported), (numbering.most_templates(), lanes));
            }
            Err(error) => panic!("{error}"),
        }
    };
    for (lanes, most) in [(1, 1 << 48), (2, 1 << 47), (3, 1 << 46), (64, 1 << 42)] {
        t(lanes, 0, true);
        t(lanes, most - 2, true);
        t(lanes, most - 1, false);
        t(lanes, most, false);
    }
}

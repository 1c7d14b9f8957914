//! Sections of what is there, and of nothing.

use super::*;
use seqloom_prep::metrics::ReferenceDepth;

#[test]
fn nothing_counted_is_a_page_without_numbers() {
    let metrics = GatheredMetrics::new(seqloom_prep::metrics::MetricsRequest::ALL);
    let findings = Findings {
        tally: &Tally::default(),
        metrics: &metrics,
        references: &[],
        read_groups: Vec::new(),
        depth: Some(metrics.depth.clone().unwrap().finish(&[])),
        gc_windows: None,
        duplicates: None,
        recalibration: None,
        applied: None,
    };
    let page = crate::page::Page {
        facts: facts(&findings),
        sections: sections(&findings),
        ..crate::page::Page::default()
    };
    let html = page.to_html();
    assert!(!html.contains("NaN") && !html.contains("inf<"), "{html}");
    for title in ["GC bias", "Duplicates", "Insert size"] {
        assert!(html.contains(&format!("<h2>{title}</h2>\n<p>Not here: ")), "{title}: {html}");
    }
    assert_eq!(findings.depth.as_ref().unwrap().mean(), 0.0);
}

#[test]
fn thousands_of_sequences_keep_their_rows_and_the_rest_is_one() {
    let references: Vec<Reference> =
        (0..4003).map(|n| Reference { name: format!("s{n}"), length: 10 + n }).collect();
    let of_one = ReferenceDepth { sum: 5, covered: 5 };
    let depth = DepthSummary {
        positions: vec![1],
        references: vec![of_one; references.len()],
        lengths: references.iter().map(|it| it.length).collect(),
    };
    let findings = Findings {
        tally: &Tally::default(),
        metrics: &GatheredMetrics::default(),
        references: &references,
        read_groups: Vec::new(),
        depth: Some(depth),
        gc_windows: None,
        duplicates: None,
        recalibration: None,
        applied: None,
    };
    let section = sections(&findings).into_iter().find(|it| it.title == "Depth").unwrap();
    let rows = &section.figures.last().unwrap().table.rows;
    assert_eq!(rows.len(), 4001);
    assert_eq!(rows[0][0], Cell::from("s3"), "the shortest three are one row");
    let rest = [Cell::from("(3 shorter ones)"), Cell::from(33_u64), Cell::from(15_u64)];
    assert_eq!(rows[4000][..3], rest);
}

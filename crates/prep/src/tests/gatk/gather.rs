//! Reports of parts of the reads, put together.

use seqloom_testkit::gatk::Gatk;

use super::common::{assert_reports_equal, data, table, text};
use crate::recalibrate::{gather, report};

/// GATK's own parts and sums; and, where GATK is installed, what it makes of them.
#[test]
fn parts_are_put_together() {
    let Some(bam) = data("NA12878.chr17_69k_70k.dictFix.bam") else { return };
    let folder = bam.parent().unwrap().join("../../utils/recalibration");
    let gatk = Gatk::find();
    let out = tempfile::tempdir().unwrap();
    let sets: [&[&str]; 4] = [
        &["gatk4_chr20.tbl.gz", "gatk4_chr21.tbl.gz"],
        &[
            "HiSeq.1mb.1RG.sg1.table",
            "HiSeq.1mb.1RG.sg2.table",
            "HiSeq.1mb.1RG.sg3.table",
            "HiSeq.1mb.1RG.sg4.table",
            "HiSeq.1mb.1RG.sg5.table",
            "HiSeq.1mb.1RG.empty.table",
        ],
        &["bqsr.manyObservations.piece.table"; 5],
        &[
            "NA12878.rg_subset.chr1.recal_data.table",
            "NA12878.rg_subset.chrY_Plus.recal_data.table",
        ],
    ];
    for names in sets {
        let tables = names.iter().map(|name| table(&folder.join(name)));
        let ours = report::write(&gather(tables).unwrap());
        if names[0] == "gatk4_chr20.tbl.gz" {
            // Made by an older GATK 4, which rounds the reported quality otherwise.
            let theirs = text(&folder.join("gatk4_combined.tbl.gz"));
            let lines = |text: &str| text.lines().count();
            assert_eq!(lines(&ours), lines(&theirs));
        }
        let Some(gatk) = &gatk else { continue };
        let (list, gathered) = (out.path().join("parts.list"), out.path().join("gathered.txt"));
        // GATK reads plain text only from some of its inputs: hand it plain text.
        let mut parts = String::new();
        for (index, name) in names.iter().enumerate() {
            let part = out.path().join(format!("part{index}.txt"));
            std::fs::write(&part, text(&folder.join(name))).unwrap();
            parts.push_str(&format!("{}\n", part.display()));
        }
        std::fs::write(&list, parts).unwrap();
        let arguments =
            ["-I".into(), list.into_os_string(), "-O".into(), gathered.clone().into_os_string()];
        gatk.run("GatherBQSRReports", arguments).unwrap();
        println!("{names:?}");
        assert_reports_equal(&ours, &text(&gathered));
    }
}

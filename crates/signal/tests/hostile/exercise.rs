//! What the parsers of this crate must survive, whatever the bytes. The property tests beside this
//! file and the fuzz targets call the same functions; each panics where a promise is broken.

use seqloom_signal::methylation::frequency::{Cutoff, CutoffStyle, Frequencies, FrequencyOptions};
use seqloom_signal::methylation::table::{Columns, TableFormat, append_row};

/// A table of methylation calls: what is read is well formed, comes back when it is written, and
/// can be counted.
pub(crate) fn methylation_table(text: &[u8]) {
    let mut lines = text.split(|&byte| byte == b'\n');
    let Ok(columns) = Columns::parse(lines.next().unwrap_or_default()) else { return };
    let cutoff = Cutoff { style: CutoffStyle::Nanopolish, threshold: 0.5 };
    let mut counted = [true, false]
        .map(|splits_groups| Frequencies::new(FrequencyOptions { cutoff, splits_groups }));
    for line in lines {
        let Ok(row) = columns.row(line) else { continue };
        assert!(row.start <= row.end && row.log_lik_ratio.is_finite());
        assert!(!row.chromosome.is_empty() && !row.sequence.is_empty());
        counted.iter_mut().for_each(|it| it.add(&row));
        for format in [TableFormat::Nanopolish, TableFormat::F5c] {
            let mut written = Vec::new();
            append_row(format, &row, &mut written);
            let columns = Columns::parse(format.header().trim_end().as_bytes()).unwrap();
            let again = columns.row(written.strip_suffix(b"\n").unwrap());
            // A carriage return at the end of a field is lost at the end of a line.
            let Ok(again) = again else {
                assert!(row.sequence == b"\r" || row.log_lik_ratio.abs() > 1e300);
                continue;
            };
            assert_eq!((again.start, again.end), (row.start, row.end));
            assert_eq!(again.motif_count, row.motif_count);
        }
    }
    for frequencies in counted {
        assert!(frequencies.ambiguous() <= frequencies.rows());
        let mut before = Vec::new();
        frequencies
            .write(|piece| {
                before.extend_from_slice(piece);
                Ok::<_, ()>(())
            })
            .unwrap();
        let lines = before.split(|&byte| byte == b'\n').count();
        assert!(lines >= 2, "a header line at least");
    }
}

//! What the parsers of this crate must survive, whatever the bytes. The property tests next to this
//! file and the fuzz targets call the same functions; each panics where a promise is broken.

use seqloom_calling::Motif;
use seqloom_calling::methylation::{
    Columns, Cutoff, CutoffStyle, Frequencies, FrequencyOptions, TableFormat, append_row,
};
use seqloom_calling::pore_model::{ModelError, ModelRequest, PoreModel, text, uncalled4};

/// A table of methylation calls: what is read is well formed, comes back when it is written, and
/// can be counted.
pub(crate) fn methylation_table(text: &[u8]) {
    let mut lines = text.split(|&byte| byte == b'\n');
    let Ok(columns) = Columns::parse(lines.next().unwrap_or_default()) else { return };
    let cutoff = Cutoff { style: CutoffStyle::Nanopolish, threshold: 0.5 };
    let mut counted = [None, Some(Motif::Cpg), Some(Motif::Dcm)]
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

/// A model is whole, can be written as text and read again.
fn check(model: &PoreModel) {
    let rows = model.alphabet.rows(model.kmer_length).unwrap();
    assert_eq!(model.rows(), rows);
    assert_eq!((model.level_stdv_pa.len(), model.level_log_stdv.len()), (rows, rows));
    assert!(model.level_mean_pa.iter().all(|level| level.is_finite()));
    assert!(model.level_stdv_pa.iter().all(|stdv| stdv.is_normal() && *stdv > 0.0));
    assert!(model.level_log_stdv.iter().all(|log| log.is_finite()));
    if rows > 1 << 12 {
        return;
    }
    let mut written = Vec::new();
    for rank in (0..rows).rev() {
        model.alphabet.append_kmer(rank, model.kmer_length, &mut written);
        let (mean, stdv) = (model.level_mean_pa[rank], model.level_stdv_pa[rank]);
        written.extend_from_slice(format!(" {mean} {stdv}\n").as_bytes());
    }
    let again = text::parse(&written, &ModelRequest::default()).unwrap();
    // What names say of it is not there without names.
    assert_eq!(again, PoreModel { name: String::new(), chemistry: None, ..model.clone() });
}

/// A model in text: errors name a line that is there.
pub(crate) fn model_text(bytes: &[u8]) {
    let lines = bytes.split(|&byte| byte == b'\n').count();
    match text::parse(bytes, &ModelRequest::default()) {
        Ok(model) => check(&model),
        Err(ModelError::Line { line, .. }) => assert!((1..=lines).contains(&line)),
        Err(ModelError::Missing { missing, expected, line, .. }) => {
            assert!(missing <= expected && line <= lines);
        }
        Err(error) => assert!(!error.to_string().is_empty()),
    }
}

/// A model in NumPy's archive.
pub(crate) fn model_npz(bytes: &[u8]) {
    let any = ModelRequest::default();
    let (with, without) =
        (uncalled4::parse(bytes, Some(1.0), &any), uncalled4::parse(bytes, None, &any));
    match &with {
        Ok(model) => check(model),
        Err(error) => assert!(!error.to_string().is_empty()),
    }
    assert!(without.is_err() || without == with, "a deviation that is not needed changes nothing");
}

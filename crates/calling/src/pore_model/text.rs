//! Models in text: nanopolish's and f5c's, and those of Oxford Nanopore's `kmer_models`.
//!
//! Lines of tabs or blanks. `#key value` lines come first in nanopolish's form: `#k`, `#kit`,
//! `#alphabet`, `#ont_model_name` and others. A line that begins with `kmer` names the columns.
//! All others are a k-mer, its mean level, the standard deviation of that, and more columns that
//! are of no use here. The order of k-mers is free; all must be there, once.

use super::error::LineDefect;
use super::{Alphabet, ModelError, ModelRequest, PoreModel, is_deviation};
use crate::Motif;

/// Most letters of a k-mer in any alphabet under [`super::MAX_ROWS`].
const MAX_KMER_LENGTH: usize = 12;
/// Rank of M among five letters.
const METHYLATED_RANK: u8 = 3;
/// Most bytes of a line that an error shows.
const SHOWN_BYTES: usize = 40;

/// Reads a model from text.
///
/// # Errors
/// [`ModelError`]: a line that cannot be read, k-mers that are missing, or not what `request`
/// names.
pub fn parse(text: &[u8], request: &ModelRequest) -> Result<PoreModel, ModelError> {
    let mut table = Table::default();
    let mut last_line = 0;
    for (index, line) in text.split(|&byte| byte == b'\n').enumerate() {
        let line_number = index + 1;
        let line = line.trim_ascii();
        if line.is_empty() {
            continue;
        }
        last_line = line_number;
        table
            .line(line, line_number)
            .map_err(|defect| ModelError::Line { line: line_number, defect })?;
    }
    table.into_model(last_line, request)
}

/// Table as far as it is read.
#[derive(Default)]
struct Table {
    model_name: Option<String>,
    kit: Option<String>,
    motif: Option<Motif>,
    kmer_length: Option<usize>,
    rows: Vec<Row>,
    has_methylated: bool,
}

#[derive(Clone, Copy)]
struct Row {
    /// Rank of the k-mer among those of five letters until the alphabet is known.
    rank: u32,
    line: u32,
    mean_pa: f64,
    stdv_pa: f64,
}

fn shown(bytes: &[u8]) -> String {
    String::from_utf8_lossy(&bytes[..bytes.len().min(SHOWN_BYTES)]).into_owned()
}

impl Table {
    fn line(&mut self, line: &[u8], number: usize) -> Result<(), LineDefect> {
        if let Some(comment) = line.strip_prefix(b"#") {
            return self.header(comment);
        }
        let mut columns = line.split(u8::is_ascii_whitespace).filter(|column| !column.is_empty());
        let kmer = columns.next().unwrap_or_default();
        if kmer.eq_ignore_ascii_case(b"kmer") {
            return Ok(());
        }
        let mean = columns.next().ok_or(LineDefect::Columns(1))?;
        let stdv = columns.next().ok_or(LineDefect::Columns(2))?;
        let row = Row {
            rank: self.rank(kmer)?,
            line: u32::try_from(number).unwrap_or(u32::MAX),
            mean_pa: parse_number(mean, |it| it.is_finite())?,
            stdv_pa: parse_number(stdv, is_deviation)?,
        };
        self.rows.push(row);
        Ok(())
    }

    fn header(&mut self, comment: &[u8]) -> Result<(), LineDefect> {
        let split = comment.iter().position(u8::is_ascii_whitespace).unwrap_or(comment.len());
        let (key, value) = comment.split_at(split);
        let value = shown(value.trim_ascii());
        match key {
            b"k" => {
                let length = value.parse().ok().filter(|it| (1..=MAX_KMER_LENGTH).contains(it));
                let same = self.kmer_length.is_none_or(|it| Some(it) == length);
                let (Some(length), true) = (length, same) else {
                    let hint = "a number from 1 to 12 that fits all k-mers is needed";
                    return Err(LineDefect::Header { key: "k", value, hint });
                };
                self.kmer_length = Some(length);
            }
            b"alphabet" => {
                self.motif = Motif::of_name(&value);
                if self.motif.is_none() && !["nucleotide", "u_to_t_rna"].contains(&value.as_str()) {
                    let hint = "nucleotide, u_to_t_rna, cpg, gpc, dam and dcm are supported";
                    return Err(LineDefect::Header { key: "alphabet", value, hint });
                }
            }
            b"kit" => self.kit = Some(value),
            b"ont_model_name" | b"model_name" => self.model_name = Some(value),
            _ => {}
        }
        Ok(())
    }

    /// The rank of a k-mer among those of five letters.
    fn rank(&mut self, kmer: &[u8]) -> Result<u32, LineDefect> {
        let expected = *self.kmer_length.get_or_insert(kmer.len().min(MAX_KMER_LENGTH));
        if kmer.len() != expected {
            return Err(LineDefect::Length { kmer: shown(kmer), expected });
        }
        let mut rank = 0;
        for &letter in kmer {
            let Some(letter_rank) = Alphabet::Methylated.rank(letter) else {
                return Err(LineDefect::Letters(shown(kmer)));
            };
            self.has_methylated |= letter_rank == METHYLATED_RANK;
            rank = rank * 5 + u32::from(letter_rank);
        }
        Ok(rank)
    }

    fn into_model(
        mut self,
        last_line: usize,
        request: &ModelRequest,
    ) -> Result<PoreModel, ModelError> {
        let alphabet =
            if self.has_methylated { Alphabet::Methylated } else { Alphabet::Nucleotide };
        let kmer_length = self.kmer_length.unwrap_or(0);
        let expected = alphabet.rows(kmer_length).ok_or(ModelError::KmerLength { kmer_length })?;
        if alphabet == Alphabet::Nucleotide {
            for row in &mut self.rows {
                row.rank = without_methylated(row.rank);
            }
        }
        self.rows.sort_unstable_by_key(|row| (row.rank, row.line));
        let kmer_of = |rank| {
            let mut kmer = Vec::new();
            alphabet.append_kmer(rank, kmer_length, &mut kmer);
            shown(&kmer)
        };
        if let Some([one, other]) = self.rows.array_windows().find(|[a, b]| a.rank == b.rank) {
            let defect = LineDefect::Duplicate {
                kmer: kmer_of(one.rank as usize),
                first: one.line as usize,
            };
            return Err(ModelError::Line { line: other.line as usize, defect });
        }
        let gap = self.rows.iter().enumerate().position(|(rank, row)| row.rank as usize != rank);
        let first = gap.unwrap_or(self.rows.len());
        if first < expected {
            let missing = expected - self.rows.len();
            let first = kmer_of(first);
            return Err(ModelError::Missing {
                missing,
                expected,
                kmer_length,
                first,
                line: last_line,
            });
        }
        let means = self.rows.iter().map(|row| row.mean_pa).collect();
        let stdvs = self.rows.iter().map(|row| row.stdv_pa).collect();
        let names =
            [self.kit.as_deref(), self.model_name.as_deref()].map(Option::unwrap_or_default);
        let mut model = PoreModel::new(names[1].to_owned(), alphabet, kmer_length, means, stdvs)?;
        model.chemistry = request.check(&model, self.motif, names)?;
        Ok(model)
    }
}

/// The rank among k-mers of ACGT of one among those of ACGMT that has no M.
fn without_methylated(rank: u32) -> u32 {
    let (mut rest, mut weight, mut out) = (rank, 1, 0);
    while rest > 0 {
        let letter = rest % 5;
        out += weight * (letter - u32::from(letter > u32::from(METHYLATED_RANK)));
        weight = weight.saturating_mul(4);
        rest /= 5;
    }
    out
}

fn parse_number(text: &[u8], usable: impl Fn(f64) -> bool) -> Result<f64, LineDefect> {
    std::str::from_utf8(text)
        .ok()
        .and_then(|text| text.parse().ok())
        .filter(|&number| usable(number))
        .ok_or_else(|| LineDefect::Number(shown(text)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::pore_model::Chemistry;

    /// Rows of all k-mers of `letters`; the level is the line's number.
    fn rows(letters: &[u8], kmer_length: usize) -> String {
        let count = letters.len().pow(kmer_length as u32);
        let kmer = |row: usize| -> String {
            let place = |at| row / letters.len().pow(at) % letters.len();
            (0..kmer_length as u32).rev().map(|at| letters[place(at)] as char).collect()
        };
        (0..count).map(|row| format!("{}\t{row}\t{}.5\t1\t2\n", kmer(row), row + 1)).collect()
    }

    fn message(text: &str) -> String {
        parse(text.as_bytes(), &ModelRequest::default()).unwrap_err().to_string()
    }

    #[test]
    fn every_form_is_read() {
        fn t(text: &str, name: &str, alphabet: Alphabet, kmer_length: usize) {
            let model = parse(text.as_bytes(), &ModelRequest::default()).unwrap();
            assert_eq!((model.name.as_str(), model.alphabet), (name, alphabet));
            assert_eq!(model.kmer_length, kmer_length);
            let levels: Vec<_> = (0..model.rows()).map(|row| row as f64).collect();
            assert_eq!(model.level_mean_pa, levels);
            assert!(model.level_stdv_pa.iter().zip(&levels).all(|(sd, it)| *sd == it + 1.5));
            assert_eq!(model.level_log_stdv[0], 1.5_f64.ln());
        }
        let head = "#ont_model_name\tx\n#kit\tr9.4_450bps\n#strand\ttemplate\n#k\t2\n";
        let columns = "kmer\tlevel_mean\tlevel_stdv\n";
        let nucleotide = rows(b"ACGT", 2);
        t(&format!("{head}{columns}{nucleotide}"), "x", Alphabet::Nucleotide, 2);
        t(&format!("{columns}{nucleotide}\n\n"), "", Alphabet::Nucleotide, 2);
        t(&nucleotide.replace('\n', "\r\n").replace('\t', "  "), "", Alphabet::Nucleotide, 2);
        t(&nucleotide.replace('T', "u"), "", Alphabet::Nucleotide, 2);
        t(
            &format!("#model_name y\n#alphabet cpg\n{}", rows(b"ACGMT", 3)),
            "y",
            Alphabet::Methylated,
            3,
        );
        let backwards: Vec<_> = nucleotide.lines().rev().collect();
        t(&backwards.join("\n"), "", Alphabet::Nucleotide, 2);
    }

    #[test]
    fn what_is_wrong_is_said_with_its_line() {
        fn t(text: &str, parts: &[&str]) {
            let message = message(text);
            for part in parts {
                assert!(message.contains(part), "{message}: no {part}");
            }
        }
        let good = rows(b"ACGT", 2);
        t("", &["k-mers of 0 letters"]);
        t("kmer\tlevel_mean\n", &["k-mers of 0 letters"]);
        t(&good.replace("CA\t4", "CA\tx"), &["line 5", "'x'"]);
        t(&good.replace("CA\t4", "CA\tinf"), &["line 5", "'inf'"]);
        t(&good.replace("\t5.5", "\t0"), &["line 5", "'0'"]);
        t(&good.replace("\t5.5", "\t-1"), &["line 5", "'-1'"]);
        t(&good.replace("CA", "AA"), &["line 5", "'AA'", "on line 1"]);
        t(&good.replace("CA", "CAG"), &["line 5", "'CAG'", "not 2 letters"]);
        t(&good.replace("CA", "CZ"), &["line 5", "'CZ'"]);
        t(&good.replace("CA\t4\t5.5\t1\t2", "CA\t4"), &["line 5", "2 columns"]);
        t(&good.replace("CA\t4\t5.5\t1\t2", "CA"), &["line 5", "1 columns"]);
        t(&good.replace("CA\t4\t5.5\t1\t2\n", ""), &["1 of 16", "'CA'", "line 15"]);
        t(good.rsplit_once("TT").unwrap().0, &["1 of 16", "'TT'", "line 15"]);
        t(&format!("{good}AMM\t1\t2\n"), &["line 17", "'AMM'"]);
        t(&format!("{good}AM\t1\t2\n"), &["8 of 25", "'CM'"]);
        t(&format!("#k\t3\n{good}"), &["line 2", "not 3 letters"]);
        t(&format!("{good}#k\t3\n"), &["line 17", "#k"]);
        t(&format!("#k\t0\n{good}"), &["line 1", "#k", "'0'"]);
        t(&format!("#alphabet\tgcg\n{good}"), &["line 1", "'gcg'"]);
        t("AAAAAAAAAAAAAAAAAAAAA\t1\t2\n", &["line 1", "not 12 letters"]);
        t("MAAAAAAAAAAA\t1\t2\n", &["k-mers of 12 letters"]);
    }

    #[test]
    fn a_model_that_was_not_requested_is_refused() {
        let text = format!("#kit\tr9.4_450bps\n{}", rows(b"ACGT", 2));
        let parse = |request| parse(text.as_bytes(), &request);
        let any = ModelRequest::default();
        let chemistry = |it| ModelRequest { chemistry: Some(it), ..any };
        assert!(parse(chemistry(Chemistry::R9Dna)).is_ok());
        let wrong = parse(chemistry(Chemistry::R10Dna)).unwrap_err();
        assert!(matches!(wrong, ModelError::WrongChemistry { .. }), "{wrong}");
        let wrong = parse(ModelRequest { kmer_length: Some(6), ..any }).unwrap_err();
        assert_eq!(wrong, ModelError::WrongKmerLength { found: 2, required: 6 });
        let wrong =
            parse(ModelRequest { alphabet: Some(Alphabet::Methylated), ..any }).unwrap_err();
        assert!(matches!(wrong, ModelError::WrongAlphabet { .. }), "{wrong}");
    }
}

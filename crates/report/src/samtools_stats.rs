//! The checksum and the summary numbers of `samtools stats` (as of samtools 1.24).

use std::fmt::{self, Write};

use seqloom_prep::metrics::SamtoolsStatsCounts;

/// Writes them under a first line by which MultiQC knows the file.
///
/// # Errors
/// Only those of `out`.
pub fn write_samtools_stats(
    out: &mut impl Write,
    command_line: &str,
    counts: &SamtoolsStatsCounts,
) -> fmt::Result {
    // MultiQC looks for the words up to "stats".
    let version = env!("CARGO_PKG_VERSION");
    writeln!(out, "# This file was produced by samtools stats-compatible seqloom {version}")?;
    writeln!(out, "# This file contains statistics for all reads.")?;
    let command_line = command_line.replace(['\n', '\r', '\t'], " ");
    writeln!(out, "# The command line was:  {command_line}")?;
    writeln!(out, "# CHK, Checksum\t[2]Read Names\t[3]Sequences\t[4]Qualities")?;
    writeln!(
        out,
        "# CHK, CRC32 of reads which passed filtering followed by addition (32bit overflow)"
    )?;
    let chk = counts.checksum;
    writeln!(out, "CHK\t{:08x}\t{:08x}\t{:08x}", chk.names, chk.bases, chk.qualities)?;
    writeln!(out, "# Summary Numbers. Use `grep ^SN | cut -f 2-` to extract this part.")?;
    write_reads(out, counts)?;
    write_bases(out, counts)?;
    write_inserts(out, counts)
}

/// A line with a count.
fn line(out: &mut impl Write, name: &str, value: impl fmt::Display, note: &str) -> fmt::Result {
    write!(out, "SN\t{name}:\t{value}")?;
    if !note.is_empty() {
        write!(out, "\t# {note}")?;
    }
    writeln!(out)
}

fn write_reads(out: &mut impl Write, counts: &SamtoolsStatsCounts) -> fmt::Result {
    let sums = &counts.sums;
    let reads = sums.sequences;
    let mapped = sums.mapped_and_paired + sums.mapped_single;
    line(out, "raw total sequences", reads, "excluding supplementary and secondary reads")?;
    line(out, "filtered sequences", 0, "")?;
    line(out, "sequences", reads, "")?;
    let is_sorted = counts.is_sorted();
    let note = if is_sorted { "sorted by coordinate" } else { "not sorted by coordinate" };
    line(out, "is sorted", u8::from(is_sorted), note)?;
    line(out, "1st fragments", sums.first_fragments, "")?;
    line(out, "last fragments", sums.last_fragments, "")?;
    line(out, "reads mapped", mapped, "")?;
    let note = "paired-end technology bit set + both mates mapped";
    line(out, "reads mapped and paired", sums.mapped_and_paired, note)?;
    line(out, "reads unmapped", sums.unmapped, "")?;
    line(out, "reads properly paired", sums.properly_paired, "proper-pair bit set")?;
    line(out, "reads paired", sums.paired, "paired-end technology bit set")?;
    line(out, "reads duplicated", sums.duplicated, "PCR or optical duplicate bit set")?;
    line(out, "reads MQ0", sums.mapping_quality_0, "mapped and MQ=0")?;
    line(out, "reads QC failed", sums.qc_failed, "")?;
    line(out, "non-primary alignments", sums.secondary, "")?;
    line(out, "supplementary alignments", sums.supplementary, "")
}

fn write_bases(out: &mut impl Write, counts: &SamtoolsStatsCounts) -> fmt::Result {
    let (sums, longest) = (&counts.sums, counts.longest);
    let (reads, total) = (sums.sequences, sums.total_length);
    let (first, last) = (sums.total_first_length, sums.total_last_length);
    let clips = "ignores clipping";
    line(out, "total length", total, clips)?;
    line(out, "total first fragment length", first, clips)?;
    line(out, "total last fragment length", last, clips)?;
    line(out, "bases mapped", sums.bases_mapped, clips)?;
    line(out, "bases mapped (cigar)", sums.bases_mapped_cigar, "more accurate")?;
    line(out, "bases trimmed", 0, "")?;
    line(out, "bases duplicated", sums.bases_duplicated, "")?;
    line(out, "mismatches", sums.mismatches, "from NM fields")?;
    // Samtools divides most numbers in single precision.
    let error_rate = match sums.bases_mapped_cigar {
        0 => 0.0,
        bases => sums.mismatches as f32 / bases as f32,
    };
    let note = "mismatches / bases mapped (cigar)";
    line(out, "error rate", scientific(error_rate.into()), note)?;
    let average = |length: u64, reads: u64| quotient(length as f32, reads as f32);
    line(out, "average length", format_args!("{:.0}", average(total, reads)), "")?;
    let (first, last) = (average(first, sums.first_fragments), average(last, sums.last_fragments));
    line(out, "average first fragment length", format_args!("{first:.0}"), "")?;
    line(out, "average last fragment length", format_args!("{last:.0}"), "")?;
    line(out, "maximum length", longest.all, "")?;
    line(out, "maximum first fragment length", longest.first, "")?;
    line(out, "maximum last fragment length", longest.last, "")?;
    let quality = if total == 0 { 0.0 } else { sums.quality_sum as f64 / total as f64 };
    line(out, "average quality", format_args!("{quality:.1}"), "")
}

fn write_inserts(out: &mut impl Write, counts: &SamtoolsStatsCounts) -> fmt::Result {
    let (sums, inserts) = (&counts.sums, counts.inserts());
    line(out, "insert size average", format_args!("{:.1}", inserts.mean_bp), "")?;
    let deviation = inserts.standard_deviation_bp;
    line(out, "insert size standard deviation", format_args!("{deviation:.1}"), "")?;
    line(out, "inward oriented pairs", inserts.inward, "")?;
    line(out, "outward oriented pairs", inserts.outward, "")?;
    line(out, "pairs with other orientation", inserts.other, "")?;
    line(out, "pairs on different chromosomes", sums.on_different_sequences / 2, "")?;
    let share = quotient((100 * sums.properly_paired) as f32, sums.sequences as f32);
    line(out, "percentage of properly paired reads (%)", format_args!("{share:.1}"), "")
}

/// 0 where there is nothing to divide by.
fn quotient(part: f32, whole: f32) -> f32 {
    if whole == 0.0 { 0.0 } else { part / whole }
}

/// A number as C prints it with `%e`.
fn scientific(value: f64) -> String {
    let text = format!("{value:.6e}");
    let Some((digits, exponent)) = text.split_once('e') else { return text };
    let (sign, exponent) = match exponent.strip_prefix('-') {
        Some(exponent) => ('-', exponent),
        None => ('+', exponent),
    };
    format!("{digits}e{sign}{exponent:0>2}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn scientific_numbers() {
        let t = |value: f64, expected| assert_eq!(scientific(value), expected);
        t(0.0, "0.000000e+00");
        t(0.008_857_457_1, "8.857457e-03");
        t(12.5, "1.250000e+01");
        t(-1e-120, "-1.000000e-120");
    }

    #[test]
    fn nothing_counted() {
        let mut text = String::new();
        write_samtools_stats(&mut text, "a\tb", &SamtoolsStatsCounts::default()).unwrap();
        assert!(text.starts_with("# This file was produced by samtools stats-compatible seqloom "));
        assert_eq!(text.lines().filter(|line| line.starts_with("SN\t")).count(), 39);
        assert!(text.contains("SN\terror rate:\t0.000000e+00\t# mismatches"), "{text}");
    }
}

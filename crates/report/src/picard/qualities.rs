//! The texts of Picard CollectQualityYieldMetrics, MeanQualityByCycle and QualityScoreDistribution.

use std::fmt::{self, Write};

use seqloom_prep::metrics::{QualityByCycleCounts, QualityDistributionCounts, QualityYieldCounts};

use super::{Column, Heading, write_whole_columns};

const YIELD_COLUMNS: &str = "TOTAL_READS\tPF_READS\tREAD_LENGTH\tTOTAL_BASES\tPF_BASES\t\
    Q20_BASES\tPF_Q20_BASES\tQ30_BASES\tPF_Q30_BASES\tQ20_EQUIVALENT_YIELD\t\
    PF_Q20_EQUIVALENT_YIELD";

/// Writes the quality yield.
///
/// # Errors
/// Only those of `out`.
pub fn write_quality_yield(
    out: &mut impl Write,
    heading: &Heading<'_>,
    counts: &QualityYieldCounts,
) -> fmt::Result {
    heading.write(out, "CollectQualityYieldMetrics")?;
    let class = "picard.analysis.CollectQualityYieldMetrics$QualityYieldMetrics";
    writeln!(out, "\n## METRICS CLASS\t{class}\n{YIELD_COLUMNS}")?;
    let QualityYieldCounts { all, passed } = counts;
    write!(out, "{}\t{}\t{}", all.reads, passed.reads, counts.read_length())?;
    for (all, passed) in [
        (all.bases, passed.bases),
        (all.q20_bases, passed.q20_bases),
        (all.q30_bases, passed.q30_bases),
        (all.q20_equivalent(), passed.q20_equivalent()),
    ] {
        write!(out, "\t{all}\t{passed}")?;
    }
    writeln!(out, "\n\n")
}

/// Writes mean qualities by cycle.
///
/// # Errors
/// Only those of `out`.
pub fn write_quality_by_cycle(
    out: &mut impl Write,
    heading: &Heading<'_>,
    counts: &QualityByCycleCounts,
) -> fmt::Result {
    heading.write(out, "MeanQualityByCycle")?;
    writeln!(out, "\n")?;
    let column = |name, means: Vec<(u32, f64)>| -> Column<'_> {
        (name, means.into_iter().map(|(cycle, mean)| (cycle.into(), mean)).collect())
    };
    let columns = vec![
        column("MEAN_QUALITY", counts.means()),
        column("MEAN_ORIGINAL_QUALITY", counts.original_means()),
    ];
    write_whole_columns(out, "Integer", "CYCLE", columns)
}

/// Writes how often each quality is met.
///
/// # Errors
/// Only those of `out`.
pub fn write_quality_distribution(
    out: &mut impl Write,
    heading: &Heading<'_>,
    counts: &QualityDistributionCounts,
) -> fmt::Result {
    heading.write(out, "QualityScoreDistribution")?;
    writeln!(out, "\n")?;
    let column = |name, counts: &[u64]| -> Column<'_> {
        let met = (0..).zip(counts).filter(|&(_, &count)| count > 0);
        (name, met.map(|(quality, &count)| (quality, count as f64)).collect())
    };
    let columns =
        vec![column("COUNT_OF_Q", &counts.stated()), column("COUNT_OF_OQ", &counts.original())];
    write_whole_columns(out, "Byte", "QUALITY", columns)
}

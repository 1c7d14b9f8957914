//! Which metrics are counted.

/// Which metrics are counted.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct MetricsRequest {
    /// Picard CollectInsertSizeMetrics.
    pub insert_size: bool,
    /// Picard CollectAlignmentSummaryMetrics.
    pub alignment_summary: bool,
    /// Picard CollectQualityYieldMetrics.
    pub quality_yield: bool,
    /// Picard MeanQualityByCycle.
    pub quality_by_cycle: bool,
    /// Picard QualityScoreDistribution.
    pub quality_distribution: bool,
    /// Summary numbers of `samtools stats`.
    pub samtools_stats: bool,
    /// Bases and adapters by cycle, mapping qualities.
    pub cycles: bool,
    /// Read groups.
    pub read_groups: bool,
    /// Picard CollectGcBiasMetrics, where there is a reference.
    pub gc_bias: bool,
    /// `samtools depth -a -s`, of records that come sorted by coordinate into one output.
    pub depth: bool,
}

impl MetricsRequest {
    /// Every metric.
    pub const ALL: Self = Self {
        insert_size: true,
        alignment_summary: true,
        quality_yield: true,
        quality_by_cycle: true,
        quality_distribution: true,
        samtools_stats: true,
        cycles: true,
        read_groups: true,
        gc_bias: true,
        depth: true,
    };

    /// Whether records are compared with the reference, where there is one.
    #[must_use]
    pub fn wants_reference(&self) -> bool {
        self.alignment_summary || self.gc_bias
    }

    /// Whether nothing is requested.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }
}

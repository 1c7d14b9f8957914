//! Dynamic quantization: qualities merged to a few levels, at the least cost.

use super::log10::log10;
use super::{MAX_QUALITY, QUALITIES};

/// Qualities up to this one may be merged at no cost.
const MIN_INTERESTING: usize = 6;

/// Observations of each recalibrated quality, and the level that it is merged to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Quantization {
    pub(crate) counts: [u64; QUALITIES],
    pub(crate) qualities: [u8; QUALITIES],
}

impl Quantization {
    /// Merges neighbours until there are at most `levels` (at least one).
    pub(crate) fn new(counts: [u64; QUALITIES], levels: u8) -> Self {
        Self { counts, qualities: quantized(&counts, usize::from(levels.max(1))) }
    }

    /// Number of levels, as GATK counts them: runs of equal qualities.
    pub(crate) fn levels(&self) -> usize {
        1 + self.qualities.windows(2).filter(|pair| pair[0] != pair[1]).count()
    }
}

/// A run of qualities: one, or two neighbouring runs together.
struct Interval {
    first: usize,
    last: usize,
    observations: u64,
    errors: u64,
    parts: Option<(usize, usize)>,
}

impl Interval {
    fn single(quality: usize, observations: u64) -> Self {
        let errors = (observations as f64 * error_rate(quality)).floor();
        // GATK keeps the errors of one quality in 32 bits.
        let errors = errors.min(f64::from(i32::MAX)) as u64;
        Self { first: quality, last: quality, observations, errors, parts: None }
    }

    fn error_rate(&self) -> f64 {
        match (self.parts, self.observations) {
            (None, _) => error_rate(self.first),
            (_, 0) => 0.0,
            (_, observations) => {
                (self.errors.saturating_add(1)) as f64 / observations.saturating_add(1) as f64
            }
        }
    }

    fn quality(&self) -> u8 {
        match (self.parts, self.error_rate()) {
            (None, _) => self.first as u8,
            (_, 0.0) => MAX_QUALITY,
            (_, rate) => ((-10.0 * log10(rate)).round() as u8).clamp(1, MAX_QUALITY),
        }
    }
}

fn error_rate(quality: usize) -> f64 {
    10_f64.powf(quality as f64 / -10.0)
}

/// Cost of giving all qualities in an interval the error rate `rate`.
fn penalty(intervals: &[Interval], interval: &Interval, rate: f64) -> f64 {
    match interval.parts {
        _ if rate == 0.0 => 0.0,
        None if interval.last <= MIN_INTERESTING => 0.0,
        None => {
            let distance = log10(interval.error_rate()) - log10(rate);
            distance.abs() * interval.observations as f64
        }
        Some((left, right)) => {
            penalty(intervals, &intervals[left], rate) + penalty(intervals, &intervals[right], rate)
        }
    }
}

fn quantized(counts: &[u64; QUALITIES], levels: usize) -> [u8; QUALITIES] {
    let mut intervals: Vec<Interval> = counts
        .iter()
        .enumerate()
        .map(|(quality, &count)| Interval::single(quality, count))
        .collect();
    let mut roots: Vec<usize> = (0..intervals.len()).collect();
    while roots.len() > levels {
        let merged = |at: usize| {
            let (left, right) = (&intervals[roots[at]], &intervals[roots[at + 1]]);
            Interval {
                first: left.first,
                last: right.last,
                observations: left.observations.saturating_add(right.observations),
                errors: left.errors.saturating_add(right.errors),
                parts: Some((roots[at], roots[at + 1])),
            }
        };
        let mut best: Option<(usize, f64, Interval)> = None;
        for at in 0..roots.len() - 1 {
            let merged = merged(at);
            let cost = penalty(&intervals, &merged, merged.error_rate());
            if best.as_ref().is_none_or(|(_, least, _)| cost < *least) {
                best = Some((at, cost, merged));
            }
        }
        let Some((at, _, merged)) = best else { break };
        intervals.push(merged);
        roots[at] = intervals.len() - 1;
        roots.remove(at + 1);
    }
    let mut qualities = [0; QUALITIES];
    for root in roots.iter().map(|&root| &intervals[root]) {
        qualities[root.first..=root.last].fill(root.quality());
    }
    qualities
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hard_histograms() {
        let mut counts = [0; QUALITIES];
        // Nothing observed: all merges are free and leftmost.
        let qualities = Quantization::new(counts, 16).qualities;
        assert_eq!(qualities[..79], [93; 79]);
        assert_eq!(qualities[79..], [79, 80, 81, 82, 83, 84, 85, 86, 87, 88, 89, 90, 91, 92, 93]);
        counts = [u64::MAX / 50; QUALITIES];
        let quantization = Quantization::new(counts, 1);
        assert_eq!(quantization.levels(), 1);
        let all = Quantization::new(counts, 94);
        assert_eq!(all.qualities.to_vec(), (0..94).collect::<Vec<u8>>());
        assert_eq!(Quantization::new(counts, 0).qualities, quantization.qualities);
    }
}

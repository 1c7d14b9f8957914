//! Raw samples to current, and current to events.
//!
//! A boundary between events is a peak of Welch's t-statistic between the samples before and after
//! it, in windows of two lengths; the short window's peaks win. The statistic is computed from
//! prefix sums. Which steps are rounded to 32 bits follows scrappie, so that boundaries fall where
//! nanopolish and f5c have them.

use seqloom_format::signal::SignalRead;

use super::Events;
use super::welch::statistic;

/// Windows and thresholds of the detection.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct DetectOptions {
    /// Samples of the short windows.
    pub(crate) short_window: usize,
    /// Samples of the long windows.
    pub(crate) long_window: usize,
    /// Threshold of peaks of the short windows.
    pub(crate) short_threshold: f32,
    /// Threshold of peaks of the long windows.
    pub(crate) long_threshold: f32,
    /// How far a peak must be above what is next to it.
    pub(crate) peak_height: f32,
}

impl DetectOptions {
    /// For DNA at 4,000 samples a second (scrappie's values, as nanopolish and f5c have them).
    pub(crate) const DNA: Self = Self {
        short_window: 3,
        long_window: 6,
        short_threshold: 1.4,
        long_threshold: 9.0,
        peak_height: 0.2,
    };

    /// For direct RNA at 3,012 samples a second (nanopolish and f5c).
    pub(crate) const RNA: Self = Self {
        short_window: 7,
        long_window: 14,
        short_threshold: 2.5,
        long_threshold: 9.0,
        peak_height: 1.0,
    };
}

/// Buffers of one caller.
#[derive(Debug, Default)]
pub(crate) struct DetectScratch {
    /// Sums of the samples before each one.
    sums: Vec<f64>,
    /// Sums of their squares.
    square_sums: Vec<f64>,
    short_statistic: Vec<f32>,
    long_statistic: Vec<f32>,
    boundaries: Vec<usize>,
}

/// Current of each sample in picoampere: `(sample + offset) * (range / digitisation)` in 32 bits.
pub(crate) fn samples_to_pa(read: &SignalRead, out: &mut Vec<f32>) {
    let unit_pa = read.range as f32 / read.digitisation as f32;
    let offset = read.offset as f32;
    out.clear();
    out.extend(read.samples.iter().map(|&sample| (f32::from(sample) + offset) * unit_pa));
}

/// Cuts a signal into events, which replace those in `events`. No samples, no events.
pub(crate) fn detect(
    scratch: &mut DetectScratch,
    samples_pa: &[f32],
    options: &DetectOptions,
    events: &mut Events,
) {
    prefix_sums(samples_pa, &mut scratch.sums, &mut scratch.square_sums);
    let [sums, square_sums] = [scratch.sums.as_slice(), scratch.square_sums.as_slice()];
    statistic(sums, square_sums, options.short_window, &mut scratch.short_statistic);
    statistic(sums, square_sums, options.long_window, &mut scratch.long_statistic);
    let statistics = [scratch.short_statistic.as_slice(), scratch.long_statistic.as_slice()];
    find_boundaries(statistics, options, &mut scratch.boundaries);
    cut(sums, square_sums, &scratch.boundaries, events);
}

/// Sums of samples and of squares, each before the sample of its place; one more than samples.
fn prefix_sums(samples: &[f32], sums: &mut Vec<f64>, square_sums: &mut Vec<f64>) {
    let (mut sum, mut square_sum) = (0.0, 0.0);
    sums.resize(samples.len() + 1, 0.0);
    square_sums.resize(samples.len() + 1, 0.0);
    (sums[0], square_sums[0]) = (0.0, 0.0);
    for ((&sample, sum_here), square_sum_here) in
        samples.iter().zip(&mut sums[1..]).zip(&mut square_sums[1..])
    {
        sum += f64::from(sample);
        square_sum += f64::from(sample * sample);
        (*sum_here, *square_sum_here) = (sum, square_sum);
    }
}

/// Sample of a peak that is not there.
const NO_PEAK: usize = usize::MAX;

/// State of one window length.
#[derive(Debug, Clone, Copy)]
struct Detector {
    /// The highest sample of the peak that is being climbed, or [`NO_PEAK`].
    peak: usize,
    /// Its value; without a peak, the lowest value since the last one.
    value: f32,
    /// Whether the peak was high enough, and the way down from it long enough.
    is_valid: bool,
}

/// Requirements of a window length for a peak.
#[derive(Debug, Clone, Copy)]
struct PeakRule {
    /// Samples of a window.
    window: usize,
    /// Threshold of its highest value.
    threshold: f32,
    /// How far it must rise and fall.
    height: f32,
}

impl Detector {
    const NEW: Self = Self { peak: NO_PEAK, value: f32::MAX, is_valid: false };

    /// Takes the value at sample `at`; a peak that is complete with it is returned.
    #[inline(always)]
    fn step(&mut self, at: usize, value: f32, rule: PeakRule) -> Option<usize> {
        let PeakRule { window, threshold, height } = rule;
        if self.peak == NO_PEAK {
            if value < self.value {
                self.value = value;
            } else if value - self.value > height {
                (self.value, self.peak) = (value, at);
            }
            return None;
        }
        if value > self.value {
            (self.value, self.peak) = (value, at);
        }
        self.is_valid |= self.value - value > height && self.value > threshold;
        if !self.is_valid || at - self.peak <= window / 2 {
            return None;
        }
        let peak = self.peak;
        *self = Self { value, ..Self::NEW };
        Some(peak)
    }
}

/// First samples of all events but the first.
fn find_boundaries(
    [short_values, long_values]: [&[f32]; 2],
    options: &DetectOptions,
    boundaries: &mut Vec<usize>,
) {
    let height = options.peak_height;
    let (window, threshold) = (options.short_window, options.short_threshold);
    let short_rule = PeakRule { window, threshold, height };
    let (window, threshold) = (options.long_window, options.long_threshold);
    let long_rule = PeakRule { window, threshold, height };
    let (mut short, mut long) = (Detector::NEW, Detector::NEW);
    // Samples up to this one are not for the long windows.
    let mut masked_to = 0;
    boundaries.clear();
    for (at, (&value, &long_value)) in short_values.iter().zip(long_values).enumerate().skip(1) {
        let (peak, highest) =
            if value > short.value { (at, value) } else { (short.peak, short.value) };
        if short.peak != NO_PEAK && highest > short_rule.threshold {
            // A peak of the short windows that will count: the long ones begin anew after it.
            (long, masked_to) = (Detector::NEW, peak + short_rule.window);
        }
        if let Some(peak) = short.step(at, value, short_rule) {
            boundaries.push(peak);
        }
        if masked_to < at
            && let Some(peak) = long.step(at, long_value, long_rule)
        {
            boundaries.push(peak);
        }
    }
}

/// Events between the boundaries.
fn cut(sums: &[f64], square_sums: &[f64], boundaries: &[usize], events: &mut Events) {
    events.clear();
    let samples = sums.len().saturating_sub(1);
    let mut start = 0;
    for &end in boundaries.iter().chain([&samples]) {
        // Peaks are in order; that one is at the start does not happen but in theory.
        if end <= start {
            continue;
        }
        let length = (end - start) as f32;
        let mean = (sums[end] - sums[start]) as f32 / length;
        let variance = (square_sums[end] - square_sums[start]) as f32 / length - mean * mean;
        events.start_samples.push(start as u64);
        events.length_samples.push(length);
        events.mean_pa.push(mean);
        events.stdv_pa.push(variance.max(0.0).sqrt());
        start = end;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn events_of(samples_pa: &[f32], options: &DetectOptions) -> Events {
        let mut events = Events::default();
        detect(&mut DetectScratch::default(), samples_pa, options, &mut events);
        events
    }

    /// Samples of levels, with a little noise of period 3.
    fn steps(levels: &[(f32, usize)]) -> Vec<f32> {
        let noise = |at: usize| [0.0, 0.5, -0.5][at % 3];
        let level = |&(level, count): &(f32, usize)| std::iter::repeat_n(level, count);
        levels.iter().flat_map(level).enumerate().map(|(at, it)| it + noise(at)).collect()
    }

    #[test]
    fn current_is_made_in_32_bits() {
        let read = SignalRead {
            digitisation: 8192.0,
            offset: 10.0,
            range: 1467.6,
            samples: vec![0, 500, -32768, 32767],
            ..SignalRead::default()
        };
        let mut out = vec![1.0];
        samples_to_pa(&read, &mut out);
        let unit_pa = 1467.6_f32 / 8192.0;
        let expected = [10.0, 510.0, -32758.0, 32777.0].map(|it: f32| it * unit_pa);
        assert_eq!(out, expected);
    }

    #[test]
    fn events_are_the_runs_of_one_level() {
        let samples = steps(&[(80.0, 12), (100.0, 9), (70.0, 15), (90.0, 12)]);
        let events = events_of(&samples, &DetectOptions::DNA);
        assert_eq!(events.start_samples, [0, 12, 21, 36]);
        assert_eq!(events.length_samples, [12.0, 9.0, 15.0, 12.0]);
        let near = |a: f32, b: f32| (a - b).abs() < 1e-3;
        let means: Vec<_> = events.mean_pa.iter().zip([80.0, 100.0, 70.0, 90.0]).collect();
        assert!(means.iter().all(|&(&a, b)| near(a, b)), "{means:?}");
        // The deviation of 0, 0.5, -0.5 is sqrt(1/6).
        assert!(events.stdv_pa.iter().all(|&it| near(it, 0.408_248)), "{:?}", events.stdv_pa);
    }

    #[test]
    fn hard_signals() {
        fn t(samples: &[f32], starts: &[u64]) {
            let events = events_of(samples, &DetectOptions::DNA);
            assert_eq!(events.start_samples, starts);
            assert_eq!(events.length_samples.iter().sum::<f32>(), samples.len() as f32);
        }
        t(&[], &[]);
        t(&[90.0], &[0]);
        t(&[90.0; 5], &[0]);
        // A level that never changes has no peak: differences are 0.
        t(&[90.0; 1000], &[0]);
        // A step two samples from the end: the last window that fits begins a sample before it.
        t(&[vec![80.0; 50], vec![100.0; 2]].concat(), &[0, 49]);
        // A step of a flat line is as high a peak as there is.
        t(&[vec![80.0; 50], vec![100.0; 50]].concat(), &[0, 50]);
    }

    #[test]
    fn buffers_may_hold_another_read() {
        let (long, short) = (steps(&[(80.0, 300), (99.0, 300)]), steps(&[(80.0, 9), (120.0, 9)]));
        let mut scratch = DetectScratch::default();
        let mut events = Events::default();
        detect(&mut scratch, &long, &DetectOptions::DNA, &mut events);
        detect(&mut scratch, &short, &DetectOptions::DNA, &mut events);
        assert_eq!(events, events_of(&short, &DetectOptions::DNA));
    }
}

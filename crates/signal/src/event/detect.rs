//! Raw samples to current, and current to events.
//!
//! A boundary between events is a peak of Welch's t-statistic between the samples before and behind
//! it, in windows of two lengths; the short window's peaks win. The statistic is computed from
//! prefix sums. Which steps are rounded to 32 bits follows scrappie, so that boundaries fall where
//! nanopolish and f5c have them.

use seqloom_format::signal::SignalRead;

use super::Events;

/// Windows and thresholds of the detection.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct DetectOptions {
    /// Samples of the short windows.
    pub short_window: usize,
    /// Samples of the long windows.
    pub long_window: usize,
    /// What a peak of the short windows must exceed.
    pub short_threshold: f32,
    /// What a peak of the long windows must exceed.
    pub long_threshold: f32,
    /// How far a peak must stand above what is beside it.
    pub peak_height: f32,
}

impl DetectOptions {
    /// For DNA at 4,000 samples a second (scrappie's values, as nanopolish and f5c have them).
    pub const DNA: Self = Self {
        short_window: 3,
        long_window: 6,
        short_threshold: 1.4,
        long_threshold: 9.0,
        peak_height: 0.2,
    };
    /// For RNA at 3,000 to 4,000 samples a second (the same source).
    pub const RNA: Self = Self {
        short_window: 7,
        long_window: 14,
        short_threshold: 2.5,
        long_threshold: 9.0,
        peak_height: 1.0,
    };
}

/// Buffers of one caller.
#[derive(Debug, Default)]
pub struct DetectScratch {
    /// Sums of the samples before each one.
    sums: Vec<f64>,
    /// Sums of their squares.
    square_sums: Vec<f64>,
    short_statistic: Vec<f32>,
    long_statistic: Vec<f32>,
    boundaries: Vec<usize>,
}

/// Current of each sample in picoampere: `(sample + offset) * (range / digitisation)` in 32 bits.
pub fn samples_to_pa(read: &SignalRead, out: &mut Vec<f32>) {
    let unit_pa = read.range as f32 / read.digitisation as f32;
    let offset = read.offset as f32;
    out.clear();
    out.extend(read.samples.iter().map(|&sample| (f32::from(sample) + offset) * unit_pa));
}

/// Cuts a signal into events, which replace those in `events`. No samples, no events.
pub fn detect(
    scratch: &mut DetectScratch,
    samples_pa: &[f32],
    options: &DetectOptions,
    events: &mut Events,
) {
    prefix_sums(samples_pa, &mut scratch.sums, &mut scratch.square_sums);
    let sums = [scratch.sums.as_slice(), scratch.square_sums.as_slice()];
    statistic(sums, options.short_window, &mut scratch.short_statistic);
    statistic(sums, options.long_window, &mut scratch.long_statistic);
    let statistics = [scratch.short_statistic.as_slice(), scratch.long_statistic.as_slice()];
    find_boundaries(statistics, options, &mut scratch.boundaries);
    cut(sums, &scratch.boundaries, events);
}

/// Sums of samples and of squares, each in front of the sample of its place; one more than samples.
fn prefix_sums(samples: &[f32], sums: &mut Vec<f64>, square_sums: &mut Vec<f64>) {
    let (mut sum, mut square_sum) = (0.0, 0.0);
    sums.clear();
    square_sums.clear();
    sums.push(sum);
    square_sums.push(square_sum);
    sums.extend(samples.iter().map(|&sample| {
        sum += f64::from(sample);
        sum
    }));
    square_sums.extend(samples.iter().map(|&sample| {
        square_sum += f64::from(sample * sample);
        square_sum
    }));
}

/// The t-statistic at each sample between the `window` samples before it and those from it on; 0
/// where one of the windows is not whole.
fn statistic([sums, square_sums]: [&[f64]; 2], window: usize, out: &mut Vec<f32>) {
    let samples = sums.len().saturating_sub(1);
    out.clear();
    out.resize(samples, 0.0);
    if window < 2 || samples < 2 * window {
        return;
    }
    let count = samples - 2 * window + 1;
    let ends = [0, window, 2 * window].map(|start| start..start + count);
    let [s0, s1, s2] = ends.clone().map(|part| &sums[part]);
    let [q0, q1, q2] = ends.map(|part| &square_sums[part]);
    for (at, out) in out[window..window + count].iter_mut().enumerate() {
        *out = welch([s0[at], s1[at], s2[at]], [q0[at], q1[at], q2[at]], window as f32);
    }
}

/// The statistic of two windows of `width` samples, from the sums at their three ends. Only the
/// first window's sums are used in 64 bits.
#[inline(always)]
fn welch(sums: [f64; 3], squares: [f64; 3], width: f32) -> f32 {
    let mean_before = ((sums[1] - sums[0]) / f64::from(width)) as f32;
    let mean_behind = (sums[2] - sums[1]) as f32 / width;
    let square_before = (squares[1] - squares[0]) / f64::from(width);
    let square_behind = (squares[2] - squares[1]) as f32 / width;
    let variance = square_before - f64::from(mean_before * mean_before) + f64::from(square_behind)
        - f64::from(mean_behind * mean_behind);
    let variance = (variance as f32).max(f32::MIN_POSITIVE);
    (mean_behind - mean_before).abs() / (variance / width).sqrt()
}

/// What one window length has seen so far.
#[derive(Debug, Clone, Copy)]
struct Detector {
    window: usize,
    threshold: f32,
    /// Samples up to this one are not looked at.
    masked_to: usize,
    /// The highest sample of the peak that is being climbed.
    peak: Option<usize>,
    /// Its value; without a peak, the lowest value since the last one.
    value: f32,
    /// Whether the peak was high enough, and the way down from it long enough.
    is_valid: bool,
}

impl Detector {
    fn new(window: usize, threshold: f32) -> Self {
        Self { window, threshold, masked_to: 0, peak: None, value: f32::MAX, is_valid: false }
    }

    /// Takes the value at sample `at`; a peak that is complete with it is returned. With `masks`,
    /// a peak above the threshold masks the `other` one.
    fn step(
        &mut self,
        at: usize,
        value: f32,
        height: f32,
        other: Option<&mut Self>,
    ) -> Option<usize> {
        if self.masked_to >= at {
            return None;
        }
        let Some(mut peak) = self.peak else {
            if value < self.value {
                self.value = value;
            } else if value - self.value > height {
                (self.value, self.peak) = (value, Some(at));
            }
            return None;
        };
        if value > self.value {
            (self.value, peak) = (value, at);
            self.peak = Some(at);
        }
        if let Some(other) = other.filter(|_| self.value > self.threshold) {
            *other =
                Self { masked_to: peak + self.window, ..Self::new(other.window, other.threshold) };
        }
        self.is_valid |= self.value - value > height && self.value > self.threshold;
        if !self.is_valid || at - peak <= self.window / 2 {
            return None;
        }
        (self.peak, self.value, self.is_valid) = (None, value, false);
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
    let mut short = Detector::new(options.short_window, options.short_threshold);
    let mut long = Detector::new(options.long_window, options.long_threshold);
    boundaries.clear();
    for (at, (&short_value, &long_value)) in short_values.iter().zip(long_values).enumerate() {
        boundaries.extend(short.step(at, short_value, height, Some(&mut long)));
        boundaries.extend(long.step(at, long_value, height, None));
    }
}

/// Events between the boundaries.
fn cut([sums, square_sums]: [&[f64]; 2], boundaries: &[usize], events: &mut Events) {
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

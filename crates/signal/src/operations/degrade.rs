//! Lossy reduction of raw signal: the lowest bits, which are noise, are rounded away.
//!
//! How many bits are noise depends on the sequencer, the kit and the sampling rate; the figures are
//! those of Jenner et al. 2025 (Genome Research 35:1574), as slow5tools 1.3.0 has them.

use seqloom_format::signal::{SignalHeader, SignalRead};

/// What the reads of one kind of run look like, and how many of their bits are noise.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Dataset {
    /// For messages.
    pub name: &'static str,
    /// Attribute `sequencing_kit`.
    kit: &'static str,
    /// Attribute `experiment_type`.
    experiment: &'static str,
    /// Attributes `sample_frequency` and `sample_rate`, and each read's sampling rate.
    rate: &'static str,
    rate_hz: f64,
    /// Attribute `device_type`: those sequencers have the digitisation.
    devices: [&'static str; 2],
    digitisation: f64,
    /// Bits to be rounded away.
    pub bits: u8,
}

const MINION: ([&str; 2], f64) = (["minion", "gridion"], 8192.0);
const PROMETHION: ([&str; 2], f64) = (["promethion", "p2_solo"], 2048.0);

/// A row of [`DATASETS`].
const fn row(
    name: &'static str,
    device: ([&'static str; 2], f64),
    kit: &'static str,
    experiment: &'static str,
    rate: (&'static str, f64),
    bits: u8,
) -> Dataset {
    let (devices, digitisation) = device;
    Dataset { name, kit, experiment, rate: rate.0, rate_hz: rate.1, devices, digitisation, bits }
}

const DNA: &str = "genomic_dna";
const RNA: &str = "rna";
const HZ_3000: (&str, f64) = ("3000", 3000.0);
const HZ_4000: (&str, f64) = ("4000", 4000.0);
const HZ_5000: (&str, f64) = ("5000", 5000.0);

/// What is known.
const DATASETS: [Dataset; 7] = [
    row("DNA, LSK114, 5 kHz, MinION or GridION", MINION, "sqk-lsk114", DNA, HZ_5000, 3),
    row("DNA, LSK109, 4 kHz, PromethION", PROMETHION, "sqk-lsk109", DNA, HZ_4000, 2),
    row("DNA, LSK114, 4 kHz, PromethION", PROMETHION, "sqk-lsk114", DNA, HZ_4000, 3),
    row("DNA, LSK114, 5 kHz, PromethION", PROMETHION, "sqk-lsk114", DNA, HZ_5000, 3),
    row("RNA, RNA002, 3 kHz, PromethION", PROMETHION, "sqk-rna002", RNA, HZ_3000, 2),
    row("RNA, RNA004, 4 kHz, PromethION", PROMETHION, "sqk-rna004", RNA, HZ_4000, 3),
    row("DNA, ULK114, 5 kHz, PromethION", PROMETHION, "sqk-ulk114", DNA, HZ_5000, 3),
];

impl Dataset {
    /// The dataset that all read groups of a file belong to, if it is a known one.
    #[must_use]
    pub fn of(header: &SignalHeader) -> Option<&'static Self> {
        DATASETS.iter().find(|dataset| dataset.is_of(header))
    }

    fn is_of(&self, header: &SignalHeader) -> bool {
        let values = |name: &str| header.attributes.get(name.as_bytes());
        let all = |name: &str, required: &[&str]| {
            values(name).is_some_and(|values| {
                values.iter().all(|value| required.iter().any(|it| it.as_bytes() == value))
            })
        };
        // One of the two may be missing: FAST5 knows the first, POD5 the second.
        let is_missing =
            |name| values(name).and_then(|values| values.first()).is_none_or(Vec::is_empty);
        let rate = [self.rate];
        let (frequency, sample_rate) = ("sample_frequency", "sample_rate");
        let has_rate = if is_missing(frequency) {
            all(sample_rate, &rate)
        } else {
            all(frequency, &rate) && (is_missing(sample_rate) || all(sample_rate, &rate))
        };
        has_rate
            && all("device_type", &self.devices)
            && all("sequencing_kit", &[self.kit])
            && all("experiment_type", &[self.experiment])
    }

    /// Whether a read is what the header promises.
    ///
    /// # Errors
    /// What it is instead, in words.
    pub(crate) fn check(&self, read: &SignalRead) -> Result<(), String> {
        let name = self.name;
        if read.digitisation != self.digitisation {
            let (found, required) = (read.digitisation, self.digitisation);
            return Err(format!("digitisation is {found}, not {required} as for {name}"));
        }
        if read.sampling_rate != self.rate_hz {
            let (found, required) = (read.sampling_rate, self.rate_hz);
            return Err(format!("sampling rate is {found}, not {required} as for {name}"));
        }
        Ok(())
    }
}

/// Rounds each sample to the nearest multiple of `2^bits`, halves up. A multiple that no sample can
/// have (32,768) is rounded down instead: slow5tools lets it overflow to -32,768.
pub(crate) fn round_samples(samples: &mut [i16], bits: u8) {
    let bits = u32::from(bits.min(16));
    if bits == 0 {
        return;
    }
    let half = 1_i32 << (bits - 1);
    let mask = !((1_i32 << bits) - 1);
    let top = i32::from(i16::MAX) & mask;
    for sample in samples {
        *sample = ((i32::from(*sample) + half) & mask).min(top) as i16;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn samples_are_rounded_to_multiples() {
        fn t(bits: u8, sample: i16, expected: i16) {
            let mut samples = [sample];
            round_samples(&mut samples, bits);
            assert_eq!(samples[0], expected, "{sample} {bits}");
        }
        t(0, 5, 5);
        t(1, 5, 6);
        t(1, 4, 4);
        t(1, -5, -4);
        t(3, 3, 0);
        t(3, 4, 8);
        t(3, -4, 0);
        t(3, -5, -8);
        t(3, i16::MAX, 32760);
        t(3, i16::MIN, i16::MIN);
        t(15, 20000, 0);
        t(15, -20000, -32768);
        t(16, 20000, 0);
        t(16, -20000, 0);
        t(200, -1, 0);
    }

    #[test]
    fn a_dataset_is_known_by_its_attributes() {
        let header = |pairs: &[(&str, &str)]| {
            let mut header = SignalHeader::default();
            for (name, value) in pairs {
                header.attributes.insert(name.as_bytes().into(), vec![value.as_bytes().into()]);
            }
            header
        };
        let base = [
            ("device_type", "p2_solo"),
            ("sequencing_kit", "sqk-rna004"),
            ("experiment_type", "rna"),
        ];
        let with = |more: &[(&'static str, &'static str)]| header(&[&base, more].concat());
        assert!(Dataset::of(&with(&[])).is_none());
        assert_eq!(Dataset::of(&with(&[("sample_frequency", "4000")])).unwrap().bits, 3);
        assert_eq!(Dataset::of(&with(&[("sample_rate", "4000")])).unwrap().bits, 3);
        let both = [("sample_frequency", "4000"), ("sample_rate", "5000")];
        assert!(Dataset::of(&with(&both)).is_none());
        assert!(Dataset::of(&with(&[("sample_frequency", "3000")])).is_none());
        let dataset = Dataset::of(&with(&[("sample_rate", "4000")])).unwrap();
        let read = |digitisation, sampling_rate| SignalRead {
            digitisation,
            sampling_rate,
            ..SignalRead::default()
        };
        assert!(dataset.check(&read(2048.0, 4000.0)).is_ok());
        assert!(dataset.check(&read(8192.0, 4000.0)).is_err());
        assert!(dataset.check(&read(2048.0, 5000.0)).is_err());
    }
}

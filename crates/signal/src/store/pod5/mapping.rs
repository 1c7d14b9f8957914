//! What a value of POD5 is called in SLOW5: header, auxiliary fields and a read's values, as
//! blue-crab 0.6.0 writes them.

use std::collections::{BTreeSet, HashMap};

use seqloom_format::pod5::{ReadRow, RunInfo, RunValue};
use seqloom_format::signal::{AuxiliaryField, AuxiliaryType, SignalHeader, SignalRead};

use super::error::{MAX_ATTRIBUTES, Pod5ReadError};
use super::moment;
use crate::store::uuid;

/// Reasons for the end of a read, in the order of their numbers (POD5's `EndReason`).
const END_REASONS: [&[u8]; 10] = [
    b"unknown",
    b"mux_change",
    b"unblock_mux_change",
    b"data_service_unblock_mux_change",
    b"signal_positive",
    b"signal_negative",
    b"api_request",
    b"device_data_error",
    b"analysis_config_change",
    b"paused",
];
/// Most labels of an enum: 255 is "missing" (SLOW5 specification).
const MAX_LABELS: usize = 255;
/// A label longer than this is no reason but damage.
const MAX_LABEL_BYTES: usize = 64;

/// Why a file has no mapping.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Defect {
    /// A run lacks what its reads need.
    Lacks { run: String, column: &'static str },
    /// More than [`MAX_ATTRIBUTES`].
    TooManyAttributes,
}

/// Fields that all reads of a run share.
#[derive(Debug, Clone, Copy)]
struct SharedByRun {
    number: u32,
    digitisation: f64,
    sampling_rate: f64,
}

/// How the reads of one file are turned into SLOW5's model.
#[derive(Debug)]
pub(super) struct Mapping {
    groups: HashMap<Vec<u8>, SharedByRun>,
    end_reasons: Vec<Vec<u8>>,
    /// Attributes whose name or value is not as the file has it.
    changed: BTreeSet<Vec<u8>>,
}

impl Mapping {
    /// The mapping of a file, and its header.
    ///
    /// # Errors
    /// [`Defect`].
    pub(super) fn new<'a>(
        runs: &[RunInfo],
        end_reasons: impl Iterator<Item = &'a [u8]>,
    ) -> Result<(Self, SignalHeader), Defect> {
        let mut groups = HashMap::with_capacity(runs.len());
        let mut kept = Vec::new();
        for run in runs {
            // A run that is there twice counts once, as it is there first.
            if groups.contains_key(&run.acquisition_id) {
                continue;
            }
            let needed = |column| {
                run.integer(column).ok_or_else(|| {
                    let run = String::from_utf8_lossy(&run.acquisition_id).into_owned();
                    Defect::Lacks { run, column }
                })
            };
            let (max, min) = (needed("adc_max")?, needed("adc_min")?);
            let group = SharedByRun {
                number: kept.len() as u32,
                digitisation: (i128::from(max) - i128::from(min) + 1) as f64,
                sampling_rate: needed("sample_rate")? as f64,
            };
            groups.insert(run.acquisition_id.clone(), group);
            kept.push(run);
        }
        let end_reasons = labels(end_reasons);
        let mut header = SignalHeader {
            read_groups: kept.len().max(1) as u32,
            auxiliary: auxiliary_fields(&end_reasons),
            ..SignalHeader::default()
        };
        let mut changed = BTreeSet::new();
        for (group, run) in kept.iter().enumerate() {
            for Attribute { name, value } in attributes(run) {
                let (name, value) = (on_one_line(name), on_one_line(value));
                if name.is_changed || value.is_changed {
                    changed.insert(name.text.clone());
                }
                let (name, value) = (name.text, value.text);
                if name.is_empty() {
                    continue;
                }
                if header.attributes.len().saturating_mul(kept.len()) > MAX_ATTRIBUTES {
                    return Err(Defect::TooManyAttributes);
                }
                let values = header.attributes.entry(name);
                let values = values.or_insert_with(|| vec![Vec::new(); kept.len()]);
                values[group] = value;
            }
        }
        Ok((Self { groups, end_reasons, changed }, header))
    }

    /// Names of the attributes that SLOW5 cannot hold as the file has them, in their order.
    pub(super) fn changed(&self) -> impl Iterator<Item = &[u8]> {
        self.changed.iter().map(Vec::as_slice)
    }

    /// Fills all of `read` but its samples.
    pub(super) fn fill(
        &self,
        row: &ReadRow<'_>,
        read: &mut SignalRead,
    ) -> Result<(), Pod5ReadError> {
        let acquisition_id = row.acquisition_id.unwrap_or_default();
        let Some(group) = self.groups.get(acquisition_id) else {
            let acquisition_id = String::from_utf8_lossy(acquisition_id).into_owned();
            return Err(Pod5ReadError::UnknownRun { acquisition_id });
        };
        let calibration = row.calibration_offset.zip(row.calibration_scale);
        let (offset, scale) = calibration.ok_or(Pod5ReadError::NoCalibration)?;
        read.read_id.extend_from_slice(&uuid::text(row.read_id));
        read.read_group = group.number;
        read.digitisation = group.digitisation;
        read.offset = offset.into();
        read.range = f64::from(scale) * group.digitisation;
        read.sampling_rate = group.sampling_rate;
        self.fill_auxiliary(row, read);
        Ok(())
    }

    /// In the order of [`auxiliary_fields`].
    fn fill_auxiliary(&self, row: &ReadRow<'_>, read: &mut SignalRead) {
        let values = &mut read.auxiliary;
        let mut digits = [0; 10];
        values.push(row.channel.map_or(b"", |channel| decimal(channel, &mut digits)));
        let median = row.median_before.map_or(MISSING_F64, |x| f64::from(x).to_bits());
        values.push(&median.to_le_bytes());
        // The field is signed. No channel comes near 2^31 reads; such a number is kept as missing.
        let number = row.read_number.and_then(|number| i32::try_from(number).ok());
        values.push(&number.unwrap_or(i32::MAX).to_le_bytes());
        values.push(&[row.well.unwrap_or(u8::MAX)]);
        values.push(&row.start.unwrap_or(u64::MAX).to_le_bytes());
        values.push(&[self.end_reason(row.end_reason)]);
        let mut float = |value: Option<f32>| {
            values.push(&value.map_or(MISSING_F32, f32::to_bits).to_le_bytes());
        };
        float(row.tracked_scaling_shift);
        float(row.tracked_scaling_scale);
        float(row.predicted_scaling_shift);
        float(row.predicted_scaling_scale);
        // Tables without these have 0 in POD5's own migration (v0 to v1), and so from blue-crab.
        values.push(&row.num_reads_since_mux_change.unwrap_or(0).to_le_bytes());
        values.push(&row.time_since_mux_change.unwrap_or(0.0).to_le_bytes());
        values.push(&row.num_minknow_events.unwrap_or(0).to_le_bytes());
        for level in [row.open_pore_level, row.expected_open_pore_level, row.selected_read_level] {
            values.push(&level.map_or(MISSING_F32, f32::to_bits).to_le_bytes());
        }
    }

    /// Number of the label; that of `unknown` for what is no label, 255 for none.
    fn end_reason(&self, name: Option<&[u8]>) -> u8 {
        let Some(name) = name else { return u8::MAX };
        let found = self.end_reasons.iter().position(|label| label == name);
        found.map_or(0, |index| index as u8)
    }
}

/// The NaN that stands for a missing value (`AuxiliaryType::missing`).
const MISSING_F32: u32 = 0x7FC0_0000;
const MISSING_F64: u64 = 0x7FF8_0000_0000_0000;

/// The known reasons, then those of the file that are not among them. FAST5's old `partial` is
/// `unknown` to blue-crab; so is what could not be a label.
fn labels<'a>(found: impl Iterator<Item = &'a [u8]>) -> Vec<Vec<u8>> {
    let mut labels: Vec<Vec<u8>> = END_REASONS.iter().map(|label| label.to_vec()).collect();
    for name in found {
        let is_part = |c: &u8| c.is_ascii_alphanumeric() || *c == b'_';
        let is_label = (1..=MAX_LABEL_BYTES).contains(&name.len()) && name.iter().all(is_part);
        let is_new = name != b"partial" && !labels.iter().any(|label| label == name);
        if is_label && is_new && labels.len() < MAX_LABELS {
            labels.push(name.to_vec());
        }
    }
    labels
}

fn auxiliary_fields(end_reasons: &[Vec<u8>]) -> Vec<AuxiliaryField> {
    let fields = [
        ("channel_number", AuxiliaryType::Char),
        ("median_before", AuxiliaryType::F64),
        ("read_number", AuxiliaryType::I32),
        ("start_mux", AuxiliaryType::U8),
        ("start_time", AuxiliaryType::U64),
        ("end_reason", AuxiliaryType::Enum(end_reasons.to_vec())),
        ("tracked_scaling_shift", AuxiliaryType::F32),
        ("tracked_scaling_scale", AuxiliaryType::F32),
        ("predicted_scaling_shift", AuxiliaryType::F32),
        ("predicted_scaling_scale", AuxiliaryType::F32),
        ("num_reads_since_mux_change", AuxiliaryType::U32),
        ("time_since_mux_change", AuxiliaryType::F32),
        ("num_minknow_events", AuxiliaryType::U64),
        ("open_pore_level", AuxiliaryType::F32),
        ("expected_open_pore_level", AuxiliaryType::F32),
        ("selected_read_level", AuxiliaryType::F32),
    ];
    let field = |(name, kind): (&str, AuxiliaryType)| {
        let is_array = kind == AuxiliaryType::Char;
        AuxiliaryField { name: name.into(), kind, is_array }
    };
    fields.map(field).into()
}

/// An attribute of a run.
struct Attribute {
    name: Vec<u8>,
    value: Vec<u8>,
}

/// Attributes of a run, in an order in which a later one overrules an earlier one of its name:
/// columns, with the tags where their column is, and the acquisition id as `run_id` too.
fn attributes(run: &RunInfo) -> Vec<Attribute> {
    let mut attributes = Vec::new();
    let tag =
        |(name, value): &(Vec<u8>, Vec<u8>)| Attribute { name: name.clone(), value: value.clone() };
    for (name, value) in &run.values {
        let mut push =
            |value: Vec<u8>| attributes.push(Attribute { name: name.as_bytes().to_vec(), value });
        match value {
            RunValue::Tags(tags) => attributes.extend(tags.iter().map(tag)),
            RunValue::Text(text) => push(text.clone()),
            RunValue::Integer(number) => push(number.to_string().into()),
            RunValue::Moment { count, per_second, zone } => {
                let mut text = Vec::new();
                moment::append(*count, *per_second, zone, &mut text);
                push(text);
            }
        }
        if attributes.last().is_some_and(|it| it.name == b"acquisition_id") {
            let (name, value) = (b"run_id".to_vec(), run.acquisition_id.clone());
            attributes.push(Attribute { name, value });
        }
    }
    attributes
}

/// A text, and whether it is another one than was given.
struct OnOneLine {
    text: Vec<u8>,
    is_changed: bool,
}

/// A text with blanks for tabs and line breaks, which no header of SLOW5 can hold.
fn on_one_line(mut text: Vec<u8>) -> OnOneLine {
    let mut is_changed = false;
    for byte in text.iter_mut().filter(|byte| matches!(byte, b'\t' | b'\n')) {
        *byte = b' ';
        is_changed = true;
    }
    OnOneLine { text, is_changed }
}

/// Decimal digits, without allocating.
fn decimal(mut number: u32, digits: &mut [u8; 10]) -> &[u8] {
    let mut start = digits.len();
    loop {
        start -= 1;
        digits[start] = b'0' + (number % 10) as u8;
        number /= 10;
        if number == 0 {
            return &digits[start..];
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn decimals() {
        for number in [0, 9, 10, 512, u32::MAX] {
            assert_eq!(decimal(number, &mut [0; 10]), number.to_string().as_bytes());
        }
    }

    #[test]
    fn unknown_reasons_get_labels_and_impossible_ones_do_not() {
        let found = [b"paused".as_slice(), b"new_one", b"", b"a b", b"new_one", b"partial", b"x"];
        let labels = labels(found.into_iter());
        assert_eq!(labels.len(), 12);
        assert_eq!(labels[10..], [b"new_one".to_vec(), b"x".to_vec()]);
        let (groups, changed) = (HashMap::new(), BTreeSet::new());
        let mapping = Mapping { groups, end_reasons: labels, changed };
        fn t(mapping: &Mapping, name: Option<&[u8]>, expected: u8) {
            assert_eq!(mapping.end_reason(name), expected, "{name:?}");
        }
        t(&mapping, Some(b"signal_positive"), 4);
        t(&mapping, Some(b"x"), 11);
        t(&mapping, Some(b"partial"), 0);
        t(&mapping, Some(b"a b"), 0);
        t(&mapping, None, 255);
    }

    #[test]
    fn an_attribute_that_a_run_lacks_is_empty_and_later_ones_overrule() {
        let run = |id: &str, tags: Vec<(Vec<u8>, Vec<u8>)>| RunInfo {
            acquisition_id: id.into(),
            values: vec![
                ("acquisition_id", RunValue::Text(id.into())),
                ("adc_max", RunValue::Integer(4095)),
                ("adc_min", RunValue::Integer(-4096)),
                ("sample_rate", RunValue::Integer(4000)),
                ("tracking_id", RunValue::Tags(tags)),
            ],
        };
        let tags = vec![(b"run_id".to_vec(), b"z".to_vec()), (b"t".to_vec(), b"1".to_vec())];
        let runs = [run("a", Vec::new()), run("b", tags), run("a", Vec::new())];
        let (_, header) = Mapping::new(&runs, std::iter::empty()).unwrap();
        assert_eq!(header.read_groups, 2);
        let of = |name: &str| &header.attributes[name.as_bytes()];
        assert_eq!(*of("run_id"), [b"a".to_vec(), b"z".to_vec()]);
        assert_eq!(*of("t"), [Vec::new(), b"1".to_vec()]);
        assert_eq!(*of("adc_min"), [b"-4096".to_vec(), b"-4096".to_vec()]);
        let free = [("note", "a\tb"), ("two\tnames", "c"), ("", "d"), ("good", "e f"), ("n", "\n")];
        let free = free.map(|(name, value)| (name.into(), value.into()));
        let (mapping, header) = Mapping::new(&[run("a", free.into())], std::iter::empty()).unwrap();
        assert_eq!(mapping.changed().collect::<Vec<_>>(), [&b"n"[..], b"note", b"two names"]);
        let of = |name: &str| &header.attributes[name.as_bytes()][0];
        assert_eq!(
            [of("note"), of("two names"), of("good"), of("n")],
            ["a b", "c", "e f", " "].map(|it| it.as_bytes())
        );
        assert!(!header.attributes.contains_key(&b""[..]));
        let odd: Vec<RunInfo> = (0..2_100)
            .map(|i| run(&i.to_string(), vec![(format!("own {i}").into(), Vec::new())]))
            .collect();
        assert_eq!(Mapping::new(&odd, std::iter::empty()).err(), Some(Defect::TooManyAttributes));
        let bare = RunInfo { values: Vec::new(), ..odd[0].clone() };
        let lacks = Defect::Lacks { run: "0".into(), column: "adc_max" };
        assert_eq!(Mapping::new(&[bare], std::iter::empty()).err(), Some(lacks));
        let (_, empty) = Mapping::new(&[], std::iter::empty()).unwrap();
        assert_eq!((empty.read_groups, empty.attributes.len()), (1, 0));
    }
}

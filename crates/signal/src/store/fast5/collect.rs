//! What is found in the groups of one read: the rules by which attributes become fields.

use std::collections::BTreeMap;

use seqloom_format::hdf5::{LinkTarget, Links, ObjectKind};
use seqloom_format::signal::read_id;

use super::auxiliary::{self, Auxiliary};
use super::engine::{Engine, Field, FieldValue};
use super::error::{Fast5Problem, lossy};

/// Deepest nesting of groups below a read: `Raw/Reads/Read_1` of single-read files is 3.
const MAX_DEPTH: usize = 12;
/// Most objects of one read, so that links that meet again cannot multiply work.
const MAX_OBJECTS: usize = 1000;
/// Fields of a read that are numbers, in the order of [`ReadFields::numbers`].
const NUMBERS: [&str; 4] = ["digitisation", "offset", "range", "sampling_rate"];
/// Attributes of `Raw` that MinKNOW and `pod5 convert to_fast5` write, and that `slow5tools f2s`
/// (1.3.0, `read_fast5.c`) does not store: what the software made of the signal, not the signal.
const NOT_STORED: [&[u8]; 7] = [
    b"num_minknow_events",
    b"num_reads_since_mux_change",
    b"predicted_scaling_scale",
    b"predicted_scaling_shift",
    b"time_since_mux_change",
    b"tracked_scaling_scale",
    b"tracked_scaling_shift",
];

/// How a file is read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Fast5Options {
    /// Take reads of several runs in one file; the header then names the first (`f2s --allow`).
    pub allow_run_id_mismatch: bool,
    /// Keep attributes that have no place as auxiliary fields (`f2s --dump-all`).
    pub keep_unknown: bool,
    /// Leave out auxiliary fields, and with them all attributes that have no place (`f2s --lossless
    /// false`).
    pub leave_out_auxiliary: bool,
    /// Give reads whose id no read may have another one ([`read_id::rename`]).
    pub mend_names: bool,
    /// Look at the attributes of all reads when the file is opened, so that no auxiliary field is
    /// lost because the first read lacks it. f2s does not.
    pub complete_header: bool,
}

/// Attributes of a header, each with its one value.
pub(super) type Attributes = BTreeMap<Vec<u8>, Vec<u8>>;

/// Fields of one read, without its signal.
#[derive(Debug, Default)]
pub(super) struct ReadFields {
    pub(super) read_id: Vec<u8>,
    has_read_id: bool,
    numbers: [Option<f64>; 4],
    pub(super) auxiliary: Auxiliary,
    signal: Option<u64>,
    has_run_id: bool,
    /// Whether tracking_id has it.
    pub(super) tags_have_run_id: bool,
    /// Groups that hold the read's header attributes.
    pub(super) context_tags: Option<u64>,
    pub(super) tracking_id: Option<u64>,
}

impl ReadFields {
    pub(super) fn clear(&mut self) {
        self.read_id.clear();
        self.auxiliary.clear();
        self.has_read_id = false;
        self.has_run_id = false;
        self.tags_have_run_id = false;
        self.numbers = [None; 4];
        (self.signal, self.context_tags, self.tracking_id) = (None, None, None);
    }

    /// The dataset, and digitisation, offset, range and sampling rate.
    pub(super) fn complete(&self) -> Result<(u64, [f64; 4]), Fast5Problem> {
        // First, for a file of basecalls or events alone lacks other things of a read, too.
        let signal = self.signal.ok_or(Fast5Problem::NoRawSignal)?;
        if !self.has_run_id {
            return Err(Fast5Problem::NoRunId);
        }
        if !self.has_read_id {
            return Err(Fast5Problem::Missing("read_id"));
        }
        let mut numbers = [0.0; 4];
        for (index, number) in numbers.iter_mut().enumerate() {
            let missing = Fast5Problem::Missing(NUMBERS[index]);
            *number = self.numbers[index].ok_or(missing)?;
        }
        Ok((signal, numbers))
    }
}

/// The header attributes while a file is opened, or the run that later reads must be of.
pub(super) enum HeaderSink<'a> {
    /// Attributes are added.
    Open(&'a mut Attributes),
    /// They are known; groups with these addresses were seen.
    Known {
        run_id: &'a [u8],
        seen: [Option<u64>; 2],
        /// Whether tracking_id among them has a run_id.
        have_run_id: bool,
    },
}

/// Buffers of a walk.
#[derive(Debug, Default)]
pub(super) struct WalkBuffers {
    pub(super) links: Links,
    ancestors: Vec<u64>,
    /// The object that was looked at last: where an error is.
    pub(super) at: u64,
}

/// A walk through the groups of one read.
pub(super) struct Walk<'a, E: Engine> {
    pub(super) engine: &'a E,
    pub(super) scratch: &'a mut E::Scratch,
    pub(super) buffers: &'a mut WalkBuffers,
    pub(super) fields: &'a mut ReadFields,
    pub(super) header: HeaderSink<'a>,
    pub(super) options: Fast5Options,
    pub(super) objects: usize,
}

/// The part that a group plays.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Role {
    Root,
    ContextTags,
    TrackingId,
    Raw,
    Other,
}

impl Role {
    fn of(name: &[u8]) -> Self {
        match name {
            b"context_tags" => Self::ContextTags,
            b"tracking_id" => Self::TrackingId,
            b"Raw" => Self::Raw,
            _ => Self::Other,
        }
    }
}

/// Groups that no reader of raw signal looks into. `Sequences` is of MinKNOW before 1.0: which tool
/// wrote the file, and in how many bits.
pub(super) fn is_passed_over(name: &[u8]) -> bool {
    matches!(name, b"Analyses" | b"PreviousReadInfo" | b"Sequences")
}

impl<E: Engine> Walk<'_, E> {
    /// Collects a whole read from `group`, which is the root in single-read files.
    pub(super) fn collect(&mut self, group: u64, name: &[u8]) -> Result<(), Fast5Problem> {
        self.buffers.links.truncate(0);
        self.buffers.ancestors.clear();
        self.buffers.at = group;
        let role = if name.is_empty() { Role::Root } else { Role::of(name) };
        self.group(group, role, None)
    }

    /// Takes only the attributes of the root.
    pub(super) fn root_attributes(&mut self, root: u64) -> Result<(), Fast5Problem> {
        self.attributes(root, Role::Root, None)
    }

    fn group(&mut self, object: u64, role: Role, link: Option<usize>) -> Result<(), Fast5Problem> {
        match role {
            Role::ContextTags => self.fields.context_tags = Some(object),
            Role::TrackingId => self.fields.tracking_id = Some(object),
            _ => {}
        }
        if let HeaderSink::Known { seen, have_run_id, .. } = self.header
            && seen.contains(&Some(object))
        {
            // Reads of one file share these groups as a rule: what is right for one is for all.
            self.fields.has_run_id |= have_run_id && role == Role::TrackingId;
            return Ok(());
        }
        self.attributes(object, role, link)?;
        if self.buffers.ancestors.len() == MAX_DEPTH {
            return Err(Fast5Problem::TooManyGroups);
        }
        self.buffers.ancestors.push(object);
        let first = self.buffers.links.len();
        self.engine.links(object, self.scratch, &mut self.buffers.links)?;
        let end = self.buffers.links.len();
        for index in first..end {
            self.member(index)?;
        }
        self.buffers.links.truncate(first);
        self.buffers.ancestors.pop();
        Ok(())
    }

    fn member(&mut self, index: usize) -> Result<(), Fast5Problem> {
        let link = self.buffers.links.get(index);
        if is_passed_over(link.name) {
            return Ok(());
        }
        let LinkTarget::Object(object) = link.target else {
            return Err(Fast5Problem::DanglingLink(lossy(link.name)));
        };
        if self.buffers.ancestors.contains(&object) {
            return Ok(());
        }
        let role = Role::of(link.name);
        self.objects += 1;
        if self.objects > MAX_OBJECTS {
            return Err(Fast5Problem::TooManyGroups);
        }
        self.buffers.at = object;
        match self.engine.kind(object, self.scratch)? {
            ObjectKind::Group => self.group(object, role, Some(index)),
            ObjectKind::Dataset if self.fields.signal.is_some() => Err(Fast5Problem::ManyDatasets),
            ObjectKind::Dataset => {
                self.fields.signal = Some(object);
                Ok(())
            }
            ObjectKind::Other => Ok(()),
        }
    }

    fn attributes(
        &mut self,
        object: u64,
        role: Role,
        link: Option<usize>,
    ) -> Result<(), Fast5Problem> {
        self.buffers.at = object;
        let Self { engine, scratch, buffers, fields, header, options, .. } = self;
        engine.attributes(object, scratch, &mut |field| {
            let place = take_attribute(field, role, fields, header, *options)?;
            if place == Slot::None {
                let group = link.map(|link| lossy(buffers.links.get(link).name));
                let (name, group) = (lossy(field.name), group.unwrap_or_default());
                return Err(Fast5Problem::UnexpectedAttribute { name, group });
            }
            Ok(())
        })
    }
}

/// Whether an attribute has a place.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Slot {
    Taken,
    None,
}

/// Puts one attribute where it belongs.
fn take_attribute(
    field: Field<'_>,
    role: Role,
    fields: &mut ReadFields,
    header: &mut HeaderSink<'_>,
    options: Fast5Options,
) -> Result<Slot, Fast5Problem> {
    let Field { name, value } = field;
    check_texts(field)?;
    if matches!(value, FieldValue::Other) {
        return leave_out(name, options);
    }
    if name == b"pore_type" && !matches!(value, FieldValue::Text(_)) {
        return Err(Fast5Problem::AttributeType(lossy(name)));
    }
    let mut place = take_read_field(field, fields, options)?;
    let is_header = matches!(role, Role::Root | Role::ContextTags | Role::TrackingId)
        || matches!(name, b"pore_type" | b"run_id");
    if is_header {
        place = Slot::Taken;
        if name == b"run_id" {
            fields.has_run_id = true;
            fields.tags_have_run_id |= role == Role::TrackingId;
        }
        header.take(name, value, options)?;
    }
    if place == Slot::None {
        if name == b"file_version" {
            // Of a file that was made of others: that of the root is the file's.
            header.offer(name, value);
        } else if options.keep_unknown && !options.leave_out_auxiliary {
            fields.auxiliary.push(field)?;
        } else if !(options.leave_out_auxiliary || role == Role::Raw && NOT_STORED.contains(&name))
        {
            return Ok(Slot::None);
        }
    }
    Ok(Slot::Taken)
}

/// A list has no place in SLOW5, and no reader of raw signal wants one: it costs the file nothing,
/// unless its name is that of something which a read has or everything is to be kept.
fn leave_out(name: &[u8], options: Fast5Options) -> Result<Slot, Fast5Problem> {
    let is_left_out = options.leave_out_auxiliary && auxiliary::is_known(name);
    let is_requested =
        matches!(name, b"run_id" | b"pore_type") || is_of_read(name) && name != b"duration";
    match (is_requested && !is_left_out, options.keep_unknown && !options.leave_out_auxiliary) {
        (true, _) => Err(Fast5Problem::AttributeType(lossy(name))),
        (false, true) => Err(Fast5Problem::List(lossy(name))),
        (false, false) => Ok(Slot::Taken),
    }
}

/// Whether an attribute of this name is one of the read, whatever group has it.
pub(super) fn is_of_read(name: &[u8]) -> bool {
    matches!(name, b"read_id" | b"duration")
        || NUMBERS.iter().any(|number| number.as_bytes() == name)
        || auxiliary::is_known(name)
}

/// Takes an attribute that is a field of the read or an auxiliary field, whatever its group.
fn take_read_field(
    field: Field<'_>,
    fields: &mut ReadFields,
    options: Fast5Options,
) -> Result<Slot, Fast5Problem> {
    let Field { name, value } = field;
    if name == b"duration" {
        return Ok(Slot::Taken); // the number of samples says it
    }
    if name == b"read_id" {
        let FieldValue::Text(id) = value else {
            return Err(Fast5Problem::AttributeType(lossy(name)));
        };
        if std::mem::replace(&mut fields.has_read_id, true) {
            return Err(Fast5Problem::Duplicate(lossy(name)));
        }
        fields.read_id.clear();
        fields.read_id.extend_from_slice(id);
        if options.mend_names {
            read_id::rename(&mut fields.read_id);
        }
        read_id::check(&fields.read_id)?;
        return Ok(Slot::Taken);
    }
    if let Some(index) = NUMBERS.iter().position(|number| number.as_bytes() == name) {
        let number = match value {
            FieldValue::F64(number) => number,
            FieldValue::F32(number) => f64::from(number),
            _ => return Err(Fast5Problem::Convert { name: lossy(name), expected: "double" }),
        };
        if fields.numbers[index].replace(number).is_some() {
            return Err(Fast5Problem::Duplicate(lossy(name)));
        }
        return Ok(Slot::Taken);
    }
    if auxiliary::is_known(name) {
        if !options.leave_out_auxiliary {
            fields.auxiliary.push(field)?;
        }
        return Ok(Slot::Taken);
    }
    Ok(Slot::None)
}

/// Refuses names and texts that [`is_name`] and [`is_text`] do not allow. A read id has a rule of
/// its own.
fn check_texts(field: Field<'_>) -> Result<(), Fast5Problem> {
    let name = field.name;
    if !is_name(name) {
        return Err(Fast5Problem::AttributeName(lossy(name)));
    }
    match field.value {
        FieldValue::Text(text) if name != b"read_id" && !is_text(text) => {
            Err(Fast5Problem::AttributeText { name: lossy(name), text: lossy(text) })
        }
        _ => Ok(()),
    }
}

/// Whether an attribute may have this name.
pub(super) fn is_name(name: &[u8]) -> bool {
    !name.is_empty() && is_text(name)
}

/// Whether an attribute may have this text: what SLOW5's text form cannot keep it may not,
/// which is white space but blanks and a lone full stop; nor NUL, which ends a text in HDF5.
pub(super) fn is_text(text: &[u8]) -> bool {
    // C's isspace, without the blank.
    text != b"." && !text.iter().any(|&byte| byte == 0 || (b'\t'..=b'\r').contains(&byte))
}

impl HeaderSink<'_> {
    /// Adds a header attribute unless there is one of that name.
    fn offer(&mut self, name: &[u8], value: FieldValue<'_>) {
        if let Self::Open(attributes) = self
            && !attributes.contains_key(name)
        {
            attributes.insert(name.to_vec(), stringified(value));
        }
    }

    /// Adds a header attribute as text, or checks that the run is the same.
    fn take(
        &mut self,
        name: &[u8],
        value: FieldValue<'_>,
        options: Fast5Options,
    ) -> Result<(), Fast5Problem> {
        let mismatch = |expected: &[u8], found: &[u8]| Fast5Problem::RunIdMismatch {
            expected: lossy(expected),
            found: lossy(found),
        };
        let is_run_id = name == b"run_id";
        match self {
            Self::Known { run_id, .. } => match value {
                FieldValue::Text(found)
                    if is_run_id && found != *run_id && !options.allow_run_id_mismatch =>
                {
                    Err(mismatch(run_id, found))
                }
                _ => Ok(()),
            },
            Self::Open(attributes) => {
                let text = stringified(value);
                match attributes.get(name) {
                    None => {
                        attributes.insert(name.to_vec(), text);
                        Ok(())
                    }
                    Some(existing) if *existing == text => Ok(()),
                    Some(_) if is_run_id && options.allow_run_id_mismatch => Ok(()),
                    Some(existing) if is_run_id => Err(mismatch(existing, &text)),
                    Some(_) => Err(Fast5Problem::Duplicate(lossy(name))),
                }
            }
        }
    }
}

/// A header attribute as text, as C's `%.1f`, `%d` and `%u` print it.
fn stringified(value: FieldValue<'_>) -> Vec<u8> {
    let float = |value: f64| match value.is_nan() {
        true if value.is_sign_negative() => b"-nan".to_vec(),
        true => b"nan".to_vec(),
        false => format!("{value:.1}").into_bytes(),
    };
    match value {
        FieldValue::Text(text) => text.to_vec(),
        FieldValue::Integer { value, .. } => value.to_string().into_bytes(),
        FieldValue::Enum { value, .. } => value.to_string().into_bytes(),
        FieldValue::F32(value) => float(f64::from(value)),
        FieldValue::F64(value) => float(value),
        FieldValue::Other => Vec::new(),
    }
}

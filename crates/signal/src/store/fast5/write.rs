//! Reads written as a multi-read FAST5, as `slow5tools s2f` does.
//!
//! Header attributes go to `context_tags` where nanopore software puts them, and else to
//! `tracking_id`; both groups are stored once and are shared by all reads, as in files of MinKNOW.
//! Auxiliary fields that FAST5 knows become attributes of `Raw` and `channel_id`. Missing values
//! are written as SLOW5's missing values, so that reading the file back finds every field. Whatever
//! the reader of FAST5 refuses is not written: a header attribute or field is left out, a read is
//! refused, a file without a read or a run is.
//!
//! The caller writes what is appended, one piece after the other, and at the end puts
//! [`Fast5Writer::finish`]'s bytes over the start of the file. Memory grows by about 100 bytes a
//! read, for the root group.

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;

use seqloom_format::hdf5::{
    Hdf5Writer, Messages, NumberType, SUPERBLOCK_BYTES, WriteError, superblock,
};
use seqloom_format::signal::read_id::{self, ReadIdError};
use seqloom_format::signal::{AuxiliaryField, AuxiliaryType, SignalHeader, SignalRead};

use super::auxiliary::{KNOWN, Kind, Number};
use super::collect::{is_name, is_of_read, is_text};
use super::error::lossy;
use super::file::major_version;

/// Attributes that are in `context_tags`: those that MinKNOW, MinION Bream and ont_fast5_api have
/// there. All others are in `tracking_id`.
const CONTEXT_TAGS: [&str; 24] = [
    "barcoding_enabled",
    "basecall_config_filename",
    "department",
    "experiment_duration_set",
    "experiment_kit",
    "experiment_type",
    "fast5_output_fastq_in_hdf5",
    "fast5_raw",
    "fast5_reads_per_folder",
    "fastq_enabled",
    "fastq_reads_per_file",
    "filename",
    "flowcell_type",
    "kit_classification",
    "local_basecalling",
    "local_bc_comp_model",
    "local_bc_temp_model",
    "package",
    "package_version",
    "sample_frequency",
    "selected_speed_bases_per_second",
    "sequencing_kit",
    "sequencing_kit_version",
    "user_filename_input",
];
/// Attributes that are of the file or of each read.
const NOT_TAGS: [&str; 3] = ["file_type", "file_version", "pore_type"];
/// Version of multi-read files that were made of single-read ones (ont_fast5_api).
const FILE_VERSION: &[u8] = b"2.0";

/// Why something cannot be written as FAST5.
#[derive(Debug, thiserror::Error)]
pub enum Fast5WriteError {
    /// FAST5 has one run in a file.
    #[error("a FAST5 file has one read group, not {0}: split the reads first")]
    ReadGroups(u32),
    /// HDF5 has no room for something.
    #[error(transparent)]
    Hdf5(#[from] WriteError),
    /// A file without reads: what all have in common is in the groups of reads.
    #[error("there are no reads, and a FAST5 file cannot be without: its header is with its reads")]
    NoReads,
    /// The reads are of no run, or its id is no text of FAST5.
    #[error(
        "FAST5 needs the attribute run_id, as a text that is not \".\" and has no white space but \
         blanks; to SLOW5 and BLOW5 the reads can be converted"
    )]
    RunId,
    /// Two reads of one name.
    #[error(
        "read {0:?} is there twice; `seqloom signal convert --deduplicate` writes reads that are \
         the same once"
    )]
    Duplicate(String),
    /// A read id that no read may have.
    #[error(transparent)]
    ReadId(#[from] ReadIdError),
    /// A value that the attribute's type in FAST5 cannot hold.
    #[error(
        "read {read:?}: {field} has a value that FAST5 cannot hold; with -l no auxiliary fields \
         are left out"
    )]
    Convert {
        /// The read.
        read: String,
        /// The auxiliary field.
        field: String,
    },
}

/// How a column becomes an attribute.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Column {
    /// Of `Raw`, in this type.
    Number(Number),
    /// The enum of `Raw`.
    EndReason(Vec<Vec<u8>>),
    ChannelNumber,
    /// Not written.
    None,
}

/// Writes one file.
pub struct Fast5Writer {
    writer: Hdf5Writer,
    header: SignalHeader,
    columns: Vec<Column>,
    /// Names of the header attributes that readers would refuse, or take for those of a read.
    unfit: Vec<Vec<u8>>,
    context_tags: u64,
    tracking_id: u64,
    /// Groups of reads with their addresses, in the order in which the root group lists them.
    reads: BTreeMap<Vec<u8>, u64>,
    messages: Messages,
    name: Vec<u8>,
    number: Vec<u8>,
}

impl Fast5Writer {
    /// Starts a file; its first bytes are appended to `out`.
    ///
    /// # Errors
    /// There are several read groups, or attributes that HDF5 cannot hold.
    pub fn new(header: &SignalHeader, out: &mut Vec<u8>) -> Result<Self, Fast5WriteError> {
        if header.read_groups != 1 {
            return Err(Fast5WriteError::ReadGroups(header.read_groups));
        }
        let run_id = first_value(header, b"run_id");
        if run_id.is_empty() || !is_text(run_id) {
            return Err(Fast5WriteError::RunId);
        }
        let is_unfit =
            |name: &[u8]| is_of_read(name) || !is_name(name) || !is_text(first_value(header, name));
        let names = header.attributes.keys();
        let mut file = Self {
            writer: Hdf5Writer::at(0),
            header: header.clone(),
            columns: header.auxiliary.iter().map(column).collect(),
            unfit: names.filter(|name| is_unfit(name)).cloned().collect(),
            context_tags: 0,
            tracking_id: 0,
            reads: BTreeMap::new(),
            messages: Messages::default(),
            name: Vec::new(),
            number: Vec::new(),
        };
        file.append_start(out)?;
        Ok(file)
    }

    /// What FAST5 has no place for and is not written: header attributes and auxiliary fields, each
    /// in words.
    #[must_use]
    pub fn left_out(&self) -> Vec<String> {
        let columns = self.columns.iter().zip(&self.header.auxiliary);
        let columns = columns.filter(|(column, _)| **column == Column::None);
        let fields = columns.map(|(_, field)| format!("auxiliary field {}", lossy(&field.name)));
        let attributes = self.unfit.iter();
        let attributes = attributes.map(|name| format!("header attribute {:?}", lossy(name)));
        attributes.chain(fields).collect()
    }

    /// Appends a read. `chunk` is what [`seqloom_format::hdf5::SignalCompressor`] made of
    /// its samples, in any thread.
    ///
    /// # Errors
    /// The read cannot be written; nothing was appended then.
    pub fn push(
        &mut self,
        read: &SignalRead,
        chunk: &[u8],
        out: &mut Vec<u8>,
    ) -> Result<(), Fast5WriteError> {
        let id = &read.read_id;
        read_id::check(id)?;
        self.name.clear();
        self.name.extend_from_slice(b"read_");
        self.name.extend_from_slice(id);
        if self.reads.contains_key(&self.name) {
            return Err(Fast5WriteError::Duplicate(lossy(id)));
        }
        let (before, start) = (self.writer.clone(), out.len());
        let pushed = self.append_read(read, chunk, out);
        if pushed.is_err() {
            self.writer = before;
            out.truncate(start);
        }
        let group = pushed?;
        if let Entry::Vacant(place) = self.reads.entry(std::mem::take(&mut self.name)) {
            place.insert(group);
        }
        Ok(())
    }

    /// Ends the file: appends the root group, and returns what has to be at its start instead of
    /// what was written there first.
    ///
    /// # Errors
    /// There are no reads, or attributes that HDF5 cannot hold.
    pub fn finish(mut self, out: &mut Vec<u8>) -> Result<Vec<u8>, Fast5WriteError> {
        if self.reads.is_empty() {
            return Err(Fast5WriteError::NoReads);
        }
        let messages = &mut self.messages;
        messages.clear();
        messages.text(b"file_type", b"multi-read")?;
        messages.text(b"file_version", file_version(&self.header))?;
        let members = self.reads.iter().map(|(name, &address)| (&name[..], address));
        let root = self.writer.group(members, messages, 1, out)?;
        let superblock = superblock(root, self.writer.position());
        // The shared groups once more, now that the number of links to them is known.
        let mut first = Vec::new();
        self.append_start(&mut first)?;
        first[..SUPERBLOCK_BYTES].copy_from_slice(&superblock);
        Ok(first)
    }

    /// The start of the file: room for the superblock, and the groups that all reads share.
    fn append_start(&mut self, out: &mut Vec<u8>) -> Result<(), Fast5WriteError> {
        self.writer = Hdf5Writer::at(SUPERBLOCK_BYTES as u64);
        out.resize(out.len() + SUPERBLOCK_BYTES, 0);
        let links = u32::try_from(self.reads.len()).unwrap_or(u32::MAX);
        for is_context in [true, false] {
            self.messages.clear();
            for (name, values) in &self.header.attributes {
                let is = |names: &[&str]| names.iter().any(|known| known.as_bytes() == name);
                let is_tag = !is(&NOT_TAGS) && !self.unfit.contains(name);
                if is_tag && is(&CONTEXT_TAGS) == is_context {
                    let value = values.first().map_or(&b""[..], |value| value);
                    self.messages.text(name, value)?;
                }
            }
            let none = std::iter::empty();
            let group = self.writer.group(none, &mut self.messages, links, out)?.header;
            match is_context {
                true => self.context_tags = group,
                false => self.tracking_id = group,
            }
        }
        Ok(())
    }

    /// Appends the objects of a read and returns the address of its group.
    fn append_read(
        &mut self,
        read: &SignalRead,
        chunk: &[u8],
        out: &mut Vec<u8>,
    ) -> Result<u64, Fast5WriteError> {
        let samples = read.samples.len();
        let signal = self.writer.samples(samples, chunk, &mut self.messages, out)?;
        self.raw_attributes(read)?;
        let members = [(&b"Signal"[..], signal)].into_iter();
        let raw = self.writer.group(members, &mut self.messages, 1, out)?.header;
        self.channel_attributes(read)?;
        let none = std::iter::empty();
        let channel = self.writer.group(none, &mut self.messages, 1, out)?.header;
        self.messages.clear();
        for name in [&b"run_id"[..], b"pore_type"] {
            let value = first_value(&self.header, name);
            if !value.is_empty() && is_text(value) {
                self.messages.text(name, value)?;
            }
        }
        let members = [
            (&b"Raw"[..], raw),
            (b"channel_id", channel),
            (b"context_tags", self.context_tags),
            (b"tracking_id", self.tracking_id),
        ];
        Ok(self.writer.group(members.into_iter(), &mut self.messages, 1, out)?.header)
    }

    fn raw_attributes(&mut self, read: &SignalRead) -> Result<(), Fast5WriteError> {
        let Self { messages, header, columns, number, .. } = self;
        messages.clear();
        for (index, (column, field)) in columns.iter().zip(&header.auxiliary).enumerate() {
            let value = read.auxiliary.get(index);
            let refused = || {
                let (read, field) = (lossy(&read.read_id), lossy(&field.name));
                Fast5WriteError::Convert { read, field }
            };
            match column {
                Column::Number(kind) => {
                    number.clear();
                    let is_missing = value == field.kind.missing();
                    if is_missing {
                        number.extend_from_slice(&kind.kind().missing());
                    } else if !kind.convert(&field.kind, value, number) {
                        return Err(refused());
                    }
                    messages.number(&field.name, number_type(*kind), number)?;
                }
                Column::EndReason(labels) => {
                    let reason = value.first().copied().unwrap_or(u8::MAX);
                    if reason != u8::MAX && labels.get(usize::from(reason)).is_none() {
                        return Err(refused());
                    }
                    messages.label(&field.name, labels, reason)?;
                }
                Column::ChannelNumber | Column::None => {}
            }
        }
        // More samples than 32 bits can count were refused with the dataset.
        let duration = (read.samples.len() as u32).to_le_bytes();
        messages.number(b"duration", NumberType::Integer(4, false), &duration)?;
        messages.text(b"read_id", &read.read_id)?;
        Ok(())
    }

    fn channel_attributes(&mut self, read: &SignalRead) -> Result<(), Fast5WriteError> {
        let Self { messages, header, columns, .. } = self;
        messages.clear();
        for (index, (column, field)) in columns.iter().zip(&header.auxiliary).enumerate() {
            if *column == Column::ChannelNumber {
                let value = read.auxiliary.get(index);
                if !is_text(value) {
                    let (read, field) = (lossy(&read.read_id), lossy(&field.name));
                    return Err(Fast5WriteError::Convert { read, field });
                }
                messages.text(&field.name, value)?;
            }
        }
        for (name, value) in [
            ("digitisation", read.digitisation),
            ("offset", read.offset),
            ("range", read.range),
            ("sampling_rate", read.sampling_rate),
        ] {
            messages.number(name.as_bytes(), NumberType::F64, &value.to_le_bytes())?;
        }
        Ok(())
    }
}

/// FAST5 attribute of an auxiliary field.
fn column(field: &AuxiliaryField) -> Column {
    match KNOWN.iter().find(|(name, _)| *name == field.name) {
        Some((_, Kind::Number(number))) if !field.is_array => Column::Number(*number),
        Some((_, Kind::Text)) if field.kind == AuxiliaryType::Char && field.is_array => {
            Column::ChannelNumber
        }
        _ => match &field.kind {
            AuxiliaryType::Enum(labels) if field.name == b"end_reason" && !field.is_array => {
                Column::EndReason(labels.clone())
            }
            _ => Column::None,
        },
    }
}

/// The value of a header attribute in the one read group; empty when there is none.
fn first_value<'a>(header: &'a SignalHeader, name: &[u8]) -> &'a [u8] {
    let values = header.attributes.get(name).map(Vec::as_slice).unwrap_or_default();
    values.first().map(Vec::as_slice).unwrap_or_default()
}

fn number_type(kind: Number) -> NumberType {
    match kind {
        Number::F32 => NumberType::F32,
        Number::F64 => NumberType::F64,
        Number::I8 => NumberType::Integer(1, true),
        Number::I16 => NumberType::Integer(2, true),
        Number::I32 => NumberType::Integer(4, true),
        Number::I64 => NumberType::Integer(8, true),
        Number::U8 => NumberType::Integer(1, false),
        Number::U16 => NumberType::Integer(2, false),
        Number::U32 => NumberType::Integer(4, false),
        Number::U64 => NumberType::Integer(8, false),
    }
}

/// The version of the file: that of the header, unless it is one of single-read files, by which
/// readers would take this one for such.
fn file_version(header: &SignalHeader) -> &[u8] {
    let version = first_value(header, b"file_version");
    let is_multi = major_version(version).is_ok_and(|major| major > 0);
    if is_multi && is_text(version) { version } else { FILE_VERSION }
}

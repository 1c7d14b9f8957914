//! One FAST5 file: its header, its list of reads, and reading one of them.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use seqloom_format::ReadAt;
use seqloom_format::hdf5::{Hdf5File, LinkTarget};
use seqloom_format::signal::{AuxiliaryField, SignalHeader, SignalRead};

use super::collect::{
    Attributes, Fast5Options, HeaderSink, ReadFields, Walk, WalkBuffers, is_passed_over,
};
use super::engine::{Engine, FieldValue};
use super::error::{Fast5Error, Fast5Problem, lossy};

/// Name of a read's group in a multi-read file: this and its read id.
const READ_PREFIX: &[u8] = b"read_";

/// Whether a file holds one read or many.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fast5Layout {
    /// One read, in groups of the root.
    Single,
    /// A group for each read.
    Multi,
}

/// An open FAST5 file. Threads may share it.
#[derive(Debug)]
pub struct Fast5File<E: Engine = Hdf5File> {
    engine: E,
    path: PathBuf,
    layout: Fast5Layout,
    options: Fast5Options,
    header: SignalHeader,
    run_id: Vec<u8>,
    /// Addresses of the groups of header attributes of the first read.
    tags: [Option<u64>; 2],
    /// Names of the reads' groups (the read id in a single-read file), in byte order.
    names: Vec<u8>,
    reads: Vec<ReadPlace>,
    /// The read that the header is of, which is known already.
    first: usize,
    first_fields: ReadFields,
}

#[derive(Debug, Clone, Copy)]
struct ReadPlace {
    name_end: usize,
    group: Option<u64>,
}

/// Buffers of one caller: one for each thread, for any number of files.
pub struct Fast5Scratch<E: Engine = Hdf5File> {
    engine: E::Scratch,
    buffers: WalkBuffers,
    fields: ReadFields,
}

impl<E: Engine> Default for Fast5Scratch<E> {
    fn default() -> Self {
        let (buffers, fields) = (WalkBuffers::default(), ReadFields::default());
        Self { engine: E::Scratch::default(), buffers, fields }
    }
}

impl Fast5File {
    /// Opens a file with the reader that has no lock. `path` is for messages only.
    ///
    /// # Errors
    /// It is no FAST5, it is damaged, or none of its reads is in order.
    pub fn open(
        source: Arc<dyn ReadAt>,
        path: &Path,
        options: Fast5Options,
        scratch: &mut Fast5Scratch,
    ) -> Result<Self, Fast5Error> {
        let engine = Hdf5File::open(source);
        let engine = engine.map_err(|error| error_in(path, None, None, error.into()))?;
        Self::with_engine(engine, path, options, scratch)
    }
}

impl<E: Engine> Fast5File<E> {
    /// Opens a file with another engine.
    ///
    /// # Errors
    /// It is no FAST5, it is damaged, or none of its reads is in order.
    pub fn with_engine(
        engine: E,
        path: &Path,
        options: Fast5Options,
        scratch: &mut Fast5Scratch<E>,
    ) -> Result<Self, Fast5Error> {
        let mut file = Self {
            engine,
            path: path.into(),
            layout: Fast5Layout::Single,
            options,
            header: SignalHeader::default(),
            run_id: Vec::new(),
            tags: [None; 2],
            names: Vec::new(),
            reads: Vec::new(),
            first: 0,
            first_fields: ReadFields::default(),
        };
        let layout = file.find_layout(scratch);
        file.layout = layout.map_err(|problem| error_in(path, None, None, problem))?;
        match file.layout {
            Fast5Layout::Single => {
                let opened = file.open_single(scratch);
                let at = Some(scratch.buffers.at);
                opened.map_err(|problem| error_in(path, None, at, problem))?;
            }
            Fast5Layout::Multi => file.open_multi(scratch)?,
        }
        Ok(file)
    }

    /// Whether it holds one read or many.
    #[must_use]
    pub fn layout(&self) -> Fast5Layout {
        self.layout
    }

    /// Header of the file: one read group.
    #[must_use]
    pub fn header(&self) -> &SignalHeader {
        &self.header
    }

    /// Has reads give values of these auxiliary fields, as another opening of the same file found
    /// them with [`Fast5Options::complete_header`].
    pub(crate) fn set_auxiliary(&mut self, fields: Vec<AuxiliaryField>) {
        self.header.auxiliary = fields;
    }

    /// Number of reads. Some may turn out to be damaged.
    #[must_use]
    pub fn reads(&self) -> usize {
        self.reads.len()
    }

    /// The id of a read by the name of its group; empty when there is no such read.
    #[must_use]
    pub fn read_id(&self, index: usize) -> &[u8] {
        let name = self.name(index);
        name.strip_prefix(READ_PREFIX).unwrap_or(name)
    }

    /// The number of the read with this id.
    #[must_use]
    pub fn find(&self, read_id: &[u8]) -> Option<usize> {
        let with_prefix = |name: &[u8]| name.iter().cmp(READ_PREFIX.iter().chain(read_id));
        let plain = |name: &[u8]| name.cmp(read_id);
        self.find_by(with_prefix).or_else(|| self.find_by(plain))
    }

    fn find_by(&self, compare: impl Fn(&[u8]) -> std::cmp::Ordering) -> Option<usize> {
        let (mut low, mut high) = (0, self.reads());
        while low < high {
            let middle = low + (high - low) / 2;
            match compare(self.name(middle)) {
                std::cmp::Ordering::Less => low = middle + 1,
                std::cmp::Ordering::Equal => return Some(middle),
                std::cmp::Ordering::Greater => high = middle,
            }
        }
        None
    }

    /// Reads one read.
    ///
    /// # Errors
    /// The read is damaged or lacks what a read must have; others may be in order.
    pub fn read(
        &self,
        index: usize,
        scratch: &mut Fast5Scratch<E>,
        out: &mut SignalRead,
    ) -> Result<(), Fast5Error> {
        out.clear();
        self.fill(index, scratch, out).map_err(|problem| {
            out.clear();
            self.read_error(index, scratch.buffers.at, problem)
        })
    }

    fn fill(
        &self,
        index: usize,
        scratch: &mut Fast5Scratch<E>,
        out: &mut SignalRead,
    ) -> Result<(), Fast5Problem> {
        let fields = if index == self.first && !self.reads.is_empty() {
            &self.first_fields
        } else {
            let header = self.known_header();
            self.collect(index, scratch, header)?;
            &scratch.fields
        };
        let (signal, numbers) = fields.complete()?;
        scratch.buffers.at = signal;
        out.read_id.extend_from_slice(&fields.read_id);
        [out.digitisation, out.offset, out.range, out.sampling_rate] = numbers;
        fields.auxiliary.values(&self.header.auxiliary, &mut out.auxiliary)?;
        self.engine.samples(signal, &mut scratch.engine, &mut out.samples)?;
        Ok(())
    }

    fn known_header(&self) -> HeaderSink<'_> {
        let have_run_id = self.first_fields.tags_have_run_id;
        HeaderSink::Known { run_id: &self.run_id, seen: self.tags, have_run_id }
    }

    /// Collects what the groups of a read hold into `scratch.fields`.
    fn collect(
        &self,
        index: usize,
        scratch: &mut Fast5Scratch<E>,
        header: HeaderSink<'_>,
    ) -> Result<(), Fast5Problem> {
        let place = self.reads.get(index).ok_or(Fast5Problem::NoSuchRead(index))?;
        let name = self.name(index);
        let missing = || Fast5Problem::DanglingLink(lossy(name));
        let group = place.group.ok_or_else(missing)?;
        self.walk(scratch, header).collect(group, name)
    }

    fn walk<'a>(&'a self, scratch: &'a mut Fast5Scratch<E>, header: HeaderSink<'a>) -> Walk<'a, E> {
        let Fast5Scratch { engine: own, buffers, fields } = scratch;
        fields.clear();
        let (engine, options) = (&self.engine, self.options);
        Walk { engine, scratch: own, buffers, fields, header, options, objects: 0 }
    }

    fn name(&self, index: usize) -> &[u8] {
        let Some(place) = self.reads.get(index) else { return &[] };
        let start = if index == 0 { 0 } else { self.reads[index - 1].name_end };
        &self.names[start..place.name_end]
    }

    fn read_error(&self, index: usize, at: u64, problem: Fast5Problem) -> Fast5Error {
        let is_known = self.layout == Fast5Layout::Multi && index < self.reads();
        let read = is_known.then(|| lossy(self.name(index)));
        error_in(&self.path, read, Some(at), problem)
    }

    /// `file_type` says it; without, a text `file_version` of 1 or more means many reads (a number
    /// is in single-read files only).
    fn find_layout(&self, scratch: &mut Fast5Scratch<E>) -> Result<Fast5Layout, Fast5Problem> {
        let mut is_multi = false;
        let mut version = Vec::new();
        let root = self.engine.root();
        self.engine.attributes(root, &mut scratch.engine, &mut |field| {
            match (field.name, field.value) {
                (b"file_type", FieldValue::Text(text)) => is_multi = text == b"multi-read",
                (b"file_version", FieldValue::Text(text)) => version = text.to_vec(),
                _ => {}
            }
            Ok(())
        })?;
        if is_multi || (!version.is_empty() && major_version(&version)? >= 1) {
            return Ok(Fast5Layout::Multi);
        }
        Ok(Fast5Layout::Single)
    }

    fn open_single(&mut self, scratch: &mut Fast5Scratch<E>) -> Result<(), Fast5Problem> {
        let root = self.engine.root();
        let mut attributes = Attributes::new();
        self.walk(scratch, HeaderSink::Open(&mut attributes)).collect(root, b"")?;
        scratch.fields.complete()?;
        self.names.extend_from_slice(&scratch.fields.read_id);
        self.reads.push(ReadPlace { name_end: self.names.len(), group: Some(root) });
        self.set_header(0, attributes, scratch);
        Ok(())
    }

    fn open_multi(&mut self, scratch: &mut Fast5Scratch<E>) -> Result<(), Fast5Error> {
        let path = self.path.clone();
        let whole = |problem| error_in(&path, None, None, problem);
        let root = self.engine.root();
        let mut root_attributes = Attributes::new();
        let walk = &mut self.walk(scratch, HeaderSink::Open(&mut root_attributes));
        walk.root_attributes(root).map_err(whole)?;
        self.list_reads(root, scratch).map_err(whole)?;
        // The header is that of the first read that is in order.
        let mut first_error = None;
        for index in 0..self.reads.len() {
            let mut attributes = root_attributes.clone();
            match self.try_first(index, &mut attributes, scratch) {
                Ok(()) => {
                    self.set_header(index, attributes, scratch);
                    if self.options.complete_header {
                        self.complete_header(scratch);
                    }
                    return Ok(());
                }
                Err(problem) => {
                    let at = scratch.buffers.at;
                    first_error.get_or_insert_with(|| self.read_error(index, at, problem));
                }
            }
        }
        Err(first_error.unwrap_or_else(|| whole(Fast5Problem::NoReads)))
    }

    fn list_reads(&mut self, root: u64, scratch: &mut Fast5Scratch<E>) -> Result<(), Fast5Problem> {
        let links = &mut scratch.buffers.links;
        links.truncate(0);
        self.engine.links(root, &mut scratch.engine, links)?;
        for link in (0..links.len()).map(|index| links.get(index)) {
            if is_passed_over(link.name) {
                continue;
            }
            self.names.extend_from_slice(link.name);
            let group = match link.target {
                LinkTarget::Object(address) => Some(address),
                LinkTarget::Nowhere => None,
            };
            self.reads.push(ReadPlace { name_end: self.names.len(), group });
        }
        links.truncate(0);
        Ok(())
    }

    fn try_first(
        &self,
        index: usize,
        attributes: &mut Attributes,
        scratch: &mut Fast5Scratch<E>,
    ) -> Result<(), Fast5Problem> {
        self.collect(index, scratch, HeaderSink::Open(attributes))?;
        scratch.fields.complete()?;
        if scratch.fields.context_tags.is_none() {
            return Err(Fast5Problem::NoGroup("context_tags"));
        }
        if scratch.fields.tracking_id.is_none() {
            return Err(Fast5Problem::NoGroup("tracking_id"));
        }
        Ok(())
    }

    fn set_header(&mut self, index: usize, attributes: Attributes, scratch: &mut Fast5Scratch<E>) {
        self.first = index;
        self.first_fields = std::mem::take(&mut scratch.fields);
        self.tags = [self.first_fields.context_tags, self.first_fields.tracking_id];
        self.run_id = attributes.get(&b"run_id"[..]).cloned().unwrap_or_default();
        let attributes = attributes.into_iter().map(|(name, value)| (name, vec![value]));
        self.header.attributes = attributes.collect();
        self.first_fields.auxiliary.add_columns(&mut self.header.auxiliary);
    }

    /// Adds the auxiliary fields of all other reads that are in order.
    fn complete_header(&mut self, scratch: &mut Fast5Scratch<E>) {
        let mut columns = std::mem::take(&mut self.header.auxiliary);
        for index in (0..self.reads.len()).filter(|&index| index != self.first) {
            let header = self.known_header();
            if self.collect(index, scratch, header).is_ok() {
                scratch.fields.auxiliary.add_columns(&mut columns);
            }
        }
        self.header.auxiliary = columns;
    }
}

/// An error of a file. Damage names its own byte; what is not there at all has none.
fn error_in(
    path: &Path,
    read: Option<String>,
    address: Option<u64>,
    problem: Fast5Problem,
) -> Fast5Error {
    let has_own = matches!(problem, Fast5Problem::Hdf5(_) | Fast5Problem::NoSuchRead(_));
    let address = address.filter(|_| !has_own && !matches!(problem, Fast5Problem::NoRawSignal));
    Fast5Error { path: path.into(), read, address, problem }
}

/// The major number of `MAJOR.MINOR`.
pub(super) fn major_version(version: &[u8]) -> Result<u32, Fast5Problem> {
    let text = str::from_utf8(version).unwrap_or_default();
    let digits = |text: &str| text.bytes().take_while(u8::is_ascii_digit).count();
    let parsed = text.split_once('.').filter(|(_, minor)| digits(minor) > 0);
    let major = parsed.and_then(|(major, _)| major.trim_start().parse().ok());
    major.ok_or_else(|| Fast5Problem::FileVersion(lossy(version)))
}

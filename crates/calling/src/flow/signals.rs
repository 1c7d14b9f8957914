//! Signal by read id, over any number of files of any format.
//!
//! Which read is where is found once, by all workers: from the `.idx` of a SLOW5 or BLOW5 file,
//! from the table of a FAST5 or POD5 file, or by going through the records. From then on workers
//! fetch and decode by themselves. Files stay open, as many as [`SignalOptions::open_files`].

use std::collections::{BTreeMap, HashMap};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

use seqloom_format::signal::{SignalHeader, SignalRead};
use seqloom_io::sidecars::is_older;
use seqloom_runtime::error::{Class, Place, RunError};
use seqloom_runtime::failure::lock;

use seqloom_signal::flow::pass::{Components, Stage, Work};
use seqloom_signal::flow::{Fault, Loss, file_fault};
use seqloom_signal::operations::{Locate, LocateScratch, Located};
use seqloom_signal::store::{
    self, Cursor, DecodeScratch, Frame, FrameBatch, IndexFileError, Location, OpenOptions,
    ReadIndex, SignalStore, for_each_entry, index_path,
};

/// Bits of a place that are the size of a record; the others are the number of its file.
const SIZE_BITS: u32 = 40;

/// Most files: what is left of 64 bits.
pub(crate) const MAX_FILES: usize = 1 << (64 - SIZE_BITS);

/// Largest record that is fetched. A read of two days at 5 kHz has 0.9 G samples; its record is
/// still smaller.
const MAX_RECORD_BYTES: u64 = 1 << 31;

/// How signal is found and read.
#[derive(Debug, Clone)]
pub struct SignalOptions {
    /// How files are opened.
    pub open: OpenOptions,
    /// Files that are kept open, at most.
    pub open_files: usize,
}

impl Default for SignalOptions {
    fn default() -> Self {
        // Well below the 1,024 descriptors that a process may have by default.
        Self { open: OpenOptions::default(), open_files: 512 }
    }
}

/// Kit of the reads of a file, or of one of its read groups.
#[derive(Debug, Clone, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Kit {
    /// `experiment_type`: `genomic_dna`, `rna`; empty where the file does not say.
    pub experiment_type: String,
    /// `sequencing_kit`: `sqk-lsk114`; likewise.
    pub sequencing_kit: String,
    /// `flow_cell_product_code`: `flo-min114`; likewise.
    pub flow_cell: String,
}

impl Kit {
    /// Of a read group.
    #[must_use]
    pub(crate) fn of(header: &SignalHeader, group: usize) -> Self {
        let value = |name: &[u8]| {
            let values = header.attributes.get(name).and_then(|values| values.get(group));
            values.map(|it| String::from_utf8_lossy(it).to_lowercase()).unwrap_or_default()
        };
        Self {
            experiment_type: value(b"experiment_type"),
            sequencing_kit: value(b"sequencing_kit"),
            flow_cell: value(b"flow_cell_product_code"),
        }
    }
}

/// The stage that lists the reads of files, whose numbers it is given.
pub struct ListFiles<'a> {
    /// The files.
    pub paths: &'a [PathBuf],
    /// How they are opened.
    pub options: &'a OpenOptions,
    /// Time of the components.
    pub components: &'a Components,
}

/// Findings of a file.
#[derive(Default)]
pub struct Listed {
    /// Its number.
    input: usize,
    names: Vec<u8>,
    places: Vec<(usize, Location)>,
    kits: Vec<Kit>,
    /// Its reads are to be found by going through them.
    must_scan: bool,
    is_index_old: bool,
    fault: Option<Fault>,
    index_error: Option<IndexFileError>,
}

impl Listed {
    fn push(&mut self, read_id: &[u8], location: Location) {
        self.names.extend_from_slice(read_id);
        self.places.push((self.names.len(), location));
    }
}

impl Stage for ListFiles<'_> {
    type Scratch = DecodeScratch;
    type Output = Listed;

    fn scratch(&self) -> DecodeScratch {
        DecodeScratch::default()
    }

    fn process(&self, scratch: &mut DecodeScratch, work: &Work, output: &mut Listed) {
        *output = Listed { input: work.input, ..Listed::default() };
        let Some(path) = self.paths.get(work.input) else { return };
        let opened = self.components.open.time(|| store::open(path, self.options));
        let store = match opened {
            Ok(store) => store,
            Err(error) => {
                output.fault = Some(file_fault(error));
                return;
            }
        };
        let groups = store.header().read_groups as usize;
        output.kits = (0..groups).map(|group| Kit::of(store.header(), group)).collect();
        if store.format().has_records() {
            list_index(store.as_ref(), output);
        } else {
            self.components.read.time(|| list_table(store.as_ref(), scratch, output));
        }
    }
}

/// Lists the reads of a file by its `.idx`, if there is one.
fn list_index(store: &dyn SignalStore, output: &mut Listed) {
    let path = index_path(store.path());
    let bytes = match std::fs::read(&path) {
        Ok(bytes) => bytes,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
            output.must_scan = true;
            return;
        }
        Err(source) => {
            output.index_error = Some(IndexFileError::Read { path, source });
            return;
        }
    };
    output.is_index_old = is_older(&path, store.path());
    let listed =
        for_each_entry(&bytes, &path, store, |read_id, location| output.push(read_id, location));
    output.index_error = listed.err();
}

/// Lists the reads of a file by its table.
fn list_table(store: &dyn SignalStore, scratch: &mut DecodeScratch, output: &mut Listed) {
    let (mut cursor, mut batch, mut id) = (Cursor::default(), FrameBatch::default(), Vec::new());
    while matches!(store.next(&mut cursor, &mut batch), Ok(true)) {
        for frame in &batch.frames {
            // What is wrong with a read is said when it is requested.
            if store.read_id(scratch, &batch, frame, &mut id).is_ok() {
                output.push(&id, Location { offset: frame.offset, size_bytes: frame.size_bytes });
            }
        }
    }
}

/// The stage that finds reads by going through records: [`Locate`], which keeps whose they are.
pub struct ScanFiles<'a>(pub Locate<'a>);

/// Reads of a batch.
#[derive(Default)]
pub struct Scanned {
    input: usize,
    located: Located,
}

impl Scanned {
    /// Faults of the batch.
    #[must_use]
    pub fn faults(&self) -> &[Fault] {
        &self.located.tally.faults
    }
}

impl Stage for ScanFiles<'_> {
    type Scratch = LocateScratch;
    type Output = Scanned;

    fn scratch(&self) -> LocateScratch {
        self.0.scratch()
    }

    fn process(&self, scratch: &mut LocateScratch, work: &Work, output: &mut Scanned) {
        output.input = work.input;
        self.0.process(scratch, work, &mut output.located);
    }
}

/// Why files cannot be indexed.
#[derive(Debug, thiserror::Error)]
pub enum SignalFilesError {
    /// An index file is of no use.
    #[error(transparent)]
    Index(#[from] IndexFileError),
    /// There are more than a place can name.
    #[error("{0} files of signal are more than {MAX_FILES}; join them first")]
    TooManyFiles(usize),
}

impl RunError for SignalFilesError {
    fn class(&self) -> Class {
        match self {
            Self::Index(index) => index.class(),
            Self::TooManyFiles(_) => Class::Usage,
        }
    }

    fn place(&self) -> Place {
        match self {
            Self::Index(index) => index.place(),
            Self::TooManyFiles(_) => Place::default(),
        }
    }
}

/// Collects what [`ListFiles`] and [`ScanFiles`] find.
pub struct SignalFilesBuilder {
    paths: Vec<PathBuf>,
    index: ReadIndex,
    /// Numbers of files whose reads are to be found by going through them.
    must_scan: Vec<usize>,
    kits: BTreeMap<Kit, PathBuf>,
    old_indices: Vec<PathBuf>,
}

impl SignalFilesBuilder {
    /// For these files.
    ///
    /// # Errors
    /// [`SignalFilesError::TooManyFiles`].
    pub fn new(paths: Vec<PathBuf>) -> Result<Self, SignalFilesError> {
        if paths.len() >= MAX_FILES {
            return Err(SignalFilesError::TooManyFiles(paths.len()));
        }
        Ok(Self {
            paths,
            index: ReadIndex::default(),
            must_scan: Vec::new(),
            kits: BTreeMap::new(),
            old_indices: Vec::new(),
        })
    }

    /// The files.
    #[must_use]
    pub fn paths(&self) -> &[PathBuf] {
        &self.paths
    }

    /// Takes what is known of a file; the fault, if it cannot be opened.
    ///
    /// # Errors
    /// [`SignalFilesError::Index`].
    pub fn take_listed(&mut self, listed: &mut Listed) -> Result<Option<Fault>, SignalFilesError> {
        if let Some(error) = listed.index_error.take() {
            return Err(error.into());
        }
        let Some(path) = self.paths.get(listed.input) else { return Ok(None) };
        for kit in listed.kits.drain(..) {
            self.kits.entry(kit).or_insert_with(|| path.clone());
        }
        if listed.is_index_old {
            self.old_indices.push(index_path(path));
        }
        if listed.must_scan {
            self.must_scan.push(listed.input);
        }
        let mut start = 0;
        for &(end, location) in &listed.places {
            push(&mut self.index, listed.input, &listed.names[start..end], location);
            start = end;
        }
        Ok(listed.fault.take())
    }

    /// Files to be gone through, in the order of the inputs of that pass.
    #[must_use]
    pub fn must_scan(&self) -> Vec<PathBuf> {
        self.must_scan.iter().map(|&number| self.paths[number].clone()).collect()
    }

    /// Takes reads of a pass over [`SignalFilesBuilder::must_scan`].
    pub fn take_scanned(&mut self, scanned: &Scanned) {
        let Some(&number) = self.must_scan.get(scanned.input) else { return };
        for (read_id, location) in scanned.located.reads() {
            push(&mut self.index, number, read_id, location);
        }
    }

    /// All kits that reads were made with, and a file of each.
    #[must_use]
    pub fn kits(&self) -> &BTreeMap<Kit, PathBuf> {
        &self.kits
    }

    /// Indices that are older than their files.
    #[must_use]
    pub fn old_indices(&self) -> &[PathBuf] {
        &self.old_indices
    }

    /// Reads by id. The number of ids that are there twice comes with it.
    #[must_use]
    pub fn finish(mut self, options: SignalOptions) -> (SignalFiles, u64) {
        let (twice, _) = self.index.sort_marking_twice();
        let files = SignalFiles {
            paths: self.paths,
            index: self.index,
            options,
            open: Mutex::new(OpenFiles::default()),
        };
        (files, twice)
    }
}

fn push(index: &mut ReadIndex, file: usize, read_id: &[u8], location: Location) {
    let size = location.size_bytes.min((1 << SIZE_BITS) - 1);
    let size_bytes = (file as u64) << SIZE_BITS | size;
    index.push(read_id, Location { offset: location.offset, size_bytes });
}

#[derive(Default)]
struct OpenFiles {
    files: HashMap<usize, (Arc<dyn SignalStore>, u64)>,
    clock: u64,
}

/// Scratch of a worker.
#[derive(Default)]
pub(crate) struct SignalScratch {
    decode: DecodeScratch,
    batch: FrameBatch,
}

/// Why a read's signal cannot be had.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum SignalProblem {
    /// No file has it.
    Missing,
    /// It is there more than once.
    Twice,
    /// It, or its file, cannot be read.
    Unreadable(Box<Fault>),
}

/// Files of raw signal, and which read is in which of them.
pub struct SignalFiles {
    paths: Vec<PathBuf>,
    index: ReadIndex,
    options: SignalOptions,
    open: Mutex<OpenFiles>,
}

impl SignalFiles {
    /// Number of reads.
    #[must_use]
    pub fn len(&self) -> usize {
        self.index.len()
    }

    /// Whether there are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.index.is_empty()
    }

    /// Bytes of memory that ids and places take.
    #[must_use]
    pub fn held_bytes(&self) -> u64 {
        self.index.held_bytes()
    }

    /// Fills `read` with the read called `read_id`, and gives its file.
    ///
    /// # Errors
    /// [`SignalProblem`].
    pub(crate) fn fetch(
        &self,
        scratch: &mut SignalScratch,
        read_id: &[u8],
        components: &Components,
        read: &mut SignalRead,
    ) -> Result<Arc<Path>, SignalProblem> {
        let place = self.index.find(read_id).ok_or(SignalProblem::Missing)?;
        if place == ReadIndex::TWICE {
            return Err(SignalProblem::Twice);
        }
        let file = (place.size_bytes >> SIZE_BITS) as usize;
        let size_bytes = place.size_bytes & ((1 << SIZE_BITS) - 1);
        let frame = Frame { offset: place.offset, size_bytes, ..Frame::default() };
        let store = self.store(file, read_id, components)?;
        let has_records = store.format().has_records();
        let unreadable = |reason: String| {
            SignalProblem::Unreadable(Box::new(Fault {
                path: store.path().clone(),
                read_id: Some(read_id.to_vec()),
                offset: has_records.then_some(place.offset),
                reason,
                loss: Loss::Read,
            }))
        };
        if size_bytes > MAX_RECORD_BYTES {
            return Err(unreadable(format!("a record of {size_bytes} bytes")));
        }
        let SignalScratch { decode, batch } = scratch;
        batch.clear();
        batch.frames.push(frame);
        let fetched = components.read.time(|| store.fetch(batch));
        fetched.map_err(|error| unreadable(error.reason()))?;
        let frame = batch.frames[0];
        let decoded = components.decode.time(|| store.decode(decode, batch, &frame, read));
        components.inflate.add(decode.take_inflate_time());
        decoded.map_err(|error| unreadable(error.to_string()))?;
        if read.read_id != read_id {
            let other = String::from_utf8_lossy(&read.read_id);
            return Err(unreadable(format!(
                "read {other} is where the index has another: the index is out of date"
            )));
        }
        Ok(store.path().clone())
    }

    /// The open file, which is opened if it is not.
    fn store(
        &self,
        file: usize,
        read_id: &[u8],
        components: &Components,
    ) -> Result<Arc<dyn SignalStore>, SignalProblem> {
        {
            let mut open = lock(&self.open);
            open.clock += 1;
            let now = open.clock;
            if let Some((store, used)) = open.files.get_mut(&file) {
                *used = now;
                return Ok(store.clone());
            }
        }
        // Not under the lock: others go on meanwhile. Two may open a file at once; one is kept.
        let opened = components.open.time(|| store::open(&self.paths[file], &self.options.open));
        let opened = opened.map_err(|error| {
            let fault = Fault { read_id: Some(read_id.to_vec()), ..file_fault(error) };
            SignalProblem::Unreadable(Box::new(Fault { loss: Loss::Read, ..fault }))
        })?;
        let mut open = lock(&self.open);
        let now = open.clock;
        if open.files.len() >= self.options.open_files.max(1) {
            let oldest = open.files.iter().min_by_key(|(_, (_, used))| *used);
            if let Some(oldest) = oldest.map(|(&file, _)| file) {
                open.files.remove(&oldest);
            }
        }
        Ok(open.files.entry(file).or_insert((opened, now)).0.clone())
    }
}

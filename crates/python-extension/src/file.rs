//! A file of raw signal as Python has it.

use std::cell::Cell;
use std::num::NonZeroUsize;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, OnceLock};

use pyo3::exceptions::PyKeyError;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList};
use seqloom_runtime::failure::lock;
use seqloom_runtime::pool::Interrupted;
use seqloom_signal::flow::pass::{self, BatchSource, Components, PassOptions, Stage};
use seqloom_signal::flow::{Fault as SignalFault, Sequential};
use seqloom_signal::operations::Locate;
use seqloom_signal::store::{
    self, Cursor, DecodeScratch, FrameBatch, IndexFileError, Location, OpenOptions, ReadIndex,
    Requests, for_each_entry, index_path,
};

use crate::error::NativeError;
use crate::read::{Fault, Read};
use crate::stage::{Decode, Outcome, decode};

/// Where all reads are.
struct Index {
    /// Ids, in the order of the file.
    ids: Vec<String>,
    places: ReadIndex,
    /// What could not be found.
    faults: Vec<SignalFault>,
}

/// A file of raw signal: SLOW5, BLOW5, FAST5 or POD5.
#[pyclass(frozen, module = "seqloom._native")]
pub(crate) struct SignalStore {
    store: Arc<dyn store::SignalStore>,
    index: OnceLock<Index>,
}

#[pymethods]
impl SignalStore {
    /// Opens a file, whatever it is; its first bytes decide.
    #[new]
    fn new(py: Python<'_>, path: PathBuf) -> PyResult<Self> {
        let open = || store::open(&path, &OpenOptions::default());
        let store = py.detach(open).map_err(NativeError::from)?;
        Ok(Self { store, index: OnceLock::new() })
    }

    /// What it is: slow5, blow5, fast5 or pod5.
    #[getter]
    fn format(&self) -> String {
        self.store.format().name().to_ascii_lowercase()
    }

    /// Read groups.
    #[getter]
    fn read_groups(&self) -> u32 {
        self.store.header().read_groups
    }

    /// Attributes of a read group; what is missing is left out.
    fn header<'py>(&self, py: Python<'py>, read_group: usize) -> PyResult<Bound<'py, PyDict>> {
        let header = PyDict::new(py);
        for (name, values) in &self.store.header().attributes {
            if let Some(value) = values.get(read_group).filter(|value| !value.is_empty()) {
                let name = String::from_utf8_lossy(name);
                header.set_item(name, String::from_utf8_lossy(value))?;
            }
        }
        Ok(header)
    }

    /// Names of the fields that reads have besides what all have.
    #[getter]
    fn fields(&self) -> Vec<String> {
        let fields = &self.store.header().auxiliary;
        fields.iter().map(|field| String::from_utf8_lossy(&field.name).into_owned()).collect()
    }

    /// Reads that can be found.
    fn __len__(&self, py: Python<'_>) -> PyResult<usize> {
        Ok(self.index(py)?.ids.len())
    }

    /// Ids, in the order of the file.
    fn read_ids<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyList>> {
        PyList::new(py, &self.index(py)?.ids)
    }

    /// What could not be found when the file was looked through.
    fn faults(&self, py: Python<'_>) -> PyResult<Vec<Fault>> {
        Ok(self.index(py)?.faults.iter().map(Fault::new).collect())
    }

    /// Whether a read is there.
    fn __contains__(&self, py: Python<'_>, read_id: &str) -> PyResult<bool> {
        Ok(self.index(py)?.places.find(read_id.as_bytes()).is_some())
    }

    /// Reads by their ids, in the order of the ids, each a `Read` or a `Fault`.
    fn get<'py>(
        &self,
        py: Python<'py>,
        read_ids: Vec<String>,
        threads: NonZeroUsize,
    ) -> PyResult<Bound<'py, PyList>> {
        let index = self.index(py)?;
        let find = |id: &String| {
            let found = index.places.find(id.as_bytes());
            found.ok_or_else(|| PyKeyError::new_err(id.clone()))
        };
        let requested = read_ids.iter().map(find).collect::<PyResult<Vec<Location>>>()?;
        let outcomes = py.detach(|| self.decode(requested, threads))?;
        objects(py, outcomes, self.store.as_ref())
    }

    /// All reads in the order of the file.
    fn sequential(&self) -> SequentialReads {
        SequentialReads { store: self.store.clone(), state: Mutex::default() }
    }
}

impl SignalStore {
    /// The index, which is made when it is first requested.
    fn index(&self, py: Python<'_>) -> PyResult<&Index> {
        if let Some(index) = self.index.get() {
            return Ok(index);
        }
        let made = py.detach(|| self.find_all())?;
        Ok(self.index.get_or_init(|| made))
    }

    /// Finds all reads: by the index next to the file, or by looking through it.
    fn find_all(&self) -> Result<Index, NativeError> {
        let index_file = index_path(self.store.path());
        if self.store.format().has_records() && index_file.exists() {
            return self.read_index(index_file);
        }
        let (mut ids, mut places, mut faults) = (Vec::new(), ReadIndex::default(), Vec::new());
        let components = Components::default();
        let stage = Locate { components: &components };
        let source = Sequential::of(self.store.clone());
        let one = NonZeroUsize::MIN;
        run_pass((one, &components), source, &stage, |located| {
            for (id, location) in located.reads() {
                ids.push(String::from_utf8_lossy(id).into_owned());
                places.push(id, location);
            }
            faults.append(&mut located.tally.faults);
            Ok(())
        })?;
        self.sorted(ids, places, faults)
    }

    fn read_index(&self, path: PathBuf) -> Result<Index, NativeError> {
        let failed = |source| IndexFileError::Read { path: path.clone(), source };
        let bytes = std::fs::read(&path).map_err(failed)?;
        let (mut ids, mut places) = (Vec::new(), ReadIndex::default());
        for_each_entry(&bytes, &path, self.store.as_ref(), |id, location| {
            ids.push((location.offset, String::from_utf8_lossy(id).into_owned()));
            places.push(id, location);
        })?;
        ids.sort_unstable();
        self.sorted(ids.into_iter().map(|(_, id)| id).collect(), places, Vec::new())
    }

    fn sorted(
        &self,
        ids: Vec<String>,
        mut places: ReadIndex,
        faults: Vec<SignalFault>,
    ) -> Result<Index, NativeError> {
        let path = self.store.path().to_path_buf();
        places.sort().map_err(|source| IndexFileError::Duplicate { path, source })?;
        Ok(Index { ids, places, faults })
    }

    fn decode(
        &self,
        requested: Vec<Location>,
        threads: NonZeroUsize,
    ) -> Result<Vec<Outcome>, NativeError> {
        let mut outcomes = Vec::with_capacity(requested.len());
        if let &[Location { offset, size_bytes }] = requested.as_slice() {
            // One read is not worth a thread.
            let frame = store::Frame { offset, size_bytes, ..store::Frame::default() };
            let mut batch = FrameBatch { frames: vec![frame], ..FrameBatch::default() };
            self.store.fetch(&mut batch)?;
            let mut scratch = DecodeScratch::default();
            decode(self.store.as_ref(), &batch, &mut scratch, &mut outcomes);
            return Ok(outcomes);
        }
        let components = Components::default();
        let source = Requests::new(self.store.clone(), requested, threads.get());
        run_pass((threads, &components), source, &Decode, |decoded| {
            outcomes.append(decoded);
            Ok(())
        })?;
        Ok(outcomes)
    }
}

/// Reads one after the other.
#[pyclass(frozen, module = "seqloom._native")]
pub(crate) struct SequentialReads {
    store: Arc<dyn store::SignalStore>,
    state: Mutex<State>,
}

/// How far the reads are.
#[derive(Default)]
struct State {
    cursor: Cursor,
    batch: FrameBatch,
    scratch: DecodeScratch,
}

#[pymethods]
impl SequentialReads {
    /// The next reads, each a `Read` or a `Fault`; None at the end.
    fn next_batch<'py>(&self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyList>>> {
        py.check_signals()?;
        let Some(outcomes) = py.detach(|| self.decode_next())? else { return Ok(None) };
        objects(py, outcomes, self.store.as_ref()).map(Some)
    }
}

impl SequentialReads {
    fn decode_next(&self) -> Result<Option<Vec<Outcome>>, NativeError> {
        let State { cursor, batch, scratch } = &mut *lock(&self.state);
        if !self.store.next(cursor, batch)? {
            return Ok(None);
        }
        let mut outcomes = Vec::with_capacity(batch.frames.len());
        decode(self.store.as_ref(), batch, scratch, &mut outcomes);
        Ok(Some(outcomes))
    }
}

fn objects<'py>(
    py: Python<'py>,
    outcomes: Vec<Outcome>,
    store: &dyn store::SignalStore,
) -> PyResult<Bound<'py, PyList>> {
    let fields = &store.header().auxiliary;
    let list = PyList::empty(py);
    for outcome in outcomes {
        match outcome {
            Ok(read) => list.append(Py::new(py, Read::new(py, read, fields)?)?)?,
            Err(fault) => list.append(Py::new(py, Fault::new(&fault))?)?,
        }
    }
    Ok(list)
}

/// Runs a pass. Ctrl-C ends it: the interpreter raises when it is checked.
fn run_pass<B: BatchSource, S: Stage>(
    (threads, components): (NonZeroUsize, &Components),
    source: B,
    stage: &S,
    commit: impl FnMut(&mut S::Output) -> Result<(), NativeError> + Send,
) -> Result<(), NativeError> {
    let raised = Cell::new(None);
    let watch = || {
        Python::attach(|py| py.check_signals()).map_err(|error| {
            raised.set(Some(error));
            Interrupted
        })
    };
    let outcome =
        pass::run(&PassOptions { threads, components, watch: &watch }, source, stage, commit);
    raised.into_inner().map_or(outcome, |raised| Err(raised.into()))
}

//! Where a pass gets its batches from: files from end to end, or files to be opened.

use std::path::PathBuf;
use std::sync::Arc;

use crate::flow::account::{Fault, Loss};
use crate::flow::pass::{BatchSource, Components, Work};
use crate::store::{self, Cursor, OpenOptions, SignalStore, StoreError};

/// A file to be read: open, or to be opened when it is its turn.
pub enum Input {
    /// It is open.
    Open(Arc<dyn SignalStore>),
    /// It will be opened; if that fails, the file is booked as lost.
    Path(PathBuf),
}

/// All reads of all files, one file after the other.
pub struct Sequential {
    inputs: Vec<Input>,
    options: OpenOptions,
    at: usize,
    current: Option<Arc<dyn SignalStore>>,
    cursor: Cursor,
    ordinal: u64,
}

impl Sequential {
    /// Over `inputs`; those that are not open will be opened with `options`.
    #[must_use]
    pub fn new(inputs: Vec<Input>, options: OpenOptions) -> Self {
        Self { inputs, options, at: 0, current: None, cursor: Cursor::default(), ordinal: 0 }
    }

    /// Over one open file.
    #[must_use]
    pub fn of(store: Arc<dyn SignalStore>) -> Self {
        Self::new(vec![Input::Open(store)], OpenOptions::default())
    }

    /// The file that is read now, or the fault that it cannot be.
    fn current(
        &mut self,
        components: &Components,
    ) -> Option<Result<Arc<dyn SignalStore>, Box<Fault>>> {
        if let Some(store) = &self.current {
            return Some(Ok(store.clone()));
        }
        let store = match self.inputs.get(self.at)? {
            Input::Open(store) => Ok(store.clone()),
            Input::Path(path) => {
                components.open.time(|| store::open(path, &self.options)).map_err(file_fault)
            }
        };
        self.cursor = Cursor::default();
        self.current = store.as_ref().ok().cloned();
        Some(store.map_err(Box::new))
    }
}

/// Error of a whole file, as a fault.
#[must_use]
pub fn file_fault(error: StoreError) -> Fault {
    let path = error.path();
    Fault {
        path: Arc::from(path),
        read_id: None,
        offset: None,
        reason: error.reason(),
        loss: Loss::File,
    }
}

impl BatchSource for Sequential {
    fn next(&mut self, work: &mut Work, components: &Components) -> Result<bool, StoreError> {
        work.must_fetch = false;
        while let Some(store) = self.current(components) {
            work.input = self.at;
            work.first_ordinal = self.ordinal;
            let store = match store {
                Ok(store) => store,
                Err(fault) => {
                    work.store = None;
                    work.batch = store::FrameBatch::of_fault(*fault);
                    self.at += 1;
                    return Ok(true);
                }
            };
            let more = components.read.time(|| store.next(&mut self.cursor, &mut work.batch))?;
            if more {
                self.ordinal += work.batch.frames.len() as u64;
                work.store = Some(store);
                return Ok(true);
            }
            self.current = None;
            // An open file that is through need not stay open.
            self.inputs[self.at] = Input::Path(PathBuf::new());
            self.at += 1;
        }
        Ok(false)
    }
}

/// The numbers of files, for a pass that opens them.
pub struct Numbers {
    /// How many there are.
    pub count: usize,
    /// The next one.
    pub next: usize,
}

impl BatchSource for Numbers {
    fn next(&mut self, work: &mut Work, _: &Components) -> Result<bool, StoreError> {
        work.input = self.next;
        self.next += 1;
        Ok(work.input < self.count)
    }
}

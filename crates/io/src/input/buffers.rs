//! Buffers of blocks that were handed back, for blocks to come.

use std::sync::Mutex;

use seqloom_runtime::failure::lock;

/// At most so many buffers that nobody has.
pub(crate) struct BufferPool<B> {
    free: Mutex<Vec<B>>,
    most: usize,
}

impl<B: Default> BufferPool<B> {
    pub(crate) fn new(most: usize) -> Self {
        Self { free: Mutex::new(Vec::new()), most }
    }

    /// A buffer; what it holds is of no use.
    pub(crate) fn take(&self) -> B {
        lock(&self.free).pop().unwrap_or_default()
    }

    /// Keeps a buffer, unless there are enough.
    pub(crate) fn give(&self, buffer: B) {
        let mut free = lock(&self.free);
        if free.len() < self.most {
            free.push(buffer);
        }
    }

    /// Frees the memory of all of them.
    pub(crate) fn release(&self) {
        *lock(&self.free) = Vec::new();
    }
}

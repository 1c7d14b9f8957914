//! Record batches to the messages of an Arrow IPC stream, by many workers.
//!
//! Dictionaries are the same in every batch of a stream: they are at its head, and workers leave
//! them out.

use arrow_array::RecordBatch;
use arrow_buffer::Buffer;
use arrow_ipc::writer::StreamEncoder;
use arrow_schema::ArrowError;

/// A worker's.
pub(crate) struct Encoder(StreamEncoder);

impl Encoder {
    /// An encoder of batches with the schema and the dictionaries of `empty`, a batch without rows,
    /// and the head of the stream.
    pub(crate) fn new(empty: &RecordBatch) -> Result<(Self, Vec<u8>), ArrowError> {
        let mut encoder = StreamEncoder::try_new(&empty.schema())?;
        let mut head = joined(&encoder.encode(empty)?);
        // The second time there is the batch alone.
        let batch = joined(&encoder.encode(empty)?);
        head.truncate(head.len().saturating_sub(batch.len()));
        Ok((Self(encoder), head))
    }

    /// The message of a batch.
    pub(crate) fn encode(&mut self, batch: &RecordBatch) -> Result<Vec<u8>, ArrowError> {
        Ok(joined(&self.0.encode(batch)?))
    }

    /// End of the stream.
    pub(crate) fn end(self) -> Result<Vec<u8>, ArrowError> {
        Ok(joined(&self.0.finish()?))
    }
}

fn joined(buffers: &[Buffer]) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(buffers.iter().map(Buffer::len).sum());
    for buffer in buffers {
        bytes.extend_from_slice(buffer);
    }
    bytes
}

//! What a worker keeps between reads, for files of any kind.

use std::time::Duration;

use seqloom_format::slow5::Compression;
use seqloom_format::slow5::binary::RecordDecoder;

use super::error::ReadError;
use super::fast5::Fast5Scratch;
use super::pod5::Pod5Scratch;

/// Decoders and buffers of one worker, one for each format.
#[derive(Default)]
pub struct DecodeScratch {
    blow5: Option<(Compression, RecordDecoder)>,
    pub(super) fast5: Fast5Scratch,
    pub(super) pod5: Pod5Scratch,
}

impl DecodeScratch {
    /// Time spent inflating records since the last call.
    pub fn take_inflate_time(&mut self) -> Duration {
        self.blow5.as_mut().map(|(_, decoder)| decoder.take_inflate_time()).unwrap_or_default()
    }

    pub(super) fn blow5(
        &mut self,
        compression: Compression,
    ) -> Result<&mut RecordDecoder, ReadError> {
        let kept = self.blow5.take().filter(|(of, _)| *of == compression);
        let decoder = match kept {
            Some((_, decoder)) => decoder,
            None => RecordDecoder::new(compression).map_err(ReadError::new)?,
        };
        Ok(&mut self.blow5.insert((compression, decoder)).1)
    }
}

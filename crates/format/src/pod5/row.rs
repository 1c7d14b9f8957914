//! The signal of one row of the Signal table: 16-bit samples as they are, or svb16 in a zstd frame
//! (the extension type `minknow.vbz`; HDF5's VBZ filter codes otherwise).

use zstd::bulk::Decompressor;

use super::svb16::{self, Svb16Error};

/// Most samples of one row: 7 hours at 5 kHz. The POD5 library writes rows of 102,400.
pub(crate) const MAX_ROW_SAMPLES: u32 = 1 << 27;

/// A block of a zstd frame takes 3 bytes and more (RFC 8878, section 3.1.1.2) ...
const ZSTD_BLOCK_MIN_BYTES: usize = 3;
/// ... and holds 128 KiB at most.
const ZSTD_BLOCK_MAX_CONTENT_BYTES: usize = 128 << 10;

/// How the rows of a file hold their samples.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RowCoding {
    /// Little-endian 16-bit samples.
    Plain,
    /// A zstd frame of svb16.
    Vbz,
}

/// Why the bytes of a row are not its samples.
#[derive(Debug, thiserror::Error)]
pub enum RowError {
    /// More samples than [`MAX_ROW_SAMPLES`].
    #[error("{samples} samples, more than the {MAX_ROW_SAMPLES} that are read of a row")]
    TooLong {
        /// As many as the row says.
        samples: u32,
    },
    /// A row that is not compressed has the wrong length.
    #[error("{have_bytes} bytes for {samples} samples of two bytes")]
    Length {
        /// Bytes there are.
        have_bytes: usize,
        /// As many as the row says.
        samples: u32,
    },
    /// The frame's size cannot be that of the samples.
    #[error("a zstd frame whose content cannot be {samples} samples")]
    FrameSize {
        /// As many as the row says.
        samples: u32,
    },
    /// zstd refuses the frame.
    #[error("zstd: {0}")]
    Zstd(std::io::Error),
    /// What the frame holds are not the samples.
    #[error(transparent)]
    Svb16(#[from] Svb16Error),
}

/// Decodes rows; keeps the memory it works in.
#[derive(Default)]
pub struct RowDecoder {
    zstd: Decompressor<'static>,
    inflated: Vec<u8>,
}

impl std::fmt::Debug for RowDecoder {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("RowDecoder").finish_non_exhaustive()
    }
}

impl RowDecoder {
    /// Appends the samples of a row to `out`. On an error `out` is as it was.
    ///
    /// # Errors
    /// [`RowError`]. What is allocated is bounded by what `bytes` can hold.
    pub fn decode(
        &mut self,
        coding: RowCoding,
        bytes: &[u8],
        samples: u32,
        out: &mut Vec<i16>,
    ) -> Result<(), RowError> {
        if samples > MAX_ROW_SAMPLES {
            return Err(RowError::TooLong { samples });
        }
        let count = samples as usize;
        match coding {
            RowCoding::Plain if bytes.len() == 2 * count => {
                out.extend(bytes.as_chunks().0.iter().map(|&word| i16::from_le_bytes(word)));
                Ok(())
            }
            RowCoding::Plain => Err(RowError::Length { have_bytes: bytes.len(), samples }),
            // The writer leaves no frame for no samples.
            RowCoding::Vbz if count == 0 && bytes.is_empty() => Ok(()),
            RowCoding::Vbz => {
                self.inflate(bytes, samples)?;
                Ok(svb16::decode(&self.inflated, count, out)?)
            }
        }
    }

    fn inflate(&mut self, bytes: &[u8], samples: u32) -> Result<(), RowError> {
        let least = svb16::key_bytes(samples as usize) + samples as usize;
        let most = least + samples as usize;
        let possible = (bytes.len() / ZSTD_BLOCK_MIN_BYTES) * ZSTD_BLOCK_MAX_CONTENT_BYTES;
        let content = match zstd::zstd_safe::get_frame_content_size(bytes) {
            Ok(Some(size)) => usize::try_from(size).unwrap_or(usize::MAX),
            // A frame need not say its size; one that is none is refused below, by zstd.
            Ok(None) | Err(_) => most.min(possible),
        };
        if content < least || content > most || content > possible {
            return Err(RowError::FrameSize { samples });
        }
        self.inflated.clear();
        self.inflated.reserve(content);
        self.zstd.decompress_to_buffer(bytes, &mut self.inflated).map_err(RowError::Zstd)?;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn decode(coding: RowCoding, bytes: &[u8], samples: u32) -> Result<Vec<i16>, RowError> {
        let mut out = Vec::new();
        RowDecoder::default().decode(coding, bytes, samples, &mut out).map(|()| out)
    }

    #[test]
    fn rows_of_both_codings() {
        assert_eq!(decode(RowCoding::Plain, &[1, 0, 0xFF, 0xFF], 2).unwrap(), [1, -1]);
        assert!(decode(RowCoding::Plain, &[1, 0, 0xFF], 2).is_err());
        let frame = zstd::encode_all(&[0, 2, 1, 0][..], 1).unwrap();
        assert_eq!(decode(RowCoding::Vbz, &frame, 3).unwrap(), [1, 0, 0]);
        assert!(decode(RowCoding::Vbz, &frame[..frame.len() - 1], 3).is_err());
        assert_eq!(decode(RowCoding::Vbz, &[], 0).unwrap(), [0_i16; 0]);
        let empty = zstd::encode_all(&[][..], 1).unwrap();
        assert_eq!(decode(RowCoding::Vbz, &empty, 0).unwrap(), [0_i16; 0]);
    }

    #[test]
    fn a_row_that_claims_too_much_is_refused_before_memory_is_allocated() {
        let frame = zstd::bulk::compress(&[0, 2, 1, 0], 1).unwrap();
        for samples in [1, 4, 1 << 20, MAX_ROW_SAMPLES] {
            let refused = decode(RowCoding::Vbz, &frame, samples);
            assert!(matches!(refused, Err(RowError::FrameSize { .. })), "{samples} {refused:?}");
        }
        assert!(matches!(decode(RowCoding::Vbz, &frame, u32::MAX), Err(RowError::TooLong { .. })));
        let mut decoder = RowDecoder::default();
        let nothing = [0x28, 0xB5, 0x2F, 0xFD, 0, 0];
        let refused = decoder.decode(RowCoding::Vbz, &nothing, MAX_ROW_SAMPLES, &mut Vec::new());
        assert!(refused.is_err() && decoder.inflated.capacity() < 1 << 20);
    }
}

//! The index next to a BAM or CRAM file.

use std::path::Path;

use seqloom_format::bam::Reference;
use seqloom_format::bgzf::{EOF_BLOCK, VirtualOffset};
use seqloom_format::index::{BinningScheme, IndexBuilder};
use seqloom_io::sidecars::with_suffix;
use seqloom_io::{AtomicFile, Output, OutputError};
use seqloom_prep::finish::{EncodeError, FinishError, bgzf_blocks};
use seqloom_terminal::UsageError;

use super::arguments::IndexKind;

/// Level of the blocks of a CSI index.
const CSI_LEVEL: u8 = 6;
/// Longest reference that BAI can index, in bp (SAM specification 5.2).
const BAI_LONGEST_BP: u32 = 1 << 29;

/// BAI or CSI, with the bins it has.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct IndexFormat {
    is_csi: bool,
    scheme: BinningScheme,
}

impl IndexFormat {
    /// The index of an output that may have one; of others there is none.
    ///
    /// # Errors
    /// The format that is requested cannot hold the references.
    pub(crate) fn choose(
        kind: IndexKind,
        references: &[Reference],
        is_indexable: bool,
    ) -> Result<Option<Self>, UsageError> {
        let longest_bp = references.iter().map(|r| r.length).max().unwrap_or(0);
        let fits_bai = longest_bp <= BAI_LONGEST_BP;
        let bai = Self { is_csi: false, scheme: BinningScheme::BAI };
        let csi = Self { is_csi: true, scheme: BinningScheme::csi(longest_bp) };
        match kind {
            IndexKind::None => Ok(None),
            IndexKind::Auto if !is_indexable => Ok(None),
            _ if !is_indexable => Err(UsageError(
                "--write-index: only a BAM file sorted by coordinate can have an index".to_owned(),
            )),
            IndexKind::Bai if !fits_bai => Err(UsageError(
                "BAI cannot index sequences longer than 512 Mbp; use --write-index csi".to_owned(),
            )),
            IndexKind::Bai => Ok(Some(bai)),
            IndexKind::Csi => Ok(Some(csi)),
            IndexKind::Auto => Ok(Some(if fits_bai { bai } else { csi })),
        }
    }

    /// Its bins.
    pub(crate) fn scheme(self) -> BinningScheme {
        self.scheme
    }

    /// Builder of its entries.
    pub(crate) fn builder(self, references: usize) -> IndexBuilder {
        IndexBuilder::new(self.scheme, references)
    }

    /// The bytes of the index; records end at `end`.
    ///
    /// # Errors
    /// The entries do not fit the format.
    pub(crate) fn finish(
        self,
        entries: IndexBuilder,
        end: VirtualOffset,
    ) -> seqloom_terminal::Result<Vec<u8>> {
        if !self.is_csi {
            return Ok(entries.finish_bai(end).map_err(FinishError::Index)?);
        }
        let entries = entries.finish_csi(end).map_err(FinishError::Index)?;
        let mut bytes = bgzf_blocks(&entries, CSI_LEVEL).map_err(EncodeError::from)?;
        bytes.extend_from_slice(&EOF_BLOCK);
        Ok(bytes)
    }

    /// After the name of the output.
    pub(crate) fn suffix(self) -> &'static str {
        if self.is_csi { ".csi" } else { ".bai" }
    }
}

/// The index of the output at `path`, which is still to get its name.
///
/// # Errors
/// It cannot be written.
pub(crate) fn file(
    path: &Path,
    suffix: &str,
    bytes: &[u8],
) -> Result<Option<AtomicFile>, OutputError> {
    let mut output = Output::create(&with_suffix(path, suffix))?;
    output.write(bytes)?;
    Ok(output.into_file())
}

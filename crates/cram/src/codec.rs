//! The compressors of blocks, and how one is chosen.

use libdeflater::{CompressionLvl, Compressor};

use crate::block::{Content, Method, push_block};
use crate::error::CramError;
use crate::names;
use crate::rans_nx16::{self, Way};
use crate::rans4x8::{self, Order};

/// Bytes of a block that several codecs are tried on.
const TRIAL_BYTES: usize = 16 << 10;
/// Blocks below this many bytes are left as they are: what a compressor says of itself is longer.
const MIN_BYTES: usize = 8;

/// A compressor.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Codec {
    /// rANS 4x8, order 0.
    Rans0,
    /// rANS 4x8, order 1.
    Rans1,
    /// gzip by libdeflate at this level.
    Gzip(u8),
    /// rANS Nx16.
    Nx16(Way),
    /// The same, of values of so many bytes.
    Striped(u8),
    /// The name tokeniser.
    Names,
}

impl Codec {
    fn method(self) -> Method {
        match self {
            Self::Rans0 | Self::Rans1 => Method::Rans,
            Self::Gzip(_) => Method::Gzip,
            Self::Nx16(_) | Self::Striped(_) => Method::RansNx16,
            Self::Names => Method::Names,
        }
    }
}

/// One worker's compressors.
#[derive(Default)]
pub(crate) struct Codecs {
    rans: rans4x8::Scratch,
    nx16: rans_nx16::Scratch,
    names: names::Scratch,
    gzip: Vec<(u8, Compressor)>,
    out: Vec<u8>,
}

impl Codecs {
    /// Appends `data` as an external block, by the only one of `codecs`, or by the one that makes
    /// its first bytes shortest; as it is where that is not longer.
    pub(crate) fn push_external(
        &mut self,
        id: i32,
        data: &[u8],
        codecs: &[Codec],
        blocks: &mut Vec<u8>,
    ) -> Result<(), CramError> {
        let raw = (Method::Raw, Content::External, id);
        let Some(codec) = self.choose(data, codecs)? else {
            push_block(blocks, raw, data.len(), data);
            return Ok(());
        };
        self.compress(codec, data)?;
        if self.out.len() < data.len() {
            let of = (codec.method(), Content::External, id);
            push_block(blocks, of, data.len(), &self.out);
        } else {
            push_block(blocks, raw, data.len(), data);
        }
        Ok(())
    }

    fn choose(&mut self, data: &[u8], codecs: &[Codec]) -> Result<Option<Codec>, CramError> {
        if data.len() < MIN_BYTES || codecs.len() < 2 {
            return Ok(codecs.first().copied().filter(|_| data.len() >= MIN_BYTES));
        }
        let first = &data[..data.len().min(TRIAL_BYTES)];
        let mut best = None;
        for &codec in codecs {
            self.compress(codec, first)?;
            if best.is_none_or(|(bytes, _)| self.out.len() < bytes) {
                best = Some((self.out.len(), codec));
            }
        }
        Ok(best.map(|(_, codec)| codec))
    }

    /// Replaces `out` by the compressed data.
    fn compress(&mut self, codec: Codec, data: &[u8]) -> Result<(), CramError> {
        match codec {
            Codec::Rans0 => rans4x8::compress(Order::Zero, data, &mut self.rans, &mut self.out),
            Codec::Rans1 => rans4x8::compress(Order::One, data, &mut self.rans, &mut self.out),
            Codec::Nx16(way) => rans_nx16::compress(way, data, &mut self.nx16, &mut self.out),
            Codec::Striped(stripes) => {
                let stripes = stripes.into();
                rans_nx16::compress_striped(stripes, data, &mut self.nx16, &mut self.out);
            }
            Codec::Names => names::compress(data, &mut self.names, &mut self.nx16, &mut self.out),
            Codec::Gzip(level) => {
                let compressor = gzip_compressor(&mut self.gzip, level)?;
                let bound = compressor.gzip_compress_bound(data.len());
                self.out.resize(bound, 0);
                let written = compressor.gzip_compress(data, &mut self.out);
                self.out.truncate(written.map_err(|_| CramError::Deflate)?);
            }
        }
        Ok(())
    }

    /// Appends gzip of `data` at a level.
    pub(crate) fn gzip(&mut self, level: u8, data: &[u8]) -> Result<&[u8], CramError> {
        self.compress(Codec::Gzip(level), data)?;
        Ok(&self.out)
    }
}

fn gzip_compressor(
    compressors: &mut Vec<(u8, Compressor)>,
    level: u8,
) -> Result<&mut Compressor, CramError> {
    let at = match compressors.iter().position(|(it, _)| *it == level) {
        Some(at) => at,
        None => {
            let known = CompressionLvl::new(i32::from(level)).map_err(|_| CramError::Deflate)?;
            compressors.push((level, Compressor::new(known)));
            compressors.len() - 1
        }
    };
    Ok(&mut compressors[at].1)
}

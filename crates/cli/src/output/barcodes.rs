//! Options of barcodes (UMIs) in duplicate marking, which `align` and `prep` share.

use seqloom_format::names::is_tag;
use seqloom_prep::duplicates::BarcodeTags;

use crate::options_given::first_given;

/// Barcodes that duplicates must share besides their place.
#[derive(Debug, Clone, clap::Args)]
pub(crate) struct BarcodeArguments {
    /// Tag with the barcode of the template (RX), which duplicates must share
    #[arg(long, value_name = "TAG", value_parser = tag_name)]
    barcode_tag: Option<[u8; 2]>,
    /// Tag with the barcode of the first read
    #[arg(long, value_name = "TAG", value_parser = tag_name)]
    read_one_barcode_tag: Option<[u8; 2]>,
    /// Tag with the barcode of the second read
    #[arg(long, value_name = "TAG", value_parser = tag_name)]
    read_two_barcode_tag: Option<[u8; 2]>,
    /// Duplicates share the UMI of --barcode-tag up to N errors, 0 or 1: by directed adjacency, as
    /// fgbio's and UMI-tools'. MI names the families of reads; no read is left out
    #[arg(long, value_name = "N", requires = "barcode_tag",
          value_parser = clap::value_parser!(u8).range(0..=1),
          conflicts_with_all = ["read_one_barcode_tag", "read_two_barcode_tag"])]
    umi_distance: Option<u8>,
    /// The barcode of the template is a UMI of a duplex, as ACT-GCA: its parts change places where
    /// read two starts before read one. Needs the tag MC
    #[arg(long, requires = "barcode_tag", conflicts_with = "umi_distance")]
    duplex_umi: bool,
}

impl BarcodeArguments {
    pub(crate) fn tags(&self) -> BarcodeTags {
        BarcodeTags {
            template: self.barcode_tag,
            read1: self.read_one_barcode_tag,
            read2: self.read_two_barcode_tag,
            is_umi: self.umi_distance.is_some(),
            is_duplex: self.duplex_umi,
        }
    }

    /// Errors up to which UMIs are the same, where they count so.
    pub(crate) fn umi_distance(&self) -> Option<u8> {
        self.umi_distance
    }

    /// The first of these options that is given.
    pub(crate) fn given(&self) -> Option<&'static str> {
        first_given([
            ("--barcode-tag", self.barcode_tag.is_some()),
            ("--read-one-barcode-tag", self.read_one_barcode_tag.is_some()),
            ("--read-two-barcode-tag", self.read_two_barcode_tag.is_some()),
        ])
    }
}

/// The two letters of a tag.
pub(crate) fn tag_name(text: &str) -> Result<[u8; 2], String> {
    let name = <[u8; 2]>::try_from(text.as_bytes());
    name.ok().filter(|&name| is_tag(name)).ok_or_else(|| "not the name of a tag".to_owned())
}

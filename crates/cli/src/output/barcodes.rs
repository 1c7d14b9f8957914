//! Options of barcodes (UMIs) in duplicate marking, which `align` and `prep` share.

use seqloom_prep::duplicates::barcode::BarcodeTags;

/// What duplicates must share besides their place.
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
}

impl BarcodeArguments {
    pub(crate) fn tags(&self) -> BarcodeTags {
        BarcodeTags {
            template: self.barcode_tag,
            read1: self.read_one_barcode_tag,
            read2: self.read_two_barcode_tag,
        }
    }

    /// The first of these options that is given.
    pub(crate) fn given(&self) -> Option<&'static str> {
        let options = [
            ("--barcode-tag", self.barcode_tag.is_some()),
            ("--read-one-barcode-tag", self.read_one_barcode_tag.is_some()),
            ("--read-two-barcode-tag", self.read_two_barcode_tag.is_some()),
        ];
        options.into_iter().find_map(|(name, is_given)| is_given.then_some(name))
    }
}

/// The two letters of a tag.
pub(crate) fn tag_name(text: &str) -> Result<[u8; 2], String> {
    let name = <[u8; 2]>::try_from(text.as_bytes());
    let is_tag = |name: &[u8; 2]| name[0].is_ascii_alphabetic() && name[1].is_ascii_alphanumeric();
    name.ok().filter(is_tag).ok_or_else(|| "not the name of a tag".to_owned())
}

//! Blocks of records as the source hands them out.

use seqloom_format::bgzf::VirtualOffset;

use super::error::Problem;
use crate::input::extent::BlockExtent;
use crate::input::reader::Truncation;

/// A run of consecutive records of one input. It counts only when
/// [`BlockCheck`](super::BlockCheck) has accepted it.
#[derive(Debug, Default)]
pub struct RecordBlock {
    /// Which input.
    pub input: usize,
    /// 0, 1, 2... in file order: every index of an input is handed out exactly once.
    pub index: u64,
    /// The input's last block; exactly one, and it may be empty.
    pub last: bool,
    /// Whole BAM records, each preceded by its `block_size`, all of them well-formed: those that
    /// start in this chunk of the input, before the defect if there is one.
    pub bytes: Vec<u8>,
    /// How many they are.
    pub records: u64,
    /// The first malformed record.
    pub(crate) defect: Option<Defect>,
    /// The input was cut off after these records, and that is allowed.
    pub(crate) truncation: Option<Truncation>,
    /// Extent of the block.
    pub(crate) place: BlockExtent,
    /// The last record reaches so far past the chunk that it was not read on a mere guess.
    pub(crate) is_unfinished: bool,
}

impl RecordBlock {
    /// Forgets its records; its chunk stays as it is.
    pub(crate) fn discard_records(&mut self) {
        self.bytes.clear();
        self.records = 0;
        self.defect = None;
        self.truncation = None;
        self.is_unfinished = false;
        self.place.first = None;
    }

    /// Forgets everything but whose block it is.
    pub(crate) fn discard(&mut self) {
        self.discard_records();
        self.place = BlockExtent::default();
    }
}

/// A malformed record in a block.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Defect {
    /// The problem.
    pub(crate) problem: Problem,
    /// Records of the block before it.
    pub(crate) record: u64,
    /// Start of the record, from that of the text that the block owns.
    pub(crate) byte: u64,
    /// The same in a BGZF file that is read at offsets.
    pub(crate) virtual_offset: Option<VirtualOffset>,
    /// The read's name as far as it is known, else empty.
    pub(crate) name: Vec<u8>,
}

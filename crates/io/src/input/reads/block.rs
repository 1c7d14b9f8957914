//! Blocks of reads as the source hands them out.

use seqloom_format::ReadBlock;
use seqloom_format::fastq::DefectKind;
use seqloom_format::names::ReadNameProblem;

use crate::cram::ContainerDefect;
use crate::input::extent::BlockExtent;

/// A run of consecutive reads of one file.
#[derive(Debug)]
pub struct InputBlock {
    /// Which input: 0 or 1.
    pub file: usize,
    /// 0, 1, 2... in file order: every index of a file is handed out exactly once.
    pub index: u64,
    /// The file's last block; exactly one, and it may be empty.
    pub last: bool,
    /// The reads, all of those before the defect if there is one.
    pub reads: ReadBlock,
    /// Records they come from: more than reads where alignments of no use here were passed over.
    pub records: u64,
    /// Lines of text in the records (0 for binary input).
    pub(crate) lines: u64,
    /// Bases in the reads.
    pub bases: u64,
    /// Reads whose record has an alignment, which BAM may have.
    pub aligned: u64,
    /// The first malformed record. It counts only when the block's place is confirmed: see
    /// [`BlockCheck`](super::BlockCheck).
    pub defect: Option<Defect>,
    /// Extent of the block.
    pub(crate) place: BlockExtent,
    /// Something else than BGZF follows in the block's chunk, which is to be read as a stream.
    pub(crate) leaves_bgzf: bool,
}

impl InputBlock {
    /// Makes it a block of nothing, which is not the last.
    pub(crate) fn discard(&mut self) {
        self.reads.reads.clear();
        self.reads.mate_of_pair.clear();
        (self.records, self.lines, self.bases, self.aligned) = (0, 0, 0, 0);
        (self.last, self.defect, self.place) = (false, None, BlockExtent::default());
    }

    /// Name of the last read, `None` without reads.
    pub(crate) fn last_name(&self) -> Option<&[u8]> {
        self.reads.reads.len().checked_sub(1).map(|last| self.reads.name(last))
    }
}

/// A malformed record in a block.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Defect {
    /// The problem.
    pub(crate) problem: Problem,
    /// Records of the block before it.
    pub record: u64,
    /// Lines of the block before the line at fault; `None` in binary input.
    pub line: Option<u64>,
    /// Offset of the byte at fault from the start of the text that the block owns.
    pub(crate) byte: u64,
    /// The read's name as far as it is known, else empty.
    pub name: Vec<u8>,
}

/// The problem of a record.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Problem {
    /// In FASTQ or FASTA.
    Text(DefectKind),
    /// In BAM.
    Bam(String),
    /// The read's name in BAM.
    Name(ReadNameProblem),
    /// In a container of CRAM.
    Container(ContainerDefect),
}

impl From<String> for Problem {
    fn from(problem: String) -> Self {
        Self::Bam(problem)
    }
}

impl Problem {
    /// A hint, if there is one.
    pub(crate) fn hint(&self) -> Option<&'static str> {
        match self {
            Self::Text(DefectKind::Name(problem)) | Self::Name(problem) => problem.hint(),
            Self::Container(defect) => defect.hint,
            Self::Text(DefectKind::MissingPlus(byte)) if *byte != b'@' => Some(
                "wrapped sequences are read only where the first records of the file are wrapped \
                 too: unwrap the file, for example with `seqtk seq -l0`",
            ),
            Self::Text(DefectKind::Truncated) => {
                Some("the file was probably cut short while it was copied or written")
            }
            Self::Text(DefectKind::TooLong { .. }) => {
                Some("no read is as long as that: is the end of a line missing?")
            }
            Self::Text(DefectKind::BaseByte(b'0'..=b'3')) => {
                Some("reads in colour space are not read here")
            }
            Self::Text(DefectKind::QualityByte(b' ' | b'\t'))
            | Self::Text(DefectKind::BaseByte(b' ' | b'\t')) => {
                Some("white space is not allowed within a read")
            }
            _ => None,
        }
    }
}

impl std::fmt::Display for Problem {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Text(kind) => kind.fmt(f),
            Self::Bam(problem) => f.write_str(problem),
            Self::Name(problem) => problem.fmt(f),
            Self::Container(defect) => f.write_str(&defect.problem),
        }
    }
}

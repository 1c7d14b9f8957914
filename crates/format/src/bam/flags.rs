//! The FLAG field, bit by bit.

/// The bits of FLAG (SAM specification 1.4.2), to be combined with `|` and tested with `&`.
#[derive(Debug, Clone, Copy)]
pub struct Flags;

impl Flags {
    /// The template has several segments in sequencing.
    pub const PAIRED: u16 = 0x1;
    /// Every segment is properly aligned according to the aligner.
    pub const PROPER_PAIR: u16 = 0x2;
    /// This segment is unmapped.
    pub const UNMAPPED: u16 = 0x4;
    /// The next segment of the template is unmapped.
    pub const MATE_UNMAPPED: u16 = 0x8;
    /// SEQ is reverse complemented.
    pub const REVERSE: u16 = 0x10;
    /// SEQ of the next segment is reverse complemented.
    pub const MATE_REVERSE: u16 = 0x20;
    /// First segment of the template.
    pub const FIRST_OF_PAIR: u16 = 0x40;
    /// Last segment of the template.
    pub const SECOND_OF_PAIR: u16 = 0x80;
    /// Secondary alignment.
    pub const SECONDARY: u16 = 0x100;
    /// Fails the platform's or vendor's quality checks.
    pub const QC_FAIL: u16 = 0x200;
    /// PCR or optical duplicate.
    pub const DUPLICATE: u16 = 0x400;
    /// Supplementary alignment.
    pub const SUPPLEMENTARY: u16 = 0x800;
}

//! What can be wrong with a line of SAM text.

use crate::names::ReadNameProblem;

/// Why a line is not a good record.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum SamError {
    /// Fewer than the 11 mandatory fields.
    #[error("line has {0} fields; a SAM record has at least 11, separated by tabs")]
    TooFewFields(usize),
    /// QNAME.
    #[error(transparent)]
    Name(#[from] ReadNameProblem),
    /// A field that is not what it should be.
    #[error("{field} {text:?} is malformed or out of range")]
    BadField {
        /// Name of the field in the SAM specification.
        field: &'static str,
        /// Its start.
        text: String,
    },
    /// A reference name that the header does not have.
    #[error("{field} {name:?} is not among the {} of the header",
            if *.has_references { "@SQ lines" } else { "@SQ lines, of which there is none," })]
    UnknownReference {
        /// RNAME or RNEXT.
        field: &'static str,
        /// The name.
        name: String,
        /// The header has references.
        has_references: bool,
    },
    /// The CIGAR consumes more or fewer bases than there are.
    #[error("SEQ has {bases} bases and CIGAR covers {cigar_bases}")]
    CigarLength {
        /// Bases that the CIGAR consumes.
        cigar_bases: u64,
        /// Length of SEQ.
        bases: u32,
    },
    /// As many qualities as bases there must be.
    #[error("SEQ has {bases} bases and QUAL has {qualities} qualities")]
    QualityLength {
        /// Length of QUAL.
        qualities: usize,
        /// Length of SEQ.
        bases: usize,
    },
    /// More than 65,535 operations over more bases than the placeholder in BAM can say.
    #[error("CIGAR of {ops} operations spans more than BAM can hold")]
    CigarTooLong {
        /// Number of operations.
        ops: usize,
    },
    /// An auxiliary field.
    #[error("auxiliary field {text:?} {problem}")]
    BadAux {
        /// Its start.
        text: String,
        /// The problem.
        problem: &'static str,
    },
}

/// Text of a field for a message.
pub(super) fn shown(text: &[u8]) -> String {
    const MOST: usize = 40;
    let head = String::from_utf8_lossy(&text[..text.len().min(MOST)]);
    let more = if text.len() > MOST { "..." } else { "" };
    format!("{}{more}", head.escape_debug())
}

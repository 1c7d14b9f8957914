//! What was lost of the input, read by read: which file, which read, where, and why.

use std::fmt;
use std::path::Path;
use std::sync::Arc;

use seqloom_runtime::error::Place;

/// One read, or one part of a file, that could not be read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fault {
    /// The file.
    pub path: Arc<Path>,
    /// Id of the read, where that much could be read.
    pub read_id: Option<Vec<u8>>,
    /// Start of the record in the file, for formats that have records.
    pub offset: Option<u64>,
    /// The problem.
    pub reason: String,
    /// How much is lost by it.
    pub loss: Loss,
}

/// How much a fault loses.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Loss {
    /// One read.
    Read,
    /// Everything from here to the end of the file, of which nobody knows how many reads it was.
    RestOfFile,
    /// A whole file.
    File,
}

impl Fault {
    /// Its place.
    #[must_use]
    pub fn place(&self) -> Place {
        Place {
            name: self.read_id.as_ref().map(|id| String::from_utf8_lossy(id).into_owned()),
            byte: self.offset,
            ..Place::of(&self.path)
        }
    }
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.path.display())?;
        if let Some(id) = &self.read_id {
            write!(f, ": read {}", String::from_utf8_lossy(id))?;
        }
        if let Some(offset) = self.offset {
            write!(f, ": byte {offset}")?;
        }
        write!(f, ": {}", self.reason)
    }
}

impl std::error::Error for Fault {}

/// Counts of what was read and what was lost.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Account {
    /// Reads that were read.
    pub reads: u64,
    /// Reads that are lost one by one.
    pub lost_reads: u64,
    /// Files of which the rest from some byte on is lost.
    pub cut_files: u64,
    /// Files that are lost as a whole.
    pub(crate) lost_files: u64,
}

impl Account {
    /// Adds one fault.
    pub fn book(&mut self, fault: &Fault) {
        match fault.loss {
            Loss::Read => self.lost_reads += 1,
            Loss::RestOfFile => self.cut_files += 1,
            Loss::File => self.lost_files += 1,
        }
    }

    /// Whether anything was lost.
    #[must_use]
    pub fn is_lossy(&self) -> bool {
        self.lost_reads + self.cut_files + self.lost_files > 0
    }
}

impl fmt::Display for Account {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { reads, lost_reads, cut_files, lost_files } = self;
        write!(
            f,
            "{reads} reads read; lost: {lost_reads} reads, the rest of {cut_files} files, \
             {lost_files} whole files"
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_fault_says_where_it_is() {
        fn t(read_id: Option<&[u8]>, offset: Option<u64>, expected: &str) {
            let fault = Fault {
                path: Arc::from(Path::new("a.blow5")),
                read_id: read_id.map(<[u8]>::to_vec),
                offset,
                reason: "damaged".to_owned(),
                loss: Loss::Read,
            };
            assert_eq!(fault.to_string(), expected);
        }
        t(None, None, "a.blow5: damaged");
        t(Some(b"r1"), Some(9), "a.blow5: read r1: byte 9: damaged");
    }

    #[test]
    fn losses_are_counted_by_kind() {
        let mut account = Account { reads: 4, ..Account::default() };
        assert!(!account.is_lossy());
        for loss in [Loss::Read, Loss::Read, Loss::RestOfFile, Loss::File] {
            account.book(&Fault {
                path: Arc::from(Path::new("a")),
                read_id: None,
                offset: None,
                reason: String::new(),
                loss,
            });
        }
        assert!(account.is_lossy());
        assert_eq!((account.lost_reads, account.cut_files, account.lost_files), (2, 1, 1));
        assert!(account.to_string().starts_with("4 reads read; lost: 2 reads"));
    }
}

//! Files made for these tests, and passes over them.

use std::num::NonZeroUsize;
use std::path::Path;
use std::sync::Arc;

use seqloom_format::ReadAt;
use seqloom_format::signal::{AuxiliaryField, AuxiliaryType, SignalHeader, SignalRead};
use seqloom_format::slow5::binary::RecordEncoder;
use seqloom_format::slow5::{Compression, RecordCompression, SignalCompression, text};
use seqloom_runtime::pool::Stopped;

use crate::flow::account::{Account, Fault};
use crate::flow::pass::{self, BatchSource, Components, PassOptions};
use crate::flow::sources::Sequential;
use crate::operations::transcode::{Encoding, Transcode};
use crate::store::{RecordFile, SignalStore, StoreError};

/// Every encoding that is worth a test of its own here; the codecs have tests of all.
pub(crate) const ENCODINGS: [Encoding; 4] = [
    Encoding::Slow5,
    Encoding::Blow5(Compression::NONE),
    Encoding::Blow5(Compression {
        record: RecordCompression::Zlib,
        signal: SignalCompression::SvbZd,
    }),
    Encoding::Blow5(Compression {
        record: RecordCompression::Zstd,
        signal: SignalCompression::ExZd,
    }),
];

pub(crate) fn header() -> SignalHeader {
    let field = |name: &str, kind, is_array| AuxiliaryField { name: name.into(), kind, is_array };
    let mut header = SignalHeader { read_groups: 2, ..SignalHeader::default() };
    header.attributes.insert(b"run_id".to_vec(), vec![b"a".to_vec(), b"b".to_vec()]);
    header.auxiliary = vec![
        field("channel_number", AuxiliaryType::Char, true),
        field("start_time", AuxiliaryType::U64, false),
    ];
    header
}

/// Read `number`, of about `samples` samples.
pub(crate) fn read(number: u64, samples: u64) -> SignalRead {
    let mut read = SignalRead {
        read_id: format!("00000000-0000-4000-8000-{number:012x}").into_bytes(),
        read_group: (number % 2) as u32,
        digitisation: 8192.0,
        offset: 4.0,
        range: 1444.5,
        sampling_rate: 4000.0,
        samples: (0..samples + number % 7)
            .map(|at| (500 + at * (number + 3) * 7919 % 97) as i16)
            .collect(),
        ..SignalRead::default()
    };
    read.auxiliary.push(number.to_string().as_bytes());
    read.auxiliary.push(&(number * 100).to_le_bytes());
    read
}

/// A file of these reads, and where each record begins and the last one ends.
pub(crate) fn file(encoding: Encoding, reads: &[SignalRead]) -> (Vec<u8>, Vec<usize>) {
    let header = header();
    let mut bytes = encoding.header(&header).unwrap();
    let mut starts = vec![bytes.len()];
    let mut encoder = match encoding {
        Encoding::Slow5 => None,
        Encoding::Blow5(compression) => Some(RecordEncoder::new(compression).unwrap()),
    };
    for read in reads {
        match &mut encoder {
            None => text::append_record(read, &header, &mut bytes).unwrap(),
            Some(encoder) => encoder.append(read, &header, &mut bytes).unwrap(),
        }
        starts.push(bytes.len());
    }
    bytes.extend_from_slice(encoding.end());
    (bytes, starts)
}

pub(crate) fn open(bytes: Vec<u8>) -> Result<Arc<dyn SignalStore>, StoreError> {
    let bytes: Box<dyn ReadAt> = Box::new(bytes);
    Ok(Arc::new(RecordFile::new(bytes, Arc::from(Path::new("made")), false)?))
}

/// What can end a pass here.
#[derive(Debug)]
pub(crate) struct PassEnd(pub(crate) String);

impl From<StoreError> for PassEnd {
    fn from(error: StoreError) -> Self {
        Self(error.to_string())
    }
}

impl From<Stopped> for PassEnd {
    fn from(error: Stopped) -> Self {
        Self(error.to_string())
    }
}

/// What a pass gave: records as text, and what was lost.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Passed {
    pub(crate) text: Vec<u8>,
    pub(crate) account: Account,
    pub(crate) faults: Vec<Fault>,
}

/// All reads of `source` as text.
pub(crate) fn pass<B: BatchSource>(
    source: B,
    header: &SignalHeader,
    threads: usize,
) -> Result<Passed, PassEnd> {
    let components = Components::default();
    let stage = Transcode::new(header, Encoding::Slow5, &components);
    let mut passed = Passed::default();
    let threads = NonZeroUsize::new(threads).unwrap();
    let watch = || Ok(());
    let options = PassOptions { threads, components: &components, watch: &watch };
    pass::run(&options, source, &stage, |encoded| {
        passed.text.extend_from_slice(&encoded.bytes);
        passed.account.reads += encoded.tally.reads;
        encoded.tally.faults.iter().for_each(|fault| passed.account.book(fault));
        passed.faults.extend_from_slice(&encoded.tally.faults);
        Ok::<_, PassEnd>(())
    })?;
    Ok(passed)
}

/// All reads of a file as text, by one worker.
pub(crate) fn pass_file(bytes: Vec<u8>) -> Result<Passed, PassEnd> {
    let store = open(bytes)?;
    let header = store.header().clone();
    pass(Sequential::of(store), &header, 1)
}

/// The lines of these reads.
pub(crate) fn lines(reads: &[SignalRead]) -> Vec<u8> {
    let (bytes, starts) = file(Encoding::Slow5, reads);
    bytes[starts[0]..].to_vec()
}

//! What is written is read: hostile ids, headers, auxiliary fields and signals through SLOW5, BLOW5
//! in every compression, FAST5 and POD5. A writer may refuse a header, a field or a read, in words;
//! what it has written every reader takes, whole and as it was.

use std::sync::Arc;

use proptest::collection::vec;
use proptest::prelude::*;
use seqloom_format::hdf5::SignalCompressor;
use seqloom_format::signal::{
    AuxiliaryField, AuxiliaryType, AuxiliaryValues, SignalHeader, SignalRead, read_id,
};
use seqloom_format::slow5::binary::RecordEncoder;
use seqloom_format::slow5::{Compression, RecordCompression, SignalCompression, text};
use seqloom_testkit::damage::{Change, damaged};
use seqloom_testkit::skip;

use super::pod5::pod5_file::newest;
use super::store::made::open;
use crate::flow::pass::{Components, Stage, Work};
use crate::operations::{Deflate, Encoded, Encoding, Locate, Located, Transcode};
use crate::store::fast5::{Fast5WriteError, Fast5Writer};
use crate::store::pod5::{Pod5File, Pod5Scratch};
use crate::store::{Cursor, DecodeScratch, FrameBatch, SignalStore, fast5_in_memory};

/// A file is one of these.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Form {
    Records(Encoding),
    Fast5,
}

fn forms() -> impl Strategy<Value = Form> {
    use RecordCompression::{None, Zlib, ZlibFast, Zstd};
    let blow5 = (
        prop::sample::select(vec![None, Zlib, ZlibFast, Zstd]),
        prop::sample::select(vec![
            SignalCompression::None,
            SignalCompression::SvbZd,
            SignalCompression::ExZd,
        ]),
    )
        .prop_map(|(record, signal)| {
            Form::Records(Encoding::Blow5(Compression { record, signal }))
        });
    prop_oneof![1 => Just(Form::Records(Encoding::Slow5)), 4 => blow5, 2 => Just(Form::Fast5)]
}

/// Texts that somebody's parser takes for something else.
const ODD: [&str; 24] = [
    ".",
    "..",
    "*",
    "@x",
    "#x",
    "#slow5_version",
    "@",
    "a b",
    "a/b",
    "x\ty",
    "x\ny",
    "x\r",
    "\0",
    "a\0b",
    "read_",
    "run_id",
    "read_id",
    "range",
    "duration",
    "start_time",
    "end_reason",
    "channel_number",
    "pore_type",
    "file_version",
];

fn texts() -> impl Strategy<Value = Vec<u8>> {
    prop_oneof![
        4 => "[!-~]{0,12}".prop_map(String::into_bytes),
        1 => vec(any::<u8>(), 0..12),
        2 => prop::sample::select(ODD.to_vec()).prop_map(|it| it.as_bytes().to_vec()),
    ]
}

fn ids() -> impl Strategy<Value = Vec<u8>> {
    prop_oneof![
        3 => any::<[u8; 16]>().prop_map(|it| crate::store::uuid::text(it).to_vec()),
        3 => "[0-9A-Za-z][!-.0-?A-~]{0,40}".prop_map(String::into_bytes),
        1 => vec(b'a'..=b'z', 250..258),
        1 => texts(),
    ]
}

fn kinds() -> impl Strategy<Value = AuxiliaryType> {
    use AuxiliaryType::{Char, Enum, F32, F64, I8, I16, I32, I64, U8, U16, U32, U64};
    let plain = vec![I8, I16, I32, I64, U8, U16, U32, U64, F32, F64, Char];
    let labels = |count: usize| (0..count).map(|at| format!("l{at}").into_bytes()).collect();
    prop_oneof![
        5 => prop::sample::select(plain),
        1 => prop::sample::select(vec![1, 3, 255]).prop_map(move |count| Enum(labels(count))),
    ]
}

fn fields() -> impl Strategy<Value = Vec<AuxiliaryField>> {
    let known = [
        ("start_time", AuxiliaryType::U64, false),
        ("read_number", AuxiliaryType::I32, false),
        ("start_mux", AuxiliaryType::U8, false),
        ("median_before", AuxiliaryType::F64, false),
        ("end_reason", AuxiliaryType::Enum(vec![b"a".to_vec(), b"b".to_vec()]), false),
        ("channel_number", AuxiliaryType::Char, true),
    ];
    let known = known.map(|(name, kind, is_array)| (name.as_bytes().to_vec(), kind, is_array));
    let field = prop_oneof![
        2 => prop::sample::select(known.to_vec()),
        1 => (texts(), kinds(), any::<bool>()),
    ];
    vec(field, 0..5).prop_map(|fields| {
        let field = |(name, kind, is_array)| AuxiliaryField { name, kind, is_array };
        let mut fields: Vec<_> = fields.into_iter().map(field).collect();
        let mut names: Vec<Vec<u8>> = Vec::new();
        fields.retain(|field| {
            let is_new = !names.contains(&field.name);
            names.push(field.name.clone());
            is_new
        });
        fields
    })
}

fn samples() -> impl Strategy<Value = Vec<i16>> {
    prop_oneof![
        1 => Just(Vec::new()),
        2 => any::<i16>().prop_map(|it| vec![it]),
        4 => vec(300_i16..700, 0..60),
        2 => vec(any::<i16>(), 0..60),
        1 => (any::<i16>(), 1_usize..5000).prop_map(|(it, count)| vec![it; count]),
    ]
}

/// Numbers as they are in files, and what no file should have.
fn doubles() -> impl Strategy<Value = f64> {
    prop_oneof![4 => (0_u32..10_000).prop_map(f64::from), 1 => any::<f64>()]
}

/// Bytes of which auxiliary values are made: strings, and numbers with their missing values.
type Seeds = Vec<(Vec<u8>, [u8; 8], u8)>;

fn value(field: &AuxiliaryField, (string, number, what): &(Vec<u8>, [u8; 8], u8)) -> Vec<u8> {
    let size = field.kind.size_bytes();
    let one = match (what % 4, &field.kind) {
        (0, kind) => kind.missing(),
        (1 | 2, AuxiliaryType::Enum(labels)) => vec![number[0] % labels.len() as u8],
        (1, AuxiliaryType::F32) => f32::from(number[0]).to_le_bytes().to_vec(),
        (1, AuxiliaryType::F64) => f64::from(number[0]).to_le_bytes().to_vec(),
        (1, _) => [&[number[0] % 100], &[0; 7][..]].concat()[..size].to_vec(),
        _ => number[..size].to_vec(),
    };
    match (field.is_array, &field.kind) {
        (true, AuxiliaryType::Char) => string.clone(),
        (true, _) => one.repeat(usize::from(what % 3)),
        (false, _) => one,
    }
}

#[derive(Debug, Clone)]
struct Made {
    header: SignalHeader,
    reads: Vec<SignalRead>,
}

prop_compose! {
    fn made()(
        attributes in prop::collection::btree_map(texts(), texts(), 0..4),
        run_id in prop_oneof![6 => Just(b"run".to_vec()), 1 => texts()],
        auxiliary in fields(),
        reads in vec((ids(), samples(), [doubles(), doubles(), doubles(), doubles()], any::<u32>(),
            vec((texts(), any::<[u8; 8]>(), any::<u8>()), 5)), 0..4),
        read_groups in prop_oneof![3 => Just(1_u32), 1 => 2..4_u32],
    ) -> Made {
        let mut header = SignalHeader { read_groups, auxiliary, ..SignalHeader::default() };
        let values = |value: Vec<u8>| vec![value; read_groups as usize];
        header.attributes = attributes.into_iter().map(|(name, it)| (name, values(it))).collect();
        header.attributes.insert(b"run_id".to_vec(), values(run_id));
        let read = |(id, samples, numbers, group, seeds): (_, _, _, u32, Seeds)| {
            let [digitisation, offset, range, sampling_rate] = numbers;
            let mut values = AuxiliaryValues::default();
            let fields = header.auxiliary.iter().zip(&seeds);
            fields.for_each(|(field, seed)| values.push(&value(field, seed)));
            SignalRead {
                read_id: id, read_group: group % read_groups, digitisation, offset, range,
                sampling_rate, samples, auxiliary: values,
            }
        };
        let reads = reads.into_iter().map(read).collect();
        Made { header, reads }
    }
}

/// The bytes of a file with those of the reads that its writer takes; `None` when it refuses the
/// header, or a FAST5 without reads.
fn written(form: Form, made: &Made) -> Option<(Vec<u8>, Vec<SignalRead>)> {
    let Made { header, reads } = made;
    let mut taken = Vec::new();
    let Form::Records(encoding) = form else { return fast5(made) };
    let mut bytes = encoding.header(header).ok()?;
    let mut encoder = match encoding {
        Encoding::Slow5 => None,
        Encoding::Blow5(compression) => Some(RecordEncoder::new(compression).unwrap()),
    };
    for read in reads {
        let outcome = match &mut encoder {
            None => text::append_record(read, header, &mut bytes),
            Some(encoder) => encoder.append(read, header, &mut bytes),
        };
        match outcome {
            Ok(()) => taken.push(read.clone()),
            // BLOW5 has a place for everything but a bad id.
            Err(error) => assert!(
                encoder.is_none() || read_id::check(&read.read_id).is_err(),
                "{error}: {read:?}"
            ),
        }
    }
    bytes.extend_from_slice(encoding.end());
    Some((bytes, taken))
}

fn fast5(made: &Made) -> Option<(Vec<u8>, Vec<SignalRead>)> {
    let mut bytes = Vec::new();
    let mut writer = match Fast5Writer::new(&made.header, &mut bytes) {
        Ok(writer) => writer,
        Err(error) => {
            use Fast5WriteError::{ReadGroups, RunId};
            assert!(matches!(error, ReadGroups(_) | RunId), "{error}");
            return None;
        }
    };
    let (mut compressor, mut chunk, mut taken) =
        (SignalCompressor::default(), Vec::new(), Vec::new());
    for read in &made.reads {
        compressor.compress(&read.samples, &mut chunk);
        match writer.push(read, &chunk, &mut bytes) {
            Ok(()) => taken.push(read.clone()),
            Err(error) => {
                use Fast5WriteError::{Convert, Duplicate, ReadId};
                assert!(matches!(error, Convert { .. } | Duplicate(_) | ReadId(_)), "{error}");
            }
        }
    }
    let start = writer.finish(&mut bytes).ok().filter(|_| !taken.is_empty())?;
    bytes[..start.len()].copy_from_slice(&start);
    // In byte order of the ids, as FAST5 has them.
    taken.sort_by(|a, b| a.read_id.cmp(&b.read_id));
    Some((bytes, taken))
}

/// Opens a file that was written: nothing of it may be refused.
fn opened(form: Form, bytes: Vec<u8>) -> Arc<dyn SignalStore> {
    match form {
        Form::Records(_) => open(bytes).unwrap(),
        Form::Fast5 => fast5_in_memory(bytes).unwrap(),
    }
}

/// All reads of a file, none of which may be a fault.
fn all(store: &dyn SignalStore) -> Vec<SignalRead> {
    let (mut cursor, mut batch) = (Cursor::default(), FrameBatch::default());
    let (mut scratch, mut reads, mut id) = (DecodeScratch::default(), Vec::new(), Vec::new());
    while store.next(&mut cursor, &mut batch).unwrap() {
        assert!(batch.faults.is_empty(), "{:?}", batch.faults);
        for frame in &batch.frames {
            let (mut read, mut bare) = (SignalRead::default(), SignalRead::default());
            store.decode(&mut scratch, &batch, frame, &mut read).unwrap();
            let samples = store.decode_without_samples(&mut scratch, &batch, frame, &mut bare);
            assert_eq!(samples.unwrap(), read.samples.len() as u64);
            store.read_id(&mut scratch, &batch, frame, &mut id).unwrap();
            assert_eq!((&id, &bare.read_id), (&read.read_id, &read.read_id));
            reads.push(read);
        }
    }
    store.check_end().unwrap();
    reads
}

/// Everything of a read to its last bit, by names of fields; text has six decimals and no strings
/// with NUL, and FAST5 not all fields.
fn comparable(form: Form, header: &SignalHeader, read: &SignalRead) -> String {
    let SignalRead { read_id, read_group, samples, .. } = read;
    let numbers = [read.digitisation, read.offset, read.range, read.sampling_rate];
    let common = format!("{read_id:?} {read_group} {samples:?}");
    match form {
        Form::Records(Encoding::Slow5) => common,
        Form::Fast5 => format!("{common} {:?}", numbers.map(f64::to_bits)),
        Form::Records(_) => {
            let names = header.auxiliary.iter().map(|field| &field.name);
            let values: Vec<_> = names.zip(read.auxiliary.iter()).collect();
            format!("{common} {:?} {values:?}", numbers.map(f64::to_bits))
        }
    }
}

/// Reads what was written, and compares it with `taken`; gives what was read.
fn read_back(form: Form, bytes: Vec<u8>, header: &SignalHeader, taken: &[SignalRead]) -> Made {
    let store = opened(form, bytes.clone());
    let reads = all(store.as_ref());
    let list = |header: &SignalHeader, reads: &[SignalRead]| -> Vec<String> {
        reads.iter().map(|read| comparable(form, header, read)).collect()
    };
    let own = store.header();
    assert_eq!(list(own, &reads), list(header, taken), "{form:?}");
    if form == Form::Records(Encoding::Slow5) {
        // What text cannot keep is lost at the first writing, and nothing at the second.
        let again = written(form, &Made { header: own.clone(), reads: reads.clone() });
        assert_eq!(again.map(|(bytes, _)| bytes), Some(bytes));
    }
    Made { header: own.clone(), reads }
}

/// A store through the stages of the commands: index, and conversion to `form`. What is lost there
/// is what the writer of `form` refuses, and what it writes is read.
fn converted(store: Arc<dyn SignalStore>, form: Form) {
    let header = store.header().clone();
    let components = Components::default();
    let reads = all(store.as_ref());
    let requested = written(form, &Made { header: header.clone(), reads: reads.clone() });
    let (mut cursor, mut work) = (Cursor::default(), Work::default());
    let (mut located, mut encoded) = (Located::default(), Encoded::default());
    let mut bytes = Vec::new();
    while store.next(&mut cursor, &mut work.batch).unwrap() {
        work.store = Some(store.clone());
        let stage = Locate { components: &components };
        stage.process(&mut stage.scratch(), &work, &mut located);
        assert!(located.tally.faults.is_empty());
        let (encoding, is_fast5) = match form {
            Form::Records(encoding) => (encoding, false),
            Form::Fast5 => (Encoding::Slow5, true),
        };
        let stage = Transcode::new(&header, encoding, &components);
        if is_fast5 {
            let (stage, mut out) = (Deflate(stage), Default::default());
            stage.process(&mut stage.scratch(), &work, &mut out);
            assert!(out.tally.faults.is_empty());
        } else {
            stage.process(&mut stage.scratch(), &work, &mut encoded);
            let seen = encoded.tally.faults.len() as u64 + encoded.tally.reads;
            assert_eq!(seen, work.batch.frames.len() as u64);
            bytes.extend_from_slice(&encoded.bytes);
        }
    }
    let Some((whole, taken)) = requested else { return };
    let whole = match form {
        Form::Fast5 => whole,
        Form::Records(encoding) => {
            [encoding.header(&header).unwrap(), bytes, encoding.end().to_vec()].concat()
        }
    };
    read_back(form, whole, &header, &taken);
}

fn cases() -> u32 {
    if skip::slow_tests() { 1_000_000 } else { 10_000 }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: cases(), ..ProptestConfig::default() })]

    #[test]
    fn what_is_written_is_read(made in made(), first in forms(), second in forms()) {
        if let Some((bytes, taken)) = written(first, &made) {
            read_back(first, bytes.clone(), &made.header, &taken);
            converted(opened(first, bytes), second);
        }
    }

    /// Damage makes hostile headers and fields; what is left of the reads can be written.
    #[test]
    fn what_is_left_of_a_pod5_is_written_and_read(
        changes in vec(any::<Change>(), 0..3),
        is_coded: bool,
        form in forms(),
    ) {
        let bytes = damaged(&newest(is_coded), &changes);
        if let Ok(file) = Pod5File::open(Arc::new(bytes), "x.pod5") {
            let mut scratch = Pod5Scratch::default();
            let read = |index| {
                let mut read = SignalRead::default();
                file.read(index, &mut scratch, &mut read).ok().map(|()| read)
            };
            let reads = (0..file.reads().min(16)).filter_map(read).collect();
            let made = Made { header: file.header().clone(), reads };
            if let Some((bytes, taken)) = written(form, &made) {
                read_back(form, bytes, &made.header, &taken);
            }
        }
    }
}

#[test]
fn a_huge_read_is_written_and_read() {
    let samples: Vec<i16> =
        (0..3_000_000_i64).map(|at| (at * 7919 % 65_536 - 32_768) as i16).collect();
    let read = SignalRead { read_id: b"huge".to_vec(), samples, ..SignalRead::default() };
    let mut header = SignalHeader::default();
    header.attributes.insert(b"run_id".to_vec(), vec![b"run".to_vec()]);
    let made = Made { header, reads: vec![read] };
    for signal in [SignalCompression::None, SignalCompression::SvbZd, SignalCompression::ExZd] {
        let record = RecordCompression::Zstd;
        for form in [Form::Records(Encoding::Blow5(Compression { record, signal })), Form::Fast5] {
            let (bytes, taken) = written(form, &made).unwrap();
            assert_eq!(taken.len(), 1);
            read_back(form, bytes, &made.header, &taken);
        }
    }
    let form = Form::Records(Encoding::Slow5);
    let (bytes, taken) = written(form, &made).unwrap();
    read_back(form, bytes, &made.header, &taken);
}

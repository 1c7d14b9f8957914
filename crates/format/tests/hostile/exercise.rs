//! What every parser of this crate must survive, whatever the bytes. The property tests next to
//! this file and the fuzz targets call the same functions; each panics where a promise is broken.

use seqloom_format::bam::edit::{
    append_tag, replace_cigar, replace_tag, retain_tags, set_tag, update_bin,
};
use seqloom_format::bam::{
    AuxFields, AuxValue, Header, RecordRef, RecordSearch, Reference, check_record, expand_escapes,
    find_record, framed_records,
};
use seqloom_format::base_modifications::{Called, decode, decode_record};
use seqloom_format::bed::{BedIntervals, overlaps};
use seqloom_format::bgzf::{BlockDecompressor, MAX_BLOCK_BYTES, parse_block_header};
use seqloom_format::fasta::{FastaParser, FastaSink};
use seqloom_format::fastq::{
    Grammar, ParseOptions, RecordStart, Stop, TextRange, detect_grammar, find_record_start,
    last_boundary, parse,
};
use seqloom_format::index::{BinningScheme, IndexFragment};
use seqloom_format::introns::{IntronRows, KnownIntron};
use seqloom_format::{ReadBlock, sam};

/// FASTQ or FASTA text: spans are in the buffer, counts are those of the reads, a cut where
/// `last_boundary` says changes nothing, and record starts are where a record may start.
pub(crate) fn fastq(text: &[u8]) {
    let parsed = |grammar: Grammar, text: &[u8], at_eof: bool| {
        let mut block = ReadBlock { bytes: text.to_vec(), ..ReadBlock::default() };
        let range = TextRange { from: 0, limit: text.len(), at_eof };
        let parsed = parse(
            grammar,
            &mut block,
            range,
            ParseOptions { keep_comments: true, ..ParseOptions::default() },
        );
        assert!(parsed.end <= text.len());
        assert_eq!(parsed.records, block.reads.len() as u64);
        let mut reads = Vec::new();
        for i in 0..block.reads.len() {
            let (name, bases) = (block.name(i), block.bases(i));
            let qualities = block.qualities(i);
            assert!(!name.is_empty() && name.len() <= 254);
            assert!(qualities.is_empty() || qualities.len() == bases.len());
            assert!(qualities.iter().all(|quality| (33..=126).contains(quality)));
            reads.push([name, bases, qualities, block.extra(i)].map(<[u8]>::to_vec));
        }
        assert_eq!(parsed.bases, reads.iter().map(|read| read[1].len() as u64).sum::<u64>());
        if let Stop::Defect(defect) = &parsed.stop {
            assert!(defect.offset <= text.len());
        }
        (reads, parsed)
    };
    let grammars = match text.first() {
        Some(b'>') => vec![Grammar::Fasta],
        _ => vec![Grammar::FourLine, Grammar::MultiLine],
    };
    let _ = (detect_grammar(text, false), detect_grammar(text, true));
    for grammar in grammars {
        let (whole, _) = parsed(grammar, text, true);
        let (part, _) = parsed(grammar, text, false);
        assert!(whole.starts_with(&part), "more text cannot make fewer reads");
        let cut = last_boundary(grammar, text);
        let (mut joined, head) = parsed(grammar, &text[..cut], true);
        if head.stop == Stop::Done {
            joined.extend(parsed(grammar, &text[cut..], true).0);
        }
        assert_eq!(joined, whole, "{grammar:?} cut at {cut}");
    }
    for at_eof in [false, true] {
        if let RecordStart::At(start) = find_record_start(text, 0, text.len(), at_eof) {
            assert_eq!(text[start], b'@');
            assert!(start == 0 || text[start - 1] == b'\n');
        }
    }
}

#[derive(Debug, Default, PartialEq)]
struct Records(Vec<(Vec<u8>, Vec<u8>, Vec<u8>)>);

impl FastaSink for Records {
    fn record(&mut self, name: &[u8], comment: &[u8]) {
        self.0.push((name.to_vec(), comment.to_vec(), Vec::new()));
    }

    fn bases(&mut self, bases: &[u8]) {
        assert!(!bases.is_empty());
        self.0.last_mut().unwrap().2.extend_from_slice(bases);
    }
}

/// Text of a reference: the same records and the same error however the text is cut.
pub(crate) fn fasta(text: &[u8]) {
    let read = |chunk_bytes: usize| {
        let (mut parser, mut sink) = (FastaParser::new(), Records::default());
        let pushed = text.chunks(chunk_bytes).try_for_each(|it| parser.push(it, &mut sink));
        let outcome = pushed.and_then(|()| parser.finish(&mut sink));
        (outcome.map_err(|error| error.to_string()), sink)
    };
    let (outcome, whole) = read(text.len().max(1));
    if let Ok(records) = outcome {
        assert_eq!(records, whole.0.len() as u64);
        assert!(whole.0.iter().all(|(name, _, bases)| !name.is_empty() && !bases.is_empty()));
        assert_eq!(read(7), (Ok(records), whole));
    } else {
        assert_eq!(read(7).0, outcome);
    }
}

/// A BGZF block, header and content: an error leaves the output as it was.
pub(crate) fn bgzf(block: &[u8]) {
    let mut out = b"before".to_vec();
    match BlockDecompressor::new().decompress(block, &mut out) {
        Ok(inflated_bytes) => {
            assert_eq!(out.len(), 6 + inflated_bytes);
            assert!(inflated_bytes <= MAX_BLOCK_BYTES);
            assert_eq!(parse_block_header(block).unwrap().block_bytes, block.len());
        }
        Err(_) => assert_eq!(out, b"before"),
    }
    if let Ok(header) = parse_block_header(block) {
        assert!(header.header_bytes < header.block_bytes && header.block_bytes <= MAX_BLOCK_BYTES);
    }
}

/// Auxiliary fields: iteration ends, and fields cover the bytes up to the first malformed one.
fn aux_fields(bytes: &[u8]) {
    let mut fields = AuxFields::of(bytes);
    let mut before = 0;
    while let Some(field) = fields.next() {
        let Ok((_, value)) = field else {
            assert!(fields.next().is_none(), "iteration ends at the first malformed field");
            return;
        };
        assert!(fields.offset() > before && fields.offset() <= bytes.len());
        before = fields.offset();
        if let AuxValue::Array(array) = value {
            assert_eq!(array.values().count(), array.len());
        }
        let _ = (value.as_int(), value.as_string());
    }
    assert_eq!(before, bytes.len());
}

/// The body of one BAM record: every getter, its SAM line, and its place in an index.
pub(crate) fn bam_record(body: &[u8]) {
    aux_fields(body);
    let references = [("c1", 1_000), ("c2", 1 << 29)]
        .map(|(name, length)| Reference { name: name.into(), length });
    let mut line = b"before".to_vec();
    match sam::append_record(body, &references, &mut line) {
        Ok(()) => assert!(line.ends_with(b"\n")),
        Err(_) => assert_eq!(line, b"before"),
    }
    let is_good = check_record(body, references.len()).is_ok();
    let Ok(record) = RecordRef::new(body) else {
        assert!(!is_good);
        return;
    };
    if is_good {
        assert!(record.aux().all(|field| field.is_ok()));
        sam_line(line.strip_prefix(b"before").unwrap().strip_suffix(b"\n").unwrap());
    }
    assert_eq!(record.qualities().len(), record.base_count());
    assert_eq!(record.base_code(record.base_count()), None);
    assert!(record.aux_start() <= body.len());
    let _ = (record.name(), record.full_cigar().count(), record.find_aux(*b"RG"));
    assert!(record.reference_end() > i64::from(record.position()));
    for scheme in [BinningScheme::BAI, BinningScheme::csi(1 << 29)] {
        let mut fragment = IndexFragment::new(scheme);
        let start = seqloom_format::bgzf::VirtualOffset::from_raw(0);
        if record.reference_end() < 1 << 29 {
            let _ = fragment.push_record(&record, start);
        }
    }
}

/// An edit of a body with a CIGAR that it may use; whether it succeeded.
type Edit = fn(&mut Vec<u8>, &[u32]) -> bool;

/// The body of one BAM record, edited: what succeeds gives a good record, what fails changes
/// nothing.
pub(crate) fn record_edits(body: &[u8]) {
    let ops: Vec<u32> = body.iter().take(5).map(|&byte| u32::from(byte) << 2).collect();
    let edits: [Edit; 6] = [
        |body, ops| replace_cigar(body, ops).is_ok(),
        |body, _| replace_cigar(body, &[1 << 4; 65_536]).is_ok(),
        |body, _| append_tag(body, *b"YY", AuxValue::String(b"value")).is_ok(),
        |body, _| set_tag(body, *b"RG", AuxValue::Int8(1)).is_ok(),
        |body, _| replace_tag(body, *b"NM", AuxValue::String(b"long value")).is_ok(),
        |body, _| retain_tags(body, |tag, _| tag != *b"NM").is_ok(),
    ];
    for edit in edits {
        let mut changed = body.to_vec();
        if edit(&mut changed, &ops) {
            let record = RecordRef::new(&changed).unwrap();
            assert!(record.aux().all(|field| field.is_ok()));
            let old = RecordRef::new(body).unwrap();
            assert_eq!((record.name(), record.qualities()), (old.name(), old.qualities()));
            update_bin(&mut changed).unwrap();
        } else {
            assert_eq!(changed, body);
        }
    }
}

/// Splice sites or GTF: introns are in order, and are in their sequences.
pub(crate) fn introns(text: &[u8]) {
    let mut rows = IntronRows::new([("c", 9000), ("d", 90)].into_iter());
    for (line, text) in text.split(|&byte| byte == b'\n').enumerate() {
        if rows.line(text, line as u64 + 1).is_err() {
            return;
        }
    }
    if let Ok(introns) = rows.finish() {
        assert!(introns.windows(2).all(|two| two[0] < two[1]));
        let lengths = [9000, 90];
        let is_inside =
            |it: &KnownIntron| it.start < it.end && it.end <= lengths[it.sequence as usize];
        assert!(introns.iter().all(is_inside));
    }
}

/// BED text: the intervals of each reference are sorted and disjoint, and overlap themselves.
pub(crate) fn bed(text: &[u8]) {
    let Ok(bed) = BedIntervals::parse(text) else { return };
    for name in bed.names() {
        let intervals = bed.of(name);
        assert!(intervals.windows(2).all(|two| two[0].end < two[1].start));
        for it in intervals.iter().filter(|it| it.start < it.end) {
            assert!(overlaps(intervals, it.start, it.end));
        }
    }
}

/// One line of SAM text: what is read is a good record, and reads the same when it is printed.
pub(crate) fn sam_line(line: &[u8]) {
    let references = [("c1", 1_000), ("c2", 1 << 29)]
        .map(|(name, length)| Reference { name: name.into(), length });
    let names = sam::ReferenceNames::new(&references);
    let mut body = b"before".to_vec();
    if sam::parse_record(line, &names, &mut body).is_err() {
        assert_eq!(body, b"before");
        return;
    }
    let body = &body[6..];
    let record = RecordRef::new(body).unwrap();
    assert_eq!(check_record(body, 2), Ok(record.bin()));
    let (mut printed, mut again) = (Vec::new(), Vec::new());
    sam::append_record(body, &references, &mut printed).unwrap();
    sam::parse_record(printed.strip_suffix(b"\n").unwrap(), &names, &mut again).unwrap();
    let mut printed_again = Vec::new();
    sam::append_record(&again, &references, &mut printed_again).unwrap();
    assert_eq!(printed, printed_again);
}

/// A run of records preceded by their sizes; and whatever it is, the search for one in it.
pub(crate) fn framed(bytes: &[u8]) {
    match find_record(bytes, bytes.len() / 3, 2) {
        RecordSearch::At(at) => assert!(at >= bytes.len() / 3 && at + 36 <= bytes.len()),
        RecordSearch::NeedMore(at) => assert!(at <= bytes.len()),
    }
    let mut covered = 0;
    for body in framed_records(bytes) {
        let Ok(body) = body else { return };
        covered += 4 + body.len();
        let _ = RecordRef::new(body);
    }
    assert_eq!(covered, bytes.len());
}

/// A BAM header, and its text read again.
pub(crate) fn bam_header(bytes: &[u8]) {
    let Ok((header, used_bytes)) = Header::decode(bytes) else { return };
    assert!(used_bytes <= bytes.len());
    let again = header.encode().unwrap();
    assert_eq!(Header::decode(&again).unwrap(), (header, again.len()));
}

/// The text of a SAM header: what is read can be changed, written and read again.
pub(crate) fn sam_header(text: &[u8]) {
    let _ = expand_escapes(&String::from_utf8_lossy(text));
    let Ok(mut header) = Header::parse(text) else { return };
    assert_eq!(Header::parse(&header.text()).unwrap(), header);
    header.set_sort_order("coordinate", None);
    assert_eq!(header.sort_order(), Some(&b"coordinate"[..]));
    header.add_program("fuzz", "1", "fuzz -x\ty");
    let groups = header.read_groups().len();
    if header.add_read_group(b"@RG\tID:of the test").is_ok() {
        assert_eq!(header.read_groups().len(), groups + 1);
    }
    assert_eq!(Header::parse(&header.text()).unwrap(), header);
}

/// A line of a VCF: its bases are in order, and no more is read of it than there is.
pub(crate) fn vcf(line: &[u8]) {
    if let Ok(Some(site)) = seqloom_format::vcf::parse_line(line) {
        assert!(site.bases.start <= site.bases.end && site.bases.end < 1 << 31);
        assert!(line.starts_with(site.sequence));
    }
}

/// An index of a FASTA: every base that it says is there has a place that can be computed.
pub(crate) fn fasta_index(data: &[u8]) {
    use seqloom_format::fai::{FaiBuilder, parse_fai, parse_gzi};
    for entry in parse_fai(data).unwrap_or_default() {
        let last = entry.length_bp.saturating_sub(1);
        assert!(entry.place(0) <= entry.place(last) && entry.place(last) <= entry.place(u64::MAX));
    }
    let starts = parse_gzi(data).unwrap_or_default();
    assert!(starts.windows(2).all(|it| it[0].raw < it[1].raw && it[0].text <= it[1].text));
    let mut builder = FaiBuilder::default();
    if data.chunks(7).try_for_each(|chunk| builder.push(chunk)).is_ok()
        && let Ok(entries) = builder.finish()
    {
        let size = data.len() as u64;
        assert!(entries.iter().all(|entry| entry.place(entry.length_bp) <= size));
    }
}

/// FASTA or FASTQ text: reads are in it, one after the other, with as many bases as they have.
pub(crate) fn sequences(data: &[u8]) {
    use seqloom_format::{SequenceScanner, SequenceSink};
    #[derive(Default)]
    struct Sink(u64, u64);
    impl SequenceSink for Sink {
        fn begin(&mut self, name: &[u8]) {
            assert!(!name.is_empty());
            self.1 = 0;
        }
        fn bases(&mut self, bases: &[u8]) {
            self.1 += bases.len() as u64;
        }
        fn end(&mut self, text: std::ops::Range<u64>) {
            assert!(self.0 <= text.start && self.1 <= text.end - text.start);
            self.0 = text.end;
        }
    }
    let (mut scanner, mut sink) = (SequenceScanner::default(), Sink::default());
    if data.chunks(5).try_for_each(|chunk| scanner.push(chunk, &mut sink)).is_ok() {
        let _ = scanner.finish(&mut sink);
    }
    assert!(sink.0 <= data.len() as u64);
}

/// MM with ML, on a read: positions are of the read and of the base that is counted, and what fails
/// gives nothing.
pub(crate) fn base_modifications(mm: &[u8], ml: &[u8], bases: &[u8]) {
    for ml in [None, Some(ml)] {
        let mut called = Vec::new();
        if decode(mm, ml, bases, &mut called).is_err() {
            assert!(called.is_empty());
        }
        assert!(called.iter().all(|it: &Called| it.group.counts(bases[it.position])));
        assert!(called.iter().all(|it| it.probability.is_some() == ml.is_some()));
        if let Some(ml) = ml.filter(|_| !called.is_empty()) {
            assert_eq!(called.len(), ml.len());
        }
    }
}

/// The tags of a whole record.
pub(crate) fn record_modifications(body: &[u8]) {
    let Ok(record) = RecordRef::new(body) else { return };
    let (mut bases, mut called) = (Vec::new(), Vec::new());
    if decode_record(&record, &mut bases, &mut called).is_ok() && !called.is_empty() {
        assert_eq!(bases.len(), record.base_count());
    }
}

//! One input of CRAM: its header, its containers and what their records refer to.

use std::ops::Range;
use std::path::{Path, PathBuf};

use seqloom_cram::EOF_CONTAINER;
use seqloom_cram::read::{
    ContainerHead, ContainerPlace, DEFINITION_BYTES, Decoder, Defect, HEAD_BYTES, Problem,
    SequenceBases, Sources, Wants, check_definition, header_text,
};
use seqloom_format::bam::{Header, HeaderError, LineProblem, MAX_HEADER_LINE_BYTES};

use super::containers::{CUT_CONTAINER, ContainerPiece, Containers, CramLimits, MISSING_END};
use super::error::{Consumer, ContainerDefect, MalformedContainer, innermost};
use super::{InputBases, MAX_CONTAINER_BYTES};
use crate::input::bam::MAX_HEADER_BYTES;
use crate::input::error::{HeaderProblem, InputError};
use crate::input::raw::Input;
use crate::input::reader::{Compression, TextReader};
use crate::input::stream::{InTurn, Pull};

/// Times what the first container takes that another one may take, whatever the limit is.
const LARGER_CONTAINERS: u64 = 4;

/// A worker's memory.
#[derive(Default)]
pub(crate) struct ContainerScratch {
    decoder: Option<Box<Decoder>>,
    /// A buffer for the next container.
    bytes: Vec<u8>,
}

/// An open file of CRAM whose containers are claimed in turn.
pub(crate) struct CramInput {
    containers: InTurn<Containers>,
    header: Header,
    read_groups: Vec<Vec<u8>>,
    /// Of names that are made.
    prefix: Vec<u8>,
    pub(crate) wants: Wants,
    /// Limit of the inflated blocks of a container, in bytes.
    most_bytes: usize,
    bases: Option<InputBases>,
    /// Their FASTA.
    fasta: Option<PathBuf>,
    /// The file, and the first container.
    input: Input,
    start: ContainerPlace,
    limits: CramLimits,
    is_plain: bool,
}

/// No bases at all.
struct NoBases;

impl SequenceBases for NoBases {
    fn length(&self, _: usize) -> Option<usize> {
        None
    }

    fn read(&self, _: usize, _: Range<usize>, out: &mut Vec<u8>) -> Result<(), String> {
        out.clear();
        Ok(())
    }

    fn is_known(&self, _: usize) -> Result<bool, String> {
        Ok(true)
    }
}

/// The header that `text`, the beginning of the input at `path`, starts with, and its bytes; `None`
/// if more of them are needed first.
pub(crate) fn read_header(
    text: &[u8],
    has_ended: bool,
    path: &Path,
    consumer: Consumer,
) -> Result<Option<(Header, usize)>, HeaderProblem> {
    let malformed = |defect: ContainerDefect| HeaderProblem::Input(defect.at(path, 0, 0).into());
    let at = |byte: usize, problem: &Problem| malformed(ContainerDefect::of(byte, problem));
    let more = || match has_ended {
        true => Err(malformed(ContainerDefect::cut(CUT_CONTAINER, consumer))),
        false => Ok(None),
    };
    if text.len() < DEFINITION_BYTES {
        return more();
    }
    check_definition(text).map_err(|problem| at(0, &problem))?;
    let container = &text[DEFINITION_BYTES..];
    let head = ContainerHead::parse(container).map_err(|it| at(DEFINITION_BYTES, &it))?;
    let Some(head) = head else { return more() };
    let bytes = head.head_bytes.saturating_add(head.body_bytes);
    if bytes > MAX_HEADER_BYTES {
        return Err(HeaderProblem::Text(HeaderError::TooLarge));
    }
    let Some(body) = container.get(head.head_bytes..bytes) else { return more() };
    let lines = header_text(&head, body, MAX_HEADER_BYTES)
        .map_err(|defect| at(DEFINITION_BYTES + defect.byte, &defect.problem))?;
    let mut lengths = lines.split(|&byte| byte == b'\n').enumerate();
    if let Some((index, _)) = lengths.find(|(_, line)| line.len() > MAX_HEADER_LINE_BYTES) {
        let problem = LineProblem::TooLong;
        return Err(HeaderProblem::Text(HeaderError::Line { line: index + 1, problem }));
    }
    let header = Header::parse(&lines).map_err(HeaderProblem::Text)?;
    Ok(Some((header, DEFINITION_BYTES + bytes)))
}

impl CramInput {
    /// The containers of `reader`, of which `text` is read, from the byte `start` on. Waits for the
    /// first one.
    ///
    /// # Errors
    /// A file that lacks its end, and where.
    pub(crate) fn open(
        reader: TextReader,
        (text, start, fault): (Vec<u8>, u64, Option<InputError>),
        header: Header,
        limits: CramLimits,
    ) -> Result<Self, InputError> {
        let input = reader.input().clone();
        let is_plain = reader.compression() == Some(Compression::Plain);
        if let Some(size) = input.size
            && is_plain
            && !limits.allow_truncated
            && let Some(cut) = missing_end(&input, start, size, limits.consumer)?
        {
            return Err(cut.into());
        }
        let first = ContainerPlace { byte: start, before: 0 };
        let unlimited = CramLimits { container_bytes: MAX_CONTAINER_BYTES, ..limits };
        let mut containers = Containers::new(reader, text, start, unlimited);
        let wants = containers.look(fault);
        let larger = wants.raw_bytes.saturating_mul(LARGER_CONTAINERS);
        let larger = usize::try_from(larger).unwrap_or(usize::MAX);
        let most_bytes = limits.container_bytes.max(larger).min(MAX_CONTAINER_BYTES);
        containers.limit(most_bytes);
        let groups = header.read_groups();
        let name = match input.size {
            None if input.path.as_os_str() == "standard input" => b"-".to_vec(),
            _ => input.path.file_name().unwrap_or_default().as_encoded_bytes().to_vec(),
        };
        Ok(Self {
            containers: InTurn::new(containers),
            read_groups: groups.into_iter().map(|it| it.id.to_vec()).collect(),
            header,
            prefix: name,
            wants,
            most_bytes,
            bases: None,
            fasta: None,
            input,
            start: first,
            limits,
            is_plain,
        })
    }

    /// Whether it can be read from any container on.
    pub(crate) fn can_start_anywhere(&self) -> bool {
        self.is_plain && self.input.size.is_some()
    }

    /// The first container that is read.
    pub(crate) fn start(&self) -> ContainerPlace {
        self.start
    }

    /// Has it read from another container on, or not at all.
    ///
    /// # Errors
    /// There is none.
    pub(crate) fn start_at(&mut self, place: Option<ContainerPlace>) -> Result<(), InputError> {
        let Some(size) = self.input.size.filter(|_| self.is_plain) else { return Ok(()) };
        let reader = |byte: u64| {
            let mut reader = TextReader::plain(self.input.clone(), byte);
            if self.limits.allow_truncated {
                reader.allow_truncation();
            }
            reader
        };
        let Some(place) = place else {
            self.containers = InTurn::new(Containers::none(reader(size), self.limits));
            return Ok(());
        };
        let limits = CramLimits { container_bytes: self.most_bytes, ..self.limits };
        let from = Containers::new(reader(place.byte), Vec::new(), place.byte, limits);
        (self.containers, self.start) = (InTurn::new(from), place);
        if place.byte < size {
            return Ok(());
        }
        let (problem, hint) = ("its index is of another file", "`samtools index` makes a new one");
        let defect = ContainerDefect { byte: 0, problem: problem.to_owned(), hint: Some(hint) };
        Err(defect.at(&self.input.path, place.before + 1, place.byte).into())
    }

    /// Bases that records refer to, and their FASTA.
    pub(crate) fn referred(&self) -> Option<(InputBases, PathBuf)> {
        self.bases.clone().zip(self.fasta.clone())
    }

    /// Has records refer to the bases of `fasta`.
    pub(crate) fn refer(&mut self, bases: InputBases, fasta: PathBuf) {
        (self.bases, self.fasta) = (Some(bases), Some(fasta));
    }

    pub(crate) fn is_ended(&self) -> bool {
        self.containers.is_ended()
    }

    /// Takes the next container.
    pub(crate) fn pull(
        &self,
        scratch: &mut ContainerScratch,
    ) -> Result<Pull<ContainerPiece>, InputError> {
        let buffer = || std::mem::take(&mut scratch.bytes);
        self.containers.pull(|containers| containers.pull(buffer), |piece| piece.last)
    }

    /// Appends the records of a container, framed as in BAM, to `out`; what is wrong with it.
    pub(crate) fn decode(
        &self,
        piece: &mut ContainerPiece,
        scratch: &mut ContainerScratch,
        out: &mut Vec<u8>,
    ) -> Option<ContainerDefect> {
        let bytes = std::mem::take(&mut piece.bytes);
        let Some(head) = &piece.head else { return piece.defect.take() };
        let most_bytes = self.most_bytes;
        let decoder = scratch.decoder.get_or_insert_with(|| Box::new(Decoder::new(most_bytes)));
        let body = bytes.get(head.head_bytes..).unwrap_or_default();
        let sequences: &dyn SequenceBases = match &self.bases {
            Some(bases) => &**bases,
            None => &NoBases,
        };
        let sources = Sources {
            sequences,
            read_groups: &self.read_groups,
            sequence_count: self.header.references().len(),
            name_prefix: &self.prefix,
        };
        let decoded = decoder.decode(head, body, sources, out);
        scratch.bytes = bytes;
        decoded.err().map(|defect| self.explained(&defect))
    }

    /// A decoder's problem with the names of sequences and of the FASTA.
    fn explained(&self, Defect { byte, problem }: &Defect) -> ContainerDefect {
        let name = |sequence: i32| {
            let reference = usize::try_from(sequence).ok();
            let reference = reference.and_then(|it| self.header.references().get(it));
            reference.map_or_else(|| sequence.to_string(), |it| it.name.clone())
        };
        let fasta = self.fasta.as_ref().map(|path| path.display().to_string());
        let (problem, hint) = match (innermost(problem), fasta) {
            (Problem::NoReference { sequence }, None) => (
                format!("the bases of sequence {} are needed", name(*sequence)),
                self.limits.consumer.reference_hint(),
            ),
            (Problem::NoReference { sequence }, Some(fasta)) => {
                (format!("{fasta} does not have sequence {}", name(*sequence)), OTHER)
            }
            (Problem::OtherReference { sequence, start, end }, fasta) => (
                format!(
                    "{}bases {start} to {end} of sequence {} are not those that the file was \
                     written with",
                    fasta.map(|it| it + ": ").unwrap_or_default(),
                    name(*sequence)
                ),
                OTHER,
            ),
            (Problem::Bases { sequence, reason }, _) => {
                let name = name(*sequence);
                let problem = format!("the bases of sequence {name} cannot be read: {reason}");
                return ContainerDefect { byte: *byte as u64, problem, hint: None };
            }
            _ => return ContainerDefect::of(*byte, problem),
        };
        ContainerDefect { byte: *byte as u64, problem, hint: Some(hint) }
    }
}

const OTHER: &str = "is it another reference?";

/// Where a file ends that does not end with the container that ends complete ones. Containers are
/// walked over only where the last bytes are other ones.
fn missing_end(
    input: &Input,
    start: u64,
    size: u64,
    consumer: Consumer,
) -> Result<Option<MalformedContainer>, InputError> {
    let mut tail = [0; EOF_CONTAINER.len()];
    if let Some(at) = size.checked_sub(tail.len() as u64) {
        input.read_exact_at(&mut tail, at)?;
        if tail == EOF_CONTAINER {
            return Ok(None);
        }
    }
    let (mut at, mut container) = (start, 1);
    let mut bytes = Vec::new();
    let problem = loop {
        let left = size.saturating_sub(at);
        bytes.resize(left.min(HEAD_BYTES as u64) as usize, 0);
        let head = loop {
            input.read_exact_at(&mut bytes, at)?;
            match ContainerHead::parse(&bytes) {
                Ok(None) if (bytes.len() as u64) < left => {
                    bytes.resize((2 * bytes.len()).min(left as usize), 0);
                }
                other => break other,
            }
        };
        match head {
            // What is wrong is found as it is read.
            Err(_) => return Ok(None),
            Ok(None) if left == 0 => break MISSING_END,
            Ok(None) => break CUT_CONTAINER,
            Ok(Some(head)) => {
                let whole = (head.head_bytes as u64).saturating_add(head.body_bytes as u64);
                if whole > left {
                    break CUT_CONTAINER;
                }
                if head.is_end() {
                    return Ok(None);
                }
                (at, container) = (at + whole, container + 1);
            }
        }
    };
    Ok(Some(ContainerDefect::cut(problem, consumer).at(&input.path, container, at)))
}

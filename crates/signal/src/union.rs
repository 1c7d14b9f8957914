//! One header for the reads of several files, and where in it each file's read groups and
//! auxiliary values go.
//!
//! The rules are those of `slow5tools merge`: a read group per distinct `run_id`; auxiliary fields
//! by name, enums first as they are met, then the others in byte order. Differences of attributes
//! between files of the same run are an error, or, where allowed, leave the attribute empty.
//! (slow5tools 1.3.0 forgets a difference when a later comparison finds none; here each counts.)

use std::collections::{BTreeMap, HashMap};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use seqloom_format::signal::{
    AuxiliaryField, AuxiliaryType, AuxiliaryValues, SignalHeader, SignalRead,
};

/// The attribute that tells runs apart.
const RUN_ID: &[u8] = b"run_id";

/// Why files cannot be joined.
#[derive(Debug, thiserror::Error)]
pub enum UnionError {
    /// A read group has no `run_id`.
    #[error("{}: read group {group} has no run_id", path.display())]
    NoRunId {
        /// The file.
        path: PathBuf,
        /// The read group.
        group: u32,
    },
    /// Two files of one run differ.
    #[error(
        "{}: attributes are different for the same run_id {run_id}: {attributes}", path.display()
    )]
    Attributes {
        /// The file that differs from those before it.
        path: PathBuf,
        /// The run.
        run_id: String,
        /// Names of the attributes that differ.
        attributes: String,
    },
    /// A file has no auxiliary fields.
    #[error(
        "{}: there are no auxiliary fields; with --lossless no those of the other files are left \
         out too",
        path.display()
    )]
    NoAuxiliary {
        /// The file.
        path: PathBuf,
    },
    /// An auxiliary field has different types, or an enum different labels.
    #[error(
        "{}: auxiliary field {field} is not of the type it has in the files before it",
        path.display()
    )]
    Type {
        /// The file that differs from those before it.
        path: PathBuf,
        /// The field.
        field: String,
    },
}

/// What becomes of attributes that differ between files of the same run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Differences {
    /// They are an error.
    Refuse,
    /// They are left empty.
    Empty,
    /// The first file's value is kept, and what only later ones have is left out: so does
    /// `slow5tools f2s`.
    First,
}

/// What is kept and what is tolerated.
#[derive(Debug, Clone, Copy)]
pub struct UnionOptions {
    /// Keep auxiliary fields.
    pub keep_auxiliary: bool,
    /// What becomes of attributes that differ within a run.
    pub differences: Differences,
    /// Keep the order of the auxiliary fields where all files have the same ones.
    pub keep_order: bool,
}

/// See the module documentation.
#[derive(Debug)]
pub struct HeaderUnion {
    options: UnionOptions,
    runs: HashMap<Vec<u8>, u32>,
    attributes: BTreeMap<Vec<u8>, Vec<Vec<u8>>>,
    enums: Vec<AuxiliaryField>,
    others: BTreeMap<Vec<u8>, AuxiliaryField>,
    /// Fields of the first file, while all others had the same.
    common: Option<Vec<AuxiliaryField>>,
    is_first: bool,
    /// Read groups of the last file added; files of one run share them.
    last_groups: Arc<[u32]>,
    /// What was tolerated.
    warnings: Vec<String>,
}

impl HeaderUnion {
    /// Without any file.
    #[must_use]
    pub fn new(options: UnionOptions) -> Self {
        Self {
            options,
            runs: HashMap::new(),
            attributes: BTreeMap::new(),
            enums: Vec::new(),
            others: BTreeMap::new(),
            common: None,
            is_first: true,
            last_groups: Arc::from([]),
            warnings: Vec::new(),
        }
    }

    /// Adds a file's header; returns which read group of the union each of its read groups is.
    ///
    /// # Errors
    /// [`UnionError`]; the union is then as it was but for fields that only it has.
    pub fn add(&mut self, path: &Path, header: &SignalHeader) -> Result<Arc<[u32]>, UnionError> {
        if self.options.keep_auxiliary {
            self.add_fields(path, &header.auxiliary)?;
        }
        let groups: Result<Vec<u32>, _> =
            (0..header.read_groups).map(|group| self.add_group(path, header, group)).collect();
        let groups = groups?;
        if *self.last_groups != *groups {
            self.last_groups = Arc::from(groups);
        }
        Ok(self.last_groups.clone())
    }

    /// Differences that were tolerated, each in words, since the last call.
    pub fn take_warnings(&mut self) -> Vec<String> {
        std::mem::take(&mut self.warnings)
    }

    /// The header of all files added.
    #[must_use]
    pub fn into_header(self) -> SignalHeader {
        let auxiliary = match self.common {
            Some(common) if self.options.keep_order => common,
            _ => self.enums.into_iter().chain(self.others.into_values()).collect(),
        };
        let read_groups = self.runs.len() as u32;
        SignalHeader { read_groups, attributes: self.attributes, auxiliary, ..Default::default() }
    }

    fn add_fields(&mut self, path: &Path, fields: &[AuxiliaryField]) -> Result<(), UnionError> {
        if fields.is_empty() {
            return Err(UnionError::NoAuxiliary { path: path.to_owned() });
        }
        for field in fields {
            let known = self.enums.iter().find(|known| known.name == field.name);
            if let Some(known) = known.or_else(|| self.others.get(&field.name)) {
                if is_string(known) && is_integer(field) {
                    continue;
                }
                if is_integer(known) && is_string(field) {
                    self.others.insert(field.name.clone(), field.clone());
                } else if known != field {
                    let name = String::from_utf8_lossy(&field.name).into_owned();
                    return Err(UnionError::Type { path: path.to_owned(), field: name });
                }
            } else if matches!(field.kind, AuxiliaryType::Enum(_)) {
                self.enums.push(field.clone());
            } else {
                self.others.insert(field.name.clone(), field.clone());
            }
        }
        if self.is_first {
            self.common = Some(fields.to_vec());
        } else if self.common.as_deref() != Some(fields) {
            self.common = None;
        }
        self.is_first = false;
        Ok(())
    }

    fn add_group(
        &mut self,
        path: &Path,
        header: &SignalHeader,
        group: u32,
    ) -> Result<u32, UnionError> {
        let run_id = value(&header.attributes, RUN_ID, group);
        if run_id.is_empty() {
            return Err(UnionError::NoRunId { path: path.to_owned(), group });
        }
        let Some(&known) = self.runs.get(run_id) else {
            let new = self.runs.len() as u32;
            for name in header.attributes.keys() {
                self.attributes
                    .entry(name.clone())
                    .or_insert_with(|| vec![Vec::new(); new as usize]);
            }
            for (name, values) in &mut self.attributes {
                values.push(value(&header.attributes, name, group).to_vec());
            }
            self.runs.insert(run_id.to_vec(), new);
            return Ok(new);
        };
        self.compare_group(path, header, group, known)?;
        Ok(known)
    }

    /// Compares a read group with the one of the same run, and empties what differs.
    fn compare_group(
        &mut self,
        path: &Path,
        header: &SignalHeader,
        group: u32,
        known: u32,
    ) -> Result<(), UnionError> {
        let mut names: Vec<&Vec<u8>> =
            self.attributes.keys().chain(header.attributes.keys()).collect();
        names.sort_unstable();
        names.dedup();
        let differs = |name: &&Vec<u8>| {
            value(&self.attributes, name, known) != value(&header.attributes, name, group)
        };
        let differing: Vec<Vec<u8>> = names.into_iter().filter(differs).cloned().collect();
        if differing.is_empty() {
            return Ok(());
        }
        let words = differing.iter().map(|name| String::from_utf8_lossy(name).into_owned());
        let error = UnionError::Attributes {
            path: path.to_owned(),
            run_id: String::from_utf8_lossy(value(&header.attributes, RUN_ID, group)).into_owned(),
            attributes: words.collect::<Vec<_>>().join(", "),
        };
        match self.options.differences {
            Differences::Refuse => return Err(error),
            Differences::First => {
                self.warnings.push(format!("{error}; those of the first file are kept"));
                return Ok(());
            }
            Differences::Empty => self.warnings.push(format!("{error}; they are left empty")),
        }
        let groups = self.runs.len();
        for name in differing {
            let values = self.attributes.entry(name).or_insert_with(|| vec![Vec::new(); groups]);
            values[known as usize].clear();
        }
        Ok(())
    }
}

/// `channel_number` is a string in some files and a number in others. As a string it can be both.
fn is_string(field: &AuxiliaryField) -> bool {
    field.is_array && field.kind == AuxiliaryType::Char
}

fn is_integer(field: &AuxiliaryField) -> bool {
    use AuxiliaryType::{I8, I16, I32, I64, U8, U16, U32, U64};
    !field.is_array && matches!(field.kind, I8 | I16 | I32 | I64 | U8 | U16 | U32 | U64)
}

/// Value of an attribute; empty when there is none.
fn value<'a>(attributes: &'a BTreeMap<Vec<u8>, Vec<Vec<u8>>>, name: &[u8], group: u32) -> &'a [u8] {
    let values = attributes.get(name).map(Vec::as_slice).unwrap_or_default();
    values.get(group as usize).map(Vec::as_slice).unwrap_or_default()
}

/// Which field of a file each auxiliary field of the output is, and what stands in its place where
/// the file has none. `None` when the fields are the same.
#[derive(Debug, Default)]
pub struct FieldMap {
    sources: Option<Vec<Source>>,
    values: AuxiliaryValues,
}

#[derive(Debug)]
enum Source {
    Field(usize),
    /// An integer of this type, as text.
    Decimal(usize, AuxiliaryType),
    Missing(Vec<u8>),
}

impl FieldMap {
    /// From the fields of a file to those of the output.
    #[must_use]
    pub fn new(from: &[AuxiliaryField], to: &[AuxiliaryField]) -> Self {
        let source = |field: &AuxiliaryField| {
            let found = from.iter().position(|other| other.name == field.name);
            match found.map(|at| (at, &from[at])) {
                Some((at, other)) if other == field => Source::Field(at),
                Some((at, other)) if is_string(field) && is_integer(other) => {
                    Source::Decimal(at, other.kind.clone())
                }
                _ if field.is_array => Source::Missing(Vec::new()),
                _ => Source::Missing(field.kind.missing()),
            }
        };
        let sources = (from != to).then(|| to.iter().map(source).collect());
        Self { sources, values: AuxiliaryValues::default() }
    }

    /// Whether values stay as they are.
    #[must_use]
    pub fn is_identity(&self) -> bool {
        self.sources.is_none()
    }

    /// Rearranges the values of `read`.
    pub fn apply(&mut self, read: &mut SignalRead) {
        let Some(sources) = &self.sources else { return };
        self.values.clear();
        for source in sources {
            match source {
                Source::Field(index) => self.values.push(read.auxiliary.get(*index)),
                Source::Decimal(index, kind) => {
                    let value = read.auxiliary.get(*index);
                    let text = if value == kind.missing() { None } else { decimal(value, kind) };
                    self.values.push(text.unwrap_or_default().as_bytes());
                }
                Source::Missing(bytes) => self.values.push(bytes),
            }
        }
        std::mem::swap(&mut self.values, &mut read.auxiliary);
    }
}

/// A little-endian integer as text.
fn decimal(value: &[u8], kind: &AuxiliaryType) -> Option<String> {
    use AuxiliaryType::{I8, I16, I32, I64};
    let is_signed = matches!(kind, I8 | I16 | I32 | I64);
    let is_negative = is_signed && value.last().is_some_and(|byte| byte & 0x80 != 0);
    let mut wide = [if is_negative { 0xFF } else { 0 }; 16];
    wide.get_mut(..value.len())?.copy_from_slice(value);
    Some(i128::from_le_bytes(wide).to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn field(name: &str, kind: AuxiliaryType) -> AuxiliaryField {
        let is_array = kind == AuxiliaryType::Char;
        AuxiliaryField { name: name.into(), kind, is_array }
    }

    fn labels(labels: &str) -> AuxiliaryType {
        AuxiliaryType::Enum(labels.split(',').map(|label| label.as_bytes().to_vec()).collect())
    }

    /// A header of one read group for each list of `name=value`.
    fn header(groups: &[&str], auxiliary: Vec<AuxiliaryField>) -> SignalHeader {
        let mut header =
            SignalHeader { read_groups: groups.len() as u32, auxiliary, ..SignalHeader::default() };
        for (group, text) in groups.iter().enumerate() {
            for (name, value) in text.split(' ').filter_map(|pair| pair.split_once('=')) {
                let values = header
                    .attributes
                    .entry(name.into())
                    .or_insert_with(|| vec![Vec::new(); groups.len()]);
                values[group] = value.into();
            }
        }
        header
    }

    fn union(differences: Differences, keep_order: bool) -> HeaderUnion {
        HeaderUnion::new(UnionOptions { keep_auxiliary: true, differences, keep_order })
    }

    fn mux() -> Vec<AuxiliaryField> {
        vec![field("mux", AuxiliaryType::U8)]
    }

    #[test]
    fn runs_become_read_groups() {
        let mut union = union(Differences::Refuse, false);
        let path = Path::new("f");
        let first = union.add(path, &header(&["run_id=a x=1"], mux())).unwrap();
        let second = union.add(path, &header(&["run_id=b y=2", "run_id=a x=1"], mux())).unwrap();
        assert_eq!((&*first, &*second), ([0].as_slice(), [1, 0].as_slice()));
        let header = union.into_header();
        assert_eq!(header.read_groups, 2);
        let values = |name: &[u8]| header.attributes[name].clone();
        assert_eq!(values(b"run_id"), [b"a", b"b"]);
        assert_eq!(values(b"x"), [b"1".as_slice(), b""]);
        assert_eq!(values(b"y"), [b"".as_slice(), b"2"]);
    }

    #[test]
    fn every_difference_within_a_run_counts() {
        let mut strict = union(Differences::Refuse, false);
        let path = Path::new("f");
        strict.add(path, &header(&["run_id=a x=1 y=2"], mux())).unwrap();
        let error = strict.add(path, &header(&["run_id=a x=2"], mux())).unwrap_err();
        assert!(error.to_string().contains("run_id a: x, y"), "{error}");
        // A later file that agrees does not take it back.
        strict.add(path, &header(&["run_id=a x=1 y=2"], mux())).unwrap();

        let mut lax = union(Differences::Empty, false);
        lax.add(path, &header(&["run_id=a x=1 y=2"], mux())).unwrap();
        lax.add(path, &header(&["run_id=a x=2 y=2 z=3"], mux())).unwrap();
        assert_eq!(lax.take_warnings().len(), 1);
        let joined = lax.into_header();
        let values = |name: &[u8]| joined.attributes[name][0].clone();
        assert_eq!((values(b"x"), values(b"y"), values(b"z")), (vec![], vec![b'2'], vec![]));

        let mut first = union(Differences::First, false);
        first.add(path, &header(&["run_id=a x=1"], mux())).unwrap();
        first.add(path, &header(&["run_id=a x=2 z=3"], mux())).unwrap();
        assert_eq!(first.take_warnings().len(), 1);
        let joined = first.into_header();
        assert_eq!(joined.attributes[b"x".as_slice()], [b"1"]);
        assert!(!joined.attributes.contains_key(b"z".as_slice()));
    }

    #[test]
    fn fields_are_joined_by_name() {
        let path = Path::new("f");
        let ends = field("end_reason", labels("a,b"));
        let mut union = union(Differences::Refuse, false);
        union.add(path, &header(&["run_id=a"], vec![mux()[0].clone(), ends.clone()])).unwrap();
        let time = field("a_time", AuxiliaryType::U64);
        union.add(path, &header(&["run_id=b"], vec![time])).unwrap();
        for wrong in [
            field("mux", AuxiliaryType::U16),
            field("end_reason", AuxiliaryType::U8),
            field("end_reason", labels("b,a")),
            field("end_reason", labels("a,b,c")),
            field("a_time", labels("a")),
        ] {
            let error = union.add(path, &header(&["run_id=c"], vec![wrong])).unwrap_err();
            assert!(matches!(error, UnionError::Type { .. }), "{error}");
        }
        let none = union.add(path, &header(&["run_id=c"], Vec::new())).unwrap_err();
        assert!(matches!(none, UnionError::NoAuxiliary { .. }));
        let nameless = union.add(path, &header(&["x=c"], mux())).unwrap_err();
        assert!(matches!(nameless, UnionError::NoRunId { .. }));
        let header = union.into_header();
        let names: Vec<_> = header.auxiliary.iter().map(|field| field.name.as_slice()).collect();
        assert_eq!(names, [b"end_reason".as_slice(), b"a_time", b"mux"]);
    }

    #[test]
    fn integers_become_strings_where_other_files_have_strings() {
        let path = Path::new("f");
        for order in
            [[AuxiliaryType::Char, AuxiliaryType::I16], [AuxiliaryType::I16, AuxiliaryType::Char]]
        {
            let mut union = union(Differences::Refuse, true);
            for (kind, run) in order.into_iter().zip(["run_id=a", "run_id=b"]) {
                union.add(path, &header(&[run], vec![field("channel", kind)])).unwrap();
            }
            assert_eq!(union.into_header().auxiliary, [field("channel", AuxiliaryType::Char)]);
        }
        fn t(kind: AuxiliaryType, value: &[u8], expected: &str) {
            let mut read = SignalRead::default();
            read.auxiliary.push(value);
            let to = [field("c", AuxiliaryType::Char)];
            FieldMap::new(&[field("c", kind)], &to).apply(&mut read);
            assert_eq!(read.auxiliary.get(0), expected.as_bytes());
        }
        t(AuxiliaryType::I16, &481_i16.to_le_bytes(), "481");
        t(AuxiliaryType::I16, &(-2_i16).to_le_bytes(), "-2");
        t(AuxiliaryType::I16, &i16::MAX.to_le_bytes(), "");
        t(AuxiliaryType::U8, &[254], "254");
        t(AuxiliaryType::U64, &(u64::MAX - 1).to_le_bytes(), "18446744073709551614");
        t(AuxiliaryType::I64, &i64::MIN.to_le_bytes(), "-9223372036854775808");
    }

    #[test]
    fn the_order_of_fields_is_kept_where_it_is_common() {
        fn t(keep_order: bool, second: &[&str], expected: &[&str]) {
            let fields = |names: &[&str]| -> Vec<_> {
                names.iter().map(|name| field(name, AuxiliaryType::U8)).collect()
            };
            let mut union = union(Differences::Refuse, keep_order);
            union.add(Path::new("f"), &header(&["run_id=a"], fields(&["b", "a"]))).unwrap();
            union.add(Path::new("f"), &header(&["run_id=b"], fields(second))).unwrap();
            assert_eq!(union.into_header().auxiliary, fields(expected));
        }
        t(true, &["b", "a"], &["b", "a"]);
        t(true, &["a", "b"], &["a", "b"]);
        t(true, &["b", "a", "c"], &["a", "b", "c"]);
        t(false, &["b", "a"], &["a", "b"]);
    }

    #[test]
    fn values_go_where_their_fields_are() {
        let from = [field("a", AuxiliaryType::U8), field("s", AuxiliaryType::Char)];
        let to = [
            field("s", AuxiliaryType::Char),
            field("n", AuxiliaryType::U16),
            field("t", AuxiliaryType::Char),
            field("a", AuxiliaryType::U8),
        ];
        let mut read = SignalRead::default();
        read.auxiliary.push(&[7]);
        read.auxiliary.push(b"text");
        let mut map = FieldMap::new(&from, &to);
        map.apply(&mut read);
        let values: Vec<_> = read.auxiliary.iter().collect();
        assert_eq!(values, [b"text".as_slice(), &[255, 255], b"", &[7]]);
        assert!(FieldMap::new(&from, &from).is_identity());
        FieldMap::new(&to, &[]).apply(&mut read);
        assert!(read.auxiliary.is_empty());
    }
}

//! One header for the reads of several files, and where in it each file's read groups and
//! auxiliary values go.
//!
//! The rules are those of `slow5tools merge`: a read group per distinct `run_id`; auxiliary fields
//! by name, enums first as they are met, then the others in byte order. Differences of attributes
//! between files of the same run are an error, or, where allowed, leave the attribute empty.
//! (slow5tools 1.3.0 forgets a difference when a later comparison finds none; here each counts.)
//! Where asked for, enums of one name are joined too: the labels of all files, in the order met.

use std::collections::{BTreeMap, HashMap};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use seqloom_format::signal::{
    AuxiliaryField, AuxiliaryType, AuxiliaryValues, SignalHeader, SignalRead,
};

/// The attribute that tells runs apart.
const RUN_ID: &[u8] = b"run_id";
/// Most labels of an enum: a value is a byte, and 255 is "missing".
const MAX_LABELS: usize = 255;

/// Why a file cannot be joined to those before it.
#[derive(Debug, thiserror::Error)]
#[error("{}: {misfit}", path.display())]
pub struct UnionError {
    /// The file.
    pub path: PathBuf,
    /// What is wrong with it.
    pub misfit: Misfit,
}

/// What does not fit.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Misfit {
    /// A read group has no `run_id`.
    #[error("read group {group} has no run_id")]
    NoRunId {
        /// The read group.
        group: u32,
    },
    /// It differs from another file of the same run.
    #[error("attributes are different for the same run_id {run_id}: {attributes}")]
    Attributes {
        /// The run.
        run_id: String,
        /// Names of the attributes that differ.
        attributes: String,
    },
    /// It has no auxiliary fields.
    #[error(
        "there are no auxiliary fields; with --lossless no those of the other files are left out \
         too"
    )]
    NoAuxiliary,
    /// An auxiliary field has different types, or an enum different labels.
    #[error("auxiliary field {field} is not of the type it has in the files before it")]
    Type {
        /// The field.
        field: String,
    },
    /// The labels of all files are more than an enum can have.
    #[error("auxiliary field {field} would have more than {MAX_LABELS} labels")]
    Labels {
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
    /// Keep auxiliary fields in the order in which they are met, as `slow5tools f2s` does.
    pub keep_order: bool,
    /// Join enums of one name that have different labels, and take files without auxiliary fields:
    /// their reads have missing values.
    pub widen: bool,
}

/// See the module documentation.
#[derive(Debug)]
pub struct HeaderUnion {
    options: UnionOptions,
    runs: HashMap<Vec<u8>, u32>,
    attributes: BTreeMap<Vec<u8>, Vec<Vec<u8>>>,
    enums: Vec<AuxiliaryField>,
    others: BTreeMap<Vec<u8>, AuxiliaryField>,
    /// Names of all fields, in the order in which they were met.
    met: Vec<Vec<u8>>,
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
            met: Vec::new(),
            last_groups: Arc::from([]),
            warnings: Vec::new(),
        }
    }

    /// Adds a file's header; returns which read group of the union each of its read groups is.
    ///
    /// # Errors
    /// [`UnionError`]; the union is then as it was, unless it is for attributes that differ.
    pub fn add(&mut self, path: &Path, header: &SignalHeader) -> Result<Arc<[u32]>, UnionError> {
        self.join(path, header).map_err(|misfit| UnionError { path: path.to_owned(), misfit })
    }

    fn join(&mut self, path: &Path, header: &SignalHeader) -> Result<Arc<[u32]>, Misfit> {
        for group in 0..header.read_groups {
            if value(&header.attributes, RUN_ID, group).is_empty() {
                return Err(Misfit::NoRunId { group });
            }
        }
        let fields = self.new_fields(&header.auxiliary)?;
        let groups: Result<Vec<u32>, _> =
            (0..header.read_groups).map(|group| self.add_group(path, header, group)).collect();
        let groups = groups?;
        fields.into_iter().for_each(|field| self.put(field));
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
        let Self { enums, others, met, .. } = self;
        let mut auxiliary: Vec<AuxiliaryField> =
            enums.into_iter().chain(others.into_values()).collect();
        if self.options.keep_order {
            auxiliary.sort_by_key(|field| met.iter().position(|name| *name == field.name));
        }
        let read_groups = self.runs.len() as u32;
        SignalHeader { read_groups, attributes: self.attributes, auxiliary, ..Default::default() }
    }

    /// What `fields` add to those of the union: new ones, and known ones that become wider.
    fn new_fields(&self, fields: &[AuxiliaryField]) -> Result<Vec<AuxiliaryField>, Misfit> {
        if !self.options.keep_auxiliary {
            return Ok(Vec::new());
        }
        if fields.is_empty() && !self.options.widen {
            return Err(Misfit::NoAuxiliary);
        }
        let wider = |field: &AuxiliaryField| {
            let known = self.enums.iter().find(|known| known.name == field.name);
            match known.or_else(|| self.others.get(&field.name)) {
                None => Ok(Some(field.clone())),
                Some(known) if known == field => Ok(None),
                Some(known) => self.wider(known, field),
            }
        };
        fields.iter().filter_map(|field| wider(field).transpose()).collect()
    }

    /// What holds the values of both of two fields of one name; `None` when `known` does.
    fn wider(
        &self,
        known: &AuxiliaryField,
        field: &AuxiliaryField,
    ) -> Result<Option<AuxiliaryField>, Misfit> {
        let name = || String::from_utf8_lossy(&field.name).into_owned();
        match (&known.kind, &field.kind) {
            _ if is_string(known) && is_integer(field) => Ok(None),
            _ if is_integer(known) && is_string(field) => Ok(Some(field.clone())),
            (AuxiliaryType::Enum(labels), AuxiliaryType::Enum(others))
                if self.options.widen && known.is_array == field.is_array =>
            {
                let new: Vec<_> = others.iter().filter(|label| !labels.contains(label)).collect();
                if labels.len() + new.len() > MAX_LABELS {
                    return Err(Misfit::Labels { field: name() });
                }
                let joined = || labels.iter().chain(new.iter().copied()).cloned().collect();
                let wide =
                    || AuxiliaryField { kind: AuxiliaryType::Enum(joined()), ..known.clone() };
                Ok((!new.is_empty()).then(wide))
            }
            _ => Err(Misfit::Type { field: name() }),
        }
    }

    /// Adds a field, or puts it in the place of the one of its name.
    fn put(&mut self, field: AuxiliaryField) {
        if !self.met.contains(&field.name) {
            self.met.push(field.name.clone());
        }
        if !matches!(field.kind, AuxiliaryType::Enum(_)) {
            self.others.insert(field.name.clone(), field);
        } else if let Some(known) = self.enums.iter_mut().find(|known| known.name == field.name) {
            *known = field;
        } else {
            self.enums.push(field);
        }
    }

    fn add_group(&mut self, path: &Path, header: &SignalHeader, group: u32) -> Result<u32, Misfit> {
        let run_id = value(&header.attributes, RUN_ID, group);
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
    ) -> Result<(), Misfit> {
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
        let misfit = Misfit::Attributes {
            run_id: String::from_utf8_lossy(value(&header.attributes, RUN_ID, group)).into_owned(),
            attributes: words.collect::<Vec<_>>().join(", "),
        };
        let told = format!("{}: {misfit}", path.display());
        match self.options.differences {
            Differences::Refuse => return Err(misfit),
            Differences::First => {
                self.warnings.push(format!("{told}; those of the first file are kept"));
                return Ok(());
            }
            Differences::Empty => self.warnings.push(format!("{told}; they are left empty")),
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
pub(crate) struct FieldMap {
    sources: Option<Vec<Source>>,
    values: AuxiliaryValues,
}

#[derive(Debug)]
enum Source {
    Field(usize),
    /// An integer of this type, as text.
    Decimal(usize, AuxiliaryType),
    /// An enum with other labels: for each of its values the one that stands for the same label.
    Labels(usize, Box<[u8; 256]>),
    Missing(Vec<u8>),
}

impl FieldMap {
    /// From the fields of a file to those of the output.
    #[must_use]
    pub(crate) fn new(from: &[AuxiliaryField], to: &[AuxiliaryField]) -> Self {
        let source = |field: &AuxiliaryField| {
            let found = from.iter().position(|other| other.name == field.name);
            match found.map(|at| (at, &from[at])) {
                Some((at, other)) if other == field => Source::Field(at),
                Some((at, other)) if is_string(field) && is_integer(other) => {
                    Source::Decimal(at, other.kind.clone())
                }
                Some((at, other)) if let Some(values) = label_values(other, field) => {
                    Source::Labels(at, Box::new(values))
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
    pub(crate) fn is_identity(&self) -> bool {
        self.sources.is_none()
    }

    /// Rearranges the values of `read`.
    pub(crate) fn apply(&mut self, read: &mut SignalRead) {
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
                Source::Labels(index, values) => {
                    let stored = read.auxiliary.get(*index).iter();
                    let renumbered = stored.map(|&value| values[usize::from(value)]);
                    self.values.push_with(|out| {
                        out.extend(renumbered);
                        Some(())
                    });
                }
                Source::Missing(bytes) => self.values.push(bytes),
            }
        }
        std::mem::swap(&mut self.values, &mut read.auxiliary);
    }
}

/// The value in `to` for each value in `from`, where both are enums; labels that `to` does not have
/// become "missing".
fn label_values(from: &AuxiliaryField, to: &AuxiliaryField) -> Option<[u8; 256]> {
    let (AuxiliaryType::Enum(old), AuxiliaryType::Enum(new)) = (&from.kind, &to.kind) else {
        return None;
    };
    if from.is_array != to.is_array {
        return None;
    }
    let mut values = [u8::MAX; 256];
    for (value, label) in values.iter_mut().zip(old) {
        let at = new.iter().position(|other| other == label);
        *value = at.and_then(|at| u8::try_from(at).ok()).unwrap_or(u8::MAX);
    }
    Some(values)
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
        let widen = false;
        HeaderUnion::new(UnionOptions { keep_auxiliary: true, differences, keep_order, widen })
    }

    fn widening() -> HeaderUnion {
        HeaderUnion::new(UnionOptions {
            keep_auxiliary: true,
            differences: Differences::First,
            keep_order: true,
            widen: true,
        })
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
            assert!(matches!(error.misfit, Misfit::Type { .. }), "{error}");
        }
        let none = union.add(path, &header(&["run_id=c"], Vec::new())).unwrap_err();
        assert!(matches!(none.misfit, Misfit::NoAuxiliary));
        let nameless = union.add(path, &header(&["x=c"], mux())).unwrap_err();
        assert!(matches!(nameless.misfit, Misfit::NoRunId { .. }));
        let header = union.into_header();
        let names: Vec<_> = header.auxiliary.iter().map(|field| field.name.as_slice()).collect();
        assert_eq!(names, [b"end_reason".as_slice(), b"a_time", b"mux"]);
    }

    #[test]
    fn labels_of_several_files_become_one_list() {
        let path = Path::new("f");
        let ends = |text: &str| field("end_reason", labels(text));
        let mut union = widening();
        union.add(path, &header(&["run_id=a"], vec![ends("a,b")])).unwrap();
        union.add(path, &header(&["run_id=b"], vec![mux()[0].clone(), ends("c,b")])).unwrap();
        union.add(path, &header(&["run_id=c"], Vec::new())).unwrap();
        union.add(path, &header(&["run_id=d"], vec![ends("b,a")])).unwrap();
        let many: Vec<String> = (0..253).map(|label| format!("l{label}")).collect();
        let error = union.add(path, &header(&["run_id=e"], vec![ends(&many.join(","))]));
        assert!(matches!(error.unwrap_err().misfit, Misfit::Labels { .. }));
        let array = AuxiliaryField { is_array: true, ..ends("a,b") };
        let error = union.add(path, &header(&["run_id=e"], vec![array])).unwrap_err();
        assert!(matches!(error.misfit, Misfit::Type { .. }));
        assert_eq!(union.into_header().auxiliary, [ends("a,b,c"), mux()[0].clone()]);

        fn t(from: &str, to: &str, values: &[u8], expected: &[u8]) {
            let [from, to] = [from, to].map(|text| field("end_reason", labels(text)));
            let mut read = SignalRead::default();
            read.auxiliary.push(values);
            FieldMap::new(&[from], &[to]).apply(&mut read);
            assert_eq!(read.auxiliary.get(0), expected);
        }
        t("c,b", "a,b,c", &[0], &[2]);
        t("c,b", "a,b,c", &[1], &[1]);
        t("c,b", "a,b,c", &[255], &[255]);
        t("c,b", "a,b,c", &[2], &[255]);
        t("c,b", "a,b", &[0], &[255]);
    }

    #[test]
    fn a_file_that_does_not_fit_leaves_nothing_behind() {
        let path = Path::new("f");
        let mut union = widening();
        union.add(path, &header(&["run_id=a"], mux())).unwrap();
        let new = field("new", AuxiliaryType::U8);
        let wrong = field("mux", AuxiliaryType::U16);
        union.add(path, &header(&["run_id=b"], vec![new.clone(), wrong])).unwrap_err();
        union.add(path, &header(&["run_id=b y=1", "y=1"], vec![new])).unwrap_err();
        let groups = union.add(path, &header(&["run_id=c"], mux())).unwrap();
        assert_eq!(*groups, [1]);
        let header = union.into_header();
        assert_eq!((header.read_groups, header.auxiliary), (2, mux()));
        assert!(!header.attributes.contains_key(b"y".as_slice()));
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
    fn the_order_of_fields_can_be_kept() {
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
        t(true, &["a", "b"], &["b", "a"]);
        t(true, &["c", "a", "0"], &["b", "a", "c", "0"]);
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

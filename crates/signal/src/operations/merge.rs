//! One header for the reads of several files, and where in it each file's read groups and
//! auxiliary values go.
//!
//! The rules are those of `slow5tools merge`: a read group per distinct `run_id`; auxiliary fields
//! by name, enums first as they are met, then the others in byte order. Differences of attributes
//! between files of the same run are an error, or, where allowed, leave the attribute empty.
//! (slow5tools 1.3.0 forgets a difference when a later comparison finds none; here each counts.)
//! Where requested, enums of one name are joined too: the labels of all files, in the order met.

use std::collections::{BTreeMap, HashMap};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use seqloom_format::signal::{
    AuxiliaryField, AuxiliaryType, AuxiliaryValues, SignalHeader, SignalRead,
};
use seqloom_runtime::error::{Class, Place, RunError};

/// The attribute that distinguishes runs.
const RUN_ID: &[u8] = b"run_id";
/// Most labels of an enum: a value is a byte, and 255 is "missing".
const MAX_LABELS: usize = 255;

/// Why a file cannot be joined to those before it.
#[derive(Debug, thiserror::Error)]
#[error("{}: {misfit}", path.display())]
pub struct UnionError {
    /// The file.
    pub path: PathBuf,
    /// The problem.
    pub misfit: Misfit,
}

impl RunError for UnionError {
    fn class(&self) -> Class {
        Class::Input
    }

    fn place(&self) -> Place {
        Place::of(&self.path)
    }
}

/// Why a header does not fit the others.
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

/// Treatment of attributes that differ between files of the same run.
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

/// Options of a union.
#[derive(Debug, Clone, Copy)]
pub struct UnionOptions {
    /// Keep auxiliary fields.
    pub keep_auxiliary: bool,
    /// Treatment of attributes that differ within a run.
    pub differences: Differences,
    /// Keep auxiliary fields in the order in which they are met, as `slow5tools f2s` does.
    pub keep_order: bool,
    /// Join enums of one name that have different labels, and take files without auxiliary fields:
    /// their reads have missing values.
    pub widen: bool,
}

/// The header of the output, with the numbers that read groups get in it.
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
    /// Tolerated differences.
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
        let reported = format!("{}: {misfit}", path.display());
        match self.options.differences {
            Differences::Refuse => return Err(misfit),
            Differences::First => {
                self.warnings.push(format!("{reported}; those of the first file are kept"));
                return Ok(());
            }
            Differences::Empty => self.warnings.push(format!("{reported}; they are left empty")),
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

/// Which field of a file each auxiliary field of the output is, and what is in its place where
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
#[path = "merge_tests.rs"]
mod tests;

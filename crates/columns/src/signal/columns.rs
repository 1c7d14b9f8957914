//! The columns that files of raw signal have, and the schema of a table of them.

use std::sync::Arc;

use arrow_schema::{DataType, Field, Schema};
use seqloom_format::signal::AuxiliaryField;
use seqloom_signal::store::SignalStore;

use super::auxiliary;
use crate::error::ColumnsError;

/// A column.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Column {
    ReadId,
    ReadGroup,
    Digitisation,
    Offset,
    Range,
    SamplingRate,
    SampleCount,
    Samples,
    /// A field, by its number among those of all files.
    Auxiliary(usize),
}

/// Columns that every read has.
const COMMON: [(Column, &str); 8] = [
    (Column::ReadId, "read_id"),
    (Column::ReadGroup, "read_group"),
    (Column::Digitisation, "digitisation"),
    (Column::Offset, "offset"),
    (Column::Range, "range"),
    (Column::SamplingRate, "sampling_rate"),
    (Column::SampleCount, "sample_count"),
    (Column::Samples, "samples"),
];

/// Columns of several files.
pub(super) struct Columns {
    pub(super) requested: Vec<Column>,
    /// Fields of all files.
    pub(super) fields: Vec<AuxiliaryField>,
    /// Index of each of them in each file.
    pub(super) places: Vec<Vec<Option<usize>>>,
    pub(super) schema: Arc<Schema>,
}

impl Columns {
    pub(super) fn new(
        stores: &[Arc<dyn SignalStore>],
        requested: Option<&[String]>,
    ) -> Result<Self, ColumnsError> {
        let fields = union(stores)?;
        let place = |store: &Arc<dyn SignalStore>, field: &AuxiliaryField| {
            store.header().auxiliary.iter().position(|own| own.name == field.name)
        };
        let places = stores
            .iter()
            .map(|store| fields.iter().map(|field| place(store, field)).collect())
            .collect();
        let name = |field: &AuxiliaryField| String::from_utf8_lossy(&field.name).into_owned();
        let mut known: Vec<(Column, String)> =
            COMMON.map(|(column, name)| (column, name.to_owned())).to_vec();
        known.extend(
            fields.iter().enumerate().map(|(at, field)| (Column::Auxiliary(at), name(field))),
        );
        let chosen = match requested {
            None => known,
            Some(requested) => {
                requested.iter().map(|name| find(&known, name)).collect::<Result<_, _>>()?
            }
        };
        let schema = chosen.iter().map(|(column, name)| {
            let kind = match column {
                Column::Auxiliary(at) => auxiliary::data_type(&fields[*at]),
                column => data_type(*column),
            };
            Field::new(name, kind, matches!(column, Column::Auxiliary(_)))
        });
        let schema = Arc::new(Schema::new(schema.collect::<Vec<_>>()));
        let requested = chosen.iter().map(|(column, _)| *column).collect();
        Ok(Self { requested, fields, places, schema })
    }

    /// Whether samples are looked at.
    pub(super) fn has_samples(&self) -> bool {
        self.requested.contains(&Column::Samples)
    }
}

fn data_type(column: Column) -> DataType {
    match column {
        Column::ReadId | Column::Auxiliary(_) => DataType::Utf8,
        Column::ReadGroup => DataType::UInt32,
        Column::SampleCount => DataType::UInt64,
        Column::Samples => DataType::new_list(DataType::Int16, true),
        _ => DataType::Float64,
    }
}

fn find(known: &[(Column, String)], name: &str) -> Result<(Column, String), ColumnsError> {
    known.iter().find(|(_, own)| own == name).cloned().ok_or_else(|| {
        let names: Vec<&str> = known.iter().map(|(_, name)| name.as_str()).collect();
        let names = names.join(", ");
        ColumnsError::Requested(format!("there is no column '{name}' of signal; there are {names}"))
    })
}

/// The fields of all files, each once.
fn union(stores: &[Arc<dyn SignalStore>]) -> Result<Vec<AuxiliaryField>, ColumnsError> {
    let mut fields: Vec<AuxiliaryField> = Vec::new();
    for store in stores {
        for field in &store.header().auxiliary {
            match fields.iter().find(|known| known.name == field.name) {
                None => fields.push(field.clone()),
                Some(known) if known == field => {}
                Some(_) => {
                    let name = String::from_utf8_lossy(&field.name);
                    return Err(ColumnsError::Inputs {
                        path: store.path().to_path_buf(),
                        problem: format!(
                            "its field '{name}' has another type than in the files before it"
                        ),
                    });
                }
            }
        }
    }
    Ok(fields)
}

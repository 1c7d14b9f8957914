//! The Reads table: one row per read, without its signal.

use super::arrow::{Array, ArrowTable, Batch, DataType};
use super::{Pod5FormatError, Span};
use crate::read_at::ReadAt;

const TABLE: &str = "reads";

/// Columns of plain values, looked up by name.
#[derive(Debug, Clone, Copy)]
enum Name {
    ReadNumber,
    Start,
    MedianBefore,
    NumMinknowEvents,
    TrackedScalingScale,
    TrackedScalingShift,
    PredictedScalingScale,
    PredictedScalingShift,
    NumReadsSinceMuxChange,
    TimeSinceMuxChange,
    NumSamples,
    Channel,
    Channel32Bit,
    Well,
    PoreType,
    CalibrationOffset,
    CalibrationScale,
    EndReason,
    RunInfo,
    OpenPoreLevel,
    ExpectedOpenPoreLevel,
    SelectedReadLevel,
    /// Versions 0 to 2: structures in dictionaries.
    Pore,
    Calibration,
}

/// In the order of [`Name`].
const NAMES: [&str; 24] = [
    "read_number",
    "start",
    "median_before",
    "num_minknow_events",
    "tracked_scaling_scale",
    "tracked_scaling_shift",
    "predicted_scaling_scale",
    "predicted_scaling_shift",
    "num_reads_since_mux_change",
    "time_since_mux_change",
    "num_samples",
    "channel",
    "channel_32bit",
    "well",
    "pore_type",
    "calibration_offset",
    "calibration_scale",
    "end_reason",
    "run_info",
    "open_pore_level",
    "expected_open_pore_level",
    "selected_read_level",
    "pore",
    "calibration",
];

/// A read as its row says. `None` is a missing value or a column that this version has not.
#[derive(Debug, Clone, Copy)]
pub struct ReadRow<'a> {
    /// The UUID of the read.
    pub read_id: [u8; 16],
    /// Number of the read on its channel.
    pub read_number: Option<u32>,
    /// Samples taken on the channel before the read.
    pub start: Option<u64>,
    /// Current before the read, in picoampere.
    pub median_before: Option<f32>,
    /// Events that MinKNOW counted.
    pub num_minknow_events: Option<u64>,
    /// Scaling from the reads before: scale.
    pub tracked_scaling_scale: Option<f32>,
    /// Scaling from the reads before: shift.
    pub tracked_scaling_shift: Option<f32>,
    /// Scaling from this read: scale.
    pub predicted_scaling_scale: Option<f32>,
    /// Scaling from this read: shift.
    pub predicted_scaling_shift: Option<f32>,
    /// Selected reads since the last change of mux.
    pub num_reads_since_mux_change: Option<u32>,
    /// Seconds since the last change of mux.
    pub time_since_mux_change: Option<f32>,
    /// Samples of the read.
    pub num_samples: Option<u64>,
    /// Channel, from 1.
    pub channel: Option<u32>,
    /// Well, from 1.
    pub well: Option<u8>,
    /// Kind of the pore, such as `not_set` or `R10.4.1`.
    pub pore_type: Option<&'a [u8]>,
    /// Added to each sample.
    pub calibration_offset: Option<f32>,
    /// Picoampere per step of the converter.
    pub calibration_scale: Option<f32>,
    /// Why the read ended, such as `signal_positive`.
    pub end_reason: Option<&'a [u8]>,
    /// Id of the acquisition.
    pub acquisition_id: Option<&'a [u8]>,
    /// Current of the open pore, in picoampere.
    pub open_pore_level: Option<f32>,
    /// The same as it was expected.
    pub expected_open_pore_level: Option<f32>,
    /// Level of the selected read.
    pub selected_read_level: Option<f32>,
}

/// The table: its columns' places and its batches'. No row is kept.
#[derive(Debug)]
pub struct ReadTable {
    table: ArrowTable,
    read_id: usize,
    signal: usize,
    columns: [Option<usize>; NAMES.len()],
}

impl ReadTable {
    /// Opens the table at `span`.
    ///
    /// # Errors
    /// When it is damaged or lacks a column that every version has.
    pub fn open(file: &dyn ReadAt, span: Span) -> Result<Self, Pod5FormatError> {
        let table = ArrowTable::open(file, span)?;
        let schema = table.schema();
        let needed = |column: &'static str| {
            schema.position(column).ok_or(Pod5FormatError::NoColumn { table: TABLE, column })
        };
        let (read_id, signal) = (needed("read_id")?, needed("signal")?);
        let columns = NAMES.map(|name| schema.position(name));
        if columns[Name::Calibration as usize].is_none() {
            needed("calibration_offset")?;
            needed("calibration_scale")?;
        }
        needed("run_info")?;
        if schema.fields[read_id].kind != (DataType::Fixed { bytes: 16 }) {
            let what = "read ids that are not of 16 bytes";
            return Err(Pod5FormatError::Unsupported { what, at: span.offset });
        }
        Ok(Self { table, read_id, signal, columns })
    }

    /// Number of batches.
    #[must_use]
    pub fn batches(&self) -> usize {
        self.table.batches()
    }

    /// Appends the read ids of a batch: reads no other column.
    ///
    /// # Errors
    /// When the batch is damaged.
    pub fn read_ids(
        &self,
        file: &dyn ReadAt,
        batch: usize,
        out: &mut Vec<[u8; 16]>,
    ) -> Result<(), Pod5FormatError> {
        let layout = self.table.layout(file, batch)?;
        let values = layout.columns.get(self.read_id).map(|column| column.values);
        let what = "a column of read ids that is too short";
        let malformed = Pod5FormatError::Malformed { what, at: layout.at };
        let bytes = layout.rows.checked_mul(16);
        let fits = values.filter(|values| bytes.is_some_and(|bytes| bytes <= values.len));
        let values = fits.ok_or(malformed)?;
        // Bounded by the body of the batch, which is in the file.
        let start = out.len();
        out.resize(start + layout.rows as usize, [0; 16]);
        let bytes = out[start..].as_flattened_mut();
        file.read_exact_at(bytes, layout.at + values.offset)?;
        Ok(())
    }

    /// Reads a batch into `batch`, keeping the memory it has.
    ///
    /// # Errors
    /// When it is damaged.
    pub fn load(
        &self,
        file: &dyn ReadAt,
        index: usize,
        batch: &mut Batch,
    ) -> Result<(), Pod5FormatError> {
        self.table.load(file, index, batch)
    }

    /// Row `row` of a loaded batch.
    ///
    /// # Errors
    /// When a value contradicts the format.
    pub fn row<'a>(&'a self, batch: &'a Batch, row: usize) -> Result<ReadRow<'a>, Pod5FormatError> {
        let cursor = Cursor { reads: self, batch, row };
        let id = cursor.column(self.read_id).map(|array| (array, array.bytes(row)));
        let what = "no read id";
        let id = match id {
            Some((_, Ok(Some(bytes)))) => {
                bytes.try_into().map_err(|_| cursor.error(what, TABLE))?
            }
            _ => return Err(cursor.error(what, "read_id")),
        };
        let channel = match cursor.number(Name::Channel32Bit)? {
            Some(channel) => Some(channel),
            None => match cursor.number(Name::Channel)? {
                Some(channel) => Some(channel),
                None => cursor.number_in(Name::Pore, "channel")?,
            },
        };
        let well = match cursor.number(Name::Well)? {
            Some(well) => Some(well),
            None => cursor.number_in(Name::Pore, "well")?,
        };
        let pore_type = match cursor.text(Name::PoreType, "")? {
            Some(text) => Some(text),
            None => cursor.text(Name::Pore, "pore_type")?,
        };
        Ok(ReadRow {
            read_id: id,
            read_number: cursor.number(Name::ReadNumber)?,
            start: cursor.number(Name::Start)?,
            median_before: cursor.float(Name::MedianBefore)?,
            num_minknow_events: cursor.number(Name::NumMinknowEvents)?,
            tracked_scaling_scale: cursor.float(Name::TrackedScalingScale)?,
            tracked_scaling_shift: cursor.float(Name::TrackedScalingShift)?,
            predicted_scaling_scale: cursor.float(Name::PredictedScalingScale)?,
            predicted_scaling_shift: cursor.float(Name::PredictedScalingShift)?,
            num_reads_since_mux_change: cursor.number(Name::NumReadsSinceMuxChange)?,
            time_since_mux_change: cursor.float(Name::TimeSinceMuxChange)?,
            num_samples: cursor.number(Name::NumSamples)?,
            channel,
            well,
            pore_type,
            calibration_offset: cursor.calibration(Name::CalibrationOffset, "offset")?,
            calibration_scale: cursor.calibration(Name::CalibrationScale, "scale")?,
            end_reason: cursor.text(Name::EndReason, "name")?,
            acquisition_id: cursor.text(Name::RunInfo, "acquisition_id")?,
            open_pore_level: cursor.float(Name::OpenPoreLevel)?,
            expected_open_pore_level: cursor.float(Name::ExpectedOpenPoreLevel)?,
            selected_read_level: cursor.float(Name::SelectedReadLevel)?,
        })
    }

    /// Calls `each` with the rows of the Signal table that make up the read in `row`, in order,
    /// until it fails.
    ///
    /// # Errors
    /// When the list is damaged, or what `each` says.
    pub fn signal_rows<E: From<Pod5FormatError>>(
        &self,
        batch: &Batch,
        row: usize,
        mut each: impl FnMut(u64) -> Result<(), E>,
    ) -> Result<(), E> {
        let cursor = Cursor { reads: self, batch, row };
        let error = |what| E::from(cursor.error(what, "signal"));
        let list = cursor.column(self.signal).ok_or_else(|| error("no signal"))?;
        let Some(range) = list.list(row).map_err(error)? else { return Ok(()) };
        let numbers = list.child(0).ok_or_else(|| error("no signal"))?;
        for i in range {
            let number = numbers.integer(i).map_err(error)?.and_then(|n| u64::try_from(n).ok());
            each(number.ok_or_else(|| error("a missing row number"))?)?;
        }
        Ok(())
    }

    /// All names of reasons why reads ended, as the dictionary has them; one that is damaged ends
    /// it.
    pub fn end_reasons(&self) -> impl Iterator<Item = &[u8]> {
        let field = self.columns[Name::EndReason as usize].map(|i| &self.table.schema().fields[i]);
        let values = field.and_then(|f| Some((self.table.dictionary(f)?, f)));
        values.into_iter().flat_map(|(dictionary, field)| dictionary.values(field)).flat_map(
            |(array, rows)| {
                let array = if array.is_struct() { array.part("name") } else { Some(array) };
                let text = move |row| array?.bytes(row as usize).ok();
                (0..rows).map_while(text).flatten()
            },
        )
    }

    /// The dictionary of structures that versions 0 to 2 keep their runs in.
    pub(crate) fn embedded_runs(&self) -> impl Iterator<Item = (Array<'_>, u64)> {
        let field = self.columns[Name::RunInfo as usize].map(|i| &self.table.schema().fields[i]);
        let values = field.and_then(|f| Some((self.table.dictionary(f)?, f)));
        let values = values.into_iter().flat_map(|(dictionary, f)| dictionary.values(f));
        values.filter(|(array, _)| array.is_struct())
    }
}

/// One row of a batch.
#[derive(Clone, Copy)]
struct Cursor<'a> {
    reads: &'a ReadTable,
    batch: &'a Batch,
    row: usize,
}

impl<'a> Cursor<'a> {
    fn error(&self, what: &'static str, column: &str) -> Pod5FormatError {
        let (column, at) = (column.to_owned(), self.batch.at);
        Pod5FormatError::Value { what, column, row: self.row, at }
    }

    fn column(&self, index: usize) -> Option<Array<'a>> {
        self.batch.column(&self.reads.table.schema().fields, index)
    }

    fn named(&self, name: Name) -> Option<Array<'a>> {
        self.column(self.reads.columns[name as usize]?)
    }

    fn number<T: TryFrom<i128>>(&self, name: Name) -> Result<Option<T>, Pod5FormatError> {
        let Some(array) = self.named(name) else { return Ok(None) };
        self.number_of(array, self.row, name)
    }

    fn number_of<T: TryFrom<i128>>(
        &self,
        array: Array<'_>,
        row: usize,
        name: Name,
    ) -> Result<Option<T>, Pod5FormatError> {
        let error = |what| self.error(what, NAMES[name as usize]);
        let number = array.integer(row).map_err(error)?;
        number.map(T::try_from).transpose().map_err(|_| error("a number that is too large"))
    }

    fn float(&self, name: Name) -> Result<Option<f32>, Pod5FormatError> {
        let Some(array) = self.named(name) else { return Ok(None) };
        array.float(self.row).map_err(|what| self.error(what, NAMES[name as usize]))
    }

    /// The dictionary's value that this row refers to.
    fn entry(&self, name: Name) -> Result<Option<(Array<'a>, usize)>, Pod5FormatError> {
        let Some(array) = self.named(name) else { return Ok(None) };
        let Some(index) = self.number_of::<usize>(array, self.row, name)? else {
            return Ok(None);
        };
        let value = self.reads.table.dictionary_value(array.field(), self.batch.at, index);
        let what = "a number that its dictionary has not";
        value.map(Some).ok_or_else(|| self.error(what, NAMES[name as usize]))
    }

    /// A text in a dictionary, or part `part` of a structure in one.
    fn text(&self, name: Name, part: &str) -> Result<Option<&'a [u8]>, Pod5FormatError> {
        let Some((array, row)) = self.entry(name)? else { return Ok(None) };
        let array = if array.is_struct() { array.part(part) } else { Some(array) };
        let error = |what| self.error(what, NAMES[name as usize]);
        array.map_or(Ok(None), |array| array.bytes(row)).map_err(error)
    }

    /// An integer in a structure in a dictionary.
    fn number_in<T: TryFrom<i128>>(
        &self,
        name: Name,
        part: &str,
    ) -> Result<Option<T>, Pod5FormatError> {
        let Some((array, row)) = self.entry(name)? else { return Ok(None) };
        array.part(part).map_or(Ok(None), |array| self.number_of(array, row, name))
    }

    /// A column of its own, or part `part` of the structure that older versions have.
    fn calibration(&self, name: Name, part: &str) -> Result<Option<f32>, Pod5FormatError> {
        if self.named(name).is_some() {
            return self.float(name);
        }
        let Some((array, row)) = self.entry(Name::Calibration)? else { return Ok(None) };
        let value = array.part(part).map_or(Ok(None), |array| array.float(row));
        value.map_err(|what| self.error(what, part))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_in_the_order_of_their_numbers() {
        assert_eq!(NAMES[Name::ReadNumber as usize], "read_number");
        assert_eq!(NAMES[Name::Channel32Bit as usize], "channel_32bit");
        assert_eq!(NAMES[Name::EndReason as usize], "end_reason");
        assert_eq!(NAMES[Name::SelectedReadLevel as usize], "selected_read_level");
        assert_eq!(NAMES[Name::Calibration as usize], "calibration");
    }
}

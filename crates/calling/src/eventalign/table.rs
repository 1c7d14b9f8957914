//! nanopolish's event table and its summary, byte for byte.

use crate::aligned_read::AlignedRead;
use crate::events::ReadEvents;
use crate::hmm::ScaledLevel;
use crate::hmm::kmers::{complement, lowest_base};
use crate::pore_model::PoreModel;

use super::EventRow;
use super::decimal::{push_fixed, push_fixed_double, push_general, push_integer};

/// Columns and their units.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct TableOptions {
    /// Name reads instead of numbering them (`--print-read-names`).
    pub read_names: bool,
    /// Scale events to the model instead of the model to the events (`--scale-events`).
    pub scale_events: bool,
    /// Add the samples from which to which the event reaches (`--signal-index`).
    pub signal_index: bool,
    /// Add the samples themselves, scaled (`--samples`).
    pub samples: bool,
}

/// A read, and all that its rows are made of.
#[derive(Debug, Clone, Copy)]
pub(crate) struct TableRead<'a> {
    /// Its alignment.
    pub(crate) read: &'a AlignedRead<'a>,
    /// Its number, from 0.
    pub(crate) index: u64,
    /// Its events.
    pub(crate) events: &'a ReadEvents,
    /// The model that it was aligned with.
    pub(crate) model: &'a PoreModel,
    /// Samples per second.
    pub(crate) sample_rate_hz: f64,
    /// Its samples, in picoampere; looked at only for [`TableOptions::samples`].
    pub(crate) samples_pa: &'a [f32],
}

/// Appends the table's first line.
pub fn push_header(options: &TableOptions, out: &mut Vec<u8>) {
    out.extend_from_slice(b"contig\tposition\treference_kmer\t");
    out.extend_from_slice(if options.read_names { b"read_name" } else { b"read_index" });
    out.extend_from_slice(b"\tstrand\tevent_index\tevent_level_mean\tevent_stdv\tevent_length");
    out.extend_from_slice(b"\tmodel_kmer\tmodel_mean\tmodel_stdv\tstandardized_level");
    if options.signal_index {
        out.extend_from_slice(b"\tstart_idx\tend_idx");
    }
    if options.samples {
        out.extend_from_slice(b"\tsamples");
    }
    out.push(b'\n');
}

/// Bytes that are reserved for a row: about what one has with all columns but that of the samples.
const ROW_BYTES: usize = 160;

/// Appends a line for each row.
pub(crate) fn push_rows(
    table: &TableRead<'_>,
    rows: &[EventRow],
    options: &TableOptions,
    out: &mut Vec<u8>,
) {
    let scaling = &table.events.scaling;
    let (log_var, deviations) = (scaling.var.ln(), scaling.var.sqrt());
    out.reserve(rows.len() * ROW_BYTES);
    for row in rows {
        let begin = row.offset as usize;
        let kmer = table.read.reference.get(begin..begin + table.model.kmer_length);
        push_place(table, row, kmer.unwrap_or_default(), options, out);
        let scaled = || {
            let level = ScaledLevel::of(table.model, row.rank, scaling, log_var);
            (level.mean_pa, level.stdv_pa)
        };
        let rank = row.rank as usize;
        let unscaled = || {
            let model = table.model;
            (model.level_mean_pa[rank] as f32, model.level_stdv_pa[rank] as f32)
        };
        let (mean, stdv) = match (row.is_bad, options.scale_events) {
            (true, _) => (0.0, 0.0),
            (false, true) => unscaled(),
            (false, false) => scaled(),
        };
        let level = push_event(table, row.event, options, out);
        push_model_kmer(table, row, kmer.unwrap_or_default(), out);
        let standardized = f64::from(level - mean) / (deviations * f64::from(stdv));
        for number in [mean, stdv, standardized as f32] {
            out.push(b'\t');
            push_fixed(out, number, 2);
        }
        push_signal(table, row.event, options, out);
        out.push(b'\n');
    }
}

/// Contig to event number, and a tab.
fn push_place(
    table: &TableRead<'_>,
    row: &EventRow,
    kmer: &[u8],
    options: &TableOptions,
    out: &mut Vec<u8>,
) {
    out.extend_from_slice(table.read.contig);
    out.push(b'\t');
    push_integer(out, table.read.start + u64::from(row.offset));
    out.push(b'\t');
    out.extend(kmer.iter().copied().map(lowest_base));
    out.push(b'\t');
    if options.read_names {
        out.extend_from_slice(table.read.name);
    } else {
        push_integer(out, table.index);
    }
    // The strand of the pore's template, of which a read has one only since there are no 2D reads.
    out.extend_from_slice(b"\tt\t");
    push_integer(out, u64::from(row.event));
    out.push(b'\t');
}

/// Level, standard deviation and duration of an event, and a tab. Gives the level.
fn push_event(table: &TableRead<'_>, event: u32, options: &TableOptions, out: &mut Vec<u8>) -> f32 {
    let events = &table.events.events;
    let event = event as usize;
    let mut level = events.mean_pa[event];
    if options.scale_events {
        let scaling = &table.events.scaling;
        level = ((f64::from(level) - scaling.shift_pa) / scaling.scale) as f32;
    }
    push_fixed(out, level, 2);
    out.push(b'\t');
    push_fixed(out, events.stdv_pa[event], 3);
    out.push(b'\t');
    push_fixed(out, duration_s(table, event), 5);
    out.push(b'\t');
    level
}

/// Duration of an event, in seconds.
fn duration_s(table: &TableRead<'_>, event: usize) -> f32 {
    (f64::from(table.events.events.length_samples[event]) / table.sample_rate_hz) as f32
}

/// The k-mer that the event was matched with, on the strand that was sequenced.
fn push_model_kmer(table: &TableRead<'_>, row: &EventRow, kmer: &[u8], out: &mut Vec<u8>) {
    let bases = kmer.iter().copied().map(lowest_base);
    if row.is_bad {
        out.extend(bases.map(|_| b'N'));
    } else if table.read.is_reverse {
        out.extend(bases.rev().map(complement));
    } else {
        out.extend(bases);
    }
}

/// Place of the event's samples, and the samples.
fn push_signal(table: &TableRead<'_>, event: u32, options: &TableOptions, out: &mut Vec<u8>) {
    let events = &table.events.events;
    let start = events.start_samples[event as usize];
    let end = start + events.length_samples[event as usize] as u64;
    if options.signal_index {
        out.push(b'\t');
        push_integer(out, start);
        out.push(b'\t');
        push_integer(out, end);
    }
    if options.samples {
        out.push(b'\t');
        let samples = table.samples_pa.get(start as usize..end as usize).unwrap_or_default();
        let scaling = &table.events.scaling;
        for (at, sample) in samples.iter().enumerate() {
            if at > 0 {
                out.push(b',');
            }
            push_general(out, ((f64::from(*sample) - scaling.shift_pa) / scaling.scale) as f32);
        }
    }
}

/// Appends the summary's first line.
pub fn push_summary_header(out: &mut Vec<u8>) {
    out.extend_from_slice(b"read_index\tread_name\tfast5_path\tmodel_name\tstrand\tnum_events");
    out.extend_from_slice(b"\tnum_steps\tnum_skips\tnum_stays\ttotal_duration");
    out.extend_from_slice(b"\tshift\tscale\tdrift\tvar\n");
}

/// Appends a read's line of the summary: how its events move along the reference. `path` is that of
/// the file which holds its signal, `model_name` what the column says (nanopolish leaves it empty
/// for its own models).
pub(crate) fn push_summary(
    table: &TableRead<'_>,
    rows: &[EventRow],
    path: &[u8],
    model_name: &[u8],
    out: &mut Vec<u8>,
) {
    push_integer(out, table.index);
    for text in [table.read.name, path, model_name, b"template"] {
        out.push(b'\t');
        out.extend_from_slice(text);
    }
    let moves = || rows.windows(2).map(|pair| pair[1].offset.wrapping_sub(pair[0].offset));
    let stays = moves().filter(|step| *step == 0).count();
    let steps = moves().filter(|step| *step == 1).count();
    let skips = rows.len().saturating_sub(1) - stays - steps;
    for count in [rows.len(), steps, skips, stays] {
        out.push(b'\t');
        push_integer(out, count as u64);
    }
    let durations = rows.iter().map(|row| f64::from(duration_s(table, row.event as usize)));
    out.push(b'\t');
    push_fixed_double(out, durations.sum(), 2);
    let scaling = &table.events.scaling;
    // Drift is always 0: nanopolish no longer estimates it.
    for number in [scaling.shift_pa, scaling.scale, 0.0, scaling.var] {
        out.push(b'\t');
        push_fixed_double(out, number, 3);
    }
    out.push(b'\n');
}

#[cfg(test)]
#[path = "table_tests.rs"]
mod tests;

//! What `calling` is for: methylation calls, and event tables.

use std::ops::RangeInclusive;
use std::os::unix::ffi::OsStrExt;

use super::{CallTimes, KernelSkip, ReadInput, ReadKernel};
use crate::aligned_read::AlignedSignal;
use crate::eventalign::sam::{MAX_NAME_BYTES, push_sam};
use crate::eventalign::table::{self, TableOptions, TableRead};
use crate::eventalign::{self, EventRow, Expected, WalkScratch};
use crate::events::ReadEvents;
use crate::events::detect::samples_to_pa;
use crate::events::read::{self, BasecalledRead, ReadOptions, SkipReason, align_read};
use crate::methylation::GroupCall;
use crate::methylation::bedmethyl::{SiteOutcome, push_outcomes};
use crate::methylation::call::{CallOptions, CallScratch, call_read};
use crate::methylation::frequency::Cutoff;
use crate::methylation::modbam::{ModbamError, ModbamScratch, Tagging, tag_record};
use crate::methylation::sites::{CalledSite, push_sites};
use crate::methylation::table::{TableFormat, append_calls};
use crate::pore_model::PoreModel;

/// Bytes per sample of finding events: the current (4), sums and sums of squares (16), two
/// statistics (8), boundaries; and the events of one in five samples (24 each).
const EVENT_BYTES_PER_SAMPLE: u64 = 36;

/// Events per base of an ordinary read: as many bands has the alignment, and one more per base.
pub(super) const EVENTS_PER_BASE: u64 = 3;

/// Bytes per band of 100 cells: a byte of trace for each, and where it is.
const BYTES_PER_BAND: u64 = 112;

/// Bytes that aligning events to a read takes, about.
pub(super) fn alignment_bytes(bases: u64, samples: u64) -> u64 {
    let bands = bases * (EVENTS_PER_BASE + 1);
    samples * EVENT_BYTES_PER_SAMPLE + bands * BYTES_PER_BAND + bases * 64
}

impl From<SkipReason> for KernelSkip {
    fn from(reason: SkipReason) -> Self {
        Self { key: reason.name(), text: reason.to_string() }
    }
}

/// A read's events, and what finding them needs.
#[derive(Default)]
pub(super) struct EventScratch {
    read: read::ReadScratch,
    pub(super) events: ReadEvents,
}

impl EventScratch {
    /// Finds and aligns the events of a read.
    pub(super) fn align(
        &mut self,
        input: &ReadInput<'_>,
        model: &PoreModel,
        options: &ReadOptions,
        times: &CallTimes,
    ) -> Result<(), SkipReason> {
        let read = BasecalledRead { signal: input.signal, sequence: input.aligned.sequence };
        self.read.times = read::StepTimes::default();
        let aligned = align_read(&mut self.read, read, model, options, &mut self.events);
        let spent = &self.read.times;
        let duration = std::time::Duration::from_nanos;
        times.events.add(duration(spent.events_ns));
        times.align.add(duration(spent.align_ns));
        times.scaling.add(duration(spent.scaling_ns));
        aligned
    }
}

/// Calls of methylation, as lines of a table.
pub struct MethylationKernel {
    /// Model that reads are aligned with.
    pub nucleotides: PoreModel,
    /// Model that sites are scored with.
    pub methylated: PoreModel,
    /// How reads are aligned.
    pub read: ReadOptions,
    /// Which groups are called.
    pub call: CallOptions,
    /// Columns of the table.
    pub format: TableFormat,
    /// Region of groups, first and last site.
    pub region: Option<RangeInclusive<u64>>,
    /// Records get tags.
    pub has_record: bool,
    /// Cut-off of the outcomes at single sites, where these are requested.
    pub outcomes: Option<Cutoff>,
}

/// Scratch of a worker.
#[derive(Default)]
pub struct MethylationScratch {
    events: EventScratch,
    call: CallScratch,
    sites: Vec<CalledSite>,
    modbam: ModbamScratch,
}

/// Calls of one read.
#[derive(Debug, Default)]
pub struct MethylationOutput {
    /// The calls.
    pub(crate) calls: Vec<GroupCall>,
    /// The calls as lines.
    pub text: Vec<u8>,
    /// The record with its tags.
    pub record: Vec<u8>,
    /// Outcome of tagging the record.
    pub(crate) tagging: Option<Tagging>,
    /// Outcomes at single sites.
    pub outcomes: Vec<(u64, SiteOutcome)>,
}

impl MethylationKernel {
    /// Tags and single sites, from the calls.
    fn add_sites(
        &self,
        scratch: &mut MethylationScratch,
        input: &ReadInput<'_>,
        output: &mut MethylationOutput,
    ) -> Result<(), KernelSkip> {
        let MethylationScratch { sites, modbam, .. } = scratch;
        sites.clear();
        push_sites(self.call.motif, &input.aligned, &output.calls, sites);
        if let Some(cutoff) = &self.outcomes {
            push_outcomes(self.call.motif, &input.aligned, sites, cutoff, &mut output.outcomes);
        }
        if self.has_record {
            output.record.extend_from_slice(input.record.body());
            let tagging = tag_record(self.call.motif, &mut output.record, sites, modbam);
            let failed =
                |error: ModbamError| KernelSkip { key: "bad_tags", text: error.to_string() };
            output.tagging = Some(tagging.map_err(failed)?);
        }
        Ok(())
    }
}

impl ReadKernel for MethylationKernel {
    type Scratch = MethylationScratch;
    type Output = MethylationOutput;

    fn working_bytes(&self, bases: u64, samples: u64) -> u64 {
        alignment_bytes(bases, samples)
    }

    fn result_bytes(&self, bases: u64) -> u64 {
        // A site in 16 bases of random sequence, most in groups of their own: 48 bytes, and a line
        // of about 130. A record has a byte of quality and half a one of base, and tags.
        let record = if self.has_record { 2 } else { 0 };
        let outcomes = if self.outcomes.is_some() { 1 } else { 0 };
        bases * (12 + record + outcomes)
    }

    fn held_bytes(&self, output: &MethylationOutput) -> u64 {
        let calls = output.calls.capacity() * size_of::<GroupCall>();
        let outcomes = output.outcomes.capacity() * size_of::<(u64, SiteOutcome)>();
        (calls + outcomes + output.text.capacity() + output.record.capacity()) as u64
    }

    fn call(
        &self,
        scratch: &mut MethylationScratch,
        input: &ReadInput<'_>,
        times: &CallTimes,
        output: &mut MethylationOutput,
    ) -> Result<(), KernelSkip> {
        output.calls.clear();
        output.text.clear();
        output.record.clear();
        output.outcomes.clear();
        output.tagging = None;
        scratch.events.align(input, &self.nucleotides, &self.read, times)?;
        let calls = &mut output.calls;
        let signal = AlignedSignal { read: &input.aligned, events: &scratch.events.events };
        times.hmm.time(|| {
            call_read(&mut scratch.call, signal, &self.methylated, &self.call, calls);
        });
        if let Some(region) = &self.region {
            calls.retain(|call| region.contains(&call.first) && region.contains(&call.last));
        }
        times.format.time(|| {
            append_calls(self.format, &input.aligned, &output.calls, &mut output.text);
            self.add_sites(scratch, input, output)
        })
    }
}

/// Events along the reference, as lines of a table, or of SAM.
pub struct EventalignKernel {
    /// Model that reads are aligned with.
    pub nucleotides: PoreModel,
    /// How reads are aligned.
    pub read: ReadOptions,
    /// Columns of the table.
    pub table: TableOptions,
    /// Lines are SAM in place of a table.
    pub is_sam: bool,
    /// Lines of the summary are made, too, with this name of the model (nanopolish leaves it empty
    /// for its own models).
    pub summary_model: Option<Vec<u8>>,
    /// Which bases of the reference are followed.
    pub region: Option<RangeInclusive<u64>>,
}

/// Scratch of a worker.
#[derive(Default)]
pub struct EventalignScratch {
    events: EventScratch,
    walk: WalkScratch,
    rows: Vec<EventRow>,
    samples_pa: Vec<f32>,
}

/// Lines of one read.
#[derive(Debug, Default)]
pub struct EventalignOutput {
    /// Of the table, or of SAM.
    pub text: Vec<u8>,
    /// Of the summary.
    pub summary: Vec<u8>,
}

impl ReadKernel for EventalignKernel {
    type Scratch = EventalignScratch;
    type Output = EventalignOutput;

    fn working_bytes(&self, bases: u64, samples: u64) -> u64 {
        let samples_pa = if self.table.samples { samples * 4 } else { 0 };
        let rows = bases * EVENTS_PER_BASE * size_of::<EventRow>() as u64;
        alignment_bytes(bases, samples) + samples_pa + rows
    }

    fn result_bytes(&self, bases: u64) -> u64 {
        // A line of about 110 bytes per event, and of 8 more per sample.
        let samples = if self.table.samples { 10 * 8 } else { 0 };
        bases * (EVENTS_PER_BASE * 110 + samples)
    }

    fn held_bytes(&self, output: &EventalignOutput) -> u64 {
        (output.text.capacity() + output.summary.capacity()) as u64
    }

    fn call(
        &self,
        scratch: &mut EventalignScratch,
        input: &ReadInput<'_>,
        times: &CallTimes,
        output: &mut EventalignOutput,
    ) -> Result<(), KernelSkip> {
        output.text.clear();
        output.summary.clear();
        if self.is_sam && input.aligned.name.len() > MAX_NAME_BYTES {
            let text = format!("the read's name has more than {MAX_NAME_BYTES} letters");
            return Err(KernelSkip { key: "long_name", text });
        }
        let EventalignScratch { events: scratch, walk, rows, samples_pa } = scratch;
        scratch.align(input, &self.nucleotides, &self.read, times)?;
        rows.clear();
        let signal = AlignedSignal { read: &input.aligned, events: &scratch.events };
        let region = self.region.clone();
        let expected = Expected { model: &self.nucleotides, methylated: None };
        times.hmm.time(|| eventalign::align(walk, signal, expected, region, rows));
        let start = std::time::Instant::now();
        if self.table.samples {
            samples_to_pa(input.signal, samples_pa);
        }
        let read = TableRead {
            read: &input.aligned,
            index: input.ordinal,
            events: signal.events,
            model: &self.nucleotides,
            sample_rate_hz: input.signal.sampling_rate,
            samples_pa,
        };
        if self.is_sam {
            let quality = input.record.mapping_quality();
            push_sam(&input.aligned, quality, rows, &mut output.text);
        } else {
            table::push_rows(&read, rows, &self.table, &mut output.text);
        }
        if let Some(name) = &self.summary_model {
            let path = input.signal_path.as_os_str().as_bytes();
            table::push_summary(&read, rows, path, name, &mut output.summary);
        }
        times.format.book(start);
        Ok(())
    }
}

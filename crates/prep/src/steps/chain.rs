//! Steps in the order of their stages, applied to records and templates.

use seqloom_format::bam::{Header, RecordRef, framed_records};

use super::{
    RecordStep, StepCounts, StepError, StepScratch, StepStage, TemplateRecords, TemplateStep,
    Verdict,
};

/// One step of either kind.
enum Step {
    Record(Box<dyn RecordStep>),
    Template(Box<dyn TemplateStep>),
}

impl Step {
    fn name(&self) -> &'static str {
        match self {
            Self::Record(step) => step.name(),
            Self::Template(step) => step.name(),
        }
    }

    fn stage(&self) -> StepStage {
        match self {
            Self::Record(step) => step.stage(),
            Self::Template(step) => step.stage(),
        }
    }
}

/// A chain, cut in two.
#[derive(Debug)]
pub struct SplitSteps {
    /// For records as they arrive.
    pub early: Steps,
    /// For records as they are written ([`StepStage::is_late`]).
    pub late: Steps,
}

/// A chain of steps in the order of their stages, whatever order they were added in.
#[derive(Default)]
pub struct Steps {
    steps: Vec<Step>,
}

impl std::fmt::Debug for Steps {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_list().entries(self.names()).finish()
    }
}

impl Steps {
    /// A chain without steps, which keeps every record as it is.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds a step after those of its stage.
    pub fn add_record_step(&mut self, step: impl RecordStep + 'static) {
        self.add(Step::Record(Box::new(step)));
    }

    /// Adds a step after those of its stage.
    pub(crate) fn add_template_step(&mut self, step: impl TemplateStep + 'static) {
        self.add(Step::Template(Box::new(step)));
    }

    fn add(&mut self, step: Step) {
        let at = self.steps.partition_point(|it| it.stage() <= step.stage());
        self.steps.insert(at, step);
    }

    /// Whether there is no step.
    #[must_use]
    pub(crate) fn is_empty(&self) -> bool {
        self.steps.is_empty()
    }

    /// Whether [`Steps::apply`] must be given whole templates.
    #[must_use]
    pub fn needs_templates(&self) -> bool {
        self.steps.iter().any(|step| matches!(step, Step::Template(_)))
    }

    /// Names in the order of application.
    pub fn names(&self) -> impl Iterator<Item = &'static str> {
        self.steps.iter().map(Step::name)
    }

    /// The early and the late steps.
    #[must_use]
    pub fn split_late(mut self) -> SplitSteps {
        let at = self.steps.partition_point(|step| !step.stage().is_late());
        let late = Self { steps: self.steps.split_off(at) };
        SplitSteps { early: self, late }
    }

    /// Changes the header as all steps need it; called once.
    ///
    /// # Errors
    /// A step cannot change the header so.
    pub fn prepare_header(&self, header: &mut Header) -> Result<(), StepError> {
        self.steps.iter().try_for_each(|step| match step {
            Step::Record(step) => step.prepare_header(header),
            Step::Template(step) => step.prepare_header(header),
        })
    }

    /// Applies the steps to the records in `framed` (bodies preceded by their `block_size`) and
    /// appends those that are kept to `out` in the same order and form; returns their number.
    ///
    /// Where [`Steps::needs_templates`], `framed` are the records of one template; else any run
    /// of records. On an error `out` is as it was.
    ///
    /// # Errors
    /// The first error of a step, with the names of step and read.
    pub fn apply(
        &self,
        framed: &[u8],
        out: &mut Vec<u8>,
        scratch: &mut StepScratch,
        counts: &mut StepCounts,
    ) -> Result<u64, StepError> {
        counts.dropped.resize(self.steps.len(), 0);
        let before = out.len();
        let result = if self.needs_templates() {
            self.apply_to_template(framed, out, scratch, counts)
        } else {
            self.apply_to_records(framed, out, scratch, counts)
        };
        match &result {
            Ok(kept) => counts.kept += kept,
            Err(_) => out.truncate(before),
        }
        result
    }

    fn apply_to_records(
        &self,
        framed: &[u8],
        out: &mut Vec<u8>,
        scratch: &mut StepScratch,
        counts: &mut StepCounts,
    ) -> Result<u64, StepError> {
        let mut kept = 0;
        for source in framed_records(framed) {
            counts.examined += 1;
            let mut body = std::mem::take(&mut scratch.body);
            body.clear();
            body.extend_from_slice(source?);
            let result = self.apply_to_record(&mut body, scratch, counts);
            if matches!(result, Ok(Verdict::Keep)) {
                push_framed(&body, out);
                kept += 1;
            }
            scratch.body = body;
            result?;
        }
        Ok(kept)
    }

    /// All steps on one record; none of them needs the template.
    fn apply_to_record(
        &self,
        body: &mut Vec<u8>,
        scratch: &mut StepScratch,
        counts: &mut StepCounts,
    ) -> Result<Verdict, StepError> {
        for (step, dropped) in self.steps.iter().zip(&mut counts.dropped) {
            let Step::Record(step) = step else { continue };
            match step.apply(body, scratch) {
                Ok(Verdict::Keep) => {}
                Ok(Verdict::Drop) => {
                    *dropped += 1;
                    return Ok(Verdict::Drop);
                }
                Err(error) => return Err(at(step.name(), body, error)),
            }
        }
        Ok(Verdict::Keep)
    }

    fn apply_to_template(
        &self,
        framed: &[u8],
        out: &mut Vec<u8>,
        scratch: &mut StepScratch,
        counts: &mut StepCounts,
    ) -> Result<u64, StepError> {
        let mut template = std::mem::take(&mut scratch.template);
        let result = self.fill_and_apply(framed, &mut template, scratch, counts);
        let mut kept = 0;
        if result.is_ok() {
            for body in template.kept() {
                push_framed(body, out);
                kept += 1;
            }
        }
        scratch.template = template;
        result.map(|()| kept)
    }

    /// All steps on all records of a template.
    fn fill_and_apply(
        &self,
        framed: &[u8],
        template: &mut TemplateRecords,
        scratch: &mut StepScratch,
        counts: &mut StepCounts,
    ) -> Result<(), StepError> {
        template.clear();
        for body in framed_records(framed) {
            template.push(body?);
            counts.examined += 1;
        }
        for (step, dropped) in self.steps.iter().zip(&mut counts.dropped) {
            let before = template.kept().count();
            match step {
                Step::Record(step) => apply_to_each(step.as_ref(), template, scratch)?,
                Step::Template(step) => step.apply(template, scratch).map_err(|error| {
                    at(step.name(), template.kept().next().unwrap_or_default(), error)
                })?,
            }
            *dropped += before.saturating_sub(template.kept().count()) as u64;
        }
        Ok(())
    }
}

fn apply_to_each(
    step: &dyn RecordStep,
    template: &mut TemplateRecords,
    scratch: &mut StepScratch,
) -> Result<(), StepError> {
    for index in 0..template.len() {
        let Some(body) = template.body_mut(index) else { continue };
        match step.apply(body, scratch) {
            Ok(Verdict::Keep) => {}
            Ok(Verdict::Drop) => template.remove(index),
            Err(error) => return Err(at(step.name(), body, error)),
        }
    }
    Ok(())
}

/// The error with the names of step and read.
fn at(step: &'static str, body: &[u8], error: StepError) -> StepError {
    if matches!(error, StepError::At { .. }) {
        return error;
    }
    let name = RecordRef::new(body).map_or(&b"?"[..], |record| record.name());
    let read = String::from_utf8_lossy(name).into_owned();
    StepError::At { step, read, source: Box::new(error) }
}

/// Appends a body preceded by its length. A body is at most 2^31 - 1 bytes: `edit` holds it.
fn push_framed(body: &[u8], out: &mut Vec<u8>) {
    out.extend_from_slice(&(body.len() as u32).to_le_bytes());
    out.extend_from_slice(body);
}

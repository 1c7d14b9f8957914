//! Tests of the chain.

use super::test_bodies::{apply, body, framed, header, lines};
use super::*;

struct Named(&'static str, StepStage, Verdict);

impl RecordStep for Named {
    fn name(&self) -> &'static str {
        self.0
    }

    fn stage(&self) -> StepStage {
        self.1
    }

    fn apply(&self, body: &mut Vec<u8>, _: &mut StepScratch) -> Result<Verdict, StepError> {
        if self.0 == "fails" {
            return Err(StepError::Custom { class: Class::System, problem: "no".to_owned() });
        }
        body.extend_from_slice(&[self.0.as_bytes()[0], b'0', b'C', 1]);
        Ok(self.2)
    }
}

struct Templates(StepStage);

impl TemplateStep for Templates {
    fn name(&self) -> &'static str {
        "templates"
    }

    fn stage(&self) -> StepStage {
        self.0
    }

    fn apply(&self, template: &mut TemplateRecords, _: &mut StepScratch) -> Result<(), StepError> {
        template.remove(0);
        Ok(())
    }
}

const READ: &str = "r 4 * 0 0 * * 0 0 ACGT IIII";

#[test]
fn steps_are_applied_in_the_order_of_their_stages() {
    let mut steps = Steps::new();
    assert!(steps.is_empty() && !steps.needs_templates());
    for (name, stage) in [
        ("keep", StepStage::KeepTags),
        ("custom1", StepStage::Custom),
        ("unmapped", StepStage::FilterUnmapped),
        ("custom2", StepStage::Custom),
        ("clean", StepStage::CleanSam),
    ] {
        steps.add_record_step(Named(name, stage, Verdict::Keep));
    }
    assert_eq!(format!("{steps:?}"), r#"["unmapped", "clean", "custom1", "custom2", "keep"]"#);
    let (out, counts) = apply(&steps, &[READ]);
    assert!(out[0].ends_with(" u0:i:1 c0:i:1 c0:i:1 c0:i:1 k0:i:1"), "{}", out[0]);
    assert_eq!(counts, StepCounts { examined: 1, kept: 1, dropped: vec![0; 5] });
    let SplitSteps { early, late } = steps.split_late();
    assert_eq!(early.names().count(), 4);
    assert_eq!(late.names().collect::<Vec<_>>(), ["keep"]);
}

#[test]
fn a_chain_with_template_steps_gives_what_record_steps_alone_give() {
    let chain = || {
        let mut steps = Steps::new();
        steps.add_record_step(Named("a", StepStage::FilterFlags, Verdict::Keep));
        steps.add_record_step(Named("b", StepStage::Mismatches, Verdict::Keep));
        steps
    };
    let second = READ.replace("r 4", "s 77");
    let (expected, _) = apply(&chain(), &[READ, &second]);
    let mut steps = chain();
    steps.add_template_step(Templates(StepStage::FixMates));
    assert!(steps.needs_templates());
    let (out, counts) = apply(&steps, &[READ, &second]);
    assert_eq!(out, expected[1..]);
    assert_eq!(counts, StepCounts { examined: 2, kept: 1, dropped: vec![0, 1, 0] });
}

#[test]
fn dropped_records_are_counted_and_not_seen_again() {
    let mut steps = Steps::new();
    steps.add_record_step(Named("drop", StepStage::FilterFlags, Verdict::Drop));
    steps.add_record_step(Named("fails", StepStage::Custom, Verdict::Keep));
    let (out, mut counts) = apply(&steps, &[READ, READ]);
    assert_eq!(out, [""; 0]);
    counts.merge(&counts.clone());
    assert_eq!(counts, StepCounts { examined: 4, kept: 0, dropped: vec![4, 0] });
    steps.add_template_step(Templates(StepStage::FilterUnmapped));
    let (out, counts) = apply(&steps, &[READ, READ]);
    assert_eq!(out, [""; 0]);
    assert_eq!(counts.dropped, [1, 1, 0]);
}

#[test]
fn errors_name_step_and_read_and_leave_the_output_alone() {
    let mut steps = Steps::new();
    steps.add_record_step(Named("fails", StepStage::Custom, Verdict::Keep));
    let (mut scratch, mut counts) = (StepScratch::default(), StepCounts::default());
    let mut out = b"before".to_vec();
    for _ in 0..2 {
        let error = steps.apply(&framed(&[READ]), &mut out, &mut scratch, &mut counts);
        let error = error.unwrap_err();
        assert_eq!(error.to_string(), "read r: step fails: no");
        assert_eq!(error.class(), Class::System);
        assert_eq!(out, b"before");
        steps.add_template_step(Templates(StepStage::KeepTags));
    }
    let cut = &framed(&[READ])[..20];
    let error = steps.apply(cut, &mut out, &mut scratch, &mut counts).unwrap_err();
    assert!(error.to_string().contains("truncated"), "{error}");
    assert_eq!(out, b"before");
}

#[test]
fn no_step_changes_nothing() {
    let steps = StepOptions::default().build(&header()).unwrap();
    assert!(steps.is_empty());
    let (input, mut out) = (framed(&[READ, READ]), Vec::new());
    let (mut scratch, mut counts) = (StepScratch::default(), StepCounts::default());
    assert_eq!(steps.apply(&input, &mut out, &mut scratch, &mut counts).unwrap(), 2);
    assert_eq!(out, input);
    assert_eq!(lines(&out, &header()).len(), 2);
    assert_eq!(body(READ).len() + 4, input.len() / 2);
}

//! Two regions of a read that are one with a gap between them (`mem_patch_reg`).

use super::super::cigar::Tracer;
use super::super::context::Context;
use super::super::float::rounded;
use super::Region;

/// A region in place of two: its score, and the band that it was found in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in super::super) struct Merged {
    pub(in super::super) score: i32,
    pub(in super::super) band: i32,
}

/// The greatest difference of the overlaps' shares in the read and in the reference.
const MOST_SKEWED: f32 = 0.05;
/// The share of the score that both parts would have together.
const LEAST_SHARE: f32 = 0.9;

/// Two regions of one sequence aligned as one, if that is worth it. The
/// first begins first.
pub(in super::super) fn merged(
    [first, second]: [&Region; 2],
    codes: &[u8],
    Context { settings, reference }: Context<'_>,
    tracer: &mut Tracer,
) -> Option<Merged> {
    let (one, two) = (first, second);
    let other_strand =
        !reference.is_reverse(one.reference_start) && reference.is_reverse(two.reference_start);
    let in_order = one.read_start < two.read_start
        && one.read_end < two.read_end
        && one.reference_end < two.reference_end;
    if other_strand || !in_order {
        return None;
    }
    let in_reference = one.reference_end - two.reference_start;
    let in_read = one.read_end - two.read_start;
    let band = (in_reference - i64::from(in_read)).abs();
    let all_reference = two.reference_end - one.reference_start;
    let all_read = two.read_end - one.read_start;
    let skewed = (in_reference as f64 / all_reference as f64
        - f64::from(in_read) / f64::from(all_read))
    .abs();
    let apart = in_reference < 0 || in_read < 0;
    let (times, most) = if apart { (1, MOST_SKEWED) } else { (2, MOST_SKEWED * 2.0) };
    if band > i64::from(settings.band << times) || skewed >= f64::from(most) {
        return None;
    }
    let band = (band as i32 + one.band + two.band).min(settings.band << 2);
    let whole = Region { reference_end: two.reference_end, read_end: two.read_end, ..*one };
    let score = tracer.score(codes, &whole, band, reference, settings)?;
    let scores = f64::from(two.score + one.score);
    let expected = |all: f64, parts: f64| rounded(all / parts * scores);
    let by_read = expected(f64::from(all_read), f64::from(two.read_span() + one.read_span()));
    let spans = two.reference_span() + one.reference_span();
    let by_reference = expected(all_reference as f64, spans as f64);
    let share = f64::from(score) / f64::from(by_read.max(by_reference));
    (share >= f64::from(LEAST_SHARE) && score > 0).then_some(Merged { score, band })
}

//! XA: the other places of a read, in the record of the region that they give way to
//! (`mem_gen_alt`).

use super::super::cigar::Tracer;
use super::super::cigar::md::push_number;
use super::super::regions::Region;
use super::super::settings::Settings;
use super::{Alignment, Pool, Recorder, push_cigar_text};

/// Whether a region is an alternative to the `primary`-th, as its score is near enough.
fn is_in_xa(region: &Region, regions: &[Region], primary: usize, settings: &Settings) -> bool {
    let ratio = f64::from(settings.xa_ratio);
    let least = f64::from(regions[primary].score) * ratio;
    region.secondary_of_all == primary as i32 && f64::from(region.score) >= least
}

impl Recorder<'_> {
    /// Puts the text of XA in the pool: the alternatives of the `primary`-th region, if there are
    /// any and not too many.
    ///
    /// # Errors
    /// See [`Recorder::align`].
    pub(in super::super) fn push_xa(
        &self,
        codes: &[u8],
        regions: &[Region],
        primary: usize,
        tracer: &mut Tracer,
        pool: &mut Pool,
    ) -> Result<Option<std::ops::Range<usize>>, String> {
        let settings = self.settings;
        let all = || regions.iter().filter(|it| is_in_xa(it, regions, primary, settings));
        let count = all().count() as i64;
        let [most, most_with_alt] = settings.most_xa_hits.map(i64::from);
        let has_alt = all().any(|it| it.is_alt);
        if count == 0 || count > most_with_alt || (!has_alt && count > most) {
            return Ok(None);
        }
        let mut text = std::mem::take(&mut pool.draft);
        text.clear();
        for region in all() {
            let (operations, letters) = (pool.operations.len(), pool.text.len());
            let alignment = self.align(codes, region, tracer, pool)?;
            self.push_xa_hit(&alignment, pool, &mut text);
            pool.operations.truncate(operations);
            pool.text.truncate(letters);
        }
        let start = pool.text.len();
        pool.text.extend_from_slice(&text);
        pool.draft = text;
        Ok(Some(start..pool.text.len()))
    }

    /// `name,strand and position,CIGAR,edits;`.
    fn push_xa_hit(&self, alignment: &Alignment, pool: &Pool, out: &mut Vec<u8>) {
        out.extend_from_slice(&self.reference.names[alignment.sequence as usize]);
        out.push(b',');
        out.push(if alignment.reverse { b'-' } else { b'+' });
        push_number(out, (alignment.position + 1) as u64);
        out.push(b',');
        push_cigar_text(out, alignment.operations(pool).iter().copied());
        out.push(b',');
        push_number(out, alignment.edits as u64);
        out.push(b';');
    }
}

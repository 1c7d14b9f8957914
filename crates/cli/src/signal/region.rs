//! `--region`: what is meant by it, and where its records begin.

use std::ops::RangeInclusive;

use seqloom_calling::flow::Region;
use seqloom_format::bam::Header;
use seqloom_format::index::IndexedRegion;
use seqloom_io::AlignmentIndex;
use seqloom_io::alignments::AlignmentSource;
use seqloom_terminal::UsageError;
use seqloom_terminal::error::Bug;

use super::pass::Pass;
use crate::region;

/// A region of the reference, as the BAM's header numbers it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct RequestedRegion {
    pub(super) region: Region,
    /// First and last base, 0-based.
    pub(super) bases: RangeInclusive<u64>,
}

/// As [`region::parse`].
pub(super) fn parse(text: &str, header: &Header) -> Result<RequestedRegion, UsageError> {
    let region = region::parse("--region", text, header)?;
    Ok(RequestedRegion { region, bases: region.start..=region.end - 1 })
}

/// Has the file read from where the region's records begin, if it has an index. The reader stops by
/// itself after the region.
pub(super) fn go_to(
    alignments: &mut AlignmentSource,
    requested: &RequestedRegion,
    pass: &Pass<'_>,
) -> seqloom_terminal::Result<()> {
    let bam = alignments.path(0).display().to_string();
    let find = || AlignmentIndex::find(alignments.path(0), alignments.format(0));
    let Some(index) = alignments.can_start_anywhere(0).then(find).flatten() else {
        pass.info(&format!("{bam} has no index: it is read from its start to find the region"));
        return Ok(());
    };
    if index.is_older() {
        let index = index.path().display();
        pass.warn(&format!("{index} is older than {bam}, which is therefore read from its start"));
        return Ok(());
    }
    let start = index.first_start(&IndexedRegion {
        reference_count: alignments.headers()[0].references().len(),
        reference: usize::try_from(requested.region.reference_id).map_err(Bug::new)?,
        bases: requested.region.start..requested.region.end,
    })?;
    Ok(alignments.start_at(0, start)?)
}

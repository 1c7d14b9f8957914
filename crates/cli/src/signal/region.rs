//! `--region`: what is meant by it, and where its records begin.

use std::ops::RangeInclusive;

use seqloom_calling::flow::record::Region;
use seqloom_format::bam::Header;
use seqloom_format::index::IndexedRegion;
use seqloom_io::alignments::AlignmentSource;
use seqloom_io::bam_index::BamIndex;
use seqloom_terminal::UsageError;

use super::pass::Pass;

/// A stretch of the reference, as the BAM's header numbers it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct WantedRegion {
    pub(super) region: Region,
    /// First and last base, 0-based.
    pub(super) bases: RangeInclusive<u64>,
}

/// `NAME`, `NAME:FIRST` or `NAME:FIRST-LAST`; names may have colons.
pub(super) fn parse(text: &str, header: &Header) -> Result<WantedRegion, UsageError> {
    let references = header.references();
    let find = |name: &str| references.iter().position(|it| it.name == name);
    let refuse = |why: &str| UsageError(format!("--region {text}: {why}"));
    let number = |text: &str| {
        let digits = text.replace(',', "");
        digits.parse::<u64>().ok().filter(|&it| it > 0)
    };
    let (name, bases) = match text.rsplit_once(':') {
        _ if find(text).is_some() => (text, None),
        Some((name, bases)) => (name, Some(bases)),
        None => (text, None),
    };
    let index = find(name).ok_or_else(|| refuse("the header of the BAM has no such sequence"))?;
    let length = u64::from(references[index].length);
    let (first, last) = match bases.map(|bases| bases.split_once('-').unwrap_or((bases, ""))) {
        None => (Some(1), Some(length)),
        Some((first, "")) => (number(first), Some(length)),
        Some((first, last)) => (number(first), number(last)),
    };
    let (first, last) =
        first.zip(last).ok_or_else(|| refuse("NAME:FIRST-LAST is expected, from 1 on"))?;
    let last = last.min(length);
    if first > last {
        return Err(refuse(&format!("the sequence has {length} bases; nothing is in the region")));
    }
    let reference_id = i32::try_from(index).unwrap_or(i32::MAX);
    let region = Region { reference_id, start: first - 1, end: last };
    Ok(WantedRegion { region, bases: first - 1..=last - 1 })
}

/// Has the BAM read from where the region's records begin, if it has an index. The reader stops by
/// itself behind the region.
pub(super) fn go_to(
    alignments: &mut AlignmentSource,
    wanted: &WantedRegion,
    pass: &Pass<'_>,
) -> anyhow::Result<()> {
    let bam = alignments.path(0).display().to_string();
    let index = alignments.can_start_anywhere(0).then(|| BamIndex::find(alignments.path(0)));
    let Some(index) = index.flatten() else {
        pass.info(&format!("{bam} has no index: it is read from its start to find the region"));
        return Ok(());
    };
    if index.is_older() {
        let index = index.path().display();
        pass.warn(&format!("{index} is older than {bam}, which is therefore read from its start"));
        return Ok(());
    }
    let offset = index.first_offset(&IndexedRegion {
        reference_count: alignments.headers()[0].references().len(),
        reference: usize::try_from(wanted.region.reference_id)?,
        bases: wanted.region.start..wanted.region.end,
    })?;
    Ok(alignments.start_at(0, offset)?)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn header() -> Header {
        Header::parse(b"@SQ\tSN:c1\tLN:1000\n@SQ\tSN:HLA:1-2\tLN:50\n").unwrap()
    }

    #[test]
    fn regions_are_read_as_samtools_reads_them() {
        fn t(text: &str, reference_id: i32, start: u64, end: u64) {
            let wanted = parse(text, &header()).unwrap();
            assert_eq!(wanted.region, Region { reference_id, start, end }, "{text}");
            assert_eq!(wanted.bases, start..=end - 1);
        }
        t("c1", 0, 0, 1000);
        t("c1:5-7", 0, 4, 7);
        t("c1:5", 0, 4, 1000);
        t("c1:1,00-9999", 0, 99, 1000);
        t("HLA:1-2", 1, 0, 50);
        t("HLA:1-2:3-3", 1, 2, 3);
        for bad in ["c2", "c1:0-5", "c1:7-5", "c1:1001", "c1:x", "c1:-3", "", ":"] {
            assert!(parse(bad, &header()).is_err(), "{bad}");
        }
    }
}

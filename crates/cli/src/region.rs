//! Regions as users write them: `chr20:1-2,000,000`.

use seqloom_calling::flow::Region;
use seqloom_format::bam::Header;
use seqloom_terminal::UsageError;

/// `NAME`, `NAME:FIRST` or `NAME:FIRST-LAST`, as `option` has it; names may have colons.
pub(crate) fn parse(option: &str, text: &str, header: &Header) -> Result<Region, UsageError> {
    let references = header.references();
    let find = |name: &str| references.iter().position(|it| it.name == name);
    let refuse = |why: &str| UsageError(format!("{option} {text}: {why}"));
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
    Ok(Region { reference_id, start: first - 1, end: last })
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
            let requested = parse("--region", text, &header()).unwrap();
            assert_eq!(requested, Region { reference_id, start, end }, "{text}");
        }
        t("c1", 0, 0, 1000);
        t("c1:5-7", 0, 4, 7);
        t("c1:5", 0, 4, 1000);
        t("c1:1,00-9999", 0, 99, 1000);
        t("HLA:1-2", 1, 0, 50);
        t("HLA:1-2:3-3", 1, 2, 3);
        for bad in ["c2", "c1:0-5", "c1:7-5", "c1:1001", "c1:x", "c1:-3", "", ":"] {
            assert!(parse("--region", bad, &header()).is_err(), "{bad}");
        }
    }
}

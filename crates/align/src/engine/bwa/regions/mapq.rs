//! MAPQ of a read by its own regions (`mem_approx_mapq_se`).

use super::super::float::{crowd_penalty, log, rounded};
use super::super::settings::Settings;
use super::Region;

/// The highest MAPQ.
pub(in super::super) const MOST: i32 = 60;

/// MAPQ of a region, from 0 to 60: by how much it is better than the next, how long it is and how
/// much of it matches, how many are nearly as good, and how much of the read is in repeats.
pub(in super::super) fn mapq_se(region: &Region, settings: &Settings) -> i32 {
    let Settings { matching, mismatch, .. } = *settings;
    let sub = if region.sub != 0 { region.sub } else { settings.unseen_score() };
    let sub = sub.max(region.tandem_score);
    if sub >= region.score || region.score == 0 {
        return 0;
    }
    let length = i64::from(region.read_span()).max(region.reference_span()) as i32;
    let lost = f64::from(length.wrapping_mul(matching).wrapping_sub(region.score));
    let identity = 1.0 - lost / f64::from(matching + mismatch) / f64::from(length);
    let of_length = if (length as f32) < settings.quality_length {
        1.0
    } else {
        f64::from(settings.quality_factor) / log(f64::from(length))
    };
    let factor = of_length * (identity * identity);
    let better = f64::from(region.score - sub);
    let mut quality = rounded(6.02 * better / f64::from(matching) * factor * factor);
    if region.sub_count > 0 {
        quality -= crowd_penalty(region.sub_count);
    }
    rounded(f64::from(quality.clamp(0, MOST)) * (1.0 - f64::from(region.repetitive)))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::super::super::oracle::emit;
    use super::super::super::oracle::index::Options;
    use super::*;

    proptest! {
        #[test]
        fn qualities_are_those_of_the_library(
            mut regions in emit::some_regions(3000, 20),
            sub in 0..150_i32,
            count in prop_oneof![Just(0), 0..5_i32, 0..2000_i32],
            repetitive in prop_oneof![Just(0.0), 0.0..1.0_f32],
            longer in prop_oneof![Just(0), 0..300_i32, 0..60_000_i32],
        ) {
            let options = Options::new().unwrap();
            let settings = Settings::of(options.get());
            for region in &mut regions {
                (region.sub, region.sub_count, region.repetitive) = (sub, count, repetitive);
                region.read_end += longer;
                region.reference_end += i64::from(longer);
                region.score += longer;
                let expected = emit::mapq_se(region, &options);
                prop_assert_eq!(mapq_se(region, &settings), expected, "{:?}", region);
            }
        }
    }
}

//! Moments in text, as Python's `str(datetime)` has them and therefore blue-crab's attributes.

use std::io::Write;

/// Appends a moment, `count / per_second` seconds after 1970 began in UTC, in `zone`: `+01:00` and
/// the like are added, other zones are shown in UTC (there is no table of zones here; the moment
/// is the same). Without a zone there is no offset after it.
pub(super) fn append(count: i64, per_second: i64, zone: &[u8], out: &mut Vec<u8>) {
    let per_second = per_second.max(1);
    let (seconds, part) = (count.div_euclid(per_second), count.rem_euclid(per_second));
    let offset_minutes = fixed_offset_minutes(zone).unwrap_or(0);
    let seconds = i128::from(seconds) + i128::from(offset_minutes) * 60;
    let (days, second) = (seconds.div_euclid(86_400), seconds.rem_euclid(86_400));
    let CivilDate { year, month, day } = civil_date(days);
    let (hour, minute, second) = (second / 3600, second / 60 % 60, second % 60);
    // Writing to a vector cannot fail.
    let _ = write!(out, "{year:04}-{month:02}-{day:02} {hour:02}:{minute:02}:{second:02}");
    let micros = i128::from(part) * 1_000_000 / i128::from(per_second);
    if micros != 0 {
        let _ = write!(out, ".{micros:06}");
    }
    if !zone.is_empty() {
        let sign = if offset_minutes < 0 { '-' } else { '+' };
        let minutes = offset_minutes.abs();
        let _ = write!(out, "{sign}{:02}:{:02}", minutes / 60, minutes % 60);
    }
}

/// Minutes of a zone such as `+01:00`.
fn fixed_offset_minutes(zone: &[u8]) -> Option<i32> {
    let [sign @ (b'+' | b'-'), h1, h2, b':', m1, m2] = zone else { return None };
    let digit = |c: &u8| char::from(*c).to_digit(10).map(|digit| digit as i32);
    let minutes = (digit(h1)? * 10 + digit(h2)?) * 60 + digit(m1)? * 10 + digit(m2)?;
    Some(if *sign == b'-' { -minutes } else { minutes })
}

/// A day of the Gregorian calendar.
struct CivilDate {
    year: i128,
    /// From 1.
    month: i128,
    /// From 1.
    day: i128,
}

/// The date of a day counted from 1970-01-01 (H. Hinnant, "chrono-Compatible Low-Level
/// Date Algorithms", `civil_from_days`).
fn civil_date(days: i128) -> CivilDate {
    let days = days + 719_468; // from 0000-03-01
    let (era, day_of_era) = (days.div_euclid(146_097), days.rem_euclid(146_097));
    let year_of_era =
        (day_of_era - day_of_era / 1_460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let month_from_march = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * month_from_march + 2) / 5 + 1;
    let month = if month_from_march < 10 { month_from_march + 3 } else { month_from_march - 9 };
    let year = year_of_era + era * 400 + i128::from(month <= 2);
    CivilDate { year, month, day }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn moments_are_written_as_python_writes_them() {
        fn t(count: i64, per_second: i64, zone: &str, expected: &str) {
            let mut out = Vec::new();
            append(count, per_second, zone.as_bytes(), &mut out);
            assert_eq!(String::from_utf8(out).unwrap(), expected);
        }
        t(0, 1000, "UTC", "1970-01-01 00:00:00+00:00");
        t(1_557_745_903_000, 1000, "UTC", "2019-05-13 11:11:43+00:00");
        t(1_557_745_903_120, 1000, "UTC", "2019-05-13 11:11:43.120000+00:00");
        t(1_582_934_400, 1, "", "2020-02-29 00:00:00");
        t(-1, 1000, "UTC", "1969-12-31 23:59:59.999000+00:00");
        t(0, 1, "+01:30", "1970-01-01 01:30:00+01:30");
        t(0, 1, "-05:00", "1969-12-31 19:00:00-05:00");
        t(0, 1, "Europe/London", "1970-01-01 00:00:00+00:00");
        t(951_782_400_000_001, 1_000_000, "UTC", "2000-02-29 00:00:00.000001+00:00");
        t(4_102_444_800, 1, "UTC", "2100-01-01 00:00:00+00:00");
        t(i64::MAX, 1, "UTC", "292277026596-12-04 15:30:07+00:00");
        t(i64::MIN, 0, "x", "-292277022657-01-27 08:29:52+00:00");
    }
}

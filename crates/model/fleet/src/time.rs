//! Minutes and days, by which rows are shipped and targets chosen.

use core::fmt;
use core::str::FromStr;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use thiserror::Error;

/// Nanoseconds of a minute.
pub const NANOS_PER_MINUTE: i64 = 60_000_000_000;
/// Minutes of a day.
const MINUTES_PER_DAY: i64 = 1_440;

/// A minute of UTC: the number of minutes since 1970-01-01, without leap seconds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(transparent)]
pub struct Minute(pub i64);

/// A day of UTC: the number of days since 1970-01-01.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema,
)]
#[serde(transparent)]
pub struct Day(pub i64);

impl Minute {
    /// The minute in which a time lies; nanoseconds since 1970-01-01 UTC.
    pub const fn of_unix_nanos(nanos: i64) -> Self {
        Self(nanos.div_euclid(NANOS_PER_MINUTE))
    }

    /// Its begin, nanoseconds since 1970-01-01 UTC; a minute after the year 2262 gives the greatest time.
    pub const fn begin_unix_nanos(self) -> i64 {
        self.0.saturating_mul(NANOS_PER_MINUTE)
    }

    /// Its day.
    pub const fn day(self) -> Day {
        Day(self.0.div_euclid(MINUTES_PER_DAY))
    }
}

impl fmt::Display for Minute {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl Day {
    /// The day in which a time lies; nanoseconds since 1970-01-01 UTC.
    pub const fn of_unix_nanos(nanos: i64) -> Self {
        Minute::of_unix_nanos(nanos).day()
    }

    /// Year, month (1 to 12) and day of the month (1 to 31) in the Gregorian calendar.
    ///
    /// Algorithm: H. Hinnant, "chrono-Compatible Low-Level Date Algorithms".
    pub const fn civil(self) -> (i64, i64, i64) {
        let shifted = self.0.saturating_add(719_468);
        let era = shifted.div_euclid(146_097);
        let day_of_era = shifted.rem_euclid(146_097);
        let year_of_era =
            (day_of_era - day_of_era / 1_460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
        let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
        let month_from_march = (5 * day_of_year + 2) / 153;
        let day = day_of_year - (153 * month_from_march + 2) / 5 + 1;
        let month = if month_from_march < 10 { month_from_march + 3 } else { month_from_march - 9 };
        let year = year_of_era + era * 400 + if month <= 2 { 1 } else { 0 };
        (year, month, day)
    }
}

/// A text that is not a date.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("{text:?} is not a date from 1970 to 9999; write it as 2026-11-30")]
pub struct DayError {
    /// The beginning of the text.
    pub text: String,
}

impl FromStr for Day {
    type Err = DayError;
    /// Reads `2026-11-30`. Algorithm: as [`civil`](Self::civil), in the other direction.
    fn from_str(text: &str) -> Result<Self, DayError> {
        let wrong = || DayError { text: romer_units::excerpt(text, 40) };
        let number = |part: Option<&str>| part.and_then(|part| part.parse::<i64>().ok()).ok_or_else(wrong);
        let mut parts = text.splitn(3, '-');
        let [year, month, day] = [(); 3].map(|()| number(parts.next()));
        let (year, month, day) = (year?, month?, day?);
        if !(1970..=9999).contains(&year) || !(1..=12).contains(&month) || !(1..=31).contains(&day) {
            return Err(wrong());
        }
        let year_from_march = if month <= 2 { year - 1 } else { year };
        let month_from_march = (month + 9) % 12;
        let day_of_year = (153 * month_from_march + 2) / 5 + day - 1;
        let (era, year_of_era) = (year_from_march.div_euclid(400), year_from_march.rem_euclid(400));
        let day_of_era = 365 * year_of_era + year_of_era / 4 - year_of_era / 100 + day_of_year;
        let found = Self(era * 146_097 + day_of_era - 719_468);
        // Other forms of the same numbers, and days that a month does not have, are written differently.
        if found.to_string() == text { Ok(found) } else { Err(wrong()) }
    }
}

impl fmt::Display for Day {
    /// As `2026-11-30`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (year, month, day) = self.civil();
        write!(f, "{year:04}-{month:02}-{day:02}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Known dates, before and after the epoch, in leap years and at the ends of months.
    #[test]
    fn days_have_dates() {
        for (day, date) in
            [(0, "1970-01-01"), (-1, "1969-12-31"), (11_016, "2000-02-29"), (20_787, "2026-11-30")]
        {
            assert_eq!(Day(day).to_string(), date);
        }
    }

    /// Every day is read as it is written, and nothing else is a day.
    #[test]
    fn dates_are_read_back() {
        for day in (0..100_000).step_by(7) {
            assert_eq!(Day(day).to_string().parse(), Ok(Day(day)));
        }
        for text in
            ["", "2026", "2026-2-01", "2026-02-30", "2026-13-01", "2025-02-29", "2026-11-30-1", "+2026-01-01"]
        {
            assert!(text.parse::<Day>().is_err(), "{text}");
        }
    }

    /// A minute includes its begin and not its end.
    #[test]
    fn minutes_are_half_open() {
        let begin = Minute(29_000_000).begin_unix_nanos();
        assert_eq!(Minute::of_unix_nanos(begin), Minute(29_000_000));
        assert_eq!(Minute::of_unix_nanos(begin - 1), Minute(28_999_999));
        assert_eq!(Minute::of_unix_nanos(-1), Minute(-1));
        assert_eq!(Minute(1_439).day(), Day(0));
        assert_eq!(Minute(1_440).day(), Day(1));
    }
}

//! When to begin, as `--start` takes it.

use std::time::SystemTime;

use chrono::DateTime;
use romer_units::Duration;

/// When to begin.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Start {
    /// So long from now.
    In(Duration),
    /// At this time.
    At(SystemTime),
}

/// Reads `+10s`, `2026-11-22T09:00:00Z` or `2026-11-22T10:00:00+01:00`.
pub(crate) fn start(text: &str) -> Result<Start, String> {
    if let Some(length) = text.strip_prefix('+') {
        let length: Duration =
            length.parse().map_err(|error: romer_units::QuantityError| error.to_string())?;
        let fits = (Duration::ZERO..=Duration::from_secs(366 * 86_400)).contains(&length);
        return if fits {
            Ok(Start::In(length))
        } else if length < Duration::ZERO {
            Err("the time is in the past; write a delay from now, such as +10s".into())
        } else {
            Err("the time is more than a year ahead; write an earlier one".into())
        };
    }
    DateTime::parse_from_rfc3339(text).map(|time| Start::At(time.into())).map_err(|_| {
        let shown = romer_units::excerpt(text, 60);
        format!(
            "{shown:?} is not a time; write one with its offset, such as 2026-11-22T09:00:00Z, or a delay from now, such as +10s"
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_start_is_a_time_or_a_length_from_now() {
        assert_eq!(start("+10s").unwrap(), Start::In(Duration::from_secs(10)));
        let Start::At(time) = start("2026-11-22T09:00:00Z").unwrap() else { panic!("no time") };
        assert_eq!(humantime::format_rfc3339_seconds(time).to_string(), "2026-11-22T09:00:00Z");
        for same in ["2026-11-22T10:00:00+01:00", "2026-11-22T03:30:00-05:30", "2026-11-22T09:00:00.0-00:00"]
        {
            assert_eq!(start(same).unwrap(), Start::At(time), "{same}");
        }
        for bad in ["+1:00", "+01:60", "+24:00", "+0100", "Z+01:00", "+01:00Z", "+é:00", "--01:00"] {
            assert!(start(&format!("2026-11-22T10:00:00{bad}")).is_err(), "{bad}");
        }
        for text in ["", "10s", "+", "+10", "+9999d", "09:00", "2026-13-01T00:00:00Z", "2026-11-22"] {
            assert!(start(text).is_err(), "{text}");
        }
        assert!(start("+-3s").unwrap_err().contains("in the past"));
    }
}

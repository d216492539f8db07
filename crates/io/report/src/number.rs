//! Numbers as people read them.

use romer_units::Duration;

/// A unit of time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum TimeScale {
    Nanos,
    Micros,
    Millis,
    Seconds,
}

impl TimeScale {
    /// The largest unit in which `nanos` is at least one.
    pub(crate) fn for_nanos(nanos: f64) -> Self {
        match nanos.abs() {
            below if below < 999.5 => Self::Nanos,
            below if below < 999.5e3 => Self::Micros,
            below if below < 999.5e6 => Self::Millis,
            _ => Self::Seconds,
        }
    }
    pub(crate) fn nanos(self) -> f64 {
        match self {
            Self::Nanos => 1.0,
            Self::Micros => 1e3,
            Self::Millis => 1e6,
            Self::Seconds => 1e9,
        }
    }
    pub(crate) fn name(self, unicode: bool) -> &'static str {
        match self {
            Self::Nanos => "ns",
            Self::Micros if unicode => "µs",
            Self::Micros => "us",
            Self::Millis => "ms",
            Self::Seconds => "s",
        }
    }
    /// Digits after the point down to one nanosecond.
    fn finest(self) -> usize {
        match self {
            Self::Nanos => 0,
            Self::Micros => 3,
            Self::Millis => 6,
            Self::Seconds => 9,
        }
    }
    /// Digits after the point with which `nanos` shows about three significant ones.
    pub(crate) fn decimals(self, nanos: f64) -> usize {
        decimals_of_three(nanos / self.nanos()).min(self.finest())
    }
    /// Digits after the point with which a difference of `nanos` shows about three significant ones.
    pub(crate) fn decimals_for(self, nanos: f64) -> usize {
        let value = nanos.abs() / self.nanos();
        if value <= 0.0 {
            return 0;
        }
        let wanted = (0..9).find(|places| value * 10f64.powi(*places) >= 99.5).unwrap_or(9);
        usize::try_from(wanted).unwrap_or(0).min(self.finest())
    }
    /// The number alone, with a true minus sign where that can be shown.
    pub(crate) fn number(self, nanos: f64, decimals: usize) -> String {
        grouped(nanos / self.nanos(), decimals)
    }
}

/// Between a number and its unit, so that no line ends there; a plain space on terminals.
pub(crate) const NO_BREAK: char = '\u{a0}';

/// A time with its own unit and about three significant digits: `21.4 µs`.
pub(crate) fn time(nanos: f64, unicode: bool) -> String {
    let text = Duration::from_nanos_f64(nanos).rounded().replace(' ', NO_BREAK.encode_utf8(&mut [0; 2]));
    if unicode { text } else { text.replace('µ', "u") }
}

/// A time with its own unit and the digits that show differences of `step`: `1.987 ms` for a step of 1 µs. It has at least the
/// digits of [`time`], and no further ones for a step of 0.
pub(crate) fn time_to(nanos: f64, step: f64, unicode: bool) -> String {
    let unit = TimeScale::for_nanos(nanos);
    let decimals = unit.decimals(nanos).max(decimals_of(step / unit.nanos()).min(unit.finest()));
    format!("{}{NO_BREAK}{}", unit.number(nanos, decimals), unit.name(unicode))
}

/// A time with its sign and the digits that show the width of its `interval`, if it has one.
pub fn signed_time(nanos: f64, interval: Option<[f64; 2]>, unicode: bool) -> String {
    with_sign(nanos, time_to(nanos.abs(), interval.map_or(0.0, step_of), unicode))
}

/// `size` with the sign of `value`, unless it reads as zero.
pub(crate) fn with_sign(value: f64, size: String) -> String {
    let shows = size.contains(|c: char| ('1'..='9').contains(&c));
    match value {
        less if less < 0.0 && shows => format!("-{size}"),
        more if more > 0.0 && shows => format!("+{size}"),
        _ => size,
    }
}

/// Digits after the point that show differences of `step`; none for a step of 0.
fn decimals_of(step: f64) -> usize {
    if step > 0.0 { (0..9).take_while(|places| 10f64.powi(-*places) > step).count() } else { 0 }
}

/// A time and its uncertainty in one unit, with the digits that the uncertainty leaves: `121.8 ± 0.7 µs`.
pub(crate) fn time_with_half(nanos: f64, half: f64, unicode: bool) -> String {
    let [value, half, unit] = parts_with_half(nanos, half, unicode);
    let plus_minus = if unicode { "±" } else { "+-" };
    format!("{value}{NO_BREAK}{plus_minus}{NO_BREAK}{half}{NO_BREAK}{unit}")
}

/// The same as number, uncertainty and unit.
pub(crate) fn parts_with_half(nanos: f64, half: f64, unicode: bool) -> [String; 3] {
    let unit = TimeScale::for_nanos(nanos);
    let mut decimals = unit.decimals(nanos);
    let mut step = 10f64.powf(-f64::from(u8::try_from(decimals).unwrap_or(0)));
    // A half of nothing at all (all values alike) asks for no digits.
    while half > 0.0 && half / unit.nanos() < 0.95 * step && decimals < unit.finest() {
        decimals += 1;
        step /= 10.0;
    }
    // What is below the last digit that there is would read as nothing.
    let half = if half > 0.0 { half.max(step * unit.nanos()) } else { half };
    [unit.number(nanos, decimals), unit.number(half, decimals), unit.name(unicode).to_owned()]
}

/// A time that may be absent.
pub fn maybe_time(nanos: Option<f64>, unicode: bool) -> String {
    nanos.map_or_else(|| absent(unicode).to_owned(), |nanos| time(nanos, unicode))
}

/// What stands where there is no number.
pub(crate) fn absent(unicode: bool) -> &'static str {
    if unicode { "–" } else { "-" }
}

/// `1,234.5`: digits in threes from 10,000 on. Zero has no sign.
pub(crate) fn grouped(value: f64, decimals: usize) -> String {
    // Halves are rounded up, as those of times are.
    let plain = match decimals {
        0 => value.abs().round().to_string(),
        decimals => format!("{:.decimals$}", value.abs()),
    };
    let (whole, part) = plain.split_once('.').map_or((plain.as_str(), None), |(w, p)| (w, Some(p)));
    let negative = value < 0.0 && plain.contains(|c: char| c.is_ascii_digit() && c != '0');
    let mut out = String::from(if negative { "-" } else { "" });
    out.push_str(&in_threes(whole));
    if let Some(part) = part {
        out.push('.');
        out.push_str(part);
    }
    out
}

/// A number with three significant digits: `581`, `24.6`, `5.81`.
pub(crate) fn three_digits(value: f64) -> String {
    grouped(value, decimals_of_three(value))
}

/// Digits after the point with which a value of at least 1 shows three significant ones.
fn decimals_of_three(value: f64) -> usize {
    match value.abs() {
        large if large >= 99.95 => 0,
        tens if tens >= 9.995 => 1,
        _ => 2,
    }
}

/// A count with its digits in threes: `12,345`.
pub fn count(value: u64) -> String {
    in_threes(&value.to_string())
}

/// [`grouped`], without zeros at the end of its decimals.
pub(crate) fn grouped_short(value: f64, most_decimals: usize) -> String {
    grouped(value, most_decimals).trim_end_matches('0').trim_end_matches('.').to_owned()
}

/// A number of things that is no whole one, without its fraction.
pub(crate) fn rounded(value: f64) -> String {
    in_threes(&format!("{value:.0}"))
}

fn in_threes(digits: &str) -> String {
    if digits.len() < 5 {
        return digits.to_owned();
    }
    let mut out = String::with_capacity(digits.len() + digits.len() / 3);
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            out.push(',');
        }
        out.push(digit);
    }
    out
}

/// A share as a percentage: `0 %`, `0.20 %`, `12.5 %`; never rounded to nothing or to all. A difference of shares may be
/// negative: `-1.55 %`.
pub fn percent(ratio: f64) -> String {
    if ratio < 0.0 {
        return format!("-{}", percent(-ratio));
    }
    let percent = ratio * 100.0;
    match percent {
        none if none <= 0.0 => format!("0{NO_BREAK}%"),
        little if little < 0.01 => format!("<{NO_BREAK}0.01{NO_BREAK}%"),
        small if small < 9.995 => format!("{small:.2}{NO_BREAK}%"),
        all if all >= 100.0 => format!("100{NO_BREAK}%"),
        most => format!("{:.1}{NO_BREAK}%", most.min(99.9)),
    }
}

/// A share as [`percent`] shows it, with the digits that show differences of `step`, a share as well.
pub(crate) fn percent_to(ratio: f64, step: f64) -> String {
    let decimals = decimals_of(step * 100.0).min(6);
    let least = if ratio.abs() < 0.09995 { 2 } else { 1 };
    // None and all are exact.
    if decimals <= least || ratio.abs() <= 0.0 || ratio.abs() >= 1.0 {
        return percent(ratio);
    }
    format!("{:.decimals$}{NO_BREAK}%", ratio * 100.0)
}

/// The smallest difference that the ends of an interval have to show: a fifth of its width.
pub(crate) fn step_of([low, high]: [f64; 2]) -> f64 {
    (high - low).abs() / 5.0
}

/// `1 probe`, `2 probes`.
pub(crate) fn counted(number: u64, one: &str, many: &str) -> String {
    format!("{} {}", count(number), if number == 1 { one } else { many })
}

/// With a capital first.
pub(crate) fn capital(text: &str) -> String {
    let mut chars = text.chars();
    chars.next().map_or_else(String::new, |first| first.to_uppercase().chain(chars).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_of_things_have_their_digits_in_threes() {
        assert_eq!((count(200_000), count(1_234)), ("200,000".into(), "1234".into()));
        assert_eq!((rounded(12_874.6), rounded(0.4)), ("12,875".into(), "0".into()));
    }

    #[test]
    fn times_have_three_digits_and_the_unit_that_suits() {
        for (nanos, text) in [
            (0.0, "0 ns"),
            (7.0, "7 ns"),
            (999.4, "999 ns"),
            (999.6, "1.00 µs"),
            (21_437.0, "21.4 µs"),
            (130_400.0, "130 µs"),
            (2_500_000.0, "2.50 ms"),
            (-3_200.0, "-3.20 µs"),
            (45.2e9, "45.2 s"),
        ] {
            assert_eq!(time(nanos, true).replace(NO_BREAK, " "), text);
        }
        assert_eq!(time(1_500.0, false), "1.50\u{a0}us");
        for (nanos, half, text) in [
            (121_800.0, 683.0, "121.8 ± 0.7 µs"),
            (34_901_000.0, 68_000.0, "34.90 ± 0.07 ms"),
            (130_000.0, 4_000.0, "130 ± 4 µs"),
            (130_000.0, 0.0, "130 ± 0 µs"),
            (130_000.0, 1.0, "130.000 ± 0.001 µs"),
            (800.0, 3.0, "800 ± 3 ns"),
            (7.875e9, 40_000.0, "7.87500 ± 0.00004 s"),
            (7.875e9, 0.2, "7.875000000 ± 0.000000001 s"),
        ] {
            assert_eq!(time_with_half(nanos, half, true).replace(NO_BREAK, " "), text);
        }
    }

    /// The digits show the step, and never fewer than without one.
    #[test]
    fn digits_show_the_step() {
        for (nanos, step, text) in [
            (1_987_200.0, 1_400.0, "1.987 ms"),
            (1_987_200.0, 0.0, "1.99 ms"),
            (1_987_200.0, 2e6, "1.99 ms"),
            (150.96e6, 1.6e5, "151.0 ms"),
            (7.0, 0.01, "7 ns"),
            (0.0, 1_400.0, "0 ns"),
        ] {
            assert_eq!(time_to(nanos, step, true).replace(NO_BREAK, " "), text);
        }
        for (ratio, step, text) in [
            (0.016_667, 0.000_02, "1.667 %"),
            (0.016_667, 0.01, "1.67 %"),
            (0.000_02, 0.000_01, "0.002 %"),
            (0.0, 0.000_01, "0 %"),
            (1.0, 0.000_01, "100 %"),
        ] {
            assert_eq!(percent_to(ratio, step).replace(NO_BREAK, " "), text);
        }
        assert!((step_of([-1.0, 4.0]) - 1.0).abs() < 1e-12);
    }

    #[test]
    fn numbers_are_grouped_and_zero_has_no_sign() {
        assert_eq!(grouped(-0.004, 2), "0.00");
        assert_eq!(grouped(1234.0, 0), "1234");
        assert_eq!(grouped(-1_234_567.25, 1), "-1,234,567.2");
        assert_eq!(count(1_000_000), "1,000,000");
    }

    #[test]
    fn a_share_is_never_rounded_to_nothing_or_to_all() {
        for (ratio, text) in [
            (0.0, "0 %"),
            (1e-6, "< 0.01 %"),
            (0.002, "0.20 %"),
            (0.5, "50.0 %"),
            (0.99999, "99.9 %"),
            (1.0, "100 %"),
        ] {
            assert_eq!(percent(ratio).replace(NO_BREAK, " "), text);
        }
    }
}

//! How limits on the numbers of documents are written: `NUMBER RELATION BOUND`, the bound with the unit of the number.

use romer_units::Duration;

use crate::metric::{MetricPath, Unit};

/// How a value is compared with its bound.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Relation {
    /// `<`
    Below,
    /// `<=`
    AtMost,
    /// `>`
    Above,
    /// `>=`
    AtLeast,
}

impl Relation {
    /// Longer signs first, so that `<=` is not read as `<`.
    const SIGNS: [(&'static str, Self); 4] =
        [("<=", Self::AtMost), (">=", Self::AtLeast), ("<", Self::Below), (">", Self::Above)];

    /// Whether `value` is on the right side of `bound`.
    pub fn holds(self, value: f64, bound: f64) -> bool {
        match self {
            Self::Below => value < bound,
            Self::AtMost => value <= bound,
            Self::Above => value > bound,
            Self::AtLeast => value >= bound,
        }
    }
}

/// What is compared, how, and with what; `None` where nothing is.
fn split(text: &str) -> Option<(&str, Relation, &str)> {
    let signs = Relation::SIGNS.iter().filter_map(|one| Some((text.find(one.0)?, *one)));
    let (place, (sign, relation)) =
        signs.min_by_key(|(place, (sign, _))| (*place, usize::MAX - sign.len()))?;
    Some((text[..place].trim(), relation, text[place + sign.len()..].trim()))
}

/// The longest text of a limit that is looked at.
const MAX_TEXT_CHARS: usize = 200;

/// A limit as it is written, in its parts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Written<'t> {
    /// What it says, as far as messages show it.
    pub shown: String,
    /// The number that is compared.
    pub path: &'t str,
    /// How it is compared.
    pub relation: Relation,
    /// With what.
    pub bound: &'t str,
}

/// Takes a limit apart. `what` says in words what can be compared, `example` is a limit on it.
///
/// # Errors
/// In words: it is too long, or compares nothing.
pub fn written<'t>(text: &'t str, what: &str, example: &str) -> Result<Written<'t>, String> {
    let shown = romer_units::excerpt(text, 80);
    if text.len() > MAX_TEXT_CHARS {
        return Err(format!("{shown:?}... is too long; write for instance '{example}'"));
    }
    let (path, relation, bound) = split(text).ok_or_else(|| {
        format!("{shown:?} has no comparison; write {what}, <, <=, > or >=, and a value, e.g. '{example}'")
    })?;
    Ok(Written { shown, path, relation, bound })
}

/// The unit of the number of a measurement that a limit is on, as it was written.
pub fn unit(text: &str) -> Option<Unit> {
    Some(split(text)?.0.parse::<MetricPath>().ok()?.unit())
}

fn number(text: &str) -> Option<f64> {
    text.trim().parse::<f64>().ok().filter(|number| number.is_finite())
}

/// A ratio: a percentage, or a fraction below 1. A number from 1 on needs its percent sign: `1` would be everything to some, and
/// one percent to others.
///
/// # Errors
/// In words: it is none, or has no percent sign.
pub fn ratio(text: &str) -> Result<f64, String> {
    if let Some(digits) = text.strip_suffix('%') {
        let percent = number(digits).map(|percent| percent / 100.0);
        return percent.ok_or_else(|| format!("{text:?} is not a ratio; write for instance 1% or 0.01"));
    }
    match number(text) {
        Some(fraction) if fraction.abs() < 1.0 => Ok(fraction),
        Some(one) if one.abs() <= 1.0 => {
            Err(format!("{text:?} has no percent sign; write {text}% or {}%", 100.0 * one))
        }
        Some(percent) => Err(format!("{text:?} has no percent sign; write {text}% or {}", percent / 100.0)),
        None => Err(format!("{text:?} is not a ratio; write for instance 1% or 0.01")),
    }
}

/// The bound in this unit: a time with its own unit, a [ratio], a percentage, or a plain number
/// of anything else.
///
/// # Errors
/// In words: it is none, or in no such unit.
pub fn bound(unit: Unit, text: &str) -> Result<f64, String> {
    let percent = text.strip_suffix('%').and_then(number);
    match unit {
        Unit::Time => {
            let duration = text.parse::<Duration>().map_err(|error| error.to_string())?;
            #[expect(clippy::cast_precision_loss, reason = "a bound, not a clock")]
            Ok(duration.as_nanos() as f64)
        }
        Unit::Ratio => ratio(text),
        Unit::Percent => percent
            .or_else(|| number(text))
            .ok_or_else(|| format!("{text:?} is not a percentage; write for instance 1%")),
        Unit::FrameRate | Unit::Count | Unit::Hops | Unit::Factor | Unit::Score | Unit::RFactor => {
            number(text).ok_or_else(|| format!("{text:?} is not a number; write for instance 5"))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A ratio is bounded by a percentage or by a fraction below 1; a plain number from 1 on is refused with what it may mean.
    #[test]
    fn ratio_takes_percent_or_fraction() {
        let ratio = |text| bound(Unit::Ratio, text);
        assert_eq!((ratio("1%"), ratio("0.01"), ratio("0")), (Ok(0.01), Ok(0.01), Ok(0.0)));
        assert_eq!((ratio("100%"), ratio("0.99"), ratio("-0.5")), (Ok(1.0), Ok(0.99), Ok(-0.5)));
        assert!(ratio("1").unwrap_err().contains("no percent sign; write 1% or 100%"));
        assert!(ratio("-1").unwrap_err().contains("write -1% or -100%"));
        assert!(ratio("5").unwrap_err().contains("no percent sign; write 5% or 0.05"));
        assert!(ratio("1ms").is_err() && ratio("").is_err() && ratio("%").is_err());
        let percent = |text| bound(Unit::Percent, text);
        assert_eq!((percent("90%"), percent("90")), (Ok(90.0), Ok(90.0)));
        assert_eq!(bound(Unit::Time, "30ms"), Ok(3e7));
    }

    /// The unit of a limit is that of its number, also by an alias.
    #[test]
    fn limit_has_unit_of_number() {
        for (text, of) in [
            ("forward.delay_ns.p99 < 30ms", Some(Unit::Time)),
            ("delay_ns.count>=5", Some(Unit::Count)),
            ("loss<=1%", Some(Unit::Ratio)),
            ("reverse.mos>=4", Some(Unit::Score)),
            ("who<=1", None),
        ] {
            assert_eq!(unit(text), of, "{text}");
        }
    }
}

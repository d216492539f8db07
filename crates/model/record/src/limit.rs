//! How limits on the numbers of documents are written: `NUMBER RELATION BOUND`, the bound with the unit of the number.

use romer_units::Duration;

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
const LONGEST: usize = 200;

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
    if text.len() > LONGEST {
        return Err(format!("{shown:?}... is too long; write for instance '{example}'"));
    }
    let (path, relation, bound) = split(text).ok_or_else(|| {
        format!("{shown:?} has no comparison; write {what}, <, <=, > or >=, and a value, e.g. '{example}'")
    })?;
    Ok(Written { shown, path, relation, bound })
}

/// Whether the number at `path` is a score of the E-model, R or MOS.
pub fn is_score(path: &str) -> bool {
    path.starts_with("voice.") && [".r", ".mos"].iter().any(|score| path.trim_end().ends_with(score))
}

/// The bound in the unit of the number at `path`: a time (`_ns`), a ratio as a percentage or a fraction, a percentage, or a
/// plain number of anything else.
///
/// # Errors
/// In words: it is none, or in no such unit.
pub fn bound(path: &[String], text: &str) -> Result<f64, String> {
    let number = |text: &str| text.trim().parse::<f64>().ok().filter(|number| number.is_finite());
    let last = path.last().map_or("", String::as_str);
    if path.iter().any(|name| name.ends_with("_ns")) && last != "count" {
        let duration = text.parse::<Duration>().map_err(|error| error.to_string())?;
        #[expect(clippy::cast_precision_loss, reason = "a bound, not a clock")]
        return Ok(duration.as_nanos() as f64);
    }
    let is_ratio = last == "ratio" || path.iter().any(|name| name.ends_with("_ratio"));
    if is_ratio || path.iter().any(|name| name.ends_with("_percent")) {
        let percent = text.strip_suffix('%').and_then(number);
        // Without a sign, a ratio is a fraction, and a percentage is in percent as its name says.
        return match (percent, number(text)) {
            (Some(percent), _) => Ok(if is_ratio { percent / 100.0 } else { percent }),
            (None, Some(fraction)) if !is_ratio || fraction.abs() <= 1.0 => Ok(fraction),
            _ if is_ratio => Err(format!("{text:?} is not a ratio; write for instance 1% or 0.01")),
            _ => Err(format!("{text:?} is not a percentage; write for instance 1%")),
        };
    }
    number(text).ok_or_else(|| format!("{text:?} is not a number; write for instance 5"))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A ratio is bounded by a percentage or by a fraction; a plain number above 1 is refused.
    #[test]
    fn ratio_takes_percent_or_fraction() {
        let of = |path: &str, text: &str| {
            let path: Vec<String> = path.split('.').map(str::to_owned).collect();
            bound(&path, text)
        };
        for path in ["forward.loss.ratio", "loss_ratio"] {
            assert_eq!((of(path, "1%"), of(path, "0.01"), of(path, "0")), (Ok(0.01), Ok(0.01), Ok(0.0)));
            assert!(of(path, "5").unwrap_err().contains("write for instance 1% or 0.01"));
            assert!(of(path, "1ms").is_err() && of(path, "").is_err() && of(path, "%").is_err());
        }
        assert_eq!((of("throughput_percent", "90%"), of("throughput_percent", "90")), (Ok(90.0), Ok(90.0)));
        assert_eq!(of("forward.delay_ns.p99", "30ms"), Ok(3e7));
    }
}

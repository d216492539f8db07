//! Stated limits (`--limit 'forward.delay_ns.p99<30ms'`) and whether they held.

use std::fmt;
use std::str::FromStr;

use romer_record::document::{self, Direction, Measurement, Summary, Way};
use romer_record::limit::{self, Relation, Written};
use serde_json::Value;

/// The directions of the document.
const DIRECTIONS: [&str; 3] = ["forward", "reverse", "round_trip"];

/// A limit on one number of the measurement document.
#[derive(Clone, Debug, PartialEq)]
pub struct Limit {
    text: String,
    path: Vec<String>,
    relation: Relation,
    bound: f64,
}

impl FromStr for Limit {
    type Err = String;

    /// Reads `PATH RELATION BOUND`: the path of a number in the document (`forward.delay_ns.p99`,
    /// `round_trip.loss.ratio`, `reverse.packets.lost`), one of `<`, `<=`, `>`, `>=`, and a bound with the unit of
    /// that number (`30ms` where the path has `_ns`, `1%` for a ratio, a plain number for a count).
    fn from_str(text: &str) -> Result<Self, String> {
        let Written { shown, path, relation, bound } =
            limit::written(text, "a number of the document", "forward.delay_ns.p99<30ms")?;
        let path: Vec<String> = path.split('.').map(str::to_owned).collect();
        known(&path).map_err(|why| format!("{shown:?}: {why}"))?;
        let bound = limit::bound(&path, bound).map_err(|why| format!("{shown:?}: {why}"))?;
        Ok(Self { text: text.into(), path, relation, bound })
    }
}

impl fmt::Display for Limit {
    /// As it was written.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&self.text)
    }
}

impl Limit {
    /// That a measurement whose packets go `way` can have its number.
    ///
    /// # Errors
    /// In words, where the number is of a direction in which none go.
    pub fn fits(&self, way: Way) -> Result<(), String> {
        let ways: &[&str] = match way {
            Way::RoundTrip => return Ok(()),
            Way::Forward => &["forward"],
            Way::Reverse => &["reverse"],
            Way::Both => &["forward", "reverse"],
        };
        let first = self.path.first().map_or("", String::as_str);
        if ways.contains(&first) {
            return Ok(());
        }
        let ways = ways.join(" or ");
        Err(format!(
            "{:?}: no packets go that way, so that it could never hold; begin with {ways}",
            self.text
        ))
    }

    /// The verdicts of `limits` on `measurement`. A value that is not known does not hold.
    pub fn judge_all(limits: &[Self], measurement: &Measurement) -> Vec<document::Limit> {
        if limits.is_empty() {
            return Vec::new();
        }
        let document = serde_json::to_value(measurement).unwrap_or_default();
        limits.iter().map(|limit| limit.judge(&document)).collect()
    }

    /// The verdicts of `limits` on the differences of the numbers of `b` from those of `a`. A difference that is not
    /// known does not hold; so it is with delays of which one is whole and the other above its least value.
    pub fn judge_differences(limits: &[Self], a: &Measurement, b: &Measurement) -> Vec<document::Limit> {
        let [a, b] = [a, b].map(|one| serde_json::to_value(one).unwrap_or_default());
        let mut differences = difference(&a, &b);
        for way in DIRECTIONS {
            let kind = |document: &Value| document.pointer(&format!("/{way}/delay_kind")).cloned();
            if kind(&a) != kind(&b)
                && let Some(delay) = differences.pointer_mut(&format!("/{way}/delay_ns"))
            {
                *delay = Value::Null;
            }
        }
        limits.iter().map(|limit| limit.judge(&differences)).collect()
    }

    fn judge(&self, document: &Value) -> document::Limit {
        let value =
            self.path.iter().try_fold(document, |value, name| value.get(name)).and_then(Value::as_f64);
        let held = value.is_some_and(|value| self.relation.holds(value, self.bound));
        document::Limit { limit: self.text.clone(), value, held }
    }
}

/// Number by number, what `b` has more than `a`; nothing where either has none.
fn difference(a: &Value, b: &Value) -> Value {
    match (a, b) {
        (Value::Object(a), Value::Object(b)) => {
            let both = a.iter().filter_map(|(name, a)| Some((name.clone(), difference(a, b.get(name)?))));
            Value::Object(both.collect())
        }
        (Value::Number(a), Value::Number(b)) => {
            a.as_f64().zip(b.as_f64()).map_or(Value::Null, |(a, b)| Value::from(b - a))
        }
        _ => Value::Null,
    }
}

/// A document's direction with everything that can be in one.
fn template() -> Value {
    let direction = Direction { departure_error_ns: Some(Summary::default()), ..Direction::default() };
    serde_json::to_value(direction).unwrap_or_default()
}

/// The names of an object's fields that are numbers or lead to some; empty for anything else.
fn names(value: &Value) -> String {
    let fields =
        value.as_object().into_iter().flatten().filter(|(name, field)| leads_to_numbers(name, field));
    fields.map(|(name, _)| name.as_str()).collect::<Vec<_>>().join(", ")
}

/// Whether a limit can go on from the field of that name. What is not known yet (`null`) is a number, unless it is an interval,
/// which has two.
fn leads_to_numbers(name: &str, field: &Value) -> bool {
    match field {
        Value::Object(fields) => fields.iter().any(|(name, field)| leads_to_numbers(name, field)),
        Value::Number(_) => true,
        Value::Null => name != "delay_kind" && !name.ends_with("_interval"),
        Value::Array(_) | Value::String(_) | Value::Bool(_) => false,
    }
}

/// Whether the document has a number at `path`.
fn known(path: &[String]) -> Result<(), String> {
    let (first, rest) = path.split_first().ok_or("the path is empty")?;
    if !DIRECTIONS.contains(&first.as_str()) {
        return Err(format!(
            "{first:?} is no direction of the document; begin with forward, reverse or round_trip"
        ));
    }
    let template = template();
    let mut value = &template;
    for name in rest {
        value = value.get(name).ok_or_else(|| {
            let names = names(value);
            if names.is_empty() {
                format!("{name:?} is not in the document; the path goes too deep")
            } else {
                format!("{name:?} is not in the document there; choose one of {names}")
            }
        })?;
    }
    let last = rest.last().map_or("", String::as_str);
    if !leads_to_numbers(last, value) {
        let what =
            if last.ends_with("_interval") { "an interval, which has two ends" } else { "not one number" };
        let before = rest[..rest.len() - 1].iter().try_fold(&template, |value, name| value.get(name));
        let others = before.map(names).filter(|names| !names.is_empty());
        let instead = others.map_or(String::new(), |names| format!("; choose one of {names} instead"));
        return Err(format!("{} is {what}{instead}", path.join(".")));
    }
    if value.is_object() {
        return Err(format!("{} is not one number; go on to one of {}", path.join("."), names(value)));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn limits_are_read_with_the_unit_of_their_number() {
        for (text, bound) in [
            ("forward.delay_ns.p99<30ms", 30e6),
            ("round_trip.loss.ratio<=1%", 0.01),
            ("reverse.packets.lost < 5", 5.0),
            ("forward.delay_ns.count>=100", 100.0),
            ("forward.departure_error_ns.p99<5us", 5e3),
            ("forward.jitter_ns.rfc3550<1ms", 1e6),
        ] {
            let limit: Limit = text.parse().unwrap_or_else(|why| panic!("{text}: {why}"));
            assert!((limit.bound - bound).abs() < 1e-12 * bound, "{text}: {}", limit.bound);
        }
    }

    #[test]
    fn a_limit_on_a_way_that_no_packets_go_is_refused() {
        let fits = |text: &str, way| text.parse::<Limit>().unwrap().fits(way);
        for way in [Way::RoundTrip, Way::Forward, Way::Both] {
            assert_eq!(fits("forward.packets.lost<5", way), Ok(()), "{way:?}");
        }
        let why = fits("round_trip.delay_ns.p99<30ms", Way::Both).unwrap_err();
        assert!(why.contains("never hold; begin with forward or reverse"), "{why}");
        assert!(fits("forward.packets.lost<5", Way::Reverse).is_err());
        assert!(fits("reverse.packets.lost<5", Way::Forward).is_err());
    }

    #[test]
    fn what_is_no_limit_is_refused_with_what_there_is() {
        for (text, part) in [
            ("forward.delay_ns.p99", "compares nothing"),
            ("forward.delay_ns.p98<30ms", "p99"),
            ("delay<30ms", "round_trip"),
            ("forward.delay_ns<30ms", "go on to one of"),
            ("forward.delay_ns.p99<30", "unit"),
            ("forward.loss.ratio<0.5", "percent"),
            ("reverse.packets.lost<many", "no number"),
            ("forward.packets.lost.more<1", "too deep"),
            ("forward.delay_ns.mean_interval<1ms", "an interval, which has two ends; choose one of count, "),
            ("forward.delay_ns.p99_interval.0<1ms", "too deep"),
            ("forward.loss.ratio_interval<1%", "two ends; choose one of ratio"),
            ("forward.delay_kind<1", "is not one number; choose one of "),
            ("forward.loss.periods<5", "is not one number; choose one of "),
            ("forward.ttl.changes<1", "is not one number; choose one of "),
            ("<", "direction"),
            ("", "compares nothing"),
        ] {
            let why = text.parse::<Limit>().unwrap_err();
            assert!(why.contains(part), "{text:?}: {why}");
        }
    }

    #[test]
    fn whatever_is_offered_can_be_taken() {
        let mut paths: Vec<String> = DIRECTIONS.map(str::to_owned).into();
        let mut numbers = 0;
        while let Some(path) = paths.pop() {
            let limit = ["1ns", "1%", "1"].map(|bound| format!("{path}<{bound}").parse::<Limit>());
            if limit.iter().any(Result::is_ok) {
                numbers += 1;
                continue;
            }
            let why = limit.into_iter().find_map(Result::err).unwrap();
            let offered = why.split_once("go on to one of ").unwrap_or_else(|| panic!("{why}")).1;
            paths.extend(offered.split(", ").map(|name| format!("{path}.{name}")));
        }
        assert!(numbers > 60, "{numbers}");
    }

    proptest! {
        #[test]
        fn reading_never_panics(text in "\\PC{0,60}") {
            let _ = text.parse::<Limit>();
        }
    }
}

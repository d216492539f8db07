//! How findings are put together and worded.

use romer_host::HostError;
use romer_record::document::{CheckVerdict, DoctorFinding};
use romer_units::Duration;
use serde_json::Value;

/// A finding that leaves nothing to wish for.
pub(crate) fn good(name: &str, found: impl Into<String>, consequence: impl Into<String>) -> DoctorFinding {
    finding(name, CheckVerdict::Good, found.into(), consequence.into(), None)
}

/// A finding of something that works, with a consequence to know.
pub(crate) fn limited(
    name: &str,
    found: impl Into<String>,
    consequence: impl Into<String>,
    fix: impl Into<String>,
) -> DoctorFinding {
    finding(name, CheckVerdict::Limited, found.into(), consequence.into(), Some(fix.into()))
}

/// A finding of something that does not work here.
pub(crate) fn missing(
    name: &str,
    found: impl Into<String>,
    consequence: impl Into<String>,
    fix: impl Into<String>,
) -> DoctorFinding {
    finding(name, CheckVerdict::Missing, found.into(), consequence.into(), Some(fix.into()))
}

/// A finding of something that could not be looked at.
pub(crate) fn unknown(name: &str, error: &HostError, consequence: &str) -> DoctorFinding {
    let fix = if error.is_permission() {
        "Run romer doctor as root."
    } else {
        "Run romer doctor outside the container or sandbox."
    };
    limited(name, format!("Unknown: {error}."), consequence, fix)
}

fn finding(
    name: &str,
    verdict: CheckVerdict,
    found: String,
    consequence: String,
    fix: Option<String>,
) -> DoctorFinding {
    DoctorFinding {
        name: name.into(),
        verdict,
        observed: found,
        consequence,
        fix,
        values: std::collections::BTreeMap::new(),
    }
}

/// Adding the values behind a finding.
pub(crate) trait WithValue: Sized {
    /// The same with a value.
    fn value(self, name: &str, value: impl Into<Value>) -> Self;

    /// The same with a length of time, under `name` and `_ns`.
    fn nanos(self, name: &str, value: Duration) -> Self {
        self.value(&format!("{name}_ns"), value.as_nanos())
    }
}

impl WithValue for DoctorFinding {
    fn value(mut self, name: &str, value: impl Into<Value>) -> Self {
        self.values.insert(name.into(), value.into());
        self
    }
}

/// A share as a percentage: `0 %`, `0.20 %`, `12.5 %`; never rounded to nothing.
pub(crate) fn percent(ratio: f64) -> String {
    match ratio * 100.0 {
        none if none <= 0.0 => "0 %".to_owned(),
        little if little < 0.01 => "< 0.01 %".to_owned(),
        small if small < 9.995 => format!("{small:.2} %"),
        most => format!("{most:.1} %"),
    }
}

/// A number of octets as people say it: `208 KiB`.
pub(crate) fn octets(number: u32) -> String {
    match number {
        n if n >= 1 << 20 && n.is_multiple_of(1 << 20) => format!("{} MiB", n >> 20),
        n if n >= 10 << 20 => format!("{} MiB", n >> 20),
        n if n >= 10 << 10 => format!("{} KiB", n >> 10),
        n => format!("{n} B"),
    }
}

/// `a`, `a and b`, `a, b and c`.
pub(crate) fn list<T: AsRef<str>>(items: &[T]) -> String {
    match items {
        [] => String::new(),
        [one] => one.as_ref().to_owned(),
        [first @ .., last] => {
            let first: Vec<&str> = first.iter().map(AsRef::as_ref).collect();
            format!("{} and {}", first.join(", "), last.as_ref())
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantities_read_as_people_say_them() {
        assert_eq!(
            (octets(212_992), octets(4 << 20), octets(100)),
            ("208 KiB".into(), "4 MiB".into(), "100 B".into())
        );
        assert_eq!(
            (percent(0.0), percent(1e-6), percent(0.002)),
            ("0 %".into(), "< 0.01 %".into(), "0.20 %".into())
        );
        assert_eq!(
            (list::<&str>(&[]), list(&["a"]), list(&["a", "b", "c"])),
            (String::new(), "a".into(), "a, b and c".into())
        );
    }
}

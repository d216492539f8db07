//! Warnings as text: the one place that has the sentences.

use romer_record::document::ProbeDirection;
use romer_record::event::EventLocation;

use crate::number::{NO_BREAK, time};

mod benchmark;
mod clock;
mod comparison;
mod emulation;
mod file;
mod measurement;
#[cfg(test)]
mod tests;

pub use clock::skew_unknown;
pub use measurement::calibration_unused;

/// What can be said in a sentence.
pub trait Text {
    /// The sentence, without a full stop and with a small letter at its beginning.
    fn text(&self) -> String;
}

/// A length of time to three digits, with its unit.
#[expect(clippy::cast_precision_loss, reason = "three digits are shown")]
pub(crate) fn length(nanos: i64) -> String {
    time(nanos as f64, true).replace(NO_BREAK, " ")
}

/// A share as a percentage.
pub(crate) fn share(ratio: f64) -> String {
    crate::number::percent(ratio).replace(NO_BREAK, " ")
}

/// The host at an end, in a sentence of the measuring host.
pub(crate) const fn host(side: EventLocation) -> &'static str {
    match side {
        EventLocation::Sender => "this host",
        EventLocation::Responder => "the responder's host",
        EventLocation::Path => "the path",
    }
}

/// A direction as an adverb.
pub(crate) const fn heading(way: ProbeDirection) -> &'static str {
    match way {
        ProbeDirection::Forward => "forward",
        ProbeDirection::Reverse => "in reverse",
        ProbeDirection::RoundTrip => "there and back",
        ProbeDirection::Both => "in both directions",
    }
}

/// What is listed, with commas and an "and".
pub(crate) fn list(parts: &[impl AsRef<str>]) -> String {
    match parts {
        [] => String::new(),
        [one] => one.as_ref().to_owned(),
        [others @ .., last] => {
            let others: Vec<&str> = others.iter().map(AsRef::as_ref).collect();
            format!("{} and {}", others.join(", "), last.as_ref())
        }
    }
}

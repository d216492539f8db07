//! What can be said in a sentence, and its parts.

use romer_record::document::ProbeDirection;
use romer_record::event::EventLocation;
use romer_units::Duration;

use crate::number::NO_BREAK;

/// What can be said in a sentence.
pub trait Text {
    /// The sentence, without a full stop and with a small letter at its beginning.
    fn text(&self) -> String;
}

/// A length of time to three digits, with its unit.
pub(crate) fn length(nanos: i64) -> String {
    Duration::from_nanos(nanos).rounded()
}

/// A share as a percentage.
pub(crate) fn share(ratio: f64) -> String {
    crate::number::percent(ratio).replace(NO_BREAK, " ")
}

/// The host at an end, in a sentence of the measuring host.
pub(crate) const fn host(location: EventLocation) -> &'static str {
    match location {
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

/// That a delay which changed at once may be no change of the path, where packets go one way: the receiver's clock may have been set.
/// By a clock that was set `back`, packets would be out of order that are not.
pub const fn unless_set(back: bool) -> &'static str {
    if back {
        "or the receiver's clock was set back by the same amount without reordering a packet (indistinguishable in one direction)"
    } else {
        "or the receiver's clock was set ahead by the same amount (indistinguishable in one direction)"
    }
}

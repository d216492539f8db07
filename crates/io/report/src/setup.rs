//! Which warnings and events are of the test setup alone: of the hosts, the programs and their time stamps, and not of the path.
//! Who reads the figures of a path needs them rarely.

use romer_record::document::Measurement;
use romer_record::event::EventKind;

/// What is found in the warnings of the test setup, and in no other.
const OF_SETUP: [&str; 8] = [
    "before it answered",
    "after its program had sent it",
    "after its time, and those that were due",
    "did not come (",
    "no network card stamped",
    "(interrupt coalescing)",
    "clocks' offset is not known",
    "the responder keeps no log for this run",
];

/// The warnings of `m` that bear on the figures, and those of the test setup.
pub(crate) fn warnings(m: &Measurement) -> (Vec<&str>, Vec<&str>) {
    let all = m.warnings.iter().map(String::as_str);
    all.partition(|text| !OF_SETUP.iter().any(|part| text.contains(part)))
}

/// Whether events of this kind are of the test setup.
pub(crate) const fn is_of_setup(kind: EventKind) -> bool {
    matches!(kind, EventKind::Pause | EventKind::Missed)
}

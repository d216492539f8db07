//! What this host's own packet log did not keep: what was not logged is not known.

use romer_record::document::ProbeDirection;
use romer_record::manifest::{EntryKind, Stream};
use romer_record::{Fate, OneWaySingleton};
use romer_singletons::StreamSingletons;

/// Leaves open what became of the packets that are told as lost, though the log may have had no room for their arrival here. Which
/// packets those are is known by their numbers; replies have numbers of their own, so that each may be one of them.
pub(super) fn leave_unknown(stream: &Stream, related: &mut StreamSingletons) {
    let Some(arrivals) = stream.not_logged.iter().find(|one| one.kind == EntryKind::Arrival) else { return };
    let may_be = |sequence: u64| arrivals.may_be_of(sequence);
    if stream.traffic.direction != ProbeDirection::RoundTrip {
        leave(&mut related.reverse, may_be);
        return;
    }
    leave(&mut related.round_trip, may_be);
    leave(&mut related.reverse, |_| true);
    if !stream.responder_log {
        // A number of a reply that is missing is no loss then, and which probes got there is not told by anything else.
        leave(&mut related.forward, may_be);
        related.numbers = None;
        related.reverse_complete = false;
    }
}

fn leave(singletons: &mut [OneWaySingleton], may_be: impl Fn(u64) -> bool) {
    let lost = singletons.iter_mut().filter(|singleton| singleton.fate == Fate::Lost);
    lost.filter(|singleton| may_be(singleton.sequence)).for_each(|singleton| singleton.fate = Fate::Unknown);
}

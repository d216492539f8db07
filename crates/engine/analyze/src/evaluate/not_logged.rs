//! What this host's own packet log did not keep: what was not logged is not known.

use romer_passages::Related;
use romer_record::document::Way;
use romer_record::manifest::{EntryKind, NotLogged, Stream};
use romer_record::{Fate, Passage};
use romer_units::{counted_as, saturating_sum, was};

/// Leaves open what became of the packets that are told as lost, though the log may have had no room for their arrival here. Which
/// packets those are is known by their numbers; replies have numbers of their own, so that each may be one of them.
pub(super) fn leave_unknown(stream: &Stream, related: &mut Related) {
    let Some(arrivals) = stream.not_logged.iter().find(|one| one.kind == EntryKind::Arrival) else { return };
    let may_be = |sequence: u64| arrivals.may_be_of(sequence);
    if stream.traffic.direction != Way::RoundTrip {
        leave(&mut related.reverse, may_be);
        return;
    }
    leave(&mut related.round_trip, may_be);
    leave(&mut related.reverse, |_| true);
    if !stream.far_log {
        // A number of a reply that is missing is no loss then, and which probes got there is not told by anything else.
        leave(&mut related.forward, may_be);
        related.numbers = None;
        related.reverse_complete = false;
    }
}

fn leave(passages: &mut [Passage], may_be: impl Fn(u64) -> bool) {
    let lost = passages.iter_mut().filter(|passage| passage.fate == Fate::Lost);
    lost.filter(|passage| may_be(passage.sequence)).for_each(|passage| passage.fate = Fate::Unknown);
}

/// What is to be said of it.
pub(super) fn words(not_logged: &[NotLogged]) -> Option<String> {
    let all = saturating_sum(not_logged.iter().map(|one| one.entries));
    let each: Vec<String> =
        not_logged.iter().map(|one| format!("{} for {}", one.entries, about(one.kind))).collect();
    let means: Vec<&str> = not_logged.iter().map(|one| means(one.kind)).collect();
    (all > 0).then(|| {
        format!(
            "{} of this host's packet log {} not kept ({}), because the log's thread did not come to write them: it got too little \
             of the processor, or the disk took no more. What they would have told is not known: {}. A lower rate of probes, a \
             processor that nothing else keeps busy, or a faster disk leaves the log more time",
            counted_as(all, "entry", "entries"),
            was(all),
            each.join(", "),
            means.join("; ")
        )
    })
}

const fn about(kind: EntryKind) -> &'static str {
    match kind {
        EntryKind::Departure => "departures from this host",
        EntryKind::DepartureStamp => "the kernel's stamps of departures from this host",
        EntryKind::Arrival => "arrivals at this host",
        EntryKind::FarRecord => "the far end's records",
        EntryKind::CardStamp => "network cards' stamps",
    }
}

const fn means(kind: EntryKind) -> &'static str {
    match kind {
        EntryKind::Departure => {
            "probes of which nothing else tells are not among those that were sent, and others have no delay"
        }
        EntryKind::DepartureStamp => "probes without that stamp have no delay by it",
        EntryKind::Arrival => {
            "packets that may have arrived here without an entry are neither in the losses nor in the delays"
        }
        EntryKind::FarRecord => {
            "packets that no record is of are neither in the losses nor in the one-way delays"
        }
        EntryKind::CardStamp => "the kernel's stamps stand in for them",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn how_many_entries_of_which_kind_were_not_kept_is_told_and_what_that_means() {
        assert_eq!(words(&[]), None);
        let one = |kind, entries| NotLogged { kind, entries, first: 3, last: 9 };
        let told = words(&[one(EntryKind::Departure, 1)]).unwrap();
        assert!(
            told.starts_with(
                "1 entry of this host's packet log was not kept (1 for departures from this host)"
            ),
            "{told}"
        );
        let told = words(&[one(EntryKind::Arrival, 20), one(EntryKind::FarRecord, 5)]).unwrap();
        let those = "25 entries of this host's packet log were not kept (20 for arrivals at this host, 5 for the far end's records)";
        assert!(told.starts_with(those) && told.contains("neither in the losses"), "{told}");
    }
}

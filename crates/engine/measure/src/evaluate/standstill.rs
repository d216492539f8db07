//! What shows that a program stood still, or that a host kept packets: probes lay long at the far end, or left long after their
//! time.

use romer_record::RoundTrip;
use romer_record::document::Measurement;
use romer_record::event::{Event, EventKind, Side};
use romer_units::{Duration, Responder, Timestamp};

/// What lies at a responder for so long was not answered by a program that ran: a busy machine takes less.
const LONG: Duration = Duration::from_millis(250);

/// Looks at how long probes lay at the responder.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Standstill {
    probes: u64,
    longest: Duration,
}

impl Standstill {
    /// The next rows.
    pub(super) fn take(&mut self, rows: &[RoundTrip]) {
        for row in rows {
            let came: Option<Timestamp<Responder>> = row.t2.kernel.or(row.t2.user);
            // What the host keeps of an answer before it leaves is not the program's.
            let left = row.t3.user.or(row.t3.kernel);
            if let (Some(came), Some(left)) = (came, left)
                && left - came >= LONG
            {
                self.probes += 1;
                self.longest = self.longest.max(left - came);
            }
        }
    }

    /// What is to be said of it.
    ///
    /// Where the kernel there dropped what its full socket had no room for, and by the `events` the program did not stand still,
    /// it was too slow.
    pub(super) fn words(self, events: &[Event]) -> Option<String> {
        let is_told =
            |kind: EventKind| events.iter().any(|event| (event.kind, event.side) == (kind, Side::Responder));
        let why = if is_told(EventKind::ReceiveOverflow) && !is_told(EventKind::Pause) {
            "the program there was too slow for so many"
        } else {
            "the program there stood still (stopped, or its host had no processor for it)"
        };
        (self.probes > 0).then(|| {
            let (lay, them) = if self.probes == 1 { ("probe", "it") } else { ("probes", "them") };
            format!(
                "{} {lay} waited at the far end for up to {} ms before it answered {them}: {why}; that time is in no delay",
                self.probes,
                self.longest.as_nanos() / 1_000_000
            )
        })
    }
}

/// A probe that leaves so late was held up by more than a busy machine, nanoseconds.
const LATE_NS: f64 = 250e6;

/// Says where packets left long after their time, or after their program had sent them. Longer than
/// [`romer_timebase::steps::TOO_LATE_NS`] after their time they do not leave at all, and an event says so.
pub(super) fn late_departures(m: &Measurement) -> Vec<String> {
    let two_way = m.round_trip.packets.sent.is_some();
    let errors = &m.location_error_ns;
    let ends = [
        (if two_way { &m.round_trip } else { &m.forward }, &errors.sender, "this program", "this host"),
        (&m.reverse, &errors.responder, "the program at the far end", "the far host"),
    ];
    let mut said = Vec::new();
    for (way, errors, program, host) in ends {
        let kept = errors.departure.max.filter(|most| *most >= LATE_NS);
        said.extend(kept.map(|most| {
            format!(
                "a packet left {:.0} ms after its program had sent it, and those that were sent meanwhile in a burst with it: \
                 {host} kept them, as it does until it knows the hardware address of the next host",
                most / 1e6
            )
        }));
        let late = way.departure_error_ns.as_ref().and_then(|errors| errors.max);
        let late = late.filter(|most| *most - kept.unwrap_or(0.0) >= LATE_NS);
        said.extend(late.map(|most| {
            format!(
                "a packet left {:.0} ms after its time, and those that were due meanwhile in a burst with it: {program} stood \
                 still (stopped, or its host had no processor for it)",
                most / 1e6
            )
        }));
    }
    said
}

#[cfg(test)]
mod tests {
    use romer_record::Stamps;

    use super::*;

    fn row(came: i64, left: Option<i64>) -> RoundTrip {
        let at = |nanos| Stamps { kernel: Some(Timestamp::from_nanos(nanos)), ..Stamps::default() };
        RoundTrip { t2: at(came), t3: left.map_or_else(Stamps::default, at), ..RoundTrip::default() }
    }

    #[test]
    fn only_what_lies_there_long_is_told() {
        let mut looked = Standstill::default();
        looked.take(&[row(0, Some(249_999_999)), row(5, None)]);
        let at = Timestamp::from_nanos;
        let kept = Stamps { kernel: Some(at(900_000_000)), user: Some(at(1_000)), ..Stamps::default() };
        looked.take(&[RoundTrip { t3: kept, ..row(0, None) }]);
        assert_eq!(looked.words(&[]), None);
        looked.take(&[row(10, Some(1_011_000_010)), row(500_000_000, Some(1_011_000_020))]);
        let words = looked.words(&[]).unwrap();
        assert!(words.starts_with("2 probes waited at the far end for up to 1011 ms"), "{words}");
        assert!(words.contains("stood still"), "{words}");
        let event = |kind, side| Event {
            at_ns: 1,
            until_ns: Some(2),
            kind,
            side,
            detail: String::new(),
            clock_ns: 1,
            step: None,
            datagrams: Some(9),
            mtu: None,
            sequence: None,
            noticed_late_ns: None,
        };
        let full = event(EventKind::ReceiveOverflow, Side::Responder);
        let words = looked.words(std::slice::from_ref(&full)).unwrap();
        assert!(words.contains("too slow") && !words.contains("stood still"), "{words}");
        for others in [
            vec![full, event(EventKind::Pause, Side::Responder)],
            vec![event(EventKind::ReceiveOverflow, Side::Sender)],
        ] {
            let words = looked.words(&others).unwrap();
            assert!(words.contains("stood still"), "{words}");
        }
    }
}

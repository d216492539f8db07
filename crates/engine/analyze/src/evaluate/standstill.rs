//! What shows that a program stood still, or that a host kept packets: probes lay long at the far end, or left long after their
//! time.

use romer_clock::steps::PAUSE_NS;
use romer_record::RoundTrip;
use romer_record::document::Measurement;
use romer_record::event::{Event, EventKind, Side};
use romer_units::{Duration, Responder, Sender, Timestamp};

use romer_units::three_digits;

/// What lies at a responder for so long was not answered at once: a machine that is not busy takes less.
const LONG: Duration = Duration::from_millis(250);

/// Looks at how long probes lay at the responder.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Standstill {
    probes: u64,
    longest: Duration,
    /// Which lay there for that long.
    worst: u64,
    /// When that left, and when the first probe did, by the sender's clock.
    left: Option<Timestamp<Sender>>,
    began: Option<Timestamp<Sender>>,
}

impl Standstill {
    /// The next rows.
    pub(super) fn take(&mut self, rows: &[RoundTrip]) {
        for row in rows {
            let sent: Option<Timestamp<Sender>> = row.t1.kernel.or(row.t1.user);
            self.began = self.began.or(sent);
            let came: Option<Timestamp<Responder>> = row.t2.kernel.or(row.t2.user);
            // What the host keeps of an answer before it leaves is not the program's.
            let left = row.t3.user.or(row.t3.kernel);
            if let (Some(came), Some(left)) = (came, left)
                && left - came >= LONG
            {
                self.probes += 1;
                if left - came > self.longest {
                    (self.longest, self.worst, self.left) = (left - came, row.sequence, sent);
                }
            }
        }
    }

    /// What is to be said of it, by the `events`: a program of ours tells when it has stood still, and where it has not, or where
    /// probes waited longer than that, it was behind. Of a reflector that is not ours nothing `is_told`. One that `is_here`, on the
    /// machine that sends, has what this end leaves of the processors.
    pub(super) fn words(self, events: &[Event], is_told: bool, is_here: bool) -> Option<String> {
        if self.probes == 0 {
            return None;
        }
        let there = |kind: EventKind| {
            events.iter().filter(move |event| (event.kind, event.side) == (kind, Side::Responder))
        };
        let stood = there(EventKind::Pause).map(|event| {
            Duration::from_nanos(event.until_ns.map_or(0, |until| until.saturating_sub(event.at_ns)))
        });
        let stood = stood.max();
        let for_want = "stopped, or its host had no processor for it";
        let behind = "it was still busy with what had come before, or had too little of the processor";
        let why = match stood {
            Some(stood) if self.longest <= stood + LONG => {
                format!("the program there stood still ({for_want})")
            }
            Some(stood) => {
                format!(
                    "the program there stood still for {} at the longest ({for_want}), and was behind besides",
                    three_digits(stood.as_nanos())
                )
            }
            None if there(EventKind::ReceiveOverflow).next().is_some() => {
                "the program there was too slow for so many".into()
            }
            None if is_told && self.longest.as_nanos() > PAUSE_NS + LONG.as_nanos() => {
                format!("the program there ran, and was behind: {behind}")
            }
            None => format!("the program there was behind ({behind}), or stood still ({for_want})"),
        };
        let (lay, them) = if self.probes == 1 { ("probe", "it") } else { ("probes", "them") };
        let when = self.left.zip(self.began).map_or_else(String::new, |(left, began)| {
            format!(", sent {:.1} s after the first", (left - began).as_nanos() as f64 / 1e9)
        });
        let here = if is_here {
            " (it is on this machine, where a sender of more than a thousand packets a second comes before it: give it --realtime)"
        } else {
            ""
        };
        Some(format!(
            "{} {lay} waited at the far end for up to {} ms before it answered {them} (packet {}{when}): {why}{here}; that time is in \
             no delay",
            self.probes,
            self.longest.as_nanos() / 1_000_000,
            self.worst
        ))
    }
}

/// A probe that leaves so late was held up by more than a busy machine, nanoseconds.
const LATE_NS: f64 = 250e6;

/// Says where packets left long after their time, or after their program had sent them. Longer than
/// [`TOO_LATE`](crate::threads::TOO_LATE) after their time they do not leave at all, and an event says so.
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
        assert_eq!(looked.words(&[], true, false), None);
        looked.take(&[row(10, Some(1_011_000_010)), row(500_000_000, Some(1_011_000_020))]);
        let words = looked.words(&[], true, false).unwrap();
        assert!(words.starts_with("2 probes waited at the far end for up to 1011 ms"), "{words}");
        assert!(
            words.contains("was behind") && words.contains("or stood still"),
            "it tells no less than a second: {words}"
        );
        let event = |kind, side| Event {
            until_ns: Some(1_000_000_001),
            datagrams: Some(9),
            ..Event::new(kind, side, 1, 1)
        };
        let full = event(EventKind::ReceiveOverflow, Side::Responder);
        let words = looked.words(std::slice::from_ref(&full), true, false).unwrap();
        assert!(words.contains("too slow") && !words.contains("stood still"), "{words}");
        let words = looked.words(&[full, event(EventKind::Pause, Side::Responder)], true, false).unwrap();
        assert!(words.contains("there stood still (") && !words.contains("behind"), "{words}");
    }

    #[test]
    fn who_ran_all_the_time_was_behind_and_the_longest_wait_is_told_with_its_moment() {
        let mut looked = Standstill::default();
        let sent = |at: i64, sequence, row: RoundTrip| {
            let t1 = Stamps { kernel: Some(Timestamp::from_nanos(at)), ..Stamps::default() };
            RoundTrip { t1, sequence, ..row }
        };
        looked.take(&[
            sent(7_000_000_000, 0, row(0, None)),
            sent(9_000_000_000, 3, row(0, Some(1_522_000_000))),
        ]);
        looked.take(&[sent(10_000_000_000, 4, row(0, Some(1_300_000_000)))]);
        let words = looked.words(&[], true, false).unwrap();
        assert!(
            words.contains("up to 1522 ms before it answered them (packet 3, sent 2.0 s after the first)"),
            "{words}"
        );
        assert!(
            words.contains("the program there ran, and was behind") && !words.contains("stood still"),
            "{words}"
        );
        // Of others' reflectors nobody knows.
        let words = looked.words(&[], false, false).unwrap();
        assert!(words.contains("or stood still"), "{words}");
        assert!(!words.contains("on this machine"), "{words}");
        let words = looked.words(&[], true, true).unwrap();
        assert!(words.contains("on this machine") && words.contains("--realtime"), "{words}");
    }
}

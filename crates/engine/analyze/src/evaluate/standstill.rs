//! What shows that a program stood still, or that a host kept packets: probes lay long at the far end, or left long after their
//! time.

use romer_clock::steps::PAUSE_NS;
use romer_record::RoundTrip;
use romer_record::document::Measurement;
use romer_record::event::{Event, EventKind, EventLocation};
use romer_record::warning::{MeasurementWarning, ResponderDelayCause};
use romer_units::{Duration, Responder, Sender, Timestamp};

/// What lies at a responder for so long was not answered at once: a machine that is not busy takes less.
const MIN_STALL: Duration = Duration::from_millis(250);

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
                && left - came >= MIN_STALL
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
    pub(super) fn warning(
        self,
        events: &[Event],
        is_told: bool,
        is_here: bool,
    ) -> Option<MeasurementWarning> {
        if self.probes == 0 {
            return None;
        }
        let there = |kind: EventKind| {
            events
                .iter()
                .filter(move |event| (event.kind, event.location) == (kind, EventLocation::Responder))
        };
        let stood = there(EventKind::Pause).map(|event| {
            Duration::from_nanos(event.until_ns.map_or(0, |until| until.saturating_sub(event.at_ns)))
        });
        let stood = stood.max();
        let cause = match stood {
            Some(stood) if self.longest <= stood + MIN_STALL => ResponderDelayCause::Descheduled,
            Some(_) => ResponderDelayCause::DescheduledAndSlow,
            None if there(EventKind::ReceiveOverflow).next().is_some() => ResponderDelayCause::Overloaded,
            None if is_told && self.longest.as_nanos() > PAUSE_NS + MIN_STALL.as_nanos() => {
                ResponderDelayCause::Slow
            }
            None => ResponderDelayCause::Unknown,
        };
        Some(MeasurementWarning::ResponderSlow {
            probes: self.probes,
            longest_ns: self.longest.as_nanos(),
            sequence: self.worst,
            sent_ns: self.left.zip(self.began).map(|(left, began)| (left - began).as_nanos()),
            cause,
            stopped_ns: stood.map(Duration::as_nanos),
            same_host: is_here,
        })
    }
}

/// A probe that leaves so late was held up by more than a busy machine, nanoseconds.
const LATE_NS: f64 = 250e6;

/// Says where packets left long after their time, or after their program had sent them. Longer than
/// [`TOO_LATE`](crate::threads::TOO_LATE) after their time they do not leave at all, and an event says so.
#[expect(clippy::cast_possible_truncation, reason = "departures are far less than 2^63 ns late")]
pub(super) fn late_departures(m: &Measurement) -> Vec<MeasurementWarning> {
    let two_way = m.round_trip.packets.sent.is_some();
    let errors = &m.location_error_ns;
    let ends = [
        (if two_way { &m.round_trip } else { &m.forward }, &errors.sender, EventLocation::Sender),
        (&m.reverse, &errors.responder, EventLocation::Responder),
    ];
    let mut warnings = Vec::new();
    for (way, errors, location) in ends {
        let kept = errors.departure.max.filter(|most| *most >= LATE_NS);
        warnings.extend(
            kept.map(|most| MeasurementWarning::DepartureHeldByHost {
                location,
                late_ns: most.round() as i64,
            }),
        );
        let late = way.departure_error_ns.as_ref().and_then(|errors| errors.max);
        let late = late.filter(|most| *most - kept.unwrap_or(0.0) >= LATE_NS);
        warnings.extend(
            late.map(|most| MeasurementWarning::DepartureLate { location, late_ns: most.round() as i64 }),
        );
    }
    warnings
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
        assert_eq!(looked.warning(&[], true, false), None);
        looked.take(&[row(10, Some(1_011_000_010)), row(500_000_000, Some(1_011_000_020))]);
        let cause = |events: &[Event]| match looked.warning(events, true, false) {
            Some(MeasurementWarning::ResponderSlow {
                probes: 2, longest_ns: 1_011_000_000, cause, ..
            }) => cause,
            other => panic!("{other:?}"),
        };
        assert_eq!(cause(&[]), ResponderDelayCause::Unknown, "it tells no less than a second");
        let event = |kind, location| Event {
            until_ns: Some(1_000_000_001),
            datagrams: Some(9),
            ..Event::new(kind, location, 1, 1)
        };
        let full = event(EventKind::ReceiveOverflow, EventLocation::Responder);
        assert_eq!(cause(std::slice::from_ref(&full)), ResponderDelayCause::Overloaded);
        assert_eq!(
            cause(&[full, event(EventKind::Pause, EventLocation::Responder)]),
            ResponderDelayCause::Descheduled
        );
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
        let warning = |is_told, is_here| looked.warning(&[], is_told, is_here).unwrap();
        let expected = |cause, same_host| MeasurementWarning::ResponderSlow {
            probes: 2,
            longest_ns: 1_522_000_000,
            sequence: 3,
            sent_ns: Some(2_000_000_000),
            cause,
            stopped_ns: None,
            same_host,
        };
        assert_eq!(warning(true, false), expected(ResponderDelayCause::Slow, false));
        // Of others' reflectors nobody knows.
        assert_eq!(warning(false, false), expected(ResponderDelayCause::Unknown, false));
        assert_eq!(warning(true, true), expected(ResponderDelayCause::Slow, true));
    }
}

//! Documents of two hosts whose clocks are synchronised as both state: the error of delays, and a loss of synchronisation.

use romer_record::document::{
    DelayKind, Measurement, ProbeDirection, Synchronisation, SynchronisationSource,
};
use romer_record::event::{Event, EventDetail, EventLocation};
use romer_record::manifest::{ClockRelation, SkewRequest, StampRequest, Stream};
use romer_record::warning::{MeasurementWarning, SynchronisationContradiction, SynchronisationLoss};
use romer_record::{RoundTrip, Stamps};
use romer_units::{Clock, Timestamp};

use super::evaluate;

const MS: i64 = 1_000_000;
const START: i64 = 1_700_000_000_000 * MS;
/// Error of the conversion of a network card's time stamp.
const NIC_ERROR_NS: u32 = 300;
/// Sum of the bounds of both hosts.
const BOUND_NS: i64 = 3 * MS;

/// Round trips with time stamps of network cards, or of the kernel: 5 ms forward, 4 ms in reverse.
fn rows(by_card: bool) -> Vec<RoundTrip> {
    fn at<C: Clock>(nanos: i64, by_card: bool) -> Stamps<C> {
        let at = Some(Timestamp::from_nanos(nanos));
        Stamps { nic: at.filter(|_| by_card), kernel: at, user: at, ..Stamps::default() }
    }
    let row = |number: i64| {
        // Times of whole milliseconds would be those of a coarse clock.
        let t1 = START + number * 20 * MS + number * 7_919 % 1_000;
        RoundTrip {
            sequence: number.unsigned_abs(),
            size: 60,
            t1: at(t1, by_card),
            t2: at(t1 + 5 * MS, by_card),
            t3: at(t1 + 6 * MS, by_card),
            t4: at(t1 + 10 * MS, by_card),
            nic_error_ns: by_card.then_some(NIC_ERROR_NS),
            returned: true,
            ..RoundTrip::default()
        }
    };
    (0..500).map(row).collect()
}

fn document(by_card: bool, events: Vec<Event>, source: SynchronisationSource) -> Measurement {
    let synchronisation = Synchronisation { source, ..Synchronisation::by_user(BOUND_NS, 0) };
    let mut stream = Stream {
        clock_relation: ClockRelation::Unknown,
        responder_log: true,
        responder_log_complete: true,
        skew: SkewRequest { synchronisation: Some(synchronisation), ..SkewRequest::default() },
        events,
        stamp_request: if by_card { StampRequest::Nic } else { StampRequest::Best },
        ..romer_testing::stream()
    };
    stream.traffic.direction = ProbeDirection::RoundTrip;
    stream.traffic.waiting_time_ns = 2_000 * MS;
    stream.traffic.interval_ns = 20 * MS;
    evaluate(&stream, &rows(by_card), false).measurement
}

/// The error of a delay is the bound of the clocks, and the error of two conversions if network cards took the time stamps.
#[test]
fn delay_error_has_that_of_the_stamps() {
    for (by_card, error_ns) in [(false, 3e6), (true, 3e6 + 600.0)] {
        let found = document(by_card, Vec::new(), SynchronisationSource::Hosts);
        assert_eq!(found.forward.delay_kind, Some(DelayKind::Absolute), "{:?}", found.warnings);
        assert_eq!(found.clock.delay_error_ns, Some(error_ns));
        assert_eq!((found.forward.delay_ns.median, found.reverse.delay_ns.median), (Some(5e6), Some(4e6)));
    }
}

/// A loss of synchronisation withdraws what the hosts state, with the host and the time; what the user states holds.
#[test]
fn loss_of_synchronisation_withdraws_the_bounds_of_hosts() {
    let at = |at_ns| Event::with(EventDetail::Unsynchronised, EventLocation::Responder, at_ns, START + at_ns);
    let events = vec![at(4_000 * MS), at(2_000 * MS)];
    let found = document(false, events.clone(), SynchronisationSource::Hosts);
    assert_eq!(found.forward.delay_kind, Some(DelayKind::Variable));
    let lost = SynchronisationLoss { location: EventLocation::Responder, at_ns: 2_000 * MS };
    let contradiction = SynchronisationContradiction::Lost(lost);
    let warning = MeasurementWarning::SynchronisationContradicted { bound_ns: BOUND_NS, contradiction };
    assert!(found.warnings.contains(&warning), "{:?}", found.warnings);
    assert_eq!(found.clock.synchronisation.unwrap().lost, Some(lost));
    let found = document(false, events, SynchronisationSource::User);
    assert_eq!(found.forward.delay_kind, Some(DelayKind::Absolute));
}

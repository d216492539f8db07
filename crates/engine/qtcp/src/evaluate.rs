//! What was received as entries of Qtcp's files, and as figures.

use romer_analyze::qtcp::{SkewOutcome, to_log};
use romer_clock::skew::Method;
use romer_exchange::qtcp::sta::Statistics;
use romer_exchange::qtcp::{Entry, UNIT_NS};
use romer_host::clock::rfc3339;
use romer_qtcp_protocol::ReceiverEnd;
use romer_record::SOFTWARE;
use romer_record::qtcp::{
    QTCP_RECEIVER, QtcpDelay, QtcpReceived, QtcpReceiver, QtcpReceiverEnd, QtcpReservation,
    QtcpReservationState, QtcpStamps,
};
use romer_record::service::Service;
use romer_record::warning::QtcpNote;

use crate::outcome::traffic;
use crate::receive::{Arrival, Received};
use crate::reserve::service_level;

/// The entries and figures of a test.
#[derive(Clone, Debug)]
pub struct Evaluation {
    /// The packets of the `.raw` file, in order of arrival, with time stamps as they were taken.
    pub raw: Vec<Entry>,
    /// The packets of the `.log` file: normalised, without skew.
    pub log: Vec<Entry>,
    /// The content of the `.sta` file, with the numbers of lost packets.
    pub statistics: Statistics,
    /// The document.
    pub document: QtcpReceiver,
}

/// Evaluates a test. The skew is fitted by `method` to the first `calibration` packets (0: to all). Without `user_stamps` the best time
/// stamps are used that all packets have.
pub fn evaluate(received: &Received, method: Method, calibration: u64, user_stamps: bool) -> Evaluation {
    let (departure_stamps, arrival_stamps) = places(received, user_stamps);
    let raw: Vec<Entry> = received
        .arrivals
        .iter()
        .map(|arrival| entry(arrival, received, [departure_stamps, arrival_stamps]))
        .collect();
    let mut log = raw.clone();
    let outcome = to_log(&mut log, method, stated(&raw, calibration), false).unwrap_or_else(|refusal| {
        let notes = vec![QtcpNote::SkewNotRemoved { error: refusal.to_string() }];
        SkewOutcome { notes, ..SkewOutcome::default() }
    });
    let lost = lost(&raw, received.expected);
    let all = phase(&raw, &log, &lost, 0);
    let measured = phase(&raw, &log, &lost, calibration);
    let document = QtcpReceiver {
        schema: QTCP_RECEIVER.into(),
        software: SOFTWARE.into(),
        address: received.address.map(|address| address.to_string()),
        session: received.session.map(|session| format!("{session:016x}")),
        started: rfc3339(received.started),
        ended: rfc3339(received.ended),
        partial: received.is_cut_short
            || matches!(
                received.end,
                ReceiverEnd::Keyboard | ReceiverEnd::Interrupted | ReceiverEnd::LogFull
            ),
        end: if received.is_cut_short { QtcpReceiverEnd::SenderStopped } else { end(received.end) },
        announced: received.offer.as_ref().map(traffic),
        calibration_packets: calibration,
        departure_stamps,
        arrival_stamps,
        skew_method: method.to_string(),
        skew_ppm: outcome.skew_ppm,
        skew_notes: outcome.notes,
        all,
        measured,
        host_drops: received.host_drops,
        ignored_datagrams: received.ignored,
        reservation: received.reservation.clone(),
    };
    let statistics = statistics(received, &raw, lost, &document);
    Evaluation { raw, log, statistics, document }
}

const fn end(end: ReceiverEnd) -> QtcpReceiverEnd {
    match end {
        ReceiverEnd::Quota => QtcpReceiverEnd::Quota,
        ReceiverEnd::Termination => QtcpReceiverEnd::Termination,
        ReceiverEnd::Done => QtcpReceiverEnd::Done,
        ReceiverEnd::Keyboard => QtcpReceiverEnd::Keyboard,
        ReceiverEnd::Interrupted => QtcpReceiverEnd::Interrupted,
        ReceiverEnd::LogFull => QtcpReceiverEnd::LogFull,
    }
}

/// How much later than the program's time stamp the sender's kernel took its own, units.
fn offset(received: &Received, sequence: u64) -> Option<i64> {
    let place = usize::try_from(sequence).ok()?;
    received.offsets.get(place).copied().flatten().map(i64::from)
}

/// Which time stamps all packets have: those of departures, and those of arrivals.
fn places(received: &Received, user_stamps: bool) -> (QtcpStamps, QtcpStamps) {
    if user_stamps {
        return (QtcpStamps::User, QtcpStamps::User);
    }
    let arrivals = &received.arrivals;
    let departures = if arrivals.iter().all(|arrival| offset(received, arrival.sequence).is_some()) {
        QtcpStamps::Kernel
    } else {
        QtcpStamps::Packet
    };
    let is_stamped = arrivals.iter().all(|arrival| arrival.kernel_arrival_ns.is_some());
    (departures, if is_stamped { QtcpStamps::Kernel } else { QtcpStamps::User })
}

fn entry(arrival: &Arrival, received: &Received, [departures, arrivals]: [QtcpStamps; 2]) -> Entry {
    let sent = match departures {
        QtcpStamps::Kernel => arrival.user + offset(received, arrival.sequence).unwrap_or(0),
        QtcpStamps::Packet => arrival.sent,
        QtcpStamps::User => arrival.user,
    };
    let kernel = arrival.kernel_arrival_ns.filter(|_| arrivals == QtcpStamps::Kernel);
    Entry {
        sent,
        received: kernel.unwrap_or(arrival.user_arrival_ns).div_euclid(UNIT_NS),
        size: arrival.size,
        sequence: arrival.sequence,
    }
}

/// The number of calibration packets as the fit counts them, so that it uses those with a number below `calibration`: it counts from the
/// first that arrived if none is missing after it. 0 if none of them arrived.
fn stated(raw: &[Entry], calibration: u64) -> u64 {
    let numbers = distinct(raw.iter().map(|entry| entry.sequence));
    let (Some(first), Some(last)) = (numbers.first(), numbers.last()) else { return 0 };
    let span = last - first + 1;
    let has_gaps = span > numbers.len() as u64;
    match calibration.checked_sub(*first) {
        None | Some(0) => 0,
        Some(_) if has_gaps => calibration.min(span),
        Some(below) => below.min(span),
    }
}

/// The numbers below `expected` that did not arrive.
fn lost(raw: &[Entry], expected: u64) -> Vec<u64> {
    let numbers = distinct(raw.iter().map(|entry| entry.sequence));
    let mut arrived = numbers.into_iter().peekable();
    (0..expected).filter(|number| arrived.next_if_eq(number).is_none()).collect()
}

/// The numbers, ascending and each once.
fn distinct(numbers: impl Iterator<Item = u64>) -> Vec<u64> {
    let mut numbers: Vec<u64> = numbers.collect();
    numbers.sort_unstable();
    numbers.dedup();
    numbers
}

/// The figures of the packets from number `first` on.
fn phase(raw: &[Entry], log: &[Entry], lost: &[u64], first: u64) -> QtcpReceived {
    let arrived: Vec<&Entry> = raw.iter().filter(|entry| entry.sequence >= first).collect();
    let packets = distinct(arrived.iter().map(|entry| entry.sequence)).len() as u64;
    let lost = (lost.len() - lost.partition_point(|number| *number < first)) as u64;
    let times = || arrived.iter().map(|entry| entry.received);
    let octets: u64 = arrived.iter().skip(1).map(|entry| u64::from(entry.size)).sum();
    let duration = times().max().zip(times().min()).map_or(0, |(last, first)| last - first);
    #[expect(
        clippy::cast_precision_loss,
        reason = "a test is far shorter than 2^53 units and has fewer octets"
    )]
    let rate = (duration > 0).then(|| octets as f64 / (duration as f64 * 1e-7));
    #[expect(clippy::cast_precision_loss, reason = "a test has far fewer than 2^53 packets")]
    let loss_ratio = (packets + lost > 0).then(|| lost as f64 / (packets + lost) as f64);
    QtcpReceived {
        packets,
        duplicated: arrived.len() as u64 - packets,
        lost,
        loss_ratio,
        rate_octets_per_s: rate,
        queuing_delay_ns: delay(log.iter().filter(|entry| entry.sequence >= first)),
    }
}

/// The distribution of latencies, nanoseconds.
#[expect(clippy::cast_precision_loss, reason = "latencies of a test are far below 2^53 units")]
fn delay<'a>(entries: impl Iterator<Item = &'a Entry>) -> Option<QtcpDelay> {
    let mut latencies: Vec<i64> = entries.map(Entry::latency).collect();
    latencies.sort_unstable();
    let last = latencies.len().checked_sub(1)?;
    let nanos = |place: usize| latencies.get(place).map_or(0.0, |units| *units as f64 * UNIT_NS as f64);
    // Between the two values around the place, in proportion.
    let at = |percent: usize| {
        let (low, rest) = (last * percent / 100, last * percent % 100);
        let (value, next) = (nanos(low), nanos((low + 1).min(last)));
        value + (next - value) * rest as f64 / 100.0
    };
    let sum: f64 = (0..=last).map(nanos).sum();
    Some(QtcpDelay {
        min: nanos(0),
        mean: sum / latencies.len() as f64,
        median: at(50),
        p95: at(95),
        p99: at(99),
        max: nanos(last),
    })
}

/// The content of the `.sta` file.
fn statistics(received: &Received, raw: &[Entry], lost: Vec<u64>, document: &QtcpReceiver) -> Statistics {
    let octets: u64 = raw.iter().map(|entry| u64::from(entry.size)).sum();
    let count = (raw.len() as u64).max(1);
    let sent = || raw.iter().map(|entry| entry.sent);
    let units = sent().max().zip(sent().min()).map_or(0, |(last, first)| last - first);
    #[expect(clippy::cast_precision_loss, reason = "a test is far shorter than 2^53 units of 100 ns")]
    let duration = units as f64 * 1e-7;
    let packets = document.all.packets + lost.len() as u64;
    #[expect(clippy::cast_precision_loss, reason = "a test has far fewer than 2^53 octets")]
    let rate = (duration > 0.0 && document.all.packets > 1)
        .then(|| octets as f64 / count as f64 * (packets - 1) as f64 / duration);
    let session = received.session.unwrap_or(0);
    Statistics {
        run: format!("qtcp-{session:016x} {}", document.started),
        received: document.all.packets,
        duplicated: document.all.duplicated,
        lost,
        calibration: Some(document.calibration_packets).filter(|packets| *packets > 0),
        size: u32::try_from((octets + count / 2) / count).unwrap_or(u32::MAX),
        rate,
        service: service(received).to_string(),
        settings: settings(received),
        duration,
        skew_ppm: document.skew_ppm,
        ..Statistics::default()
    }
}

fn service(received: &Received) -> Service {
    received.offer.and_then(|offer| offer.service).map_or(Service::BestEffort, service_level)
}

/// The keys of the announced traffic and of its reservation.
fn settings(received: &Received) -> Vec<(&'static str, String)> {
    let offer = received.offer.iter().flat_map(|offer| {
        [("token rate", offer.rate.to_string()), ("bucket depth", offer.depth.to_string())]
    });
    let reservation = received.reservation.iter().flat_map(reservation_settings);
    offer.chain(reservation).collect()
}

fn reservation_settings(reservation: &QtcpReservation) -> Vec<(&'static str, String)> {
    let state = match reservation.state {
        QtcpReservationState::None => "none",
        QtcpReservationState::Unavailable => "unavailable",
        QtcpReservationState::Requested => "requested",
        QtcpReservationState::Reserved => "reserved",
        QtcpReservationState::Lost => "lost",
    };
    let rate = reservation.rate_octets_per_s.map(|rate| ("reserved rate", format!("{rate:.1}")));
    let bound = reservation.path.and_then(|path| path.delay_bound_ns);
    #[expect(clippy::cast_precision_loss, reason = "a bound is far below 2^53 nanoseconds")]
    let bound = bound.map(|nanos| ("bound us", format!("{:.1}", nanos as f64 / 1e3)));
    [("reservation", state.to_owned())].into_iter().chain(rate).chain(bound).collect()
}

#[cfg(test)]
mod tests {
    use std::time::SystemTime;

    use romer_qtcp_protocol::SenderMessage;
    use romer_record::qtcp::QtcpReservedPath;

    use super::*;

    const START: i64 = 17_000_000_000_000_000;

    /// Packets 20 ms apart; a skew of 40 ppm, an empty path during 100 calibration packets, then a queue of 1 to 6 ms.
    fn received(numbers: impl Iterator<Item = u64>) -> Received {
        let arrival = |sequence: u64| {
            let since = i64::try_from(sequence).unwrap() * 200_000;
            let queue = if sequence < 100 { 0 } else { 10_000 * (1 + i64::try_from(sequence % 6).unwrap()) };
            let user = START + since;
            let received = user + 50 + 3_000 + queue + since * 40 / 1_000_000;
            Arrival {
                sequence,
                size: 64,
                sent: user + 20,
                user,
                kernel_arrival_ns: Some(received * UNIT_NS),
                user_arrival_ns: received * UNIT_NS + 70_000,
            }
        };
        Received {
            end: ReceiverEnd::Done,
            is_cut_short: false,
            arrivals: numbers.map(arrival).collect(),
            offsets: vec![Some(50); 400],
            expected: 400,
            session: Some(7),
            offer: None,
            address: None,
            host_drops: 0,
            ignored: 0,
            reservation: None,
            started: SystemTime::UNIX_EPOCH,
            ended: SystemTime::UNIX_EPOCH,
        }
    }

    /// The skew is fitted to the calibration packets alone, and the measured phase has figures of its own.
    #[test]
    fn phases_have_their_figures() {
        let evaluation =
            evaluate(&received((0..400).filter(|n| n % 50 != 49)), Method::LeastAbsolute, 100, false);
        let QtcpReceiver { all, measured, skew_ppm, .. } = &evaluation.document;
        assert!((skew_ppm.unwrap() - 40.0).abs() < 0.5, "{skew_ppm:?}");
        assert_eq!((all.packets, all.lost, measured.packets, measured.lost), (392, 8, 294, 6));
        let [of_all, of_measured] = [all, measured].map(|phase| phase.queuing_delay_ns.unwrap());
        assert!(of_all.min.abs() < 300.0 && (of_measured.min - 1e6).abs() < 6_000.0, "{of_measured:?}");
        assert!((of_measured.max - 6e6).abs() < 6_000.0, "{of_measured:?}");
        assert!((measured.rate_octets_per_s.unwrap() - 3_200.0).abs() < 100.0);
        assert_eq!(evaluation.statistics.lost, [49, 99, 149, 199, 249, 299, 349, 399]);
        assert_eq!(evaluation.statistics.calibration, Some(100));
    }

    /// Time stamps are the kernel's if all packets have them, else those of the packet and of the program; or as requested.
    #[test]
    fn stamps_are_of_one_source() {
        let of = |received: &Received, user| {
            let evaluation = evaluate(received, Method::None, 0, user);
            let first = evaluation.raw[0];
            (first.sent - START, first.received - START, evaluation.document.departure_stamps)
        };
        let mut all = received(0..10);
        assert_eq!(of(&all, false), (50, 3_050, QtcpStamps::Kernel));
        assert_eq!(of(&all, true), (0, 3_750, QtcpStamps::User));
        all.offsets[9] = None;
        all.arrivals[9].kernel_arrival_ns = None;
        assert_eq!(of(&all, false), (20, 3_750, QtcpStamps::Packet));
    }

    /// The fit counts the calibration packets that are left when the first ones were lost.
    #[test]
    fn lost_calibration_packets_are_counted() {
        let of = |numbers: &[u64]| {
            let raw: Vec<Entry> =
                numbers.iter().map(|sequence| Entry { sequence: *sequence, ..Entry::default() }).collect();
            stated(&raw, 10)
        };
        assert_eq!(of(&(0..30).collect::<Vec<_>>()), 10);
        assert_eq!(of(&(4..30).collect::<Vec<_>>()), 6);
        assert_eq!(of(&[4, 5, 7, 20]), 10);
        assert_eq!((of(&[0, 1, 2]), of(&[10, 11]), of(&[])), (3, 0, 0));
    }

    /// A test in which nothing arrived has no figures and no losses.
    #[test]
    fn nothing_received_is_evaluated() {
        let mut nothing = received(0..0);
        (nothing.expected, nothing.end) = (0, ReceiverEnd::Keyboard);
        let evaluation = evaluate(&nothing, Method::LeastAbsolute, 0, false);
        assert_eq!(evaluation.document.all, QtcpReceived::default());
        assert!(evaluation.document.partial && evaluation.statistics.lost.is_empty());
        nothing.is_cut_short = true;
        assert_eq!(evaluate(&nothing, Method::None, 0, false).document.end, QtcpReceiverEnd::SenderStopped);
        nothing.expected = 3;
        assert_eq!(evaluate(&nothing, Method::LeastAbsolute, 100, false).document.all.lost, 3);
    }

    /// The `.sta` file has the service, the announced traffic and the reservation.
    #[test]
    fn statistics_name_the_reservation() {
        let mut reserved = received(0..10);
        let settings = |received: &Received| evaluate(received, Method::None, 0, false).statistics.text(&[]);
        assert!(settings(&reserved).contains("service: best-effort\nduration: "));
        let offer =
            "TEST session=0123456789abcdef size=64 calibration=0 packets=9 rate=3000 depth=64 service=GR";
        let Ok(SenderMessage::Test(offer)) = offer.parse() else { panic!("no offer") };
        reserved.offer = Some(offer);
        reserved.reservation = Some(QtcpReservation {
            state: QtcpReservationState::Reserved,
            rate_octets_per_s: Some(4_312.5),
            path: Some(QtcpReservedPath {
                mtu_octets: Some(1_500),
                hops: Some(1),
                has_gap: false,
                has_service_gap: false,
                delay_bound_ns: Some(136_416_667),
            }),
            ..QtcpReservation::new(Service::Guaranteed)
        });
        let text = settings(&reserved);
        let expected = "service: guaranteed\ntoken rate: 3000\nbucket depth: 64\nreservation: reserved\n\
                        reserved rate: 4312.5\nbound us: 136416.7\n";
        assert!(text.contains(expected), "{text}");
    }

    /// Copies are counted, and are no further packets.
    #[test]
    fn copies_are_counted() {
        let evaluation = evaluate(&received((0..10).chain(5..8)), Method::None, 0, false);
        assert_eq!((evaluation.document.all.packets, evaluation.document.all.duplicated), (10, 3));
        assert_eq!(evaluation.raw.len(), 13);
    }

    /// Departures anywhere in the range that a packet may state, and any offsets, overflow nothing.
    #[test]
    fn extreme_stamps_overflow_nothing() {
        let mut extreme = received(0..400);
        extreme.offsets = vec![Some(u32::MAX); 400];
        let latest = ((1 << 62) - (3 << 57)) / UNIT_NS;
        for (arrival, stamp) in extreme.arrivals.iter_mut().zip([0, latest, START, latest - 1].iter().cycle())
        {
            (arrival.sent, arrival.user) = (*stamp, *stamp);
        }
        for method in [Method::None, Method::LeastAbsolute, Method::LeastAbsoluteJumps] {
            for user_stamps in [false, true] {
                let evaluation = evaluate(&extreme, method, 100, user_stamps);
                assert_eq!(evaluation.document.all.packets, 400, "{method}");
            }
        }
        let document = evaluate(&extreme, Method::LeastAbsoluteJumps, 100, true).document;
        assert_eq!(document.skew_ppm, None);
        assert!(
            matches!(&document.skew_notes[..], [QtcpNote::SkewNotRemoved { error }] if error.contains("go back further")),
            "{:?}",
            document.skew_notes
        );
    }
}

//! The files of Qtcp made from each other, and from runs: stamps are normalised, and the clocks' skew is taken out.

#[cfg(test)]
mod against;
mod convert;
mod receiver;
mod sender;
mod thinned;

use romer_clock::skew::{ChangeKind, Correction, Estimate, InTurn, Method, calibrated_until, sharpened};
use romer_exchange::qtcp::sta::Statistics;
use romer_exchange::qtcp::{Entry, UNIT_NS, corrected, normalise};
use romer_record::document::{DelayKind, ProbeDirection};
use romer_record::manifest::{SkewRequest, Stream};
use romer_record::warning::{QtcpNote, SkewUnknown};
use romer_record::{Fate, OneWaySingleton, RoundTrip};
use romer_report::warning::skew_unknown;
use romer_singletons::{ArrivalsSeen, Selection};
use romer_units::{Direction, Dscp, Duration, Timestamp, TimestampPoint};
use thiserror::Error;

use crate::evaluate::Evaluated;
use crate::export::fate_of;

pub use convert::{Conversion, KEPT, ReadOptions, Unconverted};

/// A difference of rates beyond this is no crystal's (Qtcp speaks of 10 parts in a million).
pub const IMPLAUSIBLE_PPM: f64 = 500.0;

/// Of fewer packets a line says what they waited, not how the clocks run.
const MIN_PACKETS_FOR_SKEW: u64 = 30;

/// Why a file cannot be freed of skew, as `WHY; what to do`.
#[derive(Clone, Debug, PartialEq, Error)]
pub enum SkewRefusal {
    /// More calibration packets are stated than there are packets.
    #[error("{stated} calibration packets are stated, and it has {there}; state fewer")]
    Calibration {
        /// As stated.
        stated: u64,
        /// That were sent, by the numbers in the file.
        there: u64,
    },
    /// No line can be fitted.
    #[error("no line can be fitted: {0}; -k 0 leaves the skew in")]
    NoFit(String),
    /// The fit is no clock's.
    #[error(
        "a skew of {0:.1} ppm is not plausible (clocks differ by less than 500): the latencies rise for another reason, or \
         the stamps are of another unit{few}, or a clock was set, which -k 3 compensates; -k 0 leaves it in and normalises alone, and with \
         --any-skew it is taken out all the same",
        few = if *.1 < MIN_PACKETS_FOR_SKEW { ", or there are too few packets" } else { "" }
    )]
    Implausible(f64, u64),
}

/// What was taken out.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct SkewOutcome {
    /// How much faster the receiver's clock ran, parts in a million; `None` where nothing was taken out.
    pub skew_ppm: Option<f64>,
    /// What a reader should know.
    pub notes: Vec<QtcpNote>,
}

/// The method that a number of Qtcp's `-k` means.
pub const fn method(k: u8) -> Method {
    match k {
        0 => Method::None,
        1 => Method::LeastSquares,
        3 => Method::LeastAbsoluteJumps,
        _ => Method::LeastAbsolute,
    }
}

/// Makes what a `.log` holds of what a `.raw` holds: normalises `entries`, takes the skew out by `method`, fitted to the
/// first `calibration` packets that were sent, by their numbers (0: to all), and moves the least latency back to 0.
///
/// # Errors
/// [`SkewRefusal`]; an implausible skew is not refused with `any_skew`.
pub fn to_log(
    entries: &mut [Entry],
    method: Method,
    calibration: u64,
    any_skew: bool,
) -> Result<SkewOutcome, SkewRefusal> {
    let there = entries.len() as u64;
    let numbers = || entries.iter().map(|entry| entry.sequence);
    let sent =
        numbers().min().zip(numbers().max()).map_or(0, |(first, last)| (last - first).saturating_add(1));
    let sent = sent.max(there);
    // Who is refused has them normalised all the same.
    normalise(entries);
    if calibration > sent {
        return Err(SkewRefusal::Calibration { stated: calibration, there: sent });
    }
    let mut outcome = SkewOutcome::default();
    if method == Method::LeastAbsoluteJumps {
        let steps = straighten(entries)?;
        if steps > 0 {
            normalise(entries);
        }
        outcome.notes.extend(sent_back(steps));
    }
    if method == Method::None {
        outcome.notes.extend(unheeded(calibration));
        return Ok(outcome);
    }
    if there < 2 {
        outcome.notes.push(QtcpNote::OnePacket);
        return Ok(outcome);
    }
    if calibration == 0 && method.takes_calibration() {
        outcome.notes.push(QtcpNote::NoCalibration);
    }
    let request = SkewRequest {
        method: method.to_string(),
        calibration: (calibration > 0).then_some(calibration),
        ..SkewRequest::default()
    };
    // As an analysis has them: in order of their numbers.
    let mut singletons: Vec<OneWaySingleton> = entries.iter().map(singleton).collect();
    singletons.sort_by_key(|singleton| singleton.sequence);
    let first = singletons.first().map_or(0, |singleton| singleton.sequence);
    let until = calibrated_until(&singletons, calibration);
    outcome.notes.extend(counted_from_zero(calibration, first, until));
    let estimate = sharpened(&request, &singletons, &[], &InTurn);
    let Some(skew) = estimate.skew else {
        return Err(no_fit(estimate.why_not.as_ref()));
    };
    if skew.ppm.abs() > IMPLAUSIBLE_PPM && !any_skew {
        return Err(SkewRefusal::Implausible(skew.ppm, there));
    }
    take_out(entries, estimate.correction(Direction::Forward));
    outcome.skew_ppm = Some(skew.ppm);
    outcome.notes.extend(few(there, calibration));
    if !estimate.events.is_empty() {
        outcome.notes.extend(compensations(&estimate));
    }
    Ok(outcome)
}

/// That no skew was found, and why.
fn no_fit(why: Option<&SkewUnknown>) -> SkewRefusal {
    SkewRefusal::NoFit(why.map_or_else(|| "the method gives none".into(), skew_unknown))
}

/// By how much all steps of a sender's clock together are undone, units: 9 years. With it, stamps of the years 1970 to 2102 span less than
/// 2^62 nanoseconds, so that differences of their differences fit into 64 bits.
const MAX_SHIFT: i64 = (1 << 58) / UNIT_NS;

/// That calibration packets are stated and nothing is fitted.
fn unheeded(calibration: u64) -> Option<QtcpNote> {
    (calibration > 0).then_some(QtcpNote::CalibrationUnused)
}

/// That a skew is fitted to few packets, of `there`, if it is.
fn few(there: u64, calibration: u64) -> Option<QtcpNote> {
    let packets = if calibration > 0 { there.min(calibration) } else { there };
    let needed = MIN_PACKETS_FOR_SKEW;
    (packets < needed).then_some(QtcpNote::FewPackets { packets, needed })
}

/// That the calibration packets, those before number `until`, are counted from number 0 and not from the `first` that came, where
/// that is so: numbers are missing, so that it may have been lost.
fn counted_from_zero(calibration: u64, first: u64, until: u64) -> Option<QtcpNote> {
    (first > 0 && until == calibration).then_some(QtcpNote::CalibrationFromZero { first, calibration })
}

/// That the sender's clock was set so many times.
fn sent_back(steps: usize) -> Option<QtcpNote> {
    (steps > 0).then_some(QtcpNote::SentBack { steps: steps as u64 })
}

fn compensated(jumps: usize) -> QtcpNote {
    QtcpNote::JumpsCompensated { jumps: jumps as u64 }
}

/// That the jumps of an estimate were compensated, and what is not known of them.
fn compensations(estimate: &Estimate) -> impl Iterator<Item = QtcpNote> {
    let remarks = estimate.remarks.iter().cloned();
    let remarks = remarks.map(|warning| QtcpNote::ClockEstimate { warning: Box::new(warning) });
    [compensated(estimate.events.len()), QtcpNote::OneJumpSize].into_iter().chain(remarks)
}

/// The singleton of an entry, of which nothing else is known.
fn singleton(entry: &Entry) -> OneWaySingleton {
    let nanos = |units: i64| units.saturating_mul(UNIT_NS);
    OneWaySingleton {
        sequence: entry.sequence,
        copy: 0,
        size: entry.size,
        fate: Fate::Arrived,
        departure: Some(Timestamp::from_nanos(nanos(entry.sent))),
        arrival: Some(Timestamp::from_nanos(nanos(entry.received))),
        delay: None,
        ttl: None,
        tos: None,
        leaving: romer_record::Leaving::UNKNOWN,
    }
}

/// What a `.log` holds of one way of an analysed stream: its packets by the stamps without the steps that were undone, and
/// without just what the analysis took out of their delays for the clocks (skew, steps and slews, which both directions
/// may tell), normalised; and the numbers of those that were lost. Latencies count from the same least delay as those of the
/// document: a packet that was corrected too much next to a step has the least, and does not raise all others. Of one clock,
/// and with [`Method::None`], nothing is taken out.
///
/// # Errors
/// [`SkewRefusal::NoFit`] where the analysis found nothing that it could take out.
pub fn log_of(
    evaluated: &Evaluated,
    way: ProbeDirection,
) -> Result<(Vec<Entry>, Vec<u64>, SkewOutcome), SkewRefusal> {
    let (related, clock) = (&evaluated.related, &evaluated.measurement.clock);
    let reverse = way == ProbeDirection::Reverse;
    let singletons = if reverse { &related.reverse } else { &related.forward };
    let correction = &related.corrections[usize::from(reverse)];
    let none = Method::None.to_string();
    if related.delay_kind == DelayKind::Variable && clock.method != none && correction.is_empty() {
        return Err(no_fit(related.not_identifiable.as_ref()));
    }
    let (mut entries, mut delays, mut lost) = (Vec::new(), Vec::new(), Vec::new());
    for packet in singletons.chunk_by(|a, b| a.sequence == b.sequence) {
        let before = entries.len();
        for one in packet {
            let (Some(sent), Some(received)) = (one.departure, one.arrival) else { continue };
            let (sent, received) = (sent.as_nanos(), received.as_nanos());
            let taken_out = correction.at(if reverse { received } else { sent });
            entries.push(Entry {
                sent: sent.div_euclid(UNIT_NS),
                received: received.div_euclid(UNIT_NS) - in_units(taken_out),
                size: one.size,
                sequence: one.sequence,
            });
            delays.push(one.delay);
        }
        if entries.len() == before && matches!(packet[0].fate, Fate::Lost | Fate::Late) {
            lost.push(packet[0].sequence);
        }
    }
    raise(&mut entries, &delays);
    entries.sort_by_key(|entry| entry.received);
    normalise(&mut entries);
    let mut outcome = SkewOutcome::default();
    if !correction.is_empty() {
        outcome.skew_ppm = clock.skew_ppm.map(|ppm| if reverse { -ppm } else { ppm });
    }
    let of_clocks = clock.events.iter().filter(|event| event.kind != ChangeKind::PathChange.name()).count();
    if of_clocks > 0 {
        outcome.notes.push(compensated(of_clocks));
    }
    Ok((entries, lost, outcome))
}

/// Where the analysis gives a packet a longer delay than its stamps and the correction do, for these had it below the least, it
/// has that. All others are as much longer or shorter by their stamps, which are of two clocks.
fn raise(entries: &mut [Entry], delays: &[Option<Duration>]) {
    /// Stamps and correction are rounded, each by a unit at the most.
    const ROUNDED: i64 = 2;
    let beyond = |entry: &Entry, delay: Duration| entry.latency().saturating_sub(in_units(delay.as_nanos()));
    let known = || entries.iter().zip(delays).filter_map(|(entry, delay)| Some(beyond(entry, (*delay)?)));
    let mut all: Vec<i64> = known().collect();
    if all.is_empty() {
        return;
    }
    let middle = all.len() / 2;
    let usual = *all.select_nth_unstable(middle).1;
    for (entry, delay) in entries.iter_mut().zip(delays) {
        if let Some(delay) = *delay
            && beyond(entry, delay) < usual.saturating_sub(ROUNDED)
        {
            entry.received = entry.sent.saturating_add(usual).saturating_add(in_units(delay.as_nanos()));
        }
    }
}

/// Where the send times of packets in order of their numbers go back, which they cannot, those from there on go on after
/// the usual gap; how often that was.
///
/// # Errors
/// They go back by more than [`MAX_SHIFT`] in all. The entries are as before then.
fn straighten(entries: &mut [Entry]) -> Result<usize, SkewRefusal> {
    let mut order: Vec<usize> = (0..entries.len()).collect();
    order.sort_by_key(|place| entries[*place].sequence);
    let pairs = |order: &[usize]| -> Vec<(i64, i64)> {
        let of = |pair: &[usize]| {
            let [a, b] = [entries[pair[0]], entries[pair[1]]];
            (b.sent.saturating_sub(a.sent), i64::try_from(b.sequence - a.sequence).unwrap_or(i64::MAX))
        };
        order.windows(2).map(of).collect()
    };
    let steps = pairs(&order);
    let mut gaps: Vec<i64> = steps
        .iter()
        .filter(|(sent, packets)| *sent > 0 && *packets > 0)
        .map(|(sent, packets)| sent / packets)
        .collect();
    gaps.sort_unstable();
    let usual = gaps.get(gaps.len() / 2).copied().unwrap_or(0);
    let (mut shift, mut count) = (0_i64, 0);
    let shifts: Vec<i64> = steps
        .into_iter()
        .map(|(sent, packets)| {
            if sent < 0 {
                shift = shift.saturating_add(usual.saturating_mul(packets).saturating_sub(sent));
                count += 1;
            }
            shift
        })
        .collect();
    if shift > MAX_SHIFT {
        return Err(SkewRefusal::NoFit("the send times go back further than a clock is set".into()));
    }
    for (shift, place) in shifts.into_iter().zip(order.into_iter().skip(1)) {
        entries[place].sent = entries[place].sent.saturating_add(shift);
    }
    Ok(count)
}

fn take_out(entries: &mut [Entry], correction: &Correction) {
    corrected(entries, |sent| in_units(correction.at(sent.saturating_mul(UNIT_NS))));
}

/// The nearest number of units.
fn in_units(nanos: i64) -> i64 {
    nanos.saturating_add(UNIT_NS / 2).div_euclid(UNIT_NS)
}

/// The packets of one way of a stream, as Qtcp's receiver would have logged them: in order of arrival, in units of 100 ns; and what
/// became of those that are missing there. Of a stream whose packets are reflected, `way` says which leg. The stamps are those of the
/// evaluation, or with `user_stamps` those of the programs; packets without them are left out.
pub fn entries(
    evaluated: &Evaluated,
    rows: &[RoundTrip],
    way: ProbeDirection,
    user_stamps: bool,
) -> (Vec<Entry>, Missing) {
    let user = Some(TimestampPoint::User);
    let selection =
        if user_stamps { Selection { t1: user, t2: user, t3: user, t4: user } } else { evaluated.selection };
    let units = |nanos: i64| nanos.div_euclid(UNIT_NS);
    let reverse = way == ProbeDirection::Reverse;
    let of_way = |row: &&RoundTrip| row.way == ProbeDirection::RoundTrip || row.way == way;
    let mut entries = Vec::new();
    let mut missing = Missing::default();
    for packet in rows.chunk_by(|a, b| (a.way, a.sequence) == (b.way, b.sequence)) {
        let before = entries.len();
        let mut arrivals = ArrivalsSeen::new();
        for row in packet.iter().filter(of_way).filter(|row| !row.not_sent) {
            let stamps = if reverse {
                row.t3
                    .at(selection.t3)
                    .map(Timestamp::as_nanos)
                    .zip(row.t4.at(selection.t4).map(Timestamp::as_nanos))
            } else {
                row.t1
                    .at(selection.t1)
                    .map(Timestamp::as_nanos)
                    .zip(row.t2.at(selection.t2).map(Timestamp::as_nanos))
            };
            let Some((sent, received)) = stamps else { continue };
            // What came there once and back twice has two rows.
            if !reverse && row.way == ProbeDirection::RoundTrip && !arrivals.is_new(row.forward_copy) {
                continue;
            }
            entries.push(Entry {
                sent: units(sent),
                received: units(received),
                size: row.size,
                sequence: row.sequence,
            });
        }
        let first = packet.iter().find(of_way);
        if let Some(first) = first.filter(|_| entries.len() == before) {
            missing.take(first.sequence, fate(evaluated, first, way));
        }
    }
    entries.sort_by_key(|entry| entry.received);
    (entries, missing)
}

/// The numbers that are missing in a `.raw`, which Qtcp takes for losses, by what became of the packets.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Missing {
    /// The path lost them.
    pub lost: Vec<u64>,
    /// The path carried them to a host that did not read them.
    pub unread: Vec<u64>,
    /// How many others there are: they did not leave, were in flight at the end, or it is not known whether they arrived.
    pub left_out: u64,
}

impl Missing {
    fn take(&mut self, sequence: u64, fate: Option<Fate>) {
        match fate {
            Some(Fate::Lost | Fate::Late) => self.lost.push(sequence),
            Some(Fate::InstrumentDrop) => self.unread.push(sequence),
            Some(Fate::Arrived | Fate::InFlight | Fate::Unknown) | None => self.left_out += 1,
        }
    }

    /// That a `.raw` lacks packets that were not lost, where it does.
    pub fn note(&self) -> Option<QtcpNote> {
        let host_drops = self.unread.len() as u64;
        let packets = self.left_out + host_drops;
        (packets > 0).then_some(QtcpNote::NumbersNotLost { packets, host_drops })
    }
}

/// What became of a packet that has no arrival, on its way; `None` where it did not leave that way.
fn fate(evaluated: &Evaluated, row: &RoundTrip, way: ProbeDirection) -> Option<Fate> {
    let related = &evaluated.related;
    let of = |singletons| fate_of(singletons, row.sequence);
    match (row.way, way) {
        _ if row.not_sent => None,
        (ProbeDirection::RoundTrip, ProbeDirection::Reverse) => {
            // Replies have numbers of their own, and to what did not get there there is none.
            let got_there =
                row.seen_by_responder || matches!(of(&related.forward), Some(Fate::Arrived | Fate::Late));
            if got_there { of(&related.round_trip) } else { None }
        }
        (_, ProbeDirection::Reverse) => of(&related.reverse),
        _ => of(&related.forward),
    }
}

/// What the `.sta` file of these packets says; `run` is a name that no other file has.
pub fn statistics(
    stream: &Stream,
    run: String,
    raw: &[Entry],
    missing: Missing,
    outcome: &SkewOutcome,
) -> Statistics {
    let octets: u64 = raw.iter().map(|entry| u64::from(entry.size)).sum();
    let count = raw.len() as u64;
    let mut numbers: Vec<u64> = raw.iter().map(|entry| entry.sequence).collect();
    numbers.sort_unstable();
    numbers.dedup();
    let first = raw.iter().map(|entry| entry.sent).min().unwrap_or(0);
    let last = raw.iter().map(|entry| entry.sent).max().unwrap_or(0);
    #[expect(clippy::cast_precision_loss, reason = "a run is far shorter than 2^53 units of 100 ns")]
    let duration = (last - first) as f64 * 1e-7;
    let received = numbers.len() as u64;
    #[expect(clippy::cast_precision_loss, reason = "a run has far fewer than 2^53 octets")]
    let rate = (duration > 0.0 && received > 1).then(|| {
        let packets = received + (missing.lost.len() + missing.unread.len()) as u64;
        octets as f64 / count as f64 * (packets - 1) as f64 / duration
    });
    let class = stream.traffic.dscp.and_then(Dscp::new);
    Statistics {
        run,
        received,
        duplicated: count - received,
        lost: missing.lost,
        unread: missing.unread,
        left_out: missing.left_out,
        calibration: stream.skew.calibration,
        size: u32::try_from((octets + count / 2) / count.max(1)).unwrap_or(u32::MAX),
        rate,
        service: class
            .filter(|dscp| dscp.value() > 0)
            .map_or_else(|| "best-effort".into(), |dscp| dscp.to_string()),
        duration,
        skew_ppm: outcome.skew_ppm,
        ..Statistics::default()
    }
}

#[cfg(test)]
mod tests {
    use romer_units::random::{RandomStream as Random, Seed};

    use super::*;

    /// Packets 20 ms apart over a minute: a skew of 40 parts in a million, and queues of 200 us on average behind the
    /// first 500 packets, which find the path empty.
    fn skewed() -> Vec<Entry> {
        let random = Random::new(Seed([7; 6]), [1, 0]);
        let mut entries = Vec::new();
        for sequence in 0..3_000u64 {
            let sent = 5_000_000 + i64::try_from(sequence).unwrap() * 200_000;
            let queue = if sequence < 500 { 0.0 } else { -2_000.0 * (1.0 - random.unit(sequence)).ln() };
            #[expect(clippy::cast_possible_truncation, reason = "a queue is short")]
            let delay = 300 + queue as i64 + (sent - 5_000_000) * 40 / 1_000_000;
            entries.push(Entry { sent, received: sent - 77_000_000 + delay, size: 64, sequence });
        }
        entries
    }

    #[test]
    fn each_k_takes_the_skew_out_and_leaves_the_least_latency_at_zero() {
        for (k, calibration, within) in
            [(1, 0, 12.0), (1, 500, 0.1), (2, 0, 12.0), (2, 500, 0.1), (3, 500, 0.1)]
        {
            let mut entries = skewed();
            let outcome = to_log(&mut entries, method(k), calibration, false).unwrap();
            let skew = outcome.skew_ppm.unwrap();
            assert!((skew - 40.0).abs() < within, "-k {k} -c {calibration}: {skew}");
            assert_eq!(entries.iter().map(Entry::latency).min(), Some(0), "-k {k}");
            if calibration > 0 {
                assert!(
                    entries[..500].iter().all(|entry| entry.latency() <= 3),
                    "-k {k}: the quiet packets are level"
                );
            }
        }
        let mut entries = skewed();
        assert_eq!(to_log(&mut entries, method(0), 0, false).unwrap().skew_ppm, None);
        assert_eq!(entries.last().unwrap().sent, 2_999 * 200_000);
    }

    #[test]
    fn jumps_of_either_clock_are_taken_out_of_every_packet() {
        let quiet = || -> Vec<Entry> {
            let mut entries = skewed();
            entries.iter_mut().for_each(|entry| entry.received = entry.sent + 2_000 + entry.received % 400);
            entries
        };
        let spread = |mut entries: Vec<Entry>| {
            let outcome = to_log(&mut entries, method(3), 0, false).unwrap();
            (entries.iter().map(Entry::latency).max().unwrap(), outcome.notes)
        };
        // 7 ms, at a place that is no block's beginning.
        let mut ahead = quiet();
        ahead[1_203..].iter_mut().for_each(|entry| entry.received += 70_000);
        let (most, notes) = spread(ahead);
        assert!(most < 1_000, "{most}: {notes:?}");
        // The sender's clock goes back by 50 ms, more than two packets' distance.
        let mut back = quiet();
        back[1_777..].iter_mut().for_each(|entry| entry.sent -= 500_000);
        let (most, notes) = spread(back);
        assert!(most < 1_000 && notes.contains(&QtcpNote::SentBack { steps: 1 }), "{most}: {notes:?}");
    }

    #[test]
    fn what_cannot_be_fitted_is_refused() {
        assert!(matches!(
            to_log(&mut skewed(), method(2), 4_000, false),
            Err(SkewRefusal::Calibration { .. })
        ));
        let mut steep: Vec<Entry> = skewed();
        for entry in &mut steep {
            entry.received += (entry.sent - 5_000_000) / 100;
        }
        assert!(matches!(
            to_log(&mut steep.clone(), method(2), 500, false),
            Err(SkewRefusal::Implausible(..))
        ));
        assert!(to_log(&mut steep, method(2), 500, true).is_ok());
        let mut lossy = skewed();
        lossy.retain(|entry| entry.sequence % 3 > 0);
        assert!(to_log(&mut lossy, method(2), 2_500, false).is_ok(), "that were sent, not that arrived");
        let mut one = skewed()[..1].to_vec();
        assert_eq!(to_log(&mut one, method(2), 0, false).unwrap().notes, [QtcpNote::OnePacket]);
        let mut level = skewed();
        level.iter_mut().take(500).for_each(|entry| entry.sent = 5_000_000);
        assert!(
            matches!(to_log(&mut level, method(2), 500, false), Err(SkewRefusal::NoFit(_))),
            "constant send times"
        );
    }
}

//! Samples: sequences of numbers taken from the singletons of one direction.
//!
//! All take singletons in order of sequence and copy, as `romer_singletons` returns them.

use romer_record::{Fate, OneWaySingleton};

/// Each packet once, in order of sequence.
pub fn sent(singletons: &[OneWaySingleton]) -> impl Iterator<Item = &OneWaySingleton> {
    singletons.iter().filter(|singleton| singleton.copy == 0)
}

/// Each packet that arrived in time, by its first copy, in order of sequence.
pub fn received(singletons: &[OneWaySingleton]) -> impl Iterator<Item = &OneWaySingleton> {
    sent(singletons).filter(|singleton| singleton.fate == Fate::Arrived)
}

/// Each packet that arrived in time and whose arrival was stamped, in order of arrival; equal moments in order
/// of sequence.
pub fn in_order_of_arrival(singletons: &[OneWaySingleton]) -> Vec<&OneWaySingleton> {
    let mut arrived: Vec<&OneWaySingleton> =
        received(singletons).filter(|singleton| singleton.arrival.is_some()).collect();
    crate::sort::settle_by_key(&mut arrived, |singleton| (singleton.arrival, singleton.sequence));
    arrived
}

pub(crate) fn delay(singleton: &OneWaySingleton) -> Option<i64> {
    singleton.delay.map(romer_units::Duration::as_nanos)
}

/// The delays (RFC 7679, RFC 2681), nanoseconds.
pub fn delays(singletons: &[OneWaySingleton]) -> Vec<i64> {
    each_delay(singletons).collect()
}

/// The same, one after the other.
pub(crate) fn each_delay(singletons: &[OneWaySingleton]) -> impl Iterator<Item = i64> {
    received(singletons).filter_map(delay)
}

/// Pairs of received packets with consecutive sequence numbers.
pub(crate) fn consecutive(
    singletons: &[OneWaySingleton],
) -> impl Iterator<Item = (&OneWaySingleton, &OneWaySingleton)> {
    let pairs = received(singletons).zip(received(singletons).skip(1));
    pairs.filter(|(first, second)| first.sequence.checked_add(1) == Some(second.sequence))
}

/// The delay variation of packets with consecutive sequence numbers, signed: the second's delay minus the first's
/// (RFC 3393 section 2). Where either is lost there is none.
pub fn ipdv(singletons: &[OneWaySingleton]) -> Vec<i64> {
    let pairs = consecutive(singletons).filter_map(|(first, second)| delay(first).zip(delay(second)));
    pairs.map(|(first, second)| second.saturating_sub(first)).collect()
}

/// The delays above the least one of the sample (RFC 5481 section 4.2).
pub fn pdv(singletons: &[OneWaySingleton]) -> Vec<i64> {
    let delays = delays(singletons);
    let least = delays.iter().copied().min().unwrap_or(0);
    delays.into_iter().map(|delay| delay.saturating_sub(least)).collect()
}

/// Times between consecutive departures, in order of departure, on the departing host's clock: of all packets
/// that were sent, whatever became of them.
pub fn inter_departures(singletons: &[OneWaySingleton]) -> Vec<i64> {
    gaps_between_departures(singletons)
}

/// The same, in the room that they take.
pub(crate) fn gaps_between_departures<G: FromIterator<i64>>(singletons: &[OneWaySingleton]) -> G {
    let departures = || sent(singletons).filter_map(|singleton| singleton.departure);
    if departures().is_sorted() {
        return departures().zip(departures().skip(1)).map(|(one, next)| (next - one).as_nanos()).collect();
    }
    let mut departures: Vec<_> = departures().collect();
    departures.sort_unstable();
    departures.windows(2).map(|pair| (pair[1] - pair[0]).as_nanos()).collect()
}

/// Times between consecutive arrivals, in order of arrival, on the arriving host's clock.
pub fn inter_arrivals(singletons: &[OneWaySingleton]) -> Vec<i64> {
    spacings_of(&in_order_of_arrival(singletons)).collect()
}

/// The same of packets that are in order of arrival.
pub(crate) fn spacings_of(arrived: &[&OneWaySingleton]) -> impl Iterator<Item = i64> {
    let arrivals = arrived.iter().filter_map(|singleton| singleton.arrival);
    arrivals.clone().zip(arrivals.skip(1)).map(|(first, second)| (second - first).as_nanos())
}

/// How long after its scheduled moment each packet really left.
pub(crate) fn departure_errors(singletons: &[OneWaySingleton]) -> impl Iterator<Item = i64> {
    sent(singletons).filter_map(OneWaySingleton::departure_error).map(|error| error.as_nanos())
}

/// Times from the first copy of a packet to each further one (RFC 5560), in order of sequence.
pub fn duplicate_spacings(singletons: &[OneWaySingleton]) -> Vec<i64> {
    let mut spacings = Vec::new();
    let mut first: Option<&OneWaySingleton> = None;
    for singleton in singletons {
        if singleton.copy == 0 {
            first = Some(singleton);
            continue;
        }
        let of_same = first.filter(|first| first.sequence == singleton.sequence);
        let both = of_same.and_then(|first| first.arrival).zip(singleton.arrival);
        spacings.extend(both.map(|(first, copy)| (copy - first).as_nanos()));
    }
    spacings
}

/// A float as the nearest whole number; beyond the range, its end.
#[expect(clippy::cast_possible_truncation, reason = "a float beyond the range becomes its end")]
pub(crate) fn nearest(value: f64) -> i64 {
    value.round() as i64
}

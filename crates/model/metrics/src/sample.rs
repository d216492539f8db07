//! Samples: sequences of numbers taken from the passages of one direction.
//!
//! All take passages in order of sequence and copy, as `romer_passages` returns them.

use romer_record::{Fate, Passage};

/// Each packet once, in order of sequence.
pub fn sent(passages: &[Passage]) -> impl Iterator<Item = &Passage> {
    passages.iter().filter(|passage| passage.copy == 0)
}

/// Each packet that arrived in time, by its first copy, in order of sequence.
pub fn received(passages: &[Passage]) -> impl Iterator<Item = &Passage> {
    sent(passages).filter(|passage| passage.fate == Fate::Arrived)
}

/// Each packet that arrived in time and whose arrival was stamped, in order of arrival; equal moments in order
/// of sequence.
pub fn in_order_of_arrival(passages: &[Passage]) -> Vec<&Passage> {
    let mut arrived: Vec<&Passage> = received(passages).filter(|passage| passage.arrival.is_some()).collect();
    crate::sort::settle_by_key(&mut arrived, |passage| (passage.arrival, passage.sequence));
    arrived
}

pub(crate) fn delay(passage: &Passage) -> Option<i64> {
    passage.delay.map(romer_units::Duration::as_nanos)
}

/// The delays (RFC 7679, RFC 2681), nanoseconds.
pub fn delays(passages: &[Passage]) -> Vec<i64> {
    each_delay(passages).collect()
}

/// The same, one after the other.
pub(crate) fn each_delay(passages: &[Passage]) -> impl Iterator<Item = i64> {
    received(passages).filter_map(delay)
}

/// Pairs of received packets with consecutive sequence numbers.
pub(crate) fn consecutive(passages: &[Passage]) -> impl Iterator<Item = (&Passage, &Passage)> {
    let pairs = received(passages).zip(received(passages).skip(1));
    pairs.filter(|(first, second)| first.sequence.checked_add(1) == Some(second.sequence))
}

/// The delay variation of packets with consecutive sequence numbers, signed: the second's delay minus the first's
/// (RFC 3393 section 2). Where either is lost there is none.
pub fn ipdv(passages: &[Passage]) -> Vec<i64> {
    let pairs = consecutive(passages).filter_map(|(first, second)| delay(first).zip(delay(second)));
    pairs.map(|(first, second)| second.saturating_sub(first)).collect()
}

/// The delays above the least one of the sample (RFC 5481 section 4.2).
pub fn pdv(passages: &[Passage]) -> Vec<i64> {
    let delays = delays(passages);
    let least = delays.iter().copied().min().unwrap_or(0);
    delays.into_iter().map(|delay| delay.saturating_sub(least)).collect()
}

/// Times between consecutive departures, in order of departure, on the departing host's clock: of all packets
/// that were sent, whatever became of them.
pub fn inter_departures(passages: &[Passage]) -> Vec<i64> {
    gaps_between_departures(passages)
}

/// The same, in the room that they take.
pub(crate) fn gaps_between_departures<G: FromIterator<i64>>(passages: &[Passage]) -> G {
    let departures = || sent(passages).filter_map(|passage| passage.departure);
    if departures().is_sorted() {
        return departures().zip(departures().skip(1)).map(|(one, next)| (next - one).as_nanos()).collect();
    }
    let mut departures: Vec<_> = departures().collect();
    departures.sort_unstable();
    departures.windows(2).map(|pair| (pair[1] - pair[0]).as_nanos()).collect()
}

/// Times between consecutive arrivals, in order of arrival, on the arriving host's clock.
pub fn inter_arrivals(passages: &[Passage]) -> Vec<i64> {
    spacings_of(&in_order_of_arrival(passages)).collect()
}

/// The same of packets that are in order of arrival.
pub(crate) fn spacings_of(arrived: &[&Passage]) -> impl Iterator<Item = i64> {
    let arrivals = arrived.iter().filter_map(|passage| passage.arrival);
    arrivals.clone().zip(arrivals.skip(1)).map(|(first, second)| (second - first).as_nanos())
}

/// How long after its scheduled moment each packet really left.
pub(crate) fn departure_errors(passages: &[Passage]) -> impl Iterator<Item = i64> {
    sent(passages).filter_map(Passage::departure_error).map(|error| error.as_nanos())
}

/// Times from the first copy of a packet to each further one (RFC 5560), in order of sequence.
pub fn duplicate_spacings(passages: &[Passage]) -> Vec<i64> {
    let mut spacings = Vec::new();
    let mut first: Option<&Passage> = None;
    for passage in passages {
        if passage.copy == 0 {
            first = Some(passage);
            continue;
        }
        let of_same = first.filter(|first| first.sequence == passage.sequence);
        let both = of_same.and_then(|first| first.arrival).zip(passage.arrival);
        spacings.extend(both.map(|(first, copy)| (copy - first).as_nanos()));
    }
    spacings
}

/// A float as the nearest whole number; beyond the range, its end.
#[expect(clippy::cast_possible_truncation, reason = "a float beyond the range becomes its end")]
pub(crate) fn nearest(value: f64) -> i64 {
    value.round() as i64
}

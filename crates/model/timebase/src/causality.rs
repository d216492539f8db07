//! Whether one-way delays are possible beside their round trips.
//!
//! A delay of one way is no longer than the round trip that contains it. With the clocks' difference taken out rightly, delays above
//! the least ones are below that. Where many are above it, the clocks were not related: the responder's stamps are of no clock that
//! the estimate describes, or what it does is left in on request.

use romer_record::Passage;
use romer_record::document::ClockState;
use romer_units::{Duration, Timestamp, counted};

use crate::Related;
use crate::rejected::are_many;
use crate::skew::{Skew, rounded};

/// What speaks against the one-way delays.
#[derive(Clone, Copy, Debug, Default)]
struct Contradiction {
    /// Round trips that are compared, and those of which one way takes longer than the whole.
    compared: u64,
    impossible: u64,
    /// The longest such delay, and its round trip, nanoseconds.
    worst: (i64, i64),
}

/// A length of time to three digits.
fn shown(nanos: i64) -> Duration {
    let unit = 10_i64.pow(nanos.unsigned_abs().max(1).ilog10().saturating_sub(2));
    Duration::from_nanos(nanos / unit * unit)
}

impl Contradiction {
    fn compare(&mut self, delay: Duration, round_trip: Duration, spare_ns: i64) {
        let (delay, round_trip) = (delay.as_nanos(), round_trip.as_nanos());
        self.compared += 1;
        if delay > round_trip.saturating_add(spare_ns) {
            self.impossible += 1;
            self.worst = self.worst.max((delay, round_trip));
        }
    }
}

impl Related {
    /// Refuses the one-way delays where many of them are longer than their round trips: gives the reason, for people. `least` are the
    /// least corrected differences of the stamps in both directions, and `skew` is what both directions agree upon, if they do. What the
    /// stamps do not tell apart, `coarse_ns` in each delay, contradicts nothing.
    pub(crate) fn refuse_impossible(
        &mut self,
        least: [Option<i128>; 2],
        skew: Option<Skew>,
        coarse_ns: f64,
    ) -> Option<String> {
        let [there, back] = least;
        let spare_ns = rounded(2.0 * coarse_ns);
        // A delay there and the one back are together as much longer than the round trip as their least ones are below zero.
        if there?.saturating_add(back?) >= -i128::from(spare_ns) {
            return None;
        }
        let [forward, reverse] = self.contradictions(spare_ns);
        let worst = if forward.impossible > reverse.impossible { forward } else { reverse };
        if !are_many(worst.impossible, worst.compared) {
            return None;
        }
        for passage in self.forward.iter_mut().chain(&mut self.reverse) {
            passage.delay = None;
        }
        self.clock = ClockState { method: core::mem::take(&mut self.clock.method), ..ClockState::default() };
        self.corrections = Default::default();
        self.one_way_refused = true;
        let clocks = skew.map_or_else(String::new, |skew| {
            format!(
                "; both directions alike have the responder's clock run {:+.1} ppm off this one",
                skew.ppm
            )
        });
        let (delay, round_trip) = worst.worst;
        let reason = format!(
            "no one-way delays are given: by the stamps of the two hosts, {} of {} took longer one way than there and back \
             (up to {}, and {} there and back){clocks}. The clocks' difference is not known well enough to be taken out",
            worst.impossible,
            counted(worst.compared, "probe"),
            shown(delay),
            shown(round_trip)
        );
        self.not_identifiable = Some(reason.clone());
        Some(reason)
    }

    fn contradictions(&self, spare_ns: i64) -> [Contradiction; 2] {
        let delay = |one: &Passage| one.delay.filter(|_| one.copy == 0);
        let mut forward = Contradiction::default();
        let mut whole = self.round_trip.iter().filter(|one| delay(one).is_some()).peekable();
        for (one, delay) in self.forward.iter().filter_map(|one| Some((one, delay(one)?))) {
            while whole.next_if(|whole| whole.sequence < one.sequence).is_some() {}
            let of_probe = whole.peek().filter(|whole| whole.sequence == one.sequence);
            if let Some(round_trip) = of_probe.and_then(|whole| whole.delay) {
                forward.compare(delay, round_trip, spare_ns);
            }
        }
        // A reply has the number of its order, not of its probe; its arrival is the same.
        let arrival = |one: &Passage| one.arrival.map(Timestamp::as_nanos);
        let all = self.round_trip.iter();
        let mut by_arrival: Vec<(i64, Duration)> =
            all.filter_map(|one| Some((arrival(one)?, delay(one)?))).collect();
        by_arrival.sort_unstable();
        let mut reverse = Contradiction::default();
        for (at, delay) in self.reverse.iter().filter_map(|one| Some((arrival(one)?, delay(one)?))) {
            if let Ok(place) = by_arrival.binary_search_by_key(&at, |one| one.0) {
                reverse.compare(delay, by_arrival[place].1, spare_ns);
            }
        }
        [forward, reverse]
    }
}

//! Whether one-way delays are possible beside their round trips.
//!
//! A delay of one way is no longer than the round trip that contains it. With the clocks' difference taken out rightly, delays above
//! the least ones are below that. Where many are above it, there is no telling them: the responder's stamps are of no clock that the
//! estimate describes, or what it does is left in on request, or the stamps are coarser than the round trip. Where few are, the round trip
//! bounds them.
//!
//! On one clock no packet arrives before it leaves. Where some do, the stamps are of two clocks, whatever is stated of them.

use romer_record::OneWaySingleton;
use romer_record::document::ClockState;
use romer_record::warning::{EarlyArrivals, MeasurementWarning, OneWayContradiction, SkewUnknown};
use romer_units::Duration;

use crate::rejected::are_many;
use crate::relate::StreamSingletons;
use crate::single::{are_no_single_ones, unit, withdraw};
use romer_clock::skew::{Skew, rounded};

/// What speaks against the one-way delays.
#[derive(Clone, Copy, Debug, Default)]
struct Contradiction {
    /// Round trips that are compared, and those of which one way takes longer than the whole.
    compared: u64,
    impossible: u64,
    /// Those of these that are longer by more than the stamps leave open.
    beyond: u64,
    /// The longest such delay, and its round trip, nanoseconds.
    worst: (i64, i64),
}

/// Packets that arrive before they leave, by one clock.
#[derive(Clone, Copy, Debug, Default)]
struct Early {
    /// How far below zero a delay may be by what the stamps leave open.
    spare: Duration,
    /// The packets with a delay, forward and in reverse, and those of them that are early.
    all: [u64; 2],
    count: [u64; 2],
    max_ns: i64,
}

impl Early {
    fn is(&self, delay: Duration) -> bool {
        delay + self.spare < Duration::ZERO
    }

    /// Whether they are too many for single false stamps.
    fn are_many(&self) -> bool {
        let [all, count] = [self.all, self.count].map(|[forward, reverse]| forward.saturating_add(reverse));
        are_no_single_ones(count, all)
    }

    /// How many of which direction.
    const fn counts(&self) -> EarlyArrivals {
        EarlyArrivals {
            forward: self.count[0],
            forward_compared: self.all[0],
            reverse: self.count[1],
            reverse_compared: self.all[1],
            max_ns: self.max_ns,
        }
    }
}

impl Contradiction {
    fn compare(&mut self, delay: Duration, round_trip: Duration, spare_ns: i64) {
        let (delay, round_trip) = (delay.as_nanos(), round_trip.as_nanos());
        self.compared += 1;
        if delay > round_trip {
            self.impossible += 1;
            self.beyond += u64::from(delay > round_trip.saturating_add(spare_ns));
            self.worst = self.worst.max((delay, round_trip));
        }
    }
}

impl StreamSingletons {
    /// Refuses the one-way delays where many of them are longer than their round trips: gives the reason. Single ones become
    /// what their round trip is. `least` are the least corrected differences of the stamps in both directions, and `skew` is what both
    /// directions agree upon, if they do. The stamps tell no less than `coarse_ns` apart.
    pub(crate) fn refuse_impossible(
        &mut self,
        least: [Option<i128>; 2],
        skew: Option<Skew>,
        coarse_ns: f64,
    ) -> Option<OneWayContradiction> {
        let [there, back] = least;
        // A delay there and the one back are together as much longer than the round trip as their least ones are below zero.
        if there?.saturating_add(back?) >= 0 {
            return None;
        }
        let spare_ns = rounded(2.0 * coarse_ns);
        let round_trips = self.round_trips();
        let [forward, reverse] = self.contradictions(&round_trips, spare_ns);
        let worst = if forward.impossible > reverse.impossible { forward } else { reverse };
        let usual = self.usual_round_trip();
        let is_coarse = usual.is_some_and(|usual| rounded(coarse_ns) > usual.as_nanos());
        let is_clock = are_many(worst.beyond, worst.compared);
        let is_unit = is_coarse && are_many(worst.impossible, worst.compared);
        if !is_clock && !is_unit {
            self.bound(&round_trips);
            return None;
        }
        let (one_way_delay_ns, round_trip_delay_ns) = worst.worst;
        let mut found = OneWayContradiction {
            contradicting: worst.impossible,
            compared: worst.compared,
            one_way_delay_ns,
            round_trip_delay_ns,
            skew_ppm: None,
            resolution_ns: None,
        };
        if is_clock {
            found.skew_ppm = skew.map(|skew| skew.ppm);
            self.refuse_one_way();
        } else {
            found.resolution_ns = Some(rounded(coarse_ns));
            self.without_far_stamps();
        }
        self.clock = ClockState { method: core::mem::take(&mut self.clock.method), ..ClockState::default() };
        self.corrections = Default::default();
        self.not_identifiable = Some(SkewUnknown::Contradicted(found.clone()));
        Some(found)
    }

    /// The round trips of the first arrivals, by number of the probe and by when they came back. A reply has the number of its order, not
    /// of its probe; its arrival is the same.
    fn round_trips(&self) -> [Vec<(i64, Duration)>; 2] {
        let firsts = || self.round_trip.iter().filter(|one| one.copy == 0);
        let by_number =
            firsts().filter_map(|one| Some((i64::try_from(one.sequence).ok()?, one.delay?))).collect();
        let mut by_arrival: Vec<(i64, Duration)> =
            firsts().filter_map(|one| Some((one.arrival?.as_nanos(), one.delay?))).collect();
        by_arrival.sort_unstable();
        [by_number, by_arrival]
    }

    fn contradictions(&self, round_trips: &[Vec<(i64, Duration)>; 2], spare_ns: i64) -> [Contradiction; 2] {
        let mut ways = [Contradiction::default(); 2];
        for (place, singletons) in [&self.forward, &self.reverse].into_iter().enumerate() {
            for one in singletons {
                if let Some((delay, whole)) = one.delay.zip(round_trip_of(one, place, round_trips)) {
                    ways[place].compare(delay, whole, spare_ns);
                }
            }
        }
        ways
    }

    /// No delay of one way is longer than its round trip.
    fn bound(&mut self, round_trips: &[Vec<(i64, Duration)>; 2]) {
        for (place, singletons) in [&mut self.forward, &mut self.reverse].into_iter().enumerate() {
            for one in singletons {
                if let Some(whole) = round_trip_of(one, place, round_trips) {
                    one.delay = one.delay.map(|delay| delay.min(whole.max(Duration::ZERO)));
                }
            }
        }
    }

    /// The median of the round trips.
    fn usual_round_trip(&self) -> Option<Duration> {
        let mut all: Vec<Duration> = self.round_trip.iter().filter_map(|one| one.delay).collect();
        let middle = all.len() / 2;
        (!all.is_empty()).then(|| *all.select_nth_unstable(middle).1)
    }

    /// What contradicts one clock for both ends: packets that arrive before they leave, by more than the stamps leave
    /// open. The delays are those of one clock.
    pub fn contradicts_one_clock(&self) -> Option<EarlyArrivals> {
        let early = self.early();
        early.are_many().then(|| early.counts())
    }

    /// Takes the stamps of single packets that arrive before they leave by one clock, and says so: one of their stamps is false.
    pub(crate) fn reject_early(&mut self) -> Option<MeasurementWarning> {
        let early = self.early();
        if early.count == [0, 0] || early.are_many() {
            return None;
        }
        let all = self.forward.iter_mut().chain(&mut self.reverse);
        all.filter(|one| one.delay.is_some_and(|delay| early.is(delay))).for_each(withdraw);
        Some(MeasurementWarning::EarlyArrivalsDiscarded(early.counts()))
    }

    /// The packets that arrive before they leave, by more than the stamps leave open.
    fn early(&self) -> Early {
        let ways = [&self.forward, &self.reverse];
        let mut early = Early::default();
        if ways.iter().all(|way| way.iter().filter_map(|one| one.delay).all(|delay| delay >= Duration::ZERO))
        {
            return early;
        }
        let unit = Duration::from_nanos(unit([&self.forward, &self.reverse]));
        // A unit longer than the round trip excuses everything.
        if self.usual_round_trip().is_none_or(|usual| unit <= usual) {
            early.spare = unit;
        }
        for (place, way) in ways.into_iter().enumerate() {
            for delay in way.iter().filter_map(|one| one.delay) {
                early.all[place] += 1;
                if early.is(delay) {
                    early.count[place] += 1;
                    early.max_ns = early.max_ns.max(delay.as_nanos().saturating_neg());
                }
            }
        }
        early
    }
}

/// The round trip that a singleton of the forward (0) or reverse direction (1) is part of.
fn round_trip_of(
    one: &OneWaySingleton,
    place: usize,
    round_trips: &[Vec<(i64, Duration)>; 2],
) -> Option<Duration> {
    let key = match place {
        0 => i64::try_from(one.sequence).ok()?,
        _ => one.arrival?.as_nanos(),
    };
    let all = round_trips.get(place).filter(|_| one.copy == 0)?;
    all.binary_search_by_key(&key, |round_trip| round_trip.0).ok().map(|at| all[at].1)
}

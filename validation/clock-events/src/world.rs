//! Two hosts with clocks that are wrong, and a path between them: from a description and a seed to a [`Play`].
//!
//! True time is that of the sender's clock until it is set. A packet departs at a true time, takes the path's base
//! delay, its changes and a waiting time, and has a stamp of each host's clock.

use std::f64::consts::TAU;

use crate::draws::{Draws, nanos};
use crate::play::{Change, Kind, Play, Probe};
use crate::queue::{Queue, QueueState};

/// When packets depart. Times are seconds.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Departures {
    /// At equal intervals.
    Even(f64),
    /// Up to half an interval after equal ones.
    Uneven(f64),
    /// At random with this mean interval.
    Poisson(f64),
}

/// A clock. Times are seconds.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Clock {
    /// Rate against true time.
    pub(crate) rate: f64,
    /// Swing of the rate: amplitude, period, phase.
    pub(crate) swing: Option<(f64, f64, f64)>,
    /// Random walk of the rate: its deviation after one second.
    pub(crate) walk: f64,
    /// When and by how much it is set.
    pub(crate) steps: Vec<(f64, f64)>,
    /// From when, at which additional rate, and for how long it is slewed.
    pub(crate) slews: Vec<(f64, f64, f64)>,
}

/// A change of a path.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Route {
    /// True time of the change at the path's entry.
    pub(crate) at: f64,
    /// 0 for forward, 1 for reverse.
    pub(crate) direction: usize,
    /// Growth of the delay.
    pub(crate) longer: f64,
    /// Seconds that the growth takes; 0 if it comes at once.
    pub(crate) lasts: f64,
}

/// What is simulated. Times are seconds.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct World {
    pub(crate) length: f64,
    pub(crate) departures: Departures,
    /// Replies depart so long after their probes arrived; `None` if both directions have schedules of their own.
    pub(crate) turnaround: Option<f64>,
    /// Least delay of each direction.
    pub(crate) base: [f64; 2],
    pub(crate) queues: [Queue; 2],
    /// Probabilities that a burst of losses begins, and that it ends, at a packet.
    pub(crate) bursts: Option<(f64, f64)>,
    /// Nothing is sent from the first to the second moment.
    pub(crate) silences: Vec<(f64, f64)>,
    /// Single packets besides, by departure; they may lie outside of the run.
    pub(crate) single: Vec<f64>,
    /// Unit of the stamps.
    pub(crate) unit: f64,
    pub(crate) responder: Clock,
    pub(crate) sender: Clock,
    pub(crate) routes: Vec<Route>,
    /// Only the forward direction is observed.
    pub(crate) is_one_way: bool,
    /// Replies are numbered in the order of the responder's stamps.
    pub(crate) by_responder: bool,
}

impl Default for World {
    /// A minute of round trips 20 ms apart with exponential waiting times of 1 ms.
    fn default() -> Self {
        Self {
            length: 60.0,
            departures: Departures::Even(0.02),
            turnaround: Some(5e-5),
            base: [5e-3; 2],
            queues: [Queue::Exponential(1e-3); 2],
            bursts: None,
            silences: Vec::new(),
            single: Vec::new(),
            unit: 1e-9,
            responder: Clock::default(),
            sender: Clock::default(),
            routes: Vec::new(),
            is_one_way: false,
            by_responder: false,
        }
    }
}

/// The first moment on the sender's clock, and the responder's clock beside it.
const BEGIN: [f64; 2] = [1_000.0, 1_000.3];
/// Spacing of the points of a random walk.
const GRID: f64 = 0.1;

/// A clock's reading above true time.
struct Reading<'a> {
    clock: &'a Clock,
    walked: Vec<f64>,
}

impl<'a> Reading<'a> {
    fn new(clock: &'a Clock, length: f64, draws: &mut Draws) -> Self {
        let (mut walked, mut ahead, mut rate, mut at) = (Vec::new(), 0.0, 0.0, 0.0);
        while clock.walk > 0.0 && at < length + 10.0 {
            walked.push(ahead);
            ahead += rate * GRID;
            rate += clock.walk * GRID.sqrt() * draws.normal();
            at += GRID;
        }
        Self { clock, walked }
    }

    /// Without steps and slews.
    fn smooth(&self, at: f64) -> f64 {
        let swing = self.clock.swing.map_or(0.0, |(amplitude, period, phase)| {
            let turn = TAU / period;
            amplitude / turn * (phase.cos() - (turn * at + phase).cos())
        });
        self.clock.rate * at + swing + self.walk(at)
    }

    fn walk(&self, at: f64) -> f64 {
        let place = (at / GRID).max(0.0);
        let left = self.walked.len().saturating_sub(2).min(floor(place));
        match self.walked.get(left..left + 2) {
            Some([one, next]) => one + (place - left as f64) * (next - one),
            _ => 0.0,
        }
    }

    fn at(&self, at: f64) -> f64 {
        let set: f64 = self.clock.steps.iter().filter(|step| at >= step.0).map(|step| step.1).sum();
        let slewed: f64 =
            self.clock.slews.iter().map(|(from, rate, lasts)| rate * (at - from).clamp(0.0, *lasts)).sum();
        self.smooth(at) + set + slewed
    }
}

#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "an index of some thousand points"
)]
fn floor(place: f64) -> usize {
    place as usize
}

impl World {
    /// Simulates it with the random numbers of `seed`.
    pub(crate) fn play(&self, seed: u32) -> Play {
        let mut walks = Draws::new(seed, 1);
        let responder = Reading::new(&self.responder, self.length, &mut walks);
        let sender = Reading::new(&self.sender, self.length, &mut walks);
        let departures = self.departures(&mut Draws::new(seed, 2));
        let mut directions = [0, 1].map(|direction: u32| Draws::new(seed, 3 + direction));
        let [there, back] = &mut directions;
        let clocks = [&sender, &responder];
        let (forward, arrivals) = self.direction(0, &departures, clocks, there);
        let replies: Vec<f64> = match self.turnaround {
            Some(turnaround) => arrivals.iter().map(|at| at + turnaround).collect(),
            None => departures,
        };
        let (mut reverse, _) = self.direction(1, &replies, clocks, back);
        if self.is_one_way {
            reverse.clear();
        }
        if self.by_responder {
            reverse.sort_by_key(|probe| probe.departure_ns);
        }
        let skew = (responder.smooth(self.length) - responder.smooth(0.0)) / self.length;
        Play { probes: [forward, reverse], skew_ppm: skew * 1e6, changes: self.changes(&sender) }
    }

    fn departures(&self, draws: &mut Draws) -> Vec<f64> {
        let (mut all, mut at) = (self.single.clone(), 0.0);
        while at < self.length {
            let (departure, next) = match self.departures {
                Departures::Even(interval) => (at, at + interval),
                Departures::Uneven(interval) => (at + 0.5 * interval * draws.unit(), at + interval),
                Departures::Poisson(interval) => (at, at + interval * draws.exponential()),
            };
            if !self.silences.iter().any(|(from, to)| (*from..*to).contains(&departure)) {
                all.push(departure);
            }
            at = next;
        }
        all.sort_by(f64::total_cmp);
        all
    }

    /// The packets of a direction, and the true times of all arrivals, in order of departure.
    fn direction(
        &self,
        direction: usize,
        departures: &[f64],
        [sender, responder]: [&Reading<'_>; 2],
        draws: &mut Draws,
    ) -> (Vec<Probe>, Vec<f64>) {
        let mut queue = QueueState::new(self.queues[direction], self.length);
        let (mut probes, mut arrivals) = (Vec::new(), Vec::new());
        let (mut free, mut is_losing) = (f64::NEG_INFINITY, false);
        let whole = |seconds: f64| nanos((seconds / self.unit + 1e-6).floor() * self.unit);
        for departure in departures {
            let detour: f64 = self
                .routes
                .iter()
                .filter(|route| route.direction == direction)
                .map(|route| route.grown(*departure))
                .sum();
            let mut arrival = departure + self.base[direction] + detour + queue.wait(*departure, draws);
            if queue.is_ordered() {
                arrival = arrival.max(free + 1e-6);
                free = arrival;
            }
            if let Some((begins, ends)) = self.bursts {
                is_losing = if is_losing { draws.unit() >= ends } else { draws.unit() < begins };
            }
            if is_losing {
                // A reply to a probe that did not arrive is not sent.
                if direction == 1 || self.turnaround.is_none() {
                    arrivals.push(arrival);
                }
                continue;
            }
            arrivals.push(arrival);
            let [left, came] = if direction == 0 {
                [BEGIN[0] + departure + sender.at(*departure), BEGIN[1] + arrival + responder.at(arrival)]
            } else {
                [BEGIN[1] + departure + responder.at(*departure), BEGIN[0] + arrival + sender.at(arrival)]
            };
            let there = if direction == 0 { arrival } else { *departure };
            probes.push(Probe {
                departure_ns: whole(left),
                arrival_ns: whole(came),
                delay_ns: (arrival - departure) * 1e9,
                ahead_ns: (BEGIN[1] - BEGIN[0] + responder.at(there) - sender.at(there)) * 1e9,
            });
        }
        (probes, arrivals)
    }

    fn changes(&self, sender: &Reading<'_>) -> Vec<Change> {
        /// Right before a moment.
        const BEFORE: f64 = 1e-9;
        let read = |at: f64| nanos(BEGIN[0] + at + sender.at(at));
        let around = |at: f64| {
            let (one, other) = (read(at - BEFORE), read(at));
            [one.min(other), one.max(other)]
        };
        let mut changes = Vec::new();
        for (clock, sign) in [(&self.responder, 1e9), (&self.sender, -1e9)] {
            changes.extend(clock.steps.iter().map(|(at, size)| Change {
                kind: Kind::ClockStep,
                from_ns: around(*at),
                until_ns: None,
                size_ns: sign * size,
            }));
            changes.extend(clock.slews.iter().map(|(from, rate, lasts)| {
                let (from, to) = (from.clamp(0.0, self.length), (from + lasts).clamp(0.0, self.length));
                let kind = Kind::Slew;
                Change {
                    kind,
                    from_ns: around(from),
                    until_ns: Some(read(to)),
                    size_ns: sign * rate * (to - from),
                }
            }));
        }
        changes.extend(self.routes.iter().map(|route| Change {
            kind: if route.direction == 0 { Kind::PathForward } else { Kind::PathReverse },
            from_ns: around(route.at),
            until_ns: (route.lasts > 0.0).then(|| read(route.at + route.lasts)),
            size_ns: route.longer * 1e9,
        }));
        changes.sort_by_key(|change| change.from_ns[0]);
        changes
    }
}

impl Route {
    /// A change that comes at once.
    pub(crate) const fn new(at: f64, direction: usize, longer: f64) -> Self {
        Self { at, direction, longer, lasts: 0.0 }
    }

    fn grown(&self, at: f64) -> f64 {
        if at < self.at {
            0.0
        } else if self.lasts > 0.0 {
            self.longer * ((at - self.at) / self.lasts).min(1.0)
        } else {
            self.longer
        }
    }
}

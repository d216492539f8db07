//! One-way delays between two clocks that lie: the scenarios by which clock estimators are judged.
//!
//! Probes go both ways on a schedule. The sender's clock is true time; the responder's differs from it by an offset
//! that changes: with a constant rate, with temperature (a sine of the rate), with a random walk of the rate, by steps,
//! and by slews. A packet takes its way's least time, what it waits (by a [`Queue`]), and what routes add. Stamps are
//! late by an exponential time, or wrong by a normal one. All of it is drawn from a seed.

use romer_units::random::{RandomStream, Seed};

/// How long packets wait.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Queue {
    /// Exponential.
    Exponential,
    /// Pareto from 0 on (Lomax), with this shape.
    Pareto(f64),
    /// A tenth of the mean, exponential, and for three packets of ten five times the mean besides.
    Bimodal,
    /// A queue with one server at this load: what a packet waits depends on the one before it.
    SingleServer(f64),
    /// Exponential, with a mean that swings by nine tenths once in the run.
    Diurnal,
    /// Always one to three means, in one slow swing, and a fifth of the mean besides, exponential.
    NeverEmpty,
}

/// A responder's clock.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Wander {
    /// Amplitude of the rate's swing, parts in a million, and its period, seconds.
    pub temperature: Option<(f64, f64)>,
    /// Random walk of the rate: its deviation after one second.
    pub random_walk: f64,
    /// When and by how much the clock is set, seconds.
    pub steps: Vec<(f64, f64)>,
    /// From when, at which additional rate, and for how long it is slewed, seconds.
    pub slews: Vec<(f64, f64, f64)>,
}

/// What is simulated. Times are seconds.
#[derive(Clone, Debug, PartialEq)]
pub struct Scenario {
    /// For people.
    pub name: String,
    /// How long.
    pub length: f64,
    /// Between probes of a direction.
    pub interval: f64,
    /// Least time forward and in reverse.
    pub least: [f64; 2],
    /// What packets wait.
    pub queue: Queue,
    /// Its mean.
    pub mean: f64,
    /// The responder's clock.
    pub clock: Wander,
    /// Probabilities that a burst of losses begins, and that it ends, at a packet.
    pub bursts: Option<(f64, f64)>,
    /// From when on, how much longer the way takes forward and in reverse.
    pub routes: Vec<(f64, f64, f64)>,
    /// Deviation of a stamp, normal.
    pub noise: f64,
    /// Mean lateness of a stamp, exponential.
    pub latency: f64,
    /// One packet forward arrives so much too early.
    pub outlier: Option<f64>,
}

impl Default for Scenario {
    /// S1.
    fn default() -> Self {
        Self {
            name: "S1 exponential 1 ms".into(),
            length: 60.0,
            interval: 0.02,
            least: [5e-3; 2],
            queue: Queue::Exponential,
            mean: 1e-3,
            clock: Wander::default(),
            bursts: None,
            routes: Vec::new(),
            noise: 0.0,
            latency: 0.0,
            outlier: None,
        }
    }
}

/// A packet that arrived.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Probe {
    /// Departure on the departing host's clock, nanoseconds.
    pub departure_ns: i64,
    /// Arrival on the arriving host's clock, nanoseconds.
    pub arrival_ns: i64,
    /// By how much the responder's clock was ahead at the stamp that was taken there, nanoseconds.
    pub ahead_ns: f64,
    /// What it waited, nanoseconds.
    pub waited_ns: f64,
}

/// A scenario that was played.
#[derive(Clone, Debug, PartialEq)]
pub struct Play {
    /// Forward and in reverse, in order of departure.
    pub probes: [Vec<Probe>; 2],
    /// Rate of the responder's clock over the run, without its steps and slews, parts in a million: what an estimate
    /// is to find.
    pub skew_ppm: f64,
}

/// The first moment: clocks do not begin at zero.
const BEGIN: f64 = 10.0;
/// Steps of the clock's curve.
const GRID: f64 = 0.1;

impl Scenario {
    /// Plays it with the clock and the chances of `seed`.
    pub fn play(&self, seed: u32) -> Play {
        let mut chance = Draws::new(seed, 1);
        let skew = (chance.unit() - 0.5) * 1e-4;
        let offset = chance.unit() * 2.0 - 1.0;
        let curve = Curve::draw(self, skew, offset, &mut Draws::new(seed, 2));
        let mut probes = [self.direction(0, &curve, seed), self.direction(1, &curve, seed)];
        if let Some(early) = self.outlier {
            let count = probes[0].len() as f64;
            let one = rounded(chance.unit() * count - 0.5).clamp(0, rounded(count) - 1);
            if let Some(probe) = usize::try_from(one).ok().and_then(|one| probes[0].get_mut(one)) {
                probe.arrival_ns -= rounded(probe.waited_ns - early * 1e9);
            }
        }
        Play { probes, skew_ppm: curve.mean_rate * 1e6 }
    }

    fn direction(&self, direction: u32, curve: &Curve, seed: u32) -> Vec<Probe> {
        let mut chance = Draws::new(seed, 10 + direction);
        let mut line = QueueState { queue: self.queue, mean: self.mean, length: self.length, backlog: 0.0 };
        let mut bad = false;
        let mut probes = Vec::new();
        let mut number = 0.0;
        while number * self.interval < self.length {
            let t = number * self.interval;
            number += 1.0;
            let waited = line.draw(t, self.interval, &mut chance);
            let detour: f64 = self
                .routes
                .iter()
                .filter(|route| t >= route.0)
                .map(|route| if direction == 0 { route.1 } else { route.2 })
                .sum();
            let arrived = t + self.least[usize::from(direction == 1)] + detour + waited;
            let [sent, received] = [-1.0, 1.0]
                .map(|sign| sign * self.latency * chance.exponential() + self.noise * chance.normal());
            let there = if direction == 0 { arrived } else { t };
            let ahead = curve.at(there);
            let (tx, rx) = (t + sent, arrived + received);
            let (tx, rx) = if direction == 0 { (tx, rx + ahead) } else { (tx + ahead, rx) };
            if let Some((begins, ends)) = self.bursts {
                bad = if bad { chance.unit() >= ends } else { chance.unit() < begins };
            }
            if !bad {
                let nanos = |seconds: f64| rounded((seconds + BEGIN) * 1e9);
                probes.push(Probe {
                    departure_ns: nanos(tx),
                    arrival_ns: nanos(rx),
                    ahead_ns: ahead * 1e9,
                    waited_ns: waited * 1e9,
                });
            }
        }
        probes
    }
}

/// By how much the responder's clock is ahead.
struct Curve {
    values: Vec<f64>,
    steps: Vec<(f64, f64)>,
    mean_rate: f64,
}

impl Curve {
    fn draw(scenario: &Scenario, skew: f64, offset: f64, chance: &mut Draws) -> Self {
        let clock = &scenario.clock;
        let (mut t, mut walk, mut value, mut own) = (0.0, 0.0, offset, 0.0);
        let mut values = Vec::new();
        let mut mean_rate = skew;
        while t <= scenario.length + 1.0 + GRID {
            values.push(value);
            let swing = clock
                .temperature
                .map_or(0.0, |(ppm, period)| ppm * 1e-6 * (std::f64::consts::TAU * t / period).sin());
            if clock.random_walk > 0.0 {
                walk += clock.random_walk * GRID.sqrt() * chance.normal();
            }
            let slewed: f64 =
                clock.slews.iter().filter(|slew| t >= slew.0 && t < slew.0 + slew.2).map(|slew| slew.1).sum();
            value += (skew + swing + walk + slewed) * GRID;
            own += (skew + swing + walk) * GRID;
            t += GRID;
            if t <= scenario.length {
                mean_rate = own / t;
            }
        }
        Self { values, steps: clock.steps.clone(), mean_rate }
    }

    fn at(&self, t: f64) -> f64 {
        let place = (t / GRID).max(0.0);
        let left = usize::try_from(rounded(place.floor())).unwrap_or(0).min(self.values.len() - 2);
        let share = place - left as f64;
        let smooth = self.values[left] + share * (self.values[left + 1] - self.values[left]);
        smooth + self.steps.iter().filter(|step| t >= step.0).map(|step| step.1).sum::<f64>()
    }
}

struct QueueState {
    queue: Queue,
    mean: f64,
    length: f64,
    backlog: f64,
}

impl QueueState {
    fn draw(&mut self, t: f64, since: f64, chance: &mut Draws) -> f64 {
        let mean = self.mean;
        let swing = (std::f64::consts::TAU * t / self.length).sin();
        match self.queue {
            Queue::Exponential => mean * chance.exponential(),
            Queue::Pareto(shape) => mean * (shape - 1.0) * ((1.0 - chance.unit()).powf(-1.0 / shape) - 1.0),
            Queue::Bimodal => {
                let short = mean * 0.1 * chance.exponential();
                short + if chance.unit() < 0.3 { 5.0 * mean } else { 0.0 }
            }
            Queue::SingleServer(load) => self.serve(load, since, chance),
            Queue::Diurnal => mean * (1.0 + 0.9 * swing) * chance.exponential(),
            Queue::NeverEmpty => mean * (2.0 + swing) + mean * 0.2 * chance.exponential(),
        }
    }

    /// Lindley's recursion over the arrivals since the last probe.
    fn serve(&mut self, load: f64, since: f64, chance: &mut Draws) -> f64 {
        let service = self.mean * (1.0 - load) / load;
        let mut left = since;
        loop {
            let gap = service / load * chance.exponential();
            if gap >= left {
                break;
            }
            left -= gap;
            self.backlog = (self.backlog - gap).max(0.0) + service * chance.exponential();
        }
        self.backlog = (self.backlog - left).max(0.0);
        self.backlog
    }
}

/// Chances in a row.
struct Draws {
    stream: RandomStream,
    ordinal: u64,
    block: [u32; 16],
    left: usize,
}

impl Draws {
    fn new(seed: u32, name: u32) -> Self {
        let stream = RandomStream::new(Seed([seed, 0, 0, 0, 0, 0x636c_6b73]), [name, 0]);
        Self { stream, ordinal: 0, block: [0; 16], left: 0 }
    }

    fn unit(&mut self) -> f64 {
        if self.left == 0 {
            self.ordinal += 1;
            self.block = self.stream.block(self.ordinal);
            self.left = self.block.len();
        }
        self.left -= 2;
        let bits = (u64::from(self.block[self.left]) << 32) | u64::from(self.block[self.left + 1]);
        (bits >> 11) as f64 / 9_007_199_254_740_992.0
    }

    fn exponential(&mut self) -> f64 {
        -(1.0 - self.unit()).ln()
    }

    fn normal(&mut self) -> f64 {
        let radius = (2.0 * self.exponential()).sqrt();
        radius * (std::f64::consts::TAU * self.unit()).cos()
    }
}

#[expect(clippy::cast_possible_truncation, reason = "a float beyond the range becomes its end")]
fn rounded(value: f64) -> i64 {
    value.round() as i64
}

/// The fifteen by which methods are compared, S1 to S15.
pub fn standard_scenarios() -> Vec<Scenario> {
    let base = |name: &str, queue| Scenario { name: name.into(), queue, ..Scenario::default() };
    let plain = |name: &str| base(name, Queue::Exponential);
    vec![
        Scenario::default(),
        base("S2 Pareto 1.5", Queue::Pareto(1.5)),
        Scenario { latency: 5e-6, ..base("S3 M/M/1 0.8", Queue::SingleServer(0.8)) },
        base("S4 bimodal", Queue::Bimodal),
        base("S5 diurnal load", Queue::Diurnal),
        base("S6 queue never empty", Queue::NeverEmpty),
        Scenario { noise: 10e-6, ..plain("S7 normal stamps 10 us") },
        Scenario { bursts: Some((0.01, 0.2)), ..plain("S8 burst loss") },
        Scenario {
            clock: Wander { steps: vec![(40.0, 5e-3)], ..Wander::default() },
            ..plain("S9 clock step +5 ms")
        },
        Scenario { routes: vec![(20.0, 10e-3, 0.0)], ..plain("S10 route +10 ms forward") },
        Scenario {
            clock: Wander { slews: vec![(30.0, 2e-4, 5.0)], ..Wander::default() },
            ..plain("S11 slew 200 ppm, 5 s")
        },
        Scenario { mean: 10e-6, latency: 1e-6, ..plain("S12 LAN 10 us") },
        Scenario {
            length: 3600.0,
            interval: 0.1,
            clock: Wander { temperature: Some((0.5, 1200.0)), random_walk: 1e-9, ..Wander::default() },
            ..plain("S13 one hour, wander")
        },
        Scenario { outlier: Some(-1e-3), ..plain("S14 one outlier -1 ms") },
        Scenario {
            length: 120.0,
            latency: 2e-6,
            bursts: Some((0.01, 0.2)),
            routes: vec![(60.0, 4e-3, -1e-3)],
            clock: Wander { steps: vec![(35.0, -3e-3)], slews: vec![(80.0, 1e-4, 4.0)], ..Wander::default() },
            ..base("S15 all of it, 120 s", Queue::Pareto(1.8))
        },
    ]
}

/// A scenario drawn at random, so that nothing is made for the fifteen: its length, its queue, its stamps, its losses,
/// and up to two each of steps, slews and route changes.
pub fn random_scenario(seed: u32) -> Scenario {
    let mut chance = Draws::new(seed, 3);
    let mut between = |low: f64, high: f64| low + (high - low) * chance.unit();
    let length = between(40.0, 240.0);
    let queue = match rounded(between(-0.5, 4.5)) {
        0 => Queue::Exponential,
        1 => Queue::Pareto(between(1.4, 2.5)),
        2 => Queue::Bimodal,
        3 => Queue::SingleServer(between(0.3, 0.85)),
        _ => Queue::Diurnal,
    };
    let mut times = vec![0.1 * length];
    let mut moment = |between: &mut dyn FnMut(f64, f64) -> f64| {
        let last = times.last().copied().unwrap_or(0.0);
        let next = last + between(0.12, 0.3) * length;
        times.push(next);
        (next < 0.85 * length).then_some(next)
    };
    let (mut routes, mut clock) = (Vec::new(), Wander::default());
    for _ in 0..rounded(between(-0.5, 3.5)) {
        let Some(at) = moment(&mut between) else { break };
        match rounded(between(-0.5, 2.5)) {
            0 => clock.steps.push((at, between(-10e-3, 10e-3))),
            1 => clock.slews.push((at, between(5e-5, 5e-4), between(2.0, 6.0))),
            _ => routes.push((at, between(-2e-3, 10e-3), between(-2e-3, 10e-3))),
        }
    }
    Scenario {
        name: format!("drawn {seed}"),
        length,
        interval: between(0.005, 0.04),
        least: [between(3e-3, 20e-3), between(3e-3, 20e-3)],
        queue,
        mean: 10f64.powf(between(-4.5, -2.7)),
        clock,
        bursts: (between(0.0, 1.0) < 0.5).then(|| (between(0.0, 0.02), 0.2)),
        routes,
        noise: 0.0,
        latency: between(0.0, 5e-6),
        outlier: (between(0.0, 1.0) < 0.2).then_some(-1e-3),
    }
}

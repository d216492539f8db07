//! Waiting times of packets in one direction.

use std::f64::consts::TAU;

use crate::draws::Draws;

/// A law of waiting times. Times are seconds.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Queue {
    /// Exponential with this mean.
    Exponential(f64),
    /// Gamma with a whole shape, and this mean.
    Gamma(u32, f64),
    /// Pareto from 0 on (Lomax): shape, mean.
    Pareto(f64, f64),
    /// A tenth of the mean, exponential; three packets of ten wait five means more.
    Bimodal(f64),
    /// Normal with this standard deviation: waiting times below 0 model noise of both signs.
    Normal(f64),
    /// The exponential of a normal number with standard deviation 0.5, times this.
    Lognormal(f64),
    /// Uniform from 0 to this.
    Uniform(f64),
    /// Exponential, with a mean that swings by nine tenths once in the run.
    Diurnal(f64),
    /// The square of a normal number that keeps a share of the previous one: share, scale.
    DependentSquare(f64, f64),
    /// A normal number that keeps a share of the previous one: share, standard deviation.
    DependentNormal(f64, f64),
    /// The exponential of 0.6 of such a number: share, scale.
    DependentLognormal(f64, f64),
    /// Exponential, four tenths of this mean, with bursts of ten times the mean.
    Bursts(f64),
    /// A single server with Poisson arrivals of other packets: service, interval between arrivals.
    Server(f64, f64),
    /// A single server of these packets alone: mean service; and an exponential mean besides.
    OwnServer(f64, f64),
    /// One to three means in one slow swing, and a fifth of the mean, exponential: it is never empty.
    NeverEmpty(f64),
    /// A random walk that is never empty: start, deviation of a step, least; and an exponential mean besides.
    Walk(f64, f64, f64, f64),
    /// A sawtooth that is never empty: top, seconds from half to top; and an exponential mean besides.
    Saw(f64, f64, f64),
    /// A floor that wanders with this deviation and forgets in a second; and an exponential mean besides.
    WanderingFloor(f64, f64),
    /// Exponential with this mean, and a wait that grows from a moment on: mean, moment, seconds per second.
    Growing(f64, f64, f64),
}

/// A queue in its present state.
pub(crate) struct QueueState {
    queue: Queue,
    length: f64,
    last: Option<f64>,
    state: f64,
    next_arrival: f64,
    is_busy: bool,
}

impl QueueState {
    /// An empty queue of a run of `length` seconds.
    pub(crate) fn new(queue: Queue, length: f64) -> Self {
        let state = if let Queue::Walk(start, ..) = queue { start } else { 0.0 };
        Self { queue, length, last: None, state, next_arrival: 0.0, is_busy: false }
    }

    /// Whether no packet passes another.
    pub(crate) fn is_ordered(&self) -> bool {
        matches!(self.queue, Queue::Walk(..) | Queue::Saw(..) | Queue::OwnServer(..))
    }

    /// The waiting time of a packet that enters at `at`; times do not decrease.
    pub(crate) fn wait(&mut self, at: f64, draws: &mut Draws) -> f64 {
        let gap = self.last.map(|last| (at - last).max(0.0));
        self.last = Some(at);
        let swing = (TAU * at / self.length).sin();
        match self.queue {
            Queue::Exponential(mean) => mean * draws.exponential(),
            Queue::Gamma(shape, mean) => {
                mean / f64::from(shape) * (0..shape).map(|_| draws.exponential()).sum::<f64>()
            }
            Queue::Pareto(shape, mean) => {
                mean * (shape - 1.0) * ((1.0 - draws.unit()).powf(-1.0 / shape) - 1.0)
            }
            Queue::Bimodal(mean) => {
                let short = 0.1 * mean * draws.exponential();
                short + if draws.unit() < 0.3 { 5.0 * mean } else { 0.0 }
            }
            Queue::Normal(deviation) => deviation * draws.normal(),
            Queue::Lognormal(scale) => scale * (0.5 * draws.normal()).exp(),
            Queue::Uniform(width) => width * draws.unit(),
            Queue::Diurnal(mean) => mean * (1.0 + 0.9 * swing) * draws.exponential(),
            Queue::DependentSquare(share, scale) => scale * self.dependent(share, draws).powi(2),
            Queue::DependentNormal(share, deviation) => deviation * self.dependent(share, draws),
            Queue::DependentLognormal(share, scale) => scale * (0.6 * self.dependent(share, draws)).exp(),
            Queue::Bursts(mean) => {
                let chance = draws.unit();
                self.is_busy = if self.is_busy { chance >= 0.05 } else { chance < 0.01 };
                let long = if self.is_busy { 10.0 * draws.exponential() } else { 0.0 };
                mean * (0.4 * draws.exponential() + long)
            }
            Queue::Server(service, interval) => self.serve(at, gap.unwrap_or(0.0), service, interval, draws),
            Queue::OwnServer(service, mean) => {
                let served = if gap.is_some() { service * draws.exponential() } else { 0.0 };
                self.state = (self.state + served - gap.unwrap_or(0.0)).max(0.0);
                self.state + mean * draws.exponential()
            }
            Queue::NeverEmpty(mean) => mean * (2.0 + swing) + 0.2 * mean * draws.exponential(),
            Queue::Walk(_, step, least, mean) => {
                self.state = (self.state + step * draws.normal()).max(least);
                self.state + mean * draws.exponential()
            }
            Queue::Saw(top, period, mean) => {
                let rise = top * gap.unwrap_or(0.0) / (2.0 * period);
                self.state = self.state.max(top / 2.0) + rise * draws.between(0.2, 1.8);
                if self.state > top {
                    self.state *= draws.between(0.55, 0.75);
                }
                self.state + mean * draws.exponential()
            }
            Queue::WanderingFloor(deviation, mean) => {
                let share = gap.map_or(0.0, |gap| (-gap).exp());
                deviation * self.dependent(share, draws) + mean * draws.exponential()
            }
            Queue::Growing(mean, from, rate) => mean * draws.exponential() + rate * (at - from).max(0.0),
        }
    }

    /// A normal number of variance 1 that keeps `share` of the last one; the first keeps nothing.
    fn dependent(&mut self, share: f64, draws: &mut Draws) -> f64 {
        self.state = share * self.state + (1.0 - share * share).sqrt() * draws.normal();
        self.state
    }

    /// Lindley's recursion over the arrivals of others since the last packet.
    fn serve(&mut self, at: f64, gap: f64, service: f64, interval: f64, draws: &mut Draws) -> f64 {
        let mut last = at - gap;
        self.next_arrival = self.next_arrival.max(last);
        while self.next_arrival < at {
            self.state = (self.state - (self.next_arrival - last)).max(0.0) + service * draws.exponential();
            last = self.next_arrival;
            self.next_arrival += interval * draws.exponential();
        }
        self.state = (self.state - (at - last)).max(0.0);
        self.state
    }
}

//! A bottleneck: a rate, its buffer, a base delay, and cross-traffic that fills the queue.
//!
//! Packet n has s(n) octets, departs at t(n) and arrives at a(n) = t(n) + d(n):
//!
//! ```text
//! e(n) = t(n) + base + w(t(n))                    it reaches the head of the queue, as far as cross-traffic decides
//! a(n) = max(e(n), a(n-1)) + s(n) / rate          it has been transmitted, after the packet ahead of it
//! ```
//!
//! w is the waiting for cross-traffic, a process in time like any other delay: a law with a correlation time, or regimes with losses.
//! The emulator has the same stages: base and w in its delay, which keeps the order, and then the rate with a queue. Other traffic than
//! the probes waits for itself at the rate, and for cross-traffic as the probes did.
//!
//! | parameter | from |
//! | --- | --- |
//! | rate | `dispersion`: packets that follow each other closely; else `slope`: delays of packets of different sizes |
//! | base | the end of the law of d - s / rate |
//! | buffer | the end of the law of d - base, where packets are lost when the queue is long |
//! | w | [`Bottleneck::waiting`], the delays without transmission, by the families of [`choice`](crate::choice) |
//!
//! Dispersion shows the narrowest link. The slope is the sum of all links of the path, so it is at least as long as the time of the
//! narrowest one (Jacobson 1997; Dovrolis, Ramanathan and Moore 2004).
//!
//! There is no bottleneck where neither shows a rate, or where the probes themselves are more than a small load.
//!
//! The log-likelihood of a delay is that of w, or of the spread of packets that follow another. It is put into the unit of the other
//! families, the ratio to independent delays of the measured law, by the densities of both laws. The rate and the laws are those of
//! the whole series.

mod dispersion;
mod end;
mod slope;

use crate::Estimate;
use crate::density::Density;
use crate::series::{Observation, RESOLUTION, Series};

use dispersion::Spread;

/// The most of the rate that the probes use themselves. Beyond it their own queue would count as cross-traffic.
const MOST_LOAD: f64 = 0.5;
/// Fewer losses do not show a full queue.
const FEWEST_LOSSES: usize = 10;
/// A queue of this share of the longest is long.
const LONG: f64 = 0.8;
/// The share of losses at a long queue from which on the queue causes them.
const CAUSED: f64 = 0.8;
/// How many deviations of a binomial number there are more losses at a long queue than arrivals.
const EVIDENCE: f64 = 3.0;
/// Octets of the queue where no loss shows its end: the emulator's default.
const DEFAULT_QUEUE: f64 = 65_536.0;
/// The fewest octets of a queue: two packets of 1,500 octets, because the queue includes the packet in transmission.
const LEAST_QUEUE: f64 = 3_000.0;
/// The most octets of a queue: the emulator's limit.
const MOST_QUEUE: f64 = 4_294_967_296.0;

/// What showed the rate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Evidence {
    /// The distance of packets that departed close to each other.
    Dispersion,
    /// The delays of packets of different sizes.
    Size,
}

/// A rate with its queue.
#[derive(Clone, Debug, PartialEq)]
pub struct Bottleneck {
    /// In bit/s of IP packets.
    pub rate: Estimate,
    /// What showed it.
    pub evidence: Evidence,
    /// The delay of an empty packet that does not wait, in seconds.
    pub base: Estimate,
    /// The time in seconds in which a full queue is transmitted; `None` where no losses show it.
    pub buffer: Option<Estimate>,
    /// The octets that the queue has for other traffic than the cross-traffic.
    pub queue: f64,
    spread: Spread,
}

/// From one packet to the next, both with known delays.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Step {
    /// The place of the later packet.
    place: usize,
    /// Its octets, and those of the packet ahead.
    size: f64,
    size_before: f64,
    /// The delay of the packet ahead, in seconds.
    delay_before: f64,
    /// From departure to departure, and from arrival to arrival, in seconds.
    gap: f64,
    apart: f64,
}

fn steps(observations: &[Observation]) -> Vec<Step> {
    let pair = |(place, pair): (usize, &[Observation])| {
        let [before, one] = [&pair[0], &pair[1]];
        let gap = one.at - before.at;
        Some(Step {
            place: place + 1,
            size: f64::from(one.size?),
            size_before: f64::from(before.size?),
            delay_before: before.delay?,
            gap,
            apart: gap + one.delay? - before.delay?,
        })
    };
    observations.windows(2).enumerate().filter_map(pair).collect()
}

/// Fits rate, buffer and base delay; `None` where the series does not show a rate.
pub fn fit(series: &Series) -> Option<Bottleneck> {
    let observations = series.observations();
    if observations.iter().any(|one| one.size.is_none_or(|size| size == 0)) {
        return None;
    }
    let steps = steps(observations);
    let (octet, spread, evidence) = match dispersion::fit(&steps) {
        Some((octet, spread)) => (octet, spread, Evidence::Dispersion),
        None => {
            let (octet, spread) = by_size(&steps, series)?;
            (octet, spread, Evidence::Size)
        }
    };
    let octets: f64 = observations.iter().filter_map(|one| one.size).map(f64::from).sum();
    if octets * octet.value > MOST_LOAD * series.duration() {
        return None;
    }
    let [shortest, longest] = octet.interval?;
    let rate = Estimate { value: 8.0 / octet.value, interval: Some([8.0 / longest, 8.0 / shortest]) };
    let mut bottleneck = Bottleneck {
        rate,
        evidence,
        base: Estimate { value: 0.0, interval: None },
        buffer: None,
        queue: 0.0,
        spread,
    };
    let waiting = bottleneck.waiting(series).delays();
    // The noise of a step is that of two delays.
    let noise = (evidence == Evidence::Dispersion).then_some(spread.noise * std::f64::consts::FRAC_1_SQRT_2);
    let end = end::lower(&waiting, noise)?;
    let value = end.value;
    let size = octets / observations.len() as f64;
    // A rate that is too low makes the base too short.
    let by_rate = [size * (longest - octet.value), size * (octet.value - shortest)];
    let correlation = bottleneck.correlation(observations, waiting.len(), end.used);
    let error = |a: f64, b: f64| (a * a + b * b + 2.0 * correlation * a * b).sqrt();
    let errors = [error(value - end.interval[0], by_rate[0]), error(end.interval[1] - value, by_rate[1])];
    bottleneck.base = Estimate { value, interval: Some([value - errors[0], value + errors[1]]) };
    let queues: Vec<Option<f64>> =
        observations.iter().map(|one| one.delay.map(|delay| delay - value)).collect();
    let longest_queue = queues.iter().flatten().copied().fold(0.0, f64::max);
    let full = || {
        let downwards: Vec<f64> = queues.iter().flatten().map(|queue| -queue).collect();
        end::lower(&downwards, Some(end.noise))
    };
    let full = loses_when_full(observations, &queues, longest_queue).then(full).flatten();
    bottleneck.buffer = full.map(|full| {
        // Both errors are independent. A base that is too long makes the buffer too short.
        let [high, low] = full.interval.map(|limit| (limit - full.value).abs());
        let interval = [-full.value - low.hypot(errors[1]), -full.value + high.hypot(errors[0])];
        Estimate { value: -full.value, interval: Some(interval) }
    });
    let occupied = waiting.iter().sum::<f64>() / waiting.len() as f64 - value;
    let free = match bottleneck.buffer {
        Some(buffer) => (buffer.value - occupied) / octet.value,
        None => (longest_queue / octet.value).max(DEFAULT_QUEUE),
    };
    bottleneck.queue = free.clamp(LEAST_QUEUE, MOST_QUEUE).round();
    Some(bottleneck)
}

/// By the slope over sizes. Packets that follow another closely are left out as soon as the rate is known: they wait for it.
///
/// A full queue has more often space for a small packet than for a large one, so those that arrive have waited differently. Where packets
/// are lost, only those behind a packet with a delay in the lower half of the range are used: this choice does not depend on their size.
fn by_size(steps: &[Step], series: &Series) -> Option<(Estimate, Spread)> {
    let delays = series.delays();
    let least = delays.iter().copied().fold(f64::INFINITY, f64::min);
    let greatest = delays.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    let limit = if series.lost() > 0 { (least + greatest) / 2.0 } else { f64::INFINITY };
    let steps: Vec<Step> = steps.iter().filter(|step| step.delay_before <= limit).copied().collect();
    let first = slope::fit(&steps)?;
    let apart: Vec<Step> =
        steps.iter().filter(|step| !dispersion::follows(step, first.value)).copied().collect();
    let octet = if apart.len() == steps.len() { first } else { slope::fit(&apart)? };
    let excess = octet.value * steps.iter().map(|step| step.size).sum::<f64>() / steps.len() as f64;
    let range = steps.iter().map(|step| step.apart.abs()).fold(excess, f64::max);
    // Too few packets follow another to show it.
    Some((octet, Spread { share: 0.5, noise: RESOLUTION, excess, range }))
}

/// Whether packets are lost when the queue is long. `queues` has the time that the queue takes, of each packet that arrived.
fn loses_when_full(observations: &[Observation], queues: &[Option<f64>], longest: f64) -> bool {
    // The longer queue of the nearest neighbours, which arrived.
    let before = neighbours(queues.iter());
    let mut after = neighbours(queues.iter().rev());
    after.reverse();
    let (mut lost, mut arrived) = ([0.0; 2], [0.0; 2]);
    for ((one, before), after) in observations.iter().zip(before).zip(after) {
        let is_long = before.into_iter().chain(after).fold(0.0, f64::max) >= LONG * longest;
        let counts = if one.is_lost { &mut lost } else { &mut arrived };
        counts[0] += 1.0;
        counts[1] += f64::from(u8::from(is_long));
    }
    let share = |counts: [f64; 2]| counts[1] / counts[0].max(1.0);
    let [at_loss, usual] = [share(lost), share(arrived)];
    let deviation = (usual * (1.0 - usual) / lost[0].max(1.0)).sqrt();
    lost[0] >= FEWEST_LOSSES as f64 && at_loss >= CAUSED && at_loss > usual + EVIDENCE * deviation
}

/// Of each place, the last known value before it.
fn neighbours<'a>(queues: impl Iterator<Item = &'a Option<f64>>) -> Vec<Option<f64>> {
    let mut last = None;
    let before = |queue: &Option<f64>| {
        let known = last;
        last = queue.or(last);
        known
    };
    queues.map(before).collect()
}

impl Bottleneck {
    /// The transmission time of an octet in seconds.
    fn octet(&self) -> f64 {
        8.0 / self.rate.value
    }

    /// The correlation of the errors that the end of the waiting and the rate make in the base. Of k packets that follow another at once, the
    /// time per octet has the noise of 2 k delays; the delay of the packet ahead may be among `used` delays near the end. `alone` is the
    /// number of packets that follow none.
    fn correlation(&self, observations: &[Observation], alone: usize, used: usize) -> f64 {
        if self.evidence == Evidence::Size {
            return 0.0;
        }
        let following: Vec<usize> = self.following(observations).map(|step| step.place).collect();
        let is_first = |pair: &&[usize]| pair[1] != pair[0] + 1;
        let first = 1 + following.windows(2).filter(is_first).count();
        let at_once = self.spread.share * following.len() as f64;
        let shared = first as f64 / alone as f64;
        (shared * (used as f64 / (2.0 * at_once)).sqrt()).min(1.0)
    }

    /// The observations without transmission: base delay and waiting for cross-traffic. Of packets that follow another closely it is
    /// unknown.
    #[must_use]
    pub fn waiting(&self, series: &Series) -> Series {
        let observations = series.observations();
        let mut delays: Vec<Option<f64>> =
            observations.iter().map(|one| Some(one.delay? - f64::from(one.size?) * self.octet())).collect();
        for step in self.following(observations) {
            delays[step.place] = None;
        }
        series.with_delays(delays.into_iter())
    }

    fn following(&self, observations: &[Observation]) -> impl Iterator<Item = Step> {
        let octet = self.octet();
        steps(observations).into_iter().filter(move |step| dispersion::follows(step, octet))
    }

    /// Of each observation: the log of the density of its delay, over that of an independent delay of the measured law, without what the
    /// model of the waiting adds to its own law. `waiting` is that of [`Bottleneck::waiting`].
    pub(crate) fn log_ratios(&self, series: &Series, waiting: &Series) -> Vec<f64> {
        let measured = Density::new(&series.delays());
        let law = Density::new(&waiting.delays());
        let known = |one: &Observation| one.delay.map_or(0.0, |delay| measured.log(delay));
        let mut ratios: Vec<f64> = series
            .observations()
            .iter()
            .zip(waiting.observations())
            .map(|(one, waiting)| waiting.delay.map_or(0.0, |waiting| law.log(waiting) - known(one)))
            .collect();
        // Densities of both laws are at most one in twice the resolution; that of the noise is at most this likewise.
        let resolution = RESOLUTION * 2.0 / std::f64::consts::TAU.sqrt();
        for step in self.following(series.observations()) {
            let beyond = step.apart - step.size * self.octet();
            ratios[step.place] =
                self.spread.density(beyond, resolution).ln() - known(&series.observations()[step.place]);
        }
        ratios
    }
}

#[cfg(test)]
mod tests;

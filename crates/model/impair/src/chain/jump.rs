//! A chain by time after a long idle time: a bounded number of draws, however many states the time holds.
//!
//! The laws of 2, 4, 8, ... transitions follow from that of one by repeated squaring: for each pair of states the
//! probability to come from one to the other, and mean and variance of the time that this takes. A jump draws its end
//! state from the probabilities, and the time from a normal law of that mean and variance. It takes the nearest
//! time that the durations can sum to: in a chain of period g, all times between two states are equal modulo g.
//!
//! A long state ends a jump, because a sum with a few large terms is not normal. The moment at which it is entered is
//! found by halving the jump. Which states are long follows from what is left of the idle time. The last part of the
//! idle time consists of single steps.

use super::{Chain, Walk};
use crate::convert;
use crate::generator::Sequence;
use crate::nanos::Nanos;
use crate::special_functions::normal_quantile;

/// A state is short if the idle time has room for this many of it. The time of a jump is then a sum of small terms.
/// The tests compare the law of the states with the exact one, also for an eighth of this number.
pub(super) const SHORT: Nanos = 256;
/// Laws are computed for states that are shorter by this factor, and so serve until a sixteenth of the idle time is
/// left.
const SPARE: Nanos = 16;
/// Part of the idle time that a jump takes at most on average. No jump then takes more than all of it, as good as
/// always.
const JUMPED: Nanos = 4;

/// From one state to another by some number of transitions.
#[derive(Clone, Copy, Default)]
struct Cell {
    probability: f64,
    /// Of the time from the end of the one state to the end of the other, or to the beginning of a long one.
    mean: f64,
    variance: f64,
}

/// The law of some number of transitions.
struct Level {
    /// Row by row.
    cells: Vec<Cell>,
    /// The mean time, by the first state.
    means: Vec<f64>,
}

impl Level {
    fn new(cells: Vec<Cell>, states: usize) -> Self {
        let mean = |row: &[Cell]| row.iter().map(|cell| cell.probability * cell.mean).sum();
        let means = cells.chunks(states).map(mean).collect();
        Self { cells, means }
    }

    fn row(&self, from: usize) -> &[Cell] {
        let states = self.means.len();
        &self.cells[from * states..(from + 1) * states]
    }

    /// The law of twice as many transitions.
    fn doubled(&self) -> Self {
        let states = self.means.len();
        let mut cells = vec![Cell::default(); states * states];
        for (from, row) in cells.chunks_mut(states).enumerate() {
            self.each_pair(from, |to, probability, first, second| {
                row[to].probability += probability;
                row[to].mean += probability * (first.mean + second.mean);
            });
            row.iter_mut()
                .filter(|cell| cell.probability > 0.0)
                .for_each(|cell| cell.mean /= cell.probability);
            self.each_pair(from, |to, probability, first, second| {
                let off = first.mean + second.mean - row[to].mean;
                row[to].variance += probability * (first.variance + second.variance + off * off);
            });
            let sum: f64 = row.iter().map(|cell| cell.probability).sum();
            for cell in row.iter_mut().filter(|cell| cell.probability > 0.0) {
                cell.variance /= cell.probability;
                // Rounding would double with each level.
                cell.probability /= sum;
            }
        }
        Self::new(cells, states)
    }

    /// The ways from a state in twice as many transitions: where each ends, its probability, and its halves.
    fn each_pair(&self, from: usize, mut visit: impl FnMut(usize, f64, Cell, Cell)) {
        for (via, first) in self.row(from).iter().enumerate().filter(|(_, cell)| cell.probability > 0.0) {
            for (to, second) in self.row(via).iter().enumerate() {
                let probability = first.probability * second.probability;
                if probability > 0.0 {
                    visit(to, probability, *first, *second);
                }
            }
        }
    }
}

/// The laws of jumps between the short states of a chain.
struct JumpTable {
    short: Vec<bool>,
    longest_short: Nanos,
    /// By the first state.
    phases: Vec<Phases>,
    /// Of 2^n transitions.
    levels: Vec<Level>,
}

impl JumpTable {
    fn new(chain: &Chain, idle: Nanos, short: Nanos) -> Self {
        let states = chain.durations.len();
        let most = idle / (short * SPARE);
        let lengths = || chain.durations.iter().copied().filter(|duration| *duration <= most);
        let short: Vec<bool> = chain.durations.iter().map(|duration| *duration <= most).collect();
        let mut cells = vec![Cell::default(); states * states];
        for (from, row) in cells.chunks_mut(states).enumerate() {
            if short[from] {
                for (to, cell) in row.iter_mut().enumerate() {
                    cell.probability = chain.probability(from, to);
                    cell.mean = if short[to] { convert::real(chain.durations[to]) } else { 0.0 };
                }
            } else {
                row[from].probability = 1.0;
            }
        }
        let mut levels = vec![Level::new(cells, states)];
        let mut least = lengths().min().unwrap_or(idle);
        while least <= idle / JUMPED / 2 {
            least *= 2;
            levels.extend(levels.last().map(Level::doubled));
        }
        let phases = (0..states).map(|from| Phases::new(chain, &short, from)).collect();
        Self { longest_short: lengths().max().unwrap_or(0), short, phases, levels }
    }

    /// Where a jump from the end of the short state `from` ends, and after what time: at the end of a short state, or
    /// at the beginning of a long one.
    fn draw(&self, from: usize, idle: Nanos, numbers: &mut Sequence) -> (usize, Nanos) {
        let most = convert::real(idle / JUMPED);
        let level = self.levels.partition_point(|level| level.means[from] <= most).saturating_sub(1);
        let row = self.levels[level].row(from);
        let to = pick(row.iter().map(|cell| cell.probability), numbers.unit());
        let time = self.time(level, from, to, numbers);
        (to, self.possible(from, to, time, idle))
    }

    /// The time of 2^level transitions between two states, as it is drawn.
    fn time(&self, mut level: usize, mut from: usize, to: usize, numbers: &mut Sequence) -> f64 {
        let mut sum = 0.0;
        while level > 0 && !self.short[to] {
            level -= 1;
            let half = &self.levels[level];
            let ways = half.row(from).iter().enumerate();
            let ways = ways.map(|(via, cell)| cell.probability * half.row(via)[to].probability);
            let via = pick(ways, numbers.unit());
            if via != to {
                sum += half.row(from)[via].drawn(numbers);
                from = via;
            }
        }
        sum + self.levels[level].row(from)[to].drawn(numbers)
    }

    /// The time nearest to `time`, within the idle time, that the transitions from one state to another can take.
    fn possible(&self, from: usize, to: usize, time: f64, idle: Nanos) -> Nanos {
        let Phases { of, period } = &self.phases[from];
        let (phase, period) = (of[to].unwrap_or(0), *period);
        if period == 0 {
            return phase;
        }
        let rounds = convert::nanos((time - convert::real(phase)) / convert::real(period));
        let least = phase.rem_euclid(period);
        let most = (idle - (idle - phase).rem_euclid(period)).max(least);
        phase.saturating_add(rounds.saturating_mul(period)).clamp(least, most)
    }
}

/// The times after which states can end, or long states begin, seen from the end of one state.
struct Phases {
    /// One such time for each state that can be reached without a long one.
    of: Vec<Option<Nanos>>,
    /// All others differ from it by multiples of this; 0: there are no others.
    period: Nanos,
}

impl Phases {
    fn new(chain: &Chain, short: &[bool], from: usize) -> Self {
        let mut of = vec![None; short.len()];
        let (mut open, mut period) = (vec![(from, 0)], 0);
        of[from] = Some(0);
        while let Some((state, phase)) = open.pop() {
            for to in (0..short.len()).filter(|to| short[state] && chain.probability(state, *to) > 0.0) {
                let phase = phase + if short[to] { chain.durations[to] } else { 0 };
                match of[to] {
                    Some(known) => period = common_divisor(period, phase - known),
                    None => {
                        of[to] = Some(phase);
                        open.push((to, phase));
                    }
                }
            }
        }
        Self { of, period }
    }
}

impl Cell {
    fn drawn(&self, numbers: &mut Sequence) -> f64 {
        if self.variance > 0.0 {
            self.mean + libm::sqrt(self.variance) * normal_quantile(numbers.unit())
        } else {
            self.mean
        }
    }
}

/// The number of a weight, drawn in proportion to the weights.
fn pick(weights: impl Iterator<Item = f64> + Clone, unit: f64) -> usize {
    let mut left = unit * weights.clone().sum::<f64>();
    let mut last = 0;
    for (number, weight) in weights.enumerate().filter(|(_, weight)| *weight > 0.0) {
        last = number;
        left -= weight;
        if left < 0.0 {
            break;
        }
    }
    last
}

fn common_divisor(a: Nanos, b: Nanos) -> Nanos {
    let (mut a, mut b) = (a.saturating_abs(), b.saturating_abs());
    while b != 0 {
        (a, b) = (b, a % b);
    }
    a
}

/// The idle time that single steps cost less than a jump for, or no more than the laws of a jump need.
pub(super) fn stepped(chain: &Chain, short: Nanos) -> Nanos {
    let states = chain.durations.len();
    let steps = (short * SPARE).max(i64::try_from(8 * states * states * states).unwrap_or(Nanos::MAX));
    chain.shortest.saturating_mul(steps)
}

/// Brings a chain near to `now`: what is left is at most [`stepped`].
pub(super) fn jump(walk: &mut Walk, chain: &Chain, numbers: &mut Sequence, now: Nanos, short: Nanos) {
    let mut kept: Option<JumpTable> = None;
    loop {
        let idle = now.saturating_sub(walk.until);
        if idle <= stepped(chain, short) {
            return;
        }
        kept = kept.filter(|table| table.longest_short <= idle / short);
        let table = kept.get_or_insert_with(|| JumpTable::new(chain, idle, short));
        if !table.short[walk.state] {
            walk.step(chain, numbers);
            continue;
        }
        let (state, time) = table.draw(walk.state, idle, numbers);
        walk.state = state;
        walk.until += time;
        if !table.short[state] {
            walk.until = walk.until.saturating_add(chain.durations[state]);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::DwellUnit;
    use super::*;
    use crate::claims;
    use crate::generator::{Generator, Owner, Purpose};
    use romer_units::random::Seed;

    const UNIT: Nanos = 1_000;

    fn numbers() -> Sequence {
        let owner = Owner { seed: Seed([6, 5, 4, 3, 2, 1]), generator: Generator::Counter, port: 0, flow: 0 };
        Sequence::new(owner, Purpose::LossChain)
    }

    fn chain(rows: &[&[f64]], units: &[Nanos]) -> Chain {
        let rows: Vec<Vec<f64>> = rows.iter().map(|row| row.to_vec()).collect();
        let durations: Vec<Nanos> = units.iter().map(|units| units * UNIT).collect();
        Chain::new(DwellUnit::Time, &rows, &durations, 0).unwrap()
    }

    /// The probabilities of each state after `time` units, in the first and in the second half of its duration, as
    /// single steps have them.
    fn law(chain: &Chain, time: usize) -> Vec<[f64; 2]> {
        let n = chain.durations.len();
        let units: Vec<usize> = chain.durations.iter().map(|d| usize::try_from(d / UNIT).unwrap()).collect();
        let mut begun = vec![vec![0.0; n]; time + 1];
        begun[0][0] = 1.0;
        for at in 0..=time {
            for from in 0..n {
                if begun[at][from] > 0.0 && at + units[from] <= time {
                    for to in 0..n {
                        begun[at + units[from]][to] += begun[at][from] * chain.probability(from, to);
                    }
                }
            }
        }
        let share = |state: usize, ages: std::ops::Range<usize>| {
            ages.filter(|age| *age <= time).map(|age| begun[time - age][state]).sum::<f64>()
        };
        (0..n).map(|i| [share(i, 0..units[i] / 2), share(i, units[i] / 2..units[i])]).collect()
    }

    /// Compares the states after an idle time with the law of single steps.
    fn has_the_law_of_steps(name: &str, chain: &Chain, time: Nanos, short: Nanos, samples: u64) {
        let mut numbers = numbers();
        let mut found = vec![[0_u64; 2]; chain.durations.len()];
        for _ in 0..samples {
            let mut walk = Walk { state: 0, until: chain.durations[0], started: true };
            walk.advance(chain, &mut numbers, time * UNIT, short);
            let duration = chain.durations[walk.state];
            let age = time * UNIT - (walk.until - duration);
            assert!((0..duration).contains(&age), "{name}: age {age}");
            found[walk.state][usize::from(age / UNIT >= duration / UNIT / 2)] += 1;
        }
        for (state, (found, expected)) in
            found.iter().zip(law(chain, usize::try_from(time).unwrap())).enumerate()
        {
            for (half, (found, p)) in found.iter().zip(expected).enumerate() {
                let what = format!("{name}, state {state}, half {half}");
                let variance = samples as f64 * p * (1.0 - p);
                if variance > 100.0 {
                    claims::near(&what, *found as f64, samples as f64 * p, variance.sqrt());
                } else {
                    // Poisson's tail beyond the mean and 10 and six of its roots is below 1e-6.
                    let mean = samples as f64 * p.min(1.0 - p);
                    let rare = if p < 0.5 { *found } else { samples - found } as f64;
                    assert!(
                        rare <= if mean < 1e-9 { 0.0 } else { mean + 10.0 + 6.0 * mean.sqrt() },
                        "{what}: {found}"
                    );
                }
            }
        }
    }

    /// Chains that mix at once, slowly and never, that have a period, and that have durations of all lengths.
    fn all() -> Vec<(&'static str, Chain)> {
        vec![
            ("fast", chain(&[&[0.4, 0.6], &[0.8, 0.2]], &[5, 2])),
            ("slow", chain(&[&[0.99998, 0.00002], &[0.00001, 0.99999]], &[1, 1])),
            ("periodic", chain(&[&[0.0, 0.7, 0.3], &[1.0, 0.0, 0.0], &[1.0, 0.0, 0.0]], &[5, 2, 9])),
            ("a cycle", chain(&[&[0.0, 1.0, 0.0], &[0.0, 0.0, 1.0], &[1.0, 0.0, 0.0]], &[5, 2, 4])),
            ("a rare long state", chain(&[&[0.9999, 0.0001], &[1.0, 0.0]], &[1, 20_000])),
            (
                "a long state that comes once",
                chain(&[&[0.9998, 0.0002, 0.0], &[0.0, 0.0, 1.0], &[0.0, 0.0, 1.0]], &[1, 57_900, 1]),
            ),
            ("rare states of some length", chain(&[&[0.99, 0.01], &[0.9, 0.1]], &[1, 90])),
            (
                "three lengths",
                chain(&[&[0.97, 0.02, 0.01], &[0.5, 0.49, 0.01], &[0.3, 0.3, 0.4]], &[1, 30, 1_000]),
            ),
            (
                "two pairs",
                chain(
                    &[
                        &[0.5, 0.499_98, 0.000_02, 0.0],
                        &[0.3, 0.7, 0.0, 0.0],
                        &[0.0, 0.0, 0.0, 1.0],
                        &[0.0, 0.000_5, 0.999_5, 0.0],
                    ],
                    &[1, 2, 3, 7],
                ),
            ),
            (
                "two ends",
                chain(
                    &[
                        &[0.999_9, 0.000_03, 0.000_07, 0.0],
                        &[0.0, 1.0, 0.0, 0.0],
                        &[0.0, 0.0, 0.2, 0.8],
                        &[0.0, 0.0, 1.0, 0.0],
                    ],
                    &[3, 1, 4, 5],
                ),
            ),
        ]
    }

    /// After an idle time, a chain has the state that single steps would have, with their probability (error 1e-6 for
    /// each of 60 figures).
    #[test]
    fn jumps_have_the_law_of_steps() {
        for (name, chain) in all() {
            has_the_law_of_steps(name, &chain, 60_000, SHORT / 8, 10_000);
        }
    }

    /// The same with the thresholds of the program.
    #[test]
    fn short_jumps_have_the_law_of_steps() {
        for (name, chain) in all() {
            has_the_law_of_steps(name, &chain, 100_003, SHORT, 1_000);
        }
    }

    /// A deterministic chain keeps its phase over any idle time.
    #[test]
    fn cycles_keep_their_phase() {
        let chain = chain(&[&[0.0, 1.0], &[1.0, 0.0]], &[5, 2]);
        for time in [1_i64 << 40, 1 << 53, (1 << 62) - 1, 1 << 62] {
            let mut walk = Walk { state: 0, until: 5 * UNIT, started: true };
            walk.advance(&chain, &mut numbers(), time, SHORT);
            let within = time % (7 * UNIT);
            assert_eq!(walk.state, usize::from(within >= 5 * UNIT), "{time}");
            let end = if walk.state == 0 { 5 } else { 7 };
            assert_eq!(walk.until - time, end * UNIT - within, "{time}");
        }
    }

    /// The draws for an idle time are bounded, also for 146 years and states of all lengths.
    #[test]
    fn draws_are_bounded() {
        let mut chains = all();
        chains.push(("one state", chain(&[&[1.0]], &[1])));
        chains.push(("a day", chain(&[&[1.0 - 1e-9, 1e-9], &[1.0, 0.0]], &[1, 86_400_000_000])));
        chains.push(("days", chain(&[&[1.0 - 1e-9, 1e-9], &[1e-9, 1.0 - 1e-9]], &[1, 86_400_000_000])));
        chains
            .push(("rare days", chain(&[&[1.0 - 1e-15, 1e-15], &[1e-6, 1.0 - 1e-6]], &[1, 86_400_000_000])));
        let n = 64;
        let rows: Vec<Vec<f64>> = (0..n).map(|_| vec![1.0 / f64::from(n); 64]).collect();
        let durations: Vec<Nanos> = (0..n).map(|i| UNIT << (i / 2)).collect();
        chains.push(("64 states", Chain::new(DwellUnit::Time, &rows, &durations, 0).unwrap()));
        let mut most = 0;
        for (name, chain) in chains {
            for power in [40, 50, 55, 58, 60, 62] {
                let mut numbers = numbers();
                let mut walk = Walk { state: 0, until: chain.durations[0], started: true };
                walk.advance(&chain, &mut numbers, 1 << power, SHORT);
                most = most.max(numbers.drawn());
                assert!(walk.until > 1 << power, "{name}");
            }
        }
        assert!(most < 1 << 18, "{most} draws");
    }
}

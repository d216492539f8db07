//! Markov chains with n states, by packets or by elapsed time (Pham 2004, 3.1).
//!
//! A state lasts for its duration: so many packets that reach the chain's own stage, or so long, also while no packet
//! comes. At its end the next state is drawn from the state's row; the diagonal enters it anew. The share of packets
//! (or of time) in state i is vᵢdᵢ / Σ vⱼdⱼ, with v the stationary distribution of the rows and d the durations.
//!
//! A chain by time goes on state by state at the next packet. After a long idle time it jumps (`jump`).

mod jump;

use crate::generator::Sequence;
use crate::nanos::Nanos;

/// The most states that a chain may have.
pub const MOST_STATES: usize = 64;
/// The shortest state of a chain by time.
pub const SHORTEST_STATE: Nanos = 1_000;

/// How the durations count.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DwellUnit {
    /// Packets that reach the stage.
    Packets,
    /// Nanoseconds.
    Time,
}

/// Rows, durations and first state.
#[derive(Clone, Debug, PartialEq)]
pub struct Chain {
    step: DwellUnit,
    /// Row by row, each a running sum that ends in 1.
    cumulative: Vec<f64>,
    durations: Vec<i64>,
    shortest: i64,
    initial: usize,
}

impl Chain {
    /// A chain with these transition probabilities, durations (packets or nanoseconds) and first state (from 0).
    ///
    /// # Errors
    /// In words, where the rows are not square, do not sum to 1 within 1e-9, a duration is too short, or there are
    /// no states or more than [`MOST_STATES`].
    pub fn new(
        step: DwellUnit,
        rows: &[Vec<f64>],
        durations: &[i64],
        initial: usize,
    ) -> Result<Self, String> {
        let n = durations.len();
        if n == 0 || n > MOST_STATES {
            return Err(format!(
                "a chain has 1 to {MOST_STATES} states, this one has {n}; change their number"
            ));
        }
        if rows.len() != n {
            return Err(format!(
                "there are {n} states, and {} rows of transition; write a row for each state",
                rows.len()
            ));
        }
        if initial >= n {
            return Err(format!(
                "the initial state is {}, and there are {n}; write one of them",
                initial + 1
            ));
        }
        let shortest = if step == DwellUnit::Time { SHORTEST_STATE } else { 1 };
        let mut cumulative = Vec::with_capacity(n * n);
        for (number, (row, duration)) in (1_usize..).zip(rows.iter().zip(durations)) {
            if *duration < shortest {
                let least = if step == DwellUnit::Time { "1us" } else { "1 packet" };
                return Err(format!("state {number} lasts less than {least}; write a longer duration"));
            }
            if row.len() != n {
                return Err(format!(
                    "row {number} of transition has {} entries; write {n}, one for each state",
                    row.len()
                ));
            }
            if let Some(bad) = row.iter().find(|p| !(0.0..=1.0).contains(*p)) {
                return Err(format!(
                    "row {number} of transition holds {bad}, which is no probability; write numbers from 0 to 1"
                ));
            }
            let sum: f64 = row.iter().sum();
            if (sum - 1.0).abs() > 1e-9 {
                return Err(format!(
                    "row {number} of transition sums to {sum}; write probabilities with the sum 1"
                ));
            }
            push_running_sums(&mut cumulative, row);
        }
        let shortest = durations.iter().copied().min().unwrap_or(shortest);
        Ok(Self { step, cumulative, durations: durations.to_vec(), shortest, initial })
    }

    /// How the durations count.
    pub const fn step(&self) -> DwellUnit {
        self.step
    }

    /// The longest duration.
    pub fn longest(&self) -> i64 {
        self.durations.iter().copied().max().unwrap_or(0)
    }

    /// The parts of the chain (states from 0) that are never left once they are entered, among the states that can be
    /// entered at all; none where each state comes again and again. Of several parts the chain ends in one, by chance.
    pub fn absorbing(&self) -> Vec<Vec<usize>> {
        let n = self.durations.len();
        let reached: Vec<Vec<bool>> = (0..n).map(|state| self.reached(state)).collect();
        let entered = (0..n).filter(|state| reached[self.initial][*state]);
        entered
            .filter_map(|state| {
                let part: Vec<usize> = (0..n).filter(|to| reached[state][*to]).collect();
                // Its first state speaks for it.
                let closed = part.first() == Some(&state) && part.iter().all(|to| reached[*to][state]);
                (closed && part.len() < n).then_some(part)
            })
            .collect()
    }

    /// Where the chain begins, from 0.
    pub const fn initial(&self) -> usize {
        self.initial
    }

    /// The states that can be entered from `state`, itself included.
    fn reached(&self, state: usize) -> Vec<bool> {
        let n = self.durations.len();
        let (mut seen, mut open) = (vec![false; n], vec![state]);
        while let Some(state) = open.pop() {
            if !std::mem::replace(&mut seen[state], true) {
                open.extend((0..n).filter(|next| self.probability(state, *next) > 0.0));
            }
        }
        seen
    }

    fn probability(&self, from: usize, to: usize) -> f64 {
        let n = self.durations.len();
        let row = &self.cumulative[from * n..(from + 1) * n];
        row[to] - to.checked_sub(1).map_or(0.0, |before| row[before])
    }

    fn next(&self, state: usize, unit: f64) -> usize {
        next(&self.cumulative, self.durations.len(), state, unit)
    }
}

/// Adds the running sums of a row of probabilities. What rounding leaves of 1 belongs to the last state that can be entered.
pub(crate) fn push_running_sums(cumulative: &mut Vec<f64>, row: &[f64]) {
    let start = cumulative.len();
    let mut running = 0.0;
    cumulative.extend(row.iter().map(|p| {
        running += p;
        running
    }));
    let reachable = row.iter().rposition(|p| *p > 0.0).unwrap_or(row.len().saturating_sub(1));
    cumulative[start + reachable..].fill(1.0);
}

/// The state that a number in (0, 1) gives after `state`, of `n` states with these running sums.
pub(crate) fn next(cumulative: &[f64], n: usize, state: usize, unit: f64) -> usize {
    cumulative[state * n..(state + 1) * n].partition_point(|sum| *sum <= unit).min(n - 1)
}

/// Where a chain is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Walk {
    state: usize,
    /// Packets left in the state, or the moment of its end.
    until: i64,
    started: bool,
}

impl Walk {
    /// The state of a packet that reaches the stage at `now`, `start` being when time began.
    pub(crate) fn state(&mut self, chain: &Chain, numbers: &mut Sequence, now: Nanos, start: Nanos) -> usize {
        if !self.started {
            *self = Self { state: chain.initial, until: chain.durations[chain.initial], started: true };
            if chain.step == DwellUnit::Time {
                self.until = self.until.saturating_add(start);
            }
        }
        match chain.step {
            DwellUnit::Packets => {
                if self.until == 0 {
                    self.state = chain.next(self.state, numbers.unit());
                    self.until = chain.durations[self.state];
                }
                self.until -= 1;
            }
            DwellUnit::Time => self.advance(chain, numbers, now, jump::SHORT),
        }
        self.state
    }

    /// Goes on to the state of `now`; `short` is [`jump::SHORT`].
    fn advance(&mut self, chain: &Chain, numbers: &mut Sequence, now: Nanos, short: Nanos) {
        if now.saturating_sub(self.until) > jump::stepped(chain, short) {
            jump::jump(self, chain, numbers, now, short);
        }
        while now >= self.until {
            self.step(chain, numbers);
        }
    }

    /// Goes on to the next state.
    fn step(&mut self, chain: &Chain, numbers: &mut Sequence) {
        self.state = chain.next(self.state, numbers.unit());
        self.until = self.until.saturating_add(chain.durations[self.state]);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::claims;
    use crate::generator::{Generator, Owner, Purpose};
    use romer_units::random::Seed;

    fn numbers() -> Sequence {
        let owner = Owner { seed: Seed([1, 2, 3, 4, 5, 6]), generator: Generator::Counter, port: 0, flow: 0 };
        Sequence::new(owner, Purpose::DelayChain)
    }

    #[test]
    fn by_packets_the_shares_are_those_of_seed_002_done_right() {
        // Pham 2004, 6.1: 200 and 100 packets, rows (0.4, 0.6) and (0.8, 0.2): v = 4/7, 3/7, shares 8/11 and 3/11.
        let chain =
            Chain::new(DwellUnit::Packets, &[vec![0.4, 0.6], vec![0.8, 0.2]], &[200, 100], 0).unwrap();
        let (mut walk, mut numbers) = (Walk::default(), numbers());
        let second: u64 =
            (0..10_000_000).map(|n| u64::from(walk.state(&chain, &mut numbers, n, 0) == 1)).sum();
        let mean = 20.0 + 30.0 * second as f64 / 1e7;
        // 0.31 us for 100,000 packets, so a tenth of it for a hundred times as many.
        claims::near("mean delay, us", mean, 310.0 / 11.0, 0.031);
    }

    #[test]
    fn by_time_a_chain_runs_on_while_no_packet_comes() {
        let chain =
            Chain::new(DwellUnit::Time, &[vec![0.0, 1.0], vec![1.0, 0.0]], &[5_000, 2_000], 0).unwrap();
        let (mut walk, mut numbers) = (Walk::default(), numbers());
        let mut at = |now| walk.state(&chain, &mut numbers, now, 100);
        assert_eq!([at(100), at(5_099), at(5_100), at(7_099), at(7_100)], [0, 0, 1, 1, 0]);
        // A thousand turns later, at the beginning of a state.
        assert_eq!(at(100 + 7_000 * 1_000), 0);
        assert_eq!(at(100 + 7_000 * 1_000 + 5_000), 1);
    }

    #[test]
    fn rows_that_are_none_are_refused_in_words() {
        let make = |rows: &[Vec<f64>], durations: &[i64]| Chain::new(DwellUnit::Packets, rows, durations, 0);
        for (rows, durations, words) in [
            (vec![vec![0.5, 0.4], vec![0.5, 0.5]], vec![1, 1], "row 1 of transition sums to 0.9"),
            (vec![vec![0.5, 0.5]], vec![1, 1], "2 states, and 1 rows"),
            (vec![vec![1.0], vec![0.5, 0.5]], vec![1, 1], "row 1 of transition has 1 entries"),
            (vec![vec![1.5, -0.5], vec![0.5, 0.5]], vec![1, 1], "1.5"),
            (vec![vec![1.0]], vec![0], "state 1 lasts less"),
            (vec![], vec![], "1 to 64"),
        ] {
            let error = make(&rows, &durations).unwrap_err();
            assert!(error.contains(words), "{error}");
        }
    }

    #[test]
    fn a_row_of_rounding_thirds_never_enters_a_state_of_probability_0() {
        let third = 1.0 / 3.0;
        let rows = vec![vec![third, third, third, 0.0]; 4];
        let chain = Chain::new(DwellUnit::Packets, &rows, &[1; 4], 0).unwrap();
        assert_eq!(chain.next(0, 1.0 - f64::EPSILON / 2.0), 2);
        assert_eq!(chain.next(0, 0.0), 0);
    }
}

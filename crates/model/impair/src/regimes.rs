//! Regimes: one chain in time says which path a direction has, all its stages together.
//!
//! The chain steps on a grid of moments. Its state at a step is a function of the seed and the step alone, so that the stages before the
//! rate's queue and the rate itself agree on it, whenever they ask and whatever came before. How: step n has a random number, which maps each
//! state to its next. The maps of the steps n, n-1, n-2, ... are composed until all states are mapped to one: that is
//! the state at n, in the steady state of the chain (Propp and Wilson 1996, coupling from the past). From a known state, single maps lead on to the same.

use std::sync::Arc;

use romer_units::random::{RandomStream, Seed};

use crate::chain::{next, push_running_sums};
use crate::delay_process::unit;
use crate::nanos::Nanos;

/// The most regimes.
pub const MOST_REGIMES: usize = 8;
/// The shortest step.
pub const SHORTEST_REGIME_STEP: Nanos = 1_000_000;
/// Maps that are composed at most.
const MOST_MAPS: i64 = 1 << 17;
/// Maps in which a chain that is accepted forgets its state, as it is tried out: a sixteenth, so that all are as good as always enough.
const TRIED_MAPS: i64 = MOST_MAPS / 16;
/// Steps that are taken singly from a known state.
const SINGLE: i64 = 1_024;
/// Steps in which a change is looked for.
const LOOKED_AHEAD: i64 = 256;

/// The chain, and the path (`P`) of each state.
#[derive(Clone, Debug, PartialEq)]
pub struct Regimes<P> {
    step: Nanos,
    /// Row by row, each a running sum.
    cumulative: Vec<f64>,
    states: Vec<Arc<P>>,
}

/// A step, and the state from it on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct RegimeState {
    step: i64,
    pub(crate) state: usize,
}

/// The number in (0, 1) of a step.
fn unit_of(stream: &RandomStream, step: i64) -> f64 {
    unit(&stream.block(step.cast_unsigned()), 0)
}

impl<P> Regimes<P> {
    /// A chain with these transition probabilities from one step to the next, and a path for each state.
    ///
    /// # Errors
    /// In words, where there are no states or too many, where the rows are not square or do not sum to 1 within 1e-9, and where the
    /// chain does not forget its state in some thousand steps.
    pub fn new(step: Nanos, rows: &[Vec<f64>], states: Vec<Arc<P>>) -> Result<Self, String> {
        let n = states.len();
        if !(1..=MOST_REGIMES).contains(&n) {
            return Err(format!("has {n} states; write 1 to {MOST_REGIMES} of them"));
        }
        if rows.len() != n || rows.iter().any(|row| row.len() != n) {
            return Err(format!("is not square; write {n} rows of {n} probabilities, one for each state"));
        }
        let mut cumulative = Vec::with_capacity(n * n);
        for (number, row) in (1..).zip(rows) {
            let sum: f64 = row.iter().sum();
            if (sum - 1.0).abs() > 1e-9 || row.iter().any(|p| !(0.0..=1.0).contains(p)) {
                return Err(format!(
                    "has row {number} with the sum {sum}; write probabilities with the sum 1"
                ));
            }
            push_running_sums(&mut cumulative, row);
        }
        let regimes = Self { step: step.max(SHORTEST_REGIME_STEP), cumulative, states };
        let trial = RandomStream::new(Seed([1; 6]), [0, 0]);
        if (0..16).any(|run| regimes.coalesced(&trial, run * MOST_MAPS, TRIED_MAPS).is_none()) {
            return Err(format!(
                "does not forget its state in {TRIED_MAPS} steps: write larger probabilities with a longer step, and none that \
                 alternate with certainty"
            ));
        }
        Ok(regimes)
    }

    /// The path of each state.
    pub fn states(&self) -> &[Arc<P>] {
        &self.states
    }

    /// The state after `state`, for the number of the step.
    fn next(&self, state: usize, unit: f64) -> usize {
        next(&self.cumulative, self.states.len(), state, unit)
    }

    /// The state at a step; `None` where not all states come to one in so many maps.
    fn coalesced(&self, stream: &RandomStream, step: i64, most: i64) -> Option<usize> {
        let n = self.states.len();
        let mut composed: [usize; MOST_REGIMES] = core::array::from_fn(|state| state);
        for back in 0..most {
            if composed[1..n].iter().all(|to| *to == composed[0]) {
                return Some(composed[0]);
            }
            let before = composed;
            let number = unit_of(stream, step - back);
            for (state, to) in composed[..n].iter_mut().enumerate() {
                *to = before[self.next(state, number)];
            }
        }
        None
    }

    /// The state at a moment since the beginning; `known` is an earlier one, or any.
    pub(crate) fn at(&self, stream: &RandomStream, known: Option<RegimeState>, moment: Nanos) -> RegimeState {
        let step = moment.div_euclid(self.step);
        let state = match known {
            Some(known) if (0..=SINGLE).contains(&(step - known.step)) && known.state < self.states.len() => {
                (known.step + 1..=step)
                    .fold(known.state, |state, step| self.next(state, unit_of(stream, step)))
            }
            _ => self.coalesced(stream, step, MOST_MAPS).unwrap_or(0),
        };
        RegimeState { step, state }
    }

    /// When the state changes next after `known`, or a moment up to which it does not.
    pub(crate) fn next_change(&self, stream: &RandomStream, known: RegimeState) -> Nanos {
        let mut state = known.state;
        let ahead = (known.step + 1..known.step + LOOKED_AHEAD).find(|step| {
            state = self.next(state, unit_of(stream, *step));
            state != known.state
        });
        ahead.unwrap_or(known.step + LOOKED_AHEAD).saturating_mul(self.step)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::claims;

    fn chain(rows: &[&[f64]]) -> Result<Regimes<usize>, String> {
        let rows: Vec<Vec<f64>> = rows.iter().map(|row| row.to_vec()).collect();
        let states = (0..rows.len()).map(Arc::new).collect();
        Regimes::new(SHORTEST_REGIME_STEP, &rows, states)
    }

    fn stream(number: u32) -> RandomStream {
        RandomStream::new(Seed([number, 1, 2, 3, 4, 5]), [8, 8])
    }

    /// The state at a step is the same from the past, from any earlier state and by single changes.
    #[test]
    fn a_step_has_one_state() {
        for rows in [
            &[&[0.9, 0.1][..], &[0.3, 0.7]][..],
            &[&[0.999, 0.001, 0.0], &[0.0, 0.9, 0.1], &[0.5, 0.0, 0.5]],
            &[&[0.2, 0.8], &[0.2, 0.8]],
        ] {
            let (regimes, stream) = (chain(rows).unwrap(), stream(1));
            let mut known = regimes.at(&stream, None, 0);
            for (step, gap) in (0..4_000_i64).scan(0, |at, n| {
                *at += n % 7;
                Some((*at, n % 7))
            }) {
                let moment = step * SHORTEST_REGIME_STEP + 17;
                let change = regimes.next_change(&stream, known);
                let now = regimes.at(&stream, Some(known), moment);
                assert_eq!(now, regimes.at(&stream, None, moment), "{step} after {gap}");
                assert!(
                    moment >= change || now.state == known.state,
                    "{step}: no change before the next one"
                );
                known = now;
            }
        }
    }

    /// Shares and sojourns are those of the chain (error 1e-6 for each figure).
    #[test]
    fn shares_and_sojourns_are_the_chains() {
        let (regimes, stream) = (chain(&[&[0.95, 0.05], &[0.2, 0.8]]).unwrap(), stream(2));
        let count = 200_000;
        let mut known = None;
        let states: Vec<usize> = (0..count)
            .map(|step| {
                let now = regimes.at(&stream, known, step * SHORTEST_REGIME_STEP);
                known = Some(now);
                now.state
            })
            .collect();
        let second = states.iter().sum::<usize>() as f64 / count as f64;
        // The variance of the mean of two states whose autocorrelation is 0.75: (1 + 0.75)/(1 - 0.75) times that of trials.
        claims::near("share", second, 0.2, (0.16 / count as f64 * 7.0).sqrt());
        let entries = states.windows(2).filter(|pair| *pair == [0, 1]).count() as u64;
        claims::binomial("entries", entries, states.iter().filter(|state| **state == 0).count() as u64, 0.05);
    }

    /// Chains that keep their state for longer than is looked back are refused.
    #[test]
    fn chains_that_do_not_forget_are_refused() {
        for (rows, words) in [
            (&[&[0.0, 1.0][..], &[1.0, 0.0]][..], "does not forget"),
            (&[&[1.0, 0.0], &[0.0, 1.0]], "does not forget"),
            (&[&[0.999_999, 0.000_001], &[0.000_001, 0.999_999]], "does not forget"),
            (&[&[0.5, 0.4], &[0.5, 0.5]], "the sum 0.9"),
            (&[&[0.5, 0.5], &[1.0]], "is not square"),
        ] {
            assert!(chain(rows).unwrap_err().contains(words), "{words}");
        }
        assert!(chain(&[&[1.0]]).is_ok());
    }
}

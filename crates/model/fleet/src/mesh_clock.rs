//! Clock offsets of a mesh that agree with the bounds of all its pairs.
//!
//! Each pair bounds the offset between its two clocks ([`PairBound`]): probes cannot arrive before they leave. In a mesh of three or
//! more agents the bounds constrain each other. This module computes:
//!
//! - the exact interval of each clock's offset from a reference clock that all bounds allow: the system of difference constraints
//!   x(b) - x(a) <= high, x(a) - x(b) <= -low, whose solutions are shortest paths (Bellman 1958, Ford 1956);
//! - an estimate in this interval, by least squares over the pairs, with weights from the widths of their bounds;
//! - contradictions: a loop of pairs whose bounds no offsets satisfy, which is a negative cycle of the constraints.
//!
//! It computes no correction of single loops.

mod constraints;
mod least_squares;
mod offset_bound;

use std::collections::{BTreeMap, BTreeSet};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use self::constraints::{Constraint, Constraints};
use crate::token::Token;

pub use offset_bound::{ClockLimits, offset_bound};

/// Parts per billion of a whole.
const PPB: f64 = 1e9;
/// Units of rates in the computation.
const RATE_UNITS: f64 = 1e12;
/// A clock does not run backwards: the least rate whose logarithm is used.
const LEAST_RATE: f64 = -0.999_999;

/// Bounds of the offset between two clocks at a moment that is common to all pairs of a mesh.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct PairBound {
    /// One agent.
    pub a: Token,
    /// The other agent.
    pub b: Token,
    /// The least offset, clock of `b` minus clock of `a`, nanoseconds.
    pub low_ns: i64,
    /// The greatest offset, nanoseconds.
    pub high_ns: i64,
    /// The rate of the clock of `b` relative to that of `a`, if it was estimated.
    pub rate: Option<RateBound>,
}

/// A rate of one clock relative to another, with its bounds: parts per billion.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct RateBound {
    /// The least rate.
    pub low_ppb: f64,
    /// The greatest rate.
    pub high_ppb: f64,
}

/// The clocks of a mesh.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct MeshClocks {
    /// The clocks by agent.
    pub clocks: BTreeMap<Token, AgentClock>,
    /// Contradictions. Each names the pair that is left out of the estimates.
    pub findings: Vec<MeshFinding>,
}

/// An agent's clock relative to that of a reference agent.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct AgentClock {
    /// The reference agent: the first by name of those that pairs connect with this one.
    pub reference: Token,
    /// The least offset that all bounds allow, clock of the agent minus clock of the reference, nanoseconds.
    pub low_ns: i64,
    /// The greatest offset.
    pub high_ns: i64,
    /// The estimate between them.
    pub offset_ns: i64,
    /// The rate relative to the reference, if pairs with rates connect them.
    pub rate: Option<ClockRate>,
}

/// A rate relative to a reference clock: parts per billion.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ClockRate {
    /// The least rate that all bounds allow.
    pub low_ppb: f64,
    /// The greatest rate.
    pub high_ppb: f64,
    /// The estimate between them.
    pub rate_ppb: f64,
}

/// A contradiction between bounds of a mesh.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "finding", rename_all = "snake_case")]
pub enum MeshFinding {
    /// No offsets satisfy the bounds of the pairs on a loop: a clock was stepped, or time stamps are wrong.
    OffsetsDisagree {
        /// The agents of the loop in its order; the last one is a pair with the first one. Two agents: a pair whose own bounds
        /// contradict each other.
        agents: Vec<Token>,
        /// By how much the bounds contradict each other around the loop, nanoseconds; positive.
        excess_ns: i64,
        /// The agents of the pair that is left out of the estimates.
        left_out: [Token; 2],
    },
    /// No rates satisfy the bounds of the pairs on a loop.
    RatesDisagree {
        /// The agents of the loop.
        agents: Vec<Token>,
        /// By how much, parts per billion; positive.
        excess_ppb: f64,
        /// The agents of the pair that is left out of the estimates.
        left_out: [Token; 2],
    },
}

/// The clocks of a mesh by the bounds of its pairs. Agents that no pairs connect have different references.
///
/// Several bounds of one pair all apply. The result does not depend on the order of the bounds.
pub fn clocks(bounds: &[PairBound]) -> MeshClocks {
    let names: BTreeSet<&Token> = bounds.iter().flat_map(|bound| [&bound.a, &bound.b]).collect();
    let names: Vec<&Token> = names.into_iter().collect();
    let numbers: BTreeMap<&Token, usize> =
        names.iter().enumerate().map(|(number, name)| (*name, number)).collect();
    let (mut offsets, mut rates) = (Constraints::default(), Constraints::default());
    for bound in bounds.iter().filter(|bound| bound.a != bound.b) {
        let (Some(a), Some(b)) = (numbers.get(&bound.a), numbers.get(&bound.b)) else { continue };
        offsets.add(*a, *b, bound.low_ns, bound.high_ns);
        if let Some(rate) = bound.rate {
            rates.add(*a, *b, rate_units(rate.low_ppb, f64::floor), rate_units(rate.high_ppb, f64::ceil));
        }
    }
    let name = |number: usize| names.get(number).copied().cloned();
    let named = |numbers: &[usize]| numbers.iter().filter_map(|number| name(*number)).collect::<Vec<_>>();
    let mut findings = Vec::new();
    for contradiction in offsets.make_consistent(names.len()) {
        let [Some(one), Some(other)] = contradiction.left_out.map(name) else { continue };
        findings.push(MeshFinding::OffsetsDisagree {
            agents: named(&contradiction.nodes),
            excess_ns: limited(contradiction.excess),
            left_out: [one, other],
        });
    }
    for contradiction in rates.make_consistent(names.len()) {
        let [Some(one), Some(other)] = contradiction.left_out.map(name) else { continue };
        findings.push(MeshFinding::RatesDisagree {
            agents: named(&contradiction.nodes),
            excess_ppb: rate_ppb(contradiction.excess),
            left_out: [one, other],
        });
    }
    let solved = |constraints: &Constraints| {
        let ranges = constraints.ranges(names.len());
        let pairs: Vec<Constraint> = constraints.iter().collect();
        let estimates = least_squares::estimate(&pairs, &ranges);
        ranges.into_iter().zip(estimates)
    };
    let mut clocks = BTreeMap::new();
    for (number, ((offset, estimate), (rate, rate_estimate))) in
        solved(&offsets).zip(solved(&rates)).enumerate()
    {
        let (Some(agent), Some(reference)) = (name(number), name(offset.root)) else { continue };
        // Relative to another reference a rate would mislead.
        let rate = (rate.root == offset.root).then(|| ClockRate {
            low_ppb: rate_ppb(rate.low),
            high_ppb: rate_ppb(rate.high),
            rate_ppb: rate_ppb(rate_estimate),
        });
        let (low_ns, high_ns, offset_ns) = (limited(offset.low), limited(offset.high), limited(estimate));
        clocks.insert(agent, AgentClock { reference, low_ns, high_ns, offset_ns, rate });
    }
    MeshClocks { clocks, findings }
}

/// Rates in whole units of 1e-12, of the logarithm of the ratio of two clocks: ratios are multiplied along a path, and their logarithms
/// added.
fn rate_units(ppb: f64, round: fn(f64) -> f64) -> i64 {
    let unit = (ppb / PPB).max(LEAST_RATE).ln_1p() * RATE_UNITS;
    #[expect(clippy::cast_possible_truncation, reason = "the conversion saturates")]
    let whole = round(unit) as i64;
    whole
}

/// The rate of such units, parts per billion.
fn rate_ppb(units: i128) -> f64 {
    #[expect(clippy::cast_precision_loss, reason = "rates have fewer than 2^53 units")]
    let units = units as f64;
    (units / RATE_UNITS).exp_m1() * PPB
}

fn limited(number: i128) -> i64 {
    i64::try_from(number).unwrap_or(if number < 0 { i64::MIN } else { i64::MAX })
}

#[cfg(test)]
mod tests;

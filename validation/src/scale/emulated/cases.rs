//! What is asked of the emulator: the cases of Pham 2004's tables 7.2 to 7.7, and those beyond.

use std::sync::Arc;

use romer_impair::config::{DEFAULT_FLUSH, Delay, Duplicate, Model, Reorder, Variable};
use romer_impair::{Config, Decision, DelayDistribution, Path};
use romer_units::random::Seed;
use serde::Serialize;

/// The frames of Pham 2004's tables, octets with check sequence.
const SIZES: [u32; 3] = [64, 759, 1_518];
/// Shares of 100 Mbit/s, in percent.
const LOADS: [u32; 3] = [10, 50, 100];
/// The shortest frames on 100 Mbit/s: packets a second.
pub(crate) const MAX_PACKETS_PER_SECOND: u32 = 148_809;

const MICRO: i64 = 1_000;
const MILLI: i64 = 1_000_000;

/// A group of cases, as the page shows them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum CaseGroup {
    /// 7.2: nothing is asked for.
    PassThrough,
    /// 7.3: constant delays at 1,645 packets a second.
    Slow,
    /// 7.4: 10 us.
    TenMicros,
    /// 7.5: 100 ms.
    HundredMillis,
    /// 7.6: 50 us, constant or about it.
    Varying,
    /// 7.7: pass-through, both ways at once.
    BothWays,
    /// Beyond the seed: constant delays for the shortest frames at the full rate.
    FullRate,
    /// Beyond the seed: loss, duplication, reordering and delay at the full rate, both ways at once.
    Everything,
    /// Beyond the seed: pass-through by the other data plane.
    ByXdp,
}

impl CaseGroup {
    /// All of them, in the order of the page.
    pub(crate) const ALL: [Self; 9] = [
        Self::PassThrough,
        Self::Slow,
        Self::TenMicros,
        Self::HundredMillis,
        Self::Varying,
        Self::BothWays,
        Self::FullRate,
        Self::Everything,
        Self::ByXdp,
    ];

    pub(crate) const fn title(self) -> &'static str {
        match self {
            Self::PassThrough => "Table 7.2: pass-through",
            Self::Slow => "Table 7.3: 1,645 packets a second",
            Self::TenMicros => "Table 7.4: 10 us",
            Self::HundredMillis => "Table 7.5: 100 ms",
            Self::Varying => "Table 7.6: about 50 us",
            Self::BothWays => "Table 7.7: both ways at once, packets a second each way",
            Self::FullRate => "Constant delays at the full rate",
            Self::Everything => {
                "Loss 1 %, duplication 1 %, reordering 1 % and a delay of 1 ms, both ways at once"
            }
            Self::ByXdp => {
                "Pass-through by XDP sockets, which are not what is taken on virtual links unless asked for"
            }
        }
    }

    /// Ways that frames are sent at once.
    pub(crate) const fn ways(self) -> usize {
        match self {
            Self::BothWays | Self::Everything => 2,
            _ => 1,
        }
    }
}

/// The delay that is asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Target {
    /// The same for every packet, nanoseconds.
    Constant(i64),
    /// Uniform from 0 to 100 us.
    Uniform,
    /// Normal about 50 us with a deviation of 10 us.
    Normal,
}

impl Target {
    /// What every packet is held for at least, nanoseconds.
    pub(crate) const fn constant(self) -> Option<i64> {
        match self {
            Self::Constant(nanos) => Some(nanos),
            Self::Uniform | Self::Normal => None,
        }
    }

    /// Whether as good as every packet is to be held for 10 us or longer.
    pub(crate) const fn is_from_10_us(self) -> bool {
        match self {
            Self::Constant(nanos) => nanos >= 10 * MICRO,
            Self::Uniform => false,
            Self::Normal => true,
        }
    }
}

/// What Pham 2004 has in the same place, in microseconds, each the mean.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub(crate) struct PublishedResult {
    /// The latency between its ports (7.2), or what the delay added to that beyond the delay itself.
    pub(crate) external_us: Option<f64>,
    /// What a packet was held beyond what was asked.
    pub(crate) internal_us: Option<f64>,
    /// Packets a second that it managed each way, where that was fewer than what is sent here.
    pub(crate) most_pps: Option<u32>,
}

/// What is asked for in one case.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub(crate) struct Case {
    pub(crate) table: CaseGroup,
    /// Octets of a frame with its check sequence, and frames a second each way.
    pub(crate) octets: u32,
    pub(crate) pps: u32,
    pub(crate) target: Target,
    pub(crate) theirs: PublishedResult,
}

impl Case {
    /// Whether every packet is to be accounted for and none dropped: whatever is sent at the full rate, and both ways.
    pub(crate) fn is_accounted_for(&self) -> bool {
        self.pps == MAX_PACKETS_PER_SECOND || self.table.ways() > 1
    }
}

/// The cases in the order of the page.
pub(crate) fn cases() -> Vec<Case> {
    let mut cases = Vec::new();
    let rates = || SIZES.into_iter().flat_map(|octets| LOADS.map(|load| (octets, rate(octets, load))));
    let mut nine = |table, target, external: Option<[f64; 9]>, internal: [f64; 9]| {
        cases.extend(rates().enumerate().map(|(place, (octets, pps))| Case {
            table,
            octets,
            pps,
            target,
            theirs: PublishedResult {
                external_us: external.map(|all| all[place]),
                internal_us: Some(internal[place]),
                most_pps: (table == CaseGroup::HundredMillis && pps > 1_300).then_some(1_300),
            },
        }));
    };
    nine(
        CaseGroup::PassThrough,
        Target::Constant(0),
        Some([14.2, 19.0, 133.6, 17.1, 17.2, 19.1, 17.1, 16.9, 19.1]),
        [4.59, 13.65, 168.51, 4.69, 4.60, 4.59, 4.62, 4.59, 4.59],
    );
    nine(
        CaseGroup::TenMicros,
        Target::Constant(10 * MICRO),
        Some([2.1, 19.9, 831.9, 1.2, 1.3, 1.6, 1.0, 1.7, 0.4]),
        [1.16, 25.90, 611.89, 1.16, 4.60, 1.21, 1.17, 1.16, 1.19],
    );
    nine(
        CaseGroup::HundredMillis,
        Target::Constant(100 * MILLI),
        Some([9.29, 10.30, 10.60, 2.78, 2.96, 4.28, 3.12, 2.60, 1.67]),
        [1.40, 2.73, 3.13, 1.09, 1.08, 1.09, 1.08, 1.10, 1.08],
    );
    nine(
        CaseGroup::Varying,
        Target::Constant(50 * MICRO),
        None,
        [1.07, 25.26, 572.46, 1.09, 1.10, 1.25, 1.09, 1.09, 1.15],
    );
    nine(
        CaseGroup::Varying,
        Target::Uniform,
        None,
        [3.80, 753.58, 548.67, 1.60, 1.60, 4.96, 1.59, 1.59, 2.00],
    );
    nine(
        CaseGroup::Varying,
        Target::Normal,
        None,
        [2.05, 249.01, 572.33, 1.08, 1.09, 3.31, 1.08, 1.10, 1.14],
    );
    // Of 100 ms and more the seed had packets at 1,200 and 100 a second only.
    for (nanos, external, most) in [
        (0, 14.3, None),
        (MILLI, 0.0, None),
        (10 * MILLI, 0.0, None),
        (100 * MILLI, 5.7, Some(1_200)),
        (1_000 * MILLI, 21.7, Some(100)),
    ] {
        let theirs = PublishedResult { external_us: Some(external), internal_us: None, most_pps: most };
        let target = Target::Constant(nanos);
        cases.push(Case { table: CaseGroup::Slow, octets: 64, pps: 1_645, target, theirs });
    }
    for (octets, most) in SIZES.into_iter().zip([Some(80_000), None, None]) {
        let theirs = PublishedResult { most_pps: most, ..PublishedResult::default() };
        let target = Target::Constant(0);
        cases.push(Case { table: CaseGroup::BothWays, octets, pps: rate(octets, 100), target, theirs });
    }
    let full = |table, nanos| Case {
        table,
        octets: 64,
        pps: MAX_PACKETS_PER_SECOND,
        target: Target::Constant(nanos),
        theirs: PublishedResult::default(),
    };
    cases.extend([MILLI, 10 * MILLI, 1_000 * MILLI].map(|nanos| full(CaseGroup::FullRate, nanos)));
    cases.push(full(CaseGroup::Everything, MILLI));
    cases.extend([(64, 10), (64, 100), (1_518, 10)].map(|(octets, load)| {
        let target = Target::Constant(0);
        Case {
            table: CaseGroup::ByXdp,
            octets,
            pps: rate(octets, load),
            target,
            theirs: PublishedResult::default(),
        }
    }));
    cases.sort_by_key(|case| CaseGroup::ALL.iter().position(|table| *table == case.table));
    cases
}

/// Frames a second of a share of 100 Mbit/s, preamble and gap included.
const fn rate(octets: u32, percent: u32) -> u32 {
    100_000_000 / 8 / (octets + 20) * percent / 100
}

/// What the emulator is told.
pub(super) fn config(case: &Case) -> Config {
    let decision = Decision::Bernoulli { probability: 0.01 };
    let (fixed, law) = match case.target {
        Target::Constant(nanos) => (nanos, None),
        Target::Uniform => (0, Some(DelayDistribution::Uniform { low: 0.0, high: 1e5 })),
        Target::Normal => (0, Some(DelayDistribution::Normal { mean: 5e4, stddev: 1e4 })),
    };
    let variable = law.map(|law| Variable::new(law, None));
    let mut path =
        Path { delay: Model::Plain(Delay { fixed, variable }), flush: DEFAULT_FLUSH, ..Path::default() };
    if case.table == CaseGroup::Everything {
        path.loss = Model::Plain(decision);
        path.duplicate = Model::Plain(Duplicate { decision, delay: 0 });
        path.reorder = Model::Plain(Reorder { decision, ..Reorder::default() });
    }
    both_ways(path)
}

/// A path for either way.
pub(super) fn both_ways(path: Path) -> Config {
    let path = Arc::new(path);
    let mut config = Config { seed: Some(Seed([1, 2, 3, 4, 5, 6])), ..Config::default() };
    config.base.paths = [vec![Some(Arc::clone(&path))], vec![Some(path)]];
    config
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rates_are_those_of_the_seeds_tables() {
        assert_eq!((rate(64, 10), rate(64, 50), rate(64, 100)), (14_880, 74_404, MAX_PACKETS_PER_SECOND));
        assert_eq!((rate(759, 10), rate(759, 50), rate(759, 100)), (1_604, 8_023, 16_046));
        assert_eq!((rate(1_518, 10), rate(1_518, 50), rate(1_518, 100)), (812, 4_063, 8_127));
    }

    #[test]
    fn the_seeds_figures_stand_beside_the_case_that_they_are_of() {
        let all = cases();
        let of = |table, octets, pps, target| {
            let is = |case: &&Case| {
                (case.table, case.octets, case.pps, case.target) == (table, octets, pps, target)
            };
            all.iter().find(is).unwrap().theirs
        };
        let ten = of(CaseGroup::TenMicros, 64, MAX_PACKETS_PER_SECOND, Target::Constant(10_000));
        assert_eq!((ten.external_us, ten.internal_us), (Some(831.9), Some(611.89)));
        assert_eq!(of(CaseGroup::Varying, 759, 16_046, Target::Normal).internal_us, Some(3.31));
        assert_eq!(
            of(CaseGroup::BothWays, 64, MAX_PACKETS_PER_SECOND, Target::Constant(0)).most_pps,
            Some(80_000)
        );
        assert_eq!(
            of(CaseGroup::HundredMillis, 64, MAX_PACKETS_PER_SECOND, Target::Constant(100_000_000)).most_pps,
            Some(1_300)
        );
        let tables: Vec<CaseGroup> = all.iter().map(|case| case.table).collect();
        assert!(CaseGroup::ALL.iter().all(|table| tables.contains(table)));
    }
}

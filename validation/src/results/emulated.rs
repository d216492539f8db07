//! What is claimed of the emulator.

use romer_units::Duration;
use serde::Serialize;

use super::{Claim, MOST_GROWTH_KIB};
use crate::circumstances::Circumstances;
use crate::figures::median;
use crate::scale::emulated::{ALL, Alone, Case, CaseGroup, Cost, Emulated, Resident, Target};

/// Most that the emulator holds a packet longer than asked, in the median.
const MOST_HOLD_ERROR_P50_NS: f64 = 600.0;
/// Most that it adds from outside, in the median: from so many packets a second up, and below.
const HIGH_RATE: u32 = 14_880;
const MOST_EXTERNAL_P50_NS: f64 = 6_000.0;
const MOST_EXTERNAL_SLOW_P50_NS: f64 = 15_000.0;
/// Most that its engine takes for a packet.
const MOST_ENGINE_NS: f64 = 250.0;

/// What was measured of the emulator.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub(crate) struct Emulation {
    /// Between two hosts.
    pub(crate) emulated: Vec<Emulated>,
    /// Generator and receivers without it.
    pub(crate) alone: Vec<Alone>,
    /// Its memory.
    pub(crate) resident: Vec<Resident>,
    /// Its engine alone, once.
    pub(crate) engine: Vec<Cost>,
}

impl Emulation {
    /// The circumstances of everything, in the order of the page.
    pub(super) fn circumstances(&self) -> impl Iterator<Item = Circumstances> + '_ {
        let emulated = self.emulated.iter().map(|one| one.circumstances);
        let alone = self.alone.iter().map(|one| one.circumstances);
        emulated.chain(alone).chain(self.resident.iter().map(|one| one.circumstances))
    }

    /// The emulator's cases, each with what came of it in the runs.
    pub(crate) fn cases(&self) -> Vec<(Case, Vec<&Emulated>)> {
        let mut cases: Vec<(Case, Vec<&Emulated>)> = Vec::new();
        for one in &self.emulated {
            match cases.iter_mut().find(|(case, _)| *case == one.case) {
                Some((_, runs)) => runs.push(one),
                None => cases.push((one.case, vec![one])),
            }
        }
        cases
    }

    pub(super) fn claim(&self, claims: &mut Vec<Claim>) {
        let cases = self.cases();
        for (case, runs) in cases.iter().filter(|(case, _)| case.target.is_from_10_us()) {
            if case.table != CaseGroup::Everything
                && let Some(error) = middle(runs, |one| one.hold_error_p50_ns)
            {
                claims.push(Claim::at_most(
                    "the emulator holds packets p50 at most 0.6 us longer than asked, where it is asked for 10 us or more \
                     (median of the runs)",
                    subject(case),
                    error,
                    MOST_HOLD_ERROR_P50_NS,
                ));
            }
        }
        for is_high in [true, false] {
            let (claim, limit) = if is_high {
                (
                    "the emulator's external overhead from 14,880 packets a second up: p50 at most 6 us (median of the runs)",
                    MOST_EXTERNAL_P50_NS,
                )
            } else {
                (
                    "the emulator's external overhead below 14,880 packets a second: p50 at most 15 us (median of the runs)",
                    MOST_EXTERNAL_SLOW_P50_NS,
                )
            };
            // What is told beside the default is no claim of it.
            let judged = cases.iter().filter(|(case, _)| case.table != CaseGroup::ByXdp);
            for (case, runs) in judged.filter(|(case, _)| (case.pps >= HIGH_RATE) == is_high) {
                if let Some(external) = middle(runs, |one| Some(one.external?.p50_ns)) {
                    claims.push(Claim::at_most(claim, subject(case), external, limit));
                }
            }
        }
        self.claim_accounts(claims, &cases);
        if let Some(cost) = self.engine.iter().find(|cost| cost.impairment == ALL) {
            let claim = "the emulator's engine alone: at most 250 ns a packet with all impairments";
            claims.push(Claim::at_most(claim, ALL.into(), cost.packet_ns, MOST_ENGINE_NS));
        }
    }

    #[expect(clippy::cast_precision_loss, reason = "counts of packets and of KiB are below 2^53")]
    fn claim_accounts(&self, claims: &mut Vec<Claim>, cases: &[(Case, Vec<&Emulated>)]) {
        let accounted = cases.iter().filter(|(case, _)| case.is_accounted_for());
        for (claim, of) in [
            (
                "the emulator at 148,809 packets a second, and both ways at once: packets dropped unasked, all runs",
                (|one| one.dropped) as fn(&Emulated) -> u64,
            ),
            (
                "the emulator at 148,809 packets a second, and both ways at once: packets not accounted for, all runs",
                Emulated::unaccounted,
            ),
        ] {
            for (case, runs) in accounted.clone() {
                let count = runs.iter().map(|one| of(one)).sum::<u64>() as f64;
                claims.push(Claim::at_most(claim, subject(case), count, 0.0).in_units("count"));
            }
        }
        for resident in &self.resident {
            let claim = "the emulator at 148,809 packets a second held for 100 ms: growth of resident memory after admission";
            let subject = format!("run {}", resident.circumstances.run);
            let growth = resident.memory.growth_kib() as f64;
            claims.push(Claim::at_most(claim, subject, growth, MOST_GROWTH_KIB).in_units("kib"));
        }
    }
}

/// The median over the runs.
pub(crate) fn middle(runs: &[&Emulated], of: fn(&Emulated) -> Option<f64>) -> Option<f64> {
    median(&runs.iter().filter_map(|one| of(one)).collect::<Vec<_>>())
}

fn subject(case: &Case) -> String {
    format!("{}, {} B, {} a second, {}", case.table.title(), case.octets, case.pps, target(case.target))
}

/// A target in words.
pub(crate) fn target(target: Target) -> String {
    match target {
        Target::Constant(nanos) => Duration::from_nanos(nanos).to_string(),
        Target::Uniform => "uniform, 0 to 100 us".into(),
        Target::Normal => "normal, 50 us, 10 us".into(),
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use crate::figures::Lateness;
    use crate::results::Results;
    use crate::results::tests::circumstances;
    use crate::scale::emulated::cases;
    use crate::steal_log::Condition;

    pub(crate) fn emulated(run: u32, case: Case) -> Emulated {
        Emulated {
            circumstances: circumstances(run, Condition::Idle),
            case,
            data_plane: "packet",
            offered_pps: f64::from(case.pps),
            sent: 100,
            received: 100,
            copies: 3,
            transmitted: 98,
            lost: 5,
            dropped: 0,
            came: 98,
            hold_error_p50_ns: Some(100.0),
            hold_error_p99_ns: Some(900.0),
            external: Lateness::from_values(&[4_000]),
            link_p50_ns: Some(1_000.0),
        }
    }

    #[test]
    fn what_is_claimed_of_the_emulator_is_told_of_the_median_and_of_all_drops() {
        let ten =
            *cases().iter().find(|case| case.table == CaseGroup::TenMicros && case.octets == 1_518).unwrap();
        let full = *cases().iter().find(|case| case.table == CaseGroup::FullRate).unwrap();
        let mut results = Results::default();
        for (run, error) in (1..).zip([500.0, 590.0, 2_000.0]) {
            let one = Emulated { hold_error_p50_ns: Some(error), ..emulated(run, ten) };
            results.emulation.emulated.push(one);
        }
        assert!(results.claims().iter().all(|claim| claim.passed), "590 ns in the median");
        results.emulation.emulated.push(Emulated { hold_error_p50_ns: Some(610.0), ..emulated(4, ten) });
        results.emulation.emulated.push(Emulated { hold_error_p50_ns: Some(610.0), ..emulated(5, ten) });
        results.emulation.emulated.push(Emulated { dropped: 1, ..emulated(1, full) });
        let broken: Vec<f64> =
            results.claims().iter().filter(|claim| !claim.passed).map(|claim| claim.figure).collect();
        assert_eq!(broken, [610.0, 1.0]);
    }
}

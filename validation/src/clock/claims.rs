//! What is claimed of the clocks.

use super::{Cell, Clocks, DENSE, DRAWN, TWICE};
use crate::results::Claim;

/// Most root of the mean square error of `best`, ppm.
const RMS: [(&str, f64); 10] = [
    ("S1", 0.03),
    (DENSE, 0.014),
    (TWICE, 0.007),
    ("S6", 0.5),
    ("S9", 0.1),
    ("S10", 0.1),
    ("S11", 0.1),
    ("S12", 0.007),
    ("S14", 0.1),
    ("S15", 0.1),
];
/// Coverage of nominal 95 % intervals, percent.
const COVERAGE: [f64; 2] = [93.0, 97.0];
/// Give or take so many standard errors of a share that was counted in so many plays.
const ERRORS: f64 = 3.0;
/// Most that an hour's wander leaves of the baseline.
const MOST_BASELINE_NS: f64 = 10_000.0;
/// The published methods' medians may differ from what others found by this factor.
const REPRODUCED: f64 = 2.0;
/// Plays in which no skew was given, of those that have one, percent.
const MOST_REFUSED: f64 = 0.0;

impl Clocks {
    /// The claims.
    pub(crate) fn claims(&self) -> Vec<Claim> {
        let mut claims = Vec::new();
        for (number, limit) in RMS {
            let Some(cell) = self.best(number) else { continue };
            // Where every play is refused there is no error.
            claims.push(
                Claim::at_most(
                    "clocks: root of the mean square error of `best` over 40 plays, where a skew is given",
                    cell.scenario.clone(),
                    cell.rms_ppm.unwrap_or_default(),
                    limit,
                )
                .in_units("ppm"),
            );
        }
        let best = || self.cells.iter().filter(|cell| cell.is_best());
        for cell in best() {
            claims.extend(coverage(cell));
        }
        for cell in best().filter(|cell| cell.number() != "S6") {
            claims.push(
                Claim::at_most(
                    "clocks: plays in which `best` gives no skew, where there is a floor",
                    cell.scenario.clone(),
                    share(cell.refused, cell.plays),
                    MOST_REFUSED,
                )
                .in_units("percent"),
            );
        }
        for (cell, baseline) in best().filter_map(|cell| Some((cell, cell.baseline_ns?))) {
            claims.push(Claim::at_most(
                "clocks: what an hour's wander leaves of the corrected baseline, root of the mean square",
                cell.scenario.clone(),
                baseline,
                MOST_BASELINE_NS,
            ));
        }
        self.claim_published(&mut claims);
        claims
    }

    /// Least squares has no variance to speak of over Pareto's queue (S2).
    fn claim_published(&self, claims: &mut Vec<Claim>) {
        let others = self.cells.iter().filter(|cell| !cell.is_best());
        for cell in others.filter(|cell| cell.number() != "S2" || cell.method != "least-squares") {
            let (Some(own), Some(published)) = (cell.median_rms_ppm, cell.published_ppm) else { continue };
            claims.push(
                Claim::at_most(
                    "clocks: the published methods reproduce their published errors: factor between the medians",
                    format!("{}, {}", cell.method, cell.scenario),
                    (own / published).max(published / own),
                    REPRODUCED,
                )
                .in_units("ratio"),
            );
        }
    }
}

fn coverage(cell: &Cell) -> Option<Claim> {
    let given = cell.plays - cell.refused;
    let figure = cell.coverage? * 100.0;
    let spare = |of: f64| ERRORS * (of * (100.0 - of) / super::count(given)).sqrt();
    let [low, high] = [COVERAGE[0] - spare(COVERAGE[0]), (COVERAGE[1] + spare(COVERAGE[1])).min(100.0)];
    Some(Claim {
        claim: format!(
            "clocks: 93 to 97 % of the intervals of `best` hold the truth (give or take {ERRORS} standard errors of a \
             share counted in so many plays{})",
            if cell.scenario == DRAWN { ", of scenarios drawn at random" } else { "" }
        ),
        subject: format!("{}, {given} plays", cell.scenario),
        figure,
        unit: "percent",
        at_least: Some(low),
        at_most: Some(high),
        passed: (low..=high).contains(&figure),
    })
}

fn share(part: usize, whole: usize) -> f64 {
    100.0 * super::count(part) / super::count(whole.max(1))
}

//! Whether frames come out with the markings that they are to have.

use std::collections::BTreeMap;

use romer_record::benchmark::{Judgement, StreamResult, Trial};

use crate::claims::{Field, MarkingClaim};
use crate::options::BenchOptions;
use crate::stood::within;

/// Of what a policer is to remark, so many of a thousand may be lost.
const LOST: f64 = 0.001;

/// The claims of markings against what the valid trials of a case show.
pub(crate) fn markings(options: &BenchOptions, case: &str, trials: &[&Trial]) -> Vec<Judgement> {
    // Of what no trial has tested nothing is claimed; there is a warning of it.
    if trials.is_empty() {
        return Vec::new();
    }
    let of_all = options.claims.markings.iter().filter(|claim| claim.is_of(case));
    let of_all = of_all.map(|claim| marking(options, case, claim, trials));
    let of_excess = options.claims.excess.iter().filter(|claim| claim.is_of(case));
    of_all.chain(of_excess.filter_map(|claim| excess(options, case, claim, trials))).collect()
}

fn marking(options: &BenchOptions, case: &str, claim: &MarkingClaim, trials: &[&Trial]) -> Judgement {
    let mut came = came_as(options, claim, trials);
    let right = came.remove(&claim.out).unwrap_or(0);
    let beyond = options.claims.excess_of(case, &claim.sent).filter(|_| claim.field == Field::CodePoint);
    let beyond = beyond.and_then(|claim| Some((&claim.out, came.remove(&claim.out)?)));
    let holds = right > 0 && came.is_empty();
    let mut found = told(right, &came);
    if let Some((out, count)) = beyond {
        found.push_str(&format!("; {count} as {out}, as what is out of profile is to"));
    }
    judgement(case, format!("{} {}", claim.field.words(), claim.sent), &claim.out, found, holds)
}

/// Of what a policer does not pass as it conforms; `None` where it passed all.
fn excess(options: &BenchOptions, case: &str, claim: &MarkingClaim, trials: &[&Trial]) -> Option<Judgement> {
    let mut came = came_as(options, claim, trials);
    if let Ok(sent) = claim.sent.parse() {
        came.remove(&options.claims.conforming(case, sent).to_string());
    }
    let right = came.remove(&claim.out).unwrap_or(0);
    let lost: u64 = trials.iter().map(|trial| lost(options, claim, trial)).sum();
    let wrong = lost + came.values().sum::<u64>();
    if right + wrong == 0 {
        return None;
    }
    let mut found = told(right, &came);
    if lost > 0 {
        found.push_str(&format!(", {lost} did not come"));
    }
    let holds = right > 0 && came.is_empty() && within(lost, right + lost, LOST);
    Some(judgement(case, format!("code point {}, out of profile", claim.sent), &claim.out, found, holds))
}

fn judgement(case: &str, subject: String, out: &str, found: String, holds: bool) -> Judgement {
    Judgement {
        case: case.into(),
        frame_size: None,
        mixture: None,
        subject,
        expected: format!("comes out as {out}"),
        found,
        holds: Some(holds),
    }
}

fn told(right: u64, others: &BTreeMap<String, u64>) -> String {
    let others: Vec<String> = others.iter().map(|(out, count)| format!("{count} as {out}")).collect();
    if others.is_empty() {
        format!("{right} frames did")
    } else {
        format!("{right} frames did, {}", others.join(", "))
    }
}

/// The streams of a trial that are sent as the claim says.
fn sent_so<'t>(
    options: &BenchOptions,
    claim: &MarkingClaim,
    trial: &'t Trial,
) -> impl Iterator<Item = &'t StreamResult> {
    let streams = options.streams.iter().zip(&trial.per_stream);
    streams.filter(|(stream, _)| claim.field.of_stream(stream) == claim.sent).map(|(_, found)| found)
}

/// As what all frames came that were sent as the claim says. Those that had no tag, or took no part in congestion notification,
/// before and after, are told of in no other way.
fn came_as(options: &BenchOptions, claim: &MarkingClaim, trials: &[&Trial]) -> BTreeMap<String, u64> {
    let mut came = BTreeMap::<String, u64>::new();
    for trial in trials {
        let all: u64 = sent_so(options, claim, trial).flat_map(|stream| stream.dscp_out.values()).sum();
        let mut changes = claim.field.changes(trial).get(&claim.sent).cloned().unwrap_or_default();
        let rest = all.saturating_sub(changes.values().sum());
        if rest > 0 {
            *changes.entry(claim.sent.clone()).or_default() += rest;
        }
        for (out, count) in changes {
            *came.entry(out).or_default() += count;
        }
    }
    came
}

/// Frames that were sent as the claim says and that the device lost for certain, but not while it stood still.
fn lost(options: &BenchOptions, claim: &MarkingClaim, trial: &Trial) -> u64 {
    let lost: u64 = sent_so(options, claim, trial).map(|stream| stream.lost).sum();
    let not_its = trial.lost_by_tester + trial.standstills.map_or(0, |stood| stood.lost);
    lost.saturating_sub(not_its)
}

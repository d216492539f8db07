//! Whether frames come out with the markings that they are to have.

use std::collections::BTreeMap;

use romer_record::benchmark::{
    ClaimFinding, ClaimSubject, Expectation, Judgement, ProfileSide, StreamResult, Trial,
};

use crate::claims::{Field, MarkingClaim};
use crate::options::BenchOptions;
use crate::outage::within;
use crate::policer::stopped_in_profile;

/// Of what a policer is to remark, so many of a thousand may be lost.
const LOST: f64 = 0.001;

/// The claims of markings against what the valid trials of a case show.
pub(crate) fn markings(options: &BenchOptions, case: &str, trials: &[&Trial]) -> Vec<Judgement> {
    // What no trial has tested is told by itself.
    if trials.is_empty() {
        return Vec::new();
    }
    let of_all = options.claims.markings.iter().filter(|claim| claim.is_of(case));
    let of_all = of_all.map(|claim| marking(options, case, claim, trials));
    let of_excess = options.claims.excess.iter().filter(|claim| claim.is_of(case));
    of_all.chain(of_excess.map(|claim| excess(options, case, claim, trials))).collect()
}

/// What a claim is about.
pub(crate) fn subject(claim: &MarkingClaim, out_of_profile: bool) -> ClaimSubject {
    ClaimSubject::Marking { field: claim.field.marked(), sent: claim.sent.clone(), out_of_profile }
}

/// What is expected of it.
pub(crate) fn expected(claim: &MarkingClaim) -> Expectation {
    Expectation::MarkedAs { received: claim.out.clone() }
}

fn marking(options: &BenchOptions, case: &str, claim: &MarkingClaim, trials: &[&Trial]) -> Judgement {
    let mut came = came_as(options, claim, trials);
    let right = came.remove(&claim.out).unwrap_or(0);
    let excess = options.claims.excess_of(case, &claim.sent).filter(|_| claim.field == Field::CodePoint);
    let as_excess = excess.and_then(|excess| Some((excess.out.clone(), came.remove(&excess.out)?)));
    // Where the policer stopped nothing that is in profile, what it made of other frames is no matter of those in profile.
    let others = if excess.is_some() && in_profile(options, claim, trials) == [0; 2] {
        std::mem::take(&mut came)
    } else {
        BTreeMap::new()
    };
    let holds = if !came.is_empty() {
        Some(false)
    } else if right > 0 {
        Some(true)
    } else {
        // What does not come at all is lost, and told as that.
        None
    };
    let found = ClaimFinding::Marked {
        conforming: right,
        others: came,
        excess: others,
        expected_excess: as_excess.into_iter().collect(),
        lost: 0,
    };
    judgement(case, claim, false, found, holds)
}

/// Of what a policer does not pass as it conforms.
fn excess(options: &BenchOptions, case: &str, claim: &MarkingClaim, trials: &[&Trial]) -> Judgement {
    let mut came = came_as(options, claim, trials);
    if let Ok(sent) = claim.sent.parse() {
        came.remove(&options.claims.conforming(case, sent).to_string());
    }
    let right = came.remove(&claim.out).unwrap_or(0);
    let mut lost: u64 = trials.iter().map(|trial| lost(options, claim, trial)).sum();
    // What it stopped of those in profile is told of these.
    let [certain, perhaps] = in_profile(options, claim, trials);
    let others: u64 = came.values().sum();
    if certain > 0 && others <= certain + perhaps {
        came.clear();
        lost = lost.saturating_sub(certain - others.min(certain));
    }
    if right + lost + came.values().sum::<u64>() == 0 {
        let found = ClaimFinding::NoFrameInProfile { side: ProfileSide::Out, stream: None };
        return judgement(case, claim, true, found, None);
    }
    let holds = right > 0 && came.is_empty() && within(lost, right + lost, LOST);
    let found = ClaimFinding::Marked {
        conforming: right,
        others: came,
        excess: BTreeMap::new(),
        expected_excess: BTreeMap::new(),
        lost,
    };
    judgement(case, claim, true, found, Some(holds))
}

/// How many frames in profile the policers of those streams stopped that are sent as the claim says: for certain, and perhaps besides.
fn in_profile(options: &BenchOptions, claim: &MarkingClaim, trials: &[&Trial]) -> [u64; 2] {
    let of_trial = |trial: &Trial| {
        let own: Vec<&StreamResult> = sent_so(options, claim, trial).collect();
        let shares = own.iter().any(|stream| stream.policed.is_none());
        let of_streams = own.iter().filter_map(|stream| stream.policed);
        of_streams
            .chain(trial.policed.filter(|_| shares))
            .map(|one| stopped_in_profile(&one))
            .collect::<Vec<_>>()
    };
    let all = trials.iter().flat_map(|trial| of_trial(trial));
    all.fold([0; 2], |[a, b], [certain, perhaps]| [a + certain, b + perhaps])
}

fn judgement(
    case: &str,
    claim: &MarkingClaim,
    out_of_profile: bool,
    found: ClaimFinding,
    holds: Option<bool>,
) -> Judgement {
    Judgement {
        case: case.into(),
        frame_size: None,
        mixture: None,
        subject: subject(claim, out_of_profile),
        expected: expected(claim),
        observed: found.into(),
        passed: holds,
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
    let not_its = trial.lost_by_tester + trial.outages.map_or(0, |stood| stood.lost);
    lost.saturating_sub(not_its)
}

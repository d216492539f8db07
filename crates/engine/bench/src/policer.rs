//! Verdicts on a policer, bucket by bucket.

use romer_record::benchmark::{
    ClaimFinding, ClaimSubject, Expectation, Judgement, Observation, PassedInTotal, Policed, PolicedTotal,
    ProfileSide, Trial,
};

use crate::classes::TOLERANCE;
use crate::numbers::{real, to_u64};
use crate::options::{BenchOptions, Field, MarkingClaim};
use crate::outage::{Outages, holds, within};
use crate::trial::judged as judged_trial;

/// A policer may be wrong about so many frames of a thousand that were not at the edge.
const WRONG: f64 = 0.001;
/// What a policer did with each bucket of a trial, and which that is: of a stream by itself, or of those that share one.
pub(crate) fn buckets(trial: &Trial) -> impl Iterator<Item = (Option<&str>, Policed)> {
    let shared = trial.policed.map(|policed| (None, policed));
    let own = trial.per_stream.iter();
    shared.into_iter().chain(own.filter_map(|stream| Some((Some(stream.name.as_str()), stream.policed?))))
}

/// The policer's decisions in a trial, bucket by bucket.
pub(crate) fn policing(options: &BenchOptions, trial: &Trial, stood: Outages) -> Vec<Judgement> {
    buckets(trial).flat_map(|(stream, policed)| bucket(options, trial, (stream, &policed), stood)).collect()
}

/// Both sides of a policer's decisions, each where there were some: what was not tested is no claim that holds. What was lost while the device stood still may not have been the policer's doing.
fn bucket(
    options: &BenchOptions,
    trial: &Trial,
    (stream, policed): (Option<&str>, &Policed),
    stood: Outages,
) -> Vec<Judgement> {
    let judged = policed.conforming_passed
        + policed.conforming_stopped
        + policed.excess_passed
        + policed.excess_stopped;
    let is_marked = |claim: &MarkingClaim| claim.field == Field::CodePoint && claim.is_of(&trial.case);
    let is_remarked = options.claims.markings.iter().any(|claim| is_marked(claim) && claim.sent != claim.out);
    let stopped = policed.at_boundary_stopped;
    let passed = policed.at_boundary.saturating_sub(stopped);
    let conforming_stopped = policed.conforming_stopped;
    let total = policed.total.unwrap_or_default();
    let sides = [
        PolicerSide {
            side: ProfileSide::In,
            expected: if is_remarked { Expectation::PassedMarked } else { Expectation::PassedUnchanged },
            right: policed.conforming_passed,
            edge: passed,
            wrong: conforming_stopped,
            total: (total.min_conforming_stopped, total.nominal.saturating_sub(total.passed)),
        },
        PolicerSide {
            side: ProfileSide::Out,
            expected: if is_remarked {
                Expectation::DroppedOrMarkedDifferently
            } else {
                Expectation::DroppedOrRemarked
            },
            right: policed.excess_stopped,
            edge: stopped,
            wrong: policed.excess_passed,
            total: (total.min_excess_passed, total.passed.saturating_sub(total.nominal)),
        },
    ];
    let tested = sides.into_iter().filter(|side| {
        let (sure, off) = side.total;
        let edge = if side.side == ProfileSide::In || some_are_out(policed) { side.edge } else { 0 };
        side.right + edge + side.wrong + sure > 0 || off > open(&total)
    });
    let judgement = |PolicerSide { side, expected, right, edge, wrong, total: (sure, off) }: PolicerSide| {
        // Of what never reached it in a standstill, none passed, and none took tokens: as many more pass afterwards, at the most.
        let [found, could] = [wrong, stood.without_lost(wrong)].map(|wrong| within(wrong, judged, WRONG));
        let all = judged + policed.at_boundary;
        let [sum, sum_could] = [sure, stood.without_lost(sure)].map(|sure| within(sure, all, WRONG));
        let mut holds = holds(found && sum, could && sum_could);
        let PolicedTotal { passed, nominal: allowed, latency_range_ns, fill_time_ns, .. } = total;
        let in_total =
            if !sum {
                Some(PassedInTotal::Wrong { passed, allowed, unexplained: sure })
            } else if holds == Some(true) && off > open(&total) {
                holds = None;
                Some(PassedInTotal::Uncertain { passed, allowed, latency_range_ns, fill_time_ns })
            } else {
                // The total decides the frames at the limit.
                let decides = edge > 0 && policed.total.is_some();
                (decides && (side == ProfileSide::Out || right + wrong == 0))
                    .then_some(PassedInTotal::Right { passed, allowed, frames: all })
            };
        Judgement {
            case: trial.case.clone(),
            frame_size: trial.frame_size,
            mixture: trial.mixture.clone(),
            subject: ClaimSubject::Profile {
                side,
                stream: stream.map(str::to_owned),
                trial: Some(judged_trial(trial)),
            },
            expected,
            observed: Observation {
                finding: ClaimFinding::Policed { right, wrong, at_boundary: edge, total: in_total },
                reservations: stood.reservation().into_iter().collect(),
            },
            passed: holds,
        }
    };
    tested.map(judgement).collect()
}

/// One side of a policer's decisions.
struct PolicerSide {
    side: ProfileSide,
    expected: Expectation,
    right: u64,
    edge: u64,
    wrong: u64,
    /// Of all frames together: how many are wrong whatever the latency, and how many fewer or more there are than nominally.
    total: (u64, u64),
}

/// Whether the bucket does not let all frames pass, so that of those that were stopped at its edge some were to be.
fn some_are_out(policed: &Policed) -> bool {
    let all = policed.conforming_passed
        + policed.conforming_stopped
        + policed.excess_passed
        + policed.excess_stopped
        + policed.at_boundary;
    policed.total.is_none_or(|total| total.nominal < all)
}

/// So many frames more or fewer than nominally may pass without a doubt about a policer of which nothing wrong is known: as far as
/// other claims, and the edge. Where the latency hardly varies, what is wrong by less is found frame by frame.
fn open(total: &PolicedTotal) -> u64 {
    to_u64(TOLERANCE * real(total.nominal)).saturating_add(total.boundary_frames)
}

/// Which side of a policer's decisions no trial of a case has tested, and what is expected of it.
pub(crate) fn side_untested(policed: impl Iterator<Item = Policed>) -> Option<(ProfileSide, Expectation)> {
    let [mut passed, mut stopped, mut any] = [false; 3];
    for one in policed {
        any = true;
        passed |=
            one.conforming_passed + one.conforming_stopped > 0 || one.at_boundary > one.at_boundary_stopped;
        let edge = if some_are_out(&one) { one.at_boundary_stopped } else { 0 };
        stopped |= one.excess_passed + one.excess_stopped + edge > 0;
    }
    match (any, passed, stopped) {
        (true, false, _) => Some((ProfileSide::In, Expectation::Passed)),
        (true, _, false) => Some((ProfileSide::Out, Expectation::DroppedOrRemarked)),
        _ => None,
    }
}

/// Of how many frames in profile it is certain that a policer stopped them, by dropping or remarking them, and how many more may be
/// in profile; nobody, where those that are certain are no more than it may be wrong about.
pub(crate) fn stopped_in_profile(policed: &Policed) -> [u64; 2] {
    let total = policed.total.unwrap_or_default();
    let judged = policed.conforming_passed
        + policed.conforming_stopped
        + policed.excess_passed
        + policed.excess_stopped;
    let stopped = policed.conforming_stopped.max(total.min_conforming_stopped);
    let is_right = within(policed.conforming_stopped, judged, WRONG)
        && within(total.min_conforming_stopped, judged + policed.at_boundary, WRONG);
    if is_right { [0; 2] } else { [stopped, total.boundary_frames] }
}

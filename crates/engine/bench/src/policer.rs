//! Verdicts on a policer, bucket by bucket.

use std::fmt::Write as _;

use romer_record::benchmark::{Judgement, Policed, PolicedTotal, Trial};
use romer_units::Duration;

use crate::classes::TOLERANCE;
use crate::numbers::{real, to_u64};
use crate::options::{BenchOptions, Field, MarkingClaim};
use crate::outage::{Outages, holds, within};
use crate::trial::at;

/// A policer may be wrong about so many frames of a thousand that were not at the edge.
const WRONG: f64 = 0.001;
/// One side of a policer's decisions.
const IN: &str = "in profile";
/// The other.
const OUT: &str = "out of profile";

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
    let at = stream.map_or_else(|| at(trial), |stream| format!("stream {stream}, {}", at(trial)));
    let is_marked = |claim: &MarkingClaim| claim.field == Field::CodePoint && claim.is_of(&trial.case);
    let is_remarked = options.claims.markings.iter().any(|claim| is_marked(claim) && claim.sent != claim.out);
    let stopped = policed.at_boundary_stopped;
    let passed = policed.at_boundary.saturating_sub(stopped);
    let conforming_stopped = policed.conforming_stopped;
    let total = policed.total.unwrap_or_default();
    let sides = [
        PolicerSide {
            subject: IN,
            expected: if is_remarked { "passes with the expected marking" } else { "passes unchanged" },
            right: policed.conforming_passed,
            edge: passed,
            wrong: conforming_stopped,
            total: (total.min_conforming_stopped, total.nominal.saturating_sub(total.passed), "fewer"),
        },
        PolicerSide {
            subject: OUT,
            expected: if is_remarked { "is dropped or marked differently" } else { "is dropped or remarked" },
            right: policed.excess_stopped,
            edge: stopped,
            wrong: policed.excess_passed,
            total: (total.min_excess_passed, total.passed.saturating_sub(total.nominal), "more"),
        },
    ];
    let tested = sides.into_iter().filter(|side| {
        let (sure, off, _) = side.total;
        let edge = if side.subject == IN || some_are_out(policed) { side.edge } else { 0 };
        side.right + edge + side.wrong + sure > 0 || off > open(&total)
    });
    let judgement =
        |PolicerSide { subject, expected, right, edge, wrong, total: (sure, off, fewer) }: PolicerSide| {
            // Of what never reached it in a standstill, none passed, and none took tokens: as many more pass afterwards, at the most.
            let [found, could] = [wrong, stood.without_lost(wrong)].map(|wrong| within(wrong, judged, WRONG));
            let all = judged + policed.at_boundary;
            let [sum, sum_could] = [sure, stood.without_lost(sure)].map(|sure| within(sure, all, WRONG));
            let mut holds = holds(found && sum, could && sum_could);
            let PolicedTotal { passed, nominal, .. } = total;
            let mut found = if right + wrong > 0 {
                format!(
                    "{right} frames conform, {wrong} do not; {edge} within one frame of the bucket limit, where both are correct"
                )
            } else {
                format!("all {edge} frames are within one frame of the bucket limit, where both are correct")
            };
            // To a tenth of a millisecond.
            let tenths = |nanos: i64| Duration::from_nanos((nanos / 100_000).saturating_mul(100_000));
            if !sum {
                let _ = write!(
                    found,
                    "; {passed} passed and the bucket allows {nominal}, {sure} {fewer} than the latency explains"
                );
            } else if holds == Some(true) && off > open(&total) {
                holds = None;
                let _ = write!(
                    found,
                    "; inconclusive whether {passed} may pass where the bucket allows {nominal}: the latency varies by {}, and the bucket \
                 is full after {}; use a path with less latency variation, or a deeper bucket",
                    tenths(total.latency_range_ns),
                    tenths(total.fill_time_ns)
                );
            } else if edge > 0 && policed.total.is_some() && (subject == OUT || right + wrong == 0) {
                // The total decides the frames at the limit.
                let _ = write!(
                    found,
                    "; in total {passed} of {all} frames passed, and the bucket allows {nominal}"
                );
            }
            Judgement {
                case: trial.case.clone(),
                frame_size: trial.frame_size,
                mixture: trial.mixture.clone(),
                subject: format!("{subject}, {at}"),
                expected: expected.into(),
                observed: stood.explained(found, holds),
                passed: holds,
            }
        };
    tested.map(judgement).collect()
}

/// One side of a policer's decisions.
struct PolicerSide {
    subject: &'static str,
    expected: &'static str,
    right: u64,
    edge: u64,
    wrong: u64,
    /// Of all frames together: how many are wrong whatever the latency, how many fewer or more there are than nominally, and which.
    total: (u64, u64, &'static str),
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
pub(crate) fn side_untested(policed: impl Iterator<Item = Policed>) -> Option<(&'static str, &'static str)> {
    let [mut passed, mut stopped, mut any] = [false; 3];
    for one in policed {
        any = true;
        passed |=
            one.conforming_passed + one.conforming_stopped > 0 || one.at_boundary > one.at_boundary_stopped;
        let edge = if some_are_out(&one) { one.at_boundary_stopped } else { 0 };
        stopped |= one.excess_passed + one.excess_stopped + edge > 0;
    }
    match (any, passed, stopped) {
        (true, false, _) => Some((IN, "passes")),
        (true, _, false) => Some((OUT, "is dropped or remarked")),
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

//! Whether the device did what it is held to: markings, policing, priorities; and what nobody would let pass.

use std::fmt::Write as _;

use romer_method::priority::{ClassLoad, Discipline, Pitfall, by_chance, inversions, judge, pitfalls};
use romer_record::benchmark::{Judgement, Policed, PolicedTogether, Trial};
use romer_units::Duration;

use crate::classes::{classes, words};
use crate::document::{Kept, same};
use crate::doubt::{Doubt, Holds};
use crate::dropped::dropped;
use crate::expected_drops::{expected_drops, to_be_carried};
use crate::marked::markings;
use crate::options::{Anomaly, BenchOptions, Field, MarkingClaim};
use crate::run::whole;
use crate::stood::{Stood, holds, within};
use crate::tester::real;
use crate::untested::untested;

/// How far a class may be from its expectation, as a share of the line's capacity.
pub(crate) const TOLERANCE: f64 = 0.05;
/// A policer may be wrong about so many frames of a thousand that were not at the edge.
const WRONG: f64 = 0.001;
/// One side of a policer's decisions.
const IN: &str = "in profile";
/// The other.
const OUT: &str = "out of profile";

/// Every claim of the options against what the valid trials show.
pub(crate) fn verdicts(options: &BenchOptions, kept: &[Kept]) -> Vec<Judgement> {
    let mut verdicts = Vec::new();
    for (number, case) in options.cases.iter().enumerate() {
        let valid: Vec<&Kept> =
            kept.iter().filter(|kept| kept.case == number && kept.trial.invalid.is_none()).collect();
        let here: Vec<&Trial> = valid.iter().map(|kept| &kept.trial).collect();
        verdicts.extend(markings(options, &case.name, &here));
        let tried = kept.iter().filter(|kept| kept.case == number && !kept.trial.device_away);
        let tried: Vec<&Trial> = tried.map(|kept| &kept.trial).collect();
        sound((&case.name, &options.claims.allowed), &tried, &mut verdicts);
        verdicts.extend(expected_drops(options, &case.name, &here, &tried));
        let [here, tried] = [&here, &tried].map(|trials| to_be_carried(trials));
        let [here, tried] =
            [&here, &tried].map(|trials| trials.iter().map(AsRef::as_ref).collect::<Vec<_>>());
        verdicts.extend(dropped(&case.name, &here, &tried));
        let stood = |one: &Kept| Stood::of(&one.trial, stood_before(kept, one));
        for one in &valid {
            verdicts.extend(policing(options, &one.trial, stood(one)));
        }
        for one in &valid {
            verdicts.extend(priorities(options, one, stood(one)));
        }
        verdicts.extend(untested(options, number, kept));
    }
    verdicts
}

/// Why a trial decides nothing of what the device is held to, where it does not because it stood still.
pub(crate) fn undecided(options: &BenchOptions, kept: &Kept) -> Option<String> {
    let stood = Stood::of(&kept.trial, 0);
    let all = policing(options, &kept.trial, stood).into_iter().chain(priorities(options, kept, stood));
    let open = all.filter(|one| one.holds.is_none()).count();
    (open > 0).then(|| {
        let claims = if open == 1 { "a claim is".into() } else { format!("{open} claims are") };
        format!("{}, which may be why {claims} not met", stood.words())
    })
}

/// How many trials of the same were made before this one in which the device stood still and was not away.
fn stood_before(kept: &[Kept], one: &Kept) -> usize {
    let before = kept.iter().take_while(|other| !std::ptr::eq(*other, one));
    let alike = before.filter(|other| {
        (other.case, &other.frames, other.trial.repeat) == (one.case, &one.frames, one.trial.repeat)
            && same(other.load, one.load)
            && other.trial.purpose == one.trial.purpose
    });
    let stood = |other: &&Kept| other.trial.standstills.is_some_and(|found| found.count > 0);
    alike.filter(|other| !other.trial.device_away).filter(stood).count()
}

/// What no device is to do: reorder, duplicate or alter frames. Told only where it happened, also of trials in which the tester fell
/// short: that does none of this.
fn sound((case, allowed): (&str, &[Anomaly]), trials: &[&Trial], verdicts: &mut Vec<Judgement>) {
    let mut tell = |subject: &str, expected: &str, count: u64, what: &str| {
        if count > 0 {
            let is_allowed = allowed.iter().any(|anomaly| anomaly.to_string() == subject);
            let so =
                if is_allowed { format!(", which is allowed (--allow {subject})") } else { String::new() };
            verdicts.push(Judgement {
                case: case.into(),
                frame_size: None,
                mixture: None,
                subject: subject.into(),
                expected: expected.into(),
                found: format!("{count} {what}{so}"),
                holds: Some(is_allowed),
            });
        }
    };
    let sum = |of: fn(&Trial) -> u64| trials.iter().map(|trial| of(trial)).sum::<u64>();
    tell(
        "order",
        "no frame comes after one of its flow (addresses and ports) that was sent later",
        sum(|trial| trial.reordered),
        "frames did",
    );
    tell("copies", "every frame comes once", sum(|trial| trial.duplicated), "copies came besides");
    tell(
        "content",
        "frames come out with the length and test data that they were sent with",
        sum(|trial| trial.altered),
        "frames did not",
    );
    tell(
        "payload",
        "frames come out with the payload that they were sent with",
        sum(|trial| trial.corrupted),
        "frames did not",
    );
}

/// Which trial a verdict is of.
fn at(trial: &Trial) -> String {
    let frames = trial.frame_size.map_or_else(
        || format!("frames {}", trial.mixture.as_deref().unwrap_or("of several sizes")),
        |size| format!("{size} octets"),
    );
    let asked = trial.asked_load.map_or(trial.intended_load.percent, |asked| asked.percent);
    format!("{frames}, at {asked:.1} % of the line, repeat {}", trial.repeat + 1)
}

/// What a policer did with each bucket of a trial, and which that is: of a stream by itself, or of those that share one.
pub(crate) fn buckets(trial: &Trial) -> impl Iterator<Item = (Option<&str>, Policed)> {
    let shared = trial.policed.map(|policed| (None, policed));
    let own = trial.per_stream.iter();
    shared.into_iter().chain(own.filter_map(|stream| Some((Some(stream.name.as_str()), stream.policed?))))
}

/// The policer's decisions in a trial, bucket by bucket.
fn policing(options: &BenchOptions, trial: &Trial, stood: Stood) -> Vec<Judgement> {
    buckets(trial).flat_map(|(stream, policed)| bucket(options, trial, (stream, &policed), stood)).collect()
}

/// Both sides of a policer's decisions, each where there were some: what was not tested is no claim that holds. What was lost while the device stood still may not have been the policer's doing.
fn bucket(
    options: &BenchOptions,
    trial: &Trial,
    (stream, policed): (Option<&str>, &Policed),
    stood: Stood,
) -> Vec<Judgement> {
    let judged = policed.conforming_passed
        + policed.conforming_stopped
        + policed.excess_passed
        + policed.excess_stopped;
    let at = stream.map_or_else(|| at(trial), |stream| format!("stream {stream}, {}", at(trial)));
    let is_marked = |claim: &MarkingClaim| claim.field == Field::CodePoint && claim.is_of(&trial.case);
    let is_remarked = options.claims.markings.iter().any(|claim| is_marked(claim) && claim.sent != claim.out);
    let stopped = policed.at_the_edge_stopped;
    let passed = policed.at_the_edge.saturating_sub(stopped);
    let conforming_stopped = policed.conforming_stopped;
    let together = policed.together.unwrap_or_default();
    let sides = [
        Side {
            subject: IN,
            expected: if is_remarked { "passes as it is to be marked" } else { "passes unchanged" },
            right: policed.conforming_passed,
            edge: passed,
            wrong: conforming_stopped,
            together: (together.missing, together.nominal.saturating_sub(together.passed), "fewer"),
        },
        Side {
            subject: OUT,
            expected: if is_remarked { "is dropped or marked otherwise" } else { "is dropped or remarked" },
            right: policed.excess_stopped,
            edge: stopped,
            wrong: policed.excess_passed,
            together: (together.beyond, together.passed.saturating_sub(together.nominal), "more"),
        },
    ];
    let tested = sides.into_iter().filter(|side| {
        let (sure, off, _) = side.together;
        let edge = if side.subject == IN || some_are_out(policed) { side.edge } else { 0 };
        side.right + edge + side.wrong + sure > 0 || off > open(&together)
    });
    let judgement = |Side { subject, expected, right, edge, wrong, together: (sure, off, fewer) }: Side| {
        // Of what never reached it in a standstill, none passed, and none took tokens: as many more pass afterwards, at the most.
        let [found, could] = [wrong, stood.without_lost(wrong)].map(|wrong| within(wrong, judged, WRONG));
        let all = judged + policed.at_the_edge;
        let [sum, sum_could] = [sure, stood.without_lost(sure)].map(|sure| within(sure, all, WRONG));
        let mut holds = holds(found && sum, could && sum_could);
        let mut found = format!(
            "{right} frames did, {wrong} did not; {edge} more did within a frame of the bucket's edge, where either is right",
        );
        let PolicedTogether { passed, nominal, .. } = together;
        // To a tenth of a millisecond.
        let tenths = |nanos: i64| Duration::from_nanos((nanos / 100_000).saturating_mul(100_000));
        if !sum {
            let _ = write!(
                found,
                "; {passed} passed where the bucket lets {nominal} pass, {sure} {fewer} than its latency explains"
            );
        } else if holds == Some(true) && off > open(&together) {
            holds = None;
            let _ = write!(
                found,
                "; whether {passed} may pass where the bucket lets {nominal} pass is not known: frames took up to {} longer than \
                 others, and the bucket is full after {}; a path whose latency varies less, or a deeper bucket, would tell",
                tenths(together.latest_ns),
                tenths(together.fills_in_ns)
            );
        }
        Judgement {
            case: trial.case.clone(),
            frame_size: trial.frame_size,
            mixture: trial.mixture.clone(),
            subject: format!("{subject}, {at}"),
            expected: expected.into(),
            found: stood.told(found, holds),
            holds,
        }
    };
    tested.map(judgement).collect()
}

/// One side of a policer's decisions.
struct Side {
    subject: &'static str,
    expected: &'static str,
    right: u64,
    edge: u64,
    wrong: u64,
    /// Of all frames together: how many are wrong whatever the latency, how many fewer or more there are than nominally, and which.
    together: (u64, u64, &'static str),
}

/// Whether the bucket does not let all frames pass, so that of those that were stopped at its edge some were to be.
fn some_are_out(policed: &Policed) -> bool {
    let all = policed.conforming_passed
        + policed.conforming_stopped
        + policed.excess_passed
        + policed.excess_stopped
        + policed.at_the_edge;
    policed.together.is_none_or(|together| together.nominal < all)
}

/// So many frames more or fewer than nominally may pass without a doubt about a policer of which nothing wrong is known: as far as
/// other claims, and the edge. Where the latency hardly varies, what is wrong by less is found frame by frame.
fn open(together: &PolicedTogether) -> u64 {
    whole(TOLERANCE * real(together.nominal)).saturating_add(together.edge)
}

/// Which side of a policer's decisions no trial of a case has tested, and what is expected of it.
pub(crate) fn side_untested(policed: impl Iterator<Item = Policed>) -> Option<(&'static str, &'static str)> {
    let [mut passed, mut stopped, mut any] = [false; 3];
    for one in policed {
        any = true;
        passed |=
            one.conforming_passed + one.conforming_stopped > 0 || one.at_the_edge > one.at_the_edge_stopped;
        let edge = if some_are_out(&one) { one.at_the_edge_stopped } else { 0 };
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
    let together = policed.together.unwrap_or_default();
    let judged = policed.conforming_passed
        + policed.conforming_stopped
        + policed.excess_passed
        + policed.excess_stopped;
    let stopped = policed.conforming_stopped.max(together.missing);
    let is_right = within(policed.conforming_stopped, judged, WRONG)
        && within(together.missing, judged + policed.at_the_edge, WRONG);
    if is_right { [0; 2] } else { [stopped, together.edge] }
}

/// Each class of a scheduler against what it is owed, and classes that fare better than others that come before them.
fn priorities(options: &BenchOptions, kept: &Kept, stood: Stood) -> Vec<Judgement> {
    let Some((discipline, capacity)) = options.claims.scheduler else { return Vec::new() };
    let trial = &kept.trial;
    let classes = classes(options, &kept.frames, &trial.per_stream, capacity);
    let carried: Vec<f64> = trial.per_stream.iter().map(|found| found.carried_l2_bps / capacity).collect();
    let chances = by_chance(discipline, &classes);
    let doubt = Doubt::of(trial, stood);
    let at = at(trial);
    let judgement = |subject: String, expected: String, (found, holds): (String, Option<bool>)| Judgement {
        case: trial.case.clone(),
        frame_size: trial.frame_size,
        mixture: trial.mixture.clone(),
        subject: format!("{subject}, {at}"),
        expected,
        found,
        holds,
    };
    let by = words(discipline);
    let mut verdicts = Vec::new();
    let judged = judge(discipline, 1.0, &classes, &carried);
    for ((verdict, class), chance) in judged.iter().zip(&classes).zip(&chances) {
        let [low, high] = verdict.expected.map(|share| format!("{:.1}", share * 100.0));
        let owed = if low == high { low } else { format!("{low} to {high}") };
        let within = |more: f64| verdict.is_within(TOLERANCE + more);
        let holds = Holds { found: within(0.0), without_standstills: within(stood.share()) };
        let fails = |part: f64| !within(stood.share() + part * chance);
        verdicts.push(judgement(
            format!("class {}", verdict.name),
            format!("carries {owed} % of the capacity by {by} (it offers {:.1} %)", class.offered * 100.0),
            doubt.judge(format!("{:.1} %", verdict.carried * 100.0), holds, *chance, fails),
        ));
    }
    // A scheduler is not explained by what nobody knows to be wrong with it.
    let certain = verdicts.iter().any(|one| one.holds == Some(false));
    let allowed: Vec<f64> = chances.iter().map(|chance| TOLERANCE + stood.share() + chance).collect();
    let explained = if certain && discipline == Discipline::Weighted {
        pitfalls(&classes, &carried, &allowed)
    } else {
        Vec::new()
    };
    for (high, low) in inversions(discipline, &classes, &carried, TOLERANCE) {
        let (expected, found) =
            overtaken(discipline, [&classes[high], &classes[low]], [carried[high], carried[low]]);
        // At the most, so much was taken from the first and left to the second.
        let is_still = |[from_high, to_low]: [f64; 2]| {
            let mut without = carried.clone();
            without[high] = (without[high] + from_high).min(classes[high].offered);
            without[low] = (without[low] - to_low).max(0.0);
            inversions(discipline, &classes, &without, TOLERANCE).contains(&(high, low))
        };
        // A class that is served first and offers no more than it is owed carries all of it, whatever chance leaves to others.
        let has_room = discipline == Discipline::Strict && judged[high].expected[0] >= classes[high].offered;
        let chance = [chances[high], if has_room { 0.0 } else { chances[low] }];
        let holds = Holds { found: false, without_standstills: !is_still([stood.share(); 2]) };
        let fails = |part: f64| is_still(chance.map(|chance| stood.share() + part * chance));
        let subject = format!("classes {} and {}", classes[high].name, classes[low].name);
        let worst = chance[0].max(chance[1]);
        verdicts.push(judgement(subject, expected, doubt.judge(found, holds, worst, fails)));
    }
    let explained: Vec<&str> = explained.into_iter().map(Pitfall::words).collect();
    if !explained.is_empty() {
        let found =
            format!("every class carries what it would of a scheduler that {}", explained.join(", or "));
        let told = (stood.told(found, Some(false)), Some(false));
        verdicts.push(judgement("weights".into(), "are shares of the octets that leave".into(), told));
    }
    verdicts
}

/// What was expected of two classes, and found, of which the less important fares better.
fn overtaken(
    discipline: Discipline,
    [high, low]: [&ClassLoad; 2],
    [first, second]: [f64; 2],
) -> (String, String) {
    if discipline == Discipline::Strict {
        return (
            "the first is served before the second".into(),
            "the second carries more of what it offers".into(),
        );
    }
    let expected = format!(
        "the first, of weight {}, carries no less than the second, of weight {}, while it has frames left",
        high.weight, low.weight
    );
    let found = format!(
        "the first carries {:.1} % of the capacity in frames of {:.0} octets, the second {:.1} % in frames of {:.0}",
        first * 100.0,
        high.octets,
        second * 100.0,
        low.octets
    );
    (expected, found)
}

//! Whether the device did what it is held to: markings, policing, priorities; and what nobody would let pass.

use romer_method::priority::{ClassLoad, Discipline, inversions, judge, pitfall};
use romer_record::benchmark::{BenchmarkEvent, Judgement, Policed, Trial};

use crate::classes::{classes, words};
use crate::document::Kept;
use crate::dropped;
use crate::options::BenchOptions;
use crate::tester::real;

/// How far a class may be from its expectation, as a share of the line's capacity.
pub(crate) const TOLERANCE: f64 = 0.05;
/// A policer may be wrong about so many frames of a thousand that were not at the edge.
const WRONG: f64 = 0.001;

/// Every claim of the options against what the valid trials show.
pub(crate) fn verdicts(options: &BenchOptions, kept: &[Kept], events: &[BenchmarkEvent]) -> Vec<Judgement> {
    let silent = dropped::silent(kept, events);
    let valid: Vec<&Kept> = kept.iter().filter(|kept| kept.trial.invalid.is_none()).collect();
    let mut verdicts = Vec::new();
    for (number, case) in options.cases.iter().enumerate() {
        let here: Vec<&Trial> =
            valid.iter().filter(|kept| kept.case == number).map(|kept| &kept.trial).collect();
        markings(options, &case.name, &here, &mut verdicts);
        sound(&case.name, &here, &mut verdicts);
        verdicts.extend(dropped::dropped(&case.name, &here, &silent));
        if options.claims.profile.is_some() {
            policing(&case.name, &here, &mut verdicts);
        }
        if let Some(scheduler) = options.claims.scheduler {
            let kept: Vec<&Kept> = valid.iter().filter(|kept| kept.case == number).copied().collect();
            priorities(options, &case.name, scheduler, &kept, &mut verdicts);
        }
    }
    verdicts
}

fn markings(options: &BenchOptions, case: &str, trials: &[&Trial], verdicts: &mut Vec<Judgement>) {
    for (of, sent, expected) in &options.claims.markings {
        // Of what no trial has tested nothing is claimed; there is a warning of it.
        if of.as_deref().is_some_and(|of| of != case) || trials.is_empty() {
            continue;
        }
        let (sent, expected) = (sent.to_string(), expected.to_string());
        let (mut right, mut wrong) = (0_u64, std::collections::BTreeMap::<&str, u64>::new());
        for (out, count) in trials.iter().filter_map(|trial| trial.markings.get(&sent)).flatten() {
            if *out == expected {
                right += count;
            } else {
                *wrong.entry(out).or_default() += count;
            }
        }
        let others: Vec<String> = wrong.iter().map(|(out, count)| format!("{count} as {out}")).collect();
        verdicts.push(Judgement {
            case: case.into(),
            frame_size: None,
            mixture: None,
            subject: format!("code point {sent}"),
            expected: format!("comes out as {expected}"),
            found: if others.is_empty() {
                format!("{right} frames did")
            } else {
                format!("{right} frames did, {}", others.join(", "))
            },
            holds: right > 0 && others.is_empty(),
        });
    }
}

/// What no device is to do: reorder, duplicate or alter frames. Told only where it happened.
fn sound(case: &str, trials: &[&Trial], verdicts: &mut Vec<Judgement>) {
    let mut tell = |subject: &str, expected: &str, count: u64, what: &str| {
        if count > 0 {
            verdicts.push(Judgement {
                case: case.into(),
                frame_size: None,
                mixture: None,
                subject: subject.into(),
                expected: expected.into(),
                found: format!("{count} {what}"),
                holds: false,
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

/// Both sides of a policer's decisions, each where there were some: what was not tested is no claim that holds (there is a
/// warning of it).
fn policing(case: &str, trials: &[&Trial], verdicts: &mut Vec<Judgement>) {
    for trial in trials {
        let Some(policed) = trial.policed else { continue };
        let judged = policed.conforming_passed
            + policed.conforming_stopped
            + policed.excess_passed
            + policed.excess_stopped;
        let within = |wrong: u64| real(wrong) <= WRONG * real(judged.max(1));
        let at = at(trial);
        let stopped = policed.at_the_edge_stopped;
        let passed = policed.at_the_edge.saturating_sub(stopped);
        for (subject, expected, right, edge, wrong) in [
            ("in profile", "passes unchanged", policed.conforming_passed, passed, policed.conforming_stopped),
            (
                "out of profile",
                "is dropped or remarked",
                policed.excess_stopped,
                stopped,
                policed.excess_passed,
            ),
        ] {
            if right + edge + wrong == 0 {
                continue;
            }
            verdicts.push(Judgement {
                case: case.into(),
                frame_size: trial.frame_size,
                mixture: trial.mixture.clone(),
                subject: format!("{subject}, {at}"),
                expected: expected.into(),
                found: format!(
                    "{right} frames did, {wrong} did not; {edge} more did within a frame of the bucket's edge, where either is \
                     right"
                ),
                holds: within(wrong),
            });
        }
    }
}

/// Which side of a policer's decisions no trial of a case has tested.
pub(crate) fn untested(policed: impl Iterator<Item = Policed>) -> Option<&'static str> {
    let [mut passed, mut stopped, mut any] = [false; 3];
    for one in policed {
        any = true;
        passed |=
            one.conforming_passed + one.conforming_stopped > 0 || one.at_the_edge > one.at_the_edge_stopped;
        stopped |= one.excess_passed + one.excess_stopped + one.at_the_edge_stopped > 0;
    }
    match (any, passed, stopped) {
        (true, false, _) => Some("in profile"),
        (true, _, false) => Some("out of profile"),
        _ => None,
    }
}

fn priorities(
    options: &BenchOptions,
    case: &str,
    (discipline, capacity): (Discipline, f64),
    kept: &[&Kept],
    verdicts: &mut Vec<Judgement>,
) {
    let by = words(discipline);
    for kept in kept {
        let trial = &kept.trial;
        let classes = classes(options, &kept.frames, &trial.per_stream, capacity);
        let carried: Vec<f64> =
            trial.per_stream.iter().map(|found| found.carried_l2_bps / capacity).collect();
        let at = at(trial);
        for (verdict, class) in
            judge(discipline, 1.0, &classes, &carried, TOLERANCE).into_iter().zip(&classes)
        {
            let [low, high] = verdict.expected.map(|share| format!("{:.1}", share * 100.0));
            let owed = if low == high { low } else { format!("{low} to {high}") };
            verdicts.push(Judgement {
                case: case.into(),
                frame_size: trial.frame_size,
                mixture: trial.mixture.clone(),
                subject: format!("class {}, {at}", verdict.name),
                expected: format!(
                    "carries {owed} % of the capacity by {by} (it offers {:.1} %)",
                    class.offered * 100.0
                ),
                found: format!("{:.1} %", verdict.carried * 100.0),
                holds: verdict.holds,
            });
        }
        let explained =
            (discipline == Discipline::Weighted).then(|| pitfall(&classes, &carried, TOLERANCE)).flatten();
        for (high, low) in inversions(discipline, &classes, &carried, TOLERANCE) {
            let (expected, found) =
                overtaken(discipline, [&classes[high], &classes[low]], [carried[high], carried[low]]);
            verdicts.push(Judgement {
                case: case.into(),
                frame_size: trial.frame_size,
                mixture: trial.mixture.clone(),
                subject: format!("classes {} and {}, {at}", classes[high].name, classes[low].name),
                expected,
                found,
                holds: false,
            });
        }
        if let Some(pitfall) = explained {
            verdicts.push(Judgement {
                case: case.into(),
                frame_size: trial.frame_size,
                mixture: trial.mixture.clone(),
                subject: format!("weights, {at}"),
                expected: "are shares of the octets that leave".into(),
                found: format!("every class carries what it would of a scheduler that {}", pitfall.words()),
                holds: false,
            });
        }
    }
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

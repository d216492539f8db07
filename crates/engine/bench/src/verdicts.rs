//! Whether the device did what it is held to: markings, policing, priorities; and what nobody would let pass.

use romer_method::priority::{
    ClassLoad, Discipline, SchedulerFault, by_chance, evaluate, inversions, pitfalls,
};
use romer_record::benchmark::{InvalidTrial, Judgement, Trial};

use crate::classes::{TOLERANCE, classes, discipline_text};
use crate::expected_drops::{expected_drops, to_be_carried};
use crate::numbers::same;
use crate::options::{Anomaly, BenchOptions};
use crate::outage::Outages;
use crate::policer::policing;
use crate::remarking::markings;
use crate::selective_loss::dropped;
use crate::significance::{ClaimOutcome, Significance};
use crate::trial::{CaseTrial, at};
use crate::uncovered::uncovered;

/// Every claim of the options against what the valid trials show.
pub(crate) fn verdicts(options: &BenchOptions, kept: &[CaseTrial]) -> Vec<Judgement> {
    let mut verdicts = Vec::new();
    for (number, case) in options.cases.iter().enumerate() {
        let valid: Vec<&CaseTrial> =
            kept.iter().filter(|kept| kept.case == number && kept.trial.invalid.is_none()).collect();
        let here: Vec<&Trial> = valid.iter().map(|kept| &kept.trial).collect();
        verdicts.extend(markings(options, &case.name, &here));
        let tried = kept.iter().filter(|kept| kept.case == number && !kept.trial.device_unreachable);
        let tried: Vec<&Trial> = tried.map(|kept| &kept.trial).collect();
        sound((&case.name, &options.claims.allowed), &tried, &mut verdicts);
        verdicts.extend(expected_drops(options, &case.name, &here, &tried));
        let [here, tried] = [&here, &tried].map(|trials| to_be_carried(trials));
        let [here, tried] =
            [&here, &tried].map(|trials| trials.iter().map(AsRef::as_ref).collect::<Vec<_>>());
        verdicts.extend(dropped(&case.name, &here, &tried));
        let stood = |one: &CaseTrial| Outages::from_trial(&one.trial, stood_before(kept, one));
        for one in &valid {
            verdicts.extend(policing(options, &one.trial, stood(one)));
        }
        for one in &valid {
            verdicts.extend(priorities(options, one, stood(one)));
        }
        verdicts.extend(uncovered(options, number, kept));
    }
    verdicts
}

/// Why a trial decides nothing of what the device is held to, where it does not because it stood still.
pub(crate) fn undecided(options: &BenchOptions, kept: &CaseTrial) -> Option<InvalidTrial> {
    let stood = Outages::from_trial(&kept.trial, 0);
    let all = policing(options, &kept.trial, stood).into_iter().chain(priorities(options, kept, stood));
    let claims = all.filter(|one| one.passed.is_none()).count() as u64;
    let outages = kept.trial.outages.unwrap_or_default();
    let trial_ns = kept.trial.duration_ns;
    (claims > 0).then_some(InvalidTrial::DeviceStalled { outages, trial_ns, claims })
}

/// How many trials of the same were made before this one in which the device stood still and was not away.
fn stood_before(kept: &[CaseTrial], one: &CaseTrial) -> usize {
    let before = kept.iter().take_while(|other| !std::ptr::eq(*other, one));
    let alike = before.filter(|other| {
        (other.case, &other.frames, other.trial.repeat) == (one.case, &one.frames, one.trial.repeat)
            && same(other.load, one.load)
            && other.trial.purpose == one.trial.purpose
    });
    let stood = |other: &&CaseTrial| other.trial.outages.is_some_and(|found| found.count > 0);
    alike.filter(|other| !other.trial.device_unreachable).filter(stood).count()
}

/// What no device is to do: reorder, duplicate or alter frames. Told only where it happened, also of trials in which the tester fell
/// short: that does none of this.
fn sound((case, allowed): (&str, &[Anomaly]), trials: &[&Trial], verdicts: &mut Vec<Judgement>) {
    let mut tell = |subject: &str, expected: &str, count: u64, what: &str| {
        if count > 0 {
            let is_allowed = allowed.iter().any(|anomaly| anomaly.to_string() == subject);
            let so = if is_allowed {
                format!(", which is allowed (--allow-anomalies {subject})")
            } else {
                String::new()
            };
            verdicts.push(Judgement {
                case: case.into(),
                frame_size: None,
                mixture: None,
                subject: subject.into(),
                expected: expected.into(),
                observed: format!("{count} {what}{so}"),
                passed: Some(is_allowed),
            });
        }
    };
    let sum = |of: fn(&Trial) -> u64| trials.iter().map(|trial| of(trial)).sum::<u64>();
    tell(
        "order",
        "frames of a flow (addresses and ports) arrive in order",
        sum(|trial| trial.reordered),
        "frames were reordered",
    );
    tell("copies", "every frame arrives once", sum(|trial| trial.duplicated), "duplicates received");
    tell(
        "content",
        "length and test data of frames are unchanged",
        sum(|trial| trial.altered),
        "frames were changed",
    );
    let corrupted = sum(|trial| trial.corrupted);
    // Of the others it is known which frames they were.
    let known = sum(|trial| trial.per_stream.iter().map(|stream| stream.corrupted).sum());
    let what = match corrupted.saturating_sub(known) {
        0 => "frames were changed".to_owned(),
        lost => {
            format!("frames were changed; {lost} of them count as lost, because their test data are damaged")
        }
    };
    tell("payload", "the payload of frames is unchanged", corrupted, &what);
}

/// Each class of a scheduler against what it is owed, and classes that fare better than others that come before them.
fn priorities(options: &BenchOptions, kept: &CaseTrial, stood: Outages) -> Vec<Judgement> {
    let Some((discipline, capacity)) = options.claims.scheduler else { return Vec::new() };
    let trial = &kept.trial;
    let classes = classes(options, &kept.frames, &trial.per_stream, capacity);
    let forwarded: Vec<f64> =
        trial.per_stream.iter().map(|found| found.forwarded_l2_bps / capacity).collect();
    let chances = by_chance(discipline, &classes);
    let doubt = Significance::new(trial, stood);
    let at = at(trial);
    let judgement = |subject: String, expected: String, (found, holds): (String, Option<bool>)| Judgement {
        case: trial.case.clone(),
        frame_size: trial.frame_size,
        mixture: trial.mixture.clone(),
        subject: format!("{subject}, {at}"),
        expected,
        observed: found,
        passed: holds,
    };
    let by = discipline_text(discipline);
    let mut verdicts = Vec::new();
    let judged = evaluate(discipline, 1.0, &classes, &forwarded);
    for ((verdict, class), chance) in judged.iter().zip(&classes).zip(&chances) {
        let [low, high] = verdict.expected.map(|share| format!("{:.1}", share * 100.0));
        let owed = if low == high { low } else { format!("{low} to {high}") };
        let within = |more: f64| verdict.is_within(TOLERANCE + more);
        let holds = ClaimOutcome { found: within(0.0), without_standstills: within(stood.share()) };
        let fails = |part: f64| !within(stood.share() + part * chance);
        verdicts.push(judgement(
            format!("class {}", verdict.name),
            format!("receives {owed} % of the capacity by {by} (offered {:.1} %)", class.offered * 100.0),
            doubt.decide(format!("{:.1} %", verdict.forwarded * 100.0), holds, *chance, fails),
        ));
    }
    // A scheduler is not explained by what nobody knows to be wrong with it.
    let certain = verdicts.iter().any(|one| one.passed == Some(false));
    let allowed: Vec<f64> = chances.iter().map(|chance| TOLERANCE + stood.share() + chance).collect();
    let explained = if certain && discipline == Discipline::Weighted {
        pitfalls(&classes, &forwarded, &allowed)
    } else {
        Vec::new()
    };
    for (high, low) in inversions(discipline, &classes, &forwarded, TOLERANCE) {
        let (expected, found) =
            overtaken(discipline, [&classes[high], &classes[low]], [forwarded[high], forwarded[low]]);
        // At the most, so much was taken from the first and left to the second.
        let is_still = |[from_high, to_low]: [f64; 2]| {
            let mut without = forwarded.clone();
            without[high] = (without[high] + from_high).min(classes[high].offered);
            without[low] = (without[low] - to_low).max(0.0);
            inversions(discipline, &classes, &without, TOLERANCE).contains(&(high, low))
        };
        // A class that is served first and offers no more than it is owed carries all of it, whatever chance leaves to others.
        let has_room = discipline == Discipline::Strict && judged[high].expected[0] >= classes[high].offered;
        let chance = [chances[high], if has_room { 0.0 } else { chances[low] }];
        let holds = ClaimOutcome { found: false, without_standstills: !is_still([stood.share(); 2]) };
        let fails = |part: f64| is_still(chance.map(|chance| stood.share() + part * chance));
        let subject = format!("classes {} and {}", classes[high].name, classes[low].name);
        let worst = chance[0].max(chance[1]);
        verdicts.push(judgement(subject, expected, doubt.decide(found, holds, worst, fails)));
    }
    let explained: Vec<&str> = explained.into_iter().map(SchedulerFault::text).collect();
    if !explained.is_empty() {
        let found = format!("the shares of all classes match a scheduler that {}", explained.join(", or "));
        let told = (stood.explained(found, Some(false)), Some(false));
        verdicts.push(judgement("weights".into(), "are shares of the transmitted bytes".into(), told));
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
            "a larger part of the second is forwarded".into(),
        );
    }
    let expected = format!(
        "the first (weight {}) is forwarded no less than the second (weight {}) while it has frames",
        high.weight, low.weight
    );
    let found = format!(
        "first {:.1} % of the capacity in frames of {:.0} bytes, second {:.1} % in frames of {:.0} bytes",
        first * 100.0,
        high.octets,
        second * 100.0,
        low.octets
    );
    (expected, found)
}

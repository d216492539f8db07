//! Whether the device did what it is held to: markings, policing, priorities; and what nobody would let pass.

use romer_method::priority::{ClassLoad, Discipline, by_chance, evaluate, inversions, pitfalls};
use romer_record::benchmark::{
    ClaimFinding, ClaimSubject, ClassShare, Expectation, InvalidTrial, Judgement, Observation, Reservation,
    Trial,
};

use crate::classes::{TOLERANCE, classes};
use crate::expected_drops::{expected_drops, to_be_carried};
use crate::numbers::same;
use crate::options::{Anomaly, BenchOptions};
use crate::outage::Outages;
use crate::policer::policing;
use crate::remarking::markings;
use crate::selective_loss::dropped;
use crate::significance::{ClaimOutcome, Significance};
use crate::trial::{CaseTrial, judged};
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
    let sum = |of: fn(&Trial) -> u64| trials.iter().map(|trial| of(trial)).sum::<u64>();
    let corrupted = sum(|trial| trial.corrupted);
    // Of the others it is known which frames they were.
    let known = sum(|trial| trial.per_stream.iter().map(|stream| stream.corrupted).sum());
    let is_allowed = |anomaly| allowed.contains(&anomaly);
    let all = [
        (
            ClaimSubject::Order,
            Expectation::InOrder,
            [sum(|trial| trial.reordered), 0],
            is_allowed(Anomaly::Order),
        ),
        (
            ClaimSubject::Copies,
            Expectation::Once,
            [sum(|trial| trial.duplicated), 0],
            is_allowed(Anomaly::Copies),
        ),
        (ClaimSubject::Content, Expectation::ContentUnchanged, [sum(|trial| trial.altered), 0], false),
        (
            ClaimSubject::Payload,
            Expectation::PayloadUnchanged,
            [corrupted, corrupted.saturating_sub(known)],
            false,
        ),
    ];
    let found = all.into_iter().filter(|(_, _, [frames, _], _)| *frames > 0);
    verdicts.extend(found.map(|(subject, expected, [frames, lost], is_allowed)| Judgement {
        case: case.into(),
        frame_size: None,
        mixture: None,
        subject,
        expected,
        observed: ClaimFinding::Anomalies { frames, lost }.into(),
        passed: Some(is_allowed),
    }));
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
    let at = judged(trial);
    let judgement =
        |subject, expected, finding, (reservations, holds): (Vec<Reservation>, Option<bool>)| Judgement {
            case: trial.case.clone(),
            frame_size: trial.frame_size,
            mixture: trial.mixture.clone(),
            subject,
            expected,
            observed: Observation { finding, reservations },
            passed: holds,
        };
    let mut verdicts = Vec::new();
    let shares = evaluate(discipline, 1.0, &classes, &forwarded);
    for ((verdict, class), chance) in shares.iter().zip(&classes).zip(&chances) {
        let within = |more: f64| verdict.is_within(TOLERANCE + more);
        let holds = ClaimOutcome { found: within(0.0), without_standstills: within(stood.share()) };
        let fails = |part: f64| !within(stood.share() + part * chance);
        let [min_ratio, max_ratio] = verdict.expected;
        verdicts.push(judgement(
            ClaimSubject::Class { class: verdict.name.clone(), trial: at },
            Expectation::CapacityShare { discipline, min_ratio, max_ratio, offered_ratio: class.offered },
            ClaimFinding::ReceivedShare { forwarded_ratio: verdict.forwarded },
            doubt.decide(holds, *chance, fails),
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
        let has_room = discipline == Discipline::Strict && shares[high].expected[0] >= classes[high].offered;
        let chance = [chances[high], if has_room { 0.0 } else { chances[low] }];
        let holds = ClaimOutcome { found: false, without_standstills: !is_still([stood.share(); 2]) };
        let fails = |part: f64| is_still(chance.map(|chance| stood.share() + part * chance));
        let names = [high, low].map(|class| classes[class].name.clone());
        let subject = ClaimSubject::Classes { classes: names, trial: Some(at) };
        let worst = chance[0].max(chance[1]);
        verdicts.push(judgement(subject, expected, found, doubt.decide(holds, worst, fails)));
    }
    if !explained.is_empty() {
        let told = (stood.reservation().into_iter().collect(), Some(false));
        let finding = ClaimFinding::MatchesFaults { faults: explained };
        verdicts.push(judgement(
            ClaimSubject::Weights { trial: at },
            Expectation::WeightsInBytes,
            finding,
            told,
        ));
    }
    verdicts
}

/// What was expected of two classes, and found, of which the less important fares better.
fn overtaken(
    discipline: Discipline,
    [high, low]: [&ClassLoad; 2],
    [first, second]: [f64; 2],
) -> (Expectation, ClaimFinding) {
    if discipline == Discipline::Strict {
        return (Expectation::FirstBeforeSecond, ClaimFinding::SecondPreferred);
    }
    let share = |ratio, class: &ClassLoad| ClassShare { ratio, frame_bytes: class.octets };
    let expected = Expectation::FirstNoLess { weights: [high.weight, low.weight] };
    (expected, ClaimFinding::ReceivedShares { classes: [share(first, high), share(second, low)] })
}

//! What was asked for and no trial has tested: claims of which nobody knows.

use std::collections::BTreeMap;

use romer_method::priority::{ClassLoad, Discipline, tells_apart, told_apart_at};
use romer_record::benchmark::{ClaimFinding, ClaimSubject, DecidingLoad, Expectation, Judgement, Policed};

use crate::classes::{TOLERANCE, classes};
use crate::options::BenchOptions;
use crate::policer::{buckets, side_untested};
use crate::remarking::{expected, subject};
use crate::trial::CaseTrial;

/// The claims that the trials of a case leave open, each with what would tell.
pub(crate) fn uncovered(options: &BenchOptions, number: usize, kept: &[CaseTrial]) -> Vec<Judgement> {
    let case = options.cases.get(number).map_or("", |case| case.name.as_str());
    let valid: Vec<&CaseTrial> =
        kept.iter().filter(|kept| kept.case == number && kept.trial.invalid.is_none()).collect();
    let open = if valid.is_empty() {
        of_no_trial(options, case)
    } else {
        of_buckets(&valid).into_iter().chain(of_classes(options, &valid)).collect()
    };
    let judgement = |(subject, expected, found): Open| Judgement {
        case: case.into(),
        frame_size: None,
        mixture: None,
        subject,
        expected,
        observed: found.into(),
        passed: None,
    };
    open.into_iter().map(judgement).collect()
}

/// What is claimed, what is expected of it, and why nobody knows.
type Open = (ClaimSubject, Expectation, ClaimFinding);

/// All that is claimed of a case of which no trial tells anything.
fn of_no_trial(options: &BenchOptions, case: &str) -> Vec<Open> {
    let claims = &options.claims;
    let marked = claims.markings.iter().map(|claim| (claim, false));
    let marked = marked.chain(claims.excess.iter().map(|claim| (claim, true)));
    let mut open: Vec<(ClaimSubject, Expectation)> = marked
        .filter(|(claim, _)| claim.is_of(case))
        .map(|(claim, out_of_profile)| (subject(claim, out_of_profile), expected(claim)))
        .collect();
    let shares = options.streams.iter().any(|stream| stream.profile.is_none());
    if claims.profile.is_some() && shares {
        open.push((ClaimSubject::Policer { stream: None }, Expectation::ProfileOnly));
    }
    for stream in options.streams.iter().filter(|stream| stream.profile.is_some()) {
        let of = ClaimSubject::Policer { stream: Some(stream.name.clone()) };
        open.push((of, Expectation::ProfileOnly));
    }
    for stream in options.streams.iter().filter(|stream| stream.expect_drop) {
        open.push((ClaimSubject::Stream { stream: stream.name.clone() }, Expectation::Dropped));
    }
    if let Some((discipline, _)) = claims.scheduler {
        open.push((ClaimSubject::Scheduler, Expectation::ServedBy { discipline }));
    }
    open.into_iter().map(|(subject, expected)| (subject, expected, ClaimFinding::NoConclusiveTrial)).collect()
}

/// The sides of a policer's decisions that no frame has tested.
fn of_buckets(valid: &[&CaseTrial]) -> Vec<Open> {
    let mut by_bucket: BTreeMap<Option<&str>, Vec<Policed>> = BTreeMap::new();
    for (bucket, policed) in valid.iter().flat_map(|kept| buckets(&kept.trial)) {
        by_bucket.entry(bucket).or_default().push(policed);
    }
    let open = |(bucket, policed): (Option<&str>, Vec<Policed>)| {
        let (side, expected) = side_untested(policed.into_iter())?;
        let stream = bucket.map(str::to_owned);
        let subject = ClaimSubject::Profile { side, stream: stream.clone(), trial: None };
        Some((subject, expected, ClaimFinding::NoFrameInProfile { side, stream }))
    };
    by_bucket.into_iter().filter_map(open).collect()
}

/// Classes next to each other of which no trial would show that the device takes one for the other.
fn of_classes(options: &BenchOptions, valid: &[&CaseTrial]) -> Vec<Open> {
    let Some((discipline, capacity)) = options.claims.scheduler else { return Vec::new() };
    let offered: Vec<(Vec<ClassLoad>, f64)> = valid
        .iter()
        .map(|kept| {
            let offered = classes(options, &kept.frames, &kept.trial.per_stream, capacity);
            (offered, kept.trial.intended_load.percent / 100.0)
        })
        .collect();
    let Some((first, load)) = offered.first() else { return Vec::new() };
    // A line carries no more than all of it; without one, what is asked for is sent.
    let most = if options.virtual_line { 2.0 } else { 1.0 };
    let sum: f64 = first.iter().map(|class| class.offered).sum();
    let most = sum * most / load.max(1e-9);
    let apart = |pair| offered.iter().any(|(classes, _)| tells_apart(discipline, classes, pair, TOLERANCE));
    let open = (1..first.len()).map(|place| (place - 1, place)).filter(|pair| !apart(*pair));
    open.map(|(high, low)| {
        let names = [high, low].map(|class| first[class].name.clone());
        let expected = match discipline {
            Discipline::Strict => Expectation::FirstBeforeSecond,
            _ => Expectation::SharesBy { discipline },
        };
        let told = told_apart_at(discipline, first, (high, low), TOLERANCE, most);
        let lesser = usize::from(first[low].offered <= first[high].offered);
        let found = ClaimFinding::ClassesNotDistinguished {
            load: told.map(|all| DecidingLoad { capacity_ratio: all, line_ratio: load * all / sum }),
            weighted: discipline == Discipline::Weighted,
            lower_class: names[lesser].clone(),
            tolerance_ratio: TOLERANCE,
        };
        (ClaimSubject::Classes { classes: names, trial: None }, expected, found)
    })
    .collect()
}

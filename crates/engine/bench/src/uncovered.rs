//! What was asked for and no trial has tested: claims of which nobody knows.

use std::collections::BTreeMap;

use romer_method::priority::{ClassLoad, Discipline, tells_apart, told_apart_at};
use romer_record::benchmark::{Judgement, Policed};

use crate::classes::{TOLERANCE, classes, discipline_text};
use crate::expected_drops::EXPECTED;
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
    let judgement = |[subject, expected, found]: [String; 3]| Judgement {
        case: case.into(),
        frame_size: None,
        mixture: None,
        subject,
        expected,
        observed: found,
        passed: None,
    };
    open.into_iter().map(judgement).collect()
}

/// All that is claimed of a case of which no trial tells anything.
fn of_no_trial(options: &BenchOptions, case: &str) -> Vec<[String; 3]> {
    let claims = &options.claims;
    let marked = claims.markings.iter().map(|claim| (claim, ""));
    let marked = marked.chain(claims.excess.iter().map(|claim| (claim, ", out of profile")));
    let mut open: Vec<[String; 2]> = marked
        .filter(|(claim, _)| claim.is_of(case))
        .map(|(claim, and)| [subject(claim) + and, expected(&claim.out)])
        .collect();
    let shares = options.streams.iter().any(|stream| stream.profile.is_none());
    if claims.profile.is_some() && shares {
        open.push(["the policer".into(), "passes frames in profile and no others".into()]);
    }
    for stream in options.streams.iter().filter(|stream| stream.profile.is_some()) {
        let of = format!("the policer, stream {}", stream.name);
        open.push([of, "passes frames in profile and no others".into()]);
    }
    for stream in options.streams.iter().filter(|stream| stream.expect_drop) {
        open.push([format!("stream {}", stream.name), EXPECTED.into()]);
    }
    if let Some((discipline, _)) = claims.scheduler {
        open.push(["the scheduler".into(), format!("serves the streams by {}", discipline_text(discipline))]);
    }
    let none = || "no conclusive trial of this case".to_owned();
    open.into_iter().map(|[subject, expected]| [subject, expected, none()]).collect()
}

/// The sides of a policer's decisions that no frame has tested.
fn of_buckets(valid: &[&CaseTrial]) -> Vec<[String; 3]> {
    let mut by_bucket: BTreeMap<Option<&str>, Vec<Policed>> = BTreeMap::new();
    for (bucket, policed) in valid.iter().flat_map(|kept| buckets(&kept.trial)) {
        by_bucket.entry(bucket).or_default().push(policed);
    }
    let open = |(bucket, policed): (Option<&str>, Vec<Policed>)| {
        let (side, expected) = side_untested(policed.into_iter())?;
        let [subject, of] = bucket.map_or_else(
            || [side.to_owned(), String::new()],
            |stream| [format!("{side}, stream {stream}"), format!(" of stream {stream}")],
        );
        let found = format!("not tested: no frame{of} was {side}; use other loads (--loads)");
        Some([subject, expected.to_owned(), found])
    };
    by_bucket.into_iter().filter_map(open).collect()
}

/// Classes next to each other of which no trial would show that the device takes one for the other.
fn of_classes(options: &BenchOptions, valid: &[&CaseTrial]) -> Vec<[String; 3]> {
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
        let names = [high, low].map(|class| first[class].name.as_str());
        let expected = match discipline {
            Discipline::Strict => "the first is served before the second".to_owned(),
            _ => format!("each has its share by {}", discipline_text(discipline)),
        };
        let told = told_apart_at(discipline, first, (high, low), TOLERANCE, most);
        let lesser = if first[low].offered <= first[high].offered { names[1] } else { names[0] };
        let would = match (told, discipline) {
            (Some(all), _) => format!(
                "use a load of about {:.0} % of the capacity in total (--loads {:.1}%)",
                all * 100.0,
                100.0 * load * all / sum
            ),
            (None, Discipline::Weighted) => format!(
                "no load can distinguish them, because their shares differ by less than the tolerance of {:.0} % of the capacity; use \
                 more different weights (weight=), or a larger share of the load for {lesser} (share=)",
                TOLERANCE * 100.0
            ),
            (None, _) => format!(
                "no load of this line can distinguish them, because their shares differ by less than the tolerance of {:.0} % of the \
                 capacity; use a larger share of the load for {lesser} (share=), or a faster line (--line-rate)",
                TOLERANCE * 100.0
            ),
        };
        let found = format!(
            "not tested: at these loads a scheduler that confuses them would forward the same of both; {would}"
        );
        [format!("classes {} and {}", names[0], names[1]), expected, found]
    })
    .collect()
}

//! Discarded trials by cause.

use std::collections::BTreeMap;

use romer_record::benchmark::{Benchmark, BenchmarkEvent, InvalidCause, Trial};

use crate::number::counted;

/// Events of single trials, which are grouped.
const GROUPED: [&str; 2] = ["trial-repeated", "tester-overloaded"];

/// The number of discarded trials, their causes, and how many of them were repeated. `None` if none was discarded.
pub fn discarded(document: &Benchmark) -> Option<String> {
    let (mut causes, mut repeated) = (BTreeMap::new(), 0_u64);
    let mut trials = document.trials.iter().peekable();
    while let Some(trial) = trials.next() {
        if trial.invalid.is_none() {
            continue;
        }
        *causes.entry(trial.invalid_cause).or_insert(0_u64) += 1;
        repeated += u64::from(trials.peek().is_some_and(|next| is_same(trial, next)));
    }
    let all: u64 = causes.values().sum();
    (all > 0).then(|| {
        let of = counted(document.trials.len() as u64, "trial", "trials");
        format!("{all} of {of} discarded ({}); {repeated} repeated", causes_text(&causes))
    })
}

fn causes_text(causes: &BTreeMap<Option<InvalidCause>, u64>) -> String {
    let name = |cause: &Option<InvalidCause>| cause.map_or("other reason", InvalidCause::text);
    if let [cause] = &causes.keys().collect::<Vec<_>>()[..] {
        return name(cause).into();
    }
    let each = causes.iter().map(|(cause, count)| format!("{} {count}", name(cause)));
    each.collect::<Vec<_>>().join(", ")
}

/// Whether one trial was made for the same as the other.
fn is_same(one: &Trial, other: &Trial) -> bool {
    let key = |trial: &Trial| {
        let Trial { case, frame_size, mixture, repeat, purpose, duration_ns, .. } = trial;
        (case.clone(), *frame_size, mixture.clone(), *repeat, purpose.clone(), *duration_ns)
    };
    key(one) == key(other) && one.requested_load == other.requested_load
}

/// The events that are reported one by one.
pub fn events(document: &Benchmark) -> impl Iterator<Item = &BenchmarkEvent> {
    document.events.iter().filter(|event| !GROUPED.contains(&event.kind.as_str()))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Discarded trials are reported in one line, with number and causes.
    #[test]
    fn discarded_trials_are_one_line() {
        let trial = |repeat, cause: Option<InvalidCause>| Trial {
            repeat,
            invalid: cause.map(|cause| cause.text().into()),
            invalid_cause: cause,
            ..Trial::default()
        };
        let [stalled, dropped] = [InvalidCause::TesterStalled, InvalidCause::TesterDropped].map(Some);
        let trials = [(0, stalled), (0, None), (1, stalled), (1, dropped), (1, None), (2, dropped)];
        let trials = trials.into_iter().map(|(repeat, cause)| trial(repeat, cause)).collect();
        let event =
            |kind: &str| BenchmarkEvent { at_ns: 0, kind: kind.into(), text: String::new(), dropped: None };
        let events_of = ["trial-repeated", "clock-set", "tester-overloaded", "port-down"].map(event).into();
        let document = Benchmark { trials, events: events_of, ..Benchmark::default() };
        assert_eq!(
            discarded(&document).as_deref(),
            Some("4 of 6 trials discarded (tester stalled 2, tester dropped frames 2); 3 repeated")
        );
        let told: Vec<&str> = events(&document).map(|event| event.kind.as_str()).collect();
        assert_eq!(told, ["clock-set", "port-down"]);
    }
}

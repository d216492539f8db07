//! Discarded trials by cause.

use std::collections::BTreeMap;

use romer_record::benchmark::{Benchmark, BenchmarkEvent, BenchmarkEventKind, InvalidCause, Trial};

use super::invalid::invalid_cause;
use crate::number::counted;

/// The number of discarded trials, their causes, and how many of them were repeated. `None` if none was discarded.
pub fn discarded(document: &Benchmark) -> Option<String> {
    let (mut causes, mut repeated) = (BTreeMap::new(), 0_u64);
    let mut trials = document.trials.iter().peekable();
    while let Some(trial) = trials.next() {
        let Some(invalid) = &trial.invalid else { continue };
        *causes.entry(invalid.cause()).or_insert(0_u64) += 1;
        repeated += u64::from(trials.peek().is_some_and(|next| is_same(trial, next)));
    }
    let all: u64 = causes.values().sum();
    (all > 0).then(|| {
        let of = counted(document.trials.len() as u64, "trial", "trials");
        format!("{all} of {of} discarded ({}); {repeated} repeated", causes_text(&causes))
    })
}

fn causes_text(causes: &BTreeMap<InvalidCause, u64>) -> String {
    if let [cause] = &causes.keys().collect::<Vec<_>>()[..] {
        return invalid_cause(**cause).into();
    }
    let each = causes.iter().map(|(cause, count)| format!("{} {count}", invalid_cause(*cause)));
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

/// The events that are reported one by one: without those of single trials, which are grouped.
pub fn events(document: &Benchmark) -> impl Iterator<Item = &BenchmarkEvent> {
    use BenchmarkEventKind::{TesterOverloaded, TrialRepeated};

    let is_grouped =
        |event: &BenchmarkEvent| matches!(event.kind, TrialRepeated { .. } | TesterOverloaded { .. });
    document.events.iter().filter(move |event| !is_grouped(event))
}

#[cfg(test)]
mod tests {
    use romer_record::benchmark::InvalidTrial;

    use super::*;

    /// Discarded trials are reported in one line, with number and causes.
    #[test]
    fn discarded_trials_are_one_line() {
        let trial = |(repeat, invalid)| Trial { repeat, invalid, ..Trial::default() };
        let slow = || Some(InvalidTrial::TesterSlow { sent_frames: 1, due_frames: 2, sent_pps: 1.0 });
        let set = || Some(InvalidTrial::ClockSet);
        let trials = [(0, slow()), (0, None), (1, slow()), (1, set()), (1, None), (2, set())];
        let trials = trials.into_iter().map(trial).collect();
        let events_of = [
            BenchmarkEventKind::TrialRepeated { invalid: InvalidTrial::ClockSet },
            BenchmarkEventKind::ClockSet,
            BenchmarkEventKind::TesterOverloaded { invalid: InvalidTrial::ClockSet },
            BenchmarkEventKind::PortDownInTrial { port: "a".into() },
        ];
        let events_of = events_of.map(|kind| BenchmarkEvent { at_ns: 0, kind }).into();
        let document = Benchmark { trials, events: events_of, ..Benchmark::default() };
        assert_eq!(
            discarded(&document).as_deref(),
            Some("4 of 6 trials discarded (tester too slow 2, clock set 2); 3 repeated")
        );
        let told: Vec<&BenchmarkEventKind> = events(&document).map(|event| &event.kind).collect();
        assert_eq!(
            told,
            [&BenchmarkEventKind::ClockSet, &BenchmarkEventKind::PortDownInTrial { port: "a".into() }]
        );
    }
}

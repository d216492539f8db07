//! When a packet that did not arrive would have.

use romer_record::{Fate, OneWaySingleton};
use romer_units::Timestamp;

/// The packets of `singletons` that left, without copies, each with the moment by the receiver's clock at which it arrived, or
/// would have: as long after its departure as the one before it that arrived in time, or else the first that did. `None` where
/// none did.
pub(crate) fn due(singletons: &[OneWaySingleton]) -> impl Iterator<Item = (&OneWaySingleton, Option<i64>)> {
    let took = |singleton: &OneWaySingleton| {
        let in_time = singleton.fate == Fate::Arrived && singleton.copy == 0;
        let (left, arrived) = singleton.departure.zip(singleton.arrival).filter(|_| in_time)?;
        Some(arrived.as_nanos().saturating_sub(left.as_nanos()))
    };
    let mut taking = singletons.iter().find_map(took);
    let left = singletons.iter().filter(|singleton| singleton.copy == 0);
    left.filter_map(move |singleton| {
        let left = singleton.left()?.as_nanos();
        taking = took(singleton).or(taking);
        let arrived = singleton.arrival.map(Timestamp::as_nanos);
        Some((singleton, arrived.or_else(|| taking.map(|taking| left.saturating_add(taking)))))
    })
}

/// The losses without one between them that arrived, each with its number and the moment at which it was due.
pub(crate) fn runs(singletons: &[OneWaySingleton]) -> Vec<Vec<(u64, i64)>> {
    let mut runs = vec![Vec::new()];
    for (singleton, due) in due(singletons) {
        match (singleton.fate, due) {
            (Fate::Lost, Some(due)) => {
                if let Some(run) = runs.last_mut() {
                    run.push((singleton.sequence, due));
                }
            }
            (Fate::Arrived, _) if runs.last().is_some_and(|run| !run.is_empty()) => runs.push(Vec::new()),
            _ => {}
        }
    }
    runs
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    /// A packet that did not arrive, or whose arrival is set later.
    pub(crate) fn singleton(sequence: u64, departure: Option<i64>, fate: Fate) -> OneWaySingleton {
        OneWaySingleton {
            sequence,
            copy: 0,
            size: 44,
            fate,
            departure: departure.map(Timestamp::from_nanos),
            arrival: None,
            delay: None,
            ttl: None,
            tos: None,
            leaving: romer_record::Leaving::UNKNOWN,
        }
    }

    #[test]
    fn what_did_not_arrive_was_due_as_long_after_it_left_as_the_one_before_took() {
        let mut all: Vec<OneWaySingleton> =
            (0..6).map(|n: i64| singleton(n.unsigned_abs(), Some(n * 100), Fate::Lost)).collect();
        for (place, arrival, fate) in [(1, 130, Fate::Arrived), (3, 350, Fate::Arrived), (4, 900, Fate::Late)]
        {
            all[place].fate = fate;
            all[place].arrival = Some(Timestamp::from_nanos(arrival));
        }
        all.insert(2, OneWaySingleton { copy: 1, arrival: Some(Timestamp::from_nanos(777)), ..all[1] });
        all.push(singleton(6, None, Fate::Lost));
        let found: Vec<(u64, Option<i64>)> = due(&all).map(|(one, due)| (one.sequence, due)).collect();
        let expected = [30, 130, 230, 350, 900, 550];
        assert_eq!(found, (0..).zip(expected.map(Some)).collect::<Vec<_>>());
        assert!(due(&all[..1]).all(|(_, due)| due.is_none()));
        assert_eq!(runs(&all), [vec![(0, 30)], vec![(2, 230)], vec![(5, 550)]]);
    }
}

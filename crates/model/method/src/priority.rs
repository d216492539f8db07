//! What each class of a scheduler is to carry, and whether it did (RFC 4689's expected and output vectors; seed 003's
//! future work 4.2.1).

/// How a scheduler serves its classes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Discipline {
    /// A class is served when no class before it has anything waiting.
    Strict,
    /// Each has its share, and what one leaves goes to the others by their shares (CBQ, WRR, WFQ).
    Weighted,
    /// All wait in one queue: no classes at all.
    Fifo,
}

/// A class, the most important first.
#[derive(Clone, Debug, PartialEq)]
pub struct ClassLoad {
    /// Its name.
    pub name: String,
    /// What it offers, share of the outgoing line.
    pub offered: f64,
    /// Its share, for weighted service; any unit.
    pub weight: f64,
}

/// What each class is to carry of what it offers, where the outgoing line carries `capacity` (the expected vector).
pub fn expected(discipline: Discipline, capacity: f64, classes: &[ClassLoad]) -> Vec<f64> {
    match discipline {
        Discipline::Strict => {
            let mut left = capacity;
            classes
                .iter()
                .map(|class| {
                    let carried = class.offered.min(left);
                    left -= carried;
                    carried
                })
                .collect()
        }
        Discipline::Weighted => water_filling(capacity, classes),
        Discipline::Fifo => {
            let sum: f64 = classes.iter().map(|class| class.offered).sum();
            let ratio = if sum > capacity { capacity / sum } else { 1.0 };
            classes.iter().map(|class| class.offered * ratio).collect()
        }
    }
}

/// Shares by weight, of which no class gets more than it offers.
fn water_filling(capacity: f64, classes: &[ClassLoad]) -> Vec<f64> {
    let mut carried = vec![0.0; classes.len()];
    let mut open: Vec<usize> = (0..classes.len()).collect();
    let mut left = capacity;
    while !open.is_empty() {
        let weights: f64 = open.iter().map(|class| classes[*class].weight).sum();
        if weights <= 0.0 {
            break;
        }
        let unit = left / weights;
        let (served, still): (Vec<usize>, Vec<usize>) =
            open.iter().partition(|class| classes[**class].offered <= classes[**class].weight * unit);
        if served.is_empty() {
            for class in &open {
                carried[*class] = classes[*class].weight * unit;
            }
            break;
        }
        for class in served {
            carried[class] = classes[class].offered;
            left -= classes[class].offered;
        }
        open = still;
    }
    carried
}

/// What a class came to.
#[derive(Clone, Debug, PartialEq)]
pub struct Verdict {
    /// Its name.
    pub name: String,
    /// What it was to carry, share of the line.
    pub expected: f64,
    /// What it carried.
    pub carried: f64,
    /// Whether that is within the tolerance.
    pub holds: bool,
}

/// Each class against its expectation; `tolerance` is a share of the capacity.
pub fn judge(
    discipline: Discipline,
    capacity: f64,
    classes: &[ClassLoad],
    carried: &[f64],
    tolerance: f64,
) -> Vec<Verdict> {
    let expected = expected(discipline, capacity, classes);
    let rows = classes.iter().zip(expected).zip(carried);
    rows.map(|((class, expected), carried)| Verdict {
        name: class.name.clone(),
        expected,
        carried: *carried,
        holds: (carried - expected).abs() <= tolerance * capacity,
    })
    .collect()
}

/// Classes that fare better than a class before them although they are not to: seed 003's figure 1-5, where large
/// frames of a low class get more than small ones of a high one. Pairs of places, the better served second.
pub fn inversions(classes: &[ClassLoad], carried: &[f64], tolerance: f64) -> Vec<(usize, usize)> {
    let share = |class: usize| {
        let offered = classes[class].offered;
        if offered > 0.0 { carried.get(class).copied().unwrap_or(0.0) / offered } else { 1.0 }
    };
    let mut found = Vec::new();
    for high in 0..classes.len() {
        for low in high + 1..classes.len() {
            if share(low) > share(high) + tolerance {
                found.push((high, low));
            }
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn classes(rows: &[(f64, f64)]) -> Vec<ClassLoad> {
        let class = |(n, (offered, weight)): (usize, &(f64, f64))| ClassLoad {
            name: format!("class {n}"),
            offered: *offered,
            weight: *weight,
        };
        rows.iter().enumerate().map(class).collect()
    }

    fn near(found: &[f64], expected: &[f64]) {
        assert_eq!(found.len(), expected.len());
        for (one, other) in found.iter().zip(expected) {
            assert!((one - other).abs() < 1e-9, "{found:?} {expected:?}");
        }
    }

    #[test]
    fn each_discipline_shares_as_its_name_says() {
        let three = classes(&[(0.6, 5.0), (0.6, 3.0), (0.6, 2.0)]);
        near(&expected(Discipline::Strict, 1.0, &three), &[0.6, 0.4, 0.0]);
        near(&expected(Discipline::Weighted, 1.0, &three), &[0.5, 0.3, 0.2]);
        near(&expected(Discipline::Fifo, 1.0, &three), &[1.0 / 3.0; 3]);
    }

    #[test]
    fn what_a_class_leaves_goes_to_the_others_by_weight() {
        // The scheduler tests of OpenConfig: weights 64:16:4:1:1; here the first offers little.
        let five = classes(&[(0.1, 64.0), (0.8, 16.0), (0.8, 4.0), (0.8, 1.0), (0.01, 1.0)]);
        let found = expected(Discipline::Weighted, 1.0, &five);
        near(&found[..1], &[0.1]);
        near(&found[4..], &[0.01]);
        let left = 1.0 - 0.1 - 0.01;
        near(&found[1..4], &[left * 16.0 / 21.0, left * 4.0 / 21.0, left / 21.0]);
    }

    #[test]
    fn swapped_priorities_are_found_out() {
        let two = classes(&[(0.8, 1.0), (0.8, 1.0)]);
        let right = judge(Discipline::Strict, 1.0, &two, &[0.8, 0.2], 0.03);
        assert!(right.iter().all(|verdict| verdict.holds));
        let swapped = judge(Discipline::Strict, 1.0, &two, &[0.2, 0.8], 0.03);
        assert!(swapped.iter().all(|verdict| !verdict.holds));
        assert_eq!(inversions(&two, &[0.2, 0.8], 0.05), [(0, 1)]);
        assert_eq!(inversions(&two, &[0.8, 0.2], 0.05), []);
    }

    proptest! {
        #[test]
        fn the_line_is_full_or_all_is_carried_and_nobody_gets_more_than_it_offers(
            rows in proptest::collection::vec((0.0f64..1.0, 0.1f64..10.0), 1..8), capacity in 0.1f64..2.0,
        ) {
            let classes = classes(&rows);
            let offered: f64 = classes.iter().map(|class| class.offered).sum();
            for discipline in [Discipline::Strict, Discipline::Weighted, Discipline::Fifo] {
                let carried = expected(discipline, capacity, &classes);
                let sum: f64 = carried.iter().sum();
                prop_assert!((sum - offered.min(capacity)).abs() < 1e-9, "{discipline:?} {carried:?}");
                for (class, carried) in classes.iter().zip(&carried) {
                    prop_assert!(*carried >= -1e-12 && *carried <= class.offered + 1e-12);
                }
            }
        }
    }
}

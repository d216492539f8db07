//! The normalising steps of Qtcp, Appendix A.

use super::entry::Entry;
use super::spread::Spread;

/// The three steps of Appendix A: the lowest send time is subtracted from all send times, then from all receive times,
/// then the lowest latency from all receive times. A lowest latency below zero (a receiver whose clock is behind the
/// sender's) is subtracted just the same. Afterwards the first departure is at 0 and the least latency is 0.
///
/// Dummy entries have no part in it and must not be among `entries`.
pub fn normalise(entries: &mut [Entry]) {
    let (Some(lowest_sent), Some(lowest_latency)) =
        (entries.iter().map(|entry| entry.sent).min(), entries.iter().map(Entry::latency).min())
    else {
        return;
    };
    for entry in entries {
        entry.sent -= lowest_sent;
        entry.received -= lowest_sent;
        entry.received -= lowest_latency;
    }
}

/// Whether entries look as [`normalise`] leaves them: the first departure at 0, the least latency 0.
pub fn is_normalised(entries: &[Entry]) -> bool {
    Spread::from_entries(entries).is_normalised()
}

/// Takes what `correction` says out of the receive times of normalised entries, by their send times, and moves the least
/// latency back to 0. Times and corrections are in units of 100 ns.
pub fn corrected(entries: &mut [Entry], correction: impl Fn(i64) -> i64) {
    for entry in &mut *entries {
        entry.received -= correction(entry.sent);
    }
    let Some(least) = entries.iter().map(Entry::latency).min() else { return };
    for entry in entries {
        entry.received -= least;
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn entries(stamps: &[(i64, i64)]) -> Vec<Entry> {
        let entry = |((sent, received), sequence): (&(i64, i64), u64)| Entry {
            sent: *sent,
            received: *received,
            size: 64,
            sequence,
        };
        stamps.iter().zip(0..).map(entry).collect()
    }

    fn table(entries: &[Entry]) -> Vec<(i64, i64, i64)> {
        entries.iter().map(|entry| (entry.sent, entry.received, entry.latency())).collect()
    }

    #[test]
    fn the_worked_example_of_appendix_a_comes_out() {
        let mut example = entries(&[(10, 13), (11, 19), (12, 18)]);
        assert_eq!(table(&example), [(10, 13, 3), (11, 19, 8), (12, 18, 6)]);
        normalise(&mut example);
        assert_eq!(table(&example), [(0, 0, 0), (1, 6, 5), (2, 5, 3)]);
        assert!(is_normalised(&example));
    }

    #[test]
    fn a_receiver_whose_clock_is_behind_gives_the_same() {
        for offset in [-1_000_000, -4, -3, 0, 7_000_000_000] {
            let mut example = entries(&[(10, 13 + offset), (11, 19 + offset), (12, 18 + offset)]);
            normalise(&mut example);
            assert_eq!(table(&example), [(0, 0, 0), (1, 6, 5), (2, 5, 3)], "{offset}");
        }
    }

    #[test]
    fn a_line_is_taken_out_and_the_least_latency_is_zero_again() {
        // 50 parts in a million: 1 unit in 20,000, and a queue of 30 units at the third packet.
        let mut skewed = entries(&[(0, 7), (200_000, 200_017), (400_000, 400_057), (600_000, 600_037)]);
        normalise(&mut skewed);
        corrected(&mut skewed, |sent| sent / 20_000);
        let latencies: Vec<i64> = skewed.iter().map(Entry::latency).collect();
        assert_eq!(latencies, [0, 0, 30, 0]);
        // A falling line leaves latencies below zero before the last step.
        let mut falling = entries(&[(0, 40), (200_000, 200_030), (400_000, 400_020)]);
        normalise(&mut falling);
        corrected(&mut falling, |sent| -sent / 20_000);
        assert_eq!(falling.iter().map(Entry::latency).collect::<Vec<_>>(), [0, 0, 0]);
    }

    proptest! {
        #[test]
        fn normalising_forgets_the_origins_and_keeps_what_is_between(
            stamps in prop::collection::vec((0i64..1 << 50, 0i64..1 << 50), 1..50),
            shift in (0i64..1 << 50, 0i64..1 << 50),
        ) {
            let mut plain = entries(&stamps);
            let before = plain.clone();
            let moved: Vec<(i64, i64)> =
                stamps.iter().map(|(sent, received)| (sent + shift.0, received + shift.1)).collect();
            let mut moved = entries(&moved);
            normalise(&mut plain);
            normalise(&mut moved);
            prop_assert_eq!(&plain, &moved);
            prop_assert!(is_normalised(&plain));
            for (a, b) in before.iter().zip(&plain) {
                prop_assert_eq!(a.latency() - before[0].latency(), b.latency() - plain[0].latency());
            }
            let again = plain.clone();
            normalise(&mut plain);
            prop_assert_eq!(again, plain);
        }
    }
}

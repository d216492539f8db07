//! What jitter buffers of several lengths discard.
//!
//! A receiver plays a packet at a fixed time after it left: the least delay of the stream plus the jitter buffer. What comes
//! later is discarded.

use romer_record::{Fate, OneWaySingleton};

use crate::sample::{delay, sent};

/// What is lost to the listener with one jitter buffer.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct PlayoutLoss {
    /// Packets that did not come, or came too late.
    pub(super) lost: usize,
    /// Runs of such packets, one after the other.
    pub(super) runs: usize,
}

/// The packets of a stream, and what each buffer loses of them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Counts {
    /// Packets of which it is known whether they were lost, or which count as lost.
    pub(super) sent: usize,
    /// Those that did not come in time to be counted as received, whatever the buffer.
    pub(super) lost: usize,
    /// Of some the way that lost them is not known.
    pub(super) is_uncertain: bool,
    /// The least delay, nanoseconds; `None` where nothing came.
    pub(super) least: Option<i64>,
    /// By buffer.
    pub(super) gaps: Vec<PlayoutLoss>,
}

/// Counts what each of `buffers` loses, which are in ascending order, nanoseconds.
pub(super) fn counts(singletons: &[OneWaySingleton], buffers: &[i64]) -> Counts {
    let arrived = sent(singletons).filter(|singleton| singleton.fate == Fate::Arrived);
    let least = arrived.filter_map(delay).min();
    let mut counts = Counts { least, ..Counts::default() };
    // A packet is lost with all buffers before the first that plays it. A run of losses begins with it for those of these
    // that play the packet before. What each buffer has less or more than the one before it is summed up at the end.
    let mut played = vec![0_usize; buffers.len() + 1];
    let (mut begins, mut ends) = (played.clone(), played.clone());
    let mut before = 0;
    for singleton in sent(singletons) {
        counts.is_uncertain |= singleton.fate == Fate::Unknown;
        let first = match singleton.fate {
            Fate::InFlight => continue,
            Fate::InstrumentDrop => {
                // The path carried it; whether the next loss goes on with those before it is not known from this one.
                counts.sent += 1;
                continue;
            }
            Fate::Arrived => {
                let excess =
                    delay(singleton).zip(least).map_or(0, |(delay, least)| delay.saturating_sub(least));
                buffers.partition_point(|buffer| *buffer < excess)
            }
            Fate::Late | Fate::Lost | Fate::Unknown => {
                counts.lost += 1;
                buffers.len()
            }
        };
        counts.sent += 1;
        played[first] += 1;
        if before < first {
            begins[before] += 1;
            ends[first] += 1;
        }
        before = first;
    }
    let mut gaps = PlayoutLoss { lost: played.iter().sum(), runs: 0 };
    counts.gaps = (0..buffers.len())
        .map(|place| {
            gaps.lost -= played[place];
            // No run ends before it began.
            gaps.runs = gaps.runs + begins[place] - ends[place];
            gaps
        })
        .collect();
    counts
}

#[cfg(test)]
mod tests {
    use super::super::tests::singletons;
    use super::*;

    const MS: i64 = 1_000_000;

    /// Each buffer's losses and runs are those that are counted one packet after the other.
    #[test]
    fn counts_agree_with_plain_count() {
        // Delays that go up and down, with losses: 5 to 60 ms.
        let delays: Vec<Option<i64>> = (0..500_i64)
            .map(|place| (place % 11 != 3).then_some((5 + place * place * 7 % 56) * MS))
            .collect();
        let buffers: Vec<i64> = (0..70).map(|ms| ms * MS).collect();
        let found = counts(&singletons(&delays), &buffers);
        assert_eq!((found.sent, found.least), (500, Some(5 * MS)));
        for (buffer, gaps) in buffers.iter().zip(&found.gaps) {
            let gone = |delay: &Option<i64>| delay.is_none_or(|delay| delay > 5 * MS + buffer);
            let lost = delays.iter().filter(|delay| gone(delay)).count();
            let later = delays.windows(2).filter(|pair| !gone(&pair[0]) && gone(&pair[1])).count();
            let runs = later + usize::from(gone(&delays[0]));
            assert_eq!((gaps.lost, gaps.runs), (lost, runs), "{buffer}");
        }
    }

    /// A stream of which nothing came is lost with any buffer, in one run.
    #[test]
    fn nothing_arrived_is_all_lost() {
        let found = counts(&singletons(&[None; 7]), &[0, MS]);
        assert_eq!((found.sent, found.lost, found.least), (7, 7, None));
        assert_eq!(found.gaps, [PlayoutLoss { lost: 7, runs: 1 }; 2]);
    }
}

//! What jitter buffers of several lengths discard, and one that follows the delays.
//!
//! A receiver plays a packet at a fixed time after it left: the least delay of the stream plus the jitter buffer. What comes
//! later is discarded. An adaptive receiver plays it later than that if delays are long or vary, and sooner if they do not.

use romer_record::{Fate, OneWaySingleton};

use crate::sample::{delay, nearest, sent};
use crate::value::{Value as _, real};

/// How much of the delays before is in an adaptive buffer's running means after each packet: they remember some 500.
const MEMORY: f64 = 0.998_002;
/// Mean deviations that an adaptive buffer holds a packet beyond the mean delay.
const DEVIATIONS: f64 = 4.0;

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

/// What a buffer loses that follows the delays, and how long it holds the packets that it plays: the mean beyond the `least` delay,
/// nanoseconds. `None` where nothing came.
///
/// A packet is played four mean deviations after the mean delay, and at least `shortest` after it, by the delays of the packets
/// that left before (Ramjee et al. 1994, algorithm 1). Each packet has a time of its own, as with receivers that stretch and
/// shorten speech, and until the running means are full, they are plain ones.
pub(super) fn adaptive(
    singletons: &[OneWaySingleton],
    least: i64,
    shortest: i64,
) -> Option<(i64, PlayoutLoss)> {
    let mut gaps = PlayoutLoss::default();
    let (mut is_gone, mut played, mut held, mut known) = (false, 0, 0.0, 0);
    // Mean and mean deviation of the delays beyond the least.
    let mut running: Option<(f64, f64)> = None;
    for singleton in sent(singletons) {
        let has_come = match singleton.fate {
            Fate::InFlight | Fate::InstrumentDrop => continue,
            Fate::Arrived => true,
            Fate::Late | Fate::Lost | Fate::Unknown => false,
        };
        let excess = delay(singleton).filter(|_| has_come).map(|delay| delay.saturating_sub(least).value());
        // The first that comes is the one that the others are played by.
        let (mean, deviation) = running.unwrap_or((excess.unwrap_or(0.0), 0.0));
        let wait = mean + (DEVIATIONS * deviation).max(shortest.value());
        if has_come && excess.is_none_or(|excess| excess <= wait) {
            played += 1;
            held += wait;
            is_gone = false;
        } else {
            gaps.lost += 1;
            gaps.runs += usize::from(!is_gone);
            is_gone = true;
        }
        if let Some(excess) = excess {
            known += 1;
            let share = (1.0 - MEMORY).max(1.0 / real(known));
            let mean = mean + share * (excess - mean);
            running = Some((mean, deviation + share * ((mean - excess).abs() - deviation)));
        }
    }
    (played > 0).then(|| (nearest(held / real(played)), gaps))
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

    /// Delays that change between two values: the mean is in their middle, and so far from both, and four times that is held
    /// beyond it. The second packet comes when one delay is known, and is discarded.
    #[test]
    fn adaptive_buffer_holds_four_deviations() {
        let delays: Vec<Option<i64>> = (0..2_000).map(|place| Some((5 + place % 2 * 20) * MS)).collect();
        let (held, gaps) = adaptive(&singletons(&delays), 5 * MS, 10 * MS).unwrap();
        assert_eq!(gaps, PlayoutLoss { lost: 1, runs: 1 });
        assert!((48 * MS..=50 * MS).contains(&held), "{held}");
    }

    /// After a step of the delay packets are discarded until n of them are 1 / 4 of the memory: 1 - aⁿ + 4 n (1 - a) aⁿ is 1.
    #[test]
    fn adaptive_buffer_follows_step() {
        let mut delays: Vec<Option<i64>> =
            (0..6_000).map(|place| Some((5 + i64::from(place >= 2_000) * 100) * MS)).collect();
        let (held, gaps) = adaptive(&singletons(&delays), 5 * MS, 10 * MS).unwrap();
        assert!(gaps.runs == 1 && (120..=130).contains(&gaps.lost), "{gaps:?}");
        assert!((90 * MS..105 * MS).contains(&held), "{held}");
        // What the network lost is lost with it too.
        delays[5_000] = None;
        let found = adaptive(&singletons(&delays), 5 * MS, 10 * MS).unwrap().1;
        assert_eq!(found, PlayoutLoss { lost: gaps.lost + 1, runs: 2 });
    }

    /// A stream of which nothing came is lost with any buffer, in one run.
    #[test]
    fn nothing_arrived_is_all_lost() {
        let found = counts(&singletons(&[None; 7]), &[0, MS]);
        assert_eq!((found.sent, found.lost, found.least), (7, 7, None));
        assert_eq!(found.gaps, [PlayoutLoss { lost: 7, runs: 1 }; 2]);
        assert_eq!(adaptive(&singletons(&[None; 7]), 0, MS), None);
    }
}

//! Stamps of the far end that contradict what happened: replies that left before their requests came, or that lay there for longer
//! than their probes were away. No path shows that, but a clock does that was set, and a reflector whose two stamps are not of one.

use romer_record::document::Way;
use romer_record::{RoundTrip, Stamps};
use romer_timebase::{Related, Selection};
use romer_units::{Clock, Place, counted_as};

use crate::occurrences::rounded;

/// A clock that is set crosses a packet or two. Where at least one reply in so many is contradicted, the stamps are wrong in
/// themselves, also those of the others.
const SHARE: u64 = 10;
/// ... of so many at the least.
const LEAST: u64 = 3;

/// How many there are, and the worst of them.
#[derive(Debug, Default)]
pub(super) struct Crossed {
    /// Replies whose stamps can be held against each other.
    compared: u64,
    early: Worst,
    long: Worst,
}

#[derive(Debug, Default)]
struct Worst {
    replies: u64,
    first: Option<u64>,
    most: i64,
}

impl Worst {
    fn take(&mut self, sequence: u64, by: i64) {
        self.replies += 1;
        self.first.get_or_insert(sequence);
        self.most = self.most.max(by);
    }
}

impl Crossed {
    /// Looks at the next rows, by the stamps that are chosen.
    pub(super) fn take(&mut self, rows: &[RoundTrip], selection: &Selection) {
        fn nanos<C: Clock>(stamps: &Stamps<C>, place: Option<Place>) -> Option<i64> {
            stamps.at(place).map(|stamp| stamp.as_nanos())
        }
        for row in rows.iter().filter(|row| row.way == Way::RoundTrip && row.copy == 0) {
            let there = nanos(&row.t2, selection.t2).zip(nanos(&row.t3, selection.t3));
            let Some(lay) = there.map(|(came, left)| left.saturating_sub(came)) else { continue };
            let away = nanos(&row.t1, selection.t1).zip(nanos(&row.t4, selection.t4));
            let away = away.map(|(left, came)| came.saturating_sub(left));
            self.compared += 1;
            if lay < 0 {
                self.early.take(row.sequence, lay.saturating_neg());
            } else if let Some(over) = away.map(|away| lay.saturating_sub(away)).filter(|over| *over > 0) {
                self.long.take(row.sequence, over);
            }
        }
    }

    /// Whether the far end's stamps are wrong in themselves, rather than those around a moment at which a clock was set. Of one
    /// that keeps a log for us, `is_logged`, it is known when that was.
    fn is_of_all(&self, is_logged: bool) -> bool {
        let replies = self.early.replies + self.long.replies;
        !is_logged && replies >= LEAST && replies * SHARE >= self.compared
    }

    /// Takes no delay of one way from stamps that are wrong, and for round trips the whole time that probes were away.
    pub(super) fn withdraw(&self, is_logged: bool, related: &mut Related) {
        if self.is_of_all(is_logged) {
            related.without_far_stamps();
        }
    }

    /// What a reader is told, where there are any.
    pub(super) fn words(&self, is_logged: bool) -> Vec<String> {
        let replies = |count| counted_as(count, "reply", "replies");
        let most = |worst: &Worst| rounded(worst.most);
        if self.is_of_all(is_logged) {
            let early = (self.early.replies > 0).then(|| {
                format!(
                    "{} left before the request came (t3 before t2), by up to {}",
                    self.early.replies,
                    most(&self.early)
                )
            });
            let long = (self.long.replies > 0).then(|| {
                format!(
                    "{} lay there for longer than the probe was away, by up to {}",
                    self.long.replies,
                    most(&self.long)
                )
            });
            let those: Vec<String> = early.into_iter().chain(long).collect();
            return vec![format!(
                "the far end's stamps contradict themselves: by them, of {}, {}; they are wrong, or of two clocks, so that \
                 no delay of one way is taken from them, and round trips are t4-t1, with the time that the far end took",
                replies(self.compared),
                those.join(", and ")
            )];
        }
        let early = self.early.first.map(|first| {
            format!(
                "{} left the far end before the request came, by the stamps there (t3 before t2): packet {first} is the first, and \
                 the most is {}; a clock there was set, or the two stamps are of different clocks. Nothing is taken out: the \
                 delays of each way are as their stamps say, and the round trips, (t4-t1)-(t3-t2), are longer by that than the \
                 probes were away",
                replies(self.early.replies),
                most(&self.early)
            )
        });
        early.into_iter().collect()
    }
}

#[cfg(test)]
mod tests {
    use romer_record::manifest::ClockRelation;
    use romer_timebase::{FarLog, relate};
    use romer_units::{Duration, Timestamp};

    use super::*;

    const MS: i64 = 1_000_000;

    fn row(sequence: u64, [t1, t2, t3, t4]: [i64; 4]) -> RoundTrip {
        fn at<C: Clock>(nanos: i64) -> Stamps<C> {
            Stamps { kernel: Some(Timestamp::from_nanos(nanos)), ..Stamps::default() }
        }
        let [t1, t4] = [t1, t4].map(at);
        let [t2, t3] = [t2, t3].map(at);
        RoundTrip { sequence, t1, t2, t3, t4, returned: true, ..RoundTrip::default() }
    }

    /// Twenty round trips of 3 ms, of which 1 ms at a reflector that is a second ahead; its last stamp is off by so much in
    /// one of so many.
    fn rows(off: i64, every: u64) -> Vec<RoundTrip> {
        let rows = (0..20).map(|sequence| {
            let t1 = i64::try_from(sequence).unwrap() * 20 * MS;
            let off = if sequence % every == 0 { off } else { 0 };
            row(sequence, [t1, t1 + 1_001 * MS, t1 + 1_002 * MS + off, t1 + 3 * MS])
        });
        rows.collect()
    }

    fn looked(rows: &[RoundTrip]) -> (Crossed, Related) {
        let place = Some(Place::Kernel);
        let selection = Selection { t1: place, t2: place, t3: place, t4: place };
        let mut crossed = Crossed::default();
        crossed.take(rows, &selection);
        let waiting = Duration::from_secs(2);
        (crossed, relate(rows, &selection, ClockRelation::Unknown, waiting, FarLog::None))
    }

    #[test]
    fn no_delay_of_one_way_comes_from_a_stamp_that_cannot_be_and_round_trips_stand() {
        for off in [5_000 * MS, -5_000 * MS] {
            let (crossed, mut related) = looked(&rows(off, 1));
            crossed.withdraw(false, &mut related);
            assert!(related.forward.iter().chain(&related.reverse).all(|one| one.delay.is_none()), "{off}");
            assert!(related.far_stamps_wrong);
            let whole = Some(Duration::from_millis(3));
            assert!(related.round_trip.iter().all(|one| one.delay == whole), "{off}");
            let words = crossed.words(false);
            assert!(
                words.len() == 1 && words[0].contains("contradict themselves: by them, of 20 replies, 20 l"),
                "{words:?}"
            );
        }
    }

    #[test]
    fn a_clock_that_was_set_once_and_one_that_keeps_a_log_take_nothing_out() {
        let (crossed, mut related) = looked(&rows(-5_000 * MS, 20));
        let before = related.clone();
        crossed.withdraw(false, &mut related);
        assert_eq!(related, before);
        let words = crossed.words(false);
        assert!(words[0].starts_with("1 reply left the far end before the request came"), "{words:?}");
        let (crossed, mut related) = looked(&rows(-5_000 * MS, 1));
        let before = related.clone();
        crossed.withdraw(true, &mut related);
        assert_eq!(related, before);
        let (crossed, _) = looked(&rows(0, 1));
        assert!(crossed.words(false).is_empty() && !crossed.is_of_all(false));
    }
}

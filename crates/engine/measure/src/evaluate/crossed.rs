//! Replies that left before their requests came, by the stamps of the far end: no path shows that, but a clock does that was set.

use romer_record::document::Way;
use romer_record::{RoundTrip, Stamps};
use romer_timebase::Selection;
use romer_units::{Clock, Duration, Place, counted_as};

/// How many there are, and the worst of them.
#[derive(Debug, Default)]
pub(super) struct Crossed {
    replies: u64,
    first: Option<u64>,
    most: i64,
}

impl Crossed {
    /// Looks at the next rows, by the stamps that are chosen.
    pub(super) fn take(&mut self, rows: &[RoundTrip], selection: &Selection) {
        fn nanos<C: Clock>(stamps: &Stamps<C>, place: Option<Place>) -> Option<i64> {
            stamps.at(place).map(|stamp| stamp.as_nanos())
        }
        for row in rows.iter().filter(|row| row.way == Way::RoundTrip && row.copy == 0) {
            let both = nanos(&row.t2, selection.t2).zip(nanos(&row.t3, selection.t3));
            let Some(early) = both.map(|(came, left)| came.saturating_sub(left)).filter(|early| *early > 0)
            else {
                continue;
            };
            self.replies += 1;
            self.first.get_or_insert(row.sequence);
            self.most = self.most.max(early);
        }
    }

    /// What a reader is told, where there are any.
    pub(super) fn words(&self) -> Option<String> {
        let first = self.first?;
        Some(format!(
            "{} left the far end before the request came, by the stamps there (t3 before t2): packet {first} is the first, and the \
             most is {}; a clock there was set, or the two stamps are of different clocks. Nothing is taken out: the delays of each \
             way are as their stamps say, and the round trips, (t4-t1)-(t3-t2), are longer by that than the probes were away",
            counted_as(self.replies, "reply", "replies"),
            Duration::from_nanos(self.most)
        ))
    }
}

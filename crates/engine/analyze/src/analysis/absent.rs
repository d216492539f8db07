//! Numbers that stand for a stamp that is missing: 0 or -1, which many programs write where they have no time.
//!
//! Stamps count from any origin, so that 0 may be a time: of a log that counts from its first packet it is one. It is none where all
//! other stamps of that clock lie far from it, measured by how long they last.

use romer_exchange::csv::{Row, Shape};
use romer_record::warning::MeasurementWarning;

use super::packets::{Gathering, StampColumn};

/// So many times the span of the other stamps they lie away from a 0 that is no time. A log that counts from its first packet, and
/// pauses for so long after it, is not to be expected.
const FAR: i128 = 10;
/// Other stamps that tell where a clock's times lie by themselves, at least.
const MIN_OTHER_STAMPS: u64 = 4;
/// Stamps of a clock that has no other, at least: a log of one packet may count from it.
const FEWEST_ALONE: u64 = 2;

/// Whether a stamp may stand for none.
const fn is_placeholder(stamp: i64) -> bool {
    matches!(stamp, 0 | -1)
}

/// The columns of a clock's stamps.
#[derive(Default)]
struct ClockStamps {
    placeholders: u64,
    others: u64,
    /// The least and the greatest of the others.
    span: Option<[i64; 2]>,
}

impl ClockStamps {
    fn take(&mut self, stamp: i64) {
        if is_placeholder(stamp) {
            self.placeholders += 1;
            return;
        }
        self.others += 1;
        let [low, high] = self.span.unwrap_or([stamp; 2]);
        self.span = Some([low.min(stamp), high.max(stamp)]);
    }

    /// Whether its placeholders are no times. The stamps of the clock at the other end say how long the log lasts, where these are few.
    fn are_absent(&self, far_end: &Self) -> bool {
        let Some([low, high]) = self.span.map(|span| span.map(i128::from)) else {
            return self.placeholders >= FEWEST_ALONE;
        };
        let away = if low > 0 { low } else { (-high).max(0) };
        let lasts = if self.others >= MIN_OTHER_STAMPS { Some(0) } else { far_end.lasts() };
        lasts.is_some_and(|lasts| away > FAR * (high - low).max(lasts))
    }

    /// How long the stamps of this clock last, with those that may stand for none.
    fn lasts(&self) -> Option<i128> {
        let [low, high] = self.span.map(|span| span.map(i128::from))?;
        let zero = if self.placeholders > 0 { 0 } else { low };
        (self.placeholders + self.others >= 2).then(|| high.max(zero) - low.min(zero))
    }
}

/// Which clock a place's stamps are of: the sender's or the receiver's.
pub(super) const fn clock(shape: Shape, place: usize) -> usize {
    match shape {
        Shape::OneWay => place % 2,
        Shape::FourStamps => [0, 1, 1, 0][place % 4],
    }
}

/// Takes the stamps of a table, and finds those that are none.
pub(super) struct Placeholders {
    shape: Shape,
    clocks: [ClockStamps; 2],
    /// Of each column, how many placeholders it has, and the line of the first.
    found: [Option<(u64, u64)>; 8],
}

impl Placeholders {
    pub(super) fn new(shape: Shape) -> Self {
        Self { shape, clocks: Default::default(), found: [None; 8] }
    }

    /// Takes the stamps of a line, with its number.
    pub(super) fn take(&mut self, row: &Row, line: u64) {
        for (column, stamp) in row.stamps.into_iter().chain(row.user).enumerate() {
            let Some(stamp) = stamp else { continue };
            let clock = clock(self.shape, column % 4);
            self.clocks[clock].take(stamp);
            if is_placeholder(stamp) {
                let (count, first) = self.found[column].unwrap_or((0, line));
                self.found[column] = Some((count + 1, first));
            }
        }
    }

    /// Takes those that are no times out of the lines, with a note for each column, and returns the lines that have no stamp
    /// of the responder left for it.
    pub(super) fn take_out(&self, lines: &mut Gathering) -> (Vec<MeasurementWarning>, Vec<usize>) {
        let mut notes = Vec::new();
        let with_placeholder = |row: &Row| row.responder_stamps().any(is_placeholder);
        let of_responder = [1, 2, 5, 6].into_iter().any(|column| self.found[column].is_some());
        let replaced: Vec<usize> = if self.shape == Shape::FourStamps && of_responder {
            (0..lines.len()).filter(|line| with_placeholder(&lines.row(*line))).collect()
        } else {
            Vec::new()
        };
        for (column, found) in self.found.iter().enumerate() {
            let place = column % 4;
            let own = clock(self.shape, place);
            let is_absent = self.clocks[own].are_absent(&self.clocks[1 - own]);
            let (Some((count, first)), true) = (found, is_absent) else { continue };
            let (of, prefix) =
                if column < 4 { (StampColumn::Best(place), "") } else { (StampColumn::User(place), "user_") };
            lines.change(of, |stamp| Some(stamp).filter(|stamp| !is_placeholder(*stamp)));
            // Of a packet that has the last of its stamps a missing one says nothing.
            let is_last = place + 1 == self.shape.stamps().len();
            let name = self.shape.stamps().get(place).copied().unwrap_or_default();
            notes.push(MeasurementWarning::PlaceholderTimeStamps {
                column: format!("{prefix}{name}"),
                stamps: *count,
                first_line: *first,
                lost: is_last,
            });
        }
        let emptied = replaced.into_iter().filter(|line| !lines.row(*line).has_responder_stamp()).collect();
        (notes, emptied)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Whether the placeholders of one clock with these stamps are missing stamps.
    fn absent(stamps: &[i64]) -> bool {
        absent_beside(stamps, &[])
    }

    /// The same where the clock at the other end has those.
    fn absent_beside(stamps: &[i64], far_end: &[i64]) -> bool {
        let [clock, far_end] = [stamps, far_end].map(|stamps| {
            let mut clock = ClockStamps::default();
            stamps.iter().for_each(|stamp| clock.take(*stamp));
            clock
        });
        clock.are_absent(&far_end)
    }

    #[test]
    fn zero_far_from_other_stamps_is_absent() {
        let run = |from: i64| (0..100).map(move |n| from + n * 20_000_000);
        for placeholder in [0, -1] {
            let with = |from: i64| run(from).chain([placeholder]).collect::<Vec<_>>();
            assert!(absent(&with(1_700_000_000_000_000_000)), "seconds since 1970");
            assert!(absent(&with(-1_700_000_000_000_000_000)));
            assert!(absent(&with(600_000_000_000)), "ten minutes after a host was started");
            assert!(!absent(&with(20_000_000)), "counted from the first packet");
            assert!(!absent(&with(-1_000_000_000)), "on both sides of the origin");
        }
        assert!(absent(&[0, 0, 0]) && absent(&[-1, 0]) && !absent(&[0]));
        assert!(!absent(&[0, 60_000_000_000, 60_020_000_000]), "too few to tell");
    }

    /// Where few times are left, the other end's clock says how long the log lasts: 0 is none beside times that lie longer ago.
    #[test]
    fn few_times_are_compared_with_the_far_end() {
        const NOW: i64 = 1_700_000_000_000_000_000;
        let sent = [NOW, NOW + 20_000_000, NOW + 40_000_000];
        assert!(absent_beside(&[NOW + 5_000_000, 0, NOW + 45_000_000], &sent));
        assert!(absent_beside(&[0, 0, NOW + 45_000_000], &sent));
        let counted = [0, 20_000_000, 40_000_000];
        assert!(
            absent_beside(&[NOW, 0, NOW + 40_000_000], &counted),
            "the sender counts from its first packet"
        );
        assert!(!absent_beside(&counted, &sent), "counted from the first packet");
        let pause = [0, 60_000_000_000, 60_020_000_000];
        assert!(!absent_beside(&pause, &pause), "both count from before a pause");
        assert!(!absent_beside(&pause, &pause.map(|at| NOW + at)));
        assert!(absent_beside(&pause, &sent), "the other clock knows of no pause");
        assert!(!absent_beside(&[0, NOW], &[NOW]), "one packet");
    }
}

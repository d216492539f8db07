//! The packets of a file, in a quarter of the room that its rows would take: those are made in parts, when they are wanted.

use std::borrow::Cow;

use romer_exchange::csv::{Row, Shape};
use romer_record::RoundTrip;
use romer_record::document::Way;

use super::table::{Far, rows};

/// Lines of a part; those of one packet stay together.
const PART: usize = 1 << 14;
/// A stamp that is not there.
const NONE: i64 = i64::MIN;

/// A line of a file, packed.
#[derive(Clone, Copy)]
struct Line {
    sequence: u64,
    size: u32,
    stamps: [i64; 4],
    user: [i64; 4],
}

impl Line {
    fn of(row: Row) -> Self {
        let packed = |stamps: [Option<i64>; 4]| stamps.map(|stamp| stamp.unwrap_or(NONE));
        Self { sequence: row.sequence, size: row.size, stamps: packed(row.stamps), user: packed(row.user) }
    }

    fn row(&self) -> Row {
        let unpacked = |stamps: [i64; 4]| stamps.map(|stamp| (stamp != NONE).then_some(stamp));
        Row {
            sequence: self.sequence,
            size: self.size,
            stamps: unpacked(self.stamps),
            user: unpacked(self.user),
        }
    }
}

/// The packets of a file, in order of sequence and copy.
pub(super) struct Packets {
    kind: Kind,
}

enum Kind {
    /// By lines.
    Lines { lines: Vec<Line>, way: Way, far_log: Far, unstamped: Unstamped },
    /// As they are.
    Rows(Vec<RoundTrip>),
}

/// Numbers of packets that did not come back, in ascending order, of which a file says more than the stamps do, or less.
#[derive(Default)]
pub(super) struct Unstamped {
    /// They arrived at the far end and were answered, though it is not known when.
    pub(super) answered: Vec<u64>,
    /// It is not known whether they arrived at the far end.
    pub(super) untold: Vec<u64>,
}

impl Unstamped {
    /// Says of the rows of a packet what is known of it.
    fn mark(&self, sequence: u64, rows: &mut [RoundTrip]) {
        if self.answered.binary_search(&sequence).is_ok() {
            rows.iter_mut().for_each(answered);
        }
        if self.untold.binary_search(&sequence).is_ok() {
            rows.iter_mut().for_each(|row| row.untold_by_responder = true);
        }
    }
}

/// The first copy of a packet.
#[derive(Clone, Copy)]
pub(super) struct First {
    pub(super) size: u32,
    pub(super) departure: Option<i64>,
    pub(super) arrival: Option<i64>,
}

impl First {
    pub(super) fn of(row: &RoundTrip) -> Self {
        let departure = row.t1.kernel.or(row.t1.user).map(romer_units::Timestamp::as_nanos);
        let arrival = row.t2.kernel.or(row.t2.user).or(row.t2.told).map(romer_units::Timestamp::as_nanos);
        Self { size: row.size, departure, arrival }
    }
}

/// Lines that are read one after another.
pub(super) struct Gathering {
    lines: Vec<Line>,
}

impl Gathering {
    pub(super) const fn new() -> Self {
        Self { lines: Vec::new() }
    }

    pub(super) fn add(&mut self, row: Row) {
        self.lines.push(Line::of(row));
    }

    /// As they were read.
    pub(super) fn rows(&self) -> impl Iterator<Item = Row> {
        self.lines.iter().map(Line::row)
    }

    pub(super) const fn len(&self) -> usize {
        self.lines.len()
    }

    /// One of them, from 0.
    pub(super) fn row(&self, line: usize) -> Row {
        self.lines[line].row()
    }

    /// In order.
    pub(super) fn finish(mut self, shape: Shape, far_log: Far, unstamped: Unstamped) -> Packets {
        self.lines.sort_by_key(|line| line.sequence);
        let way = if shape == Shape::OneWay { Way::Forward } else { Way::RoundTrip };
        Packets { kind: Kind::Lines { lines: self.lines, way, far_log, unstamped } }
    }
}

impl Packets {
    pub(super) const fn of_rows(rows: Vec<RoundTrip>) -> Self {
        Self { kind: Kind::Rows(rows) }
    }

    /// How many rows there are, about.
    pub(super) const fn len(&self) -> usize {
        match &self.kind {
            Kind::Lines { lines, .. } => lines.len(),
            Kind::Rows(rows) => rows.len(),
        }
    }

    /// The rows in parts; those of one packet come together.
    pub(super) fn parts(&self) -> impl Iterator<Item = Cow<'_, [RoundTrip]>> {
        let mut begin = 0;
        std::iter::from_fn(move || match &self.kind {
            Kind::Rows(rows) => {
                let whole = (begin == 0 && !rows.is_empty()).then_some(Cow::Borrowed(&rows[..]));
                begin = rows.len();
                whole
            }
            Kind::Lines { lines, way, far_log, unstamped } => {
                let last = lines.get((begin + PART).min(lines.len()).checked_sub(1)?)?.sequence;
                let rest = lines.get(begin..)?;
                let part = &rest[..rest.partition_point(|line| line.sequence <= last)];
                if part.is_empty() {
                    return None;
                }
                begin += part.len();
                Some(Cow::Owned(rows_of(part, *way, *far_log, unstamped)))
            }
        })
    }

    /// All rows.
    pub(super) fn rows(&self) -> Vec<RoundTrip> {
        self.parts().flat_map(Cow::into_owned).collect()
    }

    /// The first copies, in order of sequence.
    pub(super) fn firsts(&self) -> impl Iterator<Item = First> {
        self.parts()
            .flat_map(|part| part.iter().filter(|row| row.copy == 0).map(First::of).collect::<Vec<First>>())
    }

    /// Numbers between the first and the last that no packet has.
    pub(super) fn missing(&self) -> u64 {
        match &self.kind {
            Kind::Lines { lines, .. } => between(lines.iter().map(|line| line.sequence)),
            Kind::Rows(rows) => between(rows.iter().map(|row| row.sequence)),
        }
    }
}

/// How many numbers are missing between the first and the last of these, which ascend.
fn between(mut numbers: impl Iterator<Item = u64>) -> u64 {
    let mut last = numbers.next().unwrap_or_default();
    let mut missing = 0;
    for number in numbers {
        missing += (number - last).saturating_sub(1);
        last = number;
    }
    missing
}

fn rows_of(part: &[Line], way: Way, far_log: Far, unstamped: &Unstamped) -> Vec<RoundTrip> {
    let mut all = Vec::with_capacity(part.len());
    let mut lines = Vec::new();
    for packet in part.chunk_by(|a, b| a.sequence == b.sequence) {
        lines.clear();
        lines.extend(packet.iter().map(Line::row));
        let from = all.len();
        rows(&lines, way, far_log, &mut all);
        unstamped.mark(packet[0].sequence, &mut all[from..]);
    }
    all
}

/// A packet that arrived at a reflector, which answers each, though what it stamped be not known.
fn answered(row: &mut RoundTrip) {
    row.seen_by_responder = true;
    row.reply_number = u32::try_from(row.sequence).ok();
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_hold_every_row_in_order_and_divide_no_packet() {
        let mut gathering = Gathering::new();
        let number = u64::try_from(PART).unwrap() * 2 + 100;
        for sequence in (0..number).rev() {
            let moment = i64::try_from(sequence).unwrap();
            for copy in 0..=i64::from(sequence % 3 == 0) {
                let stamps = [Some(moment), (sequence % 5 > 0).then_some(moment + 7 + copy), None, None];
                gathering.add(Row { sequence, size: 9, stamps, user: [None; 4] });
            }
        }
        let packets = gathering.finish(Shape::OneWay, Far::Complete, Unstamped::default());
        let rows = packets.rows();
        assert!(rows.is_sorted_by_key(|row| (row.sequence, row.copy)));
        let copies =
            |sequence: u64| if sequence.is_multiple_of(3) && !sequence.is_multiple_of(5) { 2 } else { 1 };
        assert_eq!(rows.len(), (0..number).map(copies).sum::<usize>());
        let mut before = None;
        let mut parts = 0;
        for part in packets.parts() {
            assert_ne!(part.first().map(|row| row.sequence), before, "a packet in two parts");
            before = part.last().map(|row| row.sequence);
            parts += 1;
        }
        assert!(parts >= 3, "{parts}");
        assert_eq!((packets.missing(), packets.firsts().count()), (0, usize::try_from(number).unwrap()));
    }

    #[test]
    fn one_way_each_line_is_an_arrival_and_there_and_back_the_far_ends_stamps_tell() {
        let of = |shape, lines: &[[Option<i64>; 4]]| -> Vec<u32> {
            let mut gathering = Gathering::new();
            for stamps in lines {
                gathering.add(Row { sequence: 3, size: 9, stamps: *stamps, user: [None; 4] });
            }
            let rows = gathering.finish(shape, Far::Complete, Unstamped::default()).rows();
            rows.iter().map(|row| row.forward_copy).collect()
        };
        let one_way = [Some(1), Some(5), None, None];
        assert_eq!(of(Shape::OneWay, &[one_way, one_way, one_way]), [0, 1, 2]);
        // Twice back with what was there once; then one that came there at the same time and left later.
        let back = |left, came| [Some(1), Some(5), Some(left), Some(came)];
        assert_eq!(of(Shape::FourStamps, &[back(6, 9), back(6, 9), back(7, 9)]), [0, 0, 1]);
    }
}

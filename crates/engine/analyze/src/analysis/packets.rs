//! The packets of a file, in a quarter of the room that its rows would take: those are made in parts, when they are wanted.

use std::ops::Range;

use romer_exchange::csv::{Row, Shape};
use romer_record::RoundTrip;
use romer_record::document::ProbeDirection;

use super::rows::{LogPresence, rows};
use crate::evaluate::Rows;

/// Lines of a part; those of one packet stay together.
const PART: usize = 1 << 14;
/// A stamp that is not there.
const NONE: i64 = i64::MIN;

/// Lines of a file one after another, packed by columns: one without any value takes no room.
#[derive(Default)]
struct Block {
    sequences: Vec<u64>,
    sizes: Vec<u32>,
    stamps: [Vec<i64>; 4],
    user: [Vec<i64>; 4],
}

impl Block {
    fn push(&mut self, row: &Row) {
        let before = self.sequences.len();
        self.sequences.push(row.sequence);
        self.sizes.push(row.size);
        let columns = self.stamps.iter_mut().chain(&mut self.user);
        for (column, stamp) in columns.zip(row.stamps.iter().chain(&row.user)) {
            if stamp.is_some() && column.is_empty() {
                column.resize(before, NONE);
            }
            if stamp.is_some() || !column.is_empty() {
                column.push(stamp.unwrap_or(NONE));
            }
        }
    }

    fn row(&self, place: usize) -> Row {
        let unpacked = |column: &Vec<i64>| column.get(place).copied().filter(|stamp| *stamp != NONE);
        Row {
            sequence: self.sequences[place],
            size: self.sizes[place],
            stamps: self.stamps.each_ref().map(unpacked),
            user: self.user.each_ref().map(unpacked),
        }
    }
}

/// A column of stamps.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum StampColumn {
    /// The best stamps of this place.
    Best(usize),
    /// The program's own.
    User(usize),
}

/// Lines of a file, in blocks of [`PART`].
#[derive(Default)]
struct LineBlocks {
    blocks: Vec<Block>,
    number: usize,
    /// They do not stand in order of sequence.
    mixed: bool,
    last: u64,
}

impl LineBlocks {
    fn push(&mut self, row: &Row) {
        if self.number.is_multiple_of(PART) {
            self.blocks.push(Block::default());
        }
        if let Some(block) = self.blocks.last_mut() {
            block.push(row);
        }
        self.mixed |= row.sequence < self.last;
        self.last = row.sequence;
        self.number += 1;
    }

    fn row(&self, line: usize) -> Row {
        self.blocks[line / PART].row(line % PART)
    }

    /// The first copy of a packet that has but this line: what [`First::from_row`] makes of its row, without the row.
    fn first(&self, line: usize) -> First {
        let row = self.row(line);
        let stamp = |place: usize| row.stamps[place].or(row.user[place]);
        First { sequence: row.sequence, size: row.size, departure: stamp(0), arrival: stamp(1) }
    }

    fn sequence(&self, line: usize) -> u64 {
        self.blocks[line / PART].sequences[line % PART]
    }

    /// Gives each line another number.
    fn renumber(&mut self, numbers: &[u64]) {
        self.mixed = !numbers.is_sorted();
        self.last = numbers.last().copied().unwrap_or(0);
        let places = self.blocks.iter_mut().flat_map(|block| &mut block.sequences);
        places.zip(numbers).for_each(|(place, number)| *place = *number);
    }

    /// The stamps of a column.
    fn column(&self, column: StampColumn) -> impl Iterator<Item = i64> {
        let stamps = self.blocks.iter().flat_map(move |block| match column {
            StampColumn::Best(place) => &block.stamps[place],
            StampColumn::User(place) => &block.user[place],
        });
        stamps.copied().filter(|stamp| *stamp != NONE)
    }

    /// Changes the stamps of a column; `None` takes one out.
    fn change(&mut self, column: StampColumn, mut changed: impl FnMut(i64) -> Option<i64>) {
        for block in &mut self.blocks {
            let stamps = match column {
                StampColumn::Best(place) => &mut block.stamps[place],
                StampColumn::User(place) => &mut block.user[place],
            };
            let known = stamps.iter_mut().filter(|stamp| **stamp != NONE);
            known.for_each(|stamp| *stamp = changed(*stamp).unwrap_or(NONE));
            if stamps.iter().all(|stamp| *stamp == NONE) {
                stamps.clear();
            }
        }
    }

    /// In order of sequence; those of one packet as they were read.
    fn sorted(self) -> Self {
        if !self.mixed {
            return self;
        }
        let mut order: Vec<usize> = (0..self.number).collect();
        order.sort_by_key(|line| self.sequence(*line));
        let mut sorted = Self::default();
        order.into_iter().for_each(|line| sorted.push(&self.row(line)));
        sorted
    }

    /// The end of the part that begins with the line `begin`: those of one packet stay together.
    fn end_of_part(&self, begin: usize) -> usize {
        let mut end = (begin + PART).min(self.number);
        while end > begin && end < self.number && self.sequence(end) == self.sequence(end - 1) {
            end += 1;
        }
        end
    }

    /// The first line after `begin` that is of another packet.
    fn end_of_packet(&self, begin: usize) -> usize {
        let sequence = self.sequence(begin);
        (begin + 1..self.number).find(|line| self.sequence(*line) != sequence).unwrap_or(self.number)
    }

    /// Forgets what lies before a line: whole blocks.
    fn forget_before(&mut self, line: usize) {
        let forgotten = (line / PART).min(self.blocks.len());
        let known = self.blocks[..forgotten].iter_mut().rev().take_while(|block| !block.sequences.is_empty());
        known.for_each(|block| *block = Block::default());
    }
}

/// The packets of a file, in order of sequence and copy.
pub(super) struct Packets {
    kind: Kind,
}

enum Kind {
    /// By lines.
    Lines { lines: LineBlocks, reading: RowOptions },
    /// As they are.
    Rows(Vec<RoundTrip>),
}

/// How rows are made of lines.
struct RowOptions {
    way: ProbeDirection,
    responder_log: LogPresence,
    unstamped: Unstamped,
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
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct First {
    pub(super) sequence: u64,
    pub(super) size: u32,
    pub(super) departure: Option<i64>,
    pub(super) arrival: Option<i64>,
}

impl First {
    pub(super) fn from_row(row: &RoundTrip) -> Self {
        let departure = row.t1.kernel.or(row.t1.user).map(romer_units::Timestamp::as_nanos);
        let arrival = row.t2.kernel.or(row.t2.user).or(row.t2.told).map(romer_units::Timestamp::as_nanos);
        Self { sequence: row.sequence, size: row.size, departure, arrival }
    }
}

/// Lines that are read one after another.
#[derive(Default)]
pub(super) struct Gathering {
    lines: LineBlocks,
}

impl Gathering {
    pub(super) fn new() -> Self {
        Self::default()
    }

    pub(super) fn add(&mut self, row: Row) {
        self.lines.push(&row);
    }

    /// As they were read.
    pub(super) fn rows(&self) -> impl Iterator<Item = Row> {
        (0..self.len()).map(|line| self.row(line))
    }

    pub(super) const fn len(&self) -> usize {
        self.lines.number
    }

    /// One of them, from 0.
    pub(super) fn row(&self, line: usize) -> Row {
        self.lines.row(line)
    }

    /// Gives each line another number.
    pub(super) fn renumber(&mut self, numbers: &[u64]) {
        self.lines.renumber(numbers);
    }

    /// The stamps of a column.
    pub(super) fn column(&self, column: StampColumn) -> impl Iterator<Item = i64> {
        self.lines.column(column)
    }

    /// Changes the stamps of a column; `None` takes one out.
    pub(super) fn change(&mut self, column: StampColumn, changed: impl FnMut(i64) -> Option<i64>) {
        self.lines.change(column, changed);
    }

    /// Whether any has the program's own stamp of a place.
    pub(super) fn has_user(&self, place: usize) -> bool {
        self.lines.blocks.iter().any(|block| !block.user[place].is_empty())
    }

    /// Whether they stand in order of sequence.
    pub(super) const fn in_order(&self) -> bool {
        !self.lines.mixed
    }

    /// In order.
    pub(super) fn finish(self, shape: Shape, responder_log: LogPresence, unstamped: Unstamped) -> Packets {
        let way = if shape == Shape::OneWay { ProbeDirection::Forward } else { ProbeDirection::RoundTrip };
        let reading = RowOptions { way, responder_log, unstamped };
        Packets { kind: Kind::Lines { lines: self.lines.sorted(), reading } }
    }
}

impl Packets {
    pub(super) const fn of_rows(rows: Vec<RoundTrip>) -> Self {
        Self { kind: Kind::Rows(rows) }
    }

    /// How many rows there are, about.
    pub(super) const fn len(&self) -> usize {
        match &self.kind {
            Kind::Lines { lines, .. } => lines.number,
            Kind::Rows(rows) => rows.len(),
        }
    }

    /// All rows.
    pub(super) fn rows(&self) -> Vec<RoundTrip> {
        let mut all = Vec::with_capacity(self.len());
        self.go_through(&mut |part| all.extend_from_slice(part));
        all
    }

    /// The first copies, in order of sequence.
    pub(super) fn firsts(&self) -> impl Iterator<Item = First> {
        let mut begin = 0;
        let mut scratch = (Vec::new(), Vec::new());
        std::iter::from_fn(move || match &self.kind {
            Kind::Rows(rows) => {
                let ahead = rows.get(begin..)?.iter().position(|row| row.copy == 0)?;
                begin += ahead + 1;
                rows.get(begin - 1).map(First::from_row)
            }
            Kind::Lines { lines, reading } => {
                (begin < lines.number).then_some(())?;
                let end = lines.end_of_packet(begin);
                if end == begin + 1 {
                    begin = end;
                    return Some(lines.first(end - 1));
                }
                let (of_packet, made) = &mut scratch;
                made.clear();
                reading.rows(lines, begin..end, of_packet, made);
                begin = end;
                made.first().map(First::from_row)
            }
        })
    }
}

/// Packets that have numbers.
pub(super) trait Numbered: Rows {
    /// Numbers between the first and the last that no packet has.
    fn missing(&self) -> u64;
}

impl Numbered for Packets {
    fn missing(&self) -> u64 {
        match &self.kind {
            Kind::Lines { lines, .. } => between((0..lines.number).map(|line| lines.sequence(line))),
            Kind::Rows(rows) => between(rows.iter().map(|row| row.sequence)),
        }
    }
}

impl Numbered for &Packets {
    fn missing(&self) -> u64 {
        (*self).missing()
    }
}

impl Rows for Packets {
    fn number(&self) -> usize {
        self.len()
    }

    fn go_through(&self, take: &mut dyn FnMut(&[RoundTrip])) {
        match &self.kind {
            Kind::Rows(rows) => take(rows),
            Kind::Lines { lines, reading } => {
                let mut parts = Parts::default();
                while let Some(part) = parts.next(lines, reading) {
                    take(part);
                }
            }
        }
    }

    /// Lines make room as soon as they are gone through.
    fn finally_go_through(self, take: &mut dyn FnMut(&[RoundTrip])) {
        match self.kind {
            Kind::Rows(rows) => take(&rows),
            Kind::Lines { mut lines, reading } => {
                let mut parts = Parts::default();
                while let Some(part) = parts.next(&lines, &reading) {
                    take(part);
                    lines.forget_before(parts.begin);
                }
            }
        }
    }
}

/// The rows of lines, part by part.
#[derive(Default)]
struct Parts {
    /// The first line of the next part.
    begin: usize,
    of_packet: Vec<Row>,
    part: Vec<RoundTrip>,
}

impl Parts {
    /// The next part; `None` after the last.
    fn next(&mut self, lines: &LineBlocks, reading: &RowOptions) -> Option<&[RoundTrip]> {
        (self.begin < lines.number).then_some(())?;
        let end = lines.end_of_part(self.begin);
        self.part.clear();
        reading.rows(lines, self.begin..end, &mut self.of_packet, &mut self.part);
        self.begin = end;
        Some(&self.part)
    }
}

impl RowOptions {
    /// Adds the rows of the lines of whole packets to `all`. `of_packet` is room to work in.
    fn rows(
        &self,
        lines: &LineBlocks,
        range: Range<usize>,
        of_packet: &mut Vec<Row>,
        all: &mut Vec<RoundTrip>,
    ) {
        let mut line = range.start;
        while line < range.end {
            let first = lines.row(line);
            of_packet.clear();
            of_packet.push(first);
            line += 1;
            while line < range.end && lines.sequence(line) == first.sequence {
                of_packet.push(lines.row(line));
                line += 1;
            }
            let from = all.len();
            rows(of_packet, self.way, self.responder_log, all);
            self.unstamped.mark(first.sequence, &mut all[from..]);
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
        let packets = gathering.finish(Shape::OneWay, LogPresence::Complete, Unstamped::default());
        let rows = packets.rows();
        assert!(rows.is_sorted_by_key(|row| (row.sequence, row.copy)));
        let copies =
            |sequence: u64| if sequence.is_multiple_of(3) && !sequence.is_multiple_of(5) { 2 } else { 1 };
        assert_eq!(rows.len(), (0..number).map(copies).sum::<usize>());
        let mut before = None;
        let mut parts = 0;
        packets.go_through(&mut |part| {
            assert_ne!(part.first().map(|row| row.sequence), before, "a packet in two parts");
            before = part.last().map(|row| row.sequence);
            parts += 1;
        });
        assert!(parts >= 3, "{parts}");
        assert_eq!((packets.missing(), packets.firsts().count()), (0, usize::try_from(number).unwrap()));
        let mut finally = Vec::new();
        packets.finally_go_through(&mut |part| finally.extend_from_slice(part));
        assert_eq!(finally, rows);
    }

    /// Those of single lines are not made by way of rows.
    #[test]
    fn first_copies_are_those_of_the_rows_whatever_stamps_there_are() {
        let stamp = |bits: u64, place: u32| (bits >> place & 1 == 1).then_some(i64::from(place) * 10 + 3);
        for shape in [Shape::OneWay, Shape::FourStamps] {
            for responder_log in [LogPresence::None, LogPresence::Partial, LogPresence::Complete] {
                let mut gathering = Gathering::new();
                for sequence in 0..256 {
                    // Without a log there is no stamp of the far end's program.
                    let bits =
                        if responder_log == LogPresence::None { sequence & 0b1001_1111 } else { sequence };
                    let [stamps, user] =
                        [0, 4].map(|from| [0, 1, 2, 3].map(|place| stamp(bits, from + place)));
                    let row = Row { sequence, size: 9, stamps, user };
                    (0..=sequence % 3 / 2).for_each(|_| gathering.add(row));
                }
                let packets = gathering.finish(shape, responder_log, Unstamped::default());
                let rows = packets.rows();
                let of_rows = rows.iter().filter(|row| row.copy == 0).map(First::from_row);
                assert!(packets.firsts().eq(of_rows), "{:?}", packets.firsts().collect::<Vec<_>>());
            }
        }
    }

    #[test]
    fn one_way_each_line_is_an_arrival_and_there_and_back_the_far_ends_stamps_tell() {
        let of = |shape, lines: &[[Option<i64>; 4]]| -> Vec<u32> {
            let mut gathering = Gathering::new();
            for stamps in lines {
                gathering.add(Row { sequence: 3, size: 9, stamps: *stamps, user: [None; 4] });
            }
            let rows = gathering.finish(shape, LogPresence::Complete, Unstamped::default()).rows();
            rows.iter().map(|row| row.forward_copy).collect()
        };
        let one_way = [Some(1), Some(5), None, None];
        assert_eq!(of(Shape::OneWay, &[one_way, one_way, one_way]), [0, 1, 2]);
        // Twice back with what was there once; then one that came there at the same time and left later.
        let back = |left, came| [Some(1), Some(5), Some(left), Some(came)];
        assert_eq!(of(Shape::FourStamps, &[back(6, 9), back(6, 9), back(7, 9)]), [0, 0, 1]);
    }
}

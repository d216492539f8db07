//! Whose a change was that one direction shows, by a queue in the other that is never empty.
//!
//! What a clock does, both directions show, with opposite signs, and at moments that are known: the sender's clock is read there when packets leave
//! and when they come back, and what the responder's did is in the same packets both ways, which are a round trip apart. How long that was then,
//! the packets themselves say. So it is asked how often such a queue rises by as much, in as short a time, as it did then; and how often by what it
//! had risen without the clock. Where one is many times as frequent as the other, it is known whose the change was.

use super::arithmetic::{many, median};
use super::floors::Floor;
use super::survey::Survey;
use super::transition::Transition;
use romer_units::Direction;

/// Cells on either side of a change, whose median tells how high the queue stood.
const BESIDE: usize = 3;
/// Rises that differ by no more than this part of the change are alike.
const ALIKE: f64 = 0.125;
/// So many times as frequent must be what is believed; and what was never seen counts as so many times.
const SURE: f64 = 50.0;
const UNSEEN: f64 = 0.5;

/// What the queue shows of a change of the other direction.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Moved {
    /// Nothing: it was the path's.
    Not,
    /// It moved by as much, as a clock has it move: when that was forward and in reverse.
    With([f64; 2]),
}

/// A direction with a floor beside one without.
pub(crate) struct Witness<'a> {
    calm: &'a Survey,
    heading: Direction,
    full: &'a Survey,
    /// How high the queue stood, in order of time.
    cells: Vec<(f64, f64)>,
    /// From when to when something happens.
    busy: &'a [Transition],
    /// By how much the round trip is longer than the sum of a delay of either direction, nanoseconds; and by how many seconds what is told of
    /// packets in reverse is earlier than they came.
    bases: f64,
    lag: f64,
}

/// The cells before a change and those after it, by the last of the ones and the first of the others.
type Place = [usize; 2];

impl<'a> Witness<'a> {
    pub(crate) fn new(
        (calm, heading): (&'a Survey, Direction),
        full: &'a Survey,
        busy: &'a [Transition],
        (bases, lag): (f64, f64),
    ) -> Self {
        let cells = full.fine.iter().map(|cell| (cell.x, cell.above(-calm.slope))).collect();
        Self { calm, heading, full, cells, busy, bases, lag }
    }

    /// Whether the queue moved by the opposite of a change of the direction with a floor; `None` where it moves so much by itself that it
    /// does not tell.
    pub(crate) fn moved(&self, change: &Transition) -> Option<Moved> {
        let places = [self.of_sender(change)?, self.of_responder(change)?];
        let told = places.map(|place| self.odds(change, place));
        let whole = [places[0][0].min(places[1][0]), places[0][1].max(places[1][1])];
        let (first, odds) = if told[0] >= told[1] { (0, told[0]) } else { (1, told[1]) };
        if odds > SURE {
            let own = change.from;
            let at = if first == 0 { own + self.later() } else { self.cells[places[first][1]].0 };
            return Some(Moved::With(match self.heading {
                Direction::Forward => [own, at],
                Direction::Reverse => [at, own],
            }));
        }
        // In the time that a slew takes a queue may fill or empty by as much as at no other moment of the run.
        if change.to > change.from {
            return None;
        }
        // Nor in all the time between: how long a round trip was then is known as well as its neighbours say.
        (odds < SURE.recip() && self.odds(change, whole) < SURE.recip()).then_some(Moved::Not)
    }

    /// By how much later a moment of the sender's clock is in the queue's direction, as it is told.
    fn later(&self) -> f64 {
        if self.heading == Direction::Reverse { self.lag } else { -self.lag }
    }

    /// Where the queue shows what the sender's clock did: at the same moment.
    fn of_sender(&self, change: &Transition) -> Option<Place> {
        let later = self.later();
        let [before, after] = self.beside(change)?;
        let begin = self.cells.partition_point(|cell| cell.0 <= before.x + later).checked_sub(1)?;
        let end = self.cells.partition_point(|cell| cell.0 < after.x + later);
        Some([begin, end.max(begin + 1)])
    }

    /// Where it shows what the responder's did: in the same packets.
    fn of_responder(&self, change: &Transition) -> Option<Place> {
        let [before, after] = self.beside(change)?;
        // When each packet of the queue was in the other direction, with the clocks before the change and after it.
        let there = |cell: &Floor, beside: &Floor| {
            let round_trip = (self.bases + cell.y + beside.y) / 1e9 - self.lag;
            cell.x - self.heading.sign() * round_trip
        };
        let both = |cell: &Floor| (there(cell, before), there(cell, after));
        let is_earlier = |cell: &Floor| {
            let (a, b) = both(cell);
            a.max(b) <= before.x
        };
        let is_later = |cell: &Floor| {
            let (a, b) = both(cell);
            a.min(b) >= after.x
        };
        let begin = self.full.fine.iter().rposition(is_earlier)?;
        let end = begin + 1 + self.full.fine.get(begin + 1..)?.iter().position(is_later)?;
        Some([begin, end])
    }

    /// The last cell of the direction with a floor before a change, and the first one after it.
    fn beside(&self, change: &Transition) -> Option<[&Floor; 2]> {
        let cells = &self.calm.fine;
        let begin = cells.partition_point(|cell| cell.x < change.from).checked_sub(1)?;
        let end = cells.partition_point(|cell| cell.x < change.to).max(begin + 1);
        Some([&cells[begin], cells.get(end)?])
    }

    /// How many times as often the queue moves as it did without the clock, if the change was a clock's, as by all that it did.
    fn odds(&self, change: &Transition, place: Place) -> f64 {
        let Some(rise) = self.rise(place) else { return 1.0 };
        let lasts = place[1] - place[0];
        let (from, to) = (self.cells[place[0]].0, self.cells[place[1]].0);
        let far = to - from;
        let is_free = |begin: f64, end: f64| {
            self.busy.iter().all(|one| one.from > end + far || one.to < begin - far)
                && (begin > to + far || end < from - far)
        };
        let others = (0..self.cells.len().saturating_sub(lasts)).filter_map(|begin| {
            let rise = self.rise([begin, begin + lasts])?;
            is_free(self.cells[begin].0, self.cells[begin + lasts].0).then_some(rise)
        });
        let near = ALIKE * change.size.abs();
        let (mut with, mut without) = (0_usize, 0_usize);
        for other in others {
            with += usize::from((other - rise - change.size).abs() <= near);
            without += usize::from((other - rise).abs() <= near);
        }
        (many(with) + UNSEEN) / (many(without) + UNSEEN)
    }

    /// By how much the queue stands higher after some cells than before them.
    fn rise(&self, [begin, end]: Place) -> Option<f64> {
        let level = |cells: &[(f64, f64)]| median(&mut cells.iter().map(|one| one.1).collect::<Vec<_>>());
        let before = self.cells.get((begin + 1).checked_sub(BESIDE)?..=begin)?;
        let after = self.cells.get(end..end + BESIDE)?;
        Some(level(after) - level(before))
    }
}

//! How a network card's clock stands to the clock of its host.
//!
//! Both clocks run on their own: the card's may be disciplined or free, the host's is steered by whoever keeps it. So the
//! two are read side by side every now and then, and a stamp of the card is carried over between the reading before it
//! and the one after it. What that may be off by is known: half of how long the wider reading took, and what the rate
//! of one clock by the other may have changed between the two readings, which the readings before and after show.

use std::collections::VecDeque;

/// The two clocks read side by side: the card's between two readings of the host's. Nanoseconds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CardReading {
    /// The card's clock.
    pub card_ns: i64,
    /// The host's clock before.
    pub before_ns: i64,
    /// The host's clock after; of a reading of both at once the same.
    pub after_ns: i64,
}

impl CardReading {
    /// How long the host's two readings lie apart.
    pub const fn width(&self) -> i64 {
        self.after_ns.saturating_sub(self.before_ns)
    }

    /// The best guess of the host's time when the card's clock was read.
    fn middle(&self) -> i128 {
        (i128::from(self.before_ns) + i128::from(self.after_ns)).div_euclid(2)
    }

    /// By how much that may be off.
    fn half(&self) -> i128 {
        (i128::from(self.width()) + 1).div_euclid(2)
    }
}

/// Where a stamp of the card stands on the host's clock.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Placed {
    /// There.
    At {
        /// The host's time, nanoseconds.
        system_ns: i64,
        /// By how much it may be off, nanoseconds.
        error_ns: u32,
    },
    /// It is later than the latest reading: ask again after the next.
    NotYet,
    /// It cannot be known: it is older than what is kept, or one of the clocks was set.
    Never,
}

/// Readings that are kept: at ten a second, those of the last 25 seconds.
const KEPT: usize = 256;
/// What the rate may change by between two readings without being seen in their neighbours, in billionths: far more
/// than an oscillator wanders within a second.
const WANDER: i128 = 1_000;
/// Farther from one second a second than this, in billionths, one of the clocks was set: the kernel slews its own by half
/// of this at the most.
const SET: i128 = 1_000_000;
const BILLION: i128 = 1_000_000_000;

/// The readings of one card's clock, in their order.
#[derive(Clone, Debug, Default)]
pub struct Relation {
    readings: VecDeque<CardReading>,
}

impl Relation {
    /// Adds a reading, the latest. One whose card time is not later than the last one's says that the card's clock was
    /// set: what was read before is of no use for it.
    pub fn add(&mut self, reading: CardReading) {
        if reading.width() < 0 {
            return;
        }
        if self.readings.back().is_some_and(|last| last.card_ns >= reading.card_ns) {
            self.readings.clear();
        }
        if self.readings.len() >= KEPT {
            self.readings.pop_front();
        }
        self.readings.push_back(reading);
    }

    /// Carries a time of the card's clock over to the host's.
    pub fn place(&self, card_ns: i64) -> Placed {
        let after = self.readings.partition_point(|reading| reading.card_ns < card_ns);
        let Some(late) = self.readings.get(after) else { return Placed::NotYet };
        let Some(early) = after.checked_sub(1).and_then(|before| self.readings.get(before)) else {
            return if late.card_ns == card_ns { at(late.middle(), late.half()) } else { Placed::Never };
        };
        let span = Span::between(early, late);
        if span.rate.abs() > SET {
            return Placed::Never;
        }
        let into = i128::from(card_ns) - i128::from(early.card_ns);
        let system = early.middle() + into + (into * (span.system - span.card)).div_euclid(span.card);
        let half = early.half().max(late.half());
        let bow = self.bow(after, &span, into);
        at(system, half + bow + 2)
    }

    /// How far the host's clock may lie from the straight line between readings `after - 1` and `after`, at `into` from
    /// the first of them, because the rate changed on the way.
    ///
    /// A line whose slope changes from `r` to `s` on the way, and is `m` over all, is nowhere farther from the chord than
    /// `into * |m - r|`, nor than `(length - into) * |s - m|`; `r` is the slope just before, `s` that just after. Their
    /// readings' widths may hide some of the change.
    fn bow(&self, after: usize, span: &Span, into: i128) -> i128 {
        let apart = |other: &Span| (other.rate - span.rate).abs() + other.noise + span.noise;
        // A neighbour much shorter than the span would say more of its readings' widths than of the clocks.
        let long = |other: &Span| 2 * other.card >= span.card;
        let over = |reach: i128, bend: i128| (reach * (bend + WANDER)).div_euclid(BILLION);
        let before = self.readings.get(after - 1).and_then(|early| {
            let mut spans = self.readings.range(..after - 1).rev().map(|one| Span::between(one, early));
            spans.find(long).map(|before| over(into, apart(&before)))
        });
        let behind = self.readings.get(after).and_then(|late| {
            let mut spans = self.readings.range(after + 1..).map(|one| Span::between(late, one));
            spans.find(long).map(|behind| over(span.card - into, apart(&behind)))
        });
        // Of two readings alone the clocks are taken for steady.
        before.into_iter().chain(behind).min().unwrap_or_else(|| over(into.min(span.card - into), span.noise))
    }
}

fn at(system_ns: i128, error_ns: i128) -> Placed {
    match i64::try_from(system_ns) {
        Ok(system_ns) => Placed::At { system_ns, error_ns: u32::try_from(error_ns).unwrap_or(u32::MAX) },
        Err(_) => Placed::Never,
    }
}

/// What two readings say together.
struct Span {
    /// Time between them by the card's clock; never 0.
    card: i128,
    /// By the host's.
    system: i128,
    /// How much faster the host's clock runs, in billionths.
    rate: i128,
    /// By how much the widths of the readings may falsify that.
    noise: i128,
}

impl Span {
    fn between(early: &CardReading, late: &CardReading) -> Self {
        let card = (i128::from(late.card_ns) - i128::from(early.card_ns)).max(1);
        let system = late.middle() - early.middle();
        let noise = ((early.half() + late.half()) * BILLION).div_euclid(card) + 1;
        Self { card, system, rate: ((system - card) * BILLION).div_euclid(card), noise }
    }
}

//! The copies of one probe: which record of the responder a reflection is of, and which arrivals are the same.
//!
//! A probe has one copy as a rule, or a few. Where it has many, as in a log that was made to cost time, records are found by their
//! stamps and not by a search, so that the work grows with the copies and not with their square.

use std::collections::{BTreeMap, BTreeSet};

use crate::card::CardMoment;
use crate::log::ResponderRecord;
use crate::singleton::RoundTrip;

/// A reflector's arrival stamp goes through the 32-bit fraction of an NTP timestamp (steps of 0.23 ns) or the
/// nanoseconds of a PTP one, so it may return this much off.
const ROUNDING_NS: u64 = 1;
/// So many records are searched; more are found by an index.
const LINEAR_SEARCH_MAX: usize = 16;
/// Stamps of a network card for one arrival that are used, at the most. There is one; copies that arrive within one tick have one each.
const MOST_OF_ARRIVAL: u32 = 8;

/// The responder's records of one probe, each of an arrival, of which reflections claim theirs.
pub(super) struct Records<'a> {
    far: &'a [ResponderRecord],
    claimed: Vec<bool>,
    /// Those before this one are claimed.
    unclaimed_from: usize,
    /// By the stamps of their arrivals; empty where there are [`LINEAR_SEARCH_MAX`].
    by_arrival: BTreeMap<i64, Arrived>,
}

/// Records of one arrival stamp, each with whether it is claimed and its index.
#[derive(Default)]
struct Arrived {
    by_departure: BTreeSet<(i64, bool, usize)>,
    in_turn: BTreeSet<(bool, usize)>,
}

/// How well a record fits: how far its departure lies off, then whether it is claimed, then its place.
type MatchRank = (u64, bool, usize);

impl<'a> Records<'a> {
    pub(super) fn new(far: &'a [ResponderRecord]) -> Self {
        let claimed = vec![false; far.len()];
        let mut records = Self { far, claimed, unclaimed_from: 0, by_arrival: BTreeMap::new() };
        if far.len() > LINEAR_SEARCH_MAX {
            (0..far.len()).for_each(|index| records.enter(index));
        }
        records
    }

    fn enter(&mut self, index: usize) {
        let (record, claimed) = (&self.far[index], self.claimed[index]);
        for arrival in arrivals(record) {
            let arrived = self.by_arrival.entry(arrival).or_default();
            arrived.in_turn.insert((claimed, index));
            if let Some(departure) = record.t3_user_ns {
                arrived.by_departure.insert((departure, claimed, index));
            }
        }
    }

    /// The index of the record of the arrival whose reflection `copy` is, which is claimed from now on. A copy made on the way back
    /// shares its record with the first; where the packet does not tell `t2`, records are taken in order.
    ///
    /// Two copies may have arrived within one tick of the clock. Then the nearest departure tells them apart, and where that does
    /// not, each reflection takes a record of its own.
    pub(super) fn claim(&mut self, copy: &RoundTrip) -> Option<usize> {
        let departure = copy.t3.told.map(romer_units::Timestamp::as_nanos);
        let index = match copy.t2.told.map(romer_units::Timestamp::as_nanos) {
            None => self.next_unclaimed().or(self.far.len().checked_sub(1)),
            Some(arrival) if self.by_arrival.is_empty() => self.searched(arrival, departure),
            Some(arrival) => self.indexed(arrival, departure),
        }?;
        if !self.claimed[index] {
            self.leave(index);
            self.claimed[index] = true;
            if !self.by_arrival.is_empty() {
                self.enter(index);
            }
        }
        Some(index)
    }

    fn leave(&mut self, index: usize) {
        let record = &self.far[index];
        for arrival in arrivals(record) {
            let Some(arrived) = self.by_arrival.get_mut(&arrival) else { continue };
            arrived.in_turn.remove(&(false, index));
            if let Some(departure) = record.t3_user_ns {
                arrived.by_departure.remove(&(departure, false, index));
            }
        }
    }

    fn next_unclaimed(&mut self) -> Option<usize> {
        while *self.claimed.get(self.unclaimed_from)? {
            self.unclaimed_from += 1;
        }
        Some(self.unclaimed_from)
    }

    fn searched(&self, arrival: i64, departure: Option<i64>) -> Option<usize> {
        let fit = |(index, record): (usize, &ResponderRecord)| -> MatchRank {
            let apart =
                record.t3_user_ns.zip(departure).map_or(u64::MAX, |(noted, told)| noted.abs_diff(told));
            (apart, self.claimed[index], index)
        };
        let fits =
            |record: &ResponderRecord| arrivals(record).any(|stamp| stamp.abs_diff(arrival) <= ROUNDING_NS);
        let fitting = self.far.iter().enumerate().filter(|(_, record)| fits(record));
        fitting.map(fit).min().map(|(.., index)| index)
    }

    fn indexed(&self, arrival: i64, departure: Option<i64>) -> Option<usize> {
        let off = ROUNDING_NS.cast_signed();
        let near = self.by_arrival.range(arrival.saturating_sub(off)..=arrival.saturating_add(off));
        near.filter_map(|(_, arrived)| arrived.best(departure)).min().map(|(.., index)| index)
    }

    /// The records that no reflection has claimed.
    pub(super) fn unclaimed(&self) -> impl Iterator<Item = usize> {
        (0..self.far.len()).filter(|index| !self.claimed[*index])
    }
}

/// The stamps of a record's arrival.
fn arrivals(record: &ResponderRecord) -> impl Iterator<Item = i64> + use<> {
    let kernel = record.t2_kernel_ns.filter(|kernel| *kernel != record.t2_user_ns);
    [Some(record.t2_user_ns), kernel].into_iter().flatten()
}

impl Arrived {
    fn best(&self, departure: Option<i64>) -> Option<MatchRank> {
        let nearest = departure.and_then(|told| {
            let fit = |(noted, claimed, index): &(i64, bool, usize)| (noted.abs_diff(told), *claimed, *index);
            let above = self.by_departure.range((told, false, 0)..).next();
            // Of equal departures the first is wanted, and not the last.
            let below = self
                .by_departure
                .range(..(told, false, 0))
                .next_back()
                .and_then(|(noted, ..)| self.by_departure.range((*noted, false, 0)..).next());
            [above, below].into_iter().flatten().map(fit).min()
        });
        nearest.or_else(|| self.in_turn.first().map(|(claimed, index)| (u64::MAX, *claimed, *index)))
    }
}

/// By what one arrival at the responder is told from another.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum ArrivalKey {
    /// The responder's record with this index.
    Recorded(usize),
    /// What the reflection tells, where there is no record: when it arrived, and the number of the reply to it. A copy made
    /// on the way back has both of the first; one made on the way there has a number of its own where they are counted.
    Told(Option<i64>, Option<u32>),
}

/// Distinct arrivals, numbered in the order in which they are seen. Arrivals of which nothing is known are taken for one.
#[derive(Default)]
pub(super) struct Arrivals(BTreeMap<ArrivalKey, u32>);

impl Arrivals {
    pub(super) fn number(&mut self, arrival: ArrivalKey) -> u32 {
        let next = u32::try_from(self.0.len()).unwrap_or(u32::MAX);
        *self.0.entry(arrival).or_insert(next)
    }
}

/// The rows of one probe by the stamps of their arrivals, at the responder and here.
pub(super) struct RowIndex {
    all: Vec<usize>,
    there: BTreeMap<i64, Vec<usize>>,
    here: BTreeMap<i64, Vec<usize>>,
    used: BTreeMap<(u8, i64), u32>,
}

impl RowIndex {
    pub(super) fn new(rows: &[RoundTrip]) -> Self {
        let mut index = Self {
            all: (0..rows.len()).collect(),
            there: BTreeMap::new(),
            here: BTreeMap::new(),
            used: BTreeMap::new(),
        };
        for (place, row) in rows.iter().enumerate() {
            if let Some(stamp) = row.t2.kernel.or(row.t2.user) {
                index.there.entry(stamp.as_nanos()).or_default().push(place);
            }
            if let Some(stamp) = row.t4.kernel.or(row.t4.user) {
                index.here.entry(stamp.as_nanos()).or_default().push(place);
            }
        }
        index
    }

    /// The places of the rows that a card's stamp is for: those of an arrival, or all, which share their departure. None, where
    /// [`MOST_OF_ARRIVAL`] have been used for these.
    pub(super) fn rows(&mut self, moment: CardMoment, arrival_ns: i64) -> &[usize] {
        let (rows, arrival_ns) = match moment {
            CardMoment::Left | CardMoment::TheirsLeft => (Some(&self.all), 0),
            CardMoment::ArrivedThere | CardMoment::LeftThere => (self.there.get(&arrival_ns), arrival_ns),
            CardMoment::Returned | CardMoment::TheirsCame => (self.here.get(&arrival_ns), arrival_ns),
        };
        let Some(rows) = rows else { return &[] };
        let used = self.used.entry((moment.octet(), arrival_ns)).or_default();
        *used += 1;
        if *used > MOST_OF_ARRIVAL { &[] } else { rows }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use romer_units::Timestamp;

    use super::*;

    fn record(t2: i64, kernel: Option<i64>, t3: Option<i64>) -> ResponderRecord {
        ResponderRecord {
            sequence: 0,
            t2_user_ns: t2,
            t2_kernel_ns: kernel,
            t3_user_ns: t3,
            t3_kernel_ns: None,
            ttl: None,
            tos: None,
        }
    }

    fn reflection(t2: Option<i64>, t3: Option<i64>) -> RoundTrip {
        let mut copy = RoundTrip::default();
        copy.t2.told = t2.map(Timestamp::from_nanos);
        copy.t3.told = t3.map(Timestamp::from_nanos);
        copy
    }

    proptest! {
        /// The index finds what a search finds.
        #[test]
        fn index_agrees_with_search(
            far in prop::collection::vec((0..6_i64, prop::option::of(0..6_i64), prop::option::of(0..9_i64)), 17..40),
            copies in prop::collection::vec((prop::option::weighted(0.9, 0..7_i64), prop::option::of(0..10_i64)), 1..60),
        ) {
            let far: Vec<ResponderRecord> = far.into_iter().map(|(t2, kernel, t3)| record(t2, kernel, t3)).collect();
            let mut indexed = Records::new(&far);
            prop_assert!(!indexed.by_arrival.is_empty());
            let mut searched = Records { by_arrival: BTreeMap::new(), ..Records::new(&far) };
            for (t2, t3) in copies {
                let copy = reflection(t2, t3);
                prop_assert_eq!(indexed.claim(&copy), searched.claim(&copy));
            }
            prop_assert!(indexed.unclaimed().eq(searched.unclaimed()));
        }
    }
}

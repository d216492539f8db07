//! Stamps of the responder that cannot be true.
//!
//! A reply leaves the responder after its request came, and both lie between the probe's departure and its return. So each round trip
//! bounds the offset of the clocks (responder minus sender) from both sides: t3 - t4 <= offset <= t2 - t1. Two rules follow:
//!
//! - Where a round trip's own bounds cross, or t3 lies before t2, one of the two stamps is false. This rule needs no threshold.
//! - A queue only raises a delay above its floor. A false pair of stamps raises one direction and lowers the other one by as much, and
//!   t4 - t1 does not change. So a delay below the floor of its neighbours, before and after, is false, unless the round trip was shorter
//!   too, without the time for which the responder paused. The threshold is a multiple of the spread of the neighbours' delays in this direction, and no more than
//!   the shortest round trip: a delay that is lower by that is below zero. The trend of the delays, which contains
//!   the rate between the clocks, is removed.
//!
//! Several replies in a row may be false. The packets after a run of up to 64 then have the floor of those before it.
//!
//! A clock that drifts, is slewed or is set keeps its stamps: from that moment on the packets after it agree with it. At an end of the
//! stream there are neighbours on one side only, and a change that lasts for four packets is taken for false stamps.

use std::collections::{HashSet, VecDeque};

use romer_record::document::ProbeDirection;
use romer_record::warning::FalseUnit;
use romer_record::{RoundTrip, Stamps};
use romer_units::{Clock, Timestamp, TimestampPoint};

use crate::neighbours::{BEFORE, EXCURSION, Judgement, NEAR, Neighbours, Seen, trends};
use crate::selection::Selection;
use romer_clock::{across, elapsed, length};

/// From one rejected reply in so many on, all of the responder's stamps are wrong in themselves ...
const SHARE: u64 = 10;
/// ... of so many rejected replies at the least.
pub(crate) const LEAST: u64 = 3;

/// The replies that one rule rejects.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Rejected {
    /// How many.
    pub replies: u64,
    /// The first packet.
    pub first: Option<u64>,
    /// By how much the rule was broken at the most, nanoseconds.
    pub most_ns: i64,
    /// How many of them are beside other false ones, so that the clock may have shown another time for a while.
    pub in_a_row: u64,
}

impl Rejected {
    fn count(&mut self, sequence: u64, by_ns: i64) {
        self.replies += 1;
        self.first.get_or_insert(sequence);
        self.most_ns = self.most_ns.max(by_ns);
    }
}

/// What was rejected of a stream.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RejectedStamps {
    /// Replies with both of the responder's stamps.
    pub compared: u64,
    /// Those that left before their request came: t3 before t2.
    pub early: Rejected,
    /// Those that were at the responder for longer than the probe was away: t3 - t2 above t4 - t1.
    pub long: Rejected,
    /// Those by which one direction was faster than its neighbours, though the round trip was not.
    pub apart: Rejected,
    /// Those that came back before the probe left: t4 before t1. The sender's stamps are false, and there is no round trip.
    pub back: Rejected,
    /// Replies without stamps of a responder that stamps others. None is rejected, and their round trip is t4 - t1 as well.
    pub absent: Rejected,
}

impl RejectedStamps {
    /// Of how many replies the responder's stamps were rejected.
    pub const fn replies(&self) -> u64 {
        self.early.replies + self.long.replies + self.apart.replies
    }

    /// Whether there are so many that the stamps are wrong in themselves, also those of the other replies.
    pub const fn are_most(&self) -> bool {
        are_many(self.replies() - self.apart.in_a_row, self.compared)
    }
}

/// Whether so many replies of so many are too many for single false stamps.
pub(crate) const fn are_many(replies: u64, compared: u64) -> bool {
    replies >= LEAST && replies.saturating_mul(SHARE) >= compared
}

/// The trend of the delays is estimated again after so many decisions.
const TREND_PERIOD: usize = 8;
/// So many rows wait at the most for neighbours: of a responder that fell silent there are none.
const MAX_PENDING_ROWS: u64 = 65_536;

/// What a round trip says of the responder's stamps.
enum Verdict {
    /// A stamp is missing.
    Nothing,
    /// Both of the responder's stamps are missing.
    Absent,
    /// The reply came back before the probe left.
    Back(i128),
    Early(i128),
    Long(i128),
    Possible([i64; 4], [i64; 2]),
}

/// Passes rows on without the stamps that are rejected. Of a rejected reply the row [says so](RoundTrip::far_stamps_rejected).
#[derive(Clone, Debug, Default)]
pub struct StampCheck {
    selection: Selection,
    /// How many rows were taken, and how many of these were passed on.
    taken: u64,
    passed: u64,
    /// The last round trips that were accepted, and how many of these came before the clock was set.
    accepted: VecDeque<Seen>,
    outdated: usize,
    /// The trend of both delays, and how many round trips were decided on.
    trends: [Option<f64>; 2],
    decided: usize,
    /// Those that are not decided on: the next ones decide.
    open: VecDeque<Seen>,
    /// The rows from the first of these on.
    held: Vec<RoundTrip>,
    /// The numbers of rows to be rejected that are not passed on yet.
    false_rows: HashSet<u64>,
    rejected: RejectedStamps,
}

impl StampCheck {
    /// Begins with no row. The stamps of the places of `selection` are compared.
    pub fn new(selection: Selection) -> Self {
        Self { selection, ..Self::default() }
    }

    /// Takes the next rows, in order of sequence and copy; all rows of a probe come together. They are passed on in the same order, those
    /// of a probe together; some wait for the next call, or for [`finish`](Self::finish).
    pub fn take(&mut self, rows: &[RoundTrip], pass: &mut dyn FnMut(&[RoundTrip])) {
        let first = self.taken;
        for probe in rows.chunk_by(are_of_one_probe) {
            let begin = self.taken;
            self.taken += probe.len() as u64;
            let false_copies = self.false_copies(probe);
            if !false_copies.is_empty() {
                let numbered = (begin..).zip(probe);
                let those = numbered.filter(|(_, row)| false_copies.contains(&row.forward_copy));
                self.false_rows.extend(those.map(|(number, _)| number));
            }
            let of_first = probe.iter().find(|row| row.returned && !false_copies.contains(&row.forward_copy));
            if let Some((row, Verdict::Possible(stamps, raw))) = of_first.map(|row| (row, self.verdict(row)))
            {
                let rows = (begin, probe.len() as u64);
                self.open.push_back(Seen { sequence: row.sequence, rows, stamps, raw });
            }
            let waits = |open: &VecDeque<Seen>| {
                open.front()
                    .is_some_and(|one| open.len() > NEAR + EXCURSION || begin - one.rows.0 > MAX_PENDING_ROWS)
            };
            while waits(&self.open) {
                self.decide();
            }
        }
        self.pass_on(first, rows, pass);
    }

    /// Passes on what waited, and gives what was rejected.
    pub fn finish(mut self, pass: &mut dyn FnMut(&[RoundTrip])) -> RejectedStamps {
        while !self.open.is_empty() {
            self.decide();
        }
        self.pass_on(self.taken, &[], pass);
        self.rejected
    }

    /// Passes on all rows before the first that is not decided on. `rows` are the last that were taken, from number `first` on.
    fn pass_on(&mut self, first: u64, rows: &[RoundTrip], pass: &mut dyn FnMut(&[RoundTrip])) {
        let until = self.open.front().map_or(self.taken, |one| one.rows.0);
        let held = place(until.min(first).saturating_sub(self.passed)).min(self.held.len());
        if held > 0 {
            let mut waited: Vec<RoundTrip> = self.held.drain(..held).collect();
            for (number, row) in (self.passed..).zip(&mut waited) {
                if self.false_rows.remove(&number) {
                    reject(row, &self.selection);
                }
            }
            pass(&waited);
        }
        let decided = place(until.saturating_sub(first)).min(rows.len());
        self.pass_directly(first, &rows[..decided], pass);
        self.held.extend_from_slice(&rows[decided..]);
        self.passed = until.max(self.passed);
    }

    /// Passes on rows that did not wait, of which the first has the number `first`. Those of a probe are passed together, and are copied
    /// only if one of them is false: a stream may be long.
    fn pass_directly(&mut self, first: u64, rows: &[RoundTrip], pass: &mut dyn FnMut(&[RoundTrip])) {
        let numbers = first..first + rows.len() as u64;
        let false_numbers = self.false_rows.extract_if(|number| numbers.contains(number));
        let mut false_rows: Vec<usize> = false_numbers.map(|number| place(number - first)).collect();
        false_rows.sort_unstable();
        let mut passed = 0;
        let mut copied = Vec::new();
        for of_probe in false_rows.chunk_by(|a, b| are_of_one_probe(&rows[*a], &rows[*b])) {
            let one = &rows[of_probe[0]];
            let before = rows[..of_probe[0]].iter().rposition(|row| !are_of_one_probe(row, one));
            let begin = before.map_or(0, |before| before + 1);
            let end = begin + rows[begin..].iter().take_while(|row| are_of_one_probe(row, one)).count();
            if passed < begin {
                pass(&rows[passed..begin]);
            }
            copied.clear();
            copied.extend_from_slice(&rows[begin..end]);
            of_probe.iter().for_each(|at| reject(&mut copied[at - begin], &self.selection));
            pass(&copied);
            passed = end;
        }
        if passed < rows.len() {
            pass(&rows[passed..]);
        }
    }

    /// Accepts or rejects the first round trip that is not decided on, by its neighbours.
    fn decide(&mut self) {
        if self.decided.is_multiple_of(TREND_PERIOD) {
            let accepted = &self.accepted.make_contiguous()[self.outdated..];
            self.trends = trends(accepted, self.open.make_contiguous());
        }
        self.decided += 1;
        let Some(one) = self.open.pop_front() else { return };
        let neighbours = Neighbours {
            one,
            accepted: self.accepted.make_contiguous(),
            outdated: self.outdated,
            after: self.open.make_contiguous(),
            trends: self.trends,
        };
        match neighbours.assess() {
            Judgement::False { by, run } => {
                self.reject(&one, by, !run.is_empty());
                let later: Vec<Seen> = run.iter().rev().filter_map(|at| self.open.remove(*at)).collect();
                later.iter().rev().for_each(|other| self.reject(other, by, true));
                return;
            }
            Judgement::Set => self.outdated = self.accepted.len(),
            Judgement::Possible => {}
        }
        if self.accepted.len() >= BEFORE {
            self.accepted.pop_front();
            self.outdated = self.outdated.saturating_sub(1);
        }
        self.accepted.push_back(one);
    }

    fn reject(&mut self, one: &Seen, by: i128, in_a_row: bool) {
        self.rejected.apart.count(one.sequence, nanos(by));
        self.rejected.apart.in_a_row += u64::from(in_a_row);
        self.false_rows.extend(one.rows.0..one.rows.0 + one.rows.1);
    }

    /// The arrivals at the responder whose stamps contradict themselves, by their numbers.
    fn false_copies(&mut self, probe: &[RoundTrip]) -> HashSet<u32> {
        let mut copies = HashSet::new();
        for row in probe.iter().filter(|row| row.returned && row.way == ProbeDirection::RoundTrip) {
            let verdict = self.verdict(row);
            let is_first = row.copy == 0;
            let is_compared = !matches!(verdict, Verdict::Nothing | Verdict::Absent | Verdict::Back(_));
            self.rejected.compared += u64::from(is_first && is_compared);
            match verdict {
                Verdict::Early(by) if is_first => self.rejected.early.count(row.sequence, nanos(by)),
                Verdict::Long(by) if is_first => self.rejected.long.count(row.sequence, nanos(by)),
                Verdict::Back(by) if is_first => self.rejected.back.count(row.sequence, nanos(by)),
                Verdict::Absent if is_first => self.rejected.absent.count(row.sequence, 0),
                Verdict::Early(_) | Verdict::Long(_) | Verdict::Back(_) | Verdict::Absent => {}
                Verdict::Nothing | Verdict::Possible(..) => continue,
            }
            copies.insert(row.forward_copy);
        }
        copies
    }

    fn verdict(&self, row: &RoundTrip) -> Verdict {
        if row.way != ProbeDirection::RoundTrip {
            return Verdict::Nothing;
        }
        let at = &self.selection;
        if let Some(by) = came_before_it_left(row, at) {
            return Verdict::Back(by);
        }
        if row.t2 == Stamps::default() && row.t3 == Stamps::default() {
            return Verdict::Absent;
        }
        let Some((t2, t3)) = row.t2.at(at.t2).zip(row.t3.at(at.t3)) else { return Verdict::Nothing };
        let lay = elapsed(t2, t3);
        if lay < 0 {
            return Verdict::Early(-lay);
        }
        let Some((t1, t4)) = row.t1.at(at.t1).zip(row.t4.at(at.t4)) else { return Verdict::Nothing };
        let over = lay - elapsed(t1, t4);
        if over > 0 {
            return Verdict::Long(over);
        }
        let raw = [across(t1.renamed(), t2.renamed()), across(t3.renamed(), t4.renamed())].map(length);
        let [Some(there), Some(back)] = raw else { return Verdict::Nothing };
        let stamps = [t1.as_nanos(), t2.as_nanos(), t3.as_nanos(), t4.as_nanos()];
        Verdict::Possible(stamps, [there.as_nanos(), back.as_nanos()])
    }
}

fn are_of_one_probe(a: &RoundTrip, b: &RoundTrip) -> bool {
    (a.way, a.sequence) == (b.way, b.sequence)
}

/// A number of rows as a place among them.
fn place(number: u64) -> usize {
    usize::try_from(number).unwrap_or(usize::MAX)
}

/// By how much a reply came back before its probe left, by the sender's clock.
fn came_before_it_left(row: &RoundTrip, at: &Selection) -> Option<i128> {
    let (t1, t4) = row.t1.at(at.t1).zip(row.t4.at(at.t4))?;
    Some(-elapsed(t1, t4)).filter(|by| *by > 0)
}

fn reject(row: &mut RoundTrip, at: &Selection) {
    if came_before_it_left(row, at).is_some() {
        row.t4 = Stamps::default();
    }
    (row.t2, row.t3) = (Stamps::default(), Stamps::default());
    row.far_stamps_rejected = true;
}

pub(crate) fn nanos(by: i128) -> i64 {
    i64::try_from(by).unwrap_or(i64::MAX)
}

/// The part of a second that stamps show, of all of a stream: whether the responder writes another unit into it, or the time of no clock.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Fractions {
    /// Replies with a stamp of the responder.
    replies: u64,
    /// The first and the last time of arrival there, and those of departure there.
    ends: [Option<(i64, i64)>; 2],
    /// The greatest part of a second of the responder, nanoseconds.
    most_ns: Option<i64>,
    /// The sixteenths of a second in which the sender has stamps, a bit each.
    sender: u16,
}

const SECOND_NS: i64 = 1_000_000_000;

impl Fractions {
    /// Takes the next rows.
    pub fn take(&mut self, rows: &[RoundTrip], selection: &Selection) {
        for row in rows.iter().filter(|row| row.returned && row.way == ProbeDirection::RoundTrip) {
            let there = [stamp(&row.t2, selection.t2), stamp(&row.t3, selection.t3)];
            self.replies += u64::from(there != [None, None]);
            for (ends, at) in self.ends.iter_mut().zip(there) {
                let Some(at) = at else { continue };
                let (first, last) = ends.unwrap_or((at, at));
                *ends = Some((first.min(at), last.max(at)));
            }
            let most = there.into_iter().flatten().map(|at| at.rem_euclid(SECOND_NS)).max();
            let Some((most, here)) = most.zip(stamp(&row.t1, selection.t1)) else { continue };
            self.most_ns = self.most_ns.max(Some(most));
            self.sender |= 1 << (here.rem_euclid(SECOND_NS) * 16 / SECOND_NS);
        }
    }

    /// The time that the responder's stamps show in every reply, nanoseconds since 1970: the least, where those of arrival and of
    /// departure differ. `None` where one of the two advances.
    pub fn constant(&self) -> Option<i64> {
        let ends = || self.ends.into_iter().flatten();
        let is_constant = self.replies >= LEAST && ends().all(|(first, last)| first == last);
        ends().map(|(first, _)| first).min().filter(|_| is_constant)
    }

    /// The unit that the responder writes, if its stamps show nothing but the beginning of seconds while the sender's lie all over them.
    /// Stamps of whole seconds show no unit.
    pub fn false_unit(&self) -> Option<FalseUnit> {
        let whole = |unit: i64| unit * SECOND_NS / (1 << 32);
        let most = self.most_ns.filter(|most| *most > 0 && self.sender.count_ones() > 8)?;
        match most {
            most if most <= whole(1_000_000) => Some(FalseUnit::Microseconds),
            most if most < 1_000_000 => Some(FalseUnit::MicrosecondsForNanoseconds),
            most if most <= whole(1_000_000_000) => Some(FalseUnit::Nanoseconds),
            _ => None,
        }
    }
}

fn stamp<C: Clock>(stamps: &Stamps<C>, place: Option<TimestampPoint>) -> Option<i64> {
    stamps.at(place).map(Timestamp::as_nanos)
}

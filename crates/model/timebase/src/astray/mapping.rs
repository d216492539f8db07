//! Losses of what went to a mapping of a NAT that was gone.

use romer_record::{Fate, Passage};
use romer_units::Timestamp;

use crate::due::due;

/// A new mapping of a NAT is told of within this time of the first packet that comes by it.
const TOLD_WITHIN_NS: i64 = 1_000_000_000;
/// The sender asks anew for its packets every three seconds; without a mapping for longer, it was not that.
const CLOSED_AT_MOST_NS: i64 = 4_000_000_000;

/// What was lost without a break before the first packet that came by a mapping that was made at some moment of each of these
/// times by the receiver's clock, or to the end where none came: the longest time in which all were, that it was in. Where
/// one mapping went soon after the other, each has one of its own.
pub(super) fn before_mappings(passages: &[Passage], mapped: &[[i64; 2]]) -> Vec<u64> {
    if mapped.is_empty() {
        return Vec::new();
    }
    let firsts: Vec<(&Passage, Option<i64>)> = due(passages).collect();
    let is = |place: usize, fate: Fate| firsts.get(place).is_some_and(|(one, _)| one.fate == fate);
    let ends = (1..=firsts.len())
        .filter(|end| is(end - 1, Fate::Lost) && (*end == firsts.len() || is(*end, Fate::Arrived)));
    let runs = ends.filter_map(|end| {
        let begin =
            firsts[..end].iter().rposition(|(one, _)| one.fate != Fate::Lost).map_or(0, |last| last + 1);
        let last = firsts.get(end).or(firsts.last())?.1?;
        Some((firsts[begin].1?, last, end))
    });
    let mut runs: Vec<(i64, i64, usize)> = runs.collect();
    let left = |(passage, _): &(&Passage, Option<i64>)| passage.left().map(Timestamp::as_nanos);
    let mut all = Vec::new();
    for [from, until] in mapped {
        let near = runs.iter().enumerate().filter(|(_, (begin, last, _))| {
            *begin <= until.saturating_add(TOLD_WITHIN_NS) && *last >= from.saturating_sub(TOLD_WITHIN_NS)
        });
        let longest = near.max_by_key(|(_, (begin, last, _))| last.saturating_sub(*begin));
        let Some((place, (_, _, end))) = longest.map(|(place, run)| (place, *run)) else { continue };
        runs.remove(place);
        let last = firsts.get(end).or(firsts.last()).and_then(left);
        let closed = |one: &&(&Passage, Option<i64>)| {
            let before = last.zip(left(one)).map(|(last, left)| last.saturating_sub(left));
            one.0.fate == Fate::Lost && before.is_none_or(|before| before <= CLOSED_AT_MOST_NS)
        };
        all.extend(firsts[..end].iter().rev().take_while(closed).map(|(passage, _)| passage.sequence));
        all.extend(answered(&firsts, [*from, *until]));
    }
    all
}

/// What was lost near this time, and the next packet was not sent: who has no mapping says so to the sender, and that makes its next send
/// call fail. So it is while rules are exchanged, when some packets come through in between.
fn answered(firsts: &[(&Passage, Option<i64>)], [from, until]: [i64; 2]) -> impl Iterator<Item = u64> {
    let near = from.saturating_sub(TOLD_WITHIN_NS)..=until.saturating_add(TOLD_WITHIN_NS);
    firsts.windows(2).filter_map(move |pair| {
        let [(one, due), (next, _)] = pair else { return None };
        let is_answered = one.fate == Fate::Lost && next.sequence > one.sequence + 1;
        (is_answered && due.is_some_and(|due| near.contains(&due))).then_some(one.sequence)
    })
}

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
    let runs: Vec<(i64, i64, usize)> = runs.collect();
    let left = |(passage, _): &(&Passage, Option<i64>)| passage.left().map(Timestamp::as_nanos);
    let mut all = Vec::new();
    for (mapping, place) in matched(mapped, &runs) {
        let end = runs[place].2;
        let last = firsts.get(end).or(firsts.last()).and_then(left);
        let closed = |one: &&(&Passage, Option<i64>)| {
            let before = last.zip(left(one)).map(|(last, left)| last.saturating_sub(left));
            one.0.fate == Fate::Lost && before.is_none_or(|before| before <= CLOSED_AT_MOST_NS)
        };
        all.extend(firsts[..end].iter().rev().take_while(closed).map(|(passage, _)| passage.sequence));
        all.extend(answered(&firsts, mapping));
    }
    all
}

/// Which of the `runs` of losses, in order, is of which mapping, in order of time: one of each, none out of its turn, and as
/// long a time of losses as can be explained so. The mappings that are near no run have none.
fn matched(mapped: &[[i64; 2]], runs: &[(i64, i64, usize)]) -> Vec<([i64; 2], usize)> {
    let mut mapped = mapped.to_vec();
    mapped.sort_unstable();
    let length = |[from, until]: [i64; 2], (begin, last, _): (i64, i64, usize)| {
        let is_near =
            begin <= until.saturating_add(TOLD_WITHIN_NS) && last >= from.saturating_sub(TOLD_WITHIN_NS);
        // A single loss is no time at all, and counts nevertheless.
        is_near.then(|| last.saturating_sub(begin).max(0).saturating_add(1))
    };
    let near: Vec<usize> = (0..runs.len())
        .filter(|place| mapped.iter().any(|mapping| length(*mapping, runs[*place]).is_some()))
        .collect();
    // The longest time that the first so many mappings explain by the first so many runs.
    let mut best = vec![vec![0_i64; near.len() + 1]];
    for mapping in &mapped {
        let above = &best[best.len() - 1];
        let mut row = vec![0; near.len() + 1];
        for (place, run) in near.iter().enumerate() {
            let with = length(*mapping, runs[*run]).map_or(0, |length| above[place].saturating_add(length));
            row[place + 1] = row[place].max(above[place + 1]).max(with);
        }
        best.push(row);
    }
    let mut matched = Vec::new();
    let (mut mapping, mut place) = (mapped.len(), near.len());
    while mapping > 0 && place > 0 {
        if best[mapping][place] == best[mapping - 1][place] {
            mapping -= 1;
        } else if best[mapping][place] == best[mapping][place - 1] {
            place -= 1;
        } else {
            mapping -= 1;
            place -= 1;
            matched.push((mapped[mapping], near[place]));
        }
    }
    matched.reverse();
    matched
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

#[cfg(test)]
mod tests {
    use romer_record::{Fate, Passage};
    use romer_units::Timestamp;

    use super::before_mappings;
    use crate::astray::tests::passage;

    const MS: i64 = 1_000_000;

    /// One every 10 ms for 7 s, of which those of these times, in milliseconds, are lost.
    fn passages(lost: &[(i64, i64)]) -> Vec<Passage> {
        let every = |n: i64| {
            let is_lost = lost.iter().any(|(from, until)| (*from..*until).contains(&(n * 10)));
            let fate = if is_lost { Fate::Lost } else { Fate::Arrived };
            let mut one = passage(n.unsigned_abs(), Some(n * 10 * MS), fate);
            one.arrival = (!is_lost).then(|| Timestamp::from_nanos(n * 10 * MS));
            one
        };
        (0..700).map(every).collect()
    }

    #[test]
    fn each_of_many_mappings_has_losses_of_its_own_though_those_of_its_neighbours_are_longer() {
        // Two mappings a second, each pair 0.3 s apart: the first of a pair waits a second for the next question, the second less.
        let lost =
            [(1_120, 2_150), (2_180, 2_500), (3_110, 4_150), (4_160, 4_440), (5_120, 5_550), (5_570, 5_900)];
        let made = [1_122, 2_172, 3_112, 4_172, 5_122, 5_572];
        let mapped = made.map(|from| [from * MS, (from + 60) * MS]);
        let all = |mapped: &[[i64; 2]]| {
            let mut all = before_mappings(&passages(&lost), mapped);
            all.sort_unstable();
            all
        };
        let gone = |runs: &[(i64, i64)]| -> Vec<u64> {
            let each = |(from, until): &(i64, i64)| from.unsigned_abs() / 10..until.unsigned_abs() / 10;
            runs.iter().flat_map(each).collect()
        };
        assert_eq!(all(&mapped), gone(&lost));
        let mut shuffled = mapped;
        shuffled.reverse();
        assert_eq!(all(&shuffled), gone(&lost), "in whichever order they are told");
        // One that is told alone has the longest near it, and what is far from all of them has none.
        assert_eq!(all(&mapped[2..3]), gone(&lost[2..3]));
        assert!(before_mappings(&passages(&[(6_800, 6_900)]), &mapped).is_empty());
        // More of them than there are losses take each loss once.
        assert_eq!(all(&[mapped, mapped].concat()), gone(&lost));
    }
}

//! On which way probes were lost, by the numbers that a reflector gives its replies.
//!
//! A stateless reflector (RFC 8762 section 4) repeats the probe's number, which tells nothing. A stateful one, as a TWAMP
//! reflector (RFC 5357 section 4.2.1), counts the replies of each session from 0, so that a number that does not come is a
//! reply that was lost on the way back. That the numbers are the reflector's own shows at the first that is not its
//! probe's; as long as all are equal the two kinds look alike, whatever was lost, and nothing is claimed.
//!
//! # What follows from a gap
//!
//! Between two replies that came, let `m` probes be missing and `k` numbers. Each of the `k` was a reply, and was lost on
//! the way back. If one probe makes one reply, and probes arrive in their order, they answered `k` of the `m` probes, and
//! the other `m - k` were lost on the way there, or not answered. Where `k` is 0 or `m` that is known of each probe; in
//! between of their number only. Each of these words needs something that may fail, and is looked for:
//!
//! - **The number wraps** at 2^32: of each the nearest to the one before it is taken.
//! - **The way back reorders.** That changes nothing, because replies are put in the order of their numbers.
//! - **The way there reorders**: a missing probe may have been answered in another gap than its neighbours'. It shows where
//!   the replies that came are numbered in another order than their probes. Then only what is certain within the waiting
//!   time is said (after which a probe that still arrives is lost, RFC 7680): a probe was answered between its departure
//!   and that time after it; a number was given between the departure of the probe that got the number before it, and the
//!   return of the reply with the number after it. Gaps that one probe may have been answered in are one gap. How many
//!   were lost on each way stays known; of which, less.
//! - **The way back copies**: both have one number, and are one reply.
//! - **The way there copies**: each copy has a reply with a number of its own. If the reply to one is lost, its number
//!   does not stand for a missing probe. Where a probe came back with two numbers, a gap with `k` above 0 therefore tells
//!   the losses on the way back, and of those on the way there that they are between `m - k` and `m`. The copies themselves
//!   are told by their numbers, each whose reply came: a copy whose reply was lost looks like a probe whose reply was.
//! - **The numbers begin anew**, because the reflector was restarted or forgot the session: a reply to a probe that left
//!   after another reply had returned, but with no greater number, cannot be of the same count. What is missing in between
//!   is of no known way. A count that began anew and lost all its replies until it was past the old one looks like none:
//!   that takes as many missing probes as the number which comes next, and no gap so long is judged. Of which count a number
//!   is cannot be told where the way there reorders or copies, and nothing is said then.
//! - **Before the first reply** the count began at 0 if the session is new to the reflector, as the standard has it and our
//!   random identifier makes likely. That is taken for so where its numbers fit, that is where no more numbers than probes
//!   are missing; a reflector that was up only after the first probes is one that did not answer them.
//! - **After the last reply** nothing tells how far the count went: those probes were lost on a way that is not known.
//! - **Numbers that make no sense**: two probes have one number, or somewhere more numbers are missing than the probes and
//!   copies there explain (a reflector with one count for several sessions does that). Then nothing is said at all.
//!
//! What remains is taken on trust: that a way there which copies or reorders shows it in one packet at least of those that
//! came back, that the count is of this session alone and does not begin anew before a reply is back, and that the
//! reflector answers every probe. If it does not, its silence is among the losses on the way there, which is where the path
//! to a reply ends. Where probes were copied, replies to copies before the first that came and after the last are not missed.

mod within;

use core::cmp::Reverse;
use std::collections::BinaryHeap;

use romer_record::warning::Numbering;
use romer_record::{Fate, OneWaySingleton};
use romer_units::{Duration, Timestamp};
use within::within;

use crate::relate::bare;

/// What a reflector's numbers tell of the probes that did not come back. Where it does not count
/// ([`Numbering::Stateful`]), the way of none is known.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ReplyNumbers {
    /// How it numbers.
    pub numbering: Numbering,
    /// Probes that did not come back.
    pub missing: u64,
    /// How many of them were lost on the way there or not answered: so many if `all_there`, else at least so many.
    pub there: u64,
    /// How many replies were lost on the way back: so many if `all_back`, else at least so many.
    pub back: u64,
    /// Nothing is left out of `there`.
    pub all_there: bool,
    /// Nothing is left out of `back`.
    pub all_back: bool,
    /// Missing probes of which it is known at the most how many were lost on each way, not which.
    pub unnamed: u64,
    /// Missing probes of which not even that is known.
    pub unknown: u64,
    /// Further replies, with numbers of their own, to probes that the way there had copied.
    pub copies: u64,
    /// How often its numbers began anew.
    pub restarts: u64,
    /// Probes overtook others on the way there.
    pub overtaken: bool,
}

impl ReplyNumbers {
    fn new(numbering: Numbering, missing: u64) -> Self {
        Self {
            numbering,
            missing,
            there: 0,
            back: 0,
            all_there: missing == 0,
            all_back: missing == 0,
            unnamed: 0,
            unknown: missing,
            copies: 0,
            restarts: 0,
            overtaken: false,
        }
    }

    /// Before anything is missing.
    fn counted(count: &Count) -> Self {
        let restarts = count.bases.len() as u64 - 1;
        let (copies, all_there, all_back) = (count.copies, true, true);
        Self { copies, restarts, all_there, all_back, ..Self::new(Numbering::Stateful, 0) }
    }

    /// `missing` probes of which nothing is known.
    fn leave(&mut self, missing: u64) {
        self.missing += missing;
        self.unknown += missing;
        if missing > 0 {
            (self.all_there, self.all_back) = (false, false);
        }
    }

    /// `missing` probes, of which it is known only that at least `lost` replies were lost and at least `there` were not answered.
    fn leave_but(&mut self, missing: u64, lost: u64, there: u64) {
        self.missing += missing;
        self.back += lost;
        self.there += there;
        // Where probes were copied, a reply that was lost may have been to one that came back by another.
        let named = if self.copies > 0 { there } else { lost.saturating_add(there) };
        let unknown = missing.saturating_sub(named);
        self.unknown += unknown;
        self.unnamed += missing - unknown;
        if missing > 0 {
            (self.all_there, self.all_back) = (false, false);
        }
    }

    /// `missing` probes that answer `lost` numbers; gives the fate on the way there of each, where that is known.
    fn attribute(&mut self, missing: u64, lost: u64) -> Option<Fate> {
        self.missing += missing;
        self.back += lost;
        self.there += missing.saturating_sub(lost);
        if lost == 0 {
            return Some(Fate::Lost);
        }
        // One of these replies may have been to a copy of a probe that came back.
        self.all_there &= self.copies == 0;
        if lost == missing && self.copies == 0 {
            return Some(Fate::Arrived);
        }
        self.unnamed += missing;
        None
    }
}

/// Gives those of the `forward` singletons whose fate is unknown, because their probe did not come back, the fate that the
/// numbers of the `replies` prove, and adds the replies that were lost on the way back. `numbers` are those of the replies,
/// each with its copies; singletons and replies are in the order of the probes. The replies come in the order of their
/// numbers then, if the reflector counts, under the numbers of probes as [`StreamSingletons::reverse`](crate::StreamSingletons::reverse) has
/// them.
pub(crate) fn attribute_losses(
    forward: &mut [OneWaySingleton],
    replies: &mut Vec<OneWaySingleton>,
    numbers: Vec<u32>,
    waiting: Duration,
) -> ReplyNumbers {
    let missing = forward.iter().filter(|singleton| is_missing(singleton)).count() as u64;
    let nothing = |numbering| ReplyNumbers::new(numbering, missing);
    if numbers.is_empty() || numbers.len() != replies.iter().filter(|reply| reply.copy == 0).count() {
        return nothing(Numbering::Unknown);
    }
    let count = Count::new(forward, replies, &numbers);
    drop(numbers);
    if !count.own {
        return nothing(Numbering::Stateless);
    }
    // Numbers that hardly ever rise are no count.
    if (count.bases.len() - 1) * 2 > count.places.len() {
        return nothing(Numbering::Invalid);
    }
    let told = if count.in_order && count.copies == 0 {
        in_order(forward, replies, &count)
    } else if count.bases.len() == 1 {
        within(forward, replies, &count, waiting)
    } else {
        None
    };
    told.unwrap_or(nothing(Numbering::Invalid))
}

const fn is_missing(singleton: &OneWaySingleton) -> bool {
    matches!(singleton.fate, Fate::Unknown)
}

fn nanos<C: romer_units::Clock>(time: Option<Timestamp<C>>) -> Option<i64> {
    time.map(Timestamp::as_nanos)
}

/// What is met on the way through the probes.
enum ProbeEvent {
    /// A probe that did not come back: its singleton's place.
    Missing(usize),
    /// A reply, the place of its first singleton among the replies, the number of its probe, when that left, and when the
    /// reply came.
    Reply { from: usize, probe: u64, sent: Option<i64>, back: Option<i64> },
}

/// Goes through the probes in their order.
fn walk(forward: &[OneWaySingleton], replies: &[OneWaySingleton], mut step: impl FnMut(ProbeEvent)) {
    let (mut at, mut from) = (0, 0);
    for probe in forward.chunk_by(|a, b| a.sequence == b.sequence) {
        if is_missing(&probe[0]) {
            step(ProbeEvent::Missing(at));
        } else {
            // Each arrival there has its reply.
            for _ in probe {
                let Some(first) = replies.get(from) else { break };
                let (sent, back) = (nanos(probe[0].departure), nanos(first.arrival));
                step(ProbeEvent::Reply { from, probe: probe[0].sequence, sent, back });
                from += 1 + replies[from + 1..].iter().take_while(|copy| copy.copy > 0).count();
            }
        }
        at += probe.len();
    }
}

/// The places of the replies in the count of the reflector.
struct Count {
    /// Of each reply, in the order of the probes. A count that begins anew goes on behind the greatest of the one before.
    places: Vec<i64>,
    /// Where 0 lies in each count.
    bases: Vec<i64>,
    /// A number is not its probe's.
    own: bool,
    /// The numbers rise as the probes' do.
    in_order: bool,
    copies: u64,
}

impl Count {
    fn new(forward: &[OneWaySingleton], replies: &[OneWaySingleton], numbers: &[u32]) -> Self {
        let mut count = Self {
            places: Vec::with_capacity(numbers.len()),
            bases: vec![0],
            own: false,
            in_order: true,
            copies: 0,
        };
        let mut last: Option<(u32, i64)> = None;
        let mut greatest = i64::MIN;
        // Replies that may have been under way, by when they came, and the greatest place of those that were not.
        let mut under_way: BinaryHeap<(Reverse<i64>, i64)> = BinaryHeap::new();
        let mut made = i64::MIN;
        let mut probe_before = None;
        walk(forward, replies, |step| {
            let ProbeEvent::Reply { probe, sent, back, .. } = step else { return };
            let Some(number) = numbers.get(count.places.len()).copied() else { return };
            count.own |= u64::from(number) != probe & u64::from(u32::MAX);
            count.copies += u64::from(probe_before == Some(probe));
            probe_before = Some(probe);
            let mut place = last.map_or(i64::from(number), |(before, place)| {
                place + i64::from(number.wrapping_sub(before).cast_signed())
            });
            while let Some((Reverse(came), earlier)) = under_way.peek().copied()
                && sent.is_some_and(|sent| came < sent)
            {
                made = made.max(earlier);
                under_way.pop();
            }
            if place <= made {
                let base = greatest + 1;
                place = base + i64::from(number);
                count.bases.push(base);
                under_way.clear();
                made = i64::MIN;
            }
            count.in_order &= place > greatest;
            greatest = greatest.max(place);
            under_way.extend(back.map(|back| (Reverse(back), place)));
            last = Some((number, place));
            count.places.push(place);
        });
        count
    }

    /// Which count a place is of.
    fn life(&self, place: i64) -> usize {
        self.bases.partition_point(|base| *base <= place).saturating_sub(1)
    }

    /// The number at a place, without its wrapping: how many replies came before it in its count.
    fn number(&self, place: i64) -> u64 {
        u64::try_from(place - self.bases[self.life(place)]).unwrap_or(0)
    }

    /// Whether a count may have begun anew among `missing` probes without being seen: then all replies with lower numbers
    /// than the next, at `place`, are among what is missing.
    fn may_hide_restart(&self, missing: u64, place: i64) -> bool {
        missing > 0 && missing + self.copies >= self.number(place)
    }

    /// Numbers that are missing between two places of one count.
    fn between(&self, before: i64, after: i64) -> Option<u64> {
        (self.life(before) == self.life(after)).then(|| u64::try_from(after - before - 1).unwrap_or(0))
    }
}

/// Replies that were lost on the way back before another that came.
struct Gap {
    /// The place of its first singleton.
    before: usize,
    /// How many.
    lost: u64,
}

/// For a way there that keeps the order and copies nothing. `None` where more replies are missing than probes.
fn in_order(
    forward: &mut [OneWaySingleton],
    replies: &mut Vec<OneWaySingleton>,
    count: &Count,
) -> Option<ReplyNumbers> {
    let mut told = ReplyNumbers::counted(count);
    // The singletons that are missing and their fate, and the lost replies before those that came.
    let mut fates: Vec<([usize; 2], Fate)> = Vec::new();
    let mut gaps = Vec::new();
    // The missing singletons before the next reply.
    let (mut first, mut end, mut reply, mut fits) = (None, 0, 0, true);
    walk(forward, replies, |step| {
        let from = match step {
            ProbeEvent::Missing(at) => {
                first = first.or(Some(at));
                end = at + 1;
                return;
            }
            ProbeEvent::Reply { from, .. } => from,
        };
        let missing = first.map_or(0, |first| (end - first) as u64);
        let place = count.places[reply];
        // A session that is new to the reflector counts from 0.
        let lost = match reply.checked_sub(1) {
            None => Some(count.number(place)).filter(|lost| *lost <= missing),
            Some(before) => count.between(count.places[before], place),
        };
        fits &= lost.is_none_or(|lost| lost <= missing);
        match lost.filter(|_| reply == 0 || !count.may_hide_restart(missing, place)) {
            None => told.leave(missing),
            Some(lost) => {
                if let (Some(fate), Some(first)) = (told.attribute(missing, lost), first) {
                    fates.push(([first, end], fate));
                }
                if lost > 0 {
                    gaps.push(Gap { before: from, lost });
                }
            }
        }
        (first, reply) = (None, reply + 1);
    });
    told.leave(first.map_or(0, |first| (end - first) as u64));
    if !fits {
        return None;
    }
    for ([first, end], fate) in fates {
        forward[first..end].iter_mut().for_each(|singleton| singleton.fate = fate);
    }
    insert(replies, &gaps);
    Some(told)
}

/// A reply that did not come, with the number of a probe and the size of the reply beside it.
const fn lost_reply(sequence: u64, size: u32) -> OneWaySingleton {
    bare(sequence, size, Fate::Lost)
}

/// Puts the lost replies in, whose numbers are free behind the reply before them, without room for all replies again.
fn insert(replies: &mut Vec<OneWaySingleton>, gaps: &[Gap]) {
    let more = gaps.iter().map(|gap| usize::try_from(gap.lost).unwrap_or(0)).sum::<usize>();
    let mut from = replies.len();
    replies.resize(from + more, lost_reply(0, 0));
    let mut to = replies.len();
    for gap in gaps.iter().rev() {
        let moved = from - gap.before;
        replies.copy_within(gap.before..from, to - moved);
        (from, to) = (gap.before, to - moved);
        let size = replies[to].size;
        let before = from.checked_sub(1).map(|before| replies[before].sequence);
        let mut sequence = before.map_or(0, |before| before + 1) + gap.lost;
        for _ in 0..gap.lost {
            (sequence, to) = (sequence - 1, to - 1);
            replies[to] = lost_reply(sequence, size);
        }
    }
}

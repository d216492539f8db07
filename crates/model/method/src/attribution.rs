//! Whose loss it is: the device's, or the tester's own.
//!
//! The tester loses frames in two ways. What it drops unread on the receiving side the kernel counts, to the frame.
//! What it sends in a burst that the schedule does not have (because it stood still before) a device without fault may
//! drop. So the frames that left in such a burst, or in its wake, are set apart; those that left on schedule say how
//! often the device loses one by itself, with an interval, and what is missing of the others beyond that is laid to the
//! tester, unless the device is overloaded on schedule: a full queue is as full without the burst. But it is the device
//! that dropped them: all that no counter of the tester tells of may be its loss, which is where its interval ends.
//!
//! Neither takes all frames of one stream and lets those of others between them pass. A stream of which nothing came at all, while
//! what left just before and just after its frames did, is apart from all this: it is the device that does not carry it.

use romer_metrics::wilson_interval;

use crate::real;
use crate::trial_trace::{SentFrame, TrialTrace};

/// A frame that leaves with others that were due more than this after it leaves in a burst, ...
const TOGETHER: i64 = 50_000;
/// ... if they are so many, ...
const MIN_BURST_FRAMES: usize = 8;
/// ... or it is so late.
const STANDSTILL: i64 = 1_000_000;
/// The wake of a burst is so many times as long as its first frame was late, in percent: a device that carries a tenth more than
/// the load has worked off by then what has come to it at once. Of a tester that stands still again and again that would
/// leave nothing; then it is as long as leaves enough, because a device that is not overloaded loses few frames in it.
const WAKES: [i64; 6] = [1_000, 300, 100, 30, 10, 0];
/// One of so many frames is enough.
const ENOUGH: usize = 5;
/// From this loss ratio on of frames on schedule a device is overloaded: what it loses in bursts, and in wakes that were cut
/// short, is its own.
const OVERLOADED: f64 = 0.1;
/// Losses come together where the parts of a trial, so many, differ by more than chance has it.
const PARTS: usize = 20;
/// Frames that were stamped so long before a standstill may have left after it.
const STUCK: i64 = 1_000_000;
/// Fewer frames of a stream, of which none came although their neighbours of other streams did, tell nothing of it, ...
const MIN_LOST_FRAMES: u32 = 10;
/// ... nor as many as would be lost by chance, at the others' loss ratio, no more seldom than so.
const CHANCE: f64 = 1e-6;
/// The tester's part in the loss, at the most, of the device's at the least, with which a trial tells what the device
/// loses.
const SMALL: f64 = 0.1;

/// The frames of a trial that were lost, by whose loss they are.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Attribution {
    /// Frames that left.
    pub offered: u64,
    /// Frames that did not come.
    pub lost: u64,
    /// Frames that left in bursts that the schedule does not have, or in their wake.
    pub stall_affected: u64,
    /// Of these, those that did not come.
    pub stall_affected_lost: u64,
    /// Frames that the tester dropped unread, at the most.
    pub unread: u64,
    /// The tester's part, as far as there is evidence for it.
    pub tester: u64,
    /// The device's part, at the least and at the most. At the least it is of the frames on schedule those that it lost, and of
    /// the others as many as it loses at the lower end of that ratio (95 %; where losses come together, it is as much lower).
    /// At the most it is all that the tester has not dropped unread for certain.
    pub device: [u64; 2],
    /// What neither frames that were dropped unread for certain nor bursts explain, at the most (95 %).
    pub unexplained: u64,
}

/// A frame that left, and whether it is lost.
#[derive(Clone, Copy)]
struct SentFate {
    left: SentFrame,
    stream: usize,
    lost: bool,
}

/// The loss of a trial by whose it is; `came` says of each frame that left, by stream and sequence, whether it did.
pub(crate) fn attribute(flight: &TrialTrace, came: &[Vec<Option<i64>>], extra_copies: u64) -> Attribution {
    let mut frames: Vec<SentFate> = Vec::new();
    for (stream, (left, came)) in flight.left.iter().zip(came).enumerate() {
        let fates =
            left.iter().zip(came).map(|(left, at)| SentFate { left: *left, stream, lost: at.is_none() });
        frames.extend(fates);
    }
    frames.sort_by_key(|frame| (frame.left.due, frame.left.sent));
    let silent = silent(&frames, came);
    let is_of_others = |frame: &SentFate| !silent.get(frame.stream).copied().unwrap_or_default();
    let (apart, cut) = stall_affected(&frames);
    let fates = || frames.iter().zip(&apart).map(|(frame, apart)| (frame, *apart));
    let others = || fates().filter(|(frame, _)| is_of_others(frame));
    let mut found = Attribution::count(others());
    let regular: Vec<bool> = others().filter(|(_, apart)| !*apart).map(|(frame, _)| frame.lost).collect();
    let [certain, most] = flight.unread;
    found.unread = most.min(found.lost);
    // What was dropped unread may have been second copies, where there are any.
    found.share(if extra_copies == 0 { certain.min(found.lost) } else { 0 }, cut, together(&regular));
    let own = Attribution::count(fates().filter(|(frame, _)| !is_of_others(frame)));
    found.join(own, certain.saturating_sub(found.lost));
    found
}

/// Which streams the device does not carry: nothing came of them, although what other streams sent before and after their frames
/// did; the frames are in the order in which they were due.
fn silent(frames: &[SentFate], came: &[Vec<Option<i64>>]) -> Vec<bool> {
    let mut silent: Vec<bool> =
        came.iter().map(|came| !came.is_empty() && came.iter().all(Option::is_none)).collect();
    if !silent.contains(&true) {
        return silent;
    }
    let (mut others, mut lost) = (0_u64, 0_u64);
    let (mut between, mut since) = (vec![0_u32; silent.len()], vec![0_u32; silent.len()]);
    let mut last_came = false;
    for frame in frames {
        if silent[frame.stream] {
            since[frame.stream] += u32::from(last_came);
            continue;
        }
        (others, lost) = (others + 1, lost + u64::from(frame.lost));
        last_came = !frame.lost;
        for (between, since) in between.iter_mut().zip(&mut since) {
            *between += if last_came { *since } else { 0 };
            *since = 0;
        }
    }
    let ratio = (real(lost) + 1.0) / (real(others) + 1.0);
    for (silent, between) in silent.iter_mut().zip(between) {
        *silent &= between >= MIN_LOST_FRAMES && libm::pow(ratio, f64::from(between)) < CHANCE;
    }
    silent
}

/// How many times as much as by chance the loss ratio varies from part to part of these frames, 1 at the least: as many times
/// fewer frames tell as much of it as independent ones would.
fn together(lost: &[bool]) -> f64 {
    let (count, all) = (real(lost.len() as u64), real(lost.iter().filter(|lost| **lost).count() as u64));
    let length = lost.len() / PARTS;
    let ratio = all / count.max(1.0);
    let chance = ratio * (1.0 - ratio);
    if length == 0 || chance <= 0.0 {
        return 1.0;
    }
    let parts = lost.chunks_exact(length);
    let (parts_count, length) = (real(parts.len() as u64), real(length as u64));
    let squares: f64 = parts
        .map(|part| real(part.iter().filter(|lost| **lost).count() as u64) / length - ratio)
        .map(|beyond| beyond * beyond)
        .sum();
    (squares / (parts_count - 1.0) * length / chance).max(1.0)
}

/// Which frames left in bursts that nobody asked for, or in their wake, and whether wakes were cut short; the frames are in
/// the order in which they were due.
fn stall_affected(frames: &[SentFate]) -> (Vec<bool>, bool) {
    let bursts = bursts(frames);
    for wake in WAKES {
        let apart = set_apart(frames, &bursts, wake);
        if apart.iter().filter(|apart| !**apart).count() >= frames.len() / ENOUGH {
            return (apart, wake < WAKES[0]);
        }
    }
    (vec![true; frames.len()], true)
}

/// The frames that left with others that were due later, each with when it may have begun, when it left and how late.
fn bursts(frames: &[SentFate]) -> Vec<[i64; 3]> {
    let mut bursts = Vec::new();
    let (mut with, mut apart) = (0, 0);
    for (place, SentFate { left, .. }) in frames.iter().enumerate() {
        // Those that were due by the time at which this one left, ...
        while frames.get(with).is_some_and(|other| other.left.due <= left.sent) {
            with += 1;
        }
        // ... and those that were due about when it was.
        while frames.get(apart).is_some_and(|other| other.left.due <= left.due + TOGETHER) {
            apart += 1;
        }
        let late = left.sent - left.due;
        let ahead = with.saturating_sub(apart.max(place + 1));
        if ahead >= MIN_BURST_FRAMES || (ahead > 0 && late >= STANDSTILL) {
            let before = place.checked_sub(1).and_then(|before| frames.get(before));
            let begin = before.map_or(left.sent, |before| before.left.sent.min(left.sent)) - STUCK;
            bursts.push([begin, left.sent, late]);
        }
    }
    bursts
}

/// Which frames left in these bursts, or in their wake, in percent of how late they were.
fn set_apart(frames: &[SentFate], bursts: &[[i64; 3]], wake: i64) -> Vec<bool> {
    let mut zones: Vec<[i64; 2]> = Vec::new();
    for [begin, left, late] in bursts {
        let end = left.saturating_add(late.saturating_mul(wake) / 100);
        match zones.last_mut() {
            Some(last) if *begin <= last[1] => last[1] = last[1].max(end),
            _ => zones.push([*begin, end]),
        }
    }
    let mut zone = 0;
    let in_zone = |SentFate { left, .. }: &SentFate| {
        while zones.get(zone).is_some_and(|[_, end]| *end < left.sent) {
            zone += 1;
        }
        zones.get(zone).is_some_and(|[begin, _]| *begin <= left.sent)
    };
    frames.iter().map(in_zone).collect()
}

impl Attribution {
    /// The counts of these frames, each with whether it is set apart; all of the loss may be the device's.
    fn count<'a>(frames: impl Iterator<Item = (&'a SentFate, bool)>) -> Self {
        let mut found = Self::default();
        for (frame, apart) in frames {
            found.offered += 1;
            found.lost += u64::from(frame.lost);
            found.stall_affected += u64::from(apart);
            found.stall_affected_lost += u64::from(apart && frame.lost);
        }
        found.device = [found.lost; 2];
        found.unexplained = found.lost;
        found
    }

    /// Takes in the streams that the device does not carry, of which so many frames were dropped unread for certain after all.
    fn join(&mut self, own: Self, unread: u64) {
        let unread = unread.min(own.lost);
        self.offered += own.offered;
        self.lost += own.lost;
        self.stall_affected += own.stall_affected;
        self.stall_affected_lost += own.stall_affected_lost;
        self.unread += unread;
        self.tester += unread;
        self.device = self.device.map(|device| device + own.lost - unread);
        self.unexplained += own.lost - unread;
    }

    /// Shares the loss out; so many lost frames were dropped unread for certain, wakes of bursts were `cut` short, and losses on
    /// schedule come so much `together`.
    fn share(&mut self, unread: u64, cut: bool, together: f64) {
        let (regular, regular_lost) =
            (self.offered - self.stall_affected, self.lost - self.stall_affected_lost);
        let count = |count: f64| usize::try_from(to_u64(count / together)).unwrap_or(usize::MAX);
        let ratio = |lost: f64| wilson_interval(count(lost), count(real(regular))).unwrap_or([0.0, 1.0]);
        let [least, _] = ratio(real(regular_lost.saturating_sub(self.unread)));
        // Rounded up, to be no lower.
        let [_, most] = ratio((real(regular_lost) / together).ceil() * together);
        let (apart, apart_lost) = (real(self.stall_affected), real(self.stall_affected_lost));
        let beyond = |ratio: f64| (apart_lost - ratio * apart).max(0.0);
        let mean = if regular == 0 { 1.0 } else { real(regular_lost) / real(regular) };
        let of_bursts = if beyond(most) > 0.0 && least < OVERLOADED { beyond(mean) } else { 0.0 };
        self.tester = (to_u64(of_bursts + 0.5) + self.unread).min(self.lost);
        let possible = to_u64(libm::ceil(beyond(least))) + self.unread;
        self.device = [possible, unread].map(|other| self.lost.saturating_sub(other));
        self.unexplained = self.lost.saturating_sub(to_u64(beyond(most)) + unread);
        if cut && least < OVERLOADED {
            self.device[0] = 0;
        }
    }

    /// So many of the lost frames came, though nobody can tell which: the tester has neither lost nor changed them.
    pub(crate) fn came_damaged(&mut self, frames: u64) {
        let frames = frames.min(self.lost);
        self.tester = self.tester.min(self.lost - frames);
        self.device = self.device.map(|device| device.max(frames));
    }

    /// Takes so many frames from what is the device's for certain: the tester may have lost them without knowing.
    pub fn charge(&mut self, frames: u64) {
        self.device[0] = self.device[0].saturating_sub(frames);
    }

    /// Whether it tells enough of the device. Against criteria (greatest loss ratios that pass) it does, where the trial
    /// passes with all that was lost, or fails with what is the device's for certain; without any, where the tester's part
    /// is small beside the device's.
    pub fn tells(&self, criteria: &[f64]) -> bool {
        let [lost, least, offered] = [self.lost, self.device[0], self.offered].map(real);
        if criteria.is_empty() {
            return lost - least <= SMALL * least;
        }
        criteria.iter().all(|most| lost <= most * offered || least > most * offered)
    }

    /// The device's loss ratio, as far as it is known; `None` where nothing was offered.
    pub fn loss_ratio(&self) -> Option<f64> {
        (self.offered > 0).then(|| real(self.lost - self.tester) / real(self.offered))
    }
}

#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "a count of frames, rounded down"
)]
const fn to_u64(value: f64) -> u64 {
    value as u64
}

#[cfg(test)]
#[path = "attribution_tests.rs"]
mod tests;

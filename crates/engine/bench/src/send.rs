//! The sending thread: every frame at its moment, by an absolute schedule.

use std::sync::atomic::{AtomicBool, Ordering};

use romer_host::clock::monotonic_now;
use romer_host::pacing::Pacer;
use romer_method::Unlinked;
use romer_method::analysis::SentFrame;
use romer_method::schedule::{Due, FrameSchedule};
use romer_port::{Stopped, TESTER_BURST, TestSender};
use romer_units::{Duration, FrameSize, Monotonic, Timestamp};
use romer_wire::test_frame::Mark;

use crate::frames::Store;
use crate::punctuality::Punctuality;

/// How long after the end of a trial frames that were due in it may still leave.
const GRACE: Duration = Duration::from_millis(250);
/// An interface that refuses frames for so long is not full: it has no link.
const FULL: Duration = Duration::from_millis(10);
/// How long is waited then before it is tried again: who tries all the time keeps the processor from those who bring the link back.
const RETRY: Duration = Duration::from_millis(1);

/// Takes frames, as an interface does.
pub(crate) trait FrameSink {
    /// Sends frames from the front of `frames`: how many were taken, and why not all of them.
    fn send(&mut self, frames: &[&[u8]]) -> (usize, Option<Stopped>);
}

impl FrameSink for TestSender {
    fn send(&mut self, frames: &[&[u8]]) -> (usize, Option<Stopped>) {
        Self::send(self, frames)
    }
}

/// What is to be sent.
pub(crate) struct Sending<'a> {
    pub(crate) arrangement: FrameSchedule,
    pub(crate) store: &'a mut Store,
    /// When the first frame is due.
    pub(crate) begin: Timestamp<Monotonic>,
    pub(crate) length: Duration,
    /// Time between frames in the mean, for the choice of how to wait.
    pub(crate) interval: Duration,
    /// Frames that each stream may have.
    pub(crate) room: Vec<usize>,
    /// Octets of headers of each stream.
    pub(crate) overheads: Vec<u32>,
    /// Octets of the longest frame.
    pub(crate) longest: usize,
    /// The device is reset meanwhile and may take the link from the port: what is due without it is left out, and the schedule
    /// goes on. Else such frames wait.
    pub(crate) without_link: bool,
}

/// What was sent.
#[derive(Default)]
pub(crate) struct SendLog {
    pub(crate) left: Vec<Vec<SentFrame>>,
    pub(crate) intended: Vec<u64>,
    /// On the line, and of payload.
    pub(crate) intended_octets: [u64; 2],
    /// How far the loop kept up with the schedule.
    pub(crate) punctuality: Punctuality,
    /// When the loop ended, after the beginning.
    pub(crate) ended: Duration,
    /// When a frame was refused for the first time, after the beginning.
    pub(crate) refused_at: Option<Duration>,
    /// Frames that were left out because the port had no link.
    pub(crate) unlinked: Unlinked,
    pub(crate) stopped: Option<Stopped>,
}

/// Frames that are due and not yet with the interface.
struct Batch {
    octets: Vec<u8>,
    slot: usize,
    frames: Vec<(Due, usize, Mark)>,
}

/// Sends all of it; ends early when `stop` is set.
pub(crate) fn send(sender: &mut impl FrameSink, mut sending: Sending<'_>, stop: &AtomicBool) -> SendLog {
    let streams = sending.room.len();
    let mut sent = SendLog {
        left: sending.room.iter().map(|room| Vec::with_capacity(*room)).collect(),
        intended: vec![0; streams],
        ..SendLog::default()
    };
    let slot = sending.longest.next_multiple_of(64);
    let mut batch =
        Batch { octets: vec![0; slot * TESTER_BURST], slot, frames: Vec::with_capacity(TESTER_BURST) };
    let last = sending.begin + sending.length + GRACE;
    let mut pacer = Pacer::start(sending.interval);
    let mut next = sending.arrangement.next();
    let mut refused_since = None;
    let mut free = sending.begin;
    while let Some(due) = next {
        let at = sending.begin + due.at;
        let now = pacer.wait_until(at).at;
        sent.punctuality.reaches(at - sending.begin, [free - sending.begin, now - sending.begin]);
        if now > last || stop.load(Ordering::Relaxed) || sent.stopped.is_some() {
            break;
        }
        next = fill(&mut batch, &mut sending, &sent, due, now);
        sent.punctuality.catches_up(batch.frames.len());
        flush(sender, &mut batch, &sending, &mut sent, &mut refused_since, (last, stop, now));
        free = monotonic_now();
    }
    sent.ended = monotonic_now() - sending.begin;
    // What is left was due and was not sent.
    while let Some(due) = next {
        sent.intend(&sending.overheads, due);
        next = sending.arrangement.next();
    }
    sent
}

/// Puts everything that is due by `now` into the batch, `due` first; the first that is not due.
fn fill(
    batch: &mut Batch,
    sending: &mut Sending<'_>,
    sent: &SendLog,
    due: Due,
    now: Timestamp<Monotonic>,
) -> Option<Due> {
    let mut next = Some(due);
    let mut ahead = [0_u32; 64];
    while let Some(due) =
        next.filter(|due| batch.frames.len() < TESTER_BURST && sending.begin + due.at <= now)
    {
        let stream = usize::from(due.stream);
        let before = sent.left.get(stream).map_or(0, Vec::len);
        let waiting = ahead.get_mut(stream % 64);
        let offset = waiting.as_deref().copied().unwrap_or(0);
        let sequence = u32::try_from(before).unwrap_or(u32::MAX).saturating_add(offset);
        if let Some(waiting) = waiting {
            *waiting += 1;
        }
        let stamp = (monotonic_now() - sending.begin).as_nanos();
        let mark = Mark { stream: due.stream, sequence, sent: stamp.unsigned_abs() };
        let place = batch.frames.len() * batch.slot;
        if let Some(length) =
            sending.store.put(due.octets, mark, &mut batch.octets[place..place + batch.slot])
        {
            batch.frames.push((due, length, mark));
        }
        next = sending.arrangement.next();
    }
    next
}

/// Hands the batch over, for as long as it takes up to `last`, or until `stop` is set; `refused_since`: since when the interface has
/// taken nothing. The batch was begun at `begun`.
fn flush(
    sender: &mut impl FrameSink,
    batch: &mut Batch,
    sending: &Sending<'_>,
    sent: &mut SendLog,
    refused_since: &mut Option<Timestamp<Monotonic>>,
    (last, stop, begun): (Timestamp<Monotonic>, &AtomicBool, Timestamp<Monotonic>),
) {
    let mut first = 0;
    let mut since = begun;
    while first < batch.frames.len() {
        let mut frames: [&[u8]; TESTER_BURST] = [&[]; TESTER_BURST];
        let waiting = batch.frames.len() - first;
        for (place, frame) in frames.iter_mut().take(waiting).enumerate() {
            let begin = (first + place) * batch.slot;
            *frame = &batch.octets[begin..begin + batch.frames[first + place].1];
        }
        let (taken, stopped) = sender.send(&frames[..waiting]);
        let mut now = monotonic_now();
        sent.punctuality.hands_over(now - since);
        for (due, _, mark) in &batch.frames[first..first + taken] {
            sent.intend(&sending.overheads, *due);
            if let Some(left) = sent.left.get_mut(usize::from(due.stream)) {
                let stamp = i64::try_from(mark.sent).unwrap_or(i64::MAX);
                left.push(SentFrame { due: due.at.as_nanos(), sent: stamp, octets: due.octets });
            }
        }
        first += taken;
        if taken > 0 {
            *refused_since = None;
        }
        if first == batch.frames.len() {
            break;
        }
        if let Some(stopped) = stopped {
            sent.refused_at.get_or_insert(now - sending.begin);
            let since = *refused_since.get_or_insert(now);
            let has_no_link = match stopped {
                Stopped::Down => true,
                Stopped::Busy => now - since >= FULL,
                Stopped::Oversize => false,
            };
            if sending.without_link && has_no_link {
                for (due, _, _) in &batch.frames[first..] {
                    sent.intend(&sending.overheads, *due);
                    sent.unlinked.add(due.at);
                }
                break;
            }
        }
        if stopped == Some(Stopped::Oversize) || now > last || stop.load(Ordering::Relaxed) {
            sent.stopped = stopped.or(Some(Stopped::Busy));
            for (due, _, _) in &batch.frames[first..] {
                sent.intend(&sending.overheads, *due);
            }
            break;
        }
        if refused_since.is_some_and(|since| now - since >= FULL) {
            std::thread::sleep(RETRY.to_std());
            now = monotonic_now();
        }
        // They leave later than their stamps say: new ones.
        for place in first..batch.frames.len() {
            let begin = place * batch.slot;
            let (due, length, mark) = &mut batch.frames[place];
            mark.sent = (now - sending.begin).as_nanos().unsigned_abs();
            sending.store.mark_again(due.octets, *mark, &mut batch.octets[begin..begin + *length]);
        }
        since = now;
    }
    batch.frames.clear();
}

impl SendLog {
    /// Counts a frame that was due; `overheads`: octets of headers of each stream.
    pub(crate) fn intend(&mut self, overheads: &[u32], due: Due) {
        let stream = usize::from(due.stream);
        if let Some(intended) = self.intended.get_mut(stream) {
            *intended += 1;
        }
        let overhead = overheads.get(stream).copied().unwrap_or(0);
        self.intended_octets[0] += u64::from(due.octets + FrameSize::OVERHEAD);
        self.intended_octets[1] += u64::from(due.octets.saturating_sub(overhead));
    }
}

#[cfg(test)]
mod tests {
    use romer_method::{Frames, Phase};
    use romer_units::FrameSize;
    use romer_wire::ethernet::MacAddress;
    use romer_wire::test_frame::Signature;

    use super::*;
    use crate::frames::flows;
    use crate::simulated::sweep;

    /// An interface whose calls number 20 and 21 take so long each.
    struct Stalling {
        calls: u32,
        stalls: [std::time::Duration; 2],
    }

    impl FrameSink for Stalling {
        fn send(&mut self, frames: &[&[u8]]) -> (usize, Option<Stopped>) {
            if let Some(stall) =
                usize::try_from(self.calls.wrapping_sub(20)).ok().and_then(|n| self.stalls.get(n))
            {
                std::thread::sleep(*stall);
            }
            self.calls += 1;
            (frames.len(), None)
        }
    }

    /// Two stalls inside the hand-over, the second in the catching up after the first, are one time behind the schedule.
    #[test]
    fn stall_while_catching_up_counts() {
        let stalls = [30, 90].map(std::time::Duration::from_millis);
        let options = sweep(&[0.5]);
        let frames = Frames::Size(FrameSize::new(128).unwrap());
        let phases = [Phase { load: 0.5, length: Duration::from_millis(600) }];
        let flows = flows(&options);
        let mut store = Store::new(&options, [MacAddress([2; 6]); 2], &frames, Signature(7)).unwrap();
        let sending = Sending {
            arrangement: FrameSchedule::new(&flows, &frames, options.line, &phases, options.seed),
            store: &mut store,
            begin: monotonic_now() + Duration::from_millis(1),
            length: phases[0].length,
            interval: Duration::from_micros(237),
            room: vec![3_000],
            overheads: vec![46],
            longest: 128,
            without_link: false,
        };
        let sent = send(&mut Stalling { calls: 0, stalls }, sending, &AtomicBool::new(false));
        // The sleeps last at least as long as they were asked for, the frames due in the first are more than a batch, and the first of
        // the next batch was due less than a millisecond after the first sleep began.
        let behind = sent.punctuality.longest_away;
        assert!(behind >= Duration::from_millis(119), "{behind}");
        assert!(sent.punctuality.away >= behind);
    }
}

//! The two ends of the line on which the emulator is measured: who sends, and who receives.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration as StdDuration, Instant};

use romer_host::clock::{monotonic_now, realtime_now};
use romer_port::{TestReceiver, TestSender};
use romer_units::Duration;

/// A protocol for experiments (IEEE 802).
const PROTOCOL: [u8; 2] = [0x88, 0xb5];
/// Where a frame has its stamp.
const STAMP: usize = 14;
/// Octets of the check sequence, which no frame has on a virtual link.
const CHECK_SEQUENCE: u32 = 4;
/// Between two looks of a receiver: its ring takes most of a second.
const POLL_INTERVAL: StdDuration = StdDuration::from_millis(2);

/// What was sent.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct Offered {
    /// Frames, of all ways.
    pub(crate) frames: u64,
    /// Frames a second of each way.
    pub(crate) pps: f64,
}

/// Frames to be sent.
#[derive(Clone, Copy, Debug)]
pub(super) struct FrameLoad {
    /// Octets with the check sequence.
    pub(super) octets: u32,
    /// A second each way; as many as can be, where there is none.
    pub(super) pps: Option<u32>,
    pub(super) length: StdDuration,
}

/// Sends by all of `senders`, one thread for all: on two cores the emulator is to have the other.
pub(super) fn send(senders: &mut [TestSender], load: FrameLoad, interrupted: &AtomicBool) -> Offered {
    // The highest bit of the first octet's lowest is clear: no frame is for a group.
    let mut frame = vec![2; usize::try_from(load.octets - CHECK_SEQUENCE).unwrap_or(60)];
    frame[12..14].copy_from_slice(&PROTOCOL);
    let interval = load.pps.map_or(0, |pps| 1_000_000_000 / i64::from(pps.max(1)));
    let most = load
        .pps
        .map_or(i64::MAX, |_| i64::try_from(load.length.as_nanos()).unwrap_or(i64::MAX) / interval.max(1));
    let begin = Instant::now();
    let start = monotonic_now();
    let (mut frames, mut number) = (0, 0);
    while number < most && !interrupted.load(Ordering::Relaxed) {
        if load.pps.is_none() && begin.elapsed() >= load.length {
            break;
        }
        let due = start + Duration::from_nanos(interval * number);
        while monotonic_now() < due {
            std::hint::spin_loop();
        }
        for sender in senders.iter_mut() {
            frame[STAMP..STAMP + 8].copy_from_slice(&realtime_now().as_nanos().to_be_bytes());
            // What finds no room has to wait for it: every number of the schedule is sent.
            while sender.send(&[&frame]).0 == 0 && !interrupted.load(Ordering::Relaxed) {}
            frames += 1;
        }
        number += 1;
    }
    let took = (monotonic_now() - start).as_secs_f64().max(1e-9);
    #[expect(clippy::cast_precision_loss, reason = "a count of frames is below 2^53")]
    Offered { frames, pps: number as f64 / took }
}

/// What came at one end.
#[derive(Debug, Default)]
pub(super) struct ReceivedFrames {
    pub(super) frames: u64,
    /// From each frame's stamp to the kernel's here, nanoseconds.
    pub(super) latencies: Vec<i64>,
}

/// Receives until `stop`, and then what is still there. Room is made for `expected` frames.
pub(super) fn receive(mut receiver: TestReceiver, expected: usize, stop: &AtomicBool) -> ReceivedFrames {
    let mut came = ReceivedFrames { frames: 0, latencies: Vec::with_capacity(expected) };
    loop {
        let is_last = stop.load(Ordering::Acquire);
        while receiver.receive(|frame| came.take(frame.octets, frame.stamp.as_nanos())) > 0 {}
        if is_last {
            // What found no room in the ring has come all the same.
            came.frames += receiver.kernel_drops().unwrap_or(0);
            return came;
        }
        std::thread::sleep(POLL_INTERVAL);
    }
}

impl ReceivedFrames {
    fn take(&mut self, octets: &[u8], at: i64) {
        let stamp = octets.get(STAMP..STAMP + 8).and_then(|octets| octets.try_into().ok());
        if let Some(stamp) = stamp.filter(|_| octets.get(12..14) == Some(&PROTOCOL)) {
            self.frames += 1;
            if self.latencies.len() < self.latencies.capacity() {
                self.latencies.push(at - i64::from_be_bytes(stamp));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_frames_of_ours_are_counted_and_their_latency_is_from_their_stamp() {
        let mut came = ReceivedFrames { frames: 0, latencies: Vec::with_capacity(1) };
        let mut frame = vec![2; 60];
        frame[STAMP..STAMP + 8].copy_from_slice(&1_000_i64.to_be_bytes());
        came.take(&frame, 1_700);
        assert_eq!(came.frames, 0);
        frame[12..14].copy_from_slice(&PROTOCOL);
        came.take(&frame, 1_700);
        came.take(&frame, 1_900);
        assert_eq!((came.frames, came.latencies.as_slice()), (2, [700].as_slice()));
        came.take(&frame[..20], 0);
        assert_eq!(came.frames, 2);
    }
}

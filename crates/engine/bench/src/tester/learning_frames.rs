//! What comes before a trial: whether the device forwards at all, and that it knows the way to every address.

use std::collections::BTreeSet;
use std::os::fd::AsFd;
use std::sync::atomic::{AtomicBool, Ordering};

use romer_host::clock::monotonic_now;
use romer_host::socket::wait_any;
use romer_units::{Duration, Monotonic, Timestamp};
use romer_wire::neighbour::ask as question;
use romer_wire::test_frame::{Mark, Signature};

use super::Tester;
use crate::error::BenchError;
use crate::frames::{Store, addresses, flows, sizes_of};
use crate::options::{AddressRange, BenchOptions, StreamOptions};
use crate::recognise::{Recognised, recognise};

/// How often a frame that looks whether the device forwards is repeated, and a lesson with it.
const AGAIN: Duration = Duration::from_millis(100);
/// Addresses of a stream's range that a device is taught before a trial, at the most.
const TAUGHT: u32 = 1_024;
/// How long a device is given to learn, where nothing comes of it, beside the time that the path takes.
const LEARNING: Duration = Duration::from_millis(100);
/// Times that the path is passed until the first frame for a new address is here: there by the frame itself, from and to the
/// tester by the device's question and its answer, and once more by the frame.
const PASSES: i64 = 4;
/// Sizes of a stream's frames that are tried at the most: all of them within a second.
const TRIED: usize = 8;
/// How long is waited for frames at a time.
const POLL_INTERVAL: Duration = Duration::from_millis(10);

impl Tester {
    /// Teaches the device where the destination is, and sends frames until one of them comes out: of the first stream, and
    /// where nothing comes of it, of all; of the size that came the last time, and where nothing comes of it, of the others: a
    /// device may drop those of one size. Then every address of the streams is taught. How many frames were sent, or with
    /// `Err` how many of each stream, where none came within `patience` and the time that the path was last seen to take.
    pub(super) fn look_for_the_way(
        &mut self,
        options: &BenchOptions,
        patience: Duration,
        stop: &AtomicBool,
    ) -> Result<Result<u64, Vec<u64>>, BenchError> {
        let signature = self.signature();
        let tried = tried(options);
        if tried.is_empty() || options.frames.is_empty() {
            return Ok(Ok(0));
        }
        let of_each: Vec<BTreeSet<u32>> = tried.iter().map(|sizes| sizes.iter().copied().collect()).collect();
        let mut store = Store::of_sizes(options, self.macs, &of_each, signature)?;
        // Where frames for the destination will come out, a switch learns by this, and a router too.
        let lesson = question(options.source, options.destination, self.host.mac);
        let begin = monotonic_now();
        let end = begin + patience + self.passes();
        let mut next = begin;
        let mut turn = self.turn;
        // When each frame of each stream left, and in which turn.
        let mut sent: Vec<Vec<(Timestamp<Monotonic>, usize)>> = vec![Vec::new(); tried.len()];
        let came = loop {
            let now = monotonic_now();
            if now >= end || stop.load(Ordering::Relaxed) {
                return Ok(Err(sent.iter().map(|times| times.len() as u64).collect()));
            }
            if now >= next {
                next = now + AGAIN.max(self.path + self.path);
                if let Some(lesson) = &lesson {
                    let _ = self.host.sender.send(&[lesson]);
                }
                // One frame costs a policer least, and is enough of a device that lets the first stream pass.
                let first = sent.iter().all(Vec::is_empty);
                let streams = if first { 1 } else { sent.len() };
                let each = (0_u16..).zip(&tried).zip(&mut sent).zip(&options.streams);
                // What the device is to drop tells nothing.
                let each = each.filter(|(_, stream)| !stream.expect_drop).map(|(one, _)| one);
                for ((number, sizes), times) in each.take(streams) {
                    let sequence = u32::try_from(times.len()).unwrap_or(u32::MAX);
                    times.push((monotonic_now(), turn));
                    self.give(&mut store, in_turn(sizes, turn), Mark { stream: number, sequence, sent: 0 });
                }
                // All streams have their turn before another size has.
                turn += usize::from(!first || streams == sent.len());
            }
            if let Some(mark) = self.take_in(signature).first().copied() {
                break mark;
            }
            wait_any(&[self.receiver.as_fd()], None, Some(POLL_INTERVAL))?;
        };
        let times = sent.get(usize::from(came.stream));
        let left = times.zip(usize::try_from(came.sequence).ok()).and_then(|(times, place)| times.get(place));
        // A frame that took longer than a silent device is waited for was held by one that came back.
        self.path = left.map_or(Duration::ZERO, |(left, _)| monotonic_now() - *left).min(options.patience);
        self.turn = left.map_or(self.turn, |(_, turn)| *turn);
        self.teach(options, &tried, (&mut store, signature), came.stream)?;
        Ok(Ok(sent.iter().map(|times| times.len() as u64).sum()))
    }

    /// How long the first frame for a new address is under way at the most, as far as the path is known.
    fn passes(&self) -> Duration {
        Duration::from_nanos(self.path.as_nanos().saturating_mul(PASSES))
    }

    /// Sends a frame of this size, where there is one; whether it left.
    fn give(&mut self, store: &mut Store, octets: u32, mark: Mark) -> bool {
        let mut frame = vec![0; usize::try_from(octets).unwrap_or(0)];
        let Some(length) = store.put(octets, mark, &mut frame) else { return false };
        let (taken, _) = self.sender.send(&[&frame[..length]]);
        self.probes += taken as u64;
        taken > 0
    }

    /// Sends a frame to every address of the streams, so that the device does not have to find them out in a trial, and waits
    /// for them and for its questions as long as the path takes. The one address of the stream of which a frame has come is
    /// known.
    fn teach(
        &mut self,
        options: &BenchOptions,
        tried: &[Vec<u32>],
        (store, signature): (&mut Store, Signature),
        came: u16,
    ) -> Result<(), BenchError> {
        let mut missing = 0_usize;
        for (number, times) in untaught(options, came) {
            let octets = tried.get(usize::from(number)).map_or(0, |sizes| in_turn(sizes, self.turn));
            // As many frames go through the range once.
            for sequence in 0..times {
                let left = self.give(store, octets, Mark { stream: number, sequence, sent: 0 });
                missing += usize::from(left);
            }
        }
        let wait = LEARNING + self.passes();
        let mut end = monotonic_now() + wait;
        while missing > 0 && monotonic_now() < end {
            let came = self.take_in(signature).len();
            if came > 0 {
                missing = missing.saturating_sub(came);
                end = monotonic_now() + wait;
            } else {
                wait_any(&[self.receiver.as_fd()], None, Some(POLL_INTERVAL))?;
            }
        }
        Ok(())
    }

    /// Takes all that has come, and answers questions; the marks of the frames with this signature.
    fn take_in(&mut self, signature: Signature) -> Vec<Mark> {
        let (host, mut came) = (&mut self.host, Vec::new());
        while self.receiver.receive(|frame| match recognise(signature, frame.octets, &[]) {
            Recognised::Test { mark, .. } => came.push(mark),
            Recognised::Damaged => {}
            Recognised::Other => host.answer(frame.octets),
        }) > 0
        {}
        came
    }
}

/// Octets of the frames of each stream by which it is looked whether the device forwards, in their order: the smallest, the
/// largest, and of those between as many as there is time for.
fn tried(options: &BenchOptions) -> Vec<Vec<u32>> {
    let of = |stream: &StreamOptions, least| {
        let own = stream.frames.as_ref().map_or(&options.frames[..], std::slice::from_ref);
        let sizes: BTreeSet<u32> = own.iter().flat_map(|frames| sizes_of(frames, least)).collect();
        let mut sizes: Vec<u32> = sizes.into_iter().collect();
        let largest = (sizes.len() > 1).then(|| sizes.pop()).flatten();
        let apart = sizes.len().div_ceil(TRIED - 1).max(1);
        let mut tried: Vec<u32> = sizes.into_iter().step_by(apart).collect();
        if tried.is_empty() {
            tried.push(least);
        }
        tried.splice(1..1, largest);
        tried
    };
    options.streams.iter().zip(flows(options)).map(|(stream, flow)| of(stream, flow.least)).collect()
}

/// The size that has its turn.
fn in_turn(sizes: &[u32], turn: usize) -> u32 {
    sizes.get(turn % sizes.len().max(1)).copied().unwrap_or(0)
}

/// The streams whose addresses a device does not know by a frame of the stream `came`, and how many frames go through those of
/// each.
fn untaught(options: &BenchOptions, came: u16) -> Vec<(u16, u32)> {
    let way = |number: usize| {
        let stream = options.streams.get(number)?;
        Some((stream.tag.map(romer_wire::ethernet::Tag::vlan), addresses(options, stream)))
    };
    // Frames go through both ranges at once.
    let times = |(from, to): (AddressRange, AddressRange)| from.count().max(to.count()).min(TAUGHT);
    let mut known: Vec<_> = way(usize::from(came)).filter(|way| times(way.1) == 1).into_iter().collect();
    let mut untaught = Vec::new();
    let passing = (0..).zip(&options.streams).filter(|(_, stream)| !stream.expect_drop);
    for (number, _) in passing {
        let (Some(way), Ok(place)) = (way(number), u16::try_from(number)) else { continue };
        if !known.contains(&way) {
            untaught.push((place, times(way.1)));
            known.push(way);
        }
    }
    untaught
}

#[cfg(test)]
mod tests {
    use romer_method::Frames;
    use romer_units::FrameSize;

    use super::*;
    use crate::simulated::sweep;

    #[test]
    fn every_size_has_its_turn_the_smallest_and_the_largest_first() {
        let size = |octets| Frames::Size(FrameSize::new(octets).unwrap());
        let frames = [64, 1_518, 512].map(size).to_vec();
        let own = StreamOptions {
            frames: Some(Frames::Mixture("simple".parse().unwrap())),
            ..StreamOptions::default()
        };
        let options = BenchOptions { frames, streams: vec![StreamOptions::default(), own], ..sweep(&[0.5]) };
        let tried = tried(&options);
        assert_eq!(tried[0], [64, 1_518, 512]);
        assert_eq!(tried[1].len(), 3, "{tried:?}");
        assert_eq!([0, 1, 2, 3].map(|turn| in_turn(&tried[0], turn)), [64, 1_518, 512, 64]);
        // Of a wide range some, its ends with them.
        let frames = (64..=1_518).map(size).collect();
        let wide = super::tried(&BenchOptions { frames, ..options });
        assert!((4..=TRIED).contains(&wide[0].len()), "{wide:?}");
        assert_eq!(wide[0][..2], [64, 1_518]);
    }

    #[test]
    fn every_address_that_no_frame_has_come_from_is_taught_once() {
        let to = |first: &str, last: &str| StreamOptions {
            destination: AddressRange::new(first.parse().unwrap(), last.parse().unwrap()),
            ..StreamOptions::default()
        };
        let plain = StreamOptions::default;
        let streams = vec![
            plain(),
            plain(),
            to("198.19.0.7", "198.19.0.7"),
            to("198.19.0.10", "198.19.0.19"),
            to("198.19.0.10", "198.19.0.19"),
            to("198.19.0.7", "198.19.0.7"),
        ];
        let options = BenchOptions { streams, ..sweep(&[0.5]) };
        assert_eq!(untaught(&options, 0), [(2, 1), (3, 10)]);
        assert_eq!(
            untaught(&options, 2),
            [(0, 1), (3, 10)],
            "the destination of all was not seen to be reached"
        );
        assert_eq!(
            untaught(&options, 3),
            [(0, 1), (2, 1), (3, 10)],
            "one frame has shown one address of ten"
        );
        let from = |last: &str| StreamOptions {
            source: AddressRange::new("198.18.9.10".parse().unwrap(), last.parse().unwrap()),
            ..to("198.19.0.10", "198.19.0.12")
        };
        let streams = vec![plain(), from("198.18.9.11"), from("198.18.9.19")];
        let ranges = BenchOptions { streams, ..options.clone() };
        assert_eq!(untaught(&ranges, 0), [(1, 3), (2, 10)], "sources are addresses as well");
        assert_eq!(untaught(&BenchOptions { streams: vec![plain()], ..options }, 0), []);
    }
}

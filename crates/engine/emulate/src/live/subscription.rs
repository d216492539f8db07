//! Samples of what the bridge does to packets, for whoever listens: bounded, and whole or not at all.
//!
//! The bridge's thread gives each packet's arrival and each fate into a channel of fixed size and never waits. A packet
//! is taken into a feed only if there is room for everything that will be told of it, so a feed that is read too
//! slowly misses whole packets, and how many is known. Room comes back when the reader has been given the packet.

use std::collections::VecDeque;
use std::io::{self, Write};
use std::num::NonZeroU32;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, SyncSender, TryRecvError, sync_channel};

use romer_impair::{Admission, Cause, Nanos, Outcome, Packet, PortId};

use crate::departures::DepartureLine;

/// Feeds that one bridge serves at once.
pub const MOST_FEEDS: usize = 8;
/// The most octets of frames that a feed keeps.
const MOST_KEPT: usize = 64 << 20;

/// What a feed is to give.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FeedOptions {
    /// Arrivals and fates that may be under way, in the channel or for packets still held. A packet takes 2, and 1 more
    /// for each copy.
    pub capacity: u32,
    /// Only packets whose ordinal is a multiple of this.
    pub every: NonZeroU32,
    /// With the octets of each packet as it arrived.
    pub octets: bool,
}

impl Default for FeedOptions {
    fn default() -> Self {
        Self { capacity: 1 << 16, every: NonZeroU32::MIN, octets: false }
    }
}

/// A packet, and all that became of it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Sampled {
    /// Which arrival of its port it was, from 0.
    pub ordinal: u64,
    /// Index of the port of arrival: 0 for a.
    pub port: usize,
    /// Octets of the frame with its check sequence.
    pub size: u32,
    /// When it counts as arrived, nanoseconds from the bridge's start: by the kernel's stamp, but not before what was
    /// decided when it came to light.
    pub arrival: Nanos,
    /// Of the packet itself first, then of its copies.
    pub fates: Vec<PacketFate>,
    /// The frame as it arrived, without its check sequence; empty where octets were not asked for.
    pub octets: Vec<u8>,
    owed: u16,
}

impl Sampled {
    /// The port of arrival.
    pub(super) const fn way(&self) -> PortId {
        if self.port == 0 { PortId::A } else { PortId::B }
    }

    /// Writes its lines of a table of departures ([`crate::DEPARTURES_HEADER`]), one for itself and each copy.
    ///
    /// # Errors
    /// Those of `out`.
    pub fn write(&self, out: &mut (impl Write + ?Sized)) -> io::Result<()> {
        for fate in &self.fates {
            self.line(fate).write(out)?;
            out.write_all(b"\n")?;
        }
        Ok(())
    }

    /// As [`Sampled::write`], with one column more: `rate_queue_ns`, empty where no rate was met.
    ///
    /// # Errors
    /// Those of `out`.
    pub fn write_with_rate_queue(&self, out: &mut (impl Write + ?Sized)) -> io::Result<()> {
        for fate in &self.fates {
            self.line(fate).write(out)?;
            match fate.rate_queue {
                Some(waited) => writeln!(out, ",{waited}")?,
                None => out.write_all(b",\n")?,
            }
        }
        Ok(())
    }

    const fn line(&self, fate: &PacketFate) -> DepartureLine {
        DepartureLine {
            ordinal: self.ordinal,
            copy: fate.copy,
            port: self.way().letter(),
            size: self.size,
            arrival: self.arrival,
            departure: fate.departure,
            lost: fate.lost,
            requested: fate.requested,
            displacement: fate.displacement,
        }
    }
}

/// What became of a packet or a copy.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PacketFate {
    /// 0 for the packet itself, from 1 for copies.
    pub copy: u8,
    /// When it was given to the port, nanoseconds from the bridge's start, and as the how-manieth of its direction.
    pub departure: Option<(Nanos, u64)>,
    /// Why it did not leave.
    pub lost: Option<Cause>,
    /// The delay that was asked for; `None` where it was lost before there was one.
    pub requested: Option<Nanos>,
    /// How long it was in the rate's queue and on its way out at the rate; `None` where it met no rate.
    pub rate_queue: Option<Nanos>,
    /// How many packets were to go past it.
    pub displacement: u32,
    /// Whether bits were turned over.
    pub corrupted: bool,
}

enum FeedEvent {
    Arrived { packet: Sampled, octets: Option<(Box<[u8]>, usize)> },
    Fate { port: usize, ordinal: u64, fate: PacketFate },
}

#[derive(Debug, Default)]
struct FeedCounts {
    /// Room that came back.
    returned: AtomicU64,
    missed: AtomicU64,
}

/// The reader's end. Dropping it ends the feed.
#[derive(Debug)]
pub struct SampleFeed {
    events: Receiver<FeedEvent>,
    buffers: Option<SyncSender<Box<[u8]>>>,
    counts: Arc<FeedCounts>,
    pending: [VecDeque<Sampled>; 2],
    started_realtime: i64,
    ended: bool,
}

/// The bridge's end.
#[derive(Debug)]
pub(super) struct Producer {
    events: SyncSender<FeedEvent>,
    buffers: Option<Receiver<Box<[u8]>>>,
    counts: Arc<FeedCounts>,
    options: FeedOptions,
    /// Arrivals given and fates promised so far.
    taken: u64,
    /// The first ordinals that can be its own.
    first: [u64; 2],
}

impl std::fmt::Debug for FeedEvent {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Event")
    }
}

/// A feed with frames of at most `frame_octets`, of a bridge that began at `started_realtime` (nanoseconds of 1970).
pub(super) fn feed(
    options: FeedOptions,
    frame_octets: usize,
    started_realtime: i64,
) -> (Producer, SampleFeed) {
    let capacity = options.capacity.max(4);
    let options = FeedOptions { capacity, ..options };
    let (give, events) = sync_channel(usize::try_from(capacity).unwrap_or(usize::MAX));
    let counts = Arc::new(FeedCounts::default());
    let (mut spare, mut back) = (None, None);
    if options.octets {
        let most = (MOST_KEPT / frame_octets.max(1)).max(1);
        let number = usize::try_from(capacity / 2).unwrap_or(usize::MAX).min(most);
        let (give_back, buffers) = sync_channel(number);
        for _ in 0..number {
            // There is room for each.
            let _ = give_back.try_send(vec![0; frame_octets].into_boxed_slice());
        }
        (spare, back) = (Some(buffers), Some(give_back));
    }
    let tap = Producer {
        events: give,
        buffers: spare,
        counts: Arc::clone(&counts),
        options,
        taken: 0,
        first: [0; 2],
    };
    let pending = [VecDeque::new(), VecDeque::new()];
    (tap, SampleFeed { events, buffers: back, counts, pending, started_realtime, ended: false })
}

impl SampleFeed {
    /// Hands over every packet of which all is known, in order of arrival, and does not wait: a packet that is still
    /// held holds back those that arrived after it. How many there were.
    pub fn drain(&mut self, mut each: impl FnMut(&Sampled)) -> usize {
        loop {
            match self.events.try_recv() {
                Ok(event) => self.take(event),
                Err(TryRecvError::Empty) => break,
                Err(TryRecvError::Disconnected) => {
                    self.ended = true;
                    break;
                }
            }
        }
        let mut number = 0;
        while let Some(packet) = self.next_whole() {
            each(&packet);
            number += 1;
            self.counts.returned.fetch_add(1 + packet.fates.len() as u64, Ordering::Release);
            if let Some(buffers) = self.buffers.as_ref().filter(|_| packet.octets.capacity() > 0) {
                // There is room for all that were made.
                let _ = buffers.try_send(boxed(packet.octets));
            }
        }
        number
    }

    /// Packets that were not taken in because the feed was not read in time.
    pub fn missed(&self) -> u64 {
        self.counts.missed.load(Ordering::Relaxed)
    }

    /// The host's real-time clock when the bridge began, nanoseconds since 1970: what arrivals and departures count
    /// from.
    pub const fn started_realtime(&self) -> i64 {
        self.started_realtime
    }

    /// Whether the bridge has ended and everything was handed over.
    pub const fn has_ended(&self) -> bool {
        self.ended
    }

    fn take(&mut self, event: FeedEvent) {
        match event {
            FeedEvent::Arrived { mut packet, octets } => {
                if let Some((buffer, length)) = octets {
                    packet.octets = buffer.into_vec();
                    packet.octets.truncate(length);
                }
                self.pending[packet.port].push_back(packet);
            }
            FeedEvent::Fate { port, ordinal, fate } => {
                let pending = &mut self.pending[port];
                if let Ok(place) = pending.binary_search_by_key(&ordinal, |packet| packet.ordinal) {
                    pending[place].owed = pending[place].owed.saturating_sub(1);
                    pending[place].fates.push(fate);
                }
            }
        }
    }

    /// The packet that arrived first of those that are here, if nothing more is to come of it.
    fn next_whole(&mut self) -> Option<Sampled> {
        let arrivals = [0, 1].map(|port| self.pending[port].front().map(|packet| packet.arrival));
        let port = match arrivals {
            [Some(a), Some(b)] => usize::from(b < a),
            [a, _] => usize::from(a.is_none()),
        };
        let mut packet = self.pending[port].pop_front()?;
        if packet.owed > 0 {
            self.pending[port].push_front(packet);
            return None;
        }
        packet.fates.sort_unstable_by_key(|fate| fate.copy);
        Some(packet)
    }
}

/// A buffer as it was before it was filled.
fn boxed(mut octets: Vec<u8>) -> Box<[u8]> {
    octets.resize(octets.capacity(), 0);
    octets.into_boxed_slice()
}

impl Producer {
    /// Takes an arrival in, if there is room for it and its fates; whether it did.
    fn arrived(&mut self, packet: &Sampled, octets: &[u8]) -> bool {
        if !packet.ordinal.is_multiple_of(u64::from(self.options.every.get())) {
            return false;
        }
        let needed = 1 + u64::from(packet.owed.max(1));
        let under_way = self.taken - self.counts.returned.load(Ordering::Acquire);
        let has_room = under_way + needed <= u64::from(self.options.capacity);
        let buffer = match &self.buffers {
            Some(buffers) if has_room => match buffers.try_recv() {
                Ok(mut buffer) => {
                    let length = octets.len().min(buffer.len());
                    buffer[..length].copy_from_slice(&octets[..length]);
                    Some((buffer, length))
                }
                Err(_) => return self.miss(),
            },
            _ => None,
        };
        if !has_room {
            return self.miss();
        }
        let packet = Sampled { fates: Vec::new(), octets: Vec::new(), ..*packet };
        self.taken += needed;
        self.events.try_send(FeedEvent::Arrived { packet, octets: buffer }).is_ok()
    }

    fn miss(&self) -> bool {
        self.counts.missed.fetch_add(1, Ordering::Relaxed);
        false
    }
}

/// All feeds of a bridge.
#[derive(Debug)]
pub(super) struct Producers {
    producers: [Option<Producer>; MOST_FEEDS],
    /// How many packets have left, by port of arrival.
    ranks: [u64; 2],
    ordinals: [u64; 2],
    start: Nanos,
}

/// Which feeds know of a packet: a bit for each.
pub(super) type SubscriberSet = u8;

impl Producers {
    pub(super) fn new(start: Nanos) -> Self {
        Self { producers: Default::default(), ranks: [0; 2], ordinals: [0; 2], start }
    }

    /// Serves one more; whether there was a place.
    pub(super) fn add(&mut self, mut tap: Producer) -> bool {
        tap.first = self.ordinals;
        let place = self.producers.iter_mut().find(|place| place.is_none());
        place.map(|place| *place = Some(tap)).is_some()
    }

    /// A packet has arrived.
    pub(super) fn arrived(&mut self, packet: &Packet, admission: &Admission, octets: &[u8]) -> SubscriberSet {
        let port = packet.port.index();
        self.ordinals[port] = admission.ordinal + 1;
        let mut known = 0;
        for (bit, place) in self.producers.iter_mut().enumerate() {
            let Some(tap) = place else { continue };
            let sampled = Sampled {
                ordinal: admission.ordinal,
                port,
                size: packet.length,
                arrival: admission.arrival - self.start,
                owed: admission.outcomes.max(1),
                ..Sampled::default()
            };
            if tap.arrived(&sampled, octets) {
                known |= 1 << bit;
            }
        }
        if let Some(cause) = admission.lost {
            let fate = PacketFate {
                copy: 0,
                departure: None,
                lost: Some(cause),
                requested: None,
                rate_queue: None,
                displacement: 0,
                corrupted: false,
            };
            self.push_fate(known, packet.port, admission.ordinal, fate);
        }
        known
    }

    /// A packet or copy has left at `time`.
    pub(super) fn left(&mut self, known: SubscriberSet, outcome: &Outcome, time: Nanos) {
        let rank = &mut self.ranks[outcome.port.index()];
        let departure = Some((time - self.start, *rank));
        *rank += 1;
        if known != 0 {
            let fate = PacketFate { departure, ..packet_fate(outcome, None) };
            self.push_fate(known, outcome.port, outcome.ordinal, fate);
        }
    }

    /// A packet or copy does not leave.
    pub(super) fn lost(&mut self, known: SubscriberSet, outcome: &Outcome, cause: Cause) {
        if known != 0 {
            self.push_fate(known, outcome.port, outcome.ordinal, packet_fate(outcome, Some(cause)));
        }
    }

    fn push_fate(&mut self, known: SubscriberSet, port: PortId, ordinal: u64, fate: PacketFate) {
        let port = port.index();
        for (bit, place) in self.producers.iter_mut().enumerate() {
            let Some(tap) =
                place.as_ref().filter(|tap| known & (1 << bit) != 0 && tap.first[port] <= ordinal)
            else {
                continue;
            };
            // There is room: it was promised. Who does not listen any more is let go.
            if tap.events.try_send(FeedEvent::Fate { port, ordinal, fate }).is_err() {
                *place = None;
            }
        }
    }

    /// Lets those go who do not listen any more.
    pub(super) fn drop_closed(&mut self) {
        for place in &mut self.producers {
            if place.as_ref().is_some_and(|tap| Arc::strong_count(&tap.counts) == 1) {
                *place = None;
            }
        }
    }
}

fn packet_fate(outcome: &Outcome, lost: Option<Cause>) -> PacketFate {
    PacketFate {
        copy: outcome.copy,
        departure: None,
        lost,
        requested: Some(outcome.requested),
        rate_queue: outcome.rated.then_some(outcome.time - outcome.released),
        displacement: outcome.displacement,
        corrupted: lost.is_none() && outcome.corruption.is_some(),
    }
}

#[cfg(test)]
mod tests {
    use romer_impair::config::{Delay, Duplicate, Model};
    use romer_impair::{Config, Decision, Engine, Limits, Path};

    use super::*;

    fn engine(path: Path) -> Engine {
        let mut config = Config::default();
        config.base.paths[0] = vec![Some(Arc::new(path))];
        Engine::new(config, Limits::fixed(64), 0)
    }

    fn packet(number: u32, arrival: Nanos) -> Packet {
        Packet::new(number, PortId::A, 64, arrival)
    }

    /// A slow reader gets complete packets in order and the number of missed ones.
    #[test]
    fn slow_readers_know_what_they_missed() {
        let always = Decision::Bernoulli { probability: 1.0 };
        let path = Path {
            duplicate: Model::Plain(Duplicate { decision: always, delay: 5 }),
            delay: Model::Plain(Delay { fixed: 100, variable: None }),
            ..Path::default()
        };
        let mut engine = engine(path);
        let options = FeedOptions { capacity: 6, octets: true, ..FeedOptions::default() };
        let (tap, mut feed) = feed(options, 100, 7);
        let mut producers = Producers::new(1_000);
        assert!(producers.add(tap));
        let mut known = Vec::new();
        for number in 0..3 {
            let packet = packet(number, 1_000 + i64::from(number));
            let admission = engine.admit(&packet);
            known.push(producers.arrived(&packet, &admission, &[u8::try_from(number).unwrap(); 60]));
        }
        // Each is told of three times: itself, its fate, its copy's.
        assert_eq!(known, [1, 1, 0]);
        assert_eq!(feed.drain(|_| panic!("all are held")), 0);
        while let Some(outcome) = engine.poll(10_000) {
            producers.left(known[usize::try_from(outcome.ordinal).unwrap()], &outcome, outcome.time);
        }
        let mut seen = Vec::new();
        assert_eq!(feed.drain(|packet| seen.push(packet.clone())), 2);
        assert_eq!(feed.missed(), 1);
        assert_eq!((seen[0].arrival, seen[1].arrival, seen[1].ordinal), (0, 1, 1));
        let departures: Vec<_> = seen[0].fates.iter().map(|fate| (fate.copy, fate.departure)).collect();
        assert_eq!(departures, [(0, Some((100, 0))), (1, Some((105, 3)))]);
        assert_eq!(seen[1].octets, [1; 60]);
        // There is room again.
        let late = packet(3, 20_000);
        let admission = engine.admit(&late);
        assert_eq!(producers.arrived(&late, &admission, &[]), 1);
        drop(feed);
        producers.drop_closed();
        assert!(producers.producers.iter().all(Option::is_none));
    }

    #[test]
    fn what_is_lost_at_once_is_told_with_its_cause_and_others_are_passed_over() {
        let path = Path { loss: Model::Plain(Decision::Bernoulli { probability: 1.0 }), ..Path::default() };
        let mut engine = engine(path);
        let options = FeedOptions { every: NonZeroU32::new(10).unwrap(), ..FeedOptions::default() };
        let (tap, mut feed) = feed(options, 0, 0);
        let mut producers = Producers::new(0);
        producers.add(tap);
        for number in 0..25 {
            let packet = packet(number, i64::from(number));
            let admission = engine.admit(&packet);
            producers.arrived(&packet, &admission, &[]);
        }
        let mut seen = Vec::new();
        feed.drain(|packet| seen.push((packet.ordinal, packet.fates[0].lost)));
        assert_eq!(seen, [0, 10, 20].map(|ordinal| (ordinal, Some(Cause::Model))));
        assert_eq!((feed.missed(), feed.has_ended()), (0, false));
        drop(producers);
        feed.drain(|_| ());
        assert!(feed.has_ended());
    }
}

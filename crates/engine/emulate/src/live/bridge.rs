//! The thread of a bridge: it receives, has the engine decide, waits, and sends.
//!
//! It sleeps until shortly before the next deadline and spins the rest, so that a long delay costs no processor and a
//! short one is held exactly; where packets that must leave at once follow closely, it stays awake (`alertness`). Time
//! begins at the kernel's stamp of arrival, so that a late awakening lies within the delay. On its way nothing is
//! allocated, locked or written.
//!
//! The engine does everything in the order of stamps. Before a packet is admitted, what is due before its arrival is
//! done. What a later packet's fate could depend on is done only when its port has been read up to then
//! ([`Engine::set_received_until`]). So decisions follow from the arrivals as they are recorded, and not from when this
//! thread ran.

use std::collections::VecDeque;
use std::os::fd::AsFd;
use std::sync::mpsc::{Receiver, SyncSender};

use romer_host::clock::monotonic_now;
use romer_host::pacing::Pacer;
use romer_host::socket::{Waker, wait_any};
use romer_host::thread::{Policy, PolicyRun, RealTime, Role};
use romer_impair::{Cause, Config, Engine, Headers, Ledger, Outcome, Packet, PortId};
use romer_port::{Arena, BURST, Frame, LinkState, Port, PortName, Refusal};
use romer_units::{Duration, Monotonic, Timestamp};

use super::busy_poll::BusyPoll;
use super::error::{LiveError, failed};
use super::frames;
use super::statistics::{DirectionTotals, LinkHistory, Raw, Snapshot};
use super::subscription::{Producer, Producers, SubscriberSet};
use crate::headers::{headers, network_length};

/// A deadline nearer than this is waited for by spinning.
const SPIN: Duration = Duration::from_micros(120);
/// A deadline nearer than this is waited for before anything else is done: looking for packets at both ports takes as
/// long, and a packet that comes meanwhile has its stamp.
const NEAR: Duration = Duration::from_micros(3);
/// How often links and the kernel's drops are looked at.
const LINK_POLL_INTERVAL: Duration = Duration::from_millis(50);
/// Rounds with packets after which it is asked all the same whether it is time for that.
const MAX_ROUNDS_BETWEEN_POLLS: u32 = 64;
/// How often a port that sends is asked whether what it takes goes on from there: asking takes a third of the time that
/// sending does.
const ASK: Duration = Duration::from_micros(200);
/// How soon a port that was busy is tried again.
const RETRY: Duration = Duration::from_millis(1);
/// Octets of the check sequence, and of the shortest frame with it.
const CHECK_SEQUENCE: u32 = 4;
const MIN_FRAME_OCTETS: u32 = 64;

/// What others ask of the bridge.
pub(super) enum Command {
    Snapshot(Box<Raw>, SyncSender<Box<Raw>>),
    /// The answer is when it began to hold, after the beginning of the bridge.
    Apply(Box<Config>, SyncSender<Duration>),
    Feed(Box<Producer>, SyncSender<bool>),
    Reset,
    Stop,
}

/// A frame that the engine holds, and how often it will still be given out.
struct HeldFrame {
    frame: Frame,
    outcomes: u16,
    known: SubscriberSet,
}

/// What stands before a port, beside its frame.
struct Leaving {
    outcome: Outcome,
    known: SubscriberSet,
    /// How much later than its stamp the packet counts as arrived.
    postponed: Duration,
}

/// What one burst brought.
struct Taken {
    /// Frames that went to the engine.
    admitted: usize,
    /// All that came to the port up to then is admitted; `None` where that is not known.
    known: Option<Timestamp<Monotonic>>,
}

/// One port, with what waits to leave by it.
struct BridgePort {
    port: Box<dyn Port>,
    name: PortName,
    link: LinkHistory,
    /// When the link was last asked for, and whether what was taken has gone on.
    looked: Timestamp<Monotonic>,
    asked: Timestamp<Monotonic>,
    outbox: VecDeque<Frame>,
    leaving: VecDeque<Leaving>,
    /// Of what arrives here.
    gathered: DirectionTotals,
    /// What came, but never to the engine: by cause.
    refused: [u64; Cause::ALL.len()],
    /// Those of them for which there was no room.
    homeless: u64,
}

impl BridgePort {
    /// Whether what was sent at `time` has gone on from the port, as far as it is time to ask.
    fn tx_completed(&mut self, time: Timestamp<Monotonic>) -> bool {
        if time - self.asked < ASK {
            return true;
        }
        self.asked = time;
        if self.port.carries() {
            return true;
        }
        self.poll_link();
        false
    }

    /// Asks how the link is.
    fn poll_link(&mut self) {
        let now = monotonic_now();
        self.link.see(self.port.link(), now - self.looked);
        self.looked = now;
    }
}

/// The bridge.
pub(super) struct Bridge {
    engine: Engine,
    arena: Arena,
    sides: [BridgePort; 2],
    held: Vec<Option<HeldFrame>>,
    incoming: Vec<Frame>,
    producers: Producers,
    tells_flows_apart: bool,
    alertness: BusyPoll,
    /// When the network began: what a port has from before is none of its packets.
    start: Timestamp<Monotonic>,
    looked: Timestamp<Monotonic>,
}

impl Bridge {
    /// A bridge whose engine began at `start`.
    pub(super) fn new(
        mut engine: Engine,
        start: Timestamp<Monotonic>,
        arena: Arena,
        ports: [Box<dyn Port>; 2],
        names: [PortName; 2],
        tap: Option<Producer>,
    ) -> Self {
        let mut producers = Producers::new(start.as_nanos());
        if let Some(tap) = tap {
            producers.add(tap);
        }
        let slots = usize::try_from(arena.slots()).unwrap_or(0);
        PortId::BOTH.into_iter().for_each(|way| engine.set_received_until(way, start.as_nanos()));
        let mut names = names.into_iter();
        let sides = ports.map(|port| BridgePort {
            link: LinkHistory::new(port.link()),
            port,
            #[expect(clippy::expect_used, reason = "two ports have two names")]
            name: names.next().expect("a name for each port"),
            looked: monotonic_now(),
            asked: monotonic_now(),
            outbox: VecDeque::with_capacity(slots),
            leaving: VecDeque::with_capacity(slots),
            gathered: DirectionTotals::default(),
            refused: [0; Cause::ALL.len()],
            homeless: 0,
        });
        Self {
            tells_flows_apart: !engine.config().flows.is_empty(),
            engine,
            arena,
            sides,
            held: (0..slots).map(|_| None).collect(),
            incoming: Vec::with_capacity(BURST),
            producers,
            alertness: BusyPoll::new(),
            start,
            looked: monotonic_now(),
        }
    }

    /// Works until it is told to stop, or until a port is gone.
    pub(super) fn run(mut self, commands: &Receiver<Command>, waker: &Waker) -> Result<Snapshot, LiveError> {
        let policy = Policy { cpu: None, realtime: RealTime::IfPermitted };
        let mut scheduling = policy.begin(Role::Waits).unwrap_or_default();
        // For its short timer slack, and its precedence where real time is not permitted; deadlines are met here.
        let _pacer = Pacer::start(SPIN);
        self.forget_drops()?;
        let mut gone = None;
        let mut busy = 0;
        loop {
            let came = self.receive(None)?;
            self.run_deadline()?;
            self.flush();
            if !self.handle_commands(commands) {
                break;
            }
            // Reading a clock takes its time, and while packets follow each other the moment does not matter.
            busy = if came > 0 && busy < MAX_ROUNDS_BETWEEN_POLLS { busy + 1 } else { 0 };
            if busy == 0 {
                let now = monotonic_now();
                scheduling.turn(now, now);
                if now - self.looked >= LINK_POLL_INTERVAL {
                    self.poll_link()?;
                    gone = self
                        .sides
                        .iter()
                        .find(|side| side.link.state == LinkState::Gone)
                        .map(|side| side.name.clone());
                    if gone.is_some() {
                        break;
                    }
                }
            }
            if came == 0 {
                self.wait(waker, &mut scheduling)?;
            }
        }
        self.end(gone)
    }

    /// Takes in what has come, up to `last` where that is given; how much that was.
    fn receive(&mut self, last: Option<Timestamp<Monotonic>>) -> Result<usize, LiveError> {
        let mut came = 0;
        for way in PortId::BOTH {
            if came > 0 && last.is_none() {
                // Taking in took its time.
                self.run_deadline()?;
            }
            came += self.receive_burst(way, last)?.admitted;
        }
        Ok(came)
    }

    /// Takes in one burst of what has come to a port, up to `last` where that is given.
    fn receive_burst(&mut self, way: PortId, last: Option<Timestamp<Monotonic>>) -> Result<Taken, LiveError> {
        let before = monotonic_now();
        let side = &mut self.sides[way.index()];
        let mut frames = std::mem::take(&mut self.incoming);
        let received = side.port.rx_burst(&mut self.arena, &mut frames);
        let received = received.map_err(|source| failed(&side.name, source))?;
        side.refused[Cause::Queue.index()] += received.without_slot;
        side.homeless += received.without_slot;
        side.refused[Cause::Oversize.index()] += received.oversize;
        let latest = frames.last().map(Frame::arrival);
        let mut admitted = 0;
        for frame in frames.drain(..) {
            if frame.arrival() < self.start || last.is_some_and(|last| frame.arrival() > last) {
                // It came before the beginning, or after the end.
                self.arena.release(frame);
            } else {
                admitted += 1;
                self.admit(way, frame);
            }
        }
        self.incoming = frames;
        // What waits may have the last frame's stamp. What comes while a near deadline is waited for is admitted after it.
        let known = if received.more {
            latest.map(|latest| latest - Duration::from_nanos(1))
        } else {
            latest.max(Some(before + NEAR))
        };
        if let Some(known) = known {
            self.engine.set_received_until(way, known.as_nanos());
        }
        Ok(Taken { admitted, known })
    }

    /// Takes in all that came to either port up to `moment`.
    fn receive_until(&mut self, moment: Timestamp<Monotonic>) -> Result<(), LiveError> {
        for way in PortId::BOTH {
            let mut known = None;
            while known < Some(moment) {
                known = self.receive_burst(way, None)?.known;
            }
        }
        Ok(())
    }

    fn admit(&mut self, way: PortId, frame: Frame) {
        let octets = self.arena.octets_of(&frame);
        let headers = if self.tells_flows_apart { headers(octets) } else { Headers::default() };
        let whole = u32::try_from(octets.len()).unwrap_or(u32::MAX);
        let length = whole.saturating_add(CHECK_SEQUENCE).max(MIN_FRAME_OCTETS);
        let packet = Packet {
            slot: frame.number(),
            port: way,
            length,
            network_length: network_length(octets, length),
            arrival: frame.arrival().as_nanos(),
            headers,
        };
        // A port gives its packets in the order of their stamps.
        let before = packet.arrival.saturating_sub(1);
        self.engine.set_received_until(way, before);
        self.release(Timestamp::from_nanos(before));
        let held = self.engine.held_for(way);
        let admission = self.engine.admit(&packet);
        let known = self.producers.arrived(&packet, &admission, self.arena.octets_of(&frame));
        let place = self.held.get_mut(usize::try_from(packet.slot).unwrap_or(usize::MAX));
        match place.filter(|_| admission.outcomes > 0) {
            Some(place) => *place = Some(HeldFrame { frame, outcomes: admission.outcomes, known }),
            None => self.arena.release(frame),
        }
        self.sides[way.index()].gathered.arrived(Timestamp::from_nanos(admission.arrival), held);
    }

    /// Waits for a deadline that is near, and sends what is due. All but the sending is done before.
    fn run_deadline(&mut self) -> Result<(), LiveError> {
        let Some(due) = self.engine.next_at().map(Timestamp::from_nanos) else { return Ok(()) };
        let mut now = monotonic_now();
        if due - now > NEAR {
            return Ok(());
        }
        let until = due.max(now);
        for way in PortId::BOTH {
            if self.engine.awaits_arrivals(way, until.as_nanos()) {
                self.receive_burst(way, None)?;
            }
        }
        self.release(until);
        self.reclaim();
        now = monotonic_now();
        while now < due {
            std::hint::spin_loop();
            now = monotonic_now();
        }
        self.send(now);
        Ok(())
    }

    /// Puts what is due by `now` before the ports.
    fn release(&mut self, now: Timestamp<Monotonic>) {
        while let Some(outcome) = self.engine.poll(now.as_nanos()) {
            let Some((frame, known)) = self.take(&outcome) else { continue };
            if let Some(corruption) = &outcome.corruption {
                frames::corrupt(self.arena.octets_of_mut(&frame), corruption);
            }
            let side = &mut self.sides[outcome.port.other().index()];
            let postponed = Timestamp::<Monotonic>::from_nanos(outcome.arrival) - frame.arrival();
            side.outbox.push_back(frame);
            side.leaving.push_back(Leaving { outcome, known, postponed });
        }
    }

    /// The frame that leaves by an outcome, and which feeds know of it; `None` where none leaves.
    fn take(&mut self, outcome: &Outcome) -> Option<(Frame, SubscriberSet)> {
        let place = self.held.get_mut(usize::try_from(outcome.slot).unwrap_or(usize::MAX))?;
        let held = place.as_mut()?;
        let known = held.known;
        held.outcomes -= 1;
        let frame = if held.outcomes == 0 {
            place.take().map(|held| held.frame)
        } else if outcome.lost.is_none() {
            let copy = self.arena.copy(&held.frame);
            if copy.is_none() {
                self.engine.undelivered(outcome, Cause::Queue);
                self.producers.lost(known, outcome, Cause::Queue);
            }
            copy
        } else {
            None
        };
        let Some(cause) = outcome.lost else { return frame.map(|frame| (frame, known)) };
        self.producers.lost(known, outcome, cause);
        if let Some(frame) = frame {
            self.arena.release(frame);
        }
        None
    }

    /// Takes back what has been sent, and sends what stands before the ports.
    fn flush(&mut self) {
        self.reclaim();
        if self.sides.iter().any(|side| !side.outbox.is_empty()) {
            self.send(monotonic_now());
        }
    }

    fn reclaim(&mut self) {
        for side in &mut self.sides {
            side.port.reclaim(&mut self.arena);
        }
    }

    /// Sends what stands before the ports; it is `time` now.
    fn send(&mut self, time: Timestamp<Monotonic>) {
        let mut time = Some(time);
        for index in 0..self.sides.len() {
            self.flush_side(index, &mut time);
        }
    }

    /// Sends what stands before a port, the first burst at `time` where nobody has used that yet.
    fn flush_side(&mut self, index: usize, time: &mut Option<Timestamp<Monotonic>>) {
        if !self.sides[index].outbox.is_empty() && self.sides[index].link.state == LinkState::Down {
            // It may carry again since it was asked.
            self.sides[index].poll_link();
        }
        while !self.sides[index].outbox.is_empty() {
            let side = &mut self.sides[index];
            let refused = if side.link.state == LinkState::Up {
                let time = time.take().unwrap_or_else(monotonic_now);
                let sent = side.port.tx_burst(&mut self.arena, &mut side.outbox);
                if sent.frames > 0 && !side.tx_completed(time) {
                    self.dropped(index, sent.frames);
                } else {
                    self.departed(index, sent.frames, time);
                }
                sent.refused
            } else {
                Some(Refusal::Undeliverable)
            };
            match refused {
                None => {}
                Some(Refusal::Busy) => return,
                Some(Refusal::Oversize) => self.give_up(index, Cause::Oversize),
                Some(Refusal::Undeliverable) => self.give_up(index, Cause::Undeliverable),
            }
        }
    }

    /// So many frames have left by a port at `time`.
    fn departed(&mut self, index: usize, frames: usize, time: Timestamp<Monotonic>) {
        for _ in 0..frames {
            let Some(Leaving { outcome, known, postponed }) = self.sides[index].leaving.pop_front() else {
                return;
            };
            self.sides[outcome.port.index()].gathered.departed(&outcome, postponed, time);
            if outcome.requested < SPIN.as_nanos() {
                self.alertness.left(time);
            }
            self.producers.left(known, &outcome, time.as_nanos());
        }
    }

    /// So many frames were taken by a port and dropped there, because its link is down.
    fn dropped(&mut self, index: usize, frames: usize) {
        for _ in 0..frames {
            let Some(Leaving { outcome, known, .. }) = self.sides[index].leaving.pop_front() else { return };
            self.engine.undelivered(&outcome, Cause::Undeliverable);
            self.producers.lost(known, &outcome, Cause::Undeliverable);
        }
    }

    /// The first frame before a port does not leave.
    fn give_up(&mut self, index: usize, cause: Cause) {
        let side = &mut self.sides[index];
        if let (Some(frame), Some(Leaving { outcome, known, .. })) =
            (side.outbox.pop_front(), side.leaving.pop_front())
        {
            self.arena.release(frame);
            self.engine.undelivered(&outcome, cause);
            self.producers.lost(known, &outcome, cause);
        }
    }

    /// Does what others ask; whether to go on.
    fn handle_commands(&mut self, commands: &Receiver<Command>) -> bool {
        while let Ok(command) = commands.try_recv() {
            // One who does not wait for the answer any more is not told.
            match command {
                Command::Snapshot(mut raw, answer) => {
                    let _ = self.count_kernel_drops();
                    self.fill(&mut raw);
                    let _ = answer.try_send(raw);
                }
                Command::Feed(tap, answer) => {
                    let _ = answer.try_send(self.producers.add(*tap));
                }
                Command::Apply(config, answer) => {
                    let _ = answer.try_send(self.apply(*config) - self.start);
                }
                Command::Reset => self.sides.iter_mut().for_each(|side| side.gathered.clear()),
                Command::Stop => return false,
            }
        }
        true
    }

    /// Another configuration from now on; since when exactly. What came before is of the time before it.
    fn apply(&mut self, config: Config) -> Timestamp<Monotonic> {
        let now = monotonic_now();
        // A port that fails is seen when it is read next.
        let _ = self.receive_until(now);
        let moment = self.engine.moment_from(now.as_nanos());
        let before = moment.saturating_sub(1);
        PortId::BOTH.into_iter().for_each(|way| self.engine.set_received_until(way, before));
        self.release(Timestamp::from_nanos(before));
        self.tells_flows_apart = !config.flows.is_empty();
        Timestamp::from_nanos(self.engine.apply(config, moment))
    }

    fn poll_link(&mut self) -> Result<(), LiveError> {
        self.sides.iter_mut().for_each(BridgePort::poll_link);
        self.looked = monotonic_now();
        self.producers.drop_closed();
        self.count_kernel_drops()
    }

    /// What the kernel dropped until now, between the opening of the ports and the beginning, is not counted.
    fn forget_drops(&mut self) -> Result<(), LiveError> {
        for side in &mut self.sides {
            side.port.kernel_drops().map_err(|source| failed(&side.name, source))?;
        }
        Ok(())
    }

    fn count_kernel_drops(&mut self) -> Result<(), LiveError> {
        for way in PortId::BOTH {
            let side = &mut self.sides[way.index()];
            let drops = side.port.kernel_drops();
            let drops = drops.map_err(|source| failed(&side.name, source))?;
            self.engine.dropped_before(way, drops);
        }
        Ok(())
    }

    /// Sleeps until something comes, is soon due, or is asked for.
    fn wait(&self, waker: &Waker, scheduling: &mut PolicyRun) -> Result<(), LiveError> {
        let now = monotonic_now();
        let mut end = self.looked + LINK_POLL_INTERVAL;
        if self.sides.iter().any(|side| !side.outbox.is_empty()) {
            end = end.min(now + RETRY);
        }
        if let Some(due) = self.engine.next_at() {
            end = end.min(Timestamp::from_nanos(due) - SPIN);
        }
        let timeout = end - now;
        if timeout <= Duration::ZERO || self.alertness.is_awake(now) {
            std::hint::spin_loop();
            return Ok(());
        }
        let ports = [self.sides[0].port.as_fd(), self.sides[1].port.as_fd()];
        wait_any(&ports, Some(waker), Some(timeout))?;
        scheduling.turn(now, monotonic_now());
        Ok(())
    }

    fn fill(&self, raw: &mut Raw) {
        for way in PortId::BOTH {
            let side = &self.sides[way.index()];
            let correlation = self.engine.correlation(way);
            raw.fill(way.index(), &side.gathered, self.ledger(way), side.homeless, side.link, correlation);
        }
    }

    /// The engine's counts, with what never came to it and with what has not left yet.
    fn ledger(&self, way: PortId) -> Ledger {
        let mut ledger = *self.engine.ledger(way);
        for (lost, refused) in ledger.lost.iter_mut().zip(self.sides[way.index()].refused) {
            *lost += refused;
            ledger.received += refused;
        }
        for Leaving { outcome, .. } in &self.sides[way.other().index()].leaving {
            ledger.transmitted -= 1;
            ledger.queued += 1;
            ledger.corrupted -= u64::from(outcome.corruption.is_some());
        }
        ledger
    }

    /// The end: what came before it is taken in, what is due leaves, and the rest is lost.
    fn end(mut self, gone: Option<PortName>) -> Result<Snapshot, LiveError> {
        let now = monotonic_now();
        while self.receive(Some(now))? > 0 {}
        PortId::BOTH.into_iter().for_each(|way| self.engine.set_received_until(way, now.as_nanos()));
        self.release(now);
        self.flush();
        for index in 0..self.sides.len() {
            while !self.sides[index].outbox.is_empty() {
                self.give_up(index, Cause::Shutdown);
            }
        }
        while let Some(outcome) = self.engine.shut_down(now.as_nanos()) {
            if let Some((frame, _)) = self.take(&outcome) {
                self.arena.release(frame);
            }
        }
        self.count_kernel_drops()?;
        let mut raw = Raw::new();
        self.fill(&mut raw);
        Ok(raw.gone(gone).snapshot())
    }
}

#[cfg(test)]
#[path = "bridge_tests.rs"]
mod tests;

//! The state machine of the receiver.

use romer_units::{Duration, Monotonic, Timestamp};

use crate::limits::{MAX_PACKETS, Quota};
use crate::message::{ReceiverMessage, SenderMessage, TestOffer};
use crate::packet::{Packet, PacketKind};

/// How long after the end, or after the latest packet, packets that are still on the path may arrive. A queue of the path may hold
/// them while the control connection takes another queue.
pub const DRAIN_TIMEOUT: Duration = Duration::from_secs(1);
/// How long after the latest message the time stamps of the sender may take to continue.
pub const STAMPS_TIMEOUT: Duration = Duration::from_secs(3);
/// The longest wait for packets and time stamps after the end.
pub const MAX_DRAIN: Duration = Duration::from_secs(60);
/// The same for a user who interrupts the program.
pub const MAX_DRAIN_INTERRUPTED: Duration = Duration::from_secs(3);

/// How long after its offer the first packet of a sender may take before another sender may come. A sender sends it as soon as the
/// receiver is ready.
pub const FIRST_PACKET_TIMEOUT: Duration = Duration::from_secs(10);

/// Packets behind the last one that arrived which are listed as lost, if the receiver expects no number.
const MAX_TAIL: u64 = 1 << 20;
/// Missing packets for each that arrived, besides [`MAX_TAIL`]: they are listed, so that a large number must not make millions of
/// them. A `.raw` file may lack as many for each.
const MISSING_PER_PACKET: u64 = 16;

/// What is received.
#[derive(Clone, Copy, Debug)]
pub struct ReceiverPlan {
    /// Calibration packets.
    pub calibration: u64,
    /// When the receiver ends the test by itself.
    pub quota: Quota,
    /// Use the kernel's time stamps of departures, which the sender sends at the end.
    pub kernel_stamps: bool,
    /// Wait for a sender on the control connection: packets of other sessions are ignored. Without, the first session that arrives is
    /// received.
    pub wait: bool,
}

/// Why a test ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ReceiverEnd {
    /// All packets that the receiver expected were received, or its time has passed.
    Quota,
    /// A termination packet.
    Termination,
    /// `DONE` on the control connection.
    Done,
    /// The user entered `q`.
    Keyboard,
    /// The user interrupted the program.
    Interrupted,
    /// There is no memory for another packet.
    LogFull,
}

/// What a packet is to the test.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Taken {
    /// A packet to record.
    New,
    /// Another copy of a recorded packet, to record as well.
    Duplicate,
    /// Not to record: a termination packet.
    Termination,
    /// Not to record: of another session, or after the end.
    Ignored,
}

/// What the receiver does next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ReceiverStep {
    /// Wait for an input, at most until then.
    Wait(Option<Timestamp<Monotonic>>),
    /// Write a message to the control connection, if there is one.
    Write(ReceiverMessage),
    /// The test is over.
    Ended(ReceiverEnd),
}

/// The end, while packets or time stamps may still arrive.
#[derive(Clone, Copy, Debug)]
struct Drain {
    end: ReceiverEnd,
    /// The latest packet or message, or the end.
    active: Timestamp<Monotonic>,
    last: Timestamp<Monotonic>,
    is_announced: bool,
}

/// Numbers that arrived.
#[derive(Clone, Debug, Default)]
struct Numbers {
    words: Vec<u64>,
    count: u64,
    highest: Option<u64>,
}

impl Numbers {
    /// Adds a number below [`MAX_PACKETS`]; whether it is new.
    fn insert(&mut self, number: u64) -> bool {
        let place = usize::try_from(number / 64).unwrap_or(usize::MAX);
        if place >= self.words.len() {
            self.words.resize(place.saturating_add(1), 0);
        }
        let Some(word) = self.words.get_mut(place) else { return false };
        let bit: u64 = 1 << (number % 64);
        let is_new = *word & bit == 0;
        *word |= bit;
        self.count += u64::from(is_new);
        self.highest = self.highest.max(Some(number));
        is_new
    }
}

/// The receiver of a test.
#[derive(Clone, Debug)]
pub struct Receiver {
    plan: ReceiverPlan,
    offer: Option<TestOffer>,
    offered_at: Option<Timestamp<Monotonic>>,
    session: Option<u64>,
    has_control: bool,
    is_done: bool,
    is_calibrated: bool,
    numbers: Numbers,
    /// How many packets the sender sent, if it has said so.
    total: Option<u64>,
    measured_from: Option<Timestamp<Monotonic>>,
    drain: Option<Drain>,
}

impl Receiver {
    /// A receiver that waits for its sender.
    pub fn new(plan: ReceiverPlan) -> Self {
        Self {
            plan,
            offer: None,
            offered_at: None,
            session: None,
            has_control: false,
            is_done: false,
            is_calibrated: false,
            numbers: Numbers::default(),
            total: None,
            measured_from: None,
            drain: None,
        }
    }

    /// Packets that were received, without copies.
    pub const fn received(&self) -> u64 {
        self.numbers.count
    }

    /// The session that is received, once it is known.
    pub const fn session(&self) -> Option<u64> {
        self.session
    }

    /// Whether the calibration is complete: the sender says so, or a measured packet has arrived. A test without calibration packets
    /// begins with this.
    pub const fn is_calibrated(&self) -> bool {
        self.is_calibrated
    }

    /// What the sender said on the control connection.
    pub const fn offer(&self) -> Option<TestOffer> {
        self.offer
    }

    /// Whether the sender ended the test before it had sent what it announced: the packets, or with a time a packet after the calibration.
    /// Without an announcement, that is the receiver's own number of calibration packets. A sender with a service that sends no packet at all
    /// only held its reservation.
    pub fn is_cut_short(&self) -> bool {
        let announced = match self.offer {
            Some(TestOffer { calibration, quota: Quota::Packets(packets), .. }) => {
                calibration.saturating_add(packets)
            }
            Some(TestOffer { calibration, quota: Quota::Time(_), .. }) => calibration.saturating_add(1),
            None => self.plan.calibration.saturating_add(1),
        };
        let is_ended_by_sender = self.drain.is_some_and(|drain| takes_packets(drain.end));
        let held_only = |total: u64| total == 0 && self.offer.is_some_and(|offer| offer.service.is_some());
        is_ended_by_sender && self.total.is_some_and(|total| total < announced && !held_only(total))
    }

    /// The number after the last packet that should have arrived: what the sender says, if it ended the test; else what the packets
    /// show. Packets below it that are missing were lost.
    pub fn expected(&self) -> u64 {
        let shown = self.numbers.highest.map_or(0, |highest| highest + 1);
        let end = self.drain.map(|drain| drain.end);
        match (end, self.total) {
            (Some(ReceiverEnd::Termination | ReceiverEnd::Done), Some(total)) => {
                shown.max(total.min(self.plausible(shown)))
            }
            _ => shown,
        }
    }

    /// What a sender may say that it sent: a list of lost packets takes memory.
    const fn plausible(&self, shown: u64) -> u64 {
        match self.plan.quota {
            Quota::Packets(packets) => self.plan.calibration.saturating_add(packets),
            Quota::Time(_) => shown.saturating_add(MAX_TAIL),
        }
    }

    /// A sender offers a test on a new control connection: the answer, which is [`ReceiverMessage::Busy`] if there is another one. One
    /// without a packet for [`FIRST_PACKET_TIMEOUT`] gives way, unless it waits for its reservation, or holds it, with a control
    /// connection; its control connection is to be closed if the answer is not `Busy`.
    pub fn offered(&mut self, offer: TestOffer, now: Timestamp<Monotonic>) -> ReceiverMessage {
        let is_silent = self.offered_at.is_some_and(|at| now - at >= FIRST_PACKET_TIMEOUT);
        let reserves = self.has_control && self.offer.is_some_and(|offer| offer.service.is_some());
        if is_silent && !reserves {
            self.forget_silent();
        }
        let is_other = self.session.is_some_and(|session| session != offer.session);
        if self.offer.is_some() || self.drain.is_some() || is_other {
            return ReceiverMessage::Busy;
        }
        (self.offer, self.session, self.has_control) = (Some(offer), Some(offer.session), true);
        self.offered_at = Some(now);
        ReceiverMessage::Ready { kernel_stamps: self.plan.kernel_stamps }
    }

    /// Forgets a sender of which no packet has arrived.
    fn forget_silent(&mut self) {
        if self.numbers.count == 0 && self.drain.is_none() {
            (self.offer, self.session, self.offered_at) = (None, None, None);
            self.is_calibrated = false;
        }
    }

    /// A packet arrived.
    pub fn packet(&mut self, packet: &Packet, now: Timestamp<Monotonic>) -> Taken {
        if self.session.is_none() && !self.plan.wait && packet.kind != PacketKind::Termination {
            self.session = Some(packet.session);
        }
        if self.session != Some(packet.session) || packet.sequence > MAX_PACKETS {
            return Taken::Ignored;
        }
        self.is_calibrated |= packet.kind == PacketKind::Measured;
        if packet.kind == PacketKind::Termination {
            self.learn_total(packet.sequence);
            self.end(ReceiverEnd::Termination, now);
            return Taken::Termination;
        }
        let takes = self.drain.is_none_or(|drain| takes_packets(drain.end) && !self.is_full());
        if !takes || packet.sequence == MAX_PACKETS || packet.sequence > self.farthest() {
            return Taken::Ignored;
        }
        if let Some(drain) = &mut self.drain {
            drain.active = now;
        }
        let is_new = self.numbers.insert(packet.sequence);
        if packet.sequence >= self.plan.calibration {
            self.measured_from.get_or_insert(now);
        }
        if self.is_full() {
            self.end(ReceiverEnd::Quota, now);
        }
        if is_new { Taken::New } else { Taken::Duplicate }
    }

    /// Whether all packets that the receiver expects by number have arrived.
    fn is_full(&self) -> bool {
        match self.plan.quota {
            Quota::Packets(packets) => self.numbers.count >= self.plan.calibration.saturating_add(packets),
            Quota::Time(_) => false,
        }
    }

    /// The largest number that a packet may have now.
    const fn farthest(&self) -> u64 {
        MAX_TAIL.saturating_add(self.numbers.count.saturating_mul(MISSING_PER_PACKET + 1))
    }

    /// A message arrived on the control connection of the test, after its offer.
    pub fn message(&mut self, message: &SenderMessage, now: Timestamp<Monotonic>) {
        if let Some(drain) = &mut self.drain {
            drain.active = now;
        }
        self.is_calibrated |= matches!(message, SenderMessage::Calibrated | SenderMessage::Measuring);
        if let SenderMessage::Done { packets } = message {
            self.is_done = true;
            if let Some(packets) = packets {
                self.learn_total(*packets);
            }
            self.end(ReceiverEnd::Done, now);
        }
    }

    /// The control connection of the test was closed, or failed. If no packet has arrived, another sender may come.
    pub fn control_lost(&mut self) {
        self.has_control = false;
        self.forget_silent();
    }

    /// The user, or the memory of the host, ends the test.
    pub fn end_by(&mut self, end: ReceiverEnd, now: Timestamp<Monotonic>) {
        self.end(end, now);
        if end == ReceiverEnd::Interrupted
            && let Some(drain) = &mut self.drain
        {
            drain.last = drain.last.min(now + MAX_DRAIN_INTERRUPTED);
        }
    }

    /// The next step.
    pub fn poll(&mut self, now: Timestamp<Monotonic>) -> ReceiverStep {
        if let (Quota::Time(time), Some(from)) = (self.plan.quota, self.measured_from)
            && self.drain.is_none()
        {
            if now - from < time {
                return ReceiverStep::Wait(Some(from + time));
            }
            self.end(ReceiverEnd::Quota, now);
        }
        let (has_all, awaits_stamps, received) = (self.has_all(), self.awaits_stamps(), self.numbers.count);
        let Some(drain) = &mut self.drain else { return ReceiverStep::Wait(None) };
        if !drain.is_announced {
            drain.is_announced = true;
            return ReceiverStep::Write(ReceiverMessage::Ended { received });
        }
        let timeout = match (awaits_stamps, has_all) {
            (true, _) => STAMPS_TIMEOUT,
            (false, false) => DRAIN_TIMEOUT,
            (false, true) => return ReceiverStep::Ended(drain.end),
        };
        let until = (drain.active + timeout).min(drain.last);
        if now < until { ReceiverStep::Wait(Some(until)) } else { ReceiverStep::Ended(drain.end) }
    }

    fn end(&mut self, end: ReceiverEnd, now: Timestamp<Monotonic>) {
        if self.drain.is_none() {
            self.drain = Some(Drain { end, active: now, last: now + MAX_DRAIN, is_announced: false });
        }
    }

    fn learn_total(&mut self, packets: u64) {
        if packets <= MAX_PACKETS {
            self.total.get_or_insert(packets);
        }
    }

    /// Whether no further packet is expected.
    fn has_all(&self) -> bool {
        match self.drain {
            Some(drain) if takes_packets(drain.end) => {
                self.total.is_some_and(|total| self.numbers.count >= total)
            }
            _ => true,
        }
    }

    /// Whether the time stamps of the sender are still to come.
    const fn awaits_stamps(&self) -> bool {
        self.plan.kernel_stamps && self.has_control && !self.is_done
    }
}

/// Whether packets that arrive after this end are recorded: the sender ended the test, and they were on the path.
const fn takes_packets(end: ReceiverEnd) -> bool {
    matches!(end, ReceiverEnd::Termination | ReceiverEnd::Done)
}

#[cfg(test)]
mod tests {
    use romer_rsvp::QosService;

    use super::*;

    const SESSION: u64 = 7;

    fn at(millis: i64) -> Timestamp<Monotonic> {
        Timestamp::from_nanos(millis * 1_000_000)
    }

    fn plan() -> ReceiverPlan {
        ReceiverPlan { calibration: 0, quota: Quota::Packets(1_000), kernel_stamps: false, wait: true }
    }

    fn offer() -> TestOffer {
        TestOffer {
            session: SESSION,
            size: 64,
            calibration: 0,
            quota: Quota::Packets(10),
            rate: 1_000,
            depth: 64,
            service: None,
        }
    }

    fn packet(sequence: u64) -> Packet {
        Packet { kind: PacketKind::Measured, sequence, sent: 0, user: 0, session: SESSION }
    }

    fn termination(packets: u64) -> Packet {
        Packet { kind: PacketKind::Termination, ..packet(packets) }
    }

    fn offered(plan: ReceiverPlan) -> Receiver {
        let mut receiver = Receiver::new(plan);
        assert!(matches!(receiver.offered(offer(), at(0)), ReceiverMessage::Ready { .. }));
        receiver
    }

    /// A receiver with these packets.
    fn with(plan: ReceiverPlan, numbers: impl IntoIterator<Item = u64>) -> Receiver {
        let mut receiver = offered(plan);
        for number in numbers {
            assert_eq!(receiver.packet(&packet(number), at(0)), Taken::New);
        }
        receiver
    }

    /// The step after the announcement of the end.
    fn announced(receiver: &mut Receiver, now: Timestamp<Monotonic>) -> ReceiverStep {
        assert!(matches!(receiver.poll(now), ReceiverStep::Write(ReceiverMessage::Ended { .. })));
        receiver.poll(now)
    }

    /// A sender that stops before its announced number cuts the test short; one that has sent it, or that does not say how much it sent,
    /// does not. Without an announcement, a test without a measured packet is cut short.
    #[test]
    fn early_ends_cut_short() {
        let is_cut_short = |packets: u64| {
            let mut receiver = with(plan(), 0..3);
            receiver.packet(&termination(packets), at(1));
            receiver.is_cut_short()
        };
        assert_eq!([3, 9, 10].map(is_cut_short), [true, true, false]);
        let done = |packets: Option<u64>| {
            let mut receiver = with(plan(), 0..3);
            receiver.message(&SenderMessage::Done { packets }, at(1));
            receiver.is_cut_short()
        };
        assert_eq!([Some(3), None].map(done), [true, false]);
        let mut holding = Receiver::new(plan());
        let service = Some(QosService::Guaranteed);
        holding.offered(TestOffer { service, ..offer() }, at(0));
        holding.message(&SenderMessage::Done { packets: Some(0) }, at(1));
        assert!(!holding.is_cut_short(), "a reservation alone");
        let mut own = with(ReceiverPlan { quota: Quota::Packets(3), ..plan() }, 0..3);
        assert!(!own.is_cut_short());
        own.packet(&termination(3), at(1));
        assert!(!own.is_cut_short(), "its own number has ended the test");
        let unannounced = |calibration: u64| {
            let mut receiver = Receiver::new(ReceiverPlan { calibration, wait: false, ..plan() });
            (0..3).for_each(|number| assert_eq!(receiver.packet(&packet(number), at(0)), Taken::New));
            receiver.packet(&termination(3), at(1));
            receiver.is_cut_short()
        };
        assert_eq!([0, 2, 3].map(unannounced), [false, false, true]);
    }

    /// The receiver's own number of packets, calibration packets included, ends the test alone; copies do not count.
    #[test]
    fn own_count_ends() {
        let mut receiver = with(ReceiverPlan { calibration: 2, quota: Quota::Packets(3), ..plan() }, 0..4);
        assert_eq!(receiver.packet(&packet(0), at(5)), Taken::Duplicate);
        assert_eq!(receiver.poll(at(5)), ReceiverStep::Wait(None));
        assert_eq!(receiver.packet(&packet(9), at(5)), Taken::New);
        assert_eq!(announced(&mut receiver, at(5)), ReceiverStep::Ended(ReceiverEnd::Quota));
        assert_eq!(receiver.packet(&packet(10), at(6)), Taken::Ignored, "it has ended");
        assert_eq!((receiver.received(), receiver.expected()), (5, 10));
    }

    /// The receiver's own time counts from the first measured packet, and ends the test alone.
    #[test]
    fn own_time_ends() {
        let quota = Quota::Time(Duration::from_secs(2));
        let mut receiver = with(ReceiverPlan { calibration: 3, quota, ..plan() }, 0..3);
        assert_eq!(receiver.poll(at(10_000)), ReceiverStep::Wait(None), "calibration takes any time");
        receiver.packet(&packet(3), at(10_000));
        assert_eq!(receiver.poll(at(11_999)), ReceiverStep::Wait(Some(at(12_000))));
        assert_eq!(announced(&mut receiver, at(12_000)), ReceiverStep::Ended(ReceiverEnd::Quota));
    }

    /// One termination packet of ten ends the test alone, without a control connection.
    #[test]
    fn one_termination_ends() {
        let mut receiver = Receiver::new(ReceiverPlan { wait: false, ..plan() });
        receiver.packet(&packet(0), at(0));
        assert_eq!(receiver.packet(&termination(1), at(1)), Taken::Termination);
        assert_eq!(announced(&mut receiver, at(1)), ReceiverStep::Ended(ReceiverEnd::Termination));
    }

    /// `DONE` ends the test alone, with or without a number of packets.
    #[test]
    fn done_ends() {
        let mut receiver = with(plan(), 0..3);
        receiver.message(&SenderMessage::Done { packets: Some(3) }, at(1));
        assert_eq!(announced(&mut receiver, at(1)), ReceiverStep::Ended(ReceiverEnd::Done));
        let mut receiver = with(plan(), 0..3);
        receiver.message(&SenderMessage::Done { packets: None }, at(1));
        assert_eq!(announced(&mut receiver, at(1)), ReceiverStep::Wait(Some(at(1_001))));
        assert_eq!(receiver.poll(at(1_001)), ReceiverStep::Ended(ReceiverEnd::Done));
    }

    /// `q` ends the test at once, also before any packet; so does an interruption.
    #[test]
    fn keyboard_ends() {
        for end in [ReceiverEnd::Keyboard, ReceiverEnd::Interrupted, ReceiverEnd::LogFull] {
            let mut receiver = Receiver::new(plan());
            receiver.end_by(end, at(0));
            assert_eq!(announced(&mut receiver, at(0)), ReceiverStep::Ended(end));
        }
    }

    /// The calibration is complete with the sender's message or with the first measured packet, and not before; another sender begins
    /// anew.
    #[test]
    fn calibrations_complete() {
        let plan = ReceiverPlan { calibration: 2, ..plan() };
        let mut receiver = offered(plan);
        for number in 0..2 {
            receiver.packet(&Packet { kind: PacketKind::Calibration, ..packet(number) }, at(0));
        }
        assert!(!receiver.is_calibrated());
        let mut told = receiver.clone();
        told.message(&SenderMessage::Calibrated, at(1));
        assert!(told.is_calibrated());
        receiver.packet(&Packet { session: SESSION + 1, ..packet(2) }, at(1));
        assert!(!receiver.is_calibrated(), "it is a packet of another session");
        receiver.packet(&packet(2), at(1));
        assert!(receiver.is_calibrated());
        let mut silent = offered(plan);
        silent.message(&SenderMessage::Measuring, at(0));
        silent.control_lost();
        assert!(!silent.is_calibrated());
    }

    /// Nothing else ends a test: not the loss of the control connection, nor hours of silence.
    #[test]
    fn lost_control_does_not_end() {
        let mut receiver = with(plan(), 0..3);
        receiver.control_lost();
        assert_eq!(receiver.poll(at(36_000_000)), ReceiverStep::Wait(None));
        assert_eq!(receiver.packet(&packet(3), at(36_000_000)), Taken::New);
    }

    /// A sender that went away before its first packet does not block the receiver; one whose packets have arrived does.
    #[test]
    fn another_sender_may_come() {
        let other = TestOffer { session: SESSION + 1, ..offer() };
        let mut receiver = offered(plan());
        assert_eq!(receiver.offered(other, at(0)), ReceiverMessage::Busy);
        receiver.control_lost();
        assert!(matches!(receiver.offered(other, at(0)), ReceiverMessage::Ready { .. }));
        let mut receiver = with(plan(), 0..1);
        receiver.control_lost();
        assert_eq!(receiver.offered(other, at(0)), ReceiverMessage::Busy);
    }

    /// A sender that has sent no packet gives way to another one after 10 s; one whose packets have arrived does not.
    #[test]
    fn silent_senders_give_way() {
        let other = TestOffer { session: SESSION + 1, ..offer() };
        let mut receiver = offered(plan());
        assert_eq!(receiver.offered(other, at(9_999)), ReceiverMessage::Busy);
        assert!(matches!(receiver.offered(other, at(10_000)), ReceiverMessage::Ready { .. }));
        assert_eq!(receiver.packet(&packet(0), at(10_000)), Taken::Ignored, "its sender was replaced");
        assert_eq!(receiver.offered(offer(), at(19_999)), ReceiverMessage::Busy, "the time begins anew");
        let mut receiver = with(plan(), 0..1);
        assert_eq!(receiver.offered(other, at(3_600_000)), ReceiverMessage::Busy);
        let mut receiver = offered(plan());
        receiver.end_by(ReceiverEnd::Keyboard, at(1));
        assert_eq!(receiver.offered(other, at(3_600_000)), ReceiverMessage::Busy, "it has ended");
    }

    /// A sender with a reservation stays while its control connection does.
    #[test]
    fn reserving_senders_stay() {
        let other = TestOffer { session: SESSION + 1, ..offer() };
        let mut receiver = Receiver::new(plan());
        receiver.offered(TestOffer { service: Some(QosService::Guaranteed), ..offer() }, at(0));
        assert_eq!(receiver.offered(other, at(3_600_000)), ReceiverMessage::Busy);
        receiver.control_lost();
        assert!(matches!(receiver.offered(other, at(3_600_000)), ReceiverMessage::Ready { .. }));
    }

    /// Packets that a queue holds while `DONE` overtakes them are received; what is missing then was lost.
    #[test]
    fn packets_behind_done_are_received() {
        let mut receiver = with(plan(), 0..3);
        receiver.message(&SenderMessage::Done { packets: Some(6) }, at(0));
        assert_eq!(announced(&mut receiver, at(0)), ReceiverStep::Wait(Some(at(1_000))));
        assert_eq!(receiver.packet(&packet(4), at(900)), Taken::New);
        assert_eq!(receiver.poll(at(1_000)), ReceiverStep::Wait(Some(at(1_900))));
        assert_eq!(receiver.poll(at(1_900)), ReceiverStep::Ended(ReceiverEnd::Done));
        assert_eq!((receiver.received(), receiver.expected()), (4, 6));
    }

    /// The first end counts: a termination packet after the own number changes neither the reason nor the expected packets.
    #[test]
    fn first_end_counts() {
        let mut receiver = with(ReceiverPlan { quota: Quota::Packets(3), ..plan() }, 0..3);
        receiver.packet(&termination(50), at(1));
        receiver.message(&SenderMessage::Done { packets: Some(50) }, at(1));
        assert_eq!(announced(&mut receiver, at(1)), ReceiverStep::Ended(ReceiverEnd::Quota));
        assert_eq!(receiver.expected(), 3);
    }

    /// After the end the sender's time stamps are waited for, until `DONE`, silence or a lost connection.
    #[test]
    fn stamps_are_awaited() {
        let stamped = ReceiverPlan { kernel_stamps: true, quota: Quota::Packets(3), ..plan() };
        let mut receiver = with(stamped, 0..3);
        assert_eq!(announced(&mut receiver, at(0)), ReceiverStep::Wait(Some(at(3_000))));
        receiver.message(&SenderMessage::Stamps { first: 0, offsets: vec![Some(1); 3] }, at(2_000));
        assert_eq!(receiver.poll(at(3_000)), ReceiverStep::Wait(Some(at(5_000))));
        let mut done = receiver.clone();
        done.message(&SenderMessage::Done { packets: Some(9) }, at(3_000));
        assert_eq!(done.poll(at(3_000)), ReceiverStep::Ended(ReceiverEnd::Quota));
        let mut lost = receiver.clone();
        lost.control_lost();
        assert_eq!(lost.poll(at(3_000)), ReceiverStep::Ended(ReceiverEnd::Quota));
        assert_eq!(receiver.poll(at(5_000)), ReceiverStep::Ended(ReceiverEnd::Quota));
    }

    /// A sender that never stops writing does not hold the receiver: not beyond a minute, and 3 s after an interruption.
    #[test]
    fn waiting_for_stamps_is_bounded() {
        for (end, bound) in [(ReceiverEnd::Keyboard, 60_000), (ReceiverEnd::Interrupted, 3_000)] {
            let mut receiver = with(ReceiverPlan { kernel_stamps: true, ..plan() }, 0..3);
            receiver.end_by(end, at(0));
            announced(&mut receiver, at(0));
            for second in 0..bound / 1_000 {
                receiver.message(&SenderMessage::Measuring, at(second * 1_000));
                assert!(matches!(receiver.poll(at(second * 1_000)), ReceiverStep::Wait(Some(_))));
            }
            assert_eq!(receiver.poll(at(bound)), ReceiverStep::Ended(end));
        }
    }

    /// A receiver serves one session: the offered one, or without waiting the first that arrives.
    #[test]
    fn other_sessions_are_ignored() {
        let other = Packet { session: SESSION + 1, ..packet(0) };
        let mut receiver = Receiver::new(plan());
        assert_eq!(receiver.packet(&packet(0), at(0)), Taken::Ignored, "nobody has offered it");
        receiver.offered(offer(), at(0));
        assert_eq!(receiver.packet(&other, at(0)), Taken::Ignored);
        assert_eq!(receiver.packet(&termination(0), at(0)), Taken::Termination);
        let mut receiver = Receiver::new(ReceiverPlan { wait: false, ..plan() });
        assert_eq!(receiver.packet(&termination(9), at(0)), Taken::Ignored, "it ends no test");
        assert_eq!(receiver.packet(&other, at(0)), Taken::New);
        assert_eq!(receiver.packet(&packet(0), at(0)), Taken::Ignored);
        assert_eq!(receiver.offered(offer(), at(0)), ReceiverMessage::Busy);
        assert!(matches!(
            receiver.offered(TestOffer { session: SESSION + 1, ..offer() }, at(0)),
            ReceiverMessage::Ready { .. }
        ));
        assert_eq!(
            receiver.offered(TestOffer { session: SESSION + 1, ..offer() }, at(0)),
            ReceiverMessage::Busy
        );
    }

    /// Numbers beyond the largest log take no memory, and none is so far ahead that millions of lost packets are listed for a few
    /// that arrived.
    #[test]
    fn large_numbers_are_ignored() {
        let mut receiver = offered(plan());
        for number in [u64::MAX, MAX_PACKETS, MAX_PACKETS - 1, MAX_TAIL + 1] {
            assert_eq!(receiver.packet(&packet(number), at(0)), Taken::Ignored, "{number}");
        }
        assert_eq!(receiver.packet(&packet(MAX_TAIL), at(0)), Taken::New);
        assert_eq!(receiver.packet(&packet(MAX_TAIL + 18), at(0)), Taken::Ignored);
        assert_eq!(receiver.packet(&packet(MAX_TAIL + 17), at(0)), Taken::New);
        receiver.message(&SenderMessage::Done { packets: Some(u64::MAX) }, at(0));
        assert_eq!(receiver.expected(), MAX_TAIL + 18);
        let mut receiver = with(plan(), 0..3);
        receiver.message(&SenderMessage::Done { packets: Some(MAX_PACKETS) }, at(0));
        assert_eq!(receiver.expected(), 1_000, "it expects no more");
    }

    /// After `DONE` no more packets are recorded than the receiver expects.
    #[test]
    fn packets_behind_done_are_bounded() {
        let mut receiver = with(ReceiverPlan { calibration: 1, quota: Quota::Packets(3), ..plan() }, 0..2);
        receiver.message(&SenderMessage::Done { packets: Some(100) }, at(0));
        assert_eq!([2, 3].map(|number| receiver.packet(&packet(number), at(0))), [Taken::New; 2]);
        assert_eq!([3, 4].map(|number| receiver.packet(&packet(number), at(0))), [Taken::Ignored; 2]);
        assert_eq!((receiver.received(), receiver.expected()), (4, 4));
    }
}

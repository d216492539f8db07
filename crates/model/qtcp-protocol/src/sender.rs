//! The state machine of the sender.

use std::collections::VecDeque;

use romer_rsvp::QosService;
use romer_traffic::TokenBucket;
use romer_units::{Duration, Monotonic, Timestamp};

use crate::limits::{MAX_PACKETS, Quota, TERMINATION_PACKETS};
use crate::message::{SenderMessage, TestOffer};
use crate::pace::{Meter, Pace};
use crate::packet::PacketKind;

/// How long a sender waits for a receiver. Reservations take up to 30 s (Qtcp, Waiting for RSVP Reservations).
pub const RECEIVER_TIMEOUT: Duration = Duration::from_secs(30);
/// How long a sender that does not wait for a receiver waits for its control connection.
pub const CONTROL_TIMEOUT: Duration = Duration::from_secs(1);
/// How long after a rejected packet the receiver's `ENDED` may arrive: it explains the rejection.
pub const REJECTION_TIMEOUT: Duration = Duration::from_secs(1);
/// The longest time between two termination packets.
pub const MAX_TERMINATION_GAP: Duration = Duration::from_millis(100);

/// What is sent.
#[derive(Clone, Copy, Debug)]
pub struct SenderPlan {
    /// The session.
    pub session: u64,
    /// Octets of a payload.
    pub size: u32,
    /// The token bucket, in octets of payload.
    pub bucket: TokenBucket,
    /// Calibration packets.
    pub calibration: u64,
    /// End of the measured phase.
    pub quota: Quota,
    /// Pause after the calibration packets, until the user continues.
    pub pause: bool,
    /// Wait for the receiver, and for the reservation.
    pub wait: bool,
    /// Shape to the token bucket. Without, packets follow each other at once, and those beyond the bucket do not conform.
    pub shape: bool,
    /// The reservation, if one is requested.
    pub reservation: Option<ReservationPlan>,
}

/// A reservation for a test.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ReservationPlan {
    /// The service.
    pub service: QosService,
    /// Hold the reservation until the user ends it, and send no packets.
    pub only: bool,
}

impl SenderPlan {
    /// What the receiver is sent of it.
    pub const fn offer(&self) -> TestOffer {
        TestOffer {
            session: self.session,
            size: self.size,
            calibration: self.calibration,
            quota: self.quota,
            rate: self.bucket.bits_per_second() / 8,
            depth: self.bucket.depth(),
            service: match self.reservation {
                Some(reservation) => Some(reservation.service),
                None => None,
            },
        }
    }
}

/// What happened, besides packets that left.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SenderInput {
    /// The receiver is ready.
    Ready,
    /// The receiver serves another sender.
    Busy,
    /// There is no control connection at present.
    NoControl,
    /// The reservation is in place.
    Reserved,
    /// There is no reservation: none arrived in time, or none can be made.
    NoReservation,
    /// The user continues after the calibration, or ends a reservation that is only held.
    Continue,
    /// There is nobody who could continue: standard input has ended.
    NobodyContinues,
    /// The receiver has ended the test, by its message.
    ReceiverEnded,
    /// The network or the receiving host rejected a packet.
    Rejected,
    /// The user interrupted the program.
    Interrupted,
}

/// Why a test ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SenderEnd {
    /// All packets were sent.
    AllSent,
    /// The receiver ended the test before.
    ReceiverEnded,
    /// The user interrupted it.
    Interrupted,
    /// Packets were rejected.
    Rejected,
    /// There was nobody who could continue after the calibration.
    NobodyContinued,
    /// No receiver was ready in time.
    NoReceiver,
    /// The receiver serves another sender.
    Busy,
    /// There was no reservation in time.
    NoReservation,
    /// The user ended a reservation that was only held.
    Released,
}

/// What the sender does next.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SenderStep {
    /// Wait for an input, at most until then.
    Wait(Option<Timestamp<Monotonic>>),
    /// Send a packet at `due`, and report it by [`Sender::sent`]. If it is not reported, it is requested again.
    Send {
        /// When.
        due: Timestamp<Monotonic>,
        /// What for.
        kind: PacketKind,
        /// Its number.
        sequence: u64,
    },
    /// Write a message to the control connection, if there is one.
    Write(SenderMessage),
    /// Request the user's confirmation after the calibration.
    Prompt,
    /// Announce the flow, and report its reservation.
    Reserve,
    /// Hold the reservation until the user continues.
    Hold,
    /// The test is over: send the time stamps and `DONE`.
    Ended(SenderEnd),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Phase {
    /// For a receiver, until then.
    Waiting(Timestamp<Monotonic>),
    /// For a reservation.
    Reserving,
    /// Holds a reservation until the user ends it.
    Holding,
    Sending,
    /// Until the user continues.
    Paused,
    /// A packet was rejected: until then the receiver may explain it.
    Rejecting(Timestamp<Monotonic>),
    /// So many termination packets were sent; when the next is due.
    Terminating(u8, Timestamp<Monotonic>, SenderEnd),
    Ended(SenderEnd),
}

/// The sender of a test.
#[derive(Clone, Debug)]
pub struct Sender {
    plan: SenderPlan,
    phase: Phase,
    pace: Option<Pace>,
    meter: Meter,
    sequence: u64,
    /// When the first measured packet was due.
    measured_from: Option<Timestamp<Monotonic>>,
    is_calibrated: bool,
    steps: VecDeque<SenderStep>,
}

impl Sender {
    /// A sender that waits for its receiver from `now` on.
    pub fn new(plan: SenderPlan, now: Timestamp<Monotonic>) -> Self {
        let timeout = if plan.wait { RECEIVER_TIMEOUT } else { CONTROL_TIMEOUT };
        Self {
            plan,
            phase: Phase::Waiting(now + timeout),
            pace: None,
            meter: Meter::new(plan.bucket, plan.size),
            sequence: 0,
            measured_from: None,
            is_calibrated: plan.calibration == 0,
            steps: VecDeque::new(),
        }
    }

    /// How many packets were sent, without termination packets.
    pub const fn packets(&self) -> u64 {
        self.sequence
    }

    /// Whether it still waits for a receiver.
    pub const fn is_waiting(&self) -> bool {
        matches!(self.phase, Phase::Waiting(_))
    }

    /// Whether a packet that leaves at `at` conforms to the token bucket. All do if they are shaped.
    pub fn conforms(&self, at: Timestamp<Monotonic>) -> bool {
        self.plan.shape || self.meter.conforms(at)
    }

    /// The next step. It stays the same until it is done or something happens.
    pub fn poll(&mut self, now: Timestamp<Monotonic>) -> SenderStep {
        if let Phase::Ended(end) = self.phase {
            return SenderStep::Ended(end);
        }
        if let Some(step) = self.steps.pop_front() {
            return step;
        }
        match self.phase {
            Phase::Waiting(until) if now < until => SenderStep::Wait(Some(until)),
            Phase::Waiting(_) if self.plan.wait => self.end(SenderEnd::NoReceiver),
            Phase::Waiting(_) => {
                self.begin(now);
                self.poll(now)
            }
            Phase::Sending => self.next_packet(now),
            Phase::Paused | Phase::Reserving | Phase::Holding => SenderStep::Wait(None),
            Phase::Rejecting(until) if now < until => SenderStep::Wait(Some(until)),
            Phase::Rejecting(_) => self.end(SenderEnd::Rejected),
            Phase::Terminating(TERMINATION_PACKETS.., _, end) => self.end(end),
            Phase::Terminating(_, due, _) => {
                SenderStep::Send { due, kind: PacketKind::Termination, sequence: self.sequence }
            }
            Phase::Ended(end) => SenderStep::Ended(end),
        }
    }

    /// The packet of the last [`SenderStep::Send`] left at `at`.
    pub fn sent(&mut self, at: Timestamp<Monotonic>) {
        if let Phase::Terminating(count, _, end) = self.phase {
            let gap = self.plan.bucket.interval(self.plan.size).min(MAX_TERMINATION_GAP);
            self.phase = Phase::Terminating(count.saturating_add(1), at + gap, end);
        } else if let Some(pace) = &mut self.pace {
            if self.sequence >= self.plan.calibration {
                self.measured_from.get_or_insert(pace.due());
            }
            pace.sent(at);
            self.meter.sent(at);
            self.sequence += 1;
        }
    }

    /// Something happened.
    pub fn handle(&mut self, input: SenderInput, now: Timestamp<Monotonic>) {
        match (input, self.phase) {
            (_, Phase::Ended(_)) => {}
            (SenderInput::Ready, Phase::Waiting(_)) => self.begin(now),
            (SenderInput::NoControl, Phase::Waiting(_)) if !self.plan.wait => self.begin(now),
            (SenderInput::Busy, Phase::Waiting(_)) => self.phase = Phase::Ended(SenderEnd::Busy),
            (SenderInput::Reserved, Phase::Reserving) => self.proceed(now),
            (SenderInput::NoReservation, Phase::Reserving) => {
                self.phase = Phase::Ended(SenderEnd::NoReservation);
            }
            (SenderInput::Continue, Phase::Holding) => self.phase = Phase::Ended(SenderEnd::Released),
            (SenderInput::Continue, Phase::Paused) => {
                if let Some(pace) = &mut self.pace {
                    pace.resume(now);
                }
                self.phase = Phase::Sending;
                self.steps.push_back(SenderStep::Write(SenderMessage::Measuring));
            }
            (SenderInput::NobodyContinues, Phase::Paused) => self.terminate(SenderEnd::NobodyContinued, now),
            (
                SenderInput::Interrupted,
                Phase::Waiting(_) | Phase::Rejecting(_) | Phase::Reserving | Phase::Holding,
            ) => self.phase = Phase::Ended(SenderEnd::Interrupted),
            (SenderInput::Interrupted, Phase::Sending | Phase::Paused) => {
                self.terminate(SenderEnd::Interrupted, now);
            }
            // Normal after the last packet.
            (SenderInput::ReceiverEnded | SenderInput::Rejected, Phase::Sending) if self.is_over() => {
                self.phase = Phase::Ended(SenderEnd::AllSent);
            }
            (
                SenderInput::ReceiverEnded,
                Phase::Sending | Phase::Paused | Phase::Rejecting(_) | Phase::Reserving | Phase::Holding,
            ) => self.phase = Phase::Ended(SenderEnd::ReceiverEnded),
            (SenderInput::Rejected, Phase::Sending | Phase::Paused) => {
                self.phase = Phase::Rejecting(now + REJECTION_TIMEOUT);
            }
            // Normal after the end: the first termination packets have ended the receiver.
            (SenderInput::ReceiverEnded | SenderInput::Rejected, Phase::Terminating(_, _, end)) => {
                self.phase = Phase::Ended(end);
            }
            _ => {}
        }
    }

    /// The receiver is ready, or not waited for.
    fn begin(&mut self, now: Timestamp<Monotonic>) {
        if self.plan.reservation.is_some() {
            self.steps.push_back(SenderStep::Reserve);
        }
        if self.plan.reservation.is_some() && self.plan.wait {
            self.phase = Phase::Reserving;
        } else {
            self.proceed(now);
        }
    }

    /// The reservation is in place, or not waited for.
    fn proceed(&mut self, now: Timestamp<Monotonic>) {
        if self.plan.reservation.is_some_and(|reservation| reservation.only) {
            self.phase = Phase::Holding;
            self.steps.push_back(SenderStep::Hold);
            return;
        }
        let SenderPlan { bucket, size, shape, .. } = self.plan;
        let pace = if shape { Pace::new } else { Pace::unshaped };
        self.pace = Some(pace(bucket, size, now));
        self.phase = Phase::Sending;
        if self.is_calibrated {
            self.steps.push_back(SenderStep::Write(SenderMessage::Measuring));
        }
    }

    /// When the next packet is due.
    fn due(&self) -> Option<Timestamp<Monotonic>> {
        self.pace.map(|pace| pace.due())
    }

    /// Whether no further packet is to be sent.
    fn is_over(&self) -> bool {
        let has_all = match (self.plan.quota, self.measured_from, self.due()) {
            (Quota::Packets(packets), ..) => self.sequence >= self.plan.calibration.saturating_add(packets),
            (Quota::Time(time), Some(from), Some(due)) => due - from >= time,
            (Quota::Time(_), ..) => false,
        };
        has_all || self.sequence >= MAX_PACKETS
    }

    fn next_packet(&mut self, now: Timestamp<Monotonic>) -> SenderStep {
        if !self.is_calibrated && self.sequence >= self.plan.calibration {
            self.is_calibrated = true;
            if self.plan.pause {
                self.phase = Phase::Paused;
                self.steps.push_back(SenderStep::Prompt);
            } else {
                self.steps.push_back(SenderStep::Write(SenderMessage::Measuring));
            }
            return SenderStep::Write(SenderMessage::Calibrated);
        }
        let due = self.due().unwrap_or(now);
        if self.is_over() {
            self.terminate(SenderEnd::AllSent, now);
            return self.poll(now);
        }
        let kind = if self.is_calibrated { PacketKind::Measured } else { PacketKind::Calibration };
        SenderStep::Send { due, kind, sequence: self.sequence }
    }

    fn terminate(&mut self, end: SenderEnd, now: Timestamp<Monotonic>) {
        let due = self.due().unwrap_or(now);
        // A low token rate does not delay the end.
        let due = due.min(now + MAX_TERMINATION_GAP);
        self.phase = Phase::Terminating(0, due, end);
    }

    fn end(&mut self, end: SenderEnd) -> SenderStep {
        self.phase = Phase::Ended(end);
        SenderStep::Ended(end)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(millis: i64) -> Timestamp<Monotonic> {
        Timestamp::from_nanos(millis * 1_000_000)
    }

    fn plan() -> SenderPlan {
        SenderPlan {
            session: 1,
            size: 100,
            // A packet each 100 ms.
            bucket: TokenBucket::new(1_000, 100).unwrap(),
            calibration: 0,
            quota: Quota::Packets(3),
            pause: true,
            wait: true,
            shape: true,
            reservation: None,
        }
    }

    /// A plan that waits for a reservation.
    fn reserving(only: bool) -> SenderPlan {
        let reservation = Some(ReservationPlan { service: QosService::Guaranteed, only });
        SenderPlan { reservation, ..plan() }
    }

    /// A reservation is requested as soon as the receiver is ready, and packets follow it.
    #[test]
    fn packets_wait_for_the_reservation() {
        let mut sender = ready(reserving(false));
        assert_eq!(sender.poll(at(0)), SenderStep::Reserve);
        assert_eq!(sender.poll(at(9_000)), SenderStep::Wait(None));
        assert!(!sender.is_waiting());
        sender.handle(SenderInput::Reserved, at(9_000));
        let (done, last) = run(&mut sender, at(9_000));
        assert_eq!(done[..2], ["MEASURING", "9000 Measured 0"]);
        assert_eq!(last, SenderStep::Ended(SenderEnd::AllSent));
    }

    /// Without a reservation nothing is sent, unless the sender does not wait for it.
    #[test]
    fn missing_reservations_end() {
        let mut sender = ready(reserving(false));
        sender.handle(SenderInput::NoReservation, at(30_000));
        assert_eq!(sender.poll(at(30_000)), SenderStep::Ended(SenderEnd::NoReservation));
        let mut sender = ready(SenderPlan { wait: false, ..reserving(false) });
        assert_eq!(sender.poll(at(0)), SenderStep::Reserve);
        sender.handle(SenderInput::NoReservation, at(0));
        let (done, last) = run(&mut sender, at(0));
        assert_eq!(done[..2], ["MEASURING", "0 Measured 0"]);
        assert_eq!(last, SenderStep::Ended(SenderEnd::AllSent));
    }

    /// A reservation that is only held sends nothing, until the user or the receiver ends it.
    #[test]
    fn held_reservations_send_nothing() {
        for (input, end) in [
            (SenderInput::Continue, SenderEnd::Released),
            (SenderInput::Interrupted, SenderEnd::Interrupted),
            (SenderInput::ReceiverEnded, SenderEnd::ReceiverEnded),
        ] {
            let mut sender = ready(reserving(true));
            assert_eq!(sender.poll(at(0)), SenderStep::Reserve);
            sender.handle(SenderInput::Reserved, at(10));
            assert_eq!(sender.poll(at(10)), SenderStep::Hold);
            assert_eq!(sender.poll(at(3_600_000)), SenderStep::Wait(None));
            sender.handle(input, at(3_600_000));
            assert_eq!(sender.poll(at(3_600_000)), SenderStep::Ended(end));
            assert_eq!(sender.packets(), 0);
        }
    }

    /// Without shaping packets leave at once, and those beyond the bucket do not conform.
    #[test]
    fn unshaped_packets_do_not_conform() {
        let mut sender = ready(SenderPlan { shape: false, ..plan() });
        assert!(matches!(sender.poll(at(0)), SenderStep::Write(_)));
        let mut conforming = Vec::new();
        for millis in [0, 1, 100] {
            assert!(matches!(sender.poll(at(millis)), SenderStep::Send { due, .. } if due <= at(millis)));
            conforming.push(sender.conforms(at(millis)));
            sender.sent(at(millis));
        }
        assert_eq!(conforming, [true, false, true]);
    }

    /// What a sender does from `now` on when each packet leaves on time: what it sends, writes and requests, until it waits or ends.
    fn run(sender: &mut Sender, mut now: Timestamp<Monotonic>) -> (Vec<String>, SenderStep) {
        let mut done = Vec::new();
        loop {
            match sender.poll(now) {
                SenderStep::Send { due, kind, sequence } => {
                    now = now.max(due);
                    done.push(format!("{} {kind:?} {sequence}", now.as_nanos() / 1_000_000));
                    sender.sent(now);
                }
                SenderStep::Write(message) => done.push(message.to_string()),
                SenderStep::Prompt => done.push("prompt".into()),
                last => return (done, last),
            }
        }
    }

    fn ready(plan: SenderPlan) -> Sender {
        let mut sender = Sender::new(plan, at(0));
        sender.handle(SenderInput::Ready, at(0));
        sender
    }

    /// A test without calibration: all packets at the token rate, ten termination packets, the end.
    #[test]
    fn all_packets_then_terminations() {
        let (done, last) = run(&mut ready(plan()), at(0));
        assert_eq!(
            done[..5],
            ["MEASURING", "0 Measured 0", "100 Measured 1", "200 Measured 2", "300 Termination 3"]
        );
        assert_eq!(done.len(), 4 + usize::from(TERMINATION_PACKETS));
        assert_eq!(last, SenderStep::Ended(SenderEnd::AllSent));
    }

    /// After the calibration packets the sender prompts, waits, and continues with the next number.
    #[test]
    fn calibration_pauses() {
        let mut sender = ready(SenderPlan { calibration: 2, ..plan() });
        let (done, last) = run(&mut sender, at(0));
        assert_eq!(done, ["0 Calibration 0", "100 Calibration 1", "CALIBRATED", "prompt"]);
        assert_eq!(last, SenderStep::Wait(None));
        sender.handle(SenderInput::Continue, at(5_000));
        let (done, last) = run(&mut sender, at(5_000));
        assert_eq!(done[..4], ["MEASURING", "5000 Measured 2", "5100 Measured 3", "5200 Measured 4"]);
        assert_eq!(last, SenderStep::Ended(SenderEnd::AllSent));
        assert_eq!(sender.packets(), 5);
    }

    /// Without the pause the token bucket goes on: no packet follows earlier than an interval.
    #[test]
    fn without_pause_the_bucket_goes_on() {
        let mut sender = ready(SenderPlan { calibration: 2, pause: false, ..plan() });
        let (done, _) = run(&mut sender, at(0));
        assert_eq!(
            done[..5],
            ["0 Calibration 0", "100 Calibration 1", "CALIBRATED", "MEASURING", "200 Measured 2"]
        );
    }

    /// A measured phase of a time begins with its first packet.
    #[test]
    fn time_counts_from_the_first_measured_packet() {
        let quota = Quota::Time(Duration::from_millis(250));
        let mut sender = ready(SenderPlan { calibration: 2, pause: false, quota, ..plan() });
        let (done, last) = run(&mut sender, at(0));
        assert_eq!(done[4..7], ["200 Measured 2", "300 Measured 3", "400 Measured 4"]);
        assert!(done[7].contains("Termination 5"), "{done:?}");
        assert_eq!(last, SenderStep::Ended(SenderEnd::AllSent));
    }

    /// Nobody at the prompt ends the test, by termination packets.
    #[test]
    fn nobody_at_the_prompt_ends_the_test() {
        let mut sender = ready(SenderPlan { calibration: 1, ..plan() });
        run(&mut sender, at(0));
        sender.handle(SenderInput::NobodyContinues, at(200));
        let (done, last) = run(&mut sender, at(200));
        assert_eq!(done.len(), usize::from(TERMINATION_PACKETS));
        assert_eq!(last, SenderStep::Ended(SenderEnd::NobodyContinued));
    }

    /// A receiver is waited for 30 s, and without waiting only as long as the control connection may take.
    #[test]
    fn waiting_ends() {
        let mut sender = Sender::new(plan(), at(0));
        sender.handle(SenderInput::NoControl, at(10));
        assert_eq!(sender.poll(at(10)), SenderStep::Wait(Some(at(30_000))));
        assert_eq!(sender.poll(at(30_000)), SenderStep::Ended(SenderEnd::NoReceiver));
        let unwaiting = SenderPlan { wait: false, ..plan() };
        let mut sender = Sender::new(unwaiting, at(0));
        assert_eq!(sender.poll(at(10)), SenderStep::Wait(Some(at(1_000))));
        assert!(matches!(sender.poll(at(1_000)), SenderStep::Write(_)), "it begins");
        let mut sender = Sender::new(unwaiting, at(0));
        sender.handle(SenderInput::NoControl, at(10));
        assert!(!sender.is_waiting());
        let mut sender = Sender::new(plan(), at(0));
        sender.handle(SenderInput::Busy, at(10));
        assert_eq!(sender.poll(at(10)), SenderStep::Ended(SenderEnd::Busy));
    }

    /// A rejection is an error before the end, unless the receiver ended the test, and normal after it.
    #[test]
    fn rejections_are_judged() {
        let mut sender = ready(plan());
        assert!(matches!(sender.poll(at(0)), SenderStep::Write(_)));
        sender.handle(SenderInput::Rejected, at(0));
        assert_eq!(sender.poll(at(1)), SenderStep::Wait(Some(at(1_000))));
        assert_eq!(sender.clone().poll(at(1_000)), SenderStep::Ended(SenderEnd::Rejected));
        sender.handle(SenderInput::ReceiverEnded, at(500));
        assert_eq!(sender.poll(at(500)), SenderStep::Ended(SenderEnd::ReceiverEnded));
        let mut sender = ready(plan());
        for _ in 0..3 {
            while !matches!(sender.poll(at(0)), SenderStep::Send { .. }) {}
            sender.sent(at(0));
        }
        assert!(matches!(sender.poll(at(0)), SenderStep::Send { kind: PacketKind::Termination, .. }));
        sender.handle(SenderInput::Rejected, at(0));
        assert_eq!(sender.poll(at(0)), SenderStep::Ended(SenderEnd::AllSent));
    }

    /// A receiver that has all packets ends a test that is whole, also if its message precedes the next step of the sender.
    #[test]
    fn ends_after_the_last_packet_are_normal() {
        for input in [SenderInput::ReceiverEnded, SenderInput::Rejected] {
            let mut sender = ready(plan());
            for _ in 0..3 {
                while !matches!(sender.poll(at(0)), SenderStep::Send { .. }) {}
                sender.sent(at(0));
            }
            sender.handle(input, at(1));
            assert_eq!(sender.poll(at(1)), SenderStep::Ended(SenderEnd::AllSent), "{input:?}");
        }
    }

    /// A packet that was not sent is requested again.
    #[test]
    fn unsent_packets_are_repeated() {
        let mut sender = ready(plan());
        assert!(matches!(sender.poll(at(0)), SenderStep::Write(_)));
        let step = sender.poll(at(0));
        assert!(matches!(step, SenderStep::Send { sequence: 0, .. }));
        assert_eq!(sender.poll(at(50)), step);
    }
}

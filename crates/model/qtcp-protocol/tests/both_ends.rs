//! Both ends over a network that loses packets, messages and the control connection.
#![expect(clippy::unwrap_used, reason = "the helpers of tests fail as the tests do")]

use romer_qtcp_protocol::{
    Packet, PacketKind, Quota, Receiver, ReceiverEnd, ReceiverMessage, ReceiverPlan, ReceiverStep, Sender,
    SenderEnd, SenderInput, SenderMessage, SenderPlan, SenderStep,
};
use romer_traffic::TokenBucket;
use romer_units::random::{RandomStream, Seed};
use romer_units::{Duration, Monotonic, Timestamp};

/// One-way delay of the network.
const DELAY: Duration = Duration::from_millis(10);
/// When the user of a receiver that has not ended enters `q`.
const PATIENCE: Duration = Duration::from_secs(600);

/// What the network loses.
#[derive(Clone, Copy, Debug, Default)]
struct Losses {
    /// No control connection can be opened; both ends do not wait for one.
    control: bool,
    /// The connection fails before `DONE`.
    done: bool,
    terminations: bool,
    /// Share of the other packets, in percent.
    packets: u64,
}

#[derive(Clone, Debug)]
enum Event {
    Packet(Packet),
    ToReceiver(SenderMessage),
    ToSender(ReceiverMessage),
}

/// How a test ended: at the sender, at the receiver, and how many packets the receiver has and expected.
#[derive(Debug, PartialEq, Eq)]
struct Ends {
    sender: SenderEnd,
    receiver: ReceiverEnd,
    received: u64,
    expected: u64,
}

fn run(losses: Losses, plan: ReceiverPlan, seed: u32) -> Ends {
    let random = RandomStream::new(Seed([seed; 6]), [0, 0]);
    let mut now = Timestamp::<Monotonic>::from_nanos(0);
    let plan = ReceiverPlan { wait: !losses.control, ..plan };
    let sending = SenderPlan {
        session: 5,
        size: 100,
        bucket: TokenBucket::new(10_000, 100).unwrap(),
        calibration: 10,
        quota: Quota::Packets(40),
        pause: true,
        wait: !losses.control,
        shape: true,
        reservation: None,
    };
    let (mut sender, mut receiver) = (Sender::new(sending, now), Receiver::new(plan));
    let mut events: Vec<(Timestamp<Monotonic>, Event)> = Vec::new();
    if losses.control {
        sender.handle(SenderInput::NoControl, now);
    } else {
        events.push((now + DELAY, Event::ToReceiver(SenderMessage::Test(sending.offer()))));
    }
    let (mut sent, mut received, mut is_connected) = (None, None, !losses.control);
    for _ in 0..10_000 {
        events.sort_by_key(|(due, _)| *due);
        while let Some((_, event)) = events.first().filter(|(due, _)| *due <= now).cloned() {
            events.remove(0);
            match event {
                Event::Packet(packet) => {
                    receiver.packet(&packet, now);
                }
                Event::ToReceiver(SenderMessage::Test(offer)) => {
                    events.push((now + DELAY, Event::ToSender(receiver.offered(offer, now))));
                }
                Event::ToReceiver(message) => receiver.message(&message, now),
                Event::ToSender(ReceiverMessage::Ready { .. }) => sender.handle(SenderInput::Ready, now),
                // It answers another program.
                Event::ToSender(ReceiverMessage::Calibrated) => unreachable!(),
                Event::ToSender(ReceiverMessage::Busy) => sender.handle(SenderInput::Busy, now),
                Event::ToSender(ReceiverMessage::Refused(_) | ReceiverMessage::CannotReserve) => {
                    unreachable!("no reservation is requested")
                }
                Event::ToSender(ReceiverMessage::Ended { .. }) => {
                    sender.handle(SenderInput::ReceiverEnded, now);
                }
            }
        }
        let mut next = events.first().map(|(due, _)| *due);
        let mut wake = |at: Timestamp<Monotonic>| next = Some(next.map_or(at, |next| next.min(at)));
        match sender.poll(now) {
            SenderStep::Wait(until) => until.into_iter().for_each(&mut wake),
            SenderStep::Write(message) => {
                if is_connected {
                    events.push((now + DELAY, Event::ToReceiver(message)));
                }
                wake(now);
            }
            SenderStep::Reserve | SenderStep::Hold => unreachable!("no reservation is requested"),
            SenderStep::Prompt => {
                sender.handle(SenderInput::Continue, now + Duration::from_secs(1));
                wake(now);
            }
            SenderStep::Send { due, .. } if due > now => wake(due),
            SenderStep::Send { kind, sequence, .. } => {
                sender.sent(now);
                let is_lost = match kind {
                    PacketKind::Termination => losses.terminations,
                    _ => random.bits(sequence) % 100 < losses.packets,
                };
                if !is_lost {
                    let packet = Packet { kind, sequence, sent: 0, user: 0, session: 5 };
                    events.push((now + DELAY, Event::Packet(packet)));
                }
                wake(now);
            }
            SenderStep::Ended(end) => {
                if sent.is_none() && is_connected && losses.done {
                    is_connected = false;
                    receiver.control_lost();
                } else if sent.is_none() && is_connected {
                    let done = SenderMessage::Done { packets: Some(sender.packets()) };
                    events.push((now + DELAY, Event::ToReceiver(done)));
                    wake(now);
                }
                sent = Some(end);
            }
        }
        match receiver.poll(now) {
            ReceiverStep::Wait(until) => until.into_iter().for_each(&mut wake),
            ReceiverStep::Write(message) => {
                if is_connected {
                    events.push((now + DELAY, Event::ToSender(message)));
                }
                wake(now);
            }
            ReceiverStep::Ended(end) => received = Some(end),
        }
        if let (Some(sender), Some(end)) = (sent, received) {
            return Ends {
                sender,
                receiver: end,
                received: receiver.received(),
                expected: receiver.expected(),
            };
        }
        match next {
            Some(next) => now = now.max(next),
            None if events.is_empty() => {
                now = now + PATIENCE;
                receiver.end_by(ReceiverEnd::Keyboard, now);
            }
            None => {}
        }
    }
    panic!("the test does not end: {losses:?}, seed {seed}");
}

fn plan(packets: u64) -> ReceiverPlan {
    ReceiverPlan { calibration: 10, quota: Quota::Packets(packets), kernel_stamps: true, wait: true }
}

/// Each condition ends a test if the network loses everything that belongs to the others.
#[test]
fn each_condition_is_sufficient() {
    let none = Losses::default();
    let ends = |losses, packets| {
        let ends = run(losses, plan(packets), 1);
        (ends.sender, ends.receiver, ends.received)
    };
    let all_sent = SenderEnd::AllSent;
    let silent = Losses { control: true, terminations: true, ..none };
    assert_eq!(ends(silent, 40), (all_sent, ReceiverEnd::Quota, 50));
    assert_eq!(ends(Losses { control: true, ..none }, 1_000), (all_sent, ReceiverEnd::Termination, 50));
    assert_eq!(ends(Losses { terminations: true, ..none }, 1_000), (all_sent, ReceiverEnd::Done, 50));
    assert_eq!(ends(silent, 1_000), (all_sent, ReceiverEnd::Keyboard, 50));
    let broken = Losses { done: true, terminations: true, ..none };
    assert_eq!(ends(broken, 1_000), (all_sent, ReceiverEnd::Keyboard, 50), "DONE is lost");
    assert_eq!(ends(Losses { done: true, ..none }, 1_000), (all_sent, ReceiverEnd::Termination, 50));
}

/// A receiver that expects fewer packets ends the test of both.
#[test]
fn receivers_end_the_test_of_both() {
    let ends = run(Losses::default(), plan(5), 1);
    assert_eq!((ends.sender, ends.receiver), (SenderEnd::ReceiverEnded, ReceiverEnd::Quota));
    assert_eq!((ends.received, ends.expected), (15, 15));
}

/// Whatever is lost, both ends come to an end, and lost packets are those that the sender sent and the receiver lacks.
#[test]
fn any_losses_end() {
    for seed in 0..200 {
        for bits in 0..8_u32 {
            let losses = Losses {
                control: bits & 1 != 0,
                done: bits & 2 != 0,
                terminations: bits & 4 != 0,
                packets: 20,
            };
            let ends = run(losses, plan(1_000), seed);
            assert_eq!(ends.sender, SenderEnd::AllSent, "{losses:?}, seed {seed}");
            let is_informed = matches!(ends.receiver, ReceiverEnd::Done | ReceiverEnd::Termination);
            assert_eq!(is_informed, bits & 4 == 0 || bits & 3 == 0, "{losses:?}, seed {seed}");
            assert!(
                ends.received <= ends.expected && (!is_informed || ends.expected == 50),
                "{ends:?}, seed {seed}"
            );
        }
    }
}

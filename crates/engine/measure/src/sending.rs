//! The thread that keeps the schedule of all streams.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use romer_endpoint::ThreadOptions;
use romer_endpoint::threads::{STOOD_STILL, TOO_LATE};
use romer_host::clock::{self, Realtime};
use romer_host::pacing::{Pacer, Scheduling};
use romer_host::socket::{Outgoing, Waker};
use romer_host::thread::Role;
use romer_record::log::Entry;
use romer_session::sender::{Departures, Due, wire_sequence};
use romer_store::LogSender;
use romer_units::{Duration, Monotonic, Timestamp};

use super::stream::Shared;

/// A stream's schedule, with what turns it into packets.
pub(super) type Probes = Departures<Box<dyn Iterator<Item = (Duration, u32)> + Send>>;

/// Transmit stamps that may wait in the socket's error queue before somebody is called to read them. The least
/// receive buffer that systems give has room for several hundred.
const STAMPS_WAITING: u64 = 64;

/// What the sending thread needs of one stream.
pub(super) struct StreamSender {
    pub(super) shared: Arc<Shared>,
    /// Wakes the thread that reads the stream.
    pub(super) reader: Arc<Waker>,
    pub(super) probes: Probes,
    /// How long before its time each probe is handed to the kernel, at the earliest with the first; zero unless the kernel
    /// keeps the schedule.
    pub(super) lead: Duration,
}

/// When a probe that is due `at` is handed to the kernel, in a stream that begins at `first`.
fn hand_over(at: Timestamp<Monotonic>, first: Timestamp<Monotonic>, lead: Duration) -> Timestamp<Monotonic> {
    if lead == Duration::ZERO { at } else { (at - lead).max(first) }
}

/// Sends all probes of all streams at their times, until they are sent or `stop` is used. Gives the scheduling class
/// that the thread had.
pub(super) fn send_all(
    mut legs: Vec<StreamSender>,
    interval: Duration,
    log: &LogSender,
    stop: &Waker,
    threads: ThreadOptions,
) -> Scheduling {
    let _run = threads.begin(c"romer-send", Role::Paces);
    let mut buffer = vec![0; 65_535];
    let mut queue = BinaryHeap::with_capacity(legs.len());
    let mut firsts = Vec::with_capacity(legs.len());
    for (index, leg) in legs.iter_mut().enumerate() {
        let first = leg.probes.next_due();
        firsts.push(first.map(|due| due.at));
        match first {
            Some(due) => queue.push(Reverse((due.at, index, due.sequence, due.size, due.at))),
            None => leg.shared.departed_all(),
        }
    }
    let mut pacer = Pacer::start(interval);
    while let Some(Reverse((handed, index, sequence, size, at))) = queue.pop() {
        let due = Due { sequence, at, size };
        let Ok(Some(wake)) = pacer.wait_until_or(handed, stop) else { break };
        let leg = &mut legs[index];
        if leg.shared.is_halted() {
            continue;
        }
        leg.shared.latest_ns.fetch_max(wake.late.as_nanos(), Ordering::AcqRel);
        if wake.late >= TOO_LATE {
            skip_one(leg, &due, log);
        } else {
            // Negative ahead of the schedule, of which the kernel's stamp has the departure.
            send_one(leg, &due, wake.at - at, log, &mut buffer);
        }
        match leg.probes.next_due() {
            Some(next) => {
                let handed = hand_over(next.at, firsts[index].unwrap_or(next.at), leg.lead);
                queue.push(Reverse((handed, index, next.sequence, next.size, next.at)));
            }
            None => leg.shared.departed_all(),
        }
    }
    for leg in &legs {
        leg.shared.departed_all();
    }
    pacer.scheduling()
}

/// Passes over a probe that was due while the program stood still: sent now, it would measure another moment, in a
/// burst of all that were due meanwhile.
fn skip_one(leg: &StreamSender, due: &Due, log: &LogSender) {
    let shared = &leg.shared;
    shared.echoes.withdraw(due.sequence);
    shared.sent.store(due.sequence + 1, Ordering::Release);
    shared.refusal.store(STOOD_STILL, Ordering::Release);
    shared.not_sent.fetch_add(1, Ordering::Release);
    let user_ns = clock::realtime_now().as_nanos();
    let entry = Entry::NotSent { sequence: due.sequence, size: due.size, errno: STOOD_STILL, user_ns };
    log.append(shared.number, &entry);
}

fn send_one(leg: &StreamSender, due: &Due, late: Duration, log: &LogSender, buffer: &mut [u8]) {
    let shared = &leg.shared;
    let t1 = clock::realtime_now();
    let Some(length) = leg.probes.write(due, t1.as_nanos(), buffer) else { return };
    // Before the send call: the reflection may be back before that call returns.
    shared.sent.store(due.sequence + 1, Ordering::Release);
    let outgoing = Outgoing::new(&buffer[..length], shared.target, wire_sequence(due.sequence));
    let entry = match shared.socket.send(&outgoing) {
        Ok(sent) => Entry::Sent {
            sequence: due.sequence,
            size: due.size,
            wake_error_ns: late.as_nanos(),
            user_ns: Realtime::as_nanos(sent.user),
        },
        Err(error) => {
            shared.echoes.withdraw(due.sequence);
            shared.refusal.store(error.errno().unwrap_or(0), Ordering::Release);
            shared.not_sent.fetch_add(1, Ordering::Release);
            Entry::NotSent {
                sequence: due.sequence,
                size: due.size,
                errno: error.errno().unwrap_or(0),
                user_ns: t1.as_nanos(),
            }
        }
    };
    log.append(shared.number, &entry);
    // Reflections wake the reader as a rule. Where none come, stamps do not wake it either: nobody waits for the
    // socket that sends, so that sending is not held up by waking somebody.
    let waiting = (due.sequence + 1).saturating_sub(shared.stamped.load(Ordering::Relaxed));
    if waiting >= STAMPS_WAITING && due.sequence.is_multiple_of(STAMPS_WAITING) {
        leg.reader.wake();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The first packets are handed over with the first, the others ahead by the lead.
    #[test]
    fn packets_are_handed_over_ahead() {
        let at = |ms: i64| Timestamp::from_nanos(1_000_000 * (1_000 + ms));
        let handed = |offset| hand_over(at(offset), at(0), Duration::from_millis(16));
        assert_eq!([0, 4, 16, 20, 400].map(handed), [0, 0, 0, 4, 384].map(at));
        assert_eq!(hand_over(at(7), at(9), Duration::ZERO), at(7));
    }
}

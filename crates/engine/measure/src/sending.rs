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
use romer_units::Duration;

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
    for (index, leg) in legs.iter_mut().enumerate() {
        match leg.probes.next_due() {
            Some(due) => queue.push(Reverse((due.at, index, due.sequence, due.size))),
            None => leg.shared.departed_all(),
        }
    }
    let mut pacer = Pacer::start(interval);
    while let Some(Reverse((at, index, sequence, size))) = queue.pop() {
        let due = Due { sequence, at, size };
        let Ok(Some(wake)) = pacer.wait_until_or(due.at, stop) else { break };
        let leg = &mut legs[index];
        if leg.shared.is_halted() {
            continue;
        }
        leg.shared.latest_ns.fetch_max(wake.late.as_nanos(), Ordering::AcqRel);
        if wake.late >= TOO_LATE {
            skip_one(leg, &due, log);
        } else {
            send_one(leg, &due, wake.late, log, &mut buffer);
        }
        match leg.probes.next_due() {
            Some(next) => queue.push(Reverse((next.at, index, next.sequence, next.size))),
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

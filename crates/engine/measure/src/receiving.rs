//! The threads that read reflections and transmit stamps.

use std::ops::Range;
use std::os::fd::AsFd;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::SyncSender;

use romer_endpoint::ThreadOptions;
use romer_endpoint::card::{self, Unplaced};
use romer_endpoint::overflow::Overflows;
use romer_host::clock::{self, Realtime};
use romer_host::link::Network;
use romer_host::socket::{
    MAX_WAITED, PathError, PathErrorKind, QUOTED, ReceiveBatch, StampingSocket, TransmitEvents, Waker,
    wait_any,
};
use romer_host::thread::Role;
use romer_record::document::{ProbeDirection, Replies};
use romer_record::log::{CardMoment, Entry};
use romer_session::sender::{Arrival, OneWayReceiver, ReplyMatcher, wire_sequence};
use romer_store::LogSender;
use romer_units::Duration;

use super::router_report::from_path_error;
use super::stream::Shared;
use super::unanswered::{UNANSWERED, Unanswered};

/// Streams that one thread reads.
pub(super) const STREAMS_OF_ONE: usize = MAX_WAITED;
/// How long what waits at a socket is read at the end, at the most.
const READ_OUT: Duration = Duration::from_secs(10);
/// Longest time between two looks at the end of the run, and at the sockets that nobody waits for.
const POLL_INTERVAL: Duration = Duration::from_millis(100);

/// A delay as it is seen while the run goes on, from stamps that are at hand: for the live display only.
#[derive(Clone, Copy, Debug)]
pub(super) struct LiveDelay {
    pub(super) stream: u16,
    /// Number of the probe.
    pub(super) sequence: u64,
    pub(super) round_trip_ns: i64,
    /// Arrived at the far end and left there, by what its packet tells.
    pub(super) there_ns: Option<[i64; 2]>,
    /// Left here and came back.
    pub(super) here_ns: [i64; 2],
}

/// What knows the packets of a stream that come here.
enum PacketSource {
    /// Each is waited for so long before it counts as lost in what is shown meanwhile.
    Reflections(ReplyMatcher, Duration),
    Theirs(OneWayReceiver),
    /// None come: the stream goes there only.
    Nothing,
}

impl PacketSource {
    fn new(stream: &Shared, waiting: Duration) -> Self {
        match (stream.way, stream.session) {
            (ProbeDirection::Reverse, Some(session)) => {
                Self::Theirs(OneWayReceiver::new(session, Some(stream.target), u64::MAX))
            }
            (ProbeDirection::RoundTrip, _) => Self::Reflections(
                ReplyMatcher::new(stream.target, stream.returned_ssid(), 1 << 16, Arc::clone(&stream.echoes))
                    .with_key(stream.key.clone())
                    .with_in_packet_stamps(stream.in_packet_stamps),
                waiting,
            ),
            _ => Self::Nothing,
        }
    }

    /// The entry of the log for what arrived, if it is of the stream.
    fn entry(&mut self, arrival: &Arrival<'_>, sent: u64) -> Option<Entry> {
        match self {
            Self::Reflections(returns, _) => returns.on_datagram(arrival, sent).ok(),
            Self::Theirs(comings) => {
                let coming = comings.on_datagram(arrival.payload, arrival.source).ok()?;
                Some(Entry::Came {
                    sequence: coming.sequence,
                    size: u32::try_from(arrival.payload.len()).unwrap_or(u32::MAX),
                    user_ns: arrival.user_ns,
                    kernel_ns: arrival.kernel_ns,
                    ttl: arrival.ttl,
                    tos: arrival.tos,
                })
            }
            Self::Nothing => None,
        }
    }

    /// The stamp of the departure of a probe that its reply brought.
    fn departure_stamp(&self, arrival: &Arrival<'_>, entry: &Entry) -> Option<i64> {
        match self {
            Self::Reflections(returns, _) => returns.departure_stamp(arrival.payload, entry.sequence()),
            Self::Theirs(_) | Self::Nothing => None,
        }
    }

    /// Publishes how many have come.
    fn publish(&mut self, stream: &Shared) {
        match self {
            Self::Reflections(returns, waiting) => {
                let [sent, not_sent] =
                    [&stream.sent, &stream.not_sent].map(|count| count.load(Ordering::Acquire));
                stream.returned.store(returns.distinct(), Ordering::Release);
                returns.settle(clock::realtime_now().as_nanos() - waiting.as_nanos(), sent);
                let outstanding = returns.outstanding(sent.saturating_sub(not_sent));
                stream.settle(returns.settled(), outstanding);
            }
            Self::Theirs(comings) => {
                stream.returned.store(comings.distinct(), Ordering::Release);
                let settled = comings.settled();
                // Of those that follow, the far end tells once it has sent the last.
                let sent = stream.sent.load(Ordering::Acquire);
                stream.settle(settled, sent.saturating_sub(settled.probes));
            }
            // The far end tells how many arrived there.
            Self::Nothing => {}
        }
    }

    /// What came besides what is counted.
    fn replies(&self) -> Replies {
        match self {
            Self::Reflections(returns, _) => returns.replies().clone(),
            Self::Theirs(comings) => Replies { rejected: comings.rejected().clone(), ..Replies::default() },
            Self::Nothing => Replies::default(),
        }
    }
}

/// Reads the reflections of up to [`STREAMS_OF_ONE`] streams until `stop`, and their stamps whenever a reflection
/// came, `waker` was used or [`POLL_INTERVAL`] has passed. Reflections are waited for as long as `waiting`.
pub(super) fn receive_all(
    streams: &[Arc<Shared>],
    waker: &Waker,
    (log, live): (&LogSender, &SyncSender<LiveDelay>),
    stop: &AtomicBool,
    threads: ThreadOptions,
    waiting: Duration,
) {
    let mut run = threads.begin(c"romer-receive", Role::Waits);
    let Some(first) = streams.first() else { return };
    let mut descriptors = [first.watched().as_fd(); MAX_WAITED];
    for (descriptor, stream) in descriptors.iter_mut().zip(streams) {
        *descriptor = stream.watched().as_fd();
    }
    let watched = &descriptors[..streams.len().min(MAX_WAITED)];
    let mut known: Vec<(PacketSource, [Overflows; 2])> = streams
        .iter()
        .map(|stream| (PacketSource::new(stream, waiting), [Overflows::new(), Overflows::new()]))
        .collect();
    let mut unanswered = vec![Unanswered::default(); streams.len()];
    let mut unplaced = Unplaced::default();
    let mut batch = ReceiveBatch::new(64, 2_048);
    let mut events = TransmitEvents::new(256);
    let mut next_look = clock::monotonic_now();
    while !stop.load(Ordering::Acquire) {
        let before = clock::monotonic_now();
        let ready = wait_any(watched, Some(waker), Some(POLL_INTERVAL));
        let now = clock::monotonic_now();
        run.turn(before, now);
        let everything = now >= next_look || ready.as_ref().map_or(true, |ready| ready.woken());
        if everything {
            next_look = now + POLL_INTERVAL;
        }
        let each = streams.iter().zip(&mut known).zip(&mut unanswered).zip(0..);
        for (((stream, (known, overflows)), unanswered), index) in each {
            let is_ready = ready.as_ref().is_ok_and(|ready| ready.readable(index) || ready.errors(index));
            if !(everything || is_ready) {
                continue;
            }
            for (socket, overflows) in stream.sockets().zip(overflows) {
                receive(stream, socket, overflows, known, &mut batch, &mut unplaced, (log, live));
                collect_stamps(stream, socket, &mut events, &mut unplaced, unanswered, log);
                if everything {
                    stream.overflowed(overflows.take_new());
                }
            }
        }
        unplaced.settle(|stream, card| {
            log.append(stream, &Entry::Card(card));
        });
    }
    // What came while this thread or the whole program stood still, or had too little of the processor, is there, though the
    // time is over: all of it, and nothing that comes from now on.
    let (now, end) = (clock::realtime_now().as_nanos(), clock::monotonic_now() + READ_OUT);
    for ((stream, (known, overflows)), unanswered) in streams.iter().zip(&mut known).zip(&mut unanswered) {
        for (socket, overflows) in stream.sockets().zip(overflows) {
            while receive(stream, socket, overflows, known, &mut batch, &mut unplaced, (log, live))
                .is_some_and(|read_to| read_to < now)
                && clock::monotonic_now() < end
            {
                collect_stamps(stream, socket, &mut events, &mut unplaced, unanswered, log);
            }
            collect_stamps(stream, socket, &mut events, &mut unplaced, unanswered, log);
            if let Ok(total) = socket.kernel_drops() {
                overflows.end(total, clock::realtime_now().as_nanos());
            }
            stream.overflowed(overflows.take_new());
        }
        stream.set_replies(known.replies());
        let sent = left_of(stream);
        if stream.socket.has_kernel_stamps() && unanswered.lacks(sent) {
            let next = Network::open(None).and_then(|network| network.unanswering(stream.target));
            let is_asked = next.is_ok_and(|next| next.is_some());
            did_not_leave(stream, unanswered.end(sent, is_asked, stamps_all(stream)), log);
        }
    }
    unplaced.settle_all(|stream, card| {
        log.append(stream, &Entry::Card(card));
    });
}

/// Reads what has come to `socket`. Gives when the last of it came, by the real-time clock, if that is known and there may be more.
fn receive(
    stream: &Shared,
    socket: &StampingSocket,
    overflows: &mut Overflows,
    known: &mut PacketSource,
    batch: &mut ReceiveBatch,
    unplaced: &mut Unplaced<u16>,
    (log, live): (&LogSender, &SyncSender<LiveDelay>),
) -> Option<i64> {
    let mut read_to = None;
    for _ in 0..8 {
        match socket.receive_batch(batch) {
            Ok(0) | Err(_) => {
                read_to = None;
                break;
            }
            Ok(_) => {}
        }
        let sent = stream.sent.load(Ordering::Acquire);
        for datagram in batch.iter() {
            overflows.take(&datagram);
            read_to = Some(datagram.kernel.map_or(i64::MIN, Realtime::as_nanos));
            let arrival = Arrival {
                payload: datagram.payload,
                source: datagram.peer,
                user_ns: datagram.user.as_nanos(),
                kernel_ns: datagram.kernel.map(Realtime::as_nanos),
                ttl: datagram.ttl,
                tos: datagram.tos,
            };
            if let Some(entry) = known.entry(&arrival, sent) {
                let departure = known.departure_stamp(&arrival, &entry);
                if let Some(kernel_ns) = departure {
                    let sequence = entry.sequence();
                    log.append(stream.number, &Entry::SentStamp { sequence, kernel_ns });
                }
                log.append(stream.number, &entry);
                if let Some((card, time)) = card::of_arrival(&stream.card, &datagram) {
                    let moment = if stream.way == ProbeDirection::Reverse {
                        CardMoment::TheirsCame
                    } else {
                        CardMoment::Returned
                    };
                    let record = card::record(entry.sequence(), moment, card::told_by(&datagram));
                    unplaced.push(stream.number, record, card, time);
                }
                if let Some(seen) = seen(stream, &entry, departure) {
                    // A display that lags behind misses some.
                    let _ = live.try_send(seen);
                }
            }
        }
    }
    known.publish(stream);
    read_to
}

/// What a reply shows at once, of a probe whose departure was stamped at `departure`, if that is known.
fn seen(stream: &Shared, entry: &Entry, departure: Option<i64>) -> Option<LiveDelay> {
    let Entry::Returned { sequence, user_ns, kernel_ns, told_t2_ns, told_t3_ns, .. } = entry else {
        return None;
    };
    let t1 = departure.or_else(|| stream.echoes.departure(*sequence))?;
    let t4 = kernel_ns.unwrap_or(*user_ns);
    let there_ns = told_t2_ns.zip(*told_t3_ns).map(|(t2, t3)| [t2, t3]);
    let there = there_ns.map_or(0, |[t2, t3]| t3.saturating_sub(t2));
    let round_trip_ns = t4.saturating_sub(t1).saturating_sub(there);
    Some(LiveDelay { stream: stream.number, sequence: *sequence, round_trip_ns, there_ns, here_ns: [t1, t4] })
}

fn collect_stamps(
    stream: &Shared,
    socket: &StampingSocket,
    events: &mut TransmitEvents,
    unplaced: &mut Unplaced<u16>,
    unanswered: &mut Unanswered,
    log: &LogSender,
) {
    for _ in 0..64 {
        match socket.transmit_events(events) {
            Ok(0) | Err(_) => return,
            Ok(_) => {}
        }
        let sent = left_of(stream);
        let is_unanswered =
            |error: &PathError| error.kind == PathErrorKind::Unreachable && is_of_this_host(stream, error);
        let quoted = |error: &PathError| error.quoted.and_then(|quoted| quoted_number(stream, quoted, sent));
        let reported = events.path_errors().iter().filter(|error| is_unanswered(error)).filter_map(quoted);
        let mut reported: Vec<u64> = reported.collect();
        reported.sort_unstable();
        let mut stamps = 0;
        for stamp in events.stamps() {
            // The association's datagrams are stamped as well, under a number that no probe has.
            let Some(sequence) = numbered(stamp.id, sent) else { continue };
            // Stamps and reports come by themselves, each in their order.
            let before = reported.partition_point(|one| *one < sequence);
            for one in reported.drain(..before) {
                did_not_leave(stream, unanswered.dropped(one, stamps_all(stream)), log);
            }
            did_not_leave(stream, unanswered.left(sequence), log);
            // In-packet stamps have the place of these.
            if !stream.in_packet_stamps {
                let kernel_ns = stamp.kernel.as_nanos();
                log.append(stream.number, &Entry::SentStamp { sequence, kernel_ns });
            }
            stamps += 1;
        }
        for one in reported {
            did_not_leave(stream, unanswered.dropped(one, stamps_all(stream)), log);
        }
        for stamp in events.card_stamps() {
            if let (Some(sequence), Some(card)) = (numbered(stamp.id, sent), stream.card.first()) {
                let record = card::record(sequence, CardMoment::Left, 0);
                unplaced.push(stream.number, record, Arc::clone(card), stamp.card);
            }
        }
        // What this host itself would not send for its length is not of the path: the call that sends has said so.
        let own = |error: &&PathError| {
            error.reporter.is_none() && matches!(error.kind, PathErrorKind::TooLong { .. })
        };
        let (mut errors, mut nobody, mut too_long) = (0, 0, 0);
        for error in events.path_errors().iter().filter(|error| !own(error) && !is_unanswered(error)) {
            let mtu = match error.kind {
                PathErrorKind::TooLong { mtu } => mtu,
                PathErrorKind::PortUnreachable if error.reporter == Some(stream.target.ip()) => {
                    nobody += 1;
                    continue;
                }
                _ => {
                    if let Some(report) = from_path_error(error, |from| stream.is_own(from)) {
                        stream.hear_router(report);
                    }
                    errors += 1;
                    continue;
                }
            };
            too_long += 1;
            stream.path_mtu.store(mtu, Ordering::Release);
        }
        stream.stamped.fetch_add(stamps, Ordering::Release);
        stream.path_errors.fetch_add(errors, Ordering::Release);
        stream.nobody.fetch_add(nobody, Ordering::Release);
        stream.too_long.fetch_add(too_long, Ordering::Release);
    }
}

/// How many probes were handed to this host's socket. Where the far end sends, `sent` counts its probes, and ours are associations
/// only.
fn left_of(stream: &Shared) -> u64 {
    if stream.way == ProbeDirection::Reverse { 0 } else { stream.sent.load(Ordering::Acquire) }
}

/// This host tells itself so of what it kept until the next host answered, which it did not.
fn is_of_this_host(stream: &Shared, error: &PathError) -> bool {
    error.reporter.is_none_or(|from| stream.is_own(from))
}

/// Whether what leaves is stamped, as far as is known: nothing has come that has no stamp.
fn stamps_all(stream: &Shared) -> bool {
    stream.socket.has_kernel_stamps() && stream.returned.load(Ordering::Acquire) == 0
}

/// This host dropped these probes, whom the next host on the way would not have.
fn did_not_leave(stream: &Shared, those: Range<u64>, log: &LogSender) {
    let count = those.end.saturating_sub(those.start);
    if count == 0 {
        return;
    }
    let user_ns = clock::realtime_now().as_nanos();
    for sequence in those {
        stream.echoes.withdraw(sequence);
        // How long it was stands in the entry of its departure.
        log.append(stream.number, &Entry::NotSent { sequence, size: 0, errno: UNANSWERED, user_ns });
    }
    stream.refusal.store(UNANSWERED, Ordering::Release);
    stream.not_sent.fetch_add(count, Ordering::Release);
    stream.unanswered.fetch_add(count, Ordering::Release);
}

/// The probe whose payload begins so.
fn quoted_number(stream: &Shared, quoted: [u8; QUOTED], sent: u64) -> Option<u64> {
    match stream.session {
        Some(session) => session.number_of_beginning(quoted, sent.checked_sub(1)?),
        // RFC 8762 section 4.2: the sequence number is what a probe begins with.
        None => numbered(u32::from_be_bytes([quoted[0], quoted[1], quoted[2], quoted[3]]), sent),
    }
}

/// The probe that left with this number of 32 bits: the latest of those that were sent.
fn numbered(id: u32, sent: u64) -> Option<u64> {
    let last = sent.checked_sub(1)?;
    let back = wire_sequence(last).wrapping_sub(id);
    last.checked_sub(u64::from(back))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_stamp_is_of_the_latest_probe_with_its_number() {
        assert_eq!(numbered(0, 0), None);
        assert_eq!(numbered(4, 5), Some(4));
        assert_eq!(numbered(u32::MAX, (1 << 32) + 2), Some((1 << 32) - 1));
        assert_eq!(numbered(9, 5), None, "not sent yet");
    }
}

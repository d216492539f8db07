//! The threads that send the responder's own one-way probes, one for each session that asked for them.
//!
//! Each has a socket of its own at the test port, so that its transmit stamps do not meet those of the reflections. It
//! sends only to the address that the session's association has proved, the latest one: behind a NAT it may change.

use std::collections::VecDeque;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{SyncSender, TrySendError};
use std::sync::{Arc, Mutex, PoisonError};

use romer_endpoint::ThreadOptions;
use romer_endpoint::card::{self, Unplaced};
use romer_endpoint::threads::{STOOD_STILL, TOO_LATE};
use romer_host::HostError;
use romer_host::clock::{self, Realtime};
use romer_host::pacing::Pacer;
use romer_host::socket::{Outgoing, PathErrorKind, TransmitEvents, Waker};
use romer_host::thread::Role;
use romer_record::log::{CardMoment, ResponderDeparture};
use romer_session::control::ReverseStreamRequest;
use romer_session::send_limit::{Excess, SendLimit, SendPart};
use romer_session::sender::{Departures, Due, Form, wire_sequence};
use romer_units::{Duration, Monotonic, Timestamp};
use romer_wire::oneway_probe;
use romer_wire::pattern::Pattern;

use super::event_queue::EventQueue;
use super::messages::{SendPath, ThreadEvent};
use super::send_errors::{OVER_THE_BITS, OVER_THE_RATE, Refused, SendErrors};
use super::tx_stamp_timeout::{self, StampTimeout};
use super::watchdog::Turn;

/// What the threads are called.
pub(super) const SEND: &str = "romer-send";
/// From the order to the first probe.
const LEAD: Duration = Duration::from_millis(20);
/// Records that wait for their transmit stamp at the most; the oldest goes without.
const PENDING: usize = 16_384;
/// Longest time between two looks at what the control thread wants.
const POLL_INTERVAL: Duration = Duration::from_millis(5);

/// Commands of the control thread to a sending thread.
#[derive(Debug, Default)]
struct SenderCommands {
    path: Mutex<Option<SendPath>>,
    redirected: AtomicBool,
    halted: AtomicBool,
    finishing: AtomicBool,
    abandoned: AtomicBool,
}

/// A session's sending thread. Dropping it ends the sending at once.
#[derive(Debug)]
pub(super) struct ProbeSender {
    wishes: Arc<SenderCommands>,
    waker: Arc<Waker>,
}

/// How the threads that send are run.
#[derive(Debug)]
pub(super) struct Pacing {
    threads: ThreadOptions,
    /// They send for strangers, and neither spin nor run before the threads that serve others.
    shares: bool,
    /// Held by each thread until it has ended.
    alive: Arc<()>,
}

impl Pacing {
    pub(super) fn new(threads: ThreadOptions, shares: bool) -> Self {
        Self { threads, shares, alive: Arc::new(()) }
    }

    /// Threads that have not ended, those of sessions that have among them.
    pub(super) fn alive(&self) -> usize {
        Arc::strong_count(&self.alive) - 1
    }
}

/// To whom a sending thread tells what it did.
#[derive(Clone)]
pub(super) struct Listener {
    pub(super) session: u32,
    pub(super) notes: SyncSender<ThreadEvent>,
    pub(super) waker: Arc<Waker>,
    /// How long the thread has been at its work.
    pub(super) turn: Arc<Turn>,
}

impl ProbeSender {
    /// Begins to send `stream` as `probes`, at most `most` of them.
    ///
    /// # Errors
    /// In words, where the system gives no thread.
    pub(super) fn start(
        stream: &ReverseStreamRequest,
        ((probes, most), pattern): ((oneway_probe::Session, u64), Option<Pattern>),
        path: SendPath,
        listener: Listener,
        limit: Arc<Mutex<SendLimit>>,
        pacing: &Pacing,
    ) -> Result<Self, String> {
        let schedule = stream.schedule()?;
        let plain = |error: HostError| error.to_string();
        let waker = Arc::new(Waker::new().map_err(plain)?);
        let wishes = Arc::new(SenderCommands::default());
        let sending = Sending {
            wishes: Arc::clone(&wishes),
            waker: Arc::clone(&waker),
            backlog: EventQueue::of_one_each(schedule.interval(), listener.notes.clone()),
            listener,
            part: part_for(&limit, &path),
            limit,
            path,
            waiting: VecDeque::with_capacity(1_024),
            patience: StampTimeout::default(),
            events: TransmitEvents::new(256),
            unplaced: Unplaced::default(),
            last: 0,
            tos: stream.dscp << 2 | (stream.ecn & 0b11),
            sent: 0,
            lost: 0,
            refusals: SendErrors::default(),
            is_untaken: false,
            shares: pacing.shares,
            pattern,
        };
        let most = usize::try_from(most).unwrap_or(usize::MAX);
        let interval = schedule.interval();
        let floor = stream.floor;
        let offsets = schedule.take(most).map(move |departure| (departure.offset, departure.size.max(floor)));
        let (teller, abandoning) = (sending.listener.clone(), Arc::clone(&wishes));
        let (threads, alive) = (pacing.threads, Arc::clone(&pacing.alive));
        std::thread::Builder::new()
            .name(SEND.into())
            .spawn(move || {
                let _alive = alive;
                let _run = threads.begin(c"romer-send", Role::Paces);
                if catch_unwind(AssertUnwindSafe(|| sending.run(offsets, interval, probes))).is_err() {
                    tell_failure(&teller, &abandoning);
                }
            })
            .map_err(|error| error.to_string())?;
        Ok(Self { wishes, waker })
    }

    /// Sends by another path from now on.
    pub(super) fn redirect(&self, path: SendPath) {
        *self.wishes.path.lock().unwrap_or_else(PoisonError::into_inner) = Some(path);
        self.wish(&self.wishes.redirected);
    }

    /// Sends no more.
    pub(super) fn halt(&self) {
        self.wish(&self.wishes.halted);
    }

    /// Sends no more, and tells when everything has been told.
    pub(super) fn finish(&self) {
        self.wish(&self.wishes.finishing);
    }

    fn wish(&self, wish: &AtomicBool) {
        wish.store(true, Ordering::Release);
        self.waker.wake();
    }
}

impl Drop for ProbeSender {
    fn drop(&mut self) {
        // The thread ends by itself: whoever waited for it would keep all other conversations waiting too.
        self.wish(&self.wishes.abandoned);
    }
}

/// Tells the control thread that the sending has ended by a fault of romer's, unless nobody wants to hear of the session any more.
fn tell_failure(teller: &Listener, wishes: &SenderCommands) {
    while !wishes.abandoned.load(Ordering::Acquire) {
        match teller.notes.try_send(ThreadEvent::Failed { session: teller.session }) {
            Err(TrySendError::Full(_)) => std::thread::sleep(POLL_INTERVAL.to_std()),
            Ok(()) | Err(TrySendError::Disconnected(_)) => break,
        }
    }
    teller.waker.wake();
}

struct Waiting {
    record: ResponderDeparture,
    since: Timestamp<Monotonic>,
    /// When the stamp of a later one came.
    passed: Option<Timestamp<Monotonic>>,
}

/// Notes at `now` that the stamp of the departure at `place` has come before those of all before it that have none.
fn pass(waiting: &mut VecDeque<Waiting>, place: usize, now: Timestamp<Monotonic>) {
    // Whatever is before one that was passed has been passed as well.
    for one in waiting.range_mut(..place).rev().take_while(|one| one.passed.is_none()) {
        one.passed = Some(now);
    }
}

/// The thread itself.
struct Sending {
    wishes: Arc<SenderCommands>,
    waker: Arc<Waker>,
    listener: Listener,
    backlog: EventQueue,
    /// What all sessions together may send, and the part that bounds what goes by `path`.
    limit: Arc<Mutex<SendLimit>>,
    part: SendPart,
    path: SendPath,
    /// Departures in their order, until their stamps are known or given up.
    waiting: VecDeque<Waiting>,
    patience: StampTimeout,
    events: TransmitEvents,
    unplaced: Unplaced<()>,
    /// Number of the last probe that was sent.
    last: u64,
    tos: u8,
    sent: u64,
    lost: u64,
    /// Probes that this host has refused and that are not told.
    refusals: SendErrors,
    /// It was reported that nobody takes an earlier one.
    is_untaken: bool,
    /// It neither spins nor runs before other threads.
    shares: bool,
    /// What the probes have behind their fields, if their damage is counted.
    pattern: Option<Pattern>,
}

impl Sending {
    fn run(
        mut self,
        offsets: impl Iterator<Item = (Duration, u32)>,
        interval: Duration,
        probes: oneway_probe::Session,
    ) {
        self.listener.turn.begin(clock::monotonic_now());
        self.send_all(offsets, interval, probes);
        if self.is_abandoned() {
            return;
        }
        let refused = self.refusals.take();
        self.tell_refused(refused);
        self.await_stamps();
        self.await_card_stamps();
        self.send_note(ThreadEvent::Departed { session: self.listener.session, count: self.sent });
        while !self.wishes.finishing.load(Ordering::Acquire) && !self.is_abandoned() {
            self.wait(Duration::from_millis(250));
        }
        let flushed = ThreadEvent::Flushed {
            session: self.listener.session,
            lost: self.lost,
            kernel_drops: 0,
            bad_tag: 0,
        };
        self.send_note(flushed);
    }

    /// Waits for a wish, for so long at the most.
    fn wait(&self, longest: Duration) {
        self.listener.turn.end();
        let _ = romer_host::socket::wait_any(&[], Some(&self.waker), Some(longest));
        self.listener.turn.begin(clock::monotonic_now());
    }

    fn is_abandoned(&self) -> bool {
        self.wishes.abandoned.load(Ordering::Acquire)
    }

    fn is_to_end(&self) -> bool {
        self.wishes.halted.load(Ordering::Acquire)
            || self.wishes.finishing.load(Ordering::Acquire)
            || self.is_abandoned()
    }

    fn send_all(
        &mut self,
        offsets: impl Iterator<Item = (Duration, u32)>,
        interval: Duration,
        probes: oneway_probe::Session,
    ) {
        let mut buffer = vec![0; 65_535];
        let mut pacer = if self.shares { Pacer::start_sharing() } else { Pacer::start(interval) };
        let start = clock::monotonic_now() + LEAD;
        let departures = Departures::new(offsets, start, Form::Compact(probes));
        let mut departures = departures.with_pattern(self.pattern);
        while let Some(due) = departures.next_due() {
            let late = loop {
                if self.is_to_end() {
                    return;
                }
                self.listener.turn.end();
                let waited = pacer.wait_until_or(due.at, &self.waker);
                self.listener.turn.begin(clock::monotonic_now());
                match waited {
                    Ok(Some(wake)) => break wake.late,
                    // Somebody wants something.
                    Ok(None) => {}
                    Err(_) => return,
                }
            };
            if self.is_to_end() {
                return;
            }
            self.take_path();
            let t1 = clock::realtime_now().as_nanos();
            if late >= TOO_LATE {
                self.pass_over(&due, late);
            } else {
                let Some(length) = departures.write(&due, t1, &mut buffer) else { continue };
                self.send_one(&due, late, &buffer[..length]);
            }
            self.collect_stamps();
        }
    }

    fn take_path(&mut self) {
        if !self.wishes.redirected.swap(false, Ordering::AcqRel) {
            return;
        }
        let path = self.wishes.path.lock().unwrap_or_else(PoisonError::into_inner).take();
        if let Some(path) = path {
            // The stamps that were still to come stay with the old socket.
            self.collect_stamps();
            self.part = part_for(&self.limit, &path);
            self.path = path;
        }
    }

    fn send_one(&mut self, due: &Due, late: Duration, payload: &[u8]) {
        let outgoing = Outgoing {
            payload,
            to: self.path.to,
            from: self.path.from,
            tos: Some(self.tos),
            ttl: None,
            id: wire_sequence(due.sequence),
            may_fragment: false,
        };
        let mut record = unsent(due, late);
        record.refused = false;
        // Who is told that nobody takes what it sends leaves one out, as sockets do: the log and an event tell of it so.
        let answer = if std::mem::take(&mut self.is_untaken) {
            Err(HostError::UNTAKEN)
        } else {
            self.admit(payload.len())
                .and_then(|()| self.path.socket.send(&outgoing).map_err(|error| error.errno().unwrap_or(0)))
        };
        match answer {
            Ok(sent) => {
                record.user_ns = Realtime::as_nanos(sent.user);
                self.sent += 1;
                self.part.on_sent(payload.len());
                self.last = due.sequence;
                self.refusals.sent();
            }
            Err(errno) => {
                record.refused = true;
                self.refuse(errno, due.at);
            }
        }
        let refused = self.refusals.over(clock::monotonic_now());
        self.tell_refused(refused);
        self.await_stamp(record);
    }

    /// Asks whether the responder may send a probe of this length now.
    fn admit(&self, payload: usize) -> Result<(), i32> {
        self.part.admit(payload, clock::monotonic_now()).map_err(|excess| match excess {
            Excess::Packets => OVER_THE_RATE,
            Excess::NetworkBits | Excess::TotalBits => OVER_THE_BITS,
        })
    }

    /// Passes over a probe that was due while the program stood still.
    fn pass_over(&mut self, due: &Due, late: Duration) {
        self.refuse(STOOD_STILL, due.at);
        self.await_stamp(unsent(due, late));
    }

    /// One more probe does not leave; those that did not for another reason are told first.
    fn refuse(&mut self, errno: i32, at: Timestamp<Monotonic>) {
        let others = self.refusals.refuse(errno, at, clock::monotonic_now());
        self.tell_refused(others);
    }

    fn await_stamp(&mut self, record: ResponderDeparture) {
        if self.waiting.len() >= PENDING {
            self.hand_over_first();
        }
        self.waiting.push_back(Waiting { record, since: clock::monotonic_now(), passed: None });
    }

    /// Takes the stamps that are in, and hands over the departures that need not wait any longer.
    fn collect_stamps(&mut self) {
        let now = clock::monotonic_now();
        for _ in 0..64 {
            match self.path.socket.transmit_events(&mut self.events) {
                Ok(0) | Err(_) => break,
                Ok(_) => {}
            }
            let mut errors = self.events.path_errors().iter();
            self.is_untaken |= errors.any(|error| error.kind == PathErrorKind::PortUnreachable);
            for stamp in self.events.card_stamps() {
                let back = wire_sequence(self.last).wrapping_sub(stamp.id);
                if let (Some(card), Some(sequence)) =
                    (&self.path.card, self.last.checked_sub(u64::from(back)))
                {
                    let record = card::record(sequence, CardMoment::TheirsLeft, 0);
                    self.unplaced.push((), record, Arc::clone(card), stamp.card);
                }
            }
            for stamp in self.events.stamps() {
                let Some(first) = self.waiting.front().map(|one| one.record.sequence) else { break };
                let place = stamp.id.wrapping_sub(wire_sequence(first));
                let place = usize::try_from(place).unwrap_or(usize::MAX);
                if let Some(waiting) = self.waiting.get_mut(place) {
                    waiting.record.kernel_ns = Some(stamp.kernel.as_nanos());
                    self.patience.meet();
                    pass(&mut self.waiting, place, now);
                }
            }
        }
        self.backlog.catch_up();
        let (backlog, session) = (&mut self.backlog, self.listener.session);
        self.unplaced.settle(|(), card| {
            backlog.push(ThreadEvent::Card { session, card });
        });
        let stamped = self.path.socket.has_kernel_stamps();
        let ends = self.is_to_end();
        while self.waiting.front().is_some_and(|one| {
            // One that was kept until the next host was known may be passed on that occasion, and leave right behind.
            let since = one.passed.unwrap_or(one.since);
            let is_over = ends || one.passed.is_some();
            let is_known = !stamped || one.record.refused || one.record.kernel_ns.is_some();
            is_known || now - since >= self.patience.limit(is_over)
        }) {
            self.hand_over_first();
        }
    }

    /// Tells of probes that this host refused, if there are any.
    fn tell_refused(&mut self, refused: Option<Refused>) {
        if let Some(refused) = refused {
            // Where there is no room even for that, the records tell of each.
            self.backlog.push(ThreadEvent::Refused { session: self.listener.session, refused });
        }
    }

    fn hand_over_first(&mut self) {
        let Some(Waiting { record, .. }) = self.waiting.pop_front() else { return };
        let note = ThreadEvent::Departure { session: self.listener.session, record };
        self.lost += u64::from(!self.backlog.push(note));
    }

    /// A card tells of a departure a little after the kernel; what has not come by then has the kernel's stamp.
    fn await_card_stamps(&mut self) {
        if self.path.card.is_none() {
            return;
        }
        let until = clock::monotonic_now() + tx_stamp_timeout::NIC_STAMP_TIMEOUT;
        while clock::monotonic_now() < until && !self.is_abandoned() {
            self.wait(POLL_INTERVAL);
            self.collect_stamps();
        }
        let (backlog, session) = (&mut self.backlog, self.listener.session);
        self.unplaced.settle_all(|(), card| {
            backlog.push(ThreadEvent::Card { session, card });
        });
    }

    fn await_stamps(&mut self) {
        loop {
            self.collect_stamps();
            if self.waiting.is_empty() || self.is_abandoned() {
                return;
            }
            self.wait(POLL_INTERVAL);
        }
    }

    /// Tells the control thread something that must not be lost, once all before it is told.
    fn send_note(&mut self, note: ThreadEvent) {
        while !self.backlog.catch_up() {
            if self.is_abandoned() {
                return;
            }
            self.listener.waker.wake();
            std::thread::sleep(POLL_INTERVAL.to_std());
        }
        self.backlog.push(note);
        while !self.backlog.catch_up() && !self.is_abandoned() {
            std::thread::sleep(POLL_INTERVAL.to_std());
        }
        self.listener.waker.wake();
    }
}

/// The part of `limit` that bounds what goes by `path`.
fn part_for(limit: &Mutex<SendLimit>, path: &SendPath) -> SendPart {
    let now = clock::monotonic_now();
    limit.lock().unwrap_or_else(PoisonError::into_inner).part(path.to.ip(), now)
}

/// The record of a probe that has not left.
fn unsent(due: &Due, late: Duration) -> ResponderDeparture {
    ResponderDeparture {
        sequence: due.sequence,
        size: due.size,
        wake_error_ns: late.as_nanos(),
        user_ns: clock::realtime_now().as_nanos(),
        kernel_ns: None,
        refused: true,
    }
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc::{Receiver, sync_channel};

    use romer_host::socket::{SocketOptions, StampingSocket};
    use romer_session::send_limit::SendRates;
    use romer_traffic::{Limit, Request, TrafficModel};

    use super::*;
    use crate::watchdog::Watchdog;

    /// A thread that sends `count` probes to itself, at most `most`, and the limit that it asks. Of what it tells, `room` is kept
    /// until it is taken.
    fn sender(
        (count, most): (u64, u64),
        room: usize,
        turn: Arc<Turn>,
        pacing: &Pacing,
    ) -> (ProbeSender, Arc<Mutex<SendLimit>>, Receiver<ThreadEvent>) {
        let (notes, told) = sync_channel(room);
        let listener = Listener { session: 1, notes, waker: Arc::new(Waker::new().unwrap()), turn };
        let request = Request::new(TrafficModel::Periodic, Limit::Count(count));
        let probes = oneway_probe::Session {
            number: 1,
            key: oneway_probe::Key::new([7; 16]),
            direction: romer_units::Direction::Reverse,
        };
        let limit = Arc::new(Mutex::new(SendLimit::new(SendRates::new(1_000, false))));
        let stream = ReverseStreamRequest::new(&request, 44, 0, 64);
        let sender =
            ProbeSender::start(&stream, ((probes, most), None), path(), listener, Arc::clone(&limit), pacing);
        (sender.unwrap(), limit, told)
    }

    fn path() -> SendPath {
        let socket = StampingSocket::bind("127.0.0.1:0".parse().unwrap(), &SocketOptions::default()).unwrap();
        let to = socket.local_address();
        SendPath { socket: Arc::new(socket), to, from: None, card: None }
    }

    /// Asks again and again, for a minute at the most.
    fn until(mut is_so: impl FnMut() -> bool) -> bool {
        (0..6_000).any(|_| {
            std::thread::sleep(std::time::Duration::from_millis(10));
            is_so()
        })
    }

    /// A thread that sends and does not come on with its work, here because nobody takes what it tells, is reported as stuck.
    #[test]
    fn senders_are_watched() {
        let watchdog = Watchdog::default();
        let pacing = Pacing::new(ThreadOptions::default(), true);
        let _sender = sender((1, 1), 0, watchdog.watch(SEND), &pacing);
        let mut stuck = None;
        // A turn that is over soon has another beginning at the next look.
        assert!(until(|| {
            stuck = watchdog.stuck_threads(clock::monotonic_now()).first().copied();
            stuck.is_some()
        }));
        assert_eq!(stuck.map(|stuck| stuck.thread), Some(SEND));
    }

    /// No more probes leave than were asked for, whatever the stream has.
    #[test]
    fn requested_count_is_kept() {
        for (count, most) in [(9, 3), (3, 9)] {
            let pacing = Pacing::new(ThreadOptions::default(), true);
            let (sender, _limit, told) = sender((count, most), 64, Watchdog::default().watch(SEND), &pacing);
            let wait = std::time::Duration::from_secs(60);
            let (mut departures, mut departed) = (0, None);
            while departed.is_none() {
                match told.recv_timeout(wait).unwrap() {
                    ThreadEvent::Departure { .. } => departures += 1,
                    ThreadEvent::Departed { count, .. } => departed = Some(count),
                    _ => {}
                }
            }
            assert_eq!((departures, departed), (3, Some(3)), "{count} departures, {most} asked for");
            drop(sender);
        }
    }

    /// Who ends a session does not wait for its thread, which counts until it has ended.
    #[test]
    fn ended_senders_are_not_waited_for() {
        let pacing = Pacing::new(ThreadOptions::default(), true);
        let (sender, limit, _notes) =
            sender((1_000_000, 1_000_000), 0, Watchdog::default().watch(SEND), &pacing);
        let held = limit.lock().unwrap();
        sender.redirect(path());
        assert!(until(|| !sender.wishes.redirected.load(Ordering::Acquire)), "it waits for the limit");
        let (tell, told) = sync_channel(1);
        std::thread::spawn(move || {
            drop(sender);
            tell.send(()).unwrap();
        });
        assert_eq!(told.recv_timeout(std::time::Duration::from_secs(60)), Ok(()));
        assert_eq!(pacing.alive(), 1);
        drop(held);
        assert!(until(|| pacing.alive() == 0));
    }

    /// The timeout of an overtaken packet starts when a later one has left.
    #[test]
    fn overtaken_stamp_timeout_starts_late() {
        let begin = clock::monotonic_now();
        let [early, late] = [1, 2].map(|seconds| begin + Duration::from_secs(seconds));
        let record = ResponderDeparture {
            sequence: 0,
            size: 44,
            wake_error_ns: 0,
            user_ns: 0,
            kernel_ns: None,
            refused: false,
        };
        let mut waiting: VecDeque<_> =
            (0..5).map(|_| Waiting { record, since: begin, passed: None }).collect();
        pass(&mut waiting, 2, early);
        pass(&mut waiting, 4, late);
        let passed: Vec<_> = waiting.iter().map(|one| one.passed).collect();
        assert_eq!(passed, [Some(early), Some(early), Some(late), Some(late), None]);
    }
}

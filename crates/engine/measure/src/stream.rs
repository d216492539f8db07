//! One stream while it is measured: what its threads share.

use std::net::{IpAddr, SocketAddr};
use std::sync::atomic::{AtomicBool, AtomicI32, AtomicI64, AtomicU32, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use romer_endpoint::card::Card;
use romer_endpoint::overflow::Overflow;
use romer_host::socket::{Outgoing, StampingSocket};
use romer_host::{HostError, clock};
use romer_record::document::{ProbeDirection, Replies};
use romer_record::event::RouterReport;
use romer_record::log::{CardMoment, Entry};
use romer_session::association::{self, Token};
use romer_session::control::SILENCE;
use romer_session::sender::{EchoedFields, Form, Settled, wire_sequence};
use romer_units::{Duration, Monotonic, Timestamp};
use romer_wire::oneway_probe::Session;
use romer_wire::pattern::Pattern;
use romer_wire::stamp::{ErrorEstimate, Key};

/// What the threads of a measurement share of one stream. Every counter is written by one thread.
#[derive(Debug)]
pub(super) struct Shared {
    /// Number of the stream in the run.
    pub(super) number: u16,
    /// Sends the probes, and keeps their transmit stamps.
    pub(super) socket: StampingSocket,
    /// Receives the reflections, so that nobody has to wait for the socket that sends; `None` where the system
    /// gives no second one.
    pub(super) receiver: Option<StampingSocket>,
    /// Where probes go, and reflections come from.
    pub(super) target: SocketAddr,
    pub(super) ssid: u16,
    /// Which way the probes go; of [`ProbeDirection::Both`] there are two of these.
    pub(super) way: ProbeDirection,
    /// The far end is a romer that granted the session.
    granted: bool,
    /// Probes that it was asked for.
    asked: u64,
    /// When this was made.
    made: Timestamp<Monotonic>,
    /// The one-way session, if it is one.
    pub(super) session: Option<Session>,
    /// The secret of its association; `None` without a control channel.
    token: Mutex<Option<Token>>,
    pub(super) echoes: Arc<EchoedFields>,
    /// What probes and reflections are authenticated with.
    pub(super) key: Option<Arc<Key>>,
    /// Programs of the kernel write the stamps into the probes.
    pub(super) in_packet_stamps: bool,
    /// What probes have behind their fields, if their damage is counted.
    pub(super) pattern: Option<Pattern>,
    /// The interface that was asked for, by which alone they go and come.
    pub(super) interface: Option<String>,
    /// The network card that stamps them, if one is to: one or none.
    pub(super) card: Vec<Arc<Card>>,
    /// Probes that were handed to the host or refused by it: the next sequence number. Where the far end sends, what it
    /// told, once it has sent all.
    pub(super) sent: AtomicU64,
    pub(super) not_sent: AtomicU64,
    /// By how much the latest of them since the last look was late, nanoseconds.
    pub(super) latest_ns: AtomicI64,
    /// Why the last of them was not sent: the system's error number.
    pub(super) refusal: AtomicI32,
    /// Probes whose reflection is back, each once; of one-way ones, those that have arrived.
    pub(super) returned: AtomicU64,
    /// Transmit stamps that are in.
    pub(super) stamped: AtomicU64,
    /// What came besides good replies.
    replies: Mutex<Replies>,
    /// Probes of which it is known whether they came, and those of them that did not.
    settled: [AtomicU64; 2],
    /// Probes that have neither come nor count as lost.
    outstanding: AtomicU64,
    /// Records of the far end's about numbers that no probe has had.
    pub(super) altered: AtomicU64,
    /// Errors that routers or the far host reported, but for those of length, and of the next.
    pub(super) path_errors: AtomicU64,
    /// The last that a router said of them.
    report: Mutex<Option<RouterReport>>,
    /// Probes of which the far host itself reported that nobody takes them there.
    pub(super) nobody: AtomicU64,
    /// Probes that this host dropped because the next host did not answer when asked for its hardware address.
    pub(super) unanswered: AtomicU64,
    /// The address that probes leave from, as far as is known.
    own: Mutex<Option<IpAddr>>,
    /// Probes of which a router reported that they are too long for the path.
    pub(super) too_long: AtomicU64,
    /// Octets of the longest packet that a link of the path takes, as the path has reported it last; 0 where it has not.
    pub(super) path_mtu: AtomicU32,
    halted: AtomicBool,
    all_departed: AtomicBool,
    departed_at: AtomicI64,
    /// Of round trips, how many probes the far end has told of, and when that became more.
    answered: AtomicU64,
    answered_at: AtomicI64,
    /// When this end last proved its address.
    associated_at: AtomicI64,
    /// What the kernel dropped of what came, and nobody has told yet.
    overflows: Mutex<Vec<Overflow>>,
    /// How many datagrams it dropped because the socket had no room.
    pub(super) unread: AtomicU64,
}

/// So long after the last departure it is waited for that the far end has the records of what has come back: what it
/// answered to an address that is not proved yet is among them once it is.
const RECORDS: Duration = Duration::from_secs(1);
/// So long after it the far end's word of a probe is here, unless the way is slow.
const NEWS: Duration = Duration::from_millis(250);
/// How much later than by the schedule and the waiting time a stream may be over: a far end may learn of its beginning as late as a
/// session may be without a connection, and its word of the end may be as late.
const GRACE: Duration = Duration::from_nanos(2 * SILENCE.as_nanos());

/// How long after a beginning a stream is over, whatever its far end says, the last probe of which leaves `departures` after it. A
/// probe has `waiting_time` on its way there, and what the far end says of it as long.
fn at_last(departures: Duration, waiting_time: Duration) -> Duration {
    let waiting = waiting_time.max(NEWS);
    departures + waiting + waiting + GRACE
}

/// What a stream is known by to both ends.
#[derive(Clone, Copy)]
pub(super) struct Identity {
    pub(super) number: u16,
    pub(super) ssid: u16,
    pub(super) way: ProbeDirection,
    pub(super) session: Option<Session>,
    pub(super) token: Option<Token>,
    /// Probes that the far end was asked for: no more than these are its own.
    pub(super) asked: u64,
}

impl Shared {
    pub(super) fn new(
        identity: Identity,
        socket: StampingSocket,
        receiver: Option<StampingSocket>,
        target: SocketAddr,
        probes: u64,
    ) -> Self {
        Self {
            number: identity.number,
            socket,
            receiver,
            target,
            ssid: identity.ssid,
            way: identity.way,
            granted: identity.token.is_some(),
            asked: identity.asked,
            made: clock::monotonic_now(),
            session: identity.session,
            token: Mutex::new(identity.token),
            echoes: Arc::new(EchoedFields::new(if identity.way.is_one_way() { 0 } else { probes })),
            key: None,
            in_packet_stamps: false,
            pattern: None,
            interface: None,
            card: Vec::new(),
            sent: AtomicU64::new(0),
            not_sent: AtomicU64::new(0),
            latest_ns: AtomicI64::new(0),
            refusal: AtomicI32::new(0),
            returned: AtomicU64::new(0),
            stamped: AtomicU64::new(0),
            replies: Mutex::default(),
            settled: [const { AtomicU64::new(0) }; 2],
            outstanding: AtomicU64::new(0),
            altered: AtomicU64::new(0),
            path_errors: AtomicU64::new(0),
            report: Mutex::new(None),
            nobody: AtomicU64::new(0),
            unanswered: AtomicU64::new(0),
            own: Mutex::new(None),
            too_long: AtomicU64::new(0),
            path_mtu: AtomicU32::new(0),
            halted: AtomicBool::new(false),
            all_departed: AtomicBool::new(false),
            departed_at: AtomicI64::new(0),
            answered: AtomicU64::new(0),
            answered_at: AtomicI64::new(0),
            associated_at: AtomicI64::new(0),
            overflows: Mutex::default(),
            unread: AtomicU64::new(0),
        }
    }

    /// The same, authenticated where there is a key.
    pub(super) fn with_key(self, key: Option<Arc<Key>>) -> Self {
        Self { key, ..self }
    }

    /// The same, of which programs of the kernel stamp the probes, if `in_packet_stamps`.
    pub(super) fn with_in_packet_stamps(self, in_packet_stamps: bool) -> Self {
        Self { in_packet_stamps, ..self }
    }

    /// The same, with this pattern in its probes where there is one.
    pub(super) fn with_pattern(self, pattern: Option<Pattern>) -> Self {
        Self { pattern, ..self }
    }

    /// The same, by one interface alone where one was asked for.
    pub(super) fn by_interface(self, interface: Option<String>) -> Self {
        Self { interface, ..self }
    }

    /// The interface that was asked for has been removed, and another of its name has come: by that from now on.
    ///
    /// # Errors
    /// As of [`StampingSocket::bind_interface_anew`].
    pub(super) fn follow_interface(&self) -> Result<(), HostError> {
        let Some(interface) = &self.interface else { return Ok(()) };
        self.sockets().try_for_each(|socket| socket.bind_interface_anew(interface))
    }

    /// The same, stamped by a network card where there is one.
    pub(super) fn with_card(self, card: Option<Arc<Card>>) -> Self {
        Self { card: card.into_iter().collect(), ..self }
    }

    /// What the probes are as bytes.
    pub(super) fn form(&self, error: ErrorEstimate) -> Form {
        match self.session {
            Some(session) => Form::Compact(session),
            None => Form::Stamp { ssid: self.ssid, error, echoes: Arc::clone(&self.echoes) },
        }
    }

    /// Sends the datagram that proves this stream's address to the far end, opens the way through a NAT and keeps it
    /// open. Its transmit stamp carries a number that no probe has.
    ///
    /// # Errors
    /// The host's refusal.
    pub(super) fn associate(&self) -> Result<(), HostError> {
        let token = *self.token.lock().unwrap_or_else(PoisonError::into_inner);
        let Some(token) = token else { return Ok(()) };
        self.associated_at.store(clock::monotonic_now().as_nanos(), Ordering::Release);
        let datagram = association::datagram(token);
        let outgoing = Outgoing::new(&datagram, self.target, wire_sequence(u64::MAX));
        self.socket.send(&outgoing).map(|_| ())
    }

    /// How long ago this end proved its address, or tried to.
    pub(super) fn since_associated(&self) -> Duration {
        clock::monotonic_now() - Timestamp::from_nanos(self.associated_at.load(Ordering::Acquire))
    }

    /// How long ago something was that was `ages` before the last association reached the far end: the first at the most, the
    /// second at the least. The session has been no longer than that, whatever the far end says.
    pub(super) fn since_association(&self, ages: [i64; 2]) -> [Duration; 2] {
        let session = clock::monotonic_now() - self.made;
        let [last, first] = ages.map(|age| Duration::from_nanos(age.max(0)).min(session));
        [(self.since_associated() + last).clamp(first, session), first]
    }

    /// The session identifier that replies must have: where no far end has granted the session, the reflector may not know
    /// of identifiers.
    pub(super) fn returned_ssid(&self) -> Option<u16> {
        self.granted.then_some(self.ssid)
    }

    /// The session goes on from another address, which is proved by `token`. What comes to it is received as before.
    pub(super) fn move_to(&self, token: Token) {
        *self.token.lock().unwrap_or_else(PoisonError::into_inner) = Some(token);
        if let Some(receiver) = &self.receiver {
            // Where there is no route, or no need, the other socket of the port receives it.
            let _ = receiver.connect_anew(self.target);
        }
    }

    /// No more probes are to leave, because nobody is there for whom.
    pub(super) fn halt(&self) {
        self.halted.store(true, Ordering::Release);
        self.departed_all();
    }

    pub(super) fn is_halted(&self) -> bool {
        self.halted.load(Ordering::Acquire)
    }

    /// Whether no probe will follow.
    pub(super) fn has_departed_all(&self) -> bool {
        self.all_departed.load(Ordering::Acquire)
    }

    /// The socket that is waited for.
    pub(super) fn watched(&self) -> &StampingSocket {
        self.receiver.as_ref().unwrap_or(&self.socket)
    }

    /// Both sockets, the one that is waited for first.
    pub(super) fn sockets(&self) -> impl Iterator<Item = &StampingSocket> {
        self.receiver.iter().chain([&self.socket])
    }

    /// No probe will follow.
    pub(super) fn departed_all(&self) {
        if !self.all_departed.load(Ordering::Acquire) {
            self.departed_at.store(clock::monotonic_now().as_nanos(), Ordering::Release);
            self.all_departed.store(true, Ordering::Release);
        }
    }

    /// The far end reports that all its probes have left, `count` of them. Where it sends none, this is ignored.
    pub(super) fn far_departed(&self, count: u64) {
        if self.way == ProbeDirection::Reverse {
            self.sent.store(count, Ordering::Release);
            self.departed_all();
        }
    }

    /// Whether the far end is to send, and has not told of its last probe so long after the start of a schedule that takes `longest` at
    /// the most that it never will.
    pub(super) fn is_overdue(
        &self,
        since_start: Duration,
        longest: Duration,
        waiting_time: Duration,
    ) -> bool {
        self.way == ProbeDirection::Reverse
            && !self.has_departed_all()
            && since_start >= at_last(longest, waiting_time)
    }

    /// The far end tells of how many probes it knows: not of more than have left.
    pub(super) fn answered(&self, count: u64) {
        let count = count.min(self.sent.load(Ordering::Acquire));
        if self.answered.fetch_max(count, Ordering::AcqRel) < count {
            self.answered_at.store(clock::monotonic_now().as_nanos(), Ordering::Release);
        }
    }

    /// Whether what the far end tells may be about a probe of this stream: one that left here, or one of its own. An arrival there that
    /// is of none is counted: a number can be altered on the way, and a checksum of zero lets it pass.
    pub(super) fn may_be_of_probe(&self, told: &Entry) -> bool {
        let has_left =
            |sequence| self.way != ProbeDirection::Reverse && sequence < self.sent.load(Ordering::Acquire);
        let is_theirs = |sequence| self.way == ProbeDirection::Reverse && sequence < self.asked;
        match told {
            Entry::Far(far) => {
                let had = has_left(far.sequence);
                self.altered.fetch_add(u64::from(!had), Ordering::Release);
                had
            }
            Entry::FarSent(sent) => is_theirs(sent.sequence),
            Entry::Card(card) => match card.moment {
                CardMoment::ArrivedThere | CardMoment::LeftThere => has_left(card.sequence),
                CardMoment::TheirsLeft => is_theirs(card.sequence),
                CardMoment::Left | CardMoment::Returned | CardMoment::TheirsCame => false,
            },
            // This end has these, and no far end.
            Entry::Sent { .. }
            | Entry::SentStamp { .. }
            | Entry::NotSent { .. }
            | Entry::Returned { .. }
            | Entry::Came { .. } => false,
        }
    }

    /// Whether this host dropped all that was to leave, because the next host did not answer when asked for its hardware address.
    pub(super) fn was_never_answered(&self) -> bool {
        let [sent, unanswered] = [&self.sent, &self.unanswered].map(|count| count.load(Ordering::Acquire));
        unanswered > 0 && unanswered >= sent
    }

    /// Whether some left that are not back, or were to leave and could not, though others did.
    pub(super) fn lacks_some(&self) -> bool {
        let [sent, not_sent, returned] =
            [&self.sent, &self.not_sent, &self.returned].map(|count| count.load(Ordering::Acquire));
        sent > not_sent && returned < sent
    }

    /// Whether some left of which the driver's stamp has not come.
    pub(super) fn lacks_stamps(&self) -> bool {
        let [sent, not_sent, stamped] =
            [&self.sent, &self.not_sent, &self.stamped].map(|count| count.load(Ordering::Acquire));
        self.way != ProbeDirection::Reverse && stamped < sent.saturating_sub(not_sent)
    }

    /// Whether everything that left is back, or has arrived one way, and the far end has the records of it.
    pub(super) fn is_whole(&self) -> bool {
        let [sent, not_sent, returned] =
            [&self.sent, &self.not_sent, &self.returned].map(|count| count.load(Ordering::Acquire));
        returned >= sent.saturating_sub(not_sent) && self.is_recorded()
    }

    /// Whether the far end, if it keeps a log of round trips, has told that it has the records of what is back.
    fn is_recorded(&self) -> bool {
        let has_token = || self.token.lock().unwrap_or_else(PoisonError::into_inner).is_some();
        self.way != ProbeDirection::RoundTrip
            || self.answered.load(Ordering::Acquire) >= self.returned.load(Ordering::Acquire)
            || !has_token()
    }

    /// What came besides good replies, up to now.
    pub(super) fn set_replies(&self, replies: Replies) {
        *self.replies.lock().unwrap_or_else(PoisonError::into_inner) = replies;
    }

    /// What came besides good replies.
    pub(super) fn replies(&self) -> Replies {
        self.replies.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// So much is known now of the probes' fates.
    pub(super) fn settle(&self, settled: Settled, outstanding: u64) {
        let [probes, lost] = &self.settled;
        // Who reads them in the other order never finds more lost than settled.
        probes.store(settled.probes, Ordering::Release);
        lost.store(settled.lost, Ordering::Release);
        self.outstanding.store(outstanding, Ordering::Release);
    }

    /// The probes of which it is known whether they came, and how many have neither come nor count as lost.
    pub(super) fn settled(&self) -> (Settled, u64) {
        let [probes, lost] = &self.settled;
        let lost = lost.load(Ordering::Acquire);
        let settled = Settled { probes: probes.load(Ordering::Acquire), lost };
        (settled, self.outstanding.load(Ordering::Acquire))
    }

    /// The far end tells how many one-way probes have arrived there, and the highest number among them.
    pub(super) fn arrived(&self, received: u64, highest: Option<u64>) {
        let [sent, not_sent] = [&self.sent, &self.not_sent].map(|count| count.load(Ordering::Acquire));
        let received = received.min(sent);
        self.returned.store(received, Ordering::Release);
        let Some(highest) = highest else { return };
        let left = sent.saturating_sub(not_sent);
        // What did not leave is taken for having left before it: it is rare, and this is for display.
        let probes = highest.saturating_add(1).min(sent).saturating_sub(not_sent).max(received);
        let settled = Settled { probes, lost: probes - received };
        self.settle(settled, left.saturating_sub(probes));
    }

    /// Datagrams found a socket full.
    pub(super) fn overflowed(&self, found: Vec<Overflow>) {
        if !found.is_empty() {
            self.unread.fetch_add(found.iter().map(|one| one.count).sum(), Ordering::AcqRel);
            self.overflows.lock().unwrap_or_else(PoisonError::into_inner).extend(found);
        }
    }

    /// Probes leave from this address.
    pub(super) fn leaves_from(&self, address: Option<IpAddr>) {
        *self.own.lock().unwrap_or_else(PoisonError::into_inner) = address;
    }

    /// Whether this is the address that probes leave from.
    pub(super) fn is_own(&self, address: IpAddr) -> bool {
        let own = *self.own.lock().unwrap_or_else(PoisonError::into_inner);
        own == Some(address) || self.socket.local_address().ip() == address
    }

    /// What a router reported last of probes that it did not pass on.
    pub(super) fn router_report(&self) -> Option<RouterReport> {
        *self.report.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A router has said so.
    pub(super) fn hear_router(&self, report: RouterReport) {
        *self.report.lock().unwrap_or_else(PoisonError::into_inner) = Some(report);
    }

    /// What was found since the last call.
    pub(super) fn overflows(&self) -> Vec<Overflow> {
        std::mem::take(&mut *self.overflows.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// The far end is out of reach: nothing that it has is waited for.
    pub(super) fn leave_alone(&self) {
        *self.token.lock().unwrap_or_else(PoisonError::into_inner) = None;
    }

    /// Whether nothing more is to be waited for: everything is back and stamped, or has had `waiting_time`, and there on its
    /// way back as well: whoever listens no more makes losses of answers that are under way.
    pub(super) fn is_done(&self, now: Timestamp<Monotonic>, waiting_time: Duration) -> bool {
        if !self.all_departed.load(Ordering::Acquire) {
            return false;
        }
        let departed = Timestamp::from_nanos(self.departed_at.load(Ordering::Acquire));
        // A copy, or a stamp, may come shortly after the last thing that was expected.
        let grace = Duration::from_millis(20);
        let sent = self.sent.load(Ordering::Acquire).saturating_sub(self.not_sent.load(Ordering::Acquire));
        let all_back = self.returned.load(Ordering::Acquire) >= sent;
        let all_stamped = self.way == ProbeDirection::Reverse
            || !self.socket.has_kernel_stamps()
            || self.stamped.load(Ordering::Acquire) >= sent;
        let all_back = all_back || (self.way.is_one_way() && self.is_halted());
        let waited = now - departed;
        let answered = now - Timestamp::from_nanos(self.answered_at.load(Ordering::Acquire));
        let is_over = (waited >= waiting_time && answered >= waiting_time.max(NEWS))
            || waited >= at_last(Duration::ZERO, waiting_time);
        let recorded = self.is_recorded() || waited >= RECORDS;
        is_over || (waited >= grace && all_back && all_stamped && recorded)
    }
}

#[cfg(test)]
mod tests {
    use romer_host::socket::SocketOptions;
    use romer_record::log::{Card, ResponderDeparture, ResponderRecord};

    use super::*;

    fn shared(way: ProbeDirection) -> Shared {
        let socket = StampingSocket::bind("127.0.0.1:0".parse().unwrap(), &SocketOptions::default()).unwrap();
        let target = socket.local_address();
        let identity = Identity { number: 0, ssid: 1, way, session: None, token: Some([1; 16]), asked: 10 };
        Shared::new(identity, socket, None, target, 10)
    }

    /// A far end determines how many probes have left only where it sends them.
    #[test]
    fn departures_of_silent_far_ends() {
        for way in [ProbeDirection::RoundTrip, ProbeDirection::Forward] {
            let stream = shared(way);
            stream.sent.store(3, Ordering::Release);
            stream.far_departed(u64::MAX);
            assert_eq!(
                (stream.sent.load(Ordering::Acquire), stream.has_departed_all()),
                (3, false),
                "{way:?}"
            );
        }
        let stream = shared(ProbeDirection::Reverse);
        stream.far_departed(9);
        assert_eq!((stream.sent.load(Ordering::Acquire), stream.has_departed_all()), (9, true));
    }

    /// A round trip ends a bounded time after its last departure, though its far end tells of one more probe again and again.
    #[test]
    fn news_without_end() {
        let stream = shared(ProbeDirection::RoundTrip);
        stream.sent.store(10, Ordering::Release);
        stream.returned.store(9, Ordering::Release);
        stream.departed_all();
        let departed = Timestamp::from_nanos(stream.departed_at.load(Ordering::Acquire));
        for waiting_time in [Duration::ZERO, Duration::from_secs(2), Duration::from_secs(60)] {
            let last = departed + at_last(Duration::ZERO, waiting_time);
            for before in [1, 0] {
                let now = last - Duration::from_nanos(before);
                stream.answered_at.store(now.as_nanos(), Ordering::Release);
                assert_eq!(stream.is_done(now, waiting_time), before == 0, "{waiting_time}");
            }
        }
    }

    /// A far end that is to send has a bounded time to report that it has, which depends on the schedule alone.
    #[test]
    fn senders_that_never_end() {
        let [longest, waiting] = [Duration::from_secs(10), Duration::from_secs(2)];
        let last = longest + waiting + waiting + GRACE;
        let before = last - Duration::from_nanos(1);
        for (way, is_overdue) in [
            (ProbeDirection::Reverse, true),
            (ProbeDirection::Forward, false),
            (ProbeDirection::RoundTrip, false),
        ] {
            let stream = shared(way);
            let overdue = [before, last].map(|now| stream.is_overdue(now, longest, waiting));
            assert_eq!(overdue, [false, is_overdue], "{way:?}");
        }
        let stream = shared(ProbeDirection::Reverse);
        stream.far_departed(10);
        assert!(!stream.is_overdue(last, longest, waiting));
        assert!(!shared(ProbeDirection::Reverse).is_overdue(last, Duration::MAX, Duration::MAX));
    }

    /// A far end has answered no more probes than have left, so that it has no news after that of the last.
    #[test]
    fn answers_beyond_departures() {
        let stream = shared(ProbeDirection::RoundTrip);
        stream.sent.store(10, Ordering::Release);
        stream.answered(u64::MAX);
        assert_eq!(stream.answered.load(Ordering::Acquire), 10);
        stream.answered_at.store(5, Ordering::Release);
        stream.answered(u64::MAX);
        assert_eq!(stream.answered_at.load(Ordering::Acquire), 5);
    }

    /// Records are taken of the probes alone that left, or that the far end was asked for, at the end that has them.
    #[test]
    fn records_beyond_the_probes() {
        let taken = |way, entry: &dyn Fn(u64) -> Entry| {
            let stream = shared(way);
            stream.sent.store(3, Ordering::Release);
            let numbers = (0..20).chain([u64::MAX]);
            numbers.filter(|sequence| stream.may_be_of_probe(&entry(*sequence))).count()
        };
        let far = |sequence| Entry::Far(ResponderRecord { sequence, ..ResponderRecord::default() });
        let far_sent =
            |sequence| Entry::FarSent(ResponderDeparture { sequence, ..ResponderDeparture::default() });
        assert_eq!([ProbeDirection::RoundTrip, ProbeDirection::Reverse].map(|way| taken(way, &far)), [3, 0]);
        assert_eq!(
            [ProbeDirection::RoundTrip, ProbeDirection::Reverse].map(|way| taken(way, &far_sent)),
            [0, 10]
        );
        for (moment, expected) in [
            (CardMoment::ArrivedThere, [3, 0]),
            (CardMoment::LeftThere, [3, 0]),
            (CardMoment::TheirsLeft, [0, 10]),
            (CardMoment::Left, [0, 0]),
            (CardMoment::TheirsCame, [0, 0]),
        ] {
            let card =
                |sequence| Entry::Card(Card { sequence, moment, arrival_ns: 0, card_ns: 0, error_ns: 0 });
            assert_eq!(
                [ProbeDirection::RoundTrip, ProbeDirection::Reverse].map(|way| taken(way, &card)),
                expected,
                "{moment:?}"
            );
        }
    }

    /// A move lies within the session, however long ago the far end says that it was.
    #[test]
    fn moves_before_the_session() {
        let stream = shared(ProbeDirection::RoundTrip);
        for ages in [[i64::MAX; 2], [i64::MAX, i64::MIN], [0, i64::MAX]] {
            let [last, first] = stream.since_association(ages);
            let session = clock::monotonic_now() - stream.made;
            assert!(Duration::ZERO <= first && first <= last && last <= session, "{ages:?}: {last}, {first}");
        }
    }

    /// No more probes have arrived at a far end than have left, whatever it reports.
    #[test]
    fn arrivals_beyond_departures() {
        let stream = shared(ProbeDirection::Forward);
        stream.sent.store(10, Ordering::Release);
        stream.not_sent.store(1, Ordering::Release);
        for (received, highest, settled, lost) in
            [(4, Some(6), 6, 2), (u64::MAX, Some(u64::MAX), 10, 0), (0, Some(u64::MAX), 9, 9)]
        {
            stream.arrived(received, highest);
            let expected = (Settled { probes: settled, lost }, 9_u64.saturating_sub(settled));
            assert_eq!(stream.settled(), expected, "{received}, {highest:?}");
            assert!(stream.returned.load(Ordering::Acquire) <= 10);
        }
    }
}

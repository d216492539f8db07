//! Who sends a stream of probes (for round trips the Session-Sender of RFC 8762 section 4.2), in halves that share
//! nothing: what departs, and what returns. So the thread that keeps the schedule never waits for the thread that
//! reads. Of a one-way stream, [`Departures`] are at one end and [`OneWayReceiver`] at the other.

mod coming;
mod in_packet;

use core::net::SocketAddr;
use core::num::NonZeroU16;
use core::sync::atomic::{AtomicI64, AtomicU32, AtomicU64, Ordering};
use std::sync::Arc;

use romer_record::document::{OtherLength, Rejected, Replies};
use romer_record::log::Entry;
use romer_record::plausible::MOMENTS;
use romer_units::{Duration, Monotonic, Timestamp};
use romer_wire::oneway_probe;
use romer_wire::pattern::{Carrier, Pattern};
use romer_wire::stamp::{
    AuthError, ErrorEstimate, Key, ReflectorPacket, SenderPacket, TimestampFormat, WireTime,
};

pub use coming::{OneWayReceiver, ReceivedProbe};

/// The shortest payload of a probe whose reflection carries all of t1 to t3, in octets: a TWAMP-Light packet of
/// RFC 5357 section 4.2.1, whose reply of the same length ends behind the sender's timestamp.
pub const SHORTEST_PAYLOAD: u32 = 36;
/// The payload of an unauthenticated STAMP packet without extensions, in octets.
pub const STAMP_PAYLOAD: u32 = 44;
/// The longest payload of UDP over IPv4 and over IPv6, in octets.
pub const LONGEST_PAYLOAD: [u32; 2] = [65_507, 65_527];

/// One probe that is due.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Due {
    /// Its number, from 0.
    pub sequence: u64,
    /// When it is to leave.
    pub at: Timestamp<Monotonic>,
    /// Its payload of UDP in octets.
    pub size: u32,
}

/// The departure times and lengths of the latest probes, written by the half that sends and read by the half that checks what
/// a reflection returns. A forger who does not see our packets cannot name them, and a step of the clock does not
/// make a true reflection look false.
#[derive(Debug)]
pub struct EchoedFields {
    departures: Box<[Noted]>,
    /// One more than the number of the latest probe.
    noted: AtomicU64,
}

/// What is remembered of a probe.
#[derive(Debug, Default)]
struct Noted {
    /// When it left, real-time clock; 0 before any did, [`WITHDRAWN`] where it did not.
    t1_ns: AtomicI64,
    /// Its UDP payload, octets.
    size: AtomicU32,
}

/// In place of the departure time of a probe that did not leave.
const WITHDRAWN: i64 = i64::MIN;

impl EchoedFields {
    /// Room for `probes` probes (rounded up to a power of two, at most 2^20); older ones are
    /// forgotten, and reflections of those are believed.
    pub fn new(probes: u64) -> Self {
        let room = usize::try_from(probes.clamp(64, 1 << 20).next_power_of_two()).unwrap_or(64);
        Self { departures: (0..room).map(|_| Noted::default()).collect(), noted: AtomicU64::new(0) }
    }

    fn capacity(&self) -> u64 {
        u64::try_from(self.departures.len()).unwrap_or(u64::MAX)
    }

    fn slot(&self, sequence: u64) -> &Noted {
        &self.departures[usize::try_from(sequence % self.capacity()).unwrap_or(0)]
    }

    fn time(&self, sequence: u64) -> i64 {
        self.slot(sequence).t1_ns.load(Ordering::Acquire)
    }

    fn note(&self, sequence: u64, t1_ns: i64, size: u32) {
        let slot = self.slot(sequence);
        slot.size.store(size, Ordering::Relaxed);
        slot.t1_ns.store(t1_ns, Ordering::Release);
        self.noted.store(sequence.saturating_add(1), Ordering::Release);
    }

    /// `sent`, or one more than the number of the latest probe that was written, where that is less.
    fn at_most_noted(&self, sent: u64) -> u64 {
        sent.min(self.noted.load(Ordering::Acquire))
    }

    /// Probe `sequence` has not left.
    pub fn withdraw(&self, sequence: u64) {
        self.slot(sequence).t1_ns.store(WITHDRAWN, Ordering::Release);
    }

    /// When probe `sequence` left, real-time clock; `None` if none has left that is remembered in its place. For
    /// display: a probe that has been forgotten gives the time of a later one.
    pub fn departure(&self, sequence: u64) -> Option<i64> {
        Some(self.time(sequence)).filter(|t1| ![0, WITHDRAWN].contains(t1))
    }

    /// Whether probe `sequence`, of `sent` in all, is not remembered any more.
    fn has_forgotten(&self, sequence: u64, sent: u64) -> bool {
        sent.saturating_sub(sequence) >= self.capacity()
    }

    /// The UDP payload of probe `sequence`, of `sent` in all, in octets; `None` where it is not remembered.
    fn size(&self, sequence: u64, sent: u64) -> Option<u32> {
        (!self.has_forgotten(sequence, sent)).then(|| self.slot(sequence).size.load(Ordering::Relaxed))
    }

    /// Whether probe `sequence`, of `sent` in all, left at `t1_ns` as far as is remembered. The time goes through
    /// the format of the wire and may come back a nanosecond off.
    fn agree(&self, sequence: u64, sent: u64, t1_ns: i64) -> bool {
        self.has_forgotten(sequence, sent) || self.time(sequence).abs_diff(t1_ns) <= 1
    }
}

/// What a stream's probes are as bytes.
#[derive(Clone, Debug)]
pub enum Form {
    /// STAMP packets, which are to be reflected.
    Stamp {
        /// The session's identifier.
        ssid: u16,
        /// How well the clock of the stamps is known.
        error: ErrorEstimate,
        /// Where the departures are noted for whoever checks the reflections.
        echoes: Arc<EchoedFields>,
    },
    /// One-way probes, [`oneway_probe::SHORTEST`] octets or more.
    Compact(oneway_probe::Session),
}

/// The departing half: the schedule's offsets, made into probes.
#[derive(Debug)]
pub struct Departures<S> {
    schedule: S,
    start: Timestamp<Monotonic>,
    form: Form,
    key: Option<Arc<Key>>,
    in_packet: bool,
    pattern: Option<Pattern>,
    next: u64,
}

impl<S: Iterator<Item = (Duration, u32)>> Departures<S> {
    /// Probes at the offsets (from `start`) and of the payload sizes that `schedule` gives.
    pub const fn new(schedule: S, start: Timestamp<Monotonic>, form: Form) -> Self {
        Self { schedule, start, form, key: None, in_packet: false, pattern: None, next: 0 }
    }

    /// The same probes, of [`Form::Stamp`], authenticated with `key` where there is one (RFC 8762 section 4.2.2). They
    /// need room for 112 octets.
    #[must_use]
    pub fn with_key(self, key: Option<Arc<Key>>) -> Self {
        Self { key, ..self }
    }

    /// The same probes, of [`Form::Stamp`] without a key, with the field of in-packet stamps if `in_packet`
    /// ([`romer_wire::stamp::in_packet`]). They need room for 88 octets.
    #[must_use]
    pub fn with_in_packet_stamps(self, in_packet: bool) -> Self {
        Self { in_packet, ..self }
    }

    /// The same probes, with the pattern by which damage is counted where there is one. They need room for it
    /// ([`Carrier::shortest_payload`]).
    #[must_use]
    pub fn with_pattern(self, pattern: Option<Pattern>) -> Self {
        Self { pattern, ..self }
    }

    /// The next probe; `None` when all have left.
    pub fn next_due(&mut self) -> Option<Due> {
        let (offset, size) = self.schedule.next()?;
        let sequence = self.next;
        self.next += 1;
        Some(Due { sequence, at: self.start + offset, size })
    }

    /// Writes the probe into the first `due.size` octets of `buffer` and gives its length; `t1_ns` is the moment
    /// just before it is sent, real-time clock. `None` where the buffer or the size is too short for a probe.
    pub fn write(&self, due: &Due, t1_ns: i64, buffer: &mut [u8]) -> Option<usize> {
        let size = usize::try_from(due.size).ok().filter(|size| *size <= buffer.len())?;
        let payload = &mut buffer[..size];
        match &self.form {
            Form::Stamp { ssid, error, echoes } => {
                echoes.note(due.sequence, t1_ns, due.size);
                let packet = SenderPacket {
                    sequence: wire_sequence(due.sequence),
                    timestamp: WireTime::from_unix_nanos(t1_ns, error.format()),
                    error: *error,
                    ssid: NonZeroU16::new(*ssid),
                };
                match &self.key {
                    Some(key) => packet.emit_authenticated(payload, key).ok()?,
                    None => packet.emit(payload).ok()?,
                };
                if self.in_packet && !romer_wire::stamp::in_packet::emit(payload) {
                    return None;
                }
            }
            Form::Compact(session) => session.emit(due.sequence, payload).then_some(())?,
        }
        if let Some(pattern) = self.pattern {
            let carrier = match (&self.form, &self.key) {
                (Form::Compact(_), _) => Carrier::OneWay,
                (Form::Stamp { .. }, None) => Carrier::Stamp,
                (Form::Stamp { .. }, Some(_)) => Carrier::AuthenticatedStamp,
            };
            carrier.write(pattern, wire_sequence(due.sequence), payload).then_some(())?;
        }
        Some(size)
    }
}

/// The 32-bit number on the wire of probe `sequence`.
#[expect(clippy::cast_possible_truncation, reason = "the wire's number wraps")]
pub fn wire_sequence(sequence: u64) -> u32 {
    sequence as u32
}

/// Why a datagram is not a reflection, or a one-way probe, of ours.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum RejectReason {
    /// It is too short to be a reflection.
    Short,
    /// It comes from another address than the target's.
    Address,
    /// It comes from the target's address and another port.
    Port,
    /// It names another session.
    Session,
    /// It names a probe that was never sent; or its tag is not that of the probe that it names.
    Sequence,
    /// It does not return the time that we sent.
    Echo,
    /// It was not made with our key.
    Code,
}

impl RejectReason {
    /// What is wrong with where a datagram comes from that should come from `target`.
    fn of_source(source: SocketAddr, target: SocketAddr) -> Self {
        if source.ip() == target.ip() { Self::Port } else { Self::Address }
    }

    fn count(self, source: SocketAddr, rejected: &mut Rejected) {
        let counter = match self {
            Self::Short => &mut rejected.size,
            Self::Address => &mut rejected.address,
            Self::Port => &mut rejected.port,
            Self::Session => &mut rejected.session,
            Self::Sequence => &mut rejected.sequence,
            Self::Echo => &mut rejected.echo,
            Self::Code => &mut rejected.code,
        };
        *counter += 1;
        if matches!(self, Self::Address | Self::Port) && rejected.source.is_none() {
            rejected.source = Some(source.to_string());
        }
    }
}

/// Probes of which it is known whether they came, and those that did not come in time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Settled {
    /// Probes that left, and of which it is known.
    pub probes: u64,
    /// Of them, those that did not come in time.
    pub lost: u64,
}

/// A datagram that came to the stream's port.
#[derive(Clone, Copy, Debug)]
pub struct Arrival<'a> {
    /// What UDP carried.
    pub payload: &'a [u8],
    /// Where it came from.
    pub source: SocketAddr,
    /// Stamp after the receive call, real-time clock.
    pub user_ns: i64,
    /// Stamp of the kernel, real-time clock.
    pub kernel_ns: Option<i64>,
    /// TTL or hop limit on arrival.
    pub ttl: Option<u8>,
    /// TOS or traffic class on arrival.
    pub tos: Option<u8>,
}

/// Matches replies to the probes of a stream, and knows when no more can arrive.
#[derive(Debug)]
pub struct ReplyMatcher {
    target: SocketAddr,
    ssid: Option<u16>,
    echoes: Arc<EchoedFields>,
    key: Option<Arc<Key>>,
    in_packet: bool,
    returned: Vec<u64>,
    distinct: u64,
    copies: u64,
    replies: Replies,
    /// All probes before this one are settled.
    next_open: u64,
    settled: Settled,
    /// Reflections that came back after their probe was settled as lost.
    late: u64,
}

impl ReplyMatcher {
    /// Reflections from `target`; room is made for `expected` probes, and grows if more are sent. `ssid` is the session
    /// identifier that the reflector is known to return. `None` where that is not known: the octets are ignored then,
    /// as they must be of a reflector that knows RFC 8762 only (section 4.3.1).
    pub fn new(target: SocketAddr, ssid: Option<u16>, expected: u64, echoes: Arc<EchoedFields>) -> Self {
        let words = usize::try_from(expected.div_ceil(64).min(1 << 20)).unwrap_or(0);
        Self {
            target,
            ssid,
            echoes,
            key: None,
            in_packet: false,
            returned: Vec::with_capacity(words),
            distinct: 0,
            copies: 0,
            replies: Replies::default(),
            next_open: 0,
            settled: Settled::default(),
            late: 0,
        }
    }

    /// The same, of which only those count that were made with `key`, where there is one.
    #[must_use]
    pub fn with_key(self, key: Option<Arc<Key>>) -> Self {
        Self { key, ..self }
    }

    /// The same, of which the stamps are those that programs of the kernel wrote into the packet, if `in_packet`. Echoes of the
    /// probes count as replies then.
    #[must_use]
    pub fn with_in_packet_stamps(self, in_packet: bool) -> Self {
        Self { in_packet, ..self }
    }

    fn parse(&self, payload: &[u8]) -> Result<ReflectorPacket, RejectReason> {
        if self.in_packet
            && let Some(echo) = in_packet::echo(payload)
        {
            return Ok(echo);
        }
        match &self.key {
            None => ReflectorPacket::parse(payload).map_err(|_| RejectReason::Short),
            Some(key) => ReflectorPacket::parse_authenticated(payload, key).map_err(|error| match error {
                AuthError::WrongCode => RejectReason::Code,
                AuthError::TooShort(_) | AuthError::NoRoom { .. } => RejectReason::Short,
            }),
        }
    }

    /// A datagram arrived after `sent` probes had left. Gives its log entry, or says why it is not ours. No probe counts as sent
    /// that was not written.
    ///
    /// # Errors
    /// [`RejectReason`], which is also counted.
    pub fn on_datagram(&mut self, arrival: &Arrival<'_>, sent: u64) -> Result<Entry, RejectReason> {
        let sent = self.echoes.at_most_noted(sent);
        match self.validate(arrival, sent) {
            Ok((packet, sequence)) => {
                self.note(sequence);
                self.compare_length(sequence, sent, arrival.payload.len());
                // Whatever the far clock says, it is read in the era that is nearest to ours.
                // A time that no clock of ours can have is a missing one.
                let told = |time: WireTime| {
                    let at = time.to_unix_nanos(packet.error.format(), arrival.user_ns);
                    at.filter(|at| MOMENTS.contains(at))
                };
                let [told_t2_ns, told_t3_ns, kernel_ns] = if self.in_packet {
                    in_packet::times(arrival)
                } else {
                    let received = packet.receive_timestamp.filter(|time| !time.is_zero()).and_then(told);
                    let departed = Some(packet.timestamp).filter(|time| !time.is_zero()).and_then(told);
                    [received, departed, arrival.kernel_ns]
                };
                Ok(Entry::Returned {
                    sequence,
                    user_ns: arrival.user_ns,
                    kernel_ns,
                    told_t2_ns,
                    told_t3_ns,
                    ttl: arrival.ttl,
                    tos: arrival.tos,
                    // A packet does not arrive with 0: a reflector that cannot read the field leaves it so.
                    told_ttl: packet.sender_ttl.filter(|ttl| *ttl != 0),
                    // Too short a packet has one number, and that is taken for ours.
                    reply_number: packet.sender_sequence.map(|_| packet.sequence),
                })
            }
            Err(stray) => {
                stray.count(arrival.source, &mut self.replies.rejected);
                Err(stray)
            }
        }
    }

    /// The stamp of the departure of probe `sequence` that a program of this host wrote into the probe, of a reply that
    /// [`ReplyMatcher::on_datagram`] took. `None` without in-packet stamps, and if the program cannot have written it then.
    pub fn departure_stamp(&self, payload: &[u8], sequence: u64) -> Option<i64> {
        let left = self.echoes.departure(sequence).filter(|_| self.in_packet)?;
        in_packet::departure(payload, left)
    }

    fn compare_length(&mut self, sequence: u64, sent: u64, length: usize) {
        let length = u32::try_from(length).unwrap_or(u32::MAX);
        if self.echoes.size(sequence, sent).is_some_and(|size| size != length) {
            let this = OtherLength::one(length);
            self.replies.other_length =
                Some(self.replies.other_length.map_or(this, |others| others.and(this)));
        }
    }

    fn validate(&self, arrival: &Arrival<'_>, sent: u64) -> Result<(ReflectorPacket, u64), RejectReason> {
        if arrival.source != self.target {
            return Err(RejectReason::of_source(arrival.source, self.target));
        }
        let packet = self.parse(arrival.payload)?;
        // A reply of 14 or 15 octets has no identifier.
        let differs = |ours: u16| packet.ssid.is_some_and(|ssid| ssid.get() != ours);
        if self.ssid.is_some_and(differs) {
            return Err(RejectReason::Session);
        }
        // A stateful reflector counts for itself; what it echoes is ours.
        let on_wire = packet.sender_sequence.unwrap_or(packet.sequence);
        let sequence = unwrapped(on_wire, sent).ok_or(RejectReason::Sequence)?;
        let format = packet.sender_error.map_or(TimestampFormat::Ntp, ErrorEstimate::format);
        let echo = packet.sender_timestamp.and_then(|time| time.to_unix_nanos(format, arrival.user_ns));
        if echo.is_some_and(|t1| !self.echoes.agree(sequence, sent, t1)) {
            return Err(RejectReason::Echo);
        }
        Ok((packet, sequence))
    }

    fn note(&mut self, sequence: u64) {
        let (word, bit) = (usize::try_from(sequence / 64).unwrap_or(usize::MAX), sequence % 64);
        if self.returned.len() <= word {
            self.returned.resize(word + 1, 0);
        }
        if self.returned[word] & (1 << bit) == 0 {
            self.returned[word] |= 1 << bit;
            self.distinct += 1;
            self.late += u64::from(sequence < self.next_open);
        } else {
            self.copies += 1;
        }
    }

    fn has_returned(&self, sequence: u64) -> bool {
        let word = usize::try_from(sequence / 64).ok().and_then(|word| self.returned.get(word));
        word.is_some_and(|word| word & (1 << (sequence % 64)) != 0)
    }

    /// Settles the probes, of `sent` in all, that left at `before_ns` (real-time clock) or earlier: what of them is not back now
    /// counts as lost. A probe that left later holds up those behind it, which left later still.
    pub fn settle(&mut self, before_ns: i64, sent: u64) {
        let sent = self.echoes.at_most_noted(sent);
        while self.next_open < sent {
            let t1_ns = self.echoes.time(self.next_open);
            if t1_ns == 0 || t1_ns > before_ns {
                break;
            }
            if t1_ns != WITHDRAWN {
                self.settled.probes += 1;
                self.settled.lost += u64::from(!self.has_returned(self.next_open));
            }
            self.next_open += 1;
        }
    }

    /// The probes that are settled.
    pub const fn settled(&self) -> Settled {
        self.settled
    }

    /// Of `left` probes that left, those that are neither back nor settled.
    pub const fn outstanding(&self, left: u64) -> u64 {
        (left + self.late).saturating_sub(self.settled.lost + self.distinct)
    }

    /// Probes that have come back, each counted once.
    pub fn distinct(&self) -> u64 {
        self.distinct
    }
    /// Further copies of probes that had come back.
    pub fn copies(&self) -> u64 {
        self.copies
    }
    /// What came besides good reflections.
    pub const fn replies(&self) -> &Replies {
        &self.replies
    }
}

/// The number below `sent` whose last 32 bits are `on_wire`, the highest if there are several.
fn unwrapped(on_wire: u32, sent: u64) -> Option<u64> {
    let last = sent.checked_sub(1)?;
    let candidate = (last & !0xffff_ffff) | u64::from(on_wire);
    if candidate <= last { Some(candidate) } else { candidate.checked_sub(1 << 32) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn source() -> SocketAddr {
        "203.0.113.2:862".parse().unwrap()
    }

    /// A reply with another session identifier is a stray only where the reflector is known to return ours: octets that
    /// must be zero are ignored on receipt (RFC 8762 section 4.3.1).
    #[test]
    fn unknown_identifiers_are_ignored() {
        use romer_wire::stamp::TimestampFormat::Ntp;
        let echoes = Arc::new(EchoedFields::new(1));
        let error = ErrorEstimate::at_least(Duration::from_micros(1), true, Ntp);
        let form = Form::Stamp { ssid: 7, error, echoes: Arc::clone(&echoes) };
        let mut departures =
            Departures::new([(Duration::ZERO, 44)].into_iter(), Timestamp::from_nanos(0), form);
        let (due, mut request) = (departures.next_due().unwrap(), [0; 44]);
        departures.write(&due, 1_700_000_000_000_000_000, &mut request).unwrap();
        let sent = SenderPacket::parse(&request).unwrap();
        for (known, returned, stray) in [
            (Some(7), 7, None),
            (Some(7), 0, None),
            (Some(7), 8, Some(RejectReason::Session)),
            (None, 7, None),
            (None, 0, None),
            (None, 0xffff, None),
        ] {
            let reply = ReflectorPacket {
                ssid: NonZeroU16::new(returned),
                ..ReflectorPacket::answering(&sent, WireTime(1), WireTime(2), error, 0)
            };
            let mut payload = [0; 44];
            reply.emit_over(&mut payload).unwrap();
            // Others of what must be zero.
            payload[38..40].fill(0xff);
            payload[41..].fill(0xff);
            let at = 1_700_000_000_000_100_000;
            let arrival = Arrival {
                payload: &payload,
                source: source(),
                user_ns: at,
                kernel_ns: Some(at),
                ttl: Some(60),
                tos: Some(0),
            };
            let mut returns = ReplyMatcher::new(source(), known, 1, Arc::clone(&echoes));
            assert_eq!(returns.on_datagram(&arrival, 1).err(), stray, "{known:?}, {returned}");
        }
    }

    /// A probe with a pattern is the same STAMP packet with an Extra Padding TLV, which a reflector returns as it is.
    #[test]
    fn patterns_are_returned() {
        use romer_wire::stamp::TimestampFormat::Ntp;
        let (error, size) = (ErrorEstimate::at_least(Duration::from_micros(1), true, Ntp), 100);
        let echoes = Arc::new(EchoedFields::new(1));
        let form = Form::Stamp { ssid: 7, error, echoes };
        let pattern = Pattern::new(0xfeed_beef);
        let offsets = [(Duration::ZERO, 60), (Duration::ZERO, size)].into_iter();
        let mut departures =
            Departures::new(offsets, Timestamp::from_nanos(0), form).with_pattern(Some(pattern));
        let mut payload = [0; 100];
        let short = departures.next_due().unwrap();
        assert_eq!(departures.write(&short, 5, &mut payload), None, "it has no room for the pattern");
        let due = departures.next_due().unwrap();
        assert_eq!(departures.write(&due, 1_700_000_000_000_000_000, &mut payload), Some(100));
        let sent = SenderPacket::parse(&payload).unwrap();
        assert_eq!((sent.sequence, sent.ssid), (1, NonZeroU16::new(7)));
        let reply = ReflectorPacket::answering(&sent, WireTime(1), WireTime(2), error, 0);
        reply.emit_over(&mut payload).unwrap();
        let reading = pattern.read(&payload[Carrier::Stamp.offset()..]).unwrap();
        assert_eq!((reading.sequence, reading.flipped), (1, Vec::new()));
    }

    #[test]
    fn numbers_unwrap_to_the_latest_probe_that_has_been_sent() {
        assert_eq!(unwrapped(0, 0), None);
        assert_eq!(unwrapped(0, 1), Some(0));
        assert_eq!(unwrapped(5, 5), None, "probe 5 has not been sent");
        assert_eq!(unwrapped(u32::MAX, (1 << 32) + 3), Some((1 << 32) - 1));
        assert_eq!(unwrapped(2, (1 << 32) + 3), Some((1 << 32) + 2));
    }

    /// A reply to probe `sequence`, which left at `t1_ns`.
    fn reply(returns: &mut ReplyMatcher, sequence: u64, sent: u64, t1_ns: i64, length: usize) {
        let mut payload = vec![0; length];
        payload[..4].copy_from_slice(&wire_sequence(sequence).to_be_bytes());
        payload[24..28].copy_from_slice(&wire_sequence(sequence).to_be_bytes());
        let time = WireTime::from_unix_nanos(t1_ns, TimestampFormat::Ntp);
        payload[28..36].copy_from_slice(&time.0.to_be_bytes());
        let arrival = Arrival {
            payload: &payload,
            source: source(),
            user_ns: t1_ns,
            kernel_ns: None,
            ttl: None,
            tos: None,
        };
        returns.on_datagram(&arrival, sent).unwrap();
    }

    /// Losses are of the probes whose waiting time is over, whatever came of later ones; what did not leave is none of them, and
    /// what comes late is lost and not outstanding.
    #[test]
    fn settled_probes_alone_are_lost() {
        const T0: i64 = 1_800_000_000_000_000_000;
        let t1 = |sequence: u64| T0 + i64::try_from(sequence).unwrap();
        let echoes = Arc::new(EchoedFields::new(64));
        let mut returns = ReplyMatcher::new(source(), None, 64, Arc::clone(&echoes));
        (0..40).for_each(|sequence| echoes.note(sequence, t1(sequence), 44));
        echoes.withdraw(7);
        for sequence in (0..30).filter(|sequence| ![3, 7, 9].contains(sequence)) {
            reply(&mut returns, sequence, 40, t1(sequence), 44);
        }
        assert_eq!((returns.settled(), returns.outstanding(39)), (Settled::default(), 12));
        returns.settle(t1(9), 40);
        assert_eq!((returns.settled(), returns.outstanding(39)), (Settled { probes: 9, lost: 2 }, 10));
        reply(&mut returns, 3, 40, t1(3), 44);
        assert_eq!((returns.settled(), returns.outstanding(39)), (Settled { probes: 9, lost: 2 }, 10));
        returns.settle(t1(100), 40);
        assert_eq!((returns.settled(), returns.outstanding(39)), (Settled { probes: 39, lost: 12 }, 0));
        returns.settle(t1(1_000), 50);
        assert_eq!(returns.settled().probes, 39, "the next ones have not been written yet");
    }

    /// A reply has the number of a probe that was written, whatever number of probes is said to have left: the memory for replies
    /// is bounded by the probes.
    #[test]
    fn replies_to_probes_never_written() {
        const T0: i64 = 1_800_000_000_000_000_000;
        let echoes = Arc::new(EchoedFields::new(64));
        let mut returns = ReplyMatcher::new(source(), None, 64, Arc::clone(&echoes));
        (0..10).for_each(|sequence| echoes.note(sequence, T0, 44));
        let mut payload = [0; 44];
        payload[24..28].copy_from_slice(&11_u32.to_be_bytes());
        let arrival = Arrival {
            payload: &payload,
            source: source(),
            user_ns: T0,
            kernel_ns: None,
            ttl: None,
            tos: None,
        };
        assert_eq!(returns.on_datagram(&arrival, u64::MAX).err(), Some(RejectReason::Sequence));
        assert_eq!(returns.returned.len(), 0);
        reply(&mut returns, 9, u64::MAX, T0, 44);
        returns.settle(T0, u64::MAX);
        assert_eq!((returns.returned.len(), returns.settled()), (1, Settled { probes: 10, lost: 9 }));
    }

    /// Replies are compared in length with their own requests, whose sizes may vary.
    #[test]
    fn replies_of_other_length() {
        const T0: i64 = 1_800_000_000_000_000_000;
        let echoes = Arc::new(EchoedFields::new(64));
        let mut returns = ReplyMatcher::new(source(), None, 64, Arc::clone(&echoes));
        for (sequence, size) in [(0, 44), (1, 100), (2, 200), (3, 44)] {
            echoes.note(sequence, T0, size);
        }
        for (sequence, length) in [(0, 44), (1, 100), (2, 44), (3, 60)] {
            reply(&mut returns, sequence, 4, T0, length);
        }
        let other = OtherLength { replies: 2, payload_octets_min: 44, payload_octets_max: 60 };
        assert_eq!(returns.replies().other_length, Some(other));
    }

    proptest! {
        #[test]
        fn a_recent_number_survives_the_wire(sent in 1u64..(1 << 40), back in 0u64..1_000_000) {
            let sequence = (sent - 1).saturating_sub(back);
            prop_assert_eq!(unwrapped(wire_sequence(sequence), sent), Some(sequence));
        }
    }
}

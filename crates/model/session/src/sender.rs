//! The Session-Sender of one stream (RFC 8762 section 4.2), in two halves that share nothing: what departs, and
//! what returns. So the thread that keeps the schedule never waits for the thread that reads.

use core::net::SocketAddr;
use core::num::NonZeroU16;
use core::sync::atomic::{AtomicI64, Ordering};
use std::sync::Arc;

use romer_record::log::Entry;
use romer_units::{Duration, Monotonic, Timestamp};
use romer_wire::stamp::{
    AuthError, ErrorEstimate, Key, ReflectorPacket, SenderPacket, TimestampFormat, WireTime,
};

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

/// The departure times of the latest probes, written by the half that sends and read by the half that checks what
/// a reflection returns. A forger who does not see our packets cannot name them, and a step of the clock does not
/// make a true reflection look false.
#[derive(Debug)]
pub struct Echoes {
    times: Box<[AtomicI64]>,
}

impl Echoes {
    /// Room for the times of `probes` probes (rounded up to a power of two, at most 2^20); older ones are
    /// forgotten, and reflections of those are believed.
    pub fn new(probes: u64) -> Self {
        let room = usize::try_from(probes.clamp(64, 1 << 20).next_power_of_two()).unwrap_or(64);
        Self { times: (0..room).map(|_| AtomicI64::new(0)).collect() }
    }

    fn slot(&self, sequence: u64) -> &AtomicI64 {
        let room = u64::try_from(self.times.len()).unwrap_or(u64::MAX);
        &self.times[usize::try_from(sequence % room).unwrap_or(0)]
    }

    fn note(&self, sequence: u64, t1_ns: i64) {
        self.slot(sequence).store(t1_ns, Ordering::Release);
    }

    /// When probe `sequence` left, real-time clock; `None` if none has left that is remembered in its place. For
    /// display: a probe that has been forgotten gives the time of a later one.
    pub fn departure(&self, sequence: u64) -> Option<i64> {
        Some(self.slot(sequence).load(Ordering::Acquire)).filter(|t1| *t1 != 0)
    }

    /// Whether probe `sequence`, of `sent` in all, left at `t1_ns` as far as is remembered. The time goes through
    /// the format of the wire and may come back a nanosecond off.
    fn agree(&self, sequence: u64, sent: u64, t1_ns: i64) -> bool {
        let forgotten = sent.saturating_sub(sequence) >= u64::try_from(self.times.len()).unwrap_or(u64::MAX);
        forgotten || self.slot(sequence).load(Ordering::Acquire).abs_diff(t1_ns) <= 1
    }
}

/// The departing half: the schedule's offsets, made into probes.
#[derive(Debug)]
pub struct Departures<S> {
    schedule: S,
    start: Timestamp<Monotonic>,
    ssid: u16,
    error: ErrorEstimate,
    echoes: Arc<Echoes>,
    key: Option<Arc<Key>>,
    next: u64,
}

impl<S: Iterator<Item = (Duration, u32)>> Departures<S> {
    /// Probes at the offsets (from `start`) and of the payload sizes that `schedule` gives.
    pub fn new(
        schedule: S,
        start: Timestamp<Monotonic>,
        ssid: u16,
        error: ErrorEstimate,
        echoes: Arc<Echoes>,
    ) -> Self {
        Self { schedule, start, ssid, error, echoes, key: None, next: 0 }
    }

    /// The same probes, authenticated with `key` where there is one (RFC 8762 section 4.2.2). They need room for 112
    /// octets.
    #[must_use]
    pub fn with_key(self, key: Option<Arc<Key>>) -> Self {
        Self { key, ..self }
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
        self.echoes.note(due.sequence, t1_ns);
        let packet = SenderPacket {
            sequence: wire_sequence(due.sequence),
            timestamp: WireTime::from_unix_nanos(t1_ns, self.error.format()),
            error: self.error,
            ssid: NonZeroU16::new(self.ssid),
        };
        let buffer = &mut buffer[..size];
        match &self.key {
            Some(key) => packet.emit_authenticated(buffer, key).ok()?,
            None => packet.emit(buffer).ok()?,
        }
        Some(size)
    }
}

/// The 32-bit number on the wire of probe `sequence`.
#[expect(clippy::cast_possible_truncation, reason = "the wire's number wraps")]
pub fn wire_sequence(sequence: u64) -> u32 {
    sequence as u32
}

/// Why a datagram is not a reflection of ours.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Stray {
    /// It is too short to be a reflection.
    Short,
    /// It comes from somewhere else than the target.
    Source,
    /// It names another session.
    Session,
    /// It names a probe that was never sent.
    Sequence,
    /// It does not return the time that we sent.
    Echo,
    /// It was not made with our key.
    Code,
}

/// Counts of datagrams that were not reflections of ours.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Strays {
    /// [`Stray::Short`].
    pub short: u64,
    /// [`Stray::Source`].
    pub source: u64,
    /// [`Stray::Session`].
    pub session: u64,
    /// [`Stray::Sequence`].
    pub sequence: u64,
    /// [`Stray::Echo`].
    pub echo: u64,
    /// [`Stray::Code`].
    pub code: u64,
}

impl Strays {
    /// All together.
    pub fn total(&self) -> u64 {
        self.short + self.source + self.session + self.sequence + self.echo + self.code
    }
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

/// The returning half: knows the reflections of its stream, and when no more can come.
#[derive(Debug)]
pub struct Returns {
    target: SocketAddr,
    ssid: u16,
    echoes: Arc<Echoes>,
    key: Option<Arc<Key>>,
    returned: Vec<u64>,
    distinct: u64,
    copies: u64,
    strays: Strays,
}

impl Returns {
    /// Reflections from `target` with identifier `ssid`; room is made for `expected` probes, and grows if more
    /// are sent.
    pub fn new(target: SocketAddr, ssid: u16, expected: u64, echoes: Arc<Echoes>) -> Self {
        let words = usize::try_from(expected.div_ceil(64).min(1 << 20)).unwrap_or(0);
        Self {
            target,
            ssid,
            echoes,
            key: None,
            returned: Vec::with_capacity(words),
            distinct: 0,
            copies: 0,
            strays: Strays::default(),
        }
    }

    /// The same, of which only those count that were made with `key`, where there is one.
    #[must_use]
    pub fn with_key(self, key: Option<Arc<Key>>) -> Self {
        Self { key, ..self }
    }

    fn parse(&self, payload: &[u8]) -> Result<ReflectorPacket, Stray> {
        match &self.key {
            None => ReflectorPacket::parse(payload).map_err(|_| Stray::Short),
            Some(key) => ReflectorPacket::parse_authenticated(payload, key).map_err(|error| match error {
                AuthError::WrongCode => Stray::Code,
                AuthError::TooShort(_) | AuthError::NoRoom { .. } => Stray::Short,
            }),
        }
    }

    /// A datagram arrived after `sent` probes had left. Gives its log entry, or says why it is not ours.
    ///
    /// # Errors
    /// [`Stray`], which is also counted.
    pub fn on_datagram(&mut self, arrival: &Arrival<'_>, sent: u64) -> Result<Entry, Stray> {
        match self.judge(arrival, sent) {
            Ok((packet, sequence)) => {
                self.note(sequence);
                // Whatever the far clock says, it is read in the era that is nearest to ours.
                let told = |time: WireTime| time.to_unix_nanos(packet.error.format(), arrival.user_ns);
                Ok(Entry::Returned {
                    sequence,
                    user_ns: arrival.user_ns,
                    kernel_ns: arrival.kernel_ns,
                    told_t2_ns: packet.receive_timestamp.filter(|time| !time.is_zero()).and_then(told),
                    told_t3_ns: Some(packet.timestamp).filter(|time| !time.is_zero()).and_then(told),
                    ttl: arrival.ttl,
                    tos: arrival.tos,
                    told_ttl: packet.sender_ttl,
                })
            }
            Err(stray) => {
                let counter = match stray {
                    Stray::Short => &mut self.strays.short,
                    Stray::Source => &mut self.strays.source,
                    Stray::Session => &mut self.strays.session,
                    Stray::Sequence => &mut self.strays.sequence,
                    Stray::Echo => &mut self.strays.echo,
                    Stray::Code => &mut self.strays.code,
                };
                *counter += 1;
                Err(stray)
            }
        }
    }

    fn judge(&self, arrival: &Arrival<'_>, sent: u64) -> Result<(ReflectorPacket, u64), Stray> {
        if arrival.source != self.target {
            return Err(Stray::Source);
        }
        let packet = self.parse(arrival.payload)?;
        // Reflectors that know only RFC 8762 return zero where RFC 8972 has the identifier.
        if packet.ssid.is_some_and(|ssid| ssid.get() != self.ssid) {
            return Err(Stray::Session);
        }
        // A stateful reflector counts for itself; what it echoes is ours.
        let on_wire = packet.sender_sequence.unwrap_or(packet.sequence);
        let sequence = unwrapped(on_wire, sent).ok_or(Stray::Sequence)?;
        let format = packet.sender_error.map_or(TimestampFormat::Ntp, ErrorEstimate::format);
        let echo = packet.sender_timestamp.and_then(|time| time.to_unix_nanos(format, arrival.user_ns));
        if echo.is_some_and(|t1| !self.echoes.agree(sequence, sent, t1)) {
            return Err(Stray::Echo);
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
        } else {
            self.copies += 1;
        }
    }

    /// Probes that have come back, each counted once.
    pub fn distinct(&self) -> u64 {
        self.distinct
    }
    /// Further copies of probes that had come back.
    pub fn copies(&self) -> u64 {
        self.copies
    }
    /// Datagrams that were not reflections of ours.
    pub fn strays(&self) -> &Strays {
        &self.strays
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

    #[test]
    fn numbers_unwrap_to_the_latest_probe_that_has_been_sent() {
        assert_eq!(unwrapped(0, 0), None);
        assert_eq!(unwrapped(0, 1), Some(0));
        assert_eq!(unwrapped(5, 5), None, "probe 5 has not been sent");
        assert_eq!(unwrapped(u32::MAX, (1 << 32) + 3), Some((1 << 32) - 1));
        assert_eq!(unwrapped(2, (1 << 32) + 3), Some((1 << 32) + 2));
    }

    proptest! {
        #[test]
        fn a_recent_number_survives_the_wire(sent in 1u64..(1 << 40), back in 0u64..1_000_000) {
            let sequence = (sent - 1).saturating_sub(back);
            prop_assert_eq!(unwrapped(wire_sequence(sequence), sent), Some(sequence));
        }
    }
}

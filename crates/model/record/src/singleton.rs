//! Singletons: one probe's round trip, and one packet's in one direction.

use crate::probe_direction::ProbeDirection;
use romer_units::{Arrival, Clock, Departure, Duration, Responder, Sender, Timestamp, TimestampPoint};

/// All stamps of one moment (a departure or an arrival) on one clock, by the place where they were taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stamps<C: Clock> {
    /// Taken by the network card, and carried over to the host's clock.
    pub nic: Option<Timestamp<C>>,
    /// Taken by the kernel at the driver's edge; in a run with in-packet stamps, by a program of the kernel at the interface.
    pub kernel: Option<Timestamp<C>>,
    /// Taken by the program.
    pub user: Option<Timestamp<C>>,
    /// What the reflected packet itself says; its place is the responder's secret unless that end is romer. In a run with in-packet
    /// stamps, what a program of the responder's kernel wrote.
    pub told: Option<Timestamp<C>>,
}

impl<C: Clock> Default for Stamps<C> {
    fn default() -> Self {
        Self { nic: None, kernel: None, user: None, told: None }
    }
}

impl<C: Clock> Stamps<C> {
    /// The stamp taken at `place`; `None` means the place is not known, and gives what the packet told. A packet of which
    /// the network card has no stamp has the kernel's for [`TimestampPoint::Nic`]: cards that stamp one departure at a time leave
    /// some out. Programs write into the packet: what it tells of the responder, and in place of the kernel's stamps here.
    pub fn at(&self, place: Option<TimestampPoint>) -> Option<Timestamp<C>> {
        match place {
            Some(TimestampPoint::Kernel) => self.kernel,
            Some(TimestampPoint::User) => self.user,
            Some(TimestampPoint::Nic) => self.nic.or(self.kernel),
            Some(TimestampPoint::Program) => self.kernel.or(self.told),
            None => self.told,
        }
    }

    /// The stamp that tells best when the packet was on the wire, whichever was chosen: a program that stands still takes its
    /// own stamp of an arrival long after, and the kernel does not.
    pub fn nearest(&self) -> Option<Timestamp<C>> {
        self.kernel.or(self.nic).or(self.user).or(self.told)
    }
}

/// One probe and its outcome: the row of the packet log. A probe whose reflection came back more than once
/// has a row for each copy; one that never came back has one row with what is known.
///
/// The four moments are those of RFC 5357 and of Chen et al. 2013: `t1` sent, `t2` arrived at the responder, `t3` left
/// there, `t4` back at the sender; `t1`, `t4` on the sender's clock, `t2`, `t3` on the responder's.
///
/// A one-way probe has two of them: `t1` and `t2` where it went forward, `t3` and `t4` where the responder sent it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RoundTrip {
    /// Which way the probe went. A row is never of [`ProbeDirection::Both`]: there, each direction has rows and numbers of its own.
    pub way: ProbeDirection,
    /// Number of the probe in its stream, from 0.
    pub sequence: u64,
    /// 0 for the first copy that came back (or for a probe that did not), 1, 2, ... for duplicates.
    pub copy: u32,
    /// Which arrival at the responder this is, from 0: rows that share it are copies made on the way back.
    pub forward_copy: u32,
    /// Payload of UDP in octets.
    pub size: u32,
    /// How long after its scheduled moment the end that sends it was awake to do so, in nanoseconds.
    pub wake_error_ns: Option<i64>,
    /// Left the sender.
    pub t1: Stamps<Sender>,
    /// Arrived at the responder.
    pub t2: Stamps<Responder>,
    /// Left the responder.
    pub t3: Stamps<Responder>,
    /// Came back to the sender.
    pub t4: Stamps<Sender>,
    /// By how much the network cards' stamps of the row may be off, at most; `None` where it has none.
    pub nic_error_ns: Option<u32>,
    /// TTL or hop limit with which the probe arrived at the responder; `None` where its reply says 0.
    pub forward_ttl: Option<u8>,
    /// TTL or hop limit with which the reflection came back.
    pub reverse_ttl: Option<u8>,
    /// TOS or traffic class with which the probe arrived at the responder.
    pub forward_tos: Option<u8>,
    /// TOS or traffic class with which the reflection came back.
    pub reverse_tos: Option<u8>,
    /// The number that the reflector gave its reply: its own count of replies (RFC 8762 section 4, the stateful mode), or
    /// the probe's number once more. `None` where it is not told, or was not kept. Of a reply that was lost it says that it
    /// was sent.
    pub reply_number: Option<u32>,
    /// The host that was to send it refused (an error of the send call): neither sent nor lost.
    pub not_sent: bool,
    /// The responder's own log has it: its arrival there is certain even where the reflection was lost.
    pub seen_by_responder: bool,
    /// The responder's log, whole else, does not tell whether it arrived there (a file of another tool).
    pub untold_by_responder: bool,
    /// The responder's stamps of this reply contradict causality and were left out; its round trip is t4 - t1. No log holds it: it
    /// is found when rows are evaluated.
    pub far_stamps_rejected: bool,
    /// The reflection came back; of a probe that the responder sent, that it came here.
    pub returned: bool,
}

/// What is known of a packet's singleton.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Fate {
    /// It arrived in time.
    Arrived,
    /// It arrived after the waiting time, and counts as lost (RFC 7680 section 2.5 and 7679 section 3.6).
    Late,
    /// It did not arrive within the waiting time (RFC 7680 section 2.4).
    Lost,
    /// It arrived at the destination host, which dropped it before the program read it (RFC 7680 section 2.7): no loss.
    InstrumentDrop,
    /// It had not arrived when the run ended before the waiting time was over: neither received nor lost.
    InFlight,
    /// It cannot be known: the reflection did not return, and nothing says which way it was lost.
    Unknown,
}

impl Fate {
    /// Whether it counts as lost.
    pub const fn is_lost(self) -> bool {
        matches!(self, Self::Late | Self::Lost)
    }

    /// Whether it was observed to its end: neither dropped by the measuring host nor still in flight.
    pub const fn is_observed(self) -> bool {
        !matches!(self, Self::InstrumentDrop | Self::InFlight)
    }
}

/// One packet's way in one direction. Departure and arrival are on two clocks, so that they cannot be subtracted;
/// `delay` is what `romer_singletons` computes from them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OneWaySingleton {
    /// Number of the packet in its stream, from 0.
    pub sequence: u64,
    /// 0 for the first arrival, 1, 2, ... for duplicates.
    pub copy: u32,
    /// Payload of UDP in octets.
    pub size: u32,
    /// Its outcome.
    pub fate: Fate,
    /// When it left, by the chosen stamp; `None` where that is missing.
    pub departure: Option<Timestamp<Departure>>,
    /// When it arrived; `None` where it did not, or the stamp is missing.
    pub arrival: Option<Timestamp<Arrival>>,
    /// The delay as `romer_singletons` computes it; `None` where either stamp is missing.
    pub delay: Option<Duration>,
    /// TTL or hop limit on arrival.
    pub ttl: Option<u8>,
    /// TOS or traffic class on arrival.
    pub tos: Option<u8>,
    /// What more is known of its departure.
    pub leaving: Leaving,
}

/// What is known of a packet's departure besides the chosen stamp: with it, how late it was, and without it, about when it was.
///
/// Both share one place, which needs no alignment: ten million packets are held.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Leaving {
    kind: LeavingKind,
    nanos: [u8; 8],
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum LeavingKind {
    #[default]
    Unknown,
    After,
    About,
}

impl Leaving {
    /// Nothing.
    pub const UNKNOWN: Self = Self { kind: LeavingKind::Unknown, nanos: [0; 8] };

    /// How long after its scheduled moment it really was.
    pub const fn after(error: Duration) -> Self {
        Self { kind: LeavingKind::After, nanos: error.as_nanos().to_ne_bytes() }
    }

    /// When it was by another stamp, the nearest to the wire that there is, as the chosen one is missing. It is in no figure: it
    /// tells what was going on when the packet left.
    pub const fn about(left: Timestamp<Departure>) -> Self {
        Self { kind: LeavingKind::About, nanos: left.as_nanos().to_ne_bytes() }
    }

    const fn nanos(self) -> i64 {
        i64::from_ne_bytes(self.nanos)
    }
}

impl OneWaySingleton {
    /// When it left, as well as it is known: by the chosen stamp or, where that is missing, by another.
    pub fn left(&self) -> Option<Timestamp<Departure>> {
        self.departure.or(self.left_about())
    }

    /// When it left by another stamp than the chosen one, which is missing.
    pub const fn left_about(&self) -> Option<Timestamp<Departure>> {
        match self.leaving.kind {
            LeavingKind::About => Some(Timestamp::from_nanos(self.leaving.nanos())),
            LeavingKind::After | LeavingKind::Unknown => None,
        }
    }

    /// How long after its scheduled moment it really left.
    pub const fn departure_error(&self) -> Option<Duration> {
        match self.leaving.kind {
            LeavingKind::After => Some(Duration::from_nanos(self.leaving.nanos())),
            LeavingKind::About | LeavingKind::Unknown => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_singleton_takes_seven_words() {
        // Fifteen million of them are held where ten million packets went there and back.
        assert_eq!(size_of::<OneWaySingleton>(), 56);
    }
}

//! What happened to a host or to the path while a stream was measured, and bears on its figures.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Where something happened.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Side {
    /// At the sending host.
    Sender,
    /// At the responding host.
    Responder,
    /// Between them.
    Path,
}

impl Side {
    /// The host at the other end; the path has none.
    pub const fn other(self) -> Self {
        match self {
            Self::Sender => Self::Responder,
            Self::Responder => Self::Sender,
            Self::Path => Self::Path,
        }
    }
}

/// What happened.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum EventKind {
    /// The real-time clock was set.
    ClockStep,
    /// The host was suspended.
    Suspend,
    /// The program stood still, though the host did not.
    Pause,
    /// An interface was switched off or lost its carrier.
    LinkDown,
    /// It is back.
    LinkUp,
    /// Probes leave from another address, or an address went or came. With a length: for so long the session was not at
    /// home anywhere, and its probes went astray; on the path, a NAT made a new mapping at some moment of that time, which
    /// lies between the last packet that came by the old one and the first by the new.
    AddressChange,
    /// The control conversation broke off, and the session goes on over another connection.
    Resumed,
    /// The control conversation broke off for good, from when on it was known to be no more until it was given up: the far end
    /// went away, or its session did.
    FarEndGone,
    /// The largest packet that can leave changed.
    MtuChange,
    /// The way to the target changed.
    RouteChange,
    /// Probes were not sent: the host refused them, the program was two seconds late with them, or a queue of an interface of the
    /// host dropped them after it had taken them (how many, `datagrams` has).
    NotSent,
    /// Routers or the far host reported errors about probes (ICMP).
    PathError,
    /// The kernel dropped datagrams that had arrived, because the program did not read them in time: between the last that was
    /// read before them and the first after.
    ReceiveOverflow,
    /// More happened than could be followed.
    Missed,
}

/// A sudden change of a host's real-time clock, in readings of that clock.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ClockStep {
    /// How much was added.
    pub size_ns: i64,
    /// What that is at the least and at the most, by how far apart the host's clocks were read before and after, and by how much
    /// one may have been slewed meanwhile; left out where that is not known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub size_interval_ns: Option<[i64; 2]>,
    /// The last reading that is known to be from before.
    pub before_ns: i64,
    /// The first reading that is known to be from after.
    pub after_ns: i64,
}

/// Something that happened.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Event {
    /// When it was, or was noticed where that is not known better (see `noticed_late_ns`), after the start.
    pub at_ns: i64,
    /// When it was over; `null` where it has no length, or was not over at the end.
    pub until_ns: Option<i64>,
    /// What it was.
    pub kind: EventKind,
    /// Where it was.
    pub side: Side,
    /// In words.
    pub detail: String,
    /// That host's real-time clock at that moment; of what was on the path, this host's.
    pub clock_ns: i64,
    /// Of a step of the clock, how large it was and between which readings.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub step: Option<ClockStep>,
    /// Of a `receive-overflow`, how many datagrams the kernel dropped; of a `not-sent` by a queue that dropped what it had taken, how
    /// many probes those were.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub datagrams: Option<u64>,
    /// Of an `mtu-change`, the largest IP packet that the interface takes from then on; of a `path-error`, the largest that
    /// the path takes, where it was refused as too long, and of a `not-sent` of what was too long the largest that the host knows
    /// to get there. Octets.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mtu: Option<u32>,
    /// Of a `path-error`, the first probe that the path is known to have refused as too long.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sequence: Option<u64>,
    /// Where it happened while the program there stood still, and no packet tells when: it was at some moment of so many
    /// nanoseconds before `at_ns`, which is when it was noticed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub noticed_late_ns: Option<i64>,
}

impl Event {
    /// The same, noticed later than it was: it was at some moment between so many nanoseconds before.
    #[must_use]
    pub fn between(self, earliest_ns: i64, latest_ns: i64) -> Self {
        let earliest = self.at_ns.saturating_sub(earliest_ns);
        // From the start on, by both clocks.
        let at_ns = earliest.max(0);
        let clock_ns = self.clock_ns.saturating_sub(earliest_ns);
        Self {
            at_ns,
            until_ns: Some(self.at_ns.saturating_sub(latest_ns).max(at_ns)),
            clock_ns: clock_ns.saturating_add(at_ns.saturating_sub(earliest)),
            ..self
        }
    }

    /// The moments between which it was, after the start; both are `at_ns` where that is known.
    pub fn window(&self) -> [i64; 2] {
        [self.at_ns.saturating_sub(self.noticed_late_ns.unwrap_or(0)).max(0), self.at_ns]
    }

    /// The same, noticed when it was over: it began `length_ns` before.
    #[must_use]
    pub fn over(self, length_ns: i64) -> Self {
        Self {
            at_ns: self.at_ns.saturating_sub(length_ns),
            until_ns: Some(self.at_ns),
            clock_ns: self.clock_ns.saturating_sub(length_ns),
            ..self
        }
    }
}

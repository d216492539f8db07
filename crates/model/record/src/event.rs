//! What happened to a host or to the path while a stream was measured, and bears on its figures.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Where something happened.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum EventLocation {
    /// At the sending host.
    Sender,
    /// At the responding host.
    Responder,
    /// Between them.
    Path,
}

impl EventLocation {
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
    /// The program paused, though the host did not.
    Pause,
    /// An interface was switched off or lost its carrier.
    LinkDown,
    /// It is back.
    LinkUp,
    /// Probes leave from another address, or an address went or came. With a length: the session had no address for this time; on
    /// the path, a NAT made a new mapping at some moment of that time, which
    /// lies between the last packet that came by the old one and the first by the new.
    AddressChange,
    /// The control conversation broke off, and the session goes on over another connection.
    Resumed,
    /// The control conversation broke off for good, from when on it was known to be no more until it was given up: the responder
    /// went away, or its session did.
    ResponderLost,
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
    /// Lower and upper bound of that, by how far apart the host's clocks were read before and after, and by how much
    /// one may have been slewed meanwhile; `null` where that is not known.
    #[serde(default)]
    pub size_interval_ns: Option<[i64; 2]>,
    /// The last reading that is known to be from before.
    pub before_ns: i64,
    /// The first reading that is known to be from after.
    pub after_ns: i64,
}

/// Something that happened.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Event {
    /// When it was, or was noticed where that is not known better (see `detection_latency_ns`), after the start.
    pub at_ns: i64,
    /// When it was over; `null` where it has no length, or was not over at the end.
    pub until_ns: Option<i64>,
    /// What it was.
    pub kind: EventKind,
    /// Where it was.
    pub side: EventLocation,
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
    /// Where it happened while the program there paused, and no packet tells when: it was at some moment of so many
    /// nanoseconds before `at_ns`, which is when it was noticed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub detection_latency_ns: Option<i64>,
}

impl Event {
    /// An event of one moment, without words: `at_ns` after the start, which is `clock_ns` by the clock of that host.
    pub const fn new(kind: EventKind, side: EventLocation, at_ns: i64, clock_ns: i64) -> Self {
        Self {
            at_ns,
            until_ns: None,
            kind,
            side,
            detail: String::new(),
            clock_ns,
            step: None,
            datagrams: None,
            mtu: None,
            detection_latency_ns: None,
        }
    }

    /// The same, noticed later than it was: it was at some moment between so many nanoseconds before.
    #[must_use]
    pub fn between(self, earliest_ns: i64, latest_ns: i64) -> Self {
        let at_ns = self.at_ns.saturating_sub(earliest_ns);
        let was = Self {
            at_ns,
            until_ns: Some(self.at_ns.saturating_sub(latest_ns).max(at_ns)),
            clock_ns: self.clock_ns.saturating_sub(earliest_ns),
            ..self
        };
        was.from_start()
    }

    /// The same, told of from the start on: what happened while the run was being made ready was there from its start. What of it
    /// was in the run ends when it did, by both clocks.
    #[must_use]
    pub fn from_start(self) -> Self {
        let earlier = self.at_ns.saturating_neg().max(0);
        Self {
            at_ns: self.at_ns.saturating_add(earlier),
            clock_ns: self.clock_ns.saturating_add(earlier),
            until_ns: self.until_ns.map(|until| until.max(0)),
            ..self
        }
    }

    /// The moments between which it was, after the start; both are `at_ns` where that is known.
    pub fn window(&self) -> [i64; 2] {
        [self.at_ns.saturating_sub(self.detection_latency_ns.unwrap_or(0)).max(0), self.at_ns]
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

#[cfg(test)]
mod tests {
    use super::*;

    const S: i64 = 1_000_000_000;

    #[test]
    fn what_began_before_the_run_is_told_from_its_start_and_ends_when_it_did() {
        let at = |at_ns, until_ns| Event {
            until_ns,
            ..Event::new(EventKind::NotSent, EventLocation::Sender, at_ns, 100 * S)
        };
        let early = at(-S, Some(3 * S)).from_start();
        assert_eq!((early.at_ns, early.clock_ns, early.until_ns), (0, 101 * S, Some(3 * S)));
        let before = at(-S, Some(-S / 2)).from_start();
        assert_eq!((before.at_ns, before.until_ns), (0, Some(0)));
        let later = at(S, Some(3 * S));
        assert_eq!(later.clone().from_start(), later);
        // Noticed a second after the start, of what was between three seconds and half a second before.
        let early = at(S, None).between(3 * S, S / 2);
        assert_eq!((early.at_ns, early.clock_ns, early.until_ns), (0, 99 * S, Some(S / 2)));
    }
    #[test]
    fn an_interval_that_is_not_known_is_null_and_may_be_absent() {
        let step = ClockStep { size_ns: 5, size_interval_ns: None, before_ns: 1, after_ns: 6 };
        let written = serde_json::to_value(step).unwrap();
        assert!(
            written["size_interval_ns"].is_null() && written.get("size_interval_ns").is_some(),
            "{written}"
        );
        // As it was written before.
        let read = r#"{"size_ns": 5, "before_ns": 1, "after_ns": 6}"#;
        assert_eq!(serde_json::from_str::<ClockStep>(read).unwrap(), step);
    }
}

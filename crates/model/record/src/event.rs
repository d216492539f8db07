//! What happened to a host or to the path while a stream was measured, and bears on its figures.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::warning::family::Severity;

mod detail;

pub use detail::{
    ChangedHop, EventDetail, EventSchemas, OtherSource, OtherSources, ProtocolFault, RouterReport,
    TEXT_LENGTH_MAX, Unsent, UnusableInterface, schemas,
};

/// Place of an event.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum EventLocation {
    /// Host of the initiator.
    Sender,
    /// Host of the responder.
    Responder,
    /// Network between the hosts.
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

/// Kind of an event: its `code`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum EventKind {
    /// A real-time clock was set. The step is removed from the time stamps.
    ClockStep,
    /// A real-time clock lost its synchronisation: one-way delays are not absolute by the bounds that the hosts state.
    ClockSyncLost,
    /// The synchronisation of a real-time clock changed: it is synchronised again, has another reference, or has no update of it.
    ClockSyncChange,
    /// The host was suspended.
    Suspend,
    /// romer got no processor time, although the host was running.
    Pause,
    /// An interface was disabled or lost its carrier.
    LinkDown,
    /// An interface is enabled and has a carrier again.
    LinkUp,
    /// The source address changed, or an address was added or removed. On the path: a NAT replaced its mapping between the two times.
    AddressChange,
    /// The control connection was lost, and the session continued over another one.
    Resumed,
    /// The control connection was lost and not resumed.
    ResponderLost,
    /// The largest packet that the host sends changed.
    MtuChange,
    /// The route to the target changed.
    RouteChange,
    /// Packets were not sent: the host refused them, dropped them after it had accepted them, or romer was late with them.
    NotSent,
    /// Routers or the destination host reported errors about packets (ICMP).
    PathError,
    /// The kernel dropped datagrams that had arrived, because romer did not read them in time. They arrived
    /// between two datagrams that romer read; the event has the times of both.
    ReceiveOverflow,
    /// Some events were not recorded, because too many occurred at once.
    Missed,
}

impl EventKind {
    /// All, in their order.
    pub const ALL: [Self; 16] = [
        Self::ClockStep,
        Self::ClockSyncLost,
        Self::ClockSyncChange,
        Self::Suspend,
        Self::Pause,
        Self::LinkDown,
        Self::LinkUp,
        Self::AddressChange,
        Self::Resumed,
        Self::ResponderLost,
        Self::MtuChange,
        Self::RouteChange,
        Self::NotSent,
        Self::PathError,
        Self::ReceiveOverflow,
        Self::Missed,
    ];

    /// How much an event limits the use of the figures.
    pub const fn severity(self) -> Severity {
        match self {
            Self::ClockStep
            | Self::ClockSyncChange
            | Self::LinkUp
            | Self::Resumed
            | Self::MtuChange
            | Self::RouteChange => Severity::Note,
            Self::ClockSyncLost
            | Self::Suspend
            | Self::Pause
            | Self::LinkDown
            | Self::AddressChange
            | Self::ResponderLost
            | Self::NotSent
            | Self::PathError
            | Self::ReceiveOverflow
            | Self::Missed => Severity::Warning,
        }
    }
}

/// The code of an event as it is written, with its severity.
#[derive(Serialize, JsonSchema)]
struct Code {
    /// Kind of the event.
    code: EventKind,
    /// Effect on the results.
    severity: Severity,
}

mod code {
    use serde::{Deserialize, Deserializer, Serialize, Serializer};

    use crate::event::{Code, EventKind};

    #[expect(clippy::trivially_copy_pass_by_ref, reason = "serde hands on a reference")]
    pub(super) fn serialize<S: Serializer>(kind: &EventKind, serializer: S) -> Result<S::Ok, S::Error> {
        Code { code: *kind, severity: kind.severity() }.serialize(serializer)
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<EventKind, D::Error> {
        #[derive(Deserialize)]
        struct Read {
            code: EventKind,
        }
        Read::deserialize(deserializer).map(|read| read.code)
    }
}

/// A step of a host's real-time clock, by readings of that clock.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ClockStep {
    /// Size of the step, nanoseconds: positive if the clock was set forward.
    pub size_ns: i64,
    /// Lower and upper bound of the size, nanoseconds, from the times between readings of the host's clocks
    /// and their possible slew; `null` if unknown.
    #[serde(default)]
    pub size_interval_ns: Option<[i64; 2]>,
    /// Last reading that is known to be before the step, nanoseconds.
    pub before_ns: i64,
    /// First reading that is known to be after the step, nanoseconds.
    pub after_ns: i64,
}

/// An event of a host or of the path.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Event {
    /// Start of the event, or its detection (see `detection_latency_ns`), nanoseconds after the start of the
    /// run.
    pub at_ns: i64,
    /// End of the event, nanoseconds after the start of the run; `null` if it is instantaneous, or had not
    /// ended at the end of the run.
    pub until_ns: Option<i64>,
    /// Kind of the event.
    #[serde(flatten, with = "code")]
    #[schemars(with = "Code")]
    pub kind: EventKind,
    /// Place of the event.
    pub location: EventLocation,
    /// Detail with its fields; absent if the code says all.
    #[serde(flatten)]
    pub detail: Option<EventDetail>,
    /// Duration, nanoseconds. `at_ns` and `until_ns` cover only the part within the run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub duration_ns: Option<i64>,
    /// Real-time clock of the host at `at_ns`, nanoseconds; for the path, that of the initiator.
    pub clock_ns: i64,
    /// Of a `clock-step`: its size, and the readings of the clock before and after it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub step: Option<ClockStep>,
    /// Of a `receive-overflow`: number of datagrams that the kernel dropped. Of a `not-sent` with
    /// `queue-drops`: number of packets that the queue dropped.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub datagrams: Option<u64>,
    /// Largest IP packet, bytes. Of an `mtu-change`: new MTU of the interface. Of a `path-error`: MTU of the
    /// path. Of a `not-sent`: largest packet that the host sends to the destination.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mtu: Option<u32>,
    /// Maximum time between the event and its detection at `at_ns`, nanoseconds, because romer got no
    /// processor time.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub detection_latency_ns: Option<i64>,
}

impl Event {
    /// An event of one moment, without a detail: `at_ns` after the start, which is `clock_ns` by the clock of that host.
    pub const fn new(kind: EventKind, location: EventLocation, at_ns: i64, clock_ns: i64) -> Self {
        Self {
            at_ns,
            until_ns: None,
            kind,
            location,
            detail: None,
            duration_ns: None,
            clock_ns,
            step: None,
            datagrams: None,
            mtu: None,
            detection_latency_ns: None,
        }
    }

    /// An event of one moment with this detail, which is of one code.
    pub fn with(detail: EventDetail, location: EventLocation, at_ns: i64, clock_ns: i64) -> Self {
        let kind = detail.kind();
        Self { detail: Some(detail), ..Self::new(kind, location, at_ns, clock_ns) }
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

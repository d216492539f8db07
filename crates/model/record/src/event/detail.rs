//! What exactly happened, as typed values: each belongs to one code of an event.

use std::net::IpAddr;

use schemars::{JsonSchema, Schema};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::{Event, EventKind};
use crate::document::circumstances::HopAnswer;

/// Characters of a name that another host reports, at most.
pub const TEXT_LENGTH_MAX: usize = 300;
/// Members of a list that another host reports, at most.
const LIST_LENGTH_MAX: usize = 256;

/// Defines the details: each has the code of its events before its name. In documents its `detail` is the name of the variant, and
/// its fields stand beside it.
macro_rules! details {
    ($(#[$meta:meta])* $name:ident { $($(#[$about:meta])* $kind:ident $variant:ident
        $({ $($(#[$of_field:meta])* $field:ident: $type:ty,)* })?,)* }) => {
        $(#[$meta])*
        #[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
        #[serde(tag = "detail", rename_all = "kebab-case")]
        pub enum $name {
            $($(#[$about])* $variant $({ $($(#[$of_field])* $field: $type,)* })?,)*
        }

        impl $name {
            /// The code of events with each detail, in their order.
            pub const KINDS: &'static [EventKind] = &[$(EventKind::$kind),*];

            /// The code of events with this detail.
            pub const fn kind(&self) -> EventKind {
                match self {
                    $(Self::$variant { .. } => EventKind::$kind,)*
                }
            }
        }
    };
}

details! {
/// Detail of an event.
EventDetail {
    /// Departure times of a file decrease or jump: the sender's clock was set.
    ClockStep DeparturesShift {
        /// Whether the other host's clock was set by the same amount.
        both_clocks: bool,
        /// Whether a pause of the sender, with a queue that emptied meanwhile, would have the same effect.
        or_pause: bool,
    },
    /// All delays of a file change by one amount at a time: the receiver's clock was set, or the path
    /// changed.
    ClockStep DelaysShift,
    /// The packets of a capture are in order, but their time stamps are not: a clock was set.
    ClockStep CaptureOrder,
    /// The lines of a file are in order of arrival, but their time stamps are not: a clock was set.
    ClockStep LineOrder,

    /// The kernel does not state the clock as synchronised any more.
    ClockSyncLost Unsynchronised,
    /// A daemon that synchronises the clock ended.
    ClockSyncLost SyncDaemonStopped {
        /// Name of the daemon, as in `clock_sync.sync_daemons`.
        daemon: String,
    },
    /// The kernel states the clock as synchronised.
    ClockSyncChange Synchronised,
    /// A daemon that synchronises the clock was started.
    ClockSyncChange SyncDaemonStarted {
        /// Name of the daemon, as in `clock_sync.sync_daemons`.
        daemon: String,
    },
    /// chrony follows another reference.
    ClockSyncChange ReferenceChanged {
        /// New reference; empty if it has none.
        reference: String,
        /// Previous reference; empty if it had none.
        reference_before: String,
    },
    /// Holdover: chrony has missed at least four updates of its reference, and the bound of the clock's error has more than doubled
    /// since the last one.
    ClockSyncChange Holdover {
        /// Bound of the clock's error, nanoseconds.
        bound_ns: i64,
        /// The same after the last update, nanoseconds.
        bound_before_ns: i64,
    },

    /// An interface was disabled or lost its carrier.
    LinkDown InterfaceDown {
        /// Name of the interface.
        interface: String,
        /// Number of times.
        times: u32,
    },
    /// An interface was disabled or had no carrier before the first probe.
    LinkDown InterfaceDownBefore {
        /// Name of the interface.
        interface: String,
        /// Whether it was enabled without a carrier.
        no_carrier: bool,
    },
    /// An interface is enabled and has a carrier again.
    LinkUp InterfaceUp {
        /// Name of the interface.
        interface: String,
    },

    /// The source address of the probes was removed from this host.
    AddressChange AddressRemoved {
        /// Removed address.
        address: IpAddr,
    },
    /// An address was removed and restored.
    AddressChange AddressRestored {
        /// Restored address.
        address: IpAddr,
    },
    /// This host sends the probes from another source address.
    AddressChange SourceChanged {
        /// The target.
        target: IpAddr,
        /// New source address.
        address: IpAddr,
        /// Previous source address.
        address_before: IpAddr,
    },
    /// The session continues from another address of this host. Packets sent before the responder accepted it
    /// may be lost.
    AddressChange SessionMoved {
        /// New address.
        address: IpAddr,
        /// Previous address.
        address_before: IpAddr,
    },
    /// The address of this host changed, and this version of the responder cannot continue the session from
    /// another one.
    AddressChange SessionNotMoved {
        /// Version of the responder.
        software: String,
    },
    /// The responder receives the probes from another address: a NAT made a new mapping, or this host has another address.
    AddressChange MappingChanged {
        /// New address and port.
        address: String,
        /// Previous address and port.
        address_before: String,
        /// Other source addresses of probes during the event.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        others: Option<OtherSources>,
    },
    /// The responder received a session's probes from a new address, and the session continues.
    AddressChange SenderMoved {
        /// New address.
        address: IpAddr,
        /// Previous address.
        address_before: IpAddr,
        /// Whether a NAT made a new mapping: the address of the initiator's host did not change.
        by_nat: bool,
        /// Other source addresses of probes during the event.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        others: Option<OtherSources>,
    },
    /// The responder received probes from other addresses before it identified the initiator's.
    AddressChange ReceivedFromOthers {
        /// Other source addresses.
        others: OtherSources,
    },

    /// The session of an initiator continues over another control connection.
    Resumed ConnectionReplaced {
        /// Address of the initiator.
        address: IpAddr,
    },

    /// The responder did not answer any more.
    ResponderLost Unreachable {
        /// Whether the measurement ended: no more probes were sent or received.
        ends: bool,
    },
    /// The responder violated the control protocol.
    ResponderLost ProtocolFault {
        /// Kind of violation.
        fault: ProtocolFault,
    },

    /// The MTU of an interface changed to `mtu`.
    MtuChange InterfaceMtu {
        /// Name of the interface.
        interface: String,
        /// Previous MTU, bytes.
        mtu_before: u32,
    },

    /// A route to the other host was added.
    RouteChange RouteAdded {
        /// Destinations of the route, as a prefix.
        prefix: String,
        /// Next hop of the route.
        gateway: IpAddr,
    },
    /// A route to the other host was removed.
    RouteChange RouteRemoved {
        /// Destinations of the route, as a prefix.
        prefix: String,
        /// Next hop of the route.
        gateway: IpAddr,
    },
    /// This host has no route to the target any more.
    RouteChange NoRoute {
        /// The target.
        target: IpAddr,
    },
    /// This host has a route to the target again.
    RouteChange RouteRestored {
        /// The target.
        target: IpAddr,
        /// Source address of the probes.
        address: IpAddr,
    },
    /// An interface was removed, and another one with its name was created.
    RouteChange InterfaceReplaced {
        /// Name of the interface.
        interface: String,
        /// Reason why the probes cannot use the new one; `null` if they do.
        error: Option<String>,
    },
    /// The hops of the path to the target differ between the start and the end of the run.
    RouteChange PathChanged {
        /// The target.
        target: String,
        /// Changed hops.
        hops: Vec<ChangedHop>,
    },

    /// romer was too late to send packets, and did not send them: it was paused, or had too little processor
    /// time.
    NotSent TooLate {
        /// Packets that were not sent.
        #[serde(flatten)]
        unsent: Unsent,
        /// Maximum permitted lateness, nanoseconds.
        late_ns: i64,
    },
    /// The next hop did not answer ARP or neighbour discovery, and the host dropped the packets that waited
    /// for it.
    NotSent NextHopUnresolved {
        /// Packets that were not sent.
        #[serde(flatten)]
        unsent: Unsent,
        /// Destination.
        target: IpAddr,
    },
    /// The packets exceed the path MTU that the host knows, or its limit. `mtu` is the largest packet that it
    /// sends.
    NotSent TooLong {
        /// Packets that were not sent.
        #[serde(flatten)]
        unsent: Unsent,
        /// Destination.
        target: IpAddr,
        /// Whether the limit is that of the host and not of the path: after a router returned a packet as too
        /// long, the host sends short packets only (`net.ipv4.ip_no_pmtu_disc` is 1).
        host_limit: bool,
    },
    /// The interface refused packets: its queue is full, it has no carrier, or the peer of a virtual link
    /// refuses them.
    NotSent InterfaceRefused {
        /// Packets that were not sent.
        #[serde(flatten)]
        unsent: Unsent,
        /// Error number of the system.
        errno: i32,
    },
    /// The system refused to send packets.
    NotSent SystemRefused {
        /// Packets that were not sent.
        #[serde(flatten)]
        unsent: Unsent,
        /// Destination.
        target: IpAddr,
        /// Interface of a link-local destination.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        link: Option<String>,
        /// Error number of the system.
        errno: i32,
        /// Disabled interfaces whose routes may be needed.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        unusable_interfaces: Vec<UnusableInterface>,
    },
    /// The responder is open to all networks, and limits its bit rate.
    NotSent OpenLimit {
        /// Packets that were not sent.
        #[serde(flatten)]
        unsent: Unsent,
        /// Limit for one network, bit/s.
        network_bps: u64,
        /// Limit for all networks, bit/s.
        total_bps: u64,
    },
    /// The responder limits its packet rate to one address or network (`--rate`).
    NotSent RateLimit {
        /// Packets that were not sent.
        #[serde(flatten)]
        unsent: Unsent,
        /// Address to which more packets were due.
        target: IpAddr,
        /// Limit, packets per second.
        packets_per_second: u64,
    },
    /// A queue of an interface dropped packets that it had accepted. `datagrams` is their number.
    NotSent QueueDrops {
        /// Name of the interface.
        interface: String,
        /// Kind of the queue.
        queue: String,
        /// Whether all dropped packets are of this stream; otherwise some may be of other programs.
        of_stream: bool,
    },

    /// Routers or the target reported errors (ICMP).
    PathError IcmpErrors {
        /// Reported probes.
        packets: u64,
        /// Most recent report of a router.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        report: Option<RouterReport>,
    },
    /// The target reported that nothing listens on the port (ICMP).
    PathError PortUnreachable {
        /// Reported probes.
        packets: u64,
        /// UDP port.
        port: u16,
    },
    /// Routers returned packets as too long (ICMP). `mtu` is the path MTU, if reported.
    PathError PacketTooBig {
        /// Reported probes.
        packets: u64,
        /// The target.
        target: IpAddr,
    },

    /// The network configuration of the host changed faster than romer could follow.
    Missed NetworkChanges,
    /// More events occurred than a run stores.
    Missed TooMany,
}
}

/// Packets that were not sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Unsent {
    /// Packets that were not sent.
    pub packets: u64,
    /// Whether they are replies, not probes.
    pub replies: bool,
}

/// An interface that is disabled or has no carrier.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct UnusableInterface {
    /// Name of the interface.
    pub interface: String,
    /// Whether it is enabled without a carrier.
    pub no_carrier: bool,
}

/// Source addresses of packets of a session.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct OtherSources {
    /// Some of the addresses, with their number of probes.
    pub sources: Vec<OtherSource>,
    /// Number of further addresses.
    pub more: u64,
}

/// A source address of probes of a session.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct OtherSource {
    /// Address and port.
    pub address: String,
    /// Number of probes.
    pub packets: u64,
}

/// A hop that differs between the start and the end of a run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ChangedHop {
    /// Number of the hop, from 1.
    pub hop: u8,
    /// Address at the start; `null` if none replied.
    pub before: HopAnswer,
    /// Address at the end; `null` if none replied.
    pub after: HopAnswer,
}

/// ICMP report of a router about packets that it did not forward.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct RouterReport {
    /// Address of the router.
    pub router: IpAddr,
    /// ICMP or ICMPv6 type.
    pub icmp_type: u8,
    /// ICMP or ICMPv6 code.
    pub icmp_code: u8,
}

/// Violation of the control protocol by a responder.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum ProtocolFault {
    /// It sent more records than its probes can cause.
    TooMuch,
    /// It reported impossible packet numbers.
    ImpossibleNumbers,
    /// It reported impossible times.
    ImplausibleTimes,
    /// It named port 0 for the test packets.
    NoTestPort,
    /// It did not report the end of its probes.
    Overdue,
}

impl EventDetail {
    /// Whether names and lists are as short as those of a host, and names have no control characters. What another host reports may
    /// be anything.
    pub fn is_plausible(&self) -> bool {
        serde_json::to_value(self).is_ok_and(|value| is_bounded(&value))
    }

    /// The packets that were not sent.
    pub const fn unsent_mut(&mut self) -> Option<&mut Unsent> {
        match self {
            Self::TooLate { unsent, .. }
            | Self::NextHopUnresolved { unsent, .. }
            | Self::TooLong { unsent, .. }
            | Self::InterfaceRefused { unsent, .. }
            | Self::SystemRefused { unsent, .. }
            | Self::OpenLimit { unsent, .. }
            | Self::RateLimit { unsent, .. } => Some(unsent),
            _ => None,
        }
    }
}

fn is_bounded(value: &Value) -> bool {
    match value {
        Value::String(text) => text.len() <= TEXT_LENGTH_MAX && !text.chars().any(char::is_control),
        Value::Array(members) => members.len() <= LIST_LENGTH_MAX && members.iter().all(is_bounded),
        Value::Object(fields) => fields.values().all(is_bounded),
        Value::Null | Value::Bool(_) | Value::Number(_) => true,
    }
}

/// The JSON schemas for the reference.
#[derive(Debug)]
pub struct EventSchemas {
    /// Of what all events have.
    pub event: Schema,
    /// Of the codes.
    pub kinds: Schema,
    /// Of their details.
    pub details: Schema,
}

/// The JSON schemas of events, for the reference.
pub fn schemas() -> EventSchemas {
    EventSchemas {
        event: schemars::schema_for!(Event),
        kinds: schemars::schema_for!(EventKind),
        details: schemars::schema_for!(EventDetail),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::event::EventLocation;

    /// An event is written with its code, severity, detail and fields side by side, and read again.
    #[test]
    fn written_and_read() {
        let detail = EventDetail::TooLong {
            unsent: Unsent { packets: 3, replies: true },
            target: IpAddr::from([198, 18, 0, 1]),
            host_limit: false,
        };
        let event = Event { mtu: Some(1_400), ..Event::with(detail, EventLocation::Responder, 5, 7) };
        let written = serde_json::to_value(&event).unwrap();
        let expected = serde_json::json!({
            "code": "not-sent", "severity": "warning", "location": "responder", "at_ns": 5, "until_ns": null, "clock_ns": 7,
            "detail": "too-long", "packets": 3, "replies": true, "target": "198.18.0.1", "host_limit": false, "mtu": 1400
        });
        assert_eq!(written, expected);
        assert_eq!(serde_json::from_value::<Event>(written).unwrap(), event);
    }

    /// Long names, names with control characters and long lists are not plausible.
    #[test]
    fn bounds_of_reported_details() {
        let up = |interface: String| EventDetail::InterfaceUp { interface };
        assert!(up("e".repeat(TEXT_LENGTH_MAX)).is_plausible());
        assert!(!up("e".repeat(TEXT_LENGTH_MAX + 1)).is_plausible() && !up("\x1b[2J".into()).is_plausible());
        let source = OtherSource { address: "198.18.0.1:9".into(), packets: 1 };
        let from = |number| EventDetail::ReceivedFromOthers {
            others: OtherSources { sources: vec![source.clone(); number], more: 0 },
        };
        assert!(from(LIST_LENGTH_MAX).is_plausible() && !from(LIST_LENGTH_MAX + 1).is_plausible());
    }

    /// Each detail is described, and its code is known.
    #[test]
    fn schema_has_descriptions() {
        let EventSchemas { kinds, details, .. } = schemas();
        let all = |schema: &Schema| schema.get("oneOf").and_then(Value::as_array).cloned().unwrap();
        assert_eq!(all(&details).len(), EventDetail::KINDS.len());
        for one in all(&kinds).iter().chain(&all(&details)) {
            assert!(one["description"].is_string(), "{one}");
        }
    }
}

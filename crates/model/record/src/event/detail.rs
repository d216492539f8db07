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
/// What exactly happened.
EventDetail {
    /// The departures in a file go back or shift: the clock of their sender was set.
    ClockStep DeparturesShift {
        /// The clock of the other end was set by as much.
        both_clocks: bool,
        /// A pause of the sender and a queue that emptied during it would look the same.
        or_pause: bool,
    },
    /// The delays of all packets from a moment on shift: the clock of the receiver was set, or the path changed by as much.
    ClockStep DelaysShift,
    /// The packets of a capture are in order, and their time stamps are not.
    ClockStep CaptureOrder,
    /// The lines of a file are in order of arrival, and their time stamps are not.
    ClockStep LineOrder,

    /// An interface was disabled or lost its carrier.
    LinkDown InterfaceDown {
        /// The interface.
        interface: String,
        /// How often.
        times: u32,
    },
    /// An interface was disabled or had no carrier before the first probe.
    LinkDown InterfaceDownBefore {
        /// The interface.
        interface: String,
        /// It was enabled and had no carrier.
        no_carrier: bool,
    },
    /// An interface is enabled and has a carrier again.
    LinkUp InterfaceUp {
        /// The interface.
        interface: String,
    },

    /// The source address of the probes was removed from this host.
    AddressChange AddressRemoved {
        /// The address.
        address: IpAddr,
    },
    /// An address was removed and restored.
    AddressChange AddressRestored {
        /// The address.
        address: IpAddr,
    },
    /// This host sends the probes from another address.
    AddressChange SourceChanged {
        /// The target.
        target: IpAddr,
        /// The address.
        address: IpAddr,
        /// The address before.
        address_before: IpAddr,
    },
    /// The session continues from another address of this host. Packets that were sent before the responder knew it may be lost.
    AddressChange SessionMoved {
        /// The address.
        address: IpAddr,
        /// The address before.
        address_before: IpAddr,
    },
    /// The address of this host changed, and the responder cannot continue the session from another one.
    AddressChange SessionNotMoved {
        /// The version of the responder.
        software: String,
    },
    /// The responder receives the probes from another address: a NAT made a new mapping, or this host has another address.
    AddressChange MappingChanged {
        /// The address and port.
        address: String,
        /// The address and port before.
        address_before: String,
        /// Other source addresses of probes during it.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        others: Option<OtherSources>,
    },
    /// The responder found the sender at another address, and its session continues.
    AddressChange SenderMoved {
        /// The address.
        address: IpAddr,
        /// The address before.
        address_before: IpAddr,
        /// The address of the measuring host did not change: a NAT made a new mapping.
        by_nat: bool,
        /// Other source addresses of probes during it.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        others: Option<OtherSources>,
    },
    /// The responder received probes from other addresses before it found the sender.
    AddressChange ReceivedFromOthers {
        /// The addresses.
        others: OtherSources,
    },

    /// The session of a sender continues over another connection.
    Resumed ConnectionReplaced {
        /// The address of the sender.
        address: IpAddr,
    },

    /// The responder did not answer any more.
    ResponderLost Unreachable {
        /// No more probes are sent or received: the measurement ended.
        ends: bool,
    },
    /// The responder broke the control protocol.
    ResponderLost ProtocolFault {
        /// How.
        fault: ProtocolFault,
    },

    /// The MTU of an interface changed, to `mtu`.
    MtuChange InterfaceMtu {
        /// The interface.
        interface: String,
        /// The MTU before, octets.
        mtu_before: u32,
    },

    /// A route to the other host was added.
    RouteChange RouteAdded {
        /// The destinations, as a prefix.
        prefix: String,
        /// The next hop.
        gateway: IpAddr,
    },
    /// A route to the other host was removed.
    RouteChange RouteRemoved {
        /// The destinations, as a prefix.
        prefix: String,
        /// The next hop.
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
        /// The source address of the probes.
        address: IpAddr,
    },
    /// An interface was removed, and another one has its name.
    RouteChange InterfaceReplaced {
        /// The name.
        interface: String,
        /// Why the probes cannot use the new one; `null` if they do.
        error: Option<String>,
    },
    /// Hops of the path to the target are other ones at the end of the run than at its beginning.
    RouteChange PathChanged {
        /// The target.
        target: String,
        /// The hops.
        hops: Vec<ChangedHop>,
    },

    /// The program was late with packets, and did not send them: it was paused, or had too little processor time.
    NotSent TooLate {
        /// The packets.
        #[serde(flatten)]
        unsent: Unsent,
        /// How late a packet may be, nanoseconds.
        late_ns: i64,
    },
    /// The next hop did not answer ARP or neighbour discovery, and the host dropped the packets that waited for it.
    NotSent NextHopUnresolved {
        /// The packets.
        #[serde(flatten)]
        unsent: Unsent,
        /// The destination.
        target: IpAddr,
    },
    /// The packets are too long for the path, as far as the host knows it. `mtu` is the longest that it sends.
    NotSent TooLong {
        /// The packets.
        #[serde(flatten)]
        unsent: Unsent,
        /// The destination.
        target: IpAddr,
        /// Not the path sets this length but the host, which sends short packets only once a router returned one
        /// (`net.ipv4.ip_no_pmtu_disc` is 1).
        host_limit: bool,
    },
    /// The interface did not accept the packets: its queue is full, it has no carrier, or the other end of a virtual link refuses them.
    NotSent InterfaceRefused {
        /// The packets.
        #[serde(flatten)]
        unsent: Unsent,
        /// The error of the system.
        errno: i32,
    },
    /// The system refused the packets.
    NotSent SystemRefused {
        /// The packets.
        #[serde(flatten)]
        unsent: Unsent,
        /// The destination.
        target: IpAddr,
        /// The interface of a link-local destination.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        link: Option<String>,
        /// The error of the system.
        errno: i32,
        /// Interfaces with routes that may be missing.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        unusable_interfaces: Vec<UnusableInterface>,
    },
    /// The responder is open to all networks, and limits what it sends.
    NotSent OpenLimit {
        /// The packets.
        #[serde(flatten)]
        unsent: Unsent,
        /// The limit for one network, bit/s.
        network_bps: u64,
        /// The limit for all networks, bit/s.
        total_bps: u64,
    },
    /// The responder limits the packets for one address or network.
    NotSent RateLimit {
        /// The packets.
        #[serde(flatten)]
        unsent: Unsent,
        /// The address with packets that exceed the limit.
        target: IpAddr,
        /// The limit, packets/s.
        packets_per_second: u64,
    },
    /// A queue of an interface dropped packets that it had accepted. `datagrams` is their number.
    NotSent QueueDrops {
        /// The interface.
        interface: String,
        /// The kind of the queue.
        queue: String,
        /// All of `datagrams` are packets of this stream, instead of at most as many.
        of_stream: bool,
    },

    /// Routers or the target reported errors (ICMP).
    PathError IcmpErrors {
        /// The probes.
        packets: u64,
        /// The most recent report of a router.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        report: Option<RouterReport>,
    },
    /// The target reported that nothing listens on the port (ICMP).
    PathError PortUnreachable {
        /// The probes.
        packets: u64,
        /// The UDP port.
        port: u16,
    },
    /// The path returned packets as too long (ICMP). `mtu` is what it carries, if it reported that.
    PathError PacketTooBig {
        /// The probes.
        packets: u64,
        /// The target.
        target: IpAddr,
    },

    /// The network of the host changed faster than romer could follow.
    Missed NetworkChanges,
    /// More events occurred than a run stores.
    Missed TooMany,
}
}

/// Packets that were not sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Unsent {
    /// The packets.
    pub packets: u64,
    /// They are replies, not probes.
    pub replies: bool,
}

/// An interface that is disabled or has no carrier.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct UnusableInterface {
    /// The interface.
    pub interface: String,
    /// It is enabled and has no carrier.
    pub no_carrier: bool,
}

/// Addresses that packets of a session came from.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct OtherSources {
    /// Some of them, with the probes that came from each.
    pub sources: Vec<OtherSource>,
    /// The number of further ones.
    pub more: u64,
}

/// An address that probes of a session came from.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct OtherSource {
    /// The address and port.
    pub address: String,
    /// The probes.
    pub packets: u64,
}

/// A hop of the path that is another one at the end of a run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ChangedHop {
    /// Its number, from 1.
    pub hop: u8,
    /// At the beginning.
    pub before: HopAnswer,
    /// At the end.
    pub after: HopAnswer,
}

/// What a router reported of packets that it did not forward (ICMP).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct RouterReport {
    /// The address of the router.
    pub router: IpAddr,
    /// The ICMP or ICMPv6 type.
    pub icmp_type: u8,
    /// The ICMP or ICMPv6 code.
    pub icmp_code: u8,
}

/// How a responder broke the control protocol.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum ProtocolFault {
    /// It sent more than its probes can cause.
    TooMuch,
    /// It reported numbers of packets that cannot be.
    ImpossibleNumbers,
    /// It reported times that cannot be.
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
            "code": "not-sent", "severity": "warning", "side": "responder", "at_ns": 5, "until_ns": null, "clock_ns": 7,
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

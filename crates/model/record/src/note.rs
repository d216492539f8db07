//! What a running measurement reports besides its intervals.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::event::{Event, EventLocation, ProtocolFault};
use crate::probe_direction::ProbeDirection;

/// Something worth a line.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(untagged)]
pub enum Note {
    /// What happened to a host or to the path.
    Event(Box<Event>),
    /// Anything else.
    Notice(Notice),
}

impl From<Event> for Note {
    fn from(event: Event) -> Self {
        Self::Event(Box::new(event))
    }
}

impl From<Notice> for Note {
    fn from(notice: Notice) -> Self {
        Self::Notice(notice)
    }
}

/// Records of the responder that are missing.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "reason", rename_all = "kebab-case")]
pub enum LogGap {
    /// The responder broke the control protocol.
    ProtocolFault {
        /// How.
        fault: ProtocolFault,
    },
    /// The responder could not send its records as fast as they came, and dropped some.
    RecordsLost {
        /// The records.
        records: u64,
        /// The direction of the stream.
        direction: ProbeDirection,
    },
    /// The control connection failed before the end of the records.
    ConnectionLost {
        /// The direction of the stream.
        direction: ProbeDirection,
    },
    /// The measuring host had no route to the responder at the end.
    RouteLost {
        /// The direction of the stream.
        direction: ProbeDirection,
    },
    /// The packet log of the measuring host did not store records that came.
    NotStored {
        /// The records.
        records: u64,
    },
}

/// An address of a host that is not measured.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct SkippedAddress {
    /// The address.
    pub address: String,
    /// The error; `null` if no reflector answered there.
    pub error: Option<String>,
}

crate::warning::family::warnings! {
/// A note of a program that runs.
Notice {
    /// The run is saved in a folder.
    Note RunSaved {
        /// The folder.
        folder: String,
    },
    /// The records of the responder are received.
    Note LogArriving {
        /// The records up to now.
        records: u64,
    },
    /// The records of the responder did not arrive completely.
    Warning LogIncomplete {
        /// What is missing, and why.
        gap: LogGap,
    },
    /// The drivers of some interrupts keep them on their processors (`--irq-cpu`).
    Note InterruptsNotMoved {
        /// The interrupts.
        interrupts: u64,
    },
    /// The run begins late, because its preparation took long.
    Warning StartsLate {
        /// By this time, nanoseconds.
        late_ns: i64,
    },
    /// The responder does not send probes.
    Warning ResponderObjects {
        /// What it reports.
        error: String,
    },
    /// One of several targets is not measured.
    Warning TargetNotMeasured {
        /// The error.
        error: String,
    },
    /// The responder is out of reach for the rest of the run.
    Warning ResponderUnreachable {
        /// The measurement ends; otherwise the records of the responder will be incomplete.
        ends: bool,
        /// This host has a route to the responder.
        has_route: bool,
    },
    /// A network card stamps packets of one direction only. The kernel stamps the others.
    Note NicStampsOneDirection {
        /// The interface.
        interface: String,
        /// It stamps departures, not arrivals.
        departures: bool,
    },
    /// The responder does not take time stamps in its network card.
    Note ResponderWithoutNicStamps,
    /// A host ignores routers that return packets of IPv4 as too long. Packets that are too long for the path will look like losses.
    Warning PacketTooBigIgnored {
        /// The host.
        side: EventLocation,
        /// The value of `net.ipv4.ip_no_pmtu_disc`.
        ip_no_pmtu_disc: u32,
        /// It sends probes.
        probes: bool,
        /// It sends replies.
        replies: bool,
    },
    /// A random schedule has few packets or none.
    Warning FewPackets {
        /// The host that sends them.
        side: EventLocation,
        /// The packets.
        packets: u64,
        /// The traffic model.
        model: String,
        /// Its mean interval, nanoseconds.
        interval_ns: i64,
        /// The duration, nanoseconds.
        duration_ns: i64,
        /// The packets that are expected on average.
        expected: u64,
    },
    /// A host has several addresses, and the first ones are not measured.
    Note AddressChosen {
        /// The host.
        host: String,
        /// The address that is measured.
        address: String,
        /// The addresses before it.
        skipped: Vec<SkippedAddress>,
    },
    /// No romer answers, and the STAMP reflector of the host is measured. It does not show the direction of a loss.
    Note StampReflectorUsed {
        /// The address of the control channel.
        address: String,
        /// Why there is no session.
        error: String,
        /// This host has no route to that address.
        no_route: bool,
        /// The UDP port of the reflector.
        port: u16,
    },
    /// What the emulation did during the measurement is not saved with the run.
    Warning EmulationNotSaved {
        /// The error.
        error: String,
    },
}
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::event::EventKind;

    /// An event and any other note are read as what they are: their codes differ.
    #[test]
    fn codes_are_distinct() {
        let note: Note =
            serde_json::from_value(serde_json::json!({ "code": "log-arriving", "records": 3 })).unwrap();
        assert_eq!(note, Note::Notice(Notice::LogArriving { records: 3 }));
        let event = Note::from(Event::new(EventKind::Pause, EventLocation::Sender, 1, 2));
        assert_eq!(serde_json::from_value::<Note>(serde_json::to_value(&event).unwrap()).unwrap(), event);
        let schema = schemars::schema_for!(Notice);
        let notices = schema.get("oneOf").and_then(|all| all.as_array()).unwrap();
        for kind in EventKind::ALL {
            let kind = serde_json::to_value(kind).unwrap();
            assert!(notices.iter().all(|notice| notice["properties"]["code"]["const"] != kind), "{kind}");
        }
    }
}

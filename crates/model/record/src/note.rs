//! What a running measurement reports besides its intervals.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::event::{Event, EventLocation, ProtocolFault};
use crate::probe_direction::ProbeDirection;

/// An event or a notice.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(untagged)]
pub enum Note {
    /// Event of a host or of the path.
    Event(Box<Event>),
    /// Other notice.
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

/// Missing records of the responder, with the reason.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "reason", rename_all = "kebab-case")]
pub enum LogGap {
    /// The responder violated the control protocol.
    ProtocolFault {
        /// Kind of violation.
        fault: ProtocolFault,
    },
    /// The responder could not send its records fast enough, and dropped some.
    RecordsLost {
        /// Number of dropped records.
        records: u64,
        /// The direction of the stream.
        direction: ProbeDirection,
    },
    /// The control connection failed before the end of the records.
    ConnectionLost {
        /// The direction of the stream.
        direction: ProbeDirection,
    },
    /// The initiator's host had no route to the responder at the end.
    RouteLost {
        /// The direction of the stream.
        direction: ProbeDirection,
    },
    /// The packet log of the initiator did not store some records that it received.
    NotStored {
        /// Number of these records.
        records: u64,
    },
}

/// An address of a host that is not measured.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct SkippedAddress {
    /// The address.
    pub address: String,
    /// Error; `null` if no reflector answered there.
    pub error: Option<String>,
}

crate::warning::family::warnings! {
/// A notice of a running program.
Notice {
    /// The run is saved in a folder.
    Note RunSaved {
        /// Folder of the run.
        folder: String,
    },
    /// The records of the responder are being received.
    Note LogArriving {
        /// Number of records received so far.
        records: u64,
    },
    /// Some records of the responder are missing.
    Warning LogIncomplete {
        /// Missing records and the reason.
        gap: LogGap,
    },
    /// Some interrupts could not be moved to the requested processor (`--irq-cpu`), because their drivers do
    /// not permit it.
    Note InterruptsNotMoved {
        /// Numbers of these interrupts.
        interrupts: u64,
    },
    /// The run starts late, because its preparation took long.
    Warning StartsLate {
        /// Lateness, nanoseconds.
        late_ns: i64,
    },
    /// A new estimate of the skew moves earlier one-way delays by more than their stated error.
    Warning DelaysRevised {
        /// Greatest change of earlier delays, nanoseconds.
        revision_ns: f64,
        /// Stated error of these delays, by the 95 % confidence interval of the previous estimate, nanoseconds.
        error_ns: f64,
    },
    /// The responder does not send probes.
    Warning ResponderObjects {
        /// Reason reported by the responder.
        error: String,
    },
    /// One of several targets is not measured.
    Warning TargetNotMeasured {
        /// The error.
        error: String,
    },
    /// The responder is no longer reachable.
    Warning ResponderUnreachable {
        /// Whether the measurement ends; otherwise records of the responder will be missing.
        ends: bool,
        /// Whether this host has a route to the responder.
        has_route: bool,
    },
    /// A network card takes time stamps of one direction only. The kernel takes the others.
    Note NicStampsOneDirection {
        /// The interface.
        interface: String,
        /// Whether the card stamps departures; otherwise arrivals.
        departures: bool,
    },
    /// The responder takes no time stamps in its network card.
    Note ResponderWithoutNicStamps,
    /// A host ignores ICMP errors about IPv4 packets that are too long. Packets that are too long for the
    /// path appear as losses.
    Warning PacketTooBigIgnored {
        /// Host.
        location: EventLocation,
        /// Value of `net.ipv4.ip_no_pmtu_disc` on that host.
        ip_no_pmtu_disc: u32,
        /// Whether the host sends probes.
        probes: bool,
        /// Whether the host sends replies.
        replies: bool,
    },
    /// A random schedule has few packets or none.
    Warning FewPackets {
        /// Host that sends them.
        location: EventLocation,
        /// Number of scheduled packets.
        packets: u64,
        /// Traffic model.
        model: String,
        /// Mean interval of the schedule, nanoseconds.
        interval_ns: i64,
        /// Duration, nanoseconds.
        duration_ns: i64,
        /// Mean number of packets that the model gives in this duration.
        expected: u64,
    },
    /// A host has several addresses, and does not answer at the first ones.
    Note AddressChosen {
        /// Name of the host.
        host: String,
        /// Address that is measured.
        address: String,
        /// Addresses before it.
        skipped: Vec<SkippedAddress>,
    },
    /// The identity of a responder was not verified: this is the first contact with it.
    Note FirstContact {
        /// Name of the responder among the known peers.
        name: String,
        /// Fingerprint of its key: `sha256:` and 64 hexadecimal digits.
        fingerprint: String,
        /// Whether its key is saved, so that a change will be detected.
        saved: bool,
    },
    /// No romer answers at the target. Its STAMP reflector is measured, which does not report the direction
    /// of a loss.
    Note StampReflectorUsed {
        /// Address of the control channel.
        address: String,
        /// Reason why there is no control connection.
        error: String,
        /// Whether this host has no route to that address.
        no_route: bool,
        /// UDP port of the reflector.
        port: u16,
    },
    /// The queueing discipline of an interface (`--shape`) was changed by another program during the measurement. It is
    /// left as it is.
    Warning QueueNotRestored {
        /// The interface.
        interface: String,
    },
    /// The settings and counters of the emulation during the measurement are not stored with the run.
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

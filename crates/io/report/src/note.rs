//! Notes of a running program as text.

use romer_record::document::ProbeDirection;
use romer_record::event::EventLocation;
use romer_record::note::{LogGap, Note, Notice, SkippedAddress};
use romer_units::{Duration, counted};
use romer_wire::udp::ACCEPTED_PAYLOAD;

use crate::event::{protocol_fault, unreachable};
use crate::sentence::{Text, host};

impl Text for Note {
    fn text(&self) -> String {
        match self {
            Self::Event(event) => event.text(),
            Self::Notice(notice) => notice.text(),
        }
    }
}

impl Text for LogGap {
    fn text(&self) -> String {
        match self {
            Self::ProtocolFault { fault } => protocol_fault(*fault).into(),
            Self::RecordsLost { records, direction } => format!(
                "{} of {} {} missing: the responder's log buffer was full; use --realtime there, or a longer --interval",
                counted(*records, "record"),
                logged(*direction),
                if *records == 1 { "is" } else { "are" }
            ),
            Self::ConnectionLost { direction } => format!(
                "the remaining records of {} are missing: the control connection failed",
                logged(*direction)
            ),
            Self::RouteLost { direction } => format!(
                "the remaining records of {} are missing: this host had no route to the responder at the end",
                logged(*direction)
            ),
            Self::NotStored { records } => {
                format!(
                    "{} of it arrived and could not be saved in this host's packet log",
                    counted(*records, "record")
                )
            }
        }
    }
}

/// The probes that the log of a responder is about.
const fn logged(direction: ProbeDirection) -> &'static str {
    match direction {
        ProbeDirection::RoundTrip | ProbeDirection::Both => "the probes that the responder answered",
        ProbeDirection::Forward => "the probes that arrived at the responder",
        ProbeDirection::Reverse => "the probes that the responder sent",
    }
}

impl Text for Notice {
    fn text(&self) -> String {
        match self {
            Self::RunSaved { folder } => format!("run saved to {folder}"),
            Self::LogArriving { records } => {
                format!("receiving the log of the responder: {} so far", counted(*records, "record"))
            }
            Self::LogIncomplete { gap } => format!("the log of the responder is incomplete: {}", gap.text()),
            Self::QueueNotRestored { interface } => format!(
                "another program changed the queueing discipline of {interface} during the measurement (--shape): it is left as \
                 it is; check it with `tc qdisc show dev {interface}`"
            ),
            Self::InterruptsNotMoved { interrupts } => {
                format!("the driver does not allow {interrupts} interrupts to be moved (--irq-cpu)")
            }
            Self::StartsLate { late_ns } => format!(
                "the run begins {} late: its preparation took that long",
                Duration::from_nanos(*late_ns)
            ),
            Self::DelaysRevised { revision_ns, error_ns } => {
                let [revision, error] = [revision_ns, error_ns].map(|nanos| Duration::from_nanos_f64(*nanos).rounded());
                format!(
                    "a new estimate of the clock skew moves earlier one-way delays by up to {revision}; their stated error was {error}"
                )
            }
            Self::ResponderObjects { error } => format!("the responder does not send, and reports: {error}"),
            Self::TargetNotMeasured { error } => format!("{error}; the other targets are measured without it"),
            Self::ResponderUnreachable { ends, has_route } => unreachable(*ends, *has_route).into(),
            Self::NicStampsOneDirection { interface, departures } => {
                let (what, others) =
                    if *departures { ("departures only", "arrivals") } else { ("arrivals only", "departures") };
                format!(
                    "the network card of {interface} stamps {what} (of arrivals perhaps those of PTP): {others} are stamped by the \
                     kernel"
                )
            }
            Self::ResponderWithoutNicStamps => {
                "the responder takes no time stamps in its network card, but in its kernel; start `romer respond --stamp nic` there, \
                 if its interface can"
                    .into()
            }
            Self::PacketTooBigIgnored { location, ip_no_pmtu_disc, probes, replies } => {
                let those = match (probes, replies) {
                    (true, true) => "replies and probes",
                    (_, false) => "probes",
                    (false, true) => "replies",
                };
                format!(
                    "{} ignores ICMP errors for IPv4 packets that are too long (net.ipv4.ip_no_pmtu_disc is \
                     {ip_no_pmtu_disc}): {those} that are too long for the path will look like losses; set that to 0, or use a --size \
                     of at most {ACCEPTED_PAYLOAD}B",
                    host(*location)
                )
            }
            Self::FewPackets { location, packets, model, interval_ns, duration_ns, expected } => {
                let end = if *location == EventLocation::Responder { "the responder" } else { "this host" };
                let [interval, length] =
                    [interval_ns, duration_ns].map(|nanos| Duration::from_nanos(*nanos).readable());
                let mean =
                    format!("{model} sends one every {interval} on average, about {expected} in {length}");
                match packets {
                    0 => format!(
                        "by chance no packet leaves {end} in {length} ({mean}): this direction will have no result; use a longer \
                         --duration, a --count, or another --seed"
                    ),
                    _ => format!(
                        "by chance {packets} packet{} {end} in {length} ({mean}): too few for a result; use a longer --duration, or \
                         a --count",
                        if *packets == 1 { " leaves" } else { "s leave" }
                    ),
                }
            }
            Self::AddressChosen { host, address, skipped } => {
                format!("{host} has several addresses: measuring {address}, not {}", skipped_text(skipped))
            }
            Self::FirstContact { name, fingerprint, saved } => {
                let known = if *saved {
                    "its key is saved, and a change will be refused"
                } else {
                    "its key cannot be saved, so that a change will not be detected"
                };
                format!(
                    "first contact with the responder {name}, whose identity is not verified ({fingerprint}): {known}; compare the \
                     fingerprint with the one that it shows, or verify it with `romer pair`"
                )
            }
            Self::StampReflectorUsed { address, error, no_route, port } => {
                let remedy = if *no_route { "check the route to it" } else { "start `romer respond` there" };
                format!(
                    "no romer responder at {address} ({error}): {remedy}; measuring with plain STAMP on UDP port {port}, which does \
                     not show the direction of a loss"
                )
            }
            Self::EmulationNotSaved { error } => {
                format!("the emulation on the path is not saved with the run: {error}")
            }
        }
    }
}

/// `ADDRESS (ERROR), ADDRESS (no reflector answers)`.
fn skipped_text(skipped: &[SkippedAddress]) -> String {
    let each = |SkippedAddress { address, error }: &SkippedAddress| {
        format!("{address} ({})", error.as_deref().unwrap_or("no reflector answers"))
    };
    skipped.iter().map(each).collect::<Vec<_>>().join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A gap names the records, and one of them as one.
    #[test]
    fn gaps_name_records() {
        let lost = |records| LogGap::RecordsLost { records, direction: ProbeDirection::Forward }.text();
        assert!(
            lost(1).starts_with("1 record of the probes that arrived at the responder is missing: "),
            "{}",
            lost(1)
        );
        assert!(
            lost(42_055).starts_with("42055 records of the probes that arrived at the responder are missing")
        );
        let gap = LogGap::RouteLost { direction: ProbeDirection::Reverse }.text();
        assert!(
            gap.contains("the probes that the responder sent are missing: this host had no route"),
            "{gap}"
        );
    }
}

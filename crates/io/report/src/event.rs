//! Events as text.

use std::io;
use std::net::IpAddr;

use romer_record::document::HopAnswer;
use romer_record::event::{
    ChangedHop, Event, EventDetail, EventKind, EventLocation, OtherSources, ProtocolFault, RouterReport,
    Unsent, UnusableInterface,
};
use romer_units::{Duration, counted, counted_as, was};

use crate::sentence::{Text, host, length};

/// Changed hops that a sentence names.
const HOPS: usize = 3;
/// Interfaces that a sentence names.
const INTERFACES: usize = 3;
/// Octets of the headers of IPv4 and UDP, and of IPv6 and UDP.
const HEADERS: [u32; 2] = [28, 48];
/// The error of the system for what a blackhole route discards (`EINVAL`).
const BLACKHOLE: i32 = 22;

impl Text for Event {
    fn text(&self) -> String {
        self.detail.as_ref().map_or_else(|| general(self), |detail| detailed(self, detail))
    }
}

/// The program at an end.
const fn program(location: EventLocation) -> &'static str {
    match location {
        EventLocation::Responder => "the responder",
        EventLocation::Sender | EventLocation::Path => "the program",
    }
}

/// An event whose code says all.
fn general(event: &Event) -> String {
    let (host, program) = (host(event.location), program(event.location));
    let for_long = event.duration_ns.map_or_else(String::new, |nanos| format!(" for {}", length(nanos)));
    match event.kind {
        EventKind::ClockStep => clock_step(event),
        EventKind::ClockSyncLost => format!("the clock of {host} lost its synchronisation"),
        EventKind::ClockSyncChange => format!("the synchronisation of the clock of {host} changed"),
        EventKind::Suspend => format!("{host} was suspended{for_long}"),
        EventKind::Pause => format!("{program} was paused{for_long}"),
        EventKind::LinkDown => format!("an interface of {host} went down"),
        EventKind::LinkUp => format!("an interface of {host} is up again"),
        EventKind::AddressChange => format!("an address of {host} changed"),
        EventKind::Resumed => {
            let after =
                event.duration_ns.map_or_else(String::new, |nanos| format!(" after {}", length(nanos)));
            format!("the control connection failed; the session continues over another one{after}")
        }
        EventKind::ResponderLost => "the control connection failed".into(),
        EventKind::MtuChange => format!("the MTU of an interface of {host} changed"),
        EventKind::RouteChange => format!("a route of {host} changed"),
        EventKind::NotSent => format!("{host} did not send packets"),
        EventKind::PathError => "the path reported errors (ICMP)".into(),
        EventKind::ReceiveOverflow => {
            let datagrams =
                event.datagrams.map_or_else(|| "datagrams".into(), |count| counted(count, "datagram"));
            format!(
                "{datagrams} had arrived, and {host}'s kernel dropped them because they were not read in time"
            )
        }
        EventKind::Missed => format!("events of {host} were not recorded"),
    }
}

/// A step that the clocks of the host itself show.
fn clock_step(event: &Event) -> String {
    let clock = if event.location == EventLocation::Responder {
        "the responder's clock"
    } else {
        "this host's clock"
    };
    let by = event.step.map_or_else(String::new, |step| {
        let between = step.size_interval_ns.map_or_else(String::new, |interval| {
            let [least, most] = interval.map(length);
            format!(" ({least} to {most})")
        });
        format!(", by {}{between}", length(step.size_ns))
    });
    format!("{clock} was set{by}")
}

fn detailed(event: &Event, detail: &EventDetail) -> String {
    /// A network interface is of the responder's host where that reports it.
    const fn of_host(location: EventLocation) -> &'static str {
        if matches!(location, EventLocation::Responder) { " of the responder's host" } else { "" }
    }
    let (location, whose) = (event.location, of_host(event.location));
    match detail {
        EventDetail::DeparturesShift { .. }
        | EventDetail::DelaysShift
        | EventDetail::CaptureOrder
        | EventDetail::LineOrder => step_in_file(event, detail),
        EventDetail::Unsynchronised
        | EventDetail::SyncDaemonStopped { .. }
        | EventDetail::Synchronised
        | EventDetail::SyncDaemonStarted { .. }
        | EventDetail::ReferenceChanged { .. }
        | EventDetail::Holdover { .. } => clock_sync(location, detail),
        EventDetail::InterfaceDown { interface, times: 1 } => {
            format!("interface {interface}{whose} went down")
        }
        EventDetail::InterfaceDown { interface, times } => {
            format!("interface {interface}{whose} went down {times} times")
        }
        EventDetail::InterfaceDownBefore { interface, no_carrier } => {
            let cause = if *no_carrier { "had no carrier" } else { "was down" };
            format!("interface {interface}{whose} {cause} when the first probes were due")
        }
        EventDetail::InterfaceUp { interface } => format!("interface {interface}{whose} is up again"),
        EventDetail::InterfaceMtu { interface, mtu_before } => {
            let now = event.mtu.unwrap_or_default();
            let longer = if now < *mtu_before {
                ": longer packets are not sent, and some interfaces do not accept them on arrival"
            } else {
                ""
            };
            format!(
                "the MTU of interface {interface}{whose} changed from {mtu_before} to {now} bytes{longer}"
            )
        }
        EventDetail::RouteAdded { prefix, gateway } => {
            format!("{} {prefix} via {gateway} was added", route_of(location))
        }
        EventDetail::RouteRemoved { prefix, gateway } => {
            format!("{} {prefix} via {gateway} was removed", route_of(location))
        }
        EventDetail::NoRoute { target } => format!("the route to {target} was lost"),
        EventDetail::RouteRestored { target, address } => {
            format!("there is a route to {target} again, from {address}")
        }
        EventDetail::InterfaceReplaced { interface, error } => {
            let now = error.as_ref().map_or_else(
                || "probes now use the new one".into(),
                |error| {
                    format!("probes cannot use the new one ({error}), which needs CAP_NET_RAW; measure again")
                },
            );
            format!("interface {interface} was removed and created again: {now}")
        }
        EventDetail::PathChanged { target, hops } => path_changed(target, hops),
        EventDetail::ConnectionReplaced { address } => {
            format!("the control connection with {address} failed; the session continues over another one")
        }
        EventDetail::Unreachable { ends } => unreachable(*ends, true).into(),
        EventDetail::ProtocolFault { fault } => protocol_fault(*fault).into(),
        EventDetail::IcmpErrors { packets, report } => {
            let report = report.as_ref().map_or_else(|| "ICMP error from the path".to_owned(), router_report);
            format!("{report}, for {}", counted(*packets, "probe"))
        }
        EventDetail::PortUnreachable { packets, port } => format!(
            "ICMP port unreachable from the target, UDP port {port}, for {}: no reflector is listening, or a NAT has lost its mapping",
            counted(*packets, "probe")
        ),
        EventDetail::PacketTooBig { packets, target } => format!(
            "ICMP packet too big from the path, for {}{}",
            counted(*packets, "probe"),
            shorter(*target, event.mtu)
        ),
        EventDetail::NetworkChanges => {
            format!("the network of {} changed faster than romer could record", host(location))
        }
        EventDetail::TooMany => "more events occurred than a run stores; later ones are missing".into(),
        _ => address_change(event, detail).unwrap_or_else(|| not_sent(event, detail)),
    }
}

const fn route_of(location: EventLocation) -> &'static str {
    if matches!(location, EventLocation::Responder) {
        "on the responder's host, the route to"
    } else {
        "the route to"
    }
}

/// A step that the packets of a file show.
fn step_in_file(event: &Event, detail: &EventDetail) -> String {
    let size_ns = event.step.map_or(0, |step| step.size_ns);
    let aside = if size_ns < 0 { "back" } else { "ahead" };
    let of_sender = event.location == EventLocation::Sender;
    let (whose, too, why) = match detail {
        EventDetail::DeparturesShift { both_clocks, or_pause } => {
            let whose = if of_sender { "sender's" } else { "responder's" };
            let pause = if *or_pause {
                " (unless it paused for as long and a full queue emptied meanwhile: one direction alone does not show which)"
            } else {
                ""
            };
            let why = format!("as the departures of its packets show{pause}");
            (whose, if *both_clocks { ", too," } else { "" }, why)
        }
        EventDetail::DelaysShift => {
            let changed = if size_ns < 0 { "shorter" } else { "longer" };
            let why = format!(
                "as the delays of all packets from there on show (unless the path is {changed} by as much for all of them: \
                 one direction alone does not show which)"
            );
            ("receiver's", "", why)
        }
        EventDetail::CaptureOrder => (
            if of_sender { "sender's" } else { "receiver's" },
            "",
            "as the order of its capture's packets shows".to_owned(),
        ),
        _ => (
            "receiver's",
            "",
            "as the packets arrived one after another in the file, and their time stamps go back".to_owned(),
        ),
    };
    format!("the {whose} clock was set{too} {aside} by about {}, {why}", length(size_ns.saturating_abs()))
}

/// A change of the synchronisation of a clock.
fn clock_sync(location: EventLocation, detail: &EventDetail) -> String {
    let host = host(location);
    let reference = |name: &str| if name.is_empty() { "no reference".to_owned() } else { name.to_owned() };
    match detail {
        EventDetail::SyncDaemonStopped { daemon } => {
            format!("{daemon} of {host} stopped, so that nothing bounds the error of its clock")
        }
        EventDetail::Synchronised => format!("the clock of {host} is synchronised"),
        EventDetail::SyncDaemonStarted { daemon } => format!("{daemon} of {host} was started"),
        EventDetail::ReferenceChanged { reference: now, reference_before } => format!(
            "the clock of {host} has another reference: {} instead of {}",
            reference(now),
            reference(reference_before)
        ),
        EventDetail::Holdover { bound_ns, bound_before_ns } => format!(
            "the clock of {host} had no update of its reference, and the bound of its error grew from {} to {}",
            length(*bound_before_ns),
            length(*bound_ns)
        ),
        _ => format!("the clock of {host} is not synchronised any more"),
    }
}

/// A change of addresses.
fn address_change(event: &Event, detail: &EventDetail) -> Option<String> {
    let took = event.duration_ns.map(length);
    let with_others = |text: String, others: &Option<OtherSources>| {
        others.as_ref().map_or_else(|| text.clone(), |others| format!("{text}; {}", received_from(others)))
    };
    Some(match detail {
        EventDetail::AddressRemoved { address } => {
            format!("address {address}, the source of the probes, was removed")
        }
        EventDetail::AddressRestored { address } => {
            let after = took.map_or_else(String::new, |took| format!(" after {took}"));
            format!("address {address} of {} was removed, and restored{after}", host(event.location))
        }
        EventDetail::SourceChanged { target, address, address_before } => {
            format!("the source address of probes to {target} changed from {address_before} to {address}")
        }
        EventDetail::SessionMoved { address, address_before } => {
            let took = took.unwrap_or_else(|| "a while".into());
            format!(
                "the session moved from {address_before} to {address}: for {took} the responder did not know the new address, and \
                 packets sent meanwhile may be lost"
            )
        }
        EventDetail::SessionNotMoved { software } => format!(
            "this host's address has changed, and the responder ({software}) cannot continue the session from another one: \
             update it there, or measure again"
        ),
        EventDetail::MappingChanged { address, address_before, others } => {
            let within = took.map_or_else(String::new, |took| {
                format!(" (between the last packet from there and the first from here, {took} apart)")
            });
            let text = format!(
                "the source address of the probes at the responder changed from {address_before} to {address}: a NAT on the path created \
                 a new mapping, or this host sends from another address{within}"
            );
            with_others(text, others)
        }
        EventDetail::SenderMoved { address, address_before, by_nat, others } => {
            let nat = if *by_nat {
                "; this host's own address did not change: a NAT on the path created a new mapping"
            } else {
                ""
            };
            let text = format!(
                "a sender moved from {address_before} to {address}: its session continues, and probes go to the new address{nat}"
            );
            with_others(text, others)
        }
        EventDetail::ReceivedFromOthers { others } => received_from(others),
        _ => return None,
    })
}

fn received_from(others: &OtherSources) -> String {
    let each = others.sources.iter();
    let mut each: Vec<String> =
        each.map(|source| format!("{} from {}", counted(source.packets, "probe"), source.address)).collect();
    if others.more > 0 {
        each.push(format!("others from {} more", others.more));
    }
    format!("meanwhile the responder received {}", each.join(", "))
}

/// What a host did not send, and why.
fn not_sent(event: &Event, detail: &EventDetail) -> String {
    let host = host(event.location);
    let (unsent, why) = match detail {
        EventDetail::TooLate { unsent, late_ns } => (unsent, too_late(event.location, *unsent, *late_ns)),
        EventDetail::NextHopUnresolved { unsent, target } => {
            let why = format!(
                "ARP or neighbour discovery for the next hop to {target} failed, and {host} dropped the queued packets (see ip neigh)"
            );
            (unsent, why)
        }
        EventDetail::TooLong { unsent, target, host_limit } => (
            unsent,
            format!("too long for the path to {target}{}", shorter_by(*target, event.mtu, *host_limit)),
        ),
        EventDetail::InterfaceRefused { unsent, errno } => {
            let them = if unsent.packets == 1 { "it" } else { "them" };
            let why = format!(
                "the interface did not take {them} ({}): its queue is full, it has no carrier, or the other end of a virtual link \
                 refuses {them}, as for the length",
                io::Error::from_raw_os_error(*errno)
            );
            (unsent, why)
        }
        EventDetail::SystemRefused { unsent, target, link, errno, unusable_interfaces } => {
            let error = io::Error::from_raw_os_error(*errno);
            let why = if event.location == EventLocation::Responder {
                let hint = match error.kind() {
                    io::ErrorKind::ConnectionRefused => {
                        "; an ICMP message reported earlier ones as undeliverable, for example after a NAT mapping expired"
                    }
                    _ => "",
                };
                format!("{error}{hint}")
            } else {
                refusal(&error, *target, link.as_deref(), unusable_interfaces)
            };
            (unsent, why)
        }
        EventDetail::OpenLimit { unsent, network_bps, total_bps } => {
            let why = format!(
                "without --key-file and --allow it sends at most {} Mbit/s to one network (/24 or /56) and {} Mbit/s in total; start it with \
                 --key-file or --allow, or request fewer or smaller packets",
                network_bps / 1_000_000,
                total_bps / 1_000_000
            );
            (unsent, why)
        }
        EventDetail::RateLimit { unsent, target, packets_per_second } => {
            let why = if unsent.replies {
                format!(
                    "requests from {target} exceeded its limit of {packets_per_second} packets/s for one address (--rate there)"
                )
            } else {
                format!(
                    "it sends at most {packets_per_second} packets/s to one network (/24 or /56), with bursts of a second's worth \
                     (--rate there)"
                )
            };
            (unsent, why)
        }
        EventDetail::QueueDrops { interface, queue, of_stream } => {
            let text = format!("a queue of {host} ({queue} of interface {interface}) dropped packets");
            return match event.datagrams {
                Some(packets) if *of_stream => format!(
                    "{text}: {} of this stream after it accepted them, which did not leave {host}",
                    counted(packets, "packet")
                ),
                _ => text,
            };
        }
        _ => return general(event),
    };
    let [one, several] = if unsent.replies { ["reply", "replies"] } else { ["probe", "probes"] };
    let those = counted_as(unsent.packets, one, several);
    match (event.location, detail) {
        (
            EventLocation::Responder,
            EventDetail::TooLate { .. } | EventDetail::OpenLimit { .. } | EventDetail::RateLimit { .. },
        ) => format!("the responder did not send {those}: {why}"),
        (EventLocation::Responder, _) => format!("the responder's host did not send {those}: {why}"),
        _ => format!("{those} {} not sent: {why}", was(unsent.packets)),
    }
}

fn too_late(location: EventLocation, unsent: Unsent, late_ns: i64) -> String {
    let there = if location == EventLocation::Responder { " there" } else { "" };
    let them = if unsent.packets == 1 { "it" } else { "them" };
    format!(
        "{} was {} late with {them}: it was paused, or has too little processor time for this rate (--realtime{there} helps, or a \
         longer --interval)",
        program(location),
        Duration::from_nanos(late_ns).readable()
    )
}

fn headers(target: IpAddr) -> u32 {
    HEADERS[usize::from(target.is_ipv6())]
}

/// What packets to `target` may be of: `mtu` octets, where that is known, and what to do.
fn shorter(target: IpAddr, mtu: Option<u32>) -> String {
    mtu.map_or_else(
        || "; set a smaller --size".into(),
        |mtu| {
            let most = mtu.saturating_sub(headers(target));
            format!(": its MTU is {mtu} bytes; set --size to at most {most}B")
        },
    )
}

/// The same where a host itself may refuse longer ones, because a router returned one.
fn shorter_by(target: IpAddr, mtu: Option<u32>, host_limit: bool) -> String {
    match mtu {
        Some(mtu) if host_limit => {
            let most = mtu.saturating_sub(headers(target));
            format!(
                ": a router has returned one, and this host sends no packets of more than {mtu} bytes there since \
                 (net.ipv4.ip_no_pmtu_disc is 1); set that to 0, or set --size to at most {most}B"
            )
        }
        _ => shorter(target, mtu),
    }
}

/// Why a host refuses what is to go to `target`: what routes, filters and interfaces usually have to do with an error of the system.
/// `link` is the interface of a link-local target, and `unusable` are interfaces that routes may have gone with.
pub fn refusal(
    error: &io::Error,
    target: IpAddr,
    link: Option<&str>,
    unusable: &[UnusableInterface],
) -> String {
    let is_blackhole = error.raw_os_error() == Some(BLACKHOLE);
    let cause = match error.kind() {
        _ if is_blackhole => "a blackhole route of this host discards packets to",
        io::ErrorKind::PermissionDenied => {
            "a prohibit route or a packet filter of this host rejects packets to"
        }
        io::ErrorKind::HostUnreachable => {
            "an unreachable route of this host, or a next hop that does not answer ARP or neighbour discovery, stops packets to"
        }
        io::ErrorKind::NetworkUnreachable => "this host has no route to",
        _ => return error.to_string(),
    };
    let link = link.map_or_else(String::new, |link| format!(" oif {link}"));
    let text = format!("{error}: probably {cause} {target} (see ip route get {target}{link})");
    unusable_interfaces(unusable).map_or(text.clone(), |those| format!("{text}; {those}"))
}

fn unusable_interfaces(those: &[UnusableInterface]) -> Option<String> {
    let named = those.iter().take(INTERFACES).map(|UnusableInterface { interface, no_carrier }| {
        if *no_carrier {
            format!("its interface {interface} has no carrier (check its cable and the other end)")
        } else {
            format!("its interface {interface} is down (ip link set {interface} up)")
        }
    });
    let named: Vec<String> = named.collect();
    let more = those.len().saturating_sub(INTERFACES);
    let more = if more > 0 { format!(" and {more} more") } else { String::new() };
    (!named.is_empty()).then(|| {
        format!(
            "{}{more}: routes over an interface that is down are removed until it is up",
            named.join(", ")
        )
    })
}

/// What a router reported, and which.
pub fn router_report(report: &RouterReport) -> String {
    let RouterReport { router, icmp_type, icmp_code } = report;
    // RFC 792, RFC 1812 section 5.2.7.1; RFC 4443 section 3.1.
    let what = match (router.is_ipv4(), icmp_code) {
        (true, 0 | 6) => "network unreachable",
        (true, 1 | 7) => "host unreachable",
        (true, 9 | 10 | 13) | (false, 1 | 5) => "administratively prohibited",
        (false, 0) => "no route to destination",
        (false, 3) => "address unreachable",
        (false, 6) => "reject route to destination",
        _ => "destination unreachable",
    };
    format!("ICMP {what} (type {icmp_type}, code {icmp_code}) from {router}")
}

/// What a responder that is out of reach leaves, though this host has a route to it or because it has none.
pub(crate) const fn unreachable(ends: bool, has_route: bool) -> &'static str {
    match (ends, has_route) {
        (false, true) => "the control connection failed: the log of the responder will be incomplete",
        (false, false) => {
            "this host lost its route to the responder: the log of the responder will be incomplete"
        }
        (true, true) => {
            "the control connection failed: the responder is unreachable, and the measurement ends here"
        }
        (true, false) => "this host lost its route to the responder, and the measurement ends here",
    }
}

/// How a responder broke the control protocol.
pub const fn protocol_fault(fault: ProtocolFault) -> &'static str {
    match fault {
        ProtocolFault::TooMuch => {
            "the responder sent more log rows and messages than its probes can cause, and the control connection \
             was closed"
        }
        ProtocolFault::ImpossibleNumbers => {
            "the responder reported more sent probes than its session has, and the control connection was closed"
        }
        ProtocolFault::ImplausibleTimes => {
            "the responder reported a time outside the years 1957 to 2102, a duration of 146 years or more, or an \
             impossible size, and the control connection was closed"
        }
        ProtocolFault::NoTestPort => {
            "the responder named port 0 for the test packets, and the control connection was closed"
        }
        ProtocolFault::Overdue => {
            "the responder did not report the end of its probes, long after their schedule had ended, and the \
             control connection was closed"
        }
    }
}

fn path_changed(target: &str, changed: &[ChangedHop]) -> String {
    let who =
        |answer: &HopAnswer| if answer.target { "the target".to_owned() } else { answer.address.clone() };
    let each = |change: &ChangedHop| {
        format!("hop {} was {} and is {}", change.hop, who(&change.before), who(&change.after))
    };
    let named: Vec<String> = changed.iter().take(HOPS).map(each).collect();
    let more = match changed.len().saturating_sub(HOPS) {
        0 => String::new(),
        1 => ", and one more hop differs".into(),
        more => format!(", and {more} more hops differ"),
    };
    format!("the path to {target} changed during the run: {}{more}", named.join(", "))
}

#[cfg(test)]
mod tests {
    use super::*;

    const V4: IpAddr = IpAddr::V4(std::net::Ipv4Addr::LOCALHOST);
    const V6: IpAddr = IpAddr::V6(std::net::Ipv6Addr::LOCALHOST);

    fn at(location: EventLocation, detail: EventDetail) -> String {
        Event::with(detail, location, 0, 0).text()
    }

    const fn unsent(packets: u64) -> Unsent {
        Unsent { packets, replies: false }
    }

    /// One packet and several are counted as such, at both ends.
    #[test]
    fn late_packets() {
        let late = |packets| EventDetail::TooLate { unsent: unsent(packets), late_ns: 2_000_000_000 };
        assert_eq!(
            at(EventLocation::Sender, late(1)),
            "1 probe was not sent: the program was 2 s late with it: it was paused, or has too little processor time for this \
             rate (--realtime helps, or a longer --interval)"
        );
        let several = at(EventLocation::Sender, late(2));
        assert!(
            several.starts_with("2 probes were not sent: the program was 2 s late with them: "),
            "{several}"
        );
        let reply =
            EventDetail::TooLate { unsent: Unsent { packets: 1, replies: true }, late_ns: 2_000_000_000 };
        let there = at(EventLocation::Responder, reply);
        assert!(
            there.starts_with("the responder did not send 1 reply: the responder was 2 s late with it"),
            "{there}"
        );
        assert!(there.contains("--realtime there"), "{there}");
    }

    /// A packet that is too long names the size that passes, as far as it is known.
    #[test]
    fn sizes_that_pass() {
        let text = |target, mtu, host_limit| {
            let detail = EventDetail::TooLong { unsent: unsent(2), target, host_limit };
            Event { mtu, ..Event::with(detail, EventLocation::Sender, 0, 0) }.text()
        };
        assert_eq!(
            text(V4, Some(1_300), false),
            "2 probes were not sent: too long for the path to 127.0.0.1: its MTU is 1300 bytes; set --size to at most 1272B"
        );
        assert!(text(V6, Some(1_300), false).ends_with("--size to at most 1252B"));
        assert!(text(V4, None, false).ends_with("too long for the path to 127.0.0.1; set a smaller --size"));
        // What the path carries is not known.
        let limited = text(V4, Some(552), true);
        assert!(
            limited.contains("net.ipv4.ip_no_pmtu_disc is 1") && limited.ends_with("at most 524B"),
            "{limited}"
        );
        assert!(!limited.contains("its MTU is"), "{limited}");
        let returned = |mtu| {
            let detail = EventDetail::PacketTooBig { packets: 3, target: V4 };
            Event { mtu, ..Event::with(detail, EventLocation::Path, 0, 0) }.text()
        };
        let named = returned(Some(1_400));
        assert!(
            named.starts_with("ICMP packet too big from the path, for 3 probes: its MTU is 1400"),
            "{named}"
        );
        assert!(returned(None).ends_with("set a smaller --size"));
    }

    /// A full queue of an interface is its reason; an unresolved next hop is not a router's.
    #[test]
    fn reasons_of_this_host() {
        let refused =
            at(EventLocation::Sender, EventDetail::InterfaceRefused { unsent: unsent(1), errno: 105 });
        assert!(
            refused.contains("the interface did not take it (") && refused.contains("queue is full"),
            "{refused}"
        );
        let queued =
            at(EventLocation::Sender, EventDetail::NextHopUnresolved { unsent: unsent(32), target: V4 });
        assert!(
            queued.contains("ARP or neighbour discovery for the next hop to 127.0.0.1 failed"),
            "{queued}"
        );
        let swallowed = io::Error::from_raw_os_error(BLACKHOLE);
        let text = refusal(&swallowed, V4, None, &[]);
        assert!(
            text.ends_with(
                "a blackhole route of this host discards packets to 127.0.0.1 (see ip route get 127.0.0.1)"
            ),
            "{text}"
        );
        for (kind, cause) in [
            (io::ErrorKind::PermissionDenied, "a prohibit route"),
            (io::ErrorKind::HostUnreachable, "an unreachable route"),
            (io::ErrorKind::NetworkUnreachable, "this host has no route"),
        ] {
            let text = refusal(&kind.into(), V6, Some("eth0"), &[]);
            assert!(text.contains(cause) && text.ends_with("see ip route get ::1 oif eth0)"), "{text}");
        }
        assert!(!refusal(&io::ErrorKind::ConnectionReset.into(), V4, None, &[]).contains("route"));
    }

    /// Interfaces that are down or have no carrier are named with what helps, and counted beyond three.
    #[test]
    fn unusable_interfaces_are_named() {
        let one = |interface: &str, no_carrier| UnusableInterface { interface: interface.into(), no_carrier };
        assert_eq!(
            unusable_interfaces(&[one("eth1", false), one("eth2", true)]).unwrap(),
            "its interface eth1 is down (ip link set eth1 up), its interface eth2 has no carrier (check its cable and the other \
             end): routes over an interface that is down are removed until it is up"
        );
        let five = unusable_interfaces(&[1, 2, 3, 4, 5].map(|_| one("eth1", false))).unwrap();
        assert!(five.contains(" and 2 more: "), "{five}");
        assert_eq!(unusable_interfaces(&[]), None);
    }

    /// A report is named by its code, and with its router.
    #[test]
    fn router_reports() {
        let text = |router: &str, icmp_type, icmp_code| {
            router_report(&RouterReport { router: router.parse().unwrap(), icmp_type, icmp_code })
        };
        assert_eq!(text("198.18.0.1", 3, 1), "ICMP host unreachable (type 3, code 1) from 198.18.0.1");
        assert!(text("198.18.0.1", 3, 13).contains("administratively prohibited"));
        assert!(text("2001:db8::1", 1, 0).contains("no route to destination"));
        assert_eq!(
            at(EventLocation::Path, EventDetail::IcmpErrors { packets: 1, report: None }),
            "ICMP error from the path, for 1 probe"
        );
    }

    /// Changed hops are named with what they were, and counted beyond three.
    #[test]
    fn changed_hops() {
        let answer = |last: u8| HopAnswer { address: format!("198.18.0.{last}"), target: last == 9 };
        let hop = |hop, before, after| ChangedHop { hop, before: answer(before), after: answer(after) };
        assert_eq!(
            path_changed("voice.example", &[hop(1, 1, 2), hop(2, 9, 3)]),
            "the path to voice.example changed during the run: hop 1 was 198.18.0.1 and is 198.18.0.2, hop 2 was the \
             target and is 198.18.0.3"
        );
        let all: Vec<ChangedHop> = (1..6).map(|number| hop(number, 10 + number, 20 + number)).collect();
        assert!(path_changed("x", &all).ends_with(", and 2 more hops differ"));
    }
}

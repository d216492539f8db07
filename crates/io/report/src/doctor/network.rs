//! Interfaces, filters and access to packets.

use romer_record::doctor::{
    CoalescingState, FeaturePresence, InterfaceXdp, Interfaces, InterruptState, NicStamping, NicState,
    OffloadState, XdpModes,
};

use super::statement::Statement;
use crate::sentence::list;

/// More interfaces than this are counted instead of named.
const NAMED: usize = 4;

/// Consequence of time stamps at the driver.
pub(super) const AT_DRIVER: &str = "Kernel time stamps are used. They are taken at the driver: delays include the wait between driver and \
                                    wire, microseconds on an idle host and more under load.";
/// Effect of offloads on probes.
pub(super) const PROBES: &str = "Probes of romer are not affected: each is a single datagram.";
/// Consequence of interrupt coalescing.
pub(super) const LATE: &str =
    "Kernel arrival time stamps are late by up to that time, and several packets get the same one.";
/// Use of the XDP modes.
pub(super) const MODES: &str = "romer emulate uses native XDP if the driver supports it. Generic XDP is no faster than packet sockets, \
                                which handle 200,000 packets/s.";

fn shortened(names: &[String]) -> String {
    if names.len() > NAMED { format!("{} interfaces", names.len()) } else { list(names) }
}

/// An interface with its driver.
fn named(name: &str, driver: Option<&str>) -> String {
    driver.map_or_else(|| name.to_owned(), |driver| format!("{name} ({driver})"))
}

pub(super) fn nic_stamps(state: &NicState) -> Statement {
    const CARD: &str = "romer measure --stamp nic, with romer respond --stamp nic at the remote end, takes time stamps at the wire, \
                        converted to the host clock to about a microsecond. It needs root; the setting of the card is restored at \
                        exit. Without it, kernel time stamps are used.";
    let all = &state.interfaces;
    let able: Vec<String> =
        all.iter().filter(|(_, card)| card.can_stamp()).map(|(name, card)| card_named(name, card)).collect();
    if !able.is_empty() {
        return Statement::new(format!("Hardware time stamps: {}.", shortened(&able)), CARD);
    }
    let clocks: Vec<String> = all
        .iter()
        .filter_map(|(name, card)| Some(named(name, Some(card.hardware_clock.as_deref()?))))
        .collect();
    let names: Vec<String> = all.iter().map(|(name, card)| named(name, card.driver.as_deref())).collect();
    let observed = match (clocks.is_empty(), names.is_empty()) {
        (false, _) => format!("The hardware clock of {} does not time-stamp packets.", list(&clocks)),
        (true, false) => format!("No hardware clock: {}.", shortened(&names)),
        (true, true) => "No physical interface is up.".to_owned(),
    };
    Statement::new(observed, AT_DRIVER)
}

/// An interface with its card's clock, and the direction if it stamps only one.
fn card_named(name: &str, card: &NicStamping) -> String {
    let clock = card.stamp_clock.map_or_else(String::new, |number| format!("ptp{number}"));
    let part = match (card.stamps_departures, card.stamps_arrivals) {
        (true, true) => "",
        (true, false) => ", departures only",
        (false, _) => ", arrivals only",
    };
    format!("{name} ({clock}{part})")
}

pub(super) fn offloads(state: &OffloadState) -> Statement {
    let active: Vec<String> = state
        .interfaces
        .iter()
        .map(|(name, offloads)| (name, offloads.active()))
        .filter(|(_, active)| !active.is_empty())
        .map(|(name, active)| format!("{name} ({})", active.join(", ")))
        .collect();
    if !active.is_empty() {
        return Statement::new(
            format!("GRO/GSO/TSO enabled on {}.", shortened(&active)),
            format!(
                "{PROBES} Captures and TCP tests on this host show merged packets, not those of the link."
            ),
        );
    }
    if state.interfaces.is_empty() {
        Statement::new(
            "No interface is up except loopback.",
            "No offload changes what a capture on this host shows.",
        )
    } else {
        Statement::new(
            "GRO/GSO/TSO: off on all interfaces.",
            "Captures on this host show the packets of the link.",
        )
    }
}

pub(super) fn coalescing(state: &CoalescingState) -> Statement {
    let slow: Vec<String> = state
        .interfaces
        .iter()
        .filter(|(_, one)| one.is_slow)
        .map(|(name, one)| match one.adaptive {
            true => format!("{name} (adaptive)"),
            false => format!("{name} (up to {} µs)", one.receive_us.max(one.transmit_us)),
        })
        .collect();
    if slow.is_empty() {
        Statement::new("Interrupt coalescing: off.", "Arrival time stamps are not delayed.")
    } else {
        Statement::new(format!("Interrupt coalescing: on for {}.", list(&slow)), LATE)
    }
}

pub(super) fn interrupts(interfaces: &Interfaces<InterruptState>) -> Statement {
    let all: Vec<String> =
        interfaces.iter().map(|(name, one)| format!("{name} to processor {}", one.cpus)).collect();
    if all.is_empty() {
        return Statement::new(
            "No active interface has its own interrupts.",
            "Packets of virtual links are processed by the sending processor.",
        );
    }
    Statement::new(
        format!("Interrupt affinity: {}.", all.join("; ")),
        "Each interrupt preempts the program on the same processor. Use different processors for interrupts and romer: --irq-cpu 0 \
         --cpu 1 does so during a run; the command below does so permanently.",
    )
}

pub(super) fn reverse_path(strict: Option<&[String]>) -> Statement {
    match strict {
        None => Statement::new("No IPv4, hence no reverse-path filter.", "No effect."),
        Some([]) => {
            Statement::new("Reverse-path filter: not strict.", "Packets of asymmetric paths are received.")
        }
        Some(strict) => Statement::new(
            format!("Strict reverse-path filter on {}.", list(strict)),
            "Packets that arrive by another interface than the route back are dropped silently. With several interfaces or an \
             asymmetric path, they appear as losses.",
        ),
    }
}

pub(super) fn path_mtu(ip_no_pmtu_disc: Option<u32>, min_pmtu: Option<u32>) -> Statement {
    match (ip_no_pmtu_disc, min_pmtu) {
        (None, _) => Statement::new("No IPv4.", "IPv6 path MTU discovery is always on."),
        (Some(0), _) => Statement::new(
            "IPv4 path MTU discovery: on.",
            "Packets that exceed the path MTU are reported with the MTU, not as losses.",
        ),
        (Some(setting), Some(octets)) => Statement::new(
            format!(
                "IPv4 path MTU discovery: off; after an ICMP packet-too-big message, packets are limited to {octets} bytes \
                 (net.ipv4.ip_no_pmtu_disc is {setting})."
            ),
            "Longer probes are then not sent, although the path may support them.",
        ),
        (Some(setting), None) => Statement::new(
            format!(
                "IPv4 path MTU discovery: off, ICMP packet-too-big ignored (net.ipv4.ip_no_pmtu_disc is {setting})."
            ),
            "Probes and replies that exceed the path MTU appear as losses.",
        ),
    }
}

/// With the number of entries and its limit.
pub(super) fn conntrack(entries: Option<(u64, u64)>, is_good: bool) -> Statement {
    match entries {
        None => Statement::new("Connection tracking: off.", "No effect on probes."),
        Some((0, most)) if is_good => Statement::new(
            format!("Connection tracking: no entries (at most {most})."),
            "No packet filter tracks flows here.",
        ),
        Some((count, most)) => {
            let consequence = if is_good {
                "The lookup costs well below 1 µs per packet."
            } else {
                "When the table is full, packets of new flows are dropped, which appears as loss."
            };
            Statement::new(format!("Connection tracking: {count} of at most {most} entries."), consequence)
        }
    }
}

/// Names of the features for whole packets.
const ACCESS: [&str; 6] = ["packet sockets", "AF_XDP sockets", "bpf()", "BTF", "nftables", "tun"];

/// With the presence of each of [`ACCESS`].
pub(super) fn access(presences: [FeaturePresence; 6]) -> Statement {
    let with = |presence: FeaturePresence| -> Vec<&str> {
        let pairs = ACCESS.iter().zip(presences);
        pairs.filter(|(_, one)| *one == presence).map(|(name, _)| *name).collect()
    };
    let usable = with(FeaturePresence::Usable);
    let forbidden = with(FeaturePresence::Forbidden);
    let absent = with(FeaturePresence::Absent);
    let mut parts = vec![match usable.len() {
        0 => "Usable: none.".to_owned(),
        _ => format!("Usable: {}.", list(&usable)),
    }];
    if !forbidden.is_empty() {
        parts.push(format!("Not permitted for this user: {}.", list(&forbidden)));
    }
    if !absent.is_empty() {
        parts.push(format!("Not in this kernel: {}.", list(&absent)));
    }
    let [packet_socket, ..] = presences;
    let consequence = match (packet_socket, forbidden.is_empty(), absent.is_empty()) {
        (FeaturePresence::Absent, ..) => {
            "romer emulate cannot capture packets; romer measure does not need it."
        }
        (_, true, true) => {
            "romer emulate and the lab have all features; romer emulate uses AF_XDP if the ports support it."
        }
        (_, true, false) => {
            "Without AF_XDP romer emulate uses packet sockets (200,000 packets/s); the router of the lab needs nftables."
        }
        (_, false, _) => {
            "romer emulate needs root for interfaces of this host; in a rootless lab packet sockets and tun work, bpf() does not."
        }
    };
    Statement::new(parts.join(" "), consequence)
}

pub(super) fn xdp(modes: &XdpModes) -> Statement {
    if modes.interfaces.is_empty() {
        return Statement::new("No interface is up, except loopback.", MODES);
    }
    let parts = [
        ("Native and generic", Some(true)),
        ("Generic only", Some(false)),
        ("Generic, native unknown", None),
    ];
    let sentences = parts.into_iter().filter_map(|(mode, native)| {
        let all = modes.interfaces.iter().filter(|(_, one)| one.native == native);
        let names: Vec<String> = all.map(|(name, one)| xdp_named(name, one)).collect();
        (!names.is_empty()).then(|| format!("{mode}: {}.", shortened(&names)))
    });
    Statement::new(sentences.collect::<Vec<_>>().join(" "), MODES)
}

fn xdp_named(name: &str, xdp: &InterfaceXdp) -> String {
    match &xdp.driver {
        Some(driver) if xdp.zero_copy == Some(true) => format!("{name} ({driver}, zero-copy)"),
        driver => named(name, driver.as_deref()),
    }
}

pub(super) fn in_packet(tcx: Option<bool>, error: Option<&str>) -> Statement {
    let state = match (tcx, error) {
        (Some(true), _) => "available".to_owned(),
        (None, _) => "unknown without root".to_owned(),
        (Some(false), Some(error)) => format!("missing ({error})"),
        (Some(false), None) => "missing".to_owned(),
    };
    Statement::new(
        format!("Programs that write time stamps into packets (tcx): {state}."),
        "romer measure --stamp in-packet and romer respond --in-packet need them.",
    )
}

pub(super) fn veth(presence: FeaturePresence) -> Statement {
    let state = match presence {
        FeaturePresence::Absent => "missing",
        FeaturePresence::Unknown => "unknown",
        FeaturePresence::Usable | FeaturePresence::Forbidden => "available",
    };
    Statement::new(format!("Virtual links (veth): {state}."), "The lab needs them.")
}

//! What stands between a socket and the wire here: packet access, filters, the interrupts of the interfaces.

use std::path::Path;

use romer_bpf::stamper::{PacketStamper, StampingEnd};
use romer_host::HostError;
use romer_host::ethtool::Coalescing;
use romer_host::features::{Feature, Presence};
use romer_host::host_info::PacketTooBigHandling;
use romer_host::interrupts::Interrupts;
use romer_host::link::Network;
use romer_record::document::DoctorFinding;
use romer_units::Duration;
use serde_json::{Map, Value};

use crate::finding::{WithValue, good, limited, list, missing, unknown};
use crate::links::Interface;
use crate::rights::{Rights, quoted};

const COALESCING: &str = "interrupt_coalescing";
const INTERRUPTS: &str = "interrupts";
const REVERSE_PATH: &str = "rp_filter";
const TOO_LONG: &str = "path_mtu";
const CONNTRACK: &str = "conntrack";
const PACKETS: &str = "packet_access";
const IN_PACKET: &str = "in_packet_stamps";
const VETH: &str = "veth";
/// Packets that gather for longer than this before the processor is told show in the kernel's stamps.
const LONG_WAIT_US: u32 = 10;

/// How the drivers of these interfaces coalesce; those that do not say are left out.
pub(crate) fn read_coalescing(interfaces: &[Interface]) -> Result<Vec<(String, Coalescing)>, HostError> {
    let network = Network::open(None)?;
    let one = |interface: &Interface| {
        let name = interface.name();
        Some((name.to_owned(), network.coalescing(name).ok().flatten()?))
    };
    Ok(interfaces.iter().filter_map(one).collect())
}

/// What coalescing means.
pub(crate) fn coalescing(
    found: Result<Vec<(String, Coalescing)>, HostError>,
    rights: &Rights,
) -> DoctorFinding {
    const LATE: &str =
        "Kernel arrival time stamps are late by up to that time, and several packets get the same one.";
    let found = match found {
        Ok(found) => found,
        Err(error) => return unknown(COALESCING, &error, LATE),
    };
    let slow: Vec<&(String, Coalescing)> = found
        .iter()
        .filter(|(_, one)| one.adaptive || one.receive_us > LONG_WAIT_US || one.transmit_us > LONG_WAIT_US)
        .collect();
    let finding = if slow.is_empty() {
        good(COALESCING, "Interrupt coalescing: off.", "Arrival time stamps are not delayed.")
    } else {
        let text = |(name, one): &&(String, Coalescing)| match one.adaptive {
            true => format!("{name} (adaptive)"),
            false => format!("{name} (up to {} µs)", one.receive_us.max(one.transmit_us)),
        };
        let names: Vec<String> = slow.iter().map(text).collect();
        let commands: Vec<String> = slow
            .iter()
            .map(|(name, _)| {
                let name = quoted(name);
                rights.command(&format!("ethtool -C {name} adaptive-rx off rx-usecs 0"))
            })
            .collect();
        limited(
            COALESCING,
            format!("Interrupt coalescing: on for {}.", list(&names)),
            LATE,
            commands.join(" && "),
        )
    };
    let values: Map<String, Value> = found
        .iter()
        .map(|(name, one)| {
            let fields = serde_json::json!({
                "receive_us": one.receive_us, "transmit_us": one.transmit_us, "adaptive": one.adaptive,
            });
            (name.clone(), fields)
        })
        .collect();
    finding.value("interfaces", Value::Object(values))
}

/// The interrupts of these interfaces; those that have none of their own are left out.
pub(crate) fn read_interrupts(interfaces: &[Interface]) -> Vec<Interrupts> {
    romer_host::interrupts::interrupts_of(interfaces.iter().map(Interface::name))
}

/// Where interrupts go, and what that means.
pub(crate) fn interrupts(all: &[Interrupts], rights: &Rights) -> DoctorFinding {
    let Some(first) = all.first() else {
        return good(
            INTERRUPTS,
            "No active interface has its own interrupts.",
            "Packets of virtual links are processed by the sending processor.",
        )
        .value("interfaces", Value::Object(Map::new()));
    };
    let cpus = |one: &Interrupts| one.cpus.iter().cloned().collect::<Vec<_>>().join(",");
    let texts: Vec<String> =
        all.iter().map(|one| format!("{} to processor {}", one.interface, cpus(one))).collect();
    let numbers: Vec<String> = first.numbers.iter().map(ToString::to_string).collect();
    let command = rights.write("/proc/irq/$i/smp_affinity_list", "0");
    let values = all
        .iter()
        .map(|one| (one.interface.clone(), serde_json::json!({ "numbers": one.numbers, "cpus": cpus(one) })));
    limited(
        INTERRUPTS,
        format!("Interrupt affinity: {}.", texts.join("; ")),
        "Each interrupt preempts the program on the same processor. Use different processors for interrupts and romer: \
         --irq-cpu 0 --cpu 1 does so during a run; the command below does so permanently.",
        format!("for i in {}; do {command}; done", numbers.join(" ")),
    )
    .value("interfaces", Value::Object(values.collect()))
}

/// Where the reverse-path filter is strict; `None` where there is no IPv4.
pub(crate) fn read_reverse_path() -> Option<Vec<String>> {
    let folder = Path::new("/proc/sys/net/ipv4/conf").read_dir().ok()?;
    let strict = |entry: std::fs::DirEntry| {
        let text = std::fs::read_to_string(entry.path().join("rp_filter")).ok()?;
        // What is set for `default` holds of interfaces to come.
        let name = entry.file_name().into_string().ok()?;
        (text.trim() == "1" && name != "default").then_some(name)
    };
    let mut names: Vec<String> = folder.filter_map(|entry| strict(entry.ok()?)).collect();
    names.sort_unstable();
    Some(names)
}

/// What the reverse-path filters mean.
pub(crate) fn reverse_path(strict: Option<Vec<String>>, rights: &Rights) -> DoctorFinding {
    let finding = match &strict {
        Some(strict) if !strict.is_empty() => limited(
            REVERSE_PATH,
            format!("Strict reverse-path filter on {}.", list(strict)),
            "Packets that arrive by another interface than the route back are dropped silently. With several interfaces or \
             an asymmetric path, they appear as losses.",
            rights.command("sysctl -w net.ipv4.conf.all.rp_filter=2"),
        ),
        Some(_) => good(
            REVERSE_PATH,
            "Reverse-path filter: not strict.",
            "Packets of asymmetric paths are received.",
        ),
        None => good(REVERSE_PATH, "No IPv4, hence no reverse-path filter.", "No effect."),
    };
    finding.value("strict", strict.unwrap_or_default())
}

/// Path MTU discovery; `None` without IPv4.
pub(crate) fn too_long(heard: Option<PacketTooBigHandling>, rights: &Rights) -> DoctorFinding {
    let fix = || rights.command("sysctl -w net.ipv4.ip_no_pmtu_disc=0");
    let (finding, setting) = match heard {
        Some(PacketTooBigHandling::Heeded) => (
            good(
                TOO_LONG,
                "IPv4 path MTU discovery: on.",
                "Packets that exceed the path MTU are reported with the MTU, not as losses.",
            ),
            Some(0),
        ),
        Some(PacketTooBigHandling::Least(octets)) => (
            limited(
                TOO_LONG,
                format!(
                    "IPv4 path MTU discovery: off; after an ICMP packet-too-big message, packets are limited to {octets} bytes \
                     (net.ipv4.ip_no_pmtu_disc is 1)."
                ),
                "Longer probes are then not sent, although the path may support them.",
                fix(),
            ),
            Some(1),
        ),
        Some(PacketTooBigHandling::Unheard(setting)) => (
            limited(
                TOO_LONG,
                format!(
                    "IPv4 path MTU discovery: off, ICMP packet-too-big ignored (net.ipv4.ip_no_pmtu_disc is {setting})."
                ),
                "Probes and replies that exceed the path MTU appear as losses.",
                fix(),
            ),
            Some(setting),
        ),
        None => (good(TOO_LONG, "No IPv4.", "IPv6 path MTU discovery is always on."), None),
    };
    finding.value("ip_no_pmtu_disc", setting)
}

/// Connections that are tracked in this namespace, and the most that can be; `None` where nothing tracks any.
pub(crate) fn read_conntrack() -> Option<(u64, u64)> {
    let read = |name: &str| {
        let text = std::fs::read_to_string(Path::new("/proc/sys/net/netfilter").join(name)).ok()?;
        text.trim().parse().ok()
    };
    Some((read("nf_conntrack_count")?, read("nf_conntrack_max")?))
}

/// What connection tracking means.
pub(crate) fn conntrack(read: Option<(u64, u64)>, rights: &Rights) -> DoctorFinding {
    let finding = match read {
        None => good(CONNTRACK, "Connection tracking: off.", "No effect on probes."),
        Some((count, most)) if most > 0 && count.saturating_mul(2) >= most => limited(
            CONNTRACK,
            format!("Connection tracking: {count} of at most {most} entries."),
            "When the table is full, packets of new flows are dropped, which appears as loss.",
            rights.command(&format!("sysctl -w net.netfilter.nf_conntrack_max={}", most.saturating_mul(4))),
        ),
        Some((0, most)) => good(
            CONNTRACK,
            format!("Connection tracking: no entries (at most {most})."),
            "No packet filter tracks flows here.",
        ),
        Some((count, most)) => good(
            CONNTRACK,
            format!("Connection tracking: {count} of at most {most} entries."),
            "The lookup costs well below 1 µs per packet.",
        ),
    };
    finding.value("count", read.map(|(count, _)| count)).value("most", read.map(|(_, most)| most))
}

/// What romer emulate, captures and the lab are made of.
const ACCESS: [(Feature, &str, &str); 6] = [
    (Feature::PacketSocket, "packet_socket", "packet sockets"),
    (Feature::XdpSocket, "xdp_socket", "AF_XDP sockets"),
    (Feature::Bpf, "bpf", "bpf()"),
    (Feature::Btf, "btf", "BTF"),
    (Feature::Nftables, "nftables", "nftables"),
    (Feature::Tun, "tun", "tun"),
];
/// What was asked for, and what came of it.
pub(crate) type Looked = Vec<(&'static str, &'static str, Presence)>;

/// Asks for whole-packet access and what goes with it.
pub(crate) fn look_at_access() -> Looked {
    ACCESS.iter().map(|(feature, name, words)| (*name, *words, feature.probe())).collect()
}

fn with(looked: &Looked, presence: Presence) -> Vec<&'static str> {
    looked.iter().filter(|(.., found)| *found == presence).map(|(_, words, _)| *words).collect()
}

fn with_presence(finding: DoctorFinding, looked: &Looked) -> DoctorFinding {
    looked.iter().fold(finding, |finding, (name, _, presence)| finding.value(name, word(*presence)))
}

const fn word(presence: Presence) -> &'static str {
    match presence {
        Presence::Usable => "usable",
        Presence::Forbidden => "forbidden",
        Presence::Absent => "absent",
        Presence::Unknown => "unknown",
    }
}

/// What access to whole packets means.
pub(crate) fn access(looked: &Looked, rights: &Rights) -> DoctorFinding {
    let (usable, forbidden) = (with(looked, Presence::Usable), with(looked, Presence::Forbidden));
    let absent = with(looked, Presence::Absent);
    let mut found = match usable.len() {
        0 => "Usable: none.".to_owned(),
        _ => format!("Usable: {}.", list(&usable)),
    };
    if !forbidden.is_empty() {
        found.push_str(&format!(" Not permitted for this user: {}.", list(&forbidden)));
    }
    if !absent.is_empty() {
        found.push_str(&format!(" Not in this kernel: {}.", list(&absent)));
    }
    let packets = looked.iter().find(|(name, ..)| *name == "packet_socket").map(|(.., presence)| *presence);
    let finding = match packets {
        Some(Presence::Absent) => missing(
            PACKETS,
            found,
            "romer emulate cannot capture packets; romer measure does not need it.",
            rights.command("modprobe af_packet"),
        ),
        _ if forbidden.is_empty() && absent.is_empty() => good(
            PACKETS,
            found,
            "romer emulate and the lab have all features; romer emulate uses AF_XDP if the ports support it.",
        ),
        _ if forbidden.is_empty() => limited(
            PACKETS,
            found,
            "Without AF_XDP romer emulate uses packet sockets (200,000 packets/s); the router of the lab needs nftables.",
            "Use a kernel with these features, such as a distribution kernel.",
        ),
        _ => limited(
            PACKETS,
            found,
            "romer emulate needs root for interfaces of this host; in a rootless lab packet sockets and tun work, bpf() \
             does not.",
            rights.as_root("romer doctor"),
        ),
    };
    with_presence(finding, looked)
}

/// Attaches the programs that write time stamps into packets to loopback, where they find no packet of theirs, and takes them away.
pub(crate) fn try_stamping() -> Result<(), HostError> {
    PacketStamper::attach(StampingEnd::Initiator, &[], Duration::ZERO, &["lo".into()]).map(drop)
}

/// Whether programs of the kernel can write time stamps into packets.
pub(crate) fn in_packet(attempt: &Result<(), HostError>) -> DoctorFinding {
    const USE: &str = "romer measure --stamp in-packet and romer respond --in-packet need them.";
    let (finding, available) = match attempt {
        Ok(()) => (
            good(IN_PACKET, "Programs that write time stamps into packets (tcx): available.", USE),
            Some(true),
        ),
        Err(error) if error.is_permission() => (
            good(IN_PACKET, "Programs that write time stamps into packets (tcx): unknown without root.", USE),
            None,
        ),
        Err(error) => {
            let found = format!("Programs that write time stamps into packets (tcx): missing ({error}).");
            (limited(IN_PACKET, found, USE, "Use Linux 6.6 or later, or --stamp kernel."), Some(false))
        }
    };
    finding.value("tcx", Value::from(available))
}

/// Whether the kernel has virtual links.
pub(crate) fn veth(found: Presence, rights: &Rights) -> DoctorFinding {
    const LAB: &str = "The lab needs them.";
    match found {
        Presence::Absent => {
            missing(VETH, "Virtual links (veth): missing.", LAB, rights.command("modprobe veth"))
        }
        Presence::Unknown => good(VETH, "Virtual links (veth): unknown.", LAB),
        Presence::Usable | Presence::Forbidden => good(VETH, "Virtual links (veth): available.", LAB),
    }
    .value("veth", word(found))
}

#[cfg(test)]
#[path = "network_tests.rs"]
mod tests;

//! What stands between a socket and the wire here: packet access, filters, the interrupts of the interfaces.

use std::path::Path;

use romer_bpf::stamper::{PacketStamper, StampingEnd};
use romer_host::HostError;
use romer_host::ethtool::Coalescing;
use romer_host::features::{Feature, Presence};
use romer_host::host_info::PacketTooBigHandling;
use romer_host::interrupts::Interrupts;
use romer_host::link::Network;
use romer_record::doctor::{
    CoalescingState, DoctorCheck, DoctorFinding, DoctorFix, Facts, FeaturePresence, InterfaceCoalescing,
    InterruptState,
};
use romer_units::Duration;

use crate::finding::{good, limited, missing, unknown};
use crate::links::Interface;
use crate::rights::Rights;
use crate::shell;

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
    let found = match found {
        Ok(found) => found,
        Err(error) => return unknown(DoctorCheck::InterruptCoalescing, &error),
    };
    let is_slow =
        |one: &Coalescing| one.adaptive || one.receive_us > LONG_WAIT_US || one.transmit_us > LONG_WAIT_US;
    let slow = found.iter().filter(|(_, one)| is_slow(one));
    let commands: Vec<String> = slow
        .map(|(name, _)| rights.line(&["ethtool", "-C", name, "adaptive-rx", "off", "rx-usecs", "0"]))
        .collect();
    let state = |one: &Coalescing| InterfaceCoalescing {
        receive_us: one.receive_us,
        transmit_us: one.transmit_us,
        adaptive: one.adaptive,
        is_slow: is_slow(one),
    };
    let interfaces = found.iter().map(|(name, one)| (name.clone(), state(one))).collect();
    let check = DoctorCheck::InterruptCoalescing(Facts::Known(CoalescingState { interfaces }));
    if commands.is_empty() {
        good(check)
    } else {
        limited(check, DoctorFix::Command { command: shell::all(&commands) })
    }
}

/// The interrupts of these interfaces; those that have none of their own are left out.
pub(crate) fn read_interrupts(interfaces: &[Interface]) -> Vec<Interrupts> {
    romer_host::interrupts::interrupts_of(interfaces.iter().map(Interface::name))
}

/// Where interrupts go, and what that means.
pub(crate) fn interrupts(all: &[Interrupts], rights: &Rights) -> DoctorFinding {
    let state = |one: &Interrupts| InterruptState {
        numbers: one.numbers.clone(),
        cpus: one.cpus.iter().cloned().collect::<Vec<_>>().join(","),
    };
    let interfaces = all.iter().map(|one| (one.interface.clone(), state(one))).collect();
    let check = DoctorCheck::Interrupts { interfaces };
    let Some(first) = all.first() else { return good(check) };
    let files: Vec<String> =
        first.numbers.iter().map(|number| format!("/proc/irq/{number}/smp_affinity_list")).collect();
    limited(check, rights.write("0", &files))
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
    let is_strict = strict.as_ref().is_some_and(|names| !names.is_empty());
    let check = DoctorCheck::RpFilter { strict };
    if is_strict {
        limited(check, rights.command(&["sysctl", "-w", "net.ipv4.conf.all.rp_filter=2"]))
    } else {
        good(check)
    }
}

/// Path MTU discovery; `None` without IPv4.
pub(crate) fn too_long(heard: Option<PacketTooBigHandling>, rights: &Rights) -> DoctorFinding {
    let check = |ip_no_pmtu_disc, min_pmtu| DoctorCheck::PathMtu { ip_no_pmtu_disc, min_pmtu };
    let check = match heard {
        None => return good(check(None, None)),
        Some(PacketTooBigHandling::Heeded) => return good(check(Some(0), None)),
        Some(PacketTooBigHandling::Least(octets)) => check(Some(1), Some(octets)),
        Some(PacketTooBigHandling::Unheard(setting)) => check(Some(setting), None),
    };
    limited(check, rights.command(&["sysctl", "-w", "net.ipv4.ip_no_pmtu_disc=0"]))
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
    let check =
        DoctorCheck::Conntrack { count: read.map(|(count, _)| count), max: read.map(|(_, most)| most) };
    match read {
        Some((count, most)) if most > 0 && count.saturating_mul(2) >= most => {
            let setting = format!("net.netfilter.nf_conntrack_max={}", most.saturating_mul(4));
            limited(check, rights.command(&["sysctl", "-w", &setting]))
        }
        _ => good(check),
    }
}

/// What romer emulate, captures and the lab are made of.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Access {
    packet_socket: Presence,
    xdp_socket: Presence,
    bpf: Presence,
    btf: Presence,
    nftables: Presence,
    tun: Presence,
}

/// Asks for whole-packet access and what goes with it.
pub(crate) fn look_at_access() -> Access {
    Access {
        packet_socket: Feature::PacketSocket.probe(),
        xdp_socket: Feature::XdpSocket.probe(),
        bpf: Feature::Bpf.probe(),
        btf: Feature::Btf.probe(),
        nftables: Feature::Nftables.probe(),
        tun: Feature::Tun.probe(),
    }
}

const fn presence(presence: Presence) -> FeaturePresence {
    match presence {
        Presence::Usable => FeaturePresence::Usable,
        Presence::Forbidden => FeaturePresence::Forbidden,
        Presence::Absent => FeaturePresence::Absent,
        Presence::Unknown => FeaturePresence::Unknown,
    }
}

/// What access to whole packets means.
pub(crate) fn access(found: Access, rights: &Rights) -> DoctorFinding {
    let Access { packet_socket, xdp_socket, bpf, btf, nftables, tun } = found;
    let check = DoctorCheck::PacketAccess {
        packet_socket: presence(packet_socket),
        xdp_socket: presence(xdp_socket),
        bpf: presence(bpf),
        btf: presence(btf),
        nftables: presence(nftables),
        tun: presence(tun),
    };
    let all = [packet_socket, xdp_socket, bpf, btf, nftables, tun];
    if packet_socket == Presence::Absent {
        missing(check, rights.command(&["modprobe", "af_packet"]))
    } else if all.contains(&Presence::Forbidden) {
        limited(check, rights.as_root(&["romer", "doctor"]))
    } else if all.contains(&Presence::Absent) {
        limited(check, DoctorFix::UseCompleteKernel)
    } else {
        good(check)
    }
}

/// Attaches the programs that write time stamps into packets to loopback, where they find no packet of theirs, and takes them away.
pub(crate) fn try_stamping() -> Result<(), HostError> {
    PacketStamper::attach(StampingEnd::Initiator, &[], Duration::ZERO, &["lo".into()]).map(drop)
}

/// Whether programs of the kernel can write time stamps into packets.
pub(crate) fn in_packet(attempt: &Result<(), HostError>) -> DoctorFinding {
    match attempt {
        Ok(()) => good(DoctorCheck::InPacketStamps { tcx: Some(true), error: None }),
        Err(error) if error.is_permission() => good(DoctorCheck::InPacketStamps { tcx: None, error: None }),
        Err(error) => limited(
            DoctorCheck::InPacketStamps { tcx: Some(false), error: Some(error.to_string()) },
            DoctorFix::UseKernelWithTcx,
        ),
    }
}

/// Whether the kernel has virtual links.
pub(crate) fn veth(found: Presence, rights: &Rights) -> DoctorFinding {
    let check = DoctorCheck::Veth { presence: presence(found) };
    match found {
        Presence::Absent => missing(check, rights.command(&["modprobe", "veth"])),
        Presence::Unknown | Presence::Usable | Presence::Forbidden => good(check),
    }
}

#[cfg(test)]
#[path = "network_tests.rs"]
mod tests;

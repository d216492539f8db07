//! What sockets are given here: the well-known port, and room to receive.

use std::collections::HashSet;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::path::Path;

use romer_host::HostError;
use romer_host::host_info::Capability;
use romer_host::socket::{SocketOptions, StampingSocket};
use romer_record::doctor::{BufferSizes, DoctorCheck, DoctorFinding, DoctorFix, Facts, PortHolder, PortUse};

use crate::finding::{good, limited, missing, unknown};
use crate::rights::Rights;
use crate::shell;

/// The port of STAMP and TWAMP-Light (RFC 8762, section 4.1).
const STAMP_PORT: u16 = 862;
/// The port of romer's control channel.
const CONTROL_PORT: u16 = 8_862;

/// The state of the port.
#[derive(Clone, Debug)]
pub(crate) struct PortState {
    ipv4: PortUse,
    ipv6: PortUse,
    /// Whoever has it, where we may look.
    holder: Option<PortHolder>,
}

/// Binds the port in both families, and gives it back at once.
pub(crate) fn try_port() -> PortState {
    let (ipv4, ipv6) = (bind(Ipv4Addr::UNSPECIFIED.into()), bind(Ipv6Addr::UNSPECIFIED.into()));
    let taken = ipv4 == PortUse::Taken || ipv6 == PortUse::Taken;
    PortState { ipv4, ipv6, holder: if taken { holder_of("udp", STAMP_PORT) } else { None } }
}

fn bind(address: IpAddr) -> PortUse {
    let options = SocketOptions { kernel_stamps: false, ..SocketOptions::default() };
    match StampingSocket::bind(SocketAddr::new(address, STAMP_PORT), &options) {
        Ok(_) => PortUse::Free,
        Err(error) if error.is_permission() => PortUse::Forbidden,
        Err(HostError::System { source, .. }) if source.kind() == std::io::ErrorKind::AddrInUse => {
            PortUse::Taken
        }
        Err(_) => PortUse::Absent,
    }
}

/// The process that has a socket of `protocol` (udp, tcp) at `port`.
fn holder_of(protocol: &str, port: u16) -> Option<PortHolder> {
    let tables = ["", "6"]
        .map(|six| std::fs::read_to_string(format!("/proc/net/{protocol}{six}")).unwrap_or_default());
    let sockets: HashSet<String> = tables.iter().flat_map(|table| sockets_at(table, port)).collect();
    let processes = Path::new("/proc").read_dir().ok()?;
    let mut numbers = processes.filter_map(|entry| entry.ok()?.file_name().to_str()?.parse::<u32>().ok());
    let process = numbers.find(|process| has_one_of(*process, &sockets))?;
    let name = std::fs::read_to_string(format!("/proc/{process}/comm")).ok()?;
    Some(PortHolder { process, program: name.trim_end().to_owned() })
}

/// The sockets of the kernel's table at `port`, as descriptors show them.
fn sockets_at(table: &str, port: u16) -> Vec<String> {
    let wanted = format!(":{port:04X}");
    table
        .lines()
        .skip(1)
        .map(|line| line.split_whitespace().collect::<Vec<_>>())
        .filter(|fields| fields.get(1).is_some_and(|local| local.ends_with(&wanted)))
        .filter_map(|fields| Some(format!("socket:[{}]", fields.get(9)?)))
        .collect()
}

fn has_one_of(process: u32, sockets: &HashSet<String>) -> bool {
    let Ok(descriptors) = Path::new(&format!("/proc/{process}/fd")).read_dir() else { return false };
    descriptors
        .filter_map(|entry| std::fs::read_link(entry.ok()?.path()).ok())
        .any(|target| target.to_str().is_some_and(|target| sockets.contains(target)))
}

/// What the port's state means.
pub(crate) fn port(state: &PortState, rights: &Rights) -> DoctorFinding {
    let both = [state.ipv4, state.ipv6];
    let check = DoctorCheck::StampPort { ipv4: state.ipv4, ipv6: state.ipv6, holder: state.holder.clone() };
    if both.contains(&PortUse::Taken) {
        taken(check, state.holder.as_ref().is_some_and(is_romer), &["--listen", "0.0.0.0:8620"])
    } else if both.contains(&PortUse::Forbidden) {
        missing(check, rights.grant(&[Capability::NetBindService]))
    } else if both.contains(&PortUse::Free) {
        good(check)
    } else {
        missing(check, rights.command(&["ip", "link", "set", "lo", "up"]))
    }
}

fn is_romer(holder: &PortHolder) -> bool {
    holder.program == "romer"
}

/// A finding of a port that a process uses, which may be romer; `other` are the options for another port.
fn taken(check: DoctorCheck, by_romer: bool, other: &[&str]) -> DoctorFinding {
    if by_romer { good(check) } else { limited(check, respond(other)) }
}

/// The command that starts a responder with these options.
fn respond(options: &[&str]) -> DoctorFix {
    DoctorFix::Command { command: shell::line(&[["romer", "respond"].as_slice(), options].concat()) }
}

/// Binds the control channel's port over IPv4, and gives it back at once.
pub(crate) fn try_control_port() -> PortUse {
    match std::net::TcpListener::bind((Ipv4Addr::UNSPECIFIED, CONTROL_PORT)) {
        Ok(_) => PortUse::Free,
        Err(error) if error.kind() == std::io::ErrorKind::AddrInUse => PortUse::Taken,
        Err(error) if error.kind() == std::io::ErrorKind::PermissionDenied => PortUse::Forbidden,
        Err(_) => PortUse::Absent,
    }
}

/// The process that has the control channel's port.
pub(crate) fn control_port_holder() -> Option<PortHolder> {
    holder_of("tcp", CONTROL_PORT)
}

/// What the control channel's port means, and who has it where that is known.
pub(crate) fn control_port(ipv4: PortUse, holder: Option<PortHolder>) -> DoctorFinding {
    const OTHER: [&str; 2] = ["--control", "0.0.0.0:8863"];
    let by_romer = holder.as_ref().is_some_and(is_romer);
    let check = DoctorCheck::ControlPort { ipv4, holder };
    match ipv4 {
        PortUse::Free => good(check),
        PortUse::Taken => taken(check, by_romer, &OTHER),
        PortUse::Forbidden | PortUse::Absent => missing(check, respond(&OTHER)),
    }
}

/// The receive buffer that a socket of ours was given.
pub(crate) fn receive_buffer() -> Result<u32, HostError> {
    let options = SocketOptions::default();
    let address = |ip: IpAddr| SocketAddr::new(ip, 0);
    StampingSocket::bind(address(Ipv4Addr::LOCALHOST.into()), &options)
        .or_else(|error| {
            StampingSocket::bind(address(Ipv6Addr::LOCALHOST.into()), &options).map_err(|_| error)
        })?
        .receive_buffer()
}

/// What the receive buffer means.
pub(crate) fn buffer(given: Result<u32, HostError>, rights: &Rights) -> DoctorFinding {
    let requested_octets = SocketOptions::default().receive_buffer;
    let granted_octets = match given {
        // The kernel doubles what it is asked for, to pay for its own book-keeping.
        Ok(given) => given / 2,
        Err(error) => return unknown(DoctorCheck::ReceiveBuffer, &error),
    };
    let check = DoctorCheck::ReceiveBuffer(Facts::Known(BufferSizes { requested_octets, granted_octets }));
    if granted_octets >= requested_octets {
        good(check)
    } else {
        let setting = format!("net.core.rmem_max={requested_octets}");
        limited(check, rights.command(&["sysctl", "-w", &setting]))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::finding::command_of;
    use romer_record::doctor::CheckVerdict;

    fn holder(program: &str) -> PortHolder {
        PortHolder { process: 77, program: program.into() }
    }

    #[test]
    fn a_port_is_free_forbidden_or_somebodys() {
        let state = |ipv4, ipv6, program: Option<&str>| PortState { ipv4, ipv6, holder: program.map(holder) };
        let anybody = Rights::of_anybody();
        for (state, verdict) in [
            (state(PortUse::Free, PortUse::Free, None), CheckVerdict::Good),
            (state(PortUse::Free, PortUse::Absent, None), CheckVerdict::Good),
            (state(PortUse::Absent, PortUse::Free, None), CheckVerdict::Good),
            (state(PortUse::Absent, PortUse::Absent, None), CheckVerdict::Missing),
            (state(PortUse::Forbidden, PortUse::Forbidden, None), CheckVerdict::Missing),
            (state(PortUse::Taken, PortUse::Free, None), CheckVerdict::Limited),
            (state(PortUse::Taken, PortUse::Taken, Some("ntpd")), CheckVerdict::Limited),
            (state(PortUse::Taken, PortUse::Taken, Some("romer")), CheckVerdict::Good),
        ] {
            let finding = port(&state, &anybody);
            assert_eq!(finding.verdict, verdict, "{finding:?}");
            assert_eq!(finding.fix.is_some(), verdict != CheckVerdict::Good, "{finding:?}");
        }
    }

    #[test]
    fn the_control_port_has_a_fix_whenever_it_cannot_be_had() {
        assert_eq!(control_port(PortUse::Free, None).fix, None);
        assert_eq!(control_port(PortUse::Taken, Some(holder("romer"))).fix, None);
        let other = control_port(PortUse::Taken, Some(holder("nginx")));
        assert_eq!((other.verdict, command_of(&other).contains("--control")), (CheckVerdict::Limited, true));
        for ipv4 in [PortUse::Taken, PortUse::Forbidden, PortUse::Absent] {
            assert_eq!(command_of(&control_port(ipv4, None)), "romer respond --control 0.0.0.0:8863");
        }
    }

    #[test]
    fn whoever_has_a_port_is_found() {
        let socket = std::net::UdpSocket::bind("127.0.0.1:0").unwrap();
        let process = holder_of("udp", socket.local_addr().unwrap().port()).unwrap().process;
        let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        assert_eq!(holder_of("tcp", listener.local_addr().unwrap().port()).unwrap().process, process);
        assert_eq!(process, std::process::id());
        assert_eq!(
            sockets_at("head\n 1: 00000000:035E 0:0 07 0:0 0:0 0 0 0 4242 2\n", 862),
            ["socket:[4242]"]
        );
        assert!(sockets_at("head\n 1: 00000000:135E 0:0 07 0:0 0:0 0 0 0 4242 2\n", 862).is_empty());
    }

    #[test]
    fn the_receive_buffer_is_compared_with_what_was_asked_for() {
        let requested_octets = SocketOptions::default().receive_buffer;
        let anybody = Rights::of_anybody();
        assert_eq!(buffer(Ok(2 * requested_octets), &anybody).verdict, CheckVerdict::Good);
        let small = buffer(Ok(425_984), &anybody);
        let sizes = BufferSizes { requested_octets, granted_octets: 212_992 };
        assert_eq!(small.check, DoctorCheck::ReceiveBuffer(Facts::Known(sizes)));
        assert_eq!(command_of(&small), format!("sudo sysctl -w net.core.rmem_max={requested_octets}"));
        assert!(receive_buffer().unwrap() > 0);
    }
}

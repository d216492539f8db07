//! What sockets are given here: the well-known port, and room to receive.

use std::collections::HashSet;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::path::Path;

use romer_host::HostError;
use romer_host::host_info::Capability;
use romer_host::socket::{SocketOptions, StampingSocket};
use romer_record::document::DoctorFinding;

use crate::finding::{WithValue, good, limited, missing, octets, unknown};
use crate::rights::Rights;

const PORT: &str = "port_862";
const BUFFER: &str = "receive_buffer";
/// The port of STAMP and TWAMP-Light (RFC 8762, section 4.1).
const STAMP_PORT: u16 = 862;
/// The port of romer's control channel.
const CONTROL_PORT: u16 = 8_862;

/// What came of binding the port, in one family.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Bound {
    /// It was free; it is free again.
    Free,
    /// Somebody has it.
    Taken,
    /// We may not.
    Forbidden,
    /// The family is switched off, or something else stands in the way.
    Absent,
}

/// The state of the port.
#[derive(Clone, Debug)]
pub(crate) struct PortState {
    ipv4: Bound,
    ipv6: Bound,
    /// Whoever has it: process and name, where we may look.
    holder: Option<(u32, String)>,
}

/// Binds the port in both families, and gives it back at once.
pub(crate) fn try_port() -> PortState {
    let (ipv4, ipv6) = (bind(Ipv4Addr::UNSPECIFIED.into()), bind(Ipv6Addr::UNSPECIFIED.into()));
    let taken = ipv4 == Bound::Taken || ipv6 == Bound::Taken;
    PortState { ipv4, ipv6, holder: if taken { holder_of("udp", STAMP_PORT) } else { None } }
}

fn bind(address: IpAddr) -> Bound {
    let options = SocketOptions { kernel_stamps: false, ..SocketOptions::default() };
    match StampingSocket::bind(SocketAddr::new(address, STAMP_PORT), &options) {
        Ok(_) => Bound::Free,
        Err(error) if error.is_permission() => Bound::Forbidden,
        Err(HostError::System { source, .. }) if source.kind() == std::io::ErrorKind::AddrInUse => {
            Bound::Taken
        }
        Err(_) => Bound::Absent,
    }
}

/// The process that has a socket of `protocol` (udp, tcp) at `port`.
fn holder_of(protocol: &str, port: u16) -> Option<(u32, String)> {
    let tables = ["", "6"]
        .map(|six| std::fs::read_to_string(format!("/proc/net/{protocol}{six}")).unwrap_or_default());
    let sockets: HashSet<String> = tables.iter().flat_map(|table| sockets_at(table, port)).collect();
    let processes = Path::new("/proc").read_dir().ok()?;
    let mut numbers = processes.filter_map(|entry| entry.ok()?.file_name().to_str()?.parse::<u32>().ok());
    let process = numbers.find(|process| has_one_of(*process, &sockets))?;
    let name = std::fs::read_to_string(format!("/proc/{process}/comm")).ok()?;
    Some((process, name.trim_end().to_owned()))
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
    let finding = if both.contains(&Bound::Taken) {
        taken(state.holder.as_ref())
    } else if both.contains(&Bound::Forbidden) {
        missing(
            PORT,
            "This user may not bind UDP port 862.",
            "romer respond exits with code 4 without --listen for another port, which senders must then use.",
            rights.grant(&[Capability::NetBindService]),
        )
    } else if both.contains(&Bound::Free) {
        let found = match (state.ipv4, state.ipv6) {
            (Bound::Free, Bound::Free) => "UDP port 862 is free and can be bound, over IPv4 and IPv6.",
            (Bound::Free, _) => "UDP port 862 is free and can be bound over IPv4; no IPv6 here.",
            _ => "UDP port 862 is free and can be bound over IPv6; no IPv4 here.",
        };
        good(PORT, found, "romer respond can answer any STAMP sender.")
    } else {
        missing(
            PORT,
            "UDP port 862 can be bound neither over IPv4 nor over IPv6.",
            "romer respond cannot run here.",
            rights.command("ip link set lo up"),
        )
    };
    finding
        .value("ipv4", word(state.ipv4))
        .value("ipv6", word(state.ipv6))
        .value("holder", state.holder.as_ref().map(|(_, name)| name.clone()))
}

const fn word(bound: Bound) -> &'static str {
    match bound {
        Bound::Free => "free",
        Bound::Taken => "taken",
        Bound::Forbidden => "forbidden",
        Bound::Absent => "absent",
    }
}

fn taken(holder: Option<&(u32, String)>) -> DoctorFinding {
    match holder {
        Some((process, name)) if name == "romer" => good(
            PORT,
            format!("UDP port 862 is in use by romer (process {process})."),
            "A responder is running.",
        ),
        holder => limited(
            PORT,
            match holder {
                Some((process, name)) => format!("UDP port 862 is in use by {name} (process {process})."),
                None => "UDP port 862 is in use by a process that this user cannot see.".into(),
            },
            "romer respond needs another port, which senders must then use.",
            "romer respond --listen 0.0.0.0:8620",
        ),
    }
}

const CONTROL: &str = "port_8862";

/// Binds the control channel's port over IPv4, and gives it back at once.
pub(crate) fn try_control_port() -> Bound {
    match std::net::TcpListener::bind((Ipv4Addr::UNSPECIFIED, CONTROL_PORT)) {
        Ok(_) => Bound::Free,
        Err(error) if error.kind() == std::io::ErrorKind::AddrInUse => Bound::Taken,
        Err(error) if error.kind() == std::io::ErrorKind::PermissionDenied => Bound::Forbidden,
        Err(_) => Bound::Absent,
    }
}

/// The process that has the control channel's port.
pub(crate) fn control_port_holder() -> Option<(u32, String)> {
    holder_of("tcp", CONTROL_PORT)
}

/// What the control channel's port means, and who has it where that is known.
pub(crate) fn control_port(bound: Bound, holder: Option<&(u32, String)>) -> DoctorFinding {
    const OTHER: &str = "romer respond --control 0.0.0.0:8863";
    let needs = "romer respond needs another port for its control channel, which senders must then use.";
    match bound {
        Bound::Free => {
            good(CONTROL, "TCP port 8862 is free.", "The control channel of romer respond is available.")
        }
        Bound::Taken => match holder {
            Some((process, name)) if name == "romer" => good(
                CONTROL,
                format!("TCP port 8862 is in use by romer (process {process})."),
                "A responder is running.",
            ),
            Some((process, name)) => limited(
                CONTROL,
                format!("TCP port 8862 is in use by {name} (process {process})."),
                needs,
                OTHER,
            ),
            None => limited(
                CONTROL,
                "TCP port 8862 is in use by a process that this user cannot see.",
                needs,
                OTHER,
            ),
        },
        Bound::Forbidden => missing(CONTROL, "This user may not bind TCP port 8862.", needs, OTHER),
        Bound::Absent => missing(CONTROL, "TCP port 8862 cannot be bound over IPv4.", needs, OTHER),
    }
    .value("ipv4", word(bound))
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
    const DROPS: &str = "Packets that arrive while romer is descheduled are dropped sooner, and appear as losses of the \
                         path.";
    let asked = SocketOptions::default().receive_buffer;
    let given = match given {
        // The kernel doubles what it is asked for, to pay for its own book-keeping.
        Ok(given) => given / 2,
        Err(error) => return unknown(BUFFER, &error, DROPS),
    };
    let finding = if given >= asked {
        good(
            BUFFER,
            format!("Receive buffer: {}, as requested.", octets(asked)),
            "Packets are buffered while romer is descheduled.",
        )
    } else {
        limited(
            BUFFER,
            format!("Receive buffer: {} of the {} requested.", octets(given), octets(asked)),
            DROPS,
            rights.command(&format!("sysctl -w net.core.rmem_max={asked}")),
        )
    };
    finding.value("requested_octets", asked).value("granted_octets", given)
}

#[cfg(test)]
mod tests {
    use super::*;
    use romer_record::document::CheckVerdict;

    #[test]
    fn a_port_is_free_forbidden_or_somebodys() {
        let state = |ipv4, ipv6, holder: Option<&str>| PortState {
            ipv4,
            ipv6,
            holder: holder.map(|name| (77, name.to_owned())),
        };
        let anybody = Rights::of_anybody();
        for (state, verdict, says) in [
            (state(Bound::Free, Bound::Free, None), CheckVerdict::Good, "IPv4 and IPv6"),
            (state(Bound::Free, Bound::Absent, None), CheckVerdict::Good, "no IPv6 here"),
            (state(Bound::Absent, Bound::Free, None), CheckVerdict::Good, "no IPv4 here"),
            (state(Bound::Absent, Bound::Absent, None), CheckVerdict::Missing, "neither"),
            (state(Bound::Forbidden, Bound::Forbidden, None), CheckVerdict::Missing, "may not bind"),
            (state(Bound::Taken, Bound::Free, None), CheckVerdict::Limited, "cannot see"),
            (state(Bound::Taken, Bound::Taken, Some("ntpd")), CheckVerdict::Limited, "by ntpd (process 77)"),
            (state(Bound::Taken, Bound::Taken, Some("romer")), CheckVerdict::Good, "in use by romer"),
        ] {
            let finding = port(&state, &anybody);
            assert_eq!(finding.verdict, verdict, "{finding:?}");
            assert!(finding.observed.contains(says), "{}", finding.observed);
        }
    }

    #[test]
    fn the_control_port_has_a_fix_whenever_it_cannot_be_had() {
        let holder = |name: &str| (77, name.to_owned());
        assert_eq!(control_port(Bound::Free, None).fix, None);
        assert_eq!(control_port(Bound::Taken, Some(&holder("romer"))).fix, None);
        let other = control_port(Bound::Taken, Some(&holder("nginx")));
        assert!(other.observed.contains("nginx (process 77)") && other.fix.unwrap().contains("--control"));
        for bound in [Bound::Taken, Bound::Forbidden, Bound::Absent] {
            assert!(control_port(bound, None).fix.unwrap().contains("--control"));
        }
    }

    #[test]
    fn whoever_has_a_port_is_found() {
        let socket = std::net::UdpSocket::bind("127.0.0.1:0").unwrap();
        let (process, _) = holder_of("udp", socket.local_addr().unwrap().port()).unwrap();
        let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        assert_eq!(holder_of("tcp", listener.local_addr().unwrap().port()).unwrap().0, process);
        assert_eq!(process, std::process::id());
        assert_eq!(
            sockets_at("head\n 1: 00000000:035E 0:0 07 0:0 0:0 0 0 0 4242 2\n", 862),
            ["socket:[4242]"]
        );
        assert!(sockets_at("head\n 1: 00000000:135E 0:0 07 0:0 0:0 0 0 0 4242 2\n", 862).is_empty());
    }

    #[test]
    fn the_receive_buffer_is_compared_with_what_was_asked_for() {
        let asked = SocketOptions::default().receive_buffer;
        let anybody = Rights::of_anybody();
        assert_eq!(buffer(Ok(2 * asked), &anybody).verdict, CheckVerdict::Good);
        let small = buffer(Ok(425_984), &anybody);
        assert_eq!(small.observed, "Receive buffer: 208 KiB of the 4 MiB requested.");
        assert_eq!(small.fix.unwrap(), format!("sudo sysctl -w net.core.rmem_max={asked}"));
        assert!(receive_buffer().unwrap() > 0);
    }
}

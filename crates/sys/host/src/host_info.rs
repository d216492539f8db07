//! What there is to know about this host, for the metadata of a measurement and for `romer doctor`.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, UdpSocket};
use std::os::fd::AsFd;
use std::path::Path;

pub use romer_confine::Capability;
use romer_units::Duration;

use crate::link::Network;
use crate::netns::failed;
use crate::sys::option;
use crate::{HostError, ethtool};

/// The kernel's release, as `6.18.44`.
///
/// # Errors
/// `/proc` is not there; this holds for the others that read it.
pub fn kernel_release() -> Result<String, HostError> {
    read("/proc/sys/kernel/osrelease")
}

/// The host's name.
///
/// # Errors
/// As of [`kernel_release`].
pub fn host_name() -> Result<String, HostError> {
    read("/proc/sys/kernel/hostname")
}

/// The identity that the kernel drew when it started. Two programs with the same boot id run on one kernel and
/// hence read the same real-time clock: network, user and time namespaces have no part in it.
///
/// # Errors
/// As of [`kernel_release`].
pub fn boot_id() -> Result<String, HostError> {
    read("/proc/sys/kernel/random/boot_id")
}

/// The hardware counter under the kernel's clocks, as `tsc`.
///
/// # Errors
/// `/sys` is not there, or a container hides it.
pub fn clock_source() -> Result<String, HostError> {
    read("/sys/devices/system/clocksource/clocksource0/current_clocksource")
}

/// How many cores this process may use; at least 1.
pub fn processors() -> usize {
    std::thread::available_parallelism().map_or(1, std::num::NonZeroUsize::get)
}

/// How many processors this thread may use, whatever time a control group gives it of them; at least 1.
pub fn usable_processors() -> usize {
    crate::thread::usable_cpus().len().max(1)
}

/// Processor time that a hypervisor has taken from this system since its start, all cores together; zero where
/// none says.
///
/// # Errors
/// As of [`kernel_release`].
pub fn stolen_time() -> Result<Duration, HostError> {
    let text = read("/proc/stat")?;
    Ok(Duration::from_millis(stolen_ticks(&text).saturating_mul(1_000) / ticks_a_second()))
}

/// The eighth figure of the first line.
fn stolen_ticks(text: &str) -> i64 {
    let fields = text.lines().next().and_then(|line| line.strip_prefix("cpu "));
    fields.and_then(|fields| fields.split_whitespace().nth(7)?.parse().ok()).unwrap_or(0)
}

/// Frames that the kernel has dropped since its start because the queues were full that virtual interfaces hand their
/// frames over by; those of all interfaces together.
///
/// # Errors
/// As of [`kernel_release`].
pub fn backlog_drops() -> Result<u64, HostError> {
    Ok(backlog_dropped(&read("/proc/net/softnet_stat")?))
}

/// The second figure of every line (one a processor), in hexadecimal digits.
fn backlog_dropped(text: &str) -> u64 {
    let dropped = text.lines().filter_map(|line| line.split_whitespace().nth(1));
    dropped.filter_map(|dropped| u64::from_str_radix(dropped, 16).ok()).sum()
}

fn ticks_a_second() -> i64 {
    // SAFETY: the call takes a plain number.
    let ticks = unsafe { libc::sysconf(libc::_SC_CLK_TCK) };
    if ticks > 0 { ticks } else { 100 }
}

/// The state of the kernel's clock (`adjtimex(2)`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ClockState {
    /// Nothing unusual.
    Ok,
    /// A leap second will be added, or left out, at the end of the day, or is being, or has been.
    Leap,
    /// The clock is not synchronised.
    Error,
}

impl ClockState {
    const fn from_answer(answer: libc::c_int) -> Self {
        match answer {
            libc::TIME_OK => Self::Ok,
            libc::TIME_ERROR => Self::Error,
            _ => Self::Leap,
        }
    }

    /// The word for it in documents.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Ok => "ok",
            Self::Leap => "leap-second",
            Self::Error => "error",
        }
    }
}

/// What the kernel knows of its clock's agreement with the world.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ClockSync {
    /// Whether a daemon says that it keeps the clock synchronised.
    pub synchronised: bool,
    /// The daemon's estimate of the error.
    pub estimated_error: Duration,
    /// The daemon's bound on the error, grown since its last word.
    pub maximum_error: Duration,
    /// By how much the clock is being sped up (positive) or slowed down, in parts per million.
    pub frequency_ppm: f64,
    /// A leap second that is announced or under way, or the want of synchronisation.
    pub state: ClockState,
    /// International atomic time minus this clock, in seconds; 0 where nobody has told the kernel.
    pub tai_offset_s: i32,
    /// Discipline of the clock by a pulse per second.
    pub pps: PpsDiscipline,
}

/// Discipline of the kernel's clock by a pulse per second (`hardpps`); all zero in a kernel without it.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct PpsDiscipline {
    /// Whether the kernel receives a valid pulse (`STA_PPSSIGNAL`).
    pub signal: bool,
    /// Frequency correction by the pulse, parts per million.
    pub frequency_ppm: f64,
    /// Jitter of the pulse.
    pub jitter: Duration,
    /// Calibration intervals so far.
    pub intervals: i64,
    /// Failed calibration intervals.
    pub errors: i64,
}

/// Asks the kernel whether the real-time clock is synchronised.
///
/// # Errors
/// A sandbox forbids the question (`EPERM`, `ENOSYS`).
pub fn clock_sync() -> Result<ClockSync, HostError> {
    // SAFETY: a timex is integers, for which zero is valid; no mode is set, so that nothing will be changed.
    let mut state: libc::timex = unsafe { std::mem::zeroed() };
    // SAFETY: the call writes one structure into `state`.
    let answer = unsafe { libc::adjtimex(&raw mut state) };
    if answer < 0 {
        return Err(HostError::last("read the clock's state"));
    }
    #[expect(clippy::cast_precision_loss, reason = "the frequency lies within 500 ppm, 2^25 in its unit")]
    let frequency_ppm = state.freq as f64 / 65_536.0;
    Ok(ClockSync {
        synchronised: state.status & libc::STA_UNSYNC == 0,
        estimated_error: Duration::from_micros(state.esterror),
        maximum_error: Duration::from_micros(state.maxerror),
        frequency_ppm,
        state: ClockState::from_answer(answer),
        tai_offset_s: state.tai,
        pps: pps_discipline(&state),
    })
}

/// What the kernel states about the pulse per second.
fn pps_discipline(state: &libc::timex) -> PpsDiscipline {
    // In nanoseconds or microseconds, by the mode of the kernel's clock.
    let is_nano = state.status & libc::STA_NANO != 0;
    let jitter =
        if is_nano { Duration::from_nanos(state.jitter) } else { Duration::from_micros(state.jitter) };
    #[expect(clippy::cast_precision_loss, reason = "the frequency lies within 500 ppm, 2^25 in its unit")]
    let frequency_ppm = state.ppsfreq as f64 / 65_536.0;
    PpsDiscipline {
        signal: state.status & libc::STA_PPSSIGNAL != 0,
        frequency_ppm,
        jitter,
        intervals: state.calcnt,
        errors: state.errcnt,
    }
}

/// Rights of this process beyond those of any user (`capabilities(7)`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Capabilities(u64);

impl Capabilities {
    /// Whether the process has `capability` in effect, in its user namespace.
    pub const fn has(self, capability: Capability) -> bool {
        self.0 & (1 << capability as u64) != 0
    }
    /// The whole set as the kernel numbers it.
    pub const fn bits(self) -> u64 {
        self.0
    }
}

/// The rights in effect for this process.
///
/// # Errors
/// As of [`kernel_release`].
pub fn capabilities() -> Result<Capabilities, HostError> {
    let text = read("/proc/self/status")?;
    let field = text.lines().find_map(|line| line.strip_prefix("CapEff:"));
    let bits = field.and_then(|field| u64::from_str_radix(field.trim(), 16).ok());
    bits.map(Capabilities).ok_or(HostError::Unsuitable("/proc/self/status does not name capabilities"))
}

/// The driver of `interface` in the current thread's network namespace, as `veth`; `None` where it has none.
///
/// # Errors
/// There is no such interface.
pub fn interface_driver(interface: &str) -> Result<Option<String>, HostError> {
    ethtool::driver(ethtool::control_socket()?.as_fd(), interface)
}

/// The largest IP packet of `interface` in the current thread's network namespace, in octets.
///
/// # Errors
/// There is no such interface.
pub fn interface_mtu(interface: &str) -> Result<u32, HostError> {
    Ok(Network::open(None)?.link(interface)?.mtu)
}

/// What this host makes of a router's word that a packet of IPv4 was too long for a link (RFC 1191;
/// `net.ipv4.ip_no_pmtu_disc`). Of IPv6 it always heeds it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PacketTooBigHandling {
    /// It sends no longer ones there than the router names (0).
    Heeded,
    /// It sends no longer ones there than so many octets, whatever the router names (1; `net.ipv4.route.min_pmtu`).
    Least(u32),
    /// It does not hear it of UDP (2; 3, by which only protocols hear it that can tell a forged one). The number is the setting.
    Unheard(u32),
}

/// Asks what the current thread's network namespace has it make of such words.
///
/// # Errors
/// There is no IPv4, or `/proc` is not there.
pub fn packet_too_big_handling() -> Result<PacketTooBigHandling, HostError> {
    let number = |path| read(path).map(|text| text.parse().unwrap_or(0));
    Ok(match number("/proc/sys/net/ipv4/ip_no_pmtu_disc")? {
        0 => PacketTooBigHandling::Heeded,
        1 => PacketTooBigHandling::Least(number("/proc/sys/net/ipv4/route/min_pmtu")?),
        setting => PacketTooBigHandling::Unheard(setting),
    })
}

/// How this host would send to an address.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Route {
    /// The source address it would use.
    pub source: IpAddr,
    /// The largest IP packet that fits, as far as is known: the first link's MTU, or less where the path has said
    /// so.
    pub mtu: u32,
    /// The interface that has the source address; the one to leave by, save for loopback and unusual routes.
    pub interface: Option<String>,
}

/// The unspecified address of the family of `target`: the kernel chooses the source of a socket that is bound to it.
pub const fn unspecified(target: SocketAddr) -> IpAddr {
    match target {
        SocketAddr::V4(_) => IpAddr::V4(Ipv4Addr::UNSPECIFIED),
        SocketAddr::V6(_) => IpAddr::V6(Ipv6Addr::UNSPECIFIED),
    }
}

/// Asks the kernel for the route to `target`. Nothing is sent.
///
/// # Errors
/// There is none (`ENETUNREACH`), or the family is switched off (`EAFNOSUPPORT`).
pub fn route_to(target: SocketAddr) -> Result<Route, HostError> {
    let failed =
        |source| HostError::System { operation: "find a route to", subject: target.to_string(), source };
    let socket = UdpSocket::bind((unspecified(target), 0)).map_err(failed)?;
    socket.connect(target).map_err(failed)?;
    let source = socket.local_addr().map_err(failed)?.ip();
    let (level, name) = if target.is_ipv4() {
        (libc::IPPROTO_IP, libc::IP_MTU)
    } else {
        (libc::IPPROTO_IPV6, libc::IPV6_MTU)
    };
    let [mtu] = option(socket.as_fd(), level, name, "read the path's MTU")?;
    Ok(Route { source, mtu, interface: interface_with(source)? })
}

/// The interface that has `address`, in the current thread's network namespace.
///
/// # Errors
/// The kernel refuses to list the links.
pub fn interface_with(address: IpAddr) -> Result<Option<String>, HostError> {
    let network = Network::open(None)?;
    for link in network.links()? {
        if network.addresses(&link.name)?.contains(&address) {
            return Ok(Some(link.name));
        }
    }
    Ok(None)
}

/// How many datagrams the current thread's network namespace has dropped since it began because their UDP checksum was wrong
/// (`InCsumErrors` of UDP over IPv4 and over IPv6).
///
/// # Errors
/// `/proc` is not there.
pub fn udp_checksum_errors() -> Result<u64, HostError> {
    udp_counted(&["InCsumErrors"])
}

/// How many datagrams the current thread's network namespace has dropped since it began because the socket that they came to
/// had no room for them (`RcvbufErrors` and `MemErrors` of UDP over IPv4 and over IPv6).
///
/// # Errors
/// `/proc` is not there.
pub fn udp_overflows() -> Result<u64, HostError> {
    udp_counted(&["RcvbufErrors", "MemErrors"])
}

/// The sum of these counters of UDP, over IPv4 and over IPv6.
fn udp_counted(names: &[&str]) -> Result<u64, HostError> {
    let v4 = read("/proc/thread-self/net/snmp")?;
    // Some kernels come without IPv6.
    let v6 = read("/proc/thread-self/net/snmp6").unwrap_or_default();
    Ok(names.iter().map(|name| udp_v4_counted(&v4, name) + udp_v6_counted(&v6, name)).sum())
}

/// Of `/proc/net/snmp`, where a line of names stands above a line of numbers.
fn udp_v4_counted(text: &str, counter: &str) -> u64 {
    let mut lines = text.lines().filter_map(|line| line.strip_prefix("Udp:")).map(str::split_whitespace);
    let (Some(names), Some(numbers)) = (lines.next(), lines.next()) else { return 0 };
    let found = names.zip(numbers).find(|(name, _)| *name == counter);
    found.and_then(|(_, number)| number.parse().ok()).unwrap_or(0)
}

/// Of `/proc/net/snmp6`, with a name and a number in a line.
fn udp_v6_counted(text: &str, counter: &str) -> u64 {
    let mut pairs = text.lines().filter_map(|line| line.split_once(char::is_whitespace));
    let found = pairs.find(|(name, _)| name.strip_prefix("Udp6") == Some(counter));
    found.and_then(|(_, number)| number.trim().parse().ok()).unwrap_or(0)
}

fn read(path: &str) -> Result<String, HostError> {
    let path = Path::new(path);
    let text = std::fs::read_to_string(path).map_err(|source| failed("read", path, source))?;
    Ok(text.trim_end().to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_host_can_be_described() {
        assert!(kernel_release().unwrap().starts_with(|c: char| c.is_ascii_digit()));
        assert!(!host_name().unwrap().is_empty());
        assert_eq!(boot_id().unwrap().len(), 36);
        assert_eq!(boot_id().unwrap(), boot_id().unwrap());
        assert!(processors() >= 1);
        assert!(stolen_time().unwrap() >= Duration::ZERO);
        assert!(capabilities().is_ok());
    }

    #[test]
    fn the_clocks_state_is_told_without_changing_it() {
        let sync = clock_sync().unwrap();
        assert!(sync.frequency_ppm.abs() <= 500.0);
        assert!(sync.maximum_error >= Duration::ZERO);
    }

    #[test]
    fn stolen_time_is_the_eighth_figure_of_the_first_line() {
        assert_eq!(stolen_ticks("cpu  1 2 3 4 5 6 7 88 9 10\ncpu0 1 1 1 1 1 1 1 1\n"), 88);
        assert_eq!(stolen_ticks("cpu  1 2 3\n"), 0);
        assert_eq!(stolen_ticks(""), 0);
    }

    /// Counters of UDP are found by their names, over IPv4 and over IPv6, where they are there.
    #[test]
    fn udp_counters_by_name() {
        let v4 = "Tcp: InCsumErrors\nTcp: 9\nUdp: InDatagrams NoPorts InCsumErrors IgnoredMulti\nUdp: 7 8 5 6\n\
                  UdpLite: InDatagrams InCsumErrors\nUdpLite: 1 2\n";
        assert_eq!(udp_v4_counted(v4, "InCsumErrors"), 5);
        assert_eq!(udp_v4_counted("Udp: InDatagrams\nUdp: 7\n", "InCsumErrors"), 0);
        let v6 = "Udp6InErrors                    \t1\nUdp6InCsumErrors                \t3\nUdpLite6InCsumErrors \t4\n";
        assert_eq!(udp_v6_counted(v6, "InCsumErrors"), 3);
        assert_eq!(udp_v6_counted("", "InCsumErrors"), 0);
        assert!(udp_checksum_errors().is_ok() && udp_overflows().is_ok());
    }

    #[test]
    fn what_the_backlog_dropped_is_the_second_figure_of_every_line() {
        assert_eq!(backlog_dropped("0000ffff 00000010 00000002\n00000001 0000000a 00000000\n"), 26);
        assert_eq!(backlog_dropped(""), 0);
        assert!(backlog_drops().is_ok());
    }

    #[test]
    fn the_route_to_ourselves_is_by_loopback() {
        for (target, address) in [("127.0.0.1:862", "127.0.0.1"), ("[::1]:862", "::1")] {
            let route = route_to(target.parse().unwrap()).unwrap();
            assert_eq!(route.source, address.parse::<IpAddr>().unwrap());
            assert_eq!(route.interface.as_deref(), Some("lo"));
            // An IPv4 packet has 65,535 octets at the most, one less than loopback would take.
            assert_eq!(route.mtu.min(65_535), interface_mtu("lo").unwrap().min(65_535));
        }
        assert_eq!(interface_with("192.0.2.77".parse().unwrap()).unwrap(), None);
    }
}

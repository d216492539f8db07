//! The checks, with what each observes.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::facts::Facts;
use crate::document::{Chrony, Pps, Ptp};

/// State of each interface that is up, loopback excepted, by its name.
pub type Interfaces<T> = BTreeMap<String, T>;

/// A check with what it observed. Each check has one result, in a fixed order.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "code", rename_all = "kebab-case")]
pub enum DoctorCheck {
    /// Time stamps of the kernel (`SO_TIMESTAMPING`), tested with datagrams over loopback.
    KernelStamps(Facts<LoopbackExchange>),
    /// Processor time that the hypervisor and interrupts take from this process.
    StolenTime(Facts<StolenTime>),
    /// Punctuality of the sending thread, tested with deadlines 1 ms apart.
    Pacing {
        /// Priority of the sending thread.
        scheduling: SchedulingClass,
        /// Number of deadlines.
        deadlines: u64,
        /// Median lateness, nanoseconds.
        late_p50_ns: i64,
        /// 99 % quantile of the lateness, nanoseconds.
        late_p99_ns: i64,
    },
    /// Synchronisation of this host's clock.
    ClockSync(Facts<Box<KernelClock>>),
    /// Hardware that the kernel reads the clock from.
    ClockSource {
        /// Name of the clock source; `null` if unknown.
        source: Option<String>,
        /// Clock sources that the kernel offers.
        available: Vec<String>,
        /// Time for one reading of the clock, nanoseconds.
        read_ns: i64,
        /// Smallest difference between two readings, nanoseconds.
        step_ns: i64,
    },
    /// Size of the receive buffer of a socket.
    ReceiveBuffer(Facts<BufferSizes>),
    /// UDP port of STAMP (862), for `romer respond`.
    #[serde(rename = "port-862")]
    StampPort {
        /// State of the port over IPv4.
        ipv4: PortUse,
        /// State of the port over IPv6.
        ipv6: PortUse,
        /// Process that uses the port; `null` if there is none or this user cannot see it.
        holder: Option<PortHolder>,
    },
    /// TCP port of romer's control channel (8862), for `romer respond`.
    #[serde(rename = "port-8862")]
    ControlPort {
        /// State of the port over IPv4.
        ipv4: PortUse,
        /// Process that uses the port; `null` if there is none or this user cannot see it.
        holder: Option<PortHolder>,
    },
    /// Folder of runs. If both fields are `null`, neither HOME nor XDG_STATE_HOME is set.
    RunFolder {
        /// Write rate of the disk, bytes per second; `null` if it was not measured.
        octets_per_second: Option<f64>,
        /// Error of a write; `null` without one.
        error: Option<String>,
    },
    /// Network namespaces and virtual links for `romer lab` and `romer demo`.
    Lab {
        /// Rights of the attempt; `null` if none was made.
        tried: Option<LabMethod>,
        /// Outcome of the attempt.
        outcome: LabOutcome,
        /// Its error; `null` without one.
        error: Option<String>,
    },
    /// Capabilities of this process.
    Privileges(Facts<Privileges>),
    /// Time stamps of network cards.
    NicStamps(Facts<NicState>),
    /// Offloads that merge packets, by interface.
    Offloads(Facts<OffloadState>),
    /// Interrupt coalescing, by interface.
    InterruptCoalescing(Facts<CoalescingState>),
    /// Processors of the interrupts of network interfaces.
    Interrupts {
        /// Interfaces that have their own interrupts.
        interfaces: Interfaces<InterruptState>,
    },
    /// Reverse-path filter of IPv4.
    RpFilter {
        /// Interfaces on which it is strict; `null` without IPv4.
        strict: Option<Vec<String>>,
    },
    /// Path MTU discovery of IPv4.
    PathMtu {
        /// Value of `net.ipv4.ip_no_pmtu_disc`; `null` without IPv4.
        ip_no_pmtu_disc: Option<u32>,
        /// Limit of packets after an ICMP packet-too-big message, bytes (`net.ipv4.route.min_pmtu`); `null` unless
        /// `ip_no_pmtu_disc` is 1.
        min_pmtu: Option<u32>,
    },
    /// Connection tracking of packet filters. Both fields are `null` if it is off.
    Conntrack {
        /// Number of entries.
        count: Option<u64>,
        /// Maximum number of entries.
        max: Option<u64>,
    },
    /// Number of processors, and the limit of processor time of the control group.
    Cores {
        /// Number of processors that this process may use.
        cores: u64,
        /// Processor time per period, nanoseconds; `null` unless it is less than that of all these processors.
        quota_ns: Option<i64>,
        /// The period, nanoseconds.
        period_ns: Option<i64>,
    },
    /// Processors that this process may use.
    Affinity {
        /// Their numbers.
        usable: Vec<u16>,
        /// Number of processors of the host.
        online: u64,
        /// Processors that are isolated from ordinary programs, such as `2-3`; empty if there are none.
        isolated: String,
    },
    /// Real-time scheduling (`SCHED_FIFO`).
    RealTime {
        /// Limit of the real-time priority of this user; `null` if unknown.
        limit: Option<u64>,
        /// Why it is not available; `null` if it is.
        error: Option<String>,
    },
    /// Locked memory, for `--lock-memory`.
    LockedMemory {
        /// Whether romer can lock its memory.
        can_lock: bool,
        /// Limit of locked memory, bytes; `null` if there is none.
        limit_octets: Option<u64>,
    },
    /// Idle states and frequency of the processors.
    IdleStates {
        /// Name of the deepest idle state; `null` if they are not controlled by this kernel.
        deepest: Option<String>,
        /// Its wake-up latency, nanoseconds.
        wake_ns: Option<i64>,
        /// Whether this latency delays time stamps noticeably.
        is_slow: bool,
        /// Frequency governor, such as `performance`; `null` if there is none.
        governor: Option<String>,
    },
    /// Access to whole packets, for `romer emulate` and the lab.
    PacketAccess {
        /// Packet sockets.
        packet_socket: FeaturePresence,
        /// AF_XDP sockets.
        xdp_socket: FeaturePresence,
        /// The system call `bpf`.
        bpf: FeaturePresence,
        /// Type information of the kernel (BTF).
        btf: FeaturePresence,
        /// Packet filter nftables.
        nftables: FeaturePresence,
        /// Virtual interfaces of user space (tun).
        tun: FeaturePresence,
    },
    /// XDP of interfaces.
    XdpModes(Facts<XdpModes>),
    /// Programs of the kernel that write time stamps into packets (tcx).
    InPacketStamps {
        /// Whether they are available; `null` if unknown without root.
        tcx: Option<bool>,
        /// Why they are not available; `null` if they are, or if this is unknown.
        error: Option<String>,
    },
    /// Virtual links of the kernel.
    Veth {
        /// Whether the kernel has them.
        presence: FeaturePresence,
    },
    /// Offset of the clocks of this time namespace.
    TimeNamespace {
        /// Largest offset from the clocks of the host, nanoseconds; `null` if this kernel has no time namespaces.
        offset_ns: Option<i64>,
    },
    /// Confinement of commands after their set-up.
    Confinement {
        /// Whether the kernel can filter system calls (seccomp).
        seccomp: bool,
        /// Version of Landlock; `null` if the kernel does not have it.
        landlock: Option<u32>,
    },
    /// Release of the kernel.
    Kernel {
        /// The release; `null` if unknown.
        release: Option<String>,
        /// Oldest release that romer supports.
        oldest: String,
        /// Why the release is unknown; `null` if it is known.
        error: Option<String>,
    },
}

/// Datagrams that were sent over loopback, and their time stamps.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct LoopbackExchange {
    /// Number of sent datagrams.
    pub sent: u32,
    /// Number of received datagrams.
    pub received: u32,
    /// Sent datagrams without a departure time stamp of the kernel.
    pub missing_departures: u32,
    /// Received datagrams without an arrival time stamp of the kernel.
    pub missing_arrivals: u32,
    /// Median difference between the kernel's departure time stamp and that of user space, nanoseconds.
    pub departure_error_p50_ns: Option<f64>,
    /// Its 99 % quantile, nanoseconds.
    pub departure_error_p99_ns: Option<f64>,
    /// Median difference between the arrival time stamp of user space and the kernel's, nanoseconds.
    pub arrival_error_p50_ns: Option<f64>,
    /// Its 99 % quantile, nanoseconds.
    pub arrival_error_p99_ns: Option<f64>,
}

/// Interruptions of a program.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct StolenTime {
    /// Duration of the observation, nanoseconds.
    pub observed_ns: i64,
    /// Share of the processor time that the hypervisor and interrupts took.
    pub stolen_ratio: f64,
    /// Longest interruption by them, nanoseconds.
    pub longest_ns: i64,
    /// Number of their interruptions of 1 µs or more.
    pub gaps: u64,
    /// Share of the processor time that other programs took.
    pub other_programs_ratio: f64,
    /// Stolen time since the start of the system according to the hypervisor, nanoseconds; `null` if unknown.
    pub stolen_since_start_ns: Option<i64>,
}

/// Priority of a thread.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum SchedulingClass {
    /// Real time: it runs as soon as it is due.
    RealTime,
    /// Above all ordinary threads.
    Preferred,
    /// That of any thread.
    Ordinary,
}

/// State of the kernel's clock and of the daemons that synchronise it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct KernelClock {
    /// Whether the clock is synchronised, according to the kernel.
    pub synchronised: bool,
    /// Estimated error by the kernel, nanoseconds.
    pub estimated_error_ns: i64,
    /// Maximum error by the kernel, nanoseconds.
    pub maximum_error_ns: i64,
    /// Frequency correction by the kernel, ppm: positive if the clock is sped up.
    pub frequency_ppm: f64,
    /// State of the clock by the kernel (adjtimex): `ok`, `leap-second` or `error`.
    pub state: String,
    /// TAI minus this clock, seconds; 0 if the kernel does not know it.
    pub tai_offset_s: i32,
    /// Running synchronisation daemons.
    pub sync_daemons: Vec<String>,
    /// State reported by chrony; `null` if it does not run or answer.
    pub chrony: Option<Chrony>,
    /// State of PTP as reported by ptp4l; `null` if it does not run or answer.
    pub ptp: Option<Ptp>,
    /// Pulse per second; `null` if the host has no source of it.
    pub pps: Option<Pps>,
    /// Bound of the clock's error that measurements use, nanoseconds; `null` if there is none.
    pub error_bound_ns: Option<i64>,
    /// Bound that chrony states while the kernel does not report the clock as synchronised, nanoseconds.
    pub unconfirmed_bound_ns: Option<i64>,
    /// Whether chronyd steers the clock; `null` if unknown.
    pub chronyd_steers: Option<bool>,
}

/// Sizes of a receive buffer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct BufferSizes {
    /// Requested size, bytes.
    pub requested_octets: u32,
    /// Granted size, bytes.
    pub granted_octets: u32,
}

/// State of a port in one address family.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum PortUse {
    /// It is free.
    Free,
    /// A process uses it.
    Taken,
    /// This user may not bind it.
    Forbidden,
    /// It cannot be bound, for example because the address family is disabled.
    Absent,
}

/// Process that uses a port.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct PortHolder {
    /// Number of the process.
    pub process: u32,
    /// Name of its program.
    pub program: String,
}

/// Rights with which a lab is created.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum LabMethod {
    /// Those of root, with named namespaces.
    Root,
    /// Those of any user, in a user namespace.
    Rootless,
}

/// Outcome of the attempt to create a lab.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum LabOutcome {
    /// A namespace and a virtual link were created.
    Built,
    /// No namespace could be created.
    NoNamespace,
    /// A namespace could be created, but no virtual link.
    NoLink,
    /// Not tested. The system settings forbid user namespaces.
    Forbidden,
    /// Not tested. The system settings do not forbid user namespaces.
    NotTested,
}

/// A capability of Linux.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum HostCapability {
    /// Ports below 1024.
    NetBindService,
    /// Real-time priority.
    SysNice,
    /// Settings of interfaces and sockets.
    NetAdmin,
    /// Administration of the host.
    SysAdmin,
    /// Packet sockets.
    NetRaw,
    /// Programs in the kernel.
    Bpf,
    /// Locked memory beyond the limit of the user.
    IpcLock,
}

impl HostCapability {
    /// As the kernel and `setcap` name it, without `cap_`.
    pub const fn name(self) -> &'static str {
        match self {
            Self::NetBindService => "net_bind_service",
            Self::SysNice => "sys_nice",
            Self::NetAdmin => "net_admin",
            Self::SysAdmin => "sys_admin",
            Self::NetRaw => "net_raw",
            Self::Bpf => "bpf",
            Self::IpcLock => "ipc_lock",
        }
    }
}

/// Capabilities of a process.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Privileges {
    /// Present capabilities that romer uses.
    pub present: Vec<HostCapability>,
    /// Missing capabilities that romer can use.
    pub missing: Vec<HostCapability>,
    /// Other present capabilities: those of root that a lab with named namespaces needs.
    pub other: Vec<HostCapability>,
}

/// Network cards and their time stamps.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct NicState {
    /// Interfaces that have a driver.
    pub interfaces: Interfaces<NicStamping>,
}

/// Time stamps of a network card.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct NicStamping {
    /// The driver; `null` if unknown.
    pub driver: Option<String>,
    /// Hardware clock of the device, such as `ptp0`; `null` if there is none.
    pub hardware_clock: Option<String>,
    /// Clock of its time stamps, `N` of `/dev/ptpN`; `null` if it takes none.
    pub stamp_clock: Option<u32>,
    /// Whether the card can time-stamp departures.
    pub stamps_departures: bool,
    /// Whether the card can time-stamp all arrivals.
    pub stamps_arrivals: bool,
    /// Whether it time-stamps departures at present; `null` if unknown.
    pub stamping_departures_now: Option<bool>,
    /// Whether it time-stamps arrivals at present; `null` if unknown.
    pub stamping_arrivals_now: Option<bool>,
    /// Whether the kernel can time-stamp departures at the driver.
    pub kernel_stamps_departures: bool,
}

impl NicStamping {
    /// Whether the card time-stamps departures, or all arrivals, by a clock that can be read.
    pub const fn can_stamp(&self) -> bool {
        self.stamp_clock.is_some() && (self.stamps_departures || self.stamps_arrivals)
    }
}

/// Offloads that merge packets.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct OffloadState {
    /// All interfaces.
    pub interfaces: Interfaces<InterfaceOffloads>,
}

/// Offloads of an interface: whether each is on; `null` if the driver does not have it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct InterfaceOffloads {
    /// Generic receive offload.
    pub gro: Option<bool>,
    /// Generic segmentation offload.
    pub gso: Option<bool>,
    /// TCP segmentation offload.
    pub tso: Option<bool>,
}

impl InterfaceOffloads {
    /// The names of those that are on, as ethtool has them.
    pub fn active(self) -> Vec<&'static str> {
        let all = [(self.gro, "gro"), (self.gso, "gso"), (self.tso, "tso")];
        all.into_iter().filter(|(on, _)| *on == Some(true)).map(|(_, name)| name).collect()
    }
}

/// Interrupt coalescing.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct CoalescingState {
    /// Interfaces that report it.
    pub interfaces: Interfaces<InterfaceCoalescing>,
}

/// Interrupt coalescing of an interface.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct InterfaceCoalescing {
    /// Delay of the interrupt after a received packet, microseconds.
    pub receive_us: u32,
    /// Delay of the interrupt after a sent packet, microseconds.
    pub transmit_us: u32,
    /// Whether the driver adapts the first delay.
    pub adaptive: bool,
    /// Whether these delays affect time stamps noticeably.
    pub is_slow: bool,
}

/// Interrupts of an interface.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct InterruptState {
    /// Their numbers.
    pub numbers: Vec<u32>,
    /// Processors that handle them, such as `0,2-3`.
    pub cpus: String,
}

/// Whether the kernel has a feature.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum FeaturePresence {
    /// This user can use it.
    Usable,
    /// The kernel has it, but this user may not use it.
    Forbidden,
    /// The kernel does not have it.
    Absent,
    /// Unknown.
    Unknown,
}

/// XDP of interfaces.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct XdpModes {
    /// All interfaces.
    pub interfaces: Interfaces<InterfaceXdp>,
}

/// XDP of an interface. `null` means that the kernel does not report it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct InterfaceXdp {
    /// The driver; `null` if there is none.
    pub driver: Option<String>,
    /// Whether the driver runs programs before the kernel handles a frame (native mode).
    pub native: Option<bool>,
    /// Whether frames can be passed to sockets and other interfaces.
    pub redirect: Option<bool>,
    /// Whether frames of an AF_XDP socket need no copy.
    pub zero_copy: Option<bool>,
}

use romer_record::doctor::{
    BufferSizes, DoctorFix, Facts, FeaturePresence, HostCapability, InterfaceCoalescing, InterfaceOffloads,
    InterfaceXdp, InterruptState, KernelClock, LabMethod, LabOutcome, LoopbackExchange, NicStamping,
    NicState, OffloadState, PortHolder, PortUse, Privileges, SchedulingClass, StolenTime, XdpModes,
};
use romer_record::document::Chrony;

use super::*;

fn explained(check: DoctorCheck, verdict: CheckVerdict) -> DoctorText {
    explain(&DoctorFinding { check, verdict, fix: None })
}

fn observed(check: DoctorCheck, verdict: CheckVerdict) -> String {
    explained(check, verdict).observed
}

/// Missing time stamps and lost datagrams are distinguished.
#[test]
fn kernel_stamps() {
    let text = |sent, received, missing_departures, missing_arrivals| {
        let facts = LoopbackExchange {
            sent,
            received,
            missing_departures,
            missing_arrivals,
            departure_error_p50_ns: Some(1_000.0),
            departure_error_p99_ns: Some(2_000.0),
            arrival_error_p50_ns: Some(30_000.0),
            arrival_error_p99_ns: None,
        };
        observed(DoctorCheck::KernelStamps(Facts::Known(facts)), CheckVerdict::Limited)
    };
    assert_eq!(
        text(200, 200, 0, 0),
        "Kernel (SO_TIMESTAMPING) time stamps for all 200 datagrams over loopback. User-space time stamps would add 30.0 µs (p99 ?) on \
         arrival and 1.00 µs (p99 2.00 µs) on departure."
    );
    assert_eq!(
        text(200, 200, 2, 0),
        "Of 200 datagrams, 2 had no departure time stamp and 0 no arrival time stamp."
    );
    assert_eq!(text(200, 200, 0, 200), "Kernel time stamps for 200 departures and 0 arrivals of 200.");
    assert_eq!(text(200, 200, 200, 0), "Kernel time stamps for 0 departures and 200 arrivals of 200.");
    assert_eq!(text(200, 150, 0, 0), "50 of 200 datagrams over loopback were lost.");
    let failed = DoctorCheck::KernelStamps(Facts::Unknown { error: "no network".into() });
    assert_eq!(observed(failed, CheckVerdict::Missing), "Cannot send datagrams over loopback: no network.");
}

/// Interruptions are stated with their share, and other programs only if they matter.
#[test]
fn stolen_time() {
    let text = |stolen_ratio, longest_ns, gaps, other_programs_ratio| {
        let facts = StolenTime {
            observed_ns: 300_000_000,
            stolen_ratio,
            longest_ns,
            gaps,
            other_programs_ratio,
            stolen_since_start_ns: None,
        };
        observed(DoctorCheck::StolenTime(Facts::Known(facts)), CheckVerdict::Limited)
    };
    assert_eq!(text(0.0, 0, 0, 0.0005), "No interruption of 1 µs or more in 300 ms.");
    assert_eq!(
        text(0.02, 4_000_000, 9, 0.01),
        "Hypervisor and interrupts took 2.00 % of the processor time in 300 ms; longest interruption 4.00 ms. Other programs took \
         1.00 %."
    );
    let unknown = DoctorCheck::StolenTime(Facts::Unknown { error: "not permitted".into() });
    let text = explained(unknown, CheckVerdict::Limited);
    assert_eq!(text.observed, "Unknown: not permitted.");
    assert_eq!(text.consequence, timing::TAILS);
}

/// Late departures have their cause in the consequence.
#[test]
fn pacing() {
    let text = |scheduling, verdict| {
        let check =
            DoctorCheck::Pacing { scheduling, deadlines: 300, late_p50_ns: 5_000, late_p99_ns: 400_000 };
        explained(check, verdict)
    };
    let late = text(SchedulingClass::RealTime, CheckVerdict::Limited);
    assert_eq!(
        late.observed,
        "The sender runs with real-time priority; lateness of 300 deadlines 1 ms apart: median 5.00 µs, p99 400 µs."
    );
    assert!(late.consequence.starts_with("Some packets leave late."), "{late:?}");
    let ordinary = text(SchedulingClass::Ordinary, CheckVerdict::Limited).consequence;
    assert!(ordinary.starts_with("Other programs can delay departures."), "{ordinary}");
}

/// A quota is stated as time and not as processors.
#[test]
fn cores() {
    let text = |cores, quota_ns, period_ns| {
        observed(DoctorCheck::Cores { cores, quota_ns, period_ns }, CheckVerdict::Limited)
    };
    assert_eq!(
        text(2, Some(20_000_000), Some(100_000_000)),
        "This process may use 2 cores, but only 20.0 ms in total per 100 ms (control group limit)."
    );
    assert_eq!(text(1, None, None), "This process may use one core.");
}

fn clock() -> KernelClock {
    KernelClock {
        synchronised: true,
        estimated_error_ns: 0,
        maximum_error_ns: 300_000,
        frequency_ppm: 0.0,
        state: "ok".into(),
        tai_offset_s: 37,
        sync_daemons: vec!["chronyd".into()],
        chrony: Some(Chrony { reference: "192.0.2.1".into(), stratum: 3, ..Chrony::default() }),
        ptp: None,
        pps: None,
        error_bound_ns: Some(2_000_000),
        unconfirmed_bound_ns: None,
        chronyd_steers: None,
    }
}

/// The source of the clock and its bound are stated, and a bound that measurements do not use.
#[test]
fn clock_synchronisation() {
    let text = |clock: KernelClock| {
        observed(DoctorCheck::ClockSync(Facts::Known(Box::new(clock))), CheckVerdict::Limited)
    };
    assert_eq!(
        text(clock()),
        "The clock is synchronised (by chronyd); maximum error 300 µs. chronyd follows 192.0.2.1 (stratum 3). Bound of its error: \
         2.00 ms."
    );
    let left = |chronyd_steers| KernelClock {
        synchronised: false,
        error_bound_ns: None,
        unconfirmed_bound_ns: Some(2_000_000),
        chronyd_steers,
        ..clock()
    };
    let unsteered = text(left(Some(false)));
    assert!(
        unsteered.contains("a bound of 2.00 ms, but of a clock that it does not steer (-x)"),
        "{unsteered}"
    );
    for steers in [None, Some(true)] {
        let unreported = text(left(steers));
        assert!(unreported.contains("does not report the clock to the kernel"), "{unreported}");
    }
    let alone = KernelClock { synchronised: false, sync_daemons: Vec::new(), ..clock() };
    assert_eq!(text(alone), "The kernel reports the clock as unsynchronised.");
}

/// The release is compared with the oldest one, or unknown with an error.
#[test]
fn kernel() {
    let text = |release: Option<&str>, error: Option<&str>, verdict| {
        let [release, error] = [release, error].map(|text| text.map(str::to_owned));
        explained(DoctorCheck::Kernel { release, oldest: "5.10".into(), error }, verdict)
    };
    let good = text(Some("6.18.44"), None, CheckVerdict::Good);
    assert_eq!(good.observed, "Linux 6.18.44; romer requires 5.10 or later.");
    let odd = text(Some("homebrew"), None, CheckVerdict::Limited);
    assert_eq!(odd.observed, "Unknown kernel release homebrew.");
    let unknown = text(None, Some("no /proc"), CheckVerdict::Limited);
    assert_eq!(unknown.observed, "Unknown: no /proc.");
    assert_eq!(unknown.consequence, "romer requires Linux 5.10 or later.");
}

/// A port is free, forbidden or used by a process, which may be romer.
#[test]
fn ports() {
    let text = |ipv4, ipv6, program: Option<&str>| {
        let holder = program.map(|program| PortHolder { process: 77, program: program.into() });
        observed(DoctorCheck::StampPort { ipv4, ipv6, holder }, CheckVerdict::Limited)
    };
    for (ipv4, ipv6, program, expected) in [
        (PortUse::Free, PortUse::Free, None, "IPv4 and IPv6"),
        (PortUse::Free, PortUse::Absent, None, "no IPv6 here"),
        (PortUse::Absent, PortUse::Free, None, "no IPv4 here"),
        (PortUse::Absent, PortUse::Absent, None, "neither"),
        (PortUse::Forbidden, PortUse::Forbidden, None, "may not bind"),
        (PortUse::Taken, PortUse::Free, None, "cannot see"),
        (PortUse::Taken, PortUse::Taken, Some("ntpd"), "by ntpd (process 77)"),
    ] {
        let text = text(ipv4, ipv6, program);
        assert!(text.contains(expected), "{text}");
    }
    let holder = Some(PortHolder { process: 77, program: "romer".into() });
    let own = explained(DoctorCheck::ControlPort { ipv4: PortUse::Taken, holder }, CheckVerdict::Good);
    assert_eq!(own.observed, "TCP port 8862 is in use by romer (process 77).");
    assert_eq!(own.consequence, "A responder is running.");
}

/// The granted size is compared with the requested one.
#[test]
fn receive_buffer() {
    let sizes = BufferSizes { requested_octets: 4 << 20, granted_octets: 212_992 };
    let check = DoctorCheck::ReceiveBuffer(Facts::Known(sizes));
    assert_eq!(observed(check, CheckVerdict::Limited), "Receive buffer: 208 KiB of the 4 MiB requested.");
}

/// A folder that is missing, one that is not writable and a slow one are distinguished.
#[test]
fn run_folder() {
    let text = |octets_per_second, error: Option<&str>| {
        let error = error.map(str::to_owned);
        observed(DoctorCheck::RunFolder { octets_per_second, error }, CheckVerdict::Missing)
    };
    assert_eq!(text(None, None), "No run folder: neither HOME nor XDG_STATE_HOME is set.");
    assert_eq!(text(None, Some("full")), "The run folder is not writable: full.");
    assert_eq!(text(Some(5e6), None), "Writes 5 MB/s.");
}

/// Every capability that romer uses and that is missing has a consequence.
#[test]
fn privileges() {
    let missing = vec![
        HostCapability::NetBindService,
        HostCapability::SysNice,
        HostCapability::NetAdmin,
        HostCapability::IpcLock,
    ];
    let facts = Privileges { present: Vec::new(), missing, other: vec![HostCapability::NetRaw] };
    let text = explained(DoctorCheck::Privileges(Facts::Known(facts)), CheckVerdict::Limited);
    assert_eq!(text.observed, "Missing: NET_BIND_SERVICE, SYS_NICE, NET_ADMIN and IPC_LOCK.");
    for name in ["NET_BIND_SERVICE", "SYS_NICE", "NET_ADMIN", "IPC_LOCK"] {
        assert!(text.consequence.contains(&format!("Without {name}, ")), "{text:?}");
    }
}

/// What could not be created is stated with its error.
#[test]
fn labs() {
    let text = |tried, outcome| {
        observed(DoctorCheck::Lab { tried, outcome, error: Some("refused".into()) }, CheckVerdict::Missing)
    };
    let (root, rootless) = (Some(LabMethod::Root), Some(LabMethod::Rootless));
    assert_eq!(text(root, LabOutcome::Built), "Network namespaces and virtual links work, as root.");
    assert_eq!(text(rootless, LabOutcome::NoNamespace), "Cannot create a user namespace: refused.");
    assert!(text(root, LabOutcome::NoNamespace).starts_with("Cannot create a network namespace despite"));
    assert!(text(rootless, LabOutcome::NoLink).ends_with("virtual links do not: refused."));
    assert!(text(None, LabOutcome::NotTested).starts_with("Not tested: refused;"));
}

/// A layer of confinement that is missing is named.
#[test]
fn confinement() {
    let text =
        |landlock| observed(DoctorCheck::Confinement { seccomp: true, landlock }, CheckVerdict::Limited);
    assert_eq!(text(Some(7)), "Available: filters of system calls. Available: Landlock (version 7).");
    assert_eq!(text(None), "Available: filters of system calls. Missing: Landlock.");
}

fn card(hardware_clock: Option<&str>, stamps_departures: bool, stamps_arrivals: bool) -> NicStamping {
    NicStamping {
        driver: Some("igb".into()),
        hardware_clock: hardware_clock.map(str::to_owned),
        stamp_clock: hardware_clock.map(|_| 0),
        stamps_departures,
        stamps_arrivals,
        stamping_departures_now: None,
        stamping_arrivals_now: None,
        kernel_stamps_departures: true,
    }
}

/// Cards that take time stamps are named with their clock and the direction; many interfaces are counted.
#[test]
fn nic_stamps() {
    let text = |cards: Vec<NicStamping>| {
        let interfaces = cards.into_iter().enumerate().map(|(index, card)| (format!("eth{index}"), card));
        let state = NicState { interfaces: interfaces.collect() };
        observed(DoctorCheck::NicStamps(Facts::Known(state)), CheckVerdict::Limited)
    };
    assert_eq!(text(vec![card(Some("ptp0"), true, true)]), "Hardware time stamps: eth0 (ptp0).");
    assert_eq!(
        text(vec![card(Some("ptp0"), true, false)]),
        "Hardware time stamps: eth0 (ptp0, departures only)."
    );
    assert_eq!(
        text(vec![card(Some("ptp0"), false, false)]),
        "The hardware clock of eth0 (ptp0) does not time-stamp packets."
    );
    assert_eq!(text(vec![card(None, false, false)]), "No hardware clock: eth0 (igb).");
    assert_eq!(text(vec![card(None, false, false); 9]), "No hardware clock: 9 interfaces.");
    assert_eq!(text(Vec::new()), "No physical interface is up.");
}

/// Active offloads are named.
#[test]
fn offloads() {
    let text = |count: usize, offloads: InterfaceOffloads| {
        let interfaces = (0..count).map(|index| (format!("eth{index}"), offloads)).collect();
        observed(DoctorCheck::Offloads(Facts::Known(OffloadState { interfaces })), CheckVerdict::Limited)
    };
    let on = InterfaceOffloads { gro: Some(true), gso: None, tso: Some(true) };
    assert_eq!(text(1, on), "GRO/GSO/TSO enabled on eth0 (gro, tso).");
    assert_eq!(text(9, on), "GRO/GSO/TSO enabled on 9 interfaces.");
    assert_eq!(text(1, InterfaceOffloads::default()), "GRO/GSO/TSO: off on all interfaces.");
    assert_eq!(text(0, on), "No interface is up except loopback.");
}

/// Interfaces that delay their interrupts are named with the delay, and interrupts with their processors.
#[test]
fn interrupts() {
    let one = |adaptive, is_slow| InterfaceCoalescing { receive_us: 3, transmit_us: 64, adaptive, is_slow };
    let all = [("eth0", one(false, true)), ("eth1", one(true, true)), ("eth2", one(false, false))];
    let interfaces = all.map(|(name, state)| (name.to_owned(), state)).into();
    let state = romer_record::doctor::CoalescingState { interfaces };
    assert_eq!(
        observed(DoctorCheck::InterruptCoalescing(Facts::Known(state)), CheckVerdict::Limited),
        "Interrupt coalescing: on for eth0 (up to 64 µs) and eth1 (adaptive)."
    );
    let state = InterruptState { numbers: vec![41, 42], cpus: "0,1".into() };
    let interfaces = [("eth0".to_owned(), state)].into();
    assert_eq!(
        observed(DoctorCheck::Interrupts { interfaces }, CheckVerdict::Limited),
        "Interrupt affinity: eth0 to processor 0,1."
    );
}

/// What the host does with messages about packets that are too long is stated with the setting.
#[test]
fn path_mtu() {
    let text = |ip_no_pmtu_disc, min_pmtu| {
        observed(DoctorCheck::PathMtu { ip_no_pmtu_disc, min_pmtu }, CheckVerdict::Limited)
    };
    assert!(text(Some(1), Some(552)).ends_with("limited to 552 bytes (net.ipv4.ip_no_pmtu_disc is 1)."));
    assert!(text(Some(3), None).ends_with("packet-too-big ignored (net.ipv4.ip_no_pmtu_disc is 3)."));
    assert_eq!(text(Some(0), None), "IPv4 path MTU discovery: on.");
}

/// Features are listed by what this user can do with them.
#[test]
fn packet_access() {
    let check = DoctorCheck::PacketAccess {
        packet_socket: FeaturePresence::Forbidden,
        xdp_socket: FeaturePresence::Usable,
        bpf: FeaturePresence::Forbidden,
        btf: FeaturePresence::Absent,
        nftables: FeaturePresence::Usable,
        tun: FeaturePresence::Unknown,
    };
    assert_eq!(
        observed(check, CheckVerdict::Limited),
        "Usable: AF_XDP sockets and nftables. Not permitted for this user: packet sockets and bpf(). Not in this kernel: BTF."
    );
}

/// Interfaces are listed by their modes.
#[test]
fn xdp_modes() {
    let one = |native, zero_copy| InterfaceXdp {
        driver: Some("virtio_net".into()),
        native,
        redirect: native,
        zero_copy,
    };
    let all = [
        ("eth0", one(Some(true), Some(true))),
        ("eth1", one(Some(false), Some(false))),
        ("eth2", one(None, None)),
    ];
    let interfaces = all.map(|(name, state)| (name.to_owned(), state)).into();
    assert_eq!(
        observed(DoctorCheck::XdpModes(Facts::Known(XdpModes { interfaces })), CheckVerdict::Limited),
        "Native and generic: eth0 (virtio_net, zero-copy). Generic only: eth1 (virtio_net). Generic, native unknown: eth2 (virtio_net)."
    );
}

/// Fixes are commands as they are, or sentences with what they need.
#[test]
fn fixes() {
    let command = "sudo modprobe veth";
    assert_eq!(fix::text(&DoctorFix::Command { command: command.into() }), command);
    let capabilities = vec![HostCapability::SysAdmin, HostCapability::NetAdmin];
    assert_eq!(
        fix::text(&DoctorFix::AddContainerCapabilities { capabilities: capabilities.clone() }),
        "Start the container with --cap-add=SYS_ADMIN --cap-add=NET_ADMIN."
    );
    assert_eq!(
        fix::text(&DoctorFix::GrantCapabilities { capabilities }),
        "Give romer the capabilities cap_sys_admin and cap_net_admin."
    );
}

/// The document has the text beside each finding.
#[test]
fn documents() {
    let finding = DoctorFinding {
        check: DoctorCheck::TimeNamespace { offset_ns: Some(7_500_000_000) },
        verdict: CheckVerdict::Limited,
        fix: Some(DoctorFix::ShareTimeNamespace),
    };
    let document = document(vec![finding.clone()]);
    assert_eq!(document.schema, "romer/doctor/1");
    let [one] = document.findings.as_slice() else { panic!("{document:?}") };
    assert_eq!(one.finding, finding);
    assert_eq!(one.text.observed, "The time namespace of this process shifts its clocks by 7.50 s.");
    assert_eq!(one.text.fix.as_deref(), Some("Start both ends in the same time namespace."));
}

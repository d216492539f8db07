//! `romer doctor`: what this machine can do for a measurement, found by trying it.
//!
//! [`examine`] sends datagrams to itself, keeps a schedule, watches for stolen time, binds the well-known port, makes
//! a small laboratory and takes it away, writes to the disk of the runs; it reads settings only where nothing can be tried. It never fails: what
//! cannot be looked at becomes a finding that says why. Each module reads first and judges afterwards, and what it
//! reads is a value, so that every judgement is tested without the machine that would call for it.
//!
//! Findings are typed; `romer_report::doctor` has their texts. A fix is a command to be pasted into a shell, or an action where no
//! command would help.
//!
//! ```
//! use romer_doctor::{DoctorOptions, examine};
//!
//! // The doctor starts its program to try a lab without root. `true` stands for a program that has no such mode.
//! let options = DoctorOptions { datagrams: 10, program: Some("true".into()), ..DoctorOptions::default() };
//! let findings = examine(&options);
//! assert!(findings.iter().any(|finding| finding.check.code() == "nic-stamps"));
//! ```
#![forbid(unsafe_code)]

mod clocks;
mod finding;
mod laboratory;
mod limits;
mod links;
mod network;
mod rights;
mod shell;
mod sockets;
mod stamps;
mod timing;

use std::path::PathBuf;

use romer_endpoint::clock_sync::clock_sync;
use romer_host::features::Feature;
use romer_host::{control_group, host_info, sync};
use romer_record::doctor::DoctorFinding;
use romer_units::Duration;

pub use laboratory::{PROBE_ARGUMENT, probe_main};

/// How thoroughly to look.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DoctorOptions {
    /// How many datagrams are sent over loopback, a millisecond apart; at least 1.
    pub datagrams: u32,
    /// How long the sender's schedule is kept, and then the processor watched. Both are at least 10 ms.
    pub watch: Duration,
    /// The program to which fixes give capabilities, and which is started with [`PROBE_ARGUMENT`] to try a rootless
    /// laboratory. `None` for the one that is running.
    pub program: Option<PathBuf>,
    /// Where runs are kept, to try the disk; `None` where nothing says so.
    pub runs: Option<PathBuf>,
}

impl Default for DoctorOptions {
    /// 200 datagrams and twice 0.3 s: about a second in all.
    fn default() -> Self {
        Self { datagrams: 200, watch: Duration::from_millis(300), program: None, runs: None }
    }
}

/// Looks at this machine, for about a second. Uses up to one core for that time; sends nothing beyond loopback.
///
/// The findings come in the order of their weight for a measurement, the same on every machine.
pub fn examine(options: &DoctorOptions) -> Vec<DoctorFinding> {
    let rights = rights::Rights::read(options.program.clone());
    let capabilities = || host_info::capabilities();
    let watch = options.watch.max(Duration::from_millis(10));
    let interfaces = links::interfaces();
    let trial = laboratory::attempt(&capabilities(), options.program.clone());
    // One after the other: each of these would disturb the others.
    let exchange = stamps::exchange(options.datagrams.max(1));
    let schedule = timing::keep_schedule(watch);
    let stolen = timing::watch(watch);
    let disk = options.runs.as_deref().map(limits::write_speed);
    let known = interfaces.as_deref().unwrap_or_default();
    vec![
        stamps::evaluate(&exchange, &rights),
        timing::stolen(stolen),
        timing::pacing(&schedule, &rights),
        clocks::synchronisation(
            host_info::clock_sync(),
            &sync::sync_daemons().unwrap_or_default(),
            &clock_sync(),
            sync::chronyd_steers(),
            clocks::SyncSource::find(),
            &rights,
        ),
        clocks::source(&clocks::read_clock(), &rights),
        sockets::buffer(sockets::receive_buffer(), &rights),
        sockets::port(&sockets::try_port(), &rights),
        sockets::control_port(sockets::try_control_port(), sockets::control_port_holder()),
        limits::folder(disk),
        laboratory::evaluate(&trial, &rights),
        rights::evaluate(capabilities(), &rights),
        links::stamps(&interfaces),
        links::offloads(&interfaces, &rights),
        network::coalescing(network::read_coalescing(known), &rights),
        network::interrupts(&network::read_interrupts(known), &rights),
        network::reverse_path(network::read_reverse_path(), &rights),
        network::too_long(host_info::packet_too_big_handling().ok(), &rights),
        network::conntrack(network::read_conntrack(), &rights),
        timing::cores(host_info::usable_processors(), control_group::quota()),
        limits::affinity(&limits::Cpus::read()),
        limits::realtime(limits::try_realtime(), &rights, control_group::bars_real_time().as_deref()),
        limits::memory(&limits::try_locking(), &rights),
        limits::idle(&limits::Idle::read(), &rights),
        network::access(network::look_at_access(), &rights),
        links::xdp(&interfaces),
        network::in_packet(&network::try_stamping()),
        network::veth(Feature::Module("veth").probe(), &rights),
        clocks::time_namespace(clocks::time_offsets()),
        rights::confinement(romer_confine::support()),
        clocks::kernel(host_info::kernel_release()),
    ]
}

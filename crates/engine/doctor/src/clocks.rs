//! The clocks: what they are read from, what agrees with them, and which kernel keeps them.

use std::path::Path;

use romer_host::HostError;
use romer_host::clock::{monotonic_now, realtime_now};
use romer_host::host_info::ClockSync;
use romer_host::sync::SyncDaemon;
use romer_record::document::{self, DoctorFinding};
use romer_report::escape::terminal;
use romer_units::Duration;

use crate::finding::{WithValue, good, limited, list, missing, unknown};
use crate::rights::Rights;

const SOURCE: &str = "clock_source";
const SYNC: &str = "clock_sync";
const KERNEL: &str = "kernel";
const NAMESPACE: &str = "time_namespace";
const FOLDER: &str = "/sys/devices/system/clocksource/clocksource0";

/// Reading a clock by a system call costs more than this, reading it in the program less.
const SLOW_READ: Duration = Duration::from_nanos(250);
/// The oldest long-term kernel with all that is asked for: stamps beyond the year 2038 (5.1), process descriptors
/// (5.3), sockets that anybody may bind to an interface (5.7).
const OLDEST: (u32, u32) = (5, 10);
/// A bound on the clock's error that a time server nearby keeps.
const NEARBY_SERVER_MAX_ERROR: Duration = Duration::from_millis(1);

/// What reading the clock costs.
#[derive(Clone, Debug)]
pub(crate) struct ReadCost {
    /// The hardware under it, and what could be there instead.
    source: Option<String>,
    available: Vec<String>,
    /// Time for one reading, in the quietest of several batches.
    cost: Duration,
    /// The least step between two readings that differ.
    step: Duration,
}

/// Reads the real-time clock some thousand times.
pub(crate) fn read_clock() -> ReadCost {
    let available =
        std::fs::read_to_string(Path::new(FOLDER).join("available_clocksource")).unwrap_or_default();
    ReadCost {
        source: romer_host::host_info::clock_source().ok(),
        available: available.split_whitespace().map(str::to_owned).collect(),
        cost: (0..16).map(|_| cost_of_reading()).min().unwrap_or_default(),
        step: least_step(),
    }
}

fn cost_of_reading() -> Duration {
    const READINGS: i64 = 500;
    let begin = monotonic_now();
    for _ in 0..READINGS {
        std::hint::black_box(realtime_now());
    }
    Duration::from_nanos((monotonic_now() - begin).as_nanos() / READINGS)
}

fn least_step() -> Duration {
    let readings: Vec<_> = (0..2_000).map(|_| realtime_now()).collect();
    let steps = readings.windows(2).map(|pair| pair[1].since(pair[0]));
    steps.filter(|step| *step > Duration::ZERO).min().unwrap_or_default()
}

/// What the clock source means.
pub(crate) fn source(reading: &ReadCost, rights: &Rights) -> DoctorFinding {
    let name = reading.source.as_deref().unwrap_or("unknown");
    let found = format!(
        "Clock source: {name}; reading takes {}, resolution {}.",
        reading.cost.rounded(),
        reading.step.rounded()
    );
    let slow = reading.cost > SLOW_READ;
    let finding = if slow {
        let better = ["tsc", "kvm-clock", "arch_sys_counter"]
            .into_iter()
            .find(|better| *better != name && reading.available.iter().any(|one| one == better));
        let fix = better.map_or_else(
            || "Configure the hypervisor to provide a clock that user space can read (invariant TSC, kvm-clock).".into(),
            |better| rights.write(&format!("{FOLDER}/current_clocksource"), better),
        );
        let consequence = "Each user-space time stamp costs a system call, and the sender is less punctual.";
        limited(SOURCE, found, consequence, fix)
    } else {
        good(SOURCE, found, "The cost of reading the clock is negligible.")
    };
    finding
        .value("source", reading.source.clone())
        .value("available", reading.available.clone())
        .nanos("read", reading.cost)
        .nanos("step", reading.step)
}

/// Where something that keeps the clock right could come from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum SyncSource {
    /// The service manager can start its own.
    Systemd,
    /// Debian's packages can bring one.
    Apt,
    /// Nothing that is known here.
    Unknown,
}

impl SyncSource {
    pub(crate) fn find() -> Self {
        let there = |path: &str| Path::new(path).exists();
        match () {
            () if there("/run/systemd/system") => Self::Systemd,
            () if there("/usr/bin/apt-get") => Self::Apt,
            () => Self::Unknown,
        }
    }

    fn fix(self, rights: &Rights) -> String {
        match self {
            Self::Systemd => rights.command("timedatectl set-ntp true"),
            Self::Apt => rights.command("apt-get install chrony"),
            Self::Unknown => "Run chrony, or another daemon that synchronises the clock.".into(),
        }
    }
}

/// The daemons by name.
fn daemon_names(running: &[SyncDaemon]) -> String {
    list(&running.iter().map(|keeper| keeper.name()).collect::<Vec<_>>())
}

/// The source of the clock, its state, and the bound of its error that a measurement uses.
fn sources(stated: &document::ClockSync) -> String {
    let mut sentences = Vec::new();
    if let Some(chrony) = &stated.chrony {
        let reference = if chrony.stratum == 0 { "no reference" } else { chrony.reference.as_str() };
        sentences.push(format!("chronyd follows {} (stratum {}).", terminal(reference), chrony.stratum));
    }
    if let Some(ptp) = &stated.ptp {
        let port = ptp.port_state.as_deref().unwrap_or("unknown");
        let offset = Duration::from_nanos(ptp.offset_ns).rounded();
        sentences.push(format!("ptp4l is in state {}, with an offset of {offset}.", terminal(port)));
    }
    if let Some(pps) = &stated.pps {
        let disciplines = if pps.signal { "disciplines" } else { "does not discipline" };
        let sources = if pps.sources.is_empty() { "none".into() } else { terminal(&pps.sources.join(", ")) };
        sentences.push(format!("Pulse per second: {sources}; it {disciplines} the kernel's clock."));
    }
    sentences.push(match stated.error_bound_ns() {
        Some(bound) => format!("Bound of its error: {}.", Duration::from_nanos(bound).rounded()),
        None => "No daemon states a bound of its error.".into(),
    });
    sentences.join(" ")
}

/// What the clock's synchronisation means.
pub(crate) fn synchronisation(
    sync: Result<ClockSync, HostError>,
    running: &[SyncDaemon],
    stated: &document::ClockSync,
    source: SyncSource,
    rights: &Rights,
) -> DoctorFinding {
    const DRIFT: &str = "STAMP packets report this, and one-way delays between hosts (relative to their minimum) \
                         drift with the clock. Round trips, and two ends on one host, are not affected.";
    let sync = match sync {
        Ok(sync) => sync,
        Err(error) => return unknown(SYNC, &error, DRIFT),
    };
    let bound = sync.maximum_error.rounded();
    let sources = sources(stated);
    let by = if running.is_empty() { String::new() } else { format!(" (by {})", daemon_names(running)) };
    let finding = if !sync.synchronised {
        let (found, fix) = match running.first() {
            Some(first) => (
                format!(
                    "The kernel reports the clock as unsynchronised, although {} is running. {sources}",
                    daemon_names(running)
                ),
                format!(
                    "Check the status of {}: it may have no server yet, or no permission to set the clock.{}",
                    first.name(),
                    if *first == SyncDaemon::Chrony { " Its configuration needs rtcsync." } else { "" }
                ),
            ),
            None => ("The kernel reports the clock as unsynchronised.".to_owned(), source.fix(rights)),
        };
        limited(SYNC, found, DRIFT, fix)
    } else if sync.maximum_error > NEARBY_SERVER_MAX_ERROR {
        limited(
            SYNC,
            format!("The clock is synchronised{by}; maximum error {bound}. {sources}"),
            "Wall-clock times may be wrong by that much, and STAMP packets report it. Round trips, and one-way delays \
             relative to their minimum, are not affected.",
            "Use a nearer time server, or PTP, to compare times of different hosts.",
        )
    } else {
        good(
            SYNC,
            format!("The clock is synchronised{by}; maximum error {bound}. {sources}"),
            "Wall-clock times are correct to that bound, and STAMP packets report it.",
        )
    };
    finding
        .value("synchronised", sync.synchronised)
        .nanos("estimated_error", sync.estimated_error)
        .nanos("maximum_error", sync.maximum_error)
        .value("frequency_ppm", sync.frequency_ppm)
        .value("state", sync.state.name())
        .value("tai_offset_s", sync.tai_offset_s)
        .value("sync_daemons", running.iter().map(|keeper| keeper.name()).collect::<Vec<_>>())
        .value("reference", stated.reference().map(str::to_owned))
        .value("error_bound_ns", stated.error_bound_ns())
}

/// What the kernel's release means.
pub(crate) fn kernel(release: Result<String, HostError>) -> DoctorFinding {
    let oldest = format!("{}.{}", OLDEST.0, OLDEST.1);
    let release = match release {
        Ok(release) => release,
        Err(error) => {
            return unknown(KERNEL, &error, &format!("romer requires Linux {oldest} or later."));
        }
    };
    let finding = match version(&release) {
        Some(version) if version >= OLDEST => good(
            KERNEL,
            format!("Linux {release}; romer requires {oldest} or later."),
            "The kernel has the features that romer uses; see the other findings.",
        ),
        Some(_) => missing(
            KERNEL,
            format!("Linux {release}; romer requires {oldest} or later."),
            "Kernel time stamps or the rootless lab may fail.",
            format!("Install a kernel of {oldest} or later."),
        ),
        None => limited(
            KERNEL,
            format!("Unknown kernel release {release}."),
            format!("romer requires Linux {oldest} or later."),
            "Rely on the other findings, which are tests.",
        ),
    };
    finding.value("release", release).value("oldest", oldest)
}

fn version(release: &str) -> Option<(u32, u32)> {
    let mut parts = release.split(|c: char| !c.is_ascii_digit());
    Some((parts.next()?.parse().ok()?, parts.next()?.parse().ok()?))
}

/// By how much the clocks of this time namespace differ from the system's; `None` without any such namespaces.
pub(crate) fn time_offsets() -> Option<Duration> {
    offsets_of(&std::fs::read_to_string("/proc/self/timens_offsets").ok()?)
}

/// The larger of the two offsets, each a line of name, seconds and nanoseconds.
fn offsets_of(text: &str) -> Option<Duration> {
    let offset = |line: &str| {
        let mut fields = line.split_whitespace().skip(1);
        let seconds: i64 = fields.next()?.parse().ok()?;
        let nanos: i64 = fields.next()?.parse().ok()?;
        Some(Duration::from_nanos(seconds.saturating_mul(1_000_000_000).saturating_add(nanos)))
    };
    text.lines().filter_map(offset).max_by_key(|offset| offset.abs())
}

/// What the time namespace means.
pub(crate) fn time_namespace(offset: Option<Duration>) -> DoctorFinding {
    let alone = "romer in other namespaces of this host reads the same clock.";
    match offset {
        None => good(NAMESPACE, "This kernel has no time namespaces.", alone),
        Some(Duration::ZERO) => good(NAMESPACE, "No clock offset in this time namespace.", alone),
        Some(offset) => limited(
            NAMESPACE,
            format!("The time namespace of this process shifts its clocks by {}.", offset.rounded()),
            "romer outside of it on this host is treated as another host: one-way delays between the two are relative \
             to their minimum.",
            "Start both ends in the same time namespace.",
        ),
    }
    .value("offset_ns", offset.map(Duration::as_nanos))
}

#[cfg(test)]
mod tests {
    use super::*;
    use romer_host::host_info::{ClockState, PpsDiscipline};
    use romer_record::document::CheckVerdict;

    #[test]
    fn a_slow_clock_is_fixed_by_a_better_one_if_there_is_any() {
        let reading = |cost, available: &[&str]| ReadCost {
            source: Some("hpet".into()),
            available: available.iter().map(|&one| one.into()).collect(),
            cost: Duration::from_nanos(cost),
            step: Duration::from_nanos(1),
        };
        let anybody = Rights::of_anybody();
        let slow = source(&reading(1_200, &["hpet", "tsc"]), &anybody);
        assert_eq!(slow.verdict, CheckVerdict::Limited);
        let fix = slow.fix.unwrap();
        assert!(
            fix.starts_with("echo tsc | sudo tee /sys/") && fix.ends_with("/current_clocksource"),
            "{fix}"
        );
        assert!(source(&reading(1_200, &["hpet"]), &anybody).fix.unwrap().ends_with('.'));
        assert_eq!(source(&reading(25, &["hpet", "tsc"]), &anybody).verdict, CheckVerdict::Good);
    }

    #[test]
    fn synchronisation_is_judged_by_its_bound() {
        let sync = |synchronised, micros| {
            Ok(ClockSync {
                synchronised,
                estimated_error: Duration::ZERO,
                maximum_error: Duration::from_micros(micros),
                frequency_ppm: 0.0,
                state: ClockState::Ok,
                tai_offset_s: 37,
                pps: PpsDiscipline::default(),
            })
        };
        let nothing = document::ClockSync::default();
        let judge = |sync| synchronisation(sync, &[], &nothing, SyncSource::Systemd, &Rights::of_anybody());
        assert_eq!(judge(sync(true, 300)).verdict, CheckVerdict::Good);
        assert_eq!(judge(sync(true, 30_000)).verdict, CheckVerdict::Limited);
        let off = judge(sync(false, 16_000_000));
        assert_eq!(
            (off.verdict, off.fix.unwrap()),
            (CheckVerdict::Limited, "sudo timedatectl set-ntp true".into())
        );
        assert_eq!(judge(Err(HostError::Unsuitable("forbidden"))).verdict, CheckVerdict::Limited);
        let stated = document::ClockSync {
            synchronised: Some(true),
            sync_daemons: vec!["chronyd".into()],
            chrony: Some(document::Chrony {
                reference: "192.0.2.1".into(),
                stratum: 3,
                bound_ns: 2_000_000,
                ..document::Chrony::default()
            }),
            ..document::ClockSync::default()
        };
        let running = [SyncDaemon::Chrony];
        let kept =
            |sync| synchronisation(sync, &running, &stated, SyncSource::Systemd, &Rights::of_anybody());
        assert!(kept(sync(false, 0)).fix.unwrap().starts_with("Check the status of chronyd"));
        let found = kept(sync(true, 300)).observed;
        assert!(found.contains("synchronised (by chronyd)"), "{found}");
        assert!(
            found.ends_with("chronyd follows 192.0.2.1 (stratum 3). Bound of its error: 2.00 ms."),
            "{found}"
        );
    }

    #[test]
    fn releases_are_compared_as_numbers() {
        for (release, verdict) in [
            ("6.18.44-generic", CheckVerdict::Good),
            ("5.10.0", CheckVerdict::Good),
            ("5.9.16", CheckVerdict::Missing),
            ("4.19.0-27-amd64", CheckVerdict::Missing),
            ("10.0-rc1", CheckVerdict::Good),
            ("homebrew", CheckVerdict::Limited),
        ] {
            assert_eq!(kernel(Ok(release.into())).verdict, verdict, "{release}");
        }
    }

    #[test]
    fn offsets_of_a_time_namespace_are_read() {
        assert_eq!(
            offsets_of("monotonic           0         0\nboottime            0         0\n"),
            Some(Duration::ZERO)
        );
        let moved = offsets_of("monotonic  -5  0\nboottime  7  500000000\n").unwrap();
        assert_eq!(moved, Duration::from_millis(7_500));
        assert_eq!(time_namespace(Some(moved)).verdict, CheckVerdict::Limited);
        assert_eq!(time_namespace(None).verdict, CheckVerdict::Good);
    }

    #[test]
    fn a_clock_that_is_read_has_a_cost_and_a_step() {
        let reading = read_clock();
        assert!(reading.cost > Duration::ZERO && reading.step > Duration::ZERO, "{reading:?}");
    }
}

//! The clocks: what they are read from, what agrees with them, and which kernel keeps them.

use std::path::Path;

use romer_host::HostError;
use romer_host::clock::{monotonic_now, realtime_now};
use romer_host::host_info::ClockSync;
use romer_host::sync::SyncDaemon;
use romer_record::doctor::{DoctorCheck, DoctorFinding, DoctorFix, Facts, KernelClock};
use romer_record::document;
use romer_units::Duration;

use crate::finding::{examine_elsewhere, good, limited, missing, unknown};
use crate::rights::Rights;

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
    let check = DoctorCheck::ClockSource {
        source: reading.source.clone(),
        available: reading.available.clone(),
        read_ns: reading.cost.as_nanos(),
        step_ns: reading.step.as_nanos(),
    };
    if reading.cost <= SLOW_READ {
        return good(check);
    }
    let better = ["tsc", "kvm-clock", "arch_sys_counter"].into_iter().find(|better| {
        reading.source.as_deref() != Some(*better) && reading.available.iter().any(|one| one == better)
    });
    let fix = better.map_or(DoctorFix::ProvideUserSpaceClock, |better| {
        rights.write(better, &[format!("{FOLDER}/current_clocksource")])
    });
    limited(check, fix)
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

    fn fix(self, rights: &Rights) -> DoctorFix {
        match self {
            Self::Systemd => rights.command(&["timedatectl", "set-ntp", "true"]),
            Self::Apt => rights.command(&["apt-get", "install", "chrony"]),
            Self::Unknown => DoctorFix::RunSyncDaemon,
        }
    }
}

/// What the clock's synchronisation means.
pub(crate) fn synchronisation(
    sync: Result<ClockSync, HostError>,
    running: &[SyncDaemon],
    stated: &document::ClockSync,
    steers: Option<bool>,
    source: SyncSource,
    rights: &Rights,
) -> DoctorFinding {
    let sync = match sync {
        Ok(sync) => sync,
        Err(error) => return unknown(DoctorCheck::ClockSync, &error),
    };
    let unconfirmed_bound_ns = stated.unconfirmed_bound_ns();
    let check = DoctorCheck::ClockSync(Facts::Known(Box::new(KernelClock {
        synchronised: sync.synchronised,
        estimated_error_ns: sync.estimated_error.as_nanos(),
        maximum_error_ns: sync.maximum_error.as_nanos(),
        frequency_ppm: sync.frequency_ppm,
        state: sync.state.name().into(),
        tai_offset_s: sync.tai_offset_s,
        sync_daemons: running.iter().map(|daemon| daemon.name().to_owned()).collect(),
        chrony: stated.chrony.clone(),
        ptp: stated.ptp.clone(),
        pps: stated.pps.clone(),
        error_bound_ns: stated.error_bound_ns(),
        unconfirmed_bound_ns,
        chronyd_steers: steers,
    })));
    if !sync.synchronised {
        let fix = match (running.first(), unconfirmed_bound_ns, steers) {
            (None, ..) => source.fix(rights),
            (Some(_), Some(_), Some(false)) => DoctorFix::SteerClock,
            (Some(_), Some(_), _) => DoctorFix::AddRtcsync,
            (Some(first), None, _) => DoctorFix::CheckSyncDaemon { daemon: first.name().into() },
        };
        limited(check, fix)
    } else if sync.maximum_error > NEARBY_SERVER_MAX_ERROR {
        limited(check, DoctorFix::UseNearerTimeServer)
    } else {
        good(check)
    }
}

/// What the kernel's release means.
pub(crate) fn kernel(release: Result<String, HostError>) -> DoctorFinding {
    let oldest = format!("{}.{}", OLDEST.0, OLDEST.1);
    let release = match release {
        Ok(release) => release,
        Err(error) => {
            let why = Some(error.to_string());
            let check = DoctorCheck::Kernel { release: None, oldest, error: why };
            return limited(check, examine_elsewhere(&error));
        }
    };
    let version = version(&release);
    let check = DoctorCheck::Kernel { release: Some(release), oldest: oldest.clone(), error: None };
    match version {
        Some(version) if version >= OLDEST => good(check),
        Some(_) => missing(check, DoctorFix::UpdateKernel { oldest }),
        None => limited(check, DoctorFix::RelyOnTests),
    }
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
    let check = DoctorCheck::TimeNamespace { offset_ns: offset.map(Duration::as_nanos) };
    match offset {
        None | Some(Duration::ZERO) => good(check),
        Some(_) => limited(check, DoctorFix::ShareTimeNamespace),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::finding::command_of;
    use romer_host::host_info::{ClockState, PpsDiscipline};
    use romer_record::doctor::CheckVerdict;

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
        let fix = command_of(&slow);
        assert!(
            fix.starts_with("echo tsc | sudo tee /sys/") && fix.ends_with("/current_clocksource"),
            "{fix}"
        );
        let alone = source(&reading(1_200, &["hpet"]), &anybody);
        assert_eq!(alone.fix, Some(DoctorFix::ProvideUserSpaceClock));
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
        let judge =
            |sync| synchronisation(sync, &[], &nothing, None, SyncSource::Systemd, &Rights::of_anybody());
        assert_eq!(judge(sync(true, 300)).verdict, CheckVerdict::Good);
        assert_eq!(judge(sync(true, 30_000)).verdict, CheckVerdict::Limited);
        let off = judge(sync(false, 16_000_000));
        assert_eq!((off.verdict, command_of(&off)), (CheckVerdict::Limited, "sudo timedatectl set-ntp true"));
        assert_eq!(judge(Err(HostError::Unsuitable("forbidden"))).fix, Some(DoctorFix::RunOnHost));
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
            |sync| synchronisation(sync, &running, &stated, None, SyncSource::Systemd, &Rights::of_anybody());
        let daemon = "chronyd".into();
        assert_eq!(kept(sync(false, 0)).fix, Some(DoctorFix::CheckSyncDaemon { daemon }));
        let clock = clock_of(kept(sync(true, 300)));
        assert_eq!((clock.error_bound_ns, clock.unconfirmed_bound_ns), (Some(2_000_000), None));
        assert_eq!(clock.sync_daemons, ["chronyd"]);
        // A daemon that leaves the clock alone states a bound of its own time.
        let left = document::ClockSync { synchronised: Some(false), ..stated.clone() };
        let judge = |steers| {
            let rights = Rights::of_anybody();
            synchronisation(sync(false, 16_000_000), &running, &left, steers, SyncSource::Systemd, &rights)
        };
        assert_eq!(judge(Some(false)).fix, Some(DoctorFix::SteerClock));
        let clock = clock_of(judge(Some(false)));
        assert_eq!((clock.error_bound_ns, clock.unconfirmed_bound_ns), (None, Some(2_000_000)));
        assert_eq!(clock.chronyd_steers, Some(false));
        for steers in [None, Some(true)] {
            assert_eq!(judge(steers).fix, Some(DoctorFix::AddRtcsync));
        }
    }

    fn clock_of(finding: DoctorFinding) -> KernelClock {
        match finding.check {
            DoctorCheck::ClockSync(Facts::Known(clock)) => *clock,
            other => panic!("{other:?}"),
        }
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

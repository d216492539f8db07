//! What the user's limits allow a program that must be on time: real time, memory that stays, a processor of its own.

use std::path::Path;

use romer_host::HostError;
use romer_host::host_info::Capability;
use romer_host::thread::{
    LockedMemory, Policy, PolicyError, RealTime, lock_limit, realtime_limit, usable_cpus,
};
use romer_record::doctor::{DoctorCheck, DoctorFinding, DoctorFix};
use romer_units::Duration;

use crate::finding::{good, limited, missing};
use crate::rights::Rights;

const CPUS: &str = "/sys/devices/system/cpu";
/// Waking from an idle state that takes longer than this shows in a program's stamps.
const SLOW_WAKE: Duration = Duration::from_micros(50);

/// Tries a thread in real time.
pub(crate) fn try_realtime() -> Result<(), PolicyError> {
    Policy { cpu: None, realtime: RealTime::Required }.check()
}

/// What came of it means this.
pub(crate) fn realtime(
    tried: Result<(), PolicyError>,
    rights: &Rights,
    barred: Option<&Path>,
) -> DoctorFinding {
    let limit = realtime_limit().ok();
    let error = tried.err().map(|error| error.to_string());
    let is_available = error.is_none();
    let check = DoctorCheck::RealTime { limit, error };
    if is_available {
        return good(check);
    }
    let fix = barred.map_or_else(
        || rights.grant(&[Capability::SysNice]),
        |file| DoctorFix::BudgetRealTime { file: file.display().to_string() },
    );
    limited(check, fix)
}

/// Tries to lock this program's memory, and lets it go again.
pub(crate) fn try_locking() -> Result<(), HostError> {
    LockedMemory::lock().map(drop)
}

/// What came of it means this.
pub(crate) fn memory(tried: &Result<(), HostError>, rights: &Rights) -> DoctorFinding {
    let can_lock = tried.is_ok();
    let check = DoctorCheck::LockedMemory { can_lock, limit_octets: lock_limit().ok().flatten() };
    if can_lock { good(check) } else { limited(check, rights.grant(&[Capability::IpcLock])) }
}

/// The processors, and which of them this process may use.
#[derive(Clone, Debug, Default)]
pub(crate) struct Cpus {
    usable: Vec<u16>,
    online: usize,
    /// Kept free of ordinary programs by the kernel's command line, as `2-3`; empty for none.
    isolated: String,
}

impl Cpus {
    pub(crate) fn read() -> Self {
        let text = |name: &str| std::fs::read_to_string(Path::new(CPUS).join(name)).unwrap_or_default();
        Self {
            usable: usable_cpus(),
            online: size_of_list(text("online").trim()),
            isolated: text("isolated").trim().to_owned(),
        }
    }
}

/// How many numbers a list such as `0-3,6` has.
fn size_of_list(list: &str) -> usize {
    let part = |part: &str| {
        let (first, last) = part.split_once('-').unwrap_or((part, part));
        let (first, last): (usize, usize) = (first.parse().ok()?, last.parse().ok()?);
        Some((last + 1).saturating_sub(first))
    };
    list.split(',').filter_map(part).sum()
}

/// What the processors that may be used mean.
pub(crate) fn affinity(cpus: &Cpus) -> DoctorFinding {
    let check = DoctorCheck::Affinity {
        usable: cpus.usable.clone(),
        online: u64::try_from(cpus.online).unwrap_or(u64::MAX),
        isolated: cpus.isolated.clone(),
    };
    if cpus.usable.len() >= cpus.online || cpus.usable.len() > 1 {
        good(check)
    } else {
        limited(check, DoctorFix::PermitProcessors)
    }
}

/// How processors rest, and how their speed is chosen.
#[derive(Clone, Debug, Default)]
pub(crate) struct Idle {
    /// The slowest idle state that is in use: its name, and how long waking from it takes.
    deepest: Option<(String, Duration)>,
    /// What chooses the processors' speed, as `performance`; `None` where nothing does.
    governor: Option<String>,
}

impl Idle {
    /// As the first processor has it.
    pub(crate) fn read() -> Self {
        let text = |path: &Path| Some(std::fs::read_to_string(path).ok()?.trim().to_owned());
        let first = Path::new(CPUS).join("cpu0");
        let states = first.join("cpuidle").read_dir().into_iter().flatten();
        let state = |folder: &Path| {
            let disabled = text(&folder.join("disable")).is_some_and(|disabled| disabled != "0");
            let micros = text(&folder.join("latency"))?.parse().ok()?;
            (!disabled).then_some((text(&folder.join("name"))?, Duration::from_micros(micros)))
        };
        Self {
            deepest: states.filter_map(|entry| state(&entry.ok()?.path())).max_by_key(|(_, wake)| *wake),
            governor: text(&first.join("cpufreq/scaling_governor")),
        }
    }
}

/// What rest and speed mean.
pub(crate) fn idle(idle: &Idle, rights: &Rights) -> DoctorFinding {
    let is_slow = idle.deepest.as_ref().is_some_and(|(_, wake)| *wake > SLOW_WAKE);
    let is_saving = idle.governor.as_deref().is_some_and(|governor| governor != "performance");
    let check = DoctorCheck::IdleStates {
        deepest: idle.deepest.as_ref().map(|(name, _)| name.clone()),
        wake_ns: idle.deepest.as_ref().map(|(_, wake)| wake.as_nanos()),
        is_slow,
        governor: idle.governor.clone(),
    };
    if is_saving {
        limited(check, rights.write("performance", &[format!("{CPUS}/cpu*/cpufreq/scaling_governor")]))
    } else if is_slow {
        let micros = SLOW_WAKE.as_nanos() / 1_000;
        let command = format!("exec 3> /dev/cpu_dma_latency && printf '{micros:#x}' >&3");
        limited(check, DoctorFix::Command { command })
    } else {
        good(check)
    }
}

/// Less than this, in octets a second, may be too slow for 100,000 probes a second.
const SLOW_DISK: f64 = 20e6;

/// Writes 8 MiB to the disk that keeps the runs, and removes them again. Gives octets a second, to the disk itself.
pub(crate) fn write_speed(runs: &Path) -> Result<f64, HostError> {
    use std::io::Write;
    static CHUNK: [u8; 1 << 20] = [0x5a; 1 << 20];
    const CHUNKS: u32 = 8;
    // The folder is made by the first run; until then the nearest that exists is on the same disk as a rule.
    let folder = runs.ancestors().find(|folder| folder.is_dir()).unwrap_or(runs);
    let path = folder.join(format!(".romer-doctor-{}", std::process::id()));
    let failed =
        |source| HostError::System { operation: "write to", subject: folder.display().to_string(), source };
    let mut file = std::fs::File::options().write(true).create_new(true).open(&path).map_err(failed)?;
    let begin = romer_host::clock::monotonic_now();
    let written = (0..CHUNKS).try_for_each(|_| file.write_all(&CHUNK)).and_then(|()| file.sync_data());
    let taken = romer_host::clock::monotonic_now() - begin;
    let _ = std::fs::remove_file(&path);
    written.map_err(failed)?;
    Ok(f64::from(CHUNKS) * f64::from(1_u32 << 20) / taken.as_secs_f64().max(1e-9))
}

/// What the disk means.
pub(crate) fn folder(speed: Option<Result<f64, HostError>>) -> DoctorFinding {
    let check = |octets_per_second, error| DoctorCheck::RunFolder { octets_per_second, error };
    match speed {
        None => missing(check(None, None), DoctorFix::SetRunFolder),
        Some(Err(error)) => missing(check(None, Some(error.to_string())), DoctorFix::UseWritableDisk),
        Some(Ok(speed)) if speed < SLOW_DISK => limited(check(Some(speed), None), DoctorFix::UseFasterDisk),
        Some(Ok(speed)) => good(check(Some(speed), None)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::finding::command_of;
    use romer_record::doctor::CheckVerdict;

    #[test]
    fn what_is_refused_says_how_it_would_be_allowed() {
        let anybody = Rights::of_anybody();
        let refused = || Err(PolicyError::RealTime(HostError::Unsuitable("not allowed")));
        let finding = realtime(refused(), &anybody, None);
        assert_eq!(finding.verdict, CheckVerdict::Limited);
        assert!(command_of(&finding).starts_with("sudo setcap cap_"), "{finding:?}");
        assert!(
            matches!(&finding.check, DoctorCheck::RealTime { error: Some(error), .. } if error == "not allowed"),
            "{finding:?}"
        );
        let file = "/sys/fs/cgroup/cpu/x/cpu.rt_runtime_us";
        let fix = realtime(refused(), &anybody, Some(Path::new(file))).fix;
        assert_eq!(fix, Some(DoctorFix::BudgetRealTime { file: file.into() }));
        assert_eq!(realtime(Ok(()), &anybody, None).verdict, CheckVerdict::Good);
        let refused = memory(&Err(HostError::Unsuitable("too little")), &anybody);
        assert_eq!(refused.verdict, CheckVerdict::Limited);
        assert!(command_of(&refused).contains("cap_ipc_lock"), "{refused:?}");
        assert_eq!(memory(&Ok(()), &anybody).verdict, CheckVerdict::Good);
    }

    #[test]
    fn one_processor_of_many_is_a_limit() {
        assert_eq!((size_of_list("0-3,6"), size_of_list("0"), size_of_list("")), (5, 1, 0));
        let cpus = |usable: &[u16], online| Cpus { usable: usable.into(), online, isolated: String::new() };
        assert_eq!(affinity(&cpus(&[0, 1], 2)).verdict, CheckVerdict::Good);
        assert_eq!(affinity(&cpus(&[0], 1)).verdict, CheckVerdict::Good);
        assert_eq!(affinity(&cpus(&[3], 8)).verdict, CheckVerdict::Limited);
        let isolated = affinity(&Cpus { isolated: "2-3".into(), ..cpus(&[0, 1, 2, 3], 4) }).check;
        let expected = DoctorCheck::Affinity { usable: vec![0, 1, 2, 3], online: 4, isolated: "2-3".into() };
        assert_eq!(isolated, expected);
    }

    #[test]
    fn deep_sleep_and_saved_power_are_limits() {
        let anybody = Rights::of_anybody();
        let with = |wake: Option<i64>, governor: Option<&str>| {
            let deepest = wake.map(|micros| ("C6".to_owned(), Duration::from_micros(micros)));
            idle(&Idle { deepest, governor: governor.map(str::to_owned) }, &anybody)
        };
        assert_eq!(with(None, None).verdict, CheckVerdict::Good);
        assert_eq!(with(Some(2), Some("performance")).verdict, CheckVerdict::Good);
        let slow = with(Some(133), None);
        assert_eq!(command_of(&slow), "exec 3> /dev/cpu_dma_latency && printf '0x32' >&3");
        assert!(matches!(slow.check, DoctorCheck::IdleStates { is_slow: true, .. }), "{slow:?}");
        let saving = with(Some(2), Some("powersave"));
        assert_eq!(
            command_of(&saving),
            "echo performance | sudo tee /sys/devices/system/cpu/cpu*/cpufreq/scaling_governor"
        );
        assert!(matches!(saving.check, DoctorCheck::IdleStates { is_slow: false, .. }), "{saving:?}");
    }

    #[test]
    fn the_disk_is_tried_and_nothing_stays() {
        let home = tempfile::tempdir().unwrap();
        let runs = home.path().join("not/yet");
        assert!(write_speed(&runs).unwrap() > 0.0);
        assert_eq!(std::fs::read_dir(home.path()).unwrap().count(), 0);
        assert!(write_speed(Path::new("/proc/self/none")).is_err());
    }

    #[test]
    fn a_slow_disk_a_closed_one_and_none_are_told_apart() {
        let at = |speed: f64| folder(Some(Ok(speed)));
        assert_eq!((at(3e8).verdict, at(5e6).verdict), (CheckVerdict::Good, CheckVerdict::Limited));
        let closed = folder(Some(Err(HostError::Unsuitable("no"))));
        assert_eq!((closed.verdict, folder(None).verdict), (CheckVerdict::Missing, CheckVerdict::Missing));
    }
}

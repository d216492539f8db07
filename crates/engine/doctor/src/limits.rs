//! What the user's limits allow a program that must be on time: real time, memory that stays, a processor of its own.

use std::path::Path;

use romer_host::HostError;
use romer_host::host_info::Capability;
use romer_host::thread::{
    LockedMemory, Policy, PolicyError, RealTime, lock_limit, realtime_limit, usable_cpus,
};
use romer_record::document::DoctorFinding;
use romer_units::Duration;

use crate::finding::{WithValue, good, limited, missing};
use crate::rights::Rights;

const REALTIME: &str = "real_time";
const MEMORY: &str = "locked_memory";
const AFFINITY: &str = "affinity";
const IDLE: &str = "idle_states";
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
    let finding = match tried {
        Ok(()) => good(
            REALTIME,
            "Real-time scheduling (SCHED_FIFO) is available.",
            "The sending thread and the emulator use it by default, with --realtime also the receiving threads.",
        ),
        Err(error) => limited(
            REALTIME,
            format!("Real-time scheduling is not available: {error}."),
            "With --realtime romer exits with code 4; other programs can delay departures.",
            barred.map_or_else(
                || rights.grant(&[Capability::SysNice]),
                |file| {
                    format!(
                        "Give this control group a budget for real-time threads ({}), or start romer outside it.",
                        file.display()
                    )
                },
            ),
        ),
    };
    finding.value("limit", limit)
}

/// Tries to lock this program's memory, and lets it go again.
pub(crate) fn try_locking() -> Result<(), HostError> {
    LockedMemory::lock().map(drop)
}

/// What came of it means this.
pub(crate) fn memory(tried: &Result<(), HostError>, rights: &Rights) -> DoctorFinding {
    let limit = lock_limit().ok().flatten();
    let finding = match tried {
        Ok(()) => {
            good(MEMORY, "romer can lock its memory.", "Use --lock-memory on a host that is short of memory.")
        }
        Err(_) => {
            let found = match limit {
                Some(octets) => {
                    format!("This user may lock only {} KiB of memory.", octets >> 10)
                }
                None => "This user may not lock memory.".to_owned(),
            };
            limited(
                MEMORY,
                found,
                "With --lock-memory romer exits with code 4; on a host that is short of memory, a page fault may delay a \
                 measurement.",
                rights.grant(&[Capability::IpcLock]),
            )
        }
    };
    finding.value("limit_octets", limit)
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
    let all = cpus.usable.len() >= cpus.online;
    let may = match (all, cpus.usable.len()) {
        (true, 1) => "This process may use the only processor.".to_owned(),
        (true, n) => format!("This process may use all {n} processors."),
        (false, n) => format!("This process may use {n} of {} processors.", cpus.online),
    };
    let isolated = match cpus.isolated.as_str() {
        "" => String::new(),
        list => format!(" Isolated from ordinary programs: processor {list}."),
    };
    let found = format!("{may}{isolated}");
    let finding = if all || cpus.usable.len() > 1 {
        good(
            AFFINITY,
            found,
            "Use --cpu N to pin the threads that send and receive to a processor without other programs and without the \
             interrupts of the interface.",
        )
    } else {
        limited(
            AFFINITY,
            found,
            "All threads of romer share that processor: sender and receiver delay each other.",
            "Give the container or service more processors (systemd: AllowedCPUs=, CPUAffinity=).",
        )
    };
    finding
        .value("usable", cpus.usable.clone())
        .value("online", cpus.online)
        .value("isolated", cpus.isolated.clone())
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
    let state = match &idle.deepest {
        Some((name, wake)) => format!("Deepest idle state {name}: wake-up latency {}.", wake.rounded()),
        None => "Idle states are not controlled here (a hypervisor may).".to_owned(),
    };
    let speed = match idle.governor.as_deref() {
        Some(governor) => format!(" Frequency governor: {governor}."),
        None => " Frequency scaling is not controlled here.".to_owned(),
    };
    let found = format!("{state}{speed}");
    let slow = idle.deepest.as_ref().is_some_and(|(_, wake)| *wake > SLOW_WAKE);
    let saving = idle.governor.as_deref().is_some_and(|governor| governor != "performance");
    let finding = if slow || saving {
        let wake = slow.then(|| {
            let micros = SLOW_WAKE.as_nanos() / 1_000;
            format!("exec 3> /dev/cpu_dma_latency && printf '{micros:#x}' >&3")
        });
        let fix = match (saving, wake) {
            (true, _) => format!(
                "for f in {CPUS}/cpu*/cpufreq/scaling_governor; do {}; done",
                rights.write("$f", "performance")
            ),
            (false, wake) => wake.unwrap_or_default(),
        };
        limited(
            IDLE,
            found,
            "Waking up or speeding up delays time stamps: user-space time stamps by that much, kernel time stamps by \
             less.",
            fix,
        )
    } else {
        good(IDLE, found, "Idle states have little effect on measurements.")
    };
    finding
        .value("deepest", idle.deepest.as_ref().map(|(name, _)| name.clone()))
        .value("wake_ns", idle.deepest.as_ref().map(|(_, wake)| wake.as_nanos()))
        .value("governor", idle.governor.clone())
}

const FOLDER: &str = "run_folder";
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
    const KEEPS: &str = "A run stores a packet log of about 100 bytes per probe there.";
    let speed = match speed {
        None => {
            return missing(
                FOLDER,
                "No run folder: neither HOME nor XDG_STATE_HOME is set.",
                "romer measure needs --out.",
                "Set HOME, or XDG_STATE_HOME, to a folder of this user.",
            );
        }
        Some(Err(error)) => {
            return missing(
                FOLDER,
                format!("The run folder is not writable: {error}."),
                "romer measure needs --out.",
                "Set XDG_STATE_HOME to a folder of this user, on a disk with free space.",
            );
        }
        Some(Ok(speed)) => speed,
    };
    let found = format!("Writes {:.0} MB/s.", speed / 1e6);
    let finding = if speed < SLOW_DISK {
        limited(
            FOLDER,
            found,
            format!("{KEEPS} At high rates entries may be dropped; they are counted."),
            "Store runs with high rates on another disk, with --out.",
        )
    } else {
        good(FOLDER, found, KEEPS)
    };
    finding.value("octets_per_second", speed)
}

#[cfg(test)]
mod tests {
    use super::*;
    use romer_record::document::CheckVerdict;

    #[test]
    fn what_is_refused_says_how_it_would_be_allowed() {
        let anybody = Rights::of_anybody();
        let refused =
            realtime(Err(PolicyError::RealTime(HostError::Unsuitable("not allowed"))), &anybody, None);
        assert_eq!(refused.verdict, CheckVerdict::Limited);
        assert!(refused.fix.unwrap().starts_with("sudo setcap cap_"));
        let file = Path::new("/sys/fs/cgroup/cpu/x/cpu.rt_runtime_us");
        let error = PolicyError::RealTime(HostError::Unsuitable("not allowed"));
        let fix = realtime(Err(error), &anybody, Some(file)).fix.unwrap();
        assert!(fix.contains("(/sys/fs/cgroup/cpu/x/cpu.rt_runtime_us)") && !fix.contains("setcap"), "{fix}");
        assert_eq!(realtime(Ok(()), &anybody, None).verdict, CheckVerdict::Good);
        let refused = memory(&Err(HostError::Unsuitable("too little")), &anybody);
        assert!(
            refused.consequence.contains("--lock-memory") && refused.fix.unwrap().contains("cap_ipc_lock")
        );
        assert_eq!(memory(&Ok(()), &anybody).verdict, CheckVerdict::Good);
    }

    #[test]
    fn one_processor_of_many_is_a_limit() {
        assert_eq!((size_of_list("0-3,6"), size_of_list("0"), size_of_list("")), (5, 1, 0));
        let cpus = |usable: &[u16], online| Cpus { usable: usable.into(), online, isolated: String::new() };
        assert_eq!(affinity(&cpus(&[0, 1], 2)).verdict, CheckVerdict::Good);
        assert_eq!(affinity(&cpus(&[0], 1)).verdict, CheckVerdict::Good);
        assert_eq!(affinity(&cpus(&[3], 8)).verdict, CheckVerdict::Limited);
        let isolated = affinity(&Cpus { isolated: "2-3".into(), ..cpus(&[0, 1, 2, 3], 4) });
        assert!(isolated.observed.contains("processor 2-3"), "{}", isolated.observed);
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
        assert!(with(Some(133), None).fix.unwrap().contains("cpu_dma_latency"));
        assert!(with(Some(2), Some("powersave")).fix.unwrap().contains("scaling_governor"));
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

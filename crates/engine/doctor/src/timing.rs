//! Whether this host runs a program when it is due: its schedule, the time that is stolen from it, its cores.

use romer_host::clock::monotonic_now;
use romer_host::control_group::Quota;
use romer_host::pacing::{Pacer, Scheduling};
use romer_host::steal_monitor::{Gaps, StealMonitor, StealMonitorOptions};
use romer_host::{HostError, host_info};
use romer_metrics::summary;
use romer_record::document::DoctorFinding;
use romer_units::Duration;

use crate::finding::{WithValue, good, limited, percent, unknown};
use crate::rights::Rights;

const PACING: &str = "pacing";
const STOLEN: &str = "stolen_time";
/// The distance of the deadlines.
const INTERVAL: Duration = Duration::from_millis(1);
/// Departures that are later than this in one case of a hundred are worth a word.
const LATE_DEPARTURE_THRESHOLD: Duration = Duration::from_micros(100);
/// A host that takes more than this share, or this long at once, is worth a word.
const STOLEN_SHARE: f64 = 0.005;
const STOLEN_AT_ONCE: Duration = Duration::from_micros(250);

/// How well a schedule was kept.
#[derive(Clone, Debug)]
pub(crate) struct ScheduleAccuracy {
    scheduling: Scheduling,
    late: Vec<i64>,
}

/// Keeps deadlines that are a millisecond apart, for `duration`.
pub(crate) fn keep_schedule(duration: Duration) -> ScheduleAccuracy {
    let mut pacer = Pacer::start(INTERVAL);
    let mut late = Vec::new();
    let begin = monotonic_now();
    let mut due = begin + INTERVAL;
    while due - begin <= duration {
        late.push(pacer.wait_until(due).late.as_nanos());
        due = due + INTERVAL;
    }
    ScheduleAccuracy { scheduling: pacer.scheduling(), late }
}

/// What the schedule means.
pub(crate) fn pacing(schedule: &ScheduleAccuracy, rights: &Rights) -> DoctorFinding {
    let late = summary(&schedule.late);
    let [p50, p99] = [late.median, late.p99].map(|nanos| Duration::from_nanos_f64(nanos.unwrap_or_default()));
    let (granted, value) = match schedule.scheduling {
        Scheduling::RealTime => ("with real-time priority", "real_time"),
        Scheduling::Preferred => ("with raised priority", "preferred"),
        Scheduling::Ordinary => ("with ordinary priority", "ordinary"),
    };
    let found = format!(
        "The sender runs {granted}; lateness of {} deadlines 1 ms apart: median {}, p99 {}.",
        late.count,
        p50.rounded(),
        p99.rounded()
    );
    let recorded = "The actual departure of each packet is recorded, so delays are correct";
    let finding = if schedule.scheduling == Scheduling::Ordinary {
        limited(
            PACING,
            found,
            format!(
                "Other programs can delay departures. {recorded}; the traffic is less regular than requested."
            ),
            rights.grant(&[host_info::Capability::SysNice]),
        )
    } else if p99 > LATE_DEPARTURE_THRESHOLD {
        limited(
            PACING,
            found,
            format!("Some packets leave late. {recorded}; the traffic is less regular than requested."),
            "The finding \"stolen time\" has the share of the host; stop other programs on this host.",
        )
    } else {
        good(PACING, found, "Packets leave on schedule.")
    };
    finding
        .value("scheduling", value)
        .value("deadlines", late.count)
        .nanos("late_p50", p50)
        .nanos("late_p99", p99)
}

/// What the gap monitor saw in a stretch of time.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Stolen {
    observed: Duration,
    /// By the host and by interrupts.
    share: f64,
    longest: Duration,
    gaps: usize,
    /// By other programs of this system.
    others: Duration,
    /// What the hypervisor itself has said since the system's start.
    since_start: Option<Duration>,
}

impl Stolen {
    fn from_gaps(gaps: &Gaps) -> Self {
        Self {
            observed: gaps.observed(),
            share: gaps.stolen_ratio(),
            longest: gaps.longest_stolen(),
            gaps: gaps.list().iter().filter(|gap| gap.stolen() >= gaps.threshold()).count(),
            others: gaps.list().iter().fold(Duration::ZERO, |sum, gap| sum + gap.scheduled_away),
            since_start: host_info::stolen_time().ok(),
        }
    }
}

/// Watches a core for `duration`.
pub(crate) fn watch(duration: Duration) -> Result<Stolen, HostError> {
    let capacity = usize::try_from(duration.as_nanos() / 1_000).unwrap_or(0);
    let monitor = StealMonitor::start(StealMonitorOptions { capacity, ..StealMonitorOptions::default() })?;
    std::thread::sleep(duration.to_std());
    Ok(Stolen::from_gaps(&monitor.stop()))
}

/// What the stolen time means.
pub(crate) fn stolen(stolen: Result<Stolen, HostError>) -> DoctorFinding {
    let stolen = match stolen {
        Ok(stolen) if stolen.observed > Duration::ZERO => stolen,
        Ok(_) => return unknown(STOLEN, &HostError::Unsuitable("the monitor did not run"), TAILS),
        Err(error) => return unknown(STOLEN, &error, TAILS),
    };
    let others = stolen.others.as_secs_f64() / stolen.observed.as_secs_f64();
    let mut found = if stolen.gaps == 0 {
        format!("No interruption of 1 µs or more in {}.", stolen.observed.rounded())
    } else {
        format!(
            "Hypervisor and interrupts took {} of the processor time in {}; longest interruption {}.",
            percent(stolen.share),
            stolen.observed.rounded(),
            stolen.longest.rounded()
        )
    };
    if others > 0.001 {
        found.push_str(&format!(" Other programs took {}.", percent(others)));
    }
    let finding = if stolen.share > STOLEN_SHARE || stolen.longest > STOLEN_AT_ONCE {
        limited(
            STOLEN,
            found,
            TAILS,
            "Use a dedicated machine or dedicated processors; otherwise rely on medians.",
        )
    } else {
        good(STOLEN, found, "Tails of measured delays are those of the path.")
    };
    finding
        .nanos("observed", stolen.observed)
        .value("stolen_ratio", stolen.share)
        .nanos("longest", stolen.longest)
        .value("gaps", stolen.gaps)
        .value("other_programs_ratio", others)
        .value("stolen_since_start_ns", stolen.since_start.map(Duration::as_nanos))
}

const TAILS: &str = "Medians are reliable. High quantiles, maximum and standard deviation may be caused by the host, not by \
                     the path.";

/// What the number of cores means, and a quota of their time.
pub(crate) fn cores(number: usize, quota: Option<Quota>) -> DoctorFinding {
    let name = "cores";
    if let Some(Quota { quota, period }) = quota.filter(|quota| quota.is_short_of(number)) {
        let cores = if number == 1 { "one core".into() } else { format!("{number} cores") };
        let found = format!(
            "This process may use {cores}, but only {} in total per {} (control group limit).",
            quota.rounded(),
            period.rounded()
        );
        return limited(
            name,
            found,
            "When that is used up, all threads stall until the period ends: departures are late, and user-space time \
             stamps and tails are affected.",
            "Remove the limit: cpu.max or cpu.cfs_quota_us of the group, CPUQuota= of a systemd unit, --cpus of a container.",
        )
        .value("cores", number)
        .nanos("quota", quota)
        .nanos("period", period);
    }
    match number {
        0 | 1 => limited(
            name,
            "This process may use one core.",
            "Other programs disturb the sender, and the sender disturbs the receiver.",
            "Give the machine, or the container, a second core.",
        ),
        _ => good(
            name,
            format!("This process may use {number} cores."),
            "Sender and receiver do not wait for each other.",
        ),
    }
    .value("cores", number)
}

#[cfg(test)]
mod tests {
    use super::*;
    use romer_record::document::CheckVerdict;

    fn schedule(scheduling: Scheduling, late: i64) -> ScheduleAccuracy {
        ScheduleAccuracy { scheduling, late: vec![late; 300] }
    }

    #[test]
    fn a_schedule_is_good_if_it_is_protected_and_kept() {
        let anybody = Rights::of_anybody();
        for (scheduling, late, verdict) in [
            (Scheduling::RealTime, 80, CheckVerdict::Good),
            (Scheduling::Preferred, 5_000, CheckVerdict::Good),
            (Scheduling::RealTime, 400_000, CheckVerdict::Limited),
            (Scheduling::Ordinary, 80, CheckVerdict::Limited),
        ] {
            let finding = pacing(&schedule(scheduling, late), &anybody);
            assert_eq!(finding.verdict, verdict, "{finding:?}");
            assert_eq!(finding.values["late_p99_ns"], late);
        }
        let fix = pacing(&schedule(Scheduling::Ordinary, 80), &anybody).fix.unwrap();
        assert_eq!(
            fix,
            "sudo setcap cap_net_bind_service,cap_sys_nice,cap_net_admin,cap_ipc_lock+ep /usr/bin/romer"
        );
    }

    #[test]
    fn stolen_time_counts_by_its_share_and_by_its_longest_gap() {
        let observed = Duration::from_millis(300);
        let quiet = Stolen { observed, ..Stolen::default() };
        for (one, verdict, says) in [
            (quiet, CheckVerdict::Good, "No interruption of 1 µs"),
            (Stolen { share: 0.02, gaps: 9, ..quiet }, CheckVerdict::Limited, "2.00 % of the processor time"),
            (
                Stolen { longest: Duration::from_millis(4), gaps: 1, ..quiet },
                CheckVerdict::Limited,
                "longest interruption 4.00 ms",
            ),
            (
                Stolen { others: Duration::from_millis(3), ..quiet },
                CheckVerdict::Good,
                "Other programs took 1.00 %",
            ),
        ] {
            let finding = stolen(Ok(one));
            assert_eq!(finding.verdict, verdict, "{finding:?}");
            assert!(finding.observed.contains(says), "{}", finding.observed);
        }
        assert_eq!(stolen(Err(HostError::Unsuitable("no thread"))).verdict, CheckVerdict::Limited);
    }

    #[test]
    fn one_core_is_a_limit() {
        assert_eq!(
            (cores(1, None).verdict, cores(2, None).verdict),
            (CheckVerdict::Limited, CheckVerdict::Good)
        );
    }

    #[test]
    fn a_quota_is_told_as_time_and_not_as_cores() {
        let millis =
            |quota| Some(Quota { quota: Duration::from_millis(quota), period: Duration::from_millis(100) });
        let short = cores(2, millis(20));
        assert_eq!(short.verdict, CheckVerdict::Limited);
        let told = "may use 2 cores, but only 20.0 ms in total per 100 ms";
        assert!(short.observed.contains(told), "{}", short.observed);
        assert_eq!((&short.values["quota_ns"], &short.values["cores"]), (&20_000_000.into(), &2.into()));
        assert_eq!(cores(2, millis(200)).verdict, CheckVerdict::Good);
    }

    #[test]
    fn a_schedule_has_as_many_deadlines_as_milliseconds() {
        assert_eq!(keep_schedule(Duration::from_millis(20)).late.len(), 20);
    }
}

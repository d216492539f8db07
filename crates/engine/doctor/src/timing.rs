//! Whether this host runs a program when it is due: its schedule, the time that is stolen from it, its cores.

use romer_host::clock::monotonic_now;
use romer_host::control_group::Quota;
use romer_host::pacing::{Pacer, Scheduling};
use romer_host::steal_monitor::{Gaps, StealMonitor, StealMonitorOptions};
use romer_host::{HostError, host_info};
use romer_metrics::summary;
use romer_record::doctor::{DoctorCheck, DoctorFinding, DoctorFix, Facts, SchedulingClass, StolenTime};
use romer_units::Duration;

use crate::finding::{good, limited, unknown};
use crate::rights::Rights;

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
    let check = DoctorCheck::Pacing {
        scheduling: match schedule.scheduling {
            Scheduling::RealTime => SchedulingClass::RealTime,
            Scheduling::Preferred => SchedulingClass::Preferred,
            Scheduling::Ordinary => SchedulingClass::Ordinary,
        },
        deadlines: late.count,
        late_p50_ns: p50.as_nanos(),
        late_p99_ns: p99.as_nanos(),
    };
    if schedule.scheduling == Scheduling::Ordinary {
        limited(check, rights.grant(&[host_info::Capability::SysNice]))
    } else if p99 > LATE_DEPARTURE_THRESHOLD {
        limited(check, DoctorFix::StopOtherPrograms)
    } else {
        good(check)
    }
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
        Ok(_) => return unknown(DoctorCheck::StolenTime, &HostError::Unsuitable("the monitor did not run")),
        Err(error) => return unknown(DoctorCheck::StolenTime, &error),
    };
    let check = DoctorCheck::StolenTime(Facts::Known(StolenTime {
        observed_ns: stolen.observed.as_nanos(),
        stolen_ratio: stolen.share,
        longest_ns: stolen.longest.as_nanos(),
        gaps: count(stolen.gaps),
        other_programs_ratio: stolen.others.as_secs_f64() / stolen.observed.as_secs_f64(),
        stolen_since_start_ns: stolen.since_start.map(Duration::as_nanos),
    }));
    if stolen.share > STOLEN_SHARE || stolen.longest > STOLEN_AT_ONCE {
        limited(check, DoctorFix::UseDedicatedMachine)
    } else {
        good(check)
    }
}

/// What the number of cores means, and a quota of their time.
pub(crate) fn cores(number: usize, quota: Option<Quota>) -> DoctorFinding {
    let quota = quota.filter(|quota| quota.is_short_of(number));
    let check = DoctorCheck::Cores {
        cores: count(number),
        quota_ns: quota.map(|quota| quota.quota.as_nanos()),
        period_ns: quota.map(|quota| quota.period.as_nanos()),
    };
    match (quota, number) {
        (Some(_), _) => limited(check, DoctorFix::RemoveQuota),
        (None, 0 | 1) => limited(check, DoctorFix::AddProcessor),
        (None, _) => good(check),
    }
}

fn count(number: usize) -> u64 {
    u64::try_from(number).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::finding::command_of;
    use romer_record::doctor::CheckVerdict;

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
            let has_lateness =
                matches!(finding.check, DoctorCheck::Pacing { late_p99_ns, .. } if late_p99_ns == late);
            assert!(has_lateness, "{finding:?}");
        }
        assert_eq!(
            command_of(&pacing(&schedule(Scheduling::Ordinary, 80), &anybody)),
            "sudo setcap cap_net_bind_service,cap_sys_nice,cap_net_admin,cap_ipc_lock+ep /usr/bin/romer"
        );
    }

    #[test]
    fn stolen_time_counts_by_its_share_and_by_its_longest_gap() {
        let observed = Duration::from_millis(300);
        let quiet = Stolen { observed, ..Stolen::default() };
        for (one, verdict) in [
            (quiet, CheckVerdict::Good),
            (Stolen { share: 0.02, gaps: 9, ..quiet }, CheckVerdict::Limited),
            (Stolen { longest: Duration::from_millis(4), gaps: 1, ..quiet }, CheckVerdict::Limited),
            (Stolen { others: Duration::from_millis(3), ..quiet }, CheckVerdict::Good),
        ] {
            let finding = stolen(Ok(one));
            assert_eq!(finding.verdict, verdict, "{finding:?}");
            let DoctorCheck::StolenTime(Facts::Known(facts)) = &finding.check else { panic!("{finding:?}") };
            let others = one.others.as_secs_f64() / 0.3;
            assert!((facts.other_programs_ratio - others).abs() < 1e-12, "{finding:?}");
        }
        for failed in [Err(HostError::Unsuitable("no thread")), Ok(Stolen::default())] {
            let finding = stolen(failed);
            assert_eq!((finding.verdict, finding.fix), (CheckVerdict::Limited, Some(DoctorFix::RunOnHost)));
        }
    }

    #[test]
    fn one_core_is_a_limit() {
        assert_eq!(cores(1, None).fix, Some(DoctorFix::AddProcessor));
        assert_eq!(cores(2, None).verdict, CheckVerdict::Good);
    }

    /// A quota is stated as time, and only if it limits the processors.
    #[test]
    fn short_quotas_are_limits() {
        let millis =
            |quota| Some(Quota { quota: Duration::from_millis(quota), period: Duration::from_millis(100) });
        let short = cores(2, millis(20));
        assert_eq!((short.verdict, short.fix), (CheckVerdict::Limited, Some(DoctorFix::RemoveQuota)));
        let expected =
            DoctorCheck::Cores { cores: 2, quota_ns: Some(20_000_000), period_ns: Some(100_000_000) };
        assert_eq!(short.check, expected);
        let long = cores(2, millis(200));
        assert_eq!(long.verdict, CheckVerdict::Good);
        assert_eq!(long.check, DoctorCheck::Cores { cores: 2, quota_ns: None, period_ns: None });
    }

    #[test]
    fn a_schedule_has_as_many_deadlines_as_milliseconds() {
        assert_eq!(keep_schedule(Duration::from_millis(20)).late.len(), 20);
    }
}

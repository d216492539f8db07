//! Synchronisation of this host's clock: what its kernel states now, and what its daemons answered last.
//!
//! Asking the daemons takes milliseconds, and up to seconds if one does not answer. It is done once when the program needs the first
//! answer, and later in a thread of its own ([`renew`]), so that no greeting and no look waits for it.

use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};

use romer_clock::{CLOCK_QUERY_INTERVAL, bound_growth};
use romer_host::host_info;
use romer_host::sync::{self, SyncDaemon};
use romer_host::{HostError, clock};
use romer_record::document::{Chrony, ClockSync, Pps, Ptp};
use romer_units::{Duration, Monotonic, Timestamp};
use romer_wire::stamp::tlv::SyncSource;

/// Beginnings of the names of reference clocks (chrony's `refid`) that receive a satellite system or LORAN-C, or the pulse of such a
/// receiver.
const SATELLITE_REFERENCES: [&str; 8] = ["GPS", "GNSS", "GLO", "GAL", "BDS", "NMEA", "LORC", "PPS"];
/// Beginnings of those that read a network card's clock, which ptp4l synchronises.
const PTP_REFERENCES: [&str; 2] = ["PHC", "PTP"];

/// What the synchronisation daemons of this host answered last.
#[derive(Clone, Debug, Default)]
pub struct SyncDaemons {
    names: Vec<String>,
    /// With the time of the question.
    chrony: Option<(sync::Chrony, Timestamp<Monotonic>)>,
    ptp: Option<sync::Ptp>,
    pps_sources: Vec<String>,
}

struct Answers {
    latest: Arc<SyncDaemons>,
    asked: Timestamp<Monotonic>,
    is_asking: bool,
}

static ANSWERS: OnceLock<Mutex<Answers>> = OnceLock::new();

/// The answers of this process, the first of which is waited for.
fn answers() -> MutexGuard<'static, Answers> {
    let first = || {
        let latest = Arc::new(SyncDaemons::default().asked_again());
        Mutex::new(Answers { latest, asked: clock::monotonic_now(), is_asking: false })
    };
    ANSWERS.get_or_init(first).lock().unwrap_or_else(PoisonError::into_inner)
}

/// The latest answers. Only the first call of a process waits for them.
pub fn sync_daemons() -> Arc<SyncDaemons> {
    Arc::clone(&answers().latest)
}

/// What a synchronised clock of this host is synchronised by (RFC 8972 section 5.4), as the latest answers state it. It waits for no
/// daemon: NTP before the first answers, and where no daemon is visible.
pub fn sync_source() -> SyncSource {
    let Some(answers) = ANSWERS.get() else { return SyncSource::NTP };
    let latest = Arc::clone(&answers.lock().unwrap_or_else(PoisonError::into_inner).latest);
    latest.source()
}

/// Asks the daemons again in a thread of its own, if they were not asked within the last 16 s.
pub fn renew() {
    let mut answers = answers();
    let is_fresh = clock::monotonic_now() - answers.asked < CLOCK_QUERY_INTERVAL;
    if is_fresh || std::mem::replace(&mut answers.is_asking, true) {
        return;
    }
    let before = Arc::clone(&answers.latest);
    drop(answers);
    let asking = std::thread::Builder::new().name("clock-sync".into()).spawn(move || {
        let latest = Arc::new(before.asked_again());
        store(Some(latest));
    });
    if asking.is_err() {
        // The system has no thread to spare: the next call tries again after the same time.
        store(None);
    }
}

fn store(latest: Option<Arc<SyncDaemons>>) {
    let mut answers = answers();
    if let Some(latest) = latest {
        answers.latest = latest;
    }
    answers.asked = clock::monotonic_now();
    answers.is_asking = false;
}

/// The synchronisation of this host's clock: what the kernel states now, and what the daemons answered last.
pub fn clock_sync() -> ClockSync {
    sync_daemons().state(host_info::clock_sync(), clock::monotonic_now())
}

impl SyncDaemons {
    /// The answers to the same questions now. A daemon that runs and does not answer keeps its last answer.
    fn asked_again(&self) -> Self {
        let Some(found) = sync::sync_daemons() else { return self.clone() };
        let now = clock::monotonic_now();
        let of_chrony = || sync::chrony().map(|chrony| (chrony, now)).or_else(|| self.chrony.clone());
        let of_ptp = || sync::ptp().or_else(|| self.ptp.clone());
        Self {
            names: found.iter().map(|daemon| daemon.name().to_owned()).collect(),
            chrony: found.contains(&SyncDaemon::Chrony).then(of_chrony).flatten(),
            ptp: found.contains(&SyncDaemon::Ptp4l).then(of_ptp).flatten(),
            pps_sources: sync::pps_sources(),
        }
    }

    /// What a synchronised clock is synchronised by, if these answers are right.
    fn source(&self) -> SyncSource {
        let runs = |daemon: SyncDaemon| self.names.iter().any(|name| name == daemon.name());
        let by_ptp = || runs(SyncDaemon::Ptp4l) || runs(SyncDaemon::Phc2sys);
        let begins = |name: &str, with: &[&str]| with.iter().any(|begin| name.starts_with(begin));
        let chrony = self.chrony.as_ref().filter(|(chrony, _)| chrony.stratum > 0);
        let Some((chrony, _)) = chrony else {
            let ntp = [SyncDaemon::Ntpd, SyncDaemon::NtpdRs, SyncDaemon::Timesyncd].into_iter().any(runs);
            return if by_ptp() && !ntp { SyncSource::PTP } else { SyncSource::NTP };
        };
        let reference = chrony.reference.as_str();
        match () {
            // chrony follows its own clock (`local`).
            () if reference.is_empty() => SyncSource::FREE_RUNNING,
            () if reference.contains(['.', ':']) => SyncSource::NTP,
            () if begins(reference, &PTP_REFERENCES) => SyncSource::PTP,
            () if begins(reference, &SATELLITE_REFERENCES) || runs(SyncDaemon::Gpsd) => SyncSource::SATELLITE,
            () if by_ptp() => SyncSource::PTP,
            () => SyncSource::NTP,
        }
    }

    /// The state of the clock `now` by these answers and that of the kernel.
    fn state(&self, kernel: Result<host_info::ClockSync, HostError>, now: Timestamp<Monotonic>) -> ClockSync {
        let kernel = kernel.ok();
        ClockSync {
            synchronised: kernel.map(|state| state.synchronised),
            estimated_error_ns: kernel.map(|state| state.estimated_error.as_nanos()),
            maximum_error_ns: kernel.map(|state| state.maximum_error.as_nanos()),
            state: kernel.map(|state| state.state.name().to_owned()),
            frequency_ppm: kernel.map(|state| state.frequency_ppm),
            tai_offset_s: kernel.map(|state| state.tai_offset_s),
            sync_daemons: self.names.clone(),
            chrony: self.chrony.as_ref().map(|(chrony, asked)| grown(chrony, now - *asked)),
            ptp: self.ptp.as_ref().map(|ptp| Ptp {
                grandmaster: ptp.grandmaster.clone(),
                offset_ns: ptp.offset.as_nanos(),
                port_state: ptp.port_state.clone(),
            }),
            pps: kernel.filter(|state| state.pps.signal || !self.pps_sources.is_empty()).map(|state| Pps {
                sources: self.pps_sources.clone(),
                signal: state.pps.signal,
                frequency_ppm: state.pps.frequency_ppm,
                jitter_ns: state.pps.jitter.as_nanos(),
                intervals: state.pps.intervals,
                errors: state.pps.errors,
            }),
            largest_error_bound_ns: None,
        }
    }
}

/// An answer of chrony of this `age`: its bound has grown by what its rate may be wrong.
fn grown(chrony: &sync::Chrony, age: Duration) -> Chrony {
    Chrony {
        reference: chrony.reference.clone(),
        stratum: chrony.stratum,
        offset_ns: chrony.offset.as_nanos(),
        bound_ns: (chrony.bound + bound_growth(chrony.skew_ppm, age)).as_nanos(),
        skew_ppm: chrony.skew_ppm,
        updated_ns: chrony.updated.map(Duration::as_nanos),
        update_interval_ns: chrony.update_interval.map(Duration::as_nanos),
    }
}

#[cfg(test)]
mod tests {
    use romer_clock::SyncWatch;
    use romer_host::host_info::{ClockState, PpsDiscipline};
    use romer_record::event::EventDetail;

    use super::*;

    fn kernel(synchronised: bool) -> Result<host_info::ClockSync, HostError> {
        Ok(host_info::ClockSync {
            synchronised,
            estimated_error: Duration::from_micros(20),
            maximum_error: Duration::from_millis(30),
            frequency_ppm: -3.5,
            state: if synchronised { ClockState::Ok } else { ClockState::Error },
            tai_offset_s: 37,
            pps: PpsDiscipline::default(),
        })
    }

    fn at(seconds: i64) -> Timestamp<Monotonic> {
        Timestamp::from_nanos(seconds * 1_000_000_000)
    }

    /// Answers of a host with chronyd, whose answer is of second 100.
    fn answers() -> SyncDaemons {
        let chrony = sync::Chrony {
            reference: "192.0.2.1".into(),
            stratum: 3,
            offset: Duration::from_micros(-12),
            bound: Duration::from_millis(2),
            skew_ppm: 0.5,
            updated: Some(Duration::from_secs(1_700_000_000)),
            update_interval: Some(Duration::from_secs(64)),
        };
        SyncDaemons {
            names: vec!["chronyd".into()],
            chrony: Some((chrony, at(100))),
            ..SyncDaemons::default()
        }
    }

    /// The bound of an answer grows by its skew and 1 ppm: by 1.5 ms in 1,000 s at 0.5 ppm.
    #[test]
    fn old_answers_have_larger_bounds() {
        let bound = |seconds| answers().state(kernel(true), at(seconds)).error_bound_ns();
        assert_eq!(bound(100), Some(2_000_000));
        assert_eq!(bound(1_100), Some(3_500_000));
        assert_eq!(bound(90), Some(2_000_000), "no answer is of the future");
    }

    /// chrony that is stopped, unsynchronised or without an update is reported; what the kernel does not state is unknown.
    #[test]
    fn faults_of_chrony_are_events() {
        let mut watch = SyncWatch::new(answers().state(kernel(true), at(100)));
        assert_eq!(watch.look(answers().state(kernel(true), at(116))), []);
        let coasting = watch.look(answers().state(kernel(true), at(2_000)));
        let [EventDetail::Holdover { bound_ns, bound_before_ns }] = coasting[..] else {
            panic!("{coasting:?}")
        };
        assert_eq!((bound_ns, bound_before_ns), (4_850_000, 2_000_000));
        assert_eq!(watch.look(answers().state(kernel(false), at(2_001))), [EventDetail::Unsynchronised]);
        assert_eq!(watch.look(answers().state(kernel(true), at(2_002))), [EventDetail::Synchronised]);
        let stopped = SyncDaemons::default().state(kernel(true), at(2_003));
        assert_eq!(stopped.error_bound_ns(), None);
        let daemon = "chronyd".to_owned();
        assert_eq!(watch.look(stopped), [EventDetail::SyncDaemonStopped { daemon }]);
        let forbidden = answers().state(Err(HostError::Unsuitable("forbidden")), at(100));
        assert_eq!((forbidden.synchronised, forbidden.error_bound_ns()), (None, None));
    }

    /// The source of a synchronised clock follows from chrony's reference and the daemons that run.
    #[test]
    fn sources_follow_from_daemons() {
        let source = |reference: Option<&str>, daemons: &[SyncDaemon]| {
            let mut found = answers();
            found.names = daemons.iter().map(|daemon| daemon.name().to_owned()).collect();
            let (chrony, asked) = found.chrony.take().unwrap();
            found.chrony =
                reference.map(|reference| (sync::Chrony { reference: reference.into(), ..chrony }, asked));
            found.source()
        };
        let chrony = [SyncDaemon::Chrony];
        for (reference, expected) in [
            ("192.0.2.1", SyncSource::NTP),
            ("2001:db8::1", SyncSource::NTP),
            ("PHC0", SyncSource::PTP),
            ("GPS", SyncSource::SATELLITE),
            ("PPS0", SyncSource::SATELLITE),
            ("DCFa", SyncSource::NTP),
            ("", SyncSource::FREE_RUNNING),
        ] {
            assert_eq!(source(Some(reference), &chrony), expected, "{reference}");
        }
        assert_eq!(source(Some("SHM0"), &[SyncDaemon::Chrony, SyncDaemon::Gpsd]), SyncSource::SATELLITE);
        assert_eq!(source(Some("SHM0"), &[SyncDaemon::Chrony, SyncDaemon::Ptp4l]), SyncSource::PTP);
        assert_eq!(source(None, &[SyncDaemon::Ptp4l, SyncDaemon::Phc2sys]), SyncSource::PTP);
        assert_eq!(source(None, &[SyncDaemon::NtpdRs, SyncDaemon::Ptp4l]), SyncSource::NTP);
        assert_eq!(source(None, &[]), SyncSource::NTP);
    }

    /// Asking again within 16 s asks nobody.
    #[test]
    fn renewals_are_rare() {
        let before = sync_daemons();
        renew();
        assert!(Arc::ptr_eq(&before, &sync_daemons()));
        assert_eq!(clock_sync().largest_error_bound_ns, None);
    }
}

//! Who keeps the real-time clock right, and how well: the kernel's own words, the daemons that run here, and what
//! chrony says where it is one of them.

use std::io::Read;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration as StdDuration, Instant};

use romer_units::Duration;

/// How long chrony's own client may take to answer.
const CHRONYC_TIMEOUT: StdDuration = StdDuration::from_secs(1);
/// Where that client is, as distributions place it.
const CHRONYC: [&str; 3] = ["/usr/bin/chronyc", "/usr/local/bin/chronyc", "/usr/sbin/chronyc"];
/// More than it ever answers, in octets.
const MAX_REPLY_OCTETS: u64 = 4_096;

/// A program that sets or steers the clock.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum SyncDaemon {
    /// chronyd.
    Chrony,
    /// ntpd, of NTP's reference implementation, NTPsec or OpenBSD.
    Ntpd,
    /// ntp-daemon of ntpd-rs.
    NtpdRs,
    /// systemd-timesyncd.
    Timesyncd,
    /// ptp4l, which steers a network card's clock (or, without one, the system's).
    Ptp4l,
    /// phc2sys, which steers the system's clock by a network card's.
    Phc2sys,
}

impl SyncDaemon {
    /// All that are looked for.
    pub const ALL: [Self; 6] =
        [Self::Chrony, Self::Ntpd, Self::NtpdRs, Self::Timesyncd, Self::Ptp4l, Self::Phc2sys];

    /// What people call it.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Chrony => "chronyd",
            Self::Ntpd => "ntpd",
            Self::NtpdRs => "ntpd-rs",
            Self::Timesyncd => "systemd-timesyncd",
            Self::Ptp4l => "ptp4l",
            Self::Phc2sys => "phc2sys",
        }
    }

    /// What the kernel calls its process: 15 octets at the most.
    const fn process(self) -> &'static str {
        match self {
            Self::NtpdRs => "ntp-daemon",
            Self::Timesyncd => "systemd-timesyn",
            other => other.name(),
        }
    }
}

/// The daemons that run on this system, so far as this process may see them.
pub fn sync_daemons() -> Vec<SyncDaemon> {
    let Ok(processes) = Path::new("/proc").read_dir() else { return Vec::new() };
    let numbered = processes.filter_map(|entry| {
        let entry = entry.ok()?;
        entry.file_name().to_str()?.parse::<u32>().ok()?;
        std::fs::read_to_string(entry.path().join("comm")).ok()
    });
    sync_daemons_among(numbered)
}

fn sync_daemons_among(processes: impl Iterator<Item = String>) -> Vec<SyncDaemon> {
    let mut found: Vec<SyncDaemon> = processes
        .filter_map(|name| SyncDaemon::ALL.into_iter().find(|keeper| keeper.process() == name.trim_end()))
        .collect();
    found.sort_unstable();
    found.dedup();
    found
}

/// What chrony knows of the clock that it keeps (`chronyc tracking`).
#[derive(Clone, Debug, PartialEq)]
pub struct Chrony {
    /// The server that it follows, by name or address; empty for none.
    pub reference: String,
    /// Its distance from a reference clock; 0 where it follows nobody.
    pub stratum: u8,
    /// By how much the system's clock is behind (positive) or ahead of what chrony holds for true.
    pub offset: Duration,
    /// The bound that chrony states for the error of the system's clock: the offset, the root's dispersion and half
    /// the root's delay.
    pub bound: Duration,
    /// How well the clock's rate is known, in parts per million.
    pub skew_ppm: f64,
}

/// Asks chrony, where its client is installed and the daemon answers it within a second.
pub fn chrony() -> Option<Chrony> {
    let client = CHRONYC.into_iter().find(|path| Path::new(path).exists())?;
    tracking(&answer_of(Command::new(client).args(["-n", "-c", "tracking"]))?)
}

/// What a command prints, if it ends well within [`CHRONYC_TIMEOUT`].
fn answer_of(command: &mut Command) -> Option<String> {
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::null());
    let mut child = command.spawn().ok()?;
    let deadline = Instant::now() + CHRONYC_TIMEOUT;
    let status = loop {
        match child.try_wait() {
            Ok(Some(status)) => break Some(status),
            Ok(None) if Instant::now() < deadline => std::thread::sleep(StdDuration::from_millis(5)),
            _ => break None,
        }
    };
    if status.is_none() {
        let _ = child.kill();
        let _ = child.wait();
    }
    // A line fits into the pipe, so that the client never waits for us to read.
    let mut text = String::new();
    child.stdout.take()?.take(MAX_REPLY_OCTETS).read_to_string(&mut text).ok()?;
    status.filter(std::process::ExitStatus::success).map(|_| text)
}

/// Reads the fields that `chronyc -c tracking` parts by commas: identifier, name, stratum, time of the last update,
/// offset, last offset, its root mean square, frequency, residual frequency, skew, root delay, root dispersion, and
/// more.
fn tracking(text: &str) -> Option<Chrony> {
    let fields: Vec<&str> = text.lines().next()?.split(',').collect();
    let seconds = |place: usize| fields.get(place)?.parse::<f64>().ok().filter(|value| value.is_finite());
    let (offset, delay, dispersion) = (seconds(4)?, seconds(10)?, seconds(11)?);
    Some(Chrony {
        reference: fields.get(1)?.chars().filter(|c| !c.is_control()).take(100).collect(),
        stratum: fields.get(2)?.parse().ok()?,
        offset: of_seconds(offset)?,
        bound: of_seconds(offset.abs() + dispersion.abs() + delay.abs() / 2.0)?,
        skew_ppm: seconds(9)?,
    })
}

/// A length of less than a year, to the nearest nanosecond.
fn of_seconds(seconds: f64) -> Option<Duration> {
    (seconds.abs() < 3e7).then(|| Duration::from_nanos_f64(seconds * 1e9))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn daemons_are_known_by_the_names_of_their_processes() {
        let running = ["systemd\n", "phc2sys\n", "chronyd\n", "chronyd\n", "systemd-timesyn\n", "chronydx\n"];
        let found = sync_daemons_among(running.into_iter().map(str::to_owned));
        assert_eq!(found, [SyncDaemon::Chrony, SyncDaemon::Timesyncd, SyncDaemon::Phc2sys]);
        assert!(SyncDaemon::ALL.into_iter().all(|keeper| keeper.process().len() <= 15));
    }

    #[test]
    fn what_chrony_says_is_read_with_its_bound() {
        let line = "C0000201,192.0.2.1,3,1732233600.123,-0.000012345,0.000001,0.000020,-12.345,0.001,0.250,0.010000000,\
                    0.000500000,64.2,Normal\n";
        let chrony = tracking(line).unwrap();
        assert_eq!((chrony.reference.as_str(), chrony.stratum), ("192.0.2.1", 3));
        assert_eq!(chrony.offset, Duration::from_nanos(-12_345));
        assert_eq!(chrony.bound, Duration::from_nanos(12_345 + 500_000 + 5_000_000));
        assert!((chrony.skew_ppm - 0.25).abs() < 1e-12);
        // Nobody to follow.
        let alone = "00000000,,0,0.000000000,0.000000000,0.0,0.0,0.0,0.0,0.0,1.0,1.0,0.0,Not synchronised";
        assert_eq!(tracking(alone).unwrap().stratum, 0);
        for bad in [
            "",
            "506 Cannot talk to daemon",
            "a,b,c",
            &line.replace("0.250", "inf"),
            &line.replace(",3,", ",x,"),
        ] {
            assert_eq!(tracking(bad), None, "{bad}");
        }
    }

    proptest! {
        #[test]
        fn any_answer_is_read_or_refused(text: String) {
            let _ = tracking(&text);
        }
    }

    #[test]
    fn a_client_that_does_not_end_is_given_up_and_its_failure_is_no_answer() {
        assert_eq!(answer_of(Command::new("sleep").arg("600")), None);
        assert_eq!(answer_of(Command::new("sh").args(["-c", "echo word; exit 1"])), None);
        assert_eq!(answer_of(Command::new("sh").args(["-c", "echo word"])).as_deref(), Some("word\n"));
    }
}

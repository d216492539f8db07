//! Synchronisation of the real-time clock: the daemons that run on this host, the answers of chronyd and ptp4l, and sources of a
//! pulse per second. The state of the kernel is [`clock_sync`](crate::host_info::clock_sync).

use std::io::Read;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration as StdDuration, Instant};

use romer_units::Duration;

use crate::HostError;
use crate::clock::Realtime;

/// Longest time for an answer of a daemon's client.
const CLIENT_TIMEOUT: StdDuration = StdDuration::from_secs(1);
/// Paths of chrony's client in distributions.
const CHRONYC: [&str; 3] = ["/usr/bin/chronyc", "/usr/local/bin/chronyc", "/usr/sbin/chronyc"];
/// Paths of linuxptp's client in distributions.
const PMC: [&str; 3] = ["/usr/sbin/pmc", "/usr/local/sbin/pmc", "/usr/bin/pmc"];
/// Sources of a pulse per second.
const PPS: &str = "/sys/class/pps";
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
    /// gpsd, which gives another daemon the time of a receiver.
    Gpsd,
}

impl SyncDaemon {
    /// All that are looked for.
    pub const ALL: [Self; 7] =
        [Self::Chrony, Self::Ntpd, Self::NtpdRs, Self::Timesyncd, Self::Ptp4l, Self::Phc2sys, Self::Gpsd];

    /// What people call it.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Chrony => "chronyd",
            Self::Ntpd => "ntpd",
            Self::NtpdRs => "ntpd-rs",
            Self::Timesyncd => "systemd-timesyncd",
            Self::Ptp4l => "ptp4l",
            Self::Phc2sys => "phc2sys",
            Self::Gpsd => "gpsd",
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

/// The folder of each process that this one may see, and its name. `None` if it may not see processes.
fn processes() -> Option<impl Iterator<Item = (PathBuf, String)>> {
    let entries = Path::new("/proc").read_dir().ok()?;
    Some(entries.filter_map(|entry| {
        let entry = entry.ok()?;
        entry.file_name().to_str()?.parse::<u32>().ok()?;
        let name = std::fs::read_to_string(entry.path().join("comm")).ok()?;
        Some((entry.path(), name))
    }))
}

/// The daemons that run on this system, so far as this process may see them; `None` if it may not see processes.
pub fn sync_daemons() -> Option<Vec<SyncDaemon>> {
    let names: Vec<String> = processes()?.map(|(_, name)| name).collect();
    // This process is one of them, unless processes are hidden.
    (!names.is_empty()).then(|| sync_daemons_among(names.into_iter()))
}

fn sync_daemons_among(processes: impl Iterator<Item = String>) -> Vec<SyncDaemon> {
    let mut found: Vec<SyncDaemon> = processes
        .filter_map(|name| SyncDaemon::ALL.into_iter().find(|keeper| keeper.process() == name.trim_end()))
        .collect();
    found.sort_unstable();
    found.dedup();
    found
}

/// Whether chronyd steers the clock of this system: with `-x` it does not. `None` if no chronyd is visible to this process.
pub fn chronyd_steers() -> Option<bool> {
    let (folder, _) = processes()?.find(|(_, name)| name.trim_end() == SyncDaemon::Chrony.process())?;
    Some(!leaves_clock(&std::fs::read(folder.join("cmdline")).ok()?))
}

/// Whether `-x` is among the arguments of chronyd, each of which ends with a zero octet.
fn leaves_clock(command_line: &[u8]) -> bool {
    /// Options that take a value: what follows in the argument is no option.
    const WITH_VALUE: &[u8] = b"fFlLPtu";
    let has_option = |argument: &[u8]| {
        let letters = argument.strip_prefix(b"-").unwrap_or_default();
        letters.iter().take_while(|letter| !WITH_VALUE.contains(letter)).any(|letter| *letter == b'x')
    };
    command_line.split(|octet| *octet == 0).skip(1).any(has_option)
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
    /// Last update of the clock by the reference, after 1970-01-01 UTC; `None` if there was none.
    pub updated: Option<Duration>,
    /// Time between the last two updates; `None` if it is unknown.
    pub update_interval: Option<Duration>,
}

/// Asks chrony, where its client is installed and the daemon answers it within a second.
pub fn chrony() -> Option<Chrony> {
    let client = CHRONYC.into_iter().find(|path| Path::new(path).exists())?;
    tracking(&answer_of(Command::new(client).args(["-n", "-c", "tracking"]))?)
}

/// State of the clock that ptp4l steers. It states no bound of its error.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Ptp {
    /// Identity of the grandmaster; `None` if there is none.
    pub grandmaster: Option<String>,
    /// Offset from the master.
    pub offset: Duration,
    /// State of the first port, such as `SLAVE`; `None` if unknown.
    pub port_state: Option<String>,
}

/// Asks ptp4l over its Unix socket, where linuxptp's client is installed and the daemon answers within a second: root only.
pub fn ptp() -> Option<Ptp> {
    let client = PMC.into_iter().find(|path| Path::new(path).exists())?;
    let questions = ["-u", "-b", "0", "GET TIME_STATUS_NP", "GET PORT_DATA_SET"];
    ptp_status(&answer_of(Command::new(client).args(questions))?)
}

/// The answers of `pmc`: a name and a value a line.
fn ptp_status(text: &str) -> Option<Ptp> {
    let value = |name: &str| {
        let mut fields = text.lines().map(str::split_whitespace);
        fields.find_map(|mut words| (words.next()? == name).then(|| words.next())?)
    };
    let has_grandmaster = value("gmPresent") == Some("true");
    let word = |word: &str| word.chars().filter(|c| c.is_ascii_graphic()).take(40).collect::<String>();
    Some(Ptp {
        grandmaster: value("gmIdentity").filter(|_| has_grandmaster).map(word),
        offset: Duration::from_nanos(value("master_offset")?.parse().ok()?),
        port_state: value("portState").map(word),
    })
}

/// The sources of a pulse per second of this host, in order of their names.
pub fn pps_sources() -> Vec<String> {
    let Ok(entries) = Path::new(PPS).read_dir() else { return Vec::new() };
    let names = entries.filter_map(|entry| entry.ok()?.file_name().into_string().ok());
    let mut names: Vec<String> = names.collect();
    names.sort_unstable();
    names
}

/// A pulse of a source: its number, and the real-time clock at its assert edge.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PpsEdge {
    /// Number of the pulse since the source began.
    pub sequence: u64,
    /// Real-time clock, nanoseconds.
    pub realtime: Realtime,
}

/// The latest pulse of the source `name`, such as `pps0`; `None` if there has been none.
///
/// # Errors
/// There is no such source, or it has no assert edges.
pub fn pps_edge(name: &str) -> Result<Option<PpsEdge>, HostError> {
    let is_name = name.chars().all(|letter| letter.is_ascii_alphanumeric());
    let path = Path::new(PPS).join(name).join("assert");
    if name.is_empty() || !is_name || !path.exists() {
        return Err(HostError::Missing { what: "source of a pulse per second", name: name.to_owned() });
    }
    let text = std::fs::read_to_string(path).map_err(|source| HostError::System {
        operation: "read the pulse per second",
        subject: name.to_owned(),
        source,
    })?;
    Ok(edge(&text).filter(|edge| edge.sequence > 0))
}

/// Reads `SECONDS.NANOSECONDS#SEQUENCE`.
fn edge(text: &str) -> Option<PpsEdge> {
    let (time, sequence) = text.trim().split_once('#')?;
    let (seconds, nanos) = time.split_once('.')?;
    let nanos: i64 = Some(nanos).filter(|digits| digits.len() == 9)?.parse().ok()?;
    let realtime = seconds.parse::<i64>().ok()?.checked_mul(1_000_000_000)?.checked_add(nanos)?;
    Some(PpsEdge { sequence: sequence.parse().ok()?, realtime: Realtime::from_nanos(realtime) })
}

/// What a command prints, if it ends well within [`CLIENT_TIMEOUT`].
fn answer_of(command: &mut Command) -> Option<String> {
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::null());
    let mut child = command.spawn().ok()?;
    let deadline = Instant::now() + CLIENT_TIMEOUT;
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
/// offset, last offset, its root mean square, frequency, residual frequency, skew, root delay, root dispersion,
/// update interval, and more.
fn tracking(text: &str) -> Option<Chrony> {
    let fields: Vec<&str> = text.lines().next()?.split(',').collect();
    let seconds = |place: usize| fields.get(place)?.parse::<f64>().ok().filter(|value| value.is_finite());
    let (offset, delay, dispersion) = (seconds(4)?, seconds(10)?, seconds(11)?);
    let updated = seconds(3).filter(|updated| (1.0..6e9).contains(updated));
    Some(Chrony {
        reference: fields.get(1)?.chars().filter(|c| !c.is_control()).take(100).collect(),
        stratum: fields.get(2)?.parse().ok()?,
        offset: of_seconds(offset)?,
        bound: of_seconds(offset.abs() + dispersion.abs() + delay.abs() / 2.0)?,
        skew_ppm: seconds(9)?,
        updated: updated.map(|updated| Duration::from_nanos_f64(updated * 1e9)),
        update_interval: seconds(12).filter(|interval| *interval > 0.0).and_then(of_seconds),
    })
}

/// A length of less than a year, to the nearest nanosecond.
fn of_seconds(seconds: f64) -> Option<Duration> {
    (seconds.abs() < 3e7).then(|| Duration::from_nanos_f64(seconds * 1e9))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// `-x` alone, or with other letters, leaves the clock as it is; the letters of a value do not.
    #[test]
    fn option_of_chronyd_is_found() {
        for (line, leaves) in [
            ("/usr/sbin/chronyd\0-x\0", true),
            ("chronyd\0-F\x001\0-nx\0", true),
            ("/usr/sbin/chronyd\0-F\x001\0", false),
            ("/usr/sbin/xchronyd\0-f/etc/x.conf\0-u\0x\0", false),
            ("", false),
        ] {
            assert_eq!(leaves_clock(line.as_bytes()), leaves, "{line:?}");
        }
    }
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
        let updated = chrony.updated.unwrap() - Duration::from_nanos(1_732_233_600_123_000_000);
        assert!(updated.abs() < Duration::from_micros(1), "{updated:?}");
        assert_eq!(chrony.update_interval, Some(Duration::from_nanos(64_200_000_000)));
        // Nobody to follow.
        let alone = "00000000,,0,0.000000000,0.000000000,0.0,0.0,0.0,0.0,0.0,1.0,1.0,0.0,Not synchronised";
        let alone = tracking(alone).unwrap();
        assert_eq!((alone.stratum, alone.updated, alone.update_interval), (0, None, None));
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

    /// An answer of `pmc` has offset, port state and grandmaster.
    #[test]
    fn answers_of_ptp4l_are_read() {
        let answer = "sending: GET TIME_STATUS_NP\n\t0cc47a.fffe.112233-0 seq 0 RESPONSE MANAGEMENT TIME_STATUS_NP\n\t\t\
                      master_offset              -37\n\t\tingress_time               1732233600123456789\n\t\t\
                      gmPresent                  true\n\t\tgmIdentity                 0cc47a.fffe.aabbcc\n\
                      sending: GET PORT_DATA_SET\n\t\tportState               SLAVE\n";
        let found = ptp_status(answer).unwrap();
        assert_eq!(found.offset, Duration::from_nanos(-37));
        assert_eq!(found.grandmaster.as_deref(), Some("0cc47a.fffe.aabbcc"));
        assert_eq!(found.port_state.as_deref(), Some("SLAVE"));
        let alone = ptp_status(&answer.replace("true", "false")).unwrap();
        assert_eq!(alone.grandmaster, None);
        assert_eq!(ptp_status("sending: GET TIME_STATUS_NP\n"), None);
    }

    /// A pulse is read with its number; a source without one has none.
    #[test]
    fn pulses_are_read() {
        let read = edge("1732233600.000001234#77\n").unwrap();
        assert_eq!((read.sequence, read.realtime.as_nanos()), (77, 1_732_233_600_000_001_234));
        for bad in ["", "1.5#1", "1.000000000", "x.000000000#1", "1.000000000#-1"] {
            assert_eq!(edge(bad), None, "{bad}");
        }
    }

    proptest! {
        #[test]
        fn any_answer_is_read_or_refused(text: String) {
            let _ = (tracking(&text), ptp_status(&text), edge(&text));
        }
    }

    #[test]
    fn a_client_that_does_not_end_is_given_up_and_its_failure_is_no_answer() {
        assert_eq!(answer_of(Command::new("sleep").arg("600")), None);
        assert_eq!(answer_of(Command::new("sh").args(["-c", "echo word; exit 1"])), None);
        assert_eq!(answer_of(Command::new("sh").args(["-c", "echo word"])).as_deref(), Some("word\n"));
    }
}

//! How long it takes to analyse a long run, and in how much memory: runs are written as `romer measure` leaves them, and
//! read by the program in a process of its own. No packet is sent.
//!
//! Beside it stands what nobody can do without, by the simplest means, in one thread: the octets of the same file are read,
//! and the delays of the same packets are sorted once.

use std::collections::BTreeMap;
use std::path::Path;
use std::process::Command;
use std::sync::atomic::AtomicBool;
use std::time::{Duration as StdDuration, Instant};

use anyhow::{Context, Result};
use romer_record::RoundTrip;
use romer_record::document::{Metadata, ProbeDirection, Traffic};
use romer_record::manifest::{ClockRelation, Manifest, SkewRequest, StampRequest, Status, Stream};
use romer_record::voice::VoiceRequest;
use romer_store::{Finished, Location, NewRun, RowsFile};
use romer_units::Timestamp;
use romer_units::random::{RandomStream as Chance, Seed};
use serde::Serialize;

use crate::scale::{peak_kib, to_the_end};

/// Between two looks at the program.
const POLL_INTERVAL: StdDuration = StdDuration::from_millis(10);
const SEED: Seed = Seed([1676, 12, 7, 10, 5, 9]);
/// Time between departures, nanoseconds.
const INTERVAL_NS: i64 = 100_000;
/// The responder's clock is ahead by so much, nanoseconds, and runs faster by so many parts in a million.
const OFFSET_NS: i64 = 31_415_926_535;
const SKEW_PPM: i64 = 20;
/// The least delay of a way, and the mean of what packets wait besides, nanoseconds.
const LEAST_NS: i64 = 5_000_000;
const WAITING_NS: f64 = 60_000.0;
/// Packets leave a queue so far apart at least, and what goes another way takes so much longer, nanoseconds.
const SPACING_NS: i64 = 1_000;
const OTHER_WAY_NS: i64 = 1_000_000;
/// One packet of so many is lost, as many wait for long, and as many come twice.
const RARE: f64 = 0.002;

/// One run that was analysed.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub(crate) struct Analysed {
    /// Whether its packets went there and back, so that each probe is two.
    pub(crate) round_trips: bool,
    /// Packets.
    pub(crate) packets: u64,
    /// Octets of `packets.parquet`.
    pub(crate) octets: u64,
    /// `romer analyze RUN --json FILE`.
    pub(crate) analysis: Cost,
    /// `romer report RUN --html FILE`.
    pub(crate) report: Cost,
    /// Octets of that page.
    pub(crate) page_octets: u64,
    /// Reading the octets of the file, and sorting the delays once, seconds.
    pub(crate) floor_seconds: f64,
}

/// What the program took.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub(crate) struct Cost {
    pub(crate) seconds: f64,
    /// The most resident memory, octets.
    pub(crate) peak_octets: u64,
}

/// Writes and analyses a run of `packets` packets one way, and one of as many there and back.
pub(crate) fn run(
    program: &Path,
    packets: u64,
    interrupted: &AtomicBool,
    say: &impl Fn(&str),
) -> Result<Vec<Analysed>> {
    let mut found = Vec::new();
    for round_trips in [false, true] {
        let folder = tempfile::tempdir().context("cannot make a folder for the run")?;
        let run = folder.path().join("run");
        write(&run, packets, round_trips)?;
        let floor_seconds = floor(&run)?;
        let file = |name: &str| folder.path().join(name);
        let cost = |arguments: &[&str], out: &Path| {
            let mut command = Command::new(program);
            command.args(arguments).arg(out).arg("--quiet").arg(&run);
            let mut peak = 0;
            let length = to_the_end(command, POLL_INTERVAL, interrupted, |own, _| {
                peak = peak_kib(own.id()).unwrap_or(0).max(peak);
            })?;
            anyhow::Ok(Cost { seconds: length.as_secs_f64(), peak_octets: peak * 1_024 })
        };
        let analysis = cost(&["analyze", "--json"], &file("document.json"))?;
        let report = cost(&["report", "--html"], &file("report.html"))?;
        let octets = |path: &Path| std::fs::metadata(path).map_or(0, |file| file.len());
        let one = Analysed {
            round_trips,
            packets,
            octets: octets(&run.join("packets.parquet")),
            analysis,
            report,
            page_octets: octets(&file("report.html")),
            floor_seconds,
        };
        say(&crate::page::analyse::progress_analysed(&one));
        found.push(one);
    }
    Ok(found)
}

/// What nobody can do without, seconds.
fn floor(run: &Path) -> Result<f64> {
    let path = run.join("packets.parquet");
    let begin = Instant::now();
    let octets = std::fs::read(&path).context("cannot read the packets")?;
    let mut length = begin.elapsed();
    drop(octets);
    let mut delays = Vec::new();
    let file = RowsFile::open(&path).context("cannot read the packets")?;
    file.each(|_, rows| {
        let delay = |row: &RoundTrip| Some(row.t2.kernel?.as_nanos() - row.t1.kernel?.as_nanos());
        delays.extend(rows.iter().filter_map(delay));
    })
    .context("cannot read the packets")?;
    let begin = Instant::now();
    delays.sort_unstable();
    length += begin.elapsed();
    Ok(length.as_secs_f64())
}

/// Writes a run that ended well.
fn write(folder: &Path, packets: u64, round_trips: bool) -> Result<()> {
    let probes = if round_trips { packets / 2 } else { packets };
    let manifest = Manifest {
        schema: String::new(),
        name: String::new(),
        created: "2026-01-01T00:00:00Z".into(),
        status: Status::Running,
        software: romer_record::SOFTWARE.into(),
        streams: vec![stream(probes, round_trips)],
    };
    let location = Location::Folder { path: folder.into(), force: false };
    let run = NewRun::create(&location, manifest).context("cannot make a run")?;
    let rows = BTreeMap::from([(0, rows(probes, round_trips))]);
    run.finish(&Finished {
        status: Status::Complete,
        rows: &rows,
        measurements: &[],
        outcomes: &(),
        html: None,
    })
    .context("cannot write the run")?;
    Ok(())
}

fn stream(probes: u64, round_trips: bool) -> Stream {
    Stream {
        target: "made up".into(),
        started: "2026-01-01T00:00:00Z".into(),
        ended: None,
        traffic: Traffic {
            direction: if round_trips { ProbeDirection::RoundTrip } else { ProbeDirection::Forward },
            model: "periodic".into(),
            interval_ns: INTERVAL_NS,
            payload_octets: 44,
            count: Some(probes),
            dscp: Some(0),
            waiting_time_ns: 2_000_000_000,
            protocol: "made up".into(),
            ..Traffic::default()
        },
        metadata: Metadata { software: romer_record::SOFTWARE.into(), ..Metadata::default() },
        clock_relation: ClockRelation::Unknown,
        responder_log: true,
        responder_log_complete: true,
        responder_log_gaps: Vec::new(),
        not_logged: Vec::new(),
        early_end: None,
        unreachable: None,
        stamp_request: StampRequest::Best,
        skew: SkewRequest { method: "best".into(), ..SkewRequest::default() },
        voice: VoiceRequest::default(),
        limits: Vec::new(),
        calibration: None,
        ip_no_pmtu_disc: None,
        responder_ip_no_pmtu_disc: None,
        address: None,
        replies: Default::default(),
        checksum_errors: Default::default(),
        events: Vec::new(),
        damage: Default::default(),
    }
}

/// Packets as a path with a queue has them, on two clocks.
fn rows(probes: u64, round_trips: bool) -> Vec<RoundTrip> {
    let chances = [0, 1, 2, 3, 4].map(|name| Chance::new(SEED, [name, u32::from(round_trips)]));
    let mut rows = Vec::with_capacity(usize::try_from(probes).unwrap_or(0));
    // A queue lets nobody past; a few packets go another way, which takes longer.
    let mut last = [i64::MIN; 2];
    let mut queued = |way: usize, at: i64, other_way: bool| {
        if other_way {
            return at + OTHER_WAY_NS;
        }
        last[way] = at.max(last[way].saturating_add(SPACING_NS));
        last[way]
    };
    for sequence in 0..probes {
        let unit = |kind: usize| chances[kind].unit(sequence);
        let waited = |kind: usize| {
            let wait = -WAITING_NS * (1.0 - unit(kind)).ln();
            to_i64(if unit(4) < RARE { 40.0 * wait } else { wait })
        };
        let departed = i64::try_from(sequence).unwrap_or(0) * INTERVAL_NS;
        let far = |at: i64| at + OFFSET_NS + at / 1_000_000 * SKEW_PPM;
        let mut row = RoundTrip {
            way: if round_trips { ProbeDirection::RoundTrip } else { ProbeDirection::Forward },
            sequence,
            size: 44,
            wake_error_ns: Some(to_i64(800.0 * unit(2))),
            ..RoundTrip::default()
        };
        let origin = 1_767_225_600_000_000_000;
        row.t1.user = Some(Timestamp::from_nanos(origin + departed));
        row.t1.kernel = Some(Timestamp::from_nanos(origin + departed + 4_000));
        if unit(3) >= RARE {
            let other_way = (RARE..2.0 * RARE).contains(&unit(4));
            let arrived = queued(0, departed + LEAST_NS + waited(0), other_way);
            row.seen_by_responder = true;
            row.t2.kernel = Some(Timestamp::from_nanos(origin + far(arrived)));
            row.t2.user =
                Some(Timestamp::from_nanos(origin + far(arrived) + 9_000 + to_i64(3_000.0 * unit(1))));
            (row.forward_ttl, row.forward_tos) = (Some(61), Some(0));
            if round_trips {
                row.t3.user = Some(Timestamp::from_nanos(origin + far(arrived) + 30_000));
                row.t3.kernel = Some(Timestamp::from_nanos(origin + far(arrived) + 33_000));
                let back = queued(1, arrived + 33_000 + LEAST_NS + waited(1), false);
                row.returned = true;
                row.t4.kernel = Some(Timestamp::from_nanos(origin + back));
                row.t4.user = Some(Timestamp::from_nanos(origin + back + 9_000));
                (row.t2.told, row.t3.told) = (row.t2.kernel, row.t3.user);
                (row.reverse_ttl, row.reverse_tos) = (Some(61), Some(0));
            }
        }
        rows.push(row);
        if row.seen_by_responder && unit(3) >= 1.0 - RARE {
            let mut copy = RoundTrip { copy: 1, forward_copy: 1, ..row };
            let later = |time: &Option<Timestamp<romer_units::Responder>>| {
                time.map(|time| Timestamp::from_nanos(time.as_nanos() + 50_000))
            };
            (copy.t2.kernel, copy.t2.user) = (later(&row.t2.kernel), later(&row.t2.user));
            copy.returned = false;
            (copy.t3, copy.t4) = Default::default();
            rows.push(copy);
        }
    }
    rows
}

#[expect(
    clippy::cast_possible_truncation,
    reason = "a time of seconds, whose part below a nanosecond means nothing"
)]
fn to_i64(value: f64) -> i64 {
    value as i64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_run_that_was_made_up_is_read_as_one_that_was_measured() {
        let folder = tempfile::tempdir().unwrap();
        for round_trips in [false, true] {
            let run = folder.path().join(round_trips.to_string());
            write(&run, 4_000, round_trips).unwrap();
            let reading = romer_analyze::reading::read(&run).unwrap();
            let m = &reading.streams[0].measurement;
            let way = if round_trips { &m.round_trip } else { &m.forward };
            assert_eq!(way.packets.sent, Some(if round_trips { 2_000 } else { 4_000 }));
            assert!(way.packets.lost.is_some_and(|lost| lost < 40));
            assert!(floor(&run).unwrap() >= 0.0);
        }
    }
}

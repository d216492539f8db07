//! romer's own measurement: the engine that `romer measure` runs, in this process, and the rows of its run.

use std::path::Path;
use std::sync::atomic::AtomicBool;

use anyhow::{Context, Result, anyhow, bail};
use romer_analyze::reading;
use romer_endpoint::names::Family;
use romer_host::clock::Realtime;
use romer_host::netns;
use romer_measure::{MeasureOptions, ProbeSize, StreamOptions};
use romer_record::RoundTrip;
use romer_respond::{RespondOptions, Responder};
use romer_store::Location;
use romer_traffic::{Limit, Request, TrafficModel};
use romer_units::{Clock, Duration, Timestamp};

use crate::figures::Timed;
use crate::hosts::{FAR, Hosts};

/// Port of the reflector.
const PORT: u16 = 862;

/// Starts the reflector on the far host.
pub(crate) fn respond(hosts: &Hosts) -> Result<Responder> {
    let options = RespondOptions { listen: vec![(FAR, PORT).into()], ..RespondOptions::default() };
    netns::with_namespace(&hosts.far, || Responder::start(&options))?.context("cannot start the reflector")
}

/// Sends `count` probes `interval` apart in IP packets of `octets`, and gives the rows of the run.
pub(crate) fn measure(
    hosts: &Hosts,
    count: u64,
    interval: Duration,
    octets: u32,
    interrupted: &AtomicBool,
) -> Result<Vec<RoundTrip>> {
    let folder = tempfile::tempdir().context("cannot make a folder for the run")?;
    let options = options(&folder.path().join("run"), count, interval, octets)?;
    let outcome =
        netns::with_namespace(&hosts.near, || romer_measure::measure(&options, interrupted, &mut ()))?
            .context("cannot measure")?;
    if outcome.partial {
        bail!(Interrupted);
    }
    if let Some(error) = outcome.not_kept {
        return Err(anyhow!(error).context("the run is not whole"));
    }
    let mut rows =
        reading::read(&outcome.folder).and_then(|run| run.rows()).context("cannot read the run")?;
    Ok(rows.remove(&0).unwrap_or_default())
}

/// The user ended it.
#[derive(Debug)]
pub(crate) struct Interrupted;

impl std::fmt::Display for Interrupted {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("interrupted")
    }
}

impl std::error::Error for Interrupted {}

fn options(folder: &Path, count: u64, interval: Duration, octets: u32) -> Result<MeasureOptions> {
    let target = FAR.to_string().parse().map_err(|error: String| anyhow!(error))?;
    let traffic =
        Request { interval: Some(interval), ..Request::new(TrafficModel::Periodic, Limit::Count(count)) };
    let location = Location::Folder { path: folder.to_path_buf(), force: false };
    let streams = vec![StreamOptions { target, traffic, size: ProbeSize::Packet(octets) }];
    Ok(MeasureOptions {
        family: Family::V4,
        report_every: Duration::from_secs(3_600),
        ..MeasureOptions::new(streams, "romer-validation".into(), location)
    })
}

/// Round trips by the two kinds of stamps, of the same packets: (t4 - t1) - (t3 - t2), which is the sum of Chen et al. 2013's
/// two one-way delays. Packets that lack one of the eight stamps are in neither.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct RoundTrips {
    pub(crate) kernel: Vec<Timed>,
    pub(crate) user: Vec<Timed>,
    /// One way there and one way back, by the kernel's stamps: both hosts read one clock.
    pub(crate) forward: Vec<i64>,
    pub(crate) reverse: Vec<i64>,
    /// Packets that did not come back or lack a stamp.
    pub(crate) incomplete: u64,
}

impl RoundTrips {
    pub(crate) fn from_rows(rows: &[RoundTrip]) -> Self {
        let mut all = Self::default();
        for row in rows.iter().filter(|row| row.copy == 0) {
            let kernel = (row.t1.kernel, row.t2.kernel, row.t3.kernel, row.t4.kernel);
            let user = (row.t1.user, row.t2.user, row.t3.user, row.t4.user);
            let ((Some(k1), Some(k2), Some(k3), Some(k4)), (Some(u1), Some(u2), Some(u3), Some(u4))) =
                (kernel, user)
            else {
                all.incomplete += 1;
                continue;
            };
            all.kernel.push(timed((k4 - k1) - (k3 - k2), k1, k4));
            all.user.push(timed((u4 - u1) - (u3 - u2), u1, u4));
            all.forward.push(k2.as_nanos() - k1.as_nanos());
            all.reverse.push(k4.as_nanos() - k3.as_nanos());
        }
        all
    }
}

fn timed<C: Clock>(value: Duration, from: Timestamp<C>, to: Timestamp<C>) -> Timed {
    let at = |time: Timestamp<C>| Realtime::from_nanos(time.as_nanos());
    Timed { nanos: value.as_nanos(), from: at(from), to: at(to) }
}

/// How late the sender woke for each probe, over the time in which it should have woken and did.
pub(crate) fn wake_errors(rows: &[RoundTrip]) -> Vec<Timed> {
    let errors = rows.iter().filter(|row| row.copy == 0).filter_map(|row| {
        let (late, sent) = (row.wake_error_ns?, row.t1.user?.as_nanos());
        let due = Realtime::from_nanos(sent.saturating_sub(late));
        Some(Timed { nanos: late, from: due, to: Realtime::from_nanos(sent) })
    });
    errors.collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use romer_record::Stamps;

    fn stamps<C: Clock>(kernel: i64, user: i64) -> Stamps<C> {
        let at = |nanos| Some(Timestamp::from_nanos(nanos));
        Stamps { nic: None, kernel: at(kernel), user: at(user), told: None }
    }

    fn row(sequence: u64) -> RoundTrip {
        RoundTrip {
            sequence,
            wake_error_ns: Some(40),
            t1: stamps(1_010, 1_000),
            t2: stamps(1_020, 1_100),
            t3: stamps(1_300, 1_200),
            t4: stamps(1_315, 1_700),
            returned: true,
            ..RoundTrip::default()
        }
    }

    #[test]
    fn a_round_trip_is_without_the_time_at_the_reflector() {
        let found = RoundTrips::from_rows(&[row(0)]);
        assert_eq!((found.kernel[0].nanos, found.user[0].nanos), (25, 600));
        assert_eq!((found.forward[0], found.reverse[0], found.incomplete), (10, 15, 0));
        assert_eq!((found.user[0].from.as_nanos(), found.user[0].to.as_nanos()), (1_000, 1_700));
    }

    #[test]
    fn packets_without_all_stamps_are_in_neither_sample_and_copies_are_not_counted() {
        let lost = RoundTrip { t4: Stamps::default(), returned: false, ..row(1) };
        let copy = RoundTrip { copy: 1, ..row(0) };
        let found = RoundTrips::from_rows(&[row(0), copy, lost]);
        assert_eq!((found.kernel.len(), found.user.len(), found.incomplete), (1, 1, 1));
    }

    #[test]
    fn a_wake_error_spans_the_time_from_the_deadline_to_the_send_call() {
        let found = wake_errors(&[row(0)]);
        assert_eq!((found[0].nanos, found[0].from.as_nanos(), found[0].to.as_nanos()), (40, 960, 1_000));
    }
}

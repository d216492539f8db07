//! The two paths of a calibration, and measuring over them.

use std::net::{IpAddr, Ipv4Addr};
use std::path::Path;
use std::sync::atomic::AtomicBool;
use std::time::{Duration as StdDuration, Instant};

use romer_analyze::reading;
use romer_endpoint::names::Family;
use romer_host::link::{LinkShaping, Network};
use romer_host::{HostError, netns};
use romer_lab::{Host, Topology};
use romer_measure::{MeasureOptions, ProbeSize, StreamOptions};
use romer_record::RoundTrip;
use romer_respond::{RespondOptions, Responder};
use romer_store::Location;
use romer_traffic::Request;
use romer_units::Duration;

use crate::error::CalibrateError;

/// The direct link's ends; RFC 2544 appendix C.2.2 gives this range to such tests, and the laboratory uses others of it.
const NEAR: (&str, Ipv4Addr) = ("c0", Ipv4Addr::new(198, 18, 7, 1));
const FAR: (&str, Ipv4Addr) = ("c1", Ipv4Addr::new(198, 18, 7, 2));
const PREFIX_LENGTH: u8 = 24;
/// The port of the laboratory's middle that leads to the far end.
const TOWARDS_FAR: &str = "e1";
/// Port of the reflector.
const PORT: u16 = 862;
/// How long links may take until they carry packets.
const LINK_UP_TIMEOUT: StdDuration = StdDuration::from_secs(10);
/// Octets that may wait before the slow link.
const QUEUE: u32 = 1 << 20;

/// What is between the two ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum PathKind {
    /// A pair of virtual links, and nothing else.
    Direct,
    /// The laboratory's path, with its bridge.
    Path,
}

/// A laboratory made ready, with a responder at its far end.
pub(crate) struct Paths {
    near: String,
    middle: Network,
    path: Ipv4Addr,
    _responder: Responder,
}

impl Paths {
    /// Joins the two ends of the laboratory `prefix` directly as well, and starts a responder at the far one.
    pub(crate) fn open(prefix: &str) -> Result<Self, CalibrateError> {
        let [near, far, middle] = [Host::A, Host::B, Host::E].map(|host| host.namespace(prefix));
        join(&near, &far).map_err(CalibrateError::host("join the laboratory's two ends"))?;
        let path = Topology::Path.endpoint(Host::B).map_or(FAR.1, |end| end.v4);
        let options = RespondOptions {
            listen: [FAR.1, path].map(|address| (address, PORT).into()).to_vec(),
            ..RespondOptions::default()
        };
        let responder = netns::with_namespace(&far, || Responder::start(&options))
            .map_err(CalibrateError::host("enter the laboratory"))??;
        let middle =
            Network::open(Some(&middle)).map_err(CalibrateError::host("open the laboratory's middle"))?;
        Ok(Self { near, middle, path, _responder: responder })
    }

    /// Has the path pass `bits_per_second` towards the far end, a frame of `octets` at a time.
    pub(crate) fn slow_down(&self, bits_per_second: u64, octets: u32) -> Result<(), HostError> {
        let octets_per_second = u32::try_from(bits_per_second / 8).unwrap_or(u32::MAX);
        self.middle.shape(TOWARDS_FAR, &LinkShaping { octets_per_second, burst: octets, queue: QUEUE })
    }

    /// Lets the path pass everything again.
    pub(crate) fn speed_up(&self) -> Result<(), HostError> {
        self.middle.unshape(TOWARDS_FAR)
    }

    /// Sends `traffic` in packets of `size`, and gives what became of each.
    pub(crate) fn measure(
        &self,
        way: PathKind,
        traffic: Request,
        size: ProbeSize,
        stop: &AtomicBool,
    ) -> Result<Vec<RoundTrip>, CalibrateError> {
        let target = if way == PathKind::Direct { FAR.1 } else { self.path };
        netns::with_namespace(&self.near, || measured(&target.to_string(), traffic, size, stop))
            .map_err(CalibrateError::host("enter the laboratory"))?
    }
}

/// Sends `traffic` in packets of `size` to the responder at `target`, and gives what became of each.
pub(crate) fn measured(
    target: &str,
    traffic: Request,
    size: ProbeSize,
    stop: &AtomicBool,
) -> Result<Vec<RoundTrip>, CalibrateError> {
    let folder = tempfile::tempdir().map_err(CalibrateError::Folder)?;
    let options = options(target, traffic, size, &folder.path().join("run"))?;
    let outcome = romer_measure::measure(&options, stop, &mut ())?;
    if outcome.partial {
        return Err(CalibrateError::Interrupted);
    }
    if let Some(error) = outcome.not_kept {
        return Err(CalibrateError::Measure(error.into()));
    }
    let mut rows = reading::read(&outcome.folder)?.rows()?;
    Ok(rows.remove(&0).unwrap_or_default())
}

fn join(near: &str, far: &str) -> Result<(), HostError> {
    let (here, there) = (Network::open(Some(near))?, Network::open(Some(far))?);
    here.add_veth(NEAR.0, FAR.0, Some(far))?;
    for (network, (link, address)) in [(&here, NEAR), (&there, FAR)] {
        network.disable_offloads(link)?;
        network.add_address(link, IpAddr::V4(address), PREFIX_LENGTH)?;
        network.set_up(link, true)?;
    }
    // No address is to be asked for in the middle of a measurement.
    let mac = |network: &Network, link| network.link(link).map(|link| link.mac);
    if let (Some(near_mac), Some(far_mac)) = (mac(&here, NEAR.0)?, mac(&there, FAR.0)?) {
        here.set_neighbour(NEAR.0, IpAddr::V4(FAR.1), far_mac)?;
        there.set_neighbour(FAR.0, IpAddr::V4(NEAR.1), near_mac)?;
    }
    let begin = Instant::now();
    while !(here.link(NEAR.0)?.running && there.link(FAR.0)?.running) && begin.elapsed() < LINK_UP_TIMEOUT {
        std::thread::sleep(StdDuration::from_millis(2));
    }
    Ok(())
}

fn options(
    target: &str,
    traffic: Request,
    size: ProbeSize,
    folder: &Path,
) -> Result<MeasureOptions, CalibrateError> {
    let target = target.parse().map_err(romer_endpoint::EndpointError::Usage)?;
    let location = Location::Folder { path: folder.to_path_buf(), force: false };
    let streams = vec![StreamOptions { target, traffic, size }];
    Ok(MeasureOptions {
        family: Family::V4,
        report_every: Duration::from_secs(3_600),
        ..MeasureOptions::new(streams, "romer calibrate".into(), location)
    })
}

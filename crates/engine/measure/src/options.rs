//! What is to be measured, checked before anything is opened.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::sync::Arc;
use std::time::SystemTime;

use romer_host::host_info;
use romer_record::document::ProbeDirection;
use romer_record::manifest::{CalibrationUse, ClockStatement, SkewRequest, StampRequest};
use romer_record::voice::VoiceRequest;
use romer_session::sender::{LONGEST_PAYLOAD, SHORTEST_PAYLOAD, STAMP_PAYLOAD};
use romer_store::Location;
use romer_traffic::{IpVersion, Payloads, Request, Schedule, TrafficModel};
use romer_units::{Dscp, Duration, Ecn};
use romer_wire::oneway_probe;
use romer_wire::stamp::{AUTHENTICATED_BASE, Key};

use romer_analyze::WAITING_TIME;
use romer_analyze::limits::Limit;
use romer_endpoint::EndpointError;
use romer_endpoint::ThreadOptions;
use romer_endpoint::names::{Family, Target};

use super::telemetry::Telemetry;
use super::traffic_control::TrafficControl;

/// TTL of the probes unless something else is asked for: hops are counted from 255 (RFC 5357 section 4.1.2).
pub const TTL: u8 = 255;

/// How large a probe is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ProbeSize {
    /// As the traffic asks, and at least a STAMP packet.
    #[default]
    Natural,
    /// So many octets of UDP payload.
    Payload(u32),
    /// So many octets of IP packet.
    Packet(u32),
}

/// One stream that is to be measured.
#[derive(Clone, Debug)]
pub struct StreamOptions {
    /// Where to.
    pub target: Target,
    /// When and how many.
    pub traffic: Request,
    /// How large.
    pub size: ProbeSize,
}

/// A run that is to be made.
#[derive(Clone, Debug)]
pub struct MeasureOptions {
    /// The streams, measured side by side.
    pub streams: Vec<StreamOptions>,
    /// Which ways the packets go.
    pub direction: ProbeDirection,
    /// Which addresses of the targets.
    pub family: Family,
    /// Do not look for a romer at the far end; the target's port is that of the reflector.
    pub stamp_only: bool,
    /// Authenticate the tests with this key, and speak only to responders that have it.
    pub key: Option<Arc<Key>>,
    /// Which stamps.
    pub stamp: StampRequest,
    /// Code point of the probes.
    pub dscp: Dscp,
    /// ECN bits of the probes.
    pub ecn: Ecn,
    /// TTL or hop limit of the probes; `None` for [`TTL`].
    pub ttl: Option<u8>,
    /// Marks besides the code point, and shaping by the kernel.
    pub traffic_control: TrafficControl,
    /// Source address of the probes.
    pub source: Option<IpAddr>,
    /// Interface of the probes.
    pub interface: Option<String>,
    /// Look for the routers on the way to each target, at the start and at the end.
    pub route: bool,
    /// How long a reflection is waited for.
    pub waiting_time: Duration,
    /// Estimate of the clocks, where they are two without a known bound of their difference.
    pub skew: SkewRequest,
    /// What the user states of the two clocks.
    pub clocks: ClockStatement,
    /// Known offset of the clocks, the responder's minus this host's.
    pub clock_offset: Duration,
    /// What is stated of the telephone call that the stream is.
    pub voice: VoiceRequest,
    /// Limits that the results are held against.
    pub limits: Vec<Limit>,
    /// The user's words.
    pub comment: Option<String>,
    /// The command that repeats this.
    pub command: String,
    /// The calibration of this host, where it has one.
    pub calibration: Option<CalibrationUse>,
    /// Where the run is kept.
    pub location: Location,
    /// When the first probes leave; `None`: as soon as all is ready.
    pub at: Option<SystemTime>,
    /// Time between two interval lines.
    pub report_every: Duration,
    /// Have the far ends tell their stamps of one-way probes at every interval, so that whoever follows the log has their
    /// delays while the run goes on. That takes some 40 octets a probe of the way from there, which is not without effect
    /// on narrow ones; far ends of earlier versions tell them at the end all the same.
    pub live_delays: bool,
    /// Metrics that follow the measurement.
    pub telemetry: Option<Telemetry>,
    /// How the threads that send and receive are run.
    pub threads: ThreadOptions,
}

impl MeasureOptions {
    /// Round trips of `streams`, with the best stamps, the usual waiting time and skew estimate, and nothing else that is stated.
    pub fn new(streams: Vec<StreamOptions>, command: String, location: Location) -> Self {
        Self {
            streams,
            direction: ProbeDirection::RoundTrip,
            family: Family::Any,
            stamp_only: false,
            key: None,
            stamp: StampRequest::Best,
            dscp: Dscp::DEFAULT,
            ecn: Ecn::NotEct,
            ttl: None,
            traffic_control: TrafficControl::default(),
            source: None,
            interface: None,
            route: false,
            waiting_time: WAITING_TIME,
            skew: SkewRequest::default(),
            clocks: ClockStatement::Auto,
            clock_offset: Duration::ZERO,
            voice: VoiceRequest::default(),
            limits: Vec::new(),
            comment: None,
            command,
            calibration: None,
            location,
            at: None,
            report_every: Duration::from_millis(250),
            live_delays: false,
            telemetry: None,
            threads: ThreadOptions::default(),
        }
    }
}

/// Octets of IP and UDP header.
pub(super) fn header_octets(address: SocketAddr) -> u32 {
    IpVersion::from_address(address).headers()
}

/// The schedule of a stream to `address`, with the size that is asked for.
///
/// # Errors
/// [`EndpointError::Usage`] where the request contradicts itself, or no probe is as small as what is asked for.
pub(super) fn schedule_of(
    stream: &StreamOptions,
    address: SocketAddr,
    way: ProbeDirection,
    keyed: bool,
) -> Result<(Request, Schedule), EndpointError> {
    let header = header_octets(address);
    let (flag, octets, added) = match stream.size {
        ProbeSize::Natural => ("traffic", None, 0),
        ProbeSize::Payload(octets) => ("--size", Some(octets), 0),
        ProbeSize::Packet(octets) => ("--packet-size", Some(octets), header),
    };
    let asked = octets.map(|octets| octets.saturating_sub(added));
    let shortest_one_way = SHORTEST_ONE_WAY;
    if let (Some(octets), true, true) =
        (octets, way.is_one_way(), asked.is_some_and(|payload| payload < shortest_one_way))
    {
        return Err(EndpointError::Usage(format!(
            "packet too small ({flag} {octets}): a one-way probe has a sequence number; use at least {} bytes",
            shortest_one_way + added
        )));
    }
    if let (Some(octets), false, true) =
        (octets, way.is_one_way(), asked.is_some_and(|payload| payload < SHORTEST_PAYLOAD))
    {
        return Err(EndpointError::Usage(format!(
            "packet too small ({flag} {octets}): a probe has four time stamps; use at least {} bytes ({} for a STAMP reflector that \
             is not romer)",
            SHORTEST_PAYLOAD + added,
            STAMP_PAYLOAD + added
        )));
    }
    let natural = natural(keyed);
    let too_small = keyed && !way.is_one_way() && asked.is_some_and(|payload| payload < natural);
    if let (Some(octets), true) = (octets, too_small) {
        return Err(EndpointError::Usage(format!(
            "packet too small ({flag} {octets}): an authenticated probe does not fit; use at least {} bytes, or measure without \
             --key-file",
            natural + added
        )));
    }
    let version = IpVersion::from_address(address);
    let request = Request { size: asked, version, ..stream.traffic.clone() };
    let schedule = checked(&request)?;
    let least = floor(stream, &schedule, way, keyed);
    if let (TrafficModel::TokenBucket(bucket), None) = (&request.model, asked)
        && schedule.size() < least
    {
        return Err(EndpointError::Usage(format!(
            "the token bucket is too small (traffic): its depth is {} bytes and a probe has {least}; use a \
             depth of at least {least}B",
            bucket.depth()
        )));
    }
    Ok((request, schedule))
}

/// What no host has to be asked for: whether the streams' probes have sizes that there can be, be it over one version of IP.
///
/// # Errors
/// [`EndpointError::Usage`], which names the option in brackets.
pub fn check_sizes(options: &MeasureOptions) -> Result<(), EndpointError> {
    let keyed = options.key.is_some();
    options.streams.iter().try_for_each(|stream| {
        let fits = |address: IpAddr| {
            let address = SocketAddr::new(address, 0);
            let (_, schedule) = schedule_of(stream, address, options.direction, keyed)?;
            payloads(stream, &schedule, options.direction, address, None, keyed).map(drop)
        };
        fits(Ipv4Addr::UNSPECIFIED.into()).or_else(|_| fits(Ipv6Addr::UNSPECIFIED.into()))
    })
}

/// The schedule of `request`.
pub(super) fn checked(request: &Request) -> Result<Schedule, EndpointError> {
    Schedule::new(request).map_err(|error| {
        let about = error.about();
        let option = if about == "traffic" { "" } else { "--" };
        EndpointError::Usage(format!("invalid traffic ({option}{about}): {error}"))
    })
}

/// The payload of a probe that nobody asked to be of another size.
fn natural(keyed: bool) -> u32 {
    if keyed { u32::try_from(AUTHENTICATED_BASE).unwrap_or(u32::MAX) } else { STAMP_PAYLOAD }
}

/// The smallest payload of a one-way probe, in octets.
#[expect(clippy::cast_possible_truncation, reason = "nine")]
pub(super) const SHORTEST_ONE_WAY: u32 = oneway_probe::SHORTEST as u32;

/// The smallest payload of a stream's probes, to which smaller ones of its traffic are raised. One-way probes have the
/// traffic's real sizes, and that of a STAMP packet where it names none.
pub(super) fn floor(stream: &StreamOptions, schedule: &Schedule, way: ProbeDirection, keyed: bool) -> u32 {
    match stream.size {
        ProbeSize::Natural if way.is_one_way() && schedule.size() > 0 => SHORTEST_ONE_WAY,
        ProbeSize::Natural if way.is_one_way() => STAMP_PAYLOAD,
        ProbeSize::Natural => natural(keyed),
        ProbeSize::Payload(_) | ProbeSize::Packet(_) => 0,
    }
}

/// The UDP payloads of a stream's probes to `address`, over a path of `mtu` octets where that is known.
pub(super) fn payloads(
    stream: &StreamOptions,
    schedule: &Schedule,
    way: ProbeDirection,
    address: SocketAddr,
    mtu: Option<u32>,
    keyed: bool,
) -> Result<Payloads, EndpointError> {
    let header = header_octets(address);
    let longest = LONGEST_PAYLOAD[usize::from(address.is_ipv6())];
    let payloads = schedule.payloads(floor(stream, schedule, way, keyed));
    let (flag, added) = match stream.size {
        ProbeSize::Natural => ("traffic", 0),
        ProbeSize::Payload(_) => ("--size", 0),
        ProbeSize::Packet(_) => ("--packet-size", header),
    };
    if payloads.most > longest {
        return Err(EndpointError::Usage(format!(
            "the probe is too large ({flag}): {} octets are more than UDP carries; ask for at most {}B",
            payloads.most + added,
            longest + added
        )));
    }
    match mtu {
        Some(mtu) if payloads.most + header > mtu => {
            let most = mtu.saturating_sub(header) + added;
            let interface = host_info::route_to(address).ok().and_then(|route| route.interface);
            let own = interface.and_then(|name| host_info::interface_mtu(&name).ok());
            let is_remembered = own.is_some_and(|own| mtu < own);
            let forget = match (is_remembered, address.is_ipv6()) {
                (false, _) => "",
                (true, false) => {
                    ", or, if the path takes more again, let the host forget that: ip route flush cache"
                }
                (true, true) => {
                    ", or, if the path takes more again, let the host forget that: ip -6 route flush cache"
                }
            };
            Err(EndpointError::Usage(format!(
                "the probe would be fragmented ({flag}): its IP packet has {} octets and the path's MTU is {mtu}{}; \
                 ask for at most {most}B{}",
                payloads.most + header,
                if is_remembered {
                    ", which is no interface's here but what the host remembers of the path (for up to ten \
                                    minutes) or has set for the route"
                } else {
                    ""
                },
                forget,
            )))
        }
        _ => Ok(payloads),
    }
}

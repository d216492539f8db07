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
use romer_wire::pattern::Carrier;
use romer_wire::stamp::{AUTHENTICATED_BASE, Key, in_packet};

use romer_analyze::WAITING_TIME;
use romer_analyze::limits::Limit;
use romer_endpoint::EndpointError;
use romer_endpoint::ThreadOptions;
use romer_endpoint::names::{Family, Target};
use romer_endpoint::tls::ChannelOptions;

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
    /// What protects the control channels.
    pub channel: ChannelOptions,
    /// Authenticate the tests with key material of the control channel, which must be protected by TLS then.
    pub authenticate: bool,
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
    /// Whether the run's folder has a report, a page of a few hundred kilobytes that can also be made later.
    pub report: bool,
    /// When the first probes leave; `None`: as soon as all is ready.
    pub at: Option<SystemTime>,
    /// Time between two interval lines.
    pub report_every: Duration,
    /// Have the far ends tell their stamps of one-way probes at every interval, so that whoever follows the log has their
    /// delays while the run goes on. That takes some 40 octets a probe of the way from there, which is not without effect
    /// on narrow ones; far ends of earlier versions tell them at the end all the same.
    pub live_delays: bool,
    /// Report each round trip as it is back ([`crate::Observer::on_return`]).
    pub report_returns: bool,
    /// Count damaged probes at both ends, and the bits that were flipped. Probes have a pattern behind their fields, and are as
    /// large as that needs. This takes the capability `CAP_NET_RAW` at an end to which probes come.
    pub count_damage: bool,
    /// Metrics that follow the measurement.
    pub telemetry: Option<Telemetry>,
    /// How the threads that send and receive are run.
    pub threads: ThreadOptions,
}

impl MeasureOptions {
    /// Round trips of `streams` over plain control channels, with the best stamps, the usual waiting time and skew estimate, and nothing
    /// else that is stated.
    pub fn new(streams: Vec<StreamOptions>, command: String, location: Location) -> Self {
        Self {
            streams,
            direction: ProbeDirection::RoundTrip,
            family: Family::Any,
            stamp_only: false,
            key: None,
            channel: ChannelOptions::Plain,
            authenticate: false,
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
            report: false,
            at: None,
            report_every: Duration::from_millis(250),
            live_delays: false,
            report_returns: false,
            count_damage: false,
            telemetry: None,
            threads: ThreadOptions::default(),
        }
    }
}

impl MeasureOptions {
    /// Whether no romer is looked for at the far end. In-packet stamps need none.
    pub(super) fn reflector_only(&self) -> bool {
        self.stamp_only || self.has_in_packet_stamps()
    }

    /// Whether programs of the kernel write the stamps into the packets.
    pub(super) fn has_in_packet_stamps(&self) -> bool {
        self.stamp == StampRequest::InPacket
    }

    /// Whether the tests are authenticated.
    pub(super) fn is_authenticated(&self) -> bool {
        self.authenticate || self.key.is_some()
    }

    /// What a reflected probe holds.
    pub(super) fn content(&self) -> ProbeContent {
        if self.has_in_packet_stamps() {
            ProbeContent::InPacketStamps
        } else if self.is_authenticated() {
            ProbeContent::Authenticated
        } else {
            ProbeContent::Plain
        }
    }
}

/// What a reflected probe holds, on which its least size depends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ProbeContent {
    /// A base packet.
    Plain,
    /// A base packet with its code.
    Authenticated,
    /// A base packet with the field of in-packet stamps.
    InPacketStamps,
}

impl ProbeContent {
    /// The payload of a probe that nobody asked to be of another size, in octets.
    fn natural(self) -> u32 {
        let octets = |length: usize| u32::try_from(length).unwrap_or(u32::MAX);
        match self {
            Self::Plain => STAMP_PAYLOAD,
            Self::Authenticated => octets(AUTHENTICATED_BASE),
            Self::InPacketStamps => octets(in_packet::SHORTEST),
        }
    }
}

/// What probes must have room for, besides the fields of all.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Contents {
    /// What a reflected one holds.
    content: ProbeContent,
    /// They have a pattern, by which damage is counted.
    has_pattern: bool,
}

impl Contents {
    /// What the probes of a run have.
    pub(super) fn of_run(options: &MeasureOptions) -> Self {
        Self { content: options.content(), has_pattern: options.count_damage }
    }

    /// What carries the pattern of probes in this direction.
    pub(super) const fn carrier(self, way: ProbeDirection) -> Carrier {
        match (way, self.content) {
            (ProbeDirection::RoundTrip, ProbeContent::Plain | ProbeContent::InPacketStamps) => Carrier::Stamp,
            (ProbeDirection::RoundTrip, ProbeContent::Authenticated) => Carrier::AuthenticatedStamp,
            (ProbeDirection::Forward | ProbeDirection::Reverse | ProbeDirection::Both, _) => Carrier::OneWay,
        }
    }

    /// The smallest payload of a probe with a pattern, octets; 0 if there is none.
    fn pattern_payload(self, way: ProbeDirection) -> u32 {
        let payload = if self.has_pattern { self.carrier(way).shortest_payload() } else { 0 };
        u32::try_from(payload).unwrap_or(u32::MAX)
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
    contents: Contents,
) -> Result<(Request, Schedule), EndpointError> {
    let Contents { content, .. } = contents;
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
    let natural = content.natural();
    let special = match content {
        ProbeContent::Plain => None,
        ProbeContent::Authenticated => {
            Some(("an authenticated probe does not fit", "--key-file or --authenticate"))
        }
        ProbeContent::InPacketStamps => Some(("in-packet time stamps do not fit", "--stamp in-packet")),
    };
    let too_small = !way.is_one_way() && asked.is_some_and(|payload| payload < natural);
    if let (Some(octets), true, Some((what, option))) = (octets, too_small, special) {
        return Err(EndpointError::Usage(format!(
            "packet too small ({flag} {octets}): {what}; use at least {} bytes, or measure without {option}",
            natural + added
        )));
    }
    let with_pattern = contents.pattern_payload(way);
    if let (Some(octets), true) = (octets, asked.is_some_and(|payload| payload < with_pattern)) {
        return Err(EndpointError::Usage(format!(
            "packet too small ({flag} {octets}): a probe of which damage is counted has a pattern; use at least {} bytes, or measure \
             without --checksum header",
            with_pattern + added
        )));
    }
    let version = IpVersion::from_address(address);
    let request = Request { size: asked, version, ..stream.traffic.clone() };
    let schedule = checked(&request)?;
    let least = floor(stream, &schedule, way, contents);
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
    let contents = Contents::of_run(options);
    options.streams.iter().try_for_each(|stream| {
        let fits = |address: IpAddr| {
            let address = SocketAddr::new(address, 0);
            let (_, schedule) = schedule_of(stream, address, options.direction, contents)?;
            payloads(stream, &schedule, options.direction, address, None, contents).map(drop)
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

/// The smallest payload of a one-way probe, in octets.
#[expect(clippy::cast_possible_truncation, reason = "nine")]
pub(super) const SHORTEST_ONE_WAY: u32 = oneway_probe::SHORTEST as u32;

/// The smallest payload of a stream's probes, to which smaller ones of its traffic are raised. One-way probes have the
/// traffic's real sizes, and that of a STAMP packet where it names none.
pub(super) fn floor(
    stream: &StreamOptions,
    schedule: &Schedule,
    way: ProbeDirection,
    contents: Contents,
) -> u32 {
    let least = match stream.size {
        ProbeSize::Natural if way.is_one_way() && schedule.size() > 0 => SHORTEST_ONE_WAY,
        ProbeSize::Natural if way.is_one_way() => STAMP_PAYLOAD,
        ProbeSize::Natural => contents.content.natural(),
        ProbeSize::Payload(_) | ProbeSize::Packet(_) => return 0,
    };
    least.max(contents.pattern_payload(way))
}

/// The UDP payloads of a stream's probes to `address`, over a path of `mtu` octets where that is known.
pub(super) fn payloads(
    stream: &StreamOptions,
    schedule: &Schedule,
    way: ProbeDirection,
    address: SocketAddr,
    mtu: Option<u32>,
    contents: Contents,
) -> Result<Payloads, EndpointError> {
    let header = header_octets(address);
    let longest = LONGEST_PAYLOAD[usize::from(address.is_ipv6())];
    let payloads = schedule.payloads(floor(stream, schedule, way, contents));
    let (flag, added) = match stream.size {
        ProbeSize::Natural => ("traffic", 0),
        ProbeSize::Payload(_) => ("--size", 0),
        ProbeSize::Packet(_) => ("--packet-size", header),
    };
    if payloads.most > longest {
        return Err(EndpointError::Usage(format!(
            "the probe is too large ({flag}): {} bytes are more than UDP carries; use at most {}B",
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

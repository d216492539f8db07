//! From a target to a stream that is ready to begin.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration as StdDuration, Instant};

use romer_endpoint::EndpointError;
use romer_endpoint::card::{Card, Cards, refusal};
use romer_endpoint::circumstances;
use romer_endpoint::names::with_zone;
use romer_host::host_info;
use romer_host::link::Network;
use romer_host::route::is_of_several_hosts;
use romer_host::socket::{SocketOptions, StampingSocket};
use romer_record::document::{Traffic, Way};
use romer_record::event::{Event, EventKind, Side};
use romer_record::manifest::{ClockRelation, CutShort, StampRequest, Stream};
use romer_session::control::{self, FarStream, possession};
use romer_session::sender;
use romer_traffic::{Limit, Payloads, Request, Schedule, TrafficModel};
use romer_units::{Duration, counted, counted_as, saturating_sum};
use romer_wire::compact;
use romer_wire::stamp;

use super::far::Conversation;
use super::options::{ProbeSize, StreamOptions, TTL, checked, floor, header_octets, payloads, schedule_of};
use super::reaching::{self, Reached};
use super::resuming::Resuming;
use super::route::Pathfinder;
use super::stream::{Identity, Shared};
use super::{MeasureOptions, rfc3339_now};

/// How long the association datagram is repeated until it is given up.
const ASSOCIATION: StdDuration = StdDuration::from_secs(4);
/// Time between two repetitions.
pub(super) const REPETITION: StdDuration = StdDuration::from_millis(150);

/// A stream that is ready to begin.
pub(super) struct Prepared {
    pub(super) shared: Arc<Shared>,
    /// Where the target was asked: of its control channel, or its reflector.
    pub(super) address: SocketAddr,
    pub(super) schedule: Schedule,
    pub(super) interval: Duration,
    /// Smaller payloads of the schedule are raised to this.
    pub(super) floor: u32,
    pub(super) manifest: Stream,
    pub(super) conversation: Option<Conversation>,
    /// What was measured instead of the romer that is not there.
    pub(super) instead: Option<String>,
    /// Datagrams that the far end's kernel dropped because its program was too slow.
    pub(super) far_drops: u64,
    /// Datagrams that came there, named this stream and were none of its probes.
    pub(super) mistagged: u64,
    /// The far end sent or reported more than it may, and its conversation was closed.
    pub(super) overrun: bool,
    /// Looks for the way to the target, where that is asked for; of two directions, the first has it.
    pub(super) pathfinder: Option<Pathfinder>,
    /// What is being done so that the session outlives its connection.
    pub(super) resuming: Resuming,
    /// Whether this host had a way to the target at the last look.
    pub(super) has_way: bool,
}

impl Prepared {
    /// Why the far end is out of reach.
    pub(super) const fn gone(&self) -> CutShort {
        match (self.overrun, self.has_way) {
            (true, _) => CutShort::FarEndExcess,
            (false, true) => CutShort::FarEndGone,
            (false, false) => CutShort::NoWay,
        }
    }

    /// What was seen that the rows do not tell.
    pub(super) fn warnings(&self) -> Vec<String> {
        let errors = self.shared.path_errors.load(Ordering::Acquire);
        let mut warnings: Vec<String> = self.instead.iter().cloned().collect();
        let altered = self.shared.altered.load(Ordering::Acquire);
        if altered > 0 {
            let one = "datagram arrived at the far end with a sequence number that was not sent";
            let others = "datagrams arrived at the far end with sequence numbers that were not sent";
            warnings.push(format!(
                "{}: altered on the path, or from another sender; not counted, and a probe with an altered number counts as lost",
                counted_as(altered, one, others)
            ));
        }
        if self.mistagged > 0 {
            warnings.push(format!(
                "{} at the far end with this session's identifier and a wrong tag: truncated or altered on the path; not counted, and the \
                 probes count as lost",
                counted_as(self.mistagged, "datagram arrived", "datagrams arrived")
            ));
        }
        let own_drops = self.shared.unread.load(Ordering::Acquire);
        let events = &self.manifest.events;
        warnings.extend(dropped(Side::Responder, self.far_drops, events));
        warnings.extend(dropped(Side::Sender, own_drops, events));
        let unanswered = self.shared.unanswered.load(Ordering::Acquire);
        if unanswered > 0 {
            warnings.push(format!(
                "this host itself dropped {} that it had taken, because the next host on the way did not answer when asked for its \
                 hardware address",
                counted(unanswered, "probe")
            ));
        }
        let nobody = self.shared.nobody.load(Ordering::Acquire);
        if nobody > 0 {
            warnings.push(format!(
                "the far host reported of {} that nobody took {} there (ICMP)",
                counted(nobody, "probe"),
                if nobody == 1 { "it" } else { "them" }
            ));
        }
        if errors > 0 {
            let word = self.shared.router_word().map_or_else(String::new, |word| format!(": {word}"));
            let errors = counted(errors, "error");
            warnings.push(format!("the path reported {errors} (ICMP) about the probes{word}"));
        }
        warnings
    }
}

/// What is to be said of `drops` datagrams that the kernel at `side` dropped unread: by the `events` there, those that it
/// dropped while its program stood still, and those for which that was too slow.
fn dropped(side: Side, drops: u64, events: &[Event]) -> Vec<String> {
    let standing = while_standing(side, events).min(drops);
    let (end, that) =
        if side == Side::Responder { ("the far end", "that host") } else { ("this host", "this host") };
    let arrived = "those among them that were probes arrived, and are no losses (instrument_drops)";
    let mut words = Vec::new();
    if standing > 0 {
        words.push(format!(
            "{end}'s kernel dropped {} unread while its program stood still (stopped, or its host had no processor for it): \
             {arrived}; see that nothing stops it there, and that {that} is not put to sleep",
            counted(standing, "datagram")
        ));
    }
    if drops > standing {
        words.push(format!(
            "{end} was too slow: its kernel dropped {} unread; {arrived}; send more slowly, or leave {that} more time",
            counted(drops - standing, "datagram")
        ));
    }
    words
}

/// What a program has not read by so long after it stood still came while it did.
const CATCHING_UP_NS: i64 = 1_000_000_000;

/// How many datagrams found a full socket at `side` while the program there stood still, by its clock, or caught up after it.
fn while_standing(side: Side, events: &[Event]) -> u64 {
    let of = |kind: EventKind| events.iter().filter(move |event| (event.kind, event.side) == (kind, side));
    let span = |event: &Event| {
        let length = event.until_ns.map_or(0, |until| until.saturating_sub(event.at_ns));
        (event.clock_ns, event.clock_ns.saturating_add(length))
    };
    let pauses: Vec<(i64, i64)> = of(EventKind::Pause).map(span).collect();
    let overflows = of(EventKind::ReceiveOverflow).filter(|overflow| {
        let (from, until) = span(overflow);
        pauses.iter().any(|(began, ended)| from <= ended.saturating_add(CATCHING_UP_NS) && until >= *began)
    });
    saturating_sum(overflows.filter_map(|overflow| overflow.datagrams))
}

/// The addresses of a stream's target, in the order in which they are to be tried. Their port is that of the control channel,
/// or of the reflector.
pub(super) fn addresses(
    options: &MeasureOptions,
    stream: &StreamOptions,
) -> Result<Vec<SocketAddr>, EndpointError> {
    // Contradictions are told before the target's name is looked up.
    checked(&stream.traffic)?;
    let usual = if options.stamp_only { stamp::PORT } else { control::PORT };
    stream.target.addresses(options.family, stream.target.port.unwrap_or(usual))
}

/// What is to be sent to one address of a target, checked before anybody is called there.
pub(super) struct Plan {
    pub(super) address: SocketAddr,
    pub(super) local: SocketAddr,
    card: Option<Arc<Card>>,
    traffic: Request,
    schedule: Schedule,
    payloads: Payloads,
    floor: u32,
}

impl Plan {
    /// # Errors
    /// Why nothing can be sent to `address`.
    pub(super) fn new(
        options: &MeasureOptions,
        cards: &Cards,
        stream: &StreamOptions,
        way: Way,
        address: SocketAddr,
    ) -> Result<Self, EndpointError> {
        let local = local_address(options, address)?;
        let card =
            if options.stamp == StampRequest::Nic { Some(card(options, cards, address)?) } else { None };
        let keyed = options.key.is_some();
        let (traffic, schedule) = schedule_of(stream, address, way, keyed)?;
        let payloads = payloads(stream, &schedule, way, address, mtu(address, options), keyed)?;
        let floor = floor(stream, &schedule, way, keyed);
        // What is wrong with where probes are to leave from is told before anybody is called from there.
        bind(options, local, &socket_options(options))?;
        Ok(Self { address, local, card, traffic, schedule, payloads, floor })
    }
}

/// Greets, opens and associates a stream to the first of `addresses` that answers. What is worth a line is added to `notes`.
pub(super) fn prepare(
    options: &MeasureOptions,
    cards: &Cards,
    stream: &StreamOptions,
    (way, number): (Way, u16),
    addresses: &[SocketAddr],
    notes: &mut Vec<String>,
) -> Result<Prepared, EndpointError> {
    let plan = |address: &SocketAddr| Plan::new(options, cards, stream, way, *address);
    let Reached { plan, conversation } =
        reaching::reach(options, stream, way, addresses.iter().map(plan), notes)?;
    let Plan { address, local, card, traffic, schedule, payloads, floor } = plan;
    notes.extend(card.as_ref().and_then(|card| card.shortcoming()));
    let mut conversation = conversation;
    let test_port = conversation.as_ref().map_or_else(
        || if options.stamp_only { address.port() } else { stamp::PORT },
        |conversation| conversation.welcome.test_port,
    );
    let target = with_port(address, test_port);
    let instead = (conversation.is_none() && !options.stamp_only).then(|| {
        format!(
            "no romer answered at {address} (TCP): what is measured is the reflector at UDP port {test_port} of that host"
        )
    });
    let (socket, receiver) = open(options, local, target, schedule.interval())?;
    let ssid = u16::from_be_bytes(circumstances::random()).max(1);
    let mut manifest = manifest(options, stream, &schedule, payloads, Some(target));
    let mut identity = Identity { number, ssid, way, session: None, token: None };
    if let Some(conversation) = &mut conversation {
        manifest.far_log = true;
        if card.is_some() && !conversation.welcome.has(control::HAS_CARD) {
            notes.push(FAR_WITHOUT_CARD.into());
        }
        manifest.metadata.responder_software = Some(conversation.welcome.software.clone());
        manifest.metadata.responder_clock_sync.clone_from(&conversation.welcome.clock_sync);
        if circumstances::clock_identity().is_shared_with(&conversation.welcome.clock) {
            manifest.clock_relation = ClockRelation::Shared;
        }
        let ttl = options.ttl.unwrap_or(TTL);
        let far_stream = FarStream::new(&traffic, floor, options.dscp.tos() | options.ecn.bits(), ttl);
        if way == Way::Reverse && far_stream.trace.is_some() && !conversation.welcome.has(control::TRACE) {
            return Err(EndpointError::Refused {
                address: with_zone(address),
                why: format!("{} there plays no trace", conversation.welcome.software),
                mend: "update it, or choose another model or --direction forward".into(),
            });
        }
        let (interval, count) = asked(&traffic, &schedule);
        let request = control::Request {
            ssid,
            interval_ns: interval.as_nanos(),
            count,
            payload_octets: payloads.most,
            direction: way,
            stream: (way == Way::Reverse).then_some(far_stream),
        };
        let grant = conversation.request(request)?;
        identity.token = Some(grant.token);
        let drawn = grant.key.map(|drawn| possession::probe_key(options.key.as_deref(), drawn));
        identity.session = drawn.map(|key| session_of(ssid, way, key));
    }
    let shared = Arc::new(
        Shared::new(identity, socket, receiver, target, schedule.expected_count())
            .by_interface(options.interface.clone())
            .with_key(options.key.clone())
            .with_card(card),
    );
    let conversation =
        conversation.map(|conversation| associate(conversation, &shared, options.ttl)).transpose()?;
    let interval = schedule.interval();
    Ok(Prepared {
        shared,
        address,
        schedule,
        interval,
        floor,
        manifest,
        conversation,
        instead,
        far_drops: 0,
        mistagged: 0,
        overrun: false,
        pathfinder: None,
        resuming: Resuming::default(),
        has_way: true,
    })
}

/// The interval and the count that a far end is asked for: those of the schedule. A recorded one has as many packets a second as
/// its busiest second, and is asked for as long as it takes at that rate.
fn asked(traffic: &Request, schedule: &Schedule) -> (Duration, u64) {
    let count = schedule.most_count().max(1);
    if !matches!(traffic.model, TrafficModel::Trace { .. }) {
        return (schedule.interval(), count);
    }
    let interval = Duration::from_nanos(1_000_000_000 / i64::from(schedule.busiest_second()).max(1));
    let length = schedule.expected_length().as_nanos().unsigned_abs();
    (interval, count.max(length.div_ceil(interval.as_nanos().unsigned_abs().max(1)).saturating_add(1)))
}

/// What is said where only this end stamps by its network card.
const FAR_WITHOUT_CARD: &str = "the far end does not stamp by its network card: its stamps are its kernel's; start `romer \
    respond --stamp nic` there, if its interface can";

/// The network card that the probes leave by, switched on.
fn card(options: &MeasureOptions, cards: &Cards, target: SocketAddr) -> Result<Arc<Card>, EndpointError> {
    let interface = options.interface.clone().or_else(|| host_info::route_to(target).ok()?.interface);
    let interface = interface.ok_or_else(|| {
        refusal(
            None,
            romer_host::HostError::Unsuitable("it is not known by which interface the probes leave"),
        )
    })?;
    cards.of(&interface)
}

fn session_of(number: u16, way: Way, key: [u8; 16]) -> compact::Session {
    let heading = if way == Way::Reverse { compact::Heading::Reverse } else { compact::Heading::Forward };
    compact::Session { number, key: compact::Key::new(key), heading }
}

/// The largest IP packet that the path is known to take: the interface's that was asked for, or the route's.
fn mtu(target: SocketAddr, options: &MeasureOptions) -> Option<u32> {
    match &options.interface {
        Some(interface) => host_info::interface_mtu(interface).ok(),
        None => host_info::route_to(target).ok().map(|route| route.mtu),
    }
}

fn interfaces() -> String {
    let links = Network::open(None).and_then(|network| network.links()).unwrap_or_default();
    links.into_iter().map(|link| link.name).collect::<Vec<_>>().join(", ")
}

pub(super) fn with_port(mut address: SocketAddr, port: u16) -> SocketAddr {
    address.set_port(port);
    address
}

pub(super) fn local_address(
    options: &MeasureOptions,
    target: SocketAddr,
) -> Result<SocketAddr, EndpointError> {
    let any =
        if target.is_ipv4() { IpAddr::V4(Ipv4Addr::UNSPECIFIED) } else { IpAddr::V6(Ipv6Addr::UNSPECIFIED) };
    match options.source {
        Some(source) if source.is_ipv4() != target.is_ipv4() => Err(EndpointError::Usage(format!(
            "the source is of another family than the target (--source): {source} cannot send to {}; give an address \
             of the same family, or choose the target's with -4 or -6",
            target.ip()
        ))),
        // Where the system does not tell, it says so itself when the socket is opened.
        Some(source) if is_of_several_hosts(source).unwrap_or(false) => Err(EndpointError::Usage(format!(
            "the source is the address of several hosts (--source): {source} is a network's broadcast address, or a group's, and no \
             host sends from there; give an address of this host, or leave it out"
        ))),
        source => Ok(SocketAddr::new(source.unwrap_or(any), 0)),
    }
}

/// How sockets for what is sent to a target are set up.
pub(super) fn socket_options(options: &MeasureOptions) -> SocketOptions {
    SocketOptions {
        interface: options.interface.clone(),
        dscp: options.dscp,
        ecn: options.ecn,
        ttl: Some(options.ttl.unwrap_or(TTL)),
        kernel_stamps: options.stamp != StampRequest::User,
        card_stamps: options.stamp == StampRequest::Nic,
        dont_fragment: true,
        path_errors: true,
        ..SocketOptions::default()
    }
}

/// A socket for probes from `local`.
pub(super) fn bind(
    options: &MeasureOptions,
    local: SocketAddr,
    socket_options: &SocketOptions,
) -> Result<StampingSocket, EndpointError> {
    StampingSocket::bind(local, socket_options).map_err(|error| {
        let (place, mend) = match (&options.interface, options.source) {
            (Some(interface), _) if error.errno() == Some(19) => (
                format!("--interface {interface}"),
                format!("name one of this host's interfaces: {}", interfaces()),
            ),
            (_, Some(source)) => (format!("--source {source}"), "name an address of this host".to_string()),
            _ => (local.to_string(), "see whether the host has an address of this family".to_string()),
        };
        EndpointError::Host { what: "open a socket for the probes", place, source: Box::new(error), mend }
    })
}

/// The socket that sends the probes, and the one that receives the reflections.
fn open(
    options: &MeasureOptions,
    local: SocketAddr,
    target: SocketAddr,
    interval: Duration,
) -> Result<(StampingSocket, Option<StampingSocket>), EndpointError> {
    let per_second = 1_000_000_000u64.checked_div(interval.as_nanos().unsigned_abs()).unwrap_or(0);
    let receive_buffer = SocketOptions::buffer_for(per_second);
    let socket_options = SocketOptions { receive_buffer, ..socket_options(options) };
    let bind = || bind(options, local, &socket_options);
    let mut socket = bind()?;
    // A reflector takes what comes from its own port for a loop. While this socket has that port, another has not.
    if socket.local_address().port() == target.port() {
        socket = bind()?;
    }
    // Where there is no route at present the probes say so themselves, each one, and one may come.
    let receiver = socket.receiver_from(target, &socket_options).ok();
    Ok((socket, receiver))
}

/// Proves the address of the test packets.
fn associate(
    mut conversation: Conversation,
    shared: &Shared,
    ttl: Option<u8>,
) -> Result<Conversation, EndpointError> {
    let deadline = Instant::now() + ASSOCIATION;
    while Instant::now() < deadline {
        let refused = shared.associate().err();
        if conversation.associated(REPETITION)? {
            return Ok(conversation);
        }
        if let Some(error) = refused.filter(romer_host::HostError::is_permission) {
            return Err(EndpointError::host(
                "send probes",
                with_zone(shared.target),
                "see the host's packet filter",
                error,
            ));
        }
    }
    Err(EndpointError::Unreachable {
        address: format!("UDP {}", with_zone(shared.target)),
        why: "the control channel works, but no test packet arrives".into(),
        mend: match ttl {
            None => {
                "let UDP to this port through the filters on the way, or choose another port with `romer respond --listen`"
            }
            Some(_) => {
                "let probes live for more routers (--ttl), let UDP to this port through the filters on the way, or choose \
                 another port with `romer respond --listen`"
            }
        },
    })
}

/// The manifest of a stream to a target that cannot be measured, for the reason `why`.
pub(super) fn unreachable(
    options: &MeasureOptions,
    stream: &StreamOptions,
    why: String,
) -> Result<Stream, EndpointError> {
    let size = match stream.size {
        ProbeSize::Payload(octets) => Some(octets),
        ProbeSize::Natural | ProbeSize::Packet(_) => None,
    };
    let schedule = checked(&Request { size, ..stream.traffic.clone() })?;
    let payloads = schedule.payloads(floor(stream, &schedule, options.direction, options.key.is_some()));
    let now = rfc3339_now();
    let manifest = manifest(options, stream, &schedule, payloads, None);
    Ok(Stream { ended: Some(now), unreachable: Some(why), ..manifest })
}

fn manifest(
    options: &MeasureOptions,
    stream: &StreamOptions,
    schedule: &Schedule,
    payloads: Payloads,
    target: Option<SocketAddr>,
) -> Stream {
    let (count, duration_ns) = match schedule.limit() {
        Limit::Count(count) => (Some(count), None),
        Limit::Duration(duration) => (None, Some(duration.as_nanos())),
    };
    let interface = options.interface.clone().or_else(|| host_info::route_to(target?).ok()?.interface);
    let payload = rounded(payloads.mean);
    let varying = |octets| (payloads.least < payloads.most).then_some(octets);
    let protocol = if options.direction.is_one_way() && options.key.is_some() {
        "romer's compact one-way probe, authenticated"
    } else if options.direction.is_one_way() {
        "romer's compact one-way probe"
    } else if options.key.is_some() {
        "STAMP (RFC 8762), authenticated"
    } else if payloads.least < sender::STAMP_PAYLOAD {
        "TWAMP-Light (RFC 5357 appendix I), unauthenticated"
    } else {
        "STAMP (RFC 8762), unauthenticated"
    };
    Stream {
        target: stream.target.text.clone(),
        started: rfc3339_now(),
        ended: None,
        traffic: Traffic {
            direction: options.direction,
            model: stream.traffic.model.to_string(),
            departure_jitter: stream.traffic.jitter.map(|jitter| jitter.to_string()),
            interval_ns: schedule.interval().as_nanos(),
            frames_per_packet: stream.traffic.model.codec().map(|codec| codec.frames(stream.traffic.bundle)),
            payload_octets: payload,
            payload_octets_min: varying(payloads.least),
            payload_octets_max: varying(payloads.most),
            packet_octets: target.map(|target| payload + header_octets(target)),
            count,
            duration_ns,
            dscp: Some(options.dscp.value()),
            ecn: Some(options.ecn.to_string()),
            ttl: Some(options.ttl.unwrap_or(TTL)),
            seed: stream.traffic.is_random().then_some(stream.traffic.seed.0),
            waiting_time_ns: options.waiting_time.as_nanos(),
            protocol: protocol.into(),
        },
        metadata: circumstances::metadata(
            interface.as_deref(),
            options.comment.clone(),
            options.command.clone(),
        ),
        clock_relation: ClockRelation::Unknown,
        far_log: false,
        far_log_complete: false,
        not_logged: Vec::new(),
        far_log_lacks: Vec::new(),
        cut_short: None,
        unreachable: None,
        stamp_request: options.stamp,
        skew: options.skew.clone(),
        voice: options.voice.clone(),
        limits: options.limits.iter().map(ToString::to_string).collect(),
        calibration: options.calibration.clone(),
        routers_unheard: None,
        responder_routers_unheard: None,
        address: target.map(|target| target.to_string()),
        replies: Default::default(),
        checksum_errors: Default::default(),
        events: Vec::new(),
    }
}

/// A mean of sizes, to the nearest octet.
#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a mean of 32-bit sizes is one")]
fn rounded(mean: f64) -> u32 {
    mean.round() as u32
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Events of a far end whose numbers of datagrams exceed 64 bits together give the largest count.
    #[test]
    fn datagrams_of_events_saturate() {
        let event = |kind, datagrams| Event { datagrams, ..Event::new(kind, Side::Responder, 0, 0) };
        let overflow = event(EventKind::ReceiveOverflow, Some(u64::MAX));
        let events = [event(EventKind::Pause, None), overflow.clone(), overflow];
        assert_eq!(while_standing(Side::Responder, &events), u64::MAX);
    }
}

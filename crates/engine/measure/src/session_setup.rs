//! Sets up the session of a target: from its name to a stream that is ready to start.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::{Duration as StdDuration, Instant};

use romer_endpoint::card::Cards;
use romer_endpoint::damage::{DamageMonitor, WatchedProbes};
use romer_endpoint::names::with_zone;
use romer_endpoint::tls::PeerChannel;
use romer_endpoint::{EndpointError, circumstances};
use romer_host::host_info;
use romer_host::socket::{SocketOptions, StampingSocket};
use romer_record::document::{ProbeDirection, Traffic};
use romer_record::manifest::{ClockRelation, Stream};
use romer_record::note::Notice;
use romer_record::warning::MeasurementWarning;
use romer_session::control::{self, ReverseStreamRequest, possession};
use romer_session::sender;
use romer_traffic::{Limit, Payloads, Request, Schedule, TrafficModel};
use romer_units::{Direction, Duration};
use romer_wire::pattern::Pattern;
use romer_wire::{oneway_probe, stamp};

use super::far::Conversation;
use super::options::MeasureOptions;
use super::options::{Contents, ProbeSize, StreamOptions, TTL, checked, floor, header_octets};
use super::plan::{Plan, bind, socket_options, with_port};
use super::prepared::{Prepared, REPETITION};
use super::reaching::{self, Reached};
use super::resumption::Resuming;
use super::stream::{Identity, Shared};
use super::times::rfc3339_now;
use super::traffic_control::TrafficControl;

/// How long the association datagram is repeated until it is given up.
const ASSOCIATION: StdDuration = StdDuration::from_secs(4);

/// The addresses of a stream's target, in the order in which they are to be tried. Their port is that of the control channel,
/// or of the reflector.
pub(super) fn addresses(
    options: &MeasureOptions,
    stream: &StreamOptions,
) -> Result<Vec<SocketAddr>, EndpointError> {
    // Contradictions are told before the target's name is looked up.
    checked(&stream.traffic)?;
    let usual = if options.reflector_only() { stamp::PORT } else { control::PORT };
    stream.target.addresses(options.family, stream.target.port.unwrap_or(usual))
}

/// Greets, opens and associates a stream to the first of `addresses` that answers. What is worth a line is added to `notes`.
pub(super) fn prepare(
    options: &MeasureOptions,
    (cards, channel): (&Cards, &PeerChannel),
    stream: &StreamOptions,
    (way, number): (ProbeDirection, u16),
    addresses: &[SocketAddr],
    notes: &mut Vec<Notice>,
) -> Result<Prepared, EndpointError> {
    let plan = |address: &SocketAddr| Plan::new(options, cards, stream, way, *address);
    let Reached { plan, conversation } =
        reaching::reach(options, stream, way, channel, addresses.iter().map(plan), notes)?;
    let Plan { address, local, card, traffic, schedule, payloads, floor } = plan;
    notes.extend(card.as_ref().and_then(|card| card.shortcoming()));
    let mut conversation = conversation;
    let test_port = conversation.as_ref().map_or_else(
        || if options.reflector_only() { address.port() } else { stamp::PORT },
        |conversation| conversation.welcome.test_port,
    );
    let target = with_port(address, test_port);
    let instead = (conversation.is_none() && !options.reflector_only())
        .then(|| MeasurementWarning::StampReflectorOnly { address: address.to_string(), port: test_port });
    let unverified = conversation.as_ref().and_then(Conversation::unverified);
    let unverified = unverified.map(|unverified| MeasurementWarning::ResponderNotVerified {
        name: unverified.name.clone(),
        fingerprint: unverified.fingerprint.to_string(),
        saved: unverified.is_saved,
    });
    let at_start = instead.into_iter().chain(unverified).collect();
    let (socket, receiver) = open(options, local, target, schedule.interval())?;
    let ssid = u16::from_be_bytes(circumstances::random()).max(1);
    let mut manifest = manifest(options, stream, &schedule, payloads, Some(target));
    let (interval, count) = asked(&traffic, &schedule);
    let longest = i64::try_from(count).ok().and_then(|count| interval.checked_mul(count));
    let longest = longest.unwrap_or(Duration::MAX);
    let pattern = options.count_damage.then(|| Pattern::new(u32::from_be_bytes(circumstances::random())));
    let mut identity = Identity { number, ssid, way, session: None, token: None, asked: 0 };
    let mut key = options.key.clone();
    if conversation.is_none() {
        if options.authenticate {
            return Err(EndpointError::Unreachable {
                address: with_zone(address),
                why: "no romer responder answers there, and --authenticate needs its control channel".into(),
                mend: "start `romer respond` there, or measure without --authenticate",
            });
        }
        relate_clocks(options, &mut manifest, address)?;
    }
    if let Some(conversation) = &mut conversation {
        manifest.responder_log = true;
        if card.is_some() && !conversation.welcome.has(control::HAS_CARD) {
            notes.push(Notice::ResponderWithoutNicStamps);
        }
        manifest.metadata.responder_software = Some(conversation.welcome.software.clone());
        manifest.metadata.responder_clock_sync.clone_from(&conversation.welcome.clock_sync);
        if circumstances::clock_identity().is_shared_with(&conversation.welcome.clock) {
            manifest.clock_relation = ClockRelation::Shared;
        }
        relate_clocks(options, &mut manifest, address)?;
        let ttl = options.ttl.unwrap_or(TTL);
        let far_stream =
            ReverseStreamRequest::new(&traffic, floor, options.dscp.tos() | options.ecn.bits(), ttl);
        if way == ProbeDirection::Reverse
            && far_stream.trace.is_some()
            && !conversation.welcome.has(control::TRACE)
        {
            return Err(EndpointError::Refused {
                address: with_zone(address),
                why: format!("{} there cannot replay a trace", conversation.welcome.software),
                mend: "update it, or choose another model or --direction forward".into(),
            });
        }
        identity.asked = count;
        let request = control::Request {
            ssid,
            interval_ns: interval.as_nanos(),
            count,
            payload_octets: payloads.most,
            direction: way,
            stream: (way == ProbeDirection::Reverse).then_some(far_stream),
        };
        let grant = conversation.request(request)?;
        identity.token = Some(grant.token);
        if options.authenticate && !way.is_one_way() {
            key = Some(Arc::new(conversation.authenticate()?));
        }
        if let Some(pattern) = pattern.filter(|_| conversation.welcome.has(control::DAMAGE)) {
            conversation.send(&control::Message::CountDamage(control::CountDamage { tag: pattern.tag() }));
        }
        let drawn = grant.key.map(|drawn| possession::probe_key(options.key.as_deref(), drawn));
        identity.session = drawn.map(|key| session_of(ssid, way, key));
    }
    let shared = Arc::new(
        Shared::new(identity, socket, receiver, target, schedule.expected_count())
            .by_interface(options.interface.clone())
            .with_key(key)
            .with_in_packet_stamps(options.has_in_packet_stamps())
            .with_card(card)
            .with_pattern(pattern),
    );
    let damage = monitor(options, &shared)?;
    let conversation =
        conversation.map(|conversation| associate(conversation, &shared, options.ttl)).transpose()?;
    let interval = schedule.interval();
    Ok(Prepared {
        shared,
        address,
        schedule,
        longest,
        interval,
        lead: Duration::ZERO,
        floor,
        manifest,
        conversation,
        at_start,
        far_drops: 0,
        damage,
        far_damage: None,
        bad_tag: 0,
        fault: None,
        pathfinder: None,
        resuming: Resuming::default(),
        has_way: true,
    })
}

/// What counts the damaged probes that come to this host, if that is requested and any come.
fn monitor(options: &MeasureOptions, shared: &Shared) -> Result<Option<DamageMonitor>, EndpointError> {
    let Some(pattern) = shared.pattern.filter(|_| shared.way != ProbeDirection::Forward) else {
        return Ok(None);
    };
    let probes = WatchedProbes {
        pattern,
        carrier: Contents::of_run(options).carrier(shared.way),
        is_ipv6: shared.target.ip().to_canonical().is_ipv6(),
        port: shared.socket.local_address().port(),
    };
    let refused = |error| {
        let mend = "run as root, or `sudo setcap cap_net_raw+ep $(command -v romer)`";
        EndpointError::host("count damaged probes", "--checksum header", mend, error)
    };
    DamageMonitor::start(probes).map(Some).map_err(refused)
}

/// Relates the clocks of a stream by what both hosts and the user state.
fn relate_clocks(
    options: &MeasureOptions,
    manifest: &mut Stream,
    address: SocketAddr,
) -> Result<(), EndpointError> {
    let stated = options.clocks.resolve(options.clock_offset, manifest.clock_relation, &manifest.metadata);
    let is_bounded_here = manifest.metadata.clock_sync.error_bound_ns().is_some();
    let (relation, synchronisation) = stated.ok_or_else(|| EndpointError::UnknownClockError {
        responder: is_bounded_here.then(|| with_zone(address)),
    })?;
    manifest.clock_relation = relation;
    manifest.skew.synchronisation = synchronisation;
    Ok(())
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

/// The session of one-way probes of this stream.
fn session_of(number: u16, way: ProbeDirection, key: [u8; 16]) -> oneway_probe::Session {
    let direction = if way == ProbeDirection::Reverse { Direction::Reverse } else { Direction::Forward };
    oneway_probe::Session { number, key: oneway_probe::Key::new(key), direction }
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
        // One datagram each repetition, however many messages come meanwhile.
        let next = Instant::now() + REPETITION;
        while let Some(left) = next.checked_duration_since(Instant::now()) {
            if conversation.associated(left)? {
                return Ok(conversation);
            }
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
                "allow UDP to this port in the firewalls of the path, or choose another port with `romer respond --listen`"
            }
            Some(_) => {
                "raise --ttl, allow UDP to this port in the firewalls of the path, or choose another port with `romer respond --listen`"
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
    let payloads = schedule.payloads(floor(stream, &schedule, options.direction, Contents::of_run(options)));
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
    let TrafficControl { service, priority, .. } = options.traffic_control;
    let varying = |octets| (payloads.least < payloads.most).then_some(octets);
    let protocol = if options.direction.is_one_way() && options.is_authenticated() {
        "romer's compact one-way probe, authenticated"
    } else if options.direction.is_one_way() {
        "romer's compact one-way probe"
    } else if options.is_authenticated() {
        "STAMP (RFC 8762), authenticated"
    } else if options.has_in_packet_stamps() {
        "STAMP (RFC 8762), unauthenticated, with in-packet time stamps"
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
            service,
            priority: priority.filter(|_| options.direction != ProbeDirection::Reverse),
            kernel_shaping: None,
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
        responder_log: false,
        responder_log_complete: false,
        not_logged: Vec::new(),
        responder_log_gaps: Vec::new(),
        early_end: None,
        unreachable: None,
        stamp_request: options.stamp,
        skew: options.skew.clone(),
        voice: options.voice.clone(),
        limits: options.limits.iter().map(ToString::to_string).collect(),
        calibration: options.calibration.clone(),
        ip_no_pmtu_disc: None,
        responder_ip_no_pmtu_disc: None,
        address: target.map(|target| target.to_string()),
        replies: Default::default(),
        checksum_errors: Default::default(),
        damage: None,
        events: Vec::new(),
    }
}

/// A mean of sizes, to the nearest octet.
#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a mean of 32-bit sizes is one")]
fn rounded(mean: f64) -> u32 {
    mean.round() as u32
}

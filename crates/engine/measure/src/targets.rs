//! The targets of a run, prepared side by side: one that does not answer holds up none of the others.

use romer_analyze::{call, limits};
use romer_bpf::stamper::PacketStamper;
use romer_endpoint::EndpointError;
use romer_endpoint::card::Cards;
use romer_endpoint::host_events::ip_no_pmtu_disc;
use romer_endpoint::tls::{Channel, ChannelOptions, PeerChannel};
use romer_record::document::ProbeDirection;
use romer_record::event::EventLocation;
use romer_record::manifest::{MOST_STREAMS, Stream};
use romer_record::note::Notice;
use romer_traffic::{Limit, Request, Schedule};
use romer_units::random::Seed;
use romer_wire::udp::ACCEPTED_PAYLOAD;

use super::in_packet;
use super::kernel_shaper;
use super::observer::Observer;
use super::options::{MeasureOptions, StreamOptions, check_sizes};
use super::parallel::side_by_side;
use super::prepared::Prepared;
use super::profile;
use super::route::RouteDiscovery;
use super::session_setup;

/// A target to which nothing can be measured.
pub(super) struct Dead {
    pub(super) number: u16,
    pub(super) manifest: Stream,
    pub(super) error: EndpointError,
}

/// All targets of a run.
#[derive(Default)]
pub(super) struct Targets {
    /// One for each direction of each target, in the targets' order.
    pub(super) streams: Vec<Prepared>,
    pub(super) dead: Vec<Dead>,
    /// The network cards that stamp, as long as they are to.
    pub(super) cards: Cards,
    /// The programs that write stamps into the packets, as long as they are to.
    pub(super) stamper: Option<PacketStamper>,
}

/// What became of one target, and what is to be told of it.
struct TargetResult {
    prepared: Result<Vec<Prepared>, EndpointError>,
    notes: Vec<Notice>,
}

/// Resolves, greets, opens and associates every stream. Where some of several targets do not answer or refuse, the
/// others are measured without them.
///
/// # Errors
/// What cannot be for any target, and the first target's error where no target is left.
pub(super) fn prepare(
    options: &MeasureOptions,
    observer: &mut dyn Observer,
) -> Result<Targets, EndpointError> {
    refuse_contradictions(options)?;
    let mut targets = Targets::default();
    let answers = all(options, &targets.cards);
    for ((answer, stream), number) in answers.into_iter().zip(&options.streams).zip(0..) {
        for note in &answer.notes {
            observer.on_note(number, &note.clone().into());
        }
        match answer.prepared {
            Ok(mut prepared) => targets.streams.append(&mut prepared),
            Err(error) if error.is_of_the_far_end() && options.streams.len() > 1 => {
                let notice = Notice::TargetNotMeasured { error: error.to_string() };
                observer.on_note(number, &notice.into());
                let stream = of_part(stream, options.direction, ProbeDirection::Forward, number);
                let manifest = session_setup::unreachable(options, &stream, error.to_string())?;
                targets.dead.push(Dead { number, manifest, error });
            }
            Err(error) => return Err(error),
        }
    }
    if targets.streams.is_empty() && !targets.dead.is_empty() {
        return Err(targets.dead.swap_remove(0).error);
    }
    targets.stamper = in_packet::attach(&targets.streams)?;
    Ok(targets)
}

/// What became of each target, in their order.
fn all(options: &MeasureOptions, cards: &Cards) -> Vec<TargetResult> {
    let channel = Channel::new(options.channel.clone());
    side_by_side("romer-prepare", options.streams.len(), |place| {
        let stream = &options.streams[place];
        let common = (cards, &channel.to(&stream.target).protected_here(options.authenticate));
        one(options, common, stream, u16::try_from(place).unwrap_or(u16::MAX))
    })
}

/// All directions of one target.
fn one(
    options: &MeasureOptions,
    common: (&Cards, &PeerChannel),
    stream: &StreamOptions,
    number: u16,
) -> TargetResult {
    let mut notes = Vec::new();
    let mut addresses = match session_setup::addresses(options, stream) {
        Ok(addresses) => addresses,
        Err(error) => return TargetResult { prepared: Err(error), notes },
    };
    let prepared = options.direction.parts().iter().map(|way| {
        let part = of_part(stream, options.direction, *way, number);
        let prepared =
            session_setup::prepare(options, common, &part, (*way, number), &addresses, &mut notes)?;
        // Both directions are between the same two addresses.
        addresses = vec![prepared.address];
        Ok(prepared)
    });
    let mut prepared: Result<Vec<Prepared>, EndpointError> = prepared.collect();
    for part in prepared.iter_mut().flatten() {
        notes.extend(few(&stream.traffic, &part.schedule, part.shared.way));
        if part.shared.target.is_ipv4() && part.schedule.payloads(part.floor).most > ACCEPTED_PAYLOAD {
            let [own, theirs] = deaf(part);
            (part.manifest.ip_no_pmtu_disc, part.manifest.responder_ip_no_pmtu_disc) = (own, theirs);
            let is_reverse = part.shared.way == ProbeDirection::Reverse;
            let ignored = |location, ip_no_pmtu_disc, probes| Notice::PacketTooBigIgnored {
                location,
                ip_no_pmtu_disc,
                probes,
                replies: !probes,
            };
            notes.extend(own.map(|setting| ignored(EventLocation::Sender, setting, true)));
            notes.extend(theirs.map(|setting| ignored(EventLocation::Responder, setting, is_reverse)));
        }
    }
    if let (true, Ok([first, ..])) = (options.route, prepared.as_deref_mut()) {
        first.pathfinder = RouteDiscovery::begin(options, first.shared.target);
        first.manifest.metadata.route = first.pathfinder.as_ref().map(RouteDiscovery::hops);
    }
    TargetResult { prepared, notes }
}

/// The settings by which this host and the responder's do not hear routers about what each of them sends, where they do not.
fn deaf(part: &Prepared) -> [Option<u32>; 2] {
    let own = if part.shared.way == ProbeDirection::Reverse { None } else { ip_no_pmtu_disc() };
    let sends_back = part.shared.way != ProbeDirection::Forward;
    let far = part.conversation.as_ref().filter(|_| sends_back);
    [own, far.and_then(|conversation| conversation.welcome.ip_no_pmtu_disc)]
}

/// Of so few packets that chance spreads over a time, their number is told before they leave.
const MAX_COUNTED_PACKETS: usize = 9;

/// What is to be said of a random schedule that has few packets, or none, in the time that was asked for.
fn few(traffic: &Request, schedule: &Schedule, way: ProbeDirection) -> Option<Notice> {
    let Limit::Duration(length) = schedule.limit() else { return None };
    let number = schedule.clone().take(MAX_COUNTED_PACKETS + 1).count();
    if number > MAX_COUNTED_PACKETS || !traffic.is_random() {
        return None;
    }
    Some(Notice::FewPackets {
        location: if way == ProbeDirection::Reverse {
            EventLocation::Responder
        } else {
            EventLocation::Sender
        },
        packets: u64::try_from(number).unwrap_or(u64::MAX),
        model: traffic.model.to_string(),
        interval_ns: schedule.interval().as_nanos(),
        duration_ns: length.as_nanos(),
        expected: schedule.expected_count(),
    })
}

/// Refuses what can be measured to no target, before anything is opened.
///
/// # Errors
/// [`EndpointError::Usage`], which names the option in brackets.
pub fn check(options: &MeasureOptions) -> Result<(), EndpointError> {
    refuse_contradictions(options)?;
    check_sizes(options)
}

fn refuse_contradictions(options: &MeasureOptions) -> Result<(), EndpointError> {
    kernel_shaper::check(options)?;
    profile::check(options)?;
    in_packet::check(options)?;
    if options.direction.is_one_way() && options.stamp_only {
        return Err(EndpointError::Usage(
            "options cannot be combined (--direction, --stamp-only): a foreign reflector does nothing but \
             reflect; leave one of them out"
                .into(),
        ));
    }
    if options.authenticate && (options.reflector_only() || options.channel == ChannelOptions::Plain) {
        return Err(EndpointError::Usage(
            "options cannot be combined (--authenticate; --stamp-only or --insecure): the keys are those of the TLS control channel; \
             leave one of them out"
                .into(),
        ));
    }
    let streams = options.streams.len() * options.direction.parts().len();
    if streams > MOST_STREAMS {
        return Err(EndpointError::Usage(format!(
            "too many targets (TARGET): a run has at most {MOST_STREAMS} streams, and these are {streams}; measure them in \
             several runs"
        )));
    }
    for stream in &options.streams {
        let codec = call::codec_to_send(&options.voice, &stream.traffic).map_err(EndpointError::Usage)?;
        let fits = |limit: &limits::Limit| limit.fits(options.direction, codec.as_ref());
        options
            .limits
            .iter()
            .try_for_each(fits)
            .map_err(|why| EndpointError::Usage(format!("the limit does not apply (--limit): {why}")))?;
    }
    Ok(())
}

/// The stream of one direction of target `number`. Each target draws by a seed of its own, and where both ends send, the far end
/// by the next one, so that no two have the same random schedule.
fn of_part(
    stream: &StreamOptions,
    direction: ProbeDirection,
    way: ProbeDirection,
    number: u16,
) -> StreamOptions {
    let mut part = stream.clone();
    let [a, b, c, d, e, last] = part.traffic.seed.0;
    let of_far_end = u32::from((direction, way) == (ProbeDirection::Both, ProbeDirection::Reverse));
    part.traffic.seed = Seed([a, b, c, d, e.wrapping_add(number.into()), last.wrapping_add(of_far_end)]);
    part
}

//! What a responder grants, and the words in which it refuses.

use romer_record::document::ProbeDirection;
use romer_traffic::{Departure, Schedule};
use romer_units::{Dscp, Duration};
use romer_wire::oneway_probe;

use super::message::{RefusalCode, Refused, Request};
use super::server::limits::{Limits, Others};
use super::stream::ReverseStreamRequest;
use super::stream::StreamLoad;
use crate::sender::SHORTEST_PAYLOAD;

const MAX_UDP_PAYLOAD: u32 = 65_507;
/// The longest text of a traffic model, and of a departure jitter, that is read: it is read several times for each request.
const LONGEST_MODEL: usize = 4 * 1024;

impl Request {
    /// Packets a second that it asks for.
    pub fn rate(&self) -> u64 {
        rate(self.pace())
    }

    /// Bits of IP packets a second that it asks the responder to send.
    pub(super) fn bits(&self) -> u64 {
        let load = |stream: &ReverseStreamRequest| {
            stream.schedule().ok().map(|schedule| stream.load(&schedule).bits())
        };
        self.stream.as_ref().and_then(load).unwrap_or(0)
    }

    /// The same request with the departures that were `told` before it, where its stream is a recorded one. `most` is how
    /// many there may be, and `count` how many came.
    pub(super) fn with_departures(
        mut self,
        told: &[Departure],
        count: u64,
        most: usize,
    ) -> Result<Self, Refused> {
        let Some(stream) = self.stream.take() else { return Ok(self) };
        if stream.recorded_sizes.is_some() && count > u64::try_from(told.len()).unwrap_or(u64::MAX) {
            let message = format!("a trace of {count} packets: its limit is {most}");
            let granted = u64::try_from(most).ok();
            return Err(refused(RefusalCode::Length, message, granted));
        }
        self.stream = Some(stream.with_departures(told).map_err(invalid)?);
        Ok(self)
    }

    /// How long the session takes at the most.
    pub(super) fn length(&self) -> Duration {
        let schedule = self.stream.as_ref().and_then(|stream| stream.schedule().ok());
        let (interval, count) = schedule
            .map_or((Duration::from_nanos(self.interval_ns), self.count), |own| {
                (own.interval(), own.most_count())
            });
        Duration::from_nanos(interval.as_nanos().saturating_mul(i64::try_from(count).unwrap_or(i64::MAX)))
    }

    fn pace(&self) -> Duration {
        match &self.stream {
            Some(stream) => stream.schedule().map_or(Duration::ZERO, |schedule| stream.pace(&schedule)),
            None => Duration::from_nanos(self.interval_ns),
        }
    }
}

/// Packets a second, of slower streams 1: who sends at all counts among those who send.
fn rate(pace: Duration) -> u64 {
    1_000_000_000u64.checked_div(pace.as_nanos().unsigned_abs()).map_or(u64::MAX, |rate| rate.max(1))
}

fn invalid(message: impl Into<String>) -> Refused {
    refused(RefusalCode::Invalid, message.into(), None)
}

pub(super) fn refused(code: RefusalCode, message: String, granted: Option<u64>) -> Refused {
    Refused { code, message, granted, retry_after_seconds: None }
}

/// Why `request` is not granted; `None` where it is. `busy` says why no further session can be opened, `one_way` that sessions
/// of one way can.
pub(super) fn refusal(
    request: &Request,
    limits: &Limits,
    busy: Option<&str>,
    one_way: bool,
) -> Option<Refused> {
    check(request, limits, one_way).err().or_else(|| {
        busy.map(|why| Refused {
            code: RefusalCode::Busy,
            message: why.into(),
            granted: None,
            retry_after_seconds: Some(10),
        })
    })
}

fn check(request: &Request, limits: &Limits, one_way: bool) -> Result<(), Refused> {
    if request.direction.is_one_way() && !one_way {
        return Err(invalid("it supports round trips only"));
    }
    match (request.direction, &request.stream) {
        (ProbeDirection::RoundTrip, None) => within(request, SHORTEST_PAYLOAD, limits),
        (ProbeDirection::Forward, None) => within(request, shortest_one_way(), limits),
        (ProbeDirection::Reverse, Some(stream)) => own(stream, limits),
        _ => Err(invalid("a stream is requested if, and only if, the responder sends it")),
    }
}

fn shortest_one_way() -> u32 {
    u32::try_from(oneway_probe::SHORTEST).unwrap_or(u32::MAX)
}

/// Whether the sender may send what it means to.
fn within(request: &Request, shortest: u32, limits: &Limits) -> Result<(), Refused> {
    if request.interval_ns < 0
        || !(shortest..=MAX_UDP_PAYLOAD).contains(&request.payload_octets)
        || request.count == 0
    {
        return Err(invalid("interval, count or payload is outside its range"));
    }
    let interval = Duration::from_nanos(request.interval_ns);
    let others = [limits.others.coming, limits.others.all_coming];
    within_rate(rate(interval), [limits.packets_per_second, limits.all_packets_per_second], others)?;
    within_length(interval, request.count, limits)
}

/// Whether the responder will send this itself.
fn own(stream: &ReverseStreamRequest, limits: &Limits) -> Result<(), Refused> {
    let text = stream.model.len().max(stream.jitter.as_ref().map_or(0, String::len));
    if text > LONGEST_MODEL {
        return Err(invalid(format!("a traffic model of {text} bytes: its limit is {LONGEST_MODEL}")));
    }
    if Dscp::new(stream.dscp).is_none() {
        return Err(invalid("no such DSCP"));
    }
    if stream.ttl == 0 {
        return Err(invalid("a TTL of 0"));
    }
    let schedule = stream.schedule().map_err(|why| invalid(format!("invalid stream: {why}")))?;
    let payloads = schedule.payloads(stream.floor);
    if payloads.least < shortest_one_way() {
        return Err(invalid(format!("a one-way probe has at least {} bytes", oneway_probe::SHORTEST)));
    }
    if payloads.most > limits.largest_payload {
        let most = limits.largest_payload;
        let message = format!("{} bytes of payload: its limit is {most}", payloads.most);
        return Err(refused(RefusalCode::Size, message, Some(most.into())));
    }
    let why_busy = if limits.others.all_send {
        Some("the number of sessions in which it sends is at its limit")
    } else if limits.others.network_sends {
        Some(
            "the number of sessions in which it sends to this network (/24 or /56) is at its limit, a quarter of all",
        )
    } else {
        None
    };
    if let Some(message) = why_busy {
        return Err(later(refused(RefusalCode::Busy, message.into(), None)));
    }
    let limit = limits.own_packets_per_second;
    let others = [limits.others.own, limits.others.all_own];
    within_rate(rate(stream.pace(&schedule)), [limit, limits.all_packets_per_second], others)?;
    within_burst(stream, &schedule, limit.saturating_sub(limits.others.own))?;
    within_bits(stream.load(&schedule), limits)?;
    within_length(schedule.interval(), schedule.most_count(), limits)
}

/// Whether a session with this rate fits into what one network may have, and into what all may, of which other sessions have
/// some.
fn within_rate(
    rate: u64,
    [limit, all_limit]: [u64; 2],
    [others, all_others]: [u64; 2],
) -> Result<(), Refused> {
    let left = limit.saturating_sub(others);
    if rate <= left {
        let all_left = all_limit.saturating_sub(all_others);
        if rate <= all_left {
            return Ok(());
        }
        let message = format!(
            "{rate} packets/s: its limit for all sessions is {all_limit} packets/s, and other sessions have {all_others} of them"
        );
        return Err(later(refused(RefusalCode::Rate, message, Some(all_left))));
    }
    if others == 0 {
        let message = format!("{rate} packets/s: its limit is {limit} packets/s");
        return Err(refused(RefusalCode::Rate, message, Some(limit)));
    }
    let message = format!(
        "{rate} packets/s: its limit for one network (/24 or /56) is {limit} packets/s, and other sessions of this network have \
         {others} of them"
    );
    let refused = refused(RefusalCode::Rate, message, Some(left));
    Err(if left == 0 { later(refused) } else { refused })
}

/// Whether a stream of this load fits into the bits that one network may be sent, and into those that all may, of which other
/// sessions have some.
fn within_bits(load: StreamLoad, limits: &Limits) -> Result<(), Refused> {
    let Others { own_bits, all_own_bits, .. } = limits.others;
    let scopes = [
        (limits.own_bits_per_second, own_bits, "to one network (/24 or /56)", "of this network"),
        (limits.all_own_bits_per_second, all_own_bits, "to all networks together", "of all networks"),
    ];
    for (limit, others, to, whose) in scopes {
        let Some(limit) = limit else { continue };
        let left = limit.saturating_sub(others);
        if load.bits() <= left {
            continue;
        }
        let StreamLoad { packets, octets } = load;
        let held = match others {
            0 => String::new(),
            _ => format!(", and other sessions {whose} have {} of them", megabits(others)),
        };
        let message = format!(
            "{packets} packets/s of {octets} bytes are {}: without --key-file and --allow it sends at most {} {to}{held}; smaller \
             packets need less",
            megabits(load.bits()),
            megabits(limit)
        );
        let refused = refused(RefusalCode::Rate, message, Some(left / octets.saturating_mul(8).max(1)));
        return Err(if refused.granted == Some(0) { later(refused) } else { refused });
    }
    Ok(())
}

/// Bits a second in words, rounded up to a tenth of a megabit.
fn megabits(bits: u64) -> String {
    let tenths = bits.div_ceil(100_000);
    let fraction = if tenths.is_multiple_of(10) { String::new() } else { format!(".{}", tenths % 10) };
    format!("{}{fraction} Mbit/s", tenths / 10)
}

/// What may be granted another time.
fn later(refused: Refused) -> Refused {
    Refused { retry_after_seconds: Some(10), ..refused }
}

/// A deep token bucket lets many packets go at once: not more than a second's worth.
fn within_burst(stream: &ReverseStreamRequest, schedule: &Schedule, limit: u64) -> Result<(), Refused> {
    let one_too_many = usize::try_from(limit).unwrap_or(usize::MAX);
    let bursts = stream.model.starts_with("token-bucket");
    let early = |departure: Departure| departure.offset < Duration::from_secs(1);
    if bursts && schedule.clone().nth(one_too_many).is_some_and(early) {
        let message = format!("a burst of more than {limit} packets: it sends at most {limit} packets/s");
        return Err(refused(RefusalCode::Rate, message, Some(limit)));
    }
    Ok(())
}

fn within_length(interval: Duration, count: u64, limits: &Limits) -> Result<(), Refused> {
    let length = i128::from(interval.as_nanos()) * i128::from(count);
    let longest = limits.longest;
    if length <= i128::from(longest.as_nanos()) {
        return Ok(());
    }
    let seconds = u64::try_from(longest.as_nanos() / 1_000_000_000).unwrap_or(0);
    Err(refused(RefusalCode::Length, format!("the test is too long: its limit is {longest}"), Some(seconds)))
}

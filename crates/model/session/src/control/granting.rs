//! What a responder grants, and why it refuses.

use romer_record::document::ProbeDirection;
use romer_record::refusal::{LimitScope, Refusal};
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
            let limit = u64::try_from(most).unwrap_or(u64::MAX);
            return Err(refused(
                RefusalCode::Length,
                Refusal::TracePackets { packets: count, limit },
                Some(limit),
            ));
        }
        self.stream = Some(stream.with_departures(told).map_err(invalid_stream)?);
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

fn invalid(reason: Refusal) -> Refused {
    refused(RefusalCode::Invalid, reason, None)
}

fn invalid_stream(error: String) -> Refused {
    invalid(Refusal::Stream { error })
}

fn refused(code: RefusalCode, reason: Refusal, granted: Option<u64>) -> Refused {
    Refused { code, reason, granted, retry_after_seconds: None }
}

/// Why `request` is not granted; `None` where it is. `busy` says which sessions leave no room for another, `one_way` that sessions
/// of one way can.
pub(super) fn refusal(
    request: &Request,
    limits: &Limits,
    busy: Option<LimitScope>,
    one_way: bool,
) -> Option<Refused> {
    check(request, limits, one_way)
        .err()
        .or_else(|| busy.map(|scope| later(refused(RefusalCode::Busy, Refusal::Sessions { scope }, None))))
}

fn check(request: &Request, limits: &Limits, one_way: bool) -> Result<(), Refused> {
    if request.direction.is_one_way() && !one_way {
        return Err(invalid(Refusal::RoundTripsOnly));
    }
    match (request.direction, &request.stream) {
        (ProbeDirection::RoundTrip, None) => within(request, SHORTEST_PAYLOAD, limits),
        (ProbeDirection::Forward, None) => within(request, shortest_one_way(), limits),
        (ProbeDirection::Reverse, Some(stream)) => own(stream, limits),
        _ => Err(invalid(Refusal::StreamMismatch)),
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
        return Err(invalid(Refusal::OutOfRange));
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
        let [bytes, limit] = [text, LONGEST_MODEL].map(|octets| u64::try_from(octets).unwrap_or(u64::MAX));
        return Err(invalid(Refusal::ModelText { bytes, limit }));
    }
    if Dscp::new(stream.dscp).is_none() {
        return Err(invalid(Refusal::Dscp));
    }
    if stream.ttl == 0 {
        return Err(invalid(Refusal::Ttl));
    }
    let schedule = stream.schedule().map_err(invalid_stream)?;
    let payloads = schedule.payloads(stream.floor);
    if payloads.least < shortest_one_way() {
        return Err(invalid(Refusal::PayloadTooShort { min_bytes: shortest_one_way() }));
    }
    if payloads.most > limits.largest_payload {
        let limit = limits.largest_payload;
        let reason = Refusal::Payload { bytes: payloads.most, limit };
        return Err(refused(RefusalCode::Size, reason, Some(limit.into())));
    }
    let others = limits.others;
    let full = [(others.all_send, LimitScope::All), (others.network_sends, LimitScope::Network)];
    if let Some((_, scope)) = full.into_iter().find(|(is_full, _)| *is_full) {
        return Err(later(refused(RefusalCode::Busy, Refusal::SendingSessions { scope }, None)));
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
        let reason = Refusal::Rate {
            packets_per_second: rate,
            limit: all_limit,
            scope: LimitScope::All,
            others: all_others,
        };
        return Err(later(refused(RefusalCode::Rate, reason, Some(all_left))));
    }
    let reason = Refusal::Rate { packets_per_second: rate, limit, scope: LimitScope::Network, others };
    let refused = refused(RefusalCode::Rate, reason, Some(left));
    Err(if left == 0 && others > 0 { later(refused) } else { refused })
}

/// Whether a stream of this load fits into the bits that one network may be sent, and into those that all may, of which other
/// sessions have some.
fn within_bits(load: StreamLoad, limits: &Limits) -> Result<(), Refused> {
    let Others { own_bits, all_own_bits, .. } = limits.others;
    let scopes = [
        (limits.own_bits_per_second, own_bits, LimitScope::Network),
        (limits.all_own_bits_per_second, all_own_bits, LimitScope::All),
    ];
    for (limit, others, scope) in scopes {
        let Some(limit) = limit else { continue };
        let left = limit.saturating_sub(others);
        if load.bits() <= left {
            continue;
        }
        let StreamLoad { packets, octets } = load;
        let reason = Refusal::BitRate {
            packets_per_second: packets,
            packet_bytes: octets,
            bps: load.bits(),
            limit_bps: limit,
            scope,
            others_bps: others,
        };
        let refused = refused(RefusalCode::Rate, reason, Some(left / octets.saturating_mul(8).max(1)));
        return Err(if refused.granted == Some(0) { later(refused) } else { refused });
    }
    Ok(())
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
        return Err(refused(RefusalCode::Rate, Refusal::Burst { limit }, Some(limit)));
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
    let reason = Refusal::Duration { limit_ns: longest.as_nanos() };
    Err(refused(RefusalCode::Length, reason, Some(seconds)))
}

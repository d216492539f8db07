//! What the far end of a session is to send.

use romer_traffic::{Departure, IpVersion, Limit, Request, Schedule, Trace, TrafficModel};
use romer_units::Duration;
use romer_units::random::Seed;
use serde::{Deserialize, Serialize};

use super::message::Message;

/// What the model of a stream is called whose departures were recorded; what its file was called is nobody's business.
const RECORDED: &str = "trace:recorded";

/// Request for a stream that the responder sends: the parameters of its schedule, so that both ends compute the same one. Only of a
/// recorded stream the departures travel as well, in parts of their own.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ReverseStreamRequest {
    /// The model, as `--traffic` takes it.
    pub model: String,
    /// Mean time between departures, nanoseconds; `null` for the model's own.
    pub interval_ns: Option<i64>,
    /// Payload of UDP in octets; `null` for the model's own.
    pub size: Option<u32>,
    /// Codec frames in a packet; `null` for the codec's own number.
    pub bundle: Option<u32>,
    /// So many departures; `null` where a duration is given.
    pub count: Option<u64>,
    /// So long, nanoseconds; `null` where a count is given.
    pub duration_ns: Option<i64>,
    /// Seed of the random models.
    pub seed: [u32; 6],
    /// How departures are perturbed, as `--departure-jitter` takes it.
    pub jitter: Option<String>,
    /// IPv6 carries the packets, for models that say how large frames are.
    pub ipv6: bool,
    /// Smaller payloads of the schedule are raised to this.
    pub floor: u32,
    /// Code point of the packets.
    pub dscp: u8,
    /// Their ECN bits, 0 to 3.
    #[serde(default)]
    pub ecn: u8,
    /// Their TTL or hop limit.
    pub ttl: u8,
    /// Whether the departures of a recorded stream, which were told before, have sizes; `null` where the model makes
    /// them.
    #[serde(default)]
    pub recorded_sizes: Option<bool>,
    /// These departures.
    #[serde(skip)]
    pub trace: Option<Trace>,
}

impl ReverseStreamRequest {
    /// The stream of `request`, whose payloads are `floor` octets at the least, with the service octet `tos`.
    pub fn new(request: &Request, floor: u32, tos: u8, ttl: u8) -> Self {
        let (count, duration_ns) = match request.limit {
            Limit::Count(count) => (Some(count), None),
            Limit::Duration(duration) => (None, Some(duration.as_nanos())),
        };
        let recorded = matches!(request.model, TrafficModel::Trace { .. });
        let trace = request.trace.clone().filter(|_| recorded);
        Self {
            model: if recorded { RECORDED.into() } else { request.model.to_string() },
            interval_ns: request.interval.map(Duration::as_nanos),
            size: request.size,
            bundle: request.bundle,
            count,
            duration_ns,
            seed: request.seed.0,
            jitter: request.jitter.map(|jitter| jitter.to_string()),
            ipv6: request.version == IpVersion::V6,
            floor,
            dscp: tos >> 2,
            ecn: tos & 0b11,
            ttl,
            recorded_sizes: trace.as_ref().map(Trace::has_sizes),
            trace,
        }
    }

    /// What is told of a recorded stream before it is asked for, in parts.
    pub fn parts(&self) -> Vec<Message> {
        let told: Vec<Departure> = self.trace.iter().flat_map(Trace::departures).collect();
        told.chunks(Message::DEPARTURES_IN_A_FRAME).map(|part| Message::Part(part.to_vec())).collect()
    }

    /// The same stream, with the departures that were told for it.
    ///
    /// # Errors
    /// In words, where they are none.
    pub(super) fn with_departures(mut self, told: &[Departure]) -> Result<Self, String> {
        self.trace = match self.recorded_sizes {
            Some(sized) => Some(
                Trace::from_departures(told, sized)
                    .map_err(|error| format!("packet {}: {}", error.line, error.fault))?,
            ),
            None => None,
        };
        Ok(self)
    }

    /// The schedule.
    ///
    /// # Errors
    /// In words, where there is none: a field cannot be read, contradicts another, or names a file.
    pub fn schedule(&self) -> Result<Schedule, String> {
        let limit = match (self.count, self.duration_ns) {
            (Some(count), None) => Limit::Count(count),
            (None, Some(nanos)) => Limit::Duration(Duration::from_nanos(nanos)),
            _ => return Err("a stream has a count or a duration, one of the two".into()),
        };
        let model: TrafficModel = self.model.parse().map_err(|error| short(&error))?;
        if matches!(model, TrafficModel::Trace { .. }) && self.trace.is_none() {
            return Err("the packets of the trace are missing".into());
        }
        let jitter = self.jitter.as_deref().map(str::parse).transpose().map_err(|error| short(&error))?;
        let request = Request {
            interval: self.interval_ns.map(Duration::from_nanos),
            size: self.size,
            bundle: self.bundle,
            seed: Seed(self.seed),
            jitter,
            trace: self.trace.clone(),
            version: if self.ipv6 { IpVersion::V6 } else { IpVersion::V4 },
            ..Request::new(model, limit)
        };
        Schedule::new(&request).map_err(|error| short(&error))
    }

    /// The least time between two departures that the stream asks for by itself: its interval while it talks; of a
    /// recorded one, the mean gap in its busiest second.
    pub(super) fn pace(&self, schedule: &Schedule) -> Duration {
        if self.trace.is_some() {
            return Duration::from_nanos(1_000_000_000 / i64::from(schedule.busiest_second()).max(1));
        }
        self.interval_ns
            .map_or(schedule.interval(), |nanos| Duration::from_nanos(nanos).min(schedule.interval()))
    }
}

/// What a stream takes in its busiest second, at least by its mean rate and mean size.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct StreamLoad {
    /// Packets.
    pub(super) packets: u64,
    /// Octets of one of them, with the headers of IP and UDP.
    pub(super) octets: u64,
}

impl StreamLoad {
    /// Bits a second.
    pub(super) const fn bits(self) -> u64 {
        self.packets.saturating_mul(self.octets).saturating_mul(8)
    }
}

impl ReverseStreamRequest {
    /// Its load. Less than a second's worth of packets is no more than these.
    pub(super) fn load(&self, schedule: &Schedule) -> StreamLoad {
        let rate = 1_000_000_000u64.checked_div(self.pace(schedule).as_nanos().unsigned_abs());
        let headers: u32 = if self.ipv6 { 48 } else { 28 };
        // Payloads have at most 65,507 octets.
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a mean of sizes")]
        let payload = schedule.payloads(self.floor).mean.round() as u64;
        StreamLoad {
            packets: rate.unwrap_or(u64::MAX).min(schedule.most_count()),
            octets: payload.saturating_add(headers.into()),
        }
    }
}

/// The words of an error, a few of them: they quote what the other end sent.
fn short(error: &impl ToString) -> String {
    error.to_string().chars().take(200).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use romer_traffic::{Departure, Trace};

    #[test]
    fn both_ends_make_the_same_schedule_of_every_model() {
        for model in [
            "periodic",
            "poisson",
            "melp",
            "opus:24kbit",
            "im",
            "talkspurt:p59@melp",
            "talkspurt:hyper",
            "onoff:1s,=200ms@g711",
            "imix:simple",
            "imix:chadda2004",
            "token-bucket:16kBps,64B",
        ] {
            let model: TrafficModel = model.parse().unwrap();
            for limit in [Limit::Count(40), Limit::Duration(Duration::from_secs(3))] {
                let request = Request {
                    seed: Seed([1, 2, 3, 4, 5, 6]),
                    jitter: Some("exponential:3ms".parse().unwrap()),
                    version: IpVersion::V6,
                    ..Request::new(model.clone(), limit)
                };
                let here: Vec<Departure> = Schedule::new(&request).unwrap().collect();
                let there = ReverseStreamRequest::new(&request, 9, 46, 255);
                let there: Vec<Departure> = there.schedule().unwrap().collect();
                assert_eq!(here, there, "{model} {limit:?}");
            }
        }
    }

    fn recorded(packets: i64, gap: Duration) -> ReverseStreamRequest {
        let told: Vec<Departure> = (0..packets)
            .map(|n| Departure { offset: Duration::from_nanos(gap.as_nanos() * n), size: 44 })
            .collect();
        let trace = Trace::from_departures(&told, true).unwrap();
        let model: TrafficModel = "trace:/home/me/secret.csv".parse().unwrap();
        ReverseStreamRequest::new(
            &Request { trace: Some(trace), ..Request::new(model, Limit::Count(1 << 30)) },
            9,
            0,
            255,
        )
    }

    #[test]
    fn a_recorded_stream_is_told_in_parts_and_without_the_name_of_its_file() {
        let stream = recorded(12_000, Duration::from_millis(1));
        let parts = stream.parts();
        assert_eq!(parts.len(), 12_000usize.div_ceil(Message::DEPARTURES_IN_A_FRAME));
        let text = serde_json::to_string(&stream).unwrap();
        assert!(!text.contains("secret"), "{text}");
        let there: ReverseStreamRequest = serde_json::from_str(&text).unwrap();
        assert!(there.schedule().unwrap_err().contains("packets of the trace are missing"));
        let told: Vec<Departure> = parts
            .into_iter()
            .flat_map(|part| if let Message::Part(part) = part { part } else { panic!("{part:?}") })
            .collect();
        let there = there.with_departures(&told).unwrap();
        assert!(there.schedule().unwrap().eq(stream.schedule().unwrap()));
        assert!(there.with_departures(&[told[1], told[0]]).unwrap_err().contains("packet 2: "));
    }

    #[test]
    fn no_file_of_the_far_end_is_read() {
        let periodic = Request::new(TrafficModel::Periodic, Limit::Count(2));
        let forged = ReverseStreamRequest {
            model: "trace:/etc/passwd".into(),
            ..ReverseStreamRequest::new(&periodic, 9, 0, 255)
        };
        assert!(forged.schedule().unwrap_err().contains("missing"));
        let refused = forged.with_departures(&[]).unwrap().schedule().unwrap_err();
        assert!(refused.contains("of the trace are missing"), "{refused}");
    }

    /// The rate of a recorded stream is that of its busiest second.
    #[test]
    fn recorded_rate_is_of_the_busiest_second() {
        let of = |stream: ReverseStreamRequest| stream.pace(&stream.schedule().unwrap());
        assert_eq!(of(recorded(5_000, Duration::from_millis(1))), Duration::from_millis(1));
        assert_eq!(of(recorded(3, Duration::from_secs(60))), Duration::from_secs(1));
        assert_eq!(of(recorded(500, Duration::ZERO)), Duration::from_millis(2));
    }
}

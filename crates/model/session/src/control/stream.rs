//! What the far end of a session is to send.

use romer_traffic::{IpVersion, Limit, Request, Schedule, TrafficModel};
use romer_units::Duration;
use romer_units::random::Seed;
use serde::{Deserialize, Serialize};

/// A stream for the far end to send: not a list of departures, but what a schedule is made from, so that both ends make
/// the same one.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct FarStream {
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
}

impl FarStream {
    /// The stream of `request`, whose payloads are `floor` octets at the least, with the service octet `tos`. `None` where a trace drives it: its file
    /// is here, and not there.
    pub fn new(request: &Request, floor: u32, tos: u8, ttl: u8) -> Option<Self> {
        let (count, duration_ns) = match request.limit {
            Limit::Count(count) => (Some(count), None),
            Limit::Duration(duration) => (None, Some(duration.as_nanos())),
        };
        (!matches!(request.model, TrafficModel::Trace { .. })).then(|| Self {
            model: request.model.to_string(),
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
        })
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
        if matches!(model, TrafficModel::Trace { .. }) {
            return Err("a trace is a file, and its file is not here".into());
        }
        let jitter = self.jitter.as_deref().map(str::parse).transpose().map_err(|error| short(&error))?;
        let request = Request {
            interval: self.interval_ns.map(Duration::from_nanos),
            size: self.size,
            bundle: self.bundle,
            seed: Seed(self.seed),
            jitter,
            version: if self.ipv6 { IpVersion::V6 } else { IpVersion::V4 },
            ..Request::new(model, limit)
        };
        Schedule::new(&request).map_err(|error| short(&error))
    }

    /// The least time between two departures that the stream asks for by itself: its interval while it talks.
    pub(super) fn pace(&self, schedule: &Schedule) -> Duration {
        self.interval_ns
            .map_or(schedule.interval(), |nanos| Duration::from_nanos(nanos).min(schedule.interval()))
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
            "imix:seed003",
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
                let there = FarStream::new(&request, 9, 46, 255).unwrap();
                let there: Vec<Departure> = there.schedule().unwrap().collect();
                assert_eq!(here, there, "{model} {limit:?}");
            }
        }
    }

    #[test]
    fn a_trace_is_sent_by_the_end_that_has_it_only() {
        let trace = Trace::parse(b"offset_ns,size\n0,44\n5,44\n").unwrap();
        let model: TrafficModel = "trace:/etc/passwd".parse().unwrap();
        let request = Request { trace: Some(trace), ..Request::new(model, Limit::Count(2)) };
        assert_eq!(FarStream::new(&request, 9, 0, 255), None);
        let periodic = Request::new(TrafficModel::Periodic, Limit::Count(2));
        let forged =
            FarStream { model: "trace:/etc/passwd".into(), ..FarStream::new(&periodic, 9, 0, 255).unwrap() };
        assert!(forged.schedule().unwrap_err().contains("file"));
    }
}

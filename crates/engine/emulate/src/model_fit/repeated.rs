//! The traffic of a measured run, as options of `romer measure`.

use romer_record::document::{ProbeDirection, Traffic};
use romer_traffic::{DepartureJitter, Limit, Request, Schedule, TrafficModel};
use romer_units::Duration;

use super::plan::SHORTEST_SPACING;
use crate::predictive_check::real;

/// How much nearer to each other packets are, to find a correlation time.
const NEARER: f64 = 10.0;
/// Packets that leave together, to find the rate of a link.
const PAIR: i64 = 2;
/// The least UDP payload of a round trip, in octets: that of a STAMP packet without authentication (RFC 8762 section 4.2.1).
const LEAST_PAYLOAD: u32 = 44;
/// A schedule is made for its interval alone.
const ANY: Limit = Limit::Count(1);

/// The traffic of a run, to be sent again.
#[derive(Clone, Debug)]
pub(super) struct Repeated {
    request: Request,
    /// UDP payload in octets; 0 where it is unknown.
    payload: u32,
    direction: ProbeDirection,
    dscp: u8,
}

impl Repeated {
    /// That of a run with this spacing in nanoseconds. What cannot be sent again, such as a recorded schedule, becomes periodic, with the
    /// mean spacing and the mean size.
    pub(super) fn new(traffic: &Traffic, spacing: f64) -> Self {
        let mean = match traffic.interval_ns {
            recorded if recorded > 0 => Duration::from_nanos(recorded),
            _ => Duration::from_nanos_f64(spacing),
        };
        let model = traffic.model.parse::<TrafficModel>().ok().filter(|model| model.trace_file().is_none());
        let request = model.and_then(|model| {
            let with = |bundle: Option<u32>| {
                let has_bucket = matches!(model, TrafficModel::TokenBucket(_));
                let jitter = traffic.departure_jitter.as_deref().and_then(|jitter| jitter.parse().ok());
                let size = Some(traffic.payload_octets).filter(|_| has_bucket);
                Request { bundle, jitter, size, ..Request::new(model.clone(), ANY) }.with_mean_interval(mean)
            };
            [None, traffic.frames_per_packet].into_iter().find_map(with)
        });
        let (request, payload) = match request {
            Some(request) => (request, traffic.payload_octets),
            // A packet of another protocol may be smaller than a probe can be.
            None if traffic.payload_octets > 0 => {
                (periodic(rounded(mean)), traffic.payload_octets.max(LEAST_PAYLOAD))
            }
            None => (periodic(rounded(mean)), 0),
        };
        Self { request, payload, direction: traffic.direction, dscp: traffic.dscp.unwrap_or_default() }
    }

    /// Packets nearer to each other. A model that has its own interval is replaced.
    pub(super) fn nearer(self) -> Self {
        let mean = real(self.mean().as_nanos());
        let nearer = (mean / NEARER).max(SHORTEST_SPACING.min(mean));
        let interval = rounded(Duration::from_nanos_f64(nearer));
        let changed = Request { interval: Some(interval), jitter: None, ..self.request };
        let request = if Schedule::new(&changed).is_ok() { changed } else { periodic(interval) };
        Self { request, ..self }
    }

    /// Packets in pairs; of a random model in trains of various lengths.
    pub(super) fn in_pairs(self) -> Self {
        let period = Duration::from_nanos(self.mean().as_nanos().saturating_mul(PAIR));
        Self { request: Request { jitter: Some(DepartureJitter::Tick { period }), ..self.request }, ..self }
    }

    /// The mean time between packets.
    pub(super) fn mean(&self) -> Duration {
        Schedule::new(&self.request).map_or(Duration::ZERO, |schedule| schedule.interval())
    }

    /// The interval, where it is stated and not the model's own.
    fn interval(&self) -> Option<Duration> {
        match &self.request.model {
            TrafficModel::Periodic | TrafficModel::Poisson | TrafficModel::Imix(_) => Some(self.mean()),
            TrafficModel::Messages
            | TrafficModel::Talkspurt { .. }
            | TrafficModel::OnOff { .. }
            | TrafficModel::Codec(_)
            | TrafficModel::Trace { .. }
            | TrafficModel::TokenBucket(_) => self.request.interval,
        }
    }

    /// The payload, where it is not the model's own.
    fn payload(&self) -> Option<u32> {
        let model = &self.request.model;
        let is_own =
            model.codec().is_some() || matches!(model, TrafficModel::Imix(_) | TrafficModel::Messages);
        Some(self.payload).filter(|payload| !is_own && *payload > 0)
    }

    /// The options, each followed by its value.
    pub(super) fn options(&self, duration: Duration) -> Vec<String> {
        let direction = match self.direction {
            ProbeDirection::RoundTrip => "round-trip",
            ProbeDirection::Forward => "forward",
            ProbeDirection::Reverse => "reverse",
            ProbeDirection::Both => "both",
        };
        let text = |value: Option<Duration>| value.map(|value| value.to_string());
        let options = [
            ("--direction", Some(direction.to_owned())),
            ("--traffic", Some(self.request.model.to_string())),
            ("--bundle", self.request.bundle.map(|bundle| bundle.to_string())),
            ("--size", self.payload().map(|payload| payload.to_string())),
            ("--interval", text(self.interval())),
            ("--departure-jitter", self.request.jitter.map(|jitter| jitter.to_string())),
            ("--dscp", Some(self.dscp).filter(|dscp| *dscp > 0).map(|dscp| dscp.to_string())),
            ("--duration", text(Some(duration))),
        ];
        let given = |(option, value): (&str, Option<String>)| value.map(|value| [option.to_owned(), value]);
        options.into_iter().filter_map(given).flatten().collect()
    }
}

fn periodic(interval: Duration) -> Request {
    Request { interval: Some(interval), ..Request::new(TrafficModel::Periodic, ANY) }
}

/// A time of three significant digits, at least 1 ns.
fn rounded(time: Duration) -> Duration {
    let nanos = real(time.as_nanos()).max(1.0);
    let step = 10.0_f64.powf(nanos.log10().floor() - 2.0).max(1.0);
    Duration::from_nanos_f64((nanos / step).round() * step)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn options(repeated: &Repeated) -> String {
        repeated.options(Duration::from_secs(60)).join(" ")
    }

    /// Traffic is repeated with its interval, size and marks; that of a log of another program is periodic, with a size that a probe can
    /// have, and a rounded interval.
    #[test]
    fn traffic_is_repeated() {
        let traffic = |model: &str, interval_ns, payload_octets| Traffic {
            model: model.into(),
            interval_ns,
            payload_octets,
            ..Traffic::default()
        };
        let of = |traffic: &Traffic| Repeated::new(traffic, 2e7);
        let poisson = Traffic { dscp: Some(46), ..traffic("poisson", 33_333_333, 800) };
        assert_eq!(
            options(&of(&poisson)),
            "--direction round-trip --traffic poisson --size 800 --interval 33.333333ms --dscp 46 --duration 60s"
        );
        assert_eq!(
            options(&of(&poisson).nearer()),
            "--direction round-trip --traffic poisson --size 800 --interval 3.33ms --dscp 46 --duration 60s"
        );
        let opus = Traffic { frames_per_packet: Some(3), ..traffic("opus", 60_000_000, 252) };
        assert_eq!(
            options(&of(&opus).in_pairs()),
            "--direction round-trip --traffic opus --bundle 3 --departure-jitter tick:120ms --duration 60s"
        );
        let ping = of(&traffic("trace:ping.txt", 1_001_234_567, 16));
        assert_eq!(
            options(&ping),
            "--direction round-trip --traffic periodic --size 44 --interval 1s --duration 60s"
        );
        // No packets are nearer than a millisecond.
        let close = of(&traffic("periodic", 4_000_000, 44)).nearer();
        assert!(options(&close).contains("--interval 1ms"), "{close:?}");
    }
}

//! The metrics of an initiator: what a measurement knows of each target.

use std::sync::Arc;

use crate::histogram::Histogram;
use crate::registry::{Counter, Family, Gauge, Registry, Spec};

/// The direction that a metric is of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Way {
    /// There and back.
    RoundTrip,
    /// From initiator to responder.
    Forward,
    /// From responder to initiator.
    Reverse,
}

impl Way {
    /// The value of the label `direction`.
    pub const fn name(self) -> &'static str {
        match self {
            Self::RoundTrip => "round-trip",
            Self::Forward => "forward",
            Self::Reverse => "reverse",
        }
    }
}

/// What a one-way delay counts from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reference {
    /// The departure: both ends read one clock, or the error of their clocks is bounded.
    Departure,
    /// The least delay so far of the run: the offset of the two clocks is unknown.
    Minimum,
}

impl Reference {
    /// The value of the label `reference`.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Departure => "departure",
            Self::Minimum => "minimum",
        }
    }
}

/// The cause of losses before their causes are known.
const ANY: &str = "any";

/// The metrics of an initiator.
#[derive(Debug)]
pub struct ProbeMetrics {
    up: Family<Gauge, 1>,
    sent: Family<Counter, 1>,
    received: Family<Counter, 1>,
    lost: Arc<Family<Counter, 3>>,
    round_trip: Family<Histogram, 1>,
    one_way: Arc<Family<Histogram, 3>>,
    variation: Family<Histogram, 2>,
    offset_bound: Family<Gauge, 1>,
}

impl ProbeMetrics {
    /// Adds them to `registry`.
    pub fn new(registry: &Registry) -> Self {
        let target = ["target"];
        Self {
            up: registry.gauge(Spec {
                name: "romer_target_up",
                help: "1 if the latest probes that are not outstanding were answered, else 0.",
                labels: target,
            }),
            sent: registry.counter(Spec {
                name: "romer_probes_sent",
                help: "Probes that left the sending host.",
                labels: target,
            }),
            received: registry.counter(Spec {
                name: "romer_probes_received",
                help: "Probes that arrived, each counted once: replies of round trips, packets of one-way streams.",
                labels: target,
            }),
            lost: Arc::new(registry.counter(Spec {
                name: "romer_probes_lost",
                help: "Probes that did not arrive within the waiting time. Cause any: counted during the run. Other causes: the \
                       same losses again, by direction, at the end of a run.",
                labels: ["target", "direction", "cause"],
            })),
            round_trip: registry.histogram(Spec {
                name: "romer_round_trip_seconds",
                help: "Round-trip delay without the time in the responder.",
                labels: target,
            }),
            one_way: Arc::new(registry.histogram(Spec {
                name: "romer_one_way_delay_seconds",
                help: "One-way delay after clock correction. Reference departure: absolute. Reference minimum: above the least \
                       delay of the run, because the offset of the clocks is unknown.",
                labels: ["target", "direction", "reference"],
            })),
            variation: registry.histogram(Spec {
                name: "romer_delay_variation_seconds",
                help: "Absolute difference of the delays of probes that arrived one after the other (RFC 3393).",
                labels: ["target", "direction"],
            }),
            offset_bound: registry.gauge(Spec {
                name: "romer_clock_offset_bound_seconds",
                help: "Greatest error of a clock offset from round trips: half the minimum round-trip delay of the run; 0 with one \
                       clock.",
                labels: target,
            }),
        }
    }

    /// Those of one target. They are in every scrape from now on, also while nothing answers. A second call gives the same.
    pub fn target(&self, target: &str) -> TargetMetrics {
        let up = self.up.with([target]);
        if up.get().is_none() {
            up.set(0.0);
        }
        TargetMetrics {
            target: target.to_owned(),
            up,
            sent: self.sent.with([target]),
            received: self.received.with([target]),
            round_trip: self.round_trip.with([target]),
            variation: [Way::RoundTrip, Way::Forward, Way::Reverse]
                .map(|way| self.variation.with([target, way.name()])),
            offset_bound: self.offset_bound.with([target]),
            lost: Arc::clone(&self.lost),
            one_way: Arc::clone(&self.one_way),
        }
    }

    /// Removes those of a target that is no longer measured.
    pub fn remove(&self, target: &str) {
        self.up.remove(target);
        self.sent.remove(target);
        self.received.remove(target);
        self.lost.remove(target);
        self.round_trip.remove(target);
        self.one_way.remove(target);
        self.variation.remove(target);
        self.offset_bound.remove(target);
    }
}

/// The metrics of one target.
#[derive(Debug)]
pub struct TargetMetrics {
    target: String,
    up: Arc<Gauge>,
    sent: Arc<Counter>,
    received: Arc<Counter>,
    round_trip: Arc<Histogram>,
    variation: [Arc<Histogram>; 3],
    offset_bound: Arc<Gauge>,
    lost: Arc<Family<Counter, 3>>,
    one_way: Arc<Family<Histogram, 3>>,
}

impl TargetMetrics {
    /// Whether probes come back.
    pub fn set_up(&self, is_up: bool) {
        self.up.set(f64::from(u8::from(is_up)));
    }

    /// Adds probes that were sent.
    pub fn add_sent(&self, count: u64) {
        self.sent.add(count);
    }

    /// Adds probes that arrived.
    pub fn add_received(&self, count: u64) {
        self.received.add(count);
    }

    /// Adds losses of `way` of which the cause is not known yet.
    pub fn add_lost(&self, way: Way, count: u64) {
        self.add_lost_by(way, ANY, count);
    }

    /// Adds losses of `way` by their cause, at the end of a run.
    pub fn add_lost_by(&self, way: Way, cause: &str, count: u64) {
        self.lost.with([&self.target, way.name(), cause]).add(count);
    }

    /// Counts a round-trip delay, nanoseconds.
    pub fn observe_round_trip(&self, nanos: i64) {
        self.round_trip.observe(nanos);
    }

    /// The distribution of one-way delays of a direction.
    pub fn one_way(&self, way: Way, reference: Reference) -> Arc<Histogram> {
        self.one_way.with([&self.target, way.name(), reference.name()])
    }

    /// Counts the difference of two successive delays of `way`, nanoseconds.
    pub fn observe_variation(&self, way: Way, nanos: i64) {
        let [round_trip, forward, reverse] = &self.variation;
        let histogram = match way {
            Way::RoundTrip => round_trip,
            Way::Forward => forward,
            Way::Reverse => reverse,
        };
        histogram.observe(nanos.saturating_abs());
    }

    /// Sets the greatest error of a clock offset, nanoseconds.
    pub fn set_offset_bound(&self, nanos: i64) {
        #[expect(clippy::cast_precision_loss, reason = "a time of less than days")]
        let seconds = nanos as f64 / 1e9;
        self.offset_bound.set(seconds);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Format;

    /// A target that never answered has its metrics, and is down.
    #[test]
    fn silent_targets_have_metrics() {
        let registry = Registry::new();
        let target = ProbeMetrics::new(&registry).target("silent");
        target.add_lost(Way::RoundTrip, 0);
        let text = String::from_utf8(registry.encode(Format::Text)).unwrap();
        for line in [
            "romer_target_up{target=\"silent\"} 0",
            "romer_probes_sent_total{target=\"silent\"} 0",
            "romer_probes_received_total{target=\"silent\"} 0",
            "romer_probes_lost_total{target=\"silent\",direction=\"round-trip\",cause=\"any\"} 0",
            "romer_round_trip_seconds_count{target=\"silent\"} 0",
        ] {
            assert!(text.lines().any(|one| one == line), "{line}\n{text}");
        }
        assert!(!text.contains("romer_clock_offset_bound_seconds{"), "it is unknown:\n{text}");
    }

    /// A removed target has no time series left, and the others have theirs.
    #[test]
    fn removed_targets_leave_nothing() {
        let registry = Registry::new();
        let metrics = ProbeMetrics::new(&registry);
        for name in ["old", "new"] {
            let target = metrics.target(name);
            target.add_lost_by(Way::Forward, "unknown", 1);
            target.one_way(Way::Forward, Reference::Minimum).observe(1);
            target.set_offset_bound(1);
        }
        metrics.remove("old");
        let text = String::from_utf8(registry.encode(Format::Text)).unwrap();
        assert!(!text.contains("\"old\""), "{text}");
        for name in ["up", "probes_lost_total", "one_way_delay_seconds_count", "clock_offset_bound_seconds"] {
            let name = format!("romer_{}{name}", if name == "up" { "target_" } else { "" });
            assert!(text.contains(&format!("{name}{{target=\"new\"")), "{name}: {text}");
        }
    }

    /// A second run to a target continues its counters, and does not set it down before it has answered.
    #[test]
    fn later_runs_continue() {
        let registry = Registry::new();
        let metrics = ProbeMetrics::new(&registry);
        let first = metrics.target("one");
        first.set_up(true);
        first.add_sent(3);
        metrics.target("one").add_sent(4);
        let text = String::from_utf8(registry.encode(Format::Text)).unwrap();
        assert!(text.contains("romer_probes_sent_total{target=\"one\"} 7\n"), "{text}");
        assert!(text.contains("romer_target_up{target=\"one\"} 1\n"), "{text}");
    }
}

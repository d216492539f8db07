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

/// The labels that every metric of an initiator has first.
const TARGET: [&str; 2] = ["target", "measurement"];

/// The metrics of an initiator.
#[derive(Debug)]
pub struct ProbeMetrics {
    measurement: String,
    up: Family<Gauge, 2>,
    sent: Family<Counter, 2>,
    received: Family<Counter, 2>,
    lost: Arc<Family<Counter, 4>>,
    round_trip: Family<Histogram, 2>,
    one_way: Arc<Family<Histogram, 4>>,
    variation: Family<Histogram, 3>,
    offset_bound: Family<Gauge, 2>,
}

impl ProbeMetrics {
    /// Adds them to `registry`, without a label `measurement`.
    pub fn new(registry: &Registry) -> Self {
        Self::of_measurement(registry, "")
    }

    /// Adds those of one of several measurements to `registry`, with its name as the label `measurement`.
    pub fn of_measurement(registry: &Registry, name: &str) -> Self {
        let [target, measurement] = TARGET;
        Self {
            measurement: name.to_owned(),
            up: registry.gauge(Spec {
                name: "romer_target_up",
                help: "1 if the latest probes that are not outstanding were answered, else 0.",
                labels: TARGET,
            }),
            sent: registry.counter(Spec {
                name: "romer_probes_sent",
                help: "Probes that left the sending host.",
                labels: TARGET,
            }),
            received: registry.counter(Spec {
                name: "romer_probes_received",
                help: "Probes that arrived, each counted once: replies of round trips, packets of one-way streams.",
                labels: TARGET,
            }),
            lost: Arc::new(registry.counter(Spec {
                name: "romer_probes_lost",
                help: "Probes that did not arrive within the waiting time. Cause any: counted during the run. Other causes: the \
                       same losses again, by direction, at the end of a run.",
                labels: [target, measurement, "direction", "cause"],
            })),
            round_trip: registry.histogram(Spec {
                name: "romer_round_trip_seconds",
                help: "Round-trip delay without the time in the responder.",
                labels: TARGET,
            }),
            one_way: Arc::new(registry.histogram(Spec {
                name: "romer_one_way_delay_seconds",
                help: "One-way delay after clock correction. Reference departure: absolute. Reference minimum: above the least \
                       delay of the run, because the offset of the clocks is unknown.",
                labels: [target, measurement, "direction", "reference"],
            })),
            variation: registry.histogram(Spec {
                name: "romer_delay_variation_seconds",
                help: "Absolute difference of the delays of probes that arrived one after the other (RFC 3393).",
                labels: [target, measurement, "direction"],
            }),
            offset_bound: registry.gauge(Spec {
                name: "romer_clock_offset_bound_seconds",
                help: "Greatest error of a clock offset from round trips: half the minimum round-trip delay of the run; 0 with one \
                       clock.",
                labels: TARGET,
            }),
        }
    }

    /// Those of one target. They are in every scrape from now on, also while nothing answers. A second call gives the same.
    pub fn target(&self, target: &str) -> TargetMetrics {
        let labels = [target, self.measurement.as_str()];
        let [_, measurement] = labels;
        let up = self.up.with(labels);
        if up.get().is_none() {
            up.set(0.0);
        }
        TargetMetrics {
            labels: labels.map(str::to_owned),
            up,
            sent: self.sent.with(labels),
            received: self.received.with(labels),
            round_trip: self.round_trip.with(labels),
            variation: [Way::RoundTrip, Way::Forward, Way::Reverse]
                .map(|way| self.variation.with([target, measurement, way.name()])),
            offset_bound: self.offset_bound.with(labels),
            lost: Arc::clone(&self.lost),
            one_way: Arc::clone(&self.one_way),
        }
    }

    /// Removes those of a target that is no longer measured.
    pub fn remove(&self, target: &str) {
        let labels = &[target, self.measurement.as_str()];
        self.up.remove(labels);
        self.sent.remove(labels);
        self.received.remove(labels);
        self.lost.remove(labels);
        self.round_trip.remove(labels);
        self.one_way.remove(labels);
        self.variation.remove(labels);
        self.offset_bound.remove(labels);
    }
}

/// The metrics of one target.
#[derive(Debug)]
pub struct TargetMetrics {
    labels: [String; 2],
    up: Arc<Gauge>,
    sent: Arc<Counter>,
    received: Arc<Counter>,
    round_trip: Arc<Histogram>,
    variation: [Arc<Histogram>; 3],
    offset_bound: Arc<Gauge>,
    lost: Arc<Family<Counter, 4>>,
    one_way: Arc<Family<Histogram, 4>>,
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
        let [target, measurement] = &self.labels;
        self.lost.with([target, measurement, way.name(), cause]).add(count);
    }

    /// Counts a round-trip delay, nanoseconds.
    pub fn observe_round_trip(&self, nanos: i64) {
        self.round_trip.observe(nanos);
    }

    /// The distribution of one-way delays of a direction.
    pub fn one_way(&self, way: Way, reference: Reference) -> Arc<Histogram> {
        let [target, measurement] = &self.labels;
        self.one_way.with([target, measurement, way.name(), reference.name()])
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

    /// A removed target has no time series left, and others have theirs, also those of the same target.
    #[test]
    fn removed_targets_leave_nothing() {
        let registry = Registry::new();
        let metrics = ProbeMetrics::new(&registry);
        let other = ProbeMetrics::of_measurement(&registry, "other");
        for target in [metrics.target("old"), metrics.target("new"), other.target("old")] {
            target.add_lost_by(Way::Forward, "unknown", 1);
            target.one_way(Way::Forward, Reference::Minimum).observe(1);
            target.set_offset_bound(1);
        }
        metrics.remove("old");
        let text = String::from_utf8(registry.encode(Format::Text)).unwrap();
        let removed =
            |line: &&str| line.contains("target=\"old\"") && !line.contains("measurement=\"other\"");
        assert_eq!(text.lines().find(removed), None, "{text}");
        for name in
            ["target_up", "probes_lost_total", "one_way_delay_seconds_count", "clock_offset_bound_seconds"]
        {
            for kept in ["{target=\"new\"", "{target=\"old\",measurement=\"other\""] {
                assert!(text.contains(&format!("romer_{name}{kept}")), "{name}{kept}: {text}");
            }
        }
    }

    /// Measurements of the same target have time series of their own, in one family.
    #[test]
    fn measurements_are_distinguished() {
        let registry = Registry::new();
        for (name, sent) in [("core", 3), ("voice", 4)] {
            let target = ProbeMetrics::of_measurement(&registry, name).target("far");
            target.add_sent(sent);
            target.add_lost_by(Way::Forward, "unknown", sent);
            target.one_way(Way::Forward, Reference::Minimum).observe(1);
        }
        let text = String::from_utf8(registry.encode(Format::Text)).unwrap();
        for line in [
            "romer_probes_sent_total{target=\"far\",measurement=\"core\"} 3",
            "romer_probes_sent_total{target=\"far\",measurement=\"voice\"} 4",
            "romer_probes_lost_total{target=\"far\",measurement=\"core\",direction=\"forward\",cause=\"unknown\"} 3",
            "romer_one_way_delay_seconds_count{target=\"far\",measurement=\"voice\",direction=\"forward\",reference=\"minimum\"} 1",
        ] {
            assert!(text.lines().any(|one| one == line), "{line}\n{text}");
        }
        assert_eq!(text.matches("# TYPE romer_target_up gauge").count(), 1, "{text}");
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

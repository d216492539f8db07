//! Metrics of a measurement for a scrape, while it runs and at its end.

use std::sync::Arc;

use romer_analyze::evaluate::Evaluated;
use romer_record::document::{DelayKind, DirectionResults, LossCause, ProbeDirection};
use romer_record::manifest::ClockRelation;
use romer_record::{Fate, OneWaySingleton};
use romer_telemetry::{ProbeMetrics, Reference, TargetMetrics, Way};

use super::receiving::LiveDelay;

/// Metrics that follow a measurement. They outlive it: further runs continue their counters.
#[derive(Clone, Debug)]
pub struct Telemetry {
    /// Where it counts.
    pub metrics: Arc<ProbeMetrics>,
    /// Delays are counted at the end of the run: those of the document, by the best stamps of both ends. Otherwise they are
    /// counted as replies arrive, by the stamps that are known then, which have more of the time in both hosts. Delays of
    /// one-way streams are always counted at the end. Counts of packets are always current.
    pub delays_at_end: bool,
}

/// The metrics of one stream while it runs.
pub(super) struct StreamTelemetry {
    metrics: TargetMetrics,
    /// Probes sent and received that are in the metrics.
    counted: [u64; 2],
    /// Losses that are in the metrics: of forward or round trips, and of reverse.
    lost: [u64; 2],
    /// The last delays: round trip, forward and reverse, the latter two with the error of the clocks.
    last: [Option<i64>; 3],
    /// The least round trip of the run.
    least: Option<i64>,
    is_one_clock: bool,
    /// The delays are counted at the end.
    delays_at_end: bool,
}

impl StreamTelemetry {
    pub(super) fn new(
        telemetry: &Telemetry,
        target: &str,
        way: ProbeDirection,
        relation: ClockRelation,
    ) -> Self {
        let metrics = telemetry.metrics.target(target);
        for part in way.parts() {
            metrics.add_lost(way_of(*part), 0);
        }
        let is_one_clock = relation == ClockRelation::Shared;
        if is_one_clock {
            metrics.set_offset_bound(0);
        }
        Self {
            metrics,
            counted: [0; 2],
            lost: [0; 2],
            last: [None; 3],
            least: None,
            is_one_clock,
            delays_at_end: telemetry.delays_at_end,
        }
    }

    /// Counts a reply.
    pub(super) fn take(&mut self, seen: &LiveDelay) {
        let round_trip = seen.round_trip_ns;
        if seen.there_ns.is_some() && !self.is_one_clock && self.least.is_none_or(|least| round_trip < least)
        {
            self.least = Some(round_trip);
            self.metrics.set_offset_bound(round_trip.max(0) / 2);
        }
        if self.delays_at_end {
            return;
        }
        self.metrics.observe_round_trip(round_trip);
        self.vary(Way::RoundTrip, round_trip);
        if let Some([t2, t3]) = seen.there_ns {
            let [t1, t4] = seen.here_ns;
            self.vary(Way::Forward, t2.saturating_sub(t1));
            self.vary(Way::Reverse, t4.saturating_sub(t3));
        }
    }

    fn vary(&mut self, way: Way, delay: i64) {
        let place = match way {
            Way::RoundTrip => 0,
            Way::Forward => 1,
            Way::Reverse => 2,
        };
        vary(&self.metrics, way, &mut self.last[place], delay);
    }

    /// Takes the totals of the stream: probes sent and received, and losses of its parts.
    pub(super) fn take_totals(
        &mut self,
        sent: u64,
        received: u64,
        lost: impl Iterator<Item = (ProbeDirection, u64)>,
    ) {
        let [counted_sent, counted_received] = &mut self.counted;
        let (new_sent, new_received) = (raise(counted_sent, sent), raise(counted_received, received));
        self.metrics.add_sent(new_sent);
        self.metrics.add_received(new_received);
        let mut new_lost = 0;
        for (way, total) in lost {
            let place = usize::from(way == ProbeDirection::Reverse);
            let fresh = raise(&mut self.lost[place], total);
            self.metrics.add_lost(way_of(way), fresh);
            new_lost += fresh;
        }
        if new_received > 0 {
            self.metrics.set_up(true);
        } else if new_lost > 0 {
            self.metrics.set_up(false);
        }
    }

    /// Counts the one-way delays of round trips since the last call, nanoseconds, forward and reverse. They are computed only if
    /// they are counted.
    pub(super) fn take_one_way(&self, is_absolute: bool, delays: impl FnOnce() -> [Vec<f64>; 2]) {
        if self.delays_at_end {
            return;
        }
        let reference = if is_absolute { Reference::Departure } else { Reference::Minimum };
        for (way, delays) in [Way::Forward, Way::Reverse].into_iter().zip(delays()) {
            if delays.is_empty() {
                continue;
            }
            let histogram = self.metrics.one_way(way, reference);
            for delay in delays {
                #[expect(clippy::cast_possible_truncation, reason = "a delay is far below 292 years")]
                histogram.observe(delay.round() as i64);
            }
        }
    }
}

/// Raises `counted` to `total`, and gives by how much.
fn raise(counted: &mut u64, total: u64) -> u64 {
    let fresh = total.saturating_sub(*counted);
    *counted += fresh;
    fresh
}

const fn way_of(direction: ProbeDirection) -> Way {
    match direction {
        ProbeDirection::RoundTrip => Way::RoundTrip,
        ProbeDirection::Forward | ProbeDirection::Both => Way::Forward,
        ProbeDirection::Reverse => Way::Reverse,
    }
}

/// Adds what is known at the end of a run: losses by direction and cause, and delays that have not been counted yet.
pub(super) fn conclude(telemetry: &Telemetry, streams: &[Evaluated]) {
    for Evaluated { measurement, related, .. } in streams {
        let target = telemetry.metrics.target(&measurement.target);
        add_causes(&target, Way::Forward, &measurement.forward);
        add_causes(&target, Way::Reverse, &measurement.reverse);
        if !(telemetry.delays_at_end || measurement.traffic.direction.is_one_way()) {
            continue;
        }
        let mut last = None;
        for delay in related.round_trip.iter().filter_map(delay) {
            target.observe_round_trip(delay);
            vary(&target, Way::RoundTrip, &mut last, delay);
        }
        let is_variable = related.delay_kind == DelayKind::Variable;
        let reference = if is_variable { Reference::Minimum } else { Reference::Departure };
        for (way, singletons) in [(Way::Forward, &related.forward), (Way::Reverse, &related.reverse)] {
            let delays = || singletons.iter().filter_map(delay);
            let Some(least) = delays().min() else { continue };
            let from = if is_variable { least } else { 0 };
            let histogram = target.one_way(way, reference);
            let mut last = None;
            for delay in delays() {
                histogram.observe(delay.saturating_sub(from));
                vary(&target, way, &mut last, delay);
            }
        }
    }
}

/// Counts the difference of a delay from the last one.
fn vary(target: &TargetMetrics, way: Way, last: &mut Option<i64>, delay: i64) {
    if let Some(last) = last.replace(delay) {
        target.observe_variation(way, delay.saturating_sub(last));
    }
}

/// The delay of a packet that arrived, nanoseconds.
fn delay(singleton: &OneWaySingleton) -> Option<i64> {
    let is_first = singleton.fate == Fate::Arrived && singleton.copy == 0;
    singleton.delay.filter(|_| is_first).map(romer_units::Duration::as_nanos)
}

fn add_causes(target: &TargetMetrics, way: Way, results: &DirectionResults) {
    for losses in &results.loss.causes {
        target.add_lost_by(way, cause(losses.cause), losses.count);
    }
}

/// The name of a cause, as in documents.
const fn cause(cause: LossCause) -> &'static str {
    match cause {
        LossCause::InterfaceDown => "interface-down",
        LossCause::AddressChange => "address-change",
        LossCause::NatRebinding => "nat-rebinding",
        LossCause::InterfaceMtu => "interface-mtu",
        LossCause::PathMtu => "path-mtu",
        LossCause::SenderQueue => "sender-queue",
        LossCause::ResponderRestart => "responder-restart",
        LossCause::IcmpUnreachable => "icmp-unreachable",
        LossCause::Unknown => "unknown",
    }
}

#[cfg(test)]
mod tests {
    use romer_telemetry::{Format, Registry};

    use super::*;

    fn text(registry: &Registry) -> String {
        String::from_utf8(registry.encode(Format::Text)).unwrap()
    }

    fn live(registry: &Registry) -> Telemetry {
        Telemetry { metrics: Arc::new(ProbeMetrics::new(registry)), delays_at_end: false }
    }

    /// The names of causes are those of documents.
    #[test]
    fn causes_are_named_as_in_documents() {
        for one in [
            LossCause::InterfaceDown,
            LossCause::AddressChange,
            LossCause::NatRebinding,
            LossCause::InterfaceMtu,
            LossCause::PathMtu,
            LossCause::SenderQueue,
            LossCause::ResponderRestart,
            LossCause::IcmpUnreachable,
            LossCause::Unknown,
        ] {
            assert_eq!(serde_json::to_value(one).unwrap(), cause(one));
        }
    }

    /// Totals are counted once, also where a total is lower than before; silence after an answer sets the target down.
    #[test]
    fn totals_are_counted_once() {
        let registry = Registry::new();
        let way = ProbeDirection::RoundTrip;
        let mut stream = StreamTelemetry::new(&live(&registry), "t", way, ClockRelation::Unknown);
        stream.take_totals(10, 8, [(way, 1)].into_iter());
        assert!(text(&registry).contains("romer_target_up{target=\"t\"} 1\n"));
        stream.take_totals(9, 8, [(way, 0)].into_iter());
        stream.take_totals(12, 8, [(way, 3)].into_iter());
        let found = text(&registry);
        for line in [
            "romer_target_up{target=\"t\"} 0",
            "romer_probes_sent_total{target=\"t\"} 12",
            "romer_probes_received_total{target=\"t\"} 8",
            "romer_probes_lost_total{target=\"t\",direction=\"round-trip\",cause=\"any\"} 3",
        ] {
            assert!(found.lines().any(|one| one == line), "{line}\n{found}");
        }
    }

    /// Clocks that differ by an hour are in no variation; the bound is half of the least round trip.
    #[test]
    fn offsets_cancel_in_variations() {
        const HOUR: i64 = 3_600_000_000_000;
        let registry = Registry::new();
        let way = ProbeDirection::RoundTrip;
        let mut stream = StreamTelemetry::new(&live(&registry), "t", way, ClockRelation::Unknown);
        for (sent, forward, reverse) in [(0, 2_000_000, 1_000_000), (10_000_000, 2_500_000, 3_000_000)] {
            let there = sent + forward + HOUR;
            let here_ns = [sent, sent + forward + reverse];
            let round_trip_ns = forward + reverse;
            stream.take(&LiveDelay {
                stream: 0,
                sequence: 0,
                round_trip_ns,
                there_ns: Some([there; 2]),
                here_ns,
            });
        }
        let found = text(&registry);
        for line in [
            "romer_round_trip_seconds_sum{target=\"t\"} 0.0085",
            "romer_delay_variation_seconds_sum{target=\"t\",direction=\"round-trip\"} 0.0025",
            "romer_delay_variation_seconds_sum{target=\"t\",direction=\"forward\"} 0.0005",
            "romer_delay_variation_seconds_sum{target=\"t\",direction=\"reverse\"} 0.002",
            "romer_clock_offset_bound_seconds{target=\"t\"} 0.0015",
        ] {
            assert!(found.lines().any(|one| one == line), "{line}\n{found}");
        }
    }

    /// Delays that are counted at the end are not counted before, and the bound of the offset is.
    #[test]
    fn later_delays_are_counted_once() {
        let registry = Registry::new();
        let telemetry = Telemetry { delays_at_end: true, ..live(&registry) };
        let way = ProbeDirection::RoundTrip;
        let mut stream = StreamTelemetry::new(&telemetry, "t", way, ClockRelation::Unknown);
        let seen =
            LiveDelay { stream: 0, sequence: 0, round_trip_ns: 10, there_ns: Some([5; 2]), here_ns: [0, 10] };
        stream.take(&seen);
        stream.take_one_way(false, || [vec![5.0], vec![5.0]]);
        let found = text(&registry);
        assert!(found.contains("romer_round_trip_seconds_count{target=\"t\"} 0\n"), "{found}");
        assert!(!found.contains("romer_one_way_delay_seconds_count{"), "{found}");
        assert!(found.contains("romer_clock_offset_bound_seconds{target=\"t\"} 0.000000005\n"), "{found}");
    }
}

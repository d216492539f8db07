//! From outcomes to the document.

use std::collections::BTreeMap;

use romer_impair::{Cause, Correlation, Ledger, Nanos, Outcome};
use romer_metrics::{student_975, summary};
use romer_record::document::Summary;
use romer_record::emulation::{EmulatedDirection, PortDirection};
use romer_record::warning::EmulationWarning;
use romer_scenario::Supported;
use romer_units::Rate;

/// What chance may leave of a figure, as a share of the standard deviation, without a word.
const MAX_UNREPORTED_ERROR: f64 = 0.1;

/// The share of displaced packets that may leave before their distance without a word: the last ones of a stream do.
const FEW_FLUSHED: f64 = 0.01;

/// The singletons of one direction, kept whole: for runs in virtual time.
#[derive(Clone, Debug, Default)]
pub(crate) struct Samples {
    requested: Vec<i64>,
    actual: Vec<i64>,
    total: Vec<i64>,
    error: Vec<i64>,
    inter_arrival: Vec<i64>,
    inter_departure: Vec<i64>,
    depth: Vec<i64>,
    rate_queue: Vec<i64>,
    order_wait: Vec<i64>,
    latest: Option<u64>,
    overtaken: u64,
    last_arrival: Option<Nanos>,
    last_departure: Option<Nanos>,
}

impl Samples {
    /// A packet arrived at `at`, when so many others were held.
    pub(crate) fn arrived(&mut self, at: Nanos, held: usize) {
        if let Some(last) = self.last_arrival.replace(at) {
            self.inter_arrival.push(at - last);
        }
        self.depth.push(i64::try_from(held).unwrap_or(i64::MAX));
    }

    /// A packet or copy left at `at`.
    pub(crate) fn left(&mut self, outcome: &Outcome, at: Nanos) {
        if let Some(last) = self.last_departure.replace(at) {
            self.inter_departure.push(at - last);
        }
        self.requested.push(outcome.requested);
        // What came after the delay stage is the rate queue's.
        let in_rate_queue = outcome.time - outcome.released;
        if outcome.rated {
            self.rate_queue.push(in_rate_queue);
        }
        self.overtaken += u64::from(self.latest.is_some_and(|latest| outcome.ordinal < latest));
        self.latest = self.latest.max(Some(outcome.ordinal));
        let hold = at - in_rate_queue - outcome.entered;
        self.actual.push(hold);
        self.total.push(at - outcome.arrival);
        self.error.push(at - outcome.time);
        self.order_wait.extend(order_wait(outcome));
    }

    /// The direction's part of the document.
    pub(crate) fn direction(&self, ledger: &Ledger, correlation: Option<&Correlation>) -> EmulatedDirection {
        let of_delays = |delays: &[i64]| with_known_intervals(summary(delays), correlation);
        EmulatedDirection {
            requested_delay_ns: of_delays(&self.requested),
            actual_delay_ns: of_delays(&self.actual),
            total_delay_ns: of_delays(&self.total),
            delay_error_ns: summary(&self.error),
            inter_arrival_ns: summary(&self.inter_arrival),
            inter_departure_ns: summary(&self.inter_departure),
            queue_depth: summary(&self.depth),
            rate_queue_ns: summary(&self.rate_queue),
            order_wait_ns: summary(&self.order_wait),
            overtaken: self.overtaken,
            ..counted(ledger, correlation)
        }
    }
}

/// How long a packet waited after its delay so as not to overtake another; `None` where it did not wait.
pub(crate) fn order_wait(outcome: &Outcome) -> Option<Nanos> {
    Some(outcome.released - outcome.entered - outcome.requested).filter(|wait| *wait > 0)
}

/// Independent delays beyond a quantile that its interval needs.
const BEYOND: f64 = 20.0;

/// A summary of delays without the intervals that cannot be told: any where nothing tells how many independent ones they are
/// worth, those of far quantiles where few are beyond, and of the mean where the law has no variance, or is too skewed for so few.
pub(crate) fn with_known_intervals(mut summary: Summary, correlation: Option<&Correlation>) -> Summary {
    let Some(correlation) = correlation else { return summary };
    let untold = correlation.is_unknown();
    if !correlation.has_known_mean() {
        summary.mean_interval = None;
    }
    if untold {
        summary.median_interval = None;
    }
    let beyond = |share: f64| correlation.effective_values().map_or(untold, |worth| worth * share < BEYOND);
    if beyond(0.05) {
        summary.p95_interval = None;
    }
    if beyond(0.01) {
        summary.p99_interval = None;
    }
    summary
}

/// That a direction whose delays are alike was emulated for too short a time for its figures to agree with what was asked for,
/// and how far off chance alone may leave them, where the run is long enough to tell.
pub(crate) fn too_alike(
    direction: PortDirection,
    correlation: Option<&Correlation>,
) -> Option<EmulationWarning> {
    let correlation = correlation?;
    if correlation.has_infinite_variance() {
        return Some(EmulationWarning::VarianceInfinite { direction });
    }
    if let Some(max_effective_delays) = correlation.effective_at_most() {
        return Some(EmulationWarning::CorrelationLong { direction, max_effective_delays });
    }
    let (spread, effective_delays) = correlation.spread().zip(correlation.effective_values())?;
    // Of 100 runs 95 are within so many standard errors.
    let usual = student_975(spread.freedom)?;
    let (mean, deviation) = (usual * spread.mean_error_ns, usual * spread.deviation_error);
    if mean <= MAX_UNREPORTED_ERROR * spread.deviation_ns && deviation <= MAX_UNREPORTED_ERROR {
        return None;
    }
    Some(EmulationWarning::FewIndependentDelays {
        direction,
        delays: spread.values,
        effective_delays,
        mean_error_ns: mean,
        deviation_error_ratio: deviation,
    })
}

/// That displaced packets left before as many others had gone past as drawn, because their time was up.
pub(crate) fn flushed_early(direction: PortDirection, ledger: &Ledger) -> Option<EmulationWarning> {
    #[expect(clippy::cast_precision_loss, reason = "a ratio")]
    let share = ledger.flushed as f64 / ledger.displaced.max(1) as f64;
    (share > FEW_FLUSHED).then_some(EmulationWarning::FlushedEarly {
        direction,
        flushed: ledger.flushed,
        displaced: ledger.displaced,
    })
}

/// That the exact order makes delays vary less from packet to packet than their law would: packets come closer together
/// than the law is wide.
pub(crate) fn varies_less(
    direction: PortDirection,
    correlation: Option<&Correlation>,
) -> Option<EmulationWarning> {
    let (width_ns, spacing_ns) = correlation?.width_beyond_spacing()?;
    Some(EmulationWarning::VariationLimited { direction, width_ns, spacing_ns })
}

/// Notes of traffic for which the measurement behind a scenario says nothing, on average.
#[expect(clippy::cast_precision_loss, reason = "compared on average")]
pub(crate) fn unsupported(
    direction: PortDirection,
    supported: &Supported,
    ledger: &Ledger,
    between: &Summary,
) -> Vec<EmulationWarning> {
    let outside = |found: f64, least: Option<f64>, most: Option<f64>| {
        least.filter(|least| found < *least).or(most.filter(|most| found > *most))
    };
    let mut notes = Vec::new();
    if let Some(median_ns) = between.median {
        let [least, most] =
            [supported.min_spacing, supported.max_spacing].map(|limit| limit.map(|limit| limit as f64));
        let limit = outside(median_ns, least, most);
        notes.extend(limit.map(|limit_ns| EmulationWarning::SpacingUnsupported {
            direction,
            median_ns,
            limit_ns,
        }));
    }
    let packets = ledger.received.saturating_sub(ledger.lost_for(Cause::Kernel));
    let mean_bytes = ledger.network_octets as f64 / packets.max(1) as f64;
    if packets > 0 {
        let [least, most] =
            [supported.min_size, supported.max_size].map(|limit| limit.map(|limit| limit as f64));
        let limit = outside(mean_bytes, least, most);
        notes.extend(limit.map(|limit_bytes| EmulationWarning::SizeUnsupported {
            direction,
            mean_bytes,
            limit_bytes,
        }));
    }
    if let Some((limit, mean)) = supported.max_load.zip(between.mean.filter(|mean| *mean > 0.0)) {
        let (most, mean_per_s) = match limit {
            Rate::Bits(bits) => (bits, mean_bytes * 8e9 / mean),
            Rate::Packets(packets) => (packets, 1e9 / mean),
        };
        if mean_per_s > most as f64 {
            notes.push(EmulationWarning::LoadUnsupported { direction, mean_per_s, limit: limit.to_string() });
        }
    }
    notes
}

/// What the ledger alone tells.
#[expect(clippy::cast_precision_loss, reason = "a ratio for people")]
fn counted(ledger: &Ledger, correlation: Option<&Correlation>) -> EmulatedDirection {
    let lost: BTreeMap<String, u64> =
        Cause::ALL.iter().map(|cause| (cause.name().to_owned(), ledger.lost_for(*cause))).collect();
    EmulatedDirection {
        received: ledger.received,
        transmitted: ledger.transmitted,
        queued: ledger.queued,
        duplicates_created: ledger.duplicates_created,
        lost,
        corrupted: ledger.corrupted,
        reordered: ledger.reordered,
        order_delayed_ratio: (ledger.delayed > 0).then(|| ledger.waited as f64 / ledger.delayed as f64),
        correlation_time_ns: correlation.and_then(Correlation::time_ns),
        effective_values: correlation.and_then(Correlation::effective_values),
        ..EmulatedDirection::default()
    }
}

#[cfg(test)]
mod tests {
    use romer_units::random::{RandomStream, Seed};

    use super::*;

    /// Traffic is compared with the limits that there are, on average.
    #[test]
    fn unsupported_traffic_is_noted() {
        let ledger = Ledger { received: 100, network_octets: 50_000, ..Ledger::default() };
        let between = summary(&[1_000_000_i64; 99]);
        let notes = |supported: Supported| unsupported(PortDirection::AToB, &supported, &ledger, &between);
        let within = Supported {
            min_spacing: Some(1_000_000),
            max_spacing: Some(1_000_000),
            min_size: Some(500),
            max_size: Some(500),
            max_load: Some(Rate::Bits(4_000_000)),
        };
        assert_eq!(notes(Supported::default()), []);
        assert_eq!(notes(within), []);
        let beyond = Supported {
            min_spacing: Some(5_000_000),
            max_size: Some(499),
            max_load: Some(Rate::Packets(999)),
            ..Supported::default()
        };
        let direction = PortDirection::AToB;
        assert_eq!(
            notes(beyond),
            [
                EmulationWarning::SpacingUnsupported { direction, median_ns: 1e6, limit_ns: 5e6 },
                EmulationWarning::SizeUnsupported { direction, mean_bytes: 500.0, limit_bytes: 499.0 },
                EmulationWarning::LoadUnsupported { direction, mean_per_s: 1_000.0, limit: "999pps".into() },
            ]
        );
    }

    /// Displacements that the flush cuts short are noted with their share; the few at the end of a stream are not.
    #[test]
    fn flushed_displacements_are_noted() {
        let of = |displaced, flushed| {
            flushed_early(PortDirection::AToB, &Ledger { displaced, flushed, ..Ledger::default() })
        };
        assert_eq!([of(0, 0), of(1_000, 5)], [None, None]);
        let note =
            EmulationWarning::FlushedEarly { direction: PortDirection::AToB, flushed: 300, displaced: 1_000 };
        assert_eq!(of(1_000, 300), Some(note));
    }

    /// A note says that delays are correlated only where the effective sample size is below their number.
    #[test]
    fn independent_delays_are_not_correlated() {
        let stream = RandomStream::new(Seed([1, 2, 3, 4, 5, 6]), [7, 8]);
        let noted = |value: &dyn Fn(u64) -> f64| {
            let mut correlation = Correlation::default();
            #[expect(clippy::cast_possible_truncation, reason = "below two million")]
            (0..256_u64)
                .for_each(|number| correlation.add(number.cast_signed(), (value(number) * 1e6) as i64));
            match too_alike(PortDirection::AToB, Some(&correlation)) {
                Some(EmulationWarning::FewIndependentDelays { delays: 256, effective_delays, .. }) => {
                    effective_delays
                }
                other => panic!("{other:?}"),
            }
        };
        // The second of two neighbours is as far below the mean as the first is above it, apart from noise.
        let opposed = noted(&|number| {
            let first = stream.unit(number / 2).powi(8);
            if number % 2 == 0 {
                first
            } else {
                2.0 / 9.0 - first + 0.2 * (stream.unit(1_000 + number) - 0.5)
            }
        });
        assert!(opposed.round() >= 256.0, "{opposed}");
        let alike = noted(&|number| stream.unit(number / 2).powi(8));
        assert!(alike.round() < 256.0, "{alike}");
    }

    /// A law wider than the packets' spacing is noted in the exact order, and one that is not, or another order, is not.
    #[test]
    fn variation_below_law_is_noted() {
        use romer_impair::config::{Delay, Model, Order, Variable};
        use romer_impair::{Config, DelayDistribution, Engine, Limits, Packet, Path, PortId};
        let noted = |order, gap: i64| {
            let variable = Some(Variable::new(DelayDistribution::Uniform { low: 0.0, high: 1e7 }, None));
            let delay = Model::Plain(Delay { fixed: 0, variable });
            let mut config = Config::default();
            config.base.paths[0] = vec![Some(std::sync::Arc::new(Path { delay, order, ..Path::default() }))];
            let mut engine = Engine::new(config, Limits::growing(), 0);
            for slot in 0..1_000 {
                while engine.poll(i64::from(slot) * gap - 1).is_some() {}
                engine.admit(&Packet::new(slot, PortId::A, 100, i64::from(slot) * gap));
            }
            varies_less(PortDirection::AToB, engine.correlation(PortId::A))
        };
        let Some(EmulationWarning::VariationLimited { width_ns, spacing_ns, .. }) =
            noted(Order::Exact, 2_000_000)
        else {
            panic!("nothing is noted")
        };
        assert!((width_ns / 8e6 - 1.0).abs() < 0.05 && (spacing_ns / 2e6 - 1.0).abs() < 0.05);
        assert_eq!(noted(Order::Exact, 9_000_000), None);
        assert_eq!(noted(Order::Fifo, 2_000_000), None);
    }

    #[test]
    fn intervals_that_cannot_be_told_are_left_out() {
        let stream = RandomStream::new(Seed([1, 2, 3, 4, 5, 6]), [7, 8]);
        #[expect(clippy::cast_possible_truncation, reason = "below a million")]
        let independent = |number: u64| (stream.unit(number) * 1e6) as i64;
        let given = |count: u64, value: &dyn Fn(u64) -> i64| {
            let mut correlation = Correlation::default();
            (0..count).for_each(|number| correlation.add(number.cast_signed(), value(number)));
            let intervals = Summary {
                mean_interval: Some([0.0, 1.0]),
                median_interval: Some([0.0, 1.0]),
                p95_interval: Some([0.0, 1.0]),
                p99_interval: Some([0.0, 1.0]),
                ..Summary::default()
            };
            let known = with_known_intervals(intervals, Some(&correlation));
            [known.mean_interval, known.median_interval, known.p95_interval, known.p99_interval]
                .map(|interval| interval.is_some())
        };
        assert_eq!(given(4_000, &independent), [true; 4]);
        assert_eq!(given(1_000, &independent), [true, true, true, false], "some 10 are beyond its 99 %");
        // A thousand packets, of which the network changed its mind five times.
        assert_eq!(given(1_000, &|number| independent(number / 200)), [false; 4]);
        assert_eq!(given(100, &independent), [false; 4], "too few to tell");
        assert_eq!(given(1_000, &|_| 5), [true; 4], "all are the same");
    }
}

//! The tool's own error: what a calibration says of it, and taking it out of delays.
//!
//! The words are those of Hershberger 2005, section 11.1: the **baseline** is the floor of the error, at or above which it
//! always is; the **uncertainty** is how far above the floor it goes. A constant can be subtracted, the rest cannot.

use romer_metrics::{Value, summary};
use romer_record::calibration::{AddedDelay, StampSourceError, Symmetry, TwoRates};
use romer_record::document::{Calibration, DelayKind};
use romer_record::manifest::CalibrationUse;
use romer_record::warning::MeasurementWarning;
use romer_record::{OneWaySingleton, RoundTrip};
use romer_units::{Duration, TimestampPoint};

use crate::relate::StreamSingletons;
use crate::selection::Selection;
use romer_clock::skew::rounded;
use romer_clock::{across, elapsed};

/// The share of the octets by which the two-rate solution may be off ([`TwoRates::passed`]).
const OCTETS_TOLERANCE: f64 = 0.05;

/// The tool's share of the delays of several rounds, each over a path that takes no time: of each figure the median
/// of the rounds'. `None` where no round has a delay.
pub fn share(rounds: &[Vec<i64>]) -> Option<AddedDelay> {
    let all: Vec<_> = rounds.iter().map(|delays| summary(delays)).filter(|round| round.count > 0).collect();
    let over = |figure: fn(&romer_record::document::Summary) -> Option<f64>| {
        median(&all.iter().filter_map(figure).collect::<Vec<_>>())
    };
    Some(AddedDelay {
        baseline_ns: over(|round| round.min)?,
        median_ns: over(|round| round.median)?,
        uncertainty_ns: over(|round| Some(round.p99? - round.min?))?,
        max_ns: over(|round| Some(round.max? - round.min?))?,
    })
}

/// The median; `None` of nothing.
pub fn median<V: Value>(values: &[V]) -> Option<f64> {
    summary(values).median
}

/// Whether a path that is the same in both directions is measured so: neither one-way median is further from half
/// the round trip's than the one-way uncertainty allows.
pub fn symmetry(error: &StampSourceError) -> Symmetry {
    let half = error.round_trip.median_ns / 2.0;
    let (forward_ns, reverse_ns) = (error.forward.median_ns, error.reverse.median_ns);
    let difference_ns = (forward_ns - half).abs().max((reverse_ns - half).abs());
    let tolerance_ns = error.forward.uncertainty_ns.max(error.reverse.uncertainty_ns);
    Symmetry {
        stamp_source: error.stamp_source,
        forward_ns,
        reverse_ns,
        half_round_trip_ns: half,
        difference_ns,
        tolerance_ns,
        passed: difference_ns <= tolerance_ns,
    }
}

/// The delays of the second packets of pairs that left back to back over a link of `bits_per_second`, counted from
/// the departure of the first: the link lets the first pass at once and the second after the time that its
/// `octets` take. A pair between whose departures the link had come to rest tells nothing, and is set aside with
/// those that lack a stamp.
///
/// `rows` are in order of sequence; probes 0 and 1 are a pair, and 2 and 3. Both ends read one clock. Gives the
/// delays, and how many pairs were set aside.
pub fn pair_delays(
    rows: &[RoundTrip],
    place: TimestampPoint,
    bits_per_second: u64,
    octets: u32,
) -> (Vec<i64>, u64) {
    let time = serialization_ns(f64::from(octets), bits_per_second);
    let mut delays = Vec::new();
    let mut excluded = 0;
    let firsts = rows.iter().filter(|row| row.copy == 0);
    let probes: Vec<&RoundTrip> = firsts.collect();
    for pair in probes.chunk_by(|a, b| a.sequence / 2 == b.sequence / 2) {
        match pair_delay(pair, Some(place)) {
            Some((apart, delay)) if apart.value() < time => delays.push(delay),
            _ => excluded += 1,
        }
    }
    (delays, excluded)
}

/// Between the departures of a pair, and from the first departure to the second arrival.
fn pair_delay(pair: &[&RoundTrip], place: Option<TimestampPoint>) -> Option<(i64, i64)> {
    let [first, second] = pair else { return None };
    let (departure, arrival) = (first.t1.at(place)?, second.t2.at(place)?);
    let apart = elapsed(departure, second.t1.at(place)?);
    let delay = across(departure.renamed(), arrival.renamed());
    Some((i64::try_from(apart).ok()?, i64::try_from(delay).ok()?))
}

/// What a rate and the delay at it are.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct AtRate {
    /// Bits a second.
    pub bits_per_second: u64,
    /// The delay, nanoseconds.
    pub delay_ns: f64,
}

/// Solves Hershberger 2005's equations 9.1 and 9.2: what of a delay grows with the time a bit takes, in octets, and what
/// does not, in nanoseconds. `None` where the rates are the same or one is zero.
pub fn two_rates(slow: AtRate, fast: AtRate) -> Option<(f64, f64)> {
    if slow.bits_per_second == 0 || fast.bits_per_second == 0 || slow.bits_per_second == fast.bits_per_second
    {
        return None;
    }
    let (slow_octet, fast_octet) =
        (serialization_ns(1.0, slow.bits_per_second), serialization_ns(1.0, fast.bits_per_second));
    let octets = (slow.delay_ns - fast.delay_ns) / (slow_octet - fast_octet);
    Some((octets, fast.delay_ns - octets * fast_octet))
}

/// One round's medians at both rates.
pub type RatesOfRound = (f64, f64);

/// The two-rate result of several rounds, each solved by itself. `None` where there is no round, or no solution.
pub fn two_rates_of(
    place: TimestampPoint,
    (slow_bps, fast_bps): (u64, u64),
    octets_sent: u32,
    rounds: &[RatesOfRound],
    (packets, excluded): (u64, u64),
) -> Option<TwoRates> {
    let at = |bits_per_second, delay_ns| AtRate { bits_per_second, delay_ns };
    let solve = |(slow, fast): &RatesOfRound| two_rates(at(slow_bps, *slow), at(fast_bps, *fast));
    let solutions: Vec<(f64, f64)> = rounds.iter().filter_map(solve).collect();
    let over = |values: Vec<f64>| median(&values);
    let octets = over(solutions.iter().map(|solution| solution.0).collect())?;
    Some(TwoRates {
        stamp_source: place,
        slow_bps,
        fast_bps,
        slow_delay_ns: over(rounds.iter().map(|round| round.0).collect())?,
        fast_delay_ns: over(rounds.iter().map(|round| round.1).collect())?,
        octets,
        octets_sent,
        error_ns: over(solutions.iter().map(|solution| solution.1).collect())?,
        packets,
        excluded,
        passed: (octets - f64::from(octets_sent)).abs() <= OCTETS_TOLERANCE * f64::from(octets_sent),
    })
}

fn serialization_ns(octets: f64, bits_per_second: u64) -> f64 {
    octets * 8.0e9 / i64::try_from(bits_per_second).unwrap_or(i64::MAX).value()
}

/// Puts a calibration to use for delays whose stamps are those of `selection`: says what the tool's share is, and
/// takes the baseline out of the delays where that was asked for. Gives what the document says, and warnings.
///
/// A calibration serves only where all stamps of the delays were taken in the one place of which it speaks; and only delays
/// that are absolute have a baseline to be subtracted.
pub fn apply(
    related: &mut StreamSingletons,
    selection: &Selection,
    used: Option<&CalibrationUse>,
) -> (Option<Calibration>, Vec<MeasurementWarning>) {
    let Some(used) = used else { return (None, Vec::new()) };
    if let Some(why) = &used.refused {
        return (None, vec![MeasurementWarning::CalibrationNotUsed(why.clone())]);
    }
    let Some(error) = of_one_place(related, selection)
        .and_then(|place| used.stamp_errors.iter().find(|e| e.stamp_source == place))
    else {
        return (None, vec![MeasurementWarning::CalibrationSourceMissing { subtract: used.subtract }]);
    };
    let mut warnings = Vec::new();
    if used.subtract {
        warnings = subtract(related, error);
    }
    let absolute = related.delay_kind == DelayKind::Absolute;
    let goes_round = !related.round_trip.is_empty();
    let calibration = Calibration {
        baseline_ns: goes_round.then_some(error.round_trip.baseline_ns),
        uncertainty_ns: goes_round.then_some(error.round_trip.uncertainty_ns),
        subtracted: used.subtract,
        forward: (absolute && !related.forward.is_empty()).then_some(error.forward),
        reverse: (absolute && !related.reverse.is_empty()).then_some(error.reverse),
        measured: Some(used.measured.clone()),
    };
    (Some(calibration), warnings)
}

/// The one place of all stamps that the delays are of.
fn of_one_place(related: &StreamSingletons, selection: &Selection) -> Option<TimestampPoint> {
    let there = [selection.t1, selection.t2].map(|place| (place, !related.forward.is_empty()));
    let back = [selection.t3, selection.t4].map(|place| (place, !related.reverse.is_empty()));
    let mut places = there.into_iter().chain(back).filter(|(_, is_used)| *is_used).map(|(place, _)| place);
    let place = places.next()??;
    places.all(|other| other == Some(place)).then_some(place)
}

fn subtract(related: &mut StreamSingletons, error: &StampSourceError) -> Vec<MeasurementWarning> {
    let absolute = related.delay_kind == DelayKind::Absolute;
    let mut below = take(&mut related.round_trip, error.round_trip.baseline_ns);
    if absolute {
        below += take(&mut related.forward, error.forward.baseline_ns);
        below += take(&mut related.reverse, error.reverse.baseline_ns);
    }
    let mut warnings = Vec::new();
    if below > 0 {
        warnings.push(MeasurementWarning::BaselineExceedsDelays { delays: below });
    }
    if !absolute {
        let round_trips = !related.round_trip.is_empty();
        warnings.push(MeasurementWarning::BaselineRoundTripsOnly { round_trips });
    }
    warnings
}

/// Takes `baseline_ns` out of the delays. Gives how many are below zero then, and were not before.
fn take(singletons: &mut [OneWaySingleton], baseline_ns: f64) -> u64 {
    let baseline = Duration::from_nanos(rounded(baseline_ns));
    let mut below = 0;
    for delay in singletons.iter_mut().filter_map(|singleton| singleton.delay.as_mut()) {
        let before = *delay;
        *delay = before - baseline;
        below += u64::from(*delay < Duration::ZERO && before >= Duration::ZERO);
    }
    below
}

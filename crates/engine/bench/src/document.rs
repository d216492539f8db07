//! The document: trials as they are told, and what they come to.

use romer_method::analysis::loss_bound;
use romer_method::anomalies::{chance_of_mean, holm};
use romer_method::campaign::{Procedure, ProcedureFinding};
use romer_method::statistics::{of_differences, over_places, paired, repeats};
use romer_method::{Frames, TrialOutcome, TrialRequest, Unlinked};
use romer_record::benchmark::{
    BenchmarkResult, DeviceOutages, Difference, LatencyDefinition, Outlier, Overall, ResultBound, Trial,
};
use romer_units::Duration;

use crate::anomalies::outliers;
use crate::classes::set_expected_rates;
use crate::numbers::{real, same};
use crate::options::BenchOptions;
use crate::trial::{CaseTrial, TrialRecord, frames_words, requested_load, share_of_limit, to_carry};

/// A difference is told where chance makes one of all of them as great so seldom.
const LEVEL: f64 = 0.05;

/// The trial as the document has it.
pub(crate) fn trial(options: &BenchOptions, ask: &TrialRequest, record: &TrialRecord, at_ns: i64) -> Trial {
    let figures = &record.figures;
    let (size, mixture) = frames_words(&ask.frames);
    let mut per_stream = figures.streams.clone();
    set_expected_rates(options, &ask.frames, &mut per_stream);
    for (number, stream) in per_stream.iter_mut().enumerate() {
        stream.policed = record.policed.of_stream(number);
    }
    Trial {
        case: options.cases.get(ask.case).map(|case| case.name.clone()).unwrap_or_default(),
        frame_size: size,
        mixture,
        repeat: ask.repeat,
        purpose: ask.purpose.into(),
        at_ns,
        duration_ns: ask.length().as_nanos(),
        requested_load: Some(requested_load(options, ask)),
        intended_load: figures.intended,
        offered: figures.offered,
        forwarded: figures.forwarded,
        unsent: record.unsent,
        unlinked: figures.outcome.unlinked.frames,
        unlinked_between_ns: figures.outcome.unlinked.between.map(|times| times.map(Duration::as_nanos)),
        lost: figures.outcome.lost,
        first_loss_ns: figures.outcome.first_loss_at.map(Duration::as_nanos),
        last_loss_ns: figures.outcome.last_loss_at.map(Duration::as_nanos),
        tester_drops: figures.attribution.unread,
        stall_affected: figures.attribution.stall_affected,
        stall_affected_lost: figures.attribution.stall_affected_lost,
        lost_by_tester: figures.attribution.tester,
        lost_by_device: Some(figures.attribution.device),
        loss_ratio_bound: figures.loss_ratio_bound,
        duplicated: figures.duplicated,
        reordered: figures.reordered,
        altered: figures.altered,
        corrupted: figures.corrupted,
        invalid: record.invalid.clone(),
        tester_limit_pps: record.limit_pps,
        device_unreachable: figures.outcome.device_unreachable,
        size_lost: record.size_lost,
        still_arriving: record.still_arriving,
        other_headers: record.headers.clone(),
        outages: Some(DeviceOutages {
            count: figures.standstills.count,
            sum_ns: figures.standstills.sum.as_nanos(),
            longest_ns: figures.standstills.longest.as_nanos(),
            lost: figures.standstills.lost,
        }),
        latency_ns: figures.latency.clone(),
        latency_definition: LatencyDefinition::Filo,
        latency_conversion_ns: figures.conversion,
        latency_by_definition_ns: figures.latency_by_definition.clone(),
        jitter_ns: figures.jitter.clone(),
        jitter_rfc4689_ns: figures.jitter_rfc4689.clone(),
        ipdv_ns: figures.variation[0].clone(),
        pdv_ns: figures.variation[1].clone(),
        lateness_ns: figures.lateness.clone(),
        longest_catch_up: record.longest_catch_up,
        latency_histogram: figures.histogram.clone(),
        markings: figures.markings.clone(),
        priorities: figures.priorities.clone(),
        vlans: figures.vlans.clone(),
        ecns: figures.ecns.clone(),
        policed: record.policed.shared(),
        per_stream,
        offered_per_second: figures.offered_per_second.clone(),
        forwarded_per_second: figures.per_second.clone(),
        host_gaps: record.gaps,
    }
}

/// What the procedure was told of a trial.
pub(crate) fn outcome_of(trial: &Trial) -> TrialOutcome {
    TrialOutcome {
        intended: trial.intended_load.frames,
        offered: to_carry(trial),
        forwarded: trial.forwarded.frames,
        lost: trial.lost,
        lost_by_tester: trial.lost_by_tester,
        tester_failed: trial.invalid.is_some(),
        device_unreachable: trial.device_unreachable,
        tester_share: share_of_limit(trial.tester_limit_pps, trial.intended_load.pps),
        last_loss_at: trial.last_loss_ns.map(Duration::from_nanos),
        unlinked: Unlinked {
            frames: trial.unlinked,
            between: trial.unlinked_between_ns.map(|times| times.map(Duration::from_nanos)),
        },
        first_loss_at: trial.first_loss_ns.map(Duration::from_nanos),
    }
}

/// Times are told to this.
const NANOSECOND: f64 = 1.0;

/// To what the values of a quantity are known at a place: times to a nanosecond, what is counted to a frame of a trial, what a search finds
/// to how near it comes.
pub(crate) fn resolution(
    options: &BenchOptions,
    frames: &Frames,
    load_percent: Option<f64>,
    quantity: &str,
) -> f64 {
    if quantity.ends_with("_ns") {
        return NANOSECOND;
    }
    let searched = match &options.procedure {
        Procedure::Throughput(goal)
        | Procedure::BackToBack { goal, .. }
        | Procedure::Recovery { goal, .. } => Some(goal.resolution),
        Procedure::Mlr(plan) => Some(plan.width),
        Procedure::Sweep { .. } | Procedure::FrameLoss { .. } | Procedure::Reset { .. } => None,
    };
    let all = options.nominal(frames, load_percent.unwrap_or(100.0) / 100.0);
    let seconds = options.procedure.length().as_secs_f64().max(1e-9);
    let share = searched.unwrap_or(1.0 / (all.pps * seconds).max(1.0));
    match quantity {
        "burst_frames" => match &options.procedure {
            Procedure::BackToBack { limits, .. } => real(limits.step),
            _ => 1.0,
        },
        _ if quantity.ends_with("_percent") => share * all.load * 100.0,
        _ if quantity.ends_with("_pps") => share * all.pps,
        _ => share,
    }
}

/// A quantity of a trial: its name, and how it is found.
pub(crate) type Quantity = (&'static str, fn(&Trial) -> Option<f64>);

/// What a sweep tells, repeat by repeat.
const QUANTITIES: [Quantity; 12] = [
    ("forwarded_percent", |trial| Some(trial.forwarded.percent)),
    ("forwarded_payload_percent", |trial| Some(trial.forwarded.payload_percent)),
    ("forwarded_pps", |trial| Some(trial.forwarded.pps)),
    ("loss_ratio", |trial| {
        let lost = trial.lost.saturating_sub(trial.lost_by_tester);
        (to_carry(trial) > 0).then(|| real(lost) / real(to_carry(trial)))
    }),
    ("latency_mean_ns", |trial| trial.latency_ns.mean),
    ("latency_median_ns", |trial| trial.latency_ns.median),
    ("latency_p99_ns", |trial| trial.latency_ns.p99),
    ("latency_max_ns", |trial| trial.latency_ns.max),
    ("jitter_peak_to_peak_ns", |trial| trial.jitter_ns.peak_to_peak.mean),
    ("jitter_inter_arrival_difference_ns", |trial| trial.jitter_ns.inter_arrival_difference.mean),
    ("jitter_delay_difference_ns", |trial| trial.jitter_ns.delay_difference.mean),
    ("jitter_deviation_from_mean_ns", |trial| trial.jitter_ns.deviation_from_mean.mean),
];

/// Quantities in which a curve may have a soft spot, and cases are compared.
const COMPARED: [&str; 4] =
    ["forwarded_percent", "latency_mean_ns", "latency_median_ns", "jitter_delay_difference_ns"];

/// Everything that the trials at given loads come to.
#[derive(Default)]
pub(crate) struct Summed {
    pub(crate) results: Vec<BenchmarkResult>,
    pub(crate) differences: Vec<Difference>,
    pub(crate) overall: Vec<Overall>,
    pub(crate) outliers: Vec<Outlier>,
}

/// The places of a sweep: frames and loads in the order in which people look at them.
fn places(kept: &[CaseTrial]) -> Vec<(Frames, f64)> {
    let mut places: Vec<(Frames, f64)> = Vec::new();
    for one in kept {
        if !places.iter().any(|(frames, load)| *frames == one.frames && same(*load, one.load)) {
            places.push((one.frames.clone(), one.load));
        }
    }
    places.sort_by(|a, b| {
        let size = |frames: &Frames| frames.size().map_or(u32::MAX, romer_units::FrameSize::octets);
        size(&a.0).cmp(&size(&b.0)).then(a.1.total_cmp(&b.1))
    });
    places
}

/// The values of a quantity at a place in a case, by repeat.
pub(crate) fn values(
    kept: &[CaseTrial],
    case: usize,
    place: &(Frames, f64),
    repeats: u32,
    of: fn(&Trial) -> Option<f64>,
) -> Vec<Option<f64>> {
    let mut values = vec![None; usize::try_from(repeats).unwrap_or(0)];
    for one in kept {
        let here = one.case == case && one.frames == place.0 && same(one.load, place.1);
        if !here || one.trial.invalid.is_some() {
            continue;
        }
        if let Some(value) = usize::try_from(one.trial.repeat).ok().and_then(|repeat| values.get_mut(repeat))
        {
            *value = of(&one.trial);
        }
    }
    values
}

/// What a sweep comes to.
pub(crate) fn sweep(options: &BenchOptions, kept: &[CaseTrial]) -> Summed {
    let mut summed = Summed::default();
    let places = places(kept);
    for (name, of) in QUANTITIES {
        let (mut compared, mut resolutions) = (Vec::new(), Vec::new());
        for place in &places {
            let by_case: Vec<Vec<Option<f64>>> =
                (0..options.cases.len()).map(|case| values(kept, case, place, options.repeats, of)).collect();
            let nominal = options.nominal(&place.0, place.1);
            let load = Some(nominal.load * 100.0);
            let to_carry = options.to_carry(&place.0, place.1);
            let here =
                SampleSite { frames: &place.0, load, resolution: resolution(options, &place.0, load, name) };
            for (case, values) in by_case.iter().enumerate() {
                let theoretical = match name {
                    "forwarded_percent" => Some((to_carry.load * 100.0).min(100.0)),
                    "forwarded_pps" => Some(to_carry.pps / to_carry.load.max(1.0)),
                    _ => None,
                };
                let mut result = result(options, case, here, name, values, theoretical);
                if name == "loss_ratio" {
                    none_lost(&mut result, kept, case, place);
                }
                summed.results.push(result);
            }
            if COMPARED.contains(&name) {
                summed.differences.extend(differences(options, here, name, &by_case));
                compared.push(by_case);
                resolutions.push(here.resolution);
            }
        }
        summed.overall.extend(overall(options, name, &compared, &resolutions));
    }
    let compared = QUANTITIES.into_iter().filter(|(name, _)| COMPARED.contains(name));
    summed.outliers = outliers(options, kept, &places, compared);
    correct(&mut summed.differences);
    summed
}

/// What each two cases differ by over all places together; `all`: what was found, by place, case and repeat, and to what it is
/// known at each place.
fn overall(
    options: &BenchOptions,
    quantity: &str,
    all: &[Vec<Vec<Option<f64>>>],
    resolutions: &[f64],
) -> Vec<Overall> {
    let one = |(first, second): (usize, usize)| {
        let pair = |by_case: &Vec<Vec<Option<f64>>>| {
            let (a, b): (&Vec<_>, &Vec<_>) = (by_case.get(first)?, by_case.get(second)?);
            let less = |(a, b): (&Option<f64>, &Option<f64>)| Some((*b)? - (*a)?);
            Some(a.iter().zip(b).map(less).collect())
        };
        let found = over_places(&all.iter().filter_map(pair).collect::<Vec<_>>());
        // The median may be the difference at the coarsest place; in the mean the roundings of all places even out.
        let coarsest = resolutions.iter().copied().fold(0.0, f64::max);
        let squares: f64 = resolutions.iter().map(|one| one * one).sum();
        let of_mean = squares.sqrt() / real(resolutions.len().max(1) as u64);
        let medians = repeats(&found.medians, of_differences(coarsest));
        let means = repeats(&found.means, of_differences(of_mean));
        // Of one place it is the difference there.
        (found.places > 1).then(|| Overall {
            from: case_name(options, first),
            to: case_name(options, second),
            quantity: quantity.into(),
            combinations: found.places as u64,
            repeats: found.medians.len() as u64,
            median: medians.mean,
            median_interval: medians.mean_interval,
            mean: means.mean,
            interval: means.mean_interval,
        })
    };
    pairs_of_cases(options.cases.len()).filter_map(one).collect()
}

fn case_name(options: &BenchOptions, case: usize) -> String {
    options.cases.get(case).map(|case| case.name.clone()).unwrap_or_default()
}

/// Each case against all before it.
fn pairs_of_cases(count: usize) -> impl Iterator<Item = (usize, usize)> {
    (0..count).flat_map(|second| (0..second).map(move |first| (first, second)))
}

/// Where no frame was lost in any trial, the interval says how many may have been: none of N.
fn none_lost(result: &mut BenchmarkResult, kept: &[CaseTrial], case: usize, place: &(Frames, f64)) {
    let here = kept.iter().filter(|one| {
        one.case == case && one.frames == place.0 && same(one.load, place.1) && one.trial.invalid.is_none()
    });
    let (lost, offered) =
        here.fold((0, 0), |(lost, offered), one| (lost + one.trial.lost, offered + to_carry(&one.trial)));
    if let Some(bound) = loss_bound(lost, offered).filter(|_| lost == 0) {
        result.interval = Some([0.0, bound]);
        result.method = "none-of-n".into();
    }
}

/// Names of what searches find, with the factor from a share of the line to the unit, or `None` for what has a unit.
const FOUND: [(&str, &str, Option<f64>); 7] = [
    ("throughput", "throughput_percent", Some(100.0)),
    ("conditional_throughput", "conditional_throughput_percent", Some(100.0)),
    ("burst_frames", "burst_frames", None),
    ("corrected_buffer_ns", "corrected_buffer_ns", None),
    ("recovery_ns", "recovery_ns", None),
    ("reset_by_loss_ns", "reset_by_loss_ns", None),
    ("reset_by_times_ns", "reset_by_times_ns", None),
];

/// What searches come to.
pub(crate) fn summarize(options: &BenchOptions, findings: &[ProcedureFinding]) -> Summed {
    let mut summed = Summed::default();
    for frames in &options.frames {
        for (quantity, name, factor) in FOUND {
            let here: Vec<&ProcedureFinding> = findings
                .iter()
                .filter(|found| found.quantity == quantity && found.frames == *frames)
                .collect();
            if here.is_empty() {
                continue;
            }
            let loads: Vec<Vec<Option<f64>>> = (0..options.cases.len())
                .map(|case| {
                    let mut values = vec![None; usize::try_from(options.repeats).unwrap_or(0)];
                    for found in here.iter().filter(|found| found.case == case) {
                        let place = usize::try_from(found.repeat).ok();
                        if let Some(value) = place.and_then(|repeat| values.get_mut(repeat)) {
                            *value = found.value;
                        }
                    }
                    values
                })
                .collect();
            // Of a load, what the device forwards of it.
            let told = |value: f64| {
                factor.map_or(value, |factor| value * factor * forwarded(options, frames, value)[0])
            };
            let by_case: Vec<Vec<Option<f64>>> =
                loads.iter().map(|values| values.iter().map(|value| value.map(told)).collect()).collect();
            let known = match quantity {
                "corrected_buffer_ns" => corrected_resolution(options, frames, findings),
                _ => resolution(options, frames, None, name),
            };
            let here_known = SampleSite { frames, load: None, resolution: known };
            for (case, values) in by_case.iter().enumerate() {
                let bound = here.iter().find(|found| found.case == case && found.bounded_by.is_some());
                let bounded_by = bound.and_then(|found| found.bounded_by);
                let mut add = |name: &str, place: SampleSite<'_>, values: &[Option<f64>], theoretical| {
                    let mut result = result(options, case, place, name, values, theoretical);
                    result.bounded_by = bounded_by;
                    // Each repeat passed so much and was not asked more: the device's own value may lie anywhere above.
                    if bounded_by == Some(ResultBound::Tester) {
                        (result.interval, result.median_interval) = (None, None);
                    }
                    summed.results.push(result);
                };
                let [all_load, all_pps] = forwarded(options, frames, 1.0);
                add(name, here_known, values, factor.map(|factor| factor * all_load));
                if quantity == "throughput" {
                    let all = options.nominal(frames, 1.0).pps;
                    let pps: Vec<Option<f64>> = loads[case]
                        .iter()
                        .map(|load| load.map(|load| load * all * forwarded(options, frames, load)[1]))
                        .collect();
                    let resolution = resolution(options, frames, None, "throughput_pps");
                    add("throughput_pps", SampleSite { resolution, ..here_known }, &pps, Some(all * all_pps));
                }
            }
            summed.differences.extend(differences(options, here_known, name, &by_case));
        }
    }
    correct(&mut summed.differences);
    summed
}

/// The shares of a load, and of its frames, that the device is to forward: without streams that it is to drop.
fn forwarded(options: &BenchOptions, frames: &Frames, load: f64) -> [f64; 2] {
    let [all, some] = [options.nominal(frames, load), options.to_carry(frames, load)];
    let share = |some: f64, all: f64| if all > 0.0 { some / all } else { 1.0 };
    [share(some.load, all.load), share(some.pps, all.pps)]
}

/// To what the corrected buffer is known: by the burst's length and the throughput, each to its resolution. It is the time of the
/// burst times what is not forwarded meanwhile (RFC 9004 section 6.4).
fn corrected_resolution(options: &BenchOptions, frames: &Frames, findings: &[ProcedureFinding]) -> f64 {
    let mean = |quantity: &str| {
        let of = findings.iter().filter(|found| found.quantity == quantity && found.frames == *frames);
        let values: Vec<f64> = of.filter_map(|found| found.value).collect();
        values.iter().sum::<f64>() / real(values.len().max(1) as u64)
    };
    let (burst, throughput) = (mean("burst_frames"), mean("throughput"));
    let [step, share] = ["burst_frames", "throughput"].map(|name| resolution(options, frames, None, name));
    let second = 1e9 / options.nominal(frames, 1.0).pps.max(1e-9);
    (step * second * (1.0 - throughput)).hypot(burst * second * share)
}

/// Every quantity that results are of.
#[cfg(test)]
pub(crate) fn every_quantity() -> impl Iterator<Item = &'static str> {
    let swept = QUANTITIES.iter().map(|(name, _)| *name);
    swept.chain(FOUND.iter().map(|(_, name, _)| *name)).chain(["throughput_pps"])
}

/// The quantities that the results of a procedure are of.
pub(crate) fn quantities_of(procedure: &Procedure) -> Vec<&'static str> {
    let throughput = ["throughput_percent", "throughput_pps"].into_iter();
    match procedure {
        Procedure::Sweep { .. } | Procedure::FrameLoss { .. } => {
            QUANTITIES.iter().map(|(name, _)| *name).collect()
        }
        Procedure::Throughput(_) => throughput.collect(),
        Procedure::Mlr(_) => throughput.chain(["conditional_throughput_percent"]).collect(),
        Procedure::BackToBack { .. } => throughput.chain(["burst_frames", "corrected_buffer_ns"]).collect(),
        Procedure::Recovery { .. } => throughput.chain(["recovery_ns"]).collect(),
        Procedure::Reset { .. } => vec!["reset_by_loss_ns", "reset_by_times_ns"],
    }
}

/// Where values are of, and to what they are known.
#[derive(Clone, Copy)]
struct SampleSite<'a> {
    frames: &'a Frames,
    /// Percent of the line.
    load: Option<f64>,
    resolution: f64,
}

fn result(
    options: &BenchOptions,
    case: usize,
    place: SampleSite<'_>,
    quantity: &str,
    values: &[Option<f64>],
    theoretical: Option<f64>,
) -> BenchmarkResult {
    let known: Vec<f64> = values.iter().flatten().copied().collect();
    let summary = repeats(&known, place.resolution);
    let within = |interval| possible(quantity, interval, summary.min);
    BenchmarkResult {
        case: options.cases.get(case).map(|case| case.name.clone()).unwrap_or_default(),
        frame_size: place.frames.size().map(romer_units::FrameSize::octets),
        load_percent: place.load,
        quantity: quantity.into(),
        count: summary.count,
        mean: summary.mean,
        stddev: summary.stddev,
        min: summary.min,
        max: summary.max,
        interval: summary.mean_interval.map(within),
        method: "student".into(),
        median: summary.median,
        median_interval: summary.median_interval.map(within),
        theoretical,
        bounded_by: None,
    }
}

/// What of an interval can be: few repeats have wide ones, which Student's knows no end of. `least` is the least value that was
/// found: a latency without the tester's own part may be below zero.
fn possible(quantity: &str, [low, high]: [f64; 2], least: Option<f64>) -> [f64; 2] {
    let low = if least.is_some_and(|least| least >= 0.0) { low.max(0.0) } else { low };
    [low, if quantity == "loss_ratio" { high.min(1.0) } else { high }]
}

/// Each case against all before it.
fn differences(
    options: &BenchOptions,
    SampleSite { frames, load: load_percent, resolution }: SampleSite<'_>,
    quantity: &str,
    by_case: &[Vec<Option<f64>>],
) -> Vec<Difference> {
    pairs_of_cases(by_case.len())
        .map(|(first, second)| {
            let (found, student) = paired(&by_case[first], &by_case[second], resolution);
            let interval = student.map(|(_, _, interval)| interval);
            Difference {
                from: case_name(options, first),
                to: case_name(options, second),
                frame_size: frames.size().map(romer_units::FrameSize::octets),
                load_percent,
                quantity: quantity.into(),
                count: found.len() as u64,
                mean: repeats(&found, resolution).mean,
                stddev: student.map(|(_, deviation, _)| deviation),
                interval,
                probability: chance_of_mean(&found, of_differences(resolution)),
                significant: false,
            }
        })
        .collect()
}

/// Corrects the differences of a benchmark for their number: of so many, some leave out zero by chance.
fn correct(differences: &mut [Difference]) {
    let chances: Vec<f64> = differences.iter().filter_map(|one| one.probability).collect();
    let tested = differences.iter_mut().filter(|one| one.probability.is_some());
    for (one, probability) in tested.zip(holm(&chances)) {
        one.probability = Some(probability);
        one.significant = probability < LEVEL;
    }
}

#[cfg(test)]
mod tests {
    use romer_units::random::{RandomStream, Seed};

    use super::*;

    #[test]
    fn what_a_case_costs_is_told_over_all_places_though_some_are_full() {
        use crate::options::Case;
        use crate::simulated::sweep;

        // A cost of 1,700 ns in 40 places, give or take 400, and milliseconds to either side where the device is full.
        let cases = ["none", "remark"].map(|name| Case { name: name.into(), command: None });
        let options = BenchOptions { cases: cases.into(), repeats: 5, ..sweep(&[0.5]) };
        let noise = RandomStream::new(Seed([9; 6]), [1, 2]);
        let apart = |place: u64, repeat: u64| 400.0 * (2.0 * noise.unit(place * 8 + repeat) - 1.0);
        let place = |place: u64, repeats: u64| {
            let full = if place < 40 { 0.0 } else { 1e4 };
            let none = (0..repeats).map(|_| Some(5e4)).collect();
            let remark = (0..repeats)
                .map(|repeat| Some(5e4 + 1_700.0 + (1.0 + full) * apart(place, repeat)))
                .collect();
            vec![none, remark]
        };
        let all: Vec<_> = (0..46).map(|number| place(number, 5)).collect();
        let found = overall(&options, "latency_median_ns", &all, &[NANOSECOND; 46]);
        assert_eq!((found.len(), found[0].combinations, found[0].repeats), (1, 46, 5));
        assert_eq!((found[0].from.as_str(), found[0].to.as_str()), ("none", "remark"));
        let [low, high] = found[0].median_interval.unwrap();
        assert!(low < 1_700.0 && high > 1_700.0 && high - low < 400.0, "{low} {high}");
        let [low, high] = found[0].interval.unwrap();
        assert!(high - low > 1e5, "the mean is carried away: {low} {high}");
        // One repeat does not tell what another would come to.
        let all: Vec<_> = (0..46).map(|number| place(number, 1)).collect();
        let found = overall(&options, "latency_median_ns", &all, &[NANOSECOND; 46]);
        assert!(found[0].median.is_some_and(|cost| (cost - 1_700.0).abs() < 300.0), "{found:?}");
        assert_eq!((found[0].repeats, found[0].median_interval, found[0].interval), (1, None, None));
        assert_eq!(
            overall(&options, "latency_median_ns", &all[..1], &[NANOSECOND]),
            [],
            "one place is told by itself"
        );
    }

    /// Cases that do the same differ by no more than their places are known to, and no less.
    #[test]
    fn equal_cases_differ_within_the_resolution() {
        use crate::options::Case;
        use crate::simulated::sweep;

        let cases = ["none", "same"].map(|name| Case { name: name.into(), command: None });
        let options = BenchOptions { cases: cases.into(), repeats: 3, ..sweep(&[0.5]) };
        let all: Vec<_> = (0..6).map(|_| vec![vec![Some(50.0); 3]; 2]).collect();
        let found = overall(&options, "forwarded_percent", &all, &[0.01; 6]);
        for [low, high] in [found[0].interval.unwrap(), found[0].median_interval.unwrap()] {
            assert!(low < 0.0 && high > 0.0 && high - low < 0.1, "{low} {high}");
        }
    }

    #[test]
    fn an_interval_has_nothing_that_cannot_be() {
        let told = |quantity, interval, least| format!("{:?}", possible(quantity, interval, Some(least)));
        assert_eq!(told("loss_ratio", [-0.2, 1.3], 0.1), "[0.0, 1.0]");
        assert_eq!(told("latency_mean_ns", [-98_012.0, 2e5], 40.0), "[0.0, 200000.0]");
        assert_eq!(told("latency_mean_ns", [-500.0, 2e5], -1.3), "[-500.0, 200000.0]");
    }

    #[test]
    fn a_difference_is_told_with_what_all_of_them_leave_of_its_probability() {
        let one = |probability| Difference { probability, ..Difference::default() };
        let mut all: Vec<Difference> = (0..20).map(|_| one(Some(0.01))).collect();
        all.extend([one(Some(0.001)), one(None)]);
        correct(&mut all);
        // One in a thousand, of 21 that were tested.
        assert!((all[20].probability.unwrap() - 0.021).abs() < 1e-12 && all[20].significant);
        assert!(all[..20].iter().all(|one| !one.significant), "each by itself is below 5 %");
        assert_eq!((all[21].probability, all[21].significant), (None, false));
    }
}

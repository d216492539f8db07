//! Two measurements compared: what differs, by how much, and whether the data can show it.

use romer_metrics::bootstrap::{FEWEST, RESAMPLES, SEED, interval_of_difference, resampled, tells};
use romer_metrics::minimum_interval::MinimumInterval;
use romer_record::comparison::{
    COMPARISON, ComparedDirection, ComparedFigure, ComparedRun, Comparison, ComparisonVerdict,
};
use romer_record::document::{Calibration, DelayKind, DirectionResults, Measurement, StampPlaces};
use romer_record::finding::{Finding, Pattern};
use romer_record::voice::{Scale, Voice};
use romer_record::warning::{Compared, ComparisonWarning, DifferingSource, StampMoment, SubtractedBaseline};

use crate::input::Stream;
use crate::number::time;
use crate::table::MeasuredPath;

mod figure;
mod text;
mod verdict;

pub use figure::Figure;
pub(crate) use figure::{FigureUnit, Series, rating};
pub(crate) use text::{cells, signed_to, value_to};
pub use text::{limit_difference, text};
use verdict::{CLEAR, Decisive, judge};

/// A measurement that is compared.
#[derive(Clone, Copy, Debug)]
pub struct Subject<'a> {
    /// As it was given.
    pub name: &'a str,
    /// Its document, and its packets where they are at hand.
    pub stream: Stream<'a>,
}

/// Compares `b` with `a`. The figure `by` decides the verdicts; without one, all that differ clearly decide. `None` where they
/// have no direction in common, or not that of `by`. Limits are for the caller to judge.
pub fn compare(a: &Subject<'_>, b: &Subject<'_>, by: Option<Figure>) -> Option<Comparison> {
    let decisive = by.map_or_else(|| Decisive::AllLedBy(Figure::median_delay()), Decisive::Only);
    let by = decisive.leading();
    let wanted = |way: &MeasuredPath| by.way.is_none_or(|only| only == *way);
    let ways: Vec<MeasuredPath> = MeasuredPath::ALL
        .into_iter()
        .filter(wanted)
        .filter(|way| [a, b].iter().all(|subject| is_known(way.results(subject.stream.measurement))))
        .collect();
    if ways.is_empty() {
        return None;
    }
    Some(Comparison {
        schema: COMPARISON.into(),
        a: side(a),
        b: side(b),
        by: by.to_string(),
        method: method(a, b, decisive),
        seed: SEED.0,
        warnings: warnings(a.stream.measurement, b.stream.measurement, &ways),
        directions: ways.into_iter().map(|way| direction(a, b, way, decisive)).collect(),
        stamps: Vec::new(),
        limits: Vec::new(),
    })
}

fn is_known(direction: &DirectionResults) -> bool {
    direction.delay_ns.count > 0 || direction.packets.sent.is_some()
}

pub(crate) fn side(subject: &Subject<'_>) -> ComparedRun {
    let m = subject.stream.measurement;
    ComparedRun {
        name: subject.name.into(),
        target: m.target.clone(),
        started: Some(m.started.clone()).filter(|started| !started.is_empty()),
        comment: m.metadata.comment.clone(),
    }
}

fn method(a: &Subject<'_>, b: &Subject<'_>, decisive: Decisive) -> String {
    let intervals = if a.stream.singletons.is_some() && b.stream.singletons.is_some() {
        format!(
            "95 % confidence intervals of the difference by a moving-block bootstrap ({RESAMPLES} resamples, fixed seed). The \
             block length follows from the autocorrelation (Politis and White). The interval of a loss ratio is at least \
             Newcombe's hybrid score interval. There is no interval with fewer than {FEWEST} values, and none for MOS and R. For PDV, and for \
             delays above the minimum, the interval includes the uncertainty of both minima: the spread of the minima of \
             32 parts of each series."
        )
    } else {
        "95 % confidence intervals of the difference from the intervals of both means, medians or loss ratios in the \
         documents: the root of the sum of their squares (Welch). Other metrics, and delays above the minimum, have none, \
         because the packets are not available."
            .into()
    };
    let chance = match decisive {
        Decisive::Only(_) => {
            "An unchanged direction gets another verdict in 1 of 20 comparisons by chance; in 1 of 20, another metric differs \
             clearly."
        }
        Decisive::AllLedBy(_) => {
            "In about 1 of 10 unchanged directions some metric differs clearly by chance: 1 of 20 for the leading metric, 1 \
             of 20 for the others."
        }
    };
    format!(
        "{intervals} The leading metric differs clearly if its interval excludes 0. Any other metric differs clearly only if an \
         interval {CLEAR} times as wide also excludes 0. {chance}"
    )
}

fn direction(a: &Subject<'_>, b: &Subject<'_>, way: MeasuredPath, decisive: Decisive) -> ComparedDirection {
    let by = decisive.leading();
    let (of_a, of_b) = (way.results(a.stream.measurement), way.results(b.stream.measurement));
    // Where nothing arrived there is no kind, and no delay either.
    let comparable = of_a.delay_kind.zip(of_b.delay_kind).is_none_or(|(a, b)| a == b);
    let mut figures: Vec<Figure> = Figure::SHOWN.iter().filter_map(|text| text.parse().ok()).collect();
    if !figures.iter().any(|figure| figure.path() == by.path()) {
        figures.push(by);
    }
    let same_scale = scale_of(a, way) == scale_of(b, way);
    let allowed = |figure: &Figure| match figure.series {
        Series::Delay => comparable,
        Series::R | Series::Mos => same_scale,
        _ => true,
    };
    let figures: Vec<(Figure, ComparedFigure)> = figures
        .into_iter()
        .filter(allowed)
        .map(|figure| (figure, compared(figure, a, b, way)))
        .filter(|(_, found)| found.a.is_some() || found.b.is_some())
        .collect();
    let (verdict, words) = if comparable || by.series != Series::Delay {
        let has_packets = a.stream.singletons.is_some() && b.stream.singletons.is_some();
        let (verdict, sentence) = judge(decisive, &figures, has_packets);
        let mut words = format!("{} {sentence}", way.name());
        if by.series == Series::Delay && of_a.delay_kind == Some(DelayKind::Variable) {
            words.push_str(
                " Delays are relative to the minimum of each run (clock offset unknown): a constant shift is not visible.",
            );
        }
        let [of_a, of_b] = [a, b].map(|one| &one.stream.measurement.findings[..]);
        words.extend(spikes_of_one(of_a, of_b, way).into_iter().map(|text| format!(" {text}")));
        (verdict, words)
    } else {
        let why = "one is absolute and the other relative to its minimum";
        (ComparisonVerdict::Inconclusive, format!("{}: the delays cannot be compared: {why}.", way.name()))
    };
    ComparedDirection {
        direction: way.field().into(),
        delay_kind: of_a.delay_kind.filter(|_| comparable),
        verdict,
        text: words,
        figures: figures.into_iter().map(|(_, found)| found).collect(),
    }
}

/// Periods of spikes that differ by less than this share are the same.
const SAME_PERIOD: f64 = 0.01;

/// Periodic delay spikes that only one of both runs has, as sentences.
fn spikes_of_one(a: &[Finding], b: &[Finding], way: MeasuredPath) -> Vec<String> {
    let spikes = |findings: &[Finding]| -> Vec<(f64, f64)> {
        let of_way = findings.iter().filter(|finding| finding.direction == way.in_document());
        of_way
            .filter_map(|finding| match finding.pattern {
                Pattern::PeriodicDelaySpikes { period_ns, height_ns, .. } => Some((period_ns, height_ns)),
                _ => None,
            })
            .collect()
    };
    let (of_a, of_b) = (spikes(a), spikes(b));
    let only = |those: &[(f64, f64)], others: &[(f64, f64)], words: &str| -> Vec<String> {
        let is_there =
            |period: f64| others.iter().any(|(other, _)| (other - period).abs() < SAME_PERIOD * period);
        let alone = those.iter().filter(|(period, _)| !is_there(*period));
        alone
            .map(|(period, height)| {
                format!(
                    "Periodic delay spikes (+{} every {}) {words}.",
                    time(*height, true),
                    time(*period, true)
                )
            })
            .collect()
    };
    let mut words = only(&of_a, &of_b, "found in A, not in B");
    words.extend(only(&of_b, &of_a, "found in B, not in A"));
    words
}

/// The scale of the ratings of a direction.
fn scale_of(subject: &Subject<'_>, way: MeasuredPath) -> Option<Scale> {
    rating(subject.stream.measurement, way).map(|voice| voice.codec.scale)
}

fn compared(figure: Figure, a: &Subject<'_>, b: &Subject<'_>, way: MeasuredPath) -> ComparedFigure {
    let (of_a, of_b) = (way.results(a.stream.measurement), way.results(b.stream.measurement));
    let [of_figure_a, of_figure_b] = [a, b].map(|one| figure.value(one.stream.measurement, way));
    let values = of_figure_a.zip(of_figure_b);
    ComparedFigure {
        figure: figure.path(),
        a: of_figure_a,
        b: of_figure_b,
        difference: values.map(|(a, b)| b - a),
        interval: values.and_then(|values| {
            let series = a
                .stream
                .singletons
                .zip(b.stream.singletons)
                .map(|(pa, pb)| [pa, pb].map(|of| figure.series.values(of.singletons(way))));
            let series = series.as_ref().map(|[a, b]| Values { a, b });
            let drawn = series.and_then(|series| drawn(figure, series));
            let stated = stated(values, figure.interval(of_a), figure.interval(of_b));
            let least = figure.series.is_above_least(of_a.delay_kind);
            match (figure.series, series) {
                (Series::Loss, _) => hull(drawn, stated),
                (_, Some(series)) if least => opened(values, drawn?, series),
                (_, Some(_)) => drawn,
                // Documents have no uncertainty of their minima.
                (_, None) => stated.filter(|_| !least),
            }
        }),
    }
}

/// A series of numbers of both, in order of sequence.
#[derive(Clone, Copy)]
pub(crate) struct Values<'a> {
    pub(crate) a: &'a [f64],
    pub(crate) b: &'a [f64],
}

/// An interval of the difference of figures above the least of each, with what both leasts leave open.
pub(crate) fn opened((a, b): (f64, f64), [low, high]: [f64; 2], values: Values<'_>) -> Option<[f64; 2]> {
    let [below, above] =
        MinimumInterval::apart(MinimumInterval::estimate(values.a)?, MinimumInterval::estimate(values.b)?);
    let difference = b - a;
    Some([
        difference - (difference - low).max(0.0).hypot(below),
        difference + (high - difference).max(0.0).hypot(above),
    ])
}

/// By drawing both series anew.
pub(crate) fn drawn(figure: Figure, values: Values<'_>) -> Option<[f64; 2]> {
    let is_sufficient = |values: &[f64]| tells(values, figure.statistic().1, figure.series.lags());
    if is_sufficient(values.a) && is_sufficient(values.b) { drawn_anyway(figure, values) } else { None }
}

/// The same, even if a series is too short to show how sure the figure is. The interval is then rather too narrow than too wide.
pub(crate) fn drawn_anyway(figure: Figure, values: Values<'_>) -> Option<[f64; 2]> {
    let draw = |values: &[f64], name| resampled(values, &[figure.statistic().1], name)?.into_iter().next();
    interval_of_difference(&draw(values.a, 0)?, &draw(values.b, 1)?)
}

/// From both intervals: the root of the sum of the squares of their arms, as Welch for means and Newcombe for shares.
pub(crate) fn stated((a, b): (f64, f64), of_a: Option<[f64; 2]>, of_b: Option<[f64; 2]>) -> Option<[f64; 2]> {
    let ([low_a, high_a], [low_b, high_b]) = of_a.zip(of_b)?;
    Some([b - a - (b - low_b).hypot(high_a - a), b - a + (high_b - b).hypot(a - low_a)])
}

pub(crate) fn hull(one: Option<[f64; 2]>, other: Option<[f64; 2]>) -> Option<[f64; 2]> {
    match (one, other) {
        (Some([a, b]), Some([c, d])) => Some([a.min(c), b.max(d)]),
        _ => other,
    }
}

/// What may be the difference besides the paths, of the ways that are compared.
pub(crate) fn warnings(a: &Measurement, b: &Measurement, ways: &[MeasuredPath]) -> Vec<ComparisonWarning> {
    let mut warnings = Vec::new();
    for (measurement, m) in [(Compared::A, a), (Compared::B, b)] {
        if m.partial {
            warnings.push(ComparisonWarning::Partial { measurement });
        }
    }
    let (at, bt) = (&a.traffic, &b.traffic);
    if at.payload_octets != bt.payload_octets || at.dscp.zip(bt.dscp).is_some_and(|(a, b)| a != b) {
        warnings.push(ComparisonWarning::PacketsDiffer);
    }
    warnings.extend(ways.iter().filter_map(|way| calls(*way, rating(a, *way)?, rating(b, *way)?)));
    warnings.extend(places(&a.stamps, &b.stamps, ways));
    warnings.extend(responder_time(&a.stamps, &b.stamps, ways));
    warnings.extend(subtracted(a.calibration.as_ref(), b.calibration.as_ref(), ways));
    warnings
}

/// That the ratings of a way are not of the same kind of call.
fn calls(way: MeasuredPath, a: &Voice, b: &Voice) -> Option<ComparisonWarning> {
    let direction = way.in_document();
    if a.codec.scale != b.codec.scale {
        let (a, b) = (a.codec.scale.to_string(), b.codec.scale.to_string());
        return Some(ComparisonWarning::ScalesDiffer { direction, a, b });
    }
    let differs = (&a.codec, a.jitter_buffer) != (&b.codec, b.jitter_buffer)
        || (a.delay_basis, a.loss_basis, a.variation_basis)
            != (b.delay_basis, b.loss_basis, b.variation_basis);
    differs.then_some(ComparisonWarning::CallsDiffer { direction })
}

/// That the stamps of the ways that are compared were taken in different places.
fn places(a: &StampPlaces, b: &StampPlaces, ways: &[MeasuredPath]) -> Option<ComparisonWarning> {
    // A round trip has the time stamps of both directions.
    let of = |way: MeasuredPath| ways.contains(&way) || ways.contains(&MeasuredPath::RoundTrip);
    let (forward, reverse) = (of(MeasuredPath::Forward), of(MeasuredPath::Reverse));
    let moments = [
        (StampMoment::SenderDeparture, forward, a.sender_departure, b.sender_departure),
        (StampMoment::ResponderArrival, forward, a.responder_arrival, b.responder_arrival),
        (StampMoment::ResponderDeparture, reverse, a.responder_departure, b.responder_departure),
        (StampMoment::SenderArrival, reverse, a.sender_arrival, b.sender_arrival),
    ];
    let moments: Vec<DifferingSource> = moments
        .into_iter()
        .filter(|(_, compared, a, b)| *compared && a != b)
        .map(|(moment, _, a, b)| DifferingSource { stamp: moment, a, b })
        .collect();
    (!moments.is_empty()).then_some(ComparisonWarning::TimeStampSourcesDiffer { stamps: moments })
}

/// That the round trips of one contain the time that the responder took, and those of the other do not.
fn responder_time(a: &StampPlaces, b: &StampPlaces, ways: &[MeasuredPath]) -> Option<ComparisonWarning> {
    let included_in = match (a.round_trip_includes_responder, b.round_trip_includes_responder) {
        (true, false) => Compared::A,
        (false, true) => Compared::B,
        _ => return None,
    };
    ways.contains(&MeasuredPath::RoundTrip).then_some(ComparisonWarning::ResponderTimeDiffers { included_in })
}

/// That a calibration's baseline is taken out of the delays of one and not of the other.
fn subtracted(
    a: Option<&Calibration>,
    b: Option<&Calibration>,
    ways: &[MeasuredPath],
) -> Option<ComparisonWarning> {
    let of = |calibration: Option<&Calibration>, way: MeasuredPath| calibration?.taken_out(way.in_document());
    let only = |subtracted_from: Compared, one: Option<&Calibration>, other: Option<&Calibration>| {
        let baselines: Vec<SubtractedBaseline> = ways
            .iter()
            .filter(|way| of(other, **way).is_none())
            .filter_map(|way| {
                Some(SubtractedBaseline { direction: way.in_document(), baseline_ns: of(one, *way)? })
            })
            .collect();
        (!baselines.is_empty()).then_some(ComparisonWarning::BaselineDiffers { subtracted_from, baselines })
    };
    only(Compared::A, a, b).or_else(|| only(Compared::B, b, a))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::number::NO_BREAK;
    use crate::sentence::Text as _;
    use romer_record::calibration::AddedDelay;
    use romer_units::TimestampPoint;

    #[test]
    fn a_baseline_that_only_one_has_taken_out_is_sufficient_with_how_much_it_is() {
        let share =
            |baseline_ns| AddedDelay { baseline_ns, median_ns: 0.0, uncertainty_ns: 0.0, max_ns: 0.0 };
        let of = |subtracted| Calibration {
            baseline_ns: Some(18_700.0),
            subtracted,
            forward: Some(share(9_000.0)),
            ..Calibration::default()
        };
        let (with, without) = (of(true), of(false));
        let (with, without) = (Some(&with), Some(&without));
        let ways = [MeasuredPath::Forward, MeasuredPath::RoundTrip];
        let said = subtracted(without, with, &ways).unwrap().text();
        assert!(
            said.contains("from the delays of B (--subtract-baseline) and not from those of A"),
            "{said}"
        );
        assert!(said.contains("(forward 9.00 µs, round trip 18.7 µs)"), "{said}");
        assert!(subtracted(with, None, &ways).unwrap().text().contains("delays of A"));
        assert_eq!(subtracted(with, with, &ways), None);
        assert_eq!(subtracted(with, without, &[MeasuredPath::Reverse]), None);
    }

    #[test]
    fn a_figure_is_read_and_written_and_another_is_refused_with_those_that_there_are() {
        for text in [
            "delay_ns.p99",
            "loss.ratio",
            "forward.delay_ns.median",
            "jitter_ns.delay_difference.mean",
            "voice.forward.mos",
        ] {
            assert_eq!(text.parse::<Figure>().unwrap().to_string(), text);
        }
        for (alias, path) in [
            ("loss", "loss.ratio"),
            ("rtt.p99", "round_trip.delay_ns.p99"),
            ("jitter", "jitter_ns.delay_difference.mean"),
            ("reverse.mos", "voice.reverse.mos"),
        ] {
            assert_eq!(alias.parse::<Figure>().unwrap().to_string(), path);
        }
        for (text, part) in [
            ("", "write one of delay_ns"),
            ("delay_ns", "continue with one of count"),
            ("delay_ns.p98", "p99_9"),
            ("packets.lost", "a dot, and one of mean, median"),
            ("delay_ns.iqr", "e.g. delay_ns.p99; or one of loss.ratio"),
            ("up.delay_ns.p99", "\"up\" is not a metric"),
        ] {
            let why = text.parse::<Figure>().unwrap_err();
            assert!(why.contains("cannot be compared") && why.contains(part), "{text:?}: {why}");
        }
    }

    /// Round trips with and without the responder's own time are not compared silently.
    #[test]
    fn responder_time_in_one_is_warned_of() {
        let with = StampPlaces { round_trip_includes_responder: true, ..StampPlaces::default() };
        let without = StampPlaces::default();
        let said = responder_time(&without, &with, &[MeasuredPath::RoundTrip]).unwrap().text();
        assert!(
            said.starts_with("the round trips of B include") && said.contains("those of A do not"),
            "{said}"
        );
        assert_eq!(responder_time(&with, &with, &[MeasuredPath::RoundTrip]), None);
        assert_eq!(responder_time(&with, &without, &[MeasuredPath::Forward]), None);
    }

    #[test]
    fn of_what_is_not_compared_nothing_is_said() {
        let kernel = Some(TimestampPoint::Kernel);
        let a =
            StampPlaces { sender_departure: kernel, responder_departure: kernel, ..StampPlaces::default() };
        let b = StampPlaces { sender_departure: kernel, ..StampPlaces::default() };
        assert_eq!(places(&a, &b, &[MeasuredPath::Forward]), None);
        for ways in [&[MeasuredPath::Forward, MeasuredPath::Reverse][..], &[MeasuredPath::RoundTrip]] {
            let said = places(&a, &b, ways).unwrap().text();
            assert!(said.contains("(departure at the responder: kernel and an unknown source)"), "{said}");
        }
        let words = |text: &str| text.parse::<Figure>().unwrap().text();
        assert_eq!(words("forward.delay_ns.median"), "median delay");
        assert_eq!(words("jitter_ns.delay_difference.p99_9"), "p99.9 |IPDV|");
        assert_eq!(words("loss.ratio"), "loss");
    }

    /// Spikes of the same period are not mentioned; those of one run are, with the run.
    #[test]
    fn periodic_spikes_of_one_run() {
        let spikes = |period_ns: f64| Finding {
            direction: romer_record::document::ProbeDirection::Forward,
            at_ns: None,
            until_ns: None,
            false_alarm_probability: None,
            pattern: Pattern::PeriodicDelaySpikes {
                period_ns,
                period_interval_ns: [period_ns; 2],
                phase_ns: 0.0,
                height_ns: 24e6,
                spikes: 9,
                cycles: 9,
                strength_ratio: 1.0,
                multiple_of_ns: None,
            },
        };
        let (a, b) = ([spikes(2e9), spikes(10e9)], [spikes(2.001e9), spikes(5e9)]);
        let said: Vec<String> = spikes_of_one(&a, &b, MeasuredPath::Forward)
            .iter()
            .map(|text| text.replace(NO_BREAK, " "))
            .collect();
        assert_eq!(
            said,
            [
                "Periodic delay spikes (+24.0 ms every 10.0 s) found in A, not in B.",
                "Periodic delay spikes (+24.0 ms every 5.00 s) found in B, not in A."
            ]
        );
        assert!(
            spikes_of_one(&a, &a, MeasuredPath::Forward).is_empty()
                && spikes_of_one(&a, &[], MeasuredPath::Reverse).is_empty()
        );
    }

    #[test]
    fn intervals_of_both_make_one_of_the_difference() {
        let [low, high] = stated((10.0, 15.0), Some([7.0, 13.0]), Some([11.0, 19.0])).unwrap();
        assert!((low - 0.0).abs() < 1e-12 && (high - 10.0).abs() < 1e-12, "5 +- hypot(3, 4): {low} {high}");
        assert_eq!(stated((1.0, 2.0), None, Some([1.0, 3.0])), None);
    }
}

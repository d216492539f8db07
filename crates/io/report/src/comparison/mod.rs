//! Two measurements compared: what differs, by how much, and whether the data can show it.

use romer_metrics::bootstrap::{FEWEST, RESAMPLES, SEED, interval_of_difference, resampled, tells};
use romer_metrics::least::Least;
use romer_record::Passage;
use romer_record::comparison::{COMPARISON, ComparedDirection, ComparedFigure, Comparison, Side, Verdict};
use romer_record::document::{Calibration, DelayKind, Direction, Measurement, StampPlaces};
use romer_record::voice::{Scale, Voice};
use romer_units::Place;

use crate::number::{NO_BREAK, percent, time, time_with_half};
use crate::table::Way;
use crate::{Passages, Stream};

mod figure;
mod text;

pub use figure::Figure;
pub(crate) use figure::Unit;
use figure::{Series, rating};
pub(crate) use text::cells;
pub use text::text;

/// A measurement that is compared.
#[derive(Clone, Copy, Debug)]
pub struct Subject<'a> {
    /// As it was given.
    pub name: &'a str,
    /// Its document, and its packets where they are at hand.
    pub stream: Stream<'a>,
}

/// The name of a direction in the document.
pub(crate) fn field(way: Way) -> &'static str {
    match way {
        Way::Forward => "forward",
        Way::Reverse => "reverse",
        Way::RoundTrip => "round_trip",
    }
}

/// Compares `b` with `a`, with verdicts by the figure `by`. `None` where they have no direction in common, or not that
/// of `by`. Limits are for the caller to judge.
pub fn compare(a: &Subject<'_>, b: &Subject<'_>, by: Figure) -> Option<Comparison> {
    let wanted = |way: &Way| by.way.is_none_or(|only| only == *way);
    let ways: Vec<Way> = Way::ALL
        .into_iter()
        .filter(wanted)
        .filter(|way| [a, b].iter().all(|subject| is_known(way.of(subject.stream.measurement))))
        .collect();
    if ways.is_empty() {
        return None;
    }
    Some(Comparison {
        schema: COMPARISON.into(),
        a: side(a),
        b: side(b),
        by: by.to_string(),
        method: method(a, b),
        seed: SEED.0,
        warnings: warnings(a.stream.measurement, b.stream.measurement, &ways),
        directions: ways.into_iter().map(|way| direction(a, b, way, by)).collect(),
        limits: Vec::new(),
    })
}

fn is_known(direction: &Direction) -> bool {
    direction.delay_ns.count > 0 || direction.packets.sent.is_some()
}

pub(crate) fn side(subject: &Subject<'_>) -> Side {
    let m = subject.stream.measurement;
    Side {
        name: subject.name.into(),
        target: m.target.clone(),
        started: Some(m.started.clone()).filter(|started| !started.is_empty()),
        comment: m.metadata.comment.clone(),
    }
}

fn method(a: &Subject<'_>, b: &Subject<'_>) -> String {
    if a.stream.passages.is_some() && b.stream.passages.is_some() {
        format!(
            "95 % intervals of the difference by a moving-block bootstrap of {RESAMPLES} samples with a fixed seed, the \
             blocks as long as the autocorrelation asks for (Politis and White), because packets that follow each other are \
             alike; of loss ratios it is at least Newcombe's hybrid score interval; none below {FEWEST} values, and none of ratings. Of delays above the \
             least of each, and of PDV, it has in it besides what both least values leave open, by how far the lowest of \
             the least values of 32 parts of each are apart"
        )
    } else {
        "95 % intervals of the difference from the intervals of both means or medians in the documents, by the root of \
         the sum of their squares (Welch); other figures have none, because the packets are not at hand, nor have delays above \
         the least of each"
            .into()
    }
}

pub(crate) fn passages_of<'a>(passages: Passages<'a>, way: Way) -> &'a [Passage] {
    match way {
        Way::Forward => passages.forward,
        Way::Reverse => passages.reverse,
        Way::RoundTrip => passages.round_trip,
    }
}

fn direction(a: &Subject<'_>, b: &Subject<'_>, way: Way, by: Figure) -> ComparedDirection {
    let (of_a, of_b) = (way.of(a.stream.measurement), way.of(b.stream.measurement));
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
    let main = figures.iter().find(|(figure, _)| figure.path() == by.path()).map(|(_, found)| found);
    let (verdict, words) = if comparable || by.series != Series::Delay {
        let (verdict, words) = verdict(way, by, main, of_a.delay_kind);
        (verdict, words + &besides(by, verdict, &figures))
    } else {
        let why = "one is the whole delay and the other the part above its least value";
        (Verdict::NotKnown, format!("{}: the delays cannot be compared, because {why}.", way.name()))
    };
    ComparedDirection {
        direction: field(way).into(),
        delay_kind: of_a.delay_kind.filter(|_| comparable),
        verdict,
        words,
        figures: figures.into_iter().map(|(_, found)| found).collect(),
    }
}

/// The scale of the ratings of a direction.
fn scale_of(subject: &Subject<'_>, way: Way) -> Option<Scale> {
    rating(subject.stream.measurement, way).map(|voice| voice.codec.scale)
}

fn compared(figure: Figure, a: &Subject<'_>, b: &Subject<'_>, way: Way) -> ComparedFigure {
    let (of_a, of_b) = (way.of(a.stream.measurement), way.of(b.stream.measurement));
    let [of_figure_a, of_figure_b] = [a, b].map(|one| figure.of(one.stream.measurement, way));
    let values = of_figure_a.zip(of_figure_b);
    ComparedFigure {
        figure: figure.path(),
        a: of_figure_a,
        b: of_figure_b,
        difference: values.map(|(a, b)| b - a),
        interval: values.and_then(|values| {
            let drawn = a
                .stream
                .passages
                .zip(b.stream.passages)
                .and_then(|(pa, pb)| drawn(figure, passages_of(pa, way), passages_of(pb, way)));
            let stated = stated(values, figure.interval(of_a), figure.interval(of_b));
            let least = figure.series.is_above_least(of_a.delay_kind);
            match (figure.series, a.stream.passages.zip(b.stream.passages)) {
                (Series::Loss, _) => hull(drawn, stated),
                (_, Some((pa, pb))) if least => {
                    opened(values, drawn?, figure.series, passages_of(pa, way), passages_of(pb, way))
                }
                (_, Some(_)) => drawn,
                // Documents do not tell how firm their least values are.
                (_, None) => stated.filter(|_| !least),
            }
        }),
    }
}

/// An interval of the difference of figures above the least of each, with what both leasts leave open.
fn opened(
    (a, b): (f64, f64),
    [low, high]: [f64; 2],
    series: Series,
    of_a: &[Passage],
    of_b: &[Passage],
) -> Option<[f64; 2]> {
    let [below, above] = Least::apart(Least::of(&series.values(of_a))?, Least::of(&series.values(of_b))?);
    let difference = b - a;
    Some([
        difference - (difference - low).max(0.0).hypot(below),
        difference + (high - difference).max(0.0).hypot(above),
    ])
}

/// By drawing both series anew.
fn drawn(figure: Figure, a: &[Passage], b: &[Passage]) -> Option<[f64; 2]> {
    let draw = |passages: &[Passage], name| {
        let (values, statistic) = (figure.series.values(passages), figure.statistic().1);
        tells(&values, statistic, figure.series.lags())
            .then(|| resampled(&values, &[statistic], name))??
            .into_iter()
            .next()
    };
    interval_of_difference(&draw(a, 0)?, &draw(b, 1)?)
}

/// From both intervals: the root of the sum of the squares of their arms, as Welch for means and Newcombe for shares.
fn stated((a, b): (f64, f64), of_a: Option<[f64; 2]>, of_b: Option<[f64; 2]>) -> Option<[f64; 2]> {
    let ([low_a, high_a], [low_b, high_b]) = of_a.zip(of_b)?;
    Some([b - a - (b - low_b).hypot(high_a - a), b - a + (high_b - b).hypot(a - low_a)])
}

fn hull(one: Option<[f64; 2]>, other: Option<[f64; 2]>) -> Option<[f64; 2]> {
    match (one, other) {
        (Some([a, b]), Some([c, d])) => Some([a.min(c), b.max(d)]),
        _ => other,
    }
}

fn verdict(
    way: Way,
    by: Figure,
    found: Option<&ComparedFigure>,
    kind: Option<DelayKind>,
) -> (Verdict, String) {
    let name = way.name();
    let figure = by.words();
    let Some((difference, found)) = found.and_then(|found| Some((found.difference?, found))) else {
        return (Verdict::NotKnown, format!("{name}: the {figure} is not known of both."));
    };
    let Some(interval @ [low, high]) = found.interval else {
        let size = amount(by, difference, None);
        let why = match by.series {
            Series::R | Series::Mos => {
                "A rating has no interval, because it follows from the path's delay and losses by the E-model: compare these \
                 (--by delay_ns.median, --by loss.ratio) to see what is chance."
            }
            _ => "The data do not give an interval, so that it is not known whether this is chance.",
        };
        let text = format!("{name}: the {figure} of B is {size} {}. {why}", less(difference));
        return (Verdict::NotKnown, text);
    };
    let above = if kind == Some(DelayKind::Variable) && by.series == Series::Delay {
        " Delays are those above each one's least: a shift of all is not seen, and what both leasts leave open is in the interval."
    } else {
        ""
    };
    let (verdict, how) = match (low > 0.0, high < 0.0) {
        (true, _) => (Verdict::More, if by.series == Series::Delay { "longer" } else { "more" }),
        (_, true) => (Verdict::Less, if by.series == Series::Delay { "shorter" } else { "less" }),
        _ => {
            let text = format!(
                "{name}: of the {figure} no difference that these data can show (B minus A: {}).{above}",
                signed(by, difference, interval)
            );
            return (Verdict::NoneShown, text);
        }
    };
    // Plus or minus only where both arms are as long as each other, and never so long that it reads as none.
    let arms = (difference - low, high - difference);
    let even = arms.0 < 1.1 * arms.1 && arms.1 < 1.1 * arms.0 && (high - low) / 2.0 < 0.9 * difference.abs();
    let text = if even {
        let size = amount(by, difference, Some((high - low) / 2.0));
        format!("{name}: B is {how} by {size} ({figure}, 95{NO_BREAK}%).{above}")
    } else {
        let (size, least, most) =
            (amount(by, difference, None), low.abs().min(high.abs()), low.abs().max(high.abs()));
        let (least, most) = (amount(by, least, None), amount(by, most, None));
        format!("{name}: B is {how} by {size} ({figure}, 95{NO_BREAK}%: {least} to {most}).{above}")
    };
    (verdict, text)
}

/// Of some fifteen figures of three directions one lies outside its interval of 95 % by chance in every other comparison. One in
/// twenty has one that is so many times as far from nothing (2.94 deviations in place of 1.96).
const CLEAR: f64 = 1.5;

/// What differs besides, so that nobody takes a verdict by one figure for one by all: where `by` shows a difference, only
/// that which goes the other way or is of another kind.
fn besides(by: Figure, verdict: Verdict, figures: &[(Figure, ComparedFigure)]) -> String {
    let same_sign = |low: f64| match verdict {
        Verdict::More => low > 0.0,
        Verdict::Less => low < 0.0,
        Verdict::NoneShown | Verdict::NotKnown => false,
    };
    let differing: Vec<String> = figures
        .iter()
        .filter(|(figure, _)| figure.path() != by.path())
        .filter_map(|(figure, found)| {
            let (difference, interval @ [low, high]) = found.difference.zip(found.interval)?;
            let told = figure.series == by.series && same_sign(low);
            let is_clear =
                difference > CLEAR * (difference - low) || -difference > CLEAR * (high - difference);
            (is_clear && !told)
                .then(|| format!("{} ({})", figure.words(), signed(*figure, difference, interval)))
        })
        .collect();
    if differing.is_empty() {
        return String::new();
    }
    let what = match verdict {
        Verdict::More | Verdict::Less => "What differs besides",
        Verdict::NoneShown | Verdict::NotKnown => "What these data do show to differ",
    };
    format!(" {what}: {}.", differing.join(", "))
}

fn less(difference: f64) -> &'static str {
    if difference < 0.0 { "less" } else { "more" }
}

/// A difference without its sign, and half the width of its interval.
fn amount(by: Figure, value: f64, half: Option<f64>) -> String {
    let value = value.abs();
    match (by.unit(), half) {
        (Unit::Time, Some(half)) => time_with_half(value, half, true),
        (Unit::Time, None) => time(value, true),
        (Unit::Share, Some(half)) => format!("{} ± {} of the packets", percent(value), percent(half)),
        (Unit::Share, None) => format!("{} of the packets", percent(value)),
        (Unit::Score, _) => text::shown(value, Unit::Score, true),
    }
}

/// A difference with its interval.
fn signed(by: Figure, value: f64, [low, high]: [f64; 2]) -> String {
    let show = |value: f64| text::signed(value, by.unit(), true);
    format!("{}, 95{NO_BREAK}%: {} to {}", show(value), show(low), show(high))
}

/// What may be the difference besides the paths, of the ways that are compared.
fn warnings(a: &Measurement, b: &Measurement, ways: &[Way]) -> Vec<String> {
    let mut warnings = Vec::new();
    for (name, m) in [("A", a), ("B", b)] {
        if m.partial {
            warnings.push(format!("{name} did not end as asked: its figures are those of a part"));
        }
    }
    let (at, bt) = (&a.traffic, &b.traffic);
    if at.payload_octets != bt.payload_octets || at.dscp.zip(bt.dscp).is_some_and(|(a, b)| a != b) {
        warnings
            .push("the packets of A and B differ in size or code point, which may be the difference".into());
    }
    warnings.extend(ways.iter().filter_map(|way| calls(*way, rating(a, *way)?, rating(b, *way)?)));
    warnings.extend(places(&a.stamps, &b.stamps, ways));
    warnings.extend(responder_time(&a.stamps, &b.stamps, ways));
    warnings.extend(subtracted(a.calibration.as_ref(), b.calibration.as_ref(), ways));
    warnings
}

/// That the ratings of a way are not of the same kind of call.
fn calls(way: Way, a: &Voice, b: &Voice) -> Option<String> {
    let name = way.name();
    if a.codec.scale != b.codec.scale {
        return Some(format!(
            "the calls of A and B are rated on different scales ({name}: {} and {}), so that their MOS is not compared",
            a.codec.scale, b.codec.scale
        ));
    }
    let differs = (&a.codec, a.jitter_buffer) != (&b.codec, b.jitter_buffer)
        || (a.delay_basis, a.loss_basis, a.variation_basis)
            != (b.delay_basis, b.loss_basis, b.variation_basis);
    differs.then(|| {
        format!(
            "the calls of A and B differ in codec, choice of the jitter buffer, or what is known of delay and loss ({name}), \
             which may be the difference of their MOS"
        )
    })
}

/// That the stamps of the ways that are compared were taken in different places.
fn places(a: &StampPlaces, b: &StampPlaces, ways: &[Way]) -> Option<String> {
    // A round trip has the stamps of both its ways.
    let of = |way: Way| ways.contains(&way) || ways.contains(&Way::RoundTrip);
    let (there, back) = (of(Way::Forward), of(Way::Reverse));
    let moments = [
        ("departure here", there, a.sender_departure, b.sender_departure),
        ("arrival there", there, a.responder_arrival, b.responder_arrival),
        ("departure there", back, a.responder_departure, b.responder_departure),
        ("arrival here", back, a.sender_arrival, b.sender_arrival),
    ];
    let said =
        |place: Option<Place>| place.map_or_else(|| "a place not told".to_owned(), |place| place.to_string());
    let differing: Vec<String> = moments
        .into_iter()
        .filter(|(_, compared, a, b)| *compared && a != b)
        .map(|(moment, _, a, b)| format!("{moment} by {} and by {}", said(a), said(b)))
        .collect();
    (!differing.is_empty()).then(|| {
        format!(
            "the stamps of A and B were taken in different places ({}), which may be the difference",
            differing.join(", ")
        )
    })
}

/// That the round trips of one contain the time that the responder took, and those of the other do not.
fn responder_time(a: &StampPlaces, b: &StampPlaces, ways: &[Way]) -> Option<String> {
    let (with, without) = match (a.round_trip_includes_responder, b.round_trip_includes_responder) {
        (true, false) => ("A", "B"),
        (false, true) => ("B", "A"),
        _ => return None,
    };
    ways.contains(&Way::RoundTrip).then(|| {
        format!(
            "the round trips of {with} contain the time that the responder took to answer, and those of {without} do not, which may \
             be the difference"
        )
    })
}

/// That a calibration's baseline is taken out of the delays of one and not of the other.
fn subtracted(a: Option<&Calibration>, b: Option<&Calibration>, ways: &[Way]) -> Option<String> {
    let of = |calibration: Option<&Calibration>, way: Way| calibration?.taken_out(way.in_document());
    let only = |one: Option<&Calibration>, other: Option<&Calibration>| {
        let told: Vec<String> = ways
            .iter()
            .filter(|way| of(other, **way).is_none())
            .filter_map(|way| Some(format!("{} {}", way.name(), time(of(one, *way)?, true))))
            .collect();
        (!told.is_empty()).then(|| told.join(", "))
    };
    let ((subtracted, whole), told) =
        only(a, b).map(|told| (("A", "B"), told)).or_else(|| only(b, a).map(|told| (("B", "A"), told)))?;
    Some(format!(
        "the calibrated baseline is taken out of the delays of {subtracted} (--subtract-baseline) and not of those of {whole}: \
         as much of the difference is not the path's ({told})"
    ))
}

#[cfg(test)]
mod tests {
    use super::*;
    use romer_record::calibration::Share;

    #[test]
    fn a_baseline_that_only_one_has_taken_out_is_told_with_how_much_it_is() {
        let share =
            |baseline_ns| Share { baseline_ns, median_ns: 0.0, uncertainty_ns: 0.0, greatest_ns: 0.0 };
        let of = |subtracted| Calibration {
            baseline_ns: Some(18_700.0),
            subtracted,
            forward: Some(share(9_000.0)),
            ..Calibration::default()
        };
        let (with, without) = (of(true), of(false));
        let (with, without) = (Some(&with), Some(&without));
        let ways = [Way::Forward, Way::RoundTrip];
        let said = subtracted(without, with, &ways).unwrap().replace(NO_BREAK, " ");
        assert!(said.contains("of the delays of B (--subtract-baseline) and not of those of A"), "{said}");
        assert!(said.contains("(forward 9.00 µs, round trip 18.7 µs)"), "{said}");
        assert!(subtracted(with, None, &ways).unwrap().contains("delays of A"));
        assert_eq!(subtracted(with, with, &ways), None);
        assert_eq!(subtracted(with, without, &[Way::Reverse]), None);
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
        for text in ["", "delay_ns", "delay_ns.p98", "loss.mean", "up.delay_ns.p99", "forward"] {
            let why = text.parse::<Figure>().unwrap_err();
            assert!(why.contains("delay_ns.p99") && why.contains("p99_9"), "{text:?}: {why}");
        }
    }

    /// A rating is compared without an interval, which the verdict says with the reason and with what to compare instead.
    #[test]
    fn rating_has_no_interval() {
        let by: Figure = "voice.forward.mos".parse().unwrap();
        let found = ComparedFigure {
            figure: by.path(),
            a: Some(4.4),
            b: Some(4.1),
            difference: Some(-0.3),
            interval: None,
        };
        let (verdict, words) = verdict(Way::Forward, by, Some(&found), None);
        assert_eq!(verdict, Verdict::NotKnown);
        assert!(
            words.starts_with("forward: the MOS of the call of B is 0.30 less. A rating has no interval"),
            "{words}"
        );
        assert!(words.contains("--by loss.ratio"), "{words}");
        for named in ["delay_ns.median", "loss.ratio"] {
            assert!(words.contains(named) && named.parse::<Figure>().is_ok());
        }
    }

    /// Round trips with and without the responder's own time are not compared silently.
    #[test]
    fn responder_time_in_one_is_warned_of() {
        let with = StampPlaces { round_trip_includes_responder: true, ..StampPlaces::default() };
        let without = StampPlaces::default();
        let said = responder_time(&without, &with, &[Way::RoundTrip]).unwrap();
        assert!(
            said.starts_with("the round trips of B contain") && said.contains("those of A do not"),
            "{said}"
        );
        assert_eq!(responder_time(&with, &with, &[Way::RoundTrip]), None);
        assert_eq!(responder_time(&with, &without, &[Way::Forward]), None);
    }

    #[test]
    fn of_what_is_not_compared_nothing_is_said() {
        let kernel = Some(Place::Kernel);
        let a =
            StampPlaces { sender_departure: kernel, responder_departure: kernel, ..StampPlaces::default() };
        let b = StampPlaces { sender_departure: kernel, ..StampPlaces::default() };
        assert_eq!(places(&a, &b, &[Way::Forward]), None);
        for ways in [&[Way::Forward, Way::Reverse][..], &[Way::RoundTrip]] {
            let said = places(&a, &b, ways).unwrap();
            assert!(said.contains("(departure there by kernel and by a place not told)"), "{said}");
        }
        let words = |text: &str| text.parse::<Figure>().unwrap().words();
        assert_eq!(words("forward.delay_ns.median"), "median delay");
        assert_eq!(words("jitter_ns.delay_difference.p99_9"), "99.9th percentile of the |IPDV|");
        assert_eq!(words("loss.ratio"), "share of lost packets");
    }

    #[test]
    fn intervals_of_both_make_one_of_the_difference() {
        let [low, high] = stated((10.0, 15.0), Some([7.0, 13.0]), Some([11.0, 19.0])).unwrap();
        assert!((low - 0.0).abs() < 1e-12 && (high - 10.0).abs() < 1e-12, "5 +- hypot(3, 4): {low} {high}");
        assert_eq!(stated((1.0, 2.0), None, Some([1.0, 3.0])), None);
    }
}

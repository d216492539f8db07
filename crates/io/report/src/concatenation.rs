//! Two networks in series: what their delays add up to, and whether a third measurement, of both in series, agrees.

use romer_metrics::bootstrap::{SEED, Statistic};
use romer_metrics::concatenation::{FEWEST, RESAMPLES, Sums, independence};
use romer_metrics::{delays, ipdv, received, summary};
use romer_record::OneWaySingleton;
use romer_record::comparison::ComparedRun;
use romer_record::concatenation::{
    AddedQuantity, CONCATENATION, ConcatenatedDirection, ConcatenatedFigure, Concatenation, DistributionTest,
    Independence,
};
use romer_record::document::{DelayKind, Summary};
use romer_record::warning::ConcatenationWarning;

use crate::comparison::{Subject, side};
use crate::escape;
use crate::number::{NO_BREAK, capital, time};
use crate::sentence::Text as _;
use crate::table::MeasuredPath;
use crate::text::{TextStyle, wrap};

/// A direction has so many delays at least.
pub const LEAST: usize = FEWEST;
/// The figures that are shown.
const FIGURES: [(&str, Statistic); 4] = [
    ("mean", Statistic::Mean),
    ("median", Statistic::Quantile(0.5)),
    ("p95", Statistic::Quantile(0.95)),
    ("p99", Statistic::Quantile(0.99)),
];
/// Below this probability a test says no.
const LEVEL: f64 = 0.05;
/// And below this one it leaves no doubt.
const SURELY: f64 = 0.001;
/// The widest that prose is set.
const WIDEST: usize = 110;

/// Adds the delays, or the delay variation, of `a` and `b`, and compares the sums with `measured`. Directions are those that all
/// have, with their packets; `None` where there are none.
pub fn concatenate(
    a: &Subject<'_>,
    b: &Subject<'_>,
    measured: Option<&Subject<'_>>,
    quantity: AddedQuantity,
) -> Option<Concatenation> {
    let directions: Vec<ConcatenatedDirection> =
        MeasuredPath::ALL.into_iter().filter_map(|way| direction(way, a, b, measured, quantity)).collect();
    if directions.is_empty() {
        return None;
    }
    let mut warnings = Vec::new();
    if directions.iter().any(|direction| direction.delay_kind == DelayKind::Variable) {
        warnings.push(ConcatenationWarning::DelaysRelative);
    }
    if directions.iter().all(|direction| direction.independence.is_none()) {
        warnings.push(ConcatenationWarning::IndependenceAssumed);
    }
    Some(Concatenation {
        schema: CONCATENATION.into(),
        a: side(a),
        b: side(b),
        measured: measured.map(side),
        quantity,
        method: format!(
            "A + B is the convolution of the two samples. Independence: rank correlation of packets sent at the same time. \
             Distributions: Kolmogorov-Smirnov. Intervals: 95 %, moving-block bootstrap with {RESAMPLES} resamples (Künsch 1989; \
             Politis and White 2004)"
        ),
        seed: SEED.0.map(|part| part.wrapping_add(104)),
        directions,
        warnings,
    })
}

fn direction(
    way: MeasuredPath,
    a: &Subject<'_>,
    b: &Subject<'_>,
    c: Option<&Subject<'_>>,
    quantity: AddedQuantity,
) -> Option<ConcatenatedDirection> {
    let all: Vec<&Subject<'_>> = [Some(a), Some(b), c].into_iter().flatten().collect();
    // A difference of delays does not depend on the offset of the clocks.
    let absolute = quantity == AddedQuantity::Ipdv
        || all.iter().all(|one| way.results(one.stream.measurement).delay_kind == Some(DelayKind::Absolute));
    let values = |one: &Subject<'_>| -> Option<Vec<f64>> {
        let singletons = one.stream.singletons?.singletons(way);
        let delays = match quantity {
            AddedQuantity::Delay => delays(singletons),
            AddedQuantity::Ipdv => ipdv(singletons),
        };
        let delays = floats(&delays);
        if delays.len() < FEWEST {
            return None;
        }
        let about = if absolute { 0.0 } else { summary(&delays).median? };
        Some(delays.into_iter().map(|delay| delay - about).collect())
    };
    let (first, second) = (values(a)?, values(b)?);
    let measured = match c {
        Some(one) => Some(values(one)?),
        None => None,
    };
    let sums = Sums::new(&first, &second)?;
    // The median of a sum is not the sum of the medians: what is compared with a sample about its own median is the sum
    // about its own.
    let sums = if absolute { sums } else { sums.about_the_median() };
    // Of delays above the median the median is nothing; of differences the mean is nothing, too.
    let is_shown = |name: &str| match name {
        "mean" => quantity == AddedQuantity::Delay,
        "median" => quantity == AddedQuantity::Delay && absolute,
        _ => true,
    };
    let shown: Vec<(&str, Statistic)> = FIGURES.into_iter().filter(|(name, _)| is_shown(name)).collect();
    let statistics: Vec<Statistic> = shown.iter().map(|figure| figure.1).collect();
    let held = measured.as_ref().and_then(|measured| sums.against(measured, &statistics));
    let measured_delay = measured.as_ref().map(|measured| summary(measured));
    let figures: Vec<ConcatenatedFigure> = shown
        .iter()
        .enumerate()
        .map(|(index, (name, statistic))| {
            let (predicted, interval) = sums.statistic(*statistic);
            let found = measured_delay.as_ref().and_then(|summary| figure_of(summary, name));
            ConcatenatedFigure {
                name: (*name).to_owned(),
                predicted_ns: predicted,
                predicted_interval_ns: interval,
                measured_ns: found,
                difference_ns: found.map(|found| found - predicted),
                difference_interval_ns: held.as_ref().map(|held| held.difference_intervals[index]),
            }
        })
        .collect();
    let independence = together(way, a, b, quantity);
    let test = held.map(|held| DistributionTest {
        distance: held.distance,
        p_value: held.p_value,
        passed: held.p_value >= LEVEL,
    });
    let delay_kind = if absolute { DelayKind::Absolute } else { DelayKind::Variable };
    Some(ConcatenatedDirection {
        direction: way.field().into(),
        delay_kind,
        text: verdict_text((way, quantity), delay_kind, independence.as_ref(), test.as_ref(), &figures),
        independence,
        predicted_delay_ns: sums.summary(),
        measured_delay_ns: measured_delay,
        test,
        figures,
    })
}

fn figure_of(summary: &Summary, name: &str) -> Option<f64> {
    match name {
        "mean" => summary.mean,
        "median" => summary.median,
        "p95" => summary.p95,
        _ => summary.p99,
    }
}

#[expect(clippy::cast_precision_loss, reason = "statistics, not a clock")]
fn floats(values: &[i64]) -> Vec<f64> {
    values.iter().map(|value| *value as f64).collect()
}

/// Delays, or their differences by the later packet, by the moment on the measuring host's clock, in order.
fn by_moment(subject: &Subject<'_>, way: MeasuredPath, quantity: AddedQuantity) -> Option<Vec<(i64, i64)>> {
    let moment = |singleton: &OneWaySingleton| match way {
        MeasuredPath::Reverse => singleton.arrival.map(romer_units::Timestamp::as_nanos),
        MeasuredPath::Forward | MeasuredPath::RoundTrip => {
            singleton.departure.map(romer_units::Timestamp::as_nanos)
        }
    };
    let singletons = subject.stream.singletons?.singletons(way);
    let delay = |singleton: &OneWaySingleton| singleton.delay.map(romer_units::Duration::as_nanos);
    let mut moments: Vec<(i64, i64)> = match quantity {
        AddedQuantity::Delay => received(singletons)
            .filter_map(|singleton| Some((moment(singleton)?, delay(singleton)?)))
            .collect(),
        AddedQuantity::Ipdv => received(singletons)
            .zip(received(singletons).skip(1))
            .filter(|(before, singleton)| before.sequence.checked_add(1) == Some(singleton.sequence))
            .filter_map(|(before, singleton)| {
                Some((moment(singleton)?, delay(singleton)?.saturating_sub(delay(before)?)))
            })
            .collect(),
    };
    moments.sort_unstable();
    Some(moments)
}

/// Whether values at the same moments depend on each other, where both were measured at the same time by one host.
fn together(
    way: MeasuredPath,
    a: &Subject<'_>,
    b: &Subject<'_>,
    quantity: AddedQuantity,
) -> Option<Independence> {
    if a.stream.measurement.metadata.host != b.stream.measurement.metadata.host {
        return None;
    }
    let (first, second) = (by_moment(a, way, quantity)?, by_moment(b, way, quantity)?);
    let interval = |moments: &[(i64, i64)]| {
        let mut gaps: Vec<i64> = moments.windows(2).map(|pair| pair[1].0.saturating_sub(pair[0].0)).collect();
        gaps.sort_unstable();
        gaps.get(gaps.len() / 2).copied().unwrap_or(0)
    };
    let near = interval(&first).max(interval(&second));
    let mut pairs = Vec::new();
    let mut last = None;
    for (at, delay) in &first {
        let place = second.partition_point(|other| other.0 < *at);
        let beside = [place.checked_sub(1), Some(place)].into_iter().flatten();
        let nearest = beside
            .filter(|place| *place < second.len())
            .min_by_key(|place| second[*place].0.saturating_sub(*at).saturating_abs());
        let Some(place) = nearest.filter(|place| Some(*place) != last) else { continue };
        if second[place].0.saturating_sub(*at).saturating_abs() <= near {
            pairs.push((*delay, second[place].1));
            last = Some(place);
        }
    }
    let (one, other): (Vec<i64>, Vec<i64>) = pairs.into_iter().unzip();
    let pairs: Vec<(f64, f64)> = floats(&one).into_iter().zip(floats(&other)).collect();
    let (rank_correlation, p_value) = independence(&pairs)?;
    Some(Independence { pairs: pairs.len() as u64, rank_correlation, p_value, independent: p_value >= LEVEL })
}

/// A probability as prose has it: two digits tell enough of one that says nothing, three of one that does, and of the least
/// only that it is small.
fn probability(p: f64) -> String {
    if p < SURELY {
        "p below 0.001".into()
    } else if p < LEVEL {
        format!("p = {p:.3}")
    } else {
        format!("p = {p:.2}")
    }
}

/// What the values are called, one and several of them.
const fn names(quantity: AddedQuantity) -> [&'static str; 2] {
    match quantity {
        AddedQuantity::Delay => ["delay", "delays"],
        AddedQuantity::Ipdv => ["delay variation", "delay variations"],
    }
}

fn verdict_text(
    (way, quantity): (MeasuredPath, AddedQuantity),
    kind: DelayKind,
    independence: Option<&Independence>,
    test: Option<&DistributionTest>,
    figures: &[ConcatenatedFigure],
) -> String {
    let [one, several] = names(quantity);
    let mut text = match independence {
        Some(found) if found.independent => format!(
            "{}: no significant correlation of the {several} of A and B (rank correlation {:.2}, {}).",
            way.name(),
            found.rank_correlation,
            probability(found.p_value)
        ),
        // So much one in some dozens of independent pairs shows.
        Some(found) if found.p_value >= SURELY => format!(
            "{}: the {several} of A and B may be correlated (rank correlation {:.2}, {}: expected by chance in one of {:.0} \
             independent pairs); if they are, their convolution does not predict the {one} in series.",
            way.name(),
            found.rank_correlation,
            probability(found.p_value),
            1.0 / found.p_value
        ),
        Some(found) => format!(
            "{}: the {several} of A and B are correlated (rank correlation {:.2}, {}), so their convolution does not predict the {one} \
             in series.",
            way.name(),
            found.rank_correlation,
            probability(found.p_value)
        ),
        None => format!("{}: the independence of the {several} of A and B was not tested.", way.name()),
    };
    match test {
        Some(test) if test.passed => {
            let but = beyond(kind, figures).map_or_else(String::new, |but| format!(", but {but}"));
            text.push_str(&format!(
                " C does not differ significantly from the sum A + B (Kolmogorov-Smirnov distance {:.3}, {}){but}.",
                test.distance,
                probability(test.p_value)
            ));
        }
        Some(test) => {
            text.push_str(&format!(
                " C differs from the sum A + B (Kolmogorov-Smirnov distance {:.3}, {}): {}.",
                test.distance,
                probability(test.p_value),
                apart(kind, figures)
            ));
        }
        None => {}
    }
    text
}

/// How two distributions that are not one differ.
fn apart(kind: DelayKind, figures: &[ConcatenatedFigure]) -> String {
    beyond(kind, figures).unwrap_or_else(|| {
        "their shapes differ, though none of the figures below does by more than chance explains".into()
    })
}

/// The figure that differs most for its size, of those of which the interval says that they do: the greatest difference of two
/// distributions tells little of their tails.
fn beyond(kind: DelayKind, figures: &[ConcatenatedFigure]) -> Option<String> {
    let share = |figure: &ConcatenatedFigure| {
        figure.difference_ns.unwrap_or(0.0).abs() / figure.predicted_ns.abs().max(1.0)
    };
    let told = figures
        .iter()
        .filter(|figure| figure.difference_interval_ns.is_some_and(|[low, high]| low > 0.0 || high < 0.0))
        .max_by(|a, b| share(a).total_cmp(&share(b)));
    let (figure, difference, [low, high]) =
        told.and_then(|figure| Some((figure, figure.difference_ns?, figure.difference_interval_ns?)))?;
    let name = match figure.name.as_str() {
        "p95" => "95th percentile",
        "p99" => "99th percentile",
        other => other,
    };
    let of = if kind == DelayKind::Absolute { "" } else { " above the median" };
    let side = if difference < 0.0 { "shorter" } else { "longer" };
    let (least, most) = (low.abs().min(high.abs()), low.abs().max(high.abs()));
    Some(format!(
        "the {name}{of} is {} {side} (95{NO_BREAK}%: {} to {})",
        time(difference.abs(), true),
        time(least, true),
        time(most, true)
    ))
}

/// A concatenation for a terminal. The text ends with a newline; what came from outside is escaped.
pub fn text(found: &Concatenation, style: &TextStyle) -> String {
    let width = style.width.clamp(40, WIDEST);
    let plain = |text: String| if style.unicode { text } else { text.replace('µ', "u") };
    let mut lines = Vec::new();
    for (letter, side) in [("A", Some(&found.a)), ("B", Some(&found.b)), ("C", found.measured.as_ref())] {
        lines.extend(side.into_iter().flat_map(|side: &ComparedRun| {
            let line = if side.target == side.name {
                format!("{letter}  {}", side.name)
            } else {
                format!("{letter}  {}, {}", side.name, side.target)
            };
            wrap(&escape::terminal(&line), width)
        }));
    }
    for direction in &found.directions {
        lines.push(String::new());
        lines.extend(wrap(&plain(capital(&direction.text)), width));
        let shown = |value: f64| plain(time(value, true));
        let mut rows =
            vec![["", "A + B", "95 % from", "to", "C", "C - (A + B)", "95 % from", "to"].map(String::from)];
        rows.extend(direction.figures.iter().map(|figure| {
            let maybe = |value: Option<f64>| value.map_or_else(String::new, shown);
            [
                figure.name.clone(),
                shown(figure.predicted_ns),
                shown(figure.predicted_interval_ns[0]),
                shown(figure.predicted_interval_ns[1]),
                maybe(figure.measured_ns),
                maybe(figure.difference_ns),
                maybe(figure.difference_interval_ns.map(|interval| interval[0])),
                maybe(figure.difference_interval_ns.map(|interval| interval[1])),
            ]
        }));
        let columns = if found.measured.is_some() { 8 } else { 4 };
        let widths: Vec<usize> = (0..columns)
            .map(|column| rows.iter().map(|row| row[column].chars().count()).max().unwrap_or(0))
            .collect();
        for row in &rows {
            let cells = row.iter().zip(&widths).enumerate().map(|(column, (cell, width))| {
                let room = " ".repeat(width.saturating_sub(cell.chars().count()));
                if column == 0 { format!("{cell}{room}") } else { format!("  {room}{cell}") }
            });
            lines.push(
                cells.collect::<String>().chars().take(width).collect::<String>().trim_end().to_owned(),
            );
        }
    }
    lines.push(String::new());
    for warning in &found.warnings {
        lines.extend(wrap(&escape::terminal(&format!("Note: {}.", warning.text())), width));
    }
    lines.extend(wrap(&format!("Method: {}.", found.method), width));
    let mut text = lines.join("\n").replace(NO_BREAK, " ");
    text.push('\n');
    text
}

#[cfg(test)]
mod tests {
    use super::{MeasuredPath, apart, probability, verdict_text};
    use romer_record::concatenation::{AddedQuantity, ConcatenatedFigure, DistributionTest, Independence};
    use romer_record::document::DelayKind;

    const FORWARD: (MeasuredPath, AddedQuantity) = (MeasuredPath::Forward, AddedQuantity::Delay);

    #[test]
    fn dependence_that_chance_makes_now_and_then_is_told_as_a_doubt() {
        let said = |p_value| {
            let found =
                Independence { pairs: 500, rank_correlation: 0.04, p_value, independent: p_value >= 0.05 };
            verdict_text(FORWARD, DelayKind::Variable, Some(&found), None, &[])
        };
        assert!(said(0.3).contains("no significant correlation"), "{}", said(0.3));
        assert!(said(0.021).contains("may be correlated"), "{}", said(0.021));
        assert!(said(0.021).contains("in one of 48"), "{}", said(0.021));
        assert!(said(1e-5).contains("A and B are correlated"), "{}", said(1e-5));
    }

    #[test]
    fn only_a_figure_that_differs_by_its_interval_is_said_to_differ() {
        let figure = |name: &str, difference: f64, interval: [f64; 2]| ConcatenatedFigure {
            name: name.into(),
            predicted_ns: 10e6,
            predicted_interval_ns: [9e6, 11e6],
            measured_ns: Some(10e6 + difference),
            difference_ns: Some(difference),
            difference_interval_ns: Some(interval),
        };
        let unsure = figure("p95", -342e3, [-1e6, 326e3]);
        let sure = figure("mean", 120e3, [30e3, 210e3]);
        let say = |kind, figures: &[ConcatenatedFigure]| apart(kind, figures).replace('\u{a0}', " ");
        assert_eq!(
            say(DelayKind::Variable, std::slice::from_ref(&unsure)),
            "their shapes differ, though none of the figures below does by more than chance explains"
        );
        assert_eq!(
            say(DelayKind::Variable, &[unsure, sure.clone()]),
            "the mean above the median is 120 µs longer (95 %: 30.0 µs to 210 µs)"
        );
        assert_eq!(
            say(DelayKind::Absolute, &[figure("p95", -342e3, [-1e6, -26e3]), sure]),
            "the 95th percentile is 342 µs shorter (95 %: 26.0 µs to 1.00 ms)"
        );
    }

    #[test]
    fn a_tail_that_differs_is_told_beside_distributions_that_do_not() {
        let figure = |name: &str, interval: [f64; 2]| ConcatenatedFigure {
            name: name.into(),
            predicted_ns: 3.7e6,
            predicted_interval_ns: [3.5e6, 3.9e6],
            measured_ns: Some(4.2e6),
            difference_ns: Some(524e3),
            difference_interval_ns: Some(interval),
        };
        let test = DistributionTest { distance: 0.03, p_value: 0.17, passed: true };
        let say = |interval| {
            let figures = [figure("p95", interval)];
            verdict_text(FORWARD, DelayKind::Variable, None, Some(&test), &figures).replace('\u{a0}', " ")
        };
        assert!(
            say([141e3, 988e3]).ends_with(
                "(Kolmogorov-Smirnov distance 0.030, p = 0.17), but the 95th percentile above the median is 524 µs longer (95 %: 141 µs to \
                 988 µs)."
            ),
            "{}",
            say([141e3, 988e3])
        );
        assert!(say([-141e3, 988e3]).ends_with("p = 0.17)."), "{}", say([-141e3, 988e3]));
    }

    #[test]
    fn a_probability_is_a_plain_number_and_the_least_is_a_bound() {
        let shown = [0.0, 1.0e-9, 0.001, 0.0499, 0.05, 0.437, 1.0].map(probability);
        assert_eq!(
            shown,
            ["p below 0.001", "p below 0.001", "p = 0.001", "p = 0.050", "p = 0.05", "p = 0.44", "p = 1.00"]
        );
    }
}

//! The verdict on one direction, and the sentence that leads with it.

use romer_record::comparison::{ComparedFigure, ComparisonVerdict};

use super::figure::{Figure, FigureUnit, Series};
use super::text;
use crate::number::NO_BREAK;

/// The verdict by one figure.
pub(super) fn verdict(main: Option<&ComparedFigure>) -> ComparisonVerdict {
    match main.and_then(|main| main.interval) {
        None => ComparisonVerdict::NotKnown,
        Some([low, _]) if low > 0.0 => ComparisonVerdict::More,
        Some([_, high]) if high < 0.0 => ComparisonVerdict::Less,
        Some(_) => ComparisonVerdict::NoneShown,
    }
}

/// How much farther than its 95 % interval reaches a difference is from 0, where it is one of six in its direction: 2.64 standard
/// deviations instead of 1.96, so that by chance one direction in twenty has such a one (Bonferroni).
pub(super) const CLEAR: f64 = 1.35;

/// Whether a difference that is one of several differs clearly.
fn is_clear(compared: &ComparedFigure) -> bool {
    let Some((difference, [low, high])) = compared.difference.zip(compared.interval) else { return false };
    difference > CLEAR * (difference - low) || -difference > CLEAR * (high - difference)
}

/// The metrics of one direction, by what their intervals show.
struct Differences<'a> {
    /// Those that differ clearly. That of `by` is the first, if its interval excludes 0.
    clear: Vec<(Figure, &'a ComparedFigure)>,
    /// Those with an interval that do not differ clearly, without `by`.
    not_significant: Vec<Figure>,
    /// Those with a difference and no interval, without `by`. Ratings are left out: they never have one.
    without_interval: Vec<(Figure, f64)>,
}

impl<'a> Differences<'a> {
    fn new(by: Figure, figures: &'a [(Figure, ComparedFigure)]) -> Self {
        let mut found = Self { clear: Vec::new(), not_significant: Vec::new(), without_interval: Vec::new() };
        for (figure, compared) in figures {
            let is_by = figure.path() == by.path();
            match (compared.difference, verdict(Some(compared))) {
                (Some(_), ComparisonVerdict::More | ComparisonVerdict::Less)
                    if is_by || is_clear(compared) =>
                {
                    let place = if is_by { 0 } else { found.clear.len() };
                    found.clear.insert(place, (*figure, compared));
                }
                (
                    Some(_),
                    ComparisonVerdict::More | ComparisonVerdict::Less | ComparisonVerdict::NoneShown,
                ) if !is_by => {
                    found.not_significant.push(*figure);
                }
                (Some(difference), ComparisonVerdict::NotKnown)
                    if !is_by && difference.abs() > 0.0 && figure.unit() != FigureUnit::Score =>
                {
                    found.without_interval.push((*figure, difference));
                }
                _ => {}
            }
        }
        found
    }

    /// The differences in one word. `None` where none of them is an improvement or the opposite.
    fn word(&self) -> Option<&'static str> {
        let better: Vec<bool> =
            self.clear.iter().filter_map(|(figure, found)| figure.is_better(found.difference?)).collect();
        match (better.contains(&true), better.contains(&false)) {
            (true, false) => Some("improved"),
            (false, true) => Some("worse"),
            (true, true) => Some("mixed"),
            (false, false) => None,
        }
    }
}

/// The verdict and the differences behind it, to follow the name of a direction.
pub(super) fn sentence(
    by: Figure,
    verdict: ComparisonVerdict,
    main: Option<&ComparedFigure>,
    figures: &[(Figure, ComparedFigure)],
    has_packets: bool,
) -> String {
    let found = Differences::new(by, figures);
    let name = by.text();
    let of_main = main.and_then(|main| Some((main.difference?, main.interval)));
    let mut parts: Vec<String> = Vec::new();
    for (figure, compared) in &found.clear {
        if let Some((difference, interval)) = compared.difference.zip(compared.interval) {
            parts.push(format!(
                "{} {}",
                figure.text(),
                signed(*figure, difference, interval, parts.is_empty())
            ));
        }
    }
    let mut not_significant: Vec<String> = Vec::new();
    match (verdict, of_main) {
        (ComparisonVerdict::More | ComparisonVerdict::Less, _) => {}
        (_, Some((difference, Some(interval)))) => {
            let difference = format!("{name} {}", signed(by, difference, interval, parts.is_empty()));
            let list = if parts.is_empty() { &mut parts } else { &mut not_significant };
            list.push(difference);
        }
        (_, Some((difference, None))) => {
            parts.push(format!("{name} {} ({})", size(by, difference), no_interval(by, has_packets)));
        }
        (_, None) => parts.push(format!("{name} not known of both")),
    }
    if !found.clear.is_empty() {
        not_significant.extend(found.not_significant.iter().map(|figure| figure.text()));
    }
    if !not_significant.is_empty() {
        parts.push(format!("not significant: {}", not_significant.join(", ")));
    }
    if !found.without_interval.is_empty() {
        let each: Vec<String> = found
            .without_interval
            .iter()
            .map(|(figure, difference)| format!("{} {}", figure.text(), size(*figure, *difference)))
            .collect();
        parts.push(format!("inconclusive (no interval): {}", each.join(", ")));
    }
    let word = found.word().unwrap_or(match verdict {
        ComparisonVerdict::NoneShown => "without significant difference",
        ComparisonVerdict::NotKnown => "inconclusive",
        ComparisonVerdict::More | ComparisonVerdict::Less => "changed",
    });
    format!("{word}: {}.", parts.join("; "))
}

/// Why a figure has no interval.
fn no_interval(by: Figure, has_packets: bool) -> &'static str {
    match by.series {
        Series::R | Series::Mos => {
            "no interval for a rating: compare --by delay_ns.median and --by loss.ratio"
        }
        _ if has_packets => "no interval: too few independent or distinct values; measure longer",
        _ => "no interval: the packets are not available, only a document",
    }
}

fn size(figure: Figure, difference: f64) -> String {
    text::signed(difference, figure.unit(), true)
}

/// A difference with its interval, which is named where it is the first.
fn signed(by: Figure, value: f64, interval: [f64; 2], is_first: bool) -> String {
    let [value, low, high] = text::with_interval(value, interval, by.unit(), true);
    let name = if is_first { format!("95{NO_BREAK}%{NO_BREAK}CI ") } else { String::new() };
    format!("{value} ({name}{low} to {high})")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn figure(by: Figure, difference: f64, interval: Option<[f64; 2]>) -> (Figure, ComparedFigure) {
        let found = ComparedFigure {
            figure: by.path(),
            a: Some(1.0),
            b: Some(1.0 + difference),
            difference: Some(difference),
            interval,
        };
        (by, found)
    }

    fn said(by: &str, figures: &[(&str, f64, Option<[f64; 2]>)], has_packets: bool) -> String {
        let by: Figure = by.parse().unwrap();
        let figures: Vec<_> = figures
            .iter()
            .map(|(path, difference, interval)| figure(path.parse().unwrap(), *difference, *interval))
            .collect();
        let main = figures.iter().find(|(one, _)| one.path() == by.path()).map(|(_, found)| found);
        sentence(by, verdict(main), main, &figures, has_packets).replace(NO_BREAK, " ")
    }

    /// The verdict leads: a word, the differences that count, and what remains open.
    #[test]
    fn verdict_leads() {
        let median = ("delay_ns.median", -3.2e6, Some([-3.27e6, -3.11e6]));
        let loss = ("loss.ratio", -0.003, Some([-0.004, -0.002]));
        let p99 = ("delay_ns.p99", -2e6, Some([-5e6, 1e6]));
        assert_eq!(
            said("delay_ns.median", &[median, p99, loss], true),
            "improved: median delay -3.20 ms (95 % CI -3.27 ms to -3.11 ms); loss -0.30 pp (-0.40 pp to -0.20 pp); not \
             significant: p99 delay."
        );
        let more = ("loss.ratio", 0.003, Some([0.002, 0.004]));
        assert!(said("delay_ns.median", &[median, more], true).starts_with("mixed: median delay"));
        assert!(said("loss.ratio", &[median, more], true).starts_with("mixed: loss +0.30 pp"));
        assert!(said("loss.ratio", &[more], true).starts_with("worse: loss +0.30 pp"));
        assert!(
            said("delay_ns.p99", &[p99], true)
                .starts_with("without significant difference: p99 delay -2.00 ms (95 %")
        );
        let gap = ("inter_arrival_ns.mean", 2e6, Some([1e6, 3e6]));
        assert!(
            said("inter_arrival_ns.mean", &[gap], true).starts_with("changed: mean time between arrivals")
        );
    }

    /// The metric of the verdict is named if its interval excludes 0, and each other that is clearly beyond it.
    #[test]
    fn every_clear_difference_is_named() {
        let figures = [
            ("delay_ns.mean", 1e6, Some([-103e3, 1.97e6])),
            ("delay_ns.median", 1.9906e6, Some([1.9871e6, 1.9941e6])),
            ("delay_ns.p95", 1.45e6, Some([2e5, 3.12e6])),
            ("jitter_ns.delay_difference.mean", -332e3, Some([-600e3, -1e3])),
            ("loss.ratio", 0.0067, Some([0.0019, 0.0114])),
        ];
        assert_eq!(
            said("delay_ns.median", &figures, true),
            "worse: median delay +1.991 ms (95 % CI +1.987 ms to +1.994 ms); loss +0.67 pp (+0.19 pp to +1.14 pp); not \
             significant: mean delay, p95 delay, mean |IPDV|."
        );
    }

    /// Metrics without an interval are inconclusive, also beside a verdict. Those with an interval are not.
    #[test]
    fn metrics_without_interval_are_inconclusive() {
        let median = ("delay_ns.median", 294e3, Some([-1e6, 2e6]));
        let loss = ("loss.ratio", -0.0167, None);
        assert_eq!(
            said("delay_ns.median", &[median, loss, ("voice.forward.mos", 0.1, None)], true),
            "without significant difference: median delay +294 µs (95 % CI -1.00 ms to +2.00 ms); inconclusive (no \
             interval): loss -1.67 pp."
        );
        let none = ("loss.ratio", 0.0, None);
        assert!(!said("delay_ns.median", &[median, none], true).contains("inconclusive"));
    }

    /// A missing interval is stated with its reason, and for a rating with the metrics to compare instead.
    #[test]
    fn missing_interval_has_reason() {
        let mos = said("voice.forward.mos", &[("voice.forward.mos", -0.3, None)], true);
        assert!(mos.starts_with("inconclusive: MOS -0.30 (no interval for a rating"), "{mos}");
        for named in ["delay_ns.median", "loss.ratio"] {
            assert!(mos.contains(named) && named.parse::<Figure>().is_ok());
        }
        let few = [("delay_ns.p99", 2e6, None)];
        assert!(
            said("delay_ns.p99", &few, true).contains("(no interval: too few independent or distinct values")
        );
        assert!(said("delay_ns.p99", &few, false).contains("(no interval: the packets are not available"));
    }
}

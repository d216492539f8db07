//! The verdict on one direction, and the sentence that leads with it.

use romer_record::comparison::{ComparedFigure, ComparisonVerdict};

use super::figure::{Figure, FigureUnit, Series};
use super::text;
use crate::number::NO_BREAK;

/// How much farther than its 95 % interval reaches a difference is from 0, where it is one of six in its direction: 2.64 standard
/// deviations instead of 1.96, so that by chance one direction in twenty has such a one (Bonferroni).
pub(super) const CLEAR: f64 = 1.35;

/// What the interval of a figure shows.
#[derive(Clone, Copy, PartialEq)]
enum Shown {
    /// The interval excludes 0; the change is better, worse or neither.
    Change(Option<bool>),
    /// The interval includes 0.
    NotSignificant,
    /// There is no interval.
    NoInterval,
}

impl Shown {
    /// `reach` is how many times as wide as the 95 % interval the excluding one is.
    fn new(figure: Figure, compared: &ComparedFigure, reach: f64) -> Self {
        match compared.difference.zip(compared.interval) {
            None => Self::NoInterval,
            Some((difference, [low, high]))
                if difference > reach * (difference - low) || -difference > reach * (high - difference) =>
            {
                Self::Change(figure.is_better(difference))
            }
            Some(_) => Self::NotSignificant,
        }
    }
    fn verdict(self) -> ComparisonVerdict {
        match self {
            Self::Change(Some(true)) => ComparisonVerdict::Improved,
            Self::Change(Some(false)) => ComparisonVerdict::Worse,
            Self::Change(None) => ComparisonVerdict::Changed,
            Self::NotSignificant => ComparisonVerdict::NotSignificant,
            Self::NoInterval => ComparisonVerdict::Inconclusive,
        }
    }
}

/// A verdict in words.
pub(super) const fn word(verdict: ComparisonVerdict) -> &'static str {
    match verdict {
        ComparisonVerdict::Improved => "improved",
        ComparisonVerdict::Worse => "worse",
        ComparisonVerdict::Mixed => "mixed",
        ComparisonVerdict::Changed => "changed",
        ComparisonVerdict::NotSignificant => "no significant difference",
        ComparisonVerdict::Inconclusive => "inconclusive",
    }
}

/// Which metrics decide a verdict.
#[derive(Clone, Copy)]
pub(super) enum Decisive {
    /// This one alone.
    Only(Figure),
    /// All that differ clearly; this one is named first, and needs only its 95 % interval.
    AllLedBy(Figure),
}

impl Decisive {
    pub(super) fn leading(self) -> Figure {
        match self {
            Self::Only(figure) | Self::AllLedBy(figure) => figure,
        }
    }
}

/// The verdict on a direction, and the sentence of it, to follow the name of the direction.
pub(super) fn judge(
    decisive: Decisive,
    figures: &[(Figure, ComparedFigure)],
    has_packets: bool,
) -> (ComparisonVerdict, String) {
    let leading = decisive.leading();
    let is_leading = |figure: &Figure| figure.path() == leading.path();
    let main = figures.iter().find(|(figure, _)| is_leading(figure));
    let of_main = main.map_or(Shown::NoInterval, |(figure, compared)| Shown::new(*figure, compared, 1.0));
    let others = figures.iter().filter(|(figure, _)| !is_leading(figure));
    let others: Vec<(Figure, &ComparedFigure, Shown)> =
        others.map(|(figure, compared)| (*figure, compared, Shown::new(*figure, compared, CLEAR))).collect();
    let clear: Vec<_> = others.iter().filter(|(.., shown)| matches!(shown, Shown::Change(_))).collect();
    let verdict = match decisive {
        Decisive::Only(_) => of_main.verdict(),
        Decisive::AllLedBy(_) => combined(of_main, clear.iter().map(|(.., shown)| *shown)),
    };
    let is_main_first =
        matches!((decisive, of_main), (Decisive::Only(_), _) | (_, Shown::Change(_))) || clear.is_empty();
    let mut parts: Vec<String> = Vec::new();
    if is_main_first {
        parts.push(leading_part(leading, main.map(|(_, compared)| compared), has_packets));
    }
    let mut also = None;
    for (figure, compared, shown) in clear {
        let Some((difference, interval)) = compared.difference.zip(compared.interval) else { continue };
        let difference =
            format!("{} {}", figure.text(), signed(*figure, difference, interval, parts.is_empty()));
        parts.push(match decisive {
            Decisive::Only(_) if also != Some(*shown) => {
                also = Some(*shown);
                format!("also {}: {difference}", word(shown.verdict()))
            }
            _ => difference,
        });
    }
    // Ratings never have an interval.
    let open = others.iter().filter(|(figure, compared, shown)| {
        let differs = compared.difference.is_some_and(|difference| difference.abs() > 0.0);
        *shown == Shown::NoInterval && differs && figure.unit() != FigureUnit::Score
    });
    let mut open: Vec<String> = open.map(|(figure, ..)| figure.text()).collect();
    if !is_main_first && of_main == Shown::NoInterval {
        match main.and_then(|(_, compared)| compared.difference) {
            Some(_) => open.insert(0, leading.text()),
            None => parts.push(leading_part(leading, main.map(|(_, compared)| compared), has_packets)),
        }
    }
    if !open.is_empty() {
        parts.push(format!("no interval: {}", open.join(", ")));
    }
    let word = match verdict {
        ComparisonVerdict::NotSignificant => "without significant difference",
        verdict => word(verdict),
    };
    (verdict, format!("{word}: {}.", parts.join("; ")))
}

/// The verdict by several metrics.
fn combined(leading: Shown, others: impl Iterator<Item = Shown>) -> ComparisonVerdict {
    let all: Vec<Shown> = std::iter::once(leading).chain(others).collect();
    let has = |better: bool| all.contains(&Shown::Change(Some(better)));
    match (has(true), has(false)) {
        (true, false) => ComparisonVerdict::Improved,
        (false, true) => ComparisonVerdict::Worse,
        (true, true) => ComparisonVerdict::Mixed,
        (false, false) if all.contains(&Shown::Change(None)) => ComparisonVerdict::Changed,
        (false, false) => leading.verdict(),
    }
}

/// The leading metric and its difference.
fn leading_part(leading: Figure, main: Option<&ComparedFigure>, has_packets: bool) -> String {
    let name = leading.text();
    match main.map(|main| (main.difference, main.interval, main.a.is_some())) {
        Some((Some(difference), Some(interval), _)) => {
            format!("{name} {}", signed(leading, difference, interval, true))
        }
        Some((Some(difference), None, _)) => {
            let difference = text::signed(difference, leading.unit(), true);
            format!("{name} {difference} ({})", no_interval(leading, has_packets))
        }
        Some((None, _, true)) => format!("B has no {name}"),
        Some((None, _, false)) => format!("A has no {name}"),
        None => format!("neither run has a {name}"),
    }
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

    fn all(figures: &[(&str, f64, Option<[f64; 2]>)], has_packets: bool) -> String {
        judged(Decisive::AllLedBy("delay_ns.median".parse().unwrap()), figures, has_packets)
    }

    fn only(by: &str, figures: &[(&str, f64, Option<[f64; 2]>)]) -> String {
        judged(Decisive::Only(by.parse().unwrap()), figures, true)
    }

    fn judged(decisive: Decisive, figures: &[(&str, f64, Option<[f64; 2]>)], has_packets: bool) -> String {
        let figures: Vec<_> = figures
            .iter()
            .map(|(path, difference, interval)| figure(path.parse().unwrap(), *difference, *interval))
            .collect();
        judge(decisive, &figures, has_packets).1.replace(NO_BREAK, " ")
    }

    /// The verdict leads: a word, and the differences that count.
    #[test]
    fn verdict_leads() {
        let median = ("delay_ns.median", -3.2e6, Some([-3.27e6, -3.11e6]));
        let loss = ("loss.ratio", -0.003, Some([-0.004, -0.002]));
        let p99 = ("delay_ns.p99", -2e6, Some([-5e6, 1e6]));
        assert_eq!(
            all(&[median, p99, loss], true),
            "improved: median delay -3.20 ms (95 % CI -3.27 ms to -3.11 ms); loss -0.30 pp (-0.40 pp to -0.20 pp)."
        );
        let more = ("loss.ratio", 0.003, Some([0.002, 0.004]));
        assert!(all(&[median, more], true).starts_with("mixed: median delay"));
        assert!(all(&[more], true).starts_with("worse: loss +0.30 pp (95 % CI"));
    }

    /// The metric of `--by` decides alone; the others that differ clearly follow with verdicts of their own.
    #[test]
    fn by_decides_alone() {
        let median = ("delay_ns.median", -3.2e6, Some([-3.27e6, -3.11e6]));
        let loss = ("loss.ratio", 0.003, Some([0.002, 0.004]));
        let p99 = ("delay_ns.p99", 2e6, None);
        assert_eq!(
            only("loss.ratio", &[median, loss]),
            "worse: loss +0.30 pp (95 % CI +0.20 pp to +0.40 pp); also improved: median delay -3.20 ms (-3.27 ms to \
             -3.11 ms)."
        );
        assert_eq!(
            only("delay_ns.p99", &[median, p99]),
            "inconclusive: p99 delay +2.00 ms (no interval: too few independent or distinct values; measure longer); \
             also improved: median delay -3.20 ms (-3.27 ms to -3.11 ms)."
        );
        let open = ("delay_ns.p99", -2e6, Some([-5e6, 1e6]));
        assert!(
            only("delay_ns.p99", &[median, open])
                .starts_with("without significant difference: p99 delay -2.00 ms (95 %")
        );
        let gap = ("inter_arrival_ns.mean", 2e6, Some([1e6, 3e6]));
        assert!(only("inter_arrival_ns.mean", &[gap]).starts_with("changed: mean time between arrivals"));
        assert_eq!(only("voice.mos", &[]), "inconclusive: neither run has a MOS.");
    }

    /// The leading metric counts if its interval excludes 0, and each other that is clearly beyond it.
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
            all(&figures, true),
            "worse: median delay +1.991 ms (95 % CI +1.987 ms to +1.994 ms); loss +0.67 pp (+0.19 pp to +1.14 pp)."
        );
    }

    /// Metrics without an interval are named, also beside a verdict. Ratings never have one.
    #[test]
    fn metrics_without_interval_are_named() {
        let median = ("delay_ns.median", 294e3, Some([-1e6, 2e6]));
        let loss = ("loss.ratio", -0.0167, None);
        assert_eq!(
            all(&[median, loss, ("voice.forward.mos", 0.1, None)], true),
            "without significant difference: median delay +294 µs (95 % CI -1.00 ms to +2.00 ms); no interval: loss."
        );
        let none = ("loss.ratio", 0.0, None);
        assert!(!all(&[median, none], true).contains("no interval"));
        let clear = ("loss.ratio", 0.003, Some([0.002, 0.004]));
        assert!(
            all(&[("delay_ns.median", 1.0, None), clear], true).ends_with("; no interval: median delay.")
        );
    }

    /// A missing interval is stated with its reason, and for a rating with the metrics to compare instead.
    #[test]
    fn missing_interval_has_reason() {
        let mos = only("voice.forward.mos", &[("voice.forward.mos", -0.3, None)]);
        assert!(mos.starts_with("inconclusive: MOS -0.30 (no interval for a rating"), "{mos}");
        for named in ["delay_ns.median", "loss.ratio"] {
            assert!(mos.contains(named) && named.parse::<Figure>().is_ok());
        }
        let few = [("delay_ns.median", 2e6, None)];
        assert!(all(&few, true).contains("(no interval: too few independent or distinct values"));
        assert!(all(&few, false).contains("(no interval: the packets are not available"));
    }
}

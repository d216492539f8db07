//! Lines over an axis, as SVG.

use std::fmt::Write as _;

use romer_units::Duration;

use crate::escape::markup;
use crate::number::three_digits;

/// A figure of its own, as SVG, with the name that its file may have.
pub struct Drawn {
    /// Lower-case letters, digits and hyphens.
    pub name: String,
    /// What it shows.
    pub title: String,
    /// Of what it is, as `More figures of case none`.
    pub of: String,
    /// It stands among the first of the page.
    pub leads: bool,
    /// The figure, for a page that shows its title.
    pub svg: String,
    /// The same with its title in it.
    pub alone: String,
}

/// A point, with the range that is known of it.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Mark {
    pub(super) x: f64,
    pub(super) y: f64,
    pub(super) range: Option<[f64; 2]>,
}

/// A line with its name.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Series {
    pub(super) name: String,
    pub(super) points: Vec<Mark>,
    pub(super) dashed: bool,
    /// It has the colour of the one before it.
    pub(super) twin: bool,
}

/// A figure.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct BenchmarkFigure {
    pub(super) title: String,
    pub(super) x: String,
    pub(super) y: String,
    pub(super) series: Vec<Series>,
    pub(super) manner: Manner,
}

/// How a figure's series are drawn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Manner {
    /// Each at its places, joined.
    Lines,
    /// Joined, and a little beside one another, so that each interval is seen where they have the same places.
    SideBySide,
    /// Each point a bar over its range, which the axis has room for, and not joined.
    Bars,
}

/// Between two series that are drawn side by side, and between the first and the last of them at the most.
const BESIDE_ANOTHER: f64 = 5.0;
const MOST_BESIDE: f64 = 24.0;

/// Colours that people who see colours otherwise tell apart (Okabe and Ito).
const COLOURS: [&str; 8] =
    ["#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#7a5195", "#000000"];
/// Where they begin again, lines differ by their dashes, and their points by their shape.
const DASHES: [&str; 4] = ["", "2 3", "10 3 2 3", "12 4"];
/// Dashes of what is no line of its own but one that another is held against.
const AGAINST: [&str; 2] = ["6 4", "6 4 1 4"];
const WIDTH: f64 = 720.0;
const HEIGHT: f64 = 360.0;
const LEFT: f64 = 80.0;
/// Room for the legend; where a name is longer, the figure has more.
const RIGHT: f64 = 190.0;
/// Of it, what is beside a name, and what a letter takes.
const LEGEND_MARGIN: f64 = 42.0;
const LETTER: f64 = 6.5;
/// The longest name.
const MAX_LEGEND_CHARS: usize = 48;
const TOP: f64 = 12.0;
const BOTTOM: f64 = 46.0;
/// Above a figure that has its title in it.
const TITLE: f64 = 24.0;

/// A value with three digits and the unit of its axis.
fn with_unit(value: f64, axis: &str) -> String {
    match axis.rsplit_once(", ") {
        Some((_, "µs")) => Duration::from_nanos_f64(value * 1e3).rounded(),
        Some((_, unit)) => format!("{} {unit}", three_digits(value)),
        None => three_digits(value),
    }
}

/// A scale from values to places.
struct Axis {
    low: f64,
    high: f64,
    step: f64,
}

impl Axis {
    /// From 0, to a round number above all values.
    fn over(values: impl Iterator<Item = f64>) -> Self {
        let (low, high) =
            values.fold((0.0_f64, 0.0_f64), |(low, high), value| (low.min(value), high.max(value)));
        let width = if high > low { high - low } else { 1.0 };
        let power = 10_f64.powf((width / 5.0).log10().floor());
        let step =
            [1.0, 2.0, 5.0, 10.0].map(|digit| digit * power).into_iter().find(|step| width / step <= 6.0);
        let step = step.unwrap_or(power * 10.0);
        Self { low: (low / step).floor() * step, high: ((high / step).ceil() * step).max(low + step), step }
    }

    fn share(&self, value: f64) -> f64 {
        (value - self.low) / (self.high - self.low)
    }

    /// 1 above the axis, -1 below it, 0 on it.
    fn beyond(&self, value: f64) -> f64 {
        f64::from(i8::from(self.share(value) > 1.02) - i8::from(self.share(value) < -0.02))
    }

    fn ticks(&self) -> Vec<f64> {
        let mut ticks = Vec::new();
        let mut tick = self.low;
        while tick <= self.high + self.step / 2.0 && ticks.len() < 20 {
            ticks.push(tick);
            tick += self.step;
        }
        ticks
    }

    fn label(&self, tick: f64) -> String {
        let digits = if self.step >= 1.0 {
            0
        } else if self.step >= 0.1 {
            1
        } else {
            3
        };
        // No minus before a zero.
        format!("{:.digits$}", if tick.abs() < self.step / 1e6 { 0.0 } else { tick })
    }
}

/// The figure for a page, which has its title above it.
pub(super) fn svg(figure: &BenchmarkFigure) -> String {
    drawn(figure, false)
}

/// The figure as a file of its own, with its title.
pub(super) fn alone(figure: &BenchmarkFigure) -> String {
    drawn(figure, true)
}

fn drawn(figure: &BenchmarkFigure, titled: bool) -> String {
    let all = || {
        figure
            .series
            .iter()
            .flat_map(|series| &series.points)
            .filter(|mark| mark.x.is_finite() && mark.y.is_finite())
    };
    let x = Axis::over(all().map(|mark| mark.x));
    let bars = figure.manner == Manner::Bars;
    // An interval may be far wider than what is told of its curve: it may go on beyond the figure, and is marked there.
    let ends = all().filter(|_| bars).filter_map(|mark| mark.range).flatten();
    let y = Axis::over(all().map(|mark| mark.y).chain(ends));
    let across = |value: f64| LEFT + x.share(value) * (WIDTH - LEFT - RIGHT);
    let down = |value: f64| HEIGHT - BOTTOM - y.share(value).clamp(-0.02, 1.02) * (HEIGHT - TOP - BOTTOM);
    let name = |series: &Series| {
        let cut = series.name.chars().count() > MAX_LEGEND_CHARS;
        let name: String =
            series.name.chars().take(if cut { MAX_LEGEND_CHARS - 1 } else { MAX_LEGEND_CHARS }).collect();
        if cut { name + "\u{2026}" } else { name }
    };
    let letters = figure.series.iter().map(|series| name(series).chars().count()).max().unwrap_or(0);
    #[expect(clippy::cast_precision_loss, reason = "a few letters")]
    let wide = WIDTH + (LEGEND_MARGIN + LETTER * letters as f64 - RIGHT).max(0.0).ceil();
    let above = if titled { TITLE } else { 0.0 };
    let mut svg = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 {:.0} {wide} {:.0}\" role=\"img\" font-family=\"sans-serif\" \
         font-size=\"12\"><title>{}</title><desc>{} over {}: {}.</desc><rect y=\"{:.0}\" width=\"100%\" height=\"100%\" fill=\"#fff\"/>",
        0.0 - above,
        HEIGHT + above,
        markup(&figure.title),
        markup(&figure.y),
        markup(&figure.x),
        markup(&figure.series.iter().map(|series| series.name.as_str()).collect::<Vec<_>>().join(", ")),
        0.0 - above
    );
    if titled {
        let _ = write!(
            svg,
            "<text x=\"{LEFT}\" y=\"{:.1}\" font-size=\"14\" font-weight=\"bold\">{}</text>",
            TOP - above / 2.0,
            markup(&figure.title)
        );
    }
    for tick in x.ticks() {
        let at = across(tick);
        let _ = write!(
            svg,
            "<path d=\"M{at:.1} {TOP}V{:.1}\" stroke=\"#e4e4e4\"/><text x=\"{at:.1}\" y=\"{:.1}\" text-anchor=\"middle\">{}</text>",
            HEIGHT - BOTTOM,
            HEIGHT - BOTTOM + 16.0,
            x.label(tick)
        );
    }
    for tick in y.ticks() {
        let at = down(tick);
        let _ = write!(
            svg,
            "<path d=\"M{LEFT} {at:.1}H{:.1}\" stroke=\"#e4e4e4\"/><text x=\"{:.1}\" y=\"{:.1}\" text-anchor=\"end\">{}</text>",
            WIDTH - RIGHT,
            LEFT - 6.0,
            at + 4.0,
            y.label(tick)
        );
    }
    let middle = LEFT + (WIDTH - LEFT - RIGHT) / 2.0;
    let _ = write!(
        svg,
        "<text x=\"{middle:.1}\" y=\"{:.1}\" text-anchor=\"middle\">{}</text><text transform=\"translate(14 {:.1}) \
         rotate(-90)\" text-anchor=\"middle\">{}</text>",
        HEIGHT - 10.0,
        markup(&figure.x),
        (HEIGHT - BOTTOM + TOP) / 2.0,
        markup(&figure.y)
    );
    let mut colours = 0;
    let ranged = figure.series.iter().filter(|series| !series.dashed).count().saturating_sub(1);
    #[expect(clippy::cast_precision_loss, reason = "a few series")]
    let between = if figure.manner == Manner::SideBySide && ranged > 0 {
        BESIDE_ANOTHER.min(MOST_BESIDE / ranged as f64)
    } else {
        0.0
    };
    let mut beside = -between * f64::from(u32::try_from(ranged).unwrap_or(0)) / 2.0;
    for (number, series) in figure.series.iter().enumerate() {
        colours += usize::from(!series.twin || number == 0);
        let (round, colour) = ((colours - 1) / COLOURS.len(), COLOURS[(colours - 1) % COLOURS.len()]);
        let dash = dash(series, round);
        let mut path = String::new();
        for mark in series.points.iter().filter(|mark| mark.x.is_finite() && mark.y.is_finite()) {
            let (left, top) = (across(mark.x) + if series.dashed { 0.0 } else { beside }, down(mark.y));
            let _ = write!(path, "{}{left:.1} {top:.1}", if path.is_empty() || bars { "M" } else { "L" });
            if let Some(range) = mark.range.filter(|range| range.iter().all(|end| end.is_finite())) {
                let ([low, high], thick) = (range.map(down), if bars { 6 } else { 1 });
                let _ = write!(
                    svg,
                    "<path d=\"M{left:.1} {low:.1}V{high:.1}\" stroke=\"{colour}\" stroke-width=\"{thick}\" opacity=\".6\"/>"
                );
                for (end, out) in
                    range.iter().map(|end| (*end, y.beyond(*end))).filter(|(_, out)| *out != 0.0)
                {
                    let _ = write!(
                        svg,
                        "<path d=\"M{left:.1} {:.1}l-4 {:.0}h8z\" fill=\"{colour}\"><title>continues to {}</title></path>",
                        down(end) - out * 5.0,
                        out * 7.0,
                        with_unit(end, &figure.y),
                    );
                }
            }
            if !series.dashed {
                svg.push_str(&point([left, top], round, colour));
            }
        }
        beside += if series.dashed { 0.0 } else { between };
        if let ([only], true) = (&series.points[..], series.dashed) {
            // Of a line of one point there is else nothing to be seen.
            path = format!("M{:.1} {:.1}h28", across(only.x) - 14.0, down(only.y));
        }
        let _ =
            write!(svg, "<path d=\"{path}\" fill=\"none\" stroke=\"{colour}\" stroke-width=\"1.6\"{dash}/>");
        let (legend, at) = (WIDTH - RIGHT + 14.0, (0..number).fold(TOP + 12.0, |at, _| at + 18.0));
        let _ = write!(
            svg,
            "<path d=\"M{legend:.1} {:.1}h20\" stroke=\"{colour}\" stroke-width=\"2\"{dash}/><text x=\"{:.1}\" y=\"{at:.1}\">{}</text>",
            at - 4.0,
            legend + 26.0,
            markup(&name(series))
        );
        if round > 0 && !series.dashed {
            svg.push_str(&point([legend + 10.0, at - 4.0], round, colour));
        }
    }
    svg.push_str("</svg>");
    svg
}

/// How a series is dashed whose colour has been had so many times.
fn dash(series: &Series, round: usize) -> String {
    let dashes = if series.dashed {
        AGAINST[round.min(1)]
    } else {
        // Shapes come again as often as dashes do: no pair of both does before each was with each.
        DASHES[(round + round / DASHES.len()) % DASHES.len()]
    };
    if dashes.is_empty() { String::new() } else { format!(" stroke-dasharray=\"{dashes}\"") }
}

/// A point of a series whose colour has been had so many times: a circle, a square, a triangle, a rhombus.
fn point([left, top]: [f64; 2], round: usize, colour: &str) -> String {
    let path = match round % 4 {
        0 => return format!("<circle cx=\"{left:.1}\" cy=\"{top:.1}\" r=\"2.6\" fill=\"{colour}\"/>"),
        1 => "m-2.6 -2.6h5.2v5.2h-5.2z",
        2 => "m0 -3.6l3.4 6h-6.8z",
        _ => "m0 -3.8l3.4 3.8l-3.4 3.8l-3.4 -3.8z",
    };
    format!("<path d=\"M{left:.1} {top:.1}{path}\" fill=\"{colour}\"/>")
}

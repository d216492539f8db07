//! Draws figures with plotters, and makes its SVG fit where it stands.
//!
//! plotters knows fixed colours only. So each meaning is drawn in a colour that nothing else has, and replaced
//! afterwards: by CSS variables in a page, which then suits light and dark, and by plain colours in a file of its
//! own. Thousands of circles and lines become a few paths, which makes the
//! file a tenth as large.

mod pieces;

use std::collections::HashMap;
use std::ops::Range;

use plotters::prelude::*;
use plotters::style::text_anchor::{HPos, Pos, VPos};

use crate::figure::{Axis, Figure, Ink, Labels, Layer, Shape, decade_label, decades, peaks};
use crate::input::ReportError;
use crate::number::{grouped, percent, three_digits, time};

/// Where a chart stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Theme<'a> {
    /// In our page, whose variables give the colours.
    Page,
    /// In a file of its own, which says of what it is.
    Alone(&'a str),
}

/// plotters places things on whole pixels; two to a pixel of the page make the points fine enough.
const FINE: u32 = 2;
/// Height of the strip above a figure for what lies beyond its axis.
const STRIP: u32 = 46 * FINE;
/// Height of a strip of several.
const ROW: u32 = 44 * FINE;
/// How strong the lines are that reach to what stands apart: lighter than the points, for each is of one packet.
const REACHING: f64 = 0.3;
/// Where the legend begins.
const LEGEND_LEFT: u32 = 6;
/// Height of text in the chart's own pixels (plotters draws it 1.24 times smaller than asked).
const TEXT: u32 = 30;

impl Shape {
    fn size(self, figure: &Figure) -> (u32, u32) {
        let (width, height) = match self {
            Self::Wide => (880 * FINE, 280 * FINE),
            Self::Narrow => (340 * FINE, 260 * FINE),
        };
        let rows = figure.rows().map(|rows| u32::try_from(rows).unwrap_or(1));
        (width, rows.map_or(height, |rows| ROW * rows + TEXT * (5 + legend_rows(figure, width))))
    }
}

impl Ink {
    const ALL: [Self; 7] =
        [Self::Text, Self::Grid, Self::Forward, Self::Reverse, Self::RoundTrip, Self::Lost, Self::Found];

    fn marker(self) -> RGBColor {
        let level = match self {
            Self::Text => 1,
            Self::Grid => 2,
            Self::Forward => 3,
            Self::Reverse => 4,
            Self::RoundTrip => 5,
            Self::Lost => 6,
            Self::Found => 7,
        };
        RGBColor(level, level, level)
    }
    /// The variable of the page that holds the colour.
    fn variable(self) -> &'static str {
        match self {
            Self::Text => "var(--faint)",
            Self::Grid => "var(--line)",
            Self::Forward => "var(--forward)",
            Self::Reverse => "var(--reverse)",
            Self::RoundTrip => "var(--round)",
            Self::Lost => "var(--bad)",
            Self::Found => "var(--found)",
        }
    }
    fn plain(self) -> &'static str {
        match self {
            Self::Text => "#5a6270",
            Self::Grid => "#dfe3e8",
            Self::Forward => "#1668b8",
            Self::Reverse => "#c76a00",
            Self::RoundTrip => "#0a7f6b",
            Self::Lost => "#c62a3a",
            Self::Found => "#7a3fb0",
        }
    }
}

/// What figures take on the left for the labels of their vertical axes: as much as any whose horizontal axis is the same, so
/// that they begin at the same place.
pub(crate) fn rooms(figures: &[Figure]) -> Vec<u32> {
    let own = |figure: &Figure| match figure.y.labels {
        Labels::Rows { rows, lowest } => {
            let longest = decades(rows, lowest).map(|(_, decade, _)| decade_label(decade).chars().count());
            letters_width(longest.max().unwrap_or(0))
        }
        _ => {
            let beyond = figure.most_beyond().map_or(0, |most| three_digits(most).chars().count());
            label_width(&figure.y, beyond)
        }
    };
    let axis = |figure: &Figure| (figure.x.title.clone(), figure.x.from.to_bits(), figure.x.to.to_bits());
    let mut most: HashMap<_, u32> = HashMap::new();
    for figure in figures {
        let room = most.entry(axis(figure)).or_default();
        *room = own(figure).max(*room);
    }
    figures.iter().map(|figure| most.get(&axis(figure)).copied().unwrap_or_default()).collect()
}

/// Draws a figure as an SVG element (in a page) or document, with so much `room` on its left ([`rooms`]).
pub(crate) fn draw(
    figure: &Figure,
    room: u32,
    shape: Shape,
    theme: Theme<'_>,
) -> Result<String, ReportError> {
    let size = shape.size(figure);
    let mut svg = String::new();
    paint(figure, room, shape, &mut svg)
        .map_err(|why| ReportError::Chart { chart: figure.name, why: why.to_string() })?;
    Ok(themed(&pieces::join(&svg), size, theme, figure, shape.most_points()))
}

type Failure<'a> = DrawingAreaErrorKind<<SVGBackend<'a> as DrawingBackend>::ErrorType>;

fn paint<'a>(figure: &Figure, room: u32, shape: Shape, svg: &'a mut String) -> Result<(), Failure<'a>> {
    let (width, height) = shape.size(figure);
    let root = SVGBackend::with_string(svg, (width, height)).into_drawing_area();
    let beyond = figure.most_beyond();
    let mut chart = ChartBuilder::on(&root)
        .margin_top(TEXT * (2 + legend_rows(figure, width)) + beyond.map_or(0, |_| STRIP))
        .margin_right(TEXT * 3 / 2)
        .margin_bottom(TEXT + TEXT / 3)
        .x_label_area_size(TEXT + TEXT / 3)
        .y_label_area_size(room)
        .build_cartesian_2d(range(&figure.x), range(&figure.y))?;
    chart
        .configure_mesh()
        .disable_x_mesh()
        .light_line_style(TRANSPARENT)
        .bold_line_style(Ink::Grid.marker().stroke_width(FINE))
        .axis_style(Ink::Grid.marker().stroke_width(FINE))
        .label_style(("sans-serif", TEXT).into_font().color(&Ink::Text.marker()))
        .x_labels(marks(shape, figure))
        .y_labels(lines(&figure.y))
        .x_label_formatter(&|value| label(&figure.x, *value))
        .y_label_formatter(&|value| label(&figure.y, *value))
        .draw()?;
    let foot = |x| chart.backend_coord(&(x, figure.y.from));
    last_mark(&root, &figure.x, marks(shape, figure), foot)?;
    if let Labels::Rows { rows, lowest } = figure.y.labels {
        let ends = [figure.x.from, range(&figure.x).end];
        let lines = decades(rows, lowest)
            .map(|(y, decade, named)| (ends.map(|x| chart.backend_coord(&(x, y))), decade, named));
        row_lines(&root, lines)?;
    }
    if let Some(most) = beyond {
        let corner = |x| chart.backend_coord(&(x, figure.y.to));
        strip(&root, &figure.y, most, [corner(figure.x.from), corner(range(&figure.x).end)])?;
    }
    for layer in &figure.layers {
        draw_layer(&mut chart, figure, layer, shape.most_points())?;
    }
    titles(&root, figure, width, height)?;
    root.present()
}

/// How high above the end of an axis a value beyond it is drawn, where `most` is the greatest: by the logarithm of how far it is.
fn above(axis: &Axis, most: f64, value: f64) -> i32 {
    let Range { start, end } = range(axis);
    let far = |value: f64| ((value - end).max(0.0) / (end - start)).ln_1p();
    let share = (far(value) / far(most).max(f64::MIN_POSITIVE)).clamp(0.0, 1.0);
    #[expect(clippy::cast_possible_truncation, reason = "a place within the strip")]
    let height = (share * f64::from(STRIP - 4 * FINE)).round() as i32;
    height + coordinate(2 * FINE)
}

/// Of the strip above a figure that shows what lies beyond its axis: where it begins, its lines and their labels.
fn strip<'a>(
    root: &DrawingArea<SVGBackend<'a>, plotters::coord::Shift>,
    axis: &Axis,
    most: f64,
    [(left, bottom), (right, _)]: [(i32, i32); 2],
) -> Result<(), Failure<'a>> {
    let text = coordinate(TEXT);
    let style =
        ("sans-serif", TEXT).into_font().color(&Ink::Text.marker()).pos(Pos::new(HPos::Right, VPos::Center));
    let top = above(axis, most, most);
    let decades = (0..20).map(|power| 10f64.powf(most.log10().floor() - f64::from(power)));
    let between = decades.take_while(|value| *value > axis.to);
    let between = between.filter(|value| (text..=top - text).contains(&above(axis, most, *value)));
    for value in between.chain([most]) {
        let y = bottom - above(axis, most, value);
        let line = PathElement::new(vec![(left, y), (right, y)], Ink::Grid.marker().stroke_width(FINE));
        root.draw(&line)?;
        root.draw_text(&three_digits(value), &style, (left - text / 3, y))?;
    }
    let edge = PathElement::new(
        vec![(left, bottom), (right, bottom)],
        Ink::Text.marker().mix(0.6).stroke_width(FINE),
    );
    root.draw(&edge)
}

/// The most marks along a chart.
fn marks(shape: Shape, figure: &Figure) -> usize {
    usize::try_from(shape.size(figure).0 / (5 * TEXT)).unwrap_or(6)
}

/// The end of an axis of numbers, where none of its `most` marks is near: how far it reaches is not to be guessed. `foot` is where a
/// value stands on it.
fn last_mark<'a>(
    root: &DrawingArea<SVGBackend<'a>, plotters::coord::Shift>,
    axis: &Axis,
    most: usize,
    foot: impl Fn(f64) -> (i32, i32),
) -> Result<(), Failure<'a>> {
    let Range { start, end } = range(axis);
    let last = key_points(start..end, most).last().copied();
    if axis.labels != Labels::Numbers || last.is_none() {
        return Ok(());
    }
    let text = ending(axis, end);
    // Half of the one before it, and all of this one, which ends where the axis does.
    let before = last.map_or(0, |last| label(axis, last).chars().count());
    let letters = coordinate(u32::try_from(before + text.chars().count() * 3 / 2).unwrap_or(0));
    let (x, y) = foot(end);
    let size = coordinate(TEXT);
    if x - last.map_or(x, |last| foot(last).0) < size / 2 + letters * size * 43 / 100 {
        return Ok(());
    }
    root.draw(&PathElement::new(vec![(x, y), (x, y + size / 6)], Ink::Grid.marker().stroke_width(FINE)))?;
    let style =
        ("sans-serif", TEXT).into_font().color(&Ink::Text.marker()).pos(Pos::new(HPos::Center, VPos::Top));
    root.draw_text(&text, &style, (x, y + size / 3))
}

/// The places of an axis that plotters marks.
fn key_points(reach: Range<f64>, most: usize) -> Vec<f64> {
    let axis: plotters::coord::types::RangedCoordf64 = reach.into();
    axis.key_points(most)
}

/// The end of an axis is no round place: it has the digits that put it where it is, to a hundredth of the axis.
fn ending(axis: &Axis, value: f64) -> String {
    let length = axis.to - axis.from;
    let near = |decimals: &i32| {
        let scale = 10f64.powi(*decimals);
        ((value * scale).round() / scale - value).abs() <= length / 100.0
    };
    let decimals = (0..9).find(near).unwrap_or(9);
    grouped(value, usize::try_from(decimals).unwrap_or(9))
}

/// The decades of strips, each with an axis of its own.
fn row_lines<'a>(
    root: &DrawingArea<SVGBackend<'a>, plotters::coord::Shift>,
    lines: impl Iterator<Item = ([(i32, i32); 2], i32, bool)>,
) -> Result<(), Failure<'a>> {
    let style =
        ("sans-serif", TEXT).into_font().color(&Ink::Text.marker()).pos(Pos::new(HPos::Right, VPos::Center));
    for ([from, to], decade, named) in lines {
        root.draw(&PathElement::new(vec![from, to], Ink::Grid.marker().stroke_width(FINE)))?;
        if named {
            root.draw_text(&decade_label(decade), &style, (from.0 - coordinate(TEXT) / 3, from.1))?;
        }
    }
    Ok(())
}

fn coordinate(value: u32) -> i32 {
    i32::try_from(value).unwrap_or(i32::MAX)
}

/// The most lines across a figure: of a logarithmic axis one a decade.
fn lines(axis: &Axis) -> usize {
    match axis.labels {
        Labels::Rows { .. } => 0,
        Labels::Numbers => 5,
        Labels::Decades | Labels::Shares => {
            let decades = (0..20).filter(|n| f64::from(*n) <= axis.to.floor() - axis.from.ceil()).count();
            decades.max(2)
        }
    }
}

/// Room for the labels of an axis that stands: their digits grow as it gets shorter.
fn label_width(axis: &Axis, beyond: usize) -> u32 {
    let step = (axis.to - axis.from) / 4.0;
    let letters = [axis.from, axis.from + step, axis.to].map(|value| label(axis, value).chars().count());
    letters_width(letters.into_iter().chain([beyond]).max().unwrap_or(0))
}

fn letters_width(letters: usize) -> u32 {
    let letters = u32::try_from(letters).unwrap_or(0).min(14);
    (3 * TEXT).max(TEXT + letters * TEXT * 43 / 100)
}

fn range(axis: &Axis) -> Range<f64> {
    // An axis without length would have no place for anything.
    axis.from..if axis.to > axis.from { axis.to } else { axis.from + 1.0 }
}

fn label(axis: &Axis, value: f64) -> String {
    match axis.labels {
        Labels::Rows { .. } => String::new(),
        Labels::Shares | Labels::Decades if (value - value.round()).abs() > 0.01 => String::new(),
        Labels::Shares => percent(10f64.powf(value.round())),
        Labels::Decades => {
            let text = time(10f64.powf(value.round()), true);
            text.replace(".00", "").replace(".0\u{a0}", "\u{a0}")
        }
        Labels::Numbers => {
            let length = axis.to - axis.from;
            // As many as a tenth of the axis asks for.
            let decimals = (0..9).find(|places| length * 10f64.powi(*places) >= 5.0).unwrap_or(9);
            // A mark between two such numbers says so.
            let exact = |decimals: i32| {
                let scaled = value * 10f64.powi(decimals);
                (scaled - scaled.round()).abs() < 1e-6 * length * 10f64.powi(decimals)
            };
            let needed = (decimals..decimals + 2).find(|decimals| exact(*decimals)).unwrap_or(decimals + 2);
            grouped(value, usize::try_from(needed).unwrap_or(0))
        }
    }
}

type Chart<'b, 'a> = ChartContext<
    'b,
    SVGBackend<'a>,
    Cartesian2d<plotters::coord::types::RangedCoordf64, plotters::coord::types::RangedCoordf64>,
>;

fn draw_layer<'a>(
    chart: &mut Chart<'_, 'a>,
    figure: &Figure,
    layer: &Layer,
    most: usize,
) -> Result<(), Failure<'a>> {
    let (y0, y1) = (figure.y.from, figure.y.to);
    match layer {
        Layer::Points(ink, cloud) => {
            let style = ink.marker().mix(0.6).filled();
            let drawn = cloud.thinned(most);
            let line = ink.marker().mix(REACHING).stroke_width(FINE);
            chart.draw_series(
                drawn.far.iter().map(|far| PathElement::new(vec![(far.at.0, far.from), far.at], line)),
            )?;
            let radius = radius(drawn.drawn());
            chart.draw_series(drawn.points.iter().map(|point| Circle::new(*point, radius, style)))?;
        }
        Layer::Line(ink, points) => {
            chart
                .draw_series(LineSeries::new(points.iter().copied(), ink.marker().stroke_width(2 * FINE)))?;
        }
        Layer::Area(ink, points) => {
            let series = AreaSeries::new(points.iter().copied(), y0, ink.marker().mix(0.22));
            chart.draw_series(series.border_style(ink.marker().stroke_width(FINE + 1)))?;
        }
        Layer::Below(ink, marks) | Layer::Top(ink, marks) => {
            let edge = if matches!(layer, Layer::Top(..)) { y1 } else { y0 };
            let end = edge + if edge > y0 { -0.05 } else { 0.05 } * (y1 - y0);
            // Where marks stand for several, they are many, and look like a band of all.
            let strength = if marks.iter().any(|mark| mark.count > 1) { REACHING } else { 1.0 };
            let style = ink.marker().mix(strength).stroke_width(FINE);
            chart.draw_series(
                marks.iter().map(|mark| PathElement::new(vec![(mark.from, edge), (mark.from, end)], style)),
            )?;
        }
        Layer::Above(ink, marks) => {
            let style = ink.marker().mix(0.8).filled();
            let greatest = figure.most_beyond().unwrap_or(y1);
            chart.draw_series(peaks(marks, most / 5).iter().map(|(x, y)| {
                let height = above(&figure.y, greatest, *y);
                EmptyElement::at((*x, y1)) + Circle::new((0, -height), 2 * FINE, style)
            }))?;
        }
        Layer::Strip(ink, columns) => {
            chart.draw_series(columns.iter().map(|column| {
                let (x, y) = (&column.across, &column.up);
                let style = ink.marker().mix(column.opacity).filled();
                Rectangle::new([(x.start, y.start), (x.end, y.end)], style)
            }))?;
        }
        Layer::Bars(ink, bars) => {
            chart.draw_series(bars.iter().map(|([left, right, bottom, top], opacity)| {
                Rectangle::new([(*left, *bottom), (*right, *top)], ink.marker().mix(*opacity).filled())
            }))?;
        }
    }
    Ok(())
}

/// How large points are drawn: few would be overlooked if they were as small as thousands have to be.
fn radius(points: usize) -> u32 {
    match points {
        0..=60 => 4 * FINE,
        61..=300 => 5 * FINE / 2,
        _ => FINE + 1,
    }
}

/// The axes' titles, level so that they are read without turning the head, and the legend.
fn titles<'a>(
    root: &DrawingArea<SVGBackend<'a>, plotters::coord::Shift>,
    figure: &Figure,
    width: u32,
    height: u32,
) -> Result<(), Failure<'a>> {
    let text = coordinate(TEXT);
    let style = |h| ("sans-serif", TEXT).into_font().color(&Ink::Text.marker()).pos(Pos::new(h, VPos::Top));
    root.draw_text(
        &figure.x.title,
        &style(HPos::Right),
        (coordinate(width) - text, coordinate(height) - text - 4),
    )?;
    let rows = coordinate(legend_rows(figure, width));
    root.draw_text(&figure.y.title, &style(HPos::Left), (6, text * rows + text * 3 / 5))?;
    for ((name, ink), (x, row)) in figure.legend.iter().zip(legend_places(figure, width)) {
        let y = text * coordinate(row);
        let swatch = [(x, y + text / 4), (x + text * 2 / 3, y + text * 7 / 8)];
        root.draw(&Rectangle::new(swatch, ink.marker().filled()))?;
        root.draw_text(name, &style(HPos::Left), (x + text, y + text / 8))?;
    }
    Ok(())
}

/// Where each name of the legend stands: from the left, and in which row.
fn legend_places(figure: &Figure, width: u32) -> Vec<(i32, u32)> {
    let (mut x, mut row) = (LEGEND_LEFT, 0);
    let mut places = Vec::new();
    for (name, _) in &figure.legend {
        // Text is measured by the eye: about half its height a letter.
        let letters = u32::try_from(name.chars().count()).unwrap_or(0);
        let length = TEXT * 2 + letters * TEXT * 43 / 100;
        if x > LEGEND_LEFT && x + length > width {
            (x, row) = (LEGEND_LEFT, row + 1);
        }
        places.push((i32::try_from(x).unwrap_or(0), row));
        x += length;
    }
    places
}

fn legend_rows(figure: &Figure, width: u32) -> u32 {
    legend_places(figure, width).last().map_or(0, |(_, row)| row + 1)
}

/// What a figure shows, for whoever does not see it: its axes, how far they reach, and its series.
fn described(figure: &Figure) -> String {
    let reach = |axis: &Axis| {
        let [from, to] = [axis.from, axis.to].map(|end| label(axis, end));
        // The end of a logarithmic axis that is no whole decade has no label.
        if from.is_empty() || to.is_empty() {
            axis.title.clone()
        } else {
            format!("{} from {from} to {to}", axis.title)
        }
    };
    let axes = [&figure.y, &figure.x]
        .into_iter()
        .filter(|axis| !matches!(axis.labels, Labels::Rows { .. }))
        .map(reach);
    let series = figure.legend.iter().map(|(name, _)| name.as_str()).collect::<Vec<_>>().join("; ");
    let parts = axes.chain([series]).filter(|part| !part.is_empty());
    format!("{}: {}", figure.title, parts.collect::<Vec<_>>().join("; "))
}

fn themed(svg: &str, (width, height): (u32, u32), theme: Theme<'_>, figure: &Figure, most: usize) -> String {
    let drawn = svg.split_once('>').map_or(svg, |(_, rest)| rest);
    let said = crate::escape::markup(&described(figure));
    let (head, fonts) = match theme {
        Theme::Page => {
            (format!("<svg viewBox=\"0 0 {width} {height}\" role=\"img\" aria-label=\"{said}\">"), "inherit")
        }
        Theme::Alone(of) => (
            format!(
                "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{}\" height=\"{}\" viewBox=\"0 0 {width} {height}\" \
                 role=\"img\">\n<title>{}</title>\n<desc>{said}. {}</desc>\n\
                 <rect width=\"100%\" height=\"100%\" fill=\"#ffffff\"/>",
                width / FINE,
                height / FINE,
                crate::escape::markup(&format!("{} \u{2013} {of}", figure.title)),
                crate::escape::markup(&figure.alone(most)),
            ),
            "system-ui, sans-serif",
        ),
    };
    let mut drawn = drawn.replace("font-family=\"sans-serif\"", &format!("font-family=\"{fonts}\""));
    for ink in Ink::ALL {
        let RGBColor(level, ..) = ink.marker();
        let marker = format!("\"#{level:02X}{level:02X}{level:02X}\"");
        let colour = if theme == Theme::Page { ink.variable() } else { ink.plain() };
        drawn = drawn.replace(&marker, &format!("\"{colour}\""));
    }
    head + &drawn
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_lies_beyond_an_axis_is_the_higher_the_farther_it_is() {
        let axis = Axis { title: String::new(), from: 0.0, to: 848.0, labels: Labels::Numbers };
        let heights = [850.0, 2_000.0, 10_000.0, 50_000.0].map(|value| above(&axis, 50_000.0, value));
        assert!(heights.is_sorted_by(|a, b| b - a >= 10) && heights[0] >= 0, "{heights:?}");
        assert_eq!(heights[3], coordinate(STRIP - 2 * FINE));
        // Also where the axis ends below zero.
        let axis = Axis { from: -3.0, to: -2.0, ..axis };
        assert!(
            above(&axis, 8.0, -2.0) < above(&axis, 8.0, 0.0)
                && above(&axis, 8.0, 0.0) < above(&axis, 8.0, 8.0)
        );
    }

    #[test]
    fn a_mark_is_labelled_with_the_digits_that_it_needs() {
        let axis = |to: f64| Axis { title: String::new(), from: 0.0, to, labels: Labels::Numbers };
        let labels = |to: f64, step: f64| {
            (0..4).map(|number| label(&axis(to), f64::from(number) * step)).collect::<Vec<_>>().join(" ")
        };
        assert_eq!(labels(5.0, 0.5), "0 0.5 1 1.5");
        assert_eq!(labels(40.0, 10.0), "0 10 20 30");
        assert_eq!(labels(0.5, 0.05), "0.0 0.05 0.1 0.15");
        let near = Axis { title: String::new(), from: 20.0, to: 20.0004, labels: Labels::Numbers };
        assert_eq!(label(&near, 20.0001), "20.00010");
        assert_eq!(label(&near, 20.0002), "20.00020");
    }
}

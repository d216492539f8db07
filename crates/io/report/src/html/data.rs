//! The data of the page, for its script and for whoever saves it: what the charts draw, and the document.

use romer_record::document::MEASUREMENT;
use serde_json::{Value, json};

use crate::figure::{Axis, Column, Figure, Ink, Labels, Layer, MOST_POINTS, Mark, Outlier, Stretch, decades};
use crate::input::Stream;

/// How fine the numbers along an axis are, as a share of it: a stretch of time may be enlarged ten thousand times, heights are as
/// far apart as those of the points that are seen.
const ACROSS: f64 = 1e-6;
const UP: f64 = 1e-5;

/// A number with about seven digits, and none that is finer than that share of its axis: more than a screen shows.
fn short(value: f64, axis: &Axis, share: f64) -> Value {
    let digits = 7.0 - value.abs().max(1e-12).log10().ceil();
    let fine = -((axis.to - axis.from).abs().max(1e-12) * share).log10().floor();
    let scale = 10f64.powf(digits.min(fine).clamp(0.0, 9.0));
    json!((value * scale).round() / scale)
}

fn pairs(points: &[(f64, f64)], figure: &Figure) -> Value {
    points.iter().map(|(x, y)| json!([short(*x, &figure.x, ACROSS), short(*y, &figure.y, UP)])).collect()
}

fn ink(ink: Ink) -> &'static str {
    match ink {
        Ink::Text => "faint",
        Ink::Grid => "line",
        Ink::Forward => "forward",
        Ink::Reverse => "reverse",
        Ink::RoundTrip => "round",
        Ink::Lost => "bad",
        Ink::Found => "found",
    }
}

fn axis(axis: &Axis) -> Value {
    let labels = match axis.labels {
        Labels::Numbers => "numbers",
        Labels::Decades => "decades",
        Labels::Shares => "shares",
        Labels::Rows { rows, lowest } => {
            let lines: Vec<Value> =
                decades(rows, lowest).map(|(y, decade, named)| json!([y, decade, named])).collect();
            return json!({"title": axis.title, "from": 0, "to": 1, "labels": "rows", "rows": rows, "lines": lines});
        }
    };
    let to = if axis.to > axis.from { axis.to } else { axis.from + 1.0 };
    json!({"title": axis.title, "from": axis.from, "to": to, "labels": labels, "unit": unit(&axis.title)})
}

/// The unit that an axis's title ends in, or of what it is a share: `ms` of `delay, ms`, `% per µs` of `% of packets per µs`.
fn unit(title: &str) -> String {
    if title.starts_with('%') {
        return title.rsplit_once(" per ").map_or_else(|| "%".to_owned(), |(_, per)| format!("% per {per}"));
    }
    let last = title.rsplit_once(", ").map_or("", |(_, last)| last);
    if ["ns", "µs", "ms", "s"].contains(&last) { last.to_owned() } else { String::new() }
}

fn layer(layer: &Layer, figure: &Figure) -> Value {
    let across = |at: f64| short(at, &figure.x, ACROSS);
    let up = |at: f64| short(at, &figure.y, UP);
    let (kind, of, points) = match layer {
        Layer::Points(of, cloud) => {
            let drawn = cloud.thinned(MOST_POINTS);
            // Of how many these are some, where they are not all.
            let all = (drawn.of > drawn.drawn()).then_some(drawn.of);
            let begins = all.filter(|_| !drawn.begins.is_empty());
            let begins: Option<Value> = begins.map(|_| drawn.begins.iter().map(|at| across(*at)).collect());
            let far = |far: &Outlier| json!([across(far.at.0), up(far.at.1), up(far.from)]);
            let far: Option<Value> =
                Some(&drawn.far).filter(|all| !all.is_empty()).map(|all| all.iter().map(far).collect());
            let stretches = cloud.stretches.as_ref().filter(|_| all.is_some());
            let stretches: Option<Value> =
                stretches.map(|these| these.all.iter().map(|one| stretch(one, up)).collect());
            return json!({
                "kind": "points",
                "ink": ink(*of),
                "points": pairs(&drawn.points, figure),
                "far": far,
                "of": all,
                "begins": begins,
                "stretches": stretches,
            });
        }
        Layer::Line(of, points) => ("line", *of, pairs(points, figure)),
        Layer::Area(of, points) => ("area", *of, pairs(points, figure)),
        Layer::Below(of, marks) | Layer::Top(of, marks) => {
            // One alone is where it is; several are from the first to the last, with how many they are and among how many.
            let mark = |mark: &Mark| match mark.count {
                1 => json!([across(mark.from)]),
                count => json!([across(mark.from), across(mark.to), count, mark.of]),
            };
            let kind = if matches!(layer, Layer::Top(..)) { "top" } else { "below" };
            (kind, *of, marks.iter().map(mark).collect())
        }
        Layer::Above(of, points) => ("above", *of, pairs(points, figure)),
        Layer::Strip(of, columns) => {
            let column = |column: &Column| {
                let (x, y) = (&column.across, &column.up);
                let worst = (column.worst * 1e4).round() / 1e4;
                json!([
                    across(x.start),
                    across(x.end),
                    up(y.start),
                    up(y.end),
                    column.opacity,
                    column.marked,
                    column.of,
                    worst
                ])
            };
            ("bars", *of, columns.iter().map(column).collect())
        }
        Layer::Bars(of, bars) => {
            let bar = |([a, b, c, d], opacity): &([f64; 4], f64)| {
                json!([across(*a), across(*b), up(*c), up(*d), (opacity * 1e4).round() / 1e4])
            };
            ("bars", *of, bars.iter().map(bar).collect())
        }
    };
    json!({"kind": kind, "ink": ink(of), "points": points})
}

/// How many packets there are in a stretch, how many were lost besides, and the least and the greatest value where there is one.
fn stretch(stretch: &Stretch, up: impl Fn(f64) -> Value) -> Value {
    match stretch.of {
        0 => json!([0, stretch.lost]),
        of => json!([of, stretch.lost, up(stretch.least), up(stretch.greatest)]),
    }
}

/// A figure as the script draws it.
pub(super) fn figure(figure: &Figure) -> Value {
    let legend: Vec<Value> = figure.legend.iter().map(|(name, of)| json!([name, ink(*of)])).collect();
    json!({
        "name": figure.name,
        "title": figure.title,
        "x": axis(&figure.x),
        "y": axis(&figure.y),
        "legend": legend,
        "layers": figure.layers.iter().map(|one| layer(one, figure)).collect::<Vec<_>>(),
    })
}

/// The document of the streams: of one its measurement, of several all under one roof.
pub(super) fn document(streams: &[Stream<'_>]) -> Value {
    let all: Vec<Value> = streams
        .iter()
        .map(|stream| serde_json::to_value(stream.measurement).unwrap_or(Value::Null))
        .collect();
    match <[Value; 1]>::try_from(all) {
        Ok([one]) => one,
        Err(all) => json!({"schema": MEASUREMENT, "measurements": all}),
    }
}

/// JSON that can stand in a page: no text in it ends its element or begins another, and nothing turns the writing around.
pub(super) fn in_page(value: &Value) -> String {
    let mut text = String::new();
    for c in value.to_string().chars() {
        match c {
            '<' | '>' | '&' => text.push_str(&format!("\\u{:04x}", u32::from(c))),
            c if c.is_ascii() || c.is_alphanumeric() => text.push(c),
            c => {
                let mut units = [0u16; 2];
                for unit in c.encode_utf16(&mut units) {
                    text.push_str(&format!("\\u{unit:04x}"));
                }
            }
        }
    }
    text
}

#[cfg(test)]
mod tests {
    #[test]
    fn the_unit_of_an_axis_is_that_of_its_title() {
        for (title, unit) in [
            ("delay, ms", "ms"),
            ("time since the first probe, s", "s"),
            ("% of packets", "%"),
            ("% of packets per µs", "% per µs"),
            ("jitter (logarithmic)", ""),
            ("", ""),
        ] {
            assert_eq!(super::unit(title), unit, "{title}");
        }
    }
}

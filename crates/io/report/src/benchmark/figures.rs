//! The figures: curves of each case, cases over one another, latency by size, classes of a scheduler.

use romer_record::benchmark::{Benchmark, BenchmarkResult, Trial};

use super::draw::{self, BenchmarkFigure, Drawn, Manner, Mark, Series};
use super::words::size_words;

/// All figures that the document has the numbers for.
pub fn figures(document: &Benchmark) -> Vec<Drawn> {
    let cases = cases(document);
    let sizes = sizes(document);
    let mut all: Vec<(BenchmarkFigure, String, bool)> = Vec::new();
    all.push((throughput(document, &cases), String::new(), true));
    for case in &cases {
        let of = format!("More figures of case {case}");
        let mut push = |figure, leads| all.push((figure, of.clone(), leads));
        push(lines(document, case, &sizes, "forwarded_percent", "received load, % of the line", true), true);
        push(lines(document, case, &sizes, "latency_mean_ns", "mean latency, µs", false), true);
        let payload = "received payload, % of the line";
        push(lines(document, case, &sizes, "forwarded_payload_percent", payload, false), false);
        push(rates(document, case, &sizes), false);
        let jitter = "jitter (maximum minus minimum latency), µs";
        push(lines(document, case, &sizes, "jitter_peak_to_peak_ns", jitter, false), false);
        push(high_and_low(document, case), false);
        for size in &sizes {
            push(by_method(document, case, *size), false);
            push(extremes(document, case, *size), false);
            push(classes(document, case, *size), false);
        }
    }
    if cases.len() > 1 {
        for size in &sizes {
            let of = || format!("Cases compared, {}", size_words(*size));
            let load = overlaid(document, &cases, *size, "forwarded_percent", "received load, % of the line");
            all.push((load, of(), false));
            all.push((overlaid(document, &cases, *size, "latency_mean_ns", "mean latency, µs"), of(), false));
            for (method, quantity) in METHODS {
                let unit = format!("jitter by method {method}, µs");
                all.push((overlaid(document, &cases, *size, quantity, &unit), of(), false));
            }
        }
    }
    all.into_iter()
        .filter(|(figure, ..)| figure.series.iter().any(|series| !series.dashed && !series.points.is_empty()))
        .enumerate()
        .map(drawn)
        .collect()
}

/// The figure with a name that no other of them has.
fn drawn((number, (figure, of, leads)): (usize, (BenchmarkFigure, String, bool))) -> Drawn {
    let name: String = figure
        .title
        .to_lowercase()
        .chars()
        .map(|c| if c.is_ascii_alphanumeric() { c } else { '-' })
        .collect::<String>()
        .split('-')
        .filter(|part| !part.is_empty())
        .collect::<Vec<_>>()
        .join("-");
    let name: String = name.chars().take(80).collect();
    Drawn {
        name: format!("{:02}-{name}", number + 1),
        svg: draw::svg(&figure),
        alone: draw::alone(&figure),
        title: figure.title,
        of,
        leads,
    }
}

/// The names of the cases, in the order in which they come.
pub(super) fn cases(document: &Benchmark) -> Vec<String> {
    let mut cases: Vec<String> = Vec::new();
    for name in document.results.iter().map(|result| &result.case) {
        if !cases.contains(name) {
            cases.push(name.clone());
        }
    }
    cases
}

/// The frame sizes, smallest first; `None` is the mixture.
fn sizes(document: &Benchmark) -> Vec<Option<u32>> {
    let mut sizes: Vec<Option<u32>> = document.results.iter().map(|result| result.frame_size).collect();
    sizes.sort_unstable_by_key(|size| size.unwrap_or(u32::MAX));
    sizes.dedup();
    sizes
}

/// Nanoseconds are shown as microseconds.
fn scale(quantity: &str) -> f64 {
    if quantity.ends_with("_ns") { 1e-3 } else { 1.0 }
}

fn marks<'a>(results: impl Iterator<Item = &'a BenchmarkResult>) -> Vec<Mark> {
    let mut marks: Vec<Mark> = results
        .filter_map(|result| {
            let factor = scale(&result.quantity);
            Some(Mark {
                x: result.load_percent?,
                y: result.mean? * factor,
                range: result.interval.map(|[low, high]| [low * factor, high * factor]),
            })
        })
        .collect();
    marks.sort_by(|a, b| a.x.total_cmp(&b.x));
    marks
}

fn series<'a>(
    document: &'a Benchmark,
    case: &'a str,
    size: Option<u32>,
    quantity: &'a str,
) -> impl Iterator<Item = &'a BenchmarkResult> {
    document
        .results
        .iter()
        .filter(move |result| result.case == case && result.frame_size == size && result.quantity == quantity)
}

/// A line for each size over the load (figures 3-1, 3-10, 3-15).
fn lines(
    document: &Benchmark,
    case: &str,
    sizes: &[Option<u32>],
    quantity: &str,
    unit: &str,
    theory: bool,
) -> BenchmarkFigure {
    let mut series: Vec<Series> = sizes
        .iter()
        .map(|size| Series {
            name: size_words(*size),
            points: marks(series(document, case, *size, quantity)),
            dashed: false,
            twin: false,
        })
        .collect();
    if theory {
        let most = series.iter().flat_map(|series| &series.points).map(|mark| mark.x).fold(0.0, f64::max);
        let points = [0.0, most.min(100.0)].map(|x| Mark { x, y: x, range: None }).to_vec();
        series.push(Series { name: "intended load".into(), points, dashed: true, twin: false });
    }
    BenchmarkFigure {
        title: format!("Case {case}: {unit}, over the intended load"),
        x: "intended load, % of the line".into(),
        y: unit.into(),
        series,
        manner: Manner::Lines,
    }
}

/// The same in frames a second (figure 3-2), with the line of what is offered.
fn rates(document: &Benchmark, case: &str, sizes: &[Option<u32>]) -> BenchmarkFigure {
    let mut series: Vec<Series> = sizes
        .iter()
        .map(|size| {
            let here = series(document, case, *size, "forwarded_pps");
            let mut points: Vec<Mark> = here
                .filter_map(|result| {
                    Some(Mark { x: result.theoretical?, y: result.mean?, range: result.interval })
                })
                .collect();
            points.sort_by(|a, b| a.x.total_cmp(&b.x));
            Series { name: size_words(*size), points, dashed: false, twin: false }
        })
        .collect();
    let most = series.iter().flat_map(|series| &series.points).map(|mark| mark.x).fold(0.0, f64::max);
    let points = [0.0, most].map(|x| Mark { x, y: x, range: None }).to_vec();
    series.push(Series { name: "intended load".into(), points, dashed: true, twin: false });
    BenchmarkFigure {
        title: format!("Case {case}: received load in frames/s"),
        x: "intended load, frames/s".into(),
        y: "received load, frames/s".into(),
        series,
        manner: Manner::Lines,
    }
}

/// The load that was asked for, percent of the line; in documents from before this was told what was due.
fn requested_load(trial: &Trial) -> f64 {
    trial.requested_load.map_or(trial.intended_load.percent, |asked| asked.percent)
}

/// The trials of a case that count.
fn trials_of<'a>(document: &'a Benchmark, case: &'a str) -> impl Iterator<Item = &'a Trial> {
    document.trials.iter().filter(move |trial| trial.case == case && trial.invalid.is_none())
}

fn trials<'a>(document: &'a Benchmark, case: &'a str, size: Option<u32>) -> impl Iterator<Item = &'a Trial> {
    trials_of(document, case).filter(move |trial| trial.frame_size == size)
}

/// Values of the repeats at each place, the places in order, as one mark each.
fn gathered(values: impl Iterator<Item = (f64, f64)>, how: fn(&[f64]) -> f64) -> Vec<Mark> {
    let mut values: Vec<(f64, f64)> = values.collect();
    values.sort_by(|a, b| a.0.total_cmp(&b.0));
    let places = values.chunk_by(|a, b| (a.0 - b.0).abs() < 1e-3);
    places
        .filter_map(|place| {
            let all: Vec<f64> = place.iter().map(|(_, y)| *y).collect();
            Some(Mark { x: place.first()?.0, y: how(&all), range: None })
        })
        .collect()
}

fn least(values: &[f64]) -> f64 {
    values.iter().copied().fold(f64::INFINITY, f64::min)
}

fn greatest(values: &[f64]) -> f64 {
    values.iter().copied().fold(f64::NEG_INFINITY, f64::max)
}

#[expect(clippy::cast_precision_loss, reason = "a number of repeats")]
fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len() as f64
}

/// Latency with its least and greatest (figures 3-12, 3-14).
fn extremes(document: &Benchmark, case: &str, size: Option<u32>) -> BenchmarkFigure {
    let pick = |name: &str, value: fn(&Trial) -> Option<f64>, how| {
        let values = trials(document, case, size)
            .filter_map(|trial| Some((requested_load(trial), value(trial)? * 1e-3)));
        Series { name: name.into(), points: gathered(values, how), dashed: name != "mean", twin: false }
    };
    BenchmarkFigure {
        title: format!("Case {case}, {}: minimum, mean and maximum latency", size_words(size)),
        x: "intended load, % of the line".into(),
        y: "latency, µs".into(),
        series: vec![
            pick("minimum", |trial| trial.latency_ns.min, least),
            pick("mean", |trial| trial.latency_ns.mean, mean),
            pick("maximum", |trial| trial.latency_ns.max, greatest),
        ],
        manner: Manner::Lines,
    }
}

/// What each class of a scheduler carries over the load, and what it is owed: where large frames of a low class carry more
/// than small ones of a high one, as in figure 1-5, it is seen here.
fn classes(document: &Benchmark, case: &str, size: Option<u32>) -> BenchmarkFigure {
    let here = || {
        trials(document, case, size)
            .filter(|trial| trial.per_stream.iter().any(|one| one.expected_l2_bps.is_some()))
    };
    let count = here().map(|trial| trial.per_stream.len()).max().unwrap_or(0);
    let of = |class: usize| {
        here().filter_map(move |trial| Some((requested_load(trial), trial.per_stream.get(class)?)))
    };
    let mut series = Vec::new();
    for class in 0..count {
        let Some((_, first)) = of(class).next() else { continue };
        let octets = first.frame_octets.map_or_else(String::new, |octets| format!(", {octets:.0} B"));
        let forwarded = of(class).map(|(load, one)| (load, one.forwarded_l2_bps / 1e6));
        series.push(Series {
            name: format!("stream {}{octets}", first.name.chars().take(15).collect::<String>()),
            points: gathered(forwarded, mean),
            dashed: false,
            twin: false,
        });
        let owed = |end: usize| {
            gathered(of(class).filter_map(|(load, one)| Some((load, one.expected_l2_bps?[end] / 1e6))), mean)
        };
        let owed = owed(0).into_iter().zip(owed(1)).map(|(low, high)| Mark {
            y: f64::midpoint(low.y, high.y),
            range: (high.y - low.y > 1e-9).then_some([low.y, high.y]),
            ..low
        });
        series.push(Series {
            name: "   expected share".into(),
            points: owed.collect(),
            dashed: true,
            twin: true,
        });
    }
    BenchmarkFigure {
        title: format!("Case {case}, {}: received load and share of each class", size_words(size)),
        x: "intended load, % of the line".into(),
        y: "received load, Mbit/s (layer 2)".into(),
        series,
        manner: Manner::Lines,
    }
}

/// The methods of jitter, and their quantities (Chadda 2004, section 2.5).
pub(super) const METHODS: [(&str, &str); 4] = [
    ("1: maximum minus minimum", "jitter_peak_to_peak_ns"),
    ("2: inter-arrival difference", "jitter_inter_arrival_difference_ns"),
    ("3: latency difference", "jitter_delay_difference_ns"),
    ("4: deviation from mean", "jitter_deviation_from_mean_ns"),
];

/// The jitters by their methods.
fn by_method(document: &Benchmark, case: &str, size: Option<u32>) -> BenchmarkFigure {
    let series = METHODS.map(|(name, quantity)| Series {
        name: name.into(),
        points: marks(series(document, case, size, quantity)),
        dashed: false,
        twin: false,
    });
    BenchmarkFigure {
        title: format!("Case {case}, {}: jitter by method", size_words(size)),
        x: "intended load, % of the line".into(),
        y: "jitter, µs".into(),
        series: series.into(),
        manner: Manner::Lines,
    }
}

/// From least to greatest latency by size, at the greatest load (figures 3-16, 3-18, 3-20): a bar's length is the jitter by
/// its first method, and its dot is the mean.
fn high_and_low(document: &Benchmark, case: &str) -> BenchmarkFigure {
    let here: Vec<&Trial> = trials_of(document, case).collect();
    let most = here.iter().map(|trial| requested_load(trial)).fold(0.0, f64::max);
    let at = |value: fn(&Trial) -> Option<f64>, how| {
        let values = here
            .iter()
            .filter(|trial| requested_load(trial) > most - 1.0 && trial.latency_ns.min.is_some())
            .filter_map(|trial| Some((f64::from(trial.frame_size?), value(trial)? * 1e-3)));
        gathered(values, how)
    };
    let ends =
        at(|trial| trial.latency_ns.min, least).into_iter().zip(at(|trial| trial.latency_ns.max, greatest));
    let bars = ends.zip(at(|trial| trial.latency_ns.mean, mean));
    let points = bars.map(|((low, high), middle)| Mark { range: Some([low.y, high.y]), ..middle }).collect();
    let name = "minimum to maximum, and mean".into();
    BenchmarkFigure {
        title: format!("Case {case}: minimum and maximum latency by frame size at {most:.0} % of the line"),
        x: "frame size, bytes".into(),
        y: "latency, µs".into(),
        series: vec![Series { name, points, dashed: false, twin: false }],
        manner: Manner::Bars,
    }
}

/// The cases over one another, with their intervals, side by side.
fn overlaid(
    document: &Benchmark,
    cases: &[String],
    size: Option<u32>,
    quantity: &str,
    unit: &str,
) -> BenchmarkFigure {
    let series = cases.iter().map(|case| Series {
        name: case.clone(),
        points: marks(series(document, case, size, quantity)),
        dashed: false,
        twin: false,
    });
    BenchmarkFigure {
        title: format!("All cases, {}: {unit}", size_words(size)),
        x: "intended load, % of the line (cases drawn side by side)".into(),
        y: unit.into(),
        series: series.collect(),
        manner: Manner::SideBySide,
    }
}

/// The throughput by frame size, with the line's own.
fn throughput(document: &Benchmark, cases: &[String]) -> BenchmarkFigure {
    let found = |case: &str, value: fn(&BenchmarkResult) -> Option<f64>| {
        let here = document
            .results
            .iter()
            .filter(|result| result.quantity == "throughput_pps" && result.case == case);
        let mut points: Vec<Mark> = here
            .filter_map(|result| {
                Some(Mark { x: f64::from(result.frame_size?), y: value(result)?, range: result.interval })
            })
            .collect();
        points.sort_by(|a, b| a.x.total_cmp(&b.x));
        points
    };
    let mut series: Vec<Series> = cases
        .iter()
        .map(|case| Series {
            name: case.clone(),
            points: found(case, |result| result.mean),
            dashed: false,
            twin: false,
        })
        .collect();
    if let Some(case) = cases.first() {
        let mut points = found(case, |result| result.theoretical);
        for point in &mut points {
            point.range = None;
        }
        series.push(Series { name: "line".into(), points, dashed: true, twin: false });
    }
    BenchmarkFigure {
        title: "Throughput by frame size".into(),
        x: if cases.len() > 1 { "frame size, bytes (cases drawn side by side)" } else { "frame size, bytes" }
            .into(),
        y: "throughput, frames/s".into(),
        series,
        manner: Manner::SideBySide,
    }
}

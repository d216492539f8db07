use super::draw::{BenchmarkFigure, Manner, Mark, Series, svg};
use super::figures::METHODS;
use super::*;
use crate::escape::markup;
use romer_record::benchmark::Overall;
use romer_record::benchmark::{
    BENCHMARK, BenchmarkResult, Device, InvalidTrial, Load, Setup, SizeResult, StreamResult, Trial,
};
use romer_record::document::Summary;
use romer_record::warning::BenchmarkWarning;

/// A sweep of two cases whose names try to speak to the page.
pub(super) fn document() -> Benchmark {
    let result = |case: &str, load: f64, quantity: &str, mean: f64| BenchmarkResult {
        case: case.into(),
        frame_size: Some(64),
        load_percent: Some(load),
        quantity: quantity.into(),
        count: 3,
        mean: Some(mean),
        interval: Some([mean * 0.9, mean * 1.1]),
        ..BenchmarkResult::default()
    };
    let mut results = Vec::new();
    for case in ["none", "<script>"] {
        for load in [10.0, 50.0, 90.0] {
            results.push(result(case, load, "forwarded_percent", load));
            results.push(result(case, load, "latency_mean_ns", load * 1_000.0));
            for (_, quantity) in METHODS {
                results.push(result(case, load, quantity, load * 100.0));
            }
        }
    }
    Benchmark {
        schema: BENCHMARK.into(),
        started: String::new(),
        ended: String::new(),
        partial: false,
        procedure: "load-sweep".into(),
        criterion: String::new(),
        dut: Device::default(),
        setup: Setup::default(),
        trials: Vec::new(),
        results,
        differences: Vec::new(),
        overall: Vec::new(),
        verdicts: Vec::new(),
        outliers: Vec::new(),
        events: Vec::new(),
        calibration: None,
        self_test: None,
        limits: Vec::new(),
        warnings: vec![BenchmarkWarning::StreamFramesTooShort {
            stream: "a & b".into(),
            requested_bytes: 64,
            sent_bytes: 76,
        }],
    }
}

#[test]
fn every_figure_has_its_lines_and_none_is_empty() {
    let figures = figures(&document());
    let titles: Vec<&str> = figures.iter().map(|figure| figure.title.as_str()).collect();
    assert!(
        titles.contains(&"Case none: received load, % of the line, over the intended load"),
        "{titles:?}"
    );
    assert!(titles.contains(&"All cases, 64 B: mean latency, µs"), "{titles:?}");
    assert!(!titles.iter().any(|title| title.contains("Throughput")), "there is none: {titles:?}");
    for figure in &figures {
        assert!(figure.svg.contains("<circle") && figure.svg.ends_with("</svg>"), "{}", figure.title);
        assert!(!figure.svg.contains("NaN") && !figure.svg.contains("inf"), "{}", figure.svg);
        assert!(figure.name.chars().all(|c| c.is_ascii_alphanumeric() || c == '-'), "{}", figure.name);
    }
    // Jitter by each method, case beside case.
    for method in ["1: maximum minus minimum", "4: deviation from mean"] {
        let title = format!("All cases, 64 B: jitter by method {method}, µs");
        assert!(titles.contains(&title.as_str()), "{titles:?}");
    }
    assert!(titles.contains(&"Case none, 64 B: jitter by method"), "{titles:?}");
    let mut names: Vec<&str> = figures.iter().map(|figure| figure.name.as_str()).collect();
    names.sort_unstable();
    names.dedup();
    assert_eq!(names.len(), figures.len(), "each has a file of its own");
    // No name is cut off, and there is room for it: 27 letters.
    let by_method = figures.iter().find(|figure| figure.title.ends_with("jitter by method")).unwrap();
    assert!(by_method.svg.contains(">2: inter-arrival difference</text>"), "{}", by_method.svg);
    assert!(by_method.svg.contains("viewBox=\"0 0 748 360\""), "{}", by_method.svg);
    // Intervals of two cases at one load stand beside one another.
    let all = figures.iter().find(|figure| figure.title.ends_with("64 B: mean latency, µs")).unwrap();
    let intervals: Vec<&str> = all.svg.split("<path d=\"M").filter(|path| path.contains("opacity")).collect();
    let places: std::collections::BTreeSet<&str> =
        intervals.iter().filter_map(|path| path.split(' ').next()).collect();
    assert_eq!((intervals.len(), places.len()), (6, 6), "{places:?}");
    assert!(all.svg.contains("(cases drawn side by side)"));
    // A file of its own says what it shows; on a page the heading does.
    for figure in &figures {
        let title = format!(">{}</text>", markup(&figure.title));
        assert_eq!(
            [&figure.alone, &figure.svg].map(|svg| svg.contains(&title)),
            [true, false],
            "{}",
            figure.title
        );
    }
    // The theoretical line is dashed.
    assert!(figures[0].svg.contains("stroke-dasharray"));
}

/// A trial in which large frames of the second class carry more than they are owed.
fn classes(load: f64) -> Trial {
    let stream = |name: &str, octets: f64, forwarded: f64, owed: f64| StreamResult {
        name: name.into(),
        frame_octets: Some(octets),
        forwarded_l2_bps: forwarded,
        expected_l2_bps: Some([owed, owed]),
        ..StreamResult::default()
    };
    Trial {
        case: "none".into(),
        frame_size: Some(64),
        intended_load: Load { percent: load, ..Load::default() },
        per_stream: vec![stream("voice", 64.0, 1e6, 4e6), stream("bulk", 1_518.0, 5e6, 2e6)],
        ..Trial::default()
    }
}

#[test]
fn what_classes_carry_is_drawn_beside_what_they_are_owed() {
    let mut document = document();
    document.trials = vec![classes(50.0), classes(90.0), classes(90.0)];
    let figures = figures(&document);
    let drawn =
        figures.iter().find(|figure| figure.title.contains("received load and share of each class")).unwrap();
    assert!(drawn.svg.contains("voice, 64 B") && drawn.svg.contains("bulk, 1518 B"), "{}", drawn.svg);
    // Two places for each class, however often they were tried; what is owed has the colour of its class.
    assert_eq!(drawn.svg.matches("<circle").count(), 4);
    assert_eq!(drawn.svg.matches("stroke-dasharray").count(), 4, "two lines, and two in the legend");
    // Where there is but one load, what is owed is a short line at its place.
    document.trials.truncate(1);
    let figures = super::figures(&document);
    let drawn =
        figures.iter().find(|figure| figure.title.contains("received load and share of each class")).unwrap();
    assert_eq!(drawn.svg.matches("h28\" fill=\"none\"").count(), 2, "{}", drawn.svg);
    assert_eq!(drawn.svg.matches("#d55e00").count(), drawn.svg.matches("#0072b2").count());
    assert!(!figures.iter().any(|figure| figure.title.contains("<script>") && figure.title.contains("owed")));
}

#[test]
fn from_least_to_greatest_is_a_bar_for_each_size() {
    let trial = |octets: u32, percent: f64, [low, middle, high]: [f64; 3]| Trial {
        case: "none".into(),
        frame_size: Some(octets),
        intended_load: Load { percent, ..Load::default() },
        latency_ns: Summary { min: Some(low), mean: Some(middle), max: Some(high), ..Summary::default() },
        ..Trial::default()
    };
    let mut document = document();
    document.trials = vec![
        trial(64, 95.0, [10e3, 20e3, 40e3]),
        trial(64, 95.0, [12e3, 40e3, 100e3]),
        trial(1_518, 95.0, [50e3, 60e3, 70e3]),
        trial(64, 10.0, [1e3, 1e3, 900e3]),
    ];
    let figures = figures(&document);
    let drawn = figures.iter().find(|figure| figure.title.contains("by frame size at 95 %")).unwrap();
    // From 10 to 100 us of an axis of 0 to 100 us, and from 50 to 70: of 302 from top to bottom.
    let bars: Vec<[f64; 2]> = drawn
        .svg
        .split("<path d=\"M")
        .filter(|path| path.contains("stroke-width=\"6\""))
        .map(|path| {
            let ends = path.split(' ').nth(1).unwrap().split('"').next().unwrap();
            let (low, high) = ends.split_once('V').unwrap();
            [low, high].map(|end| ((314.0 - end.parse::<f64>().unwrap()) / 3.02).round())
        })
        .collect();
    assert_eq!(bars, [[10.0, 100.0], [50.0, 70.0]], "{}", drawn.svg);
    assert_eq!(drawn.svg.matches("<circle").count(), 2);
    assert!(
        !drawn.svg.contains("fill=\"none\"") || !drawn.svg.contains('L'),
        "bars are not joined: {}",
        drawn.svg
    );
}

#[test]
fn an_interval_that_goes_on_beyond_its_figure_is_marked_there() {
    let mut document = document();
    let arrows = |document: &Benchmark| {
        let figures = figures(document);
        let one = figures.iter().find(|figure| figure.title == "Case none, 64 B: jitter by method").unwrap();
        one.svg
            .split("<title>continues to ")
            .skip(1)
            .map(|rest| rest.split('<').next().unwrap().to_owned())
            .collect()
    };
    let none: Vec<String> = arrows(&document);
    assert_eq!(none, Vec::<String>::new());
    let wide = document.results.iter_mut().find(|result| result.quantity == METHODS[1].1).unwrap();
    wide.interval = Some([-30e3, 51.5e3]);
    assert_eq!(arrows(&document), ["-30.0 µs", "51.5 µs"]);
}

#[test]
fn what_a_mixture_lost_is_listed_by_size() {
    let size = |min_octets, max_octets, lost| SizeResult { min_octets, max_octets, offered: 100, lost };
    let mut document = document();
    assert!(!page(&document).contains("by size"), "of one size there is nothing to list");
    let stream = StreamResult {
        per_size: vec![size(64, 64, 0), size(128, 128, 0), size(512, 512, 7), size(65, 1_517, 2)],
        ..StreamResult::default()
    };
    let trial = Trial { case: "none".into(), per_stream: vec![stream], ..Trial::default() };
    document.trials = vec![trial.clone(), trial];
    let page = page(&document);
    assert!(page.contains("by size") && page.contains("<li>none, 512 bytes: 14 of 200</li>"), "{page}");
    assert!(page.contains("<li>none, other sizes, 65 to 1517 bytes: 4 of 200</li>"), "{page}");
    assert!(page.contains("<li>none, 2 sizes or ranges of sizes: 0 of 400</li>"), "{page}");
}

#[test]
fn the_table_has_every_result() {
    let mut document = document();
    let table = csv(&document);
    assert_eq!(table.lines().count(), document.results.len() + 1);
    let columns = table.lines().next().unwrap().split(',').count();
    assert!(table.lines().skip(1).all(|line| line.split(',').count() == columns), "{table}");
    assert!(table.contains("none,64,10,forwarded_percent,3,10,,9,11,,,,,\n"), "{table}");
    document.results[0].case = "with \"RED\", full".into();
    assert!(
        csv(&document).contains("\n\"with \"\"RED\"\", full\",64,10,forwarded_percent,3,"),
        "{}",
        csv(&document)
    );
}

/// The page starts with results, each figure is on it once, and those that do not lead are closed.
#[test]
fn results_come_first_and_every_figure_once() {
    let html = page(&document());
    let figures = figures(&document());
    for figure in &figures {
        assert_eq!(html.matches(&format!(" id=\"{}\"", figure.name)).count(), 1, "{}", figure.name);
        let place = html.find(&format!(" id=\"{}\"", figure.name)).unwrap();
        let closed = html.find("<details>").unwrap();
        assert_eq!(place < closed, figure.leads, "{}", figure.title);
    }
    let place = |part: &str| html.find(part).unwrap_or_else(|| panic!("{part}: {html}"));
    assert!(
        place("<p class=\"verdict\">") < place("id=\"results\"")
            && place("id=\"results\"") < place("<h2 id=\"01-")
    );
    assert!(place("<h2 id=\"01-") < place("<h2>Test setup</h2>"));
    let nothing = page(&Benchmark { results: Vec::new(), ..document() });
    assert!(!nothing.contains("id=\"results\"") && !nothing.contains("<details>"), "{nothing}");
}

/// Names from outside are text on the page: the only scripts are those of the page.
#[test]
fn nothing_of_the_document_speaks_to_the_page() {
    let page = page(&document());
    assert!(page.contains("&lt;script&gt;") && page.matches("<script").count() == 3);
    assert!(page.contains("a &amp; b"));
}

#[test]
fn numbers_that_are_none_draw_nothing() {
    let mut document = document();
    for result in &mut document.results {
        result.mean = None;
    }
    assert_eq!(figures(&document).len(), 0);
    document.results.clear();
    assert!(page(&document).ends_with("</html>\n"));
}

#[test]
fn each_stream_and_every_marking_is_on_the_page() {
    let trial = |name: &str, lost: u64, median: f64, invalid: Option<InvalidTrial>| {
        let latency_ns =
            Summary { min: Some(1e3), median: Some(median), max: Some(9e3), ..Summary::default() };
        let stream = StreamResult {
            name: "<voice>".into(),
            offered: 100,
            forwarded: 100 - lost,
            lost,
            latency_ns,
            ..StreamResult::default()
        };
        let came = |came: &str, count: u64| (came.to_owned(), count);
        Trial {
            case: name.into(),
            per_stream: vec![stream],
            markings: [("cs0".to_owned(), [came("cs0", 90), came("af41", 10)].into())].into(),
            invalid,
            ..Trial::default()
        }
    };
    let mut document = document();
    document.trials = vec![
        trial("none", 3, 2e3, None),
        trial("none", 0, 5e3, None),
        trial("none", 90, 1e9, Some(InvalidTrial::ClockSet)),
        trial("remark", 0, 3e3, None),
    ];
    let rows = streams(&document);
    assert_eq!(rows.len(), 2);
    assert_eq!((rows[0].offered, rows[0].lost(), rows[0].latency), (200, 3, Some([1e3, 3.5e3, 9e3])));
    assert!(rows[0].text().contains("197 of 200 frames received, 3 lost (1.500 %)"), "{}", rows[0].text());
    let told = markings(&document);
    assert!(told.contains(&("none: 20 of 200 frames sent as cs0 were received as af41".into(), true)));
    assert!(told.contains(&("remark: 90 of 100 frames sent as cs0 were received as cs0".into(), false)));
    let page = page(&document);
    assert!(page.contains("<th>none, &lt;voice&gt;</th><td>200</td><td>197</td><td>3</td>"), "{page}");
    assert!(page.contains("20 of 200 frames sent as cs0 were received as af41"));
}

#[test]
fn what_a_case_costs_has_an_interval_over_repeats_or_says_why_not() {
    let one = Overall {
        from: "none".into(),
        to: "remark".into(),
        quantity: "latency_median_ns".into(),
        combinations: 50,
        repeats: 5,
        median: Some(1_700.0),
        median_interval: Some([1_500.0, 1_900.0]),
        ..Overall::default()
    };
    let told = overall_words(&one);
    assert!(
        told.replace('\u{a0}', " ")
            .ends_with("over 50 combinations of size and load: median latency +1.70 µs (median), 95 % CI +1.50 µs to +1.90 µs (5 repeats)"),
        "{told}"
    );
    let alone = overall_words(&Overall { repeats: 1, median_interval: None, ..one.clone() });
    assert!(
        alone
            .replace('\u{a0}', " ")
            .contains("median latency +1.70 µs (median); no interval from a single repeat"),
        "{alone}"
    );
    let nothing = overall_words(&Overall { median_interval: Some([-200.0, 3_000.0]), ..one });
    assert!(nothing.ends_with("(5 repeats), not significant"), "{nothing}");
}

#[test]
fn an_amount_has_the_unit_of_its_quantity() {
    for (quantity, value, shown) in [
        ("latency_p99_ns<=1us", 40_136.12, "40.1 µs"),
        ("latency_median_ns", -811.8, "-812 ns"),
        ("forwarded_percent >= 99", 52.36, "52.36 %"),
        ("loss_ratio <= 1%", 0.1, "10.0 %"),
        ("latency.max<1ms", 2_500_000.0, "2.50 ms"),
        ("latency_mean_ns.max < 1ms", 2_500_000.0, "2.50 ms"),
    ] {
        assert_eq!(amount(quantity, value).replace('\u{a0}', " "), shown);
    }
}

#[test]
fn as_many_lines_as_a_figure_may_have_are_told_apart_without_their_colours_being_enough() {
    let series = (0..40).map(|number| Series {
        name: format!("{number} B"),
        points: [1.0, 2.0].map(|x| Mark { x, y: x, range: None }).to_vec(),
        dashed: false,
        twin: false,
    });
    let figure = BenchmarkFigure {
        title: String::new(),
        x: String::new(),
        y: String::new(),
        series: series.collect(),
        manner: Manner::Lines,
    };
    let drawn = svg(&figure);
    let end = |width: &str| format!(" stroke-width=\"{width}\"");
    // The colour and the dashes of each line, and of each in the legend.
    let styles = |width: &str| -> Vec<String> {
        let paths = drawn.split("<path ").filter(|path| path.contains(&end(width)));
        let style = |path: &str| path.split_once(" stroke=").unwrap().1.split_once('>').unwrap().0.to_owned();
        paths.map(|path| style(path).replace(&end(width), "").replace('/', "")).collect()
    };
    let (lines, legend) = (styles("1.6"), styles("2"));
    assert_eq!((lines.len(), &lines), (40, &legend));
    let apart: std::collections::BTreeSet<&String> = lines.iter().collect();
    // Where the dashes come again after four rounds of eight colours, the shapes of the points differ.
    assert_eq!(apart.len(), 32, "{apart:?}");
    assert!(lines[..8].iter().all(|style| !style.contains("dasharray")), "{lines:?}");
    assert!(lines[8..16].iter().all(|style| style.contains("stroke-dasharray=\"2 3\"")), "{lines:?}");
    // Two points of each and one in the legend: sixteen squares have a third.
    assert_eq!(drawn.matches("m-2.6 -2.6h5.2v5.2h-5.2z").count(), 8 * 3);
}

use super::*;
use romer_record::benchmark::{BENCHMARK, Device, Setup};

/// A sweep of two cases whose names try to speak to the page.
fn document() -> Benchmark {
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
            results.push(result(case, load, "carried_percent", load));
            results.push(result(case, load, "latency_mean_ns", load * 1_000.0));
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
        verdicts: Vec::new(),
        soft_spots: Vec::new(),
        events: Vec::new(),
        calibration: None,
        self_test: None,
        limits: Vec::new(),
        warnings: vec!["a & b".into()],
    }
}

#[test]
fn every_figure_has_its_lines_and_none_is_empty() {
    let figures = figures(&document());
    let titles: Vec<&str> = figures.iter().map(|figure| figure.title.as_str()).collect();
    assert!(titles.contains(&"Case none: carried load, % of the line, over the offered load"), "{titles:?}");
    assert!(titles.contains(&"All cases, 64 octets: mean latency, us"), "{titles:?}");
    assert!(!titles.iter().any(|title| title.contains("Throughput")), "there is none: {titles:?}");
    for figure in &figures {
        assert!(figure.svg.contains("<circle") && figure.svg.ends_with("</svg>"), "{}", figure.title);
        assert!(!figure.svg.contains("NaN") && !figure.svg.contains("inf"), "{}", figure.svg);
        assert!(figure.name.chars().all(|c| c.is_ascii_alphanumeric() || c == '-'), "{}", figure.name);
    }
    // The theoretical line is dashed.
    assert!(figures[0].svg.contains("stroke-dasharray"));
}

#[test]
fn nothing_of_the_document_speaks_to_the_page() {
    let page = page(&document());
    assert!(page.contains("&lt;script&gt;") && !page.contains("<script>"));
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

//! A path beside its emulation, in figures, on a terminal and as a page.
#![expect(clippy::unwrap_used, reason = "a test's helpers fail the test")]

mod common;

use common::{Made, Path, bad, good, hostile, make};
use romer_record::closed_loop::{ClosedLoop, LoopDirection, LoopFigure, LoopResult, LoopVerdict};
use romer_record::document::{DelayKind, Summary};
use romer_record::warning::{Compared, ComparisonWarning, ModelWarning};
use romer_report::closed_loop::{EmulatedModel, EmulatorLateness, closed_loop, page, text};
use romer_report::comparison::Subject;
use romer_report::text::TextStyle;
use romer_report::warning::Text;

fn subject<'a>(name: &'a str, made: &'a Made) -> Subject<'a> {
    Subject { name, stream: made.stream() }
}

fn compared(path: &Made, emulation: &Made) -> ClosedLoop {
    compared_with(path, emulation, <[EmulatorLateness; 2]>::default())
}

fn compared_with(path: &Made, emulation: &Made, lateness: [EmulatorLateness; 2]) -> ClosedLoop {
    let emulated = EmulatedModel {
        scenario: "a_to_b.delay.fixed = \"14ms\"\n".into(),
        stream: 0,
        seed: Some([1, 2, 3, 4, 5, 6]),
        model: Vec::new(),
        warnings: vec![ModelWarning::DelaysRelative],
        emulator_delay_ns: [Some(40_000.0), None],
        lateness,
    };
    closed_loop(&subject("path", path), &subject("emulated", emulation), emulated).unwrap()
}

fn figure<'a>(direction: &'a LoopDirection, name: &str) -> &'a LoopFigure {
    direction.figures.iter().find(|figure| figure.figure == name).unwrap()
}

fn close(found: Option<f64>, expected: f64, tolerance: f64) {
    assert!((found.unwrap() - expected).abs() <= tolerance, "{found:?}, not {expected}");
}

/// A run beside itself has no difference and no distance, and is reproduced.
#[test]
fn a_run_reproduces_itself() {
    let made = make(&Path { lost_one_in: 90, ..good() });
    let found = compared(&made, &made);
    assert_eq!(found.verdict, LoopVerdict::Reproduced);
    for direction in &found.directions {
        for figure in &direction.figures {
            close(figure.difference, 0.0, 1e-9);
            assert_ne!(figure.result, Some(LoopResult::Differs), "{figure:?}");
        }
        assert!(
            figure(direction, "wasserstein_ns").halves.unwrap() > 0.0,
            "the wave of the path is no chance"
        );
        assert!(direction.autocorrelation.iter().all(|lag| lag.path == lag.emulation));
        assert!(
            direction.loss_periods.iter().all(|period| period.path == period.emulation && period.path > 0)
        );
    }
    // The mean delay in the emulator is known of one direction only.
    close(
        found.directions[0].added_ns,
        figure(&found.directions[0], "delay_ns.mean").path.unwrap() - 40_000.0,
        1e-3,
    );
    assert_eq!(found.directions[1].added_ns, None);
}

/// A path that is 5 ms shorter than its emulation: both distances say so, and the verdict names the figures that differ and no other.
#[test]
fn a_longer_emulation_differs() {
    let path = make(&good());
    let emulation = make(&Path { base_ns: [5_052_000.0, 58_000.0], ..good() });
    let found = compared(&path, &emulation);
    assert_eq!(found.verdict, LoopVerdict::NotReproduced);
    let forward = &found.directions[0];
    for name in ["delay_ns.mean", "delay_ns.median", "delay_ns.p95", "delay_ns.p99", "wasserstein_ns"] {
        close(figure(forward, name).difference, 5e6, 1e-3);
        assert_eq!(figure(forward, name).result, Some(LoopResult::Differs), "{name}");
    }
    close(figure(forward, "kolmogorov_smirnov").difference, 1.0, 1e-9);
    assert_eq!(figure(forward, "kolmogorov_smirnov").result, None, "the tolerance is in milliseconds");
    assert!(forward.text.starts_with("not reproduced: delay mean +5.00"), "{}", forward.text);
    assert!(!forward.text.contains("loss"), "{}", forward.text);
    assert_eq!(found.directions[1].verdict, LoopVerdict::Reproduced, "{:?}", found.directions[1]);
}

/// An emulation that is 5 ms longer than its path is undecided where its emulator was late by as much, and a note says what to do.
#[test]
fn late_emulators_leave_the_verdict_open() {
    let path = make(&good());
    let emulation = make(&Path { base_ns: [5_052_000.0, 58_000.0], ..good() });
    let late = |nanos: f64| {
        let error = Summary {
            count: 100,
            mean: Some(nanos),
            median: Some(nanos),
            p95: Some(nanos),
            p99: Some(nanos),
            ..Summary::default()
        };
        EmulatorLateness([Some(error), None])
    };
    let found = compared_with(&path, &emulation, [EmulatorLateness::default(), late(4.7e6)]);
    assert_eq!(found.verdict, LoopVerdict::Undecided);
    let forward = &found.directions[0];
    assert_eq!(figure(forward, "delay_ns.mean").result, Some(LoopResult::Undecided));
    assert_eq!(figure(forward, "delay_ns.mean").emulator_late_ns, Some(4.7e6));
    assert!(forward.text.starts_with("undecided, beyond the limits by no more than the emulator was late"));
    let is_note = |warning: &&ComparisonWarning| {
        matches!(warning, ComparisonWarning::EmulatorLate { measurement: Compared::B, .. })
    };
    assert!(
        found.warnings.iter().find(is_note).is_some_and(|note| note.text().contains("on an idle machine"))
    );
    let style = TextStyle { color: false, unicode: true, width: 100 };
    assert!(
        text(&found, &style)
            .starts_with("Undecided: the emulation differs from the path, but the emulator was late")
    );
    // An emulator that was late by less does not explain it, nor does a late emulator of the path.
    for lateness in [[EmulatorLateness::default(), late(0.5e6)], [late(4.7e6), EmulatorLateness::default()]] {
        assert_eq!(compared_with(&path, &emulation, lateness).verdict, LoopVerdict::NotReproduced);
    }
    // What the path's own emulator was late is missing in the emulation of its model.
    let shorter = compared_with(&emulation, &path, [late(4.7e6), EmulatorLateness::default()]);
    assert_eq!(shorter.verdict, LoopVerdict::Undecided);
    assert!(shorter.warnings.iter().any(|note| note.text().starts_with("the emulator of the path was late")));
}

/// Where the clock offset of the path is unknown, both are compared above their minimum, and that is said.
#[test]
fn unknown_offset_compares_above_minimum() {
    let path = make(&bad());
    let emulation = make(&Path { shared: true, base_ns: [1e6, 2e6], ..bad() });
    let found = compared(&path, &emulation);
    let forward = &found.directions[0];
    assert_eq!(forward.delay_kind, Some(DelayKind::Variable));
    close(figure(forward, "delay_ns.median").difference, 0.0, 2.0);
    close(figure(forward, "wasserstein_ns").difference, 0.0, 2.0);
    let style = TextStyle { color: false, unicode: true, width: 100 };
    assert!(text(&found, &style).contains("Forward, delay above the minimum: "));
}

/// The text leads with the verdict and fits its width; what came from outside is harmless in it and in the page.
#[test]
fn text_and_page() {
    let (path, emulation) = (make(&hostile()), make(&Path { shared: true, ..bad() }));
    let found = compared(&path, &emulation);
    for width in 40..140 {
        for unicode in [true, false] {
            let text = text(&found, &TextStyle { color: false, unicode, width });
            assert!(text.lines().all(|line| line.chars().count() <= width.max(40)), "{width}:\n{text}");
            assert!(text.starts_with("The emulation") || text.starts_with("Undecided"), "{text}");
            assert!(
                !text.contains('\x1b') && !text.contains('\u{202e}') && text.contains("The lab added"),
                "{text}"
            );
            assert!(unicode || text.is_ascii(), "{text}");
        }
    }
    // A usual terminal has the tolerance and the result of each figure, and no column that does not judge it.
    let text = text(&found, &TextStyle { color: false, unicode: true, width: 80 });
    let headings: Vec<&str> = text.lines().filter(|line| line.contains(" tolerance  ")).collect();
    assert_eq!(headings.len(), found.directions.len(), "{text}");
    assert!(headings.iter().all(|line| line.ends_with("result") && !line.contains("halves")), "{text}");
    let page = page(&found, &subject("path", &path), &subject("emulated", &emulation)).unwrap();
    assert!(!page.contains("<script>alert") && page.contains("&lt;script&gt;alert"));
    let (_, figures) = page.split_once("id=\"figures\">").unwrap();
    for name in ["delay-forward", "distribution-forward", "autocorrelation-forward", "loss-periods-reverse"] {
        assert!(figures.contains(&format!("\"name\":\"{name}\"")), "{name}");
    }
}

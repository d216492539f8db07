//! What a person reads, compared letter by letter with what is kept under `tests/golden`. `ROMER_GOLDEN=write`
//! writes the files anew; look at the difference before it is committed.
#![expect(clippy::unwrap_used, reason = "a test's helpers fail the test")]

mod common;

use std::path::{Path, PathBuf};

use common::{bad, good, hostile, make};
use romer_record::event::{Event, EventDetail, EventLocation};
use romer_record::warning::MeasurementWarning;
use romer_report::text::{TextStyle, summary};
use romer_report::{escape, html, svg};

fn golden(name: &str, found: &str) {
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/golden").join(name);
    if std::env::var_os("ROMER_GOLDEN").is_some_and(|value| value == "write") {
        std::fs::write(&path, found).unwrap();
    }
    let expected = std::fs::read_to_string(&path).unwrap_or_default();
    assert!(found == expected, "{name} differs; ROMER_GOLDEN=write writes it anew. It is now:\n{found}");
}

fn plain(width: usize) -> TextStyle {
    TextStyle { width, ..TextStyle::default() }
}

#[test]
fn the_summary_reads_as_it_is_kept() {
    let kept = Some(Path::new("/home/ole/.local/state/romer/runs/20261107T101112Z-198.18.0.2"));
    let (good, bad) = (make(&good()).measurement, make(&bad()).measurement);
    golden("good-80.txt", &summary(std::slice::from_ref(&good), kept, &plain(80), false));
    golden("bad-80.txt", &summary(std::slice::from_ref(&bad), kept, &plain(80), false));
    golden("bad-80-verbose.txt", &summary(std::slice::from_ref(&bad), kept, &plain(80), true));
    golden("bad-52.txt", &summary(std::slice::from_ref(&bad), kept, &plain(52), false));
    golden("both-120.txt", &summary(&[good.clone(), bad.clone()], kept, &plain(120), false));
    let ascii = TextStyle { unicode: false, ..TextStyle::default() };
    golden("bad-ascii.txt", &summary(std::slice::from_ref(&bad), kept, &ascii, false));
    let color = TextStyle { color: true, ..TextStyle::default() };
    golden("bad-color.txt", &summary(&[bad], kept, &color, false));
}

#[test]
fn a_summary_without_answers_says_so() {
    let mut lost = make(&good()).measurement;
    for direction in [&mut lost.forward, &mut lost.reverse, &mut lost.round_trip] {
        let sent = direction.packets.sent;
        *direction = Default::default();
        direction.packets.sent = sent;
        direction.packets.received = Some(0);
    }
    lost.round_trip.packets.lost = Some(1_500);
    lost.round_trip.loss.ratio = Some(1.0);
    lost.location_error_ns = Default::default();
    lost.partial = true;
    golden("silent-80.txt", &summary(&[lost], None, &plain(80), false));
}

/// Events that differ only in numbers are one counted line; a brief summary has twelve lines of events, a verbose one all.
#[test]
fn events_with_moment_and_count() {
    let mut made = make(&good());
    let event = |second: i64, detail| Event::with(detail, EventLocation::Sender, second * 1_000_000_000, 0);
    let down = |second: i64| {
        let name = char::from_u32(u32::from(b'a') + u32::try_from(second).unwrap()).unwrap();
        event(second, EventDetail::InterfaceDown { interface: format!("<b>{name}"), times: 1 })
    };
    made.measurement.events = (1..15).map(down).collect();
    let icmp =
        |second: i64| event(second, EventDetail::IcmpErrors { packets: second.unsigned_abs(), report: None });
    made.measurement.events.extend((20..25).map(icmp));
    let flat = |verbose| {
        let text = summary(std::slice::from_ref(&made.measurement), None, &plain(80), verbose);
        text.split_whitespace().collect::<Vec<_>>().join(" ")
    };
    let brief = flat(false);
    assert!(brief.contains("Event t = 12.0 s: interface <b>m went down"), "{brief}");
    assert!(!brief.contains("<b>n") && brief.contains("and 3 more (--verbose)"), "{brief}");
    assert!(
        flat(true).contains("5 times, t = 20.0 s to 24.0 s: ICMP error from the path, for 20 to 24 probes"),
        "{}",
        flat(true)
    );
    let page = html::report(&[made.stream()]).unwrap();
    for name in 'b'..='o' {
        assert!(page.contains(&format!("interface &lt;b&gt;{name} went down")), "{name}");
    }
    assert!(page.contains("event"));
}

/// Findings and ratings are within the first 24 lines, whatever notes there are; what is of time stamps is for verbose ones.
#[test]
fn results_are_on_the_first_screen() {
    let mut made = make(&bad());
    made.measurement.warnings = vec![
        MeasurementWarning::DepartureLate { location: EventLocation::Sender, late_ns: 300_000_000 },
        MeasurementWarning::PortUnreachable { probes: 1 },
    ];
    let text = |verbose| summary(std::slice::from_ref(&made.measurement), None, &plain(80), verbose);
    let screen = text(false).lines().take(24).map(str::to_owned).collect::<Vec<_>>();
    for part in ["Forward", "Reverse", "Round trip", "Failed", "Passed", "Route change, forward"] {
        assert!(screen.iter().any(|line| line.contains(part)), "{part}: {screen:#?}");
    }
    assert!(text(false).contains("nothing listens on the port") && text(false).contains("1 note on hosts"));
    assert!(!text(false).contains("300 ms late") && !text(false).contains("Stamps"));
    assert!(text(true).contains("300 ms late") && text(true).contains("t2 (received)"));
    let page = html::report(&[made.stream()]).unwrap();
    let (before, setup) = page.split_once("<h2>Test setup</h2>").unwrap();
    assert!(!before.contains("late, and those due") && setup.contains("late, and those due"));
    let place = |part: &str| page.find(part).unwrap();
    assert!(
        place("<h2>Findings</h2>") < place("<table") && place("<h2>Findings</h2>") < place("nothing listens")
    );
}

#[test]
fn no_line_is_wider_than_the_terminal() {
    let made = [good(), bad(), hostile()].map(|path| make(&path).measurement);
    for width in 40..130 {
        for unicode in [true, false] {
            let text =
                summary(&made, Some(Path::new("/a/b")), &TextStyle { width, unicode, color: false }, false);
            let widest = text.lines().map(|line| line.chars().count()).max().unwrap();
            assert!(widest <= width.clamp(40, 110), "{widest} columns of {width}:\n{text}");
            assert!(unicode || text.is_ascii(), "{text}");
        }
    }
}

#[test]
fn a_hostile_name_does_nothing_anywhere() {
    let made = make(&hostile());
    let text = summary(std::slice::from_ref(&made.measurement), None, &plain(80), false);
    assert!(!text.contains(|c: char| c.is_control() && c != '\n') && !text.contains('\u{202e}'), "{text}");
    let page = html::report(&[made.stream()]).unwrap();
    assert!(!page.contains(|c: char| c.is_control() && c != '\n') && !page.contains('\u{202e}'));
    assert!(
        page.contains("&lt;script&gt;") && page.matches("<script").count() == 3,
        "only those of the page"
    );
    assert!(page.matches("</script").count() == 3);
}

#[test]
fn the_page_needs_nothing_from_outside_and_is_well_formed() {
    let made = [make(&good()), make(&bad())];
    let page = html::report(&[made[0].stream(), made[1].stream()]).unwrap();
    let (shown, script) = page.split_once("<script").unwrap();
    for outside in
        ["http://", "https://", "@import", "src=", "href=", "<link", "fetch(", "XMLHttp", "import("]
    {
        assert!(!script.contains(outside), "{outside}");
    }
    // Links lead to parts of the page.
    let shown = shown.replace(" href=\"#", " ");
    for outside in ["http://", "https://", "url(", "@import", "src=", "href=", "<link", "NaN", "inf"] {
        let found = shown.find(outside).map(|at| &shown[at.saturating_sub(60)..(at + 60).min(shown.len())]);
        assert!(found.is_none(), "{outside}: {found:?}");
    }
    assert!(!page.contains("\"#0"), "a marker colour was left");
    balanced(shown_part(&page));
    for chart in made.iter().flat_map(|made| svg::charts(&made.stream()).unwrap()) {
        assert!(chart.svg.starts_with("<svg xmlns=") && !chart.svg.contains("var("), "{}", chart.name);
        assert!(!chart.svg.contains("NaN") && !chart.svg.contains("<circle"));
        // Each says by itself of what it is and what it draws.
        let (title, rest) = chart.svg.split_once("<title>").unwrap().1.split_once("</title>").unwrap();
        assert!(title.starts_with(&escape::markup(&chart.title)) && title.contains(" – Path to "), "{title}");
        let desc = rest.split_once("<desc>").unwrap().1.split_once("</desc>").unwrap().0;
        assert!(desc.contains(&escape::markup(&chart.caption)) && desc.contains(" from "), "{desc}");
        balanced(&chart.svg);
    }
}

/// The page without its data and its script, which are no markup, and what is open around them.
fn shown_part(page: &str) -> &str {
    let (shown, _) = page.split_once("<script").unwrap();
    let (_, shown) = shown.split_once("<main>").unwrap();
    shown.trim_end().strip_suffix("</main>").unwrap()
}

/// Every element is closed in its turn.
fn balanced(markup: &str) {
    const VOID: [&str; 2] = ["meta", "!doctype"];
    let mut open: Vec<&str> = Vec::new();
    for tag in markup.split('<').skip(1).map(|rest| rest.split('>').next().unwrap()) {
        let name = tag.split([' ', '/', '\n']).find(|part| !part.is_empty()).unwrap();
        if tag.starts_with('/') {
            assert_eq!(open.pop(), Some(name), "</{name}> closes something else");
        } else if !tag.ends_with('/') && !VOID.contains(&name) {
            open.push(name);
        }
    }
    assert!(open.is_empty(), "never closed: {open:?}");
}

#[test]
fn a_long_run_makes_no_long_page() {
    let made = make(&common::Path { probes: 200_000, ..bad() });
    let page = html::report(&[made.stream()]).unwrap();
    assert!(page.len() < 2_000_000, "{} octets", page.len());
}

#[test]
fn a_page_says_of_what_was_held_against_chance_and_of_nothing_else_that_it_was() {
    let mut made = make(&bad());
    // A TTL that changed, changed.
    made.measurement.findings.last_mut().unwrap().false_alarm_probability = None;
    let all = made.measurement.findings.clone();
    let page_with = |made: &common::Made| html::report(&[made.stream()]).unwrap();
    assert!(page_with(&made).contains("of each pattern (except changes of the TTL): at most 1e-6"));
    made.measurement.findings.retain(|finding| finding.false_alarm_probability.is_none());
    let page = page_with(&made);
    assert!(page.contains("<h2>Findings</h2>") && !page.contains("False-alarm"));
    made.measurement.findings = all.into_iter().filter(|one| one.false_alarm_probability.is_some()).collect();
    assert!(page_with(&made).contains("False-alarm probability of each pattern: at most 1e-6"));
}

#[test]
fn one_packet_is_told_as_one() {
    let made = make(&common::Path { probes: 1, lost_one_in: 0, ..good() });
    let text = summary(&[made.measurement], None, &plain(100), false).replace('\u{a0}', " ");
    assert!(!text.contains("None of 1 "), "{text}");
}

#[test]
fn little_or_nothing_measured_makes_a_page_too() {
    for probes in [0, 1, 2] {
        let made = make(&common::Path { probes, ..good() });
        let page = html::report(&[made.stream()]).unwrap();
        balanced(shown_part(&page));
        assert!(!shown_part(&page).contains("NaN") && !shown_part(&page).contains("inf"), "{probes}");
        let without = romer_report::Stream { singletons: None, ..made.stream() };
        balanced(shown_part(&html::report(&[without]).unwrap()));
        let _ = summary(&[made.measurement], None, &plain(80), false);
    }
}

#[test]
fn an_interval_wider_than_its_value_is_told_by_its_end_on_a_terminal_and_in_a_page() {
    let mut made = make(&good());
    let delay = &mut made.measurement.round_trip.delay_ns;
    (delay.median, delay.median_interval) = (Some(121_800.0), Some([121_000.0, 696_713_800.0]));
    for (unicode, end) in [(true, "121.8 (≤ 697 ms)"), (false, "121.8 (<= 697 ms)")] {
        let style = TextStyle { unicode, ..plain(80) };
        let text = summary(std::slice::from_ref(&made.measurement), None, &style, false);
        assert!(text.contains(end) && !text.contains("696"), "{text}");
        let verdict = text.split_whitespace().collect::<Vec<_>>().join(" ");
        let micro = if unicode { "µs" } else { "us" };
        assert!(
            verdict.contains(&format!("median 122 {micro} (95 % CI 121 {micro} to 697 ms), p99")),
            "{text}"
        );
        // The other ways keep the digits that theirs tell.
        assert!(text.contains(if unicode { "57.4 ± 0.3" } else { "57.4 +- 0.3" }), "{text}");
    }
    let page = html::report(&[made.stream()]).unwrap();
    assert!(page.contains("121.8 <span class=\"half\">(≤\u{a0}697\u{a0}ms)</span>"), "the table");
    assert!(page.contains("(95\u{a0}% CI 121\u{a0}µs to 697\u{a0}ms)"), "the verdict");
}

#[test]
fn of_many_streams_that_go_both_ways_each_way_has_a_line_and_what_is_of_the_whole_is_said_once() {
    let mut both = make(&good()).measurement;
    both.partial = true;
    both.round_trip = romer_record::document::DirectionResults::default();
    both.reverse.loss.ratio = Some(0.25);
    let there_and_back = make(&bad()).measurement;
    let streams: Vec<_> =
        (0..9).map(|n| if n == 4 { both.clone() } else { there_and_back.clone() }).collect();
    let text = summary(&streams, None, &plain(80), false);
    let of = |target: &str| -> Vec<Vec<&str>> {
        let lines = text.lines().filter(|line| line.starts_with(target));
        lines.map(|line| line.split("  ").map(str::trim).filter(|word| !word.is_empty()).collect()).collect()
    };
    let ways = of(&both.target);
    let ends: Vec<&[&str]> = ways.iter().map(|words| &words[words.len() - 2..]).collect();
    assert_eq!(ends, [["0 %", "forward, partial"], ["25.0 %", "reverse"]], "{text}");
    assert_eq!(of(&there_and_back.target).len(), 8, "{text}");
}

#[test]
fn networks_in_series_read_as_it_is_kept() {
    let [a, b, c] = [1, 2, 3].map(|_| make(&good()));
    let subject =
        |name, made: &'static common::Made| romer_report::comparison::Subject { name, stream: made.stream() };
    let [a, b, c] = [a, b, c].map(|made| &*Box::leak(Box::new(made)));
    let delay = romer_record::concatenation::AddedQuantity::Delay;
    let found = romer_report::concatenation::concatenate(
        &subject("a", a),
        &subject("b", b),
        Some(&subject("c", c)),
        delay,
    )
    .unwrap();
    golden("series-80.txt", &romer_report::concatenation::text(&found, &plain(80)));
    golden("series-52.txt", &romer_report::concatenation::text(&found, &plain(52)));
}

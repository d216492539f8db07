//! What is told at a place of a chart, in a real browser.
#![expect(clippy::unwrap_used, reason = "a test's helpers fail the test")]

#[path = "common/browser.rs"]
mod browser;
mod common;

use browser::{FRAMES, between, opened, with_scripts};
use common::{bad, make};
use romer_report::html;

/// Goes to the marks of what was lost by the keyboard, enlarging at each, and writes down what is told; then points above the packets
/// at several places of the whole chart and of parts of it, and writes down what the tip says.
const TIPS: &str = r"
const told = document.documentElement.dataset, heard = [], tips = [];
const box = document.querySelector('.live'), svg = box.querySelector('svg'), said = document.querySelector('[aria-live]'), tip = box.querySelector('.tip-box');
svg.focus();
const press = (key) => svg.dispatchEvent(new KeyboardEvent('keydown', { key, bubbles: true, cancelable: true }));
press('Home');
for (let n = 0; n < 3 && !said.textContent.includes('lost'); n += 1) press('ArrowDown');
for (let n = 0; n < 12; n += 1) {
  heard.push(said.textContent);
  for (let k = 0; k < 3; k += 1) { press('+'); heard.push(said.textContent); }
  press('0');
  press('ArrowRight');
}
told.heard = heard.join('|');
const soon = () => new Promise((done) => setTimeout(done, 18));
(async () => {
  for (const closer of [0, 2, 3]) {
    for (let k = 0; k < closer; k += 1) press('+');
    const r = box.getBoundingClientRect();
    for (let at = 0.15; at < 0.95; at += 0.08) for (const high of [0.03, 0.2, 0.5, 0.75]) {
      box.dispatchEvent(new PointerEvent('pointermove', { pointerType: 'mouse', clientX: r.left + at * r.width, clientY: r.top + high * r.height, bubbles: true }));
      await soon();
      tips.push([...tip.children].map((part) => part.textContent).join('~'));
    }
  }
  told.tips = tips.join('|');
})();
";

#[test]
fn a_tip_tells_what_one_packet_had_or_what_there_was_in_a_stretch() {
    // All are drawn, and some for many.
    for probes in [2_000, 40_000] {
        let made = make(&common::Path { probes, ..bad() });
        let page = html::report(&[made.stream()]).unwrap();
        let (dom, said) = opened(&with_scripts(&page, FRAMES, TIPS), "1280,900");
        assert!(!said.lines().any(|line| line.contains("CONSOLE")), "{said}");
        let value = |name: &str| between(&dom, &format!("data-{name}=\""), "\"").replace("&nbsp;", "\u{a0}");
        let first = made.round_trip[0].departure.unwrap();
        let all: Vec<(f64, Option<f64>)> = made
            .round_trip
            .iter()
            .map(|singleton| {
                let at = (singleton.departure.unwrap().as_nanos() - first.as_nanos()) as f64 / 1e9;
                (at, singleton.delay.map(|delay| delay.as_nanos() as f64 / 1e6))
            })
            .collect();
        // Numbers with their units, and how fine they are told.
        let number = |text: &str| {
            let digits = text.trim().split('\u{a0}').next().unwrap().replace(',', "");
            let places = digits.split_once('.').map_or(0, |(_, part)| part.len());
            let fine = 0.51 * 10f64.powi(-i32::try_from(places).unwrap());
            (digits.parse::<f64>().unwrap_or_else(|_| panic!("{text}")), fine)
        };
        let moments = |text: &str| match text.strip_prefix("between ") {
            Some(both) => both.split_once(" and ").map(|(a, b)| (number(a), number(b))).unwrap(),
            None => (number(text), number(text)),
        };
        let during = |text: &str, wider: f64| {
            let ((from, fine), (to, _)) = moments(text);
            let within = from - wider * fine..=to + wider * fine;
            all.iter().filter(move |(at, _)| within.contains(at)).collect::<Vec<_>>()
        };
        let lost = |these: &[&(f64, Option<f64>)]| these.iter().filter(|(_, delay)| delay.is_none()).count();
        let of = |text: &str| {
            let (count, of) = text.split_once(" of ").unwrap();
            [count, of].map(|part| part.replace(',', "").parse::<usize>().unwrap())
        };
        let heard = value("heard");
        let heard: Vec<&str> = heard.split('|').collect();
        assert_eq!(heard.len(), 48);
        for one in &heard {
            let (at, what) = one.split_once(": ").unwrap();
            // A lost packet has no delay, and another packet's is not told as if it were of that moment.
            let many = what.strip_prefix("lost").unwrap_or_else(|| panic!("{one}"));
            if many.is_empty() {
                assert!(lost(&during(at, 1.0)) >= 1, "{one}");
            } else {
                let [count, all] = of(many.trim());
                assert!(lost(&during(at, 1.0)) >= count && during(at, 1.0).len() >= all, "{one}");
                assert!(lost(&during(at, -1.0)) <= count && during(at, -1.0).len() <= all, "{one}");
            }
        }
        // However much is shown, the same mark has the same moment.
        for same in heard.chunks(4) {
            let at: Vec<_> = same.iter().map(|one| moments(one.split_once(": ").unwrap().0)).collect();
            assert!(at.windows(2).all(|two| (two[0].0.0 - two[1].0.0).abs() <= two[0].0.1), "{same:?}");
        }
        let tips = value("tips");
        let [mut single, mut stretches] = [0, 0];
        for tip in tips.split('|') {
            let mut parts = tip.split('~');
            let at = parts.next().unwrap();
            for part in parts {
                if part.starts_with("route change") {
                    // The mark of a finding.
                    assert!(!made.measurement.findings.is_empty(), "{tip}");
                } else if let Some(count) = part.strip_prefix("lost ") {
                    let [count, all] = of(count);
                    let (wide, narrow) = (during(at, 1.0), during(at, -1.0));
                    assert!(lost(&wide) >= count && lost(&narrow) <= count, "{tip}");
                    assert!(wide.len() >= all && narrow.len() <= all, "{tip}");
                } else if let Some((values, _)) = part.split_once(", ") {
                    stretches += 1;
                    let (low, high) = values.split_once(" to ").unwrap_or((values, values));
                    let ends = |wider: f64| {
                        let delays = during(at, wider).into_iter().filter_map(|(_, delay)| *delay);
                        delays.fold((f64::MAX, 0.0_f64), |(a, b), y| (a.min(y), b.max(y)))
                    };
                    let ((low, fine), (high, _), wide, narrow) =
                        (number(low), number(high), ends(1.0), ends(-1.0));
                    assert!(wide.0 - fine <= low && low <= narrow.0 + fine, "{tip}: {wide:?} {narrow:?}");
                    assert!(wide.1 + fine >= high && high >= narrow.1 - fine, "{tip}: {wide:?} {narrow:?}");
                } else if part != "lost" {
                    single += 1;
                    let (height, fine) = number(part.trim_start_matches(['\u{25b2}', '\u{a0}']));
                    let there =
                        |(_, delay): &&(f64, Option<f64>)| delay.is_some_and(|y| (y - height).abs() <= fine);
                    assert!(during(at, 1.0).into_iter().any(|one| there(&one)), "{tip}");
                }
            }
        }
        assert!(single > 20 && stretches > 20, "{single} packets, {stretches} stretches");
    }
}

/// Points at the column of a strip with the most losses, and goes to the first by the keyboard; writes down what is told, and the
/// columns.
const STRIPS: &str = r"
const told = document.documentElement.dataset;
const figures = JSON.parse(document.getElementById('figures').textContent), number = figures.findIndex((figure) => figure.name === 'loss');
const figure = figures[number], box = document.querySelector(`figure[data-figure='${number}'] .live`), svg = box.querySelector('svg');
const rect = box.querySelector('clipPath rect'), [left, width] = ['x', 'width'].map((name) => Number(rect.getAttribute(name)));
const columns = figure.layers[0].points, most = columns.reduce((a, b) => (b[5] > a[5] ? b : a)), r = box.getBoundingClientRect();
const at = left + ((most[0] + most[1]) / 2 - figure.x.from) / (figure.x.to - figure.x.from) * (width - 1);
const text = () => [...box.querySelector('.tip-box').children].map((part) => part.textContent).join('~');
box.dispatchEvent(new PointerEvent('pointermove', { pointerType: 'mouse', clientX: r.left + at, clientY: r.top + 40 }));
setTimeout(() => {
  told.pointed = text();
  svg.focus();
  svg.dispatchEvent(new KeyboardEvent('keydown', { key: 'Home', bubbles: true, cancelable: true }));
  told.first = text();
  told.heard = document.querySelector('[aria-live]').textContent;
  told.columns = [most, columns[0]].map((column) => column.join('~')).join('|');
}, 40);
";

#[test]
fn a_strip_tells_how_many_of_how_many_were_lost_in_the_column_that_is_pointed_at() {
    let page = html::report(&[make(&common::Path { probes: 20_000, ..bad() }).stream()]).unwrap();
    let (dom, said) = opened(&with_scripts(&page, FRAMES, STRIPS), "1280,900");
    assert!(!said.lines().any(|line| line.contains("CONSOLE")), "{said}");
    let value = |name: &str| between(&dom, &format!("data-{name}=\""), "\"").replace("&nbsp;", "\u{a0}");
    let columns = value("columns");
    for (column, tip) in columns.split('|').zip([value("pointed"), value("first")]) {
        let column: Vec<&str> = column.split('~').collect();
        let mut parts = tip.split('~');
        assert!(parts.next().unwrap().starts_with("between "), "{tip}");
        let [marked, of] = [column[5], column[6]];
        let own = parts.next().unwrap();
        assert!(own.starts_with(&format!("lost, forward: {marked} of {of} (")), "{tip}: {column:?}");
        let worst = (20.0 * column[7].parse::<f64>().unwrap()).round();
        assert!(own.ends_with(&format!("%), at worst {worst} of 20 in a row")), "{tip}: {column:?}");
    }
    let heard = value("heard");
    assert!(heard.starts_with("between ") && heard.matches("lost, forward").count() == 1, "{heard}");
}

//! The page in a real browser: it draws without a word of complaint, and shows the numbers of the document.
#![expect(clippy::unwrap_used, reason = "a test's helpers fail the test")]

#[path = "common/browser.rs"]
mod browser;
mod common;

use browser::{FRAMES, between, opened, seen, with_scripts};
use common::{bad, good, make};
use romer_record::warning::MeasurementWarning;
use romer_report::html;

/// Touches the first chart: a tap, then two fingers that are drawn apart, then two taps. Writes down whether the tip
/// stays, which stretch is shown, and whether the page is wider than its window; and what an enlarged chart that does not
/// draw all its points says of it, and one that does.
const TOUCHES: &str = r"
let box = document.querySelector('.live');
const r = box.getBoundingClientRect(), told = [];
const touch = (type, pointerId, at) => box.dispatchEvent(new PointerEvent(type,
  { pointerId, pointerType: 'touch', clientX: r.left + at * r.width, clientY: r.top + 60, bubbles: true }));
const tip = box.querySelector('.tip-box'), whole = box.parentElement.querySelector('button');
const soon = () => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)));
(async () => {
  touch('pointerdown', 1, 0.6); touch('pointerup', 1, 0.6); touch('pointerleave', 1, 0.6);
  await soon();
  const place = tip.getBoundingClientRect();
  told.push(!tip.hidden && tip.textContent.length > 1, place.left >= 0 && place.right <= innerWidth);
  document.body.dispatchEvent(new PointerEvent('pointerdown', { bubbles: true }));
  told.push(tip.hidden);
  touch('pointerdown', 2, 0.4); touch('pointerdown', 3, 0.6);
  touch('pointermove', 2, 0.2); touch('pointermove', 3, 0.8);
  await soon();
  touch('pointerup', 2, 0.2); touch('pointerup', 3, 0.8);
  told.push(!whole.hidden);
  box.dispatchEvent(new MouseEvent('dblclick', { bubbles: true }));
  told.push(whole.hidden, document.documentElement.scrollWidth <= innerWidth);
  document.documentElement.dataset.touched = told.join();
  const some = (box) => box.parentElement.querySelector('.legend em');
  const samples = [...document.querySelectorAll('figure')].filter((one) => one.textContent.includes('Thinned to'));
  const said = [some(box).hidden];
  box = samples[0].querySelector('.live');
  said.push(some(box).hidden);
  touch('pointerdown', 4, 0.4); touch('pointerdown', 5, 0.6);
  touch('pointermove', 4, 0.2); touch('pointermove', 5, 0.8);
  await soon();
  said.push(some(box).hidden, some(box).textContent);
  document.documentElement.dataset.sampled = said.join();
})();
";

/// Enlarges ever less of the first chart, and writes down the marks along the time axis each time: where each stands, and
/// what is written there; and so for the other charts as they are.
const MARKS: &str = r"
const told = [];
let circles = 0, beyond = 0, part = false;
const noted = (box) => told.push([...box.querySelectorAll('svg text.along')].map((text) =>
  [text.getAttribute('text-anchor') === 'middle' ? text.getAttribute('x') : '', text.textContent.replace('\u2212', '-').replace(/,/g, '')].join(' ')).join(','));
const boxes = [...document.querySelectorAll('.live')], first = boxes[0];
for (const box of boxes) noted(box);
for (let share = 0.9; share > 0.01; share *= 0.93) {
  first.dispatchEvent(new MouseEvent('dblclick', { bubbles: true }));
  const r = first.getBoundingClientRect();
  const mouse = (type, at) => first.dispatchEvent(new PointerEvent(type, { pointerType: 'mouse', clientX: r.left + at * r.width, clientY: r.top + 60, bubbles: true }));
  mouse('pointerdown', 0.08); mouse('pointerup', 0.08 + share * 0.9);
  noted(first);
}
document.documentElement.dataset.marks = told.join('|');
// At the right edge of a part nothing is told that lies beyond it, and its words are said to be of the whole.
(async () => {
for (let share = 0.3; share > 0.05; share *= 0.9) {
  first.dispatchEvent(new MouseEvent('dblclick', { bubbles: true }));
  const r = first.getBoundingClientRect(), end = r.left + r.width - 17;
  const mouse = (type, x) => first.dispatchEvent(new PointerEvent(type, { pointerType: 'mouse', clientX: x, clientY: r.top + 60, bubbles: true }));
  mouse('pointerdown', r.left + 0.1 * r.width); mouse('pointerup', r.left + (0.1 + share) * r.width);
  mouse('pointermove', end);
  await new Promise((done) => setTimeout(done, 40));
  part ||= first.closest('figure').classList.contains('part');
  const rect = first.querySelector('clipPath rect'), edge = Number(rect.getAttribute('x')) + Number(rect.getAttribute('width'));
  for (const circle of first.querySelectorAll('circle')) { circles += 1; if (Number(circle.getAttribute('cx')) > edge + 0.5) beyond += 1; }
}
first.dispatchEvent(new MouseEvent('dblclick', { bubbles: true }));
document.documentElement.dataset.edge = [circles > 0, beyond, part, first.closest('figure').classList.contains('part')].join();
})();
";

/// Keeps what is saved, in the page: at once, for a page's time may be over before a blob is read.
const SAVED: &str = r"
window.Blob = class extends Blob { constructor(parts, how) { super(parts, how); this.parts = parts; } };
URL.createObjectURL = (blob) => { document.documentElement.dataset.saved = blob.parts.join(''); return '#'; };
for (const button of document.querySelectorAll('#data button')) if (button.textContent.includes('CSV')) button.click();
";

/// Writes down the colours of the page and of its text; what is closed, what is closed when it is printed, and what
/// afterwards; the width of the broad table and of its place; and what the tip over the first chart says.
const LOOKS: &str = r"
const told = document.documentElement.dataset, style = getComputedStyle(document.body);
told.back = style.backgroundColor; told.ink = style.color;
const closed = () => document.querySelectorAll('details:not([open])').length, parts = [closed()];
dispatchEvent(new Event('beforeprint')); parts.push(closed());
const broad = document.querySelector('.broad');
told.broad = broad.scrollWidth <= broad.clientWidth;
dispatchEvent(new Event('afterprint')); parts.push(closed());
told.closed = parts.join();
const box = document.querySelector('.live'), r = box.getBoundingClientRect();
box.dispatchEvent(new PointerEvent('pointermove', { pointerType: 'mouse', clientX: r.left + r.width / 2, clientY: r.top + 60 }));
requestAnimationFrame(() => { told.tip = box.querySelector('.tip-box').textContent; });
";

#[test]
fn both_themes_are_drawn_all_is_open_on_paper_and_the_tip_has_units() {
    let page = html::report(&[make(&good()).stream()]).unwrap();
    let page = with_scripts(&page, FRAMES, LOOKS);
    // Dark, and light, as the browser numbers them.
    let looks = [0, 1].map(|scheme| {
        let scheme = format!("--blink-settings=preferredColorScheme={scheme}");
        let (dom, said, picture) = seen(&page, "1280,900", &[&scheme, "--screenshot"]);
        assert!(!said.lines().any(|line| line.contains("CONSOLE")), "{said}");
        assert!(picture.starts_with(b"\x89PNG") && picture.len() > 20_000, "{} octets", picture.len());
        let brightness = |name: &str| -> u32 {
            let colour = between(&dom, &format!("data-{name}=\"rgb("), ")").to_owned();
            colour.split(',').map(|part| part.trim().parse::<u32>().unwrap()).sum()
        };
        // Two parts are closed, none on paper, and the same two afterwards.
        assert_eq!(between(&dom, "data-closed=\"", "\""), "2,0,2");
        assert_eq!(between(&dom, "data-broad=\"", "\""), "true", "the broad table needs scrolling");
        let tip = between(&dom, "data-tip=\"", "\"").to_owned();
        assert!(tip.contains("s") && (tip.contains("ms") || tip.contains("µs")), "{tip}");
        ((brightness("back"), brightness("ink")), picture)
    });
    let [((dark, on_dark), night), ((light, on_light), day)] = looks;
    assert!(dark < 150 && on_dark > 600, "dark: {dark} under {on_dark}");
    assert!(light > 600 && on_light < 150, "light: {light} under {on_light}");
    assert!(night != day, "both pictures are the same");
}

/// Opens every part, and writes down whether anything is wider than the paper.
const PAPER: &str = r"
for (const part of document.querySelectorAll('details')) part.open = true;
const told = [...document.querySelectorAll('table')].map((table) => table.getBoundingClientRect().right <= innerWidth);
told.push(document.documentElement.scrollWidth <= innerWidth);
const root = document.documentElement, style = getComputedStyle(root);
root.dataset.paper = told.every((fits) => fits) && told.length > 3;
root.dataset.colours = ['page', 'forward', 'reverse', 'round', 'bad', 'warn'].map((name) => style.getPropertyValue('--' + name)).join();
const size = (found) => parseFloat(getComputedStyle(document.querySelector(found)).fontSize);
root.dataset.sizes = size('ul.found') >= size('.note ul');
";

#[test]
fn on_paper_nothing_is_cut_and_the_colours_are_those_for_white_whatever_the_screen_has() {
    let mut made = make(&bad());
    made.measurement.warnings.push(MeasurementWarning::PortUnreachable { probes: 1 });
    let page = html::report(&[made.stream()]).unwrap().replace("@media print{", "@media all{");
    // As wide as a sheet of A4 without its margins; from a dark screen, and from a light one.
    let colours = [0, 1].map(|scheme| {
        let scheme = format!("--blink-settings=preferredColorScheme={scheme}");
        let (dom, said, _) = seen(&with_scripts(&page, "", PAPER), "716,1000", &[&scheme]);
        assert!(!said.lines().any(|line| line.contains("CONSOLE")), "{said}");
        assert_eq!(between(&dom, "data-paper=\"", "\""), "true");
        assert_eq!(between(&dom, "data-sizes=\"", "\""), "true", "findings are smaller than notes");
        between(&dom, "data-colours=\"", "\"").to_owned()
    });
    assert_eq!(colours[0], colours[1]);
    assert!(colours[0].starts_with("#fff,#1668b8,"), "{}", colours[0]);
}

#[test]
fn every_mark_of_an_axis_says_where_it_stands_however_broad_the_window_and_small_the_stretch() {
    for size in ["1920,900", "1000,900", "390,844"] {
        let page = html::report(&[make(&good()).stream()]).unwrap();
        let (dom, said) = opened(&with_scripts(&page, FRAMES, MARKS), size);
        assert!(!said.lines().any(|line| line.contains("CONSOLE")), "{said}");
        assert_eq!(between(&dom, "data-edge=\"", "\""), "true,0,true,false", "{size}");
        let charts: Vec<&str> = between(&dom, "data-marks=\"", "\"").split('|').collect();
        assert!(charts.len() > 60, "{charts:?}");
        for chart in charts {
            let marks: Vec<(&str, &str)> = chart.split(',').filter_map(|mark| mark.split_once(' ')).collect();
            assert!(!marks.is_empty(), "{size}: an axis without a mark");
            // Shares and times along a logarithmic axis carry their units.
            let numbers: Vec<(Option<f64>, f64)> = marks
                .iter()
                .filter_map(|(place, text)| Some((place.parse().ok(), text.parse().ok()?)))
                .collect();
            assert!(numbers.windows(2).all(|pair| pair[1].1 > pair[0].1), "{size}: {chart}");
            // Those whose middle is the place stand as far apart as their numbers.
            let placed: Vec<(f64, f64)> =
                numbers.iter().filter_map(|(place, number)| Some(((*place)?, *number))).collect();
            let [first, .., last] = placed[..] else { continue };
            let slope = (last.0 - first.0) / (last.1 - first.1);
            for (place, number) in placed {
                let off = (place - first.0 - slope * (number - first.1)).abs();
                assert!(
                    off < 0.02 * (last.0 - first.0),
                    "{size}: {number} is {off} beside its place in {chart}"
                );
            }
        }
    }
}

/// Where the charts begin, each by its horizontal axis; and what the tip says over the mark of the longest delay that is beyond an
/// axis, and that delay.
const EDGES: &str = r"
const told = document.documentElement.dataset;
const figures = JSON.parse(document.getElementById('figures').textContent);
const place = (number) => document.querySelector(`figure[data-figure='${number}'] .live`);
const frame = (number) => { const rect = place(number).querySelector('clipPath rect');
  return ['x', 'width'].map((name) => Number(rect.getAttribute(name))); };
told.lefts = figures.map((figure, number) => [figure.x.title, figure.x.to, frame(number)[0].toFixed(2)].join('=')).join('|');
const number = figures.findIndex((figure) => figure.layers.some((layer) => layer.kind === 'above' && layer.points.length));
const figure = figures[number], box = place(number), [left, width] = frame(number);
const marks = figure.layers.filter((layer) => layer.kind === 'above').flatMap((layer) => layer.points);
const most = marks.reduce((a, b) => (b[1] > a[1] ? b : a));
const r = box.getBoundingClientRect();
const at = left + (most[0] - figure.x.from) / (figure.x.to - figure.x.from) * (width - 1);
box.dispatchEvent(new PointerEvent('pointermove', { pointerType: 'mouse', clientX: r.left + at + 2, clientY: r.top + 22 }));
requestAnimationFrame(() => { told.beyond = box.querySelector('.tip-box').textContent; told.most = most[1]; told.end = figure.y.to; });
";

#[test]
fn charts_of_the_same_time_begin_at_the_same_place_and_a_mark_beyond_the_scale_tells_its_value() {
    for size in ["1280,900", "390,844"] {
        let page = html::report(&[make(&bad()).stream()]).unwrap();
        let (dom, said) = opened(&with_scripts(&page, FRAMES, EDGES), size);
        assert!(!said.lines().any(|line| line.contains("CONSOLE")), "{said}");
        let mut lefts: Vec<(String, &str)> = between(&dom, "data-lefts=\"", "\"")
            .split('|')
            .filter_map(|one| one.rsplit_once('=').map(|(axis, left)| (axis.to_owned(), left)))
            .collect();
        lefts.sort();
        let pairs = lefts.windows(2).filter(|pair| pair[0].0 == pair[1].0);
        assert!(pairs.clone().count() > 3, "{lefts:?}");
        for pair in pairs {
            assert_eq!(pair[0].1, pair[1].1, "{size}: {}", pair[0].0);
        }
        let value = |name: &str| between(&dom, &format!("data-{name}=\""), "\"").replace("&nbsp;", "\u{a0}");
        let (tip, most, end) = (value("beyond"), value("most"), value("end"));
        let [most, end] = [most, end].map(|text| text.parse::<f64>().unwrap());
        assert!(most > end, "{most} is on the scale up to {end}");
        let shown = tip.split_once('\u{25b2}').unwrap_or_else(|| panic!("{tip}")).1;
        let shown =
            shown.trim_start().split('\u{a0}').find_map(|part| part.replace(',', "").parse::<f64>().ok());
        assert!((shown.unwrap() - most).abs() < 0.02 * most, "{tip}: {most}");
    }
}

/// Whether the chart of a tail has a line a decade.
const DECADES: &str = r"
const told = document.documentElement.dataset;
const figures = JSON.parse(document.getElementById('figures').textContent);
const place = (number) => document.querySelector(`figure[data-figure='${number}'] .live`);
told.decades = figures.map((figure, number) => [figure, place(number).querySelectorAll('.grid').length])
  .filter(([figure]) => figure.y.labels === 'shares')
  .map(([figure, lines]) => lines === Math.floor(figure.y.to) - Math.ceil(figure.y.from) + 1).join();
";

#[test]
fn each_line_down_is_ten_times_fewer_packets_whether_it_is_labelled_or_not() {
    // So many that there are more decades than labels.
    let page = html::report(&[make(&common::Path { probes: 20_000, ..bad() }).stream()]).unwrap();
    let (dom, said) = opened(&with_scripts(&page, FRAMES, DECADES), "1280,900");
    assert!(!said.lines().any(|line| line.contains("CONSOLE")), "{said}");
    assert_eq!(between(&dom, "data-decades=\"", "\""), "true");
}

/// Points at the highest of the drawn round trips, some pixels beside it, where others are nearer along the axis; and writes down
/// what the tip says, what that point is, and how many rows a chart of two series has there.
const POINTED: &str = r"
const told = document.documentElement.dataset;
const figures = JSON.parse(document.getElementById('figures').textContent);
const at = (name) => figures.findIndex((figure) => figure.name === name);
const place = (number) => document.querySelector(`figure[data-figure='${number}'] .live`);
const pointAt = (number, dx, dy) => {
  const figure = figures[number], box = place(number), rect = box.querySelector('clipPath rect'), r = box.getBoundingClientRect();
  const [left, top, width, height] = ['x', 'y', 'width', 'height'].map((name) => Number(rect.getAttribute(name)));
  const points = figure.layers.find((layer) => layer.kind === 'points').points;
  const [x, y] = points.reduce((a, b) => (b[1] > a[1] ? b : a));
  const across = left + (x - figure.x.from) / (figure.x.to - figure.x.from) * (width - 1);
  const up = top + height - 1 - (y - figure.y.from) / (figure.y.to - figure.y.from) * (height - 8);
  box.dispatchEvent(new PointerEvent('pointermove', { pointerType: 'mouse', clientX: r.left + across + dx, clientY: r.top + up + dy }));
  return [x, y];
};
const one = at('delay-round-trip'), two = at('delay-one-way');
const meant = pointAt(one, 6, 5);
pointAt(two, -5, 4);
requestAnimationFrame(() => {
  const tip = place(one).querySelector('.tip-box');
  told.said = [...tip.children].map((part) => part.textContent).join('|');
  told.meant = meant.join('|');
  told.rows = place(two).querySelectorAll('.tip-box span').length;
});
";

#[test]
fn the_point_under_the_pointer_is_told_and_not_its_neighbour_along_the_axis() {
    let page = html::report(&[make(&bad()).stream()]).unwrap();
    let (dom, said) = opened(&with_scripts(&page, FRAMES, POINTED), "1280,900");
    assert!(!said.lines().any(|line| line.contains("CONSOLE")), "{said}");
    let value = |name: &str| between(&dom, &format!("data-{name}=\""), "\"").replace("&nbsp;", "\u{a0}");
    let number = |text: &str| text.split('\u{a0}').next().unwrap().replace(',', "").parse::<f64>().unwrap();
    let (told, meant) = (value("said"), value("meant"));
    let pair = |text: &str| text.split_once('|').map(|(x, y)| (number(x), number(y))).unwrap();
    let ((x, y), (at, height)) = (pair(&told), pair(&meant));
    assert!((y - height).abs() < 0.01 * height && (x - at).abs() <= 0.2, "{told} of {meant}");
    assert!(number(&value("rows")) >= 2.0, "each series has its row");
}

/// Goes through the first chart by the keyboard alone, and writes down after each key what a reader of screens is told, whether the
/// tip is there, and whether all is shown; and what the chart is called.
const KEYS: &str = r"
const told = document.documentElement.dataset, heard = [];
const box = document.querySelector('.live'), svg = box.querySelector('svg'), said = document.querySelector('[aria-live]');
const whole = box.parentElement.querySelector('button'), tip = box.querySelector('.tip-box');
told.called = svg.getAttribute('aria-label');
told.reached = [...document.querySelectorAll('.live svg')].every((one) => one.tabIndex === 0 && one.getAttribute('aria-label'));
svg.focus();
const press = (key, shiftKey = false) => {
  const event = new KeyboardEvent('keydown', { key, shiftKey, bubbles: true, cancelable: true });
  document.activeElement.dispatchEvent(event);
  heard.push([key, said.textContent.split(':')[0], said.textContent, !tip.hidden, whole.hidden, event.defaultPrevented, document.activeElement === svg].join('~'));
};
for (const key of ['Home', 'ArrowRight', 'ArrowRight', 'ArrowLeft']) press(key);
press('ArrowRight', true);
for (const key of ['+', '+', '-', '0', 'End', 'ArrowDown', '+', 'Escape', 'Escape', 'a', 'PageDown']) press(key);
told.heard = heard.join('|');
const figure = JSON.parse(document.getElementById('figures').textContent)[0];
told.first = figure.layers[0].points.slice(0, 3).map((point) => point.join('~')).join('|');
told.last = figure.layers[0].points.map((point) => point[0]).reduce((a, b) => Math.max(a, b));
told.help = document.getElementById(svg.getAttribute('aria-describedby')).textContent;
";

#[test]
fn a_chart_is_read_with_the_keyboard_alone() {
    let page = html::report(&[make(&bad()).stream()]).unwrap();
    let (dom, said) = opened(&with_scripts(&page, FRAMES, KEYS), "1280,900");
    assert!(!said.lines().any(|line| line.contains("CONSOLE")), "{said}");
    let value = |name: &str| between(&dom, &format!("data-{name}=\""), "\"").replace("&nbsp;", "\u{a0}");
    assert_eq!(value("reached"), "true", "every chart is reached by the tab key");
    let called = value("called");
    for part in ["Round-trip delay", "delay, ms from ", "time since the first probe, s from 0 to ", "lost"] {
        assert!(called.contains(part), "{called}");
    }
    assert!(value("help").contains("Keyboard: "), "{}", value("help"));
    let heard = value("heard");
    let heard: Vec<Vec<&str>> = heard.split('|').map(|one| one.split('~').collect()).collect();
    let number = |text: &str| text.split('\u{a0}').next().unwrap().replace(',', "").parse::<f64>().unwrap();
    let first: Vec<f64> =
        value("first").split('|').map(|one| number(one.split('~').next().unwrap())).collect();
    let at: Vec<f64> = heard.iter().take(5).map(|key| number(key[1])).collect();
    // An axis of three minutes tells its moments to a tenth of a second.
    for (heard, at) in at.iter().zip([first[0], first[1], first[2], first[1]]) {
        assert!((heard - at).abs() <= 0.051, "{heard} and {at}");
    }
    assert!(at[4] > first[2] + 3.0, "with shift it goes farther: {at:?}");
    assert!(heard[0][2].contains("round trip") && heard[0][2].contains("ms"), "{:?}", heard[0]);
    let of = |place: usize| heard.iter().map(|key| key[place]).collect::<Vec<_>>();
    // Home, three arrows, one with shift, closer, closer, farther, all, the last, another series, closer, all, nothing; no key of ours.
    let (yes, no) = ("true", "false");
    assert_eq!(of(3)[..14], [[yes; 13].as_slice(), &[no]].concat(), "the tip");
    assert_eq!(
        of(4)[..14],
        [yes, yes, yes, yes, yes, no, no, no, yes, yes, yes, no, yes, yes],
        "all is shown"
    );
    assert_eq!(
        of(5),
        [[yes; 14].as_slice(), &[no, no]].concat(),
        "only keys of the chart are taken from the page"
    );
    assert!(of(6).iter().all(|kept| *kept == yes), "the focus stays: {heard:?}");
    assert!((number(heard[9][1]) - number(&value("last"))).abs() < 0.1, "{:?}", heard[9]);
    assert!(heard[10][2].contains("lost"), "another series: {:?}", heard[10]);
    assert_eq!(heard[13][2], "");
}

#[test]
fn what_the_charts_draw_is_saved_with_the_names_and_units_that_they_have() {
    let (first, second) = (make(&good()), make(&bad()));
    let subjects = [("before", &first), ("after", &second)]
        .map(|(name, made)| romer_report::comparison::Subject { name, stream: made.stream() });
    let pages =
        [html::overlay(&subjects, "").unwrap(), html::report(&[first.stream(), second.stream()]).unwrap()];
    let [overlaid, one_below_the_other] = pages.map(|page| {
        let (dom, said) = opened(&with_scripts(&page, FRAMES, SAVED), "1000,900");
        assert!(!said.lines().any(|line| line.contains("CONSOLE")), "{said}");
        let saved = between(&dom, "data-saved=\"", "\"").replace("&quot;", "\"").replace("&amp;", "&");
        let mut table = csv::Reader::from_reader(saved.as_bytes());
        let names =
            ["path", "figure", "series", "kind", "x", "y", "x_to", "y_to", "shade", "x_axis", "y_axis"];
        assert_eq!(table.headers().unwrap(), &csv::StringRecord::from(names.to_vec()));
        // A line of another number of fields is an error.
        table.records().map(Result::unwrap).collect::<Vec<_>>()
    });
    let series = |rows: &[csv::StringRecord], figure: &str| {
        let mut all: Vec<(String, String)> =
            rows.iter().filter(|row| &row[1] == figure).map(|row| (row[0].into(), row[2].into())).collect();
        all.sort();
        all.dedup();
        all
    };
    let runs: Vec<String> = series(&overlaid, "delay-forward").into_iter().map(|(_, name)| name).collect();
    assert!(matches!(&runs[..], [a, b] if a.contains("before") && b.contains("after")), "{runs:?}");
    // Beside the delays there are marks of what was found.
    let delays: Vec<csv::StringRecord> =
        one_below_the_other.iter().filter(|row| &row[3] != "top").cloned().collect();
    let paths: Vec<(String, String)> = series(&delays, "delay-one-way");
    assert_eq!(paths.len(), 4, "two ways of each: {paths:?}");
    // What stands on a logarithmic axis is saved as it is.
    let median = first.measurement.forward.jitter_ns.delay_difference.median.unwrap();
    let jitter: Vec<f64> = one_below_the_other
        .iter()
        .filter(|row| row[0] == paths[0].0 && &row[1] == "jitter" && &row[2] == "delay difference")
        .map(|row| {
            assert_eq!((&row[9], &row[10]), ("jitter, ns", "cumulative share, %"));
            row[4].parse().unwrap()
        })
        .collect();
    let (least, most) = jitter.iter().fold((f64::MAX, 0.0_f64), |(a, b), x| (a.min(*x), b.max(*x)));
    assert!(least < median && median < most, "{median} in {least} to {most}");
    let above: Vec<_> = one_below_the_other.iter().filter(|row| &row[3] == "above").collect();
    assert!(!above.is_empty() && above.iter().all(|row| row[5].parse::<f64>().unwrap() > 0.0));
    let losses: Vec<_> = one_below_the_other.iter().filter(|row| &row[1] == "loss").collect();
    assert!(!losses.is_empty());
    assert!(
        losses.iter().all(|row| &row[3] == "bars" && row.iter().skip(4).take(5).all(|cell| !cell.is_empty()))
    );
    // Of a strip the counts are saved, and not how high its columns are drawn.
    let lost: u64 = losses.iter().map(|row| row[5].parse::<u64>().unwrap()).sum();
    let gone = |singletons: &[romer_record::OneWaySingleton]| {
        singletons.iter().filter(|one| one.fate == romer_record::Fate::Lost).count() as u64
    };
    assert_eq!(lost, gone(&second.forward) + gone(&second.reverse));
}

#[test]
fn on_a_telephone_a_finger_points_two_enlarge_and_nothing_is_wider_than_the_screen() {
    let made = make(&bad());
    let page = html::report(&[made.stream()]).unwrap();
    let page = with_scripts(&page, FRAMES, TOUCHES);
    let (dom, said) = opened(&page, "390,844");
    assert!(!said.lines().any(|line| line.contains("CONSOLE")), "{said}");
    // The tip stays and is on the screen; it goes with a touch elsewhere; a stretch is shown, then all again.
    assert_eq!(between(&dom, "data-touched=\"", "\""), "true,true,true,true,true,true");
    let sampled = between(&dom, "data-sampled=\"", "\"");
    let words = sampled.strip_prefix("true,true,false,").unwrap_or_else(|| panic!("{sampled}"));
    let (drawn, there) =
        words.strip_suffix(" points here are drawn").unwrap().split_once(" of about ").unwrap();
    let number = |text: &str| text.replace(',', "").parse::<u32>().unwrap();
    assert!(number(there) > 2 * number(drawn), "{words}");
    // A third of the time is seen, in which a third of the packets left, before the clock was taken out and after.
    let arrived = made.forward.iter().filter(|singleton| singleton.delay.is_some()).count();
    let left = u32::try_from(2 * arrived / 3).unwrap();
    assert!(number(there).abs_diff(left) < left / 10, "{words}: {left}");
}

#[test]
fn the_page_draws_in_a_browser_without_complaint_and_shows_the_documents_numbers() {
    let made = [make(&good()), make(&bad())];
    let streams = [made[0].stream(), made[1].stream()];
    let (dom, said) = opened(&html::report(&streams).unwrap(), "1000,900");
    let complaints: Vec<&str> = said.lines().filter(|line| line.contains("CONSOLE")).collect();
    assert!(complaints.is_empty(), "{complaints:#?}");
    // Every figure has been drawn by the script.
    let figures = dom.matches("<figure").count();
    assert!(figures > 10, "{said}");
    assert_eq!(between(&dom, "data-figures=\"", "\""), figures.to_string());
    assert_eq!(dom.matches("class=\"live\"").count(), figures);
    let document: serde_json::Value = serde_json::from_str(between(&dom, "id=\"document\">", "</script>"))
        .expect("the document is in the page");
    for (number, made) in made.iter().enumerate() {
        let embedded = &document["measurements"][number];
        // Both through text: reading a number may change its last digit.
        let text = serde_json::to_string(&made.measurement).unwrap();
        let expected: serde_json::Value = serde_json::from_str(&text).unwrap();
        assert!(*embedded == expected, "stream {number}: the document in the page is not the stream's");
        // The table's median of the round trip is the document's, in the table's unit.
        let article = dom.split("<article id=\"stream-").nth(number + 1).unwrap();
        let unit = match between(article, "<h2>Delay, ", "</h2>") {
            "ns" => 1.0,
            "µs" => 1e3,
            "ms" => 1e6,
            other => panic!("{other}"),
        };
        let row = between(article, "class=\"key round\">", "</tr>");
        let cell = between(row, "<td>", "<");
        let shown: f64 =
            cell.trim().replace(['\u{a0}', ' ', ','], "").parse().unwrap_or_else(|_| panic!("{cell:?}"));
        let median = embedded["round_trip"]["delay_ns"]["median"].as_f64().unwrap() / unit;
        let digits = cell.split_once('.').map_or(0, |(_, part)| part.trim().len());
        let half = 0.5000001 * 10f64.powi(-i32::try_from(digits).unwrap());
        assert!((shown - median).abs() <= half, "stream {number}: {cell} and {median}");
    }
}

//! The summary on a terminal: figures first, then findings and ratings, then how they were measured.

use std::path::Path;

use romer_record::document::{Histogram, Limit, Measurement, Summary};
use romer_record::metric;

use crate::escape;
use crate::many;
use crate::number::{NO_BREAK, counted, percent};
use crate::setup;
use crate::sure::{MedianInterval, farther};
use crate::table::{MeasuredPath, Scale, ways};
use crate::words::Words;

/// How the terminal is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TextStyle {
    /// Use ANSI colours.
    pub color: bool,
    /// Use characters beyond ASCII (µ, ±, lines, bars).
    pub unicode: bool,
    /// Columns, at least 40; fewer are taken for 40.
    pub width: usize,
}

impl Default for TextStyle {
    /// 80 columns of plain UTF-8.
    fn default() -> Self {
        Self { color: false, unicode: true, width: 80 }
    }
}

/// The widest that prose is set, however wide the terminal.
const WIDEST: usize = 110;
/// Columns for the names of notes.
const MARGIN: usize = 9;
/// Bars of a distribution.
const BARS: usize = 32;
/// Fewer delays have no sparkline: it would not show a distribution.
const FEWEST_IN_SPARKLINE: u64 = 20;
/// Findings, and events, that a summary shows unless it is verbose.
const FINDINGS: usize = 6;
const EVENTS: usize = 12;

/// The summary of the streams of one run; a `verbose` one has the test setup too. `kept` is where the run is saved, if it is.
/// The text ends with a newline; everything in it that came from outside is escaped.
pub fn summary(
    measurements: &[Measurement],
    kept: Option<&Path>,
    style: &TextStyle,
    verbose: bool,
) -> String {
    let width = style.width.clamp(40, WIDEST);
    let page = SummaryPage { style: *style, words: Words { unicode: style.unicode }, width, verbose };
    let mut lines = Vec::new();
    if measurements.len() > many::MANY {
        lines = many::summary(measurements, style, verbose, page.width);
    }
    for (index, measurement) in measurements.iter().enumerate().filter(|_| measurements.len() <= many::MANY) {
        if index > 0 {
            lines.push(String::new());
        }
        let target = crate::words::heading(measurements, index);
        page.stream(measurement, &target, &mut lines);
    }
    let mut text = lines.join("\n").replace(NO_BREAK, " ");
    text.push('\n');
    kept.map_or_else(|| text.clone(), |kept| format!("{text}{}", place("Saved to", kept, style)))
}

/// Every metric of the streams of one run, by the path that `--limit` takes. The text ends with a newline.
pub fn metrics(measurements: &[Measurement], style: &TextStyle) -> String {
    let words = Words { unicode: style.unicode };
    let mut text = String::new();
    for (index, measurement) in measurements.iter().enumerate() {
        let of = match measurements {
            [_] => String::new(),
            several => format!(" of {}", escape::terminal(&crate::words::heading(several, index))),
        };
        text.push_str(&format!("\nMetrics{of}\n"));
        let mut values = metric::values(measurement);
        // All statistics of a single value are this value.
        let single = |(path, count): &(metric::MetricPath, f64)| {
            path.to_string().strip_suffix("count").filter(|_| *count < 1.5).map(str::to_owned)
        };
        let single: Vec<String> = values.iter().filter_map(single).collect();
        values.retain(|(path, _)| {
            let path = path.to_string();
            !single.iter().any(|sample| path.strip_prefix(sample).is_some_and(|name| name != "max"))
        });
        let width = values.iter().map(|(path, _)| path.to_string().len()).max().unwrap_or(0);
        for (path, value) in values {
            let shown = words.metric(path.unit(), value).replace(NO_BREAK, " ");
            text.push_str(&format!("{:width$}  {shown}\n", path.to_string()));
        }
    }
    text
}

/// A line that says where something is: `Saved to /var/run`. It is one however long, so that the name can be copied.
pub fn place(name: &str, path: &Path, style: &TextStyle) -> String {
    let words = Words { unicode: style.unicode };
    let page = SummaryPage { style: *style, words, width: style.width, verbose: false };
    let margin = page.paint(&format!("{name:MARGIN$}"), Paint::Faint);
    format!("{margin}{}\n", escape::terminal(&path.to_string_lossy()))
}

#[derive(Clone, Copy)]
enum Paint {
    Plain,
    Strong,
    Faint,
    Bad,
    Warn,
    Good,
    Bars,
}

#[derive(Clone, Copy)]
struct SummaryPage {
    style: TextStyle,
    words: Words,
    width: usize,
    verbose: bool,
}

/// A column of the table: its head, and what it says of a way.
struct Column {
    head: &'static str,
    cells: Vec<Option<String>>,
    /// The first to go where the terminal is narrow has the highest number; 0 stays.
    dispensable: u8,
    bad: bool,
}

impl SummaryPage {
    fn paint(self, text: &str, paint: Paint) -> String {
        let code = match paint {
            Paint::Plain => return text.to_owned(),
            _ if !self.style.color => return text.to_owned(),
            Paint::Strong => "1",
            Paint::Faint => "2",
            Paint::Bad => "1;31",
            Paint::Warn => "33",
            Paint::Good => "32",
            Paint::Bars => "36",
        };
        format!("\x1b[{code}m{text}\x1b[0m")
    }

    fn stream(self, m: &Measurement, target: &str, lines: &mut Vec<String>) {
        self.heading(m, target, lines);
        for line in self.words.figures(m).iter().flat_map(|line| wrap(&escape::terminal(line), self.width)) {
            lines.push(self.paint(&line, Paint::Strong));
        }
        self.results(m, lines);
        lines.push(String::new());
        if MeasuredPath::ALL.iter().any(|way| way.results(m).delay_ns.count > 0) {
            self.table(m, lines);
            self.distributions(m, lines);
            lines.push(String::new());
        }
        self.notes(m, lines);
    }

    fn heading(self, m: &Measurement, target: &str, lines: &mut Vec<String>) {
        let target = escape::terminal(target);
        let mut when = escape::terminal(&self.words.moment(&m.started));
        if m.partial {
            when = format!("partial, {when}");
        }
        let gap = self.width.saturating_sub(length(&target) + length(&when));
        if when.is_empty() {
            lines.extend(wrap(&target, self.width).iter().map(|line| self.paint(line, Paint::Strong)));
        } else if gap >= 2 {
            let target = self.paint(&target, Paint::Strong);
            lines.push(format!("{target}{}{}", " ".repeat(gap), self.paint(&when, Paint::Faint)));
        } else {
            lines.extend(wrap(&target, self.width).iter().map(|line| self.paint(line, Paint::Strong)));
            lines.push(self.paint(&when, Paint::Faint));
        }
        let rule = if self.style.unicode { "─" } else { "-" };
        lines.push(self.paint(&rule.repeat(self.width), Paint::Faint));
    }

    fn table(self, m: &Measurement, lines: &mut Vec<String>) {
        let ways = ways(m);
        let scale = Scale::for_measurement(m);
        let columns =
            fit(self.columns(m, &ways, scale), self.width.saturating_sub(self.label_width(m, &ways)));
        let label = self.label_width(m, &ways);
        let unit = scale.unit.name(self.style.unicode);
        let mut head = format!("{:label$}", format!("delay, {unit}"));
        for column in &columns {
            head.push_str(&format!("{:>1$}", column.head, width_of(column) + 2));
        }
        lines.push(self.paint(head.trim_end(), Paint::Faint));
        for (row, way) in ways.iter().enumerate() {
            let mut line = format!("{:label$}", self.label(m, *way));
            for column in &columns {
                let cell = column.cells.get(row).cloned().flatten();
                let bad =
                    column.bad && ways.get(row).is_some_and(|way| way.results(m).loss.ratio > Some(0.0));
                let cell = cell.unwrap_or_else(|| self.words.absent().to_owned());
                let padded = pad_left(&cell, width_of(column) + 2);
                line.push_str(&if bad { self.paint(&padded, Paint::Bad) } else { padded });
            }
            lines.push(line.trim_end().to_owned());
        }
    }

    /// A way's name in the margin; where there is little room, the note on the clocks alone says what is variable.
    fn label(self, m: &Measurement, way: MeasuredPath) -> String {
        if self.width < 60 { way.title(m).to_owned() } else { way.label(m) }
    }

    fn label_width(self, m: &Measurement, ways: &[MeasuredPath]) -> usize {
        ways.iter().map(|way| self.label(m, *way).len()).max().unwrap_or(0).max("delay, us".len())
    }

    fn columns(self, m: &Measurement, ways: &[MeasuredPath], scale: Scale) -> Vec<Column> {
        let delays = |pick: fn(&Summary) -> Option<f64>| -> Vec<Option<String>> {
            ways.iter().map(|way| scale.number(pick(&way.results(m).delay_ns))).collect()
        };
        let plus_minus = if self.style.unicode { "±" } else { "+-" };
        let median: Vec<Option<String>> = ways
            .iter()
            .map(|way| {
                let delay = &way.results(m).delay_ns;
                let median = scale.number(delay.median)?;
                Some(match MedianInterval::from_summary(delay)? {
                    MedianInterval::Within(half) => format!("{median} {plus_minus} {}", scale.spread(half)),
                    MedianInterval::Between(ends) => {
                        format!("{median} ({})", farther(ends, delay.median?, self.style.unicode))
                    }
                    MedianInterval::NotKnown => median,
                })
            })
            .collect();
        let ipdv =
            ways.iter().map(|way| scale.number(way.results(m).jitter_ns.delay_difference.p95)).collect();
        let lost = ways.iter().map(|way| way.results(m).loss.ratio.map(percent)).collect();
        let column = |head, cells, dispensable| Column { head, cells, dispensable, bad: false };
        let mut columns = vec![
            column("min", delays(|delay| delay.min), 5),
            column("median", median, 0),
            column("p95", delays(|delay| delay.p95), 4),
            column("p99", delays(|delay| delay.p99), 1),
            column("max", delays(|delay| delay.max), 2),
            column("|IPDV| p95", ipdv, 3),
        ];
        columns.push(Column { head: "loss", cells: lost, dispensable: 0, bad: true });
        columns
    }

    fn distributions(self, m: &Measurement, lines: &mut Vec<String>) {
        if !self.style.unicode {
            return;
        }
        let scale = Scale::for_measurement(m);
        let ways = ways(m);
        let label = self.label_width(m, &ways);
        let mut drawn = Vec::new();
        for way in &ways {
            let direction = way.results(m);
            if direction.delay_ns.count < FEWEST_IN_SPARKLINE {
                continue;
            }
            let (Some(min), Some(p99)) = (direction.delay_ns.min, direction.delay_ns.p99) else { continue };
            let room = self.width.saturating_sub(label + 24).min(BARS);
            let Some(bars) = sparkline(&direction.histograms.delay, min, p99, room) else { continue };
            let (low, high) = (scale.number(Some(min)), scale.number(Some(p99)));
            drawn.push((self.label(m, *way), low.unwrap_or_default(), bars, high.unwrap_or_default()));
        }
        if drawn.is_empty() {
            return;
        }
        lines.push(String::new());
        let low_width = drawn.iter().map(|(_, low, _, _)| length(low)).max().unwrap_or(0);
        let high_width = drawn.iter().map(|(_, _, _, high)| length(high)).max().unwrap_or(0);
        for (name, low, bars, high) in drawn {
            let low = self.paint(&pad_left(&low, low_width + 2), Paint::Faint);
            let high = self.paint(&format!("{} p99", pad_left(&high, high_width)), Paint::Faint);
            lines.push(format!("{name:label$}{low} {} {high}", self.paint(&bars, Paint::Bars)));
        }
    }

    /// What a reader looks for first: why the run is partial, limits, ratings, findings.
    fn results(self, m: &Measurement, lines: &mut Vec<String>) {
        let begin = lines.len();
        if m.partial {
            self.note("Partial", self.words.ending(m), Paint::Warn, lines);
        }
        for (passed, word, paint) in [(false, "Failed", Paint::Bad), (true, "Passed", Paint::Good)] {
            for limit in m.limits.iter().filter(|limit| limit.passed == passed) {
                self.note(word, &self.limit(limit), paint, lines);
            }
        }
        for (direction, losses) in self.words.losses(m) {
            let direction = direction.map_or_else(String::new, |direction| format!("{direction}: "));
            self.note("Loss", &format!("{direction}{losses}"), Paint::Plain, lines);
        }
        for voice in &m.voice {
            self.note("Voice", &self.words.voice(m, voice), Paint::Plain, lines);
        }
        for unrated in &m.voice_unrated {
            self.note("Voice", &self.words.unrated(m, unrated), Paint::Plain, lines);
        }
        let findings: Vec<String> = m.findings.iter().map(|finding| self.words.finding(m, finding)).collect();
        self.some("Finding", &findings, FINDINGS, Paint::Plain, lines);
        if lines.len() > begin {
            lines.insert(begin, String::new());
        }
    }

    fn limit(self, limit: &Limit) -> String {
        let value = self.words.limit_value(limit);
        let value = value.map_or_else(String::new, |value| format!(", measured {value}"));
        format!("{}{value}", limit.limit)
    }

    /// The first `most` of several; all of them where the summary is verbose.
    fn some(self, name: &str, texts: &[String], most: usize, paint: Paint, lines: &mut Vec<String>) {
        let most = if self.verbose { usize::MAX } else { most };
        for text in texts.iter().take(most) {
            self.note(name, text, paint, lines);
        }
        if texts.len() > most {
            self.note("", &format!("and {} more (--verbose)", texts.len() - most), paint, lines);
        }
    }

    fn notes(self, m: &Measurement, lines: &mut Vec<String>) {
        self.note("Traffic", &self.words.traffic(&m.traffic), Paint::Plain, lines);
        let one_way: Vec<MeasuredPath> =
            ways(m).into_iter().filter(|way| *way != MeasuredPath::RoundTrip).collect();
        for way in &one_way {
            let direction =
                if way.title(m) == "one way" { String::new() } else { format!("{}: ", way.name()) };
            let packets = format!("{direction}{}", self.words.packets(way.results(m), *way));
            self.note("Packets", &packets, Paint::Plain, lines);
        }
        let known = m.round_trip.packets.sent.is_some();
        if known && (m.forward.packets.sent.is_none() || m.forward.packets.lost.is_none()) {
            let name = if one_way.is_empty() { "" } else { "round trip: " };
            let packets = format!("{name}{}", self.words.packets(&m.round_trip, MeasuredPath::RoundTrip));
            self.note("Packets", &packets, Paint::Plain, lines);
        }
        if let Some(route) = self.words.route(&m.metadata) {
            self.note("Route", &route, Paint::Plain, lines);
        }
        self.note("Clocks", &self.words.clock(m), Paint::Plain, lines);
        self.some("", &self.words.clock_events(m), EVENTS, Paint::Plain, lines);
        if let Some(phase) = &m.calibration_phase {
            self.note("Phases", &self.words.calibration_phase(phase), Paint::Plain, lines);
        }
        if let Some(calibration) = self.words.calibration(m) {
            self.note("Baseline", &calibration, Paint::Plain, lines);
        }
        if let Some(comment) = &m.metadata.comment {
            self.note("Comment", comment, Paint::Plain, lines);
        }
        self.some("Event", &self.words.events(m, false), EVENTS, Paint::Warn, lines);
        let (warnings, of_setup) = setup::warnings(m);
        for warning in warnings {
            self.note("Note", &self.plain(warning), Paint::Warn, lines);
        }
        self.setup(m, &of_setup, lines);
    }

    /// The test setup: where time stamps were taken, and what is known of the hosts. A summary that is not verbose says how much
    /// there is.
    fn setup(self, m: &Measurement, warnings: &[String], lines: &mut Vec<String>) {
        let events = self.words.events(m, true);
        if !self.verbose {
            let notes = warnings.len() + events.len();
            if notes > 0 {
                let notes = counted(notes as u64, "note", "notes");
                self.note(
                    "Setup",
                    &format!("{notes} on hosts and time stamps (--verbose)"),
                    Paint::Plain,
                    lines,
                );
            }
            return;
        }
        self.note("Stamps", &self.words.stamps(m), Paint::Plain, lines);
        if let Some(error) = self.words.location_error(m) {
            self.note("", &error, Paint::Plain, lines);
        }
        for text in events.iter().map(String::as_str).chain(warnings.iter().map(String::as_str)) {
            self.note("Setup", text, Paint::Plain, lines);
        }
    }

    /// A text without the signs that a terminal in ASCII lacks.
    fn plain(self, text: String) -> String {
        if self.style.unicode { text } else { text.replace('µ', "u").replace('±', "+-") }
    }

    /// A paragraph with its name in the margin.
    fn note(self, name: &str, text: &str, paint: Paint, lines: &mut Vec<String>) {
        for (index, line) in wrap(&escape::terminal(text), self.width - MARGIN).into_iter().enumerate() {
            let margin = format!("{:MARGIN$}", if index == 0 { name } else { "" });
            lines.push(format!("{}{}", self.paint(&margin, Paint::Faint), self.paint(&line, paint)));
        }
    }
}

fn length(text: &str) -> usize {
    text.chars().count()
}

fn pad_left(text: &str, width: usize) -> String {
    format!("{}{text}", " ".repeat(width.saturating_sub(length(text))))
}

fn width_of(column: &Column) -> usize {
    let cells = column.cells.iter().flatten().map(|cell| length(cell)).max().unwrap_or(1);
    cells.max(column.head.len())
}

/// Leaves out the most dispensable columns until the others fit.
fn fit(mut columns: Vec<Column>, room: usize) -> Vec<Column> {
    let total = |columns: &[Column]| columns.iter().map(|column| width_of(column) + 2).sum::<usize>();
    while total(&columns) > room {
        let Some((index, _)) =
            columns.iter().enumerate().filter(|(_, c)| c.dispensable > 0).max_by_key(|(_, c)| c.dispensable)
        else {
            break;
        };
        columns.remove(index);
    }
    columns
}

/// Breaks text into lines of at most `width` characters (1 at the least), at spaces where there are any.
pub fn wrap(text: &str, width: usize) -> Vec<String> {
    let mut lines = Vec::new();
    let mut line = String::new();
    for word in text.split(' ') {
        let mut word = word;
        if !line.is_empty() && length(&line) + 1 + length(word) > width {
            lines.push(std::mem::take(&mut line));
        }
        // A word without end (a path, a hostile name) is broken anywhere.
        while length(word) > width {
            let cut = word.char_indices().nth(width).map_or(word.len(), |(at, _)| at);
            let (head, tail) = word.split_at(cut);
            lines.push(head.to_owned());
            word = tail;
        }
        if !line.is_empty() {
            line.push(' ');
        }
        line.push_str(word);
    }
    lines.push(line);
    lines
}

/// The distribution between `low` and `high` as bars of eight heights; a bar that holds anything at all is seen.
#[expect(
    clippy::cast_precision_loss,
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "a bar has eight heights, and the indices are bounded"
)]
fn sparkline(histogram: &Histogram, low: f64, high: f64, room: usize) -> Option<String> {
    if high <= low || room < 8 {
        return None;
    }
    let mut bars = vec![0.0_f64; room];
    let width = (high - low) / room as f64;
    for (edges, count) in histogram.bin_edges_ns.windows(2).zip(&histogram.counts) {
        let [from, to] = edges else { continue };
        let (from, to) = (*from as f64, *to as f64);
        let share = *count as f64 / (to - from).max(1.0);
        // A bin is spread evenly over the bars that it covers.
        for (index, bar) in bars.iter_mut().enumerate() {
            let (left, right) = (low + width * index as f64, low + width * (index + 1) as f64);
            let overlap = to.min(right) - from.max(left);
            if overlap > 0.0 {
                *bar += share * overlap;
            }
        }
    }
    let greatest = bars.iter().copied().fold(0.0, f64::max);
    if greatest <= 0.0 {
        return None;
    }
    let glyph = |bar: f64| match bar {
        none if none < 0.05 => ' ',
        some => char::from_u32('▁' as u32 + ((some / greatest * 7.0).round() as u32).min(7)).unwrap_or(' '),
    };
    Some(bars.into_iter().map(glyph).collect())
}

//! A running measurement in a few lines that are drawn again and again.

use std::collections::VecDeque;

use romer_record::document::{ClockSoFar, DelayKind, ProbeDirection, StreamInterval};
use romer_units::saturating_sum;

use crate::escape;
use crate::number::{NO_BREAK, count, maybe_time, percent};
use crate::text::TextStyle;

/// Streams that have a line of their own.
const SHOWN: usize = 8;
/// Medians that a line of bars remembers.
const REMEMBERED: usize = 32;
/// Octaves of bars, from the least to the greatest.
const BARS: [char; 8] = ['▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];

/// What is known of a running measurement.
#[derive(Clone, Debug, Default)]
pub struct LiveView {
    /// How long it takes, nanoseconds, where that is known.
    expected_ns: Option<i64>,
    way: ProbeDirection,
    streams: Vec<Watched>,
}

/// A stream as it was last told of.
#[derive(Clone, Debug)]
struct Watched {
    latest: StreamInterval,
    /// The last delays that were told.
    delay: Delay,
    /// Of packets that go one way: there and here.
    ways: [OneWayDelay; 2],
    /// Medians of the last intervals.
    medians: VecDeque<f64>,
}

/// What is known of packets that go one way, while they go.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct OneWayDelay {
    /// Median of the last interval, nanoseconds.
    pub median: Option<f64>,
    /// Interarrival jitter of RFC 3550 since the start, nanoseconds.
    pub jitter: Option<f64>,
    /// Packets of which it is time that they have arrived, and those that have.
    pub counts: Option<[u64; 2]>,
    /// The delay is above the least so far, because the clocks of both ends are not one.
    pub above_least: bool,
}

impl OneWayDelay {
    /// With what is new; what is not known now is as it was.
    fn or(self, before: Self) -> Self {
        Self {
            median: self.median.or(before.median),
            jitter: self.jitter.or(before.jitter),
            counts: self.counts.or(before.counts),
            ..self
        }
    }

    fn text(&self, name: &str, unicode: bool) -> Option<String> {
        let delay = self.median?;
        let sign = if self.above_least { "+" } else { "" };
        let jitter = self
            .jitter
            .map_or_else(String::new, |jitter| format!(" jitter {}", maybe_time(Some(jitter), unicode)));
        let lost = self.counts.filter(|[sent, _]| *sent > 0).map_or_else(String::new, |[sent, arrived]| {
            #[expect(clippy::cast_precision_loss, reason = "a share of two digits")]
            let ratio = sent.saturating_sub(arrived) as f64 / sent as f64;
            format!(" loss {}", percent(ratio))
        });
        Some(format!("{name} {sign}{}{jitter}{lost}", maybe_time(Some(delay), unicode)))
    }
}

#[derive(Clone, Copy, Debug, Default)]
struct Delay {
    median: Option<f64>,
    spread: Option<f64>,
}

impl LiveView {
    /// A view of a measurement whose packets go `way`, that takes `expected_ns`.
    pub const fn new(way: ProbeDirection, expected_ns: Option<i64>) -> Self {
        Self { expected_ns, way, streams: Vec::new() }
    }

    /// Takes in what happened.
    pub fn take(&mut self, interval: &StreamInterval) {
        let place = self.streams.iter().position(|one| one.latest.stream == interval.stream);
        let place = place.unwrap_or_else(|| {
            self.streams.push(Watched {
                latest: interval.clone(),
                delay: Delay::default(),
                ways: Default::default(),
                medians: VecDeque::new(),
            });
            self.streams.len() - 1
        });
        if let Some(stream) = self.streams.get_mut(place) {
            stream.take(interval);
        }
    }

    /// Takes in what is known of each way of a stream's packets, there and here, that go one way.
    pub fn take_ways(&mut self, stream: u16, ways: &[OneWayDelay; 2]) {
        if let Some(one) = self.streams.iter_mut().find(|one| one.latest.stream == stream) {
            let [there, here] = one.ways;
            one.ways = [ways[0].or(there), ways[1].or(here)];
        }
    }

    /// The lines, none wider than the terminal.
    pub fn lines(&self, style: &TextStyle) -> Vec<String> {
        let mut lines = vec![self.progress(style)];
        let named = self.streams.len() > 1;
        lines.extend(self.streams.iter().take(SHOWN).map(|stream| stream.line(style, named, self.way)));
        if self.streams.len() > SHOWN {
            let rest = self.streams.iter().skip(SHOWN);
            let (sent, back) = rest.fold((0_u64, 0_u64), |(sent, back), one| {
                (sent.saturating_add(one.latest.sent), back.saturating_add(one.latest.returned))
            });
            let number = self.streams.len() - SHOWN;
            lines.push(format!("and {number} more streams: {} sent, {} received", count(sent), count(back)));
        }
        lines.into_iter().map(|line| cut(&line, style.width)).map(|line| painted(line, style)).collect()
    }

    fn progress(&self, style: &TextStyle) -> String {
        let elapsed = self.streams.iter().map(|one| one.latest.elapsed_ns).max().unwrap_or(0);
        let sum =
            |of: fn(&StreamInterval) -> u64| saturating_sum(self.streams.iter().map(|one| of(&one.latest)));
        let (sent, back) = (sum(|latest| latest.sent), sum(|latest| latest.returned));
        let outstanding = match sum(|latest| latest.outstanding) {
            0 => String::new(),
            outstanding => format!(", {} outstanding", count(outstanding)),
        };
        // Its end is when the last one is sent: what is on its way then takes longer.
        let elapsed = self.expected_ns.map_or(elapsed, |all| elapsed.min(all));
        // Of what takes less than ten seconds, the tenths.
        let short = self.expected_ns.is_some_and(|all| all < 10_000_000_000);
        let seconds = |nanos: i64| {
            let (whole, tenths) = (nanos / 1_000_000_000, nanos / 100_000_000 % 10);
            if short { format!("{whole}.{tenths}") } else { whole.to_string() }
        };
        let of = self.expected_ns.map_or_else(String::new, |all| format!(" of {}", seconds(all)));
        let bar = self
            .expected_ns
            .map_or_else(String::new, |all| format!("{}  ", bar(elapsed, all, style.unicode)));
        let words = format!(
            "{}{of} s, {} sent, {} received{outstanding}",
            seconds(elapsed),
            count(sent),
            count(back)
        );
        // Words tell more than the bar.
        let has_room = bar.chars().count() + words.chars().count() <= style.width;
        if has_room { format!("{bar}{words}") } else { words }
    }
}

impl Watched {
    fn take(&mut self, interval: &StreamInterval) {
        self.latest.clone_from(interval);
        let delay = &interval.round_trip_delay_ns;
        if let Some(median) = delay.median {
            self.delay = Delay { median: Some(median), spread: delay.iqr };
            self.medians.push_back(median);
            if self.medians.len() > REMEMBERED {
                self.medians.pop_front();
            }
        }
    }

    /// What the two ends' stamps say together is known at the end, unless the far end tells its own meanwhile.
    fn one_way(&self, loss: &str, unicode: bool) -> String {
        let words = |(way, name): (&OneWayDelay, &str)| way.text(name, unicode);
        let ways: Vec<_> = self.ways.iter().zip(["forward", "reverse"]).filter_map(words).collect();
        if ways.is_empty() {
            let latest = &self.latest;
            let counts = format!("{} sent, {} received", count(latest.sent), count(latest.returned));
            return format!("{counts}{loss}  one-way delay available after the run");
        }
        let least =
            if self.ways.iter().any(|way| way.above_least) { "  (+ above the minimum so far)" } else { "" };
        format!("{}{least}", ways.join("  "))
    }

    fn line(&self, style: &TextStyle, named: bool, way: ProbeDirection) -> String {
        let room = (style.width / 3).clamp(6, 20);
        let name = if named {
            format!("{:<room$.room$}  ", escape::terminal(&self.latest.target))
        } else {
            String::new()
        };
        let loss = loss(&self.latest).map_or_else(String::new, |ratio| format!("  loss {}", percent(ratio)));
        let bars = if style.unicode { format!("  {}", bars(&self.medians)) } else { String::new() };
        if way.is_one_way() {
            return format!("{name}{}", self.one_way(&loss, style.unicode)).replace(NO_BREAK, " ");
        }
        let one_way =
            [("forward", &self.latest.forward), ("reverse", &self.latest.reverse)].map(|(name, way)| {
                let delay = way.as_ref().and_then(|way| Some((way.delay_kind, way.delay_median_ns?)));
                delay.map_or_else(String::new, |(kind, median)| {
                    let sign = if kind == DelayKind::Variable { "+" } else { "" };
                    format!("  {name} {sign}{}", maybe_time(Some(median), style.unicode))
                })
            });
        let one_way = one_way.concat();
        format!(
            "{name}round trip {:>8}  IQR {:>8}{loss}{one_way}{}{bars}  (median, preliminary)",
            maybe_time(self.delay.median, style.unicode),
            maybe_time(self.delay.spread, style.unicode),
            self.latest
                .clock
                .as_ref()
                .map_or_else(String::new, |clock| format!("  clock skew {}", skew(clock, style.unicode))),
        )
        .replace(NO_BREAK, " ")
    }
}

/// The share lost of the probes of which it is known whether they came; `None` before it is known of any.
pub fn loss(interval: &StreamInterval) -> Option<f64> {
    #[expect(clippy::cast_precision_loss, reason = "a share of two digits")]
    let ratio = interval.lost as f64 / interval.settled as f64;
    (interval.settled > 0).then_some(ratio)
}

/// How much faster the responder's clock runs, with its interval, as far as it is known by now.
pub fn skew(clock: &ClockSoFar, unicode: bool) -> String {
    match (clock.skew_ppm, clock.skew_interval_ppm) {
        (Some(ppm), Some([low, high])) => {
            let half = (high - low) / 2.0;
            // Two digits of what is not known.
            let decimals = if half > 0.0 { (1.0 - half.log10().floor()).clamp(0.0, 4.0) } else { 4.0 };
            #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "from 0 to 4")]
            let decimals = decimals as usize;
            let sign = if unicode { "±" } else { "+-" };
            format!("{ppm:+.decimals$} {sign} {half:.decimals$} ppm")
        }
        _ => "unknown yet".into(),
    }
}

/// How far it has come.
fn bar(elapsed: i64, all: i64, unicode: bool) -> String {
    const WIDTH: i64 = 24;
    let done = (elapsed.clamp(0, all.max(1)) * WIDTH) / all.max(1);
    let (full, empty) = if unicode { ('━', '─') } else { ('#', '-') };
    (0..WIDTH).map(|place| if place < done { full } else { empty }).collect()
}

/// The medians between their least and their greatest.
#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "one of eight heights")]
fn bars(medians: &VecDeque<f64>) -> String {
    let least = medians.iter().copied().fold(f64::INFINITY, f64::min);
    let greatest = medians.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    let height = |median: f64| {
        let share = if greatest > least { (median - least) / (greatest - least) } else { 0.0 };
        BARS[((share * 7.0).round() as usize).min(7)]
    };
    medians.iter().map(|median| height(*median)).collect()
}

/// As much of a line as there is room for: its first parts, none of them cut unless the first is too long by itself.
fn cut(line: &str, width: usize) -> String {
    let width = width.max(1);
    let Some((end, _)) = line.char_indices().nth(width) else { return line.to_owned() };
    let is_fitting = |end: &usize| line.get(..*end).is_some_and(|part| !part.trim().is_empty());
    let ends = ["  ", ", "].into_iter().filter_map(|gap| line.get(..end + gap.len())?.rfind(gap));
    line[..ends.filter(is_fitting).max().unwrap_or(end)].trim_end().to_owned()
}

/// Bars in colour.
fn painted(line: String, style: &TextStyle) -> String {
    if !style.color {
        return line;
    }
    let is_bar = |c: char| BARS.contains(&c) || c == '━';
    match (line.find(is_bar), line.rfind(is_bar)) {
        (Some(from), Some(to)) => {
            let to = to + line[to..].chars().next().map_or(0, char::len_utf8);
            format!("{}\x1b[36m{}\x1b[0m{}", &line[..from], &line[from..to], &line[to..])
        }
        _ => line,
    }
}

#[cfg(test)]
mod tests {
    use romer_record::document::{StreamWay, Summary};
    use romer_record::warning::SkewUnknown;

    use super::*;

    fn interval(stream: u16, seconds: i64, sent: u64, returned: u64, median: f64) -> StreamInterval {
        StreamInterval {
            stream,
            target: format!("198.18.0.{stream}"),
            elapsed_ns: seconds * 1_000_000_000,
            sent,
            returned,
            round_trip_delay_ns: Summary {
                median: Some(median),
                iqr: Some(median / 10.0),
                ..Summary::default()
            },
            ..StreamInterval::default()
        }
    }

    #[test]
    fn on_a_narrow_terminal_the_last_parts_of_a_line_are_left_out_and_none_is_cut() {
        let mut view = LiveView::new(ProbeDirection::RoundTrip, Some(10_000_000_000));
        view.take(&interval(0, 5, 500, 499, 20e6));
        assert_eq!(view.lines(&plain(19)), ["5 of 10 s, 500 sent", "round trip  20.0 ms"]);
        view.take(&interval(1, 5, 500, 499, 20e6));
        let lines = view.lines(&plain(39));
        assert!(lines[1].starts_with("198.18.0.0     round trip"), "{lines:?}");
        for width in 1..100 {
            assert!(view.lines(&plain(width)).iter().all(|line| line.chars().count() <= width));
        }
    }

    fn plain(width: usize) -> TextStyle {
        TextStyle { width, ..TextStyle::default() }
    }

    /// Loss is of the probes whose fate is known, and those that are on their way are outstanding.
    #[test]
    fn loss_of_settled_probes() {
        let mut view = LiveView::new(ProbeDirection::RoundTrip, Some(10_000_000_000));
        let with =
            |settled, lost, outstanding, interval| StreamInterval { settled, lost, outstanding, ..interval };
        view.take(&with(0, 0, 10, interval(0, 1, 100, 90, 1_000.0)));
        let lines = view.lines(&plain(80));
        assert!(!lines.join("\n").contains("loss"), "ten may be on their way: {lines:?}");
        assert!(lines[0].ends_with("100 sent, 90 received, 10 outstanding"), "{lines:?}");
        view.take(&with(100, 0, 5, interval(0, 2, 200, 195, 2_000.0)));
        assert!(view.lines(&plain(80))[1].contains("loss 0 %"), "of the first hundred");
        view.take(&with(200, 10, 0, interval(0, 3, 200, 190, 1_500.0)));
        let lines = view.lines(&plain(80));
        assert!(lines[1].contains("loss 5.00 %"), "{lines:?}");
        assert!(lines[1].contains("▁█▅") && lines[1].contains("round trip  1.50 µs"), "{lines:?}");
        assert!(lines[0].ends_with("3 of 10 s, 200 sent, 190 received"), "{lines:?}");
    }

    #[test]
    fn no_more_time_is_told_than_a_measurement_takes() {
        let mut view = LiveView::new(ProbeDirection::RoundTrip, Some(600_000_000));
        let told = StreamInterval { elapsed_ns: 733_000_000, ..interval(0, 0, 60, 60, 1e6) };
        view.take(&told);
        let line = view.lines(&plain(80)).swap_remove(0);
        assert!(line.contains("  0.6 of 0.6 s, 60 sent, 60 received"), "{line}");
    }

    #[test]
    fn the_clocks_are_told_with_their_interval_as_soon_as_they_are_identifiable() {
        let mut view = LiveView::new(ProbeDirection::RoundTrip, None);
        let told = |clock: Option<ClockSoFar>| StreamInterval { clock, ..interval(0, 1, 10, 10, 1e6) };
        view.take(&told(None));
        assert!(!view.lines(&plain(120))[1].contains("clock skew"), "they are one");
        let not_yet = ClockSoFar { why_not: Some(SkewUnknown::FewOrClose), ..ClockSoFar::default() };
        view.take(&told(Some(not_yet.clone())));
        assert!(view.lines(&plain(120))[1].contains("clock skew unknown yet"));
        let known =
            ClockSoFar { skew_ppm: Some(-12.3456), skew_interval_ppm: Some([-12.3956, -12.2956]), ..not_yet };
        view.take(&told(Some(known)));
        let line = view.lines(&plain(120)).swap_remove(1);
        assert!(line.contains("clock skew -12.346 ± 0.050 ppm"), "{line}");
    }

    /// Round trips tell the delays of both directions, above the minimum so far where the clocks are two.
    #[test]
    fn round_trips_tell_both_directions() {
        let way = |kind, median| StreamWay {
            delay_kind: kind,
            delays: 10,
            delay_median_ns: Some(median),
            delay_p99_ns: None,
            jitter_rfc3550_ns: None,
            sent: None,
            arrived: None,
        };
        for (kind, words) in [
            (DelayKind::Variable, "forward +1.20 ms  reverse +3.00 ms"),
            (DelayKind::Absolute, "forward 1.20 ms  reverse 3.00 ms"),
        ] {
            let mut view = LiveView::new(ProbeDirection::RoundTrip, None);
            let [forward, reverse] = [1.2e6, 3e6].map(|median| Some(way(kind, median)));
            view.take(&StreamInterval { forward, reverse, ..interval(0, 1, 10, 10, 5e6) });
            let line = view.lines(&plain(140)).swap_remove(1);
            assert!(line.contains(words), "{line}");
        }
    }

    #[test]
    fn packets_that_go_one_way_have_their_delays_as_soon_as_the_far_end_tells_them() {
        let mut view = LiveView::new(ProbeDirection::Both, None);
        view.take(&interval(0, 1, 100, 90, 0.0));
        let line = |view: &LiveView| view.lines(&plain(140)).swap_remove(1);
        assert!(
            line(&view).contains("100 sent, 90 received  one-way delay available after the run"),
            "{}",
            line(&view)
        );
        let there = OneWayDelay {
            median: Some(12e6),
            jitter: Some(5e5),
            counts: Some([200, 199]),
            above_least: true,
        };
        let here = OneWayDelay { median: Some(8e6), above_least: true, ..OneWayDelay::default() };
        view.take_ways(0, &[there, here]);
        let told =
            "forward +12.0 ms jitter 500 µs loss 0.50 %  reverse +8.00 ms  (+ above the minimum so far)";
        assert!(line(&view).contains(told), "{}", line(&view));
        // An interval without news leaves what was told.
        view.take_ways(0, &[OneWayDelay { above_least: true, ..OneWayDelay::default() }; 2]);
        assert!(line(&view).contains(told), "{}", line(&view));
        view.take_ways(0, &[there, here].map(|way| OneWayDelay { above_least: false, ..way }));
        assert!(line(&view).contains("forward 12.0 ms") && !line(&view).contains('+'), "{}", line(&view));
    }

    #[test]
    fn many_streams_are_few_lines_and_none_is_wider_than_the_terminal() {
        let mut view = LiveView::new(ProbeDirection::RoundTrip, None);
        for stream in 0..200 {
            view.take(&interval(stream, 3, 100, 100, 1e6));
        }
        for width in [1, 40, 80, 200] {
            let lines = view.lines(&plain(width));
            assert_eq!(lines.len(), 10);
            assert!(lines.iter().all(|line| line.chars().count() <= width), "{lines:?}");
        }
        assert!(view.lines(&plain(80))[9].contains("192 more streams: 19,200 sent"));
        let ascii = TextStyle { unicode: false, ..plain(80) };
        assert!(view.lines(&ascii).iter().all(|line| line.is_ascii()));
    }
}

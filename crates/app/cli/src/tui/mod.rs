//! A whole terminal for what is under way (`--tui`): drawn on a thread of its own, so that what is measured or emulated
//! never waits for it.

mod emulation;
mod measurement;

use std::io::{self, IsTerminal, Stderr};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use ratatui::backend::CrosstermBackend;
use ratatui::crossterm::event::{self, Event, KeyCode, KeyEventKind, KeyModifiers};
use ratatui::crossterm::execute;
use ratatui::crossterm::terminal::{
    EnterAlternateScreen, LeaveAlternateScreen, disable_raw_mode, enable_raw_mode,
};
use ratatui::layout::{Constraint, Layout, Rect};
use ratatui::style::{Color, Style, Stylize};
use ratatui::text::Line;
use ratatui::{Frame, Terminal};
use romer_report::{maybe_time, percent};

pub(crate) use emulation::EmulationPicture;
pub(crate) use measurement::{MeasurementPicture, Painter};

use crate::failure::Failure;

/// How long it is until the next look for a key, and how many such waits lie between two drawings.
const WAIT: Duration = Duration::from_millis(50);
const WAITS: u32 = 4;
/// How long the terminal is waited for to be given back.
const SHUTDOWN_TIMEOUT: Duration = Duration::from_secs(2);
/// Colours of curves, in their order.
const COLOURS: [Color; 4] = [Color::Cyan, Color::Yellow, Color::Magenta, Color::Green];

/// What is drawn.
pub(crate) trait Picture: Send + 'static {
    /// Draws it within `area`.
    fn draw(&self, frame: &mut Frame<'_>, area: Rect);
    /// What is seen stays as it is, or goes on.
    fn hold(&mut self, held: bool);
}

/// A picture that others renew while it is drawn.
pub(crate) type Shared<P> = Arc<Mutex<P>>;

/// Changes a picture.
pub(crate) fn change<P>(picture: &Shared<P>, change: impl FnOnce(&mut P)) {
    change(&mut picture.lock().unwrap_or_else(PoisonError::into_inner));
}

/// A terminal that is drawn; dropping it gives the terminal back.
pub(crate) struct Screen {
    over: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl Screen {
    /// Takes the terminal of standard error, and draws `picture` until it is dropped. The keys q, Esc and Ctrl-C set
    /// `stop`; Ctrl-C a second time ends the program at once, with exit code 130.
    ///
    /// # Errors
    /// Where standard error is no terminal, or one that draws nothing but lines.
    pub(crate) fn take<P: Picture>(picture: &Shared<P>, stop: &Arc<AtomicBool>) -> Result<Self, Failure> {
        check()?;
        let refused = |error: io::Error| {
            Failure::environment(format!(
                "the terminal cannot be taken (--tui): {error}; leave --tui out for the small view"
            ))
        };
        let mut terminal = Terminal::new(CrosstermBackend::new(io::stderr())).map_err(refused)?;
        enable_raw_mode().map_err(refused)?;
        if let Err(error) = execute!(io::stderr(), EnterAlternateScreen) {
            give_back();
            return Err(refused(error));
        }
        let over = Arc::new(AtomicBool::new(false));
        let (ends, picture, stop) = (Arc::clone(&over), Arc::clone(picture), Arc::clone(stop));
        let thread = thread::Builder::new().name("tui".into()).spawn(move || {
            show(&mut terminal, &picture, &stop, &ends);
            drop(terminal);
            give_back();
        });
        match thread {
            Ok(thread) => Ok(Self { over, thread: Some(thread) }),
            Err(error) => {
                give_back();
                Err(refused(error))
            }
        }
    }
}

impl Drop for Screen {
    fn drop(&mut self) {
        self.over.store(true, Ordering::Release);
        let asked = Instant::now();
        if let Some(thread) = self.thread.take() {
            // One that a terminal does not let go, closed in the very moment of a look for a key, ends with the program.
            while !thread.is_finished() && asked.elapsed() < SHUTDOWN_TIMEOUT {
                thread::sleep(Duration::from_millis(1));
            }
        }
    }
}

/// Whether there is a terminal to be taken.
///
/// # Errors
/// There is none.
pub(crate) fn check() -> Result<(), Failure> {
    if io::stderr().is_terminal() && io::stdin().is_terminal() && !crate::output::is_dumb() {
        return Ok(());
    }
    Err(Failure::usage(
        "there is no terminal to draw on (--tui): standard input or standard error is none, or TERM is dumb; leave --tui \
         out, or run it in a terminal",
    ))
}

/// The terminal as it was; one that is gone does not matter.
fn give_back() {
    let _ = execute!(io::stderr(), LeaveAlternateScreen);
    let _ = disable_raw_mode();
}

fn show<P: Picture>(
    terminal: &mut Terminal<CrosstermBackend<Stderr>>,
    picture: &Shared<P>,
    stop: &AtomicBool,
    over: &AtomicBool,
) {
    let mut held = false;
    while !over.load(Ordering::Acquire) {
        let drawn = terminal.draw(|frame| {
            let [body, keys] =
                Layout::vertical([Constraint::Min(0), Constraint::Length(1)]).areas(frame.area());
            picture.lock().unwrap_or_else(PoisonError::into_inner).draw(frame, body);
            let ending = stop.load(Ordering::Acquire);
            frame.render_widget(Line::from(hint(ending, held, keys.width)).style(Style::new().dim()), keys);
        });
        if drawn.is_err() {
            // The terminal is gone; the work goes on.
            return;
        }
        for _ in 0..WAITS {
            if over.load(Ordering::Acquire) {
                return;
            }
            match key() {
                Pressed::Nothing => continue,
                // The work goes on.
                Pressed::Gone => return,
                Pressed::End if stop.swap(true, Ordering::AcqRel) => {
                    give_back();
                    std::process::exit(130);
                }
                Pressed::Quit => stop.store(true, Ordering::Release),
                Pressed::Hold => {
                    held = !held;
                    change(picture, |picture| picture.hold(held));
                }
                Pressed::End | Pressed::Other => {}
            }
            break;
        }
    }
}

/// What the keys do, in so many columns.
fn hint(ending: bool, held: bool, width: u16) -> &'static str {
    let [long, short] = match (ending, held) {
        (true, _) => ["ending: waiting for packets under way; Ctrl-C ends at once", "ending, Ctrl-C kills"],
        (false, true) => ["paused: p resumes, q quits (data is saved)", "paused: p resumes"],
        (false, false) => ["q quits (data is saved), p pauses", "q quits, p pauses"],
    };
    if long.len() <= usize::from(width) { long } else { short }
}

enum Pressed {
    Nothing,
    /// Nothing, and nothing more: the terminal is closed.
    Gone,
    Quit,
    End,
    Hold,
    Other,
}

fn key() -> Pressed {
    thread::sleep(WAIT);
    // Who reads from a terminal that is closed reads its end for ever.
    if !io::stdin().is_terminal() {
        return Pressed::Gone;
    }
    match event::poll(Duration::ZERO) {
        Ok(true) => {}
        Ok(false) => return Pressed::Nothing,
        // Without keys it is drawn all the same.
        Err(_) => return Pressed::Nothing,
    }
    match event::read() {
        Ok(Event::Key(key)) if key.kind == KeyEventKind::Press => match key.code {
            KeyCode::Char('c') if key.modifiers.contains(KeyModifiers::CONTROL) => Pressed::End,
            KeyCode::Char('q') | KeyCode::Esc => Pressed::Quit,
            // The octets of an input that has ended are read as keys with Ctrl.
            KeyCode::Char('p' | ' ') if key.modifiers.is_empty() => Pressed::Hold,
            _ => Pressed::Other,
        },
        _ => Pressed::Other,
    }
}

/// Moments in seconds, and values.
type Points = Vec<(f64, f64)>;

/// Curves over seconds under one title.
struct Panel<'a> {
    title: &'a str,
    /// Each with its name.
    curves: Vec<(&'a str, Points)>,
    /// What the values are.
    unit: PanelUnit,
    /// Whether the axis begins at 0.
    zero: bool,
}

/// What the values of a panel are.
#[derive(Clone, Copy)]
enum PanelUnit {
    /// Nanoseconds.
    Time,
    /// A part of a whole.
    Share,
    /// A number of something.
    Number,
}

impl PanelUnit {
    fn show(self, value: f64) -> String {
        match self {
            Self::Time => maybe_time(Some(value), true),
            Self::Share => percent(value),
            Self::Number if value < 10.0 => format!("{value:.1}"),
            Self::Number => format!("{value:.0}"),
        }
    }

    /// The least that lies between the ends of an axis, so that both and the middle have words of their own: twice what
    /// [`Self::show`] tells apart at the least.
    const fn least_span(self) -> f64 {
        match self {
            Self::Time => 2.0,
            Self::Share => 2e-4,
            Self::Number => 0.2,
        }
    }
}

/// Lines that a panel takes at the least.
const PANEL: u16 = 6;
/// Columns with which two panels stand beside each other.
const TWO_COLUMN_WIDTH: u16 = 90;

/// The panels that something is known of, as many as there is room for, those that come first before the others; where
/// nothing is known yet, the first.
fn panels(frame: &mut Frame<'_>, area: Rect, all: Vec<Panel<'_>>) {
    let empty = all.iter().all(Panel::is_empty);
    let across = if area.width >= TWO_COLUMN_WIDTH { 2 } else { 1 };
    let rows = usize::from((area.height / PANEL).max(1));
    let known = all.into_iter().filter(|panel| empty || !panel.is_empty());
    let shown: Vec<Panel<'_>> = known.take(if empty { 1 } else { rows * across }).collect();
    let lines = Layout::vertical(shown.chunks(across).map(|_| Constraint::Fill(1))).split(area);
    for (line, panels) in lines.iter().zip(shown.chunks(across)) {
        let places = Layout::horizontal(panels.iter().map(|_| Constraint::Fill(1))).split(*line);
        panels.iter().zip(places.iter()).for_each(|(panel, place)| panel.draw(frame, *place));
    }
}

impl Panel<'_> {
    fn is_empty(&self) -> bool {
        self.curves.iter().all(|(_, points)| points.is_empty())
    }

    fn draw(&self, frame: &mut Frame<'_>, area: Rect) {
        chart(frame, area, self);
    }
}

fn chart(frame: &mut Frame<'_>, area: Rect, panel: &Panel<'_>) {
    use ratatui::symbols::Marker;
    use ratatui::text::Span;
    use ratatui::widgets::{Axis, Block, Chart, Dataset, GraphType};

    let Panel { title, curves, unit, zero } = panel;
    let points = || curves.iter().flat_map(|(_, points)| points);
    // The names stand in the title, in the colours of their curves: within the chart they would hide what is drawn.
    let named = |with_values: bool| {
        let mut words = vec![Span::raw((*title).to_owned())];
        for ((name, points), colour) in curves.iter().zip(COLOURS.into_iter().cycle()) {
            let last = points.last().filter(|_| with_values);
            let now = last.map_or_else(String::new, |(_, value)| format!(" {}", unit.show(*value)));
            words.push(Span::styled(format!(" \u{2500} {name}{now}"), Style::new().fg(colour)));
        }
        words
    };
    // A value that would be cut is left out.
    let fits = |words: &Vec<Span<'_>>| {
        words.iter().map(Span::width).sum::<usize>() <= usize::from(area.width.saturating_sub(2))
    };
    // So are names that would be.
    let words = [named(true), named(false)].into_iter().find(fits);
    let words = words.unwrap_or_else(|| vec![Span::raw((*title).to_owned())]);
    let block = Block::bordered().title(Line::from(words));
    if points().next().is_none() {
        frame.render_widget(ratatui::widgets::Paragraph::new("nothing yet").dim().block(block), area);
        return;
    }
    let least = |of: fn(&(f64, f64)) -> f64| points().map(of).fold(f64::INFINITY, f64::min);
    let most = |of: fn(&(f64, f64)) -> f64| points().map(of).fold(f64::NEG_INFINITY, f64::max);
    let (from, to) = (least(|point| point.0), most(|point| point.0));
    let to = if to > from { to } else { from + 1.0 };
    let (low, high) = (least(|point| point.1), most(|point| point.1));
    // A little room above and below; a constant has some as well.
    let room = ((high - low) * 0.08).max(high.abs() * 0.02);
    let low = if *zero && low >= 0.0 {
        0.0
    } else {
        (low - room).max(if low >= 0.0 { 0.0 } else { f64::NEG_INFINITY })
    };
    let high = (high + room).max(low + unit.least_span());
    let sets = curves.iter().zip(COLOURS.into_iter().cycle()).map(|((_, points), colour)| {
        Dataset::default()
            .marker(Marker::Braille)
            .graph_type(GraphType::Line)
            .style(Style::new().fg(colour))
            .data(points)
    });
    let decimals = usize::from(to - from < 4.0);
    let seconds = |at: f64| format!("{at:.decimals$} s");
    let chart = Chart::new(sets.collect())
        .block(block)
        .legend_position(None)
        .x_axis(Axis::default().bounds([from, to]).labels([
            seconds(from),
            seconds(f64::midpoint(from, to)),
            seconds(to),
        ]))
        .y_axis(Axis::default().bounds([low, high]).labels([
            unit.show(low),
            unit.show(f64::midpoint(low, high)),
            unit.show(high),
        ]));
    frame.render_widget(chart, area);
}

/// Seconds of nanoseconds.
#[expect(clippy::cast_precision_loss, reason = "a place on a picture")]
fn seconds(nanos: i64) -> f64 {
    nanos as f64 / 1e9
}

/// A share, where there is anything to have one of.
#[expect(clippy::cast_precision_loss, reason = "a share for people")]
fn share(part: u64, whole: u64) -> Option<f64> {
    (whole > 0).then(|| part as f64 / whole as f64)
}

#[cfg(test)]
mod tests {
    use ratatui::backend::TestBackend;

    use super::*;

    /// What a picture shows on a terminal of this size, line by line.
    pub(super) fn shown(picture: &impl Picture, width: u16, height: u16) -> String {
        let mut terminal = Terminal::new(TestBackend::new(width, height)).unwrap();
        terminal.draw(|frame| picture.draw(frame, frame.area())).unwrap();
        let buffer = terminal.backend().buffer().clone();
        let rows = (0..height).map(|y| (0..width).map(|x| buffer[(x, y)].symbol()).collect::<String>());
        rows.collect::<Vec<_>>().join("\n")
    }

    struct One(PanelUnit, Points);

    impl Picture for One {
        fn draw(&self, frame: &mut Frame<'_>, area: Rect) {
            let halves = Layout::vertical([Constraint::Fill(1), Constraint::Fill(1)]).areas::<2>(area);
            // Shares and numbers are drawn from 0 always.
            for (half, zero) in halves.into_iter().zip([true, !matches!(self.0, PanelUnit::Time)]) {
                Panel { title: "", curves: vec![("", self.1.clone())], unit: self.0, zero }.draw(frame, half);
            }
        }

        fn hold(&mut self, _: bool) {}
    }

    /// The words at an axis of values, from the top, or at one of seconds.
    fn labels(rows: &[&str]) -> [Vec<String>; 2] {
        let inner = |row: &str| row.strip_prefix('│').map(|rest| rest.trim_end_matches('│').to_owned());
        let rows: Vec<String> = rows.iter().copied().filter_map(inner).collect();
        let values =
            rows.iter().filter_map(|row| row.split_once('│')).map(|(word, _)| word.trim().to_owned());
        let seconds = rows.last().unwrap().split_whitespace().filter(|word| *word != "s");
        [values.filter(|word| !word.is_empty()).collect(), seconds.map(str::to_owned).collect()]
    }

    #[test]
    fn every_word_at_an_axis_is_another_however_little_there_is_to_tell_apart() {
        let values = [
            (PanelUnit::Share, [0.0, 0.0]),
            (PanelUnit::Share, [0.0, 1e-9]),
            (PanelUnit::Share, [0.0, 1e-5]),
            (PanelUnit::Share, [0.0, 1e-4]),
            (PanelUnit::Share, [0.0, 3e-4]),
            (PanelUnit::Share, [1.0, 1.0]),
            (PanelUnit::Time, [0.0, 0.0]),
            (PanelUnit::Time, [0.0, 0.4]),
            (PanelUnit::Time, [7.0, 7.0]),
            (PanelUnit::Time, [-3.0, -3.0]),
            (PanelUnit::Time, [1.234e9, 1.234e9]),
            (PanelUnit::Number, [0.0, 0.0]),
            (PanelUnit::Number, [0.0, 0.04]),
            (PanelUnit::Number, [12.0, 12.0]),
        ];
        for (unit, [first, last]) in values {
            for times in [[0.5, 1.0], [0.5, 2.5], [7.5, 10.5], [0.0, 600.0]] {
                let text = shown(&One(unit, vec![(times[0], first), (times[1], last)]), 60, 40);
                let rows: Vec<&str> = text.lines().collect();
                for panel in rows.chunks(20) {
                    for words in labels(panel) {
                        let mut apart = words.clone();
                        apart.sort_unstable();
                        apart.dedup();
                        assert_eq!((words.len(), apart.len()), (3, 3), "{first} to {last}:\n{text}");
                    }
                }
            }
        }
    }

    #[test]
    fn what_a_key_does_is_said() {
        for width in [20, 80] {
            let hints = [(false, false, "q quits"), (false, true, "paused"), (true, true, "ending")];
            for (ending, held, beginning) in hints {
                let words = hint(ending, held, width);
                assert!(words.starts_with(beginning) && words.len() <= usize::from(width), "{words}");
            }
        }
    }

    #[test]
    fn without_a_terminal_there_is_no_picture() {
        // Tests have none.
        if !io::stderr().is_terminal() {
            assert!(check().unwrap_err().text().contains("--tui"));
        }
    }
}

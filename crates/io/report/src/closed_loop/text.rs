//! A closed loop on a terminal.

use romer_record::closed_loop::{ClosedLoop, LoopDirection, LoopFigure, LoopResult, LoopVerdict};
use romer_record::document::DelayKind;

use super::label::label;
use super::lateness::{is_late, is_open_by_lateness};
use crate::comparison::{FigureUnit, signed_to, value_to};
use crate::escape;
use crate::number::{NO_BREAK, absent, capital, percent_to, step_of, time};
use crate::sentence::Text as _;
use crate::text::{TextStyle, wrap};
use crate::words::Words;

/// The widest that prose is set.
const WIDEST: usize = 110;
/// Columns of the table: the name of the figure, and what is known of it.
pub(super) const COLUMNS: [&str; 10] = [
    "",
    "path",
    "emulation",
    "difference",
    "95 % CI",
    "halves",
    "repeatability",
    "tolerance",
    "detects",
    "result",
];

/// `closed_loop` for a terminal: the verdict, that of each direction, and the figures behind them. The text ends with a newline; what
/// came from outside is escaped.
pub fn text(closed_loop: &ClosedLoop, style: &TextStyle) -> String {
    let width = style.width.clamp(40, WIDEST);
    let strong = |line: String| if style.color { format!("\x1b[1m{line}\x1b[0m") } else { line };
    let plain = |text: &str| if style.unicode { text.to_owned() } else { text.replace('µ', "u") };
    let mut lines: Vec<String> = wrap(verdict(closed_loop), width).into_iter().map(strong).collect();
    for direction in &closed_loop.directions {
        let words = format!("{}: {}.", capital(&name(direction)), direction.text);
        lines.extend(wrap(&plain(&words), width - 2).into_iter().map(|line| format!("  {line}")));
    }
    lines.push(String::new());
    for (name, run) in [("Path", &closed_loop.path), ("Emulation", &closed_loop.emulation)] {
        let started = run.started.as_ref().map(|started| format!(", {}", Words::PAGE.moment(started)));
        let line = format!("{name:10} {}, {}{}", run.name, run.target, started.unwrap_or_default());
        lines.extend(wrap(&escape::terminal(&line), width));
    }
    for direction in &closed_loop.directions {
        lines.push(String::new());
        lines.extend(table(direction, style.unicode, width));
        if let Some(added) = added(direction, style.unicode) {
            lines.extend(wrap(&added, width - 2).into_iter().map(|line| format!("  {line}")));
        }
    }
    let notes: Vec<String> = notes(closed_loop);
    if !notes.is_empty() {
        lines.push(String::new());
    }
    for note in notes {
        lines.extend(wrap(&escape::terminal(&plain(&format!("Note: {note}"))), width));
    }
    let mut text = lines.join("\n").replace(NO_BREAK, " ");
    text.push('\n');
    text
}

/// The verdict on all directions in a sentence.
pub(super) fn verdict(closed_loop: &ClosedLoop) -> &'static str {
    match closed_loop.verdict {
        LoopVerdict::Reproduced => "The emulation reproduces the path.",
        LoopVerdict::NotReproduced => "The emulation does not reproduce the path.",
        LoopVerdict::Undecided if is_open_by_lateness(closed_loop) => {
            "Undecided: the emulation differs from the path, but the emulator was late on this host."
        }
        LoopVerdict::Undecided => {
            "Undecided: no figure differs significantly, but not every figure is within its limits."
        }
    }
}

/// A direction, and of which delays it is.
pub(super) fn name(direction: &LoopDirection) -> String {
    let name = direction.direction.replace('_', " ");
    match direction.delay_kind {
        Some(DelayKind::Variable) => format!("{name}, delay above the minimum"),
        _ => name,
    }
}

/// What the lab added, as a sentence.
pub(super) fn added(direction: &LoopDirection, unicode: bool) -> Option<String> {
    let added = direction.added_ns?;
    Some(format!(
        "The lab added {} to the mean delay around the emulator. The delays of the emulation include it.",
        time(added, unicode)
    ))
}

/// What a reader should know.
pub(super) fn notes(closed_loop: &ClosedLoop) -> Vec<String> {
    let of_model = closed_loop.model_warnings.iter().map(|warning| warning.text());
    of_model.chain(closed_loop.warnings.iter().map(|warning| warning.text())).collect()
}

/// What is said of figures that are undecided because an emulator was late.
const BEYOND_BY_LATENESS: &str = "beyond the limits by no more than the emulator was late on this host";

/// The verdict on a direction in words, to follow its name.
pub(super) fn words(verdict: LoopVerdict, figures: &[LoopFigure]) -> String {
    let list = |those: &dyn Fn(&LoopFigure) -> bool| {
        figures.iter().filter(|figure| those(figure)).map(difference).collect::<Vec<_>>().join("; ")
    };
    match verdict {
        LoopVerdict::Reproduced => {
            let judged = figures.iter().filter(|figure| figure.result.is_some()).count();
            format!(
                "reproduced: each of the {judged} judged figures is within its limits{}",
                detectable(figures)
            )
        }
        LoopVerdict::NotReproduced => {
            format!(
                "not reproduced: {}",
                list(&|figure: &LoopFigure| figure.result == Some(LoopResult::Differs))
            )
        }
        LoopVerdict::Undecided if figures.iter().all(|figure| figure.result.is_none()) => {
            "undecided: no figure is known for both runs".into()
        }
        LoopVerdict::Undecided => {
            let late = list(&is_late);
            let by_chance =
                list(&|figure: &LoopFigure| figure.result == Some(LoopResult::Undecided) && !is_late(figure));
            match (late.is_empty(), by_chance.is_empty()) {
                (true, _) => {
                    format!("undecided, measure longer: beyond the limits, perhaps by chance: {by_chance}")
                }
                (false, true) => format!("undecided, {BEYOND_BY_LATENESS}: {late}"),
                (false, false) => format!(
                    "undecided, {BEYOND_BY_LATENESS}: {late}; beyond the limits, perhaps by chance: {by_chance}"
                ),
            }
        }
    }
}

/// What figures without a tolerance could have shown, to follow that they are within their limits.
fn detectable(figures: &[LoopFigure]) -> String {
    let is_by_chance = |figure: &&LoopFigure| figure.tolerance.is_some_and(|tolerance| tolerance <= 0.0);
    let one = |figure: &LoopFigure| {
        let [name, .., detectable, _] = cells(figure, true);
        figure.detectable.map(|_| format!("{name} {detectable}"))
    };
    let list: Vec<String> = figures.iter().filter(is_by_chance).filter_map(one).collect();
    if list.is_empty() { String::new() } else { format!("; detectable differences: {}", list.join(", ")) }
}

/// A figure with its difference, for a sentence.
fn difference(figure: &LoopFigure) -> String {
    let [name, _, _, difference, interval, _, repeatability, tolerance, ..] = cells(figure, true);
    let mut known = match figure.interval {
        Some(_) => format!("95{NO_BREAK}%{NO_BREAK}CI {interval}"),
        None => "no interval: too few independent values".into(),
    };
    if figure.tolerance.is_some_and(|tolerance| tolerance > 0.0) {
        known.push_str(&format!(", tolerance {tolerance}"));
    }
    if figure.repeatability.is_some() {
        known.push_str(&format!(", repeatability {repeatability}"));
    }
    for (name, late) in [("emulator", figure.emulator_late_ns), ("emulator of the path", figure.path_late_ns)]
    {
        if let Some(late) = late.filter(|_| is_late(figure)) {
            known.push_str(&format!(", {name} late by {}", time(late, true)));
        }
    }
    format!("{name} {difference} ({known})")
}

fn unit(figure: &str) -> FigureUnit {
    match figure {
        "loss.ratio" | "reordering.ratio" | "kolmogorov_smirnov" => FigureUnit::Share,
        "autocorrelation" | "voice.mos" => FigureUnit::Score,
        _ => FigureUnit::Time,
    }
}

/// A row of the table.
pub(super) fn cells(figure: &LoopFigure, unicode: bool) -> [String; 10] {
    let unit = unit(&figure.figure);
    let step = figure.interval.map_or(0.0, step_of);
    let none = || absent(unicode).to_owned();
    let value = |value: Option<f64>| value.map_or_else(none, |value| value_to(value, 0.0, unit, unicode));
    // A distance has no sign.
    let is_distance = matches!(&figure.figure[..], "wasserstein_ns" | "kolmogorov_smirnov");
    let difference = |value: f64| match (is_distance, unit) {
        (true, FigureUnit::Share) => percent_to(value, step),
        (true, _) => value_to(value, step, unit, unicode),
        (false, _) => signed_to(value, step, unit, unicode),
    };
    // How large a difference is, without its sign.
    let size = |value: Option<f64>| {
        value.map_or_else(none, |value| difference(value).trim_start_matches('+').to_owned())
    };
    let result = match figure.result {
        None => "",
        Some(LoopResult::Within) => "within",
        Some(LoopResult::Undecided) => "undecided",
        Some(LoopResult::Differs) => "differs",
    };
    let tolerance = match figure.tolerance {
        None => none(),
        Some(tolerance) if tolerance > 0.0 => value(Some(tolerance)),
        Some(_) => "none".into(),
    };
    [
        label(&figure.figure),
        value(figure.path),
        value(figure.emulation),
        figure.difference.map_or_else(none, difference),
        figure
            .interval
            .map_or_else(none, |[low, high]| format!("{} to {}", difference(low), difference(high))),
        value(figure.halves),
        size(figure.repeatability),
        tolerance,
        size(figure.detectable),
        result.into(),
    ]
}

fn table(direction: &LoopDirection, unicode: bool, width: usize) -> Vec<String> {
    let mut rows = vec![COLUMNS.map(String::from)];
    rows[0][0] = direction.direction.replace('_', " ");
    rows.extend(direction.figures.iter().map(|figure| cells(figure, unicode)));
    let widths: Vec<usize> = (0..COLUMNS.len())
        .map(|column| rows.iter().map(|row| row[column].chars().count()).max().unwrap_or(0))
        .collect();
    let mut columns: Vec<usize> = (0..COLUMNS.len()).collect();
    let total = |columns: &[usize]| columns.iter().map(|column| widths[*column] + 2).sum::<usize>();
    // The verdict above the table has the intervals of what differs; path, emulation and the verdict of each figure stay.
    for dispensable in [5, 6, 4, 8, 3, 7, 9] {
        if total(&columns) > width {
            columns.retain(|column| *column != dispensable);
        }
    }
    let line = |row: &[String; 10]| {
        let mut line = format!("{:1$}", row[0], widths[0]);
        for column in columns.iter().skip(1) {
            let cell = &row[*column];
            line.push_str(&format!("{}{cell}", " ".repeat(widths[*column] - cell.chars().count() + 2)));
        }
        line.chars().take(width).collect::<String>().trim_end().to_owned()
    };
    rows.iter().map(line).collect()
}

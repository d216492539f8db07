//! The findings on a terminal.

use romer_record::doctor::{CheckVerdict, Doctor, DoctorFix, ExplainedFinding};

use crate::escape;
use crate::text::TextStyle;

/// Narrower terminals are taken for this wide, wider ones for the other.
const NARROWEST: usize = 40;
const WIDEST: usize = 100;
/// From this width on, names stand in a column of their own.
const TWO_COLUMNS: usize = 70;
/// How far text is set in where names have no column.
const INDENT: usize = 4;

/// The findings, each with what follows from it and what to do about it. The text ends with a newline; what came from
/// the machine (names of interfaces and programs) is escaped.
///
/// A command that is too long for a line is broken as a shell allows it, so that it can be pasted as it is.
pub fn text(doctor: &Doctor, style: &TextStyle) -> String {
    let names = doctor.findings.iter().map(|one| one.finding.check.code().len()).max().unwrap_or(0);
    let width = style.width.clamp(NARROWEST, WIDEST);
    let column = (width >= TWO_COLUMNS).then_some(names);
    let page = DoctorPage { style: *style, width, column };
    let mut lines = page.heading(doctor);
    let heading = lines.len();
    let mut calm = true;
    for one in &doctor.findings {
        // Good findings form one block. Others are surrounded by empty lines.
        let good = one.finding.verdict == CheckVerdict::Good;
        if !calm || !good || lines.len() == heading {
            lines.push(String::new());
        }
        page.finding(one, &mut lines);
        calm = good;
    }
    let text: String = lines.iter().flat_map(|line| [line.trim_end(), "\n"]).collect();
    if style.unicode { text } else { text.replace('µ', "u") }
}

/// How a part of the text looks in colour.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Paint {
    Plain,
    Strong,
    Faint,
    Command,
    Mark(CheckVerdict),
}

#[derive(Clone, Copy)]
struct DoctorPage {
    style: TextStyle,
    width: usize,
    /// The width of the column of names, where they have one.
    column: Option<usize>,
}

impl DoctorPage {
    fn paint(self, text: &str, paint: Paint) -> String {
        let code = match paint {
            _ if !self.style.color || text.is_empty() => return text.to_owned(),
            Paint::Plain => return text.to_owned(),
            Paint::Strong => "1",
            Paint::Faint => "2",
            Paint::Command => "36",
            Paint::Mark(CheckVerdict::Good) => "32",
            Paint::Mark(CheckVerdict::Limited) => "33",
            Paint::Mark(CheckVerdict::Missing) => "1;31",
        };
        format!("\x1b[{code}m{text}\x1b[0m")
    }

    fn mark(self, verdict: CheckVerdict) -> &'static str {
        match (verdict, self.style.unicode) {
            (CheckVerdict::Good, true) => "✓",
            (CheckVerdict::Missing, true) => "✗",
            (CheckVerdict::Good, false) => "+",
            (CheckVerdict::Missing, false) => "x",
            (CheckVerdict::Limited, _) => "!",
        }
    }

    /// The numbers of findings by verdict.
    fn heading(self, doctor: &Doctor) -> Vec<String> {
        let counts = [
            (CheckVerdict::Good, "ok"),
            (CheckVerdict::Limited, "limited"),
            (CheckVerdict::Missing, "not working"),
        ]
        .map(|(verdict, words)| {
            (verdict, doctor.findings.iter().filter(|one| one.finding.verdict == verdict).count(), words)
        });
        let parts: Vec<String> = counts
            .iter()
            .filter(|(_, count, _)| *count > 0)
            .map(|(verdict, count, words)| format!("{} {count} {words}", self.mark(*verdict)))
            .collect();
        let text = format!("{}: {}", escape::terminal(&doctor.software), parts.join(", "));
        wrap(&text, self.width).iter().map(|line| self.paint(line, Paint::Strong)).collect()
    }

    fn finding(self, one: &ExplainedFinding, lines: &mut Vec<String>) {
        let ExplainedFinding { finding, text } = one;
        let mark = self.paint(self.mark(finding.verdict), Paint::Mark(finding.verdict));
        let name = finding.check.code().replace('-', " ");
        let indent = self.column.map_or(INDENT, |column| column + 4);
        let room = self.width.saturating_sub(indent);
        let mut body = Vec::new();
        let (observed, consequence) = (escape::terminal(&text.observed), escape::terminal(&text.consequence));
        if finding.verdict == CheckVerdict::Good {
            push(&mut body, wrap(&format!("{observed} {consequence}"), room), Paint::Faint);
        } else {
            push(&mut body, wrap(&observed, room), Paint::Plain);
            push(&mut body, wrap(&consequence, room), Paint::Plain);
        }
        match (&finding.fix, &text.fix) {
            (Some(DoctorFix::Command { command }), _) => {
                body.extend(command_lines(&escape::terminal(command), room));
            }
            (_, Some(text)) => body.extend(sentence_lines(&escape::terminal(text), room)),
            (_, None) => {}
        }
        let painted = body.into_iter().map(|(line, paint)| self.paint(&line, paint));
        let margin = " ".repeat(indent);
        let mut painted = painted.map(|line| format!("{margin}{line}"));
        match self.column {
            Some(column) => {
                let first = painted.next().unwrap_or_default();
                let padded = self.paint(&format!("{name:column$}"), Paint::Strong);
                lines.push(format!("{mark} {padded}  {}", first.get(indent..).unwrap_or_default()));
            }
            None => lines.push(format!("{mark} {}", self.paint(&name, Paint::Strong))),
        }
        lines.extend(painted);
    }
}

fn push(body: &mut Vec<(String, Paint)>, lines: Vec<String>, paint: Paint) {
    body.extend(lines.into_iter().map(|line| (line, paint)));
}

/// A fix that is a sentence.
fn sentence_lines(fix: &str, room: usize) -> Vec<(String, Paint)> {
    let lines = wrap(fix, room.saturating_sub(2)).into_iter().enumerate();
    lines.map(|(index, line)| (before(index, "> ") + &line, Paint::Plain)).collect()
}

/// A fix that is a command, which can be pasted.
fn command_lines(fix: &str, room: usize) -> Vec<(String, Paint)> {
    // Two columns for the prompt, two for the mark of a broken line. A quoted word might be broken in its middle.
    let quoted = fix.contains(['\'', '"']);
    let mut lines = if quoted { vec![fix.to_owned()] } else { wrap(fix, room.saturating_sub(4)) };
    let last = lines.len().saturating_sub(1);
    for (index, line) in lines.iter_mut().enumerate() {
        let after = if index == last { "" } else { " \\" };
        *line = format!("{}{line}{after}", before(index, "$ "));
    }
    lines.into_iter().map(|line| (line, Paint::Command)).collect()
}

/// What stands before a line of a fix: its mark, and under it nothing.
fn before(index: usize, mark: &str) -> String {
    if index == 0 { mark.to_owned() } else { " ".repeat(mark.len()) }
}

/// Units that are not to be parted from their number.
const UNITS: [&str; 9] = ["ns", "us", "µs", "ms", "s", "%", "B", "KiB", "MiB"];

/// Breaks `text` at spaces, but not between a number and its unit; a word that is longer than a line has one to
/// itself.
fn wrap(text: &str, width: usize) -> Vec<String> {
    let mut words: Vec<String> = Vec::new();
    for word in text.split_whitespace() {
        let unit = UNITS.contains(&word.trim_end_matches([',', ';', '.', ')', ':']));
        match words.last_mut() {
            Some(last) if unit && last.ends_with(|c: char| c.is_ascii_digit()) => {
                last.push(' ');
                last.push_str(word);
            }
            _ => words.push(word.to_owned()),
        }
    }
    let mut lines: Vec<String> = Vec::new();
    for word in words {
        match lines.last_mut() {
            Some(line) if line.chars().count() + 1 + word.chars().count() <= width => {
                line.push(' ');
                line.push_str(&word);
            }
            _ => lines.push(word),
        }
    }
    lines
}

#[cfg(test)]
mod tests;

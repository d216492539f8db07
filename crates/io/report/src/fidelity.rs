//! Requested and measured metrics on a terminal.

use romer_record::fidelity::{Fidelity, FidelityDirection, FidelityFigure, FidelityVerdict};

use crate::escape;
use crate::number::{NO_BREAK, capital, percent, percent_to, rounded, step_of, time_to};
use crate::sentence::Text as _;
use crate::text::{TextStyle, wrap};

/// The widest that prose is set.
const WIDEST: usize = 110;

/// `fidelity` for a terminal: of each direction the verdict, and then the figures. The text ends with a newline.
pub fn text(fidelity: &Fidelity, style: &TextStyle) -> String {
    let width = style.width.clamp(40, WIDEST);
    let mut lines = Vec::new();
    for direction in &fidelity.directions {
        lines.extend(verdict(direction, style, width));
        if let Some(allowance) = direction.sufficient_allowance_ns {
            let hint = format!(
                "It is consistent if the hosts and links around the emulator added up to {}: use --allowance {}",
                time_to(allowance, 0.0, style.unicode),
                romer_units::Duration::from_nanos(whole(allowance))
            );
            lines.extend(wrap(&hint, width - 2).into_iter().map(|line| format!("  {line}")));
        }
        if direction.verdict != FidelityVerdict::TooFew {
            lines.extend(table(direction, style.unicode, width));
            if let Some(distribution) = &direction.distribution {
                let words = format!(
                    "max CDF distance {}, accepted up to {} (Kolmogorov-Smirnov, effective sample size {})",
                    percent(distribution.ks_distance),
                    percent(distribution.accepted),
                    rounded(distribution.effective_values)
                );
                lines.extend(wrap(&words, width - 2).into_iter().map(|line| format!("  {line}")));
            }
        }
        lines.push(String::new());
    }
    for warning in &fidelity.warnings {
        lines.extend(wrap(&escape::terminal(&format!("Note: {}", warning.text())), width));
    }
    let mut text = lines.join("\n").replace(NO_BREAK, " ");
    text.push('\n');
    text
}

/// The verdicts alone, a paragraph for each direction.
pub fn verdicts(fidelity: &Fidelity, style: &TextStyle) -> String {
    let width = style.width.clamp(40, WIDEST);
    let lines: Vec<String> =
        fidelity.directions.iter().flat_map(|direction| verdict(direction, style, width)).collect();
    let mut text = lines.join("\n").replace(NO_BREAK, " ");
    text.push('\n');
    text
}

fn verdict(direction: &FidelityDirection, style: &TextStyle, width: usize) -> Vec<String> {
    let words = format!("{}: {}", capital(&direction.direction), direction.text);
    let words = if style.unicode { words } else { words.replace('µ', "u") };
    let strong = |line: String| if style.color { format!("\x1b[1m{line}\x1b[0m") } else { line };
    wrap(&escape::terminal(&words), width).into_iter().map(strong).collect()
}

fn table(direction: &FidelityDirection, unicode: bool, width: usize) -> Vec<String> {
    let mut rows =
        vec![["", "requested", "accepted range", "detects", "measured", "95 % CI", "p"].map(String::from)];
    rows.extend(direction.figures.iter().map(|figure| cells(figure, unicode)));
    let widths: Vec<usize> =
        (0..7).map(|column| rows.iter().map(|row| row[column].chars().count()).max().unwrap_or(0)).collect();
    let mut columns: Vec<usize> = (0..7).collect();
    let total = |columns: &[usize]| columns.iter().map(|column| widths[*column] + 2).sum::<usize>();
    // Requested and measured stay.
    for dispensable in [6, 5, 3, 2] {
        if total(&columns) > width {
            columns.retain(|column| *column != dispensable);
        }
    }
    let line = |row: &[String; 7]| {
        let mut line = format!("  {:1$}", row[0], widths[0]);
        for column in columns.iter().skip(1) {
            let cell = &row[*column];
            line.push_str(&format!("{}{cell}", " ".repeat(widths[*column] - cell.chars().count() + 2)));
        }
        line.trim_end().to_owned()
    };
    rows.iter().map(line).collect()
}

/// Whole nanoseconds.
#[expect(clippy::cast_possible_truncation, reason = "an allowance of at most some seconds")]
const fn whole(nanos: f64) -> i64 {
    nanos as i64
}

fn cells(figure: &FidelityFigure, unicode: bool) -> [String; 7] {
    let is_time = figure.figure.starts_with("delay_ns");
    // The digits show the largest of the differences that the row is about.
    let steps = [Some([figure.requested, figure.measured]), Some(figure.accepted), figure.measured_interval];
    let step = steps.into_iter().flatten().map(step_of).fold(0.0, f64::max);
    let is_number = !is_time && !figure.figure.ends_with("_ratio");
    let value = |value: f64| match (is_time, is_number) {
        (true, _) => time_to(value, step, unicode),
        (_, true) => format!("{value:.2}"),
        _ => percent_to(value, step),
    };
    // A difference of shares is in percentage points.
    let difference = |size: f64| {
        let size = value(size);
        if is_time || is_number { size } else { size.replace('%', "pp") }
    };
    let interval = |[low, high]: [f64; 2]| format!("{} to {}", value(low), value(high));
    let name = match figure.figure.strip_suffix("_ratio") {
        Some("loss") => "loss".into(),
        Some(name) => name.replace('_', " "),
        None => figure.figure.replace("_ns.", " ").replace(['_', '.'], " "),
    };
    [
        name,
        value(figure.requested),
        interval(figure.accepted),
        difference(figure.detectable),
        value(figure.measured),
        figure.measured_interval.map_or_else(|| "n/a".into(), interval),
        format!("{:.3}", figure.p_value),
    ]
}

#[cfg(test)]
mod tests {
    use romer_record::fidelity::{Distribution, FIDELITY};
    use romer_record::warning::FidelityWarning;

    use super::*;

    #[test]
    fn requested_and_measured_are_shown() {
        let figure = |name: &str, requested: f64, measured: f64| FidelityFigure {
            figure: name.into(),
            requested,
            requested_interval: [requested * 0.6, requested * 1.4],
            accepted: [requested * 0.5, requested * 1.5],
            detectable: requested * 0.75,
            measured,
            measured_interval: None,
            p_value: 0.25,
        };
        let fidelity = Fidelity {
            schema: FIDELITY.into(),
            method: String::new(),
            directions: vec![FidelityDirection {
                direction: "forward".into(),
                packets: 700,
                replicates: 999,
                verdict: FidelityVerdict::AsRequested,
                p_value: 0.4,
                text: "consistent with the scenario\x1b[31m".into(),
                added_ns: 0.0,
                sufficient_allowance_ns: Some(5e6),
                figures: vec![figure("loss_ratio", 0.02, 0.03), figure("delay_ns.median", 2e7, 2.1e7)],
                distribution: Some(Distribution {
                    ks_distance: 0.03,
                    accepted: 0.05,
                    p_value: 0.5,
                    effective_values: 400.0,
                }),
            }],
            warnings: vec![FidelityWarning::LinksIncluded],
        };
        let style = TextStyle { color: false, unicode: true, width: 120 };
        for width in 40..120 {
            let text = text(&fidelity, &TextStyle { width, ..style });
            assert!(text.lines().all(|line| line.chars().count() <= width), "{width}:\n{text}");
            assert!(text.contains("20.0 ms") && text.contains("21.0 ms"), "{width}:\n{text}");
        }
        let text = text(&fidelity, &style);
        assert!(text.starts_with("Forward: consistent with the scenario"), "{text}");
        let line = |begin: &str| text.lines().find(|line| line.trim_start().starts_with(begin)).unwrap();
        assert!(line("loss").contains("2.00 %") && line("loss").contains("3.00 %"), "{text}");
        assert!(line("loss").contains("1.50 pp") && line("delay median").contains("15"), "{text}");
        assert!(line("delay median").contains("20") && line("delay median").contains("21"), "{text}");
        assert!(line("max CDF").contains("400"), "{text}");
        assert!(line("It is consistent if").contains("up to 5.00 ms: use --allowance 5ms"), "{text}");
        // A measured value and the range that excludes it read differently.
        let figure = FidelityFigure {
            figure: "delay_ns.median".into(),
            requested: 150e6,
            requested_interval: [150e6, 150.01e6],
            accepted: [150e6, 150.01e6],
            detectable: 0.02e6,
            measured: 150.4e6,
            measured_interval: None,
            p_value: 0.004,
        };
        let cells = cells(&figure, true).map(|cell| cell.replace(NO_BREAK, " "));
        assert_eq!([&cells[2], &cells[4]], ["150.00 ms to 150.01 ms", "150.40 ms"]);
        assert!(text.contains("Note: the measured delay includes"), "{text}");
        assert!(!text.contains('\x1b'), "{text}");
    }
}

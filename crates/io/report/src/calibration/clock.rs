//! The self-test of the clock estimation as text.

use romer_record::clock_proof::{ClockProof, ProofFigure};

use crate::escape;
use crate::number::{maybe_time, signed_time};
use crate::text::TextStyle;
use crate::warning::skew_unknown;

/// The self-test as text, which ends with a newline.
pub fn text(proof: &ClockProof, style: &TextStyle) -> String {
    let title = format!("Self-test of the clock estimation on {}", escape::terminal(&proof.machine.host));
    let mut lines = vec![
        if style.color { format!("\x1b[1m{title}\x1b[0m") } else { title },
        format!(
            "{} of {} round trips over loopback have all time stamps; those of the responder were converted to a simulated clock \
             with known skew and steps; estimated by {}",
            proof.complete,
            proof.probes,
            escape::terminal(&proof.method)
        ),
        String::new(),
        format!("{:<30}{:>16}{:>16}   {:<28}", "", "simulated", "estimated", "95 % CI"),
        row("skew", &proof.skew_ppm, |value| format!("{value:+.4} ppm")),
    ];
    for step in &proof.steps {
        let name = match step.detected_at_ns {
            Some(found) => format!("step at {} s (est. {})", seconds(step.at_ns), seconds(found)),
            None => format!("step at {} s", seconds(step.at_ns)),
        };
        let interval = step.size_ns.interval;
        lines.push(row(&name, &step.size_ns, |value| {
            signed_time(value, interval, style.unicode).replace('\u{a0}', " ")
        }));
    }
    for at in &proof.false_events_at_ns {
        lines.push(format!("false alarm: clock step at {} s, which was not simulated", seconds(*at)));
    }
    if let Some(why) = &proof.not_identifiable {
        lines.push(format!("skew not identifiable: {}", skew_unknown(why)));
    }
    lines.push(String::new());
    lines.push(
        if proof.passed {
            let delay = maybe_time(Some(10e3), style.unicode).replace('\u{a0}', " ");
            format!(
                "PASS: every simulated value is within its interval, or outside by at most its width or the effect of {delay} of \
                 loopback delay"
            )
        } else {
            "FAIL".into()
        },
    );
    lines.iter().flat_map(|line| [line.trim_end(), "\n"]).collect()
}

fn seconds(nanos: i64) -> String {
    format!("{:.3}", nanos as f64 / 1e9)
}

fn row(name: &str, figure: &ProofFigure, shown: impl Fn(f64) -> String) -> String {
    let found = figure.estimated.map_or_else(|| "none".into(), &shown);
    let interval =
        figure.interval.map_or_else(String::new, |[low, high]| format!("{} to {}", shown(low), shown(high)));
    let verdict = if figure.passed { "" } else { "  FAIL" };
    format!("{name:<30}{:>16}{found:>16}   {interval:<28}{verdict}", shown(figure.simulated))
}

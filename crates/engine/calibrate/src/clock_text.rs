//! The proof of the clock for people.

use romer_record::clock_proof::{ClockProof, Figure};
use romer_report::escape;
use romer_report::text::TextStyle;

/// The proof as text, which ends with a newline.
pub fn text(proof: &ClockProof, style: &TextStyle) -> String {
    let title = format!("A clock that lies, found out on {}", escape::terminal(&proof.machine.host));
    let mut lines = vec![
        if style.color { format!("\x1b[1m{title}\x1b[0m") } else { title },
        format!(
            "{} of {} round trips over loopback with all stamps; those of the responder passed through a clock that runs \
             wrong and is set; found by {}.",
            proof.complete,
            proof.probes,
            escape::terminal(&proof.method)
        ),
        String::new(),
        format!("{:<22}{:>16}{:>16}   {:<28}", "", "asked", "found", "interval (95 %)"),
        row("rate", &proof.skew_ppm, |value| format!("{value:+.4} ppm")),
    ];
    for step in &proof.steps {
        let name = match step.found_at_ns {
            Some(found) => format!("step at {} s ({})", seconds(step.at_ns), seconds(found)),
            None => format!("step at {} s", seconds(step.at_ns)),
        };
        lines.push(row(&name, &step.size_ns, |value| format!("{:+.3} us", value / 1e3)));
    }
    for at in &proof.invented_at_ns {
        lines.push(format!("at {} s: a change of the clock was seen that it did not make", seconds(*at)));
    }
    if let Some(why) = &proof.not_identifiable {
        lines.push(format!("not identifiable: {}", escape::terminal(why)));
    }
    lines.push(String::new());
    lines.push(
        if proof.held {
            "found out: everything lies in its interval, or no further beside it than the interval is wide, or than 10 us of change \
             in the least time over loopback would move it"
        } else {
            "NOT found out"
        }
        .into(),
    );
    lines.iter().flat_map(|line| [line.trim_end(), "\n"]).collect()
}

fn seconds(nanos: i64) -> String {
    format!("{:.3}", nanos as f64 / 1e9)
}

fn row(name: &str, figure: &Figure, shown: impl Fn(f64) -> String) -> String {
    let found = figure.found.map_or_else(|| "not found".into(), &shown);
    let interval =
        figure.interval.map_or_else(String::new, |[low, high]| format!("{} to {}", shown(low), shown(high)));
    let verdict = if figure.held { "" } else { "  NOT held" };
    format!("{name:<22}{:>16}{found:>16}   {interval:<28}{verdict}", shown(figure.asked))
}

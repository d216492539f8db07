//! The text output of an emulation, while it runs and at its end.

use std::io::{self, Write};

use romer_emulate::live::{LiveBridge, LiveOptions, Snapshot};
use romer_record::emulation::{EmulatedDirection, Emulation};
use romer_record::warning::{EmulationWarning, RefitEvent};
use romer_report::emulation::cause_text;
use romer_report::escape;
use romer_report::warning::Text as _;
use romer_units::Duration;

/// The first lines: ports, data plane, buffer and seed.
pub(super) fn ready(options: &LiveOptions, bridge: &LiveBridge, notes: &[EmulationWarning]) -> String {
    let [a, b] = &options.ports;
    let control = bridge.control();
    let (room, applied) = (control.room(), control.scenario());
    let mut text = format!(
        "emulating: a {a} - b {b}; {} sockets, buffer for {} frames ({} MiB)\n",
        control.data_plane(),
        room.slots,
        room.octets >> 20
    );
    for (name, taken) in options.ports.iter().zip(bridge.taken()) {
        if let Some(bridge) = &taken.bridge {
            text.push_str(&format!(
                "  {name} removed from bridge {bridge}; restored at exit, with its port settings\n"
            ));
        }
    }
    if let Some(title) = &applied.about.title {
        text.push_str(&format!("  network: {}\n", escape::terminal(title)));
    }
    text.push_str(&format!("  seed {}\n", control.seed()));
    for note in notes {
        text.push_str(&format!("  note: {}\n", escape::terminal(&note.text())));
    }
    text
}

/// The line that a terminal shows while the bridge works.
pub(super) struct StatusLine {
    shown: bool,
    length: usize,
}

impl StatusLine {
    pub(super) const fn new(shown: bool) -> Self {
        Self { shown, length: 0 }
    }

    pub(super) const fn is_shown(&self) -> bool {
        self.shown
    }

    pub(super) fn show(&mut self, snapshot: &Snapshot) {
        if !self.shown {
            return;
        }
        let [forward, back] = snapshot.directions.each_ref().map(|direction| {
            let ledger = &direction.ledger;
            format!("{} in, {} out, {} lost", ledger.received, ledger.transmitted, ledger.lost_in_all())
        });
        self.write(&format!("a to b: {forward}; b to a: {back}"));
    }

    pub(super) fn clear(&mut self) {
        if self.length > 0 {
            self.write("");
        }
    }

    fn write(&mut self, text: &str) {
        let width = self.length.max(text.len());
        let mut out = io::stderr().lock();
        // A terminal that is gone does not hear it.
        let _ = write!(out, "\r{text:width$}\r").and_then(|()| out.flush());
        self.length = text.len();
    }
}

/// The counts and the delays of both directions.
///
/// Notes that were `shown` at the start are not repeated.
pub(super) fn summary(document: &Emulation, shown: &[EmulationWarning]) -> String {
    let mut text = String::new();
    for (name, direction) in [("a to b", &document.a_to_b), ("b to a", &document.b_to_a)] {
        text.push_str(&lines(name, direction));
    }
    if !document.refits.is_empty() {
        text.push_str(&refits(&document.refits));
    }
    for warning in document.warnings.iter().filter(|warning| !shown.contains(warning)) {
        text.push_str(&format!("note: {}\n", escape::terminal(&warning.text())));
    }
    text
}

/// How many periods of a followed path were fitted.
fn refits(events: &[RefitEvent]) -> String {
    let of = |is: fn(&RefitEvent) -> bool| events.iter().filter(|event| is(event)).count() as u64;
    let fitted = of(|event| matches!(event, RefitEvent::Refitted { .. }));
    let unanswered = of(|event| matches!(event, RefitEvent::Unanswered { .. }));
    let failed = of(|event| matches!(event, RefitEvent::RefitFailed { .. }));
    let skipped = of(|event| matches!(event, RefitEvent::PeriodSkipped { .. }));
    let mut text = format!("{} applied", romer_units::counted(fitted, "refit"));
    for (count, what) in [(unanswered, "without answers"), (failed, "failed"), (skipped, "skipped")] {
        if count > 0 {
            text.push_str(&format!(", {} {what}", romer_units::counted(count, "period")));
        }
    }
    text.push('\n');
    text
}

/// The counts and the delays of a direction, a line each.
pub(super) fn lines(name: &str, direction: &EmulatedDirection) -> String {
    let mut text = format!("{name}: {}\n", counts(direction));
    for line in delays(direction).into_iter().chain(details(direction)) {
        text.push_str(&format!("        {line}\n"));
    }
    text
}

/// Queueing, reordering and correlation of a direction, a line each.
fn details(direction: &EmulatedDirection) -> Vec<String> {
    let mut words = Vec::new();
    if let Some((median, most)) = direction.rate_queue_ns.median.zip(direction.rate_queue_ns.max) {
        let [median, most] = [median, most].map(|nanos| time(Some(nanos)));
        words.push(format!(
            "rate queue (additional to the delay): median {median}, max {most}, {}",
            romer_units::counted(direction.rate_queue_ns.count, "packet")
        ));
    }
    if let Some(before) = before_delay(direction) {
        words.push(format!(
            "reordering stage and delayed duplicates (before the delay): mean {} over all packets",
            time(Some(before))
        ));
    }
    if direction.rate_queue_ns.count > 0 || before_delay(direction).is_some() {
        let total = &direction.total_delay_ns;
        words.push(format!(
            "total, arrival to departure: median {}, max {}",
            time(total.median),
            time(total.max)
        ));
    }
    if let Some((median, most)) = direction.queue_depth.median.zip(direction.queue_depth.max) {
        words.push(format!("queue depth on arrival: median {median:.0}, max {most:.0}"));
    }
    if let Some(waited) = direction.order_delayed_ratio.filter(|ratio| *ratio > 0.0) {
        let p99 =
            direction.order_wait_ns.p99.map_or_else(String::new, |p99| format!(", p99 {}", time(Some(p99))));
        words.push(format!(
            "wait for packet order (additional to the delay): {} of packets{p99}",
            small_percent(waited)
        ));
    }
    if let Some((time_ns, values)) = direction.correlation_time_ns.zip(direction.effective_values) {
        words.push(format!("correlation time {}, effective sample size {values:.0}", time(Some(time_ns))));
    }
    words
}

/// The mean time between arrival and the delay stage, nanoseconds, of all packets and copies that left: in the reorder buffer,
/// and of copies their delay. `None` where there was none.
fn before_delay(direction: &EmulatedDirection) -> Option<f64> {
    let (total, held) = (direction.total_delay_ns.mean?, direction.actual_delay_ns.mean?);
    #[expect(clippy::cast_precision_loss, reason = "counts stay below 2^53")]
    let share = direction.rate_queue_ns.count as f64 / direction.total_delay_ns.count.max(1) as f64;
    let queued = direction.rate_queue_ns.mean.unwrap_or(0.0) * share;
    // Means are sums of floats, whose last digits differ.
    Some(total - held - queued).filter(|before| *before >= 1.0)
}

/// What the delay excludes, to follow the word.
fn left_out(direction: &EmulatedDirection) -> &'static str {
    match (direction.rate_queue_ns.count > 0, before_delay(direction).is_some()) {
        (false, false) => "",
        (true, false) => " (excluding the rate queue)",
        (false, true) => " (excluding reordering)",
        (true, true) => " (excluding reordering and the rate queue)",
    }
}

/// A share in percent, never 0 where there is any.
fn small_percent(ratio: f64) -> String {
    if ratio < 5e-5 { "< 0.01 %".into() } else { format!("{:.2} %", ratio * 100.0) }
}

/// The counters of a direction.
fn counts(direction: &EmulatedDirection) -> String {
    let received = romer_units::counted(direction.received, "packet");
    let mut text = format!("{received} received, {} transmitted", direction.transmitted);
    for (count, what) in [
        (
            direction.duplicates_created,
            if direction.duplicates_created == 1 { "duplicate created" } else { "duplicates created" },
        ),
        (direction.corrupted, "corrupted"),
        (direction.reordered, "reordered on purpose"),
        (direction.overtaken, "out of order at the output"),
        (direction.queued, "still queued"),
    ] {
        if count > 0 {
            text.push_str(&format!(", {count} {what}"));
        }
    }
    let causes: Vec<String> = direction
        .lost
        .iter()
        .filter(|(_, count)| **count > 0)
        .map(|(cause, count)| format!("{count} ({})", cause_text(cause)))
        .collect();
    if !causes.is_empty() {
        text.push_str(&format!(", lost: {}", causes.join(", ")));
    }
    text
}

/// The delays and the error of the emulator, which a run in virtual time does not have.
fn delays(direction: &EmulatedDirection) -> Vec<String> {
    let mut lines = Vec::new();
    if direction.requested_delay_ns.count > 0 {
        lines.push(format!(
            "delay{}: median {}, requested {}",
            left_out(direction),
            time(direction.actual_delay_ns.median),
            time(direction.requested_delay_ns.median)
        ));
    }
    if direction.delay_error_ns.max.is_some_and(|max| max > 0.0) {
        lines.push(format!(
            "delay error of the emulator: median {}, p99 {}",
            time(direction.delay_error_ns.median),
            time(direction.delay_error_ns.p99)
        ));
    }
    lines
}

/// A time to about three digits.
fn time(nanos: Option<f64>) -> String {
    nanos.map_or_else(|| "unknown".into(), |nanos| Duration::from_nanos_f64(nanos).rounded())
}

#[cfg(test)]
mod tests {
    use romer_record::document::Summary;

    use super::*;

    /// Periods are counted by their result.
    #[test]
    fn refits_are_counted() {
        let unanswered = |period| RefitEvent::Unanswered { period, at_ns: 1, error: None };
        let skipped = RefitEvent::PeriodSkipped { period: 3, at_ns: 1 };
        assert_eq!(
            refits(&[unanswered(1), unanswered(2), skipped]),
            "0 refits applied, 2 periods without answers, 1 period skipped\n"
        );
    }

    /// The wait in the reorder buffer is reported beside a delay that excludes it.
    #[test]
    fn reorder_wait_is_reported() {
        let of = |mean| Summary {
            count: 100,
            mean: Some(mean),
            median: Some(mean),
            max: Some(mean),
            ..Summary::default()
        };
        let direction = |total, queued| EmulatedDirection {
            requested_delay_ns: of(5e6),
            actual_delay_ns: of(5e6),
            total_delay_ns: of(total),
            // Half of the packets met the rate.
            rate_queue_ns: if queued > 0.0 {
                Summary { count: 50, ..of(queued) }
            } else {
                Summary::default()
            },
            ..EmulatedDirection::default()
        };
        assert_eq!((left_out(&direction(5e6, 0.0)), details(&direction(5e6, 0.0)).len()), ("", 0));
        assert_eq!(left_out(&direction(6e6, 2e6)), " (excluding the rate queue)");
        let reordered = direction(7_500_000.0, 0.0);
        assert_eq!(left_out(&reordered), " (excluding reordering)");
        let words = details(&reordered).join("\n");
        assert!(
            words.contains("mean 2.50 ms over all packets")
                && words.contains("total, arrival to departure: median 7.50 ms"),
            "{words}"
        );
        assert!(details(&direction(8_500_000.0, 2e6)).join("\n").contains("mean 2.50 ms over"));
    }
}

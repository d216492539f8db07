//! What an emulation says while it runs and at its end.

use std::io::{self, Write};

use romer_emulate::live::{LiveBridge, LiveOptions, Snapshot};
use romer_record::document::Summary;
use romer_record::emulation::{EmulatedDirection, Emulation};
use romer_report::escape;
use romer_units::Duration;

/// That the bridge works, between what, with how much room, and by which seed.
pub(super) fn ready(options: &LiveOptions, bridge: &LiveBridge) -> String {
    let [a, b] = &options.ports;
    let control = bridge.control();
    let (room, applied) = (control.room(), control.scenario());
    let mut text = format!(
        "emulating: a {a} - b {b}; {} sockets, room for {} frames ({} MiB)\n",
        control.data_plane(),
        room.slots,
        room.octets >> 20
    );
    for (name, taken) in options.ports.iter().zip(bridge.taken()) {
        if let Some(bridge) = &taken.bridge {
            text.push_str(&format!("  {name} is out of its bridge {bridge} until the end\n"));
        }
    }
    if let Some(title) = &applied.about.title {
        text.push_str(&format!("  network: {}\n", escape::terminal(title)));
    }
    text.push_str(&format!("  seed {}\n", control.seed()));
    for note in &applied.notes {
        text.push_str(&format!("  note: {}\n", escape::terminal(note)));
    }
    text
}

/// The line that a terminal shows while the bridge works.
pub(super) struct Line {
    shown: bool,
    length: usize,
}

impl Line {
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
pub(super) fn summary(document: &Emulation) -> String {
    let mut text = String::new();
    for (name, direction) in [("a to b", &document.a_to_b), ("b to a", &document.b_to_a)] {
        text.push_str(&format!("{name}: {}\n", counts(direction)));
        if direction.requested_delay_ns.count > 0 {
            text.push_str(&format!("        {}\n", delays(direction)));
        }
    }
    text
}

fn counts(direction: &EmulatedDirection) -> String {
    let mut text = format!("{} received, {} transmitted", direction.received, direction.transmitted);
    for (count, what) in [
        (direction.duplicates_created, "copies made"),
        (direction.corrupted, "corrupted"),
        (direction.reordered, "reordered"),
        (direction.queued, "held"),
    ] {
        if count > 0 {
            text.push_str(&format!(", {count} {what}"));
        }
    }
    let causes: Vec<String> = direction
        .lost
        .iter()
        .filter(|(_, count)| **count > 0)
        .map(|(cause, count)| format!("{count} {cause}"))
        .collect();
    if !causes.is_empty() {
        text.push_str(&format!(", lost: {}", causes.join(", ")));
    }
    text
}

fn delays(direction: &EmulatedDirection) -> String {
    let median = |summary: &Summary| time(summary.median);
    format!(
        "delay, median: {} asked for, {} held; error {} in the median, {} at 99 %",
        median(&direction.requested_delay_ns),
        median(&direction.actual_delay_ns),
        median(&direction.delay_error_ns),
        time(direction.delay_error_ns.p99)
    )
}

/// A time to about three digits.
fn time(nanos: Option<f64>) -> String {
    let Some(nanos) = nanos else { return "unknown".into() };
    let unit = [1e6, 1e3, 1.0].into_iter().find(|unit| nanos >= unit * 10.0).unwrap_or(1.0);
    #[expect(clippy::cast_possible_truncation, reason = "delays are below an hour")]
    let rounded = (nanos / unit * 10.0).round() as i64;
    #[expect(clippy::cast_possible_truncation, reason = "a unit is at most a million")]
    let unit = unit as i64;
    Duration::from_nanos(rounded * unit / 10).to_string()
}

//! Reservations, and the spacing of shaped streams.

use super::table::{Out, head, line, row, us};
use crate::results::reservation::{Held, Reservations, Spacing, Trial};

#[expect(clippy::cast_precision_loss, reason = "a spacing of less than an hour")]
fn micros(nanos: i64) -> String {
    us(nanos as f64)
}

fn shaper(spacing: &Spacing) -> &'static str {
    if spacing.in_kernel { "kernel" } else { "program" }
}

/// A spacing in a line.
pub(crate) fn progress_spacing(spacing: &Spacing) -> String {
    format!(
        "  spacing  {} B at {} B/s by the {}: p1 {}  median {}  p99 {} us, {} of {} within 5 % of {} us",
        spacing.payload,
        spacing.octets_per_second,
        shaper(spacing),
        micros(spacing.p1_ns),
        micros(spacing.median_ns),
        micros(spacing.p99_ns),
        spacing.within_5_percent,
        spacing.gaps,
        us(spacing.ideal_ns),
    )
}

fn protection(trial: &Trial) -> &'static str {
    if trial.reserved { "reservation" } else { "none" }
}

/// A trial in a line.
pub(crate) fn progress_trial(trial: &Trial) -> String {
    format!(
        "  call     protected by {}: median {}  p99 {}  max {} us, {} lost",
        protection(trial),
        us(trial.median_ns),
        us(trial.p99_ns),
        us(trial.max_ns),
        trial.lost,
    )
}

/// Held reservations in a line.
pub(crate) fn progress_held(held: &Held) -> String {
    format!(
        "  held     {} reservations for {} s: {} made, {} removed, {} refused; router {} KiB early, {} KiB late",
        held.flows,
        held.seconds,
        held.reserved,
        held.removed,
        held.refused,
        held.memory.early_kib,
        held.memory.late_kib,
    )
}

/// The section of spacings and trials.
pub(crate) fn reservations(out: &mut Out, found: &Reservations) {
    if !found.trials.is_empty() {
        out.push_str(
            "\n## A call with and without a reservation\n\nThe two trials of Qtcp's appendix D: 1,000 packets of 64 bytes at 3 kB/s over a \
             line of 128 kbit/s, beside 100 kbit/s of other traffic that starts after the calibration. The queuing delay of the \
             measured phase.\n",
        );
        head(out, 2, &["run", "protection", "lost", "median, us", "p99, us", "max, us"]);
        for trial in &found.trials {
            let cells = [
                trial.run.to_string(),
                protection(trial).into(),
                trial.lost.to_string(),
                us(trial.median_ns),
                us(trial.p99_ns),
                us(trial.max_ns),
            ];
            row(out, cells.iter().map(String::as_str));
        }
    }
    if !found.spacings.is_empty() {
        out.push_str(
            "\n## Spacing of shaped streams\n\nThe time between consecutive arrivals of a stream that the program paces, and of one that the \
             kernel shapes (`--shape kernel`), by the same token bucket.\n",
        );
        head(
            out,
            3,
            &["run", "stream", "shaper", "bucket, us", "p1, us", "median, us", "p99, us", "within 5 %"],
        );
        for spacing in &found.spacings {
            let cells = [
                spacing.run.to_string(),
                format!("{} B at {} B/s", spacing.payload, spacing.octets_per_second),
                shaper(spacing).into(),
                us(spacing.ideal_ns),
                micros(spacing.p1_ns),
                micros(spacing.median_ns),
                micros(spacing.p99_ns),
                format!("{} of {}", spacing.within_5_percent, spacing.gaps),
            ];
            row(out, cells.iter().map(String::as_str));
        }
    }
}

/// The section of held reservations.
pub(crate) fn held(out: &mut Out, held: &Held) {
    line(
        out,
        format_args!(
            "\n## Held reservations\n\n{} reservations on the laboratory's router, refreshed for {} s: {} made, {} removed, {} refused. \
             Resident memory of the router: {} KiB in the second fifth of the time, {} KiB in the last.",
            held.flows,
            held.seconds,
            held.reserved,
            held.removed,
            held.refused,
            held.memory.early_kib,
            held.memory.late_kib
        ),
    );
}

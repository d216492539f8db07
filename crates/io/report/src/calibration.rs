//! A calibration as text.

mod clock;
mod common_event;

pub use clock::text as clock_text;
pub use common_event::text as common_event_text;
use romer_record::calibration::{
    AddedDelay, CalibrationRecord, StampSourceError, Symmetry, TwoRates, TwoRatesMissing,
};
use romer_units::TimestampPoint;

use crate::escape;
use crate::number::maybe_time;
use crate::sentence::Text;
use crate::text::TextStyle;

/// The calibration as text, which ends with a newline. Every value has its unit, and every column its definition below the table.
pub fn text(record: &CalibrationRecord, style: &TextStyle) -> String {
    let page = Page { unicode: style.unicode, color: style.color };
    let mut lines = page.heading(record);
    page.table(record, &mut lines);
    page.symmetry(record, &mut lines);
    page.two_rates(record, &mut lines);
    page.host(record, &mut lines);
    lines.iter().flat_map(|line| [line.trim_end(), "\n"]).collect()
}

impl Text for TwoRatesMissing {
    fn text(&self) -> String {
        match self {
            Self::NotSlowed { error } => format!("the kernel cannot slow a link down: {error}"),
            Self::NoPairs => "this machine could not send two packets back to back".into(),
        }
    }
}

/// The constant error that two runs at two rates give, as text, which ends with a newline.
pub fn two_rates_text(found: &TwoRates, style: &TextStyle) -> String {
    let page = Page { unicode: style.unicode, color: style.color };
    format!(
        "{}\n{:<13}medians {} at {}, {} at {} (half of the round trip)\n             computed {:.1} bytes on the wire (sent {} with \
         preamble and check sequence)\n             constant error {}; {} round trips\n",
        page.strong("Two runs: delay = bytes x 8 / rate + constant error"),
        name(found.stamp_source),
        page.time(found.slow_delay_ns),
        rate(found.slow_bps),
        page.time(found.fast_delay_ns),
        rate(found.fast_bps),
        found.octets,
        found.octets_sent,
        page.time(found.error_ns),
        found.packets
    )
}

#[derive(Clone, Copy)]
struct Page {
    unicode: bool,
    color: bool,
}

impl Page {
    fn strong(self, text: &str) -> String {
        if self.color { format!("\x1b[1m{text}\x1b[0m") } else { text.to_owned() }
    }

    fn heading(self, record: &CalibrationRecord) -> Vec<String> {
        let machine = &record.machine;
        let title =
            format!("Calibration of {}: delay that romer itself adds", escape::terminal(&machine.host));
        vec![
            self.strong(&title),
            format!(
                "kernel {}, {} CPUs, clock source {}; {}; {}",
                escape::terminal(&machine.kernel),
                machine.processors,
                escape::terminal(machine.clock_source.as_deref().unwrap_or("unknown")),
                escape::terminal(&record.software),
                escape::terminal(&record.measured)
            ),
            format!(
                "{} of {} round trips, one every {}, {}-byte IP packets, over a virtual link without delay",
                if record.rounds == 1 { "1 round".to_owned() } else { format!("{} rounds", record.rounds) },
                record.probes,
                self.time(real(record.interval_ns)),
                record.packet_octets
            ),
            String::new(),
        ]
    }

    fn table(self, record: &CalibrationRecord, lines: &mut Vec<String>) {
        let row = |place: &str, way: &str, cells: [String; 4]| {
            let [baseline, uncertainty, median, greatest] = cells;
            format!("{place:<13}{way:<12}{baseline:>10}{uncertainty:>14}{median:>10}{greatest:>12}")
        };
        let head = ["baseline", "uncertainty", "median", "range"].map(String::from);
        lines.push(self.strong(&row("time stamps", "direction", head)));
        for error in &record.stamp_errors {
            let StampSourceError { stamp_source: place, forward, reverse, round_trip } = error;
            for ((way, share), first) in
                [("forward", forward), ("reverse", reverse), ("round trip", round_trip)]
                    .into_iter()
                    .zip([true, false, false])
            {
                let name = if first { name(*place) } else { "" };
                lines.push(row(name, way, self.cells(share)));
            }
        }
        lines.extend(
            [
                "baseline     minimum: every delay measured here includes at least this;",
                "             `romer measure --subtract-baseline` subtracts it",
                "uncertainty  p99 minus minimum: 99 % of the delays include at most this in addition",
                "range        maximum minus minimum, with the scheduling delays of this host",
                "Each value is the median over the rounds. Time stamps of network cards are not",
                "calibrated: the link is virtual.",
                "",
            ]
            .map(String::from),
        );
    }

    fn cells(self, share: &AddedDelay) -> [String; 4] {
        [share.baseline_ns, share.uncertainty_ns, share.median_ns, share.max_ns].map(|nanos| self.time(nanos))
    }

    fn symmetry(self, record: &CalibrationRecord, lines: &mut Vec<String>) {
        lines.push(self.strong(
            "Self-check of symmetry: on this link forward, reverse and half of the round trip are equal",
        ));
        for found in &record.symmetry {
            let Symmetry {
                stamp_source: place,
                forward_ns,
                reverse_ns,
                half_round_trip_ns,
                difference_ns,
                tolerance_ns,
                passed,
            } = found;
            lines.push(format!(
                "{:<13}{}: medians {} forward, {} reverse, {} half of the round trip",
                name(*place),
                verdict(*passed),
                self.time(*forward_ns),
                self.time(*reverse_ns),
                self.time(*half_round_trip_ns)
            ));
            lines.push(format!(
                "             difference {} (tolerance {})",
                self.time(*difference_ns),
                self.time(*tolerance_ns)
            ));
        }
        lines.push(String::new());
    }

    fn two_rates(self, record: &CalibrationRecord, lines: &mut Vec<String>) {
        lines.push(self.strong("Self-check at two link rates: delay = bytes x 8 / rate + constant error"));
        if let Some(why) = &record.two_rates_missing {
            lines.push(format!("             not measured: {}", escape::terminal(&why.text())));
        }
        for found in &record.two_rates {
            let TwoRates {
                stamp_source: place,
                slow_bps,
                fast_bps,
                slow_delay_ns,
                fast_delay_ns,
                octets,
                octets_sent,
                ..
            } = found;
            let late = record
                .at(*place)
                .map(|error| error.forward.uncertainty_ns)
                .filter(|late| explains(found, *late));
            lines.push(format!(
                "{:<13}{}: medians {} at {}, {} at {}",
                name(*place),
                if late.is_some() { "INCONCLUSIVE" } else { verdict(found.passed) },
                self.time(*slow_delay_ns),
                rate(*slow_bps),
                self.time(*fast_delay_ns),
                rate(*fast_bps),
            ));
            lines.push(format!(
                "             computed {octets:.1} bytes (sent {octets_sent}), constant error {}; {} packets, {} excluded",
                self.time(found.error_ns),
                found.packets,
                found.excluded
            ));
            if let Some(late) = late {
                lines.push(format!(
                    "             these time stamps are up to {} late (p99), which explains the difference;",
                    self.time(late)
                ));
                lines.push("             repeat when this host is less busy".into());
            }
        }
        lines.push(String::new());
    }

    fn host(self, record: &CalibrationRecord, lines: &mut Vec<String>) {
        let gaps = &record.host_gaps;
        lines.push(format!(
            "Scheduling gaps of this host (hypervisor or other work): {:.2} % of {} per CPU, longest {}",
            gaps.stolen_ratio * 100.0,
            self.time(real(gaps.observed_ns) / f64::from(record.machine.processors.max(1))),
            self.time(real(gaps.longest_ns))
        ));
    }

    /// A time with three significant digits, and its unit.
    fn time(self, nanos: f64) -> String {
        maybe_time(Some(nanos), self.unicode).replace('\u{a0}', " ")
    }
}

/// Whether stamps that are so late explain a solution that is not what was sent: then it tells nothing of the stamps' own error.
fn explains(found: &TwoRates, late_ns: f64) -> bool {
    let each = |bits_per_second: u64| 8e9 / rate_of(bits_per_second);
    let an_octet = each(found.slow_bps) - each(found.fast_bps);
    !found.passed && (found.octets - f64::from(found.octets_sent)).abs() * an_octet <= late_ns
}

#[expect(clippy::cast_precision_loss, reason = "rates of a laboratory are far below 2^53")]
const fn rate_of(bits_per_second: u64) -> f64 {
    bits_per_second as f64
}

fn rate(bits_per_second: u64) -> String {
    format!("{} Mbit/s", bits_per_second / 1_000_000)
}

/// Where time stamps were taken.
const fn name(place: TimestampPoint) -> &'static str {
    match place {
        TimestampPoint::Nic => "network card",
        TimestampPoint::Kernel => "kernel",
        TimestampPoint::Program => "eBPF",
        TimestampPoint::User => "user space",
    }
}

const fn verdict(passed: bool) -> &'static str {
    if passed { "PASS" } else { "FAIL" }
}

#[expect(clippy::cast_precision_loss, reason = "shown with three digits")]
fn real(nanos: i64) -> f64 {
    nanos as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_check_that_late_stamps_can_have_broken_is_disturbed_and_one_that_they_cannot_does_not_hold() {
        let found = |octets, passed| TwoRates {
            stamp_source: TimestampPoint::User,
            slow_bps: 10_000_000,
            fast_bps: 100_000_000,
            slow_delay_ns: 2.01e6,
            fast_delay_ns: 2.72e6,
            octets,
            octets_sent: 1_514,
            error_ns: 2.79e6,
            packets: 399,
            excluded: 1,
            passed,
        };
        // An octet takes 720 ns longer at the lower rate: 2,499 are 1.8 ms.
        assert!(explains(&found(-985.0, false), 8.48e6));
        assert!(
            !explains(&found(-985.0, false), 1.7e6),
            "of stamps that are not so late it says what it says"
        );
        assert!(!explains(&found(1_520.0, true), 8.48e6), "what holds is not stall_affected");
    }
}

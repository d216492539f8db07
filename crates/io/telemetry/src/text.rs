//! Metrics as text: of Prometheus (version 0.0.4), and of OpenMetrics (version 1.0.0).

use std::fmt::Write as _;

use crate::histogram::HistogramValues;
use crate::registry::{Cells, Entry};

/// Prometheus text.
pub(crate) fn prometheus(entries: &[Entry]) -> String {
    let mut text = String::new();
    entries.iter().for_each(|entry| family(&mut text, entry, false));
    text
}

/// OpenMetrics text.
pub(crate) fn open_metrics(entries: &[Entry]) -> String {
    let mut text = String::new();
    entries.iter().for_each(|entry| family(&mut text, entry, true));
    text.push_str("# EOF\n");
    text
}

/// One family. Writing to a string does not fail.
fn family(text: &mut String, entry: &Entry, is_open: bool) {
    let kind = match entry.cells {
        Cells::Counter(_) => "counter",
        Cells::Gauge(_) => "gauge",
        Cells::Histogram(_) => "histogram",
    };
    // OpenMetrics names the family, Prometheus its samples.
    let suffix = if kind == "counter" && !is_open { "_total" } else { "" };
    let name = entry.name;
    let help = escape(entry.help, is_open);
    _ = writeln!(text, "# HELP {name}{suffix} {help}\n# TYPE {name}{suffix} {kind}");
    if is_open && name.ends_with("_seconds") {
        _ = writeln!(text, "# UNIT {name} seconds");
    }
    match &entry.cells {
        Cells::Counter(series) => Entry::each(series, |values, counter| {
            _ = writeln!(text, "{name}_total{} {}", in_braces(&pairs(entry, values)), counter.get());
        }),
        Cells::Gauge(series) => Entry::each(series, |values, gauge| {
            if let Some(value) = gauge.get() {
                _ = writeln!(text, "{name}{} {value}", in_braces(&pairs(entry, values)));
            }
        }),
        Cells::Histogram(series) => Entry::each(series, |values, histogram| {
            buckets(text, entry, values, &histogram.read());
        }),
    }
}

fn buckets(text: &mut String, entry: &Entry, values: &[String], histogram: &HistogramValues) {
    let (name, count, pairs) = (entry.name, histogram.count(), pairs(entry, values));
    let comma = if pairs.is_empty() { "" } else { "," };
    for (bound, up_to) in histogram.classic() {
        // With a decimal point also where it is whole, as OpenMetrics has it: else the formats had different labels.
        _ = writeln!(text, "{name}_bucket{{{pairs}{comma}le=\"{bound:?}\"}} {up_to}");
    }
    _ = writeln!(text, "{name}_bucket{{{pairs}{comma}le=\"+Inf\"}} {count}");
    let labels = in_braces(&pairs);
    _ = writeln!(text, "{name}_sum{labels} {}\n{name}_count{labels} {count}", histogram.sum);
}

/// The labels, with commas between them.
fn pairs(entry: &Entry, values: &[String]) -> String {
    let named = entry.labels(values);
    let pairs: Vec<_> = named.map(|(name, value)| format!("{name}=\"{}\"", escape(value, true))).collect();
    pairs.join(",")
}

/// Labels as a sample has them; nothing without labels.
fn in_braces(pairs: &str) -> String {
    if pairs.is_empty() { String::new() } else { format!("{{{pairs}}}") }
}

/// Backslashes and line breaks, and quotation marks where they end a value.
fn escape(text: &str, is_quoted: bool) -> String {
    let text = text.replace('\\', "\\\\").replace('\n', "\\n");
    if is_quoted { text.replace('"', "\\\"") } else { text }
}

#[cfg(test)]
mod tests {
    use crate::{Format, Registry, Spec};

    fn registry() -> Registry {
        let registry = Registry::new();
        let spec = Spec { name: "romer_test", help: "A \"test\"\\.", labels: ["target"] };
        registry.counter(spec).with(["a\"b\\c\nd"]).add(7);
        let gauges = registry.gauge(Spec { name: "romer_value_seconds", help: "Value.", labels: ["target"] });
        gauges.with(["known"]).set(0.25);
        gauges.with(["unknown"]);
        let times = registry.histogram(Spec { name: "romer_time_seconds", help: "Time.", labels: [] });
        times.with([]).observe(1_500_000_000);
        registry
    }

    /// Names, escapes and buckets of Prometheus text.
    #[test]
    fn prometheus_text_is_as_specified() {
        let text = String::from_utf8(registry().encode(Format::Text)).unwrap();
        for line in [
            "# HELP romer_test_total A \"test\"\\\\.",
            "# TYPE romer_test_total counter",
            "romer_test_total{target=\"a\\\"b\\\\c\\nd\"} 7",
            "romer_value_seconds{target=\"known\"} 0.25",
            "romer_time_seconds_bucket{le=\"1.0\"} 0",
            "romer_time_seconds_bucket{le=\"2.0\"} 1",
            "romer_time_seconds_bucket{le=\"+Inf\"} 1",
            "romer_time_seconds_sum 1.5",
            "romer_time_seconds_count 1",
        ] {
            assert!(text.lines().any(|one| one == line), "{line}\n{text}");
        }
        assert!(!text.contains("unknown"), "an unknown value is not a sample: {text}");
    }

    /// A label with an empty value is in no format.
    #[test]
    fn empty_labels_are_omitted() {
        let registry = Registry::new();
        let spec = Spec { name: "romer_test", help: "Test.", labels: ["target", "measurement"] };
        for measurement in ["", "core"] {
            registry.counter(spec).with(["far", measurement]).add(1);
        }
        let text = String::from_utf8(registry.encode(Format::Text)).unwrap();
        for line in
            ["romer_test_total{target=\"far\"} 1", "romer_test_total{target=\"far\",measurement=\"core\"} 1"]
        {
            assert!(text.lines().any(|one| one == line), "{line}\n{text}");
        }
        let protobuf = registry.encode(Format::Protobuf);
        let names = protobuf.windows(11).filter(|octets| octets == b"measurement").count();
        assert_eq!(names, 1, "{}", protobuf.escape_ascii());
    }

    /// OpenMetrics names counters without their suffix, states units, and marks its end.
    #[test]
    fn open_metrics_text_is_as_specified() {
        let text = String::from_utf8(registry().encode(Format::OpenMetrics)).unwrap();
        for line in [
            "# HELP romer_test A \\\"test\\\"\\\\.",
            "# TYPE romer_test counter",
            "romer_test_total{target=\"a\\\"b\\\\c\\nd\"} 7",
            "# UNIT romer_time_seconds seconds",
        ] {
            assert!(text.lines().any(|one| one == line), "{line}\n{text}");
        }
        assert!(text.ends_with("# EOF\n"));
    }
}

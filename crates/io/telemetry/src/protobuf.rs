//! Metrics as `io.prometheus.client.MetricFamily` messages, each after its length.
//!
//! The numbers of the fields are those of `io/prometheus/client/metrics.proto` of Prometheus.

use crate::histogram::{HistogramValues, SCHEMA};
use crate::registry::{Cells, Entry};

/// Empty buckets between two filled ones that are written as such; longer gaps begin another span.
const BRIDGED_GAP: i32 = 2;

/// A message, as far as it is written.
#[derive(Default)]
pub(crate) struct Message(Vec<u8>);

impl AsRef<[u8]> for Message {
    fn as_ref(&self) -> &[u8] {
        &self.0
    }
}

impl From<Message> for Vec<u8> {
    fn from(message: Message) -> Self {
        message.0
    }
}

impl Message {
    pub(crate) fn varint(&mut self, mut value: u64) {
        while value >= 0x80 {
            self.0.push(value.to_le_bytes()[0] | 0x80);
            value >>= 7;
        }
        self.0.push(value.to_le_bytes()[0]);
    }

    pub(crate) fn unsigned(&mut self, field: u64, value: u64) {
        self.varint(field << 3);
        self.varint(value);
    }

    pub(crate) fn signed(&mut self, field: u64, value: i64) {
        self.unsigned(field, zigzag(value));
    }

    pub(crate) fn double(&mut self, field: u64, value: f64) {
        self.fixed(field, value.to_bits());
    }

    pub(crate) fn fixed(&mut self, field: u64, value: u64) {
        self.varint((field << 3) | 1);
        self.0.extend_from_slice(&value.to_le_bytes());
    }

    pub(crate) fn octets(&mut self, field: u64, octets: &[u8]) {
        self.varint((field << 3) | 2);
        self.varint(octets.len() as u64);
        self.0.extend_from_slice(octets);
    }
}

const fn zigzag(value: i64) -> u64 {
    ((value << 1) ^ (value >> 63)).cast_unsigned()
}

/// All families.
pub(crate) fn encode(entries: &[Entry]) -> Vec<u8> {
    let mut all = Message::default();
    for entry in entries {
        let family = family(entry);
        all.varint(family.0.len() as u64);
        all.0.extend_from_slice(&family.0);
    }
    all.0
}

fn family(entry: &Entry) -> Message {
    let (kind, suffix) = match entry.cells {
        Cells::Counter(_) => (0, "_total"),
        Cells::Gauge(_) => (1, ""),
        Cells::Histogram(_) => (4, ""),
    };
    let mut family = Message::default();
    family.octets(1, format!("{}{suffix}", entry.name).as_bytes());
    family.octets(2, entry.help.as_bytes());
    family.unsigned(3, kind);
    let mut add = |values: &[String], field: u64, value: &Message| {
        let mut metric = Message::default();
        for (name, value) in entry.labels(values) {
            let mut label = Message::default();
            label.octets(1, name.as_bytes());
            label.octets(2, value.as_bytes());
            metric.octets(1, &label.0);
        }
        metric.octets(field, &value.0);
        family.octets(4, &metric.0);
    };
    match &entry.cells {
        Cells::Counter(series) => Entry::each(series, |values, counter| {
            #[expect(clippy::cast_precision_loss, reason = "the format has counters as floats")]
            let count = counter.get() as f64;
            let mut value = Message::default();
            value.double(1, count);
            add(values, 3, &value);
        }),
        Cells::Gauge(series) => Entry::each(series, |values, gauge| {
            if let Some(known) = gauge.get() {
                let mut value = Message::default();
                value.double(1, known);
                add(values, 2, &value);
            }
        }),
        Cells::Histogram(series) => {
            Entry::each(series, |values, cell| add(values, 7, &histogram(&cell.read())));
        }
    }
    family
}

fn histogram(values: &HistogramValues) -> Message {
    let mut message = Message::default();
    message.unsigned(1, values.count());
    message.double(2, values.sum);
    for (bound, up_to) in values.classic() {
        let mut bucket = Message::default();
        bucket.unsigned(1, up_to);
        bucket.double(2, bound);
        message.octets(3, &bucket.0);
    }
    message.signed(5, SCHEMA.into());
    message.double(6, HistogramValues::ZERO_THRESHOLD);
    message.unsigned(7, values.zero);
    for (buckets, span_field) in [(&values.negative, 9), (&values.positive, 12)] {
        let (spans, deltas) = spans(buckets);
        for (offset, length) in spans {
            let mut span = Message::default();
            span.signed(1, offset.into());
            span.unsigned(2, length);
            message.octets(span_field, &span.0);
        }
        let mut packed = Message::default();
        deltas.into_iter().for_each(|delta| packed.varint(zigzag(delta)));
        if !packed.0.is_empty() {
            message.octets(span_field + 1, &packed.0);
        }
    }
    message
}

/// Filled buckets as spans, each with its distance from the end of the one before and its length, and the differences of
/// successive counts.
fn spans(buckets: &[(i32, u64)]) -> (Vec<(i32, u64)>, Vec<i64>) {
    let (mut spans, mut deltas): (Vec<(i32, u64)>, Vec<i64>) = (Vec::new(), Vec::new());
    let (mut next, mut last) = (0, 0);
    for &(index, count) in buckets {
        let gap = index - next;
        match spans.last_mut() {
            Some((_, length)) if gap <= BRIDGED_GAP => {
                for _ in 0..gap {
                    deltas.push(-last);
                    last = 0;
                    *length += 1;
                }
                *length += 1;
            }
            _ => spans.push((gap, 1)),
        }
        let count = i64::try_from(count).unwrap_or(i64::MAX);
        deltas.push(count - last);
        (next, last) = (index + 1, count);
    }
    (spans, deltas)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Format, Registry, Spec};

    /// Short gaps are bridged, long ones begin a span, and the differences add up to the counts.
    #[test]
    fn spans_have_all_buckets() {
        let (found, deltas) = spans(&[(-5, 3), (-4, 1), (-2, 4), (9, 2)]);
        assert_eq!(found, [(-5, 4), (10, 1)]);
        assert_eq!(deltas, [3, -2, -1, 4, -2]);
        assert_eq!(spans(&[]), (Vec::new(), Vec::new()));
    }

    /// The octets of a counter, as the definition of the message has them.
    #[test]
    fn counters_are_encoded_octet_by_octet() {
        let registry = Registry::new();
        registry.counter(Spec { name: "c", help: "h", labels: ["l"] }).with(["v"]).add(2);
        let all = registry.encode(Format::Protobuf);
        let mut expected = vec![0x0a, 7];
        expected.extend_from_slice(b"c_total");
        expected.extend_from_slice(&[0x12, 1, b'h', 0x18, 0, 0x22, 19]);
        expected.extend_from_slice(&[0x0a, 6, 0x0a, 1, b'l', 0x12, 1, b'v']);
        expected.extend_from_slice(&[0x1a, 9, 0x09, 0, 0, 0, 0, 0, 0, 0, 0x40]);
        assert!(all.ends_with(&expected), "{all:?}");
        assert_eq!(all[all.len() - expected.len() - 1], 35, "the length is before it");
    }

    /// Numbers of several octets, and negative ones.
    #[test]
    fn varints_are_little_endian_groups() {
        let mut message = Message::default();
        message.varint(300);
        message.signed(1, -2);
        assert_eq!(message.0, [0xac, 0x02, 0x08, 0x03]);
    }
}

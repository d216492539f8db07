//! What a reader of a `.raw` should know.

use romer_record::event::EventLocation;
use romer_record::warning::MeasurementWarning;

use super::entry::UNIT_NS;

/// What was noticed while reading, in numbers; [`Notes::warnings`] gives what a reader should know.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Notes {
    /// Dummy entries, which stand for lost packets.
    pub dummies: u64,
    /// Lines whose latency is not received minus sent.
    pub mismatches: u64,
    /// Of these the latency was taken, and not the receive stamp.
    pub trusted: bool,
    /// Latencies below zero: the receiver's clock is behind.
    pub negative: u64,
    /// Lines that repeat a number.
    pub duplicates: u64,
    /// Lines that were sent before the line before: the first of them, from 1, and by how many units of 100 ns.
    pub sent_back: Option<(u64, i64)>,
    /// Packets that arrived after one with a higher number.
    pub reordered: u64,
    /// Lines that were received before the line before though they have a higher number: the first of them, from 1, and
    /// by how many units of 100 ns. A clock that was set.
    pub received_back: Option<(u64, i64)>,
    /// The numbers went on from 0 at 2^32.
    pub wrapped: bool,
    /// The octet at which a cut last line begins, which was dropped.
    pub cut: Option<u64>,
    /// Octets of zero at the end, which were dropped.
    pub zeros: u64,
}

impl Notes {
    /// The warnings of it.
    pub fn warnings(&self) -> Vec<MeasurementWarning> {
        let counts = [
            (self.dummies, MeasurementWarning::DummyEntries { entries: self.dummies }),
            (
                self.mismatches,
                MeasurementWarning::LatencyMismatch { packets: self.mismatches, trusted: self.trusted },
            ),
            (self.negative, MeasurementWarning::LatencyNegative { packets: self.negative }),
            (self.duplicates, MeasurementWarning::DuplicateLines { lines: self.duplicates }),
            (self.reordered, MeasurementWarning::ReorderedLines { packets: self.reordered }),
        ];
        let mut all: Vec<MeasurementWarning> =
            counts.into_iter().filter(|(count, _)| *count > 0).map(|(_, warning)| warning).collect();
        all.extend(self.steps().into_iter().flatten());
        if self.wrapped {
            all.push(MeasurementWarning::SequenceNumbersRenumbered { counter_bits: Some(32), step: None });
        }
        all.extend(self.cut.map(|byte| MeasurementWarning::RecordTruncated { byte }));
        if self.zeros > 0 {
            all.push(MeasurementWarning::TrailingZeros { bytes: self.zeros });
        }
        all
    }

    /// Where the units of the stamps are `unit_ns` nanoseconds and not 100, the steps are that much larger or smaller.
    #[must_use]
    pub fn from_units(self, unit_ns: i64) -> Self {
        let scaled = |step: Option<(u64, i64)>| {
            step.map(|(line, units)| (line, units.saturating_mul(unit_ns).div_euclid(UNIT_NS)))
        };
        Self { sent_back: scaled(self.sent_back), received_back: scaled(self.received_back), ..self }
    }

    /// Takes out what is known of steps of the sender's clock and the receiver's, and gives the warnings of them: for whom takes
    /// such steps out of the stamps.
    pub fn take_steps(&mut self) -> [Option<MeasurementWarning>; 2] {
        let steps = self.steps();
        (self.sent_back, self.received_back) = (None, None);
        steps
    }

    fn steps(&self) -> [Option<MeasurementWarning>; 2] {
        [(self.sent_back, EventLocation::Sender), (self.received_back, EventLocation::Responder)].map(
            |(step, location)| {
                let (line, units) = step?;
                Some(MeasurementWarning::ClockSteppedBack {
                    location,
                    line,
                    size_ns: units.saturating_mul(UNIT_NS),
                })
            },
        )
    }
}

//! What a report is made of.

use romer_clock::skew::Correction;
use romer_record::OneWaySingleton;
use romer_record::document::Measurement;
use romer_singletons::LocationSeries;
use thiserror::Error;

use crate::table::MeasuredPath;

/// One stream: its document, and the singletons behind it where they are at hand.
#[derive(Clone, Copy, Debug)]
pub struct Stream<'a> {
    /// The results.
    pub measurement: &'a Measurement,
    /// What became of each packet; without it a report has no charts over time.
    pub singletons: Option<Singletons<'a>>,
}

/// What became of each packet of a stream, in order of sequence; of one whose first packets were for calibration, of the others.
#[derive(Clone, Copy, Debug)]
pub struct Singletons<'a> {
    /// When the first of them left, after the first packet of the stream, nanoseconds: events count from that.
    pub begins_ns: i64,
    /// From sender to responder.
    pub forward: &'a [OneWaySingleton],
    /// From responder to sender.
    pub reverse: &'a [OneWaySingleton],
    /// There and back: departure and arrival are both the sender's.
    pub round_trip: &'a [OneWaySingleton],
    /// What was taken out of `forward` and of `reverse` for the clocks.
    pub corrections: [&'a Correction; 2],
    /// How far the program's stamps lie from the kernel's.
    pub location: &'a LocationSeries,
}

impl<'a> Singletons<'a> {
    /// Those of a direction.
    pub(crate) const fn singletons(&self, way: MeasuredPath) -> &'a [OneWaySingleton] {
        match way {
            MeasuredPath::Forward => self.forward,
            MeasuredPath::Reverse => self.reverse,
            MeasuredPath::RoundTrip => self.round_trip,
        }
    }
}

/// Why a report could not be made.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum ReportError {
    /// A chart could not be drawn.
    #[error("cannot draw a chart ({chart}): {why}; this is a fault of romer, please report it")]
    Chart {
        /// Which chart.
        chart: &'static str,
        /// What the plotting library says.
        why: String,
    },
}

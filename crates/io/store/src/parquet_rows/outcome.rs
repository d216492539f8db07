//! What the analysis found of packets, for the columns that other programs read.

use romer_record::RoundTrip;

/// What the analysis found of the packet of a row. It stands in the file for other programs; romer computes it again.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Outcome {
    /// What became of the packet, in a word; `None` without an analysis.
    pub fate: Option<&'static str>,
    /// The event during which it was lost, in a word; `None` if none is known.
    pub cause: Option<&'static str>,
    /// Its delay without the error of the clocks, nanoseconds.
    pub delay_ns: Option<i64>,
    /// Bound of the error of that delay, nanoseconds.
    pub delay_error_ns: Option<i64>,
}

/// The outcomes of the rows of a run. They are computed while the rows are written, so that they take no memory.
pub trait Outcomes: std::fmt::Debug {
    /// Those of the `rows` of a stream, in their order. Rows beyond the last outcome have none.
    fn outcomes<'a>(&'a self, stream: u16, rows: &'a [RoundTrip]) -> Box<dyn Iterator<Item = Outcome> + 'a>;
}

/// No outcomes.
impl Outcomes for () {
    fn outcomes<'a>(&'a self, _: u16, _: &'a [RoundTrip]) -> Box<dyn Iterator<Item = Outcome> + 'a> {
        Box::new(std::iter::empty())
    }
}

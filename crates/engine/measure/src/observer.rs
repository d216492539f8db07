//! Who follows a measurement.

use std::path::Path;

use romer_record::document::{StreamInterval, StreamReturn};
use romer_record::note::Note;

/// Who is told how a measurement goes on. `()` ignores it.
pub trait Observer {
    /// The run is in this folder, and about to begin.
    fn on_start(&mut self, folder: &Path, streams: usize);
    /// Something worth a line.
    fn on_note(&mut self, stream: u16, note: &Note);
    /// What happened up to now.
    fn on_interval(&mut self, interval: &StreamInterval);
    /// A probe of a round trip is back, if [`crate::MeasureOptions::report_returns`] is set.
    fn on_return(&mut self, _returned: &StreamReturn) {}
}

impl Observer for () {
    fn on_start(&mut self, _folder: &Path, _streams: usize) {}

    fn on_note(&mut self, _stream: u16, _note: &Note) {}

    fn on_interval(&mut self, _interval: &StreamInterval) {}
}

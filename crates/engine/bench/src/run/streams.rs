//! Streams of which nothing comes, while others live: the device is there, and what it does not carry is its loss.

use romer_method::TrialRequest;
use romer_method::analysis::StreamSilence;
use romer_record::benchmark::{BenchmarkEventKind, SilentStream};
use romer_units::Duration;

use super::running::Running;
use crate::classes::{TOLERANCE, set_expected_rates};
use crate::error::BenchError;
use crate::testbed::TestBed;
use crate::trial::{MIN_OUTAGE, TrialRecord, frames_words};

impl<B: TestBed> Running<'_, B> {
    /// Tells when a stream falls silent and when it lives again, in a trial that began at `at` and in which the device was
    /// there.
    pub(super) fn look_at_streams(
        &mut self,
        ask: &TrialRequest,
        record: &TrialRecord,
        at: i64,
    ) -> Result<(), BenchError> {
        // What the tester dropped unread may have been all of a stream; that it stood still for a moment is no silence of one.
        if record.invalid.is_some() && record.figures.attribution.unread > 0 {
            return Ok(());
        }
        let to_carry = |stream: &usize| self.options.streams.get(*stream).is_none_or(|one| !one.expect_drop);
        for stream in (0..record.figures.streams.len()).filter(to_carry) {
            let found =
                record.figures.silent.iter().find(|one| one.stream == stream).filter(|found| {
                    found.length >= MIN_OUTAGE || (found.from_the_first && found.to_the_last)
                });
            let was = self.silent.contains(&stream);
            match found.filter(|_| !self.owed_nothing(ask, record, stream)) {
                Some(found) => {
                    if !was || !found.from_the_first {
                        self.fell_silent(ask, record, (found, at))?;
                    }
                    // A trial that tells of the device says so again.
                    if record.invalid.is_none() {
                        self.lives(stream, found.to_the_last)?;
                    }
                }
                None if record.figures.streams.get(stream).is_some_and(|one| one.forwarded > 0) => {
                    self.lives(stream, false)?;
                }
                None => {}
            }
        }
        Ok(())
    }

    fn fell_silent(
        &mut self,
        ask: &TrialRequest,
        record: &TrialRecord,
        (found, at): (&StreamSilence, i64),
    ) -> Result<(), BenchError> {
        let stream = record.figures.streams.get(found.stream).map(|stream| stream.name.clone());
        let (frame_size, mixture) = frames_words(&ask.frames);
        self.event(BenchmarkEventKind::StreamSilent(SilentStream {
            stream: stream.unwrap_or_default(),
            case: self.case_name(ask),
            frame_size,
            mixture,
            load_percent: self.load_percent(ask),
            from_ns: found.from.as_nanos(),
            since_ns: (Duration::from_nanos(at) + found.from).as_nanos(),
            length_ns: found.length.as_nanos(),
            frames: found.frames,
            others_ratio: found.others,
            from_start: found.from_the_first,
            to_end: found.to_the_last,
            is_loss: record.invalid.is_none(),
        }))
    }

    /// Notes whether a stream is silent still, and tells that it lives again.
    fn lives(&mut self, stream: usize, silent: bool) -> Result<(), BenchError> {
        if silent {
            self.silent.insert(stream);
            return Ok(());
        }
        if !self.silent.remove(&stream) {
            return Ok(());
        }
        let stream = self.options.streams.get(stream).map(|stream| stream.name.clone());
        self.event(BenchmarkEventKind::StreamBack { stream: stream.unwrap_or_default() })
    }

    /// Whether a scheduler owes the stream next to nothing at this load: that it is silent is then as it is to be.
    fn owed_nothing(&self, ask: &TrialRequest, record: &TrialRecord, stream: usize) -> bool {
        let Some((_, capacity)) = self.options.claims.scheduler else { return false };
        let mut streams = record.figures.streams.clone();
        set_expected_rates(self.options, &ask.frames, &mut streams);
        let owed = streams.get(stream).and_then(|stream| stream.expected_l2_bps);
        owed.is_some_and(|[least, _]| least < TOLERANCE * capacity)
    }
}

//! Sizes of which nothing comes although others do: the device is there, and drops them.

use std::sync::atomic::Ordering;

use romer_method::{Frames, TrialRequest};
use romer_record::benchmark::{BenchmarkEventKind, SilentSize};
use romer_units::{Duration, FrameSize};

use super::running::{PROMPT, Running};
use crate::error::BenchError;
use crate::frames::{flows, sizes_of};
use crate::options::{BenchOptions, StreamOptions};
use crate::testbed::TestBed;
use crate::trial::{TrialRecord, frames_words};

/// Sizes that are tried where nothing comes of those that are asked for.
const USUAL: [u32; 5] = [64, 256, 512, 1_024, 1_518];

/// What came of the frames that look whether the device forwards.
pub(super) enum ProbeOutcome {
    /// Those of the trial, after so many had been sent.
    Own(u64),
    /// Frames of other sizes alone.
    Others,
    /// None of so many of each stream.
    Nothing(Vec<u64>),
}

impl<B: TestBed> Running<'_, B> {
    /// Looks whether the device forwards, by the sizes that are asked for, and where nothing comes of these, by others.
    /// It has been silent, too, where those asked for come again only then.
    pub(super) fn probe_sizes(&mut self, patience: Duration) -> Result<Result<u64, Vec<u64>>, BenchError> {
        let asked = self.bed.probe(self.options, patience, self.stop)?;
        let Err(sent) = asked else { return Ok(asked) };
        let others = self.others();
        if self.stop.load(Ordering::Acquire) || others.frames.is_empty() {
            return Ok(Err(sent));
        }
        let Ok(seen) = self.bed.probe(&others, PROMPT, self.stop)? else { return Ok(Err(sent)) };
        // One that has come back in the meantime had been silent.
        let again = self.bed.probe(self.options, PROMPT, self.stop)?;
        Ok(if again.is_ok() { Err(sent) } else { Ok(seen) })
    }

    /// Looks whether the device forwards, by the frames of a trial first.
    pub(super) fn look_by(&mut self, frames: &Frames) -> Result<ProbeOutcome, BenchError> {
        let own = BenchOptions { frames: vec![frames.clone()], ..self.options.clone() };
        let missing = match self.bed.probe(&own, PROMPT, self.stop)? {
            Ok(sent) => return Ok(ProbeOutcome::Own(sent)),
            Err(sent) => sent.iter().sum::<u64>(),
        };
        if let Err(sent) = self.probe_sizes(PROMPT)? {
            return Ok(ProbeOutcome::Nothing(sent));
        }
        // It may have come back in the meantime.
        let again = self.bed.probe(&own, PROMPT, self.stop)?;
        Ok(again.map_or(ProbeOutcome::Others, |sent| ProbeOutcome::Own(missing + sent)))
    }

    /// The same benchmark with usual sizes that it does not ask for, as far as the ports take them.
    fn others(&self) -> BenchOptions {
        let options = self.options;
        let without = |stream: &StreamOptions| StreamOptions { frames: None, ..stream.clone() };
        let streams = options.streams.iter().map(without).collect();
        let mut others = BenchOptions { streams, frames: Vec::new(), ..options.clone() };
        let least = flows(options).iter().map(|flow| flow.least).max().unwrap_or(0);
        let own = options.streams.iter().filter_map(|stream| stream.frames.as_ref());
        let asked: Vec<u32> =
            options.frames.iter().chain(own).flat_map(|frames| sizes_of(frames, least)).collect();
        let usual = USUAL.iter().filter(|octets| **octets >= least && !asked.contains(octets));
        let usual = usual.filter_map(|octets| FrameSize::new(*octets)).map(Frames::Size);
        others.frames = usual.filter(|frames| self.bed.longest(&others, frames).is_ok()).collect();
        others
    }

    /// That from this moment of a trial on, nothing of its frames came, and others did.
    pub(super) fn size_lost(
        &mut self,
        ask: &TrialRequest,
        record: &mut TrialRecord,
        from: Duration,
    ) -> Result<(), BenchError> {
        record.size_lost = true;
        let (frame_size, mixture) = frames_words(&ask.frames);
        let load_percent = self.load_percent(ask);
        self.event(BenchmarkEventKind::SizeSilent(SilentSize {
            frame_size,
            mixture,
            case: self.case_name(ask),
            from_ns: from.as_nanos(),
            trials: 1,
            min_load_percent: load_percent,
            max_load_percent: load_percent,
        }))
    }
}

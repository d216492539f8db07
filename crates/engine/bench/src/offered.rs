//! What trials offer: the load and the frames of all streams together.

use romer_method::schedule::{Flow, Nominal, nominal};
use romer_method::{Frames, Phase};
use romer_units::FrameSize;

use crate::frames::flows;
use crate::options::BenchOptions;

impl BenchOptions {
    /// What a trial with these frames at this load is to send, all streams together: where some of them have a pace that says
    /// itself how much, or sizes of their own, another load or number of frames than is asked for.
    pub fn nominal(&self, frames: &Frames, load: f64) -> Nominal {
        /// Shares in percent that sum up to nearly all are rounded.
        const ROUNDING: f64 = 2e-3;
        let phase = Phase { load, length: self.procedure.length() };
        let found = nominal(&flows(self), frames, self.line, phase);
        if (found.load - load).abs() <= ROUNDING * load { Nominal { load, ..found } } else { found }
    }

    /// What of that the device is to carry: without the streams that it is to drop.
    pub fn to_carry(&self, frames: &Frames, load: f64) -> Nominal {
        if !self.streams.iter().any(|stream| stream.expect_drop) {
            return self.nominal(frames, load);
        }
        let streams = self.streams.iter().filter(|stream| !stream.expect_drop).cloned().collect();
        let phase = Phase { load, length: self.procedure.length() };
        nominal(&flows(&Self { streams, ..self.clone() }), frames, self.line, phase)
    }

    /// Makes frames as large as the headers of the streams and the test data need, where all streams need as much: of IPv6
    /// with UDP 84 octets. What the trials say of their size is then what they have. Where every stream has sizes of its own,
    /// those are the trials' frames.
    pub fn fit_sizes(&mut self) {
        let flows = flows(self);
        if let Some(own) = of_streams(&flows) {
            self.frames = vec![own];
            return;
        }
        let least =
            flows.iter().filter(|flow| flow.frames.is_none()).map(|flow| flow.least).min().unwrap_or(0);
        for frames in &mut self.frames {
            let raised =
                frames.size().filter(|size| size.octets() < least).and_then(|_| FrameSize::new(least));
            if let Some(size) = raised {
                self.too_small.extend(frames.size());
                *frames = Frames::Size(size);
            }
        }
        self.frames.dedup();
    }
}

/// The frames of streams that all have their own: one size or mixture, where it is that of all. `None` where a stream has the
/// trial's.
fn of_streams(flows: &[Flow]) -> Option<Frames> {
    let own: Vec<(&Frames, u32)> =
        flows.iter().map(|flow| Some((flow.frames.as_ref()?, flow.least))).collect::<Option<_>>()?;
    let (first, least) = own.first()?;
    if own.iter().all(|one| one == &(*first, *least)) {
        let size = first.size().and_then(|size| FrameSize::new(size.octets().max(*least)));
        return Some(size.map_or_else(|| Frames::clone(first), Frames::Size));
    }
    let each = || flows.iter().zip(&own);
    let share: f64 = each().map(|(flow, _)| flow.share).sum();
    let frames: f64 = each()
        .map(|(flow, (frames, least))| {
            flow.share / (frames.mean_octets(*least) + f64::from(FrameSize::OVERHEAD))
        })
        .sum();
    Some(Frames::OfStreams { mean_on_the_line: share / frames })
}

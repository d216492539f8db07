//! The streams as the classes of a scheduler.

use romer_method::Frames;
use romer_method::priority::{ClassLoad, expected_shares};
use romer_record::benchmark::StreamResult;

use crate::frames::{flows, sizes_of};
use crate::numbers::real;
use crate::options::BenchOptions;

/// How far a class may be from its expectation, as a share of the line's capacity.
pub(crate) const TOLERANCE: f64 = 0.05;

/// What the streams of a trial with these frames offered, as shares of a line that carries `capacity` bits a second of
/// layer 2.
pub(crate) fn classes(
    options: &BenchOptions,
    frames: &Frames,
    found: &[StreamResult],
    capacity: f64,
) -> Vec<ClassLoad> {
    let streams = options.streams.iter().zip(flows(options));
    found
        .iter()
        .zip(streams)
        .map(|(found, (stream, flow))| {
            let sizes = sizes_of(stream.frames.as_ref().unwrap_or(frames), flow.least);
            let ends = [sizes.first(), sizes.last()].map(|size| size.copied().unwrap_or(flow.least));
            ClassLoad {
                name: found.name.clone(),
                offered: found.offered_l2_bps / capacity,
                weight: stream.weight,
                octets: found.frame_octets.unwrap_or_else(|| f64::from(ends[0])),
                sizes: ends,
                frames: real(found.offered),
            }
        })
        .collect()
}

/// Puts with each stream what its scheduler owes it, where one is judged.
pub(crate) fn set_expected_rates(options: &BenchOptions, frames: &Frames, found: &mut [StreamResult]) {
    let Some((discipline, capacity)) = options.claims.scheduler else { return };
    let owed = expected_shares(discipline, 1.0, &classes(options, frames, found, capacity));
    for (found, owed) in found.iter_mut().zip(owed) {
        found.expected_l2_bps = Some(owed.map(|share| share * capacity));
    }
}

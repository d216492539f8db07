//! What the host takes away.

use std::time::Duration as StdDuration;

use romer_host::host_info;
use romer_host::steal_monitor::{StealMonitor, StealMonitorOptions};
use romer_record::calibration::HostGaps;
use romer_units::Duration;

use crate::error::CalibrateError;

/// For how long it is looked before each round.
const OBSERVATION_TIME: Duration = Duration::from_millis(200);
/// Gaps that are recorded of one look; what comes on top is in the sum all the same.
const CAPACITY: usize = 1 << 14;

/// Looks at every processor, at times when nobody else wants it, and adds what was seen to `seen`.
pub(crate) fn observe(seen: &mut HostGaps) -> Result<(), CalibrateError> {
    let start = |core| {
        StealMonitor::start(StealMonitorOptions {
            core: Some(core),
            capacity: CAPACITY,
            background: true,
            ..StealMonitorOptions::default()
        })
    };
    let monitors: Vec<StealMonitor> = (0..host_info::processors())
        .map(start)
        .collect::<Result<_, _>>()
        .map_err(CalibrateError::host("watch the processors"))?;
    std::thread::sleep(StdDuration::from_nanos(OBSERVATION_TIME.as_nanos().unsigned_abs()));
    for gaps in monitors.into_iter().map(StealMonitor::stop) {
        let before = seen.stolen_ratio * real(seen.observed_ns);
        seen.observed_ns += OBSERVATION_TIME.as_nanos();
        seen.stolen_ratio = (before + real(gaps.stolen().as_nanos())) / real(seen.observed_ns);
        seen.longest_ns = seen.longest_ns.max(gaps.longest_stolen().as_nanos());
    }
    Ok(())
}

#[expect(clippy::cast_precision_loss, reason = "at most seconds, in nanoseconds")]
fn real(nanos: i64) -> f64 {
    nanos as f64
}

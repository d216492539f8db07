//! A run whose first packets were sent to fit the clocks by: what they say of the path is apart from what was measured.

use romer_clock::skew::{for_calibration, method_of};
use romer_record::OneWaySingleton;
use romer_record::manifest::Stream;
use romer_singletons::StreamSingletons;

/// The two phases of a run.
pub(super) struct Phases {
    /// Packets of each direction that were stated to be for calibration.
    pub(super) packets: u64,
    /// The first phase.
    pub(super) calibration: StreamSingletons,
    /// The second.
    pub(super) measured: StreamSingletons,
}

impl Phases {
    /// The phases of a stream; `None` where no packets were for calibration, or none was sent. The second is empty where no others were sent.
    pub(super) fn compute(stream: &Stream, related: &StreamSingletons) -> Option<Self> {
        let packets = stream.skew.calibration.filter(|_| method_of(&stream.skew).takes_calibration())?;
        let ways = [&related.forward, &related.reverse, &related.round_trip];
        let ends = ways.map(|singletons: &Vec<OneWaySingleton>| for_calibration(singletons, packets).len());
        if ways.iter().all(|singletons| singletons.is_empty()) {
            return None;
        }
        // What the numbers of replies tell is told of the whole run.
        let part = || StreamSingletons { numbers: None, ..related.clone() };
        let (mut calibration, mut measured) = (part(), part());
        // Which of the two a packet that was refused would have been in is not known; it is no packet of a quiet path.
        (calibration.not_sent, calibration.reverse_not_sent, calibration.not_replied) = (0, 0, 0);
        let ways: [fn(&mut StreamSingletons) -> &mut Vec<OneWaySingleton>; 3] =
            [|part| &mut part.forward, |part| &mut part.reverse, |part| &mut part.round_trip];
        for (way, end) in ways.into_iter().zip(ends) {
            way(&mut calibration).truncate(end);
            way(&mut measured).drain(..end);
        }
        Some(Self { packets, calibration, measured })
    }
}

//! Notes on the conversion of Qtcp files.

use super::measurement::MeasurementWarning;

crate::warning::family::warnings! {
/// A note on the skew correction of a Qtcp file, or on the files of a run.
QtcpNote {
    /// The send times went back: the sender's clock was set. They are continued as if it had not been.
    Note SentBack {
        /// Number of these steps.
        steps: u64,
    },
    /// Calibration packets are stated (`-c`), and no skew is fitted (`-k 0`).
    Note CalibrationUnused,
    /// No calibration packets are stated (`-c`): the skew is fitted to all packets.
    Note NoCalibration,
    /// The skew of a single packet cannot be fitted. Nothing was removed.
    Note OnePacket,
    /// The skew is fitted to few packets. It may be a change of their delay.
    Warning FewPackets {
        /// Number of these packets.
        packets: u64,
        /// Sufficient number.
        needed: u64,
    },
    /// The first packets are missing. The calibration packets are counted from number 0.
    Warning CalibrationFromZero {
        /// Number of the first packet that arrived.
        first: u64,
        /// Number of calibration packets.
        calibration: u64,
    },
    /// Steps of a clock were compensated.
    Note JumpsCompensated {
        /// Number of these steps.
        jumps: u64,
    },
    /// Only steps of one size are compensated. Steps of another size are still in the delays.
    Warning OneJumpSize,
    /// A limit of the estimate of the clocks.
    Warning ClockEstimate {
        /// As in the warnings of a measurement.
        warning: Box<MeasurementWarning>,
    },
    /// The skew is fitted to a part of the packets, because memory is limited.
    Note PacketsSampled {
        /// Number of packets that are used, evenly distributed.
        used: u64,
        /// Number of all packets.
        packets: u64,
        /// Number of packets that can be stored.
        limit: u64,
    },
    /// The receiver's clock was set back, and this step is not compensated.
    Warning StepNotCompensated {
        /// Approximate size of the step, nanoseconds.
        size_ns: i64,
        /// Number of the last packet before the step.
        before: u64,
        /// Number of the first packet after the step.
        after: u64,
        /// Number of the first packet before the step whose delay does not compare with others.
        since: u64,
        /// Number of further such steps.
        more: u64,
    },
    /// A clock was set, so that a fitted line is no skew. Nothing was removed.
    Warning StepNotSkew {
        /// Slope of the line, parts per million.
        ppm: f64,
    },
    /// The skew could not be removed.
    Warning SkewNotRemoved {
        /// The error.
        error: String,
    },
    /// Numbers are missing in a file of packets that were not lost. Qtcp takes every missing number for a loss.
    Warning NumbersNotLost {
        /// Number of these packets.
        packets: u64,
        /// How many of them arrived at a host that dropped them.
        host_drops: u64,
    },
}
}

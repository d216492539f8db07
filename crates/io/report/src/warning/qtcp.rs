//! Notes on the conversion of Qtcp files as text.

use romer_record::warning::QtcpNote;
use romer_units::{Duration, counted, counted_as};

use crate::sentence::Text;

impl Text for QtcpNote {
    fn text(&self) -> String {
        match self {
            Self::SentBack { steps } => format!(
                "the send times went back {}: the sender's clock was set, and its times go on as if it had not been",
                if *steps == 1 { "once".into() } else { format!("{steps} times") }
            ),
            Self::CalibrationUnused => {
                "the calibration packets (-c) have no effect on the skew: with -k 0 none is fitted".into()
            }
            Self::NoCalibration => "no calibration packets (-c): the skew is fitted to all packets".into(),
            Self::OnePacket => "fewer than two packets show no skew: none was removed".into(),
            Self::FewPackets { packets, needed } => format!(
                "the skew is fitted to {}: of fewer than {needed} it says what they waited, not how the clocks run; -k 0 leaves it in",
                counted(*packets, "packet")
            ),
            Self::CalibrationFromZero { first, calibration } => format!(
                "packets are missing, and the first that came has the number {first}: the {calibration} calibration packets (-c) are \
                 counted from number 0, as if those before it were lost"
            ),
            Self::JumpsCompensated { jumps } => {
                format!(
                    "{} compensated",
                    counted_as(*jumps, "jump of a clock was", "jumps of a clock were")
                )
            }
            Self::OneJumpSize => {
                "jumps of one size alone are compensated (least-absolute-jumps, -k 3): one of another size is still in the latencies"
                    .into()
            }
            Self::ClockEstimate { warning } => warning.text(),
            Self::PacketsSampled { used, packets, limit } => format!(
                "the skew is fitted to {used} of {packets} packets, drawn evenly: more than {limit} are not kept in memory for that \
                 (-k 1 uses them all)"
            ),
            Self::StepNotCompensated { size_ns, before, after, since, more } => {
                let more = match more {
                    0 => String::new(),
                    more => format!(", as are {more} more"),
                };
                format!(
                    "the receiver's clock stepped back by about {} before packet {after}, which is not compensated{more}: it is of \
                     another size than the jumps that are, or too few packets lie between it and the step before; the latencies of \
                     packets {since} to {before} do not compare with the others",
                    Duration::from_nanos(*size_ns)
                )
            }
            Self::StepNotSkew { ppm } => format!(
                "the step is no skew, though a line through both its sides rises by {ppm:.1} ppm: nothing was taken out, and the \
                 latencies on one side of the step are not valid beside those on the other"
            ),
            Self::SkewNotRemoved { error } => format!("the skew was not taken out: {error}"),
            Self::NumbersNotLost { packets, host_drops } => {
                let carried = match host_drops {
                    0 => String::new(),
                    drops => format!(", {drops} of them carried by the path and dropped unread"),
                };
                format!(
                    "{} not lost (not sent, in flight, dropped by a host or unknown{carried}), and Qtcp takes every missing number for \
                     a loss; the .sta names those that were lost, and `romer analyze` and `romer qtcp -F` go by it while it is beside \
                     the file",
                    counted_as(*packets, "number that is missing was", "numbers that are missing were")
                )
            }
        }
    }
}

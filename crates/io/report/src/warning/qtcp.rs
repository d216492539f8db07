//! Notes on the conversion of Qtcp files as text.

use romer_record::warning::QtcpNote;
use romer_units::{Duration, counted, counted_as};

use crate::sentence::Text;

impl Text for QtcpNote {
    fn text(&self) -> String {
        match self {
            Self::SentBack { steps } => format!(
                "the send times decreased {}: the sender's clock was set, and the steps are removed from its times",
                if *steps == 1 { "once".into() } else { format!("{steps} times") }
            ),
            Self::CalibrationUnused => {
                "the calibration packets (-c) are not used: with -k 0 no skew is fitted".into()
            }
            Self::NoCalibration => "no calibration packets (-c): the skew is fitted to all packets".into(),
            Self::OnePacket => "a skew cannot be fitted to one packet: none was removed".into(),
            Self::FewPackets { packets, needed } => format!(
                "the skew is fitted to {}: fitted to fewer than {needed}, it depends more on queuing than on the clocks; -k 0 removes no skew",
                counted(*packets, "packet")
            ),
            Self::CalibrationFromZero { first, calibration } => format!(
                "the first packet that arrived has the number {first}: the {calibration} calibration packets (-c) are counted from number 0, \
                 as if those before it were lost"
            ),
            Self::JumpsCompensated { jumps } => {
                format!(
                    "{} compensated",
                    counted_as(*jumps, "jump of a clock was", "jumps of a clock were")
                )
            }
            Self::OneJumpSize => {
                "only jumps of one size are compensated (least-absolute-jumps, -k 3): one of another size remains in the delays"
                    .into()
            }
            Self::ClockEstimate { warning } => warning.text(),
            Self::PacketsSampled { used, packets, limit } => format!(
                "the skew is fitted to {used} of {packets} packets, at equal intervals: the limit is {limit} packets (-k 1 uses all of them)"
            ),
            Self::StepNotCompensated { size_ns, before, after, since, more } => {
                let more = match more {
                    0 => String::new(),
                    more => format!(", as are {more} more"),
                };
                format!(
                    "the receiver's clock stepped back by about {} before packet {after}, which is not compensated{more}: its size differs \
                     from that of the compensated jumps, or too few packets lie between it and the previous step; do not compare \
                     the delays of packets {since} to {before} with others",
                    Duration::from_nanos(*size_ns)
                )
            }
            Self::StepNotSkew { ppm } => format!(
                "a fit across the step has a slope of {ppm:.1} ppm, which is not a skew: none was removed; do not compare the delays \
                 before the step with those after it"
            ),
            Self::SkewNotRemoved { error } => format!("the skew was not removed: {error}"),
            Self::NumbersNotLost { packets, host_drops } => {
                let carried = match host_drops {
                    0 => String::new(),
                    drops => format!(", {drops} of them dropped unread by the host"),
                };
                format!(
                    "{} not lost (not sent, in flight, dropped by a host or unknown{carried}), but Qtcp counts every missing number as \
                     lost; the .sta lists the lost ones, and `romer analyze` and `romer qtcp -F` use it if it is in the same folder",
                    counted_as(*packets, "number that is missing was", "numbers that are missing were")
                )
            }
        }
    }
}

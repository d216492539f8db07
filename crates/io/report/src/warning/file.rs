//! What a measurement warns of in a file that it was read from, as text.

use romer_record::event::EventLocation;
use romer_record::warning::{DepartureBasis, MeasurementWarning as Warning};
use romer_units::{Duration, counted, counted_as, was};

use crate::sentence::{length, unless_set};

/// The text of a warning about a file; of others nothing.
pub(super) fn text(warning: &Warning) -> String {
    match warning {
        Warning::SequenceGaps { missing } => format!(
            "{missing} sequence numbers between the first and the last are not in the file: they count neither as sent nor as lost (a \
             lost packet has a line with an empty field)"
        ),
        Warning::DelayDropReorders { at_ns, drop_ns, packets } => format!(
            "from {} after the start all packets take about {} less, by which the {} before are out of order, {}",
            length(*at_ns),
            length(*drop_ns),
            counted(*packets, "packet"),
            unless_set(true)
        ),
        Warning::ColumnsIgnored { columns, more } => {
            let mut names: Vec<String> = columns.iter().map(|name| format!("{name:?}")).collect();
            if *more > 0 {
                names.push(format!("and {more} more"));
            }
            let are = if columns.len() == 1 { "a column is" } else { "columns are" };
            format!("{are} not part of a packet log and not used: {}", names.join(", "))
        }
        Warning::PlaceholderTimeStamps { column, stamps, first_line, lost } => format!(
            "{} 0 or -1 in the column {column} (first in line {first_line}), which is no time of that clock: they count as \
             missing{}",
            counted_as(*stamps, "time stamp is", "time stamps are"),
            if *lost { ", as for packets that did not arrive" } else { "" }
        ),
        Warning::NtpEraUnwrapped { stamps } => format!(
            "the seconds of NTP overflowed (2^32 s, the era that ends in 2036): {} moved by 136 years, into the era of the others",
            counted_as(*stamps, "time stamp is", "time stamps are")
        ),
        Warning::SequenceNumbersRenumbered { counter_bits, step } => {
            let wrapped = counter_bits
                .map(|bits| format!("the sequence numbers wrapped at 2^{bits} and are continued beyond it"));
            let divided = step.map(|step| {
                format!(
                    "the sequence numbers count in steps of {step}: they are divided by it, and those between are not lost packets"
                )
            });
            [wrapped, divided].into_iter().flatten().collect::<Vec<_>>().join("; ")
        }
        Warning::LongPause { pause_ns, before_line, after_line } => format!(
            "no packet left for {} between line {before_line} and line {after_line}, which is longer than the rest of the file; if \
             two runs are joined there, split the file (head -n {}; for the second, head -n 1 and tail -n +{after_line})",
            length(*pause_ns),
            after_line.saturating_sub(1)
        ),
        Warning::DigitsTruncated { digits } => format!(
            "no time stamp has more than {digits} significant digits: a spreadsheet has truncated them, and delays are off by as \
             much; import these columns as text, or analyse the original file"
        ),
        Warning::FateUnknown { packets } => format!(
            "{} in flight or unknown by the file (fate), and neither sent nor lost here",
            counted_as(*packets, "packet that did not arrive is", "packets that did not arrive are")
        ),
        Warning::UnreadPackets { packets } => format!(
            "{} unread by the file (fate): the path delivered them to a host that dropped them, and they count as sent, and neither \
             as received nor as lost",
            counted_as(*packets, "packet is", "packets are")
        ),
        Warning::LastLineTruncated { line } => format!(
            "the file ends within line {line}, which lacks a part of its last value or whole fields: it was truncated there, and that \
             line is not used"
        ),
        Warning::LastLineUnterminated { line, empty_field: false } => format!(
            "the file does not end with a line end: its last line ({line}) looks complete and is used, but may be truncated"
        ),
        Warning::LastLineUnterminated { line, empty_field: true } => format!(
            "the file does not end with a line end, and the last field of its last line ({line}) is empty: it counts as a missing \
             time stamp, but the file may be truncated there"
        ),
        Warning::ClockSteppedBack { location, line, size_ns } => format!(
            "the {} clock stepped back by {} at line {line}: least-absolute-jumps (-k 3) compensates for such steps; without it the \
             latencies on both sides of that line do not compare",
            if *location == EventLocation::Sender { "sender's" } else { "receiver's" },
            length(*size_ns)
        ),
        Warning::DummyEntries { entries } => format!(
            "{} lost packets and {} in no average",
            counted_as(*entries, "dummy entry stands for", "dummy entries stand for"),
            if *entries == 1 { "is" } else { "are" }
        ),
        Warning::LatencyMismatch { packets, trusted } => {
            let (are, they) = if *packets == 1 { ("latency is", "it was") } else { ("latencies are", "they were") };
            let taken = if *trusted {
                "used as stated (--trust-latency), instead of the receive time stamps"
            } else {
                "computed again from the time stamps"
            };
            format!("{packets} {are} not received minus sent: {they} {taken}")
        }
        Warning::LatencyNegative { packets } => format!(
            "{packets} raw {} below zero: the receiver's clock is behind the sender's, which normalisation removes",
            if *packets == 1 { "latency is" } else { "latencies are" }
        ),
        Warning::DuplicateLines { lines } => match lines {
            1 => "1 line repeats a sequence number: a duplicate".into(),
            several => format!("{several} lines repeat a sequence number: duplicates"),
        },
        Warning::ReorderedLines { packets } => {
            format!("{} arrived after one with a higher number: reordered", counted(*packets, "packet"))
        }
        Warning::RecordTruncated { byte } => format!("1 partial record at byte {byte} was dropped"),
        Warning::TrailingZeros { bytes } => format!(
            "{} dropped",
            counted_as(*bytes, "byte of zero at the end was", "bytes of zero at the end were")
        ),
        Warning::TimeUnitMismatch { unit_ns, span_s, stated_s } => {
            let unit = Duration::from_nanos(*unit_ns);
            format!(
                "the time stamps span {span_s:.3} s, and by the .sta file beside them the run took {stated_s:.3} s: they seem to be in \
                 units of {unit} and not of 100 ns; `--unit {unit}` states that"
            )
        }
        Warning::TimeUnitSuspected { interval_ns, round_trip_ns } => format!(
            "the file has a packet every {}, with round trips of {}, which no hosts have: its times seem to be in milliseconds or \
             microseconds, and not in nanoseconds; convert the columns to nanoseconds",
            length(*interval_ns),
            length(*round_trip_ns)
        ),
        Warning::TimeUnitAssumed { interval_ns } => format!(
            "assuming time stamps in units of 100 ns, a packet was sent every {}; for another unit, use --unit",
            length(*interval_ns)
        ),
        Warning::MissingNotLost { not_lost, instrument_drops } => {
            let no_loss = counted_as(*not_lost, "missing number is no loss", "missing numbers are no losses");
            let carried = format!(
                "{} delivered to a host that dropped them unread: sent, and neither received nor lost",
                counted_as(*instrument_drops, "packet was", "packets were")
            );
            let what = match (not_lost, instrument_drops) {
                (0, _) => carried,
                (_, 0) => no_loss,
                _ => format!("{no_loss}; {carried}"),
            };
            format!("by the .sta file beside it {what}")
        }
        Warning::TimeStampsShifted => {
            "the time stamps were shifted to begin at 0: in nanoseconds they would not fit".into()
        }
        Warning::AlreadyNormalised => {
            "the file is normalised already (a .log, or a .raw that was written so): its smallest latency is 0, and if its skew was \
             removed, none is left to estimate"
                .into()
        }
        Warning::ServerTimeStampsMidpoint => {
            "the server gave one time stamp for arrival and departure, the middle of both".into()
        }
        Warning::DuplicatesNotListed { duplicates } => format!(
            "irtt counted {duplicates} duplicates, which its file does not list: they are not among the packets"
        ),
        Warning::LossDirectionsUnknown { forward, reverse, unnamed, unknown, by_count: true } => {
            let behind = if *unknown > 0 {
                format!("; for {unknown} more, lost after the last reply, the direction is unknown")
            } else {
                String::new()
            };
            format!(
                "by the number of packets that the server received, {forward} {} lost forward and {reverse} in reverse; for {unnamed} \
                 of them it is unknown which (--stats=window or both records it){behind}",
                was(*forward)
            )
        }
        Warning::LossDirectionsUnknown { forward, reverse, unknown, by_count: false, .. } => format!(
            "of {} without a reply, irtt reports {forward} lost forward and {reverse} in reverse; for {unknown} the direction is \
             unknown (the server reports the last 64 packets with each reply, and only with --stats=window or both)",
            counted(forward + reverse + unknown, "packet")
        ),
        Warning::DeparturesComputed { basis: DepartureBasis::Replies, .. } => {
            "the log of ping has the times of replies: a departure is that time less the round trip, and departures of lost packets lie \
             between those of their neighbours"
                .into()
        }
        Warning::DeparturesComputed { basis: DepartureBasis::Statistics, interval_ns } => format!(
            "the log of ping has no time stamps: departures are {} apart, the mean interval of its statistics (ping -D records time \
             stamps)",
            length(*interval_ns)
        ),
        Warning::DeparturesComputed { basis: DepartureBasis::Default, interval_ns } => format!(
            "the log of ping has neither time stamps nor the duration of the run: departures are {} apart, the default of ping; with another \
             interval (ping -i), record time stamps with ping -D",
            length(*interval_ns)
        ),
        Warning::FlowCompared { flow, packets } => {
            format!("the stream is that of UDP packets {flow}: {packets} of them are in both captures")
        }
        Warning::OtherFlows { others, flows } => format!(
            "{others} more {} in both captures: the one with the most packets was used; --flow N chooses among {flows}",
            if *others == 1 { "flow is" } else { "flows are" }
        ),
        Warning::FlowTranslated { flow } => {
            format!("its addresses are translated between the captures: in the second one they are {flow}")
        }
        Warning::AssociationPacketsIgnored { packets } => format!(
            "{} of romer's own sessions without a probe, and not compared",
            counted_as(*packets, "packet is", "packets are")
        ),
        Warning::CaptureTruncated { file } => {
            format!("{file}: its last packet is truncated and not used: 1 truncated")
        }
        Warning::CaptureSnapped { file, packets } => format!(
            "{file}: of {packets} packets only the beginning was captured: packets with equal beginnings are matched in order"
        ),
        Warning::CaptureSorted { file, step_ns } => format!(
            "{file}: its clock was set back by about {} during the capture, and its packets are in order of time: it was sorted since. \
             The order of the other capture was used; packets that only this one has may be off by as much. Use the original capture \
             if possible",
            length(*step_ns)
        ),
        Warning::CaptureEdgesIgnored { packets } => format!(
            "{packets} packets before the first and after the last that both captures have are not compared: the other capture may \
             not have run then"
        ),
        Warning::PacketsIndistinguishable { flow, packets, flow_packets } => format!(
            "{packets} of the {flow_packets} packets {flow} have equal content, so that they cannot be distinguished: they are matched in order, and \
             losses and the delays after a loss may be those of others"
        ),
        _ => String::new(),
    }
}

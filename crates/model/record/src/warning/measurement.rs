//! The warnings of a measurement.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::clock::{EarlyArrivals, OneWayContradiction, SkewUnknown};
use crate::document::replies::{ChecksumErrors, MissingStamps, OtherLength, Rejected};
use crate::event::{EventLocation, RouterReport};
use crate::incomplete::{CutShort, NotLogged};
use crate::note::LogGap;
use crate::probe_direction::ProbeDirection;

crate::warning::family::warnings! {
/// A warning of a measurement.
MeasurementWarning {
    // The run as a whole.
    /// Nothing was measured.
    Error NothingMeasured {
        /// The error.
        reason: String,
    },
    /// The run ended early. Its statistics cover a part of it.
    Warning RunCutShort {
        /// Why it ended.
        cause: CutShort,
    },
    /// No probe was sent. There are no statistics.
    Error NoProbeSent,
    /// The packet log of this host did not store some entries, because its thread had too little processor time or the disk was too
    /// slow. Packets without an entry count neither as sent nor as lost.
    Warning EntriesNotLogged {
        /// The entries by kind.
        entries: Vec<NotLogged>,
    },
    /// No romer answered at the target. The STAMP reflector of that host is measured.
    Note StampReflectorOnly {
        /// The address of the control channel, which did not answer.
        address: String,
        /// The UDP port of the reflector.
        port: u16,
    },

    // What the responder reports.
    /// The responder does not record packets. The direction of a loss is known only if it numbers its replies, and its departures are
    /// stamped before sending.
    Note NoResponderLog {
        /// How it numbers its replies.
        numbering: Numbering,
    },
    /// The responder numbers its replies, which shows the direction of losses.
    Note LossesByReplyNumber(ReplyLosses),
    /// The records of the responder did not arrive completely. Packets without a record count neither as lost nor as received.
    Warning ResponderLogIncomplete {
        /// The packets go one way.
        one_way: bool,
        /// What is missing, and why.
        gaps: Vec<LogGap>,
    },
    /// Datagrams arrived that do not count as packets of this stream.
    Warning DatagramsRejected {
        /// The datagrams by cause.
        rejected: Rejected,
        /// They arrived in a one-way stream.
        one_way: bool,
    },
    /// Replies do not have the length of their requests. Forward and reverse delays are of packets of different sizes.
    Warning ReplyLengthDiffers(OtherLength),
    /// Hosts dropped datagrams of any program with a wrong UDP checksum. Damaged probes among them count as lost.
    Warning ChecksumErrors(ChecksumErrors),
    /// Datagrams of this stream arrived with a sequence number that was not sent: altered on the path, or of another sender.
    Warning SequenceNumbersAltered {
        /// The datagrams.
        datagrams: u64,
    },
    /// Datagrams arrived with the identifier of this session and a wrong tag: truncated or altered on the path. They count as lost.
    Warning SessionTagsWrong {
        /// The datagrams.
        datagrams: u64,
    },

    // Losses.
    /// A kernel dropped datagrams that arrived while romer was stopped or had no processor. They are no losses of the path.
    Warning ReceiveBufferOverflow {
        /// The host.
        side: EventLocation,
        /// Datagrams dropped while the program got no processor time.
        while_stopped: u64,
        /// Datagrams dropped because the program was too slow.
        while_running: u64,
    },
    /// This host dropped probes after it had accepted them, because the next hop did not answer ARP or NDP requests.
    Warning NextHopUnresolved {
        /// The probes.
        probes: u64,
    },
    /// The target reported that nothing listens on the port (ICMP).
    Warning PortUnreachable {
        /// The probes it reported.
        probes: u64,
    },
    /// Routers or the target reported errors about probes (ICMP).
    Warning IcmpErrors {
        /// The reports.
        errors: u64,
        /// The most recent report of a router.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        report: Option<RouterReport>,
    },
    /// A host ignores or limits path MTU discovery, and long packets were lost. Some may be too long for the path.
    Warning PathMtuIgnored {
        /// The host.
        side: EventLocation,
        /// The value of `net.ipv4.ip_no_pmtu_disc`.
        ip_no_pmtu_disc: u32,
        /// It sends replies, not probes.
        replies: bool,
    },
    /// No packet arrived, although shorter packets of other kinds did. The path may drop packets by length.
    Warning AllPacketsLost {
        /// The direction.
        direction: ProbeDirection,
        /// Packets sent.
        packets: u64,
        /// The shortest UDP payload sent, bytes.
        payload_bytes_min: u32,
        /// The longest UDP payload sent, bytes.
        payload_bytes_max: u32,
        /// A UDP payload that is known to arrive, bytes.
        arriving_payload_bytes: u32,
        /// A UDP payload that every path should carry, bytes.
        portable_payload_bytes: u32,
        /// What did arrive.
        evidence: AllLostEvidence,
    },
    /// A host did not send packets. They count neither as sent nor as lost.
    Warning PacketsNotSent {
        /// The host.
        side: EventLocation,
        /// The packets.
        packets: u64,
        /// They are replies, not probes.
        replies: bool,
    },

    // Marks of packets.
    /// The path or the reflector changed the code point.
    Warning DscpRewritten {
        /// The direction; `round_trip` if the reflector may have done it.
        direction: ProbeDirection,
        /// The code point sent.
        from: String,
        /// The code point received.
        to: String,
        /// Packets received with it.
        packets: u64,
        /// Packets received that were sent with the former.
        received: u64,
    },
    /// The path changed the ECN bits. `ce` is congestion marked by a queue.
    Note EcnRewritten {
        /// The direction.
        direction: ProbeDirection,
        /// The ECN codepoint sent.
        from: String,
        /// The ECN codepoint received.
        to: String,
        /// Packets received with it.
        packets: u64,
        /// Packets received that were sent with the former.
        received: u64,
    },

    // Time stamps.
    /// Time stamps of network cards were requested, and these moments have none, or fewer than half. Delays include more than the
    /// wire.
    Warning NicTimeStampsUnavailable {
        /// The moments.
        moments: Vec<StampMoment>,
    },
    /// Some time stamps of network cards are missing. The kernel's are used for these packets.
    Note NicTimeStampsMissing(MissingStamps),
    /// Some time stamps are missing. The packets may have been lost.
    Warning TimeStampsMissing(MissingStamps),
    /// A network card delayed packets and delivered them together (interrupt coalescing). Their kernel time stamps are late.
    Warning InterruptCoalescing {
        /// The host.
        side: EventLocation,
        /// Packets that were delayed.
        packets: u64,
        /// Packets that arrived.
        arrivals: u64,
        /// The longest delay, nanoseconds.
        longest_ns: i64,
    },
    /// Packets arrived and have no delay, because a time stamp is missing.
    Warning DelayMissing {
        /// The direction.
        direction: ProbeDirection,
        /// Packets without a delay.
        packets: u64,
        /// Packets that arrived.
        arrived: u64,
        /// romer measured them: the host that stamps may have had too little processor time.
        live: bool,
        /// Their shares in tenths of the run, if these differ: the delays may not represent the whole run.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        uneven: Option<Uneven>,
    },
    /// The time stamps of the responder never change. There are no one-way delays, and round trips include its processing time.
    Warning ResponderTimeStampsConstant {
        /// They are zero: it sends none.
        zero: bool,
    },
    /// The time stamps of the responder have the wrong unit. There are no one-way delays, and round trips include its processing time.
    Warning ResponderTimeStampsWrongUnit {
        /// The unit.
        unit: FalseUnit,
    },
    /// Replies arrived before their probes left, by the sender's own time stamps. Their time stamps are discarded, and they have no delay.
    Warning RepliesBeforeDeparture {
        /// The replies.
        replies: u64,
        /// Replies that were compared.
        compared: u64,
        /// The number of the first packet.
        first_sequence: u64,
        /// The longest time by which one arrived early, nanoseconds.
        most_ns: i64,
    },
    /// Some replies have no time stamps of the responder. They have no one-way delays.
    Warning ResponderTimeStampsAbsent {
        /// The replies.
        replies: u64,
        /// The number of the first packet.
        first_sequence: u64,
    },
    /// Time stamps of the responder contradict causality and are discarded.
    Warning ResponderTimeStampsContradictory {
        /// All of them are discarded.
        all_discarded: bool,
        /// Replies that were compared.
        compared: u64,
        /// Replies with discarded time stamps.
        replies: u64,
        /// The number of the first packet.
        first_sequence: u64,
        /// The contradictions.
        contradictions: Vec<Contradiction>,
    },
    /// Round-trip delays include the processing time of the responder.
    Note ResponderTimeIncluded {
        /// Its arrivals have time stamps.
        arrivals_stamped: bool,
        /// Its departures have time stamps.
        departures_stamped: bool,
        /// Reverse delays include it too.
        in_reverse: bool,
        /// What would give the missing time stamps, for a file.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        remedy: Option<StampsRemedy>,
    },
    /// Time stamps are multiples of a unit that is not small compared with the delays. Each delay is known to this
    /// unit, and the confidence intervals of delays and of their variation include it.
    Note TimeStampsCoarse {
        /// The unit, nanoseconds.
        resolution_ns: i64,
    },
    /// Round-trip delays are below zero: a clock was set, or the time stamps are of other moments. They are in the statistics.
    Error RoundTripsNegative {
        /// The round trips.
        packets: u64,
    },

    // Hosts.
    /// A packet left the host long after romer had sent it, as during address resolution. Packets sent in the meantime left in a burst.
    Warning DepartureHeldByHost {
        /// The host.
        side: EventLocation,
        /// The time, nanoseconds.
        late_ns: i64,
    },
    /// A packet was sent long after its scheduled time. Packets due in the meantime left in a burst.
    Warning DepartureLate {
        /// The host.
        side: EventLocation,
        /// The time, nanoseconds.
        late_ns: i64,
    },
    /// Probes waited at the responder. The time is in no delay.
    Warning ResponderSlow {
        /// The probes.
        probes: u64,
        /// The longest time, nanoseconds.
        longest_ns: i64,
        /// The number of that packet.
        sequence: u64,
        /// When that packet was sent, nanoseconds after the first; absent if unknown.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        sent_ns: Option<i64>,
        /// Why.
        cause: ResponderDelayCause,
        /// The longest time that the responder got no processor time, nanoseconds.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        stopped_ns: Option<i64>,
        /// The responder runs on the host that sends.
        same_host: bool,
    },
    /// Findings were searched in the first part of the run only.
    Note FindingsLimited {
        /// Delays that were searched.
        searched: u64,
        /// All delays.
        delays: u64,
        /// Where the search ended, nanoseconds after the start.
        until_ns: i64,
    },

    // Clocks.
    /// The offset of the two clocks is unknown. One-way delays are differences from the smallest one.
    Note ClockOffsetUnknown,
    /// The skew of the two clocks is unknown and not removed from one-way delays.
    Warning ClockSkewIncluded,
    /// The skew of the two clocks could not be estimated.
    Warning SkewNotIdentifiable {
        /// Why.
        #[serde(flatten)]
        unknown: SkewUnknown,
        /// One-way delays include the skew.
        skew_included: bool,
    },
    /// The minimum delays of both directions move in opposite directions, as a clock moves them, and no correction removes it.
    Warning ClockMovementIncluded {
        /// The range of half their difference, nanoseconds: one-way delays include it.
        movement_ns: i64,
    },
    /// One-way delays exceed their round-trip delays and are not given.
    Error OneWayDelaysRefused(OneWayContradiction),
    /// The one-way time stamps of the responder are refused, so that they give no order of the packets.
    Note OrderUnknown {
        /// The order in reverse is known, by the numbers of the replies.
        forward_only: bool,
    },
    /// Packets of one direction took less time than those before and after them. They are too many for single false time stamps, and
    /// count with their delays.
    Warning PacketsTooQuick {
        /// The direction.
        direction: ProbeDirection,
        /// The packets.
        packets: u64,
        /// Packets that were compared.
        compared: u64,
        /// The number of the first.
        first_sequence: u64,
        /// By how much they took less time at most, nanoseconds.
        max_ns: i64,
    },
    /// The time stamps of single packets of one direction contradict those of the packets before and after and are discarded. These
    /// packets have no delay and no place in the order.
    Warning EarlyTimeStampsDiscarded {
        /// The direction.
        direction: ProbeDirection,
        /// The packets.
        packets: u64,
        /// Packets that were compared.
        compared: u64,
        /// The number of the first.
        first_sequence: u64,
        /// By how much they took less time at most, nanoseconds.
        max_ns: i64,
    },
    /// All packets were for calibration. Nothing was measured.
    Error CalibrationLeavesNothing,
    /// By one clock some packets arrived before they left. These have no one-way delay.
    Warning EarlyArrivalsDiscarded(EarlyArrivals),
    /// `--one-clock` is not used: by one clock many packets arrived before they left.
    Warning OneClockContradicted(EarlyArrivals),
    /// The time stamps of both files may be of one clock. `--one-clock` gives absolute one-way delays.
    Note OneClockPossible,
    /// More calibration packets are stated than were sent. All packets are used.
    Warning CalibrationPacketsMissing {
        /// Packets stated (`--calibration`).
        stated: u64,
        /// Packets sent.
        sent: u64,
    },
    /// The first windows dominate the weighted mean of the method. A shorter window gives a more certain skew.
    Warning SkewWindowsFew {
        /// The length of a window, nanoseconds.
        window_ns: i64,
        /// Windows in the run.
        windows: i64,
        /// The weight of the first window.
        first_weight_ratio: f64,
    },
    /// The minimum delay of a direction moves. The estimate of the clocks uses the other direction alone.
    Note SkewByOneDirection {
        /// The direction that is not used.
        direction: ProbeDirection,
        /// The share of the time during which its minimum delay moves.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        moving_ratio: Option<f64>,
        /// The drift of its minimum delay, ppm.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        drift_ppm: Option<f64>,
    },
    /// A change in one direction may be of the path or of a clock, because delays in the other vary as much.
    Warning ChangeAmbiguous {
        /// The possible error of later delays, nanoseconds.
        delay_error_ns: i64,
    },
    /// Delays of one direction change near an end of the run, without packets of the other that show whether a clock did.
    Warning ChangeAmbiguousAtEnd {
        /// The possible error of delays, nanoseconds.
        delay_error_ns: i64,
    },
    /// Delays of one direction drift at an end of the run. It may be the path or a clock.
    Warning DriftAmbiguousAtEnd {
        /// The possible error of delays, nanoseconds.
        delay_error_ns: i64,
    },
    /// Clock steps were compensated with a limited precision.
    Note StepCompensationUncertain {
        /// The error of delays after a step (95 %), nanoseconds.
        delay_error_ns: i64,
    },
    /// A clock was set during the run. Time stamps close to that moment are discarded, the others are corrected.
    Note ClockStepStampsDiscarded {
        /// The time stamps.
        stamps: u64,
    },
    /// Round trips were under way when a clock was set. The step is removed.
    Note ClockStepUnderWay {
        /// The round trips.
        packets: u64,
    },
    /// The stated minimum delay of a direction (`--path-minimum`) cannot narrow the offset bounds, because only one direction has
    /// packets.
    Note PathMinimumUnused,
    /// The stated minimum delay of a direction (`--path-minimum`) exceeds a measured delay and is not used.
    Warning PathMinimumContradicted {
        /// The stated delay, nanoseconds.
        stated_ns: i64,
        /// The direction with the smaller delay; `both` if their sum is too small.
        direction: ProbeDirection,
        /// That delay, or the sum of both, nanoseconds.
        measured_ns: i64,
    },

    // Calibration.
    /// The stored calibration is not used.
    Warning CalibrationNotUsed(CalibrationUnused),
    /// The stored calibration has no values for these sources of time stamps.
    Warning CalibrationSourceMissing {
        /// The baseline was to be subtracted.
        subtract: bool,
    },
    /// Delays are below the subtracted baseline, and negative: the machine has changed since `romer calibrate`.
    Warning BaselineExceedsDelays {
        /// The delays.
        delays: u64,
    },
    /// The baseline is not subtracted from one-way delays, which are differences from the smallest one.
    Note BaselineRoundTripsOnly {
        /// There are round trips, from which it is subtracted.
        round_trips: bool,
    },

    // Files.
    /// Sequence numbers are missing in the file. They count neither as sent nor as lost.
    Warning SequenceGaps {
        /// The numbers.
        missing: u64,
    },
    /// All delays drop at once, and packets before are overtaken: the path became shorter, or the receiver's clock was
    /// stepped backward.
    Warning DelayDropReorders {
        /// When, nanoseconds after the start.
        at_ns: i64,
        /// By how much, nanoseconds.
        drop_ns: i64,
        /// Packets that are out of order by it.
        packets: u64,
    },
    /// Columns of the file are not used.
    Note ColumnsIgnored {
        /// Their names; the first ones, if there are many.
        columns: Vec<String>,
        /// Further columns.
        more: u64,
    },
    /// Time stamps of 0 or -1 are no times of that clock, and count as missing.
    Warning PlaceholderTimeStamps {
        /// The column.
        column: String,
        /// The time stamps.
        stamps: u64,
        /// The line of the first.
        first_line: u64,
        /// The packets count as lost: it is the last time stamp of a packet.
        lost: bool,
    },
    /// The seconds of NTP overflowed (2^32 s). Time stamps were moved by 136 years.
    Note NtpEraUnwrapped {
        /// The time stamps.
        stamps: u64,
    },
    /// Sequence numbers overflowed, or count in steps. They are renumbered.
    Note SequenceNumbersRenumbered {
        /// The width of the counter that overflowed, bits.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        counter_bits: Option<u32>,
        /// The step of the counter.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        step: Option<u64>,
    },
    /// A pause exceeds the rest of the file. Two runs may be joined there.
    Warning LongPause {
        /// The pause, nanoseconds.
        pause_ns: i64,
        /// The line before it.
        before_line: u64,
        /// The line after it.
        after_line: u64,
    },
    /// No time stamp has more significant digits than a spreadsheet stores.
    Warning DigitsTruncated {
        /// The digits.
        digits: u32,
    },
    /// Packets are in flight or unknown by the file. They count neither as sent nor as lost.
    Note FateUnknown {
        /// The packets.
        packets: u64,
    },
    /// A host dropped packets unread by the file. They count as sent, and neither as received nor as lost.
    Note UnreadPackets {
        /// The packets.
        packets: u64,
    },
    /// The file ends within a line, which is not used.
    Warning LastLineTruncated {
        /// The line.
        line: u64,
    },
    /// The file does not end with a line end. The last line is used, and may be truncated.
    Warning LastLineUnterminated {
        /// The line.
        line: u64,
        /// Its last field is empty.
        empty_field: bool,
    },
    /// The clock of a host was stepped backward, which remains in the time stamps.
    Warning ClockSteppedBack {
        /// The host.
        side: EventLocation,
        /// The line.
        line: u64,
        /// The size, nanoseconds.
        size_ns: i64,
    },
    /// Dummy entries represent lost packets.
    Note DummyEntries {
        /// The entries.
        entries: u64,
    },
    /// Latencies in the file are not received minus sent.
    Warning LatencyMismatch {
        /// The latencies.
        packets: u64,
        /// They are used, instead of the receive time stamps (`--trust-latency`).
        trusted: bool,
    },
    /// Latencies in the file are below zero: the clock of the receiver is behind.
    Note LatencyNegative {
        /// The latencies.
        packets: u64,
    },
    /// Lines repeat a sequence number: duplicates.
    Note DuplicateLines {
        /// The lines.
        lines: u64,
    },
    /// Packets arrived after one with a higher number: reordered.
    Note ReorderedLines {
        /// The packets.
        packets: u64,
    },
    /// A partial record at the end of the file is not used.
    Warning RecordTruncated {
        /// Its first byte.
        byte: u64,
    },
    /// Zero bytes at the end of the file are not used.
    Note TrailingZeros {
        /// The bytes.
        bytes: u64,
    },
    /// The duration or rate in the `.sta` file gives another unit of the time stamps than 100 ns. `--unit` states it.
    Warning TimeUnitMismatch {
        /// That unit, nanoseconds.
        unit_ns: i64,
        /// The span of the time stamps in units of 100 ns, seconds.
        span_s: f64,
        /// The duration by the `.sta` file, seconds.
        stated_s: f64,
    },
    /// Nothing in the files confirms that the unit of the time stamps is 100 ns.
    Note TimeUnitAssumed {
        /// The packet interval with that unit, nanoseconds.
        interval_ns: i64,
    },
    /// Missing numbers are no losses by the `.sta` file.
    Note MissingNotLost {
        /// Numbers that are missing and not lost.
        not_lost: u64,
        /// Packets that a host dropped unread.
        unread: u64,
    },
    /// Time stamps were moved to begin at 0, because they do not fit in nanoseconds.
    Note TimeStampsShifted,
    /// The file is normalised already: its smallest latency is 0.
    Note AlreadyNormalised,
    /// irtt gives one server time stamp for arrival and departure.
    Note ServerTimeStampsMidpoint,
    /// irtt counted duplicates that are not in its file.
    Note DuplicatesNotListed {
        /// The duplicates.
        duplicates: u64,
    },
    /// The direction of some losses is unknown in the file of irtt.
    Note LossDirectionsUnknown {
        /// Packets lost forward.
        forward: u64,
        /// Packets lost in reverse.
        reverse: u64,
        /// Of these, packets whose number is unknown.
        unnamed: u64,
        /// Losses of an unknown direction.
        unknown: u64,
        /// The numbers follow from the count of packets that the server received.
        by_count: bool,
    },

    // Captures.
    /// The flow that was compared in two captures.
    Note FlowCompared {
        /// The flow.
        flow: String,
        /// Packets in both captures.
        packets: u64,
    },
    /// Both captures have more flows. The one with the most packets was used.
    Note OtherFlows {
        /// The other flows.
        others: u64,
        /// All flows, numbered.
        flows: String,
    },
    /// The addresses of the flow are translated between the captures.
    Note FlowTranslated {
        /// The flow in the second capture.
        flow: String,
    },
    /// Packets of romer's sessions that carry no probe are not compared.
    Note AssociationPacketsIgnored {
        /// The packets.
        packets: u64,
    },
    /// The last packet of a capture is truncated, and not used.
    Warning CaptureTruncated {
        /// The file.
        file: String,
    },
    /// A capture has only the beginning of packets. Packets with equal beginnings are matched in order.
    Warning CaptureSnapped {
        /// The file.
        file: String,
        /// The packets.
        packets: u64,
    },
    /// The clock of a capture was stepped backward, and the capture was sorted by time afterwards. The order of the
    /// other capture was used.
    Warning CaptureSorted {
        /// The file.
        file: String,
        /// The size of the clock step, nanoseconds.
        step_ns: i64,
    },
    /// Packets before the first and after the last that both captures have are not compared.
    Note CaptureEdgesIgnored {
        /// The packets.
        packets: u64,
    },
    /// Packets of a flow have equal content, and are matched in order.
    Warning PacketsIndistinguishable {
        /// The flow.
        flow: String,
        /// Packets with equal content.
        packets: u64,
        /// Packets of the flow.
        of: u64,
    },
}
}

/// How a reflector numbers its replies.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Numbering {
    /// No reply arrived, or one had no number.
    Untold,
    /// Each reply has the number of its probe.
    Ours,
    /// It counts them.
    Own,
    /// By itself, but not as one that counts the replies of this stream does.
    Senseless,
}

/// The losses of each direction, by the numbers of the replies.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ReplyLosses {
    /// Probes without a reply.
    pub missing: u64,
    /// Packets lost forward, or not answered.
    pub forward: u64,
    /// That number is exact; otherwise it is a minimum.
    pub forward_exact: bool,
    /// Replies lost in reverse.
    pub reverse: u64,
    /// That number is exact; otherwise it is a minimum.
    pub reverse_exact: bool,
    /// Lost packets: their number in each direction is known, but not which they are.
    pub unnamed: u64,
    /// Lost packets of unknown direction.
    pub unknown: u64,
    /// Copies of probes that arrived.
    pub copies: u64,
    /// How often the count of the responder started anew.
    pub restarts: u64,
}

/// What shows that the path carries short packets.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", tag = "kind")]
pub enum AllLostEvidence {
    /// The search for the route was answered.
    RouteSearch,
    /// The control connection worked.
    ControlConnection {
        /// The largest TCP segment it uses, bytes.
        segment_bytes: u32,
    },
}

/// A moment at which a packet is stamped.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum StampMoment {
    /// Departure at the sender (t1).
    SenderDeparture,
    /// Arrival at the responder (t2).
    ResponderArrival,
    /// Departure at the responder (t3).
    ResponderDeparture,
    /// Arrival at the sender (t4).
    SenderArrival,
}

/// Shares of packets in tenths of a run.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Uneven {
    /// The smallest share.
    pub min_ratio: f64,
    /// The largest share.
    pub max_ratio: f64,
}

/// A unit that takes the place of the right one in the part of a second.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum FalseUnit {
    /// Microseconds in place of fractions of 2^-32 s.
    Microseconds,
    /// Microseconds in place of nanoseconds.
    MicrosecondsForNanoseconds,
    /// Nanoseconds in place of fractions of 2^-32 s: PTP time stamps without the Z bit of the error estimate.
    Nanoseconds,
}

/// A contradiction of the time stamps of a reply.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", tag = "kind")]
pub enum Contradiction {
    /// The reply left before the request came (t3 before t2).
    ReplyBeforeRequest {
        /// The replies.
        replies: u64,
        /// The largest contradiction, nanoseconds.
        most_ns: i64,
    },
    /// The request stayed at the responder for longer than the round trip (t3-t2 above t4-t1).
    StayAboveRoundTrip {
        /// The replies.
        replies: u64,
        /// The largest contradiction, nanoseconds.
        most_ns: i64,
    },
    /// A one-way delay is below those of neighbouring probes, and the round-trip delay is not.
    OneWayBelowNeighbours {
        /// The replies.
        replies: u64,
        /// The largest contradiction, nanoseconds.
        most_ns: i64,
    },
}

/// Why probes waited at a responder.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum ResponderDelayCause {
    /// It was stopped, or its host had no processor for it.
    Stopped,
    /// It was, and it also lagged.
    StoppedAndBehind,
    /// It ran, and was behind: still busy, or with too little processor time.
    Behind,
    /// It received more than it could process.
    Overloaded,
    /// Stopped or behind.
    Unknown,
}

/// What would give the time stamps that a file lacks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum StampsRemedy {
    /// The columns t2_ns and t3_ns.
    Csv,
    /// `irtt client --tstamp=both`.
    Irtt,
}

/// Why a calibration is not used.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", tag = "reason")]
pub enum CalibrationUnused {
    /// It cannot be read.
    Unreadable {
        /// The error.
        error: String,
    },
    /// It is of another host.
    OtherHost {
        /// That of the calibration.
        calibrated: String,
        /// That of now.
        current: String,
    },
    /// It is of another kernel.
    OtherKernel {
        /// That of the calibration.
        calibrated: String,
        /// That of now.
        current: String,
    },
    /// It is of another clock source.
    OtherClockSource {
        /// That of the calibration.
        calibrated: String,
        /// That of now.
        current: String,
    },
    /// It is of another number of processors.
    OtherProcessors {
        /// That of the calibration.
        calibrated: u32,
        /// That of now.
        current: u32,
    },
    /// It is of another version of romer.
    OtherVersion {
        /// That of the calibration.
        calibrated: String,
        /// That of now.
        current: String,
    },
}

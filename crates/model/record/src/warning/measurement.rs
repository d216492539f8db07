//! The warnings of a measurement.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::clock::{EarlyArrivals, OneWayContradiction, SkewUnknown, SynchronisationContradiction};
use super::stamps::{Contradiction, DepartureBasis, FalseUnit, StampMoment, StampsRemedy, Uneven};
use crate::document::replies::{ChecksumErrors, MissingStamps, OtherLength, Rejected};
use crate::event::{EventLocation, RouterReport};
use crate::incomplete::{EarlyEnd, NotLogged};
use crate::note::LogGap;
use crate::probe_direction::ProbeDirection;

crate::warning::family::warnings! {
/// A warning of a measurement.
MeasurementWarning {
    // The run as a whole.
    /// Nothing was measured.
    Error NothingMeasured {
        /// Reason.
        reason: String,
    },
    /// The run ended early. Its statistics cover a part of it.
    Warning RunCutShort {
        /// Reason.
        cause: EarlyEnd,
    },
    /// No probe was sent. There are no statistics.
    Error NoProbeSent,
    /// The packet log of this host did not store some entries, because its thread had too little processor time or the disk was too
    /// slow. Packets without an entry count neither as sent nor as lost.
    Warning EntriesNotLogged {
        /// Missing entries by kind.
        entries: Vec<NotLogged>,
    },
    /// No romer answered at the target. The STAMP reflector of that host is measured.
    Note StampReflectorOnly {
        /// Address of the control channel, which did not answer.
        address: String,
        /// UDP port of the reflector.
        port: u16,
    },
    /// The identity of the responder was not verified: this was the first contact with it. Another host could have answered.
    Note ResponderNotVerified {
        /// Name of the responder among the known peers.
        name: String,
        /// Fingerprint of its key: `sha256:` and 64 hexadecimal digits.
        fingerprint: String,
        /// Whether its key is saved, so that a change will be detected.
        saved: bool,
    },

    // What the responder reports.
    /// The responder does not record packets. The direction of a loss is known only if it numbers its replies, and its departures are
    /// stamped before sending.
    Note NoResponderLog {
        /// Numbering of its replies.
        numbering: Numbering,
    },
    /// The responder numbers its replies, which shows the direction of losses.
    Note LossesByReplyNumber(ReplyLosses),
    /// Some records of the responder are missing. Packets without a record count neither as lost nor as
    /// received.
    Warning ResponderLogIncomplete {
        /// Whether the probes are one-way.
        one_way: bool,
        /// Missing records and reasons.
        gaps: Vec<LogGap>,
    },
    /// Datagrams arrived that do not count as packets of this stream.
    Warning DatagramsRejected {
        /// Number of datagrams by cause.
        rejected: Rejected,
        /// Whether the probes are one-way.
        one_way: bool,
    },
    /// Replies do not have the length of their requests. Forward and reverse delays are of packets of different sizes.
    Warning ReplyLengthDiffers(OtherLength),
    /// Hosts dropped datagrams of any program with a wrong UDP checksum. Damaged probes among them count as lost.
    Warning ChecksumErrors(ChecksumErrors),
    /// Damaged probes of the forward direction were not counted, though that was requested (`--checksum header`).
    Warning DamageUncounted,
    /// Datagrams of this stream arrived with a sequence number that was not sent: altered on the path, or of another sender.
    Warning SequenceNumbersAltered {
        /// Number of datagrams.
        datagrams: u64,
    },
    /// Datagrams arrived with the identifier of this session and a wrong tag: truncated or altered on the path. They count as lost.
    Warning SessionTagsWrong {
        /// Number of datagrams.
        datagrams: u64,
    },

    // Losses.
    /// A kernel dropped datagrams that arrived while romer was stopped or had no processor. They are no losses of the path.
    Warning ReceiveBufferOverflow {
        /// Host that dropped them.
        location: EventLocation,
        /// Number of datagrams dropped while the program got no processor time.
        while_stopped: u64,
        /// Number of datagrams dropped because the program was too slow.
        while_running: u64,
    },
    /// This host dropped probes after it had accepted them, because the next hop did not answer ARP or NDP requests.
    Warning NextHopUnresolved {
        /// Number of dropped probes.
        probes: u64,
    },
    /// The target reported that nothing listens on the port (ICMP).
    Warning PortUnreachable {
        /// Number of reported probes.
        probes: u64,
    },
    /// Routers or the target reported errors about probes (ICMP).
    Warning IcmpErrors {
        /// Number of reports.
        errors: u64,
        /// Most recent report of a router.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        report: Option<RouterReport>,
    },
    /// A host ignores or limits path MTU discovery, and long packets were lost. Some may be too long for the path.
    Warning PathMtuIgnored {
        /// Host.
        location: EventLocation,
        /// Value of `net.ipv4.ip_no_pmtu_disc` on that host.
        ip_no_pmtu_disc: u32,
        /// Whether that host sends replies; otherwise probes.
        replies: bool,
    },
    /// No packet arrived, although shorter packets of other kinds did. The path may drop packets by length.
    Warning AllPacketsLost {
        /// Direction.
        direction: ProbeDirection,
        /// Number of sent packets.
        packets: u64,
        /// Shortest UDP payload sent, bytes.
        payload_bytes_min: u32,
        /// Longest UDP payload sent, bytes.
        payload_bytes_max: u32,
        /// Length of a UDP payload that is known to arrive, bytes.
        arriving_payload_bytes: u32,
        /// Length of a UDP payload that every path should carry, bytes.
        portable_payload_bytes: u32,
        /// Evidence that shorter packets arrive.
        evidence: AllLostEvidence,
    },
    /// A host did not send packets. They count neither as sent nor as lost.
    Warning PacketsNotSent {
        /// Host.
        location: EventLocation,
        /// Number of packets that were not sent.
        packets: u64,
        /// Whether they are replies; otherwise probes.
        replies: bool,
    },

    // Marks of packets.
    /// The path or the reflector changed the code point.
    Warning DscpRewritten {
        /// Direction; `round_trip` if the reflector may have changed it.
        direction: ProbeDirection,
        /// DSCP sent.
        from: String,
        /// DSCP received.
        to: String,
        /// Number of packets received with the changed DSCP.
        packets: u64,
        /// Number of received packets that were sent with the DSCP `from`.
        received: u64,
    },
    /// The path changed the ECN bits. `ce` is congestion marked by a queue.
    Note EcnRewritten {
        /// The direction.
        direction: ProbeDirection,
        /// ECN codepoint sent.
        from: String,
        /// ECN codepoint received.
        to: String,
        /// Number of packets received with the changed codepoint.
        packets: u64,
        /// Number of received packets that were sent with the codepoint `from`.
        received: u64,
    },

    // Time stamps.
    /// Time stamps of network cards were requested, but fewer than half of the packets have them for these
    /// events. Delays include more than the wire.
    Warning NicTimeStampsUnavailable {
        /// Events without time stamps of network cards.
        stamps: Vec<StampMoment>,
    },
    /// Some time stamps of network cards are missing. The kernel's are used for these packets.
    Note NicTimeStampsMissing(MissingStamps),
    /// Some time stamps are missing. The packets may have been lost.
    Warning TimeStampsMissing(MissingStamps),
    /// A network card delayed packets and delivered them together (interrupt coalescing). Their kernel time stamps are late.
    Warning InterruptCoalescing {
        /// Receiving host.
        location: EventLocation,
        /// Number of delayed packets.
        packets: u64,
        /// Number of packets that arrived.
        arrivals: u64,
        /// Longest added delay, nanoseconds.
        longest_ns: i64,
    },
    /// Received packets have no delay, because a time stamp is missing.
    Warning DelayMissing {
        /// The direction.
        direction: ProbeDirection,
        /// Number of packets without a delay.
        packets: u64,
        /// Number of packets that arrived.
        arrived: u64,
        /// Whether the packets are of a run of romer, not of a file: the host that takes the time stamps may
        /// have had too little processor time.
        live: bool,
        /// Share of packets without a delay in tenths of the run, if it varies: the delays may not represent
        /// the whole run.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        uneven: Option<Uneven>,
    },
    /// The time stamps of the responder never change. There are no one-way delays, and round trips include its processing time.
    Warning ResponderTimeStampsConstant {
        /// Whether they are zero: the responder sends none.
        zero: bool,
    },
    /// The time stamps of the responder have the wrong unit. There are no one-way delays, and round trips include its processing time.
    Warning ResponderTimeStampsWrongUnit {
        /// Unit of the time stamps.
        unit: FalseUnit,
    },
    /// Replies arrived before the departure of their probes, by the initiator's own time stamps. These time
    /// stamps are discarded, and the probes have no delay.
    Warning RepliesBeforeDeparture {
        /// Number of such replies.
        replies: u64,
        /// Number of compared replies.
        compared: u64,
        /// Sequence number of the first such packet.
        first_sequence: u64,
        /// Largest time between arrival and later departure, nanoseconds.
        max_ns: i64,
    },
    /// Some replies have no time stamps of the responder, and thus no one-way delays.
    Warning ResponderTimeStampsAbsent {
        /// Number of such replies.
        replies: u64,
        /// Sequence number of the first such packet.
        first_sequence: u64,
    },
    /// Time stamps of the responder contradict causality and are discarded.
    Warning ResponderTimeStampsContradictory {
        /// Whether all of them are discarded.
        all_discarded: bool,
        /// Number of compared replies.
        compared: u64,
        /// Number of replies with discarded time stamps.
        replies: u64,
        /// Sequence number of the first such packet.
        first_sequence: u64,
        /// Contradictions by kind.
        contradictions: Vec<Contradiction>,
    },
    /// Round-trip delays include the processing time of the responder.
    Note ResponderTimeIncluded {
        /// Whether its arrivals have time stamps (t2).
        arrivals_stamped: bool,
        /// Whether its departures have time stamps (t3).
        departures_stamped: bool,
        /// Whether reverse delays include it too.
        in_reverse: bool,
        /// Remedy for the missing time stamps of a file.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        remedy: Option<StampsRemedy>,
    },
    /// The resolution of the time stamps is not small compared with the delays. Each delay is known to this
    /// resolution, and the confidence intervals of delays and of their variation include it.
    Note TimeStampsCoarse {
        /// Resolution of the time stamps, nanoseconds.
        resolution_ns: i64,
    },
    /// Round-trip delays are below zero: a clock was set, or the time stamps are of other events. They are
    /// included in the statistics.
    Error RoundTripsNegative {
        /// Number of such round trips.
        packets: u64,
    },

    // Hosts.
    /// A packet left the host long after romer had sent it, for example because of address resolution.
    /// Packets sent meanwhile left in a burst.
    Warning DepartureHeldByHost {
        /// Sending host.
        location: EventLocation,
        /// Time between sending and departure, nanoseconds.
        late_ns: i64,
    },
    /// A packet was sent long after its scheduled time. Packets scheduled meanwhile left in a burst.
    Warning DepartureLate {
        /// Sending host.
        location: EventLocation,
        /// Time after the schedule, nanoseconds.
        late_ns: i64,
    },
    /// Probes waited at the responder. The waiting time is excluded from the delays.
    Warning ResponderSlow {
        /// Number of probes that waited.
        probes: u64,
        /// Longest wait, nanoseconds.
        longest_ns: i64,
        /// Sequence number of the packet with the longest wait.
        sequence: u64,
        /// Departure of that packet, nanoseconds after the first; absent if unknown.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        sent_ns: Option<i64>,
        /// Cause of the wait.
        cause: ResponderDelayCause,
        /// Longest time in which the responder got no processor time, nanoseconds.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        stopped_ns: Option<i64>,
        /// Whether the responder runs on the host of the initiator.
        same_host: bool,
    },
    /// Only the first part of the run was searched for findings.
    Note FindingsLimited {
        /// Number of searched delays.
        searched: u64,
        /// Number of all delays.
        delays: u64,
        /// End of the searched part, nanoseconds after the start.
        until_ns: i64,
    },

    // Clocks.
    /// The offset of the two clocks is unknown. One-way delays are differences from the smallest one.
    Note ClockOffsetUnknown,
    /// The clocks are stated to be synchronised, and the time stamps contradict it. One-way delays are differences from the smallest
    /// one.
    Warning SynchronisationContradicted {
        /// Stated bound of the difference of the clocks, nanoseconds.
        bound_ns: i64,
        /// Contradiction.
        #[serde(flatten)]
        contradiction: SynchronisationContradiction,
    },
    /// The skew of the two clocks is unknown and not removed from one-way delays.
    Warning ClockSkewIncluded,
    /// The skew of the two clocks could not be estimated.
    Warning SkewNotIdentifiable {
        /// Reason.
        #[serde(flatten)]
        unknown: SkewUnknown,
        /// Whether one-way delays include the skew.
        skew_included: bool,
    },
    /// The minimum delays of both directions move in opposite directions, as a clock moves them, and no correction removes it.
    Warning ClockMovementIncluded {
        /// The range of half their difference, nanoseconds: one-way delays include it.
        movement_ns: i64,
    },
    /// One-way delays exceed their round-trip delays and are not given.
    Error OneWayDelaysRefused(OneWayContradiction),
    /// The one-way time stamps of the responder are rejected, so that the order of the packets is unknown.
    Note OrderUnknown {
        /// Whether the order is unknown in the forward direction only; in reverse, the numbers of the replies
        /// give it.
        forward_only: bool,
    },
    /// Packets of one direction had lower delays than those before and after them. They are too many for
    /// single wrong time stamps, and are included in the statistics.
    Warning PacketsTooQuick {
        /// Direction.
        direction: ProbeDirection,
        /// Number of such packets.
        packets: u64,
        /// Number of compared packets.
        compared: u64,
        /// Sequence number of the first such packet.
        first_sequence: u64,
        /// Largest difference from the neighbouring delays, nanoseconds.
        max_ns: i64,
    },
    /// Time stamps of single packets of one direction contradict those of the packets before and after, and
    /// are discarded. These packets have no delay and no place in the order.
    Warning EarlyTimeStampsDiscarded {
        /// The direction.
        direction: ProbeDirection,
        /// Number of such packets.
        packets: u64,
        /// Number of compared packets.
        compared: u64,
        /// Sequence number of the first such packet.
        first_sequence: u64,
        /// Largest difference from the neighbouring delays, nanoseconds.
        max_ns: i64,
    },
    /// All packets were for calibration. Nothing was measured.
    Error CalibrationLeavesNothing,
    /// By one clock some packets arrived before they left. These have no one-way delay.
    Warning EarlyArrivalsDiscarded(EarlyArrivals),
    /// `--clocks shared` is not used: by one clock many packets arrived before they left.
    Warning OneClockContradicted(EarlyArrivals),
    /// The time stamps of both files may be of one clock. `--clocks shared` gives absolute one-way delays.
    Note OneClockPossible,
    /// More calibration packets are requested than were sent. All packets are used.
    Warning CalibrationPacketsMissing {
        /// Number of requested calibration packets (`--calibration`).
        stated: u64,
        /// Number of sent packets.
        sent: u64,
    },
    /// The first windows dominate the weighted mean of the method. Shorter windows give a more certain skew.
    Warning SkewWindowsFew {
        /// Length of a window, nanoseconds.
        window_ns: i64,
        /// Number of windows in the run.
        windows: i64,
        /// Weight of the first window.
        first_weight_ratio: f64,
    },
    /// The minimum delay of a direction changes. The clocks are estimated from the other direction alone.
    Note SkewByOneDirection {
        /// Direction that is not used.
        direction: ProbeDirection,
        /// Share of the time during which its minimum delay changes.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        moving_ratio: Option<f64>,
        /// Drift of its minimum delay, ppm.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        drift_ppm: Option<f64>,
    },
    /// A change in one direction may be of the path or of a clock, because delays in the other direction vary
    /// as much.
    Warning ChangeAmbiguous {
        /// Possible error of later delays, nanoseconds.
        delay_error_ns: i64,
    },
    /// Delays of one direction change near the start or end of the run, where packets of the other direction
    /// are missing. It may be the path or a clock.
    Warning ChangeAmbiguousAtEnd {
        /// Possible error of delays, nanoseconds.
        delay_error_ns: i64,
    },
    /// Delays of one direction drift near the start or end of the run. It may be the path or a clock.
    Warning DriftAmbiguousAtEnd {
        /// Possible error of delays, nanoseconds.
        delay_error_ns: i64,
    },
    /// Clock steps were compensated with a limited precision.
    Note StepCompensationUncertain {
        /// Error of delays after a step (95 %), nanoseconds.
        delay_error_ns: i64,
    },
    /// A clock was set during the run. Time stamps close to that moment are discarded, the others are corrected.
    Note ClockStepStampsDiscarded {
        /// Number of discarded time stamps.
        stamps: u64,
    },
    /// A clock was set during round trips. The step is removed.
    Note ClockStepUnderWay {
        /// Number of such round trips.
        packets: u64,
    },
    /// The stated minimum delay of a direction (`--path-minimum`) cannot narrow the offset bounds, because only one direction has
    /// packets.
    Note PathMinimumUnused,
    /// The stated minimum delay of a direction (`--path-minimum`) exceeds a measured delay and is not used.
    Warning PathMinimumContradicted {
        /// Stated delay, nanoseconds.
        stated_ns: i64,
        /// Direction with the smaller delay; `both` if the sum of both is too small.
        direction: ProbeDirection,
        /// Measured delay, or sum of both, nanoseconds.
        measured_ns: i64,
    },

    // Calibration.
    /// The stored calibration is not used.
    Warning CalibrationNotUsed(CalibrationUnused),
    /// The stored calibration has no values for these sources of time stamps.
    Warning CalibrationSourceMissing {
        /// Whether the baseline was to be subtracted.
        subtract: bool,
    },
    /// Delays are below the subtracted baseline, and thus negative: the machine has changed since `romer
    /// calibrate`.
    Warning BaselineExceedsDelays {
        /// Number of such delays.
        delays: u64,
    },
    /// The baseline is not subtracted from one-way delays, which are relative to their minimum.
    Note BaselineRoundTripsOnly {
        /// Whether there are round trips, from which it is subtracted.
        round_trips: bool,
    },

    // Files.
    /// Sequence numbers are missing in the file. They count neither as sent nor as lost.
    Warning SequenceGaps {
        /// Number of missing sequence numbers.
        missing: u64,
    },
    /// All delays drop at one time, so that later packets overtake earlier ones: the path became shorter, or
    /// the receiver's clock was set back.
    Warning DelayDropReorders {
        /// Time of the drop, nanoseconds after the start.
        at_ns: i64,
        /// Size of the drop, nanoseconds.
        drop_ns: i64,
        /// Number of packets that it reorders.
        packets: u64,
    },
    /// Columns of the file are not used.
    Note ColumnsIgnored {
        /// Names of the columns; the first ones, if there are many.
        columns: Vec<String>,
        /// Number of columns that are not listed.
        more: u64,
    },
    /// Time stamps of 0 or -1 are no valid times, and count as missing.
    Warning PlaceholderTimeStamps {
        /// Name of the column.
        column: String,
        /// Number of such time stamps.
        stamps: u64,
        /// Line of the first one.
        first_line: u64,
        /// Whether the packets count as lost, because the last time stamp of a packet is missing.
        lost: bool,
    },
    /// The seconds of NTP overflowed (2^32 s). Time stamps were moved by 136 years.
    Note NtpEraUnwrapped {
        /// Number of such time stamps.
        stamps: u64,
    },
    /// Sequence numbers overflowed, or count in steps. They are renumbered.
    Note SequenceNumbersRenumbered {
        /// Width of the counter that overflowed, bits.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        counter_bits: Option<u32>,
        /// Increment of the counter.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        step: Option<u64>,
    },
    /// A pause is longer than the rest of the file. The file may contain two runs.
    Warning LongPause {
        /// Duration of the pause, nanoseconds.
        pause_ns: i64,
        /// Last line before the pause.
        before_line: u64,
        /// First line after the pause.
        after_line: u64,
    },
    /// No time stamp has more significant digits than a spreadsheet stores: digits may be missing.
    Warning DigitsTruncated {
        /// Number of significant digits.
        digits: u32,
    },
    /// The file marks packets as in flight or unknown. They count neither as sent nor as lost.
    Note FateUnknown {
        /// Number of such packets.
        packets: u64,
    },
    /// The file marks packets as dropped unread by a host. They count as sent, and neither as received nor as
    /// lost.
    Note UnreadPackets {
        /// Number of such packets.
        packets: u64,
    },
    /// The file ends within a line, which is not used.
    Warning LastLineTruncated {
        /// Number of the line.
        line: u64,
    },
    /// The file does not end with a line end. The last line is used, and may be truncated.
    Warning LastLineUnterminated {
        /// Number of the line.
        line: u64,
        /// Whether its last field is empty.
        empty_field: bool,
    },
    /// The clock of a host was set back. The step remains in the time stamps.
    Warning ClockSteppedBack {
        /// Host.
        location: EventLocation,
        /// Line of the step.
        line: u64,
        /// Size of the step, nanoseconds.
        size_ns: i64,
    },
    /// Dummy entries represent lost packets.
    Note DummyEntries {
        /// Number of such entries.
        entries: u64,
    },
    /// Latencies in the file are not received minus sent.
    Warning LatencyMismatch {
        /// Number of such latencies.
        packets: u64,
        /// Whether they are used instead of the receive time stamps (`--trust-latency`).
        trusted: bool,
    },
    /// Latencies in the file are below zero: the clock of the receiver is behind.
    Note LatencyNegative {
        /// Number of such latencies.
        packets: u64,
    },
    /// Lines repeat a sequence number: duplicates.
    Note DuplicateLines {
        /// Number of such lines.
        lines: u64,
    },
    /// Packets arrived after one with a higher number: reordered.
    Note ReorderedLines {
        /// Number of such packets.
        packets: u64,
    },
    /// A partial record at the end of the file is not used.
    Warning RecordTruncated {
        /// Position of its first byte.
        byte: u64,
    },
    /// Zero bytes at the end of the file are not used.
    Note TrailingZeros {
        /// Number of zero bytes.
        bytes: u64,
    },
    /// Duration or rate of the `.sta` file imply another unit of the time stamps than 100 ns. `--unit` sets
    /// the unit.
    Warning TimeUnitMismatch {
        /// Implied unit, nanoseconds.
        unit_ns: i64,
        /// Span of the time stamps in units of 100 ns, seconds.
        span_s: f64,
        /// Duration in the `.sta` file, seconds.
        stated_s: f64,
    },
    /// Nothing in the files confirms that the unit of the time stamps is 100 ns.
    Note TimeUnitAssumed {
        /// Packet interval with that unit, nanoseconds.
        interval_ns: i64,
    },
    /// Packets and round trips of a table are closer together than those of any hosts: its times are probably in
    /// milliseconds or microseconds, not in nanoseconds.
    Warning TimeUnitSuspected {
        /// Mean interval between departures in the stated unit, nanoseconds.
        interval_ns: i64,
        /// Mean round trip in the stated unit, nanoseconds.
        round_trip_ns: i64,
    },
    /// The `.sta` file does not count missing numbers as losses.
    Note MissingNotLost {
        /// Number of missing sequence numbers that are not lost.
        not_lost: u64,
        /// Number of packets that a host dropped unread.
        instrument_drops: u64,
    },
    /// Time stamps were moved to begin at 0, because they do not fit in nanoseconds.
    Note TimeStampsShifted,
    /// The file is normalised already: its smallest latency is 0.
    Note AlreadyNormalised,
    /// irtt gives one server time stamp for arrival and departure.
    Note ServerTimeStampsMidpoint,
    /// irtt counted duplicates that are not in its file.
    Note DuplicatesNotListed {
        /// Number of duplicates.
        duplicates: u64,
    },
    /// The direction of some losses is unknown in the file of irtt.
    Note LossDirectionsUnknown {
        /// Packets lost forward.
        forward: u64,
        /// Packets lost in reverse.
        reverse: u64,
        /// Lost packets with a known direction whose sequence numbers are unknown.
        unnamed: u64,
        /// Lost packets of unknown direction.
        unknown: u64,
        /// Whether these numbers follow from the server's count of received packets.
        by_count: bool,
    },

    /// The log of ping has no departures. They are computed.
    Note DeparturesComputed {
        /// What they are computed from.
        basis: DepartureBasis,
        /// Mean time between departures, nanoseconds.
        interval_ns: i64,
    },

    // Captures.
    /// The flow that was compared in two captures.
    Note FlowCompared {
        /// Addresses and ports of the flow.
        flow: String,
        /// Number of packets in both captures.
        packets: u64,
    },
    /// Both captures have more flows. The one with the most packets was used.
    Note OtherFlows {
        /// Number of other flows.
        others: u64,
        /// All flows, numbered.
        flows: String,
    },
    /// The addresses of the flow are translated between the captures.
    Note FlowTranslated {
        /// Addresses and ports of the flow in the second capture.
        flow: String,
    },
    /// Packets of romer's sessions that carry no probe are not compared.
    Note AssociationPacketsIgnored {
        /// Number of such packets.
        packets: u64,
    },
    /// The last packet of a capture is truncated, and not used.
    Warning CaptureTruncated {
        /// Name of the file.
        file: String,
    },
    /// A capture has only the first bytes of packets. Packets with equal first bytes are matched in order.
    Warning CaptureSnapped {
        /// Name of the file.
        file: String,
        /// Number of such packets.
        packets: u64,
    },
    /// A clock was set back during a capture, and the capture was sorted by time afterwards. The order of the
    /// other capture is used.
    Warning CaptureSorted {
        /// Name of the file.
        file: String,
        /// Size of the clock step, nanoseconds.
        step_ns: i64,
    },
    /// Packets before the first and after the last common packet of both captures are not compared.
    Note CaptureEdgesIgnored {
        /// Number of such packets.
        packets: u64,
    },
    /// Packets of a flow have equal contents, and are matched in order.
    Warning PacketsIndistinguishable {
        /// Addresses and ports of the flow.
        flow: String,
        /// Number of packets with equal contents.
        packets: u64,
        /// Number of packets of the flow.
        flow_packets: u64,
    },
}
}

/// Numbering of the replies of a reflector.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Numbering {
    /// Unknown: no reply arrived, or one had no number.
    Unknown,
    /// Each reply has the number of its probe (stateless mode).
    Stateless,
    /// The reflector counts its replies (stateful mode).
    Stateful,
    /// Other numbers, which do not count the replies of this stream.
    Invalid,
}

/// Losses of each direction, from the numbers of the replies.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ReplyLosses {
    /// Number of probes without a reply.
    pub missing: u64,
    /// Number of packets lost forward, or not answered.
    pub forward: u64,
    /// Whether `forward` is exact; otherwise it is a lower bound.
    pub forward_exact: bool,
    /// Number of replies lost in reverse.
    pub reverse: u64,
    /// Whether `reverse` is exact; otherwise it is a lower bound.
    pub reverse_exact: bool,
    /// Number of lost packets with a known direction whose sequence numbers are unknown.
    pub unnamed: u64,
    /// Number of lost packets of unknown direction.
    pub unknown: u64,
    /// Number of duplicate probes that arrived.
    pub copies: u64,
    /// Number of restarts of the responder's reply counter.
    pub restarts: u64,
}

/// Evidence that the path carries short packets.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", tag = "kind")]
pub enum AllLostEvidence {
    /// Route discovery was answered.
    RouteSearch,
    /// The control connection worked.
    ControlConnection {
        /// Largest TCP segment of the connection, bytes.
        segment_bytes: u32,
    },
}

/// Cause of a wait of probes at a responder.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum ResponderDelayCause {
    /// The responder got no processor time.
    Descheduled,
    /// The responder got no processor time, and was also too slow.
    DescheduledAndSlow,
    /// The responder was too slow: busy, or with too little processor time.
    Slow,
    /// The responder received more packets than it could process.
    Overloaded,
    /// The responder got no processor time, or was too slow.
    Unknown,
}

/// Reason why a calibration is not used.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", tag = "reason")]
pub enum CalibrationUnused {
    /// It cannot be read.
    Unreadable {
        /// Error.
        error: String,
    },
    /// It is of another host.
    OtherHost {
        /// Host of the calibration.
        calibrated: String,
        /// Current host.
        current: String,
    },
    /// It is of another kernel.
    OtherKernel {
        /// Kernel of the calibration.
        calibrated: String,
        /// Current kernel.
        current: String,
    },
    /// It is of another clock source.
    OtherClockSource {
        /// Clock source of the calibration.
        calibrated: String,
        /// Current clock source.
        current: String,
    },
    /// It is of another number of processors.
    OtherProcessors {
        /// Number of processors of the calibration.
        calibrated: u32,
        /// Current number of processors.
        current: u32,
    },
    /// It is of another version of romer.
    OtherVersion {
        /// Version of the calibration.
        calibrated: String,
        /// Current version.
        current: String,
    },
}

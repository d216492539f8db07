//! The warnings of an emulation as text.

use romer_record::emulation::PortDirection;
use romer_record::warning::{Absorption, EmulationWarning};
use romer_units::{Duration, counted, counted_as, was};

use crate::sentence::{Text, length, list};

impl Text for EmulationWarning {
    fn text(&self) -> String {
        match self {
            Self::ScenarioEmpty => "the scenario impairs nothing: packets pass unchanged".into(),
            Self::TraceSilent { setting, silence_ns } => format!(
                "{setting}: no packet leaves in the first {} of the recorded link and of each repetition",
                length(*silence_ns)
            ),
            Self::ChainAbsorbed { setting, states, certainty, min_loss_ratio, max_loss_ratio } => {
                absorbed(setting, states, *certainty, min_loss_ratio.zip(*max_loss_ratio))
            }
            Self::QueueShort { setting, queue_bytes } => format!(
                "{setting}: its queue holds {}, so that longer frames are always lost there",
                counted(*queue_bytes, "byte")
            ),
            Self::DelayTruncated { setting, below_zero_ratio } => format!(
                "{setting}: normal distribution truncated at 0 ({:.4} % of it is below)",
                below_zero_ratio * 100.0
            ),
            Self::DelayLimited { setting, above_ratio } => format!(
                "{setting}: {} % of the distribution is above an hour; these packets are delayed by an hour",
                two_digits(above_ratio * 100.0)
            ),
            Self::CorrelationRaised { setting, spacing_ns } => format!(
                "{setting}: packets nearer to each other than {} have more similar delays than requested, because their order is \
                 preserved; order = \"independent\" keeps the correlation and lets packets overtake",
                time_text(*spacing_ns)
            ),
            Self::CorrelationTimeRaised { setting, requested_ns, similar_within_ns } => format!(
                "{setting}: delays within {} are more similar than with a correlation time of {}, because packets keep their order; a \
                 narrower distribution or a longer time avoids this",
                length(*similar_within_ns),
                length(*requested_ns)
            ),
            Self::StateChangesWait { setting } => format!(
                "{setting}: after a state with a longer delay, packets wait for earlier packets. The summary shows the share of these packets"
            ),
            Self::TraceRelative { setting } => format!(
                "{setting}: recorded delays count from the smallest one; `fixed` adds the minimum delay of the path"
            ),
            Self::SeedKept { seed, generator } => {
                format!("the seed stays {seed} ({generator}), that of the start")
            }
            Self::SeedOfStart { seed, scenario_seed } => format!(
                "seed: this run uses {seed} from its start to its end; {scenario_seed} is used when another is started"
            ),
            Self::EarlierScenariosDropped { first_revision } => {
                format!("scenarios before revision {first_revision} are no longer listed")
            }
            Self::ImpairmentsOff { since } => format!(
                "the master switch was off at the end: packets passed unimpaired since {since}; the scenario is the one before that"
            ),
            Self::SummariesReset { since } => {
                format!("delays and gaps are summarised since {since} (reset); counters cover all packets")
            }
            Self::PortHasAddresses { port, addresses } => format!(
                "{port} has addresses of this host ({}): the host answers there itself, bypassing the emulator; remove the addresses, or \
                 use --data-plane xdp",
                addresses.join(", ")
            ),
            Self::LinkDown { port } => {
                format!("the link of {port} is down: packets to it are lost (undeliverable) until it is up")
            }
            Self::LinkWasDown { port, times, total_ns } => {
                let times = if *times == 1 { "once".to_owned() } else { format!("{times} times") };
                format!(
                    "the link of port {port} went down {times}, for {} in total: packets to it were lost (undeliverable)",
                    length(*total_ns)
                )
            }
            Self::MtusDiffer { narrow_port, narrow_mtu_bytes, wide_port, wide_mtu_bytes } => format!(
                "the MTU of {narrow_port} is {narrow_mtu_bytes} bytes, that of {wide_port} is {wide_mtu_bytes}: longer packets from \
                 {wide_port} are lost (oversize)"
            ),
            Self::BridgeNotRestored { port, bridge, command } => format!(
                "cannot restore {port} to bridge {bridge}: one of the two is no longer in the network namespace; to restore it, use \
                 `{command}`"
            ),
            Self::OffloadsNotRestored { port, command } => format!(
                "cannot restore the offloads of {port}: the interface was not found in any network namespace; if it still exists, use \
                 `{command}` in its namespace"
            ),
            Self::BufferShortForFrames { max_queued_bytes, buffer_frames, mean_frame_bytes } => format!(
                "the rates and queues hold up to {max_queued_bytes} bytes, and the buffer has {buffer_frames} frames: if the mean frame size is \
                 below {mean_frame_bytes} bytes, some frames are lost (cause: queue)"
            ),
            Self::BufferShortForDelay { delay_ns, buffer_frames, limit_pps, direction } => {
                let way = direction.map_or_else(
                    || "in each direction".to_owned(),
                    |direction| format!("from {}", leg(direction)),
                );
                format!(
                    "frames are delayed by up to {}, and the buffer has {buffer_frames} frames: above {limit_pps} packets/s {way}, \
                     frames are lost (cause: queue)",
                    length(*delay_ns)
                )
            }
            Self::BufferFull { direction, packets } => format!(
                "{} ({}) found the buffer full: counted as lost (cause: queue), and in no sample",
                counted(*packets, "packet"),
                leg(*direction)
            ),
            Self::SamplesMissing { packets } => format!(
                "{} missing in the samples, because writing was too slow; the counters include all of them",
                counted_as(*packets, "packet is", "packets are")
            ),
            Self::ChartsLimited { shown, more } => format!(
                "the charts show the first {shown} packets and duplicates of each direction; {more} more are in the samples"
            ),
            Self::VarianceInfinite { direction } => format!(
                "{}: the delay distribution has no finite variance (Pareto with shape <= 2): no run is long enough to compare its mean with \
                 the requested one; use the median and other quantiles",
                leg(*direction)
            ),
            Self::CorrelationLong { direction, max_effective_delays } => format!(
                "{}: delays are correlated; the effective sample size of this run is below {max_effective_delays:.0}. The run is too short \
                 to estimate by how much the mean and the standard deviation may deviate from the requested values. A longer run \
                 helps; a higher packet rate does not",
                leg(*direction)
            ),
            Self::FewIndependentDelays {
                direction,
                delays,
                effective_delays,
                mean_error_ns,
                deviation_error_ratio,
            } => few_independent(*direction, *delays, *effective_delays, [*mean_error_ns, *deviation_error_ratio]),
            Self::VariationLimited { direction, width_ns, spacing_ns } => format!(
                "{}: the emulated delays vary less than configured: 80 % of the configured delays span {}. With order = \"exact\", \
                 successive delays differ by at most {}, half the packet interval ({}). For the configured variation, use order = \
                 \"fifo\" (later packets wait) or \"independent\" (packets overtake)",
                leg(*direction),
                time_text(*width_ns),
                time_text(spacing_ns / 2.0),
                time_text(*spacing_ns)
            ),
            Self::FlushedEarly { direction, flushed, displaced } => format!(
                "{}: {flushed} of {displaced} displaced packets ({}) left early, before the drawn number of packets had overtaken them, \
                 because the flush time expired; a longer flush time avoids this",
                leg(*direction),
                part(*flushed, *displaced)
            ),
            Self::SpacingUnsupported { direction, median_ns, limit_ns } => format!(
                "{}: packets are {} apart (median), and the measurement behind the scenario supports {} {}",
                leg(*direction),
                time_text(*median_ns),
                bound(median_ns < limit_ns),
                time_text(*limit_ns)
            ),
            Self::SizeUnsupported { direction, mean_bytes, limit_bytes } => format!(
                "{}: IP packets have {mean_bytes:.0} bytes on average, and the measurement behind the scenario supports {} \
                 {limit_bytes:.0}",
                leg(*direction),
                bound(mean_bytes < limit_bytes),
            ),
            Self::LoadUnsupported { direction, mean_per_s, limit } => format!(
                "{}: the load is {} {} on average, and the measurement behind the scenario supports at most {limit}",
                leg(*direction),
                two_digits(*mean_per_s),
                if limit.ends_with("pps") { "packets/s" } else { "bit/s" }
            ),
            Self::NoArrivals => "no packet arrived: the scenario was not used".into(),
            Self::ArrivalsSorted { packets } => format!(
                "{} sorted by time",
                counted_as(
                    *packets,
                    "arrival was listed after a later one, and was",
                    "arrivals were listed after later ones, and were"
                )
            ),
            Self::ArrivalsWithoutHeaders => {
                "arrivals in CSV have no headers to distinguish flows: all used the top level; a capture has them (--pcapng of a live \
                 emulation)"
                    .into()
            }
            Self::CapturePacketsIgnored { packets } => format!(
                "{} of the capture had no time or {} truncated, and did not arrive",
                counted(*packets, "packet"),
                was(*packets)
            ),
            Self::FramesSegmented { frames, segments, mtu_bytes, largest_bytes } => format!(
                "{} longer than the MTU of {mtu_bytes} bytes (largest {largest_bytes}) {} segmented into {segments}, each as long as the \
                 MTU allows: the original lengths are not in a capture",
                counted(*frames, "frame"),
                was(*frames)
            ),
            Self::FramesAboveMtu { frames, mtu_bytes, largest_bytes } => format!(
                "{} longer than the MTU of {mtu_bytes} bytes (largest {largest_bytes}) {} skipped",
                counted(*frames, "frame"),
                was(*frames)
            ),
        }
    }
}

const fn leg(direction: PortDirection) -> &'static str {
    match direction {
        PortDirection::AToB => "a to b",
        PortDirection::BToA => "b to a",
    }
}

/// A time to three digits.
fn time_text(nanos: f64) -> String {
    Duration::from_nanos_f64(nanos).rounded()
}

#[expect(clippy::cast_precision_loss, reason = "a ratio for people")]
fn part(part: u64, of: u64) -> String {
    format!("{:.1} %", 100.0 * part as f64 / of.max(1) as f64)
}

/// A small number with its first two digits that are not 0.
/// What a limit is to a value on its far side.
const fn bound(is_below: bool) -> &'static str {
    if is_below { "at least" } else { "at most" }
}

fn two_digits(value: f64) -> String {
    let places = (0..12).find(|places| value * 10_f64.powi(*places) >= 10.0).unwrap_or(12);
    let places = usize::try_from(places).unwrap_or(0);
    format!("{value:.places$}")
}

fn absorbed(setting: &str, states: &[usize], certainty: Absorption, losses: Option<(f64, f64)>) -> String {
    let numbers: Vec<String> = states.iter().map(usize::to_string).collect();
    let one = states.len() == 1;
    let named = format!("{} {}", if one { "state" } else { "states" }, list(&numbers));
    let begins = match certainty {
        Absorption::Initial => "the chain begins in",
        Absorption::Possible => "the chain may remain in",
        Absorption::Certain => "the chain eventually remains in",
    };
    let lost = losses.map_or_else(
        || if one { "has random losses".to_owned() } else { "have random losses".to_owned() },
        |(min, max)| {
            let percent = |share: f64| (share * 1e8).round() / 1e6;
            let from = if min < max { format!("{} % to ", percent(min)) } else { String::new() };
            format!("{} {from}{} % of the packets", if one { "loses" } else { "lose" }, percent(max))
        },
    );
    format!("{setting}: {begins} {named}, which it never leaves and which {lost}")
}

fn few_independent(
    direction: PortDirection,
    delays: u64,
    effective: f64,
    [mean_ns, deviation]: [f64; 2],
) -> String {
    let by_chance = format!(
        "By chance the mean may deviate by {} from the requested value, and the standard deviation by {:.0} % (95 % of runs deviate \
         less)",
        time_text(mean_ns),
        (deviation * 100.0).ceil()
    );
    let direction = leg(direction);
    #[expect(clippy::cast_precision_loss, reason = "a count of delays for people")]
    let is_less = effective.round() < delays as f64;
    if is_less {
        format!(
            "{direction}: delays are correlated; the effective sample size is {effective:.0} of {delays} delays. {by_chance}. A longer \
             run helps; a higher packet rate does not"
        )
    } else {
        format!("{direction}: the run has {delays} delays. {by_chance}. A longer run helps")
    }
}

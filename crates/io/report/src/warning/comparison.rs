//! The warnings of comparisons, concatenations and models as text.

use romer_record::document::ProbeDirection;
use romer_record::warning::{
    Compared, ComparisonWarning, ConcatenationWarning, DifferingSource, FidelityWarning, ModelWarning,
    StampMoment,
};
use romer_units::{TimestampPoint, counted};

use crate::closed_loop::label::label;
use crate::number::{NO_BREAK, count, time};
use crate::sentence::Text;

impl Text for ComparisonWarning {
    fn text(&self) -> String {
        match self {
            Self::Partial { measurement } => {
                format!(
                    "{} is partial (interrupted): its metrics cover a part of the run",
                    name(*measurement)
                )
            }
            Self::PacketsDiffer => {
                "the packets of A and B differ in size or code point, which may cause the difference".into()
            }
            Self::ScalesDiffer { direction, a, b } => format!(
                "the calls of A and B are rated on different scales ({}: {a} and {b}): their MOS is not compared",
                way(*direction)
            ),
            Self::CallsDiffer { direction } => format!(
                "the calls of A and B differ in codec, jitter buffer, or the basis of delay and loss ({}), which may cause the \
                 difference of their MOS",
                way(*direction)
            ),
            Self::TimeStampSourcesDiffer { stamps } => {
                let stamps: Vec<String> = stamps.iter().map(source).collect();
                format!(
                    "the time stamps of A and B have different sources ({}), which may cause the difference",
                    stamps.join(", ")
                )
            }
            Self::ResponderTimeDiffers { included_in } => format!(
                "the round trips of {} include the processing time of the responder, and those of {} do not, which may cause the \
                 difference",
                name(*included_in),
                name(other(*included_in))
            ),
            Self::BaselineDiffers { subtracted_from, baselines } => {
                let each: Vec<String> = baselines
                    .iter()
                    .map(|one| format!("{} {}", way(one.direction), time(one.baseline_ns, true)))
                    .collect();
                format!(
                    "the calibrated baseline is subtracted from the delays of {} (--subtract-baseline) and not from those of {}: this \
                     part of the difference is not due to the path ({})",
                    name(*subtracted_from),
                    name(other(*subtracted_from)),
                    each.join(", ").replace(NO_BREAK, " ")
                )
            }
            Self::TooFewPackets { direction, metric, tolerance_ns, packets, packets_needed } => format!(
                "{} cannot decide whether {} is within its tolerance of {} ({}): about {} are needed",
                counted(*packets, "packet"),
                label(metric),
                time(*tolerance_ns, true).replace(NO_BREAK, " "),
                way(*direction),
                count(*packets_needed)
            ),
        }
    }
}

impl Text for ConcatenationWarning {
    fn text(&self) -> String {
        match self {
            Self::DelaysRelative => {
                "the clock offset is unknown: delays are relative to the median, and only the shapes of their distributions are \
                 compared"
            }
            Self::IndependenceAssumed => {
                "the two were not measured at the same time: their delays are assumed to be independent"
            }
        }
        .into()
    }
}

impl Text for ModelWarning {
    fn text(&self) -> String {
        match self {
            Self::FatesUnknown { direction, setting } => format!(
                "the direction of some losses is unknown ({}): {setting} has all of them; measure with a romer responder, \
                 which returns its log",
                way(*direction)
            ),
            Self::DelaysHalved { direction, setting } => format!(
                "one-way delays are unknown ({}): {setting} has half of each round trip, including the responder's processing \
                 time; if both directions are emulated, round trips vary less than measured",
                way(*direction)
            ),
            Self::DelaysUnknown { direction, setting } => format!(
                "one-way delays and round trips are unknown ({}): {setting} has no delay; add the delay of the path as `fixed`",
                way(*direction)
            ),
            Self::OrderUnknown { direction, setting } => format!(
                "the order of the packets is unknown ({}): {setting} has no reordering",
                way(*direction)
            ),
            Self::DelaysRelative => {
                "the clock offset is unknown: delays are relative to the minimum; add the minimum delay of the path as `fixed`"
                    .into()
            }
            Self::RatesOnly { direction, setting } => format!(
                "only the rates of the link are known ({}): {setting} has no delay and no loss of the path, and a queue of 1 MiB; \
                 add the delay of the path as `delay.fixed`",
                way(*direction)
            ),
            Self::Misfit { direction, is_trace: false } => format!(
                "the scenario does not reproduce this measurement ({}): compare the accepted ranges with the measured values, and measure \
                 longer",
                way(*direction)
            ),
            Self::Misfit { direction, is_trace: true } => format!(
                "the recorded delays and losses, replayed by time, differ from this measurement ({}): compare the accepted ranges with \
                 the measured values",
                way(*direction)
            ),
        }
    }
}

impl Text for FidelityWarning {
    fn text(&self) -> String {
        match self {
            Self::FatesUnknown { direction } => {
                format!("the fate of some packets is unknown ({}): this direction is not compared", way(*direction))
            }
            Self::DelaysUnknown { direction } => {
                format!("one-way delays are unknown ({}): this direction is not compared", way(*direction))
            }
            Self::DelaysRelative => {
                "the clock offset is unknown: delays are relative to the minimum of each direction".into()
            }
            Self::LinksIncluded => {
                "the measured delay includes the links around the emulator, which the scenario does not model".into()
            }
            Self::TimelinePhaseUnknown => "it is unknown when the timeline of the scenario began: each simulated run begins at a \
                                          random point of it"
                .into(),
            Self::CorruptedProbesLost => {
                "the scenario corrupts packets; the checksums are not repaired: such probes are expected to be lost".into()
            }
            Self::CorruptedProbesAltered => {
                "the scenario corrupts packets; the checksums are repaired: the contents of such probes may be wrong, which the \
                 comparison does not model"
                    .into()
            }
        }
    }
}

const fn name(of: Compared) -> &'static str {
    match of {
        Compared::A => "A",
        Compared::B => "B",
    }
}

const fn other(of: Compared) -> Compared {
    match of {
        Compared::A => Compared::B,
        Compared::B => Compared::A,
    }
}

/// A direction as a noun.
const fn way(direction: ProbeDirection) -> &'static str {
    match direction {
        ProbeDirection::Forward => "forward",
        ProbeDirection::Reverse => "reverse",
        ProbeDirection::RoundTrip => "round trip",
        ProbeDirection::Both => "both directions",
    }
}

fn source(found: &DifferingSource) -> String {
    let moment = match found.stamp {
        StampMoment::SenderDeparture => "departure at the initiator",
        StampMoment::ResponderArrival => "arrival at the responder",
        StampMoment::ResponderDeparture => "departure at the responder",
        StampMoment::SenderArrival => "arrival at the initiator",
    };
    let said = |place: Option<TimestampPoint>| {
        place.map_or_else(|| "an unknown source".to_owned(), |place| place.to_string())
    };
    format!("{moment}: {} and {}", said(found.a), said(found.b))
}

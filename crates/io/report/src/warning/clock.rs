//! Why clocks could not be related, as text.

use romer_record::document::ProbeDirection;
use romer_record::warning::{
    EarlyArrivals, OneWayContradiction, SkewUnknown, SynchronisationContradiction, SynchronisationLoss,
};
use romer_units::{Duration, counted};

use crate::sentence::{heading, host, length, share};

/// Why a skew could not be estimated.
pub fn skew_unknown(unknown: &SkewUnknown) -> String {
    match unknown {
        SkewUnknown::NoTimeStamps => "no packet has the time stamps of both hosts".into(),
        SkewUnknown::FewPackets { needed } => {
            format!("fewer than {needed} packets have the time stamps of both hosts")
        }
        SkewUnknown::FewOrClose => "there are too few packets, or they are too close in time".into(),
        SkewUnknown::ShortSpan => "the packets span less than a second".into(),
        SkewUnknown::Clustered => {
            "the packets were sent at a few moments with pauses between them; a rate needs packets over the whole run"
                .into()
        }
        SkewUnknown::FewBetweenEvents => "there are too few packets between the events of the clocks".into(),
        SkewUnknown::FewPerWindow { window_ns } => format!(
            "no two windows of {} (khlifi) have packets that give a slope; state a shorter window \
             (--skew khlifi:WINDOW,WEIGHT)",
            Duration::from_nanos(*window_ns).readable()
        ),
        SkewUnknown::MinimumMoves { direction, moving_ratio } => format!(
            "the minimum delay {} changes during {} of the time, so that it does not show the rate of a clock",
            heading(*direction),
            share(*moving_ratio)
        ),
        SkewUnknown::MinimumDrifts { direction, drift_ppm } => format!(
            "the minimum delay {} drifts by {drift_ppm:+.0} ppm, more than clocks do, so that it does not show the rate of \
             a clock",
            heading(*direction)
        ),
        SkewUnknown::DirectionsDiffer { forward_ppm, reverse_ppm } => format!(
            "the directions contradict each other: {forward_ppm:.3} ppm forward and {reverse_ppm:.3} ppm in reverse, so that the \
             minimum delay of one of them changes"
        ),
        SkewUnknown::UncertaintyUnknown { skew_ppm } => {
            format!("there are too few packets for the uncertainty of the slope ({skew_ppm:+.1} ppm)")
        }
        SkewUnknown::RunTooShort { skew_ppm, error_ppm, resolution_ns } => {
            let coarse = resolution_ns.map_or_else(String::new, |resolution| {
                format!(" for time stamps with a resolution of {}", length(resolution))
            });
            format!("the run is too short{coarse}: {skew_ppm:+.0} ± {error_ppm:.0} ppm")
        }
        SkewUnknown::RateImpossible { skew_ppm } => format!(
            "both directions show that the responder's clock runs {skew_ppm:+.1} ppm off this one, which no clock does"
        ),
        SkewUnknown::RateOfPath { skew_ppm } => format!(
            "{skew_ppm:+.1} ppm is more than clocks differ by, and the directions differ, so that a path changes"
        ),
        SkewUnknown::RateAmbiguous { skew_ppm } => format!(
            "{skew_ppm:+.1} ppm is more than clocks differ by, and one direction alone does not show whether a path changes"
        ),
        SkewUnknown::Contradicted(contradiction) => one_way_refused(contradiction),
    }
}

/// That one-way delays are not given, and why.
pub(super) fn one_way_refused(found: &OneWayContradiction) -> String {
    let those = format!(
        "by the time stamps of the two hosts, {} of {} took longer one way than there and back (up to {}, and {} there and back)",
        found.contradicting,
        counted(found.compared, "probe"),
        length(found.one_way_delay_ns),
        length(found.round_trip_delay_ns)
    );
    if let Some(resolution) = found.resolution_ns {
        return format!(
            "no one-way delays are given, and round trips are t4-t1, with the responder's own time: the resolution of the time \
             stamps, {}, exceeds the round-trip delay; {those}",
            length(resolution)
        );
    }
    let clocks = found.skew_ppm.map_or_else(String::new, |ppm| {
        format!("; both directions show that the responder's clock runs {ppm:+.1} ppm off this one")
    });
    format!(
        "no one-way delays are given: {those}{clocks}. The difference of the clocks is not known well enough to be removed; the \
         responder's time in round trips is by its own clock"
    )
}

/// Why two clocks do not count as synchronised.
pub(super) fn synchronisation_contradicted(bound_ns: i64, found: &SynchronisationContradiction) -> String {
    let why = match found {
        SynchronisationContradiction::ArrivalBeforeDeparture { direction, max_ns } => {
            let way = if *direction == ProbeDirection::Reverse { "in reverse" } else { "forward" };
            format!("packets {way} arrived up to {} before they left", length(*max_ns))
        }
        SynchronisationContradiction::OffsetMoved { movement_ns } => {
            format!("the offset of the clocks moved by {} during the run", length(*movement_ns))
        }
        SynchronisationContradiction::ClockSet => "the responder's clock was set during the run".to_owned(),
        SynchronisationContradiction::Lost(SynchronisationLoss { location, at_ns }) => format!(
            "the clock of {} lost its synchronisation {} after the start",
            host(*location),
            length(*at_ns)
        ),
    };
    format!(
        "the clocks are not synchronised to within {}, as stated: {why}; one-way delays are differences from the smallest one",
        length(bound_ns)
    )
}

/// How many packets arrived before they left, by one clock.
pub(super) fn early(found: &EarlyArrivals) -> String {
    let ways = [
        ("forward", found.forward, found.forward_compared),
        ("in reverse", found.reverse, found.reverse_compared),
    ];
    let those: Vec<String> = ways
        .into_iter()
        .filter(|(_, count, _)| *count > 0)
        .map(|(way, count, all)| format!("{count} of {} {way}", counted(all, "packet")))
        .collect();
    format!("{} arrived before they left, by up to {}", those.join(" and "), length(found.max_ns))
}

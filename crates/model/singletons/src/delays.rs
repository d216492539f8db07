//! The delays of one direction by the stamps alone: on one clock as they are, on two clocks above the least.

use romer_clock::{across, length};
use romer_record::OneWaySingleton;
use romer_record::document::{ClockState, DelayKind};
use romer_record::manifest::ClockRelation;
use romer_units::{Arrival, Departure, Duration, Timestamp};

/// Whether a packet took longer than `time`, on the assumption that both ends read one clock.
pub(crate) fn longer(departure: Timestamp<Departure>, arrival: Timestamp<Arrival>, time: Duration) -> bool {
    across(departure, arrival) > i128::from(time.as_nanos())
}

fn raw(singleton: &OneWaySingleton) -> Option<i128> {
    Some(across(singleton.departure?, singleton.arrival?))
}

/// The least raw difference of a direction: its least delay plus the offset.
fn min_raw_delay(singletons: &[OneWaySingleton]) -> Option<i128> {
    singletons.iter().filter_map(raw).min()
}

/// What the delays of a direction are, under `relation`.
pub(crate) const fn delay_kind(relation: ClockRelation) -> DelayKind {
    match relation {
        ClockRelation::Shared => DelayKind::Absolute,
        ClockRelation::Unknown => DelayKind::Variable,
    }
}

/// Fills in the delays of one direction. On a shared clock they are the differences as they are, also negative
/// ones (two stamps of one moment may be taken in either order); on two clocks, what they have above the least.
pub(crate) fn fill_delays(singletons: &mut [OneWaySingleton], relation: ClockRelation) {
    let base = match relation {
        ClockRelation::Shared => 0,
        ClockRelation::Unknown => min_raw_delay(singletons).unwrap_or(0),
    };
    for singleton in singletons {
        singleton.delay = raw(singleton).and_then(|nanos| length(nanos - base));
    }
}

/// What can be said of the clocks. The offset (responder minus sender) cannot exceed the least forward
/// difference, nor lie below the negated least reverse one: a packet does not arrive before it leaves. Symmetry
/// of the path is not assumed. Drift over a long run can make the bounds cross; then there is no one offset, and
/// none is given.
pub(crate) fn state(
    forward: &[OneWaySingleton],
    reverse: &[OneWaySingleton],
    relation: ClockRelation,
) -> ClockState {
    if relation == ClockRelation::Shared {
        return ClockState {
            method: ClockState::SHARED.into(),
            identifiable: true,
            skew_ppm: Some(0.0),
            skew_interval_ppm: Some([0.0, 0.0]),
            delay_error_ns: Some(0.0),
            offset_bounds_ns: Some([0, 0]),
            ..ClockState::default()
        };
    }
    ClockState {
        method: "none".into(),
        identifiable: false,
        offset_bounds_ns: offset_bounds(forward, reverse),
        ..ClockState::default()
    }
}

/// Bounds of the offset, the arriving host's clock of `forward` minus the departing host's: it cannot exceed the least
/// difference of `forward`, nor lie below the negated least one of `reverse`. `None` where either has none, or they
/// cross.
fn offset_bounds(forward: &[OneWaySingleton], reverse: &[OneWaySingleton]) -> Option<[i64; 2]> {
    let low = i64::try_from(-min_raw_delay(reverse)?).ok()?;
    let high = i64::try_from(min_raw_delay(forward)?).ok()?;
    (low <= high).then_some([low, high])
}

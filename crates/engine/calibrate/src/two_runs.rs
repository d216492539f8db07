//! The constant error of a network card, from runs over one link at two rates (Hershberger 2005, equations 9.1 and 9.2).
//!
//! A delay over a link is the time that its octets take at the rate of the link, and an error that does not depend on the rate.
//! Two rates give two equations: for the octets, which are known, and for the error.

use romer_analyze::evaluate::Evaluated;
use romer_record::calibration::TwoRates;
use romer_singletons::calibration::two_rates_of;
use romer_units::TimestampPoint;
use thiserror::Error;

/// Octets of an Ethernet header.
const ETHERNET_HEADER: u32 = 14;
/// Octets of the shortest frame, without its check sequence.
const SHORTEST_FRAME: u32 = 60;
/// Octets of a check sequence, and of a preamble with the start of a frame.
const AROUND_FRAME: u32 = 4 + 8;
/// Octets of a UDP header, and of IP headers.
const UDP_HEADER: u32 = 8;
const IPV4_HEADER: u32 = 20;
const IPV6_HEADER: u32 = 40;

/// A run, and the rate of the link while it was made.
#[derive(Clone, Copy, Debug)]
pub struct RunAtRate<'a> {
    /// The run: round trips of packets of one size.
    pub run: &'a Evaluated,
    /// Bits a second.
    pub bits_per_second: u64,
}

/// Why two runs give no error.
#[derive(Clone, Copy, Debug, Error, PartialEq, Eq)]
pub enum TwoRunsError {
    /// Both runs have one rate.
    #[error("both runs have the same rate; two rates are needed")]
    OneRate,
    /// A run has no round trips.
    #[error("a run has no round trips; measure without --direction")]
    NoRoundTrips,
    /// Packets have several sizes.
    #[error("the packets have several sizes; measure both runs with the same --packet-size")]
    SeveralSizes,
    /// The time stamps were taken in different places.
    #[error("the time stamps were taken in different places; measure both runs with the same --stamp")]
    SeveralPlaces,
}

/// The octets and the error that explain half of the median round trip of both runs, whatever their order.
///
/// # Errors
/// [`TwoRunsError`].
pub fn two_runs(runs: [RunAtRate<'_>; 2]) -> Result<TwoRates, TwoRunsError> {
    let [one, other] = runs;
    let (slow, fast) = if one.bits_per_second < other.bits_per_second { (one, other) } else { (other, one) };
    let octets = octets(slow.run)?;
    if octets != self::octets(fast.run)? {
        return Err(TwoRunsError::SeveralSizes);
    }
    let place = place(slow.run).filter(|place| self::place(fast.run) == Some(*place));
    let place = place.ok_or(TwoRunsError::SeveralPlaces)?;
    let half = |run: &Evaluated| {
        let delay = &run.measurement.round_trip.delay_ns;
        delay.median.map(|median| (median / 2.0, delay.count)).ok_or(TwoRunsError::NoRoundTrips)
    };
    let ((slow_ns, slow_count), (fast_ns, fast_count)) = (half(slow.run)?, half(fast.run)?);
    let rates = (slow.bits_per_second, fast.bits_per_second);
    let packets = slow_count.saturating_add(fast_count);
    two_rates_of(place, rates, octets, &[(slow_ns, fast_ns)], (packets, 0)).ok_or(TwoRunsError::OneRate)
}

/// The octets of a run's packets on the wire, preamble and check sequence included.
fn octets(run: &Evaluated) -> Result<u32, TwoRunsError> {
    let mut sizes = run.related.round_trip.iter().map(|packet| packet.size);
    let size = sizes.next().ok_or(TwoRunsError::NoRoundTrips)?;
    if sizes.any(|other| other != size) {
        return Err(TwoRunsError::SeveralSizes);
    }
    let is_v6 = run.measurement.address.as_deref().is_some_and(|address| address.contains(':'));
    let ip = if is_v6 { IPV6_HEADER } else { IPV4_HEADER };
    let frame = size.saturating_add(ETHERNET_HEADER + ip + UDP_HEADER).max(SHORTEST_FRAME);
    Ok(frame.saturating_add(AROUND_FRAME))
}

/// The place of all time stamps of which it is known, if it is one. A reflector that is not romer does not tell its own.
fn place(run: &Evaluated) -> Option<TimestampPoint> {
    let chosen = &run.selection;
    let place = chosen.t1.filter(|place| chosen.t4 == Some(*place))?;
    [chosen.t2, chosen.t3].into_iter().flatten().all(|other| other == place).then_some(place)
}

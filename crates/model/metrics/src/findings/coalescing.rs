//! Packets that were sent apart and arrive together.
//!
//! Where something holds packets back and lets several go at once (a driver that waits before it interrupts, a radio that
//! sends in aggregates, a queue that drains), gaps between arrivals pile up near nothing. A density of gaps without that
//! is about as high near nothing as a little farther off. Gaps are those between consecutive packets of which each was
//! sent at least half the usual interval after the one before.
//!
//! Two things make gaps pile up where nothing holds packets back. A clock that ticks stamps alike what arrives between two ticks:
//! bounds are whole ticks, and of ticks that are too long for that nothing is told. And delays that keep to a few values, with departures at equal times,
//! make gaps of few lengths, of which one may be short: there must be more of short ones than there are where each
//! packet has the delay of some other.

use romer_record::OneWaySingleton;
use romer_record::finding::Pattern;
use romer_units::random::{Blocks, RandomStream, Seed};

use super::evidence::{UndirectedFinding, convinces, tail};
use super::series::{FEWEST, LOOKED_AT, STAMPS, quantile};
use crate::sample::received;
use crate::value::{Value as _, real, to_usize};

/// What counts as nothing, in shares of the usual interval between departures.
const NEAR: [f64; 8] = [0.1, 0.05, 0.02, 0.01, 0.005, 0.002, 0.001, 0.0005];
/// The share of gaps below the bound, of those below four times the bound, that a smooth density may have: a quarter, and
/// room for one that falls.
const SMOOTH: f64 = 0.4;
/// Below this share of packets it is of no use to know.
const MIN_PACKET_SHARE: f64 = 0.01;
/// Gaps up to so many of the shortest tell whether that is a tick, if there are so many of them, and so large a share of them are whole numbers of it.
const OF_THE_SHORTEST: f64 = 64.0;
/// No clock that stamps packets ticks less often than 64 times a second: what comes at longer distances is let go at them, nanoseconds.
const LONGEST_TICK: f64 = 17e6;
const TELLING: usize = 20;
const WHOLE: f64 = 0.98;
/// And they are that to this part of a tick: stamps are rounded to nanoseconds.
const ROUNDED: f64 = 0.02;
/// What happens once or twice, as a queue that drains after a link stood still, is no habit of the path.
const GROUPS: usize = 3;
/// Values in a row depend on each other: so many count as one.
const TOGETHER: f64 = 4.0;

/// Coalesced arrivals of a direction.
pub(super) fn coalesced(singletons: &[OneWaySingleton]) -> Option<UndirectedFinding> {
    let mut packets: Vec<(i64, i64)> = received(singletons)
        .filter_map(|singleton| Some((singleton.departure?.as_nanos(), singleton.arrival?.as_nanos())))
        .take(LOOKED_AT)
        .collect();
    packets.sort_unstable();
    let gaps = |pick: fn(&(i64, i64)) -> i64| -> Vec<f64> {
        packets.windows(2).map(|pair| pick(&pair[1]).saturating_sub(pick(&pair[0])).value()).collect()
    };
    let (departures, arrivals) = (gaps(|packet| packet.0), gaps(|packet| packet.1));
    let usual = quantile(&mut departures.clone(), 0.5);
    let apart: Vec<bool> = departures.iter().map(|gap| *gap >= usual / 2.0).collect();
    let fit = apart.iter().filter(|apart| **apart).count();
    if fit < FEWEST || usual <= 0.0 {
        return None;
    }
    // A packet that overtakes the one before it did not arrive together with it.
    let below_of = |arrivals: &[f64], bound: f64| {
        let gaps = arrivals.iter().zip(&apart).filter(|(_, apart)| **apart);
        real(gaps.filter(|(gap, _)| (0.0..bound).contains(*gap)).count())
    };
    let tick = tick(&packets);
    let bounds = NEAR.iter().map(|share| whole_ticks(share * usual, tick));
    let trials = real(NEAR.len()).ln();
    let piled: Vec<(f64, f64, f64)> = bounds
        .filter(|bound| *bound <= NEAR[0] * usual)
        .map(|bound| {
            let [near, wide] = [bound, 4.0 * bound].map(|bound| below_of(&arrivals, bound));
            (tail(near / TOGETHER, wide / TOGETHER, SMOOTH) + trials, bound, near)
        })
        .filter(|(log, _, near)| convinces(*log) && near / real(fit) >= MIN_PACKET_SHARE)
        .collect();
    if piled.is_empty() {
        return None;
    }
    let by_themselves = of_any_delays(&packets);
    let best = piled
        .into_iter()
        .map(|(log, bound, near)| {
            // As many as there are where each packet has the delay of another are no more than the delays' own values make.
            // That is drawn once: it may be two deviations less than usual.
            let drawn = below_of(&by_themselves, bound);
            let usually = ((drawn + 2.0 * (drawn + 1.0).sqrt()) / real(fit)).min(1.0);
            (log.max(tail(near / TOGETHER, real(fit) / TOGETHER, usually) + trials), bound, near)
        })
        .min_by(|a, b| a.0.total_cmp(&b.0))?;
    let (log_alarm, within, near) = best;
    let strength = near / real(fit);
    if !convinces(log_alarm) {
        return None;
    }
    let behind: Vec<bool> =
        arrivals.iter().zip(&apart).map(|(gap, apart)| *apart && (0.0..within).contains(gap)).collect();
    let groups = behind.chunk_by(|a, b| a == b).filter(|run| run[0]).count();
    if groups < GROUPS {
        return None;
    }
    Some(UndirectedFinding {
        at: None,
        until: None,
        log_alarm: Some(log_alarm),
        pattern: Pattern::CoalescedArrivals {
            within_ns: within,
            groups: groups as u64,
            mean_packets: 1.0 + near / real(groups.max(1)),
            strength_ratio: strength,
        },
    })
}

/// A bound in whole ticks, at least as far: so many values are below it as if the clock did not tick.
fn whole_ticks(bound: f64, tick: f64) -> f64 {
    if tick > 0.0 { (bound / tick).ceil() * tick } else { bound }
}

/// The tick of the clock that stamped these arrivals, nanoseconds; 0 where none shows.
fn tick(packets: &[(i64, i64)]) -> f64 {
    let mut arrivals: Vec<i64> = packets.iter().take(STAMPS).map(|packet| packet.1).collect();
    arrivals.sort_unstable();
    let gaps =
        || arrivals.windows(2).map(|pair| pair[1].saturating_sub(pair[0]).value()).filter(|gap| *gap > 0.0);
    let shortest = gaps().fold(f64::INFINITY, f64::min);
    let (mut all, mut on) = (0, 0);
    for gap in gaps().filter(|gap| *gap <= OF_THE_SHORTEST * shortest) {
        let ticks = gap / shortest;
        all += 1;
        on += usize::from((ticks - ticks.round()).abs() <= ROUNDED);
    }
    let is_tick = shortest <= LONGEST_TICK && all >= TELLING;
    if is_tick && real(on) >= WHOLE * real(all) { shortest } else { 0.0 }
}

/// The gaps between arrivals if each of these packets had the delay of another one.
fn of_any_delays(packets: &[(i64, i64)]) -> Vec<f64> {
    let mut chance = Blocks::new(RandomStream::new(Seed([22, 5, 10, 7, 0, 0]), [0, 0]));
    let mut delays: Vec<i64> = packets.iter().map(|packet| packet.1.saturating_sub(packet.0)).collect();
    for (ordinal, left) in (0..).zip((1..delays.len()).rev()) {
        delays.swap(left, to_usize(chance.unit(ordinal) * real(left + 1)).min(left));
    }
    let arrival = |(packet, delay): (&(i64, i64), &i64)| packet.0.saturating_add(*delay);
    let arrivals: Vec<i64> = packets.iter().zip(&delays).map(arrival).collect();
    arrivals.windows(2).map(|pair| pair[1].saturating_sub(pair[0]).value()).collect()
}

//! Losses at moments that repeat.
//!
//! A group of losses begins with a lost packet after one that was not lost. The periods of these moments are found and tested
//! as those of delay spikes are (`periods`): by how often the groups of a cycle would lie within the window of one phase, if they
//! lay anywhere among the packets of that cycle.

use romer_record::OneWaySingleton;
use romer_record::finding::Pattern;

use super::evidence::UndirectedFinding;
use super::periods::repeated;
use super::series::{DelaySeries, FEWEST, LOOKED_AT};
use crate::sample::sent;
use crate::value::{Value as _, real, to_usize};

/// The periods with which packets are lost. Those that `by_length` says are lost for their length do not count: their times are
/// those of the sender.
pub(super) fn losses(
    singletons: &[OneWaySingleton],
    by_length: Option<&UndirectedFinding>,
) -> Vec<UndirectedFinding> {
    let most = by_length.and_then(|found| match found.pattern {
        Pattern::LossByLength { longest_arrived_bytes, .. } => Some(longest_arrived_bytes),
        _ => None,
    });
    let departures = sent(singletons)
        .filter(|singleton| singleton.fate.is_observed() && most.is_none_or(|most| singleton.size <= most))
        .filter_map(|singleton| Some((singleton.departure?.as_nanos(), singleton.fate.is_lost())));
    let mut rows: Vec<(i64, bool)> = departures.take(LOOKED_AT).collect();
    rows.sort_unstable();
    let Some((first, _)) = rows.first().copied() else { return Vec::new() };
    if rows.len() < FEWEST || !rows.iter().any(|(_, is_lost)| *is_lost) {
        return Vec::new();
    }
    let interval = {
        let mut gaps: Vec<i64> = rows.windows(2).map(|pair| pair[1].0.saturating_sub(pair[0].0)).collect();
        let middle = gaps.len() / 2;
        *gaps.select_nth_unstable(middle).1
    };
    let at = rows.iter().map(|(at, _)| at.saturating_sub(first).value()).collect();
    let is_lost: Vec<bool> = rows.into_iter().map(|(_, is_lost)| is_lost).collect();
    let begins = |place: usize| is_lost[place] && !(place > 0 && is_lost[place - 1]);
    let series = DelaySeries {
        at,
        delay: (0..is_lost.len()).map(|place| f64::from(u8::from(begins(place)))).collect(),
        interval: interval.value(),
        ..DelaySeries::default()
    };
    let each = repeated(&series).into_iter().map(|found| {
        let length = |hit: &usize| is_lost[*hit..].iter().take_while(|lost| **lost).count();
        let packets: usize = found.hits.iter().map(length).sum();
        UndirectedFinding {
            at: None,
            until: None,
            log_alarm: Some(found.log_alarm),
            pattern: Pattern::PeriodicLoss {
                period_ns: found.fit.period,
                period_interval_ns: [found.fit.period - found.fit.error, found.fit.period + found.fit.error],
                phase_ns: found.fit.first.rem_euclid(found.fit.period),
                groups: found.hits.len() as u64,
                cycles: to_usize(found.cycles) as u64,
                packets: packets as u64,
                strength_ratio: real(found.hits.len()) / found.cycles,
            },
        }
    });
    each.collect()
}

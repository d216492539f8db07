//! Loss and its pattern.

use std::collections::BTreeMap;

use romer_record::document::{Loss, LossCause, LossPeriod, LossesByCause, Tally};
use romer_record::{Fate, OneWaySingleton};
use romer_units::Timestamp;

use crate::interval::{Dependence, NORMAL_975, student_975};
use crate::sample::sent;
use crate::value::{finite, real};

/// Fewer loss periods than this do not tell how much they vary.
const FEWEST_PERIODS: usize = 6;
/// How losses depend on those before them is looked for among so many packets at most, from the middle.
const LOOKED_AT: usize = 1 << 20;

/// Which packets of a stream were lost.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LossPattern {
    /// Packets sent, without those in flight at the end.
    pub sent: usize,
    /// Packets lost, the late ones included (RFC 7680 section 2.4).
    pub lost: usize,
    /// Lengths of the loss periods, in packets (RFC 3357 section 6.3), in order of sequence.
    pub periods: Vec<u64>,
    /// The longest period, and of several as long the first, where it is of two packets or more.
    pub longest: Option<LossPeriod>,
    /// From each loss to the next, in packets: 1 within a period (RFC 3357 section 5.4.1). One fewer than losses.
    pub distances: Vec<u64>,
}

/// The pattern of loss among `singletons`; `None` where the fate of a packet is unknown. Packets are counted in
/// the order of their sending, those that the host itself refused left out.
pub fn loss_pattern(singletons: &[OneWaySingleton]) -> Option<LossPattern> {
    let mut pattern = LossPattern::default();
    let mut last: Option<usize> = None;
    let left = |singleton: &OneWaySingleton| singleton.left().map(Timestamp::as_nanos);
    let first = sent(singletons).find_map(left);
    let mut period: Option<LossPeriod> = None;
    for (place, singleton) in sent(singletons).enumerate() {
        pattern.sent += usize::from(singleton.fate != Fate::InFlight);
        // When this one left, after the first.
        let at = left(singleton).zip(first).map(|(left, first)| left.saturating_sub(first));
        let since = |from: Option<i64>| at.zip(from).map(|(at, from)| at.saturating_sub(from).max(0));
        match singleton.fate {
            Fate::Unknown => return None,
            Fate::Arrived | Fate::InstrumentDrop | Fate::InFlight => {
                pattern.ended(period.take().map(|of| LossPeriod { duration_ns: since(of.at_ns), ..of }));
            }
            Fate::Late | Fate::Lost => {
                let begun =
                    LossPeriod { packets: 0, sequence: singleton.sequence, at_ns: at, duration_ns: None };
                let of = period.unwrap_or(begun);
                period = Some(LossPeriod { packets: of.packets + 1, duration_ns: since(of.at_ns), ..of });
                pattern.lost += 1;
                let distance = last.map(|last| (place - last) as u64);
                pattern.distances.extend(distance);
                match pattern.periods.last_mut().filter(|_| distance == Some(1)) {
                    Some(period) => *period += 1,
                    None => pattern.periods.push(1),
                }
                last = Some(place);
            }
        }
    }
    pattern.ended(period);
    Some(pattern)
}

/// The losses among `singletons` by cause, in the order of the causes: that of `known` by sequence number, and unknown of the rest.
pub fn losses_by_cause(
    singletons: &[OneWaySingleton],
    known: &BTreeMap<u64, LossCause>,
) -> Vec<LossesByCause> {
    let mut causes: BTreeMap<LossCause, LossesByCause> = BTreeMap::new();
    for singleton in sent(singletons).filter(|singleton| singleton.fate.is_lost()) {
        let sequence = singleton.sequence;
        let cause = known.get(&sequence).copied().unwrap_or(LossCause::Unknown);
        let own =
            causes.entry(cause).or_insert(LossesByCause { cause, count: 0, first: sequence, last: sequence });
        own.count += 1;
        own.last = sequence;
    }
    causes.into_values().collect()
}

/// Wilson's score interval at 95 % of a proportion, on the assumption of independent events; `None` where nothing
/// was counted. It lies within 0 and 1.
pub fn wilson_interval(events: usize, of: usize) -> Option<[f64; 2]> {
    (of > 0).then(|| score_interval(events, of, real(of), NORMAL_975))
}

/// The same of events that are worth `n` independent ones, with another quantile than the normal one.
fn score_interval(events: usize, of: usize, n: f64, quantile: f64) -> [f64; 2] {
    let square = quantile * quantile;
    let share = real(events.min(of)) / real(of);
    let centre = share + square / (2.0 * n);
    let half = quantile * (share * (1.0 - share) / n + square / (4.0 * n * n)).sqrt();
    let scale = 1.0 + square / n;
    // At either end the interval reaches it exactly, which rounding would miss.
    let low = if events == 0 { 0.0 } else { ((centre - half) / scale).max(0.0) };
    let high = if events >= of { 1.0 } else { ((centre + half) / scale).min(1.0) };
    [low, high]
}

impl LossPattern {
    /// Keeps a period that is longer than those before it.
    fn ended(&mut self, period: Option<LossPeriod>) {
        let most = self.longest.map_or(1, |longest| longest.packets);
        self.longest = period.filter(|period| period.packets > most).or(self.longest);
    }

    /// The interval at 95 % of the share that is lost: Wilson's, with as many packets as there would have to be independent
    /// ones to tell as much. Losses that come together tell less than as many apart, by the greater of two measures: what the
    /// share varies from the beginning of one loss period to that of the next, and what it does from block to block, as of
    /// means. How many periods there are says how sure that is (Student). `None` where fewer than six periods are not all of
    /// one packet, and where the losses depend on each other over so much of the stream that it does not tell.
    pub fn ratio_interval(&self) -> Option<[f64; 2]> {
        let independent = wilson_interval(self.lost, self.sent)?;
        if self.lost == 0 || self.lost >= self.sent {
            return Some(independent);
        }
        let periods = self.periods.len();
        if periods < FEWEST_PERIODS {
            return self.periods.iter().all(|length| *length == 1).then_some(independent);
        }
        let series = self.indicators();
        let blocks = Dependence::estimate(&series[..], |lost| lost);
        let inflation = blocks.inflation().max(self.inflation_of_periods());
        if !blocks.is_known() {
            return None;
        }
        if inflation <= 1.0 {
            return Some(independent);
        }
        let quantile = student_975(real(periods - 1).min(blocks.freedom()))?;
        Some(score_interval(self.lost, self.sent, real(self.sent) / inflation, quantile))
    }

    /// How many times the share varies more than that of independent losses would, if nothing but the periods' lengths and the
    /// times between them mattered: the variance of a ratio, of losses over packets from one period to the next (Cochran 1977,
    /// section 2.11).
    fn inflation_of_periods(&self) -> f64 {
        let share = real(self.lost) / real(self.sent);
        let apart = self.distances.iter().filter(|distance| **distance > 1);
        let mut squares = 0.0;
        let mut left = self.sent as u64;
        let mut add = |lost: u64, of: u64| squares += (count(lost) - share * count(of)).powi(2);
        for (length, to_next) in self.periods.iter().zip(apart) {
            // From the last of a period to the first of the next.
            let whole = (length - 1).saturating_add(*to_next);
            add(*length, whole);
            left = left.saturating_sub(whole);
        }
        // What lies before the first belongs to the last: of a stream it is not known where it begins.
        if let Some(last) = self.periods.last() {
            add(*last, left.max(*last));
        }
        let periods = real(self.periods.len());
        squares / (real(self.sent) * share * (1.0 - share)) * periods / (periods - 1.0)
    }

    /// 1 for a lost packet and 0 for another, from the first that was lost on, and then those before it; of a long stream from
    /// the middle.
    fn indicators(&self) -> Vec<f64> {
        let kept = self.sent.min(LOOKED_AT);
        let from = ((self.sent - kept) / 2) as u64;
        let mut series = vec![0.0; kept];
        let mut place = 0_u64;
        for distance in std::iter::once(0).chain(self.distances.iter().copied()) {
            place = place.saturating_add(distance);
            let within = place.checked_sub(from).and_then(|place| usize::try_from(place).ok());
            if let Some(lost) = within.and_then(|place| series.get_mut(place)) {
                *lost = 1.0;
            }
        }
        series
    }
}

#[expect(clippy::cast_precision_loss, reason = "counts stay below 2^53")]
const fn count(packets: u64) -> f64 {
    packets as f64
}

/// Where it is known how many were lost, and not which: without a pattern.
pub(crate) fn of_number(lost: u64, sent: u64) -> Loss {
    let to_usize = |count: u64| usize::try_from(count).unwrap_or(usize::MAX);
    let (lost, sent) = (to_usize(lost), to_usize(sent));
    Loss {
        ratio: finite(real(lost) / real(sent)),
        ratio_interval: wilson_interval(lost, sent),
        ..Loss::default()
    }
}

pub(crate) fn document(pattern: Option<&LossPattern>) -> Loss {
    let Some(pattern) = pattern else { return Loss::default() };
    let [(periods, periods_all), (distances, distances_all)] =
        [&pattern.periods, &pattern.distances].map(|values| Tally::listed(values));
    Loss {
        ratio: finite(real(pattern.lost) / real(pattern.sent)),
        ratio_interval: pattern.ratio_interval(),
        periods,
        periods_all,
        longest: pattern.longest,
        distances,
        distances_all,
        causes: Vec::new(),
    }
}

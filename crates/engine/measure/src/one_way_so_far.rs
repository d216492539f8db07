//! One-way delays of round trips while they are measured, with the rate of the clocks that is known by then (Chen et al. 2013).
//!
//! Each reply tells four time stamps. Where both ends read one clock, their differences are the delays; and where they read two that
//! are stated to be synchronised, unless a packet arrives before it leaves by more than the stated bound. Otherwise the rate of the
//! clocks, as it is estimated so far, is taken out of them, and they count from the least so far. A later estimate moves the
//! delays that were told before; by how much is told with it.

use romer_metrics::summary;
use romer_record::document::{DelayKind, ReturnedWay, StreamWay, Synchronisation};

use super::receiving::LiveDelay;

/// Stretches of time of which the least delay is remembered; above so many, each two of them become one.
const MOST_STRETCHES: usize = 4_096;
/// The length of a stretch at first, nanoseconds.
const FIRST_STRETCH: f64 = 1e8;
/// Delays that are remembered of an interval; a faster stream is told of by so many.
const MOST_DELAYS: usize = 65_536;

/// A delay by the stamps, and when its probe left after the first, nanoseconds.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Stamped {
    at: f64,
    delay: f64,
}

/// One direction.
#[derive(Clone, Debug)]
struct Way {
    /// The sign of the change that the rate of the responder's clock makes in the delays.
    sign: f64,
    /// What the delays count from, so that floats hold them.
    base: Option<i64>,
    /// Those of this interval.
    fresh: Vec<Stamped>,
    /// The least delay of each stretch.
    least: Vec<Stamped>,
    latest: Option<Stamped>,
    /// The least delay at the rate that is known, as of the last call of [`Way::corrected_latest`].
    lowest: Option<f64>,
    /// The interarrival jitter of RFC 3550.
    jitter: Option<f64>,
}

impl Way {
    const fn new(sign: f64) -> Self {
        Self {
            sign,
            base: None,
            fresh: Vec::new(),
            least: Vec::new(),
            latest: None,
            lowest: None,
            jitter: None,
        }
    }

    fn take(&mut self, at: f64, delay_ns: i64, base: i64, stretch: f64) {
        let base = *self.base.get_or_insert(base);
        let stamped = Stamped { at, delay: as_float(delay_ns.saturating_sub(base)) };
        if self.fresh.len() < MOST_DELAYS {
            self.fresh.push(stamped);
        }
        match self.least.last_mut() {
            Some(last) if (last.at / stretch).floor() >= (at / stretch).floor() => {
                if stamped.delay < last.delay {
                    *last = stamped;
                }
            }
            _ => self.least.push(stamped),
        }
        if let Some(last) = self.latest.replace(stamped) {
            let jitter = self.jitter.unwrap_or(0.0);
            self.jitter = Some(jitter + ((stamped.delay - last.delay).abs() - jitter) / 16.0);
        }
    }

    /// A delay without what the rate of the clocks has added to it since the first.
    fn corrected(&self, stamped: Stamped, rate_ppm: f64) -> f64 {
        stamped.delay - self.sign * rate_ppm * 1e-6 * stamped.at
    }

    /// The latest delay without the effect of the rate; unless it is absolute, above the least so far. To be called after each
    /// delay.
    fn corrected_latest(&mut self, kind: DelayKind, rate_ppm: f64) -> Option<f64> {
        let latest = self.corrected(self.latest?, rate_ppm);
        let lowest = match self.lowest {
            Some(lowest) => lowest.min(latest),
            None => self.least.iter().map(|one| self.corrected(*one, rate_ppm)).fold(latest, f64::min),
        };
        self.lowest = Some(lowest);
        Some(if kind == DelayKind::Absolute { latest } else { latest - lowest })
    }

    /// The delays of this interval; `None` where none was ever known.
    fn delays(&self, kind: DelayKind, rate_ppm: f64) -> Option<Vec<f64>> {
        let least = self.least.iter().map(|one| self.corrected(*one, rate_ppm)).reduce(f64::min)?;
        let from = if kind == DelayKind::Absolute { 0.0 } else { least };
        Some(self.fresh.iter().map(|one| self.corrected(*one, rate_ppm) - from).collect())
    }

    /// What became known in an interval; `None` where nothing did.
    fn told(&mut self, kind: DelayKind, rate_ppm: f64) -> Option<StreamWay> {
        let delays = self.delays(kind, rate_ppm)?;
        self.fresh.clear();
        let found = summary(&delays);
        Some(StreamWay {
            delay_kind: kind,
            delays: found.count,
            delay_median_ns: found.median,
            delay_p99_ns: found.p99,
            jitter_rfc3550_ns: self.jitter,
            sent: None,
            arrived: None,
        })
    }
}

/// Both directions of a stream of round trips.
#[derive(Clone, Debug)]
pub(super) struct OneWaySoFar {
    kind: DelayKind,
    /// Of absolute delays: the offset of the clocks forward, and the bound of its error, nanoseconds.
    offset: i64,
    bound: i64,
    first: Option<i64>,
    until: f64,
    stretch: f64,
    ways: [Way; 2],
    rate_ppm: Option<f64>,
}

impl OneWaySoFar {
    /// Of a stream whose ends read one clock, or each its own, which may be `synchronised`.
    pub(super) fn new(is_one_clock: bool, synchronised: Option<&Synchronisation>) -> Self {
        let is_absolute = is_one_clock || synchronised.is_some();
        let kind = if is_absolute { DelayKind::Absolute } else { DelayKind::Variable };
        // One clock has no offset, and contradicts nothing.
        let stated = synchronised.filter(|_| !is_one_clock);
        let [offset, bound] = stated.map_or([0, i64::MAX], |stated| [stated.offset_ns, stated.bound_ns]);
        let ways = [Way::new(1.0), Way::new(-1.0)];
        Self { kind, offset, bound, first: None, until: 0.0, stretch: FIRST_STRETCH, ways, rate_ppm: None }
    }

    /// Takes in a reply.
    pub(super) fn take(&mut self, seen: &LiveDelay) {
        let Some([t2, t3]) = seen.there_ns else { return };
        let [t1, t4] = seen.here_ns;
        let at = as_float(t1.saturating_sub(*self.first.get_or_insert(t1))).max(0.0);
        self.until = self.until.max(at);
        let kind_before = self.kind;
        let ways = [(t2.saturating_sub(t1), self.offset), (t4.saturating_sub(t3), -self.offset)];
        for (way, (delay, offset)) in self.ways.iter_mut().zip(ways) {
            if delay.saturating_sub(offset) < -self.bound {
                self.kind = DelayKind::Variable;
            }
            let base = if self.kind == DelayKind::Absolute { offset } else { delay };
            way.take(at, delay, base, self.stretch);
        }
        if self.kind != kind_before {
            self.ways.iter_mut().for_each(|way| way.lowest = None);
        }
        if self.ways[0].least.len() > MOST_STRETCHES {
            self.stretch *= 2.0;
            let rate = self.rate_ppm.unwrap_or(0.0);
            for way in &mut self.ways {
                way.least = way
                    .least
                    .chunks(2)
                    .filter_map(|pair| {
                        let by_delay = |a: &&Stamped, b: &&Stamped| {
                            way.corrected(**a, rate).total_cmp(&way.corrected(**b, rate))
                        };
                        pair.iter().min_by(by_delay).copied()
                    })
                    .collect();
            }
        }
    }

    /// Takes in the rate of the responder's clock as it is known now, ppm. Gives by how much this moves the earliest and latest
    /// delays that were told before against each other, nanoseconds; `None` where no rate was ever known.
    pub(super) fn estimate(&mut self, rate_ppm: Option<f64>) -> Option<f64> {
        let now = rate_ppm.or(self.rate_ppm)?;
        let before = self.rate_ppm.replace(now).unwrap_or(0.0);
        self.ways.iter_mut().for_each(|way| way.lowest = None);
        if self.kind == DelayKind::Absolute {
            return None;
        }
        Some((now - before).abs() * 1e-6 * self.until)
    }

    /// The rate that is taken out of the delays, ppm: that of synchronised clocks is not.
    fn rate_ppm(&self) -> f64 {
        self.rate_ppm.filter(|_| self.kind == DelayKind::Variable).unwrap_or(0.0)
    }

    /// Error of absolute delays by the clocks, nanoseconds: the stated bound, or 0 of one clock. `None` of relative delays.
    pub(super) fn absolute_error_ns(&self) -> Option<f64> {
        (self.kind == DelayKind::Absolute)
            .then(|| if self.bound == i64::MAX { 0.0 } else { as_float(self.bound) })
    }

    /// Time from the first departure to the latest, nanoseconds.
    pub(super) const fn until_ns(&self) -> f64 {
        self.until
    }

    /// Both directions of a reply that was just taken in. To be called after each.
    pub(super) fn returned(&mut self, seen: &LiveDelay) -> [Option<ReturnedWay>; 2] {
        let Some([t2, t3]) = seen.there_ns else { return [None, None] };
        let [t1, t4] = seen.here_ns;
        let (delay_kind, rate) = (self.kind, self.rate_ppm());
        let of = |way: &mut Way, stamp_difference_ns| {
            let delay_ns = way.corrected_latest(delay_kind, rate)?;
            Some(ReturnedWay { delay_kind, delay_ns, stamp_difference_ns })
        };
        let [forward, reverse] = &mut self.ways;
        [of(forward, t2.saturating_sub(t1)), of(reverse, t4.saturating_sub(t3))]
    }

    /// The delays of each direction since [`Self::told`] was last asked, nanoseconds.
    pub(super) fn fresh(&self) -> [Vec<f64>; 2] {
        let (kind, rate) = (self.kind, self.rate_ppm());
        self.ways.each_ref().map(|way| way.delays(kind, rate).unwrap_or_default())
    }

    /// What became known of each direction since it was last asked.
    pub(super) fn told(&mut self) -> [Option<StreamWay>; 2] {
        let (kind, rate) = (self.kind, self.rate_ppm());
        self.ways.each_mut().map(|way| way.told(kind, rate))
    }
}

#[expect(clippy::cast_precision_loss, reason = "times since the first packet, and delays from the first one")]
fn as_float(nanos: i64) -> f64 {
    nanos as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Replies every 20 ms: 2 ms there, 3 ms back, every tenth waits 5 ms more there. The far clock is an hour ahead and gains.
    fn replies(gain_ppm: i64, count: i64) -> impl Iterator<Item = LiveDelay> {
        (0..count).map(move |number| {
            let t1 = 1_700_000_000_000_000_000 + number * 20_000_000;
            let far =
                |at: i64| at + 3_600_000_000_000 + (at - 1_700_000_000_000_000_000) / 1_000_000 * gain_ppm;
            let there = 2_000_000 + if number % 10 == 9 { 5_000_000 } else { 0 };
            let t2 = t1 + there;
            let t4 = t2 + 3_000_000;
            LiveDelay {
                stream: 0,
                sequence: number.unsigned_abs(),
                round_trip_ns: t4 - t1,
                there_ns: Some([far(t2), far(t2)]),
                here_ns: [t1, t4],
            }
        })
    }

    /// With the rate of the clocks, delays count from the least: 0 for most, 5 ms for those that waited.
    #[test]
    fn rate_is_taken_out() {
        let mut ways = OneWaySoFar::new(false, None);
        replies(30, 3_000).for_each(|reply| ways.take(&reply));
        // 2,999 intervals of 20 ms at 30 ppm.
        assert!((ways.estimate(Some(30.0)).unwrap() - 1_799_400.0).abs() < 1.0);
        let [forward, reverse] = ways.told().map(Option::unwrap);
        assert_eq!((forward.delay_kind, forward.delays), (DelayKind::Variable, 3_000));
        assert!(forward.delay_median_ns.unwrap() < 1e3, "{forward:?}");
        assert!((forward.delay_p99_ns.unwrap() - 5e6).abs() < 1e3, "{forward:?}");
        assert!(reverse.delay_p99_ns.unwrap() < 1e3, "{reverse:?}");
        assert_eq!(ways.told().map(|way| way.unwrap().delays), [0, 0], "each is told once");
    }

    /// An estimate that changes by 1 ppm after a minute moves what was told by 60 µs.
    #[test]
    fn later_estimates_tell_what_they_move() {
        let mut ways = OneWaySoFar::new(false, None);
        replies(30, 3_001).for_each(|reply| ways.take(&reply));
        assert_eq!(ways.estimate(None), None);
        ways.estimate(Some(31.0));
        let moved = ways.estimate(Some(30.0)).unwrap();
        assert!((moved - 60e3).abs() < 1.0, "{moved}");
        assert_eq!(ways.estimate(None), Some(0.0), "what is not known any more is as it was");
    }

    /// Each reply has its own corrected delays, above the least so far: of the clocks' rate nothing is left in them once it is
    /// known.
    #[test]
    fn each_reply_is_corrected() {
        let mut ways = OneWaySoFar::new(false, None);
        for reply in replies(30, 3_000) {
            ways.take(&reply);
            let [forward, reverse] = ways.returned(&reply).map(Option::unwrap);
            assert_eq!(forward.stamp_difference_ns, reply.there_ns.unwrap()[0] - reply.here_ns[0]);
            assert!(forward.delay_ns >= 0.0 && reverse.delay_ns >= 0.0);
        }
        ways.estimate(Some(30.0));
        for (number, reply) in replies(30, 3_020).enumerate().skip(3_000) {
            ways.take(&reply);
            let [forward, reverse] = ways.returned(&reply).map(|way| way.unwrap().delay_ns);
            let waited = if number % 10 == 9 { 5e6 } else { 0.0 };
            assert!((forward - waited).abs() < 1e3 && reverse < 1e3, "{number}: {forward}, {reverse}");
        }
        let unstamped = LiveDelay { there_ns: None, ..replies(0, 1).next().unwrap() };
        assert_eq!(ways.returned(&unstamped), [None, None]);
    }

    /// The least of long streams is kept in a bounded number of stretches.
    #[test]
    fn memory_is_bounded() {
        let mut ways = OneWaySoFar::new(false, None);
        for reply in replies(0, 30_000) {
            ways.take(&reply);
            assert!(ways.ways[0].least.len() <= MOST_STRETCHES);
        }
        let [forward, _] = ways.told().map(Option::unwrap);
        assert!(forward.delay_median_ns.unwrap() < 1.0, "{forward:?}");
    }

    /// Of one clock the delays are absolute.
    #[test]
    fn one_clock_is_absolute() {
        let mut ways = OneWaySoFar::new(true, None);
        let reply =
            LiveDelay { stream: 0, sequence: 0, round_trip_ns: 5, there_ns: Some([7, 8]), here_ns: [5, 11] };
        ways.take(&reply);
        assert_eq!(ways.absolute_error_ns(), Some(0.0));
        let [forward, reverse] = ways.told().map(|way| way.unwrap().delay_median_ns);
        assert_eq!((forward, reverse), (Some(2.0), Some(3.0)));
    }

    /// Of synchronised clocks the delays are absolute too, without the known offset and whatever the estimated rate, unless the stamps
    /// contradict the stated bound.
    #[test]
    fn synchronised_clocks_are_absolute() {
        const HOUR: i64 = 3_600_000_000_000;
        let told = |offset_ns| {
            let stated = Synchronisation::by_user(1_000_000, offset_ns);
            let mut ways = OneWaySoFar::new(false, Some(&stated));
            replies(0, 1_000).for_each(|reply| ways.take(&reply));
            let moved = ways.estimate(Some(1.0));
            let later = replies(0, 1_001).last().unwrap();
            ways.take(&later);
            let [forward, reverse] = ways.returned(&later).map(|way| way.unwrap().delay_ns);
            let is_absolute = ways.absolute_error_ns() == Some(1e6);
            assert_eq!(is_absolute, (forward, reverse) == (2e6, 3e6), "{forward} {reverse}");
            (ways.told().map(Option::unwrap), moved)
        };
        let ([forward, reverse], moved) = told(HOUR);
        assert_eq!((forward.delay_kind, forward.delay_median_ns), (DelayKind::Absolute, Some(2e6)));
        assert_eq!((reverse.delay_kind, reverse.delay_median_ns), (DelayKind::Absolute, Some(3e6)));
        assert_eq!(moved, None);
        let ([forward, _], moved) = told(0);
        assert_eq!(forward.delay_kind, DelayKind::Variable);
        assert!(forward.delay_median_ns.unwrap() < 20e6 && moved.is_some(), "{forward:?}");
    }
}

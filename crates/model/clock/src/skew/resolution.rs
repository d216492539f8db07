//! What stamps tell apart: a clock that is read in whole milliseconds says nothing of what is less.

use super::schedule::Schedule;

/// Packets are looked at in so many classes, each by itself, so that a stamp that is not what the others are spoils one of
/// them only.
const CLASSES: usize = 64;
/// Packets of a class, at least; of fewer there are fewer classes.
const EACH: u64 = 32;
/// One class in so many is left out: that with the smallest step.
const ODD: usize = 10;
/// Stamps on a grid of which as many points as one in so many hold a packet may be those of a program that sends at equal
/// times, and tell nothing of the clock.
const REGULAR: u64 = 8;
/// Unless the delays take so many different multiples of it.
const SEVERAL: u64 = 3;
/// The stamps of fewer packets have a great step in common by chance; those of so many none above a microsecond in one of 10^15.
const FEWEST: u64 = 8;
/// Delays by themselves tell a step of which they take as many multiples as this.
const MANY: u64 = 16;

/// What stamps leave open of a raw delay, nanoseconds; 1 at the least.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct StampUncertainty {
    /// Up or down, if clocks are read to the nearest: half of what each end's stamps tell apart.
    pub(crate) off: u64,
    /// The most, if they are read to the last one that has passed: what the coarser end's tell apart.
    pub(crate) most: u64,
}

impl Default for StampUncertainty {
    fn default() -> Self {
        Self { off: 1, most: 1 }
    }
}

/// The greatest length of which all differences of some values are multiples; 0 as long as there is no difference.
#[derive(Clone, Copy, Debug, Default)]
pub struct Step {
    first: Option<i64>,
    step: u64,
}

impl Step {
    /// Begins with the value 0, so that the step divides all values.
    pub const fn from_zero() -> Self {
        Self { first: Some(0), step: 0 }
    }

    /// Takes the next value.
    pub fn take(&mut self, value: i64) {
        let first = *self.first.get_or_insert(value);
        self.join(value.abs_diff(first));
    }

    /// The length, nanoseconds.
    pub const fn length(self) -> u64 {
        self.step
    }

    fn join(&mut self, apart: u64) {
        if self.step != 1 && (self.step == 0 || !apart.is_multiple_of(self.step)) {
            self.step = common(self.step, apart);
        }
    }

    pub(super) fn absorb(&mut self, other: Self) {
        match (self.first, other.first) {
            (Some(own), Some(theirs)) => {
                self.join(other.step);
                self.join(own.abs_diff(theirs));
            }
            (None, _) => *self = other,
            (Some(_), None) => {}
        }
    }
}

/// The greatest common divisor; the other of 0.
fn common(mut a: u64, mut b: u64) -> u64 {
    while b > 0 {
        (a, b) = (b, a % b);
    }
    a
}

/// The steps of departures, arrivals, and raw delays.
type Steps = [Step; 3];

/// Finds what the stamps of one direction tell apart. The packets may come in any order.
#[derive(Clone, Debug)]
pub struct Resolution {
    classes: Box<[Steps; CLASSES]>,
    count: u64,
    /// The first departure and the last, and the least raw delay and the greatest.
    ends: Option<[(i64, i64); 2]>,
    sent: Schedule,
}

impl Default for Resolution {
    fn default() -> Self {
        Self {
            classes: Box::new([Steps::default(); CLASSES]),
            count: 0,
            ends: None,
            sent: Schedule::default(),
        }
    }
}

impl Resolution {
    /// Takes a packet's stamps, nanoseconds, each by its own clock.
    pub fn push(&mut self, departure: i64, arrival: i64) {
        let raw = arrival.saturating_sub(departure);
        // The golden ratio scatters neighbours over all classes.
        let hash = departure.cast_unsigned().wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 58;
        if let Some(class) = usize::try_from(hash).ok().and_then(|hash| self.classes.get_mut(hash)) {
            class.iter_mut().zip([departure, arrival, raw]).for_each(|(step, value)| step.take(value));
        }
        self.count += 1;
        self.sent.push(departure);
        let [at, delay] = self.ends.get_or_insert([(departure, departure), (raw, raw)]);
        *at = (at.0.min(departure), at.1.max(departure));
        *delay = (delay.0.min(raw), delay.1.max(raw));
    }

    /// Takes in what another has of the same direction.
    pub(crate) fn absorb(&mut self, other: &Self) {
        for (own, theirs) in self.classes.iter_mut().zip(other.classes.iter()) {
            own.iter_mut().zip(theirs).for_each(|(own, theirs)| own.absorb(*theirs));
        }
        self.count += other.count;
        self.sent.absorb(&other.sent);
        self.ends = match (self.ends, other.ends) {
            (Some(own), Some(theirs)) => {
                let wide = |place: usize| {
                    let (a, b): ((i64, i64), (i64, i64)) = (own[place], theirs[place]);
                    (a.0.min(b.0), a.1.max(b.1))
                };
                Some([wide(0), wide(1)])
            }
            (own, theirs) => own.or(theirs),
        };
    }

    /// What the stamps of this direction leave open. `other` is the opposite one, whose departures are by the clock of these arrivals,
    /// and whose arrivals are by that of these departures.
    pub(crate) fn told(&self, other: Option<&Self>) -> StampUncertainty {
        let Some([at, delay]) = self.ends.filter(|_| self.count >= FEWEST) else {
            return StampUncertainty::default();
        };
        let [departures, arrivals, delays] = self.steps();
        let theirs = other.filter(|other| other.count >= FEWEST).map(Self::steps);
        let span = |ends: (i64, i64)| ends.1.abs_diff(ends.0);
        let even = |span: u64, step: u64, count: u64| span / step.max(1) < count.saturating_mul(REGULAR);
        let regular = |step: u64| even(span(at), step, self.count);
        // Each clock by the stamps of both directions, if both are by the same unit.
        let joined = |own: Step, place: usize| {
            let mut all = own;
            theirs.iter().for_each(|theirs| all.absorb(theirs[place]));
            if all.step > 1 { all.step } else { own.step.max(1) }
        };
        // Of a clock that tells nothing but the times of sending, the other one's unit is taken, if that may be its own, too.
        let [sender, came] = [joined(departures, 1), joined(arrivals, 0)];
        let finer = |unit: u64, other: u64| {
            if other > 1 && unit.is_multiple_of(other) && regular(unit) { other } else { unit }
        };
        let known = theirs.map_or(1, |theirs| theirs[1].step.max(1));
        let [known, came] = [finer(known, came), if theirs.is_some() { finer(came, sender) } else { came }];
        let (departures, delays) = (departures.step, delays.step);
        let takes = |times: u64| delays > 0 && span(delay) / delays >= times;
        // Where delays are on the grid of the departures, so are the arrivals.
        let both = common(delays, departures);
        let both = if takes(SEVERAL) || !regular(both) { both.max(1) } else { 1 };
        let alone = if takes(MANY) { delays } else { 1 };
        // A program sends at equal times; nothing makes packets arrive at equal times, to what a clock tells apart.
        // If its clock was set, all of them have less in common; then the other direction's arrivals tell what that clock tells.
        let is_even = || common(departures, known) < departures && self.sent.is_even(even);
        let left = if regular(departures) || is_even() { common(departures, known) } else { departures };
        let [left, came] = [left, came].map(|step| step.max(both).max(1));
        StampUncertainty { off: u64::midpoint(left, came).max(alone / 2), most: left.max(came).max(alone) }
    }

    /// By how much a raw delay may be off, up or down, because of what the stamps do not tell, nanoseconds: half of what
    /// each end's tell apart. 1 at the least.
    pub fn nanos(&self) -> u64 {
        self.told(None).off
    }

    /// The least difference that the stamps of the coarser end resolve, nanoseconds. `other` is the opposite direction. 1 at the
    /// least.
    pub fn coarser(&self, other: &Self) -> u64 {
        self.told(Some(other)).most.max(other.told(Some(self)).most)
    }

    /// The steps of departures, arrivals and delays that most classes have.
    fn steps(&self) -> Steps {
        let mut classes = *self.classes;
        let mut used = CLASSES;
        while used > 1 && self.count < EACH * u64::try_from(used).unwrap_or(u64::MAX) {
            used /= 2;
            let (kept, joined) = classes.split_at_mut(used);
            for (own, theirs) in kept.iter_mut().zip(joined.iter()) {
                own.iter_mut().zip(theirs).for_each(|(own, theirs)| own.absorb(*theirs));
            }
        }
        [0, 1, 2].map(|place| {
            let mut steps: Vec<Step> =
                classes[..used].iter().map(|class| class[place]).filter(|one| one.first.is_some()).collect();
            // Those that have no step, because all is the same, say nothing odd.
            steps.sort_unstable_by_key(|one| if one.step == 0 { u64::MAX } else { one.step });
            let mut all = Step::default();
            steps.into_iter().skip(used / ODD).for_each(|one| all.absorb(one));
            all
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Packets 20 ms apart, give or take some of `apart`, that take 5 ms and some of `waits` ns; by stamps in units of `ticks`.
    fn found(apart: i64, waits: i64, ticks: [i64; 2]) -> u64 {
        let mut one = Resolution::default();
        let mut halves = [Resolution::default(), Resolution::default()];
        for n in 0..3_000i64 {
            let some = |most: i64, prime: i64| if most > 0 { n * n % 9_973 * prime % most } else { 0 };
            let left = n * 20_000_000 + some(apart, 1_237_003);
            let there = left + 5_000_000 + some(waits, 7_654_319);
            let (departure, arrival) = (left / ticks[0] * ticks[0], there / ticks[1] * ticks[1]);
            one.push(departure, arrival);
            halves[usize::from(n % 3 > 0)].push(departure, arrival);
        }
        let [mut first, second] = halves;
        first.absorb(&second);
        assert_eq!(first.nanos(), one.nanos());
        one.nanos()
    }

    #[test]
    fn the_coarser_unit_of_the_stamps_is_found() {
        for tick in [100, 1_000, 10_000, 1_000_000] {
            assert_eq!(found(9_999_999, 30_000_000, [tick; 2]), tick.cast_unsigned());
            assert_eq!(found(9_999_999, 0, [tick; 2]), tick.cast_unsigned(), "no waiting");
        }
        assert_eq!(found(9_999_999, 90_000_000, [15_625_000; 2]), 15_625_000, "many packets in each");
        assert_eq!(found(0, 30_000_000, [1_000_000; 2]), 1_000_000, "sent at equal times");
        assert_eq!(found(9_999_999, 30_000_000, [1_000_000, 1]), 500_000, "at one end");
        assert_eq!(found(9_999_999, 30_000_000, [1; 2]), 1);
    }

    #[test]
    fn equal_times_between_packets_are_no_unit_of_the_stamps() {
        assert_eq!(found(0, 30_000_000, [1; 2]), 1);
    }

    /// No packet takes as long as the next to the nanosecond: stamps that say so are coarser than what it waits.
    #[test]
    fn equal_times_between_arrivals_are() {
        assert_eq!(found(0, 0, [1; 2]), 10_000_000);
        assert_eq!(found(0, 900_000, [10_000_000; 2]), 10_000_000, "half of 20 ms, all delays on one tick");
        assert_eq!(found(0, 30_000_000, [10_000_000; 2]), 10_000_000, "a few ticks");
    }

    #[test]
    fn a_clock_that_tells_only_the_times_of_sending_is_taken_for_one_like_the_other() {
        let mut ways = [Resolution::default(), Resolution::default()];
        for n in 0..3_000i64 {
            let left = n * 20_000_000;
            let there = left + 5_000_000 + n / 1_500 * 1_000_000;
            ways[0].push(left, there);
            ways[1].push(there, left);
        }
        let told = [ways[0].told(Some(&ways[1])), ways[1].told(Some(&ways[0]))];
        assert_eq!(told, [StampUncertainty { off: 1_000_000, most: 1_000_000 }; 2]);
    }

    /// The sender's clock is set by 3 ms between two of its equal times, and then tells no less than before.
    #[test]
    fn what_departures_have_in_common_after_a_step_of_their_clock_is_no_unit() {
        for (unit, expected) in [(1_i64, 1), (1_000_000, 1_000_000_u64)] {
            let mut ways = [Resolution::default(), Resolution::default()];
            for n in 0..3_000i64 {
                let set = if n < 1_000 { 0 } else { 3_000_000 };
                let waits = [n * n, n * n * n].map(|some| some % 9_973 * 7_654_319 % 30_000_000);
                let left = n * 20_000_000;
                let there = left + 5_000_000 + waits[0];
                let back = there + 5_000_000 + waits[1] + set;
                ways[0].push(left + set, there);
                ways[1].push(there, back / unit * unit);
            }
            let told = [ways[0].told(Some(&ways[1])), ways[1].told(Some(&ways[0]))];
            assert_eq!(told.map(|told| told.most), [expected; 2]);
        }
    }

    #[test]
    fn a_few_stamps_of_another_kind_do_not_hide_the_unit() {
        let mut one = Resolution::default();
        for n in 0..3_000i64 {
            let odd = i64::from(n == 700 || n == 2_100) * 333_333;
            let left = n * 20_000_000 + n % 7 * 1_000_000;
            one.push(left, left + 5_000_000 + n % 5 * 1_000_000 + odd);
        }
        assert_eq!(one.nanos(), 1_000_000);
    }
}

//! The jitters, each by its own definition. "Jitter" alone means nothing: four methods are those of Chadda 2004
//! (chapter 2.5, in its order and on its terms), the fifth is that of RFC 3550.
//!
//! The methods that look at consecutive packets are defined by the seed for streams without loss; here, packets
//! are consecutive where their sequence numbers are, so that a lost packet makes no jitter.

use romer_record::OneWaySingleton;

use crate::sample::{consecutive, delay, delays, in_order_of_arrival, received};
use crate::value::{Value, Whole, real};

/// Method 1: the greatest delay minus the least; `None` without delays.
pub fn peak_to_peak(singletons: &[OneWaySingleton]) -> Option<i64> {
    let delays = delays(singletons);
    Some(delays.iter().max()?.saturating_sub(*delays.iter().min()?))
}

/// Method 2: the absolute difference of consecutive inter-arrival times, packets in order of sending. The
/// inter-arrival times are taken without their sign, as the seed's column does.
pub fn inter_arrival_difference(singletons: &[OneWaySingleton]) -> Vec<i64> {
    each_inter_arrival_difference(singletons).collect()
}

/// The same, one after the other.
pub(crate) fn each_inter_arrival_difference(singletons: &[OneWaySingleton]) -> impl Iterator<Item = i64> {
    let follow = |a: &OneWaySingleton, b: &OneWaySingleton| a.sequence.checked_add(1) == Some(b.sequence);
    let runs = received(singletons).zip(received(singletons).skip(1)).zip(received(singletons).skip(2));
    let runs = runs.filter(move |((a, b), c)| follow(a, b) && follow(b, c));
    runs.filter_map(|((a, b), c)| second_difference([a, b, c]))
}

/// Method 2 as an instrument at the receiver sees it: packets in order of arrival.
pub fn inter_arrival_difference_in_order_of_arrival(singletons: &[OneWaySingleton]) -> Vec<i64> {
    second_differences(&in_order_of_arrival(singletons)).collect()
}

/// The same of packets that are in order of arrival.
pub(crate) fn second_differences(arrived: &[&OneWaySingleton]) -> impl Iterator<Item = i64> {
    arrived.array_windows().filter_map(|run| second_difference(*run))
}

fn second_difference(run: [&OneWaySingleton; 3]) -> Option<i64> {
    let [a, b, c] = [run[0].arrival?, run[1].arrival?, run[2].arrival?];
    Some(((c - b).abs() - (b - a).abs()).abs().as_nanos())
}

/// Method 3: the absolute difference of the delays of consecutive packets, in order of sending.
pub fn delay_difference(singletons: &[OneWaySingleton]) -> Vec<i64> {
    let pairs = consecutive(singletons).filter_map(|(first, second)| delay(first).zip(delay(second)));
    pairs.map(|(first, second)| distance(first, second)).collect()
}

/// Method 3 with packets in order of arrival.
pub fn delay_difference_in_order_of_arrival(singletons: &[OneWaySingleton]) -> Vec<i64> {
    let delays = delays_in_order_of_arrival(singletons);
    delays.windows(2).map(|pair| distance(pair[0], pair[1])).collect()
}

/// Method 4: the absolute deviation of each delay from the mean delay.
pub fn deviation_from_mean(singletons: &[OneWaySingleton]) -> Vec<f64> {
    let delays = delays(singletons);
    Mean::new(&delays)
        .map_or_else(Vec::new, |mean| delays.iter().map(|delay| mean.distance(*delay)).collect())
}

/// The mean of delays.
#[derive(Clone, Copy)]
pub(crate) struct Mean<V> {
    /// One of the delays, and by how much the mean lies above it: a large common offset costs no digits.
    pivot: V,
    above: f64,
}

impl<V: Whole> Mean<V> {
    /// Of these; `None` of none.
    pub(crate) fn new(delays: &[V]) -> Option<Self> {
        let pivot = *delays.first()?;
        let above = delays.iter().map(|delay| delay.less(pivot).value()).sum::<f64>() / real(delays.len());
        Some(Self { pivot, above })
    }

    /// How far a delay lies above it.
    pub(crate) fn deviation(self, delay: V) -> f64 {
        delay.less(self.pivot).value() - self.above
    }

    /// How far a delay lies from it, whatever its sign.
    pub(crate) fn distance(self, delay: V) -> f64 {
        self.deviation(delay).abs()
    }
}

/// RFC 3550 section 6.4.1 after the last packet, packets in order of arrival; `None` below two.
pub fn rfc3550(singletons: &[OneWaySingleton]) -> Option<f64> {
    rfc3550_in_order(&in_order_of_arrival(singletons))
}

/// The same of packets that are in order of arrival.
pub(crate) fn rfc3550_in_order(arrived: &[&OneWaySingleton]) -> Option<f64> {
    let mut estimator = InterarrivalJitter::default();
    arrived.iter().filter_map(|singleton| delay(singleton)).for_each(|delay| estimator.take(delay));
    estimator.value()
}

/// The estimator of RFC 3550 section 6.4.1, J += (|D| - J) / 16, over relative transit times in the order in
/// which it is given them.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct InterarrivalJitter {
    last: Option<i64>,
    value: Option<f64>,
}

impl InterarrivalJitter {
    /// The next packet's relative transit time, nanoseconds.
    pub fn take(&mut self, transit: i64) {
        if let Some(last) = self.last.replace(transit) {
            let jitter = self.value.unwrap_or(0.0);
            self.value = Some(jitter + (distance(last, transit).value() - jitter) / 16.0);
        }
    }

    /// The jitter up to now, nanoseconds; `None` below two packets.
    pub const fn value(&self) -> Option<f64> {
        self.value
    }
}

fn delays_in_order_of_arrival(singletons: &[OneWaySingleton]) -> Vec<i64> {
    in_order_of_arrival(singletons).into_iter().filter_map(delay).collect()
}

fn distance(a: i64, b: i64) -> i64 {
    i64::try_from(a.abs_diff(b)).unwrap_or(i64::MAX)
}

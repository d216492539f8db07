//! Movement of the minimum delays that only a clock explains.
//!
//! Let f and r be the minimum delays forward and in reverse within a window of time. An error of the responder's clock adds to one what
//! it takes from the other: it moves (f - r) / 2 and leaves (f + r) / 2. A change of the path in one direction moves both alike, and
//! noise moves both as far. So where half the difference moves much farther than half the sum, a clock moves it.

use romer_record::OneWaySingleton;
use romer_units::Direction;

use super::stamps::moment;

/// The windows that a run is divided into.
const WINDOWS: u8 = 64;
/// The fewest windows with packets in both directions.
const FEWEST_WINDOWS: usize = 8;
/// How many times as far as half the sum half the difference moves where a clock moves it. The ranges of as many independent normal
/// values differ that much with a probability below 1e-4.
const CLOCK: f64 = 2.0;

/// The range of (f - r) / 2, nanoseconds, where it is clearly larger than that of (f + r) / 2. `delay` is the delay of a singleton.
pub(super) fn opposite_movement(
    [forward, reverse]: [&[OneWaySingleton]; 2],
    delay: impl Fn(&OneWaySingleton) -> Option<i128>,
) -> Option<f64> {
    let times = |singletons: &[OneWaySingleton], heading| -> Vec<(i64, i128)> {
        singletons.iter().filter_map(|one| Some((moment(one, heading)?, delay(one)?))).collect()
    };
    let directions = [times(forward, Direction::Forward), times(reverse, Direction::Reverse)];
    let all = || directions.iter().flatten().map(|(at, _)| *at);
    let (first, last) = (all().min()?, all().max()?);
    let span = i128::from(last) - i128::from(first) + 1;
    let minima = directions.map(|times| {
        let mut minima = [None::<i128>; WINDOWS as usize];
        for (at, delay) in times {
            let window = (i128::from(at) - i128::from(first)) * i128::from(WINDOWS) / span;
            if let Some(least) = usize::try_from(window).ok().and_then(|window| minima.get_mut(window)) {
                *least = Some(least.map_or(delay, |least| least.min(delay)));
            }
        }
        minima
    });
    let [forward, reverse] = minima;
    let pairs: Vec<(i128, i128)> = forward.into_iter().zip(reverse).filter_map(|(f, r)| f.zip(r)).collect();
    if pairs.len() < FEWEST_WINDOWS {
        return None;
    }
    let difference = half_range(pairs.iter().map(|(f, r)| f - r))?;
    let sum = half_range(pairs.iter().map(|(f, r)| f + r))?;
    (difference > CLOCK * sum).then_some(difference)
}

/// Half of the range of values.
#[expect(clippy::cast_precision_loss, reason = "delays are below 2^53 ns")]
fn half_range(values: impl Iterator<Item = i128> + Clone) -> Option<f64> {
    Some((values.clone().max()? - values.min()?) as f64 / 2.0)
}

#[cfg(test)]
mod tests {
    use romer_record::{Fate, Leaving};
    use romer_units::random::{RandomStream, Seed};
    use romer_units::{Duration, Timestamp};

    use super::*;

    /// Singletons every 50 ms for 150 s, with these movements of the minimum delays.
    fn movement(forward: impl Fn(f64) -> f64, reverse: impl Fn(f64) -> f64) -> Option<f64> {
        let random = RandomStream::new(Seed([1, 2, 3, 4, 5, 6]), [0, 0]);
        let singletons = |which: u64, moved: &dyn Fn(f64) -> f64| -> Vec<OneWaySingleton> {
            let each = (0..3_000_u32).map(|number| {
                let at = i64::from(number) * 50_000_000;
                let waited = -1e5 * random.unit(which * 3_000 + u64::from(number)).ln();
                let delay = 5e6 + waited + moved(f64::from(number) * 0.05);
                OneWaySingleton {
                    sequence: number.into(),
                    copy: 0,
                    size: 60,
                    fate: Fate::Arrived,
                    departure: Some(Timestamp::from_nanos(at)),
                    arrival: Some(Timestamp::from_nanos(at)),
                    delay: Some(Duration::from_nanos_f64(delay)),
                    ttl: None,
                    tos: None,
                    leaving: Leaving::UNKNOWN,
                }
            });
            each.collect()
        };
        let [forward, reverse] = [singletons(0, &forward), singletons(1, &reverse)];
        opposite_movement([&forward, &reverse], |singleton| Some(singleton.delay?.as_nanos().into()))
    }

    /// A clock that swings by 2 ms shows as much; noise, and a path of one direction, show nothing.
    #[test]
    fn only_clocks_move_oppositely() {
        let swing = |t: f64| 2e6 * (t / 16.0).sin();
        let found = movement(swing, |t| -swing(t)).unwrap();
        assert!((found - 4e6).abs() < 0.4e6, "{found}");
        assert_eq!(movement(|_| 0.0, |_| 0.0), None);
        assert_eq!(movement(swing, |_| 0.0), None);
        assert_eq!(movement(swing, swing), None);
    }
}

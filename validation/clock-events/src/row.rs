//! A row: plays of one family, their tolerances, and the figures over all of them.

use crate::draws::Draws;
use crate::judge::{Counts, Outcome, Tolerance};
use crate::play::Play;
use crate::world::World;

/// A family of plays.
pub(crate) struct Row {
    /// Name, unique.
    pub(crate) name: String,
    /// Tolerances of events.
    pub(crate) tolerance: Tolerance,
    /// Whether the true rate is defined. It is not if most of the run is slewed, or if the estimate should be refused.
    pub(crate) has_rate: bool,
    /// Plays at most: runs of many packets take long.
    pub(crate) most_plays: u32,
    /// The play of a seed.
    pub(crate) make: Box<dyn Fn(u32) -> Play + Sync>,
}

/// Tolerance unless a row states another.
const TOLERANCE: Tolerance = Tolerance { time_s: 0.3, size_s: 1e-3 };

impl Row {
    /// Plays of a world that is drawn for each seed.
    pub(crate) fn new(name: &str, draw: impl Fn(u32, &mut Draws) -> World + Sync + 'static) -> Self {
        let make = move |seed| {
            let mut draws = Draws::new(seed, 0);
            draw(seed, &mut draws).play(seed)
        };
        Self::of_plays(name, make)
    }

    /// Any plays.
    pub(crate) fn of_plays(name: &str, make: impl Fn(u32) -> Play + Sync + 'static) -> Self {
        Self {
            name: name.into(),
            tolerance: TOLERANCE,
            has_rate: true,
            most_plays: u32::MAX,
            make: Box::new(make),
        }
    }

    /// With other tolerances, seconds.
    pub(crate) fn within(mut self, time_s: f64, size_s: f64) -> Self {
        self.tolerance = Tolerance { time_s, size_s };
        self
    }

    /// Without a true rate.
    pub(crate) fn without_rate(mut self) -> Self {
        self.has_rate = false;
        self
    }

    /// With at most this number of plays.
    pub(crate) fn at_most(mut self, plays: u32) -> Self {
        self.most_plays = plays;
        self
    }
}

/// The figures of a method over the plays of a row.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Figures {
    pub(crate) row: String,
    pub(crate) method: String,
    /// Whether rates were compared.
    pub(crate) has_rate: bool,
    /// One outcome per play, by seed.
    pub(crate) outcomes: Vec<Outcome>,
    /// Seconds of computation.
    pub(crate) seconds: f64,
}

impl Figures {
    /// Plays without an estimate of the rate.
    pub(crate) fn refused(&self) -> usize {
        self.outcomes.iter().filter(|one| one.rate.is_none()).count()
    }

    /// Errors of the rate, ppm.
    pub(crate) fn errors(&self) -> Vec<f64> {
        let all = self.outcomes.iter().filter_map(|one| Some(one.rate?.0));
        if self.has_rate { all.collect() } else { Vec::new() }
    }

    /// Root of the mean square of the errors, ppm.
    pub(crate) fn rms(&self) -> Option<f64> {
        rms(&self.errors())
    }

    /// Mean of the errors, ppm.
    pub(crate) fn bias(&self) -> Option<f64> {
        let errors = self.errors();
        (!errors.is_empty()).then(|| errors.iter().sum::<f64>() / errors.len() as f64)
    }

    /// Median of the sizes of the errors, ppm.
    pub(crate) fn median(&self) -> Option<f64> {
        middle(self.errors().iter().map(|error| error.abs()))
    }

    /// Share of intervals that contain the true rate.
    pub(crate) fn coverage(&self) -> Option<f64> {
        let all: Vec<bool> = self
            .outcomes
            .iter()
            .filter_map(|one| Some(one.rate?.1))
            .map(|[low, high]| low <= 0.0 && high >= 0.0)
            .collect();
        (self.has_rate && !all.is_empty()).then(|| share(all.iter().filter(|held| **held).count(), all.len()))
    }

    /// Median half width of the intervals, ppm.
    pub(crate) fn half_width(&self) -> Option<f64> {
        let intervals = self.outcomes.iter().filter_map(|one| Some(one.rate?.1));
        middle(intervals.map(|[low, high]| (high - low) / 2.0))
    }

    /// Counts of a kind over all plays.
    pub(crate) fn counts(&self, place: usize) -> Counts {
        let mut sum = Counts::default();
        self.outcomes.iter().for_each(|one| sum.add(one.counts[place]));
        sum
    }

    /// Share of plays in which exactly the true changes are reported.
    pub(crate) fn exact(&self) -> f64 {
        share(self.outcomes.iter().filter(|one| one.is_exact()).count(), self.outcomes.len())
    }

    /// Largest ratio of a delay's error to the stated error.
    pub(crate) fn worst_ratio(&self) -> Option<f64> {
        let ratios = self.outcomes.iter().filter_map(|one| one.delays);
        ratios.map(|one| one.worst_ns / one.stated_ns.max(1.0)).reduce(f64::max)
    }

    /// Mean share of delays with an error above the stated error.
    pub(crate) fn beyond(&self) -> Option<f64> {
        let all: Vec<f64> = self.outcomes.iter().filter_map(|one| Some(one.delays?.beyond)).collect();
        (!all.is_empty()).then(|| all.iter().sum::<f64>() / all.len() as f64)
    }

    /// Share of plays in which no delay has an error above the stated error.
    pub(crate) fn all_within(&self) -> Option<f64> {
        let all: Vec<f64> = self.outcomes.iter().filter_map(|one| Some(one.delays?.beyond)).collect();
        (!all.is_empty()).then(|| share(all.iter().filter(|beyond| **beyond == 0.0).count(), all.len()))
    }

    /// Median of the root mean square errors of delays, nanoseconds.
    pub(crate) fn delay_rms(&self) -> Option<f64> {
        middle(self.outcomes.iter().filter_map(|one| Some(one.delays?.rms_ns)))
    }

    /// Median of the stated errors of delays, nanoseconds.
    pub(crate) fn stated(&self) -> Option<f64> {
        middle(self.outcomes.iter().filter_map(|one| Some(one.delays?.stated_ns)))
    }

    /// Share of bounds that contain the offset.
    pub(crate) fn bounded(&self) -> Option<f64> {
        let all: Vec<bool> = self.outcomes.iter().filter_map(|one| one.bounded).collect();
        (!all.is_empty()).then(|| share(all.iter().filter(|held| **held).count(), all.len()))
    }
}

/// The upper median.
fn middle(values: impl Iterator<Item = f64>) -> Option<f64> {
    let mut values: Vec<f64> = values.collect();
    values.sort_by(f64::total_cmp);
    values.get(values.len() / 2).copied()
}

/// Root of the mean square.
pub(crate) fn rms(errors: &[f64]) -> Option<f64> {
    let square = errors.iter().map(|error| error * error).sum::<f64>();
    (!errors.is_empty()).then(|| (square / errors.len() as f64).sqrt())
}

/// A share; 0 of nothing.
pub(crate) fn share(part: usize, whole: usize) -> f64 {
    part as f64 / whole.max(1) as f64
}

//! What holds when: the settings of one path, by time.

use std::sync::Arc;

use romer_units::random::RandomStream;

use crate::config::Path;
use crate::generator::{Owner, Purpose};
use crate::nanos::Nanos;
use crate::regimes::RegimeState;

/// The settings of one path, each from its moment on; after `every`, from the beginning again.
#[derive(Clone, Debug)]
pub(crate) struct Timeline {
    /// The first at 0, ascending.
    steps: Arc<[(Nanos, Arc<Path>)]>,
    every: Option<Nanos>,
    /// The numbers of regimes, and how long before the start they begin to count.
    regimes: RandomStream,
    before_start: Nanos,
}

/// A place in a timeline.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Cursor {
    pub(crate) round: i64,
    index: usize,
    /// Where a path with regimes is in them.
    regime: Option<RegimeState>,
}

impl Cursor {
    /// The number of the regime; 0 where there are none.
    pub(crate) fn regime(&self) -> usize {
        self.regime.map_or(0, |regime| regime.state)
    }
}

impl Timeline {
    /// `base` first, then the steps.
    pub(crate) fn new(
        owner: Owner,
        base: Arc<Path>,
        steps: impl Iterator<Item = (Nanos, Arc<Path>)>,
        every: Option<Nanos>,
    ) -> Self {
        let every = every.filter(|every| *every > 0);
        let within = steps.filter(|(at, _)| every.is_none_or(|every| *at < every));
        Self {
            steps: core::iter::once((0, base)).chain(within).collect(),
            every,
            regimes: owner.counter_stream(Purpose::Regimes),
            before_start: 0,
        }
    }

    /// Regimes count from so long before the start.
    pub(crate) const fn begin_before(&mut self, before_start: Nanos) {
        self.before_start = before_start;
    }

    /// The place at the start.
    pub(crate) fn first(&self) -> Cursor {
        let mut cursor = Cursor::default();
        self.advance(&mut cursor, 0);
        cursor
    }

    fn step_path(&self, cursor: Cursor) -> &Arc<Path> {
        &self.steps[cursor.index.min(self.steps.len() - 1)].1
    }

    pub(crate) fn path(&self, cursor: Cursor) -> &Arc<Path> {
        let path = self.step_path(cursor);
        let regimes = path.regimes.as_ref();
        regimes.and_then(|regimes| regimes.states().get(cursor.regime())).unwrap_or(path)
    }

    /// The paths that hold in turn until the next step: the regimes, or one path.
    pub(crate) fn in_turn(&self, cursor: Cursor) -> &[Arc<Path>] {
        crate::config::regimes_of(self.step_path(cursor))
    }

    /// Every setting; of one with regimes, each of them.
    pub(crate) fn paths(&self) -> impl Iterator<Item = &Arc<Path>> {
        self.steps.iter().flat_map(|(_, path)| crate::config::regimes_of(path))
    }

    /// The most regimes of any setting.
    pub(crate) fn most_regimes(&self) -> usize {
        self.steps
            .iter()
            .filter_map(|(_, path)| Some(path.regimes.as_ref()?.states().len()))
            .max()
            .unwrap_or(0)
    }

    /// Whether `same` holds for each setting and the next.
    pub(crate) fn is_uniform(&self, same: impl Fn(&Path, &Path) -> bool) -> bool {
        self.paths().zip(self.paths().skip(1)).all(|(a, b)| same(a, b))
    }

    /// When the setting changes next, after the start. With regimes it may be the same after it.
    pub(crate) fn next_at(&self, cursor: Cursor) -> Option<Nanos> {
        let step = self.next_step_at(cursor);
        let change = self.step_path(cursor).regimes.as_ref().zip(cursor.regime).map(|(regimes, known)| {
            regimes.next_change(&self.regimes, known).saturating_sub(self.before_start)
        });
        match (step, change) {
            (Some(step), Some(change)) => Some(step.min(change)),
            (step, change) => step.or(change),
        }
    }

    /// The same for steps alone.
    fn next_step_at(&self, cursor: Cursor) -> Option<Nanos> {
        let round = self.every.map_or(0, |every| every.saturating_mul(cursor.round));
        match self.steps.get(cursor.index + 1) {
            Some((at, _)) => Some(round.saturating_add(*at)),
            None if self.steps.len() > 1 => self.every.map(|every| round.saturating_add(every)),
            None => None,
        }
    }

    /// Leaves out whole rounds, if there are several up to `since_start`, so that the last of them and what has begun
    /// of another are still before the cursor: each setting was met in it.
    pub(crate) fn skip(&self, cursor: &mut Cursor, since_start: Nanos) {
        if let Some(every) = self.every.filter(|_| self.steps.len() > 1) {
            let round = since_start.max(0) / every - 2;
            if round > cursor.round {
                cursor.round = round;
            }
        }
        self.find_regime(cursor, since_start);
    }

    /// Of regimes, which all may be left out, takes the one of a moment before the next step.
    fn find_regime(&self, cursor: &mut Cursor, since_start: Nanos) {
        let regimes = self.step_path(*cursor).regimes.as_ref();
        let until = self.next_step_at(*cursor).map_or(since_start, |next| since_start.min(next - 1));
        cursor.regime = regimes
            .map(|regimes| regimes.at(&self.regimes, cursor.regime, until.saturating_add(self.before_start)));
    }

    /// Moves on to what holds `since_start` after the start.
    pub(crate) fn advance(&self, cursor: &mut Cursor, since_start: Nanos) {
        if let Some(every) = self.every.filter(|_| self.steps.len() > 1) {
            let round = since_start.max(0) / every;
            if round > cursor.round {
                *cursor = Cursor { round, ..Cursor::default() };
            }
        }
        while self.next_step_at(*cursor).is_some_and(|at| at <= since_start)
            && cursor.index + 1 < self.steps.len()
        {
            (cursor.index, cursor.regime) = (cursor.index + 1, None);
        }
        self.find_regime(cursor, since_start);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn path(flush: Nanos) -> Arc<Path> {
        Arc::new(Path { flush, ..Path::default() })
    }

    #[test]
    fn the_setting_is_that_of_the_last_step_and_repeats() {
        let steps = [(10, path(1)), (10, path(2)), (30, path(3)), (70, path(4))];
        let owner = Owner {
            seed: romer_units::random::Seed([1; 6]),
            generator: crate::generator::Generator::Counter,
            port: 0,
            flow: 0,
        };
        let timeline = Timeline::new(owner, path(0), steps.into_iter(), Some(50));
        let mut cursor = Cursor::default();
        let mut at = |now| {
            timeline.advance(&mut cursor, now);
            timeline.path(cursor).flush
        };
        let seen: Vec<Nanos> =
            [0, 9, 10, 29, 30, 49, 50, 60, 80, 99, 1_000_000, 1_000_010].map(&mut at).into();
        assert_eq!(seen, [0, 0, 2, 2, 3, 3, 0, 2, 3, 3, 0, 2]);
        assert_eq!(timeline.next_at(cursor), Some(1_000_030));
    }
}

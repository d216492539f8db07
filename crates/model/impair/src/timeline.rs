//! What holds when: the settings of one path, by time.

use std::sync::Arc;

use crate::config::Path;
use crate::nanos::Nanos;

/// The settings of one path, each from its moment on; after `every`, from the beginning again.
#[derive(Clone, Debug)]
pub(crate) struct Timeline {
    /// The first at 0, ascending.
    steps: Arc<[(Nanos, Arc<Path>)]>,
    every: Option<Nanos>,
}

/// A place in a timeline.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Cursor {
    pub(crate) round: i64,
    index: usize,
}

impl Timeline {
    /// `base` first, then the steps.
    pub(crate) fn new(
        base: Arc<Path>,
        steps: impl Iterator<Item = (Nanos, Arc<Path>)>,
        every: Option<Nanos>,
    ) -> Self {
        let every = every.filter(|every| *every > 0);
        let within = steps.filter(|(at, _)| every.is_none_or(|every| *at < every));
        Self { steps: core::iter::once((0, base)).chain(within).collect(), every }
    }

    pub(crate) fn path(&self, cursor: Cursor) -> &Arc<Path> {
        &self.steps[cursor.index.min(self.steps.len() - 1)].1
    }

    /// Every setting.
    pub(crate) fn paths(&self) -> impl Iterator<Item = &Arc<Path>> {
        self.steps.iter().map(|(_, path)| path)
    }

    /// Whether `same` holds for each setting and the next.
    pub(crate) fn is_uniform(&self, same: impl Fn(&Path, &Path) -> bool) -> bool {
        self.steps.windows(2).all(|pair| same(&pair[0].1, &pair[1].1))
    }

    /// When the setting changes next, after the start.
    pub(crate) fn next_at(&self, cursor: Cursor) -> Option<Nanos> {
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
    }

    /// Moves on to what holds `since_start` after the start.
    pub(crate) fn advance(&self, cursor: &mut Cursor, since_start: Nanos) {
        if let Some(every) = self.every.filter(|_| self.steps.len() > 1) {
            let round = since_start.max(0) / every;
            if round > cursor.round {
                *cursor = Cursor { round, index: 0 };
            }
        }
        while self.next_at(*cursor).is_some_and(|at| at <= since_start) && cursor.index + 1 < self.steps.len()
        {
            cursor.index += 1;
        }
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
        let timeline = Timeline::new(path(0), steps.into_iter(), Some(50));
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

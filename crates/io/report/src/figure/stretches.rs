//! What there was in each stretch of time, exactly, where a chart draws some points for many: what one points at between them.

use super::ranks::share;

/// Stretches of a chart: about as many as can be told apart with a pointer.
const STRETCHES: usize = 400;

/// Of each stretch of the axis from 0 to its end: how many packets there are, how many were lost besides, and the least and the
/// greatest value.
#[derive(Clone, Debug)]
pub(crate) struct Stretches {
    end: f64,
    pub(crate) all: Vec<Stretch>,
}

/// See [`Stretches`].
#[derive(Clone, Copy, Debug)]
pub(crate) struct Stretch {
    pub(crate) of: usize,
    pub(crate) lost: usize,
    pub(crate) least: f64,
    pub(crate) greatest: f64,
}

impl Stretches {
    pub(crate) fn new(end: f64) -> Self {
        let none = Stretch { of: 0, lost: 0, least: f64::INFINITY, greatest: f64::NEG_INFINITY };
        Self { end, all: vec![none; STRETCHES] }
    }

    fn at(&mut self, x: f64) -> Option<&mut Stretch> {
        let place = place(x, self.end, STRETCHES);
        self.all.get_mut(place)
    }

    pub(crate) fn push(&mut self, (x, y): (f64, f64)) {
        if let Some(stretch) = self.at(x) {
            stretch.of += 1;
            (stretch.least, stretch.greatest) = (stretch.least.min(y), stretch.greatest.max(y));
        }
    }

    /// The same with values in another unit, of so many of these.
    pub(crate) fn in_units(mut self, of: f64) -> Self {
        for stretch in &mut self.all {
            (stretch.least, stretch.greatest) = (stretch.least / of, stretch.greatest / of);
        }
        self
    }

    pub(crate) fn lose(&mut self, x: f64) {
        if let Some(stretch) = self.at(x) {
            stretch.lost += 1;
        }
    }
}

/// In which of so many columns from 0 to `end` a moment is.
pub(super) fn place(x: f64, end: f64, columns: usize) -> usize {
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a column of a chart")]
    let place = (x / end * share(columns, 1)) as usize;
    place.min(columns - 1)
}

/// Moments that are drawn as one mark, for they are nearer than can be told apart.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Mark {
    pub(crate) from: f64,
    pub(crate) to: f64,
    pub(crate) count: usize,
    /// Of so many probes from the first to the last of them; 0 where they are not of probes.
    pub(crate) of: usize,
}

/// The most marks at an edge.
const MOST_MARKS: usize = super::thin::MOST_MARKS;

/// Marks at an edge: each on its own, or, where there are many, those one that are nearer than about a pixel of the widest chart.
pub(crate) fn marks(mut moments: Vec<f64>) -> Vec<Mark> {
    moments.sort_unstable_by(f64::total_cmp);
    let step =
        moments.last().filter(|_| moments.len() > MOST_MARKS).map_or(0.0, |last| last * share(1, MOST_MARKS));
    let mut marks: Vec<Mark> = Vec::new();
    for moment in moments {
        match marks.last_mut() {
            Some(mark) if moment - mark.from < step => (mark.to, mark.count) = (moment, mark.count + 1),
            _ => marks.push(Mark { from: moment, to: moment, count: 1, of: 0 }),
        }
    }
    marks
}

/// The same of probes that were `sent`: how many there are from the first to the last of each mark.
pub(crate) fn marks_among(moments: Vec<f64>, sent: impl Iterator<Item = f64>) -> Vec<Mark> {
    let mut marks = marks(moments);
    for moment in sent {
        let place = marks.partition_point(|mark| mark.to < moment);
        if let Some(mark) = marks.get_mut(place).filter(|mark| mark.from <= moment) {
            mark.of += 1;
        }
    }
    marks
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mark_for_several_losses_says_of_how_many_probes_they_are() {
        let few = marks_among(vec![7.0, 3.0], (0..10).map(f64::from));
        assert_eq!(
            few.iter().map(|mark| (mark.from, mark.to, mark.count, mark.of)).collect::<Vec<_>>(),
            [(3.0, 3.0, 1, 1), (7.0, 7.0, 1, 1)]
        );
        // Every tenth of 100,000, and all of a thousand.
        let lost = |n: &u32| n.is_multiple_of(10) || (50_000..51_000).contains(n);
        let moments: Vec<f64> = (0..100_000).filter(lost).map(f64::from).collect();
        let count = moments.len();
        let marks = marks_among(moments, (0..100_000).map(f64::from));
        assert!(marks.len() <= MOST_MARKS + 1);
        assert_eq!(marks.iter().map(|mark| mark.count).sum::<usize>(), count);
        for mark in &marks {
            assert!((mark.to - mark.from + 1.0 - share(mark.of, 1)).abs() < 1e-9, "{mark:?}");
        }
        assert!(marks.iter().any(|mark| mark.count == mark.of && mark.of > 100));
    }

    #[test]
    fn a_stretch_has_what_there_was_in_it() {
        let mut stretches = Stretches::new(400.0);
        [(0.5, 7.0), (0.7, 3.0), (400.0, 1.0)].into_iter().for_each(|point| stretches.push(point));
        stretches.lose(0.1);
        let first = stretches.all[0];
        assert_eq!((first.of, first.lost), (2, 1));
        assert!((first.least - 3.0).abs() < 1e-9 && (first.greatest - 7.0).abs() < 1e-9);
        assert_eq!(stretches.all[399].of, 1, "the end belongs to the last");
        assert_eq!(stretches.all[1].of, 0);
    }
}

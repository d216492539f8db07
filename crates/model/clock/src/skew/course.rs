//! The courses that a clock may have taken between two levels: those that a direction shows by itself, and a slew beside a
//! step. All packets of both directions say which it was.
//!
//! No line is sought between the packets of both directions: how high a course is, one direction's least packets say, and
//! the other's judge it.

use super::near::cost;
use super::transition::Transition;

/// Moments that are tried for each change, and how often what was found is looked for more finely.
const MOMENTS: u32 = 24;
const FINER: u32 = 3;
/// A further change has to be so much plainer, as the logarithm of the likelihood.
const PLAINER: f64 = 6.0;
/// Packets tell the height of a ramp from this part of it on, and so many cells at least: each of few may have waited.
const RAISED: f64 = 0.25;
const TELLING: usize = 5;
/// Packets that show that a clock was away for a while, at least: of few a stamp may be wrong.
const SHOWING: usize = 3;
/// What is less than this share of the greatest change is none.
const SHARE: f64 = 0.04;

/// The changes of the responder's clock, in order: from when to when, seconds, and by how much, nanoseconds.
#[derive(Clone, Debug, Default)]
pub(crate) struct Course {
    pub(crate) changes: Vec<(f64, f64, f64)>,
}

/// One direction around changes.
pub(crate) struct DirectionCells {
    /// When, and how high above the level before.
    pub(crate) cells: Vec<(f64, f64)>,
    /// The level before.
    pub(crate) level: f64,
    /// By how much that after is higher, and what that may be off.
    pub(crate) after: f64,
    pub(crate) error: f64,
    /// What cells wait on average.
    pub(crate) wait: f64,
    /// How it sees that the responder's clock is ahead.
    pub(crate) sign: f64,
}

impl Course {
    /// By how much the clock is further ahead than before.
    pub(crate) fn at(&self, x: f64) -> f64 {
        self.changes.iter().map(|change| ramp(*change, x)).sum()
    }

    /// The most that it is ahead or behind, against what it was before.
    pub(crate) fn most(&self) -> f64 {
        let mut sum = 0.0;
        let mut most: f64 = 0.0;
        for (_, _, size) in &self.changes {
            sum += size;
            most = most.max(f64::abs(sum));
        }
        most
    }

    /// Whether packets show each time in which the clock was further ahead, or behind, than both before and afterwards: those that come out
    /// shorter for it. That others take longer a queue does as well; and where no packet came nothing speaks against anything.
    pub(crate) fn is_shown(&self, sides: [&DirectionCells; 2]) -> bool {
        let net: f64 = self.changes.iter().map(|change| change.2).sum();
        let (mut sum, mut most) = (0.0, [0.0f64; 2]);
        for (_, _, size) in &self.changes {
            sum += size;
            // Beyond both levels: ahead, and behind.
            most = [most[0].max(sum - net.max(0.0)), most[1].max(net.min(0.0) - sum)];
        }
        let least = SHARE * self.most();
        let beyond = [(most[0], 1.0, net.max(0.0)), (most[1], -1.0, net.min(0.0))];
        beyond.into_iter().filter(|(most, ..)| *most > least).all(|(most, way, level)| {
            // The direction that sees as lower what goes that way.
            let shorter = sides.into_iter().filter(|side| side.sign * way < 0.0);
            let shows = |side: &DirectionCells| {
                let cells = side.cells.iter().filter(|(x, height)| {
                    let further = way * (self.at(*x) - level);
                    further > 0.5 * most && *height < side.sign * level - 0.5 * further
                });
                cells.count() >= SHOWING
            };
            shorter.into_iter().all(shows)
        })
    }

    /// What it costs that the clock took this course.
    pub(crate) fn cost<const N: usize>(&self, sides: [&DirectionCells; N]) -> f64 {
        let each = sides.into_iter().map(|side| {
            cost(side.cells.iter().map(|(x, height)| height - side.sign * self.at(*x)), side.wait)
        });
        each.sum()
    }
}

fn ramp((from, to, size): (f64, f64, f64), x: f64) -> f64 {
    if x >= to { size } else { size * ((x - from) / (to - from)).clamp(0.0, 1.0) }
}

impl DirectionCells {
    /// How many cells lie below what they can if the clock took this course by more than `low` (below 0).
    pub(crate) fn early(&self, course: &Course, low: f64) -> usize {
        self.cells.iter().filter(|(x, height)| height - self.sign * course.at(*x) < low).count()
    }

    /// The same seen from the end backwards, above the level after.
    fn backwards(&self, net: f64) -> Self {
        let cells = self.cells.iter().rev().map(|(x, height)| (-x, height - self.sign * net)).collect();
        Self { cells, ..*self }
    }

    /// The height of a ramp that this direction's packets say, up to the moment `until`.
    fn height(&self, from: f64, to: f64, until: f64) -> Option<f64> {
        let begin = self.cells.partition_point(|cell| cell.0 <= from);
        let of_it = self.cells[begin..].iter().take_while(|cell| cell.0 < until);
        let each = of_it.filter_map(|(x, height)| {
            let share = ramp((from, to, 1.0), *x);
            (share >= RAISED).then(|| height / share)
        });
        let (least, cells) = each.fold((f64::INFINITY, 0), |(least, cells), one| (one.min(least), cells + 1));
        (cells >= TELLING).then_some(self.sign * least)
    }
}

/// The course that explains the packets of both directions best: between `span`'s moments and a width before and after them, from 0 to `net`.
/// `shown` are the changes that each direction shows. What takes less than `gradual` is a step.
pub(crate) fn best(
    sides: [&DirectionCells; 2],
    span: (f64, f64, f64),
    net: f64,
    shown: [Vec<Transition>; 2],
    gradual: f64,
) -> Option<Course> {
    let own = shown.into_iter().filter(|shown| !shown.is_empty()).map(|shown| {
        let changes = shown.iter().map(|one| (one.from, one.to, one.size)).collect();
        ending_at(net, Course { changes })
    });
    let backwards = sides.map(|side| side.backwards(net));
    let forward = slew_and_step(sides, (span.0 - span.2, span.1 + span.2), net);
    let mirrored = slew_and_step([&backwards[0], &backwards[1]], (-span.1 - span.2, span.2 - span.0), -net);
    let mirrored = mirrored.map(|course| Course {
        changes: course.changes.into_iter().rev().map(|(from, to, size)| (-to, -from, -size)).collect(),
    });
    let alone = slew(sides, (span.0 - span.2, span.1 + span.2), net);
    let all = own.chain(alone).chain(forward).chain(mirrored).map(|course| plain(net, course, gradual));
    let priced = all.map(|course| {
        (
            course.cost(sides) + PLAINER * f64::from(u32::try_from(course.changes.len()).unwrap_or(u32::MAX)),
            course,
        )
    });
    priced.min_by(|a, b| a.0.total_cmp(&b.0)).map(|(_, course)| course)
}

/// The course with its greatest change such that it ends at `net`.
fn ending_at(net: f64, mut course: Course) -> Course {
    let sum: f64 = course.changes.iter().map(|change| change.2).sum();
    let greatest = course.changes.iter_mut().max_by(|a, b| a.2.abs().total_cmp(&b.2.abs()));
    if let Some(greatest) = greatest {
        greatest.2 += net - sum;
    }
    course
}

/// The course without what is too little to be told, and with steps in place of short slews.
fn plain(net: f64, mut course: Course, gradual: f64) -> Course {
    let most = course.changes.iter().map(|change| change.2.abs()).fold(0.0, f64::max);
    course.changes.retain(|change| change.2.abs() > SHARE * most);
    for (from, to, _) in &mut course.changes {
        if *to - *from <= gradual {
            let at = f64::midpoint(*from, *to);
            (*from, *to) = (at, at);
        }
    }
    course.changes.sort_by(|a, b| a.0.total_cmp(&b.0));
    ending_at(net, course)
}

/// A slew alone, with the ends that explain the packets of both directions best.
fn slew(sides: [&DirectionCells; 2], (low, high): (f64, f64), net: f64) -> Option<Course> {
    let mut unit = (high - low) / f64::from(MOMENTS);
    let moments = |n: u32| low + unit * f64::from(n);
    let pairs = (0..MOMENTS).flat_map(|a| (a + 1..=MOMENTS).map(move |b| (moments(a), moments(b))));
    let mut found: Option<(f64, (f64, f64))> = None;
    let mut consider = |pair: (f64, f64)| {
        let cost = Course { changes: vec![(pair.0, pair.1, net)] }.cost(sides);
        if found.is_none_or(|best| cost < best.0) {
            found = Some((cost, pair));
        }
        found.map(|best| best.1)
    };
    let mut at = None;
    for pair in pairs.collect::<Vec<_>>() {
        at = consider(pair);
    }
    for _ in 0..FINER {
        unit /= 3.0;
        let (a, b) = at?;
        let near = || [-2.0, -1.0, 0.0, 1.0, 2.0].into_iter();
        for pair in near().flat_map(|i| near().map(move |j| (a + unit * i, b + unit * j))) {
            if pair.0 < pair.1 {
                at = consider(pair);
            }
        }
    }
    at.map(|(from, to)| Course { changes: vec![(from, to, net)] })
}

/// A slew and a step after it.
fn slew_and_step(sides: [&DirectionCells; 2], (low, high): (f64, f64), net: f64) -> Option<Course> {
    let mut unit = (high - low) / f64::from(MOMENTS);
    let moment = |n: u32| low + unit * f64::from(n);
    let mut found: Option<(f64, [f64; 3], Course)> = None;
    let mut consider = |[a, b, t]: [f64; 3]| {
        for side in sides {
            let Some(height) = side.height(a, b, t) else { continue };
            let course = Course { changes: vec![(a, b, height), (t, t, net - height)] };
            let cost = course.cost(sides);
            if found.as_ref().is_none_or(|best| cost < best.0) {
                found = Some((cost, [a, b, t], course));
            }
        }
        found.as_ref().map(|best| best.1)
    };
    let mut at = None;
    for a in 0..MOMENTS {
        for b in a + 1..=MOMENTS {
            for t in b..=MOMENTS {
                at = consider([moment(a), moment(b), moment(t)]);
            }
        }
    }
    for _ in 0..FINER {
        unit /= 3.0;
        let [a, b, t] = at?;
        let near = || [-2.0, -1.0, 0.0, 1.0, 2.0].into_iter();
        for (a, b) in near().flat_map(|i| near().map(move |j| (a + unit * i, b + unit * j))) {
            for t in near().map(|k| t + unit * k).filter(|t| a < b && b <= *t) {
                at = consider([a, b, t]);
            }
        }
    }
    found.map(|best| best.2)
}

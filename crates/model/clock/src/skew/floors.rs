//! What lies lowest, by time: all that a long run keeps of a direction.

use super::arithmetic::{many, median, rounded};
use super::hull::{Hull, Point};
use super::outermost::Outermost;

/// Cells at most; there are half as many at least, in a run of more than two seconds.
const CELLS: usize = 2_048;
/// The width of a cell at first, nanoseconds.
const WIDTH: i64 = 1 << 20;

/// A direction's packets in cells of time: of each cell its lower hull, which has the least packet for any slope. The
/// cells become wider as the run goes on, so that memory is bounded, and no packet that matters is forgotten.
#[derive(Clone, Debug)]
pub(crate) struct Floors {
    width: i64,
    cells: Vec<Cell>,
    ends: [Outermost; 2],
}

#[derive(Clone, Debug, Default)]
struct Cell {
    corners: Hull,
    count: u64,
}

/// The least packet of a stretch of time.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Floor {
    /// When, seconds.
    pub(crate) x: f64,
    /// Raw delay, nanoseconds.
    pub(crate) y: f64,
    /// Packets in the stretch.
    pub(crate) count: f64,
}

impl Floor {
    /// Its delay with a slope (nanoseconds a second) taken out.
    pub(crate) fn above(&self, slope: f64) -> f64 {
        self.y - slope * self.x
    }
}

impl Default for Floors {
    fn default() -> Self {
        Self { width: WIDTH, cells: Vec::new(), ends: Outermost::both() }
    }
}

impl Floors {
    pub(crate) fn push(&mut self, point: Point) {
        self.ends.iter_mut().for_each(|end| end.push(point));
        // What came before the first packet belongs to the first cell.
        let at = point.at.max(0);
        while at / self.width >= i64::try_from(CELLS).unwrap_or(i64::MAX) {
            self.widen();
        }
        let cell = usize::try_from(at / self.width).unwrap_or(0);
        if self.cells.len() <= cell {
            self.cells.resize_with(cell + 1, Cell::default);
        }
        self.cells[cell].corners.push(point);
        self.cells[cell].count += 1;
    }

    fn widen(&mut self) {
        self.width = self.width.saturating_mul(2);
        let mut pairs = Vec::with_capacity(CELLS / 2);
        for pair in self.cells.chunks_mut(2) {
            let mut wide = std::mem::take(&mut pair[0]);
            for cell in &pair[1..] {
                cell.corners.corners().iter().for_each(|corner| wide.corners.push(*corner));
                wide.count += cell.count;
            }
            pairs.push(wide);
        }
        self.cells = pairs;
    }

    /// Takes in what another has of the same direction, with the same origin.
    pub(crate) fn absorb(&mut self, mut other: Self) {
        self.ends.iter_mut().zip(&other.ends).for_each(|(own, theirs)| own.absorb(theirs));
        while self.width < other.width {
            self.widen();
        }
        while other.width < self.width {
            other.widen();
        }
        if self.cells.len() < other.cells.len() {
            self.cells.resize_with(other.cells.len(), Cell::default);
        }
        for (cell, theirs) in self.cells.iter_mut().zip(other.cells) {
            theirs.corners.corners().iter().for_each(|corner| cell.corners.push(*corner));
            cell.count += theirs.count;
        }
    }

    /// The first packets and the last ones, as time goes on.
    pub(crate) fn outermost(&self) -> [Vec<Floor>; 2] {
        let all = self.count();
        self.ends.each_ref().map(|end| end.packets(all))
    }

    /// The number of packets.
    pub(crate) fn count(&self) -> u64 {
        self.cells.iter().map(|cell| cell.count).sum()
    }

    /// The least packet of each cell that has any, for a slope in nanoseconds a second.
    pub(crate) fn least(&self, slope: f64) -> Vec<Floor> {
        let floor = |cell: &Cell| {
            let floors = cell.corners.corners().iter().map(|corner| Floor {
                x: corner.at as f64 / 1e9,
                y: corner.delay as f64,
                count: cell.count as f64,
            });
            floors.min_by(|a, b| a.above(slope).total_cmp(&b.above(slope)))
        };
        self.cells.iter().filter_map(floor).collect()
    }
}

/// A stretch with fewer packets than this share of the usual number is none by itself.
const SPARSE: f64 = 0.5;

/// Joins floors to as many stretches of equal time, or fewer. A time without packets counts as one stretch at the most:
/// a pause takes no stretches from what lies beside it. Stretches with far fewer packets than most are joined to the one
/// that is nearer: the least of a few packets is no floor, since each of them may have waited.
pub(crate) fn join(floors: &[Floor], stretches: usize, slope: f64) -> Vec<Floor> {
    let stretches = stretches.max(1);
    let mut gaps: Vec<f64> = floors.windows(2).map(|pair| pair[1].x - pair[0].x).collect();
    let longest = median(&mut gaps) * (many(floors.len()) / many(stretches)).max(1.0);
    let mut passed = 0.0;
    let mut moments = vec![0.0; floors.len().min(1)];
    moments.extend(floors.windows(2).map(|pair| {
        passed += (pair[1].x - pair[0].x).min(longest);
        passed
    }));
    let width = (passed / many(stretches)).max(1e-12);
    // The last moment belongs to the last stretch, and is none of its own.
    let last = i64::try_from(stretches).unwrap_or(i64::MAX) - 1;
    let stretch = |moment: f64| rounded((moment / width).floor()).min(last);
    let mut groups: Vec<core::ops::Range<usize>> = Vec::new();
    for (place, moment) in moments.iter().enumerate() {
        match groups.last_mut() {
            Some(group) if stretch(moments[group.start]) == stretch(*moment) => group.end = place + 1,
            _ => groups.push(place..place + 1),
        }
    }
    let groups = filled(groups, floors);
    groups.into_iter().filter_map(|group| lowest(&floors[group], slope)).collect()
}

/// The groups with those of few packets joined to their neighbours.
fn filled(groups: Vec<core::ops::Range<usize>>, floors: &[Floor]) -> Vec<core::ops::Range<usize>> {
    let packets = |group: &core::ops::Range<usize>| -> f64 {
        floors[group.clone()].iter().map(|floor| floor.count).sum()
    };
    let mut counts: Vec<f64> = groups.iter().map(packets).collect();
    let least = SPARSE * median(&mut counts);
    let apart = |before: &core::ops::Range<usize>, after: &core::ops::Range<usize>| {
        floors[after.start].x - floors[before.end - 1].x
    };
    let mut kept: Vec<core::ops::Range<usize>> = Vec::new();
    let mut groups = groups.into_iter().peekable();
    while let Some(group) = groups.next() {
        if packets(&group) >= least {
            kept.push(group);
            continue;
        }
        let (before, after) = (kept.last_mut(), groups.peek_mut());
        match (before, after) {
            (Some(before), Some(after)) if apart(before, &group) < apart(&group, after) => {
                before.end = group.end;
            }
            (_, Some(after)) => after.start = group.start,
            (Some(before), None) => before.end = group.end,
            (None, None) => kept.push(group),
        }
    }
    kept
}

/// The least of several floors, with the packets of all.
pub(crate) fn lowest(floors: &[Floor], slope: f64) -> Option<Floor> {
    let least = floors.iter().min_by(|a, b| a.above(slope).total_cmp(&b.above(slope)))?;
    Some(Floor { count: floors.iter().map(|floor| floor.count).sum(), ..*least })
}

/// A first slope that neither steps nor outliers move far: the median slope between floors that are neither near nor
/// far apart (Paxson 1998 takes all pairs; a step is between fewer of these).
pub(crate) fn first_slope(floors: &Floors) -> f64 {
    let mut slope = 0.0;
    for _ in 0..3 {
        let joined = join(&floors.least(slope), 64, slope);
        let mut slopes = Vec::new();
        for apart in [joined.len() / 8, joined.len() / 6, joined.len() / 5] {
            let pairs = joined.iter().zip(joined.iter().skip(apart.max(1)));
            slopes.extend(pairs.map(|(a, b)| (b.y - a.y) / (b.x - a.x)).filter(|slope| slope.is_finite()));
        }
        slope = median(&mut slopes);
    }
    slope
}

/// Floors on either side that one is compared with.
const BESIDE: usize = 10;
/// An outlier lies below the lowest of its neighbours by more than so many times what they lie above it on average.
const ISOLATED: f64 = 4.0;

/// Floors at an end that are too few to be a stretch of their own.
const END: usize = 2;

/// Takes out the few floors at the beginning and at the end that lie far below all that is beside them: a clock was set
/// there, or the path changed, so near the end that they tell nothing of the rate, and much that is wrong.
fn drop_ends(floors: &mut Vec<Floor>, slope: f64, grain: f64) {
    let below = |few: &[Floor], beside: &[Floor]| {
        let least = beside.iter().map(|floor| floor.above(slope)).fold(f64::INFINITY, f64::min);
        let mut above: Vec<f64> = beside.iter().map(|floor| floor.above(slope) - least).collect();
        let highest = few.iter().map(|floor| floor.above(slope)).fold(f64::NEG_INFINITY, f64::max);
        above.len() >= 2 * BESIDE && least - highest > ISOLATED * (median(&mut above) + grain)
    };
    let place = |few: usize| few.min(floors.len());
    let early = (1..=END)
        .rev()
        .find(|few| below(&floors[..place(*few)], &floors[place(*few)..place(few + 2 * BESIDE)]));
    if let Some(few) = early {
        floors.drain(..few);
    }
    let total = floors.len();
    let split = |few: usize| total.saturating_sub(few);
    let late = (1..=END)
        .rev()
        .find(|few| below(&floors[split(*few)..], &floors[split(few + 2 * BESIDE)..split(*few)]));
    if let Some(few) = late {
        floors.truncate(split(few));
    }
}

/// Takes out floors that lie alone far below all their neighbours: no queue empties like that, so it is a stamp that is
/// wrong; and those few at an end that do. What stamps do not tell apart is `grain`, nanoseconds. Gives how many of the
/// former.
pub(crate) fn drop_outliers(floors: &mut Vec<Floor>, slope: f64, grain: f64) -> usize {
    drop_ends(floors, slope, grain);
    let mut dropped = 0;
    for _ in 0..4 {
        let heights: Vec<f64> = floors.iter().map(|floor| floor.above(slope)).collect();
        let isolated = |index: usize| {
            let near = index.saturating_sub(BESIDE)..(index + BESIDE + 1).min(heights.len());
            let others: Vec<f64> = near.filter(|other| *other != index).map(|other| heights[other]).collect();
            let least = others.iter().copied().fold(f64::INFINITY, f64::min);
            let mut above: Vec<f64> = others.iter().map(|height| height - least).collect();
            above.len() >= BESIDE && least - heights[index] > ISOLATED * (median(&mut above) + grain)
        };
        let alone: Vec<bool> = (0..heights.len()).map(isolated).collect();
        let mut flags = alone.iter();
        let before = floors.len();
        floors.retain(|_| !flags.next().copied().unwrap_or(false));
        dropped += before - floors.len();
        if before == floors.len() {
            break;
        }
    }
    dropped
}

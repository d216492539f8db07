//! What lies lowest, by time: all that a long run keeps of a direction.

use super::hull::{Hull, Point};
use super::{many, median};

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
        Self { width: WIDTH, cells: Vec::new() }
    }
}

impl Floors {
    pub(crate) fn push(&mut self, point: Point) {
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

/// Joins floors to as many stretches of equal time; those without a packet are left out.
pub(crate) fn join(floors: &[Floor], stretches: usize, slope: f64) -> Vec<Floor> {
    let (Some(first), Some(last)) = (floors.first(), floors.last()) else { return Vec::new() };
    let width = (last.x - first.x) / many(stretches.max(1));
    // The last moment belongs to the last stretch, and is none of its own.
    let last = i64::try_from(stretches.max(1)).unwrap_or(i64::MAX) - 1;
    let stretch = |floor: &Floor| super::rounded(((floor.x - first.x) / width.max(1e-12)).floor()).min(last);
    floors.chunk_by(|a, b| stretch(a) == stretch(b)).filter_map(|group| lowest(group, slope)).collect()
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

/// Takes out floors that lie alone far below all their neighbours: no queue empties like that, so it is a stamp that is
/// wrong. Gives how many.
pub(crate) fn drop_outliers(floors: &mut Vec<Floor>, slope: f64) -> usize {
    let mut dropped = 0;
    for _ in 0..4 {
        let heights: Vec<f64> = floors.iter().map(|floor| floor.above(slope)).collect();
        let isolated = |index: usize| {
            let near = index.saturating_sub(BESIDE)..(index + BESIDE + 1).min(heights.len());
            let others: Vec<f64> = near.filter(|other| *other != index).map(|other| heights[other]).collect();
            let least = others.iter().copied().fold(f64::INFINITY, f64::min);
            let mut above: Vec<f64> = others.iter().map(|height| height - least).collect();
            above.len() >= BESIDE && least - heights[index] > ISOLATED * (median(&mut above) + 1.0)
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

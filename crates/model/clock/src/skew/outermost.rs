//! The first packets of a direction and the last ones, each by itself: cells of a long run hold too many of them for what
//! happens near an end.

use super::floors::Floor;
use super::hull::Point;

/// Packets that are kept at an end: so many that in a run of hundreds of thousands half of them are more than a few cells hold.
const PACKETS: usize = 4_096;
/// And of a short run no more than this share of all, of a long one no more than that; but so many.
const SHARE: u64 = 4;
const SHARE_OF_LONG: u64 = 24;
const SOME: u64 = 1_024;

/// The packets that are nearest to an end, in whatever order they come.
#[derive(Clone, Debug)]
pub(crate) struct Outermost {
    /// 1 towards the end of the run, and -1 towards its beginning.
    way: i64,
    points: Vec<Point>,
    /// What is not beyond this is none of them.
    least: Option<(i64, i64)>,
}

impl Outermost {
    /// At the beginning, and at the end.
    pub(crate) fn both() -> [Self; 2] {
        [-1, 1].map(|way| Self { way, points: Vec::new(), least: None })
    }

    /// Of packets of one moment the lowest count.
    fn place(&self, point: &Point) -> (i64, i64) {
        (self.way * point.at, -point.delay)
    }

    pub(crate) fn push(&mut self, point: Point) {
        if self.least.is_some_and(|least| self.place(&point) <= least) {
            return;
        }
        self.points.push(point);
        if self.points.len() >= 2 * PACKETS {
            let way = self.way;
            let place = |point: &Point| (way * point.at, -point.delay);
            let (_, least, _) = self.points.select_nth_unstable_by(PACKETS, |a, b| place(b).cmp(&place(a)));
            self.least = Some(place(least));
            self.points.truncate(PACKETS);
        }
    }

    pub(crate) fn absorb(&mut self, other: &Self) {
        other.points.iter().for_each(|point| self.push(*point));
    }

    /// The packets, of a direction that has so many, as time goes on.
    pub(crate) fn packets(&self, all: u64) -> Vec<Floor> {
        let mut points = self.points.clone();
        points.sort_unstable_by_key(|point| core::cmp::Reverse(self.place(point)));
        let share = (all / SHARE).min((all / SHARE_OF_LONG).max(SOME));
        points.truncate(usize::try_from(share).unwrap_or(PACKETS).min(PACKETS));
        let floor = |point: &Point| Floor { x: point.at as f64 / 1e9, y: point.delay as f64, count: 1.0 };
        let mut floors: Vec<Floor> = points.iter().map(floor).collect();
        if self.way > 0 {
            floors.reverse();
        }
        floors
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_and_the_last_are_kept_in_whatever_order_they_come() {
        let total = 10_007;
        // 4,321 and 10,007 have no common divisor: each moment comes once.
        for step in [1, 4_321, total - 1] {
            let mut both = Outermost::both();
            let mut other = Outermost::both();
            for number in 0..total {
                let point = Point { at: number * step % total, delay: 5 };
                let taken = if number % 3 == 0 { &mut other } else { &mut both };
                taken.iter_mut().for_each(|end| end.push(point));
            }
            both.iter_mut().zip(&other).for_each(|(own, theirs)| own.absorb(theirs));
            let [first, last] = both.each_ref().map(|end| {
                let packets = end.packets(total.unsigned_abs());
                packets.iter().map(|one| (one.x * 1e9).round()).collect::<Vec<_>>()
            });
            let expected = |from: u32| (from..from + 1_024).map(f64::from).collect::<Vec<_>>();
            assert_eq!(first, expected(0));
            assert_eq!(last, expected(10_007 - 1_024));
        }
        let mut few = Outermost::both();
        few.iter_mut().for_each(|end| (0..100).for_each(|at| end.push(Point { at, delay: 0 })));
        assert_eq!(few.each_ref().map(|end| end.packets(100).len()), [25, 25]);
    }
}

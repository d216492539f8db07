//! Few points for many, which show what all would: where most lie, and what stands out.

use std::borrow::Cow;

use super::ranks::share;
use super::stretches::Stretches;

/// The most points of a series that a page holds, for those who zoom in.
pub(crate) const MOST_POINTS: usize = 8_000;
/// The most marks at an edge.
pub(super) const MOST_MARKS: usize = 800;

/// Points of a bucket that are spread by rank, and with the least and the greatest.
const SPREAD: usize = 14;
const EACH: usize = SPREAD + 2;
/// Of so many the least and the greatest are no more than points among others; of more, those of all buckets would look like a crowd
/// of their own.
const CROWD: usize = 4 * EACH;
/// Points of a bucket among which those are sought.
const LOOKED_AT: usize = 256;

/// Buckets of a series that is drawn by fewer points than others ([`Thinning::sparse`]), and columns of each: as many in all
/// as a series of [`MOST_POINTS`] has buckets, so that in both what stands apart is seen wherever it is, to about a pixel.
const SPARSE: usize = 35;
const COLUMNS: usize = 14;
/// The most points of such a series that is thinned.
const MOST_SPARSE: usize = SPARSE * (SPREAD + 2 * COLUMNS);
/// So few are all drawn.
const MAX_UNTHINNED_POINTS: usize = 2_000;

/// Points of a series, or some for all.
#[derive(Clone, Debug, Default)]
pub(crate) struct Cloud {
    pub(crate) points: Vec<(f64, f64)>,
    /// Those that stand apart from them, where not all are drawn, by their moment: each stretch has one at either end at the most,
    /// however many packets it has, so that as points they would look like a crowd of their own.
    pub(crate) far: Vec<Outlier>,
    /// Of so many.
    pub(crate) of: usize,
    /// Where each bucket of as many of them begins, where not all are drawn and buckets differ in how many are.
    pub(crate) begins: Vec<f64>,
    /// What there is in each stretch of time, where not all are drawn and this is known.
    pub(crate) stretches: Option<Stretches>,
}

/// A point that stands apart from those around it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Outlier {
    pub(crate) at: (f64, f64),
    /// The value from which a line reaches to it: about where the points of its stretch end.
    pub(crate) from: f64,
}

impl Cloud {
    /// All the points there are.
    pub(crate) fn all(points: Vec<(f64, f64)>) -> Self {
        Self { of: points.len(), points, ..Self::default() }
    }

    /// How many are drawn.
    pub(crate) fn drawn(&self) -> usize {
        self.points.len() + self.far.len()
    }

    /// At most `most` of them, chosen as [`Thinning`] does.
    pub(crate) fn thinned(&self, most: usize) -> Cow<'_, Self> {
        if self.points.len() <= most {
            return Cow::Borrowed(self);
        }
        let mut thinning = Thinning::new(self.points.len(), most);
        self.points.iter().for_each(|point| thinning.push(*point));
        let mut thinned = Self { of: self.of, ..thinning.finish() };
        thinned.far.extend(&self.far);
        thinned.far.sort_by(|a, b| a.at.0.total_cmp(&b.at.0));
        Cow::Owned(thinned)
    }
}

/// Chooses some points for many, so that the picture is that of all: of each bucket of consecutive points those that are
/// spread evenly by rank, so that they lie dense where the bucket's do, and its least and its greatest where these stand
/// apart: farther from the nearest one that is drawn than that is from the second after it. At most `most` stay, and the same of
/// the same points always.
pub(crate) struct Thinning {
    /// Points in a bucket; 1 where all stay.
    bucket: usize,
    /// Points in a column of it, whose least and greatest are kept.
    column: usize,
    /// One in so many consecutive points is looked at.
    stratum: usize,
    /// Which of those of the stratum, and how often a choice was made.
    place: usize,
    turns: u64,
    filled: usize,
    /// Where in the bucket, and the point.
    sample: Vec<Placed>,
    /// The least and the greatest of each column.
    ends: Vec<[Placed; 2]>,
    cloud: Cloud,
}

type Placed = (usize, (f64, f64));

impl Thinning {
    pub(crate) fn new(count: usize, most: usize) -> Self {
        let bucket = if count <= most { 1 } else { count.div_ceil((most / EACH).max(1)) };
        Self::by(bucket, bucket, count.min(most))
    }

    /// For series of which a page has many: fewer points show where most lie, and what stands apart is kept as closely as of
    /// those with the most points.
    pub(crate) fn sparse(count: usize) -> Self {
        let bucket = if count <= MAX_UNTHINNED_POINTS { 1 } else { count.div_ceil(SPARSE) };
        Self::by(bucket, bucket.div_ceil(COLUMNS), if bucket == 1 { count } else { MOST_SPARSE })
    }

    fn by(bucket: usize, column: usize, most: usize) -> Self {
        Self {
            bucket,
            column,
            stratum: bucket.div_ceil(LOOKED_AT),
            place: 0,
            turns: 0,
            filled: 0,
            sample: Vec::new(),
            ends: Vec::new(),
            cloud: Cloud { points: Vec::with_capacity(most), ..Cloud::default() },
        }
    }

    pub(crate) fn push(&mut self, point: (f64, f64)) {
        self.cloud.of += 1;
        if self.bucket == 1 {
            self.cloud.points.push(point);
            return;
        }
        let placed = (self.filled, point);
        if self.filled == 0 && self.column < self.bucket {
            self.cloud.begins.push(point.0);
        }
        if self.filled.is_multiple_of(self.column) {
            self.ends.push([placed; 2]);
        } else if let Some([least, greatest]) = self.ends.last_mut() {
            if point.1.total_cmp(&least.1.1).is_lt() {
                *least = placed;
            }
            if point.1.total_cmp(&greatest.1.1).is_ge() {
                *greatest = placed;
            }
        }
        if self.filled.is_multiple_of(self.stratum) {
            self.turns += 1;
            self.place = one_of(self.turns, self.stratum);
        }
        if self.filled % self.stratum == self.place {
            self.sample.push(placed);
        }
        self.filled += 1;
        if self.filled == self.bucket {
            self.close();
        }
    }

    fn close(&mut self) {
        self.filled = 0;
        let mut sample = std::mem::take(&mut self.sample);
        sample.sort_unstable_by(|a, b| a.1.1.total_cmp(&b.1.1));
        let (there, wanted) = (sample.len(), SPREAD.min(sample.len()));
        let mut chosen: Vec<Placed> = Vec::with_capacity(EACH);
        for number in 0..wanted {
            // One of those between two ranks: always the middle one would leave out what lies at the ends.
            let (from, to) = (number * there / wanted, (number + 1) * there / wanted);
            self.turns += 1;
            chosen.push(sample[from + one_of(self.turns, to - from)]);
        }
        let apart =
            if self.column == self.bucket { Apart::alone(&chosen) } else { Apart::among_others(&chosen) };
        chosen.sort_unstable_by_key(|placed| placed.0);
        for [least, greatest] in self.ends.drain(..) {
            let low = [least].into_iter().filter(|one| apart.below(one.1.1)).map(|one| (one, apart.ends[0]));
            let high =
                [greatest].into_iter().filter(|one| apart.above(one.1.1)).map(|one| (one, apart.ends[1]));
            let mut far: Vec<(Placed, f64)> = low.chain(high).collect();
            far.sort_unstable_by_key(|(placed, _)| placed.0);
            far.retain(|(placed, _)| chosen.binary_search_by_key(&placed.0, |one| one.0).is_err());
            if self.column == self.bucket && self.bucket <= CROWD {
                chosen.extend(far.into_iter().map(|(placed, _)| placed));
                chosen.sort_unstable_by_key(|placed| placed.0);
            } else {
                self.cloud.far.extend(far.into_iter().map(|((_, at), from)| Outlier { at, from }));
            }
        }
        self.cloud.points.extend(chosen.into_iter().map(|placed| placed.1));
        sample.clear();
        self.sample = sample;
    }

    pub(crate) fn finish(mut self) -> Cloud {
        self.close();
        self.cloud
    }
}

/// From where on, downwards and upwards, a value stands apart from those that are drawn.
struct Apart {
    below: f64,
    above: f64,
    /// Where those that are drawn end.
    ends: [f64; 2],
}

impl Apart {
    /// Of the only least and greatest of a bucket: farther from the nearest one that is drawn than that is from the second after
    /// it. `chosen` is in order of values.
    fn alone(chosen: &[Placed]) -> Self {
        Self::beyond(chosen, 0, 1.0)
    }

    /// Of several of them, of which some may be drawn already as they are met by chance: so many that each is held against those
    /// that are no nearer to the end than the second.
    fn among_others(chosen: &[Placed]) -> Self {
        Self::beyond(chosen, 1, 3.0)
    }

    /// Farther from the one that is `from` the end than `times` its distance from the second after it.
    fn beyond(chosen: &[Placed], from: usize, times: f64) -> Self {
        let value = |place: Option<&Placed>| place.map(|placed| placed.1.1);
        let ends = |next: Option<f64>, after: Option<f64>, nothing: f64| match (next, after) {
            (Some(next), Some(after)) => next + times * (next - after),
            (Some(next), None) => next,
            (None, _) => nothing,
        };
        let next = [value(chosen.get(from)), value(chosen.iter().nth_back(from))];
        Self {
            below: ends(next[0], value(chosen.get(from + 2)), f64::INFINITY),
            above: ends(next[1], value(chosen.iter().nth_back(from + 2)), f64::NEG_INFINITY),
            ends: next.map(Option::unwrap_or_default),
        }
    }

    fn below(&self, value: f64) -> bool {
        value < self.below
    }

    fn above(&self, value: f64) -> bool {
        value > self.above
    }
}

/// One place of so many, another one each turn, so that nothing that repeats is met always or never.
fn one_of(turn: u64, places: usize) -> usize {
    let mixed = turn.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 33;
    usize::try_from(mixed).unwrap_or(0) % places.max(1)
}

/// Of marks with values, of which, where they are many, those nearer than about a pixel of the widest chart are one: the greatest.
pub(crate) fn thin_peaks(mut marks: Vec<(f64, f64)>) -> Vec<(f64, f64)> {
    marks.sort_unstable_by(|a, b| a.0.total_cmp(&b.0));
    if marks.len() <= MOST_MARKS { marks } else { peaks(&marks, MOST_MARKS) }
}

/// The same of marks in order, on an axis on which so many have room.
pub(crate) fn peaks(marks: &[(f64, f64)], most: usize) -> Vec<(f64, f64)> {
    let step = marks.last().map_or(0.0, |last| last.0) * share(1, most);
    let mut peaks: Vec<(f64, f64)> = Vec::new();
    // Where the first of those that are one is.
    let mut begins = 0.0;
    for mark in marks.iter().copied() {
        match peaks.last_mut().filter(|_| mark.0 - begins < step) {
            Some(peak) if mark.1 > peak.1 => *peak = mark,
            Some(_) => {}
            None => {
                begins = mark.0;
                peaks.push(mark);
            }
        }
    }
    peaks
}

#[cfg(test)]
mod tests {
    use super::*;

    fn thin(points: &[(f64, f64)], most: usize) -> Vec<(f64, f64)> {
        everything(&Cloud::all(points.to_vec()).thinned(most))
    }

    /// All that is drawn, in order of time.
    fn everything(cloud: &Cloud) -> Vec<(f64, f64)> {
        let mut all: Vec<_> =
            cloud.points.iter().copied().chain(cloud.far.iter().map(|far| far.at)).collect();
        all.sort_by(|a, b| a.0.total_cmp(&b.0));
        all
    }

    /// Numbers from 0 to 1 without order.
    fn unit(n: u32) -> f64 {
        f64::from(n.wrapping_mul(2_654_435_761) ^ n.rotate_left(15).wrapping_mul(2_246_822_519))
            / f64::from(u32::MAX)
    }

    #[test]
    fn what_stands_apart_stays_and_the_rest_is_as_dense_as_it_was() {
        let points: Vec<(f64, f64)> = (0..100_000u32)
            .map(|n| (f64::from(n), if n == 77_777 { 1e6 } else { f64::from(n % 13) }))
            .collect();
        let thinned = thin(&points, 4_000);
        assert!(thinned.len() <= 4_000 && thinned.len() > 3_000, "{}", thinned.len());
        assert!(thinned.contains(&(77_777.0, 1e6)), "an outlier does not disappear");
        for value in 0..13 {
            let count = thinned.iter().filter(|(_, y)| (*y - f64::from(value)).abs() < 0.5).count();
            assert!(count * 13 > thinned.len() / 2, "{count} of {value}");
        }
        assert!(thinned.windows(2).all(|pair| pair[0].0 < pair[1].0), "in order of time");
        assert_eq!(thinned, thin(&points, 4_000));
    }

    #[test]
    fn a_value_that_most_have_is_what_most_points_show() {
        // Nine of ten packets arrive 20 ms after the one before, the others up to 5 ms earlier and later.
        let value = |n: u32| if n % 10 == 3 { 15.0 + 10.0 * unit(n) } else { 20.0 };
        let points: Vec<(f64, f64)> = (0..300_000).map(|n| (f64::from(n), value(n))).collect();
        for most in [400, 1_200, 8_000] {
            let thinned = thin(&points, most);
            let usual = thinned.iter().filter(|(_, y)| (*y - 20.0).abs() < 1e-9).count();
            let share = usual as f64 / thinned.len() as f64;
            assert!((0.7..0.95).contains(&share), "{share} of {most}");
        }
    }

    #[test]
    fn of_few_points_as_well_every_spike_stays_and_the_rest_is_as_dense_as_it_was() {
        // Spikes every 128 packets, of one packet and of three in turn, in noise with a tail.
        let spike = |n: u32| n % 256 == 77 || (205..208).contains(&(n % 256));
        let noise = |n: u32| -(1.0 - unit(n)).max(1e-9).ln();
        let value = |n: u32| if spike(n) { 40.0 + unit(n) } else { noise(n) };
        for count in [20_000u32, 33_333] {
            let mut thinning = Thinning::sparse(count as usize);
            (0..count).for_each(|n| thinning.push((f64::from(n), value(n))));
            let cloud = thinning.finish();
            let (points, of) = (everything(&cloud), cloud.of);
            assert_eq!(cloud.begins.len(), SPARSE);
            assert_eq!(of, count as usize);
            assert!(points.len() <= MOST_SPARSE && points.len() > SPARSE * SPREAD / 2, "{}", points.len());
            assert!(points.windows(2).all(|pair| pair[0].0 < pair[1].0), "in order of time, each once");
            let missing = (0..count / 128).filter(|number| {
                let from = f64::from(number * 128);
                !points.iter().any(|(x, y)| (from..from + 128.0).contains(x) && *y > 39.0)
            });
            assert_eq!(missing.collect::<Vec<_>>(), [] as [u32; 0], "of {count}");
            // Of the others few are there for their height alone.
            let within = |from: f64, to: f64| points.iter().filter(|(_, y)| (from..to).contains(y)).count();
            let share = within(0.0, 1.0) as f64 / within(0.0, 39.0) as f64;
            assert!((0.5..0.66).contains(&share), "{share}, and 0.63 of all");
        }
        let few: Vec<(f64, f64)> = (0..2_000u32).map(|n| (f64::from(n), noise(n))).collect();
        let mut thinning = Thinning::sparse(few.len());
        few.iter().for_each(|point| thinning.push(*point));
        assert_eq!(thinning.finish().points, few, "so few are all drawn");
    }

    #[test]
    fn of_marks_that_are_one_the_greatest_stays_as_it_is() {
        let marks: Vec<(f64, f64)> =
            (0..80_000u32).map(|n| (f64::from(n) / 100.0, f64::from(n % 977))).collect();
        let peaks = thin_peaks(marks.clone());
        assert!(peaks.len() <= MOST_MARKS + 1 && peaks.len() > MOST_MARKS / 2, "{}", peaks.len());
        assert!(peaks.iter().all(|peak| marks.contains(peak)), "a mark is where a packet is");
        assert_eq!(peaks.iter().filter(|peak| peak.1 > 975.5).count(), 81);
        assert_eq!(thin_peaks(vec![(5.0, 2.0), (1.0, 3.0)]), [(1.0, 3.0), (5.0, 2.0)]);
    }

    #[test]
    fn the_ends_of_stretches_are_no_second_crowd_of_points_and_none_of_them_is_lost() {
        // Exponential delays, so many that the greatest of each stretch lies far above the others and about as far as its
        // neighbours' do.
        let points: Vec<(f64, f64)> =
            (0..3_000_000).map(|n| (f64::from(n), -(1.0 - unit(n)).max(1e-9).ln())).collect();
        let mut thinning = Thinning::new(points.len(), MOST_POINTS);
        points.iter().for_each(|point| thinning.push(*point));
        let cloud = thinning.finish();
        for cloud in [Cow::Borrowed(&cloud), cloud.thinned(4_000), cloud.thinned(1_500)] {
            // The points become fewer the higher: a thousandth part of all lies above seven times the mean.
            let within = |from: f64, to: f64| {
                let there = cloud.points.iter().filter(|(_, y)| (from..to).contains(y)).count();
                (share(there, cloud.points.len()), f64::exp(-from) - f64::exp(-to))
            };
            for (from, to) in [(0.0, 1.0), (1.0, 3.0), (3.0, 5.0)] {
                let (there, due) = within(from, to);
                assert!(
                    (0.7..1.4).contains(&(there / due)),
                    "{there} from {from} to {to}, and {due} in truth"
                );
            }
            let (there, due) = within(7.0, 30.0);
            assert!(there < due + 0.003, "{there} of the points, and {due} of all");
            for stretch in points.chunks(6_000) {
                let most = stretch.iter().fold((0.0, 0.0), |a, b| if b.1 > a.1 { *b } else { a });
                let lies = |far: &&Outlier| (far.at.0 - most.0).abs() < 1e-9 && far.from < most.1;
                let drawn = cloud.far.iter().find(lies).is_some()
                    || everything(&cloud).iter().any(|point| (point.1 - most.1).abs() < 3.0);
                assert!(drawn, "{most:?}");
            }
        }
        assert!(cloud.far.len() > 400, "{}", cloud.far.len());
        // Of fewer they are points among others.
        let cloud = Cloud::all(points[..30_000].to_vec());
        let thinned = cloud.thinned(MOST_POINTS);
        assert!(thinned.far.is_empty() && thinned.drawn() < MOST_POINTS);
    }

    #[test]
    fn no_line_is_drawn_where_delays_end() {
        let points: Vec<(f64, f64)> =
            (0..200_000).map(|n| (f64::from(n), -(1.0 - unit(n)).max(1e-9).ln())).collect();
        let thinned = thin(&points, 8_000);
        let share = |from: f64, to: f64| {
            let within = thinned.iter().filter(|(_, y)| (from..to).contains(y)).count();
            within as f64 / thinned.len() as f64
        };
        for (from, to) in [(0.0, 0.02), (0.0, 0.1), (0.5, 1.0), (1.0, 2.0)] {
            let due = f64::exp(-from) - f64::exp(-to);
            let there = share(from, to);
            assert!(
                there > 0.5 * due && there < 1.6 * due,
                "{there} from {from} to {to}, and {due} in truth"
            );
        }
        let most = |points: &[(f64, f64)]| points.iter().map(|point| point.1).fold(0.0, f64::max);
        assert!((most(&points) - most(&thinned)).abs() < 1e-12);
    }
}

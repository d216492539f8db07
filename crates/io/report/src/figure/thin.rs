//! Few points for many, so that nothing that stands out disappears.

use super::share;

/// The most points of a series that a page holds, for those who zoom in.
pub(crate) const MOST_POINTS: usize = 8_000;
/// The most marks at an edge.
const MOST_MARKS: usize = 800;

/// Keeps the least and the greatest of each bucket of consecutive points, of which there are `count`; at most `most` stay.
pub(crate) struct Thinning {
    /// Points in a bucket; 1 where all stay.
    bucket: usize,
    filled: usize,
    ends: Option<[(f64, f64); 2]>,
    kept: Vec<(f64, f64)>,
}

impl Thinning {
    pub(crate) fn new(count: usize, most: usize) -> Self {
        let bucket = if count <= most { 1 } else { count.div_ceil(most / 2) };
        Self { bucket, filled: 0, ends: None, kept: Vec::with_capacity(count.min(most)) }
    }

    pub(crate) fn push(&mut self, point: (f64, f64)) {
        if self.bucket == 1 {
            self.kept.push(point);
            return;
        }
        self.ends = Some(match self.ends {
            None => [point; 2],
            Some([least, greatest]) => [
                if point.1.total_cmp(&least.1).is_lt() { point } else { least },
                if point.1.total_cmp(&greatest.1).is_ge() { point } else { greatest },
            ],
        });
        self.filled += 1;
        if self.filled == self.bucket {
            self.close();
        }
    }

    fn close(&mut self) {
        self.kept.extend(self.ends.take().into_iter().flatten());
        self.filled = 0;
    }

    pub(crate) fn finish(mut self) -> Vec<(f64, f64)> {
        self.close();
        self.kept
    }
}

/// Keeps the least and the greatest of each bucket of consecutive points.
pub(crate) fn thin(points: &[(f64, f64)], most: usize) -> Vec<(f64, f64)> {
    let mut thinning = Thinning::new(points.len(), most);
    points.iter().for_each(|point| thinning.push(*point));
    thinning.finish()
}

/// Marks nearer than about a pixel of the widest chart are one.
pub(crate) fn thin_marks(mut marks: Vec<f64>) -> Vec<f64> {
    marks.sort_unstable_by(f64::total_cmp);
    let step = marks.last().copied().unwrap_or(0.0) * share(1, MOST_MARKS);
    marks.dedup_by(|later, earlier| *later - *earlier < step);
    marks
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn thinning_keeps_the_envelope() {
        let points: Vec<(f64, f64)> = (0..100_000u32)
            .map(|n| (f64::from(n), if n == 77_777 { 1e6 } else { f64::from(n % 13) }))
            .collect();
        let thinned = thin(&points, 4_000);
        assert!(thinned.len() <= 4_000);
        assert!(thinned.contains(&(77_777.0, 1e6)), "an outlier does not disappear");
        let count = thinned.iter().filter(|(_, y)| *y <= 0.0).count();
        assert!(count > 1_000, "nor do the least values");
    }
}

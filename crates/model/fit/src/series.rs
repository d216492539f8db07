//! Observations of packets, and blocks of time.

/// Delays within this many seconds are constant: a host's time stamps are no finer.
pub(crate) const RESOLUTION: f64 = 20e-6;
/// The most packets on which families of delay are compared, and a rate is fitted. Of a longer series, every second packet or fewer are
/// used.
pub(crate) const MOST_COMPARED: usize = 20_000;

/// What one packet shows of the path.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Observation {
    /// When it departed, in seconds from any origin.
    pub at: f64,
    /// Octets of its IP packet, where they are known and its delay is that of one transit of the path.
    pub size: Option<u32>,
    /// Whether the path lost it.
    pub is_lost: bool,
    /// Its delay in seconds, where it is known.
    pub delay: Option<f64>,
}

/// Observations in order of departure.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Series(Vec<Observation>);

/// Stretches of time without a gap between their observations.
pub(crate) type Segments<'a> = Vec<&'a [Observation]>;

impl Series {
    /// The observations, which are put in order of departure.
    pub fn new(mut observations: Vec<Observation>) -> Self {
        observations.sort_by(|a, b| a.at.total_cmp(&b.at));
        Self(observations)
    }

    /// The observations.
    pub fn observations(&self) -> &[Observation] {
        &self.0
    }

    /// The known delays.
    pub fn delays(&self) -> Vec<f64> {
        self.0.iter().filter_map(|one| one.delay).collect()
    }

    /// The number of lost packets.
    pub fn lost(&self) -> usize {
        self.0.iter().filter(|one| one.is_lost).count()
    }

    /// From the first departure to the last.
    pub fn duration(&self) -> f64 {
        self.0.first().zip(self.0.last()).map_or(0.0, |(first, last)| last.at - first.at)
    }

    /// Quantile `p` of the time from one departure to the next; 0 for fewer than two packets.
    pub fn spacing(&self, p: f64) -> f64 {
        let mut gaps: Vec<f64> = self.0.windows(2).map(|pair| pair[1].at - pair[0].at).collect();
        gaps.sort_by(f64::total_cmp);
        let Some(last) = gaps.len().checked_sub(1) else { return 0.0 };
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "p is from 0 to 1")]
        let place = (p * last as f64).round() as usize;
        gaps[place.min(last)]
    }

    /// Each observation with another delay.
    pub(crate) fn with_delays(&self, delays: impl Iterator<Item = Option<f64>>) -> Self {
        Self(self.0.iter().zip(delays).map(|(one, delay)| Observation { delay, ..*one }).collect())
    }

    /// Every `of`-th observation; at least every one.
    #[must_use]
    pub(crate) fn thinned(&self, of: usize) -> Self {
        Self(self.0.iter().copied().step_by(of.max(1)).collect())
    }

    /// `count` blocks of equal time; a block may be empty.
    pub(crate) fn blocks(&self, count: usize) -> Segments<'_> {
        let start = self.0.first().map_or(0.0, |one| one.at);
        let length = self.duration() / count as f64;
        let place = |block: usize| {
            if block == count {
                return self.0.len();
            }
            let from = start + length * block as f64;
            self.0.partition_point(|one| one.at < from)
        };
        (0..count).map(|block| &self.0[place(block)..place(block + 1)]).collect()
    }

    /// The blocks of [`Series::blocks`] for which `is_chosen` holds; neighbours become one segment.
    pub(crate) fn segments(&self, count: usize, is_chosen: impl Fn(usize) -> bool) -> Segments<'_> {
        let blocks = self.blocks(count);
        let mut segments: Segments<'_> = Vec::new();
        let (mut from, mut to) = (0, 0);
        for (number, block) in blocks.iter().enumerate() {
            if is_chosen(number) {
                to += block.len();
                continue;
            }
            segments.push(&self.0[from..to]);
            to += block.len();
            from = to;
        }
        segments.push(&self.0[from..to]);
        segments.retain(|segment| !segment.is_empty());
        segments
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blocks_cover_the_series() {
        let packet = |n: u32| Observation { at: f64::from(n), size: None, is_lost: false, delay: None };
        let series = Series::new((0..101).rev().map(packet).collect());
        let blocks = series.blocks(10);
        assert_eq!(
            blocks.iter().map(|block| block.len()).collect::<Vec<_>>(),
            [10, 10, 10, 10, 10, 10, 10, 10, 10, 11]
        );
        let train = series.segments(10, |block| block % 5 != 1);
        assert_eq!(train.iter().map(|segment| segment.len()).collect::<Vec<_>>(), [10, 40, 31]);
        assert_eq!((train[1][0].at, train[1][39].at), (20.0, 59.0));
    }
}

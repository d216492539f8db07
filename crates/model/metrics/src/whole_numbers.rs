//! Whole numbers of many packets, in as little room as they fit in.

use romer_record::document::{Histogram, Summary};

use crate::summary::{described, of_neighbours, summary};

/// Numbers no further from zero fit into 32 bits, and so does the difference of any two.
const NARROW: i64 = 1 << 30;

/// Nanoseconds in a row: in 32 bits where all are of less than a second or so, as nearly all are, and else in 64. Sorting them takes
/// memory and time by their size.
#[derive(Clone, Debug)]
pub enum WholeNumbers {
    /// Within a second or so of zero.
    Narrow(Vec<i32>),
    /// Any.
    Wide(Vec<i64>),
}

impl Default for WholeNumbers {
    fn default() -> Self {
        Self::Narrow(Vec::new())
    }
}

impl WholeNumbers {
    /// Adds one.
    pub fn push(&mut self, number: i64) {
        match self {
            Self::Wide(numbers) => numbers.push(number),
            Self::Narrow(numbers) => match i32::try_from(number) {
                Ok(narrow) if (-NARROW..=NARROW - 1).contains(&number) => numbers.push(narrow),
                _ => {
                    let mut wide: Vec<i64> = numbers.iter().copied().map(i64::from).collect();
                    wide.push(number);
                    *self = Self::Wide(wide);
                }
            },
        }
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        match self {
            Self::Narrow(numbers) => numbers.is_empty(),
            Self::Wide(numbers) => numbers.is_empty(),
        }
    }

    /// Their [summary and histogram](crate::described).
    pub fn described(&self) -> (Summary, Histogram) {
        match self {
            Self::Narrow(numbers) => described(numbers),
            Self::Wide(numbers) => described(numbers),
        }
    }

    /// Their [summary](crate::of_neighbours), where each shares a packet with `lags` that follow it.
    pub(crate) fn of_neighbours(&self, lags: usize) -> Summary {
        match self {
            Self::Narrow(numbers) => of_neighbours(numbers, lags),
            Self::Wide(numbers) => of_neighbours(numbers, lags),
        }
    }

    /// Their [summary](crate::summary()).
    pub(crate) fn summary(&self) -> Summary {
        match self {
            Self::Narrow(numbers) => summary(numbers),
            Self::Wide(numbers) => summary(numbers),
        }
    }
}

impl Extend<i64> for WholeNumbers {
    fn extend<I: IntoIterator<Item = i64>>(&mut self, numbers: I) {
        numbers.into_iter().for_each(|number| self.push(number));
    }
}

impl FromIterator<i64> for WholeNumbers {
    fn from_iter<I: IntoIterator<Item = i64>>(numbers: I) -> Self {
        let mut all = Self::default();
        all.extend(numbers);
        all
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The figures do not depend on the room that the numbers take, up to the least and the greatest that are narrow.
    #[test]
    fn width_changes_no_figure() {
        for ends in [vec![], vec![-NARROW, NARROW - 1]] {
            let numbers: Vec<i64> = (0..20_000).map(|n: i64| n * 7_919 % 1_009 - 300).chain(ends).collect();
            let narrow: WholeNumbers = numbers.iter().copied().collect();
            assert!(matches!(&narrow, WholeNumbers::Narrow(narrow) if narrow.len() == numbers.len()));
            let wide = WholeNumbers::Wide(numbers);
            assert_eq!(narrow.described(), wide.described());
            assert_eq!(narrow.of_neighbours(2), wide.of_neighbours(2));
            assert_eq!(narrow.summary(), wide.summary());
        }
    }

    /// A number beyond makes all of them wide, and loses none.
    #[test]
    fn great_numbers_are_wide() {
        for great in [NARROW, -NARROW - 1, i64::MAX] {
            let numbers: WholeNumbers = [1, great, -2].into_iter().collect();
            assert!(matches!(numbers, WholeNumbers::Wide(wide) if wide == [1, great, -2]));
        }
    }
}

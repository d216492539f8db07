//! What became of the frames of a mixture, by their size.

use std::collections::BTreeMap;

use romer_record::benchmark::SizeResult;

use crate::trial_trace::SentFrame;

/// Sizes that have a row of their own.
const ROWS: usize = 32;

/// What became of these frames, of which `arrivals` says when they came, by their size; nothing where they have one.
pub(crate) fn per_size(left: &[SentFrame], arrivals: &[Option<i64>]) -> Vec<SizeResult> {
    let mut rows: BTreeMap<u32, SizeResult> = BTreeMap::new();
    for (left, at) in left.iter().zip(arrivals) {
        let octets = left.octets;
        let row = rows.entry(octets).or_insert(SizeResult {
            min_octets: octets,
            max_octets: octets,
            ..SizeResult::default()
        });
        row.offered += 1;
        row.lost += u64::from(at.is_none());
    }
    if rows.len() < 2 {
        return Vec::new();
    }
    let mut rows: Vec<SizeResult> = rows.into_values().collect();
    // The most frequent first, of equally frequent ones the smaller: the order is stable.
    rows.sort_by_key(|row| std::cmp::Reverse(row.offered));
    let rest = rows.split_off(rows.len().min(ROWS));
    rows.extend(rest.into_iter().reduce(|all, row| SizeResult {
        min_octets: all.min_octets.min(row.min_octets),
        max_octets: all.max_octets.max(row.max_octets),
        offered: all.offered + row.offered,
        lost: all.lost + row.lost,
    }));
    rows.sort_by_key(|row| (row.min_octets, row.max_octets));
    rows
}

#[cfg(test)]
mod tests {
    use super::*;

    /// So many frames of each of these sizes, of which every third is lost.
    fn rows(sizes: impl Iterator<Item = (u32, usize)>) -> Vec<SizeResult> {
        let all: Vec<u32> = sizes.flat_map(|(octets, count)| std::iter::repeat_n(octets, count)).collect();
        let left: Vec<SentFrame> =
            all.iter().map(|octets| SentFrame { due: 0, sent: 0, octets: *octets }).collect();
        let arrivals: Vec<Option<i64>> = (0..all.len()).map(|place| (place % 3 > 0).then_some(1)).collect();
        per_size(&left, &arrivals)
    }

    #[test]
    fn each_size_has_a_row_and_every_frame_is_in_one() {
        assert_eq!(rows([(64, 9)].into_iter()), [], "one size needs no rows");
        let row = |[min_octets, max_octets]: [u32; 2], [offered, lost]: [u64; 2]| SizeResult {
            min_octets,
            max_octets,
            offered,
            lost,
        };
        let two = rows([(512, 3), (64, 6)].into_iter());
        assert_eq!(two, [row([64, 64], [6, 2]), row([512, 512], [3, 1])]);
        // A thousand sizes of which 31 are frequent: these by themselves, and of the others the smallest.
        let many = rows((64..1_064).map(|octets| (octets, if octets % 33 == 0 { 30 } else { 3 })));
        assert_eq!(many.len(), 33);
        assert_eq!(many.iter().filter(|row| row.offered == 30).count(), 31);
        let rest = many.iter().find(|row| row.min_octets < row.max_octets).unwrap();
        assert_eq!(rest.offered, (1_000 - 32) * 3);
        assert_eq!(many.iter().map(|row| row.offered).sum::<u64>(), 31 * 30 + 969 * 3);
        assert_eq!(many.iter().map(|row| row.lost).sum::<u64>(), (31 * 30 + 969 * 3) / 3);
    }
}

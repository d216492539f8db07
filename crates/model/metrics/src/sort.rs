//! Whole numbers in order of size, as fast as a long run needs it.

use crate::value::Whole;

/// Fewer values are sorted by comparing them.
const COMPARISON_SORT_BELOW: usize = 1 << 14;
/// Bits of a digit, and how many digits of that kind there are.
const BITS: u32 = 11;
const DIGITS: usize = 1 << BITS;
/// Of more digits, comparing is as fast.
const MOST_DIGITS: u32 = 4;

/// The values ascending. Of many values the digits of what they lie above the least one are counted and dealt out, the last
/// digit first (radix sort): the fewer digits their range has, the sooner it is done.
pub(crate) fn ascending<V: Whole>(values: &[V]) -> Vec<V> {
    let mut sorted = values.to_vec();
    put_in_order(&mut sorted);
    sorted
}

/// Puts the values in order of size, as fast as many whole numbers of a small range can be.
pub fn put_in_order<V: Whole>(values: &mut Vec<V>) {
    if values.is_sorted() {
        return;
    }
    let (Some(least), Some(greatest)) = (values.iter().min().copied(), values.iter().max().copied()) else {
        return;
    };
    let bits = u64::BITS - greatest.above(least).leading_zeros();
    if values.len() < COMPARISON_SORT_BELOW || bits > MOST_DIGITS * BITS {
        values.sort_unstable();
        return;
    }
    let mut counts = [[0_usize; DIGITS]; MOST_DIGITS as usize];
    let counts = &mut counts[..bits.div_ceil(BITS) as usize];
    for value in &*values {
        let above = value.above(least);
        for (counts, number) in counts.iter_mut().zip(0..) {
            counts[digit(above, number)] += 1;
        }
    }
    let mut other = vec![V::default(); values.len()];
    for (places, number) in counts.iter_mut().zip(0..) {
        let mut before = 0;
        for place in places.iter_mut() {
            before += std::mem::replace(place, before);
        }
        for value in &*values {
            let place = &mut places[digit(value.above(least), number)];
            other[*place] = *value;
            *place += 1;
        }
        std::mem::swap(values, &mut other);
    }
}

/// A digit of a number, by its place from the last.
#[expect(clippy::cast_possible_truncation, reason = "a digit is below 2^11")]
const fn digit(number: u64, place: u32) -> usize {
    (number >> (place * BITS)) as usize & (DIGITS - 1)
}

/// Items that are moved by so many places each, on the average, are not nearly in order.
const MOVES: usize = 8;

/// Puts items in order of a key that no two share, in place. Few are out of order as a rule, and by few places.
pub fn settle_by_key<T: Copy, K: Ord>(items: &mut [T], key: impl Fn(&T) -> K) {
    let mut moves = items.len().saturating_mul(MOVES);
    for place in 1..items.len() {
        let own = key(&items[place]);
        let by = items[..place].iter().rev().take(moves).take_while(|before| key(before) > own).count();
        if by == 0 {
            continue;
        }
        moves -= by;
        if moves == 0 {
            items.sort_unstable_by_key(key);
            return;
        }
        items[place - by..=place].rotate_right(1);
    }
}

/// Values of which few are out of order, ascending: those that break the order are taken out, sorted and put in again.
pub fn nearly_ascending<V: Copy + Ord>(values: impl Iterator<Item = V>) -> Vec<V> {
    let mut kept: Vec<V> = Vec::with_capacity(values.size_hint().1.unwrap_or(0));
    let mut others: Vec<V> = Vec::new();
    for value in values {
        // One that came long after those that follow it is itself what is out of order.
        while kept.len() > 1 && kept[kept.len() - 1] > value && kept[kept.len() - 2] <= value {
            others.extend(kept.pop());
        }
        match kept.last() {
            Some(last) if *last > value => others.push(value),
            _ => kept.push(value),
        }
    }
    if others.is_empty() {
        return kept;
    }
    others.sort_unstable();
    // From the back, so that nothing is moved twice.
    let (mut left, mut right) = (kept.len(), others.len());
    kept.extend_from_slice(&others);
    while right > 0 {
        let place = left + right - 1;
        if left > 0 && kept[left - 1] > others[right - 1] {
            kept[place] = kept[left - 1];
            left -= 1;
        } else {
            kept[place] = others[right - 1];
            right -= 1;
        }
    }
    kept
}

/// Of values that fall up to some place and rise from there on: ascending.
pub(crate) fn of_valley<V: Copy>(values: &[V], less: impl Fn(&V, &V) -> bool) -> Vec<V> {
    let bottom =
        values.windows(2).position(|pair| less(&pair[0], &pair[1])).map_or(values.len(), |place| place + 1);
    let (falling, rising) = values.split_at(bottom);
    let (mut falling, mut rising) = (falling.iter().rev().peekable(), rising.iter().peekable());
    let mut merged = Vec::with_capacity(values.len());
    while let (Some(left), Some(right)) = (falling.peek(), rising.peek()) {
        let next = if less(right, left) { rising.next() } else { falling.next() };
        merged.extend(next.copied());
    }
    merged.extend(falling.chain(rising).copied());
    merged
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use romer_units::random::{RandomStream, Seed};

    #[test]
    fn dealing_out_digits_sorts_as_comparing_does() {
        let stream = RandomStream::new(Seed([3; 6]), [1, 2]);
        for (span, base) in
            [(1.0, -5), (1e3, 0), (1e9, -400_000_000), (1e13, i64::MIN), (1e18, i64::MAX - (1 << 60))]
        {
            let values: Vec<i64> =
                (0..40_000).map(|n| base + crate::sample::nearest(stream.unit(n) * span)).collect();
            let mut compared = values.clone();
            compared.sort_unstable();
            assert_eq!(ascending(&values), compared, "span {span}");
        }
    }

    proptest! {
        /// Items come into order of their keys, however far they are from it.
        #[test]
        fn settled_items_are_sorted(
            values in prop::collection::vec(0_i64..30, 0..60),
            step in -20_i64..20,
        ) {
            let mut items: Vec<(i64, i64)> = values.iter().zip(0..).map(|(value, place)| (value + step * place, place)).collect();
            let mut sorted = items.clone();
            sorted.sort_unstable();
            settle_by_key(&mut items, |item| *item);
            prop_assert_eq!(items, sorted);
        }

        #[test]
        fn what_is_nearly_in_order_is_put_in_order(
            values in prop::collection::vec(0_i64..30, 0..60),
            step in 0_i64..20,
        ) {
            let rising = || values.iter().zip(0..).map(|(value, place)| (value + step * place, place));
            let mut sorted: Vec<(i64, i64)> = rising().collect();
            sorted.sort_unstable();
            prop_assert_eq!(nearly_ascending(rising()), sorted);
        }

        #[test]
        fn a_valley_is_merged(mut left in prop::collection::vec(-9_i64..9, 0..20), mut right in prop::collection::vec(-9_i64..9, 0..20)) {
            left.sort_unstable_by(|a, b| b.cmp(a));
            right.sort_unstable();
            right.retain(|value| left.last().is_none_or(|last| value > last));
            left.extend(right);
            let mut sorted = left.clone();
            sorted.sort_unstable();
            prop_assert_eq!(of_valley(&left, |a, b| a < b), sorted);
        }
    }
}

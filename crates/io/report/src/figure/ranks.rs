//! Numbers of charts, and where their axes end.

#[expect(clippy::cast_precision_loss, reason = "a chart has about a thousand steps")]
pub(crate) fn as_float(nanos: i64) -> f64 {
    nanos as f64
}

#[expect(clippy::cast_precision_loss, reason = "a chart has about a thousand steps")]
pub(crate) fn share(part: usize, of: usize) -> f64 {
    part as f64 / of.max(1) as f64
}

pub(crate) fn at(sorted: &[f64], quantile: f64) -> Option<f64> {
    let last = sorted.len().checked_sub(1)?;
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        clippy::cast_precision_loss,
        reason = "an index within the slice"
    )]
    let index = (last as f64 * quantile).round() as usize;
    sorted.get(index.min(last)).copied()
}

/// The same of several that are each ascending, as if they were one.
fn at_of(sorted: &[&[f64]], quantile: f64) -> Option<f64> {
    if let [one] = sorted {
        return at(one, quantile);
    }
    let last = sorted.iter().map(|values| values.len()).sum::<usize>().checked_sub(1)?;
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        clippy::cast_precision_loss,
        reason = "an index within all of them"
    )]
    let wanted = ((last as f64 * quantile).round() as usize).min(last);
    // Of all of them the least that so many lie below or at: it is a value of one of them.
    let reach =
        |value: f64| sorted.iter().map(|values| values.partition_point(|one| *one <= value)).sum::<usize>();
    let first_of = |values: &&[f64]| {
        let place = values.partition_point(|value| reach(*value) <= wanted);
        values.get(place).copied()
    };
    sorted.iter().filter_map(first_of).reduce(f64::min)
}

/// Where an axis begins and ends: around all values, or, where a few outliers would flatten the rest, around 99.5 %
/// of them. It begins at zero unless that would waste much of it.
pub(crate) fn ends(sorted: &[f64]) -> (f64, f64) {
    ends_of(&[sorted])
}

/// The same of several that are each ascending.
pub(crate) fn ends_of(sorted: &[&[f64]]) -> (f64, f64) {
    let firsts = sorted.iter().filter_map(|values| values.first().copied());
    let lasts = sorted.iter().filter_map(|values| values.last().copied());
    let (Some(least), Some(most), Some(all)) =
        (firsts.reduce(f64::min), at_of(sorted, 0.995), lasts.reduce(f64::max))
    else {
        return (0.0, 1.0);
    };
    // Where nothing varies, an axis of a single nanosecond would be all digits.
    let least_length = (1e-5 * least.abs()).max(1.0);
    let (usual, whole) = ((most - least).max(least_length), (all - least).max(least_length));
    let end = least + if whole > 2.5 * usual { 1.6 * usual } else { 1.06 * whole.max(1.0) };
    let from = if least > 0.3 * end { least - 0.08 * (end - least) } else { least.min(0.0) };
    (from, end)
}

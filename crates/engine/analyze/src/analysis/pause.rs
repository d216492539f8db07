//! A pause between departures that may separate two runs in one file.

use romer_record::warning::MeasurementWarning;

/// The longest pause in which no packet left.
#[derive(Clone, Copy, Debug, Default)]
struct Pause {
    length_ns: i64,
    /// The rows of the packets before and after it.
    rows: [usize; 2],
    /// How many intervals between departures there are before it.
    before: u64,
}

/// That the longest pause of a file exceeds all other time in it, so that two runs may be joined there. Each of them has an interval
/// of its own. `departures` are those of the rows in their order, and `line` is the line of a row.
pub(super) fn warning(
    departures: impl Iterator<Item = Option<i64>>,
    line: impl Fn(usize) -> u64,
) -> Option<MeasurementWarning> {
    let (mut longest, mut intervals) = (Pause::default(), 0_u64);
    let (mut first, mut latest) = (None, None::<(usize, i64)>);
    for (row, departure) in departures.enumerate() {
        let Some(departure) = departure else { continue };
        let began = *first.get_or_insert(departure);
        first = Some(began.min(departure));
        let Some((last_row, last)) = latest else {
            latest = Some((row, departure));
            continue;
        };
        let length_ns = departure.saturating_sub(last);
        if length_ns <= 0 {
            // A copy, or a packet that others overtook.
            continue;
        }
        if length_ns > longest.length_ns {
            longest = Pause { length_ns, rows: [last_row, row], before: intervals };
        }
        intervals += 1;
        latest = Some((row, departure));
    }
    let whole_ns = latest?.1.saturating_sub(first?);
    let after = intervals.saturating_sub(longest.before + 1);
    let is_between_runs = longest.before > 0 && after > 0 && longest.length_ns > whole_ns / 2;
    is_between_runs.then(|| {
        let [before_line, after_line] = longest.rows.map(&line);
        MeasurementWarning::LongPause { pause_ns: longest.length_ns, before_line, after_line }
    })
}

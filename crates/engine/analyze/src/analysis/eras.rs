//! Stamps that lost the era of NTP: its seconds begin anew every 2^32, next in February 2036, and who converts them without
//! counting that writes times 136 years too early from then on.
//!
//! No log lasts half an era. Where the stamps of a clock lie further apart, each is read in the era that is nearest to the
//! others (RFC 5905 section 6).

use romer_exchange::csv::Shape;
use romer_record::warning::MeasurementWarning;
use romer_wire::ntp::{HALF_ERA_NS, in_nearest_era};

use super::absent::clock;
use super::packets::{Gathering, StampColumn};

const COLUMNS: [StampColumn; 8] = [
    StampColumn::Best(0),
    StampColumn::Best(1),
    StampColumn::Best(2),
    StampColumn::Best(3),
    StampColumn::User(0),
    StampColumn::User(1),
    StampColumn::User(2),
    StampColumn::User(3),
];

/// Reads the stamps of all lines in one era, where those of a clock are of several, and says so.
pub(super) fn unwrap(lines: &mut Gathering, shape: Shape) -> Option<MeasurementWarning> {
    let of_clock = |wanted: usize| {
        let columns = COLUMNS.into_iter().enumerate();
        columns.filter(move |(place, _)| clock(shape, place % 4) == wanted).map(|(_, column)| column)
    };
    let stamps = |wanted: usize| of_clock(wanted).flat_map(|column| lines.column(column));
    let is_wrapped = (0..2).any(|clock| {
        let ends = stamps(clock).fold(None, |ends: Option<(i64, i64)>, stamp| {
            let (low, high) = ends.unwrap_or((stamp, stamp));
            Some((low.min(stamp), high.max(stamp)))
        });
        ends.is_some_and(|(low, high)| low.abs_diff(high) > HALF_ERA_NS.unsigned_abs())
    });
    if !is_wrapped {
        return None;
    }
    // A stamp that most others lie near to, by the sender's clock where that is known.
    let mut known: Vec<i64> = stamps(0).collect();
    if known.is_empty() {
        known.extend(stamps(1));
    }
    let middle = known.len() / 2;
    let reference = *known.select_nth_unstable(middle).1;
    let mut moved = 0;
    for column in COLUMNS {
        lines.change(column, |stamp| {
            let unwrapped = in_nearest_era(stamp, reference);
            moved += u64::from(unwrapped != stamp);
            Some(unwrapped)
        });
    }
    Some(MeasurementWarning::NtpEraUnwrapped { stamps: moved })
}

#[cfg(test)]
mod tests {
    use romer_exchange::csv::Row;

    use super::*;

    const SECOND: i64 = 1_000_000_000;
    /// The first second of NTP's second era.
    const NEXT: i64 = 2_085_978_496 * SECOND;
    const ERA: i64 = (1 << 32) * SECOND;

    /// 100 probes a second apart, of which the stamps from `NEXT` on lack the era where a clock loses it.
    fn log(loses: [bool; 2]) -> (Gathering, Vec<[i64; 4]>) {
        let mut lines = Gathering::new();
        let mut truth = Vec::new();
        for n in 0..100_i64 {
            let sent = NEXT + (n - 30) * SECOND - 5_000_000;
            let stamps = [sent, sent + 5_000_000, sent + 5_100_000, sent + 10_000_000];
            let written = [0, 1, 2, 3].map(|place| {
                let is_lost = loses[clock(Shape::FourStamps, place)] && stamps[place] >= NEXT;
                Some(stamps[place] - if is_lost { ERA } else { 0 })
            });
            lines.add(Row { sequence: n.unsigned_abs(), size: 44, stamps: written, user: [None; 4] });
            truth.push(stamps);
        }
        (lines, truth)
    }

    /// Whichever clock loses the era, all stamps are as if none did, up to a whole number of eras for all of them.
    #[test]
    fn eras_are_unwrapped() {
        for loses in [[true, true], [false, true], [true, false]] {
            let (mut lines, truth) = log(loses);
            let note = unwrap(&mut lines, Shape::FourStamps).unwrap();
            assert!(matches!(note, MeasurementWarning::NtpEraUnwrapped { stamps: 1.. }), "{note:?}");
            let off = truth[0][0] - lines.row(0).stamps[0].unwrap();
            assert_eq!(off % ERA, 0);
            for (n, stamps) in truth.iter().enumerate() {
                assert_eq!(lines.row(n).stamps, stamps.map(|stamp| Some(stamp - off)), "{loses:?} {n}");
            }
        }
    }

    /// Clocks that count from other origins are left alone, however far they lie from each other.
    #[test]
    fn other_origins_are_left_alone() {
        let (mut lines, truth) = log([false; 2]);
        lines.change(StampColumn::Best(1), |stamp| Some(stamp - ERA));
        lines.change(StampColumn::Best(2), |stamp| Some(stamp - ERA));
        assert_eq!(unwrap(&mut lines, Shape::FourStamps), None);
        assert_eq!(lines.row(7).stamps[1], Some(truth[7][1] - ERA));
    }
}

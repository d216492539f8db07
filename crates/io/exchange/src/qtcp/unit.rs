//! Whether stamps are in another unit than they are taken for.

use std::path::Path;

use romer_record::warning::MeasurementWarning;

use super::{Spread, UNIT_NS, sta};

/// That the stamps of `raw` may be in another unit than 100 ns: the `.sta` file beside it says so, or there is none that tells and
/// whoever sent the packets may see it by how often they were sent. `span` are the least number that came and the greatest, if the send
/// times tell that: not where there are steps in them. Of romer's own files nothing is asked.
pub fn doubt(raw: &Path, spread: &Spread, span: Option<[u64; 2]>) -> Option<MeasurementWarning> {
    if sta::is_ours(raw) {
        return None;
    }
    let told = sta::File::beside(raw).map_or(sta::TimeUnit::Untold, |file| sta::unit_of(&file, spread));
    if let sta::TimeUnit::Other(warning) = told {
        return Some(warning);
    }
    let [first, last] = span.filter(|_| told == sta::TimeUnit::Untold)?;
    let took = spread.sent[1].checked_sub(spread.sent[0]).filter(|took| *took > 0)?.checked_mul(UNIT_NS)?;
    let each = took / i64::try_from(last - first).ok().filter(|steps| *steps > 0)?;
    Some(MeasurementWarning::TimeUnitAssumed { interval_ns: each })
}

#[cfg(test)]
mod tests {
    use super::super::Entry;
    use super::*;

    #[test]
    fn where_no_statistics_tell_how_often_packets_were_sent_is_said() {
        let entry = |n: i64| Entry { sent: n * 20, received: n * 20 + 3, size: 64, sequence: 0 };
        let entries: Vec<Entry> = (0..101).map(entry).collect();
        let said = |span| doubt(Path::new("/nowhere/a.raw"), &Spread::from_entries(&entries), span);
        assert_eq!(said(Some([0, 100])), Some(MeasurementWarning::TimeUnitAssumed { interval_ns: 2_000 }));
        assert_eq!((said(None), said(Some([5, 5]))), (None, None), "nothing tells");
    }
}

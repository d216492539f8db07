//! The formats of other tools as rows.

use std::path::Path;

use romer_exchange::csv::{Row, Shape};
use romer_exchange::irtt::{self, Loss};
use romer_exchange::packed::Records;
use romer_exchange::ping;
use romer_exchange::qtcp::{self, Entry, Spread, UNIT_NS, sta, unit};
use romer_record::warning::{MeasurementWarning, StampsRemedy};
use romer_units::{Duration, TimestampPoint};

use super::error::AnalysisError;
use super::packets::{Gathering, Unstamped};
use super::rows::LogPresence;
use super::table::{About, Table, faulty, open};
use super::{eras, received};

/// A `.raw` or `.log` of Qtcp; romer's own have packets of any size. Its numbers that are missing are lost packets, unless a
/// `.sta` of romer's beside it says which of them are. Its stamps are in units of 100 ns, unless another is `stated`.
pub(super) fn of_qtcp(path: &Path, any_size: bool, stated: Option<i64>) -> Result<Table, AnalysisError> {
    let unit_ns = stated.unwrap_or(UNIT_NS);
    let options = qtcp::Options { any_size: any_size || sta::is_ours(path), trust_latency: false };
    let file = open(path, Records::Lines)?;
    let budget = file.get_ref().budget();
    let read = qtcp::read(file, options, |packets| budget.admit(packets));
    let mut found = read.map_err(|fault| faulty(path, fault))?;
    let doubt = unit_doubt(path, &found).filter(|_| stated.is_none());
    found.notes = found.notes.from_units(unit_ns);
    let mut stepped = found.notes.take_steps();
    let (origin, moved) = origin(&found.entries, unit_ns);
    let nanos = |units: i64| {
        units.checked_sub(origin).and_then(|units| units.checked_mul(unit_ns)).ok_or_else(|| {
            AnalysisError::Line {
                path: path.into(),
                line: 1,
                why: format!(
                    "its stamps are more than 146 years from each other; are they of {}?",
                    Duration::from_nanos(unit_ns)
                ),
            }
        })
    };
    let mut lines = Gathering::new();
    for entry in &found.entries {
        let stamps = [Some(nanos(entry.sent)?), Some(nanos(entry.received)?), None, None];
        lines.add(Row { sequence: entry.sequence, size: entry.size, stamps, user: [None; 4] });
    }
    let size = found.entries.first().map_or(0, |entry| entry.size);
    let told = sta::Missing::beside(path, found.entries.len() as u64);
    let not_lost = told.as_ref().and_then(|told| not_lost(told, &found.lost));
    let told =
        told.unwrap_or_else(|| sta::Missing { lost: std::mem::take(&mut found.lost), ..Default::default() });
    for sequence in told.lost.iter().chain(&told.unread) {
        lines.add(Row { sequence: *sequence, size, ..Row::default() });
    }
    let other_eras = eras::unwrap(&mut lines, Shape::OneWay);
    let set_back = received::steps(found.entries.len(), |line| {
        let row = lines.row(line);
        row.stamps[0].zip(row.stamps[1])
    });
    if set_back.is_none() {
        // Its lines are in order of departure: packets have overtaken.
        stepped[1] = None;
    }
    let mut about = About {
        notes: found.notes.warnings(),
        stepped,
        protocol: match stated {
            None => "as Qtcp or a program like it recorded it, in units of 100 ns".into(),
            Some(unit) => {
                format!("as a program like Qtcp recorded it, in units of {}", Duration::from_nanos(unit))
            }
        },
        ..About::default()
    };
    about.notes.extend(doubt);
    about.notes.extend(other_eras);
    about.tells_missing = not_lost.is_some();
    about.notes.extend(not_lost);
    about.unread.there = told.unread;
    if moved {
        about.notes.push(MeasurementWarning::TimeStampsShifted);
    }
    if qtcp::is_normalised(&found.entries) {
        about.notes.push(MeasurementWarning::AlreadyNormalised);
    }
    // They are in the lines, and to put these in order takes memory.
    drop(found);
    let packets = lines.finish(Shape::OneWay, LogPresence::Complete, Unstamped::default());
    Ok(Table {
        shape: Shape::OneWay,
        packets,
        responder_log: LogPresence::Complete,
        set_back: set_back.unwrap_or_default(),
        about,
    })
}

/// That the stamps may be in another unit, as [`unit::doubt`] has it; what is normalised has been taken for one already.
fn unit_doubt(path: &Path, found: &qtcp::FileContent) -> Option<MeasurementWarning> {
    let numbers = || found.entries.iter().map(|entry| entry.sequence);
    let span = numbers().min().zip(numbers().max()).map(|(first, last)| [first, last]);
    let tells = found.notes.sent_back.is_none() && !qtcp::is_normalised(&found.entries);
    unit::doubt(path, &Spread::from_entries(&found.entries), span.filter(|_| tells))
}

/// That numbers are `missing` which by the `.sta` are no losses, where that is so.
fn not_lost(told: &sta::Missing, missing: &[u64]) -> Option<MeasurementWarning> {
    let is_lost = |sequence: &&u64| told.lost.binary_search(sequence).is_ok();
    let count = missing.len() - missing.iter().filter(is_lost).count();
    let instrument_drops = told.unread.len() as u64;
    let not_lost = count as u64;
    (not_lost + instrument_drops > 0)
        .then_some(MeasurementWarning::MissingNotLost { not_lost, instrument_drops })
}

/// What is subtracted from all stamps, so that they fit in nanoseconds: 100 ns since 1601, as Windows counts, do not.
fn origin(entries: &[Entry], unit_ns: i64) -> (i64, bool) {
    let greatest = entries.iter().map(|entry| entry.sent.max(entry.received)).max().unwrap_or(0);
    if greatest < i64::MAX / 2 / unit_ns {
        return (0, false);
    }
    (entries.iter().map(|entry| entry.sent.min(entry.received)).min().unwrap_or(0), true)
}

/// A document of irtt.
pub(super) fn of_irtt(path: &Path) -> Result<Table, AnalysisError> {
    let mut found = irtt::read(open(path, Records::Objects)?).map_err(|fault| match fault {
        irtt::IrttFault::Io(source) => AnalysisError::reading(path, source),
        irtt::IrttFault::Document { line, why } => AnalysisError::Line { path: path.into(), line, why },
    })?;
    let those = |which: Loss| {
        let of_it = found.rows.iter().filter(|(_, loss)| *loss == Some(which));
        let mut numbers: Vec<u64> = of_it.map(|(row, _)| row.sequence).collect();
        numbers.sort_unstable();
        numbers
    };
    // The server says of those that were lost on the way back that they came, though not when.
    let unstamped = Unstamped { answered: those(Loss::Back), untold: those(Loss::Unknown) };
    let mut lines = Gathering::new();
    for (row, _) in found.rows {
        lines.add(row);
    }
    found.notes.extend(eras::unwrap(&mut lines, Shape::FourStamps));
    let packets = lines.finish(Shape::FourStamps, LogPresence::Complete, unstamped);
    let about = About {
        notes: found.notes,
        counted: found.counted,
        stamps_missing: Some(StampsRemedy::Irtt),
        place: Some(TimestampPoint::User),
        protocol: if found.version.is_empty() {
            format!("irtt, to {}", found.remote)
        } else {
            format!("irtt {}, to {}", found.version, found.remote)
        },
        started: found.started,
        host: found.host,
        dscp: Some(found.tos >> 2),
        interval_ns: Some(found.interval_ns).filter(|interval| *interval > 0),
        ..About::default()
    };
    Ok(Table {
        shape: Shape::FourStamps,
        packets,
        responder_log: LogPresence::Complete,
        set_back: Vec::new(),
        about,
    })
}

/// What ping printed. Its packets have no stamps of the far end, and a loss no direction.
pub(super) fn of_ping(path: &Path) -> Result<Table, AnalysisError> {
    let file = open(path, Records::Lines)?;
    let budget = file.get_ref().budget();
    let found = ping::read(file, |packets| budget.admit(packets)).map_err(|fault| faulty(path, fault))?;
    let mut lines = Gathering::new();
    found.rows.into_iter().for_each(|row| lines.add(row));
    let packets = lines.finish(Shape::FourStamps, LogPresence::None, Unstamped::default());
    let protocol = if found.remote.is_empty() { "ping".into() } else { format!("ping, to {}", found.remote) };
    let about = About {
        notes: found.notes,
        stamps_missing: None,
        place: Some(TimestampPoint::User),
        protocol,
        interval_ns: Some(found.interval_ns),
        ..About::default()
    };
    Ok(Table {
        shape: Shape::FourStamps,
        packets,
        responder_log: LogPresence::None,
        set_back: Vec::new(),
        about,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_sta_tells_of_packets_that_are_no_losses_is_told_so_far_as_there_are_any() {
        let told = |lost: &[u64], unread: &[u64], missing: &[u64]| {
            not_lost(&sta::Missing { lost: lost.to_vec(), unread: unread.to_vec() }, missing)
        };
        assert_eq!(told(&[3, 4], &[], &[3, 4]), None);
        let found = |not_lost, instrument_drops| {
            Some(MeasurementWarning::MissingNotLost { not_lost, instrument_drops })
        };
        assert_eq!(told(&[3], &[], &[3, 4]), found(1, 0));
        // Those before the first that arrived are not missing.
        assert_eq!(told(&[3], &[0, 1], &[3]), found(0, 2));
        assert_eq!(told(&[3], &[4], &[3, 4, 5]), found(2, 1));
    }
}

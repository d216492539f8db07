//! The time axis.

use super::drawing::{Axis, Labels};
use super::ranks::as_float;
use crate::input::Singletons;
use crate::number::TimeScale;

/// When each probe left the sender, which is the time axis of every chart, whichever clock a stamp is on.
pub(crate) struct Times {
    /// Sequence and nanoseconds since the first departure, in order of sequence.
    departures: Vec<(u64, i64)>,
    pub(super) unit: TimeScale,
    pub(crate) end: f64,
}

impl Times {
    pub(crate) fn from_singletons(singletons: &Singletons<'_>) -> Self {
        let ways = [singletons.round_trip, singletons.forward, singletons.reverse];
        let from = ways.into_iter().find(|singletons| !singletons.is_empty()).unwrap_or_default();
        let mut departures: Vec<(u64, i64)> =
            from.iter().filter_map(|p| Some((p.sequence, p.departure?.as_nanos()))).collect();
        departures.sort_unstable();
        departures.dedup_by_key(|(sequence, _)| *sequence);
        let first = departures.iter().map(|(_, at)| *at).min().unwrap_or(0);
        for (_, at) in &mut departures {
            *at = at.saturating_sub(first);
        }
        let end = departures.iter().map(|(_, at)| *at).max().unwrap_or(0);
        let end = as_float(end).max(1.0);
        Self { departures, unit: TimeScale::for_nanos(end), end }
    }

    /// When each was sent, in the unit of the axis.
    pub(super) fn moments(&self) -> impl Iterator<Item = f64> {
        self.departures.iter().map(|(_, at)| as_float(*at) / self.unit.nanos())
    }

    pub(super) fn of_probe(&self, sequence: u64) -> Option<f64> {
        self.since_first(sequence).map(|nanos| nanos / self.unit.nanos())
    }

    /// When a probe was sent, nanoseconds after the first.
    pub(crate) fn since_first(&self, sequence: u64) -> Option<f64> {
        // Where no number is left out, as in most runs, its place is known.
        let guess = sequence.checked_sub(self.departures.first()?.0).and_then(|n| usize::try_from(n).ok());
        if let Some((_, at)) =
            guess.and_then(|place| self.departures.get(place)).filter(|one| one.0 == sequence)
        {
            return Some(as_float(*at));
        }
        let index = self.departures.binary_search_by_key(&sequence, |(sequence, _)| *sequence).ok()?;
        self.departures.get(index).map(|(_, at)| as_float(*at))
    }
    pub(super) fn axis(&self) -> Axis {
        Axis {
            title: format!("time since the first probe, {}", self.unit.name(true)),
            from: 0.0,
            to: self.end / self.unit.nanos(),
            labels: Labels::Numbers,
        }
    }
}

//! The synchronisation of one host's clock from one look to the next: its loss, its sources, and the largest bound of its error.

use romer_record::document::{Chrony, ClockSync};
use romer_record::event::EventDetail;
use romer_units::Duration;

/// A daemon that gives other daemons the time of a receiver, and steers no clock itself.
const GPSD: &str = "gpsd";
/// A bound that has grown by more than this factor without an update is reported as holdover.
const HOLDOVER_FACTOR: i64 = 2;
/// Missing updates of holdover. Between two updates, a bound of microseconds doubles although nothing is wrong.
const HOLDOVER_UPDATES: i64 = 4;
/// Time between two updates where chrony states none: its longest by default (`maxpoll` 10).
const LONGEST_UPDATE_INTERVAL: Duration = Duration::from_secs(1 << 10);
/// Time between two questions to the daemons of a clock. An answer does not show that updates are more frequent.
pub const CLOCK_QUERY_INTERVAL: Duration = Duration::from_secs(16);
/// Error of a clock's rate beyond the skew that chrony states, ppm: its `maxclockerror`.
const MAX_CLOCK_ERROR_PPM: f64 = 1.0;

/// By how much the bound of a clock's error grows in `age` without an update, if chrony states this skew. It does not shrink where
/// `age` is negative.
pub fn bound_growth(skew_ppm: f64, age: Duration) -> Duration {
    let nanos_per_second = (skew_ppm.abs() + MAX_CLOCK_ERROR_PPM) * 1e3;
    Duration::from_nanos_f64(age.as_secs_f64().max(0.0) * nanos_per_second)
}

/// By how much a bound of chrony grows until [`HOLDOVER_UPDATES`] are missing, nanoseconds.
fn holdover_growth_ns(chrony: &Chrony) -> i64 {
    let interval = chrony.update_interval_ns.map_or(LONGEST_UPDATE_INTERVAL, Duration::from_nanos);
    let shown = interval.max(CLOCK_QUERY_INTERVAL);
    bound_growth(chrony.skew_ppm, shown).as_nanos().saturating_mul(HOLDOVER_UPDATES)
}

/// The bound after an update of the reference.
#[derive(Clone, Copy, Debug)]
struct Update {
    updated_ns: i64,
    bound_ns: i64,
    is_reported: bool,
}

/// Compares the states of a host's clock synchronisation.
#[derive(Clone, Debug)]
pub struct SyncWatch {
    last: ClockSync,
    update: Option<Update>,
    largest_bound_ns: Option<i64>,
}

impl SyncWatch {
    /// Begins with the first state.
    pub fn new(first: ClockSync) -> Self {
        let mut own = Self { largest_bound_ns: first.error_bound_ns(), update: None, last: first };
        own.holdover();
        own
    }

    /// Takes the present state. Returns what has changed since the one before.
    pub fn look(&mut self, now: ClockSync) -> Vec<EventDetail> {
        self.largest_bound_ns = self.largest_bound_ns.max(now.error_bound_ns());
        let before = core::mem::replace(&mut self.last, now);
        let now = &self.last;
        let mut changes = Vec::new();
        match (before.is_kept(), now.is_kept()) {
            (true, false) => changes.push(EventDetail::Unsynchronised),
            (false, true) => changes.push(EventDetail::Synchronised),
            _ => {}
        }
        let only_of = |one: &ClockSync, other: &ClockSync| -> Vec<String> {
            let steering = one.sync_daemons.iter().filter(|name| *name != GPSD);
            steering.filter(|name| !other.sync_daemons.contains(name)).cloned().collect()
        };
        let stopped = only_of(&before, now).into_iter();
        changes.extend(stopped.map(|daemon| EventDetail::SyncDaemonStopped { daemon }));
        let started = only_of(now, &before).into_iter();
        changes.extend(started.map(|daemon| EventDetail::SyncDaemonStarted { daemon }));
        if let (Some(reference_before), Some(reference)) = (before.reference(), now.reference())
            && reference_before != reference
        {
            let [reference, reference_before] = [reference, reference_before].map(str::to_owned);
            changes.push(EventDetail::ReferenceChanged { reference, reference_before });
        }
        changes.extend(self.holdover());
        changes
    }

    /// The last state, with the largest bound of all.
    pub fn state(&self) -> ClockSync {
        ClockSync { largest_error_bound_ns: self.largest_bound_ns, ..self.last.clone() }
    }

    /// Bound of the clock's error in the last state, nanoseconds; `None` if the host states none.
    pub fn error_bound_ns(&self) -> Option<i64> {
        self.last.error_bound_ns()
    }

    /// That several updates of chrony are missing, and its bound has more than doubled meanwhile. It is reported once an update.
    fn holdover(&mut self) -> Option<EventDetail> {
        let chrony = self.last.chrony.as_ref().filter(|chrony| chrony.stratum > 0)?;
        let (updated_ns, bound_ns) = (chrony.updated_ns?, chrony.bound_ns);
        let usual_growth_ns = holdover_growth_ns(chrony);
        let Some(update) = self.update.as_mut().filter(|update| update.updated_ns == updated_ns) else {
            self.update = Some(Update { updated_ns, bound_ns, is_reported: false });
            return None;
        };
        let doubled_ns = update.bound_ns.saturating_mul(HOLDOVER_FACTOR);
        let has_grown = bound_ns > doubled_ns.max(update.bound_ns.saturating_add(usual_growth_ns));
        if !has_grown || update.is_reported {
            return None;
        }
        update.is_reported = true;
        Some(EventDetail::Holdover { bound_ns, bound_before_ns: update.bound_ns })
    }
}

#[cfg(test)]
mod tests {
    use romer_record::event::EventKind;

    use super::*;

    const MS: i64 = 1_000_000;

    /// A host whose chronyd follows `reference`, with an update at `updated_ns`.
    fn state(reference: &str, updated_ns: i64, bound_ns: i64) -> ClockSync {
        ClockSync {
            synchronised: Some(true),
            state: Some("ok".into()),
            maximum_error_ns: Some(50 * MS),
            sync_daemons: vec!["chronyd".into()],
            chrony: Some(Chrony {
                reference: reference.into(),
                stratum: 2,
                bound_ns,
                updated_ns: Some(updated_ns),
                update_interval_ns: Some(64_000_000_000),
                ..Chrony::default()
            }),
            ..ClockSync::default()
        }
    }

    /// A state that does not change is no event; the largest bound is that of all states.
    #[test]
    fn largest_bound_of_all_states() {
        let mut watch = SyncWatch::new(state("192.0.2.1", 1, 2 * MS));
        for (updated, bound) in [(1, 3 * MS), (2, MS), (3, 2 * MS)] {
            assert_eq!(watch.look(state("192.0.2.1", updated, bound)), []);
        }
        assert_eq!(watch.state().largest_error_bound_ns, Some(3 * MS));
        assert_eq!(watch.error_bound_ns(), Some(2 * MS));
    }

    /// A clock that the kernel states as unsynchronised is lost until it is synchronised again (chrony stepped, or unsynchronised).
    #[test]
    fn loss_and_return_of_synchronisation() {
        let kept = state("192.0.2.1", 1, MS);
        let unsynchronised =
            ClockSync { synchronised: Some(false), state: Some("error".into()), ..kept.clone() };
        let erroneous = ClockSync { state: Some("error".into()), ..kept.clone() };
        for lost in [unsynchronised, erroneous] {
            let mut watch = SyncWatch::new(kept.clone());
            assert_eq!(watch.look(lost.clone()), [EventDetail::Unsynchronised]);
            assert_eq!(watch.error_bound_ns(), None);
            assert_eq!(watch.look(lost), []);
            assert_eq!(watch.look(kept.clone()), [EventDetail::Synchronised]);
        }
        assert_eq!(EventDetail::Unsynchronised.kind(), EventKind::ClockSyncLost);
        assert_eq!(EventDetail::Synchronised.kind(), EventKind::ClockSyncChange);
    }

    /// A daemon that stops leaves a clock without a bound, although the kernel still calls it synchronised. gpsd steers none.
    #[test]
    fn stopped_daemons_are_a_loss() {
        let kept = ClockSync { sync_daemons: vec!["chronyd".into(), "gpsd".into()], ..state("PPS0", 1, MS) };
        let without = |names: &[&str], chrony| ClockSync {
            sync_daemons: names.iter().map(|name| (*name).to_owned()).collect(),
            chrony,
            ..kept.clone()
        };
        let mut watch = SyncWatch::new(kept.clone());
        assert_eq!(watch.look(without(&["chronyd"], kept.chrony.clone())), []);
        let stopped = EventDetail::SyncDaemonStopped { daemon: "chronyd".into() };
        assert_eq!(stopped.kind(), EventKind::ClockSyncLost);
        assert_eq!(watch.look(without(&[], None)), [stopped]);
        assert_eq!(watch.error_bound_ns(), None);
        assert_eq!(watch.look(kept), [EventDetail::SyncDaemonStarted { daemon: "chronyd".into() }]);
    }

    /// Another reference is reported with the one before.
    #[test]
    fn changed_references_are_reported() {
        let mut watch = SyncWatch::new(state("192.0.2.1", 1, MS));
        let changed = EventDetail::ReferenceChanged {
            reference: "192.0.2.9".into(),
            reference_before: "192.0.2.1".into(),
        };
        assert_eq!(watch.look(state("192.0.2.9", 2, MS)), [changed]);
    }

    /// Holdover is reported once if the bound more than doubles without an update, and again after the next update.
    #[test]
    fn holdover_is_reported_once_an_update() {
        let mut watch = SyncWatch::new(state("192.0.2.1", 1, MS));
        assert_eq!(watch.look(state("192.0.2.1", 1, 2 * MS)), []);
        let holdover = EventDetail::Holdover { bound_ns: 2 * MS + 1, bound_before_ns: MS };
        assert_eq!(watch.look(state("192.0.2.1", 1, 2 * MS + 1)), [holdover]);
        assert_eq!(watch.look(state("192.0.2.1", 1, 9 * MS)), []);
        assert_eq!(watch.look(state("192.0.2.1", 2, MS)), []);
        let again = EventDetail::Holdover { bound_ns: 3 * MS, bound_before_ns: MS };
        assert_eq!(watch.look(state("192.0.2.1", 2, 3 * MS)), [again]);
    }

    /// A bound of 2 us that grows until the next update of 64 s is no holdover: four updates are 256 us at 1 ppm.
    #[test]
    fn growth_between_updates_is_no_holdover() {
        let mut watch = SyncWatch::new(state("PPS0", 1, 2_000));
        assert_eq!(watch.look(state("PPS0", 1, 66_000)), []);
        assert_eq!(watch.look(state("PPS0", 1, 258_000)), []);
        let frequent = |bound_ns| {
            let mut state = state("PPS0", 1, bound_ns);
            state.chrony =
                state.chrony.map(|chrony| Chrony { update_interval_ns: Some(1_000_000_000), ..chrony });
            state
        };
        let mut often = SyncWatch::new(frequent(2_000));
        assert_eq!(often.look(frequent(66_000)), [], "chrony is asked every 16 s only");
        let holdover = EventDetail::Holdover { bound_ns: 258_001, bound_before_ns: 2_000 };
        assert_eq!(watch.look(state("PPS0", 1, 258_001)), [holdover]);
    }
}

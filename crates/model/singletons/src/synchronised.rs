//! Absolute one-way delays of two clocks whose difference has a stated bound, unless the time stamps contradict it.

use romer_clock::skew::Estimate;
use romer_clock::{across, length};
use romer_record::OneWaySingleton;
use romer_record::document::{ClockState, DelayKind, Synchronisation};
use romer_record::warning::SynchronisationContradiction;
use romer_units::Direction;

use crate::relate::StreamSingletons;

/// The difference of a singleton's stamps without the known offset, nanoseconds.
fn absolute(singleton: &OneWaySingleton, heading: Direction, stated: &Synchronisation) -> Option<i128> {
    let offset = i128::from(stated.offset_ns);
    let raw = across(singleton.departure?, singleton.arrival?);
    Some(if heading == Direction::Forward { raw - offset } else { raw + offset })
}

/// The movement of the clocks' offset that is certain by the estimate, nanoseconds: its range in one direction without the error at
/// both ends of that range.
fn movement(singletons: &[OneWaySingleton], heading: Direction, estimate: &Estimate) -> f64 {
    let correction = estimate.correction(heading);
    if correction.is_empty() {
        return 0.0;
    }
    let on_sender = |one: &OneWaySingleton| match heading {
        Direction::Forward => one.departure.map(|at| at.as_nanos()),
        Direction::Reverse => one.arrival.map(|at| at.as_nanos()),
    };
    let (mut low, mut high) = (f64::INFINITY, f64::NEG_INFINITY);
    for at in singletons.iter().filter_map(on_sender) {
        #[expect(clippy::cast_precision_loss, reason = "corrections are below a hundred days")]
        let value = correction.at(at) as f64;
        let error = correction.error_at(at);
        low = low.min(value + error);
        high = high.max(value - error);
    }
    (high - low).max(0.0)
}

impl StreamSingletons {
    /// What contradicts these clocks' being synchronised as stated. Neither host loses its synchronisation. A packet does not arrive before it leaves; and two clocks that are
    /// each within their bounds do not move against each other by more than twice the sum of the bounds.
    fn contradicts(
        &self,
        stated: &Synchronisation,
        estimate: &Estimate,
        was_set: bool,
    ) -> Option<SynchronisationContradiction> {
        if let Some(lost) = stated.lost {
            return Some(SynchronisationContradiction::Lost(lost));
        }
        let ways = [(Direction::Forward, &self.forward), (Direction::Reverse, &self.reverse)];
        for (heading, singletons) in ways {
            let least = singletons.iter().filter_map(|one| absolute(one, heading, stated)).min();
            if let Some(least) = least.filter(|least| *least < -i128::from(stated.bound_ns)) {
                let max_ns = i64::try_from(-least).unwrap_or(i64::MAX);
                return Some(SynchronisationContradiction::ArrivalBeforeDeparture {
                    direction: heading.into(),
                    max_ns,
                });
            }
        }
        if was_set {
            return Some(SynchronisationContradiction::ClockSet);
        }
        // What one direction alone shows may be the path's.
        estimate.skew.filter(|_| !self.forward.is_empty() && !self.reverse.is_empty())?;
        let moved = ways.map(|(heading, singletons)| movement(singletons, heading, estimate));
        let moved = moved[0].min(moved[1]);
        #[expect(clippy::cast_precision_loss, reason = "bounds are below a hundred days")]
        let most = 2.0 * stated.bound_ns as f64;
        #[expect(clippy::cast_possible_truncation, reason = "a movement is below a hundred days")]
        let movement_ns = moved as i64;
        (moved > most).then_some(SynchronisationContradiction::OffsetMoved { movement_ns })
    }

    /// Makes the one-way delays absolute by the stated synchronisation of the clocks. `estimate` is what the stamps themselves tell of
    /// the clocks, and `was_set` that the responder's clock was set back under way.
    ///
    /// # Errors
    /// The stamps contradict what is stated. The delays are as before.
    pub(crate) fn synchronise(
        &mut self,
        stated: &Synchronisation,
        estimate: &Estimate,
        was_set: bool,
    ) -> Result<(), SynchronisationContradiction> {
        if let Some(contradiction) = self.contradicts(stated, estimate, was_set) {
            return Err(contradiction);
        }
        for (heading, singletons) in
            [(Direction::Forward, &mut self.forward), (Direction::Reverse, &mut self.reverse)]
        {
            for one in singletons {
                one.delay = absolute(one, heading, stated).and_then(length);
            }
        }
        let within = [
            stated.offset_ns.saturating_sub(stated.bound_ns),
            stated.offset_ns.saturating_add(stated.bound_ns),
        ];
        let clock = core::mem::take(&mut self.clock);
        let both = clock.offset_bounds_ns.map(|[low, high]| [low.max(within[0]), high.min(within[1])]);
        self.delay_kind = DelayKind::Absolute;
        self.corrections = Default::default();
        self.not_identifiable = None;
        #[expect(clippy::cast_precision_loss, reason = "bounds are below a hundred days")]
        let error = stated.bound_ns as f64;
        self.clock = ClockState {
            method: ClockState::SYNCHRONISED.into(),
            delay_error_ns: Some(error),
            offset_bounds_ns: Some(both.filter(|[low, high]| low <= high).unwrap_or(within)),
            ..clock
        };
        Ok(())
    }
}

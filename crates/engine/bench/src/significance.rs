//! What a trial leaves open of a scheduler: the device stood still in it, or its frames are too few for chance to even out.

use romer_record::benchmark::{DecidingFrames, Reservation, Trial};
use romer_units::Duration;

use crate::classes::TOLERANCE;
use crate::numbers::{real, to_u64};
use crate::outage::Outages;
use crate::trial::MOST_FRAMES;

/// A trial is so long at the most, seconds.
const MAX_TRIAL_SECONDS: f64 = 86_400.0;

/// What may have taken the classes of a trial from what they are owed, beside a fault.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Significance {
    pub(crate) stood: Outages,
    frames: u64,
    length: Duration,
}

/// Whether a claim holds as it is found, ...
#[derive(Clone, Copy, Debug)]
pub(crate) struct ClaimOutcome {
    pub(crate) found: bool,
    /// ... or could without the standstills.
    pub(crate) without_standstills: bool,
}

impl Significance {
    /// Of a trial in which the device stood still so.
    pub(crate) fn new(trial: &Trial, stood: Outages) -> Self {
        let length = Duration::from_nanos(trial.duration_ns);
        Self { stood, frames: trial.offered.frames, length }
    }

    /// What limits the evidence, and whether the claim holds; `None`: nobody knows. `chance` is how far that may take it, a share of
    /// the capacity; `fails` whether it fails without the standstills and this part of that chance.
    pub(crate) fn decide(
        &self,
        holds: ClaimOutcome,
        chance: f64,
        fails: impl Fn(f64) -> bool,
    ) -> (Vec<Reservation>, Option<bool>) {
        let stood = self.stood.reservation();
        if holds.found {
            let known = (chance > TOLERANCE)
                .then_some(Reservation::Resolution { frames: self.frames, chance_ratio: chance });
            return (known.into_iter().chain(stood).collect(), Some(true));
        }
        if holds.without_standstills {
            return (stood.into_iter().collect(), None);
        }
        if !fails(1.0) {
            let needed = self.needed(chance, fails);
            let few = Reservation::FewFrames { frames: self.frames, chance_ratio: chance, needed };
            return (std::iter::once(few).chain(stood).collect(), None);
        }
        (stood.into_iter().collect(), Some(false))
    }

    /// How many frames would do: so many that what was found would be a fault for certain, if it stays as it is; or where chance alone
    /// takes a scheduler without fault beyond the tolerance, that it no longer takes it half as far. `None`: no trial would do.
    fn needed(&self, chance: f64, fails: impl Fn(f64) -> bool) -> Option<DecidingFrames> {
        /// From one number of frames that is tried to the next.
        const STEP: f64 = 1.05;
        let tells = |part: f64| fails(part) || (chance > TOLERANCE && part * chance <= TOLERANCE / 2.0);
        let (frames, seconds) = (real(self.frames), self.length.as_secs_f64());
        // What chance does grows with the root of their number, so that its share of the capacity falls with it.
        let times = std::iter::successors(Some(STEP), |times| Some(times * STEP));
        let mut times = times
            .take_while(|times| frames * times <= real(MOST_FRAMES) && seconds * times <= MAX_TRIAL_SECONDS);
        let times = times.find(|times| tells(1.0 / times.sqrt()))?;
        Some(DecidingFrames { frames: to_u64(frames * times), trial_s: to_u64(seconds * times) })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn as_many_frames_are_asked_for_as_would_tell_and_more_than_there_are() {
        let trial = Trial {
            duration_ns: 1_000_000_000,
            offered: romer_record::benchmark::Load { frames: 258, ..Default::default() },
            ..Trial::default()
        };
        let doubt = Significance::new(&trial, Outages::default());
        let holds = ClaimOutcome { found: false, without_standstills: false };
        // So far beyond the tolerance, where chance takes it so far.
        let told = |chance: f64, beyond: f64| doubt.decide(holds, chance, |part| beyond > part * chance);
        for (chance, beyond) in [(0.024, 0.02), (0.024, 0.0239), (0.06, 0.03), (0.4, 0.1), (0.06, 0.001)] {
            let (reservations, holds) = told(chance, beyond);
            assert_eq!(holds, None, "{reservations:?}");
            let [Reservation::FewFrames { frames: 258, needed: Some(needed), .. }] = reservations[..] else {
                panic!("{reservations:?}")
            };
            let enough = if chance > TOLERANCE { TOLERANCE / 2.0 } else { 0.0 };
            let times = chance / f64::max(beyond, enough);
            let (wanted, some) = (258.0 * times * times, real(needed.frames));
            assert!(some > 258.0 && some >= wanted && some <= wanted * 1.06 + 1.0, "{wanted}: {needed:?}");
            assert!(needed.trial_s > 1, "{needed:?}");
        }
        let (reservations, _) = told(0.04, 0.000_001);
        assert!(
            matches!(reservations[..], [Reservation::FewFrames { needed: None, .. }]),
            "{reservations:?}"
        );
        assert_eq!(told(0.02, 0.03).1, Some(false));
    }
}

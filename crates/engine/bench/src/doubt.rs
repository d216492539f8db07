//! What a trial leaves open of a scheduler: the device stood still in it, or its frames are too few for chance to even out.

use romer_record::benchmark::Trial;
use romer_units::Duration;

use crate::stood::Stood;
use crate::tester::real;
use crate::verdicts::TOLERANCE;

/// What may have taken the classes of a trial from what they are owed, beside a fault.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Doubt {
    pub(crate) stood: Stood,
    frames: u64,
    length: Duration,
}

/// Whether a claim holds as it is found, ...
#[derive(Clone, Copy, Debug)]
pub(crate) struct Holds {
    pub(crate) found: bool,
    /// ... or could without the standstills, ...
    pub(crate) without_standstills: bool,
    /// ... or could without these and by chance.
    pub(crate) by_chance: bool,
}

impl Doubt {
    /// Of a trial in which the device stood still so.
    pub(crate) fn of(trial: &Trial, stood: Stood) -> Self {
        let length = Duration::from_nanos(trial.duration_ns);
        Self { stood, frames: trial.offered.frames, length }
    }

    /// What was found, with what may be said of it, and whether the claim holds; `None`: nobody knows. `chance` is how far that
    /// may take it, and `beyond` how far it is beyond the tolerance, shares of the capacity.
    pub(crate) fn judge(
        &self,
        found: String,
        holds: Holds,
        chance: f64,
        beyond: f64,
    ) -> (String, Option<bool>) {
        if holds.found {
            let known = if chance > TOLERANCE {
                let percent = chance * 100.0;
                format!("; of {} frames that is known to {percent:.1} % of the capacity only", self.frames)
            } else {
                String::new()
            };
            return (self.stood.told(found + &known, Some(true)), Some(true));
        }
        if holds.without_standstills {
            return (self.stood.told(found, None), None);
        }
        if holds.by_chance {
            let few = self.few(chance, beyond);
            let and = if self.stood.share() > 0.0 {
                format!(", and {}", self.stood.words())
            } else {
                String::new()
            };
            return (format!("{found}, which decides nothing: {few}{and}"), None);
        }
        (self.stood.told(found, Some(false)), Some(false))
    }

    /// That there are too few frames, and how many would do.
    fn few(&self, chance: f64, beyond: f64) -> String {
        // What chance does grows with the root of their number.
        let more = chance / beyond.max(TOLERANCE / 2.0);
        let times = (more * more).max(1.0);
        let seconds = (self.length.as_secs_f64() * times).ceil();
        format!(
            "of {} frames chance alone takes a class of a scheduler without fault up to {:.1} % of the capacity away from what it is \
             owed (further once in a million trials); some {:.0} frames would tell (--trial {seconds}s)",
            self.frames,
            chance * 100.0,
            real(self.frames) * times
        )
    }
}

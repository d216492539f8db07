//! How far the sending loop keeps up with its schedule.
//!
//! A stall is a time in which a frame was due and the loop did not go on, although the interface took frames: the host took the
//! processor away before the loop got to the frame, while it filled the batch, or inside the call that hands it over. Until the loop
//! is on schedule again, its stalls add up: a stop of 0.9 s in the catching up after one of 0.3 s puts the sender 1.2 s behind.

use romer_units::Duration;

/// A stall of the loop is at least this long.
const LEAST_STALL: Duration = Duration::from_micros(20);
/// A batch is filled in and handed over in less time, where the host does not interfere: 64 frames, each through a virtual link and
/// the kernel's router behind it.
const MOST_HAND_OVER: Duration = Duration::from_millis(2);

/// The stalls of a sending loop; moments are since the trial's beginning.
#[derive(Clone, Debug, Default)]
pub(crate) struct Punctuality {
    /// Most frames that left one after the other without waiting for the schedule.
    pub(crate) longest_catch_up: u64,
    /// All stalls together.
    pub(crate) away: Duration,
    /// The most that stalls put the sender behind its schedule.
    pub(crate) longest_away: Duration,
    /// Frames that have left since the loop was on schedule.
    catch_up: u64,
    /// How far stalls have put it behind since then.
    behind: Duration,
}

impl Punctuality {
    /// The loop gets to a frame that is due at `due`; it was done with the one before at `free`, and it is `now`.
    pub(crate) fn reaches(&mut self, due: Duration, [free, now]: [Duration; 2]) {
        // No more is due to stalls than the frame is late; nothing, where the loop has waited for it.
        self.behind = self.behind.min((free - due).max(Duration::ZERO));
        let stall = now - due.max(free);
        if stall >= LEAST_STALL {
            self.stalls(stall);
        }
    }

    /// So many frames were due when the loop got to the first of them.
    pub(crate) fn catches_up(&mut self, frames: usize) {
        // More than one: the loop was not there in time for all but the last.
        self.catch_up = if frames > 1 { self.catch_up + frames as u64 } else { 0 };
        self.longest_catch_up = self.longest_catch_up.max(self.catch_up);
    }

    /// A batch was filled in and given to the interface in this time.
    pub(crate) fn hands_over(&mut self, took: Duration) {
        if took >= MOST_HAND_OVER {
            self.stalls(took);
        }
    }

    fn stalls(&mut self, stall: Duration) {
        self.away += stall;
        self.behind += stall;
        self.longest_away = self.longest_away.max(self.behind);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn millis(time: i64) -> Duration {
        Duration::from_millis(time)
    }

    /// Stalls add up until the loop has caught up, and not beyond.
    #[test]
    fn stalls_add_up_until_on_schedule() {
        let mut found = Punctuality::default();
        // Frames due at 10, 11 and 12 ms: a stall of 300 ms, 4 ms of catching up, a stall of 900 ms in the hand-over.
        found.reaches(millis(10), [millis(0), millis(310)]);
        found.hands_over(Duration::from_micros(100));
        found.reaches(millis(11), [millis(314), millis(314)]);
        found.hands_over(millis(900));
        assert_eq!((found.longest_away, found.away), (millis(1_200), millis(1_200)));
        // The loop waits for the next frame, so it is on schedule; a later stall stands alone.
        found.reaches(millis(2_000), [millis(1_500), millis(2_000)]);
        found.reaches(millis(2_001), [millis(2_000), millis(2_501)]);
        assert_eq!((found.longest_away, found.away), (millis(1_200), millis(1_700)));
    }

    /// A sender that is late because the line takes no more, and not because of stalls, is not behind.
    #[test]
    fn back_pressure_is_no_stall() {
        let mut found = Punctuality::default();
        for frame in 0..1_000 {
            // Each is due 1 ms after the one before, and the interface takes one in 2 ms.
            found.reaches(millis(frame), [millis(2 * frame), millis(2 * frame)]);
            found.hands_over(Duration::from_micros(2));
        }
        assert_eq!(found.away, Duration::ZERO);
    }
}

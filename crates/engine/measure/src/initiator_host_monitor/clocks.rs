//! What this host's clocks show: that one was set, that the host was suspended, that the program stood still.

use std::sync::atomic::Ordering;

use romer_clock::steps::ClockChange;
use romer_host::clock;
use romer_record::document::ProbeDirection;
use romer_record::event::Event;
use romer_units::{Duration, Monotonic, Timestamp};

use super::InitiatorHostMonitor;

/// How long after a pause the probes that it held up may take to leave.
const HELD_UP: Duration = Duration::from_millis(500);

/// Nobody looked for a while in which probes have left, none of which was late so far. Those that a standstill held up leave
/// after it, and may not have yet.
#[derive(Debug)]
pub(super) struct Doubt {
    event: Event,
    length_ns: i64,
    until: Timestamp<Monotonic>,
}

impl InitiatorHostMonitor {
    pub(super) fn look_at_clocks(&mut self) {
        let [sent, late] = self.progress();
        let has_sent = sent > std::mem::replace(&mut self.sent, sent);
        // Where probes left all the time, this thread had to wait for its turn, and the program did not stand still.
        let held_up = |length: i64| late >= length.unsigned_abs() / 2;
        let now = clock::monotonic_now();
        match self.doubt.take() {
            Some(doubt) if held_up(doubt.length_ns) => self.stood_still(doubt.event),
            doubt => self.doubt = doubt.filter(|doubt| now < doubt.until),
        }
        for (change, event) in self.host.clock_changes() {
            match change {
                ClockChange::Paused(length_ns) if has_sent && !held_up(length_ns) => {
                    self.doubt = Some(Doubt { event, length_ns, until: now + HELD_UP });
                }
                ClockChange::Paused(_) => self.stood_still(event),
                ClockChange::Step(_) | ClockChange::Suspended(_) => drop(self.keep(None, event)),
            }
        }
    }

    /// The same, where this thread did not look because it waited.
    pub(super) fn look_at_clocks_after_waiting(&mut self) {
        for (change, event) in self.host.clock_changes() {
            if !matches!(change, ClockChange::Paused(_)) {
                self.keep(None, event);
            }
        }
    }

    /// Looks at the synchronisation of the real-time clock, each second, or `now`.
    pub(super) fn look_at_clock_sync(&mut self, now: bool) {
        for event in self.host.clock_sync_changes(true, now).unwrap_or_default() {
            self.keep(None, event);
        }
    }

    fn stood_still(&mut self, event: Event) {
        self.keep(None, event);
        self.next_drops = clock::monotonic_now();
    }

    /// How many probes this host has sent, and by how many nanoseconds the latest of those since the last look was late.
    fn progress(&self) -> [u64; 2] {
        // What the far end has sent is known when it tells, and says nothing of this program.
        let own = self.ways.iter().filter(|way| way.shared.way != ProbeDirection::Reverse);
        own.fold([0, 0], |[sent, late], way| {
            let latest = way.shared.latest_ns.swap(0, Ordering::AcqRel);
            [sent + way.shared.sent.load(Ordering::Acquire), late.max(latest.unsigned_abs())]
        })
    }
}

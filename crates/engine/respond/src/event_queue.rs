//! The queue of events from a reflecting or sending thread to the control thread. Events that do not fit are kept in order, up to a limit.

use std::collections::VecDeque;
use std::sync::mpsc::{SyncSender, TrySendError};

use romer_units::Duration;

use super::messages::ThreadEvent;

/// Largest number of events that wait beside those in the channel: those of 2.6 seconds at 100,000 packets a second. Each takes about
/// 100 octets.
const MAX_QUEUED_EVENTS: usize = 1 << 18;
/// The same for a sender of few packets.
const MIN_QUEUED_EVENTS: usize = 1 << 10;
/// Time of which the events fit into the queue.
const QUEUED_TIME: Duration = Duration::from_nanos(2_600_000_000);

/// The queue to the control thread, with the events that do not fit into its channel.
pub(super) struct EventQueue {
    notes: SyncSender<ThreadEvent>,
    waiting: VecDeque<ThreadEvent>,
    most: usize,
}

impl EventQueue {
    /// Nothing waits.
    pub(super) const fn new(notes: SyncSender<ThreadEvent>) -> Self {
        Self { notes, waiting: VecDeque::new(), most: MAX_QUEUED_EVENTS }
    }

    /// The same for who tells of one packet every `interval`: it has room for as long, whatever its rate.
    pub(super) fn of_one_each(interval: Duration, notes: SyncSender<ThreadEvent>) -> Self {
        let most = QUEUED_TIME.as_nanos() / interval.as_nanos().max(1);
        Self {
            most: usize::try_from(most)
                .unwrap_or(MAX_QUEUED_EVENTS)
                .clamp(MIN_QUEUED_EVENTS, MAX_QUEUED_EVENTS),
            ..Self::new(notes)
        }
    }

    /// Tells `note` after those that wait. Gives whether there was room for it.
    pub(super) fn push(&mut self, note: ThreadEvent) -> bool {
        self.catch_up();
        if self.waiting.is_empty() {
            match self.notes.try_send(note) {
                Ok(()) => return true,
                Err(TrySendError::Full(note)) => self.waiting.push_back(note),
                Err(TrySendError::Disconnected(_)) => return false,
            }
            return true;
        }
        let has_room = self.has_room();
        if has_room {
            self.waiting.push_back(note);
        }
        has_room
    }

    /// Whether anything waits.
    pub(super) fn waits(&self) -> bool {
        !self.waiting.is_empty()
    }

    /// Whether there is room for one more note.
    pub(super) fn has_room(&self) -> bool {
        self.waiting.len() < self.most
    }

    /// Moves what waits into the queue, as far as that has room. Gives whether nothing waits any more.
    pub(super) fn catch_up(&mut self) -> bool {
        while let Some(note) = self.waiting.pop_front() {
            if let Err(TrySendError::Full(note)) = self.notes.try_send(note) {
                self.waiting.push_front(note);
                return false;
            }
        }
        // What a pause has taken is given back.
        if self.waiting.capacity() > 0 {
            self.waiting = VecDeque::new();
        }
        true
    }
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc::{Receiver, sync_channel};

    use super::*;

    fn departed(count: u64) -> ThreadEvent {
        ThreadEvent::Departed { session: 0, count }
    }

    fn taken(events: &Receiver<ThreadEvent>) -> Vec<u64> {
        let count = |note| if let ThreadEvent::Departed { count, .. } = note { count } else { u64::MAX };
        events.try_iter().map(count).collect()
    }

    /// The queue holds the events of 2.6 seconds at the rate of the sender.
    #[test]
    fn limit_follows_the_rate() {
        let most = |interval| EventQueue::of_one_each(Duration::from_nanos(interval), sync_channel(1).0).most;
        assert_eq!([10_000, 100_000, 20_000_000, 0].map(most), [260_000, 26_000, 1_024, 1 << 18]);
    }

    /// Events beyond the channel are delivered later in order, up to the limit.
    #[test]
    fn overflow_keeps_order_up_to_the_limit() {
        let (notes, events) = sync_channel(2);
        let mut backlog = EventQueue { most: 3, ..EventQueue::new(notes) };
        let told: Vec<bool> = (0..7).map(|count| backlog.push(departed(count))).collect();
        assert_eq!(told, [true, true, true, true, true, false, false]);
        assert!(!backlog.catch_up());
        assert_eq!(taken(&events), [0, 1]);
        // What comes next does not overtake what waits.
        assert!(backlog.push(departed(7)));
        assert_eq!(taken(&events), [2, 3]);
        assert!(backlog.catch_up() && backlog.waiting.capacity() == 0);
        assert_eq!(taken(&events), [4, 7]);
        drop(events);
        assert!(!backlog.push(departed(8)), "nobody is there to take it");
    }
}

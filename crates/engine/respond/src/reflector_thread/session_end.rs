//! End of a session: wait for transmit time stamps, read what has arrived, then report the final state.

use std::collections::HashSet;

use romer_host::clock;
use romer_units::{Monotonic, Timestamp};

use super::session_lookup::Owner;
use super::{PENDING, ReflectedSession, ReflectorThread, ThreadEvent};

impl ReflectorThread {
    /// Ends what waits for a stamp of a session that has stopped, once the stamps had their time and what had come by then is
    /// read: up to `read_to`.
    pub(super) fn flush_sessions(&mut self, read_to: i64) {
        if !self.sessions.values().any(|session| session.flush) {
            return;
        }
        let now = clock::monotonic_now();
        self.give_up_waiting(now);
        let due = |session: &ReflectedSession| {
            let is_read = session.flush_read_to < read_to;
            session.flush && session.flush_after <= now && (is_read || session.flush_by <= now)
        };
        let ending = |id: u32| self.sessions.get(&id).is_some_and(due);
        if self.unplaced.any(ending) {
            self.settle_all();
        }
        let mut done: HashSet<u32> =
            self.sessions.iter().filter(|(_, session)| due(session)).map(|(id, _)| *id).collect();
        if !done.is_empty() {
            let waiting = self.ports.iter().flat_map(|port| port.waiting.iter().flatten());
            for one in waiting {
                if let Some((Owner::Session(session), _)) = one.record {
                    done.remove(&session);
                }
            }
        }
        if !done.is_empty() {
            let now_ns = clock::realtime_now().as_nanos();
            for port in &mut self.ports {
                // No datagram tells of what was dropped after the last.
                if let Ok(total) = port.socket.kernel_drops() {
                    port.overflows.end(total, now_ns);
                }
            }
            self.tell_overflows();
        }
        for session in done {
            let drops = self.unread();
            if let Some(state) = self.sessions.get_mut(&session) {
                // The last word comes after all else.
                let all_told = self.ports.iter().all(|port| port.overflows.is_told());
                if !self.backlog.catch_up() || !all_told {
                    continue;
                }
                if let Some(refused) = state.refusals.take() {
                    self.backlog.push(ThreadEvent::Refused { session, refused });
                }
                let kernel_drops = drops.saturating_sub(state.drops_before);
                let bad_tag = self.expected.bad_tag_of(session);
                if self.backlog.push(ThreadEvent::Flushed {
                    session,
                    lost: state.lost,
                    kernel_drops,
                    bad_tag,
                }) {
                    state.flush = false;
                    self.links.control_waker.wake();
                }
            }
        }
    }

    pub(super) fn give_up_waiting(&mut self, now: Timestamp<Monotonic>) {
        for index in 0..self.ports.len() {
            if self.ports[index].in_waiting == 0 {
                continue;
            }
            for slot in 0..PENDING {
                let port = &mut self.ports[index];
                let Some(waiting) = port.waiting[slot] else { continue };
                let goes_on = match waiting.record {
                    Some((Owner::Session(session), _)) => {
                        self.sessions.get(&session).is_some_and(|session| !session.flush)
                    }
                    _ => false,
                };
                if now - waiting.since >= port.patience.limit(!goes_on) {
                    port.waiting[slot] = None;
                    port.in_waiting -= 1;
                    self.hand_over(waiting.record);
                }
            }
        }
    }
}

//! Events from the threads that reflect and send, applied to the control connection of their session.

use std::net::SocketAddr;

use romer_host::clock;
use romer_session::control::Action;
use romer_units::{Duration, Monotonic, Timestamp};

use super::ControlThread;
use super::connection::{Reached, report_checksum_errors};
use super::quotas::Allocation;
use crate::messages::{SendPath, ThreadEvent};

/// Notes that are taken in a turn, so that a flood of them does not delay others; the rest are taken in the next.
pub(super) const NOTES: usize = 4_096;

impl ControlThread {
    /// Takes what the threads that reflect and send have to say, up to a limit. Gives whether there may be more.
    pub(super) fn take_notes(&mut self) -> bool {
        let now = clock::monotonic_now();
        let mut flushed = Vec::new();
        let mut has_more = true;
        for _ in 0..NOTES {
            let Ok(note) = self.links.events.try_recv() else {
                has_more = false;
                break;
            };
            let session = match &note {
                ThreadEvent::Overflowed(overflow) => {
                    self.tell_overflow(overflow);
                    continue;
                }
                ThreadEvent::Associated { session, .. }
                | ThreadEvent::Record { session, .. }
                | ThreadEvent::Departure { session, .. }
                | ThreadEvent::Card { session, .. }
                | ThreadEvent::Departed { session, .. }
                | ThreadEvent::Refused { session, .. }
                | ThreadEvent::Failed { session }
                | ThreadEvent::Flushed { session, .. } => session,
            };
            let Some(index) = self.by_session.get(session).copied() else { continue };
            if let ThreadEvent::Flushed { .. } = &note {
                flushed.push(index);
            }
            self.serve(index, |thread| thread.take_note(index, note, now));
        }
        if !flushed.is_empty() {
            // What has happened up to now is told before the last words.
            self.tell_occurrences(true);
        }
        for index in flushed {
            if self.connections.get(index).is_some() {
                self.serve(index, |thread| {
                    let clock_sync = thread.occurrences.clock_sync();
                    let server = &mut thread.connections[index].server;
                    server.on_clock_sync(clock_sync);
                    let actions = server.finish();
                    thread.carry_out(index, actions);
                    thread.account(index, now);
                });
            }
        }
        has_more
    }

    /// Takes what is said of the session of connection `index`.
    fn take_note(&mut self, index: usize, note: ThreadEvent, now: Timestamp<Monotonic>) {
        let server = &mut self.connections[index].server;
        if matches!(
            note,
            ThreadEvent::Record { .. }
                | ThreadEvent::Departure { .. }
                | ThreadEvent::Card { .. }
                | ThreadEvent::Refused { .. }
        ) {
            server.on_probe(now);
        }
        let actions = match note {
            ThreadEvent::Overflowed(_) => Vec::new(),
            ThreadEvent::Associated { address, moves, others, path, .. } => {
                let mut actions = self.associated(index, address, &moves, path);
                actions.extend(self.tell_others(index, &others));
                actions
            }
            ThreadEvent::Record { record, first, .. } => {
                if first {
                    server.on_first_arrival();
                }
                server.on_record(record)
            }
            ThreadEvent::Departure { record, .. } => server.on_departure(record),
            ThreadEvent::Card { card, .. } => server.on_card(card),
            ThreadEvent::Departed { count, .. } => server.on_departed(count),
            ThreadEvent::Refused { refused, .. } => self.refused(index, refused),
            // Its sending thread is no more.
            ThreadEvent::Failed { .. } => return self.fail(index),
            ThreadEvent::Flushed { lost, kernel_drops, bad_tag, .. } => {
                server.on_losses(lost, kernel_drops);
                server.on_bad_tag(bad_tag);
                report_checksum_errors(server);
                self.report_damage(index)
            }
        };
        if !actions.is_empty() {
            self.carry_out(index, actions);
        } else if self.connections[index].in_use == Allocation::default() {
            // It is perhaps idle no more.
            self.account(index, now);
        }
    }

    /// The session's address is proved, and may be a new one.
    fn associated(
        &mut self,
        index: usize,
        address: SocketAddr,
        moves: &[(SocketAddr, [Duration; 2])],
        path: Option<Box<SendPath>>,
    ) -> Vec<Action> {
        let now = clock::monotonic_now();
        let reached = &mut self.connections[index].reached;
        // A change of the port alone does not change the route.
        let due =
            reached.filter(|before| before.address.ip() == address.ip()).map_or(now, |before| before.due);
        *reached = Some(Reached { address, due });
        self.look_up_route(index, now);
        let connection = &mut self.connections[index];
        if let (Some(session), Some(path)) = (&mut connection.session, path) {
            match &session.sender {
                Some(sender) => sender.redirect(*path),
                None => session.path = Some(path),
            }
        }
        let mut actions = connection.server.on_associated_anew(address, moves, now);
        if let Some(moved) = connection.moved.take() {
            actions.extend(self.tell_moved(index, &moved, address));
        }
        actions
    }
}

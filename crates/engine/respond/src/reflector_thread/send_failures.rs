//! Replies that were not sent: refused by this host, or above the rate limit.

use romer_endpoint::threads::STOOD_STILL;
use romer_host::HostError;
use romer_host::clock;
use romer_host::socket::{Datagram, Sent};
use romer_units::{Monotonic, Timestamp};

use super::session_lookup::Owner;
use super::{ReflectorThread, ThreadEvent};
use crate::send_errors::OVER_THE_RATE;

impl ReflectorThread {
    /// Whether a reply of `owner` was `sent`: its session is told of those that were not.
    pub(super) fn told_sent(&mut self, owner: Option<Owner>, sent: &Result<Sent, HostError>) {
        match sent {
            Ok(_) => {
                if let Some(Owner::Session(session)) = owner
                    && let Some(state) = self.sessions.get_mut(&session)
                {
                    state.refusals.sent();
                }
            }
            Err(error) => self.refuse(owner, error.errno().unwrap_or(0)),
        }
    }

    /// A reply of `owner` does not leave.
    fn refuse(&mut self, owner: Option<Owner>, errno: i32) {
        let Some(Owner::Session(session)) = owner else { return };
        let Some(state) = self.sessions.get_mut(&session) else { return };
        let now = clock::monotonic_now();
        if let Some(refused) = state.refusals.refuse(errno, now, now) {
            // Where there is no room even for that, the records tell of each.
            self.backlog.push(ThreadEvent::Refused { session, refused });
        }
    }

    /// No reply to request `sequence` of `owner` is made: it would leave so late that no reflector could recognise it as a reply.
    pub(super) fn pass_over(&mut self, owner: Option<Owner>, sequence: u32, datagram: &Datagram<'_>) {
        self.not_sent += 1;
        self.refuse(owner, STOOD_STILL);
        let record = owner.and_then(|owner| self.record(owner, sequence, datagram, None));
        self.hand_over(record);
    }

    /// A datagram was refused because its address sends more than it may. Where it is a session's probe, that is no loss of the
    /// path: the log of the session has that it came and was not answered. Of a flood so many are told as would have been
    /// answered, and no more.
    pub(super) fn tell_over_the_rate(&mut self, datagram: &Datagram<'_>, now: Timestamp<Monotonic>) {
        if !self.is_proved(datagram) || !self.telling.admit(datagram.peer.ip(), false, now) {
            return;
        }
        let Some((ssid, sequence)) = self.reflector.numbers(datagram.payload) else { return };
        let Some(owner @ Owner::Session(session)) = self.owner(datagram.peer, ssid) else { return };
        let Some(state) = self.sessions.get_mut(&session) else { return };
        if let Some(refused) = state.refusals.refuse(OVER_THE_RATE, now, now) {
            self.backlog.push(ThreadEvent::Refused { session, refused });
        }
        let record = self.record(owner, sequence, datagram, None);
        self.hand_over(record);
    }

    /// Tells of the refusals that are over.
    pub(super) fn tell_refusals(&mut self, now: Timestamp<Monotonic>) {
        for (session, state) in &mut self.sessions {
            if let Some(refused) = state.refusals.over(now) {
                self.backlog.push(ThreadEvent::Refused { session: *session, refused });
            }
        }
    }
}

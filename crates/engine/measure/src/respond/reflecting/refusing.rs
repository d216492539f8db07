//! Replies that this host refuses to send.

use romer_host::HostError;
use romer_host::clock;
use romer_host::socket::Sent;
use romer_units::{Monotonic, Timestamp};

use super::associating::Owner;
use super::{Note, Reflecting};

impl Reflecting {
    /// Whether a reply of `owner` was `sent`: its session is told of those that were not.
    pub(super) fn told_sent(&mut self, owner: Option<Owner>, sent: &Result<Sent, HostError>) {
        let Some(Owner::Session(session)) = owner else { return };
        let Some(state) = self.sessions.get_mut(&session) else { return };
        match sent {
            Ok(_) => state.refusals.sent(),
            Err(error) => {
                let now = clock::monotonic_now();
                let others = state.refusals.refuse(error.errno().unwrap_or(0), now, now);
                if let Some(refused) = others {
                    // Where there is no room even for that, the records tell of each.
                    self.backlog.tell(Note::Refused { session, refused });
                }
            }
        }
    }

    /// Tells of the refusals that are over.
    pub(super) fn tell_refusals(&mut self, now: Timestamp<Monotonic>) {
        for (session, state) in &mut self.sessions {
            if let Some(refused) = state.refusals.over(now) {
                self.backlog.tell(Note::Refused { session: *session, refused });
            }
        }
    }
}

//! Conversations that come to nothing.

use super::super::message::Message;
use super::{Action, Server};

/// Why a connection ended without a session.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AbortReason {
    /// What was said was no frame of the protocol, or one out of its turn.
    InvalidMessage,
    /// No session was asked for.
    NoRequest,
}

impl Server {
    /// Why the conversation, which is over, has led neither to a session nor to an answer why there is none.
    pub fn fruitless(&self) -> Option<AbortReason> {
        if self.request.is_some() || self.answered || self.proof_refused {
            None
        } else if self.complained {
            Some(AbortReason::InvalidMessage)
        } else {
            Some(AbortReason::NoRequest)
        }
    }

    /// Notes which answers were given.
    pub(super) fn note_answers(&mut self, actions: &[Action]) {
        for action in actions {
            match action {
                Action::Send(Message::Refused(_)) => self.answered = true,
                Action::Send(Message::Complaint(_)) => self.complained = true,
                _ => {}
            }
        }
    }
}

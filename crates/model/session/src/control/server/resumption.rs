//! A session that goes on over another connection.

use romer_record::refusal::Refusal;
use romer_units::{Monotonic, Timestamp};

use super::super::codec::Decoder;
use super::super::message::{Message, RefusalCode, Refused, Resume, Resumed, SILENCE, hex};
use super::{Action, Server, State};
use crate::association::Token;

impl Server {
    /// Whether a session can go on that lost its connection `now`. It is given up when nobody resumes it for [`SILENCE`].
    pub fn on_lost_connection(&mut self, now: Timestamp<Monotonic>) -> bool {
        let open = matches!(
            self.state,
            State::Associating { .. }
                | State::Running { .. }
                | State::Finishing { .. }
                | State::Finished { .. }
        );
        if open && self.can_resume && self.alone_until.is_none() {
            self.alone_until = Some(now + SILENCE);
        }
        // The rest of what came does not come any more.
        self.decoder = Decoder::default();
        open && self.can_resume
    }

    /// Whether `resume` shows the secret of the session of this conversation.
    pub fn is_shown(&self, resume: &Resume) -> bool {
        self.can_resume && self.request.is_some() && self.secret.is_some_and(|secret| resume.shows(secret))
    }

    /// The session of this conversation goes on over the connection of `other`, which asked for it by `resume`. Test
    /// packets go on to the address that was proved, until the association with `token`, which is fresh and secret,
    /// proves another. If none does so within the time of a handshake, however often the session is resumed, it ends. Before,
    /// the caller sees to it that the responder may send to that host what it sends.
    ///
    /// # Errors
    /// Why it cannot: for [`Server::refuse_resumption`] of `other`.
    pub fn resume(
        &mut self,
        other: &mut Self,
        resume: &Resume,
        token: Token,
        now: Timestamp<Monotonic>,
    ) -> Result<Vec<Action>, Refusal> {
        let Some(again) = self.kept.again(resume.heard).filter(|_| !self.is_over()) else {
            return Err(Refusal::OtherState);
        };
        // Another resumption gives no more time: nobody sends for long to an address of which only an old one is proved.
        let proving_until = *self.proving_until.get_or_insert(now + self.limits.handshake);
        if let State::Associating { deadline } = &mut self.state {
            *deadline = proving_until;
        }
        self.totals.records_lost += again.lost;
        self.decoder = std::mem::take(&mut other.decoder);
        other.state = State::Over;
        other.answered = true;
        self.token = token;
        self.last_word = now;
        self.active = now;
        // At the end nobody sends.
        let sends = !matches!(self.state, State::Finishing { .. } | State::Finished { .. });
        self.alone_until = sends.then_some(proving_until);
        let resumed = Resumed { token: hex(token), next: again.first };
        let mut actions = vec![Action::Send(Message::Resumed(resumed))];
        if !again.frames.is_empty() {
            actions.push(Action::Repeat(again.frames));
        }
        Ok(actions)
    }

    /// No session goes on over this connection.
    pub fn refuse_resumption(&mut self, reason: Refusal) -> Vec<Action> {
        self.state = State::Over;
        self.answered = true;
        let refused =
            Refused { code: RefusalCode::Session, reason, granted: None, retry_after_seconds: None };
        vec![Action::Send(Message::Refused(refused)), Action::Close]
    }
}

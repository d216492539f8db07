//! That the sender has the key, where one is wanted.

use std::sync::Arc;

use romer_wire::stamp::Key;

use super::super::message::{ComplaintCode, Message, Proof};
use super::super::possession;
use super::{Action, Server, State, complain};
use crate::association::Token;

/// What a sender must prove to have.
#[derive(Debug)]
pub(super) struct Lock {
    key: Arc<Key>,
    /// What the sender is asked.
    pub(super) nonce: Token,
    /// What the responder adds to its own proof.
    own: Token,
}

impl Server {
    /// The same conversation, held only with a sender that has `key`. The `nonces` are fresh and random.
    #[must_use]
    pub fn locked(self, key: Arc<Key>, nonces: [Token; 2]) -> Self {
        let [nonce, own] = nonces;
        Self { lock: Some(Lock { key, nonce, own }), ..self }
    }

    /// Whether the sender failed to prove that it has the key.
    pub fn has_refused_proof(&self) -> bool {
        self.proof_refused
    }

    pub(super) fn prove(&mut self, proof: &Proof, actions: &mut Vec<Action>) {
        let answer = self.lock.as_ref().and_then(|lock| {
            let asked = proof.verified(&lock.key, possession::End::Sender, lock.nonce)?;
            Some(Proof::new(&lock.key, possession::End::Responder, asked, lock.own))
        });
        match answer {
            Some(answer) => {
                actions.push(Action::Send(Message::Proof(answer)));
                self.welcome(actions);
            }
            None => {
                self.proof_refused = true;
                let why = "the proof does not show that the sender has this responder's key";
                actions.push(complain(ComplaintCode::Proof, why.into()));
                self.state = State::Over;
                actions.push(Action::Close);
            }
        }
    }
}

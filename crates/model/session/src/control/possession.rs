//! How two ends of a conversation prove to each other that they have one key, without sending it.
//!
//! The responder asks ([`super::Challenge`]), the sender proves and asks in turn ([`super::Proof`]), the responder
//! proves. Each proof covers both ends' fresh nonces and says which end made it, so that none can be used again, or
//! be returned to whom it came from.

use romer_wire::stamp::Key;

use super::message::{Challenge, Proof, hex, unhex};
use crate::association::Token;

/// Which end proves.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum End {
    /// The one that measures.
    Sender,
    /// The one that responds.
    Responder,
}

impl End {
    /// What the code of this end begins with; a test packet begins with other octets, or is of another length.
    const fn label(self) -> &'static [u8] {
        match self {
            Self::Sender => b"romer control 1: the sender has the key",
            Self::Responder => b"romer control 1: the responder has the key",
        }
    }
}

impl Challenge {
    /// The question with this nonce, which is fresh.
    pub fn new(nonce: Token) -> Self {
        Self { nonce: hex(nonce) }
    }
}

impl Proof {
    /// The proof of `end`: of the challenge `asked`, with the nonce `own` that `end` drew itself.
    pub fn new(key: &Key, end: End, asked: Token, own: Token) -> Self {
        Self { nonce: hex(own), code: hex(key.tag(&[end.label(), &asked, &own])) }
    }

    /// The nonce that the other end drew, if this proves that it is `end`, has `key`, and was asked `asked`. The time
    /// this takes says nothing of the key.
    pub fn verified(&self, key: &Key, end: End, asked: Token) -> Option<Token> {
        let (nonce, code) = (unhex(&self.nonce)?, unhex(&self.code)?);
        key.verifies(&[end.label(), &asked, &nonce], &code).then_some(nonce)
    }
}

/// What the code begins with that makes a session's key of one-way probes.
const ONE_WAY: &[u8] = b"romer control 1: the key of one-way probes";

/// The key of a session's one-way probes, of which `drawn` went over the control channel: without the key that both ends
/// have proved to have, who reads that channel cannot make a probe.
pub fn probe_key(key: Option<&Key>, drawn: [u8; 16]) -> [u8; 16] {
    key.map_or(drawn, |key| key.tag(&[ONE_WAY, &drawn]))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn key(fill: u8) -> Key {
        Key::new(&[fill; 32]).unwrap()
    }

    proptest! {
        #[test]
        fn only_the_key_that_end_and_that_question_verify(asked: Token, own: Token, other: Token) {
            let proof = Proof::new(&key(1), End::Sender, asked, own);
            prop_assert_eq!(proof.verified(&key(1), End::Sender, asked), Some(own));
            prop_assert_eq!(proof.verified(&key(2), End::Sender, asked), None);
            prop_assert_eq!(proof.verified(&key(1), End::Responder, asked), None);
            prop_assume!(asked != other && own != other);
            prop_assert_eq!(proof.verified(&key(1), End::Sender, other), None);
            let moved = Proof { nonce: hex(other), ..proof };
            prop_assert_eq!(moved.verified(&key(1), End::Sender, asked), None);
        }

        #[test]
        fn the_key_of_probes_follows_from_both_keys_and_is_neither(drawn: [u8; 16], other: [u8; 16]) {
            prop_assert_eq!(probe_key(None, drawn), drawn);
            let made = probe_key(Some(&key(1)), drawn);
            prop_assert_eq!(made, probe_key(Some(&key(1)), drawn));
            prop_assert_ne!(made, drawn);
            prop_assert_ne!(made, probe_key(Some(&key(2)), drawn));
            prop_assume!(drawn != other);
            prop_assert_ne!(made, probe_key(Some(&key(1)), other));
        }

        #[test]
        fn any_text_is_no_proof(nonce in ".{0,40}", code in ".{0,40}", asked: Token) {
            prop_assert_eq!(Proof { nonce, code }.verified(&key(1), End::Sender, asked), None);
        }
    }
}

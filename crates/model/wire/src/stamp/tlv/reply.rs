//! What a Session-Sender may use of a reply.

use thiserror::Error;

use super::reading::{Flags, Malformed, Tlv, Tlvs, kind};
use super::reflecting::Protection;
use crate::stamp::key::Key;

/// Why all TLVs of a reply are to be ignored (RFC 8972 sections 4 and 4.8).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum ReplyFault {
    /// The reflector found the code over the request's TLVs wrong.
    #[error("the reflector found the code over the TLVs wrong (I flag)")]
    IntegrityFlag,
    /// The code over the reply's TLVs is wrong, or not where it must be.
    #[error("the code over the reply's TLVs is wrong")]
    WrongCode,
    /// There is a code, and no key to verify it with.
    #[error("the reply's TLVs have a code over them, and there is no key to verify it with")]
    NoKey,
    /// There must be a code, and there is none.
    #[error("the reply's TLVs have no code over them")]
    NoCode,
}

/// The TLVs of a reply that a Session-Sender may use: those that the reflector understood, up to the first
/// that is malformed (RFC 8972 section 4).
#[derive(Clone, Debug)]
pub struct Reflected<'a> {
    tlvs: Tlvs<'a>,
    malformed: bool,
}

impl<'a> Reflected<'a> {
    /// Checks the TLVs of a reply with this sequence number (its own, not the request's). A code over them must
    /// be right (section 4.8). With a key there must be one, unless a single Extra Padding TLV is all there is.
    ///
    /// # Errors
    /// [`ReplyFault`].
    pub fn new(extensions: &'a [u8], sequence: u32, key: Option<&Key>) -> Result<Self, ReplyFault> {
        let tlvs = Tlvs::new(extensions);
        let mut marked = tlvs.clone().map(|tlv| tlv.map_or_else(|cut| cut.flags, |tlv| tlv.flags));
        if marked.any(Flags::integrity) {
            return Err(ReplyFault::IntegrityFlag);
        }
        let protection = Protection::locate(extensions);
        match key.map(|key| protection.verify(extensions, sequence, key)) {
            None if protection.is_there() => Err(ReplyFault::NoKey),
            Some(Some(false)) => Err(ReplyFault::WrongCode),
            Some(None) if !protection.needs_none() => Err(ReplyFault::NoCode),
            _ => Ok(Self { tlvs, malformed: false }),
        }
    }

    /// Whether the TLVs given so far ended at a malformed one, by its M flag or by itself.
    pub const fn malformed(&self) -> bool {
        self.malformed
    }
}

impl<'a> Iterator for Reflected<'a> {
    type Item = Tlv<'a>;

    fn next(&mut self) -> Option<Tlv<'a>> {
        while !self.malformed {
            match self.tlvs.next()? {
                Ok(tlv) if tlv.flags.malformed() => self.malformed = true,
                Ok(tlv) if tlv.flags.unrecognized() || tlv.kind == kind::HMAC => {}
                Ok(tlv) => return Some(tlv),
                Err(Malformed { .. }) => self.malformed = true,
            }
        }
        None
    }
}

//! Keys of authenticated tests, and the codes that they make.

use core::fmt;

use hmac::{Hmac, KeyInit, Mac};
use sha2::Sha256;
use thiserror::Error;
use zeroize::{ZeroizeOnDrop, Zeroizing};

/// Octets of the shortest key: as many as SHA-256 puts out, below which RFC 2104 section 3 discourages a key
/// because it weakens the code.
pub const KEY_MIN: usize = 32;
/// Octets of a code: HMAC-SHA-256 truncated to 128 bits (RFC 8762 section 4.4, RFC 4868 section 2.3).
pub const TAG: usize = 16;

/// The key of an authenticated test.
///
/// It is kept as the two hash states that HMAC makes of it (RFC 2104 section 4), so that a packet costs no
/// more than its own octets; they are overwritten when it is dropped. It is neither shown nor compared nor
/// copied. The octets it was made of are their owner's to overwrite.
///
/// One key for both directions, which is what a file known to both ends amounts to, lets an attacker return a
/// reply as if it were a request; a reflector refuses those by what is in them
/// ([`super::looks_like_authenticated_reply`]).
///
/// ```compile_fail,E0599
/// # use romer_wire::stamp::Key;
/// fn shows(key: &Key) -> String { key.to_string() }
/// ```
pub struct Key {
    keyed: Hmac<Sha256>,
}

impl ZeroizeOnDrop for Key {}

impl fmt::Debug for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Key(not shown)")
    }
}

/// Why octets are no key. None of these holds a part of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum KeyError {
    /// Fewer than [`KEY_MIN`].
    #[error("the key has {0} bytes; it needs {KEY_MIN} or more")]
    TooShort(usize),
    /// Nothing but hex digits, and not two for each octet.
    #[error("an odd number of hex digits ({0}); two make a byte")]
    OddHex(usize),
    /// Nothing but hex digits and blanks: meant as hex, but it cannot be known which blanks belong to it.
    #[error("hex digits with a blank at byte {0}; write the digits without any, on one line")]
    BlankInHex(usize),
}

impl Key {
    /// The key of these octets.
    ///
    /// # Errors
    /// [`KeyError::TooShort`].
    pub fn new(octets: &[u8]) -> Result<Self, KeyError> {
        let short = KeyError::TooShort(octets.len());
        if octets.len() < KEY_MIN { Err(short) } else { Self::of_any_length(octets).ok_or(short) }
    }

    /// RFC 4231's keys are shorter than ours may be. HMAC takes any length, so that this is never `None`.
    fn of_any_length(octets: &[u8]) -> Option<Self> {
        Some(Self { keyed: Hmac::new_from_slice(octets).ok()? })
    }

    /// The code over the concatenation of `parts`.
    pub fn tag(&self, parts: &[&[u8]]) -> [u8; TAG] {
        let full = self.absorb(parts).finalize().into_bytes();
        full.first_chunk().copied().unwrap_or_default()
    }

    /// Whether `tag` is the code over the concatenation of `parts`. How long that takes depends on their
    /// lengths alone.
    pub fn verifies(&self, parts: &[&[u8]], tag: &[u8; TAG]) -> bool {
        self.absorb(parts).verify_truncated_left(tag).is_ok()
    }

    fn absorb(&self, parts: &[&[u8]]) -> Hmac<Sha256> {
        let mut mac = self.keyed.clone();
        for part in parts {
            mac.update(part);
        }
        mac
    }
}

/// How a key file writes its key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum KeyForm {
    /// The octets themselves.
    Raw,
    /// Two hex digits for each octet, in either case.
    Hex,
}

/// A key as a file had it.
#[derive(Debug)]
pub struct KeyFile {
    /// The key.
    pub key: Key,
    /// How it was written.
    pub form: KeyForm,
    /// Whether the file ended in a line feed, which is not part of the key. The user should be told: a raw
    /// key may have ended in one by chance.
    pub line_feed_stripped: bool,
}

impl KeyFile {
    /// Reads the content of a key file: one line feed at the end is dropped; what is left is hex if it is
    /// nothing but hex digits, and else the key itself, to which a line feed belongs without which it would be too short. Reading the file, looking at its mode, and
    /// overwriting `content` afterwards is the caller's.
    ///
    /// # Errors
    /// [`KeyError::OddHex`], [`KeyError::BlankInHex`], [`KeyError::TooShort`].
    pub fn parse(content: &[u8]) -> Result<Self, KeyError> {
        let stripped = content.strip_suffix(b"\n");
        let written = stripped.unwrap_or(content);
        let (key, form) = match hex(written)? {
            Some(octets) => (Key::new(&octets)?, KeyForm::Hex),
            None => match Key::new(written) {
                // A key of just so many octets that ends in this one, by chance.
                Err(KeyError::TooShort(_)) if stripped.is_some() && Key::new(content).is_ok() => {
                    let key = Key::new(content)?;
                    return Ok(Self { key, form: KeyForm::Raw, line_feed_stripped: false });
                }
                key => (key?, KeyForm::Raw),
            },
        };
        Ok(Self { key, form, line_feed_stripped: stripped.is_some() })
    }
}

/// The octets that hex digits stand for; `None` where `written` is not hex.
fn hex(written: &[u8]) -> Result<Option<Zeroizing<Vec<u8>>>, KeyError> {
    let is_blank = |octet: &u8| octet.is_ascii_whitespace();
    let is_digit = |octet: &u8| octet.is_ascii_hexdigit();
    if !written.iter().any(is_digit) || !written.iter().all(|octet| is_digit(octet) || is_blank(octet)) {
        return Ok(None);
    }
    if let Some(blank) = written.iter().position(is_blank) {
        return Err(KeyError::BlankInHex(blank));
    }
    let (pairs, rest) = written.as_chunks::<2>();
    if !rest.is_empty() {
        return Err(KeyError::OddHex(written.len()));
    }
    // As many as will be needed: a vector that grows leaves copies behind.
    let mut octets = Zeroizing::new(Vec::with_capacity(pairs.len()));
    octets.extend(pairs.iter().map(|[high, low]| (nibble(*high) << 4) | nibble(*low)));
    Ok(Some(octets))
}

/// What a hex digit stands for.
const fn nibble(digit: u8) -> u8 {
    match digit {
        b'0'..=b'9' => digit - b'0',
        b'a'..=b'f' => digit - b'a' + 10,
        b'A'..=b'F' => digit - b'A' + 10,
        _ => 0,
    }
}

#[cfg(test)]
#[path = "key_tests.rs"]
mod tests;

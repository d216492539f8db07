//! Fingerprints of public keys.

use std::fmt;
use std::str::FromStr;

use rustls::pki_types::CertificateDer;
use rustls::server::ParsedCertificate;
use sha2::{Digest, Sha256};

/// Octets of a fingerprint.
const LENGTH: usize = 32;
/// What the text of a fingerprint begins with.
const PREFIX: &str = "sha256:";

/// The SHA-256 digest of the public key of a certificate (its `SubjectPublicKeyInfo`). Its text is `sha256:` and 64 hexadecimal digits.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Fingerprint([u8; LENGTH]);

impl Fingerprint {
    /// The fingerprint of the key in `certificate`; `None` if that is no certificate of X.509 version 3.
    pub fn from_certificate(certificate: &CertificateDer<'_>) -> Option<Self> {
        let parsed = ParsedCertificate::try_from(certificate).ok()?;
        Some(Self(Sha256::digest(parsed.subject_public_key_info().as_ref()).into()))
    }
}

impl fmt::Display for Fingerprint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{PREFIX}{}", to_hex(&self.0))
    }
}

impl fmt::Debug for Fingerprint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

/// A text that is no fingerprint.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("a fingerprint is sha256: and 64 hexadecimal digits")]
pub struct InvalidFingerprint;

impl FromStr for Fingerprint {
    type Err = InvalidFingerprint;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let octets = text.strip_prefix(PREFIX).and_then(from_hex).ok_or(InvalidFingerprint)?;
        octets.try_into().map(Self).map_err(|_| InvalidFingerprint)
    }
}

/// `octets` as hexadecimal digits.
pub fn to_hex(octets: &[u8]) -> String {
    octets.iter().map(|octet| format!("{octet:02x}")).collect()
}

/// The octets of a text of hexadecimal digits, two for each; `None` if it is not such a text.
pub fn from_hex(text: &str) -> Option<Vec<u8>> {
    let digits = text.as_bytes();
    if !digits.len().is_multiple_of(2) || !digits.iter().all(u8::is_ascii_hexdigit) {
        return None;
    }
    let octet = |pair: &[u8]| u8::from_str_radix(std::str::from_utf8(pair).ok()?, 16).ok();
    digits.chunks_exact(2).map(octet).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The text of a fingerprint is read back, and nothing else is read.
    #[test]
    fn texts_read_back() {
        let fingerprint = Fingerprint(std::array::from_fn(|at| u8::try_from(at * 7).unwrap()));
        let text = fingerprint.to_string();
        assert_eq!(text.parse(), Ok(fingerprint));
        let (short, other) = (&text[..text.len() - 2], text.replace("sha256", "sha512"));
        for wrong in [short, &other, "sha256:", "", &text.replace('0', "g")] {
            assert_eq!(wrong.parse::<Fingerprint>(), Err(InvalidFingerprint), "{wrong}");
        }
    }

    /// Only pairs of hexadecimal digits are octets.
    #[test]
    fn octets_are_pairs_of_digits() {
        assert_eq!(from_hex("00ffA1"), Some(vec![0, 255, 161]));
        assert_eq!(to_hex(&[0, 255, 161]), "00ffa1");
        for wrong in ["0", "0x", "+1", "é0"] {
            assert_eq!(from_hex(wrong), None, "{wrong}");
        }
    }
}

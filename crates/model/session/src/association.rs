//! The association: a datagram that carries a token from the control channel over the path of the test packets,
//! so that the responder learns the address and port from which they really come (through a NAT, too).
//!
//! It is as long as a STAMP packet and is never answered by a datagram: the responder confirms it over the
//! control channel.

/// Octets of a token.
pub const TOKEN: usize = 16;
/// Octets of the datagram, those of an unauthenticated STAMP packet.
pub const LENGTH: usize = 44;
const MAGIC: &[u8; 16] = b"romer-associate1";
/// The first four octets of the datagram, in network order.
pub const FIRST_WORD: u32 = u32::from_be_bytes([MAGIC[0], MAGIC[1], MAGIC[2], MAGIC[3]]);

/// A secret that the control channel gave.
pub type Token = [u8; TOKEN];

/// The datagram for `token`.
pub fn datagram(token: Token) -> [u8; LENGTH] {
    let mut bytes = [0; LENGTH];
    bytes[..16].copy_from_slice(MAGIC);
    bytes[16..32].copy_from_slice(&token);
    bytes
}

/// Whether a datagram that begins so is one: for who has only a part of it, as a capture may.
pub fn begins(beginning: &[u8]) -> bool {
    beginning.starts_with(MAGIC)
}

/// The token in `payload`, if that is an association datagram.
pub fn token(payload: &[u8]) -> Option<Token> {
    let rest = payload.strip_prefix(MAGIC)?;
    if payload.len() != LENGTH || rest[TOKEN..].iter().any(|octet| *octet != 0) {
        return None;
    }
    rest[..TOKEN].try_into().ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn tokens_read_back(bytes: Token) {
            prop_assert_eq!(token(&datagram(bytes)), Some(bytes));
        }

        #[test]
        fn no_other_bytes_are_an_association(bytes in prop::collection::vec(any::<u8>(), 0..80)) {
            prop_assert_eq!(token(&bytes), None);
        }
    }
}

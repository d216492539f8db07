//! What payloads have behind their header.

use romer_qtcp_protocol::HEADER_LEN;
use romer_units::random::{RandomStream, Seed};

/// Shift of the filling from packet to packet, and where it begins again. Both are prime.
const FILLING: [u64; 2] = [257, 4_093];

/// Octets that are hard to compress, for payloads of `size` octets from any shift on.
pub(crate) fn filling(session: u64, size: usize) -> Vec<u8> {
    let [low, high] = [session & 0xffff_ffff, session >> 32].map(|half| u32::try_from(half).unwrap_or(0));
    let random = RandomStream::new(Seed([low, high, 0, 0, 0, 0]), [0, 0]);
    let octets = size + usize::try_from(FILLING[1]).unwrap_or(0);
    (0..).flat_map(|ordinal| random.block(ordinal)).flat_map(u32::to_be_bytes).take(octets).collect()
}

/// Fills a payload; without a filling it has zeros behind its header.
pub(crate) fn fill(payload: &mut [u8], filling: &[u8], sequence: u64) {
    let shift = usize::try_from(sequence.wrapping_mul(FILLING[0]) % FILLING[1]).unwrap_or(0);
    if let (Some(body), Some(filling)) = (payload.get_mut(HEADER_LEN..), filling.get(shift..)) {
        let length = body.len().min(filling.len());
        body[..length].copy_from_slice(&filling[..length]);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Payloads are filled whole, and differ from packet to packet; compressible ones are zeros.
    #[test]
    fn payloads_are_filled() {
        let pool = filling(7, 200);
        let bodies: Vec<Vec<u8>> = (0..2)
            .map(|sequence| {
                let mut payload = vec![0; 200];
                fill(&mut payload, &pool, sequence);
                payload.split_off(HEADER_LEN)
            })
            .collect();
        assert_ne!(bodies[0], bodies[1]);
        assert!(bodies.iter().all(|body| body.iter().filter(|octet| **octet == 0).count() < 20));
        let mut payload = vec![0; 200];
        fill(&mut payload, &[], 3);
        assert_eq!(payload, vec![0; 200]);
    }
}

//! What waits to be written to a connection.

use romer_session::control::Message;

/// Octets of memory that an empty outbox keeps.
const RETAINED: usize = 1024;
/// So many octets that have been written are kept before the rest is moved.
const WRITTEN: usize = 64 * 1024;

/// Octets that wait to be written to one connection.
#[derive(Debug, Default)]
pub(super) struct Outbox {
    octets: Vec<u8>,
    written: usize,
}

impl Outbox {
    /// What is to be written.
    pub(super) fn rest(&self) -> &[u8] {
        self.octets.get(self.written..).unwrap_or_default()
    }

    pub(super) fn is_empty(&self) -> bool {
        self.rest().is_empty()
    }

    /// Octets of memory that hold something.
    pub(super) const fn memory(&self) -> usize {
        self.octets.len()
    }

    pub(super) fn push(&mut self, message: &Message) {
        message.encode(&mut self.octets);
    }

    /// Appends frames.
    pub(super) fn extend(&mut self, frames: &[u8]) {
        self.octets.extend_from_slice(frames);
    }

    /// So many of the octets have been written.
    pub(super) fn advance(&mut self, count: usize) {
        self.written += count.min(self.rest().len());
        if self.is_empty() {
            self.clear();
        } else if self.written > WRITTEN && self.written > self.octets.len() / 2 {
            self.octets.drain(..self.written);
            self.written = 0;
        }
    }

    /// Drops what is not written.
    pub(super) fn clear(&mut self) {
        self.octets.clear();
        self.octets.shrink_to(RETAINED);
        self.written = 0;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What is written gives its memory back, and the rest stays in order.
    #[test]
    fn written_octets_give_memory_back() {
        let mut outbox = Outbox::default();
        let octets: Vec<u8> = (0..200_000_u32).flat_map(u32::to_be_bytes).collect();
        outbox.extend(&octets);
        let mut read = Vec::new();
        while !outbox.is_empty() {
            let count = outbox.rest().len().min(30_000);
            read.extend_from_slice(&outbox.rest()[..count]);
            outbox.advance(count);
            assert!(outbox.memory() <= 2 * outbox.rest().len() + WRITTEN + 30_000);
        }
        assert!(read == octets && outbox.octets.capacity() <= RETAINED);
        outbox.push(&Message::Stop);
        assert!(!outbox.is_empty());
        outbox.clear();
        outbox.advance(9);
        assert_eq!((outbox.memory(), outbox.rest()), (0, &[][..]));
    }
}

//! What waits to be written to a connection, counted over all of them.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use romer_session::control::Message;

/// Octets of memory that an empty outbox keeps.
const RETAINED: usize = 4 * 1024;
/// So many octets that have been written are kept before the rest is moved.
const WRITTEN: usize = 64 * 1024;

/// Octets that wait in all outboxes of a thread.
#[derive(Clone, Debug, Default)]
pub(super) struct Waiting(Arc<AtomicUsize>);

impl Waiting {
    pub(super) fn octets(&self) -> usize {
        self.0.load(Ordering::Relaxed)
    }
}

/// Octets that wait to be written to one connection.
#[derive(Debug)]
pub(super) struct Outbox {
    octets: Vec<u8>,
    written: usize,
    all: Waiting,
}

impl Outbox {
    /// Empty; what it holds counts among `all`.
    pub(super) fn new(all: &Waiting) -> Self {
        Self { octets: Vec::new(), written: 0, all: all.clone() }
    }

    /// What is to be written.
    pub(super) fn rest(&self) -> &[u8] {
        self.octets.get(self.written..).unwrap_or_default()
    }

    pub(super) fn is_empty(&self) -> bool {
        self.rest().is_empty()
    }

    pub(super) fn push(&mut self, message: &Message) {
        self.change(|octets| message.encode(octets));
    }

    /// Appends frames.
    pub(super) fn extend(&mut self, frames: &[u8]) {
        self.change(|octets| octets.extend_from_slice(frames));
    }

    fn change(&mut self, add: impl FnOnce(&mut Vec<u8>)) {
        let before = self.octets.len();
        add(&mut self.octets);
        self.all.0.fetch_add(self.octets.len() - before, Ordering::Relaxed);
    }

    /// So many of the octets have been written.
    pub(super) fn advance(&mut self, count: usize) {
        let count = count.min(self.rest().len());
        self.written += count;
        self.all.0.fetch_sub(count, Ordering::Relaxed);
        if self.is_empty() {
            self.release();
        } else if self.written > WRITTEN && self.written > self.octets.len() / 2 {
            self.octets.drain(..self.written);
            self.written = 0;
        }
    }

    /// Drops what is not written.
    pub(super) fn clear(&mut self) {
        self.all.0.fetch_sub(self.rest().len(), Ordering::Relaxed);
        self.release();
    }

    fn release(&mut self) {
        self.octets.clear();
        self.octets.shrink_to(RETAINED);
        self.written = 0;
    }
}

impl Drop for Outbox {
    fn drop(&mut self) {
        self.clear();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The total is what is not written of all outboxes, and written octets give their memory back.
    #[test]
    fn totals_follow_every_change() {
        let all = Waiting::default();
        let mut outboxes = [Outbox::new(&all), Outbox::new(&all)];
        let octets: Vec<u8> = (0..200_000_u32).flat_map(u32::to_be_bytes).collect();
        outboxes[0].extend(&octets);
        outboxes[1].push(&Message::Stop);
        let frame = outboxes[1].rest().len();
        assert_eq!(all.octets(), octets.len() + frame);
        let mut read = Vec::new();
        while !outboxes[0].is_empty() {
            let count = outboxes[0].rest().len().min(30_000);
            read.extend_from_slice(&outboxes[0].rest()[..count]);
            outboxes[0].advance(count);
            assert_eq!(all.octets(), octets.len() - read.len() + frame);
        }
        assert!(read == octets && outboxes[0].octets.capacity() <= RETAINED);
        outboxes[0].extend(&octets);
        outboxes[0].clear();
        outboxes[0].advance(9);
        assert_eq!(all.octets(), frame);
        drop(outboxes);
        assert_eq!(all.octets(), 0);
    }
}

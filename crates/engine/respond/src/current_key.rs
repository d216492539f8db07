//! The key of a responder, which may be replaced while it runs.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use romer_wire::stamp::Key;

/// A key that several threads use, and the number of its replacements.
#[derive(Debug)]
pub(super) struct CurrentKey {
    key: Mutex<Option<Arc<Key>>>,
    replacements: AtomicU64,
}

impl CurrentKey {
    pub(super) fn new(key: Option<Arc<Key>>) -> Self {
        Self { key: Mutex::new(key), replacements: AtomicU64::new(0) }
    }

    /// The key from now on, if there is one.
    pub(super) fn get(&self) -> Option<Arc<Key>> {
        self.key.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Replaces the key. Where there is none, all remains as it was: whether tests are authenticated does not change.
    pub(super) fn replace(&self, key: Arc<Key>) {
        let mut present = self.key.lock().unwrap_or_else(PoisonError::into_inner);
        if present.is_some() {
            *present = Some(key);
            self.replacements.fetch_add(1, Ordering::Release);
        }
    }

    /// The key, if it has been replaced since `seen` replacements, which are brought up to date.
    pub(super) fn replaced_since(&self, seen: &mut u64) -> Option<Arc<Key>> {
        let replacements = self.replacements.load(Ordering::Acquire);
        if replacements == *seen {
            return None;
        }
        *seen = replacements;
        self.get()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn key(fill: u8) -> Arc<Key> {
        Arc::new(Key::new(&[fill; 32]).unwrap())
    }

    /// Each replacement is seen once; a responder without a key gets none.
    #[test]
    fn replacements_are_seen_once() {
        let first = key(1);
        let (current, mut seen) = (CurrentKey::new(Some(Arc::clone(&first))), 0);
        assert!(current.replaced_since(&mut seen).is_none());
        let second = key(2);
        current.replace(Arc::clone(&second));
        let replaced = current.replaced_since(&mut seen);
        assert!(replaced.is_some_and(|key| Arc::ptr_eq(&key, &second)));
        assert!(current.replaced_since(&mut seen).is_none());
        let open = CurrentKey::new(None);
        open.replace(first);
        assert!(open.get().is_none() && open.replaced_since(&mut 0).is_none());
    }
}

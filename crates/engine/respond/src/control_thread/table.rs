//! Connections by number. A number stays with its connection until that is removed.

use std::ops::{Index, IndexMut};

/// Connections, each in a slot of its own.
pub(super) struct Slots<T> {
    slots: Vec<Option<T>>,
    free: Vec<usize>,
}

impl<T> Slots<T> {
    pub(super) const fn new() -> Self {
        Self { slots: Vec::new(), free: Vec::new() }
    }

    /// The number that the next connection will have.
    pub(super) fn next(&self) -> usize {
        self.free.last().copied().unwrap_or(self.slots.len())
    }

    pub(super) fn insert(&mut self, connection: T) -> usize {
        let Some(index) = self.free.pop() else {
            self.slots.push(Some(connection));
            return self.slots.len() - 1;
        };
        self.slots[index] = Some(connection);
        index
    }

    pub(super) fn remove(&mut self, index: usize) -> Option<T> {
        let removed = self.slots.get_mut(index)?.take()?;
        self.free.push(index);
        Some(removed)
    }

    pub(super) fn get(&self, index: usize) -> Option<&T> {
        self.slots.get(index)?.as_ref()
    }

    /// Two connections; `None` where they are one, or not both there.
    pub(super) fn pair(&mut self, indices: [usize; 2]) -> Option<[&mut T; 2]> {
        let [one, other] = self.slots.get_disjoint_mut(indices).ok()?;
        Some([one.as_mut()?, other.as_mut()?])
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = (usize, &T)> {
        self.slots.iter().enumerate().filter_map(|(index, slot)| Some((index, slot.as_ref()?)))
    }

    /// Above the number of every connection.
    pub(super) fn end(&self) -> usize {
        self.slots.len()
    }
}

impl<T> Index<usize> for Slots<T> {
    type Output = T;

    fn index(&self, index: usize) -> &T {
        self.slots[index].as_ref().expect("a connection that is used has not been removed")
    }
}

impl<T> IndexMut<usize> for Slots<T> {
    fn index_mut(&mut self, index: usize) -> &mut T {
        self.slots[index].as_mut().expect("a connection that is used has not been removed")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Numbers stay, and those of removed connections are given again.
    #[test]
    fn numbers_are_stable() {
        let mut table = Slots::new();
        assert_eq!(["a", "b", "c"].map(|name| table.insert(name)), [0, 1, 2]);
        assert_eq!((table.remove(1), table.remove(1), table.get(1)), (Some("b"), None, None));
        assert_eq!((table[0], table[2], table.next(), table.end()), ("a", "c", 1, 3));
        assert_eq!(table.insert("d"), 1);
        assert_eq!(
            table.iter().map(|(index, name)| (index, *name)).collect::<Vec<_>>(),
            [(0, "a"), (1, "d"), (2, "c")]
        );
        assert!(table.pair([1, 1]).is_none() && table.pair([0, 9]).is_none());
        assert_eq!(table.pair([2, 0]).map(|pair| pair.map(|name| *name)), Some(["c", "a"]));
    }
}

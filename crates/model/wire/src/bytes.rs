//! Reading and writing of big-endian fields at places that may not be there.

/// The `N` octets at `offset`, or `None` where the bytes end before.
pub(crate) fn at<const N: usize>(octets: &[u8], offset: usize) -> Option<[u8; N]> {
    octets.get(offset..)?.first_chunk::<N>().copied()
}

/// Writes as much of `field` as fits at `offset`; what lies past the end is cut off.
pub(crate) fn put(buf: &mut [u8], offset: usize, field: &[u8]) {
    if let Some(room) = buf.get_mut(offset..) {
        let len = room.len().min(field.len());
        if let (Some(room), Some(field)) = (room.get_mut(..len), field.get(..len)) {
            room.copy_from_slice(field);
        }
    }
}

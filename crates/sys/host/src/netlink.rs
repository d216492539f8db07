//! Messages of netlink as bytes: a header of length (4), type (2), flags (2), sequence (4) and port (4), then a body
//! that ends with attributes of length (2), type (2) and value; all padded to four octets.

/// Length of `struct nlmsghdr`.
pub(crate) const HEADER: usize = 16;

/// The first message: its type, its body, and what follows.
pub(crate) fn message(bytes: &[u8]) -> Option<(u16, &[u8], &[u8])> {
    let length = usize::try_from(u32_at(bytes, 0)?).ok()?;
    let kind = u16_at(bytes, 4)?;
    let body = bytes.get(HEADER..length)?;
    Some((kind, body, bytes.get(aligned(length)..).unwrap_or_default()))
}

/// The value of the attribute `wanted`.
pub(crate) fn attribute(mut bytes: &[u8], wanted: u16) -> Option<&[u8]> {
    loop {
        let length = usize::from(u16_at(bytes, 0)?);
        // The two upper bits say how the value is made.
        let kind = u16_at(bytes, 2)? & 0x3fff;
        let value = bytes.get(4..length)?;
        if kind == wanted {
            return Some(value);
        }
        bytes = bytes.get(aligned(length)..)?;
    }
}

pub(crate) const fn aligned(length: usize) -> usize {
    length.saturating_add(3) & !3
}

pub(crate) fn u16_at(bytes: &[u8], at: usize) -> Option<u16> {
    bytes.get(at..at + 2)?.try_into().ok().map(u16::from_ne_bytes)
}

pub(crate) fn u32_at(bytes: &[u8], at: usize) -> Option<u32> {
    bytes.get(at..at + 4)?.try_into().ok().map(u32::from_ne_bytes)
}

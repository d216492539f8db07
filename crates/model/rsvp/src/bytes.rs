//! Reading and writing of big-endian fields.

use core::net::Ipv4Addr;

/// Reads fields one after another.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Reader<'a>(&'a [u8]);

impl<'a> Reader<'a> {
    pub(crate) const fn new(octets: &'a [u8]) -> Self {
        Self(octets)
    }
    /// The octets that are left.
    pub(crate) const fn rest(&self) -> &'a [u8] {
        self.0
    }
    pub(crate) const fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
    /// The next `len` octets.
    pub(crate) fn octets(&mut self, len: usize) -> Option<&'a [u8]> {
        let (next, rest) = self.0.split_at_checked(len)?;
        self.0 = rest;
        Some(next)
    }
    fn array<const N: usize>(&mut self) -> Option<[u8; N]> {
        let (next, rest) = self.0.split_first_chunk()?;
        self.0 = rest;
        Some(*next)
    }
    pub(crate) fn u8(&mut self) -> Option<u8> {
        self.array().map(u8::from_be_bytes)
    }
    pub(crate) fn u16(&mut self) -> Option<u16> {
        self.array().map(u16::from_be_bytes)
    }
    pub(crate) fn u32(&mut self) -> Option<u32> {
        self.array().map(u32::from_be_bytes)
    }
    pub(crate) fn f32(&mut self) -> Option<f32> {
        self.u32().map(f32::from_bits)
    }
    pub(crate) fn address(&mut self) -> Option<Ipv4Addr> {
        self.u32().map(Ipv4Addr::from_bits)
    }
    /// `value`, if nothing is left.
    pub(crate) fn end<T>(&self, value: T) -> Option<T> {
        self.is_empty().then_some(value)
    }
}

/// Appends a 16-bit field.
pub(crate) fn put_u16(out: &mut Vec<u8>, value: u16) {
    out.extend(value.to_be_bytes());
}

/// Appends a 32-bit field.
pub(crate) fn put_u32(out: &mut Vec<u8>, value: u32) {
    out.extend(value.to_be_bytes());
}

/// Appends an IEEE single-precision number.
pub(crate) fn put_f32(out: &mut Vec<u8>, value: f32) {
    put_u32(out, value.to_bits());
}

/// Appends an address.
pub(crate) fn put_address(out: &mut Vec<u8>, value: Ipv4Addr) {
    out.extend(value.octets());
}

/// Appends what `body` writes after a 16-bit length; `units` converts its octets to the unit of the length.
/// A length beyond 16 bits saturates: the limit of a message refuses it.
pub(crate) fn put_counted(
    out: &mut Vec<u8>,
    header: [u8; 2],
    length_first: bool,
    units: impl FnOnce(usize) -> usize,
    body: impl FnOnce(&mut Vec<u8>),
) {
    let start = out.len();
    out.extend([0; 4]);
    body(out);
    let length = u16::try_from(units(out.len() - start)).unwrap_or(u16::MAX).to_be_bytes();
    let word = if length_first {
        [length[0], length[1], header[0], header[1]]
    } else {
        [header[0], header[1], length[0], length[1]]
    };
    if let Some(place) = out.get_mut(start..start + 4) {
        place.copy_from_slice(&word);
    }
}

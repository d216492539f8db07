//! What the kernel says of a frame in control messages (`cmsg(3)`): when it had it, and the tag that it took out.

use crate::packet::{PACKET_AUXDATA, SOL_PACKET};

/// In the auxiliary data: there was a tag, and its protocol is said.
const VLAN_VALID: u32 = 1 << 4;
const VLAN_PROTOCOL_VALID: u32 = 1 << 6;

/// What the control messages say of a frame.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Said {
    pub(crate) stamp: Option<i64>,
    pub(crate) tag: Option<(u16, u16)>,
}

impl Said {
    pub(crate) fn read(mut bytes: &[u8]) -> Self {
        const HEADER: usize = 16;
        let mut said = Self::default();
        while let (Some(whole), Some(level), Some(kind)) = (array(bytes, 0), word(bytes, 8), word(bytes, 12))
        {
            let whole = usize::from_ne_bytes(whole);
            let Some(data) = bytes.get(HEADER..whole) else { break };
            if level == SOL_PACKET.cast_unsigned() && kind == PACKET_AUXDATA.cast_unsigned() {
                said.tag = read_tag(data);
            } else if level == libc::SOL_SOCKET.cast_unsigned()
                && kind == libc::SCM_TIMESTAMPNS.cast_unsigned()
            {
                said.stamp = read_stamp(data);
            }
            bytes = whole.checked_next_multiple_of(8).and_then(|next| bytes.get(next..)).unwrap_or_default();
        }
        said
    }
}

fn array<const N: usize>(bytes: &[u8], at: usize) -> Option<[u8; N]> {
    bytes.get(at..at + N)?.try_into().ok()
}

fn word(bytes: &[u8], at: usize) -> Option<u32> {
    array(bytes, at).map(u32::from_ne_bytes)
}

/// Protocol and control of the tag in a `struct tpacket_auxdata`.
fn read_tag(data: &[u8]) -> Option<(u16, u16)> {
    const CUSTOMER_TAG: u16 = 0x8100;
    let status = word(data, 0).filter(|status| status & VLAN_VALID != 0)?;
    let control = array(data, 16).map(u16::from_ne_bytes)?;
    let protocol = array(data, 18).map(u16::from_ne_bytes)?;
    Some((if status & VLAN_PROTOCOL_VALID != 0 { protocol } else { CUSTOMER_TAG }, control))
}

fn read_stamp(data: &[u8]) -> Option<i64> {
    let seconds = i64::from_ne_bytes(array(data, 0)?);
    let nanos = i64::from_ne_bytes(array(data, 8)?);
    Some(seconds.saturating_mul(1_000_000_000).saturating_add(nanos))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn any_control_messages_are_read_without_panic(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
            let _ = Said::read(&bytes);
        }
    }

    #[test]
    fn what_is_not_said_is_not_known() {
        assert_eq!(Said::read(&[]), Said::default());
        assert_eq!(read_tag(&[0; 20]), None);
        assert_eq!(read_tag(&[0; 10]), None);
        assert_eq!(read_stamp(&[0; 15]), None);
    }
}

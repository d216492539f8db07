//! What drivers say of XDP, as the kernel's `netdev` family of generic netlink has it since Linux 6.3
//! (`include/uapi/linux/netdev.h`). Nothing is attached to find it out, and no right is needed.

use std::collections::BTreeMap;
use std::os::fd::AsFd;

use crate::HostError;
use crate::netlink::{DUMP, Draft, REQUEST, attribute, exchange, u16_at};
use crate::sys::open_protocol;

/// `GENL_ID_CTRL`, its `CTRL_CMD_GETFAMILY` and attributes.
const CONTROL: u16 = 0x10;
const GET_FAMILY: u8 = 3;
const FAMILY_ID: u16 = 1;
const FAMILY_NAME: u16 = 2;
/// `NETDEV_CMD_DEV_GET` and attributes.
const GET_DEVICE: u8 = 1;
const INTERFACE: u16 = 1;
const XDP_FEATURES: u16 = 3;
/// Length of `struct genlmsghdr`.
const GENERIC: usize = 4;

/// What a driver can do with XDP.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct XdpSupport {
    /// It runs programs on received frames before the kernel makes packets of them (native mode); elsewhere the kernel
    /// runs them on its packets (generic mode).
    pub native: bool,
    /// Frames can be handed on to sockets and other interfaces from there.
    pub redirect: bool,
    /// It sends frames that programs give it. Without that, a virtual link drops what a program in native mode returns.
    pub transmit: bool,
    /// Frames of an `AF_XDP` socket need not be copied.
    pub zero_copy: bool,
}

impl XdpSupport {
    /// From `NETDEV_XDP_ACT_BASIC`, `_REDIRECT`, `_NDO_XMIT` and `_XSK_ZEROCOPY`.
    const fn from_features(features: u64) -> Self {
        Self {
            native: features & 1 != 0,
            redirect: features & (1 << 1) != 0,
            transmit: features & (1 << 2) != 0,
            zero_copy: features & (1 << 3) != 0,
        }
    }
}

/// What the drivers of the interfaces of this thread's network namespace say, by the interface's index; `None` where
/// the kernel does not tell (before Linux 6.3).
///
/// # Errors
/// The system gives no netlink socket, or no answer.
pub fn xdp_support() -> Result<Option<BTreeMap<u32, XdpSupport>>, HostError> {
    const NETLINK_GENERIC: libc::c_int = 16;
    let kind = libc::SOCK_RAW | libc::SOCK_CLOEXEC;
    let socket = open_protocol(libc::AF_NETLINK, kind, NETLINK_GENERIC, "open a socket of generic netlink")?;
    let mut family = None;
    let asked = exchange(socket.as_fd(), &request(CONTROL, REQUEST, GET_FAMILY, b"netdev\0"), |body| {
        let id = body.get(GENERIC..).and_then(|attributes| attribute(attributes, FAMILY_ID));
        family = family.or(id.and_then(|id| u16_at(id, 0)));
    });
    match (asked, family) {
        (Ok(()), Some(family)) => {
            let mut all = BTreeMap::new();
            exchange(socket.as_fd(), &request(family, DUMP, GET_DEVICE, &[]), |body| {
                all.extend(device(body));
            })?;
            Ok(Some(all))
        }
        (Err(error), _) if error.errno() != Some(libc::ENOENT) => Err(error),
        _ => Ok(None),
    }
}

/// The interface that an answer is about, and what its driver can do.
fn device(body: &[u8]) -> Option<(u32, XdpSupport)> {
    let attributes = body.get(GENERIC..)?;
    let interface = attribute(attributes, INTERFACE)?.first_chunk::<4>().map(|id| u32::from_ne_bytes(*id))?;
    let features =
        attribute(attributes, XDP_FEATURES)?.first_chunk::<8>().map(|bits| u64::from_ne_bytes(*bits))?;
    Some((interface, XdpSupport::from_features(features)))
}

/// A request of generic netlink, with the name of a family where there is one.
fn request(family: u16, flags: u16, command: u8, name: &[u8]) -> Vec<u8> {
    let mut draft = Draft::new(family, flags, &[command, 1, 0, 0]);
    if !name.is_empty() {
        draft.attribute(FAMILY_NAME, name);
    }
    draft.finish()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_answer_names_its_interface_and_the_modes_of_its_driver() {
        let mut body = vec![GET_DEVICE, 1, 0, 0];
        body.extend_from_slice(&[8, 0, 1, 0, 7, 0, 0, 0]);
        body.extend_from_slice(&[12, 0, 3, 0, 0b1111, 0, 0, 0, 0, 0, 0, 0]);
        let all = XdpSupport { native: true, redirect: true, transmit: true, zero_copy: true };
        assert_eq!(device(&body), Some((7, all)));
        for length in 0..body.len() {
            assert_eq!(device(&body[..length]), None, "{length}");
        }
        assert_eq!(
            XdpSupport::from_features(0b111_0000),
            XdpSupport::default(),
            "offload and frames of several buffers tell nothing of these"
        );
    }

    #[test]
    fn this_kernel_tells_of_its_loopback_or_of_none() {
        let Some(all) = xdp_support().unwrap() else { return };
        assert_eq!(
            all.get(&1).map(|lo| lo.native),
            Some(false),
            "loopback is interface 1 and has no driver: {all:?}"
        );
    }
}

//! What drivers say of XDP, as the kernel's `netdev` family of generic netlink has it since Linux 6.3
//! (`include/uapi/linux/netdev.h`). Nothing is attached to find it out, and no right is needed.

use std::collections::BTreeMap;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd};

use romer_units::Duration;

use crate::HostError;
use crate::netlink::{HEADER, aligned, attribute, message, u16_at};
use crate::socket::poll_until;
use crate::sys::open_protocol;

/// Octets that are read with one call; the kernel makes no longer messages of a dump for who asks with less room.
const ROOM: usize = 32_768;
/// How long an answer may take, which the kernel gives at once.
const PATIENCE: Duration = Duration::from_secs(2);
/// Answers that are read at the most: a family has one, a dump of a few interfaces a few dozen.
const MOST_READS: usize = 4_096;

/// `NLM_F_REQUEST`, and `NLM_F_DUMP` beside it.
const REQUEST: u16 = 1;
const DUMP: u16 = REQUEST | 0x300;
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
    /// Frames of an `AF_XDP` socket need not be copied.
    pub zero_copy: bool,
}

impl XdpSupport {
    /// From `NETDEV_XDP_ACT_BASIC`, `_REDIRECT` and `_XSK_ZEROCOPY`.
    const fn of(features: u64) -> Self {
        Self {
            native: features & 1 != 0,
            redirect: features & (1 << 1) != 0,
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
    Some((interface, XdpSupport::of(features)))
}

/// A request of generic netlink, with the name of a family where there is one.
fn request(family: u16, flags: u16, command: u8, name: &[u8]) -> Vec<u8> {
    let mut bytes = vec![0; HEADER];
    bytes.extend_from_slice(&[command, 1, 0, 0]);
    if !name.is_empty() {
        let length = u16::try_from(GENERIC + name.len()).unwrap_or(u16::MAX);
        bytes.extend_from_slice(&length.to_ne_bytes());
        bytes.extend_from_slice(&FAMILY_NAME.to_ne_bytes());
        bytes.extend_from_slice(name);
        bytes.resize(aligned(bytes.len()), 0);
    }
    let length = u32::try_from(bytes.len()).unwrap_or(u32::MAX);
    bytes[0..4].copy_from_slice(&length.to_ne_bytes());
    bytes[4..6].copy_from_slice(&family.to_ne_bytes());
    bytes[6..8].copy_from_slice(&flags.to_ne_bytes());
    bytes
}

/// Sends a request and gives the bodies of the answers to `take`, up to the last.
fn exchange(socket: BorrowedFd<'_>, request: &[u8], mut take: impl FnMut(&[u8])) -> Result<(), HostError> {
    // SAFETY: pointer and length describe `request`, which the call only reads.
    let sent = unsafe { libc::send(socket.as_raw_fd(), request.as_ptr().cast(), request.len(), 0) };
    if sent < 0 {
        return Err(HostError::last("ask generic netlink"));
    }
    let is_dump = u16_at(request, 6).is_some_and(|flags| flags == DUMP);
    let mut buffer = vec![0; ROOM];
    for _ in 0..MOST_READS {
        let mut polled = [libc::pollfd { fd: socket.as_raw_fd(), events: libc::POLLIN, revents: 0 }];
        poll_until(&mut polled, Some(PATIENCE))?;
        // SAFETY: pointer and length describe the buffer, which is exclusively ours.
        let answer = unsafe {
            libc::recv(socket.as_raw_fd(), buffer.as_mut_ptr().cast(), buffer.len(), libc::MSG_DONTWAIT)
        };
        let Ok(length) = usize::try_from(answer) else { return Err(HostError::last("hear generic netlink")) };
        let mut rest = &buffer[..length.min(buffer.len())];
        while let Some((kind, body, behind)) = message(rest) {
            match i32::from(kind) {
                libc::NLMSG_DONE => return Ok(()),
                libc::NLMSG_ERROR => return verdict(body),
                _ => take(body),
            }
            rest = behind;
        }
        if !is_dump {
            return Ok(());
        }
    }
    Err(HostError::Unsuitable("generic netlink does not come to an end"))
}

/// What an error message says; its number is negative, and 0 is none.
fn verdict(body: &[u8]) -> Result<(), HostError> {
    let number = body.first_chunk::<4>().map_or(0, |number| i32::from_ne_bytes(*number));
    if number == 0 {
        return Ok(());
    }
    let source = std::io::Error::from_raw_os_error(number.saturating_neg());
    Err(HostError::System { operation: "ask generic netlink", subject: String::new(), source })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_answer_names_its_interface_and_the_modes_of_its_driver() {
        let mut body = vec![GET_DEVICE, 1, 0, 0];
        body.extend_from_slice(&[8, 0, 1, 0, 7, 0, 0, 0]);
        body.extend_from_slice(&[12, 0, 3, 0, 0b1011, 0, 0, 0, 0, 0, 0, 0]);
        let all = XdpSupport { native: true, redirect: true, zero_copy: true };
        assert_eq!(device(&body), Some((7, all)));
        for length in 0..body.len() {
            assert_eq!(device(&body[..length]), None, "{length}");
        }
        assert_eq!(
            XdpSupport::of(0b10100),
            XdpSupport::default(),
            "offload and what is sent tell nothing of these"
        );
    }

    #[test]
    fn a_family_that_is_not_there_is_no_answer_and_no_error_but_its_own() {
        let number = |errno: i32| (-errno).to_ne_bytes();
        assert!(verdict(&number(0)).is_ok());
        assert_eq!(verdict(&number(libc::ENOENT)).unwrap_err().errno(), Some(libc::ENOENT));
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

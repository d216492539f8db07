//! What an interface's driver does on its own: the ethtool requests that romer needs
//! (`include/uapi/linux/ethtool.h`).

use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};

use crate::HostError;

/// Work that a driver can take over from the protocols, and that then falsifies what a measurement sees.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Offload {
    /// Checking of received checksums.
    ReceiveChecksum,
    /// Computing of checksums to be sent: frames on a veth then carry unfinished ones.
    TransmitChecksum,
    /// Sending from several pieces of memory.
    ScatterGather,
    /// Cutting of TCP segments.
    TcpSegmentation,
    /// Cutting of large packets before the driver.
    GenericSegmentation,
    /// Joining of received packets.
    GenericReceive,
}

impl Offload {
    /// All of them, in an order in which each can be switched off.
    pub const ALL: [Self; 6] = [
        Self::TcpSegmentation,
        Self::GenericSegmentation,
        Self::GenericReceive,
        Self::TransmitChecksum,
        Self::ReceiveChecksum,
        Self::ScatterGather,
    ];

    /// The command that reads it; the next number sets it.
    const fn read_command(self) -> u32 {
        match self {
            Self::ReceiveChecksum => 0x14,
            Self::TransmitChecksum => 0x16,
            Self::ScatterGather => 0x18,
            Self::TcpSegmentation => 0x1e,
            Self::GenericSegmentation => 0x23,
            Self::GenericReceive => 0x2b,
        }
    }
}

/// `struct ethtool_value`.
#[repr(C)]
struct Value {
    command: u32,
    data: u32,
}

/// `ETHTOOL_GDRVINFO` and its `struct ethtool_drvinfo`: the driver's name is its first text.
const GET_DRIVER: u32 = 3;
#[repr(C)]
struct DriverInfo {
    command: u32,
    driver: [u8; 32],
    rest: [u8; 160],
}

/// A socket of the current thread's namespace to ask by.
pub(crate) fn control_socket() -> Result<OwnedFd, HostError> {
    crate::sys::open_socket(libc::AF_INET, libc::SOCK_DGRAM | libc::SOCK_CLOEXEC, "open a control socket")
}

/// Sets an offload; one that the driver does not have or cannot change is left.
pub(crate) fn set_offload(
    socket: BorrowedFd<'_>,
    interface: &str,
    offload: Offload,
    on: bool,
) -> Result<(), HostError> {
    let mut value = Value { command: offload.read_command() + 1, data: u32::from(on) };
    match request(socket, interface, &mut value) {
        Err(error) if error.errno() == Some(libc::EOPNOTSUPP) => Ok(()),
        answer => answer,
    }
}

/// Reads an offload; `None` where the driver does not have it.
pub(crate) fn offload(
    socket: BorrowedFd<'_>,
    interface: &str,
    offload: Offload,
) -> Result<Option<bool>, HostError> {
    let mut value = Value { command: offload.read_command(), data: 0 };
    match request(socket, interface, &mut value) {
        Ok(()) => Ok(Some(value.data != 0)),
        Err(error) if error.errno() == Some(libc::EOPNOTSUPP) => Ok(None),
        Err(error) => Err(error),
    }
}

/// The driver's name.
pub(crate) fn driver(socket: BorrowedFd<'_>, interface: &str) -> Result<Option<String>, HostError> {
    let mut info = DriverInfo { command: GET_DRIVER, driver: [0; 32], rest: [0; 160] };
    match request(socket, interface, &mut info) {
        Ok(()) => {}
        Err(error) if error.errno() == Some(libc::EOPNOTSUPP) => return Ok(None),
        Err(error) => return Err(error),
    }
    let name: Vec<u8> = info.driver.into_iter().take_while(|octet| *octet != 0).collect();
    Ok(String::from_utf8(name).ok().filter(|name| !name.is_empty()))
}

/// One `SIOCETHTOOL`. `T` is a structure of the kernel's that begins with its command.
fn request<T>(socket: BorrowedFd<'_>, interface: &str, data: &mut T) -> Result<(), HostError> {
    // SAFETY: an ifreq is a name and a union of integers and pointers, for which zero is valid.
    let mut request: libc::ifreq = unsafe { std::mem::zeroed() };
    let room = request.ifr_name.len() - 1;
    for (slot, octet) in request.ifr_name.iter_mut().zip(interface.bytes()).take(room) {
        *slot = octet.cast_signed();
    }
    request.ifr_ifru.ifru_data = std::ptr::from_mut(data).cast();
    // SAFETY: the socket is open while borrowed; `request` outlives the call and points to `data`, which is laid
    // out as the command in it says and is exclusively ours.
    let answer = unsafe { libc::ioctl(socket.as_fd().as_raw_fd(), libc::SIOCETHTOOL, &raw mut request) };
    if answer >= 0 {
        return Ok(());
    }
    let error = HostError::last_on("ask the driver of", interface);
    if error.errno() == Some(libc::ENODEV) {
        return Err(HostError::Missing { what: "interface", name: interface.into() });
    }
    Err(error)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn loopback_answers_and_a_missing_interface_is_named() {
        let socket = control_socket().unwrap();
        assert_eq!(offload(socket.as_fd(), "lo", Offload::ScatterGather).unwrap(), Some(true));
        assert!(driver(socket.as_fd(), "lo").is_ok());
        let error = driver(socket.as_fd(), "no-such-link").unwrap_err();
        assert!(error.to_string().contains("no-such-link"), "{error}");
        assert!(matches!(error, HostError::Missing { .. }));
    }
}

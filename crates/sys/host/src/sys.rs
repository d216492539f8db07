//! Safe wrappers of single system calls that several modules use.

use std::os::fd::{AsRawFd, BorrowedFd, FromRawFd, OwnedFd};

use crate::HostError;

/// The length of `T` as the system counts it.
pub(crate) const fn socklen_of<T>() -> libc::socklen_t {
    // Options and addresses are a few dozen octets.
    #[expect(clippy::cast_possible_truncation, reason = "no option structure is 4 GiB long")]
    let length = size_of::<T>() as libc::socklen_t;
    length
}

/// A new socket of the current thread's network namespace.
pub(crate) fn open_socket(
    family: libc::c_int,
    kind: libc::c_int,
    operation: &'static str,
) -> Result<OwnedFd, HostError> {
    open_protocol(family, kind, 0, operation)
}

/// The same for a family with protocols of its own.
pub(crate) fn open_protocol(
    family: libc::c_int,
    kind: libc::c_int,
    protocol: libc::c_int,
    operation: &'static str,
) -> Result<OwnedFd, HostError> {
    // SAFETY: the call takes plain numbers.
    let descriptor = unsafe { libc::socket(family, kind, protocol) };
    if descriptor < 0 {
        return Err(HostError::last(operation));
    }
    // SAFETY: the descriptor was opened just now and nobody else has it.
    Ok(unsafe { OwnedFd::from_raw_fd(descriptor) })
}

/// Sets an option of integer value.
pub(crate) fn set_option(
    socket: BorrowedFd<'_>,
    level: libc::c_int,
    name: libc::c_int,
    value: libc::c_int,
    operation: &'static str,
) -> Result<(), HostError> {
    set_option_bytes(socket, level, name, &value.to_ne_bytes(), operation)
}

/// Sets an option whose value is `bytes`.
pub(crate) fn set_option_bytes(
    socket: BorrowedFd<'_>,
    level: libc::c_int,
    name: libc::c_int,
    bytes: &[u8],
    operation: &'static str,
) -> Result<(), HostError> {
    let length = libc::socklen_t::try_from(bytes.len())
        .map_err(|_| HostError::Unsuitable("a socket option longer than 4 GiB"))?;
    // SAFETY: the descriptor is open while borrowed; pointer and length describe `bytes`, which the call only reads.
    let answer = unsafe { libc::setsockopt(socket.as_raw_fd(), level, name, bytes.as_ptr().cast(), length) };
    if answer == 0 { Ok(()) } else { Err(HostError::last(operation)) }
}

/// Reads an option of `N` integers; shorter answers leave zeros.
pub(crate) fn option<const N: usize>(
    socket: BorrowedFd<'_>,
    level: libc::c_int,
    name: libc::c_int,
    operation: &'static str,
) -> Result<[u32; N], HostError> {
    let mut value = [0_u32; N];
    let mut length = socklen_of::<[u32; N]>();
    // SAFETY: the descriptor is open while borrowed; the call writes at most `length` octets, the size of `value`,
    // for which every pattern of bits is valid.
    let answer = unsafe {
        libc::getsockopt(socket.as_raw_fd(), level, name, value.as_mut_ptr().cast(), &raw mut length)
    };
    if answer == 0 { Ok(value) } else { Err(HostError::last(operation)) }
}

//! Stamping sockets without romer's own, to see what the kernel does by itself.

use std::io;
use std::net::{SocketAddr, UdpSocket};
use std::os::fd::AsRawFd;

const SCM_TS_OPT_ID: libc::c_int = 81;
const STAMPS: libc::c_uint =
    libc::SOF_TIMESTAMPING_TX_SOFTWARE | libc::SOF_TIMESTAMPING_SOFTWARE | libc::SOF_TIMESTAMPING_OPT_TSONLY;

pub(crate) fn set(
    socket: &impl AsRawFd,
    level: libc::c_int,
    name: libc::c_int,
    value: &[u8],
) -> io::Result<()> {
    let length = libc::socklen_t::try_from(value.len()).unwrap();
    // SAFETY: pointer and length describe `value`, which the call only reads.
    let answer = unsafe { libc::setsockopt(socket.as_raw_fd(), level, name, value.as_ptr().cast(), length) };
    if answer == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}

/// Asks for transmit stamps, with or without the numbers that tell them apart.
pub(crate) fn ask_for_stamps(socket: &UdpSocket, numbered: bool) {
    let flags = STAMPS | if numbered { libc::SOF_TIMESTAMPING_OPT_ID } else { 0 };
    set(socket, libc::SOL_SOCKET, libc::SO_TIMESTAMPING_NEW, &flags.to_ne_bytes()).unwrap();
}

/// A UDP socket on loopback with numbered transmit stamps.
pub(crate) fn stamping_socket() -> UdpSocket {
    let socket = UdpSocket::bind("127.0.0.1:0").unwrap();
    ask_for_stamps(&socket, true);
    socket
}

/// Sends with an id of our own.
pub(crate) fn send_with_id(socket: &UdpSocket, to: SocketAddr, id: u32) -> io::Result<()> {
    send_with(socket, to, libc::SOL_SOCKET, SCM_TS_OPT_ID, &id.to_ne_bytes())
}

/// Sends one octet to an IPv4 address with one control message of up to eight octets.
pub(crate) fn send_with(
    socket: &UdpSocket,
    to: SocketAddr,
    level: libc::c_int,
    kind: libc::c_int,
    data: &[u8],
) -> io::Result<()> {
    let SocketAddr::V4(to) = to else { panic!("an IPv4 address is wanted") };
    let mut name = libc::sockaddr_in {
        sin_family: libc::sa_family_t::try_from(libc::AF_INET).unwrap(),
        sin_port: to.port().to_be(),
        sin_addr: libc::in_addr { s_addr: u32::from_ne_bytes(to.ip().octets()) },
        sin_zero: [0; 8],
    };
    let mut control = [0_u8; 24];
    control[..8].copy_from_slice(&(16 + data.len()).to_ne_bytes());
    control[8..12].copy_from_slice(&level.to_ne_bytes());
    control[12..16].copy_from_slice(&kind.to_ne_bytes());
    control[16..16 + data.len()].copy_from_slice(data);
    let mut payload = [b'x'];
    let mut vector = libc::iovec { iov_base: payload.as_mut_ptr().cast(), iov_len: 1 };
    // SAFETY: a msghdr is pointers and integers, for which zero is valid.
    let mut header: libc::msghdr = unsafe { std::mem::zeroed() };
    header.msg_name = (&raw mut name).cast();
    header.msg_namelen = 16;
    header.msg_iov = &raw mut vector;
    header.msg_iovlen = 1;
    header.msg_control = control.as_mut_ptr().cast();
    header.msg_controllen = 24;
    // SAFETY: `header` points to locals that outlive the call; a send only reads them.
    let answer = unsafe { libc::sendmsg(socket.as_raw_fd(), &raw const header, 0) };
    if answer >= 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}

/// The number that came with the next transmit stamp; `None` where none waits. Loopback transmits within the send
/// call, so that after a send its stamp is there.
pub(crate) fn next_number(socket: &UdpSocket) -> Option<u32> {
    loop {
        let mut control = [0_u8; 256];
        // SAFETY: a msghdr is pointers and integers, for which zero is valid.
        let mut header: libc::msghdr = unsafe { std::mem::zeroed() };
        header.msg_control = control.as_mut_ptr().cast();
        header.msg_controllen = 256;
        let flags = libc::MSG_ERRQUEUE | libc::MSG_DONTWAIT;
        // SAFETY: `header` points to `control`, which outlives the call and is exclusively ours.
        if unsafe { libc::recvmsg(socket.as_raw_fd(), &raw mut header, flags) } < 0 {
            return None;
        }
        let number = find_number(&control[..header.msg_controllen]);
        if number.is_some() {
            return number;
        }
    }
}

/// `ee_data` of a stamp's `sock_extended_err`; `None` for an ICMP error.
fn find_number(mut control: &[u8]) -> Option<u32> {
    while control.len() >= 16 {
        let length = usize::from_ne_bytes(control[..8].try_into().unwrap());
        let level = libc::c_int::from_ne_bytes(control[8..12].try_into().unwrap());
        let kind = libc::c_int::from_ne_bytes(control[12..16].try_into().unwrap());
        let data = &control[16..length];
        if (level, kind) == (libc::IPPROTO_IP, libc::IP_RECVERR) && data[4] == libc::SO_EE_ORIGIN_TIMESTAMPING
        {
            return Some(u32::from_ne_bytes(data[12..16].try_into().unwrap()));
        }
        control = control.get(length.next_multiple_of(8)..).unwrap_or_default();
    }
    None
}

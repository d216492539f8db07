//! A copy of the IP packets that arrive and have one of several marks, before the kernel checks and delivers them.
//!
//! The kernel drops a packet with a wrong checksum before any UDP socket sees it. A packet socket (`packet(7)`) has it as it
//! arrived. It needs the capability `CAP_NET_RAW`. Nothing is sent by it, so that the kernel's own ARP and neighbour discovery
//! stay in use.

use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};

use super::control::{CONTROL_LEN, message, messages};
use crate::HostError;
use crate::sys::{open_socket, set_option, socklen_of};

/// A word of a packet by which it is recognised.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Mark {
    /// Octets before the word, from the beginning of the IP header.
    pub offset: u32,
    /// The big-endian word.
    pub word: u32,
}

/// A packet that a [`PacketTap`] received.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TappedPacket<'a> {
    /// The packet from its IP header on, cut to the length of the buffer.
    pub octets: &'a [u8],
    /// The transport checksum is not computed yet: the packet comes from this machine, whose network card would have done it.
    pub is_checksum_unfinished: bool,
}

/// Receives copies of the packets of one IP version that arrive by any interface of the network namespace and have a mark.
#[derive(Debug)]
pub struct PacketTap {
    socket: OwnedFd,
}

impl PacketTap {
    /// Copies of packets with at least one of `marks`, at most 100, of IPv6 or of IPv4. A packet that ends before the first mark
    /// that is looked up is not received.
    ///
    /// # Errors
    /// The capability `CAP_NET_RAW` is missing ([`HostError::is_permission`]), or the system has no descriptor left.
    pub fn open(is_ipv6: bool, marks: &[Mark]) -> Result<Self, HostError> {
        let kind = libc::SOCK_DGRAM | libc::SOCK_CLOEXEC | libc::SOCK_NONBLOCK;
        // Without a protocol nothing comes until the filter is in place.
        let socket = open_socket(libc::AF_PACKET, kind, "open a packet socket")?;
        attach(socket.as_fd(), marks)?;
        let operation = "receive checksum states by";
        set_option(socket.as_fd(), libc::SOL_PACKET, PACKET_AUXDATA, 1, operation)?;
        // Damaged packets are few, and undamaged ones of fast streams are many.
        set_option(socket.as_fd(), libc::SOL_SOCKET, libc::SO_RCVBUF, RECEIVE_BUFFER, "set the buffer of")?;
        bind(socket.as_fd(), if is_ipv6 { libc::ETH_P_IPV6 } else { libc::ETH_P_IP })?;
        Ok(Self { socket })
    }

    /// Receives a packet into `buffer`; `None` if there is none now.
    ///
    /// # Errors
    /// The kernel reports an error of an interface.
    pub fn receive<'b>(&self, buffer: &'b mut [u8]) -> Result<Option<TappedPacket<'b>>, HostError> {
        let mut control = [0_u8; CONTROL_LEN];
        let mut vector = libc::iovec { iov_base: buffer.as_mut_ptr().cast(), iov_len: buffer.len() };
        let mut header = message(&mut [], Some(&mut vector), &[]);
        header.msg_control = control.as_mut_ptr().cast();
        header.msg_controllen = control.len();
        // SAFETY: the descriptor is open; `header` points to `vector`, `buffer` and `control`, which outlive the call, and to no
        // name.
        let answer = unsafe { libc::recvmsg(self.socket.as_raw_fd(), &raw mut header, libc::MSG_DONTWAIT) };
        let Ok(length) = usize::try_from(answer) else {
            let error = HostError::last("receive by a packet socket");
            let is_none = [libc::EAGAIN, libc::EINTR].map(Some).contains(&error.errno());
            return if is_none { Ok(None) } else { Err(error) };
        };
        let states = control.get(..header.msg_controllen).unwrap_or_default();
        // The state is the first word of a `tpacket_auxdata`.
        let state = messages(states)
            .find(|state| state.kind == PACKET_AUXDATA && state.level == libc::SOL_PACKET)
            .and_then(|state| state.integer());
        let is_checksum_unfinished = state.is_some_and(|state| state & CHECKSUM_NOT_READY != 0);
        Ok(buffer.get(..length).map(|octets| TappedPacket { octets, is_checksum_unfinished }))
    }
}

impl AsFd for PacketTap {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }
}

/// Octets of packets that may wait, as asked of the kernel.
const RECEIVE_BUFFER: libc::c_int = 4 << 20;
/// `PACKET_AUXDATA` of `linux/if_packet.h`.
const PACKET_AUXDATA: libc::c_int = 8;
/// `TP_STATUS_CSUMNOTREADY` of `linux/if_packet.h`.
const CHECKSUM_NOT_READY: i32 = 1 << 3;
/// Codes of the classic filter's instructions (`linux/filter.h`): `BPF_LD | BPF_W | BPF_ABS`.
const LOAD_WORD: u16 = 0x20;
/// `BPF_JMP | BPF_JEQ | BPF_K`.
const JUMP_IF_EQUAL: u16 = 0x15;
/// `BPF_RET | BPF_K`: so many octets of the packet are received.
const RETURN: u16 = 0x06;
/// Most marks of a filter, whose jumps have eight bits.
const MOST_MARKS: usize = 100;

/// Has `socket` receive what has one of `marks`. The program loads each word and accepts if it is right.
fn attach(socket: BorrowedFd<'_>, marks: &[Mark]) -> Result<(), HostError> {
    if marks.len() > MOST_MARKS {
        return Err(HostError::Unsuitable("a filter has 100 marks at most"));
    }
    let one = |code: u16, k: u32, jt: u8| libc::sock_filter { code, jt, jf: 0, k };
    let mut program = Vec::with_capacity(2 * marks.len() + 2);
    for (place, mark) in marks.iter().enumerate() {
        // Over the loads and comparisons that are left, and over the refusal.
        let over = 2 * (marks.len() - place - 1) + 1;
        program.push(one(LOAD_WORD, mark.offset, 0));
        program.push(one(JUMP_IF_EQUAL, mark.word, u8::try_from(over).unwrap_or(u8::MAX)));
    }
    program.extend([one(RETURN, 0, 0), one(RETURN, u32::MAX, 0)]);
    let length = u16::try_from(program.len()).unwrap_or(0);
    let filter = libc::sock_fprog { len: length, filter: program.as_mut_ptr() };
    let octets = socklen_of::<libc::sock_fprog>();
    // SAFETY: the descriptor is open while borrowed; pointer and length describe `filter`, which points to `program`; both outlive
    // the call, which only reads them.
    let answer = unsafe {
        libc::setsockopt(
            socket.as_raw_fd(),
            libc::SOL_SOCKET,
            libc::SO_ATTACH_FILTER,
            (&raw const filter).cast(),
            octets,
        )
    };
    if answer == 0 { Ok(()) } else { Err(HostError::last("attach a filter to a packet socket")) }
}

fn bind(socket: BorrowedFd<'_>, protocol: libc::c_int) -> Result<(), HostError> {
    // SAFETY: the address is integers, for which zero is valid.
    let mut address: libc::sockaddr_ll = unsafe { std::mem::zeroed() };
    address.sll_family = libc::sa_family_t::try_from(libc::AF_PACKET).unwrap_or(0);
    address.sll_protocol = u16::try_from(protocol).unwrap_or(0).to_be();
    let length = socklen_of::<libc::sockaddr_ll>();
    // SAFETY: pointer and length describe `address`, which the call only reads.
    let answer = unsafe { libc::bind(socket.as_raw_fd(), (&raw const address).cast(), length) };
    if answer == 0 { Ok(()) } else { Err(HostError::last("bind a packet socket")) }
}

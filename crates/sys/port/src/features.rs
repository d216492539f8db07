//! What an interface's driver does to frames, read whole, switched off where it falsifies them, and put back bit by
//! bit (`include/uapi/linux/ethtool.h`).

use std::os::fd::{AsRawFd, BorrowedFd, RawFd};

use romer_host::HostError;
pub(crate) use romer_host::ethtool::name_of;

use crate::sys;

const GET_FEATURES: u32 = 0x3a;
const SET_FEATURES: u32 = 0x3b;
const GET_FLAGS: u32 = 0x25;
const GET_LINK: u32 = 0x0a;
/// Joining of received packets by the card, and the cutting out and putting in of VLAN tags, with the names that ethtool has for them.
const FLAGS_OFF: [(u32, &str); 3] = [(FLAG_LRO, "lro"), (1 << 7, "txvlan"), (1 << 8, "rxvlan")];
/// Joining by the card.
const FLAG_LRO: u32 = 1 << 15;
/// The commands that read what is to be off, in an order in which each can be; the next number sets it. With the name that ethtool has for it.
const OFF: [(u32, &str, &str); 4] = [
    (0x1e, "TCP segmentation", "tso"),
    (0x23, "generic segmentation", "gso"),
    (0x2b, "generic receive offload", "gro"),
    (0x16, "transmit checksumming", "tx"),
];
/// Words of 32 features that are read; the kernel of today has two.
const WORDS: usize = 4;

/// Features as the driver reports them: `struct ethtool_gfeatures` with its blocks of available, requested, active
/// and never changed.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Features {
    command: u32,
    size: u32,
    blocks: [[u32; 4]; WORDS],
}

/// `struct ethtool_sfeatures` with its blocks of valid and requested, ready to be sent by one call.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub(crate) struct Restore {
    command: u32,
    size: u32,
    blocks: [[u32; 2]; WORDS],
}

/// `struct ethtool_value`.
#[repr(C)]
struct EthtoolValue {
    command: u32,
    data: u32,
}

impl Features {
    /// All features of `interface`.
    pub(crate) fn read(socket: BorrowedFd<'_>, interface: &str) -> Result<Self, HostError> {
        let mut features =
            Self { command: GET_FEATURES, size: u32::try_from(WORDS).unwrap_or(0), blocks: [[0; 4]; WORDS] };
        ask(socket.as_raw_fd(), &name_of(interface), &mut features)
            .map_err(|()| failed(interface))
            .map(|()| features)
    }

    /// What brings them all back.
    pub(crate) fn restore(&self) -> Restore {
        let blocks = self.blocks.map(|[available, requested, _, never]| {
            let valid = available & !never;
            [valid, requested & valid]
        });
        Restore { command: SET_FEATURES, size: self.size, blocks }
    }
}

impl Restore {
    /// Puts the features of the interface back, by the name that it has in the namespace of the socket. Makes one system call
    /// and nothing else.
    pub(crate) fn apply(&mut self, socket: RawFd, name: &libc::ifreq) -> Result<(), ()> {
        ask(socket, name, self)
    }
}

/// What [`switch_off`] did.
#[derive(Debug, Default)]
pub(crate) struct SwitchedOff {
    /// What was on and is off, by the names that ethtool has for it.
    pub(crate) names: Vec<&'static str>,
    /// What could not be switched off and matters.
    pub(crate) left: Option<&'static str>,
}

/// Switches off what would make a frame of the interface other than that of the wire.
pub(crate) fn switch_off(socket: BorrowedFd<'_>, interface: &str) -> Result<SwitchedOff, HostError> {
    let (descriptor, name) = (socket.as_raw_fd(), name_of(interface));
    let mut done = SwitchedOff::default();
    for (command, what, short) in OFF {
        if read(descriptor, &name, command).is_some_and(|data| data != 0) {
            set(descriptor, &name, command, 0, interface)?;
            if read(descriptor, &name, command).is_none_or(|data| data == 0) {
                done.names.push(short);
            } else if command != 0x16 {
                // Checksums that a driver goes on to finish do no harm: what we send is whole.
                done.left = Some(what);
            }
        }
    }
    if let Some(flags) = read(descriptor, &name, GET_FLAGS) {
        let off = FLAGS_OFF.iter().fold(0, |all, (flag, _)| all | flag);
        if flags & off != 0 {
            set(descriptor, &name, GET_FLAGS, flags & !off, interface)?;
        }
        let now = read(descriptor, &name, GET_FLAGS).unwrap_or(0);
        done.names.extend(
            FLAGS_OFF
                .iter()
                .filter(|(flag, _)| flags & flag != 0 && now & flag == 0)
                .map(|(_, short)| *short),
        );
        if now & FLAG_LRO != 0 {
            done.left = Some("large receive offload");
        }
    }
    Ok(done)
}

/// Whether the interface is switched on and its carrier is there, at this moment; `None` where its driver does not tell.
pub(crate) fn carrier(socket: BorrowedFd<'_>, name: &libc::ifreq) -> Option<bool> {
    read(socket.as_raw_fd(), name, GET_LINK).map(|data| data != 0)
}

fn read(socket: RawFd, name: &libc::ifreq, command: u32) -> Option<u32> {
    let mut value = EthtoolValue { command, data: 0 };
    ask(socket, name, &mut value).ok().map(|()| value.data)
}

/// Sets what `command` reads; what the driver holds fast stays, which a second reading shows.
fn set(socket: RawFd, name: &libc::ifreq, command: u32, data: u32, interface: &str) -> Result<(), HostError> {
    let answer = ask(socket, name, &mut EthtoolValue { command: command + 1, data });
    match answer.map_err(|()| failed(interface)) {
        Err(error) if matches!(error.errno(), Some(libc::EOPNOTSUPP | libc::EINVAL)) => Ok(()),
        answer => answer,
    }
}

fn failed(interface: &str) -> HostError {
    match sys::last("set the offloads of", interface) {
        error if error.errno() == Some(libc::ENODEV) => {
            HostError::Missing { what: "interface", name: interface.into() }
        }
        error => error,
    }
}

/// How many receive queues the interface has; one where it does not say.
pub(crate) fn queues(socket: BorrowedFd<'_>, interface: &str) -> u32 {
    const GET_CHANNELS: u32 = 0x3c;
    /// `struct ethtool_channels`: the command, four largest counts, and the counts of receive, transmit, other and
    /// combined ones.
    const RECEIVE: usize = 5;
    const COMBINED: usize = 8;
    let mut channels = [0_u32; 9];
    channels[0] = GET_CHANNELS;
    match ask(socket.as_raw_fd(), &name_of(interface), &mut channels) {
        Ok(()) => (channels[RECEIVE] + channels[COMBINED]).max(1),
        Err(()) => 1,
    }
}

/// One `SIOCETHTOOL`. `T` is a structure of the kernel's that begins with its command; the call writes no more than
/// the size that stands in it. Neither allocates nor locks.
fn ask<T>(socket: RawFd, name: &libc::ifreq, data: &mut T) -> Result<(), ()> {
    let mut request = *name;
    request.ifr_ifru.ifru_data = std::ptr::from_mut(data).cast();
    // SAFETY: `request` outlives the call and points to `data`, which is laid out as the command in it says and is
    // exclusively ours. A descriptor that is not open gives an error.
    let answer = unsafe { libc::ioctl(socket, libc::SIOCETHTOOL, &raw mut request) };
    if answer >= 0 { Ok(()) } else { Err(()) }
}

//! What an interface's driver does on its own: the ethtool requests that romer needs
//! (`include/uapi/linux/ethtool.h`).

use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd, RawFd};

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
struct EthtoolValue {
    command: u32,
    data: u32,
}

/// `ETHTOOL_GDRVINFO` and its `struct ethtool_drvinfo`: the driver's name is its first text.
const GET_DRIVER: u32 = 3;
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub(crate) struct DriverInfo {
    command: u32,
    driver: [u8; 32],
    versions: [u8; 64],
    bus: [u8; 32],
    rest: [u8; 64],
}

impl DriverInfo {
    const EMPTY: Self =
        Self { command: GET_DRIVER, driver: [0; 32], versions: [0; 64], bus: [0; 32], rest: [0; 64] };

    /// What the driver of an interface says of itself; nothing, where it does not. Makes one system call.
    pub(crate) fn read(socket: RawFd, name: &libc::ifreq) -> Self {
        let mut info = Self::EMPTY;
        let mut request = *name;
        request.ifr_ifru.ifru_data = (&raw mut info).cast();
        // SAFETY: `request` outlives the call and points to `info`, which is laid out as its command says.
        unsafe { libc::ioctl(socket, libc::SIOCETHTOOL, &raw mut request) };
        info
    }

    /// Whether driver and place on the bus are the same.
    pub(crate) fn is_same(&self, other: &Self) -> bool {
        self.driver == other.driver && self.bus == other.bus
    }
}

/// `ETHTOOL_GCOALESCE` and its `struct ethtool_coalesce`: the command and 22 figures.
const GET_COALESCE: u32 = 0x0e;
/// Places of the figures that are read.
const RECEIVE_WAIT: usize = 1;
const TRANSMIT_WAIT: usize = 5;
const ADAPTIVE_RECEIVE: usize = 10;

/// How long a driver lets packets gather before it interrupts a processor.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Coalescing {
    /// After the first received packet, in microseconds.
    pub receive_us: u32,
    /// After the first sent packet, in microseconds.
    pub transmit_us: u32,
    /// The driver changes the first by itself.
    pub adaptive: bool,
}

/// `ETHTOOL_GET_TS_INFO` and its `struct ethtool_ts_info`.
const GET_STAMPING: u32 = 0x41;
#[repr(C)]
struct StampingInfo {
    command: u32,
    kinds: u32,
    clock: i32,
    transmit: u32,
    transmit_reserved: [u32; 3],
    receive: u32,
    receive_reserved: [u32; 3],
}
/// `HWTSTAMP_TX_ON` and `HWTSTAMP_FILTER_ALL` as bits of the driver's answer.
const TRANSMIT_ON: u32 = 1 << 1;
const RECEIVE_ALL: u32 = 1 << 1;
/// `HWTSTAMP_FILTER_NONE`: what is left are packets of protocols that keep clocks.
const RECEIVE_NONE: u32 = 1;

/// What a driver says of its stamps.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Stamping {
    /// It stamps every departure with the network card's clock.
    pub hardware_departures: bool,
    /// It stamps every arrival with the network card's clock.
    pub hardware_arrivals: bool,
    /// It stamps the arrivals of some packets with it, those of a protocol that keeps clocks: of no use for others.
    pub hardware_some_arrivals: bool,
    /// It lets the kernel stamp departures at the driver.
    pub software_departures: bool,
    /// Number of the card's clock, `N` of `/dev/ptpN`.
    pub clock: Option<u32>,
}

/// Reads how a driver coalesces; `None` where it does not say.
pub(crate) fn coalescing(socket: BorrowedFd<'_>, interface: &str) -> Result<Option<Coalescing>, HostError> {
    let mut figures = [0_u32; 23];
    figures[0] = GET_COALESCE;
    match request(socket, interface, &mut figures) {
        Ok(()) => Ok(Some(Coalescing {
            receive_us: figures[RECEIVE_WAIT],
            transmit_us: figures[TRANSMIT_WAIT],
            adaptive: figures[ADAPTIVE_RECEIVE] != 0,
        })),
        Err(error) if error.errno() == Some(libc::EOPNOTSUPP) => Ok(None),
        Err(error) => Err(error),
    }
}

/// Reads what a driver says of its stamps.
pub(crate) fn stamping(socket: BorrowedFd<'_>, interface: &str) -> Result<Stamping, HostError> {
    let mut info = StampingInfo {
        command: GET_STAMPING,
        kinds: 0,
        clock: -1,
        transmit: 0,
        transmit_reserved: [0; 3],
        receive: 0,
        receive_reserved: [0; 3],
    };
    match request(socket, interface, &mut info) {
        Ok(()) => Ok(read_stamping(&info)),
        Err(error) if error.errno() == Some(libc::EOPNOTSUPP) => Ok(Stamping::default()),
        Err(error) => Err(error),
    }
}

fn read_stamping(info: &StampingInfo) -> Stamping {
    let has = |kind: libc::c_uint| info.kinds & kind != 0;
    let raw = has(libc::SOF_TIMESTAMPING_RAW_HARDWARE);
    Stamping {
        hardware_departures: raw
            && has(libc::SOF_TIMESTAMPING_TX_HARDWARE)
            && info.transmit & TRANSMIT_ON != 0,
        hardware_arrivals: raw && has(libc::SOF_TIMESTAMPING_RX_HARDWARE) && info.receive & RECEIVE_ALL != 0,
        hardware_some_arrivals: raw
            && has(libc::SOF_TIMESTAMPING_RX_HARDWARE)
            && info.receive & !RECEIVE_NONE != 0,
        software_departures: has(libc::SOF_TIMESTAMPING_TX_SOFTWARE),
        clock: u32::try_from(info.clock).ok(),
    }
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
    let mut value = EthtoolValue { command: offload.read_command() + 1, data: u32::from(on) };
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
    let mut value = EthtoolValue { command: offload.read_command(), data: 0 };
    match request(socket, interface, &mut value) {
        Ok(()) => Ok(Some(value.data != 0)),
        Err(error) if error.errno() == Some(libc::EOPNOTSUPP) => Ok(None),
        Err(error) => Err(error),
    }
}

/// The driver's name.
pub(crate) fn driver(socket: BorrowedFd<'_>, interface: &str) -> Result<Option<String>, HostError> {
    let mut info = DriverInfo::EMPTY;
    match request(socket, interface, &mut info) {
        Ok(()) => {}
        Err(error) if error.errno() == Some(libc::EOPNOTSUPP) => return Ok(None),
        Err(error) => return Err(error),
    }
    let name: Vec<u8> = info.driver.into_iter().take_while(|octet| *octet != 0).collect();
    Ok(String::from_utf8(name).ok().filter(|name| !name.is_empty()))
}

/// A request about `interface`, of which the rest is zero.
pub fn name_of(interface: &str) -> libc::ifreq {
    // SAFETY: an ifreq is a name and a union of integers and pointers, for which zero is valid.
    let mut request: libc::ifreq = unsafe { std::mem::zeroed() };
    let room = request.ifr_name.len() - 1;
    for (slot, octet) in request.ifr_name.iter_mut().zip(interface.bytes()).take(room) {
        *slot = octet.cast_signed();
    }
    request
}

/// One `SIOCETHTOOL`. `T` is a structure of the kernel's that begins with its command.
fn request<T>(socket: BorrowedFd<'_>, interface: &str, data: &mut T) -> Result<(), HostError> {
    let mut request = name_of(interface);
    request.ifr_ifru.ifru_data = std::ptr::from_mut(data).cast();
    // SAFETY: the socket is open while borrowed; `request` outlives the call and points to `data`, which is laid
    // out as the command in it says and is exclusively ours.
    let answer = unsafe { libc::ioctl(socket.as_fd().as_raw_fd(), libc::SIOCETHTOOL, &raw mut request) };
    if answer >= 0 {
        return Ok(());
    }
    let error = HostError::last_on("query the driver of", interface);
    if error.errno() == Some(libc::ENODEV) {
        return Err(HostError::Missing { what: "interface", name: interface.into() });
    }
    Err(error)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Whether the card stamps all packets, with a clock that can be read.
    const fn is_by_hardware(stamping: &Stamping) -> bool {
        stamping.hardware_departures && stamping.hardware_arrivals && stamping.clock.is_some()
    }

    #[test]
    fn a_driver_without_a_clock_stamps_in_software_only() {
        let socket = control_socket().unwrap();
        let stamping = stamping(socket.as_fd(), "lo").unwrap();
        assert!(!is_by_hardware(&stamping) && stamping.clock.is_none(), "{stamping:?}");
        assert!(stamping.software_departures);
        assert_eq!(coalescing(socket.as_fd(), "lo").unwrap(), None);
    }

    #[test]
    fn stamps_by_hardware_need_both_directions_and_a_clock() {
        let all = libc::SOF_TIMESTAMPING_RAW_HARDWARE
            | libc::SOF_TIMESTAMPING_TX_HARDWARE
            | libc::SOF_TIMESTAMPING_RX_HARDWARE;
        let info = |kinds, clock, transmit, receive| {
            read_stamping(&StampingInfo {
                command: GET_STAMPING,
                kinds,
                clock,
                transmit,
                transmit_reserved: [0; 3],
                receive,
                receive_reserved: [0; 3],
            })
        };
        assert!(is_by_hardware(&info(all, 0, 0b11, 0b11)));
        for (kinds, clock, transmit, receive) in [
            (all, -1, 0b11, 0b11),
            (all, 0, 0b01, 0b11),
            (all, 0, 0b11, 0b01),
            // Only PTP's own packets.
            (all, 0, 0b11, 1 << 12),
            (all & !libc::SOF_TIMESTAMPING_RAW_HARDWARE, 0, 0b11, 0b11),
        ] {
            assert!(!is_by_hardware(&info(kinds, clock, transmit, receive)));
        }
    }

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

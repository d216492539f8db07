//! Maps, programs and links. Each ends with its descriptor, so that a killed process leaves nothing in the kernel.

use std::io;
use std::net::IpAddr;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, FromRawFd, OwnedFd};

use romer_host::HostError;

const MAP_CREATE: libc::c_int = 0;
const MAP_LOOKUP: libc::c_int = 1;
const MAP_UPDATE: libc::c_int = 2;
const MAP_DELETE: libc::c_int = 3;
const PROGRAM_LOAD: libc::c_int = 5;
const LINK_CREATE: libc::c_int = 28;
/// `BPF_PROG_TYPE_XDP`, `BPF_XDP`.
const XDP_PROGRAM: u32 = 6;
const XDP_ATTACHMENT: u32 = 37;
/// `BPF_PROG_TYPE_SCHED_CLS`.
const CLASSIFIER: u32 = 3;
/// `XDP_FLAGS_SKB_MODE` and `XDP_FLAGS_DRV_MODE`.
const GENERIC: u32 = 1 << 1;
const NATIVE: u32 = 1 << 2;
/// The longest set of arguments used here, and what the kernel takes as zeros beyond.
const ARGUMENTS: usize = 72;

/// Where a program has the frames that an interface receives.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum XdpMode {
    /// In the driver, before the kernel has made packets of them.
    Native,
    /// Right behind the driver, for drivers without that.
    Generic,
}

impl XdpMode {
    /// Both, the better first.
    pub const ALL: [Self; 2] = [Self::Native, Self::Generic];

    const fn flag(self) -> u32 {
        match self {
            Self::Native => NATIVE,
            Self::Generic => GENERIC,
        }
    }

    /// How it is named to users.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Native => "xdp-native",
            Self::Generic => "xdp-generic",
        }
    }
}

/// Where a classifier has the packets of an interface (`BPF_TCX_INGRESS` and `BPF_TCX_EGRESS`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TcxHook {
    /// Those that arrive, before the network stack.
    Ingress = 46,
    /// Those that leave, before the queueing discipline.
    Egress = 47,
}

impl TcxHook {
    /// Both.
    pub const ALL: [Self; 2] = [Self::Ingress, Self::Egress];
}

/// What a map is (`enum bpf_map_type`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MapKind {
    /// Values by any key.
    Hash = 1,
    /// Values by their number.
    Array = 2,
    /// Values by the longest prefix of a key.
    PrefixTree = 11,
    /// XDP sockets by their number.
    Sockets = 17,
}

/// A map: memory that programs and this process share.
#[derive(Debug)]
pub struct Map {
    descriptor: OwnedFd,
    key: usize,
    value: usize,
}

impl Map {
    /// A map of at most `entries` values of `value` octets, with keys of `key` octets.
    ///
    /// # Errors
    /// The machine's own rights are missing (`EPERM`), or memory.
    pub fn create(kind: MapKind, key: usize, value: usize, entries: u32) -> Result<Self, HostError> {
        const NO_PREALLOCATION: u32 = 1;
        let octets = |length: usize| u32::try_from(length).unwrap_or(u32::MAX);
        let flags = if kind == MapKind::PrefixTree { NO_PREALLOCATION } else { 0 };
        let numbers = [kind as u32, octets(key), octets(value), entries, flags];
        let descriptor = bpf(MAP_CREATE, &arguments(&numbers), "make a map")?;
        Ok(Self { descriptor, key, value })
    }

    /// Sets the value of `key`.
    ///
    /// # Errors
    /// The map is full (`E2BIG`), or key or value have another length than the map's ([`HostError::Unsuitable`]).
    pub fn set(&self, key: &[u8], value: &[u8]) -> Result<(), HostError> {
        if value.len() != self.value {
            return Err(HostError::Unsuitable("a value of another length than the map's"));
        }
        self.command(MAP_UPDATE, key, value.as_ptr(), "set a value of a map")
    }

    /// Reads the value of `key` into `value`.
    ///
    /// # Errors
    /// There is none (`ENOENT`), or key or value have another length than the map's ([`HostError::Unsuitable`]).
    pub fn get(&self, key: &[u8], value: &mut [u8]) -> Result<(), HostError> {
        if value.len() != self.value {
            return Err(HostError::Unsuitable("a value of another length than the map's"));
        }
        self.command(MAP_LOOKUP, key, value.as_mut_ptr(), "read a value of a map")
    }

    /// Removes `key`.
    ///
    /// # Errors
    /// It is not there (`ENOENT`), or has another length than the map's ([`HostError::Unsuitable`]).
    pub fn remove(&self, key: &[u8]) -> Result<(), HostError> {
        self.command(MAP_DELETE, key, std::ptr::null(), "remove a value of a map")
    }

    fn command(
        &self,
        command: libc::c_int,
        key: &[u8],
        value: *const u8,
        operation: &'static str,
    ) -> Result<(), HostError> {
        if key.len() != self.key {
            return Err(HostError::Unsuitable("a key of another length than the map's"));
        }
        let mut place = arguments(&[number(self.as_fd())]);
        place[8..16].copy_from_slice(&address(key.as_ptr()).to_ne_bytes());
        place[16..24].copy_from_slice(&address(value).to_ne_bytes());
        // SAFETY: the arguments name a map and point to a key and a value of its lengths, which outlive the call.
        let answer = unsafe { call(command, &place) };
        if answer < 0 { Err(last(operation)) } else { Ok(()) }
    }
}

impl AsFd for Map {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.descriptor.as_fd()
    }
}

/// A program that is loaded, and verified by the kernel.
#[derive(Debug)]
pub struct Program(OwnedFd);

impl Program {
    /// Loads an XDP program, for which the machine's own rights are needed, not those of a user namespace.
    ///
    /// # Errors
    /// The rights are missing (`EPERM`), or the kernel does not know an instruction or a function (`EINVAL`).
    pub fn load_xdp(instructions: &[u64]) -> Result<Self, HostError> {
        Self::load(XDP_PROGRAM, instructions)
    }

    /// Loads a classifier of packets, for [`Program::attach_tcx`].
    ///
    /// # Errors
    /// As of [`Program::load_xdp`].
    pub fn load_classifier(instructions: &[u64]) -> Result<Self, HostError> {
        Self::load(CLASSIFIER, instructions)
    }

    fn load(kind: u32, instructions: &[u64]) -> Result<Self, HostError> {
        let licence = c"Dual MIT/GPL";
        let count = u32::try_from(instructions.len()).unwrap_or(0);
        let mut place = arguments(&[kind, count]);
        place[8..16].copy_from_slice(&address(instructions.as_ptr()).to_ne_bytes());
        place[16..24].copy_from_slice(&address(licence.as_ptr()).to_ne_bytes());
        bpf(PROGRAM_LOAD, &place, "load a program").map(Self)
    }

    /// Attaches the program to the interface of this number in the current thread's network namespace.
    ///
    /// # Errors
    /// The driver has no such mode (`EOPNOTSUPP`), or another program is there (`EBUSY`).
    pub fn attach_xdp(&self, interface: u32, mode: XdpMode) -> Result<Link, HostError> {
        let numbers = [number(self.0.as_fd()), interface, XDP_ATTACHMENT, mode.flag()];
        bpf(LINK_CREATE, &arguments(&numbers), "attach a program").map(Link)
    }

    /// Attaches the classifier behind those that the interface of this number has, in the current thread's network namespace.
    ///
    /// # Errors
    /// The kernel is older than Linux 6.6 (`EINVAL`), there is no such interface (`ENODEV`), or 64 programs are there
    /// (`ERANGE`).
    pub fn attach_tcx(&self, interface: u32, hook: TcxHook) -> Result<Link, HostError> {
        let numbers = [number(self.0.as_fd()), interface, hook as u32];
        bpf(LINK_CREATE, &arguments(&numbers), "attach a program").map(Link)
    }
}

/// A program at work on an interface. It ends with this.
#[derive(Debug)]
pub struct Link(#[expect(dead_code, reason = "the descriptor keeps the link")] OwnedFd);

/// The version of IP and the address, with zeros behind one of IPv4.
pub(crate) fn octets(address: IpAddr) -> (u32, [u8; 16]) {
    match address.to_canonical() {
        IpAddr::V4(address) => {
            let mut octets = [0; 16];
            octets[..4].copy_from_slice(&address.octets());
            (4, octets)
        }
        IpAddr::V6(address) => (6, address.octets()),
    }
}

fn address<T>(pointer: *const T) -> u64 {
    u64::try_from(pointer.expose_provenance()).unwrap_or(0)
}

fn number(descriptor: BorrowedFd<'_>) -> u32 {
    descriptor.as_raw_fd().cast_unsigned()
}

/// `union bpf_attr` that begins with these integers.
fn arguments(integers: &[u32]) -> [u8; ARGUMENTS] {
    let mut octets = [0; ARGUMENTS];
    for (place, integer) in octets.chunks_exact_mut(4).zip(integers) {
        place.copy_from_slice(&integer.to_ne_bytes());
    }
    octets
}

fn last(operation: &'static str) -> HostError {
    HostError::System { operation, subject: String::new(), source: io::Error::last_os_error() }
}

/// A call that gives a descriptor.
fn bpf(
    command: libc::c_int,
    arguments: &[u8; ARGUMENTS],
    operation: &'static str,
) -> Result<OwnedFd, HostError> {
    // SAFETY: what the arguments point to is borrowed by our caller until we return.
    let answer = unsafe { call(command, arguments) };
    let descriptor = libc::c_int::try_from(answer).unwrap_or(-1);
    if descriptor < 0 {
        return Err(last(operation));
    }
    // SAFETY: the descriptor was opened just now and nobody else has it.
    Ok(unsafe { OwnedFd::from_raw_fd(descriptor) })
}

/// # Safety
/// What the arguments of `command` point to must be what it takes, and outlive the call.
unsafe fn call(command: libc::c_int, arguments: &[u8; ARGUMENTS]) -> libc::c_long {
    // SAFETY: the kernel reads the arguments; the rest is our caller's to keep.
    unsafe { libc::syscall(libc::SYS_bpf, command, arguments.as_ptr(), arguments.len()) }
}

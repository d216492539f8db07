//! The one program that runs in the kernel: it writes the time of arrival before the frame and hands the frame to the
//! socket of its queue. It is loaded as instructions, and attached by a link that ends with its descriptor, so that a
//! killed process leaves nothing behind.

use std::os::fd::{AsFd, AsRawFd, BorrowedFd, FromRawFd, OwnedFd};

use romer_host::HostError;

use crate::sys;

const MAP_CREATE: libc::c_int = 0;
const MAP_UPDATE: libc::c_int = 2;
const PROGRAM_LOAD: libc::c_int = 5;
const LINK_CREATE: libc::c_int = 28;
/// `BPF_MAP_TYPE_XSKMAP`, `BPF_PROG_TYPE_XDP`, `BPF_XDP`.
const SOCKET_MAP: u32 = 17;
const XDP_PROGRAM: u32 = 6;
const XDP_ATTACHMENT: u32 = 37;
/// `XDP_FLAGS_SKB_MODE` and `XDP_FLAGS_DRV_MODE`.
const GENERIC: u32 = 1 << 1;
const NATIVE: u32 = 1 << 2;
/// Octets of the stamp, which stands right before the frame.
pub(crate) const STAMP: usize = 8;
/// The longest set of arguments used here, and what the kernel takes as zeros beyond.
const ARGUMENTS: usize = 72;

/// Where on its way a frame is taken from the kernel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum XdpMode {
    /// In the driver, before the kernel has made anything of it.
    Native,
    /// Right behind the driver, for those that have no such place.
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

/// A program at work on an interface. It ends with this.
#[derive(Debug)]
pub(crate) struct Attached {
    _link: OwnedFd,
}

/// A program that is loaded, with its map, and not yet at work.
#[derive(Debug)]
pub(crate) struct Loaded {
    map: OwnedFd,
    program: OwnedFd,
}

impl Loaded {
    /// Loads the program, for which the machine's own rights are needed, not those of a user namespace.
    pub(crate) fn load() -> Result<Self, HostError> {
        let map = socket_map()?;
        let program = load(&instructions(map.as_fd()))?;
        Ok(Self { map, program })
    }

    /// Attaches to the interface of the current thread's namespace; frames of queue 0 go to `socket`.
    pub(crate) fn attach(
        &self,
        index: u32,
        mode: XdpMode,
        socket: BorrowedFd<'_>,
    ) -> Result<Attached, HostError> {
        put(self.map.as_fd(), 0, socket)?;
        let numbers = [number(self.program.as_fd()), index, XDP_ATTACHMENT, mode.flag()];
        let link = bpf(LINK_CREATE, &arguments(&numbers), "attach a program")?;
        Ok(Attached { _link: link })
    }
}

/// A map of one socket.
fn socket_map() -> Result<OwnedFd, HostError> {
    let [kind, key, value, entries] = [SOCKET_MAP, 4, 4, 1];
    bpf(MAP_CREATE, &arguments(&[kind, key, value, entries]), "make a map")
}

fn put(map: BorrowedFd<'_>, key: u32, socket: BorrowedFd<'_>) -> Result<(), HostError> {
    let value = number(socket);
    let mut place = arguments(&[number(map), 0]);
    place[8..16].copy_from_slice(&address(&raw const key).to_ne_bytes());
    place[16..24].copy_from_slice(&address(&raw const value).to_ne_bytes());
    // SAFETY: the arguments name a map and point to a key and a value of its lengths, which outlive the call.
    let answer = unsafe { call(MAP_UPDATE, &place) };
    if answer < 0 { Err(sys::last("put a socket into a map", "")) } else { Ok(()) }
}

fn load(program: &[u64]) -> Result<OwnedFd, HostError> {
    let licence = c"Dual MIT/GPL";
    let count = u32::try_from(program.len()).unwrap_or(0);
    let mut place = arguments(&[XDP_PROGRAM, count]);
    place[8..16].copy_from_slice(&address(program.as_ptr()).to_ne_bytes());
    place[16..24].copy_from_slice(&address(licence.as_ptr()).to_ne_bytes());
    bpf(PROGRAM_LOAD, &place, "load a program")
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
        return Err(sys::last(operation, ""));
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

/// One instruction: operation, registers, offset, constant.
const fn instruction(operation: u8, to: u8, from: u8, offset: i16, constant: i32) -> u64 {
    operation as u64
        | ((to | from << 4) as u64) << 8
        | (offset.cast_unsigned() as u64) << 16
        | (constant.cast_unsigned() as u64) << 32
}

/// The program, for the map at this descriptor:
///
/// ```text
/// if adjust_meta(ctx, -8) == 0 {
///     now = ktime_get_ns()                     // the monotonic clock
///     if ctx.data_meta + 8 <= ctx.data { *ctx.data_meta = now }
/// }
/// return redirect_map(map, ctx.rx_queue_index, XDP_PASS)   // to the stack where no socket is
/// ```
fn instructions(map: BorrowedFd<'_>) -> [u64; 18] {
    const MOVE_CONSTANT: u8 = 0xb7;
    const MOVE: u8 = 0xbf;
    const ADD_CONSTANT: u8 = 0x07;
    const CALL: u8 = 0x85;
    const EXIT: u8 = 0x95;
    const JUMP_NOT_EQUAL: u8 = 0x55;
    const JUMP_GREATER: u8 = 0x2d;
    const LOAD_WORD: u8 = 0x61;
    const STORE_DOUBLE: u8 = 0x7b;
    const LOAD_MAP: u8 = 0x18;
    const THIS_IS_A_MAP: u8 = 1;
    const DATA: i16 = 0;
    const META: i16 = 8;
    const QUEUE: i16 = 16;
    const ADJUST_META: i32 = 54;
    const TIME: i32 = 5;
    const REDIRECT_MAP: i32 = 51;
    const PASS: i32 = 2;
    let map = map.as_raw_fd();
    [
        instruction(MOVE, 6, 1, 0, 0),
        instruction(MOVE_CONSTANT, 2, 0, 0, -8),
        instruction(CALL, 0, 0, 0, ADJUST_META),
        instruction(JUMP_NOT_EQUAL, 0, 0, 8, 0),
        instruction(CALL, 0, 0, 0, TIME),
        instruction(MOVE, 7, 0, 0, 0),
        instruction(LOAD_WORD, 2, 6, DATA, 0),
        instruction(LOAD_WORD, 3, 6, META, 0),
        instruction(MOVE, 1, 3, 0, 0),
        instruction(ADD_CONSTANT, 1, 0, 0, 8),
        instruction(JUMP_GREATER, 1, 2, 1, 0),
        instruction(STORE_DOUBLE, 3, 7, 0, 0),
        instruction(LOAD_WORD, 2, 6, QUEUE, 0),
        instruction(LOAD_MAP, 1, THIS_IS_A_MAP, 0, map),
        0,
        instruction(MOVE_CONSTANT, 3, 0, 0, PASS),
        instruction(CALL, 0, 0, 0, REDIRECT_MAP),
        instruction(EXIT, 0, 0, 0, 0),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn instructions_are_laid_out_as_the_kernel_reads_them() {
        // BPF_MOV64_IMM(R2, -8): b7 02 00 00 f8 ff ff ff.
        let octets = instruction(0xb7, 2, 0, 0, -8).to_le_bytes();
        assert_eq!(octets, [0xb7, 2, 0, 0, 0xf8, 0xff, 0xff, 0xff]);
        // BPF_STX_MEM(BPF_DW, R3, R7, 16): 7b 73 10 00.
        assert_eq!(instruction(0x7b, 3, 7, 16, 0).to_le_bytes(), [0x7b, 0x73, 0x10, 0, 0, 0, 0, 0]);
    }
}

//! The program of a port: it writes the time of arrival before the frame and hands the frame to the socket of its queue.

use std::os::fd::{AsFd, AsRawFd, BorrowedFd};

use romer_bpf::assembler::{Assembler, Condition, Helper, Operation, R0, R1, R2, R3, R6, R7, Width};
use romer_bpf::{Link, Map, MapKind, Program, XdpMode};
use romer_host::HostError;

/// Octets of the stamp, which stands right before the frame.
pub(crate) const STAMP: usize = 8;

/// A program that is loaded, with its map, and not yet at work.
#[derive(Debug)]
pub(crate) struct Loaded {
    map: Map,
    program: Program,
}

impl Loaded {
    /// Loads the program, for which the machine's own rights are needed, not those of a user namespace.
    pub(crate) fn load() -> Result<Self, HostError> {
        let map = Map::create(MapKind::Sockets, 4, 4, 1)?;
        let program = Program::load_xdp(&instructions(&map)?)?;
        Ok(Self { map, program })
    }

    /// Attaches to the interface of the current thread's namespace; frames of queue 0 go to `socket`.
    pub(crate) fn attach(
        &self,
        index: u32,
        mode: XdpMode,
        socket: BorrowedFd<'_>,
    ) -> Result<Link, HostError> {
        self.map.set(&[0; 4], &socket.as_raw_fd().to_ne_bytes())?;
        self.program.attach_xdp(index, mode)
    }
}

/// The program, for this map:
///
/// ```text
/// if adjust_meta(ctx, -8) == 0 {
///     now = ktime_get_ns()                     // the monotonic clock
///     if ctx.data_meta + 8 <= ctx.data { *ctx.data_meta = now }
/// }
/// return redirect_map(map, ctx.rx_queue_index, XDP_PASS)   // to the stack where no socket is
/// ```
fn instructions(map: &Map) -> Result<Vec<u64>, HostError> {
    const DATA: i16 = 0;
    const META: i16 = 8;
    const QUEUE: i16 = 16;
    const PASS: i32 = 2;
    let mut program = Assembler::new();
    let redirect = program.label();
    program.set(R6, R1);
    program.set(R2, -8);
    program.call(Helper::AdjustMeta);
    program.jump_if(Condition::NotEqual, R0, 0, redirect);
    program.call(Helper::MonotonicTime);
    program.set(R7, R0);
    program.load(Width::Word, R2, R6, DATA);
    program.load(Width::Word, R3, R6, META);
    program.set(R1, R3);
    program.compute(Operation::Add, R1, 8);
    program.jump_if(Condition::Greater, R1, R2, redirect);
    program.store(Width::Double, R3, 0, R7);
    program.place(redirect);
    program.load(Width::Word, R2, R6, QUEUE);
    program.set_map(R1, map.as_fd());
    program.set(R3, PASS);
    program.call(Helper::RedirectMap);
    program.exit();
    program.finish()
}

//! An assembler of eBPF (RFC 9669): instructions are written one after the other, and jumps go to labels.

use std::os::fd::{AsRawFd, BorrowedFd};

use romer_host::HostError;

/// A register.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Register(u8);

/// The answer of a call, and of the program.
pub const R0: Register = Register(0);
/// The first argument of a call; at the begin of a program, its context.
pub const R1: Register = Register(1);
/// The second argument of a call.
pub const R2: Register = Register(2);
/// The third argument of a call.
pub const R3: Register = Register(3);
/// The fourth argument of a call.
pub const R4: Register = Register(4);
/// The fifth argument of a call.
pub const R5: Register = Register(5);
/// Keeps its value over a call.
pub const R6: Register = Register(6);
/// Keeps its value over a call.
pub const R7: Register = Register(7);
/// Keeps its value over a call.
pub const R8: Register = Register(8);
/// Keeps its value over a call.
pub const R9: Register = Register(9);
/// The end of the stack, 512 octets that lie below it.
pub const FRAME: Register = Register(10);

/// The second operand of an instruction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Operand {
    /// A register.
    Register(Register),
    /// A constant, extended by its sign to 64 bits.
    Constant(i32),
}

impl From<Register> for Operand {
    fn from(register: Register) -> Self {
        Self::Register(register)
    }
}

impl From<i32> for Operand {
    fn from(constant: i32) -> Self {
        Self::Constant(constant)
    }
}

/// How much memory an instruction reads or writes. What is read is extended by zeros to 64 bits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Width {
    /// 8 bits.
    Octet = 0x10,
    /// 16 bits.
    Half = 0x08,
    /// 32 bits.
    Word = 0x00,
    /// 64 bits.
    Double = 0x18,
}

/// An operation on 64 bits, without sign.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Operation {
    /// `to += from`.
    Add = 0x07,
    /// `to -= from`.
    Subtract = 0x17,
    /// `to *= from`.
    Multiply = 0x27,
    /// `to /= from`.
    Divide = 0x37,
    /// `to |= from`.
    Or = 0x47,
    /// `to &= from`.
    And = 0x57,
    /// `to <<= from`.
    ShiftLeft = 0x67,
    /// `to >>= from`.
    ShiftRight = 0x77,
    /// `to %= from`.
    Remainder = 0x97,
    /// `to ^= from`.
    ExclusiveOr = 0xa7,
    /// `to = from`.
    Move = 0xb7,
}

/// When a jump is taken. Numbers have no sign.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Condition {
    /// Both are equal.
    Equal = 0x15,
    /// The first is greater.
    Greater = 0x25,
    /// The first is greater or equal.
    GreaterOrEqual = 0x35,
    /// They have a bit in common.
    AnyBit = 0x45,
    /// They differ.
    NotEqual = 0x55,
    /// The first is less.
    Less = 0xa5,
}

/// A function of the kernel, by its number in `enum bpf_func_id`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Helper {
    /// `bpf_map_lookup_elem`.
    MapLookup = 1,
    /// `bpf_ktime_get_ns`: the monotonic clock.
    MonotonicTime = 5,
    /// `bpf_skb_store_bytes`.
    StoreBytes = 9,
    /// `bpf_l4_csum_replace`.
    ReplaceChecksum = 11,
    /// `bpf_skb_load_bytes`.
    LoadBytes = 26,
    /// `bpf_csum_diff`.
    ChecksumDifference = 28,
    /// `bpf_redirect_map`.
    RedirectMap = 51,
    /// `bpf_xdp_adjust_meta`.
    AdjustMeta = 54,
    /// `bpf_ktime_get_tai_ns`: the clock of international atomic time, since Linux 6.1.
    AtomicTime = 208,
}

/// A place in the program that jumps go to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Label(usize);

/// The second operand is a register, and no constant.
const FROM_REGISTER: u8 = 0x08;
/// `BPF_JA`.
const JUMP: u8 = 0x05;

/// A program that is being written.
#[derive(Debug, Default)]
pub struct Assembler {
    instructions: Vec<u64>,
    /// The places of the labels.
    labels: Vec<Option<usize>>,
    /// The jumps whose offset is still to be set.
    jumps: Vec<(usize, Label)>,
}

impl Assembler {
    /// An empty program.
    pub fn new() -> Self {
        Self::default()
    }

    /// A label that is to be placed.
    pub fn label(&mut self) -> Label {
        self.labels.push(None);
        Label(self.labels.len() - 1)
    }

    /// The next instruction is the one that jumps to `label` go to.
    pub fn place(&mut self, label: Label) {
        self.labels[label.0] = Some(self.instructions.len());
    }

    /// `to = to OPERATION from`.
    pub fn compute(&mut self, operation: Operation, to: Register, from: impl Into<Operand>) {
        self.with_operand(operation as u8, to, 0, from.into());
    }

    /// `to = from`.
    pub fn set(&mut self, to: Register, from: impl Into<Operand>) {
        self.compute(Operation::Move, to, from);
    }

    /// `to = value`, of all 64 bits.
    pub fn set_wide(&mut self, to: Register, value: u64) {
        self.wide(to, 0, value);
    }

    /// `to` is the map.
    pub fn set_map(&mut self, to: Register, map: BorrowedFd<'_>) {
        const MAP_DESCRIPTOR: u8 = 1;
        self.wide(to, MAP_DESCRIPTOR, u64::from(map.as_raw_fd().cast_unsigned()));
    }

    /// `to = *(from + offset)`.
    pub fn load(&mut self, width: Width, to: Register, from: Register, offset: i16) {
        self.push(0x61 | width as u8, to, from.0, offset, 0);
    }

    /// `*(to + offset) = from`.
    pub fn store(&mut self, width: Width, to: Register, offset: i16, from: impl Into<Operand>) {
        match from.into() {
            Operand::Register(from) => self.push(0x63 | width as u8, to, from.0, offset, 0),
            Operand::Constant(value) => self.push(0x62 | width as u8, to, 0, offset, value),
        }
    }

    /// Converts the low 16, 32 or 64 bits of `register` between the order of this machine and that of the network; the
    /// others become zero.
    pub fn swap_to_network(&mut self, register: Register, bits: i32) {
        self.push(0xdc, register, 0, 0, bits);
    }

    /// `*(to + offset) += from` of 64 bits, at once for all processors.
    pub fn add_atomically(&mut self, to: Register, offset: i16, from: Register) {
        self.push(0xdb, to, from.0, offset, 0);
    }

    /// Where `*(to + offset)` equals [`R0`], it becomes `from`; [`R0`] becomes what it was. Of 64 bits, at once for all
    /// processors (since Linux 5.12).
    pub fn compare_and_exchange(&mut self, to: Register, offset: i16, from: Register) {
        self.push(0xdb, to, from.0, offset, 0xf1);
    }

    /// Goes on at `label`.
    pub fn jump(&mut self, label: Label) {
        self.jumps.push((self.instructions.len(), label));
        self.push(JUMP, R0, 0, 0, 0);
    }

    /// Goes on at `label` where `first CONDITION second`.
    pub fn jump_if(
        &mut self,
        condition: Condition,
        first: Register,
        second: impl Into<Operand>,
        label: Label,
    ) {
        self.jumps.push((self.instructions.len(), label));
        self.with_operand(condition as u8, first, 0, second.into());
    }

    /// Calls a function of the kernel: arguments in [`R1`] to [`R5`], whose values are lost, the answer in [`R0`].
    pub fn call(&mut self, helper: Helper) {
        self.push(0x85, R0, 0, 0, helper as i32);
    }

    /// Ends the program with the answer in [`R0`].
    pub fn exit(&mut self) {
        self.push(0x95, R0, 0, 0, 0);
    }

    /// The instructions as the kernel reads them.
    ///
    /// # Errors
    /// A jump goes to a label without a place, or too far ([`HostError::Unsuitable`]).
    pub fn finish(mut self) -> Result<Vec<u64>, HostError> {
        for (from, Label(label)) in self.jumps {
            let to = self.labels[label].ok_or(HostError::Unsuitable("a jump to a label without a place"))?;
            // Counted from the instruction that follows.
            let offset = i64::try_from(to).unwrap_or(i64::MAX) - i64::try_from(from).unwrap_or(0) - 1;
            let offset =
                i16::try_from(offset).map_err(|_| HostError::Unsuitable("a jump that is too far"))?;
            self.instructions[from] |= u64::from(offset.cast_unsigned()) << 16;
        }
        Ok(self.instructions)
    }

    fn with_operand(&mut self, code: u8, to: Register, offset: i16, from: Operand) {
        match from {
            Operand::Register(from) => self.push(code | FROM_REGISTER, to, from.0, offset, 0),
            Operand::Constant(value) => self.push(code, to, 0, offset, value),
        }
    }

    fn wide(&mut self, to: Register, kind: u8, value: u64) {
        self.instructions.push(encode(0x18, to.0, kind, 0, 0) | (value & 0xffff_ffff) << 32);
        self.instructions.push(value & 0xffff_ffff_0000_0000);
    }

    fn push(&mut self, code: u8, to: Register, from: u8, offset: i16, constant: i32) {
        self.instructions.push(encode(code, to.0, from, offset, constant));
    }
}

/// One instruction: operation, registers, offset, constant.
fn encode(code: u8, to: u8, from: u8, offset: i16, constant: i32) -> u64 {
    u64::from(code)
        | u64::from(to | from << 4) << 8
        | u64::from(offset.cast_unsigned()) << 16
        | u64::from(constant.cast_unsigned()) << 32
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Octets are those of RFC 9669 section 3, figure 1.
    #[test]
    fn instructions_have_the_kernels_layout() {
        // BPF_MOV64_IMM(R2, -8): b7 02 00 00 f8 ff ff ff.
        let mut program = Assembler::new();
        program.set(R2, -8);
        program.store(Width::Double, R3, 16, R7);
        program.set_wide(R4, 0x0102_0304_0506_0708);
        let octets: Vec<[u8; 8]> = program.finish().unwrap().iter().map(|one| one.to_le_bytes()).collect();
        assert_eq!(octets[0], [0xb7, 2, 0, 0, 0xf8, 0xff, 0xff, 0xff]);
        assert_eq!(octets[1], [0x7b, 0x73, 0x10, 0, 0, 0, 0, 0]);
        assert_eq!(octets[2..], [[0x18, 4, 0, 0, 8, 7, 6, 5], [0, 0, 0, 0, 4, 3, 2, 1]]);
    }

    /// A jump counts from the instruction after it, in either direction.
    #[test]
    fn jumps_reach_their_labels() {
        let mut program = Assembler::new();
        let (end, begin) = (program.label(), program.label());
        program.place(begin);
        program.jump_if(Condition::Equal, R1, 5, end);
        program.jump(begin);
        program.place(end);
        program.exit();
        let octets: Vec<[u8; 8]> = program.finish().unwrap().iter().map(|one| one.to_le_bytes()).collect();
        assert_eq!(octets[0], [0x15, 1, 1, 0, 5, 0, 0, 0]);
        assert_eq!(octets[1], [0x05, 0, 0xfe, 0xff, 0, 0, 0, 0]);
    }

    #[test]
    fn labels_without_place_are_errors() {
        let mut program = Assembler::new();
        let nowhere = program.label();
        program.jump(nowhere);
        assert!(program.finish().is_err());
    }
}

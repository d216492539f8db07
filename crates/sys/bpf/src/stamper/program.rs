//! The instructions of a program that stamps.
//!
//! ```text
//! no UDP datagram, a later fragment, not of an own address and port, no field  -> NEXT
//! the stamp, or a later one, is written already                                -> NEXT
//! everything else: write the stamp, repair the checksum                        -> NEXT
//! ```
//!
//! R6 is the packet, R7 the place of its UDP header, R8 the time, R9 what the checksum changes by.

use std::os::fd::{AsFd, BorrowedFd};

use romer_host::HostError;
use romer_wire::stamp::in_packet::{MAGIC, OFFSET, SHORTEST, STAMPS};

use super::Maps;
use crate::TcxHook;
use crate::assembler::{
    Assembler, Condition, FRAME, Helper, Label, Operation, R0, R1, R2, R3, R4, R5, R6, R7, R8, R9, Width,
};

/// Places on the stack.
mod stack {
    /// The header of IP, as far as it has no options.
    pub(super) const IP: i16 = -40;
    /// The header of UDP.
    pub(super) const UDP: i16 = -48;
    /// The field of the packet.
    pub(super) const FIELD: i16 = -88;
    /// The stamp in network order.
    pub(super) const STAMP: i16 = -96;
    /// The key of an array, of 32 bits.
    pub(super) const INDEX: i16 = -104;
    /// Address, port and version of IP of this host: the key of [`super::super::Maps::own`].
    pub(super) const OWN: i16 = -128;
}

/// Octets of headers.
const ETHERNET: i32 = 14;
const IPV4: i32 = 20;
const IPV6: i32 = 40;
const UDP: i32 = 8;
/// Octets of the field.
const FIELD: i32 = 40;
/// The protocol of a packet in its `__sk_buff`.
const PROTOCOL: i16 = 16;
/// The next program, and then the rest of the stack, has the packet (`TCX_NEXT`).
const NEXT: i32 = -1;
/// `BPF_F_MARK_MANGLED_0`: no checksum stays none, and a checksum does not become 0.
const KEEP_ABSENT: i32 = 1 << 5;

/// The number of a constant in network order, as it is loaded from a packet.
fn network_half(number: u16) -> i32 {
    i32::from(u16::from_ne_bytes(number.to_be_bytes()))
}

/// The distance of a place of the payload from the begin of the UDP header.
fn from_udp(offset: usize) -> i32 {
    i32::try_from(offset).unwrap_or(i32::MAX).saturating_add(UDP)
}

/// The program that writes `stamp` (from 0 for t1) at `hook` of an interface with or without Ethernet headers.
pub(super) fn instructions(
    stamp: usize,
    hook: TcxHook,
    has_ethernet: bool,
    maps: &Maps,
) -> Result<Vec<u64>, HostError> {
    let mut a = Assembler::new();
    let next = a.label();
    a.set(R6, R1);
    find_udp(&mut a, hook, if has_ethernet { ETHERNET } else { 0 }, next);
    require_own(&mut a, hook, maps, next);
    require_field(&mut a, stamp, next);
    read_clock(&mut a, maps, next);
    write_stamp(&mut a, stamp, next);
    count(&mut a, hook, maps, next);
    a.place(next);
    a.set(R0, NEXT);
    a.exit();
    a.finish()
}

/// Reads `octets` of the packet to `place` of the stack, from `R2` on. Goes to `next` where the packet ends before.
fn read(a: &mut Assembler, place: i16, octets: i32, next: Label) {
    a.set(R1, R6);
    a.set(R3, FRAME);
    a.compute(Operation::Add, R3, i32::from(place));
    a.set(R4, octets);
    a.call(Helper::LoadBytes);
    a.jump_if(Condition::NotEqual, R0, 0, next);
}

/// R7 = the place of the UDP header, behind `link` octets and the header of IP. The own address goes to the stack.
fn find_udp(a: &mut Assembler, hook: TcxHook, link: i32, next: Label) {
    /// The offset of a fragment, of which the first has the header of UDP.
    const FRAGMENT_OFFSET: u16 = 0x1fff;
    const UDP_PROTOCOL: i32 = 17;
    let [own_v4, own_v6] = match hook {
        TcxHook::Egress => [12, 8],
        TcxHook::Ingress => [16, 24],
    };
    let (ipv4, ipv6, found) = (a.label(), a.label(), a.label());
    a.load(Width::Word, R1, R6, PROTOCOL);
    a.jump_if(Condition::Equal, R1, network_half(0x0800), ipv4);
    a.jump_if(Condition::Equal, R1, network_half(0x86dd), ipv6);
    a.jump(next);
    a.place(ipv4);
    a.set(R2, link);
    read(a, stack::IP, IPV4, next);
    a.load(Width::Octet, R1, FRAME, stack::IP + 9);
    a.jump_if(Condition::NotEqual, R1, UDP_PROTOCOL, next);
    a.load(Width::Half, R1, FRAME, stack::IP + 6);
    a.jump_if(Condition::AnyBit, R1, network_half(FRAGMENT_OFFSET), next);
    a.load(Width::Octet, R7, FRAME, stack::IP);
    a.compute(Operation::And, R7, 0x0f);
    a.compute(Operation::ShiftLeft, R7, 2);
    a.compute(Operation::Add, R7, link);
    a.load(Width::Word, R1, FRAME, stack::IP + own_v4);
    a.store(Width::Double, FRAME, stack::OWN, R1);
    a.store(Width::Double, FRAME, stack::OWN + 8, 0);
    a.store(Width::Double, FRAME, stack::OWN + 16, 4 << 16);
    a.jump(found);
    a.place(ipv6);
    a.set(R2, link);
    read(a, stack::IP, IPV6, next);
    a.load(Width::Octet, R1, FRAME, stack::IP + 6);
    a.jump_if(Condition::NotEqual, R1, UDP_PROTOCOL, next);
    a.set(R7, link + IPV6);
    a.load(Width::Double, R1, FRAME, stack::IP + own_v6);
    a.store(Width::Double, FRAME, stack::OWN, R1);
    a.load(Width::Double, R1, FRAME, stack::IP + own_v6 + 8);
    a.store(Width::Double, FRAME, stack::OWN + 8, R1);
    a.store(Width::Double, FRAME, stack::OWN + 16, 6 << 16);
    a.place(found);
    a.set(R2, R7);
    read(a, stack::UDP, UDP, next);
}

/// Address and port of this host are stamped, and the datagram is long enough for the field.
fn require_own(a: &mut Assembler, hook: TcxHook, maps: &Maps, next: Label) {
    let port = match hook {
        TcxHook::Egress => stack::UDP,
        TcxHook::Ingress => stack::UDP + 2,
    };
    a.load(Width::Half, R1, FRAME, stack::UDP + 4);
    a.swap_to_network(R1, 16);
    a.jump_if(Condition::Less, R1, from_udp(SHORTEST), next);
    a.load(Width::Half, R1, FRAME, port);
    a.store(Width::Half, FRAME, stack::OWN + 16, R1);
    look_up(a, maps.own.as_fd(), stack::OWN, next);
}

/// R0 = the address of the value in `map` whose key is at `key` of the stack. Goes to `next` where there is none.
fn look_up(a: &mut Assembler, map: BorrowedFd<'_>, key: i16, next: Label) {
    a.set_map(R1, map);
    a.set(R2, FRAME);
    a.compute(Operation::Add, R2, i32::from(key));
    a.call(Helper::MapLookup);
    a.jump_if(Condition::Equal, R0, 0, next);
}

/// The packet has the field, and in it neither the stamp nor a later one.
fn require_field(a: &mut Assembler, stamp: usize, next: Label) {
    a.set(R2, R7);
    a.compute(Operation::Add, R2, from_udp(OFFSET));
    read(a, stack::FIELD, FIELD, next);
    a.load(Width::Double, R1, FRAME, stack::FIELD);
    a.set_wide(R2, u64::from_ne_bytes(MAGIC));
    a.jump_if(Condition::NotEqual, R1, R2, next);
    for place in (stack::FIELD + 8..stack::UDP).step_by(8).skip(stamp) {
        a.load(Width::Double, R1, FRAME, place);
        a.jump_if(Condition::NotEqual, R1, 0, next);
    }
}

/// R8 = the real-time clock, nanoseconds.
fn read_clock(a: &mut Assembler, maps: &Maps, next: Label) {
    a.store(Width::Word, FRAME, stack::INDEX, 0);
    look_up(a, maps.clock.as_fd(), stack::INDEX, next);
    a.load(Width::Double, R8, R0, 0);
    a.call(Helper::AtomicTime);
    a.compute(Operation::Add, R8, R0);
}

/// Writes R8. The field had zeros there, so that the sum of the datagram grows by the sum of the stamp.
fn write_stamp(a: &mut Assembler, stamp: usize, next: Label) {
    let stack_stamp = |a: &mut Assembler| {
        a.set(R3, FRAME);
        a.compute(Operation::Add, R3, i32::from(stack::STAMP));
        a.set(R4, 8);
    };
    a.swap_to_network(R8, 64);
    a.store(Width::Double, FRAME, stack::STAMP, R8);
    a.set(R1, 0);
    a.set(R2, 0);
    stack_stamp(a);
    a.set(R5, 0);
    a.call(Helper::ChecksumDifference);
    a.set(R9, R0);
    a.set(R1, R6);
    a.set(R2, R7);
    a.compute(Operation::Add, R2, from_udp(STAMPS[stamp]));
    stack_stamp(a);
    a.set(R5, 0);
    a.call(Helper::StoreBytes);
    a.jump_if(Condition::NotEqual, R0, 0, next);
    a.set(R1, R6);
    a.set(R2, R7);
    a.compute(Operation::Add, R2, 6);
    a.set(R3, 0);
    a.set(R4, R9);
    a.set(R5, KEEP_ABSENT);
    a.call(Helper::ReplaceChecksum);
}

/// Counts the packet.
fn count(a: &mut Assembler, hook: TcxHook, maps: &Maps, next: Label) {
    look_up(a, maps.counters.as_fd(), stack::INDEX, next);
    a.set(R1, 1);
    let counter = match hook {
        TcxHook::Ingress => 0,
        TcxHook::Egress => 8,
    };
    a.add_atomically(R0, counter, R1);
}

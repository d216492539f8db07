//! The instructions of the reflector.
//!
//! ```text
//! what is no UDP datagram without options to a served address and port  -> PASS
//! an unusual source, more than a base packet and zeros behind it, a session's number, a low TTL,
//!     a source outside the allowed ranges, a wrong checksum                -> PASS, user space judges it
//! no token in the bucket of the source                                  -> DROP
//! everything else: swap addresses and ports, write the reply             -> TX
//! ```
//!
//! R6 is the context, R7 the begin of the frame, R8 its end, R9 its UDP header.

use std::os::fd::AsFd;

use romer_host::HostError;
use romer_wire::stamp::{BASE, ReplyFormat, offset};

use super::{BUCKETS_LOG2, Maps, ReflectorRules};
use crate::XdpMode;
use crate::assembler::{
    Assembler, Condition, FRAME, Helper, Label, Operation, R0, R1, R2, R3, R4, R5, R6, R7, R8, R9, Register,
    Width,
};

/// Places on the stack: what is known of a request.
mod stack {
    /// T2, nanoseconds after 1970.
    pub(super) const ARRIVAL: i16 = -8;
    /// The sum of the pseudo header of UDP, not folded.
    pub(super) const PSEUDO: i16 = -16;
    /// Octets of the UDP payload.
    pub(super) const PAYLOAD: i16 = -24;
    /// TTL or hop limit.
    pub(super) const HOPS: i16 = -32;
    /// Whether the checksum is left to a driver.
    pub(super) const PARTIAL: i16 = -40;
    /// Destination: the key of [`super::super::Maps::served`].
    pub(super) const SERVED: i16 = -64;
    /// Source: the key of [`super::super::Maps::allowed`].
    pub(super) const ALLOWED: i16 = -88;
    /// The prefix of the source that has a rate.
    pub(super) const RATED: i16 = -96;
    /// The key of an array, of 32 bits.
    pub(super) const INDEX: i16 = -104;
}

/// Octets of the headers.
const ETHERNET: i16 = 14;
const IPV4: i16 = ETHERNET + 20;
const IPV6: i16 = ETHERNET + 40;
const UDP: i16 = 8;
/// Octets of a base packet with its UDP header.
const LEAST_UDP: i16 = UDP + 44;
/// Octets of the longest datagram that is answered, with its UDP header; longer frames have several buffers in some drivers.
const MOST_UDP: i32 = 1_472 + 8;
const _: () = assert!(BASE == 44, "the program has the base packet's length");

/// The answers of the program (`enum xdp_action`).
const DROP: i32 = 1;
const PASS: i32 = 2;
const TRANSMIT: i32 = 3;

/// Seconds from 1900 to 1970 (RFC 5905).
const NTP_EPOCH: u64 = 2_208_988_800;
const NANOS: i32 = 1_000_000_000;
/// Attempts to take a token while other processors take some of the same bucket.
const ATTEMPTS: usize = 8;

/// The number of a constant in network order, as it is loaded from a packet.
fn network_half(number: u16) -> i32 {
    i32::from(u16::from_ne_bytes(number.to_be_bytes()))
}

/// The place of a field of the test packet, from the begin of the UDP header.
fn field(offset: usize) -> i16 {
    i16::try_from(offset).unwrap_or(i16::MAX).saturating_add(UDP)
}

/// The program for interfaces of this mode.
pub(super) fn instructions(
    rules: &ReflectorRules,
    maps: &Maps,
    mode: XdpMode,
) -> Result<Vec<u64>, HostError> {
    let mut a = Assembler::new();
    let labels = Labels { pass: a.label(), user_space: a.label(), drop: a.label(), transmit: a.label() };
    let [ipv4, ipv6, datagram] = [a.label(), a.label(), a.label()];
    a.set(R6, R1);
    a.load(Width::Word, R7, R6, 0);
    a.load(Width::Word, R8, R6, 4);
    require(&mut a, R7, IPV4 + UDP, labels.pass);
    a.load(Width::Half, R1, R7, 12);
    a.jump_if(Condition::Equal, R1, network_half(0x0800), ipv4);
    a.jump_if(Condition::Equal, R1, network_half(0x86dd), ipv6);
    a.jump(labels.pass);
    a.place(ipv4);
    read_ipv4(&mut a, labels);
    a.jump(datagram);
    a.place(ipv6);
    read_ipv6(&mut a, labels);
    a.place(datagram);
    read_datagram(&mut a, rules, maps, labels);
    verify_checksum(&mut a, labels);
    require_zeros_behind(&mut a, labels);
    take_token(&mut a, rules, maps, labels);
    write_headers(&mut a);
    write_reply(&mut a, rules, maps, mode, labels);
    finish(a, maps, labels)
}

/// Where the program goes on when a request is judged.
#[derive(Clone, Copy)]
struct Labels {
    /// Not for the reflector.
    pass: Label,
    /// For the reflector, and not one that the program answers.
    user_space: Label,
    /// Over the rate.
    drop: Label,
    /// Answered.
    transmit: Label,
}

/// Goes to `otherwise` where the frame ends before `octets` from `begin` on.
fn require(a: &mut Assembler, begin: Register, octets: i16, otherwise: Label) {
    a.set(R1, begin);
    a.compute(Operation::Add, R1, i32::from(octets));
    a.jump_if(Condition::Greater, R1, R8, otherwise);
}

/// The address of the stack's `place`.
fn stack_address(a: &mut Assembler, to: Register, place: i16) {
    a.set(to, FRAME);
    a.compute(Operation::Add, to, i32::from(place));
}

/// Header and addresses of IPv4, whose octets up to the end of a UDP header are there.
fn read_ipv4(a: &mut Assembler, Labels { pass, .. }: Labels) {
    const MORE_OR_OFFSET: u16 = 0x3fff;
    a.load(Width::Octet, R1, R7, ETHERNET);
    a.jump_if(Condition::NotEqual, R1, 0x45, pass);
    a.load(Width::Octet, R1, R7, ETHERNET + 9);
    a.jump_if(Condition::NotEqual, R1, 17, pass);
    a.load(Width::Half, R1, R7, ETHERNET + 6);
    a.jump_if(Condition::AnyBit, R1, network_half(MORE_OR_OFFSET), pass);
    // With its checksum, a right header sums up to this.
    sum_ipv4(a);
    a.jump_if(Condition::NotEqual, R2, 0xffff, pass);
    a.set(R9, R7);
    a.compute(Operation::Add, R9, i32::from(IPV4));
    // The datagram fills the packet.
    a.load(Width::Half, R1, R7, ETHERNET + 2);
    a.swap_to_network(R1, 16);
    a.load(Width::Half, R2, R9, 4);
    a.set(R3, R2);
    a.swap_to_network(R3, 16);
    a.compute(Operation::Add, R3, 20);
    a.jump_if(Condition::NotEqual, R1, R3, pass);
    a.load(Width::Octet, R1, R7, ETHERNET + 8);
    a.store(Width::Double, FRAME, stack::HOPS, R1);
    // Networks 0 and 127, multicast, reserved.
    a.load(Width::Octet, R1, R7, ETHERNET + 12);
    a.jump_if(Condition::Equal, R1, 0, pass);
    a.jump_if(Condition::Equal, R1, 127, pass);
    a.jump_if(Condition::GreaterOrEqual, R1, 224, pass);
    a.load(Width::Word, R3, R7, ETHERNET + 12);
    a.load(Width::Word, R4, R7, ETHERNET + 16);
    a.jump_if(Condition::Equal, R3, R4, pass);
    a.compute(Operation::Add, R2, network_half(17));
    a.compute(Operation::Add, R2, R3);
    a.compute(Operation::Add, R2, R4);
    a.store(Width::Double, FRAME, stack::PSEUDO, R2);
    a.store(Width::Double, FRAME, stack::SERVED, R4);
    a.store(Width::Double, FRAME, stack::SERVED + 8, 0);
    a.store(Width::Double, FRAME, stack::SERVED + 16, 4);
    a.store(Width::Word, FRAME, stack::ALLOWED, super::ALLOWED_BITS);
    a.store(Width::Word, FRAME, stack::ALLOWED + 4, 4);
    a.store(Width::Double, FRAME, stack::ALLOWED + 8, R3);
    a.store(Width::Double, FRAME, stack::ALLOWED + 16, 0);
    a.store(Width::Double, FRAME, stack::RATED, R3);
}

/// Header and addresses of IPv6.
fn read_ipv6(a: &mut Assembler, Labels { pass, .. }: Labels) {
    require(a, R7, IPV6 + UDP, pass);
    a.load(Width::Octet, R1, R7, ETHERNET);
    a.compute(Operation::ShiftRight, R1, 4);
    a.jump_if(Condition::NotEqual, R1, 6, pass);
    a.load(Width::Octet, R1, R7, ETHERNET + 6);
    a.jump_if(Condition::NotEqual, R1, 17, pass);
    a.set(R9, R7);
    a.compute(Operation::Add, R9, i32::from(IPV6));
    a.load(Width::Half, R1, R7, ETHERNET + 4);
    a.load(Width::Half, R2, R9, 4);
    a.jump_if(Condition::NotEqual, R1, R2, pass);
    a.load(Width::Octet, R1, R7, ETHERNET + 7);
    a.store(Width::Double, FRAME, stack::HOPS, R1);
    // UDP over IPv6 has a checksum.
    a.load(Width::Half, R1, R9, 6);
    a.jump_if(Condition::Equal, R1, 0, pass);
    // Multicast; unspecified, loopback, and addresses of IPv4.
    a.load(Width::Octet, R1, R7, ETHERNET + 8);
    a.jump_if(Condition::Equal, R1, 0xff, pass);
    a.load(Width::Double, R3, R7, ETHERNET + 8);
    a.jump_if(Condition::Equal, R3, 0, pass);
    a.load(Width::Double, R4, R7, ETHERNET + 16);
    a.load(Width::Double, R5, R7, ETHERNET + 24);
    let differs = a.label();
    a.jump_if(Condition::NotEqual, R3, R5, differs);
    a.load(Width::Double, R1, R7, ETHERNET + 32);
    a.jump_if(Condition::Equal, R4, R1, pass);
    a.place(differs);
    a.store(Width::Double, FRAME, stack::SERVED, R5);
    a.load(Width::Double, R1, R7, ETHERNET + 32);
    a.store(Width::Double, FRAME, stack::SERVED + 8, R1);
    a.store(Width::Double, FRAME, stack::SERVED + 16, 6);
    a.store(Width::Word, FRAME, stack::ALLOWED, super::ALLOWED_BITS);
    a.store(Width::Word, FRAME, stack::ALLOWED + 4, 6);
    a.store(Width::Double, FRAME, stack::ALLOWED + 8, R3);
    a.store(Width::Double, FRAME, stack::ALLOWED + 16, R4);
    // A /56 has one rate.
    a.swap_to_network(R3, 64);
    a.compute(Operation::ShiftRight, R3, 8);
    a.store(Width::Double, FRAME, stack::RATED, R3);
    a.compute(Operation::Add, R2, network_half(17));
    for place in (ETHERNET + 8..IPV6).step_by(4) {
        a.load(Width::Word, R1, R7, place);
        a.compute(Operation::Add, R2, R1);
    }
    a.store(Width::Double, FRAME, stack::PSEUDO, R2);
}

/// Ports, length, base packet, and what the rules say of the source.
fn read_datagram(a: &mut Assembler, rules: &ReflectorRules, maps: &Maps, labels: Labels) {
    let Labels { pass, user_space, .. } = labels;
    a.load(Width::Half, R1, R9, 2);
    a.store(Width::Half, FRAME, stack::SERVED + 20, R1);
    look_up(a, maps.served.as_fd(), stack::SERVED);
    a.jump_if(Condition::Equal, R0, 0, pass);
    a.call(Helper::AtomicTime);
    a.store(Width::Double, FRAME, stack::ARRIVAL, R0);
    a.load(Width::Half, R1, R9, 0);
    a.jump_if(Condition::Equal, R1, 0, user_space);
    for port in &rules.refused_ports {
        a.jump_if(Condition::Equal, R1, network_half(*port), user_space);
    }
    a.load(Width::Half, R1, R9, 4);
    a.swap_to_network(R1, 16);
    a.jump_if(Condition::Less, R1, i32::from(LEAST_UDP), user_space);
    a.jump_if(Condition::Greater, R1, MOST_UDP, user_space);
    a.compute(Operation::Subtract, R1, i32::from(UDP));
    a.store(Width::Double, FRAME, stack::PAYLOAD, R1);
    require(a, R9, LEAST_UDP, user_space);
    // A multiplier of 0 is not valid; one-way probes have it too.
    a.load(Width::Octet, R1, R9, field(offset::ERROR) + 1);
    a.jump_if(Condition::Equal, R1, 0, user_space);
    // A reply has a receive timestamp here, and an association its token.
    for place in (field(offset::RECEIVE_TIMESTAMP)..field(BASE) - 4).step_by(8) {
        a.load(Width::Double, R1, R9, place);
        a.jump_if(Condition::NotEqual, R1, 0, user_space);
    }
    a.load(Width::Word, R1, R9, field(BASE) - 4);
    a.jump_if(Condition::NotEqual, R1, 0, user_space);
    a.load(Width::Half, R1, R9, field(offset::SSID));
    a.store(Width::Word, FRAME, stack::INDEX, R1);
    look_up(a, maps.sessions.as_fd(), stack::INDEX);
    a.jump_if(Condition::NotEqual, R0, 0, user_space);
    a.load(Width::Double, R1, FRAME, stack::HOPS);
    a.jump_if(Condition::Less, R1, i32::from(rules.least_ttl), user_space);
    look_up(a, maps.allowed.as_fd(), stack::ALLOWED);
    a.jump_if(Condition::Equal, R0, 0, user_space);
}

/// R0 = the address of the value in `map` whose key is at `key` of the stack, or 0.
fn look_up(a: &mut Assembler, map: std::os::fd::BorrowedFd<'_>, key: i16) {
    a.set_map(R1, map);
    stack_address(a, R2, key);
    a.call(Helper::MapLookup);
}

/// Folds the sum in `sum`, of fewer than 2^37, to 16 bits. `with` is overwritten.
fn fold(a: &mut Assembler, sum: Register, with: Register) {
    for _ in 0..4 {
        a.set(with, sum);
        a.compute(Operation::ShiftRight, with, 16);
        a.compute(Operation::And, sum, 0xffff);
        a.compute(Operation::Add, sum, with);
    }
}

/// `sum` is what a checksum field with this folded sum has: its complement, and never 0.
fn complement(a: &mut Assembler, sum: Register) {
    let done = a.label();
    a.compute(Operation::ExclusiveOr, sum, 0xffff);
    a.jump_if(Condition::NotEqual, sum, 0, done);
    a.set(sum, 0xffff);
    a.place(done);
}

/// Adds the words of `places`, from the UDP header on, to `sum`.
fn add_words(a: &mut Assembler, sum: Register, places: impl Iterator<Item = i16>) {
    for place in places {
        a.load(Width::Word, R1, R9, place);
        a.compute(Operation::Add, sum, R1);
    }
}

/// The checksum covers what is not zero: the headers and the first 16 octets. One that is left to a driver is the folded sum of
/// the pseudo header.
fn verify_checksum(a: &mut Assembler, Labels { user_space, .. }: Labels) {
    let right = a.label();
    a.store(Width::Double, FRAME, stack::PARTIAL, 0);
    a.load(Width::Half, R5, R9, 6);
    // Only IPv4 comes here without one.
    a.jump_if(Condition::Equal, R5, 0, right);
    a.load(Width::Double, R2, FRAME, stack::PSEUDO);
    a.set(R3, R2);
    a.load(Width::Half, R1, R9, 4);
    a.compute(Operation::Add, R2, R1);
    add_words(a, R2, [0].into_iter().chain((UDP..field(offset::RECEIVE_TIMESTAMP)).step_by(4)));
    fold(a, R2, R4);
    complement(a, R2);
    a.jump_if(Condition::Equal, R2, R5, right);
    fold(a, R3, R4);
    a.jump_if(Condition::NotEqual, R3, R5, user_space);
    a.store(Width::Double, FRAME, stack::PARTIAL, 1);
    a.place(right);
}

/// What follows the base packet is zeros, which are padding. TLVs are not.
fn require_zeros_behind(a: &mut Assembler, Labels { user_space, .. }: Labels) {
    let done = a.label();
    a.load(Width::Double, R6, FRAME, stack::PAYLOAD);
    a.compute(Operation::Subtract, R6, 44);
    a.jump_if(Condition::Equal, R6, 0, done);
    // R9 goes through what follows, and comes back to its place from R7 after it.
    a.compute(Operation::Add, R9, i32::from(LEAST_UDP));
    for octets in [1_024_i16, 512, 256, 128, 64, 32, 16, 8, 4] {
        let next = a.label();
        let bit = a.label();
        a.jump_if(Condition::AnyBit, R6, i32::from(octets), bit);
        a.jump(next);
        a.place(bit);
        // A call takes 512 octets at the most.
        for part in if octets > 512 { vec![512, octets - 512] } else { vec![octets] } {
            require(a, R9, part, user_space);
            a.set(R1, 0);
            a.set(R2, 0);
            a.set(R3, R9);
            a.set(R4, i32::from(part));
            a.set(R5, 0);
            a.call(Helper::ChecksumDifference);
            a.jump_if(Condition::NotEqual, R0, 0, user_space);
            a.compute(Operation::Add, R9, i32::from(part));
        }
        a.place(next);
    }
    for (octets, width) in [(2, Width::Half), (1, Width::Octet)] {
        let next = a.label();
        let bit = a.label();
        a.jump_if(Condition::AnyBit, R6, i32::from(octets), bit);
        a.jump(next);
        a.place(bit);
        require(a, R9, octets, user_space);
        a.load(width, R1, R9, 0);
        a.jump_if(Condition::NotEqual, R1, 0, user_space);
        a.compute(Operation::Add, R9, i32::from(octets));
        a.place(next);
    }
    a.place(done);
    // The same registers on every way here, so that the kernel verifies the rest once.
    for register in [R0, R1, R2, R3, R4, R5, R6] {
        a.set(register, 0);
    }
    let (ipv6, datagram) = (a.label(), a.label());
    a.set(R9, R7);
    a.load(Width::Half, R1, R7, 12);
    a.jump_if(Condition::Equal, R1, network_half(0x86dd), ipv6);
    a.compute(Operation::Add, R9, i32::from(IPV4));
    a.jump(datagram);
    a.place(ipv6);
    require(a, R7, IPV6 + LEAST_UDP, user_space);
    a.compute(Operation::Add, R9, i32::from(IPV6));
    a.place(datagram);
}

/// Takes the token of one reply from the bucket of the source's prefix: a virtual schedule, whose value is when the bucket
/// is full again (ITU-T I.371, generic cell rate algorithm). It holds one second of the rate.
fn take_token(a: &mut Assembler, rules: &ReflectorRules, maps: &Maps, Labels { drop, .. }: Labels) {
    let interval = 1_000_000_000_u64.div_ceil(rules.rate.max(1));
    let burst = interval.saturating_mul(rules.rate.saturating_sub(1));
    let [addend, factor] = rules.secret;
    a.load(Width::Double, R1, FRAME, stack::RATED);
    a.set_wide(R2, addend);
    a.compute(Operation::ExclusiveOr, R1, R2);
    // Mixed as in SplitMix64, with a factor of our own.
    for (factor, shift) in [(factor | 1, 30), (0xbf58_476d_1ce4_e5b9, 27), (0x94d0_49bb_1331_11eb, 31)] {
        a.set(R2, R1);
        a.compute(Operation::ShiftRight, R2, shift);
        a.compute(Operation::ExclusiveOr, R1, R2);
        a.set_wide(R2, factor);
        a.compute(Operation::Multiply, R1, R2);
    }
    a.compute(Operation::ShiftRight, R1, 64 - BUCKETS_LOG2);
    a.store(Width::Word, FRAME, stack::INDEX, R1);
    look_up(a, maps.buckets.as_fd(), stack::INDEX);
    a.jump_if(Condition::Equal, R0, 0, drop);
    a.set(R6, R0);
    a.call(Helper::MonotonicTime);
    a.set(R4, R0);
    a.set_wide(R5, burst);
    let taken = a.label();
    for _ in 0..ATTEMPTS {
        let later = a.label();
        a.load(Width::Double, R0, R6, 0);
        a.set(R1, R0);
        a.jump_if(Condition::Greater, R1, R4, later);
        a.set(R1, R4);
        a.place(later);
        a.set(R2, R1);
        a.compute(Operation::Subtract, R2, R4);
        a.jump_if(Condition::Greater, R2, R5, drop);
        a.set(R3, R0);
        a.set_wide(R2, interval);
        a.compute(Operation::Add, R1, R2);
        a.compare_and_exchange(R6, 0, R1);
        a.jump_if(Condition::Equal, R0, R3, taken);
    }
    a.jump(drop);
    a.place(taken);
}

/// Ethernet and IP of the reply.
fn write_headers(a: &mut Assembler) {
    const DO_NOT_FRAGMENT: u16 = 0x4000;
    for (width, to, from) in [(Width::Word, 0, 6), (Width::Half, 4, 10)] {
        exchange(a, width, to, from);
    }
    let (ipv6, done) = (a.label(), a.label());
    a.load(Width::Half, R1, R7, 12);
    a.jump_if(Condition::Equal, R1, network_half(0x86dd), ipv6);
    exchange(a, Width::Word, ETHERNET + 12, ETHERNET + 16);
    // The code point of the request, without its ECN bits; 255 hops (RFC 5357 section 4.1.2).
    a.load(Width::Octet, R1, R7, ETHERNET + 1);
    a.compute(Operation::And, R1, 0xfc);
    a.store(Width::Octet, R7, ETHERNET + 1, R1);
    a.store(Width::Half, R7, ETHERNET + 6, network_half(DO_NOT_FRAGMENT));
    a.store(Width::Octet, R7, ETHERNET + 8, 255);
    a.store(Width::Half, R7, ETHERNET + 10, 0);
    sum_ipv4(a);
    a.compute(Operation::ExclusiveOr, R2, 0xffff);
    a.store(Width::Half, R7, ETHERNET + 10, R2);
    a.jump(done);
    a.place(ipv6);
    require(a, R7, IPV6 + LEAST_UDP, done);
    exchange(a, Width::Double, ETHERNET + 8, ETHERNET + 24);
    exchange(a, Width::Double, ETHERNET + 16, ETHERNET + 32);
    a.load(Width::Octet, R1, R7, ETHERNET + 1);
    a.compute(Operation::And, R1, 0xcf);
    a.store(Width::Octet, R7, ETHERNET + 1, R1);
    a.store(Width::Octet, R7, ETHERNET + 7, 255);
    a.place(done);
}

/// R2 = the folded sum of the header of IPv4.
fn sum_ipv4(a: &mut Assembler) {
    a.set(R2, 0);
    for place in (ETHERNET..IPV4).step_by(4) {
        a.load(Width::Word, R1, R7, place);
        a.compute(Operation::Add, R2, R1);
    }
    fold(a, R2, R3);
}

/// Exchanges two fields of the frame.
fn exchange(a: &mut Assembler, width: Width, one: i16, other: i16) {
    a.load(width, R1, R7, one);
    a.load(width, R2, R7, other);
    a.store(width, R7, one, R2);
    a.store(width, R7, other, R1);
}

/// UDP and the test packet of the reply.
fn write_reply(a: &mut Assembler, rules: &ReflectorRules, maps: &Maps, mode: XdpMode, labels: Labels) {
    a.load(Width::Half, R1, R9, 0);
    a.load(Width::Half, R2, R9, 2);
    a.store(Width::Half, R9, 0, R2);
    a.store(Width::Half, R9, 2, R1);
    let copied = [
        (Width::Word, offset::SEQUENCE, offset::SENDER_SEQUENCE),
        (Width::Double, offset::TIMESTAMP, offset::SENDER_TIMESTAMP),
        (Width::Half, offset::ERROR, offset::SENDER_ERROR),
    ];
    for (width, from, to) in copied {
        a.load(width, R1, R9, field(from));
        a.store(width, R9, field(to), R1);
    }
    a.load(Width::Double, R1, FRAME, stack::HOPS);
    a.store(Width::Octet, R9, field(offset::SENDER_TTL), R1);
    a.store(Width::Word, FRAME, stack::INDEX, 0);
    look_up(a, maps.clock.as_fd(), stack::INDEX);
    a.jump_if(Condition::Equal, R0, 0, labels.drop);
    a.set(R6, R0);
    a.call(Helper::AtomicTime);
    a.set(R3, R0);
    a.load(Width::Double, R4, FRAME, stack::ARRIVAL);
    a.load(Width::Double, R1, R6, 0);
    a.compute(Operation::Add, R3, R1);
    a.compute(Operation::Add, R4, R1);
    a.load(Width::Half, R5, R6, 8);
    write_times(a, rules.format);
    write_checksum(a, mode, labels);
}

/// Writes the times T3 (R3) and T2 (R4) and the error estimate (R5, in network order) in the format of the reply.
fn write_times(a: &mut Assembler, format: ReplyFormat) {
    let ptp_bit = network_half(0x4000);
    let (ptp, done) = (a.label(), a.label());
    match format {
        ReplyFormat::Ntp => {}
        ReplyFormat::Ptp => a.jump(ptp),
        ReplyFormat::AsRequested => {
            a.load(Width::Half, R1, R9, field(offset::ERROR));
            a.jump_if(Condition::AnyBit, R1, ptp_bit, ptp);
        }
    }
    let places = [(R3, field(offset::TIMESTAMP)), (R4, field(offset::RECEIVE_TIMESTAMP))];
    if format != ReplyFormat::Ptp {
        a.store(Width::Half, R9, field(offset::ERROR), R5);
        for (time, place) in places {
            split(a, time);
            a.set_wide(R0, NTP_EPOCH);
            a.compute(Operation::Add, R1, R0);
            a.compute(Operation::ShiftLeft, R1, 32);
            // To the nearest fraction.
            a.compute(Operation::ShiftLeft, R2, 32);
            a.compute(Operation::Add, R2, NANOS / 2);
            a.compute(Operation::Divide, R2, NANOS);
            join(a, place);
        }
        a.jump(done);
    }
    if format != ReplyFormat::Ntp {
        a.place(ptp);
        a.compute(Operation::Or, R5, ptp_bit);
        a.store(Width::Half, R9, field(offset::ERROR), R5);
        for (time, place) in places {
            split(a, time);
            a.compute(Operation::ShiftLeft, R1, 32);
            join(a, place);
        }
    }
    a.place(done);
}

/// R1 and R2 are the seconds and nanoseconds of `time`.
fn split(a: &mut Assembler, time: Register) {
    a.set(R1, time);
    a.compute(Operation::Divide, R1, NANOS);
    a.set(R2, time);
    a.compute(Operation::Remainder, R2, NANOS);
}

/// Writes R1 | R2 to `place`.
fn join(a: &mut Assembler, place: i16) {
    a.compute(Operation::Or, R1, R2);
    a.swap_to_network(R1, 64);
    a.store(Width::Double, R9, place, R1);
}

/// The reply's checksum. Behind a driver, one that was left to it is left to the next one: the sum of the pseudo header is
/// that of the request.
fn write_checksum(a: &mut Assembler, mode: XdpMode, Labels { transmit, .. }: Labels) {
    if mode == XdpMode::Generic {
        a.load(Width::Double, R1, FRAME, stack::PARTIAL);
        a.jump_if(Condition::NotEqual, R1, 0, transmit);
    }
    a.load(Width::Double, R2, FRAME, stack::PSEUDO);
    a.load(Width::Half, R1, R9, 4);
    a.compute(Operation::Add, R2, R1);
    add_words(a, R2, [0].into_iter().chain((UDP..LEAST_UDP).step_by(4)));
    fold(a, R2, R3);
    complement(a, R2);
    a.store(Width::Half, R9, 6, R2);
    a.jump(transmit);
}

/// The ends of the program, and its counters.
fn finish(mut a: Assembler, maps: &Maps, labels: Labels) -> Result<Vec<u64>, HostError> {
    let Labels { pass, user_space, drop, transmit } = labels;
    for (label, counter, verdict) in [(transmit, 0, TRANSMIT), (drop, 16, DROP), (user_space, 24, PASS)] {
        a.place(label);
        a.store(Width::Word, FRAME, stack::INDEX, 0);
        look_up(&mut a, maps.counters.as_fd(), stack::INDEX);
        a.jump_if(Condition::Equal, R0, 0, pass);
        a.set(R1, 1);
        a.add_atomically(R0, counter, R1);
        if verdict == TRANSMIT {
            a.load(Width::Double, R1, FRAME, stack::PAYLOAD);
            a.add_atomically(R0, 8, R1);
        }
        a.set(R0, verdict);
        a.exit();
    }
    a.place(pass);
    a.set(R0, PASS);
    a.exit();
    a.finish()
}

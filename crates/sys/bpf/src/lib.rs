//! Programs that run in the kernel (eBPF), written as instructions, so that a build needs no compiler for them.
//!
//! * [`assembler`] writes instructions, [`Map`], [`Program`] and [`Link`] are what the kernel makes of them. All end with
//!   their descriptors: a killed process leaves no program on an interface.
//! * [`reflector`] is a stateless STAMP reflector (RFC 8762) that answers before the kernel's network stack.
//! * [`stamper`] writes time stamps into test packets as they pass an interface.

#[cfg(not(target_endian = "little"))]
compile_error!("romer-bpf writes programs for machines whose numbers begin with the least octet");

pub mod assembler;
mod object;
pub mod reflector;
pub mod stamper;

pub use object::{Link, Map, MapKind, Program, TcxHook, XdpMode};

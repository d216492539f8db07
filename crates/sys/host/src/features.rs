//! What this kernel has of that which romer can use, found by asking for it.

use std::fs;
use std::path::Path;

use crate::HostError;
use crate::sys::open_protocol;

/// Whether the kernel has something.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Presence {
    /// It is there, and this user may use it.
    Usable,
    /// It is there, but this user may not use it.
    Forbidden,
    /// It is not there.
    Absent,
    /// It could not be asked for.
    Unknown,
}

/// A part of the kernel that may be left out when it is built.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Feature {
    /// Packet sockets: whole frames.
    PacketSocket,
    /// Sockets with rings that programs in the driver fill.
    XdpSocket,
    /// Programs in the kernel.
    Bpf,
    /// The types of the kernel's own structures, for programs that fit any build.
    Btf,
    /// nftables.
    Nftables,
    /// Interfaces whose other end is a program.
    Tun,
    /// A queueing discipline or a kind of link, by its module's name.
    Module(&'static str),
}

impl Feature {
    /// Asks for it. Nothing is changed, and nothing is left.
    pub fn probe(self) -> Presence {
        match self {
            Self::PacketSocket => socket(libc::AF_PACKET, libc::SOCK_RAW, 0),
            Self::XdpSocket => socket(libc::AF_XDP, libc::SOCK_RAW, 0),
            Self::Nftables => netfilter(),
            Self::Bpf => bpf(),
            Self::Btf => there("/sys/kernel/btf/vmlinux"),
            Self::Tun => device("/dev/net/tun"),
            Self::Module(name) => module(name),
        }
    }
}

fn socket(family: libc::c_int, kind: libc::c_int, protocol: libc::c_int) -> Presence {
    let kind = kind | libc::SOCK_CLOEXEC;
    match open_protocol(family, kind, protocol, "open a socket of the kind") {
        Ok(_) => Presence::Usable,
        Err(error) => refused(&error),
    }
}

/// What a refusal says: a missing right means that the thing is there.
fn refused(error: &HostError) -> Presence {
    match error.errno() {
        Some(libc::EPERM | libc::EACCES) => Presence::Forbidden,
        Some(libc::EAFNOSUPPORT | libc::EPROTONOSUPPORT | libc::ESOCKTNOSUPPORT | libc::ENOSYS) => {
            Presence::Absent
        }
        _ => Presence::Unknown,
    }
}

/// The socket of netfilter is there with any part of it; nftables is told by its symbols, or its module.
fn netfilter() -> Presence {
    match socket(libc::AF_NETLINK, libc::SOCK_RAW, libc::NETLINK_NETFILTER) {
        Presence::Usable => module("nf_tables"),
        other => other,
    }
}

/// Asks for the next program after none, which needs a right and does nothing.
fn bpf() -> Presence {
    const PROG_GET_NEXT_ID: libc::c_long = 11;
    let mut attributes = [0_u64; 16];
    // SAFETY: the call reads and writes at most the size that it is told of `attributes`.
    let answer = unsafe {
        libc::syscall(libc::SYS_bpf, PROG_GET_NEXT_ID, attributes.as_mut_ptr(), size_of_val(&attributes))
    };
    if answer >= 0 {
        return Presence::Usable;
    }
    match std::io::Error::last_os_error().raw_os_error() {
        // No program is loaded, which only who may ask is told.
        Some(libc::ENOENT) => Presence::Usable,
        Some(libc::EPERM | libc::EACCES) => Presence::Forbidden,
        Some(libc::ENOSYS) => Presence::Absent,
        _ => Presence::Unknown,
    }
}

fn there(path: &str) -> Presence {
    match fs::File::open(path) {
        Ok(_) => Presence::Usable,
        Err(error) => absent_or(error.raw_os_error()),
    }
}

fn device(path: &str) -> Presence {
    match fs::File::options().read(true).write(true).open(path) {
        Ok(_) => Presence::Usable,
        Err(error) => absent_or(error.raw_os_error()),
    }
}

const fn absent_or(errno: Option<i32>) -> Presence {
    match errno {
        Some(libc::ENOENT | libc::ENODEV | libc::ENXIO) => Presence::Absent,
        Some(libc::EPERM | libc::EACCES) => Presence::Forbidden,
        _ => Presence::Unknown,
    }
}

/// Whether a module is loaded or built in, or can be loaded.
fn module(name: &str) -> Presence {
    let release = fs::read_to_string("/proc/sys/kernel/osrelease").unwrap_or_default();
    let folder = Path::new("/lib/modules").join(release.trim_end());
    let listed = |file: &str| fs::read_to_string(folder.join(file)).is_ok_and(|text| lists(&text, name));
    if Path::new("/sys/module").join(name).exists() || listed("modules.builtin") || listed("modules.dep") {
        return Presence::Usable;
    }
    // A kernel without modules tells its parts by their symbols alone.
    match fs::read_to_string("/proc/kallsyms") {
        Ok(symbols) if !symbols.is_empty() => match marker(name) {
            Some(marker) if has_symbol(&symbols, marker) => Presence::Usable,
            Some(_) => Presence::Absent,
            None => Presence::Unknown,
        },
        _ => Presence::Unknown,
    }
}

/// A function that only this part of the kernel has.
fn marker(module: &str) -> Option<&'static str> {
    Some(match module {
        "veth" => "veth_xmit",
        "nf_tables" => "nft_do_chain",
        _ => return None,
    })
}

/// Whether a list of the kernel's symbols has `name`, alone or with what a compiler puts behind it.
fn has_symbol(symbols: &str, name: &str) -> bool {
    let mut names = symbols.lines().filter_map(|line| line.split_whitespace().nth(2));
    names.any(|one: &str| one.strip_prefix(name).is_some_and(|rest| rest.is_empty() || rest.starts_with('.')))
}

/// Whether a list of modules, each a path up to a colon or the line's end, has `name`.
fn lists(list: &str, name: &str) -> bool {
    list.lines().any(|line| {
        let file = line.split(':').next().and_then(|path| path.rsplit('/').next()).unwrap_or_default();
        let stem = file.split('.').next().unwrap_or_default();
        stem.replace('-', "_") == name
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn modules_and_symbols_are_found_by_their_whole_names() {
        let list = "kernel/net/sched/sch_netem.ko\nkernel/net/sched/sch-fq.ko.zst: kernel/lib/x.ko\n";
        assert!(lists(list, "sch_netem") && lists(list, "sch_fq"));
        assert!(!lists(list, "sch_fq_codel") && !lists(list, "netem") && !lists(list, "x"));
        let symbols =
            "0000000000000000 t veth_xmit\n0000000000000000 T fq_enqueue.llvm.1\n0 t nft_do_chain_inet\n";
        assert!(has_symbol(symbols, "veth_xmit") && has_symbol(symbols, "fq_enqueue"));
        assert!(!has_symbol(symbols, "nft_do_chain") && !has_symbol(symbols, "veth"));
    }

    #[test]
    fn looking_gives_an_answer_and_does_no_harm() {
        for feature in [
            Feature::PacketSocket,
            Feature::XdpSocket,
            Feature::Bpf,
            Feature::Btf,
            Feature::Nftables,
            Feature::Tun,
            Feature::Module("veth"),
        ] {
            assert_eq!(feature.probe(), feature.probe(), "{feature:?}");
        }
        assert_ne!(Feature::Module("no-such-module").probe(), Presence::Usable);
    }
}

//! An interface that can be found again after it was renamed or moved to another network namespace.
//!
//! An interface keeps its index when it is renamed. In another namespace it may get another index, so there it is looked
//! for by its hardware address and what its driver says of it. The namespaces are those with a name and those of processes.
//!
//! [`Identity::reach`] makes system calls over memory that was prepared before: it is for a guardian, a copy of a process
//! that may have had threads, which neither allocates nor takes a lock.

use std::ffi::CStr;
use std::os::fd::{AsRawFd, BorrowedFd, RawFd};

use crate::HostError;
use crate::ethtool::{DriverInfo, name_of};

/// Folders whose entries lead to network namespaces, and what follows the entry's name.
const NAMESPACE_FOLDERS: [(&CStr, &[u8]); 2] = [(c"/run/netns", b""), (c"/proc", b"/ns/net")];
/// The highest index that an interface is looked for at in another namespace, if its own is not there.
const HIGHEST_INDEX: libc::c_int = 16_384;
/// Namespaces that are looked into.
const MOST_NAMESPACES: usize = 512;
/// Octets of directory entries that are read at once.
const ENTRIES: usize = 8_192;
/// Octets of a path from one of the folders.
const PATH: usize = 288;

/// What an interface is known by.
#[derive(Clone, Copy)]
pub struct Identity {
    index: libc::c_int,
    hardware: [libc::c_char; 14],
    driver: DriverInfo,
}

impl std::fmt::Debug for Identity {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Identity").field("index", &self.index).finish_non_exhaustive()
    }
}

impl Identity {
    /// That of `interface` in the namespace of the socket.
    ///
    /// # Errors
    /// There is no such interface.
    pub fn from_socket(socket: BorrowedFd<'_>, interface: &str) -> Result<Self, HostError> {
        let mut request = name_of(interface);
        // SAFETY: the request names an interface and outlives the call, which writes a number into it.
        if unsafe { libc::ioctl(socket.as_raw_fd(), libc::SIOCGIFINDEX, &raw mut request) } < 0 {
            return Err(HostError::last_on("read the index of", interface));
        }
        // SAFETY: the call has filled this member.
        let index = unsafe { request.ifr_ifru.ifru_ifindex };
        let hardware = hardware_of(socket.as_raw_fd(), &request);
        let hardware = hardware.ok_or_else(|| HostError::last_on("read the address of", interface))?;
        Ok(Self { index, hardware, driver: DriverInfo::read(socket.as_raw_fd(), &request) })
    }

    /// The interface as it is named now in the namespace of the socket; `None` where it is not there any more.
    pub fn named_here(&self, socket: RawFd) -> Option<libc::ifreq> {
        // The address may have been changed meanwhile.
        name_at(socket, self.index).filter(|name| DriverInfo::read(socket, name).is_same(&self.driver))
    }

    /// Has `work` done with the interface, wherever it is: given a socket of its namespace and a request with its name.
    /// Whether it was found and `work` succeeded. Where the interface is not in the namespace of `socket`, the calling
    /// thread is in another namespace afterwards.
    pub fn reach(&self, socket: RawFd, mut work: impl FnMut(RawFd, &libc::ifreq) -> bool) -> bool {
        match self.named_here(socket) {
            Some(name) => work(socket, &name),
            None => self.elsewhere(&mut work).unwrap_or(false),
        }
    }

    /// Looks through all namespaces; what `work` said, or `None` where the interface was not found.
    fn elsewhere(&self, work: &mut impl FnMut(RawFd, &libc::ifreq) -> bool) -> Option<bool> {
        let (mut seen, mut number) = ([0_u64; MOST_NAMESPACES], 0);
        NAMESPACE_FOLDERS.into_iter().find_map(|(folder, suffix)| {
            each_entry(folder, |directory, name| {
                if !suffix.is_empty() && !name.first().is_some_and(u8::is_ascii_digit) {
                    return None;
                }
                let namespace = open_at(directory, name, suffix)?;
                let inode = inode_of(namespace);
                let is_new = inode.is_some_and(|inode| !seen[..number].contains(&inode));
                let mut answer = None;
                if let (true, Some(place), Some(inode)) = (is_new, seen.get_mut(number), inode) {
                    *place = inode;
                    number += 1;
                    answer = self.within(namespace, work);
                }
                close(namespace);
                answer
            })
        })
    }

    /// Enters a namespace, and looks for the interface there.
    fn within(&self, namespace: RawFd, work: &mut impl FnMut(RawFd, &libc::ifreq) -> bool) -> Option<bool> {
        // SAFETY: the call takes plain numbers.
        if unsafe { libc::setns(namespace, libc::CLONE_NEWNET) } != 0 {
            return None;
        }
        // SAFETY: as before.
        let socket = unsafe { libc::socket(libc::AF_INET, libc::SOCK_DGRAM | libc::SOCK_CLOEXEC, 0) };
        if socket < 0 {
            return None;
        }
        let indices = std::iter::once(self.index).chain(1..=HIGHEST_INDEX);
        let name = indices.filter_map(|index| name_at(socket, index)).find(|name| self.is_of(socket, name));
        let answer = name.map(|name| work(socket, &name));
        close(socket);
        answer
    }

    /// Whether the interface of that name is this one.
    fn is_of(&self, socket: RawFd, name: &libc::ifreq) -> bool {
        hardware_of(socket, name) == Some(self.hardware)
            && DriverInfo::read(socket, name).is_same(&self.driver)
    }
}

/// A request with the name that the interface of that index has in the namespace of the socket. Makes one system call.
pub fn name_at(socket: RawFd, index: libc::c_int) -> Option<libc::ifreq> {
    let mut request = name_of("");
    request.ifr_ifru.ifru_ifindex = index;
    // SAFETY: the request outlives the call, which writes a name into it.
    let answer = unsafe { libc::ioctl(socket, libc::SIOCGIFNAME, &raw mut request) };
    (answer >= 0).then_some(request)
}

fn hardware_of(socket: RawFd, name: &libc::ifreq) -> Option<[libc::c_char; 14]> {
    let mut request = *name;
    // SAFETY: the request names an interface and outlives the call, which writes an address into it.
    let answer = unsafe { libc::ioctl(socket, libc::SIOCGIFHWADDR, &raw mut request) };
    // SAFETY: the call has filled this member.
    (answer >= 0).then_some(unsafe { request.ifr_ifru.ifru_hwaddr.sa_data })
}

/// Visits the entries of a folder by name until one gives an answer.
fn each_entry<T>(folder: &CStr, mut visit: impl FnMut(RawFd, &[u8]) -> Option<T>) -> Option<T> {
    /// Octets of `struct linux_dirent64` before its name, and the place of its length.
    const BEFORE_NAME: usize = 19;
    const LENGTH: usize = 16;
    let flags = libc::O_RDONLY | libc::O_DIRECTORY | libc::O_CLOEXEC;
    // SAFETY: the path is a string that outlives the call.
    let directory = unsafe { libc::open(folder.as_ptr(), flags) };
    if directory < 0 {
        return None;
    }
    let mut entries = [0_u8; ENTRIES];
    let mut answer = None;
    while answer.is_none() {
        // SAFETY: the call writes at most as many octets as `entries` has.
        let read =
            unsafe { libc::syscall(libc::SYS_getdents64, directory, entries.as_mut_ptr(), entries.len()) };
        let Some(mut rest) =
            usize::try_from(read).ok().filter(|read| *read > 0).and_then(|n| entries.get(..n))
        else {
            break;
        };
        while let (None, Some(&[low, high])) = (&answer, rest.get(LENGTH..LENGTH + 2)) {
            let length = usize::from(u16::from_ne_bytes([low, high]));
            let (Some(name), Some(next)) = (rest.get(BEFORE_NAME..length), rest.get(length..)) else { break };
            let end = name.iter().position(|octet| *octet == 0).unwrap_or(name.len());
            answer = visit(directory, &name[..end]);
            rest = next;
        }
    }
    close(directory);
    answer
}

/// Opens what an entry of a folder leads to.
fn open_at(directory: RawFd, name: &[u8], suffix: &[u8]) -> Option<RawFd> {
    let mut path = [0_u8; PATH];
    let end = name.len() + suffix.len();
    // The octet behind the path stays 0.
    let place = path.get_mut(..end).filter(|_| end < PATH)?;
    place[..name.len()].copy_from_slice(name);
    place[name.len()..].copy_from_slice(suffix);
    // SAFETY: the path is ended by a zero and outlives the call.
    let opened = unsafe { libc::openat(directory, path.as_ptr().cast(), libc::O_RDONLY | libc::O_CLOEXEC) };
    (opened >= 0).then_some(opened)
}

fn inode_of(descriptor: RawFd) -> Option<u64> {
    // SAFETY: the structure is integers, for which zero is valid.
    let mut status: libc::stat = unsafe { std::mem::zeroed() };
    // SAFETY: the call fills `status`.
    (unsafe { libc::fstat(descriptor, &raw mut status) } == 0).then_some(status.st_ino)
}

fn close(descriptor: RawFd) {
    // SAFETY: the descriptor was opened here, and nobody else has it.
    unsafe { libc::close(descriptor) };
}

//! Thin safe skins over system calls.

use std::io;
use std::mem::MaybeUninit;
use std::os::fd::{AsRawFd, BorrowedFd, FromRawFd, OwnedFd};
use std::ptr::NonNull;

use romer_host::HostError;

/// The last system call's error, as the failure of `operation` on `subject`.
pub(crate) fn last(operation: &'static str, subject: &str) -> HostError {
    HostError::System { operation, subject: subject.into(), source: io::Error::last_os_error() }
}

/// The length of `T` as the system counts it.
pub(crate) const fn socklen_of<T>() -> libc::socklen_t {
    #[expect(clippy::cast_possible_truncation, reason = "no option structure is 4 GiB long")]
    let length = size_of::<T>() as libc::socklen_t;
    length
}

/// A new socket of the current thread's network namespace.
pub(crate) fn open_socket(
    family: libc::c_int,
    kind: libc::c_int,
    protocol: libc::c_int,
    operation: &'static str,
) -> Result<OwnedFd, HostError> {
    // SAFETY: the call takes plain numbers.
    let descriptor = unsafe { libc::socket(family, kind | libc::SOCK_CLOEXEC, protocol) };
    if descriptor < 0 {
        return Err(last(operation, ""));
    }
    // SAFETY: the descriptor was opened just now and nobody else has it.
    Ok(unsafe { OwnedFd::from_raw_fd(descriptor) })
}

/// A mark that only one process of this thread's network namespace has at a time, by its name (an abstract address of a
/// Unix socket); `None` where another has it. It is gone with the last descriptor of it.
pub(crate) fn mark(name: &str) -> Result<Option<OwnedFd>, HostError> {
    let socket = open_socket(libc::AF_UNIX, libc::SOCK_DGRAM, 0, "open a Unix socket")?;
    // SAFETY: the address is integers, for which zero is valid.
    let mut address: libc::sockaddr_un = unsafe { std::mem::zeroed() };
    address.sun_family = libc::sa_family_t::try_from(libc::AF_UNIX).unwrap_or(0);
    // The first octet stays zero, which is what makes it abstract.
    for (to, from) in address.sun_path.iter_mut().skip(1).zip(name.bytes()) {
        *to = libc::c_char::from_ne_bytes([from]);
    }
    let length = size_of::<libc::sa_family_t>() + 1 + name.len();
    let length = libc::socklen_t::try_from(length).unwrap_or(0).min(socklen_of::<libc::sockaddr_un>());
    // SAFETY: pointer and length describe `address`, which the call only reads.
    let answer = unsafe { libc::bind(socket.as_raw_fd(), (&raw const address).cast(), length) };
    match io::Error::last_os_error().raw_os_error() {
        _ if answer == 0 => Ok(Some(socket)),
        Some(libc::EADDRINUSE) => Ok(None),
        _ => Err(last("mark", name)),
    }
}

/// Most messages that one call sends.
const MOST_SENT: usize = 64;

/// Sends messages from the front of `messages`, [`MOST_SENT`] at most, and does not wait; how many the kernel took, or the
/// error for which it took none.
pub(crate) fn send_each<'a>(
    socket: BorrowedFd<'_>,
    mut messages: impl ExactSizeIterator<Item = &'a [u8]>,
) -> Result<usize, Option<libc::c_int>> {
    let failed = || io::Error::last_os_error().raw_os_error();
    let descriptor = socket.as_raw_fd();
    // The call for many takes a tenth longer.
    if messages.len() == 1
        && let Some(octets) = messages.next()
    {
        // SAFETY: pointer and length describe `octets`, which the call only reads.
        let answer =
            unsafe { libc::send(descriptor, octets.as_ptr().cast(), octets.len(), libc::MSG_DONTWAIT) };
        return if answer >= 0 { Ok(1) } else { Err(failed()) };
    }
    let mut headers = [const { MaybeUninit::<libc::mmsghdr>::uninit() }; MOST_SENT];
    let mut vectors = [const { MaybeUninit::<libc::iovec>::uninit() }; MOST_SENT];
    let mut count = 0;
    for ((octets, header), vector) in messages.zip(&mut headers).zip(&mut vectors) {
        let vector =
            vector.write(libc::iovec { iov_base: octets.as_ptr().cast_mut().cast(), iov_len: octets.len() });
        // SAFETY: a mmsghdr is pointers and integers, for which zero is valid.
        let header = &mut header.write(unsafe { std::mem::zeroed() }).msg_hdr;
        header.msg_iov = vector;
        header.msg_iovlen = 1;
        count += 1;
    }
    let headers = headers.as_mut_ptr().cast();
    // SAFETY: the first `count` headers were written, and point to vectors that outlive the call, and they to messages,
    // which a send only reads.
    let answer = unsafe { libc::sendmmsg(descriptor, headers, count, libc::MSG_DONTWAIT) };
    usize::try_from(answer).map_err(|_| failed())
}

/// Sets an option whose value is `bytes`.
pub(crate) fn set_option(
    socket: BorrowedFd<'_>,
    level: libc::c_int,
    name: libc::c_int,
    bytes: &[u8],
    operation: &'static str,
) -> Result<(), HostError> {
    let length = libc::socklen_t::try_from(bytes.len())
        .map_err(|_| HostError::Unsuitable("a socket option longer than 4 GiB"))?;
    // SAFETY: the descriptor is open while borrowed; pointer and length describe `bytes`, which the call only reads.
    let answer = unsafe { libc::setsockopt(socket.as_raw_fd(), level, name, bytes.as_ptr().cast(), length) };
    if answer == 0 { Ok(()) } else { Err(last(operation, "")) }
}

/// Reads an option of `N` integers; shorter answers leave zeros.
pub(crate) fn option<const N: usize>(
    socket: BorrowedFd<'_>,
    level: libc::c_int,
    name: libc::c_int,
    operation: &'static str,
) -> Result<[u32; N], HostError> {
    let mut value = [0_u32; N];
    let mut length = socklen_of::<[u32; N]>();
    // SAFETY: the descriptor is open while borrowed; the call writes at most `length` octets, the size of `value`,
    // for which every pattern of bits is valid.
    let answer = unsafe {
        libc::getsockopt(socket.as_raw_fd(), level, name, value.as_mut_ptr().cast(), &raw mut length)
    };
    if answer == 0 { Ok(value) } else { Err(last(operation, "")) }
}

/// Maps `octets` octets of what a socket shares, from `offset` of it on. A process that is forked off does not get it:
/// as long as anybody has it, the socket lives.
pub(crate) fn map_shared(
    socket: BorrowedFd<'_>,
    octets: usize,
    offset: libc::off_t,
    subject: &str,
) -> Result<NonNull<u8>, HostError> {
    let access = libc::PROT_READ | libc::PROT_WRITE;
    let flags = libc::MAP_SHARED | libc::MAP_POPULATE;
    // SAFETY: a new mapping, at a place of the kernel's choice.
    let begin =
        unsafe { libc::mmap(std::ptr::null_mut(), octets, access, flags, socket.as_raw_fd(), offset) };
    let place = NonNull::new(begin.cast()).filter(|_| begin != libc::MAP_FAILED);
    let place = place.ok_or_else(|| last("map a ring of", subject))?;
    // SAFETY: the range is the mapping just made. Where it is refused, a fork shares it.
    unsafe { libc::madvise(begin, octets, libc::MADV_DONTFORK) };
    Ok(place)
}

/// Memory that the kernel gives as it is touched, page by page, and that stays where it is.
#[derive(Debug)]
pub(crate) struct Region {
    begin: NonNull<u8>,
    octets: usize,
}

// SAFETY: the region is memory that nothing but its owner refers to, as a `Vec` would be.
unsafe impl Send for Region {}

impl Region {
    /// `octets` octets of zeros.
    pub(crate) fn new(octets: usize) -> Result<Self, HostError> {
        let access = libc::PROT_READ | libc::PROT_WRITE;
        let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_NORESERVE;
        // SAFETY: new anonymous memory, at a place of the kernel's choice.
        let begin = unsafe { libc::mmap(std::ptr::null_mut(), octets, access, flags, -1, 0) };
        match NonNull::new(begin.cast()).filter(|_| begin != libc::MAP_FAILED) {
            Some(begin) => Ok(Self { begin, octets }),
            None => Err(last("map memory", "")),
        }
    }

    pub(crate) const fn octets(&self) -> usize {
        self.octets
    }

    /// Has the system give the first `octets` now. Where it cannot, it gives them as they are touched.
    pub(crate) fn make_ready(&self, octets: usize) {
        let octets = octets.min(self.octets);
        // SAFETY: the range lies within the region, whose contents the call leaves as they are.
        unsafe { libc::madvise(self.begin.as_ptr().cast(), octets, libc::MADV_POPULATE_WRITE) };
    }

    /// Where it begins, for the kernel, which may write from now on.
    pub(crate) fn address(&self) -> u64 {
        u64::try_from(self.begin.as_ptr().expose_provenance()).unwrap_or(0)
    }

    /// The place of `length` octets from `offset` on, which must lie inside.
    fn place(&self, offset: usize, length: usize) -> *mut u8 {
        let inside = offset.checked_add(length).is_some_and(|end| end <= self.octets);
        assert!(inside, "a place beyond the region");
        // SAFETY: the offset lies within the region, which is one mapping.
        unsafe { self.begin.as_ptr().add(offset) }
    }

    /// `length` octets from `offset` on.
    pub(crate) fn part(&self, offset: usize, length: usize) -> &[u8] {
        // SAFETY: the place lies inside, is initialised (the kernel gives zeros), and is shared only with other
        // readers while this borrow lasts.
        unsafe { std::slice::from_raw_parts(self.place(offset, length), length) }
    }

    /// `length` octets from `offset` on, to be changed.
    pub(crate) fn part_mut(&mut self, offset: usize, length: usize) -> &mut [u8] {
        // SAFETY: as in `part`, and the exclusive borrow of the region keeps all others away.
        unsafe { std::slice::from_raw_parts_mut(self.place(offset, length), length) }
    }

    /// Copies `length` octets within the region.
    pub(crate) fn copy(&mut self, from: usize, to: usize, length: usize) {
        let (from, to) = (self.place(from, length), self.place(to, length));
        // SAFETY: both places lie inside, and the call allows for overlap.
        unsafe { std::ptr::copy(from, to, length) };
    }
}

impl Drop for Region {
    fn drop(&mut self) {
        // SAFETY: the mapping is ours, and the borrows of it have ended.
        unsafe { libc::munmap(self.begin.as_ptr().cast(), self.octets) };
    }
}

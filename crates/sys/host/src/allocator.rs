//! The C library's allocator, for programs that take large pieces of memory and give them back again and again.

/// Lets memory that is given back be taken again as it is. Large pieces otherwise go back to the kernel each time, which
/// clears every page of the next one. The program's memory does not become less before it ends.
///
/// To be called before there is another thread. Without effect where the C library is none of GNU's.
pub fn keep_freed_memory() {
    #[cfg(target_env = "gnu")]
    for (parameter, value) in
        [(libc::M_MMAP_MAX, 0), (libc::M_TRIM_THRESHOLD, libc::c_int::MAX), (libc::M_ARENA_MAX, 1)]
    {
        // SAFETY: the call takes plain numbers and changes no memory's contents; the allocator locks its own state.
        unsafe { libc::mallopt(parameter, value) };
    }
}

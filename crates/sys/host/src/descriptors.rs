//! How many files and sockets this process may hold open.

use crate::HostError;

/// Raises the limit as far as this process may without rights, and gives what it is now.
///
/// # Errors
/// A sandbox forbids it (`EPERM`).
pub fn raise() -> Result<u64, HostError> {
    let mut limit = libc::rlimit { rlim_cur: 0, rlim_max: 0 };
    // SAFETY: the call writes one structure into `limit`.
    let answer = unsafe { libc::getrlimit(libc::RLIMIT_NOFILE, &raw mut limit) };
    if answer < 0 {
        return Err(HostError::last("read the limit of open files"));
    }
    limit.rlim_cur = limit.rlim_max;
    // SAFETY: the call reads one structure from `limit`.
    let answer = unsafe { libc::setrlimit(libc::RLIMIT_NOFILE, &raw const limit) };
    if answer < 0 {
        return Err(HostError::last("raise the limit of open files"));
    }
    Ok(limit.rlim_cur)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn raised_once_it_stays_there() {
        assert_eq!(raise().unwrap(), raise().unwrap());
    }
}

//! What can go wrong between romer and the operating system.

use std::io;

/// A request that the operating system did not fulfil.
#[derive(Debug, thiserror::Error)]
pub enum HostError {
    /// A system call failed.
    #[error("{operation}{}{subject}: {source}", if subject.is_empty() { "" } else { " " })]
    System {
        /// What was asked, as a verb: `bind`, `send`, `open`.
        operation: &'static str,
        /// What it was asked of (an address, an interface, a path); empty where that is plain.
        subject: String,
        /// The system's answer.
        source: io::Error,
    },
    /// A name that the kernel would refuse or that would leave its folder.
    #[error("{what} {name:?} is not a legal name: {why}")]
    BadName {
        /// Kind of the thing named.
        what: &'static str,
        /// The name as given.
        name: String,
        /// The rule it breaks.
        why: &'static str,
    },
    /// The thing asked for is not there.
    #[error("there is no {what} {name:?}")]
    Missing {
        /// Kind of the thing.
        what: &'static str,
        /// Its name.
        name: String,
    },
    /// The thing to be made is there already.
    #[error("there is already a {what} {name:?}")]
    Exists {
        /// Kind of the thing.
        what: &'static str,
        /// Its name.
        name: String,
    },
    /// The kernel refused a request over netlink.
    #[error("{operation} {subject}: {answer}")]
    Netlink {
        /// What was asked.
        operation: &'static str,
        /// Of which interface, address or route.
        subject: String,
        /// The kernel's answer.
        answer: String,
        /// The system's error number, where the kernel gave one.
        errno: Option<i32>,
    },
    /// The request cannot be served by this process in its present state.
    #[error("{0}")]
    Unsuitable(&'static str),
}

impl HostError {
    /// The last system call's error, as the failure of `operation`. Allocates nothing.
    pub(crate) fn last(operation: &'static str) -> Self {
        Self::System { operation, subject: String::new(), source: io::Error::last_os_error() }
    }

    /// The last system call's error, as the failure of `operation` on `subject`.
    pub(crate) fn last_on(operation: &'static str, subject: impl Into<String>) -> Self {
        let source = io::Error::last_os_error();
        Self::System { operation, subject: subject.into(), source }
    }

    /// The same error, said of `subject`.
    pub(crate) fn on(self, subject: impl Into<String>) -> Self {
        match self {
            Self::System { operation, source, .. } => {
                Self::System { operation, subject: subject.into(), source }
            }
            other => other,
        }
    }

    /// The system's error number (`libc::E...`), where there is one.
    pub fn errno(&self) -> Option<i32> {
        match self {
            Self::System { source, .. } => source.raw_os_error(),
            Self::Netlink { errno, .. } => *errno,
            _ => None,
        }
    }

    /// Whether a right is missing (`EPERM` or `EACCES`), so that another user or a capability would mend it.
    pub fn is_permission(&self) -> bool {
        matches!(self.errno(), Some(libc::EPERM | libc::EACCES))
    }

    /// Whether a name was to be entered on which no namespace is mounted (`EINVAL`), as a crash may leave it.
    pub fn is_not_a_namespace(&self) -> bool {
        self.errno() == Some(libc::EINVAL)
    }

    /// The error number of a datagram that was refused because it is longer than the path or the protocol allows.
    pub const TOO_LONG: i32 = libc::EMSGSIZE;

    /// The error number of a datagram that is not sent because it was reported that nobody takes an earlier one.
    pub const UNTAKEN: i32 = libc::ECONNREFUSED;

    /// The error number of a datagram that the interface did not take.
    pub const NO_ROOM: i32 = libc::ENOBUFS;

    /// The error number of what somebody else has.
    pub const BUSY: i32 = libc::EBUSY;

    /// Whether a datagram was refused because it is longer than the path or the protocol allows (`EMSGSIZE`).
    pub fn is_too_long(&self) -> bool {
        self.errno() == Some(Self::TOO_LONG)
    }
}

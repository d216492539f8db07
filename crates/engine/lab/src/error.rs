//! What can go wrong with a laboratory.

use std::path::PathBuf;

use romer_host::HostError;

/// Why a laboratory did not do what was asked. Each message ends with what to do about it, where that is known.
#[derive(Debug, thiserror::Error)]
pub enum LabError {
    /// The prefix cannot begin the name of a namespace.
    #[error(
        "this cannot be a prefix ({prefix:?}): {why}; give up to 64 letters, digits, - and _, such as romer"
    )]
    BadPrefix {
        /// The prefix as given.
        prefix: String,
        /// The rule it breaks.
        why: &'static str,
    },
    /// There is no host of that name in the laboratory.
    #[error("there is no host {host:?} (laboratory): it has {hosts}; name one of these")]
    UnknownHost {
        /// The name as given.
        host: String,
        /// The names there are.
        hosts: String,
    },
    /// A laboratory with this prefix stands already.
    #[error(
        "the laboratory is up already ({prefix}, {kind}): none is put up twice; take it down with: romer lab down \
         --prefix {prefix}"
    )]
    AlreadyUp {
        /// Its prefix.
        prefix: String,
        /// What it is.
        kind: &'static str,
    },
    /// No laboratory with this prefix stands.
    #[error(
        "there is no laboratory ({prefix}): none of this prefix is up; put one up with: romer lab up path --prefix {prefix}"
    )]
    NotUp {
        /// The prefix.
        prefix: String,
    },
    /// A laboratory was begun and not finished, or something took part of it away.
    #[error(
        "the laboratory is not whole ({prefix}): it was not finished, or a part was taken away; clear it away with: \
         romer lab down --prefix {prefix}, then put it up again"
    )]
    Broken {
        /// Its prefix.
        prefix: String,
    },
    /// A namespace of the name is there and is not ours.
    #[error(
        "a name is taken (network namespace {name:?}): it exists and is not this laboratory's; choose another --prefix"
    )]
    NameTaken {
        /// The name.
        name: String,
    },
    /// The kernel does not let this user make namespaces.
    #[error(
        "there can be no laboratory (user namespace): this kernel does not let an unprivileged user make a network of \
         its own: {source}; run as root, or allow \
         user namespaces (sysctl user.max_user_namespaces, kernel.unprivileged_userns_clone=1, \
         kernel.apparmor_restrict_unprivileged_userns=0)"
    )]
    Forbidden {
        /// What was refused.
        source: HostError,
    },
    /// The process that holds a rootless laboratory did not do its work.
    #[error("the laboratory failed (the process that holds it): {why}; see `romer doctor`")]
    Holder {
        /// What it said, or how it ended.
        why: String,
    },
    /// The path between the two hosts did not carry packets in time.
    #[error(
        "the laboratory does not work ({from} to {to}): no {family} datagram came through within {seconds} s of building \
         it; see the host's packet filter, and `romer doctor`"
    )]
    Silent {
        /// `IPv4` or `IPv6`.
        family: &'static str,
        /// The sending host.
        from: String,
        /// The receiving host.
        to: String,
        /// How long was waited.
        seconds: i64,
    },
    /// The laboratory's state could not be read or written.
    #[error("cannot {what} ({}): {why}", path.display())]
    State {
        /// What was tried, as a verb.
        what: &'static str,
        /// The file or folder.
        path: PathBuf,
        /// What came of it.
        why: String,
    },
    /// A program that sets the router refused.
    #[error(
        "the router cannot be set ({program}): {why}; install nftables and iproute2, and see that the kernel has the rules"
    )]
    Program {
        /// Which.
        program: &'static str,
        /// What it said.
        why: String,
    },
    /// The operating system refused something.
    #[error("the laboratory failed (system): {0}; see `romer doctor`")]
    Host(#[from] HostError),
}

impl LabError {
    /// Whether the request itself was wrong, rather than this machine unable or unwilling.
    pub const fn is_usage(&self) -> bool {
        matches!(self, Self::BadPrefix { .. } | Self::UnknownHost { .. })
    }
}

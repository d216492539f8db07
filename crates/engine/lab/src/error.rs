//! Errors of a lab.

use std::path::PathBuf;

use romer_host::HostError;

/// Errors of a lab. Each message ends with a remedy, where one is known.
#[derive(Debug, thiserror::Error)]
pub enum LabError {
    /// The prefix cannot begin the name of a namespace.
    #[error("invalid prefix ({prefix:?}): {why}; give up to 64 letters, digits, - and _, e.g. romer")]
    BadPrefix {
        /// The prefix as given.
        prefix: String,
        /// The rule it breaks.
        why: &'static str,
    },
    /// There is no host of that name in the laboratory.
    #[error("unknown host (lab run {host:?}): the lab has {hosts}; give one of these")]
    UnknownHost {
        /// The name as given.
        host: String,
        /// The names there are.
        hosts: String,
    },
    /// The laboratory has no router.
    #[error(
        "the lab has no router (romer lab case, --prefix {prefix}): cases need one; run `romer lab down --prefix {prefix}`, then \
         `romer lab up router --prefix {prefix}`"
    )]
    NoRouter {
        /// Its prefix.
        prefix: String,
    },
    /// A program reserves bandwidth on the router.
    #[error(
        "the router is in use (romer lab case, --prefix {prefix}): `romer lab case rsvp` runs there; end it first, or remove the \
         lab with: romer lab down --prefix {prefix}"
    )]
    Reserving {
        /// Its prefix.
        prefix: String,
    },
    /// A laboratory with this prefix stands already.
    #[error(
        "the lab is already up ({prefix}, {kind}): a prefix has one lab; remove it with: romer lab down --prefix {prefix}"
    )]
    AlreadyUp {
        /// Its prefix.
        prefix: String,
        /// What it is.
        kind: &'static str,
    },
    /// No laboratory with this prefix stands.
    #[error(
        "no lab is up ({prefix}): there is none with this prefix; name the prefix of yours with --prefix, or create one with: \
         romer lab up path --prefix {prefix}"
    )]
    NotUp {
        /// The prefix.
        prefix: String,
    },
    /// A laboratory was begun and not finished, or something took part of it away.
    #[error(
        "the lab is incomplete ({prefix}): it was not finished, or a part was removed; remove it with: romer lab down \
         --prefix {prefix}, then create it again"
    )]
    Broken {
        /// Its prefix.
        prefix: String,
    },
    /// A namespace of the name is there and is not ours.
    #[error(
        "name in use (network namespace {name:?}): it exists and does not belong to this lab; choose another --prefix"
    )]
    NameTaken {
        /// The name.
        name: String,
    },
    /// The kernel does not let this user make namespaces.
    #[error(
        "cannot create a lab (user namespace): this kernel does not let an unprivileged user create network \
         namespaces: {source}; run as root, or allow \
         user namespaces (sysctl user.max_user_namespaces, kernel.unprivileged_userns_clone=1, \
         kernel.apparmor_restrict_unprivileged_userns=0)"
    )]
    Forbidden {
        /// What was refused.
        source: HostError,
    },
    /// The process that holds a rootless laboratory did not do its work.
    #[error("the lab failed (holder process): {why}; see `romer doctor`")]
    Holder {
        /// What it said, or how it ended.
        why: String,
    },
    /// The path between the two hosts did not carry packets in time.
    #[error(
        "the lab does not work ({from} to {to}): no {family} datagram arrived within {seconds} s; check the packet filter of \
         the host, and `romer doctor`"
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
        "cannot configure the router ({program}): {why}; install nftables and iproute2, and check that the kernel supports the \
         rules"
    )]
    Program {
        /// Which.
        program: &'static str,
        /// What it said.
        why: String,
    },
    /// This host cannot be the router.
    #[error("cannot route (romer lab case rsvp): {0}; create a lab with: romer lab up router")]
    Router(&'static str),
    /// The operating system refused something.
    #[error("the lab failed (system): {0}; see `romer doctor`")]
    Host(#[from] HostError),
}

impl LabError {
    /// Whether the request itself was wrong, rather than this machine unable or unwilling.
    pub const fn is_usage(&self) -> bool {
        matches!(self, Self::BadPrefix { .. } | Self::UnknownHost { .. } | Self::NoRouter { .. })
    }
}

//! What can go wrong with a measurement, told so that the reader knows what to do.

use romer_host::HostError;
use romer_host::shaper::ShaperError;
use romer_record::Exit;
use romer_store::StoreError;
use thiserror::Error;

/// What went wrong. The text has the form `WHAT (WHERE): WHY; what to do`.
#[derive(Debug, Error)]
pub enum EndpointError {
    /// The command asks for something that cannot be.
    #[error("{0}")]
    Usage(String),
    /// The system refused something that the measurement needs.
    #[error("cannot {what} ({place}): {source}; {mend}")]
    Host {
        /// What was tried, as a verb.
        what: &'static str,
        /// On what.
        place: String,
        /// Why not.
        source: Box<HostError>,
        /// What to do.
        mend: String,
    },
    /// The kernel of this host does not shape the stream.
    #[error(
        "cannot shape the stream (--shape, {interface}): {source}; {}",
        shaping_remedy(source, interface)
    )]
    Shaping {
        /// The interface.
        interface: String,
        /// Why not.
        source: Box<ShaperError>,
    },
    /// Packets beyond a profile cannot be marked.
    #[error(
        "cannot mark packets beyond the profile (--profile): {why}; install nftables, run as root or in a lab, or omit --profile"
    )]
    Remarking {
        /// What `nft` or the system said.
        why: String,
    },
    /// A name has no address.
    #[error("no address ({name}): {why}; check the name, or give an address")]
    Name {
        /// As it was given.
        name: String,
        /// What the resolver said.
        why: String,
    },
    /// The other end does not answer.
    #[error("no answer ({address}): {why}; {mend}")]
    Unreachable {
        /// Where.
        address: String,
        /// What was seen.
        why: String,
        /// What to do.
        mend: &'static str,
    },
    /// The other end refuses.
    #[error("refused by the responder ({address}): {why}; {mend}")]
    Refused {
        /// Where.
        address: String,
        /// In its words.
        why: String,
        /// What to do.
        mend: String,
    },
    /// A host states no bound of its clock's error, which absolute delays need.
    #[error(
        "unknown clock error ({}): the host states no bound; synchronise its clock with chrony, ntpd or ntpd-rs, or state the bound (--clocks synchronised:1ms)",
        responder.as_deref().unwrap_or("this host")
    )]
    UnknownClockError {
        /// Address of the responder; `None` for this host.
        responder: Option<String>,
    },
    /// A key file does not give a key. Nothing of its content is told.
    #[error("cannot use the key file (--key-file {place}): {why}; {mend}")]
    Key {
        /// Its path.
        place: String,
        /// Why not.
        why: String,
        /// What to do.
        mend: String,
        /// Its content is at fault, not that it is missing or who may read it.
        content: bool,
    },
    /// A file of TLS cannot be used. Nothing of its content is told.
    #[error("cannot use the {what} ({place}): {why}; {mend}")]
    TlsFile {
        /// What it is, with its option.
        what: &'static str,
        /// Its path.
        place: String,
        /// Why not.
        why: String,
        /// What to do.
        mend: String,
        /// Its content is at fault, not that it is missing or who may read it.
        content: bool,
    },
    /// The identity of the other end is not the expected one, or the connection is not protected.
    #[error("the responder is not trusted ({address}): {why}; {mend}")]
    Untrusted {
        /// Where.
        address: String,
        /// Why not.
        why: String,
        /// What to do.
        mend: String,
    },
    /// The run could not be kept.
    #[error(transparent)]
    Store(#[from] StoreError),
}

impl EndpointError {
    /// The exit code of the program.
    pub fn exit(&self) -> Exit {
        match self {
            Self::Usage(_) => Exit::Usage,
            Self::Shaping { source, .. } if matches!(**source, ShaperError::TooDeep) => Exit::Usage,
            Self::Key { content: true, .. } | Self::TlsFile { content: true, .. } => Exit::BadData,
            Self::Host { .. }
            | Self::Shaping { .. }
            | Self::Remarking { .. }
            | Self::UnknownClockError { responder: None }
            | Self::Key { content: false, .. }
            | Self::TlsFile { content: false, .. } => Exit::Environment,
            Self::Name { .. }
            | Self::Unreachable { .. }
            | Self::Refused { .. }
            | Self::Untrusted { .. }
            | Self::UnknownClockError { responder: Some(_) } => Exit::Unreachable,
            Self::Store(error) => error.exit(),
        }
    }

    /// Whether it is about one target, and says nothing about others.
    pub fn is_of_the_far_end(&self) -> bool {
        matches!(
            self,
            Self::Name { .. }
                | Self::Unreachable { .. }
                | Self::Refused { .. }
                | Self::Untrusted { .. }
                | Self::UnknownClockError { responder: Some(_) }
        )
    }

    /// A refusal of the system, with the mend for missing rights where that is the cause.
    pub fn host(what: &'static str, place: impl Into<String>, mend: &str, source: HostError) -> Self {
        Self::Host { what, place: place.into(), source: Box::new(source), mend: mend.into() }
    }
}

/// What to do where the kernel does not shape.
fn shaping_remedy(error: &ShaperError, interface: &str) -> String {
    let remedy = match error {
        ShaperError::Lacking(_) => {
            "load its module with modprobe, choose the other of kernel:htb and kernel:tbf, or omit --shape"
        }
        ShaperError::InUse => {
            return format!(
                "wait until it ends; if no romer runs, remove it with `tc qdisc del dev {interface} root`"
            );
        }
        ShaperError::NotRestorable { .. } => {
            return format!(
                "remove it for the measurement with `tc qdisc del dev {interface} root`, or send by another interface"
            );
        }
        ShaperError::TooDeep => "use a smaller depth or a higher rate in --traffic",
        ShaperError::Host(error) if error.is_permission() => {
            "CAP_NET_ADMIN is missing: run as root, or `sudo setcap cap_net_admin+ep $(command -v romer)`"
        }
        ShaperError::Host(_) => "see whether `tc qdisc show` works here",
    };
    remedy.to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What the kernel lacks and the right that is missing are named, with exit code 4; a bucket is the user's.
    #[test]
    fn shaping_errors_name_the_cause() {
        let refused = HostError::System {
            operation: "ask netlink",
            subject: String::new(),
            source: std::io::Error::from_raw_os_error(1),
        };
        for (source, exit, part) in [
            (
                ShaperError::Lacking("htb (sch_htb)"),
                Exit::Environment,
                "this kernel has no htb (sch_htb); load",
            ),
            (ShaperError::Host(refused), Exit::Environment, "CAP_NET_ADMIN is missing"),
            (
                ShaperError::NotRestorable { kind: "htb".into(), major: 0x1a },
                Exit::Environment,
                "its queueing discipline, htb 1a:, cannot be restored",
            ),
            (ShaperError::InUse, Exit::Environment, "`tc qdisc del dev eth0 root`"),
            (ShaperError::TooDeep, Exit::Usage, "use a smaller depth"),
        ] {
            let error = EndpointError::Shaping { interface: "eth0".into(), source: Box::new(source) };
            let text = error.to_string();
            assert!(
                text.starts_with("cannot shape the stream (--shape, eth0): ") && text.contains(part),
                "{text}"
            );
            assert_eq!(error.exit(), exit, "{text}");
        }
    }
}

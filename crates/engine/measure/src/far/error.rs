//! Why there is no conversation with a responder.

use std::io;
use std::net::SocketAddr;

use romer_endpoint::EndpointError;
use romer_endpoint::host_events::far_words;
use romer_endpoint::tls::ChannelError;
use romer_host::stream::Origin;
use romer_session::control::{ComplaintCode, ProtocolError};

use super::without_errno;
use crate::no_route::{explained, is_here};
use crate::router_report;

/// What a far end may mean that hangs up before its welcome.
pub(super) const HUNG_UP: &str = "it hung up without an answer: it answers other hosts only (its --allow), has too many connections, or is no romer";

/// What is said of an answer that is none.
pub(crate) const INVALID_ANSWER: &str = "its answer is invalid";

/// Why there is no romer at the far end.
#[derive(Debug)]
pub(crate) enum Absent {
    /// Nobody listens, or nobody answers.
    Unreachable(String),
    /// This host has no way to there.
    NoRoute(String),
    /// Somebody answers, but not in our protocol.
    Foreign(String),
    /// One end has a key that the other has not.
    Locked { why: String, mend: &'static str },
    /// There is, but it answers protected connections only.
    Unprotected,
    /// It is not the expected one, or does not trust this end.
    Untrusted { why: String, mend: String },
    /// The key or the known peers of this end cannot be used.
    Own { why: String, error: Box<EndpointError> },
    /// There is, but it does not go on with the session.
    Refused(String),
    /// The host answers, but nobody listens there.
    Closed(String),
}

impl Absent {
    /// Whether asking again may help: the way there may come back, what a far end says stays.
    pub(crate) const fn may_pass(&self) -> bool {
        matches!(self, Self::Unreachable(_) | Self::NoRoute(_))
    }

    /// Why, in words.
    pub(crate) fn why(&self) -> &str {
        match self {
            Self::Unreachable(why)
            | Self::NoRoute(why)
            | Self::Foreign(why)
            | Self::Locked { why, .. }
            | Self::Untrusted { why, .. }
            | Self::Own { why, .. }
            | Self::Refused(why)
            | Self::Closed(why) => why,
            Self::Unprotected => "it answers TLS connections only",
        }
    }

    /// By what became of the attempt to connect with `target`, `from` there.
    pub(crate) fn classify(error: &io::Error, target: SocketAddr, from: &Origin) -> Self {
        match error.kind() {
            io::ErrorKind::ConnectionRefused => Self::Closed(without_errno(error)),
            io::ErrorKind::TimedOut | io::ErrorKind::WouldBlock | io::ErrorKind::ConnectionReset => {
                Self::Unreachable(without_errno(error))
            }
            _ => match router_report::asked(error, target, from) {
                Some(report) => Self::Unreachable(romer_report::event::router_report(&report)),
                None if is_here(error, target) => Self::NoRoute(explained(error, target)),
                None => Self::Unreachable(explained(error, target)),
            },
        }
    }
}

impl From<ChannelError> for Absent {
    fn from(error: ChannelError) -> Self {
        match error {
            ChannelError::Io(error) => Self::Unreachable(without_errno(&error)),
            ChannelError::Closed => Self::Foreign(HUNG_UP.into()),
            ChannelError::Foreign(why) => Self::Foreign(why),
            ChannelError::Untrusted { why, mend } => Self::Untrusted { why, mend },
            ChannelError::Own(error) => Self::Own { why: error.to_string(), error: Box::new(error) },
        }
    }
}

impl From<&ProtocolError> for Absent {
    fn from(complaint: &ProtocolError) -> Self {
        match complaint.code {
            ComplaintCode::Unprotected => Self::Unprotected,
            ComplaintCode::NotPaired => Self::Untrusted {
                why: "it answers paired initiators only (its --paired-only)".into(),
                mend: "start `romer respond --pair` there, and run `romer pair` here".into(),
            },
            _ => Self::Foreign(far_words(&complaint.message)),
        }
    }
}

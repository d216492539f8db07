//! Names of subjects, of the bucket and its keys, and message identifiers.

use core::fmt;
use core::str::FromStr;

use thiserror::Error;

use crate::time::Minute;
use crate::token::Token;

/// The first tokens of every subject: the program, and the version of the messages.
pub const PREFIX: &str = "romer.v1";
/// The bucket of the key-value store with the plans of the agents.
pub const PLAN_BUCKET: &str = "romer_plan";
/// The header by which NATS refuses a message that it has stored.
pub const MESSAGE_ID_HEADER: &str = "Nats-Msg-Id";

/// What a subject carries.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Channel {
    /// Packet rows of a minute, as Parquet.
    Rows,
    /// Minute sums, as JSON.
    Sums,
    /// Heartbeats, as JSON.
    State,
    /// Events, as JSON.
    Events,
}

impl Channel {
    /// All channels.
    pub const ALL: [Self; 4] = [Self::Rows, Self::Sums, Self::State, Self::Events];

    /// Its token in a subject.
    pub const fn token(self) -> &'static str {
        match self {
            Self::Rows => "rows",
            Self::Sums => "sums",
            Self::State => "state",
            Self::Events => "events",
        }
    }
}

/// The subject of one agent: `romer.v1.CHANNEL.TENANT.AGENT`.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Subject {
    /// What it carries.
    pub channel: Channel,
    /// The tenant.
    pub tenant: Token,
    /// The agent, which alone may publish to it.
    pub agent: Token,
}

/// A text that is no subject or message identifier of a fleet.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("{text:?} is not {expected}")]
pub struct NameError {
    /// The beginning of the text.
    pub text: String,
    /// The form that was expected.
    pub expected: &'static str,
}

impl NameError {
    fn new(text: &str, expected: &'static str) -> Self {
        Self { text: romer_units::excerpt(text, 80), expected }
    }
}

impl fmt::Display for Subject {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{PREFIX}.{}.{}.{}", self.channel.token(), self.tenant, self.agent)
    }
}

impl FromStr for Subject {
    type Err = NameError;
    fn from_str(text: &str) -> Result<Self, NameError> {
        let wrong = || NameError::new(text, "a subject romer.v1.CHANNEL.TENANT.AGENT");
        let rest = text.strip_prefix(PREFIX).and_then(|rest| rest.strip_prefix('.')).ok_or_else(wrong)?;
        let mut tokens = rest.split('.');
        let (Some(channel), Some(tenant), Some(agent), None) =
            (tokens.next(), tokens.next(), tokens.next(), tokens.next())
        else {
            return Err(wrong());
        };
        let channel = Channel::ALL.into_iter().find(|one| one.token() == channel).ok_or_else(wrong)?;
        let [tenant, agent] = [tenant, agent].map(|token| token.parse::<Token>().map_err(|_| wrong()));
        Ok(Self { channel, tenant: tenant?, agent: agent? })
    }
}

/// The subject that matches all agents of a tenant, or of all tenants: `romer.v1.CHANNEL.TENANT.*`, `romer.v1.CHANNEL.*.*`.
pub fn wildcard(channel: Channel, tenant: Option<&Token>) -> String {
    let tenant = tenant.map_or("*", Token::as_str);
    format!("{PREFIX}.{}.{tenant}.*", channel.token())
}

/// The name of the stream that keeps a channel: `romer_rows`, `romer_sums`, `romer_state`, `romer_events`.
pub fn stream_name(channel: Channel) -> String {
    format!("romer_{}", channel.token())
}

/// The key of an agent's plan in [`PLAN_BUCKET`].
pub fn plan_key(agent: &Token) -> &str {
    agent.as_str()
}

/// The identifier of a message of an agent's run and minute: `RUN.AGENT.MINUTE`. A message that is published again has the same.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct MessageId {
    /// The run.
    pub run: Token,
    /// The agent.
    pub agent: Token,
    /// The minute.
    pub minute: Minute,
}

impl fmt::Display for MessageId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}.{}", self.run, self.agent, self.minute)
    }
}

impl FromStr for MessageId {
    type Err = NameError;
    fn from_str(text: &str) -> Result<Self, NameError> {
        let wrong = || NameError::new(text, "a message identifier RUN.AGENT.MINUTE");
        let mut tokens = text.split('.');
        let (Some(run), Some(agent), Some(minute), None) =
            (tokens.next(), tokens.next(), tokens.next(), tokens.next())
        else {
            return Err(wrong());
        };
        let [run, agent] = [run, agent].map(|token| token.parse::<Token>().map_err(|_| wrong()));
        // The only text of a number: an identifier that differs would be another message to the server.
        let minute = minute.parse::<i64>().ok().filter(|number| number.to_string() == minute);
        Ok(Self { run: run?, agent: agent?, minute: Minute(minute.ok_or_else(wrong)?) })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Subjects and identifiers are read as they are written.
    #[test]
    fn names_are_read_back() {
        let subject = Subject {
            channel: Channel::Rows,
            tenant: Token::new("acme").unwrap(),
            agent: Token::new("fra-1").unwrap(),
        };
        assert_eq!(subject.to_string(), "romer.v1.rows.acme.fra-1");
        assert_eq!(subject.to_string().parse(), Ok(subject));
        let id = MessageId {
            run: Token::new("r1").unwrap(),
            agent: Token::new("fra-1").unwrap(),
            minute: Minute(29_840_045),
        };
        assert_eq!(id.to_string(), "r1.fra-1.29840045");
        assert_eq!(id.to_string().parse(), Ok(id));
        assert_eq!(wildcard(Channel::Sums, None), "romer.v1.sums.*.*");
    }

    /// Wildcards, missing and surplus tokens, and other forms of a number are refused.
    #[test]
    fn other_names_are_refused() {
        for text in [
            "",
            "romer.v1",
            "romer.v1.rows.acme",
            "romer.v1.rows.acme.a.b",
            "romer.v1.rows.*.a",
            "romer.v1.rows.acme.>",
            "romer.v2.rows.acme.a",
            "romer.v1rows.acme.a",
            "romer.v1.other.acme.a",
            "romer.v1.rows..a",
        ] {
            assert!(text.parse::<Subject>().is_err(), "{text}");
        }
        for text in ["r.a", "r.a.+1", "r.a.01", "r.a.1.2", ".a.1", "r.a.x"] {
            assert!(text.parse::<MessageId>().is_err(), "{text}");
        }
    }
}

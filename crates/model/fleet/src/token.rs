//! Names that are valid in subjects, keys and message identifiers.

use core::fmt;
use core::str::FromStr;
use std::borrow::Borrow;

use schemars::JsonSchema;
use serde::{Deserialize, Deserializer, Serialize};
use thiserror::Error;

/// The most octets of a token. Folders, keys and subjects of NATS allow more.
pub const MAX_TOKEN: usize = 64;

/// The name of a tenant, site, agent, traffic or run: 1 to 64 ASCII letters, digits, `-` and `_`.
///
/// It has no dot, because dots separate the tokens of a subject, and none of the wildcards `*` and `>`.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, JsonSchema)]
#[serde(transparent)]
pub struct Token(#[schemars(regex(pattern = "^[A-Za-z0-9_-]{1,64}$"))] String);

/// A text that is not a [`Token`].
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("{text:?} is not a name; write 1 to 64 letters (A to Z, a to z), digits, - and _")]
pub struct TokenError {
    /// The beginning of the text.
    pub text: String,
}

impl Token {
    /// The text as a token.
    ///
    /// # Errors
    /// [`TokenError`] for an empty or long text, and for other characters.
    pub fn new(text: impl Into<String>) -> Result<Self, TokenError> {
        let text = text.into();
        let is_plain = |octet: u8| octet.is_ascii_alphanumeric() || matches!(octet, b'-' | b'_');
        if text.is_empty() || text.len() > MAX_TOKEN || !text.bytes().all(is_plain) {
            return Err(TokenError { text: romer_units::excerpt(&text, 40) });
        }
        Ok(Self(text))
    }

    /// Its text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl FromStr for Token {
    type Err = TokenError;
    fn from_str(text: &str) -> Result<Self, TokenError> {
        Self::new(text)
    }
}

impl fmt::Display for Token {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&self.0)
    }
}

impl AsRef<str> for Token {
    fn as_ref(&self) -> &str {
        &self.0
    }
}

impl Borrow<str> for Token {
    fn borrow(&self) -> &str {
        &self.0
    }
}

impl<'de> Deserialize<'de> for Token {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        String::deserialize(deserializer)?.parse().map_err(serde::de::Error::custom)
    }
}

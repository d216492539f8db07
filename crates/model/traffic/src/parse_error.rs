//! Why a text is no traffic.

use thiserror::Error;

/// Why a text is no traffic model, mixture of sizes or departure jitter.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum ParseError {
    /// The name is not one of a model.
    #[error("no traffic model is named {name:?}; use {}", forms.join(", "))]
    UnknownModel {
        /// What was written, cut to a length that one can read.
        name: String,
        /// The forms of those that there are.
        forms: &'static [&'static str],
    },
    /// A model's name is followed by what it does not take.
    #[error("{text:?} is not understood: {why}")]
    Malformed {
        /// What was written, cut to a length that one can read.
        text: String,
        /// What is wrong, and what to write instead.
        why: String,
    },
    /// A mixture of sizes that is none.
    #[error("the mixture of sizes {text:?} is not understood: {why}")]
    Imix {
        /// What was written, cut to a length that one can read.
        text: String,
        /// What is wrong, and what to write instead.
        why: String,
    },
    /// A departure jitter that is none.
    #[error("the departure jitter {text:?} is not understood: {why}")]
    Jitter {
        /// What was written, cut to a length that one can read.
        text: String,
        /// What is wrong, and what to write instead.
        why: String,
    },
}

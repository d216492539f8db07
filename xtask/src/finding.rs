//! What the checks report.

/// Something that breaks a rule, and where.
#[derive(Debug, PartialEq)]
pub(crate) struct Violation {
    /// A file, with its line where that helps, or a crate.
    pub(crate) place: String,
    /// Which rule is broken, and what to do.
    pub(crate) what: String,
    /// A warning is printed but does not fail the check.
    pub(crate) warning: bool,
}

impl Violation {
    pub(crate) fn error(place: impl Into<String>, what: impl Into<String>) -> Self {
        Self { place: place.into(), what: what.into(), warning: false }
    }
}

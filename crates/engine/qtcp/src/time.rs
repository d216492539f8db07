//! Points in time.

/// A point in time as the documents have it.
pub(crate) fn rfc3339(time: std::time::SystemTime) -> String {
    humantime::format_rfc3339_micros(time).to_string()
}

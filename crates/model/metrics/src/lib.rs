//! TODO-room metrics

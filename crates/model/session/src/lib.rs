//! TODO-room session

//! TODO-room traffic

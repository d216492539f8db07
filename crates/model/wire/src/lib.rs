//! TODO-room wire

//! TODO-room sim

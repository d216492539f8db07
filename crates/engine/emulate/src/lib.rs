//! The emulator: `romer-impair`'s engine, driven by live ports.

pub mod live;

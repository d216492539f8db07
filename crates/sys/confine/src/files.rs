//! Which files a process opens after its set-up.

use std::path::PathBuf;

/// Folders and files that a process opens. A folder stands for all below it. Those that do not exist are ignored.
#[derive(Clone, Debug, Default)]
pub struct Files {
    /// Read, besides the system's own (see [`SYSTEM`](crate::landlock::SYSTEM)).
    pub read: Vec<PathBuf>,
    /// Read, written, created and removed. The folders that hold them can be listed.
    pub write: Vec<PathBuf>,
}

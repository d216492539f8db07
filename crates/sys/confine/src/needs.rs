//! What a process still does after its set-up.

use crate::capability::CapabilitySet;
use crate::files::Files;

/// What a process still does after its set-up.
#[derive(Clone, Debug, Default)]
pub struct Needs {
    /// The capabilities that remain, as far as the process has them.
    pub capabilities: CapabilitySet,
    /// The files that it opens; `None` for all.
    pub files: Option<Files>,
    /// It starts programs.
    pub programs: bool,
    /// It uses eBPF maps and programs.
    pub kernel_programs: bool,
    /// It enters network namespaces.
    pub namespaces: bool,
    /// It makes namespaces and mounts for test hosts. This implies `programs` and `namespaces`, and excludes `files`: a process
    /// with Landlock rules cannot mount.
    pub laboratories: bool,
}

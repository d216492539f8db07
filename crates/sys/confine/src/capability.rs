//! Capabilities (`capabilities(7)`): sets of them, and those that files of other users require.

use std::ffi::CString;
use std::fmt;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use crate::files::Files;

/// A capability that romer can use, by the kernel's number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Capability {
    /// Opening files whatever their permissions.
    DacOverride = 1,
    /// Reading files and folders whatever their permissions.
    DacReadSearch = 2,
    /// Ports below 1,024.
    NetBindService = 10,
    /// Links, addresses, routes, larger receive buffers.
    NetAdmin = 12,
    /// Raw and packet sockets.
    NetRaw = 13,
    /// Memory that is never paged out.
    IpcLock = 14,
    /// Looking into other processes, such as at their namespaces.
    SysPtrace = 19,
    /// Namespaces and mounts.
    SysAdmin = 21,
    /// Real-time scheduling.
    SysNice = 23,
    /// Programs in the kernel.
    Bpf = 39,
}

impl Capability {
    /// All of them.
    pub const ALL: [Self; 10] = [
        Self::DacOverride,
        Self::DacReadSearch,
        Self::NetBindService,
        Self::NetAdmin,
        Self::NetRaw,
        Self::IpcLock,
        Self::SysPtrace,
        Self::SysAdmin,
        Self::SysNice,
        Self::Bpf,
    ];

    /// As the kernel and `setcap` name it, without `cap_`.
    pub const fn name(self) -> &'static str {
        match self {
            Self::DacOverride => "dac_override",
            Self::DacReadSearch => "dac_read_search",
            Self::NetBindService => "net_bind_service",
            Self::NetAdmin => "net_admin",
            Self::NetRaw => "net_raw",
            Self::IpcLock => "ipc_lock",
            Self::SysPtrace => "sys_ptrace",
            Self::SysAdmin => "sys_admin",
            Self::SysNice => "sys_nice",
            Self::Bpf => "bpf",
        }
    }
}

/// Capabilities, one bit each by the kernel's number.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CapabilitySet(u64);

impl CapabilitySet {
    /// Every capability of every kernel.
    pub const ALL: Self = Self(u64::MAX);

    /// Those in either set.
    #[must_use]
    pub const fn union(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    /// Whether `capability` is in the set.
    pub const fn has(self, capability: Capability) -> bool {
        self.0 & (1 << capability as u64) != 0
    }

    /// Whether no capability is in the set.
    pub const fn is_empty(self) -> bool {
        self.0 == 0
    }

    /// One bit each, by the kernel's number.
    pub const fn bits(self) -> u64 {
        self.0
    }

    /// The permitted set of this thread; `None` if the kernel does not say.
    pub(crate) fn permitted() -> Option<Self> {
        Words::read().map(|words| Self(words.permitted()))
    }
}

impl<const N: usize> From<[Capability; N]> for CapabilitySet {
    fn from(capabilities: [Capability; N]) -> Self {
        Self(capabilities.iter().fold(0, |bits, one| bits | (1 << *one as u64)))
    }
}

impl fmt::Display for CapabilitySet {
    /// The names, separated by spaces; `none`, or `all` for more than romer can use.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let known = Self::from(Capability::ALL);
        if self.is_empty() {
            return f.write_str("none");
        }
        if self.0 & !known.0 != 0 {
            return f.write_str("all");
        }
        let names: Vec<&str> =
            Capability::ALL.into_iter().filter(|one| self.has(*one)).map(Capability::name).collect();
        f.write_str(&names.join(" "))
    }
}

/// `_LINUX_CAPABILITY_VERSION_3`.
const VERSION: u32 = 0x2008_0522;

/// The thread that the words are of: the current one.
#[repr(C)]
struct Header {
    version: u32,
    process: libc::c_int,
}

/// The sets of a thread as `capget` gives them: effective, permitted and inheritable, of the lower and of the upper 32.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Words([u32; 6]);

impl Words {
    /// Those of this thread.
    pub(crate) fn read() -> Option<Self> {
        let header = Header { version: VERSION, process: 0 };
        let mut words = [0_u32; 6];
        // SAFETY: the header outlives the call, which writes two structures of three words into `words`.
        let answer = unsafe { libc::syscall(libc::SYS_capget, &raw const header, words.as_mut_ptr()) };
        (answer == 0).then_some(Self(words))
    }

    /// Makes them those of this thread. Gives whether the kernel agreed.
    pub(crate) fn set(self) -> bool {
        let header = Header { version: VERSION, process: 0 };
        // SAFETY: header and words outlive the call, which reads both.
        unsafe { libc::syscall(libc::SYS_capset, &raw const header, self.0.as_ptr()) == 0 }
    }

    /// Without what is not in `keep`.
    pub(crate) const fn reduced(self, keep: CapabilitySet) -> Self {
        let [low, high] = Self::halves(keep.0);
        let [a, b, c, d, e, f] = self.0;
        Self([a & low, b & low, c & low, d & high, e & high, f & high])
    }

    /// With these not in effect; they can be put into effect again.
    const fn without_effect(self, suspended: CapabilitySet) -> Self {
        let [low, high] = Self::halves(!suspended.0);
        let [a, b, c, d, e, f] = self.0;
        Self([a & low, b, c, d & high, e, f])
    }

    const fn permitted(self) -> u64 {
        let [_, low, _, _, high, _] = self.0;
        // `u64::from` is no constant function.
        (high as u64) << 32 | low as u64
    }

    #[expect(clippy::cast_possible_truncation, reason = "the words are the halves")]
    const fn halves(bits: u64) -> [u32; 2] {
        [bits as u32, (bits >> 32) as u32]
    }
}

/// The capabilities without which `files` cannot be opened: those of root for files of other users.
pub(crate) fn required_for(files: &Files) -> CapabilitySet {
    let override_all = CapabilitySet::from([Capability::DacOverride, Capability::DacReadSearch]);
    let Some(words) = Words::read().filter(|words| words.permitted() & override_all.0 != 0) else {
        return CapabilitySet::default();
    };
    if !words.without_effect(override_all).set() {
        return CapabilitySet::default();
    }
    let is_refused = |path: &Path, mode| !may_access(path, mode);
    let writes = files.write.iter().any(|path| {
        let search = if path.is_dir() { libc::X_OK } else { 0 };
        is_refused(path, libc::R_OK | libc::W_OK | search)
    });
    let reads = files.read.iter().any(|path| is_refused(path, libc::R_OK));
    words.set();
    let mut required = CapabilitySet::default();
    if writes {
        required = required.union([Capability::DacOverride].into());
    }
    if reads {
        required = required.union([Capability::DacReadSearch].into());
    }
    required
}

/// Whether the effective user may open `path`; also if there is none.
fn may_access(path: &Path, mode: libc::c_int) -> bool {
    let Ok(path) = CString::new(path.as_os_str().as_bytes()) else { return true };
    // SAFETY: the path is a string that ends in zero and outlives the call.
    let answer = unsafe { libc::faccessat(libc::AT_FDCWD, path.as_ptr(), mode, libc::AT_EACCESS) };
    answer == 0 || std::io::Error::last_os_error().raw_os_error() != Some(libc::EACCES)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A set prints its names, and numbers its members as the kernel does.
    #[test]
    fn sets_have_names() {
        assert_eq!(CapabilitySet::default().to_string(), "none");
        assert_eq!(CapabilitySet::ALL.to_string(), "all");
        let both = CapabilitySet::from([Capability::NetRaw, Capability::NetAdmin]);
        assert_eq!(both.to_string(), "net_admin net_raw");
        assert_eq!(both.bits(), 0x3000);
        assert!(both.has(Capability::NetRaw) && !both.has(Capability::Bpf));
    }

    /// A reduction takes from all three sets, in both halves.
    #[test]
    fn reductions_reach_both_halves() {
        let keep = CapabilitySet::from([Capability::NetAdmin, Capability::Bpf]);
        let all = Words([u32::MAX; 6]);
        assert_eq!(all.reduced(keep).0, [1 << 12, 1 << 12, 1 << 12, 1 << 7, 1 << 7, 1 << 7]);
        assert_eq!(all.reduced(keep).permitted(), keep.bits());
        assert_eq!(all.without_effect(CapabilitySet::ALL).permitted(), u64::MAX);
    }

    /// What a path does not forbid requires nothing, and a path that does not exist neither.
    #[test]
    fn own_files_require_nothing() {
        let folder = tempfile::tempdir().unwrap();
        let files = Files { read: vec!["/nonexistent".into()], write: vec![folder.path().into()] };
        assert!(required_for(&files).is_empty());
    }
}

//! Confinement: what a process gives up once it is set up, so that a fault in it harms the host less.
//!
//! [`confine`] applies four layers to all threads of the process, and to all processes that these start later:
//!
//! - capabilities: those that [`Needs`] names remain ([`capability`]);
//! - no new privileges (`PR_SET_NO_NEW_PRIVS`);
//! - files: only the stated folders can be opened (Landlock, [`landlock`]);
//! - system calls: a filter (seccomp) ends the process at a call that romer never makes and that attacks the kernel, such as
//!   `ptrace` or `init_module`. Any other call that is not needed fails ([`filter`]).
//!
//! A layer that this kernel does not have is left out; [`Layers`] says which are active. A confined process cannot undo them.
//!
//! ```no_run
//! use romer_confine::{Capability, Files, Needs, confine};
//!
//! let files = Files { read: vec![], write: vec!["/var/lib/romer".into()] };
//! let needs = Needs { capabilities: [Capability::SysNice].into(), files: Some(files), ..Needs::default() };
//! let layers = confine(&needs);
//! assert!(layers.no_new_privileges);
//! ```

#[cfg(not(all(target_os = "linux", target_pointer_width = "64", target_endian = "little")))]
compile_error!("romer-confine knows the system calls of Linux on 64-bit little-endian machines only");

mod calls;
pub mod capability;
mod files;
pub mod filter;
pub mod landlock;
mod needs;
mod threads;

use std::sync::{Mutex, PoisonError};

pub use capability::{Capability, CapabilitySet};
pub use files::Files;
use filter::Filter;
use landlock::Ruleset;
pub use needs::Needs;
use threads::{Failures, Reduction};

/// The layers that are active.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Layers {
    /// The capabilities that are left; `None` if a thread could not give up the others.
    pub capabilities: Option<CapabilitySet>,
    /// Programs that are started get no privileges of their own.
    pub no_new_privileges: bool,
    /// System calls are filtered.
    pub system_calls: bool,
    /// Files are restricted, by this version of Landlock.
    pub files: Option<u32>,
}

/// What this kernel offers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Support {
    /// Filters of system calls (seccomp).
    pub system_calls: bool,
    /// The version of Landlock, from 1; `None` if the kernel has none or it is switched off.
    pub landlock: Option<u32>,
}

/// Looks at the kernel, and changes nothing.
pub fn support() -> Support {
    Support { system_calls: filter::is_supported(), landlock: landlock::version() }
}

/// Gives up all that `needs` does not name, in all threads of this process.
pub fn confine(needs: &Needs) -> Layers {
    static ONE_AT_A_TIME: Mutex<()> = Mutex::new(());
    let _alone = ONE_AT_A_TIME.lock().unwrap_or_else(PoisonError::into_inner);
    let files = needs.files.as_ref().filter(|_| !needs.laboratories);
    let ruleset = files.and_then(|files| Ruleset::new(files, needs.programs).ok());
    let foreign = needs.files.as_ref().map(capability::required_for).unwrap_or_default();
    let keep = needs.capabilities.union(foreign);
    let starts_programs = needs.programs || needs.laboratories;
    let reduction = Reduction::new(keep, starts_programs, ruleset.as_ref());
    let failures = threads::in_all(reduction);
    let system_calls = !failures.contains(Failures::NO_NEW_PRIVILEGES) && Filter::new(needs).install();
    Layers {
        capabilities: CapabilitySet::permitted().filter(|_| !failures.contains(Failures::CAPABILITIES)),
        no_new_privileges: !failures.contains(Failures::NO_NEW_PRIVILEGES),
        system_calls,
        files: ruleset.map(|ruleset| ruleset.version()).filter(|_| !failures.contains(Failures::FILES)),
    }
}

/// A confinement that is prepared for a process to come: [`Prepared::apply`] makes system calls only, so that it can run between
/// `fork` and the end of the child.
#[derive(Debug)]
pub struct Prepared {
    reduction: Reduction,
    filter: Filter,
}

impl Prepared {
    /// Prepares what `needs` says. Its files are not restricted.
    pub fn new(needs: &Needs) -> Self {
        let starts_programs = needs.programs || needs.laboratories;
        Self {
            reduction: Reduction::new(needs.capabilities, starts_programs, None),
            filter: Filter::new(needs),
        }
    }

    /// Applies it to the current thread. Gives whether all layers are active.
    pub fn apply(&self) -> bool {
        let failures = self.reduction.apply();
        failures.is_empty() && self.filter.install_here()
    }
}

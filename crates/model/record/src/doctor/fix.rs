//! Remedies.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::check::HostCapability;

/// Remedy for a limitation of this machine.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "code", rename_all = "kebab-case")]
pub enum DoctorFix {
    /// Run a command in a shell.
    Command {
        /// The command; with `sudo` if this user is not root.
        command: String,
    },
    /// Run `romer doctor` as root.
    RunAsRoot,
    /// Run romer on the host itself, outside a container or sandbox.
    RunOnHost,
    /// Start the container with more capabilities.
    AddContainerCapabilities {
        /// The capabilities.
        capabilities: Vec<HostCapability>,
    },
    /// Start romer outside the sandbox that sets `no_new_privs`.
    PermitNewPrivileges,
    /// Give capabilities to the executable file of romer, which has no known path.
    GrantCapabilities {
        /// The capabilities.
        capabilities: Vec<HostCapability>,
    },
    /// Configure the hypervisor to provide a clock that user space can read.
    ProvideUserSpaceClock,
    /// Run a daemon that synchronises the clock.
    RunSyncDaemon,
    /// Let chronyd, or another daemon, steer the clock.
    SteerClock,
    /// Let chronyd report the clock to the kernel as synchronised.
    AddRtcsync,
    /// Check the status of a daemon.
    CheckSyncDaemon {
        /// Name of the daemon.
        daemon: String,
    },
    /// Use a nearer time server, or PTP.
    UseNearerTimeServer,
    /// Start both ends in the same time namespace.
    ShareTimeNamespace,
    /// Install a newer kernel.
    UpdateKernel {
        /// Oldest release that suffices.
        oldest: String,
    },
    /// No action is possible. The other checks are tests, and do not depend on the release of the kernel.
    RelyOnTests,
    /// Use a kernel with features that this one lacks.
    UseCompleteKernel,
    /// Use a kernel with seccomp and Landlock.
    UseConfiningKernel,
    /// Use a kernel with tcx, or other time stamps.
    UseKernelWithTcx,
    /// Use a kernel that reports the XDP modes of a driver.
    UseKernelWithXdpReport,
    /// Use an interface with native XDP.
    UseNativeXdp,
    /// Use an interface with hardware time stamps, if microseconds matter.
    UseHardwareStamps,
    /// Use a dedicated machine or dedicated processors.
    UseDedicatedMachine,
    /// Stop other programs on this host.
    StopOtherPrograms,
    /// Remove the limit of processor time of the control group.
    RemoveQuota,
    /// Give the machine or the container a second processor.
    AddProcessor,
    /// Permit the container or the service to use more processors.
    PermitProcessors,
    /// Give the control group a budget for real-time threads.
    BudgetRealTime {
        /// File of the budget.
        file: String,
    },
    /// Set the environment variable HOME or XDG_STATE_HOME.
    SetRunFolder,
    /// Store runs on a disk that is writable.
    UseWritableDisk,
    /// Store runs of high rates on another disk.
    UseFasterDisk,
    /// Check packet filters on the loopback interface, and free memory.
    CheckLoopback,
    /// Try again, with free memory and processor time.
    TryAgain,
}

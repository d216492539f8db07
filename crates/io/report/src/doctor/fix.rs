//! Remedies.

use romer_record::doctor::DoctorFix;

use super::rights::names;
use crate::sentence::list;

/// A sentence, or the command.
pub(super) fn text(fix: &DoctorFix) -> String {
    match fix {
        DoctorFix::Command { command } => command.clone(),
        DoctorFix::RunAsRoot => "Run romer doctor as root.".into(),
        DoctorFix::RunOnHost => "Run romer on the host itself, outside this container or sandbox.".into(),
        DoctorFix::AddContainerCapabilities { capabilities } => {
            let options: Vec<String> =
                names(capabilities).iter().map(|name| format!("--cap-add={name}")).collect();
            format!("Start the container with {}.", options.join(" "))
        }
        DoctorFix::PermitNewPrivileges => {
            "Start romer outside the sandbox that sets no_new_privs (of systemd: NoNewPrivileges=no).".into()
        }
        DoctorFix::GrantCapabilities { capabilities } => {
            let all: Vec<String> =
                capabilities.iter().map(|one| format!("cap_{}", one.name())).collect();
            format!("Give romer the capabilities {}.", list(&all))
        }
        DoctorFix::ProvideUserSpaceClock => {
            "Configure the hypervisor to provide a clock that user space can read (invariant TSC, kvm-clock).".into()
        }
        DoctorFix::RunSyncDaemon => "Run chrony, or another daemon that synchronises the clock.".into(),
        DoctorFix::SteerClock => "Start chronyd without -x, or let another daemon steer the clock.".into(),
        DoctorFix::AddRtcsync => {
            "Add `rtcsync` to chrony.conf. If chronyd runs with -x, it does not steer the clock: start it without.".into()
        }
        DoctorFix::CheckSyncDaemon { daemon } => format!(
            "Check the status of {daemon}: it may have no server yet, or no permission to set the clock."
        ),
        DoctorFix::UseNearerTimeServer => {
            "Use a nearer time server, or PTP, to compare times of different hosts.".into()
        }
        DoctorFix::ShareTimeNamespace => "Start both ends in the same time namespace.".into(),
        DoctorFix::UpdateKernel { oldest } => format!("Install a kernel of {oldest} or later."),
        DoctorFix::RelyOnTests => "Rely on the other findings, which are tests.".into(),
        DoctorFix::UseCompleteKernel => {
            "Use a kernel with these features, such as a distribution kernel.".into()
        }
        DoctorFix::UseConfiningKernel => {
            "Use a kernel with CONFIG_SECCOMP_FILTER and CONFIG_SECURITY_LANDLOCK, and landlock in its list of modules (lsm=).".into()
        }
        DoctorFix::UseKernelWithTcx => "Use Linux 6.6 or later, or --stamp kernel.".into(),
        DoctorFix::UseKernelWithXdpReport => {
            "Linux 6.3 and later report the modes of a driver; romer emulate tries them, and reports the one in use.".into()
        }
        DoctorFix::UseNativeXdp => "If the rate matters, use an interface with native XDP.".into(),
        DoctorFix::UseHardwareStamps => {
            "No action needed: if microseconds matter, use an interface with hardware time stamps.".into()
        }
        DoctorFix::UseDedicatedMachine => {
            "Use a dedicated machine or dedicated processors; otherwise rely on medians.".into()
        }
        DoctorFix::StopOtherPrograms => {
            "The finding \"stolen time\" has the share of the host; stop other programs on this host.".into()
        }
        DoctorFix::RemoveQuota => {
            "Remove the limit: cpu.max or cpu.cfs_quota_us of the group, CPUQuota= of a systemd unit, --cpus of a container.".into()
        }
        DoctorFix::AddProcessor => "Give the machine, or the container, a second core.".into(),
        DoctorFix::PermitProcessors => {
            "Give the container or service more processors (systemd: AllowedCPUs=, CPUAffinity=).".into()
        }
        DoctorFix::BudgetRealTime { file } => format!(
            "Give this control group a budget for real-time threads ({file}), or start romer outside it."
        ),
        DoctorFix::SetRunFolder => "Set HOME, or XDG_STATE_HOME, to a folder of this user.".into(),
        DoctorFix::UseWritableDisk => {
            "Set XDG_STATE_HOME to a folder of this user, on a disk with free space.".into()
        }
        DoctorFix::UseFasterDisk => "Store runs with high rates on another disk, with --out.".into(),
        DoctorFix::CheckLoopback => "Check packet filters on the loopback interface, and free memory.".into(),
        DoctorFix::TryAgain => {
            "Try again: time stamps are lost on a host without free memory or processor time.".into()
        }
    }
}

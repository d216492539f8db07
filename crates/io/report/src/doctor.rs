//! Findings of `romer doctor` as text.

mod clocks;
mod fix;
mod host;
mod network;
mod page;
mod rights;
mod statement;
mod timing;

use romer_record::doctor::{CheckVerdict, Doctor, DoctorCheck, DoctorFinding, DoctorText, ExplainedFinding};
use romer_record::document;

pub use page::text;
use statement::Statement;

/// The document of these findings, each with its text.
pub fn document(findings: Vec<DoctorFinding>) -> Doctor {
    let explained = |finding: DoctorFinding| ExplainedFinding { text: explain(&finding), finding };
    Doctor {
        schema: document::DOCTOR.into(),
        software: romer_record::SOFTWARE.into(),
        findings: findings.into_iter().map(explained).collect(),
    }
}

/// The text of a finding.
fn explain(finding: &DoctorFinding) -> DoctorText {
    let Statement { observed, consequence } = statement_of(finding);
    DoctorText { observed, consequence, fix: finding.fix.as_ref().map(fix::text) }
}

fn statement_of(finding: &DoctorFinding) -> Statement {
    let verdict = finding.verdict;
    let is_good = verdict == CheckVerdict::Good;
    match &finding.check {
        DoctorCheck::KernelStamps(facts) => timing::kernel_stamps(facts),
        DoctorCheck::StolenTime(facts) => Statement::from_facts(facts, timing::TAILS, |stolen| {
            Statement::new(timing::stolen(stolen), if is_good { timing::TRUE_TAILS } else { timing::TAILS })
        }),
        DoctorCheck::Pacing { scheduling, deadlines, late_p50_ns, late_p99_ns } => {
            timing::pacing(*scheduling, *deadlines, [*late_p50_ns, *late_p99_ns], is_good)
        }
        DoctorCheck::ClockSync(facts) => {
            Statement::from_facts(facts, clocks::DRIFT, |clock| clocks::synchronisation(clock, is_good))
        }
        DoctorCheck::ClockSource { source, read_ns, step_ns, .. } => {
            clocks::source(source.as_deref(), [*read_ns, *step_ns], is_good)
        }
        DoctorCheck::ReceiveBuffer(facts) => {
            Statement::from_facts(facts, host::DROPS, |sizes| host::buffer(*sizes, is_good))
        }
        DoctorCheck::StampPort { ipv4, ipv6, holder } => {
            host::stamp_port([*ipv4, *ipv6], holder.as_ref(), is_good)
        }
        DoctorCheck::ControlPort { ipv4, holder } => host::control_port(*ipv4, holder.as_ref(), is_good),
        DoctorCheck::RunFolder { octets_per_second, error } => {
            host::run_folder(*octets_per_second, error.as_deref(), is_good)
        }
        DoctorCheck::Lab { tried, outcome, error } => {
            rights::lab(*tried, *outcome, error.as_deref().unwrap_or_default())
        }
        DoctorCheck::Privileges(facts) => {
            Statement::from_facts(facts, rights::UNKNOWN_PRIVILEGES, rights::privileges)
        }
        DoctorCheck::NicStamps(facts) => {
            Statement::from_facts(facts, network::AT_DRIVER, network::nic_stamps)
        }
        DoctorCheck::Offloads(facts) => Statement::from_facts(facts, network::PROBES, network::offloads),
        DoctorCheck::InterruptCoalescing(facts) => {
            Statement::from_facts(facts, network::LATE, network::coalescing)
        }
        DoctorCheck::Interrupts { interfaces } => network::interrupts(interfaces),
        DoctorCheck::RpFilter { strict } => network::reverse_path(strict.as_deref()),
        DoctorCheck::PathMtu { ip_no_pmtu_disc, min_pmtu } => network::path_mtu(*ip_no_pmtu_disc, *min_pmtu),
        DoctorCheck::Conntrack { count, max } => network::conntrack(count.zip(*max), is_good),
        DoctorCheck::Cores { cores, quota_ns, period_ns } => timing::cores(*cores, quota_ns.zip(*period_ns)),
        DoctorCheck::Affinity { usable, online, isolated } => {
            timing::affinity(usable.len(), *online, isolated, is_good)
        }
        DoctorCheck::RealTime { error, .. } => timing::real_time(error.as_deref()),
        DoctorCheck::LockedMemory { can_lock, limit_octets } => {
            timing::locked_memory(*can_lock, *limit_octets)
        }
        DoctorCheck::IdleStates { deepest, wake_ns, governor, .. } => {
            timing::idle(deepest.as_deref().zip(*wake_ns), governor.as_deref(), is_good)
        }
        DoctorCheck::PacketAccess { packet_socket, xdp_socket, bpf, btf, nftables, tun } => {
            network::access([*packet_socket, *xdp_socket, *bpf, *btf, *nftables, *tun])
        }
        DoctorCheck::XdpModes(facts) => Statement::from_facts(facts, network::MODES, network::xdp),
        DoctorCheck::InPacketStamps { tcx, error } => network::in_packet(*tcx, error.as_deref()),
        DoctorCheck::Veth { presence } => network::veth(*presence),
        DoctorCheck::TimeNamespace { offset_ns } => clocks::time_namespace(*offset_ns),
        DoctorCheck::Confinement { seccomp, landlock } => rights::confinement(*seccomp, *landlock),
        DoctorCheck::Kernel { release, oldest, error } => {
            clocks::kernel(release.as_deref(), oldest, error.as_deref(), verdict)
        }
    }
}

#[cfg(test)]
mod tests;

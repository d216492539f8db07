//! The interfaces: whether their hardware could stamp, and what their drivers do to packets on their own.

use std::path::Path;

use romer_host::HostError;
use romer_host::ethtool::{Offload, Stamping};
use romer_host::link::Network;
use romer_host::phc;
use romer_host::xdp::{XdpSupport, xdp_support};
use romer_record::doctor::{
    DoctorCheck, DoctorFinding, DoctorFix, Facts, InterfaceOffloads, InterfaceXdp, NicStamping, NicState,
    OffloadState, XdpModes,
};

use crate::finding::{good, limited, unknown};
use crate::rights::Rights;
use crate::shell;

/// More interfaces than this have no commands of their own.
const NAMED: usize = 4;

/// An interface that is up and not loopback.
#[derive(Clone, Debug)]
pub(crate) struct Interface {
    name: String,
    driver: Option<String>,
    /// The hardware clock that its driver offers, as `ptp0`.
    hardware_clock: Option<String>,
    /// What the driver says of its stamps.
    stamping: Stamping,
    /// Whether its card is set to stamp departures, and arrivals, at present; `None` where the driver does not say.
    switched_on: Option<(bool, bool)>,
    /// The offloads by which a packet that is seen is not the packet that was on the link.
    offloads: InterfaceOffloads,
    /// What the driver says of XDP; `None` where the kernel does not tell.
    xdp: Option<XdpSupport>,
}

impl Interface {
    pub(crate) fn name(&self) -> &str {
        &self.name
    }
}

/// Asks every interface that is up, loopback excepted.
pub(crate) fn interfaces() -> Result<Vec<Interface>, HostError> {
    let network = Network::open(None)?;
    let links = network.links()?;
    let up = links.iter().filter(|link| link.up && !is_loopback(&network, &link.name));
    let xdp = xdp_support().ok().flatten().unwrap_or_default();
    Ok(up
        .map(|link| Interface { xdp: xdp.get(&link.index).copied(), ..read(&network, &link.name) })
        .collect())
}

/// Whether the interface has an address that only loopback has.
fn is_loopback(network: &Network, name: &str) -> bool {
    name == "lo"
        || network
            .addresses(name)
            .is_ok_and(|all| !all.is_empty() && all.iter().all(std::net::IpAddr::is_loopback))
}

fn read(network: &Network, name: &str) -> Interface {
    let is_on = |offload| network.offload(name, offload).ok().flatten();
    // An interface that goes away meanwhile, or a driver that does not answer, has nothing to tell.
    Interface {
        name: name.into(),
        driver: network.driver(name).ok().flatten(),
        hardware_clock: hardware_clock(name),
        stamping: network.stamping(name).unwrap_or_default(),
        switched_on: phc::is_stamping(name),
        offloads: InterfaceOffloads {
            gro: is_on(Offload::GenericReceive),
            gso: is_on(Offload::GenericSegmentation),
            tso: is_on(Offload::TcpSegmentation),
        },
        xdp: None,
    }
}

/// The PTP clock of the device behind the interface.
fn hardware_clock(name: &str) -> Option<String> {
    let folder = Path::new("/sys/class/net").join(name).join("device/ptp");
    let mut entries = folder.read_dir().ok()?;
    entries.next()?.ok()?.file_name().into_string().ok()
}

/// Whether hardware could stamp.
pub(crate) fn stamps(interfaces: &Result<Vec<Interface>, HostError>) -> DoctorFinding {
    let interfaces = match interfaces {
        Ok(interfaces) => interfaces,
        Err(error) => return unknown(DoctorCheck::NicStamps, error),
    };
    let with_driver = interfaces.iter().filter(|one| one.driver.is_some());
    let state = NicState { interfaces: with_driver.map(|one| (one.name.clone(), stamping(one))).collect() };
    let can_stamp = state.interfaces.values().any(NicStamping::can_stamp);
    let check = DoctorCheck::NicStamps(Facts::Known(state));
    if can_stamp { good(check) } else { limited(check, DoctorFix::UseHardwareStamps) }
}

fn stamping(interface: &Interface) -> NicStamping {
    NicStamping {
        driver: interface.driver.clone(),
        hardware_clock: interface.hardware_clock.clone(),
        stamp_clock: interface.stamping.clock,
        stamps_departures: interface.stamping.hardware_departures,
        stamps_arrivals: interface.stamping.hardware_arrivals,
        stamping_departures_now: interface.switched_on.map(|(departures, _)| departures),
        stamping_arrivals_now: interface.switched_on.map(|(_, arrivals)| arrivals),
        kernel_stamps_departures: interface.stamping.software_departures,
    }
}

/// What drivers do to packets.
pub(crate) fn offloads(interfaces: &Result<Vec<Interface>, HostError>, rights: &Rights) -> DoctorFinding {
    let interfaces = match interfaces {
        Ok(interfaces) => interfaces,
        Err(error) => return unknown(DoctorCheck::Offloads, error),
    };
    let active = interfaces.iter().filter(|one| !one.offloads.active().is_empty());
    let commands: Vec<String> = active.take(NAMED).map(|one| switch_off(one, rights)).collect();
    let all = interfaces.iter().map(|one| (one.name.clone(), one.offloads));
    let check = DoctorCheck::Offloads(Facts::Known(OffloadState { interfaces: all.collect() }));
    if commands.is_empty() {
        good(check)
    } else {
        limited(check, DoctorFix::Command { command: shell::all(&commands) })
    }
}

fn switch_off(interface: &Interface, rights: &Rights) -> String {
    let mut arguments = vec!["ethtool", "-K", interface.name.as_str()];
    arguments.extend(interface.offloads.active().iter().flat_map(|name| [*name, "off"]));
    rights.line(&arguments)
}

/// In which modes XDP can be had.
pub(crate) fn xdp(interfaces: &Result<Vec<Interface>, HostError>) -> DoctorFinding {
    let interfaces = match interfaces {
        Ok(interfaces) => interfaces,
        Err(error) => return unknown(DoctorCheck::XdpModes, error),
    };
    let modes = |one: &Interface| InterfaceXdp {
        driver: one.driver.clone(),
        native: one.xdp.map(|xdp| xdp.native),
        redirect: one.xdp.map(|xdp| xdp.redirect),
        zero_copy: one.xdp.map(|xdp| xdp.zero_copy),
    };
    let all = interfaces.iter().map(|one| (one.name.clone(), modes(one)));
    let check = DoctorCheck::XdpModes(Facts::Known(XdpModes { interfaces: all.collect() }));
    if interfaces.iter().any(|one| one.xdp.is_none()) {
        limited(check, DoctorFix::UseKernelWithXdpReport)
    } else if interfaces.iter().any(|one| one.xdp.is_some_and(|xdp| !xdp.native)) {
        limited(check, DoctorFix::UseNativeXdp)
    } else {
        good(check)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::finding::command_of;
    use romer_record::doctor::CheckVerdict;

    fn interface(name: &str, offloads: InterfaceOffloads, clock: Option<&str>) -> Interface {
        Interface {
            name: name.into(),
            driver: Some("virtio_net".into()),
            hardware_clock: clock.map(str::to_owned),
            stamping: Stamping::default(),
            switched_on: None,
            offloads,
            xdp: None,
        }
    }

    /// An interface without native XDP, or of which the kernel reports nothing, is a limit.
    #[test]
    fn modes_of_xdp() {
        let plain = |name| interface(name, InterfaceOffloads::default(), None);
        let with = |name, native, zero_copy| Interface {
            xdp: Some(XdpSupport { native, redirect: native, transmit: native, zero_copy }),
            ..plain(name)
        };
        let fast = with("eth0", true, true);
        assert_eq!(xdp(&Ok(vec![fast.clone()])).verdict, CheckVerdict::Good);
        let finding = xdp(&Ok(vec![fast, with("eth1", false, false)]));
        assert_eq!(finding.fix, Some(DoctorFix::UseNativeXdp));
        let DoctorCheck::XdpModes(Facts::Known(modes)) = &finding.check else { panic!("{finding:?}") };
        let native = |name: &str| modes.interfaces.get(name).and_then(|one| one.native);
        assert_eq!((native("eth0"), native("eth1")), (Some(true), Some(false)));
        let unreported = xdp(&Ok(vec![plain("eth2")]));
        assert_eq!(unreported.fix, Some(DoctorFix::UseKernelWithXdpReport));
        assert_eq!(xdp(&Ok(vec![])).verdict, CheckVerdict::Good);
        assert_eq!(xdp(&Err(HostError::Unsuitable("no netlink"))).verdict, CheckVerdict::Limited);
    }

    /// Offloads that are on have a command that switches off exactly these.
    #[test]
    fn active_offloads() {
        let off = InterfaceOffloads { gro: Some(false), gso: None, tso: Some(false) };
        let on = InterfaceOffloads { gro: Some(true), gso: Some(false), tso: Some(true) };
        let off = interface("eth1", off, None);
        let finding = offloads(&Ok(vec![interface("eth0", on, None), off.clone()]), &Rights::of_anybody());
        assert_eq!(finding.verdict, CheckVerdict::Limited);
        assert_eq!(command_of(&finding), "sudo ethtool -K eth0 gro off tso off");
        let DoctorCheck::Offloads(Facts::Known(state)) = &finding.check else { panic!("{finding:?}") };
        assert_eq!(state.interfaces.get("eth0"), Some(&on));
        assert_eq!(offloads(&Ok(vec![off]), &Rights::of_anybody()).verdict, CheckVerdict::Good);
        assert_eq!(offloads(&Ok(vec![]), &Rights::of_anybody()).verdict, CheckVerdict::Good);
    }

    /// Of many interfaces only a few have commands.
    #[test]
    fn many_interfaces() {
        let on = InterfaceOffloads { gro: Some(true), gso: Some(true), tso: Some(true) };
        let many: Vec<Interface> =
            (0..9).map(|number| interface(&format!("veth{number}"), on, None)).collect();
        let finding = offloads(&Ok(many), &Rights::of_root());
        assert_eq!(command_of(&finding).matches("ethtool").count(), NAMED);
    }

    /// A card is good if it stamps either direction by its clock. A clock that stamps nothing is of no use.
    #[test]
    fn cards_that_stamp() {
        let with = |departures, arrivals| Interface {
            stamping: Stamping {
                hardware_departures: departures,
                hardware_arrivals: arrivals,
                clock: Some(0),
                ..Stamping::default()
            },
            ..interface("eth0", InterfaceOffloads::default(), Some("ptp0"))
        };
        for (departures, arrivals, verdict) in [
            (true, true, CheckVerdict::Good),
            (true, false, CheckVerdict::Good),
            (false, false, CheckVerdict::Limited),
        ] {
            let finding = stamps(&Ok(vec![with(departures, arrivals)]));
            assert_eq!(finding.verdict, verdict, "{finding:?}");
            let DoctorCheck::NicStamps(Facts::Known(state)) = &finding.check else { panic!("{finding:?}") };
            let card = state.interfaces.get("eth0").unwrap();
            assert_eq!((card.stamps_departures, card.stamps_arrivals), (departures, arrivals));
        }
        assert_eq!(stamps(&Ok(vec![])).verdict, CheckVerdict::Limited);
        assert_eq!(stamps(&Err(HostError::Unsuitable("no netlink"))).verdict, CheckVerdict::Limited);
    }

    #[test]
    fn loopback_is_not_among_the_interfaces() {
        assert!(interfaces().unwrap().iter().all(|one| one.name != "lo"));
    }
}

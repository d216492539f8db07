//! The interfaces: whether their hardware could stamp, and what their drivers do to packets on their own.

use std::path::Path;

use romer_host::HostError;
use romer_host::ethtool::{Offload, Stamping};
use romer_host::link::Network;
use romer_host::phc;
use romer_host::xdp::{XdpSupport, xdp_support};
use romer_record::document::DoctorFinding;
use serde_json::{Map, Value};

use crate::finding::{WithValue, good, limited, list, unknown};
use crate::rights::Rights;

const STAMPS: &str = "nic_stamps";
const OFFLOADS: &str = "offloads";
const XDP: &str = "xdp_modes";
/// The offloads by which a packet that is seen is not the packet that was on the link, with the names that ethtool
/// gives them.
const JOINING: [(Offload, &str); 3] = [
    (Offload::GenericReceive, "gro"),
    (Offload::GenericSegmentation, "gso"),
    (Offload::TcpSegmentation, "tso"),
];
/// More interfaces than this are counted instead of named.
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
    /// Each of [`JOINING`]; `None` where the driver does not have it.
    joining: [Option<bool>; 3],
    /// What the driver says of XDP; `None` where the kernel does not tell.
    xdp: Option<XdpSupport>,
}

impl Interface {
    pub(crate) fn name(&self) -> &str {
        &self.name
    }

    /// Whether its card stamps what leaves, or whatever arrives, by a clock that can be read.
    const fn can_stamp(&self) -> bool {
        self.stamping.clock.is_some()
            && (self.stamping.hardware_departures || self.stamping.hardware_arrivals)
    }

    /// Its name, its card's clock, and what of both ways that does not stamp.
    fn card_named(&self) -> String {
        let clock = self.stamping.clock.map_or_else(String::new, |number| format!("ptp{number}"));
        let part = match (self.stamping.hardware_departures, self.stamping.hardware_arrivals) {
            (true, true) => "",
            (true, false) => ", departures only",
            (false, _) => ", arrivals only",
        };
        format!("{} ({clock}{part})", self.name)
    }

    /// The offloads that are on.
    fn active(&self) -> Vec<&'static str> {
        let pairs = JOINING.iter().zip(self.joining);
        pairs.filter(|(_, on)| *on == Some(true)).map(|((_, name), _)| *name).collect()
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
    // An interface that goes away meanwhile, or a driver that does not answer, has nothing to tell.
    Interface {
        name: name.into(),
        driver: network.driver(name).ok().flatten(),
        hardware_clock: hardware_clock(name),
        stamping: network.stamping(name).unwrap_or_default(),
        switched_on: phc::is_stamping(name),
        joining: JOINING.map(|(offload, _)| network.offload(name, offload).ok().flatten()),
        xdp: None,
    }
}

/// The PTP clock of the device behind the interface.
fn hardware_clock(name: &str) -> Option<String> {
    let folder = Path::new("/sys/class/net").join(name).join("device/ptp");
    let mut entries = folder.read_dir().ok()?;
    entries.next()?.ok()?.file_name().into_string().ok()
}

/// Whether hardware could stamp, and how it is asked to.
pub(crate) fn stamps(interfaces: &Result<Vec<Interface>, HostError>) -> DoctorFinding {
    const INSIDE: &str = "Kernel time stamps are used. They are taken at the driver: delays include the wait between \
                          driver and wire, microseconds on an idle host and more under load.";
    const CARD: &str = "romer measure --stamp nic, with romer respond --stamp nic at the remote end, takes time stamps at the \
                        wire, converted to the host clock to about a microsecond. It needs root; the setting of the card is \
                        restored at exit. Without it, kernel time stamps are used.";
    let interfaces = match interfaces {
        Ok(interfaces) => interfaces,
        Err(error) => return unknown(STAMPS, error, INSIDE),
    };
    let with_driver: Vec<&Interface> = interfaces.iter().filter(|one| one.driver.is_some()).collect();
    let able: Vec<&Interface> = with_driver.iter().copied().filter(|one| one.can_stamp()).collect();
    let clocks: Vec<String> = with_driver
        .iter()
        .filter_map(|one| Some(format!("{} ({})", one.name, one.hardware_clock.as_deref()?)))
        .collect();
    let names: Vec<String> = with_driver.iter().map(|one| named(one)).collect();
    let finding = if able.is_empty() {
        let found = match (clocks.is_empty(), names.is_empty()) {
            (false, _) => format!("The hardware clock of {} does not time-stamp packets.", list(&clocks)),
            (true, false) => format!("No hardware clock: {}.", shortened(&names, "interfaces")),
            (true, true) => "No physical interface is up.".to_owned(),
        };
        let fix = "No action needed: if microseconds matter, use an interface with hardware time stamps.";
        limited(STAMPS, found, INSIDE, fix)
    } else {
        let texts: Vec<String> = able.iter().map(|one| one.card_named()).collect();
        let found = format!("Hardware time stamps: {}.", shortened(&texts, "interfaces"));
        good(STAMPS, found, CARD)
    };
    let values = with_driver.iter().map(|one| {
        let fields = [
            ("driver", Value::from(one.driver.clone())),
            ("hardware_clock", Value::from(one.hardware_clock.clone())),
            ("stamps_departures", Value::from(one.stamping.hardware_departures)),
            ("stamps_arrivals", Value::from(one.stamping.hardware_arrivals)),
            ("stamping_departures_now", Value::from(one.switched_on.map(|(departures, _)| departures))),
            ("stamping_arrivals_now", Value::from(one.switched_on.map(|(_, arrivals)| arrivals))),
            ("kernel_stamps_departures", Value::from(one.stamping.software_departures)),
        ];
        (one.name.clone(), object(fields))
    });
    finding.value("interfaces", Value::Object(values.collect()))
}

fn named(interface: &Interface) -> String {
    match &interface.driver {
        Some(driver) => format!("{} ({driver})", interface.name),
        None => interface.name.clone(),
    }
}

fn shortened(names: &[String], what: &str) -> String {
    if names.len() > NAMED { format!("{} {what}", names.len()) } else { list(names) }
}

fn object<const N: usize>(fields: [(&str, Value); N]) -> Value {
    Value::Object(fields.into_iter().map(|(name, value)| (name.to_owned(), value)).collect())
}

/// What drivers do to packets.
pub(crate) fn offloads(interfaces: &Result<Vec<Interface>, HostError>, rights: &Rights) -> DoctorFinding {
    const PROBES: &str = "Probes of romer are not affected: each is a single datagram.";
    let interfaces = match interfaces {
        Ok(interfaces) => interfaces,
        Err(error) => return unknown(OFFLOADS, error, PROBES),
    };
    let active: Vec<&Interface> = interfaces.iter().filter(|one| !one.active().is_empty()).collect();
    let finding = if active.is_empty() {
        let (found, so) = if interfaces.is_empty() {
            ("No interface is up except loopback.", "No offload changes what a capture on this host shows.")
        } else {
            ("GRO/GSO/TSO: off on all interfaces.", "Captures on this host show the packets of the link.")
        };
        good(OFFLOADS, found, so)
    } else {
        let texts: Vec<String> =
            active.iter().map(|one| format!("{} ({})", one.name, one.active().join(", "))).collect();
        let found = format!("GRO/GSO/TSO enabled on {}.", shortened(&texts, "interfaces"));
        let consequence = format!(
            "{PROBES} Captures and TCP tests on this host show merged packets, not those of the link."
        );
        let commands: Vec<String> = active.iter().take(NAMED).map(|one| switch_off(one, rights)).collect();
        limited(OFFLOADS, found, consequence, commands.join(" && "))
    };
    let values: Map<String, Value> = interfaces
        .iter()
        .map(|one| {
            let states = JOINING.iter().zip(one.joining);
            let states = states.map(|((_, name), on)| ((*name).to_owned(), Value::from(on)));
            (one.name.clone(), Value::Object(states.collect()))
        })
        .collect();
    finding.value("interfaces", Value::Object(values))
}

fn switch_off(interface: &Interface, rights: &Rights) -> String {
    let states: Vec<String> = interface.active().iter().map(|name| format!("{name} off")).collect();
    rights.command(&format!("ethtool -K {} {}", crate::rights::quoted(&interface.name), states.join(" ")))
}

/// In which modes XDP can be had.
pub(crate) fn xdp(interfaces: &Result<Vec<Interface>, HostError>) -> DoctorFinding {
    const MODES: &str = "romer emulate uses native XDP if the driver supports it. Generic XDP is no faster than packet \
                         sockets, which handle 200,000 packets/s.";
    let interfaces = match interfaces {
        Ok(interfaces) => interfaces,
        Err(error) => return unknown(XDP, error, MODES),
    };
    let those = |wanted: fn(&Interface) -> bool| -> Vec<String> {
        interfaces.iter().filter(|one| wanted(one)).map(xdp_named).collect()
    };
    let native = those(|one| one.xdp.is_some_and(|xdp| xdp.native));
    let generic = those(|one| one.xdp.is_some_and(|xdp| !xdp.native));
    let untold = those(|one| one.xdp.is_none());
    let mut found: Vec<String> = Vec::new();
    for (modes, names) in
        [("Native and generic", &native), ("Generic only", &generic), ("Generic, native unknown", &untold)]
    {
        if !names.is_empty() {
            found.push(format!("{modes}: {}.", shortened(names, "interfaces")));
        }
    }
    let finding = match (interfaces.is_empty(), generic.is_empty(), untold.is_empty()) {
        (true, ..) => good(XDP, "No interface is up, except loopback.", MODES),
        (false, true, true) => good(XDP, found.join(" "), MODES),
        (false, _, false) => limited(
            XDP,
            found.join(" "),
            MODES,
            "Linux 6.3 and later report the modes of a driver; romer emulate tries them, and reports the one in use.",
        ),
        (false, false, true) => {
            limited(XDP, found.join(" "), MODES, "If the rate matters, use an interface with native XDP.")
        }
    };
    let values = interfaces.iter().map(|one| {
        let of = |pick: fn(XdpSupport) -> bool| Value::from(one.xdp.map(pick));
        let fields = [
            ("native", of(|xdp| xdp.native)),
            ("redirect", of(|xdp| xdp.redirect)),
            ("zero_copy", of(|xdp| xdp.zero_copy)),
        ];
        (one.name.clone(), object(fields))
    });
    finding.value("interfaces", Value::Object(values.collect()))
}

fn xdp_named(interface: &Interface) -> String {
    let copies = interface.xdp.is_some_and(|xdp| xdp.zero_copy);
    match (&interface.driver, copies) {
        (Some(driver), true) => format!("{} ({driver}, zero-copy)", interface.name),
        _ => named(interface),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use romer_record::document::CheckVerdict;

    fn interface(name: &str, joining: [Option<bool>; 3], clock: Option<&str>) -> Interface {
        Interface {
            name: name.into(),
            driver: Some("virtio_net".into()),
            hardware_clock: clock.map(str::to_owned),
            stamping: Stamping::default(),
            switched_on: None,
            joining,
            xdp: None,
        }
    }

    #[test]
    fn the_modes_of_xdp_are_told_in_words() {
        let with = |name, native, zero_copy| Interface {
            xdp: Some(XdpSupport { native, redirect: native, transmit: native, zero_copy }),
            ..interface(name, [None; 3], None)
        };
        let fast = with("eth0", true, true);
        let finding = xdp(&Ok(vec![fast.clone()]));
        assert_eq!(finding.verdict, CheckVerdict::Good);
        assert_eq!(finding.observed, "Native and generic: eth0 (virtio_net, zero-copy).");
        let finding = xdp(&Ok(vec![fast, with("eth1", false, false)]));
        assert_eq!(finding.verdict, CheckVerdict::Limited);
        assert!(finding.observed.ends_with("Generic only: eth1 (virtio_net)."), "{}", finding.observed);
        assert_eq!(finding.values["interfaces"]["eth1"]["native"], false);
        let untold = xdp(&Ok(vec![interface("eth2", [None; 3], None)]));
        assert!(untold.fix.is_some_and(|fix| fix.contains("6.3")));
        assert_eq!(untold.values["interfaces"]["eth2"]["native"], Value::Null);
        assert_eq!(xdp(&Ok(vec![])).verdict, CheckVerdict::Good);
        assert_eq!(xdp(&Err(HostError::Unsuitable("no netlink"))).verdict, CheckVerdict::Limited);
    }

    #[test]
    fn offloads_that_are_on_are_named_with_the_command_that_ends_them() {
        let off = interface("eth1", [Some(false), None, Some(false)], None);
        let on = interface("eth0", [Some(true), Some(false), Some(true)], None);
        let finding = offloads(&Ok(vec![on, off.clone()]), &Rights::of_anybody());
        assert_eq!(finding.verdict, CheckVerdict::Limited);
        assert_eq!(finding.observed, "GRO/GSO/TSO enabled on eth0 (gro, tso).");
        assert_eq!(finding.fix.unwrap(), "sudo ethtool -K eth0 gro off tso off");
        assert_eq!(finding.values["interfaces"]["eth1"]["gso"], Value::Null);
        assert_eq!(offloads(&Ok(vec![off]), &Rights::of_anybody()).verdict, CheckVerdict::Good);
        assert_eq!(offloads(&Ok(vec![]), &Rights::of_anybody()).verdict, CheckVerdict::Good);
    }

    #[test]
    fn many_interfaces_are_counted() {
        let many: Vec<Interface> =
            (0..9).map(|number| interface(&format!("veth{number}"), [Some(true); 3], None)).collect();
        let finding = offloads(&Ok(many.clone()), &Rights::of_root());
        assert!(finding.observed.contains("9 interfaces"), "{}", finding.observed);
        assert_eq!(finding.fix.unwrap().matches("ethtool").count(), NAMED);
        assert!(stamps(&Ok(many)).observed.contains("9 interfaces"));
    }

    #[test]
    fn cards_that_stamp_are_named_with_how_to_use_them() {
        let with = |departures, arrivals| Interface {
            stamping: Stamping {
                hardware_departures: departures,
                hardware_arrivals: arrivals,
                clock: Some(0),
                ..Stamping::default()
            },
            ..interface("eth0", [None; 3], Some("ptp0"))
        };
        let finding = stamps(&Ok(vec![with(true, true)]));
        assert_eq!(finding.verdict, CheckVerdict::Good);
        assert_eq!(finding.observed, "Hardware time stamps: eth0 (ptp0).");
        assert!(finding.consequence.contains("--stamp nic"), "{}", finding.consequence);
        let finding = stamps(&Ok(vec![with(true, false)]));
        assert_eq!(finding.observed, "Hardware time stamps: eth0 (ptp0, departures only).");
        // A clock that stamps nothing is of no use.
        let finding = stamps(&Ok(vec![with(false, false)]));
        assert_eq!(finding.verdict, CheckVerdict::Limited);
        assert!(finding.observed.contains("eth0 (ptp0) does not time-stamp"), "{}", finding.observed);
        assert_eq!(stamps(&Ok(vec![])).verdict, CheckVerdict::Limited);
        assert_eq!(stamps(&Err(HostError::Unsuitable("no netlink"))).verdict, CheckVerdict::Limited);
    }

    #[test]
    fn loopback_is_not_among_the_interfaces() {
        assert!(interfaces().unwrap().iter().all(|one| one.name != "lo"));
    }
}

//! Two hosts: network namespaces with nothing between them but a pair of virtual Ethernet links.

use std::net::{IpAddr, Ipv4Addr};
use std::path::Path;
use std::process::Command;

use anyhow::{Context, Result};
use romer_host::link::Network;
use romer_host::userns::NamespaceEntry;
use romer_host::{HostError, netns};

/// What the names of our namespaces begin with; the process and the host follow.
const PREFIX: &str = "romer-validation-";
/// The addresses (RFC 2544 appendix C.2.2 sets this range aside for such tests).
pub(crate) const NEAR: Ipv4Addr = Ipv4Addr::new(198, 18, 7, 1);
pub(crate) const FAR: Ipv4Addr = Ipv4Addr::new(198, 18, 7, 2);
const PREFIX_LENGTH: u8 = 24;

/// The two hosts. Dropping this removes them.
#[derive(Debug)]
pub(crate) struct Hosts {
    pub(crate) near: String,
    pub(crate) far: String,
}

/// The name of a namespace of ours.
pub(crate) fn namespace(host: &str) -> String {
    format!("{PREFIX}{}-{host}", std::process::id())
}

/// The first of the far host's further addresses.
const FURTHER: u8 = 21;

impl Hosts {
    /// Gives the far host so many further addresses (234 at the most), and gives them.
    pub(crate) fn add_far_addresses(&self, count: u8) -> Result<Vec<Ipv4Addr>> {
        let (near, far) = (Network::open(Some(&self.near))?, Network::open(Some(&self.far))?);
        let mac = far.link("v1")?.mac;
        let [a, b, c, _] = FAR.octets();
        let addresses = (FURTHER..=u8::MAX - 1).take(usize::from(count)).map(|d| Ipv4Addr::new(a, b, c, d));
        let addresses: Vec<Ipv4Addr> = addresses.collect();
        for address in &addresses {
            far.add_address("v1", IpAddr::V4(*address), PREFIX_LENGTH)?;
            if let Some(mac) = mac {
                near.set_neighbour("v0", IpAddr::V4(*address), mac)?;
            }
        }
        Ok(addresses)
    }

    /// Makes them, after clearing away what a killed run has left.
    pub(crate) fn make() -> Result<Self> {
        clear_away_the_dead();
        let hosts = Self { near: namespace("near"), far: namespace("far") };
        netns::create(&hosts.near).context("cannot make a network namespace")?;
        netns::create(&hosts.far).context("cannot make a network namespace")?;
        hosts.join().context("cannot join the two namespaces")?;
        Ok(hosts)
    }

    fn join(&self) -> Result<(), HostError> {
        let (near, far) = (Network::open(Some(&self.near))?, Network::open(Some(&self.far))?);
        near.add_veth("v0", "v1", Some(&self.far))?;
        for (network, link, address) in [(&near, "v0", NEAR), (&far, "v1", FAR)] {
            network.add_address(link, IpAddr::V4(address), PREFIX_LENGTH)?;
            network.set_up("lo", true)?;
            network.set_up(link, true)?;
        }
        // No address is to be asked for in the middle of a measurement.
        let mac = |network: &Network, link| network.link(link).map(|link| link.mac);
        if let (Some(near_mac), Some(far_mac)) = (mac(&near, "v0")?, mac(&far, "v1")?) {
            near.set_neighbour("v0", IpAddr::V4(FAR), far_mac)?;
            far.set_neighbour("v1", IpAddr::V4(NEAR), near_mac)?;
        }
        Ok(())
    }

    /// A program that is to run on one of the hosts.
    pub(crate) fn command(host: &str, program: impl AsRef<Path>) -> Result<Command> {
        Ok(NamespaceEntry::named(host)?.into_command(Command::new(program.as_ref())))
    }
}

impl Drop for Hosts {
    fn drop(&mut self) {
        for name in [&self.near, &self.far] {
            let _ = netns::delete(name);
        }
    }
}

/// Removes the namespaces whose process is gone.
fn clear_away_the_dead() {
    for name in netns::list().unwrap_or_default() {
        if owner(&name).is_some_and(|id| !Path::new("/proc").join(id.to_string()).exists()) {
            let _ = netns::delete(&name);
        }
    }
}

fn owner(name: &str) -> Option<u32> {
    name.strip_prefix(PREFIX)?.split('-').next()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_our_own_names_have_an_owner() {
        assert_eq!(owner("romer-validation-17-near"), Some(17));
        for name in ["romer17", "romer-validation-", "romer-validation-x-near", "other"] {
            assert_eq!(owner(name), None, "{name}");
        }
    }
}

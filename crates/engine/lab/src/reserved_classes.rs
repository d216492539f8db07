//! The queues of a router that reserves bandwidth: `htb` (man tc-htb) with a class for each reservation, one for RSVP itself,
//! and one for the rest.
//!
//! A class sends up to its own rate before all others, whatever waits elsewhere. What it has beyond that competes with best
//! effort (RFC 2211 section 3, RFC 2212 "Policing"). Octets are those of IP packets, as reservations count them.

use std::collections::BTreeMap;
use std::process::Command;

use romer_host::flows::{CONTROLLED_LOAD, GUARANTEED, class_of_service};
use romer_host::program;
use romer_rsvp::{FlowKey, PROTOCOL, QosService, Reservation};
use romer_units::LineRate;
use romer_wire::ip::protocol::{TCP, UDP};

use crate::error::LabError;

/// The handle of the discipline, by which no other is deleted.
pub(crate) const HANDLE: &str = "7276:";
/// The numbers of reservations. The class has the service in addition, and the preference of the filter is the number.
const NUMBERS: std::ops::RangeInclusive<u16> = 0x10..=0xfff;
/// Packets of best effort that may wait.
const QUEUED_PACKETS: u32 = 30;

/// The classes of one interface.
#[derive(Debug)]
pub(crate) struct ReservedClasses {
    interface: &'static str,
    line: LineRate,
    /// The MTU, octets.
    longest_packet: u32,
    /// Number and service of each flow's class.
    classes: BTreeMap<FlowKey, (u16, u8)>,
}

impl ReservedClasses {
    /// Makes the queues of `interface`, in the namespace of this process. It has no other discipline than its default.
    ///
    /// # Errors
    /// `tc` is missing or refuses.
    pub(crate) fn prepare(
        interface: &'static str,
        line: LineRate,
        longest_packet: u32,
    ) -> Result<Self, LabError> {
        let bits = line.bits();
        let each = format!("ceil {bits}bit cburst {longest_packet}b");
        // The kernel counts the Ethernet header, which `stab` subtracts. Hardly any rate of their own: RSVP and best effort get what
        // reservations leave, RSVP first.
        tc(&[
            format!(
                "qdisc add dev {interface} root handle {HANDLE} stab overhead -14 linklayer ethernet htb default 2"
            ),
            format!(
                "class add dev {interface} parent {HANDLE} classid {HANDLE}1 htb rate {bits}bit burst {longest_packet}b {each}"
            ),
            format!(
                "class add dev {interface} parent {HANDLE}1 classid {HANDLE}2 htb rate 8bit burst 1b {each} quantum \
                 {longest_packet} prio 1"
            ),
            format!("qdisc add dev {interface} parent {HANDLE}2 pfifo limit {QUEUED_PACKETS}"),
            format!(
                "class add dev {interface} parent {HANDLE}1 classid {HANDLE}3 htb rate 8bit burst 1b {each} quantum \
                 {longest_packet} prio 0"
            ),
            format!(
                "filter add dev {interface} parent {HANDLE} protocol ip prio 1 u32 match ip protocol {PROTOCOL} 0xff flowid \
                 {HANDLE}3"
            ),
        ])?;
        Ok(Self { interface, line, longest_packet, classes: BTreeMap::new() })
    }

    /// Gives the flow of `reservation` its rate, or changes it.
    ///
    /// # Errors
    /// `tc` refuses, or there is no class left.
    pub(crate) fn install(&mut self, reservation: &Reservation) -> Result<(), LabError> {
        let Reservation { flow, flowspec, .. } = *reservation;
        let tspec = flowspec.tspec();
        let service = match flowspec.service() {
            QosService::Guaranteed => GUARANTEED,
            QosService::ControlledLoad => CONTROLLED_LOAD,
        };
        let class = |verb: &str, number: u16| {
            let burst = f64::from(tspec.bucket()).max(f64::from(tspec.packet_size())).ceil();
            format!(
                "class {verb} dev {} parent {HANDLE}1 classid {HANDLE}{:x} htb rate {:.0}bit burst {burst:.0}b ceil {}bit \
                 cburst {}b quantum {} prio 1",
                self.interface,
                class_of_service(service, number),
                // The kernel counts whole octets.
                f64::from(flowspec.rate()).ceil() * 8.0,
                self.line.bits(),
                self.longest_packet,
                self.longest_packet
            )
        };
        match self.classes.get(&flow) {
            Some((number, same)) if *same == service => return tc(&[class("change", *number)]),
            Some(_) => self.remove(&flow)?,
            None => {}
        }
        let number =
            NUMBERS.into_iter().find(|number| !self.classes.values().any(|(used, _)| used == number));
        let number = number.ok_or_else(|| LabError::Program {
            program: "tc",
            why: "all classes for reservations are in use".into(),
        })?;
        tc(&[class("add", number), filter(self.interface, &flow, (number, service))])?;
        self.classes.insert(flow, (number, service));
        Ok(())
    }

    /// Removes the flow's class. Its packets are best effort then.
    ///
    /// # Errors
    /// `tc` refuses.
    pub(crate) fn remove(&mut self, flow: &FlowKey) -> Result<(), LabError> {
        let Some((number, service)) = self.classes.remove(flow) else { return Ok(()) };
        let interface = self.interface;
        tc(&[
            format!("filter del dev {interface} parent {HANDLE} protocol ip prio {number}"),
            format!("class del dev {interface} classid {HANDLE}{:x}", class_of_service(service, number)),
        ])
    }
}

/// The command that sends the packets of a flow through its class. Their headers have no options.
fn filter(interface: &str, flow: &FlowKey, (number, service): (u16, u8)) -> String {
    let (destination, protocol, port) = flow.session;
    let mut text = format!(
        "filter add dev {interface} parent {HANDLE} protocol ip prio {number} u32 match ip protocol {protocol} 0xff match ip src \
         {}/32 match ip dst {destination}/32",
        flow.source.address()
    );
    if [TCP, UDP].contains(&protocol) {
        // A port of 0 stands for all ports (RFC 2205 section 3.2).
        for (name, port) in [("sport", flow.source.port()), ("dport", port)] {
            if port != 0 {
                text.push_str(&format!(" match ip {name} {port} 0xffff"));
            }
        }
    }
    text + &format!(" flowid {HANDLE}{:x}", class_of_service(service, number))
}

/// Removes the queues of `interface`, if they are there.
pub(crate) fn remove_all(interface: &str) {
    // Where they are gone, there is nothing to remove.
    let _ = tc(&[format!("qdisc del dev {interface} root handle {HANDLE}")]);
}

/// Runs commands of `tc` in the namespace of this process.
fn tc(commands: &[String]) -> Result<(), LabError> {
    let input = commands.join("\n") + "\n";
    let ran = program::run(Command::new("tc"), &["-batch", "-"], &input);
    ran.map(|_| ()).map_err(|why| LabError::Program { program: "tc", why })
}

#[cfg(test)]
mod tests {
    use romer_rsvp::{Filter, Session};

    use super::*;

    /// A filter selects protocol, addresses and ports of one flow; a port of 0 and a protocol without ports select none.
    #[test]
    fn filters_select_one_flow() {
        let flow = |protocol, to, from| FlowKey {
            session: Session::new([198, 19, 0, 2].into(), protocol, to).unwrap().key(),
            source: Filter::new([198, 18, 0, 2].into(), from).unwrap(),
        };
        let hosts = "match ip src 198.18.0.2/32 match ip dst 198.19.0.2/32";
        assert_eq!(
            filter("r1", &flow(UDP, 5_003, 5_004), (0x1f, GUARANTEED)),
            format!(
                "filter add dev r1 parent 7276: protocol ip prio 31 u32 match ip protocol 17 0xff {hosts} match ip sport 5004 0xffff \
                 match ip dport 5003 0xffff flowid 7276:201f"
            )
        );
        assert!(
            filter("r1", &flow(UDP, 0, 0), (0x10, CONTROLLED_LOAD))
                .ends_with(&format!("{hosts} flowid 7276:5010"))
        );
        assert!(
            filter("r1", &flow(47, 0, 0), (0x10, CONTROLLED_LOAD))
                .ends_with(&format!("{hosts} flowid 7276:5010"))
        );
    }
}

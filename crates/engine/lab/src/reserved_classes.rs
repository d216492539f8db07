//! The queues of a router that reserves bandwidth: `htb` (man tc-htb) with a class for each reservation, one for RSVP itself,
//! and one for the rest.
//!
//! A class sends up to its own rate before all others, whatever waits elsewhere. What it has beyond that competes with best
//! effort (RFC 2211 section 3, RFC 2212 "Policing"). Octets are those of IP packets, as reservations count them.

use std::collections::BTreeMap;
use std::fmt::Display;
use std::process::Command;

use romer_host::flows::{CONTROLLED_LOAD, GUARANTEED, class_of_service};
use romer_host::program;
use romer_rsvp::{FlowKey, Flowspec, PROTOCOL, QosService, Reservation};
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

/// Commands of `tc`. The kernel counts the Ethernet header, which `stab` subtracts. RSVP and best effort have hardly any rate of their
/// own: they get what reservations leave, RSVP first.
const PREPARE: &str = include_str!("reserved_classes/prepare.tc");
/// Adds or changes the class of a flow.
const CLASS: &str = include_str!("reserved_classes/class.tc");
/// Sends the packets of a flow through its class. Their headers have no options.
const FILTER: &str = include_str!("reserved_classes/filter.tc");
/// Selects a port in that.
const PORT: &str = include_str!("reserved_classes/port.tc");
/// Removes the class of a flow.
const REMOVE: &str = include_str!("reserved_classes/remove.tc");
/// Removes all classes.
const REMOVE_ALL: &str = include_str!("reserved_classes/remove-all.tc");

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
        let made = Self { interface, line, longest_packet, classes: BTreeMap::new() };
        tc(&made.fill(PREPARE, &[("$queued", &QUEUED_PACKETS), ("$rsvp", &PROTOCOL)]))?;
        Ok(made)
    }

    /// A command with its values.
    fn fill(&self, template: &str, values: &[(&str, &dyn Display)]) -> String {
        let (line, mtu) = (self.line.bits(), self.longest_packet);
        let common: [(&str, &dyn Display); 4] =
            [("$interface", &self.interface), ("$handle", &HANDLE), ("$line", &line), ("$mtu", &mtu)];
        fill(template, &[values, &common[..]].concat())
    }

    /// Gives the flow of `reservation` its rate, or changes it.
    ///
    /// # Errors
    /// `tc` refuses, or there is no class left.
    pub(crate) fn install(&mut self, reservation: &Reservation) -> Result<(), LabError> {
        let Reservation { flow, flowspec, .. } = *reservation;
        let service = match flowspec.service() {
            QosService::Guaranteed => GUARANTEED,
            QosService::ControlledLoad => CONTROLLED_LOAD,
        };
        match self.classes.get(&flow).copied() {
            Some((number, same)) if same == service => {
                return tc(&self.class("change", &flowspec, (number, service)));
            }
            Some(_) => self.remove(&flow)?,
            None => {}
        }
        let is_free = |number: &u16| !self.classes.values().any(|(used, _)| used == number);
        let number = NUMBERS.into_iter().find(is_free).ok_or_else(|| LabError::Program {
            program: "tc",
            why: "all classes for reservations are in use".into(),
        })?;
        let commands =
            self.class("add", &flowspec, (number, service)) + &self.filter(&flow, (number, service));
        tc(&commands)?;
        self.classes.insert(flow, (number, service));
        Ok(())
    }

    fn class(&self, verb: &str, flowspec: &Flowspec, (number, service): (u16, u8)) -> String {
        let tspec = flowspec.tspec();
        let burst = f64::from(tspec.bucket()).max(f64::from(tspec.packet_size())).ceil();
        // The kernel counts whole octets per second.
        let rate = f64::from(flowspec.rate()).ceil() * 8.0;
        let (burst, rate) = (format!("{burst:.0}"), format!("{rate:.0}"));
        let class = class_text(number, service);
        self.fill(CLASS, &[("$verb", &verb), ("$class", &class), ("$rate", &rate), ("$burst", &burst)])
    }

    fn filter(&self, flow: &FlowKey, (number, service): (u16, u8)) -> String {
        let (destination, protocol, port) = flow.session;
        // A port of 0 stands for all ports (RFC 2205 section 3.2).
        let ports = [("sport", flow.source.port()), ("dport", port)];
        let selects = |(_, port): &(&str, u16)| *port != 0 && [TCP, UDP].contains(&protocol);
        let ports = ports
            .into_iter()
            .filter(selects)
            .map(|(name, port)| fill(PORT.trim_end(), &[("$name", &name), ("$port", &port)]));
        let (ports, class) = (ports.collect::<String>(), class_text(number, service));
        let source = flow.source.address();
        self.fill(
            FILTER,
            &[
                ("$number", &number),
                ("$protocol", &protocol),
                ("$source", &source),
                ("$destination", &destination),
                ("$ports", &ports),
                ("$class", &class),
            ],
        )
    }

    /// Removes the flow's class. Its packets are best effort then.
    ///
    /// # Errors
    /// `tc` refuses.
    pub(crate) fn remove(&mut self, flow: &FlowKey) -> Result<(), LabError> {
        let Some((number, service)) = self.classes.remove(flow) else { return Ok(()) };
        tc(&self.fill(REMOVE, &[("$number", &number), ("$class", &class_text(number, service))]))
    }
}

/// The class as `tc` writes it, behind the handle.
fn class_text(number: u16, service: u8) -> String {
    format!("{:x}", class_of_service(service, number))
}

fn fill(template: &str, values: &[(&str, &dyn Display)]) -> String {
    let put = |text: String, (name, value): &(&str, &dyn Display)| text.replace(name, &value.to_string());
    values.iter().fold(template.to_owned(), put)
}

/// Removes the queues of `interface`, if they are there.
pub(crate) fn remove_all(interface: &str) {
    // Where they are gone, there is nothing to remove.
    let _ = tc(&fill(REMOVE_ALL, &[("$interface", &interface), ("$handle", &HANDLE)]));
}

/// Runs commands of `tc` in the namespace of this process.
fn tc(commands: &str) -> Result<(), LabError> {
    let ran = program::run(Command::new("tc"), &["-batch", "-"], commands);
    ran.map(|_| ()).map_err(|why| LabError::Program { program: "tc", why })
}

#[cfg(test)]
mod tests {
    use romer_rsvp::{Filter, Session, Tspec};

    use super::*;

    fn classes() -> ReservedClasses {
        let line = LineRate::new(128_000).unwrap();
        ReservedClasses { interface: "r1", line, longest_packet: 1_500, classes: BTreeMap::new() }
    }

    /// A filter selects protocol, addresses and ports of one flow; a port of 0 and a protocol without ports select none.
    #[test]
    fn filters_select_one_flow() {
        let flow = |protocol, to, from| FlowKey {
            session: Session::new([198, 19, 0, 2].into(), protocol, to).unwrap().key(),
            source: Filter::new([198, 18, 0, 2].into(), from).unwrap(),
        };
        let filter = |flow, number, service| classes().filter(&flow, (number, service));
        let hosts = "match ip src 198.18.0.2/32 match ip dst 198.19.0.2/32";
        assert_eq!(
            filter(flow(UDP, 5_003, 5_004), 0x1f, GUARANTEED),
            format!(
                "filter add dev r1 parent 7276: protocol ip prio 31 u32 match ip protocol 17 0xff {hosts} match ip sport 5004 0xffff \
                 match ip dport 5003 0xffff flowid 7276:201f\n"
            )
        );
        for protocol in [UDP, 47] {
            let open = filter(flow(protocol, 0, 0), 0x10, CONTROLLED_LOAD);
            assert!(open.ends_with(&format!("{hosts} flowid 7276:5010\n")), "{open}");
        }
    }

    /// Each command has its values: no placeholder is left.
    #[test]
    fn commands_are_whole() {
        let tspec = Tspec::new(4_312.5, 92.0, f32::INFINITY, 92, 92).unwrap();
        let class = classes().class("add", &Flowspec::controlled_load(tspec), (0x10, CONTROLLED_LOAD));
        assert_eq!(
            class,
            "class add dev r1 parent 7276:1 classid 7276:5010 htb rate 34504bit burst 92b ceil 128000bit cburst 1500b quantum 1500 \
             prio 1\n"
        );
        let prepare = classes().fill(PREPARE, &[("$queued", &QUEUED_PACKETS), ("$rsvp", &PROTOCOL)]);
        assert!(!prepare.contains('$') && prepare.contains("match ip protocol 46 0xff"), "{prepare}");
        assert!(prepare.contains("classid 7276:1 htb rate 128000bit burst 1500b "), "{prepare}");
    }
}

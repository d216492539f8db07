//! The settings of a stream as text.

use romer_record::benchmark::{StreamProtocol, StreamSetup};

use crate::number::grouped_short;
use crate::sentence::Text;

impl Text for StreamSetup {
    fn text(&self) -> String {
        let Self { name, share_ratio, dscp, pace, .. } = self;
        let protocol = match self.protocol {
            StreamProtocol::Udp => "UDP",
            StreamProtocol::Tcp => "TCP",
            StreamProtocol::Ip => "IP",
        };
        let dscp = if dscp == "cs0" { String::new() } else { format!(", dscp {dscp}") };
        let tag = match (self.vlan, self.priority) {
            (Some(vlan), Some(priority)) => format!(", vlan {vlan} priority {priority}"),
            _ => String::new(),
        };
        let drop = if self.expect_drop { ", to be dropped" } else { "" };
        let share = grouped_short(100.0 * share_ratio, 2);
        format!("{name}: {protocol}, share {share} %{dscp}{tag}, {pace}{drop}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A stream has its share, and what differs from the default.
    #[test]
    fn stream_in_words() {
        let plain = StreamSetup {
            name: "a".into(),
            protocol: StreamProtocol::Udp,
            share_ratio: 0.125,
            dscp: "cs0".into(),
            vlan: None,
            priority: None,
            pace: "constant".into(),
            expect_drop: false,
        };
        assert_eq!(plain.text(), "a: UDP, share 12.5 %, constant");
        let tagged = StreamSetup {
            protocol: StreamProtocol::Tcp,
            dscp: "ef".into(),
            vlan: Some(10),
            priority: Some(5),
            expect_drop: true,
            ..plain
        };
        assert_eq!(
            tagged.text(),
            "a: TCP, share 12.5 %, dscp ef, vlan 10 priority 5, constant, to be dropped"
        );
    }
}

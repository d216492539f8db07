//! The causes of losses in words: the only table of them.

use romer_record::document::{DirectionResults, LossCause};

use crate::number::count;

/// The cause, to stand behind a number of packets.
pub const fn text(cause: LossCause) -> &'static str {
    match cause {
        LossCause::InterfaceDown => "while an interface was down",
        LossCause::AddressChange => "while the address of a host changed",
        LossCause::NatRebinding => "while a NAT replaced its mapping",
        LossCause::InterfaceMtu => "longer than the receiving interface accepts",
        LossCause::PathMtu => "longer than the path accepts",
        LossCause::SenderQueue => "while a sending host refused or dropped packets",
        LossCause::ResponderRestart => "while the responder was not reachable",
        LossCause::IcmpUnreachable => "while packets were reported as undeliverable (ICMP)",
        LossCause::Unknown => "of unknown cause",
    }
}

/// `12 while an interface was down, 3 of unknown cause`; empty where no cause is known.
pub(crate) fn listed(direction: &DirectionResults) -> String {
    let causes = &direction.loss.causes;
    if causes.iter().all(|one| one.cause == LossCause::Unknown) {
        return String::new();
    }
    let each = causes.iter().map(|one| format!("{} {}", count(one.count), text(one.cause)));
    each.collect::<Vec<_>>().join(", ")
}

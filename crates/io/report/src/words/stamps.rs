//! Where the stamps were taken, which did not come, and what that means for the delays.

use romer_record::document::{self, Measurement};
use romer_units::Place;

use super::Words;
use crate::number::{NO_BREAK, count};

impl Words {
    /// Where the stamps were taken.
    pub(crate) fn stamps(self, m: &Measurement) -> String {
        let s = &m.stamps;
        let all = [s.sender_departure, s.responder_arrival, s.responder_departure, s.sender_arrival];
        let way = m.traffic.direction;
        let taken = match way {
            document::Way::Forward => &all[..2],
            document::Way::Reverse => &all[2..],
            document::Way::RoundTrip | document::Way::Both => &all[..],
        };
        let none = |count: Option<u64>| count == Some(0);
        let (there, back, both) = (&m.forward.packets, &m.reverse.packets, &m.round_trip.packets);
        // Of a moment that no packet had there is no stamp.
        let no_moment = [
            none(there.sent) || none(both.sent),
            none(there.received),
            none(back.sent),
            none(back.received) || none(both.received),
        ];
        let name = |moment: usize| match all[moment] {
            Some(place) => place.to_string(),
            None if no_moment[moment] && moment % 2 == 1 => "none (nothing arrived)".to_owned(),
            None if no_moment[moment] => "none (nothing left)".to_owned(),
            None => "not told".to_owned(),
        };
        if m.source.is_some() && all.iter().all(Option::is_none) {
            return format!(
                "As the file has them; where they were taken, it does not tell.{}",
                missing_stamps(m)
            );
        }
        let mut text = match taken {
            [Some(first), rest @ ..] if rest.iter().all(|place| *place == Some(*first)) => {
                let how_many = if taken.len() == 4 { "All four stamps" } else { "Both stamps" };
                // Of what was read from files the captures alone say so.
                if m.source.is_some() && *first == Place::Kernel {
                    format!("{how_many} are the captures'.")
                } else {
                    format!("{how_many} by the {}.", whose(*first))
                }
            }
            _ => match way {
                document::Way::Forward => format!("Departure here {}, arrival there {}.", name(0), name(1)),
                document::Way::Reverse => format!("Departure there {}, arrival here {}.", name(2), name(3)),
                document::Way::RoundTrip | document::Way::Both => {
                    format!("t1 {}, t2 {}, t3 {}, t4 {}.", name(0), name(1), name(2), name(3))
                }
            },
        };
        text.push_str(&missing_stamps(m));
        if let Some(error) = m.stamps.nic.as_ref().map(|nic| nic.error_ns) {
            text.push_str(&format!(
                " Carried over from the cards' clocks to the hosts', they may be off by {}.",
                self.time(f64::from(error))
            ));
        }
        text
    }

    /// By how much the programs' own stamps would have been wrong; `None` where both kinds are not at hand.
    pub(crate) fn location_error(self, m: &Measurement) -> Option<String> {
        let (here, there) = (&m.location_error_ns.sender, &m.location_error_ns.responder);
        let parts: Vec<String> = [
            ("on arrival here", &here.arrival),
            ("on departure here", &here.departure),
            ("on arrival there", &there.arrival),
            ("on departure there", &there.departure),
        ]
        .into_iter()
        .filter_map(|(moment, error)| {
            let (median, p99) = (error.median?, error.p99?);
            Some(format!("{} {moment} (99{NO_BREAK}%: {})", self.time(median), self.time(p99)))
        })
        .collect();
        let (last, others) = parts.split_last()?;
        let parts =
            if others.is_empty() { last.clone() } else { format!("{} and {last}", others.join(", ")) };
        let used = [m.stamps.sender_departure, m.stamps.sender_arrival, m.stamps.responder_arrival];
        Some(if used.contains(&Some(Place::User)) {
            format!(
                "Against the kernels', the programs' own stamps are off by {parts}; where they are used, the delays are."
            )
        } else {
            format!("The programs' own stamps would have been off by {parts}.")
        })
    }
}

/// Stamps that did not come, if any did not.
fn missing_stamps(m: &Measurement) -> String {
    let (stamps, missing) = (&m.stamps, &m.stamps.missing);
    let missing = [
        ("t1", stamps.sender_departure, missing.sender_departure),
        ("t2", stamps.responder_arrival, missing.responder_arrival),
        ("t3", stamps.responder_departure, missing.responder_departure),
        ("t4", stamps.sender_arrival, missing.sender_arrival),
    ];
    let those = |of_card: bool| -> Option<String> {
        let those = missing.iter().filter(|(_, place, n)| *n > 0 && (*place == Some(Place::Nic)) == of_card);
        let those: Vec<String> = those.map(|(name, _, n)| format!("{} {name}", count(*n))).collect();
        (!those.is_empty()).then(|| those.join(", "))
    };
    let left_out = those(false).map_or_else(String::new, |those| {
        format!(" Missing stamps: {those}; their packets are not in the delays.")
    });
    let stood_in = those(true).map_or_else(String::new, |those| {
        format!(" Missing stamps of cards: {those}; their packets have the kernel's.")
    });
    format!("{left_out}{stood_in}")
}

fn whose(place: Place) -> &'static str {
    match place {
        Place::Nic => "network cards",
        Place::Kernel => "kernels, at the drivers' edge",
        Place::Program => "programs in the kernel",
        Place::User => "programs, which is where scheduling delays them",
    }
}

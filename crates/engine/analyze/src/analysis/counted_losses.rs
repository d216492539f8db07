//! Losses of which a file tells how many there were on each way, and not which.

use romer_exchange::irtt::CountedLosses;
use romer_record::warning::Numbering;
use romer_record::{Fate, OneWaySingleton};
use romer_singletons::{ReplyNumbers, StreamSingletons};

/// Puts the counts of both ways in the place of what the rows tell. Which of the packets were lost on the way back stays open: as many
/// replies as were lost there are added whose fate is unknown.
pub(super) fn apply(counted: &CountedLosses, related: &mut StreamSingletons) {
    let known = related.reverse.iter().filter(|reply| reply.fate == Fate::Lost).count() as u64;
    let added = usize::try_from(counted.back.saturating_sub(known)).unwrap_or(usize::MAX);
    let unknown = related.forward.iter().filter(|probe| probe.fate == Fate::Unknown);
    let reply =
        |probe: &OneWaySingleton| OneWaySingleton { departure: None, arrival: None, delay: None, ..*probe };
    related.reverse.extend(unknown.take(added).map(reply));
    related.reverse.sort_by_key(|reply| (reply.sequence, reply.copy));
    let all = counted.unknown == 0;
    related.reverse_complete = all;
    related.numbers = Some(ReplyNumbers {
        numbering: Numbering::Stateful,
        missing: counted.there + counted.back + counted.unknown,
        there: counted.there,
        back: counted.back,
        all_there: all,
        all_back: all,
        unnamed: counted.unnamed,
        unknown: counted.unknown,
        copies: 0,
        restarts: 0,
        overtaken: false,
    });
}

#[cfg(test)]
mod tests {
    use std::fmt::Write as _;

    use romer_record::document::Packets;

    use super::super::file_tests::folder;
    use super::super::{Analysis, analyze};

    /// Of 100 packets every tenth is lost, 4 on the way there and 6 on the way back by the server's count.
    #[test]
    fn both_ways_have_their_losses() {
        let folder = folder("irtt-count");
        let file = folder.join("count.json");
        let mut trips = String::new();
        for n in 0..100_i64 {
            let sent = 1_000_000_000 + n * 10_000_000;
            let stamp = |at: i64| format!("{{\"wall\":{at},\"monotonic\":{at}}}");
            let rest = if n % 10 == 5 {
                String::new()
            } else {
                let (there, back, came) =
                    (sent + 500_000, sent + 600_000, sent + 1_100_000 + n * 7_919 % 997);
                format!(
                    ",\"receive\":{}}},\"server\":{{\"receive\":{},\"send\":{}",
                    stamp(came),
                    stamp(there),
                    stamp(back)
                )
            };
            let lost = if n % 10 == 5 { "true" } else { "false" };
            let comma = if n > 0 { "," } else { "" };
            write!(
                trips,
                "{comma}{{\"seqno\":{n},\"lost\":\"{lost}\",\"timestamps\":{{\"client\":{{\"send\":{}{rest}}}}}}}",
                stamp(sent)
            )
            .unwrap();
        }
        let document = format!(
            "{{\"config\":{{\"params\":{{\"interval\":10000000,\"length\":60}}}},\"stats\":{{\"server_packets_received\":96}},\
             \"round_trips\":[{trips}]}}"
        );
        std::fs::write(&file, document).unwrap();
        let m = analyze(&Analysis::new(&file, String::new())).unwrap().measurement;
        let counts = |packets: &Packets| [packets.sent, packets.received, packets.lost];
        assert_eq!(counts(&m.forward.packets), [100, 96, 4].map(Some));
        assert_eq!(counts(&m.reverse.packets), [96, 90, 6].map(Some));
        assert_eq!(counts(&m.round_trip.packets), [100, 90, 10].map(Some));
        assert!(
            m.forward.loss.periods.is_empty() && m.reverse.loss.periods.is_empty(),
            "it is not known which"
        );
        assert_eq!(m.reverse.delay_ns.count, 90);
        std::fs::remove_dir_all(folder).unwrap();
    }
}

//! The end of a run: responders stop sending, and the rest of their logs is retrieved, over a new connection if the former is
//! lost.

use std::collections::BTreeSet;
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;
use std::time::{Duration as StdDuration, Instant};

use romer_endpoint::host_events::reported_by_responder;
use romer_host::ending::Stage;
use romer_record::document::{DamagedProbes, ProbeDirection};
use romer_record::event::{Event, EventKind};
use romer_record::note::{LogGap, Notice};
use romer_session::control::{Message, SessionTotals};
use romer_store::LogSender;
use romer_units::{Duration, Monotonic, Timestamp};
use romer_wire::stamp::Key;

use super::far::{Conversation, ResponderReport};
use super::initiator_host_monitor::{self, InitiatorHostMonitor, is_same};
use super::observer::Observer;
use super::prepared::Prepared;
use super::resumption::{AGAIN, LAST, UNREACHABLE_TIMEOUT};
use super::times::rfc3339_now;

/// Events of a stream up to which those are kept that its far end tells at its end.
const LATE_EVENTS: usize = 2_000;
/// A far end that was told to stop, and has told nothing more of its log for so long, is not waited for any longer.
const LOG: StdDuration = StdDuration::from_secs(30);
/// Nor is one that tells more and more of it for so long.
const WHOLE_LOG: StdDuration = StdDuration::from_secs(600);
/// How often it is said how far a log has come that takes long.
const SAY: StdDuration = StdDuration::from_secs(5);
/// A far end that has said nothing for so long is asked for a sign of life. The question shows whether the connection is known
/// on the way still: where it is not, a reset comes back.
const LISTEN: StdDuration = StdDuration::from_millis(500);

/// The session went on over another connection.
struct Resumption {
    /// This host's address of the connection before.
    before: Option<IpAddr>,
    /// From when the connection was known to be no more.
    length: Duration,
}

/// Ends the conversations and brings the rest of the far logs home. Gives what the far ends told last, of each stream.
pub(super) fn bring_home(
    streams: &mut [Prepared],
    log: &LogSender,
    began: Timestamp<Monotonic>,
    key: Option<&Arc<Key>>,
    happenings: &mut InitiatorHostMonitor,
    observer: &mut dyn Observer,
) -> Vec<Vec<Event>> {
    // All are told before any is waited for, so that they finish side by side.
    for conversation in streams.iter_mut().filter_map(|stream| stream.conversation.as_mut()) {
        conversation.order(Message::Stop);
    }
    // What the far ends of the directions before this one have told: of a host it is the same.
    let mut told_before: Vec<(u16, Event)> = Vec::new();
    let mut told_by: BTreeSet<u16> = BTreeSet::new();
    let mut vain: BTreeSet<SocketAddr> = BTreeSet::new();
    let mut late: Vec<Vec<Event>> = streams.iter().map(|_| Vec::new()).collect();
    for (place, stream) in streams.iter_mut().enumerate() {
        stream.manifest.ended = Some(rfc3339_now());
        let Some(mut conversation) = stream.conversation.take() else { continue };
        let number = stream.shared.number;
        let (shared, manifest, late) = (&stream.shared, &stream.manifest, &mut late[place]);
        // What is asked of a far end that this host has no way to, or that another stream asked in vain, nobody answers.
        let may_resume = stream.has_way && !vain.contains(&conversation.address());
        let (mut records, mut said, mut damaged) = (0_u64, Instant::now(), None::<DamagedProbes>);
        let coming = Stage::begin(LOG + LAST);
        let mut keep = |told: ResponderReport| {
            if !told.entries.is_empty() {
                coming.renew();
            }
            happenings.look_waiting(observer);
            records += u64::try_from(told.entries.len()).unwrap_or(u64::MAX);
            if !told.entries.is_empty() && said.elapsed() >= SAY {
                said = Instant::now();
                observer.on_note(number, &Notice::LogArriving { records }.into());
            }
            if let Some(told) = &told.damaged {
                damaged.clone_from(&told.forward);
            }
            // Nothing is in a hurry any more.
            let of_probes = told.entries.iter().filter(|entry| shared.may_be_of_probe(entry));
            of_probes.for_each(|entry| log.append_patiently(number, entry));
            let relation = manifest.clock_relation;
            let events = told.events.iter().filter_map(|event| reported_by_responder(event, relation, began));
            for event in events.take(LATE_EVENTS.saturating_sub(manifest.events.len() + late.len())) {
                if initiator_host_monitor::is_rebinding(&event) {
                    // What has happened here up to now tells what it is.
                    happenings.told(place, event);
                    happenings.look(observer);
                    continue;
                }
                let of_others = told_before.iter().filter(|(of, _)| *of == number).map(|(_, before)| before);
                let mut before = of_others.chain(&manifest.events).chain(late.iter());
                // All sessions come to one socket there, and each tells of it.
                if event.kind == EventKind::ReceiveOverflow && told_by.contains(&number) {
                    continue;
                }
                if initiator_host_monitor::is_of_host(event.kind)
                    && before.any(|before| is_same(before, &event))
                {
                    continue;
                }
                observer.on_note(number, &event.clone().into());
                told_before.push((number, event.clone()));
                late.push(event);
            }
        };
        let mut resumptions = Vec::new();
        let end = last_word(&mut conversation, key, may_resume, &mut keep, &mut resumptions);
        if end.is_none() && conversation.is_broken() {
            vain.insert(conversation.address());
        }
        if !resumptions.is_empty() {
            for Resumption { before, length } in resumptions {
                happenings.resumed(place, before, conversation.local(), length);
            }
            happenings.look_waiting(observer);
        }
        told_by.insert(number);
        let lost = end.as_ref().map(|end| end.records_lost);
        stream.far_drops = end.as_ref().map_or(0, |end| end.kernel_drops);
        stream.manifest.checksum_errors.responder = end.as_ref().and_then(|end| end.checksum_errors);
        stream.bad_tag = end.as_ref().map_or(0, |end| end.bad_tag);
        stream.manifest.metadata.responder_clock_sync_end = end.and_then(|end| end.clock_sync);
        stream.far_damage = damaged;
        stream.manifest.responder_log_complete = lost == Some(0);
        stream.fault = conversation.fault();
        let lacks = match stream.fault {
            Some(fault) => Some(LogGap::ProtocolFault { fault }),
            None => lacking(stream.shared.way, lost, stream.has_way),
        };
        if let Some(lacks) = lacks {
            observer.on_note(number, &Notice::LogIncomplete { gap: lacks }.into());
            stream.manifest.responder_log_gaps.push(lacks);
        }
        if lost.is_none() {
            stream.manifest.early_end = Some(stream.gone());
        }
    }
    late
}

/// What is missing of the log of a far end with a session that goes this `way`, and why: by how many records it says that
/// it had no room for, or that it did not come to its last word; `None` where all has come.
fn lacking(direction: ProbeDirection, lost: Option<u64>, has_way: bool) -> Option<LogGap> {
    match lost {
        Some(0) => None,
        Some(records) => Some(LogGap::RecordsLost { records, direction }),
        None if has_way => Some(LogGap::ConnectionLost { direction }),
        None => Some(LogGap::RouteLost { direction }),
    }
}

/// Hears a far end that was told to stop to its last word: the totals, or `None` where nothing of its log came for [`LOG`]. A
/// connection that is no more, or over which nothing is heard for [`UNREACHABLE_TIMEOUT`], is replaced by another if `may_resume`, over which
/// the session goes on; where that cannot be made, a broken one is mourned for [`LAST`].
fn last_word(
    conversation: &mut Conversation,
    key: Option<&Arc<Key>>,
    may_resume: bool,
    keep: &mut impl FnMut(ResponderReport),
    resumptions: &mut Vec<Resumption>,
) -> Option<SessionTotals> {
    let begun = Instant::now();
    let mut told_at = begun;
    let mut amiss_since: Option<Instant> = None;
    loop {
        let left = LOG.checked_sub(told_at.elapsed()).filter(|_| begun.elapsed() < WHOLE_LOG)?;
        let mut take = |told: ResponderReport| {
            if !told.entries.is_empty() {
                told_at = Instant::now();
            }
            keep(told);
        };
        if let Some(end) = conversation.hear_last(LISTEN.min(left), &mut take) {
            return Some(end);
        }
        // What happens here meanwhile is seen, though nothing is told.
        take(ResponderReport::default());
        let is_silent = conversation.unanswered().is_some_and(|silent| silent > UNREACHABLE_TIMEOUT.to_std());
        if !conversation.is_broken() && !is_silent {
            amiss_since = None;
            continue;
        }
        if !may_resume {
            if conversation.is_broken() {
                return None;
            }
            continue;
        }
        let since = *amiss_since.get_or_insert_with(Instant::now);
        if conversation.is_broken() && since.elapsed() > LAST {
            return None;
        }
        let Some(way_on) = conversation.way_on() else {
            if conversation.is_broken() {
                return None;
            }
            continue;
        };
        match Conversation::resume(&way_on, key.map(Arc::as_ref), since.elapsed()) {
            Ok((mut next, _)) => {
                let before = conversation.local();
                next.succeed(conversation);
                *conversation = next;
                resumptions.push(Resumption { before, length: Duration::from_std(since.elapsed()) });
                amiss_since = None;
            }
            Err(absent) if !absent.may_pass() => return None,
            Err(_) => std::thread::sleep(AGAIN),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::io::{Read, Write};
    use std::net::{TcpListener, TcpStream};

    use romer_endpoint::circumstances::clock_identity;
    use romer_endpoint::tls::PeerChannel;
    use romer_host::clock;
    use romer_host::stream::Origin;
    use romer_record::event::EventLocation;
    use romer_record::log::{Entry, ResponderDeparture, ResponderRecord};
    use romer_session::control::{Action, FEATURES, Limits, Request, Server, ServerHello};

    use super::*;

    /// Where the first connection breaks off.
    #[derive(Clone, Copy, Debug)]
    enum Cut {
        /// The order to stop does not come.
        Order,
        /// So many octets of what answers it come.
        Answer(usize),
    }

    fn server() -> Server {
        let welcome = ServerHello {
            kernel_stamps: true,
            features: FEATURES.map(str::to_owned).to_vec(),
            ..ServerHello::new("romer", clock_identity(), 862)
        };
        Server::new(Limits::default(), welcome, [7; 16], clock::monotonic_now()).with_resumption([9; 16])
    }

    /// What a far end says at the end: something of each kind.
    fn finish(server: &mut Server) -> Vec<Action> {
        for sequence in 0..3 {
            server.on_record(ResponderRecord { sequence, ..ResponderRecord::default() });
        }
        server.on_departure(ResponderDeparture::default());
        let event = Event::new(EventKind::Missed, EventLocation::Responder, 1, 1);
        let mut actions = server.on_departed(1);
        actions.extend(server.on_event(event));
        actions.extend(server.finish());
        actions
    }

    /// A far end whose first connection breaks off at `cut`. Gives how many octets it answers there to the order to stop.
    fn far_end(listener: &TcpListener, cut: Cut) -> usize {
        let (mut stream, _) = listener.accept().unwrap();
        let (mut server, mut session, mut answer) = (server(), None::<Server>, None);
        let (mut buffer, mut questions) = ([0; 4096], 0);
        loop {
            let count = stream.read(&mut buffer).unwrap_or(0);
            if count == 0 {
                return answer.unwrap_or(0);
            }
            questions += 1;
            // The third is the order, after the greeting and the request.
            let mut breaks = questions == 3 && matches!(cut, Cut::Order);
            let mut out = Vec::new();
            if !breaks {
                let mut actions = server.on_bytes(&buffer[..count], false, clock::monotonic_now());
                if let [Action::Resume(resume)] = &actions[..] {
                    let mut own = session.take().unwrap();
                    assert!(own.is_shown(resume));
                    actions = own.resume(&mut server, resume, [5; 16], clock::monotonic_now()).unwrap();
                    actions.extend(own.on_bytes(&[], false, clock::monotonic_now()));
                    server = own;
                }
                if actions.contains(&Action::Finish) {
                    actions.extend(finish(&mut server));
                }
                for action in actions {
                    match action {
                        Action::Send(message) => message.encode(&mut out),
                        Action::Repeat(frames) => out.extend(frames),
                        _ => {}
                    }
                }
                if questions == 3 {
                    answer = Some(out.len());
                    if let Cut::Answer(cut) = cut
                        && cut < out.len()
                    {
                        out.truncate(cut);
                        breaks = true;
                    }
                }
            }
            stream.write_all(&out).unwrap();
            if breaks {
                assert!(server.on_lost_connection(clock::monotonic_now()));
                session = Some(std::mem::replace(&mut server, self::server()));
                // Gone before another is waited for.
                drop(stream);
                stream = listener.accept().unwrap().0;
            }
        }
    }

    /// Brings the log of such a far end home. Gives what the far end answers at first, how often the session went on over another
    /// connection, and what came home: records, departures, events, words that all have left, and the totals.
    fn bring(cut: Cut) -> (usize, usize, [usize; 4], Option<SessionTotals>) {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        std::thread::scope(|scope| {
            let far_end = scope.spawn(|| far_end(&listener, cut));
            let mut conversation =
                Conversation::begin(address, &Origin::default(), None, &PeerChannel::plain()).unwrap();
            let (interval_ns, direction) = (10_000_000, ProbeDirection::RoundTrip);
            let request =
                Request { ssid: 5, interval_ns, count: 3, payload_octets: 44, direction, stream: None };
            conversation.request(request).unwrap();
            conversation.order(Message::Stop);
            let (mut home, mut resumptions) = ([0; 4], Vec::new());
            let mut keep = |told: ResponderReport| {
                let records = told.entries.iter().filter(|entry| matches!(entry, Entry::Far(_))).count();
                home[0] += records;
                home[1] += told.entries.len() - records;
                home[2] += told.events.len();
                home[3] += usize::from(told.departed.is_some());
            };
            let end = last_word(&mut conversation, None, true, &mut keep, &mut resumptions);
            drop(conversation);
            // Who waits for another connection is not left waiting.
            let _ = TcpStream::connect(address);
            (far_end.join().unwrap(), resumptions.len(), home, end)
        })
    }

    #[test]
    fn wherever_the_conversation_breaks_off_at_the_end_the_log_comes_home_once_and_whole() {
        let (answer, resumed, home, end) = bring(Cut::Answer(usize::MAX));
        assert_eq!((resumed, home), (0, [3, 1, 1, 1]));
        let end = end.unwrap();
        assert_eq!((end.received, end.records_lost), (3, 0));
        assert!(answer > 100, "{answer}");
        for cut in std::iter::once(Cut::Order).chain((0..answer).map(Cut::Answer)) {
            let (_, resumed, home, found) = bring(cut);
            assert_eq!((resumed, home, found), (1, [3, 1, 1, 1], Some(end.clone())), "{cut:?}");
        }
    }

    #[test]
    fn what_is_missing_of_a_far_log_is_told_with_whose_it_is_and_why() {
        assert_eq!(lacking(ProbeDirection::Reverse, Some(0), true), None);
        let (forward, reverse, direction) =
            (ProbeDirection::Forward, ProbeDirection::Reverse, ProbeDirection::RoundTrip);
        for (way, lost, has_way, gap) in [
            (reverse, Some(42_055), true, LogGap::RecordsLost { records: 42_055, direction: reverse }),
            (direction, None, true, LogGap::ConnectionLost { direction }),
            (forward, None, false, LogGap::RouteLost { direction: forward }),
        ] {
            assert_eq!(lacking(way, lost, has_way), Some(gap));
        }
    }
}

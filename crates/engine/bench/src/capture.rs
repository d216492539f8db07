//! A trial as a capture that other programs read, each frame with what became of it.

use std::collections::BTreeMap;

use romer_host::clock::Realtime;
use romer_method::analysis::SentFrame;
use romer_units::Dscp;
use romer_wire::pcapng;
use romer_wire::test_frame::{Mark, Signature, locate};

use crate::frames::Store;
use crate::options::BenchOptions;
use crate::receive::ReceiveLog;
use crate::send::SendLog;

/// Frames that are kept of each end at the most.
pub(crate) const MAX_STORED_FRAMES: usize = 200_000;

/// The capture: interface 0 has what was sent, interface 1 what came.
pub(crate) fn pcapng(
    options: &BenchOptions,
    epoch: Realtime,
    signature: Signature,
    store: &mut Store,
    sent: &SendLog,
    received: &ReceiveLog,
) -> Vec<u8> {
    let mut out = Vec::new();
    pcapng::section(&mut out, "romer bench");
    pcapng::interface(&mut out, pcapng::ETHERNET, &options.tx.to_string());
    pcapng::interface(&mut out, pcapng::ETHERNET, &options.rx.to_string());
    let nanos = |at: i64| u64::try_from(epoch.as_nanos() + at).unwrap_or(0);
    let arrivals = arrivals(received);
    let (mut left, mut came) = (departures(sent).into_iter().peekable(), received.caught.iter().peekable());
    let mut place = [0; 16_384];
    loop {
        let first = left.peek().map_or(i64::MAX, |(_, left)| left.sent);
        if let Some(caught) = came.next_if(|caught| caught.at < first) {
            let octets = caught.octets.get(..caught.kept).unwrap_or_default();
            let comment = arrived(options, signature, octets, caught.at);
            pcapng::cut_packet(&mut out, 1, nanos(caught.at), octets, caught.length, &[&comment]);
        } else if let Some((mark, left)) = left.next() {
            let Some(length) = store.put(left.octets, mark, &mut place) else { continue };
            let arrival = arrivals.get(&(mark.stream, mark.sequence));
            let comment = departed(options, mark, left, arrival.copied());
            pcapng::packet(
                &mut out,
                0,
                nanos(left.sent),
                place.get(..length).unwrap_or_default(),
                &[&comment],
            );
        } else {
            return out;
        }
    }
}

/// What left, in order of time.
fn departures(sent: &SendLog) -> Vec<(Mark, &SentFrame)> {
    let mut all: Vec<(Mark, &SentFrame)> = Vec::new();
    for (stream, left) in (0_u16..).zip(&sent.left) {
        all.extend((0_u32..).zip(left).map(|(sequence, left)| {
            (Mark { stream, sequence, sent: u64::try_from(left.sent).unwrap_or(0) }, left)
        }));
    }
    all.sort_by_key(|(_, left)| left.sent);
    all.truncate(MAX_STORED_FRAMES);
    all
}

/// When the first copy of each frame came.
fn arrivals(received: &ReceiveLog) -> BTreeMap<(u16, u32), i64> {
    let mut all = BTreeMap::new();
    for came in &received.came {
        all.entry((came.stream, came.sequence)).or_insert(came.received);
    }
    all
}

fn name(options: &BenchOptions, stream: u16) -> &str {
    options.streams.get(usize::from(stream)).map_or("?", |stream| stream.name.as_str())
}

fn departed(options: &BenchOptions, mark: Mark, left: &SentFrame, arrival: Option<i64>) -> String {
    let fate = arrival.map_or_else(|| "lost".to_owned(), |at| format!("latency {} us", us(at - left.sent)));
    format!(
        "{}, frame {}, {} us late; {fate}",
        name(options, mark.stream),
        mark.sequence,
        us(left.sent - left.due)
    )
}

fn arrived(options: &BenchOptions, signature: Signature, octets: &[u8], at: i64) -> String {
    let seen = locate(octets);
    let mark = seen.and_then(|seen| signature.read(octets.get(seen.mark..)?));
    let (Some(seen), Some(mark)) = (seen, mark) else { return "foreign frame".into() };
    let sent = options.streams.get(usize::from(mark.stream)).map(|stream| stream.dscp);
    let out = Dscp::of_tos(seen.tos);
    let marking = match sent {
        Some(sent) if sent != out => format!("; sent as {sent}, received as {out}"),
        _ => String::new(),
    };
    let latency = at - i64::try_from(mark.sent).unwrap_or(0);
    format!("{}, frame {}, latency {} us{marking}", name(options, mark.stream), mark.sequence, us(latency))
}

fn us(nanos: i64) -> String {
    let sign = if nanos < 0 { "-" } else { "" };
    let nanos = nanos.unsigned_abs();
    format!("{sign}{}.{:03}", nanos / 1_000, nanos % 1_000)
}

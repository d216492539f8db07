//! sockperf: ping-pong, where each packet waits for the one before it, and under load, where none does.

use std::path::Path;

use anyhow::{Context, Result};
use romer_units::Duration;

use super::{HEADERS, PeerSummary, Server, decimal, output, ready_after};
use crate::hosts::{FAR, Hosts};

/// How sockperf is asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Manner {
    PingPong,
    UnderLoad,
}

/// sockperf's server on the far host.
pub(crate) fn serve(hosts: &Hosts) -> Result<Server> {
    let mut command = Hosts::command(&hosts.far, "sockperf")?;
    command.args(["server", "-i", &FAR.to_string(), "-p", "11111"]);
    let server = Server::start(command, "sockperf")?;
    ready_after(&hosts.far, "udp", 11_111)?;
    Ok(server)
}

/// Round trips as sockperf logs them, of the middle of a run that would send `count` packets: it leaves out its first
/// 400 ms and its last 50 ms.
pub(crate) fn sockperf(
    hosts: &Hosts,
    manner: Manner,
    count: u64,
    interval: Duration,
    octets: u32,
) -> Result<PeerSummary> {
    let folder = tempfile::tempdir().context("cannot make a folder for the log")?;
    let log = folder.path().join("log.csv");
    let rate = 1_000_000_000 / interval.as_nanos().max(1);
    // Whole seconds only.
    let seconds = count.div_ceil(u64::try_from(rate).unwrap_or(1).max(1)).max(1);
    let mut command = Hosts::command(&hosts.near, "sockperf")?;
    command
        .arg(match manner {
            Manner::PingPong => "ping-pong",
            Manner::UnderLoad => "under-load",
        })
        .args(["-i", &FAR.to_string(), "-p", "11111", "-m", &octets.saturating_sub(HEADERS).to_string()])
        .args(["--mps", &rate.to_string(), "-t", &seconds.to_string(), "--full-log"])
        .arg(&log);
    if manner == Manner::UnderLoad {
        // Every packet is answered, not every hundredth.
        command.args(["--reply-every", "1"]);
    }
    output(command, "sockperf")?;
    PeerSummary::from_values(&read_log(&log)?).context("no packet of sockperf came back")
}

fn read_log(path: &Path) -> Result<Vec<i64>> {
    let text = std::fs::read_to_string(path).context("cannot read the log of sockperf")?;
    Ok(read(&text))
}

/// The lines behind `packet, txTime(sec), rxTime(sec), latency(usec)`. Its latency is half a round trip; the two times
/// are its own clock's.
fn read(text: &str) -> Vec<i64> {
    text.lines()
        .filter_map(|line| {
            let [number, sent, received, _] =
                <[&str; 4]>::try_from(line.split(", ").collect::<Vec<_>>()).ok()?;
            number.parse::<u64>().ok()?;
            Some(decimal(received, 9)? - decimal(sent, 9)?)
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_of_the_log_is_a_round_trip() {
        let text = "------------------------------\n\
                    sockperf: ---> <MIN> observation =    7.111\n\
                    packet, txTime(sec), rxTime(sec), latency(usec)\n\
                    0, 2.415995936, 2.416081562, 42.813\n\
                    1, 2.416081999, 2.416098669, 8.335\n\
                    ------------------------------\n";
        assert_eq!(read(text), [85_626, 16_670]);
    }
}

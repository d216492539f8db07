//! D-ITG: round trips as its sender logs them.

use std::path::Path;

use anyhow::{Context, Result};
use romer_units::Duration;

use super::{HEADERS, PeerSummary, Server, decimal, output, ready_after};
use crate::hosts::{FAR, Hosts};

const DAY_NS: i64 = 86_400_000_000_000;

/// D-ITG's receiver on the far host.
pub(crate) fn serve(hosts: &Hosts, folder: &Path) -> Result<Server> {
    let mut command = Hosts::command(&hosts.far, "ITGRecv")?;
    // It writes its log where it stands.
    command.current_dir(folder).arg("-l").arg(folder.join("receiver.log"));
    let server = Server::start(command, "ITGRecv")?;
    ready_after(&hosts.far, "tcp", 9_000)?;
    Ok(server)
}

/// Round trips as D-ITG tells them, in steps of a microsecond and with the time at its receiver.
pub(crate) fn ditg(hosts: &Hosts, count: u64, interval: Duration, octets: u32) -> Result<PeerSummary> {
    let folder = tempfile::tempdir().context("cannot make a folder for the log")?;
    let (log, list) = (folder.path().join("sender.log"), folder.path().join("list"));
    let rate = 1_000_000_000 / interval.as_nanos().max(1);
    let millis = interval.as_nanos().saturating_mul(i64::try_from(count).unwrap_or(i64::MAX)) / 1_000_000;
    let mut command = Hosts::command(&hosts.near, "ITGSend")?;
    command
        .current_dir(folder.path())
        .args(["-a", &FAR.to_string(), "-T", "UDP", "-m", "rttm", "-C", &rate.to_string()])
        .args(["-c", &octets.saturating_sub(HEADERS).to_string(), "-t", &millis.to_string(), "-l"])
        .arg(&log);
    output(command, "ITGSend")?;
    let mut decode = Hosts::command(&hosts.near, "ITGDec")?;
    decode.current_dir(folder.path()).arg(&log).arg("-l").arg(&list);
    output(decode, "ITGDec")?;
    let text = std::fs::read_to_string(&list).context("cannot read the log of D-ITG")?;
    PeerSummary::from_values(&read(&text)).context("no packet of D-ITG came back")
}

/// Lines such as `Flow>0001 Seq>      1 Src> ... txTime>4:1:18.872356 rxTime>4:1:18.872489 Size>  484`: times of day.
fn read(text: &str) -> Vec<i64> {
    let time = |line: &str, name: &str| {
        let (_, rest) = line.split_once(name)?;
        let mut parts = rest.split_whitespace().next()?.split(':');
        let hours: i64 = parts.next()?.parse().ok()?;
        let minutes: i64 = parts.next()?.parse().ok()?;
        Some((hours * 60 + minutes) * 60_000_000_000 + decimal(parts.next()?, 9)?)
    };
    text.lines()
        .filter_map(|line| {
            let trip = time(line, "rxTime>")? - time(line, "txTime>")?;
            // Over midnight.
            Some(if trip < 0 { trip + DAY_NS } else { trip })
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_of_the_list_is_a_round_trip_also_over_midnight() {
        let text = "Flow>0001 Seq>      1 Src>  198.18.7.1/35556 Dest>  198.18.7.2/8999 txTime>4:1:18.872356 \
                    rxTime>4:1:18.872489 Size>  484\n\
                    Flow>0001 Seq>      2 Src>  198.18.7.1/35556 Dest>  198.18.7.2/8999 txTime>23:59:59.999950 \
                    rxTime>0:0:0.000050 Size>  484\nnothing\n";
        assert_eq!(read(text), [133_000, 100_000]);
    }
}

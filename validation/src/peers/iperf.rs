//! iperf 2, which measures one way between two ends that read one clock (`--trip-times`).

use anyhow::{Context, Result};
use romer_units::Duration;

use super::{HEADERS, PeerSummary, Server, output, ready_after};
use crate::figures::Figures;
use crate::hosts::{FAR, Hosts};

/// iperf's server on the far host, which waits for datagrams of `octets` of IP packet.
pub(crate) fn serve(hosts: &Hosts, octets: u32) -> Result<Server> {
    let mut command = Hosts::command(&hosts.far, "iperf")?;
    command.args(["-s", "-u", "-e", "-B", &FAR.to_string(), "-l", &payload(octets)]);
    let server = Server::start(command, "iperf")?;
    ready_after(&hosts.far, "udp", 5_001)?;
    Ok(server)
}

fn payload(octets: u32) -> String {
    octets.saturating_sub(HEADERS).to_string()
}

/// The delays of `count` packets forward, as iperf's server tells them: in steps of a microsecond.
pub(crate) fn iperf(hosts: &Hosts, count: u64, interval: Duration, octets: u32) -> Result<PeerSummary> {
    let text = client(hosts, count, interval, octets)?;
    let report = read(&text).context("iperf tells no latency")?;
    Ok(PeerSummary { figures: report.figures, timed: Vec::new() })
}

/// Packets that iperf sent and lost at so high a rate.
pub(crate) fn losses(hosts: &Hosts, count: u64, interval: Duration, octets: u32) -> Result<(u64, u64)> {
    let text = client(hosts, count, interval, octets)?;
    let report = read(&text).context("iperf tells no losses")?;
    Ok((report.total, report.lost))
}

fn client(hosts: &Hosts, count: u64, interval: Duration, octets: u32) -> Result<String> {
    let rate = 1_000_000_000 / interval.as_nanos().max(1);
    let length = interval.as_secs_f64() * std::time::Duration::from_secs(count).as_secs_f64();
    let mut command = Hosts::command(&hosts.near, "iperf")?;
    command
        .args(["-c", &FAR.to_string(), "-u", "-e", "--trip-times", "-l", &payload(octets)])
        .args(["-b", &format!("{rate}pps"), "-t", &format!("{length:.3}")])
        .env("LC_ALL", "C");
    output(command, "iperf")
}

#[derive(Debug, PartialEq)]
struct Report {
    figures: Figures,
    lost: u64,
    total: u64,
}

/// The server's report in the client's words: `[  1] 0.0000-2.0022 sec   474 KBytes  1.94 Mbits/sec   0.001 ms
/// 0/1003 (0%) 0.018/0.001/0.053/0.004 ms 500 pps ...`: losses, and latency as mean, least, most and deviation.
fn read(text: &str) -> Option<Report> {
    let (_, report) = text.split_once("Server Report:")?;
    let line = report.lines().find(|line| line.contains(" pps") && line.contains('%'))?;
    let words: Vec<&str> = line.split_whitespace().collect();
    let (lost, total) = words.iter().find_map(|word| {
        let (lost, total) = word.split_once('/')?;
        Some((lost.parse::<u64>().ok()?, total.parse::<u64>().ok()?))
    })?;
    let latency = words.iter().find(|word| word.matches('/').count() == 3)?;
    let values: Vec<f64> = latency.split('/').filter_map(|value| value.parse().ok()).collect();
    let [mean, min, max, stddev] = <[f64; 4]>::try_from(values).ok()?.map(|millis| millis * 1e6);
    let figures = Figures {
        count: total.saturating_sub(lost),
        min_ns: min,
        mean_ns: mean,
        max_ns: max,
        stddev_ns: stddev,
    };
    Some(Report { figures, lost, total })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_servers_report_gives_losses_and_latency() {
        let text = "[  1] 0.0000-2.0022 sec   474 KBytes  1.94 Mbits/sec  1002/0      501 pps\n\
                    [  1] Sent 1004 datagrams\n\
                    [  1] Server Report:\n\
                    [ ID] Interval       Transfer  Bandwidth  Jitter  Lost/Total  Latency avg/min/max/stdev PPS  Rx/inP\n\
                    [  1] 0.0000-2.0022 sec   474 KBytes  1.94 Mbits/sec   0.001 ms 3/1003 (0.3%) \
                    0.018/0.001/0.053/0.004 ms 500 pps 500/0(0) pkts 13460\n";
        let report = read(text).unwrap();
        assert_eq!((report.lost, report.total, report.figures.count), (3, 1_003, 1_000));
        let found = report.figures;
        let found = [found.mean_ns, found.min_ns, found.max_ns, found.stddev_ns].map(|ns| (ns / 1e3).round());
        assert!(found.iter().zip([18.0, 1.0, 53.0, 4.0]).all(|(a, b)| (a - b).abs() < 0.5), "{found:?}");
        assert_eq!(read("[  1] WARNING: did not receive ack of last datagram"), None);
    }
}

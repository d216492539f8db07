//! irtt.

use std::process::{Command, Stdio};
use std::time::{Duration as StdDuration, Instant};

use anyhow::{Context, Result, bail};
use romer_host::clock::Realtime;
use romer_units::Duration;
use serde_json::Value;

use super::{HEADERS, PeerSummary, READY_TIMEOUT, Server, output};
use crate::figures::Timed;
use crate::hosts::{FAR, Hosts};

/// irtt's server on the far host, once it answers.
pub(crate) fn serve(hosts: &Hosts) -> Result<Server> {
    let mut command = Hosts::command(&hosts.far, "irtt")?;
    command.args(["server", "-b", &format!("{FAR}:2112"), "-i", "0"]);
    let server = Server::start(command, "irtt")?;
    let begin = Instant::now();
    while begin.elapsed() < READY_TIMEOUT {
        // Without a test: it greets the server, and comes back.
        let mut client = Hosts::command(&hosts.near, "irtt")?;
        client.args(["client", "-n", "-Q", &FAR.to_string()]);
        if client.stdout(Stdio::null()).stderr(Stdio::null()).status()?.success() {
            return Ok(server);
        }
        std::thread::sleep(StdDuration::from_millis(50));
    }
    bail!("irtt's server does not answer")
}

/// Round trips as irtt tells them: without the time at its server.
pub(crate) fn irtt(hosts: &Hosts, count: u64, interval: Duration, octets: u32) -> Result<PeerSummary> {
    let mut command = client(hosts, count, interval, octets)?;
    command.args(["-o", "-"]).arg(FAR.to_string());
    let text = output(command, "irtt")?;
    let document: Value = serde_json::from_str(&text).context("cannot read what irtt says")?;
    PeerSummary::at_times(read_irtt(&document)).context("no packet of irtt came back")
}

/// irtt's client, which prints nothing, to be run beside a watch.
pub(crate) fn silent(hosts: &Hosts, count: u64, interval: Duration, octets: u32) -> Result<Command> {
    let mut command = client(hosts, count, interval, octets)?;
    command.arg(FAR.to_string());
    Ok(command)
}

fn client(hosts: &Hosts, count: u64, interval: Duration, octets: u32) -> Result<Command> {
    let all = interval.as_nanos().saturating_mul(i64::try_from(count).unwrap_or(i64::MAX));
    let mut command = Hosts::command(&hosts.near, "irtt")?;
    command.args(["client", "-Q", "-i", &format!("{}us", interval.as_nanos() / 1_000)]).args([
        "-d",
        &format!("{}us", all / 1_000),
        "-l",
        &octets.saturating_sub(HEADERS).to_string(),
    ]);
    Ok(command)
}

fn read_irtt(document: &Value) -> Vec<Timed> {
    let Some(trips) = document.pointer("/round_trips").and_then(Value::as_array) else { return Vec::new() };
    trips
        .iter()
        .filter_map(|trip| {
            let nanos = trip.pointer("/delay/rtt")?.as_i64()?;
            let wall = |which| trip.pointer(&format!("/timestamps/client/{which}/wall"))?.as_i64();
            Some(Timed {
                nanos,
                from: Realtime::from_nanos(wall("send")?),
                to: Realtime::from_nanos(wall("receive")?),
            })
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn irtts_round_trips_are_those_that_came_back() {
        let document = json!({ "round_trips": [
            { "lost": "false", "delay": { "rtt": 81_000 },
              "timestamps": { "client": { "send": { "wall": 10 }, "receive": { "wall": 90_000 } } } },
            { "lost": "true", "timestamps": { "client": { "send": { "wall": 20 } } } },
        ] });
        let found = read_irtt(&document);
        let expected =
            Timed { nanos: 81_000, from: Realtime::from_nanos(10), to: Realtime::from_nanos(90_000) };
        assert_eq!(found, [expected]);
        assert!(read_irtt(&json!({})).is_empty());
    }
}

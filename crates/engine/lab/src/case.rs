//! States of the laboratory's router, for benchmarks: what it does with the packets that it forwards.
//!
//! Its rules stand in a table of their own (`romer`) of nftables, its queues on the port towards B. What others have put
//! there stays.

use std::ffi::OsStr;
use std::process::Command;

use romer_host::userns::NamespaceEntry;
use romer_host::{netns, program};
use romer_units::LineRate;

use crate::error::LabError;
use crate::lab::Lab;
use crate::reserved_classes::HANDLE;
use crate::topology::{Host, Topology};

/// What the router does with what it forwards.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Case {
    /// Nothing but forwarding (Chadda 2004, case 1).
    None,
    /// It classifies, by code point, port, address, protocol and interface (case 2).
    Classify,
    /// It classifies, and remarks code points (case 3): by UDP port 5001 and 50001 to EF, 5002 to AF21, 5003 to CS1.
    Remark,
    /// Three classes by strict priority on a line of this rate: EF, AF21, and the rest. It counts frames with their check
    /// sequences, as benchmarks do.
    Priority(LineRate),
    /// The same three classes in turns, with 6,000, 4,000 and 2,000 octets in each pass: 3 to 2 to 1.
    Weighted(LineRate),
    /// The same, with 200, 150 and 100 octets in a pass, although a frame leaves whole: the pitfall of Chadda 2004's figure
    /// 1-5.
    SmallPasses(LineRate),
    /// No more than 625 packets a second pass, in bursts of 20.
    Police,
}

/// Classes as nftables tells them to the queues, and the counters by which one sees that it did.
const CLASSIFY: &str = "\
    ip dscp ef meta priority set 1:10 counter
    ip6 dscp ef meta priority set 1:10 counter
    ip dscp { af21, af22, af23 } meta priority set 1:20 counter
    ip6 dscp { af21, af22, af23 } meta priority set 1:20 counter
    udp dport { 5001, 50001 } meta priority set 1:10 counter
    udp dport 5002 meta priority set 1:20 counter
    ip saddr 198.18.0.128/25 meta priority set 1:20 counter
    ip6 saddr 2001:2:0:18::80/121 meta priority set 1:20 counter
    meta l4proto tcp meta priority set 1:30 counter
    iifname r1 meta priority set 1:30 counter
";
/// One rule for each class and version: nftables 1.0.6 does not take a map of code points.
const REMARK: &str = "\
    udp dport { 5001, 50001 } ip dscp set ef counter
    udp dport { 5001, 50001 } ip6 dscp set ef counter
    udp dport 5002 ip dscp set af21 counter
    udp dport 5002 ip6 dscp set af21 counter
    udp dport 5003 ip dscp set cs1 counter
    udp dport 5003 ip6 dscp set cs1 counter
";
/// By packets of both versions: by octets, nftables' bucket is one whole second deep.
const POLICE: &str = "    iifname r0 limit rate over 625/second burst 20 packets counter drop\n";
/// By code point only, so that classes are what the sender says.
const BY_CODE_POINT: &str = "\
    ip dscp ef meta priority set 1:10 counter
    ip6 dscp ef meta priority set 1:10 counter
    ip dscp { af21, af22, af23 } meta priority set 1:20 counter
    ip6 dscp { af21, af22, af23 } meta priority set 1:20 counter
";

impl Case {
    fn rules(self) -> String {
        match self {
            Self::None => String::new(),
            Self::Classify => CLASSIFY.into(),
            Self::Remark => format!("{CLASSIFY}{REMARK}"),
            Self::Priority(_) | Self::Weighted(_) | Self::SmallPasses(_) => BY_CODE_POINT.into(),
            Self::Police => POLICE.into(),
        }
    }

    /// The queues' commands. Rates are hardly any, so that all of the line is given by priority, or by turns: what htb
    /// lends to classes of one priority it lends pass by pass, so many octets in each, though never less than a frame.
    fn queues(self) -> Vec<String> {
        let (line, turns) = match self {
            Self::Priority(line) => (line, ["prio 0", "prio 1", "prio 2"]),
            Self::Weighted(line) => (line, ["quantum 6000", "quantum 4000", "quantum 2000"]),
            Self::SmallPasses(line) => (line, ["quantum 200", "quantum 150", "quantum 100"]),
            Self::None | Self::Classify | Self::Remark | Self::Police => return Vec::new(),
        };
        let bits = line.bits();
        // The kernel's own count leaves out the check sequence.
        let each = format!("ceil {bits}bit cburst 3kb overhead 4");
        let mut commands = vec![
            "qdisc add dev r1 root handle 1: htb default 30".to_owned(),
            format!("class add dev r1 parent 1: classid 1:1 htb rate {bits}bit burst 3kb {each}"),
        ];
        for (turn, class) in turns.into_iter().zip([10, 20, 30]) {
            commands.push(format!(
                "class add dev r1 parent 1:1 classid 1:{class} htb rate 8kbit burst 2kb {each} {turn}"
            ));
            commands.push(format!("qdisc add dev r1 parent 1:{class} pfifo limit 30"));
        }
        commands
    }
}

/// Brings the router of the laboratory of `prefix` into a case, out of whatever case it was in. Works from within a
/// laboratory too.
///
/// # Errors
/// There is no such laboratory, it has no router, a program reserves there ([`LabError::Reserving`]), or nft or tc are missing or
/// refuse.
pub fn set(prefix: &str, case: Case) -> Result<(), LabError> {
    if is_reserving(prefix)? {
        return Err(LabError::Reserving { prefix: prefix.into() });
    }
    let nft = format!(
        "add table inet romer\ndelete table inet romer\ntable inet romer {{\n  chain forwarded {{\n    type filter hook forward \
         priority mangle; policy accept;\n{}  }}\n}}\n",
        case.rules()
    );
    run(prefix, "nft", &["-f", "-"], &nft)?;
    // There may be no queue to take away, which is no fault.
    let _ = run(prefix, "tc", &["qdisc", "del", "dev", "r1", "root"], "");
    for command in case.queues() {
        let words: Vec<&str> = command.split(' ').collect();
        run(prefix, "tc", &words, "")?;
    }
    Ok(())
}

/// A command that will run `program` on the router of the laboratory of `prefix`, for a program that calls
/// [`crate::rsvp_router::route`]. The router is out of whatever case it was in.
///
/// # Errors
/// As of [`set`].
pub fn reserving(prefix: &str, program: impl AsRef<OsStr>) -> Result<Command, LabError> {
    set(prefix, Case::None)?;
    on_router(prefix, program)
}

/// Whether a program reserves on the router.
fn is_reserving(prefix: &str) -> Result<bool, LabError> {
    let queues = run(prefix, "tc", &["qdisc", "show", "dev", "r1"], "")?;
    Ok(queues.contains(&format!("qdisc htb {HANDLE} ")))
}

/// A program on the router.
fn on_router(prefix: &str, program: impl AsRef<OsStr>) -> Result<Command, LabError> {
    let name = Host::R.namespace(prefix);
    // Within a laboratory of a user namespace, the namespaces are named ones.
    if netns::exists(&name).unwrap_or(false) {
        return Ok(NamespaceEntry::named(&name)?.into_command(Command::new(program)));
    }
    let lab = Lab::open(prefix)?;
    if lab.kind() != Topology::Router {
        return Err(LabError::NoRouter { prefix: prefix.into() });
    }
    lab.command(Host::R, program)
}

fn run(prefix: &str, program: &'static str, words: &[&str], input: &str) -> Result<String, LabError> {
    program::run(on_router(prefix, program)?, words, input).map_err(|why| LabError::Program { program, why })
}

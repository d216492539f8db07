//! Buffers, ports and the disk.

use romer_record::doctor::{BufferSizes, PortHolder, PortUse};

use super::statement::Statement;

/// Consequence of a small receive buffer.
pub(super) const DROPS: &str =
    "Packets that arrive while romer is descheduled are dropped sooner, and appear as losses of the path.";

pub(super) fn buffer(sizes: BufferSizes, is_good: bool) -> Statement {
    let requested = octets(sizes.requested_octets);
    if is_good {
        Statement::new(
            format!("Receive buffer: {requested}, as requested."),
            "Packets are buffered while romer is descheduled.",
        )
    } else {
        let granted = octets(sizes.granted_octets);
        Statement::new(format!("Receive buffer: {granted} of the {requested} requested."), DROPS)
    }
}

/// A number of bytes with a binary unit: `208 KiB`.
fn octets(number: u32) -> String {
    match number {
        n if n >= 1 << 20 && n.is_multiple_of(1 << 20) => format!("{} MiB", n >> 20),
        n if n >= 10 << 20 => format!("{} MiB", n >> 20),
        n if n >= 10 << 10 => format!("{} KiB", n >> 10),
        n => format!("{n} B"),
    }
}

/// With the state of the port over IPv4 and over IPv6.
pub(super) fn stamp_port(families: [PortUse; 2], holder: Option<&PortHolder>, is_good: bool) -> Statement {
    const PORT: &str = "UDP port 862";
    const OPEN: &str = "romer respond can answer any STAMP sender.";
    if families.contains(&PortUse::Taken) {
        const NEEDS: &str = "romer respond needs another port, which senders must then use.";
        return taken(PORT, holder, NEEDS, is_good);
    }
    if families.contains(&PortUse::Forbidden) {
        return Statement::new(
            format!("This user may not bind {PORT}."),
            "romer respond exits with code 4 without --listen for another port, which senders must then use.",
        );
    }
    match families.map(|family| family == PortUse::Free) {
        [true, true] => Statement::new(format!("{PORT} is free and can be bound, over IPv4 and IPv6."), OPEN),
        [true, false] => {
            Statement::new(format!("{PORT} is free and can be bound over IPv4; no IPv6 here."), OPEN)
        }
        [false, true] => {
            Statement::new(format!("{PORT} is free and can be bound over IPv6; no IPv4 here."), OPEN)
        }
        [false, false] => Statement::new(
            format!("{PORT} can be bound neither over IPv4 nor over IPv6."),
            "romer respond cannot run here.",
        ),
    }
}

pub(super) fn control_port(ipv4: PortUse, holder: Option<&PortHolder>, is_good: bool) -> Statement {
    const PORT: &str = "TCP port 8862";
    const NEEDS: &str =
        "romer respond needs another port for its control channel, which senders must then use.";
    match ipv4 {
        PortUse::Free => {
            Statement::new(format!("{PORT} is free."), "The control channel of romer respond is available.")
        }
        PortUse::Taken => taken(PORT, holder, NEEDS, is_good),
        PortUse::Forbidden => Statement::new(format!("This user may not bind {PORT}."), NEEDS),
        PortUse::Absent => Statement::new(format!("{PORT} cannot be bound over IPv4."), NEEDS),
    }
}

/// A port that a process uses: a responder, if that is good.
fn taken(port: &str, holder: Option<&PortHolder>, consequence: &str, is_good: bool) -> Statement {
    let Some(PortHolder { process, program }) = holder else {
        let observed = format!("{port} is in use by a process that this user cannot see.");
        return Statement::new(observed, consequence);
    };
    let consequence = if is_good { "A responder is running." } else { consequence };
    Statement::new(format!("{port} is in use by {program} (process {process})."), consequence)
}

pub(super) fn run_folder(octets_per_second: Option<f64>, error: Option<&str>, is_good: bool) -> Statement {
    const LOG: &str = "A run stores a packet log of about 100 bytes per probe there.";
    const NEEDS: &str = "romer measure needs --out.";
    match (octets_per_second, error) {
        (Some(rate), _) => {
            let observed = format!("Writes {:.0} MB/s.", rate / 1e6);
            if is_good {
                Statement::new(observed, LOG)
            } else {
                let consequence = format!("{LOG} At high rates entries may be dropped; they are counted.");
                Statement::new(observed, consequence)
            }
        }
        (None, Some(error)) => Statement::new(format!("The run folder is not writable: {error}."), NEEDS),
        (None, None) => Statement::new("No run folder: neither HOME nor XDG_STATE_HOME is set.", NEEDS),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Buffer sizes have a unit and no needless digits.
    #[test]
    fn sizes_of_buffers() {
        assert_eq!([212_992, 4 << 20, 100].map(octets), ["208 KiB", "4 MiB", "100 B"]);
    }
}

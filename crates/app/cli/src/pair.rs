//! `romer pair`.

use std::io::{self, BufRead};

use romer_endpoint::tls::pairing::PairingCode;
use romer_record::Exit;

use crate::args::PairArgs;
use crate::failure::Failure;
use crate::{measure, output};

/// The longest line that is read.
const LONGEST_LINE: u64 = 256;

/// Pairs this user with a responder, and gives the exit code.
pub(crate) fn run(arguments: &PairArgs) -> Result<Exit, Failure> {
    let code = match arguments.code {
        Some(code) => code,
        None => read(&arguments.target.text)?,
    };
    let family = measure::family(arguments.ipv4, arguments.ipv6);
    let paired = romer_measure::pair(&arguments.target, family, code)?;
    if !arguments.quiet {
        output::print(&format!(
            "paired with {} ({}), saved in {}\n",
            arguments.target.text, paired.fingerprint, paired.place
        ));
    }
    Ok(Exit::Success)
}

/// The code that is typed.
fn read(target: &str) -> Result<PairingCode, Failure> {
    output::eprint_line(&format!("code shown by `romer respond --pair` on {target}:"));
    let mut line = String::new();
    let unreadable = |error: io::Error| {
        Failure::environment(format!("cannot read the code (standard input): {error}; give it with --code"))
    };
    io::Read::take(io::stdin().lock(), LONGEST_LINE).read_line(&mut line).map_err(unreadable)?;
    line.trim().parse::<PairingCode>().map_err(|error| {
        Failure::usage(format!("invalid code (standard input): {error}; give it with --code"))
    })
}

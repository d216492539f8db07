//! Arguments of `romer console`, and of what serves it elsewhere.

use std::net::SocketAddr;
use std::path::PathBuf;

use clap::Args;

use crate::values;

/// Arguments of `romer console`.
#[derive(Debug, Args)]
#[command(
    long_about = "See and steer the laboratory in a browser: emulate, measure, benchmark, look at runs and at what this \
        machine can do.\n\nIt prints the address of its page with a token in it, once; whoever has the token may do what this process \
        may. It listens on this machine only, unless it is given a certificate. It runs until it is interrupted, ended \
        by SIGTERM, or its terminal is closed (unless that is to be ignored: nohup).",
    after_help = "Examples:\n  romer console\n  romer console --listen 0.0.0.0:8800 --tls-cert lab.pem --tls-key lab.key --host \
        lab.example"
)]
pub(crate) struct ConsoleArgs {
    /// Where to listen: ADDR:PORT; port 0 for any that is free
    #[arg(long, value_name = "ADDR:PORT", default_value = "127.0.0.1:8800", value_parser = values::console)]
    pub(crate) listen: SocketAddr,
    /// How it is served.
    #[command(flatten)]
    pub(crate) serving: ServingArgs,
}

/// How a page is served.
#[derive(Debug, Args)]
#[command(next_help_heading = "Serving")]
pub(crate) struct ServingArgs {
    /// Serve with TLS: the certificate chain, a PEM file; needed beyond this machine
    #[arg(long, value_name = "FILE", requires = "tls_key")]
    pub(crate) tls_cert: Option<PathBuf>,
    /// The certificate's key, a PEM file
    #[arg(long, value_name = "FILE", requires = "tls_cert")]
    pub(crate) tls_key: Option<PathBuf>,
    /// A name by which browsers may call the server besides its address; repeat for more
    #[arg(long = "host", value_name = "NAME", value_parser = values::host)]
    pub(crate) hosts: Vec<String>,
    /// Take the token from this file (mode 0600, 32 visible characters or more) instead of drawing one
    #[arg(long, value_name = "FILE")]
    pub(crate) token_file: Option<PathBuf>,
    /// Let benchmarks that are started from the page run the commands of their cases: whoever has the token can then
    /// run any command as this user
    #[arg(long)]
    pub(crate) allow_commands: bool,
}

//! Arguments of `romer console`, and of what serves it elsewhere.

use std::net::SocketAddr;
use std::path::PathBuf;

use clap::Args;

use crate::values;

/// Arguments of `romer console`.
#[derive(Debug, Args)]
#[command(
    long_about = "Control romer in a browser: emulate, measure, close loops, benchmark, compare runs, check this machine.\n\nThe console \
        prints its address once, with a token. Whoever has the token can do what this process can. It listens on this machine \
        only, unless it has a certificate. It ends by SIGINT or SIGTERM, or when its terminal is closed (except under nohup).",
    after_help = "Examples:\n  romer console\n  romer console --listen 0.0.0.0:8800 --tls-cert lab.pem --tls-key lab.key --host \
        lab.example"
)]
pub(crate) struct ConsoleArgs {
    /// Address to listen on; port 0 is any free port
    #[arg(long, value_name = "ADDR:PORT", default_value = "127.0.0.1:8800", value_parser = values::console)]
    pub(crate) listen: SocketAddr,
    /// How it is served.
    #[command(flatten)]
    pub(crate) serving: ServingArgs,
}

/// Heading of the help.
pub(super) const SERVING: &str = "Console and API";

/// How a page is served.
#[derive(Debug, Args)]
#[command(next_help_heading = SERVING)]
pub(crate) struct ServingArgs {
    /// TLS certificate chain (PEM), required to serve other machines
    #[arg(long, value_name = "FILE", requires = "tls_key")]
    pub(crate) tls_cert: Option<PathBuf>,
    /// Private key of the certificate (PEM)
    #[arg(long, value_name = "FILE", requires = "tls_cert")]
    pub(crate) tls_key: Option<PathBuf>,
    /// Host name of the server in browsers, besides its address; repeatable
    #[arg(long = "host", value_name = "NAME", value_parser = values::host)]
    pub(crate) hosts: Vec<String>,
    /// File with the token (mode 0600, 32 characters or more) [default: random]
    ///
    /// The characters must be visible ones.
    #[arg(long, value_name = "FILE")]
    pub(crate) token_file: Option<PathBuf>,
    /// Allow benchmarks from the console to run the commands of their cases
    ///
    /// Whoever has the token can then run any command as this user.
    #[arg(long)]
    pub(crate) allow_commands: bool,
}

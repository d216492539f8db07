//! `romer console`, and what `romer emulate --api` serves.

use std::net::SocketAddr;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration as StdDuration;

use romer_emulate::live::Control;
use romer_record::Exit;
use romer_server::{Emulation, Options, SHORTEST_TOKEN, Server, ServerError, Tls, read_token};
use romer_store::Runs;

use crate::args::{ConsoleArgs, ServingArgs};
use crate::failure::Failure;
use crate::{bench, confinement, output, signals};

/// How often the signals are looked at.
const POLL_INTERVAL: StdDuration = StdDuration::from_millis(50);

/// Serves until it is ended, and gives the exit code.
pub(crate) fn run(arguments: &ConsoleArgs) -> Result<Exit, Failure> {
    let ending = signals::ending()?;
    let server = start(arguments.listen, &arguments.serving, "--listen", None)?;
    let needs = confinement::of_console(arguments.serving.allow_commands);
    let confined = needs.map(|needs| confinement::start(&needs)).unwrap_or_default();
    output::print(&format!("console at {}\n{confined}", server.url()));
    while !ending.has_come() {
        std::thread::sleep(POLL_INTERVAL);
    }
    server.stop();
    Ok(ending.exit())
}

/// Serves the page of an emulation whose scenario lies in `folder`.
pub(crate) fn of_emulation(
    listen: SocketAddr,
    serving: &ServingArgs,
    control: Control,
    folder: Option<&Path>,
) -> Result<Server, Failure> {
    start(listen, serving, "--api", Some(Arc::new(Emulation::attach(control, folder))))
}

fn start(
    listen: SocketAddr,
    serving: &ServingArgs,
    flag: &str,
    emulation: Option<Arc<Emulation>>,
) -> Result<Server, Failure> {
    let tls = serving.tls_cert.clone().zip(serving.tls_key.clone());
    let token = serving.token_file.as_deref().map(|file| {
        read_token(file).map_err(|why| {
            Failure::environment(format!(
                "the token cannot be read (--token-file {}): {why}; name a file of mode 0600 with {SHORTEST_TOKEN} \
                 visible characters or more",
                file.display()
            ))
        })
    });
    let options = Options {
        listen,
        tls: tls.map(|(certificate, key)| Tls { certificate, key }),
        hosts: serving.hosts.clone(),
        token: token.transpose()?,
        runs: Runs::of_user()?,
        emulation,
        plans: bench::of_page,
        allow_commands: serving.allow_commands,
    };
    Server::start(options).map_err(|error| refused(&error, flag))
}

fn refused(error: &ServerError, flag: &str) -> Failure {
    match error {
        ServerError::NeedsTls(_) => Failure::usage(format!(
            "the address needs TLS ({flag}): {error}, and the token would cross the network unencrypted; give --tls-cert and \
             --tls-key, or listen on 127.0.0.1"
        )),
        ServerError::Bind { .. } => Failure::environment(format!(
            "cannot listen on this address ({flag}): {error}; choose another, or end the program that listens there"
        )),
        ServerError::Certificate { .. } => Failure::with_exit(
            Exit::BadData,
            format!(
                "the certificate cannot be used (--tls-cert, --tls-key): {error}; give PEM files that belong together"
            ),
        ),
        ServerError::Token(_) => Failure::with_exit(
            Exit::BadData,
            format!(
                "the token cannot be used (--token-file): {error}; write a longer one, such as `openssl rand -hex 32` gives"
            ),
        ),
        ServerError::System(_) => {
            Failure::environment(format!("the page cannot be served (system): {error}; see `romer doctor`"))
        }
    }
}

//! The console's server: an interface over HTTP to the engines, and the page that uses it.
//!
//! [`Server::start`] binds, and serves on a thread of its own until [`Server::stop`]. Whoever may speak to it shows
//! the token that [`Server::url`] carries. All that it does goes through the same engines as the command line.
//!
//! | module | what |
//! | --- | --- |
//! | `connections` | connections: how many, how slow, with TLS or without |
//! | `http1` | what hyper does by itself, and is to say in words |
//! | `request_guard`, `auth`, `strict_json` | what a request must be before it is looked at: host, origin, size; token; JSON |
//! | `api` | the table of what can be asked for, its routes and its description |
//! | `body` | bodies checked without acting on them, for fuzz targets |
//! | `app` | what requests share |
//! | `jobs` | work that goes on by itself, told to every page |
//! | `emulation`, `samples`, `measurement_job`, `benchmark_job`, `loop_job`, `runs`, `scenario`, `scenario_diagnostics` | what they are about |
//! | `log_tail` | what can be told of a measurement's delays while it runs, from its packet log |
//! | `interval_store` | the same, interval by interval, for pages that come later |
//! | `linked_emulation` | what a measurement passes through, kept with it |
//! | `events` | what happens, told to every page |
//! | `assets` | the page, built from `console/` and embedded |
//!
//! Handlers are functions that may block and run on threads for that; tokio stays in this crate.
#![forbid(unsafe_code)]

mod api;
mod app;
mod assets;
mod auth;
mod benchmark_job;
pub mod body;
mod connections;
mod emulation;
mod events;
mod history;
mod http1;
mod interval_store;
mod jobs;
mod limits;
mod linked_emulation;
mod log_tail;
mod loop_job;
mod measurement_job;
mod problem;
mod request_defaults;
mod request_guard;
mod runs;
mod samples;
mod scenario;
mod scenario_diagnostics;
mod strict_json;
mod time;
mod warning_text;

use std::io;
use std::net::{IpAddr, SocketAddr, TcpListener};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;

use romer_record::run_list::RunListEntry;
use romer_store::Runs;
use thiserror::Error;
use tokio::sync::watch;

use app::App;
pub use auth::SHORTEST_TOKEN;
pub use benchmark_job::{Plan, PlanFault, PlanReader};
pub use emulation::{Emulation, LEAST_HOLD};
pub use log_tail::{Follower, LiveStream, LiveWay};

/// The description of the interface (OpenAPI 3.1), as `/api/openapi.json` gives it.
pub fn openapi() -> serde_json::Value {
    api::document()
}

/// The runs, newest first, with their results, as the console lists them.
///
/// # Errors
/// In words, if the folder of runs cannot be read.
pub fn list_runs(runs: &Runs) -> Result<Vec<RunListEntry>, String> {
    runs::list(runs).map_err(|problem| problem.detail().to_owned())
}

/// Deletes a run by its name, as the console does: its own files, and of a linked run the link. A run that is being
/// written is not deleted.
///
/// # Errors
/// In words, if there is no such run, or it cannot be deleted.
pub fn delete_run(runs: &Runs, name: &str) -> Result<(), String> {
    runs::delete(runs, name).map_err(|problem| problem.detail().to_owned())
}

/// Where and for whom to serve.
#[derive(Clone, Debug)]
pub struct Options {
    /// The address; port 0 for any that is free.
    pub listen: SocketAddr,
    /// Certificate chain and key, in PEM files.
    pub tls: Option<Tls>,
    /// Names by which the server may be called besides its addresses.
    pub hosts: Vec<String>,
    /// A token of the user's own, of at least [`SHORTEST_TOKEN`] characters; `None` for a fresh one.
    pub token: Option<String>,
    /// Folder of the runs.
    pub runs: Runs,
    /// The emulation that the server belongs to.
    pub emulation: Option<Arc<Emulation>>,
    /// What reads the plans of benchmarks.
    pub plans: PlanReader,
    /// Whether the plans of pages may run commands to set their cases: whoever has the token can then run any.
    pub allow_commands: bool,
}

/// A certificate and its key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Tls {
    /// The chain, PEM.
    pub certificate: PathBuf,
    /// The key, PEM.
    pub key: PathBuf,
}

/// Why nothing is served.
#[derive(Debug, Error)]
pub enum ServerError {
    /// Without TLS, and beyond this machine.
    #[error("{0} is not an address of this machine alone")]
    NeedsTls(IpAddr),
    /// The address cannot be had.
    #[error("{address}: {source}")]
    Bind {
        /// The address.
        address: SocketAddr,
        /// What the system says.
        source: io::Error,
    },
    /// The certificate or its key cannot be used.
    #[error("{}: {why}", path.display())]
    Certificate {
        /// The file.
        path: PathBuf,
        /// In words.
        why: String,
    },
    /// A token that can be guessed.
    #[error("the token has {0} characters, and may have no fewer than {SHORTEST_TOKEN}, all visible ASCII")]
    Token(usize),
    /// The system gives no threads, or no randomness.
    #[error("{0}")]
    System(String),
}

/// A server at work. Dropping it ends it.
pub struct Server {
    app: Arc<App>,
    address: SocketAddr,
    token: String,
    stop: watch::Sender<bool>,
    thread: Option<JoinHandle<()>>,
}

impl std::fmt::Debug for Server {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        // Not the token.
        f.debug_struct("Server").field("address", &self.address).finish_non_exhaustive()
    }
}

impl Server {
    /// Binds and serves.
    ///
    /// # Errors
    /// [`ServerError`]; nothing is served then.
    pub fn start(options: Options) -> Result<Self, ServerError> {
        if options.tls.is_none() && !options.listen.ip().to_canonical().is_loopback() {
            return Err(ServerError::NeedsTls(options.listen.ip()));
        }
        let token = match options.token {
            Some(token) => {
                if token.len() < SHORTEST_TOKEN || !token.bytes().all(|byte| byte.is_ascii_graphic()) {
                    return Err(ServerError::Token(token.chars().count()));
                }
                token
            }
            None => auth::fresh_token()
                .ok_or_else(|| ServerError::System("the system gives no random numbers".into()))?,
        };
        let tls = options.tls.as_ref().map(connections::acceptor).transpose()?;
        let failed = |source| ServerError::Bind { address: options.listen, source };
        let listener = TcpListener::bind(options.listen).map_err(failed)?;
        listener.set_nonblocking(true).map_err(failed)?;
        let address = listener.local_addr().map_err(failed)?;
        let hub = Arc::new(events::Hub::new());
        let app = Arc::new(App {
            guard: auth::Guard::new(token.clone()),
            names: request_guard::Names { hosts: options.hosts, tls: tls.is_some() },
            measurements: measurement_job::Measurements::new(Arc::clone(&hub)),
            benchmarks: benchmark_job::Benchmarks::new(Arc::clone(&hub)),
            loops: loop_job::Loops::new(Arc::clone(&hub)),
            plans: benchmark_job::Plans { reader: options.plans, commands: options.allow_commands },
            hub,
            runs: options.runs,
            openapi: api::document().to_string(),
            ends_with_emulation: options.emulation.is_some(),
            port: address.port(),
            emulation: Mutex::new(options.emulation),
            doctor: Mutex::new(()),
        });
        let (stop, stopping) = watch::channel(false);
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()
            .map_err(|error| ServerError::System(error.to_string()))?;
        let serving = Arc::clone(&app);
        let thread = std::thread::Builder::new()
            .name("server".into())
            .spawn(move || {
                runtime.block_on(connections::serve(listener, tls, serving, stopping));
                // What still blocks does not hold up the end.
                runtime.shutdown_background();
            })
            .map_err(|error| ServerError::System(error.to_string()))?;
        Ok(Self { app, address, token, stop, thread: Some(thread) })
    }

    /// Where it listens.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Where the page is, with the token, which browsers do not send on: it stands behind the `#`.
    pub fn url(&self) -> String {
        let scheme = if self.app.names.tls { "https" } else { "http" };
        let host = match (self.app.names.hosts.first(), self.address.ip().is_unspecified()) {
            (Some(host), true) => format!("{host}:{}", self.address.port()),
            (None, true) => format!("localhost:{}", self.address.port()),
            (_, false) => self.address.to_string(),
        };
        format!("{scheme}://{host}/#token={}", self.token)
    }

    /// Ends it: measurements, benchmarks and loops that it runs are ended, measurements kept, and an emulation of its own is
    /// stopped.
    pub fn stop(mut self) {
        self.end();
    }

    fn end(&mut self) {
        self.app.measurements.stop_all();
        self.app.benchmarks.stop_all();
        self.app.loops.stop_all();
        if !self.app.ends_with_emulation {
            // It is kept as a run; what it says at its end is of no use any more.
            let _ = self.app.stop_emulation(true);
        }
        self.app.measurements.wait();
        self.app.benchmarks.wait();
        self.app.loops.wait();
        let _ = self.stop.send(true);
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.end();
    }
}

/// The content of a file that holds a token: its one line.
///
/// # Errors
/// In words: others can read it, or it cannot be read.
pub fn read_token(path: &Path) -> Result<String, String> {
    use std::os::unix::fs::PermissionsExt;
    let about = std::fs::metadata(path).map_err(|error| error.to_string())?;
    if !about.is_file() || about.len() > 4_096 {
        return Err("it is not a small file".into());
    }
    if about.permissions().mode() & 0o077 != 0 {
        return Err("others than its owner can read it".into());
    }
    std::fs::read_to_string(path).map(|text| text.trim().to_owned()).map_err(|error| error.to_string())
}

//! The laboratory as its users see it.

use std::collections::HashSet;
use std::ffi::OsStr;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use romer_host::host_info::{Capability, capabilities};
use romer_host::process::{self, NamespaceId};
use romer_host::userns::NamespaceEntry;
use romer_host::{HostError, netns};
use romer_units::Duration;
use serde::{Deserialize, Serialize};

use crate::build;
use crate::error::LabError;
use crate::holder::WaitingHolder;
use crate::state::{Folder, Holder, LabState};
use crate::topology::{Host, NamespacePrefix, Topology};

/// How long a program inside may take to end when the laboratory is taken down.
const SHUTDOWN_TIMEOUT: Duration = Duration::from_secs(2);

/// Where a laboratory's namespaces are.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Mode {
    /// Named namespaces of this machine, seen by everybody.
    Machine,
    /// In a user namespace of the user's own, which a process of the laboratory holds.
    UserNamespace,
}

impl Mode {
    /// What the rights of this process allow.
    fn of_this_process() -> Result<Self, LabError> {
        let rights = capabilities()?;
        let root = rights.has(Capability::SysAdmin) && rights.has(Capability::NetAdmin);
        Ok(if root { Self::Machine } else { Self::UserNamespace })
    }
}

/// A laboratory that stands.
#[derive(Debug)]
pub struct Lab {
    prefix: NamespacePrefix,
    state: LabState,
}

/// What there is to see of a laboratory.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Status {
    /// Its prefix.
    pub prefix: String,
    /// What it is.
    pub kind: Topology,
    /// Where it is.
    pub mode: Mode,
    /// The process that holds it, of one in a user namespace.
    pub holder: Option<u32>,
    /// Whether all of it is there; otherwise it wants to be taken down.
    pub whole: bool,
    /// Its hosts and the names of their namespaces.
    pub hosts: Vec<(Host, String)>,
}

impl Status {
    fn read(state: &LabState, prefix: &NamespacePrefix) -> Self {
        Self {
            prefix: prefix.as_str().into(),
            kind: state.kind,
            mode: state.mode,
            holder: state.holder.map(|holder| holder.process),
            whole: is_whole(state, prefix),
            hosts: state
                .kind
                .hosts()
                .into_iter()
                .map(|host| (host, host.namespace(prefix.as_str())))
                .collect(),
        }
    }
}

impl Lab {
    /// Puts a laboratory up, ready to carry packets. What an earlier one of this prefix has left by a crash is
    /// cleared away first.
    ///
    /// # Errors
    /// One of this prefix stands ([`LabError::AlreadyUp`]); a namespace of a name it needs is not ours
    /// ([`LabError::NameTaken`]); the kernel does not allow it ([`LabError::Forbidden`]); or the system refuses
    /// something on the way. Nothing is left then.
    pub fn up(kind: Topology, prefix: &str) -> Result<Self, LabError> {
        let prefix: NamespacePrefix = prefix.parse()?;
        let mode = Mode::of_this_process()?;
        let folder = Folder::lock(mode)?;
        if let Some(state) = folder.read(&prefix)? {
            if is_whole(&state, &prefix) {
                let kind = state.kind.name();
                return Err(LabError::AlreadyUp { prefix: prefix.as_str().into(), kind });
            }
            clear(&folder, &prefix, &state)?;
        }
        let state = match mode {
            Mode::Machine => build_here(&folder, kind, &prefix)?,
            Mode::UserNamespace => build_held(&folder, kind, &prefix)?,
        };
        Ok(Self { prefix, state })
    }

    /// The laboratory that stands under `prefix`.
    ///
    /// # Errors
    /// There is none ([`LabError::NotUp`]), or it is not whole ([`LabError::Broken`]).
    pub fn open(prefix: &str) -> Result<Self, LabError> {
        let prefix: NamespacePrefix = prefix.parse()?;
        let folder = Folder::lock(Mode::of_this_process()?)?;
        let Some(state) = folder.read(&prefix)? else {
            return Err(LabError::NotUp { prefix: prefix.as_str().into() });
        };
        if !is_whole(&state, &prefix) {
            return Err(LabError::Broken { prefix: prefix.as_str().into() });
        }
        Ok(Self { prefix, state })
    }

    /// Takes the laboratory of `prefix` down: ends the programs that run on its hosts (`SIGTERM`, after two
    /// seconds `SIGKILL`), then removes everything it made, also what a crash has left.
    ///
    /// # Errors
    /// There is none ([`LabError::NotUp`]), or the system refuses something; it can then be tried again.
    pub fn down(prefix: &str) -> Result<(), LabError> {
        let prefix: NamespacePrefix = prefix.parse()?;
        let folder = Folder::lock(Mode::of_this_process()?)?;
        let Some(state) = folder.read(&prefix)? else {
            return Err(LabError::NotUp { prefix: prefix.as_str().into() });
        };
        clear(&folder, &prefix, &state)
    }

    /// What stands under `prefix`, whole or not; `None` where nothing does.
    ///
    /// # Errors
    /// The prefix is not legal, or the state cannot be read.
    pub fn status(prefix: &str) -> Result<Option<Status>, LabError> {
        let prefix: NamespacePrefix = prefix.parse()?;
        let state = Folder::lock(Mode::of_this_process()?)?.read(&prefix)?;
        Ok(state.map(|state| Status::read(&state, &prefix)))
    }

    /// All laboratories of this machine (as root) or of this user, whole or not, in order of their prefix.
    ///
    /// # Errors
    /// The state cannot be read.
    pub fn list() -> Result<Vec<Status>, LabError> {
        let folder = Folder::lock(Mode::of_this_process()?)?;
        let mut list = Vec::new();
        for prefix in folder.prefixes()? {
            list.extend(folder.read(&prefix)?.map(|state| Status::read(&state, &prefix)));
        }
        Ok(list)
    }

    /// Runs `program` on `host` (`A`, `B`, `E`, `E2`, `R` or a full name) in place of this process. Returns only when
    /// that fails. In a user namespace this process must have a single thread.
    pub fn run<I: IntoIterator<Item: AsRef<OsStr>>>(
        host: &str,
        prefix: &str,
        program: impl AsRef<OsStr>,
        arguments: I,
    ) -> LabError {
        let prepared = Self::open(prefix).and_then(|lab| {
            let host = Host::find(host, lab.kind(), prefix)?;
            lab.command(host, &program)
        });
        let mut command = match prepared {
            Ok(command) => command,
            Err(error) => return error,
        };
        let source = command.args(arguments).exec();
        let subject = program.as_ref().to_string_lossy().into_owned();
        LabError::Host(HostError::System { operation: "run", subject, source })
    }

    /// A command that will run `program` on `host`. It may be spawned from a process with any number of threads.
    ///
    /// # Errors
    /// The host is not of this laboratory, or its holder has ended.
    pub fn command(&self, host: Host, program: impl AsRef<OsStr>) -> Result<Command, LabError> {
        let name = self.namespace(host)?;
        let entry = match self.state.holder {
            None => NamespaceEntry::named(&name)?,
            Some(holder) => NamespaceEntry::held_by(holder.process, &name)?,
        };
        Ok(entry.into_command(Command::new(program)))
    }

    /// Makes a folder for what programs of this laboratory hand over. It is removed when the laboratory is taken down.
    ///
    /// # Errors
    /// It exists, or the system refuses to make it.
    pub fn make_scratch(&self) -> Result<PathBuf, LabError> {
        Folder::lock(self.state.mode)?.make_scratch(&self.prefix)
    }

    /// The name of the host's network namespace.
    ///
    /// # Errors
    /// The host is not of this laboratory.
    pub fn namespace(&self, host: Host) -> Result<String, LabError> {
        let name = host.namespace(self.prefix.as_str());
        Host::find(&name, self.kind(), self.prefix.as_str()).map(|_| name)
    }

    /// What it is.
    pub const fn kind(&self) -> Topology {
        self.state.kind
    }

    /// Where it is.
    pub const fn mode(&self) -> Mode {
        self.state.mode
    }

    /// Its prefix.
    pub fn prefix(&self) -> &str {
        self.prefix.as_str()
    }
}

/// Builds named namespaces of this machine.
fn build_here(folder: &Folder, kind: Topology, prefix: &NamespacePrefix) -> Result<LabState, LabError> {
    for host in kind.hosts() {
        let name = host.namespace(prefix.as_str());
        if netns::exists(&name)? {
            return Err(LabError::NameTaken { name });
        }
    }
    let mut state = LabState::begun(kind, Mode::Machine, None)?;
    state.made_folder = !Path::new(netns::FOLDER).exists() || another_made_folder(folder)?;
    folder.write(prefix, &state)?;
    let built = build::build(kind, prefix).and_then(|()| {
        state.complete = true;
        folder.write(prefix, &state)
    });
    match built {
        Ok(()) => Ok(state),
        Err(error) => {
            // What stopped us is the better error to report; what cannot be cleared away now stays noted.
            let _ = clear(folder, prefix, &state);
            Err(error)
        }
    }
}

/// Whether a laboratory that stands made the folder of named namespaces: then the last one takes it away.
fn another_made_folder(folder: &Folder) -> Result<bool, LabError> {
    for prefix in folder.prefixes()? {
        if folder.read(&prefix)?.is_some_and(|state| state.made_folder) {
            return Ok(true);
        }
    }
    Ok(false)
}

/// Has a holder build the laboratory in a user namespace.
fn build_held(folder: &Folder, kind: Topology, prefix: &NamespacePrefix) -> Result<LabState, LabError> {
    let mut holder = WaitingHolder::start()?;
    let noted = Holder::find(holder.process())
        .ok_or_else(|| LabError::Holder { why: "it ended at its start".into() })
        .and_then(|noted| LabState::begun(kind, Mode::UserNamespace, Some(noted)));
    let built = noted.and_then(|mut state| {
        folder.write(prefix, &state)?;
        holder.build(kind, prefix)?;
        state.complete = true;
        folder.write(prefix, &state)?;
        Ok(state)
    });
    if built.is_err() {
        holder.end();
        let _ = folder.remove(prefix);
    }
    built
}

/// Where the namespace `name` of a laboratory is mounted, as seen from here.
fn mount_point(state: &LabState, name: &str) -> Result<PathBuf, LabError> {
    let path = netns::path(name)?;
    Ok(match state.holder {
        None => path,
        Some(holder) => {
            let inside = path.strip_prefix("/").unwrap_or(&path);
            Path::new("/proc").join(holder.process.to_string()).join("root").join(inside)
        }
    })
}

/// Whether all of a laboratory is there.
fn is_whole(state: &LabState, prefix: &NamespacePrefix) -> bool {
    let alive = state.holder.is_none_or(Holder::lives);
    let mark = build::mark(prefix, state.kind);
    alive
        && state.complete
        && state.kind.hosts().into_iter().all(|host| {
            let name = host.namespace(prefix.as_str());
            let there = mount_point(state, &name).is_ok_and(|path| NamespaceId::from_path(&path).is_ok());
            // What lies in a user namespace of ours can only be ours.
            there && (state.holder.is_some() || build::is_marked(&name, &mark))
        })
}

/// Ends what runs in a laboratory, removes what is left of it, and forgets it.
fn clear(folder: &Folder, prefix: &NamespacePrefix, state: &LabState) -> Result<(), LabError> {
    let mark = build::mark(prefix, state.kind);
    let names: Vec<String> =
        state.kind.hosts().into_iter().map(|host| host.namespace(prefix.as_str())).collect();
    match state.holder {
        None => {
            for name in &names {
                if netns::exists(name)? && !build::is_ours(name, &mark) {
                    return Err(LabError::NameTaken { name: name.clone() });
                }
            }
            end_programs(state, &names)?;
            build::remove(state.kind, prefix)?;
            if state.made_folder {
                netns::remove_empty_folder();
            }
        }
        // Numbers of namespaces come again, so that only those of a living holder say whom to end.
        Some(holder) if holder.lives() => {
            end_programs(state, &names)?;
            process::end(holder.process, SHUTDOWN_TIMEOUT, || holder.lives())?;
            process::reap(holder.process);
        }
        Some(_) => {}
    }
    folder.remove(prefix)
}

fn end_programs(state: &LabState, names: &[String]) -> Result<(), LabError> {
    let mut namespaces = HashSet::new();
    for name in names {
        if let Ok(namespace) = NamespaceId::from_path(&mount_point(state, name)?) {
            namespaces.insert(namespace);
        }
    }
    // Again until none is found: a program may start another while it is being ended.
    for _ in 0..8 {
        let inside = process::inside(&namespaces);
        if inside.is_empty() {
            return Ok(());
        }
        for id in inside {
            process::end(id, SHUTDOWN_TIMEOUT, || process::inside(&namespaces).contains(&id))?;
        }
    }
    Ok(())
}

//! What each command gives up once it is set up.
//!
//! A command states what it still does ([`Needs`]) and calls [`start`] when its ports, sockets and sessions are ready. SECURITY.md has
//! the table of the commands. `--no-confine` leaves the process as it is, to find out whether the confinement is the cause of a fault.

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};

use romer_confine::{Capability, CapabilitySet, Files, Layers, Needs, confine, landlock};
use romer_endpoint::tls::state_folder;
use romer_port::PortName;

use crate::args::{DataPlane, EmulateArgs, MeasureArgs, RespondArgs, RunArgs, StampPlace};

/// Whether processes are left as they are.
static OFF: AtomicBool = AtomicBool::new(false);

/// Leaves this process as it is.
pub(crate) fn switch_off() {
    OFF.store(true, Ordering::Release);
}

/// Confines this process. Gives a line about the layers that are active.
pub(crate) fn start(needs: &Needs) -> String {
    if OFF.load(Ordering::Acquire) {
        return "not confined (--no-confine)\n".into();
    }
    described(&confine(needs))
}

fn described(layers: &Layers) -> String {
    let mut active: Vec<String> = Vec::new();
    if let Some(capabilities) = layers.capabilities {
        active.push(format!("capabilities {capabilities}"));
    }
    if layers.no_new_privileges {
        active.push("no new privileges".into());
    }
    if layers.system_calls {
        active.push("filtered system calls".into());
    }
    if let Some(version) = layers.files {
        active.push(format!("restricted files (Landlock {version})"));
    }
    if active.is_empty() {
        "not confined (not supported here)\n".into()
    } else {
        format!("confined: {}\n", active.join(", "))
    }
}

/// Capabilities of what each command may do at any time: threads change their priority, memory stays locked.
const ANY_TIME: [Capability; 2] = [Capability::SysNice, Capability::IpcLock];

/// Of commands that open sockets later: large buffers, interfaces, low ports.
fn of_sockets() -> CapabilitySet {
    let opening = [Capability::NetAdmin, Capability::NetRaw, Capability::NetBindService];
    CapabilitySet::from(ANY_TIME).union(opening.into())
}

/// Of commands with ports, which may be in other namespaces.
fn of_ports<'p>(ports: impl IntoIterator<Item = &'p PortName>) -> (CapabilitySet, bool) {
    let has_namespaces = ports.into_iter().any(|port| port.namespace().is_some());
    let capabilities = of_sockets();
    let entering = CapabilitySet::from([Capability::SysAdmin]);
    (if has_namespaces { capabilities.union(entering) } else { capabilities }, has_namespaces)
}

/// The folder of an output file, and the file itself, where it is one.
fn outputs<'f>(files: impl IntoIterator<Item = Option<&'f Path>>) -> Vec<PathBuf> {
    let named = files.into_iter().flatten().filter(|file| *file != Path::new("-"));
    named.flat_map(output).collect()
}

fn output(file: &Path) -> Vec<PathBuf> {
    // The folder of a device or of a descriptor is not written.
    let is_special = ["/dev", "/proc"].iter().any(|folder| file.starts_with(folder));
    let folder = (!is_special).then(|| existing(&landlock::folder_of(file)));
    folder.into_iter().chain([file.to_path_buf()]).collect()
}

/// This folder, or where it will be made.
fn existing(folder: &Path) -> PathBuf {
    let mut ancestors =
        folder.ancestors().map(|one| if one.as_os_str().is_empty() { Path::new(".") } else { one });
    ancestors.find(|one| one.is_dir()).unwrap_or(folder).to_path_buf()
}

/// The folder of keys and known peers, if it is there.
fn state() -> Option<PathBuf> {
    state_folder().filter(|folder| folder.is_dir())
}

fn json(file: Option<&str>) -> Option<&Path> {
    file.map(Path::new)
}

/// `romer respond`: sessions open sockets, and the responder writes its totals on request.
pub(crate) fn of_responder(arguments: &RespondArgs) -> Needs {
    let capabilities = of_sockets();
    let maps = CapabilitySet::from([Capability::Bpf]);
    let has_programs = arguments.in_kernel || arguments.in_packet;
    Needs {
        capabilities: if has_programs { capabilities.union(maps) } else { capabilities },
        // Time daemons are asked by programs of their own.
        programs: true,
        files: Some(Files {
            read: arguments.key_file.iter().map(|file| landlock::folder_of(file)).collect(),
            // An initiator that is paired is remembered.
            write: outputs([json(arguments.json.as_deref())])
                .into_iter()
                .chain(state().filter(|_| arguments.pair))
                .collect(),
        }),
        kernel_programs: has_programs,
        ..Needs::default()
    }
}

/// `romer measure`, whose run is in `folder`. With `--every` it is set up again for each run. Settings of the host are restored by
/// programs (`nft`), and for a later run by a process that is forked then.
pub(crate) fn of_measurement(arguments: &MeasureArgs, folder: &Path) -> Needs {
    let repeats = arguments.turns.every.is_some();
    let changes_host = arguments.shape.is_some()
        || arguments.profile.is_some()
        || arguments.stamp == StampPlace::Nic
        || arguments.threads.irq_cpu.is_some();
    let mut capabilities = if repeats || changes_host {
        of_sockets()
    } else {
        CapabilitySet::from(ANY_TIME).union([Capability::NetRaw].into())
    };
    let has_in_packet_stamps = arguments.stamp == StampPlace::InPacket;
    if has_in_packet_stamps {
        capabilities = capabilities.union(of_sockets()).union([Capability::Bpf].into());
    }
    let mut write = outputs([json(arguments.output.json.as_deref())]);
    write.push(if repeats { existing(&landlock::folder_of(folder)) } else { folder.to_path_buf() });
    if repeats && changes_host {
        capabilities = capabilities.union([Capability::SysAdmin, Capability::SysPtrace].into());
        write.push("/proc/irq".into());
    }
    let mut read: Vec<PathBuf> = arguments.key_file.iter().map(|file| landlock::folder_of(file)).collect();
    if repeats {
        // The calibration of this machine, beside the runs.
        read.extend(romer_store::Runs::of_user().ok().map(|runs| landlock::folder_of(runs.root())));
        read.extend(arguments.marks.iter().map(|file| landlock::folder_of(file)));
        // Each run reads the keys, and remembers responders that it meets for the first time.
        read.extend(arguments.channel.files().paths().map(landlock::folder_of));
        write.extend(state());
    }
    Needs {
        capabilities,
        files: Some(Files { read, write }),
        // Time daemons are asked by programs of their own.
        programs: true,
        kernel_programs: has_in_packet_stamps,
        namespaces: repeats && changes_host,
        ..Needs::default()
    }
}

/// `romer emulate`; `None` where its page may run commands of its users.
pub(crate) fn of_emulation(arguments: &EmulateArgs) -> Option<Needs> {
    if arguments.api.is_some() {
        return of_console(arguments.serving.allow_commands);
    }
    let (capabilities, namespaces) = of_ports(arguments.ports.iter().map(|port| &port.name));
    let kernel_programs = arguments.data_plane != DataPlane::Packet;
    let maps = CapabilitySet::from([Capability::Bpf]);
    let samples = &arguments.samples;
    let targets = [&samples.samples, &samples.pcapng].map(|file| file.as_deref());
    let mut write = outputs(targets.into_iter().chain([json(arguments.output.json.as_deref())]));
    if let Some(folder) = &samples.out {
        // The folder is listed among the runs.
        let runs = romer_store::Runs::of_user().ok().map(|runs| runs.root().to_path_buf());
        for folder in std::iter::once(folder.clone()).chain(runs) {
            let _ = std::fs::create_dir_all(&folder);
            write.push(existing(&folder));
        }
    }
    if arguments.follow.target.is_some() {
        // Each period is measured anew, with the keys and the known peers, which may be the first ones.
        let _ = state_folder().map(std::fs::create_dir_all);
        write.extend(state());
        if samples.out.is_none() {
            write.push(std::env::temp_dir());
        }
    }
    let scenario = arguments.files.scenario.iter().map(|file| landlock::folder_of(file));
    Some(Needs {
        capabilities: if kernel_programs { capabilities.union(maps) } else { capabilities },
        files: Some(Files { read: scenario.collect(), write }),
        kernel_programs,
        namespaces,
        ..Needs::default()
    })
}

/// `romer console`, which makes labs, ports and measurements on request; `None` where it may run commands of its users.
pub(crate) fn of_console(allow_commands: bool) -> Option<Needs> {
    let needs = Needs {
        capabilities: CapabilitySet::ALL,
        kernel_programs: true,
        laboratories: true,
        ..Needs::default()
    };
    (!allow_commands).then_some(needs)
}

/// `romer bench`, whose run is in or below `folder` and which writes `files` besides. Its ports may be opened again.
pub(crate) fn of_benchmark<'f>(
    arguments: &'f RunArgs,
    ports: [&PortName; 2],
    folder: &Path,
    files: impl IntoIterator<Item = Option<&'f Path>>,
) -> Needs {
    let own = [json(arguments.output.json.as_deref()), json(arguments.html.as_deref())];
    let mut write = outputs(own.into_iter().chain(files));
    write.push(existing(folder));
    let (capabilities, _) = of_ports(ports);
    Needs {
        capabilities: capabilities.union([Capability::Bpf].into()),
        files: Some(Files { read: Vec::new(), write }),
        programs: true,
        kernel_programs: true,
        namespaces: true,
        ..Needs::default()
    }
}

/// `romer qtcp`, `romer noise` and `romer rsvp`, which write these files at most.
pub(crate) fn of_end<'f>(files: impl IntoIterator<Item = Option<&'f Path>>) -> Needs {
    Needs {
        capabilities: of_sockets(),
        files: Some(Files { read: Vec::new(), write: outputs(files) }),
        ..Needs::default()
    }
}

/// The router of `romer lab case rsvp`, which sets its queues by `tc`.
pub(crate) fn of_router() -> Needs {
    Needs { programs: true, ..of_end([]) }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// An output takes its folder, or the nearest one that exists. Standard output, devices and descriptors take no folder.
    #[test]
    fn outputs_take_their_folder() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("new/a.json");
        assert_eq!(outputs([Some(file.as_path())]), [folder.path().to_path_buf(), file.clone()]);
        assert_eq!(outputs([Some(Path::new("-")), None]), Vec::<PathBuf>::new());
        assert_eq!(outputs([Some(Path::new("/dev/stdout"))]), [PathBuf::from("/dev/stdout")]);
        assert_eq!(outputs([Some(Path::new("a.json"))]), [PathBuf::from("."), PathBuf::from("a.json")]);
    }

    /// The line names every layer that is active.
    #[test]
    fn layers_are_named() {
        let all = Layers {
            capabilities: Some([Capability::SysNice].into()),
            no_new_privileges: true,
            system_calls: true,
            files: Some(7),
        };
        let expected = "confined: capabilities sys_nice, no new privileges, filtered system calls, restricted files \
                        (Landlock 7)\n";
        assert_eq!(described(&all), expected);
        let none = Layers { capabilities: None, no_new_privileges: false, system_calls: false, files: None };
        assert_eq!(described(&none), "not confined (not supported here)\n");
    }

    /// A page that may run commands of its users is not confined, any other keeps what test hosts take.
    #[test]
    fn commands_of_users_are_not_confined() {
        assert!(of_console(true).is_none());
        assert!(of_console(false).is_some_and(|needs| needs.laboratories && needs.files.is_none()));
    }
}

//! Network namespaces that end with their test, and the rights with which a test runs.

use std::fs::Permissions;
use std::net::{IpAddr, SocketAddr};
use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::CommandExt;
use std::process::Command;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Once, OnceLock};

use romer_host::link::Network;
use romer_host::socket::{Outgoing, ReceiveBatch, SocketOptions, StampingSocket};
use romer_host::{netns, process, userns};
use romer_units::Duration;

/// Says that this process was started inside a user namespace to run one test.
const INSIDE: &str = "ROMER_BELIEFS_INSIDE";
/// The user `nobody`.
const NOBODY: u32 = 65_534;
/// How the names of our namespaces begin; the number of the process that made them follows.
const PREFIX: &str = "rkb";

/// Whether the machine had no folder of named namespaces before our first.
static MADE_FOLDER: OnceLock<bool> = OnceLock::new();

/// Runs `test`, which is the test called `name`, with every right over the network that it makes.
pub fn with_network(name: &str, test: impl FnOnce()) {
    if std::env::var_os(INSIDE).is_some() {
        userns::own_names().expect("a user namespace may mount a folder of its own");
    } else if process::user() != 0 {
        let mut command = Command::new(std::env::current_exe().unwrap());
        command.args([name, "--exact", "--nocapture"]).env(INSIDE, "1");
        run(name, userns::into_command(command));
        return;
    }
    sweep();
    test();
}

/// Runs `test`, which is the test called `name`, as an ordinary user without any right.
pub fn as_ordinary_user(name: &str, test: impl FnOnce()) {
    // Inside a user namespace the user is called 0 and has no rights outside all the same.
    if process::user() != 0 || std::env::var_os(INSIDE).is_some() {
        return test();
    }
    // The user must be able to reach the program.
    let folder = tempfile::tempdir().unwrap();
    std::fs::set_permissions(folder.path(), Permissions::from_mode(0o755)).unwrap();
    let program = folder.path().join("kernel-beliefs");
    // By a process of its own: what another test starts meanwhile has this process's files open until it runs its program, and
    // what anybody can still write into cannot be run (ETXTBSY).
    let copied = Command::new("cp").arg(std::env::current_exe().unwrap()).arg(&program).status().unwrap();
    assert!(copied.success(), "copy the program: {copied}");
    let mut command = Command::new(program);
    command.args([name, "--exact", "--nocapture"]).current_dir("/").uid(NOBODY).gid(NOBODY);
    run(name, command);
}

fn run(name: &str, mut command: Command) {
    let output = command.output().unwrap_or_else(|error| {
        panic!(
            "{name} cannot run without root here: {error}; allow unprivileged user namespaces, or run as root"
        )
    });
    let text =
        format!("{}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    // A name that fits no test would pass without having tested anything.
    assert!(output.status.success() && text.contains("1 passed"), "{name} failed:\n{text}");
}

/// Removes the namespaces of earlier runs that were killed.
fn sweep() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        for name in netns::list().unwrap() {
            let owner = name.strip_prefix(PREFIX).and_then(|rest| rest.split('-').next()?.parse().ok());
            if owner.is_some_and(|owner| process::start_time(owner).is_none()) {
                let _ = netns::delete(&name);
            }
        }
    });
}

/// A namespace that ends with its test, also if that panics.
#[derive(Debug)]
pub struct Namespace(
    /// Its name.
    pub String,
);

impl Namespace {
    /// Creates one under a name of its own.
    pub fn create() -> Self {
        static NEXT: AtomicU32 = AtomicU32::new(0);
        let name = format!("{PREFIX}{}-{}", std::process::id(), NEXT.fetch_add(1, Ordering::Relaxed));
        MADE_FOLDER.get_or_init(|| !std::path::Path::new(netns::FOLDER).exists());
        netns::create(&name).unwrap();
        Self(name)
    }

    /// Its links and addresses.
    pub fn network(&self) -> Network {
        Network::open(Some(&self.0)).unwrap()
    }

    /// A socket in it, at any port of `address`.
    pub fn bind(&self, address: IpAddr, options: &SocketOptions) -> StampingSocket {
        netns::with_namespace(&self.0, || StampingSocket::bind(SocketAddr::new(address, 0), options))
            .unwrap()
            .unwrap()
    }
}

impl Drop for Namespace {
    fn drop(&mut self) {
        let _ = netns::delete(&self.0);
        if MADE_FOLDER.get() == Some(&true) {
            netns::remove_empty_folder();
        }
    }
}

/// Two namespaces with a veth between them, `v0` and `v1`, ready to carry both families.
#[derive(Debug)]
pub struct Pair {
    /// The namespace of `v0`.
    pub one: Namespace,
    /// The namespace of `v1`.
    pub other: Namespace,
}

impl Pair {
    /// The addresses of `v0` and `v1`, for each family.
    pub const ADDRESSES: [[&str; 2]; 2] =
        [["198.18.0.2", "198.18.0.3"], ["2001:2:0:18::2", "2001:2:0:18::3"]];

    /// Creates both, and waits until packets arrive in each direction.
    pub fn create() -> Self {
        let pair = Self { one: Namespace::create(), other: Namespace::create() };
        let networks = [pair.one.network(), pair.other.network()];
        networks[0].add_veth("v0", "v1", Some(&pair.other.0)).unwrap();
        for (index, network) in networks.iter().enumerate() {
            let (own, peer) = (format!("v{index}"), format!("v{}", 1 - index));
            network.set_up("lo", true).unwrap();
            network.set_up(&own, true).unwrap();
            for family in Self::ADDRESSES {
                let prefix = if family[0].contains(':') { 64 } else { 24 };
                network.add_address(&own, family[index].parse().unwrap(), prefix).unwrap();
                let mac = networks[1 - index].link(&peer).unwrap().mac.unwrap();
                network.set_neighbour(&own, family[1 - index].parse().unwrap(), mac).unwrap();
            }
        }
        pair.prime();
        pair
    }

    /// Sends each way until something arrives. A link that says it runs may still drop what it is given, because
    /// its queue comes into being a moment later; and IPv6 addresses have their moment too.
    fn prime(&self) {
        let begin = std::time::Instant::now();
        let mut batch = ReceiveBatch::new(1, 16);
        for family in 0..2 {
            let [one, other] = self.sockets(family, &SocketOptions::default());
            for (from, to) in [(&one, &other), (&other, &one)] {
                while to.receive_batch(&mut batch).unwrap() == 0 {
                    assert!(begin.elapsed().as_secs() < 10, "a veth carries nothing in family {family}");
                    let _ = from.send(&Outgoing::new(b"prime", to.local_address(), 0));
                    to.wait(Some(Duration::from_millis(10))).unwrap();
                }
            }
        }
    }

    /// A socket at each end, for the family of `index` in [`Pair::ADDRESSES`].
    pub fn sockets(&self, index: usize, options: &SocketOptions) -> [StampingSocket; 2] {
        let [one, other] = Self::ADDRESSES[index].map(|address| address.parse().unwrap());
        [self.one.bind(one, options), self.other.bind(other, options)]
    }
}

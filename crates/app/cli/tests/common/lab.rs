//! Laboratories that go away with their test.

use std::ffi::OsStr;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Once;
use std::sync::atomic::{AtomicU32, Ordering};

use romer_record::RoundTrip;
use serde_json::Value;
use tempfile::TempDir;

use super::process::{self, Ended, Process, romer};
use super::schema;

/// How the prefixes of all laboratories of whole-program tests begin.
const FAMILY: &str = "rpt";
/// Address of the far host of a path.
pub(crate) const FAR: &str = "198.18.0.3";
/// Its other address.
pub(crate) const FAR_V6: &str = "2001:2:0:18::3";

/// A prefix that only this test uses. Whatever stands under it is taken down at the end, also by a panic.
///
/// It names the process that uses it, so that a later run can clear away what a killed one has left.
#[derive(Debug)]
pub(crate) struct Prefix(String);

impl Prefix {
    pub(crate) fn new() -> Self {
        static SWEEP: Once = Once::new();
        static NEXT: AtomicU32 = AtomicU32::new(0);
        SWEEP.call_once(sweep);
        let own = std::process::id();
        let start = start_time(own).unwrap();
        Self(format!("{FAMILY}{own}-{start}-{}", NEXT.fetch_add(1, Ordering::Relaxed)))
    }

    pub(crate) fn as_str(&self) -> &str {
        &self.0
    }
}

impl Drop for Prefix {
    fn drop(&mut self) {
        take_down(&self.0);
    }
}

/// Takes down what stands under `prefix`, if anything does.
fn take_down(prefix: &str) {
    let ended = process::run(&mut romer(["lab", "down", "--prefix", prefix]));
    let fine = ended.code == Some(0) || ended.stderr.contains("no lab is up");
    // A panic within a panic would hide the first.
    assert!(fine || std::thread::panicking(), "could not take {prefix} down: {ended:?}");
}

/// Takes down the laboratories of test runs that are no more.
fn sweep() {
    for prefix in noted_prefixes() {
        let Some(mut parts) = prefix.strip_prefix(FAMILY).map(|rest| rest.split('-')) else { continue };
        let owner = parts.next().and_then(|id| id.parse().ok());
        let start = parts.next().and_then(|time| time.parse().ok());
        if let (Some(owner), Some(start)) = (owner, start)
            && start_time(owner) != Some(start)
        {
            take_down(&prefix);
        }
    }
}

/// When process `id` was started, in ticks since the machine was; `None` where there is no such process.
fn start_time(id: u32) -> Option<u64> {
    let stat = fs::read_to_string(format!("/proc/{id}/stat")).ok()?;
    // The name, in parentheses, may hold anything; what follows it begins with field 3.
    stat.rsplit_once(')')?.1.split_whitespace().nth(22 - 3)?.parse().ok()
}

/// Where romer notes its laboratories.
pub(crate) fn state_folder() -> PathBuf {
    use std::os::unix::fs::MetadataExt;
    if is_root() {
        return "/run/romer-lab".into();
    }
    match std::env::var_os("XDG_RUNTIME_DIR") {
        Some(folder) if Path::new(&folder).is_absolute() => Path::new(&folder).join("romer-lab"),
        _ => format!("/tmp/romer-{}/lab", fs::metadata("/proc/self").unwrap().uid()).into(),
    }
}

/// The prefixes under which romer has noted a laboratory.
pub(crate) fn noted_prefixes() -> Vec<String> {
    let Ok(entries) = fs::read_dir(state_folder()) else { return Vec::new() };
    let names = entries.filter_map(|entry| entry.ok()?.file_name().into_string().ok());
    names.filter_map(|name| name.strip_suffix(".json").map(str::to_owned)).collect()
}

/// Whether laboratories are named namespaces of the machine, as root has them.
pub(crate) fn is_root() -> bool {
    use std::os::unix::fs::MetadataExt;
    fs::metadata("/proc/self").unwrap().uid() == 0
}

/// Whether this process has the rights of root over the machine, without which the kernel takes no program.
pub(crate) fn may_load_programs() -> bool {
    let map = fs::read_to_string("/proc/self/uid_map").unwrap();
    is_root() && map.split_whitespace().collect::<Vec<_>>() == ["0", "0", "4294967295"]
}

/// A laboratory that stands as long as its test runs.
#[derive(Debug)]
pub(crate) struct Lab {
    prefix: Prefix,
}

impl Lab {
    /// Two hosts on one network.
    pub(crate) fn path() -> Self {
        Self::up("path")
    }

    /// Two hosts with a router between.
    pub(crate) fn router() -> Self {
        Self::up("router")
    }

    fn up(kind: &str) -> Self {
        let lab = Self { prefix: Prefix::new() };
        process::run(&mut romer(["lab", "up", kind, "--prefix", lab.prefix()])).with_code(0);
        lab
    }

    pub(crate) fn prefix(&self) -> &str {
        self.prefix.as_str()
    }

    /// `program` on `host`.
    pub(crate) fn command(&self, host: &str, program: impl AsRef<OsStr>) -> Command {
        let mut command = romer(["lab", "run", host, "--prefix", self.prefix(), "--"]);
        command.arg(program);
        command
    }

    /// The program under test on `host`.
    pub(crate) fn romer<I: IntoIterator<Item: AsRef<OsStr>>>(&self, host: &str, arguments: I) -> Command {
        let mut command = self.command(host, process::PROGRAM);
        command.args(arguments);
        command
    }

    /// A responder on host B that is ready.
    pub(crate) fn respond(&self, arguments: &[&str]) -> Process {
        let mut responder = Process::start(self.romer("B", ["respond"]).args(arguments));
        let line = responder.line();
        assert!(line.starts_with("responding: "), "{line:?} {:?}", responder.wait());
        responder
    }

    /// The test `name` of this program once more, on `host`, where [`is_inside`] says so. Its standard output is
    /// the harness's, too.
    pub(crate) fn again(&self, name: &str, host: &str) -> Process {
        let mut command = self.command(host, std::env::current_exe().unwrap());
        Process::start(command.args([name, "--exact", "--nocapture", "--test-threads=1"]).env(INSIDE, "1"))
    }

    /// Runs the test `name` of this program once more on host A, to its end.
    pub(crate) fn run_on_host_a(&self, name: &str) {
        let ended = self.again(name, "A").wait();
        assert_eq!(ended.code, Some(0), "{}{}", ended.stdout, ended.stderr);
        assert!(ended.stdout.contains("1 passed"), "{name} is no test of this program: {}", ended.stdout);
    }

    /// Loads a ruleset of nftables on `host`.
    pub(crate) fn filter(&self, host: &str, rules: &str) {
        process::run(self.command(host, "nft").arg(rules)).with_code(0);
    }

    /// Lets the bridge of a path drop or double packets by `rules`, with counters `there` and `back`. What associates a
    /// session is no probe, and passes.
    pub(crate) fn bridge(&self, rules: &str) {
        self.filter(
            "E",
            &format!(
                "table bridge test {{
                    counter there {{ }}
                    counter back {{ }}
                    chain forward {{
                        type filter hook forward priority 0
                        @th,64,32 0x726f6d65 accept
                        {rules}
                    }}
                }}"
            ),
        );
    }

    /// Packets that the named counter of nftables on `host` has seen: the kernel's own count.
    pub(crate) fn counted(&self, host: &str, family: &str, counter: &str) -> u64 {
        let arguments = ["-j", "list", "counter", family, "test", counter];
        let listed = process::run(self.command(host, "nft").args(arguments)).with_code(0).document();
        let found = listed["nftables"].as_array().unwrap().iter().find_map(|one| one.get("counter"));
        found.unwrap_or_else(|| panic!("no counter in {listed}"))["packets"].as_u64().unwrap()
    }

    /// Measures from host A to the end, with exit code 0, and holds the document against its schema.
    pub(crate) fn measure(&self, arguments: &[&str]) -> Run {
        let run = self.try_measure(arguments);
        assert_eq!(run.ended.code, Some(0), "{:?}", run.ended);
        schema::assert_valid(&run.document(), "measurement");
        run
    }

    /// Measures from host A to the end, whatever that is.
    pub(crate) fn try_measure(&self, arguments: &[&str]) -> Run {
        let (mut command, home) = self.measuring(arguments);
        Run { ended: process::run(command.args(["--json", "-"])), home }
    }

    /// A measurement from host A, and the folder that holds its run in `run`. It does not look for the way, so that what
    /// is counted on it are probes.
    pub(crate) fn measuring(&self, arguments: &[&str]) -> (Command, TempDir) {
        let (mut command, home) = self.finding_the_way(arguments);
        command.arg("--no-route");
        (command, home)
    }

    /// The same, which looks for the way first and last.
    pub(crate) fn finding_the_way(&self, arguments: &[&str]) -> (Command, TempDir) {
        let home = tempfile::tempdir().unwrap();
        let mut command = self.romer("A", ["measure"]);
        command.args(arguments).arg("--out").arg(home.path().join("run"));
        (command, home)
    }
}

/// The document in the folder of a run.
pub(crate) fn stored(run: &Path) -> Value {
    serde_json::from_str(&romer_store::measurement_text(run).unwrap()).unwrap()
}

/// The document that a measurement has left in `home`.
pub(crate) fn kept(home: &TempDir) -> Value {
    let document = stored(&home.path().join("run"));
    schema::assert_valid(&document, "measurement");
    document
}

/// The rows of the first stream of a measurement in `home`.
pub(crate) fn packets(home: &TempDir) -> Vec<RoundTrip> {
    let rows = romer_store::Run::open(&home.path().join("run")).unwrap().rows().unwrap();
    rows.streams.into_values().next().unwrap_or_default()
}

/// A measurement that has ended.
#[derive(Debug)]
pub(crate) struct Run {
    pub(crate) ended: Ended,
    pub(crate) home: TempDir,
}

impl Run {
    /// Where the run is kept.
    pub(crate) fn folder(&self) -> PathBuf {
        self.home.path().join("run")
    }

    /// The document that was printed.
    pub(crate) fn document(&self) -> Value {
        self.ended.document()
    }

    /// The packet log as `romer report` gives it.
    pub(crate) fn rows(&self) -> Vec<LoggedRoundTrip> {
        let mut command = romer(["report", "--quiet", "--csv", "-"]);
        let csv = process::run(command.arg(self.folder())).with_code(0).stdout;
        let mut lines = csv.lines();
        assert!(lines.next().unwrap().starts_with("sequence,size,t1_ns,t2_ns,t3_ns,t4_ns,user_t1_ns"));
        lines.map(LoggedRoundTrip::read).collect()
    }
}

/// A round trip of the packet log.
#[derive(Clone, Debug)]
pub(crate) struct LoggedRoundTrip {
    pub(crate) sequence: u64,
    pub(crate) size: u64,
    /// The four stamps, then the program's own.
    pub(crate) stamps: [Option<i64>; 8],
}

impl LoggedRoundTrip {
    fn read(line: &str) -> Self {
        let fields: Vec<&str> = line.split(',').collect();
        let [sequence, size, stamps @ ..] = &fields[..] else { panic!("{line:?}") };
        let stamps: Vec<Option<i64>> =
            stamps.iter().map(|field| (!field.is_empty()).then(|| field.parse().unwrap())).collect();
        Self {
            sequence: sequence.parse().unwrap(),
            size: size.parse().unwrap(),
            stamps: stamps.try_into().unwrap_or_else(|_| panic!("{line:?}")),
        }
    }

    /// The four stamps of a probe that came back.
    pub(crate) fn four(&self) -> [i64; 4] {
        [0, 1, 2, 3].map(|at| self.stamps[at].unwrap_or_else(|| panic!("a stamp is missing: {self:?}")))
    }
}

const INSIDE: &str = "ROMER_TEST_INSIDE";

/// Whether this process runs a test on a host of a laboratory.
pub(crate) fn is_inside() -> bool {
    std::env::var_os(INSIDE).is_some()
}

//! What rows are thrown at: a responder, runs whole, killed and damaged, files and folders of other people.

use std::cell::OnceCell;
use std::ffi::OsString;
use std::fs;
use std::io::{Read, Seek, SeekFrom, Write};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use serde_json::Value;
use tempfile::TempDir;

use crate::common::process::{self, Process, romer};
use crate::scenarios;

/// What the rows of one test share: a responder, a run that ended and one that was killed. Made when it is first
/// asked for, gone with its test.
#[derive(Default)]
pub(crate) struct Fixtures {
    parts: OnceCell<Parts>,
}

struct Parts {
    /// Its control port.
    there: String,
    /// Its port of test packets.
    reflector: String,
    runs: TempDir,
    _responder: Process,
}

impl Parts {
    fn new() -> Self {
        let mut responder =
            Process::start(&mut romer(["respond", "--listen", "127.0.0.1:0", "--control", "127.0.0.1:0"]));
        let line = responder.line();
        let address = |before: &str| {
            let from = line.find(before).unwrap_or_else(|| panic!("{line:?}")) + before.len();
            line[from..].split([',', '\n']).next().unwrap().to_owned()
        };
        let (there, reflector) = (address("control at TCP "), address("test packets at UDP "));
        let runs = tempfile::tempdir().unwrap();
        make_runs(runs.path(), &there);
        Self { there, reflector, runs, _responder: responder }
    }
}

fn make_runs(folder: &Path, there: &str) {
    let measure = |out: &str| {
        let mut command = romer(["measure", there, "--interval", "1ms", "--waiting-time", "50ms", "--out"]);
        command.arg(folder.join(out));
        command
    };
    process::run(measure("run").args(["--count", "50", "--quiet", "--comment", "on the \u{1b}[31mbench"]))
        .with_code(0);
    let mut killed = Process::start(measure("killed").args([
        "--duration",
        "forever",
        "--json-lines",
        "--json-lines-interval",
        "20ms",
    ]));
    while durable_sent(&killed.line()) < 20 {}
    killed.signal("KILL");
    assert_eq!(killed.wait().code, None);
}

/// How many probes a line of `--json-lines` says are safe in the log.
fn durable_sent(line: &str) -> u64 {
    assert!(!line.is_empty(), "the measurement ended");
    serde_json::from_str::<Value>(line).unwrap()["durable_sent"].as_u64().unwrap_or(0)
}

/// The example of a plan, with a fault.
fn fleet_plan(fault: &str) -> Vec<u8> {
    const GOOD: &str = include_str!("../../../../../packaging/fleet.toml");
    let text = match fault {
        "good" => GOOD.to_owned(),
        "typo" => GOOD.replace("interval", "intervall"),
        "crowded" => GOOD.replace("probes_per_second = 500", "probes_per_second = 10"),
        "option" => GOOD.replace("dscp", "dspc"),
        "utf16" => {
            return [0xfeff].into_iter().chain(GOOD.encode_utf16()).flat_map(u16::to_le_bytes).collect();
        }
        _ => panic!("no plan has the fault {fault}"),
    };
    text.into_bytes()
}

impl Fixtures {
    /// What stands in `folder` under `name`, made when it is asked for first.
    pub(crate) fn make(&self, folder: &Path, name: &str) -> OsString {
        let parts = || self.parts.get_or_init(Parts::new);
        let path = folder.join(name.replace('/', "-"));
        match name {
            "there" => return parts().there.clone().into(),
            "reflector" => return parts().reflector.clone().into(),
            // The port of tcpmux, which nobody serves any more.
            "closed-port" => return "127.0.0.1:1".into(),
            "folder" => return folder.into(),
            "missing" => return path.into(),
            _ if path.symlink_metadata().is_ok() => return path.into(),
            "file" => fs::write(&path, "a letter to a friend\n").unwrap(),
            "empty" => fs::create_dir(&path).unwrap(),
            "foreign" => {
                fs::create_dir(&path).unwrap();
                fs::write(path.join("letter.txt"), "a letter to a friend\n").unwrap();
            }
            "foreign-manifest" => {
                fs::create_dir(&path).unwrap();
                fs::write(path.join("manifest.json"), "{\"name\": \"another program's\"}\n").unwrap();
            }
            "sealed" => {
                fs::create_dir(&path).unwrap();
                fs::set_permissions(&path, fs::Permissions::from_mode(0o555)).unwrap();
            }
            _ if name.starts_with("key/") => write_key(&path, &name["key/".len()..]),
            "loop" => std::os::unix::fs::symlink(&path, &path).unwrap(),
            "dangling" => std::os::unix::fs::symlink(folder.join("missing"), &path).unwrap(),
            "link-to-file" => std::os::unix::fs::symlink(self.make(folder, "file"), &path).unwrap(),
            _ if name.starts_with("qtcp/") => {
                // The name of a prefix: the file has .raw behind it.
                let (fault, file) = (&name["qtcp/".len()..], format!("{}.raw", path.display()));
                if let Some(content) = raw(fault) {
                    fs::write(&file, content).unwrap();
                    if fault == "closed" {
                        fs::set_permissions(&file, fs::Permissions::from_mode(0o000)).unwrap();
                    }
                }
            }
            "named/voice.sta" | "named/voice.log" => {
                let content = raw(if name.ends_with("sta") { "statistics" } else { "log" });
                fs::write(&path, content.unwrap()).unwrap();
            }
            // Names of prefixes, too: a .log that is a link to its own .raw, and a .raw that is a folder.
            "qtcp-link" => {
                let raw_file = format!("{}.raw", path.display());
                fs::write(&raw_file, raw("good").unwrap()).unwrap();
                std::os::unix::fs::symlink(raw_file, format!("{}.log", path.display())).unwrap();
            }
            "qtcp-folder" => fs::create_dir(format!("{}.raw", path.display())).unwrap(),
            _ if name.starts_with("sta/") => {
                fs::create_dir(&path).unwrap();
                let others: &[(&str, &str, &str)] = match &name["sta/".len()..] {
                    "good" => &[],
                    "mixed" => &[("b.sta", "qtcp-2", "two")],
                    "twice" => &[("b.sta", "romer-sta/1", "one")],
                    fault => panic!("no folder of .sta files has the fault {fault}"),
                };
                for (file, format, run) in [("a.sta", "romer-sta/1", "one")].iter().chain(others) {
                    let text = format!("format: {format}\nrun: {run}\nreceived: 3\nlost: 0\n");
                    fs::write(path.join(file), text).unwrap();
                }
            }
            _ if name.starts_with("fleet/") => fs::write(&path, fleet_plan(&name["fleet/".len()..])).unwrap(),
            _ if name.starts_with("csv/") => fs::write(&path, table(&name[4..])).unwrap(),
            _ if name.starts_with("scenario/") => {
                let content = scenarios::scenario(&name["scenario/".len()..], folder);
                fs::write(&path, content).unwrap();
            }
            "plan/genome.toml" => {
                fs::write(&path, "procedure = \"load-sweep\"\nimix = \"18446744073709551615()a\"\n").unwrap();
            }
            "plan/streams.toml" => {
                let streams = "[[stream]]\nshare = \"1%\"\n".repeat(65);
                let ports =
                    "tx = \"lo\"\nrx = \"other0\"\nsource = \"192.0.2.1\"\ndestination = \"192.0.2.9\"\n";
                fs::write(&path, format!("procedure = \"load-sweep\"\n{ports}{streams}")).unwrap();
            }
            _ if name.starts_with("arrivals/") => {
                fs::write(&path, scenarios::arrivals(&name["arrivals/".len()..])).unwrap();
            }
            "endless" | "endless.raw" => std::os::unix::fs::symlink("/dev/zero", &path).unwrap(),
            "pipe" => {
                let made = std::process::Command::new("mkfifo").arg(&path).status().unwrap();
                assert!(made.success());
            }
            _ => {
                let (kind, damage) = name.split_once('/').unwrap_or((name, "none"));
                assert!(kind == "run" || kind == "killed", "there is no fixture {name}");
                copy(&parts().runs.path().join(kind), &path);
                spoil(&path, damage);
            }
        }
        path.into()
    }
}

/// A packet log in CSV of two packets, with this fault.
fn table(fault: &str) -> Vec<u8> {
    let head = "sequence,size,sent_ns,received_ns\n";
    let good = format!("{head}0,44,1000,21000\n");
    let with = |line: &str| format!("{good}{line}\n").into_bytes();
    match fault {
        "good" => with("1,44,2000,23000"),
        "lost" => format!("{head}0,44,1000,\n1,44,2000,\n").into_bytes(),
        "two-runs" => {
            with("1,44,2000,23000\n0,44,3600000001000,3600000021000\n1,44,3600000002000,3600000023000")
        }
        "capture" => b"\xd4\xc3\xb2\xa1\x02\0\x04\0".into(),
        "empty" => Vec::new(),
        "header-only" => head.into(),
        "header-missing" => b"0,44,1000,21000\n".into(),
        "header-unknown" => b"time,from,to\n".into(),
        "header-microseconds" => b"sequence,size,sent_us,received_us\n".into(),
        "header-unit" => b"sequence,size,sent_ns,received\n".into(),
        "header-twice" => b"sequence,size,size,sent_ns,received_ns\n".into(),
        "header-mixed" => b"sequence,size,t1_ns,t2_ns,sent_ns,received_ns\n".into(),
        "semicolons" => b"sequence;size;sent_ns;received_ns\n".into(),
        "few" => with("1,44,2000"),
        "many" => with("1,44,2000,23000,7"),
        "comma" => with("1,44,2000,23000,5"),
        "nan" => with("1,44,NaN,23000"),
        "fraction" => with("1,44,2000.5,23000"),
        "exponent" => with("1,44,2e3,23000"),
        "far" => with("1,44,2000,9223372036854775807"),
        "negative-sequence" => with("-1,44,2000,23000"),
        "great-sequence" => with("18446744073709551616,44,2000,23000"),
        "no-size" => with("1,,2000,23000"),
        "great-size" => with("1,70000,2000,23000"),
        "gap" => with("\n1,44,2000,23000"),
        "zero" => with("1,44,20\0,23000"),
        "escape" => with("1,44,\x1b[31m,23000"),
        "long" => with(&"7".repeat(70_000)),
        "binary" => [good.as_bytes(), &[0xff, 0xfe, 0x80]].concat(),
        "utf16" => b"\xff\xfes\0e\0q\0".into(),
        "gzip" => b"\x1f\x8b\x08\0\0\0".into(),
        "gzip-damaged" => [packed(good.as_bytes()), b"and what is no gzip".into()].concat(),
        "gzip-zero" => packed(&with("1,44,20\0,23000")),
        "cut" => good.trim_end_matches("21000\n").trim_end_matches(',').into(),
        _ => panic!("no table has the fault {fault}"),
    }
}

/// Octets as gzip compresses them.
fn packed(octets: &[u8]) -> Vec<u8> {
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::best());
    encoder.write_all(octets).unwrap();
    encoder.finish().unwrap()
}

/// A .raw file of Qtcp of three packets, with this fault.
fn raw(fault: &str) -> Option<Vec<u8>> {
    let good = "1000:1030:30:64:0\n1100:1190:90:64:1\n1200:1260:60:64:2\n";
    let with = |line: &str| Some(format!("{good}{line}\n").into_bytes());
    match fault {
        "none" => None,
        "good" | "closed" => Some(good.into()),
        "empty" => Some(Vec::new()),
        "one" => Some(b"1000:1030:30:64:0\n".into()),
        "few" => with("1300:1330:30:64"),
        "many" => with("1300:1330:30:64:3:1"),
        "comma" => with("1300,1330,30,64,3"),
        "word" => with("1300:x:30:64:3"),
        "negative" => with("-1:1330:30:64:3"),
        "far" => with("9223372036854775808:1330:30:64:3"),
        "mismatch" => with("1300:1330:31:64:3"),
        "behind" => Some(b"1000:30:-970:64:0\n1100:140:-960:64:1\n".into()),
        "one-departure" => Some(b"10:13:3:64:0\n10:14:4:64:1\n".into()),
        "one-arrival" => Some(b"10:13:3:64:0\n11:13:2:64:1\n".into()),
        "departure-back" => with("500:1330:830:64:3"),
        "arrival-back" => with("1300:730:-570:64:3"),
        "duplicate" => with("1100:1290:190:64:1"),
        "gap" => with("1500:1530:30:64:5"),
        "wrap" => Some(b"10:13:3:64:4294967294\n11:15:4:64:4294967295\n12:16:4:64:0\n13:17:4:64:1\n".into()),
        "one-number" => Some(b"10:13:3:64:0\n11:15:4:64:0\n12:16:4:64:0\n".into()),
        "dummy" => with("0:0:90:64:3"),
        "size-0" => with("1300:1330:30:0:3"),
        "size-48" => with("1300:1330:30:48:3"),
        "size-65536" => with("1300:1330:30:65536:3"),
        "cut" => Some(format!("{good}1300:13").into()),
        "zeros" => Some(format!("{good}{}", "\0".repeat(512)).into()),
        "returns" => Some(good.replace('\n', "\r\n").into()),
        "mark" => Some(format!("\u{feff}{good}").into()),
        "level" => Some(b"10:13:3:64:0\n10:14:4:64:1\n50:57:7:64:2\n".into()),
        "statistics" => Some(b"received: 3\nlost: 0\n".into()),
        "log" => Some(b"0:0:0:64:0\n100:160:60:64:1\n200:230:30:64:2\n".into()),
        "binary" => Some((0..=255).collect()),
        "two" => with("500:530:30:64:0"),
        "steep" => Some(
            b"0:3:3:64:0\n100000:100103:103:64:1\n200000:200203:203:64:2\n300000:300303:303:64:3\n".into(),
        ),
        "nan" => with("NaN:1330:30:64:3"),
        "decimal" => with("1300:1330:1,5:64:3"),
        "escape" => with("\x1b[31m:1330:30:64:3"),
        _ => panic!("no .raw file has the fault {fault}"),
    }
}

/// A key file with this fault, or `good`.
fn write_key(path: &Path, fault: &str) {
    let secret = "a secret of thirty-two octets!!!\n";
    let (content, mode) = match fault {
        "good" => (secret.to_owned(), 0o600),
        "0644" => (secret.to_owned(), 0o644),
        "0640" => (secret.to_owned(), 0o640),
        "15-octets" => (secret[..15].to_owned(), 0o600),
        "odd" => ("0123456789".repeat(7)[..65].to_owned(), 0o600),
        "blank" => (format!("{}\n\n", &"0123456789".repeat(7)[..64]), 0o600),
        "huge" => (secret.repeat(200), 0o600),
        "nothing" => (String::new(), 0o600),
        _ => panic!("there is no such key: {fault}"),
    };
    fs::write(path, content).unwrap();
    fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
}

fn copy(from: &Path, to: &Path) {
    fs::create_dir(to).unwrap();
    for entry in fs::read_dir(from).unwrap() {
        let entry = entry.unwrap();
        fs::copy(entry.path(), to.join(entry.file_name())).unwrap();
    }
}

/// Does `damage` (`FILE-HOW`) to the run in `folder`.
fn spoil(folder: &Path, damage: &str) {
    if damage == "none" {
        return;
    }
    let (file, how) = damage.split_once('-').unwrap();
    let path = folder.join(match file {
        "manifest" => "manifest.json",
        "rows" => "packets.parquet",
        "log" => "packets.log",
        "document" => "measurement.json",
        _ => panic!("a run has no {file}"),
    });
    if file == "document" {
        // Unpacked, as earlier versions wrote it.
        let text = romer_store::measurement_text(folder).unwrap();
        fs::remove_file(folder.join(romer_store::MEASUREMENT_FILE)).unwrap();
        fs::write(&path, text).unwrap();
    }
    let whole = fs::read(&path).unwrap();
    let write = |octets: &[u8]| fs::write(&path, octets).unwrap();
    match how {
        "missing" => fs::remove_file(&path).unwrap(),
        "empty" => write(b""),
        "binary" => write(&(0..=255).collect::<Vec<u8>>()),
        "folder" => {
            fs::remove_file(&path).unwrap();
            fs::create_dir(&path).unwrap();
        }
        "loop" => {
            fs::remove_file(&path).unwrap();
            std::os::unix::fs::symlink(&path, &path).unwrap();
        }
        "pipe" => {
            fs::remove_file(&path).unwrap();
            assert!(std::process::Command::new("mkfifo").arg(&path).status().unwrap().success());
        }
        "endless" => {
            fs::remove_file(&path).unwrap();
            std::os::unix::fs::symlink("/dev/zero", &path).unwrap();
        }
        "closed" => fs::set_permissions(&path, fs::Permissions::from_mode(0o000)).unwrap(),
        "truncated" => write(&whole[..whole.len() / 2]),
        "flipped" => flip(&path, whole.len() / 2),
        "flipped-end" => flip(&path, whole.len() - 9),
        "flipped-start" => flip(&path, 9),
        "zeros" => write(&[whole.as_slice(), &[0; 4096]].concat()),
        "huge" => fs::File::options().write(true).open(&path).unwrap().set_len(1 << 40).unwrap(),
        "list" => write(b"[1, 2, 3]"),
        "deep" => write("[".repeat(100_000).as_bytes()),
        "escape" => write(b"{\"schema\": \"\x1b[31m\x07\"}"),
        "escape-json" => write(br#"{"schema": "\u001b[31m\u0007 red"}"#),
        "utf16" => write(&[0xff, 0xfe, b'{', 0, b'}', 0]),
        "wrong-type" => change(&path, "streams", Value::from("many")),
        "unknown-status" => change(&path, "status", Value::from("enchanted")),
        "newer" => change(&path, "schema", Value::from("romer/manifest/99")),
        "no-streams" => change(&path, "streams", Value::Array(Vec::new())),
        "later-version" => {
            let mut later = whole;
            later[8] = 99;
            let sum = crc32(&later[..12]);
            later[12..16].copy_from_slice(&sum.to_le_bytes());
            write(&later);
        }
        _ => panic!("nothing is spoilt by {how}"),
    }
}

fn flip(path: &Path, at: usize) {
    let mut file = fs::File::options().read(true).write(true).open(path).unwrap();
    let mut octet = [0];
    file.seek(SeekFrom::Start(at as u64)).unwrap();
    file.read_exact(&mut octet).unwrap();
    file.seek(SeekFrom::Start(at as u64)).unwrap();
    file.write_all(&[octet[0] ^ 0x10]).unwrap();
}

fn change(path: &Path, member: &str, value: Value) {
    let mut document: Value = serde_json::from_slice(&fs::read(path).unwrap()).unwrap();
    assert!(document.get(member).is_some(), "no {member} in {}", path.display());
    document[member] = value;
    fs::write(path, document.to_string()).unwrap();
}

/// CRC-32 of IEEE 802.3, as the packet log has it.
fn crc32(octets: &[u8]) -> u32 {
    !octets.iter().fold(u32::MAX, |sum, octet| {
        (0..8).fold(sum ^ u32::from(*octet), |sum, _| (sum >> 1) ^ (0xedb8_8320 & (sum & 1).wrapping_neg()))
    })
}

/// Everything under `folder`: what it is and what is in it.
pub(crate) fn snapshot(folder: &Path) -> Vec<(PathBuf, Vec<u8>)> {
    let mut found = Vec::new();
    let mut folders = vec![folder.to_path_buf()];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(&folder).into_iter().flatten() {
            let path = entry.unwrap().path();
            let kind = path.symlink_metadata().unwrap();
            if kind.is_dir() {
                folders.push(path.clone());
                found.push((path, b"folder".to_vec()));
            } else if kind.is_symlink() {
                let to = fs::read_link(&path).unwrap();
                found.push((path, to.into_os_string().into_encoded_bytes()));
            } else if kind.is_file() && kind.len() < 1 << 24 {
                let octets = fs::read(&path).unwrap_or_else(|_| b"closed".to_vec());
                found.push((path, octets));
            }
        }
    }
    found
}

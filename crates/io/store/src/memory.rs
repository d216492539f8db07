//! The memory that this host can give, asked before what a file holds is taken into it: a small file may hold many rows.

use std::fs;
use std::path::Path;

/// Octets that a row of a packet log takes at the most, from when it is read until it is evaluated.
pub const OF_A_ROW: u64 = 640;

/// Octets that may still be taken: what the kernel counts as available, and no more than the control groups of this process leave.
/// `None` where the system does not say.
pub fn available() -> Option<u64> {
    let host = fs::read_to_string("/proc/meminfo").ok().and_then(|text| of_host(&text));
    let groups = fs::read_to_string("/proc/self/cgroup").ok();
    let groups = groups.and_then(|text| of_groups(&text, Path::new("/sys/fs/cgroup")));
    host.into_iter().chain(groups).min()
}

/// What `/proc/meminfo` says.
fn of_host(text: &str) -> Option<u64> {
    let rest = text.lines().find_map(|line| line.strip_prefix("MemAvailable:"))?;
    let kibibytes: u64 = rest.trim().strip_suffix("kB")?.trim().parse().ok()?;
    kibibytes.checked_mul(1024)
}

/// What the control groups of version 2 leave that `/proc/self/cgroup` names, under `root`. What they hold of files makes room.
fn of_groups(text: &str, root: &Path) -> Option<u64> {
    let own = text.lines().find_map(|line| line.strip_prefix("0::/"))?;
    let groups = Path::new(own).ancestors().map(|group| root.join(group));
    groups.filter_map(|group| left_in(&group)).min()
}

fn left_in(group: &Path) -> Option<u64> {
    let most: u64 = fs::read_to_string(group.join("memory.max")).ok()?.trim().parse().ok()?;
    let held = fs::read_to_string(group.join("memory.stat")).ok()?;
    let held: u64 = held.lines().find_map(|line| line.strip_prefix("anon "))?.trim().parse().ok()?;
    Some(most.saturating_sub(held))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn least_of_host_and_groups() {
        let text = "MemTotal:       24683520 kB\nMemFree:  1 kB\nMemAvailable:   21754880 kB\n";
        assert_eq!(of_host(text), Some(21_754_880 << 10));
        assert_eq!(of_host("MemTotal: 5 kB\n"), None);
        let root = tempfile::tempdir().unwrap();
        let group = |name: &str, most: &str| {
            let path = root.path().join(name);
            fs::create_dir_all(&path).unwrap();
            fs::write(path.join("memory.max"), most).unwrap();
            fs::write(path.join("memory.stat"), "anon 1000\nfile 5000000\n").unwrap();
        };
        group("a", "9000\n");
        group("a/b", "max\n");
        group("a/b/c", "9500\n");
        let left = |own: &str| of_groups(&format!("1:name=systemd:/\n0::{own}\n"), root.path());
        assert_eq!(
            [left("/a"), left("/a/b"), left("/a/b/c"), left("/")],
            [Some(8_000), Some(8_000), Some(8_000), None]
        );
        group("a/b/c", "500\n");
        assert_eq!(left("/a/b/c"), Some(0));
        assert_eq!(of_groups("5:memory:/x\n", root.path()), None);
    }
}

//! What the control groups of this process let it have of the processors, and whether their threads may run in real time.

use std::fs;
use std::path::{Path, PathBuf};

use romer_units::Duration;

/// How long the threads of a control group may run altogether, in each period. When that is used up they all stand still
/// until the period ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Quota {
    /// So long.
    pub quota: Duration,
    /// Of so long.
    pub period: Duration,
}

impl Quota {
    /// Whether so many processors have more time than it gives.
    pub fn is_short_of(self, processors: usize) -> bool {
        let all = self.period.as_nanos().saturating_mul(i64::try_from(processors).unwrap_or(i64::MAX));
        self.quota.as_nanos() < all
    }

    /// Processors that it amounts to.
    fn processors(self) -> f64 {
        self.quota.as_secs_f64() / self.period.as_secs_f64()
    }
}

/// The tightest quota of the groups that this process is in; nothing where there is none, or none can be read.
pub fn quota() -> Option<Quota> {
    let (kind, groups) = processor_groups()?;
    let quotas = groups.iter().filter_map(|group| match kind {
        CgroupVersion::One => {
            let read = |name: &str| fs::read_to_string(group.join(name)).ok();
            quota_of(&read("cpu.cfs_quota_us")?, &read("cpu.cfs_period_us")?)
        }
        CgroupVersion::Two => {
            let text = fs::read_to_string(group.join("cpu.max")).ok()?;
            let (quota, period) = text.split_once(' ')?;
            quota_of(quota, period)
        }
    });
    quotas.min_by(|a, b| a.processors().total_cmp(&b.processors()))
}

/// The file by which a control group of this process keeps all its threads from running in real time, if one does
/// (kernels with `CONFIG_RT_GROUP_SCHED`, version 1 of control groups).
pub fn bars_real_time() -> Option<PathBuf> {
    let (_, groups) = processor_groups()?;
    let own = groups.first()?.join("cpu.rt_runtime_us");
    fs::read_to_string(&own).is_ok_and(|text| text.trim() == "0").then_some(own)
}

/// `-1` and `max` are none.
fn quota_of(quota: &str, period: &str) -> Option<Quota> {
    let micros =
        |text: &str| text.trim().parse().ok().filter(|micros| *micros > 0).map(Duration::from_micros);
    Some(Quota { quota: micros(quota)?, period: micros(period)? })
}

/// The version of control groups.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum CgroupVersion {
    One,
    Two,
}

/// The folders of the groups that share out the processors: this process's, and those above it.
fn processor_groups() -> Option<(CgroupVersion, Vec<PathBuf>)> {
    let read = |name: &str| fs::read_to_string(Path::new("/proc/self").join(name)).ok();
    groups_of(&read("cgroup")?, &read("mountinfo")?)
}

fn groups_of(memberships: &str, mounts: &str) -> Option<(CgroupVersion, Vec<PathBuf>)> {
    // By version 1 if the processors are shared out by it: then version 2 does not do it.
    let membership = |kind| {
        memberships.lines().find_map(|line| {
            let mut fields = line.splitn(3, ':').skip(1);
            let (controllers, path) = (fields.next()?, fields.next()?);
            let ours = match kind {
                CgroupVersion::One => controllers.split(',').any(|name| name == "cpu"),
                CgroupVersion::Two => controllers.is_empty(),
            };
            ours.then_some((kind, path))
        })
    };
    let (kind, path) = membership(CgroupVersion::One).or_else(|| membership(CgroupVersion::Two))?;
    let (root, mount) = mounts.lines().find_map(|line| mount_of(kind, line))?;
    // In a container the mount may begin where the group does.
    let inside = path.strip_prefix(root.trim_end_matches('/')).unwrap_or_default().trim_start_matches('/');
    let own = Path::new(mount).join(inside);
    Some((
        kind,
        own.ancestors().take_while(|group| group.starts_with(mount)).map(Path::to_path_buf).collect(),
    ))
}

/// The root and the place of a mount, from its line in `mountinfo`, if it has these groups.
fn mount_of(kind: CgroupVersion, line: &str) -> Option<(&str, &str)> {
    let (place, file_system) = line.split_once(" - ")?;
    let mut place = place.split(' ').skip(3);
    let mut file_system = file_system.split(' ');
    let name = file_system.next()?;
    let options = file_system.nth(1)?;
    let ours = match kind {
        CgroupVersion::One => name == "cgroup" && options.split(',').any(|option| option == "cpu"),
        CgroupVersion::Two => name == "cgroup2",
    };
    ours.then_some((place.next()?, place.next()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    const OLD: &str =
        "33 26 0:29 / /sys/fs/cgroup/cpu,cpuacct rw,nosuid shared:12 - cgroup cgroup rw,cpu,cpuacct
34 26 0:30 / /sys/fs/cgroup/cpuset rw,nosuid - cgroup cgroup rw,cpuset
";
    const NEW: &str = "30 23 0:26 / /sys/fs/cgroup rw,nosuid shared:4 - cgroup2 cgroup2 rw,nsdelegate\n";

    fn paths(of: &[&str]) -> Vec<PathBuf> {
        of.iter().map(PathBuf::from).collect()
    }

    #[test]
    fn groups_are_found_by_either_version_and_within_a_container() {
        let both = format!("{OLD}{NEW}");
        let old = groups_of("4:cpuset:/\n2:cpu,cpuacct:/a/b\n0::/c\n", &both);
        let inside = |path: &str| format!("/sys/fs/cgroup/cpu,cpuacct{path}");
        let there = [inside("/a/b"), inside("/a"), inside("")];
        assert_eq!(old, Some((CgroupVersion::One, there.map(PathBuf::from).to_vec())));
        let new = groups_of("0::/user.slice/x.scope\n", NEW);
        let there =
            paths(&["/sys/fs/cgroup/user.slice/x.scope", "/sys/fs/cgroup/user.slice", "/sys/fs/cgroup"]);
        assert_eq!(new, Some((CgroupVersion::Two, there)));
        let contained = OLD.replace("0:29 /", "0:29 /docker/1");
        let here = groups_of("2:cpu,cpuacct:/docker/1\n", &contained).unwrap().1;
        assert_eq!(here, [PathBuf::from(inside(""))]);
        assert_eq!(groups_of("0::/x\n", OLD), None);
        assert_eq!(groups_of("", NEW), None);
    }

    #[test]
    fn no_quota_is_none() {
        let quota = quota_of("20000\n", "100000\n").unwrap();
        assert_eq!((quota.quota, quota.period), (Duration::from_millis(20), Duration::from_millis(100)));
        for none in ["-1\n", "max", "", "0"] {
            assert_eq!(quota_of(none, "100000"), None, "{none}");
        }
    }
}

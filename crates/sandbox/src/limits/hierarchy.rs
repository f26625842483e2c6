//! The control groups of this process, read from the kernel: hybrid machines have both versions at once.

use std::fs;
use std::path::{Path, PathBuf};

/// The folder of this process's own group in each hierarchy.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Hierarchy {
    /// In version 2, where all controllers share one tree.
    pub(super) unified: Option<PathBuf>,
    /// In version 1, the tree of the controller `memory`.
    pub(super) memory: Option<PathBuf>,
    /// In version 1, the tree of the controller `pids`.
    pub(super) processes: Option<PathBuf>,
}

impl Hierarchy {
    pub(super) fn of_this_process() -> Option<Self> {
        let mounts = fs::read_to_string("/proc/self/mountinfo").ok()?;
        let groups = fs::read_to_string("/proc/self/cgroup").ok()?;
        Some(Self::parse(&mounts, &groups))
    }

    /// From the texts of `/proc/self/mountinfo` and `/proc/self/cgroup`.
    pub(super) fn parse(mounts: &str, groups: &str) -> Self {
        let find = |controller: &str| {
            let group = group_of(groups, controller)?;
            let (root, point) = mounts.lines().find_map(|line| mount_of(line, controller))?;
            Some(below(&point, &root, group))
        };
        Self { unified: find(""), memory: find("memory"), processes: find("pids") }
    }
}

/// The path behind `controller` in lines such as `4:memory:/a` and `0::/a`.
fn group_of<'a>(groups: &'a str, controller: &str) -> Option<&'a str> {
    groups.lines().find_map(|line| {
        let mut parts = line.splitn(3, ':');
        let (number, controllers, path) = (parts.next()?, parts.next()?, parts.next()?);
        let matches = if controller.is_empty() { number == "0" } else { controllers.split(',').any(|name| name == controller) };
        matches.then_some(path)
    })
}

/// Root and mount point of a line of `mountinfo`, if it is the tree of `controller`.
fn mount_of(line: &str, controller: &str) -> Option<(String, PathBuf)> {
    let (before, after) = line.split_once(" - ")?;
    let mut fields = before.split(' ').skip(3);
    let (root, point) = (fields.next()?, fields.next()?);
    let mut kind = after.split(' ');
    let (name, options) = (kind.next()?, kind.nth(1)?);
    let matches = match controller {
        "" => name == "cgroup2",
        _ => name == "cgroup" && options.split(',').any(|option| option == controller),
    };
    matches.then(|| (root.to_owned(), PathBuf::from(point)))
}

/// A container mounts only a part of the tree: the path then begins with the root of that part.
fn below(point: &Path, root: &str, group: &str) -> PathBuf {
    let relative = Path::new(group).strip_prefix(root).or_else(|_| Path::new(group).strip_prefix("/"));
    relative.map_or_else(|_| point.to_owned(), |relative| point.join(relative))
}

#[cfg(test)]
mod tests {
    use super::*;

    const HYBRID: &str = "30 25 0:26 / /sys/fs/cgroup/memory rw,relatime - cgroup cgroup rw,memory
31 25 0:27 / /sys/fs/cgroup/pids rw,relatime shared:9 - cgroup cgroup rw,pids
32 25 0:28 / /sys/fs/cgroup/unified rw,relatime - cgroup2 cgroup2 rw";

    #[test]
    fn own_cgroup_is_located_in_every_layout() {
        let path = |text: &str| Some(PathBuf::from(text));
        let cases = [
            (
                "hybrid",
                HYBRID,
                "8:pids:/\n4:memory:/a/b\n0::/",
                Hierarchy {
                    unified: path("/sys/fs/cgroup/unified"),
                    memory: path("/sys/fs/cgroup/memory/a/b"),
                    processes: path("/sys/fs/cgroup/pids"),
                },
            ),
            (
                "version 2",
                "30 25 0:26 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw,nsdelegate",
                "0::/user.slice/app.slice/x.scope",
                Hierarchy { unified: path("/sys/fs/cgroup/user.slice/app.slice/x.scope"), ..Hierarchy::default() },
            ),
            (
                "joint controllers",
                "30 25 0:26 / /cg rw - cgroup cgroup rw,memory,pids",
                "3:memory,pids:/x",
                Hierarchy { unified: None, memory: path("/cg/x"), processes: path("/cg/x") },
            ),
            (
                "inside a container",
                "30 25 0:26 /docker/1 /sys/fs/cgroup/memory ro - cgroup cgroup rw,memory",
                "4:memory:/docker/1/job",
                Hierarchy { memory: path("/sys/fs/cgroup/memory/job"), ..Hierarchy::default() },
            ),
            ("none", "30 25 0:26 / / rw - ext4 /dev/vda rw", "", Hierarchy::default()),
        ];
        for (name, mounts, groups, expected) in cases {
            assert_eq!(Hierarchy::parse(mounts, groups), expected, "{name}");
        }
    }
}

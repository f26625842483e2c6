//! Whatever happens to a command or to Haft itself, nothing stays: no process, mount, control group, container, socket or file.

use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value, json};

use super::container;
use super::harness::{World, is_root};
use super::processes::{processes_in, processes_with};

/// What the commands of these tests leave on purpose.
const OURS: &[&str] = &["begun", "work"];
/// Names that are reserved while a command runs.
const RESERVED: &[&str] = &[".envrc", ".git", ".haft", ".mcp.json"];

/// The runs of one world, and what they are known by.
struct Runs<'a> {
    world: &'a World,
    /// What every call is given besides its command.
    more: Value,
    /// How long its command sleeps: a number that no other has.
    marker: &'a str,
    hosts: Vec<u32>,
}

impl<'a> Runs<'a> {
    fn of(world: &'a World, more: Value, marker: &'a str) -> Self {
        // In a file: a line that leaves its session is not followed, and the user would be asked.
        world.write("work", format!("touch begun; (setsid sleep {marker} &) ; sleep {marker}"));
        fs::create_dir(world.path("tmp")).unwrap();
        Self { world, more, marker, hosts: Vec::new() }
    }

    fn command(&self, line: &str, extra: &Value) -> Command {
        let mut arguments = json!({ "command": line });
        for part in [&self.more, extra] {
            arguments.as_object_mut().unwrap().extend(part.as_object().unwrap().clone());
        }
        fs::remove_file(self.world.file("begun")).ok();
        let mut command = self.world.command(&["call", "exec", &arguments.to_string(), "--json"]);
        command.env("TMPDIR", self.world.path("tmp"));
        command
    }

    /// A call that comes to its end.
    fn whole(&mut self, line: &str, extra: &Value) -> Value {
        let child = self.command(line, extra).stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap();
        self.hosts.push(child.id());
        serde_json::from_slice(&child.wait_with_output().unwrap().stdout).unwrap()
    }

    /// A command in the background, until another call ends it.
    fn background(&mut self) {
        let started = self.whole("sh work", &json!({ "background": true }));
        let status = fs::read_to_string(format!("/proc/{}/status", started["details"]["pid"])).unwrap();
        let supervisor = status.lines().find_map(|line| line.strip_prefix("PPid:")).unwrap();
        self.hosts.push(supervisor.trim().parse().unwrap());
        until("it does not begin", || self.world.file("begun").exists());
        let (_, killed) = self.world.call("process", &json!({ "action": "kill", "job": started["details"]["job"] }));
        assert_eq!(killed["status"], "success", "{killed}");
    }

    /// A call whose Haft gets a signal: as soon as its command has begun, or at this time.
    fn ended_by(&mut self, signal: Signal, at: Option<Duration>) {
        let mut child = self.command("sh work", &json!({})).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
        self.hosts.push(child.id());
        let (started, begun) = (Instant::now(), self.world.file("begun"));
        until("it does not begin", || at.map_or_else(|| begun.exists(), |at| started.elapsed() >= at));
        assert!(child.try_wait().unwrap().is_none(), "it ended by itself");
        kill_process(Pid::from_child(&child), signal).unwrap();
        child.wait().unwrap();
    }

    /// Everything that is left of them, by its name.
    fn left(&self) -> Vec<String> {
        let place = self.world.path("").canonicalize().unwrap();
        let mut left = processes_with(self.marker);
        left.extend(processes_in(&place).into_iter().map(|process| process.line));
        let mounts = fs::read_to_string("/proc/self/mountinfo").unwrap();
        left.extend(mounts.lines().filter(|line| line.contains(&*place.to_string_lossy())).map(|line| format!("mount {line}")));
        let of_a_host = |name: &str| self.hosts.iter().any(|host| name.contains(&format!("haft-{host}-")));
        let groups = groups(Path::new("/sys/fs/cgroup")).into_iter().map(|path| path.display().to_string());
        left.extend(groups.filter(|path| of_a_host(path)));
        left.extend(containers().into_iter().filter(|name| of_a_host(name)).map(|name| format!("container {name}")));
        left.extend(names_in(&self.world.state().join("run")).into_iter().map(|name| format!("socket {name}")));
        left.extend(names_in(&self.world.path("tmp")).into_iter().map(|name| format!("temporary {name}")));
        for folder in ["/tmp", "/var/tmp", "/dev/shm", "/run"] {
            left.extend(names_in(Path::new(folder)).into_iter().filter(|name| of_a_host(name)).map(|name| format!("{folder}/{name}")));
        }
        let files = names_in(&self.world.file("")).into_iter().filter(|name| !OURS.contains(&name.as_str()));
        left.extend(files.map(|name| format!("workspace {name}")));
        left
    }

    /// What was killed may still be dying: it goes within seconds, or not at all.
    fn leave_nothing(&self, after: &str) {
        let began = Instant::now();
        while !self.left().is_empty() {
            assert!(began.elapsed() < Duration::from_secs(20), "after {after}: {:#?}", self.left());
            std::thread::sleep(Duration::from_millis(20));
        }
    }

    /// A killed process cannot clean up: names that it reserved may remain, empty, until the next run.
    fn leave_nothing_but_places(&self) {
        let is_place = |name: &String| {
            let metadata = fs::symlink_metadata(self.world.file(name)).unwrap();
            RESERVED.contains(&name.as_str()) && metadata.mode() & 0o7777 == 0o1500 && names_in(&self.world.file(name)).is_empty()
        };
        let files = names_in(&self.world.file("")).into_iter().filter(|name| !OURS.contains(&name.as_str()));
        assert_eq!(files.filter(|name| !is_place(name)).collect::<Vec<_>>(), Vec::<String>::new());
        let began = Instant::now();
        while !processes_with(self.marker).is_empty() {
            assert!(began.elapsed() < Duration::from_secs(20), "a command outlives haft: {:#?}", self.left());
            std::thread::sleep(Duration::from_millis(20));
        }
    }
}

fn until(complaint: &str, mut is_so: impl FnMut() -> bool) {
    let began = Instant::now();
    while !is_so() {
        assert!(began.elapsed() < Duration::from_secs(30), "{complaint}");
        std::thread::sleep(Duration::from_millis(2));
    }
}

fn names_in(folder: &Path) -> Vec<String> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    entries.map(|entry| entry.file_name().to_string_lossy().into_owned()).collect()
}

/// By name. An ordinary user makes none here, and podman would leave a process behind that was only asked.
fn containers() -> Vec<String> {
    if !is_root() {
        return Vec::new();
    }
    let output = Command::new("podman").args(["ps", "--all", "--format", "{{.Names}}"]).output().unwrap();
    String::from_utf8_lossy(&output.stdout).lines().map(str::to_owned).collect()
}

fn groups(folder: &Path) -> Vec<PathBuf> {
    let folders = fs::read_dir(folder).into_iter().flatten().flatten().filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_dir()));
    folders.flat_map(|entry| [vec![entry.path()], groups(&entry.path())].concat()).collect()
}

fn nothing_stays(mut runs: Runs<'_>) {
    let done = runs.whole("true", &json!({}));
    assert_eq!(done["status"], "success", "{done}");
    runs.leave_nothing("its end");
    let late = runs.whole("sh work", &json!({ "timeout": 1 }));
    assert_eq!(late["error_type"], "timeout", "{late}");
    runs.leave_nothing("its timeout");
    runs.background();
    runs.leave_nothing("a job that was killed");
    for signal in [Signal::INT, Signal::TERM] {
        runs.ended_by(signal, None);
        runs.leave_nothing(&format!("{signal:?}"));
    }
    let moments = [10, 40, 80, 160, 320].map(|moment| Some(Duration::from_millis(moment)));
    for moment in moments.into_iter().chain([None]) {
        runs.ended_by(Signal::KILL, moment);
        runs.leave_nothing_but_places();
    }
    let done = runs.whole("true", &json!({}));
    assert_eq!(done["status"], "success", "{done}");
    runs.leave_nothing("the run after those that were killed");
}

#[test]
fn c07_nothing_stays_of_the_sandbox() {
    nothing_stays(Runs::of(&World::new(), json!({}), "7131.25"));
}

#[test]
fn c07_nothing_stays_of_the_proxy() {
    let world = World::with_config("access = 'full-access'\nnetwork.allow = ['127.0.0.1:9']\n");
    nothing_stays(Runs::of(&world, json!({ "allow_hosts": ["127.0.0.1:9"] }), "7132.25"));
}

#[test]
fn c07_nothing_stays_of_containers() {
    if !is_root() {
        println!("not tried as an ordinary user: podman without root keeps a process and folders of its own for that user");
        return;
    }
    nothing_stays(Runs::of(&container::world(""), json!({}), "7133.25"));
}

//! The script that counts what a test run leaves. One that notices nothing is worth nothing: all of it is left here on purpose.
#![cfg(target_os = "linux")]
#![allow(clippy::unwrap_used, clippy::print_stdout, reason = "a test that cannot continue has failed, and says why")]

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};

const SCRIPT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/leftovers");

/// What a process of the sandbox may be called.
const STAGE: &str = "__haft_sandbox_test";

/// One run of tests, as `./check` makes it; what it leaves is removed at the latest with it.
struct Run {
    folder: PathBuf,
    processes: Vec<Child>,
    elsewhere: Vec<PathBuf>,
}

impl Run {
    fn begin() -> Self {
        let output = Command::new(SCRIPT).arg("before").output().unwrap();
        assert!(output.status.success(), "{output:?}");
        let folder = PathBuf::from(String::from_utf8(output.stdout).unwrap().trim());
        Self { folder, processes: Vec::new(), elsewhere: Vec::new() }
    }

    fn leave_process(&mut self, command: &mut Command) -> u32 {
        let child = command.stdin(Stdio::piped()).stdout(Stdio::null()).spawn().unwrap();
        let number = child.id();
        self.processes.push(child);
        number
    }

    /// Outside of the folder of the run.
    fn leave_file(&mut self, path: &Path) -> String {
        fs::write(path, "x").unwrap();
        self.elsewhere.push(path.to_owned());
        format!("file {}", path.display())
    }

    /// In the first hierarchy that takes one.
    fn leave_group(&mut self, name: &str) -> Option<String> {
        let places = ["/sys/fs/cgroup/pids", "/sys/fs/cgroup/unified", "/sys/fs/cgroup"];
        let group = places.iter().map(|place| Path::new(place).join(name)).find(|group| fs::create_dir(group).is_ok())?;
        self.elsewhere.push(group.clone());
        Some(format!("control group {}", group.display()))
    }

    fn end(&self, seconds: &str) -> Output {
        Command::new(SCRIPT).arg("after").arg(&self.folder).arg(seconds).output().unwrap()
    }

    /// What is listed and has one of these words, in order. Other tests of the machine may leave something meanwhile.
    fn listed(output: &Output, words: &[&str]) -> Vec<String> {
        let text = String::from_utf8_lossy(&output.stderr);
        let lines = text.lines().filter(|line| words.iter().any(|word| line.contains(word)));
        lines.map(|line| line.trim_start().to_owned()).collect()
    }
}

impl Drop for Run {
    fn drop(&mut self) {
        for child in &mut self.processes {
            child.kill().unwrap();
            child.wait().unwrap();
        }
        for path in &self.elsewhere {
            let removed = if path.is_dir() { fs::remove_dir(path) } else { fs::remove_file(path) };
            removed.unwrap();
        }
        fs::remove_dir_all(&self.folder).ok();
    }
}

#[test]
fn leftovers_are_listed_by_name_and_fail_the_run() {
    let mut run = Run::begin();
    let (temporary, marker) = (run.folder.clone(), format!("haft-left-{}", std::process::id()));
    let mut expected = Vec::new();
    // `cat` ends when nobody holds its input any more, also if this test is killed.
    let by_environment = run.leave_process(Command::new("cat").arg("-").env_clear().env("TMPDIR", &temporary));
    let by_folder = run.leave_process(Command::new("cat").arg("-u").env_clear().current_dir(&temporary));
    let by_name = run.leave_process(Command::new("sh").args(["-c", "read line", STAGE, &marker]).env_clear().current_dir("/"));
    expected.push(format!("process {by_environment}: cat - "));
    expected.push(format!("process {by_folder}: cat -u "));
    expected.push(format!("process {by_name}: sh -c read line {STAGE} {marker} "));
    fs::create_dir_all(temporary.join(".tmp123456/home")).unwrap();
    expected.push(format!("file {}", temporary.join(".tmp123456").display()));
    for folder in ["/tmp", "/var/tmp", "/dev/shm"] {
        expected.push(run.leave_file(&Path::new(folder).join(&marker)));
    }
    match run.leave_group(&marker) {
        Some(group) => expected.push(group),
        None => println!("no control group is left: an ordinary user may make none here"),
    }
    let output = run.end("1");
    assert_eq!(output.status.code(), Some(1), "{output:?}");
    let processes = [by_environment, by_folder, by_name].map(|number| format!("process {number}:"));
    let words = [&marker, &*temporary.to_string_lossy(), &*processes[0], &*processes[1], &*processes[2]];
    let mut listed = Run::listed(&output, &words);
    listed.sort();
    expected.sort();
    assert_eq!(listed, expected.iter().map(|line| line.trim_end().to_owned()).collect::<Vec<_>>(), "{output:?}");
    assert!(Run::listed(&output, &["home"]).contains(&"home".to_owned()), "what is in a folder is not shown: {output:?}");
    assert!(!run.folder.exists(), "the folder of the run stays");
}

/// In a mount namespace of its own, where it harms nobody.
#[test]
fn leftovers_that_are_mounted_are_listed_and_never_removed() {
    let script = "set -e; folder=$(\"$0\" before); mkdir \"$folder/place\" \"$folder/theirs\"; touch \"$folder/theirs/file\"
        mount --bind \"$folder/theirs\" \"$folder/place\"; code=0; \"$0\" after \"$folder\" 1 || code=$?
        ls \"$folder/theirs\"; umount \"$folder/place\"; rm -r \"$folder\"; echo \"$folder\"; exit $code";
    let output = Command::new("unshare").args(["--user", "--map-root-user", "--mount", "sh", "-c", script, SCRIPT]).output().unwrap();
    let written = String::from_utf8_lossy(&output.stdout);
    let (kept, folder) = written.trim_end().split_once('\n').unwrap_or_else(|| panic!("{output:?}"));
    assert_eq!((output.status.code(), kept), (Some(1), "file"), "{output:?}");
    let mount = format!("mount {folder}/place");
    assert_eq!(Run::listed(&output, &["mount /"]), [mount], "{output:?}");
    assert!(String::from_utf8_lossy(&output.stderr).contains("is kept, because something is mounted in it"), "{output:?}");
}

#[test]
fn leftovers_are_not_what_goes_by_itself_or_was_there_before() {
    let mut earlier = Run::begin();
    let marker = format!("haft-earlier-{}", std::process::id());
    earlier.leave_file(&Path::new("/tmp").join(&marker));
    earlier.leave_group(&marker);
    let mut run = Run::begin();
    let mut command = Command::new("sh");
    command.args(["-c", "sleep 1; rm -r .tmp123456"]).current_dir(&run.folder);
    fs::create_dir(run.folder.join(".tmp123456")).unwrap();
    run.leave_process(&mut command);
    let output = run.end("20");
    assert_eq!((output.status.code(), String::from_utf8_lossy(&output.stderr)), (Some(0), "".into()));
    assert!(!run.folder.exists());
}

#[test]
fn leftovers_of_no_run_are_refused() {
    for arguments in [&["after", "/nowhere"][..], &["after"], &["between"], &[]] {
        let output = Command::new(SCRIPT).args(arguments).output().unwrap();
        assert_eq!(output.status.code(), Some(2), "{output:?}");
    }
}

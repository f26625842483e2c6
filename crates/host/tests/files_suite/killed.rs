//! `kill -9` in the middle of a change: the test runs itself again as the process that is killed.

use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, Read};
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::process::{Child, Command, Stdio};

use haft_contract::{
    WriteMode,
    ports::{FileSystem, PreImage},
};
use haft_host::WorkspaceOptions;
use rustix::fs::{CWD, Mode, OFlags, openat};

use crate::support::{BOTH, Disk, Kept, Way, names, open, tree, write};

const WORLD: &str = "HAFT_TEST_KILLED_WORLD";
const CASE: &str = "HAFT_TEST_KILLED_CASE";
const READY: &str = "now";
const HALF: u64 = 1 << 20;

/// Says that it is time, and waits until the process is ended.
fn wait_to_be_killed() {
    println!("\n{READY}");
    // The end of the test is the end of its pipe: then nobody is left to wait for.
    std::io::stdin().read_to_end(&mut Vec::new()).unwrap();
    std::process::abort();
}

/// Content that is half there.
struct Half(u64);

impl Read for Half {
    fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
        if self.0 == HALF {
            wait_to_be_killed();
        }
        let count = buffer.len().min(usize::try_from(HALF - self.0).unwrap());
        buffer[..count].fill(b'x');
        self.0 += count as u64;
        Ok(count)
    }
}

/// Where in a change the process ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Moment {
    /// Half of the new content is written.
    Content,
    /// All of it is, and the journal is asked.
    Journal,
}

const MOMENTS: [Moment; 2] = [Moment::Content, Moment::Journal];

/// The life of the process that is killed.
async fn live(world: &Path, way: Way, moment: Moment, path: &str) {
    let files = open(WorkspaceOptions::new(world), way);
    let at = files.locate(Path::new(path)).unwrap();
    let journal = Kept::meanwhile(|_| {
        wait_to_be_killed();
        Ok(())
    });
    match moment {
        Moment::Content => {
            let after = files.fingerprint(&at).await.unwrap();
            let content: Option<Box<dyn Read + Send>> = Some(Box::new(Half(0)));
            let image = PreImage {
                path: at.path().to_owned(),
                content,
                mode: None,
                after,
                created_directories: vec![],
                metadata_from: None,
                modified: None,
            };
            files.restore(&at, image, &journal).await.unwrap();
        }
        Moment::Journal => drop(files.write(&at, vec![b'x'; 1 << 20], WriteMode::Overwrite, &journal).await.unwrap()),
    }
}

/// Starts such a process, and waits until it is time.
fn start(test: &str, disk: &Disk, case: &str) -> Child {
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.args(["--exact", test, "--nocapture"]).env(WORLD, &disk.ws).env(CASE, case);
    let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    let lines = BufReader::new(child.stdout.take().unwrap()).lines();
    assert!(lines.map_while(Result::ok).any(|line| line == READY), "{case}: it ended before its time");
    child
}

/// The sizes of the files beneath a directory that a process has open and that have no name.
fn unnamed(process: u32, directory: &Path) -> Vec<u64> {
    let entries = std::fs::read_dir(format!("/proc/{process}/fd")).unwrap().map(|entry| entry.unwrap().path());
    let is_unnamed = |entry: &std::path::PathBuf| {
        std::fs::read_link(entry).is_ok_and(|to| to.starts_with(directory) && to.to_string_lossy().ends_with(" (deleted)"))
    };
    // One that is being synced has a second handle.
    let files = entries.filter(is_unnamed).filter_map(|entry| std::fs::metadata(entry).ok()).map(|file| (file.ino(), file.size()));
    files.collect::<BTreeMap<u64, u64>>().into_values().collect()
}

fn has_unnamed_files(directory: &Path) -> bool {
    openat(CWD, directory, OFlags::TMPFILE | OFlags::RDWR | OFlags::CLOEXEC, Mode::RUSR).is_ok()
}

/// The cases by number, as the process that is killed is told.
fn cases() -> impl Iterator<Item = (usize, Way, Moment, &'static str)> {
    let all = BOTH.into_iter().flat_map(|way| MOMENTS.map(|moment| (way, moment)));
    let all = all.flat_map(|(way, moment)| ["file", "new"].map(|path| (way, moment, path)));
    all.enumerate().map(|(number, (way, moment, path))| (number, way, moment, path))
}

#[test]
fn a_process_that_is_killed_in_the_middle_of_a_file_leaves_nothing_behind() {
    const TEST: &str = "killed::a_process_that_is_killed_in_the_middle_of_a_file_leaves_nothing_behind";
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    if let (Some(world), Ok(case)) = (std::env::var_os(WORLD), std::env::var(CASE)) {
        let (_, way, moment, path) = cases().find(|(number, ..)| number.to_string() == case).unwrap();
        return runtime.block_on(live(world.as_ref(), way, moment, path));
    }
    for (number, way, moment, path) in cases() {
        let what = format!("{way:?}, {moment:?}, {path}");
        let disk = Disk::new();
        if way == Way::Kernel && !has_unnamed_files(&disk.ws) {
            println!("{TEST}: this file system has no files without a name; {what} is not tested");
            continue;
        }
        disk.put("file", "old");
        let before = tree(&disk.ws);
        let mut child = start(TEST, &disk, &number.to_string());
        let open = unnamed(child.id(), &disk.ws);
        child.kill().unwrap();
        child.wait().unwrap();
        match way {
            Way::Kernel => {
                assert_eq!(open, [HALF], "{what}: it was not in the middle");
                assert_eq!(tree(&disk.ws), before, "{what}");
            }
            // Without such files, the one that was written stays, under a name of its own.
            Way::Walk => {
                let left: Vec<_> = names(&disk.ws).into_iter().filter(|name| name != "file").collect();
                assert!(open.is_empty() && left.len() == 1 && left[0].starts_with(".haft-"), "{what}: {open:?} {left:?}");
                assert_eq!((disk.get("file").as_str(), disk.ws.join("new").exists()), ("old", false), "{what}");
            }
        }
        runtime.block_on(write(&disk.files(way), path, "new")).unwrap();
        assert_eq!(disk.get(path), "new", "{what}: the next write is not disturbed");
    }
}

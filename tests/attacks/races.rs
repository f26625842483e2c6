//! Something swaps names as fast as it can while every door is tried: nothing may get out.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use haft::ErrorKind;
use rustix::fs::{CWD, Mode, OFlags, RenameFlags, openat, renameat_with};

use crate::doors::{Does, Door, doors};
use crate::world::{VAULTED, World, everything_of, notebook, put};

/// A race ends after so many calls, or when its time is up.
const CALLS: usize = 4000;
const TIME: Duration = Duration::from_secs(4);

/// A file of the workspace, and a link to the vault with which it is swapped.
pub(crate) fn a_file_is_swapped_for_a_link() {
    race(
        |base, ws| {
            for (end, content) in contents() {
                put(&ws.join(format!("name.{end}")), content);
                std::os::unix::fs::symlink(base.join(format!("vault/secret.{end}")), ws.join(format!("link.{end}"))).unwrap();
            }
        },
        &[("name.txt", "link.txt"), ("name.ipynb", "link.ipynb")],
        "name",
    );
}

/// A folder with such a file, and a link to the vault.
pub(crate) fn a_folder_is_swapped_for_a_link() {
    race(
        |base, ws| {
            for (end, content) in contents() {
                put(&ws.join(format!("folder/secret.{end}")), content);
            }
            std::os::unix::fs::symlink(base.join("vault"), ws.join("link")).unwrap();
        },
        &[("folder", "link")],
        "folder/secret",
    );
}

/// Ends the other side of a race, also when this side fails.
pub(crate) struct Over<'a>(pub(crate) &'a AtomicBool);

impl Drop for Over<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

fn contents() -> [(&'static str, String); 2] {
    [("txt", "old\ninside\n".to_owned()), ("ipynb", notebook("old\n"))]
}

/// Tries every door in turn while the names of each pair are exchanged.
fn race(prepare: fn(&Path, &Path), pairs: &[(&str, &str)], target: &str) {
    let world = World::new(prepare);
    let pairs: Vec<_> = pairs.iter().map(|(one, other)| (world.ws.join(one), world.ws.join(other))).collect();
    let (over, swaps) = (AtomicBool::new(false), AtomicUsize::new(0));
    let doors: Vec<Door> = doors().into_iter().filter(|door| door.does != Does::Choose).collect();
    let mut tally = Tally::default();
    std::thread::scope(|scope| {
        scope.spawn(|| swap(&pairs, &over, &swaps));
        let _over = Over(&over);
        let started = Instant::now();
        for door in doors.iter().cycle().take(CALLS).take_while(|_| started.elapsed() < TIME) {
            let path = format!("{target}{}", door.end());
            let result = world.call_unchecked(&world.session(door.dialect), door.tool, door.arguments(&path));
            let told = everything_of(&result);
            assert!(!told.contains(VAULTED), "{} escaped: {told}", door.name);
            tally.count(result.outcome.as_ref().err().map(haft::ToolError::kind));
            restore_target(&world, target, door);
        }
    });
    let last = world.call_unchecked(&world.session(haft::Dialect::Haft), "noop", serde_json::json!({}));
    world.check("after the race", &last);
    world.check_records();
    tally.check(swaps.into_inner());
}

/// Puts back what a door has changed, moved or removed, under whichever name it is no link.
fn restore_target(world: &World, target: &str, door: &Door) {
    if !door.writes() {
        return;
    }
    for (end, content) in contents() {
        for name in [target, &target.replace("name", "link").replace("folder", "link")] {
            // What is a link at this moment is passed over; the other name is the file.
            let _ = rewrite(&world.ws.join(format!("{name}.{end}")), &content);
        }
    }
    put(&world.ws.join("mine.txt"), "mine\n");
    // Nothing to remove is as good as removed.
    let _ = std::fs::remove_file(world.ws.join("moved.txt"));
}

/// Writes a file without following any link that is swapped in.
fn rewrite(path: &Path, content: &str) -> std::io::Result<()> {
    let folder = openat(CWD, path.parent().unwrap(), OFlags::DIRECTORY | OFlags::NOFOLLOW, Mode::empty())?;
    let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::TRUNC | OFlags::NOFOLLOW;
    let file = openat(folder, path.file_name().unwrap(), flags, Mode::RUSR | Mode::WUSR)?;
    std::fs::File::from(file).write_all(content.as_bytes())
}

fn swap(pairs: &[(PathBuf, PathBuf)], over: &AtomicBool, swaps: &AtomicUsize) {
    while !over.load(Ordering::Relaxed) {
        for (one, other) in pairs {
            // One that a door has just removed cannot be swapped; the next turn finds it again.
            if renameat_with(CWD, one, CWD, other, RenameFlags::EXCHANGE).is_ok() {
                swaps.fetch_add(1, Ordering::Relaxed);
            }
        }
    }
}

/// How the calls of a race ended.
#[derive(Debug, Default)]
struct Tally {
    done: usize,
    denied: usize,
    other: usize,
}

impl Tally {
    fn count(&mut self, kind: Option<ErrorKind>) {
        match kind {
            None => self.done += 1,
            Some(ErrorKind::PathNotAllowed) => self.denied += 1,
            Some(_) => self.other += 1,
        }
    }
    /// A race in which only one side ever ran would prove nothing.
    fn check(&self, swaps: usize) {
        println!("{swaps} swaps, {self:?}");
        assert!(swaps > 2000 && self.done > 0 && self.denied > 0, "{swaps} swaps, {self:?}");
    }
}

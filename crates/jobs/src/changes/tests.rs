use std::os::unix::fs::PermissionsExt;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use haft_contract::{ChangeKind, ChangeMode, ChangeSets, EntryKind};

use super::*;
use crate::CommandRetention;
use haft_host::WorkspaceOptions;

struct World {
    _folder: tempfile::TempDir,
    root: PathBuf,
    store: ChangeStore,
}

impl World {
    fn new(of_any_session: bool) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().canonicalize().unwrap();
        fs::create_dir(root.join("w")).unwrap();
        let files = Arc::new(LocalFiles::open(WorkspaceOptions::new(root.join("w"))).unwrap());
        let options = ChangeOptions {
            mode: ChangeMode::Direct,
            folder: root.join("changes"),
            guarded: Vec::new(),
            stages_unattended: false,
            of_any_session,
            retention: CommandRetention::STANDARD.changes,
        };
        Self { store: ChangeStore::new(options, files), _folder: folder, root }
    }

    /// The set of a run that wrote one file.
    fn run(&self) -> Arc<ChangeSet> {
        let pending = self.store.stage("mine", "echo x >x", ChangeMode::Review, &[self.root.join("w")]).unwrap();
        fs::write(pending.overlay().layers()[0].upper.join("x"), "x").unwrap();
        pending.read(&[]).unwrap()
    }

    fn names(&self) -> Vec<String> {
        let names = fs::read_dir(self.root.join("changes")).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap());
        let mut names: Vec<_> = names.collect();
        names.sort_unstable();
        names
    }

    fn refusal(&self, session: &str, id: &str) -> String {
        self.store.claim(session, id).err().map(|error| error.message().to_owned()).unwrap_or_default()
    }
}

#[tokio::test]
async fn change_set_belongs_to_its_session_and_has_one_commit() {
    let world = World::new(false);
    let set = world.run();
    let id = set.id.as_str();
    assert_eq!(*world.store.find(id).unwrap(), *set);
    let change = &set.changes[0];
    assert_eq!((change.kind, change.entry, change.before.as_deref(), change.size), (ChangeKind::Created, EntryKind::File, None, 1));
    assert_eq!(world.store.content(&set, 0, ChangeSide::After, 10).await.unwrap(), b"x");

    assert_eq!(world.store.find("last").unwrap().id, id);
    assert_eq!(world.run().id, world.store.find("last").unwrap().id, "the newest");
    assert_eq!(world.refusal("other", id), format!("The change set '{id}' is of another session, which alone can commit it."));
    let claim = world.store.claim("mine", id).unwrap();
    assert_eq!(world.refusal("mine", id), format!("The change set '{id}' is being committed by another call."));
    drop(claim);
    let claim = world.store.claim("mine", id).unwrap();
    world.store.remove(&claim.set).await;
    let committed = format!("The change set '{id}' was committed already. Run the command again for a new one.");
    assert_eq!(world.refusal("mine", id), committed);
    assert_eq!(fs::read_dir(world.root.join("changes").join(id)).unwrap().count(), 1, "only the marker file is left");
}

#[tokio::test]
async fn change_set_of_any_session_is_committed_by_the_user_but_not_in_another_workspace() {
    let world = World::new(true);
    let id = world.run().id.clone();
    drop(world.store.claim("another process", &id).unwrap());
    fs::create_dir(world.root.join("elsewhere")).unwrap();
    let files = Arc::new(LocalFiles::open(WorkspaceOptions::new(world.root.join("elsewhere"))).unwrap());
    let elsewhere = ChangeStore::new(world.store.options.clone(), files);
    let refused = elsewhere.find(&id).unwrap_err();
    let workspace = world.root.join("w");
    let expected = format!("The change set '{id}' is of another workspace, '{}'. Commit it there.", workspace.display());
    assert_eq!(refused.message(), expected);
}

#[test]
fn staged_run_that_is_not_read_or_changes_nothing_leaves_nothing() {
    let world = World::new(false);
    let begin = || world.store.stage("mine", "x", ChangeMode::Review, &[world.root.join("w")]).unwrap();
    assert_eq!(begin().read(&[]).unwrap().changes, []);
    drop(begin());
    assert_eq!(world.names(), Vec::<String>::new());
}

#[test]
fn change_store_prunes_the_oldest_sets_and_keeps_running_ones() {
    let world = World::new(false);
    let running = world.store.stage("mine", "x", ChangeMode::Review, &[world.root.join("w")]).unwrap();
    let age = |id: &str, seconds: u64| {
        let folder = world.root.join("changes").join(id);
        for path in [folder.join(SET_FILE), folder] {
            if let Ok(file) = File::open(path) {
                file.set_modified(SystemTime::now() - Duration::from_secs(seconds)).unwrap();
            }
        }
    };
    age(&running.id, 7200);
    let (old, new) = (world.run().id.clone(), world.run().id.clone());
    age(&old, 14 * 24 * 3600 + 60);
    let last = world.run().id.clone();
    let mut expected = vec![running.id.clone(), new, last];
    expected.sort_unstable();
    assert_eq!(world.names(), expected);
    for _ in 0..MAX_SETS + 2 {
        world.run();
    }
    assert_eq!(world.names().len(), MAX_SETS + 2, "with the running one, and the last one, which came after pruning");
}

#[test]
fn commit_steps_open_remove_create_write_and_close() {
    let world = World::new(false);
    let folder = world.root.join("w/shut");
    fs::create_dir_all(folder.join("old")).unwrap();
    fs::write(folder.join("old/file"), "x").unwrap();
    let pending = world.store.stage("mine", "x", ChangeMode::Review, &[world.root.join("w")]).unwrap();
    let upper = pending.overlay().layers()[0].upper.clone();
    fs::create_dir_all(upper.join("shut/new")).unwrap();
    fs::write(upper.join("shut/new/file"), "x").unwrap();
    fs::set_permissions(upper.join("shut"), fs::Permissions::from_mode(0o500)).unwrap();
    rustix::fs::mknodat(rustix::fs::CWD, upper.join("shut/old"), rustix::fs::FileType::CharacterDevice, rustix::fs::Mode::empty(), 0)
        .unwrap();
    let id = pending.read(&[]).unwrap().id.clone();
    let claim = world.store.claim("mine", &id).unwrap();
    let summary = |(_, image): &(usize, haft_contract::ports::PreImage)| {
        let path = image.path.strip_prefix(&folder).unwrap().display().to_string();
        (path, image.mode.map(|mode| format!("{mode:o}")), image.after.clone().map(|after| after.chars().take(14).collect::<String>()))
    };
    let steps: Vec<_> = claim.steps.iter().map(summary).collect();
    let step = |path: &str, mode: Option<&str>, after: Option<&str>| (path.to_owned(), mode.map(str::to_owned), after.map(str::to_owned));
    let expected = [
        step("", Some("40700"), Some("directory:0755")),
        step("old/file", None, Some("2d711642b726b0")),
        step("old", None, Some("directory:0755")),
        step("new", Some("40755"), None),
        step("new/file", Some("644"), None),
        step("", Some("40500"), Some("directory:0700")),
    ];
    assert_eq!(steps, expected);
}

#[tokio::test]
async fn file_that_another_program_writes_is_not_replaced_and_one_that_it_reads_is() {
    for (redirection, is_refused) in [(">>", true), ("<", false)] {
        let world = World::new(false);
        let file = world.root.join("w/x");
        fs::write(&file, "old").unwrap();
        let id = world.run().id.clone();
        // `exec` keeps the descriptor; the shell reports that it is open, and ends when its input does.
        let script = format!("exec 9{redirection}\"$0\"; echo open; read line");
        let mut other = std::process::Command::new("/bin/sh");
        other.args(["-c", &script]).arg(&file).stdin(std::process::Stdio::piped()).stdout(std::process::Stdio::piped());
        let mut other = other.spawn().unwrap();
        let mut line = [0; 5];
        other.stdout.as_mut().unwrap().read_exact(&mut line).unwrap();
        let refusal = world.refusal("mine", &id);
        drop(other.stdin.take());
        other.wait().unwrap();
        assert_eq!(refusal.contains("is open for writing in sh (pid "), is_refused, "{redirection}: {refusal}");
        assert_eq!(world.refusal("mine", &id), "", "closed");
    }
}

#[tokio::test]
async fn retained_changes_are_all_that_is_left_of_a_set() {
    let world = World::new(false);
    let staged = world.store.stage("mine", "two files", ChangeMode::Review, &[world.root.join("w")]).unwrap();
    for name in ["a", "b"] {
        fs::write(staged.overlay().layers()[0].upper.join(name), name).unwrap();
    }
    let set = staged.read(&[]).unwrap();
    world.store.retain(&set, &[1]).await;
    let left = world.store.find(&set.id).unwrap();
    assert_eq!(left.changes, [set.changes[1].clone()]);
    assert_eq!(world.store.content(&left, 0, ChangeSide::After, 10).await.unwrap(), b"b");
}

#[test]
fn run_that_was_cut_off_leaves_a_set_and_one_that_continues_does_not() {
    let world = World::new(false);
    let stage = |command: &str| world.store.stage("mine", command, ChangeMode::Staged, &[world.root.join("w")]).unwrap();
    let (running, cut) = (stage("sleep 60"), stage("make"));
    let folder = world.root.join("changes").join(&cut.id);
    fs::write(cut.overlay().layers()[0].upper.join("half"), "x").unwrap();
    // As after a kill: nobody holds its lock, and nobody has cleaned up.
    fs::rename(&folder, world.root.join("aside")).unwrap();
    drop(cut);
    fs::rename(world.root.join("aside"), &folder).unwrap();
    let next = stage("true");
    let notes = next.notes();
    assert!(notes.len() == 1 && notes[0].contains("An earlier command was cut off with Haft ('make'): 1 paths"), "{notes:?}");
    let found = world.store.of_command("mine", "make").unwrap();
    assert_eq!((found.changes.len(), &*found.changes[0].path), (1, &*world.root.join("w/half")));
    assert!(world.store.find(&found.id).is_ok() && world.store.recover().is_empty());
    assert_eq!(world.store.of_command("mine", "sleep 60"), None);
    drop((running, next));
}

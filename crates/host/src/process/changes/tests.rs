use std::os::unix::fs::PermissionsExt;
use std::sync::Arc;
use std::time::SystemTime;

use haft_contract::{ChangeDeed, ChangeSets, Changes, EntryKind};

use super::*;
use crate::WorkspaceOptions;

struct Place {
    _folder: tempfile::TempDir,
    root: PathBuf,
    sets: Sets,
}

impl Place {
    fn new(of_any_session: bool) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().canonicalize().unwrap();
        fs::create_dir(root.join("w")).unwrap();
        let files = Arc::new(LocalFiles::open(WorkspaceOptions::new(root.join("w"))).unwrap());
        let options = ChangeOptions { mode: Changes::Direct, folder: root.join("changes"), of_any_session };
        Self { sets: Sets::new(options, files), _folder: folder, root }
    }

    /// A run that wrote one file; gives the name of its set.
    fn ran(&self) -> Arc<ChangeSet> {
        let pending = self.sets.begin("mine", "echo x >x", &[self.root.join("w")]).unwrap();
        fs::write(pending.overlay().layers()[0].upper.join("x"), "x").unwrap();
        pending.read().unwrap()
    }

    fn names(&self) -> Vec<String> {
        let names = fs::read_dir(self.root.join("changes")).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap());
        let mut names: Vec<_> = names.collect();
        names.sort_unstable();
        names
    }

    async fn refused(&self, session: &str, id: &str) -> String {
        self.sets.claim(session, id).await.err().map(|error| error.message().to_owned()).unwrap_or_default()
    }
}

#[tokio::test]
async fn a_set_is_of_its_session_its_workspace_and_one_commit() {
    let place = Place::new(false);
    let set = place.ran();
    let id = set.id.as_str();
    assert_eq!(*place.sets.find(id).unwrap(), *set);
    let change = &set.changes[0];
    assert_eq!((change.deed, change.entry, change.before.as_deref(), change.size), (ChangeDeed::Created, EntryKind::File, None, 1));
    assert_eq!(place.sets.content(&set, 0, Side::After, 10).await.unwrap(), b"x");

    assert_eq!(place.sets.find("last").unwrap().id, id);
    assert_eq!(place.ran().id, place.sets.find("last").unwrap().id, "the newest");
    assert_eq!(place.refused("other", id).await, format!("The change set '{id}' is of another session, which alone can commit it."));
    let claim = place.sets.claim("mine", id).await.unwrap();
    assert_eq!(place.refused("mine", id).await, format!("The change set '{id}' is being committed by another call."));
    drop(claim);
    let claim = place.sets.claim("mine", id).await.unwrap();
    claim.done().await;
    let committed = format!("The change set '{id}' was committed already. Run the command again for a new one.");
    assert_eq!(place.refused("mine", id).await, committed);
    assert_eq!(fs::read_dir(place.root.join("changes").join(id)).unwrap().count(), 1, "only the mark is left");
}

#[tokio::test]
async fn a_person_commits_what_any_of_their_processes_made_but_not_elsewhere() {
    let place = Place::new(true);
    let id = place.ran().id.clone();
    drop(place.sets.claim("another process", &id).await.unwrap());
    fs::create_dir(place.root.join("elsewhere")).unwrap();
    let files = Arc::new(LocalFiles::open(WorkspaceOptions::new(place.root.join("elsewhere"))).unwrap());
    let elsewhere = Sets::new(place.sets.options.clone(), files);
    let refused = elsewhere.find(&id).unwrap_err();
    let workspace = place.root.join("w");
    let expected = format!("The change set '{id}' is of another workspace, '{}'. Commit it there.", workspace.display());
    assert_eq!(refused.message(), expected);
}

#[test]
fn a_run_that_was_not_read_or_changed_nothing_leaves_nothing() {
    let place = Place::new(false);
    let begin = || place.sets.begin("mine", "x", &[place.root.join("w")]).unwrap();
    assert_eq!(begin().read().unwrap().changes, []);
    drop(begin());
    assert_eq!(place.names(), Vec::<String>::new());
}

#[test]
fn the_oldest_give_way_and_a_run_that_goes_on_is_left_alone() {
    let place = Place::new(false);
    let running = place.sets.begin("mine", "x", &[place.root.join("w")]).unwrap();
    let age = |id: &str, seconds: u64| {
        let folder = place.root.join("changes").join(id);
        for path in [folder.join(SET), folder] {
            if let Ok(file) = File::open(path) {
                file.set_modified(SystemTime::now() - Duration::from_secs(seconds)).unwrap();
            }
        }
    };
    age(&running.id, 7200);
    let (old, new) = (place.ran().id.clone(), place.ran().id.clone());
    age(&old, LIFETIME.as_secs() + 60);
    let last = place.ran().id.clone();
    let mut expected = vec![running.id.clone(), new, last];
    expected.sort_unstable();
    assert_eq!(place.names(), expected);
    for _ in 0..MOST_SETS + 2 {
        place.ran();
    }
    assert_eq!(place.names().len(), MOST_SETS + 2, "with the run that goes on, and the one before it was looked");
}

#[test]
fn the_steps_open_remove_make_fill_and_shut() {
    let place = Place::new(false);
    let folder = place.root.join("w/shut");
    fs::create_dir_all(folder.join("old")).unwrap();
    fs::write(folder.join("old/file"), "x").unwrap();
    let pending = place.sets.begin("mine", "x", &[place.root.join("w")]).unwrap();
    let upper = pending.overlay().layers()[0].upper.clone();
    fs::create_dir_all(upper.join("shut/new")).unwrap();
    fs::write(upper.join("shut/new/file"), "x").unwrap();
    fs::set_permissions(upper.join("shut"), fs::Permissions::from_mode(0o500)).unwrap();
    rustix::fs::mknodat(rustix::fs::CWD, upper.join("shut/old"), rustix::fs::FileType::CharacterDevice, rustix::fs::Mode::empty(), 0)
        .unwrap();
    let id = pending.read().unwrap().id.clone();
    let claim = place.sets.take("mine", &id).unwrap();
    let told = |(_, image): &(usize, PreImage)| {
        let path = image.path.strip_prefix(&folder).unwrap().display().to_string();
        (path, image.mode.map(|mode| format!("{mode:o}")), image.after.clone().map(|after| after.chars().take(14).collect::<String>()))
    };
    let steps: Vec<_> = claim.steps().iter().map(told).collect();
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

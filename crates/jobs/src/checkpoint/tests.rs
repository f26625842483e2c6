use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::process::Command;

use haft_contract::ports::{FileSystem, Journal};
use haft_contract::{BoxFuture, ChangeKind, SpillWriter, ToolError};
use haft_host::WorkspaceOptions;
use tempfile::TempDir;

use super::*;

/// A workspace, and a store outside it.
struct Fixture {
    folder: TempDir,
    data: TempDir,
    files: Arc<LocalFiles>,
    store: Arc<CheckpointStore>,
}

impl Fixture {
    fn new() -> Self {
        Self::with_limits(CheckpointLimits::STANDARD)
    }

    fn with_limits(limits: CheckpointLimits) -> Self {
        let (folder, data) = (TempDir::new().unwrap(), TempDir::new().unwrap());
        let root = folder.path().canonicalize().unwrap();
        let files = Arc::new(LocalFiles::open(WorkspaceOptions::new(&root)).unwrap());
        let store = Arc::new(CheckpointStore::new(data.path().join("checkpoints"), limits, Arc::clone(&files)));
        Self { folder, data, files, store }
    }

    fn root(&self) -> PathBuf {
        self.folder.path().canonicalize().unwrap()
    }

    fn write(&self, name: &str, content: impl AsRef<[u8]>) {
        let path = self.root().join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, content).unwrap();
    }

    fn take(&self) -> Checkpoint {
        self.store.take(&[self.root()])
    }

    /// Runs a shell line in the workspace.
    fn run(&self, line: &str) {
        assert!(Command::new("bash").args(["-c", line]).current_dir(self.root()).status().unwrap().success(), "{line}");
    }

    /// Every path but those of Git, with its type, permissions and content.
    fn tree(&self) -> BTreeMap<PathBuf, (u32, Vec<u8>)> {
        let (mut tree, mut folders) = (BTreeMap::new(), vec![self.root()]);
        while let Some(folder) = folders.pop() {
            for entry in fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).filter(|path| !path.ends_with(".git")) {
                let metadata = fs::symlink_metadata(&entry).unwrap();
                let content = match metadata.file_type() {
                    kind if kind.is_symlink() => fs::read_link(&entry).unwrap().into_os_string().into_encoded_bytes(),
                    kind if kind.is_dir() => {
                        folders.push(entry.clone());
                        Vec::new()
                    }
                    _ => fs::read(&entry).unwrap(),
                };
                tree.insert(entry, (metadata.permissions().mode(), content));
            }
        }
        tree
    }

    /// Restores pre-images as an undo does: backwards, then the directories once more.
    async fn undo(&self, images: Vec<PreImage>) {
        for image in images.into_iter().rev() {
            let path = image.path.clone();
            let at = self.files.locate_entry(&path).unwrap();
            self.files.restore(&at, image, &NoJournal).await.unwrap_or_else(|error| panic!("{}: {error}", path.display()));
        }
    }
}

struct NoJournal;

impl Journal for NoJournal {
    fn keep(&self, _image: PreImage) -> BoxFuture<'_, Result<(), ToolError>> {
        Box::pin(async { Ok(()) })
    }
    fn withdraw<'a>(&'a self, _path: &'a Path, _after: Option<&'a str>) -> BoxFuture<'a, Result<(), ToolError>> {
        Box::pin(async { Ok(()) })
    }
    fn spill(&self, _extension: &'static str) -> BoxFuture<'_, Result<Box<dyn SpillWriter>, ToolError>> {
        Box::pin(async { Err(ToolError::execution("no spills")) })
    }
}

fn listed(found: &CheckpointChanges) -> Vec<(String, ChangeKind)> {
    let root = &found.changes.workspace;
    let name = |path: &Path| path.strip_prefix(root).unwrap().to_string_lossy().into_owned();
    found.changes.changes.iter().map(|change| (name(&change.path), change.kind)).collect()
}

#[tokio::test]
async fn changes_of_shell_commands_are_listed_and_taken_back() {
    let fixture = Fixture::new();
    let executable = |name: &str| fs::set_permissions(fixture.root().join(name), fs::Permissions::from_mode(0o755)).unwrap();
    for (name, text) in [("src/main.rs", "fn main() {}\n"), ("src/deep/a.txt", "a"), ("notes.txt", "old\n"), ("run.sh", "echo hi\n")] {
        fixture.write(name, text);
    }
    fs::create_dir(fixture.root().join("empty")).unwrap();
    symlink("notes.txt", fixture.root().join("link")).unwrap();
    executable("run.sh");
    let before = fixture.tree();
    for line in [
        "rm -rf src",
        "sed -i s/old/new/ notes.txt",
        "chmod 600 run.sh",
        "chmod 700 empty && chmod 444 notes.txt",
        "mv src lib",
        "mkdir -p a/b/c a/d && touch a/d/x",
        "rm link && ln -s run.sh link",
        "rmdir empty && echo file > empty",
        "rm notes.txt && mkdir notes.txt && mkdir -p notes.txt/a/b && echo x > notes.txt/a/c",
        "mv src lib && ln -s lib src",
        "rm -rf * && echo new > only",
        "true",
    ] {
        let checkpoint = fixture.take();
        fixture.run(line);
        let found = checkpoint.changes();
        assert_eq!(listed(&found).is_empty(), line == "true", "{line}");
        assert_eq!(found.changes.uncovered, Vec::<String>::new(), "{line}");
        fixture.undo(found.images).await;
        assert_eq!(fixture.tree(), before, "{line}");
    }
}

#[test]
fn changed_paths_are_named_with_what_happened_to_them() {
    let fixture = Fixture::new();
    fixture.write("changed", "1");
    fixture.write("gone/file", "1");
    fixture.write("same", "1");
    let checkpoint = fixture.take();
    fixture.run("echo 2 > changed; rm -r gone; touch same; mkdir new; echo 1 > new/file; echo 1 > temporary; rm temporary");
    let expected = [
        ("changed", ChangeKind::Changed),
        ("gone", ChangeKind::Deleted),
        ("gone/file", ChangeKind::Deleted),
        ("new", ChangeKind::Created),
        ("new/file", ChangeKind::Created),
    ];
    assert_eq!(listed(&checkpoint.changes()), expected.map(|(name, kind)| (name.to_owned(), kind)));
}

#[test]
fn data_folder_in_a_workspace_is_not_covered() {
    let mut fixture = Fixture::new();
    let data = fixture.root().join(".local/share/haft");
    fixture.store = Arc::new(CheckpointStore::new(data.join("checkpoints"), CheckpointLimits::STANDARD, Arc::clone(&fixture.files)));
    fixture.write(".local/share/haft/haft.db", "1");
    let before = fixture.take();
    fixture.write(".local/share/haft/sandbox/tmp/x", "1");
    fixture.write(".local/share/haft/haft.db", "2");
    fixture.write(".local/share/other/x", "1");
    let found: Vec<String> = listed(&before.changes()).into_iter().map(|(path, _)| path).filter(|path| path.contains("share")).collect();
    assert_eq!(found.last().map(String::as_str), Some(".local/share/other/x"), "{found:?}");
    assert!(found.iter().all(|path| !path.contains("haft")), "{found:?}");
}

#[test]
fn same_size_edit_within_one_tick_is_found() {
    let fixture = Fixture::new();
    for round in 0..200 {
        fixture.write("file", format!("{round:04}"));
        let checkpoint = fixture.take();
        fixture.write("file", format!("{:04}", round + 1000));
        assert_eq!(listed(&checkpoint.changes()).len(), 1, "round {round}");
    }
}

/// A command cannot keep undo from restoring the rest by a name that no tool takes.
#[tokio::test]
async fn odd_names_stay_and_the_rest_is_taken_back() {
    for (line, note) in [
        ("touch $'a\\tb' && rm -rf src", "(no tool can name it)"),
        ("mkdir -p $'d/x\\ny' && touch $'d/x\\ny/z' && rm -rf src", "(no tool can name it)"),
        ("p=.; for i in $(seq 255); do p=$p/d; done; mkdir -p $p && touch $p/f && rm -rf src", "(no tool can name it)"),
    ] {
        let fixture = Fixture::new();
        for (name, text) in [("src/main.rs", "fn main() {}\n"), ("src/deep/a.txt", "a")] {
            fixture.write(name, text);
        }
        let before = fixture.tree();
        let checkpoint = fixture.take();
        fixture.run(line);
        let found = checkpoint.changes();
        assert!(found.changes.uncovered.iter().any(|uncovered| uncovered.contains(note)), "{line}: {:?}", found.changes.uncovered);
        fixture.undo(found.images).await;
        let mut after = fixture.tree();
        after.retain(|path, _| path.starts_with(fixture.root().join("src")));
        assert!(after.iter().all(|(path, content)| before.get(path) == Some(content)) && after.len() == before.len(), "{line}: {after:?}");
    }
}

#[tokio::test]
async fn ignored_files_are_neither_covered_nor_touched_by_undo() {
    let fixture = Fixture::new();
    fixture.run("git init -q .; mkdir -p .git/info; echo excluded > .git/info/exclude");
    for (name, text) in [
        (".gitignore", "/build/\n*.log\n!keep.log\n"),
        ("sub/.gitignore", "local\n"),
        ("build/out", "1"),
        ("a.log", "1"),
        ("keep.log", "1"),
        ("excluded", "1"),
        ("sub/local", "1"),
        ("local", "1"),
        ("node_modules/x/index.js", "1"),
        ("env/pyvenv.cfg", ""),
        ("out/CACHEDIR.TAG", ""),
        ("target/source.txt", "a repository may have sources in target"),
    ] {
        fixture.write(name, text);
    }
    let checkpoint = fixture.take();
    fixture
        .run("for file in build/out a.log keep.log excluded sub/local local node_modules/x/index.js env/x out/x; do echo 2 > $file; done");
    fixture.run("echo 2 > target/source.txt; rm a.log; git init -q sub/repo; echo 3 > .git/description");
    let found = checkpoint.changes();
    let names: Vec<String> = listed(&found).into_iter().map(|(name, _)| name).collect();
    assert_eq!(names, ["keep.log", "local", "sub/repo", "target/source.txt"]);
    assert_eq!(found.changes.uncovered, ["'a.log' (ignored by Git, and deleted)"]);
}

#[tokio::test]
async fn command_cannot_hide_or_lose_files_by_an_ignore_file() {
    let fixture = Fixture::new();
    fixture.run("git init -q .");
    fixture.write("src/a", "1");
    fixture.write("cache/b", "1");
    fixture.write(".gitignore", "cache/\n");
    let checkpoint = fixture.take();
    fixture.run("echo src > .gitignore; echo 2 > src/a; touch src/CACHEDIR.TAG");
    let found = checkpoint.changes();
    let names: Vec<String> = listed(&found).into_iter().map(|(name, _)| name).collect();
    assert_eq!(names, [".gitignore", "src/CACHEDIR.TAG", "src/a"], "what was covered stays so, what was ignored is not new");
    fixture.undo(found.images).await;
    assert_eq!(fs::read_to_string(fixture.root().join("src/a")).unwrap(), "1");
    assert!(fixture.root().join("cache/b").exists());
}

#[test]
fn rules_of_the_repository_above_a_workspace_count() {
    let outer = TempDir::new().unwrap();
    let root = outer.path().canonicalize().unwrap().join("packages/one");
    fs::create_dir_all(root.join("dist")).unwrap();
    fs::create_dir_all(outer.path().join(".git")).unwrap();
    fs::write(outer.path().join(".gitignore"), "/packages/*/dist\n").unwrap();
    let (rules, lead) = rules::Rules::above(&root);
    assert_eq!(lead, b"packages/one/");
    assert!(rules.exclude(b"packages/one/dist", b"dist", true));
    assert!(!rules.exclude(b"packages/one/src", b"src", true));
}

#[test]
fn files_beyond_the_limits_are_reported_and_never_deleted() {
    let limits = CheckpointLimits { entries: 5, ..CheckpointLimits::STANDARD };
    let fixture = Fixture::with_limits(limits);
    for number in 0..10 {
        fixture.write(&format!("f{number}"), "1");
    }
    let checkpoint = fixture.take();
    fixture.run("for f in f*; do echo 2 > $f; done; echo 1 > new");
    let found = checkpoint.changes();
    assert_eq!(listed(&found).len(), 5, "those that were covered");
    let (unknown, kept): (Vec<_>, Vec<_>) = found.images.iter().partition(|image| image.mode == Some(PreImage::UNKNOWN));
    assert!(kept.iter().all(|image| image.content.is_some()), "nothing is taken for new");
    assert_eq!(unknown.iter().map(|image| image.path.clone()).collect::<Vec<_>>(), [fixture.root()]);
    assert_eq!(found.changes.uncovered, ["files beyond the first 5"]);

    let fixture = Fixture::with_limits(CheckpointLimits { file_bytes: 10, ..CheckpointLimits::STANDARD });
    fixture.write("large", "12345678901");
    fixture.write("small", "1");
    let checkpoint = fixture.take();
    fixture.run("rm large small");
    let found = checkpoint.changes();
    assert_eq!(found.changes.uncovered, ["'large' (the old content was not kept)"]);
    let modes: Vec<_> = found.images.iter().map(|image| image.mode == Some(PreImage::UNKNOWN)).collect();
    assert_eq!(modes, [false, true]);
}

#[test]
fn links_out_of_the_root_are_not_followed() {
    let fixture = Fixture::new();
    let outside = TempDir::new().unwrap();
    fs::write(outside.path().join("secret"), "TOP-SECRET").unwrap();
    symlink(outside.path(), fixture.root().join("out")).unwrap();
    symlink(outside.path().join("secret"), fixture.root().join("file")).unwrap();
    fixture.take();
    let kept = Command::new("grep").args(["-rl", "TOP-SECRET"]).arg(fixture.data.path()).output().unwrap();
    assert_eq!(String::from_utf8_lossy(&kept.stdout), "");
}

#[test]
fn store_is_private_and_survives_a_new_process() {
    let fixture = Fixture::new();
    fixture.write("file", "content");
    fixture.take();
    let others: Vec<String> = walk_all(fixture.data.path())
        .into_iter()
        .filter(|path| path != fixture.data.path() && fs::symlink_metadata(path).unwrap().permissions().mode() & 0o077 != 0)
        .map(|path| path.display().to_string())
        .filter(|path| !path.ends_with("pruned"))
        .collect();
    assert_eq!(others, Vec::<String>::new());
    // The same store, opened again, reads its index, and copies nothing.
    let again = CheckpointStore::new(fixture.data.path().join("checkpoints"), CheckpointLimits::STANDARD, Arc::clone(&fixture.files));
    std::thread::sleep(std::time::Duration::from_millis(60));
    let objects = fixture.store.folder_of(&fixture.root()).join("objects");
    Arc::new(again).take(&[fixture.root()]);
    assert_eq!(walk_all(&objects).iter().filter(|path| path.is_file()).count(), 1);
}

#[test]
fn lost_content_is_reported_and_copied_again() {
    let fixture = Fixture::new();
    fixture.write("file", "content");
    let checkpoint = fixture.take();
    fs::remove_dir_all(fixture.store.folder_of(&fixture.root()).join("objects")).unwrap();
    fixture.run("rm file");
    let found = checkpoint.changes();
    assert_eq!(found.changes.uncovered, ["'file' (the old content was not kept)"]);
    fixture.write("file", "content");
    let checkpoint = fixture.take();
    fixture.run("rm file");
    assert_eq!(checkpoint.changes().changes.uncovered, Vec::<String>::new());
}

#[test]
fn unlistable_folder_is_not_taken_for_deleted() {
    if rustix::process::geteuid().is_root() {
        // Root can list any folder.
        return;
    }
    let fixture = Fixture::new();
    fixture.write("folder/file", "1");
    let checkpoint = fixture.take();
    fixture.run("chmod 000 folder");
    let found = checkpoint.changes();
    fixture.run("chmod 755 folder");
    assert_eq!(listed(&found), [("folder".to_owned(), ChangeKind::Changed)]);
}

fn walk_all(folder: &Path) -> Vec<PathBuf> {
    let (mut all, mut folders) = (vec![folder.to_owned()], vec![folder.to_owned()]);
    while let Some(folder) = folders.pop() {
        for path in fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()) {
            if path.is_dir() {
                folders.push(path.clone());
            }
            all.push(path);
        }
    }
    all
}

/// Small numbers that look random, the same in each run.
struct Dice(u64);

impl Dice {
    fn roll(&mut self, sides: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        usize::try_from(self.0 % sides as u64).unwrap()
    }
}

/// One random change of a tree, as commands make them.
fn change_something(root: &Path, dice: &mut Dice) {
    let name = |dice: &mut Dice| ["a", "b", "a/c", "a/d", "b/e", "a/c/f", "b/e/g", "h"][dice.roll(8)];
    let (path, other) = (root.join(name(dice)), root.join(name(dice)));
    let remove = |path: &Path| match fs::symlink_metadata(path) {
        Ok(metadata) if metadata.is_dir() => drop(fs::remove_dir_all(path)),
        Ok(_) => drop(fs::remove_file(path)),
        Err(_) => {}
    };
    // A change that cannot be made here is none.
    match dice.roll(8) {
        0 | 1 => drop(fs::write(&path, format!("content {}", dice.roll(4)))),
        2 => drop(fs::create_dir_all(&path)),
        3 => remove(&path),
        4 => drop(fs::rename(&path, &other)),
        5 => drop(symlink(["h", "a", "./b", "nowhere"][dice.roll(4)], &path)),
        6 if !path.is_symlink() => drop(fs::set_permissions(
            &path,
            fs::Permissions::from_mode(if path.is_dir() {
                [0o755, 0o700, 0o1777][dice.roll(3)]
            } else {
                [0o644, 0o600, 0o755, 0o444][dice.roll(4)]
            }),
        )),
        _ => {
            remove(&path);
            drop(fs::create_dir_all(&path));
            drop(fs::write(path.join("x"), "x"));
        }
    }
}

#[tokio::test]
async fn undo_of_random_changes_gives_back_the_same_tree() {
    for seed in 1..=60 {
        let (fixture, mut dice) = (Fixture::new(), Dice(0x9E37_79B9_7F4A_7C15 ^ (seed << 20)));
        for _ in 0..12 {
            change_something(&fixture.root(), &mut dice);
        }
        for round in 0..3 {
            let (before, checkpoint) = (fixture.tree(), fixture.take());
            for _ in 0..=dice.roll(12) {
                change_something(&fixture.root(), &mut dice);
            }
            let found = checkpoint.changes();
            assert_eq!(found.changes.uncovered, Vec::<String>::new());
            fixture.undo(found.images).await;
            assert_eq!(fixture.tree(), before, "seed {seed}, round {round}");
        }
    }
}

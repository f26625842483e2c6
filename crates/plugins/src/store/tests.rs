use std::os::unix::fs::PermissionsExt;

use tempfile::TempDir;

use super::*;

fn plugin(name: &str) -> TempDir {
    let folder = TempDir::new().unwrap();
    let text = format!(
        "name = '{name}'\nversion = '1'\ndescription = 'd'\ncommand = ['sh', '{{plugin}}/run.sh']\n[[tools]]\nname = 'count'\ndescription = 'Counts.'\n"
    );
    fs::write(folder.path().join("plugin.toml"), text).unwrap();
    fs::write(folder.path().join("run.sh"), "true\n").unwrap();
    folder
}

fn approve(store: &PluginStore, folder: &Path, origin: PluginOrigin) -> PluginRecord {
    let files = PluginFiles::read(folder).unwrap();
    let record = PluginRecord::new(&files, &files.manifest().unwrap(), folder, origin);
    store.approve(&files, record.clone()).unwrap();
    record
}

/// Why each plugin does not run.
fn states(store: &PluginStore, workspace: &str) -> Vec<Option<String>> {
    store.installed(Some(Path::new(workspace))).unwrap().iter().map(|plugin| plugin.state.as_ref().err().map(ToString::to_string)).collect()
}

#[test]
fn approved_copy_runs_until_it_changes() {
    let (data, source) = (TempDir::new().unwrap(), plugin("p"));
    let store = PluginStore::new(data.path());
    assert_eq!(store.records().unwrap(), []);
    let record = approve(&store, source.path(), PluginOrigin::User);
    assert_eq!(states(&store, "/w"), [None]);
    fs::write(source.path().join("run.sh"), "rm -rf /\n").unwrap();
    assert_eq!(states(&store, "/w"), [None], "the folder that it came from does not matter");
    let copy = store.content(&record.fingerprint).join("run.sh");
    assert_eq!(fs::metadata(&copy).unwrap().permissions().mode() & 0o777, 0o400);
    fs::remove_file(&copy).unwrap();
    fs::write(&copy, "rm -rf /\n").unwrap();
    assert!(states(&store, "/w")[0].as_ref().unwrap().contains("has changed since you looked at it"));
    let tools = store.installed(None).unwrap()[0].tools();
    assert_eq!(tools[0].definition().name, "count", "its names stay known");
    approve(&store, source.path(), PluginOrigin::User);
    assert_eq!((states(&store, "/w"), store.records().unwrap().len()), (vec![None], 1));
    assert!(!store.content(&record.fingerprint).exists(), "the copy that nothing needs is gone");
    assert_eq!(store.remove(|record| record.name == "p").unwrap().len(), 1);
    assert_eq!(fs::read_dir(data.path().join("plugins/content")).unwrap().count(), 0);
}

#[test]
fn linked_and_project_plugins_follow_their_folder() {
    let (data, linked, project) = (TempDir::new().unwrap(), plugin("a"), plugin("b"));
    let store = PluginStore::new(data.path());
    approve(&store, linked.path(), PluginOrigin::Linked);
    approve(&store, project.path(), PluginOrigin::Project("/w".into()));
    assert_eq!((states(&store, "/w"), states(&store, "/other")), (vec![None, None], vec![None]));
    fs::write(linked.path().join("run.sh"), "false\n").unwrap();
    fs::remove_dir_all(project.path()).unwrap();
    assert!(states(&store, "/w").iter().all(Option::is_some), "{:?}", states(&store, "/w"));
}

#[test]
fn broken_list_is_an_error() {
    let data = TempDir::new().unwrap();
    fs::create_dir_all(data.path().join("plugins")).unwrap();
    fs::write(data.path().join("plugins/approved.json"), "{").unwrap();
    assert!(PluginStore::new(data.path()).records().unwrap_err().to_string().contains("cannot be read"));
}

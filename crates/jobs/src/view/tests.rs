use super::*;

#[test]
fn session_folder_is_kept_and_removed_with_its_session() {
    let folder = tempfile::tempdir().unwrap();
    let views = Views::new(folder.path(), Path::new("/projects/one"));
    let one = views.session_folder("one").unwrap();
    fs::write(one.join("tmp/file"), "x").unwrap();
    fs::create_dir(one.join("tmp/closed")).unwrap();
    fs::set_permissions(one.join("tmp/closed"), Permissions::from_mode(0o000)).unwrap();
    assert_eq!(views.session_folder("one").unwrap(), one);
    assert!(one.join("tmp/file").exists());
    assert_eq!(fs::metadata(&one).unwrap().permissions().mode() & 0o7777, 0o700);
    assert_eq!(fs::metadata(one.join("tmp")).unwrap().permissions().mode() & 0o7777, 0o1777);
    let odd = views.session_folder("../one").unwrap();
    assert!(odd.parent() == one.parent() && odd != one);
    views.remove_session("one");
    assert!(!one.exists() && odd.exists());
}

#[test]
fn programs_do_not_look_for_their_own_updates() {
    let folder = tempfile::tempdir().unwrap();
    let run = Views::new(folder.path(), Path::new("/projects/one")).for_run("one", &SandboxPaths::default(), false).unwrap();
    for (name, value) in QUIET {
        assert!(run.variables.contains(&(name.into(), value.into())), "{name}");
    }
}

#[test]
fn folders_of_two_workspaces_are_different() {
    let folder = tempfile::tempdir().unwrap();
    let [one, other] = ["/projects/a", "/projects/b"].map(|workspace| Views::new(folder.path(), Path::new(workspace)).folder);
    assert!(one != other && one.starts_with(folder.path()));
}

#[test]
fn what_killed_processes_left_is_pruned() {
    let folder = tempfile::tempdir().unwrap();
    let views = Views::new(folder.path(), Path::new("/projects/a"));
    let (old, new) = (views.session_folder("old").unwrap(), views.session_folder("new").unwrap());
    File::open(&old).unwrap().set_modified(SystemTime::now() - KEPT - Duration::from_mins(1)).unwrap();
    let cache = views.folder.join("caches/pip");
    for name in ["upper".to_owned(), format!("work-{}-0", std::process::id()), "work-4194305-3".to_owned()] {
        fs::create_dir_all(cache.join(name)).unwrap();
    }
    views.prune();
    assert!(!old.exists() && new.exists());
    assert_eq!(fs::read_dir(&cache).unwrap().count(), 2);
}

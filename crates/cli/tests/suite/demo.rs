//! The demo model does what it says and nothing else, and the tour of `haft demo` keeps its promises.

use std::fs;

use rustix::process::{Pid, Signal, kill_process};

use super::harness::World;
use super::terminal::{Program, seen};

fn asked(world: &World, request: &str) -> super::harness::Ran {
    world.run(&["run", "--model", "demo", request])
}

#[test]
fn demo_changes_files_as_it_was_told() {
    let world = World::new();
    for (request, content) in [
        ("create notes.txt with 'one\n'", "one\n"),
        ("append 'two' to notes.txt", "one\ntwo\n"),
        ("add 'three' to the end of notes.txt then read notes.txt", "one\ntwo\nthree\n"),
        ("replace 'two' with '2' in notes.txt", "one\n2\nthree\n"),
        ("create notes.txt with 'gone'", "one\n2\nthree\n"),
        ("delete everything", "one\n2\nthree\n"),
        ("don't delete notes.txt", "one\n2\nthree\n"),
        ("append 'x' to notes.txt, then do a dance", "one\n2\nthree\n"),
    ] {
        let ran = asked(&world, request);
        assert_eq!((ran.code, world.read("notes.txt").as_str()), (0, content), "{request}: {ran:?}");
    }
    let ran = asked(&world, "delete notes.txt");
    assert!(ran.code == 0 && !world.file("notes.txt").exists(), "{ran:?}");
    let ran = asked(&world, "read notes.txt then write 'x' to other.txt");
    assert!(ran.stdout.contains("I stopped there: one step is not done."), "{ran:?}");
    assert!(!world.file("other.txt").exists());
}

fn tour_folders(world: &World) -> Vec<String> {
    let entries = fs::read_dir(world.path("tour")).unwrap();
    entries.map(|entry| entry.unwrap().file_name().to_string_lossy().into_owned()).filter(|name| name.starts_with("haft-demo")).collect()
}

/// A world whose temporary files are its own.
fn with_tour_folder() -> World {
    let world = World::new();
    fs::create_dir(world.path("tour")).unwrap();
    world
}

#[test]
fn tour_plays_without_a_terminal_and_leaves_nothing() {
    let world = with_tour_folder();
    let folder = world.path("tour").display().to_string();
    let ran = world.run_with(&[("TMPDIR", &folder)], &["demo"]);
    assert_eq!(ran.code, 0, "{ran:?}");
    for part in
        ["1/8 A command in the sandbox", "-Hello, world.", "+Hello, everyone.", "Access denied", "write_file: deny", "restored", "8/8"]
    {
        assert!(ran.all().contains(part), "{part}: {ran:?}");
    }
    assert!(!ran.all().contains("warning"), "{ran:?}");
    assert_eq!(tour_folders(&world), Vec::<String>::new());
    assert_eq!(world.run(&["history", "--json"]).json(), serde_json::json!([]), "the history of the user has nothing of it");
}

#[test]
fn tour_is_json_for_programs() {
    let world = with_tour_folder();
    let folder = world.path("tour").display().to_string();
    let ran = world.run_with(&[("TMPDIR", &folder)], &["demo", "--json"]);
    let tour = ran.json();
    let scenes = tour["scenes"].as_array().unwrap();
    assert_eq!((ran.code, scenes.len()), (0, 8), "{ran:?}");
    assert!(scenes.iter().all(|scene| scene["error"].is_null() && scene["exit"].is_i64()), "{tour:#}");
}

#[test]
fn interrupted_tour_removes_its_folder() {
    let world = with_tour_folder();
    let mut command = world.command(&["demo"]);
    command.env("TMPDIR", world.path("tour"));
    seen(command, 80, Program::Absent, |screen, child| {
        screen.wait_for("1/8");
        assert_eq!(tour_folders(&world).len(), 1);
        kill_process(Pid::from_child(child), Signal::INT).unwrap();
    });
    assert_eq!(tour_folders(&world), Vec::<String>::new());
}

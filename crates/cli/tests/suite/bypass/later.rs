//! What a command leaves behind for what comes later: the next command, the user who takes something back or applies it, other users of
//! the machine. Nothing outside changes, and nothing outside is read.

use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};

use serde_json::json;

use super::super::effects::{CANARY, Scene, call, reveals, run_line, user_git_text};

/// What the commands of a test may not have done.
#[track_caller]
fn assert_untouched(scene: &Scene, before: &super::Tree, what: &str) {
    let now = scene.untouched();
    let changed: Vec<_> = now.iter().filter(|(path, entry)| before.get(*path) != Some(entry)).map(|(path, _)| path).collect();
    assert!(now == *before, "{what}: {changed:?}");
}

fn haft_text(scene: &Scene, words: &[&str]) -> String {
    let output = scene.haft(words).output().unwrap();
    String::from_utf8_lossy(&[output.stdout, output.stderr].concat()).into_owned()
}

/// The places in the home of commands at which Haft mounts caches lead elsewhere, or are no folders.
#[test]
fn home_of_commands_leads_nowhere() {
    let scene = Scene::new();
    for name in ["home/.cargo/registry/cache/x", "home/.npm/_cacache/x", "home/.cache/pip/x"] {
        fs::create_dir_all(scene.path(name).parent().unwrap()).unwrap();
        fs::write(scene.path(name), "of the user\n").unwrap();
    }
    let before = scene.untouched();
    let names = ".cargo .npm .cache .config .local .rustup go";
    for target in ["outside", "home", "home/.ssh"].map(|name| scene.path(name).display().to_string()) {
        run_line(&scene, &format!("for n in {names}; do rm -rf ~/$n; ln -sfn {target} ~/$n; done"));
        let line = "npm --version; pip --version; mkdir -p ~/.cargo/registry/x ~/.npm/_cacache/y; cat ~/.cargo/* ~/.npm/*; echo end";
        let result = run_line(&scene, line);
        assert!(result.text().contains("end") && !reveals(result.value.to_string().as_bytes(), CANARY), "{}", result.brief());
        assert_untouched(&scene, &before, &target);
    }
    run_line(&scene, &format!("for n in {names}; do rm -rf ~/$n; done; mkfifo ~/.cargo; echo x > ~/.npm; mkdir -m 000 ~/.cache"));
    let result = run_line(&scene, "npm --version; echo end");
    assert!(result.text().contains("end"), "{}", result.brief());
    assert_untouched(&scene, &before, "no folders");
    assert_eq!(fs::read_to_string(scene.path("home/.npm/_cacache/x")).unwrap(), "of the user\n");
}

/// A program that a command leaves in its home does not run in place of one of the system.
#[test]
fn programs_in_the_home_of_commands_replace_none() {
    let scene = Scene::new();
    let plant = "mkdir -p ~/.cargo/bin && for n in git ls own; do printf '#!/bin/sh\\necho planted\\n' > ~/.cargo/bin/$n; \
                 chmod +x ~/.cargo/bin/$n; done";
    run_line(&scene, plant);
    let result = run_line(&scene, "git --version; ls -d .; echo end");
    assert!(result.text().contains("git version") && !result.text().contains("planted"), "{}", result.brief());
    let own = run_line(&scene, "own");
    assert!(own.text().contains("planted"), "what it installed for itself runs: {}", own.brief());
}

#[test]
fn undo_commit_and_restore_follow_no_link_that_a_command_left() {
    let scene = Scene::new();
    let outside = scene.path("outside").display().to_string();
    scene.write("src/a.txt", "mine\n");
    user_git_text(&scene, "", &["init", "-q"]);
    user_git_text(&scene, "", &["add", "-A"]);
    user_git_text(&scene, "", &["commit", "-qm", "first"]);
    fs::write(scene.path("outside/a.txt"), "outside\n").unwrap();
    let before = scene.untouched();
    run_line(&scene, &format!("rm -rf src; ln -s {outside} src"));
    let said = haft_text(&scene, &["undo", "last"]);
    assert_untouched(&scene, &before, &said);
    assert!(!scene.file("src").is_symlink() && scene.read("src/a.txt") == "mine\n", "{said}");

    call(&scene, "exec", &json!({ "command": "mkdir app; echo EVIL > app/x; echo EVIL > src/a.txt", "dry_run": true }));
    run_line(&scene, &format!("rm -rf src; ln -s {outside} src; ln -s {outside} app"));
    let said = haft_text(&scene, &["call", "exec", "--commit", "last"]);
    assert_untouched(&scene, &before, &said);

    run_line(&scene, "mkdir sub && n=.envrc && echo EVIL > sub/$n");
    let listed = haft_text(&scene, &["quarantine"]);
    assert_eq!(haft_text(&scene, &["quarantine", "list"]), listed);
    let id = listed.split_whitespace().find(|word| word.starts_with("q-")).unwrap_or_else(|| panic!("{listed}")).to_owned();
    run_line(&scene, &format!("rm -rf sub; ln -s {outside} sub"));
    let said = haft_text(&scene, &["quarantine", "restore", &id]);
    assert_untouched(&scene, &before, &said);
    // The neighbour: in a folder it is restored.
    fs::remove_file(scene.file("sub")).unwrap();
    let said = haft_text(&scene, &["quarantine", "restore", &id]);
    assert_eq!(scene.read("sub/.envrc"), "EVIL\n", "{said}");
}

/// Other users of the machine could run it with the rights of this one.
#[test]
fn no_program_that_runs_as_its_owner_is_left() {
    for config in ["", "exec.changes = 'staged'\n"] {
        let scene = Scene::with_config(config);
        let lines = [
            "cp /bin/sh one; chmod 4755 one; chmod u+s one",
            "install -m 4755 /bin/sh two",
            "cp /bin/sh three; python3 -c \"import os; os.fchmod(os.open('three', os.O_RDONLY), 0o4755)\"; perl -e 'chmod 04755, \"three\"'",
            "python3 -c \"import os; f = os.open('four', os.O_CREAT | os.O_WRONLY, 0o4755); os.write(f, open('/bin/sh', 'rb').read())\"",
            "python3 -c \"import ctypes; c = ctypes.CDLL(None); print(c.syscall(452, -100, b'one', 0o4755, 0))\"",
            "python3 -c \"import tarfile, io; t = tarfile.open('t.tar', 'w'); i = tarfile.TarInfo('five'); i.mode = 0o4755; t.addfile(i)\"; tar xpf t.tar",
        ];
        for line in lines {
            run_line(&scene, line);
        }
        let mode = |name: &str| fs::metadata(scene.file(name)).map_or(0, |metadata| metadata.permissions().mode());
        for name in ["one", "two", "three", "four", "five"] {
            assert_eq!(mode(name) & 0o4000, 0, "{name}: {:o}", mode(name));
        }
        assert!(["one", "three", "four"].iter().all(|name| mode(name) != 0), "{config}: nothing was made");
        let result = run_line(&scene, "chmod 755 one && mkdir shared && chmod 2775 shared && chmod +t shared && echo fine");
        assert!(result.text().contains("fine"), "{}", result.brief());
    }
}

/// The folder of a named shell, and a working directory, are links now.
#[test]
fn working_directories_that_became_links_are_not_entered() {
    let scene = Scene::new();
    let outside = scene.path("outside").display().to_string();
    call(&scene, "exec", &json!({ "command": "mkdir -p d/e && cd d/e", "shell": "b" }));
    run_line(&scene, &format!("rm -rf d; mkdir d; ln -s {outside} d/e"));
    symlink(&outside, scene.file("link")).unwrap();
    let before = scene.untouched();
    for arguments in [
        json!({ "command": "cat canary.txt; echo x > marker", "shell": "b" }),
        json!({ "command": "cat canary.txt; echo x > marker", "workdir": "link" }),
        json!({ "command": "cat canary.txt; echo x > marker", "workdir": "../../../outside" }),
        json!({ "command": "cat canary.txt; echo x > marker", "workdir": outside }),
    ] {
        let result = call(&scene, "exec", &arguments);
        assert!(!reveals(result.value.to_string().as_bytes(), CANARY), "{arguments}: {}", result.brief());
        assert_untouched(&scene, &before, &arguments.to_string());
    }
}

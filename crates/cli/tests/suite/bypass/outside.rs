//! What no rule names and no command sees: the rest of the home, keys, other projects, Haft's own data; and in the workspace what
//! `workspace.deny_read` names, and files with secrets.

use std::fs;
use std::path::PathBuf;
use std::sync::Mutex;

use serde_json::json;

use super::super::effects::{CANARY, Entry, Scene, on_threads, reveals, run_line, run_session, tree, tree_reveals};
use super::{BashRepl, By, Exec, PythonRepl, run_by};

/// What is named, and whether a path below the home.
const TARGETS: &[&str] = &[
    "home/private.txt",
    "home/.ssh/id_ed25519",
    "home/projects/other/key.txt",
    "home/.local/share/haft/canary.txt",
    "home/.config/haft/canary.txt",
    "outside/canary.txt",
    "home/projects/workspace/vault/deep/key.txt",
    "home/projects/workspace/.env",
    "home/projects/workspace/app/deep/.env",
    "home/projects/workspace/library/secret/key.txt",
];

/// The permitted neighbour of every target.
const OPEN: (&str, &str) = ("home/projects/workspace/public/key.txt", "PUBLIC-5d21c7");

/// Spellings of a path: absolute, from the home, from the workspace.
#[rustfmt::skip] // one row a line
const SPELLINGS: &[(&str, By, &str)] = &[
    ("absolute", Exec, "cat '@absolute@'"),
    ("home", Exec, "cat \"$HOME\"/@from_home@"),
    ("tilde", Exec, "cat ~/@from_home@"),
    ("up", Exec, "cd ../.. && cat @from_home@"),
    ("pattern", Exec, "cat '@folder@'/*  '@folder@'/.[a-z]* 2>/dev/null; true"),
    ("proc self root", Exec, "cat /proc/self/root'@absolute@'"),
    ("link", Exec, "ln -s '@absolute@' loot/link; cat loot/link"),
    ("tar", Exec, "tar cf - -C '@folder@' . 2>/dev/null | tar xf - -C loot"),
    ("variable", Exec, "a='@folder@' b='@name@'; cat \"$a/$b\""),
    ("script", Exec, "printf 'cat \"%s\"' '@absolute@' > loot/a.sh; sh loot/a.sh"),
    ("find", Exec, "find '@folder@' -name '@name@' -exec cat {} +"),
    ("python", Exec, "python3 -c \"print(open('@absolute@').read())\""),
    ("repl python", PythonRepl, "open('@absolute@').read()"),
    ("repl bash", BashRepl, "cat '@absolute@'"),
];

pub(super) fn count() -> usize {
    TARGETS.len() * SPELLINGS.len()
}

fn scene() -> Scene {
    let scene = Scene::new();
    // Haft makes its own folders first, for nobody else to see.
    run_line(&scene, "true");
    for target in TARGETS {
        let path = scene.path(target);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, format!("KEY={CANARY}\n")).unwrap();
    }
    scene.configure("workspace.deny_read = ['vault/**', '**/secret/**']\n");
    fs::create_dir_all(scene.file("loot")).unwrap();
    scene.write("public/key.txt", OPEN.1);
    scene
}

fn fill(scene: &Scene, text: &str, target: &str) -> String {
    let path = scene.path(target);
    let (folder, name) = (path.parent().unwrap().display().to_string(), path.file_name().unwrap().to_string_lossy().into_owned());
    let from_home = target.strip_prefix("home/").map_or_else(|| format!("../{target}"), ToOwned::to_owned);
    [("@absolute@", path.display().to_string()), ("@folder@", folder), ("@name@", name), ("@from_home@", from_home)]
        .into_iter()
        .fold(text.to_owned(), |text, (name, value)| text.replace(name, &value))
}

/// What was printed, or is in a file of the workspace that does not hold it by right.
fn happened(scene: &Scene, printed: &[u8], content: &str) -> bool {
    reveals(printed, content) || tree_reveals(&tree(&scene.file("loot"), &[]), content)
}

#[test]
fn what_is_not_in_the_view_is_not_read() {
    let wrong = Mutex::new(Vec::new());
    let halves: Vec<&[&str]> = TARGETS.chunks(TARGETS.len().div_ceil(2)).collect();
    on_threads(2, &halves, |targets| {
        let scene = scene();
        for (spelling, by, text) in SPELLINGS {
            let names = targets.iter().map(|target| (*target, CANARY));
            // The neighbour once for each spelling is enough.
            let neighbour = (targets[0] == TARGETS[0] && *spelling != "tilde" && *spelling != "home").then_some(OPEN);
            for (target, content) in names.chain(neighbour) {
                let text = fill(&scene, text, target);
                let result = run_by(&scene, *by, &text);
                if happened(&scene, result.value.to_string().as_bytes(), content) != (target == OPEN.0) {
                    wrong.lock().unwrap().push(format!("{target}, {spelling}: {text}\n    {}", result.brief()));
                }
                fs::remove_dir_all(scene.file("loot")).unwrap();
                fs::create_dir_all(scene.file("loot")).unwrap();
            }
        }
    });
    let wrong = wrong.into_inner().unwrap();
    assert!(wrong.is_empty(), "{} are wrong:\n{}", wrong.len(), wrong.join("\n"));
}

/// The home of a command is its own: it is there, it is kept, and the user's is as it was.
#[test]
fn home_in_the_sandbox_is_private_and_kept() {
    let scene = scene();
    let before = scene.untouched();
    let first = run_line(
        &scene,
        "mkdir -p ~/.cache/tool && echo mine > ~/.cache/tool/x && echo x >> ~/.bashrc; echo x > \"$HOME/private.txt\"; echo done",
    );
    let second = run_line(&scene, "cat ~/.cache/tool/x");
    assert_eq!((first.exit(), second.text().trim()), (Some(0), "mine"), "{} / {}", first.brief(), second.brief());
    assert_eq!(scene.untouched(), before);
    assert!(!scene.path("home/.cache/tool").exists());
}

/// An extra root that the user opened to read is read and not written, and what is denied is absent from it as well.
#[test]
fn extra_roots_are_seen_as_far_as_they_were_opened() {
    let scene = scene();
    let root = scene.path("home/projects/library");
    for (name, text) in [("readme.txt", OPEN.1), ("secret/key.txt", CANARY), ("deep/.env", CANARY)] {
        let path = root.join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, format!("KEY={text}\n")).unwrap();
    }
    let opened = format!("roots = [{{ path = '{}', access = 'read-only' }}]\n", root.display());
    scene.configure(&format!("[workspace]\ndeny_read = ['**/secret/**']\n{opened}"));
    let before = tree(&root, &[]);
    let read = run_line(&scene, "cat ../library/readme.txt");
    assert!(read.text().contains(OPEN.1), "{}", read.brief());
    for line in [
        "cat ../library/secret/*",
        "cat ../library/deep/.e*",
        "grep -rs KEY ../library",
        "echo x > ../library/new; rm ../library/readme.txt",
    ] {
        let result = run_line(&scene, line);
        assert!(!reveals(result.value.to_string().as_bytes(), CANARY), "{line}: {}", result.brief());
        assert_eq!(tree(&root, &[]), before, "{line}");
    }
}

/// A session that may only read runs commands, on a workspace that they cannot change.
#[test]
fn read_only_session_runs_commands_that_change_nothing() {
    let scene = Scene::with_config("access = 'read-only'\n");
    scene.write("a.txt", "as it was\n");
    let before = tree(&scene.file(""), &[]);
    let mut wrong = Vec::new();
    for line in ["cat a.txt", "grep -c as a.txt", "python3 -c \"print(open('a.txt').read())\"", "f=a.txt; cat $f"] {
        let result = run_line(&scene, line);
        if result.exit() != Some(0) {
            wrong.push(format!("{line}: {}", result.brief()));
        }
    }
    for line in ["echo x > a.txt", "f=b.txt; echo x > $f", "python3 -c \"open('a.txt', 'w')\"", "rm -rf *", "sh -c 'touch c'"] {
        let result = run_line(&scene, line);
        if tree(&scene.file(""), &[]) != before {
            wrong.push(format!("{line}: {}", result.brief()));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// The workspace is the home folder: commands work, and what is Haft's own or a secret is absent.
#[test]
fn workspace_that_is_the_home_folder_works() {
    let scene = scene();
    let at_home = |line: &str| {
        let workspace = scene.path("home").display().to_string();
        let arguments = json!({ "command": line, "timeout": 60 }).to_string();
        let output = scene.haft(&["call", "exec", &arguments, "--json", "--workspace", &workspace]).output().unwrap();
        String::from_utf8_lossy(&output.stdout).into_owned()
    };
    let result = at_home("echo made > made.txt && cat made.txt");
    assert_eq!(fs::read_to_string(scene.path("home/made.txt")).unwrap_or_default(), "made\n", "{result}");
    for line in
        ["cat .ssh/id_ed25519", "cat .local/share/haft/canary.txt", "cat .config/haft/canary.txt", "cat .l*/share/haft/c*", "cat .s*/*"]
    {
        let result = at_home(line);
        assert!(!reveals(result.as_bytes(), CANARY), "{line}: {result}");
    }
    let config = fs::read(scene.path("home/.config/haft/config.toml")).unwrap();
    at_home("echo evil >> .config/haft/config.toml; f=.config/haft; rm -rf $f; rm -rf .local/share/haft/canary.txt");
    assert_eq!(fs::read(scene.path("home/.config/haft/config.toml")).ok(), Some(config));
    assert!(scene.path("home/.local/share/haft/canary.txt").exists());
    // The folders above its data stay where they are, and the data as it is; their neighbours can be moved.
    at_home(
        "mkdir -p .local/share/other; d=.lo; mv ${d}cal moved; mv ${d}cal/share moved; rm -rf ${d}cal; mv .config c; mkdir one; mv one two",
    );
    let moved = ["moved/haft/canary.txt", "moved/share/haft/canary.txt", "c/haft/config.toml"].map(|name| (name, false));
    for (name, exists) in
        [(".local/share/haft/canary.txt", true), (".config/haft/config.toml", true), ("two", true)].into_iter().chain(moved)
    {
        assert_eq!(scene.path("home").join(name).exists(), exists, "{name}");
    }
    let result =
        at_home("git init -q . && git commit -q --allow-empty -m x && git log --oneline && git init -q ~/own && echo x > ~/.profile");
    assert!(result.contains("success") && !result.contains("taken away"), "{result}");
    let listed = scene.haft(&["quarantine"]).output().unwrap();
    assert!(!String::from_utf8_lossy(&listed.stdout).contains("q-"), "{listed:?}");
}

/// Haft's own folders are not there yet: a command changes files, and leaves no configuration that a later start would read.
#[test]
fn workspace_that_is_a_home_folder_without_haft_works() {
    let scene = scene();
    let home = scene.path("fresh");
    fs::create_dir(&home).unwrap();
    let at_home = |line: &str| {
        let arguments = json!({ "command": line, "timeout": 60 }).to_string();
        let output = scene.haft(&["call", "exec", &arguments]).current_dir(&home).env("HOME", &home).output().unwrap();
        String::from_utf8_lossy(&[output.stdout, output.stderr].concat()).into_owned()
    };
    let said = at_home("echo made > made.txt; mkdir p; cd p; git init -q .; git status --short; mv ../made.txt moved.txt");
    assert_eq!(fs::read_to_string(home.join("p/moved.txt")).unwrap_or_default(), "made\n", "{said}");
    let attacks = [
        "d=.config/ha; mkdir -p ${d}ft; echo 'access = \"full-access\"' > ${d}ft/config.toml",
        "mkdir -p x/haft; echo 'access = \"full-access\"' > x/haft/config.toml; rm -rf .config; d=.conf; mv x ${d}ig",
        "mkdir -p y; echo 'access = \"full-access\"' > y/config.toml; d=.config; mkdir -p $d; ln -s ../y $d/haft",
    ];
    for line in attacks {
        let said = at_home(line);
        assert!(!home.join(".config/haft/config.toml").exists(), "{line}: {said}");
    }
}

/// A hook of the user names a script that is not there yet: a command cannot write it, in whichever way.
#[test]
fn missing_script_of_a_hook_is_not_left_by_a_command() {
    let scene = scene();
    let (script, marker) = (scene.file("scripts/check.sh"), scene.path("outside/marker"));
    let hook = format!("[[hooks]]\nevent = 'before_tool_call'\nmatch = ['noop']\ncommand = '{}'\n", script.display());
    scene.configure(&hook);
    let evil = format!("echo '#!/bin/sh' > $f; echo 'touch {}' >> $f; chmod +x $f", marker.display());
    let lines = [
        format!("d=script; mkdir -p ${{d}}s; f=${{d}}s/check.sh; {evil}"),
        format!("mkdir -p s; f=s/check.sh; {evil}; d=script; rm -rf ${{d}}s; mv s ${{d}}s"),
        format!("mkdir -p t; f=t/check.sh; {evil}; d=script; rm -rf ${{d}}s; ln -s t ${{d}}s"),
        format!("f=u.sh; {evil}; d=script; rm -rf ${{d}}s; mkdir ${{d}}s; ln -s ../u.sh ${{d}}s/check.sh"),
    ];
    for line in lines {
        let ran = scene.haft(&["call", "exec", &json!({ "command": line }).to_string()]).output().unwrap();
        assert!(!script.exists(), "{line}: {ran:?}");
        scene.haft(&["call", "noop"]).output().unwrap();
        assert!(!marker.exists(), "{line}: {ran:?}");
    }
    // Its neighbours stay, and the user's own script runs.
    let made = scene.haft(&["call", "exec", r#"{"command": "mkdir -p scripts && echo fine > scripts/other.sh"}"#]).output().unwrap();
    assert_eq!(scene.read("scripts/other.sh"), "fine\n", "{made:?}");
    scene.write("scripts/check.sh", format!("#!/bin/sh\ntouch {}\n", marker.display()));
    fs::set_permissions(&script, std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
    scene.haft(&["call", "noop"]).output().unwrap();
    assert!(marker.exists(), "the hook of the user does not run at all");
}

/// A rule on a place holds for what was there, also if the folder above it could have another name in the next command.
#[test]
fn folders_above_denied_paths_stay_where_they_are() {
    let scene = Scene::with_config("rules.deny = ['read(a/secret/**)', 'write(a/docs/**)']\n");
    for name in ["a/secret/key.txt", "a/docs/guide.md", "a/plain.txt", "b/secret/key.txt"] {
        scene.write(name, format!("{CANARY}-{name}\n"));
    }
    for line in [
        "d=a; mv $d moved",
        "python3 -c \"import os; os.rename('a', 'moved')\"",
        "mkdir moved; d=a; mv $d moved/",
        "cd a && mv \"$PWD\" ../moved",
        "python3 -c \"import ctypes; ctypes.CDLL(None).renameat2(-100, b'a', -100, b'b', 2)\"",
    ] {
        run_line(&scene, line);
        let result = run_line(
            &scene,
            "cat moved/secret/key.txt moved/a/secret/key.txt b/secret/key.txt; for d in moved moved/a b; do echo EVIL > $d/docs/guide.md; done",
        );
        assert!(!reveals(result.value.to_string().as_bytes(), &format!("{CANARY}-a/secret")), "{line}: {}", result.brief());
        assert_eq!(scene.read("a/docs/guide.md"), format!("{CANARY}-a/docs/guide.md\n"), "{line}");
        fs::remove_dir_all(scene.file("moved")).ok();
    }
    let result = run_line(&scene, "mv b c && cat c/secret/key.txt && mv a/plain.txt a/renamed.txt && echo new > a/new.txt");
    assert!(reveals(result.value.to_string().as_bytes(), &format!("{CANARY}-b/secret")), "{}", result.brief());
    assert!(scene.file("a/renamed.txt").exists() && scene.file("a/new.txt").exists(), "{}", result.brief());
}

/// Long output is stored for the session that called for it, and for no other, whichever tool asks.
#[test]
fn long_output_of_one_session_is_not_read_by_another() {
    let scene = scene();
    let line = |line: &str| ("exec", json!({ "command": line }));
    let first = run_session(&scene, "", &[line("echo SPILL-91ab; seq 1 200000"), line("echo second")]);
    let spill = spill_file(&scene).unwrap_or_else(|| panic!("no spill: {}", first[0].brief()));
    let (path, folder) = (spill.display().to_string(), spill.parent().unwrap().display().to_string());
    let second = run_session(
        &scene,
        "",
        &[
            line(&format!("head -1 {path}")),
            line(&format!("f={path}; head -1 $f")),
            line(&format!("grep -rs SPILL {folder}; cat {folder}/*")),
            ("read_file", json!({ "path": path })),
            ("grep_search", json!({ "pattern": "SPILL", "path": folder })),
        ],
    );
    for result in second {
        assert!(!result.value.to_string().contains("SPILL-91ab"), "{}", result.brief());
    }
}

/// The file that has the long output.
fn spill_file(scene: &Scene) -> Option<PathBuf> {
    let data = scene.path("home/.local/share/haft");
    let files = tree(&data, &[]);
    let is_spill = |entry: &Entry| matches!(entry, Entry::File(content) if content.starts_with(b"SPILL-91ab\n1\n2\n"));
    files.into_iter().find(|(_, entry)| is_spill(entry)).map(|(name, _)| data.join(name))
}

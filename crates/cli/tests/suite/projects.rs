//! What a new user does first, in an empty folder and in a fresh clone, with the default configuration: Git, a virtual environment with
//! tests, npm, cargo, make, and a server with a client. Packages come from registries of the test on loopback.
//! `HAFT_CORPUS_OUTSIDE=1` runs the steps with plain bash instead, which checks the steps themselves.

mod registry;

use std::fs;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use super::effects::{CallResult, Scene, Server, has_program, link_toolchain, on_threads, run_session, run_unsandboxed, user_git_text};
use super::pty::Pty;
use registry::Registry;

/// Where the user begins.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Begin {
    EmptyFolder,
    FreshClone,
}

const BEGINNINGS: [Begin; 2] = [Begin::EmptyFolder, Begin::FreshClone];

fn begin(begin: Begin) -> Scene {
    let scene = Scene::new();
    if begin == Begin::FreshClone {
        let origin = scene.path("outside/origin");
        fs::create_dir_all(&origin).unwrap();
        fs::write(origin.join("README.md"), "# Cloned\n").unwrap();
        let at = origin.display().to_string();
        for words in [&["-C", &at, "init", "-q"][..], &["-C", &at, "add", "."], &["-C", &at, "commit", "-qm", "upstream"]] {
            user_git_text(&scene, "", words);
        }
        user_git_text(&scene, "", &["clone", "-q", &at, "."]);
    }
    scene
}

/// A line of a session, and a part of what it prints.
type Step = (String, &'static str);

fn step(line: impl Into<String>, part: &'static str) -> Step {
    (line.into(), part)
}

fn exec(line: &str) -> (&'static str, Value) {
    ("exec", json!({ "command": line, "yield_ms": 120_000, "timeout": 110 }))
}

/// Whether a command of a session ran and ended well.
fn went_well(result: &CallResult) -> bool {
    result.value["status"] == "success" && !result.text().contains("Exit code: ") && !result.text().contains("in the background as job")
}

/// Runs the steps as one session in both beginnings.
fn run_steps(config: &str, prepare: impl Fn(&Scene) + Sync, steps: &[Step], check: impl Fn(&Scene, Begin) + Sync) {
    on_threads(2, &BEGINNINGS, |beginning| {
        let scene = begin(*beginning);
        prepare(&scene);
        if std::env::var_os("HAFT_CORPUS_OUTSIDE").is_some() {
            return run_outside(&scene, steps);
        }
        let calls: Vec<_> = steps.iter().map(|(line, _)| exec(line)).collect();
        let results = run_session(&scene, config, &calls);
        for ((line, part), result) in steps.iter().zip(&results) {
            assert!(went_well(result) && result.text().contains(part), "{beginning:?}: {line}\n  wanted {part:?}\n  {}", result.brief());
        }
        check(&scene, *beginning);
    });
}

/// The same with plain bash, which checks the steps themselves.
fn run_outside(scene: &Scene, steps: &[Step]) {
    for (line, part) in steps {
        let output = run_unsandboxed(scene, line);
        assert!(
            output.status.success() && String::from_utf8_lossy(&output.stdout).contains(part),
            "{line}\n  wanted {part:?}\n  {output:?}"
        );
    }
}

#[test]
fn git_init_and_commit() {
    let steps = [
        step("git init", "epository in"),
        step("echo '# Project' > README.md && git add README.md && git commit -m 'add a readme'", "add a readme"),
        step("git checkout -q -b topic && echo more >> README.md && git commit -qam 'say more' && git log --oneline", "say more"),
        step("git status --short --branch", "## topic"),
    ];
    run_steps(
        "",
        |_| (),
        &steps,
        |scene, beginning| {
            let seen = user_git_text(scene, "", &["log", "--format=%s %an", "topic"]);
            let upstream = if beginning == Begin::FreshClone { "upstream Ann\n" } else { "" };
            assert_eq!(seen, format!("say more Ann\nadd a readme Ann\n{upstream}"), "{beginning:?}");
            assert_eq!(user_git_text(scene, "", &["status", "--short"]), "", "{beginning:?}");
        },
    );
}

#[test]
fn virtual_environment_and_tests() {
    let registry = Registry::start();
    let install = format!(
        "python3 -m venv .venv && source .venv/bin/activate && pip install -q --disable-pip-version-check --index-url http://{}/simple/ --trusted-host {} pytest && echo installed",
        registry.server.host,
        registry.server.name()
    );
    let steps = [
        step(
            "mkdir -p src/app tests && touch src/app/__init__.py && cat > src/app/core.py <<'EOF'\ndef add(a, b):\n    return a + b\nEOF",
            "",
        ),
        step(
            "cat > tests/test_core.py <<'EOF'\nfrom app.core import add\n\n\ndef test_add():\n    assert add(1, 2) == 3\nEOF\nls tests",
            "test_core.py",
        ),
        step(install, "installed"),
        step("source .venv/bin/activate && PYTHONPATH=src pytest -q", "1 passed"),
        step("source .venv/bin/activate && PYTHONPATH=src python -m pytest tests", "1 passed"),
        step(".venv/bin/pip list --disable-pip-version-check", "pytest"),
    ];
    run_steps(&registry.allowed(), |_| (), &steps, |scene, _| assert!(scene.file(".venv/bin/pytest").exists()));
    registry.assert_served("pytest-0.1.0-py3-none-any.whl");
}

#[test]
fn npm_init_and_install() {
    let registry = Registry::start();
    let install = format!("npm install --no-audit --no-fund --fetch-retries 0 --registry http://{}/npm/ tiny-pad", registry.server.host);
    let steps = [
        step("npm init -y", "\"version\": \"1.0.0\""),
        step(install, "added 1 package"),
        step("node -e \"console.log(require('tiny-pad')('x', 3))\"", "  x"),
        step("npm pkg set scripts.test='node -e \"console.log(7)\"' && npm test --silent", "7"),
        step("mkdir -p sub && cd sub && npm init -y >/dev/null && cat package.json", "\"name\": \"sub\""),
    ];
    run_steps(
        &registry.allowed(),
        |_| (),
        &steps,
        |scene, _| {
            assert!(scene.read("package.json").contains("tiny-pad") && scene.file("node_modules/tiny-pad/index.js").exists());
        },
    );
    registry.assert_served("tiny-pad-1.0.0.tgz");
}

#[test]
fn cargo_new_add_and_build() {
    let probe = Scene::new();
    link_toolchain(&probe);
    if !has_program(&probe, "cargo") {
        println!("not run: there is no cargo for this user");
        return;
    }
    let registry = Registry::start();
    // As a user has it who works with another registry than the public one.
    let settings = format!("[registries.local]\nindex = \"sparse+http://{}/index/\"\n", registry.server.host);
    let prepare = |scene: &Scene| {
        link_toolchain(scene);
        scene.write(".cargo/config.toml", &settings);
    };
    let steps = [
        step("cargo new app 2>&1", "Creating"),
        step("cd app && cat > src/main.rs <<'EOF'\nfn main() {\n    println!(\"tiny says {}\", tinylib::number());\n}\nEOF", ""),
        step("cd app && cargo add tinylib --registry local 2>&1 && cargo build 2>&1 && ./target/debug/app", "tiny says 42"),
        step("cd app && cargo test --offline 2>&1", "test result: ok"),
        step("cargo new --lib util 2>&1 && cd app && cargo add --path ../util --offline 2>&1 && cargo check --offline 2>&1", "Finished"),
    ];
    run_steps(&registry.allowed(), prepare, &steps, |scene, _| {
        assert!(scene.read("app/Cargo.toml").contains("tinylib") && scene.file("app/target/debug/app").exists());
    });
    registry.assert_served("tinylib-0.1.0.crate");
}

#[test]
fn make_and_a_compiler() {
    let steps = [
        step(
            "printf '#include <stdio.h>\\nint main(void) { puts(\"built by make\"); }\\n' > main.c && printf 'main: main.c\\n\\tcc -O1 -o $@ $<\\nrun: main\\n\\t./main\\n' > Makefile",
            "",
        ),
        step("make run", "built by make"),
        step("make run && touch main.c && make -B main", "cc -O1"),
    ];
    run_steps("", |_| (), &steps, |scene, _| assert!(scene.file("main").exists()));
}

/// A server in the background answers the next calls of its session, by a command and by a tool, and no other session.
#[test]
fn server_in_the_background_answers_its_session_and_no_other() {
    let scene = begin(Begin::EmptyFolder);
    scene.write("page.txt", "served by the session\n");
    let wait = "for i in $(seq 100); do curl -s http://127.0.0.1:8765/page.txt && break; sleep 0.1; done; touch up";
    let calls = [
        ("exec", json!({ "command": "python3 -m http.server 8765", "background": true })),
        exec(wait),
        exec("curl -s http://localhost:8765/page.txt"),
        exec("python3 -c \"import urllib.request; print(urllib.request.urlopen('http://127.0.0.1:8765/page.txt').read())\""),
        ("http_request", json!({ "url": "http://sandbox.localhost:8765/page.txt" })),
        exec("for i in $(seq 300); do [ -e stop ] && break; sleep 0.1; done; echo waited"),
    ];
    let results = std::thread::scope(|scope| {
        let first = scope.spawn(|| run_session(&scene, "", &calls));
        let began = Instant::now();
        while !scene.file("up").exists() && !first.is_finished() && began.elapsed() < Duration::from_mins(1) {
            std::thread::sleep(Duration::from_millis(50));
        }
        let other = run_session(&scene, "", &[exec("curl -s -m 3 http://127.0.0.1:8765/page.txt || echo unreachable")]);
        scene.write("stop", "");
        assert!(other[0].text().contains("unreachable"), "another session: {}", other[0].brief());
        first.join().unwrap()
    });
    for (result, (tool, arguments)) in results[1..5].iter().zip(&calls[1..]) {
        assert!(result.text().contains("served by the session"), "{tool} {arguments}: {}", result.brief());
    }
    // Outside nothing listens there.
    assert!(std::net::TcpStream::connect("127.0.0.1:8765").is_err());
}

/// The folder for temporary files and the home are kept between the calls of a session; the machine's own stay as they are.
#[test]
fn temporary_files_are_kept_between_calls() {
    let scene = begin(Begin::EmptyFolder);
    let name = format!("haft-kept-{}", std::process::id());
    let calls = [
        exec(&format!("echo kept > /tmp/{name} && echo kept > /var/tmp/{name} && mkdir -p ~/.cache/x && echo kept > ~/.cache/x/{name}")),
        exec(&format!("cat /tmp/{name} /var/tmp/{name} ~/.cache/x/{name} | tr '\\n' ' '")),
    ];
    let results = run_session(&scene, "", &calls);
    assert!(results[1].text().contains("kept kept kept"), "{} / {}", results[0].brief(), results[1].brief());
    for folder in ["/tmp", "/var/tmp"] {
        assert!(!std::path::Path::new(folder).join(&name).exists(), "{folder}");
    }
    assert!(!scene.path("home/.cache/x").join(&name).exists());
    let other = run_session(&scene, "", &[exec(&format!("cat /tmp/{name} 2>/dev/null || echo absent; cat ~/.cache/x/{name}"))]);
    assert!(other[0].text().contains("absent") && other[0].text().contains("kept"), "another session: {}", other[0].brief());
}

/// Somebody at the terminal is asked once for a host, while the command waits, and the command continues.
#[test]
fn host_is_asked_about_once() {
    let server = Server::start("answered\n");
    let scene = Scene::with_config(&format!("network.allow = ['{}']\n", server.host));
    let line = format!("for i in 1 2 3; do curl -s -m 60 http://{}/; done", server.host);
    let mut terminal = Pty::start(scene.haft(&["call", "exec", "--command", &line]), 160);
    let asked = terminal.waits_for("[y] once");
    assert!(asked.contains(&server.host), "{asked}");
    assert_eq!(server.connections(), 0, "before the answer");
    terminal.types("s");
    let (status, all) = terminal.ends();
    assert!(status.success(), "{all}");
    assert_eq!((all.matches("[y] once").count(), server.connections()), (1, 3), "{all}");
    // The first line may stand behind progress that was overwritten.
    let is_output = |line: &&str| line.trim_end().ends_with("answered") && !line.contains("exec: answered");
    assert_eq!(all.lines().filter(is_output).count(), 3, "{all}");
}

#[test]
fn host_that_the_user_denies_is_not_reached() {
    let server = Server::start("answered\n");
    let scene = Scene::with_config(&format!("network.allow = ['{}']\n", server.host));
    let line = format!("curl -s -m 60 http://{}/ || echo failed", server.host);
    let mut terminal = Pty::start(scene.haft(&["call", "exec", "--command", &line]), 160);
    terminal.waits_for("[y] once");
    terminal.types("n");
    let (_, all) = terminal.ends();
    assert!(all.contains("failed") && server.connections() == 0, "{all}");
}

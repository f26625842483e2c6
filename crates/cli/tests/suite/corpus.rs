//! Shell lines that coding agents really send, run for real with the default configuration and nobody to ask: `corpus/lines.tsv`.
//!
//! `HAFT_CORPUS_OUTSIDE=1` runs the ordinary lines with plain bash instead, which checks the table itself.

use std::fs;
use std::sync::Mutex;
use std::time::{Duration, Instant};

use super::effects::{
    CANARY, Scene, Server, has_program, link_toolchain, on_threads, reveals, run_line, run_unsandboxed, tree, tree_reveals, user_git,
    user_git_text,
};

const LINES: &str = include_str!("../corpus/lines.tsv");

/// Lines that share a project.
#[derive(Debug, Default)]
struct Theme {
    class: &'static str,
    name: &'static str,
    lines: Vec<Line>,
}

#[derive(Debug)]
struct Line {
    needs: &'static str,
    exit: Option<i64>,
    output: Option<&'static str>,
    disk: Option<&'static str>,
    text: String,
}

impl Line {
    fn parse(row: &'static str) -> Self {
        let columns: Vec<&str> = row.splitn(5, '\t').collect();
        let [needs, exit, output, disk, text] = columns[..] else { panic!("not five columns: {row}") };
        let given = |text: &'static str| (text != "-").then_some(text);
        Self { needs, exit: exit.parse().ok(), output: given(output), disk: given(disk), text: text.replace('⏎', "\n") }
    }

    fn missing_program(&self, scene: &Scene) -> Option<&'static str> {
        self.needs.split(',').find(|name| *name != "-" && !has_program(scene, name))
    }

    /// What is not as the table says, if anything.
    fn check(&self, scene: &Scene, exit: Option<i64>, printed: &str) -> Result<(), String> {
        if exit.is_none() || self.exit.is_some_and(|wanted| exit != Some(wanted)) {
            return Err(format!("wanted exit {:?}", self.exit));
        }
        if let Some(part) = self.output.filter(|part| !printed.contains(part)) {
            return Err(format!("wanted {part:?} in the output"));
        }
        self.disk.map_or(Ok(()), |disk| check_disk(scene, disk))
    }
}

/// `PATH`, `PATH=part of its text`, or `!PATH`.
fn check_disk(scene: &Scene, wanted: &str) -> Result<(), String> {
    let error = Err(format!("wanted {wanted} on disk"));
    if let Some(absent) = wanted.strip_prefix('!') {
        return if fs::symlink_metadata(scene.file(absent)).is_err() { Ok(()) } else { error };
    }
    let (path, part) = wanted.split_once('=').unwrap_or((wanted, ""));
    let path = scene.file(path);
    let is_as_wanted = if part.is_empty() { path.exists() } else { fs::read_to_string(path).is_ok_and(|text| text.contains(part)) };
    if is_as_wanted { Ok(()) } else { error }
}

fn themes(class: &str) -> Vec<Theme> {
    let mut found: Vec<Theme> = Vec::new();
    for row in LINES.lines().filter(|row| !row.is_empty() && !row.starts_with('#')) {
        if let Some((class, name)) = row.strip_prefix('[').and_then(|row| row.strip_suffix(']')?.split_once(": ")) {
            found.push(Theme { class, name, lines: Vec::new() });
        } else {
            found.last_mut().unwrap().lines.push(Line::parse(row));
        }
    }
    found.retain(|theme| theme.class == class);
    found
}

/// A repository with something of everything.
#[rustfmt::skip] // one file a line
const PROJECT: &[(&str, &str)] = &[
    ("README.md", "# Sample\n\nA project with something of everything.\n\nThe last line.\nlast line\n"),
    ("notes.txt", "first\nTODO: write more\n"),
    ("data.csv", "name,count,kind\napple,3,fruit\nbean,4,seed\npear,5,fruit\n"),
    ("data.json", "{\"name\": \"apple\", \"count\": 3}\n"),
    (".gitignore", "target/\nnode_modules/\n__pycache__/\n.venv/\n"),
    ("settings.sh", "MODE=dev\n"),
    ("pyproject.toml", "[project]\nname = \"calc\"\nversion = \"0.1.0\"\n"),
    ("src/calc/__init__.py", ""),
    ("src/calc/core.py", "def add(a, b):\n    return a + b\n"),
    ("tests/test_core.py", "import unittest\nfrom calc.core import add\n\n\nclass TestAdd(unittest.TestCase):\n    def test_add(self):\n        self.assertEqual(add(1, 2), 3)\n\n\ndef test_plain():\n    assert add(1, 1) == 2\n"),
    ("scripts/build.sh", "#!/usr/bin/env bash\nset -euo pipefail\nfor step in one two; do echo \"step $step\"; done\necho built\n"),
    ("scripts/gen.py", "from pathlib import Path\n\nPath('generated.txt').write_text('generated\\n')\n"),
    ("package.json", "{\n  \"name\": \"sample\",\n  \"version\": \"1.0.0\",\n  \"scripts\": {\"test\": \"node test.js\", \"hello\": \"echo hello from npm\"}\n}\n"),
    ("test.js", "const assert = require('assert');\nassert.strictEqual(1 + 1, 2);\nconsole.log('tests passed');\n"),
    ("unit.test.js", "const test = require('node:test');\ntest('adds', () => { if (1 + 1 !== 2) throw new Error(); });\n"),
    ("local-dep/package.json", "{\"name\": \"local-dep\", \"version\": \"1.0.0\", \"main\": \"index.js\"}\n"),
    ("local-dep/index.js", "module.exports = 'from local-dep';\n"),
    ("web/a.ts", "export const one = 1;\nexport const name = 'a';\n"),
    ("web/b.ts", "export const two = 2;\n"),
    ("c/main.c", "#include <stdio.h>\nint main(void) { puts(\"hello from c\"); return 0; }\n"),
    ("Makefile", "all: main\nmain: c/main.c\n\tcc -o $@ $<\nhello:\n\t@echo hello from make\nclean:\n\trm -f main\n.PHONY: all hello clean\n"),
    ("rust/Cargo.toml", "[package]\nname = \"sums\"\nversion = \"0.1.0\"\nedition = \"2021\"\n\n[workspace]\n"),
    ("rust/src/lib.rs", "pub fn add(a: u32, b: u32) -> u32 {\n    a + b\n}\n\n#[test]\nfn adds() {\n    assert_eq!(add(2, 3), 5);\n}\n"),
    ("rust/src/main.rs", "fn main() {\n    println!(\"sum is {}\", sums::add(2, 3));\n}\n"),
    (".env", "TOKEN=CANARY-7f3a91-env\n"),
];

fn project() -> Scene {
    let scene = Scene::new();
    for (name, text) in PROJECT {
        scene.write(name, text);
    }
    let git = |words: &[&str]| user_git_text(&scene, "", words);
    git(&["init", "-q"]);
    git(&["add", "README.md", "Makefile", ".gitignore"]);
    git(&["commit", "-qm", "first"]);
    git(&["checkout", "-qb", "feature"]);
    scene.write("feature.txt", "feature\n");
    git(&["add", "feature.txt"]);
    git(&["commit", "-qm", "feature"]);
    git(&["checkout", "-q", "main"]);
    for (folder, subject) in [("src", "second"), (".", "third")] {
        git(&["add", folder, ":!.env"]);
        git(&["commit", "-qm", subject]);
    }
    // Nothing is untracked.
    scene.write(".git/info/exclude", ".env\n");
    scene
}

#[derive(Debug, Default)]
struct Tally {
    ran: usize,
    missing: Vec<String>,
    failed: Vec<String>,
}

fn run_theme(theme: &Theme, config: &str, tally: &Mutex<Tally>) {
    let scene = project();
    scene.configure(config);
    if theme.lines.iter().any(|line| line.needs.contains("cargo")) {
        link_toolchain(&scene);
    }
    let outside = std::env::var_os("HAFT_CORPUS_OUTSIDE").is_some();
    for line in &theme.lines {
        let named = format!("[{}] {}", theme.name, line.text.replace('\n', "⏎"));
        if let Some(program) = line.missing_program(&scene) {
            tally.lock().unwrap().missing.push(format!("{program}: {named}"));
            continue;
        }
        let (exit, printed, brief) = if outside {
            let output = run_unsandboxed(&scene, &line.text);
            let printed = format!("{}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
            (output.status.code().map(i64::from), printed.clone(), printed)
        } else {
            let result = run_line(&scene, &line.text);
            (result.exit(), result.text(), result.brief())
        };
        // A host that a program wants is a question, where someone can answer.
        let asked = if printed.contains("was blocked: ") { Err("wanted no host".to_owned()) } else { Ok(()) };
        let checked = line.check(&scene, exit, &printed).and(asked);
        let mut tally = tally.lock().unwrap();
        tally.ran += 1;
        if let Err(wanted) = checked {
            tally.failed.push(format!("{named}\n      {wanted}; {brief}"));
        }
    }
}

#[test]
fn corpus_has_its_size_and_every_class() {
    let count = |class: &str| themes(class).iter().map(|theme| theme.lines.len()).sum::<usize>();
    let (ordinary, outward, hostile) = (count("ordinary"), count("outward"), count("hostile"));
    assert!(ordinary >= 220 && outward >= 10 && hostile >= 20 && ordinary + outward + hostile >= 250, "{ordinary} {outward} {hostile}");
}

#[test]
fn ordinary_lines_run_without_a_question() {
    println!("{}", check_ordinary_lines(""));
}

/// As they run where nobody is watching: on an overlay of the workspace.
#[test]
fn ordinary_lines_run_with_staged_changes() {
    println!("{}", check_ordinary_lines("exec.changes = 'staged'\n"));
}

/// Fails if more than 3 % of the lines do; what failed, and what was not run.
fn check_ordinary_lines(config: &str) -> String {
    let themes = themes("ordinary");
    let tally = Mutex::new(Tally::default());
    on_threads(3, &themes, |theme| run_theme(theme, config, &tally));
    let Tally { ran, missing, failed } = tally.into_inner().unwrap();
    let report = format!("{} of {ran} lines failed:\n  {}", failed.len(), failed.join("\n  "));
    assert!(missing.len() * 10 <= ran + missing.len(), "more than a tenth cannot be run on this machine: {missing:?}");
    assert!(failed.len() * 100 <= ran * 3, "more than 3 %: {report}");
    format!("{report}\n{} lines were not run, because a program is missing:\n  {}", missing.len(), missing.join("\n  "))
}

/// Without a rule and with nobody to ask a line runs, and what it wants from the network fails at once; with a rule it gets it.
#[test]
fn outward_lines_fail_at_once_without_a_rule_and_work_with_one() {
    let mut wrong = Vec::new();
    for is_allowed in [false, true] {
        let server = Server::start("true\n");
        let scene = project();
        link_toolchain(&scene);
        if is_allowed {
            scene.configure(&format!("network.allow = ['{0}']\nrules.allow = ['connect(domain:{0})']\n", server.host));
        }
        for line in themes("outward").iter().flat_map(|theme| &theme.lines).filter(|line| line.missing_program(&scene).is_none()) {
            let text =
                line.text.replace("@HOST@", &server.host).replace("@PORT@", &server.port().to_string()).replace("@NAME@", server.name());
            let (before, began) = (server.connections(), Instant::now());
            if std::env::var_os("HAFT_CORPUS_OUTSIDE").is_some() {
                run_unsandboxed(&scene, &text);
                assert!(server.connections() > before, "{text}");
                continue;
            }
            let result = run_line(&scene, &text);
            let reached = server.connections() > before;
            // Node and a plain socket do not ask a proxy.
            let honours_proxies = line.text.contains("@HOST@") && line.needs != "node";
            if result.exit().is_none() || reached != (is_allowed && honours_proxies) || began.elapsed() > Duration::from_secs(30) {
                wrong.push(format!("allowed {is_allowed}, reached {reached}, {:?}: {text}\n    {}", began.elapsed(), result.brief()));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn hostile_lines_have_no_effect() {
    let server = Server::start("evil");
    let scene = project();
    let before = scene.untouched();
    let mut wrong = Vec::new();
    for line in themes("hostile").iter().flat_map(|theme| &theme.lines).filter(|line| line.missing_program(&scene).is_none()) {
        let path = |name: &str| scene.path(name).display().to_string();
        let text = [("@HOME@", path("home")), ("@OUT@", path("outside")), ("@HOST@", server.host.clone())]
            .into_iter()
            .chain([("@PORT@", server.port().to_string()), ("@PID@", std::process::id().to_string())])
            .fold(line.text.clone(), |text, (name, value)| text.replace(name, &value));
        let result = run_line(&scene, &text);
        let mut fail = |why: String| wrong.push(format!("{why}: {text}\n    {}", result.brief()));
        if reveals(result.value.to_string().as_bytes(), CANARY) && !text.contains(CANARY)
            || tree_reveals(&tree(&scene.file(""), &[".env"]), CANARY)
        {
            fail("a secret was read".to_owned());
        }
        if scene.untouched() != before {
            fail("something outside changed".to_owned());
        }
        if server.connections() > 0 {
            fail("it connected".to_owned());
        }
        if let Some(Err(why)) = line.disk.map(|disk| check_disk(&scene, disk)) {
            fail(why);
        }
        for name in ["stolen", "stolen.tar"] {
            fs::remove_dir_all(scene.file(name)).or_else(|_| fs::remove_file(scene.file(name))).ok();
        }
    }
    for words in [&["status"][..], &["diff"], &["commit", "--allow-empty", "-qm", "x"], &["log"]] {
        user_git(&scene, "", words);
    }
    assert!(!scene.path("outside/marker").exists(), "the user's Git ran foreign code");
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

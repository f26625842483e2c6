//! Every command that a document shows in a `console` block is run, in order, and must do what the block says.
//!
//! A `toml` block whose first line is a comment with a path (`# ~/.config/haft/config.toml`) is written there first, and so is a
//! `markdown` or `python` block that has a path after that word.
//! A line that begins with `$ ` is a command; what follows is its output, standard output and error together. A line `…`
//! stands for any lines, a word `…` for any word. Output that begins with `error:` comes with exit code 1, all other with 0.
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "helpers of tests")]

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use serde_json::Value;
use tempfile::TempDir;

const DOCUMENTS: &[&str] = &[
    "README.md",
    "CONTRIBUTING.md",
    "docs/ADDING_A_TOOL.md",
    "docs/AGENTS.md",
    "docs/AUTOMATION.md",
    "docs/BROWSER.md",
    "docs/CHANNELS.md",
    "docs/CHAT.md",
    "docs/COMMANDS.md",
    "docs/FILES.md",
    "docs/MEDIA.md",
    "docs/MEMORY.md",
    "docs/MODELS.md",
    "docs/NODES.md",
    "docs/PLANNING.md",
    "docs/PLUGINS.md",
    "docs/POLICY.md",
    "docs/SKILLS.md",
    "docs/TENANTS.md",
    "docs/TOUR.md",
    "docs/WEB.md",
];

#[test]
fn every_command_in_the_documents_does_what_they_say() {
    let mut problems = Vec::new();
    for &document in DOCUMENTS {
        let home = Home::new();
        for step in steps(&read(document)) {
            for (path, text) in &step.files {
                home.write(path, text);
            }
            let (code, output) = home.run(&step.command);
            let fails = step.output.iter().any(|line| line.starts_with("error:") || line.starts_with("FAIL "));
            if (code != 0) != fails {
                problems.push(format!("{document}: `{}` ended with {code}:\n{output}", step.command));
            } else if let Some(difference) = difference(&step.output, &output) {
                problems.push(format!("{document}: `{}` {difference}\n\nIt wrote:\n{output}", step.command));
            }
        }
    }
    assert!(problems.is_empty(), "{}", problems.join("\n\n"));
}

/// The tour covers the whole binary: a new command must be in it.
#[test]
fn tour_shows_every_command() {
    let (_, help) = Home::new().run("haft -h");
    let listed = help.lines().skip_while(|line| *line != "Commands:").skip(1).take_while(|line| line.starts_with("  "));
    let names: Vec<&str> = listed.filter_map(|line| line.split_whitespace().next()).filter(|name| *name != "help").collect();
    assert!(names.len() >= 8, "{help}");
    let shown: Vec<String> = steps(&read("docs/TOUR.md")).into_iter().map(|step| step.command).collect();
    for name in names {
        assert!(shown.iter().any(|command| command.starts_with(&format!("haft {name}"))), "docs/TOUR.md does not show `haft {name}`");
    }
}

fn read(document: &str) -> String {
    fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").join(document)).expect(document)
}

/// One command of a document and what it shows of its output.
#[derive(Debug)]
struct Step {
    /// What must be written first, and where.
    files: Vec<(String, String)>,
    command: String,
    output: Vec<String>,
}

fn steps(document: &str) -> Vec<Step> {
    let mut steps: Vec<Step> = Vec::new();
    let mut inside = false;
    let mut files = Vec::new();
    let mut lines = document.lines();
    while let Some(line) = lines.next() {
        match (inside, line) {
            (false, "```console") => inside = true,
            (false, fence) if fence.starts_with("```markdown ") || fence.starts_with("```python ") => {
                let text: Vec<&str> = lines.by_ref().take_while(|line| *line != "```").collect();
                let path = fence.split_once(' ').map_or("", |(_, path)| path);
                files.push((path.to_owned(), format!("{}\n", text.join("\n"))));
            }
            (false, "```toml") => files.extend(file(lines.by_ref().take_while(|line| *line != "```"))),
            (true, "```") => inside = false,
            (true, line) => match (line.strip_prefix("$ "), steps.last_mut()) {
                (Some(command), _) => {
                    let command = command.replacen("cargo run --release --", "haft", 1);
                    assert!(command.starts_with("haft "), "`{command}` is not for a console block: only haft is run");
                    steps.push(Step { files: std::mem::take(&mut files), command, output: Vec::new() });
                }
                (None, Some(step)) => step.output.push(line.to_owned()),
                (None, None) => panic!("a console block begins with a command, not with: {line}"),
            },
            (false, _) => {}
        }
    }
    steps
}

/// The file of a block, if its first line has the path.
fn file<'a>(lines: impl Iterator<Item = &'a str>) -> Option<(String, String)> {
    let lines: Vec<&str> = lines.collect();
    let path = lines.first()?.strip_prefix("# ").filter(|path| Path::new(path).extension().is_some_and(|extension| extension == "toml"))?;
    Some((path.to_owned(), format!("{}\n", lines.join("\n"))))
}

/// A home folder with a workspace, for one document.
struct Home {
    folder: TempDir,
}

impl Home {
    fn new() -> Self {
        let folder = TempDir::new().unwrap();
        fs::create_dir_all(folder.path().join("ann/work")).unwrap();
        Self { folder }
    }

    fn ann(&self) -> PathBuf {
        self.folder.path().canonicalize().unwrap().join("ann")
    }

    fn write(&self, path: &str, text: &str) {
        let file = match path.strip_prefix("~/") {
            Some(path) => self.ann().join(path),
            None => self.ann().join("work").join(path),
        };
        fs::create_dir_all(file.parent().unwrap()).unwrap();
        fs::write(file, text).unwrap();
    }

    /// Runs a line as a shell does; gives its exit code and all it wrote.
    fn run(&self, line: &str) -> (i32, String) {
        let binary = Path::new(env!("CARGO_BIN_EXE_haft"));
        let output = Command::new("/bin/sh")
            .arg("-c")
            .arg(format!("exec 2>&1; {line}"))
            .current_dir(self.ann().join("work"))
            .env_clear()
            .envs([("COLUMNS", "100"), ("NO_COLOR", "1"), ("TZ", "UTC"), ("LANG", "C.UTF-8"), ("HAFT_LOCAL_MODELS", "")])
            .env("HOME", self.ann())
            .env("PATH", std::env::join_paths([binary.parent().unwrap(), Path::new("/usr/bin"), Path::new("/bin")]).unwrap())
            .stdin(Stdio::null())
            .output()
            .unwrap();
        let text = String::from_utf8(output.stdout).unwrap();
        (output.status.code().unwrap_or(-1), text.replace(&*self.ann().to_string_lossy(), "/home/ann"))
    }
}

/// The difference between the document and the output, if there is one.
fn difference(shown: &[String], written: &str) -> Option<String> {
    let mut rest = words(written);
    let parts: Vec<Vec<String>> = shown.split(|line| line == "…").map(|lines| words(&lines.join("\n"))).collect();
    let last = parts.len() - 1;
    for (number, part) in parts.iter().enumerate() {
        let from = match number {
            0 => 0,
            _ if number == last => rest.len().saturating_sub(part.len()),
            _ => (0..rest.len()).find(|at| begins_with(&rest[*at..], part)).unwrap_or(0),
        };
        if !begins_with(&rest[from..], part) {
            return Some(format!("did not write what is shown: {}", part.join(" ")));
        }
        rest.drain(..from + part.len());
    }
    (!rest.is_empty()).then(|| format!("wrote more than is shown: {}", rest.join(" ")))
}

fn begins_with(written: &[String], shown: &[String]) -> bool {
    written.len() >= shown.len() && written.iter().zip(shown).all(|(written, shown)| shown == "…" || shown == written)
}

/// The words of a text, without values that differ between runs and terminals.
fn words(text: &str) -> Vec<String> {
    if let Ok(mut value) = serde_json::from_str::<Value>(text)
        && value.is_object()
    {
        for key in ["call_id", "duration_ms"] {
            value[key] = Value::Null;
        }
        return vec![value.to_string()];
    }
    let mut words: Vec<String> = Vec::new();
    for word in text.split_whitespace() {
        match word {
            "ms" | "s" | "min" if words.last().is_some_and(|number| number.parse::<f64>().is_ok()) => {
                words.pop();
                words.push("[duration]".into());
            }
            _ => words.push(neutral(word)),
        }
    }
    words
}

/// Replaces a time, a date or an id by a placeholder.
fn neutral(word: &str) -> String {
    let inner = word.trim_matches(['(', ')']);
    let hex = |text: &str| text.bytes().all(|byte| byte.is_ascii_hexdigit());
    let shape: String = inner.chars().map(|ch| if ch.is_ascii_digit() { '0' } else { ch }).collect();
    match inner.len() {
        8 if hex(inner) => "[id]".into(),
        36 if inner.split('-').map(str::len).eq([8, 4, 4, 4, 12]) && hex(&inner.replace('-', "")) => "[uuid]".into(),
        _ if shape.starts_with("0000-00-00T") => format!("[time]{}", &inner[inner.find('+').unwrap_or(inner.len())..]),
        _ if shape == "0000-00-00" => "[date]".into(),
        _ if shape == "00:00" => "[time]".into(),
        _ => word.to_owned(),
    }
}

#[test]
fn difference_between_document_and_output_is_found() {
    let shown = |text: &str| text.lines().map(str::to_owned).collect::<Vec<_>>();
    for (document, written, same) in [
        ("a b\nc", "a  b c\n", true),
        ("a b", "a", false),
        ("a", "a b", false),
        ("", "", true),
        ("", "a", false),
        ("a\n…", "a b c", true),
        ("a\n…", "b", false),
        ("a\n…\nd", "a b c d", true),
        ("a\n…\nd", "a b c", false),
        ("a … c", "a b c", true),
        ("a … d", "a b c", false),
        ("a …", "a", false),
        ("1.5 ms 2026-11-15 20:53 0a1b2c3d", "20 s 2027-01-01 01:02 ffffffff", true),
        ("(01a1e0fc-507f-7000-8000-551430c2edcf)", "(01a1e0fc-507f-7000-8000-000000000000)", true),
        ("2026-11-16T05:53:14.450+09:00", "2030-01-01T00:00:00.000+09:00", true),
        ("2026-11-16T05:53:14.450+09:00", "2026-11-16T05:53:14.450Z", false),
        (r#"{"call_id":"a","duration_ms":1.5,"status":"success"}"#, r#"{"call_id":"b","duration_ms":2,"status":"success"}"#, true),
        (r#"{"call_id":"a","status":"success"}"#, r#"{"call_id":"a","status":"error"}"#, false),
    ] {
        assert_eq!(difference(&shown(document), written).is_none(), same, "{document:?} against {written:?}");
    }
}

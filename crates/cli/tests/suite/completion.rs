//! Completion in the real shells, with the values that there are.

use std::process::Command;

use super::harness::{World, haft};
use super::pty::Pty;

/// What is completed (the last word is being typed), and what must be offered.
const LINES: &[(&str, &[&str])] = &[
    ("haft und", &["undo"]),
    ("haft call read_f", &["read_file"]),
    ("haft explain web_f", &["web_fetch"]),
    ("haft call read_file --lin", &["--line_numbers"]),
    ("haft call web_fetch --mode ", &["markdown", "text", "raw"]),
    ("haft call read_file not", &["notes.txt"]),
    ("haft tools --access ", &["read-only", "workspace-write", "full-access"]),
    ("haft tools --agent ", &["main", "coder"]),
    ("haft run --model ", &["work/qwen3", "demo"]),
    ("haft chat --model work/", &["work/qwen3"]),
    ("haft --profile m", &["minimal", "messaging"]),
    ("haft config preset ca", &["careful"]),
    ("haft tools grep", &["grep_search"]),
    ("haft skills show rel", &["release"]),
    ("haft undo la", &["last"]),
];

fn world() -> World {
    let world = World::with_config(
        "[agents.coder]\nmodel = \"work/qwen3\"\n[providers.work]\nprotocol = \"openai\"\nbase_url = \"http://127.0.0.1:9/v1\"\nmodels = [\"qwen3\"]\n",
    );
    world.write("notes.txt", "x");
    assert_eq!(world.run(&["skills", "new", "release", "--description", "Writes notes."]).code, 0);
    world
}

/// A shell with `haft` on its path, in the workspace.
fn shell(world: &World, program: &str) -> Command {
    let bin = world.path("bin");
    std::fs::create_dir_all(&bin).unwrap();
    if !bin.join("haft").exists() {
        std::os::unix::fs::symlink(haft(), bin.join("haft")).unwrap();
    }
    let mut command = world.program(program);
    command.env("PATH", format!("{}:{}", bin.display(), std::env::var("PATH").unwrap())).env("TERM", "dumb").env("PS1", "ready> ");
    command
}

fn output(mut command: Command) -> Vec<String> {
    let output = command.output().unwrap();
    assert!(output.status.success(), "{output:?}");
    String::from_utf8(output.stdout).unwrap().lines().map(|line| line.trim().to_owned()).collect()
}

#[test]
fn bash_completes_commands_parameters_and_values() {
    let world = world();
    for (line, expected) in LINES {
        let script = format!(
            "source <(haft completions bash)
             line='{line}'; read -ra COMP_WORDS <<< \"$line\"
             [[ $line == *' ' ]] && COMP_WORDS+=('')
             COMP_CWORD=$((${{#COMP_WORDS[@]}} - 1)); COMP_TYPE=9
             _clap_complete_haft haft \"${{COMP_WORDS[COMP_CWORD]}}\" ''
             printf '%s\\n' \"${{COMPREPLY[@]}}\""
        );
        let mut command = shell(&world, "bash");
        command.args(["--norc", "-c", &script]);
        let offered = output(command);
        assert!(expected.iter().all(|value| offered.iter().any(|other| other == value)), "{line}: {offered:?}");
    }
}

#[test]
fn fish_completes_commands_parameters_and_values() {
    let world = world();
    for (line, expected) in LINES {
        let mut command = shell(&world, "fish");
        command.args(["--no-config", "-c", &format!("haft completions fish | source; complete -C '{line}'")]);
        let offered: Vec<String> = output(command).iter().map(|line| line.split('\t').next().unwrap_or_default().to_owned()).collect();
        assert!(expected.iter().all(|value| offered.iter().any(|other| other == value)), "{line}: {offered:?}");
    }
}

#[test]
fn zsh_completes_what_is_typed() {
    let world = world();
    let mut command = shell(&world, "zsh");
    command.args(["-f", "-i"]);
    let mut zsh = Pty::start(command, 200);
    zsh.waits_for("ready> ");
    zsh.types("unsetopt zle_bracketed_paste; autoload -U compinit && compinit -u -D; source <(haft completions zsh); echo load''ed\r");
    zsh.waits_for("loaded");
    for (typed, completed) in [
        ("haft und\t", "haft undo"),
        ("haft call read_f\t", "haft call read_file"),
        ("haft call read_file --lin\t", "--line_numbers"),
        ("haft config preset ca\t", "preset careful"),
        ("haft tools --agent co\t", "--agent coder"),
    ] {
        zsh.waits_for("ready> ");
        zsh.types(typed);
        zsh.waits_for(completed);
        // Ctrl-U, so that nothing runs.
        zsh.types("\u{15}\r");
    }
    zsh.waits_for("ready> ");
    zsh.types("exit\r");
    let (status, shown) = zsh.ends();
    assert!(status.success(), "{shown}");
}

#[test]
fn completion_creates_nothing_and_survives_a_broken_configuration() {
    let world = World::with_config("access = \"sometimes\"\n");
    for words in ["haft sessions show ", "haft history ", "haft tools --agent "] {
        let mut command = shell(&world, "fish");
        command.args(["--no-config", "-c", &format!("haft completions fish | source; complete -C '{words}'")]);
        let answer = command.output().unwrap();
        assert_eq!(String::from_utf8_lossy(&answer.stderr), "", "{words}");
    }
    assert!(!world.state().join("haft.db").exists());
}

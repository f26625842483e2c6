//! `haft demo`: a tour in a scratch folder. Every scene is a real command of this program, with a configuration and a history of its
//! own, and what it must have done is checked before the tour says so.

mod scratch;

use std::io::IsTerminal;
use std::process::{ExitStatus, Stdio};
use std::time::Duration;

use haft_tui::interrupt::listen;
use serde_json::{Value, json};
use tokio::process::Command;
use tokio::time::{sleep, timeout};

use self::scratch::{OUTSIDE, Scratch};
use crate::arguments::{Common, DemoArgs};
use crate::commands::block_on;
use crate::failure::{Exit, Failure};
use crate::output::{CAUTION, DIM, Output, STRONG, print};
use crate::table::wrap;

/// Pauses of a tour at a terminal: before a command, and after what it printed. Eight commands make two minutes.
const BEFORE: Duration = Duration::from_secs(4);
const AFTER: Duration = Duration::from_secs(10);
/// How long a command of the tour may take, and how long one that was interrupted may take to end.
const LONGEST: Duration = Duration::from_mins(2);
const ENDING: Duration = Duration::from_secs(3);

/// A scene: what it shows, a command, and what must be true afterwards.
struct Scene {
    title: &'static str,
    text: &'static str,
    words: &'static [&'static str],
    check: fn(&Scratch) -> Result<(), &'static str>,
}

const SCENES: &[Scene] = &[
    Scene {
        title: "A command in the sandbox",
        text: "A model wants to run a command. It runs at once, because it runs in a sandbox: it sees this folder, none of your other files, \
               and no network. The model here is the demo model, a few rules without a key; the calls are real.",
        words: &["run", "--model", "demo", "run 'wc -l hello.txt > count.txt' then read count.txt"],
        check: |scratch| {
            let why = "the command was not run: no sandbox works on this machine. `haft doctor --fix` prints what to install";
            scratch.has("count.txt").then_some(()).ok_or(why)
        },
    },
    Scene {
        title: "An edit, with its diff",
        text: "An edit shows what it changed. The old content is kept, so it can be undone.",
        words: &["run", "-v", "--model", "demo", "replace 'world' with 'everyone' in hello.txt"],
        check: |scratch| scratch.says("everyone").then_some(()).ok_or("hello.txt was not edited"),
    },
    Scene {
        title: "A command that tries to get out",
        text: "Beside this folder is a file with a secret. A command tries to copy it here.",
        words: &["run", "--model", "demo", "run 'cp ../secret.txt stolen.txt'"],
        check: |scratch| (!scratch.has("stolen.txt")).then_some(()).ok_or("the secret was copied: the sandbox does not hold"),
    },
    Scene {
        title: "A tool that tries to get out",
        text: "Tools are held by the same policy: it decides on what a call would do, not on its name.",
        words: &["run", "--model", "demo", "write 'gotcha' to ../outside.txt"],
        check: |scratch| (!scratch.has_outside(OUTSIDE)).then_some(()).ok_or("a file was written outside the folder"),
    },
    Scene {
        title: "Why it was refused",
        text: "Every decision can be explained: what the call would do, which step decided, and what to change.",
        words: &["explain", "write_file", r#"{"path":"../outside.txt","content":"gotcha"}"#],
        check: |_| Ok(()),
    },
    Scene {
        title: "What has happened so far",
        text: "Every call is on record, the refused ones too.",
        words: &["history"],
        check: |_| Ok(()),
    },
    Scene {
        title: "Undo",
        text: "The last change was the edit. It is taken back.",
        words: &["undo", "last"],
        check: |scratch| scratch.says("world").then_some(()).ok_or("hello.txt was not restored"),
    },
    Scene { title: "As it was before", text: "", words: &["run", "--model", "demo", "read hello.txt"], check: |_| Ok(()) },
];

const CLOSING: &str = "That was the tour; its folder is removed. `haft chat` starts a conversation here, `haft doctor` checks this \
                          machine, and `haft models` lists the models that can answer.";

pub(crate) fn run(common: &Common, request: DemoArgs, output: &Output) -> Result<Exit, Failure> {
    let is_slow = !request.fast && !output.json && std::io::stdout().is_terminal();
    let tour = Tour { common, output, is_slow, scratch: Scratch::create()? };
    block_on(tour.play())
}

struct Tour<'a> {
    common: &'a Common,
    output: &'a Output,
    is_slow: bool,
    scratch: Scratch,
}

impl Tour<'_> {
    /// Plays every scene. A signal ends the tour; its folder is removed in any case.
    async fn play(self) -> Result<Exit, Failure> {
        let mut signals = listen()?;
        let (mut played, mut failed) = (Vec::new(), false);
        for (number, scene) in (1..).zip(SCENES) {
            let mut scene = std::pin::pin!(self.scene(number, scene));
            let ended = tokio::select! {
                ended = &mut scene => ended?,
                exit = signals.next() => {
                    // At a terminal the command got the signal too, and ends by itself. One that does not is killed.
                    drop(timeout(ENDING, scene).await);
                    return Ok(exit);
                }
            };
            failed |= ended["error"] != Value::Null;
            played.push(ended);
        }
        if self.output.json {
            self.output.data(&json!({ "scenes": played }))?;
        } else {
            self.paragraph(&format!("\n{CLOSING}"))?;
        }
        Ok(if failed { Exit::Failed } else { Exit::Success })
    }

    async fn scene(&self, number: usize, scene: &Scene) -> Result<Value, Failure> {
        let line = format!("haft {}", scene.words.iter().map(|word| quoted(word)).collect::<Vec<_>>().join(" "));
        if !self.output.json {
            print(&format!("\n{STRONG}{number}/{} {}{STRONG:#}\n", SCENES.len(), scene.title))?;
            self.paragraph(scene.text)?;
            print(&format!("{DIM}${DIM:#} {line}\n"))?;
        }
        self.pause(BEFORE).await;
        let (status, printed) = self.command(scene.words).await?;
        let error = (scene.check)(&self.scratch).err();
        if let (Some(error), false) = (error, self.output.json) {
            print(&format!("{CAUTION}warning{CAUTION:#}: {error}\n"))?;
        }
        self.pause(AFTER).await;
        Ok(json!({ "title": scene.title, "command": line, "exit": status.code(), "output": printed, "error": error }))
    }

    /// Runs this program in the scratch folder. No one can approve anything there, so what needs approval is refused.
    async fn command(&self, words: &[&str]) -> Result<(ExitStatus, Option<String>), Failure> {
        let failed = |why: String| Failure::failed("execution_error", format!("a command of the tour cannot be run: {why}"));
        let program = std::env::current_exe().map_err(|error| failed(error.to_string()))?;
        let mut command = Command::new(program);
        command.args(words).current_dir(self.scratch.project()).stdin(Stdio::null()).kill_on_drop(true);
        self.scratch.isolate(&mut command);
        if self.common.plain {
            command.arg("--plain");
        }
        let ended = async {
            if !self.output.json {
                return command.status().await.map(|status| (status, None));
            }
            let ended = command.output().await?;
            let printed = [ended.stdout, ended.stderr].concat();
            Ok((ended.status, Some(String::from_utf8_lossy(&printed).into_owned())))
        };
        match timeout(LONGEST, ended).await {
            Ok(ended) => ended.map_err(|error| failed(error.to_string())),
            Err(_) => Err(failed(format!("it took longer than {} s", LONGEST.as_secs()))),
        }
    }

    async fn pause(&self, time: Duration) {
        if self.is_slow {
            sleep(time).await;
        }
    }

    fn paragraph(&self, text: &str) -> Result<(), Failure> {
        if text.is_empty() {
            return Ok(());
        }
        let lines = wrap(text, self.output.width.unwrap_or(100).min(100));
        print(&format!("{}\n", lines.join("\n")))
    }
}

/// A word as a shell takes it.
fn quoted(word: &str) -> String {
    let is_plain = |ch: char| ch.is_ascii_alphanumeric() || "-_./".contains(ch);
    match word {
        word if word.chars().all(is_plain) => word.to_owned(),
        word if word.contains('\'') => format!("\"{word}\""),
        word => format!("'{word}'"),
    }
}

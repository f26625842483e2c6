//! The requests that the demo model understands, and the calls that serve them.

use serde_json::{Value, json};

/// One request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum DemoRequest {
    Time {
        zone: Option<String>,
    },
    List {
        path: Option<String>,
        hidden: bool,
    },
    Find {
        pattern: String,
    },
    Read {
        path: String,
        /// The first lines alone.
        lines: Option<u32>,
    },
    Search {
        text: String,
        path: Option<String>,
    },
    /// A new file; one that exists stays.
    Create {
        path: String,
        content: String,
    },
    /// The whole content of a file.
    Write {
        path: String,
        content: String,
    },
    Append {
        path: String,
        content: String,
    },
    Replace {
        path: String,
        old: String,
        new: String,
        all: bool,
    },
    Delete {
        path: String,
    },
    Rename {
        from: String,
        to: String,
    },
    Run {
        command: String,
    },
    /// The tests of the project, by the program that its files name.
    Tests,
    Fetch {
        url: String,
    },
    /// An HTTP request, by its name.
    Http {
        url: String,
    },
    Machine,
    Notify {
        message: String,
    },
    Delegate {
        task: String,
    },
    /// A message in this conversation, later.
    Remind {
        time: ReminderTime,
        message: String,
    },
    /// The scheduled jobs.
    Reminders,
    /// Turns one off; without a name the only one.
    StopReminder {
        name: String,
    },
}

/// When a reminder is said.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum ReminderTime {
    At(String),
    Every(String),
    Cron(String),
}

/// A call: the tools that can make it, by every name of a dialect and the canonical one first, and its arguments.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct DemoCall {
    pub(super) tools: &'static [&'static str],
    pub(super) arguments: Value,
}

impl DemoRequest {
    /// Whether it changes something, so that what follows must wait for it.
    pub(super) fn changes(&self) -> bool {
        use DemoRequest::{Append, Create, Delegate, Delete, Remind, Rename, Replace, Run, StopReminder, Tests, Write};
        let is_file_change = matches!(self, Create { .. } | Write { .. } | Append { .. } | Replace { .. } | Delete { .. } | Rename { .. });
        is_file_change || matches!(self, Run { .. } | Tests | Delegate { .. } | Remind { .. } | StopReminder { .. })
    }

    /// The file that it is about, and that is there afterwards: "it" in the next request.
    pub(super) fn file(&self) -> Option<&str> {
        use DemoRequest::{Append, Create, Read, Rename, Replace, Write};
        match self {
            Read { path, .. } | Create { path, .. } | Write { path, .. } | Append { path, .. } | Replace { path, .. } => Some(path),
            Rename { to, .. } => Some(to),
            _ => None,
        }
    }

    /// Whether its result is something to read.
    pub(super) fn has_result(&self) -> bool {
        !self.changes() || matches!(self, Self::Run { .. } | Self::Tests | Self::Delegate { .. })
    }

    /// The first call that serves it.
    pub(super) fn call(&self) -> DemoCall {
        match self {
            Self::Time { zone: Some(zone) } => DemoCall::new(&["get_current_time"], json!({ "timezone": zone })),
            Self::Time { zone: None } => DemoCall::new(&["get_current_time"], json!({})),
            Self::List { path, hidden } => list(path.as_deref(), *hidden),
            Self::Find { pattern } => DemoCall::new(GLOB, json!({ "pattern": anywhere(pattern) })),
            Self::Read { path, lines: Some(lines) } => DemoCall::new(READ, json!({ "path": path, "limit": lines })),
            Self::Read { path, lines: None } => DemoCall::new(READ, json!({ "path": path })),
            Self::Search { text, path } => search(text, path.as_deref()),
            Self::Create { path, .. } => exists(path),
            Self::Write { path, content } => write(path, content),
            Self::Append { path, content } => DemoCall::new(WRITE, json!({ "path": path, "content": lines(content), "mode": "append" })),
            Self::Replace { path, old, new, all } => {
                let mut arguments = json!({ "path": path, "old_string": old, "new_string": new });
                if *all {
                    arguments["replace_all"] = true.into();
                }
                DemoCall::new(&["edit_file", "edit"], arguments)
            }
            Self::Delete { path } => {
                let patch = format!("*** Begin Patch\n*** Delete File: {path}\n*** End Patch\n");
                DemoCall::new(&["apply_patch"], json!({ "input": patch }))
            }
            Self::Rename { from, to } => {
                let patch = format!("*** Begin Patch\n*** Update File: {from}\n*** Move to: {to}\n*** End Patch\n");
                DemoCall::new(&["apply_patch"], json!({ "input": patch }))
            }
            Self::Run { command } => run(command),
            Self::Tests => DemoCall::new(GLOB, json!({ "pattern": "{Cargo.toml,go.mod,package.json,pyproject.toml,pytest.ini,Makefile}" })),
            Self::Fetch { url } => DemoCall::new(&["web_fetch", "WebFetch", "http_request"], json!({ "url": url })),
            Self::Http { url } => DemoCall::new(&["http_request", "web_fetch", "WebFetch"], json!({ "url": url })),
            Self::Machine => DemoCall::new(&["system_info"], json!({})),
            Self::Notify { message } => DemoCall::new(&["notify"], json!({ "message": message })),
            Self::Remind { time, message } => {
                let (key, value) = match time {
                    ReminderTime::At(at) => ("at", at),
                    ReminderTime::Every(every) => ("every", every),
                    ReminderTime::Cron(cron) => ("cron", cron),
                };
                let mut arguments = json!({ "action": "add", "message": message, "session": "main" });
                arguments[key] = json!(value);
                DemoCall::new(&["cron"], arguments)
            }
            Self::Reminders => DemoCall::new(&["cron"], json!({ "action": "list" })),
            Self::StopReminder { name } if name.is_empty() => DemoCall::new(&["cron"], json!({ "action": "list" })),
            Self::StopReminder { name } => turn_off(name),
            Self::Delegate { task } => {
                DemoCall::new(&["agent", "Agent"], json!({ "prompt": task, "description": task, "subagent_type": "explore" }))
            }
        }
    }

    /// One call of each tool that it needs.
    pub(super) fn needed_calls(&self) -> Vec<DemoCall> {
        let later = match self {
            Self::Create { .. } => Some(DemoCall::new(WRITE, json!({}))),
            Self::Tests => Some(run("")),
            _ => None,
        };
        std::iter::once(self.call()).chain(later).collect()
    }

    /// What follows the first call, by its output.
    pub(super) fn follow_up(&self, output: &str) -> Option<FollowUp> {
        match self {
            Self::Create { path, .. } if output.lines().any(|found| found.trim() == path.trim_start_matches("./")) => Some(FollowUp::Stop(
                format!("{path} exists already, so I did not create it. Say \"overwrite {path} with …\" to replace it."),
            )),
            Self::Create { path, content } => Some(FollowUp::Call(write(path, content))),
            Self::Tests => Some(match test_command(output) {
                Some(command) => FollowUp::Call(run(command)),
                None => FollowUp::Stop(
                    "I see none of Cargo.toml, go.mod, package.json, pyproject.toml and Makefile here, so I do not know \
                                        how the tests are run, and ran nothing. Say \"run `COMMAND`\"."
                        .to_owned(),
                ),
            }),
            Self::StopReminder { name } if name.is_empty() => Some(match reminders_on(output).as_slice() {
                [id] => FollowUp::Call(turn_off(id)),
                [] => FollowUp::Stop("No reminder is on.".to_owned()),
                _ => FollowUp::Stop("Which one? Say \"turn off the reminder NAME\", with a name or an id of this list.".to_owned()),
            }),
            _ => None,
        }
    }
}

/// What follows a call.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum FollowUp {
    Call(DemoCall),
    /// Nothing more is done, and why.
    Stop(String),
}

const GLOB: &[&str] = &["glob_search"];
const READ: &[&str] = &["read_file", "read"];
const WRITE: &[&str] = &["write_file", "write"];

impl DemoCall {
    fn new(tools: &'static [&'static str], arguments: Value) -> Self {
        Self { tools, arguments }
    }
}

fn run(command: &str) -> DemoCall {
    DemoCall::new(&["exec", "bash"], json!({ "command": command }))
}

fn turn_off(job: &str) -> DemoCall {
    DemoCall::new(&["cron"], json!({ "action": "update", "id": job, "enabled": false }))
}

/// The ids of the jobs that are on, of the lines `'water the plants' (j-1a2b3c4d): every day …`.
fn reminders_on(list: &str) -> Vec<&str> {
    let lines = list.lines().filter(|line| line.starts_with('\'') && !line.contains(". It is off"));
    lines.filter_map(|line| line.split_once("' (")?.1.split_once("): ")).map(|(id, _)| id).collect()
}

/// A search for exactly this text.
fn search(text: &str, path: Option<&str>) -> DemoCall {
    let mut arguments = json!({ "pattern": escape(text, r"\.+*?()|[]{}^$#&-~"), "output_mode": "content" });
    if let Some(path) = path {
        arguments["path"] = path.into();
    }
    DemoCall::new(&["grep_search"], arguments)
}

/// Whether a file exists: also one that is hidden or ignored.
fn exists(path: &str) -> DemoCall {
    let pattern = escape(path.trim_start_matches("./"), r"\*?[]{}!");
    DemoCall::new(GLOB, json!({ "pattern": pattern, "hidden": true, "ignored": true }))
}

/// A name in any folder.
fn anywhere(pattern: &str) -> String {
    if pattern.contains('/') { pattern.to_owned() } else { format!("**/{pattern}") }
}

fn escape(text: &str, special: &str) -> String {
    text.chars().flat_map(|ch| special.contains(ch).then_some('\\').into_iter().chain([ch])).collect()
}

fn list(path: Option<&str>, hidden: bool) -> DemoCall {
    let mut arguments = json!({ "pattern": "**/*" });
    if let Some(path) = path {
        arguments["path"] = path.into();
    }
    if hidden {
        arguments["hidden"] = true.into();
    }
    DemoCall::new(GLOB, arguments)
}

fn write(path: &str, content: &str) -> DemoCall {
    DemoCall::new(WRITE, json!({ "path": path, "content": lines(content) }))
}

/// Text with a line break at its end, so that what is appended later begins a line of its own.
fn lines(text: &str) -> String {
    if text.is_empty() || text.ends_with('\n') { text.to_owned() } else { format!("{text}\n") }
}

/// How the tests of a project are run that has these files.
fn test_command(files: &str) -> Option<&'static str> {
    const PROGRAMS: &[(&str, &str)] = &[
        ("Cargo.toml", "cargo test"),
        ("go.mod", "go test ./..."),
        ("package.json", "npm test"),
        ("pyproject.toml", "python3 -m pytest -q"),
        ("pytest.ini", "python3 -m pytest -q"),
        ("Makefile", "make test"),
    ];
    PROGRAMS.iter().find(|(file, _)| files.lines().any(|found| found.trim() == *file)).map(|(_, command)| *command)
}

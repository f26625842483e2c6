//! What a line means: words for the model, or a command that begins with a slash.

use haft_contract::Access;

use crate::failure::Failure;
use crate::output::{DIM, STRONG};
use crate::table::{Cell, Room, Table};

/// A command, as it is listed and completed.
#[derive(Debug, Clone, Copy)]
pub(super) struct Known {
    pub(super) name: &'static str,
    pub(super) takes: &'static str,
    pub(super) about: &'static str,
}

#[rustfmt::skip] // one command a line
pub(super) const COMMANDS: &[Known] = &[
    Known { name: "help", takes: "", about: "list these commands" },
    Known { name: "model", takes: "[NAME]", about: "go on with another model; as --model" },
    Known { name: "agent", takes: "[NAME]", about: "go on as another agent; as --agent" },
    Known { name: "tools", takes: "[NAME]", about: "the tools, and who may use them; as haft tools" },
    Known { name: "access", takes: "[LEVEL]", about: "how much may be done; as --access" },
    Known { name: "explain", takes: "TOOL [JSON]", about: "why a call is allowed or not; as haft explain" },
    Known { name: "undo", takes: "[CALL]", about: "put the files of the last call back; as haft undo" },
    Known { name: "history", takes: "", about: "what you said and what was called; as haft history" },
    Known { name: "sessions", takes: "", about: "the conversations of this folder; as haft sessions list" },
    Known { name: "resume", takes: "[ID]", about: "go on with another conversation; as --resume" },
    Known { name: "cost", takes: "", about: "tokens and money: last turn, session, today" },
    Known { name: "compact", takes: "", about: "let the model sum the conversation up" },
    Known { name: "clear", takes: "", about: "begin a new conversation; this one is kept" },
    Known { name: "details", takes: "[all]", about: "what the last call got and gave, or every call of the turn" },
    Known { name: "quit", takes: "", about: "leave; as Ctrl-D" },
];

/// A command that was understood.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Command {
    Help,
    Model(Option<String>),
    Agent(Option<String>),
    Tools(Option<String>),
    Access(Option<Access>),
    Explain { tool: String, arguments: Option<String> },
    Undo(Option<String>),
    History,
    Sessions,
    Resume(Option<String>),
    Cost,
    Compact,
    Clear,
    Details { all: bool },
    Quit,
}

/// What a line means.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Line {
    Nothing,
    Words(String),
    Command(Command),
}

/// Reads a line. A path, which has more than one slash, is a word like others.
pub(super) fn read(line: &str) -> Result<Line, Failure> {
    let text = line.trim();
    if text.is_empty() {
        return Ok(Line::Nothing);
    }
    if let Some(program) = text.strip_prefix('!') {
        let message = format!("'{}' is not run: programs cannot be started from here yet", program.trim());
        return Err(Failure::usage(message).help("run it in another terminal; nothing was sent to the model"));
    }
    let Some(rest) = text.strip_prefix('/') else { return Ok(Line::Words(text.to_owned())) };
    let (name, rest) = rest.split_once(char::is_whitespace).unwrap_or((rest, ""));
    if name.contains('/') {
        return Ok(Line::Words(text.to_owned()));
    }
    command(name, rest.trim()).map(Line::Command)
}

fn command(name: &str, rest: &str) -> Result<Command, Failure> {
    let known = match COMMANDS.iter().find(|known| known.name == name) {
        None if name.is_empty() => return Ok(Command::Help),
        None => return Err(unknown(name)),
        Some(known) => known,
    };
    if known.takes.is_empty() && !rest.is_empty() {
        return Err(Failure::usage(format!("/{name} takes nothing, and got '{rest}'")).help(format!("write /{name} alone")));
    }
    let value = (!rest.is_empty()).then(|| rest.to_owned());
    Ok(match name {
        "model" => Command::Model(value),
        "agent" => Command::Agent(value),
        "tools" => Command::Tools(value),
        "access" => Command::Access(value.map(|level| level.parse()).transpose().map_err(Failure::usage)?),
        "explain" => explain(rest)?,
        "undo" => Command::Undo(value),
        "history" => Command::History,
        "sessions" => Command::Sessions,
        "resume" => Command::Resume(value),
        "cost" => Command::Cost,
        "compact" => Command::Compact,
        "clear" => Command::Clear,
        "details" => details(rest)?,
        "quit" => Command::Quit,
        _ => Command::Help,
    })
}

fn explain(rest: &str) -> Result<Command, Failure> {
    let (tool, arguments) = rest.split_once(char::is_whitespace).unwrap_or((rest, ""));
    if tool.is_empty() {
        return Err(Failure::usage("/explain needs a tool").help("/explain write_file {\"path\":\"a.txt\",\"content\":\"x\"}"));
    }
    let arguments = Some(arguments.trim()).filter(|text| !text.is_empty());
    Ok(Command::Explain { tool: tool.to_owned(), arguments: arguments.map(str::to_owned) })
}

fn details(rest: &str) -> Result<Command, Failure> {
    match rest {
        "" => Ok(Command::Details { all: false }),
        "all" => Ok(Command::Details { all: true }),
        other => Err(Failure::usage(format!("/details takes 'all' or nothing, and got '{other}'")).help("write /details, or /details all")),
    }
}

fn unknown(name: &str) -> Failure {
    let near = haft_engine::nearest(name, COMMANDS.iter().map(|known| known.name));
    let near: Vec<String> = near.iter().map(|name| format!("/{name}")).collect();
    let meant = if near.is_empty() { String::new() } else { format!("did you mean {}? ", near.join(" or ")) };
    Failure::usage(format!("there is no command '/{name}'")).help(format!("{meant}/help lists them; nothing was sent to the model"))
}

/// Every command with what it does, and the keys.
pub(super) fn help(width: Option<usize>) -> String {
    let mut table = Table::new(&[("", Room::Keep), ("", Room::Wrap)]);
    for known in COMMANDS {
        table.row(vec![Cell::styled(&usage(known), STRONG), Cell::new(known.about)]);
    }
    for (key, about) in KEYS {
        table.row(vec![Cell::styled(key, DIM), Cell::new(about)]);
    }
    table.render(width)
}

fn usage(known: &Known) -> String {
    format!("/{} {}", known.name, known.takes).trim_end().to_owned()
}

const KEYS: &[(&str, &str)] = &[
    ("@path", "name a file; Tab completes it"),
    ("Enter", "send; while the model works: say it after the calls that run now"),
    ("Alt-Enter", "a new line, as \\ at the end of one; while the model works: say it after the turn"),
    ("Up", "what was said before; while the model works: take back what waits"),
    ("Esc, Ctrl-C", "stop the turn; what was typed stays"),
    ("Ctrl-O", "details of the last call; twice: of all"),
    ("Ctrl-D", "leave; as Ctrl-C twice on an empty line"),
];

#[cfg(test)]
mod tests {
    use super::*;

    fn understood(line: &str) -> Line {
        read(line).unwrap_or_else(|failure| panic!("{line}: {failure:?}"))
    }

    #[test]
    fn every_command_is_read() {
        let text = |text: &str| Some(text.to_owned());
        for (line, command) in [
            ("/", Command::Help),
            (" /help ", Command::Help),
            ("/model", Command::Model(None)),
            ("/model work/m1", Command::Model(text("work/m1"))),
            ("/agent coder", Command::Agent(text("coder"))),
            ("/tools", Command::Tools(None)),
            ("/tools read_file", Command::Tools(text("read_file"))),
            ("/access", Command::Access(None)),
            ("/access read-only", Command::Access(Some(Access::ReadOnly))),
            ("/explain noop", Command::Explain { tool: "noop".into(), arguments: None }),
            ("/explain noop  {\"a\": 1}", Command::Explain { tool: "noop".into(), arguments: text("{\"a\": 1}") }),
            ("/undo", Command::Undo(None)),
            ("/undo 3f9c", Command::Undo(text("3f9c"))),
            ("/history", Command::History),
            ("/sessions", Command::Sessions),
            ("/resume", Command::Resume(None)),
            ("/resume 3f9c", Command::Resume(text("3f9c"))),
            ("/cost", Command::Cost),
            ("/compact", Command::Compact),
            ("/clear", Command::Clear),
            ("/details", Command::Details { all: false }),
            ("/details all", Command::Details { all: true }),
            ("/quit", Command::Quit),
        ] {
            assert_eq!(understood(line), Line::Command(command), "{line}");
        }
    }

    #[test]
    fn every_command_that_is_listed_can_be_read_and_has_its_line_in_the_help() {
        let help = anstream::adapter::strip_str(&help(Some(100))).to_string();
        for known in COMMANDS {
            let line = if known.takes.starts_with("TOOL") { format!("/{} noop", known.name) } else { format!("/{}", known.name) };
            assert!(matches!(understood(&line), Line::Command(_)), "{line}");
            assert!(help.lines().any(|line| line.starts_with(&usage(known)) && line.ends_with(known.about)), "{help}");
        }
    }

    #[test]
    fn all_else_is_said_but_for_what_is_meant_as_a_command() {
        for (line, meaning) in [("", Line::Nothing), ("  \n", Line::Nothing), (" hello /help ", Line::Words("hello /help".into()))] {
            assert_eq!(understood(line), meaning);
        }
        assert_eq!(understood("/etc/hosts says what?"), Line::Words("/etc/hosts says what?".into()));
        for (line, message, help) in [
            ("/modle", "there is no command '/modle'", "did you mean /model? /help lists them; nothing was sent to the model"),
            ("/xyzzy", "there is no command '/xyzzy'", "/help lists them; nothing was sent to the model"),
            ("/cost all", "/cost takes nothing, and got 'all'", "write /cost alone"),
            ("/details some", "/details takes 'all' or nothing, and got 'some'", "write /details, or /details all"),
            ("/explain", "/explain needs a tool", "/explain write_file {\"path\":\"a.txt\",\"content\":\"x\"}"),
            (
                "!ls -l",
                "'ls -l' is not run: programs cannot be started from here yet",
                "run it in another terminal; nothing was sent to the model",
            ),
        ] {
            let failure = read(line).unwrap_err();
            assert_eq!((failure.message.as_str(), failure.help.as_deref()), (message, Some(help)), "{line}");
        }
        assert!(read("/access root").unwrap_err().message.contains("use read-only, workspace-write or full-access"));
    }
}

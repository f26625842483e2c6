//! Parses a line of a conversation: a message for the model, or a slash command.

use haft_contract::Access;

use super::backend::CommandChoice;
use crate::failure::Failure;
use crate::output::{DIM, STRONG};
use crate::table::{ColumnFit, Table, TableCell};

/// A slash command, for help and completion.
#[derive(Debug, Clone, Copy)]
pub(super) struct CommandInfo {
    pub(super) name: &'static str,
    pub(super) takes: &'static str,
    pub(super) about: &'static str,
}

#[rustfmt::skip] // one command a line
pub(super) const COMMANDS: &[CommandInfo] = &[
    CommandInfo { name: "help", takes: "", about: "list these commands" },
    CommandInfo { name: "model", takes: "[NAME]", about: "continue with another model; as --model" },
    CommandInfo { name: "agent", takes: "[NAME]", about: "continue as another agent; as --agent" },
    CommandInfo { name: "tools", takes: "[NAME]", about: "list the tools; as haft tools" },
    CommandInfo { name: "access", takes: "[LEVEL]", about: "show or change the access level; as --access" },
    CommandInfo { name: "explain", takes: "TOOL [JSON]", about: "why a call is allowed or not; as haft explain" },
    CommandInfo { name: "undo", takes: "[CALL]", about: "choose a call, and put its files back; as haft undo" },
    CommandInfo { name: "diff", takes: "", about: "all changes of this conversation to files" },
    CommandInfo { name: "why", takes: "", about: "why the last call was refused" },
    CommandInfo { name: "jobs", takes: "", about: "the commands in the background" },
    CommandInfo { name: "jump", takes: "[NUMBER]", about: "your prompts as a list; shows one with its answer" },
    CommandInfo { name: "history", takes: "", about: "your messages and the calls; as haft history" },
    CommandInfo { name: "sessions", takes: "", about: "the conversations of this folder; as haft sessions list" },
    CommandInfo { name: "resume", takes: "[ID]", about: "resume another conversation; as --resume" },
    CommandInfo { name: "cost", takes: "", about: "tokens and money: last turn, session, today" },
    CommandInfo { name: "context", takes: "", about: "what fills the context window, in tokens" },
    CommandInfo { name: "compact", takes: "", about: "let the model summarize the conversation" },
    CommandInfo { name: "clear", takes: "", about: "begin a new conversation; this one is kept" },
    CommandInfo { name: "details", takes: "[all]", about: "arguments and result of the last call, or of every call" },
    CommandInfo { name: "quit", takes: "", about: "leave; as Ctrl-D" },
];

/// A parsed slash command.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum SlashCommand {
    Help,
    Model(Option<String>),
    Agent(Option<String>),
    Tools(Option<String>),
    Access(Option<Access>),
    Explain {
        tool: String,
        arguments: Option<String>,
    },
    Undo(Option<String>),
    Diff,
    Why,
    Jobs,
    Jump(Option<usize>),
    History,
    Sessions,
    Resume(Option<String>),
    Cost,
    Context,
    Compact,
    Clear,
    Details {
        all: bool,
    },
    Quit,
    /// A command of the user.
    User {
        name: String,
        arguments: String,
    },
}

/// A parsed line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum ChatLine {
    Empty,
    Message(String),
    /// A command to run.
    Shell(String),
    Command(SlashCommand),
}

/// Parses a line. A path has more than one slash and is part of a message.
pub(super) fn parse(line: &str, users: &[CommandChoice]) -> Result<ChatLine, Failure> {
    let text = line.trim();
    if text.is_empty() {
        return Ok(ChatLine::Empty);
    }
    if let Some(command) = text.strip_prefix('!') {
        if command.trim().is_empty() {
            return Err(Failure::usage("'!' needs a command").help("!ls -l runs ls -l as the tool exec does"));
        }
        return Ok(ChatLine::Shell(command.trim().to_owned()));
    }
    let Some(rest) = text.strip_prefix('/') else { return Ok(ChatLine::Message(text.to_owned())) };
    let (name, rest) = rest.split_once(char::is_whitespace).unwrap_or((rest, ""));
    if name.contains('/') {
        return Ok(ChatLine::Message(text.to_owned()));
    }
    command(name, rest.trim(), users).map(ChatLine::Command)
}

fn command(name: &str, rest: &str, users: &[CommandChoice]) -> Result<SlashCommand, Failure> {
    let known = match COMMANDS.iter().find(|known| known.name == name) {
        None if name.is_empty() => return Ok(SlashCommand::Help),
        None if users.iter().any(|known| known.name == name) => {
            return Ok(SlashCommand::User { name: name.to_owned(), arguments: rest.to_owned() });
        }
        None => return Err(unknown(name, users)),
        Some(known) => known,
    };
    if known.takes.is_empty() && !rest.is_empty() {
        return Err(Failure::usage(format!("/{name} takes nothing, and got '{rest}'")).help(format!("write /{name} alone")));
    }
    let value = (!rest.is_empty()).then(|| rest.to_owned());
    Ok(match name {
        "model" => SlashCommand::Model(value),
        "agent" => SlashCommand::Agent(value),
        "tools" => SlashCommand::Tools(value),
        "access" => SlashCommand::Access(value.map(|level| level.parse()).transpose().map_err(Failure::usage)?),
        "explain" => explain(rest)?,
        "undo" => SlashCommand::Undo(value),
        "diff" => SlashCommand::Diff,
        "why" => SlashCommand::Why,
        "jobs" => SlashCommand::Jobs,
        "jump" => SlashCommand::Jump(value.map(|number| jump_number(&number)).transpose()?),
        "history" => SlashCommand::History,
        "sessions" => SlashCommand::Sessions,
        "resume" => SlashCommand::Resume(value),
        "cost" => SlashCommand::Cost,
        "context" => SlashCommand::Context,
        "compact" => SlashCommand::Compact,
        "clear" => SlashCommand::Clear,
        "details" => details(rest)?,
        "quit" => SlashCommand::Quit,
        _ => SlashCommand::Help,
    })
}

fn explain(rest: &str) -> Result<SlashCommand, Failure> {
    let (tool, arguments) = rest.split_once(char::is_whitespace).unwrap_or((rest, ""));
    if tool.is_empty() {
        return Err(Failure::usage("/explain needs a tool").help("/explain write_file {\"path\":\"a.txt\",\"content\":\"x\"}"));
    }
    let arguments = Some(arguments.trim()).filter(|text| !text.is_empty());
    Ok(SlashCommand::Explain { tool: tool.to_owned(), arguments: arguments.map(str::to_owned) })
}

fn jump_number(text: &str) -> Result<usize, Failure> {
    text.parse().map_err(|_| Failure::usage(format!("/jump takes the number of a prompt, and got '{text}'")).help("/jump lists them"))
}

fn details(rest: &str) -> Result<SlashCommand, Failure> {
    match rest {
        "" => Ok(SlashCommand::Details { all: false }),
        "all" => Ok(SlashCommand::Details { all: true }),
        other => Err(Failure::usage(format!("/details takes 'all' or nothing, and got '{other}'")).help("write /details, or /details all")),
    }
}

fn unknown(name: &str, users: &[CommandChoice]) -> Failure {
    let known = COMMANDS.iter().map(|known| known.name).chain(users.iter().map(|known| known.name.as_str()));
    let near = haft_text::suggest::nearest(name, known);
    let near: Vec<String> = near.iter().map(|name| format!("/{name}")).collect();
    let meant = if near.is_empty() { String::new() } else { format!("did you mean {}? ", near.join(" or ")) };
    Failure::usage(format!("there is no command '/{name}'")).help(format!("{meant}/help lists them; nothing was sent to the model"))
}

/// Help: every command and key.
pub(super) fn help(users: &[CommandChoice], width: Option<usize>) -> String {
    let mut table = Table::new(&[("", ColumnFit::Keep), ("", ColumnFit::Wrap)]);
    for known in COMMANDS {
        table.row(vec![TableCell::styled(&usage(known), STRONG), TableCell::new(known.about)]);
    }
    for known in users {
        let usage = format!("/{} {}", known.name, known.takes);
        table.row(vec![TableCell::styled(usage.trim_end(), STRONG), TableCell::new(&known.about)]);
    }
    for (key, about) in KEYS {
        table.row(vec![TableCell::styled(key, DIM), TableCell::new(about)]);
    }
    table.render(width)
}

fn usage(known: &CommandInfo) -> String {
    format!("/{} {}", known.name, known.takes).trim_end().to_owned()
}

const KEYS: &[(&str, &str)] = &[
    ("@path", "attach a file or picture; Tab completes it"),
    ("!command", "run a command as the tool exec does; the model is not told"),
    ("Enter", "send; while the model works: sent after the running calls"),
    ("Alt-Enter", "a new line, as \\ at the end of one; while the model works: sent after the turn"),
    ("Up", "earlier input; while the model works: take a queued message back"),
    ("Esc, Ctrl-C", "stop the turn; your input stays"),
    ("Ctrl-O", "details of the last call; twice: of all"),
    ("Ctrl-D", "leave; as Ctrl-C twice on an empty line"),
];

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(line: &str) -> ChatLine {
        parse(line, &[]).unwrap_or_else(|failure| panic!("{line}: {failure:?}"))
    }

    #[test]
    fn command_of_the_user_is_parsed_listed_and_suggested() {
        let users = [CommandChoice { name: "fix".into(), takes: "[issue]".into(), about: "Fixes it (user)".into() }];
        let expected = SlashCommand::User { name: "fix".into(), arguments: "12 fast".into() };
        assert_eq!(parse("/fix 12 fast", &users).unwrap(), ChatLine::Command(expected));
        assert!(parse("/fixx", &users).unwrap_err().help.as_deref().unwrap_or_default().contains("did you mean /fix?"));
        let help = anstream::adapter::strip_str(&help(&users, Some(100))).to_string();
        assert!(help.lines().any(|line| line.starts_with("/fix [issue]") && line.ends_with("Fixes it (user)")), "{help}");
    }

    #[test]
    fn every_slash_command_is_parsed() {
        let text = |text: &str| Some(text.to_owned());
        for (line, command) in [
            ("/", SlashCommand::Help),
            (" /help ", SlashCommand::Help),
            ("/model", SlashCommand::Model(None)),
            ("/model work/m1", SlashCommand::Model(text("work/m1"))),
            ("/agent coder", SlashCommand::Agent(text("coder"))),
            ("/tools", SlashCommand::Tools(None)),
            ("/tools read_file", SlashCommand::Tools(text("read_file"))),
            ("/context", SlashCommand::Context),
            ("/access", SlashCommand::Access(None)),
            ("/access read-only", SlashCommand::Access(Some(Access::ReadOnly))),
            ("/explain noop", SlashCommand::Explain { tool: "noop".into(), arguments: None }),
            ("/explain noop  {\"a\": 1}", SlashCommand::Explain { tool: "noop".into(), arguments: text("{\"a\": 1}") }),
            ("/undo", SlashCommand::Undo(None)),
            ("/diff", SlashCommand::Diff),
            ("/why", SlashCommand::Why),
            ("/jobs", SlashCommand::Jobs),
            ("/jump", SlashCommand::Jump(None)),
            ("/jump 3", SlashCommand::Jump(Some(3))),
            ("/undo 3f9c", SlashCommand::Undo(text("3f9c"))),
            ("/history", SlashCommand::History),
            ("/sessions", SlashCommand::Sessions),
            ("/resume", SlashCommand::Resume(None)),
            ("/resume 3f9c", SlashCommand::Resume(text("3f9c"))),
            ("/cost", SlashCommand::Cost),
            ("/compact", SlashCommand::Compact),
            ("/clear", SlashCommand::Clear),
            ("/details", SlashCommand::Details { all: false }),
            ("/details all", SlashCommand::Details { all: true }),
            ("/quit", SlashCommand::Quit),
        ] {
            assert_eq!(parsed(line), ChatLine::Command(command), "{line}");
        }
    }

    #[test]
    fn listed_commands_parse_and_have_a_line_in_the_help() {
        let help = anstream::adapter::strip_str(&help(&[], Some(100))).to_string();
        for known in COMMANDS {
            let line = if known.takes.starts_with("TOOL") { format!("/{} noop", known.name) } else { format!("/{}", known.name) };
            assert!(matches!(parsed(&line), ChatLine::Command(_)), "{line}");
            assert!(help.lines().any(|line| line.starts_with(&usage(known)) && line.ends_with(known.about)), "{help}");
        }
    }

    #[test]
    fn other_lines_are_messages_and_misspelt_commands_are_errors() {
        for (line, meaning) in
            [("", ChatLine::Empty), ("  \n", ChatLine::Empty), (" hello /help ", ChatLine::Message("hello /help".into()))]
        {
            assert_eq!(parsed(line), meaning);
        }
        assert_eq!(parsed("! ls -l | wc"), ChatLine::Shell("ls -l | wc".into()));
        assert_eq!(parsed("/etc/hosts says what?"), ChatLine::Message("/etc/hosts says what?".into()));
        for (line, message, help) in [
            ("/modle", "there is no command '/modle'", "did you mean /model? /help lists them; nothing was sent to the model"),
            ("/xyzzy", "there is no command '/xyzzy'", "/help lists them; nothing was sent to the model"),
            ("/cost all", "/cost takes nothing, and got 'all'", "write /cost alone"),
            ("/details some", "/details takes 'all' or nothing, and got 'some'", "write /details, or /details all"),
            ("/explain", "/explain needs a tool", "/explain write_file {\"path\":\"a.txt\",\"content\":\"x\"}"),
            ("! ", "'!' needs a command", "!ls -l runs ls -l as the tool exec does"),
            ("/jump x", "/jump takes the number of a prompt, and got 'x'", "/jump lists them"),
        ] {
            let failure = parse(line, &[]).unwrap_err();
            assert_eq!((failure.message.as_str(), failure.help.as_deref()), (message, Some(help)), "{line}");
        }
        assert!(parse("/access root", &[]).unwrap_err().message.contains("use read-only, workspace-write or full-access"));
    }
}

//! `TOOL [JSON] [--PARAMETER VALUE]…`: a call on the command line.

use std::ffi::OsString;
use std::io::Read;

use clap::error::{ContextKind, ContextValue, ErrorKind};
use clap::{Arg, Args, Command, CommandFactory, FromArgMatches};
use haft_contract::json::parse_strict;
use haft_contract::{Arguments, Section, ToolDefinition};
use haft_engine::Registry;
use haft_text::display;
use serde_json::{Map, Value};

use crate::arguments::{ActingArgs, CallerArgs, Cli, Common, ToolWords};
use crate::failure::Failure;
use crate::help;
use crate::output::error_text;
use crate::{parameters, usage};

/// A call on the command line, parsed with the tool's parameters.
#[derive(Debug)]
pub(crate) struct Invocation {
    pub(crate) tool: String,
    pub(crate) common: Common,
    /// The caller.
    pub(crate) who: CallerArgs,
    /// Whether the tool starts commands, or works with those that run.
    pub(crate) runs_commands: bool,
    /// Whether the tool works on conversations, and so needs one.
    pub(crate) needs_conversation: bool,
    text: Option<String>,
    flags: Map<String, Value>,
}

/// What the names of the tools of MCP servers begin with, and of the one that reads their resources: a registry has them late.
const OF_SERVERS: &str = "mcp_";

impl Invocation {
    /// As [`Invocation::parse`], where the tools of MCP servers are not registered yet: their calls are parsed again when they are.
    pub(crate) fn parse_early(command: &'static str, words: ToolWords, before: Common, registry: &Registry) -> Result<Self, Failure> {
        Self::parse_with(command, words, before, registry, is_of_servers)
    }

    /// Parses the arguments of a command. Common flags after the tool win over those before it.
    pub(crate) fn parse(command: &'static str, words: ToolWords, before: Common, registry: &Registry) -> Result<Self, Failure> {
        Self::parse_with(command, words, before, registry, |_| false)
    }

    fn parse_with(
        command: &'static str,
        words: ToolWords,
        before: Common,
        registry: &Registry,
        comes_later: impl Fn(&str) -> bool,
    ) -> Result<Self, Failure> {
        let (tool, words) = words.split().ok_or_else(|| usage::refused(&no_tool(command)))?;
        let tool = tool.into_string().map_err(|_| usage::refused(&clap::Error::new(ErrorKind::InvalidUtf8)))?;
        let entry = registry.get(&tool);
        if entry.is_none() && !comes_later(&tool) && words.iter().any(|word| word == "--help" || word == "-h") {
            return Err(no_such_help(command, &tool, registry));
        }
        let definition = entry.as_ref().map(|entry| entry.definition());
        Self::parse_words(command, tool, definition, words, before).map_err(|error| usage::refused(&error))
    }

    fn parse_words(
        command: &'static str,
        tool: String,
        definition: Option<&ToolDefinition>,
        words: Vec<OsString>,
        before: Common,
    ) -> Result<Self, clap::Error> {
        let words = if definition.is_some() { words } else { common_flags(command, words) };
        let matches = grammar(command, &tool, definition).try_get_matches_from(words)?;
        let flags = if command == EXPLAIN { CallerArgs::from_arg_matches(&matches)? } else { CallerArgs::default() };
        let mut flags_of_tool = definition.map(|definition| parameters::collect(&matches, definition)).unwrap_or_default();
        let text = match matches.get_one::<String>("JSON").cloned() {
            Some(text) => positional(text, definition, &mut flags_of_tool)?,
            None => None,
        };
        Ok(Self {
            tool,
            common: before.then(Common::from_arg_matches(&matches)?),
            who: ActingArgs::from_arg_matches(&matches)?.with(flags),
            runs_commands: definition.is_some_and(|definition| definition.section == Section::Runtime),
            needs_conversation: definition.is_some_and(|definition| matches!(definition.section, Section::Sessions | Section::Agents)),
            text,
            flags: flags_of_tool,
        })
    }

    /// The arguments; `None` if none were given. `limit` bounds standard input.
    pub(crate) fn arguments(self, limit: usize) -> Result<Option<Arguments>, Failure> {
        let text = match self.text {
            Some(text) if text == "-" => Some(standard_input(limit)?),
            text => text,
        };
        Ok(merge(text, self.flags))
    }

    /// Whether the arguments come from standard input, so that the user cannot be asked there.
    pub(crate) fn reads_standard_input(&self) -> bool {
        self.text.as_deref() == Some("-")
    }
}

/// Whether a tool may be one that a registry has late.
pub(crate) fn is_of_servers(tool: &str) -> bool {
    tool.trim_start().get(..OF_SERVERS.len()).is_some_and(|start| start.eq_ignore_ascii_case(OF_SERVERS))
}

/// Takes text that is no JSON object as the value of the one required parameter, or of the one that no flag gives; returns all other
/// text.
fn positional(text: String, definition: Option<&ToolDefinition>, flags: &mut Map<String, Value>) -> Result<Option<String>, clap::Error> {
    let Some(definition) = definition.filter(|_| text != "-" && !is_json(&text) && !text.trim().is_empty()) else { return Ok(Some(text)) };
    let only = parameters::only_required_text(definition);
    if let Some(name) = only.or_else(|| parameters::missing_text(definition, |name| flags.contains_key(name))) {
        flags.entry(name).or_insert(Value::String(text));
        return Ok(None);
    }
    if text.trim_start().starts_with('[') {
        return Ok(Some(text));
    }
    let name = &definition.name;
    let message = format!(
        "'{}' is not a JSON object\n\nGive each parameter by its flag, such as --{}; `haft call {name} --help` lists them.\n",
        display::escape_line(&text),
        parameters::list(definition).first().map_or("PARAMETER VALUE".to_owned(), |first| format!("{} VALUE", first.name)),
    );
    Err(clap::Error::raw(ErrorKind::ValueValidation, message))
}

/// Whether a text was meant as JSON: arguments that are no object are reported as such. A shell command may begin with `[` as well.
fn is_json(text: &str) -> bool {
    text.trim_start().starts_with('{') || parse_strict(text).is_ok()
}

/// The error of a missing tool name.
fn no_tool(command: &str) -> clap::Error {
    let mut cli = Cli::command();
    cli.build();
    let mut error = clap::Error::new(ErrorKind::MissingRequiredArgument);
    if let Some(command) = cli.find_subcommand_mut(command) {
        error = error.with_cmd(command);
        error.insert(ContextKind::Usage, ContextValue::StyledStr(command.render_usage()));
    }
    error.insert(ContextKind::InvalidArg, ContextValue::Strings(vec!["<TOOL>".into()]));
    error
}

/// The error and general help for `--help` of an unknown tool.
fn no_such_help(command: &str, tool: &str, registry: &Registry) -> Failure {
    let near = registry.nearest(tool);
    let near = if near.is_empty() { String::new() } else { format!("did you mean {}? ", near.join(" or ")) };
    let (message, advice) = (format!("there is no tool '{tool}'"), format!("{near}`haft tools` lists the tools"));
    let mut cli = Cli::command();
    cli.build();
    let general = cli.find_subcommand_mut(command).map(|command| command.render_long_help().ansi().to_string());
    let report = format!("{}\n\n{}", error_text(&message, Some(&advice)), general.unwrap_or_default());
    Failure::usage(message).help(advice).report(report)
}

pub(crate) fn grammar(command: &str, tool: &str, definition: Option<&ToolDefinition>) -> Command {
    let name = definition.map_or(tool, |definition| &definition.name);
    let required = definition.and_then(parameters::only_required_text);
    let (words, help) = match required {
        Some(name) => (
            format!("{}|JSON", name.to_uppercase()),
            format!("The {name}, or all arguments as a JSON object, or - to read it from standard input"),
        ),
        None => ("JSON".to_owned(), "The arguments as a JSON object, or - to read it from standard input".to_owned()),
    };
    let json = Arg::new("JSON").value_name(words.clone()).help(help).allow_negative_numbers(true);
    let grammar = Command::new(format!("haft {command} {name}"))
        .no_binary_name(true)
        .override_usage(format!("haft {command} {name} [{words}] [--PARAMETER VALUE]... [OPTIONS]"))
        .arg(json);
    // Parameters come first in the help.
    let grammar = match definition {
        Some(definition) => parameters::augment(grammar, definition, own_flags(command)),
        None => grammar,
    };
    let about = definition.map_or(help::ABOUT, |definition| &definition.description);
    own_arguments(command, grammar).about(about.to_owned())
}

/// The command with flags for each part of another caller.
const EXPLAIN: &str = "explain";

fn own_arguments(command: &str, grammar: Command) -> Command {
    let grammar = ActingArgs::augment_args(Common::augment_args(grammar));
    if command == EXPLAIN { CallerArgs::augment_args(grammar) } else { grammar }
}

/// Names that a parameter's flag cannot have.
fn own_flags(command: &str) -> Vec<String> {
    let common = own_arguments(command, Command::new("common"));
    let names = common.get_arguments().filter_map(|argument| argument.get_long().map(str::to_owned));
    names.chain(["help".to_owned()]).collect()
}

/// Only the common flags: the parameters of an unknown tool are not known.
fn common_flags(command: &str, words: Vec<OsString>) -> Vec<OsString> {
    let command = own_arguments(command, Command::new("common"));
    let mut flags = Vec::new();
    let mut words = words.into_iter();
    while let Some(word) = words.next() {
        let text = word.to_string_lossy().into_owned();
        let (name, value) = text.split_once('=').map_or((text.as_str(), None), |(name, value)| (name, Some(value)));
        let Some(argument) = command.get_arguments().find(|argument| is_named(argument, name)) else { continue };
        flags.push(word);
        if value.is_none() && argument.get_action().takes_values() {
            flags.extend(words.next());
        }
    }
    flags
}

fn is_named(argument: &Arg, word: &str) -> bool {
    let short = argument.get_short().map(|ch| format!("-{ch}"));
    let long = argument.get_long().map(|name| format!("--{name}"));
    [short, long].iter().flatten().any(|name| name == word)
}

/// Merges JSON and flags; flags win. Text that is no object is left to the arguments stage, which reports it.
fn merge(text: Option<String>, flags: Map<String, Value>) -> Option<Arguments> {
    if flags.is_empty() {
        return text.map(Arguments::Text);
    }
    let mut object = match text.as_deref().map(str::trim) {
        None | Some("") => Map::new(),
        Some(object) => match parse_strict(object).ok() {
            Some(Value::Object(object)) => object,
            _ => return text.map(Arguments::Text),
        },
    };
    object.extend(flags);
    Some(Arguments::Json(Value::Object(object)))
}

/// Standard input, up to the limit.
fn standard_input(limit: usize) -> Result<String, Failure> {
    let mut bytes = Vec::new();
    let most = u64::try_from(limit).unwrap_or(u64::MAX).saturating_add(1);
    std::io::stdin().lock().take(most).read_to_end(&mut bytes).map_err(|error| {
        Failure::failed("execution_error", format!("standard input cannot be read: {error}")).help("give the JSON as an argument instead")
    })?;
    if bytes.len() > limit {
        return Err(Failure::failed("validation_error", format!("standard input is longer than {limit} bytes"))
            .help("send less, or raise limits.argument_bytes in the configuration"));
    }
    String::from_utf8(bytes).map_err(|error| {
        let position = error.utf8_error().valid_up_to();
        Failure::usage(format!("standard input is not UTF-8 (at byte {position})")).help("arguments are a JSON object in UTF-8")
    })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn definition() -> ToolDefinition {
        ToolDefinition::new(
            "try",
            "Tries.",
            json!({"type": "object", "properties": {"path": {"type": "string"}, "n": {"type": "integer"}}}),
        )
    }

    fn read(definition: Option<&ToolDefinition>, words: &[&str]) -> Invocation {
        Invocation::parse_words("call", "try".into(), definition, words.iter().map(OsString::from).collect(), Common::default()).unwrap()
    }

    #[test]
    fn flags_win_over_json() {
        for (words, expected) in [
            (&[][..], None),
            (&["{\"path\":\"a\"}"], Some(Arguments::Text("{\"path\":\"a\"}".into()))),
            (&["--path", "b"], Some(Arguments::Json(json!({"path": "b"})))),
            (&["{\"path\":\"a\",\"n\":1}", "--path", "b"], Some(Arguments::Json(json!({"path": "b", "n": 1})))),
            (&["", "--path", "b"], Some(Arguments::Json(json!({"path": "b"})))),
            (&["[1]", "--path", "b"], Some(Arguments::Text("[1]".into()))),
            (&["{", "--path", "b"], Some(Arguments::Text("{".into()))),
            (&["{\"n\":1,\"n\":2}", "--path", "b"], Some(Arguments::Text("{\"n\":1,\"n\":2}".into()))),
            (&["-5"], Some(Arguments::Text("-5".into()))),
        ] {
            assert_eq!(read(Some(&definition()), words).arguments(100).unwrap(), expected, "{words:?}");
        }
    }

    #[test]
    fn text_without_a_parameter_of_its_own_is_wrong_usage() {
        let mut definition = definition();
        definition.parameters["properties"]["content"] = json!({"type": "string"});
        definition.parameters["required"] = json!(["path", "content"]);
        let given = read(Some(&definition), &["a.txt", "--content", "x"]).arguments(100).unwrap();
        assert_eq!(given, Some(Arguments::Json(json!({"path": "a.txt", "content": "x"}))), "one required text is left");
        let words = vec![OsString::from("a.txt")];
        let error = Invocation::parse_words("call", "try".into(), Some(&definition), words, Common::default()).unwrap_err();
        assert_eq!(error.to_string().lines().next(), Some("error: 'a.txt' is not a JSON object"));
    }

    #[test]
    fn one_required_text_is_taken_alone_and_an_object_stays_an_object() {
        let mut definition = definition();
        definition.parameters["required"] = json!(["path"]);
        for (words, expected) in [
            (&["a b.txt"][..], Arguments::Json(json!({"path": "a b.txt"}))),
            (&["a", "--n", "3"], Arguments::Json(json!({"path": "a", "n": "3"}))),
            (&["a", "--path", "b"], Arguments::Json(json!({"path": "b"}))),
            (&["[ -f a ] && b"], Arguments::Json(json!({"path": "[ -f a ] && b"}))),
            (&["[1]"], Arguments::Text("[1]".into())),
            (&["3"], Arguments::Text("3".into())),
            (&[" {\"path\":\"a\"}"], Arguments::Text(" {\"path\":\"a\"}".into())),
            (&["{"], Arguments::Text("{".into())),
            (&[""], Arguments::Text(String::new())),
        ] {
            assert_eq!(read(Some(&definition), words).arguments(100).unwrap(), Some(expected), "{words:?}");
        }
    }

    #[test]
    fn unknown_tool_takes_only_common_flags() {
        let words = ["{\"a\":1}", "--path", "x", "--json", "--depth=3", "--access", "read-only", "--agent=me", "-q", "-v"];
        let invocation = read(None, &words);
        let Common { json, verbose, access, agent, .. } = invocation.common.clone();
        assert_eq!((json, verbose, access, agent.as_deref()), (true, true, Some(haft_contract::Access::ReadOnly), Some("me")));
        assert_eq!(invocation.arguments(100).unwrap(), None);
    }
}

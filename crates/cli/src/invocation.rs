//! `TOOL [JSON] [--PARAMETER VALUE]…`: a call as a person writes it.

use std::ffi::{OsStr, OsString};
use std::io::Read;

use clap::error::{ContextKind, ContextValue, ErrorKind};
use clap::{Arg, Args, Command, CommandFactory, FromArgMatches};
use haft_contract::{Arguments, ToolDefinition};
use serde_json::{Map, Value};

use crate::arguments::{Cli, Common, ToolWords};
use crate::failure::Failure;
use crate::help;
use crate::parameters;

/// The words behind a command, read with what is known of the tool.
#[derive(Debug)]
pub(crate) struct Invocation {
    pub(crate) common: Common,
    text: Option<String>,
    flags: Map<String, Value>,
}

/// The tool and the words behind it; without a tool, what to type.
pub(crate) fn named(words: ToolWords, command: &str) -> Result<(OsString, Vec<OsString>), clap::Error> {
    words.split().ok_or_else(|| {
        let mut cli = Cli::command();
        cli.build();
        let mut error = clap::Error::new(ErrorKind::MissingRequiredArgument);
        if let Some(command) = cli.find_subcommand_mut(command) {
            error = error.with_cmd(command);
            error.insert(ContextKind::Usage, ContextValue::StyledStr(command.render_usage()));
        }
        error.insert(ContextKind::InvalidArg, ContextValue::Strings(vec!["<TOOL>".into()]));
        error
    })
}

/// A word that must be text.
pub(crate) fn text(word: &OsStr) -> Result<&str, Failure> {
    word.to_str().ok_or_else(|| {
        let message = format!("'{}' is not UTF-8", word.to_string_lossy());
        Failure::usage(message).help("names and arguments are UTF-8 text; JSON can spell any character as \\uXXXX")
    })
}

impl Invocation {
    /// Reads the words behind the name of a tool; common flags among them win over those before it.
    pub(crate) fn read(command: &'static str, tool: &str, definition: Option<&ToolDefinition>, words: Vec<OsString>, before: Common) -> Result<Self, clap::Error> {
        let grammar = grammar(command, tool, definition);
        let words = if definition.is_some() { words } else { without_parameters(words) };
        let matches = grammar.try_get_matches_from(words)?;
        Ok(Self {
            common: before.then(Common::from_arg_matches(&matches)?),
            text: matches.get_one("JSON").cloned(),
            flags: definition.map(|definition| parameters::collect(&matches, definition)).unwrap_or_default(),
        })
    }

    /// The arguments; `None` if none were given at all. `limit` bounds what is read from standard input.
    pub(crate) fn arguments(self, limit: usize) -> Result<Option<Arguments>, Failure> {
        let text = match self.text {
            Some(text) if text == "-" => Some(standard_input(limit)?),
            text => text,
        };
        Ok(combined(text, self.flags))
    }

    /// Whether the arguments come from standard input, so that nobody can be asked there.
    pub(crate) fn reads_standard_input(&self) -> bool {
        self.text.as_deref() == Some("-")
    }
}

fn grammar(command: &'static str, tool: &str, definition: Option<&ToolDefinition>) -> Command {
    let name = definition.map_or(tool, |definition| &definition.name);
    let json = Arg::new("JSON").help("The arguments as a JSON object, or - to read it from standard input").allow_negative_numbers(true);
    let grammar = Command::new(format!("haft {command} {name}"))
        .no_binary_name(true)
        .override_usage(format!("haft {command} {name} [JSON] [--PARAMETER VALUE]... [OPTIONS]"))
        .arg(json);
    let grammar = Common::augment_args(grammar);
    match definition {
        Some(definition) => parameters::augment(grammar.about(definition.description.clone().into_owned()), definition),
        None => grammar.about(help::ABOUT),
    }
}

/// The common flags and the JSON alone: nobody knows the parameters of a tool that is not there.
fn without_parameters(words: Vec<OsString>) -> Vec<OsString> {
    let command = Common::augment_args(Command::new("common"));
    let takes_value = |name: &str| {
        let argument = command.get_arguments().find(|argument| argument.get_long() == Some(name))?;
        Some(argument.get_action().takes_values())
    };
    let mut kept = Vec::new();
    let mut words = words.into_iter();
    while let Some(word) = words.next() {
        let flag = word.to_str().and_then(|word| word.strip_prefix("--")).map(str::to_owned);
        match flag.as_deref().map(|flag| (takes_value(flag.split('=').next().unwrap_or_default()), flag.contains('='))) {
            None if word == "-v" || word == "-h" => kept.push(word),
            None if kept.iter().all(|known: &OsString| known.to_string_lossy().starts_with('-')) && !word.to_string_lossy().starts_with("-") => kept.push(word),
            Some((Some(true), false)) => kept.extend([Some(word), words.next()].into_iter().flatten()),
            Some((Some(_), _)) => kept.push(word),
            _ => {}
        }
    }
    kept
}

/// Flags win over keys. Text that is no object is left to the arguments stage, which says what is wrong with it.
fn combined(text: Option<String>, flags: Map<String, Value>) -> Option<Arguments> {
    if flags.is_empty() {
        return text.map(Arguments::Text);
    }
    let mut object = match text.as_deref().map(str::trim) {
        None | Some("") => Map::new(),
        Some(json) => match serde_json::from_str(json) {
            Ok(Value::Object(object)) => object,
            _ => return text.map(Arguments::Text),
        },
    };
    object.extend(flags);
    Some(Arguments::Json(Value::Object(object)))
}

/// Everything on standard input up to one byte more than is allowed: the arguments stage refuses that much.
fn standard_input(limit: usize) -> Result<String, Failure> {
    let mut bytes = Vec::new();
    let most = u64::try_from(limit).unwrap_or(u64::MAX).saturating_add(1);
    std::io::stdin().lock().take(most).read_to_end(&mut bytes).map_err(|error| {
        Failure::failed("execution_error", format!("standard input cannot be read: {error}")).help("give the JSON as an argument instead")
    })?;
    if bytes.len() > limit {
        return Ok(String::from_utf8_lossy(&bytes).into_owned());
    }
    String::from_utf8(bytes).map_err(|error| {
        let place = error.utf8_error().valid_up_to();
        Failure::usage(format!("standard input is not UTF-8 (at byte {place})")).help("arguments are a JSON object in UTF-8")
    })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn definition() -> ToolDefinition {
        ToolDefinition::new("try", "Tries.", json!({"type": "object", "properties": {"path": {"type": "string"}, "n": {"type": "integer"}}}))
    }

    fn read(definition: Option<&ToolDefinition>, words: &[&str]) -> Invocation {
        Invocation::read("call", "try", definition, words.iter().map(OsString::from).collect(), Common::default()).unwrap()
    }

    #[test]
    fn json_and_flags_meet_and_flags_win() {
        for (words, expected) in [
            (&[][..], None),
            (&["{\"path\":\"a\"}"], Some(Arguments::Text("{\"path\":\"a\"}".into()))),
            (&["--path", "b"], Some(Arguments::Json(json!({"path": "b"})))),
            (&["{\"path\":\"a\",\"n\":1}", "--path", "b"], Some(Arguments::Json(json!({"path": "b", "n": 1})))),
            (&["", "--path", "b"], Some(Arguments::Json(json!({"path": "b"})))),
            (&["[1]", "--path", "b"], Some(Arguments::Text("[1]".into()))),
            (&["{", "--path", "b"], Some(Arguments::Text("{".into()))),
            (&["-5"], Some(Arguments::Text("-5".into()))),
        ] {
            assert_eq!(read(Some(&definition()), words).arguments(100).unwrap(), expected, "{words:?}");
        }
    }

    #[test]
    fn of_an_unknown_tool_only_json_and_common_flags_are_read() {
        let words = ["{\"a\":1}", "--path", "x", "--json", "--depth=3", "--access", "read-only", "--agent=me", "-q", "-v"];
        let invocation = read(None, &words);
        let Common { json, verbose, access, agent, .. } = invocation.common.clone();
        assert_eq!((json, verbose, access, agent.as_deref()), (true, true, Some(haft_contract::Access::ReadOnly), Some("me")));
        assert_eq!(invocation.arguments(100).unwrap(), Some(Arguments::Text("{\"a\":1}".into())));
    }
}

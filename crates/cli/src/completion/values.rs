//! Values of arguments: what there is on this machine right now. Whatever cannot be read has no values, and nothing is created.

use std::future::Future;
use std::path::PathBuf;
use std::sync::Arc;

use clap::{Arg, Command, ValueHint};
use clap_complete::engine::{ArgValueCandidates, CompletionCandidate};
use haft_contract::{Dialect, ToolDefinition};
use haft_engine::Registry;
use haft_policy::catalog::PROFILES;
use haft_store::{CallFilter, CallLog, SessionFilter, StateStore};

use crate::arguments::Common;
use crate::commands::block_on;
use crate::failure::Failure;
use crate::output::Output;
use crate::parameters;
use crate::wire::{self, Wire, models};

/// Sessions and calls of the past to choose from, newest first.
const MOST: usize = 30;
const LAST: &str = "last";

type ValueSource = fn() -> Vec<CompletionCandidate>;

/// Flags that every command has.
const COMMON: &[(&str, ValueSource)] =
    &[("access", levels), ("agent", agents), ("profile", profiles), ("preset", presets), ("dialect", dialects)];

/// Arguments of single commands, by path and name.
const OWN: &[(&[&str], &str, ValueSource)] = &[
    (&["run"], "model", models),
    (&["run"], "session", sessions),
    (&["chat"], "model", models),
    (&["chat"], "resume", sessions),
    (&["explain"], "session", sessions),
    (&["tools"], "name", tools),
    (&["agents", "show"], "name", agents),
    (&["agents", "edit"], "name", agents),
    (&["agents", "edit"], "model", models),
    (&["sessions", "show"], "id", sessions),
    (&["sessions", "resume"], "id", sessions),
    (&["sessions", "export"], "id", sessions),
    (&["sessions", "fork"], "id", sessions),
    (&["sessions", "delete"], "id", sessions),
    (&["browser", "show"], "session", sessions),
    (&["browser", "recordings"], "session", sessions),
    (&["skills", "show"], "name", skills),
    (&["history"], "id", calls),
    (&["history"], "tool", tools),
    (&["undo"], "id", calls),
    (&["undo"], "session", sessions),
    (&["config", "preset"], "name", presets),
];

/// The command line with the values of its arguments.
pub(super) fn add(cli: Command) -> Command {
    OWN.iter().fold(of_common_flags(cli), |cli, (path, name, values)| beneath(cli, path, name, *values))
}

/// A command with the values of the flags that every command has.
pub(super) fn of_common_flags(command: Command) -> Command {
    command.mut_args(|argument| match COMMON.iter().find(|(name, _)| argument.get_id() == *name) {
        Some((_, values)) => with(argument, *values),
        None => argument,
    })
}

/// The command of a tool with the values of its parameters: those of an enumeration, or paths.
pub(super) fn of_parameters(mut command: Command, definition: &ToolDefinition) -> Command {
    for parameter in parameters::list(definition) {
        let (id, choices) = (parameter.id(), parameter.choices());
        let is_path = parameter.name.ends_with("path") || parameter.name == "workdir";
        if command.get_arguments().all(|argument| argument.get_id() != id.as_str()) {
            continue;
        }
        command = command.mut_arg(&id, |argument| match choices.is_empty() {
            false => argument.add(ArgValueCandidates::new(move || candidates(choices.clone()))),
            true if is_path => argument.value_hint(ValueHint::AnyPath),
            true => argument,
        });
    }
    if parameters::only_required_text(definition).is_some_and(|name| name.ends_with("path")) {
        command = command.mut_arg("JSON", |argument| argument.value_hint(ValueHint::AnyPath));
    }
    command
}

fn beneath(command: Command, path: &[&'static str], name: &'static str, values: ValueSource) -> Command {
    match path {
        [first, rest @ ..] => command.mut_subcommand(*first, |inner| beneath(inner, rest, name, values)),
        [] => command.mut_arg(name, |argument| with(argument, values)),
    }
}

fn with(argument: Arg, values: ValueSource) -> Arg {
    argument.add(ArgValueCandidates::new(values))
}

fn candidates<T: Into<std::ffi::OsString>>(values: impl IntoIterator<Item = T>) -> Vec<CompletionCandidate> {
    values.into_iter().map(CompletionCandidate::new).collect()
}

fn levels() -> Vec<CompletionCandidate> {
    candidates(["read-only", "workspace-write", "full-access"])
}

fn profiles() -> Vec<CompletionCandidate> {
    candidates(PROFILES.iter().copied())
}

fn presets() -> Vec<CompletionCandidate> {
    let meaning = |text: &'static str| text.lines().next().map(|line| line.trim_start_matches(['#', ' ']).into());
    haft_config::presets().map(|(name, text)| CompletionCandidate::new(name).help(meaning(text))).collect()
}

fn dialects() -> Vec<CompletionCandidate> {
    candidates(Dialect::ALL.iter().map(|dialect| dialect.as_str()))
}

fn tools() -> Vec<CompletionCandidate> {
    let registry = registry();
    candidates(registry.iter().flat_map(|registry| registry.entries()).map(|entry| entry.name().to_owned()))
}

/// The tools of this folder.
pub(super) fn registry() -> Option<Arc<Registry>> {
    wire::registry_in(None).ok()
}

fn agents() -> Vec<CompletionCandidate> {
    candidates(configured().map(|wire| wire.agents()).unwrap_or_default())
}

fn models() -> Vec<CompletionCandidate> {
    candidates(configured().map(|wire| models::names_without_asking(&wire.settings)).unwrap_or_default())
}

fn skills() -> Vec<CompletionCandidate> {
    let skills = configured().map(|wire| wire.prompts.skills());
    candidates(skills.iter().flat_map(|skills| &skills.skills).map(|skill| skill.name.clone()))
}

fn sessions() -> Vec<CompletionCandidate> {
    let filter = SessionFilter { limit: Some(MOST), ..SessionFilter::default() };
    let listed = read_store(|store| async move { Ok(store.sessions().list(filter).await?) }).unwrap_or_default();
    let one = |session: haft_store::SessionRecord| CompletionCandidate::new(session.id).help(session.title.map(Into::into));
    candidates([LAST]).into_iter().chain(listed.into_iter().map(one)).collect()
}

fn calls() -> Vec<CompletionCandidate> {
    let filter = CallFilter { limit: Some(MOST), ..CallFilter::default() };
    let listed = read_store(|store| async move { Ok(store.list(filter).await?) }).unwrap_or_default();
    let one = |call: haft_store::CallRecord| CompletionCandidate::new(call.id).help(Some(call.tool.into()));
    candidates([LAST]).into_iter().chain(listed.into_iter().map(one)).collect()
}

/// The configuration, if it has no errors.
fn configured() -> Option<Wire> {
    let common = Common::default();
    Wire::new(&common, &Output::new(true, false, true)).ok()
}

/// Reads from the database, if there is one.
fn read_store<T, F: Future<Output = Result<T, Failure>>>(read: impl FnOnce(Arc<StateStore>) -> F) -> Option<T> {
    let folder: PathBuf = wire::data_folder().ok()?;
    if wire::store_address().is_none() && !folder.join("haft.db").exists() {
        return None;
    }
    let store = Arc::new(wire::open_store(&folder).ok()?.store);
    block_on(read(store)).ok()
}

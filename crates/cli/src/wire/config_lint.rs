//! Warnings of `haft config check` about settings that are valid and cannot do what they say: models and addresses that nothing
//! answers at, programs of hooks that are not there, and lists that leave a way around them.

use std::path::Path;

use haft_config::{HookSettings, Loaded, SettingSource, Sourced};
use haft_contract::{AskMode, RuleTarget};
use haft_policy::{Policy, Verdict};

use super::{Wire, models};
use crate::arguments::CallerArgs;

/// The most warnings of one kind.
const MOST: usize = 20;

/// Words at the beginning of a command that are no programs.
const BUILTINS: &[&str] = &[
    ".", ":", "[", "alias", "break", "case", "cd", "command", "continue", "echo", "eval", "exec", "exit", "export", "false", "for", "if",
    "kill", "local", "printf", "pwd", "read", "readonly", "return", "set", "shift", "source", "test", "time", "trap", "true", "type",
    "ulimit", "umask", "unset", "until", "wait", "while",
];

/// A warning and its place.
struct LintWarning {
    source: SettingSource,
    key: String,
    message: String,
    help: String,
}

/// Adds the warnings.
pub(crate) fn warn_of_settings(wire: &Wire, loaded: &mut Loaded) {
    let all = [
        unknown_models(wire, loaded),
        bare_addresses(loaded),
        loaded.provenance.hooks().iter().filter_map(|hook| missing_program(hook, &wire.settings.workspace)).collect(),
        allow_lists(wire, loaded),
        same_effects(wire, loaded),
    ];
    for LintWarning { source, key, message, help } in all.into_iter().flat_map(|found| found.into_iter().take(MOST)) {
        loaded.warn_at(source, &key, message, help);
    }
}

/// Models whose provider nothing describes.
fn unknown_models(wire: &Wire, loaded: &Loaded) -> Vec<LintWarning> {
    let settings =
        loaded.provenance.settings().iter().filter(|setting| matches!(setting.key.path, "model" | "small_model" | "agents.*.model"));
    let check = |setting: &haft_config::Setting| {
        let failure = models::check_name(&wire.settings, setting.value.as_text()?).err()?;
        let key = setting.path.join(".");
        let help = failure.help.clone().unwrap_or_else(|| "`haft models` lists the models".to_owned());
        Some(LintWarning { source: setting.source.clone(), message: format!("'{key}': {}", failure.message), key, help })
    };
    settings.filter_map(check).collect()
}

/// Addresses without `http://` or `https://`.
fn bare_addresses(loaded: &Loaded) -> Vec<LintWarning> {
    let settings = loaded.provenance.settings().iter().filter(|setting| setting.key.path == "providers.*.base_url");
    let check = |setting: &haft_config::Setting| {
        let url = setting.value.as_text()?;
        let has_scheme = url.starts_with("https://") || url.starts_with("http://");
        let (key, scheme) = (setting.path.join("."), if is_local(url) { "http" } else { "https" });
        (!has_scheme).then(|| LintWarning {
            source: setting.source.clone(),
            message: format!("'{key}' is '{url}', which has no scheme: no request can be sent there"),
            key,
            help: format!("write \"{scheme}://{}\"", url.trim_start_matches('/')),
        })
    };
    settings.filter_map(check).collect()
}

fn is_local(url: &str) -> bool {
    ["localhost", "127.", "[::1]", "0.0.0.0"].iter().any(|start| url.starts_with(start))
}

/// A hook whose program is nowhere. Files of the workspace are checked when the file is loaded.
fn missing_program(hook: &HookSettings, workspace: &Path) -> Option<LintWarning> {
    let program = first_program(&hook.command)?;
    let home = || std::env::var_os("HOME").map(std::path::PathBuf::from);
    let is_there = match program.split_once('/') {
        None => std::env::split_paths(&std::env::var_os("PATH")?).any(|folder| folder.join(program).is_file()),
        Some(("", _)) => Path::new(program).is_file() || Path::new(program).starts_with(workspace),
        Some(("~", rest)) => home()?.join(rest).is_file(),
        Some(_) => return None,
    };
    let name = hook.name.as_deref().unwrap_or(hook.event.as_str());
    (!is_there).then(|| LintWarning {
        source: hook.source.clone(),
        key: "hooks[].command".into(),
        message: format!("the hook '{name}' runs '{program}', which is not on this machine"),
        help: "install the program, or correct the command; until then every call that the hook guards fails or is not guarded".into(),
    })
}

/// The first word of a command that is a program, if that can be told.
fn first_program(command: &str) -> Option<&str> {
    let is_assignment = |word: &&str| word.split_once('=').is_some_and(|(name, _)| !name.is_empty() && !name.contains('/'));
    let word = command.split_whitespace().find(|word| !is_assignment(word))?.trim_end_matches(';');
    let is_plain = word.chars().all(|ch| ch.is_ascii_alphanumeric() || "._-+/~".contains(ch));
    (is_plain && !word.is_empty() && !BUILTINS.contains(&word)).then_some(word)
}

/// Names without parentheses in `rules.allow`, where nothing asks about them: they were meant as the only tools.
fn allow_lists(wire: &Wire, loaded: &Loaded) -> Vec<LintWarning> {
    let mode = wire.settings.config.ask;
    let asks = matches!(mode, AskMode::Always | AskMode::Changes) || !loaded.provenance.value("rules.ask").entries().is_empty();
    let is_meant = |entry: &&Sourced<String>| !asks && !entry.value.contains('(') && !has_unknown_effects(wire, &entry.value);
    let warning = |entry: &Sourced<String>| LintWarning {
        source: entry.source.clone(),
        key: "rules.allow".into(),
        message: format!(
            "'rules.allow' has '{}', about which nothing asks: an allow rule replaces an approval and denies nothing else",
            entry.value
        ),
        help: "to offer only some tools, list them in tools.allow; to limit an effect, write rules.only, such as \"write(docs/**)\"".into(),
    };
    loaded.provenance.value("rules.allow").entries().iter().filter(is_meant).map(warning).collect()
}

/// Whether a tool's effects are known only when it runs: then a rule on the tool answers the question.
fn has_unknown_effects(wire: &Wire, name: &str) -> bool {
    let entries = wire.registry.entries();
    let known = entries.iter().find(|entry| wire.policy.vocabulary().canonical(name) == Some(entry.name()));
    known.is_some_and(|entry| entry.definition().rules.is_none())
}

/// Tools that a list removes though others with the same effect stay.
fn same_effects(wire: &Wire, loaded: &Loaded) -> Vec<LintWarning> {
    let Ok(session) = wire.listing(&wire.settings.agent, &CallerArgs::default()) else { return Vec::new() };
    let denied = loaded.provenance.value("rules.deny").entries();
    let entries = wire.registry.entries();
    let offered =
        |entry: &&std::sync::Arc<haft_engine::ToolEntry>| wire.policy.offer(&entry.candidate(), session.caller()).verdict != Verdict::Deny;
    let with_effect = |effect: &str| {
        let has = |entry: &&std::sync::Arc<haft_engine::ToolEntry>| {
            let own = entry.definition().rules.and_then(effect_of);
            own == Some(effect) || (own == Some("exec") && matches!(effect, "read" | "write"))
        };
        entries.iter().filter(offered).filter(has).map(|entry| format!("'{}'", entry.name())).collect::<Vec<_>>()
    };
    let lists = ["tools.disabled", "tools.deny", "rules.deny"];
    let found = lists.into_iter().flat_map(|key| loaded.provenance.value(key).entries().iter().map(move |entry| (key, entry)));
    let check = |(key, entry): (&'static str, &Sourced<String>)| {
        let name = wire.policy.vocabulary().canonical(&entry.value).filter(|name| key != "rules.deny" || *name != "exec")?;
        let definition = entries.iter().find(|entry| entry.name() == name)?.definition();
        let effect = effect_of(definition.rules?).filter(|effect| !denied.iter().any(|rule| rule.value.trim() == *effect))?;
        let others = with_effect(effect);
        let (last, first) = others.split_last()?;
        let others = if first.is_empty() { last.clone() } else { format!("{} and {last}", first.join(", ")) };
        let does = match effect {
            "exec" => "run programs",
            "connect" => "reach hosts",
            "write" => "write files",
            _ => "read files",
        };
        Some(LintWarning {
            source: entry.source.clone(),
            key: key.into(),
            message: format!("'{key}' has '{}', and {others} can {does} as well", entry.value),
            help: format!("to deny the effect whichever tool has it, add '{effect}' to rules.deny, or '{effect}(…)' for a part of it"),
        })
    };
    found.filter_map(check).collect()
}

/// The effect that tools of this kind are there for.
fn effect_of(target: RuleTarget) -> Option<&'static str> {
    match target {
        RuleTarget::Read => Some("read"),
        RuleTarget::Write | RuleTarget::Edit => Some("write"),
        RuleTarget::Exec => Some("exec"),
        RuleTarget::Connect => Some("connect"),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn program_of_a_command_is_its_first_word_if_that_can_be_told() {
        for (command, program) in [
            ("check-call --strict", Some("check-call")),
            ("MODE=x LEVEL=2 check-call", Some("check-call")),
            ("/opt/hooks/check", Some("/opt/hooks/check")),
            ("~/bin/check;", Some("~/bin/check")),
            ("read -r call; case $call in esac", None),
            ("[ -f x ] && y", None),
            ("$CHECK x", None),
            ("\"my check\" x", None),
            ("", None),
        ] {
            assert_eq!(first_program(command), program, "{command}");
        }
    }
}

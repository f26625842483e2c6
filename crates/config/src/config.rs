//! The resolved configuration, typed.

use std::time::Duration;

use haft_contract::{Access, AskMode};

use crate::document::Contents;
use crate::merge::merge;
use crate::problem::Problems;
use crate::provenance::Provenance;
use crate::{Budget, Context, Exec, Root, Sandbox, Sourced, Value};

/// What the taint guard does when a call could carry private data out.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Taint {
    /// Nothing.
    Off,
    /// Asks a person.
    #[default]
    Ask,
    /// Refuses.
    Deny,
}

/// Which tools are offered.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Tools {
    /// Named sets of tools: a tool must be in each of them.
    pub profile: Vec<String>,
    /// Switched off for everyone.
    pub disabled: Vec<String>,
    /// A tool must match an entry of each of these lists; no list at all means every tool does.
    pub allow: Vec<Vec<String>>,
    /// Added to what the profile and the lists leave.
    pub also_allow: Vec<String>,
    /// Never offered.
    pub deny: Vec<String>,
}

/// Rules on effects, as written. `deny` wins over `ask`, `ask` over `allow`.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Rules {
    /// Never happens.
    pub deny: Vec<String>,
    /// Needs a person's word.
    pub ask: Vec<String>,
    /// Needs nobody's word.
    pub allow: Vec<String>,
}

/// Agents that agents start.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct Subagents {
    /// How deep agents may start agents.
    pub max_depth: u32,
}

/// What tools may reach.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Network {
    /// Reachable although private.
    pub allow: Vec<String>,
    /// Never reached; wins.
    pub deny: Vec<String>,
}

/// Which files tools may use.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Workspace {
    /// Folders outside the workspace.
    pub roots: Vec<Root>,
    /// Never read.
    pub deny_read: Vec<String>,
    /// Whether what is most likely a secret may be read.
    pub allow_secrets: bool,
}

/// After how many repeats the loop guard acts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct LoopGuard {
    /// The model is told.
    pub note: u32,
    /// The call is refused.
    pub block: u32,
    /// The run ends.
    pub stop: u32,
}

/// The guards.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct Guards {
    /// The taint guard.
    pub taint: Taint,
    /// The loop guard; `None` is off.
    pub loops: Option<LoopGuard>,
}

/// How much of everything there may be.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct Limits {
    /// Text that one call may give the model.
    pub output_bytes: usize,
    /// Arguments of one call.
    pub argument_bytes: usize,
    /// One spill file.
    pub spill_bytes: u64,
}

/// How people are asked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct Approvals {
    /// How long a person has to answer.
    pub timeout: Duration,
}

/// What is kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct History {
    /// How much of a result the history keeps.
    pub summary_bytes: usize,
}

/// The configuration, resolved. Where each value came from is in [`Provenance`].
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Config {
    /// The preset that the person named.
    pub preset: Option<&'static str>,
    /// How much a session may do.
    pub access: Access,
    /// When a person is asked.
    pub ask: AskMode,
    /// Which tools are offered.
    pub tools: Tools,
    /// Rules on effects.
    pub rules: Rules,
    /// Agents that agents start.
    pub subagents: Subagents,
    /// How commands are run.
    pub exec: Exec,
    /// The walls around them.
    pub sandbox: Sandbox,
    /// What tools may reach.
    pub network: Network,
    /// Which files tools may use.
    pub workspace: Workspace,
    /// The guards.
    pub guards: Guards,
    /// How much of everything there may be.
    pub limits: Limits,
    /// How people are asked.
    pub approvals: Approvals,
    /// What is kept.
    pub history: History,
    /// What conversations with models may cost.
    pub budget: Budget,
    /// How large they may grow.
    pub context: Context,
}

impl Default for Config {
    /// What holds without any file.
    fn default() -> Self {
        Self::from(&merge(Contents::default(), &mut Problems::default()))
    }
}

impl From<&Provenance> for Config {
    fn from(settings: &Provenance) -> Self {
        let texts = |key: &str| values(settings.entries(key));
        Self {
            preset: word(settings, "preset"),
            access: access(settings),
            ask: ask(settings),
            tools: Tools {
                profile: values(settings.texts("tools.profile")),
                disabled: texts("tools.disabled"),
                allow: settings.lists("tools.allow").iter().map(|list| values(&list.value)).collect(),
                also_allow: texts("tools.also_allow"),
                deny: texts("tools.deny"),
            },
            rules: Rules { deny: texts("rules.deny"), ask: texts("rules.ask"), allow: texts("rules.allow") },
            subagents: Subagents { max_depth: number(settings, "subagents.max_depth") },
            exec: Exec::from(settings),
            sandbox: Sandbox::from(settings),
            network: Network { allow: texts("network.allow"), deny: texts("network.deny") },
            workspace: Workspace {
                roots: values(settings.roots("workspace.roots")),
                deny_read: texts("workspace.deny_read"),
                allow_secrets: word(settings, "workspace.secrets") == Some("allow"),
            },
            guards: Guards { taint: taint(settings), loops: loops(settings) },
            limits: Limits {
                output_bytes: number(settings, "limits.output_bytes"),
                argument_bytes: number(settings, "limits.argument_bytes"),
                spill_bytes: number(settings, "limits.spill_bytes"),
            },
            approvals: Approvals { timeout: Duration::from_secs(number(settings, "approvals.timeout_seconds")) },
            history: History { summary_bytes: number(settings, "history.summary_bytes") },
            budget: Budget::from(settings),
            context: Context::from(settings),
        }
    }
}

fn values<T: Clone>(entries: &[Sourced<T>]) -> Vec<T> {
    entries.iter().map(|entry| entry.value.clone()).collect()
}

// The key table gives each of these keys its type, and a test reads every default back. Should the two ever part, the
// strictest value holds.
fn access(settings: &Provenance) -> Access {
    match settings.get("access").map(|setting| &setting.value) {
        Some(Value::Access(level)) => *level,
        _ => Access::ReadOnly,
    }
}

fn ask(settings: &Provenance) -> AskMode {
    let word = word(settings, "ask");
    AskMode::ALL.into_iter().find(|ask| Some(ask.as_str()) == word).unwrap_or(AskMode::Always)
}

fn taint(settings: &Provenance) -> Taint {
    match word(settings, "guards.taint") {
        Some("off") => Taint::Off,
        Some("ask") => Taint::Ask,
        _ => Taint::Deny,
    }
}

pub(crate) fn word(settings: &Provenance, key: &str) -> Option<&'static str> {
    match settings.get(key)?.value {
        Value::Choice(word) => Some(word),
        _ => None,
    }
}

fn loops(settings: &Provenance) -> Option<LoopGuard> {
    let off = matches!(settings.get("guards.loop").map(|setting| &setting.value), Some(Value::Flag(false)));
    (!off).then(|| LoopGuard {
        note: number(settings, "guards.loop_note"),
        block: number(settings, "guards.loop_block"),
        stop: number(settings, "guards.loop_stop"),
    })
}

pub(crate) fn number<T: TryFrom<u64> + Default>(settings: &Provenance, key: &str) -> T {
    match settings.get(key).map(|setting| &setting.value) {
        Some(Value::Count(count)) => T::try_from(*count).unwrap_or_default(),
        _ => T::default(),
    }
}

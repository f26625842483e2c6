//! The resolved configuration, typed.

use std::str::FromStr;
use std::time::Duration;

use haft_contract::{Access, AskMode, SessionVisibility, TaintPolicy};

use crate::browser::BrowserConfig;
use crate::document::LayerContents;
use crate::memory::MemoryConfig;
use crate::merge::merge;
use crate::problem::Problems;
use crate::provenance::Provenance;
use crate::web::WebConfig;
use crate::{
    BudgetSettings, ConfigValue, ContextSettings, ExecSettings, QuotaSettings, RetentionSettings, RootSetting, SandboxSettings, Sourced,
};

/// Agents that agents start.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct SubagentSettings {
    /// How deep agents may start agents.
    pub max_depth: u32,
    /// How many sub-agents of one conversation may run or wait at a time.
    pub max_children: usize,
    /// How many sub-agents of the same depth work at a time.
    pub concurrency: usize,
    /// How long a sub-agent may take.
    pub timeout: Option<Duration>,
}

impl SubagentSettings {
    fn from(settings: &Provenance) -> Self {
        Self {
            max_depth: number(settings, "subagents.max_depth"),
            max_children: number(settings, "subagents.max_children"),
            concurrency: number(settings, "subagents.concurrency"),
            timeout: Some(number(settings, "subagents.timeout_seconds")).filter(|seconds| *seconds > 0).map(Duration::from_secs),
        }
    }
}

/// Private hosts that tools may reach, and hosts that they never reach.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct NetworkSettings {
    /// Reachable although private.
    pub allow: Vec<String>,
    /// Never reached; wins.
    pub deny: Vec<String>,
    /// The proxy that connections go through.
    pub proxy: Option<String>,
    /// Hosts that are connected to without it.
    pub no_proxy: Vec<String>,
}

/// Which files tools may use.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct WorkspaceSettings {
    /// Folders outside the workspace.
    pub roots: Vec<RootSetting>,
    /// Never read.
    pub deny_read: Vec<String>,
    /// Whether likely secrets may be read.
    pub allow_secrets: bool,
}

/// After how many repeats the loop guard acts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct LoopGuardSettings {
    /// The model is warned.
    pub note: u32,
    /// The call is refused.
    pub block: u32,
    /// The run ends.
    pub stop: u32,
}

/// The guards.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct GuardSettings {
    /// The taint guard.
    pub taint: TaintPolicy,
    /// The loop guard; `None` is off.
    pub loops: Option<LoopGuardSettings>,
}

/// Limits on sizes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct LimitSettings {
    /// Text that one call may give the model.
    pub output_bytes: usize,
    /// Arguments of one call.
    pub argument_bytes: usize,
    /// One spill file.
    pub spill_bytes: u64,
}

/// How the user is asked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct ApprovalSettings {
    /// How long the user has to answer.
    pub timeout: Duration,
}

/// What history stores.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct HistorySettings {
    /// How much of a result it stores.
    pub summary_bytes: usize,
}

/// What the terminal shows of a conversation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct DisplaySettings {
    /// The to-do list, when it changes.
    pub todos: bool,
    /// Tokens, cost and time at the end of a turn.
    pub usage: bool,
}

/// The resolved configuration. [`Provenance`] has the source of each value, and the lists of tools and rules.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Config {
    /// How much a session may do.
    pub access: Access,
    /// When the user is asked.
    pub ask: AskMode,
    /// Agents that agents start.
    pub subagents: SubagentSettings,
    /// The conversations that agents see.
    pub visibility: SessionVisibility,
    /// How commands are run.
    pub exec: ExecSettings,
    /// The sandbox around them.
    pub sandbox: SandboxSettings,
    /// Which hosts tools may reach.
    pub network: NetworkSettings,
    /// How the web tools behave.
    pub web: WebConfig,
    /// How the browser behaves.
    pub browser: BrowserConfig,
    /// How memory behaves.
    pub memory: MemoryConfig,
    /// Which files tools may use.
    pub workspace: WorkspaceSettings,
    /// The guards.
    pub guards: GuardSettings,
    /// Limits on sizes.
    pub limits: LimitSettings,
    /// How the user is asked.
    pub approvals: ApprovalSettings,
    /// What history stores.
    pub history: HistorySettings,
    /// How long stored data stays.
    pub retention: RetentionSettings,
    /// What conversations with models may cost.
    pub budget: BudgetSettings,
    /// What may be used in one day, and stored.
    pub quota: QuotaSettings,
    /// How large they may grow.
    pub context: ContextSettings,
    /// What the terminal shows.
    pub display: DisplaySettings,
    /// Tools of the default deny list that `haft serve` lets requests call.
    pub invoke_allow: Vec<String>,
}

impl Default for Config {
    /// The configuration without any file.
    fn default() -> Self {
        Self::from(&merge(LayerContents::default(), &mut Problems::default()))
    }
}

impl From<&Provenance> for Config {
    fn from(settings: &Provenance) -> Self {
        let texts = |key: &str| values(settings.value(key).entries());
        Self {
            access: settings.value("access").as_access().unwrap_or(Access::ReadOnly),
            ask: parsed(settings, "ask").unwrap_or(AskMode::Always),
            subagents: SubagentSettings::from(settings),
            visibility: parsed(settings, "sessions.visibility").unwrap_or(SessionVisibility::Own),
            exec: ExecSettings::from(settings),
            sandbox: SandboxSettings::from(settings),
            network: NetworkSettings {
                allow: texts("network.allow"),
                deny: texts("network.deny"),
                proxy: settings.value("network.proxy").as_text().map(str::to_owned),
                no_proxy: texts("network.no_proxy"),
            },
            web: WebConfig::from(settings),
            browser: BrowserConfig::from(settings),
            memory: MemoryConfig::from(settings),
            workspace: WorkspaceSettings {
                roots: values(settings.value("workspace.roots").roots()),
                deny_read: texts("workspace.deny_read"),
                allow_secrets: word(settings, "workspace.secrets") == Some("allow"),
            },
            guards: GuardSettings { taint: parsed(settings, "guards.taint").unwrap_or(TaintPolicy::Deny), loops: loops(settings) },
            limits: LimitSettings {
                output_bytes: number(settings, "limits.output_bytes"),
                argument_bytes: number(settings, "limits.argument_bytes"),
                spill_bytes: number(settings, "limits.spill_bytes"),
            },
            approvals: ApprovalSettings { timeout: Duration::from_secs(number(settings, "approvals.timeout_seconds")) },
            history: HistorySettings { summary_bytes: number(settings, "history.summary_bytes") },
            retention: RetentionSettings::from(settings),
            budget: BudgetSettings::from(settings),
            quota: QuotaSettings::from(settings),
            context: ContextSettings::from(settings),
            display: DisplaySettings {
                todos: settings.value("display.todo_list").is_true(),
                usage: settings.value("display.usage").is_true(),
            },
            invoke_allow: texts("gateway.invoke_allow"),
        }
    }
}

fn values<T: Clone>(entries: &[Sourced<T>]) -> Vec<T> {
    entries.iter().map(|entry| entry.value.clone()).collect()
}

// The key table gives each of these keys its type, and a test reads every default back. Should the two ever differ, the
// strictest value holds.
pub(crate) fn parsed<T: FromStr>(settings: &Provenance, key: &str) -> Option<T> {
    word(settings, key)?.parse().ok()
}

pub(crate) fn word<'s>(settings: &'s Provenance, key: &str) -> Option<&'s str> {
    settings.value(key).as_text()
}

fn loops(settings: &Provenance) -> Option<LoopGuardSettings> {
    (*settings.value("guards.loop") != ConfigValue::Flag(false)).then(|| LoopGuardSettings {
        note: number(settings, "guards.loop_note"),
        block: number(settings, "guards.loop_block"),
        stop: number(settings, "guards.loop_stop"),
    })
}

pub(crate) fn number<T: TryFrom<u64> + Default>(settings: &Provenance, key: &str) -> T {
    settings.value(key).as_count().and_then(|count| T::try_from(count).ok()).unwrap_or_default()
}

//! The session of an agent: its access, its guards, and the terminal that approves for it.

use std::io::IsTerminal;
use std::path::Path;
use std::sync::Arc;

use haft_agent::{ChildOffer, TurnWatcher, find_type};
use haft_config::ConfigLayer;
use haft_contract::ports::{ApprovalAnswer, ApprovalRequest, Approver, Host};
use haft_contract::{Access, BoxFuture};
use haft_engine::{LoopLimits, PermissionBroker, Session, SessionBuilder, ToolEntry};
use haft_host::LocalHost;
use haft_policy::{AccessLimit, Owner, Policy, Sender, SourceSpan, Verdict};

use super::rule_file::RuleFile;
use super::{UserPrompts, Wire, agent_types, policy};
use crate::arguments::CallerArgs;
use crate::failure::Failure;
use crate::terminal::{ProgressEvents, ReportingApprover, Terminal, TerminalApprover, TerminalPermissions, TerminalProgress};

impl Wire {
    /// The access level of an agent, at most that of the session, and where it is set.
    fn access_of(&self, agent: &str) -> (Access, SourceSpan) {
        let settings = &self.settings.provenance;
        let own = settings.get_at(&["agents", agent, "access"]);
        let own = own.filter(|setting| setting.value.as_access().is_some_and(|level| level < self.settings.config.access));
        let place = own.or_else(|| settings.get("access")).map(|setting| policy::source_span(&setting.source)).unwrap_or_default();
        (own.and_then(|setting| setting.value.as_access()).unwrap_or(self.settings.config.access), place)
    }

    /// Every key that limits the access of an agent, in every file that has it.
    fn access_limits(&self, agent: &str) -> Vec<AccessLimit> {
        let settings = &self.settings.provenance;
        let limits = |key: String, path: &[&str]| {
            let deciding = settings.deciding(path);
            let deciding = if deciding.is_empty() { settings.get_at(path).into_iter().collect() } else { deciding };
            let limit = |setting: &&haft_config::Setting| {
                Some(AccessLimit { key: key.clone(), access: setting.value.as_access()?, owner: policy::owner(&setting.source) })
            };
            // A project's file cannot raise the default: that is for the user's.
            let of_project_alone = deciding.iter().all(|setting| setting.source.layer == ConfigLayer::Project);
            let default = deciding.first().filter(|_| of_project_alone).and_then(|setting| setting.key.default.as_access());
            let default = default.map(|access| AccessLimit { key: key.clone(), access, owner: Owner::default() });
            default.into_iter().chain(deciding.iter().filter_map(limit)).collect::<Vec<_>>()
        };
        let own = limits(format!("agents.{agent}.access"), &["agents", agent, "access"]);
        limits("access".to_owned(), &["access"]).into_iter().chain(own).collect()
    }

    pub(super) fn session(
        &self,
        host: Arc<LocalHost>,
        agent: &str,
        prompts: UserPrompts,
        watcher: Option<&Arc<dyn TurnWatcher>>,
    ) -> SessionBuilder {
        self.labelled_session(host, agent, prompts, watcher, None)
    }

    /// What decides for an agent.
    fn deciding_session(&self, host: Arc<dyn Host>, agent: &str) -> SessionBuilder {
        let (access, access_span) = self.access_of(agent);
        let session = Session::builder(host)
            .owner()
            .agent(agent)
            .access(access)
            .access_from(access_span)
            .access_limits(self.access_limits(agent))
            .workspace(&self.settings.workspace)
            .dialect(self.settings.dialect(agent, None));
        match &self.limits {
            Some(limits) => limits.restrict(session),
            None => session,
        }
    }

    /// The tools that a sub-agent is offered.
    pub(super) fn tools_of_child(&self, child: &ChildOffer<'_>) -> Vec<String> {
        let session = self.deciding_session(Arc::clone(child.parent.host()), child.agent);
        let session = match child.model.split_once('/') {
            Some((provider, model)) => session.model(provider, Some(model.to_owned())),
            None => session,
        };
        let session = child.limits.iter().cloned().fold(session, SessionBuilder::limited);
        let session = self.restricted(session, child.agent_type, child.parent).build();
        // Nobody waits for output of a sub-agent but its text.
        let is_offered = |entry: &Arc<ToolEntry>| {
            entry.name() != "structured_output" && self.policy.offer(&entry.candidate(), session.caller()).verdict != Verdict::Deny
        };
        self.registry.entries().iter().filter(|entry| is_offered(entry)).map(|entry| entry.name().to_owned()).collect()
    }

    /// The session of a sub-agent says in its questions who asks.
    pub(super) fn labelled_session(
        &self,
        host: Arc<LocalHost>,
        agent: &str,
        prompts: UserPrompts,
        watcher: Option<&Arc<dyn TurnWatcher>>,
        label: Option<&str>,
    ) -> SessionBuilder {
        let config = &self.settings.config;
        let loops = config.guards.loops.map(|limits| LoopLimits { note: limits.note, block: limits.block, stop: limits.stop });
        let mut session = self.deciding_session(host, agent).taint(config.guards.taint).loop_limits(loops);
        if let Some((approver, rules)) = self.approver(prompts) {
            if Terminal::is_there() {
                let permissions = PermissionBroker::new();
                permissions.bind(Arc::new(TerminalPermissions::new(Terminal::standard())));
                session = session.permissions(permissions);
            }
            session = session.rule_store(Arc::new(rules));
            let approver = LabellingApprover { approver, label: label.map(str::to_owned) };
            session = match watcher {
                Some(watcher) => session.approver(Arc::new(ReportingApprover::new(approver, Arc::clone(watcher)))),
                None => session.approver(Arc::new(approver)),
            };
        }
        match watcher {
            Some(watcher) => session.progress(Arc::new(ProgressEvents(Arc::clone(watcher)))),
            None if std::io::stderr().is_terminal() => session.progress(Arc::new(TerminalProgress)),
            None => session,
        }
    }
}

impl Wire {
    /// Who approves: the terminal, the pages of a server, or both; and where rules are saved.
    fn approver(&self, prompts: UserPrompts) -> Option<(Arc<dyn Approver>, RuleFile)> {
        let rules = RuleFile(self.settings.own_file.clone());
        let file = || rules.file().map(Path::to_owned);
        let terminal = || Arc::new(TerminalApprover::new(Terminal::standard(), file())) as Arc<dyn Approver>;
        let terminal = (prompts == UserPrompts::Allowed && Terminal::is_there()).then(terminal);
        let approver = match &self.served {
            Some(served) if prompts == UserPrompts::Allowed => Some(served.approvals.approver(terminal)),
            _ => terminal,
        };
        approver.map(|approver| (approver, rules))
    }

    /// A session with another caller, or with a sub-agent that this caller starts.
    pub(super) fn session_as_if(
        &self,
        builder: impl Fn() -> Result<SessionBuilder, Failure>,
        who: &CallerArgs,
    ) -> Result<Session, Failure> {
        let parent = as_if(builder()?, who).build();
        let Some(name) = &who.as_subagent else { return Ok(parent) };
        let types = agent_types::load(&self.settings);
        let agent_type = find_type(&types, name).map_err(|error| Failure::usage(error.message().to_owned()))?;
        Ok(self.restricted(builder()?, agent_type, &parent).build())
    }
}

/// Names the sub-agent that asks.
struct LabellingApprover {
    approver: Arc<dyn Approver>,
    label: Option<String>,
}

impl Approver for LabellingApprover {
    fn ask(&self, mut request: ApprovalRequest) -> BoxFuture<'_, ApprovalAnswer> {
        if let Some(label) = &self.label {
            request.reason = format!("the sub-agent '{label}' asks: {}", request.reason);
        }
        self.approver.ask(request)
    }

    fn one_at_a_time(&self) -> bool {
        self.approver.one_at_a_time()
    }
}

/// A session with another caller.
pub(super) fn as_if(session: SessionBuilder, who: &CallerArgs) -> SessionBuilder {
    let mut session = session.depth(who.depth);
    if let Some(provider) = &who.provider {
        let (provider, model) = provider.split_once('/').map_or((provider.as_str(), None), |(name, model)| (name, Some(model.to_owned())));
        session = session.model(provider, model);
    }
    if let Some(channel) = &who.channel {
        session = session.channel(channel.as_str());
    }
    if let Some(sender) = &who.sender {
        session = session.sender(sender_of(sender));
    }
    session = if who.sandboxed { session.sandboxed() } else { session };
    if who.guest { session.guest() } else { session }
}

/// Parses `id:42`, `e164:…`, `username:…` or `name:…`; without a kind it is an id.
fn sender_of(written: &str) -> Sender {
    let (kind, value) = written.split_once(':').unwrap_or(("id", written));
    let value = Some(value.trim().to_owned());
    match kind.trim().to_ascii_lowercase().as_str() {
        "e164" => Sender { e164: value, ..Sender::default() },
        "username" => Sender { username: value, ..Sender::default() },
        "name" => Sender { name: value, ..Sender::default() },
        "id" => Sender { id: value, ..Sender::default() },
        _ => Sender { id: Some(written.to_owned()), ..Sender::default() },
    }
}

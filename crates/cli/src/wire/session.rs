//! The session of an agent: its access, its guards, and the terminal that approves for it.

use std::io::IsTerminal;
use std::path::Path;
use std::sync::Arc;

use haft_agent::TurnWatcher;
use haft_contract::Access;
use haft_engine::{LoopLimits, PermissionBroker, Session, SessionBuilder};
use haft_host::LocalHost;
use haft_policy::{Sender, SourceSpan};

use super::rule_file::RuleFile;
use super::{UserPrompts, Wire, policy};
use crate::arguments::CallerArgs;
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

    pub(super) fn session(
        &self,
        host: Arc<LocalHost>,
        agent: &str,
        prompts: UserPrompts,
        watcher: Option<&Arc<dyn TurnWatcher>>,
    ) -> SessionBuilder {
        let config = &self.settings.config;
        let (access, access_span) = self.access_of(agent);
        let loops = config.guards.loops.map(|limits| LoopLimits { note: limits.note, block: limits.block, stop: limits.stop });
        let mut session = Session::builder(host)
            .owner()
            .agent(agent)
            .access(access)
            .access_from(access_span)
            .workspace(&self.settings.workspace)
            .taint(config.guards.taint)
            .loop_limits(loops);
        if prompts == UserPrompts::Allowed && Terminal::is_there() {
            let terminal = Terminal::standard();
            let permissions = PermissionBroker::new();
            permissions.bind(Arc::new(TerminalPermissions::new(Arc::clone(&terminal))));
            let rules = RuleFile::new(&self.settings);
            let approver = TerminalApprover::new(terminal, rules.file().map(Path::to_owned));
            session = session.permissions(permissions).rule_store(Arc::new(rules));
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

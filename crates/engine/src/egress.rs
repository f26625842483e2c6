//! Egress: decides on the connections of a sandboxed command at the moment of each, and asks the user where the policy asks.
//!
//! Connections to the same host and port share one decision, which holds for the rest of the command: "once" and a refusal are
//! remembered, "session" and "always" become rules as for any other approval. A command in the background may connect after its
//! call has ended, so a gate finds the session by a link.

mod connections;

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::sync::{Arc, Mutex, PoisonError, Weak};

use futures_util::FutureExt;
use futures_util::future::Shared;
use haft_contract::{BoxFuture, CallInfo, Connect, Effect, EgressRefusal, ErrorKind, Plan, ShellCommand, ToolError, ports::EgressGate};
use haft_policy::{Decision, Policy, StepOutcome, Verdict};
use haft_store::CallLog;
use haft_text::display;
use tokio_util::sync::CancellationToken;
use uuid::Uuid;

pub(crate) use self::connections::CallConnections;
use crate::approvals::{ApprovalStep, PastCalls, other_asks};
use crate::events::EventSink;
use crate::session::SessionLink;
use crate::stages::permit::{PermitRequest, decide};
use crate::stages::run::AbortOnDrop;
use crate::stages::taint::TaintFacts;
use crate::stop::StopSignal;
use crate::trail::{CallFacts, RecordedArguments};
use crate::{CallLimits, Registry, Session, ToolEntry};

/// Hosts that one command may ask for; nobody answers more questions.
const MOST_HOSTS: usize = 100;
/// Characters of a command that stands for its program.
const MOST_CHARACTERS: usize = 60;

type SharedDecision = Shared<BoxFuture<'static, Result<(), EgressRefusal>>>;

/// The gate of one command.
pub(crate) struct CallEgress {
    facts: Arc<EgressFacts>,
    /// Open and made decisions, by host and port.
    decisions: Mutex<HashMap<(String, u16), SharedDecision>>,
}

/// Everything that a decision reads but the connection.
pub(crate) struct EgressFacts {
    pub(crate) policy: Arc<dyn Policy>,
    /// Neither the session nor the tool itself: both can hold the job, and a job must not keep alive what ends it.
    pub(crate) session: SessionLink,
    pub(crate) entry: Weak<ToolEntry>,
    pub(crate) call: Arc<CallInfo>,
    pub(crate) arguments: RecordedArguments,
    /// The shape of a secret in the arguments.
    pub(crate) secret: Option<&'static str>,
    /// The id of the call in history.
    pub(crate) record: Uuid,
    /// Cancelled when the call has ended.
    pub(crate) call_end: CancellationToken,
    /// What runs.
    pub(crate) program: ConnectingProgram,
    pub(crate) events: Option<Arc<dyn EventSink>>,
    pub(crate) limits: CallLimits,
    pub(crate) log: Arc<dyn CallLog>,
    /// Holds the tools, so it is a link as well.
    pub(crate) registry: Weak<Registry>,
    pub(crate) connections: CallConnections,
}

impl CallEgress {
    pub(crate) fn new(facts: EgressFacts) -> Self {
        Self { facts: Arc::new(facts), decisions: Mutex::default() }
    }

    /// Joins the decision on this host and port, or starts it. It is a task of its own, because a program may give up one
    /// connection and try again while the user reads the question; it ends with the gate.
    fn decision(&self, connect: &Connect) -> SharedDecision {
        let mut decisions = self.decisions.lock().unwrap_or_else(PoisonError::into_inner);
        let is_full = decisions.len() >= MOST_HOSTS;
        match decisions.entry((connect.host.clone(), connect.port)) {
            Entry::Occupied(known) => known.get().clone(),
            Entry::Vacant(_) if is_full => {
                let why = format!("the command has asked for {MOST_HOSTS} hosts, and no more are decided on");
                std::future::ready(Err(refusal(why, None))).boxed().shared()
            }
            Entry::Vacant(new) => {
                let mut task = AbortOnDrop(tokio::spawn(Arc::clone(&self.facts).decide_and_record(connect.clone())));
                let decided = async move { (&mut task.0).await.unwrap_or_else(|_| Err(refusal("it could not be decided on", None))) };
                new.insert(decided.boxed().shared()).clone()
            }
        }
    }
}

impl EgressGate for CallEgress {
    fn permit<'a>(&'a self, connect: &'a Connect) -> BoxFuture<'a, Result<(), EgressRefusal>> {
        Box::pin(self.decision(connect))
    }
}

impl EgressFacts {
    async fn decide_and_record(self: Arc<Self>, connect: Connect) -> Result<(), EgressRefusal> {
        let destination = (connect.host.clone(), connect.port);
        let outcome = self.decide(connect).await;
        self.connections.add(destination, &outcome);
        if self.call_end.is_cancelled() {
            // The command does not wait for history.
            let (connections, log, record) = (self.connections.clone(), Arc::clone(&self.log), self.record);
            tokio::spawn(async move { connections.amend(&*log, record).await });
        }
        outcome
    }

    async fn decide(&self, mut connect: Connect) -> Result<(), EgressRefusal> {
        let (Some(session), Some(entry)) = (self.session.current(), self.entry.upgrade()) else {
            return Err(refusal("its session has ended", None));
        };
        connect.refused = address_refusal(&session, &connect);
        let subject = format!("{} wants {}:{}", self.program.name, connect.host, connect.port);
        let plan = Plan::egress(connect);
        let plan = if self.program.is_browser { plan.browse() } else { plan };
        let offered = self.policy.offer(&entry.candidate(), session.caller());
        if offered.verdict == Verdict::Deny {
            return Err(self.refused(&offered, &entry, &plan));
        }
        self.permit(&session, &entry, &plan, subject).await?;
        session.taint().record(&plan, entry.source(), self.record);
        Ok(())
    }

    /// As for a call, but starting from nothing: what asks about the tool as such was answered when the call was permitted.
    async fn permit(&self, session: &Session, entry: &ToolEntry, plan: &Plan, subject: String) -> Result<(), EgressRefusal> {
        let running = (!self.call_end.is_cancelled()).then_some(self.record);
        let taint = TaintFacts { secret: self.secret, running };
        let mut decision = decide(&*self.policy, Decision::allow(), entry, plan, taint, session);
        match (decision.verdict, session.approver()) {
            (Verdict::Allow, _) => Ok(()),
            (Verdict::Deny, _) => Err(self.refused(&decision, entry, plan)),
            (Verdict::Ask, None) => {
                let why = other_asks(&decision).iter().fold(String::new(), |all, why| all + why + ", so ");
                Err(refusal(format!("{why}it needs approval, and no one can approve here"), self.rule(&decision, entry, plan)))
            }
            (Verdict::Ask, Some(approver)) => {
                let (stop, registry) = (StopSignal::new(session, None), self.registry.upgrade());
                let request = PermitRequest {
                    policy: &*self.policy,
                    limits: &self.limits,
                    events: self.events.as_deref(),
                    entry,
                    facts: CallFacts { call: &self.call, arguments: &self.arguments, taint },
                    session,
                    stop: &stop,
                    past: PastCalls { log: &*self.log, registry: registry.as_deref() },
                };
                let offered = Decision::allow();
                let approval = ApprovalStep { approver: &**approver, request, plan, offered, subject: Some(subject), edit_fault: None };
                let rule = self.rule(&decision, entry, plan);
                approval.ask(&mut decision).await.map(drop).map_err(|error| self.unapproved(&error, rule))
            }
        }
    }

    /// The refusal by the policy. A rule helps only where nothing but the lack of an approval refuses.
    fn refused(&self, decision: &Decision, entry: &ToolEntry, plan: &Plan) -> EgressRefusal {
        let why = decision.denial().map_or("the policy refuses it", |denial| denial.message.as_str());
        let mut denials = decision.trace.iter().filter(|entry| entry.outcome == StepOutcome::Deny);
        let is_unasked = !decision.asks.is_empty() && denials.all(|entry| entry.step == "asking");
        refusal(why, if is_unasked { self.rule(decision, entry, plan) } else { None })
    }

    /// The refusal by the user, or for lack of an answer.
    fn unapproved(&self, error: &ToolError, rule: Option<String>) -> EgressRefusal {
        match error.kind() {
            ErrorKind::ApprovalTimeout => refusal(format!("no answer came within {} s", self.limits.approval.as_secs()), rule),
            _ => refusal(error.message(), None),
        }
    }

    /// The rule that would allow it.
    fn rule(&self, decision: &Decision, entry: &ToolEntry, plan: &Plan) -> Option<String> {
        self.policy.persistent_rules(&entry.candidate(), plan, decision).ok()?.into_iter().next()
    }
}

fn refusal(reason: impl Into<String>, rule: Option<String>) -> EgressRefusal {
    let reason = reason.into();
    EgressRefusal { reason: reason.trim_end_matches('.').to_owned(), rule }
}

/// Why the address guard refuses it, as far as that is known before the name is resolved.
fn address_refusal(session: &Session, connect: &Connect) -> Option<String> {
    match session.host().http().locate("GET", &format!("{}://{}:{}/", connect.scheme, connect.host, connect.port)) {
        Ok(located) => located.refused,
        Err(error) => Some(error.message().to_owned()),
    }
}

/// A sandboxed program that may connect to hosts that its plan does not name.
#[derive(Debug, Clone)]
pub(crate) struct ConnectingProgram {
    /// For questions.
    name: String,
    /// It sees no file of the session.
    is_browser: bool,
}

/// The program of a plan that may connect to hosts that the plan does not name.
pub(crate) fn connecting_program(plan: &Plan) -> Option<ConnectingProgram> {
    match plan.planned_command() {
        Some(command) if !command.shell().host.is_sandboxed() || command.is_network_isolated() => None,
        Some(command) => Some(ConnectingProgram { name: program_of(command), is_browser: false }),
        None => plan.uses_browser().then(|| ConnectingProgram { name: "a page in the browser".to_owned(), is_browser: true }),
    }
}

/// What a command runs, for a question: its program if it has one, else the command itself.
fn program_of(command: &ShellCommand) -> String {
    let mut programs: Vec<&str> = Vec::new();
    for effect in command.effects() {
        // Builtins of the shell have no file.
        if let Effect::Exec(exec) = effect
            && exec.program.is_absolute()
            && !programs.contains(&exec.named.as_str())
        {
            programs.push(&exec.named);
        }
    }
    match programs[..] {
        [program] => display::shorten(program, MOST_CHARACTERS).into_owned(),
        _ => format!("'{}'", display::shorten(command.text(), MOST_CHARACTERS)),
    }
}

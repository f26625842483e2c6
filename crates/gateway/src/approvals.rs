//! Approvals: open questions are events; the page and the terminal can answer, and the first answer counts.

mod elsewhere;
mod risk;

use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant, SystemTime};

use haft_contract::BoxFuture;
use haft_contract::ports::{ApprovalAnswer, ApprovalRequest, Approver, GrantWidth, SIMILAR_DAYS};
use haft_engine::{AnswerError, ApprovalBroker};
use haft_tui::output::note;
use haft_tui::terminal::{answer_name, call_subject, proposed_change};
use serde_json::json;

pub(crate) use self::risk::RiskView;
use crate::api::{ApprovalView, SimilarView, WidthView};
use crate::calls::effect_views;
use crate::error::ApiError;
use crate::hub::EventHub;
use crate::render;
use crate::time::timestamp;

/// The questions of all sessions of a server. Cheap to clone; clones share everything.
#[derive(Debug, Clone)]
pub struct PageApprovals {
    pub(crate) hub: EventHub,
    broker: ApprovalBroker,
    asked: Arc<Mutex<HashMap<String, AskedQuestion>>>,
    waits: Arc<Mutex<WaitTimes>>,
    workspace: PathBuf,
    rules_file: Option<PathBuf>,
    listeners: Listeners,
    elsewhere: elsewhere::QuestionsElsewhere,
}

/// Learns of questions, to show them elsewhere.
pub trait ApprovalListener: Send + Sync {
    /// A question is open.
    fn opened(&self, request: &ApprovalRequest);
    /// It was answered, or nobody waits for it any more.
    fn closed(&self, id: &str, answer: &str, by: &str);
}

#[derive(Clone, Default)]
struct Listeners(Arc<Mutex<Vec<Arc<dyn ApprovalListener>>>>);

haft_contract::opaque_debug!(Listeners);

impl Listeners {
    fn each(&self, tell: impl Fn(&dyn ApprovalListener)) {
        let listeners = self.0.lock().unwrap_or_else(PoisonError::into_inner).clone();
        for listener in &listeners {
            tell(&**listener);
        }
    }
}

/// Calls whose waiting is remembered.
const MOST_WAITS: usize = 10_000;

/// How long calls waited for the user, by session and call.
type WaitTimes = HashMap<(String, String), Duration>;

/// An open question.
#[derive(Debug)]
struct AskedQuestion {
    at: SystemTime,
    /// Who answered it on a page.
    answered_by: Option<String>,
}

impl PageApprovals {
    /// Paths are shown relative to this folder; rules are saved in this file.
    pub fn new(workspace: PathBuf, rules_file: Option<PathBuf>) -> Self {
        Self {
            hub: EventHub::default(),
            broker: ApprovalBroker::new(),
            asked: Arc::default(),
            waits: Arc::default(),
            workspace,
            rules_file,
            listeners: Listeners::default(),
            elsewhere: elsewhere::QuestionsElsewhere::default(),
        }
    }

    /// Asks on the page, and at the terminal if there is one.
    pub fn approver(&self, terminal: Option<Arc<dyn Approver>>) -> Arc<dyn Approver> {
        Arc::new(SharedApprover { page: self.clone(), terminal })
    }

    /// Tells someone else of questions.
    pub fn listen(&self, listener: Arc<dyn ApprovalListener>) {
        self.listeners.0.lock().unwrap_or_else(PoisonError::into_inner).push(listener);
    }

    /// Answers a question for someone else than a page; the first answer counts.
    pub fn answer_as(&self, id: &str, fingerprint: &str, answer: ApprovalAnswer, by: &str) -> Result<(), String> {
        self.answer_by(id, fingerprint, answer, by).map_err(|error| error.message().to_owned())
    }

    /// The open questions, oldest first.
    pub(crate) fn open(&self) -> Vec<ApprovalView> {
        let views = self.broker.pending().into_iter();
        let own = views.map(|request| self.view(&request, self.lock_questions().get(&request.id).map(|asked| asked.at)));
        own.chain(self.elsewhere.open()).collect()
    }

    /// The open question about a call.
    pub(crate) fn of_call(&self, session: &str, call_id: &str) -> Option<String> {
        let mut pending = self.broker.pending().into_iter();
        let own = pending.find(|request| *request.call.session == *session && *request.call.id == *call_id).map(|request| request.id);
        own.or_else(|| self.elsewhere.of_call(session, call_id))
    }

    /// How long a call waited for the user, as far as this server asked.
    pub(crate) fn waited(&self, session: &str, call_id: &str) -> Option<Duration> {
        self.waits().get(&(session.to_owned(), call_id.to_owned())).copied()
    }

    /// Answers a question for a page.
    pub(crate) fn answer(&self, id: &str, fingerprint: &str, answer: ApprovalAnswer, by: &str) -> Result<(), ApiError> {
        self.answer_by(id, fingerprint, answer, &format!("page '{by}'"))
    }

    fn answer_by(&self, id: &str, fingerprint: &str, answer: ApprovalAnswer, name: &str) -> Result<(), ApiError> {
        if let Some(sent) = self.elsewhere.answer(id, fingerprint, &answer, name) {
            return sent;
        }
        if let Some(asked) = self.lock_questions().get_mut(id) {
            asked.answered_by.get_or_insert_with(|| name.to_owned());
        }
        let answered = self.broker.answer(id, fingerprint, answer);
        if matches!(answered, Err(AnswerError::WrongFingerprint(_)))
            && let Some(asked) = self.lock_questions().get_mut(id)
        {
            asked.answered_by = None;
        }
        Ok(answered?)
    }

    fn view(&self, request: &ApprovalRequest, asked: Option<SystemTime>) -> ApprovalView {
        let effects = effect_views(&json!(request.effects), &self.workspace);
        let (session_rules, session_refused) = match &request.rules {
            Ok(rules) => (rules.clone(), None),
            Err(why) => (Vec::new(), Some(why.clone())),
        };
        let widths = request.widths.iter().enumerate().map(|(index, width)| WidthView {
            index,
            name: width.name.clone(),
            rules: width.rules.clone(),
            past: width.past.clone(),
            past_calls: width.past_calls,
        });
        let can_undo = effects.iter().all(|effect| matches!(effect.kind.as_str(), "read" | "write" | "delete"));
        ApprovalView {
            risk: RiskView::new(&effects, request.is_tainted, can_undo),
            similar: request.similar.as_ref().map(|width| describe_similar(width, asked)),
            id: request.id.clone(),
            fingerprint: request.fingerprint.clone(),
            session: request.call.session.to_string(),
            agent: request.call.agent.to_string(),
            call_id: request.call.id.clone(),
            tool: request.call.tool.clone(),
            title: call_subject(&request.arguments.to_string()),
            can_undo,
            effects,
            reason: render::visible(&request.reason).into_owned(),
            arguments_html: render::json(&request.arguments),
            arguments: request.arguments.clone(),
            diff_html: proposed_change(request).map(|change| render::diff(&change)),
            session_rules,
            session_refused,
            widths: widths.collect(),
            rules_file: self.rules_file.as_ref().map(|file| file.to_string_lossy().into_owned()),
            edit_fault: request.edit_fault.clone(),
            asked: asked.and_then(timestamp),
            expires: asked.zip(request.time_limit).and_then(|(asked, limit)| timestamp(asked + limit)),
        }
    }

    /// A command may ask several times while it runs.
    fn add_wait(&self, call: (String, String), waited: Duration) {
        let mut waits = self.waits();
        if waits.len() >= MOST_WAITS && !waits.contains_key(&call) {
            waits.clear();
        }
        *waits.entry(call).or_default() += waited;
    }

    fn waits(&self) -> MutexGuard<'_, WaitTimes> {
        self.waits.lock().unwrap_or_else(PoisonError::into_inner)
    }

    // Entries come and go whole, so the map is consistent after a panic elsewhere.
    fn lock_questions(&self) -> MutexGuard<'_, HashMap<String, AskedQuestion>> {
        self.asked.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Past calls like the one that is asked about.
fn describe_similar(width: &GrantWidth, asked: Option<SystemTime>) -> SimilarView {
    let days = Duration::from_hours(24 * SIMILAR_DAYS);
    let since = asked.and_then(|asked| asked.checked_sub(days)).and_then(timestamp);
    SimilarView { allowed: width.allowed, denied: width.denied, rule: width.rules.join("\n"), since }
}

/// Asks several at once.
struct SharedApprover {
    page: PageApprovals,
    terminal: Option<Arc<dyn Approver>>,
}

impl Approver for SharedApprover {
    fn ask(&self, request: ApprovalRequest) -> BoxFuture<'_, ApprovalAnswer> {
        Box::pin(async move {
            let now = SystemTime::now();
            let mut open = OpenEvents::new(&self.page, &request);
            self.page.lock_questions().insert(request.id.clone(), AskedQuestion { at: now, answered_by: None });
            let view = self.page.view(&request, Some(now));
            // Opened in the broker before it is announced: who answers at once must find it.
            let mut on_page = self.page.broker.ask(request.clone());
            let first = futures_util::future::poll_immediate(&mut on_page).await;
            self.page.hub.send("approval", Some(&view.session), &json!({ "approval": view }));
            self.page.listeners.each(|listener| listener.opened(&request));
            let at_terminal = async {
                match &self.terminal {
                    Some(terminal) => terminal.ask(request).await,
                    None => std::future::pending().await,
                }
            };
            let (answer, by) = tokio::select! {
                biased;
                answer = async { match first { Some(answer) => answer, None => on_page.await } } => (answer, self.answered_by(&open.id)),
                answer = at_terminal => (answer, "terminal".to_owned()),
            };
            if self.terminal.is_some() && by != "terminal" {
                note(&format!("answered on the {by}: {}", answer_name(&answer)));
            }
            (open.answer, open.by) = (answer_name(&answer), by);
            answer
        })
    }

    fn one_at_a_time(&self) -> bool {
        self.terminal.as_ref().is_some_and(|terminal| terminal.one_at_a_time())
    }
}

impl SharedApprover {
    fn answered_by(&self, id: &str) -> String {
        self.page.lock_questions().get(id).and_then(|asked| asked.answered_by.clone()).unwrap_or_else(|| "nobody".into())
    }
}

/// Announces the end of a question, also when its call no longer waits.
struct OpenEvents<'a> {
    page: &'a PageApprovals,
    id: String,
    session: String,
    call_id: String,
    since: Instant,
    answer: &'static str,
    by: String,
}

impl<'a> OpenEvents<'a> {
    fn new(page: &'a PageApprovals, request: &ApprovalRequest) -> Self {
        let (session, call_id) = (request.call.session.to_string(), request.call.id.clone());
        Self { page, id: request.id.clone(), session, call_id, since: Instant::now(), answer: "none", by: "nobody".into() }
    }
}

impl Drop for OpenEvents<'_> {
    fn drop(&mut self) {
        self.page.lock_questions().remove(&self.id);
        self.page.add_wait((self.session.clone(), self.call_id.clone()), self.since.elapsed());
        let data = json!({ "id": self.id, "session": self.session, "answer": self.answer, "by": self.by });
        self.page.hub.send("approval_closed", Some(&self.session), &data);
        self.page.listeners.each(|listener| listener.closed(&self.id, self.answer, &self.by));
    }
}

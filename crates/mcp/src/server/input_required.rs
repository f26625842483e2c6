//! Calls that wait for an answer of the user while no request of the client is open.
//!
//! Since 2026-07-28 a server sends no requests. A call that needs approval is answered with the question; the call waits here, and the
//! client repeats its request with the answer and the state that names the call.

use std::collections::{BTreeMap, HashMap};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use rmcp::ErrorData;
use rmcp::model::{
    CallToolRequestParams, CallToolResponse, CallToolResult, ElicitRequest, ElicitRequestParams, ElicitResult, InputRequest,
    InputRequiredResult, JsonObject,
};
use tokio::sync::{mpsc, oneshot};
use tokio_util::sync::{CancellationToken, DropGuard};

use super::random::random_text;

/// Calls that may wait at once.
const MOST: usize = 64;
/// A call that nobody came back for ends after this time.
const LONGEST: Duration = Duration::from_mins(10);
/// The name of the question whether a call is allowed. It is answered only after it was asked.
pub(super) const APPROVAL: &str = "approval";

pub(super) type QuestionSender = mpsc::Sender<FormQuestion>;

/// A question to the user about a running call.
#[derive(Debug)]
pub(super) struct FormQuestion {
    /// The name of the question in the result.
    pub(super) key: String,
    pub(super) form: ElicitRequestParams,
    pub(super) answer: oneshot::Sender<ElicitResult>,
}

/// A call that runs on a task of its own. Dropping it cancels the call.
pub(super) struct DetachedCall {
    pub(super) result: oneshot::Receiver<CallToolResult>,
    pub(super) questions: mpsc::Receiver<FormQuestion>,
    pub(super) guard: DropGuard,
}

struct ParkedCall {
    name: String,
    arguments: Option<JsonObject>,
    key: String,
    answer: oneshot::Sender<ElicitResult>,
    call: DetachedCall,
    since: Instant,
}

/// The calls of a client that wait for an answer.
#[derive(Default)]
pub(super) struct WaitingCalls {
    calls: Mutex<HashMap<String, ParkedCall>>,
}

impl WaitingCalls {
    fn lock(&self) -> MutexGuard<'_, HashMap<String, ParkedCall>> {
        self.calls.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits for the result of a call, or for its next question. A request that is cancelled meanwhile ends the call.
    pub(super) async fn advance(
        &self,
        request: &CallToolRequestParams,
        mut call: DetachedCall,
        cancel: &CancellationToken,
    ) -> Result<CallToolResponse, ErrorData> {
        tokio::select! {
            biased;
            () = cancel.cancelled() => Err(ErrorData::internal_error("The request was cancelled.", None)),
            result = &mut call.result => {
                call.guard.disarm();
                result.map(CallToolResponse::from).map_err(|_| ErrorData::internal_error("The call ended without a result.", None))
            }
            Some(question) = call.questions.recv() => self.wait(request, question, call).map(CallToolResponse::from),
        }
    }

    fn wait(&self, request: &CallToolRequestParams, question: FormQuestion, call: DetachedCall) -> Result<InputRequiredResult, ErrorData> {
        let state = random_text().ok_or_else(|| ErrorData::internal_error("This machine gives no random numbers.", None))?;
        let (name, arguments) = (request.name.clone().into_owned(), request.arguments.clone());
        let key = question.key.clone();
        let waiting = ParkedCall { name, arguments, key, answer: question.answer, call, since: Instant::now() };
        let mut calls = self.lock();
        calls.retain(|_, waiting| waiting.since.elapsed() < LONGEST && !waiting.answer.is_closed());
        if calls.len() >= MOST {
            return Err(ErrorData::internal_error(format!("{MOST} calls wait for answers already: answer or cancel some first."), None));
        }
        calls.insert(state.clone(), waiting);
        let requests = BTreeMap::from([(question.key, InputRequest::Elicitation(ElicitRequest::new(question.form)))]);
        Ok(InputRequiredResult::new(Some(requests), Some(state)))
    }

    /// Takes up a call again with the answer of its user.
    pub(super) fn resume(&self, request: &CallToolRequestParams, state: &str) -> Result<DetachedCall, ErrorData> {
        let mut calls = self.lock();
        let waiting = calls.get(state).filter(|waiting| waiting.name == request.name && waiting.arguments == request.arguments);
        let Some(key) = waiting.map(|waiting| waiting.key.clone()) else {
            let message = "No call with this name and these arguments waits under this requestState: send the call again without it.";
            return Err(ErrorData::invalid_params(message, None));
        };
        let answer = request.input_responses.as_ref().and_then(|responses| responses.get(&key)).cloned();
        let answer = answer.and_then(|answer| serde_json::from_value::<ElicitResult>(answer).ok());
        let (Some(answer), Some(waiting)) = (answer.clone(), answer.and_then(|_| calls.remove(state))) else {
            return Err(ErrorData::invalid_params(format!("inputResponses has no answer to '{key}'."), None));
        };
        drop(calls);
        // The call may have ended meanwhile: its result says so.
        waiting.answer.send(answer).ok();
        Ok(waiting.call)
    }
}

//! Questions of our tools to the user of a client.

use std::sync::Arc;
use std::time::Duration;

use haft_contract::ports::{UserQuestion, UserQuestions, UserReply};
use haft_contract::{BoxFuture, CallInfo, ToolError};
use rmcp::model::{ElicitRequestParams, ElicitResult, ElicitationAction, ElicitationSchema};
use serde_json::Value;
use tokio::sync::oneshot;

use super::input_required::FormQuestion;
use super::routes::{CallRoutes, Questions};

/// How long the user may take for an answer.
const PATIENCE: Duration = Duration::from_mins(10);

/// Asks by a form of the client.
pub(super) struct ElicitingQuestions {
    pub(super) routes: Arc<CallRoutes>,
}

impl ElicitingQuestions {
    async fn reply(&self, call: &CallInfo, question: &UserQuestion) -> Result<ElicitResult, ToolError> {
        let unclear = |error: serde_json::Error| ToolError::execution(format!("The question cannot be shown as a form: {error}."));
        let requested_schema = serde_json::from_value::<ElicitationSchema>(question.schema.clone()).map_err(unclear)?;
        let form = ElicitRequestParams::FormElicitationParams { meta: None, message: question.message.clone(), requested_schema };
        let silent = || ToolError::execution("The client did not answer the question to its user. Continue without the answer.");
        // A call may run before its request has a stream (see `early_call`).
        tokio::task::yield_now().await;
        match self.routes.questions(&call.id) {
            Questions::Elicit(peer) => peer.create_elicitation_with_timeout(form, Some(PATIENCE)).await.map_err(|_| silent()),
            Questions::InputRequired(sender, given) => {
                // A client may send the answer with the call.
                let given = given.get(&question.name).cloned().and_then(|given| serde_json::from_value::<ElicitResult>(given).ok());
                if let Some(given) = given {
                    return Ok(given);
                }
                let (answer, receiver) = oneshot::channel();
                let asked = FormQuestion { key: question.name.clone(), form, answer };
                sender.send(asked).await.map_err(|_| silent())?;
                receiver.await.map_err(|_| silent())
            }
            Questions::Nobody => Err(ToolError::execution("The client cannot ask its user. Continue without the answer.")),
        }
    }
}

impl UserQuestions for ElicitingQuestions {
    fn ask<'a>(&'a self, call: &'a CallInfo, question: &'a UserQuestion) -> BoxFuture<'a, Result<UserReply, ToolError>> {
        Box::pin(async move {
            let reply = self.reply(call, question).await?;
            Ok(match (reply.action, reply.content) {
                (ElicitationAction::Accept, Some(Value::Object(answer))) => UserReply::Answer(answer),
                (ElicitationAction::Accept, _) => UserReply::Answer(serde_json::Map::new()),
                (ElicitationAction::Cancel, _) => UserReply::Cancelled,
                _ => UserReply::Declined,
            })
        })
    }
}

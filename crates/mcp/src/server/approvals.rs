//! Asks the user of a client to approve a call.

use std::sync::Arc;

use haft_contract::BoxFuture;
use haft_contract::ports::{ApprovalAnswer, ApprovalRequest, Approver};
use rmcp::model::{ClientCapabilities, ElicitRequestParams, ElicitResult, ElicitationAction, ElicitationSchema};
use serde_json::{Value, json};
use tokio::sync::oneshot;

use super::backend::ToolBackend;
use super::input_required::{APPROVAL, FormQuestion};
use super::routes::{CallRoutes, Questions};

const DECISION: &str = "decision";
const COMMENT: &str = "comment";
const ONCE: &str = "allow once";
const SESSION: &str = "allow for this session";
const DENY: &str = "deny";

/// Whether a client shows forms to its user.
pub(super) fn can_ask(capabilities: Option<&ClientCapabilities>) -> bool {
    let elicitation = capabilities.and_then(|capabilities| capabilities.elicitation.as_ref());
    // Earlier versions know no modes, and mean forms.
    elicitation.is_some_and(|elicitation| elicitation.form.is_some() || elicitation.url.is_none())
}

/// Asks by a form of the client.
pub(super) struct ElicitingApprover {
    pub(super) routes: Arc<CallRoutes>,
    pub(super) backend: Arc<dyn ToolBackend>,
}

impl ElicitingApprover {
    async fn answer(&self, request: &ApprovalRequest) -> Option<ElicitResult> {
        let form = form(self.backend.describe(request), request)?;
        // A call may run before its request has a stream (see `early_call`).
        tokio::task::yield_now().await;
        match self.routes.questions(&request.call.id) {
            Questions::Elicit(peer) => peer.create_elicitation_with_timeout(form, request.time_limit).await.ok(),
            Questions::InputRequired(sender, _) => {
                let (answer, receiver) = oneshot::channel();
                sender.send(FormQuestion { key: APPROVAL.to_owned(), form, answer }).await.ok()?;
                receiver.await.ok()
            }
            Questions::Nobody => None,
        }
    }
}

impl Approver for ElicitingApprover {
    fn ask(&self, request: ApprovalRequest) -> BoxFuture<'_, ApprovalAnswer> {
        Box::pin(async move {
            let answer = self.answer(&request).await;
            answer.map_or(ApprovalAnswer::Deny { comment: None }, |answer| interpret(&answer, &request))
        })
    }
}

fn form(message: String, request: &ApprovalRequest) -> Option<ElicitRequestParams> {
    let mut decisions = vec![ONCE, DENY];
    if request.rules.is_ok() {
        decisions.insert(1, SESSION);
    }
    let schema = json!({
        "type": "object",
        "properties": {
            DECISION: { "type": "string", "title": "Decision", "enum": decisions },
            COMMENT: { "type": "string", "title": "Comment for the model", "maxLength": 1000 },
        },
        "required": [DECISION],
    });
    let requested_schema = serde_json::from_value::<ElicitationSchema>(schema).ok()?;
    Some(ElicitRequestParams::FormElicitationParams { meta: None, message, requested_schema })
}

/// Only a decision that was offered allows the call.
fn interpret(answer: &ElicitResult, request: &ApprovalRequest) -> ApprovalAnswer {
    let text = |name: &str| answer.content.as_ref().and_then(|content| content.get(name)).and_then(Value::as_str);
    let decision = text(DECISION).filter(|_| answer.action == ElicitationAction::Accept);
    match decision {
        Some(ONCE) => ApprovalAnswer::Once,
        Some(SESSION) if request.rules.is_ok() => ApprovalAnswer::Session,
        _ => ApprovalAnswer::Deny { comment: text(COMMENT).map(str::trim).filter(|comment| !comment.is_empty()).map(str::to_owned) },
    }
}

#[cfg(test)]
mod tests {
    use haft_contract::CallInfo;

    use super::*;

    fn request(rules: Result<Vec<String>, String>) -> ApprovalRequest {
        let call = CallInfo { id: "c".into(), tool: "t".into(), session: "s".into(), agent: "a".into() };
        let mut request = ApprovalRequest::new(call, json!({}), Vec::new(), "why".into());
        request.rules = rules;
        request
    }

    #[test]
    fn only_an_accepted_decision_that_was_offered_allows() {
        let (with_rules, without) = (request(Ok(vec!["exec(ls)".into()])), request(Err("no".into())));
        let deny = |comment: Option<&str>| ApprovalAnswer::Deny { comment: comment.map(str::to_owned) };
        for (action, content, request, expected) in [
            (ElicitationAction::Accept, json!({"decision": ONCE}), &without, ApprovalAnswer::Once),
            (ElicitationAction::Accept, json!({"decision": SESSION}), &with_rules, ApprovalAnswer::Session),
            (ElicitationAction::Accept, json!({"decision": SESSION}), &without, deny(None)),
            (ElicitationAction::Accept, json!({"decision": "always"}), &with_rules, deny(None)),
            (ElicitationAction::Accept, json!({"decision": true}), &with_rules, deny(None)),
            (ElicitationAction::Accept, json!({}), &with_rules, deny(None)),
            (ElicitationAction::Decline, json!({"decision": ONCE, "comment": " not now "}), &with_rules, deny(Some("not now"))),
            (ElicitationAction::Cancel, json!({"decision": ONCE}), &with_rules, deny(None)),
        ] {
            let answer = ElicitResult::new(action.clone()).with_content(content.clone());
            assert_eq!(interpret(&answer, request), expected, "{action:?} {content}");
        }
    }

    #[test]
    fn form_offers_the_session_only_where_a_rule_can_be_kept() {
        for (rules, decisions) in [(Ok(Vec::new()), json!([ONCE, SESSION, DENY])), (Err(String::new()), json!([ONCE, DENY]))] {
            let form = serde_json::to_value(form("Allow?".into(), &request(rules)).unwrap()).unwrap();
            assert_eq!(form["requestedSchema"]["properties"][DECISION]["enum"], decisions);
            assert_eq!(form["requestedSchema"]["required"], json!([DECISION]));
        }
    }
}

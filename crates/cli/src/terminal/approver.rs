//! Asks the person at the terminal whether a call may go on.

use std::sync::Arc;

use haft_contract::visible;
use haft_contract::{Answer, ApprovalRequest, Approver, BoxFuture, Effect};

use super::Terminal;
use crate::output::{CARE, STRONG};
use crate::page::Page;

const PROMPT: &str = "Allow it this once? [y/n, or n and what to tell the model] ";

/// Answers asks at the terminal.
#[derive(Debug)]
pub(crate) struct TerminalApprover {
    terminal: Arc<Terminal>,
}

impl TerminalApprover {
    pub(crate) fn new(terminal: Arc<Terminal>) -> Self {
        Self { terminal }
    }
}

impl Approver for TerminalApprover {
    fn ask(&self, request: ApprovalRequest) -> BoxFuture<'_, Answer> {
        Box::pin(async move {
            let answer = self.terminal.ask(&question(&request), PROMPT, understood).await;
            answer.unwrap_or(Answer::Deny { comment: None })
        })
    }
}

/// The whole of what would happen, never cut, with nothing hidden.
fn question(request: &ApprovalRequest) -> String {
    let mut page = Page::default();
    let (tool, agent) = (visible::line(&request.call.tool), visible::line(&request.call.agent));
    page.line(format_args!("\n{CARE}{tool}{CARE:#} of agent {agent} would:"));
    if request.effects.is_empty() {
        page.line("  do something that it does not name");
    }
    for effect in &request.effects {
        page.line(format_args!("  {STRONG}{:<8}{STRONG:#} {}", effect.kind(), visible::line(&effect.target())));
        circumstances(effect, &mut page);
    }
    if request.arguments.as_object().is_some_and(|arguments| !arguments.is_empty()) {
        page.line(format_args!("With: {}", visible::line(&request.arguments.to_string())));
    }
    page.line(format_args!("Asked because: {}", visible::line(&request.reason)));
    page.finish()
}

fn circumstances(effect: &Effect, page: &mut Page) {
    let Effect::Exec(exec) = effect else { return };
    page.line(format_args!("           in {}", visible::line(&exec.directory.to_string_lossy())));
    if !exec.environment.is_empty() {
        page.line(format_args!("           with {}", visible::line(&exec.environment.join(", "))));
    }
}

/// No answer but a plain yes allows anything.
fn understood(line: &str) -> Option<Answer> {
    let (word, rest) = line.split_once(char::is_whitespace).unwrap_or((line, ""));
    let comment = Some(rest.trim().to_owned()).filter(|comment| !comment.is_empty());
    match (word.to_lowercase().as_str(), &comment) {
        ("y" | "yes", None) => Some(Answer::Once),
        ("n" | "no", _) => Some(Answer::Deny { comment }),
        ("", _) => Some(Answer::Deny { comment: None }),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use haft_contract::{CallInfo, Exec, Plan};
    use serde_json::json;

    use super::*;

    #[test]
    fn only_a_plain_yes_allows() {
        let deny = |comment: Option<&str>| Some(Answer::Deny { comment: comment.map(str::to_owned) });
        for (line, answer) in [
            ("y", Some(Answer::Once)),
            ("YES", Some(Answer::Once)),
            ("n", deny(None)),
            ("no  use the other file", deny(Some("use the other file"))),
            ("", deny(None)),
            ("y but only once", None),
            ("yn", None),
            ("maybe", None),
        ] {
            assert_eq!(understood(line), answer, "{line:?}");
        }
    }

    #[tokio::test]
    async fn the_end_of_input_is_a_denial() {
        let call = CallInfo { id: "1".into(), tool: "exec".into(), session: "s".into(), agent: "main".into() };
        let approver = TerminalApprover::new(Arc::new(Terminal::typing(&["y"])));
        let request = ApprovalRequest::new(call, json!({}), Vec::new(), String::new());
        assert_eq!(approver.ask(request).await, Answer::Deny { comment: None });
    }

    #[test]
    fn the_question_shows_every_effect_whole_and_nothing_hidden() {
        let exec = Exec {
            program: "/bin/rm".into(),
            arguments: vec!["-rf".into(), "x\u{202e}\ny".into(), "long ".repeat(100)],
            directory: "/w".into(),
            environment: vec!["LANG".into()],
        };
        let call = CallInfo { id: "1".into(), tool: "exec".into(), session: "s".into(), agent: "main".into() };
        let plan = Plan::nothing().exec(exec).send("mail", "a@example.org", true);
        let request = ApprovalRequest::new(call, json!({}), plan.effects().to_vec(), "rule \u{1b}[2J".into());
        let expected = format!(
            "\nexec of agent main would:\n  exec     /bin/rm -rf x\\u{{202e}}\\ny {}\n           in /w\n           with LANG\n  send     mail to \
             a@example.org\nAsked because: rule \\u{{1b}}[2J\n",
            "long ".repeat(100)
        );
        assert_eq!(anstream::adapter::strip_str(&question(&request)).to_string(), expected);
    }
}

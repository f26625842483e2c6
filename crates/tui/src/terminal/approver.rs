//! Asks the user at the terminal to approve a call.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use haft_contract::{
    BoxFuture,
    ports::{ApprovalAnswer, ApprovalRequest, Approver},
};

use super::question::{confirmation, question, why};
use super::{Terminal, yes_or_no};

const CONFIRM: &str = "Save it? [y/n] ";

/// Approves calls at the terminal.
#[derive(Debug)]
pub struct TerminalApprover {
    terminal: Arc<Terminal>,
    rules_file: Option<PathBuf>,
}

impl TerminalApprover {
    /// Persistent rules are saved in `rules_file`; without one, "always" is not offered.
    pub fn new(terminal: Arc<Terminal>, rules_file: Option<PathBuf>) -> Self {
        Self { terminal, rules_file }
    }

    /// `None` when the input ends.
    async fn answer(&self, request: &ApprovalRequest) -> Option<ApprovalAnswer> {
        let file = self.rules_file.as_deref();
        let (scope, mut text) = (GrantScope::of(request, file), question(request, file));
        let mut dialogue = self.terminal.dialogue().await;
        loop {
            let answer = match dialogue.ask(&text, scope.prompt(), |line| parse_reply(line, scope)).await? {
                ApprovalReply::Answer(answer) => answer,
                ApprovalReply::Why => {
                    text = why(request);
                    continue;
                }
            };
            let (ApprovalAnswer::Always, Ok(rules), Some(file)) = (&answer, &request.rules, file) else { return Some(answer) };
            if dialogue.ask(&confirmation(rules, file), CONFIRM, yes_or_no).await? {
                return Some(answer);
            }
            // The question is still visible above; only the prompt is shown again.
            text.clear();
        }
    }
}

impl Approver for TerminalApprover {
    fn ask(&self, request: ApprovalRequest) -> BoxFuture<'_, ApprovalAnswer> {
        Box::pin(async move { self.answer(&request).await.unwrap_or(ApprovalAnswer::Deny { comment: None }) })
    }
}

/// The widest grant that is offered.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum GrantScope {
    Once,
    Session,
    Always,
}

impl GrantScope {
    fn of(request: &ApprovalRequest, rules_file: Option<&Path>) -> Self {
        match (&request.rules, rules_file) {
            (Err(_), _) => Self::Once,
            (Ok(_), None) => Self::Session,
            (Ok(_), Some(_)) => Self::Always,
        }
    }

    fn prompt(self) -> &'static str {
        match self {
            Self::Once => "[y]es once, [?] why, [n]o (or n and what to tell the model): ",
            Self::Session => "[y]es once, [s]ession, [?] why, [n]o (or n and what to tell the model): ",
            Self::Always => "[y]es once, [s]ession, [a]lways, [?] why, [n]o (or n and what to tell the model): ",
        }
    }
}

/// A reply to the question.
#[derive(Debug, PartialEq, Eq)]
enum ApprovalReply {
    Answer(ApprovalAnswer),
    /// The user wants to know more first.
    Why,
}

fn parse_reply(line: &str, scope: GrantScope) -> Option<ApprovalReply> {
    if line == "?" { Some(ApprovalReply::Why) } else { parse_answer(line, scope).map(ApprovalReply::Answer) }
}

/// Only a plain word that was offered allows the call.
fn parse_answer(line: &str, scope: GrantScope) -> Option<ApprovalAnswer> {
    let (word, rest) = line.split_once(char::is_whitespace).unwrap_or((line, ""));
    let comment = Some(rest.trim().to_owned()).filter(|comment| !comment.is_empty());
    match (word.to_lowercase().as_str(), &comment) {
        ("y" | "yes", None) => Some(ApprovalAnswer::Once),
        ("s" | "session", None) if scope >= GrantScope::Session => Some(ApprovalAnswer::Session),
        ("a" | "always", None) if scope >= GrantScope::Always => Some(ApprovalAnswer::Always),
        ("n" | "no", _) => Some(ApprovalAnswer::Deny { comment }),
        ("", _) => Some(ApprovalAnswer::Deny { comment: None }),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use haft_contract::CallInfo;
    use serde_json::json;

    use super::*;

    fn request(rules: Result<&str, &str>) -> ApprovalRequest {
        let call = CallInfo { id: "1".into(), tool: "exec".into(), session: "s".into(), agent: "main".into() };
        let mut request = ApprovalRequest::new(call, json!({}), Vec::new(), String::new());
        request.rules = rules.map(|rule| vec![rule.to_owned()]).map_err(str::to_owned);
        request
    }

    #[test]
    fn approval_needs_a_plain_word_that_was_offered() {
        let deny = |comment: Option<&str>| Some(ApprovalAnswer::Deny { comment: comment.map(str::to_owned) });
        for (line, once, session, always) in [
            ("y", Some(ApprovalAnswer::Once), Some(ApprovalAnswer::Once), Some(ApprovalAnswer::Once)),
            ("YES", Some(ApprovalAnswer::Once), Some(ApprovalAnswer::Once), Some(ApprovalAnswer::Once)),
            ("s", None, Some(ApprovalAnswer::Session), Some(ApprovalAnswer::Session)),
            ("Session", None, Some(ApprovalAnswer::Session), Some(ApprovalAnswer::Session)),
            ("a", None, None, Some(ApprovalAnswer::Always)),
            ("always", None, None, Some(ApprovalAnswer::Always)),
            ("n", deny(None), deny(None), deny(None)),
            (
                "no  use the other file",
                deny(Some("use the other file")),
                deny(Some("use the other file")),
                deny(Some("use the other file")),
            ),
            ("", deny(None), deny(None), deny(None)),
            ("y but only once", None, None, None),
            ("a lot", None, None, None),
            ("yn", None, None, None),
            ("maybe", None, None, None),
        ] {
            let answers = [GrantScope::Once, GrantScope::Session, GrantScope::Always].map(|scope| parse_answer(line, scope));
            assert_eq!(answers, [once, session, always], "{line:?}");
        }
    }

    #[test]
    fn approval_prompt_lists_the_possible_answers() {
        let prompt = |request: &ApprovalRequest, file: Option<&str>| GrantScope::of(request, file.map(Path::new)).prompt();
        let (rule, none) = (request(Ok("exec(git push *)")), request(Err("no rule covers it")));
        for (request, file, expected) in [
            (&rule, Some("/rules"), "[y]es once, [s]ession, [a]lways, [?] why, [n]o (or n and what to tell the model): "),
            (&rule, None, "[y]es once, [s]ession, [?] why, [n]o (or n and what to tell the model): "),
            (&none, Some("/rules"), "[y]es once, [?] why, [n]o (or n and what to tell the model): "),
            (&none, None, "[y]es once, [?] why, [n]o (or n and what to tell the model): "),
        ] {
            assert_eq!(prompt(request, file), expected);
        }
    }

    /// The answer of a user who types these lines.
    async fn typed(lines: &[&str], rules: Result<&str, &str>) -> ApprovalAnswer {
        let (terminal, keyboard) = Terminal::listening();
        let approver = TerminalApprover::new(Arc::new(terminal), Some("/rules".into()));
        let user = async move {
            for line in lines {
                // The approver stops reading once it has an answer.
                if keyboard.send((*line).to_owned()).await.is_err() {
                    return;
                }
            }
        };
        tokio::join!(approver.ask(request(rules)), user).0
    }

    #[tokio::test]
    async fn rule_is_saved_only_after_confirmation() {
        let (rule, none) = (Ok("exec(git push *)"), Err("no rule covers it"));
        let deny = |comment: Option<&str>| ApprovalAnswer::Deny { comment: comment.map(str::to_owned) };
        for (lines, rules, answer) in [
            (&["y"][..], rule, ApprovalAnswer::Once),
            (&["?", "?", "y"], rule, ApprovalAnswer::Once),
            (&["?"], rule, deny(None)),
            (&["s"], rule, ApprovalAnswer::Session),
            (&["a", "y"], rule, ApprovalAnswer::Always),
            (&["a", "what?", "yes"], rule, ApprovalAnswer::Always),
            (&["a", "n", "s"], rule, ApprovalAnswer::Session),
            (&["a", "", "n too wide"], rule, deny(Some("too wide"))),
            (&["a", "n", "a", "y"], rule, ApprovalAnswer::Always),
            (&["a"], rule, deny(None)),
            (&["s", "a", "y"], none, ApprovalAnswer::Once),
            (&[], rule, deny(None)),
        ] {
            assert_eq!(typed(lines, rules).await, answer, "{lines:?}");
        }
    }

    #[tokio::test]
    async fn approval_ignores_input_before_the_question() {
        let approver = TerminalApprover::new(Arc::new(Terminal::typing(&["y"])), None);
        assert_eq!(approver.ask(request(Ok("exec"))).await, ApprovalAnswer::Deny { comment: None });
    }
}

//! Asks the person at the terminal whether a call may go on.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use haft_contract::{Answer, ApprovalRequest, Approver, BoxFuture};

use super::Terminal;
use super::question::{confirmation, question, why};

const CONFIRM: &str = "Save it? [y/n] ";

/// Answers asks at the terminal.
#[derive(Debug)]
pub(crate) struct TerminalApprover {
    terminal: Arc<Terminal>,
    rules_file: Option<PathBuf>,
}

impl TerminalApprover {
    /// Rules that hold for good are said to be saved in `rules_file`; without one, nothing is offered for good.
    pub(crate) fn new(terminal: Arc<Terminal>, rules_file: Option<PathBuf>) -> Self {
        Self { terminal, rules_file }
    }

    /// `None` when the input ends.
    async fn answer(&self, request: &ApprovalRequest) -> Option<Answer> {
        let file = self.rules_file.as_deref();
        let (longest, mut text) = (Longest::of(request, file), question(request, file));
        let mut dialogue = self.terminal.dialogue().await;
        loop {
            let answer = match dialogue.ask(&text, longest.prompt(), |line| said(line, longest)).await? {
                Said::Answer(answer) => answer,
                Said::Why => {
                    text = why(request);
                    continue;
                }
            };
            let (Answer::Always, Ok(rules), Some(file)) = (&answer, &request.lasting, file) else { return Some(answer) };
            if dialogue.ask(&confirmation(rules, file), CONFIRM, confirmed).await? {
                return Some(answer);
            }
            // The question still stands above; only the answer is wanted again.
            text.clear();
        }
    }
}

impl Approver for TerminalApprover {
    fn ask(&self, request: ApprovalRequest) -> BoxFuture<'_, Answer> {
        Box::pin(async move { self.answer(&request).await.unwrap_or(Answer::Deny { comment: None }) })
    }
}

/// How long a yes may hold.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Longest {
    Once,
    Session,
    Always,
}

impl Longest {
    fn of(request: &ApprovalRequest, rules_file: Option<&Path>) -> Self {
        match (&request.lasting, rules_file) {
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

/// What a person types at the question.
#[derive(Debug, PartialEq, Eq)]
enum Said {
    Answer(Answer),
    /// They want to know more first.
    Why,
}

fn said(line: &str, longest: Longest) -> Option<Said> {
    if line == "?" { Some(Said::Why) } else { understood(line, longest).map(Said::Answer) }
}

/// Only a plain word that was offered allows anything.
fn understood(line: &str, longest: Longest) -> Option<Answer> {
    let (word, rest) = line.split_once(char::is_whitespace).unwrap_or((line, ""));
    let comment = Some(rest.trim().to_owned()).filter(|comment| !comment.is_empty());
    match (word.to_lowercase().as_str(), &comment) {
        ("y" | "yes", None) => Some(Answer::Once),
        ("s" | "session", None) if longest >= Longest::Session => Some(Answer::Session),
        ("a" | "always", None) if longest >= Longest::Always => Some(Answer::Always),
        ("n" | "no", _) => Some(Answer::Deny { comment }),
        ("", _) => Some(Answer::Deny { comment: None }),
        _ => None,
    }
}

fn confirmed(line: &str) -> Option<bool> {
    match line.to_lowercase().as_str() {
        "y" | "yes" => Some(true),
        "" | "n" | "no" => Some(false),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use haft_contract::CallInfo;
    use serde_json::json;

    use super::*;

    fn request(lasting: Result<&str, &str>) -> ApprovalRequest {
        let call = CallInfo { id: "1".into(), tool: "exec".into(), session: "s".into(), agent: "main".into() };
        let mut request = ApprovalRequest::new(call, json!({}), Vec::new(), String::new());
        request.lasting = lasting.map(|rule| vec![rule.to_owned()]).map_err(str::to_owned);
        request
    }

    #[test]
    fn only_a_plain_word_that_was_offered_allows() {
        let deny = |comment: Option<&str>| Some(Answer::Deny { comment: comment.map(str::to_owned) });
        for (line, once, session, always) in [
            ("y", Some(Answer::Once), Some(Answer::Once), Some(Answer::Once)),
            ("YES", Some(Answer::Once), Some(Answer::Once), Some(Answer::Once)),
            ("s", None, Some(Answer::Session), Some(Answer::Session)),
            ("Session", None, Some(Answer::Session), Some(Answer::Session)),
            ("a", None, None, Some(Answer::Always)),
            ("always", None, None, Some(Answer::Always)),
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
            let understood = [Longest::Once, Longest::Session, Longest::Always].map(|longest| understood(line, longest));
            assert_eq!(understood, [once, session, always], "{line:?}");
        }
    }

    #[test]
    fn what_is_offered_is_what_can_be_answered() {
        let prompt = |request: &ApprovalRequest, file: Option<&str>| Longest::of(request, file.map(Path::new)).prompt();
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

    /// What comes of a person who types these lines, one after the other, and then leaves.
    async fn typed(lines: &[&str], lasting: Result<&str, &str>) -> Answer {
        let (terminal, keyboard) = Terminal::listening();
        let approver = TerminalApprover::new(Arc::new(terminal), Some("/rules".into()));
        let person = async move {
            for line in lines {
                // Whoever has their answer reads no further.
                if keyboard.send((*line).to_owned()).await.is_err() {
                    return;
                }
            }
        };
        tokio::join!(approver.ask(request(lasting)), person).0
    }

    #[tokio::test]
    async fn a_rule_is_saved_only_after_it_was_shown_again_and_confirmed() {
        let (rule, none) = (Ok("exec(git push *)"), Err("no rule covers it"));
        let deny = |comment: Option<&str>| Answer::Deny { comment: comment.map(str::to_owned) };
        for (lines, lasting, answer) in [
            (&["y"][..], rule, Answer::Once),
            (&["?", "?", "y"], rule, Answer::Once),
            (&["?"], rule, deny(None)),
            (&["s"], rule, Answer::Session),
            (&["a", "y"], rule, Answer::Always),
            (&["a", "what?", "yes"], rule, Answer::Always),
            (&["a", "n", "s"], rule, Answer::Session),
            (&["a", "", "n too wide"], rule, deny(Some("too wide"))),
            (&["a", "n", "a", "y"], rule, Answer::Always),
            (&["a"], rule, deny(None)),
            (&["s", "a", "y"], none, Answer::Once),
            (&[], rule, deny(None)),
        ] {
            assert_eq!(typed(lines, lasting).await, answer, "{lines:?}");
        }
    }

    #[tokio::test]
    async fn what_was_typed_before_the_question_is_no_answer() {
        let approver = TerminalApprover::new(Arc::new(Terminal::typing(&["y"])), None);
        assert_eq!(approver.ask(request(Ok("exec"))).await, Answer::Deny { comment: None });
    }
}

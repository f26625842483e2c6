//! Asks the user at the terminal to approve a call.

use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};

use haft_contract::{
    BoxFuture,
    ports::{ApprovalAnswer, ApprovalRequest, Approver},
};
use haft_text::display;
use serde_json::Value;

use super::Terminal;
use super::approval_screen::{ApprovalScreen, KeyHint};
use super::dialogue::Dialogue;
use super::external_editor::EditableText;
use super::question::details;
use crate::output::{live_columns, note_columns};
use crate::table::wrap;

/// Wider than this, nothing reads better.
const WIDEST: usize = 120;
const PROMPT: &str = "> ";
/// Where keys are not read one by one.
const LINE_PROMPT: &str = "answer, then Enter: ";
const WIDTH_PROMPT: &str = "which? n: none > ";
const EDITED_WIDTH_PROMPT: &str = "edit which? n: none > ";
const RULE_PROMPT: &str = "rule: ";
const COMMENT_PROMPT: &str = "to the model: ";
const EDIT_PROMPT: &str = "edit: ";

/// Approves calls at the terminal.
#[derive(Debug)]
pub struct TerminalApprover {
    terminal: Arc<Terminal>,
    rules_file: Option<PathBuf>,
    /// The rules that the user wrote last.
    written: Mutex<Option<WrittenRules>>,
}

/// Rules that the user wrote for a question: those that are not accepted are corrected, not written again.
#[derive(Debug)]
struct WrittenRules {
    fingerprint: String,
    rules: Vec<String>,
}

impl TerminalApprover {
    /// Persistent rules are saved in `rules_file`; without one, "always" is not offered.
    pub fn new(terminal: Arc<Terminal>, rules_file: Option<PathBuf>) -> Self {
        Self { terminal, rules_file, written: Mutex::default() }
    }

    /// `None` when the input ends.
    async fn answer(&self, request: &ApprovalRequest) -> Option<ApprovalAnswer> {
        let columns = note_columns().unwrap_or(WIDEST).min(WIDEST);
        let screen = ApprovalScreen { request, rules_file: self.rules_file.as_deref(), columns };
        let (keys, mut text) = (screen.keys(), screen.render());
        let prompt = if live_columns().is_some() { PROMPT } else { LINE_PROMPT };
        let mut source = self.terminal.source().await;
        let mut dialogue = Dialogue::begin(&mut source);
        dialogue.count_down(request.time_limit);
        if let (Some(fault), Some(rules)) = (&request.edit_fault, self.take_written(request)) {
            let said = wrap(&format!("Not accepted: {}", display::escape_line(fault)), columns);
            let head: String = said.iter().flat_map(|line| [line.as_str(), "\n"]).collect();
            if let Some(answer) = self.write_rules(request, &rules, &head, &mut dialogue).await {
                return Some(answer);
            }
        }
        loop {
            let reply = dialogue.choose(&text, prompt, |typed| parse_reply(typed, &keys)).await?;
            // What is asked is still visible above; only the prompt is shown again.
            text.clear();
            match reply {
                ApprovalReply::Answer(answer) => return Some(answer),
                ApprovalReply::Details => text = details(request, &keys),
                ApprovalReply::Comment => {
                    if let Some(comment) = dialogue.line("", COMMENT_PROMPT, "").await {
                        return Some(ApprovalAnswer::Deny { comment: Some(comment.trim().to_owned()).filter(|text| !text.is_empty()) });
                    }
                }
                ApprovalReply::Always => {
                    let answer = match choose_width(&screen, &mut dialogue).await? {
                        WidthReply::Save(index) => Some(ApprovalAnswer::AlwaysAs(index)),
                        WidthReply::Edit(index) => self.write_rules(request, &request.widths[index].rules, "", &mut dialogue).await,
                        WidthReply::Back => None,
                    };
                    if answer.is_some() {
                        return answer;
                    }
                }
                ApprovalReply::Edit => match edited(request, &mut dialogue).await {
                    Some(Ok(arguments)) => return Some(ApprovalAnswer::Edit(arguments)),
                    Some(Err(fault)) => text = format!("{fault}\n"),
                    None => {}
                },
            }
        }
    }
}

impl TerminalApprover {
    /// The rules as the user changed them, one after the other; an empty one is left out. `None` if the user gives up. The engine checks
    /// them, and asks again if they are not accepted.
    async fn write_rules(
        &self,
        request: &ApprovalRequest,
        rules: &[String],
        head: &str,
        dialogue: &mut Dialogue<'_>,
    ) -> Option<ApprovalAnswer> {
        let (mut written, mut text) = (Vec::new(), head);
        for rule in rules {
            let rule = dialogue.line(text, RULE_PROMPT, rule).await?;
            written.extend(Some(rule.trim().to_owned()).filter(|rule| !rule.is_empty()));
            text = "";
        }
        if written.is_empty() {
            return None;
        }
        let kept = WrittenRules { fingerprint: request.fingerprint.clone(), rules: written.clone() };
        *self.written.lock().unwrap_or_else(PoisonError::into_inner) = Some(kept);
        Some(ApprovalAnswer::AlwaysBy(written))
    }

    /// What the user wrote for this question, once.
    fn take_written(&self, request: &ApprovalRequest) -> Option<Vec<String>> {
        let written = self.written.lock().unwrap_or_else(PoisonError::into_inner).take();
        written.filter(|written| written.fingerprint == request.fingerprint).map(|written| written.rules)
    }
}

impl Approver for TerminalApprover {
    fn ask(&self, request: ApprovalRequest) -> BoxFuture<'_, ApprovalAnswer> {
        Box::pin(async move { self.answer(&request).await.unwrap_or(ApprovalAnswer::Deny { comment: None }) })
    }
}

/// A reply to the question.
#[derive(Debug, Clone, PartialEq, Eq)]
enum ApprovalReply {
    Answer(ApprovalAnswer),
    /// Save a rule, of a width that is chosen next.
    Always,
    Edit,
    /// Deny, with a comment that is typed next.
    Comment,
    /// The user wants to know more first.
    Details,
}

/// Only a key or a plain word that was offered allows the call. On a line, text after `n` is a comment.
fn parse_reply(typed: &str, keys: &[KeyHint]) -> Option<ApprovalReply> {
    let (word, rest) = typed.split_once(char::is_whitespace).unwrap_or((typed, ""));
    let comment = Some(rest.trim().to_owned()).filter(|comment| !comment.is_empty());
    let word = word.to_lowercase();
    let is_offered = |key: &str| keys.iter().any(|(offered, _)| *offered == key);
    match (word.as_str(), &comment) {
        ("", _) => Some(ApprovalReply::Answer(ApprovalAnswer::Deny { comment: None })),
        ("n" | "no", _) => Some(ApprovalReply::Answer(ApprovalAnswer::Deny { comment })),
        ("y" | "yes", None) => Some(ApprovalReply::Answer(ApprovalAnswer::Once)),
        ("s" | "session", None) if is_offered("s") => Some(ApprovalReply::Answer(ApprovalAnswer::Session)),
        ("a" | "always", None) if is_offered("a") => Some(ApprovalReply::Always),
        ("e" | "edit", None) if is_offered("e") => Some(ApprovalReply::Edit),
        ("c" | "comment", None) => Some(ApprovalReply::Comment),
        ("?", None) => Some(ApprovalReply::Details),
        _ => None,
    }
}

/// A reply to the question how wide a rule is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum WidthReply {
    /// The rules of the width at this index.
    Save(usize),
    /// The same, edited first.
    Edit(usize),
    Back,
}

/// The chosen width; `None` when the input ends.
async fn choose_width(screen: &ApprovalScreen<'_>, dialogue: &mut Dialogue<'_>) -> Option<WidthReply> {
    let (Some(file), count) = (screen.rules_file, screen.request.widths.len()) else { return Some(WidthReply::Back) };
    let index = |typed: &str| typed.parse::<usize>().ok().filter(|number| (1..=count).contains(number)).map(|number| number - 1);
    let is_none = |typed: &str| matches!(typed, "" | "n" | "N");
    let parse = |typed: &str| match index(typed) {
        Some(index) => Some(Some(WidthReply::Save(index))),
        None if is_none(typed) => Some(Some(WidthReply::Back)),
        // Which one, is asked next.
        None => matches!(typed, "e" | "E").then_some(None),
    };
    match dialogue.choose(&screen.render_widths(file), WIDTH_PROMPT, parse).await? {
        Some(reply) => Some(reply),
        None if count == 1 => Some(WidthReply::Edit(0)),
        None => {
            let parse = |typed: &str| index(typed).map(WidthReply::Edit).or(is_none(typed).then_some(WidthReply::Back));
            dialogue.choose("", EDITED_WIDTH_PROMPT, parse).await
        }
    }
}

/// The arguments as the user edited them: several lines in their editor, a command as text, everything else as JSON. `None` if the user
/// gives up.
async fn edited(request: &ApprovalRequest, dialogue: &mut Dialogue<'_>) -> Option<Result<Value, String>> {
    if let Some(text) = EditableText::from_arguments(&request.arguments) {
        return match text.edit().await {
            Ok(edited) => text.applied(&edited, &request.arguments),
            Err(fault) => Some(Err(fault)),
        };
    }
    if let Some(command) = request.arguments["command"].as_str() {
        let typed = dialogue.line("", EDIT_PROMPT, command).await.filter(|typed| !typed.trim().is_empty())?;
        let mut arguments = request.arguments.clone();
        arguments["command"] = Value::String(typed);
        return Some(Ok(arguments));
    }
    let typed = dialogue.line("", EDIT_PROMPT, &request.arguments.to_string()).await.filter(|typed| !typed.trim().is_empty())?;
    Some(serde_json::from_str(&typed).map_err(|error| format!("Not accepted: the arguments are not JSON ({error}).")))
}

#[cfg(test)]
mod tests {
    use crossterm::event::{KeyCode, KeyEvent, KeyModifiers};
    use haft_contract::{CallInfo, ports::GrantWidth};
    use serde_json::json;

    use super::super::Typed;
    use super::*;

    fn request(rules: Result<&str, &str>) -> ApprovalRequest {
        let call = CallInfo { id: "1".into(), tool: "exec".into(), session: "s".into(), agent: "main".into() };
        let mut request = ApprovalRequest::new(call, json!({"command": "git push"}), Vec::new(), String::new());
        request.widths = rules.iter().map(|rule| GrantWidth::new("exactly this", vec![(*rule).to_owned()])).collect();
        request.rules = rules.map(|rule| vec![rule.to_owned()]).map_err(str::to_owned);
        request
    }

    fn deny(comment: Option<&str>) -> ApprovalAnswer {
        ApprovalAnswer::Deny { comment: comment.map(str::to_owned) }
    }

    #[test]
    fn approval_needs_a_key_or_a_plain_word_that_was_offered() {
        let (rule, none) = (request(Ok("exec(git push *)")), request(Err("no rule covers it")));
        let keys = |request: &ApprovalRequest, file: Option<&str>| {
            ApprovalScreen { request, rules_file: file.map(std::path::Path::new), columns: 80 }.keys()
        };
        let [once, session, always] = [keys(&none, Some("/rules")), keys(&rule, None), keys(&rule, Some("/rules"))];
        let letters = |keys: &[KeyHint]| keys.iter().map(|(key, _)| *key).collect::<String>();
        assert_eq!([letters(&once), letters(&session), letters(&always)], ["yenc?", "ysenc?", "ysaenc?"]);
        let answer = |answer| Some(ApprovalReply::Answer(answer));
        for (typed, expected) in [
            ("y", [answer(ApprovalAnswer::Once), answer(ApprovalAnswer::Once), answer(ApprovalAnswer::Once)]),
            ("YES", [answer(ApprovalAnswer::Once), answer(ApprovalAnswer::Once), answer(ApprovalAnswer::Once)]),
            ("s", [None, answer(ApprovalAnswer::Session), answer(ApprovalAnswer::Session)]),
            ("a", [None, None, Some(ApprovalReply::Always)]),
            ("n", [answer(deny(None)), answer(deny(None)), answer(deny(None))]),
            ("", [answer(deny(None)), answer(deny(None)), answer(deny(None))]),
            ("no  Use make", [answer(deny(Some("Use make"))), answer(deny(Some("Use make"))), answer(deny(Some("Use make")))]),
            ("y but only once", [None, None, None]),
            ("yn", [None, None, None]),
            ("x", [None, None, None]),
        ] {
            assert_eq!([&once, &session, &always].map(|keys| parse_reply(typed, keys)), expected, "{typed:?}");
        }
    }

    /// The answer to a user who types this.
    async fn typed(input: Vec<Typed>, rules: Result<&str, &str>) -> ApprovalAnswer {
        let (terminal, keyboard) = Terminal::listening();
        let approver = TerminalApprover::new(Arc::new(terminal), Some("/rules".into()));
        let user = async move {
            for one in input {
                // The approver stops reading once it has an answer.
                if keyboard.send(one).await.is_err() {
                    return;
                }
                tokio::task::yield_now().await;
            }
        };
        tokio::join!(approver.ask(request(rules)), user).0
    }

    fn key(code: KeyCode) -> Typed {
        Typed::Key(KeyEvent::new(code, KeyModifiers::NONE))
    }

    #[tokio::test]
    async fn one_key_answers_and_lines_do_where_keys_are_not_read() {
        let (rule, none) = (Ok("exec(git push *)"), Err("no rule covers it"));
        let edit = |command: &str| ApprovalAnswer::Edit(json!({"command": command}));
        for (keys, rules, answer) in [
            ("y", rule, ApprovalAnswer::Once),
            ("??y", rule, ApprovalAnswer::Once),
            ("xqs", rule, ApprovalAnswer::Session),
            ("a1", rule, ApprovalAnswer::AlwaysAs(0)),
            ("a9n\u{1b}", rule, deny(None)),
            ("sa\ny", none, ApprovalAnswer::Once),
            ("cuse make\n", rule, deny(Some("use make"))),
            ("c\u{1b}y", rule, ApprovalAnswer::Once),
            ("e --force\n", rule, edit("git push --force")),
            ("e\u{1b}n", rule, deny(None)),
            ("\u{1b}", rule, deny(None)),
            ("?", rule, deny(None)),
        ] {
            let code = |ch| match ch {
                '\n' => KeyCode::Enter,
                '\u{1b}' => KeyCode::Esc,
                ch => KeyCode::Char(ch),
            };
            assert_eq!(typed(keys.chars().map(|ch| key(code(ch))).collect(), rules).await, answer, "{keys:?}");
        }
        for (lines, rules, answer) in [
            (&["y"][..], rule, ApprovalAnswer::Once),
            (&["a", "what?", "1"], rule, ApprovalAnswer::AlwaysAs(0)),
            (&["a", "n", "s"], rule, ApprovalAnswer::Session),
            (&["a", "", "n too wide"], rule, deny(Some("too wide"))),
            (&["a", "e", "exec(git push x)"], rule, ApprovalAnswer::AlwaysBy(vec!["exec(git push x)".into()])),
            (&["a", "e", "", "s"], rule, ApprovalAnswer::Session),
            (&["e", "git push x"], rule, edit("git push x")),
            (&["e", "", ""], rule, deny(None)),
            (&["a"], rule, deny(None)),
            (&[], rule, deny(None)),
        ] {
            let input = lines.iter().map(|line| Typed::Line((*line).to_owned())).collect();
            assert_eq!(typed(input, rules).await, answer, "{lines:?}");
        }
    }

    /// Lets a user type this at each of these questions, which come one after the other; returns the answers.
    async fn answers(questions: Vec<(ApprovalRequest, &str)>) -> Vec<ApprovalAnswer> {
        let (terminal, keyboard) = Terminal::listening();
        let approver = TerminalApprover::new(Arc::new(terminal), Some("/rules".into()));
        let mut answers = Vec::new();
        for (question, keys) in questions {
            let user = async {
                for ch in keys.chars() {
                    let code = match ch {
                        '\n' => KeyCode::Enter,
                        '\u{1b}' => KeyCode::Esc,
                        '\u{8}' => KeyCode::Backspace,
                        ch => KeyCode::Char(ch),
                    };
                    keyboard.send(key(code)).await.unwrap();
                    tokio::task::yield_now().await;
                }
            };
            answers.push(tokio::join!(approver.ask(question), user).0);
        }
        answers
    }

    #[tokio::test]
    async fn rule_is_edited_before_it_is_saved_and_kept_when_it_is_not_accepted() {
        let question = |widths: &[&[&str]], fault: Option<&str>| {
            let mut request = request(Ok("exec(git push *)"));
            request.widths = widths.iter().map(|rules| GrantWidth::new("w", rules.iter().map(|&rule| rule.into()).collect())).collect();
            request.edit_fault = fault.map(str::to_owned);
            request.fingerprint = "this one".into();
            request
        };
        let by = |rules: &[&str]| ApprovalAnswer::AlwaysBy(rules.iter().map(|&rule| rule.to_owned()).collect());
        let (one, two): (&[&[&str]], &[&[&str]]) = (&[&["exec(a)"]], &[&["exec(a)"], &["exec(b)", "exec(c)"]]);
        let ask = |widths, keys| (question(widths, None), keys);
        let again = |widths, keys| (question(widths, Some("the ')' is missing")), keys);
        for (questions, expected) in [
            (vec![ask(one, "ae\u{8} *)\n")], vec![by(&["exec(a *)"])]),
            (vec![ask(two, "ae2\u{8}x)\n\n")], vec![by(&["exec(bx)", "exec(c)"])]),
            (vec![ask(one, "ae\u{1b}y")], vec![ApprovalAnswer::Once]),
            (vec![ask(two, "aenae9n\u{1b}")], vec![deny(None)]),
            // What was not accepted is there again, and can be left.
            (vec![ask(one, "ae\u{8}x\n"), again(one, ")\n")], vec![by(&["exec(ax"]), by(&["exec(ax)"])]),
            (vec![ask(one, "ae\u{8}x\n"), again(one, "\u{1b}y")], vec![by(&["exec(ax"]), ApprovalAnswer::Once]),
            // A fault of other arguments, or of another question, is no fault of the rule.
            (vec![again(one, "y")], vec![ApprovalAnswer::Once]),
        ] {
            let keys: Vec<&str> = questions.iter().map(|(_, keys)| *keys).collect();
            assert_eq!(answers(questions.clone()).await, expected, "{keys:?}");
        }
        let mut other = question(one, Some("it is wrong"));
        other.fingerprint = "another".into();
        assert_eq!(answers(vec![ask(one, "ae\n"), (other, "y")]).await, [by(&["exec(a)"]), ApprovalAnswer::Once]);
    }

    #[tokio::test]
    async fn approval_ignores_input_before_the_question() {
        let approver = TerminalApprover::new(Arc::new(Terminal::typing(&["y"])), None);
        assert_eq!(approver.ask(request(Ok("exec"))).await, deny(None));
    }
}

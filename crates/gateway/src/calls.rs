//! Calls as the page shows them: from a running turn, and from the history.

use std::path::Path;

use haft_contract::{Content, ErrorKind, ToolOutput, ToolResult};
use haft_store::{CallRecord, CallStatus};
use haft_text::base64;
use haft_tui::failure::to_change;
use haft_tui::terminal::{call_subject, outcome_facts};
use haft_tui::{diff, effects};
use serde_json::Value;

use crate::api::{CallState, CallView, EffectView, ImageView};
use crate::render;
use crate::stored_change::StoredChange;
use crate::time::{milliseconds, timestamp};

/// Bytes of a picture that is sent; a larger one is named only.
const MOST_IMAGE_BYTES: usize = 2 << 20;
/// Bytes of arguments that are sent as they are.
const MOST_ARGUMENT_BYTES: usize = 256 << 10;
/// Characters of a command that is shown in one line.
const LINE: usize = 80;

impl CallState {
    /// The state of a call of the history.
    pub(crate) fn recorded(record: &CallRecord) -> Self {
        match &record.status {
            CallStatus::Begun => Self::Interrupted,
            CallStatus::Success => Self::Success,
            CallStatus::Error(kind) => state_of(kind),
        }
    }
}

impl CallView {
    /// A call that begins.
    pub(crate) fn begin(session: &str, agent: &str, id: &str, tool: &str, arguments: &str) -> Self {
        let value = serde_json::from_str(arguments).unwrap_or_else(|_| Value::String(arguments.to_owned()));
        Self {
            id: id.to_owned(),
            session: session.to_owned(),
            agent: agent.to_owned(),
            tool: render::visible_line(tool).into_owned(),
            state: CallState::Running,
            title: call_subject(arguments),
            started: timestamp(std::time::SystemTime::now()),
            ..Self::default()
        }
        .with_arguments(value)
    }

    fn with_arguments(mut self, arguments: Value) -> Self {
        self.arguments_html = render::json(&arguments);
        let is_large = arguments.to_string().len() > MOST_ARGUMENT_BYTES;
        self.arguments = if is_large { Value::Null } else { arguments };
        self
    }

    /// Adds the result.
    pub(crate) fn end(&mut self, result: &ToolResult) {
        self.duration_ms = Some(milliseconds(result.elapsed));
        (self.progress, self.approval) = (None, None);
        match &result.outcome {
            Ok(output) => {
                self.state = CallState::Success;
                self.outcome = Some(outcome_facts(output).join(" · "));
                self.set_result(&output.texts().collect::<Vec<_>>().join("\n"));
                self.images = output.content.iter().filter_map(image).collect();
            }
            Err(error) => {
                self.state = state_of(error.kind().as_str());
                self.error_type = Some(error.kind().as_str().to_owned());
                self.set_failure(error.message());
                self.help = to_change(error.details());
                self.advice = error.details().and_then(|details| details.get("advice")).cloned();
            }
        }
        if let Some(text) = result.details().and_then(|details| details["diff"].as_str()) {
            let (added, removed) = diff::counts(text);
            (self.added, self.removed, self.diff_html) = (Some(added), Some(removed), Some(render::diff(text)));
        }
    }

    fn set_result(&mut self, text: &str) {
        let (shown, is_cut) = render::bounded(text);
        self.result = Some(shown.to_owned());
        self.result_html = Some(result_html(text));
        self.result_cut = is_cut;
        self.spill = spill_of(text);
    }

    /// A success of which only the text is kept.
    fn set_success(&mut self, text: &str) {
        self.set_result(text);
        self.outcome = Some(outcome_facts(&ToolOutput::text(text)).join(" · "));
    }

    fn set_failure(&mut self, message: &str) {
        self.set_result(message);
        let (shown, _) = render::bounded(message);
        self.message = Some(shown.to_owned());
        self.outcome = shown.lines().next().map(|line| haft_text::display::shorten(line, 120).into_owned());
    }

    /// Sets the result that a transcript has.
    pub(crate) fn set_stored_result(&mut self, text: &str, error_type: Option<&str>) {
        if let Some(kind) = error_type {
            (self.state, self.error_type) = (state_of(kind), Some(kind.to_owned()));
            self.set_failure(text);
        } else {
            self.state = CallState::Success;
            self.set_success(text);
            self.set_stored_change(text);
        }
    }

    /// Sets the images of a stored result: media type, and content in base64.
    pub(crate) fn set_stored_images<'a>(&mut self, images: impl Iterator<Item = (&'a str, &'a str)>) {
        self.images =
            images.filter(|(mime, data)| is_picture(mime) && data.len() <= MOST_IMAGE_BYTES / 3 * 4 + 4).map(image_view).collect();
    }

    /// Takes the change of a file from the text of a result: the details, which have it too, are not stored.
    fn set_stored_change(&mut self, text: &str) {
        let writes = |view: &EffectView| matches!(view.kind.as_str(), "write" | "delete");
        let runs = |view: &EffectView| matches!(view.kind.as_str(), "exec" | "unknown" | "contained");
        if self.diff_html.is_some() || !self.effects.iter().any(writes) || self.effects.iter().any(runs) {
            return;
        }
        let change = StoredChange::of_call(&self.arguments, text);
        (self.added, self.removed) = change.counts.unzip();
        self.diff_html = change.diff.as_deref().map(render::diff);
    }

    /// A call of the history.
    pub(crate) fn recorded(record: &CallRecord) -> Self {
        let mut view = Self {
            id: record.call_id.clone(),
            session: record.session.clone(),
            tool: render::visible_line(&record.tool).into_owned(),
            title: call_subject(&record.arguments.to_string()),
            ..Self::default()
        }
        .with_arguments(record.arguments.clone());
        view.state = CallState::recorded(record);
        match &record.status {
            CallStatus::Begun => {}
            CallStatus::Success => view.set_success(&record.summary),
            CallStatus::Error(kind) => {
                view.error_type = Some(kind.clone());
                view.set_failure(&record.summary);
            }
        }
        if record.status != CallStatus::Begun {
            view.duration_ms = Some(milliseconds(record.elapsed));
        }
        view.enrich(record);
        if record.status == CallStatus::Success {
            view.set_stored_change(&record.summary);
        }
        view
    }

    /// Adds what the history knows of it.
    pub(crate) fn enrich(&mut self, record: &CallRecord) {
        self.record = Some(record.id.clone());
        self.agent.clone_from(&record.agent);
        self.started = timestamp(record.started);
        self.original_arguments.clone_from(&record.original_arguments);
        self.effects = effect_views(&record.effects, &record.workspace);
        self.decision = Some(record.decision.clone());
        self.undone = record.undone;
        let changes_files = effects::all(&record.effects).iter().any(|effect| {
            let is_sandboxed = matches!(effect["host"].as_str(), Some("sandbox" | "container"));
            matches!(effect["effect"].as_str(), Some("write" | "delete")) || is_sandboxed
        });
        let has_run = !matches!(self.state, CallState::Denied | CallState::Blocked);
        self.can_undo = changes_files && has_run && !record.undone && record.status != CallStatus::Begun;
    }
}

/// Text of a tool: with the colours of a terminal, or as JSON.
fn result_html(text: &str) -> String {
    let is_json = text.trim_start().starts_with(['{', '[']) && text.len() <= render::MOST_CHARS;
    let value = is_json.then(|| serde_json::from_str::<Value>(text).ok()).flatten();
    value.map_or_else(|| render::ansi(text), |value| render::json(&value))
}

fn image(content: &Content) -> Option<ImageView> {
    let Content::Image { mime, data } = content else { return None };
    // Only formats that are pictures and nothing else: an SVG can contain scripts.
    (is_picture(mime) && data.len() <= MOST_IMAGE_BYTES).then(|| image_view((mime, &base64::encode(data))))
}

fn is_picture(mime: &str) -> bool {
    matches!(mime, "image/png" | "image/jpeg" | "image/gif" | "image/webp")
}

fn image_view((mime, base64): (&str, &str)) -> ImageView {
    ImageView { mime: mime.to_owned(), url: format!("data:{mime};base64,{base64}") }
}

fn state_of(kind: &str) -> CallState {
    const DENIED: [&str; 6] =
        ["permission_denied", "path_not_allowed", "approval_timeout", "tool_not_available", "tool_globally_disabled", "blocked"];
    match kind {
        kind if kind == ErrorKind::Cancelled.as_str() => CallState::Cancelled,
        kind if kind == ErrorKind::Timeout.as_str() => CallState::TimedOut,
        "loop_blocked" => CallState::Blocked,
        kind if DENIED.contains(&kind) => CallState::Denied,
        _ => CallState::Error,
    }
}

/// The path of the spill that a cut output names. What a tool printed may look the same: the server opens spills alone.
fn spill_of(text: &str) -> Option<String> {
    let named = text.rmatch_indices("is in '").filter_map(|(at, before)| text[at + before.len()..].split_once('\''));
    named.map(|(path, _)| path).find(|path| path.starts_with('/') && path.contains("/spills/") && !path.contains('\n')).map(str::to_owned)
}

/// Effects as text, those that weigh most first.
pub(crate) fn effect_views(recorded: &Value, workspace: &Path) -> Vec<EffectView> {
    let mut views: Vec<EffectView> = effects::all(recorded)
        .iter()
        .map(|effect| {
            let (kind, target) = effects::describe(effect, workspace);
            let target = render::visible_line(&target).into_owned();
            let (weight, outside, place) = (weight(&kind), effect["outside"] == true, place(effect, workspace));
            EffectView { words: long_command(effect, &target), kind, target, weight, outside, place }
        })
        .collect();
    views.sort_by_key(|view| view.weight);
    views
}

/// The words of a command that does not fit into a line: each is shown in one of its own.
fn long_command(effect: &Value, target: &str) -> Option<Vec<String>> {
    let is_long = effect["effect"] == "exec" && target.chars().count() > LINE;
    let show = |word: &String| render::visible_line(word).into_owned();
    is_long.then(|| effects::command_words(effect).iter().map(show).collect())
}

/// The folder of a program, and whether it is in a sandbox there.
fn place(effect: &Value, workspace: &Path) -> Option<String> {
    let folder = effect["directory"].as_str().filter(|_| effect["effect"] == "exec")?;
    let host = match effect["host"].as_str()? {
        "sandbox" => "in the sandbox",
        "host" => "on this machine, without a sandbox",
        "container" => "in a container",
        _ => "on a paired machine",
    };
    let folder = if Path::new(folder) == workspace { "the workspace".into() } else { render::visible_line(folder) };
    Some(format!("in {folder}, {host}"))
}

fn weight(kind: &str) -> u8 {
    match kind {
        "delete" | "end_job" => 1,
        "exec" | "unknown" | "contained" | "spawn" => 2,
        "connect" | "send" => 3,
        "write" | "configure" | "write_job" => 4,
        "read" | "read_job" => 5,
        _ => 6,
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use haft_contract::ToolError;
    use serde_json::json;

    use super::*;

    fn ended(outcome: Result<ToolOutput, ToolError>) -> CallView {
        let mut call = CallView::begin("s", "main", "c1", "exec", r#"{"command":"make \u202ex"}"#);
        call.end(&ToolResult { call_id: "c1".into(), tool: "exec".into(), outcome, elapsed: Duration::from_millis(5), stored: None });
        call
    }

    #[test]
    fn ended_call_shows_its_outcome_safely() {
        let ok = ended(Ok(ToolOutput::text("<script>\u{1b}[31mred").with_details(json!({"exit_code": 0, "diff": "--- a\n+++ b\n+x"}))));
        assert_eq!((ok.state, ok.outcome.as_deref(), ok.added), (CallState::Success, Some("exit 0 · <script>\\u{1b}[31mred"), Some(1)));
        assert_eq!(ok.result_html.as_deref(), Some("<pre>&lt;script&gt;<span class=\"ansi-31\">red</span></pre>"));
        assert!(!ok.title.contains('\u{202e}') && !ok.arguments_html.contains('\u{202e}'));
        let svg = ended(Ok(ToolOutput::default().with_image("image/svg+xml", b"<svg onload=x>".to_vec()).with_image("image/png", vec![1])));
        assert_eq!(svg.images.len(), 1);
        let denied = ended(Err(ToolError::new(ErrorKind::PermissionDenied, "no\nmore")));
        assert_eq!((denied.state, denied.outcome.as_deref()), (CallState::Denied, Some("no")));
    }

    #[test]
    fn cut_output_names_its_spill() {
        for (text, expected) in [
            (
                "a\n\n(… 78 KB left out. All of it is in '/d/spills/s/1.txt': read_file with offset=9 continues …)\n\nz",
                Some("/d/spills/s/1.txt"),
            ),
            ("it is in '/d/spills/a.txt' and all is in '/d/spills/b.txt'", Some("/d/spills/b.txt")),
            ("is in 'spills/x'", None),
            ("is in '/etc/passwd'", None),
            ("is in '/d/spills/\n'", None),
            ("is in '/d/spills/", None),
        ] {
            assert_eq!(spill_of(text).as_deref(), expected, "{text}");
        }
    }

    #[test]
    fn effects_are_sorted_by_weight() {
        let effects =
            json!([{"effect": "read", "path": "/w/a"}, {"effect": "delete", "path": "/w/b\u{202e}"}, {"effect": "write", "path": "/x"}]);
        let views = effect_views(&effects, Path::new("/w"));
        let seen: Vec<_> = views.iter().map(|view| (view.kind.as_str(), view.target.as_str())).collect();
        assert_eq!(seen, [("delete", "b⟨U+202E⟩"), ("write", "/x"), ("read", "a")]);
    }

    #[test]
    fn program_says_where_it_runs() {
        let exec =
            |directory: &str, host: &str| json!({"effect": "exec", "program": "ls", "arguments": [], "directory": directory, "host": host});
        let effects = json!([exec("/w", "sandbox"), exec("/w/a\u{202e}", "host"), {"effect": "write", "path": "/w/a", "directory": "/w", "host": "host"}]);
        let places: Vec<Option<String>> = effect_views(&effects, Path::new("/w")).into_iter().map(|view| view.place).collect();
        let said =
            ["in the workspace, in the sandbox", "in /w/a⟨U+202E⟩, on this machine, without a sandbox"].map(|place| Some(place.to_owned()));
        assert_eq!(places, [said.to_vec(), vec![None]].concat());
    }

    #[test]
    fn long_command_has_its_words_and_none_of_them_looks_like_two() {
        let long = "x".repeat(LINE);
        let effects = json!([
            {"effect": "exec", "program": "git", "arguments": ["a b", "--\n--force\u{202e}", long], "directory": "/w", "host": "sandbox"},
            {"effect": "exec", "program": "git", "arguments": ["status"], "directory": "/w", "host": "sandbox"},
        ]);
        let words: Vec<_> = effect_views(&effects, Path::new("/w")).into_iter().map(|view| view.words).collect();
        let [Some(words), None] = words.as_slice() else { panic!("{words:?}") };
        assert_eq!([&words[0], &words[1], &words[3]], ["git", "'a b'", long.as_str()]);
        assert!(words.len() == 4 && !words[2].contains(['\n', '\u{202e}']), "{words:?}");
    }
}

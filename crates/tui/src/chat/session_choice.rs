//! Chooses the session: a new one, the last one of the folder, or one that the user names.

use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use haft_agent::LedgerEntry;
use haft_provider::{Block, Message, Role};
use haft_store::{SessionFilter, SessionRecord, SessionStore, StoreError};
use haft_text::display;

use super::ChatRequest;
use super::input::ChatInput;
use super::picker::PickerOption;
use crate::failure::{Exit, Failure};
use crate::output::{Output, note};
use crate::sessions::{self, SessionMatch};

/// How many sessions are offered.
const MOST_OFFERED: usize = 200;
/// The last message of the user is among the last entries of a session.
const LAST_ENTRIES: u64 = 8;
const SHOWN_CHARACTERS: usize = 60;
const PREVIEW_CHARACTERS: usize = 200;

/// The session of a conversation.
#[derive(Debug)]
pub(super) enum SessionChoice {
    New,
    Session(Box<SessionRecord>),
    /// No session was chosen.
    None(Exit),
}

/// The session that the command line asks for.
pub(super) async fn choose_session(
    request: &ChatRequest,
    workspace: &Path,
    store: &Arc<dyn SessionStore>,
    input: &mut ChatInput,
    output: &Output,
) -> Result<SessionChoice, Failure> {
    match &request.resume {
        Some(wanted) => find_session(Some(wanted), workspace, store, input, output).await,
        None if request.continued => last_in(workspace, store).await,
        None => Ok(SessionChoice::New),
    }
}

async fn last_in(workspace: &Path, store: &Arc<dyn SessionStore>) -> Result<SessionChoice, Failure> {
    let filter = SessionFilter { workspace: Some(workspace.to_owned()), limit: Some(1), ..SessionFilter::default() };
    let session = store.list(filter).await?.into_iter().next().ok_or_else(|| {
        let message = format!("there is no session in {} yet", workspace.display());
        Failure::failed("not_found", message).help("`haft chat` starts one, `haft chat --resume` lists those of every folder")
    })?;
    Ok(SessionChoice::Session(Box::new(session)))
}

/// A session by its id, by text in it, or by choice.
pub(super) async fn find_session(
    wanted: Option<&str>,
    workspace: &Path,
    store: &Arc<dyn SessionStore>,
    input: &mut ChatInput,
    output: &Output,
) -> Result<SessionChoice, Failure> {
    let Some(wanted) = wanted.map(str::trim).filter(|wanted| !wanted.is_empty()) else {
        let filter = SessionFilter { limit: Some(MOST_OFFERED), ..SessionFilter::default() };
        let all = sessions::find_sessions(store, filter, None).await?;
        return choose_from(all, "Which one?", workspace, store, input, output).await;
    };
    match store.open(wanted).await {
        Ok(session) => return Ok(SessionChoice::Session(Box::new(session))),
        Err(StoreError::Missing { .. }) => {}
        Err(error) => return Err(error.into()),
    }
    let filter = SessionFilter { limit: Some(MOST_OFFERED), ..SessionFilter::default() };
    let matching = sessions::find_sessions(store, filter, Some(wanted)).await?;
    if matching.is_empty() {
        let message = format!("no session has '{wanted}' in its id, its title or its messages");
        return Err(Failure::failed("not_found", message).help("`haft sessions list --all` lists them"));
    }
    choose_from(matching, &format!("These sessions contain '{}'.", display::escape_line(wanted)), workspace, store, input, output).await
}

async fn choose_from(
    mut sessions: Vec<SessionMatch>,
    question: &str,
    workspace: &Path,
    store: &Arc<dyn SessionStore>,
    input: &mut ChatInput,
    output: &Output,
) -> Result<SessionChoice, Failure> {
    if sessions.len() == 1 {
        return Ok(SessionChoice::Session(Box::new(sessions.swap_remove(0).session)));
    }
    if sessions.is_empty() {
        note("there are no sessions yet; `haft chat` starts one");
        return Ok(SessionChoice::None(Exit::Failed));
    }
    if !input.is_attended() {
        sessions::list(store, &sessions, output).await?;
        note("several sessions match; give the id of one: `haft chat --resume ID`");
        return Ok(SessionChoice::None(Exit::Usage));
    }
    let now = SystemTime::now();
    let mut options = Vec::new();
    for SessionMatch { session, excerpt } in &sessions {
        let last = last_messages(session, store).await?;
        let words = excerpt.clone().unwrap_or_else(|| last.user.clone());
        let is_here = session.workspace == workspace;
        options.push(PickerOption { text: describe(session, &words, now), preview: last.preview(session), is_here });
    }
    Ok(match input.choose_previewed(question, options).await? {
        Some(index) => SessionChoice::Session(Box::new(sessions.swap_remove(index).session)),
        None => SessionChoice::None(Exit::Success),
    })
}

/// The text of a message.
pub(super) fn text_of(message: &Message) -> String {
    let texts = message.blocks.iter().filter_map(|block| if let Block::Text { text, .. } = block { Some(text.as_str()) } else { None });
    texts.collect::<Vec<_>>().join("\n")
}

/// The last messages of a session.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct LastMessages {
    pub(super) user: String,
    pub(super) model: String,
}

impl LastMessages {
    /// The whole folder, and what was said last.
    pub(super) fn preview(&self, session: &SessionRecord) -> Vec<String> {
        let one_line =
            |text: &str| display::shorten(&text.split_whitespace().collect::<Vec<_>>().join(" "), PREVIEW_CHARACTERS).into_owned();
        let said = [("you", &self.user), ("model", &self.model)].into_iter().filter(|(_, text)| !text.trim().is_empty());
        let folder = format!("in {}", display::escape_line(&session.workspace.to_string_lossy()));
        std::iter::once(folder).chain(said.map(|(role, text)| format!("{role}: {}", one_line(text)))).collect()
    }
}

async fn last_messages(session: &SessionRecord, store: &Arc<dyn SessionStore>) -> Result<LastMessages, Failure> {
    let from = session.messages.saturating_sub(LAST_ENTRIES);
    let entries = store.messages(&session.id, from, usize::try_from(LAST_ENTRIES).unwrap_or(usize::MAX)).await?;
    let mut last = LastMessages::default();
    for entry in entries.iter().filter_map(|record| serde_json::from_str(&record.body).ok()) {
        match entry {
            LedgerEntry::User { message } => last.user = text_of(&message),
            LedgerEntry::Assistant { message, .. } if !text_of(&message).is_empty() => last.model = text_of(&message),
            _ => {}
        }
    }
    Ok(last)
}

/// The last two names of a path.
fn short_folder(path: &str) -> &str {
    let from = path.trim_end_matches('/').rmatch_indices('/').nth(1).map_or(0, |(at, _)| at + 1);
    &path[from..]
}

/// `3f9c21ab  2 h ago  ann/work · Fix the failing test · and now the docs`.
pub(super) fn describe(session: &SessionRecord, last: &str, now: SystemTime) -> String {
    let title = display::shorten(session.title.as_deref().unwrap_or("(no title)"), SHOWN_CHARACTERS).into_owned();
    let last = display::shorten(last.trim(), SHOWN_CHARACTERS).into_owned();
    let last = if last.is_empty() || last == title { String::new() } else { format!(" · {last}") };
    let folder = session.workspace.to_string_lossy();
    let age = ago(now.duration_since(session.updated).unwrap_or_default());
    format!("{}  {age:>9}  {} · {title}{last}", sessions::short_id(&session.id), display::escape_line(short_folder(&folder)))
}

/// The age of a session in its largest unit.
pub(super) fn ago(age: Duration) -> String {
    match age.as_secs() {
        seconds @ ..60 => format!("{seconds} s ago"),
        seconds @ ..3_600 => format!("{} min ago", seconds / 60),
        seconds @ ..86_400 => format!("{} h ago", seconds / 3_600),
        seconds => format!("{} d ago", seconds / 86_400),
    }
}

/// The last message of the user and of the model.
pub(super) fn last_exchange(messages: &[Message]) -> Vec<(&'static str, String)> {
    let last_text =
        |role: Role| messages.iter().rev().filter(move |message| message.role == role).map(text_of).find(|text| !text.is_empty());
    [("you", last_text(Role::User)), ("model", last_text(Role::Assistant))]
        .into_iter()
        .filter_map(|(role, text)| Some((role, text?)))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn session_age_has_one_unit() {
        for (seconds, text) in [(0, "0 s ago"), (59, "59 s ago"), (60, "1 min ago"), (7_300, "2 h ago"), (200_000, "2 d ago")] {
            assert_eq!(ago(Duration::from_secs(seconds)), text);
        }
    }

    #[test]
    fn session_is_described_by_title_age_and_last_message() {
        let mut session = SessionRecord {
            id: "01a1e0fc-507f-7000-8000-551430c2edcf".into(),
            title: Some("Fix the\u{1b}[2J test".into()),
            agent: "main".into(),
            model: None,
            workspace: "/home/ann/work".into(),
            created: SystemTime::UNIX_EPOCH,
            updated: SystemTime::UNIX_EPOCH,
            parent: None,
            closed: false,
            messages: 5,
            access: None,
        };
        let now = SystemTime::UNIX_EPOCH + Duration::from_hours(2);
        let expected = "30c2edcf    2 h ago  ann/work · Fix the\\u{1b}[2J test · and now the docs";
        assert_eq!(describe(&session, "and now the docs\n", now), expected);
        session.title = None;
        assert_eq!(describe(&session, "", now), "30c2edcf    2 h ago  ann/work · (no title)");
    }

    #[test]
    fn last_exchange_leaves_calls_and_results_out() {
        let call = Block::Call { id: "1".into(), name: "noop".into(), arguments: "{}".into(), opaque: None };
        let result = Block::Result { id: "1".into(), name: "noop".into(), content: Vec::new(), is_error: false };
        let messages = [
            Message::user("first"),
            Message::assistant(vec![Block::text("yes"), call]),
            Message { role: Role::User, blocks: vec![result] },
        ];
        assert_eq!(last_exchange(&messages), [("you", "first".to_owned()), ("model", "yes".to_owned())]);
        assert_eq!(last_exchange(&[]), []);
    }
}

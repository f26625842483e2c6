//! Which conversation it is: a new one, the last one here, or one that is looked for.

use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use haft_agent::Entry;
use haft_contract::visible;
use haft_provider::{Block, Message, Role};
use haft_store::{SessionFilter, SessionRecord, SessionStore, StoreError};

use super::input::Input;
use crate::arguments::Chat;
use crate::commands::sessions::{self, Found};
use crate::failure::{Exit, Failure};
use crate::output::{Output, note};

/// How many are offered to choose from.
const MOST_OFFERED: usize = 200;
/// The last words of a session are among its last entries.
const LAST_ENTRIES: u64 = 8;
const SHOWN_CHARACTERS: usize = 60;

/// What to go on with.
#[derive(Debug)]
pub(super) enum Wanted {
    /// A conversation that begins.
    New,
    Session(Box<SessionRecord>),
    /// Nothing to go on with.
    Nothing(Exit),
}

/// What the command line asks for.
pub(super) async fn wanted(
    request: &Chat,
    workspace: &Path,
    store: &Arc<dyn SessionStore>,
    input: &mut Input,
    output: &Output,
) -> Result<Wanted, Failure> {
    match &request.resume {
        Some(wanted) => resumed(Some(wanted), store, input, output).await,
        None if request.continued => last_in(workspace, store).await,
        None => Ok(Wanted::New),
    }
}

async fn last_in(workspace: &Path, store: &Arc<dyn SessionStore>) -> Result<Wanted, Failure> {
    let filter = SessionFilter { workspace: Some(workspace.to_owned()), limit: Some(1), ..SessionFilter::default() };
    let session = store.list(filter).await?.into_iter().next().ok_or_else(|| {
        let message = format!("there is no session in {} yet", workspace.display());
        Failure::failed("not_found", message).help("`haft chat` begins one, `haft chat --resume` lists those of every folder")
    })?;
    Ok(Wanted::Session(Box::new(session)))
}

/// A session by its id, by what was said in it, or by choice.
pub(super) async fn resumed(
    wanted: Option<&str>,
    store: &Arc<dyn SessionStore>,
    input: &mut Input,
    output: &Output,
) -> Result<Wanted, Failure> {
    let Some(wanted) = wanted.map(str::trim).filter(|wanted| !wanted.is_empty()) else {
        let filter = SessionFilter { limit: Some(MOST_OFFERED), ..SessionFilter::default() };
        return one_of(sessions::found(store, filter, None).await?, "Which one?", store, input, output).await;
    };
    match store.open(wanted).await {
        Ok(session) => return Ok(Wanted::Session(Box::new(session))),
        Err(StoreError::Missing { .. }) => {}
        Err(error) => return Err(error.into()),
    }
    let filter = SessionFilter { limit: Some(MOST_OFFERED), ..SessionFilter::default() };
    let fitting = sessions::found(store, filter, Some(wanted)).await?;
    if fitting.is_empty() {
        let message = format!("no session has '{wanted}' in its id, its title or its messages");
        return Err(Failure::failed("not_found", message).help("`haft sessions list --all` lists them"));
    }
    one_of(fitting, &format!("'{}' was said in these.", visible::line(wanted)), store, input, output).await
}

async fn one_of(
    mut sessions: Vec<Found>,
    question: &str,
    store: &Arc<dyn SessionStore>,
    input: &mut Input,
    output: &Output,
) -> Result<Wanted, Failure> {
    if sessions.len() == 1 {
        return Ok(Wanted::Session(Box::new(sessions.swap_remove(0).session)));
    }
    if sessions.is_empty() {
        note("there are no sessions yet; `haft chat` begins one");
        return Ok(Wanted::Nothing(Exit::Failed));
    }
    if !input.is_attended() {
        sessions::list(store, &sessions, output).await?;
        note("several sessions fit; give the id of one: `haft chat --resume ID`");
        return Ok(Wanted::Nothing(Exit::Usage));
    }
    let now = SystemTime::now();
    let mut options = Vec::new();
    for Found { session, excerpt } in &sessions {
        let words = match excerpt {
            Some(excerpt) => excerpt.clone(),
            None => last_words(session, store).await?,
        };
        options.push(described(session, &words, now));
    }
    Ok(match input.choice(question, options).await? {
        Some(place) => Wanted::Session(Box::new(sessions.swap_remove(place).session)),
        None => Wanted::Nothing(Exit::Success),
    })
}

/// What a message says.
pub(super) fn text_of(message: &Message) -> String {
    let texts = message.blocks.iter().filter_map(|block| if let Block::Text { text, .. } = block { Some(text.as_str()) } else { None });
    texts.collect::<Vec<_>>().join("\n")
}

/// What the person said last.
async fn last_words(session: &SessionRecord, store: &Arc<dyn SessionStore>) -> Result<String, Failure> {
    let from = session.messages.saturating_sub(LAST_ENTRIES);
    let entries = store.messages(&session.id, from, usize::try_from(LAST_ENTRIES).unwrap_or(usize::MAX)).await?;
    let said = entries.iter().rev().filter_map(|record| serde_json::from_str(&record.body).ok()).find_map(|entry| match entry {
        Entry::User { message } => Some(text_of(&message)),
        _ => None,
    });
    Ok(said.unwrap_or_default())
}

/// `3f9c21ab  2 h ago  Fix the failing test · and now the docs · /home/ann/work`.
fn described(session: &SessionRecord, last: &str, now: SystemTime) -> String {
    let title = visible::shorten(session.title.as_deref().unwrap_or("(no title)"), SHOWN_CHARACTERS).into_owned();
    let last = visible::shorten(last.trim(), SHOWN_CHARACTERS).into_owned();
    let last = if last.is_empty() || last == title { String::new() } else { format!(" · {last}") };
    let folder = session.workspace.to_string_lossy();
    let age = ago(now.duration_since(session.updated).unwrap_or_default());
    format!("{}  {age:>9}  {title}{last} · {}", sessions::short_id(&session.id), visible::line(&folder))
}

/// How long ago, in the largest unit that fits.
fn ago(age: Duration) -> String {
    match age.as_secs() {
        seconds @ ..60 => format!("{seconds} s ago"),
        seconds @ ..3_600 => format!("{} min ago", seconds / 60),
        seconds @ ..86_400 => format!("{} h ago", seconds / 3_600),
        seconds => format!("{} d ago", seconds / 86_400),
    }
}

/// The last thing that each of the two said.
pub(super) fn last_exchange(messages: &[Message]) -> Vec<(&'static str, String)> {
    let said = |role: Role| messages.iter().rev().filter(move |message| message.role == role).map(text_of).find(|text| !text.is_empty());
    [("you", said(Role::User)), ("model", said(Role::Assistant))].into_iter().filter_map(|(who, text)| Some((who, text?))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ages_have_one_unit() {
        for (seconds, text) in [(0, "0 s ago"), (59, "59 s ago"), (60, "1 min ago"), (7_300, "2 h ago"), (200_000, "2 d ago")] {
            assert_eq!(ago(Duration::from_secs(seconds)), text);
        }
    }

    #[test]
    fn a_session_is_known_by_its_title_its_age_and_what_was_said_last() {
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
        };
        let now = SystemTime::UNIX_EPOCH + Duration::from_hours(2);
        let expected = "30c2edcf    2 h ago  Fix the\\u{1b}[2J test · and now the docs · /home/ann/work";
        assert_eq!(described(&session, "and now the docs\n", now), expected);
        session.title = None;
        assert_eq!(described(&session, "", now), "30c2edcf    2 h ago  (no title) · /home/ann/work");
    }

    #[test]
    fn the_last_exchange_is_what_was_said_and_not_what_was_called() {
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

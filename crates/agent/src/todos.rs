//! The to-do list of a conversation: stored with every version, and shown as an event.

use std::sync::Arc;

use haft_contract::ports::{Todo, TodoStatus, TodoStore};
use haft_contract::{BoxFuture, ToolError};
use haft_store::{SessionStore, StoreError, TodoVersion};

use crate::events::{TurnEvent, TurnWatcher};

/// To-do lists in a session store.
pub struct StoredTodos {
    sessions: Arc<dyn SessionStore>,
    watcher: Arc<dyn TurnWatcher>,
    /// In place of the session's id, where sessions last one call.
    key: Option<String>,
}

haft_contract::opaque_debug!(StoredTodos: key = key);

impl StoredTodos {
    /// Lists of sessions; changes are events of this watcher.
    pub fn new(sessions: Arc<dyn SessionStore>, watcher: Arc<dyn TurnWatcher>) -> Self {
        Self { sessions, watcher, key: None }
    }

    /// The same, with one list for all sessions.
    pub fn shared_as(self, key: impl Into<String>) -> Self {
        Self { key: Some(key.into()), ..self }
    }

    fn key<'a>(&'a self, session: &'a str) -> &'a str {
        self.key.as_deref().unwrap_or(session)
    }
}

impl TodoStore for StoredTodos {
    fn list<'a>(&'a self, session: &'a str) -> BoxFuture<'a, Result<Vec<Todo>, ToolError>> {
        Box::pin(async move {
            let newest = self.sessions.todos(self.key(session), 1).await.map_err(|error| failed("read", &error))?;
            // A list that a newer version wrote is no reason to write none.
            let list: Option<Vec<Todo>> = newest.first().and_then(|version| serde_json::from_str(&version.body).ok());
            Ok(list.filter(|list| !is_done(list)).unwrap_or_default())
        })
    }

    fn replace<'a>(&'a self, session: &'a str, call: &'a str, todos: &'a [Todo]) -> BoxFuture<'a, Result<Vec<Todo>, ToolError>> {
        Box::pin(async move {
            let before = self.list(session).await?;
            let body = serde_json::to_string(todos).map_err(|error| ToolError::execution(error.to_string()))?;
            self.sessions.set_todos(self.key(session), TodoVersion::new(call, body)).await.map_err(|error| failed("stored", &error))?;
            self.watcher.event(&TurnEvent::Todos(todos));
            Ok(before)
        })
    }
}

/// Whether nothing of a list is left to do: it is kept in the history, and is no current list any more.
fn is_done(todos: &[Todo]) -> bool {
    todos.iter().all(|todo| todo.status == TodoStatus::Completed)
}

fn failed(what: &str, error: &StoreError) -> ToolError {
    ToolError::execution(format!("The to-do list could not be {what}: {error}."))
}

/// The list as text, for the model.
pub(crate) fn describe(todos: &[Todo]) -> String {
    let line = |todo: &Todo| {
        let mark = match todo.status {
            TodoStatus::Pending => "[ ]",
            TodoStatus::InProgress => "[in progress]",
            TodoStatus::Completed => "[x]",
        };
        let id = todo.id.as_ref().map(|id| format!(" (id {id})")).unwrap_or_default();
        format!("\n{mark} {}{id}", todo.content)
    };
    todos.iter().map(line).collect()
}

#[cfg(test)]
mod tests {
    use std::sync::Mutex;

    use serde_json::{Value, json};

    use super::*;
    use crate::test_stores::session_store;

    #[derive(Default)]
    struct Events(Mutex<Vec<Value>>);

    impl TurnWatcher for Events {
        fn event(&self, event: &TurnEvent<'_>) {
            self.0.lock().unwrap().push(serde_json::to_value(event).unwrap());
        }
    }

    fn todo(content: &str, status: TodoStatus) -> Todo {
        Todo { content: content.into(), active_form: None, status, id: None }
    }

    #[tokio::test]
    async fn every_version_is_stored_and_shown_and_a_finished_list_is_put_away() {
        let (sessions, events) = (session_store(), Arc::new(Events::default()));
        let todos = StoredTodos::new(Arc::clone(&sessions) as _, Arc::clone(&events) as _);
        let open = [todo("a", TodoStatus::Completed), todo("b", TodoStatus::InProgress)];
        let done = [todo("a", TodoStatus::Completed), todo("b", TodoStatus::Completed)];
        assert_eq!(todos.replace("s", "c1", &open).await.unwrap(), []);
        assert_eq!(todos.list("s").await.unwrap(), open);
        assert_eq!(todos.list("other").await.unwrap(), [], "each session has its own");
        assert_eq!(todos.replace("s", "c2", &done).await.unwrap(), open);
        assert_eq!(todos.list("s").await.unwrap(), []);
        let history: Vec<String> = sessions.todos("s", 9).await.unwrap().into_iter().map(|version| version.call).collect();
        assert_eq!(history, ["c2", "c1"]);
        let shown = json!({"type": "todos", "todos": [{"content": "a", "status": "completed"}, {"content": "b", "status": "in_progress"}]});
        assert_eq!(events.0.lock().unwrap()[0], shown);
        assert_eq!(events.0.lock().unwrap().len(), 2);
    }

    #[tokio::test]
    async fn sessions_of_one_call_share_a_list() {
        let sessions = session_store();
        let todos = StoredTodos::new(Arc::clone(&sessions) as _, Arc::new(Events::default())).shared_as("workspace:/w");
        let open = [todo("a", TodoStatus::Pending)];
        todos.replace("one", "c1", &open).await.unwrap();
        assert_eq!(todos.list("two").await.unwrap(), open);
    }
}

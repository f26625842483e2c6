use std::collections::HashSet;

use haft_contract::ports::{Todo, TodoStatus};
use haft_contract::{Dialect, Form, Plan, PlanContext, Tool, ToolContext, ToolError, ToolOutput};
use haft_macros::ToolMeta;
use haft_text::numbers::count;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::json;

const MAX_ITEMS: usize = 200;
const MAX_CHARS: usize = 1_000;
const MAX_ID_CHARS: usize = 100;
/// Fewer items are no plan that would need a check.
const CHECKED_FROM: usize = 3;
const FORMS: &[Form] = &[Form::new(Dialect::Claw, "TodoWrite")];

/// Replace the to-do list of this conversation, which the user sees at once. Use it for work of three or more steps, and again as soon as
/// a step begins or ends. Give the whole list each time. When all are completed, the list is put away.
#[derive(Debug, ToolMeta)]
#[tool(
    name = "todo_write",
    label = "To-do list",
    section = Planning,
    category = System,
    access = WorkspaceWrite,
    timeout_secs = 10,
    profiles = ["coding"],
    aliases = ["TodoWrite"],
    forms = FORMS,
    idempotent
)]
pub(crate) struct TodoWrite;

#[derive(Debug, Deserialize, JsonSchema)]
pub(crate) struct Params {
    /// All items, in the order of the work; at most 200.
    todos: Vec<TodoParams>,
}

#[derive(Debug, Deserialize, JsonSchema)]
struct TodoParams {
    /// An imperative: 'Run the tests'.
    #[schemars(extend("x-verbatim" = true))]
    content: String,
    status: Status,
    /// What is shown meanwhile: 'Running the tests'.
    #[schemars(extend("x-verbatim" = true, "x-aliases" = ["activeForm"]))]
    active_form: Option<String>,
    /// A name of the item, unique in the list.
    #[schemars(extend("x-rare" = true))]
    id: Option<String>,
}

#[derive(Debug, Clone, Copy, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
enum Status {
    Pending,
    InProgress,
    Completed,
}

impl Tool for TodoWrite {
    type Params = Params;
    type Output = ToolOutput;

    fn plan(&self, params: &Params, cx: &PlanContext<'_>) -> Result<Plan, ToolError> {
        if cx.services().todos.is_none() {
            let message =
                "There is no to-do list here: it belongs to a conversation or to a workspace. `haft run` and `haft chat` have one.";
            return Err(ToolError::execution(message));
        }
        params.check()?;
        Ok(Plan::nothing())
    }

    async fn execute(&self, params: Params, cx: &ToolContext) -> Result<ToolOutput, ToolError> {
        let todos: Vec<Todo> = params.todos.into_iter().map(TodoParams::into_todo).collect();
        let before = cx.planning().replace_todos(&todos).await?;
        let is_unchecked = needs_check(&todos);
        let details = json!({"old_todos": before, "new_todos": todos, "verification_nudge_needed": is_unchecked});
        Ok(ToolOutput::text(report(&todos, is_unchecked)).with_details(details))
    }
}

impl Params {
    fn check(&self) -> Result<(), ToolError> {
        let invalid = |message: String| Err(ToolError::validation(message));
        match self.todos.len() {
            0 => return invalid("The list 'todos' is empty. Give all items; mark them 'completed' when they are done.".into()),
            found if found > MAX_ITEMS => {
                return invalid(format!("The list 'todos' has {found} items, more than {MAX_ITEMS}. Join small steps into larger ones."));
            }
            _ => {}
        }
        let mut ids = HashSet::new();
        for (index, todo) in self.todos.iter().enumerate() {
            let at = format!("todos[{index}]");
            check_text(&format!("{at}.content"), &todo.content, MAX_CHARS)?;
            if let Some(text) = &todo.active_form {
                check_text(&format!("{at}.active_form"), text, MAX_CHARS)?;
            }
            if let Some(id) = &todo.id {
                check_text(&format!("{at}.id"), id, MAX_ID_CHARS)?;
                if !ids.insert(id) {
                    return invalid(format!("Two items have the id '{id}'. Give each its own, or none."));
                }
            }
        }
        Ok(())
    }
}

fn check_text(at: &str, text: &str, most: usize) -> Result<(), ToolError> {
    if text.trim().is_empty() {
        return Err(ToolError::validation(format!("'{at}' must not be empty. Say what is to be done.")));
    }
    let length = text.chars().count();
    if length > most {
        return Err(ToolError::validation(format!("'{at}' has {length} characters, more than {most}. Shorten it.")));
    }
    Ok(())
}

impl TodoParams {
    fn into_todo(self) -> Todo {
        let Self { content, status, active_form, id } = self;
        let status = match status {
            Status::Pending => TodoStatus::Pending,
            Status::InProgress => TodoStatus::InProgress,
            Status::Completed => TodoStatus::Completed,
        };
        let trimmed = |text: String| text.trim().to_owned();
        Todo { content: trimmed(content), active_form: active_form.map(trimmed), status, id }
    }
}

/// Whether all is done, and nothing of it was a check of the result.
fn needs_check(todos: &[Todo]) -> bool {
    let is_done = todos.iter().all(|todo| todo.status == TodoStatus::Completed);
    is_done && todos.len() >= CHECKED_FROM && !todos.iter().any(|todo| todo.content.to_lowercase().contains("verif"))
}

fn report(todos: &[Todo], is_unchecked: bool) -> String {
    let having = |status: TodoStatus| todos.iter().filter(|todo| todo.status == status).count();
    let (done, running, open) = (having(TodoStatus::Completed), having(TodoStatus::InProgress), having(TodoStatus::Pending));
    let items = count(todos.len() as u64, "item");
    let mut text = match (done == todos.len(), is_unchecked) {
        (false, _) => format!("The list has {items}: {done} completed, {running} in progress, {open} pending."),
        (true, _) => format!("All of {items} are completed; the list is put away."),
    };
    if is_unchecked {
        text.push_str(" None of them verified the result: check it before you report it.");
    }
    text
}

#[cfg(test)]
mod tests {
    use std::sync::{Arc, Mutex};

    use haft_contract::ports::{Services, TodoStore};
    use haft_contract::{BoxFuture, Erased, ErrorKind};
    use haft_testkit::{FakeHost, expect_error, run_tool};
    use serde_json::Value;

    use super::*;

    #[derive(Default)]
    struct Lists(Mutex<Vec<Vec<Todo>>>);

    impl TodoStore for Lists {
        fn list<'a>(&'a self, _: &'a str) -> BoxFuture<'a, Result<Vec<Todo>, ToolError>> {
            Box::pin(async { Ok(self.0.lock().unwrap().last().cloned().unwrap_or_default()) })
        }
        fn replace<'a>(&'a self, session: &'a str, _: &'a str, todos: &'a [Todo]) -> BoxFuture<'a, Result<Vec<Todo>, ToolError>> {
            Box::pin(async move {
                let before = self.list(session).await;
                self.0.lock().unwrap().push(todos.to_vec());
                before
            })
        }
    }

    fn host() -> Arc<FakeHost> {
        let (host, mut services) = (FakeHost::new(), Services::default());
        services.todos = Some(Arc::new(Lists::default()));
        assert!(host.services.set(services).is_ok());
        host
    }

    async fn write(host: &Arc<FakeHost>, todos: Value) -> Result<ToolOutput, ToolError> {
        run_tool(&Erased::new(TodoWrite), json!({"todos": todos}), Arc::clone(host)).await
    }

    fn text(output: &ToolOutput) -> String {
        output.texts().collect()
    }

    #[tokio::test]
    async fn the_list_is_replaced_and_the_one_before_returned() {
        let host = host();
        let first = json!([
            {"content": "Read", "active_form": "Reading", "status": "in_progress", "id": "a"},
            {"content": "Write", "status": "in_progress"},
            {"content": "Run", "status": "pending"},
        ]);
        let output = write(&host, first.clone()).await.unwrap();
        assert_eq!(text(&output), "The list has 3 items: 0 completed, 2 in progress, 1 pending.");
        assert_eq!(output.details, Some(json!({"old_todos": [], "new_todos": first, "verification_nudge_needed": false})));
        let done = json!([{"content": "Read", "status": "completed"}]);
        let output = write(&host, done.clone()).await.unwrap();
        assert_eq!(text(&output), "All of 1 item are completed; the list is put away.");
        assert_eq!(output.details, Some(json!({"old_todos": first, "new_todos": done, "verification_nudge_needed": false})));
    }

    #[tokio::test]
    async fn a_finished_list_without_a_verification_reminds_of_one() {
        let host = host();
        let done = |contents: &[&str]| contents.iter().map(|content| json!({"content": content, "status": "completed"})).collect::<Value>();
        for (contents, reminds) in [(vec!["a", "b", "c"], true), (vec!["a", "b"], false), (vec!["a", "Verify b", "c"], false)] {
            let output = write(&host, done(&contents)).await.unwrap();
            assert_eq!(output.details.as_ref().unwrap()["verification_nudge_needed"], json!(reminds), "{contents:?}");
            assert_eq!(text(&output).contains("check it before you report it"), reminds, "{contents:?}");
        }
    }

    #[tokio::test]
    async fn bad_lists_are_refused_with_the_path() {
        let host = host();
        let item = |content: &str| json!({"content": content, "status": "pending"});
        let many: Value = (0..201).map(|number| item(&number.to_string())).collect();
        for (todos, message) in [
            (json!([]), "The list 'todos' is empty. Give all items; mark them 'completed' when they are done."),
            (many, "The list 'todos' has 201 items, more than 200. Join small steps into larger ones."),
            (json!([item("a"), item(" \n")]), "'todos[1].content' must not be empty. Say what is to be done."),
            (
                json!([{"content": "a", "status": "pending", "active_form": " "}]),
                "'todos[0].active_form' must not be empty. Say what is to be done.",
            ),
            (json!([item(&"é".repeat(1001))]), "'todos[0].content' has 1001 characters, more than 1000. Shorten it."),
            (
                json!([{"content": "a", "status": "pending", "id": "x"}, {"content": "b", "status": "pending", "id": "x"}]),
                "Two items have the id 'x'. Give each its own, or none.",
            ),
        ] {
            assert_eq!(expect_error(write(&host, todos).await), (ErrorKind::ValidationError, message.into()));
        }
        let whole: Value = (0..200).map(|number| item(&format!("{number}{}", "x".repeat(990)))).collect();
        assert!(write(&host, whole).await.is_ok(), "the largest list");
    }

    #[tokio::test]
    async fn without_a_list_the_error_says_what_has_one() {
        let refused = expect_error(write(&FakeHost::new(), json!([{"content": "a", "status": "pending"}])).await);
        let message = "There is no to-do list here: it belongs to a conversation or to a workspace. `haft run` and `haft chat` have one.";
        assert_eq!(refused, (ErrorKind::ExecutionError, message.into()));
    }
}

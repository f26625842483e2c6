//! The backend of `haft mcp`: the tools, and an agent with a session of its own for each client.

use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};

use haft_agent::{NullMeter, NullWatcher, StoredTodos};
use haft_contract::ports::{ApprovalRequest, JobScope};
use haft_contract::{BoxFuture, Dialect, Section};
use haft_engine::{Session, ToolEntry};
use haft_mcp::server::{ClientAgent, ClientPorts, SessionResources, ToolBackend};
use haft_policy::{Policy, Verdict};
use haft_store::{CallLog, StateStore};
use haft_text::display;
use haft_text::truncate::ellipsize;
use serde_json::json;
use tokio::sync::{OnceCell, watch};

use super::mcp_prompts::FollowedSkills;
use super::memory::MemoryFollower;
use super::shell::Calls;
use super::{UserPrompts, Wire, open_blobs, small_model};
use crate::arguments::CallerArgs;
use crate::effects;
use crate::failure::Failure;
use crate::output::warn;

/// Tools for the loop of a model, which a client has itself.
const WITHOUT_CLIENT: [&str; 2] = ["structured_output", "tool_search"];
/// Characters of arguments in a question.
const MOST_CHARS: usize = 2000;

/// Builds the agents of clients.
pub(crate) struct McpBackend {
    wire: Arc<Wire>,
    /// Opened by the first client that calls: a listing needs no database.
    store: OnceCell<Arc<StateStore>>,
    listing: OnceLock<Session>,
    /// Changes of memory are indexed from the first call on, because only calls search.
    follower: OnceLock<Option<MemoryFollower>>,
}

impl McpBackend {
    /// Checks what every client needs.
    pub(crate) fn new(wire: Arc<Wire>) -> Result<Self, Failure> {
        let listing = wire.listing(&wire.settings.agent, &CallerArgs::default())?;
        Ok(Self { wire, store: OnceCell::new(), listing: OnceLock::from(listing), follower: OnceLock::new() })
    }

    async fn store(&self) -> Result<Arc<StateStore>, Failure> {
        let open = async || {
            let store = super::store(&self.wire.settings.data_folder)?;
            self.wire.repair_interrupted(&(Arc::clone(&store) as Arc<dyn CallLog>)).await;
            self.wire.clean_in_background();
            self.follower.get_or_init(|| self.wire.follow_memory());
            Ok(store)
        };
        self.store.get_or_try_init(open).await.cloned()
    }

    /// Waits until every call is in the history: the process is about to end.
    pub(crate) async fn finish(&self) -> Result<(), Failure> {
        match self.store.get() {
            Some(store) => Ok(store.flush().await?),
            None => Ok(()),
        }
    }

    async fn agent(&self, client: ClientPorts) -> Result<ClientAgent, Failure> {
        let wire = match &client.roots {
            Some(roots) => self.wire.narrowed_to(roots)?,
            None => Arc::clone(&self.wire),
        };
        let store = self.store().await?;
        let id = haft_store::new_uuid().to_string();
        let (agent, folder) = (&wire.settings.agent, &wire.settings.workspace);
        let blobs = open_blobs(&wire.settings.data_folder, Some(&id))?;
        let spills = blobs.spill_folder().to_owned();
        let mut services = wire.base_services();
        services.messages = Some(client.messages);
        services.questions = client.questions;
        let todos = StoredTodos::new(store.sessions(), Arc::new(NullWatcher));
        services.todos = Some(Arc::new(todos.shared_as(format!("mcp:{id}"))));
        services.small_model = small_model(&wire, Arc::new(NullMeter)).or(client.model);
        let followed = services.skills.is_some().then(|| FollowedSkills::new(Arc::clone(&wire)));
        let jobs = wire.recorded_jobs(&store);
        let host = wire.host_with(agent.as_str(), folder, Some(&spills), jobs, Calls::OfModel, services)?;
        let engine = wire.engine(store, blobs, folder)?;
        // The client counts turns, not we: a call that it repeats an hour later is no loop.
        let session = wire.session(host, agent, UserPrompts::Never, None).loop_limits(None);
        let session = session.id(id.clone()).progress(client.progress).cancellation(client.cancel);
        let session = match client.approver {
            Some(approver) => session.approver(approver),
            None => session,
        };
        let session = session.build();
        let adopted = session.host().processes().adopt(&id, JobScope::Session(id.clone())).await;
        adopted.unwrap_or_else(|error| warn(error.message()));
        let resources = SessionResources::new(engine.clone(), session.clone(), spills);
        let guard = SessionEnd(session.clone());
        let agent = ClientAgent::new(engine, session).with_resources(Arc::new(resources)).with_guard(guard);
        Ok(followed.into_iter().fold(agent, |agent, source| agent.with_prompts(Arc::new(source))))
    }
}

/// Ends what the commands of a client left running.
struct SessionEnd(Session);

impl Drop for SessionEnd {
    fn drop(&mut self) {
        let host = self.0.host();
        if let Some(browser) = host.browser() {
            browser.end_session(self.0.id());
        }
        host.processes().end_session(self.0.id());
    }
}

impl ToolBackend for McpBackend {
    fn tools(&self) -> Vec<Arc<ToolEntry>> {
        let mut entries = self.wire.registry.entries();
        let caller = self.listing.get().map(Session::caller);
        entries.retain(|entry| {
            let of_conversations = matches!(entry.definition().section, Section::Sessions | Section::Agents);
            let is_offered = caller.is_some_and(|caller| self.wire.policy.offer(&entry.candidate(), caller).verdict != Verdict::Deny);
            is_offered && !of_conversations && !WITHOUT_CLIENT.contains(&entry.name())
        });
        entries
    }

    fn dialect(&self) -> Dialect {
        self.listing.get().map_or_else(Dialect::default, Session::dialect)
    }

    fn changes(&self) -> watch::Receiver<u64> {
        self.wire.registry.changes()
    }

    fn open(&self, client: ClientPorts) -> BoxFuture<'_, Result<ClientAgent, String>> {
        Box::pin(async move { self.agent(client).await.map_err(|failure| sentence(&failure)) })
    }

    fn describe(&self, request: &ApprovalRequest) -> String {
        describe(request, &self.wire.settings.workspace)
    }
}

/// What failed, and what to do about it.
fn sentence(failure: &Failure) -> String {
    let help = failure.help.as_ref().map(|help| format!(": {help}")).unwrap_or_default();
    format!("{}{help}.", failure.message)
}

/// The question to the user, with hidden and reordering characters escaped.
fn describe(request: &ApprovalRequest, workspace: &Path) -> String {
    let mut lines = vec![format!("Allow {}? It needs approval: {}", request.call.tool, display::escape_line(&request.reason))];
    let effects = json!(request.effects);
    let effects = effects::all(&effects).iter().map(|effect| effects::describe(effect, workspace));
    lines.extend(effects.map(|(kind, target)| format!("- {kind} {}", display::escape_line(&target))));
    if let Ok(rules) = &request.rules {
        lines.push(format!("For this session, that is: {}", display::escape_line(&rules.join(", "))));
    }
    let arguments = request.arguments.to_string();
    lines.push(format!("Arguments: {}", display::escape_line(&ellipsize(&arguments, MOST_CHARS))));
    lines.join("\n")
}

impl Wire {
    /// The same, with files of these folders alone. A folder outside the workspace adds nothing.
    fn narrowed_to(self: &Arc<Self>, roots: &[PathBuf]) -> Result<Arc<Self>, Failure> {
        let real = |path: &Path| path.canonicalize().ok();
        let workspace = real(&self.settings.workspace).unwrap_or_else(|| self.settings.workspace.clone());
        let folders: Vec<PathBuf> = roots.iter().filter_map(|root| real(root)).collect();
        if folders.iter().any(|folder| workspace.starts_with(folder)) {
            return Ok(Arc::clone(self));
        }
        let inside: Vec<&PathBuf> = folders.iter().filter(|folder| folder.starts_with(&workspace)).collect();
        if inside.is_empty() {
            let message = format!("none of the folders that the client works in lies in the workspace '{}'", workspace.display());
            return Err(
                Failure::usage(message).help("start `haft mcp --workspace DIR` with one of them, in the configuration of the client")
            );
        }
        let data_folder = real(&self.settings.data_folder).unwrap_or_else(|| self.settings.data_folder.clone());
        let readable = inside.iter().copied().chain([&data_folder]).map(|folder| rule("read", folder));
        let rules = readable.chain(inside.iter().map(|folder| rule("write", folder)));
        self.with_only(rules.collect()).map(Arc::new)
    }
}

/// A rule on everything beneath a folder.
fn rule(effect: &str, folder: &Path) -> String {
    let mut path = String::new();
    for ch in folder.to_string_lossy().chars() {
        if ch.is_ascii_punctuation() && !matches!(ch, '/' | '-' | '_' | '.') {
            path.push('\\');
        }
        path.push(ch);
    }
    format!("{effect}({path}/**)")
}

#[cfg(test)]
mod tests {
    use haft_contract::CallInfo;

    use super::*;

    #[test]
    fn rule_of_a_folder_means_its_characters() {
        assert_eq!(rule("read", Path::new("/w/a-b_c.d")), "read(/w/a-b_c.d/**)");
        assert_eq!(rule("write", Path::new("/w/a (1)*?")), "write(/w/a \\(1\\)\\*\\?/**)");
    }

    #[test]
    fn question_escapes_what_would_deceive() {
        let call = CallInfo { id: "c".into(), tool: "exec".into(), session: "s".into(), agent: "a".into() };
        let mut request = ApprovalRequest::new(call, json!({"command": "rm \u{202e}x"}), Vec::new(), "a\nrule".into());
        request.rules = Ok(vec!["exec(rm *)".into()]);
        let text = describe(&request, Path::new("/w"));
        assert_eq!(text.lines().count(), 3, "{text}");
        assert!(!text.contains('\u{202e}') && text.contains("exec(rm *)"), "{text}");
    }
}

//! `haft sessions`: lists, searches, shows, resumes, copies, exports and deletes conversations.

mod show;

use std::sync::Arc;

use haft_store::{SessionFilter, SessionStore};
use haft_tui::sessions::{entries, facts, find_sessions, list};
use serde_json::json;

use self::show::show;
use crate::arguments::{ChatArgs, Common, RunArgs, SessionsCommand};
use crate::commands::{block_on, chat};
use crate::failure::{Exit, Failure};
use crate::output::Output;
use crate::wire;

pub(crate) fn run(common: &Common, command: &SessionsCommand, output: &Output) -> Result<Exit, Failure> {
    if let SessionsCommand::Resume { id, prompt } = command {
        return resume(common, id, prompt.as_deref(), output);
    }
    let workspace = wire::workspace(common)?;
    block_on(async {
        let store: Arc<dyn SessionStore> = wire::store(&wire::data_folder()?)?.sessions();
        match command {
            SessionsCommand::List { all, limit, sub_agents, search: wanted } => {
                store.interrupt_sub_agents().await?;
                let filter = SessionFilter {
                    workspace: (!all).then_some(workspace),
                    limit: Some(*limit as usize),
                    with_sub_agents: *sub_agents,
                    ..SessionFilter::default()
                };
                list(&store, &find_sessions(&store, filter, wanted.as_deref()).await?, output).await
            }
            SessionsCommand::Show { id } => show(&store, id, output).await,
            SessionsCommand::Export { id } => export(&store, id, output).await,
            SessionsCommand::Fork { id, at } => {
                let session = store.open(id).await?;
                let copy = store.fork(&session.id, *at).await?;
                output.show(|| json!({ "id": copy, "from": session.id }), || format!("forked: {copy}\n"))
            }
            SessionsCommand::Delete { id } => {
                let session = store.open(id).await?;
                store.delete(&session.id).await?;
                output.show(|| json!({ "deleted": session.id }), || format!("deleted: {}\n", session.id))
            }
            // Handled above.
            SessionsCommand::Resume { .. } => Ok(Exit::Success),
        }
    })
}

/// Resumes a session in its folder and with its agent, unless the flags name others.
fn resume(common: &Common, id: &str, prompt: Option<&str>, output: &Output) -> Result<Exit, Failure> {
    let session = block_on(async { Ok(wire::store(&wire::data_folder()?)?.sessions().open(id).await?) })?;
    let Some(prompt) = prompt else {
        // Chat finds the folder and the agent.
        return chat::run(common, &ChatArgs { resume: Some(session.id), ..ChatArgs::default() }, output);
    };
    let common = common.with(&common.chat_options().for_session(&session))?;
    let request = RunArgs {
        prompt: prompt.to_owned(),
        model: None,
        session: Some(session.id),
        files: Vec::new(),
        max_rounds: None,
        schema: None,
        server: None,
    };
    super::run::run(&common, &request, output)
}

async fn export(store: &Arc<dyn SessionStore>, id: &str, output: &Output) -> Result<Exit, Failure> {
    let session = store.open(id).await?;
    let entries = entries(store, &session.id).await?;
    output.data(&json!({ "session": facts(store, &session).await?, "entries": entries }))?;
    Ok(Exit::Success)
}

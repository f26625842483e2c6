//! The system prompt of a session: the agent's instructions, the environment, advice, skills and instructions of files.

use std::sync::Arc;

use haft_agent::{Notice, NoticeMoment, NoticeSource, Runner, SystemPart};
use haft_contract::{Access, BoxFuture, SandboxMode};
use haft_engine::{Engine, Session};
use haft_policy::{Policy, Verdict};
use haft_prompts::{EnvironmentFacts, GitState, InstructionWatch, Instructions, SystemPrompt, SystemPromptParts};

use crate::failure::Failure;
use crate::output::warn;
use crate::wire::{Wire, today};

/// Gives a conversation its system prompt, and news of the files that it was made of.
/// Those of a sub-agent have its own instructions in place of the agent's.
pub(crate) async fn give(wire: &Wire, runner: &mut Runner, own: Option<&str>) -> Result<(), Failure> {
    let (prompt, watch) = system_prompt(wire, &runner.engine, &runner.session, own).await?;
    runner.system = prompt.text();
    let counted = prompt.parts.iter().filter(|part| ["skills", "instructions"].contains(&part.kind));
    runner.system_parts = counted.map(|part| SystemPart { name: part.kind, bytes: part.text.len() }).collect();
    runner.notice_source = Some(Arc::new(InstructionNews(watch)));
    Ok(())
}

/// The system prompt of a session, and what watches its files.
pub(crate) async fn system_prompt(
    wire: &Wire,
    engine: &Engine,
    session: &Session,
    own: Option<&str>,
) -> Result<(SystemPrompt, InstructionWatch), Failure> {
    let (folders, files) = wire.prompts.sources()?;
    let instructions = Instructions::read(folders, files).await;
    for problem in &instructions.problems {
        warn(&format!("{}: {}", problem.path.display(), problem.message));
    }
    let skills = session.host().services().skills.as_ref().map(|skills| skills.list()).unwrap_or_default();
    let access = session.access();
    let parts = SystemPromptParts {
        agent: own.or_else(|| wire.prompt()).map(str::to_owned),
        environment: environment(wire, session),
        sandbox: is_sandboxed(wire).then(|| sandbox_rules(access)),
        skills,
        instructions: instructions.clone(),
        is_trusted: folders.is_trusted,
    };
    let shown = |name: &str| {
        let entry = engine.registry().get(name)?;
        let offered = engine.offers(&entry, session).verdict != Verdict::Deny;
        offered.then(|| entry.definition().in_dialect(session.dialect()).name.to_owned())
    };
    let prompt = SystemPrompt::new(&parts, &shown);
    Ok((prompt, InstructionWatch::new(folders.clone(), files.clone(), instructions)))
}

fn is_sandboxed(wire: &Wire) -> bool {
    let config = &wire.settings.config;
    config.sandbox.mode != SandboxMode::Off && config.exec_host().is_sandboxed()
}

fn environment(wire: &Wire, session: &Session) -> EnvironmentFacts {
    let workspace = &wire.settings.workspace;
    let repository = haft_prompts::repository_root(workspace);
    let asks = wire.registry.entries().into_iter().filter(|entry| {
        let offered = wire.policy.offer(&entry.candidate(), session.caller());
        offered.verdict != Verdict::Deny
            && wire.policy.decide_without_arguments(offered, &entry.candidate(), session.caller()).verdict == Verdict::Ask
    });
    EnvironmentFacts {
        folder: workspace.clone(),
        git: repository.as_deref().and_then(GitState::read),
        repository,
        system: format!("{} {}", system_name(), std::env::consts::ARCH),
        date: today().1,
        access: session.access(),
        asks: asks.map(|entry| entry.definition().in_dialect(session.dialect()).name.to_owned()).collect(),
    }
}

const fn system_name() -> &'static str {
    if cfg!(target_os = "macos") {
        "macOS"
    } else if cfg!(target_os = "windows") {
        "Windows"
    } else {
        "Linux"
    }
}

/// Five lines: a model that knows the sandbox does not try what it forbids.
fn sandbox_rules(access: Access) -> String {
    let files = match access {
        Access::ReadOnly => "read the workspace and change nothing in it",
        _ => "read and change the workspace",
    };
    format!(
        "Commands run in a sandbox.\n\
         - They {files}, and see the system and its programs. HOME and /tmp are private and kept; other files of the user are not there.\n\
         - A connection to a host that no rule allows asks the user when it is made. If it is refused, do without it or say what it is for.\n\
         - Hooks and settings of Git, shells and editors cannot be changed: ask the user to do it.\n\
         - A server in the background answers on 127.0.0.1 in later commands, and at http://sandbox.localhost:PORT for http_request."
    )
}

/// Changed files of instructions, as news for the model.
struct InstructionNews(InstructionWatch);

impl NoticeSource for InstructionNews {
    fn notices(&self, moment: NoticeMoment) -> BoxFuture<'_, Vec<Notice>> {
        Box::pin(async move {
            let changes = match moment {
                NoticeMoment::TurnStart => self.0.changes().await,
                NoticeMoment::Round => self.0.recent_changes().await,
            };
            let changes = changes.into_iter();
            changes
                .map(|change| Notice { summary: format!("{} has changed; the model is told", change.label), text: change.text })
                .collect()
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sandbox_rules_are_five_lines_and_name_the_access() {
        assert_eq!(sandbox_rules(Access::WorkspaceWrite).lines().count(), 5);
        assert!(sandbox_rules(Access::ReadOnly).contains("change nothing"));
        assert!(!sandbox_rules(Access::FullAccess).contains("change nothing"));
    }
}

//! Capabilities of a conversation: its services, narrowed to the plan of a call and to its session.

use std::future::poll_fn;
use std::sync::Arc;
use std::task::Poll;

use serde_json::Value;

use crate::capability::{alive, unplanned};
use crate::ports::{
    Services, SettingChange, SettingReport, SkillContent, SkillSummary, SubAgents, Todo, UserMessage, UserQuestion, UserReply, WakeReason,
};
use crate::{BoxFuture, ErrorKind, Job, ToolContext, ToolError, TurnLimit};

fn absent(what: &str) -> ToolError {
    ToolError::execution(format!("There is no {what} here: it belongs to a conversation. `haft run` and `haft chat` start one."))
}

fn require<'a, T: ?Sized>(service: Option<&'a Arc<T>>, what: &str) -> Result<&'a T, ToolError> {
    service.map(|service| &**service).ok_or_else(|| absent(what))
}

/// Messages to the user, as planned.
#[derive(Debug, Clone, Copy)]
pub struct UserCapability<'a> {
    pub(crate) cx: &'a ToolContext,
}

impl UserCapability<'_> {
    /// The channel that a plan names for messages to the user.
    pub const CHANNEL: &'static str = "conversation";
    /// The recipient that a plan names for them.
    pub const RECIPIENT: &'static str = "user";

    /// Shows a planned message now.
    pub async fn show(&self, message: &UserMessage) -> Result<(), ToolError> {
        alive(self.cx)?;
        if !self.cx.plan().permits_send(Self::CHANNEL, Self::RECIPIENT) {
            return Err(unplanned("send a message to", Self::RECIPIENT));
        }
        require(self.cx.host().services().messages.as_ref(), "user to tell")?.show(message).await
    }

    /// Asks a planned question, and waits for the reply; an answer fits the form.
    pub async fn ask(&self, question: &UserQuestion) -> Result<UserReply, ToolError> {
        alive(self.cx)?;
        if !self.cx.plan().permits_send(Self::CHANNEL, Self::RECIPIENT) {
            return Err(unplanned("ask", Self::RECIPIENT));
        }
        let Some(questions) = &self.cx.host().services().questions else {
            let what = "Nobody can answer a question here: there is no terminal, or the client cannot ask its user.";
            return Err(ToolError::execution(format!("{what} Continue without the answer.")));
        };
        let asking = questions.ask(self.cx.call(), question);
        let cancelled = || ToolError::new(ErrorKind::Cancelled, "The call was cancelled while the user was asked.");
        let reply = self.cx.cancellation().run_until_cancelled(asking).await.ok_or_else(cancelled)??;
        let UserReply::Answer(answer) = &reply else { return Ok(reply) };
        let unfit = |why: String| ToolError::execution(format!("The user's answer does not fit the question: {why}. Ask again."));
        question.check(answer).map(UserReply::Answer).map_err(unfit)
    }
}

/// The settings of the program, as planned.
#[derive(Debug, Clone, Copy)]
pub struct SettingsCapability<'a> {
    pub(crate) cx: &'a ToolContext,
}

impl SettingsCapability<'_> {
    /// The setting with this key, or the settings beneath it; secrets are left out, so it needs no plan.
    pub fn read(&self, key: &str) -> Result<Vec<SettingReport>, ToolError> {
        alive(self.cx)?;
        require(self.cx.host().services().settings.as_ref(), "configuration")?.read(key)
    }
    /// Makes a planned change; returns it and the difference as text. Undo restores the file.
    pub async fn write(&self, key: &str, value: &Value) -> Result<(SettingChange, String), ToolError> {
        alive(self.cx)?;
        let settings = require(self.cx.host().services().settings.as_ref(), "configuration")?;
        let change = settings.check(key, value)?;
        if !self.cx.plan().permits_configure(&change.key) {
            return Err(unplanned("set", &change.key));
        }
        let difference = settings.write(&change, &**self.cx.journal()).await?;
        Ok((change, difference))
    }
}

/// The skills of the session, as planned.
#[derive(Debug, Clone, Copy)]
pub struct SkillCapability<'a> {
    pub(crate) cx: &'a ToolContext,
}

impl SkillCapability<'_> {
    /// Every skill, by name; the model is told of them anyway, so it needs no plan.
    pub fn list(&self) -> Result<Vec<SkillSummary>, ToolError> {
        alive(self.cx)?;
        Ok(require(self.cx.host().services().skills.as_ref(), "skills")?.list())
    }
    /// Reads the planned instructions of a skill, or a planned file of its folder. Tools that the skill does not allow are gone for the
    /// rest of the turn; commands of the session can read its folder.
    pub async fn read(&self, skill: &str, file: Option<&str>) -> Result<SkillContent, ToolError> {
        alive(self.cx)?;
        let library = require(self.cx.host().services().skills.as_ref(), "skills")?;
        let location = library.locate(skill, file)?;
        let planned = self.cx.plan().readable(location.requested()).ok_or_else(|| unplanned("read", location.display()))?;
        let content = library.read(skill, file, planned).await?;
        if let Some(folder) = &content.folder {
            self.cx.host().files().show_folder(folder)?;
        }
        if let Some(tools) = &content.allowed_tools {
            self.cx.turn_tools().limit(TurnLimit::new(tools.clone(), format!("the skill '{skill}'")));
        }
        Ok(content)
    }
}

async fn job_end(job: Arc<dyn Job>) -> WakeReason {
    let end = job.wait().await;
    WakeReason::Ended(format!("job '{}' has ended: {end}", job.status().id))
}

async fn agent_end(agents: &dyn SubAgents) -> WakeReason {
    let status = agents.unreported_end().await;
    WakeReason::Ended(format!("the sub-agent '{}' has ended: {}", status.label, status.state))
}

/// The plans of the conversation: its to-do list, its tools, its output, and what wakes a call that waits.
#[derive(Debug, Clone, Copy)]
pub struct PlanningCapability<'a> {
    pub(crate) cx: &'a ToolContext,
}

impl PlanningCapability<'_> {
    fn services(&self) -> Result<&Services, ToolError> {
        alive(self.cx)?;
        Ok(self.cx.host().services())
    }
    /// Replaces the to-do list of the session; returns the list before.
    pub async fn replace_todos(&self, todos: &[Todo]) -> Result<Vec<Todo>, ToolError> {
        let call = self.cx.call();
        require(self.services()?.todos.as_ref(), "to-do list")?.replace(&call.session, &call.id, todos).await
    }
    /// Finds tools of the session, and loads them.
    pub fn search_tools(&self, query: &str, most: usize) -> Result<Value, ToolError> {
        require(self.services()?.tools.as_ref(), "list of tools")?.search(&self.cx.call().session, query, most)
    }
    /// Gives the turn its structured output.
    pub fn give_output(&self, value: Value) -> Result<(), ToolError> {
        require(self.services()?.output.as_ref(), "caller that wants output")?.accept(value);
        Ok(())
    }
    /// Resolves when the session has an event for which a waiting call should return: the end of one of its jobs or sub-agents, or
    /// what the conversation tells of; at once if the model does not know of one yet. Without any it never resolves.
    pub async fn wake(&self) -> WakeReason {
        let (host, session) = (self.cx.host(), &self.cx.call().session);
        let jobs = host.processes().jobs(session).into_iter().filter(|job| job.status().end.is_none() || !job.is_acknowledged());
        let mut events: Vec<BoxFuture<'_, WakeReason>> = jobs.map(|job| Box::pin(job_end(job)) as _).collect();
        events.extend(host.services().sub_agents.iter().map(|agents| Box::pin(agent_end(&**agents)) as _));
        events.extend(host.services().wakes.iter().map(|wakes| wakes.wake(session)));
        poll_fn(|task| {
            let first = events.iter_mut().find_map(|event| match event.as_mut().poll(task) {
                Poll::Ready(reason) => Some(reason),
                Poll::Pending => None,
            });
            first.map_or(Poll::Pending, Poll::Ready)
        })
        .await
    }
}

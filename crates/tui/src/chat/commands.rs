//! Runs slash commands, which do what the commands of the same name do on the command line.

use std::time::SystemTime;

use haft_agent::Micros;
use haft_contract::Access;
use haft_policy::SourceSpan;
use haft_provider::Role;
use haft_store::{CallFilter, SessionFilter};
use haft_text::display;

use super::backend::{ChatOptions, ModelChoice};
use super::chat_session::{AfterTurn, ChatSession};
use super::context_use::ContextSummary;
use super::cost::{CostSummary, turn_usage};
use super::input::ChatInput;
use super::lifecycle::change_model;
use super::session_choice::{self, SessionChoice, text_of};
use super::slash::{self, SlashCommand};
use crate::failure::Failure;
use crate::output::{DIM, note, print};
use crate::signals::Signals;
use crate::terminal::short;
use crate::time::local_time;
use crate::{calls, irreversible, sessions};

/// How many calls and messages `/history` shows.
const SHOWN: usize = 20;
const SHOWN_CHARACTERS: usize = 100;
/// Format of a day in the store.
const DAY: &str = "%Y-%m-%d";

/// What follows a command.
pub(super) enum AfterCommand {
    Prompt,
    /// With the input of a turn.
    After(AfterTurn),
    Leave,
}

impl ChatSession<'_> {
    pub(super) async fn run_command(
        &mut self,
        command: SlashCommand,
        typed: &str,
        input: &mut ChatInput,
        signals: &mut Signals,
    ) -> Result<AfterCommand, Failure> {
        match command {
            SlashCommand::Help => print(&slash::help(&self.commands, self.output.width))?,
            SlashCommand::Model(name) => self.change_model(name, input).await?,
            SlashCommand::Agent(name) => self.change_agent(name, input).await?,
            SlashCommand::Tools(name) => self.backend.show_tools(name)?,
            SlashCommand::Access(level) => self.change_access(level, input).await?,
            SlashCommand::Explain { tool, arguments } => self.backend.explain(&tool, arguments).await?,
            SlashCommand::Undo(call) => self.undo(call, input).await?,
            SlashCommand::Diff => self.diff().await?,
            SlashCommand::Why => self.why().await?,
            SlashCommand::Jobs => self.jobs()?,
            SlashCommand::Jump(number) => self.jump(number, input).await?,
            SlashCommand::History => self.history().await?,
            SlashCommand::Sessions => self.sessions().await?,
            SlashCommand::Resume(wanted) => self.resume(wanted.as_deref(), input).await?,
            SlashCommand::Cost => self.cost().await?,
            SlashCommand::Context => self.context()?,
            SlashCommand::User { name, arguments } => {
                let prompt = self.backend.expand(&name, &arguments).await?;
                return Ok(AfterCommand::After(self.send(&prompt, typed, input, signals).await?));
            }
            SlashCommand::Compact => return Ok(AfterCommand::After(self.compact(typed, input, signals).await?)),
            SlashCommand::Clear => self.clear().await?,
            SlashCommand::Details { all } => self.display.details(all),
            SlashCommand::Quit => return Ok(AfterCommand::Leave),
        }
        Ok(AfterCommand::Prompt)
    }

    async fn change_model(&mut self, name: Option<String>, input: &mut ChatInput) -> Result<(), Failure> {
        let Some(name) = (match name {
            Some(name) => Some(name),
            None => self.chosen_model(input).await?,
        }) else {
            return Ok(());
        };
        let provider = self.backend.provider(Some(&name)).await?;
        change_model(&mut self.conversation, &*self.backend, provider).await?;
        self.model = Some(name);
        note(&format!("{} answers now", self.model_name()));
        Ok(())
    }

    /// One of the configured models; without a user they are listed.
    async fn chosen_model(&self, input: &mut ChatInput) -> Result<Option<String>, Failure> {
        let mut models = self.backend.models().await;
        let options: Vec<String> = models.iter().map(describe).collect();
        if input.is_attended() {
            let question = format!("Which model? Currently {}.", self.model_name());
            return Ok(input.choose(&question, options).await?.map(|index| models.swap_remove(index).name));
        }
        print(&format!("{}\n", options.join("\n")))?;
        Ok(None)
    }

    async fn change_agent(&mut self, name: Option<String>, input: &mut ChatInput) -> Result<(), Failure> {
        let names = self.names().agents;
        let name = match name {
            Some(name) => Some(name),
            None if input.is_attended() => {
                let question = format!("Which agent? Currently {}.", self.backend.agent());
                input.choose(&question, names.clone()).await?.map(|index| names[index].clone())
            }
            None => {
                print(&format!("{}\n", names.join("\n")))?;
                None
            }
        };
        let Some(name) = name else { return Ok(()) };
        let options = ChatOptions { agent: Some(name), ..self.options.clone() };
        let backend = (self.configure)(&options)?;
        let provider = backend.provider(self.model.as_deref()).await?;
        change_model(&mut self.conversation, &*backend, provider).await?;
        (self.options, self.backend) = (options, backend);
        note(&format!("agent {} continues, with {}", self.backend.agent(), self.model_name()));
        Ok(())
    }

    /// Changes the access level, as far as the configuration allows. A lower level holds at once, a higher one needs approval.
    async fn change_access(&mut self, level: Option<Access>, input: &mut ChatInput) -> Result<(), Failure> {
        let now = self.conversation.runner.session.access();
        let Some(level) = level.filter(|level| *level != now) else {
            return print(&format!("{now}: {}\n", permits(now)));
        };
        let options = ChatOptions { access: Some(level), ..self.options.clone() };
        let backend = (self.configure)(&options)?;
        let (most, source) = backend.access()?;
        if let Some(ceiling) = self.ceiling.filter(|ceiling| level > *ceiling) {
            let message = format!("access level {level} is not available: this conversation was started with --access {ceiling}");
            return Err(Failure::usage(message).help("leave, and resume it without that flag"));
        }
        if most < level {
            let message = format!("access level {level} is not available: {} allows {most} at most", source_text(&source));
            return Err(Failure::usage(message).help("`haft config show` says where each value comes from"));
        }
        if level > now {
            if !input.is_attended() {
                let message = format!("raising the access level from {now} to {level} needs approval, and no one can approve here");
                return Err(Failure::usage(message).help(format!("start with `haft chat --access {level}`")));
            }
            if !input.confirm(&format!("With {level}, {}. Raise access from {now}?", permits(level))).await? {
                note(&format!("the access level stays {now}"));
                return Ok(());
            }
        }
        backend.rewire(&mut self.conversation).await?;
        (self.options, self.backend) = (options, backend);
        note(&format!("the access level is {level} now: {}", permits(level)));
        Ok(())
    }

    /// Undoes the named call; without a name, one that the user chooses, or the last one where there is no choice.
    async fn undo(&mut self, call: Option<String>, input: &mut ChatInput) -> Result<(), Failure> {
        let log = &self.conversation.log;
        let last = irreversible::find_undo_target(log, &self.conversation.record.id, call.as_deref()).await?;
        let target = if call.is_none() && input.is_attended() {
            let Some(chosen) = self.choose_undo(input).await? else { return Ok(()) };
            irreversible::find_undo_target(log, &self.conversation.record.id, Some(&chosen)).await?
        } else {
            last
        };
        self.backend.undo(log, &target.call).await?;
        if let Some(text) = irreversible::describe(&target.irreversible) {
            note(&display::escape_line(&text));
        }
        Ok(())
    }

    /// Prints the messages of the user, and the calls.
    async fn history(&self) -> Result<(), Failure> {
        let filter = CallFilter { limit: Some(SHOWN), session: Some(self.conversation.record.id.clone()), ..CallFilter::default() };
        let calls = self.conversation.log.list(filter).await?;
        if self.output.json {
            return self.output.data(&calls.iter().map(calls::to_json).collect::<Vec<_>>());
        }
        let texts = self.conversation.runner.messages.iter().filter(|message| message.role == Role::User).map(text_of);
        let texts: Vec<String> = texts.filter(|text| !text.is_empty()).collect();
        let mut page = crate::text_builder::TextBuilder::default();
        for (number, text) in (1..).zip(&texts).skip(texts.len().saturating_sub(SHOWN)) {
            page.line(format_args!("{DIM}{number:>3}{DIM:#}  {}", display::shorten(text.trim(), SHOWN_CHARACTERS)));
        }
        if !calls.is_empty() {
            page.text(&calls::table(&calls, self.output.has_symbols()).render(self.output.width));
        }
        let text = page.finish();
        if text.is_empty() {
            note("no messages yet");
        }
        print(&text)
    }

    async fn sessions(&self) -> Result<(), Failure> {
        let workspace = Some(self.backend.workspace().to_owned());
        let filter = SessionFilter { workspace, limit: Some(SHOWN), ..SessionFilter::default() };
        let store = &self.conversation.sessions;
        sessions::list(store, &sessions::find_sessions(store, filter, None).await?, self.output).await.map(drop)
    }

    async fn resume(&mut self, wanted: Option<&str>, input: &mut ChatInput) -> Result<(), Failure> {
        let store = self.conversation.sessions.clone();
        match session_choice::find_session(wanted, self.backend.workspace(), &store, input, self.output).await? {
            SessionChoice::Session(session) if session.id == self.conversation.record.id => note("this session is open already"),
            SessionChoice::Session(session) => {
                self.replace(Some(&session)).await?;
                input.complete_names(self.names());
                self.introduce();
            }
            SessionChoice::New | SessionChoice::None(_) => {}
        }
        Ok(())
    }

    async fn cost(&self) -> Result<(), Failure> {
        let store = &self.conversation.sessions;
        let cost = CostSummary {
            turn: self.last.as_ref().map(turn_usage),
            session: store.session_usage(&self.conversation.record.id).await?,
            today: store.day_usage(&local_time(SystemTime::now(), DAY)).await?,
        };
        if self.output.json { self.output.data(&cost.to_json()) } else { print(&cost.table().render(self.output.width)) }
    }

    /// Prints what fills the context window.
    fn context(&self) -> Result<(), Failure> {
        let runner = &self.conversation.runner;
        let summary = ContextSummary { parts: runner.context_parts(), window: runner.provider.model().context_window };
        if self.output.json { self.output.data(&summary.to_json()) } else { print(&summary.table().render(self.output.width)) }
    }

    async fn clear(&mut self) -> Result<(), Failure> {
        let (before, has_messages) = (self.conversation.record.id.clone(), !self.conversation.runner.messages.is_empty());
        self.replace(None).await?;
        let hint = if has_messages { format!("; /resume {before} resumes the last one") } else { String::new() };
        note(&format!("new conversation{hint}"));
        Ok(())
    }
}

/// `work/m1 · 200k tokens · $3.00 in, $15.00 out`: context window, and price of a million tokens.
fn describe(model: &ModelChoice) -> String {
    let window = model.context_window.map(|tokens| format!("{} tokens", short(tokens)));
    let price = model.price.map(|price| format!("{} in, {} out", Micros(price.input), Micros(price.output)));
    [Some(model.name.clone()), window, price].into_iter().flatten().collect::<Vec<_>>().join(" · ")
}

/// The file and line of a setting.
fn source_text(place: &SourceSpan) -> String {
    let file = place.file.as_ref().map_or_else(|| "the configuration".to_owned(), |file| file.display().to_string());
    place.line.map_or_else(|| file.clone(), |line| format!("{file}:{line}"))
}

/// What tools may do at a level.
fn permits(level: Access) -> &'static str {
    match level {
        Access::ReadOnly => "tools may read, and change nothing",
        Access::WorkspaceWrite => "tools may change the files of this folder",
        Access::FullAccess => "tools may do what you may do: files anywhere, programs, messages, the network",
    }
}

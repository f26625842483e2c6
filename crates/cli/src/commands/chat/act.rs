//! What each command does. The work is that of the commands of the same name on the command line.

use std::time::SystemTime;

use haft_agent::Micros;
use haft_contract::{Access, Arguments, visible};
use haft_engine::Place;
use haft_provider::Role;
use haft_store::{CallFilter, SessionFilter};

use super::back;
use super::begin::{self, Wanted, text_of};
use super::cost::{Cost, of_turn};
use super::input::Input;
use super::slash::{self, Command};
use super::talk::{After, Talk};
use crate::arguments::{Common, Tools, Who};
use crate::commands::history::{self, local_time};
use crate::commands::{explain, sessions, tools, undo};
use crate::failure::Failure;
use crate::output::{DIM, note, print};
use crate::signals::Signals;
use crate::terminal::short;
use crate::wire::Wire;
use crate::wire::models::{self, Listed};

/// How many calls and how many messages `/history` shows.
const SHOWN: usize = 20;
const SHOWN_CHARACTERS: usize = 100;
/// How a day is named in the store.
const DAY: &str = "%Y-%m-%d";

/// What follows a command.
pub(super) enum Next {
    Prompt,
    /// With what was typed meanwhile.
    After(After),
    Leave,
}

impl Talk<'_> {
    pub(super) async fn act(&mut self, command: Command, typed: &str, input: &mut Input, signals: &mut Signals) -> Result<Next, Failure> {
        match command {
            Command::Help => print(&slash::help(self.output.width))?,
            Command::Model(name) => self.change_model(name, input).await?,
            Command::Agent(name) => self.change_agent(name, input).await?,
            Command::Tools(name) => {
                let request = Tools { name, all: false, dialect: haft_contract::Dialect::Haft, who: Who::default() };
                tools::run(&self.common, &request, self.output)?;
            }
            Command::Access(level) => self.change_access(level, input).await?,
            Command::Explain { tool, arguments } => {
                explain::one(&self.wire, &tool, arguments.map(Arguments::Text), &Who::default(), self.output).await?;
            }
            Command::Undo(call) => self.undo(call.as_deref()).await?,
            Command::History => self.history().await?,
            Command::Sessions => self.sessions().await?,
            Command::Resume(wanted) => self.resume(wanted.as_deref(), input).await?,
            Command::Cost => self.cost().await?,
            Command::Compact => return Ok(Next::After(self.compact(typed, input, signals).await?)),
            Command::Clear => self.clear().await?,
            Command::Details { all } => self.seen.details(all),
            Command::Quit => return Ok(Next::Leave),
        }
        Ok(Next::Prompt)
    }

    async fn change_model(&mut self, name: Option<String>, input: &mut Input) -> Result<(), Failure> {
        let Some(name) = (match name {
            Some(name) => Some(name),
            None => self.chosen_model(input).await?,
        }) else {
            return Ok(());
        };
        let provider = models::provider(&self.wire.settings, Some(&name)).await?;
        self.conversation.change_model(&self.wire, provider).await?;
        self.model = Some(name);
        note(&format!("{} answers from now on", self.model_name()));
        Ok(())
    }

    /// One of those that are configured; where nobody can choose, they are listed.
    async fn chosen_model(&self, input: &mut Input) -> Result<Option<String>, Failure> {
        let mut listed = models::list(&self.wire.settings, false).await;
        let described: Vec<String> = listed.iter().map(described).collect();
        if input.is_attended() {
            let question = format!("Which model? Now it is {}.", self.model_name());
            return Ok(input.choice(&question, described).await?.map(|place| listed.swap_remove(place).name));
        }
        print(&format!("{}\n", described.join("\n")))?;
        Ok(None)
    }

    async fn change_agent(&mut self, name: Option<String>, input: &mut Input) -> Result<(), Failure> {
        let names = self.names().agents;
        let name = match name {
            Some(name) => Some(name),
            None if input.is_attended() => {
                let question = format!("Which agent? Now it is {}.", self.wire.settings.agent);
                input.choice(&question, names.clone()).await?.map(|place| names[place].clone())
            }
            None => {
                print(&format!("{}\n", names.join("\n")))?;
                None
            }
        };
        let Some(name) = name else { return Ok(()) };
        let agent = haft_config::agent_name(&name).map_err(Failure::usage)?;
        let common = Common { agent: Some(agent), ..self.common.clone() };
        let wire = Wire::new(&common, self.output)?;
        let provider = models::provider(&wire.settings, self.model.as_deref()).await?;
        self.conversation.change_model(&wire, provider).await?;
        (self.common, self.wire) = (common, wire);
        note(&format!("{} goes on, with {}", self.wire.settings.agent, self.model_name()));
        Ok(())
    }

    /// As the flag of the same name would: never more than the configuration lets the flag have. Less is had at once, for more
    /// the person is asked.
    async fn change_access(&mut self, level: Option<Access>, input: &mut Input) -> Result<(), Failure> {
        let now = self.conversation.runner.session.access();
        let Some(level) = level.filter(|level| *level != now) else {
            return print(&format!("{now}: {}\n", opens(now)));
        };
        let common = Common { access: Some(level), ..self.common.clone() };
        let wire = Wire::new(&common, self.output)?;
        let had = wire.listing_for(&wire.settings.agent)?;
        if let Some(ceiling) = self.ceiling.filter(|ceiling| level > *ceiling) {
            let message = format!("{level} cannot be had here: this conversation was begun with --access {ceiling}");
            return Err(Failure::usage(message).help("leave it, and go on with it without that flag"));
        }
        if had.access() < level {
            let message = format!("{level} cannot be had here: {} allows {} at most", place(&had.caller().access_place), had.access());
            return Err(Failure::usage(message).help("`haft config show` says where each value comes from"));
        }
        if level > now {
            if !input.is_attended() {
                let message = format!("raising the access level from {now} to {level} needs a person who agrees");
                return Err(Failure::usage(message).help(format!("begin with `haft chat --access {level}`")));
            }
            if !input.confirms(&format!("{level} opens this: {}. Raise it from {now}?", opens(level))).await? {
                note(&format!("it stays at {now}"));
                return Ok(());
            }
        }
        self.conversation.rewire(&wire)?;
        (self.common, self.wire) = (common, wire);
        note(&format!("{level} from now on: {}", opens(level)));
        Ok(())
    }

    async fn undo(&mut self, call: Option<&str>) -> Result<(), Failure> {
        let log = &self.conversation.log;
        let due = back::due(log, &self.conversation.record.id, call).await?;
        let undone = undo::take_back(&self.wire, log, &due.call, false).await??;
        undo::show(&undone, self.output)?;
        if let Some(told) = back::told(&due.beyond) {
            note(&visible::line(&told));
        }
        Ok(())
    }

    /// What the person said, and what was called.
    async fn history(&self) -> Result<(), Failure> {
        let filter = CallFilter { limit: Some(SHOWN), session: Some(self.conversation.record.id.clone()), ..CallFilter::default() };
        let calls = self.conversation.log.list(filter).await?;
        if self.output.json {
            return self.output.data(&calls.iter().map(history::to_json).collect::<Vec<_>>());
        }
        let said = self.conversation.runner.messages.iter().filter(|message| message.role == Role::User).map(text_of);
        let said: Vec<String> = said.filter(|text| !text.is_empty()).collect();
        let mut page = crate::page::Page::default();
        for (number, text) in (1..).zip(&said).skip(said.len().saturating_sub(SHOWN)) {
            page.line(format_args!("{DIM}{number:>3}{DIM:#}  {}", visible::shorten(text.trim(), SHOWN_CHARACTERS)));
        }
        if !calls.is_empty() {
            page.text(&history::table(&calls, self.output.has_symbols()).render(self.output.width));
        }
        let text = page.finish();
        if text.is_empty() {
            note("nothing was said yet");
        }
        print(&text)
    }

    async fn sessions(&self) -> Result<(), Failure> {
        let workspace = Some(self.wire.settings.workspace.clone());
        let filter = SessionFilter { workspace, limit: Some(SHOWN), ..SessionFilter::default() };
        let store = &self.conversation.sessions;
        sessions::list(store, &sessions::found(store, filter, None).await?, self.output).await.map(drop)
    }

    async fn resume(&mut self, wanted: Option<&str>, input: &mut Input) -> Result<(), Failure> {
        let store = self.conversation.sessions.clone();
        match begin::resumed(wanted, &store, input, self.output).await? {
            Wanted::Session(session) if session.id == self.conversation.record.id => note("this is that session"),
            Wanted::Session(session) => {
                self.replace(Some(&session)).await?;
                input.knows(self.names());
                self.introduce();
            }
            Wanted::New | Wanted::Nothing(_) => {}
        }
        Ok(())
    }

    async fn cost(&self) -> Result<(), Failure> {
        let store = &self.conversation.sessions;
        let cost = Cost {
            turn: self.last.as_ref().map(of_turn),
            session: store.session_usage(&self.conversation.record.id).await?,
            today: store.day_usage(&local_time(SystemTime::now(), DAY)).await?,
        };
        if self.output.json { self.output.data(&cost.to_json()) } else { print(&cost.table().render(self.output.width)) }
    }

    async fn clear(&mut self) -> Result<(), Failure> {
        let (before, said) = (self.conversation.record.id.clone(), !self.conversation.runner.messages.is_empty());
        self.replace(None).await?;
        let kept = if said { format!("; the one before is kept: /resume {before}") } else { String::new() };
        note(&format!("a new conversation begins{kept}"));
        Ok(())
    }
}

/// `work/m1 · 200k tokens · $3.00 in, $15.00 out`: how much it takes, and what a million tokens cost.
fn described(listed: &Listed) -> String {
    let window = listed.remote.as_ref().map(|(_, model)| format!("{} tokens", short(model.context_window)));
    let price = listed.price.map(|price| format!("{} in, {} out", Micros(price.input), Micros(price.output)));
    [Some(listed.name.clone()), window, price].into_iter().flatten().collect::<Vec<_>>().join(" · ")
}

/// Where an access level stands.
fn place(place: &Place) -> String {
    let file = place.file.as_ref().map_or_else(|| "the configuration".to_owned(), |file| file.display().to_string());
    place.line.map_or_else(|| file.clone(), |line| format!("{file}:{line}"))
}

/// What may be done at a level.
fn opens(level: Access) -> &'static str {
    match level {
        Access::ReadOnly => "tools may look, and change nothing",
        Access::WorkspaceWrite => "tools may change the files of this folder",
        Access::FullAccess => "tools may do whatever you may do: files anywhere, programs, messages, the network",
    }
}

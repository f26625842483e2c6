//! The services of calls and conversations.

use std::sync::{Arc, LazyLock};
use std::time::Instant;

use haft_agent::{FindProvider, MessageEvents, Meter, NullMeter, SideModel, Steering, StoredTodos, TurnWatcher};
use haft_contract::ports::{GatewayControl, Services, SmallModel, UserQuestions};
use haft_store::SessionStore;

use super::mcp_questions::TerminalElicitor;
use super::prompts::SkillService;
use super::server_control::ServedGateway;
use super::settings_access::ModelSettings;
use super::{DEFERRED, UserPrompts, Wire, models};
use crate::output::Output;
use crate::terminal::{Terminal, TurnPrinter};

/// When the process began to serve.
static STARTED: LazyLock<Instant> = LazyLock::new(Instant::now);

impl Wire {
    /// Services that every call has, with a conversation or without.
    pub(super) fn base_services(&self) -> Services {
        let mut services = Services::default();
        services.tools = Some(Arc::new(DEFERRED.clone()));
        services.settings = Some(Arc::new(ModelSettings::new(self)));
        services.memory = Some(self.memory());
        services.nodes = Some(self.node_directory());
        services.channels = self.has_channels().then(|| Arc::clone(self.channels()) as _);
        services.automation = Some(self.automation());
        services.canvas = self.served.as_ref().map(|served| Arc::clone(&served.canvas));
        // A worker has no server to control.
        let served = self.served.as_ref().filter(|_| self.limits.is_none());
        services.gateway = served.map(|served| {
            let settings = ModelSettings::new(self);
            let (control, automation) = (Arc::clone(&served.control), self.automation());
            Arc::new(ServedGateway { settings, control, automation, started: STARTED.to_owned() }) as Arc<dyn GatewayControl>
        });
        services.vision = self.vision(Arc::new(NullMeter));
        services.speech = self.speech();
        services.skills = Some(Arc::new(SkillService::new(Arc::clone(&self.prompts))));
        services
    }

    /// Services of calls that the user makes: they share a to-do list for each workspace, because each is a session of its own.
    pub(crate) fn call_services(&self, sessions: Arc<dyn SessionStore>, output: &Output) -> Services {
        let key = format!("workspace:{}", self.settings.workspace.display());
        let watcher: Arc<dyn TurnWatcher> = Arc::new(TurnPrinter::new(output));
        let mut services = self.base_services();
        services.messages = Some(Arc::new(MessageEvents(Arc::clone(&watcher))));
        services.todos = Some(Arc::new(StoredTodos::new(sessions, watcher).shared_as(key)));
        services
    }
}

/// Asks the user at the terminal what tools want to know; `None` where nobody can be asked.
pub(crate) fn terminal_questions(prompts: UserPrompts) -> Option<Arc<dyn UserQuestions>> {
    (prompts == UserPrompts::Allowed && Terminal::is_there()).then(|| Arc::new(TerminalElicitor) as Arc<dyn UserQuestions>)
}

/// Adds the services with which a conversation plans.
pub(crate) fn add_planning(services: &mut Services, sessions: Arc<dyn SessionStore>, watcher: &Arc<dyn TurnWatcher>, steering: &Steering) {
    services.todos = Some(Arc::new(StoredTodos::new(sessions, Arc::clone(watcher))));
    services.messages = Some(Arc::new(MessageEvents(Arc::clone(watcher))));
    services.wakes = Some(Arc::new(steering.clone()));
}

/// The small model, if one is configured.
pub(crate) fn small_model(wire: &Arc<Wire>, meter: Arc<dyn Meter>) -> Option<Arc<dyn SmallModel>> {
    let name = wire.settings.provenance.value("small_model").as_text()?.to_owned();
    let (wire, named) = (Arc::clone(wire), name.clone());
    let find: FindProvider = Box::new(move || {
        let (wire, named) = (Arc::clone(&wire), named.clone());
        Box::pin(async move {
            let found = models::provider(&wire.settings, Some(&named)).await;
            found.map_err(|failure| format!("small_model cannot be used: {}.", failure.message))
        })
    });
    Some(Arc::new(SideModel::new(name, find, meter)))
}

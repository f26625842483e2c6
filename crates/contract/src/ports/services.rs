//! Services of a conversation: what its tools reach beyond the machine.

use std::sync::Arc;

use super::{
    Automation, CanvasPages, GatewayControl, MemoryIndex, MessageChannels, NodeDirectory, OutputSink, SessionDirectory, SettingsAccess,
    SkillLibrary, SmallModel, SpeechServices, SubAgents, TodoStore, ToolIndex, UserMessages, UserQuestions, VisionModels, WakeSource,
};

/// What a conversation offers to its tools beyond the machine: its sub-agents, its plans, its skills. A service is absent where nobody
/// provides it, and a tool that needs it says so when it plans.
#[derive(Clone, Default)]
#[non_exhaustive]
pub struct Services {
    /// Finds tools.
    pub tools: Option<Arc<dyn ToolIndex>>,
    /// The to-do list.
    pub todos: Option<Arc<dyn TodoStore>>,
    /// Messages to the user.
    pub messages: Option<Arc<dyn UserMessages>>,
    /// Questions of tools to the user.
    pub questions: Option<Arc<dyn UserQuestions>>,
    /// Wakes calls that wait.
    pub wakes: Option<Arc<dyn WakeSource>>,
    /// The settings of the program.
    pub settings: Option<Arc<dyn SettingsAccess>>,
    /// Receives structured output; present where the caller gave a schema.
    pub output: Option<Arc<dyn OutputSink>>,
    /// Answers side questions of tools.
    pub small_model: Option<Arc<dyn SmallModel>>,
    /// The sub-agents of the conversation.
    pub sub_agents: Option<Arc<dyn SubAgents>>,
    /// The conversations that it sees.
    pub sessions: Option<Arc<dyn SessionDirectory>>,
    /// The skills.
    pub skills: Option<Arc<dyn SkillLibrary>>,
    /// The memory of the workspace.
    pub memory: Option<Arc<dyn MemoryIndex>>,
    /// The paired machines.
    pub nodes: Option<Arc<dyn NodeDirectory>>,
    /// The channels of the configuration.
    pub channels: Option<Arc<dyn MessageChannels>>,
    /// Scheduled jobs.
    pub automation: Option<Arc<dyn Automation>>,
    /// The server that the conversation runs in.
    pub gateway: Option<Arc<dyn GatewayControl>>,
    /// Models that look at pictures.
    pub vision: Option<Arc<dyn VisionModels>>,
    /// Voices that speak.
    pub speech: Option<Arc<dyn SpeechServices>>,
    /// The pages of the user.
    pub canvas: Option<Arc<dyn CanvasPages>>,
}

impl Services {
    /// No service.
    pub const fn none() -> Self {
        Self {
            tools: None,
            todos: None,
            messages: None,
            questions: None,
            wakes: None,
            settings: None,
            output: None,
            small_model: None,
            sub_agents: None,
            sessions: None,
            skills: None,
            memory: None,
            nodes: None,
            channels: None,
            automation: None,
            gateway: None,
            vision: None,
            speech: None,
            canvas: None,
        }
    }
}

crate::opaque_debug!(Services);

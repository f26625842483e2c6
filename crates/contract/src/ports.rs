//! Ports: the traits that connect the engine and its tools to the machine, the user and the embedding program.
//!
//! Tools never call these traits directly: they reach them through a [`ToolContext`](crate::ToolContext), which checks each use
//! against the plan of the call first. Data types that tools do exchange with a port are also exported at the crate root.

mod approval;
mod automation;
mod browser;
mod browser_screen;
mod canvas;
mod channels;
mod clock;
mod files;
mod gate;
mod gateway_control;
mod http;
mod job_registry;
mod journal;
mod memory;
mod nodes;
mod notifier;
mod permissions;
mod planning;
mod processes;
mod progress;
mod services;
mod sessions;
mod settings_access;
mod skills;
mod small_model;
mod speech;
mod sub_agents;
mod system;
mod user_messages;
mod user_questions;
mod vision;
mod web;

pub use approval::{ApprovalAnswer, ApprovalRequest, Approver, GrantWidth, RuleStore, SIMILAR_DAYS};
pub use automation::{
    Announce, AnnounceTarget, Announcement, Automation, AutomationStatus, Delivered, DeliveryMode, DeliveryState, JobDelivery, JobDraft,
    JobNotice, JobRun, JobSchedule, JobTarget, JobView, MissedRuns, OverlapRule, RunState, RunTrigger, ScheduleText, ScheduledJob,
    WakeMode,
};
pub use browser::{
    BrowserAction, BrowserControl, BrowserReply, BrowserRequest, FieldValue, LoadState, MouseButton, PageAct, PageFile, PictureOptions,
    PictureType, SnapshotFormat, SnapshotOptions, WaitCondition,
};
pub use browser_screen::{BrowserScreen, BrowserScreens, MouseStep, ScreenControl, ScreenInput, ScreenView};
pub use canvas::{CanvasCommand, CanvasDocument, CanvasPages};
pub use channels::{
    ChannelAction, ChannelCommand, ChannelEntry, ChannelFile, ChannelKind, ChannelOffer, ChannelReceipt, MessageChannels, SendOutcome,
};
pub use clock::{AlarmClock, Clock, LocalOffset};
pub use files::{FileInfo, FileKind, FileReader, FileSystem, PreImage, StagedEntry, WriteMode, WriteOutcome};
pub use gate::{EgressGate, EgressRefusal, Gate, NetworkDecision, NetworkVerdict};
pub use gateway_control::{AuthorityChange, ConfigPart, ConfigPreview, GatewayControl, KeyChange};
pub use http::{Body, HttpClient, HttpRequest, HttpResponse, RedirectCheck, ResolvedAddress};
pub use job_registry::{JobRecord, JobRegistry, JobScope};
pub use journal::{Journal, SpillFile, SpillWriter};
pub use memory::{MemoryAnswer, MemoryAuthor, MemoryHit, MemoryIndex, MemoryLines, MemoryQuery, MemoryScope, MemorySource, MemoryWriter};
pub use nodes::{NodeCall, NodeDirectory, NodeSummary, PendingNode};
pub use notifier::{Notice, Notifier};
pub use permissions::{PermissionAnswer, PermissionHost, PermissionState};
pub use planning::{OutputSink, Todo, TodoStatus, TodoStore, ToolIndex, WakeReason, WakeSource};
pub use processes::{ChangeRecorder, CommandSpec, HelperLimits, HelperOutput, ProcessOutput, ProcessRunner};
pub use progress::ProgressSink;
pub use services::Services;
pub use sessions::{
    ModelChange, SessionDelivery, SessionDirectory, SessionKind, SessionMessage, SessionPage, SessionQuery, SessionState, SessionSummary,
    SessionVisibility,
};
pub use settings_access::{SettingChange, SettingReport, SettingsAccess};
pub use skills::{SkillContent, SkillLibrary, SkillSummary};
pub use small_model::SmallModel;
pub use speech::{AudioFormat, SpeechEngine, SpeechHost, SpeechRequest, SpeechServices};
pub use sub_agents::{
    AgentAttachment, AgentType, KnownAgent, SandboxDemand, StartedAgent, StoredAttachment, SubAgentRequest, SubAgentState, SubAgentStatus,
    SubAgents, ThinkingLevel,
};
pub use system::{SystemFacts, SystemProbe};
pub use user_messages::{Attachment, MessageLevel, UserMessage, UserMessages};
pub use user_questions::{UserQuestion, UserQuestions, UserReply};
pub use vision::{QuestionPicture, VisionModel, VisionModels, VisionQuestion};
pub use web::{NO_SEARCH_PROVIDER, PageCache, SearchEndpoint, SearchFields, SearchKey, SearchProvider, WebSettings};

static NO_SERVICES: Services = Services::none();

/// Everything a session's tools can reach of the machine.
pub trait Host: Send + Sync {
    /// Files.
    fn files(&self) -> &dyn FileSystem;
    /// The network.
    fn http(&self) -> &dyn HttpClient;
    /// Programs.
    fn processes(&self) -> &dyn ProcessRunner;
    /// The time.
    fn clock(&self) -> &dyn Clock;
    /// Notices to the user.
    fn notifier(&self) -> &dyn Notifier;
    /// Facts about the machine.
    fn system(&self) -> &dyn SystemProbe;
    /// Settings of the web tools.
    fn web(&self) -> &WebSettings {
        &web::DEFAULT_WEB_SETTINGS
    }
    /// Where responses are stored for later calls, if anywhere.
    fn page_cache(&self) -> Option<&dyn PageCache> {
        None
    }
    /// The browsers of sessions, if there are any.
    fn browser(&self) -> Option<&dyn BrowserControl> {
        None
    }
    /// Services of the conversation.
    fn services(&self) -> &Services {
        &NO_SERVICES
    }
}

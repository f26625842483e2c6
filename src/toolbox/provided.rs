//! Which built-in tools a toolbox has: those that can do their work here. A tool that always fails is worse than none.

use haft_contract::ports::Services;
use haft_contract::{Section, ToolDefinition};

/// What a toolbox has besides files and the network.
pub(super) struct Provided<'a> {
    pub(super) services: &'a Services,
    pub(super) commands: bool,
}

impl Provided<'_> {
    /// Whether a built-in tool has everything that it needs.
    pub(super) fn has(&self, definition: &ToolDefinition) -> bool {
        let services = self.services;
        match &*definition.name {
            "sleep" | "notify" => true,
            "send_user_message" => services.messages.is_some(),
            "tool_search" => services.tools.is_some(),
            "todo_write" => services.todos.is_some(),
            "structured_output" => services.output.is_some(),
            "config" => services.settings.is_some(),
            "skill" => services.skills.is_some(),
            "cron" => services.automation.is_some(),
            "gateway" => services.gateway.is_some(),
            "message" => services.channels.is_some(),
            "image" => services.vision.is_some(),
            "tts" => services.speech.is_some(),
            "canvas" => services.canvas.is_some(),
            "nodes" => services.nodes.is_some(),
            "memory_search" | "memory_get" => services.memory.is_some(),
            "agent" | "sessions_spawn" | "subagents" | "agents_list" => services.sub_agents.is_some(),
            "sessions_list" | "sessions_history" | "sessions_send" | "session_status" => services.sessions.is_some(),
            _ if definition.section == Section::Runtime => self.commands,
            _ => matches!(definition.section, Section::Files | Section::Web | Section::System),
        }
    }
}

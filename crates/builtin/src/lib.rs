//! The tools that come with Haft: one file and one line in the list below for each.
//!
//! A tool reaches the machine through its context alone, and the context reaches what the tool planned; there is no
//! other way to do I/O here, and the lints below see to that.
#![deny(clippy::disallowed_methods, clippy::disallowed_types)]
#![warn(missing_docs)]

// The derive writes `::haft::…`, which is what embedding programs depend on; here it is the contract itself.
extern crate haft_contract as haft;

pub mod helpers;

#[doc(hidden)]
pub mod list;

mod command;
mod shared;

/// The tool `message` for these channels: its parameters are what they can do. Without channels it is not offered, for this reason.
pub fn message_for(offers: Vec<haft_contract::ports::ChannelOffer>, fault: Option<String>) -> std::sync::Arc<dyn haft_contract::DynTool> {
    std::sync::Arc::new(haft_contract::Erased::new(messaging::message::Message::with(offers, fault)))
}

tools! {
    files {
        read_file => ReadFile,
        write_file => WriteFile,
        edit_file => EditFile,
        apply_patch => ApplyPatch,
        glob_search => GlobSearch,
        grep_search => GrepSearch,
        notebook_edit => NotebookEdit,
    }
    runtime {
        exec => ExecTool::new,
        powershell => Powershell,
        process => Process::new,
        repl => Repl::new,
    }
    web {
        http_request => HttpRequestTool,
        web_fetch => WebFetch,
        web_search => WebSearch,
    }
    memory {
        memory_search => MemorySearch,
        memory_get => MemoryGet,
    }
    sessions {
        agent => Agent,
        sessions_spawn => SessionsSpawn,
        subagents => Subagents,
        sessions_list => SessionsList,
        sessions_history => SessionsHistory,
        sessions_send => SessionsSend,
        session_status => SessionStatus,
    }
    agents {
        agents_list => AgentsList,
    }
    nodes {
        nodes => Nodes,
    }
    ui {
        browser => Browser,
    }
    messaging {
        message => Message::new,
        notify => Notify,
        send_user_message => SendUserMessage,
    }
    automation {
        cron => Cron,
        gateway => GatewayTool,
    }
    planning {
        tool_search => ToolSearch,
        todo_write => TodoWrite,
        sleep => Sleep,
        structured_output => StructuredOutput,
        config => Config,
        skill => SkillTool,
    }
    system {
        get_current_time => GetCurrentTime,
        system_info => SystemInfoTool,
        noop => Noop,
    }
}

//! The tools that come with Haft: one file and one line in the list below for each.
//!
//! A tool reaches the machine through its context alone, and the context reaches what the tool planned; there is no
//! other way to do I/O here, and the lints below see to that.
#![deny(clippy::disallowed_methods, clippy::disallowed_types)]
#![warn(missing_docs)]

// The derive writes `::haft::…`, which is what embedding programs depend on; here it is the contract itself.
extern crate haft_contract as haft;

pub mod helpers;
pub mod results;

#[doc(hidden)]
pub mod list;

mod command;
mod shared;

/// The tool `message` for these channels: its parameters are what they can do. Without channels it is not offered, for this reason.
pub fn message_for(offers: Vec<haft_contract::ports::ChannelOffer>, fault: Option<String>) -> std::sync::Arc<dyn haft_contract::DynTool> {
    std::sync::Arc::new(haft_contract::Erased::new(messaging::message::MessageTool::with(offers, fault)))
}

/// The tool `image` with these models, and what `~` stands for. Without models it is not offered, for this reason.
pub fn image_for(
    models: Vec<String>,
    fault: Option<String>,
    home: Option<std::path::PathBuf>,
) -> std::sync::Arc<dyn haft_contract::DynTool> {
    std::sync::Arc::new(haft_contract::Erased::new(media::image::Image::with(models, fault, home)))
}

/// The tool `tts`, where something speaks; otherwise it is not offered, for this reason.
pub fn tts_for(fault: Option<String>) -> std::sync::Arc<dyn haft_contract::DynTool> {
    std::sync::Arc::new(haft_contract::Erased::new(media::tts::Tts::with(fault)))
}

/// The tool `canvas`, for conversations that have a page.
pub fn canvas_on_a_page() -> std::sync::Arc<dyn haft_contract::DynTool> {
    std::sync::Arc::new(haft_contract::Erased::new(ui::canvas::Canvas::on_a_page()))
}

/// The tools whose definition depends on what these services can do.
pub fn for_services(services: &haft_contract::ports::Services) -> Vec<std::sync::Arc<dyn haft_contract::DynTool>> {
    let image = services.vision.as_ref().map(|vision| image_for(vision.models().into_iter().map(|model| model.name).collect(), None, None));
    let tts = services.speech.as_ref().map(|_| tts_for(None));
    let canvas = services.canvas.as_ref().map(|_| canvas_on_a_page());
    image.into_iter().chain(tts).chain(canvas).collect()
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
        agent => AgentTool,
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
        canvas => Canvas::new,
    }
    messaging {
        message => MessageTool::new,
        notify => Notify,
        send_user_message => SendUserMessage,
    }
    automation {
        cron => Cron,
        gateway => GatewayTool,
    }
    media {
        image => Image::new,
        tts => Tts::new,
    }
    planning {
        tool_search => ToolSearch,
        todo_write => TodoWrite,
        sleep => Sleep,
        structured_output => StructuredOutput,
        config => ConfigTool,
        skill => SkillTool,
    }
    system {
        get_current_time => GetCurrentTime,
        system_info => SystemInfoTool,
        noop => Noop,
    }
}

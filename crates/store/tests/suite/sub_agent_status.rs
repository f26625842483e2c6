//! A sub-agent with something in every field.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use haft_contract::ports::{SandboxDemand, SubAgentState, SubAgentStatus, ThinkingLevel};

use crate::common::second;

/// A sub-agent in its session.
pub(crate) fn sub_agent(id: &str, parent: &str, state: SubAgentState) -> SubAgentStatus {
    SubAgentStatus {
        id: id.into(),
        parent: parent.into(),
        depth: 1,
        label: "look".into(),
        agent: "coder".into(),
        agent_type: "explore".into(),
        task: "Look at it.".into(),
        model: "work/qwen3".into(),
        state,
        background: true,
        created: second(1),
        started: None,
        ended: None,
        rounds: 0,
        calls: 0,
        input: 0,
        output: 0,
        cost_micros: None,
        answer: None,
        error: None,
        reported: false,
        is_open: true,
        sandbox: SandboxDemand::Require,
        cwd: Some(Path::new(OsStr::from_bytes(b"/home/\xff\xfe/w/sub")).into()),
        thinking: Some(ThinkingLevel::High),
    }
}

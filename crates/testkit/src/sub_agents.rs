//! Sub-agents for tests of tools.

use std::time::SystemTime;

use haft_contract::{SandboxDemand, SubAgentState, SubAgentStatus};

/// A sub-agent of the session `session-1`.
pub fn sub_agent_status(id: &str, state: SubAgentState) -> SubAgentStatus {
    SubAgentStatus {
        id: id.into(),
        parent: "session-1".into(),
        depth: 1,
        label: id.into(),
        agent: "main".into(),
        agent_type: "explore".into(),
        task: format!("Do {id}."),
        model: "test/model".into(),
        state,
        background: true,
        created: SystemTime::UNIX_EPOCH,
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
        is_open: false,
        sandbox: SandboxDemand::Inherit,
        cwd: None,
        thinking: None,
    }
}

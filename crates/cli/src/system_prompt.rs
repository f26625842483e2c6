//! The system prompt: the instructions of the agent, and what the sandbox of commands allows.

use haft_contract::{Access, SandboxMode};

use crate::wire::Wire;

/// Instructions of agents without their own.
const SYSTEM: &str = "You are an assistant with tools on the user's own machine. Use them when they help, several at once where they do \
                      not depend on each other. A refusal of a tool says why and what to do instead: do not repeat the same call.";

/// The system prompt of a session with this access level.
pub(crate) fn system_prompt(wire: &Wire, access: Access) -> String {
    let instructions = wire.prompt().unwrap_or(SYSTEM);
    let config = &wire.settings.config;
    if config.sandbox.mode == SandboxMode::Off || !config.exec_host().is_sandboxed() {
        return instructions.to_owned();
    }
    format!("{instructions}\n\n{}", sandbox_rules(access))
}

/// Five lines: a model that knows the sandbox does not try what it forbids.
fn sandbox_rules(access: Access) -> String {
    let files = match access {
        Access::ReadOnly => "read the workspace and change nothing in it",
        _ => "read and change the workspace",
    };
    format!(
        "Commands run in a sandbox.\n\
         - They {files}, and see the system and its programs. HOME and /tmp are private and kept; other files of the user are not there.\n\
         - A connection to a host that no rule allows asks the user when it is made. If it is refused, do without it or say what it is for.\n\
         - Hooks and settings of Git, shells and editors cannot be changed: ask the user to do it.\n\
         - A server in the background answers on 127.0.0.1 in later commands, and at http://sandbox.localhost:PORT for http_request."
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sandbox_rules_are_five_lines_and_name_the_access() {
        assert_eq!(sandbox_rules(Access::WorkspaceWrite).lines().count(), 5);
        assert!(sandbox_rules(Access::ReadOnly).contains("change nothing"));
        assert!(!sandbox_rules(Access::FullAccess).contains("change nothing"));
    }
}

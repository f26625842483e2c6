use crate::command::Command;
use crate::error::SandboxError;
use crate::policy::Policy;
use crate::sandbox::{Guard, Sandbox, Wrapped};

/// No sandbox at all. Chosen by a person's configuration, and by nothing else.
#[derive(Debug, Clone, Copy, Default)]
pub struct Unconfined;

impl Sandbox for Unconfined {
    fn name(&self) -> &'static str {
        "none"
    }

    fn wrap(&self, command: Command, policy: &Policy) -> Result<Wrapped, SandboxError> {
        policy.refuse_overlay(self.name())?;
        Ok(Wrapped { command, guard: Guard::default() })
    }

    fn gaps(&self, _policy: &Policy) -> Vec<String> {
        vec!["commands run without any confinement".to_owned()]
    }
}

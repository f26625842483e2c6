//! A container that runs already, in which commands are executed.

use std::ffi::OsString;

use super::engine::{EngineClient, is_name};
use super::{ContainerRun, NAME, name, refuse_network, variables};
use crate::command::ProcessSpec;
use crate::error::SandboxError;
use crate::launcher::Launcher;
use crate::policy::SandboxPolicy;
use crate::sandbox::{ConfinedCommand, Sandbox, SandboxGuard};

/// Environment variable that tags the processes of a run.
const ENV_TAG: &str = "HAFT_RUN";
const FACTS: &str = "{{.State.Running}} {{.HostConfig.Privileged}} {{.HostConfig.NetworkMode}}";

/// Runs commands in the container of this name.
#[derive(Debug)]
pub(super) struct ExistingContainer {
    client: EngineClient,
    container: String,
    launcher: Launcher,
}

impl ExistingContainer {
    pub(super) fn new(client: EngineClient, container: &str, launcher: Launcher) -> Result<Self, SandboxError> {
        if !is_name(container) {
            return Err(SandboxError::policy(format!("'{container}' is no valid container name; correct 'sandbox.container.running'")));
        }
        let facts = client.query(&["container", "inspect", "--format", FACTS, container]).unwrap_or_default();
        match facts.split_whitespace().collect::<Vec<_>>()[..] {
            ["true", "false", network] if network != "host" => Ok(Self { client, container: container.to_owned(), launcher }),
            ["true", ..] => Err(SandboxError::unavailable(
                NAME,
                format!("the container '{container}' is privileged or uses the host network, so it confines nothing"),
                "start it without --privileged and without --network host",
            )),
            _ => Err(SandboxError::unavailable(
                NAME,
                format!("no container '{container}' is running"),
                "start it, or correct 'sandbox.container.running'",
            )),
        }
    }
}

impl Sandbox for ExistingContainer {
    fn name(&self) -> &'static str {
        NAME
    }

    fn has_own_root(&self) -> bool {
        true
    }

    fn wrap(&self, command: ProcessSpec, policy: &SandboxPolicy) -> Result<ConfinedCommand, SandboxError> {
        refuse_network(policy)?;
        let run = name();
        let mut arguments: Vec<OsString> = vec!["exec".into(), "--interactive".into(), "--workdir".into(), command.directory.into()];
        arguments.extend(variables(command.environment));
        arguments.extend(["--env".into(), format!("{ENV_TAG}={run}").into()]);
        arguments.extend([self.container.clone().into(), command.program.into()]);
        arguments.extend(command.arguments);
        let kill = kill_script(&run);
        let container_run = ContainerRun::new(&self.client, &run, ["exec", &self.container, "/bin/sh", "-c", &kill]);
        let command = container_run.supervise(self.client.command(arguments), &self.launcher)?;
        Ok(ConfinedCommand { command, guard: SandboxGuard::for_container(container_run) })
    }

    fn gaps(&self, _policy: &SandboxPolicy) -> Vec<String> {
        vec![format!("the access and limits of the container '{}' were decided where it was started, not by Haft", self.container)]
    }
}

/// Kills the tagged processes, in several rounds, because a killed one may just have started a child.
fn kill_script(run: &str) -> String {
    format!(
        "for round in 1 2 3 4 5; do left=; for p in /proc/[0-9]*; do tr '\\0' '\\n' <$p/environ 2>/dev/null | grep -qxF {ENV_TAG}={run} && \
         kill -9 ${{p#/proc/}} && left=1; done; [ -n \"$left\" ] || exit 0; done"
    )
}

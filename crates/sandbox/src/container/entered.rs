//! A container that runs already, and in which commands are run beside what it does.

use std::ffi::OsString;

use super::engine::{Client, is_name};
use super::{NAME, Running, name, refuse_network, variables};
use crate::command::Command;
use crate::error::SandboxError;
use crate::launcher::Launcher;
use crate::policy::Policy;
use crate::sandbox::{Guard, Sandbox, Wrapped};

/// Known by this variable, the processes of a run are found again inside.
const MARK: &str = "HAFT_RUN";
const FACTS: &str = "{{.State.Running}} {{.HostConfig.Privileged}} {{.HostConfig.NetworkMode}}";

/// Runs commands in the container of this name.
#[derive(Debug)]
pub(super) struct Entered {
    client: Client,
    container: String,
    launcher: Launcher,
}

impl Entered {
    pub(super) fn new(client: Client, container: &str, launcher: Launcher) -> Result<Self, SandboxError> {
        if !is_name(container) {
            return Err(SandboxError::policy(format!("'{container}' is no name of a container; correct 'sandbox.container.running'")));
        }
        let facts = client.ask(&["container", "inspect", "--format", FACTS, container]).unwrap_or_default();
        match facts.split_whitespace().collect::<Vec<_>>()[..] {
            ["true", "false", network] if network != "host" => Ok(Self { client, container: container.to_owned(), launcher }),
            ["true", ..] => Err(SandboxError::unavailable(
                NAME,
                format!("the container '{container}' is privileged or has the network of the host, so it holds nothing"),
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

impl Sandbox for Entered {
    fn name(&self) -> &'static str {
        NAME
    }

    fn has_own_root(&self) -> bool {
        true
    }

    fn wrap(&self, command: Command, policy: &Policy) -> Result<Wrapped, SandboxError> {
        refuse_network(policy)?;
        let run = name();
        let mut arguments: Vec<OsString> = vec!["exec".into(), "--interactive".into(), "--workdir".into(), command.directory.into()];
        arguments.extend(variables(command.environment));
        arguments.extend(["--env".into(), format!("{MARK}={run}").into()]);
        arguments.extend([self.container.clone().into(), command.program.into()]);
        arguments.extend(command.arguments);
        let end = end_of(&run);
        let running = Running::new(&self.client, &run, ["exec", &self.container, "/bin/sh", "-c", &end]);
        let command = running.watched(self.client.command(arguments), &self.launcher)?;
        Ok(Wrapped { command, guard: Guard::of(running) })
    }

    fn gaps(&self, _policy: &Policy) -> Vec<String> {
        vec![format!("what the container '{}' may touch and use is decided where it was started, and not by Haft", self.container)]
    }
}

/// Kills what bears the mark, again and again, since what is killed may just have had a child.
fn end_of(run: &str) -> String {
    format!(
        "for round in 1 2 3 4 5; do left=; for p in /proc/[0-9]*; do tr '\\0' '\\n' <$p/environ 2>/dev/null | grep -qxF {MARK}={run} && \
         kill -9 ${{p#/proc/}} && left=1; done; [ -n \"$left\" ] || exit 0; done"
    )
}

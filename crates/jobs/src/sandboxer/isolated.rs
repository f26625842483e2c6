//! The sandbox of a program that sees no file of the session.

use std::path::Path;

use haft_contract::{CommandLimits, ErrorKind, SandboxBackend, ToolError};
use haft_sandbox::{Bind, ConfinedCommand, NetworkAccess, ProcessSpec, SandboxGuard, SandboxPolicy, SandboxView, SocketAccess};

use super::{BUBBLEWRAP, Sandboxer, unavailable};
use crate::environment;
use crate::isolated::IsolatedCommand;

/// Where its home is: in memory, so that it ends with the program.
const HOME: &str = "/tmp";
/// A folder that every sandbox shows.
const DIRECTORY: &str = "/usr";

impl Sandboxer {
    /// Wraps a program. Blocks: it creates folders and control groups, and starts the network of the session.
    pub(crate) fn wrap_isolated(
        &self,
        command: &IsolatedCommand,
        network: NetworkAccess,
        folder: &Path,
    ) -> Result<(ProcessSpec, SandboxGuard), ToolError> {
        if !matches!(self.options.sandbox, SandboxBackend::Auto | SandboxBackend::Bubblewrap) {
            return Err(needs_bubblewrap(&command.name, &format!("sandbox.backend is {}", self.options.sandbox.as_str())));
        }
        let base = SandboxPolicy { network: network.clone(), ..SandboxPolicy::default() };
        let selected = self.select(self.options.sandbox, true, &base).map_err(unavailable)?;
        if selected.sandbox.name() != BUBBLEWRAP {
            return Err(needs_bubblewrap(&command.name, &format!("the sandbox here is {}", selected.sandbox.name())));
        }
        let NetworkAccess::Proxy { port, .. } = network else { return Err(needs_bubblewrap(&command.name, "it has no proxy")) };
        let policy = SandboxPolicy {
            network,
            limits: CommandLimits { cpu_seconds: None, ..self.options.limits },
            view: SandboxView { home: Some(Bind { source: folder.to_owned(), at: IsolatedCommand::FOLDER.into() }), ..Default::default() },
            shared_network: self.session_network(&command.session),
            sockets: SocketAccess::Unix,
            ..SandboxPolicy::default()
        };
        let port = port.to_string();
        let arguments = command.arguments.iter().map(|argument| argument.replace(IsolatedCommand::PROXY_PORT, &port));
        let arguments: Vec<String> = arguments.collect();
        let mut spec = ProcessSpec::new(&command.program, Path::new(DIRECTORY)).arguments(&arguments);
        let mut variables = vec![("HOME".into(), HOME.into()), ("TMPDIR".into(), HOME.into())];
        variables.extend(command.environment.iter().map(|(name, value)| (name.into(), value.into())));
        spec.environment = environment::with_variables(environment::clean(&[], false), variables);
        let ConfinedCommand { command, guard } = selected.sandbox.wrap(spec, &policy).map_err(unavailable)?;
        Ok((command, guard))
    }
}

fn needs_bubblewrap(name: &str, why: &str) -> ToolError {
    let advice = "set sandbox.mode = \"required\" and sandbox.backend = \"auto\", and install bubblewrap (sudo apt-get install bubblewrap)";
    ToolError::new(ErrorKind::SandboxUnavailable, format!("The {name} runs in the sandbox bubblewrap alone, and {why}: {advice}."))
}
